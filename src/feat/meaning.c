/*
 * meaning.c - the meaning of a model's numbers: everything that decides which ids and floats a cell
 * becomes. A checkpoint and an export keep it as features.json, and a model is only used with
 * features of the same meaning, because other ids would find the vectors of other values.
 *
 * The text holds, per feature, the keys of its config that differ from their defaults, so that a
 * key which a later version adds means its default in older files. Files (vocabularies, tokenizers,
 * libraries) are held by their content and not by their path. A key counts unless `about_tables`
 * lists it, so a new key of a feature is part of the meaning automatically. The order of features
 * in a group counts too: dense layers know their inputs by place and not by name.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "conf/conf.h"
#include "feat/feat_int.h"

#define FORMAT     1
#define LONG_VALUE 200 /* bytes; of a longer value the beginning and a hash are kept */
#define COLUMN     "type of column "
#define NUMBERS    "numbers" /* the training data decides it: see cr_features_adopt */

/* Keys that do not change the numbers, or that are written here in another form. The sizes of
 * tables are not written either: loading compares shapes, and training has a rule for tables that
 * grow or shrink. */
static const char *const about_tables[] = {"feature_name",
                                           "embedding_name",
                                           "embedding_dim",
                                           "num_buckets",
                                           "hash_bucket_size",
                                           "pooling",
                                           "init_fn",
                                           "use_mask",
                                           "trainable",
                                           "data_type",
                                           "embedding_constraints",
                                           "asset_dir",
                                           "pretrained_path",
                                           "pretrained_tensor",
                                           "sequence_length",
                                           "sequence_delim",
                                           NULL};
/* Keys whose absence means something that no value means. */
static const char *const may_be_absent[] = {"default_bucketize_value", "value_dim", NULL};
/* Keys of data_config that change what a cell becomes, and the modes in which they do. The first
 * ones are written even when they have their default, because the environment may decide them. */
static const struct {
    const char *key;
    bool raw, encoded; /* for raw columns; for columns that hold ids and numbers */
    bool if_given;     /* not written when it has its default */
} of_data[] = {{"fg_mode", true, true, false},
               {"fg_encoded_multival_sep", false, true, false},
               {"use_farm_hash", true, false, false},
               {"null_values", true, true, true}};
#define LABEL_MAP "label_map" /* labels belong to no feature, and predictions do not read them */

static bool listed(const char *const *list, const char *name) {
    for (; *list; list++)
        if (strcmp(*list, name) == 0) return true;
    return false;
}

static const char *const forms[] = {[CR_FORM_TEXT] = "text",
                                    [CR_FORM_TEXTS] = "texts",
                                    [CR_FORM_LIST] = "list",
                                    [CR_FORM_NUMBERS] = "numbers"};

/* ---- writing ---- */

typedef struct writer {
    cr_jw w;
    cr_buf value, plain; /* the text of the value, and of its default */
    cr_arena arena;
    const cr_feature *f;
} writer;

static const char *text(cr_buf *b) {
    cr_buf_char(b, 0);
    return b->data;
}

static void put(writer *m, const char *key, const char *value) {
    size_t n = strlen(value);
    if (n > LONG_VALUE) {
        size_t cut = cr_utf8_cut(value, 60);
        value = cr_arena_printf(&m->arena, "%.*s... (%zu bytes, hash %016" PRIx64 ")", (int)cut,
                                value, n, cr_hash_farm(value, n));
    }
    cr_jw_str(&m->w, key, value);
}

static const struct cr_asset *asset_of(const cr_feature *f, const char *field) {
    for (int i = 0; i < f->n_assets; i++)
        if (strcmp(f->assets[i].field, field) == 0) return &f->assets[i];
    return NULL;
}

static void fields(writer *m, const void *conf, const void *plain, const char *prefix);

/* Writes a message inside another one; conf NULL: it is not given. */
static void inner(writer *m, const void *conf, const char *key) {
    if (!conf) return;
    /* takes the complaints about missing required keys; only the defaults are wanted */
    cr_diag quiet;
    cr_diag_init(&quiet);
    put(m, key, "given");
    fields(m, conf, cr_conf_bind(&m->arena, ((const cr_conf_base *)conf)->msg, NULL, &quiet),
           cr_arena_printf(&m->arena, "%s.", key));
    cr_diag_clear(&quiet);
}

