/*
 * fs.c - stores: which one a path has, reads that are merged and made ahead, failures that pass and
 * those that do not, files of a store without append and rename.
 */
#include "base/fs.h"

#include "base/digest.h"
#include "base/file.h"
#include "base/scheme.h"
#include "harness.h"
#include "mem_store.h"

#define KB 1024
#define MB (1024 * KB)

static char *text; /* of the file mem://b/big */
#define BIG ((size_t)20 * MB + 12345)

static void put_big(void) {
    text = malloc(BIG);
    for (size_t i = 0; i < BIG; i++)
        text[i] = (char)(i * 2654435761u >> 13);
    CHECK_INT(cr_file_write("mem://b/big", text, BIG, NULL), CR_OK);
}

static cr_fs *open_big(void) {
    cr_fs *f = NULL;
    CHECK_INT(cr_fs_open(&f, "mem://b/big", NULL), CR_OK);
    CHECK(cr_fs_is_far(f));
    mem_count_anew();
    return f;
}

static void read_at(cr_fs *f, int64_t at, size_t n) {
    char *buf = malloc(n + 1);
    size_t got, want = at >= (int64_t)BIG ? 0 : n < BIG - (size_t)at ? n : BIG - (size_t)at;
    cr_err err;
    CHECK_INT(cr_fs_pread(f, at, buf, n, &got, &err), CR_OK);
    CHECK_INT(got, want);
    CHECK(memcmp(buf, text + at, got) == 0);
    free(buf);
}

TEST(schemes) {
    cr_arena a;
    cr_diag d;
    cr_arena_init(&a, 0);
    cr_diag_init(&d);
    CHECK_STR(cr_store_of("a/b")->scheme, "file");
    CHECK_STR(cr_store_of("file:///a")->scheme, "file");
    CHECK_STR(cr_store_of("MEM://b/x")->scheme, "mem");
    CHECK(cr_store_of("gs://b/x") == NULL);
    CHECK_STR(cr_path_take(&a, "mem://b/x", CR_NOWHERE, &d), "mem://b/x");
    CHECK_STR(cr_paths_take(&a, "mem://b/x*, a", CR_NOWHERE, &d), "mem://b/x*, a");
    CHECK(cr_path_take(&a, "gs://b/x", CR_NOWHERE, &d) == NULL);
    CHECK_INT(d.n_errors, 1);
    CHECK(!cr_store_moves("mem://b/x") && cr_store_moves("x"));
    cr_diag_clear(&d);
    cr_arena_clear(&a);
}

/* many small reads near each other are one request; ranges that are named are joined */
TEST(merged) {
    cr_fs *f = open_big();
    for (int i = 0; i < 100; i++)
        read_at(f, 5 * MB + i * 1000, 900);
    CHECK_INT(mem.reads, 1);
    /* the end, where footers are: the last bytes and what lies before them */
    mem_count_anew();
    read_at(f, (int64_t)BIG - 8, 8);
    read_at(f, (int64_t)BIG - 100000, 100000 - 8);
    CHECK_INT(mem.reads, 1);
    cr_fs_close(f);
    f = open_big();
    /* twelve columns of 100 KB, 200 KB apart, and two far away */
    cr_fs_range v[14];
    for (int i = 0; i < 12; i++)
        v[i] = (cr_fs_range){(11 - i) * 300 * KB, 100 * KB};
    v[12] = (cr_fs_range){10 * MB, 64 * KB};
    v[13] = (cr_fs_range){15 * MB, 64 * KB};
    cr_fs_will_need(f, v, 14);
    for (int i = 0; i < 14; i++)
        read_at(f, v[i].at, (size_t)v[i].n);
    CHECK_INT(mem.reads, 3);
    cr_fs_close(f);
}

/* a reader that goes front to back, and one long read, have many requests at once */
TEST(ahead) {
    cr_fs *f = open_big();
    read_at(f, 0, 256 * KB);
    mem.gather = 3; /* nothing comes until three requests are there */
    for (int64_t at = 256 * KB; at < (int64_t)BIG; at += 256 * KB)
        read_at(f, at, 256 * KB);
    CHECK(mem.reads <= 8); /* not one per small read */
    CHECK(mem.most_at_once >= 3);
    cr_fs_close(f);
    f = open_big();
    cr_fs_map m;
    CHECK_INT(cr_fs_map_file(&m, f, NULL), CR_OK);
    CHECK(m.by == NULL && m.size == (int64_t)BIG && memcmp(m.data, text, BIG) == 0);
    CHECK_INT(mem.reads, 3); /* of 8 MB */
    CHECK_INT(mem.most_at_once, 3);
    mem.gather = 0;
    cr_fs_unmap(&m);
    cr_fs_close(f);
    /* closing does not wait for what was only named, and what is on its way does no harm */
    f = open_big();
    cr_fs_will_need(f, &(cr_fs_range){0, (int64_t)BIG}, 1);
    cr_fs_close(f);
}

