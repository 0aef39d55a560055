/* Names, directories, globs. */
#include <sys/stat.h>

#include "harness.h"
#include "tmpdir.h"

static void touch(const char *path) {
    CHECK_INT(cr_file_write(path, "x", 1, NULL), CR_OK);
}

TEST(joins) {
    cr_arena a;
    cr_arena_init(&a, 0);
    CHECK_STR(cr_path_join(&a, "a", "b"), "a/b");
    CHECK_STR(cr_path_join(&a, "a/", "b"), "a/b");
    CHECK_STR(cr_path_join(&a, "/", "b"), "/b");
    CHECK_STR(cr_path_join(&a, "", "b"), "b");
    CHECK_STR(cr_path_join(&a, ".", "b"), "b");
    CHECK_STR(cr_path_join(&a, "a", ""), "a");
    CHECK_STR(cr_path_join(&a, "a", "."), "a");
    CHECK_STR(cr_path_join(&a, "a", "/b"), "/b");
    CHECK_STR(cr_path_join(&a, "", ""), ".");
    CHECK_STR(cr_path_base("a/b.c"), "b.c");
    CHECK_STR(cr_path_base("b.c"), "b.c");
    CHECK_STR(cr_path_base("/"), "");
    cr_arena dirs;
    cr_arena_init(&dirs, 0);
    CHECK_STR(cr_path_dir(&dirs, "a/b/c"), "a/b");
    CHECK_STR(cr_path_dir(&dirs, "c"), ".");
    CHECK_STR(cr_path_dir(&dirs, "/c"), "/");
    cr_arena_clear(&dirs);
    cr_arena_clear(&a);
}

TEST(directories) {
    CHECK(tmpdir_enter());
    cr_err e;
    CHECK_INT(cr_mkdirs("a/b//c/", &e), CR_OK);
    CHECK(cr_path_is_dir("a/b/c"));
    CHECK_INT(cr_mkdirs("a/b/c", &e), CR_OK);
    CHECK_INT(cr_mkdirs(".", &e), CR_OK);
    CHECK_INT(cr_mkdirs("/tmp", &e), CR_OK);
    CHECK_INT(cr_mkdirs("", &e), CR_EIO);
    touch("a/f");
    CHECK_INT(cr_mkdirs("a/f/x", &e), CR_EIO);
    CHECK_STR(e.path, "a/f");
    CHECK(!cr_path_is_dir("a/f") && cr_path_exists("a/f") && !cr_path_exists("zz"));
    /* removal stops at links */
    CHECK_INT(cr_mkdirs("keep", &e), CR_OK);
    touch("keep/me");
    touch("a/b/c/1");
    touch("a/b/2");
    CHECK(symlink("../keep", "a/link") == 0);
    CHECK(symlink("nowhere", "a/dangling") == 0);
    CHECK_INT(cr_rmtree("a", &e), CR_OK);
    CHECK(!cr_path_exists("a") && cr_path_exists("keep/me"));
    CHECK_INT(cr_rmtree("a", &e), CR_OK);
    CHECK(symlink("keep", "l") == 0);
    CHECK_INT(cr_rmtree("l", &e), CR_OK);
    CHECK(!cr_path_exists("l") && cr_path_exists("keep/me"));
    for (int i = 0; i < 300; i++) {
        char name[64];
        snprintf(name, sizeof(name), "many/d%d", i % 7);
        CHECK_INT(cr_mkdirs(name, &e), CR_OK);
        snprintf(name, sizeof(name), "many/d%d/f%d", i % 7, i);
        touch(name);
    }
    CHECK_INT(cr_rmtree("many", &e), CR_OK);
    CHECK(!cr_path_exists("many"));
    CHECK(tmpdir_leave());
}

