/*
 * shards.c - see shards.h. The rows of all tables travel together, in three exchanges: how many ids
 * come, the ids, and the rows. Distinct ids ascend and a shard is a range of rows, so the ids for a
 * shard are a part of the list as it is.
 *
 * The first two exchanges may be made for the coming batch while the present one is computed. There
 * are two sets of requests for this: those of the pass under way, and those that were sent ahead.
 */
#include "emb/shards.h"

#include <string.h>

#include "base/room.h"
#include "emb/group.h"

#define PIECE 1024 /* rows that a thread packs or unpacks at a time */

/* A request: ids of one shard that one holder wants. */
typedef struct ask {
    int64_t n;
    char *id; /* [n] 4 bytes each, counted from the first row of the shard; or 8, as they are */
    uint32_t *count; /* [n] how often each is in the holder's batch; NULL: nobody wants to know */
    char *row;       /* [n] weights of its columns */
} ask;

/* What is asked of one table in one pass: what this holder asks of each shard, and of its own
 * shards what each holder asks. */
typedef struct request {
    ask *out, *in;
    const int64_t *id;   /* [n] distinct, ascending */
    const uint32_t *seg; /* id i is seg[i + 1] - seg[i] times in the batch */
    int64_t n;
} request;

enum { NOW, NEXT, N_SETS }; /* the requests of this pass, and those that were sent ahead */

typedef struct sharded {
    cr_owner owner;
    cr_shards *of;
    int number;
    const cr_placing *placing;
    int half;
    bool counted; /* ids travel with their counts */
    request set[N_SETS];
    /* a growing shard: the keys of all holders, and room for as many */
    struct met {
        int64_t *id;
        uint32_t *count;
        int64_t n, cap;
    } met[2];
    uint32_t *met_seg;
    int64_t cap_seg;
    /* the pass under way */
    float *rows;
    int64_t stride;
} sharded;

/* A message to or from each holder; at has one number more than there are holders. */
typedef struct post {
    char *mem;
    int64_t cap; /* bytes */
    size_t *at;
} post;

