/*
 * grow.c - see grow.h. The records are a table that gets more memory a piece at a time, without
 * being copied (stretch.h). So records and rules are those of every table, and lookups read rows
 * where they lie. Row 0 belongs to all ids without a row, and never learns.
 *
 * The rows of a batch's keys are searched once, when they are fetched; the gradients that follow
 * name the same keys, at the same place in memory where one process has the whole batch.
 */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "emb/grow_int.h"

#define PIECE_BYTES ((int64_t)32 << 20) /* memory that records get at a time, at most */
#define MIN_ROWS    64
#define SOME        64   /* keys that are searched at a time */
#define PIECE       1024 /* keys that a thread takes at a time */
#define AHEAD       32   /* rows whose notes are fetched early */
#define TOUCH_AHEAD                                                                                \
    ((size_t)256 << 10) /* bytes of an array that are left when the next page is touched */

static float *record_of(const cr_grow *g, int64_t row) {
    return g->brief ? cr_brief_record(g, row) : cr_table_row(&g->rows, row);
}

cr_code cr_grow_room(void **p, int64_t *cap, int64_t n, size_t size, cr_err *err) {
    if (n <= *cap) return CR_OK;
    int64_t more = cr_add_i64(n, n / 4 + 64);
    void *q;
    CR_TRY(cr_try_alloc(&q, cr_bytes(more, size), "keys of a growing table", err));
    if (*cap > 0) memcpy(q, *p, cr_bytes(*cap, size));
    cr_free(*p);
    *p = q;
    *cap = more;
    return CR_OK;
}

/* ---- what is kept ---- */

static bool keeps_notes(const cr_grow_rules *r) {
    return r->counts || r->evict != CR_EVICT_NONE || r->interval > 0;
}

bool cr_grow_counts(const cr_grow_rules *r) {
    return keeps_notes(r) || r->admit > 1;
}

bool cr_grow_keeps(const cr_grow_rules *r) {
    return (r->admit > 1 && r->cells > 0) || r->unseen_days > 0;
}

bool cr_grow_due(const cr_grow *g) {
    return g->learns && g->learned != g->now;
}

/* ---- rows ---- */

cr_code cr_grow_extend(cr_table *t, cr_err *err) {
    int64_t bytes = t->size > (size_t)PIECE_BYTES ? PIECE_BYTES : (int64_t)t->size;
    int64_t rows = bytes / (t->stride * (int64_t)sizeof(float));
    return cr_table_extend(t, rows < MIN_ROWS ? MIN_ROWS : rows, err);
}

bool cr_grow_soon(size_t used, size_t size) {
    return used + TOUCH_AHEAD > size;
}

/* Makes room for one more row. */
static cr_code extend(cr_grow *g, cr_err *err) {
    int64_t n = g->n_made + 1;
    if (cr_grow_soon(grow_used(&g->rows, n), g->rows.size)) {
        cr_code code = cr_grow_extend(&g->rows, err);
        if (n > g->rows.n_rows) return code;
    }
    size_t noted = cr_bytes(n, sizeof(grow_note));
    if (keeps_notes(&g->rules) && cr_grow_soon(noted, g->notes_mem.size)) {
        cr_code code = cr_stretch_grow(&g->notes_mem, noted + TOUCH_AHEAD, g->spec.name, err);
        g->notes = (grow_note *)(void *)g->notes_mem.p;
        if (noted > g->notes_mem.size) return code;
    }
    return CR_OK;
}

void cr_grow_touch(cr_keymap *m, const grow_fresh *v, int n) {
    static const size_t ahead[] = {0, TOUCH_AHEAD};
    for (int k = 0; k < 2; k++) {
        if (cr_keymap_touch(m, ahead[k])) return;
        for (int i = 0; i < n; i++) {
            size_t need = v[i].used + ahead[k], at = *v[i].touched;
            if (need <= at || at >= v[i].size) continue;
            cr_touch(v[i].p + at);
            *v[i].touched += CR_BIG_STEP;
            return;
        }
    }
}

