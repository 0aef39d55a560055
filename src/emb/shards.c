/*
 * shards.c - see shards.h. The rows of all tables travel together, in three exchanges: how many ids
 * come, the ids, and the rows. Distinct ids ascend and a shard is a range of rows, so the ids for a
 * shard are a part of the list as it is.
 */
#include "emb/shards.h"

#include <string.h>

#define PIECE 1024 /* rows that a thread packs or unpacks at a time */

/* A request: ids of one shard that one holder wants. */
typedef struct ask {
    int64_t n;
    char *id;  /* [n] 4 or 8 bytes each, counted from the first row of the shard */
    char *row; /* [n] weights of its columns */
} ask;

typedef struct sharded {
    cr_owner owner;
    cr_shards *of;
    const cr_placing *placing;
    int half;
    /* what this holder asks of each shard, and of its own shards what each holder asks */
    ask *out, *in;
    /* the pass under way */
    const int64_t *id;
    int64_t n;
    float *rows;
    int64_t stride;
} sharded;

/* A message to or from each holder; at has one number more than there are holders. */
typedef struct post {
    char *mem;
    size_t cap, *at;
} post;

struct cr_shards {
    const cr_meet *meet;
    cr_pool *pool;
    sharded **v;
    int n;
    int n_asked; /* tables that were asked for in this pass */
    int64_t *counts, *counts_in;
    post ids_out, ids_in, rows_out, rows_in, counted_out, counted_in;
    /* pieces of packing or unpacking */
    struct piece {
        const sharded *t;
        int shard; /* of the placing */
        int holder;
        int64_t first, n;
    } * pieces;
    int64_t n_pieces, cap_pieces;
};
typedef struct piece piece;

static const char what[] = "rows of sharded tables";

cr_shards *cr_shards_new(const cr_meet *meet, cr_pool *pool) {
    cr_shards *s = cr_alloc(sizeof(*s), what);
    s->meet = meet;
    s->pool = pool;
    post *posts[] = {&s->ids_out, &s->ids_in,      &s->rows_out,
                     &s->rows_in, &s->counted_out, &s->counted_in};
    for (size_t i = 0; i < sizeof posts / sizeof *posts; i++)
        posts[i]->at = cr_alloc(((size_t)meet->n + 1) * sizeof(size_t), what);
    return s;
}

void cr_shards_free(cr_shards *s) {
    if (!s) return;
    for (int i = 0; i < s->n; i++) {
        for (int k = 0; k < s->v[i]->owner.n_held; k++)
            cr_table_clear(&s->v[i]->owner.held[k]);
        cr_free(s->v[i]->owner.held);
        cr_free(s->v[i]->out);
        cr_free(s->v[i]->in);
        cr_free(s->v[i]);
    }
    post *posts[] = {&s->ids_out, &s->ids_in,      &s->rows_out,
                     &s->rows_in, &s->counted_out, &s->counted_in};
    for (size_t i = 0; i < sizeof posts / sizeof *posts; i++) {
        cr_free(posts[i]->mem);
        cr_free(posts[i]->at);
    }
    cr_free(s->v);
    cr_free(s->counts);
    cr_free(s->counts_in);
    cr_free(s->pieces);
    cr_free(s);
}

/* ---- the ids that are asked for ---- */

static int id_bytes(const cr_shard *sh) {
    return sh->end - sh->row <= UINT32_MAX ? 4 : 8;
}
static size_t row_bytes(const sharded *t, const cr_shard *sh) {
    return (size_t)(sh->col_end - sh->col) * (t->half ? 2 : 4);
}

