/*
 * views.c - see views.h. The grouping of a batch (group.h) answers both questions: its distinct ids
 * are the rows to fetch, and each of its entries knows the id that it stands for.
 */
#include "emb/views.h"

#include <string.h>

#include "base/room.h"
#include "emb/owner.h"

/* The rewritten ids of one group; those of slot k of the group begin at at[k]. */
typedef struct rewritten {
    void *mem; /* int64_t */
    int64_t n, cap;
    int64_t *at;
    const cr_group *g; /* the group of this batch */
    bool used;         /* by a table whose rows are copied */
} rewritten;

typedef struct staged {
    const cr_table *t;
    int group;
    void *rows;  /* records, or the numbers of those of an owner that finds them */
    int64_t cap; /* how many there is room for */
    int64_t stride;
    int64_t *ids, cap_ids; /* by entry: the number of its record, where the owner finds them */
    cr_view found;
} staged;

typedef struct use {
    int table, slot; /* slot: index into the group's slots */
    int view;
} use;

struct cr_views {
    cr_pool *pool;
    cr_lanes lanes; /* one lane: the order of sums does not matter here */
    cr_groups groups;
    cr_group_room *rooms; /* per thread */
    rewritten *again;     /* by group */
    int n_again;
    staged *tables;
    int n_tables;
    use *uses;
    int n_uses;
    cr_view *views;
    bool asked; /* the ids of the next batch travel already */
    /* the batch that is being staged */
    cr_batch batch;
    const int32_t *const *axes;
};

cr_views *cr_views_new(int n_views, cr_pool *pool) {
    cr_views *s = cr_alloc(sizeof(*s), "staged rows");
    s->pool = pool;
    s->rooms = cr_alloc((size_t)cr_pool_threads(pool) * sizeof(*s->rooms), "staged rows");
    s->views = cr_alloc((size_t)(n_views + 1) * sizeof(cr_view), "staged rows");
    cr_lanes_init(&s->lanes, 1, NULL, NULL);
    return s;
}

void cr_views_free(cr_views *s) {
    if (!s) return;
    for (int i = 0; i < s->n_again; i++) {
        cr_free(s->again[i].mem);
        cr_free(s->again[i].at);
    }
    for (int i = 0; i < s->n_tables; i++) {
        cr_free(s->tables[i].rows);
        cr_free(s->tables[i].ids);
    }
    cr_groups_clear(&s->groups);
    for (int i = 0; i < cr_pool_threads(s->pool); i++)
        cr_group_room_clear(&s->rooms[i]);
    cr_free(s->rooms);
    cr_free(s->again);
    cr_free(s->tables);
    cr_free(s->uses);
    cr_free(s->views);
    cr_free(s);
}

/* Returns v with room for one more element, zeroed, behind its n. */
static void *longer(void *v, int n, size_t size) {
    return cr_realloc(v, (size_t)n * size, (size_t)(n + 1) * size, "staged rows");
}

void cr_views_add(cr_views *s, const cr_table *t, const cr_group_slot *slots, const int *view,
                  int n) {
    cr_group_slot *own = cr_alloc((size_t)n * sizeof(*own), "staged rows"); /* every slot once */
    int n_own = 0;
    for (int k = 0; k < n; k++) {
        int i = 0;
        while (i < n_own && (own[i].slot != slots[k].slot || own[i].seq != slots[k].seq))
            i++;
        if (i == n_own) own[n_own++] = slots[k];
        s->uses = longer(s->uses, s->n_uses, sizeof(use));
        s->uses[s->n_uses++] = (use){s->n_tables, i, view[k]};
    }
    int group = cr_groups_find(&s->groups, own, n_own);
    if (group == s->n_again) {
        s->again = longer(s->again, s->n_again, sizeof(rewritten));
        s->again[s->n_again++] =
            (rewritten){.at = cr_alloc((size_t)n_own * sizeof(int64_t), "staged rows")};
    }
    s->again[group].used |= !t->owner->find;
    s->tables = longer(s->tables, s->n_tables, sizeof(staged));
    /* records begin at multiples of 16 bytes, as those of tables in memory do for most widths */
    s->tables[s->n_tables++] =
        (staged){.t = t, .group = group, .stride = (t->n_weights + 3) / 4 * 4};
    cr_free(own);
}

static const char what[] = "rows of a batch";

static cr_code fit(cr_views *s, int group, cr_err *err) {
    cr_group *g = &s->groups.v[group];
    rewritten *a = &s->again[group];
    a->n = 0;
    for (int k = 0; k < g->n_slots; k++) {
        a->at[k] = a->n;
        a->n += cr_group_ids(&s->batch, g->slots[k].slot);
    }
    if (a->used) CR_TRY(cr_try_room(&a->mem, &a->cap, a->n, sizeof(int64_t), false, what, err));
    return a->g == g ? cr_group_fit(g, s->rooms, cr_pool_threads(s->pool), &s->batch, err) : CR_OK;
}