/* Finds a record for a new key: one that a dropped key had, or the next. */
static cr_code take_row(cr_grow *g, int64_t *row, cr_err *err) {
    int64_t most = g->brief ? GROW_BRIEF - 1 : CR_KEYMAP_ROWS;
    if (g->unused.n > 0) {
        *row = g->unused.row;
        return CR_OK;
    }
    if (g->n_made > most)
        return cr_fail(err, CR_ERUN,
                       "table %s is full: it has %lld rows in this process; use more ranks, or "
                       "limit its rows",
                       g->spec.name, (long long)g->n_made);
    CR_TRY(extend(g, err));
    *row = g->n_made;
    return CR_OK;
}

static void took_row(cr_grow *g) {
    if (g->unused.n > 0)
        grow_take_record(&g->rows, &g->unused);
    else
        g->n_made++;
}

/* Touches what one more row needs, and its key. */
static void touch(cr_grow *g) {
    int64_t n = g->n_made + 1;
    const grow_fresh v[] = {grow_fresh_rows(&g->rows, n, &g->rows_touched),
                            {g->notes_mem.p, g->notes_mem.size, (size_t)n * sizeof(grow_note),
                             &g->notes_touched}};
    cr_grow_touch(&g->map, v, g->notes ? 2 : 1);
}

cr_code cr_grow_take_row(cr_grow *g, int64_t *row, cr_err *err) {
    CR_TRY(take_row(g, row, err));
    took_row(g);
    touch(g);
    return CR_OK;
}

cr_code cr_grow_new_row(cr_grow *g, int64_t key, int64_t *row, cr_err *err) {
    if (g->brief) return cr_brief_add(g, key, true, row, err);
    CR_TRY(take_row(g, row, err));
    touch(g);
    CR_TRY(cr_keymap_add(&g->map, (uint64_t)key, *row, err));
    took_row(g);
    if (g->fill) g->fill[cr_grow_bucket(g, key)]++;
    if (g->notes) *grow_note_of(g, *row) = (grow_note){0, (uint32_t)g->now};
    cr_table_first(&g->rows, *row, cr_key_id(key), &g->init, g->seed);
    return CR_OK;
}

float *cr_grow_record(const cr_grow *g, int64_t key) {
    int64_t row = cr_keymap_find(&g->map, (uint64_t)key);
    return row < 0 ? NULL : record_of(g, row);
}

int64_t cr_grow_row(cr_grow *g, int64_t key, cr_table **table) {
    *table = &g->rows;
    return cr_keymap_find(&g->map, (uint64_t)key);
}

cr_code cr_grow_make(cr_grow *g, int64_t key, float **record, cr_err *err) {
    int64_t row = cr_keymap_find(&g->map, (uint64_t)key);
    if (row < 0) CR_TRY(cr_grow_new_row(g, key, &row, err));
    *record = record_of(g, row);
    return CR_OK;
}

bool cr_grow_drop(cr_grow *g, int64_t key) {
    int64_t row = cr_keymap_remove(&g->map, (uint64_t)key);
    if (row < 0) return false;
    if (g->fill) g->fill[cr_grow_bucket(g, key)]--;
    if (g->brief)
        cr_brief_drop(g, row);
    else
        grow_drop_record(&g->rows, &g->unused, row);
    return true;
}

float *cr_grow_at(cr_grow *g, int64_t row, cr_table **table, int64_t *at) {
    int64_t k = row - g->first;
    if (k < 0 || k >= g->n_order || g->order[k] < 0) return NULL;
    *table = &g->rows;
    *at = g->order[k];
    return record_of(g, g->order[k]);
}

/* ---- the ids of a pass ---- */

typedef struct passing {
    cr_grow *g;
    const int64_t *id;
    const uint32_t *seg;
    int64_t n;
    bool learns;
    int64_t *row;
    char *rows;
    size_t step;
} passing;

