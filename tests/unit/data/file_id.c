/*
 * file_id.c - a data file that was changed, replaced or written again is told from one that was
 * copied, touched by chmod or deleted.
 */
#include "data/file_id.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "harness.h"

#define SIZE 300000 /* more than the beginning and the end that are looked at */

static char root[] = "/tmp/crank_test_XXXXXX";
static const char *file = "data";

static void write_file(const char *path, int seed) {
    static char text[SIZE];
    for (int i = 0; i < SIZE; i++)
        text[i] = (char)('a' + (i * 7 + seed + i / 26) % 26);
    CHECK_INT(cr_file_write(path, text, sizeof text, NULL), CR_OK);
}

/* one byte, in place */
static void poke(off_t at) {
    int fd = open(file, O_WRONLY);
    CHECK(fd >= 0 && pwrite(fd, "#", 1, at) == 1 && close(fd) == 0);
}

static void set_time(const char *path, const struct stat *st) {
    struct timespec t[2] = {st->st_atim, st->st_mtim};
    CHECK(utimensat(AT_FDCWD, path, t, 0) == 0);
}

typedef struct fixture {
    cr_fs *f;
    cr_file_id id;
    struct stat st;
} fixture;

static void begin(fixture *x) {
    cr_err err;
    write_file(file, 1);
    CHECK_INT(cr_fs_open(&x->f, file, &err), CR_OK);
    CHECK(stat(file, &x->st) == 0);
    CHECK_INT(cr_file_id_read(&x->id, x->f, &err), CR_OK);
    CHECK_INT(cr_file_id_check(&x->id, x->f, &err), CR_OK);
    CHECK_INT(cr_file_id_check_path(&x->id, file, &err), CR_OK);
}

/* what the open file and the path are said to be; then it is closed */
static void end(fixture *x, cr_code of_open, cr_code of_path) {
    cr_err err;
    CHECK_INT(cr_file_id_check(&x->id, x->f, &err), of_open);
    if (of_open != CR_OK) CHECK(strstr(err.msg, "the file changed while the run was using it"));
    CHECK_INT(cr_file_id_check_path(&x->id, file, &err), of_path);
    cr_fs_close(x->f);
}

TEST(changes) {
    fixture x;
    begin(&x);
    end(&x, CR_OK, CR_OK);
    /* other rows of the same size: seen by the time, in the middle too */
    begin(&x);
    poke(SIZE / 2);
    end(&x, CR_EDATA, CR_EDATA);
    /* with the old time the digest tells, of the beginning and the end */
    for (int k = 0; k < 3; k++) {
        static const off_t at[] = {0, 60000, SIZE - 1};
        begin(&x);
        poke(at[k]);
        set_time(file, &x.st);
        end(&x, CR_EDATA, CR_EDATA);
    }
    /* longer, shorter, written again */
    begin(&x);
    CHECK(truncate(file, SIZE + 1) == 0);
    set_time(file, &x.st);
    end(&x, CR_EDATA, CR_EDATA);
    begin(&x);
    CHECK(truncate(file, SIZE - 1) == 0);
    set_time(file, &x.st);
    end(&x, CR_EDATA, CR_EDATA);
    begin(&x);
    struct timespec later[2] = {x.st.st_atim, x.st.st_mtim};
    later[1].tv_sec += 5;
    CHECK(utimensat(AT_FDCWD, file, later, 0) == 0);
    end(&x, CR_EDATA, CR_EDATA);
}

TEST(replaced) {
    fixture x;
    /* by another file: what is open is still whole, the path leads to other rows */
    begin(&x);
    write_file("other", 2);
    CHECK(rename("other", file) == 0);
    end(&x, CR_OK, CR_EDATA);
    /* by a copy with its time: the same rows */
    begin(&x);
    write_file("other", 1);
    set_time("other", &x.st);
    CHECK(rename("other", file) == 0);
    end(&x, CR_OK, CR_OK);
    /* other rights, or gone: the rows are the same */
    begin(&x);
    CHECK(chmod(file, 0600) == 0);
    end(&x, CR_OK, CR_OK);
    begin(&x);
    CHECK(unlink(file) == 0);
    end(&x, CR_OK, CR_OK);
}

TEST(digests) {
    cr_file_id v[2] = {{.size = 1, .changed = 2, .digest = 3},
                       {.size = 4, .changed = 5, .digest = 6}};
    cr_file_ids ids = {v, 2}, none = {0};
    cr_data_digest a = cr_file_ids_digest(&ids), b;
    CHECK(cr_file_ids_digest(&none).content == 0 && cr_file_ids_digest(&none).times == 0);
    v[1].changed++;
    b = cr_file_ids_digest(&ids);
    CHECK(a.content == b.content && a.times != b.times);
    v[0].digest++;
    CHECK(cr_file_ids_digest(&ids).content != a.content);
    v[0].digest--;
    v[0].ino = 77; /* a copy */
    CHECK(cr_file_ids_digest(&ids).content == a.content);
    ids.n = 1;
    CHECK(cr_file_ids_digest(&ids).content != a.content);
}

static void enter(void) {
    CHECK(mkdtemp(root) && chdir(root) == 0);
}

static void leave(void) {
    CHECK(chdir("/") == 0 && cr_rmtree(root, NULL) == CR_OK);
}

TEST_MAIN(CASE(enter), CASE(changes), CASE(replaced), CASE(digests), CASE(leave))