/* Returns the place of the first of ids[0 .. n) that is not below id. */
static int64_t lower_bound(const int64_t *ids, int64_t n, int64_t id) {
    int64_t lo = 0;
    while (n > 0) {
        int64_t half = n / 2;
        if (ids[lo + half] < id) {
            lo += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return lo;
}

static int64_t first_of(const sharded *t, const cr_shard *sh) {
    return lower_bound(t->id, t->n, sh->row);
}

static cr_code fetch(void *ctx, const int64_t *id, int64_t n, float *rows, int64_t stride,
                     cr_err *err) {
    (void)err;
    sharded *t = ctx;
    t->id = id;
    t->n = n;
    t->rows = rows;
    t->stride = stride;
    for (int k = 0; k < t->placing->n; k++) {
        const cr_shard *sh = &t->placing->shards[k];
        t->out[k].n = lower_bound(id, n, sh->end) - first_of(t, sh);
    }
    t->of->n_asked++;
    return CR_OK;
}

/* ---- messages ---- */

static void *grown(void *p, size_t *cap, size_t n) {
    if (n <= *cap && p) return p;
    cr_free(p);
    *cap = n + n / 4 + 64;
    return cr_alloc(*cap, what);
}

static char *take(char *mem, size_t *at, int64_t n, size_t size) {
    char *p = mem ? mem + *at : NULL;
    *at += ((size_t)n * size + 7) / 8 * 8;
    return p;
}

/* Calls that visit what is asked: of holder h's shards what this holder asks (out), or what holder
 * h asks of the shards here. Both sides visit in the order of tables, then of shards. */
typedef void visit(cr_shards *s, sharded *t, int shard, ask *a, void *ctx);

static void visit_out(cr_shards *s, int h, visit *f, void *ctx) {
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < s->v[i]->placing->n; k++)
            if (s->v[i]->placing->shards[k].holder == h) f(s, s->v[i], k, &s->v[i]->out[k], ctx);
}

static void visit_in(cr_shards *s, int h, visit *f, void *ctx) {
    for (int i = 0; i < s->n; i++)
        for (int k = 0, held = 0; k < s->v[i]->placing->n; k++)
            if (s->v[i]->placing->shards[k].holder == s->meet->self)
                f(s, s->v[i], k, &s->v[i]->in[held++ * s->meet->n + h], ctx);
}

/* One pass over a message: where the next thing lies. */
typedef struct cursor {
    char *mem;
    size_t at;
    int holder;
    bool rows; /* rows are laid out, else ids */
} cursor;

static void lay(cr_shards *s, sharded *t, int shard, ask *a, void *ctx) {
    (void)s;
    cursor *c = ctx;
    const cr_shard *sh = &t->placing->shards[shard];
    if (c->rows)
        a->row = take(c->mem, &c->at, a->n, row_bytes(t, sh));
    else
        a->id = take(c->mem, &c->at, a->n, (size_t)id_bytes(sh));
}

/* Gives every request its place in a message of ids or rows; nothing goes to this holder itself. */
static void lay_post(cr_shards *s, post *p, bool rows, bool out) {
    for (int pass = 0; pass < 2; pass++) {
        cursor c = {.mem = pass ? p->mem : NULL, .rows = rows};
        for (int h = 0; h < s->meet->n; h++) {
            p->at[h] = c.at;
            if (h == s->meet->self) continue;
            (out ? visit_out : visit_in)(s, h, lay, &c);
        }
        p->at[s->meet->n] = c.at;
        p->mem = grown(p->mem, &p->cap, c.at);
    }
}

static void put_count(cr_shards *s, sharded *t, int shard, ask *a, void *ctx) {
    (void)shard;
    (void)t;
    int64_t *at = ctx;
    s->counts[(*at)++] = a->n;
}
static void get_count(cr_shards *s, sharded *t, int shard, ask *a, void *ctx) {
    (void)shard;
    (void)t;
    int64_t *at = ctx;
    a->n = s->counts_in[(*at)++];
}
static void add_one(cr_shards *s, sharded *t, int shard, ask *a, void *ctx) {
    (void)s;
    (void)t;
    (void)shard;
    (void)a;
    ++*(int64_t *)ctx;
}

static void tell_counts(cr_shards *s) {
    const cr_meet *meet = s->meet;
    int64_t n_out = 0, n_in = 0;
    for (int h = 0; h < meet->n; h++) {
        s->counted_out.at[h] = (size_t)n_out * sizeof(int64_t);
        s->counted_in.at[h] = (size_t)n_in * sizeof(int64_t);
        visit_out(s, h, add_one, &n_out);
        visit_in(s, h, add_one, &n_in);
    }
    s->counted_out.at[meet->n] = (size_t)n_out * sizeof(int64_t);
    s->counted_in.at[meet->n] = (size_t)n_in * sizeof(int64_t);
    s->counts = grown(s->counts, &s->counted_out.cap, (size_t)n_out * sizeof(int64_t));
    s->counts_in = grown(s->counts_in, &s->counted_in.cap, (size_t)n_in * sizeof(int64_t));
    int64_t at = 0;
    for (int h = 0; h < meet->n; h++)
        visit_out(s, h, put_count, &at);
    meet->exchange(meet->ctx, s->counts, s->counted_out.at, s->counts_in, s->counted_in.at);
    at = 0;
    for (int h = 0; h < meet->n; h++)
        visit_in(s, h, get_count, &at);
}

/* ---- pieces of work over rows ---- */

static void add_pieces(cr_shards *s, sharded *t, int shard, ask *a, void *ctx) {
    const cursor *c = ctx;
    for (int64_t first = 0; first < a->n; first += PIECE) {
        if (s->n_pieces == s->cap_pieces) {
            int64_t cap = s->cap_pieces ? 2 * s->cap_pieces : 256;
            s->pieces = cr_realloc(s->pieces, (size_t)s->cap_pieces * sizeof(piece),
                                   (size_t)cap * sizeof(piece), what);
            s->cap_pieces = cap;
        }
        s->pieces[s->n_pieces++] =
            (piece){t, shard, c->holder, first, a->n - first < PIECE ? a->n - first : PIECE};
    }
}

static void run_pieces(cr_shards *s, bool out, bool own, cr_pool_fn work) {
    s->n_pieces = 0;
    for (int h = 0; h < s->meet->n; h++)
        if (own == (h == s->meet->self))
            (out ? visit_out : visit_in)(s, h, add_pieces, &(cursor){.holder = h});
    cr_pool_run(s->pool, s->n_pieces, work, s);
}

/* Returns the held table of a shard of this holder. */
static int held_of(const sharded *t, int shard) {
    int held = 0;
    for (int k = 0; k < shard; k++)
        held += t->placing->shards[k].holder == t->placing->shards[shard].holder;
    return held;
}

static void ids_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    const cr_shards *s = ctx;
    const piece *p = &s->pieces[item];
    const cr_shard *sh = &p->t->placing->shards[p->shard];
    const ask *a = &p->t->out[p->shard];
    const int64_t *id = p->t->id + first_of(p->t, sh) + p->first;
    if (id_bytes(sh) == 8) {
        memcpy(a->id + 8 * p->first, id, (size_t)p->n * 8);
        return;
    }
    uint32_t *to = (uint32_t *)(void *)a->id + p->first;
    for (int64_t i = 0; i < p->n; i++)
        to[i] = (uint32_t)(id[i] - sh->row);
}

