/*
 * encoded.c - the keys that FG_NONE, the default fg_mode, does not apply. In this mode the columns
 * have the names of the features and hold ids and numbers that were made before. A config with keys
 * for raw values may be meant for another mode; so one warning lists these keys, and the messages
 * about values that are not ids say how to have crank make ids.
 *
 * num_buckets, hash_bucket_size and boundaries are not in the warning: in FG_NONE they are the
 * usual way to say how many rows a table has.
 */
#include "conf/conf.h"
#include "feat/feat_int.h"

#define MAX_NAMES 3 /* features that the warning names per key */

/* Keys that are not applied. `when` may say that a key, though given, asks for nothing. */
typedef bool (*idle_fn)(const cr_feature *f, const char *key);
typedef struct unapplied {
    const char *key;
    idle_fn when; /* NULL: whenever it is given */
} unapplied;

static bool computes(const cr_feature *f) {
    return f->type != &cr_feature_id && f->type != &cr_feature_raw;
}

/* Does side:column of a feature that reads one column name another column than the feature's
 * own? */
static bool other_column(const cr_feature *f, const char *key) {
    if (computes(f)) return false;
    const char *text = cr_conf_text(f->conf, key), *colon = strchr(text, ':');
    return colon && strcmp(colon + 1, cr_conf_text(f->conf, "feature_name")) != 0;
}

static bool not_default(const cr_feature *f, const char *key) {
    const cr_field *row = cr_msg_field(((const cr_conf_base *)f->conf)->msg, key);
    return strcmp(cr_conf_text(f->conf, key), row->str ? row->str : "") != 0;
}

static bool no_other_default(const cr_feature *f, const char *key) {
    return not_default(f, key) && !cr_conf_has(f->conf, "fg_encoded_default_value");
}

static const unapplied keys[] = {
    {"expression", other_column},
    {"normalizer", NULL},
    {"vocab_list", NULL},
    {"vocab_dict", NULL},
    {"vocab_file", NULL},
    {"separator", not_default},
    {"default_value", no_other_default},
    {"fg_value_type", NULL},
    {NULL, NULL},
};
/* Keys that turn raw values into ids. A message about a value that is not an id names the first one
 * that is given. */
static const char *const makes_ids[] = {
    "vocab_list", "vocab_dict",       "vocab_file", "zch", "dynamicemb",
    "growing",    "hash_bucket_size", "boundaries", NULL};

static bool is_unapplied(const cr_feature *f, const unapplied *u) {
    return cr_conf_has(f->conf, u->key) && (!u->when || u->when(f, u->key));
}

const char *cr_encoded_cure(const cr_feature *f, const cr_data_conf *data, cr_arena *arena) {
    if (!cr_fg_encoded(data)) return NULL;
    const char *what = computes(f) ? f->type->name : NULL;
    for (const char *const *k = makes_ids; *k && !what; k++)
        if (cr_conf_has(f->conf, *k)) what = *k;
    if (!what && other_column(f, "expression")) what = "expression";
    if (!what) return NULL;
    return cr_arena_printf(arena, "fg_mode FG_NONE does not apply %s, set %s if it is to", what,
                           CR_SAY(data, "data_config.fg_mode", "FG_NORMAL"));
}

/* "; key of 'a', 'b' and 3 more" */
typedef struct names {
    cr_buf *out;
    const char *what;
    int n;
} names;
static void name(names *s, const char *feature) {
    if (s->n == 0) cr_buf_printf(s->out, "%s%s of ", s->out->n ? "; " : "", s->what);
    if (s->n < MAX_NAMES) cr_buf_printf(s->out, "%s'%s'", s->n ? ", " : "", feature);
    s->n++;
}
static void end_names(const names *s) {
    if (s->n > MAX_NAMES) cr_buf_printf(s->out, " and %d more", s->n - MAX_NAMES);
}

void cr_encoded_check(const cr_features *fs, const cr_data_conf *data, cr_diag *diag) {
    if (!cr_fg_encoded(data)) return;
    cr_buf list;
    cr_buf_init(&list);
    cr_loc at = CR_NOWHERE;
    names ops = {&list, "the operator", 0};
    for (int i = 0; i < fs->n; i++) {
        if (!computes(fs->v[i]) || fs->v[i]->stub) continue;
        if (ops.n == 0) at = fs->v[i]->at;
        name(&ops, fs->v[i]->name);
    }
    end_names(&ops);
    for (const unapplied *u = keys; u->key; u++) {
        names with = {&list, u->key, 0};
        for (int i = 0; i < fs->n; i++) {
            const cr_feature *f = fs->v[i];
            if (f->stub || !is_unapplied(f, u)) continue;
            cr_loc here = cr_conf_at(f->conf, u->key);
            if (!at.path || here.line < at.line) at = here;
            name(&with, f->name);
        }
        end_names(&with);
    }
    if (list.n)
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, at,
                    "fg_mode FG_NONE reads the column that has the feature's name and takes its "
                    "values as they are; it does not apply %s; set %s if the columns hold raw "
                    "values",
                    list.data, CR_SAY(data, "data_config.fg_mode", "FG_NORMAL"));
    cr_buf_clear(&list);
}
