/* Files: whole or as they were; every failure names the path, the reason and a cure. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "harness.h"
#include "tmpdir.h"

static bool holds(const char *path, const char *want) {
    cr_buf b;
    cr_buf_init(&b);
    bool ok = cr_file_read(path, 0, &b, NULL) == CR_OK && b.n == strlen(want) &&
              strcmp(b.data, want) == 0;
    cr_buf_clear(&b);
    return ok;
}

/* n_files counts what is in the directory: a leftover temporary file shows up here. */
static size_t n_files(const char *path) {
    cr_arena a;
    cr_arena_init(&a, 0);
    char **names;
    size_t n = 0;
    CHECK_INT(cr_list_dir(&a, path, &names, &n, NULL), CR_OK);
    cr_arena_clear(&a);
    return n;
}

TEST(write_and_read) {
    CHECK(tmpdir_enter());
    cr_err e;
    CHECK_INT(cr_file_write("a", "hello", 5, &e), CR_OK);
    CHECK(holds("a", "hello"));
    CHECK_INT(cr_file_write("a", "", 0, &e), CR_OK);
    CHECK(holds("a", ""));
    size_t n = 3 << 20;
    char *big = malloc(n);
    for (size_t i = 0; i < n; i++)
        big[i] = (char)(i * 31 >> 5);
    CHECK_INT(cr_file_write("big", big, n, &e), CR_OK);
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "old content goes");
    CHECK_INT(cr_file_read("big", 0, &b, &e), CR_OK);
    CHECK(b.n == n && memcmp(b.data, big, n) == 0 && b.data[n] == 0);
    CHECK_INT(cr_file_read("big", n, &b, &e), CR_OK);
    CHECK_INT(cr_file_read("big", n - 1, &b, &e), CR_EIO);
    CHECK(strstr(e.msg, "larger") && b.n == 0);
    CHECK_INT(cr_file_copy("big", "copy", &e), CR_OK);
    CHECK_INT(cr_file_read("copy", 0, &b, &e), CR_OK);
    CHECK(b.n == n && memcmp(b.data, big, n) == 0);
    int64_t size = 0;
    CHECK_INT(cr_file_size("copy", &size, &e), CR_OK);
    CHECK_INT(size, n);
    CHECK_INT(cr_file_read("/proc/self/status", 0, &b, &e), CR_OK); /* says size 0 */
    CHECK(b.n > 100);
    cr_buf_clear(&b);
    free(big);
    CHECK_INT(n_files("."), 3);
    CHECK(tmpdir_leave());
}

TEST(errors_name_path_reason_cure) {
    CHECK(tmpdir_enter());
    cr_err e;
    char text[1024];
    cr_buf b;
    cr_buf_init(&b);
    CHECK_INT(cr_file_read("no/such", 0, &b, &e), CR_EIO);
    cr_err_text(&e, text, sizeof(text));
    CHECK_STR(text, "no/such: cannot open: No such file or directory; check the path");
    CHECK_INT(cr_mkdirs("d", &e), CR_OK);
    CHECK_INT(cr_file_read("d", 0, &b, &e), CR_EIO);
    cr_err_text(&e, text, sizeof(text));
    CHECK_STR(text, "d: cannot read: Is a directory; name a file, not a directory");
    CHECK_INT(cr_file_write("d", "x", 1, &e), CR_EIO);
    CHECK_INT(cr_file_write("no/such", "x", 1, &e), CR_EIO);
    CHECK_INT(cr_file_append("no/such", "x", 1, &e), CR_EIO);
    CHECK_INT(cr_file_copy("no", "x", &e), CR_EIO);
    CHECK_STR(e.path, "no");
    CHECK_INT(cr_file_write("f", "x", 1, &e), CR_OK);
    CHECK_INT(cr_file_copy("f", "no/x", &e), CR_EIO);
    CHECK_STR(e.path, "no/x");
    CHECK_INT(cr_file_write("f/x", "x", 1, &e), CR_EIO);
    CHECK(strstr(e.msg, "a part of the path is a file"));
    int64_t size;
    CHECK_INT(cr_file_size("no", &size, &e), CR_EIO);
    CHECK_INT(cr_file_size("d", &size, &e), CR_EIO);
    CHECK_INT(n_files("."), 2);
    cr_buf_clear(&b);
    CHECK(tmpdir_leave());
}

