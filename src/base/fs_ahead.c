/*
 * fs_ahead.c - reads from a store that is far, with few large requests that are made before they
 * are needed.
 *
 * A file is cut into blocks. A piece is a run of blocks that one request fetches; a table leads
 * from each block to its piece. A read copies from pieces and waits for those that are being
 * fetched; missing blocks become a request at the front of the queue. Hints become requests at its
 * end. Some threads work through the queue. All files share one queue, because they share one
 * network link.
 *
 * Memory is bounded for all files together. A hint makes room only by dropping pieces that were
 * read from: a piece that was not would have to be fetched twice. A read that must be served also
 * drops pieces that no read has used.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs_int.h"
#include "base/guard.h"

#define BLOCK ((int64_t)64 << 10)
#define GAP   ((int64_t)1 << 20)
#define MOST  ((int64_t)8 << 20)
/* the smallest request that a read waits for: a smaller one is not faster */
#define LEAST ((int64_t)512 << 10)
/* a read of the end of a file also fetches this much before it: footers are there */
#define TAIL ((int64_t)256 << 10)
/* fetched in advance for a reader that goes from front to back */
#define WINDOW     ((int64_t)32 << 20)
#define BUDGET     ((int64_t)256 << 20)
#define N_REQUESTS 16

typedef enum piece_state { WAITING, LOADING, READY } piece_state;
typedef struct piece {
    cr_ahead *file;
    int64_t first, n; /* blocks */
    char *data;
    size_t size, got;
    piece_state state;
    int e;
    cr_fs_why why;
    bool used;                   /* a read copied from it */
    int refs;                    /* readers that copy from it or wait for it */
    struct piece *newer, *older; /* neighbours in the order of use */
    struct piece *next;          /* next piece in the queue */
} piece;

struct cr_ahead {
    const cr_store *s;
    void *file;
    int64_t size, n_blocks, gap, most;
    piece **at;   /* the piece of each block; NULL: the block was not asked for */
    int64_t next; /* where a read from front to back will continue */
    int64_t window;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    piece *head, *tail;     /* the queue of waiting pieces */
    piece *newest, *oldest; /* ends of the list of all pieces, in the order of use */
    int64_t bytes;
    int n_threads, n_idle;
} io = {.lock = PTHREAD_MUTEX_INITIALIZER,
        .work = PTHREAD_COND_INITIALIZER,
        .done = PTHREAD_COND_INITIALIZER};

/* ---- pieces; the caller holds the lock ---- */

static void unlink_piece(piece *p) {
    *(p->newer ? &p->newer->older : &io.newest) = p->older;
    *(p->older ? &p->older->newer : &io.oldest) = p->newer;
    p->newer = p->older = NULL;
}

static void make_newest(piece *p) {
    p->older = io.newest;
    p->newer = NULL;
    *(io.newest ? &io.newest->newer : &io.oldest) = p;
    io.newest = p;
}

static void drop(piece *p) {
    cr_ahead *a = p->file;
    for (int64_t b = p->first; b < p->first + p->n; b++)
        if (a->at[b] == p) a->at[b] = NULL;
    unlink_piece(p);
    io.bytes -= (int64_t)p->size;
    cr_free(p->data);
    cr_free(p);
}

/* make_room returns false when n more bytes do not fit. With `unread` it may also drop pieces that
 * no read has used. */
static bool make_room(int64_t n, bool unread) {
    for (int all = 0; all <= (unread ? 1 : 0); all++)
        for (piece *p = io.oldest, *newer; p && io.bytes + n > BUDGET; p = newer) {
            newer = p->newer;
            if (p->state == READY && p->refs == 0 && (p->used || all)) drop(p);
        }
    return io.bytes + n <= BUDGET;
}

static void enqueue(piece *p, bool first) {
    if (first) {
        p->next = io.head;
        io.head = p;
        if (!io.tail) io.tail = p;
    } else {
        *(io.tail ? &io.tail->next : &io.head) = p;
        io.tail = p;
    }
    pthread_cond_signal(&io.work);
}

/* promote moves a piece that a read waits for to the front of the queue. */
static void promote(piece *p) {
    piece **at = &io.head, *before = NULL;
    while (*at && *at != p) {
        before = *at;
        at = &before->next;
    }
    if (!*at || !before) return;
    before->next = p->next;
    if (io.tail == p) io.tail = before;
    p->next = io.head;
    io.head = p;
}