TEST(short_reads) {
    mem.most = 50000;
    cr_fs *f = open_big();
    read_at(f, 100, 3 * MB);
    read_at(f, (int64_t)BIG - 10, 100);
    read_at(f, (int64_t)BIG, 100);
    uint64_t a, b;
    int64_t size;
    CHECK_INT(cr_digest_file("mem://b/big", &size, &a, NULL), CR_OK);
    b = cr_digest_of(text, BIG);
    CHECK(a == b && size == (int64_t)BIG);
    cr_fs_close(f);
    mem.most = 0;
}

/* what may pass is tried again; the rest is told with place, cause and cure */
TEST(failures) {
    cr_err err;
    cr_fs *f;
    char buf[10];
    size_t got;
    mem.fail_each = 3;
    f = open_big();
    for (int i = 0; i < 15; i++)
        read_at(f, i * MB, 700 * KB);
    CHECK(mem.failed > 3);
    cr_fs_close(f);
    CHECK_INT(cr_file_write("mem://b/small", "abc", 3, &err), CR_OK);
    mem.fail_each = 0;
    /* a store that does not come back */
    f = open_big();
    mem.dead = "b/big";
    mem.dead_with = ETIMEDOUT;
    CHECK_INT(cr_fs_pread(f, 7 * MB, buf, 10, &got, &err), CR_EIO);
    CHECK_STR(err.at.path, "mem://b/big");
    CHECK_STR(err.msg,
              "cannot read at byte 7340032: Connection timed out (tried 4 times); check that "
              "the store can be reached, and run again");
    CHECK_INT(mem.failed, 4);
    mem.dead = NULL;
    read_at(f, 7 * MB, 10); /* a failure is not kept */
    cr_fs_close(f);
    /* one that refuses, in its own words: not tried again */
    mem.dead = "b/big";
    mem.dead_with = EACCES;
    mem_count_anew();
    CHECK_INT(cr_fs_open(&f, "mem://b/big", &err), CR_EIO);
    CHECK_STR(err.msg, "cannot open: 403 AccessDenied, request 17; ask the owner of the bucket");
    CHECK_INT(mem.failed, 1);
    CHECK_INT(cr_file_write("mem://b/big2", "x", 1, &err), CR_EIO);
    CHECK(strstr(err.msg, "cannot write: 403 AccessDenied"));
    mem.dead = NULL;
    CHECK_INT(cr_fs_open(&f, "mem://b/none", &err), CR_EIO);
    CHECK_STR(err.msg, "cannot open: No such file or directory; check the path");
    /* a file that is replaced while it is read */
    f = open_big();
    read_at(f, 0, 10);
    CHECK_INT(cr_file_write("mem://b/big", text, BIG, NULL), CR_OK);
    CHECK_INT(cr_fs_pread(f, 9 * MB, buf, 10, &got, &err), CR_EIO);
    cr_fs_close(f);
}

static int look_again(void *file, cr_fs_stat *st, cr_fs_why *why) {
    const mem_file *f = file;
    int e = mem_request(&mem.stats, f->o->name, why);
    if (e == 0) st->version = f->o->version;
    return e;
}

/* a store that has to be asked whether a file is still the same one: the question is tried again */
TEST(asked_again) {
    cr_store asks = mem_store;
    cr_err err;
    cr_fs *f;
    cr_fs_stat st;
    asks.scheme = "asks";
    asks.restat = look_again;
    cr_store_add(&asks);
    CHECK_INT(cr_file_write("asks://b/x", "abc", 3, &err), CR_OK);
    CHECK_INT(cr_fs_open(&f, "asks://b/x", &err), CR_OK);
    mem_count_anew();
    mem.fail_each = 2;
    for (int i = 0; i < 10; i++)
        CHECK_INT(cr_fs_restat(f, &st, &err), CR_OK);
    CHECK(mem.failed >= 5);
    mem.fail_each = 0;
    mem.dead = "b/x";
    mem.dead_with = EAGAIN;
    CHECK_INT(cr_fs_restat(f, &st, &err), CR_EIO);
    CHECK_STR(err.msg,
              "cannot look at it again: Resource temporarily unavailable (tried 4 times); check "
              "that the store can be reached, and run again");
    mem.dead = NULL;
    cr_fs_close(f);
    static const cr_store none = {.scheme = "asks"};
    cr_store_add(&none);
}

