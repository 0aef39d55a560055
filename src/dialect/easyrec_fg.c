/*
 * easyrec_fg.c - fg.json: how the feature generator in front of EasyRec made its features.
 *
 * With fg.json, EasyRec trains on the output of the generator. Here the generator's work is part of
 * reading: the features are those of fg.json and take tables, widths and boundaries from EasyRec's
 * config. With use_old_fg the features are EasyRec's and take only their inputs from fg.json.
 */
#include <string.h>

#include "dialect/easyrec_int.h"

static void drop_doc(void *doc) {
    cr_conf_doc_clear(doc);
}

cr_code cr_er_fg_load(cr_er *er) {
    const char *path = er->opts->fg_json_path;
    const char *own = cr_rw_str(er->root, "fg_json_path", NULL);
    if (!path && own && *own != '!')
        path = own; /* With a '!' in front EasyRec has merged the file into the config already. */
    if (!path || !*path) return CR_OK;
    /* The result shares nodes with this document, so both live equally long. */
    cr_conf_doc *doc = CR_NEW(cr_er_arena(er), cr_conf_doc);
    cr_conf_doc_init(doc);
    cr_arena_defer(cr_er_arena(er), drop_doc, doc);
    CR_TRY(cr_conf_load(doc, path, er->w.diag));
    if (!cr_rw_has(doc->root, "features")) {
        cr_diag_add(er->w.diag, CR_SEV_ERROR, CR_ECONF, (cr_loc){doc->path, 0, 0},
                    "there is no list 'features'; give the fg.json of the feature generator");
        return CR_ECONF;
    }
    er->fg = doc->root;
    return CR_OK;
}

const cr_conf_node *cr_er_fg_of(const cr_er *er, const char *name, const cr_conf_node **block) {
    cr_rw_iter it = {.map = er->fg, .key = "features"};
    if (block) *block = NULL;
    for (const cr_conf_entry *e; name && (e = cr_rw_next(&it));) {
        const char *sequence = cr_rw_str(e->val, "sequence_name", NULL);
        if (!sequence) {
            if (strcmp(cr_rw_str(e->val, "feature_name", ""), name) == 0) return e->val;
            continue;
        }
        size_t n = strlen(sequence);
        if (strncmp(name, sequence, n) != 0 || strncmp(name + n, "__", 2) != 0) continue;
        cr_rw_iter sub = {.map = e->val, .key = "features"};
        for (const cr_conf_entry *s; (s = cr_rw_next(&sub));)
            if (strcmp(cr_rw_str(s->val, "feature_name", ""), name + n + 2) == 0) {
                if (block) *block = e->val;
                return s->val;
            }
    }
    return NULL;
}

/* ---- keys of fg.json ---- */

static void string_key(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    if (e->val->kind == CR_NODE_SCALAR) cr_rw_put_str(w, out, e->key, e->at, e->val->text);
}

#define GENERATOR "the feature's type says it here"
/* Some of these keys belong to some types only. Binding the result finds a key that its type does
 * not have. */
static const cr_rule fg_rules[] = {
    SPENT("feature_type"),
    TAKE("feature_name", NULL, NULL),
    TAKE("expression", NULL, NULL),
    CALL("default_value", string_key),
    CALL("separator", string_key),
    SPENT("hash_bucket_size"),
    SPENT("num_buckets"),
    SPENT("boundaries"),
    SPENT("vocab_list"),
    TAKE("vocab_dict", NULL, NULL),
    SPENT("vocab_file"),
    TAKE("value_dim", NULL, NULL),
    TAKE("value_dimension", "value_dim", NULL),
    TAKE("default_bucketize_value", NULL, NULL),
    TAKE("stub_type", NULL, NULL),
    TAKE("operator_name", NULL, NULL),
    TAKE("operator_lib_file", NULL, NULL),
    TAKE("is_op_thread_safe", NULL, NULL),
    CALL("normalizer", string_key),
    TAKE("variables", NULL, NULL),
    TAKE("weighted", NULL, NULL),
    TAKE("kv_delimiter", NULL, NULL),
    TAKE("query", NULL, NULL),
    TAKE("document", NULL, NULL),
    TAKE("title", NULL, NULL),
    TAKE("method", NULL, NULL),
    TAKE("map", NULL, NULL),
    TAKE("key", NULL, NULL),
    TAKE("user", "nested_map", NULL),
    TAKE("category", "pkey", NULL),
    TAKE("item", "skey", NULL),
    SPENT("combiner"),
    SPENT("needDiscrete"),
    TAKE("tokenizer_type", NULL, NULL),
    IDLE("value_type", NULL, GENERATOR),
    IDLE("valueType", NULL, GENERATOR),
    IDLE("needPrefix", "false", "tokens have no name in front; only the hash differs"),
    IDLE("need_prefix", "false", "tokens have no name in front; only the hash differs"),
    IDLE("needWeighting", "false", "see weighted"),
    IDLE("need_discrete", NULL, GENERATOR),
    IDLE("matchType", NULL, GENERATOR),
    IDLE("group", NULL, GENERATOR),
    TAKE("shared_name", "embedding_name", NULL),
    SPENT("bucketize_boundaries"),
    LOST("use_embedding_variable", "false", "tables have as many rows as hash_bucket_size says"),
    LOST("extra_combo_info", NULL, "write a combo_feature for it"),
    TAKE("embedding_name", NULL, NULL),
    SPENT("embedding_dimension"),
    SPENT("embedding_dim"),
    IDLE("sequence_pk", NULL, GENERATOR),
    SPENT("sequence_length"),
    SPENT("sequence_delim"),
    TAKE("show_category", "show_pkey", NULL),
    TAKE("show_item", "show_skey", NULL),
    END,
};

