/*
 * parts_read.c - the store parts://: files of this host are read here, others from the rank that
 * has them.
 *
 * Connections are kept and used again; threads that read at the same time have one each. A rank is
 * tried by all its addresses, and the one that worked is tried first from then on. Answers of a
 * rank that does not come are errors that the door to stores tries again.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fs.h"
#include "launch/parts_int.h"

#define CONNECT_MS 5000
#define SILENT_S   300 /* until an answer has to go on; syncing a large file takes a while */
#define MOST_KEPT  8   /* connections to a rank */

typedef struct way {
    int kept[MOST_KEPT];
    int n;
    int first; /* the address that worked */
} way;

static struct {
    pthread_mutex_t lock;
    const cr_parts_view *v; /* NULL: no files are in use */
    way *ways;              /* by rank */
} parts = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int by_name(const void *name, const void *file) {
    return strcmp(name, ((const cr_part_file *)file)->name);
}

static const cr_part_file *find(const char *path) {
    if (!parts.v || parts.v->n == 0) return NULL;
    return bsearch(path, parts.v->files, (size_t)parts.v->n, sizeof *parts.v->files, by_name);
}

/* ---- connections ---- */

/* Moves n bytes; returns 0 or an errno value. */
static int move(int fd, void *data, size_t n, bool out) {
    char *p = data;
    while (n > 0) {
        ssize_t k = out ? send(fd, p, n, MSG_NOSIGNAL) : recv(fd, p, n, 0);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return errno == EAGAIN ? ETIMEDOUT : errno;
        if (k == 0) return ECONNRESET;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

static int dial(int *fd, const char *host, int port) {
    struct sockaddr_storage ss = {0};
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)&ss;
    struct sockaddr_in *four = (struct sockaddr_in *)(void *)&ss;
    bool is6 = strchr(host, ':') != NULL;
    const int on = 1;
    const struct timeval silent = {.tv_sec = SILENT_S};
    ss.ss_family = is6 ? AF_INET6 : AF_INET;
    if (inet_pton(ss.ss_family, host, is6 ? (void *)&six->sin6_addr : &four->sin_addr) != 1)
        return EINVAL;
    *(is6 ? &six->sin6_port : &four->sin_port) = htons((uint16_t)port);
    *fd = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0) return errno;
    int e = connect(*fd, (struct sockaddr *)&ss, is6 ? sizeof *six : sizeof *four) ? errno : 0;
    if (e == EINPROGRESS) {
        struct pollfd w = {.fd = *fd, .events = POLLOUT};
        socklen_t n = sizeof e;
        if (poll(&w, 1, CONNECT_MS) != 1)
            e = ETIMEDOUT;
        else if (getsockopt(*fd, SOL_SOCKET, SO_ERROR, &e, &n) != 0)
            e = errno;
    }
    if (e == 0 && (fcntl(*fd, F_SETFL, 0) != 0 ||
                   setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &silent, sizeof silent) != 0 ||
                   setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &silent, sizeof silent) != 0 ||
                   setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0))
        e = errno;
    if (e) close(*fd);
    return e;
}

/* Proves both sides to each other; EPROTO: somebody else listens there. */
static int greet(int fd, int rank) {
    uint8_t mine[CR_NONCE], in[CR_NONCE + CR_PROOF], proof[CR_PROOF];
    char who[40];
    cr_err err;
    if (cr_random(mine, sizeof mine, &err) != CR_OK) return EIO;
    int e = move(fd, mine, sizeof mine, true);
    if (e == 0) e = move(fd, in, sizeof in, false);
    if (e) return e;
    cr_part_who(who, true, rank);
    cr_prove(parts.v->key, who, mine, in, proof);
    if (!cr_same_secret(proof, in + CR_NONCE, CR_PROOF)) return EPROTO;
    cr_part_who(who, false, rank);
    cr_prove(parts.v->key, who, mine, in, proof);
    return move(fd, proof, sizeof proof, true);
}

/* Asks a rank and takes its answer, at most `most` bytes behind the code. */
static int request(int fd, const uint64_t ask[4], const void *data, void *buf, size_t most,
                   size_t *got, int *code) {
    uint8_t out[CR_PART_ASK], head[CR_PART_HEAD];
    for (int i = 0; i < 4; i++)
        cr_part_put(out + 8 * i, ask[i]);
    int e = move(fd, out, sizeof out, true);
    if (e == 0 && data) e = move(fd, (void *)(uintptr_t)data, (size_t)ask[3], true);
    if (e == 0) e = move(fd, head, sizeof head, false);
    if (e) return e;
    uint64_t told = cr_part_get(head), n = cr_part_get(head + 8);
    if (told > 4095 || n > most) return EPROTO;
    if (n > 0) e = move(fd, buf, (size_t)n, false);
    if (e) return e;
    *code = (int)told;
    if (got) *got = (size_t)n;
    return 0;
}