typedef struct told {
    int e;
    const char *text, *cure;
} told;
static const told *play; /* what the store answers, one after the other; the last one stays */

static int answer(const char *path, bool follow, cr_fs_stat *st, cr_fs_why *why) {
    (void)path;
    (void)follow;
    (void)st;
    snprintf(why->text, sizeof why->text, "%s", play->text);
    snprintf(why->cure, sizeof why->cure, "%s", play->cure);
    int e = play->e;
    if (play[1].e) play++;
    return e;
}

/* after several tries the user sees the cure of the failure that the last one met */
TEST(cure_of_the_last_try) {
    static const told refused[] = {{EAGAIN, "503", ""}, {EACCES, "403", "; ask the owner"}, {0}},
                      gone[] = {{EAGAIN, "503", "; wait"}, {ENOENT, "", ""}, {0}},
                      busy[] = {{EAGAIN, "no slots", "; use another quota"}, {0}};
    cr_store plays = {.scheme = "plays", .tries = 3, .wait_ms = 1, .stat = answer};
    cr_fs_why why;
    cr_fs_stat st;
    cr_err err;
    cr_store_add(&plays);
    play = refused;
    int e = cr_fs_stat_path("plays://b/x", true, &st, &why);
    CHECK_INT(cr_fs_fail(&err, "plays://b/x", "look", e, &why), CR_EIO);
    CHECK_STR(err.msg, "cannot look: 403 (tried 2 times); ask the owner");
    play = gone;
    e = cr_fs_stat_path("plays://b/x", true, &st, &why);
    CHECK_INT(cr_fs_fail(&err, "plays://b/x", "look", e, &why), CR_EIO);
    CHECK_STR(err.msg, "cannot look: No such file or directory (tried 2 times); check the path");
    play = busy;
    e = cr_fs_stat_path("plays://b/x", true, &st, &why);
    CHECK_INT(cr_fs_fail(&err, "plays://b/x", "look", e, &why), CR_EIO);
    CHECK_STR(err.msg, "cannot look: no slots (tried 3 times); use another quota");
    static const cr_store none = {.scheme = "plays"};
    cr_store_add(&none);
}

static int dirs_made, dir_calls;
static int make_at_third_call(const char *path, cr_fs_why *why) {
    (void)path;
    (void)why;
    if (++dir_calls < 3) return ECONNRESET;
    dirs_made++;
    return 0;
}
static int no_dir(const char *path, bool follow, cr_fs_stat *st, cr_fs_why *why) {
    (void)path;
    (void)follow;
    (void)st;
    (void)why;
    return ENOENT;
}

/* a request for a folder that is lost on its way is made again, as all others are */
TEST(folders) {
    cr_store slow = {
        .scheme = "slow", .tries = 4, .wait_ms = 1, .stat = no_dir, .make_dir = make_at_third_call};
    cr_err err;
    cr_store_add(&slow);
    CHECK_INT(cr_mkdirs("slow://b", &err), CR_OK);
    CHECK_INT(dir_calls, 3);
    CHECK_INT(dirs_made, 1);
    CHECK_INT(cr_mkdirs("nowhere://b/c", &err), CR_EIO);
    static const cr_store none = {.scheme = "slow"};
    cr_store_add(&none);
}