static const struct {
    const char *from, *to;
    bool numbers; /* Without a table the values are numbers. */
} fg_types[] = {
    {"id_feature", "id_feature", false},
    {"raw_feature", "raw_feature", true},
    {"combo_feature", "combo_feature", false},
    {"lookup_feature", "lookup_feature", true},
    {"match_feature", "match_feature", true},
    {"expr_feature", "expr_feature", true},
    {"overlap_feature", "overlap_feature", true},
    {"kv_dot_product", "kv_dot_product", true},
    {"tokenize_feature", "tokenize_feature", false},
    {"bool_mask_feature", "bool_mask_feature", false},
    {"custom_feature", "custom_feature", true},
    {NULL, NULL, false},
};

/* tables takes table sizes, widths and boundaries from the config, and from fg.json where the
 * config has none. */
static void tables(cr_rw *w, const cr_conf_node *fg, const cr_conf_node *conf, cr_conf_node *out) {
    static const char *const keys[] = {"hash_bucket_size", "num_buckets", "vocab_list",
                                       "vocab_file", "boundaries"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const cr_conf_node *from = cr_rw_has(conf, keys[i]) ? conf : fg;
        bool other = i < 4 && from == fg && conf &&
                     (cr_rw_has(conf, "hash_bucket_size") || cr_rw_has(conf, "num_buckets") ||
                      cr_rw_has(conf, "vocab_list"));
        cr_rw_iter it = {.map = from, .key = keys[i]};
        for (const cr_conf_entry *e; !other && (e = cr_rw_next(&it));)
            cr_conf_push(w->doc, out, keys[i], e->at, e->val);
    }
    static const char *const dims[] = {"embedding_dim", "embedding_dimension"};
    for (size_t i = 0; i < 2 && !cr_rw_has(out, "embedding_dim"); i++) {
        double dim = cr_rw_num(conf, dims[i], cr_rw_num(fg, dims[i], 0));
        if (dim > 0) cr_rw_put_num(w, out, "embedding_dim", conf ? conf->at : fg->at, dim);
    }
    const char *limits = cr_rw_str(fg, "bucketize_boundaries", NULL);
    while (limits && *limits && !cr_rw_has(conf, "boundaries")) {
        size_t n = strcspn(limits, ",");
        double x;
        if (cr_parse_f64(limits, n, &x)) cr_rw_put_num(w, out, "boundaries", fg->at, x);
        limits += n + (limits[n] == ',');
    }
    bool rows = cr_rw_has(out, "hash_bucket_size") || cr_rw_has(out, "num_buckets") ||
                cr_rw_has(out, "vocab_list") || cr_rw_has(out, "vocab_file") ||
                cr_rw_has(out, "boundaries");
    if (rows && !cr_rw_has(out, "embedding_dim")) /* EasyRec's default */
        cr_rw_put_num(w, out, "embedding_dim", fg->at,
                      cr_rw_num(cr_er_of(w)->fg, "embedding_dim", 16));
    if (conf && !cr_rw_has(out, "embedding_name"))
        for (size_t i = 0; i < conf->n; i++)
            if (cr_conf_key_is(conf, conf->v[i].key, "embedding_name"))
                cr_conf_push(w->doc, out, "embedding_name", conf->v[i].at, conf->v[i].val);
}

/* write_fg adds one definition to the list of out. `name` is the name of the feature in the config.
 */
