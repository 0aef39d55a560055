/*
 * tokenize.c - tokenize_feature: turns text into the ids of a tokenizer (tok.h); each id is a row
 * of the table.
 *
 * A text is one piece, whatever bytes are in it; a list is read item by item. The default is text
 * too and passes through the tokenizer. With tokens_as_sequence each token is a step.
 */
#include <stdlib.h>

#include "base/file.h"
#include "base/guard.h"
#include "base/utf8.h"
#include "conf/conf.h"
#include "feat/calc_int.h"
#include "text/limits.h"
#include "text/text_norm.h"
#include "text/tok.h"

/* ---- config ---- */

static const cr_enum_value normalize_options[] = {
    {"TEXT_LOWER2UPPER", CR_TEXT_LOWER2UPPER, "small letters to capitals", NULL},
    {"TEXT_UPPER2LOWER", CR_TEXT_UPPER2LOWER, "capitals to small letters", NULL},
    {"TEXT_SBC2DBC", CR_TEXT_SBC2DBC, "full-width characters to half-width", NULL},
    {"TEXT_CHT2CHS", CR_TEXT_CHT2CHS, "traditional Chinese to simplified", NULL},
    {"TEXT_FILTER", CR_TEXT_FILTER, "drop special characters", NULL},
    {"TEXT_SPLITCHRS", CR_TEXT_SPLITCHRS, "a space between Chinese characters", NULL},
    {"TEXT_REMOVE_SPACE", CR_TEXT_REMOVE_SPACE, "drop spaces", NULL},
    {NULL, 0, NULL, NULL},
};
typedef struct text_norm_conf {
    cr_conf_base base;
    int64_t max_length;
    const char *stop_char_file;
    cr_enums norm_options;
} text_norm_conf;
static const cr_field text_norm_fields[] = {
    CR_INT(text_norm_conf, max_length, 0, 0, CR_U32_MAX, 0,
           "texts of more characters are left as they are"),
    CR_STR(text_norm_conf, stop_char_file, NULL, CR_F_PATH,
           "file of the characters that FILTER drops; not given: punctuation and signs"),
    CR_ENUM(text_norm_conf, norm_options, normalize_options, 0, CR_F_REPEATED,
            "steps; not given: LOWER2UPPER, SBC2DBC, CHT2CHS, FILTER"),
    CR_END,
};
static void text_norm_check(const void *self, cr_diag *diag);
static const cr_msg text_norm_msg = {
    .name = "TextNormalizer",
    .help = "How text is cleaned before tokens",
    .fields = text_norm_fields,
    .size = sizeof(text_norm_conf),
    .check = text_norm_check,
};

typedef struct tokenize_conf {
    cr_calc_conf op;
    const char *expression, *tokenizer_type;
    text_norm_conf *text_normalizer; /* NULL: none */
    bool tokens_as_sequence;
} tokenize_conf;
static const cr_field cr_tokenize_fields[] = {
    CR_CALC_NAME,
    CR_STR(tokenize_conf, expression, NULL, 0, HELP_EXPRESSION),
    CR_CALC_EMBEDDING,
    CR_MSG(tokenize_conf, text_normalizer, &text_norm_msg, 0, "clean the text first"),
    CR_STR(cr_calc_conf, vocab_file, NULL, CR_F_REQUIRED | CR_F_PATH,
           "the tokenizer: tokenizer.json, or a SentencePiece .model"),
    CR_STR(cr_calc_conf, asset_dir, NULL, CR_F_PATH, HELP_ASSET),
    CR_STR(tokenize_conf, tokenizer_type, "bpe", 0, "bpe or sentencepiece"),
    CR_BOOL(tokenize_conf, tokens_as_sequence, false, 0, "each token is a step of a sequence"),
    CR_STR(cr_calc_conf, default_value, "", 0, HELP_DEFAULT),
    CR_CALC_TAIL,
    CR_END,
};
CR_CALC_MSGS(tokenize, "TokenizeFeature", "Text as token ids", tokenize_conf);

