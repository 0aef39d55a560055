/*
 * why.c - `crank why`: the parts of a score, and of the difference between two scores.
 *
 * A difference is taken apart by replacing one thing after the other until the one score has become
 * the other. What a thing changed when its turn came is its part, so the parts of one order add up
 * to the difference. The parts shown are means over several orders and their reverses, which still
 * add up (an estimate of Shapley's values).
 *
 *   one row:     features come into a row without values, one after the other, and of a list of
 *                ids one id after the other
 *   two rows:    features of the second row become those of the first; of a list the ids that only
 *                the second row has go, and those that only the first one has come, one by one
 *   two models:  vectors of features and dense layers of the first model become those of the second
 */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "base/json.h"
#include "data/load/shuffle.h"
#include "explain/explain_int.h"

#define MAX_IDS 256 /* that come or go, of a list that is taken apart */

/* An id that comes from the first row's list, or goes with the second one's. */
typedef struct move {
    bool comes;
    int64_t at; /* its place in the list */
} move;

/* A thing that is replaced. */
typedef struct thing {
    const char *kind, *name, *value;
    const cr_unit *unit; /* of one model; else: */
    /* columns of lookups, as (node, piece) pairs, or parameters (piece -1) */
    struct part {
        cr_node *node;
        int piece;
    } * v;
    int n;
    double part;
    move *ids;     /* of a list whose ids have parts of their own */
    int64_t n_ids; /* 0: it has none */
    double *id_part;
} thing;

typedef struct work {
    const cr_why_opts *o;
    cr_why *res;
    cr_arena *arena;
    cr_diag *diag;
    cr_job j[2];
    cr_kept *kept[2];
    cr_plan *plan[2], *mix;
    cr_model_work *run[2], *mixer;
    cr_node *out[2];
    thing *things;
    int n_things, n_steps; /* steps of an order: every thing, and every id of a list */
    int64_t *order;
    /* two models: by node of the first one, the values of both and the mixture */
    float **val[2], **mixed;
    float *params[2];
} work;

/* ---- opening ---- */

static cr_code find_out(work *w, int k, cr_err *err) {
    const cr_model *m = w->j[k].model;
    const char *want = w->o->output;
    for (int i = 0; i < m->n_outputs; i++) {
        const cr_output *x = &m->outputs[i];
        bool fits = want ? strcmp(x->name, want) == 0
                         : strncmp(x->name, "logits", 6) == 0 || strncmp(x->name, "y", 1) == 0;
        if (!fits || (x->node->width != 1 && !want)) continue;
        if (x->node->width != 1)
            return cr_fail(err, CR_EUSAGE, "output '%s' has %lld numbers; name one that has one",
                           want, (long long)x->node->width);
        w->out[k] = x->node;
        w->res->output = cr_arena_strdup(w->arena, x->name);
        return CR_OK;
    }
    cr_buf names;
    cr_buf_init(&names);
    for (int i = 0; i < m->n_outputs; i++)
        cr_buf_printf(&names, "%s%s", i ? ", " : "", m->outputs[i].name);
    cr_code code =
        want ? cr_fail(err, CR_EUSAGE, "--output '%s' is no output; there are %s", want, names.data)
             : cr_fail(err, CR_EUSAGE,
                       "no output is one number per row; name one of %s with --output", names.data);
    cr_buf_clear(&names);
    return code;
}