TEST(full_disk) {
    if (access("/dev/full", W_OK) != 0) SKIP("no /dev/full here");
    cr_err e;
    CHECK_INT(cr_file_append("/dev/full", "x", 1, &e), CR_EIO);
    CHECK_STR(e.path, "/dev/full");
    CHECK_STR(e.msg, "cannot write: No space left on device; free some space and run again");
    CHECK_INT(cr_file_write("/dev/full", "x", 1, &e), CR_EIO);
    CHECK(cr_path_exists("/dev/full")); /* a device is written, never replaced */
    CHECK_INT(cr_file_write("/dev/null", "x", 1, &e), CR_OK);
    struct stat st;
    CHECK(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
}

TEST(a_failed_write_leaves_the_old_file) {
    CHECK(tmpdir_enter());
    cr_err e;
    size_t n = 300000;
    char *big = calloc(n, 1);
    CHECK_INT(cr_file_write("a", "old", 3, &e), CR_OK);
    CHECK_INT(cr_file_append("log", "one\n", 4, &e), CR_OK);
    struct rlimit old, small = {100000, 100000};
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    CHECK_INT(cr_file_write("a", big, n, &e), CR_EIO);
    CHECK(strstr(e.msg, "File too large"));
    CHECK_INT(cr_file_append("log", big, n, &e), CR_EIO);
    /* many small writes: the error is kept until commit, also when nobody looked */
    cr_outfile *f;
    CHECK_INT(cr_outfile_open(&f, "a", &e), CR_OK);
    int n_failed = 0;
    for (int i = 0; i < 3000; i++)
        n_failed += cr_outfile_write(f, big, 100, NULL) != CR_OK;
    CHECK(n_failed > 0);
    CHECK_INT(cr_outfile_commit(f, &e), CR_EIO);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, before);
    CHECK(holds("a", "old"));
    CHECK(holds("log", "one\n"));
    CHECK_INT(n_files("."), 2);
    free(big);
    CHECK(tmpdir_leave());
}

TEST(outfile) {
    CHECK(tmpdir_enter());
    cr_err e;
    cr_outfile *f;
    CHECK_INT(cr_file_write("a", "old", 3, &e), CR_OK);
    CHECK_INT(cr_outfile_open(&f, "a", &e), CR_OK);
    CHECK_INT(cr_outfile_write(f, "ne", 2, &e), CR_OK);
    CHECK_INT(cr_outfile_write(f, "", 0, &e), CR_OK);
    CHECK(holds("a", "old")); /* not before commit */
    CHECK_INT(cr_outfile_write(f, "w", 1, &e), CR_OK);
    CHECK_INT(cr_outfile_commit(f, &e), CR_OK);
    CHECK(holds("a", "new"));
    CHECK_INT(cr_outfile_open(&f, "a", &e), CR_OK);
    CHECK_INT(cr_outfile_write(f, "x", 1, &e), CR_OK);
    cr_outfile_abort(f);
    cr_outfile_abort(NULL);
    CHECK(holds("a", "new"));
    /* odd sizes around the inner buffer */
    CHECK_INT(cr_outfile_open(&f, "b", &e), CR_OK);
    cr_buf want;
    cr_buf_init(&want);
    for (size_t i = 0; i < 12; i++) {
        size_t n = i * 13007;
        char *p = malloc(n + 1);
        memset(p, (int)('a' + i), n);
        CHECK_INT(cr_outfile_write(f, p, n, &e), CR_OK);
        cr_buf_add(&want, p, n);
        free(p);
    }
    CHECK_INT(cr_outfile_commit(f, &e), CR_OK);
    CHECK(holds("b", want.data));
    cr_buf_clear(&want);
    /* through a link the file behind it changes */
    CHECK(symlink("a", "link") == 0);
    CHECK_INT(cr_file_write("link", "via", 3, &e), CR_OK);
    CHECK(holds("a", "via"));
    struct stat st;
    CHECK(lstat("link", &st) == 0 && S_ISLNK(st.st_mode));
    CHECK_INT(n_files("."), 3);
    CHECK(tmpdir_leave());
}

TEST(append_and_rename) {
    CHECK(tmpdir_enter());
    cr_err e;
    CHECK_INT(cr_file_append("log", "one\n", 4, &e), CR_OK);
    CHECK_INT(cr_file_append("log", "two\n", 4, &e), CR_OK);
    CHECK(holds("log", "one\ntwo\n"));
    CHECK_INT(cr_rename("log", "log2", &e), CR_OK);
    CHECK(!cr_path_exists("log") && holds("log2", "one\ntwo\n"));
    CHECK_INT(cr_rename("nothing", "x", &e), CR_EIO);
    CHECK(strstr(e.msg, "'nothing'"));
    CHECK_INT(cr_mkdirs("d/full", &e), CR_OK);
    CHECK_INT(cr_mkdirs("d2", &e), CR_OK);
    CHECK_INT(cr_rename("d2", "d", &e), CR_EIO);
    CHECK(strstr(e.msg, "not empty"));
    CHECK_INT(cr_sync_dir(".", &e), CR_OK);
    CHECK_INT(cr_sync_dir("nothing", &e), CR_EIO);
    CHECK(tmpdir_leave());
}

TEST_MAIN(CASE(write_and_read), CASE(errors_name_path_reason_cure), CASE(full_disk),
          CASE(a_failed_write_leaves_the_old_file), CASE(outfile), CASE(append_and_rename))
