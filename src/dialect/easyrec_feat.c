/*
 * easyrec_feat.c - converts features: EasyRec has one message for all types, crank has one per
 * type.
 *
 * The table of a type has the keys that EasyRec reads in this type. The report says that all other
 * keys have no effect. An input is a column name with `user:` in front, as TorchEasyRec's own
 * converter writes it; with fg.json the side is known.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/easyrec_int.h"

/* ---- which features there are ---- */

static const struct {
    const char *name;
    int number;
    cr_er_kind kind;
} kinds[] = {
    {"IdFeature", 0, CR_ER_ID},         {"RawFeature", 1, CR_ER_RAW},
    {"TagFeature", 2, CR_ER_TAG},       {"ComboFeature", 3, CR_ER_COMBO},
    {"LookupFeature", 4, CR_ER_LOOKUP}, {"SequenceFeature", 5, CR_ER_SEQ_ID},
    {"ExprFeature", 6, CR_ER_EXPR},     {"PassThroughFeature", 7, CR_ER_NONE},
};

static bool kind_of(const cr_conf_node *conf, const char *key, cr_er_kind *out) {
    const char *text = cr_rw_str(conf, key, "IdFeature");
    int64_t number = -1;
    (void)!cr_parse_i64(text, strlen(text), &number);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strcmp(kinds[i].name, text) == 0 || kinds[i].number == number) {
            *out = kinds[i].kind;
            return true;
        }
    return false;
}

static bool has_bounds(const cr_conf_node *c) {
    return cr_rw_has(c, "boundaries") || (cr_rw_num(c, "num_buckets", 0) > 1 &&
                                          cr_rw_num(c, "max_val", 0) > cr_rw_num(c, "min_val", 0));
}

static void add_feature(cr_er *er, const char *name, void *ctx) {
    cr_er_feature f = *(const cr_er_feature *)ctx;
    const cr_conf_node *c = f.conf;
    if (!cr_rw_has(c, "feature_name") || f.input) f.name = name;
    if (f.input) f.input = name;
    CR_ASSERT(f.name); /* collect refused a feature without a name */
    double dim = cr_rw_num(c, "embedding_dim", 0);
    bool raw = f.kind == CR_ER_RAW || f.kind == CR_ER_SEQ_RAW || f.kind == CR_ER_EXPR;
    f.table = !raw || (f.kind != CR_ER_EXPR && has_bounds(c));
    f.dim = f.table || (f.kind == CR_ER_RAW && dim > 0) ? dim : cr_rw_num(c, "raw_input_dim", 1);
    const cr_conf_node *block = NULL;
    f.in_block = cr_er_fg_of(er, f.name, &block) && block;
    if (er->n_features == er->cap_features) {
        size_t cap = er->cap_features ? 2 * er->cap_features : 64;
        cr_er_feature *v = CR_NEW_N(cr_er_arena(er), cr_er_feature, cap);
        if (er->n_features) memcpy(v, er->features, er->n_features * sizeof(*v));
        er->features = v;
        er->cap_features = cap;
    }
    cr_map_put(&er->feature_index, f.name, strlen(f.name), (int64_t)er->n_features);
    er->features[er->n_features++] = f;
}

static void note_reader(cr_er *er, const char *input) {
    int64_t i = cr_map_get(&er->field_index, input, strlen(input), -1);
    if (i >= 0) er->fields[i].n_readers++;
}

