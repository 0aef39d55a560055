/* Paths with a scheme: file:// is local, what no store serves is told with its cure. */
#include "base/scheme.h"

#include "base/fs.h"

#include "harness.h"

static void take(const char *path, const char *want) {
    cr_arena a;
    cr_diag d;
    cr_arena_init(&a, 0);
    cr_diag_init(&d);
    const char *got = cr_path_take(&a, path, CR_NOWHERE, &d);
    CHECK_STR(got ? got : "(none)", want ? want : "(none)");
    CHECK_INT(d.n_errors, want ? 0 : 1);
    if (!want) CHECK_INT(cr_diag_code(&d), CR_EUSAGE);
    cr_diag_clear(&d);
    cr_arena_clear(&a);
}

TEST(local) {
    take("data/a.csv", "data/a.csv");
    take("/data/a.csv", "/data/a.csv");
    take("", "");
    take("-", "-");
    take("a:b/c", "a:b/c");
    take("c:/x", "c:/x");       /* one slash after a word that is no scheme: a folder named "c:" */
    take("./s3:/x", "./s3:/x"); /* this way such a folder can be named */
    take("file:///a/b c", "/a/b c");
    take("FILE:///a", "/a");
    take("file:/a", "/a");
    take("file://localhost/a", "/a");
    take("file:///a%20b", "/a%20b");
}

TEST(refused) {
    take("file://host/a", NULL);
    take("file://rel", NULL);
    take("new+store.v2://x", NULL);
    take("afs:/a/b", NULL);
    take("GS://b/x", NULL);
    for (const cr_scheme *s = cr_schemes; s->name; s++) {
        char path[64];
        snprintf(path, sizeof path, "%s://b/x", s->name);
        CHECK(cr_scheme_find(path) == s);
        CHECK(s->store != NULL);
        CHECK(s->cure != NULL);
        if (!cr_store_of(path)) take(path, NULL);
    }
}

static void bare(const char *path, const char *want) {
    cr_arena a;
    cr_arena_init(&a, 0);
    CHECK_STR(cr_path_bare(&a, path), want);
    cr_arena_clear(&a);
}

/* slashes at the end of a path of a store, where "a//b" and "a/b" may be two names */
TEST(last_slashes) {
    bare("s3://bucket/exp//", "s3://bucket/exp");
    bare("s3://bucket/exp", "s3://bucket/exp");
    bare("s3://bucket//a/", "s3://bucket//a");
    bare("s3://bucket/", "s3://bucket");
    bare("hdfs:///", "hdfs:///");
    bare("hdfs:///a/", "hdfs:///a");
    bare("exp/", "exp/");
    bare("/", "/");
    bare("", "");
    bare("odps://p/tables/t/dt=1/", "odps://p/tables/t/dt=1/");
}

/* what is wrong with each item of a list is told */
TEST(lists) {
    cr_arena a;
    cr_diag d;
    cr_arena_init(&a, 0);
    cr_diag_init(&d);
    const char *plain = "a/{x,y}.csv, b[1,2].csv";
    CHECK(cr_paths_take(&a, plain, CR_NOWHERE, &d) == plain);
    CHECK_STR(cr_paths_take(&a, "a, file:///b/{c,d},e", CR_NOWHERE, &d), "a,/b/{c,d},e");
    CHECK_INT(d.n, 0);
    cr_loc at = {"x.yaml", 3, 5};
    const char *rows = "odps://p/tables/t/ds=1&ds=2"; /* a data set knows what to do with it */
    CHECK_STR(cr_paths_take(&a, rows, at, &d), rows);
    CHECK_INT(d.n, 0);
    CHECK(!cr_paths_take(&a, "afs://b/1, local, maxcompute://p/tables/t", at, &d));
    CHECK_INT(d.n, 2);
    CHECK_STR(d.v[0].msg, "'afs://b/1' is in an AFS file system, which this version neither reads "
                          "nor writes; give a local "
                          "path, and copy the files with hadoop fs -get and -put");
    CHECK_STR(d.v[1].msg, "'maxcompute://p/tables/t' is a MaxCompute table, which this version "
                          "neither reads nor writes; write it as odps://project/tables/table");
    CHECK_INT(d.v[1].at.line, 3);
    cr_diag_clear(&d);
    cr_arena_clear(&a);
}

TEST_MAIN(CASE(local), CASE(refused), CASE(last_slashes), CASE(lists))
