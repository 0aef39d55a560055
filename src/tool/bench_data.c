/*
 * bench_data.c - `crank bench read` and `crank bench features`: passes over the training files, one
 * after the other, without a model.
 */
#include <string.h>

#include "base/cpu.h"
#include "tool/bench_int.h"

/* Turns a chunk into rows without any feature. */
static cr_code encode_nothing(void *ctx, const cr_chunk *chunk, cr_chunk_rows *out, cr_bad *bad,
                              cr_err *err) {
    (void)ctx;
    (void)bad;
    (void)err;
    out->rows.n_rows = chunk->n_rows;
    return CR_OK;
}

typedef struct source {
    cr_job j;
    cr_loader_opts lo;
    cr_loader_stats stats; /* of all passes */
    double seconds;
    cr_bench_windows rates;
} source;

static cr_code one_pass(source *s, double until, cr_diag *diag) {
    cr_loader *l = NULL;
    cr_err err;
    double t0 = cr_now();
    CR_TRY(cr_loader_new(&l, &s->lo, diag));
    cr_code code = CR_OK;
    for (bool done = false; code == CR_OK && !done && (s->rates.n < 3 || cr_now() < until);) {
        cr_batch *b;
        code = cr_loader_next(l, &b, &done, &err);
        if (code != CR_OK) cr_diag_err(diag, &err);
        if (code != CR_OK || !b) continue;
        cr_bench_window_add(&s->rates, (double)b->n_rows);
        cr_loader_release(l, b);
    }
    cr_loader_stats st;
    cr_loader_get_stats(l, &st);
    s->seconds += cr_now() - t0;
    s->stats.rows += st.rows;
    s->stats.bytes += st.bytes;
    s->stats.read_s += st.read_s;
    s->stats.parse_s += st.parse_s;
    s->stats.encode_s += st.encode_s;
    cr_loader_free(l);
    return code;
}

/* Returns "sequence_id_feature" for a sequence, even inside a block. */
static const char *kind_of(cr_bench *out, const cr_feature *f) {
    return cr_arena_printf(&out->arena, "%s%s", f->seq ? "sequence_" : "", f->type->name);
}

/* Adds a line per feature type: how many rows of one such feature a core makes. */
static void add_types(cr_bench *out, const cr_features *fs, double rows) {
    double all = 0;
    for (int i = 0; i < fs->n; i++)
        all += (double)atomic_load(&fs->times[i]);
    bool *done = CR_NEW_N(&out->arena, bool, fs->n + 1);
    for (int i = 0; i < fs->n; i++) {
        const char *kind = kind_of(out, fs->v[i]);
        double ns = 0, n = 0;
        if (done[i] || fs->v[i]->stub) continue;
        for (int k = i; k < fs->n; k++) {
            if (fs->v[k]->stub || strcmp(kind_of(out, fs->v[k]), kind) != 0) continue;
            done[k] = true;
            ns += (double)atomic_load(&fs->times[k]);
            n++;
        }
        cr_bench_row *r = cr_bench_row_new(out, kind);
        cr_bench_row_add(r, "features", n, "");
        cr_bench_row_add(r, "rows_per_core_s", ns > 0 ? 1e9 * rows * n / ns : 0, "rows/s");
        cr_bench_row_add(r, "ns_per_row", rows > 0 ? ns / rows / n : 0, "ns");
        cr_bench_row_add(r, "share", all > 0 ? 100 * ns / all : 0, "%");
    }
}

static cr_code no_rows(const source *s, cr_diag *diag) {
    cr_err err;
    (void)cr_fail_at(&err, CR_EDATA, ((cr_loc){s->lo.paths, 0, 0}),
                     "there are no rows; check the path and the files");
    return cr_diag_err(diag, &err);
}

static cr_code measure(const cr_bench_opts *o, bool features, cr_bench *out, cr_diag *diag) {
    source s = {0};
    cr_job_opts jo = {.config = &o->config,
                      .threads = o->threads,
                      .train = true,
                      .with_labels = true};
    cr_code code = cr_job_open(&s.j, &jo, diag);
    double best = 0, median = 0;
    if (code == CR_OK) {
        const cr_data_conf *dc = s.j.root->data_config;
        s.lo = (cr_loader_opts){.conf = dc,
                                .reader = s.j.reader,
                                .paths = s.j.root->train_input_path,
                                .want = s.j.features->want,
                                .n_want = s.j.features->n_want,
                                .encode = features ? cr_features_encode : encode_nothing,
                                .encode_ctx = s.j.features,
                                .tally_size = features ? cr_features_counts_size(s.j.features) : 0,
                                .tally_add = cr_features_counts_add,
                                .batch_size = dc->batch_size,
                                .shuffle = dc->shuffle,
                                .seed = s.j.root->train_config->seed,
                                .n_threads = cr_pool_threads(s.j.pool),
                                .n_epochs = 1,
                                .max_bad_rows = INT64_MAX,
                                .silent = true};
        if (features)
            s.j.features->times = CR_NEW_N(&s.j.cfg.arena, atomic_llong, s.j.features->n + 1);
        double until = cr_now() + o->seconds;
        cr_bench_window_begin(&s.rates, o->seconds);
        code = one_pass(&s, until + 9 * o->seconds, diag); /* the first pass reads whole files */
        if (code == CR_OK && s.stats.rows == 0) code = no_rows(&s, diag);
        while (code == CR_OK && (s.rates.n < 3 || cr_now() < until))
            code = one_pass(&s, until, diag);
        cr_bench_window_rates(&s.rates, &best, &median);
    }
    if (code == CR_OK) {
        const cr_loader_stats *t = &s.stats;
        double cpu = t->read_s + t->parse_s + t->encode_s, rows = (double)t->rows;
        cr_bench_add(out, "rows_per_s", best, "rows/s");
        cr_bench_add(out, "rows_per_s_median", median, "rows/s");
        cr_bench_add(out, "rows_per_cpu_s", rows / cpu, "rows/s");
        cr_bench_add(out, "bytes_per_s", (double)t->bytes / s.seconds, "bytes/s");
        cr_bench_add(out, "threads", cr_pool_threads(s.j.pool), "");
        cr_bench_add(out, "columns", s.j.features->n_want, "");
        cr_bench_add(out, "rows_read", rows, "rows");
        cr_bench_add(out, "read_share", 100 * t->read_s / cpu, "%");
        cr_bench_add(out, "parse_share", 100 * t->parse_s / cpu, "%");
        cr_bench_add(out, "encode_share", 100 * t->encode_s / cpu, "%");
        cr_bench_add(out, "peak_rss_bytes", (double)cr_peak_rss(), "bytes");
        if (features) add_types(out, s.j.features, rows);
    }
    cr_job_close(&s.j);
    return code;
}

cr_code cr_bench_read(const cr_bench_opts *o, cr_bench *out, cr_diag *diag) {
    return measure(o, false, out, diag);
}

cr_code cr_bench_features(const cr_bench_opts *o, cr_bench *out, cr_diag *diag) {
    return measure(o, true, out, diag);
}