static cr_code open_model(work *w, int k) {
    cr_err err;
    char *path;
    const cr_why_opts *o = w->o;
    int64_t last = o->rows[0];
    cr_scored_opts so = {.config = &o->config[k],
                         .checkpoint_path = o->checkpoint_path[k],
                         .threads = o->threads};
    CR_TRY(cr_scored_open(&w->j[k], &so, &path, w->diag));
    w->res->checkpoint[k] = cr_arena_strdup(w->arena, path);
    if (find_out(w, k, &err) != CR_OK) return cr_diag_err(w->diag, &err);
    for (int i = 1; i < o->n_rows; i++)
        if (o->rows[i] > last) last = o->rows[i];
    cr_kept_opts ko = {.max_rows = last + 1};
    CR_TRY(cr_scored_data(&w->j[k], &ko, w->diag));
    CR_TRY(cr_kept_read(&w->kept[k], &w->j[k], &ko, w->diag));
    if (cr_kept_rows(w->kept[k]) > last) return CR_OK;
    (void)cr_fail(&err, CR_EUSAGE, "the data has %lld rows, counted from 0; there is no row %lld",
                  (long long)cr_kept_rows(w->kept[k]), (long long)last);
    return cr_diag_err(w->diag, &err);
}

static cr_code run_rows(cr_model_work *run, const cr_batch *b, cr_err *err) {
    cr_step_input in = {.batch = b};
    cr_run r = {.input = &in};
    return cr_model_run(run, b, &r, err);
}

/* ---- what the values of a row were ---- */

static const char *value_of(const work *w, const cr_unit *u, int64_t row) {
    const cr_batch *all = cr_kept_all(w->kept[0]);
    cr_buf b;
    cr_buf_init(&b);
    int shown = 0, n_lists = w->j[0].features->n_sparse;
    for (int i = 0; i < u->n_parts && shown < 8; i++) {
        int64_t s = u->parts[i].at;
        if (u->parts[i].part == CR_KEPT_FLOAT) {
            cr_buf_printf(&b, "%s%.6g", shown++ ? " " : "",
                          (double)all->dense[row * all->dense_width + s]);
        } else if (u->parts[i].part == CR_KEPT_SEQ) {
            const int32_t *off = all->dense_seq[s].steps;
            cr_buf_printf(&b, "%s%d steps", shown++ ? " " : "", off[row + 1] - off[row]);
        } else if (s < n_lists) {
            const cr_jagged *j = &all->sparse[s];
            int64_t from = j->steps ? j->steps[row] : row,
                    to = j->steps ? j->steps[row + 1] : row + 1;
            from = j->off ? j->off[from] : from;
            to = j->off ? j->off[to] : to;
            for (int64_t q = from; q < to && shown < 8; q++, shown++)
                cr_buf_printf(&b, "%s%lld", shown ? " " : "", (long long)j->ids[q]);
            if (to == from) cr_buf_str(&b, shown++ ? " -" : "-");
        }
    }
    if (shown >= 8) cr_buf_str(&b, " ...");
    const char *text = cr_arena_strndup(w->arena, b.data ? b.data : "", b.n);
    cr_buf_clear(&b);
    return text;
}

/* ---- one model: features of rows ---- */

/* Can the unit change the output? */
static bool reaches(const work *w, const cr_unit *u) {
    const cr_model *m = w->j[0].model;
    bool *mark = cr_alloc((size_t)m->graph.n + 1, "nodes");
    cr_unit_changes(u, m, u->lengths, mark);
    bool is = mark[w->out[0]->id];
    cr_free(mark);
    return is;
}

/* The ids of a list in a row; a row that is none has none. */
typedef struct span {
    int64_t from, n;
} span;
static span span_of(const cr_jagged *j, int64_t row) {
    return row == CR_NO_ROW ? (span){0, 0} : (span){j->off[row], j->off[row + 1] - j->off[row]};
}

/* The row whose values are replaced. */
static int64_t base_row(const work *w) {
    return w->o->n_rows == 2 ? w->o->rows[1] : CR_NO_ROW;
}

/* Can the ids of the unit come and go one by one? Then it is one list (and its rows of a table with
 * a map), and no sequence, and a row has several ids. */
