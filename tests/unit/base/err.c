/* Errors and lists of findings. */
#include "base/err.h"

#include <errno.h>

#include "harness.h"

TEST(text_of_an_error) {
    cr_err e;
    char s[1024];
    CHECK_INT(cr_fail(&e, CR_EDATA, "bad %d", 5), CR_EDATA);
    cr_err_text(&e, s, sizeof(s));
    CHECK_STR(s, "bad 5");
    CHECK(e.at.path == NULL && e.src != NULL && e.src_line > 0);
    (void)cr_fail_at(&e, CR_ECONF, ((cr_loc){"a.yaml", 14, 9}),
                     "unknown key 'x'; did you mean 'y'?");
    cr_err_text(&e, s, sizeof(s));
    CHECK_STR(s, "a.yaml:14:9: unknown key 'x'; did you mean 'y'?");
    (void)cr_fail_at(&e, CR_ECONF, ((cr_loc){"a.yaml", 14, 0}), "m");
    cr_err_text(&e, s, sizeof(s));
    CHECK_STR(s, "a.yaml:14: m");
    (void)cr_fail_at(&e, CR_ECONF, ((cr_loc){"a.yaml", 0, 0}), "m");
    cr_err_text(&e, s, sizeof(s));
    CHECK_STR(s, "a.yaml: m");
    cr_err_text(&e, s, 5);
    CHECK_STR(s, "a.ya");
    CHECK_INT(cr_fail(NULL, CR_EIO, "nobody listens"), CR_EIO);
}

TEST(an_error_may_be_wrapped_and_copied) {
    cr_err e;
    char s[1024];
    char path[] = "part-1.csv";
    (void)cr_fail_at(&e, CR_EDATA, ((cr_loc){path, 3, 0}), "bad value");
    path[0] = 'X'; /* the path was copied */
    (void)cr_fail_at(&e, CR_EDATA, e.at, "while reading: %s", e.msg);
    cr_err copy;
    cr_err_copy(&copy, &e);
    (void)cr_fail_at(&e, CR_EIO, ((cr_loc){"other.csv", 1, 0}), "other");
    CHECK_STR(copy.at.path, "part-1.csv"); /* it does not point into the original */
    cr_err_text(&copy, s, sizeof(s));
    CHECK_STR(s, "part-1.csv:3: while reading: bad value");
}

TEST(a_message_is_one_line) {
    cr_err e;
    (void)cr_fail(&e, CR_EDATA, "value 'a\nb\x1b[31m'");
    CHECK_STR(e.msg, "value 'a\\nb\\x1b[31m'");
    char big[2000];
    memset(big, 'z', sizeof(big));
    big[sizeof(big) - 1] = 0;
    (void)cr_fail_at(&e, CR_EDATA, ((cr_loc){big, 1, 1}), "%s", big);
    CHECK_INT(strlen(e.msg), sizeof(e.msg) - 1);
    CHECK_INT(strlen(e.path), sizeof(e.path) - 1);
    CHECK(strncmp(e.path, "...zzz", 6) == 0);
    /* a character is not cut in the middle: 510 + 2 bytes of e-acute do not fit in 511 */
    for (size_t i = 0; i + 1 < sizeof(big); i += 2)
        memcpy(big + i, "\xc3\xa9", 2);
    big[1998] = 0;
    (void)cr_fail(&e, CR_EDATA, "%s", big);
    CHECK_INT(strlen(e.msg), 510);
}

TEST(causes_and_cures) {
    cr_err e;
    CHECK_INT(cr_fail_why(&e, 7, cr_fail(&e, CR_EDATA, "too large; cut it")), CR_EDATA);
    CHECK_INT(e.why, 7);
    CHECK_INT(e.n_cure, 0);
    cr_err_cure(&e, "; cut it");
    CHECK_INT(e.n_cure, strlen("; cut it"));
    cr_err_cure(&e, "; another"); /* the message was cut short and does not end with it */
    CHECK_INT(e.n_cure, 0);
    cr_err_cure(&e, "; cut it");
    (void)cr_fail(&e, CR_EIO, "another error");
    CHECK_INT(e.why, 0);
    CHECK_INT(e.n_cure, 0);
    CHECK_INT(cr_fail_why(NULL, 7, CR_EIO), CR_EIO);
    cr_err_cure(NULL, "");
}

