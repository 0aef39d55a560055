/*
 * rows.c - which rows are read by whom, where the reader knows how many rows a block has.
 *
 * Neighbouring blocks share pages and dictionaries, so they are read in turn by one hand. In file
 * order there are as many hands as workers and each takes a stretch of blocks: hand 1 works ahead
 * of hand 0 by a stretch, and its slots wait in the queue. Shuffled, the stretches are permuted and
 * several are read in turn, a block of each: a window then holds rows of many places although
 * nobody jumps. That order depends on files and seed alone; which worker moves a hand does not
 * matter.
 *
 * Rows taken by number (exact: file order, no row may be left out): a run begins at the very row it
 * stopped at, and blocks that hold rows of other processes only are never opened.
 */
#include "data/load/loader_int.h"

#include <string.h>

#include "base/rng.h"
#include "data/load/shuffle.h"

/* processes that take fewer rows than this from a batch read all rows: a call per column for each
 * few rows would cost more than the rows */
#define MIN_SPLIT 512
#define MAX_SLOTS 4096

static int64_t rows_of(const cr_loader *l, int64_t item) {
    return l->rows_before[item + 1] - l->rows_before[item];
}

cr_code cr_rows_open(cr_loader *l, cr_err *err) {
    void *p;
    size_t n = (size_t)l->n_items + 1;
    l->known = true;
    l->exact = !l->o.shuffle && l->o.max_bad_rows == 0 && l->o.start.bad_rows == 0 &&
               l->o.split.side == CR_ALL_ROWS;
    int64_t mine = l->G * (l->o.share.end - l->o.share.first) / l->o.share.of;
    l->split = l->exact && mine < l->G && mine >= MIN_SPLIT;
    CR_TRY(cr_try_alloc(&p, n * sizeof(int64_t), "the rows of blocks", err));
    l->rows_before = p;
    CR_TRY(cr_try_alloc(&p, n * sizeof(int64_t), "the order of blocks", err));
    l->runs = p;
    int64_t most = 1, left = 0;
    for (int64_t f = 0, i = 0; f < l->n_files; f++) {
        for (int64_t b = 0; i < l->first_item[f + 1]; i++, b++) {
            cr_block_rows r;
            l->reader->block_rows(l->src, f, b, &r);
            l->rows_before[i + 1] = l->rows_before[i] + r.n_rows;
            if (left == 0) {
                l->runs[l->n_runs++] = i;
                left = l->o.shuffle ? r.stretch_shuffled : r.stretch;
            }
            left--;
        }
    }
    l->runs[l->n_runs] = l->n_items;
    for (int64_t r = 0; r < l->n_runs; r++) {
        int64_t k = l->rows_before[l->runs[r + 1]] - l->rows_before[l->runs[r]];
        if (k > most) most = k;
    }
    double share = l->o.split.side == CR_TRAIN_ROWS  ? 1 - l->o.split.fraction
                   : l->o.split.side == CR_EVAL_ROWS ? l->o.split.fraction
                                                     : 1;
    l->stats.total_rows = (int64_t)(share * (double)l->rows_before[l->n_items]);
    l->n_hands = l->o.shuffle ? l->reader->hands(l->src) : l->o.n_threads;
    if (l->n_hands > l->n_runs) l->n_hands = l->n_runs > 0 ? (int)l->n_runs : 1;
    /* a stretch per hand and one more, so that nobody waits at the end of his */
    l->max_queued = (l->n_hands + 1) * most;
    l->hands = cr_alloc((size_t)l->n_hands * sizeof(*l->hands), "readers of blocks");
    l->busy = cr_alloc((size_t)l->n_hands * sizeof(*l->busy), "readers of blocks");
    if (!l->o.shuffle) return CR_OK;
    CR_TRY(cr_try_alloc(&p, n * sizeof(int32_t), "the order of blocks", err));
    l->hand_of = p;
    return CR_OK;
}

void cr_rows_close(cr_loader *l) {
    for (int i = 0; l->hands && i < l->n_hands; i++)
        if (l->reader->raw_clear) l->reader->raw_clear(l->src, &l->hands[i]);
    cr_free(l->hands);
    cr_free(l->busy);
    cr_free(l->rows_before);
    cr_free(l->runs);
    cr_free(l->hand_of);
}

cr_code cr_rows_start(cr_loader *l, cr_err *err) {
    int64_t row = l->o.start.rows, total = l->rows_before[l->n_items];
    if (row > total)
        return cr_fail_at(err, CR_EDATA, ((cr_loc){l->o.paths, 0, 0}),
                          "the saved position (row %lld) does not fit these files, which have %lld "
                          "rows; the files changed since the checkpoint was made",
                          (long long)row, (long long)total);
    int64_t a = 0, z = l->n_items; /* the block that holds the row, or the end */
    while (a < z) {
        int64_t m = (a + z) / 2;
        if (l->rows_before[m + 1] <= row)
            a = m + 1;
        else
            z = m;
    }
    l->item = a;
    l->block_row = row - l->rows_before[a];
    l->block = l->skip = 0;
    l->epoch_rows = l->batch_base = row;
    return CR_OK;
}

