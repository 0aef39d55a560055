/*
 * cutter.c - decides which block comes next.
 *
 * Blocks come in the order of the epoch. With a shuffle that order is permuted, by a function of
 * the seed and the epoch alone. Slots are put into the queue in that order, no matter which worker
 * fills them.
 */
#include "data/load/cutter.h"

#include "data/load/shuffle.h"

/* The most slots in the queue, in file order; usually the rows are the limit. */
#define MAX_SLOTS 4096

cr_code cr_cutter_open(cr_cutter *c, const cr_items *in, cr_slots *out, const atomic_bool *stop,
                       cr_err *err) {
    *c = (cr_cutter){.in = in, .out = out, .stop = stop, .order_epoch = -1};
    void *p;
    CR_TRY(cr_try_alloc(&p, (size_t)(in->n + 1) * sizeof(int64_t), "the order of blocks", err));
    c->order = p;
    return cr_items_known(in) ? cr_hands_open(&c->hands, in, err) : CR_OK;
}

void cr_cutter_close(cr_cutter *c) {
    if (!c->in) return;
    cr_hands_close(&c->hands, c->in);
    cr_free(c->order);
}

cr_code cr_cutter_start(cr_cutter *c, int64_t *skip, cr_err *err) {
    const cr_data_pos *p = &c->in->o->start;
    c->epoch = p->epoch;
    c->item = p->unit >> 32;
    c->block = p->unit & 0xffffffff;
    *skip = p->row;
    if (p->epoch < 0 || p->unit < 0 || p->row < 0 || p->rows < p->row || p->bad_rows < 0 ||
        c->item > c->in->n)
        return cr_fail_at(
            err, CR_EDATA, ((cr_loc){c->in->o->paths, 0, 0}),
            "the saved position (block %lld) does not fit these files, which have %lld "
            "blocks; the files changed since the checkpoint was made",
            (long long)c->item, (long long)c->in->n);
    if (!c->hands.exact) return CR_OK;
    c->block = *skip = 0;
    return cr_hands_start(&c->hands, c->in, &c->item, err);
}

/* ---- what the reader is told beforehand ---- */

int cr_cutter_hints(cr_cutter *c, int64_t now, int64_t out[CR_CUTTER_HINTS]) {
    const cr_items *in = c->in;
    int n = 0;
    bool dealt = !cr_items_known(in) || in->o->shuffle; /* if not: file order */
    if (!in->reader->will_need || c->hands.split || (dealt && c->order_epoch != c->epoch)) return 0;
    if (c->hint_epoch != c->epoch + 1) {
        c->hint_epoch = c->epoch + 1; /* 0: none yet */
        c->hint = now;
    }
    for (; c->hint < in->n && c->hint < now + CR_CUTTER_HINTS && n < CR_CUTTER_HINTS; c->hint++)
        out[n++] = dealt ? c->order[c->hint] : c->hint;
    return n;
}

void cr_cutter_hint(const cr_cutter *c, const int64_t *items, int n) {
    const cr_items *in = c->in;
    for (int i = 0; i < n; i++) {
        int64_t file = cr_items_file(in, items[i]);
        if (!in->front[file]) in->reader->will_need(in->src, file, items[i] - in->first[file]);
    }
}

/* ---- blocks one after the other ---- */

/* skip_front goes to the block that a run starts with, in a file that can only be read from its
 * beginning. */
static cr_code skip_front(cr_cutter *c, int64_t file, cr_raw *raw, cr_err *err) {
    const cr_items *in = c->in;
    bool end = false;
    for (int64_t b = 0; b < c->block && !end; b++) {
        if (atomic_load(c->stop)) return cr_fail(err, CR_ESTOP, "stopped");
        CR_TRY(in->reader->cut(in->src, file, b, raw, &end, err));
    }
    if (!end) return CR_OK;
    return cr_fail_at(err, CR_EDATA, ((cr_loc){in->reader->path(in->src, file), 0, 0}),
                      "the file is shorter than the saved position; the files changed since the "
                      "checkpoint was made");
}

