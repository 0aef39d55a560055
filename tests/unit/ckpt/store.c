/*
 * Checkpoints: round trips, splits, mismatches, damage, kills in the middle of a save, full disks.
 */
#include "ckpt/ckpt.h"

#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/rng.h"
#include "harness.h"

static char root[] = "/tmp/crank_test_XXXXXX";
static cr_arena arena;
static int n_dirs;

static char *new_dir(void) {
    char *d = cr_arena_printf(&arena, "%s/d%d", root, n_dirs++);
    if (cr_mkdirs(d, NULL) != CR_OK) exit(1);
    return d;
}

/* A small model: a table with adagrad state in its records, a dense weight, a scalar. */
#define V      50
#define D      4
#define STRIDE 9 /* D weights, D sums, one row value */
typedef struct model {
    float table[V * STRIDE], dense[6], scalar[1];
    cr_ckpt_rows w, sum, row;
    cr_ckpt_tensor t[5];
} model;

static void model_init(model *m, uint64_t seed) {
    uint64_t key = cr_rng_key(seed, "test", NULL);
    for (int i = 0; i < V * STRIDE; i++)
        m->table[i] = cr_rng_f32(key, (uint64_t)i);
    for (int i = 0; i < 6; i++)
        m->dense[i] = cr_rng_f32(key, 10000 + (uint64_t)i);
    m->scalar[0] = cr_rng_f32(key, 20000);
    m->w = (cr_ckpt_rows){m->table, D, STRIDE};
    m->sum = (cr_ckpt_rows){m->table + D, D, STRIDE};
    m->row = (cr_ckpt_rows){m->table + 2 * D, 1, STRIDE};
    m->t[0] = (cr_ckpt_tensor){.name = "model.emb.weight",
                               .n_dims = 2,
                               .shape = {V, D},
                               .dtype = CR_DT_F32,
                               .get = cr_ckpt_get_rows,
                               .put = cr_ckpt_put_rows,
                               .ctx = &m->w};
    m->t[1] = (cr_ckpt_tensor){.name = "model.emb.weight.sum",
                               .n_dims = 2,
                               .shape = {V, D},
                               .dtype = CR_DT_F32,
                               .get = cr_ckpt_get_rows,
                               .put = cr_ckpt_put_rows,
                               .ctx = &m->sum,
                               .optimizer = true};
    m->t[2] = (cr_ckpt_tensor){.name = "model.emb.weight.row",
                               .n_dims = 1,
                               .shape = {V},
                               .dtype = CR_DT_F32,
                               .get = cr_ckpt_get_rows,
                               .put = cr_ckpt_put_rows,
                               .ctx = &m->row,
                               .optimizer = true};
    m->t[3] = (cr_ckpt_tensor){.name = "model.mlp.0.weight",
                               .n_dims = 2,
                               .shape = {2, 3},
                               .dtype = CR_DT_F32,
                               .get = cr_ckpt_get_flat,
                               .put = cr_ckpt_put_flat,
                               .ctx = m->dense};
    m->t[4] = (cr_ckpt_tensor){.name = "model.scalar",
                               .n_dims = 0,
                               .shape = {0},
                               .dtype = CR_DT_F32,
                               .get = cr_ckpt_get_flat,
                               .put = cr_ckpt_put_flat,
                               .ctx = m->scalar};
}

static bool model_equal(const model *a, const model *b) {
    return memcmp(a->table, b->table, sizeof a->table) == 0 &&
           memcmp(a->dense, b->dense, sizeof a->dense) == 0 && a->scalar[0] == b->scalar[0];
}

static const cr_ckpt_metric metrics[] = {{"auc", 0.78125}, {"loss", NAN}};

static cr_ckpt_state state_of(int64_t step) {
    return (cr_ckpt_state){.step = step,
                           .epoch = 2,
                           .data = {.epoch = 2, .unit = 3, .row = 4, .rows = 5, .bad_rows = 6},
                           .updates = step,
                           .sched_steps = step,
                           .sched_epochs = 1,
                           .seed = UINT64_MAX - 5,
                           .lanes = 8,
                           .metrics = metrics,
                           .n_metrics = 2,
                           .extra = "free \"text\"",
                           .split = "a tenth"};
}

