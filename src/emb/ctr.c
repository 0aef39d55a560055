/*
 * ctr.c - what happens to one row of the CTR accessor: a push, a day's end, a save. The formulas
 * are those of Paddle's CtrCommonAccessor and its rules; tools/golden/ctr.py has them once more,
 * and the tests compare row by row. Everything is computed in double and kept in float, in the
 * order of columns, so every CPU gives the same bits.
 */
#include "emb/ctr.h"

#include <math.h>
#include <string.h>

#include "emb/init.h"

int64_t cr_ctr_state(cr_ctr_sgd kind, int64_t D) {
    switch (D > 0 ? kind : CR_CTR_NAIVE) {
    case CR_CTR_ADAGRAD: return 1;
    case CR_CTR_STD_ADAGRAD: return D;
    case CR_CTR_ADAM: return 2 * D + 2;
    case CR_CTR_SHARED_ADAM: return 4;
    default: return 0;
    }
}

int64_t cr_ctr_floats(const cr_ctr_rules *r, int64_t X, bool brief) {
    int64_t n = CR_CTR_HEAD + CR_CTR_DAYS + cr_ctr_state(r->embed.kind, 1);
    return brief ? n : n + X + cr_ctr_state(r->embedx.kind, X);
}

cr_ctr_row cr_ctr_at(const cr_ctr_rules *r, int64_t X, bool brief, float *record) {
    float *days = record + CR_CTR_HEAD + (brief ? 0 : X), *state = days + CR_CTR_DAYS;
    return (cr_ctr_row){.head = record,
                        .embedx = brief ? NULL : record + CR_CTR_HEAD,
                        .days = days,
                        .embed_state = state,
                        .embedx_state = brief ? NULL : state + cr_ctr_state(r->embed.kind, 1)};
}

double cr_ctr_score(const cr_ctr_rules *r, double show, double click) {
    return (show - click) * r->nonclk_coeff + click * r->click_coeff;
}

static double score_of(const cr_ctr_rules *r, cr_ctr_row row) {
    return cr_ctr_score(r, (double)row.head[CR_CTR_SHOW], (double)row.head[CR_CTR_CLICK]);
}

/* ---- rules: D weights w with their state s; g is divided by scale ---- */

static float within(const cr_ctr_rule *r, double w) {
    return (float)(w < r->lowest ? r->lowest : w > r->highest ? r->highest : w);
}

static void naive(const cr_ctr_rule *r, float *w, const float *g, double scale, int64_t D) {
    for (int64_t i = 0; i < D; i++)
        w[i] = within(r, (double)w[i] - r->lr * ((double)g[i] / scale));
}

/* each: every weight has its own sum */
static void adagrad(const cr_ctr_rule *r, float *w, float *s, const float *g, double scale,
                    int64_t D, bool each) {
    double sum = 0;
    for (int64_t i = 0; i < D; i++) {
        double x = (double)g[i] / scale, old = (double)s[each ? i : 0];
        w[i] =
            within(r, (double)w[i] - r->lr * x * sqrt(r->initial_g2sum / (r->initial_g2sum + old)));
        sum += x * x;
        if (each) s[i] = (float)(old + x * x);
    }
    if (!each) s[0] = (float)((double)s[0] + sum / (double)D);
}

/* The state is the first moments, the second moments, and the powers of beta1 and beta2; shared:
 * one moment of each kind, the mean over the weights. */
static void adam(const cr_ctr_rule *r, float *w, float *s, const float *g, double scale, int64_t D,
                 bool shared) {
    int64_t n = shared ? 1 : D;
    float *m = s, *v = s + n, *pow1 = v + n, *pow2 = pow1 + 1;
    double rate = r->lr * sqrt(1 - (double)*pow2) / (1 - (double)*pow1);
    double m0 = (double)m[0], v0 = (double)v[0], sum_m = 0, sum_v = 0;
    for (int64_t i = 0; i < D; i++) {
        double x = (double)g[i] / scale;
        double mi = r->beta1 * (shared ? m0 : (double)m[i]) + (1 - r->beta1) * x;
        double vi = r->beta2 * (shared ? v0 : (double)v[i]) + (1 - r->beta2) * x * x;
        w[i] = within(r, (double)w[i] - rate * (mi / (sqrt(vi) + r->epsilon)));
        sum_m += mi;
        sum_v += vi;
        if (shared) continue;
        m[i] = (float)mi;
        v[i] = (float)vi;
    }
    if (shared) {
        m[0] = (float)(sum_m / (double)D);
        v[0] = (float)(sum_v / (double)D);
    }
    *pow1 = (float)((double)*pow1 * r->beta1);
    *pow2 = (float)((double)*pow2 * r->beta2);
}

