/*
 * tok.c - tokenizers: the ids that the libraries themselves give (tests/golden/tokenizers), files
 * that are wrong, texts of any bytes; and tokenize_feature: the reference's values, sequences,
 * defaults, text_normalizer.
 */
#include <unistd.h>

#include "base/file.h"
#include "feat_test.h"
#include "text/text_norm.h"
#include "text/tok.h"

#define NORMAL "fg_mode: FG_NORMAL"

static const char *golden(const char *name, const char *ext) {
    static char path[2][1200];
    static int turn;
    char *p = path[turn = !turn];
    const char *root = getenv("CRANK_SOURCE_ROOT");
    snprintf(p, 1200, "%s/tests/golden/tokenizers/%s%s", root ? root : ".", name, ext);
    return p;
}

static bool read_golden(const char *name, const char *ext, cr_buf *out) {
    cr_err err;
    cr_buf_init(out);
    bool fine = cr_file_read(golden(name, ext), 0, out, &err) == CR_OK;
    CHECK(fine);
    if (!fine) fprintf(stderr, "  %s\n", err.msg);
    return fine;
}

static cr_tokenizer *load(const char *type, const char *name, const char *ext) {
    cr_buf data;
    cr_err err;
    cr_tokenizer *t = NULL;
    if (read_golden(name, ext, &data)) {
        CHECK_INT(cr_tokenizer_new(&t, type, data.data, data.n, &err), CR_OK);
        if (!t) fprintf(stderr, "  %s: %s\n", name, err.msg);
    }
    cr_buf_clear(&data);
    return t;
}

/* every line of texts.txt against the line of the .ids */
static void check_golden(const char *type, const char *name, const char *ext) {
    cr_buf texts, ids;
    cr_tokenizer *t = load(type, name, ext);
    int lines = 0;
    bool there = read_golden("texts", ".txt", &texts);
    there = read_golden(name, ".ids", &ids) && there;
    if (there && t) {
        cr_tok_run *run = cr_tok_run_new(t);
        cr_tok_ids got = {0};
        const char *p = texts.data, *q = ids.data;
        while (*p && *q) {
            const char *pe = strchr(p, '\n'), *qe = strchr(q, '\n');
            cr_buf line;
            cr_buf_init(&line);
            got.n = 0;
            CHECK(cr_tokenizer_encode(t, run, p, (size_t)(pe - p), &got));
            for (int64_t i = 0; i < got.n; i++) {
                CHECK(got.v[i] >= 0 && got.v[i] < cr_tokenizer_size(t));
                cr_buf_printf(&line, "%s%lld", i ? " " : "", (long long)got.v[i]);
            }
            bool same =
                line.n == (size_t)(qe - q) && (line.n == 0 || !memcmp(line.data, q, line.n));
            CHECK(same);
            if (!same)
                fprintf(stderr, "  %s: '%.*s'\n    got %s\n    not %.*s\n", name, (int)(pe - p), p,
                        line.n ? line.data : "", (int)(qe - q), q);
            cr_buf_clear(&line);
            lines++;
            p = pe + 1;
            q = qe + 1;
        }
        cr_tok_ids_clear(&got);
        cr_tok_run_free(t, run);
    }
    CHECK(lines >= 4);
    cr_tokenizer_free(t);
    cr_buf_clear(&texts);
    cr_buf_clear(&ids);
}

TEST(golden_json) {
    static const char *const names[] = {"byte_level", "regex_split",   "digits",   "whitespace",
                                        "behaviors",  "metaspace",     "word_end", "continued",
                                        "neox",       "byte_fallback", NULL};
    for (int i = 0; names[i]; i++)
        check_golden("bpe", names[i], ".json");
}

TEST(golden_sentencepiece) {
    static const char *const names[] = {"unigram", "unigram_bytes", "unigram_suffix",
                                        "bpe",     "bpe_bytes",     "bpe_suffix",
                                        NULL};
    for (int i = 0; names[i]; i++)
        check_golden("sentencepiece", names[i], ".model");
}