static bool has_ids(const work *w, const cr_unit *u) {
    const cr_jagged *first = NULL;
    for (int i = 0; i < u->n_parts; i++) {
        const cr_jagged *j = &cr_kept_all(w->kept[0])->sparse[u->parts[i].at];
        if (u->parts[i].part != CR_KEPT_IDS || j->steps || !j->off) return false;
        if (!first) first = j;
        if (span_of(j, w->o->rows[0]).n != span_of(first, w->o->rows[0]).n ||
            span_of(j, base_row(w)).n != span_of(first, base_row(w)).n)
            return false;
    }
    return first && (span_of(first, w->o->rows[0]).n > 1 || span_of(first, base_row(w)).n > 1);
}

/* Finds which ids come and which go: those without an equal one, of the same weight, in the other
 * row. Where these are too many the list has one part. */
static void find_moves(work *w, thing *t) {
    if (!has_ids(w, t->unit)) return;
    const cr_jagged *j = &cr_kept_all(w->kept[0])->sparse[t->unit->parts[0].at];
    span a = span_of(j, w->o->rows[0]), b = span_of(j, base_row(w));
    bool *stays = CR_NEW_N(w->arena, bool, b.n + 1);
    move *v = CR_NEW_N(w->arena, move, a.n + b.n + 1);
    int64_t n = 0;
    for (int64_t i = 0; i < a.n; i++) {
        int64_t k = 0;
        for (; k < b.n; k++)
            if (!stays[k] && j->ids[a.from + i] == j->ids[b.from + k] &&
                (!j->w || cr_f32_bits(j->w[a.from + i]) == cr_f32_bits(j->w[b.from + k])))
                break;
        if (k < b.n)
            stays[k] = true;
        else
            v[n++] = (move){true, i};
    }
    for (int64_t k = 0; k < b.n; k++)
        if (!stays[k]) v[n++] = (move){false, k};
    if (n > MAX_IDS) return;
    t->ids = v;
    t->n_ids = n;
}

static void list_features(work *w, cr_unit_list *all) {
    bool two = w->o->n_rows == 2;
    *all = cr_units_make(&w->j[0], true, w->arena);
    w->things = CR_NEW_N(w->arena, thing, all->n + 1);
    for (int u = 0; u < all->n; u++) {
        const cr_unit *x = &all->v[u];
        bool feature = strcmp(x->kind, "feature") == 0, covered = false;
        /* between two rows, sequences that must be equally long move together */
        bool stuck = two && feature && x->seq && !x->lengths;
        if (!reaches(w, x)) continue;
        if (feature ? stuck : !two || !x->lengths || strcmp(x->kind, "sequence") != 0) continue;
        for (int i = 0; i < w->n_things; i++)
            for (int k = 0; k < x->n_parts; k++)
                for (int q = 0; q < w->things[i].unit->n_parts; q++)
                    covered |= w->things[i].unit->parts[q].part == x->parts[k].part &&
                               w->things[i].unit->parts[q].at == x->parts[k].at;
        if (covered) continue;
        thing *t = &w->things[w->n_things++];
        *t = (thing){.kind = x->kind, .name = x->name, .unit = x};
        t->value = value_of(w, x, w->o->rows[0]);
        find_moves(w, t);
        t->id_part = CR_NEW_N(w->arena, double, t->n_ids + 1);
        w->n_steps += t->n_ids ? (int)t->n_ids : 1;
        if (two)
            t->value =
                cr_arena_printf(w->arena, "%s | %s", t->value, value_of(w, x, w->o->rows[1]));
    }
}

/* Every feature of a row must be in a thing, or a part of the difference would be lost. */
static cr_code all_covered(work *w, const cr_unit_list *all, cr_err *err) {
    for (int u = 0; u < all->n_features; u++) {
        bool found = !reaches(w, &all->v[u]);
        for (int i = 0; i < w->n_things; i++)
            for (int q = 0; q < w->things[i].unit->n_parts; q++)
                found |= w->things[i].unit->parts[q].part == all->v[u].parts[0].part &&
                         w->things[i].unit->parts[q].at == all->v[u].parts[0].at;
        if (!found)
            return cr_fail(
                err, CR_EUSAGE,
                "the sequence '%s' shares its lengths with sequences of other blocks, so "
                "two rows cannot be mixed; ask for one row",
                all->v[u].name);
    }
    return CR_OK;
}