/* Finds the rows of some keys; 0: it has none. */
static void find_some(const cr_grow *g, const int64_t *id, int64_t n, int64_t *row) {
    cr_keymap_find_all(&g->map, id, n, row);
    for (int64_t i = 0; i < n; i++)
        row[i] = row[i] < 0 ? 0 : row[i];
}

/* Notes that ids were seen. The notes lie anywhere in memory, so they are fetched early. */
static void note_some(cr_grow *g, const int64_t *row, const uint32_t *seg, int64_t n) {
    for (int64_t i = 0; i < n + AHEAD; i++) {
        if (i < n) __builtin_prefetch(grow_note_of(g, row[i]), 1, 2);
        int64_t k = i - AHEAD;
        if (k < 0 || row[k] == 0) continue;
        grow_note *note = grow_note_of(g, row[k]);
        note->count = grow_add(note->count, grow_unit(g) * (seg ? seg[k + 1] - seg[k] : 1));
        note->last = (uint32_t)g->now;
    }
}

static void find_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    const passing *p = ctx;
    int64_t i = item * PIECE, n = p->n - i < PIECE ? p->n - i : PIECE;
    find_some(p->g, p->id + i, n, p->row + i);
    if (p->learns && p->g->notes) note_some(p->g, p->row + i, p->seg ? p->seg + i : NULL, n);
}

static int64_t pieces(int64_t n) {
    return (n + PIECE - 1) / PIECE;
}

/* Gives rows to all keys that have none. */
static cr_code make_all(cr_grow *g, const int64_t *id, const uint32_t *seg, int64_t n,
                        cr_err *err) {
    for (int64_t i = 0; i < n; i++) {
        if (g->row[i] > 0) continue;
        CR_TRY(cr_grow_new_row(g, id[i], &g->row[i], err));
        if (g->notes)
            grow_note_of(g, g->row[i])->count = grow_unit(g) * (seg ? seg[i + 1] - seg[i] : 1);
    }
    return CR_OK;
}

cr_code cr_grow_learn(cr_grow *g, const int64_t *id, const uint32_t *seg, int64_t n, cr_err *err) {
    void *room = g->row;
    g->learned = g->now;
    g->n_ids = 0;
    if (g->brief) CR_TRY(cr_brief_settle(g, err));
    cr_code code = cr_grow_room(&room, &g->cap_row, n, sizeof(int64_t), err);
    g->row = room;
    CR_TRY(code);
    passing p = {.g = g, .id = id, .seg = seg, .n = n, .learns = true, .row = g->row};
    cr_pool_run(g->pool, pieces(n), find_item, &p);
    CR_TRY(cr_grow_ruled(g) ? cr_grow_arrive(g, id, seg, n, g->row, err)
                            : make_all(g, id, seg, n, err));
    g->ids = id;
    g->n_ids = n;
    return CR_OK;
}

void cr_grow_copy(const cr_grow *g, const int64_t *id, int64_t n, char *rows, size_t step) {
    size_t bytes = (size_t)g->spec.D * (g->spec.half ? 2 : 4);
    for (int64_t i = 0; i < n; i += SOME) {
        int64_t row[SOME], some = n - i < SOME ? n - i : SOME;
        find_some(g, id + i, some, row);
        if (g->brief) {
            cr_brief_copy(g, row, some, rows + (size_t)i * step, step);
            continue;
        }
        for (int64_t k = 0; k < some; k++)
            cr_fetch(record_of(g, row[k]), (int64_t)bytes, g->learns);
        for (int64_t k = 0; k < some; k++)
            memcpy(rows + (size_t)(i + k) * step, record_of(g, row[k]), bytes);
    }
}

static void copy_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    const passing *p = ctx;
    int64_t i = item * PIECE, n = p->n - i < PIECE ? p->n - i : PIECE;
    cr_grow_copy(p->g, p->id + i, n, p->rows + (size_t)i * p->step, p->step);
}

static void note_counts(void *ctx, const uint32_t *seg, bool ahead) {
    cr_grow *g = ctx;
    if (g->learns && !ahead) g->seg = seg; /* else any number of callers may be here */
}

