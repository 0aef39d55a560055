/*
 * id.c - id_feature: turns the tokens of one column into rows of a table.
 *
 * When a config gives several sources, the first of a list counts. As in TorchEasyRec there are two
 * lists: the table's size comes from zch, dynamicemb, hash_bucket_size, num_buckets, vocab_list,
 * vocab_dict, vocab_file, the mapping from zch, dynamicemb, hash_bucket_size, vocab_list,
 * vocab_dict, vocab_file, num_buckets. crank warns of several sources. With zch and dynamicemb ids
 * are hashes of 63 bits.
 */
#include "feat/feat_int.h"
#include "kern/kern.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "feat/number.h"
#include "feat/sample.h"
#include "text/limits.h"

typedef struct id_self {
    cr_input in;
    cr_ids ids;
} id_self;

static void complain(cr_diag *diag, cr_sev sev, const cr_feature *f, const char *field,
                     const char *text) {
    cr_diag_add(diag, sev, CR_ECONF, cr_conf_at(f->conf, field), "feature '%s': %s", f->name, text);
}

/* Returns the id of an unlisted token in *out; true: the config gives it. */
static bool unknown_id(const cr_id_conf *c, int64_t *out) {
    bool given = cr_conf_has(c, "default_bucketize_value");
    uint64_t d = c->default_bucketize_value;
    *out = !given ? 1 : d < (uint64_t)INT64_MAX ? (int64_t)d : INT64_MAX; /* never negative */
    return given;
}

static void vocab_list(cr_vocab *v, const cr_feature *f, const cr_id_conf *c, cr_arena *arena,
                       cr_diag *diag) {
    const char *def = cr_seq_default(f, c->default_value);
    cr_vocab_init(v, arena, (size_t)c->vocab_list.n + 2);
    int64_t base = 0;
    if (!unknown_id(c, &v->unknown)) {
        cr_vocab_put(v, def, strlen(def), 0);
        cr_vocab_put(v, "<OOV>", 5, 1);
        base = 2;
    } else if (v->unknown >= c->vocab_list.n) {
        complain(diag, CR_SEV_ERROR, f, "default_bucketize_value",
                 "default_bucketize_value must be below the number of tokens in vocab_list");
    }
    for (int64_t i = 0; i < c->vocab_list.n; i++) {
        const char *t = c->vocab_list.v[i];
        bool is_default = base == 2 && strcmp(t, def) == 0;
        if (!cr_vocab_put(v, t, strlen(t), i + base) && !is_default)
            cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at_item(c, "vocab_list", i),
                        "feature '%s': vocab_list holds '%s' again; the last place counts", f->name,
                        t);
    }
    v->size = c->vocab_list.n + base;
}

static void vocab_dict(cr_vocab *v, const cr_feature *f, const cr_id_conf *c, cr_arena *arena,
                       cr_diag *diag) {
    const char *def = cr_seq_default(f, c->default_value);
    cr_vocab_init(v, arena, (size_t)c->vocab_dict.n + 1);
    bool given = unknown_id(c, &v->unknown), low = false;
    for (int64_t i = 0; i < c->vocab_dict.n; i++) {
        const cr_conf_map_entry *e = &c->vocab_dict.v[i];
        if (e->i >= (uint64_t)INT64_MAX) {
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, e->at,
                        "feature '%s': id %" PRIu64 " is too large", f->name, e->i);
            continue;
        }
        low |= e->i <= 1;
        cr_vocab_put(v, e->key, strlen(e->key), (int64_t)e->i);
    }
    int64_t size = v->size;
    if (!given) {
        if (low)
            complain(
                diag, CR_SEV_WARN, f, "vocab_dict",
                "ids of vocab_dict should start at 2: 0 stands for default_value, 1 for unknown "
                "tokens; or set default_bucketize_value");
        cr_vocab_put(v, def, strlen(def), 0);
    } else if (v->unknown >= size) {
        complain(diag, CR_SEV_ERROR, f, "default_bucketize_value",
                 "default_bucketize_value must not be above the highest id of vocab_dict");
    }
    v->size = size > 0 ? size : 1;
}

