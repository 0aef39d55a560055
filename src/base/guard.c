/*
 * guard.c - one place per thread that says which call runs in it, and the signal handlers that read
 * it.
 *
 * Places are in a fixed array and not in the threads' own memory, because the handler of SIGALRM
 * looks at the places of all threads, and threads end. A handler only calls functions that POSIX
 * allows there: it writes its line with write() and puts the numbers together itself. Each place
 * has a stack for the handler, because a library may have used up the stack of the thread.
 */
#include "base/guard.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

#define PLACES      64         /* threads with a place; further threads are not named */
#define STACK_BYTES (32 << 10) /* registers of AVX-512 and AMX take 11 KiB of it */
#define MOST_TEXT   200        /* bytes of a name */

typedef struct place {
    atomic_bool taken;
    _Atomic(const cr_guard *) now; /* the innermost call; NULL: none runs */
    atomic_uint call;              /* counts the calls of this thread */
    unsigned seen; /* value of call when the handler looked last; 0: it did not look yet */
    char stack[STACK_BYTES];
} place;

static place places[PLACES];
static _Thread_local place *mine;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* its destructor gives the place back when the thread ends */

/* ---- the line, written only with functions that a handler may call ---- */

typedef struct line {
    char text[1200];
    size_t n;
} line;

static void put(line *l, const char *s) {
    for (int left = MOST_TEXT; s && *s && left > 0 && l->n < sizeof(l->text) - 1; s++, left--)
        l->text[l->n++] = (unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s;
}

static void put_number(line *l, int64_t x) {
    char digits[24];
    cr_fmt_i64(digits, x);
    put(l, digits);
}

static void put_call(line *l, const cr_guard *g) {
    put(l, g->function);
    if (g->of) put(l, " of ");
    put(l, g->of);
    if (g->n_rows <= 0) return;
    if (!g->path) {
        put(l, ", in rows ");
        put_number(l, g->first_row);
        put(l, " to ");
        put_number(l, g->first_row + g->n_rows - 1);
        put(l, " (from 0) of a batch");
        return;
    }
    int64_t row = g->row ? *g->row : 0;
    if (row < 0 || row >= g->n_rows) row = g->n_rows - 1;
    put(l, ", at ");
    /* the row lies in a later block of the file: the number of rows before it is not known */
    if (g->first_row < 0) {
        put(l, "row ");
        put_number(l, row + 1);
        put(l, " of a block of ");
        put(l, g->path);
        return;
    }
    put(l, g->path);
    put(l, g->lines ? ":" : ", row (from 0) ");
    put_number(l, g->lines ? g->lines[row] : g->first_row + row);
}

static void write_line(line *l) {
    l->text[l->n++] = '\n';
    for (size_t at = 0; at < l->n;) {
        ssize_t k = write(STDERR_FILENO, l->text + at, l->n - at);
        if (k <= 0) break;
        at += (size_t)k;
    }
}

/* ---- places ---- */

static void give_back(void *p) {
    atomic_store(&((place *)p)->now, NULL);
    atomic_store(&((place *)p)->taken, false);
}

static void make_key(void) {
    /* without the key, places run out and a crash has no name */
    (void)pthread_key_create(&key, give_back);
}

static void take_place(void) {
    pthread_once(&once, make_key);
    for (int i = 0; i < PLACES && !mine; i++) {
        bool no = false;
        if (atomic_compare_exchange_strong(&places[i].taken, &no, true)) mine = &places[i];
    }
    if (!mine) return;
    (void)pthread_setspecific(key, mine);
    stack_t has, own = {.ss_sp = mine->stack, .ss_size = STACK_BYTES};
    /* a stack that is already there belongs to a sanitizer, which also removes it */
    if (sigaltstack(NULL, &has) == 0 && (has.ss_flags & SS_DISABLE)) (void)sigaltstack(&own, NULL);
}

void cr_guard_enter(cr_guard *g) {
    if (!mine) take_place();
    if (!mine) return;
    g->outer = atomic_load(&mine->now);
    /* 0 means "did not look yet" */
    if (atomic_fetch_add(&mine->call, 1) + 1 == 0) atomic_fetch_add(&mine->call, 1);
    atomic_store(&mine->now, g);
}

void cr_guard_leave(const cr_guard *g) {
    if (mine && atomic_load(&mine->now) == g) atomic_store(&mine->now, g->outer);
}

/* ---- crashes ---- */

static const struct {
    int sig;
    const char *name;
} crashes[] = {{SIGSEGV, "SIGSEGV"},
               {SIGBUS, "SIGBUS"},
               {SIGFPE, "SIGFPE"},
               {SIGILL, "SIGILL"},
               {SIGABRT, "SIGABRT"}};
#define N_CRASHES (sizeof(crashes) / sizeof(crashes[0]))
static struct sigaction before[N_CRASHES];

static const char *crash_name(int sig) {
    for (size_t i = 0; i < N_CRASHES; i++)
        if (crashes[i].sig == sig) return crashes[i].name;
    return "";
}

static void tell_crash(const cr_guard *g, int sig, int error) {
    line l = {.n = 0};
    if (g->no_checks && error == ENOMEM) {
        put(&l, "crank: no memory for ");
        put(&l, g->what);
        write_line(&l);
        _exit(1);
    }
    if (g->no_checks) return;
    put(&l, "crank: ");
    put(&l, g->what);
    put(&l, " crashed (");
    put(&l, crash_name(sig));
    put(&l, ") in ");
    put_call(&l, g);
    put(&l, g->own ? "; this is a mistake in crank: please report it with this line"
                   : "; correct the library, or leave it out");
    write_line(&l);
}

static void on_crash(int sig) {
    static atomic_flag told = ATOMIC_FLAG_INIT;
    const int error = errno; /* malloc sets errno, and little else does */
    const cr_guard *g = mine ? atomic_load(&mine->now) : NULL;
    /* threads that crash at the same time wait until the first one has written its line and ends
     * the process */
    while (g && atomic_flag_test_and_set(&told))
        pause();
    /* the signal gets its old meaning only after the line is written: another thread that crashes
     * in between would end the process before */
    if (g) tell_crash(g, sig, error);
    /* after the return the fault happens again and ends the process */
    for (size_t i = 0; i < N_CRASHES; i++)
        if (crashes[i].sig == sig) sigaction(sig, &before[i], NULL);
}

static void watch(void) {
    struct sigaction sa = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK};
    sigemptyset(&sa.sa_mask);
    for (size_t i = 0; i < N_CRASHES; i++)
        sigaction(crashes[i].sig, &sa, &before[i]);
}

