/* SHA-256 beside the values of FIPS 180-4's examples and of sha256sum. */
#include "base/sha256.h"

#include "harness.h"

TEST(digests) {
    static const struct {
        char c;
        size_t n;
        const char *digest;
    } same[] = {
        /* n times c */
        {'x', 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {'x', 55, "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072"},
        {'x', 56, "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e"},
        {'x', 63, "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2"},
        {'x', 64, "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c"},
        {'x', 65, "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9"},
        {'a', 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    char out[CR_SHA256_TEXT + 1];
    cr_sha256_text("abc", 3, out);
    CHECK_STR(out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    cr_sha256_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, out);
    CHECK_STR(out, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *text = malloc(1000000);
    for (size_t i = 0; text && i < sizeof(same) / sizeof(same[0]); i++) {
        memset(text, same[i].c, same[i].n);
        cr_sha256_text(text, same[i].n, out);
        CHECK_STR(out, same[i].digest);
    }
    free(text);
}

TEST_MAIN(CASE(digests))
