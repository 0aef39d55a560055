/*
 * group.c - feature groups: which tables they need and what stands side by side in a group's row.
 *
 * Neighbouring features that only copy or look up become one lookup node; an autodis or mlp feature
 * is a piece of graph by itself. Features share a table by its name, and must agree on its
 * settings.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "conf/conf.h"
#include "feat/config.h"
#include "layer/layer.h"
#include "model/group_int.h"
#include "model/model.h"
#include "op/input.h"
#include "op/op.h"
#include "op/param.h"

#define TABLE_PATH "embedding_group.emb_impls.__BASE__.ebc.embedding_bags"
#define SEQ_PATH   "embedding_group.seq_emb_impls.__BASE__.ec_dict"
/* with a map */
#define MAP_PATH     "embedding_group.emb_impls.__BASE__.mc_ebc"
#define MAP_SEQ_PATH "embedding_group.seq_emb_impls.__BASE__.mc_ec_dict"
#define MAP_TABLES   "_managed_collision_collection._managed_collision_modules"
#define DENSE_PATH   "embedding_group.emb_impls.__BASE__.dense_ec"

const cr_group_conf *cr_group_find(const cr_model_conf *c, const char *name) {
    for (int64_t i = 0; i < c->feature_groups.n; i++) {
        const cr_group_conf *g = c->feature_groups.v[i];
        if (strcmp(g->group_name, name) == 0) return g;
    }
    return NULL;
}

cr_members cr_group_members(const cr_group_conf *gc) {
    return (cr_members){gc, gc->group_name, false, &gc->feature_names, gc->embedding_name_suffix};
}

const char *cr_members_kind(const cr_members *g) {
    return g->nested ? "sequence group" : "feature group";
}

static const char *nth_group(const void *ctx, size_t i) {
    const cr_model_conf *c = ctx;
    return (int64_t)i < c->feature_groups.n
               ? ((const cr_group_conf *)c->feature_groups.v[i])->group_name
               : NULL;
}

const cr_group_conf *cr_group_needed(const cr_model_conf *m, const char *name, cr_diag *diag) {
    const cr_group_conf *g = cr_group_find(m, name);
    if (g) return g;
    const char *near = cr_nearest(name, nth_group, m);
    cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(m, "model"),
                "%s needs a feature group named '%s'; %s%s%s", m->model.m->key, name,
                near ? "is '" : "add it to feature_groups", near ? near : "",
                near ? "' meant?" : "");
    return NULL;
}

void cr_group_named(const cr_model_conf *m, cr_loc at, const char *what, const char *name,
                    cr_diag *diag) {
    if (cr_group_find(m, name)) return;
    const char *near = cr_nearest(name, nth_group, m);
    bool none = m->feature_groups.n == 0;
    cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at, "%s names the %sfeature group '%s'%s%s%s", what,
                none ? "" : "unknown ", name,
                none   ? ", but there is none; define it"
                : near ? "; did you mean '"
                       : "; define it or remove the name",
                near ? near : "", near ? "'?" : "");
}

static const char *nth_feature(const void *ctx, size_t i) {
    const cr_features *fs = ctx;
    return (int)i < fs->n ? fs->v[i]->name : NULL;
}

static bool same_init(const cr_init *a, const cr_init *b) {
    return a->kind == b->kind && a->a == b->a && a->b == b->b && a->lo == b->lo && a->hi == b->hi;
}

int64_t cr_group_width(cr_build *b, const cr_members *g, const cr_feature *f) {
    if (f->embedding_dim <= 0)
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, f->at,
                    "feature '%s' becomes a vector in the %s '%s' and has no embedding_dim; add "
                    "for example %s",
                    f->name, cr_members_kind(g), g->name, CR_SAY(f->conf, "embedding_dim", "16"));
    return f->embedding_dim;
}

/* Gives a table the name that TorchEasyRec's checkpoints have. */
static void name_table(cr_build *b, cr_model_table *t, bool seq, const char *name) {
    cr_arena *a = &b->m->arena;
    const char *prefix = b->g->prefix;
    long long D = (long long)t->D;
    if (!t->owner->zch) {
        t->table.name =
            seq ? cr_arena_printf(a, "%s" SEQ_PATH ".%lld.embeddings.%s.weight", prefix, D, name)
                : cr_arena_printf(a, "%s" TABLE_PATH ".%s.weight", prefix, name);
        if (cr_feature_grows(t->owner)) /* its map lies beside it */
            t->map_name = cr_arena_strndup(a, t->table.name, strlen(t->table.name) - 6);
        return;
    }
    const char *path = seq ? cr_arena_printf(a, "%s" MAP_SEQ_PATH ".%lld", prefix, D)
                           : cr_arena_printf(a, "%s" MAP_PATH, prefix);
    t->table.name = cr_arena_printf(a, "%s._embedding_module.%s.%s.weight", path,
                                    seq ? "embeddings" : "embedding_bags", name);
    t->map_name = cr_arena_printf(a, "%s." MAP_TABLES ".%s.", path, name);
    cr_maps_check(t->owner, b->diag);
}