static void collect(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    cr_er *er = cr_er_of(w);
    const cr_conf_node *c = e->val;
    const char *input = NULL;
    cr_rw_iter it = {.map = c, .key = "input_names"};
    const cr_conf_entry *first = cr_rw_next(&it);
    (void)out;
    if (c->kind != CR_NODE_MAP) {
        cr_diag_add(w->diag, CR_SEV_ERROR, CR_ECONF, e->at, "%s must be a message", e->key);
        return;
    }
    if (first && first->val->kind == CR_NODE_SCALAR) input = first->val->text;
    cr_er_feature f = {.name = cr_rw_str(c, "feature_name", input), .conf = c};
    if (!kind_of(c, "feature_type", &f.kind)) {
        cr_diag_add(w->diag, CR_SEV_ERROR, CR_ECONF, cr_rw_at(c, "feature_type"),
                    "EasyRec has no feature_type '%s'", cr_rw_str(c, "feature_type", ""));
        return;
    }
    if (!f.name || !*f.name || !input) {
        cr_diag_add(w->diag, CR_SEV_ERROR, CR_ECONF, e->at,
                    "the feature has no input_names; EasyRec needs them, too");
        return;
    }
    cr_er_kind sub = CR_ER_ID;
    if (f.kind == CR_ER_SEQ_ID && kind_of(c, "sub_feature_type", &sub) && sub == CR_ER_RAW)
        f.kind = CR_ER_SEQ_RAW;
    if (!cr_rw_next(&it)) note_reader(er, input);
    if (cr_rw_has(c, "feature_name"))
        add_feature(er, f.name, &f);
    else
        cr_er_expand(er, f.name, add_feature, &f);
    it = (cr_rw_iter){.map = c, .key = "shared_names"};
    for (const cr_conf_entry *s; (s = cr_rw_next(&it));)
        if (s->val->kind == CR_NODE_SCALAR) {
            f.input = s->val->text;
            if (cr_rw_bool(er->data, "auto_expand_input_fields", false))
                cr_er_expand(er, f.input, add_feature, &f);
            else
                add_feature(er, f.input, &f);
            note_reader(er, f.input);
        }
}

void cr_er_collect_features(cr_er *er) {
    cr_rw_values(&er->w, er->root, "feature_configs", collect, NULL);
    if (er->n_features) return; /* EasyRec reads only one of the two as well. */
    cr_rw_values(&er->w, cr_rw_get(er->root, "feature_config"), "features", collect, NULL);
}

cr_er_feature *cr_er_feature_of(const cr_er *er, const char *name) {
    int64_t i = name ? cr_map_get(&er->feature_index, name, strlen(name), -1) : -1;
    return i < 0 ? NULL : &er->features[i];
}

/* ---- keys ---- */

/* id_key returns the key that makes ids of values. EasyRec uses the first of these that is given.
 */
static const char *id_key(const cr_conf_node *c) {
    static const char *const keys[] = {"hash_bucket_size", "vocab_list", "vocab_file",
                                       "num_buckets"};
    for (size_t i = 0; i < 4; i++)
        if (cr_rw_has(c, keys[i])) return keys[i];
    return "";
}

/* conf_of returns the whole feature, because a function of a rule gets only its own entry. */
static const cr_conf_node *conf_of(cr_rw *w) {
    return cr_er_of(w)->feature->conf;
}

static void ids(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    const char *key = id_key(conf_of(w));
    if (strcmp(key, e->key) == 0)
        cr_conf_push(w->doc, out, e->key, e->at, e->val);
    else
        cr_rw_tell(w, CR_SEV_NOTE, e->at,
                   "'%s.%s' is left out: the feature has %s, which comes "
                   "first in EasyRec",
                   w->path.data, e->key, key);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* write_bounds writes the boundaries in ascending order, because EasyRec sorts them too. */
static void write_bounds(cr_rw *w, const cr_conf_node *c, cr_conf_node *out) {
    size_t n = cr_rw_count(c, "boundaries"), k = 0;
    double low = cr_rw_num(c, "min_val", 0), high = cr_rw_num(c, "max_val", 0);
    double buckets = cr_rw_num(c, "num_buckets", 0);
    if (n == 0 && buckets > 1 && buckets <= 1e6 &&
        high > low) { /* The range 0 to 1 is cut into equal parts. */
        for (int64_t i = 0; (double)i < buckets; i++)
            cr_rw_put_num(w, out, "boundaries", cr_rw_at(c, "num_buckets"), (double)i / buckets);
        return;
    }
    double *v = CR_NEW_N(&w->doc->arena, double, n + 1);
    cr_rw_iter it = {.map = c, .key = "boundaries"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));) {
        double x;
        if (e->val->kind == CR_NODE_SCALAR && cr_parse_f64(e->val->text, e->val->len, &x))
            v[k++] = x;
        else
            cr_diag_add(w->diag, CR_SEV_ERROR, CR_ECONF, e->at, "boundaries must be numbers");
    }
    qsort(v, k, sizeof(*v), by_size);
    for (size_t i = 0; i < k; i++)
        cr_rw_put_num(w, out, "boundaries", cr_rw_at(c, "boundaries"), v[i]);
}