static void apply(const cr_ctr_rule *r, float *w, float *s, const float *g, double scale,
                  int64_t D) {
    if (D == 0) return;
    if (r->kind == CR_CTR_NAIVE) naive(r, w, g, scale, D);
    if (r->kind == CR_CTR_ADAGRAD) adagrad(r, w, s, g, scale, D, false);
    if (r->kind == CR_CTR_STD_ADAGRAD) adagrad(r, w, s, g, scale, D, true);
    if (r->kind == CR_CTR_ADAM) adam(r, w, s, g, scale, D, false);
    if (r->kind == CR_CTR_SHARED_ADAM) adam(r, w, s, g, scale, D, true);
}

/* Gives a part its first values, number `first` on of the id's stream, and its first state. */
static void begin(const cr_ctr_rule *r, float *w, float *s, int64_t D, bool zeros, uint64_t key,
                  int64_t first) {
    int64_t n = cr_ctr_state(r->kind, D);
    cr_init init = CR_INIT_U(r->initial_range);
    if (zeros || D == 0)
        memset(w, 0, (size_t)D * sizeof(float));
    else
        cr_init_fill(&init, key, first, D, w);
    memset(s, 0, (size_t)n * sizeof(float));
    if (D == 0 || (r->kind != CR_CTR_ADAM && r->kind != CR_CTR_SHARED_ADAM)) return;
    s[n - 2] = (float)r->beta1;
    s[n - 1] = (float)r->beta2;
}

void cr_ctr_extend(const cr_ctr_rules *r, int64_t X, cr_ctr_row row, uint64_t key) {
    begin(&r->embedx, row.embedx, row.embedx_state, X, false, key, 1);
}

/* ---- a push ---- */

bool cr_ctr_push(const cr_ctr_rules *r, int64_t X, cr_ctr_row row, uint64_t key, const float *g) {
    float *h = row.head, *days = row.days;
    double show = (double)g[CR_CTR_SHOW], click = (double)g[CR_CTR_CLICK];
    if (days[CR_CTR_UNSEEN] == CR_CTR_UNBORN)
        begin(&r->embed, h + CR_CTR_EMBED, row.embed_state, 1, r->zero_init, key, 0);
    if (show > 0) h[CR_CTR_SLOT] = (float)nearbyint((double)g[CR_CTR_SLOT] / show);
    h[CR_CTR_SHOW] = (float)((double)h[CR_CTR_SHOW] + show);
    h[CR_CTR_CLICK] = (float)((double)h[CR_CTR_CLICK] + click);
    days[CR_CTR_DELTA] = (float)((double)days[CR_CTR_DELTA] + cr_ctr_score(r, show, click));
    days[CR_CTR_UNSEEN] = 0;
    double scale = r->show_scale && show > 0 ? show : 1; /* a gradient without shows stays */
    apply(&r->embed, h + CR_CTR_EMBED, row.embed_state, g + CR_CTR_EMBED, scale, 1);
    if (row.embedx) {
        apply(&r->embedx, row.embedx, row.embedx_state, g + CR_CTR_HEAD, scale, X);
        return false;
    }
    return X > 0 && score_of(r, row) >= r->embedx_threshold;
}

/* ---- a day's end, and saves ---- */

bool cr_ctr_shrink(const cr_ctr_rules *r, cr_ctr_row row) {
    float *h = row.head;
    h[CR_CTR_SHOW] = (float)((double)h[CR_CTR_SHOW] * r->decay);
    h[CR_CTR_CLICK] = (float)((double)h[CR_CTR_CLICK] * r->decay);
    return score_of(r, row) < r->delete_threshold ||
           (double)row.days[CR_CTR_UNSEEN] > r->delete_after;
}

bool cr_ctr_saves(const cr_ctr_rules *r, cr_ctr_row row, cr_ctr_mode mode) {
    if (row.days[CR_CTR_UNSEEN] == CR_CTR_UNBORN) return false;
    if (mode == CR_CTR_ALL || mode == CR_CTR_BATCH) return true;
    return score_of(r, row) >= r->base_threshold &&
           (double)row.days[CR_CTR_DELTA] >= (mode == CR_CTR_BASE ? 0 : r->delta_threshold) &&
           (double)row.days[CR_CTR_UNSEEN] <= r->delta_keep_days;
}

void cr_ctr_saved(cr_ctr_row row, cr_ctr_mode mode) {
    if (mode == CR_CTR_DELTA_ROWS || mode == CR_CTR_BASE) row.days[CR_CTR_DELTA] = 0;
    if (mode == CR_CTR_BATCH) row.days[CR_CTR_UNSEEN] += 1;
}
