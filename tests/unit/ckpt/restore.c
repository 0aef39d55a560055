/*
 * Restoring: parameter maps and their mistakes, tables that grew or shrank, single tensors of any
 * type, 8-bit rows.
 */
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/rng.h"
#include "ckpt/ckpt.h"
#include "harness.h"

static char root[] = "/tmp/crank_test_XXXXXX";
static cr_arena arena;
static int n_dirs;
static cr_diag diag;

static char *new_dir(void) {
    char *d = cr_arena_printf(&arena, "%s/d%d", root, n_dirs++);
    if (cr_mkdirs(d, NULL) != CR_OK) exit(1);
    return d;
}

static cr_ckpt_tensor flat(const char *name, int64_t rows, int64_t cols, float *x) {
    return (cr_ckpt_tensor){.name = name,
                            .n_dims = cols ? 2 : 1,
                            .shape = {rows, cols},
                            .get = cr_ckpt_get_flat,
                            .put = cr_ckpt_put_flat,
                            .ctx = x};
}

static void count_up(float *x, int n, float from) {
    for (int i = 0; i < n; i++)
        x[i] = from + (float)i;
}

/* a checkpoint with a table (6, 2), its state, and a dense vector (3) */
static cr_ckpt *old_one(void) {
    static float table[12], sum[12], dense[3];
    count_up(table, 12, 100);
    count_up(sum, 12, 200);
    count_up(dense, 3, 300);
    cr_ckpt_tensor v[3] = {flat("model.emb_a.weight", 6, 2, table),
                           flat("state.model.emb_a.weight.sum", 6, 2, sum),
                           flat("model.mlp.bias", 3, 0, dense)};
    v[1].optimizer = true;
    char *dir = new_dir();
    cr_ckpt *c = NULL;
    CHECK_INT(cr_ckpt_write_tensors(dir, v, 3, NULL, NULL), CR_OK);
    CHECK_INT(cr_ckpt_open(&c, dir, NULL), CR_OK);
    return c;
}

static cr_code load(const cr_ckpt *c, cr_ckpt_tensor *v, int n, const cr_ckpt_load_opts *o) {
    cr_diag_clear(&diag);
    cr_diag_init(&diag);
    return cr_ckpt_load(c, v, n, o, &diag);
}

static bool said(int line, const char *text) {
    for (size_t i = 0; i < diag.n; i++)
        if ((line == 0 || diag.v[i].at.line == line) && strstr(diag.v[i].msg, text)) return true;
    for (size_t i = 0; i < diag.n; i++)
        fprintf(stderr, "%s:%d: %s\n", diag.v[i].at.path, diag.v[i].at.line, diag.v[i].msg);
    return false;
}

TEST(map_renames) {
    cr_ckpt *c = old_one();
    float table[12] = {0}, sum[12] = {0}, dense[3] = {0}, other[3] = {7, 7, 7};
    cr_ckpt_tensor v[4] = {flat("model.emb_b.weight", 6, 2, table),
                           flat("state.model.emb_b.weight.sum", 6, 2, sum),
                           flat("model.mlp.bias", 3, 0, dense), flat("model.new", 3, 0, other)};
    v[1].optimizer = true;
    cr_ckpt_rename map[] = {{"model.emb_b.weight", "model.emb_a.weight", 1},
                            {"model.new", "model.mlp.bias", 2},
                            {"model.mlp.bias", "-", 5}};
    cr_ckpt_loaded done;
    cr_ckpt_load_opts o = {.allow_missing = true,
                           .allow_extra = true,
                           .map = map,
                           .n_map = 3,
                           .map_path = "names.txt",
                           .done = &done};
    CHECK_INT(load(c, v, 4, &o), CR_OK);
    CHECK(table[0] == 100 && table[11] == 111);
    CHECK(sum[0] == 200 && sum[11] == 211); /* state follows its parameter */
    CHECK(dense[0] == 0 && other[2] == 302);
    CHECK(done.weights == 2 && done.state == 1 && done.kept == 1 && done.resized == 0);
    o.skip_optimizer = true;
    sum[0] = 5;
    CHECK_INT(load(c, v, 4, &o), CR_OK);
    CHECK(sum[0] == 5);
    cr_ckpt_close(c);
}