/* Functions of TensorFlow, as formulas over %s. */
static const struct {
    const char *name, *formula;
} functions[] = {
    {"log1p", "ln(1+%s)"}, {"log", "ln(%s)"},          {"sqrt", "sqrt(%s)"},
    {"exp", "exp(%s)"},    {"sigmoid", "sigmoid(%s)"}, {"tanh", "tanh(%s)"},
    {"abs", "abs(%s)"},    {"square", "%s^2"},         {"sign", "sign(%s)"},
};

static const char *function_formula(const char *fn) {
    const char *last = strrchr(fn, '.');
    if (strncmp(fn, "tf.", 3) != 0 || !last) return NULL;
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
        if (strcmp(last + 1, functions[i].name) == 0) return functions[i].formula;
    return NULL;
}

static void write_normalizer(cr_rw *w, const cr_conf_node *c, bool sequence, cr_conf_node *out) {
    double low = cr_rw_num(c, "min_val", 0), high = cr_rw_num(c, "max_val", 0);
    const char *fn = cr_rw_str(c, "normalizer_fn", NULL);
    const char *formula = fn ? function_formula(fn) : NULL;
    cr_arena *arena = &w->doc->arena;
    cr_loc at = cr_rw_at(c, high > low ? "max_val" : "normalizer_fn");
    /* EasyRec normalizes a sequence only if num_buckets cuts its numbers into buckets. */
    bool scale = high > low && (!sequence || cr_rw_num(c, "num_buckets", 0) > 1);
    if (fn && !formula)
        cr_rw_drop(w, CR_SEV_WARN, cr_rw_at(c, "normalizer_fn"), "normalizer_fn",
                   "it is a function of TensorFlow without a counterpart; write normalizer: "
                   "\"method=expression,expr=...\"");
    if (sequence) formula = NULL;
    if (scale && !formula) {
        cr_rw_put_str(w, out, "normalizer", at,
                      cr_arena_printf(arena, "method=minmax,min=%.9g,max=%.9g", low, high));
    } else if (formula) {
        const char *x = scale ? cr_arena_printf(arena, "((x-(%.9g))/%.9g)", low, high - low) : "x";
        char text[160];
        const char *hole = strstr(formula, "%s");
        snprintf(text, sizeof(text), "method=expression,expr=%.*s%s%s", (int)(hole - formula),
                 formula, x, hole + 2);
        cr_rw_put_str(w, out, "normalizer", at, text);
    }
}

static const cr_rule normal_rules[] = {
    TAKE("mean", NULL, NULL),
    TAKE("stddev", NULL, NULL),
    END,
};
static const cr_rule initializer_rules[] = {
    SPENT("truncated_normal_initializer"),
    SPENT("random_normal_initializer"),
    SPENT("glorot_normal_initializer"),
    LOST("constant_initializer", NULL,
         "tables start at random; for given values write pretrained_path"),
    END,
};

static void initializer(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    static const struct {
        const char *from, *to;
    } names[] = {
        {"truncated_normal_initializer", "nn.init.trunc_normal_"},
        {"random_normal_initializer", "nn.init.normal_"},
        {"glorot_normal_initializer", "nn.init.xavier_normal_"},
    };
    cr_conf_node *unused = cr_conf_new(w->doc, CR_NODE_MAP, e->at);
    cr_rw_message(w, initializer_rules, e->val, out);
    for (size_t i = 0; i < 3; i++) {
        const cr_conf_node *c = cr_rw_get(e->val, names[i].from);
        if (!c) continue;
        cr_rw_message(w, i < 2 ? normal_rules : normal_rules + 2, c, unused);
        double mean = cr_rw_num(c, "mean", 0), std = cr_rw_num(c, "stddev", 1);
        cr_arena *arena = &w->doc->arena;
        cr_rw_put_str(w, out, "init_fn", e->at,
                      i == 2 ? names[i].to
                      : i == 1
                          ? cr_arena_printf(arena, "%s,mean=%.9g,std=%.9g", names[i].to, mean, std)
                          : cr_arena_printf(arena, "%s,mean=%.9g,std=%.9g,a=%.9g,b=%.9g",
                                            names[i].to, mean, std, mean - 2 * std,
                                            mean + 2 * std));
    }
}