#define AHEAD 8 /* rows between fetching a record and copying it */

/* Packs the rows that another holder asks for. */
static void pack_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    const cr_shards *s = ctx;
    const piece *p = &s->pieces[item];
    const cr_shard *sh = &p->t->placing->shards[p->shard];
    int held = held_of(p->t, p->shard);
    const cr_table *tab = &p->t->owner.held[held];
    const ask *a = &p->t->in[held * s->meet->n + p->holder];
    size_t bytes = row_bytes(p->t, sh);
    const uint32_t *small = (const uint32_t *)(const void *)a->id;
    const int64_t *large = (const int64_t *)(const void *)a->id;
    bool wide = id_bytes(sh) == 8;
    int64_t end = p->first + p->n;
    for (int64_t i = p->first; i < end; i++) {
        int64_t row = wide ? large[i] - sh->row : small[i];
        CR_ASSERT(row >= 0 && row < tab->n_rows);
        if (i + AHEAD < end)
            cr_fetch(cr_table_row(tab, wide ? large[i + AHEAD] - sh->row : small[i + AHEAD]),
                     (int64_t)bytes, false);
        memcpy(a->row + (size_t)i * bytes, cr_table_row(tab, row), bytes);
    }
}

/* Puts rows into the buffer of the pass: those of this holder's own shards, */
static void own_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    const cr_shards *s = ctx;
    const piece *p = &s->pieces[item];
    const cr_shard *sh = &p->t->placing->shards[p->shard];
    const cr_table *tab = &p->t->owner.held[held_of(p->t, p->shard)];
    size_t bytes = row_bytes(p->t, sh), col = (size_t)sh->col * (p->t->half ? 2 : 4);
    int64_t k = first_of(p->t, sh) + p->first, end = k + p->n;
    for (; k < end; k++) {
        if (k + AHEAD < end)
            cr_fetch(cr_table_row(tab, p->t->id[k + AHEAD] - sh->row), (int64_t)bytes, false);
        memcpy((char *)(p->t->rows + k * p->t->stride) + col,
               cr_table_row(tab, p->t->id[k] - sh->row), bytes);
    }
}