/* Old names are read. perceptron.2 was PReLU's in the old form and is batch norm's in the new one,
 * so that the form is told by a tensor that only the old one has. */
TEST(old_names) {
    static const char *const old[] = {
        "model.final.mlp.0.perceptron.0.weight",
        "state.model.final.mlp.0.perceptron.0.weight.sum",
        "model.light_liner.bias",
        "model.din_towers.1.mlp.mlp.0.perceptron.1.running_mean",
        "model.din_towers.1.mlp.mlp.0.perceptron.1.weight",
        "model.din_towers.1.mlp.mlp.0.perceptron.2.weight",
        "model.wukong.fmb.mlp.mlp.0.perceptron.1.running_mean",
        "model.wukong.fmb.mlp.mlp.0.perceptron.2.alpha",
        ("model.embedding_group.emb_impls.__BASE__.dense_ec.dense_embs.mlp#4#vdim#2#feature_name#"
         "            pos.proj_w_pos.weight"),
        "model.dense.towers.deep.mlp.0.perceptron.0.bias",
    };
    static const char *const new[] = {
        "model.final_dnn.mlp.0.perceptron.0.weight",
        "state.model.final_dnn.mlp.0.perceptron.0.weight.sum",
        "model.light_linear.bias",
        "model.din_towers.1.mlp.mlp.0.perceptron.2.running_mean",
        "model.din_towers.1.mlp.mlp.0.perceptron.2.weight",
        "model.din_towers.1.mlp.mlp.0.perceptron.4.weight",
        "model.wukong.fmb.mlp.mlp.0.perceptron.1.running_mean",
        "model.wukong.fmb.mlp.mlp.0.perceptron.2.alpha",
        ("model.embedding_group.emb_impls.__BASE__.dense_ec.dense_embs.mlp#4#vdim#2#feature_name#"
         "pos.proj_w_pos.weight"),
        "model.towers.deep.mlp.0.perceptron.0.bias",
    };
    enum { N = 10 };
    float had[N][3], got[N][3] = {{0}};
    cr_ckpt_tensor v[N];
    for (int form = 0; form < 2; form++) { /* the old form, then the new one, into the new model */
        for (int i = 0; i < N; i++) {
            count_up(had[i], 3, (float)(10 * i + 100 * form));
            v[i] = flat(form ? new[i] : old[i], 3, 0, had[i]);
            v[i].optimizer = i == 1;
        }
        char *dir = new_dir();
        cr_ckpt *c = NULL;
        CHECK_INT(cr_ckpt_write_tensors(dir, v, N, NULL, NULL), CR_OK);
        CHECK_INT(cr_ckpt_open(&c, dir, NULL), CR_OK);
        for (int i = 0; i < N; i++) {
            v[i] = flat(new[i], 3, 0, got[i]);
            v[i].optimizer = i == 1;
        }
        CHECK_INT(load(c, v, N, NULL), CR_OK); /* strict: nothing missing, nothing left over */
        for (int i = 0; i < N; i++)
            CHECK(memcmp(got[i], had[i], sizeof(got[i])) == 0);
        cr_ckpt_close(c);
    }
}

TEST(map_mistakes) {
    cr_ckpt *c = old_one();
    float table[12] = {0}, dense[4] = {0};
    cr_ckpt_tensor v[2] = {flat("model.emb_b.weight", 6, 2, table),
                           flat("model.mlp.scale", 4, 0, dense)};
    cr_ckpt_rename map[] = {{"model.emb_c.weight", "model.emb_a.weight", 3},
                            {"model.emb_b.weight", "model.emb_x.weight", 4},
                            {"model.mlp.scale", "model.mlp.bias", 6},
                            {"model.mlp.scale", "-", 8},
                            {"quite.another.thing", "nothing.like.it", 9},
                            {"mlp.scale", "mlp.bias", 10}};
    cr_ckpt_load_opts o = {.allow_missing = true,
                           .allow_extra = true,
                           .allow_resize = true,
                           .map = map,
                           .n_map = 6,
                           .map_path = "names.txt"};
    CHECK_INT(load(c, v, 2, &o), CR_ECONF);
    CHECK(said(3, "the model has no parameter 'model.emb_c.weight'; did you mean "
                  "'model.emb_b.weight'?"));
    CHECK(said(4, "has no tensor 'model.emb_x.weight'; did you mean 'model.emb_a.weight'?"));
    CHECK(said(6, "'model.mlp.scale' is (4) in the model, 'model.mlp.bias' is (3) in "));
    CHECK(said(8, "has a line already, line 6"));
    CHECK(said(9, "the model has no parameter 'quite.another.thing'; see `crank params`"));
    CHECK(said(9, "has no tensor 'nothing.like.it'; `crank params` lists"));
    CHECK(said(10, "did you mean 'model.mlp.scale'?")); /* the end of a name */
    CHECK(said(10, "did you mean 'model.mlp.bias'?"));
    CHECK_STR(diag.v[0].at.path, "names.txt");
    CHECK(table[0] == 0 && dense[0] == 0); /* nothing moved */
    cr_ckpt_close(c);
}