static void separator_of_numbers(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    if (cr_rw_num(conf_of(w), "raw_input_dim", 1) > 1)
        cr_conf_push(w->doc, out, "separator", e->at, e->val);
    else
        cr_rw_drop(w, CR_SEV_NOTE, e->at, "separator", "the feature is one number");
}

static void kv_separator(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    const char *text = e->val->kind == CR_NODE_SCALAR ? e->val->text : "";
    cr_rw_put_bool(w, out, "weighted", e->at, true);
    if (strcmp(text, ":") != 0)
        cr_rw_tell(w, CR_SEV_WARN, e->at,
                   "kv_separator: items are key:weight with a colon here; write the column so");
}

static void step_separator(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    cr_conf_push(w->doc, out, "separator", e->at, e->val);
    cr_rw_put_num(w, out, "value_dim", e->at, 0); /* 0 means all values of a step. */
}

static void combo_separators(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    const char *text = e->val->kind == CR_NODE_SCALAR ? e->val->text : "";
    const char *had = cr_rw_str(out, "separator", NULL);
    if (!*text) return;
    if (!had)
        cr_rw_put_str(w, out, "separator", e->at, text);
    else if (strcmp(had, text) != 0)
        cr_rw_drop(w, CR_SEV_WARN, e->at, "combo_input_seps",
                   "all inputs of a feature are split at the same character here");
}

static const cr_rw_word combiners[] = {
    {"sum", -1, "sum", NULL},
    {"mean", -1, "mean", NULL},
    {"sqrtn", -1, "mean", "vectors are added up or averaged; sqrtn became mean"},
    {NULL, 0, NULL, NULL},
};

/* ---- types ---- */

#define UNUSED "EasyRec does not use it in this type of feature"
/* All keys of a feature in EasyRec. A key that the table of a type does not have has no effect
 * there. */
static const cr_rule unused_rules[] = {
    SPENT("feature_name"),
    SPENT("input_names"),
    SPENT("feature_type"),
    SPENT("shared_names"),
    SPENT("sub_feature_type"),
    TAKE("embedding_name", NULL, NULL),
    IDLE("embedding_dim", NULL, UNUSED),
    IDLE("hash_bucket_size", NULL, UNUSED),
    IDLE("num_buckets", NULL, UNUSED),
    IDLE("boundaries", NULL, UNUSED),
    IDLE("separator", NULL, UNUSED),
    IDLE("kv_separator", NULL, UNUSED),
    IDLE("seq_multi_sep", NULL, UNUSED),
    IDLE("max_seq_len", NULL, UNUSED),
    IDLE("vocab_file", NULL, UNUSED),
    IDLE("vocab_list", NULL, UNUSED),
    IDLE("lookup_max_sel_elem_num", NULL, UNUSED),
    IDLE("max_partitions", NULL, "tables lie in one piece; results do not depend on it"),
    IDLE("combiner", NULL, UNUSED),
    IDLE("initializer", NULL, UNUSED),
    IDLE("precision", NULL, "numbers become text with as many digits as they need"),
    IDLE("min_val", NULL, UNUSED),
    IDLE("max_val", NULL, UNUSED),
    IDLE("normalizer_fn", NULL, UNUSED),
    IDLE("raw_input_dim", "1", UNUSED),
    IDLE("sequence_combiner", NULL, UNUSED),
    IDLE("sequence_length", NULL, UNUSED),
    IDLE("expression", NULL, UNUSED),
    LOST("ev_params", NULL,
         "tables have as many rows as hash_bucket_size or num_buckets says; choose them large "
         "enough"),
    IDLE("combo_join_sep", NULL, UNUSED),
    IDLE("combo_input_seps", NULL, UNUSED),
    END,
};
#define IDS                                                                                        \
    CALL("hash_bucket_size", ids), CALL("vocab_list", ids), CALL("vocab_file", ids),               \
        CALL("num_buckets", ids)
#define VECTOR                                                                                     \
    TAKE("embedding_dim", NULL, NULL), TEXT("combiner", "pooling", combiners),                     \
        CALL("initializer", initializer)