/* and those that came. */
static void unpack_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    const cr_shards *s = ctx;
    const piece *p = &s->pieces[item];
    const cr_shard *sh = &p->t->placing->shards[p->shard];
    const ask *a = &p->t->out[p->shard];
    size_t bytes = row_bytes(p->t, sh), col = (size_t)sh->col * (p->t->half ? 2 : 4);
    int64_t k = first_of(p->t, sh) + p->first;
    const char *from = a->row + (size_t)p->first * bytes;
    for (int64_t i = 0; i < p->n; i++, k++, from += bytes)
        memcpy((char *)(p->t->rows + k * p->t->stride) + col, from, bytes);
}

static cr_code fetched(void *ctx, cr_err *err) {
    (void)err;
    cr_shards *s = ((sharded *)ctx)->of;
    const cr_meet *meet = s->meet;
    if (s->n_asked == 0) return CR_OK; /* the call for another table did it */
    CR_ASSERT(s->n_asked == s->n);
    s->n_asked = 0;
    tell_counts(s);
    lay_post(s, &s->ids_out, false, true);
    lay_post(s, &s->ids_in, false, false);
    run_pieces(s, true, false, ids_item);
    meet->exchange(meet->ctx, s->ids_out.mem, s->ids_out.at, s->ids_in.mem, s->ids_in.at);
    lay_post(s, &s->rows_out, true, false);
    lay_post(s, &s->rows_in, true, true);
    run_pieces(s, false, false, pack_item);
    meet->exchange(meet->ctx, s->rows_out.mem, s->rows_out.at, s->rows_in.mem, s->rows_in.at);
    run_pieces(s, true, true, own_item);
    run_pieces(s, true, false, unpack_item);
    return CR_OK;
}

cr_code cr_shards_add(cr_shards *s, const cr_table_spec *spec, const cr_placing *placing,
                      const cr_owner **owner, cr_err *err) {
    sharded *t = cr_alloc(sizeof(*t), what);
    int holders = s->meet->n, self = s->meet->self, held = 0;
    s->v = cr_realloc(s->v, (size_t)s->n * sizeof(sharded *),
                      (size_t)(s->n + 1) * sizeof(sharded *), what);
    s->v[s->n++] = t;
    t->of = s;
    t->placing = placing;
    t->half = spec->half;
    for (int k = 0; k < placing->n; k++)
        held += placing->shards[k].holder == self;
    t->owner = (cr_owner){.ctx = t, .fetch = fetch, .fetched = fetched, .placing = placing};
    t->owner.held = cr_alloc((size_t)(held + 1) * sizeof(cr_table), what);
    t->out = cr_alloc((size_t)placing->n * sizeof(ask), what);
    t->in = cr_alloc((size_t)(held + 1) * (size_t)holders * sizeof(ask), what);
    for (int k = 0; k < placing->n; k++) {
        if (placing->shards[k].holder != self) continue;
        CR_TRY(
            cr_table_init_shard(&t->owner.held[t->owner.n_held], spec, &placing->shards[k], err));
        t->owner.n_held++;
    }
    *owner = &t->owner;
    return CR_OK;
}