static cr_code save(const char *dir, int64_t step, const model *m, int64_t shard, cr_err *err) {
    cr_ckpt_state s = state_of(step);
    cr_ckpt_save_opts o = {.shard_bytes = shard};
    return cr_ckpt_save(dir, &s, m->t, 5, &o, err);
}

static char *ckpt_path(const char *dir, int64_t step) {
    return cr_arena_printf(&arena, "%s/model.ckpt-%lld", dir, (long long)step);
}

/* loads strictly; prints what is wrong */
static cr_code load(const char *path, model *m) {
    cr_err err;
    cr_ckpt *c;
    cr_code code = cr_ckpt_open(&c, path, &err);
    if (code != CR_OK) {
        char text[1024];
        cr_err_text(&err, text, sizeof text);
        fprintf(stderr, "%s\n", text);
        return code;
    }
    cr_diag diag;
    cr_diag_init(&diag);
    code = cr_ckpt_load(c, m->t, 5, NULL, &diag);
    for (size_t i = 0; i < diag.n; i++)
        fprintf(stderr, "%s\n", diag.v[i].msg);
    cr_diag_clear(&diag);
    cr_ckpt_close(c);
    return code;
}

static void round_trip_with(int64_t shard, int min_files) {
    char *dir = new_dir();
    model a, b;
    model_init(&a, 1);
    model_init(&b, 2);
    cr_err err;
    CHECK_INT(save(dir, 7, &a, shard, &err), CR_OK);
    CHECK_INT(cr_ckpt_check(ckpt_path(dir, 7), CR_NEED_ALL, NULL, &err), CR_OK);
    char **names;
    size_t n;
    CHECK_INT(cr_list_dir(&arena, dir, &names, &n, &err), CR_OK);
    CHECK_INT(n, 1); /* nothing temporary is left */
    CHECK_INT(cr_list_dir(&arena, ckpt_path(dir, 7), &names, &n, &err), CR_OK);
    CHECK((int)n >= min_files + 2);
    CHECK_INT(load(ckpt_path(dir, 7), &b), CR_OK);
    CHECK(model_equal(&a, &b));

    cr_ckpt *c;
    CHECK_INT(cr_ckpt_open(&c, ckpt_path(dir, 7), &err), CR_OK);
    const cr_ckpt_state *s = cr_ckpt_get_state(c);
    CHECK(s && s->step == 7 && s->epoch == 2 && s->seed == UINT64_MAX - 5 && s->lanes == 8);
    CHECK(s && s->data.epoch == 2 && s->data.unit == 3 && s->data.row == 4 && s->data.rows == 5 &&
          s->data.bad_rows == 6 && s->updates == 7 && s->sched_steps == 7 && s->sched_epochs == 1);
    CHECK(s && s->n_metrics == 2 && s->metrics[0].value == 0.78125 && isnan(s->metrics[1].value));
    CHECK_STR(s->metrics[0].name, "auc");
    CHECK_STR(s->extra, "free \"text\"");
    CHECK_STR(s->split, "a tenth");
    CHECK(s && s->version && s->cpu);
    CHECK_INT(cr_ckpt_count(c), 5);
    CHECK_STR(cr_ckpt_at(c, 0)->name, "model.emb.weight");
    const cr_ckpt_info *info = cr_ckpt_find(c, "model.emb.weight.sum");
    CHECK(info && info->optimizer && info->n_dims == 2 && info->shape[0] == V &&
          info->shape[1] == D && info->n_bytes == V * D * 4);
    float mid[D * 3];
    CHECK_INT(cr_ckpt_read(c, "model.emb.weight", D * 9 + 1, D * 3, mid, &err), CR_OK);
    for (int i = 0; i < D * 3; i++) {
        int k = D * 9 + 1 + i;
        CHECK(mid[i] == a.table[k / D * STRIDE + k % D]);
    }
    CHECK_INT(cr_ckpt_read(c, "model.emb.weight", V * D - 1, 2, mid, &err), CR_ERUN);
    CHECK_INT(cr_ckpt_read(c, "none", 0, 1, mid, &err), CR_ERUN);
    CHECK_INT(cr_ckpt_verify(c, NULL, &err), CR_OK);
    const float *view = cr_ckpt_view(c, "model.mlp.0.weight");
    if (view) CHECK(memcmp(view, a.dense, sizeof a.dense) == 0);
    CHECK(!cr_ckpt_is_export(c));
    cr_ckpt_close(c);
}