TEST(lists) {
    CHECK(tmpdir_enter());
    static const char *const names[] = {"b", "a", ".h", "B", "10", "9"};
    for (size_t i = 0; i < 6; i++)
        touch(names[i]);
    cr_arena a;
    cr_arena_init(&a, 0);
    char **v;
    size_t n;
    cr_err e;
    CHECK_INT(cr_list_dir(&a, ".", &v, &n, &e), CR_OK);
    CHECK_INT(n, 6);
    static const char *const want[] = {".h", "10", "9", "B", "a", "b"};
    for (size_t i = 0; i < n; i++)
        CHECK_STR(v[i], want[i]);
    CHECK_INT(cr_list_dir(&a, "no", &v, &n, &e), CR_EIO);
    CHECK_INT(cr_list_dir(&a, "a", &v, &n, &e), CR_EIO);
    cr_arena_clear(&a);
    CHECK(tmpdir_leave());
}

/* expand returns the paths joined by blanks, or the error's text. */
static const char *expand(cr_arena *a, const char *pattern, const char *const *exts) {
    char **v;
    size_t n;
    cr_err e;
    if (cr_glob(a, pattern, exts, &v, &n, &e) != CR_OK) {
        char *text = cr_arena_alloc(a, 1024);
        cr_err_text(&e, text, 1024);
        return text;
    }
    CHECK(v[n] == NULL);
    const char *s = "";
    for (size_t i = 0; i < n; i++)
        s = cr_arena_printf(a, "%s%s%s", s, i ? " " : "", v[i]);
    return s;
}