TEST(names) {
    static const char *const files[] = {"mem://n/a/x1.csv",  "mem://n/a/x2.csv",
                                        "mem://n/a/.x3.csv", "mem://n/b/x1.csv",
                                        "mem://n/b/y.txt",   "mem://n/c/d/z.csv"};
    static const char *const exts[] = {".csv", NULL};
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_err err;
    char **v;
    size_t n;
    for (size_t i = 0; i < 6; i++)
        CHECK_INT(cr_file_write(files[i], "1", 1, &err), CR_OK);
    CHECK_INT(cr_glob(&a, "mem://n/{b,a}/x*.csv", exts, &v, &n, &err), CR_OK);
    CHECK_INT(n, 3);
    CHECK_STR(v[0], "mem://n/a/x1.csv");
    CHECK_STR(v[2], "mem://n/b/x1.csv");
    mem_count_anew();
    CHECK_INT(cr_glob(&a, "mem://n/*/", exts, &v, &n, &err), CR_OK);
    CHECK_INT(n, 3); /* the files of the folders */
    CHECK_INT(cr_glob(&a, "mem://n/b, mem://n/*/d/?.csv", exts, &v, &n, &err), CR_OK);
    CHECK_INT(n, 2);
    CHECK_STR(v[1], "mem://n/c/d/z.csv");
    CHECK_INT(mem.opens, 0);
    CHECK_INT(cr_glob(&a, "mem://n/q*", exts, &v, &n, &err), CR_EIO);
    CHECK(strstr(err.msg, "no file found"));
    CHECK(cr_path_is_dir("mem://n/c") && !cr_path_is_dir("mem://n/a/x1.csv") &&
          !cr_path_exists("mem://n/q"));
    CHECK_INT(cr_list_dir(&a, "mem://n/empty", &v, &n, &err), CR_OK);
    CHECK_INT(n, 0);
    CHECK_INT(cr_mkdirs("mem://n/new/folder", &err), CR_OK);
    CHECK_INT(cr_file_copy("mem://n/b/y.txt", "mem://n/e/copy", &err), CR_OK);
    CHECK(cr_path_exists("mem://n/e/copy"));
    CHECK_INT(cr_rename("mem://n/b/y.txt", "mem://n/b/z.txt", &err), CR_EIO);
    CHECK_INT(cr_rmtree("mem://n/a", &err), CR_OK);
    CHECK(!cr_path_exists("mem://n/a"));
    CHECK_INT(cr_rmtree("mem://n/a", &err), CR_OK);
    CHECK(cr_path_inside("mem://n/c", "mem://n/c/d/z.csv", &err) == CR_OK);
    CHECK(cr_path_inside("mem://n/c", "mem://n/c/../b/x1.csv", &err) != CR_OK);
    cr_arena_clear(&a);
}

/* a file of a store that cannot append is whole there from time to time, and at the end */
TEST(appending) {
    cr_err err;
    cr_buf b;
    cr_outfile *f;
    cr_buf_init(&b);
    CHECK_INT(cr_file_append("mem://l/log", "one\n", 4, &err), CR_OK);
    CHECK_INT(cr_file_append("mem://l/log", "two\n", 4, &err), CR_OK);
    CHECK_INT(cr_outfile_append(&f, "mem://l/log", true, &err), CR_EIO);
    CHECK_INT(cr_outfile_append(&f, "mem://l/log", false, &err), CR_OK);
    CHECK_INT(cr_outfile_write(f, "three\n", 6, &err), CR_OK);
    CHECK_INT(cr_outfile_flush(f, &err), CR_OK);
    CHECK_INT(cr_file_read("mem://l/log", 0, &b, &err), CR_OK);
    CHECK_STR(b.data, "one\ntwo\n");
    CHECK_INT(cr_outfile_settle(f, &err), CR_OK);
    CHECK_INT(cr_file_read("mem://l/log", 0, &b, &err), CR_OK);
    CHECK_STR(b.data, "one\ntwo\nthree\n");
    mem_count_anew();
    for (int i = 0; i < 40000; i++) { /* 400 KB in lines: few puts */
        CHECK_INT(cr_outfile_write(f, "123456789\n", 10, &err), CR_OK);
        CHECK_INT(cr_outfile_flush(f, &err), CR_OK);
    }
    CHECK(mem.puts <= 20);
    CHECK_INT(cr_outfile_commit(f, &err), CR_OK);
    CHECK_INT(cr_file_read("mem://l/log", 0, &b, &err), CR_OK);
    CHECK_INT(b.n, 14 + 400000);
    cr_buf_clear(&b);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(schemes),
                                   CASE(merged),
                                   CASE(ahead),
                                   CASE(short_reads),
                                   CASE(failures),
                                   CASE(asked_again),
                                   CASE(cure_of_the_last_try),
                                   CASE(folders),
                                   CASE(names),
                                   CASE(appending)};
    cr_store_add(&mem_store);
    put_big();
    int rc = t_run(cases, sizeof cases / sizeof *cases, argc, argv);
    free(text);
    mem_clear();
    return rc;
}