TEST(round_trip) {
    round_trip_with(0, 2);
}
TEST(round_trip_split) {
    round_trip_with(100, 12); /* six rows of the table per file */
}
TEST(round_trip_row_per_file) {
    round_trip_with(1, V);
}

/* index.json is for checks and speed: the shards alone are enough, split tables too */
TEST(without_index) {
    char *dir = new_dir();
    model a, b;
    model_init(&a, 1);
    model_init(&b, 2);
    cr_err err;
    CHECK_INT(save(dir, 1, &a, 100, &err), CR_OK);
    char *p = ckpt_path(dir, 1), *q = cr_path_join(&arena, dir, "pretrained");
    CHECK_INT(cr_rename(p, q, &err), CR_OK);
    CHECK(unlink(cr_path_join(&arena, q, "index.json")) == 0);
    CHECK(unlink(cr_path_join(&arena, q, "state.json")) == 0);
    CHECK_INT(load(q, &b), CR_ERUN); /* the manifest says that there was one */
    CHECK(unlink(cr_path_join(&arena, q, "manifest.json")) == 0);
    CHECK_INT(load(q, &b), CR_OK);
    CHECK(model_equal(&a, &b));
    char *found;
    CHECK_INT(cr_ckpt_resolve(&arena, q, CR_NEED_ALL, NULL, &found, &err), CR_OK);
    CHECK_STR(found, q);
    /* a lost shard of a split table is seen */
    char **names;
    size_t n;
    CHECK_INT(cr_list_dir(&arena, q, &names, &n, &err), CR_OK);
    CHECK(unlink(cr_path_join(&arena, q, names[1])) == 0);
    cr_ckpt *c;
    CHECK_INT(cr_ckpt_open(&c, q, &err), CR_ERUN);
    CHECK(strstr(err.msg, "are missing; a file was lost") != NULL);
}

/* Without splitting, every tensor can be read in the map, and starts where its rows lie across as
 * few cache lines as they can. */
TEST(whole_tensors) {
    enum { N = 7 };
    static const int64_t widths[N] = {3, 16, 1, 8, 32, 5, 4};
    static float x[N][64 * 32];
    char names[N][8], *dir = new_dir();
    cr_ckpt_tensor v[N];
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "t%d", i);
        v[i] = (cr_ckpt_tensor){.name = names[i],
                                .n_dims = 2,
                                .shape = {33, widths[i]},
                                .dtype = CR_DT_F32,
                                .get = cr_ckpt_get_flat,
                                .put = cr_ckpt_put_flat,
                                .ctx = x[i]};
        for (int k = 0; k < 64 * 32; k++)
            x[i][k] = (float)(i * 10000 + k);
    }
    cr_err err;
    cr_ckpt_save_opts so = {.shard_bytes = 4096, .whole = true};
    CHECK_INT(cr_ckpt_write_tensors(dir, v, N, &so, &err), CR_OK);
    cr_ckpt *c;
    CHECK_INT(cr_ckpt_open(&c, dir, &err), CR_OK);
    for (int i = 0; i < N; i++) {
        const float *at = cr_ckpt_view(c, names[i]);
        size_t row = (size_t)widths[i] * sizeof(float), even = 64;
        while (row % even)
            even /= 2;
        CHECK(at && memcmp(at, x[i], 33 * row) == 0);
        CHECK_INT((uintptr_t)at % even, 0);
    }
    cr_ckpt_close(c);
}

