/*
 * slot.c - the queue of slots, and the spare ones, whose memory the next blocks use again.
 */
#include "data/load/slot.h"

#include <string.h>

void cr_tally_add(cr_tally *to, const void *from, const cr_loader_opts *o) {
    if (!to->sum) to->sum = cr_alloc(o->tally_size, "counts of rows");
    if (to->any)
        o->tally_add(to->sum, from, o->tally_size);
    else
        memcpy(to->sum, from, o->tally_size);
    to->any = true;
}

cr_slot *cr_slots_new(cr_slots *q) {
    cr_slot *s = q->spare;
    if (s)
        q->spare = s->next;
    else
        s = cr_alloc(sizeof(*s), "a block of rows");
    s->next = NULL;
    s->done = s->end = s->started = s->of_all = s->tally.any = false;
    s->base = s->lead = 0;
    s->n_stands = s->first_row = -1;
    s->block_end = true;
    s->rows.n_rows = s->n_read = s->n_bad = s->n_bad_kept = 0;
    s->code = CR_OK;
    return s;
}

void cr_slots_push(cr_slots *q, cr_slot *s) {
    if (q->tail)
        q->tail->next = s;
    else
        q->head = s;
    q->tail = s;
    q->n++;
    q->rows += s->n_read;
}

cr_slot *cr_slots_pop(cr_slots *q) {
    cr_slot *s = q->head;
    q->head = s->next;
    if (!q->head) q->tail = NULL;
    q->n--;
    q->rows -= s->n_read;
    return s;
}

void cr_slots_drop(cr_slots *q, cr_slot *s) {
    s->next = q->spare;
    q->spare = s;
}

static void clear_list(cr_slot *s) {
    while (s) {
        cr_slot *next = s->next;
        cr_region_clear(&s->mem);
        cr_arena_clear(&s->arena);
        cr_free(s->tally.sum);
        cr_free(s->bad);
        cr_free(s);
        s = next;
    }
}

void cr_slots_clear(cr_slots *q) {
    clear_list(q->head);
    clear_list(q->spare);
    *q = (cr_slots){0};
}