/* a word of many symbols, and bytes that are no text, which count as U+FFFD */
TEST(any_text) {
    cr_tokenizer *t = load("bpe", "byte_level", ".json");
    cr_tok_run *run = cr_tok_run_new(t);
    cr_tok_ids a = {0}, b = {0};
    CHECK(cr_tokenizer_encode(t, run, "a\xff\xc3", 3, &a));
    CHECK(cr_tokenizer_encode(t, run, "a\xef\xbf\xbd\xef\xbf\xbd", 7, &b));
    CHECK(a.n == b.n && memcmp(a.v, b.v, sizeof(int64_t) * (size_t)a.n) == 0);
    size_t n = 200000;
    char *word = cr_alloc(n, "a long word");
    for (size_t i = 0; i < n; i++)
        word[i] = "thein"[i % 5];
    a.n = 0;
    CHECK(cr_tokenizer_encode(t, run, word, n, &a));
    CHECK_INT(a.n, (int64_t)n / 5 * 2); /* "the" "in" */
    a.n = 0;
    CHECK(cr_tokenizer_encode(t, run, "", 0, &a));
    CHECK_INT(a.n, 0);
    cr_free(word);
    cr_tok_ids_clear(&a);
    cr_tok_ids_clear(&b);
    cr_tok_run_free(t, run);
    cr_tokenizer_free(t);
}

#define MODEL(rest) "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1}, " rest "}}"
#define WITH(rest)  "{\"model\": {\"vocab\": {\"a\": 0}, \"merges\": []}, " rest "}"