TEST(half_types) {
    char *dir = new_dir();
    float x[4] = {0.5f, -1.25f, 3.0f, 0.1f}, y[4];
    cr_ckpt_tensor t = {.name = "h",
                        .n_dims = 1,
                        .shape = {4},
                        .dtype = CR_DT_F16,
                        .get = cr_ckpt_get_flat,
                        .put = cr_ckpt_put_flat,
                        .ctx = x};
    cr_err err;
    CHECK_INT(cr_ckpt_write_tensors(dir, &t, 1, NULL, &err), CR_OK);
    cr_ckpt *c;
    CHECK_INT(cr_ckpt_open(&c, dir, &err), CR_OK);
    CHECK(cr_ckpt_get_state(c) == NULL);
    static const uint16_t bits[4] = {0x3800, 0xbd00, 0x4200, 0x2e66};
    CHECK(cr_ckpt_view(c, "h") && memcmp(cr_ckpt_view(c, "h"), bits, sizeof bits) == 0);
    CHECK(cr_ckpt_is_export(c));
    CHECK_INT(cr_ckpt_find(c, "h")->dtype, CR_DT_F16);
    t.ctx = y;
    t.dtype = CR_DT_F32;
    cr_diag diag;
    cr_diag_init(&diag);
    CHECK_INT(cr_ckpt_load(c, &t, 1, NULL, &diag), CR_OK);
    CHECK(y[0] == 0.5f && y[1] == -1.25f && y[2] == 3.0f);
    CHECK_NEAR(y[3], 0.1, 1e-4, 0);
    cr_diag_clear(&diag);
    cr_ckpt_close(c);
}

static bool has_text(const cr_diag *d, const char *text) {
    for (size_t i = 0; i < d->n; i++)
        if (strstr(d->v[i].msg, text)) return true;
    return false;
}

TEST(mismatches) {
    char *dir = new_dir();
    model a, b, before;
    model_init(&a, 1);
    cr_err err;
    CHECK_INT(save(dir, 1, &a, 0, &err), CR_OK);
    cr_ckpt *c;
    CHECK_INT(cr_ckpt_open(&c, ckpt_path(dir, 1), &err), CR_OK);

    /* all mistakes at once, and nothing is changed */
    model_init(&b, 2);
    model_init(&before, 2);
    b.t[0].shape[0] = V - 1;
    b.t[3].name = "model.mlp.1.weight";
    cr_diag diag;
    cr_diag_init(&diag);
    CHECK_INT(cr_ckpt_load(c, b.t, 5, NULL, &diag), CR_ERUN);
    CHECK_INT(diag.n_errors, 3);
    CHECK(has_text(&diag, "'model.emb.weight' is (50, 4) in the checkpoint, (49, 4) in the model"));
    CHECK(has_text(&diag, "no tensor 'model.mlp.1.weight' in the checkpoint"));
    CHECK(has_text(&diag, "'model.mlp.0.weight' of the checkpoint is not in the model"));
    CHECK(model_equal(&b, &before));
    cr_diag_clear(&diag);

    /* fine tune: missing ones keep their values */
    model_init(&b, 2);
    b.t[3].name = "model.mlp.1.weight";
    cr_ckpt_load_opts o = {.allow_missing = true, .allow_extra = true, .skip_optimizer = true};
    cr_diag_init(&diag);
    CHECK_INT(cr_ckpt_load(c, b.t, 5, &o, &diag), CR_OK);
    CHECK(memcmp(b.dense, before.dense, sizeof b.dense) == 0);
    CHECK(b.scalar[0] == a.scalar[0] && b.table[0] == a.table[0]);
    CHECK(b.table[D] == before.table[D]); /* optimizer state untouched */

    /* names given by a map */
    char *map_path = cr_path_join(&arena, dir, "map.txt");
    const char *text = "model.mlp.1.weight \t model.mlp.0.weight\n\n";
    CHECK_INT(cr_file_write(map_path, text, strlen(text), &err), CR_OK);
    cr_ckpt_rename *map;
    int n_map;
    CHECK_INT(cr_ckpt_param_map(&arena, map_path, &map, &n_map, &err), CR_OK);
    CHECK_INT(n_map, 1);
    cr_ckpt_load_opts o2 = {.map = map, .n_map = n_map};
    CHECK_INT(cr_ckpt_load(c, b.t, 5, &o2, &diag), CR_OK);
    CHECK(model_equal(&a, &b));
    cr_diag_clear(&diag);
    CHECK_INT(cr_file_write(map_path, "a b c\n", 6, &err), CR_OK);
    CHECK_INT(cr_ckpt_param_map(&arena, map_path, &map, &n_map, &err), CR_ECONF);
    CHECK_INT(err.at.line, 1);
    CHECK_INT(cr_file_write(map_path, "a b\nlonely", 10, &err), CR_OK);
    CHECK_INT(cr_ckpt_param_map(&arena, map_path, &map, &n_map, &err), CR_ECONF);
    CHECK_INT(err.at.line, 2);
    cr_ckpt_close(c);
}