cr_model_table *cr_group_table(cr_build *b, const cr_feature *f, int64_t D, const char *init_fn,
                               const char *suffix, const char *kind, bool seq) {
    cr_model *m = b->m;
    if (!suffix) suffix = "";
    const char *base = f->embedding_name && *f->embedding_name
                           ? f->embedding_name
                           : cr_arena_printf(&m->arena, "%s_emb", f->name);
    const char *name =
        cr_arena_printf(&m->arena, "%s%s%s%s", base, kind, *suffix ? "_" : "", suffix);
    cr_init init = CR_INIT_U(sqrt(1.0 / (double)f->num_embeddings));
    cr_err err;
    if (init_fn && *init_fn && cr_init_parse(&init, init_fn, f->num_embeddings, D, &err) != CR_OK)
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, f->at, "feature '%s': %s", f->name, err.msg);
    cr_maps_init(f, D, init_fn && *init_fn, &init);
    for (int i = 0; i < m->n_tables; i++) {
        cr_model_table *t = m->tables[i];
        if (strcmp(t->short_name, name) != 0 || t->seq != seq || (seq && t->D != D)) continue;
        const char *what = t->n_rows != f->num_embeddings ? "number of rows"
                           : t->D != D                    ? "embedding_dim"
                           : t->mean != f->mean && !seq   ? "pooling"
                           : !same_init(&t->init, &init)  ? "init_fn"
                           : t->trainable != f->trainable ? "trainable"
                           : t->half != f->half           ? "data_type"
                                                          : cr_maps_differ(t->owner, f);
        if (what)
            cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, f->at,
                        "features '%s' and '%s' share the table '%s' but differ in %s; make them "
                        "equal or use another embedding_name",
                        t->owner->name, f->name, name, what);
        if (strcmp(t->suffix, suffix) != 0)
            cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, f->at,
                        "features '%s' and '%s' come to the same table name '%s' with the "
                        "embedding_name_suffix '%s' and '%s' of their groups; rename one "
                        "embedding_name or suffix",
                        t->owner->name, f->name, name, t->suffix, suffix);
        return t;
    }
    if (m->n_tables == m->cap_tables) {
        int cap = m->cap_tables ? 2 * m->cap_tables : 32;
        m->tables = cr_realloc(m->tables, (size_t)m->cap_tables * sizeof(*m->tables),
                               (size_t)cap * sizeof(*m->tables), "tables");
        m->cap_tables = cap;
    }
    cr_model_table *t = CR_NEW(&m->arena, cr_model_table);
    *t = (cr_model_table){.short_name = name,
                          .suffix = suffix,
                          .n_rows = f->num_embeddings,
                          .D = D,
                          .mean = f->mean,
                          .half = f->half,
                          .seq = seq,
                          .trainable = f->trainable,
                          .init = init,
                          .owner = f,
                          .updater = -1};
    name_table(b, t, seq, name);
    t->table.D = D;
    t->table.half = f->half;
    t->table.n_rows = f->num_embeddings;
    t->table.trainable = f->trainable; /* the graph asks for it before the table has memory */
    m->tables[m->n_tables++] = t;
    return t;
}

void cr_group_use(cr_model *m, cr_model_table *t, cr_node *node, int piece) {
    if (t->n_uses == t->cap_uses) {
        int cap = t->cap_uses ? 2 * t->cap_uses : 4;
        struct cr_table_use *v = CR_NEW_N(&m->arena, struct cr_table_use, cap);
        if (t->n_uses) memcpy(v, t->uses, (size_t)t->n_uses * sizeof(*v));
        t->uses = v;
        t->cap_uses = cap;
    }
    t->uses[t->n_uses++] = (struct cr_table_use){node, piece};
    cr_lookup_set_view(node, piece, m->n_views++);
}

/* Pieces that wait to become one lookup node. */
typedef struct pending {
    cr_look *v;
    cr_model_table **tables;
    int n;
} pending;

