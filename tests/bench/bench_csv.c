/*
 * bench_csv.c - how fast CSV text becomes columns and batches on this machine.
 *
 *   bench_csv [MiB]        a made-up criteo-like file of that size (default 256)
 *   bench_csv FILE COLUMNS a file of yours with a header, columns a,b,c
 *
 * Prints MB/s of text and rows/s: cut alone, cut + parse with all columns as text, with the first
 * 14 as numbers, and the whole loader with an encoder that turns text into ids, in order and
 * shuffled.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/rng.h"
#include "data/load/loader.h"

#define N_NUM 14
#define N_CAT 26

static void make(const char *path, size_t size) {
    FILE *f = fopen(path, "wb");
    if (!f) exit(1);
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "label");
    for (int i = 0; i < N_NUM - 1; i++)
        cr_buf_printf(&b, ",int_%d", i);
    for (int i = 0; i < N_CAT; i++)
        cr_buf_printf(&b, ",cat_%d", i);
    cr_buf_char(&b, '\n');
    uint64_t k = 0;
    for (size_t done = 0; done < size; done += b.n, cr_buf_reset(&b)) {
        while (b.n < 1 << 20) {
            cr_buf_char(&b, cr_rng_u64(1, k++) % 4 == 0 ? '1' : '0');
            for (int i = 1; i < N_NUM; i++) {
                uint64_t x = cr_rng_u64(1, k++);
                cr_buf_char(&b, ',');
                if (x % 5) cr_buf_printf(&b, "%u", (unsigned)(x >> 8) % (1u << (x >> 40) % 16));
            }
            for (int i = 0; i < N_CAT; i++) {
                uint64_t x = cr_rng_u64(1, k++);
                cr_buf_char(&b, ',');
                if (x % 20) cr_buf_printf(&b, "%08x", (unsigned)(x >> 32));
            }
            cr_buf_char(&b, '\n');
        }
        if (fwrite(b.data, 1, b.n, f) != b.n) exit(1);
    }
    cr_buf_clear(&b);
    if (fclose(f) != 0) exit(1);
}

static void die(const cr_diag *d) {
    fprintf(stderr, "%s\n", d->n ? d->v[0].msg : "failed");
    exit(1);
}

/* wall and CPU seconds; on a machine that does other things too only the second tells */
typedef struct stamp {
    double wall, cpu;
} stamp;

static stamp now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (stamp){cr_now(), (double)t.tv_sec + 1e-9 * (double)t.tv_nsec};
}

static void report(const char *what, stamp t0, double bytes, double rows) {
    stamp t = now();
    double wall = t.wall - t0.wall, cpu = t.cpu - t0.cpu;
    printf("%-32s %6.0f MB/s %7.3f Mrow/s | per CPU second %6.0f MB %7.3f Mrow\n", what,
           bytes / wall / 1e6, rows / wall / 1e6, bytes / cpu / 1e6, rows / cpu / 1e6);
}

/* text columns become ids by a multiplicative hash, numbers dense floats */
static cr_code encode(void *ctx, const cr_chunk *in, cr_chunk_rows *to, cr_bad *bad, cr_err *err) {
    cr_batch *out = &to->rows;
    (void)ctx;
    (void)bad;
    (void)err;
    int64_t n = in->n_rows;
    int n_text = 0, n_num = 0;
    for (int c = 0; c < in->n_cols; c++)
        *(in->cols[c].type == CR_COL_STR ? &n_text : &n_num) += 1;
    out->n_sparse = n_text;
    out->sparse = CR_NEW_N(&to->arena, cr_jagged, n_text + 1);
    out->dense_width = n_num;
    float *dense = cr_arena_alloc(&to->arena, (size_t)(n * n_num + 1) * sizeof(float));
    out->dense = dense;
    int s = 0, d = 0;
    for (int c = 0; c < in->n_cols; c++) {
        const cr_column *col = &in->cols[c];
        if (col->type != CR_COL_STR) {
            for (int64_t i = 0; i < n; i++)
                dense[i * n_num + d] = col->v.f32[i];
            d++;
            continue;
        }
        int64_t *ids = cr_arena_alloc(&to->arena, (size_t)n * sizeof(*ids));
        for (int64_t i = 0; i < n; i++) {
            uint64_t h = 0;
            for (uint32_t p = col->beg[i]; p < col->end[i]; p++)
                h = (h ^ (unsigned char)col->bytes[p]) * 0x100000001b3u;
            ids[i] = (int64_t)(h >> 40);
        }
        out->sparse[s++] = (cr_jagged){.ids = ids, .n_ids = n};
    }
    return CR_OK;
}