static void flip_byte(const char *path, long at) {
    FILE *f = fopen(path, "r+b");
    if (!f) {
        CHECK(f != NULL);
        return;
    }
    fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
    int c = fgetc(f);
    fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
    fputc(c ^ 1, f);
    fclose(f);
}

TEST(damage) {
    char *dir = new_dir();
    model a, b;
    cr_err err;
    for (int i = 1; i <= 5; i++) {
        model_init(&a, (uint64_t)i);
        CHECK_INT(save(dir, i * 100, &a, 0, &err), CR_OK);
    }
    char *path;
    int64_t step;
    CHECK_INT(cr_ckpt_latest(&arena, dir, CR_NEED_ALL, NULL, &path, &step, &err), CR_OK);
    CHECK_INT(step, 500);
    /* missing shard, cut shard, no index, no state: passed over one after the other */
    CHECK(unlink(cr_path_join(&arena, ckpt_path(dir, 500),
                              "optimizer-00001-of-00001.safetensors")) == 0);
    CHECK_INT(cr_ckpt_check(ckpt_path(dir, 500), CR_NEED_ALL, NULL, &err), CR_ERUN);
    CHECK(strstr(err.msg, "the file is missing") != NULL);
    CHECK(truncate(cr_path_join(&arena, ckpt_path(dir, 400), "model-00001-of-00001.safetensors"),
                   100) == 0);
    CHECK(unlink(cr_path_join(&arena, ckpt_path(dir, 300), "index.json")) == 0);
    CHECK(truncate(cr_path_join(&arena, ckpt_path(dir, 200), "state.json"), 20) == 0);
    cr_log_set_level(CR_LOG_ERROR);
    CHECK_INT(cr_ckpt_latest(&arena, dir, CR_NEED_ALL, NULL, &path, &step, &err), CR_OK);
    CHECK_INT(step, 100);
    CHECK_STR(path, ckpt_path(dir, 100));
    cr_ckpt *c;
    CHECK_INT(cr_ckpt_open(&c, ckpt_path(dir, 400), &err), CR_ERUN);
    CHECK_INT(cr_ckpt_open(&c, ckpt_path(dir, 500), &err), CR_ERUN);
    CHECK_INT(cr_ckpt_open(&c, ckpt_path(dir, 200), &err), CR_ERUN);
    /* one flipped bit: same size, wrong checksum; nothing is loaded */
    flip_byte(cr_path_join(&arena, ckpt_path(dir, 100), "model-00001-of-00001.safetensors"), -3);
    CHECK_INT(cr_ckpt_check(ckpt_path(dir, 100), CR_NEED_LIST, NULL, &err), CR_OK);
    CHECK_INT(cr_ckpt_check(ckpt_path(dir, 100), CR_NEED_ALL, NULL, &err), CR_ERUN);
    model_init(&a, 9);
    model_init(&b, 9);
    CHECK_INT(load(ckpt_path(dir, 100), &b), CR_ERUN);
    CHECK(model_equal(&a, &b));
    /* all damaged is an error, none at all is not */
    CHECK(unlink(cr_path_join(&arena, ckpt_path(dir, 100), "index.json")) == 0);
    CHECK_INT(cr_ckpt_latest(&arena, dir, CR_NEED_ALL, NULL, &path, &step, &err), CR_ERUN);
    cr_log_set_level(CR_LOG_INFO);
    CHECK_INT(cr_ckpt_latest(&arena, new_dir(), CR_NEED_ALL, NULL, &path, &step, &err), CR_OK);
    CHECK(path == NULL && step == -1);
    CHECK_INT(cr_ckpt_latest(&arena, "/nonexistent/model_dir", CR_NEED_ALL, NULL, &path, &step,
                             &err),
              CR_OK);
    CHECK(path == NULL);
    CHECK_INT(cr_ckpt_open(&c, new_dir(), &err), CR_ERUN);
    CHECK_INT(cr_ckpt_open(&c, "/nonexistent", &err), CR_EIO);
}

