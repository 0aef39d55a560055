/*
 * The file format: what is written reads back; anything else gets an error, never a crash.
 */
#include "ckpt/safetensors.h"

#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "harness.h"

static char dir[] = "/tmp/crank_test_XXXXXX";
static cr_arena arena;

static char *path_of(const char *name) {
    return cr_path_join(&arena, dir, name);
}

/* value i of tensor k, in the tensor's own type */
static void produce_f32(void *ctx, int64_t first, int64_t n, void *out) {
    for (int64_t i = 0; i < n; i++)
        ((float *)out)[i] = (float)(first + i) * *(float *)ctx;
}

static void produce_i64(void *ctx, int64_t first, int64_t n, void *out) {
    for (int64_t i = 0; i < n; i++)
        ((int64_t *)out)[i] = (first + i) * (int64_t)1e15 + *(int64_t *)ctx;
}

static void produce_u8(void *ctx, int64_t first, int64_t n, void *out) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++)
        ((uint8_t *)out)[i] = (uint8_t)(first + i);
}

static float half = 0.5f;
static int64_t seven = 7;
static const cr_st_out sample[] = {
    {"bytes", CR_DT_U8, 1, {3}, produce_u8, NULL},
    {"a.weight", CR_DT_F32, 2, {3, 5}, produce_f32, &half},
    {"empty", CR_DT_F32, 2, {0, 5}, produce_f32, &half},
    {"scalar", CR_DT_F32, 0, {0}, produce_f32, &half},
    {"ids", CR_DT_I64, 1, {2}, produce_i64, &seven},
};
static const cr_st_meta sample_meta[] = {{"format", "x"}, {"with \"quotes\"", "line\nbreak"}};

TEST(round_trip) {
    char *path = path_of("a.safetensors");
    int64_t size;
    uint64_t digest;
    cr_err err;
    CHECK_INT(cr_st_write(path, sample, 5, sample_meta, 2, &size, &digest, &err), CR_OK);
    int64_t on_disk;
    CHECK_INT(cr_file_size(path, &on_disk, &err), CR_OK);
    CHECK_INT(on_disk, size);
    cr_st_file f;
    CHECK_INT(cr_st_open(&f, path, &err), CR_OK);
    CHECK_INT(f.n, 5);
    CHECK_STR(cr_st_get_meta(&f, "with \"quotes\""), "line\nbreak");
    CHECK(cr_st_get_meta(&f, "none") == NULL);
    const cr_st_tensor *t = cr_st_find(&f, "a.weight");
    CHECK(t && t->n_dims == 2 && t->shape[0] == 3 && t->shape[1] == 5 && t->n_elems == 15);
    CHECK((uintptr_t)t->data % 4 == 0);
    for (int i = 0; i < 15; i++)
        CHECK(((const float *)t->data)[i] == (float)i * 0.5f);
    t = cr_st_find(&f, "ids");
    CHECK(t && (uintptr_t)t->data % 8 == 0 && ((const int64_t *)t->data)[1] == (int64_t)1e15 + 7);
    t = cr_st_find(&f, "scalar");
    CHECK(t && t->n_dims == 0 && t->n_elems == 1);
    t = cr_st_find(&f, "empty");
    CHECK(t && t->n_elems == 0 && t->n_bytes == 0);
    CHECK(cr_st_find(&f, "nothing") == NULL);
    cr_st_close(&f);
}

/* every shorter file is refused, with the path in the message */
TEST(truncated_at_every_length) {
    char *path = path_of("a.safetensors");
    cr_err err;
    CHECK_INT(cr_st_write(path, sample, 5, sample_meta, 2, NULL, NULL, &err), CR_OK);
    cr_buf b;
    cr_buf_init(&b);
    CHECK_INT(cr_file_read(path, 0, &b, &err), CR_OK);
    for (size_t n = 0; n < b.n; n++) {
        char *cut = cr_alloc(n + 1, "cut file"); /* exact size: ASan sees a read past it */
        memcpy(cut, b.data, n);
        cr_st_file f;
        cr_code code = cr_st_parse(&f, "cut.safetensors", (uint8_t *)cut, (int64_t)n, &err);
        CHECK_INT(code, CR_ERUN);
        CHECK_STR(err.at.path, "cut.safetensors");
        cr_free(cut);
    }
    /* and one byte too many is not silently ignored */
    cr_buf_char(&b, 'x');
    cr_st_file f;
    CHECK_INT(cr_st_parse(&f, "long", (uint8_t *)b.data, (int64_t)b.n, &err), CR_ERUN);
    CHECK(strstr(err.msg, "1 bytes after the last tensor") != NULL);
    cr_buf_clear(&b);
}

static cr_code parse_text(const char *header, size_t data, cr_err *err) {
    cr_buf b;
    cr_buf_init(&b);
    uint64_t n = strlen(header);
    cr_buf_add(&b, &n, 8);
    cr_buf_str(&b, header);
    for (size_t i = 0; i < data; i++)
        cr_buf_char(&b, 0);
    cr_st_file f;
    cr_code code = cr_st_parse(&f, "f", (uint8_t *)b.data, (int64_t)b.n, err);
    if (code == CR_OK) cr_st_close(&f);
    cr_buf_clear(&b);
    return code;
}