static const cr_rule id_rules[] = {IDS, VECTOR, END_THEN(unused_rules)};
static const cr_rule tag_rules[] = {
    IDS,
    VECTOR,
    TAKE("separator", NULL, "|"),
    CALL("kv_separator", kv_separator),
    END_THEN(unused_rules),
};
static const cr_rule raw_rules[] = {
    VECTOR,
    SPENT("boundaries"),
    SPENT("num_buckets"),
    SPENT("min_val"),
    SPENT("max_val"),
    SPENT("normalizer_fn"),
    TAKE("raw_input_dim", "value_dim", NULL),
    CALL("separator", separator_of_numbers),
    LOST("seq_multi_sep", NULL,
         "the numbers of a row are not combined; write one number, or use combine_feature"),
    END_THEN(unused_rules),
};
static const cr_rule combo_rules[] = {
    TAKE("hash_bucket_size", NULL, NULL),
    VECTOR,
    CALL("combo_input_seps", combo_separators),
    IDLE("combo_join_sep", NULL, "values are joined with _; only the hash differs"),
    END_THEN(unused_rules),
};
static const cr_rule lookup_rules[] = {
    TAKE("hash_bucket_size", NULL, NULL),
    VECTOR,
    TAKE("separator", NULL, "|"),
    TAKE("lookup_max_sel_elem_num", "value_dim", "10"),
    IDLE("kv_separator", ":", "pairs are key:value with a colon here"),
    END_THEN(unused_rules),
};
static const cr_rule seq_id_rules[] = {
    IDS,
    VECTOR,
    TAKE("separator", "sequence_delim", "|"),
    CALL("seq_multi_sep", step_separator),
    SPENT("max_seq_len"),
    SPENT("sequence_length"),
    SPENT("sequence_combiner"),
    END_THEN(unused_rules),
};
static const cr_rule seq_raw_rules[] = {
    SPENT("embedding_dim"),
    TEXT("combiner", "pooling", combiners),
    CALL("initializer", initializer),
    SPENT("boundaries"),
    SPENT("num_buckets"),
    SPENT("min_val"),
    SPENT("max_val"),
    SPENT("normalizer_fn"),
    TAKE("raw_input_dim", "value_dim", NULL),
    TAKE("separator", "sequence_delim", "|"),
    TAKE("seq_multi_sep", "separator", NULL),
    SPENT("max_seq_len"),
    SPENT("sequence_length"),
    SPENT("sequence_combiner"),
    END_THEN(unused_rules),
};
static const cr_rule expr_rules[] = {TAKE("expression", NULL, NULL), END_THEN(unused_rules)};

static const struct {
    const char *key;
    const cr_rule *rules;
} types[] = {
    [CR_ER_ID] = {"id_feature", id_rules},
    [CR_ER_RAW] = {"raw_feature", raw_rules},
    [CR_ER_TAG] = {"id_feature", tag_rules},
    [CR_ER_COMBO] = {"combo_feature", combo_rules},
    [CR_ER_LOOKUP] = {"lookup_feature", lookup_rules},
    [CR_ER_SEQ_ID] = {"sequence_id_feature", seq_id_rules},
    [CR_ER_SEQ_RAW] = {"sequence_raw_feature", seq_raw_rules},
    [CR_ER_EXPR] = {"expr_feature", expr_rules},
};

/* ---- inputs ---- */

static const char *expression_of(cr_er *er, const char *column) {
    const cr_conf_node *fg = cr_er_fg_of(er, column, NULL);
    const char *known = cr_rw_str(fg, "expression", NULL);
    return known ? known : cr_arena_printf(cr_er_arena(er), "user:%s", column);
}

