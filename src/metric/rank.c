/*
 * rank.c - the record of distinct scores: radix sort of the waiting rows, then one merge pass.
 *
 * The waiting block grows with the number of runs, so that each merge moves about as many new rows
 * as old runs, and the cost per row stays constant for any number of rows. What a reader may get
 * wrong: computing the value must not allocate, because it cannot fail. So it walks runs and sorted
 * waiting rows side by side instead of merging them.
 */
#include "metric/rank_int.h"

#include <math.h>

#include "base/mem.h"

#define MIN_WAIT (1 << 16)
#define MAX_WAIT (1 << 24)
#define DIGIT    11
#define BUCKETS  (1 << DIGIT)

__extension__ typedef unsigned __int128 wide;

void cr_rank_clear(cr_rank *r) {
    cr_free(r->runs);
    cr_free(r->wait);
    memset(r, 0, sizeof *r);
}

void cr_rank_reset(cr_rank *r) {
    cr_free(r->runs);
    r->runs = NULL;
    r->n_runs = r->n_wait = 0;
}

/* sort_waiting makes three stable passes over the 32 bits of the key (the label bit needs no
 * order). After an odd number of passes the data is in the scratch half, so it is copied back. */
static void sort_waiting(cr_rank *r) {
    if (r->n_wait == 0) return;
    uint64_t *a = r->wait, *b = r->wait + r->cap_wait;
    for (int shift = 1; shift < 33; shift += DIGIT) {
        uint32_t at[BUCKETS] = {0};
        for (int64_t i = 0; i < r->n_wait; i++) {
            at[(a[i] >> shift) & (BUCKETS - 1)]++;
        }
        uint32_t sum = 0;
        for (int d = 0; d < BUCKETS; d++) {
            uint32_t n = at[d];
            at[d] = sum;
            sum += n;
        }
        for (int64_t i = 0; i < r->n_wait; i++) {
            b[at[(a[i] >> shift) & (BUCKETS - 1)]++] = a[i];
        }
        uint64_t *t = a;
        a = b;
        b = t;
    }
    if (a != r->wait) memcpy(r->wait, a, (size_t)r->n_wait * sizeof *a);
}

/* A walk over runs and sorted waiting rows in key order. */
typedef struct walk {
    const cr_rank *r;
    int64_t i_run, i_wait;
} walk;

static bool walk_next(walk *w, cr_rank_run *out) {
    const cr_rank *r = w->r;
    bool run = w->i_run < r->n_runs, wait = w->i_wait < r->n_wait;
    if (!run && !wait) return false;
    uint64_t run_key = run ? r->runs[w->i_run].key : UINT64_MAX;
    uint64_t wait_key = wait ? r->wait[w->i_wait] >> 1 : UINT64_MAX;
    *out = (cr_rank_run){.key = run_key < wait_key ? run_key : wait_key};
    if (run_key == out->key) *out = r->runs[w->i_run++];
    for (; w->i_wait < r->n_wait && r->wait[w->i_wait] >> 1 == out->key; w->i_wait++) {
        uint64_t positive = r->wait[w->i_wait] & 1;
        out->n_pos += positive;
        out->n_neg += 1 - positive;
    }
    return true;
}

static cr_code merge(cr_rank *r, cr_err *err) {
    sort_waiting(r);
    cr_rank_run run;
    int64_t n = 0;
    for (walk w = {.r = r}; walk_next(&w, &run);) {
        n++;
    }
    void *p;
    CR_TRY(cr_try_alloc(&p, (size_t)n * sizeof run, "distinct scores of a metric", err));
    cr_rank_run *runs = p;
    n = 0;
    for (walk w = {.r = r}; walk_next(&w, &run);) {
        runs[n++] = run;
    }
    cr_free(r->runs);
    r->runs = runs;
    r->n_runs = n;
    r->n_wait = 0;
    return CR_OK;
}

cr_code cr_rank_reserve(cr_rank *r, cr_err *err) {
    if (r->n_wait < r->cap_wait) return CR_OK;
    if (r->n_wait > 0) CR_TRY(merge(r, err));
    int64_t cap = r->n_runs < MIN_WAIT ? MIN_WAIT : r->n_runs > MAX_WAIT ? MAX_WAIT : r->n_runs;
    if (cap <= r->cap_wait) return CR_OK;
    void *p;
    CR_TRY(cr_try_alloc(&p, 2 * (size_t)cap * sizeof *r->wait, "waiting scores of a metric", err));
    cr_free(r->wait);
    r->wait = p;
    r->cap_wait = cap;
    return CR_OK;
}

void cr_rank_pack(cr_rank *r, cr_buf *out) {
    sort_waiting(r);
    cr_rank_run run;
    for (walk w = {.r = r}; walk_next(&w, &run);)
        cr_buf_add(out, &run, sizeof run);
}

cr_code cr_rank_merge(cr_rank *r, const cr_rank_run *other, int64_t n, cr_err *err) {
    if (r->n_wait > 0) CR_TRY(merge(r, err));
    if (n == 0) return CR_OK;
    void *p;
    CR_TRY(cr_try_alloc(&p, (size_t)(r->n_runs + n) * sizeof *other, "distinct scores of a metric",
                        err));
    cr_rank_run *runs = p;
    int64_t to = 0;
    for (int64_t i = 0, k = 0; i < r->n_runs || k < n; to++) {
        bool here = k == n || (i < r->n_runs && r->runs[i].key <= other[k].key);
        bool there = i == r->n_runs || (k < n && other[k].key <= r->runs[i].key);
        runs[to] = here ? r->runs[i] : other[k];
        if (here && there) {
            runs[to].n_pos += other[k].n_pos;
            runs[to].n_neg += other[k].n_neg;
        }
        i += here;
        k += there;
    }
    cr_free(r->runs);
    r->runs = runs;
    r->n_runs = to;
    return CR_OK;
}

double cr_rank_auc(cr_rank *r) {
    sort_waiting(r);
    cr_rank_run run;
    uint64_t n_pos = 0, n_neg = 0;
    wide twice = 0; /* right pairs, doubled so that a tie counts 1 */
    for (walk w = {.r = r}; walk_next(&w, &run);) {
        twice += (wide)run.n_pos * (2 * n_neg + run.n_neg);
        n_pos += run.n_pos;
        n_neg += run.n_neg;
    }
    if (n_pos == 0 || n_neg == 0) return NAN;
    return (double)twice / (2.0 * (double)n_pos * (double)n_neg);
}