static bool same_look(const cr_look *a, const cr_look *b) {
    return a->table == b->table && a->width == b->width &&
           (a->table ? a->slot == b->slot && a->mean == b->mean : a->dense_off == b->dense_off);
}

/* Returns the pieces as columns of a lookup that another group made; NULL: there is no such
 * lookup. */
static cr_node *part_of(const cr_build *b, const pending *p) {
    for (int i = 0; i < b->g->n; i++) {
        cr_node *n = b->g->nodes[i];
        if (n->op != &cr_op_lookup) continue;
        int count, k;
        const cr_look *v = cr_lookup_pieces(n, &count);
        for (int at = 0; at + p->n <= count; at++) {
            for (k = 0; k < p->n && same_look(&v[at + k], &p->v[k]); k++) {
            }
            if (k < p->n) continue;
            int64_t width = v[at + k - 1].out + v[at + k - 1].width - v[at].out;
            return width == n->width ? n : cr_slice(b->g, n, v[at].out, width);
        }
    }
    return NULL;
}

static void flush(cr_build *b, pending *p, cr_node **parts, int *n_parts) {
    if (!p->n) return;
    cr_node *node = part_of(b, p);
    if (node) {
        parts[(*n_parts)++] = node;
        p->n = 0;
        return;
    }
    node = cr_lookup(b->g, p->v, p->n);
    for (int i = 0; i < p->n; i++)
        if (p->tables[i]) cr_group_use(b->m, p->tables[i], node, i);
    parts[(*n_parts)++] = node;
    p->n = 0;
}

/* Returns AutoDis as the config has it; settings that are not given follow from its form. */
static cr_autodis_spec autodis_spec(const cr_autodis_conf *c, int64_t dim) {
    cr_autodis_spec s = {.channels = c->num_channels,
                         .dim = dim,
                         .temperature = c->temperature,
                         .keep_prob = c->keep_prob,
                         .slope = c->negative_slope,
                         .powers = c->input_powers,
                         .hidden = c->hidden_dim,
                         .blocks = c->residual_blocks,
                         .block_alpha = c->residual_alpha,
                         .bias = c->use_bias,
                         .score_act = c->score_activation,
                         .learned_scale = c->learned_temperature,
                         .kaiming = c->kaiming_init,
                         .pick = c->aggregation,
                         .top_k = c->top_k};
    bool gandalf = c->form == CR_AUTODIS_GANDALF;
    if (c->form == CR_AUTODIS_EASYREC && !cr_conf_has(c, "negative_slope")) s.slope = 0.2;
    if (!gandalf) return s;
    if (!cr_conf_has(c, "keep_prob")) s.keep_prob = 0;
    if (!cr_conf_has(c, "input_powers")) s.powers = true;
    if (!cr_conf_has(c, "hidden_dim")) s.hidden = 64;
    if (!cr_conf_has(c, "use_bias")) s.bias = true;
    if (!cr_conf_has(c, "score_activation")) s.score_act = true;
    if (!cr_conf_has(c, "learned_temperature")) s.learned_scale = true;
    if (!cr_conf_has(c, "kaiming_init")) s.kaiming = true;
    return s;
}

/* Makes one piece of graph per feature, however many groups it is in. */
static cr_node *dense_embedding(cr_build *b, const cr_feature *f) {
    for (const struct cr_dense_use *u = b->dense; u; u = u->next)
        if (u->f == f) return u->node;
    cr_look look = {.dense_off = f->dense_off, .width = f->value_dim};
    cr_node *x = cr_lookup(b->g, &look, 1), *y;
    size_t mark = cr_graph_push(b->g, DENSE_PATH);
    if (f->dense_emb == CR_DENSE_AUTODIS) {
        cr_autodis_spec s = autodis_spec(f->dense_conf, f->embedding_dim);
        y = cr_autodis(b->g, f->name, x, &s);
    } else if (f->dense_emb == CR_DENSE_PIECEWISE) {
        const cr_piecewise_conf *c = f->dense_conf;
        y = cr_piecewise_embedding(b->g, f->name, x, c->points.v, c->points.n, f->embedding_dim,
                                   c->relu);
    } else if (f->dense_emb == CR_DENSE_PERIODIC) {
        const cr_periodic_conf *c = f->dense_conf;
        y = cr_periodic_embedding(b->g, f->name, x, c->frequencies, c->sigma, f->embedding_dim,
                                  c->relu);
    } else {
        y = cr_mlp_embedding(b->g, f->name, x, f->embedding_dim);
    }
    cr_graph_pop(b->g, mark);
    struct cr_dense_use *use = CR_NEW(&b->m->arena, struct cr_dense_use);
    *use = (struct cr_dense_use){f, y, b->dense};
    b->dense = use;
    return y;
}

