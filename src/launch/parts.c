/*
 * parts.c - gives the data files of this host to the other ranks, and writes their files here.
 *
 * One thread has all connections and answers one request after the other: a disk is read in order
 * anyway, and ranks read ahead. A connection that does not prove itself in time is closed.
 */
#include "launch/parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/fs.h"
#include "base/guard.h"
#include "launch/parts_int.h"

#define MOST_LINKS 4096
#define PROOF_S    10.0 /* until a reader must have proven itself */

typedef struct reader {
    int fd;
    bool greeted, believed;
    double began;
    uint8_t in[CR_PART_ASK]; /* hello and proof, later a request */
    size_t n_in;
    uint8_t *more; /* bytes that follow a request: n_more of want_more */
    size_t n_more, want_more;
    uint8_t hello[CR_NONCE], mine[CR_NONCE];
    uint8_t *out; /* what is to be sent: [at, n_out) */
    size_t at, n_out;
    const cr_store *store; /* of a file that is written here, and its writer; NULL: none */
    void *file;
} reader;

_Static_assert(CR_NONCE == CR_PART_ASK && CR_PROOF == CR_PART_ASK, "what comes has one length");

struct cr_parts {
    cr_parts_view view;
    int self, listens, stop[2];
    pthread_t thread;
    bool runs, used;
    reader *v;
    int n, cap;
    _Atomic int64_t sent;
};

void cr_part_who(char out[40], bool server, int rank) {
    snprintf(out, 40, "part %s %d", server ? "server" : "reader", rank);
}

