/*
 * placing.c - from a config and its model to the planner's list of tables, and back to placings.
 *
 * The first rank plans and gives the result to the others, because what it knows (free memory, the
 * file in model_dir) may look different from elsewhere. The figures of the machine are fixed ones,
 * not measured, so that the same job gets the same plan again.
 */
#include "job/placing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/log.h"
#include "job/env.h"
#include "op/op.h"

#define BIT(k)      (1U << (k))
#define COLUMN_CUTS (BIT(CR_COLUMN_WISE) | BIT(CR_TABLE_COLUMN_WISE) | BIT(CR_GRID_SHARD))
/* grid_shard only where a constraint asks for it, as in TorchRec */
#define USUAL (BIT(CR_SHARD_KINDS) - 1 - BIT(CR_GRID_SHARD))

/* ---- what the config says of a table ---- */

static const cr_feature *feature_of(const cr_job *j, const cr_look *look) {
    for (int i = 0; i < j->features->n; i++) {
        const cr_feature *f = j->features->v[i];
        int slot = cr_model_feature_slot(j->model, look->slot);
        if (f->sparse && !f->stub && f->slot == slot) return f;
    }
    return NULL;
}

static const cr_look *look_of(const struct cr_table_use *u) {
    int count;
    return cr_lookup_pieces(u->node, &count) + u->piece;
}

/* The stored value of a field that only some messages have. */
static const void *field_at(const void *conf, const char *name) {
    const cr_conf_base *base = conf;
    const cr_field *f = base && base->msg ? cr_msg_field(base->msg, name) : NULL;
    return f && f->offset != CR_NO_STORE ? (const char *)conf + f->offset : NULL;
}

static const cr_constraints_conf *constraints_of(const cr_job *j, const cr_feature *f) {
    const cr_constraints_conf *const *at = field_at(f->conf, "embedding_constraints");
    const cr_constraints_conf *own = at ? *at : NULL;
    if (own && own->sharding_types.n > 0) return own;
    const cr_constraints_conf *all = j->root->train_config->global_embedding_constraints;
    return all && all->sharding_types.n > 0 ? all : NULL;
}

static double steps_of(const cr_feature *f) {
    if (!f->seq) return 1;
    return f->seq->length > 0 ? (double)f->seq->length : CR_PLAN_STEPS;
}

double cr_job_steps(const cr_job *j, int axis) {
    const cr_seq_axis *x = &j->model->axes[axis];
    double steps = CR_PLAN_STEPS;
    for (int i = 0; i < j->features->n; i++) {
        const cr_feature *f = j->features->v[i];
        if (f->seq && !f->stub && f->sparse == x->sparse && f->slot == x->slot) steps = steps_of(f);
    }
    return x->most > 0 && (double)x->most < steps ? (double)x->most : steps;
}

/* Ids per row of a batch that one use of a table looks up. */
static double ids_of(const cr_job *j, const struct cr_table_use *u, const cr_feature *f) {
    const int64_t *dim = field_at(f->conf, "value_dim");
    double each = dim && *dim > 1 ? (double)*dim : 1;
    return each * (u->node->cls == CR_SEQ ? cr_job_steps(j, u->node->axis) : steps_of(f));
}

static void names_of(cr_buf *out, unsigned kinds) {
    bool first = true;
    for (int k = 0; k < CR_SHARD_KINDS; k++) {
        if (!(kinds & BIT(k))) continue;
        cr_buf_printf(out, "%s%s", first ? "" : ", ", cr_shard_name((cr_shard_kind)k));
        first = false;
    }
}

/* Reports a table for which no way is left. */
static void no_way(const cr_model_table *t, cr_loc at, unsigned asked, const char *why,
                   cr_diag *diag) {
    cr_buf names;
    cr_buf_init(&names);
    names_of(&names, asked);
    cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at,
                "sharding_types leave no way to place table '%s' on several ranks: %s%s%s; add "
                "row_wise or table_wise",
                t->short_name, names.n ? names.data : "", names.n ? ": " : "", why);
    cr_buf_clear(&names);
}

/* Why the columns of a table must lie together; NULL: they need not. */
static const char *why_whole(const cr_job *j, const cr_model_table *t) {
    const cr_train_conf *tc = j->root->train_config;
    const cr_optim_type *o = t->optim ? t->optim : j->mo.optim;
    if (!t->trainable) return NULL;
    if (cr_grad_clip(tc->grad_clipping) == CR_CLIP_NORM &&
        tc->grad_clipping->enable_global_grad_clip)
        return "enable_global_grad_clip measures whole rows";
    return o && o->whole_row ? "its optimizer looks at whole rows" : NULL;
}

