/*
 * grow_state.c - the ids of a growing table as a checkpoint keeps them: in the arrays of a map of
 * zch (zch.h), so that tables of both kinds can begin from each other. Rows are numbered by their
 * keys, which is an order that no number of holders changes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "emb/grow_int.h"

#define DIGIT 11 /* bits of a pass of the sort */

static const char what[] = "the ids of a growing table";

/* What a holder tells of a row, or of an id that waits. */
typedef struct told {
    int64_t id;
    uint32_t count, last;
} told;

/* ---- saving ---- */

typedef struct keyed {
    int64_t key, row;
} keyed;
typedef struct keyed_list {
    keyed *v;
    int64_t n;
} keyed_list;

/* Slots are in the order of keys but for neighbours, so each key moves a few places at most. */
static void insert_key(void *ctx, uint64_t key, int64_t row) {
    keyed_list *l = ctx;
    int64_t i = l->n++;
    for (; i > 0 && l->v[i - 1].key > (int64_t)key; i--)
        l->v[i] = l->v[i - 1];
    l->v[i] = (keyed){(int64_t)key, row};
}

/* Lists the rows of a shard by their keys. */
static cr_code put_in_order(cr_grow *g, told *out, cr_err *err) {
    void *p, *order;
    CR_TRY(cr_try_alloc(&p, cr_bytes(g->map.n + 1, sizeof(keyed)), what, err));
    keyed_list l = {.v = p};
    cr_code code = cr_try_alloc(&order, cr_bytes(g->map.n + 1, sizeof(int64_t)), what, err);
    if (code == CR_OK) {
        cr_keymap_range(&g->map, 0, CR_KEYS, insert_key, &l);
        cr_grow_saved(g);
        g->order = order;
        g->n_order = l.n;
    }
    for (int64_t i = 0; code == CR_OK && i < l.n; i++) {
        g->order[i] = l.v[i].row;
        out[i] = (told){.id = cr_key_id(l.v[i].key)};
        if (g->brief) { /* whether it has its second part decides its memory: see take_in */
            out[i].count = cr_brief_shows(g, l.v[i].row);
            out[i].last = l.v[i].row < GROW_BRIEF;
        }
        if (!g->notes) continue;
        out[i].count = grow_note_of(g, l.v[i].row)->count;
        out[i].last = grow_note_of(g, l.v[i].row)->last;
    }
    cr_free(p);
    return code;
}

/* Collective: all holders learn what each has, in pieces of `size` bytes. n is the number of this
 * holder's; first[h] becomes the place of holder h's, first[holders] the number of all. */
static cr_code gather(const cr_meet *meet, void **v, size_t size, int64_t n, int64_t *first,
                      cr_err *err) {
    first[0] = 0;
    first[1] = n;
    if (!meet) return CR_OK;
    size_t *at = cr_alloc((size_t)(meet->n + 1) * sizeof(*at), what);
    int64_t *counts = cr_alloc((size_t)meet->n * sizeof(*counts), what);
    for (int h = 0; h <= meet->n; h++)
        at[h] = (size_t)h * sizeof(*counts);
    counts[meet->self] = n;
    meet->gather(meet->ctx, counts, at);
    for (int h = 0; h < meet->n; h++)
        first[h + 1] = first[h] + counts[h];
    for (int h = 0; h <= meet->n; h++)
        at[h] = cr_bytes(first[h], size);
    void *all;
    cr_code code = cr_try_alloc(&all, cr_bytes(first[meet->n] + 1, size), what, err);
    if (code == CR_OK) {
        if (n > 0) memcpy((char *)all + at[meet->self], *v, cr_bytes(n, size));
        meet->gather(meet->ctx, all, at);
        cr_free(*v);
        *v = all;
    }
    cr_free(counts);
    cr_free(at);
    return code;
}

/* Sorts the numbers of n things by their ids, which are not negative. */
static cr_code sort_by_id(const told *v, int64_t n, int64_t *order, cr_err *err) {
    void *p;
    CR_TRY(cr_try_alloc(&p, cr_bytes(n + 1, sizeof(int64_t)), what, err));
    int64_t *from = order, *to = p;
    for (int64_t i = 0; i < n; i++)
        from[i] = i;
    for (int shift = 0; shift < 63; shift += DIGIT) {
        int64_t at[1 << DIGIT] = {0}, sum = 0;
        const int64_t mask = (1 << DIGIT) - 1;
        for (int64_t i = 0; i < n; i++)
            at[v[i].id >> shift & mask]++;
        if (at[0] == n) continue;
        for (int64_t k = 0; k <= mask; k++) {
            int64_t c = at[k];
            at[k] = sum;
            sum += c;
        }
        for (int64_t i = 0; i < n; i++)
            to[at[v[from[i]].id >> shift & mask]++] = from[i];
        int64_t *t = from;
        from = to;
        to = t;
    }
    if (from != order) memcpy(order, from, cr_bytes(n, sizeof(int64_t)));
    cr_free(p);
    return CR_OK;
}