TEST(nothing_fits) {
    cr_ckpt *c = old_one();
    float x[3];
    cr_ckpt_tensor v = flat("net.bias", 3, 0, x);
    cr_ckpt_load_opts o = {.allow_missing = true, .allow_extra = true};
    cr_log_set_level(CR_LOG_ERROR);
    CHECK_INT(load(c, &v, 1, &o), CR_ERUN);
    cr_log_set_level(CR_LOG_INFO);
    CHECK(said(0,
               "no parameter of the model is in the checkpoint (it has 'model.emb_a.weight', the "
               "model 'net.bias'); give a fine_tune_ckpt_param_map"));
    cr_ckpt_close(c);
}

/* loads the table (6, 2) into one of `rows` rows that holds -1 everywhere */
static cr_code into_rows(int64_t rows, cr_resize rule, float *table, float *sum) {
    cr_ckpt *c = old_one();
    for (int i = 0; i < 64; i++)
        table[i] = sum[i] = -1;
    cr_ckpt_tensor v[2] = {flat("model.emb_a.weight", rows, 2, table),
                           flat("state.model.emb_a.weight.sum", rows, 2, sum)};
    v[1].optimizer = true;
    v[0].resize = v[1].resize = rule;
    cr_ckpt_load_opts o = {.allow_missing = true, .allow_extra = true, .allow_resize = true};
    cr_code code = load(c, v, 2, &o);
    cr_ckpt_close(c);
    return code;
}

/* a last row that nothing reads: a checkpoint with it and one without it are both whole */
TEST(spare_rows) {
    cr_ckpt *c = old_one(); /* 6 rows */
    float table[16], sum[16], dense[3];
    for (int64_t rows = 5; rows <= 8; rows++) {
        for (int spare = 0; spare < 2; spare++) {
            count_up(table, 16, -100);
            cr_ckpt_tensor v[3] = {flat("model.emb_a.weight", rows, 2, table),
                                   flat("state.model.emb_a.weight.sum", rows, 2, sum),
                                   flat("model.mlp.bias", 3, 0, dense)};
            v[1].optimizer = true;
            v[0].spare_rows = v[1].spare_rows = spare;
            bool fits = rows == 6 || (rows == 7 && spare);
            CHECK_INT(load(c, v, 3, NULL) == CR_OK, fits);
            if (!fits) continue;
            CHECK_INT((int64_t)diag.n, 0);
            CHECK(table[0] == 100 && table[11] == 111 && sum[11] == 211);
            if (rows == 7) CHECK(table[12] == -88); /* as it began */
        }
    }
    cr_ckpt_close(c);
}