uint64_t cr_part_get(const uint8_t *p) {
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

void cr_part_put(uint8_t *p, uint64_t v) {
    for (int i = 0; i < 8; i++, v >>= 8)
        p[i] = (uint8_t)v;
}

int cr_part_open(const cr_part_file *f, int *fd) {
    struct stat st;
    *fd = open(f->path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0) return errno == ENOENT ? ESTALE : errno;
    if (fstat(*fd, &st) == 0 && st.st_size == f->size &&
        (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec == f->changed)
        return 0;
    close(*fd);
    *fd = -1;
    return ESTALE;
}

/* ---- one connection ---- */

static void drop(reader *r) {
    if (r->store) r->store->end(r->file); /* it was not committed, so it disappears */
    close(r->fd);
    cr_free(r->out);
    cr_free(r->more);
    *r = (reader){.fd = -1};
}

/* Makes room for an answer of n bytes. It lives until it was sent. */
static uint8_t *answer(reader *r, size_t n) {
    r->out = cr_alloc(n, "a part of a file");
    r->at = 0;
    r->n_out = n;
    return r->out;
}

/* Gives a part of a file, which is opened each time, so that another one in its place is found. */
static void serve_read(cr_parts *p, reader *r) {
    uint64_t file = cr_part_get(r->in + 8), at = cr_part_get(r->in + 16),
             n = cr_part_get(r->in + 24);
    const cr_part_file *f = file < (uint64_t)p->view.n ? &p->view.files[file] : NULL;
    int fd = -1, e = f && f->owner == p->self && at <= (uint64_t)f->size ? 0 : EINVAL;
    size_t got = 0;
    if (e == 0) e = cr_part_open(f, &fd);
    if (n > CR_PART_MOST) n = CR_PART_MOST;
    if (e == 0 && n > (uint64_t)f->size - at) n = (uint64_t)f->size - at;
    uint8_t *out = answer(r, CR_PART_HEAD + (e ? 0 : n));
    while (e == 0 && got < n) {
        ssize_t k = pread(fd, out + CR_PART_HEAD + got, n - got, (off_t)(at + got));
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) e = k < 0 ? errno : ESTALE;
        if (k > 0) got += (size_t)k;
    }
    if (fd >= 0) close(fd);
    cr_part_put(out, (uint64_t)e);
    cr_part_put(out + 8, e ? 0 : got);
    r->n_out = CR_PART_HEAD + (e ? 0 : got);
    atomic_fetch_add(&p->sent, (int64_t)r->n_out);
}

/* Opens a file for another rank; the path stands in `more`. */
static int serve_put(reader *r) {
    cr_fs_why why = {0};
    if (r->store || !r->more || memchr(r->more, 0, r->n_more)) return EINVAL;
    r->more[r->n_more] = 0; /* there is room for it */
    const cr_store *s = cr_store_of((char *)r->more);
    if (!s || !(s->can & CR_FS_LOCAL)) return EINVAL;
    int e = s->put(&r->file, (char *)r->more, (unsigned)cr_part_get(r->in + 8) & CR_PUT_NEW, &why);
    if (e == 0) r->store = s;
    return e;
}

static int serve_write(reader *r) {
    cr_fs_why why = {0};
    if (!r->store) return EINVAL;
    return r->n_more > 0 ? r->store->write(r->file, r->more, r->n_more, &why) : 0;
}

static int serve_commit(reader *r) {
    cr_fs_why why = {0};
    return r->store ? r->store->commit(r->file, cr_part_get(r->in + 8) != 0, &why) : EINVAL;
}

static int serve_end(reader *r) {
    if (r->store) r->store->end(r->file);
    r->store = NULL;
    return 0;
}

static void serve(cr_parts *p, reader *r) {
    uint64_t op = cr_part_get(r->in);
    if (op == CR_PART_READ) {
        serve_read(p, r);
        return;
    }
    int e = op == CR_PART_PUT      ? serve_put(r)
            : op == CR_PART_WRITE  ? serve_write(r)
            : op == CR_PART_COMMIT ? serve_commit(r)
                                   : serve_end(r);
    uint8_t *out = answer(r, CR_PART_HEAD);
    cr_part_put(out, (uint64_t)e);
    cr_free(r->more);
    r->more = NULL;
    r->n_more = r->want_more = 0;
}

/* Makes room for the bytes that follow a request; false: there is no such request. */
static bool expect(reader *r) {
    uint64_t op = cr_part_get(r->in), n = cr_part_get(r->in + 24);
    if (op >= CR_PART_OPS) return false;
    r->want_more = 0;
    if (op != CR_PART_PUT && op != CR_PART_WRITE) return true;
    if (n > (op == CR_PART_PUT ? 4096 : CR_PART_MOST)) return false;
    r->want_more = n;
    r->more = cr_alloc(n + 1, "a part of a file");
    return true;
}

/* A reader's first bytes are its nonce, the next ones its proof. */
static bool greet(cr_parts *p, reader *r) {
    char who[40];
    cr_err err;
    if (!r->greeted) {
        r->greeted = true;
        memcpy(r->hello, r->in, CR_NONCE);
        if (cr_random(r->mine, CR_NONCE, &err) != CR_OK) return false;
        cr_part_who(who, true, p->self);
        uint8_t *out = answer(r, CR_NONCE + CR_PROOF);
        memcpy(out, r->mine, CR_NONCE);
        cr_prove(p->view.key, who, r->hello, r->mine, out + CR_NONCE);
        return true;
    }
    uint8_t want[CR_PROOF];
    cr_part_who(who, false, p->self);
    cr_prove(p->view.key, who, r->hello, r->mine, want);
    r->believed = cr_same_secret(want, r->in, CR_PROOF);
    return r->believed;
}

/* Reads what there is; false: the connection is over. */
static bool take(cr_parts *p, reader *r) {
    bool more = r->n_in == CR_PART_ASK; /* the numbers are there, what follows them is not */
    ssize_t k = more ? recv(r->fd, r->more + r->n_more, r->want_more - r->n_more, 0)
                     : recv(r->fd, r->in + r->n_in, CR_PART_ASK - r->n_in, 0);
    if (k < 0) return errno == EAGAIN || errno == EINTR;
    if (k == 0) return false;
    *(more ? &r->n_more : &r->n_in) += (size_t)k;
    if (r->n_in < CR_PART_ASK) return true;
    if (!r->believed) {
        r->n_in = 0;
        return greet(p, r);
    }
    if (!more && !expect(r)) return false;
    if (r->n_more < r->want_more) return true;
    r->n_in = 0;
    serve(p, r);
    return true;
}

static bool give(reader *r) {
    ssize_t k = send(r->fd, r->out + r->at, r->n_out - r->at, MSG_NOSIGNAL);
    if (k < 0) return errno == EAGAIN || errno == EINTR;
    r->at += (size_t)k;
    if (r->at < r->n_out) return true;
    cr_free(r->out);
    r->out = NULL;
    r->at = r->n_out = 0;
    return true;
}

/* ---- all connections ---- */

static void accept_one(cr_parts *p) {
    int fd = accept4(p->listens, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    if (p->n == MOST_LINKS) {
        close(fd);
        return;
    }
    if (p->n == p->cap) {
        size_t old = (size_t)p->cap, cap = old ? 2 * old : 16;
        p->v = cr_realloc(p->v, old * sizeof *p->v, cap * sizeof *p->v, "readers");
        p->cap = (int)cap;
    }
    p->v[p->n++] = (reader){.fd = fd, .began = cr_now()};
}

static void *serve_all(void *ctx) {
    cr_parts *p = ctx;
    struct pollfd *v = cr_alloc((MOST_LINKS + 2) * sizeof *v, "readers");
    for (;;) {
        v[0] = (struct pollfd){.fd = p->stop[0], .events = POLLIN};
        v[1] = (struct pollfd){.fd = p->listens, .events = POLLIN};
        bool waits = false;
        for (int i = 0; i < p->n; i++) {
            waits = waits || !p->v[i].believed;
            v[i + 2] = (struct pollfd){.fd = p->v[i].fd,
                                       .events = p->v[i].at < p->v[i].n_out ? POLLOUT : POLLIN};
        }
        int n = p->n;
        if (poll(v, (nfds_t)n + 2, waits ? 1000 : -1) < 0 && errno != EINTR) break;
        if (v[0].revents) break;
        for (int i = 0; i < n; i++) {
            reader *r = &p->v[i];
            bool fine = r->believed || cr_now() - r->began < PROOF_S;
            if (fine && v[i + 2].revents & POLLOUT)
                fine = give(r);
            else if (fine && v[i + 2].revents)
                fine = take(p, r);
            if (!fine) drop(r);
        }
        int k = 0;
        for (int i = 0; i < p->n; i++)
            if (p->v[i].fd >= 0) p->v[k++] = p->v[i];
        p->n = k;
        if (v[1].revents) accept_one(p);
    }
    cr_free(v);
    return NULL;
}

/* ---- beginning and end ---- */

static bool add_addr(char addr[CR_PARTS_ADDR], const struct sockaddr *sa, int port) {
    char text[INET6_ADDRSTRLEN];
    const void *from =
        sa->sa_family == AF_INET
            ? (const void *)&((const struct sockaddr_in *)(const void *)sa)->sin_addr
            : (const void *)&((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr;
    size_t n = strlen(addr);
    if (!inet_ntop(sa->sa_family, from, text, sizeof text)) return false;
    if (strncmp(text, "fe80", 4) == 0 || n + strlen(text) + 8 > CR_PARTS_ADDR) return false;
    snprintf(addr + n, CR_PARTS_ADDR - n, "%s%s %d", n ? " " : "", text, port);
    return true;
}

/* Lists the addresses of this host, those of the loopback device last. */
static void find_addrs(char addr[CR_PARTS_ADDR], int port, bool only4) {
    struct ifaddrs *all = NULL;
    addr[0] = 0;
    if (getifaddrs(&all) != 0) return;
    for (int loop = 0; loop < 2; loop++)
        for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
            if (!i->ifa_addr || !(i->ifa_flags & IFF_UP)) continue;
            int family = i->ifa_addr->sa_family;
            if ((family != AF_INET && (family != AF_INET6 || only4)) ||
                (i->ifa_flags & IFF_LOOPBACK ? 1 : 0) != loop)
                continue;
            (void)add_addr(addr, i->ifa_addr, port);
        }
    freeifaddrs(all);
}

/* Listens on a port that is free, of IPv6 and IPv4 where the host has both. */
static cr_code listen_any(int *fd, char addr[CR_PARTS_ADDR], cr_err *err) {
    struct sockaddr_storage ss = {0};
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)&ss;
    struct sockaddr_in *four = (struct sockaddr_in *)(void *)&ss;
    socklen_t n = sizeof *six;
    const int off = 0;
    bool only4 = false;
    *fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ss.ss_family = AF_INET6;
    if (*fd < 0 || setsockopt(*fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0 ||
        bind(*fd, (struct sockaddr *)&ss, n) != 0) {
        if (*fd >= 0) close(*fd);
        only4 = true;
        ss = (struct sockaddr_storage){.ss_family = AF_INET};
        n = sizeof *four;
        *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (*fd < 0 || bind(*fd, (struct sockaddr *)&ss, n) != 0)
            return cr_fail(err, CR_ERUN, "cannot serve data files to other ranks: %s",
                           strerror(errno));
    }
    n = sizeof ss;
    if (listen(*fd, 256) != 0 || getsockname(*fd, (struct sockaddr *)&ss, &n) != 0)
        return cr_fail(err, CR_ERUN, "cannot serve data files to other ranks: %s", strerror(errno));
    find_addrs(addr, ntohs(only4 ? four->sin_port : six->sin6_port), only4);
    return CR_OK;
}

cr_code cr_parts_new(cr_parts **out, const cr_part_file *files, int64_t n, int self,
                     const cr_key *key, char addr[CR_PARTS_ADDR], cr_err *err) {
    cr_parts *p = cr_alloc(sizeof *p, "files of all hosts");
    *p = (cr_parts){.view = {.files = files, .n = n, .key = key},
                    .self = self,
                    .listens = -1,
                    .stop = {-1, -1}};
    addr[0] = 0;
    sigset_t all, before;
    cr_code code = listen_any(&p->listens, addr, err);
    if (code == CR_OK && pipe2(p->stop, O_CLOEXEC) != 0)
        code = cr_fail(err, CR_ERUN, "cannot make a pipe: %s", strerror(errno));
    if (code == CR_OK) {
        sigfillset(&all);
        cr_guard_signals(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        p->runs = pthread_create(&p->thread, NULL, serve_all, p) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (!p->runs) code = cr_fail(err, CR_ERUN, "cannot start a thread: %s", strerror(errno));
    }
    if (code != CR_OK) {
        cr_parts_free(p);
        p = NULL;
    }
    *out = p;
    return code;
}

void cr_parts_use(cr_parts *p, const char *addr, int n_ranks) {
    p->view.addr = addr;
    p->view.n_ranks = n_ranks;
    p->used = true;
    cr_parts_read_begin(&p->view);
}

int64_t cr_parts_sent(cr_parts *p) {
    return atomic_load(&p->sent);
}

void cr_parts_free(cr_parts *p) {
    if (!p) return;
    if (p->used) cr_parts_read_end();
    if (p->runs) {
        while (write(p->stop[1], "", 1) < 0 && errno == EINTR)
            ;
        pthread_join(p->thread, NULL);
    }
    for (int i = 0; i < p->n; i++)
        drop(&p->v[i]);
    cr_free(p->v);
    for (int i = 0; i < 2; i++)
        if (p->stop[i] >= 0) close(p->stop[i]);
    if (p->listens >= 0) close(p->listens);
    cr_free(p);
}