bool cr_job_grows(const cr_job *j, const cr_model_table *t) {
    return j->mo.optim && cr_feature_grows(t->owner);
}

static unsigned kinds_of(const cr_job *j, const cr_model_table *t, int ranks, int per_node,
                         cr_diag *diag) {
    unsigned kinds = USUAL | BIT(CR_GRID_SHARD);
    cr_loc at = t->owner ? t->owner->at : CR_NOWHERE;
    bool limited = false;
    for (int k = 0; k < t->n_uses; k++) {
        const cr_feature *f = feature_of(j, look_of(&t->uses[k]));
        const cr_constraints_conf *c = f ? constraints_of(j, f) : NULL;
        unsigned some = 0;
        for (int64_t i = 0; c && i < c->sharding_types.n; i++)
            some |= BIT(cr_shard_find(c->sharding_types.v[i]));
        if (!c) continue;
        kinds &= some;
        limited = true;
        at = cr_conf_at(c, "sharding_types");
    }
    if (cr_job_grows(j, t)) return BIT(CR_ROW_WISE);
    if (!limited) kinds = USUAL;
    if (ranks == 1) return USUAL; /* it does not matter */
    if (!kinds) no_way(t, at, 0, "its features do not allow the same ones", diag);
    unsigned left = kinds;
    const char *why = why_whole(j, t);
    if (why) left &= ~COLUMN_CUTS;
    if (ranks % (per_node < ranks ? per_node : ranks) != 0 && left == BIT(CR_GRID_SHARD)) {
        why = "machines have different numbers of ranks";
        left = 0;
    }
    if (kinds && !left) no_way(t, at, kinds, why, diag);
    return left ? left : USUAL & ~COLUMN_CUTS;
}

/* Do two tables look up the same features, so that their ids are grouped once? */
static bool same_ids(const cr_model_table *a, const cr_model_table *b) {
    if (a->n_uses != b->n_uses || !b->trainable) return false;
    for (int k = 0; k < a->n_uses; k++) {
        const cr_node *x = a->uses[k].node, *y = b->uses[k].node;
        if (look_of(&a->uses[k])->slot != look_of(&b->uses[k])->slot || x->cls != y->cls ||
            (x->cls == CR_SEQ && x->axis != y->axis))
            return false;
    }
    return true;
}

static void describe(const cr_job *j, const cr_model_table *t, double zipf, cr_planner_table *out) {
    const cr_optim_type *o = t->optim ? t->optim : j->mo.optim;
    out->name = t->short_name;
    out->n_rows = t->n_rows;
    out->D = t->D;
    out->weight_bytes = t->half ? 2 : 4;
    out->trained = t->trainable && o;
    out->row_bytes = 4 * cr_table_stride(t->D, t->half, out->trained ? o : NULL);
    if (cr_job_grows(j, t))
        out->row_bytes += cr_model_map_bytes(t, 1); /* the map is cut as the rows are */
    out->every_row = out->trained && o->every_row;
    out->whole = why_whole(j, t);
    out->zipf = zipf;
    for (int k = 0; k < t->n_uses; k++) {
        const cr_feature *f = feature_of(j, look_of(&t->uses[k]));
        if (!f) continue;
        out->ids += ids_of(j, &t->uses[k], f);
        /* hashed ids lie anywhere; vocabularies and buckets often have the popular values first */
        const uint64_t *hashed = field_at(f->conf, "hash_bucket_size");
        out->ordered |= !hashed || *hashed == 0;
    }
}

/* Every rank has the whole map of a table with zch. */
static double whole_maps(const cr_job *j) {
    double bytes = 0;
    for (int i = 0; j->mo.optim && i < j->model->n_tables; i++) {
        const cr_model_table *t = j->model->tables[i];
        if (t->owner->zch) bytes += (double)cr_model_map_bytes(t, t->n_rows);
    }
    return bytes;
}

