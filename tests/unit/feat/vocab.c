/*
 * vocab.c - the vocabulary table and the two forms of vocabulary files.
 */
#include "feat/vocab.h"

#include "harness.h"

typedef struct made {
    cr_arena a;
    cr_vocab v;
    cr_diag d;
} made;

static void read_text(made *m, const char *text, size_t n) {
    cr_arena_init(&m->a, 0);
    cr_diag_init(&m->d);
    cr_vocab_init(&m->v, &m->a, 0);
    m->v.unknown = -7;
    cr_vocab_read(&m->v, "v.txt", text, n, &m->d);
}

static void done(made *m) {
    cr_arena_clear(&m->a);
    cr_diag_clear(&m->d);
}

static int64_t get(const made *m, const char *k) {
    return cr_vocab_get(&m->v, k, strlen(k), NULL);
}

#define READ(m, text) read_text(m, text, sizeof(text) - 1)

TEST(tokens) {
    made m;
    READ(&m, "a\nb\r\n\nc d\ne");
    CHECK_INT(m.d.n, 0);
    CHECK_INT(m.v.size, 5);
    CHECK_INT(get(&m, "a"), 0);
    CHECK_INT(get(&m, "b"), 1);
    CHECK_INT(get(&m, ""), 2);
    CHECK_INT(get(&m, "c d"), 3);
    CHECK_INT(get(&m, "e"), 4);
    CHECK_INT(get(&m, "f"), -7);
    done(&m);
    READ(&m, "\xef\xbb\xbf"
             "a\nb 7\n"); /* a byte order mark; later lines keep the first one's form */
    CHECK_INT(m.v.size, 2);
    CHECK_INT(get(&m, "a"), 0);
    CHECK_INT(get(&m, "b 7"), 1);
    done(&m);
}

TEST(tokens_with_ids) {
    made m;
    READ(&m, "a 5\nb c 2\n\nd 9\n");
    CHECK_INT(m.d.n, 0);
    CHECK_INT(m.v.size, 10);
    CHECK_INT(get(&m, "a"), 5);
    CHECK_INT(get(&m, "b c"), 2);
    CHECK_INT(get(&m, "d"), 9);
    CHECK_INT(get(&m, ""), -7);
    done(&m);
}

TEST(mistakes) {
    made m;
    READ(&m, "a 5\nb\nc -1\nd 99999999999999999999\n");
    CHECK_INT(m.d.n_errors, 3);
    CHECK_INT(m.d.v[0].at.line, 2);
    CHECK_STR(m.d.v[0].at.path, "v.txt");
    CHECK(strstr(m.d.v[0].msg, "no id after the token") != NULL);
    CHECK_INT(m.d.v[1].at.line, 3);
    CHECK(strstr(m.d.v[1].msg, "negative") != NULL);
    CHECK_INT(m.d.v[2].at.line, 4);
    CHECK(strstr(m.d.v[2].msg, "the id is too large") != NULL);
    done(&m);
    /* in the first line, too, it is an id and not a part of the token */
    READ(&m, "a 99999999999999999999\n");
    CHECK_INT(m.d.n_errors, 1);
    done(&m);
    READ(&m, "");
    CHECK_INT(m.d.n_errors, 1);
    CHECK(strstr(m.d.v[0].msg, "empty") != NULL);
    done(&m);
    READ(&m, "a\nb\na\nb\n");
    CHECK_INT(m.d.n_errors, 0);
    CHECK_INT(m.d.n, 1); /* one warning for all */
    CHECK_INT(m.d.v[0].at.line, 3);
    CHECK_INT(get(&m, "a"), 2);
    CHECK_INT(m.v.size, 4);
    done(&m);
    /* a flood of bad lines is cut short */
    char *text = malloc(4 + 3 * 1000);
    memcpy(text, "a 1\n", 4);
    for (size_t i = 0; i < 1000; i++)
        memcpy(text + 4 + 3 * i, "xy\n", 3);
    read_text(&m, text, 4 + 3 * 1000);
    CHECK_INT(m.d.n_errors, 21); /* the last one counts the rest */
    CHECK(strstr(m.d.v[20].msg, "980 more bad lines") != NULL);
    done(&m);
    free(text);
}

TEST(many) {
    made m;
    cr_arena_init(&m.a, 0);
    cr_diag_init(&m.d);
    cr_vocab_init(&m.v, &m.a, 0);
    m.v.unknown = -1;
    char k[32];
    for (int i = 0; i < 20000; i++)
        CHECK(cr_vocab_put(&m.v, k, (size_t)snprintf(k, sizeof(k), "key_%d", i), i));
    for (int i = 0; i < 20000; i++)
        CHECK_INT(cr_vocab_get(&m.v, k, (size_t)snprintf(k, sizeof(k), "key_%d", i), NULL), i);
    for (int i = 20000; i < 21000; i++)
        CHECK_INT(cr_vocab_get(&m.v, k, (size_t)snprintf(k, sizeof(k), "key_%d", i), NULL), -1);
    CHECK(!cr_vocab_put(&m.v, "key_5", 5, 77));
    CHECK_INT(get(&m, "key_5"), 77);
    CHECK_INT(m.v.n, 20000);
    CHECK(cr_vocab_put(&m.v, "a\0b", 3, 1)); /* bytes, not C strings */
    CHECK_INT(cr_vocab_get(&m.v, "a\0b", 3, NULL), 1);
    CHECK_INT(cr_vocab_get(&m.v, "a\0c", 3, NULL), -1);
    done(&m);
}

TEST_MAIN(CASE(tokens), CASE(tokens_with_ids), CASE(mistakes), CASE(many))
