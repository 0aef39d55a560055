/*
 * run_test.h - what the tests of whole runs share: a directory that goes away again, synthetic
 * data, a look at findings, checkpoints compared byte for byte.
 */
#ifndef CR_TESTS_RUN_TEST_H
#define CR_TESTS_RUN_TEST_H

#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/plugin.h"
#include "base/pool.h"
#include "harness.h"
#include "run/run.h"
#include "synth/synth.h"
#include "train/train_int.h"
#include "weights.h"

/* the libraries of these tests are ours */
__attribute__((constructor)) static void allow_libraries(void) {
    cr_plugin_allow();
}

static char root[256]; /* made by root_open */

/* a path below root; the eight newest stay valid */
static inline const char *in_root(const char *name) {
    static char buf[8][512];
    static int k;
    char *b = buf[k++ % 8];
    snprintf(b, sizeof(buf[0]), "%s/%s", root, name);
    return b;
}

static inline bool root_open(const char *name) {
    const char *tmp = getenv("TMPDIR");
    snprintf(root, sizeof(root), "%s/crank-%s-XXXXXX", tmp ? tmp : "/tmp", name);
    cr_log_set_level(CR_LOG_ERROR);
    return mkdtemp(root) != NULL;
}

/* removes root; returns rc, or 1 when that failed */
static inline int root_close(int rc) {
    return cr_rmtree(root, NULL) == CR_OK ? rc : 1;
}

static inline void show(const cr_diag *d) {
    for (size_t i = 0; i < d->n; i++)
        if (d->v[i].sev == CR_SEV_ERROR)
            fprintf(stderr, "%s:%d:%d: %s\n", d->v[i].at.path ? d->v[i].at.path : "",
                    d->v[i].at.line, d->v[i].at.col, d->v[i].msg);
}

/* train_as_asked: cr_train with the key=value of CRANK_TEST_SET set too, so that tests which train to a
 * known score can be run with another kind of products (tools/test_full.sh, step products). */
static inline cr_code train_as_asked(const cr_train_opts *o, cr_train_result *r, cr_diag *diag) {
    const char *more = getenv("CRANK_TEST_SET"), *set[32];
    cr_train_opts own = *o;
    if (!more) return cr_train(o, r, diag);
    CHECK(own.config.n_set < 32);
    for (int i = 0; i < o->config.n_set; i++)
        set[i] = o->config.set[i];
    set[own.config.n_set++] = more;
    own.config.set = set;
    return cr_train(&own, r, diag);
}

static inline void make_synth(const char *kind, const char *dir, int64_t rows, int64_t eval_rows,
                              uint64_t seed, double scale) {
    cr_pool *pool;
    cr_err err;
    CHECK_INT(cr_pool_new(&pool, 2, NULL), 0);
    cr_synth_opts o = {.kind = kind,
                       .rows = rows,
                       .eval_rows = eval_rows,
                       .seed = seed,
                       .scale = scale,
                       .dir = dir};
    cr_code code = cr_synth(&o, pool, &err);
    if (code != CR_OK) fprintf(stderr, "%s\n", err.msg);
    CHECK_INT(code, 0);
    cr_pool_free(pool);
}

/* the best AUC that a synthetic data set allows */
static inline double teacher_auc(const char *dir) {
    char path[600];
    snprintf(path, sizeof(path), "%s/synth.json", dir);
    cr_buf b;
    cr_buf_init(&b);
    double auc = NAN;
    if (cr_file_read(path, 0, &b, NULL) == CR_OK) {
        const char *at = strstr(b.data, "\"auc\":");
        if (at) auc = strtod(at + 6, NULL);
    }
    cr_buf_clear(&b);
    return auc;
}

/* a config with the folder of the libraries that lie beside the program in the place of @; the four
 * newest stay valid */
static inline const char *placed(const char *config) {
    static char text[4][16384];
    static int k;
    char dir[512], *out = text[k++ % 4];
    ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 16);
    dir[n > 0 ? n : 0] = 0;
    char *slash = strrchr(dir, '/');
    snprintf(slash ? slash : dir, 16, "/unit/run");
    size_t at = 0;
    for (; *config && at < sizeof(text[0]) - sizeof(dir); config++)
        at += (size_t)snprintf(out + at, sizeof(text[0]) - at, "%.*s", *config == '@' ? 512 : 1,
                               *config == '@' ? dir : config);
    return out;
}

static inline void same_files(const char *a, const char *b, const char *name) {
    char pa[1200], pb[1200], says[4096];
    snprintf(pa, sizeof(pa), "%s/%s", a, name);
    snprintf(pb, sizeof(pb), "%s/%s", b, name);
    cr_buf x, y;
    cr_buf_init(&x);
    cr_buf_init(&y);
    CHECK_INT(cr_file_read(pa, 0, &x, NULL), 0);
    CHECK_INT(cr_file_read(pb, 0, &y, NULL), 0);
    CHECK(x.n > 0);
    bool same = x.n == y.n && memcmp(x.data, y.data, x.n) == 0;
    if (!same && strstr(name, ".safetensors") && weights_differ(pa, pb, says, sizeof(says)))
        fprintf(stderr, "%s\n", says);
    else if (!same)
        text_diff(stderr, x.data, y.data);
    CHECK(same);
    cr_buf_clear(&x);
    cr_buf_clear(&y);
}

/* all weights and optimizer state of two checkpoints, byte for byte */
static inline void same_weights(const char *a, const char *b) {
    same_files(a, b, "model-00001-of-00001.safetensors");
    same_files(a, b, "optimizer-00001-of-00001.safetensors");
}

#endif
