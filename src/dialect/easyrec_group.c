/*
 * easyrec_group.c - feature groups, and the sequences in them.
 *
 * A sequence_features message of EasyRec is target attention: it becomes a sequence group and a
 * din_encoder over it. EasyRec puts the key's vector behind the attention's result
 * (need_key_feature); here the key is made a feature of the group, unless it is one already. A
 * seq_att_groups message of the model, which DIN towers read, becomes a group of type SEQUENCE.
 */
#include <string.h>

#include "dialect/easyrec_int.h"

/* ---- how groups use features ---- */

static void use(cr_er *er, const char *name, void *ctx) {
    cr_er_feature *f = cr_er_feature_of(er, name);
    if (f) f->use |= *(const unsigned *)ctx;
}

static void use_names(cr_er *er, const cr_conf_node *in, const char *key, unsigned how) {
    cr_rw_iter it = {.map = in, .key = key};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));)
        if (e->val->kind == CR_NODE_SCALAR) cr_er_expand(er, e->val->text, use, &how);
}

static void use_attention(cr_er *er, const cr_conf_node *in) {
    cr_rw_iter it = {.map = in, .key = "seq_att_map"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));) {
        use_names(er, e->val, "hist_seq", CR_ER_STEPS);
        use_names(er, e->val, "aux_hist_seq", CR_ER_STEPS);
    }
}

void cr_er_collect_groups(cr_er *er) {
    cr_rw_iter it = {.map = er->model, .key = "feature_groups"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));) {
        bool wide = strcmp(cr_rw_str(e->val, "wide_deep", "DEEP"), "WIDE") == 0;
        use_names(er, e->val, "feature_names", wide ? CR_ER_WIDE : CR_ER_PLAIN);
        cr_rw_iter s = {.map = e->val, .key = "sequence_features"};
        for (const cr_conf_entry *a; (a = cr_rw_next(&s));)
            use_attention(er, a->val);
    }
    it = (cr_rw_iter){.map = er->model, .key = "seq_att_groups"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));)
        use_attention(er, e->val);
}

const cr_conf_node *cr_er_group_of(const cr_er *er, const char *name) {
    cr_rw_iter it = {.map = er->model, .key = "feature_groups"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));)
        if (strcmp(cr_rw_str(e->val, "group_name", ""), name) == 0) return e->val;
    return NULL;
}

typedef struct width {
    double sum;
    bool known;
} width;

static void add_width(cr_er *er, const char *name, void *ctx) {
    width *x = ctx;
    const cr_er_feature *f = cr_er_feature_of(er, name);
    x->known &= f && f->dim > 0 && f->kind != CR_ER_SEQ_ID && f->kind != CR_ER_SEQ_RAW;
    if (f) x->sum += f->dim;
}

double cr_er_group_width(const cr_er *er, const char *name) {
    const cr_conf_node *g = cr_er_group_of(er, name);
    width x = {0, g && !cr_rw_has(g, "sequence_features")};
    cr_rw_iter it = {.map = g, .key = "feature_names"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));)
        if (e->val->kind == CR_NODE_SCALAR)
            cr_er_expand((cr_er *)er->w.ctx, e->val->text, add_width, &x);
    return x.known ? x.sum : 0;
}

/* ---- writing groups ---- */

/* The group that is being written. */
typedef struct group {
    cr_conf_node *out;
    cr_loc at;
    bool sequence;
} group;

static bool is_sequence(const cr_er_feature *f) {
    return f && (f->kind == CR_ER_SEQ_ID || f->kind == CR_ER_SEQ_RAW);
}

static bool has_name(const cr_conf_node *out, const char *name) {
    cr_rw_iter it = {.map = out, .key = "feature_names"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));)
        if (e->val->kind == CR_NODE_SCALAR && strcmp(e->val->text, name) == 0) return true;
    return false;
}

/* pooled adds an encoder for a sequence that EasyRec combines to one vector. */
static void pooled(cr_er *er, group *g, const cr_er_feature *f) {
    cr_rw *w = &er->w;
    cr_conf_node *seq = cr_rw_map(w, g->out, "sequence_groups", g->at);
    const char *name = cr_arena_printf(cr_er_arena(er), "%s_pooled", f->name);
    cr_rw_put_str(w, seq, "group_name", g->at, name);
    cr_rw_put_str(w, seq, "feature_names", g->at, f->name);
    cr_conf_node *enc = cr_rw_map(w, g->out, "sequence_encoders", g->at);
    cr_conf_node *pool = cr_rw_map(w, enc, "pooling_encoder", g->at);
    cr_rw_put_str(w, pool, "input", g->at, name);
    cr_rw_put_str(w, pool, "pooling_type", g->at, "mean");
    cr_rw_tell(w, CR_SEV_WARN, cr_rw_at(f->conf, "sequence_combiner"),
               "sequence_combiner has no counterpart: the steps are averaged instead "
               "(pooling_encoder); see also self_attention_encoder");
}