TEST(wrong_files) {
    static const struct {
        const char *type, *data, *says;
    } cases[] = {
        {"wordpiece", "", "unknown tokenizer_type 'wordpiece'; use bpe or sentencepiece"},
        {"bpe", "[]", "not a tokenizer.json"},
        {"bpe", "{}", "the file has no model"},
        {"bpe", "{\"model\": {\"type\": \"WordPiece\"}}",
         "model 'WordPiece' is not in this version"},
        {"bpe", MODEL("\"merges\": 3"), "model has no list of merges"},
        {"bpe", MODEL("\"merges\": [\"a\"]"), "merge 1 is not a pair of tokens"},
        {"bpe", MODEL("\"merges\": [[\"a\", \"b\", \"c\"]]"), "merge 1 is not a pair of tokens"},
        {"bpe", MODEL("\"merges\": [\"a b\"]"), "merge 1 names a token that is not in vocab"},
        {"bpe", MODEL("\"merges\": [], \"dropout\": 0.1"), "dropout makes tokens random"},
        {"bpe", MODEL("\"merges\": [], \"unk_token\": \"?\""), "unk_token '?' is not in vocab"},
        {"bpe", "{\"model\": {\"merges\": [], \"vocab\": {\"a\": -1}}}", "id of token 'a'"},
        {"bpe", WITH("\"normalizer\": {\"type\": \"Nmt\"}"), "normalizer 'Nmt' is not in this"},
        {"bpe", WITH("\"pre_tokenizer\": {\"type\": \"UnicodeScripts\"}"),
         "pre_tokenizer 'UnicodeScripts' is not in this version"},
        {"bpe", WITH("\"pre_tokenizer\": {\"type\": \"Split\", \"behavior\": \"Isolated\"}"),
         "pre_tokenizer Split has no pattern"},
        {"bpe",
         WITH("\"pre_tokenizer\": {\"type\": \"Split\", \"behavior\": \"Isolated\", \"pattern\": "
              "{\"Regex\": \"(\"}}"),
         "regular expression, character 2"},
        {"bpe", WITH("\"added_tokens\": [{\"id\": 3}]"), "added token 1 has no content or no id"},
        {"sentencepiece", "", "not a SentencePiece model, or cut short"},
        {"sentencepiece", "hello world", "not a SentencePiece model, or cut short"},
        {"sentencepiece",
         "\x0a\x05\x0a\x03"
         "abc",
         "the model has no unknown piece"},
        {"sentencepiece",
         "\x0a\x05\x0a\x09"
         "abc",
         "cut short"},
        {"sentencepiece", "\x0a\x02\x18\x02\x12\x02\x18\x03", "splits by words or characters"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_tokenizer *t = NULL;
        cr_err err = {0};
        CHECK_INT(cr_tokenizer_new(&t, cases[i].type, cases[i].data, strlen(cases[i].data), &err),
                  i < 1 || cases[i].data[0] != 'x' ? CR_ECONF : CR_OK);
        CHECK(t == NULL && strstr(err.msg, cases[i].says) != NULL);
        if (!strstr(err.msg, cases[i].says)) fprintf(stderr, "  %zu: %s\n", i, err.msg);
    }
    /* one piece of 60000 bytes would take gigabytes; so would many of 1000 */
    cr_buf data;
    cr_buf_init(&data);
    cr_buf_add(&data, "\x0a\x02\x18\x02\x0a\xe4\xd4\x03\x0a\xe0\xd4\x03", 12);
    for (int i = 0; i < 60000; i++)
        cr_buf_char(&data, 'a');
    cr_tokenizer *long_one = NULL;
    cr_err why = {0};
    CHECK_INT(cr_tokenizer_new(&long_one, "sentencepiece", data.data, data.n, &why), CR_ECONF);
    CHECK(strstr(why.msg, "piece 1 has 60000 bytes; at most 1024 are allowed") != NULL);
    cr_buf_reset(&data);
    cr_buf_add(&data, "\x0a\x02\x18\x02", 4);
    for (int k = 0; k < 150; k++) {
        cr_buf_add(&data, "\x0a\xeb\x07\x0a\xe8\x07", 6);
        cr_buf_printf(&data, "%03d", k);
        for (int i = 3; i < 1000; i++)
            cr_buf_char(&data, 'a');
    }
    CHECK_INT(cr_tokenizer_new(&long_one, "sentencepiece", data.data, data.n, &why), CR_ECONF);
    CHECK(strstr(why.msg, "the pieces up to piece 1") != NULL);
    cr_buf_clear(&data);
    /* a real model, cut anywhere, is refused or works */
    if (read_golden("unigram", ".model", &data))
        for (size_t n = 0; n < data.n; n += 7) {
            char *cut = cr_alloc(n + 1, "a cut file");
            cr_err err;
            cr_tokenizer *t = NULL;
            memcpy(cut, data.data, n);
            if (cr_tokenizer_new(&t, "sentencepiece", cut, n, &err) == CR_OK) {
                cr_tok_run *run = cr_tok_run_new(t);
                cr_tok_ids ids = {0};
                CHECK(cr_tokenizer_encode(t, run, "abc \xef\xac\x81", 7, &ids));
                cr_tok_ids_clear(&ids);
                cr_tok_run_free(t, run);
            }
            cr_tokenizer_free(t);
            cr_free(cut);
        }
    cr_buf_clear(&data);
}

/* ---- the feature ---- */

static void open_it(t_feats *t, const char *data, const char *kind, const char *file,
                    const char *rest) {
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_printf(&b,
                  "- %s: {feature_name: f, expression: 'user:c', embedding_dim: 16, vocab_file: "
                  "'%s'%s}",
                  kind, file, rest);
    t_open(t, data, b.data, false, NULL, 0);
    CHECK(t->fs != NULL);
    if (!t->fs) t_show_diag(t);
    cr_buf_clear(&b);
}

#define GOLD(rest, column, ...)                                                                    \
    do {                                                                                           \
        t_feats t;                                                                                 \
        open_it(&t, NORMAL, "tokenize_feature", golden("neox", ".json"), rest);                    \
        if (t.fs) {                                                                                \
            TEXT(&t, "c", column);                                                                 \
            t_encode(&t);                                                                          \
            CHECK(t.rc == CR_OK && t.bad.n == 0);                                                  \
            CHECK_INT(t.fs->v[0]->num_embeddings, 50277);                                          \
            CHECK_IDS(&t, 0, __VA_ARGS__);                                                         \
        }                                                                                          \
        t_close(&t);                                                                               \
    } while (0)
#define COL(...) __VA_ARGS__

TEST(golden_feature) {
    GOLD("", COL("abc efg", "", "hij"), IDS(19758, 299, 16054, 73, 1944), LENS(3, 0, 2));
    GOLD(", default_value: xyz", COL("abc efg", NULL, "hij"),
         IDS(19758, 299, 16054, 35609, 73, 1944), LENS(3, 1, 2));
    GOLD(", text_normalizer: {norm_options: [TEXT_UPPER2LOWER]}", COL("ABC efg", "", "HIJ"),
         IDS(19758, 299, 16054, 73, 1944), LENS(3, 0, 2));
}

static void check_steps(const t_feats *t, const int64_t *ids, int64_t n, const int *len,
                        const int *steps, int64_t n_rows) {
    const cr_jagged *j = &t->batch.sparse[0];
    CHECK(t->rc == CR_OK && t->bad.n == 0);
    CHECK_INT(j->n_ids, n);
    for (int64_t i = 0; i < n && j->n_ids == n; i++)
        CHECK_INT(j->ids[i], ids[i]);
    CHECK(j->steps != NULL);
    for (int64_t r = 0; j->steps && r < n_rows; r++)
        CHECK_INT(j->steps[r + 1] - j->steps[r], steps[r]);
    CHECK((len == NULL) == (j->off == NULL));
    for (int64_t i = 0; len && j->off && i < j->steps[n_rows]; i++)
        CHECK_INT(j->off[i + 1] - j->off[i], len[i]);
}

TEST(golden_sequences) {
    t_feats t;
    static const struct {
        const char *rest, *a, *c;
        int64_t def;
    } cases[] = {{"", "abc efg;hij", "hij", 17},
                 {", default_value: xyz", "abc efg;hij", "hij", 35609},
                 {", text_normalizer: {norm_options: [TEXT_UPPER2LOWER]}", "ABC efg;hij", "HIJ",
                  17}};
    for (int i = 0; i < 3; i++) {
        open_it(&t, NORMAL, "sequence_tokenize_feature", golden("neox", ".json"), cases[i].rest);
        TEXT(&t, "c", cases[i].a, "", cases[i].c);
        t_encode(&t);
        check_steps(&t, (const int64_t[]){19758, 299, 16054, 73, 1944, cases[i].def, 73, 1944}, 8,
                    (const int[]){3, 2, 1, 2}, (const int[]){2, 1, 1}, 3);
        t_close(&t);
    }
    /* each token a step: the text is not cut at sequence_delim */
    open_it(&t, NORMAL, "tokenize_feature", golden("neox", ".json"),
            ", tokens_as_sequence: true, sequence_length: 2");
    CHECK(t.fs->v[0]->seq != NULL);
    TEXT(&t, "c", "abc efg", "hij", NULL, "xyz");
    t_encode(&t);
    check_steps(&t, (const int64_t[]){19758, 299, 73, 1944, 17, 35609}, 6, NULL,
                (const int[]){2, 2, 1, 1}, 4);
    CHECK_INT(cr_features_counts(&t.enc)[0].truncated, 1);
    CHECK_INT(cr_features_counts(&t.enc)[0].missing, 1);
    t_close(&t);
}

/* another feature reads the text before, and the file's own ids are taken in FG_NONE */
TEST(modes) {
    t_feats t;
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_printf(
        &b,
        "- custom_feature: {feature_name: s, expression: ['user:c'], operator_name: "
        "RegexReplace, operator_lib_file: pyfg/lib/libregex_replace.so, default_value: "
        "'', stub_type: true, operator_params: {regex_pattern: '(?s)^(.{0,7}).*$', "
        "replacement: '\\1<|endoftext|>', replace_all: false}}\n"
        "- tokenize_feature: {feature_name: f, expression: 'feature:s', embedding_dim: 16, "
        "tokens_as_sequence: true, vocab_file: '%s'}",
        golden("neox", ".json"));
    t_open(&t, "fg_mode: FG_DAG", b.data, false, NULL, 0);
    CHECK(t.fs != NULL);
    if (!t.fs) t_show_diag(&t);
    if (t.fs) {
        TEXT(&t, "c", "abc efg hij", "hij", NULL);
        t_encode(&t);
        check_steps(&t, (const int64_t[]){19758, 299, 16054, 0, 73, 1944, 0, 17}, 8, NULL,
                    (const int[]){4, 3, 1}, 3);
    }
    t_close(&t);
    cr_buf_clear(&b);
    open_it(&t, "fg_mode: FG_NONE", "tokenize_feature", golden("neox", ".json"), "");
    TEXT(&t, "f",
         "1\x03"
         "2",
         "", NULL, "3");
    t_encode(&t);
    CHECK_IDS(&t, 0, IDS(1, 2, 3), LENS(2, 0, 0, 1));
    t_close(&t);
    open_it(&t, "fg_mode: FG_NONE", "tokenize_feature", golden("neox", ".json"),
            ", tokens_as_sequence: true");
    TEXT(&t, "f",
         "1\x03"
         "2",
         "", "3");
    t_encode(&t);
    check_steps(&t, (const int64_t[]){1, 2, 3}, 3, NULL, (const int[]){2, 0, 1}, 3);
    t_close(&t);
}

TEST(row_by_row) {
    static const char *const v[] = {"abc efg", "", "hij  xyz", NULL, "abcabc", "j"};
    t_feats all, one;
    for (int k = 0; k < 2; k++) {
        const char *file = k ? golden("unigram_bytes", ".model") : golden("byte_level", ".json");
        const char *rest = k ? ", tokenizer_type: sentencepiece, default_value: abc" : "";
        open_it(&all, NORMAL, "tokenize_feature", file, rest);
        open_it(&one, NORMAL, "tokenize_feature", file, rest);
        t_text(&all, "c", v, 6);
        t_encode(&all);
        const cr_jagged *j = &all.batch.sparse[0];
        for (int r = 0; r < 6; r++) {
            t_text(&one, "c", v + r, 1);
            t_encode(&one);
            const cr_jagged *x = &one.batch.sparse[0];
            CHECK_INT(x->n_ids, j->off[r + 1] - j->off[r]);
            CHECK(memcmp(x->ids, j->ids + j->off[r], sizeof(int64_t) * (size_t)x->n_ids) == 0);
            t_drop_chunk(&one);
        }
        /* a list is its items in turn */
        cr_column *c = t_list(&one, "c", (const int32_t[]){0, 2}, 1);
        t_strings(&one, c, (const char *const[]){"abc", "hij"}, 2, NULL);
        t_encode(&one);
        CHECK(one.rc == CR_OK && one.batch.sparse[0].n_ids >= 2);
        t_close(&all);
        t_close(&one);
    }
}

TEST(text_normalizer) {
    static const struct {
        unsigned options;
        const char *in, *out;
    } cases[] = {
        {1u << CR_TEXT_LOWER2UPPER, "abc ñ 裙", "ABC Ñ 裙"},
        {1u << CR_TEXT_UPPER2LOWER, "ABC ÑΣ", "abc ñσ"},
        {1u << CR_TEXT_SBC2DBC, "ＡＢＣ　１２３！ァ", "ABC 123!ァ"},
        {1u << CR_TEXT_CHT2CHS, "連衣裙與東風abc", "连衣裙与东风abc"},
        {1u << CR_TEXT_FILTER, "a,b。c!（d）\x01€ e\n", "abcd e\n"},
        {1u << CR_TEXT_SPLITCHRS, "我爱abc裙子 x", "我 爱 abc 裙 子 x"},
        {1u << CR_TEXT_REMOVE_SPACE, " a b\tc　", "abc"},
        {1u << CR_TEXT_SBC2DBC | 1u << CR_TEXT_FILTER | 1u << CR_TEXT_UPPER2LOWER, "Ａ，Ｂ\xff",
         "ab\xff"},
        {0, "as it is", "as it is"},
    };
    cr_buf out;
    cr_buf_init(&out);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_text_norm t = {.options = cases[i].options};
        cr_text_norm_apply(&t, cases[i].in, strlen(cases[i].in), &out);
        CHECK(out.n == strlen(cases[i].out) && memcmp(out.data, cases[i].out, out.n) == 0);
        if (memcmp(out.data, cases[i].out, out.n) != 0)
            fprintf(stderr, "  %zu: '%.*s'\n", i, (int)out.n, out.data);
    }
    cr_text_norm t = {.options = 1u << CR_TEXT_LOWER2UPPER, .max_length = 3};
    cr_text_norm_apply(&t, "ñbc", 4, &out);
    CHECK(out.n == 4 && memcmp(out.data, "ÑBC", 4) == 0);
    cr_text_norm_apply(&t, "abcd", 4, &out);
    CHECK(out.n == 4 && memcmp(out.data, "abcd", 4) == 0);
    cr_buf_clear(&out);
}