/* shuffled: stretches in random order, n_hands of them read in turn. The first of each hand begins
 * at a random block, so that the hands do not come to the ends of their stretches together; doing
 * it with all of them would decompress their pages twice. */
static void deal(cr_loader *l) {
    int64_t *runs = cr_alloc((size_t)(l->n_runs + 1) * sizeof(*runs), "the order of blocks");
    struct {
        int64_t first, n, at, left;
    } *h = cr_alloc((size_t)l->n_hands * sizeof(*h), "the order of blocks");
    int64_t next = 0;
    uint64_t key = cr_rng_sub(cr_rng_key(l->o.seed, "shuffle", "turns"), (uint64_t)l->epoch);
    cr_shuffle_items(runs, l->n_runs, true, l->o.seed, l->epoch);
    for (int64_t n = 0; n < l->n_items;) {
        for (int i = 0; i < l->n_hands; i++) {
            if (h[i].left == 0) {
                if (next == l->n_runs) continue;
                int64_t r = runs[next++];
                h[i].first = l->runs[r];
                h[i].n = h[i].left = l->runs[r + 1] - l->runs[r];
                h[i].at =
                    n < l->n_hands ? (int64_t)cr_rng_below(key, (uint64_t)r, (uint64_t)h[i].n) : 0;
            }
            l->order[n] = h[i].first + h[i].at;
            l->hand_of[n++] = i;
            h[i].at = h[i].at + 1 == h[i].n ? 0 : h[i].at + 1;
            h[i].left--;
        }
    }
    cr_free(runs);
    cr_free(h);
}

/* own tells the next rows of the epoch, from `row` on, that this process gives out. Of a last
 * batch that is not full every process reads all rows, so that each of them knows its shape. */
static void own(const cr_loader *l, int64_t row, int64_t *from, int64_t *to) {
    int64_t total = l->rows_before[l->n_items];
    *from = row;
    *to = total;
    if (!l->split) return;
    for (int64_t b = row - (row - l->batch_base) % l->G; b + l->G <= total; b += l->G) {
        *from = b + l->G * l->o.share.first / l->o.share.of;
        *to = b + l->G * l->o.share.end / l->o.share.of;
        if (*to <= row) continue;
        if (*from < row) *from = row;
        return;
    }
    int64_t last = total - (total - l->batch_base) % l->G;
    *from = row > last ? row : last;
    *to = total;
}

/* whose fills in what a slot of item `k` stands for and what of it is read */
static void whose(cr_loader *l, cr_slot *s, int64_t k) {
    int64_t n = rows_of(l, k), first = l->rows_before[k], from, to;
    if (!l->exact) {
        s->n_read = n;
        return;
    }
    own(l, first + l->block_row, &from, &to);
    from -= first;
    to -= first;
    if (to > n) to = n;
    s->base = l->block_row;
    if (from >= n) { /* nothing more of this block */
        s->n_stands = n - s->base;
    } else {
        s->lead = from - s->base;
        s->n_read = to - from;
        s->n_stands = to - s->base;
    }
    l->block_row += s->n_stands;
    s->block_end = l->block_row == n;
    if (s->block_end) l->block_row = 0;
}

static void add_next(cr_loader *l) {
    cr_slot *s = cr_loader_slot(l);
    s->epoch = l->epoch;
    s->unit = l->item << 32;
    if (l->o.shuffle && l->order_epoch != l->epoch) {
        deal(l);
        l->order_epoch = l->epoch;
    }
    if (l->item >= l->n_items) {
        s->end = s->done = true;
        l->epoch++;
        l->item = l->run = l->batch_base = 0;
        l->cut_over = l->o.n_epochs > 0 && l->epoch >= l->o.n_epochs;
        cr_loader_queue(l, s);
        return;
    }
    int64_t k = l->o.shuffle ? l->order[l->item] : l->item;
    whose(l, s, k);
    while (!l->o.shuffle && l->runs[l->run + 1] <= k)
        l->run++;
    s->hand = l->o.shuffle ? l->hand_of[l->item] : (int)(l->run % l->n_hands);
    s->file = cr_loader_file_of(l, k);
    s->block = k - l->first_item[s->file];
    s->first_row = l->rows_before[k] - l->rows_before[l->first_item[s->file]] + s->base + s->lead;
    s->done = s->n_read == 0;
    if (s->block_end) l->item++;
    s->next_unit = l->item << 32;
    cr_loader_queue(l, s);
}

bool cr_rows_feed(cr_loader *l) {
    bool added = false;
    int most = l->o.shuffle ? l->n_threads + l->n_hands : MAX_SLOTS;
    while (!l->cut_over && !l->plan_over && l->n_pending < most && l->queued < l->max_queued) {
        add_next(l);
        added = true;
    }
    return added;
}

cr_slot *cr_rows_pick(cr_loader *l) {
    if (l->seq_over || l->plan_over || l->closed_rows + l->open_rows >= l->W + 2 * l->G)
        return NULL;
    for (cr_slot *s = l->head; s; s = s->next) {
        if (s->started || s->done || l->busy[s->hand]) continue;
        s->started = l->busy[s->hand] = true;
        return s;
    }
    return NULL;
}
