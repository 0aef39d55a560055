/*
 * link.c - bytes, handshake, seals. Before the proof of the other side was checked, this side reads
 * a fixed number of bytes and sends nothing but its nonce (an agent also its proof).
 */
#include "launch/link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAGIC   "crank-lnch"
#define N_MAGIC 10
#define N_HELLO (N_MAGIC + 2 + CR_NONCE)
#define MOST_IN (4 * (CR_WIRE_MAX + 64)) /* bytes that wait to be used */

static void breaks(cr_link *l, const char *why) {
    if (!l->broken[0]) snprintf(l->broken, sizeof l->broken, "%s", why);
    if (l->fd >= 0) close(l->fd);
    l->fd = -1;
    l->state = CR_LINK_CLOSED;
}

static void say_hello(cr_link *l) {
    cr_buf_add(&l->out, MAGIC, N_MAGIC);
    cr_buf_char(&l->out, (char)CR_WIRE_VERSION);
    cr_buf_char(&l->out, 0);
    cr_buf_add(&l->out, l->mine, CR_NONCE);
}

cr_code cr_link_init(cr_link *l, int fd, bool is_head, bool connecting, const cr_key *key,
                     double now, cr_err *err) {
    *l = (cr_link){.fd = fd,
                   .is_head = is_head,
                   .state = connecting ? CR_LINK_CONNECTING : CR_LINK_HELLO,
                   .began = now,
                   .heard = now,
                   .sent = now,
                   .key = *key};
    cr_buf_init(&l->in);
    cr_buf_init(&l->out);
    cr_code code = cr_random(l->mine, sizeof l->mine, err);
    if (code != CR_OK) {
        cr_link_clear(l);
        return code;
    }
    if (!is_head) say_hello(l);
    return CR_OK;
}

void cr_link_clear(cr_link *l) {
    if (l->fd >= 0) close(l->fd);
    cr_buf_clear(&l->in);
    cr_buf_clear(&l->out);
    explicit_bzero(&l->key, sizeof l->key);
    explicit_bzero(&l->key_in, sizeof l->key_in);
    explicit_bzero(&l->key_out, sizeof l->key_out);
    l->fd = -1;
    l->state = CR_LINK_CLOSED;
}

bool cr_link_is_open(const cr_link *l) {
    return l->state == CR_LINK_OPEN;
}

short cr_link_events(const cr_link *l) {
    if (l->state == CR_LINK_CLOSED) return 0;
    if (l->state == CR_LINK_CONNECTING) return POLLOUT;
    return (short)((l->in.n - l->in_at < MOST_IN ? POLLIN : 0) | (l->out.n ? POLLOUT : 0));
}

/* ---- the handshake ---- */

static const char *const who[2] = {"agent", "head"};

/* the other side's nonce is here */
static void take_hello(cr_link *l) {
    const char *p = l->in.data + l->in_at;
    uint8_t proof[CR_PROOF];
    if (memcmp(p, MAGIC, N_MAGIC) != 0) {
        l->refused = !l->is_head; /* whoever tries ports is no node of a job */
        breaks(l, "the other side is no crank launch; choose another --master_port");
        return;
    }
    int version = (unsigned char)p[N_MAGIC] | (unsigned char)p[N_MAGIC + 1] << 8;
    if (version != CR_WIRE_VERSION) {
        l->refused = true;
        breaks(l, "the other side is a crank launch of another version; install the same crank on "
                  "all nodes");
        return;
    }
    memcpy(l->theirs, p + N_MAGIC + 2, CR_NONCE);
    l->in_at += N_HELLO;
    const uint8_t *a = l->is_head ? l->theirs : l->mine, *h = l->is_head ? l->mine : l->theirs;
    if (l->is_head) {
        say_hello(l);
    } else {
        cr_prove(&l->key, who[0], a, h, proof);
        cr_buf_add(&l->out, proof, sizeof proof);
    }
    cr_prove(&l->key, l->is_head ? "to agent" : "to head", a, h, l->key_out.b);
    cr_prove(&l->key, l->is_head ? "to head" : "to agent", a, h, l->key_in.b);
    l->state = CR_LINK_PROOF;
}

static void take_proof(cr_link *l) {
    uint8_t proof[CR_PROOF];
    const uint8_t *a = l->is_head ? l->theirs : l->mine, *h = l->is_head ? l->mine : l->theirs;
    cr_prove(&l->key, who[!l->is_head], a, h, proof);
    if (!cr_same_secret(proof, l->in.data + l->in_at, sizeof proof)) {
        l->refused = true;
        breaks(l, "the other side has another secret or --rdzv_id");
        return;
    }
    l->in_at += CR_PROOF;
    if (l->is_head) {
        cr_prove(&l->key, who[1], a, h, proof);
        cr_buf_add(&l->out, proof, sizeof proof);
    }
    l->state = CR_LINK_OPEN;
}