int main(int argc, char **argv) {
    char tmp[] = "/tmp/crank-bench-XXXXXX";
    const char *path = argc > 2 ? argv[1] : tmp;
    cr_want want[1024];
    int n = 0;
    if (argc > 2) {
        for (char *p = strtok(argv[2], ","); p && n < 1024; p = strtok(NULL, ","))
            want[n++] = (cr_want){.name = p, .type = -1, .why = "the benchmark"};
    } else {
        int fd = mkstemp(tmp);
        if (fd < 0) return 1;
        close(fd);
        make(tmp, (size_t)(argc > 1 ? atol(argv[1]) : 256) << 20);
        static char names[N_NUM + N_CAT][16];
        for (n = 0; n < N_NUM + N_CAT; n++) {
            if (n == 0)
                snprintf(names[n], 16, "label");
            else if (n < N_NUM)
                snprintf(names[n], 16, "int_%d", n - 1);
            else
                snprintf(names[n], 16, "cat_%d", n - N_NUM);
            want[n] = (cr_want){.name = names[n], .type = -1, .why = "the benchmark"};
        }
    }
    printf("cpu level %s\n", cr_cpu_level_name(cr_cpu_level_max()));
    const char *env = getenv("BLOCK");
    size_t block = env ? (size_t)atol(env) << 10 : 0;
    cr_data_conf conf = {.with_header = true, .shuffle_buffer_size = 32};
    cr_diag diag;
    cr_diag_init(&diag);
    const cr_reader_type *r = cr_reader_find("CsvDataset");
    for (int mode = 0; mode < 4; mode++) { /* the first warms up the file cache */
        for (int i = 0; mode == 3 && i < N_NUM && i < n; i++)
            want[i].type = CR_COL_F32;
        cr_source *s;
        if (r->open(&s, &conf, path, want, n, &diag) != CR_OK) die(&diag);
        r->set_block(s, block);
        cr_raw raw = {0};
        cr_chunk chunk = {0};
        cr_arena_init(&chunk.arena, 0);
        cr_bad bad = {0};
        cr_err err;
        double bytes = 0, rows = 0;
        stamp t0 = now();
        for (int64_t f = 0; f < r->n_files(s); f++) {
            bool end = false;
            for (int64_t b = 0; r->cut(s, f, b, &raw, &end, &err) == CR_OK && !end; b++) {
                bytes += (double)raw.size;
                if (mode < 2) continue;
                if (r->parse(s, &raw, &chunk, &bad, &err) != CR_OK) die(&diag);
                rows += (double)chunk.n_rows;
            }
        }
        static const char *const names[] = {"", "cut", "cut + parse, text",
                                            "cut + parse, 14 floats + text"};
        if (mode) report(names[mode], t0, bytes, rows);
        if (bad.n) printf("%lld bad rows, first: %s\n", (long long)bad.n, bad.v[0].msg);
        cr_free(raw.text);
        cr_arena_clear(&chunk.arena);
        cr_bad_clear(&bad);
        r->close(s);
    }
    for (int k = 0; k < 4; k++) {
        cr_loader_opts o = {.conf = &conf,
                            .reader = r,
                            .paths = path,
                            .want = want,
                            .n_want = n,
                            .encode = encode,
                            .batch_size = 2048,
                            .shuffle = k >= 2,
                            .n_threads = 1 + k % 2,
                            .n_epochs = 1,
                            .block_bytes = block};
        cr_loader *l;
        if (cr_loader_new(&l, &o, &diag) != CR_OK) die(&diag);
        stamp t0 = now();
        bool done = false;
        cr_err err;
        while (!done) {
            cr_batch *b;
            if (cr_loader_next(l, &b, &done, &err) != CR_OK) {
                fprintf(stderr, "%s\n", err.msg);
                return 1;
            }
            cr_loader_release(l, b);
        }
        cr_loader_stats st;
        cr_loader_get_stats(l, &st);
        char name[64];
        snprintf(name, sizeof(name), "loader, %d threads%s", o.n_threads,
                 o.shuffle ? ", shuffled" : "");
        report(name, t0, (double)st.bytes, (double)st.rows);
        printf("    cpu s: read %.3f parse %.3f encode %.3f; peak %.0f MB\n", st.read_s, st.parse_s,
               st.encode_s, (double)cr_peak_rss() / 1e6);
        cr_loader_free(l);
    }
    cr_diag_clear(&diag);
    if (argc <= 2) unlink(tmp);
    return 0;
}