/* add makes a piece of blocks [first, last), none of which has one; NULL: there is no room. */
static piece *add(cr_ahead *a, int64_t first, int64_t last, bool wanted) {
    int64_t from = first * BLOCK, to = last * BLOCK < a->size ? last * BLOCK : a->size;
    void *data;
    if (!make_room(to - from, wanted) && !wanted) return NULL;
    if (cr_try_alloc(&data, (size_t)(to - from), "a part of a file", NULL) != CR_OK) return NULL;
    piece *p = cr_alloc(sizeof *p, "a part of a file");
    *p = (piece){
        .file = a, .first = first, .n = last - first, .data = data, .size = (size_t)(to - from)};
    for (int64_t b = first; b < last; b++)
        a->at[b] = p;
    io.bytes += (int64_t)p->size;
    make_newest(p);
    enqueue(p, wanted);
    return p;
}

/* fetch asks for the blocks of [first, last) that are missing, in requests of at most a->most. */
static void fetch(cr_ahead *a, int64_t first, int64_t last) {
    int64_t most = a->most / BLOCK;
    for (int64_t b = first; b < last;) {
        int64_t end = b;
        while (end < last && !a->at[end] && end - b < most)
            end++;
        if (end == b)
            b++;
        else if (!add(a, b, end, false))
            return;
        else
            b = end;
    }
}

/* ---- threads ---- */

/* load fetches a piece; called without the lock. */
static void load(piece *p) {
    const cr_ahead *a = p->file;
    while (p->got < p->size) {
        size_t k = 0;
        p->e = cr_fs_pread_some(a->s, a->file, p->first * BLOCK + (int64_t)p->got, p->data + p->got,
                                p->size - p->got, &k, &p->why);
        if (p->e != 0 || k == 0) return;
        p->got += k;
    }
}

static void run_first(void) {
    piece *p = io.head;
    io.head = p->next;
    if (!io.head) io.tail = NULL;
    p->next = NULL;
    p->state = LOADING;
    pthread_mutex_unlock(&io.lock);
    load(p);
    pthread_mutex_lock(&io.lock);
    p->state = READY;
    pthread_cond_broadcast(&io.done);
}

static void *work(void *none) {
    pthread_mutex_lock(&io.lock);
    for (;;) {
        while (!io.head) {
            io.n_idle++;
            pthread_cond_wait(&io.work, &io.lock);
            io.n_idle--;
        }
        run_first();
    }
    return none;
}