TEST(resized_tables) {
    float t[64], s[64];
    cr_log_set_level(CR_LOG_ERROR);
    CHECK_INT(into_rows(9, CR_RESIZE_FIRST, t, s), CR_OK);
    CHECK(t[0] == 100 && t[11] == 111 && t[12] == -1 && t[17] == -1);
    CHECK(s[11] == 211 && s[12] == -1);
    CHECK_INT(into_rows(4, CR_RESIZE_FIRST, t, s), CR_OK);
    CHECK(t[7] == 107 && t[8] == -1 && s[7] == 207 && s[8] == -1); /* not past its end */
    CHECK_INT(into_rows(18, CR_RESIZE_HASH, t, s), CR_OK);
    for (int r = 0; r < 18; r++)
        CHECK(t[2 * r] == 100 + (float)(r % 6 * 2) && s[2 * r + 1] == 201 + (float)(r % 6 * 2));
    CHECK(t[36] == -1);
    CHECK_INT(into_rows(9, CR_RESIZE_HASH, t, s), CR_OK);
    CHECK(t[0] == -1 && s[0] == -1);
    CHECK_INT(into_rows(3, CR_RESIZE_HASH, t, s), CR_OK);
    CHECK(t[0] == -1);
    CHECK_INT(into_rows(12, CR_RESIZE_ANEW, t, s), CR_OK);
    CHECK(t[0] == -1 && s[0] == -1);
    cr_log_set_level(CR_LOG_INFO);
    CHECK_INT(into_rows(9, CR_RESIZE_NO, t, s), CR_ERUN);
    CHECK(
        said(0, "tensor 'model.emb_a.weight' is (6, 2) in the checkpoint, (9, 2) in the model; "));
    CHECK(t[0] == -1);
    /* not without leave, and never in another dimension */
    cr_ckpt *c = old_one();
    cr_ckpt_tensor v = flat("model.emb_a.weight", 9, 2, t);
    v.resize = CR_RESIZE_FIRST;
    cr_ckpt_load_opts o = {.allow_extra = true};
    CHECK_INT(load(c, &v, 1, &o), CR_ERUN);
    CHECK(said(0, "was the config changed?"));
    o.allow_resize = true;
    v.shape[1] = 3;
    CHECK_INT(load(c, &v, 1, &o), CR_ERUN);
    cr_ckpt_close(c);
}

/* ---- single tensors ---- */

static void get_f64(void *ctx, int64_t first, int64_t n, void *out) {
    cr_dtype_from_f32(CR_DT_F64, (const float *)ctx + first, n, out);
}
static void get_f16(void *ctx, int64_t first, int64_t n, void *out) {
    cr_dtype_from_f32(CR_DT_F16, (const float *)ctx + first, n, out);
}
static void get_bf16(void *ctx, int64_t first, int64_t n, void *out) {
    cr_dtype_from_f32(CR_DT_BF16, (const float *)ctx + first, n, out);
}
static void get_i8(void *ctx, int64_t first, int64_t n, void *out) {
    cr_dtype_from_f32(CR_DT_I8, (const float *)ctx + first, n, out);
}

TEST(one_tensor_of_any_type) {
    static const struct {
        cr_dtype type;
        void (*get)(void *, int64_t, int64_t, void *);
    } types[] = {{CR_DT_F64, get_f64},
                 {CR_DT_F16, get_f16},
                 {CR_DT_BF16, get_bf16},
                 {CR_DT_I8, get_i8}};
    for (int i = 0; i < 4; i++) {
        float x[6] = {1, -2, 3, 40, -50, 60}, y[6] = {0};
        char *path = cr_path_join(&arena, new_dir(), "vectors.safetensors");
        cr_st_out o = {"emb", types[i].type, 2, {3, 2}, types[i].get, x};
        CHECK_INT(cr_st_write(path, &o, 1, NULL, 0, NULL, NULL, NULL), CR_OK);
        cr_ckpt *c;
        cr_err err;
        CHECK_INT(cr_ckpt_open(&c, path, &err), CR_OK);
        cr_ckpt_tensor t = flat("table", 3, 2, y);
        CHECK_INT(cr_ckpt_load_one(c, NULL, &t, 0, true, &err), CR_OK);
        CHECK(y[0] == 0); /* only looked */
        CHECK_INT(cr_ckpt_load_one(c, "emb", &t, 0, false, &err), CR_OK);
        CHECK(memcmp(x, y, sizeof x) == 0);
        CHECK_INT(cr_ckpt_load_one(c, "enb", &t, 0, false, &err), CR_ECONF);
        CHECK(strstr(err.msg, "no tensor 'enb'; did you mean 'emb'?") != NULL);
        t.shape[0] = 4;
        CHECK_INT(cr_ckpt_load_one(c, "emb", &t, 0, false, &err), CR_ECONF);
        CHECK(strstr(err.msg, "tensor 'emb' is (3, 2), table table is (4, 2)") != NULL);
        cr_ckpt_close(c);
    }
    cr_ckpt *c = old_one();
    cr_err err;
    float y[6];
    cr_ckpt_tensor t = flat("table", 3, 2, y);
    CHECK_INT(cr_ckpt_load_one(c, NULL, &t, 0, false, &err), CR_ECONF);
    CHECK(strstr(err.msg, "the file holds 3 tensors; name one with pretrained_tensor") != NULL);
    cr_ckpt_close(c);
}