static cr_code fetch(void *ctx, const int64_t *id, int64_t n, float *rows, int64_t stride,
                     bool asked, cr_err *err) {
    cr_grow *g = ctx;
    (void)asked;
    /* several passes of a step have the same ids, which are learned once */
    if (cr_grow_due(g)) CR_TRY(cr_grow_learn(g, id, g->seg, n, err));
    passing p = {
        .g = g, .id = id, .n = n, .rows = (char *)rows, .step = (size_t)stride * sizeof(float)};
    cr_pool_run(g->pool, pieces(n), copy_item, &p);
    return CR_OK;
}

static cr_code find(void *ctx, const int64_t *id, int64_t n, int64_t *rows, cr_view *base,
                    cr_err *err) {
    cr_grow *g = ctx;
    if (cr_grow_due(g)) {
        CR_TRY(cr_grow_learn(g, id, g->seg, n, err));
        memcpy(rows, g->row, cr_bytes(n, sizeof(int64_t)));
    } else {
        cr_pool_run(g->pool, pieces(n), find_item,
                    &(passing){.g = g, .id = id, .n = n, .row = rows});
    }
    *base = cr_table_view(&g->rows, NULL); /* new rows may have moved the others */
    return CR_OK;
}

/* An id without a row keeps none: its gradient goes nowhere. */
static void take_one_by_one(const cr_grow *g, const cr_row_grads *r, const int64_t *row,
                            float *scratch) {
    for (int64_t k = 0; k < r->n; k++)
        if (row[k] > 0) cr_table_fetch(&g->rows, row[k]);
    for (int64_t k = 0; k < r->n; k++)
        if (row[k] > 0)
            cr_table_apply(&g->rows, row[k], cr_key_id(r->id[k]), r->step, r->g + k * g->spec.D,
                           scratch);
}

static void take_some(const cr_grow *g, const cr_row_grads *r, float *scratch) {
    const cr_optim_type *rule = g->rows.optim;
    int64_t at[SOME];
    const int64_t *row = at;
    size_t from = ((uintptr_t)r->id - (uintptr_t)g->ids) / sizeof(*r->id);
    bool known = (uintptr_t)r->id >= (uintptr_t)g->ids &&
                 from + (size_t)(r->n + r->more) <= (size_t)g->n_ids;
    if (known)
        row = g->row + from;
    else
        find_some(g, r->id, r->n, at);
    bool all = rule->rows && !g->spec.half;
    for (int64_t k = 0; all && k < r->n; k++)
        all = row[k] > 0;
    if (!all) {
        take_one_by_one(g, r, row, scratch);
        return;
    }
    cr_optim_rows rows = cr_table_rows(&g->rows, row, r->n, known ? r->more : 0, r->g);
    if (!known)
        for (int64_t k = 0; k < r->n; k++)
            cr_table_fetch(&g->rows, row[k]);
    rule->rows(g->rows.optim_conf, r->step, &rows);
}

static void take(void *ctx, const cr_row_grads *r, float *scratch) {
    const cr_grow *g = ctx;
    for (int64_t i = 0; i < r->n; i += SOME) {
        int64_t n = r->n - i < SOME ? r->n - i : SOME;
        cr_row_grads some = {.id = r->id + i,
                             .n = n,
                             .more = r->more + r->n - i - n,
                             .g = r->g + i * g->spec.D,
                             .step = r->step};
        take_some(g, &some, scratch);
    }
}

/* Sets the row of ids without one. */
static void set_absent(cr_grow *g) {
    float v = g->rules.absent[g->learns];
    for (int64_t d = 0; d < g->spec.D; d++)
        cr_table_put_part(&g->rows, 0, d, 1, &v);
}

cr_code cr_grow_step_to(cr_grow *g, int64_t step, cr_err *err) {
    g->learns = true;
    if (g->rules.absent[0] != g->rules.absent[1]) set_absent(g);
    CR_TRY(cr_grow_note_day(g, step > g->now ? step : g->now, err));
    while (g->now < step) {
        g->now++;
        if (g->rules.interval > 0) CR_TRY(cr_grow_look(g, err));
    }
    return CR_OK;
}