static void write_inputs(cr_er *er, const cr_er_feature *f, cr_er_kind kind, cr_conf_node *out) {
    cr_rw *w = &er->w;
    static const char *const lookup_keys[] = {"map", "key"};
    int n = 0;
    if (f->input) { /* The column comes from shared_names. */
        cr_rw_put_str(w, out, "expression", cr_rw_at(f->conf, "shared_names"),
                      expression_of(er, f->input));
        return;
    }
    cr_rw_iter it = {.map = f->conf, .key = "input_names"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it)); n++) {
        if (e->val->kind != CR_NODE_SCALAR) continue;
        const char *column = e->val->text;
        /* A range of columns makes one feature per column. */
        if (n == 0 && !cr_rw_has(f->conf, "feature_name")) column = f->name;
        const char *x = expression_of(er, column);
        if (kind == CR_ER_EXPR)
            cr_rw_put_str(w, out, "variables", e->at, x);
        else if (kind == CR_ER_LOOKUP && n < 2)
            cr_rw_put_str(w, out, lookup_keys[n], e->at, x);
        else if (kind == CR_ER_COMBO || n == 0)
            cr_rw_put_str(w, out, "expression", e->at, x);
        else if (kind == CR_ER_TAG)
            cr_rw_tell(w, CR_SEV_WARN, e->at,
                       "the second of input_names is left out: weights stand beside their keys "
                       "here; write one column of key:weight items and weighted: true");
        else
            cr_rw_tell(w, CR_SEV_WARN, e->at, "the feature has more input_names than it can read");
    }
}

/* write_default writes the value that stands for a missing one. */
static void write_default(cr_er *er, const cr_er_feature *f, cr_er_kind kind, cr_conf_node *out) {
    bool one = kind == CR_ER_ID || kind == CR_ER_RAW || kind == CR_ER_TAG || kind == CR_ER_SEQ_ID ||
               kind == CR_ER_SEQ_RAW;
    const char *column = f->input ? f->input : cr_rw_str(f->conf, "input_names", NULL);
    const cr_er_field *field = cr_er_field_of(er, column);
    if (!field) field = cr_er_field_of(er, f->name);
    if (!one || !field || cr_rw_count(f->conf, "input_names") > 1) return;
    const char *text = field->absent;
    if (!*text && kind == CR_ER_ID && strcmp(field->type, "STRING") != 0) text = "0";
    if (*text) cr_rw_put_str(&er->w, out, "default_value", f->conf->at, text);
}

/* ---- one feature ---- */

static void write_length(cr_rw *w, const cr_conf_node *c, cr_conf_node *out) {
    const char *key = cr_rw_has(c, "max_seq_len") ? "max_seq_len" : "sequence_length";
    double n = cr_rw_num(c, key, 0);
    if (n > 1) cr_rw_put_num(w, out, "sequence_length", cr_rw_at(c, key), n);
}

static void write_autodis(cr_rw *w, const cr_conf_node *in, cr_conf_node *out) {
    static const cr_rule rules[] = {
        SPENT("embedding_dim"),
        TAKE("num_bins", "num_channels", NULL),
        TAKE("keep_prob", NULL, NULL),
        TAKE("temperature", NULL, NULL),
        SPENT("output_3d_tensor"),
        SPENT("output_tensor_list"),
        END,
    };
    cr_conf_node *autodis = cr_rw_map(w, out, "autodis", in->at);
    cr_rw_put_num(w, out, "embedding_dim", in->at, cr_rw_num(in, "embedding_dim", 0));
    cr_rw_message(w, rules, in, autodis);
    cr_rw_put_word(w, autodis, "form", in->at, "EASYREC");
}

static void write_numbers(cr_rw *w, const cr_er_feature *f, cr_er_kind kind, cr_conf_node *out) {
    const cr_conf_node *c = f->conf;
    double dim = cr_rw_num(c, "embedding_dim", 0);
    bool sequence = kind == CR_ER_SEQ_RAW;
    write_normalizer(w, c, sequence, out);
    if (has_bounds(c)) {
        write_bounds(w, c, out);
        if (sequence && dim > 0)
            cr_rw_put_num(w, out, "embedding_dim", cr_rw_at(c, "embedding_dim"), dim);
        return;
    }
    if (sequence && dim > 0)
        cr_rw_drop(
            w, CR_SEV_WARN, cr_rw_at(c, "embedding_dim"), "embedding_dim",
            "the numbers of a sequence enter as they are; give boundaries to make vectors of "
            "them");
    if (f->autodis) {
        write_autodis(w, f->autodis, out);
        return;
    }
    if (!sequence && dim > 0) /* EasyRec multiplies the number with a learned vector. */
        cr_rw_map(w, out, "mlp", cr_rw_at(c, "embedding_dim"));
    if (!sequence && cr_rw_num(c, "raw_input_dim", 1) > 1 && !cr_rw_has(c, "separator"))
        cr_rw_put_str(w, out, "separator", c->at, "|");
}