static void text_norm_check(const void *self, cr_diag *diag) {
    const text_norm_conf *c = self;
    bool up = false, down = false;
    for (int64_t i = 0; i < c->norm_options.n; i++) {
        up |= c->norm_options.v[i] == CR_TEXT_LOWER2UPPER;
        down |= c->norm_options.v[i] == CR_TEXT_UPPER2LOWER;
    }
    if (up && down)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "norm_options"),
                    "norm_options has both TEXT_LOWER2UPPER and TEXT_UPPER2LOWER; keep one");
}

typedef struct tokenize_self {
    cr_calc op;
    cr_tokenizer *tokenizer;
    bool clean;
    cr_text_norm norm;
    cr_tok_ids def; /* tokens of the default */
} tokenize_self;

/* ---- building ---- */

/* Reads the file of a field as text; false after an error. */
static bool read_file(cr_feature *f, const tokenize_conf *c, const void *conf, const char *field,
                      const char *asset, size_t most, cr_buf *out, const cr_data_conf *data,
                      cr_arena *arena, cr_diag *diag) {
    const char *name = cr_conf_text(conf, field), *path;
    cr_err err = {0};
    if (cr_feature_path(c->op.asset_dir, name, data, arena, &path, &err) == CR_OK &&
        cr_file_read(path, most, out, &err) == CR_OK) {
        cr_feature_add_asset(f, asset, path, out, arena);
        return true;
    }
    char why[600];
    cr_err_text(&err, why, sizeof(why));
    cr_diag_add(diag, CR_SEV_ERROR, err.code, cr_conf_at(conf, field), "feature '%s': %s: %s",
                f->name, field, why);
    return false;
}