static void next_order(work *w, int k) {
    cr_shuffle_items(w->order, w->n_things, k / 2 > 0, w->o->seed, k / 2);
    for (int i = 0; k % 2 && i < w->n_things / 2; i++) {
        int64_t t = w->order[i];
        w->order[i] = w->order[w->n_things - 1 - i];
        w->order[w->n_things - 1 - i] = t;
    }
}

/* The order of the n ids of a list: shuffled, and the reverse of that, as the things are. */
static int64_t *id_order(work *w, int64_t n, int k) {
    int64_t *v = CR_NEW_N(w->arena, int64_t, n);
    cr_shuffle_items(v, n, k / 2 > 0, w->o->seed, k / 2);
    for (int64_t i = 0; k % 2 && i < n / 2; i++) {
        int64_t t = v[i];
        v[i] = v[n - 1 - i];
        v[n - 1 - i] = t;
    }
    return v;
}

/* A list that grows. */
typedef struct growing {
    int64_t *ids, n;
    float *w; /* NULL: no weights */
} growing;
static void add_id(growing *to, const cr_jagged *from, int64_t at) {
    to->ids[to->n] = from->ids[at];
    if (to->w) to->w[to->n] = from->w[at];
    to->n++;
}

/* Makes list s of a batch: row first + k has the first k moves of the order behind it. Before them
 * it is the list of the second row, behind them that of the first one, each in its own order. */
static void mix_ids(work *w, const thing *t, int64_t s, int64_t rows, int64_t first,
                    const int64_t *order, cr_jagged *to) {
    const cr_jagged *j = &cr_kept_all(w->kept[0])->sparse[s];
    span a = span_of(j, w->o->rows[0]), b = span_of(j, base_row(w));
    bool *out = CR_NEW_N(w->arena, bool, a.n + 1), *in = CR_NEW_N(w->arena, bool, b.n + 1);
    for (int64_t i = 0; i < t->n_ids; i++)
        (t->ids[i].comes ? out : in)[t->ids[i].at] = true;
    int32_t *off = CR_NEW_N(w->arena, int32_t, rows + 1);
    int64_t most = cr_mul_i64(rows, a.n + b.n) + 1;
    growing g = {.ids = CR_NEW_N(w->arena, int64_t, most)};
    if (j->w) g.w = CR_NEW_N(w->arena, float, most);
    for (int64_t i = 0; i < rows; i++) {
        int64_t k = i - first;
        if (k > 0 && k <= t->n_ids) {
            move m = t->ids[order[k - 1]];
            (m.comes ? out : in)[m.at] = false;
        }
        for (int64_t q = 0; k > 0 && q < a.n; q++)
            if (!out[q]) add_id(&g, j, a.from + q);
        for (int64_t q = 0; q < b.n; q++)
            if (k <= 0 || in[q]) add_id(&g, j, b.from + q);
        off[i + 1] = (int32_t)g.n;
    }
    *to = (cr_jagged){.off = off, .ids = g.ids, .w = g.w, .n_ids = g.n};
}