static void write_fg(cr_er *er, const cr_conf_node *fg, const char *name, const char *list,
                     cr_conf_node *out) {
    cr_rw *w = &er->w;
    const char *type = cr_rw_str(fg, "feature_type", "");
    const cr_er_feature *known = cr_er_feature_of(er, name);
    const cr_conf_node *conf = known ? known->conf : NULL;
    size_t i = 0;
    while (fg_types[i].from && strcmp(fg_types[i].from, type) != 0)
        i++;
    if (!fg_types[i].from) {
        cr_rw_tell(w, CR_SEV_WARN, cr_rw_at(fg, "feature_type"),
                   "the feature type '%s' has no counterpart and '%s' is left out", type, name);
        return;
    }
    cr_conf_node *f = cr_rw_map(w, cr_rw_map(w, out, list, fg->at), fg_types[i].to, fg->at);
    size_t n = w->path.n;
    cr_buf_str(&w->path, "fg.json");
    w->any_key = true;
    cr_rw_message(w, fg_rules, fg, f);
    w->any_key = false;
    w->path.n = n;
    w->path.data[n] = 0;
    tables(w, fg, conf, f);
    const char *combiner = cr_rw_str(fg, "combiner", NULL);
    bool table = cr_rw_has(f, "hash_bucket_size") || cr_rw_has(f, "num_buckets") ||
                 cr_rw_has(f, "vocab_list") || cr_rw_has(f, "vocab_file");
    bool discrete = cr_rw_bool(fg, "needDiscrete", false);
    if (combiner && strcmp(fg_types[i].to, "lookup_feature") == 0 && !discrete)
        cr_rw_put_str(w, f, "combiner", cr_rw_at(fg, "combiner"), combiner);
    else if (combiner && (strcmp(combiner, "sum") == 0 || strcmp(combiner, "mean") == 0))
        cr_rw_put_str(w, f, "pooling", cr_rw_at(fg, "combiner"), combiner);
    if (discrete && (i == 3 || i == 4)) cr_rw_put_bool(w, f, "need_discrete", fg->at, true);
    if (fg_types[i].numbers && !table && !cr_rw_has(f, "boundaries") &&
        cr_rw_has(f, "embedding_dim"))
        cr_rw_map(w, f, "mlp", fg->at);
    er->res->n_features++;
}

static void write_block(cr_er *er, const cr_conf_node *in, bool all) {
    cr_rw *w = &er->w;
    const char *sequence = cr_rw_str(in, "sequence_name", "");
    cr_conf_node *member = cr_rw_map(w, er->out, "feature_configs", in->at);
    cr_conf_node *out = cr_rw_map(w, member, "sequence_feature", in->at);
    cr_rw_put_str(w, out, "sequence_name", cr_rw_at(in, "sequence_name"), sequence);
    cr_rw_put_num(w, out, "sequence_length", cr_rw_at(in, "sequence_length"),
                  cr_rw_num(in, "sequence_length", 100));
    cr_rw_put_str(w, out, "sequence_delim", in->at, cr_rw_str(in, "sequence_delim", ";"));
    if (cr_rw_has(in, "sequence_pk"))
        cr_rw_put_str(w, out, "sequence_pk", in->at, cr_rw_str(in, "sequence_pk", ""));
    cr_rw_iter it = {.map = in, .key = "features"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));) {
        const char *sub = cr_rw_str(e->val, "feature_name", "");
        const char *name = cr_arena_printf(cr_er_arena(er), "%s__%s", sequence, sub);
        if (all || cr_er_feature_of(er, name)) write_fg(er, e->val, name, "features", out);
    }
}

void cr_er_fg_features(cr_er *er) {
    cr_rw_iter it = {.map = er->fg, .key = "features"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));) {
        if (cr_rw_has(e->val, "sequence_name"))
            write_block(er, e->val, true);
        else
            write_fg(er, e->val, cr_rw_str(e->val, "feature_name", ""), "feature_configs", er->out);
    }
}

void cr_er_fg_blocks(cr_er *er) {
    cr_rw_iter it = {.map = er->fg, .key = "features"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));) {
        bool used = false;
        const char *sequence = cr_rw_str(e->val, "sequence_name", NULL);
        cr_rw_iter sub = {.map = e->val, .key = "features"};
        for (const cr_conf_entry *s; sequence && (s = cr_rw_next(&sub));)
            used |= cr_er_feature_of(er, cr_arena_printf(cr_er_arena(er), "%s__%s", sequence,
                                                         cr_rw_str(s->val, "feature_name", ""))) !=
                    NULL;
        if (used) write_block(er, e->val, false);
    }
}