/* Connects to a rank by one of its addresses. */
static int reach(int *fd, int rank) {
    const char *list = parts.v->addr + (size_t)rank * CR_PARTS_ADDR;
    int n = 0, port, e = EHOSTUNREACH;
    char host[64];
    for (const char *s = list; sscanf(s, "%63s %d", host, &port) == 2; n++) {
        s += strlen(host) + 1;
        s += strcspn(s, " ");
    }
    pthread_mutex_lock(&parts.lock);
    int first = parts.ways[rank].first;
    pthread_mutex_unlock(&parts.lock);
    for (int i = 0; i < n; i++) {
        int k = (first + i) % n;
        const char *s = list;
        for (int skip = 0; skip < 2 * k; skip++)
            s += strcspn(s, " ") + 1;
        if (sscanf(s, "%63s %d", host, &port) != 2) return EPROTO;
        e = dial(fd, host, port);
        if (e) continue;
        e = greet(*fd, rank);
        if (e == 0) {
            pthread_mutex_lock(&parts.lock);
            parts.ways[rank].first = k;
            pthread_mutex_unlock(&parts.lock);
            return 0;
        }
        close(*fd);
    }
    return e;
}

static int take_way(int rank) {
    pthread_mutex_lock(&parts.lock);
    way *w = &parts.ways[rank];
    int fd = w->n > 0 ? w->kept[--w->n] : -1;
    pthread_mutex_unlock(&parts.lock);
    return fd;
}

static void keep_way(int rank, int fd) {
    pthread_mutex_lock(&parts.lock);
    way *w = &parts.ways[rank];
    bool room = w->n < MOST_KEPT;
    if (room) w->kept[w->n++] = fd;
    pthread_mutex_unlock(&parts.lock);
    if (!room) close(fd);
}

void cr_parts_read_end(void) {
    for (int r = 0; parts.v && r < parts.v->n_ranks; r++)
        for (int i = 0; i < parts.ways[r].n; i++)
            close(parts.ways[r].kept[i]);
    cr_free(parts.ways);
    parts.ways = NULL;
    parts.v = NULL;
}

/* ---- the store ---- */

typedef struct part_in {
    const cr_part_file *f;
    int fd; /* of a file of this host; -1: another rank has it */
} part_in;

static int part_stat(const char *path, bool follow, cr_fs_stat *st, cr_fs_why *why) {
    (void)follow;
    (void)why;
    const cr_part_file *f = find(path);
    *st = (cr_fs_stat){0};
    if (!f) return ENOENT;
    *st = (cr_fs_stat){.kind = CR_FS_FILE, .size = f->size, .version = f->digest};
    return 0;
}

static int part_open(void **file, const char *path, bool wait, cr_fs_stat *st, cr_fs_why *why) {
    (void)wait;
    int e = part_stat(path, true, st, why), fd = -1;
    const cr_part_file *f = find(path);
    if (e == 0 && f->mine) e = cr_part_open(f, &fd);
    if (e) return e;
    part_in *in = cr_alloc(sizeof *in, "an open file");
    *in = (part_in){f, fd};
    *file = in;
    return 0;
}

static int part_fail(const cr_part_file *f, int e, cr_fs_why *why) {
    if (e == ESTALE || e == ENOENT)
        snprintf(why->text, sizeof why->text,
                 "'%.80s' of rank %d changed while the job was using it", f->path, f->owner);
    else
        snprintf(why->text, sizeof why->text,
                 "rank %d, which has '%.80s', cannot be reached by TCP: %s", f->owner, f->path,
                 strerror(e));
    if (e == ESTALE || e == ENOENT)
        snprintf(why->cure, sizeof why->cure, "; keep the files as they are and start again");
    return e;
}

static int part_pread(void *file, int64_t at, void *buf, size_t n, size_t *got, cr_fs_why *why) {
    const part_in *in = file;
    *got = 0;
    if (in->fd >= 0) {
        ssize_t k;
        do
            k = pread(in->fd, buf, n, (off_t)at);
        while (k < 0 && errno == EINTR);
        if (k < 0) return errno;
        *got = (size_t)k;
        return 0;
    }
    int code = 0, fd = take_way(in->f->owner), e = fd >= 0 ? 0 : reach(&fd, in->f->owner);
    if (e) return part_fail(in->f, e, why);
    if (n > CR_PART_MOST) n = CR_PART_MOST;
    const uint64_t ask[4] = {CR_PART_READ, (uint64_t)(in->f - parts.v->files), (uint64_t)at, n};
    e = request(fd, ask, NULL, buf, n, got, &code);
    if (e)
        close(fd);
    else
        keep_way(in->f->owner, fd);
    if (e == 0) e = code;
    return e ? part_fail(in->f, e, why) : 0;
}

