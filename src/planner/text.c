/*
 * text.c - a plan as JSON: what training keeps in model_dir/plan.json, and what `crank plan --json`
 * prints. Only the placings are read back; everything else is there to be looked at.
 *
 * A placing is written as its kind, its first holder and their number, not as a list of rectangles:
 * 10,000 tables over 4,096 ranks would have 40 million of them.
 */
#include <string.h>

#include "base/file.h"
#include "planner/planner.h"

/* ---- a machine ---- */

typedef struct figure {
    const char *key;
    size_t at; /* of a double in cr_planner_machine */
} figure;
#define AT(m) offsetof(cr_planner_machine, m)
static const figure figures[] = {
    {"flops_per_core", AT(flops)},
    {"stream_bytes_per_s_per_core", AT(stream)},
    {"seconds_per_miss", AT(miss)},
    {"cache_bytes", AT(cache)},
    {"intra_node_bytes_per_s", AT(bandwidth[0])},
    {"cross_node_bytes_per_s", AT(bandwidth[1])},
    {"intra_node_seconds_per_message", AT(message[0])},
    {"cross_node_seconds_per_message", AT(message[1])},
};
enum { N_FIGURES = sizeof(figures) / sizeof(figures[0]) };

/* The place of a figure in a machine. */
static const void *at_figure(const cr_planner_machine *m, int i) {
    return (const char *)m + figures[i].at;
}

void cr_planner_write_machine(cr_jw *w, const cr_planner_machine *m) {
    cr_jw_i64(w, "cores_per_rank", m->cores);
    cr_jw_f64(w, "usable_bytes_per_rank", m->memory);
    for (int i = 0; i < N_FIGURES; i++) {
        double x;
        memcpy(&x, at_figure(m, i), sizeof(x));
        cr_jw_f64(w, figures[i].key, x);
    }
}

cr_code cr_planner_read_machine(const cr_json *root, const char *path, cr_planner_machine *m,
                                cr_err *err) {
    const cr_json *inner = cr_json_get(root, "machine");
    if (inner) root = inner;
    cr_loc at = {path, 0, 0};
    if (!cr_json_is_obj(root))
        return cr_fail_at(err, CR_ECONF, at,
                          "it is no JSON object with the figures of a machine; make one with crank "
                          "plan CONFIG --json FILE");
    int found = 0;
    for (int i = 0; i < N_FIGURES; i++) {
        const cr_json *v = cr_json_get(root, figures[i].key);
        double x;
        if (!v) continue;
        if (!cr_json_f64(v, &x) || !(x > 0))
            return cr_fail_at(err, CR_ECONF, at, "'%s' must be a number above 0; correct it",
                              figures[i].key);
        memcpy((char *)m + figures[i].at, &x, sizeof(x));
        found++;
    }
    if (found == 0)
        return cr_fail_at(err, CR_ECONF, at,
                          "it has none of the figures of a machine, such as '%s'; make one with "
                          "crank plan CONFIG --json FILE",
                          figures[0].key);
    return CR_OK;
}

/* ---- a plan ---- */

static void write_table(cr_jw *w, const cr_planner_job *j, const cr_planner_machine *m, int i,
                        const cr_planned *p) {
    const cr_planner_table *t = &j->tables[i];
    cr_planner_cost c = cr_planner_table_cost(j, m, i, p);
    cr_jw_obj(w, NULL);
    cr_jw_str(w, "name", t->name);
    cr_jw_i64(w, "rows", t->n_rows);
    cr_jw_i64(w, "dim", t->D);
    cr_jw_str(w, "sharding_type", cr_shard_name(p->kind));
    if (p->kind != CR_DATA_PARALLEL) {
        cr_jw_i64(w, "first_rank", p->first);
        cr_jw_i64(w, "shards", p->n);
    }
    if (p->kind == CR_GRID_SHARD) cr_jw_i64(w, "column_ranges", p->n_cols);
    cr_jw_f64(w, "bytes", c.memory);
    cr_jw_f64(w, "largest_shard_bytes", c.largest);
    cr_jw_f64(w, "ids_per_row", t->ids);
    cr_jw_f64(w, "zipf", t->zipf);
    cr_jw_f64(w, "distinct_ids_per_rank", c.distinct);
    cr_jw_f64(w, "distinct_ids", c.distinct_global);
    cr_jw_f64(w, "sent_bytes_per_step", c.bytes);
    cr_jw_end(w);
}

