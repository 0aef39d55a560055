/*
 * align.c - see align.h: pairs of values, and what follows from them.
 */
#include "tool/align.h"

#include <math.h>
#include <string.h>

/* The mean of values that are each exactly at the limit may lie a few bits above it: three errors
 * of 0.01 have the mean 0.010000000000000009. */
bool cr_align_within(double x, double tol) {
    return x <= tol * (1 + 1e-9);
}

static int compare_places(const cr_align_point *x, const cr_align_point *y, bool pairs) {
    if (pairs && x->epoch != y->epoch) return x->epoch < y->epoch ? -1 : 1;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    return 0;
}

/* Pairs the values of both. */
static void match(const cr_align_curve *r, const cr_align_curve *c, const cr_align_opts *o,
                  cr_align_result *out) {
    bool pairs = r->by == CR_ALIGN_PAIRS && c->by == CR_ALIGN_PAIRS;
    bool numbered = pairs || (r->by == CR_ALIGN_STEPS && c->by == CR_ALIGN_STEPS);
    out->by_order = o->match != CR_ALIGN_IN_ORDER && !numbered;
    bool order = o->match == CR_ALIGN_IN_ORDER || !numbered;
    int i = 0, k = 0;
    while (i < r->n || k < c->n) {
        bool a = i < r->n, b = k < c->n;
        int side = !a ? 1 : !b ? -1 : order ? 0 : compare_places(&r->v[i], &c->v[k], pairs);
        if (side == 0) {
            const cr_align_point *x = &r->v[i], *y = &c->v[k];
            cr_align_pair p = {x->epoch, order ? i : x->step, x->value, y->value, NAN};
            out->v[out->n++] = p;
        } else if (o->match != CR_ALIGN_COMMON) {
            if (side < 0 && out->only_a++ == 0) out->first_a = order ? i : r->v[i].step;
            if (side > 0 && out->only_b++ == 0) out->first_b = order ? k : c->v[k].step;
        }
        i += side <= 0;
        k += side >= 0;
    }
}

cr_align_result cr_align_compare(cr_arena *a, const cr_align_curve *r, const cr_align_curve *c,
                                 const cr_align_opts *o, bool is_metric) {
    int most = r->n < c->n ? r->n : c->n;
    cr_align_result out = {.name = r->name, .v = CR_NEW_N(a, cr_align_pair, most + 1)};
    out.mean_rel = out.max_rel = out.final_rel = out.signed_rel = out.signed_abs = NAN;
    match(r, c, o, &out);
    if (!is_metric) {
        int64_t skip = o->skip < out.n ? o->skip : out.n;
        if (o->last && out.n - skip > o->last) skip = out.n - o->last;
        out.v += skip;
        out.n -= (int)skip;
    }
    double rel = 0, signed_rel = 0, signed_abs = 0, max = -1;
    for (int i = 0; i < out.n; i++) {
        cr_align_pair *p = &out.v[i];
        if (!isfinite(p->r) || !isfinite(p->c)) {
            out.not_finite++;
            continue;
        }
        out.tiny += fabs(p->r) < CR_ALIGN_EPS;
        p->rel = fabs(p->c - p->r) / fmax(fabs(p->r), CR_ALIGN_EPS);
        rel += p->rel;
        signed_rel += (p->c - p->r) / (p->r == 0 ? CR_ALIGN_EPS : p->r);
        signed_abs += p->c - p->r;
        if (p->rel > max) {
            max = p->rel;
            out.worst = i;
        }
    }
    int n = out.n - out.not_finite;
    if (n > 0) {
        out.mean_rel = rel / n;
        out.max_rel = max;
        out.signed_rel = signed_rel / n;
        out.signed_abs = signed_abs / n;
        out.final_rel = out.v[out.n - 1].rel;
    }
    out.pass = n > 0 && out.not_finite == 0 && out.only_a == 0 && out.only_b == 0 &&
               cr_align_within(is_metric ? out.max_rel : out.mean_rel, o->tolerance);
    return out;
}

static const char *text(char out[32], double x) {
    out[cr_fmt_py(out, x)] = 0;
    return out;
}

bool cr_align_public(const cr_align_result *loss, cr_buf *out) {
    char rel[32], abs[32];
    const char *r = text(rel, loss->signed_rel), *x = text(abs, loss->signed_abs);
    bool pass = loss->signed_rel <= 0.05 || loss->signed_abs <= 0.0002;
    bool by_rel = loss->signed_rel < loss->signed_abs;
    cr_buf_printf(out, "MeanRelativeError: %s\nMeanAbsoluteError: %s\n", r, x);
    cr_buf_printf(out, "Rule,%s %s\n", by_rel ? "mean_relative_error" : "mean_absolute_error",
                  by_rel ? r : x);
    cr_buf_printf(out, "%s mean_relative_error=%s %s 0.05 %s mean_absolute_error=%s %s 0.0002\n",
                  pass ? "pass" : "fail", r, pass ? "<=" : ">", pass ? "or" : "and", x,
                  pass ? "<=" : ">");
    return pass;
}