TEST(config) {
    t_feats t;
    char path[64] = "/tmp/crank-stop-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, "裙\nx\r\n", 8) > 0);
    close(fd);
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_printf(&b,
                  ", stub_type: false, text_normalizer: {max_length: 100, stop_char_file: '%s', "
                  "norm_options: [TEXT_FILTER, TEXT_REMOVE_SPACE, TEXT_SBC2DBC]}",
                  path);
    open_it(&t, NORMAL, "tokenize_feature", golden("neox", ".json"), b.data);
    if (t.fs) {
        TEXT(&t, "c", "裙hxi　j裙");
        t_encode(&t);
        CHECK_IDS(&t, 0, IDS(73, 1944), LENS(2));
        CHECK_INT(t.fs->v[0]->n_assets, 2);
        cr_buf_reset(&b);
        cr_features_fg_json(t.fs, &b);
        CHECK(strstr(b.data,
                     "{\"features\": [{\"feature_type\": \"text_normalizer\", "
                     "\"feature_name\": \"f__text_norm\", \"expression\": \"user:c\", "
                     "\"is_gbk_input\": false, \"is_gbk_output\": false, \"stub_type\": "
                     "true, \"max_length\": 100, \"stop_char_file\": \"crank-stop-") != NULL);
        CHECK(strstr(b.data, "\"remove_space\": true, \"parameter\": 40}, {\"feature_type\": "
                             "\"tokenize_feature\", \"feature_name\": \"f\", \"default_value\": "
                             "\"\", \"vocab_file\": \"neox_") != NULL);
        CHECK(strstr(b.data,
                     "\"expression\": \"feature:f__text_norm\", \"tokenizer_type\": \"bpe\", "
                     "\"output_type\": \"word_id\"") != NULL);
    }
    t_close(&t);
    cr_buf_clear(&b);
    unlink(path);
    t_open(&t, NORMAL,
           "- tokenize_feature: {feature_name: f, expression: 'user:c', embedding_dim: 4, "
           "vocab_file: nix.json}",
           false, NULL, 0);
    CHECK(t.fs == NULL && t_has(&t, "feature 'f': vocab_file: nix.json: cannot open"));
    t_close(&t);
    t_open(&t, NORMAL,
           "- tokenize_feature: {feature_name: f, expression: 'user:c', embedding_dim: 4, "
           "vocab_file: /etc/passwd, text_normalizer: {norm_options: [TEXT_LOWER2UPPER, "
           "TEXT_UPPER2LOWER]}}",
           false, NULL, 0);
    CHECK(t_has(&t, "norm_options has both"));
    CHECK(t_has(&t, "feature 'f': vocab_file '/etc/passwd': "));
    t_close(&t);
}

TEST_MAIN(CASE(golden_json), CASE(golden_sentencepiece), CASE(any_text), CASE(wrong_files),
          CASE(golden_feature), CASE(golden_sequences), CASE(modes), CASE(row_by_row),
          CASE(text_normalizer), CASE(config))
