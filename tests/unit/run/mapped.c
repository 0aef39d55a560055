/*
 * mapped.c - tables of an export are read where they lie in the file: opening takes no anonymous
 * memory for them, and the values are those of the checkpoint. What cannot be mapped is copied.
 */
#include "unit/run/run_test.h"

#define ROWS      200001 /* of the large table; odd, so that nothing is aligned by chance */
#define DIM       16
#define TABLE_KIB (ROWS * DIM * 4 / 1024)

static const char *const sets[] = {"feature_configs[13].id_feature.num_buckets=200001",
                                   "data_config.batch_size=100"};

/* a number of /proc/self/status, in KiB */
static int64_t status(const char *key) {
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long long v = -1;
    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, key, strlen(key)) == 0) v = atoll(line + strlen(key));
    if (f) fclose(f);
    return v;
}

/* does this address lie in the mapping of a file of weights? */
static bool in_file(const void *p) {
    FILE *f = fopen("/proc/self/maps", "r");
    char line[1024];
    bool found = false;
    while (f && fgets(line, sizeof(line), f)) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx", &from, &to) == 2 && (uintptr_t)p >= from && (uintptr_t)p < to)
            found = strstr(line, ".safetensors") != NULL;
    }
    if (f) fclose(f);
    return found;
}

static void make_export(const char *type, const char *dir) {
    char used[1088];
    cr_diag diag;
    cr_diag_init(&diag);
    cr_export_opts o = {.config = {.path = in_root("data/pipeline.yaml"),
                                   .model_dir = in_root("model"),
                                   .set = sets,
                                   .n_set = 2},
                        .export_dir = dir,
                        .embedding_dtype = type,
                        .threads = 2};
    CHECK_INT(cr_export(&o, used, &diag), 0);
    show(&diag);
    cr_diag_clear(&diag);
}

/* a model for inference with the weights of an export, or of the checkpoint (dir NULL) */
static void open_model(cr_job *j, const char *dir) {
    char config[600];
    cr_diag diag;
    cr_diag_init(&diag);
    snprintf(config, sizeof(config), "%s/pipeline.config", dir ? dir : in_root("model"));
    cr_config_opts c = {.path = config, .asset_dir = dir};
    cr_job_opts jo = {.config = &c, .exported = dir != NULL, .threads = 2};
    CHECK_INT(cr_job_open(j, &jo, &diag), 0);
    char *path = (char *)(uintptr_t)dir;
    int64_t step;
    if (!dir) CHECK_INT(cr_job_checkpoint(j, NULL, false, &path, &step, NULL), 0);
    CHECK_INT(cr_job_map(j, path, NULL), 0);
    CHECK_INT(cr_job_alloc(j, NULL), 0);
    CHECK_INT(cr_job_load_weights(j, path, &diag), 0);
    show(&diag);
    cr_diag_clear(&diag);
}

static const cr_table *large(const cr_job *j) {
    const cr_table *t = NULL;
    for (int i = 0; i < j->model->n_tables; i++)
        if (j->model->tables[i]->n_rows == ROWS && j->model->tables[i]->D == DIM)
            t = &j->model->tables[i]->table;
    CHECK(t != NULL);
    return t;
}

/* all tables of two models; off: how far two values may be apart, relative to the larger of 1 and
 * themselves */
static void same_tables(const cr_job *a, const cr_job *b, double off) {
    CHECK_INT(a->model->n_tables, b->model->n_tables);
    int64_t bad = 0;
    float *x = calloc(2 * CR_MAX_D, sizeof(float)), *y = x + CR_MAX_D;
    for (int i = 0; i < a->model->n_tables; i++) {
        const cr_table *s = &a->model->tables[i]->table, *t = &b->model->tables[i]->table;
        CHECK_INT(s->n_rows, t->n_rows);
        for (int64_t r = 0; r < s->n_rows; r++) {
            cr_table_get(s, r, x);
            cr_table_get(t, r, y);
            if (off == 0) bad += memcmp(x, y, (size_t)s->D * sizeof(float)) != 0;
            for (int64_t k = 0; off > 0 && k < s->D; k++)
                bad += !(fabs((double)x[k] - (double)y[k]) <= off * fmax(1, fabs((double)x[k])));
        }
    }
    free(x);
    CHECK_INT(bad, 0);
}

