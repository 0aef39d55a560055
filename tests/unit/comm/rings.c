/*
 * rings.c - bytes through shared memory: every size up to several times a ring, in the order in
 * which they were sent, between threads that do not wait for each other; slots and pairs that do
 * not mix; memory that is not the one that was meant.
 */
#include "comm/rings.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

/* Two ranks of one process. */
static void pair(cr_rings *a, cr_rings *b, int slots) {
    cr_rings_name name;
    CHECK(cr_rings_make(a, 2, slots, &name));
    CHECK(cr_rings_open(b, &name, 2, slots, 1));
    cr_rings_joined(a);
}

static unsigned char byte_of(size_t i) {
    return (unsigned char)(i * 131 + (i >> 8) * 17 + (i >> 16));
}

TEST(whole_and_in_order) {
    cr_rings a, b;
    pair(&a, &b, 1);
    size_t most = a.cap + a.cap / 2, sent = 0, got = 0;
    unsigned char *data = malloc(most), *back = malloc(most);
    for (size_t n = 1; n < most; n = n * 3 + 1) {
        size_t put = 0, taken = 0;
        for (size_t i = 0; i < n; i++)
            data[i] = byte_of(sent + i);
        while (taken < n) { /* a message larger than the ring needs several turns */
            size_t p = cr_rings_put(&a, 1, 0, data + put, n - put);
            put += p;
            size_t t = cr_rings_take(&b, 0, 0, back + taken, n - taken);
            taken += t;
            CHECK(p + t > 0);
        }
        CHECK(memcmp(data, back, n) == 0);
        sent += n;
        got += taken;
    }
    CHECK(got == sent && sent > a.cap);
    CHECK(cr_rings_take(&b, 0, 0, back, 1) == 0);
    free(data);
    free(back);
    cr_rings_close(&a);
    cr_rings_close(&b);
}

TEST(a_full_ring_takes_no_more) {
    cr_rings a, b;
    pair(&a, &b, 1);
    char *data = calloc(1, a.cap + 1);
    CHECK(cr_rings_put(&a, 1, 0, data, a.cap + 1) == a.cap);
    CHECK(cr_rings_put(&a, 1, 0, data, 1) == 0);
    CHECK(cr_rings_take(&b, 0, 0, data, 1) == 1);
    CHECK(cr_rings_put(&a, 1, 0, data, 2) == 1);
    free(data);
    cr_rings_close(&a);
    cr_rings_close(&b);
}

TEST(slots_and_directions_do_not_mix) {
    cr_rings a, b;
    pair(&a, &b, 3);
    char x[4] = "abc", y[4] = "";
    for (int slot = 0; slot < 3; slot++) {
        CHECK(cr_rings_put(&a, 1, slot, x + slot, 1) == 1);
        CHECK(cr_rings_put(&b, 0, slot, x + 2 - slot, 1) == 1);
    }
    for (int slot = 2; slot >= 0; slot--) {
        CHECK(cr_rings_take(&b, 0, slot, y, 4) == 1 && y[0] == x[slot]);
        CHECK(cr_rings_take(&a, 1, slot, y, 4) == 1 && y[0] == x[2 - slot]);
    }
    cr_rings_close(&a);
    cr_rings_close(&b);
}

#define BYTES ((size_t)20 << 20)

static void *send_all(void *ctx) {
    const cr_rings *r = ctx;
    unsigned char part[7919];
    for (size_t at = 0; at < BYTES;) {
        size_t n = BYTES - at < sizeof part ? BYTES - at : sizeof part, done = 0;
        for (size_t i = 0; i < n; i++)
            part[i] = byte_of(at + i);
        while (done < n) {
            size_t k = cr_rings_put(r, 1, 0, part + done, n - done);
            if (k == 0) sched_yield();
            done += k;
        }
        at += n;
    }
    return NULL;
}

TEST(threads) {
    cr_rings a, b;
    pthread_t sender;
    unsigned char part[10007];
    size_t wrong = 0;
    pair(&a, &b, 1);
    CHECK_INT(pthread_create(&sender, NULL, send_all, &a), 0);
    for (size_t at = 0; at < BYTES;) {
        size_t n = cr_rings_take(&b, 0, 0, part, sizeof part);
        if (n == 0) sched_yield();
        for (size_t i = 0; i < n; i++)
            wrong += part[i] != byte_of(at + i);
        at += n;
    }
    pthread_join(sender, NULL);
    CHECK_INT(wrong, 0);
    cr_rings_close(&a);
    cr_rings_close(&b);
}

/* Other memory, of another process, another size or another job, is not taken. */
TEST(the_wrong_memory) {
    cr_rings a, b;
    cr_rings_name name, other;
    CHECK(cr_rings_make(&a, 2, 2, &name));
    other = name;
    other.mark++;
    CHECK(!cr_rings_open(&b, &other, 2, 2, 1));
    CHECK(!cr_rings_open(&b, &name, 3, 2, 1));
    other = name;
    other.fd = 1000000;
    CHECK(!cr_rings_open(&b, &other, 2, 2, 1));
    other.fd = -1;
    CHECK(!cr_rings_open(&b, &other, 2, 2, 1));
    CHECK(b.mem == NULL);
    cr_rings_joined(&a);
    CHECK(!cr_rings_open(&b, &name, 2, 2, 1)); /* the way in is closed */
    cr_rings_close(&a);
}

/* Rings shrink where there are many ranks. */
TEST(many_ranks) {
    cr_rings r;
    cr_rings_name name;
    CHECK(cr_rings_make(&r, 64, 5, &name));
    CHECK(r.cap >= 4096 && r.size < ((size_t)512 << 20));
    cr_rings_close(&r);
}

TEST_MAIN(CASE(whole_and_in_order), CASE(a_full_ring_takes_no_more),
          CASE(slots_and_directions_do_not_mix), CASE(threads), CASE(the_wrong_memory),
          CASE(many_ranks))