static void put_name(cr_er *er, const char *name, void *ctx) {
    group *g = ctx;
    const cr_er_feature *f = cr_er_feature_of(er, name);
    if (is_sequence(f) && cr_rw_has(f->conf, "sequence_combiner") && !g->sequence) {
        pooled(er, g, f);
        return;
    }
    if (!has_name(g->out, name)) cr_rw_put_str(&er->w, g->out, "feature_names", g->at, name);
}

static void put_steps(cr_er *er, const char *name, void *ctx) {
    cr_conf_node *out = ctx;
    const cr_er_feature *f = cr_er_feature_of(er, name);
    const char *steps = f ? cr_er_steps_name(er, f) : name;
    if (!has_name(out, steps)) cr_rw_put_str(&er->w, out, "feature_names", out->at, steps);
}

static void put_key(cr_er *er, const char *name, void *ctx) {
    cr_conf_node *out = ctx;
    if (!has_name(out, name)) cr_rw_put_str(&er->w, out, "feature_names", out->at, name);
}

static void put_list(cr_er *er, const cr_conf_node *in, const char *key,
                     void (*each)(cr_er *er, const char *name, void *ctx), cr_conf_node *out) {
    cr_rw_iter it = {.map = in, .key = key};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));)
        if (e->val->kind == CR_NODE_SCALAR) cr_er_expand(er, e->val->text, each, out);
}

static const cr_rule map_rules[] = {SPENT("key"), SPENT("hist_seq"), SPENT("aux_hist_seq"), END};
static const cr_rule attention_rules[] = {
    SPENT("group_name"),
    EACH("seq_att_map", NULL, map_rules),
    IDLE("tf_summary", NULL, "TensorBoard shows losses, rates and parameters"),
    SPENT("seq_dnn"),
    IDLE("allow_key_search", NULL, "a key may be any feature here"),
    SPENT("need_key_feature"),
    IDLE("allow_key_transform", NULL, "a key that is narrower than a step is filled up with zeros"),
    LOST("transform_dnn", "false",
         "a key is not multiplied by a matrix first; it is filled up with zeros"),
    END,
};

/* attention_names writes the keys and sequences of an attention group as features of a group. */
static void attention_names(cr_er *er, const cr_conf_node *in, cr_conf_node *out) {
    static const struct {
        const char *key;
        void (*each)(cr_er *er, const char *name, void *ctx);
    } parts[] = {{"key", put_key}, {"hist_seq", put_steps}, {"aux_hist_seq", put_steps}};
    for (size_t p = 0; p < 3; p++) {
        cr_rw_iter it = {.map = in, .key = "seq_att_map"};
        for (const cr_conf_entry *e; (e = cr_rw_next(&it));) {
            put_list(er, e->val, parts[p].key, parts[p].each, out);
            if (p == 2 && cr_rw_has(e->val, "aux_hist_seq"))
                cr_rw_tell(&er->w, CR_SEV_WARN, cr_rw_at(e->val, "aux_hist_seq"),
                           "aux_hist_seq became sequences like hist_seq: they, too, take part in "
                           "scoring the steps");
        }
    }
    cr_conf_node *unused = cr_conf_new(er->w.doc, CR_NODE_MAP, in->at);
    cr_rw_message(&er->w, attention_rules, in, unused);
}

static void attention(cr_er *er, const cr_conf_entry *e, group *g, int i) {
    cr_rw *w = &er->w;
    const cr_conf_node *in = e->val;
    const char *name = cr_rw_str(in, "group_name", NULL);
    if (!name) name = cr_arena_printf(cr_er_arena(er), "seq_%d", i);
    cr_conf_node *seq = cr_rw_map(w, g->out, "sequence_groups", e->at);
    cr_rw_put_str(w, seq, "group_name", cr_rw_at(in, "group_name"), name);
    attention_names(er, in, seq);
    cr_conf_node *enc = cr_rw_map(w, g->out, "sequence_encoders", e->at);
    cr_conf_node *din = cr_rw_map(w, enc, "din_encoder", e->at);
    cr_rw_put_str(w, din, "input", e->at, name);
    cr_er_attention(w, cr_rw_get(in, "seq_dnn"), e->at, din, cr_er_dnn_rules);
    if (!cr_rw_bool(in, "need_key_feature", true)) return;
    cr_rw_iter it = {.map = in, .key = "seq_att_map"};
    for (const cr_conf_entry *m; (m = cr_rw_next(&it));)
        put_list(er, m->val, "key", put_key, g->out);
}