static void vocab_file(cr_vocab *v, cr_feature *f, const cr_id_conf *c, const cr_data_conf *data,
                       cr_arena *arena, cr_diag *diag) {
    cr_vocab_init(v, arena, 0);
    if (!unknown_id(c, &v->unknown)) {
        complain(diag, CR_SEV_ERROR, f, "vocab_file",
                 "vocab_file needs default_bucketize_value, the id of unknown tokens");
        v->unknown = 0;
    }
    const char *path;
    cr_buf text;
    cr_buf_init(&text);
    cr_err err = {0};
    if (cr_feature_path(c->asset_dir, c->vocab_file, data, arena, &path, &err) != CR_OK ||
        cr_file_read(path, CR_MOST_VOCAB_BYTES, &text, &err) != CR_OK) {
        char why[600];
        cr_err_text(&err, why, sizeof(why));
        cr_diag_add(diag, CR_SEV_ERROR, err.code, cr_conf_at(c, "vocab_file"),
                    "feature '%s': vocab_file: %s", f->name, why);
        v->size = 1;
    } else {
        size_t lines = 1;
        for (const char *p = text.data, *e = p + text.n;
             p && p < e && (p = memchr(p, '\n', (size_t)(e - p))); p++)
            lines++;
        cr_vocab_init(v, arena, lines);
        unknown_id(c, &v->unknown);
        cr_vocab_read(v, path, text.data ? text.data : "", text.n, diag);
        cr_feature_add_asset(f, "vocab_file", path, &text, arena);
        if (cr_conf_has(c, "default_bucketize_value") && v->unknown >= v->size && v->size > 0)
            complain(diag, CR_SEV_ERROR, f, "default_bucketize_value",
                     "default_bucketize_value must not be above the highest id of vocab_file");
    }
    cr_buf_clear(&text);
}

/* Turns a size from the config into table rows; binding has already reported a wrong size. */
static int64_t rows_of(uint64_t n) {
    return n >= 1 && n <= (uint64_t)INT64_MAX ? (int64_t)n : 1;
}

/* Returns false when nothing says how many rows the table has. */
static bool set_mapping(cr_feature *f, id_self *s, const cr_id_conf *c, const cr_data_conf *data,
                        cr_arena *arena, cr_diag *diag) {
    cr_ids *m = &s->ids;
    bool hash = cr_conf_has(c, "hash_bucket_size"), buckets = cr_conf_has(c, "num_buckets");
    bool list = c->vocab_list.n > 0, dict = c->vocab_dict.n > 0, file = c->vocab_file[0] != 0;
    if (c->python2_hash[0] && (!hash || c->zch || c->dynamicemb || c->growing))
        complain(diag, CR_SEV_ERROR, f, "python2_hash",
                 "python2_hash says how hash_bucket_size hashes; give that, or remove it");
    if (!(c->zch || c->dynamicemb || c->growing || hash || buckets || list || dict || file)) {
        complain(diag, CR_SEV_ERROR, f, "feature_name",
                 "no table size; set one of hash_bucket_size, num_buckets, vocab_list, vocab_dict, "
                 "vocab_file, zch, dynamicemb, growing");
        f->num_embeddings = 1;
        return false;
    }
    int64_t hash_rows = rows_of(c->hash_bucket_size), bucket_rows = rows_of(c->num_buckets);
    if (c->zch || c->dynamicemb || c->growing) {
        f->zch = c->zch;
        f->demb = c->zch ? NULL : c->dynamicemb;
        f->grow = c->zch || c->dynamicemb ? NULL : c->growing;
        m->kind = CR_IDS_HASH;
        m->hash = cr_hash_choose(data->use_farm_hash);
        m->mod = cr_mod_make(CR_WIDE_IDS);
        /* the last row is that of ids without one */
        f->num_embeddings = f->zch    ? rows_of(f->zch->zch_size)
                            : f->demb ? rows_of(f->demb->max_capacity) + 1
                                      : cr_grow_conf_rows(f->grow) + 1;
        return true;
    }
    if (hash) {
        m->kind = CR_IDS_HASH;
        m->hash = cr_hash_choose(data->use_farm_hash);
        m->mod = cr_mod_make((uint64_t)hash_rows);
        if (c->python2_hash[0]) {
            m->before = c->python2_hash;
            m->n_before = strlen(c->python2_hash);
        }
    } else if (list || dict || file) {
        m->kind = CR_IDS_VOCAB;
        if (list)
            vocab_list(&m->vocab, f, c, arena, diag);
        else if (dict)
            vocab_dict(&m->vocab, f, c, arena, diag);
        else
            vocab_file(&m->vocab, f, c, data, arena, diag);
    } else {
        m->kind = CR_IDS_BUCKETS;
    }
    f->num_embeddings = hash ? hash_rows : buckets ? bucket_rows : m->vocab.size;
    if (f->num_embeddings < 1) f->num_embeddings = 1;
    m->clamp = m->kind == CR_IDS_VOCAB &&
               (m->vocab.size > f->num_embeddings || m->vocab.unknown >= f->num_embeddings);
    return true;
}