/* Row i of the batch of an order has the things of its first i steps in place. */
static cr_code run_order(work *w, int k, cr_taken *taken, cr_err *err) {
    int n = w->n_steps + 1;
    int64_t *rows = CR_NEW_N(w->arena, int64_t, n), **from;
    from = CR_NEW_N(w->arena, int64_t *, n);
    cr_unit_sources s = cr_unit_sources_new(w->kept[0], w->arena);
    int64_t base = base_row(w);
    next_order(w, k);
    for (int i = 0; i < n; i++)
        rows[i] = w->o->rows[0];
    int64_t *first = CR_NEW_N(w->arena, int64_t, w->n_things + 1), **ids, at = 0;
    ids = CR_NEW_N(w->arena, int64_t *, w->n_things + 1);
    for (int p = 0; p < w->n_things; p++) {
        int64_t t = w->order[p], n_ids = w->things[t].n_ids;
        first[t] = at;
        from[t] = CR_NEW_N(w->arena, int64_t, n);
        for (int i = 0; i < n; i++)
            from[t][i] = i > at ? w->o->rows[0] : base;
        cr_unit_from(w->things[t].unit, &s, from[t]);
        if (n_ids) ids[t] = id_order(w, n_ids, k);
        at += n_ids ? n_ids : 1;
    }
    cr_sources src = {.n = n, .rows = rows, .ids = s.ids, .seqs = s.seqs, .dense = s.dense};
    CR_TRY(cr_kept_take(w->kept[0], &src, taken, err));
    for (int t = 0; t < w->n_things; t++)
        for (int i = 0; ids[t] && i < w->things[t].unit->n_parts; i++)
            mix_ids(w, &w->things[t], w->things[t].unit->parts[i].at, n, first[t], ids[t],
                    &taken->b.sparse[w->things[t].unit->parts[i].at]);
    CR_TRY(run_rows(w->run[0], &taken->b, err));
    const float *y = cr_work_val(w->run[0]->w, w->out[0]);
    for (int t = 0; t < w->n_things; t++) {
        const float *z = y + first[t];
        if (!ids[t]) w->things[t].part += (double)z[1] - (double)z[0];
        for (int64_t q = 0; q < w->things[t].n_ids; q++)
            w->things[t].id_part[ids[t][q]] += (double)z[q + 1] - (double)z[q];
    }
    w->res->from = (double)y[0];
    w->res->to = (double)y[w->n_steps];
    return CR_OK;
}

static cr_code explain_rows(work *w, cr_err *err) {
    cr_unit_list units;
    cr_taken taken = {0};
    list_features(w, &units);
    CR_TRY(all_covered(w, &units, err));
    w->order = CR_NEW_N(w->arena, int64_t, w->n_things + 1);
    cr_plan_opts po = {.graph = &w->j[0].model->graph,
                       .mode = CR_EVAL,
                       .max_rows = w->n_steps + 1,
                       .lanes = 1,
                       .outputs = (const cr_node *const *)&w->out[0],
                       .n_outputs = 1};
    CR_TRY(cr_plan_new(&w->plan[0], &po, err));
    CR_TRY(cr_model_work_new(&w->run[0], w->j[0].model, w->plan[0], w->j[0].pool, err));
    cr_plan_pack(w->plan[0], w->j[0].pool);
    cr_code code = CR_OK;
    for (int k = 0; k < w->o->orders && code == CR_OK; k++)
        code = run_order(w, k, &taken, err);
    cr_taken_clear(&taken);
    return code;
}

/* ---- two models ---- */

static bool is_lookup(const cr_node *n) {
    return n->op && (strcmp(n->op->name, "lookup") == 0 || strcmp(n->op->name, "lookup_seq") == 0);
}

static cr_code same_graph(const work *w, cr_err *err) {
    const cr_graph *a = &w->j[0].model->graph, *b = &w->j[1].model->graph;
    for (int i = 0; i < a->n || i < b->n; i++) {
        const cr_node *x = i < a->n ? a->nodes[i] : NULL, *y = i < b->n ? b->nodes[i] : NULL;
        if (x && y && x->op == y->op && x->width == y->width && x->n_in == y->n_in &&
            strcmp(x->name, y->name) == 0)
            continue;
        return cr_fail(
            err, CR_EUSAGE,
            "the two models are built in another way (%s); compare models of one config, "
            "or ask for each alone",
            x ? x->name : y->name);
    }
    return CR_OK;
}

/* The thing of that kind and name, which is made when there is none. */
static thing *thing_of(work *w, const char *kind, const char *name, size_t n) {
    for (int i = 0; i < w->n_things; i++)
        if (strcmp(w->things[i].kind, kind) == 0 && strlen(w->things[i].name) == n &&
            strncmp(w->things[i].name, name, n) == 0)
            return &w->things[i];
    thing *t = &w->things[w->n_things++];
    *t = (thing){.kind = kind, .name = cr_arena_strndup(w->arena, name, n), .value = ""};
    t->v = CR_NEW_N(w->arena, struct part, w->j[0].model->graph.n + 64);
    return t;
}