/* Sanitizers keep memory of their own, which counts as the process's. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEASURED false
#elif defined(__has_feature)
#define MEASURED !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define MEASURED true
#endif

TEST(opening_takes_no_memory) {
    make_export(NULL, in_root("fp32"));
    cr_job ckpt, j;
    int64_t before = status("RssAnon:");
    open_model(&j, in_root("fp32"));
    int64_t grown = status("RssAnon:") - before;
    if (MEASURED) CHECK(before > 0 && grown < TABLE_KIB / 3);
    for (int i = 0; i < j.model->n_tables; i++)
        CHECK(in_file(cr_table_row(&j.model->tables[i]->table, 0)));
    CHECK_INT((uintptr_t)cr_table_row(large(&j), 0) % 64, 0);
    open_model(&ckpt, NULL);
    if (MEASURED) CHECK(status("RssAnon:") - before - grown > TABLE_KIB * 2 / 3); /* a copy */
    CHECK(!in_file(cr_table_row(large(&ckpt), 0)));
    same_tables(&ckpt, &j, 0);
    cr_job_close(&ckpt);
    cr_job_close(&j);
}

TEST(sixteen_bits) {
    static const char *const types[] = {"FP16", "BF16"};
    cr_job ckpt;
    open_model(&ckpt, NULL);
    for (int k = 0; k < 2; k++) {
        make_export(types[k], in_root(types[k]));
        cr_job j;
        open_model(&j, in_root(types[k]));
        CHECK(large(&j)->half && in_file(cr_table_row(large(&j), 0)));
        for (int i = 0; i < j.model->n_tables;
             i++) /* a record is whole floats: an odd width is not */
            CHECK_INT(in_file(cr_table_row(&j.model->tables[i]->table, 0)),
                      j.model->tables[i]->D % 2 == 0);
        same_tables(&ckpt, &j, k ? 0x1p-8 : 0x1p-11);
        cr_job_close(&j);
    }
    cr_job_close(&ckpt);
}

TEST(eight_bits_are_copied) {
    cr_job ckpt, j;
    make_export("INT8", in_root("int8"));
    open_model(&ckpt, NULL);
    open_model(&j, in_root("int8"));
    CHECK(!in_file(cr_table_row(large(&j), 0)));
    same_tables(&ckpt, &j, 0.01);
    cr_job_close(&j);
    cr_job_close(&ckpt);
}

/* a byte of the mapped weights that differs is still found before anything is computed */
TEST(damage) {
    make_export(NULL, in_root("damaged"));
    char path[600];
    snprintf(path, sizeof(path), "%s/model-00001-of-00001.safetensors", in_root("damaged"));
    FILE *f = fopen(path, "r+b");
    CHECK(f && fseek(f, ROWS * DIM * 2, SEEK_SET) == 0);
    int c = f ? fgetc(f) : 0;
    CHECK(f && fseek(f, -1, SEEK_CUR) == 0 && fputc(c ^ 1, f) == (c ^ 1) && fclose(f) == 0);
    cr_diag diag;
    cr_diag_init(&diag);
    cr_predict_opts o = {.scripted_model_path = in_root("damaged"),
                         .predict_input_path = in_root("data/eval/*.csv"),
                         .predict_output_path = in_root("scores"),
                         .threads = 2};
    cr_predict_result res;
    CHECK_INT(cr_predict(&o, &res, &diag), CR_ERUN);
    CHECK(diag.n_errors == 1 && strstr(diag.v[0].msg, "does not fit its digest"));
    CHECK(!cr_path_exists(in_root("scores/part-0.csv")));
    cr_diag_clear(&diag);
}

static bool train(void) {
    cr_diag diag;
    cr_diag_init(&diag);
    cr_train_opts o = {.config = {.path = in_root("data/pipeline.yaml"),
                                  .model_dir = in_root("model"),
                                  .set = sets,
                                  .n_set = 2},
                       .threads = 2};
    cr_train_result r;
    cr_code code = cr_train(&o, &r, &diag);
    show(&diag);
    cr_arena_clear(&r.arena);
    cr_diag_clear(&diag);
    return code == CR_OK;
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(opening_takes_no_memory), CASE(sixteen_bits),
                                   CASE(eight_bits_are_copied), CASE(damage)};
    if (!root_open("mapped")) return 1;
    make_synth("criteo", in_root("data"), 400, 200, 5, 0.0002);
    int rc = train() ? t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv) : 1;
    return root_close(rc);
}