static const cr_rule group_rules[] = {
    SPENT("group_name"),
    SPENT("feature_names"),
    SPENT("wide_deep"),
    SPENT("sequence_features"),
    IDLE("negative_sampler", "false", "models find their negatives by themselves"),
    END,
};

static void any_sequence(cr_er *er, const char *name, void *ctx) {
    const cr_er_feature *f = cr_er_feature_of(er, name);
    *(bool *)ctx |= is_sequence(f) && !cr_rw_has(f->conf, "sequence_combiner");
}

static void write_group(cr_er *er, const cr_er_plan *plan, const cr_conf_entry *e,
                        cr_conf_node *out) {
    cr_rw *w = &er->w;
    const cr_conf_node *in = e->val;
    const char *name = cr_rw_str(in, "group_name", "");
    const char *type = cr_rw_str(in, "wide_deep", "DEEP");
    bool sequence = false;
    cr_rw_iter it = {.map = in, .key = "feature_names"};
    for (const cr_conf_entry *f; (f = cr_rw_next(&it));)
        if (f->val->kind == CR_NODE_SCALAR) cr_er_expand(er, f->val->text, any_sequence, &sequence);
    group g = {.out = cr_rw_map(w, out, "feature_groups", e->at), .at = e->at};
    g.sequence = sequence;
    if (plan->from && strcmp(name, plan->from) == 0) name = plan->to;
    cr_rw_put_str(w, g.out, "group_name", cr_rw_at(in, "group_name"), name);
    it = (cr_rw_iter){.map = in, .key = "feature_names"};
    for (const cr_conf_entry *f; (f = cr_rw_next(&it));) {
        g.at = f->at;
        if (f->val->kind == CR_NODE_SCALAR) cr_er_expand(er, f->val->text, put_name, &g);
    }
    bool wide = strcmp(type, "WIDE") == 0 || strcmp(type, "1") == 0;
    if (!wide && strcmp(type, "DEEP") != 0 && strcmp(type, "0") != 0)
        cr_rw_tell(w, CR_SEV_ERROR, cr_rw_at(in, "wide_deep"),
                   "wide_deep: a group is DEEP or WIDE; list the features in one group of each");
    cr_rw_put_word(w, g.out, "group_type", cr_rw_at(in, "wide_deep"),
                   sequence ? "SEQUENCE"
                   : wide   ? "WIDE"
                            : "DEEP");
    int i = 0;
    it = (cr_rw_iter){.map = in, .key = "sequence_features"};
    for (const cr_conf_entry *s; (s = cr_rw_next(&it)); i++)
        attention(er, s, &g, i);
    size_t n = w->path.n;
    cr_buf_str(&w->path, n ? ".feature_groups" : "feature_groups");
    cr_rw_message(w, group_rules, in, g.out);
    w->path.n = n;
    w->path.data[n] = 0;
    er->res->n_groups++;
}

void cr_er_groups(cr_er *er, const cr_er_plan *plan, cr_conf_node *out) {
    cr_rw_iter it = {.map = er->model, .key = "feature_groups"};
    bool found = plan->only && cr_er_group_of(er, plan->only);
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));) {
        bool wanted = !found || strcmp(cr_rw_str(e->val, "group_name", ""), plan->only) == 0;
        if (wanted)
            write_group(er, plan, e, out);
        else
            cr_rw_tell(&er->w, CR_SEV_NOTE, e->at,
                       "the feature group '%s' is left out: the model reads the group '%s' alone, "
                       "in EasyRec too",
                       cr_rw_str(e->val, "group_name", ""), plan->only);
    }
    it = (cr_rw_iter){.map = er->model, .key = "seq_att_groups"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));) {
        if (strcmp(er->model_class, "MultiTowerDIN") != 0) {
            cr_rw_drop(&er->w, CR_SEV_NOTE, e->at, "model_config.seq_att_groups",
                       "only the towers of MultiTowerDIN read it, in EasyRec too");
            continue;
        }
        cr_conf_node *g = cr_rw_map(&er->w, out, "feature_groups", e->at);
        cr_rw_put_str(&er->w, g, "group_name", cr_rw_at(e->val, "group_name"),
                      cr_rw_str(e->val, "group_name", ""));
        cr_rw_put_word(&er->w, g, "group_type", e->at, "SEQUENCE");
        attention_names(er, e->val, g);
        er->res->n_groups++;
    }
}