/* Writes the rows to the state, by id. */
static cr_code save_rows(const told *v, int64_t n, cr_zch_rows *to, cr_err *err) {
    CR_TRY(sort_by_id(v, n, to->row, err));
    for (int64_t i = 0; i < n; i++) {
        const told *t = &v[to->row[i]];
        to->id[i] = t->id;
        to->count[i] = t->count;
        to->last[i] = t->last;
    }
    to->id[n] = INT64_MAX;
    to->row[n] = n;
    to->count[n] = to->last[n] = 0;
    return CR_OK;
}

static cr_code save_waits(const told *v, int64_t n, cr_zch_seen *to, cr_err *err) {
    CR_TRY(sort_by_id(v, n, to->id, err));
    for (int64_t i = 0; i < n; i++) {
        const told *t = &v[to->id[i]];
        to->count[i] = t->count;
        to->last[i] = t->last;
        to->id[i] = t->id;
    }
    return CR_OK;
}

/* Saves the days and the sketch. The shard with the first keys tells the days, which all know. */
static cr_code save_kept(const cr_grow *g, const cr_meet *meet, cr_zch_state *out, int64_t *first,
                         cr_err *err) {
    void *p;
    bool keeps = g && cr_grow_keeps(&g->rules), tells = keeps && g->key0 == 0;
    int64_t days = tells ? 1 + 2 * g->n_days : 0,
            words = keeps ? g->sketch.n * cr_sketch_words(&g->sketch) : 0;
    CR_TRY(cr_try_alloc(&p, cr_bytes(days + words + 1, sizeof(int64_t)), what, err));
    int64_t *v = p;
    if (tells) v[0] = g->n_days;
    for (int64_t i = 0; tells && i < g->n_days; i++) {
        v[1 + 2 * i] = g->days[i].day;
        v[2 + 2 * i] = g->days[i].step;
    }
    if (words > 0) memcpy(v + days, g->sketch.words, (size_t)words * sizeof(*v));
    cr_code code = gather(meet, &p, sizeof(int64_t), days + words, first, err);
    int64_t all = first[meet ? meet->n : 1];
    if (code == CR_OK && all > 0) code = cr_zch_room_kept(all, out, err);
    if (code == CR_OK && all > 0) memcpy(out->kept, p, (size_t)all * sizeof(*v));
    cr_free(p);
    return code;
}

cr_code cr_grow_save(cr_grow *g, const cr_meet *meet, cr_zch_state *out, int64_t *rows,
                     cr_err *err) {
    int holders = meet ? meet->n : 1, self = meet ? meet->self : 0;
    int64_t n_rows = g ? g->map.n : 0, n_waits = g ? g->n_waits : 0;
    int64_t *first = cr_alloc((size_t)(holders + 1) * sizeof(*first), what);
    void *p = NULL, *w = NULL;
    cr_code code = cr_try_alloc(&p, cr_bytes(n_rows + 1, sizeof(told)), what, err);
    if (code == CR_OK) code = cr_try_alloc(&w, cr_bytes(n_waits + 1, sizeof(told)), what, err);
    if (code == CR_OK && g) code = put_in_order(g, p, err);
    for (int64_t i = 0; code == CR_OK && i < n_waits; i++) {
        const grow_wait *from = &g->waits[i];
        ((told *)w)[i] = (told){cr_key_id(from->key), from->count, from->last};
    }
    if (code == CR_OK) code = gather(meet, &p, sizeof(told), n_rows, rows, err);
    if (code == CR_OK) code = gather(meet, &w, sizeof(told), n_waits, first, err);
    if (code == CR_OK && g) g->first = rows[self];
    if (code == CR_OK) code = cr_zch_room(rows[holders] + 1, first[holders], out, err);
    if (code == CR_OK) code = save_rows(p, rows[holders], &out->rows, err);
    if (code == CR_OK) code = save_waits(w, first[holders], &out->seen, err);
    if (code == CR_OK) code = save_kept(g, meet, out, first, err);
    cr_free(p);
    cr_free(w);
    cr_free(first);
    return code;
}

void cr_grow_saved(cr_grow *g) {
    cr_free(g->order);
    g->order = NULL;
    g->n_order = g->first = 0;
}

/* ---- loading ---- */

static cr_code wrong(const cr_grow *g, const char *why, cr_err *err) {
    return cr_fail(err, CR_EDATA, "the ids of table %s are damaged: %s; use another checkpoint",
                   g->spec.name, why);
}

static bool is_here(const cr_grow *g, int64_t key) {
    return key >= g->key0 && key < g->key_end;
}

enum { NO_ID = -1, ELSEWHERE = -2 }; /* of g->order: a row of no id so far; of another shard's id */

/* Makes the row of an id that has row number i of the state. */
static cr_code take_in(cr_grow *g, int64_t id, int64_t i, int64_t count, int64_t last,
                       cr_err *err) {
    int64_t key = cr_key_of(id), row;
    if (!is_here(g, key)) {
        g->order[i] = ELSEWHERE;
        return CR_OK;
    }
    CR_TRY(g->brief ? cr_brief_add(g, key, last == 0, &row, err)
                    : cr_grow_new_row(g, key, &row, err));
    if (g->notes)
        *grow_note_of(g, row) =
            (grow_note){count > UINT32_MAX ? UINT32_MAX : (uint32_t)count, (uint32_t)last};
    g->order[i] = key; /* the row follows when it is known who stays */
    return CR_OK;
}