/* index.json is a file from outside too: no name in it may lead elsewhere */
TEST(hostile_index) {
    char *dir = new_dir();
    model a;
    cr_err err;
    model_init(&a, 1);
    CHECK_INT(save(dir, 1, &a, 0, &err), CR_OK);
    char *index = cr_path_join(&arena, ckpt_path(dir, 1), "index.json");
    /* without a manifest, as version 1 has it, nothing but the reader stands in the way */
    CHECK(unlink(cr_path_join(&arena, ckpt_path(dir, 1), "manifest.json")) == 0);
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"format\":\"crank-checkpoint\",\"format_version\":2,\"files\":[],\"tensors\":[]}",
        "{\"format\":\"crank-checkpoint\",\"format_version\":3,\"files\":[],\"tensors\":[]}",
        "{\"format\":\"crank-checkpoint\",\"format_version\":1,\"files\":3,\"tensors\":[]}",
        "{\"format\":\"crank-checkpoint\",\"format_version\":1,\"tensors\":[],\"files\":"
        "[{\"name\":\"../x\",\"size\":1,\"crc32\":\"00000000\"}]}",
        "{\"format\":\"crank-checkpoint\",\"format_version\":1,\"tensors\":[],\"files\":"
        "[{\"name\":\"x\",\"size\":-1,\"crc32\":\"00000000\"}]}",
        "{\"format\":\"crank-checkpoint\",\"format_version\":1,\"tensors\":[],\"files\":"
        "[{\"name\":\"x\",\"size\":1,\"crc32\":\"zz\"}]}",
        "{\"format\":\"crank-checkpoint\",\"format_version\":1,\"tensors\":[{}],\"files\":[]}",
        "{\"format\":\"crank-checkpoint\",\"format_version\":1,\"files\":[],\"tensors\":"
        "[{\"name\":\"w\",\"shape\":[2]}]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK_INT(cr_file_write(index, texts[i], strlen(texts[i]), &err), CR_OK);
        cr_ckpt *c;
        CHECK_INT(cr_ckpt_open(&c, ckpt_path(dir, 1), &err), CR_ERUN);
    }
}

TEST(save_again) {
    char *dir = new_dir();
    model a, b;
    cr_err err;
    model_init(&a, 1);
    CHECK_INT(save(dir, 5, &a, 0, &err), CR_OK);
    model_init(&a, 2);
    CHECK_INT(save(dir, 5, &a, 200, &err), CR_OK);
    model_init(&b, 3);
    CHECK_INT(load(ckpt_path(dir, 5), &b), CR_OK);
    CHECK(model_equal(&a, &b));
    char **names;
    size_t n;
    CHECK_INT(cr_list_dir(&arena, dir, &names, &n, &err), CR_OK);
    CHECK_INT(n, 1);
    cr_ckpt_state s = state_of(5);
    s.epoch = 77;
    CHECK_INT(cr_ckpt_save_state(ckpt_path(dir, 5), &s, &err), CR_OK);
    cr_ckpt *c;
    CHECK_INT(cr_ckpt_open(&c, ckpt_path(dir, 5), &err), CR_OK);
    CHECK_INT(cr_ckpt_get_state(c)->epoch, 77);
    cr_ckpt_close(c);
    /* one name twice */
    model_init(&b, 3);
    b.t[3].name = b.t[0].name;
    CHECK_INT(save(dir, 6, &b, 0, &err), CR_ERUN);
    CHECK(!cr_path_exists(ckpt_path(dir, 6)));
}

/* The process that is killed: saves one checkpoint after the other from `step` on. */
static int save_on(const char *dir, int64_t step) {
    cr_log_set_level(CR_LOG_ERROR);
    for (model m; step < 1000; step++) {
        model_init(&m, (uint64_t)step);
        /* each step twice: the second replaces the first */
        for (int k = 0; k < 2; k++)
            if (save(dir, step, &m, k ? 1000 : 0, NULL) != CR_OK) return 1;
        if (cr_ckpt_prune(dir, 3, -1, NULL) != CR_OK) return 1;
    }
    return 1;
}