TEST(small_types) {
    const uint8_t raw[] = {0x38, 0xb8, 0x01, 0x7e, 0x7f, 0x00}; /* 1, -1, 2^-9, 448, NaN, 0 */
    float x[6];
    cr_dtype_to_f32(CR_DT_F8_E4M3, raw, 6, x);
    CHECK(x[0] == 1 && x[1] == -1 && x[2] == 0x1p-9f && x[3] == 448 && isnan(x[4]) && x[5] == 0);
    const uint8_t raw2[] = {0x3c, 0xc0, 0x7c, 0x7e};
    cr_dtype_to_f32(CR_DT_F8_E5M2, raw2, 4, x);
    CHECK(x[0] == 1 && x[1] == -2 && isinf(x[2]) && isnan(x[3]));
    const uint16_t raw3[] = {0, 65535, 0x8000};
    cr_dtype_to_f32(CR_DT_U16, raw3, 3, x);
    CHECK(x[1] == 65535 && x[2] == 32768);
    cr_dtype_to_f32(CR_DT_I16, raw3, 3, x);
    CHECK(x[1] == -1 && x[2] == -32768);
    const uint64_t raw4 = UINT64_MAX;
    cr_dtype_to_f32(CR_DT_U64, &raw4, 1, x);
    CHECK(x[0] == 0x1p64f);
    cr_dtype_to_f32(CR_DT_U32, &raw4, 1, x);
    CHECK(x[0] == 0x1p32f);
    cr_dtype_to_f32(CR_DT_BOOL, raw, 1, x);
    CHECK(x[0] == 1);
}

/* ---- 8-bit rows ---- */

/* the stated bound: half a step, and the rounding of the result */
static bool near_enough(float x, float y, float scale, float size) {
    return fabs((double)x - (double)y) <= (double)scale / 2 + (double)size * 0x1p-23 + 1e-43;
}

TEST(int8_rows) {
    enum { V = 500, D = 19 };
    static float x[V * D], y[V * D];
    uint64_t key = cr_rng_key(3, "rows", NULL);
    for (int i = 0; i < V * D; i++) {
        float size = powf(10, (float)(i / D % 60) - 30); /* rows of very different sizes */
        x[i] = (cr_rng_f32(key, (uint64_t)i) * 2 - 1) * size + (i / D % 7 == 0 ? 3 * size : 0);
        if (i / D % 11 == 0) x[i] = size; /* constant rows */
    }
    x[0] = 3e38f; /* the difference of two values is no float */
    x[1] = -3e38f;
    uint8_t q[D];
    for (int r = 0; r < V; r++) {
        float scale, offset, size = 0;
        cr_int8_row(x + r * D, D, q, &scale, &offset);
        for (int d = 0; d < D; d++)
            size = fmaxf(size, fabsf(x[r * D + d]));
        for (int d = 0; d < D; d++)
            CHECK(
                near_enough(x[r * D + d], cr_int8_value((float)q[d], scale, offset), scale, size));
        if (r % 11 == 0 && r > 0)
            CHECK(scale == 0 && cr_int8_value((float)q[3], scale, offset) == x[r * D + 3]);
    }
    /* written whole and in pieces, read from any element */
    for (int64_t shard = 0; shard <= 4000; shard += 1000) {
        cr_ckpt_tensor v[2] = {flat("model.emb.weight", V, D, x), flat("model.b", 3, 0, x)};
        v[0].int8_rows = true;
        char *dir = new_dir();
        cr_err err;
        cr_ckpt *c;
        cr_ckpt_save_opts so = {.shard_bytes = shard};
        CHECK_INT(cr_ckpt_write_tensors(dir, v, 2, &so, &err), CR_OK);
        CHECK_INT(cr_ckpt_open(&c, dir, &err), CR_OK);
        CHECK_INT(cr_ckpt_verify(c, NULL, &err), CR_OK);
        CHECK_INT(cr_ckpt_count(c), 2); /* scales and offsets are part of it */
        const cr_ckpt_info *e = cr_ckpt_find(c, "model.emb.weight");
        CHECK(e && e->int8_rows && e->n_bytes == V * (D + 8));
        CHECK_STR(cr_ckpt_type_name(e), "INT8");
        CHECK(cr_ckpt_view(c, "model.emb.weight") == NULL);
        cr_ckpt_tensor w = flat("model.emb.weight", V, D, y);
        cr_ckpt_load_opts o = {.allow_extra = true};
        CHECK_INT(load(c, &w, 1, &o), CR_OK);
        for (int r = 0; r < V; r++) {
            float scale, offset;
            cr_int8_row(x + r * D, D, q, &scale, &offset);
            for (int d = 0; d < D; d++)
                CHECK(y[r * D + d] == cr_int8_value((float)q[d], scale, offset));
        }
        float mid[3 * D];
        CHECK_INT(cr_ckpt_read(c, "model.emb.weight", 17 * D + 5, 2 * D + 7, mid, &err), CR_OK);
        CHECK(memcmp(mid, y + 17 * D + 5, sizeof(float) * (2 * D + 7)) == 0);
        cr_ckpt_close(c);
    }
}