/* Turns a plain number x into x W, with W (value_dim, dim); kind "_ffm" gives it the name
 * ffm.<feature>.weight. */
static cr_node *projected(cr_build *b, const cr_feature *f, int64_t dim, const char *kind,
                          const char *init_fn, cr_loc at) {
    cr_look look = {.dense_off = f->dense_off, .width = f->value_dim};
    cr_node *x = cr_lookup(b->g, &look, 1);
    cr_init init = CR_INIT_N(sqrt(2.0 / (double)(f->value_dim + dim)));
    cr_err err;
    if (init_fn && *init_fn && cr_init_parse(&init, init_fn, f->value_dim, dim, &err) != CR_OK)
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, at, "%s", err.msg);
    size_t mark = cr_graph_push(b->g, "%s.%s", kind + 1, f->name);
    cr_node *W = cr_weight(b->g, "weight", f->value_dim, dim, init);
    cr_graph_pop(b->g, mark);
    return cr_matmul_kn(b->g, x, W);
}

/* dim 0: every feature has its own width */
typedef struct group_opts {
    int64_t dim;
    const char *kind; /* appended to the names of tables */
    const char *init;
    bool project; /* plain numbers become vectors of width dim */
} group_opts;

const cr_feature *cr_group_feature(cr_build *b, const cr_members *g, int64_t i) {
    const char *name = g->names->v[i];
    cr_loc at = cr_conf_at_item(g->conf, "feature_names", i);
    const cr_feature *f = cr_features_find(b->o->features, name);
    if (f && f->stub) {
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, at,
                    "%s '%s' names '%s', which is only an input of other features (stub_type); "
                    "remove one of the two",
                    cr_members_kind(g), g->name, name);
        return NULL;
    }
    if (f) return f;
    const char *near = cr_nearest(name, nth_feature, b->o->features);
    cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, at,
                "%s '%s' names an unknown feature '%s'; %s%s%s", cr_members_kind(g), g->name, name,
                near ? "did you mean '" : "add it to feature_configs", near ? near : "",
                near ? "'?" : "");
    return NULL;
}

/* see group_int.h */
const cr_group_conf *cr_group_wanted(cr_build *b, const char *name, cr_loc at) {
    const cr_group_conf *gc = cr_group_find(b->conf, name);
    if (!gc) {
        const char *near = cr_nearest(name, nth_group, b->conf);
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, at, "there is no feature group '%s'; %s%s%s",
                    name, near ? "did you mean '" : "add one to model_config.feature_groups",
                    near ? near : "", near ? "'?" : "");
        return NULL;
    }
    if (gc->feature_names.n > 0 || gc->sequence_encoders.n > 0) return gc;
    cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, gc->base.node ? gc->base.node->at : at,
                "feature group '%s' has no feature_names; list at least one feature", name);
    return NULL;
}

/* Is this a group of one vector per row? Reports a mistake if not. */
static bool pooled(cr_build *b, const cr_group_conf *gc) {
    if (!cr_group_type_seq(gc->group_type)) return true;
    cr_diag_add(
        b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(gc, "group_type"),
        "feature group '%s' is of type %s, but the model needs one vector per row here; put "
        "its features in sequence_groups of a group of type DEEP, with an encoder",
        gc->group_name, gc->group_type == CR_GROUP_SEQUENCE ? "SEQUENCE" : "JAGGED_SEQUENCE");
    return false;
}

/* Puts the outputs of the group's sequence encoders behind its features. */
static bool add_encoders(cr_build *b, const cr_group_conf *gc, cr_group_out *out, int64_t *widths,
                         const char **names, cr_node **parts, int *n_parts) {
    int64_t n = gc->sequence_encoders.n;
    if (n == 0 && gc->sequence_groups.n == 0) return true;
    cr_node *const *made = cr_encoders_build(b, gc);
    if (!made) return false;
    for (int64_t i = 0; i < n; i++, out->F++) {
        parts[(*n_parts)++] = made[i];
        widths[out->F] = made[i]->width;
        names[out->F] =
            cr_arena_printf(&b->m->arena, "%s_seq_encoder_%lld", gc->group_name, (long long)i);
    }
    return true;
}

