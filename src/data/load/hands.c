/*
 * hands.c - which rows are read by whom, where the reader knows how many rows a block has.
 *
 * Neighbouring blocks share pages and dictionaries, so they are read in turn by one hand. In file
 * order there are as many hands as workers and each takes a stretch of blocks: hand 1 works ahead
 * of hand 0 by a stretch, and its slots wait in the queue. Shuffled, the stretches are permuted and
 * several are read in turn, a block of each: a window then holds rows of many places although
 * no hand jumps. That order depends on files and seed alone; which worker moves a hand does not
 * matter.
 *
 * Rows taken by number (exact: file order, no row may be left out): a run begins at the very row it
 * stopped at, and blocks that hold rows of other processes only are never opened.
 */
#include "data/load/hands.h"

#include "base/rng.h"
#include "data/load/shuffle.h"

/* Processes that take fewer rows than this from a batch read all rows: a call per column for every
 * few rows would cost more than the rows. */
#define MIN_SPLIT 512

cr_code cr_hands_open(cr_hands *h, const cr_items *in, cr_err *err) {
    const cr_loader_opts *o = in->o;
    void *p;
    size_t n = (size_t)in->n + 1;
    h->exact = !o->shuffle && o->max_bad_rows == 0 && o->start.bad_rows == 0 &&
               cr_split_all(&o->split) && !o->no_split;
    int64_t mine = o->batch_size * (o->share.end - o->share.first) / o->share.of;
    h->split = h->exact && mine < o->batch_size && mine >= MIN_SPLIT;
    CR_TRY(cr_try_alloc(&p, n * sizeof(int64_t), "the rows of blocks", err));
    h->before = p;
    CR_TRY(cr_try_alloc(&p, n * sizeof(int64_t), "the order of blocks", err));
    h->runs = p;
    int64_t most = 1, left = 0;
    for (int64_t f = 0, i = 0; f < in->n_files; f++) {
        for (int64_t b = 0; i < in->first[f + 1]; i++, b++) {
            cr_block_rows x;
            in->reader->block_rows(in->src, f, b, &x);
            h->before[i + 1] = h->before[i] + x.n_rows;
            if (left == 0) {
                h->runs[h->n_runs++] = i;
                left = o->shuffle ? x.stretch_shuffled : x.stretch;
            }
            left--;
        }
    }
    h->runs[h->n_runs] = in->n;
    for (int64_t i = 0; i < h->n_runs; i++) {
        int64_t k = h->before[h->runs[i + 1]] - h->before[h->runs[i]];
        if (k > most) most = k;
    }
    h->n_hands = o->shuffle ? in->reader->hands(in->src) : o->n_threads;
    if (h->n_hands > h->n_runs) h->n_hands = h->n_runs > 0 ? (int)h->n_runs : 1;
    /* Each hand has a stretch and one more waits, so that no hand waits at the end of its own. */
    h->max_queued = (h->n_hands + 1) * most;
    h->raw = cr_alloc((size_t)h->n_hands * sizeof(*h->raw), "readers of blocks");
    h->busy = cr_alloc((size_t)h->n_hands * sizeof(*h->busy), "readers of blocks");
    if (!o->shuffle) return CR_OK;
    CR_TRY(cr_try_alloc(&p, n * sizeof(int32_t), "the order of blocks", err));
    h->hand_of = p;
    return CR_OK;
}

void cr_hands_close(cr_hands *h, const cr_items *in) {
    for (int i = 0; h->raw && i < h->n_hands; i++)
        if (in->reader->raw_clear) in->reader->raw_clear(in->src, &h->raw[i]);
    cr_free(h->raw);
    cr_free(h->busy);
    cr_free(h->before);
    cr_free(h->runs);
    cr_free(h->hand_of);
}