cr_code cr_job_planner(const cr_job *j, int ranks, int per_node, double zipf, cr_arena *a,
                       cr_planner_job *out, cr_diag *diag) {
    const cr_model *m = j->model;
    size_t before = diag->n_errors;
    int64_t tables, dense;
    cr_planner_table *v = CR_NEW_N(a, cr_planner_table, m->n_tables + 1);
    for (int i = 0; i < m->n_tables; i++) {
        describe(j, m->tables[i], zipf, &v[i]);
        for (int k = 0; k < i && !v[i].grouped; k++)
            v[i].grouped = same_ids(m->tables[i], m->tables[k]);
        v[i].kinds = kinds_of(j, m->tables[i], ranks, per_node, diag);
    }
    cr_model_bytes(m, NULL, &tables, &dense);
    double *steps = CR_NEW_N(a, double, m->n_axes + 1);
    for (int i = 0; i < m->n_axes; i++)
        steps[i] = cr_job_steps(j, i);
    int64_t batch = j->root->data_config->batch_size;
    *out = (cr_planner_job){.tables = v,
                            .n = m->n_tables,
                            .batch = batch,
                            .lanes = cr_lanes_for(j->root->train_config->lanes,
                                                  cr_mul_i64(batch, ranks)),
                            .dense_bytes = (double)dense,
                            .buffers = whole_maps(j),
                            .dense_planes = cr_dense_planes(j),
                            .flops = cr_graph_flops(&m->graph, steps, true)};
    return diag->n_errors == before ? CR_OK : CR_ECONF;
}

/* ---- the environment ---- */

void cr_job_bandwidth(cr_planner_machine *m) {
    cr_env_rate("INTRA_NODE_BANDWIDTH", &m->bandwidth[0]);
    cr_env_rate("CROSS_NODE_BANDWIDTH", &m->bandwidth[1]);
}

double cr_job_reserve(void) {
    const char *said = getenv("STORAGE_RESERVE_PERCENT");
    return said && *said ? cr_env_reserve() : CR_PLAN_RESERVE;
}

void cr_job_unfit(const cr_planner_job *p, const cr_planner_machine *m, const cr_planner_result *r,
                  double reserve, cr_diag *diag) {
    char need[32], have[32], more[32], fixed[32];
    int per = m->per_node < m->ranks ? m->per_node : m->ranks;
    cr_planner_cures c = cr_planner_find_cures(p, m);
    cr_fmt_bytes(need, r->ranks[r->fullest_rank].memory);
    cr_fmt_bytes(have, m->memory);
    cr_fmt_bytes(more, c.memory * per / (1 - reserve));
    cr_fmt_bytes(fixed, c.fixed);
    char half[200] = "";
    if (c.fixed >= m->memory)
        snprintf(half, sizeof(half),
                 ", or lower batch_size: %s of it are dense parameters, buffers and data", fixed);
    else if (c.no_state || c.half || c.both)
        snprintf(half, sizeof(half), ", or use %s%s%s", c.half ? "data_type: FP16 for tables" : "",
                 c.half && c.no_state ? " or " : "",
                 c.no_state          ? "rowwise_adagrad_optimizer"
                 : !c.half && c.both ? "rowwise_adagrad_optimizer and data_type: FP16 for tables"
                                     : "");
    char ranks[120] = "";
    if (c.ranks > m->ranks)
        snprintf(ranks, sizeof(ranks), "start %d ranks on %d machines, or ", c.ranks,
                 (c.ranks + per - 1) / per);
    cr_diag_add(diag, CR_SEV_ERROR, CR_ENOMEM, CR_NOWHERE,
                "the tables do not fit: rank %d of %d would need %s and may use %s; %sgive each "
                "machine %s%s",
                r->fullest_rank, m->ranks, need, have, ranks, more, half);
}

/* ---- training ---- */

static cr_code read_plan(cr_job *j, const cr_planner_job *p, const cr_planner_machine *m,
                         cr_planned *out, bool *found, cr_err *err) {
    *found = false;
    if (!cr_env_on("FORCE_LOAD_SHARDING_PLAN") || !*j->root->model_dir) return CR_OK;
    const char *path = cr_path_join(&j->cfg.arena, j->root->model_dir, CR_PLAN_FILE);
    if (!cr_path_exists(path)) return CR_OK;
    cr_buf text;
    cr_json *root = NULL;
    cr_buf_init(&text);
    cr_code code = cr_file_read(path, (size_t)1 << 30, &text, err);
    if (code == CR_OK) code = cr_json_parse(&root, text.data, text.n, err);
    if (code == CR_OK)
        code = cr_planner_read(root, path, p->tables, p->n, m->ranks, m->per_node, out, err);
    else if (!err->at.path)
        cr_fail_at(err, code, ((cr_loc){path, 0, 0}), "%s; remove the file to plan again",
                   err->msg);
    cr_json_free(root);
    cr_buf_clear(&text);
    *found = code == CR_OK;
    return code;
}