static const char *program; /* this one; /proc/self/exe is valgrind itself below valgrind */

/* save_on in a process of its own, which ends at pass n of the kill points (base/kill_point.h) */
static void save_until(const char *dir, int64_t step, int64_t n) {
    char kill_at[40], first[40];
    snprintf(kill_at, sizeof(kill_at), "any:%lld", (long long)n);
    snprintf(first, sizeof(first), "%lld", (long long)step);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("CRANK_TEST_KILL", kill_at, 1);
        execl(program, program, "save_on", dir, first, (char *)NULL);
        _exit(2);
    }
    int status = 0;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* A process that saves is killed at every place of a step's two saves and of the removal of old
 * checkpoints, one place after the other; what is there must always load. */
TEST(kill_during_save) {
    char memory[] = "/dev/shm/crank_test_XXXXXX"; /* where syncs cost nothing */
    char *dir = mkdtemp(memory) ? memory : new_dir();
    cr_log_set_level(CR_LOG_ERROR);
    int64_t newest = 0, n = 0;
    for (model m; newest < 4; newest++) {
        model_init(&m, (uint64_t)newest + 1);
        CHECK_INT(save(dir, newest + 1, &m, 0, NULL), CR_OK);
    }
    int n_left = 0;
    /* two steps more in one round: every place of the first of them was passed */
    for (int64_t before = newest; newest < before + 2 && n < 1000;) {
        before = newest;
        save_until(dir, newest + 1, ++n);
        char **names;
        size_t count;
        CHECK_INT(cr_list_dir(&arena, dir, &names, &count, NULL), CR_OK);
        for (size_t i = 0; i < count; i++)
            n_left += names[i][0] == '.';
        cr_err err;
        CHECK_INT(cr_ckpt_sweep(dir, false, &err), CR_OK);
        CHECK_INT(cr_list_dir(&arena, dir, &names, &count, NULL), CR_OK);
        for (size_t i = 0; i < count; i++) {
            CHECK(strncmp(names[i], "model.ckpt-", 11) == 0);
            CHECK_INT(cr_ckpt_check(cr_path_join(&arena, dir, names[i]), CR_NEED_ALL, NULL, &err),
                      CR_OK);
        }
        char *path;
        int64_t step;
        CHECK_INT(cr_ckpt_latest(&arena, dir, CR_NEED_ALL, NULL, &path, &step, &err), CR_OK);
        CHECK(path != NULL && step >= newest); /* never goes back */
        if (!path || step < newest) break;
        newest = step;
        model want, have;
        model_init(&want, (uint64_t)step);
        model_init(&have, 12345);
        CHECK_INT(load(path, &have), CR_OK);
        CHECK(model_equal(&want, &have));
    }
    CHECK(n > 40 && n < 1000);
    CHECK(n_left > n / 2);
    CHECK_INT(cr_rmtree(dir, NULL), CR_OK);
    cr_log_set_level(CR_LOG_INFO);
    printf("%lld kills left %d unfinished directories, newest step %lld\n", (long long)n, n_left,
           (long long)newest);
}

