/*
 * importance_out.c - the results of `crank importance` as JSON and as a picture.
 */
#include <string.h>

#include "base/json.h"
#include "explain/charts.h"
#include "explain/explain.h"

#define Z95 1.959963984540054 /* errors on each side of an interval of 95 % */

/* ---- JSON ---- */

static void put_worth(cr_jw *w, const char *key, cr_paired p) {
    cr_jw_obj(w, key);
    cr_jw_f64(w, "loss", p.diff);
    cr_jw_f64(w, "error", p.error);
    cr_jw_f64(w, "low", p.diff - Z95 * p.error);
    cr_jw_f64(w, "high", p.diff + Z95 * p.error);
    cr_jw_end(w);
}

void cr_importance_json(cr_buf *out, const cr_importance *r) {
    cr_jw w;
    cr_jw_init(&w, out);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "kind", "importance");
    cr_jw_str(&w, "checkpoint", r->checkpoint);
    cr_jw_i64(&w, "rows", r->rows);
    cr_jw_i64(&w, "read_rows", r->read);
    cr_jw_bool(&w, "more_rows", r->cut);
    cr_jw_i64(&w, "seed", (int64_t)r->seed);
    cr_jw_arr(&w, "measures");
    for (int i = 0; i < r->n_measures; i++) {
        const cr_measure_result *m = &r->measures[i];
        cr_jw_obj(&w, NULL);
        cr_jw_str(&w, "name", m->name);
        cr_jw_f64(&w, "value", m->value);
        cr_jw_i64(&w, "rows", m->rows);
        if (m->auc) {
            cr_jw_i64(&w, "positives", m->n_pos);
            cr_jw_i64(&w, "negatives", m->n_neg);
        }
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    cr_jw_arr(&w, "units");
    for (int u = 0; u < r->n_units; u++) {
        const cr_unit_result *x = &r->units[u];
        cr_jw_obj(&w, NULL);
        cr_jw_str(&w, "kind", x->kind);
        cr_jw_str(&w, "name", x->name);
        cr_jw_i64(&w, "features", x->n_features);
        cr_jw_bool(&w, "used", x->used);
        cr_jw_i64(&w, "rows_shuffled", x->rows_shuffled);
        cr_jw_i64(&w, "rows_removed", x->rows_removed);
        for (int i = 0; i < r->n_measures; i++) {
            cr_jw_obj(&w, r->measures[i].name);
            put_worth(&w, "shuffled", x->worth[i].shuffled);
            put_worth(&w, "removed", x->worth[i].removed);
            cr_jw_end(&w);
        }
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    cr_jw_end(&w);
    cr_buf_char(out, '\n');
}

/* ---- picture ---- */

/* The units by what they are worth in a measure, the most first; equal ones in their own order. */
int *cr_importance_order(const cr_importance *r, int measure, cr_arena *a) {
    int *v = CR_NEW_N(a, int, r->n_units + 1);
    for (int u = 0; u < r->n_units; u++) {
        int k = u;
        double x = r->units[u].worth[measure].shuffled.diff;
        for (; k > 0 && x > r->units[v[k - 1]].worth[measure].shuffled.diff; k--)
            v[k] = v[k - 1];
        v[k] = u;
    }
    return v;
}

void cr_importance_svg(cr_buf *out, const cr_importance *r, int measure) {
    cr_arena a;
    cr_arena_init(&a, 0);
    const int *order = cr_importance_order(r, measure, &a);
    cr_bar *bars = CR_NEW_N(&a, cr_bar, r->n_units + 1);
    for (int i = 0; i < r->n_units; i++) {
        const cr_unit_result *u = &r->units[order[i]];
        cr_paired p = u->worth[measure].shuffled;
        bool feature = strcmp(u->kind, "feature") == 0;
        bars[i] = (cr_bar){feature ? u->name : cr_arena_printf(&a, "%s %s", u->kind, u->name),
                           p.diff, p.diff - Z95 * p.error, p.diff + Z95 * p.error};
    }
    const cr_measure_result *m = &r->measures[measure];
    cr_chart_bars(out,
                  cr_arena_printf(&a, "%s %s when the values are shuffled, with 95 %% intervals",
                                  m->name, m->auc ? "lost" : "gained"),
                  bars, r->n_units);
    cr_arena_clear(&a);
}
