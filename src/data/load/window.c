/*
 * window.c - the queue of windows, and the spare ones.
 */
#include "data/load/window.h"

cr_window *cr_windows_new(cr_windows *q, cr_window_kind kind) {
    cr_window *w = q->spare;
    if (w)
        q->spare = w->next;
    else
        w = cr_alloc(sizeof(*w), "a window of rows");
    cr_window keep = *w;
    *w = (cr_window){.kind = kind,
                     .slots = keep.slots,
                     .srcs = keep.srcs,
                     .recs = keep.recs,
                     .cap_slots = keep.cap_slots,
                     .refs = keep.refs,
                     .cap_refs = keep.cap_refs,
                     .tally.sum = keep.tally.sum};
    return w;
}

void cr_window_add(cr_window *w, cr_slot *s) {
    if (w->n_slots == w->cap_slots) {
        size_t old = (size_t)w->cap_slots, cap = old ? 2 * old : 8;
        w->slots = cr_realloc(w->slots, old * sizeof(*w->slots), cap * sizeof(*w->slots),
                              "a window of rows");
        w->srcs =
            cr_realloc(w->srcs, old * sizeof(*w->srcs), cap * sizeof(*w->srcs), "a window of rows");
        w->recs =
            cr_realloc(w->recs, old * sizeof(*w->recs), cap * sizeof(*w->recs), "a window of rows");
        w->cap_slots = (int)cap;
    }
    w->slots[w->n_slots] = s;
    w->recs[w->n_slots] = s->rec;
    w->srcs[w->n_slots++] = &s->rows;
}

void cr_windows_push(cr_windows *q, cr_window *w) {
    w->next = NULL;
    if (q->tail)
        q->tail->next = w;
    else
        q->head = w;
    q->tail = w;
    q->rows += w->n_rows - w->used;
}

void cr_windows_pop(cr_windows *q) {
    cr_window *w = q->head;
    q->head = w->next;
    if (!q->head) q->tail = NULL;
    w->popped = true;
    if (w->readers == 0) cr_windows_drop(q, w);
}

void cr_windows_drop(cr_windows *q, cr_window *w) {
    for (int i = 0; i < w->n_slots; i++)
        cr_slots_drop(q->slots, w->slots[i]);
    w->n_slots = 0;
    w->next = q->spare;
    q->spare = w;
}

void cr_windows_release(cr_windows *q, cr_window *w) {
    if (--w->readers == 0 && w->popped) cr_windows_drop(q, w);
}

void cr_windows_clear(cr_windows *q) {
    while (q->head)
        cr_windows_pop(q);
    while (q->spare) {
        cr_window *w = q->spare;
        q->spare = w->next;
        cr_free(w->slots);
        cr_free(w->srcs);
        cr_free(w->recs);
        cr_free(w->refs);
        cr_free(w->tally.sum);
        cr_free(w);
    }
}