/* Writes the fields of one message. prefix: the key of a message inside the feature's, with a
 * dot. */
static void fields(writer *m, const void *conf, const void *plain, const char *prefix) {
    for (const cr_field *f = ((const cr_conf_base *)conf)->msg->fields; f->name; f++) {
        if (f->offset == CR_NO_STORE || (!*prefix && listed(about_tables, f->name))) continue;
        if (!*prefix && (strcmp(f->name, "zch") == 0 || strcmp(f->name, "dynamicemb") == 0 ||
                         strcmp(f->name, "growing") == 0)) {
            bool first = strcmp(f->name, "zch") == 0;
            if (first && cr_feature_mapped(m->f))
                put(m, "ids", "of 63 bits, which a map turns into rows");
            continue;
        }
        const char *key = cr_arena_printf(&m->arena, "%s%s", prefix, f->name);
        const struct cr_asset *file = asset_of(m->f, key);
        if (file) {
            put(m, key,
                cr_arena_printf(&m->arena, "a file of %zu bytes, hash %016" PRIx64, file->size,
                                file->hash));
            continue;
        }
        if (f->type == CR_T_MSG && !(f->flags & CR_F_REPEATED)) {
            inner(m, *(void *const *)((const char *)conf + f->offset), key);
            continue;
        }
        if (f->type == CR_T_ONEOF) {
            const cr_choice *c = (const cr_choice *)((const char *)conf + f->offset);
            if (c->m) inner(m, c->conf, cr_arena_printf(&m->arena, "%s%s", prefix, c->m->key));
            continue;
        }
        cr_buf_reset(&m->value);
        cr_buf_reset(&m->plain);
        cr_conf_value(&m->value, conf, f);
        cr_conf_value(&m->plain, plain, f);
        if (strcmp(text(&m->value), text(&m->plain)) == 0 &&
            !(listed(may_be_absent, f->name) && cr_conf_has(conf, f->name)))
            continue;
        put(m, key, m->value.data);
    }
}

static const char *declared_type(const cr_data_conf *data, const char *column) {
    for (int64_t i = 0; i < data->input_fields.n; i++) {
        const cr_field_conf *f = data->input_fields.v[i];
        if (strcmp(f->input_name, column) != 0) continue;
        for (const cr_enum_value *e = cr_field_types; e->name; e++)
            if (e->value == f->input_type) return e->name;
    }
    return NULL;
}

static void feature(writer *m, const cr_feature *f, const cr_data_conf *data) {
    cr_diag quiet;
    cr_diag_init(&quiet);
    m->f = f;
    cr_jw_obj(&m->w, f->name);
    put(m, "type", f->type->name);
    fields(m, f->conf, cr_conf_bind(&m->arena, ((const cr_conf_base *)f->conf)->msg, NULL, &quiet),
           "");
    if (f->form) put(m, NUMBERS, forms[f->form]);
    if (f->mean) put(m, "pooling", "mean");
    /* otherwise two tables of one shape could change places unnoticed */
    if (f->embedding_name &&
        strcmp(f->embedding_name, cr_arena_printf(&m->arena, "%s_emb", f->name)) != 0)
        put(m, "embedding_name", f->embedding_name);
    if (f->seq) {
        put(m, "sequence_length", cr_arena_printf(&m->arena, "%" PRId64, f->seq->length));
        cr_buf_reset(&m->value);
        cr_json_escape(&m->value, f->seq->delim, f->seq->n_delim);
        put(m, "sequence_delim", text(&m->value));
    }
    for (int k = 0; k < f->n_columns; k++) {
        const char *type = declared_type(data, f->columns[k]);
        if (type) put(m, cr_arena_printf(&m->arena, COLUMN "%s", f->columns[k]), type);
    }
    cr_jw_end(&m->w);
    cr_diag_clear(&quiet);
}