cr_code cr_hands_start(cr_hands *h, const cr_items *in, int64_t *item, cr_err *err) {
    int64_t row = in->o->start.rows, total = h->before[in->n];
    if (row > total)
        return cr_fail_at(err, CR_EDATA, ((cr_loc){in->o->paths, 0, 0}),
                          "the saved position (row %lld) does not fit these files, which have %lld "
                          "rows; the files changed since the checkpoint was made",
                          (long long)row, (long long)total);
    int64_t a = 0, z = in->n; /* finds the block that holds the row, or the end */
    while (a < z) {
        int64_t m = (a + z) / 2;
        if (h->before[m + 1] <= row)
            a = m + 1;
        else
            z = m;
    }
    *item = a;
    h->row = row - h->before[a];
    h->batch_base = row;
    return CR_OK;
}

/* With a shuffle the stretches come in random order, and n_hands of them are read in turn. The
 * first stretch of each hand begins at a random block, so that the hands do not come to the ends of
 * their stretches together; doing this with all stretches would decompress their pages twice. */
void cr_hands_deal(cr_hands *h, const cr_items *in, int64_t epoch, int64_t *order) {
    int64_t *runs = cr_alloc((size_t)(h->n_runs + 1) * sizeof(*runs), "the order of blocks");
    struct {
        int64_t first, n, next, left;
    } *at = cr_alloc((size_t)h->n_hands * sizeof(*at), "the order of blocks");
    int64_t next = 0;
    uint64_t key = cr_rng_sub(cr_rng_key(in->o->seed, "shuffle", "turns"), (uint64_t)epoch);
    cr_shuffle_items(runs, h->n_runs, true, in->o->seed, epoch);
    for (int64_t n = 0; n < in->n;) {
        for (int i = 0; i < h->n_hands; i++) {
            if (at[i].left == 0) {
                if (next == h->n_runs) continue;
                int64_t k = runs[next++];
                at[i].first = h->runs[k];
                at[i].n = at[i].left = h->runs[k + 1] - h->runs[k];
                at[i].next =
                    n < h->n_hands ? (int64_t)cr_rng_below(key, (uint64_t)k, (uint64_t)at[i].n) : 0;
            }
            order[n] = at[i].first + at[i].next;
            h->hand_of[n++] = i;
            at[i].next = at[i].next + 1 == at[i].n ? 0 : at[i].next + 1;
            at[i].left--;
        }
    }
    cr_free(runs);
    cr_free(at);
}

/* own finds the next rows of the epoch, from `row` on, that this process gives out. Every process
 * reads all rows of a last batch that is not full, so that each of them knows its shape. */
static void own(const cr_hands *h, const cr_items *in, int64_t row, int64_t *from, int64_t *to) {
    const cr_share *share = &in->o->share;
    int64_t total = h->before[in->n], G = in->o->batch_size;
    *from = row;
    *to = total;
    if (!h->split) return;
    for (int64_t b = row - (row - h->batch_base) % G; b + G <= total; b += G) {
        *from = b + G * share->first / share->of;
        *to = b + G * share->end / share->of;
        if (*to <= row) continue;
        if (*from < row) *from = row;
        return;
    }
    int64_t last = total - (total - h->batch_base) % G;
    *from = row > last ? row : last;
    *to = total;
}

void cr_hands_share(cr_hands *h, const cr_items *in, int64_t k, cr_slot *s) {
    int64_t n = h->before[k + 1] - h->before[k], first = h->before[k], from, to;
    if (!h->exact) {
        s->n_read = n;
        return;
    }
    own(h, in, first + h->row, &from, &to);
    s->of_all =
        h->split && to == h->before[in->n] && from >= to - (to - h->batch_base) % in->o->batch_size;
    from -= first;
    to -= first;
    if (to > n) to = n;
    s->base = h->row;
    if (from >= n) { /* the block has no more rows for us */
        s->n_stands = n - s->base;
    } else {
        s->lead = from - s->base;
        s->n_read = to - from;
        s->n_stands = to - s->base;
    }
    h->row += s->n_stands;
    s->block_end = h->row == n;
    if (s->block_end) h->row = 0;
}

int64_t cr_hands_all(const cr_hands *h, const cr_items *in) {
    const cr_split *s = &in->o->split;
    double share = s->side == CR_TRAIN_ROWS  ? 1 - s->fraction
                   : s->side == CR_EVAL_ROWS ? s->fraction
                                             : 1;
    return (int64_t)(share * (double)h->before[in->n]);
}
