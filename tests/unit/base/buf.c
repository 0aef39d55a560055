/* The growing buffer, and suggestions for typos. */
#include "base/buf.h"

#include "harness.h"

TEST(starts_empty) {
    cr_buf b;
    cr_buf_init(&b);
    CHECK_STR(b.data, "");
    CHECK_INT(b.n, 0);
    cr_buf_reset(&b);
    cr_buf_add(&b, NULL, 0);
    CHECK_STR(b.data, "");
    cr_buf_clear(&b);
    CHECK_STR(b.data, "");
}

TEST(grows) {
    cr_buf b;
    cr_buf_init(&b);
    for (int i = 0; i < 1000; i++) {
        cr_buf_char(&b, (char)('a' + i % 26));
        CHECK(b.data[b.n] == 0);
    }
    CHECK_INT(b.n, 1000);
    for (int i = 0; i < 1000; i++)
        CHECK(b.data[i] == (char)('a' + i % 26));
    cr_buf_reset(&b);
    cr_buf_str(&b, "x=");
    cr_buf_printf(&b, "%d %s", 5, "yes");
    CHECK_STR(b.data, "x=5 yes");
    char big[5000];
    memset(big, 'q', sizeof(big) - 1);
    big[sizeof(big) - 1] = 0;
    cr_buf_printf(&b, "<%s>", big);
    CHECK_INT(b.n, 7 + 2 + 4999);
    CHECK(b.data[b.n - 1] == '>' && b.data[b.n] == 0);
    cr_buf_add(&b, "a\0b", 3);
    CHECK_INT(b.n, 7 + 2 + 4999 + 3);
    cr_buf_clear(&b);
}

TEST(distances) {
    CHECK_INT(cr_edit_distance("", ""), 0);
    CHECK_INT(cr_edit_distance("abc", ""), 3);
    CHECK_INT(cr_edit_distance("", "ab"), 2);
    CHECK_INT(cr_edit_distance("deepfm", "deepfm"), 0);
    CHECK_INT(cr_edit_distance("DeepFM", "deepfm"), 0);
    CHECK_INT(cr_edit_distance("deepmf", "deepfm"), 1); /* a swap */
    CHECK_INT(cr_edit_distance("idd", "id"), 1);
    CHECK_INT(cr_edit_distance("kitten", "sitting"), 3);
    char a[201], b[201];
    memset(a, 'a', 200);
    memset(b, 'b', 200);
    a[200] = b[200] = 0;
    CHECK_INT(cr_edit_distance(a, b), 200);
}

static const char *next_word(const void *ctx, size_t i) {
    return ((const char *const *)ctx)[i];
}

TEST(suggestions) {
    static const char *const words[] = {"num_steps", "num_epochs", "id_feature", "raw_feature",
                                        "lr",        "dim",        NULL};
    static const char *const parts[] = {"adam_optimizer", "rowwise_adam_optimizer",
                                        "binary_focal_loss", "l2_loss", NULL};
    CHECK_STR(cr_nearest("adam", next_word, parts), "adam_optimizer");
    CHECK_STR(cr_nearest("Focal_Loss", next_word, parts), "binary_focal_loss");
    CHECK(cr_nearest("loss", next_word, parts) == NULL);      /* of two names */
    CHECK(cr_nearest("optimizer", next_word, parts) == NULL); /* of two names */
    CHECK(cr_nearest("focal", next_word, parts) == NULL);     /* in the middle */
    CHECK_STR(cr_nearest("num_step", next_word, words), "num_steps");
    CHECK_STR(cr_nearest("NUM_EPOCH", next_word, words), "num_epochs");
    CHECK_STR(cr_nearest("id_featrue", next_word, words), "id_feature");
    CHECK_STR(cr_nearest("dmi", next_word, words), "dim");
    CHECK_STR(cr_nearest("rl", next_word, words), "lr");
    CHECK(cr_nearest("batch_size", next_word, words) == NULL);
    CHECK(cr_nearest("x", next_word, words) == NULL);
    CHECK(cr_nearest("", next_word, words) == NULL);
    static const char *const none[] = {NULL};
    CHECK(cr_nearest("abc", next_word, none) == NULL);
}

TEST_MAIN(CASE(starts_empty), CASE(grows), CASE(distances), CASE(suggestions))