static void write_time(cr_jw *w, const cr_planner_time *t) {
    cr_jw_f64(w, "step_s", t->all);
    cr_jw_f64(w, "dense_s", t->dense);
    cr_jw_f64(w, "lookup_s", t->lookup);
    cr_jw_f64(w, "update_s", t->update);
    cr_jw_f64(w, "network_s", t->network);
    cr_jw_f64(w, "sync_s", t->sync);
    cr_jw_f64(w, "messages_s", t->messages);
}

void cr_planner_write(cr_jw *w, const cr_planner_job *j, const cr_planner_machine *m,
                      const cr_planner_result *r) {
    cr_jw_i64(w, "version", 1);
    cr_jw_i64(w, "ranks", m->ranks);
    cr_jw_i64(w, "ranks_per_machine", m->per_node);
    cr_jw_i64(w, "batch_size", j->batch);
    cr_jw_bool(w, "fits", r->fits);
    write_time(w, &r->slowest);
    cr_jw_i64(w, "slowest_rank", r->slowest_rank);
    cr_jw_i64(w, "fullest_rank", r->fullest_rank);
    cr_jw_f64(w, "messages_per_rank", r->messages);
    cr_jw_arr(w, "tables");
    for (int i = 0; i < j->n; i++)
        write_table(w, j, m, i, &r->tables[i]);
    cr_jw_end(w);
    cr_jw_arr(w, "per_rank");
    for (int i = 0; i < m->ranks; i++) {
        const cr_planner_load *l = &r->ranks[i];
        cr_planner_time t = cr_planner_rank_time(j, m, r, i);
        cr_jw_obj(w, NULL);
        cr_jw_i64(w, "rank", i);
        cr_jw_f64(w, "memory_bytes", l->memory);
        cr_jw_f64(w, "sent_intra_bytes", l->out[0]);
        cr_jw_f64(w, "sent_cross_bytes", l->out[1]);
        cr_jw_f64(w, "received_intra_bytes", l->in[0]);
        cr_jw_f64(w, "received_cross_bytes", l->in[1]);
        write_time(w, &t);
        cr_jw_end(w);
    }
    cr_jw_end(w);
    cr_jw_obj(w, "machine");
    cr_planner_write_machine(w, m);
    cr_jw_end(w);
}

/* Is it a placing of such a table on these ranks? */
static bool is_right(const cr_planned *p, const cr_planner_table *t, int ranks, int per_node) {
    int size = per_node < ranks ? per_node : ranks;
    if (p->kind == CR_DATA_PARALLEL) return true;
    if (p->first < 0 || p->first >= ranks || p->n < 1 || p->n > ranks) return false;
    if (p->kind == CR_TABLE_WISE) return p->n == 1;
    if (p->kind == CR_GRID_SHARD)
        return p->n_cols > 0 && p->n % p->n_cols == 0 && p->n / p->n_cols <= size &&
               ranks % size == 0 && p->n_cols <= ranks / size;
    if (p->kind == CR_TABLE_ROW_WISE || p->kind == CR_TABLE_COLUMN_WISE) {
        int left = ranks - p->first / per_node * per_node;
        if (p->n > (left < size ? left : size)) return false;
    }
    bool by_cols = p->kind == CR_COLUMN_WISE || p->kind == CR_TABLE_COLUMN_WISE;
    return by_cols ? p->n <= (t->D + 3) / 4 : p->n <= t->n_rows;
}

static bool cuts_columns(const cr_planned *p) {
    if (p->kind == CR_GRID_SHARD) return p->n_cols > 1;
    return (p->kind == CR_COLUMN_WISE || p->kind == CR_TABLE_COLUMN_WISE) && p->n > 1;
}