static const char *piece_name(const cr_model *m, const cr_node *n, const cr_look *k) {
    int slot = k->table ? cr_model_feature_slot(m, k->slot) : k->slot;
    for (int i = 0; i < m->features->n; i++) {
        const cr_feature *f = m->features->v[i];
        if (f->stub || f->sparse != (k->table != NULL)) continue;
        if (k->table           ? f->slot == slot
            : n->cls == CR_SEQ ? f->seq && f->slot == slot
                               : !f->seq && f->dense_off == k->dense_off)
            return f->name;
    }
    return "";
}

static void list_weights(work *w) {
    const cr_model *m = w->j[0].model;
    const cr_graph *g = &m->graph;
    int most = g->n + 1, count;
    for (int i = 0; i < g->n; i++)
        if (is_lookup(g->nodes[i])) most += (cr_lookup_pieces(g->nodes[i], &count), count);
    w->things = CR_NEW_N(w->arena, thing, most);
    for (int i = 0; i < g->n; i++) {
        cr_node *n = g->nodes[i];
        const cr_look *v = is_lookup(n) ? cr_lookup_pieces(n, &count) : NULL;
        for (int k = 0; v && k < count; k++) {
            if (!v[k].table) continue;
            const char *name = piece_name(m, n, &v[k]);
            thing *t = thing_of(w, "table rows", name, strlen(name));
            t->v[t->n++] = (struct part){n, k};
        }
    }
    for (int i = 0; i < g->n; i++) {
        cr_node *n = g->nodes[i];
        if (n->cls != CR_PARAM || n->op) continue;
        const char *dot = strrchr(n->name, '.');
        thing *t = thing_of(w, "layer", n->name, dot ? (size_t)(dot - n->name) : strlen(n->name));
        t->v[t->n++] = (struct part){n, -1};
    }
}

/* Runs the row in one model and keeps what its lookups gave. */
static cr_code run_model(work *w, int k, cr_taken *taken, cr_err *err) {
    const cr_graph *g = &w->j[k].model->graph;
    const cr_node **outs = CR_NEW_N(w->arena, const cr_node *, g->n + 1);
    int n = 0;
    outs[n++] = w->out[k];
    for (int i = 0; i < g->n; i++)
        if (is_lookup(g->nodes[i])) outs[n++] = g->nodes[i];
    cr_plan_opts po = {.graph = &w->j[k].model->graph,
                       .mode = CR_EVAL,
                       .max_rows = 1,
                       .lanes = 1,
                       .outputs = outs,
                       .n_outputs = n};
    CR_TRY(cr_plan_new(&w->plan[k], &po, err));
    CR_TRY(cr_model_work_new(&w->run[k], w->j[k].model, w->plan[k], w->j[k].pool, err));
    cr_plan_pack(w->plan[k], w->j[k].pool);
    CR_TRY(cr_kept_take(w->kept[k], &(cr_sources){.n = 1, .rows = w->o->rows}, taken, err));
    CR_TRY(run_rows(w->run[k], &taken->b, err));
    w->val[k] = CR_NEW_N(w->arena, float *, g->n + 1);
    for (int i = 1; i < n; i++) {
        const cr_node *x = outs[i];
        int64_t rows = x->cls == CR_SEQ ? w->run[k]->off[x->axis][1] : 1, size = rows * cr_ld(x);
        w->val[k][x->id] = CR_NEW_N(w->arena, float, size + 16);
        memcpy(w->val[k][x->id], cr_work_val(w->run[k]->w, x), (size_t)size * sizeof(float));
    }
    double y = (double)*cr_work_val(w->run[k]->w, w->out[k]);
    *(k ? &w->res->to : &w->res->from) = y;
    w->params[k] = CR_NEW_N(w->arena, float, g->n_params + 1);
    memcpy(w->params[k], g->params, (size_t)g->n_params * sizeof(float));
    return CR_OK;
}

