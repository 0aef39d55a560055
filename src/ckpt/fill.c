/*
 * fill.c - brings together the bytes of the files that this holder writes.
 *
 * Every holder goes through its files in windows of some megabytes. All holders go in step: in a
 * round each has one window. Since the cut is the same everywhere, every holder knows the windows
 * of all others without asking: it sends them what they need of its own elements and gets what its
 * own window needs, in one exchange. So no more than a window is received at a time, and no more
 * than all windows together is sent, which is why windows shrink with the number of holders.
 * Without parts nothing travels, and a holder goes at its own pace.
 */
#include "ckpt/save_int.h"

#include <string.h>

#define WINDOW  ((int64_t)8 << 20)
#define WINDOWS ((int64_t)64 << 20) /* of all holders together */
#define SMALL   ((int64_t)64 << 10) /* the least window */

/* Elements of a tensor in a window, at most CKPT_PIECE. */
typedef struct span {
    const cr_ckpt_tensor *t;
    int64_t first, n;
    size_t at; /* their place in the window */
} span;

/* How far a holder has come, and its next window. */
typedef struct cursor {
    int next_file, next_item;
    int64_t done;  /* elements of that item */
    int64_t moved; /* bytes of that file */
    bool any;      /* there is a window: */
    int file;
    int64_t from; /* its place in the bytes of the file */
    size_t bytes;
    bool last; /* the file ends with it */
} cursor;

typedef struct spans {
    span *v;
    int n, cap;
} spans;

/* Elements that this holder reads. */
typedef struct task {
    span s;
    char *to;  /* the place of s in this holder's window; NULL: they travel, */
    size_t at; /* and lie one after the other in `out` from here on */
} task;

typedef struct work {
    const ckpt_fill *o;
    const ckpt_cut *cut;
    int n, self;
    int64_t window;
    cursor *cursors;
    spans mine, other;
    task *tasks;
    int n_tasks, cap_tasks;
    float *tmp;   /* a piece per thread */
    char *buffer; /* a window, when the bytes are given to take */
    char *in, *out;
    size_t cap_out;
    size_t *in_at, *out_at, *pos, *vote_at;
} work;

static void *grow(void *p, int n, int *cap, size_t size) {
    if (n < *cap) return p;
    int more = *cap ? 2 * *cap : 64;
    p = cr_realloc(p, (size_t)*cap * size, (size_t)more * size, "parts of a window");
    *cap = more;
    return p;
}

/* Finds the next window of holder h and its spans. */
static void next_window(const work *w, int h, cursor *c, spans *s) {
    const ckpt_cut *cut = w->cut;
    s->n = 0;
    c->any = false;
    while (c->next_file < cut->n_files && cut->files[c->next_file].writer != h)
        c->next_file++;
    if (c->next_file == cut->n_files) return;
    const ckpt_cut_file *f = &cut->files[c->next_file];
    c->any = true;
    c->file = c->next_file;
    c->from = c->moved;
    c->bytes = 0;
    while (c->next_item < f->n) {
        const ckpt_item *x = f->items[c->next_item];
        int64_t size = cr_dtype_size(x->t->dtype), room = (w->window - (int64_t)c->bytes) / size;
        int64_t n = x->n - c->done;
        if (n > CKPT_PIECE) n = CKPT_PIECE;
        if (n > room) n = room;
        if (n == 0 && c->done < x->n) break; /* the window is full */
        if (n > 0) {
            s->v = grow(s->v, s->n, &s->cap, sizeof *s->v);
            s->v[s->n++] = (span){x->t, x->first + c->done, n, c->bytes};
        }
        c->bytes += (size_t)(n * size);
        c->done += n;
        if (c->done < x->n) continue;
        c->next_item++;
        c->done = 0;
    }
    c->moved += (int64_t)c->bytes;
    c->last = c->next_item == f->n;
    if (!c->last) return;
    c->next_file++;
    c->next_item = 0;
    c->moved = 0;
}

static void add_task(work *w, const span *s, char *to, size_t at) {
    w->tasks = grow(w->tasks, w->n_tasks, &w->cap_tasks, sizeof *w->tasks);
    w->tasks[w->n_tasks++] = (task){*s, to, at};
}