static int by_code(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void set_norm(tokenize_self *s, cr_feature *f, const tokenize_conf *c,
                     const cr_data_conf *data, cr_arena *arena, cr_diag *diag) {
    const text_norm_conf *n = c->text_normalizer;
    if (!n) return;
    s->clean = true;
    s->norm.max_length = n->max_length;
    for (int64_t i = 0; i < n->norm_options.n; i++)
        s->norm.options |= 1u << n->norm_options.v[i];
    if (n->norm_options.n == 0)
        s->norm.options = 1u << CR_TEXT_LOWER2UPPER | 1u << CR_TEXT_SBC2DBC |
                          1u << CR_TEXT_CHT2CHS | 1u << CR_TEXT_FILTER;
    if (!n->stop_char_file[0]) return;
    cr_buf text;
    cr_buf_init(&text);
    if (read_file(f, c, n, "stop_char_file", "text_normalizer.stop_char_file", CR_MOST_STOP_CHARS,
                  &text, data, arena, diag)) {
        uint32_t *v = CR_NEW_N(arena, uint32_t, text.n + 1), ch;
        int64_t k = 0;
        for (size_t at = 0; at < text.n;) {
            at += cr_utf8_get(text.data + at, text.n - at, &ch);
            if (ch != '\n' && ch != '\r') v[k++] = ch;
        }
        qsort(v, (size_t)k, sizeof(*v), by_code);
        s->norm.stop = v;
        s->norm.n_stop = k;
    }
    cr_buf_clear(&text);
}

static void forget(void *self) {
    tokenize_self *s = self;
    cr_tokenizer_free(s->tokenizer);
    cr_tok_ids_clear(&s->def);
}

static void load(tokenize_self *s, cr_feature *f, const tokenize_conf *c, const cr_data_conf *data,
                 cr_arena *arena, cr_diag *diag) {
    cr_buf text;
    cr_buf_init(&text);
    cr_err err = {0};
    if (c->op.vocab_file[0] &&
        read_file(f, c, c, "vocab_file", "vocab_file", CR_MOST_TOKENIZER_BYTES, &text, data, arena,
                  diag) &&
        cr_tokenizer_new(&s->tokenizer, c->tokenizer_type, text.data ? text.data : "", text.n,
                         &err) != CR_OK)
        cr_diag_add(diag, CR_SEV_ERROR, err.code,
                    cr_conf_at(c, err.why == CR_TOK_TYPE ? "tokenizer_type" : "vocab_file"),
                    "feature '%s': vocab_file '%s': %s", f->name, c->op.vocab_file, err.msg);
    cr_buf_clear(&text);
    cr_arena_defer(arena, forget, s);
}

static bool tokens_of(const tokenize_self *s, cr_tok_run *run, cr_buf *clean, const char *p,
                      size_t n, cr_tok_ids *ids) {
    if (s->clean) {
        cr_text_norm_apply(&s->norm, p, n, clean);
        p = clean->data;
        n = clean->n;
    }
    return n == 0 || cr_tokenizer_encode(s->tokenizer, run, p, n, ids);
}

static void set_default(tokenize_self *s, const cr_feature *f, const tokenize_conf *c) {
    const char *def = cr_seq_default(f, c->op.default_value);
    cr_tok_run *run = cr_tok_run_new(s->tokenizer);
    cr_buf clean;
    cr_buf_init(&clean);
    if (!tokens_of(s, run, &clean, def, strlen(def), &s->def)) s->def.n = 0;
    cr_buf_clear(&clean);
    cr_tok_run_free(s->tokenizer, run);
}

/* ---- running ---- */

static cr_code all_rows(cr_calc_run *run, cr_err *err) {
    const tokenize_self *s = run->f->self;
    cr_tok_run *tok = cr_tok_run_new(s->tokenizer);
    cr_toks texts = {0};
    cr_tok_ids ids = {0};
    cr_buf clean;
    cr_buf_init(&clean);
    cr_code code = CR_OK;
    cr_guard g = {.what = "the tokenizer",
                  .function = "the text",
                  .of = run->f->name,
                  .path = run->chunk->path,
                  .row = &run->out->row,
                  .lines = run->chunk->lines,
                  .first_row = run->chunk->first_row,
                  .n_rows = run->chunk->n_rows};
    for (int64_t r = 0; r < run->chunk->n_rows && code == CR_OK; r++) {
        run->out->row = r;
        cr_toks_row(&texts, run->in[0], r, CR_WHOLE_TEXT, false, run->arena);
        ids.n = 0;
        bool fine = true;
        cr_guard_enter(&g); /* once per row: rows that take long are not an endless loop */
        for (int64_t i = 0; fine && i < texts.n; i++)
            fine = tokens_of(s, tok, &clean, texts.v[i].p, texts.v[i].n, &ids);
        cr_guard_leave(&g);
        const cr_tok_ids *made = &ids;
        if (texts.n == 0) {
            made = &s->def;
            run->counts->missing += s->def.n > 0; /* otherwise the end counts it */
        }
        if (!fine)
            cr_calc_bad(
                run, 0, texts.v[0],
                "the text is longer than 1 MiB, or the tokenizer takes too much work on it");
        for (int64_t i = 0; fine && i < made->n; i++)
            cr_values_number(run->out, (double)made->v[i]);
        code = cr_calc_end_row(run, err);
    }
    cr_tok_ids_clear(&ids);
    cr_buf_clear(&clean);
    cr_tok_run_free(s->tokenizer, tok);
    return code;
}

static void build(cr_feature *f, const void *conf, const cr_data_conf *data, cr_arena *arena,
                  cr_diag *diag) {
    const tokenize_conf *c = conf;
    tokenize_self *s = CR_NEW(arena, tokenize_self);
    cr_calc_start(&s->op, f, &c->op, data);
    set_norm(s, f, c, data, arena, diag);
    /* also in FG_NONE, since the tokenizer says how many rows the table has */
    load(s, f, c, data, arena, diag);
    if (!s->op.encoded) {
        if (!c->expression[0])
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, f->at,
                        "feature '%s' has no expression; write e.g. %s", f->name,
                        CR_SAY(c, "expression", "\"item:title\""));
        else
            cr_calc_add(&s->op, f, "expression", -1, c->expression, CR_IN_TOKENS, data, arena,
                        diag);
        s->op.all = all_rows;
    }
    f->token_steps = c->tokens_as_sequence;
    /* the end reads ids, and the default has already become ids */
    cr_calc_conf *end = CR_NEW(arena, cr_calc_conf);
    *end = c->op;
    end->vocab_file = "";
    if (!s->op.encoded) end->default_value = "";
    s->op.n_ids = s->tokenizer ? cr_tokenizer_size(s->tokenizer) : 1;
    if (s->tokenizer && !s->op.encoded) set_default(s, f, c);
    cr_calc_finish(&s->op, f, end, CR_END_WHOLE, 0, data, arena, diag);
}