static void tell(cr_job *j, const cr_planner_job *p, const cr_planner_machine *m,
                 const cr_planner_result *r) {
    cr_buf text;
    cr_jw w;
    cr_buf_init(&text);
    cr_jw_init(&w, &text);
    cr_jw_obj(&w, NULL);
    cr_planner_write(&w, p, m, r);
    cr_jw_end(&w);
    cr_buf_char(&text, '\n');
    j->plan = cr_arena_strdup(&j->cfg.arena, text.data);
    cr_buf_clear(&text);
    int counts[CR_SHARD_KINDS] = {0};
    cr_buf_init(&text);
    for (int i = 0; i < p->n; i++)
        counts[r->tables[i].kind]++;
    for (int k = 0; k < CR_SHARD_KINDS; k++)
        if (counts[k] > 0)
            cr_buf_printf(&text, "%s%d %s", text.n ? ", " : "", counts[k],
                          cr_shard_name((cr_shard_kind)k));
    char most[32];
    CR_INFO("placing of tables on %d ranks: %s; at most %s on a rank", m->ranks,
            text.n ? text.data : "none", cr_fmt_bytes(most, r->ranks[r->fullest_rank].memory));
    cr_buf_clear(&text);
}

static cr_code plan(cr_job *j, cr_planner_machine *m, cr_planned *out, cr_diag *diag) {
    cr_arena *a = &j->cfg.arena;
    cr_planner_job p;
    cr_planner_result r = {0};
    cr_err err;
    bool found;
    double reserve = cr_job_reserve();
    CR_TRY(cr_job_planner(j, m->ranks, m->per_node, CR_PLAN_ZIPF, a, &p, diag));
    cr_job_bandwidth(m);
    m->cores = cr_pool_threads(j->pool);
    if (j->comm) { /* ranks of one process share its memory and are for tests */
        const char *who;
        m->memory = (double)cr_mem_room(&who) * (1 - reserve) / m->per_node;
    }
    if (read_plan(j, &p, m, out, &found, &err) != CR_OK) return cr_diag_err(diag, &err);
    if (found) {
        r.tables = out;
        cr_planner_judge(&p, m, a, &r);
    } else {
        cr_planner_choose(&p, m, a, &r);
    }
    if (!r.fits) {
        cr_job_unfit(&p, m, &r, reserve, diag);
        return CR_ENOMEM;
    }
    if (!found) memcpy(out, r.tables, (size_t)p.n * sizeof(*out));
    tell(j, &p, m, &r);
    return CR_OK;
}

/* Do all tables stay in the files of an export? Then no rank has memory for them. */
static bool all_mapped(const cr_model *m) {
    int n = 0;
    while (n < m->n_tables && m->tables[n]->mapped)
        n++;
    return n == m->n_tables;
}

cr_code cr_job_placings(cr_job *j, cr_diag *diag) {
    cr_arena *a = &j->cfg.arena;
    int n = j->model->n_tables;
    if (!j->meet || j->meet->n == 1 || all_mapped(j->model)) return CR_OK;
    if (j->meet->serves) return cr_job_server_placings(j, diag);
    cr_planner_machine m = cr_planner_machine_default;
    m.ranks = j->meet->n;
    m.per_node = j->comm ? cr_comm_local_size(j->comm) : m.ranks;
    struct { /* what the first rank tells the others */
        cr_code code;
        int per_node;
    } head = {CR_OK, m.per_node};
    cr_planned *plans = CR_NEW_N(a, cr_planned, n + 1);
    if (cr_job_is_first(j)) head.code = plan(j, &m, plans, diag);
    if (j->comm) {
        CR_TRY(cr_job_agree(j, head.code, NULL));
        cr_comm_share(j->comm, &head, sizeof(head), 0);
        cr_comm_share(j->comm, plans, (size_t)n * sizeof(*plans), 0);
    }
    if (head.code != CR_OK) return head.code;
    int *everyone = CR_NEW_N(a, int, m.ranks);
    for (int h = 0; h < m.ranks; h++)
        everyone[h] = h;
    for (int i = 0; i < n; i++) {
        cr_model_table *t = j->model->tables[i];
        if (cr_job_grows(j, t)) {
            t->placing = cr_model_grown_placing(a, t, everyone, m.ranks);
            continue;
        }
        cr_placing *p = CR_NEW(a, cr_placing);
        t->placing = p;
        *p = cr_planned_placing(a, &plans[i], t->n_rows, t->D, m.ranks, head.per_node);
        if (cr_placing_check(p, t->n_rows, t->D, m.ranks)) CR_BUG("a wrong placing");
    }
    return CR_OK;
}