static cr_code load_rows(cr_grow *g, const cr_zch_state *s, cr_err *err) {
    const cr_zch_rows *r = &s->rows;
    for (int64_t i = 0; i < s->size && r->id[i] != INT64_MAX; i++) {
        if (r->id[i] < 0 || (i > 0 && r->id[i] <= r->id[i - 1]))
            return wrong(g, "they do not ascend", err);
        if (r->row[i] < 0 || r->row[i] >= s->size || g->order[r->row[i]] != NO_ID)
            return wrong(g, "a row is not one of its own", err);
        if (r->count[i] < 0 || r->last[i] < 0 || r->last[i] > UINT32_MAX)
            return wrong(g, "a count is not one", err);
        CR_TRY(take_in(g, r->id[i], r->row[i], r->count[i], r->last[i], err));
    }
    return CR_OK;
}

/* Takes the days and the sketch; false: there is no sketch of this size. */
static cr_code load_kept(cr_grow *g, const cr_zch_state *s, bool *counts, cr_err *err) {
    const int64_t *v = s->kept;
    *counts = false;
    if (s->n_kept == 0) return CR_OK;
    int64_t n = v[0];
    if (n < 0 || n > (s->n_kept - 1) / 2) return wrong(g, "their days are cut off", err);
    for (int64_t i = 1; i < n; i++)
        if (v[1 + 2 * i] <= v[2 * i - 1] || v[2 + 2 * i] < v[2 * i])
            return wrong(g, "their days do not ascend", err);
    if (g->rules.unseen_days > 0 && n > 0) {
        void *p = g->days;
        cr_code code = cr_grow_room(&p, &g->cap_days, n, sizeof(grow_day), err);
        g->days = p;
        CR_TRY(code);
        g->n_days = n;
        for (int64_t i = 0; i < n; i++)
            g->days[i] = (grow_day){v[1 + 2 * i], v[2 + 2 * i]};
        g->today = g->days[n - 1].day;
    }
    int64_t words = s->n_kept - 1 - 2 * n;
    if (g->sketch.words) *counts = cr_sketch_load(&g->sketch, v + 1 + 2 * n, words);
    if (g->sketch.words && words > 0 && !*counts)
        CR_WARN("table %s: the ids that wait were counted in a sketch of another size; their "
                "counts begin anew",
                g->spec.name);
    return CR_OK;
}

/* Takes the counts of ids that wait. */
static cr_code load_waits(cr_grow *g, const cr_zch_seen *s, bool counted, cr_err *err) {
    for (int64_t i = 0; g->rules.admit > 1 && i < s->n; i++) {
        if (s->id[i] < 0 || (i > 0 && s->id[i] <= s->id[i - 1]))
            return wrong(g, "those that wait do not ascend", err);
        if (s->count[i] < 0 || s->last[i] < 0 || s->last[i] > UINT32_MAX)
            return wrong(g, "a count of those that wait is not one", err);
        int64_t key = cr_key_of(s->id[i]);
        uint32_t count = s->count[i] > UINT32_MAX ? UINT32_MAX : (uint32_t)s->count[i], sum;
        if (!is_here(g, key) || cr_keymap_find(&g->map, (uint64_t)key) >= 0) continue;
        if (!g->sketch.words)
            CR_TRY(cr_grow_wait(g, key, count, (uint32_t)s->last[i], &sum, err));
        else if (!counted)
            (void)cr_sketch_add(&g->sketch, cr_grow_part(g, key), key, count / grow_unit(g));
    }
    return CR_OK;
}

cr_code cr_grow_load(cr_grow *g, const cr_zch_state *s, int64_t n, cr_err *err) {
    void *p;
    bool counted;
    if (s->size > 0 && s->size != n) return wrong(g, "there is another number of rows", err);
    if (s->steps[0] < 0) return wrong(g, "their steps are not those of a training", err);
    CR_TRY(cr_try_alloc(&p, cr_bytes(n + 1, sizeof(int64_t)), what, err));
    cr_grow_saved(g);
    g->order = p;
    g->n_order = n;
    for (int64_t i = 0; i < n; i++)
        g->order[i] = NO_ID;
    g->now = s->steps[0];
    if (s->size > 0) CR_TRY(load_rows(g, s, err));
    for (int64_t i = 0; s->size == 0 && i < n; i++)
        CR_TRY(take_in(g, i, i, 0, 0, err));
    CR_TRY(cr_grow_thin(g, err));
    for (int64_t i = 0; i < n; i++)
        if (g->order[i] >= 0) g->order[i] = cr_keymap_find(&g->map, (uint64_t)g->order[i]);
    CR_TRY(load_kept(g, s, &counted, err));
    return load_waits(g, &s->seen, counted, err);
}