void cr_guard_crashes(void) {
    static pthread_once_t done = PTHREAD_ONCE_INIT;
    pthread_once(&done, watch);
}

void cr_guard_signals(sigset_t *blocked) {
    for (size_t i = 0; i < N_CRASHES; i++)
        sigdelset(blocked, crashes[i].sig);
}

/* ---- calls that do not come back ---- */

static void look_again(void) {
    for (int i = 0; i < PLACES; i++)
        places[i].seen = atomic_load(&places[i].now) ? atomic_load(&places[i].call) : 0;
    alarm(CR_GUARD_SECONDS);
}

static void on_alarm(int sig) {
    (void)sig;
    for (int i = 0; i < PLACES; i++) {
        const cr_guard *g = atomic_load(&places[i].now);
        if (!g || places[i].seen == 0 || atomic_load(&places[i].call) != places[i].seen) continue;
        line l = {.n = 0};
        put(&l, "crank: asked to stop ");
        put_number(&l, CR_GUARD_SECONDS);
        put(&l, " s ago or more, and ");
        put(&l, g->what);
        put(&l, " does not come back from ");
        put_call(&l, g);
        put(&l, "; ended without waiting for it");
        write_line(&l);
        _exit(1);
    }
    look_again();
}

void cr_guard_stop(void) {
    struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigemptyset(&sa.sa_mask);
    sigaction(SIGALRM, &sa, NULL);
    look_again();
}