void cr_features_meaning(const cr_features *fs, const cr_data_conf *data,
                         const cr_feature_order *orders, int n_orders, cr_buf *out) {
    writer m;
    memset(&m, 0, sizeof m);
    cr_arena_init(&m.arena, 0);
    cr_buf_init(&m.value);
    cr_buf_init(&m.plain);
    cr_jw_init(&m.w, out);
    cr_jw_obj(&m.w, NULL);
    cr_jw_i64(&m.w, "format", FORMAT);
    cr_jw_obj(&m.w, "data_config");
    for (size_t i = 0; i < sizeof of_data / sizeof *of_data; i++) {
        if (cr_fg_encoded(data) ? !of_data[i].encoded : !of_data[i].raw) continue;
        if (of_data[i].if_given && !cr_conf_has(data, of_data[i].key)) continue;
        cr_buf_reset(&m.value);
        cr_conf_value(&m.value, data, cr_msg_field(&cr_data_msg, of_data[i].key));
        put(&m, of_data[i].key, text(&m.value));
    }
    cr_jw_end(&m.w);
    if (fs->n_labels > 0) {
        cr_jw_obj(&m.w, "labels");
        cr_buf_reset(&m.value);
        cr_conf_value(&m.value, data, cr_msg_field(&cr_data_msg, LABEL_MAP));
        if (cr_conf_has(data, LABEL_MAP)) put(&m, LABEL_MAP, text(&m.value));
        cr_jw_end(&m.w);
    }
    cr_jw_obj(&m.w, "features");
    for (int i = 0; i < fs->n; i++)
        feature(&m, fs->v[i], data);
    cr_jw_end(&m.w);
    cr_jw_obj(&m.w, "feature_groups");
    for (int i = 0; i < n_orders; i++) {
        cr_jw_obj(&m.w, orders[i].name);
        cr_buf_reset(&m.value);
        for (int64_t k = 0; k < orders[i].names.n; k++)
            cr_buf_printf(&m.value, "%s%s", k ? ", " : "", orders[i].names.v[k]);
        put(&m, "feature_names", text(&m.value));
        cr_jw_end(&m.w);
    }
    cr_jw_end(&m.w);
    cr_jw_end(&m.w);
    cr_buf_char(out, '\n');
    cr_buf_clear(&m.value);
    cr_buf_clear(&m.plain);
    cr_arena_clear(&m.arena);
}

/* ---- comparing ---- */

typedef struct comparison {
    const char *path; /* path of the checkpoint or export */
    cr_sev sev;
    cr_diag *diag;
    int n;
} comparison;

static void differs(comparison *c, const void *conf, const char *who, const char *key,
                    const char *was, const char *now) {
    const char *dot =
        /* text_normalizer.max_length is reported at the place of text_normalizer */
        strchr(key, '.');
    char field[64];
    snprintf(field, sizeof field, "%.*s", (int)(dot ? (size_t)(dot - key) : strlen(key)), key);
    const cr_conf_base *base = conf;
    cr_loc at = cr_msg_field(base->msg, field) ? cr_conf_at(conf, field) : base->at;
    cr_diag_add(c->diag, c->sev, CR_ECONF, at, "%s%s is %s here, but %s was made with %s%s", who,
                key, now ? now : "the default", c->path, was ? was : "the default",
                c->sev == CR_SEV_ERROR ? "; put that back, or accept other numbers with "
                                         "--accept_changed_features"
                                       : "");
    c->n++;
}

/* Compares one object of texts with another; a key that one of them lacks has its default there. */
static void objects(comparison *c, const void *conf, const char *who, const cr_json *was,
                    const cr_json *now) {
    const char *key;
    const cr_json *v;
    for (void *it = NULL; cr_json_next(was, &it, &key, &v);) {
        const char *a = cr_json_str(v), *b = cr_json_str(cr_json_get(now, key));
        /* it is not declared here */
        if (!b && strncmp(key, COLUMN, sizeof(COLUMN) - 1) == 0) continue;
        if (strcmp(key, NUMBERS) == 0) continue;
        if (!a || !b || strcmp(a, b) != 0) differs(c, conf, who, key, a, b);
    }
    for (void *it = NULL; cr_json_next(now, &it, &key, &v);)
        if (!cr_json_get(was, key) && strncmp(key, COLUMN, sizeof(COLUMN) - 1) != 0 &&
            strcmp(key, NUMBERS) != 0)
            differs(c, conf, who, key, NULL, cr_json_str(v));
}