static cr_code read_table(const cr_json *v, const char *path, const cr_planner_table *t, int ranks,
                          int per_node, cr_planned *out, cr_err *err) {
    cr_loc at = {path, 0, 0};
    int64_t rows, D, first = 0, n = 0, n_cols = 0;
    const char *kind = cr_json_str(cr_json_get(v, "sharding_type"));
    if (!cr_json_i64(cr_json_get(v, "rows"), &rows) || !cr_json_i64(cr_json_get(v, "dim"), &D) ||
        !kind)
        return cr_fail_at(err, CR_ECONF, at,
                          "table '%s' lacks rows, dim or sharding_type; remove the file to plan "
                          "again",
                          t->name);
    if (rows != t->n_rows || D != t->D)
        return cr_fail_at(err, CR_ECONF, at,
                          "it was made for a table '%s' of %lld rows of width %lld, which now has "
                          "%lld of width %lld; unset FORCE_LOAD_SHARDING_PLAN to plan again",
                          t->name, (long long)rows, (long long)D, (long long)t->n_rows,
                          (long long)t->D);
    int k = cr_shard_find(kind);
    bool has = cr_json_i64(cr_json_get(v, "first_rank"), &first) &&
               cr_json_i64(cr_json_get(v, "shards"), &n);
    if (cr_json_get(v, "column_ranges"))
        has &= cr_json_i64(cr_json_get(v, "column_ranges"), &n_cols);
    has |= k == CR_DATA_PARALLEL;
    bool small =
        first >= 0 && n >= 0 && n_cols >= 0 && first <= ranks && n <= ranks && n_cols <= ranks;
    if (k >= 0 && has && small) {
        *out = (cr_planned){(cr_shard_kind)k, (int)first, (int)n, (int)n_cols};
        bool right = is_right(out, t, ranks, per_node);
        /* the file may be of a run with another optimizer */
        if (right && t->whole && cuts_columns(out))
            return cr_fail_at(err, CR_ECONF, at,
                              "table '%s' (%s) must not be cut by columns: %s; remove the file to "
                              "plan again",
                              t->name, kind, t->whole);
        if (right) return CR_OK;
    }
    return cr_fail_at(err, CR_ECONF, at,
                      "the placing of table '%s' (%s) is not possible on %d ranks; remove the file "
                      "to plan again",
                      t->name, kind, ranks);
}

cr_code cr_planner_read(const cr_json *root, const char *path, const cr_planner_table *t, int n,
                        int ranks, int per_node, cr_planned *out, cr_err *err) {
    cr_loc at = {path, 0, 0};
    int64_t made_for, made_per;
    const cr_json *tables = cr_json_get(root, "tables");
    if (!cr_json_is_obj(root) || !cr_json_i64(cr_json_get(root, "ranks"), &made_for) ||
        !cr_json_i64(cr_json_get(root, "ranks_per_machine"), &made_per) || !tables ||
        !cr_json_is_arr(tables))
        return cr_fail_at(err, CR_ECONF, at,
                          "it is no plan of crank: ranks, ranks_per_machine or tables are missing; "
                          "remove it to plan again");
    if (made_for != ranks || made_per != per_node)
        return cr_fail_at(err, CR_ECONF, at,
                          "the plan is for %lld ranks, %lld on a machine, and this run has %d, %d "
                          "on a machine; start as many, or unset FORCE_LOAD_SHARDING_PLAN to plan "
                          "again",
                          (long long)made_for, (long long)made_per, ranks, per_node);
    size_t count = cr_json_len(tables);
    for (int i = 0; i < n; i++) {
        const cr_json *found = NULL;
        for (size_t k = 0; k < count && !found; k++) {
            const cr_json *v = cr_json_at(tables, ((size_t)i + k) % count);
            const char *name = cr_json_str(cr_json_get(v, "name"));
            if (name && strcmp(name, t[i].name) == 0) found = v;
        }
        if (!found)
            return cr_fail_at(err, CR_ECONF, at,
                              "it has no table '%s'; unset FORCE_LOAD_SHARDING_PLAN to plan again",
                              t[i].name);
        CR_TRY(read_table(found, path, &t[i], ranks, per_node, &out[i], err));
    }
    return CR_OK;
}