TEST(exit_codes) {
    CHECK_INT(cr_exit_code(CR_OK), 0);
    CHECK_INT(cr_exit_code(CR_EUSAGE), 2);
    CHECK_INT(cr_exit_code(CR_ECONF), 2);
    CHECK_INT(cr_exit_code(CR_EDATA), 3);
    CHECK_INT(cr_exit_code(CR_EIO), 1);
    CHECK_INT(cr_exit_code(CR_ENOMEM), 1);
    CHECK_INT(cr_exit_code(CR_ERUN), 1);
    CHECK_INT(cr_exit_code(CR_ESTOP), 1);
}

TEST(cures_of_errno) {
    CHECK_STR(cr_errno_cure(EMFILE), "; raise the limit of open files (ulimit -n)");
    CHECK_STR(cr_errno_cure(ENOSPC), "; free some space and run again");
    CHECK_STR(cr_errno_cure(EIO), "; check the disk");
    CHECK_STR(cr_errno_cure(0), "");
    CHECK_STR(cr_errno_cure(ECHILD), "");
}

TEST(findings) {
    cr_diag d;
    cr_diag_init(&d);
    CHECK_INT(cr_diag_code(&d), CR_OK);
    cr_err e;
    CHECK_INT(cr_diag_first(&d, &e), CR_OK);
    cr_diag_add(&d, CR_SEV_WARN, CR_ECONF, (cr_loc){"b", 9, 1}, "w");
    CHECK_INT(cr_diag_code(&d), CR_OK);
    cr_diag_add(&d, CR_SEV_ERROR, CR_ECONF, (cr_loc){"a", 5, 2}, "e%d", 1);
    cr_diag_add(&d, CR_SEV_ERROR, CR_ECONF, (cr_loc){"a", 5, 2}, "e1"); /* the same again */
    cr_diag_add(&d, CR_SEV_ERROR, CR_EIO, (cr_loc){"a", 5, 1}, "e2");
    cr_diag_add(&d, CR_SEV_ERROR, CR_EIO, (cr_loc){"a", 5, 1}, "e3");
    cr_diag_add(&d, CR_SEV_NOTE, CR_EIO, (cr_loc){"b", 2, 1}, "n");
    cr_diag_add(&d, CR_SEV_ERROR, CR_EIO, CR_NOWHERE, "nowhere");
    CHECK_INT(d.n, 6);
    CHECK_INT(d.n_errors, 5); /* who tells an error again has failed again */
    CHECK_INT(cr_diag_code(&d), CR_ECONF);
    cr_diag_sort(&d);
    static const char *const want[] = {"n", "w", "e2", "e3", "e1", "nowhere"};
    for (size_t i = 0; i < 6; i++)
        CHECK_STR(d.v[i].msg, want[i]);
    CHECK_INT(cr_diag_first(&d, &e), CR_EIO);
    CHECK_STR(e.msg, "e2");
    CHECK_INT(e.at.line, 5);
    for (int i = 0; i < 100; i++)
        cr_diag_add(&d, CR_SEV_ERROR, CR_EIO, (cr_loc){"c", 100 - i, 1}, "x");
    cr_diag_sort(&d);
    CHECK_INT(d.n, 106);
    CHECK_INT(d.v[6].at.line, 1);
    CHECK_INT(d.v[105].at.line, 100);
    cr_diag_clear(&d);
    CHECK_INT(d.n, 0);
}

TEST_MAIN(CASE(text_of_an_error), CASE(an_error_may_be_wrapped_and_copied),
          CASE(a_message_is_one_line), CASE(causes_and_cures), CASE(exit_codes),
          CASE(cures_of_errno), CASE(findings))
