/*
 * digest.c - XXH64 against values of libxxhash 0.8.1 (seed 0), in pieces, as text, of files.
 */
#include "base/digest.h"

#include "base/file.h"
#include "harness.h"
#include "tmpdir.h"

static uint8_t text[1000];

static void fill(void) {
    for (int i = 0; i < 1000; i++)
        text[i] = (uint8_t)(i * i * 7 + i);
}

TEST(values) {
    static const struct {
        size_t n;
        uint64_t digest;
    } v[] = {{0, 0xef46db3751d8e999},   {1, 0xe934a84adb052768},   {3, 0x0a8b0eaaa44d36dc},
             {4, 0xa52c40dc1e458cb4},   {7, 0xa327711b1bc04318},   {8, 0x7966fb2834796e77},
             {12, 0xfb41c9031996f3e9},  {31, 0xbdb87f28fde1ec91},  {32, 0x70e7f6563e61b260},
             {33, 0x9dd01335c51ac88f},  {63, 0x6a3ef85d3e6d755e},  {64, 0xfe8083554c30b401},
             {100, 0xd52ddaaf21127aa9}, {255, 0xb18d4cc00af2c58e}, {1000, 0xed0b042ef7c8fe40}};
    fill();
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        CHECK_INT(cr_digest_of(text, v[i].n), v[i].digest);
    CHECK_INT(cr_digest_of("abc", 3), 0x44bc2cf5ad770999);
}

TEST(pieces) {
    fill();
    for (size_t size = 1; size < 70; size++) {
        cr_digest d;
        cr_digest_init(&d);
        for (size_t at = 0; at < sizeof text; at += size) {
            size_t n = sizeof text - at < size ? sizeof text - at : size;
            CHECK_INT(cr_digest_end(&d), cr_digest_of(text, at));
            cr_digest_add(&d, text + at, n);
        }
        CHECK_INT(cr_digest_end(&d), 0xed0b042ef7c8fe40);
    }
}

TEST(as_text) {
    char s[CR_DIGEST_TEXT + 1];
    uint64_t x;
    cr_digest_text(0x00ab, s);
    CHECK_STR(s, "00000000000000ab");
    CHECK(cr_digest_parse("fedcba9876543210", &x));
    CHECK_INT(x, 0xfedcba9876543210);
    static const char *const wrong[] = {"", "fedcba987654321", "fedcba98765432100",
                                        "FEDCBA9876543210", "fedcba987654321 "};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!cr_digest_parse(wrong[i], &x));
}

TEST(files) {
    const char *path = "digest";
    int64_t size;
    uint64_t x;
    cr_err err;
    fill();
    CHECK(tmpdir_enter());
    CHECK_INT(cr_file_write(path, text, sizeof text, &err), CR_OK);
    CHECK_INT(cr_digest_file(path, &size, &x, &err), CR_OK);
    CHECK_INT(size, sizeof text);
    CHECK_INT(x, 0xed0b042ef7c8fe40);
    CHECK_INT(cr_digest_file("absent", NULL, &x, &err), CR_EIO);
    CHECK_INT(cr_digest_file(".", NULL, &x, &err), CR_EIO); /* a directory */
    CHECK(tmpdir_leave());
}

TEST_MAIN(CASE(values), CASE(pieces), CASE(as_text), CASE(files))