static cr_group_out build_group(cr_build *b, const char *name, const group_opts *o, cr_loc at) {
    cr_group_out out = {0};
    const cr_group_conf *gc = cr_group_wanted(b, name, at);
    if (!gc || !pooled(b, gc)) return out;
    cr_members g = cr_group_members(gc);
    int n = (int)gc->feature_names.n, n_parts = 0;
    int64_t F = n + gc->sequence_encoders.n;
    cr_arena *a = &b->m->arena;
    cr_node **parts = CR_NEW_N(a, cr_node *, F + 1);
    pending p = {CR_NEW_N(a, cr_look, n), CR_NEW_N(a, cr_model_table *, n), 0};
    int64_t *widths = CR_NEW_N(a, int64_t, F);
    bool *tables = CR_NEW_N(a, bool, F);
    const char **names = CR_NEW_N(a, const char *, F);
    out.widths = widths;
    out.tables = tables;
    out.names = names;
    bool ok = true;
    for (int i = 0; i < n; i++) {
        const cr_feature *f = cr_group_feature(b, &g, i);
        if (!f) {
            ok = false;
            continue;
        }
        int64_t width;
        if (f->sparse) {
            width = o->dim > 0 ? o->dim : cr_group_width(b, &g, f);
            if (width == 0) {
                ok = false;
                continue;
            }
            tables[i] = true;
            if (cr_feature_ctr(f)) {
                flush(b, &p, parts, &n_parts);
                parts[n_parts] = cr_group_ctr(b, f, width, gc->embedding_name_suffix, o->kind);
                ok = parts[n_parts++] && ok;
                widths[i] = width;
                names[i] = f->name;
                continue;
            }
            cr_model_table *t = cr_group_table(b, f, width, o->dim > 0 ? o->init : f->init_fn,
                                               gc->embedding_name_suffix, o->kind, false);
            p.tables[p.n] = t;
            p.v[p.n++] = (cr_look){.table = &t->table,
                                   .slot = cr_maps_slot(b->m, b->o->features, t, f),
                                   .mean = f->mean,
                                   .width = width};
        } else if (f->dense_emb == CR_DENSE_PLAIN && o->project) {
            width = o->dim;
            flush(b, &p, parts, &n_parts);
            parts[n_parts++] = projected(b, f, width, o->kind, o->init, at);
        } else if (f->dense_emb == CR_DENSE_PLAIN) {
            width = f->value_dim;
            p.tables[p.n] = NULL;
            p.v[p.n++] = (cr_look){.dense_off = f->dense_off, .width = width};
        } else {
            width = cr_group_width(b, &g, f);
            if (width == 0) {
                ok = false;
                continue;
            }
            if (o->project && width != o->dim) {
                cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, f->at,
                            "feature '%s' has its own vector of width %lld, but this group needs "
                            "width %lld; leave out autodis or mlp, or use boundaries",
                            f->name, (long long)width, (long long)o->dim);
                ok = false;
                continue;
            }
            flush(b, &p, parts, &n_parts);
            parts[n_parts++] = dense_embedding(b, f);
        }
        widths[i] = width;
        names[i] = f->name;
    }
    if (!ok) return out;
    flush(b, &p, parts, &n_parts);
    out.F = n;
    if (!add_encoders(b, gc, &out, widths, names, parts, &n_parts)) return out;
    out.node = cr_concat(b->g, parts, n_parts);
    out.node = cr_group_drop(b, gc, &out);
    out.D = widths[0];
    for (int64_t i = 1; i < out.F; i++)
        if (widths[i] != out.D) out.D = 0;
    return out;
}

cr_group_out cr_group_build(cr_build *b, const char *name, cr_loc at) {
    const cr_group_conf *gc = cr_group_find(b->conf, name);
    group_opts o = {0, "", NULL, false};
    if (gc && gc->group_type == CR_GROUP_WIDE)
        o = (group_opts){b->wide_dim, "_wide", b->wide_init, false};
    return build_group(b, name, &o, at);
}

cr_group_out cr_group_build_as(cr_build *b, const char *name, int64_t dim, const char *suffix,
                               const char *init, bool project, cr_loc at) {
    group_opts o = {dim, suffix, init, project};
    const cr_group_conf *gc = cr_group_find(b->conf, name);
    if (gc && gc->sequence_encoders.n > 0) {
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(gc, "sequence_encoders"),
                    "group '%s' is read with tables of the model's own width, which sequence "
                    "encoders do not have; use a model with layers (deepfm, multi_tower, dcn_v2)",
                    name);
        return (cr_group_out){0};
    }
    return build_group(b, name, &o, at);
}