static void put(work *w, const thing *t, int k) {
    for (int i = 0; i < t->n; i++) {
        cr_node *n = t->v[i].node;
        if (t->v[i].piece < 0) {
            memcpy(n->w, w->params[k] + n->offset, (size_t)n->width * sizeof(float));
            continue;
        }
        int count;
        const cr_look *v = cr_lookup_pieces(n, &count) + t->v[i].piece;
        int64_t rows = n->cls == CR_SEQ ? w->run[0]->off[n->axis][1] : 1;
        for (int64_t r = 0; r < rows; r++)
            memcpy(w->mixed[n->id] + r * cr_ld(n) + v->out,
                   w->val[k][n->id] + r * cr_ld(n) + v->out, (size_t)v->width * sizeof(float));
    }
}

static cr_code mix_models(work *w, cr_taken *taken, cr_err *err) {
    const cr_graph *g = &w->j[0].model->graph;
    const cr_node **given = CR_NEW_N(w->arena, const cr_node *, g->n + 1);
    int n = 0;
    w->mixed = CR_NEW_N(w->arena, float *, g->n + 1);
    for (int i = 0; i < g->n; i++) {
        const cr_node *x = g->nodes[i];
        if (!is_lookup(x)) continue;
        int64_t rows = x->cls == CR_SEQ ? w->run[0]->off[x->axis][1] : 1, size = rows * cr_ld(x);
        w->mixed[i] = CR_NEW_N(w->arena, float, size + 16);
        memcpy(w->mixed[i], w->val[0][i], (size_t)size * sizeof(float));
        given[n++] = x;
    }
    cr_plan_opts po = {.graph = &w->j[0].model->graph,
                       .mode = CR_EVAL,
                       .max_rows = 1,
                       .lanes = 1,
                       .outputs = (const cr_node *const *)&w->out[0],
                       .n_outputs = 1,
                       .given = given,
                       .n_given = n};
    CR_TRY(cr_plan_new(&w->mix, &po, err));
    CR_TRY(cr_model_work_new(&w->mixer, w->j[0].model, w->mix, w->j[0].pool, err));
    for (int i = 0; i < n; i++)
        cr_work_give(w->mixer->w, given[i], w->mixed[given[i]->id]);
    w->order = CR_NEW_N(w->arena, int64_t, w->n_things + 1);
    for (int k = 0; k < w->o->orders; k++) {
        double last = w->res->from;
        next_order(w, k);
        for (int i = 0; i < w->n_things; i++) {
            thing *t = &w->things[w->order[i]];
            put(w, t, 1);
            cr_plan_pack(w->mix, w->j[0].pool);
            CR_TRY(run_rows(w->mixer, &taken->b, err));
            double y = (double)*cr_work_val(w->mixer->w, w->out[0]);
            t->part += y - last;
            last = y;
        }
        for (int i = 0; i < w->n_things; i++)
            put(w, &w->things[i], 0);
    }
    return CR_OK;
}

static cr_code explain_models(work *w, cr_err *err) {
    cr_taken taken[2];
    memset(taken, 0, sizeof taken);
    CR_TRY(same_graph(w, err));
    list_weights(w);
    cr_code code = CR_OK;
    for (int k = 0; k < 2 && code == CR_OK; k++)
        code = run_model(w, k, &taken[k], err);
    if (code == CR_OK) code = mix_models(w, &taken[0], err);
    for (int k = 0; k < 2; k++)
        cr_taken_clear(&taken[k]);
    return code;
}

/* ---- results ---- */

/* Puts a part among the others, the largest first. */
static double add_part(cr_why *r, cr_why_part p) {
    int k = r->n_parts++;
    for (; k > 0 && fabs(p.part) > fabs(r->parts[k - 1].part); k--)
        r->parts[k] = r->parts[k - 1];
    r->parts[k] = p;
    return p.part;
}

