/*
 * fuzz_launch.c - any bytes as what comes to a launcher from outside: a message of the wire, lines
 * of PMI, and the opening of a connection by a stranger. Nothing may crash; a message that is
 * understood is written as the same bytes again; no stranger gets in.
 *
 * The first byte chooses which of them; the rest is the input.
 */
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/link.h"
#include "launch/pmi.h"
#include "launch/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void message(const uint8_t *data, size_t n) {
    cr_msg m;
    cr_buf b;
    if (!cr_wire_get(&m, data, n)) return;
    cr_buf_init(&b);
    cr_wire_put(&b, &m);
    if (b.n != n || memcmp(b.data, data, n) != 0) abort();
    cr_buf_clear(&b);
}

static void lines(const uint8_t *data, size_t n) {
    cr_pmi p;
    cr_buf reply;
    int code, local = 0;
    cr_pmi_init(&p, 2, 2);
    cr_buf_init(&reply);
    for (size_t at = 0; at < n; local = !local) {
        const uint8_t *end = memchr(data + at, '\n', n - at);
        size_t k = end ? (size_t)(end - data) - at : n - at;
        if (cr_pmi_line(&p, local, (const char *)data + at, k, &reply, &code) == CR_PMI_BARRIER)
            (void)cr_pmi_release(&p);
        at += k + 1;
    }
    cr_buf_clear(&reply);
    cr_pmi_clear(&p);
}

static void stranger(const uint8_t *data, size_t n) {
    cr_key key = {{1, 2, 3}};
    cr_link l;
    cr_msg m;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0) return;
    if (cr_link_init(&l, pair[0], true, false, &key, 0, NULL) != CR_OK) abort();
    if (send(pair[1], data, n < 60000 ? n : 60000, MSG_NOSIGNAL) >= 0)
        for (int i = 0; i < 4; i++) {
            struct pollfd p = {.fd = l.fd, .events = POLLIN | POLLOUT};
            if (l.fd >= 0 && poll(&p, 1, 0) > 0) cr_link_ready(&l, p.revents, 0);
            if (cr_link_is_open(&l) || cr_link_next(&l, &m)) abort();
        }
    cr_link_clear(&l);
    close(pair[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    switch (data[0] % 3) {
    case 0: message(data + 1, size - 1); break;
    case 1: lines(data + 1, size - 1); break;
    default: stranger(data + 1, size - 1);
    }
    return 0;
}
