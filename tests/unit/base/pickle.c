/*
 * pickle.c - data of pickles as Python writes them, and pickles that are broken or want to call
 * something.
 */
#include "base/pickle.h"

#include <string.h>

#include "harness.h"

static cr_arena arena;

#define READ(bytes, out) cr_pickle_read(bytes, sizeof(bytes) - 1, "file", &arena, out, &err)

/* pickle.dumps([[7, -2, 300, 70000], (1.5, None, True), "ab"], 2) and 4 */
static const char two[] = "\x80\x02]q\x00(]q\x01(K\x07J\xfe\xff\xff\xffM,\x01Jp\x11\x01\x00"
                          "eG?\xf8\x00\x00\x00\x00\x00\x00N\x88\x87q\x02X\x02\x00\x00\x00"
                          "abq\x03"
                          "e.";
static const char four[] =
    "\x80\x04\x95.\x00\x00\x00\x00\x00\x00\x00]\x94(]\x94(K\x07J\xfe\xff\xff\xffM,\x01Jp\x11\x01"
    "\x00"
    "eG?\xf8\x00\x00\x00\x00\x00\x00N\x88\x87\x94\x8c\x02"
    "ab\x94"
    "e.";
/* [[numpy.int64(10), numpy.int64(-3)]] in protocol 2, where bytes are a text in latin1 */
#define TYPE                                                                                       \
    "cnumpy.core.multiarray\nscalar\nq\x02"                                                        \
    "cnumpy\ndtype\nq\x03X\x02\x00\x00\x00"                                                        \
    "i8q\x04K\x00K"                                                                                \
    "\x01\x87q\x05Rq\x06(K\x03X\x01\x00\x00\x00<"                                                  \
    "q\x07NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tq\x08"                                        \
    "b"
#define LATIN(text) "c_codecs\nencode\nq\x09" text "X\x06\x00\x00\x00latin1q\x0b\x86q\x0cRq\x0d"
static const char numbers[] = "\x80\x02]q\x00]q\x01(" TYPE LATIN(
    "X\x08\x00\x00\x00\x0a\x00\x00\x00\x00\x00\x00\x00q\x0a") "\x86q\x0eRq\x0fh\x02h\x06h\x09X\x10"
                                                              "\x00\x00\x00\xc3\xbd\xc3\xbf\xc3\xbf"
                                                              "\xc3\xbf\xc3\xbf\xc3\xbf"
                                                              "\xc3\xbf\xc3\xbfX\x06\x00\x00\x00lat"
                                                              "in1\x86R\x86R"
                                                              "ea.";

TEST(reads_lists) {
    const char *both[] = {two, four};
    size_t size[] = {sizeof two - 1, sizeof four - 1};
    for (int i = 0; i < 2; i++) {
        const cr_pickle *v;
        cr_err err;
        cr_arena_init(&arena, 0);
        CHECK_INT(cr_pickle_read(both[i], size[i], "file", &arena, &v, &err), CR_OK);
        CHECK_INT(v->kind, CR_PICKLE_LIST);
        CHECK_INT(v->n, 3);
        CHECK_INT(v->v[0]->n, 4);
        CHECK_INT(v->v[0]->v[1]->i, -2);
        CHECK_INT(v->v[0]->v[3]->i, 70000);
        CHECK_INT(v->v[1]->n, 3);
        CHECK(v->v[1]->v[0]->x == 1.5);
        CHECK_INT(v->v[1]->v[1]->kind, CR_PICKLE_NONE);
        CHECK_INT(v->v[1]->v[2]->i, 1);
        CHECK(v->v[2]->n == 2 && memcmp(v->v[2]->text, "ab", 2) == 0);
        cr_arena_clear(&arena);
    }
}

TEST(reads_numbers_of_numpy) {
    const cr_pickle *v;
    cr_err err;
    cr_arena_init(&arena, 0);
    CHECK_INT(READ(numbers, &v), CR_OK);
    CHECK_INT(v->v[0]->n, 2);
    CHECK_INT(v->v[0]->v[0]->i, 10);
    CHECK_INT(v->v[0]->v[1]->i, -3);
    cr_arena_clear(&arena);
}

/* Each pickle that is cut short is refused, with its path and without reading behind its end. */
TEST(refuses_pieces) {
    cr_arena_init(&arena, 0);
    for (size_t n = 0; n < sizeof numbers - 1; n++) {
        const cr_pickle *v;
        cr_err err;
        char *piece = malloc(n ? n : 1);
        memcpy(piece, numbers, n);
        CHECK_INT(cr_pickle_read(piece, n, "file", &arena, &v, &err), CR_EDATA);
        CHECK(err.at.path && strcmp(err.at.path, "file") == 0);
        free(piece);
    }
    cr_arena_clear(&arena);
}

static void refused(const char *bytes, size_t n, const char *why) {
    const cr_pickle *v;
    cr_err err;
    cr_arena_init(&arena, 0);
    CHECK_INT(cr_pickle_read(bytes, n, "file", &arena, &v, &err), CR_EDATA);
    CHECK(strstr(err.msg, why) != NULL);
    cr_arena_clear(&arena);
}
#define REFUSED(bytes, why) refused(bytes, sizeof(bytes) - 1, why)

TEST(refuses_calls) {
    REFUSED("\x80\x02"
            "cos\nsystem\nX\x04\x00\x00\x00true\x85R.",
            "it names os.system of Python");
    REFUSED("\x80\x04\x8c\x05posix\x8c\x06system\x93.", "it names posix.system of Python");
    REFUSED("\x80\x02"
            "cnumpy\ndtype\nX\x01\x00\x00\x00O\x85R.",
            "a call that is not");
    REFUSED("\x80\x02\x8f.", "no number, text, list, tuple, mapping or array");
    REFUSED("\x80\x02}(K\x01u.", "is no pickle"); /* a key without a value */
    REFUSED("\x80\x02]K\x01K\x02s.", "is no pickle");
    REFUSED("\x80\x02"
            "cnumpy\ndtype\n.",
            "is no pickle");
    REFUSED("\x80\x02K\x01"
            "a.",
            "is no pickle");
    REFUSED("\x80\x02"
            "e.",
            "is no pickle");
    REFUSED("\x80\x02h\x07.", "is no pickle");
    REFUSED("\x80\x02]r\xff\xff\xff\x7f.", "is no pickle");
    REFUSED("\x80\x02K\x01(\x85.", "is no pickle");
    REFUSED("\x80\x02\x8a\x09"
            "123456789.",
            "more than 64 bits");
    REFUSED("not a pickle", "no pickle at all");
}

TEST_MAIN(CASE(reads_lists), CASE(reads_numbers_of_numpy), CASE(refuses_pieces),
          CASE(refuses_calls))