static void shake(cr_link *l) {
    if (l->state == CR_LINK_HELLO && l->in.n - l->in_at >= N_HELLO) take_hello(l);
    if (l->state == CR_LINK_PROOF && l->in.n - l->in_at >= CR_PROOF) take_proof(l);
}

/* ---- bytes ---- */

static void read_some(cr_link *l, double now) {
    char some[8192];
    /* a stranger gets no more room than the handshake takes */
    size_t most = sizeof some;
    if (l->state != CR_LINK_OPEN && l->is_head) most = N_HELLO + CR_PROOF - (l->in.n - l->in_at);
    if (most > sizeof some) most = sizeof some;
    if (l->in_at > 0 && l->in_at == l->in.n) {
        cr_buf_reset(&l->in);
        l->in_at = 0;
    } else if (l->in_at > MOST_IN / 4) {
        memmove(l->in.data, l->in.data + l->in_at, l->in.n - l->in_at);
        l->in.n -= l->in_at;
        l->in_at = 0;
    }
    ssize_t n = recv(l->fd, some, most, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        /* a head that does not like our proof only hangs up */
        l->refused = l->state == CR_LINK_PROOF && !l->is_head;
        breaks(l, l->state == CR_LINK_PROOF && !l->is_head ? "node 0 hung up; do all nodes have "
                                                             "the same secret and --rdzv_id?"
                  : n == 0                                 ? "the connection was closed"
                                                           : strerror(errno));
        return;
    }
    cr_buf_add(&l->in, some, (size_t)n);
    l->heard = now;
    shake(l);
}

void cr_link_flush(cr_link *l, double now) {
    while (l->out.n > 0 && l->state != CR_LINK_CLOSED && l->state != CR_LINK_CONNECTING) {
        ssize_t n = send(l->fd, l->out.data, l->out.n, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n < 0) {
            breaks(l, strerror(errno));
            return;
        }
        memmove(l->out.data, l->out.data + n, l->out.n - (size_t)n);
        l->out.n -= (size_t)n;
        l->sent = now;
    }
}

void cr_link_ready(cr_link *l, short revents, double now) {
    if (l->state == CR_LINK_CONNECTING && revents) {
        int e = 0;
        socklen_t n = sizeof e;
        if (getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &e, &n) != 0 || e != 0) {
            breaks(l, strerror(e ? e : errno));
            return;
        }
        l->state = CR_LINK_HELLO;
        l->heard = now;
    }
    if (l->state != CR_LINK_CLOSED && revents & (POLLIN | POLLHUP | POLLERR)) read_some(l, now);
    cr_link_flush(l, now);
}

/* ---- messages ---- */

bool cr_link_next(cr_link *l, cr_msg *out) {
    if (l->state != CR_LINK_OPEN || l->in.n - l->in_at < 4) return false;
    const unsigned char *p = (const unsigned char *)l->in.data + l->in_at;
    size_t n = (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
    if (n < 1 || n > CR_WIRE_MAX) {
        breaks(l, "a message of an impossible length came");
        return false;
    }
    if (l->in.n - l->in_at < 4 + n + CR_SEAL) return false;
    uint8_t seal[CR_SEAL];
    cr_seal(&l->key_in, l->n_in, p + 4, n, seal);
    if (!cr_same_secret(seal, p + 4 + n, CR_SEAL)) {
        breaks(l, "a message with a wrong seal came");
        return false;
    }
    if (!cr_wire_get(out, p + 4, n)) {
        breaks(l, "a message came that crank does not know");
        return false;
    }
    l->n_in++;
    l->in_at += 4 + n + CR_SEAL;
    return true;
}

void cr_link_send(cr_link *l, const cr_msg *m) {
    if (l->state != CR_LINK_OPEN) return;
    uint8_t seal[CR_SEAL];
    size_t at = l->out.n;
    cr_buf_add(&l->out, "\0\0\0\0", 4);
    cr_wire_put(&l->out, m);
    size_t n = l->out.n - at - 4;
    for (int i = 0; i < 4; i++)
        l->out.data[at + (size_t)i] = (char)(n >> (8 * i) & 0xff);
    cr_seal(&l->key_out, l->n_out++, l->out.data + at + 4, n, seal);
    cr_buf_add(&l->out, seal, sizeof seal);
}