/* Writes the number of its record for each id: that of its distinct id, or row[] of that. Ids of
 * steps that lie on no axis are in no group. Nothing reads their rows, but lookups prefetch them,
 * so their number must be valid: it is 0. */
static void rewrite(const rewritten *a, const int64_t *row, int64_t *ids) {
    const cr_group *g = a->g;
    if (g->n < a->n) memset(ids, 0, (size_t)a->n * sizeof(int64_t));
    for (int64_t u = 0; u < g->n_uniq; u++) {
        int64_t number = row ? row[u] : u;
        for (uint32_t i = g->seg[u]; i < g->seg[u + 1]; i++)
            ids[a->at[cr_entry_slot(g->entry[i])] + (g->pos ? g->pos[i] : g->entry[i].row)] =
                number;
    }
}

static void group_item(void *ctx, int64_t item, int thread) {
    cr_views *s = ctx;
    rewritten *a = &s->again[item];
    if (a->g == &s->groups.v[item])
        cr_group_run(&s->groups.v[item], &s->rooms[thread], &s->batch, s->axes, &s->lanes);
    if (a->used) rewrite(a, NULL, a->mem);
}

/* Lets an owner find the records of a batch, which stay where they are. */
static cr_code find_rows(cr_views *s, staged *t, cr_err *err) {
    const cr_owner *o = t->t->owner;
    const rewritten *a = &s->again[t->group];
    void *ids = t->ids;
    CR_TRY(cr_try_room(&t->rows, &t->cap, a->g->n_uniq, sizeof(int64_t), false, what, err));
    cr_code code = cr_try_room(&ids, &t->cap_ids, a->n, sizeof(int64_t), false, what, err);
    t->ids = ids;
    CR_TRY(code);
    CR_TRY(o->find(o->ctx, a->g->id, a->g->n_uniq, t->rows, &t->found, err));
    rewrite(a, t->rows, t->ids);
    return CR_OK;
}

cr_code cr_views_stage(cr_views *s, const cr_batch *b, const int32_t *const *axes,
                       const cr_groups *done, cr_err *err) {
    s->batch = *b;
    s->batch.global_rows = 0; /* only the rows that are here matter */
    s->axes = axes;
    for (int i = 0; i < s->n_again; i++) {
        const cr_group *found = done ? cr_groups_same(done, &s->groups.v[i]) : NULL;
        s->again[i].g = found ? found : &s->groups.v[i];
        CR_TRY(fit(s, i, err));
    }
    cr_pool_run(s->pool, s->n_again, group_item, s);
    for (int i = 0; i < s->n_tables; i++) {
        staged *t = &s->tables[i];
        const cr_group *g = s->again[t->group].g;
        const cr_owner *o = t->t->owner;
        if (o->counts) o->counts(o->ctx, g->seg, false);
        if (o->find) {
            CR_TRY(find_rows(s, t, err));
            continue;
        }
        CR_TRY(cr_try_room(&t->rows, &t->cap, g->n_uniq, (size_t)t->stride * sizeof(float), false,
                           what, err));
        CR_TRY(o->fetch(o->ctx, g->id, g->n_uniq, t->rows, t->stride, s->asked && o->ask, err));
    }
    s->asked = false;
    for (int i = 0; i < s->n_tables; i++) {
        const cr_owner *o = s->tables[i].t->owner;
        if (o->fetched) CR_TRY(o->fetched(o->ctx, err));
    }
    for (int i = 0; i < s->n_uses; i++) {
        const use *u = &s->uses[i];
        const staged *t = &s->tables[u->table];
        const rewritten *a = &s->again[t->group];
        bool found = t->t->owner->find != NULL;
        const int64_t *ids = found ? t->ids : a->mem;
        s->views[u->view] = (cr_view){.base = found ? t->found.base : t->rows,
                                      .stride = found ? t->found.stride : t->stride,
                                      .ids = ids + a->at[u->slot],
                                      .D = t->t->D,
                                      .half = t->t->half};
    }
    return CR_OK;
}

cr_code cr_views_ask(cr_views *s, const cr_groups *next, cr_err *err) {
    for (int i = 0; i < s->n_tables; i++) {
        const cr_owner *o = s->tables[i].t->owner;
        const cr_group *g = next ? cr_groups_same(next, &s->groups.v[s->tables[i].group]) : NULL;
        if (o->counts && g) o->counts(o->ctx, g->seg, true);
        if (o->ask) o->ask(o->ctx, g ? g->id : NULL, g ? g->n_uniq : 0, g != NULL);
    }
    s->asked = false;
    for (int i = 0; i < s->n_tables; i++) {
        const cr_owner *o = s->tables[i].t->owner;
        if (o->asked) CR_TRY(o->asked(o->ctx, &s->asked, err));
    }
    return CR_OK;
}

const cr_view *cr_views_get(const cr_views *s) {
    return s->views;
}