/* Reads whole numbers, of which half as many fit into tmp. */
static void get_whole(const cr_ckpt_tensor *t, int64_t first, int64_t n, int64_t *tmp, char *at) {
    for (int64_t i = 0, m; i < n; i += m) {
        m = n - i < CKPT_PIECE / 2 ? n - i : CKPT_PIECE / 2;
        t->get_whole(t->ctx, first + i, m, tmp);
        memcpy(at + i * 8, tmp, (size_t)m * 8);
    }
}

/* Reads this holder's elements of a task. */
static void do_task(void *ctx, int64_t item, int thread) {
    const work *w = ctx;
    const task *k = &w->tasks[item];
    const cr_ckpt_tensor *t = k->s.t;
    int64_t size = cr_dtype_size(t->dtype), first, n;
    float *tmp = w->tmp + (int64_t)thread * CKPT_PIECE;
    char *to = k->to ? k->to : w->out + k->at;
    int of;
    ckpt_walk walk = {t, k->s.first, k->s.first + k->s.n, w->self, 0, 0};
    while (cr_ckpt_run(&walk, &first, &n, &of)) {
        char *at = k->to ? k->to + (first - k->s.first) * size : to;
        if (t->get_whole) {
            get_whole(t, first, n, (int64_t *)(void *)tmp, at);
            continue;
        }
        bool direct = t->dtype == CR_DT_F32 && (uintptr_t)at % sizeof(float) == 0;
        t->get(t->ctx, first, n, direct ? (float *)(void *)at : tmp);
        if (!direct) cr_dtype_from_f32(t->dtype, tmp, n, at);
        if (!k->to) to += n * size;
    }
}

/* Counts bytes of a span by the holder that has them. */
static void count(const span *s, size_t *bytes) {
    const cr_ckpt_tensor *t = s->t;
    for (int p = 0; p < t->n_parts; p++) {
        if (t->parts[p].row * t->part_width >= s->first + s->n) break;
        bytes[t->parts[p].holder] +=
            (size_t)(cr_ckpt_in_part(t, &t->parts[p], s->first, s->first + s->n) *
                     cr_dtype_size(t->dtype));
    }
}

/* Puts what came from the others into the window. */
static void unpack(const work *w, char *window) {
    memcpy(w->pos, w->in_at, sizeof *w->pos * (size_t)w->n);
    for (int i = 0; i < w->mine.n; i++) {
        const span *s = &w->mine.v[i];
        int64_t size = cr_dtype_size(s->t->dtype), first, n;
        int of;
        ckpt_walk walk = {s->t, s->first, s->first + s->n, -1, 0, 0};
        while (cr_ckpt_run(&walk, &first, &n, &of)) {
            if (of < 0 || of == w->self) continue;
            memcpy(window + s->at + (size_t)((first - s->first) * size), w->in + w->pos[of],
                   (size_t)(n * size));
            w->pos[of] += (size_t)(n * size);
        }
    }
}

/* Lists what the others need of this holder in a round. Returns whether one of them has a window.
 */
static bool plan_sends(work *w) {
    bool any = false;
    for (int h = 0; h < w->n; h++) {
        w->out_at[h + 1] = w->out_at[h];
        if (h == w->self) continue;
        next_window(w, h, &w->cursors[h], &w->other);
        any = any || w->cursors[h].any;
        for (int i = 0; i < w->other.n; i++) {
            const span *s = &w->other.v[i];
            memset(w->pos, 0, sizeof *w->pos * (size_t)w->n);
            count(s, w->pos);
            if (w->pos[w->self] == 0) continue;
            add_task(w, s, NULL, w->out_at[h + 1]);
            w->out_at[h + 1] += w->pos[w->self];
        }
    }
    return any;
}

static cr_code fit_sends(work *w, cr_err *err) {
    void *out;
    if (w->out_at[w->n] <= w->cap_out) return CR_OK;
    CR_TRY(cr_try_alloc(&out, w->out_at[w->n], "rows for other ranks", err));
    cr_free(w->out);
    w->out = out;
    w->cap_out = w->out_at[w->n];
    return CR_OK;
}

static void plan_receives(work *w) {
    memset(w->pos, 0, sizeof *w->pos * (size_t)w->n);
    for (int i = 0; i < w->mine.n; i++)
        count(&w->mine.v[i], w->pos);
    w->pos[w->self] = 0;
    for (int h = 0; h < w->n; h++)
        w->in_at[h + 1] = w->in_at[h] + w->pos[h];
}