TEST(wrong_headers) {
    static const struct {
        const char *header, *message;
    } cases[] = {
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", NULL},
        {"", "no header"},
        {"[1]", "no header"},
        {"{\"a\":", "not a safetensors file, or damaged"},
        {"{\"a\":3}", "tensor 'a': not an object"},
        {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", "tensor 'a': no dtype"},
        {"{\"a\":{\"dtype\":\"Q7\",\"shape\":[2],\"data_offsets\":[0,8]}}", "type 'Q7'"},
        {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", "tensor 'a': no shape"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", "dimension 0"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2.5],\"data_offsets\":[0,8]}}", "dimension 0"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,8]}}",
         "9 dimensions"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,8]}}",
         "larger than any file"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387905],\"data_offsets\":[0,8]}}",
         "larger than any file"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}",
         "4 bytes where shape and type need 8"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", "not a range"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[-8,0]}}", "not a range"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,9]}}", "not a range"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}", "cut short"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
         "4 bytes before tensor 'a'"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
         "4 bytes after the last tensor"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
         "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
         "tensor 'b' overlaps tensor 'a'"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
         "duplicate object key near '\"a\"'"},
        {"{\"__metadata__\":3,\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
         "__metadata__ is not an object"},
        {"{\"__metadata__\":{\"k\":3}}", "__metadata__ 'k' is not a string"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_err err = {0};
        cr_code code = parse_text(cases[i].header, 8, &err);
        if (!cases[i].message) {
            CHECK_INT(code, CR_OK);
            continue;
        }
        CHECK_INT(code, CR_ERUN);
        if (!strstr(err.msg, cases[i].message))
            CHECK_STR(err.msg, cases[i].message); /* shows both */
    }
}

TEST(foreign_files) {
    cr_err err;
    cr_st_file f;
    char *path = path_of("foreign");
    CHECK_INT(cr_file_write(path, "PK\3\4 this is a zip archive, not weights", 40, &err), CR_OK);
    CHECK_INT(cr_st_open(&f, path, &err), CR_ERUN);
    CHECK(strstr(err.msg, "not a safetensors file") != NULL);
    CHECK_INT(cr_file_write(path, "", 0, &err), CR_OK);
    CHECK_INT(cr_st_open(&f, path, &err), CR_ERUN);
    CHECK_INT(cr_st_open(&f, dir, &err), CR_EIO);
    CHECK_INT(cr_st_open(&f, path_of("absent"), &err), CR_EIO);
}

static float back(cr_dtype t, float x) {
    char raw[8];
    cr_dtype_from_f32(t, &x, 1, raw);
    float y;
    cr_dtype_to_f32(t, raw, 1, &y);
    return y;
}

TEST(number_types) {
    CHECK(back(CR_DT_F16, 1.0f) == 1.0f);
    CHECK(back(CR_DT_F16, -0.333251953125f) == -0.333251953125f);
    CHECK(back(CR_DT_F16, 65504.0f) == 65504.0f);
    CHECK(back(CR_DT_F16, 65519.0f) == 65504.0f);
    CHECK(isinf(back(CR_DT_F16, 65520.0f)));
    CHECK(back(CR_DT_F16, 0x1p-24f) == 0x1p-24f);
    CHECK(back(CR_DT_F16, 0x1p-25f) == 0.0f);       /* tie to even */
    CHECK(back(CR_DT_F16, 0x1.8p-24f) == 0x1p-23f); /* tie to even, up */
    CHECK(back(CR_DT_F16, 1.00048828125f) == 1.0f); /* half an ulp: to even */
    CHECK(signbit(back(CR_DT_F16, -0.0f)) && isnan(back(CR_DT_F16, NAN)));
    CHECK(back(CR_DT_BF16, 1.0f) == 1.0f && isnan(back(CR_DT_BF16, NAN)));
    CHECK(back(CR_DT_BF16, 1.00390625f) == 1.0f); /* tie to even */
    CHECK(back(CR_DT_BF16, 1.01171875f) == 1.015625f);
    CHECK(isinf(back(CR_DT_BF16, 3.4e38f)));
    CHECK(back(CR_DT_F64, 0.1f) == 0.1f && back(CR_DT_I64, 16777216.0f) == 16777216.0f);
    CHECK(back(CR_DT_I8, 1000.0f) == 127.0f && back(CR_DT_I8, -1000.0f) == -128.0f);
    CHECK(back(CR_DT_I8, -2.6f) == -3.0f && back(CR_DT_U8, -2.0f) == 0.0f);
    CHECK(back(CR_DT_I32, 3e9f) == 2147483648.0f && back(CR_DT_I32, NAN) == 0.0f);
    /* every half survives the way through float */
    for (int h = 0; h < 65536; h++) {
        uint16_t in = (uint16_t)h, out;
        float x;
        cr_dtype_to_f32(CR_DT_F16, &in, 1, &x);
        cr_dtype_from_f32(CR_DT_F16, &x, 1, &out);
        if (x == x && in != out) CHECK_INT(out, in);
    }
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(round_trip), CASE(truncated_at_every_length),
                                   CASE(wrong_headers), CASE(foreign_files), CASE(number_types)};
    if (!mkdtemp(dir)) return 1;
    cr_arena_init(&arena, 0);
    int rc = t_run(cases, sizeof cases / sizeof *cases, argc, argv);
    if (cr_rmtree(dir, NULL) != CR_OK) rc = 1;
    cr_arena_clear(&arena);
    return rc;
}