TEST(sweep) {
    char *dir = new_dir();
    cr_err err;
    cr_log_set_level(CR_LOG_ERROR);
    /* a process that is gone, and this machine's first process which is alive */
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    waitpid(pid, NULL, 0);
    char *gone = cr_arena_printf(&arena, "%s/.tmp-model.ckpt-3-%d", dir, (int)pid);
    char *alive = cr_arena_printf(&arena, "%s/.tmp-model.ckpt-3-1", dir);
    char *other = cr_arena_printf(&arena, "%s/.tmp-other", dir);
    CHECK_INT(cr_mkdirs(gone, &err), CR_OK);
    CHECK_INT(cr_mkdirs(alive, &err), CR_OK);
    CHECK_INT(cr_mkdirs(other, &err), CR_OK);
    CHECK_INT(cr_file_write(cr_path_join(&arena, gone, "x"), "x", 1, &err), CR_OK);
    /* a checkpoint that was set aside comes back */
    model a;
    model_init(&a, 1);
    CHECK_INT(save(dir, 4, &a, 0, &err), CR_OK);
    char *old = cr_arena_printf(&arena, "%s/.old-model.ckpt-4-%d", dir, (int)pid);
    CHECK_INT(cr_rename(ckpt_path(dir, 4), old, &err), CR_OK);
    CHECK_INT(cr_ckpt_sweep(dir, false, &err), CR_OK);
    CHECK(!cr_path_exists(gone) && cr_path_exists(alive) && cr_path_exists(other));
    /* with the lock no other process is at work, whoever has that number now */
    CHECK_INT(cr_ckpt_sweep(dir, true, &err), CR_OK);
    CHECK(!cr_path_exists(alive) && cr_path_exists(other));
    CHECK_INT(cr_ckpt_check(ckpt_path(dir, 4), CR_NEED_ALL, NULL, &err), CR_OK);
    CHECK_INT(cr_ckpt_sweep("/nonexistent/dir", false, &err), CR_OK);
    cr_log_set_level(CR_LOG_INFO);
}

/* a file system of 256 KiB; what was saved before stays, the failed save leaves nothing */
TEST(full_disk) {
    char *dir = new_dir();
    if (mount("tmpfs", dir, "tmpfs", 0, "size=256k") != 0) SKIP("mounting a tmpfs is not allowed");
    model a, b;
    cr_err err;
    model_init(&a, 1);
    CHECK_INT(save(dir, 1, &a, 0, &err), CR_OK);
    static float big[100000];
    cr_ckpt_tensor t = {.name = "big",
                        .n_dims = 1,
                        .shape = {100000},
                        .dtype = CR_DT_F32,
                        .get = cr_ckpt_get_flat,
                        .put = cr_ckpt_put_flat,
                        .ctx = big};
    cr_ckpt_state s = state_of(2);
    CHECK_INT(cr_ckpt_save(dir, &s, &t, 1, NULL, &err), CR_EIO);
    CHECK(strstr(err.msg, "No space left on device; free some space") != NULL);
    CHECK(strchr(err.msg, '\n') == NULL);
    char **names;
    size_t n;
    CHECK_INT(cr_list_dir(&arena, dir, &names, &n, &err), CR_OK);
    CHECK_INT(n, 1);
    model_init(&b, 2);
    CHECK_INT(load(ckpt_path(dir, 1), &b), CR_OK);
    CHECK(model_equal(&a, &b));
    umount(dir);
}

TEST(read_only_dir) {
    char *dir = new_dir();
    model a;
    cr_err err;
    model_init(&a, 1);
    if (mount("tmpfs", dir, "tmpfs", MS_RDONLY, "size=64k") != 0)
        SKIP("mounting a tmpfs is not allowed");
    CHECK_INT(save(dir, 1, &a, 0, &err), CR_EIO);
    CHECK(strstr(err.msg, "Read-only file system") != NULL);
    CHECK_INT(cr_ckpt_sweep(dir, false, &err), CR_OK);
    umount(dir);
    /* a path below a file */
    char *file = cr_path_join(&arena, new_dir(), "file");
    CHECK_INT(cr_file_write(file, "x", 1, &err), CR_OK);
    CHECK_INT(save(cr_path_join(&arena, file, "model"), 1, &a, 0, &err), CR_EIO);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {
        CASE(round_trip),    CASE(round_trip_split), CASE(round_trip_row_per_file),
        CASE(without_index), CASE(whole_tensors),    CASE(half_types),
        CASE(mismatches),    CASE(damage),           CASE(hostile_index),
        CASE(save_again),    CASE(kill_during_save), CASE(sweep),
        CASE(full_disk),     CASE(read_only_dir)};
    cr_arena_init(&arena, 0);
    program = argv[0];
    if (argc == 4 && strcmp(argv[1], "save_on") == 0) return save_on(argv[2], atoll(argv[3]));
    if (!mkdtemp(root)) return 1;
    int rc = t_run(cases, sizeof cases / sizeof *cases, argc, argv);
    if (cr_rmtree(root, NULL) != CR_OK) rc = 1;
    cr_arena_clear(&arena);
    return rc;
}