struct cr_shards {
    const cr_meet *meet;
    const cr_shards_way *way; /* NULL: the exchanges of meet */
    cr_pool *pool;
    sharded **v;
    int n;
    int n_asked[N_SETS]; /* tables that were asked for so far */
    bool unsure;         /* this holder does not know its coming ids */
    bool ahead;          /* the fetch under way is for ids that were sent ahead */
    bool flying;         /* ids that were sent ahead are on their way */
    bool sure;           /* what the other way has said of them */
    struct {             /* of each set of requests */
        post ids_out, ids_in, counts_out, counts_in;
    } sets[N_SETS];
    post rows_out, rows_in;
    int set; /* the set that is worked on */
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

#define N_POSTS (2 + 4 * N_SETS)
static void list_posts(cr_shards *s, post *v[N_POSTS]) {
    int n = 0;
    v[n++] = &s->rows_out;
    v[n++] = &s->rows_in;
    for (int k = 0; k < N_SETS; k++) {
        v[n++] = &s->sets[k].ids_out;
        v[n++] = &s->sets[k].ids_in;
        v[n++] = &s->sets[k].counts_out;
        v[n++] = &s->sets[k].counts_in;
    }
}

cr_shards *cr_shards_new(const cr_meet *meet, cr_pool *pool) {
    cr_shards *s = cr_alloc(sizeof(*s), what);
    post *posts[N_POSTS];
    s->meet = meet;
    s->pool = pool;
    list_posts(s, posts);
    for (int i = 0; i < N_POSTS; i++)
        posts[i]->at = cr_alloc(((size_t)meet->n + 1) * sizeof(size_t), what);
    return s;
}

void cr_shards_free(cr_shards *s) {
    if (!s) return;
    post *posts[N_POSTS];
    if (s->flying) s->meet->exchange_end(s->meet->ctx);
    for (int i = 0; i < s->n; i++) {
        sharded *t = s->v[i];
        for (int k = 0; k < t->owner.n_held; k++)
            cr_table_clear(&t->owner.held[k]);
        for (int k = 0; k < N_SETS; k++) {
            cr_free(t->set[k].out);
            cr_free(t->set[k].in);
        }
        cr_grow_free(t->owner.grow);
        for (int k = 0; k < 2; k++) {
            cr_free(t->met[k].id);
            cr_free(t->met[k].count);
        }
        cr_free(t->met_seg);
        cr_free(t->owner.held);
        cr_free(t);
    }
    list_posts(s, posts);
    for (int i = 0; i < N_POSTS; i++) {
        cr_free(posts[i]->mem);
        cr_free(posts[i]->at);
    }
    cr_free(s->v);
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

static const request *now(const sharded *t) {
    return &t->set[t->of->set];
}

static int64_t first_of(const request *r, const cr_shard *sh) {
    return cr_ids_find(r->id, r->n, sh->row);
}

static void note(sharded *t, int set, const int64_t *id, int64_t n) {
    request *r = &t->set[set];
    r->id = id;
    r->n = n;
    for (int k = 0; k < t->placing->n; k++) {
        const cr_shard *sh = &t->placing->shards[k];
        r->out[k].n = cr_ids_find(id, n, sh->end) - first_of(r, sh);
    }
    t->of->n_asked[set]++;
}

/* ---- messages ---- */

/* A batch decides how much it is, so a failure has a message. */
static cr_code grow(void **p, int64_t *cap, int64_t n, size_t size, cr_err *err) {
    return cr_try_room(p, cap, n, size, false, "rows of a batch from other ranks", err);
}

static cr_code grow_post(post *p, size_t n, cr_err *err) {
    void *mem = p->mem;
    cr_code code = grow(&mem, &p->cap, (int64_t)n, 1, err);
    p->mem = mem;
    return code;
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
            if (s->v[i]->placing->shards[k].holder == h)
                f(s, s->v[i], k, &now(s->v[i])->out[k], ctx);
}

static void visit_in(cr_shards *s, int h, visit *f, void *ctx) {
    for (int i = 0; i < s->n; i++)
        for (int k = 0, held = 0; k < s->v[i]->placing->n; k++)
            if (s->v[i]->placing->shards[k].holder == s->meet->self)
                f(s, s->v[i], k, &now(s->v[i])->in[held++ * s->meet->n + h], ctx);
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
    if (!c->rows && t->counted)
        a->count = (uint32_t *)(void *)take(c->mem, &c->at, a->n, sizeof(uint32_t));
}

/* Gives every request its place in a message of ids or rows; nothing goes to this holder itself. */
static cr_code lay_post(cr_shards *s, post *p, bool rows, bool out, cr_err *err) {
    for (int pass = 0; pass < 2; pass++) {
        cursor c = {.mem = pass ? p->mem : NULL, .rows = rows};
        for (int h = 0; h < s->meet->n; h++) {
            p->at[h] = c.at;
            if (h == s->meet->self) continue;
            (out ? visit_out : visit_in)(s, h, lay, &c);
        }
        p->at[s->meet->n] = c.at;
        CR_TRY(grow_post(p, c.at, err));
    }
    return CR_OK;
}

/* Numbers of a message of counts; the first says whether the sender is sure of its ids. */
static void put_count(cr_shards *s, sharded *t, int shard, ask *a, void *ctx) {
    (void)s;
    (void)t;
    (void)shard;
    int64_t **at = ctx;
    *(*at)++ = a->n;
}
static void get_count(cr_shards *s, sharded *t, int shard, ask *a, void *ctx) {
    (void)s;
    (void)t;
    (void)shard;
    const int64_t **at = ctx;
    a->n = *(*at)++;
}
static void add_one(cr_shards *s, sharded *t, int shard, ask *a, void *ctx) {
    (void)s;
    (void)t;
    (void)shard;
    (void)a;
    *(size_t *)ctx += sizeof(int64_t);
}

static cr_code lay_counts(cr_shards *s, post *p, bool out, cr_err *err) {
    size_t at = 0;
    for (int h = 0; h < s->meet->n; h++) {
        p->at[h] = at;
        at += sizeof(int64_t);
        (out ? visit_out : visit_in)(s, h, add_one, &at);
    }
    p->at[s->meet->n] = at;
    return grow_post(p, at, err);
}

/* Tells every holder how many ids come. *sure becomes false when one of them is not sure of its
 * ids. */
static cr_code tell_counts(cr_shards *s, bool *sure, cr_err *err) {
    const cr_meet *meet = s->meet;
    post *out = &s->sets[s->set].counts_out, *in = &s->sets[s->set].counts_in;
    CR_TRY(lay_counts(s, out, true, err));
    CR_TRY(lay_counts(s, in, false, err));
    int64_t *put = (int64_t *)(void *)out->mem;
    for (int h = 0; h < meet->n; h++) {
        *put++ = *sure;
        visit_out(s, h, put_count, &put);
    }
    meet->exchange(meet->ctx, out->mem, out->at, in->mem, in->at);
    const int64_t *get = (const int64_t *)(const void *)in->mem;
    for (int h = 0; h < meet->n; h++) {
        *sure &= *get++ != 0;
        visit_in(s, h, get_count, &get);
    }
    return CR_OK;
}

/* ---- pieces of work over rows ---- */

/* Adds the pieces of a request, or only counts them while there is no room for them. */
static void add_pieces(cr_shards *s, sharded *t, int shard, ask *a, void *ctx) {
    const cursor *c = ctx;
    for (int64_t first = 0; first < a->n; first += PIECE, s->n_pieces++)
        if (c->mem)
            ((piece *)(void *)c->mem)[s->n_pieces] =
                (piece){t, shard, c->holder, first, a->n - first < PIECE ? a->n - first : PIECE};
}

static cr_code run_pieces(cr_shards *s, bool out, bool own, cr_pool_fn work, cr_err *err) {
    for (int pass = 0; pass < 2; pass++) {
        s->n_pieces = 0;
        for (int h = 0; h < s->meet->n; h++)
            if (own == (h == s->meet->self))
                (out ? visit_out
                     : visit_in)(s, h, add_pieces,
                                 &(cursor){.mem = pass ? (char *)s->pieces : NULL, .holder = h});
        void *mem = s->pieces;
        cr_code code = grow(&mem, &s->cap_pieces, s->n_pieces, sizeof(piece), err);
        s->pieces = mem;
        CR_TRY(code);
    }
    cr_pool_run(s->pool, s->n_pieces, work, s);
    return CR_OK;
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
    const request *r = now(p->t);
    const ask *a = &r->out[p->shard];
    int64_t from = first_of(r, sh) + p->first;
    const int64_t *id = r->id + from;
    for (int64_t i = 0; p->t->counted && i < p->n; i++)
        a->count[p->first + i] = r->seg[from + i + 1] - r->seg[from + i];
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
    const ask *a = &now(p->t)->in[held * s->meet->n + p->holder];
    size_t bytes = row_bytes(p->t, sh);
    const uint32_t *small = (const uint32_t *)(const void *)a->id;
    const int64_t *large = (const int64_t *)(const void *)a->id;
    bool wide = id_bytes(sh) == 8;
    int64_t end = p->first + p->n;
    if (p->t->owner.grow) {
        cr_grow_copy(p->t->owner.grow, large + p->first, p->n, a->row + (size_t)p->first * bytes,
                     bytes);
        return;
    }
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
    const request *r = now(p->t);
    int64_t k = first_of(r, sh) + p->first, end = k + p->n;
    if (p->t->owner.grow) {
        cr_grow_copy(p->t->owner.grow, r->id + k, p->n, (char *)(p->t->rows + k * p->t->stride),
                     (size_t)p->t->stride * sizeof(float));
        return;
    }
    for (; k < end; k++) {
        if (k + AHEAD < end)
            cr_fetch(cr_table_row(tab, r->id[k + AHEAD] - sh->row), (int64_t)bytes, false);
        memcpy((char *)(p->t->rows + k * p->t->stride) + col, cr_table_row(tab, r->id[k] - sh->row),
               bytes);
    }
}

/* and those that came. */
static void unpack_item(void *ctx, int64_t item, int thread) {
    (void)thread;
    const cr_shards *s = ctx;
    const piece *p = &s->pieces[item];
    const cr_shard *sh = &p->t->placing->shards[p->shard];
    const request *r = now(p->t);
    const ask *a = &r->out[p->shard];
    size_t bytes = row_bytes(p->t, sh), col = (size_t)sh->col * (p->t->half ? 2 : 4);
    int64_t k = first_of(r, sh) + p->first;
    const char *from = a->row + (size_t)p->first * bytes;
    for (int64_t i = 0; i < p->n; i++, k++, from += bytes)
        memcpy((char *)(p->t->rows + k * p->t->stride) + col, from, bytes);
}

/* ---- keys that a growing shard learns ---- */

static cr_code room_met(struct met *m, int64_t n, cr_err *err) {
    if (n <= m->cap && m->id) return CR_OK;
    int64_t cap = cr_add_i64(n, n / 4 + 64);
    void *id, *count;
    CR_TRY(cr_try_alloc(&id, cr_bytes(cap, sizeof(int64_t)), what, err));
    cr_code code = cr_try_alloc(&count, cr_bytes(cap, sizeof(uint32_t)), what, err);
    if (code != CR_OK) {
        cr_free(id);
        return code;
    }
    cr_free(m->id);
    cr_free(m->count);
    *m = (struct met){.id = id, .count = count, .cap = cap};
    return CR_OK;
}

/* Adds a holder's keys to those in met[*at], in the order of keys. */
static cr_code join_keys(sharded *t, int *at, const int64_t *id, const uint32_t *count, int64_t n,
                         cr_err *err) {
    const struct met *a = &t->met[*at];
    struct met *to = &t->met[!*at];
    CR_TRY(room_met(to, a->n + n, err));
    int64_t i = 0, k = 0, m = 0;
    while (i < a->n || k < n) {
        bool one = i < a->n && (k == n || a->id[i] <= id[k]);
        bool two = k < n && (i == a->n || id[k] <= a->id[i]);
        to->id[m] = one ? a->id[i] : id[k];
        to->count[m++] = (one ? a->count[i] : 0) + (two && count ? count[k] : 0);
        i += one;
        k += two;
    }
    to->n = m;
    *at = !*at;
    return CR_OK;
}

/* Lets a growing shard learn the keys of a step, of all holders at once. */
static cr_code learn(cr_shards *s, sharded *t, cr_err *err) {
    const request *r = now(t);
    int at = 0, shard = 0;
    if (!t->owner.grow || !cr_grow_due(t->owner.grow)) return CR_OK;
    while (t->placing->shards[shard].holder != s->meet->self)
        shard++;
    int64_t first = first_of(r, &t->placing->shards[shard]), n = r->out[shard].n;
    CR_TRY(room_met(&t->met[0], n, err));
    struct met *own = &t->met[0];
    own->n = n;
    if (n > 0) memcpy(own->id, r->id + first, cr_bytes(n, sizeof(int64_t)));
    for (int64_t i = 0; t->counted && i < n; i++)
        own->count[i] = r->seg[first + i + 1] - r->seg[first + i];
    for (int h = 0; h < s->meet->n; h++)
        if (h != s->meet->self)
            CR_TRY(join_keys(t, &at, (const int64_t *)(const void *)r->in[h].id, r->in[h].count,
                             r->in[h].n, err));
    const struct met *all = &t->met[at];
    void *seg = t->met_seg;
    cr_code code = cr_try_room(&seg, &t->cap_seg, all->n + 1, sizeof(uint32_t), false, what, err);
    t->met_seg = seg;
    CR_TRY(code);
    t->met_seg[0] = 0;
    for (int64_t i = 0; i < all->n; i++)
        t->met_seg[i + 1] = t->met_seg[i] + all->count[i];
    return cr_grow_learn(t->owner.grow, all->id, t->counted ? t->met_seg : NULL, all->n, err);
}

/* ---- a pass ---- */

/* Packs the ids of a set of requests. */
static cr_code pack_ids(cr_shards *s, cr_err *err) {
    CR_TRY(lay_post(s, &s->sets[s->set].ids_out, false, true, err));
    CR_TRY(lay_post(s, &s->sets[s->set].ids_in, false, false, err));
    return run_pieces(s, true, false, ids_item, err);
}

static cr_code send_rows(cr_shards *s, cr_err *err) {
    const cr_meet *meet = s->meet;
    for (int i = 0; i < s->n; i++)
        CR_TRY(learn(s, s->v[i], err));
    CR_TRY(lay_post(s, &s->rows_out, true, false, err));
    CR_TRY(lay_post(s, &s->rows_in, true, true, err));
    CR_TRY(run_pieces(s, false, false, pack_item, err));
    meet->exchange(meet->ctx, s->rows_out.mem, s->rows_out.at, s->rows_in.mem, s->rows_in.at);
    CR_TRY(run_pieces(s, true, true, own_item, err));
    return run_pieces(s, true, false, unpack_item, err);
}

static cr_code fetch(void *ctx, const int64_t *id, int64_t n, float *rows, int64_t stride,
                     bool asked, cr_err *err) {
    (void)err;
    sharded *t = ctx;
    const cr_shards_way *way = t->of->way;
    if (way) {
        way->fetch(way->ctx, t->number, id, t->set[NOW].seg, n, rows, stride, asked);
        t->of->n_asked[NOW]++;
        return CR_OK;
    }
    t->rows = rows;
    t->stride = stride;
    t->of->ahead = asked;
    if (asked)
        t->of->n_asked[NOW]++; /* the requests are there already */
    else
        note(t, NOW, id, n);
    return CR_OK;
}

static cr_code fetched(void *ctx, cr_err *err) {
    bool sure = true;
    cr_shards *s = ((sharded *)ctx)->of;
    const cr_meet *meet = s->meet;
    if (s->n_asked[NOW] == 0) return CR_OK; /* the call for another table did it */
    CR_ASSERT(s->n_asked[NOW] == s->n && s->flying >= s->ahead);
    s->n_asked[NOW] = 0;
    if (s->way) return s->way->fetched(s->way->ctx, err);
    s->set = s->ahead ? NEXT : NOW;
    if (s->ahead) {
        meet->exchange_end(meet->ctx);
        s->flying = false;
    } else {
        CR_TRY(tell_counts(s, &sure, err));
        CR_TRY(pack_ids(s, err));
        meet->exchange(meet->ctx, s->sets[NOW].ids_out.mem, s->sets[NOW].ids_out.at,
                       s->sets[NOW].ids_in.mem, s->sets[NOW].ids_in.at);
    }
    return send_rows(s, err);
}

static void counts_of(void *ctx, const uint32_t *seg, bool ahead) {
    sharded *t = ctx;
    t->set[ahead ? NEXT : NOW].seg = seg;
}

static void ask_ahead(void *ctx, const int64_t *id, int64_t n, bool sure) {
    sharded *t = ctx;
    const cr_shards_way *way = t->of->way;
    if (way) {
        way->ask(way->ctx, t->number, id, t->set[NEXT].seg, n, sure);
        t->of->n_asked[NEXT]++;
        return;
    }
    t->of->unsure |= !sure;
    note(t, NEXT, id, n);
}

static cr_code asked_ahead(void *ctx, bool *sure, cr_err *err) {
    cr_shards *s = ((sharded *)ctx)->of;
    const cr_meet *meet = s->meet;
    *sure = s->way ? s->sure : s->flying;
    if (s->n_asked[NEXT] == 0) return CR_OK; /* the call for another table did it */
    CR_ASSERT(s->n_asked[NEXT] == s->n && !s->flying);
    s->n_asked[NEXT] = 0;
    if (s->way) {
        CR_TRY(s->way->asked(s->way->ctx, sure, err));
        s->sure = *sure;
        return CR_OK;
    }
    s->set = NEXT;
    *sure = !s->unsure;
    s->unsure = false;
    CR_TRY(tell_counts(s, sure, err));
    if (!*sure) return CR_OK;
    CR_TRY(pack_ids(s, err));
    s->flying = true;
    meet->exchange_start(meet->ctx, s->sets[NEXT].ids_out.mem, s->sets[NEXT].ids_out.at,
                         s->sets[NEXT].ids_in.mem, s->sets[NEXT].ids_in.at);
    return CR_OK;
}

cr_code cr_shards_add(cr_shards *s, const cr_table_spec *spec, const cr_placing *placing,
                      const cr_grow_opts *grow, const cr_owner **owner, cr_err *err) {
    sharded *t = cr_alloc(sizeof(*t), what);
    int holders = s->meet->n, self = s->meet->self, held = 0;
    s->v = cr_realloc(s->v, (size_t)s->n * sizeof(sharded *),
                      (size_t)(s->n + 1) * sizeof(sharded *), what);
    t->number = s->n;
    s->v[s->n++] = t;
    t->of = s;
    t->placing = placing;
    t->half = spec->half;
    t->counted = grow && cr_grow_counts(grow->rules);
    for (int k = 0; k < placing->n; k++)
        held += placing->shards[k].holder == self;
    t->owner = (cr_owner){.ctx = t,
                          .fetch = fetch,
                          .fetched = fetched,
                          .counts = t->counted ? counts_of : NULL,
                          .ask = ask_ahead,
                          .asked = asked_ahead,
                          .placing = placing};
    t->owner.held = cr_alloc((size_t)(held + 1) * sizeof(cr_table), what);
    for (int k = 0; k < N_SETS; k++) {
        t->set[k].out = cr_alloc((size_t)placing->n * sizeof(ask), what);
        t->set[k].in = cr_alloc((size_t)(held + 1) * (size_t)holders * sizeof(ask), what);
    }
    for (int k = 0; k < placing->n; k++) {
        if (placing->shards[k].holder != self) continue;
        cr_table *one = &t->owner.held[t->owner.n_held];
        if (grow) {
            cr_grow_opts go = *grow;
            go.spec = spec;
            go.shard = &placing->shards[k];
            CR_ASSERT(!t->owner.grow);
            CR_TRY(cr_grow_new(&t->owner.grow, &go, err));
            cr_table_describe(one, spec, cr_grow_owner(t->owner.grow));
        } else {
            CR_TRY(cr_table_init_shard(one, spec, &placing->shards[k], err));
        }
        t->owner.n_held++;
    }
    *owner = &t->owner;
    return CR_OK;
}

void cr_shards_via(cr_shards *s, const cr_shards_way *way) {
    CR_ASSERT(!s->flying && s->n_asked[NOW] == 0 && s->n_asked[NEXT] == 0);
    s->way = way;
}

void cr_shards_sink(cr_shards *s, int table, cr_sink sink) {
    s->v[table]->owner.sink = sink;
}
