/*
 * same_weights.c - tests/weights.h itself: the first tensor and the first element that differ are
 * named, with both values, and nothing that differs passes as equal.
 */
#include "weights.h"

#include <unistd.h>

#include "harness.h"

static char dir[] = "/tmp/crank_test_XXXXXX";
static char path[2][64];

/* what one file holds */
typedef struct held {
    float w[2][3], more[2];
    int64_t ids[2];
    uint16_t half[1];
} held;

static void get(void *ctx, int64_t first, int64_t n, void *out) {
    memcpy(out, (const float *)ctx + first, (size_t)n * sizeof(float));
}
static void get_i64(void *ctx, int64_t first, int64_t n, void *out) {
    memcpy(out, (const int64_t *)ctx + first, (size_t)n * sizeof(int64_t));
}
static void get_16(void *ctx, int64_t first, int64_t n, void *out) {
    memcpy(out, (const uint16_t *)ctx + first, (size_t)n * sizeof(uint16_t));
}

static held sample(void) {
    return (held){.w = {{1, 2, 3}, {4, 5, 6}}, .more = {7, 8}, .ids = {9, 10}, .half = {0x3c00}};
}

/* writes file k; n: how many of its tensors */
static void put(int k, held *h, int n, const char *meta) {
    cr_st_out v[] = {{"w", CR_DT_F32, 2, {2, 3}, get, h->w},
                     {"ids", CR_DT_I64, 1, {2}, get_i64, h->ids},
                     {"half", CR_DT_F16, 0, {0}, get_16, h->half},
                     {"more", CR_DT_F32, 1, {2}, get, h->more}};
    int64_t size;
    uint64_t digest;
    CHECK_INT(cr_st_write(path[k], v, n, &(cr_st_meta){"made by", meta}, 1, &size, &digest, NULL),
              CR_OK);
}

/* both files differ, and this is said: A and B stand for their paths */
static void says(const char *want) {
    char got[1024] = "", full[1024];
    CHECK(weights_differ(path[0], path[1], got, sizeof(got)));
    size_t n = 0;
    for (const char *p = want; *p && n < sizeof(full) - 80; p++)
        n += (size_t)snprintf(full + n, sizeof(full) - n, "%.*s", *p == '@' || *p == '#' ? 63 : 1,
                              *p == '@'   ? path[0]
                              : *p == '#' ? path[1]
                                          : p);
    CHECK_STR(got, full);
}

TEST(equal) {
    held h = sample();
    char got[64];
    put(0, &h, 4, "x");
    put(1, &h, 4, "x");
    CHECK(!weights_differ(path[0], path[1], got, sizeof(got)));
}

TEST(first_element) {
    held a = sample(), b = a;
    put(0, &a, 4, "x");
    b.w[1][2] = 0x1.800002p+2f; /* one bit */
    b.more[0] = 0;              /* a later tensor */
    put(1, &b, 4, "x");
    says("tensor 'w' differs first at [1, 2]: 0x1.8p+2 (0x40c00000) in @, 0x1.800002p+2 "
         "(0x40c00001) in #");
    b.w[0][1] = -2;
    put(1, &b, 4, "x");
    says("tensor 'w' differs first at [0, 1]: 0x1p+1 (0x40000000) in @, -0x1p+1 (0xc0000000) in #");
    b = a;
    b.more[1] = 9;
    put(1, &b, 4, "x");
    says("tensor 'more' differs first at [1]: 0x1p+3 (0x41000000) in @, 0x1.2p+3 (0x41100000) in "
         "#");
}

/* values that a comparison of numbers would take for equal, or for different although they are not
 */
TEST(bits_count) {
    held a = sample(), b;
    char got[64];
    a.w[0][0] = 0;
    a.w[0][2] = NAN;
    b = a;
    put(0, &a, 4, "x");
    put(1, &b, 4, "x");
    CHECK(!weights_differ(path[0], path[1], got, sizeof(got)));
    b.w[0][0] = -0.0f;
    put(1, &b, 4, "x");
    says("tensor 'w' differs first at [0, 0]: 0x0p+0 (0x00000000) in @, -0x0p+0 (0x80000000) in #");
    b = a;
    uint32_t nan = 0x7fc00001;
    memcpy(&b.w[0][2], &nan, sizeof(nan));
    put(1, &b, 4, "x");
    says("tensor 'w' differs first at [0, 2]: nan (0x7fc00000) in @, nan (0x7fc00001) in #");
}

TEST(other_types) {
    held a = sample(), b = a;
    put(0, &a, 4, "x");
    b.ids[1] = 11;
    put(1, &b, 4, "x");
    says("tensor 'ids' differs first at [1]: 0x1.4p+3 (0x000000000000000a) in @, 0x1.6p+3 "
         "(0x000000000000000b) in #");
    b = a;
    b.half[0] = 0x3c01;
    put(1, &b, 4, "x");
    says("tensor 'half' differs first at []: 0x1p+0 (0x3c00) in @, 0x1.004p+0 (0x3c01) in #");
}

TEST(other_tensors) {
    held a = sample();
    put(0, &a, 4, "x");
    put(1, &a, 3, "x");
    says("tensor 'more' of @ is not in #");
    put(0, &a, 2, "x");
    says("tensor 'half' of # is not in @");
    put(0, &a, 3, "y");
    says("@ and # have equal tensors and other headers");
    cr_st_out v = {"w", CR_DT_F32, 2, {3, 2}, get, a.w};
    int64_t size;
    uint64_t digest;
    put(0, &a, 1, "x");
    CHECK_INT(cr_st_write(path[1], &v, 1, NULL, 0, &size, &digest, NULL), CR_OK);
    says("tensor 'w' has another type or shape in # than in @");
    CHECK_INT(cr_file_remove(path[1], NULL), CR_OK);
    says("#: cannot open: No such file or directory; check the path");
    put(1, &a, 4, "x");
    CHECK_INT(cr_file_remove(path[0], NULL), CR_OK);
    says("@: cannot open: No such file or directory; check the path");
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(equal), CASE(first_element), CASE(bits_count),
                                   CASE(other_types), CASE(other_tensors)};
    if (!mkdtemp(dir)) return 1;
    for (int k = 0; k < 2; k++)
        snprintf(path[k], sizeof(path[k]), "%s/%s", dir, k ? "b.safetensors" : "a.safetensors");
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    return cr_rmtree(dir, NULL) == CR_OK ? rc : 1;
}