/* ---- fg.json ---- */

static void fg_text_norm(const cr_feature *f, const tokenize_conf *c, const char *name, cr_jw *w) {
    static const int bits[] = {2, 4, 8, 16, 32, 512, 0};
    const text_norm_conf *n = c->text_normalizer;
    int64_t parameter = 0;
    bool remove_space = false;
    cr_jw_obj(w, NULL);
    cr_jw_str(w, "feature_type", "text_normalizer");
    cr_jw_str(w, "feature_name", name);
    cr_jw_str(w, "expression", c->expression);
    cr_jw_bool(w, "is_gbk_input", false);
    cr_jw_bool(w, "is_gbk_output", false);
    cr_jw_bool(w, "stub_type", true);
    if (cr_conf_has(n, "max_length")) cr_jw_i64(w, "max_length", n->max_length);
    if (n->stop_char_file[0]) {
        const char *file = cr_feature_asset(f, "text_normalizer.stop_char_file");
        cr_jw_str(w, "stop_char_file", file ? file : n->stop_char_file);
    }
    for (int64_t i = 0; i < n->norm_options.n; i++) {
        parameter += bits[n->norm_options.v[i]];
        remove_space |= n->norm_options.v[i] == CR_TEXT_REMOVE_SPACE;
    }
    if (remove_space) cr_jw_bool(w, "remove_space", true);
    if (n->norm_options.n) cr_jw_i64(w, "parameter", parameter);
    cr_jw_end(w);
}

static void fg_json(const cr_feature *f, cr_jw *w) {
    const tokenize_conf *c = f->conf;
    const char *file = cr_feature_asset(f, "vocab_file");
    cr_buf norm;
    cr_buf_init(&norm);
    cr_buf_printf(&norm, "feature:%s__text_norm", cr_conf_text(c, "feature_name"));
    if (c->text_normalizer) fg_text_norm(f, c, norm.data + 8, w);
    cr_fg_json_begin(f, w, "tokenize_feature", c->op.default_value);
    cr_jw_str(w, "vocab_file", file ? file : c->op.vocab_file);
    cr_jw_str(w, "expression", c->text_normalizer ? norm.data : c->expression);
    cr_jw_str(w, "tokenizer_type", c->tokenizer_type);
    cr_jw_str(w, "output_type", "word_id");
    if (cr_conf_has(c, "stub_type")) cr_jw_bool(w, "stub_type", c->op.stub_type);
    cr_fg_json_end(f, w);
    cr_buf_clear(&norm);
}

static void sample(const cr_feature *f, int k, const cr_sampler *s, cr_tab_col *out) {
    static const char *const texts[] = {"A warm red coat",
                                        "Rain over the sea",
                                        "two tickets, one train",
                                        "Old books and new shoes",
                                        "how to bake bread at home",
                                        "small garden",
                                        "A quiet place by the river",
                                        "music for the evening"};
    if (cr_calc_sample(f, k, s, out) < 0) return;
    out->value =
        (cr_tab_value){.leaf = CR_TAB_WORD, .card = sizeof texts / sizeof *texts, .words = texts};
}

const cr_feature_type cr_feature_tokenize = {
    .name = "tokenize_feature",
    .build = build,
    .encode = cr_calc_encode,
    .fg_json = fg_json,
    .refuses = cr_calc_refuses,
    .gives_numbers = cr_calc_gives_numbers,
    .give = cr_calc_give,
    .sample = sample,
};
