/*
 * manifest.c - every byte of a checkpoint counts: a flipped bit, a missing or a longer file is
 * found, and the message names the file. Also: what cannot be read is not called damaged, and
 * checkpoints of version 1, which have no manifest, are still read.
 */
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/log.h"
#include "ckpt/ckpt.h"
#include "harness.h"

static char root[] = "/tmp/crank_test_XXXXXX";
static cr_arena arena;
static float w[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, sums[12];

static char *save(const char *name) {
    cr_ckpt_tensor t[2] = {{.name = "w",
                            .n_dims = 2,
                            .shape = {3, 4},
                            .dtype = CR_DT_F32,
                            .get = cr_ckpt_get_flat,
                            .put = cr_ckpt_put_flat,
                            .ctx = w},
                           {.name = "state.w.sum",
                            .n_dims = 2,
                            .shape = {3, 4},
                            .dtype = CR_DT_F32,
                            .get = cr_ckpt_get_flat,
                            .put = cr_ckpt_put_flat,
                            .ctx = sums,
                            .optimizer = true}};
    cr_ckpt_metric metric = {"auc", 0.5};
    cr_ckpt_state s = {.step = 7, .lanes = 8, .metrics = &metric, .n_metrics = 1};
    cr_ckpt_save_opts o = {.features = "{\"format\": 1}\n"};
    char *dir = cr_path_join(&arena, root, name);
    cr_err err;
    CHECK_INT(cr_ckpt_save(dir, &s, t, 2, &o, &err), CR_OK);
    return cr_path_join(&arena, dir, "model.ckpt-7");
}

/* opens and reads everything; the message of a failure goes to text */
static cr_code read_all(const char *dir, char text[1024]) {
    cr_err err;
    cr_ckpt *c;
    cr_code code = cr_ckpt_open(&c, dir, &err);
    if (code == CR_OK) {
        code = cr_ckpt_verify(c, NULL, &err);
        cr_ckpt_close(c);
    }
    text[0] = 0;
    if (code != CR_OK) cr_err_text(&err, text, 1024);
    return code;
}

/* what `crank check` does */
static cr_code check_all(const char *dir) {
    cr_manifest *m;
    cr_diag diag;
    cr_diag_init(&diag);
    cr_code code = cr_manifest_read(&m, dir, NULL);
    if (code == CR_OK) {
        code = cr_manifest_check(m, true, NULL, NULL, &diag);
        cr_manifest_free(m);
    }
    cr_diag_clear(&diag);
    return code;
}

static void put(const char *path, const cr_buf *b) {
    FILE *f = fopen(path, "wb");
    CHECK(f && (b->n == 0 || fwrite(b->data, 1, b->n, f) == b->n) && fclose(f) == 0);
}

/* in place: files that are cut and written again wait for the disk */
static void put_byte(int fd, size_t at, int byte) {
    char c = (char)byte;
    CHECK(pwrite(fd, &c, 1, (off_t)at) == 1);
}

TEST(every_byte) {
    char *dir = save("bytes"), **names, text[1024];
    size_t n;
    cr_buf whole;
    cr_buf_init(&whole);
    CHECK_INT(read_all(dir, text), CR_OK);
    CHECK_INT(check_all(dir), CR_OK);
    CHECK_INT(cr_list_dir(&arena, dir, &names, &n, NULL), CR_OK);
    CHECK_INT(n, 6);
    for (size_t i = 0; i < n; i++) {
        char *path = cr_path_join(&arena, dir, names[i]);
        CHECK_INT(cr_file_read(path, 0, &whole, NULL), CR_OK);
        int fd = open(path, O_WRONLY);
        for (size_t at = 0; at < whole.n; at++) {
            put_byte(fd, at, whole.data[at] ^ 1 << (at % 8));
            CHECK_INT(read_all(dir, text), CR_ERUN);
            CHECK(strstr(text, names[i]) != NULL);
            CHECK_INT(check_all(dir), CR_ERUN);
            put_byte(fd, at, whole.data[at]);
        }
        close(fd);
        cr_buf more;
        cr_buf_init(&more);
        cr_buf_add(&more, whole.data, whole.n - 1);
        put(path, &more);
        CHECK_INT(read_all(dir, text), CR_ERUN);
        CHECK(strstr(text, names[i]) != NULL);
        cr_buf_add(&more, whole.data + whole.n - 1, 1);
        cr_buf_char(&more, '\n');
        put(path, &more);
        CHECK_INT(read_all(dir, text), CR_ERUN);
        CHECK(strstr(text, names[i]) != NULL);
        CHECK(unlink(path) == 0);
        CHECK_INT(read_all(dir, text), CR_ERUN);
        CHECK(strstr(text, names[i]) != NULL);
        cr_buf_clear(&more);
        put(path, &whole);
        CHECK_INT(read_all(dir, text), CR_OK);
    }
    cr_buf_clear(&whole);
}

/* a file that cannot be read may be whole: that is another error than damage */
TEST(unreadable) {
    char *dir = save("unreadable"), **names, text[1024];
    size_t n;
    CHECK_INT(cr_list_dir(&arena, dir, &names, &n, NULL), CR_OK);
    for (size_t i = 0; i < n; i++) {
        char *path = cr_path_join(&arena, dir, names[i]);
        char *aside = cr_path_join(&arena, root, names[i]);
        CHECK(rename(path, aside) == 0 && symlink(path, path) == 0); /* leads to itself */
        CHECK_INT(read_all(dir, text), CR_EIO);
        CHECK(strstr(text, names[i]) != NULL);
        CHECK(rename(aside, path) == 0);
    }
    CHECK_INT(read_all(dir, text), CR_OK);
}

TEST(names) {
    /* a manifest is a file from outside: no name in it may lead elsewhere */
    char *dir = cr_path_join(&arena, root, "names"), text[1024];
    static const char *const wrong[] = {"../x", "a/b", "..", ""};
    cr_err err;
    CHECK_INT(cr_mkdirs(dir, NULL), CR_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_manifest *m = cr_manifest_new();
        cr_manifest_add(m, wrong[i], 1, 2);
        CHECK_INT(cr_manifest_write(m, dir, &err), CR_OK);
        cr_manifest_free(m);
        CHECK_INT(cr_manifest_read(&m, dir, &err), CR_ERUN);
        cr_err_text(&err, text, sizeof text);
        CHECK(strstr(text, "entry 0 of 'files' is wrong") != NULL);
    }
    cr_manifest *m;
    CHECK_INT(cr_manifest_read(&m, root, &err), CR_OK);
    CHECK(m == NULL);
}

/* version 1: the checksum of weights in index.json, and nothing for the other files */
TEST(version_1) {
    char *dir = save("old"), text[1024];
    cr_buf b, file;
    cr_buf_init(&b);
    cr_buf_init(&file);
    cr_buf_str(&b, "{\"format\": \"crank-checkpoint\", \"format_version\": 1, \"files\": [");
    static const char *const names[] = {"model-00001-of-00001.safetensors",
                                        "optimizer-00001-of-00001.safetensors"};
    for (int i = 0; i < 2; i++) {
        CHECK_INT(cr_file_read(cr_path_join(&arena, dir, names[i]), 0, &file, NULL), CR_OK);
        cr_buf_printf(&b, "%s{\"name\": \"%s\", \"size\": %zu, \"crc32\": \"%08lx\"}",
                      i ? ", " : "", names[i], file.n,
                      crc32(0, (const unsigned char *)file.data, (unsigned)file.n));
    }
    cr_buf_str(&b, "], \"tensors\": [{\"name\": \"w\", \"shape\": [3, 4]}, "
                   "{\"name\": \"state.w.sum\", \"shape\": [3, 4]}]}\n");
    CHECK_INT(cr_file_write(cr_path_join(&arena, dir, "index.json"), b.data, b.n, NULL), CR_OK);
    CHECK(unlink(cr_path_join(&arena, dir, "manifest.json")) == 0);
    CHECK_INT(read_all(dir, text), CR_OK);
    cr_ckpt *c;
    CHECK_INT(cr_ckpt_open(&c, dir, NULL), CR_OK);
    CHECK(cr_ckpt_get_state(c) && cr_ckpt_features(c));
    cr_ckpt_close(c);
    /* its weights are checked as ever; a state.json that a later version wrote into it, too */
    char *path = cr_path_join(&arena, dir, names[0]);
    CHECK_INT(cr_file_read(path, 0, &file, NULL), CR_OK);
    file.data[file.n - 1] ^= 4;
    put(path, &file);
    CHECK_INT(read_all(dir, text), CR_ERUN);
    CHECK(strstr(text, names[0]) != NULL);
    file.data[file.n - 1] ^= 4;
    put(path, &file);
    path = cr_path_join(&arena, dir, "state.json");
    CHECK_INT(cr_file_read(path, 0, &file, NULL), CR_OK);
    char *at = strstr(file.data, "\"step\": 7");
    CHECK(at != NULL);
    if (at) at[8] = '8';
    put(path, &file);
    CHECK_INT(read_all(dir, text), CR_ERUN);
    CHECK(strstr(text, "state.json") != NULL);
    cr_buf_clear(&b);
    cr_buf_clear(&file);
}

static void begin(void) {
    cr_arena_init(&arena, 0);
    CHECK(mkdtemp(root) != NULL);
}

static void end(void) {
    CHECK_INT(cr_rmtree(root, NULL), CR_OK);
    cr_arena_clear(&arena);
}

TEST_MAIN(CASE(begin), CASE(every_byte), CASE(unreadable), CASE(names), CASE(version_1), CASE(end))