static void write_feature(cr_er *er, cr_er_feature *f, cr_er_kind kind, const char *name) {
    cr_rw *w = &er->w;
    const cr_conf_node *c = f->conf;
    if (kind == CR_ER_NONE) {
        cr_rw_tell(w, CR_SEV_WARN, cr_rw_at(c, "feature_type"),
                   "a PassThroughFeature has no counterpart and is left out");
        return;
    }
    cr_conf_node *member = cr_rw_map(w, er->out, "feature_configs", c->at);
    cr_conf_node *out = cr_rw_map(w, member, types[kind].key, c->at);
    er->feature = f;
    cr_rw_put_str(w, out, "feature_name", cr_rw_at(c, "feature_name"), name);
    write_inputs(er, f, kind, out);
    size_t n = w->path.n;
    cr_buf_str(&w->path, "feature_config");
    cr_rw_message(w, types[kind].rules, c, out);
    bool sequence = kind == CR_ER_SEQ_ID || kind == CR_ER_SEQ_RAW;
    if (kind == CR_ER_RAW || kind == CR_ER_SEQ_RAW) write_numbers(w, f, kind, out);
    if (sequence) write_length(w, c, out);
    w->path.n = n;
    w->path.data[n] = 0;
    if (strncmp(id_key(c), "vocab", 5) == 0 && f->table && kind != CR_ER_COMBO)
        cr_rw_put_num(w, out, "default_bucketize_value", c->at, 0);
    write_default(er, f, kind, out);
    er->res->n_features++;
}

const char *cr_er_steps_name(cr_er *er, const cr_er_feature *f) {
    bool both = f->kind == CR_ER_TAG && f->use & CR_ER_STEPS && f->use & ~(unsigned)CR_ER_STEPS;
    return both ? cr_arena_printf(cr_er_arena(er), "%s_steps", f->name) : f->name;
}

void cr_er_features(cr_er *er) {
    if (er->fg && !er->opts->use_old_fg) {
        cr_er_fg_features(er);
        return;
    }
    for (size_t i = 0; i < er->n_features; i++) {
        cr_er_feature *f = &er->features[i];
        if (f->in_block) continue; /* It is part of a sequence_feature. */
        bool steps = f->kind == CR_ER_TAG && f->use & CR_ER_STEPS;
        if (!steps || f->use & ~(unsigned)CR_ER_STEPS) write_feature(er, f, f->kind, f->name);
        if (steps) /* A group reads the tag step by step. */
            write_feature(er, f, CR_ER_SEQ_ID, cr_er_steps_name(er, f));
    }
    if (er->fg) cr_er_fg_blocks(er);
}

const char *cr_er_group_key(cr_er *er, const char *column, cr_loc at) {
    cr_rw *w = &er->w;
    cr_er_feature *named = cr_er_feature_of(er, column);
    if (named && named->table) return named->name;
    for (size_t i = 0; i < er->n_features; i++) {
        const cr_er_feature *f = &er->features[i];
        const char *input = f->input ? f->input : cr_rw_str(f->conf, "input_names", "");
        if ((f->kind == CR_ER_ID || f->kind == CR_ER_TAG) && strcmp(input, column) == 0)
            return f->name;
    }
    const char *name = named ? cr_arena_printf(cr_er_arena(er), "%s_key", column) : column;
    if (!cr_map_put(&er->keys_made, column, strlen(column), 1)) return name;
    cr_conf_node *out =
        cr_rw_map(w, cr_rw_map(w, er->out, "feature_configs", at), "id_feature", at);
    cr_rw_put_str(w, out, "feature_name", at, name);
    cr_rw_put_str(w, out, "expression", at, expression_of(er, column));
    cr_rw_put_num(w, out, "hash_bucket_size", at, 1000000);
    cr_rw_tell(w, CR_SEV_NOTE, at,
               "rows are grouped by a feature here: the id_feature '%s' was added for the column "
               "'%s', with a hash_bucket_size of 1000000",
               name, column);
    er->res->n_features++;
    return name;
}