TEST(values_that_do_not_fit) {
    float x[6] = {1, 2, 3, NAN, 5, 6};
    cr_err err;
    cr_ckpt_tensor t = flat("model.emb.weight", 2, 3, x);
    t.int8_rows = true;
    CHECK_INT(cr_ckpt_write_tensors(new_dir(), &t, 1, NULL, &err), CR_ERUN);
    CHECK_STR(err.msg, "parameter 'model.emb.weight', row 1 holds nan, which INT8 cannot store; "
                       "use FP32");
    t.int8_rows = false;
    t.dtype = CR_DT_F16;
    CHECK_INT(cr_ckpt_write_tensors(new_dir(), &t, 1, NULL, &err), CR_OK);
    x[5] = 70000;
    CHECK_INT(cr_ckpt_write_tensors(new_dir(), &t, 1, NULL, &err), CR_ERUN);
    CHECK(strstr(err.msg, "row 1 holds 70000, which FP16 cannot store") != NULL);
    t.dtype = CR_DT_BF16;
    CHECK_INT(cr_ckpt_write_tensors(new_dir(), &t, 1, NULL, &err), CR_OK);
}

static void get_zeros(void *ctx, int64_t first, int64_t n, void *out) {
    (void)first;
    memset(out, 0, (size_t)n * (size_t) * (const int *)ctx);
}