/* Sets the id of default_value or, in FG_NONE, the ids of fg_encoded_default_value. */
static void set_default(cr_feature *f, cr_ids *m, const cr_id_conf *c, bool encoded,
                        cr_arena *arena, cr_diag *diag) {
    const char *field = encoded ? "fg_encoded_default_value" : "default_value";
    const char *text = encoded ? c->fg_encoded_default_value : cr_seq_default(f, c->default_value);
    if (!*text && (encoded || !m->before)) return;
    int64_t cap = 1, n = 0;
    for (const char *p = text; encoded && (p = strstr(p, m->sep)); p += m->n_sep)
        cap++;
    int64_t *ids = CR_NEW_N(arena, int64_t, cap);
    for (const char *p = text; p;) {
        const char *cut = encoded ? strstr(p, m->sep) : NULL, *why = NULL;
        int64_t range = CR_NO_RANGE;
        size_t len = cut ? (size_t)(cut - p) : strlen(p);
        if (!cr_ids_of(m, p, len, &ids[n], &range, &why)) {
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_at_char(c, field, (size_t)(p - text)),
                        "feature '%s': %s '%s': %s", f->name, field, text, why);
            return;
        }
        if (range != CR_NO_RANGE)
            cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_at_char(c, field, (size_t)(p - text)),
                        "feature '%s': %s '%s' is outside the table of %lld rows; 0 is used",
                        f->name, field, text, (long long)m->num_embeddings);
        n++;
        p = cut ? cut + m->n_sep : NULL;
    }
    m->def = ids;
    m->n_def = n;
}

/* Returns how many ids are taken per row or step; a step has one unless the config asks for
 * more. */
static int64_t value_dim(const cr_feature *f, const cr_id_conf *c) {
    return f->seq && !cr_conf_has(c, "value_dim") ? 1 : c->value_dim;
}

static void build(cr_feature *f, const void *conf, const cr_data_conf *data, cr_arena *arena,
                  cr_diag *diag) {
    const cr_id_conf *c = conf;
    id_self *s = CR_NEW(arena, id_self);
    bool encoded = cr_fg_encoded(data);
    f->self = s;
    f->sparse = true;
    f->embedding_dim = c->embedding_dim;
    f->embedding_name = c->embedding_name[0] ? c->embedding_name : NULL;
    f->mean = strcasecmp(c->pooling, "mean") == 0;
    f->weighted = c->weighted;
    f->init_fn = c->init_fn[0] ? c->init_fn : NULL;
    f->trainable = c->trainable;
    f->half = cr_half_of(c->data_type);
    cr_input_make(&s->in, f, c, c->expression, data, arena, diag);
    if (f->stub) return;
    if (!set_mapping(f, s, c, data, arena, diag)) return;
    cr_ids *m = &s->ids;
    m->num_embeddings = cr_feature_mapped(f) ? CR_WIDE_IDS : f->num_embeddings;
    m->weighted = c->weighted;
    m->sep = encoded ? data->fg_encoded_multival_sep : c->separator;
    if (!m->sep || !*m->sep) m->sep = encoded ? "\x03" : "\x1d";
    m->n_sep = strlen(m->sep);
    if (encoded) {
        m->kind = CR_IDS_ENCODED;
    } else {
        m->is_int = s->in.is_int;
        m->value_dim = value_dim(f, c);
    }
    set_default(f, m, c, encoded, arena, diag);
}

static cr_code encode(const cr_feature *f, const cr_chunk *in, cr_feat_out *out, cr_err *err) {
    const id_self *s = f->self;
    const cr_column *col = cr_input_column(&s->in, f, in, out->arena);
    return cr_ids_encode(&s->ids, f, col, in, out, err);
}