void cr_features_adopt(cr_features *fs, const char *was) {
    cr_json *before;
    if (cr_json_parse(&before, was, strlen(was), NULL) != CR_OK) return;
    const cr_json *features = cr_json_get(before, "features");
    for (int i = 0; i < fs->n; i++) {
        cr_feature *f = fs->v[i];
        const cr_json *of = features ? cr_json_get(features, f->name) : NULL;
        const char *how = of ? cr_json_str(cr_json_get(of, NUMBERS)) : NULL;
        for (int k = CR_FORM_TEXT; how && f->type->form && k <= CR_FORM_NUMBERS; k++)
            if (strcmp(how, forms[k]) == 0) f->form = (cr_number_form)k;
    }
    cr_json_free(before);
}

/* A file of a later version may hold things that this version cannot compare. */
static cr_code check_format(const cr_json *before, const char *path, cr_diag *diag) {
    int64_t format = 0;
    bool given = cr_json_i64(cr_json_get(before, "format"), &format);
    if (given && format == FORMAT) return CR_OK;
    cr_diag_add(diag, CR_SEV_ERROR, CR_ERUN, (cr_loc){path, 0, 0},
                given ? "features.json has format %lld, this crank knows %d; use a newer one"
                      : "features.json is damaged (its format is missing); use another checkpoint",
                (long long)format, FORMAT);
    return CR_ERUN;
}

cr_code cr_features_same_meaning(const cr_features *fs, const cr_data_conf *data,
                                 const cr_feature_order *orders, int n_orders, const char *was,
                                 const char *path, cr_sev sev, int *n, cr_diag *diag) {
    cr_json *before, *after;
    cr_err err;
    *n = 0;
    if (cr_json_parse(&before, was, strlen(was), &err) != CR_OK) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ERUN, (cr_loc){path, 0, 0},
                    "features.json is damaged (%s); use another checkpoint", err.msg);
        return CR_ERUN;
    }
    if (check_format(before, path, diag) != CR_OK) {
        cr_json_free(before);
        return CR_ERUN;
    }
    cr_buf now;
    cr_buf_init(&now);
    cr_features_meaning(fs, data, orders, n_orders, &now);
    if (cr_json_parse(&after, now.data, now.n, &err) != CR_OK)
        CR_BUG("the meaning of features is no JSON");
    comparison c = {path, sev, diag, 0};
    objects(&c, data, "data_config.", cr_json_get(before, "data_config"),
            cr_json_get(after, "data_config"));
    if (fs->n_labels > 0 && cr_json_get(before, "labels"))
        objects(&c, data, "data_config.", cr_json_get(before, "labels"),
                cr_json_get(after, "labels"));
    const cr_json *features = cr_json_get(before, "features");
    for (int i = 0; i < fs->n; i++) {
        const cr_feature *f = fs->v[i];
        const cr_json *of = cr_json_get(features, f->name);
        if (!of) continue; /* the model does not have this feature; the parameters tell */
        char who[160];
        snprintf(who, sizeof who, "feature '%.120s': ", f->name);
        objects(&c, f->conf, who, of, cr_json_get(cr_json_get(after, "features"), f->name));
    }
    const cr_json *groups = cr_json_get(before, "feature_groups");
    for (int i = 0; i < n_orders; i++) {
        const cr_json *of = groups ? cr_json_get(groups, orders[i].name) : NULL;
        /* the order belongs to another model, or to a version that did not write it */
        if (!of) continue;
        char who[160];
        snprintf(who, sizeof who, "feature group '%.120s': ", orders[i].name);
        objects(&c, orders[i].conf, who, of,
                cr_json_get(cr_json_get(after, "feature_groups"), orders[i].name));
    }
    *n = c.n;
    cr_json_free(before);
    cr_json_free(after);
    cr_buf_clear(&now);
    return cr_diag_code(diag);
}