/* a file that claims 8-bit rows without being able to */
TEST(int8_rows_of_others) {
    static const int one = 1, four = 4;
    void *c1 = (void *)(uintptr_t)&one, *c4 = (void *)(uintptr_t)&four;
    const cr_st_out emb = {"emb", CR_DT_U8, 2, {3, 4}, get_zeros, c1};
    const cr_st_out scale = {"emb.scale", CR_DT_F32, 1, {3}, get_zeros, c4};
    const cr_st_out short_scale = {"emb.scale", CR_DT_F32, 1, {2}, get_zeros, c4};
    const cr_st_out offset = {"emb.offset", CR_DT_F32, 1, {3}, get_zeros, c4};
    const cr_st_meta good = {"quant.emb", "int8_rows"}, odd = {"quant.emb", "int3"},
                     lost = {"quant.lost", "int8_rows"};
    const struct {
        cr_st_out v[3];
        int n;
        cr_st_meta meta;
        const char *says; /* NULL: fine */
    } cases[] = {{{emb, scale, offset}, 3, good, NULL},
                 {{emb, scale}, 2, good, "no .offset"},
                 {{emb, offset}, 2, good, "no .scale"},
                 {{emb, short_scale, offset}, 3, good, "no .scale"},
                 {{emb, scale, offset}, 3, odd, "fits no tensor"},
                 {{emb, scale, offset}, 3, lost, "fits no tensor"},
                 {{scale, offset}, 2, good, "fits no tensor"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = cr_path_join(&arena, new_dir(), "x.safetensors");
        cr_err err;
        cr_ckpt *c = NULL;
        CHECK_INT(cr_st_write(path, cases[i].v, cases[i].n, &cases[i].meta, 1, NULL, NULL, NULL),
                  CR_OK);
        cr_code code = cr_ckpt_open(&c, path, &err);
        CHECK_INT(code, cases[i].says ? CR_ERUN : CR_OK);
        if (cases[i].says) CHECK(strstr(err.msg, cases[i].says) != NULL);
        if (code == CR_OK) cr_ckpt_close(c);
    }
}

/* Whole numbers of 63 bits come back as they are; the file decides how many rows a tensor gets that
 * fits itself to it; rows may keep their distance from the end. */
typedef struct whole {
    int64_t *v, n;
} whole;
static void get_whole(void *ctx, int64_t first, int64_t n, int64_t *out) {
    memcpy(out, ((const whole *)ctx)->v + first, (size_t)n * 8);
}
static void put_whole(void *ctx, int64_t first, int64_t n, const int64_t *in) {
    const whole *w = ctx;
    CHECK(first + n <= w->n);
    memcpy(w->v + first, in, (size_t)n * 8);
}
static cr_code fit_whole(void *ctx, int64_t rows, cr_err *err) {
    whole *w = ctx;
    (void)err;
    *w = (whole){CR_NEW_N(&arena, int64_t, rows + 1), rows};
    return CR_OK;
}

TEST(whole_numbers) {
    enum { N = 100003 };
    whole from = {CR_NEW_N(&arena, int64_t, N), N}, to = {NULL, 0};
    float x[12], y[20] = {0};
    for (int64_t i = 0; i < N; i++)
        from.v[i] = INT64_MAX - i * 92233720368LL;
    for (int i = 0; i < 12; i++)
        x[i] = (float)i + 1;
    for (int64_t shard = 0; shard < 2; shard++) {
        const char *dir = new_dir();
        cr_ckpt_tensor t[2] = {{.name = "ids",
                                .n_dims = 1,
                                .shape = {N},
                                .dtype = CR_DT_I64,
                                .get_whole = get_whole,
                                .put_whole = put_whole,
                                .ctx = &from},
                               flat("w", 3, 4, x)};
        cr_err err;
        cr_ckpt *c;
        CHECK_INT(cr_ckpt_write_tensors(dir, t, 2,
                                        &(cr_ckpt_save_opts){.shard_bytes = shard * 100000}, &err),
                  CR_OK);
        CHECK_INT(cr_ckpt_open(&c, dir, &err), CR_OK);
        to = (whole){NULL, 0};
        t[0].ctx = &to;
        t[0].fit = fit_whole;
        t[0].resize = CR_RESIZE_FIT;
        t[0].shape[0] = 5;
        t[1] = flat("w", 5, 4, y);
        t[1].resize = CR_RESIZE_LAST;
        CHECK_INT(load(c, t, 2, &(cr_ckpt_load_opts){.allow_resize = true}), CR_OK);
        CHECK_INT(to.n, N);
        CHECK(memcmp(to.v, from.v, N * 8) == 0);
        CHECK(y[7] == 0 && memcmp(y + 8, x, sizeof x) == 0);
        float small[8] = {0};
        t[1] = flat("w", 2, 4, small);
        t[1].resize = CR_RESIZE_LAST;
        CHECK_INT(load(c, t, 2, &(cr_ckpt_load_opts){.allow_resize = true}), CR_OK);
        CHECK(small[0] == 0 && small[7] == 0);
        int64_t one;
        CHECK_INT(cr_ckpt_read_whole(c, "w", 0, 1, &one, &err), CR_ERUN);
        CHECK(strstr(err.msg, "is of type F32 and must be I64") != NULL);
        CHECK_INT(cr_ckpt_read_whole(c, "ids", N, 1, &one, &err), CR_ERUN);
        cr_ckpt_close(c);
    }
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(map_renames),
                                   CASE(old_names),
                                   CASE(map_mistakes),
                                   CASE(nothing_fits),
                                   CASE(spare_rows),
                                   CASE(resized_tables),
                                   CASE(one_tensor_of_any_type),
                                   CASE(small_types),
                                   CASE(int8_rows),
                                   CASE(values_that_do_not_fit),
                                   CASE(int8_rows_of_others),
                                   CASE(whole_numbers)};
    if (!mkdtemp(root)) return 1;
    cr_arena_init(&arena, 0);
    cr_diag_init(&diag);
    int code = t_run(cases, sizeof cases / sizeof *cases, argc, argv);
    cr_diag_clear(&diag);
    cr_arena_clear(&arena);
    (void)!cr_rmtree(root, NULL);
    return code;
}