/* end_epoch makes s the end of the epoch; true: it was the last one. */
static bool end_epoch(cr_cutter *c, cr_slot *s) {
    int64_t n_epochs = c->in->o->n_epochs;
    s->end = true;
    c->epoch++;
    c->item = c->block = 0;
    return n_epochs > 0 && c->epoch >= n_epochs;
}

bool cr_cutter_next(cr_cutter *c, cr_raw *raw, cr_slot *s) {
    const cr_items *in = c->in;
    for (;;) {
        s->epoch = c->epoch;
        if (c->order_epoch != c->epoch) {
            cr_shuffle_items(c->order, in->n, in->o->shuffle, in->o->seed, c->epoch);
            c->order_epoch = c->epoch;
        }
        s->unit = c->item << 32 | c->block;
        if (c->item >= in->n) return end_epoch(c, s);
        int64_t hints[CR_CUTTER_HINTS];
        cr_cutter_hint(c, hints, cr_cutter_hints(c, c->item, hints));
        int64_t item = c->order[c->item], file = cr_items_file(in, item);
        bool front = in->front[file], end = false;
        if (front && !c->front_begun && c->block > 0 && !in->reader->stream)
            s->code = skip_front(c, file, raw, &s->err);
        c->front_begun = front;
        if (s->code == CR_OK)
            s->code = in->reader->cut(in->src, file, front ? c->block : item - in->first[file], raw,
                                      &end, &s->err);
        if (s->code != CR_OK) return true;
        if (front && !end) {
            c->block++;
        } else {
            c->item++;
            c->block = 0;
            c->front_begun = false;
        }
        if (front && end) continue;
        s->next_unit = c->item << 32 | c->block;
        s->file = file;
        s->offset = raw->offset;
        s->first_line = raw->first_line;
        return false;
    }
}

/* ---- blocks whose rows are known ---- */

static void add_next(cr_cutter *c) {
    const cr_items *in = c->in;
    cr_hands *h = &c->hands;
    cr_slot *s = cr_slots_new(c->out);
    s->epoch = c->epoch;
    s->unit = c->item << 32;
    if (in->o->shuffle && c->order_epoch != c->epoch) {
        cr_hands_deal(h, in, c->epoch, c->order);
        c->order_epoch = c->epoch;
    }
    if (c->item >= in->n) {
        c->over = end_epoch(c, s);
        h->run = h->batch_base = 0;
        s->done = true;
        cr_slots_push(c->out, s);
        return;
    }
    int64_t k = in->o->shuffle ? c->order[c->item] : c->item;
    cr_hands_share(h, in, k, s);
    while (!in->o->shuffle && h->runs[h->run + 1] <= k)
        h->run++;
    s->hand = in->o->shuffle ? h->hand_of[c->item] : (int)(h->run % h->n_hands);
    s->file = cr_items_file(in, k);
    s->block = k - in->first[s->file];
    s->first_row = h->before[k] - h->before[in->first[s->file]] + s->base + s->lead;
    s->done = s->n_read == 0;
    if (s->block_end) c->item++;
    s->next_unit = c->item << 32;
    cr_slots_push(c->out, s);
}

bool cr_cutter_feed(cr_cutter *c, int n_threads) {
    bool added = false;
    int most = c->in->o->shuffle ? n_threads + c->hands.n_hands : MAX_SLOTS;
    while (!c->over && c->out->n < most && c->out->rows < c->hands.max_queued) {
        add_next(c);
        added = true;
    }
    return added;
}

cr_slot *cr_cutter_pick(cr_cutter *c) {
    for (cr_slot *s = c->out->head; s; s = s->next) {
        if (s->started || s->done || c->hands.busy[s->hand]) continue;
        s->started = c->hands.busy[s->hand] = true;
        return s;
    }
    return NULL;
}