static void give(work *w) {
    cr_why *r = w->res;
    r->parts = CR_NEW_N(w->arena, cr_why_part, w->n_things + w->n_steps + 1);
    double sum = 0;
    for (int i = 0; i < w->n_things; i++) {
        const thing *t = &w->things[i];
        cr_why_part p = {t->kind, cr_arena_strdup(w->arena, t->name), t->value,
                         t->part / w->o->orders};
        if (t->n_ids == 0) sum += add_part(r, p);
        for (int64_t q = 0; q < t->n_ids; q++) {
            const cr_jagged *j = &cr_kept_all(w->kept[0])->sparse[t->unit->parts[0].at];
            const move *m = &t->ids[q];
            int64_t from = span_of(j, m->comes ? w->o->rows[0] : base_row(w)).from;
            p.kind = "id";
            p.value = cr_arena_printf(w->arena, "%s%lld",
                                      w->o->n_rows < 2 ? ""
                                      : m->comes       ? "+"
                                                       : "-",
                                      (long long)j->ids[from + m->at]);
            p.part = t->id_part[q] / w->o->orders;
            sum += add_part(r, p);
        }
    }
    r->residual = r->to - r->from - sum;
    const cr_batch *all = cr_kept_all(w->kept[0]);
    r->has_label = all->n_labels > 0;
    if (r->has_label) r->label = (double)all->labels[0][w->o->rows[0]];
}

cr_code cr_why_run(const cr_why_opts *o, cr_why *out, cr_arena *arena, cr_diag *diag) {
    work w = {.o = o, .res = out, .arena = arena, .diag = diag};
    cr_err err = {0};
    memset(out, 0, sizeof(*out));
    cr_code code = open_model(&w, 0);
    if (code == CR_OK && o->n_models == 2) code = open_model(&w, 1);
    if (code == CR_OK) {
        code = (o->n_models == 2 ? explain_models : explain_rows)(&w, &err);
        if (code != CR_OK) code = cr_diag_err(diag, &err);
    }
    if (code == CR_OK) give(&w);
    cr_model_work_free(w.mixer);
    cr_plan_free(w.mix);
    for (int k = 0; k < 2; k++) {
        cr_model_work_free(w.run[k]);
        cr_plan_free(w.plan[k]);
        cr_kept_free(w.kept[k]);
        if (k < o->n_models) cr_job_close(&w.j[k]);
    }
    return code;
}

void cr_why_json(cr_buf *out, const cr_why_opts *o, const cr_why *r) {
    cr_jw w;
    cr_jw_init(&w, out);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "kind", "why");
    cr_jw_str(&w, "checkpoint", r->checkpoint[0]);
    if (r->checkpoint[1]) cr_jw_str(&w, "checkpoint_b", r->checkpoint[1]);
    cr_jw_str(&w, "output", r->output);
    cr_jw_i64(&w, "row", o->rows[0]);
    if (o->n_rows == 2) cr_jw_i64(&w, "row_b", o->rows[1]);
    if (r->has_label) cr_jw_f64(&w, "label", r->label);
    cr_jw_f64(&w, "from", r->from);
    cr_jw_f64(&w, "to", r->to);
    cr_jw_f64(&w, "residual", r->residual);
    cr_jw_i64(&w, "orders", o->orders);
    cr_jw_arr(&w, "parts");
    for (int i = 0; i < r->n_parts; i++) {
        cr_jw_obj(&w, NULL);
        cr_jw_str(&w, "kind", r->parts[i].kind);
        cr_jw_str(&w, "name", r->parts[i].name);
        if (*r->parts[i].value) cr_jw_str(&w, "value", r->parts[i].value);
        cr_jw_f64(&w, "part", r->parts[i].part);
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    cr_jw_end(&w);
    cr_buf_char(out, '\n');
}
