/*
 * profile.c - the profile: which steps it looks at, what the file holds (valid JSON, one row per
 * thread, spans inside the window and never across each other), the shares.
 */
#include "obs/profile.h"

#include <unistd.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "harness.h"

static char root[256];

static const char *in_root(const char *name) {
    static char buf[4][512];
    static int k;
    char *b = buf[k++ % 4];
    snprintf(b, sizeof(buf[0]), "%s/%s", root, name);
    return b;
}

static void item(void *ctx, int64_t i, int thread) {
    (void)ctx;
    (void)i;
    (void)thread;
    for (double end = cr_now() + 20e-6; cr_now() < end;) {
    }
}

/* steps 100, 101, ... of a run that waits, runs and updates */
static void run_steps(cr_profile *p, cr_pool *pool, int n) {
    for (int s = 0; s < n; s++) {
        cr_profile_begin(p);
        double t0 = cr_trace_begin(cr_profile_trace(p));
        item(NULL, 0, 0);
        cr_profile_span(p, CR_STAGE_WAIT, t0);
        cr_pool_stage(pool, CR_STAGE_FORWARD);
        cr_pool_run(pool, 8, item, NULL);
        cr_pool_stage(pool, CR_STAGE_UPDATE);
        cr_pool_run(pool, 8, item, NULL);
        cr_pool_stage(pool, CR_STAGE_NONE);
        cr_profile_end(p, 100 + s);
        if (cr_profile_full(p)) cr_profile_finish(p);
    }
}

static const char *str(const cr_json *j, const char *key) {
    const char *s = cr_json_str(cr_json_get(j, key));
    return s ? s : "";
}
static double num(const cr_json *j, const char *key) {
    double x = NAN;
    cr_json_f64(cr_json_get(j, key), &x);
    return x;
}

TEST(window) {
    cr_pool *pool;
    cr_arena a;
    cr_arena_init(&a, 0);
    CHECK_INT(cr_pool_new(&pool, 2, NULL), 0);
    cr_profile *p = cr_profile_new(pool, 1, in_root("trace.json"));
    int data = cr_trace_row(cr_profile_trace(p), "data", 1); /* a thread that only waits */
    CHECK(data >= 0);
    run_steps(p, pool, 11);
    CHECK(!cr_path_exists(in_root("trace.json")));
    run_steps(p, pool, 1);
    CHECK(cr_path_exists(in_root("trace.json"))); /* as soon as there are ten */
    run_steps(p, pool, 5);
    cr_profile_finish(p);
    cr_buf b;
    cr_json *doc = NULL;
    cr_buf_init(&b);
    CHECK_INT(cr_file_read(in_root("trace.json"), 0, &b, NULL), 0);
    CHECK_INT(cr_json_parse(&doc, b.data, b.n, NULL), 0);
    const cr_json *ev = cr_json_get(doc, "traceEvents");
    int steps = 0, names = 0, updates[8] = {0};
    double end[8] = {0}, window = 0;
    for (size_t i = 0; i < cr_json_len(ev); i++) {
        const cr_json *e = cr_json_at(ev, i);
        if (strcmp(str(e, "name"), "Record Window End") == 0) window = num(e, "ts");
    }
    CHECK(window > 0);
    for (size_t i = 0; i < cr_json_len(ev); i++) {
        const cr_json *e = cr_json_at(ev, i);
        int tid = (int)num(e, "tid");
        CHECK(num(e, "pid") == 0 && tid >= 0 && tid < 8);
        names += strcmp(str(e, "name"), "thread_name") == 0;
        if (strcmp(str(e, "ph"), "X") != 0) continue;
        CHECK(num(e, "ts") >= end[tid] - 0.002 && num(e, "dur") > 0); /* one after another */
        end[tid] = num(e, "ts") + num(e, "dur");
        CHECK(end[tid] <= window + 0.002);
        int step = 0;
        if (sscanf(str(e, "name"), "ProfilerStep#%d", &step) == 1) {
            CHECK_INT(step, steps < 9 ? 102 + steps : 100); /* the twelfth was called 100 again */
            steps++;
        }
        updates[tid] += strcmp(str(e, "name"), "update") == 0;
    }
    CHECK_INT(steps, 10);
    CHECK_INT(names, 4); /* steps, main, compute 1, data 1 */
    CHECK_INT(updates[2], 10);
    CHECK(fabs(end[4] - window) < 0.002); /* its waiting goes to the end */
    const char *text = cr_profile_text(p, &a);
    CHECK(text && strstr(text, "main") && strstr(text, "compute 1") && strstr(text, "data 1"));
    CHECK(text && strstr(text, "forward") && strstr(text, "update") && strstr(text, "wait"));
    CHECK(text && !strstr(text, "backward")); /* nobody did that */
    CHECK(text && strstr(text, "100.0%"));    /* data 1 */
    cr_json_free(doc);
    cr_buf_clear(&b);
    cr_profile_free(p);
    cr_pool_free(pool);
    cr_arena_clear(&a);
}

TEST(short_runs) {
    cr_pool *pool;
    cr_arena a;
    cr_arena_init(&a, 0);
    CHECK_INT(cr_pool_new(&pool, 1, NULL), 0);
    cr_profile *p = cr_profile_new(pool, 1, in_root("two.json"));
    run_steps(p, pool, 2);
    cr_profile_finish(p);
    CHECK(cr_profile_text(p, &a) == NULL);
    CHECK(!cr_path_exists(in_root("two.json")));
    cr_profile_free(p);
    p = cr_profile_new(pool, 1, in_root("four.json"));
    run_steps(p, pool, 4);
    cr_profile_finish(p);
    const char *text = cr_profile_text(p, &a);
    CHECK(text && strstr(text, "steps 102 to 103"));
    CHECK(cr_path_exists(in_root("four.json")));
    cr_profile_free(p);
    /* nowhere to write: a warning, and the shares all the same */
    p = cr_profile_new(pool, 1, in_root("no/such/place.json"));
    run_steps(p, pool, 20);
    text = cr_profile_text(p, &a);
    CHECK(text && !strstr(text, "place.json"));
    cr_profile_free(p);
    /* no profile */
    run_steps(NULL, pool, 2);
    cr_profile_finish(NULL);
    CHECK(cr_profile_text(NULL, &a) == NULL && cr_profile_trace(NULL) == NULL);
    cr_profile_free(NULL);
    cr_pool_free(pool);
    cr_arena_clear(&a);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(window), CASE(short_runs)};
    const char *tmp = getenv("TMPDIR");
    snprintf(root, sizeof(root), "%s/crank-trace-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(root)) return 1;
    cr_log_set_level(CR_LOG_ERROR);
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    if (cr_rmtree(root, NULL) != CR_OK) rc = 1;
    return rc;
}