void cr_id_fg_buckets(const cr_feature *f, const cr_id_conf *c, cr_jw *w) {
    int64_t unknown;
    unknown_id(c, &unknown);
    const char *def = cr_seq_default(f, c->default_value);
    if (cr_feature_mapped(f)) {
        cr_jw_i64(w, "hash_bucket_size", CR_WIDE_IDS);
    } else if (cr_conf_has(c, "hash_bucket_size")) {
        cr_jw_i64(w, "hash_bucket_size", (int64_t)c->hash_bucket_size);
        if (c->python2_hash[0]) cr_jw_str(w, "python2_hash", c->python2_hash);
    } else if (c->vocab_list.n) {
        cr_jw_arr(w, "vocab_list");
        if (!cr_conf_has(c, "default_bucketize_value")) {
            cr_jw_str(w, NULL, def);
            cr_jw_str(w, NULL, "<OOV>");
        }
        for (int64_t i = 0; i < c->vocab_list.n; i++)
            cr_jw_str(w, NULL, c->vocab_list.v[i]);
        cr_jw_end(w);
        cr_jw_i64(w, "default_bucketize_value", unknown);
    } else if (c->vocab_dict.n) {
        bool given = cr_conf_has(c, "default_bucketize_value"), put = given;
        cr_jw_obj(w, "vocab_dict");
        for (int64_t i = 0; i < c->vocab_dict.n; i++) {
            const cr_conf_map_entry *e = &c->vocab_dict.v[i];
            bool is_default = !given && strcmp(e->key, def) == 0;
            put |= is_default;
            cr_jw_i64(w, e->key, is_default ? 0 : (int64_t)e->i);
        }
        if (!put) cr_jw_i64(w, def, 0);
        cr_jw_end(w);
        cr_jw_i64(w, "default_bucketize_value", unknown);
    } else if (c->vocab_file[0]) {
        const char *name = cr_feature_asset(f, "vocab_file");
        cr_jw_str(w, "vocab_file", name ? name : c->vocab_file);
        cr_jw_i64(w, "default_bucketize_value", unknown);
    } else if (cr_conf_has(c, "num_buckets")) {
        cr_jw_i64(w, "num_buckets", (int64_t)c->num_buckets);
    }
}

static void fg_json(const cr_feature *f, cr_jw *w) {
    const cr_id_conf *c = f->conf;
    cr_fg_json_begin(f, w, "id_feature", c->default_value);
    cr_jw_str(w, "expression", c->expression);
    cr_jw_str(w, "value_type", c->fg_value_type[0] ? c->fg_value_type : "string");
    cr_jw_bool(w, "need_prefix", false);
    if (strcmp(c->separator, "\x1d") != 0) cr_jw_str(w, "separator", c->separator);
    cr_id_fg_buckets(f, c, w);
    if (c->weighted) cr_jw_bool(w, "weighted", true);
    cr_jw_i64(w, "value_dim", value_dim(f, c));
    if (cr_conf_has(c, "stub_type")) cr_jw_bool(w, "stub_type", c->stub_type);
    cr_fg_json_end(f, w);
}

static const char *refuses(const cr_feature *f, int k, const cr_colkind *kind) {
    (void)k;
    const id_self *s = f->self;
    return cr_ids_refuses(&s->ids, kind);
}

static bool gives_numbers(const cr_feature *f) {
    (void)f;
    return false;
}

static cr_code give(const cr_feature *f, const cr_chunk *in, cr_column *out, cr_arena *arena,
                    cr_bad *bad, cr_err *err) {
    (void)bad;
    const id_self *s = f->self;
    const cr_id_conf *c = f->conf;
    return cr_give_tokens(f, cr_input_column(&s->in, f, in, arena),
                          cr_seq_default(f, c->default_value), c->separator[0], value_dim(f, c), in,
                          out, arena, err);
}

static void sample(const cr_feature *f, int k, const cr_sampler *s, cr_tab_col *out) {
    (void)k;
    const id_self *self = f->self;
    const cr_id_conf *c = f->conf;
    const cr_data_conf *data = cr_sample_data(s);
    bool encoded = cr_fg_encoded(data);
    if (f->stub) return;
    cr_sample_ids(&self->ids, &out->value, cr_sample_arena(s));
    out->sep = self->ids.sep;
    out->weighted = c->weighted;
    int64_t dim = value_dim(f, c);
    /* several values where the config allows several */
    bool many = c->weighted || dim > 1 || cr_conf_has(c, "value_dim") ||
                cr_conf_has(encoded ? (const void *)data : c,
                            encoded ? "fg_encoded_multival_sep" : "separator");
    if (dim != 1 && many) out->max_values = dim > 1 && dim < 5 ? (int)dim : 5;
}

const cr_feature_type cr_feature_id = {
    .name = "id_feature",
    .build = build,
    .encode = encode,
    .fg_json = fg_json,
    .refuses = refuses,
    .gives_numbers = gives_numbers,
    .give = give,
    .sample = sample,
};