TEST(globs) {
    CHECK(tmpdir_enter());
    CHECK_INT(cr_mkdirs("d/sub.csv", NULL), CR_OK);
    CHECK_INT(cr_mkdirs("empty", NULL), CR_OK);
    CHECK_INT(cr_mkdirs("hive/day=1/hour=2", NULL), CR_OK);
    static const char *const names[] = {"d/p-2.csv",
                                        "d/p-10.csv",
                                        "d/p-1.csv",
                                        "d/x.csv.gz",
                                        "d/_SUCCESS",
                                        "d/.hidden.csv",
                                        "z.csv",
                                        "a.csv",
                                        "d/odd[1].csv",
                                        "d/p-1.csv.tmp-77",
                                        "hive/day=1/hour=2/p.csv"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        touch(names[i]);
    static const char *const exts[] = {".csv", ".csv.gz", NULL};
    cr_arena a;
    cr_arena_init(&a, 0);
    CHECK_STR(expand(&a, "d/p-*.csv", exts), "d/p-1.csv d/p-10.csv d/p-2.csv");
    CHECK_STR(expand(&a, "z.csv,a.csv", exts), "z.csv a.csv"); /* item order is kept */
    CHECK_STR(expand(&a, " z.csv , a.csv,\n", exts), "z.csv a.csv");
    CHECK_STR(expand(&a, "d/p-[12].csv,z.csv", exts), "d/p-1.csv d/p-2.csv z.csv");
    CHECK_STR(expand(&a, "d/p-[1,2].csv", exts), "d/p-1.csv d/p-2.csv");
    CHECK_STR(expand(&a, "{z,a}.csv", exts), "a.csv z.csv");
    CHECK_STR(expand(&a, "{z,a,a}.csv", exts), "a.csv z.csv");
    CHECK_STR(expand(&a, "d", exts), "d/odd[1].csv d/p-1.csv d/p-10.csv d/p-2.csv d/x.csv.gz");
    CHECK_STR(expand(&a, "d/", exts), "d/odd[1].csv d/p-1.csv d/p-10.csv d/p-2.csv d/x.csv.gz");
    CHECK_STR(expand(&a, "d/odd[1].csv", exts), "d/odd[1].csv");
    CHECK_STR(expand(&a, "d", NULL),
              "d/_SUCCESS d/odd[1].csv d/p-1.csv d/p-1.csv.tmp-77 d/p-10.csv "
              "d/p-2.csv d/x.csv.gz");
    CHECK_STR(expand(&a, "a.csv,no*.csv", exts), "no*.csv: no file found; check the path");
    CHECK_STR(expand(&a, "empty", exts),
              "empty: the directory holds no file ending in .csv or .csv.gz; check the path");
    CHECK_STR(expand(&a, "hive", exts),
              "hive: the directory holds folders and no file ending in .csv or .csv.gz; write "
              "'hive/*/*' for the files in them");
    CHECK_STR(expand(&a, "hive/*/*", exts), "hive/day=1/hour=2/p.csv");
    static const char *const other[] = {".pq", NULL};
    CHECK_STR(expand(&a, "d", other),
              "d: the directory holds no file ending in .pq, but '_SUCCESS'; check the path, or "
              "dataset_type in the config");
    CHECK_STR(expand(&a, "", exts), "no input path given (''); name a file or a directory");
    CHECK_STR(expand(&a, ",,", exts), "no input path given (',,'); name a file or a directory");
    cr_arena_clear(&a);
    CHECK(tmpdir_leave());
}

TEST(can_write) {
    CHECK(tmpdir_enter());
    cr_err e;
    touch("f");
    CHECK_INT(cr_can_write("f", &e), CR_OK);
    CHECK_INT(cr_can_write("new", &e), CR_OK);
    CHECK(!cr_path_exists("new"));
    CHECK_INT(cr_mkdirs("d", &e), CR_OK);
    CHECK_INT(cr_can_write("d", &e), CR_EIO);
    CHECK_STR(e.msg, "cannot write: Is a directory; name a file, not a directory");
    CHECK_INT(cr_can_write("d/new", &e), CR_OK);
    CHECK_INT(cr_can_write("no/new", &e), CR_EIO);
    CHECK_STR(e.msg, "cannot write: No such file or directory; check the path");
    CHECK_INT(cr_can_write("f/new", &e), CR_EIO);
    CHECK_INT(cr_can_write("/dev/null", &e), CR_OK);
    tmpdir_leave();
}

TEST(inside) {
    CHECK(tmpdir_enter());
    cr_err e;
    CHECK_INT(cr_mkdirs("x/d", &e), CR_OK);
    touch("x/v");
    touch("x/d/v");
    touch("out");
    CHECK(symlink("../out", "x/link") == 0 && symlink("d/v", "x/near") == 0 &&
          symlink("/etc", "x/up") == 0 && symlink("x", "way") == 0);
    static const struct {
        const char *dir, *path;
        bool ok;
    } cases[] = {{"x", "x/v", true},       {"x", "x/d/v", true},
                 {"x/", "x/v", true},      {"x", "x/near", true},
                 {"x", "x/missing", true}, {"way", "way/v", true},
                 {".", "out", true},       {".", "x/v", true},
                 {"x", "out", false},      {"x", "x/../out", false},
                 {"x", "x/d/../v", false}, {"x", "/etc/passwd", false},
                 {"x", "x/link", false},   {"x", "x/up/passwd", false},
                 {"x", "xy/v", false},     {".", "/etc/passwd", false},
                 {".", "../out", false},   {"x", "x/..", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_code code = cr_path_inside(cases[i].dir, cases[i].path, &e);
        CHECK_INT(code, cases[i].ok ? CR_OK : CR_ECONF);
        if (code != (cases[i].ok ? CR_OK : CR_ECONF)) fprintf(stderr, "  %s\n", cases[i].path);
    }
    CHECK(strstr(e.msg, "'x/..' lies outside of 'x'; an export reads its own files only") != NULL);
    CHECK(cr_path_below("x", "x/v") && cr_path_below("", "x/near") &&
          !cr_path_below("x", "x/link"));
    CHECK(cr_path_is_link("x/link") && !cr_path_is_link("x/v") && !cr_path_is_link("no"));
    CHECK(tmpdir_leave());
}

TEST_MAIN(CASE(joins), CASE(directories), CASE(lists), CASE(globs), CASE(can_write), CASE(inside))