cr_code cr_grow_step(cr_grow *g, cr_err *err) {
    return cr_grow_step_to(g, g->now + 1, err);
}

void cr_grow_today(cr_grow *g, int64_t day) {
    if (day > g->today) g->today = day;
}

void cr_grow_set_steps(cr_grow *g, int64_t steps) {
    g->now = steps;
}

float *cr_grow_found(const cr_grow *g, int64_t i, bool *has) {
    CR_ASSERT(i < g->n_ids);
    *has = g->row[i] > 0;
    return record_of(g, g->row[i]);
}

void cr_grow_rest(cr_grow *g) {
    g->learns = false;
    g->n_ids = 0;
    if (g->rules.absent[0] != g->rules.absent[1]) set_absent(g);
}

/* ---- the table ---- */

cr_code cr_grow_new(cr_grow **out, const cr_grow_opts *o, cr_err *err) {
    cr_grow *g = cr_alloc(sizeof(*g), "a growing table");
    *g = (cr_grow){
        .spec = *o->spec, .init = *o->init, .seed = o->seed, .pool = o->pool, .today = INT64_MIN};
    if (o->rules) g->rules = *o->rules;
    cr_keymap_init_mixed(&g->map);
    cr_keymap_init_mixed(&g->waits_at);
    cr_code code = cr_grow_buckets(g, o->shard, err);
    cr_table_spec spec = *o->spec;
    if (g->rules.ctr.on) { /* its records are its own: the rules know nothing of them */
        spec.D = cr_ctr_floats(&g->rules.ctr, spec.D - CR_CTR_HEAD, false);
        spec.optim = NULL;
    }
    if (code == CR_OK) code = cr_table_open(&g->rows, &spec, err);
    if (code == CR_OK) code = extend(g, err);
    if (code != CR_OK) {
        cr_grow_free(g);
        return code;
    }
    g->n_made = 1;
    set_absent(g);
    for (int k = 0; k < 2; k++) /* the first pages of records and notes */
        touch(g);
    g->owner = (cr_owner){.ctx = g,
                          .grow = g,
                          .counts = note_counts,
                          .find = find,
                          .fetch = fetch,
                          .sink = {.ctx = g, .scratch = cr_table_scratch(&g->rows), .take = take}};
    if (g->rules.ctr.on && cr_brief_open(g, err) != CR_OK) {
        cr_grow_free(g);
        return CR_ENOMEM;
    }
    *out = g;
    return CR_OK;
}

void cr_grow_free(cr_grow *g) {
    if (!g) return;
    cr_table_clear(&g->rows);
    cr_stretch_clear(&g->notes_mem);
    cr_stretch_clear(&g->waits_mem);
    cr_keymap_clear(&g->map);
    cr_keymap_clear(&g->waits_at);
    cr_free(g->fill);
    cr_free(g->waiting);
    cr_free(g->days);
    cr_sketch_clear(&g->sketch);
    cr_free(g->cand);
    cr_free(g->out);
    cr_free(g->row);
    cr_free(g->order);
    cr_brief_clear(g);
    cr_free(g);
}

const cr_owner *cr_grow_owner(const cr_grow *g) {
    return &g->owner;
}

int64_t cr_grow_rows(const cr_grow *g) {
    return g->map.n;
}

int64_t cr_grow_bytes(const cr_grow *g) {
    int64_t row =
        g->rows.stride * (int64_t)sizeof(float) + (g->notes ? (int64_t)sizeof(grow_note) : 0);
    return g->n_made * row + cr_keymap_bytes(&g->map) + cr_keymap_bytes(&g->waits_at) +
           (int64_t)g->waits_touched + cr_sketch_bytes(&g->sketch) +
           (g->brief ? cr_brief_bytes(g) : 0);
}

int64_t cr_grow_row_bytes(const cr_grow_rules *r) {
    return 16 + (keeps_notes(r) ? (int64_t)sizeof(grow_note) : 0);
}