/* Collective: has a holder failed? Before each exchange all must know. */
static bool failed(const work *w, cr_code mine) {
    const cr_meet *m = w->o->meet;
    bool bad = mine != CR_OK;
    char *all = (char *)w->pos; /* it has room for a byte per holder */
    if (!w->cut->travels) return bad;
    memset(all, 0, (size_t)w->n);
    all[w->self] = (char)bad;
    m->gather(m->ctx, all, w->vote_at);
    for (int h = 0; h < w->n; h++)
        bad = bad || all[h];
    return bad;
}

/* Lists what this holder reads for its own window. Returns where the window lies. */
static char *plan_own(work *w) {
    const cursor *me = &w->cursors[w->self];
    char *to = w->o->where && me->any ? w->o->where[me->file] + me->from : w->buffer;
    for (int i = 0; i < w->mine.n; i++)
        add_task(w, &w->mine.v[i], to + w->mine.v[i].at, 0);
    return to;
}

static cr_code rounds(work *w, cr_err *err) {
    const ckpt_fill *o = w->o;
    cursor *me = &w->cursors[w->self];
    for (cr_code code = CR_OK;;) {
        w->n_tasks = 0;
        next_window(w, w->self, me, &w->mine);
        bool any = me->any;
        if (w->cut->travels) {
            any = plan_sends(w) || any;
            plan_receives(w);
        }
        if (!any) return code;
        if (code == CR_OK && w->cut->travels) code = fit_sends(w, err);
        if (failed(w, code)) return code;
        char *window = plan_own(w);
        cr_pool_run(o->pool, w->n_tasks, do_task, w);
        if (w->cut->travels) {
            o->meet->exchange(o->meet->ctx, w->out, w->out_at, w->in, w->in_at);
            unpack(w, window);
        }
        if (me->any && !o->where)
            code = o->take(o->ctx, me->file, window, me->bytes, me->last, err);
    }
}

/* Nothing travels and everything has its place: one job for the pool, whose threads then wait for
 * each other once. */
static void copy_all(work *w) {
    cursor *me = &w->cursors[w->self];
    for (next_window(w, w->self, me, &w->mine); me->any; next_window(w, w->self, me, &w->mine))
        plan_own(w);
    cr_pool_run(w->o->pool, w->n_tasks, do_task, w);
}

cr_code cr_ckpt_fill(const ckpt_fill *o, cr_err *err) {
    work w = {.o = o, .cut = o->cut, .n = o->meet ? o->meet->n : 1};
    w.self = o->meet ? o->meet->self : 0;
    w.window = WINDOWS / w.n < WINDOW ? WINDOWS / w.n : WINDOW;
    if (w.window < SMALL) w.window = SMALL;
    if (o->round_bytes > 0) w.window = o->round_bytes;
    size_t holders = (size_t)w.n, threads = o->pool ? (size_t)cr_pool_threads(o->pool) : 1;
    w.cursors = cr_alloc(sizeof *w.cursors * holders, "holders");
    w.in_at = cr_alloc(sizeof *w.in_at * (holders + 1), "holders");
    w.out_at = cr_alloc(sizeof *w.out_at * (holders + 1), "holders");
    w.pos = cr_alloc(sizeof *w.pos * (holders + 1), "holders");
    w.vote_at = cr_alloc(sizeof *w.vote_at * (holders + 1), "holders");
    for (size_t h = 0; h <= holders; h++)
        w.vote_at[h] = h;
    void *tmp = NULL, *buffer = NULL, *in = NULL;
    cr_code code = cr_try_alloc(&tmp, threads * CKPT_PIECE * sizeof(float), "tensor pieces", err);
    if (code == CR_OK && !o->where)
        code = cr_try_alloc(&buffer, (size_t)w.window, "a part of a file", err);
    if (code == CR_OK && w.cut->travels)
        code = cr_try_alloc(&in, (size_t)w.window, "rows of other ranks", err);
    w.tmp = tmp;
    w.buffer = buffer;
    w.in = in;
    if (!failed(&w, code)) {
        if (o->where && !w.cut->travels)
            copy_all(&w);
        else
            code = rounds(&w, err);
    }
    cr_free(w.vote_at);
    cr_free(w.cursors);
    cr_free(w.in_at);
    cr_free(w.out_at);
    cr_free(w.pos);
    cr_free(w.tmp);
    cr_free(w.buffer);
    cr_free(w.in);
    cr_free(w.out);
    cr_free(w.tasks);
    cr_free(w.mine.v);
    cr_free(w.other.v);
    return code;
}