static void part_close(void *file) {
    part_in *in = file;
    if (in->fd >= 0) close(in->fd);
    cr_free(in);
}

static int part_list(const char *path, cr_fs_each each, void *ctx, cr_fs_why *why) {
    (void)each;
    (void)ctx;
    (void)why;
    return find(path) ? ENOTDIR : ENOENT;
}

static int part_remove(const char *path, bool tree, cr_fs_why *why) {
    (void)path;
    (void)tree;
    (void)why;
    return EROFS;
}

/* A file in a folder of another rank. Its connection is its own: with it the file disappears, so a
 * write that failed cannot be tried again. */
typedef struct part_out {
    int fd, rank;
} part_out;

/* Makes a request of a file that is written; a failure is final. */
static int ask_out(part_out *o, cr_part_op op, uint64_t a, const void *data, size_t n,
                   cr_fs_why *why) {
    const uint64_t ask[4] = {op, a, 0, n};
    int code = 0, e = request(o->fd, ask, data, NULL, 0, NULL, &code);
    if (e == 0) return code;
    snprintf(why->text, sizeof why->text, "rank %d, which writes it, cannot be reached by TCP: %s",
             o->rank, strerror(e));
    return EIO;
}

/* path: parts://@RANK/PATH */
static int part_put(void **out, const char *path, unsigned flags, cr_fs_why *why) {
    static const char before[] = CR_PARTS_SCHEME "://@";
    const char *at = path + sizeof before - 1;
    char *end;
    if (strncmp(path, before, sizeof before - 1) != 0 || flags & ~(unsigned)CR_PUT_NEW)
        return EROFS;
    long rank = strtol(at, &end, 10);
    if (!parts.v || end == at || *end != '/' || rank < 0 || rank >= parts.v->n_ranks) return EINVAL;
    part_out *o = cr_alloc(sizeof *o, "an output file");
    o->rank = (int)rank;
    int e = reach(&o->fd, o->rank);
    if (e) {
        snprintf(why->text, sizeof why->text,
                 "rank %d, which writes it, cannot be reached by TCP: %s", o->rank, strerror(e));
    } else {
        e = ask_out(o, CR_PART_PUT, flags, end + 1, strlen(end + 1), why);
        if (e) close(o->fd);
    }
    if (e)
        cr_free(o);
    else
        *out = o;
    return e;
}

static int part_write(void *out, const void *data, size_t n, cr_fs_why *why) {
    int e = 0;
    for (size_t at = 0; at < n && e == 0; at += CR_PART_MOST)
        e = ask_out(out, CR_PART_WRITE, 0, (const char *)data + at,
                    n - at < CR_PART_MOST ? n - at : CR_PART_MOST, why);
    return e;
}

static int part_commit(void *out, bool sync, cr_fs_why *why) {
    return ask_out(out, CR_PART_COMMIT, sync, NULL, 0, why);
}

static void part_end(void *out) {
    part_out *o = out;
    cr_fs_why why;
    (void)ask_out(o, CR_PART_END, 0, NULL, 0, &why);
    close(o->fd);
    cr_free(o);
}

char *cr_parts_dir(int rank, const char *path, cr_arena *a) {
    return parts.v ? cr_arena_printf(a, CR_PARTS_SCHEME "://@%d/%s", rank, path) : NULL;
}

static const cr_store part_store = {
    .scheme = CR_PARTS_SCHEME,
    .can = CR_FS_FAR,
    .tries = 4,
    .wait_ms = 200,
    .gap_bytes = (int64_t)256 << 10,
    .most_bytes = (int64_t)CR_PART_MOST,
    .n_requests = 4,
    .open = part_open,
    .pread = part_pread,
    .close = part_close,
    .stat = part_stat,
    .list = part_list,
    .remove = part_remove,
    .put = part_put,
    .write = part_write,
    .commit = part_commit,
    .end = part_end,
};

void cr_parts_read_begin(const cr_parts_view *v) {
    parts.v = v;
    parts.ways = cr_alloc((size_t)v->n_ranks * sizeof *parts.ways, "ways to other ranks");
    cr_store_add(&part_store);
}