/* start makes threads while there is work for them. The threads live as long as the process. */
static void start(const cr_store *s) {
    int most = s->n_requests > 0 ? s->n_requests : N_REQUESTS, waiting = 0;
    for (piece *p = io.head; p; p = p->next)
        waiting++;
    sigset_t all, old;
    sigfillset(&all);
    cr_guard_signals(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (; waiting > io.n_idle && io.n_threads < most; io.n_threads++, waiting--) {
        pthread_t t;
        if (pthread_create(&t, NULL, work, NULL) != 0) break;
        pthread_detach(t);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* ---- files ---- */

cr_ahead *cr_ahead_new(const cr_store *s, void *file, int64_t size) {
    cr_ahead *a = cr_alloc(sizeof *a, "an open file");
    *a = (cr_ahead){.s = s,
                    .file = file,
                    .size = size,
                    .n_blocks = (size + BLOCK - 1) / BLOCK,
                    .gap = s->gap_bytes > 0 ? s->gap_bytes : GAP,
                    .most = s->most_bytes > BLOCK ? s->most_bytes : MOST,
                    .next = -1};
    a->at = cr_alloc(((size_t)a->n_blocks + 1) * sizeof *a->at, "the parts of a file");
    return a;
}

void cr_ahead_free(cr_ahead *a) {
    pthread_mutex_lock(&io.lock);
    /* remove the requests that did not begin from the queue */
    piece *keep = NULL, *last = NULL;
    for (piece *p = io.head, *next; p; p = next) {
        next = p->next;
        p->next = NULL;
        if (p->file == a)
            p->state = READY;
        else {
            *(last ? &last->next : &keep) = p;
            last = p;
        }
    }
    io.head = keep;
    io.tail = last;
    for (int64_t b = 0; b < a->n_blocks; b++) {
        while (a->at[b] && a->at[b]->state != READY)
            pthread_cond_wait(&io.done, &io.lock);
        if (a->at[b]) drop(a->at[b]);
    }
    pthread_mutex_unlock(&io.lock);
    cr_free(a->at);
    cr_free(a);
}

static int by_place(const void *x, const void *y) {
    int64_t a = ((const cr_fs_range *)x)->at, b = ((const cr_fs_range *)y)->at;
    return a < b ? -1 : a > b;
}

void cr_ahead_hint(cr_ahead *a, cr_fs_range *v, int n) {
    int64_t first = 0, last = 0; /* blocks of the ranges joined so far */
    if (n > 1) qsort(v, (size_t)n, sizeof *v, by_place);
    pthread_mutex_lock(&io.lock);
    for (int i = 0; i < n; i++) {
        int64_t at = v[i].at > 0 ? v[i].at : 0, end = v[i].at + v[i].n;
        if (end > a->size) end = a->size;
        if (at >= end) continue;
        int64_t from = at / BLOCK, to = (end + BLOCK - 1) / BLOCK;
        if (from * BLOCK - last * BLOCK > a->gap) {
            fetch(a, first, last);
            first = from;
        } else if (last == first)
            first = from;
        if (to > last) last = to;
    }
    fetch(a, first, last);
    start(a->s);
    pthread_mutex_unlock(&io.lock);
}

/* want asks for the blocks that a read waits for, and for more after them, because a small request
 * takes as long. The end of a file is fetched together with the bytes before it. */
static piece *want(cr_ahead *a, int64_t first, int64_t last) {
    int64_t most = a->most / BLOCK, end = first;
    if (last < first + LEAST / BLOCK) last = first + LEAST / BLOCK;
    if (last > a->n_blocks) last = a->n_blocks;
    while (end < last && !a->at[end] && end - first < most)
        end++;
    while (end == a->n_blocks && first > 0 && !a->at[first - 1] && end - first < TAIL / BLOCK)
        first--;
    return add(a, first, end, true);
}

/* copy_from waits for the piece of block at / BLOCK and copies its part of [at, at + n). */
static int copy_from(cr_ahead *a, int64_t at, char *buf, size_t n, size_t *got, cr_fs_why *why) {
    int64_t b = at / BLOCK;
    piece *p = a->at[b];
    if (!p) p = want(a, b, (at + (int64_t)n + BLOCK - 1) / BLOCK);
    if (!p) return ENOMEM;
    if (p->state == WAITING) promote(p);
    start(a->s);
    p->refs++;
    while (p->state != READY) {
        if (io.n_threads == 0 && io.head) /* no thread could be made: this thread does the work */
            run_first();
        else
            pthread_cond_wait(&io.done, &io.lock);
    }
    int e = p->e;
    *why = p->why;
    size_t from = (size_t)(at - p->first * BLOCK), k = p->got > from ? p->got - from : 0;
    if (k > n) k = n;
    if (k > 0) {
        pthread_mutex_unlock(&io.lock);
        memcpy(buf, p->data + from, k);
        pthread_mutex_lock(&io.lock);
        e = 0; /* the failure lies after these bytes */
    }
    p->used = true;
    p->refs--;
    unlink_piece(p);
    make_newest(p);
    if (p->e != 0 && p->refs == 0) drop(p); /* a later read tries again */
    *got = k;
    return e;
}

/* whole_requests tells up to which block a reader at `from` is served in advance. The window moves
 * on with every small read, and to follow each of them would be as many small requests; so what is
 * missing is asked for when it makes whole requests, or is the rest of the file. `need` is where
 * the read ends, `to` where the window does. */
static int64_t whole_requests(const cr_ahead *a, int64_t from, int64_t need, int64_t to) {
    int64_t b = from / BLOCK, last = (to + BLOCK - 1) / BLOCK, must = (need + BLOCK - 1) / BLOCK;
    int64_t one = (a->window / 4 < a->most ? a->window / 4 : a->most) / BLOCK;
    if (to == a->size || one < 1) return last;
    while (b < last && a->at[b])
        b++;
    int64_t end = b + (last - b) / one * one;
    return end > must ? end : must < last ? must : last;
}

int cr_ahead_read(cr_ahead *a, int64_t at, void *buf, size_t n, size_t *got, cr_fs_why *why) {
    int e = 0;
    *got = 0;
    *why = (cr_fs_why){0};
    if (at < 0 || at >= a->size) return 0;
    if (n > (uint64_t)(a->size - at)) n = (size_t)(a->size - at);
    pthread_mutex_lock(&io.lock);
    bool on = at == a->next;
    a->window = !on ? 0 : a->window == 0 ? 2 * LEAST : a->window < WINDOW ? 2 * a->window : WINDOW;
    a->next = at + (int64_t)n;
    while (*got < n && e == 0) {
        /* ask for the rest of a long read, and for what a reader that goes on will need next */
        int64_t from = at + (int64_t)*got, left = (int64_t)(n - *got), to = from + left + a->window;
        if (left > LEAST || a->window > 0) {
            if (to - from > WINDOW) to = from + WINDOW;
            if (to > a->size) to = a->size;
            if (!a->at[from / BLOCK]) want(a, from / BLOCK, (from + left + BLOCK - 1) / BLOCK);
            fetch(a, from / BLOCK, whole_requests(a, from, from + left, to));
        }
        size_t k = 0;
        e = copy_from(a, from, (char *)buf + *got, (size_t)left, &k, why);
        *got += k;
        if (e == 0 && k == 0) break; /* the file is shorter than it was */
    }
    pthread_mutex_unlock(&io.lock);
    return e;
}
