/*
 * bench_parquet.c - how fast Parquet files become vectors on this machine.
 *
 *   bench_parquet FILE [THREADS [REPEAT [VECTOR_ROWS [COLUMN,COLUMN...]]]]
 *
 * Threads take column chunks one by one, each with a cursor of its own, and read them from begin to
 * end in vectors of VECTOR_ROWS rows. The file stays in the system's cache: this measures us, not
 * the disk. Prints one line of JSON for the fastest of REPEAT rounds; the shares are those of the
 * time all threads spent reading, decompressing and decoding. cpu_s is the least CPU time of a
 * round: on a machine that does other things too it tells more than the clock.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "parquet/parquet.h"

typedef struct job {
    const cr_pq_file *f;
    int64_t vector_rows;
    int *leaves;
    int n_leaves;
    atomic_int next, failed;
    pthread_mutex_t lock;
    cr_pq_times times;
    int64_t values;
} job;

static void complain(const cr_err *err) {
    char text[1024];
    cr_err_text(err, text, sizeof(text));
    fprintf(stderr, "bench_parquet: %s\n", text);
}

static void *work(void *arg) {
    job *j = arg;
    const cr_pq_meta *m = cr_pq_get_meta(j->f);
    cr_pq_cursor *c = cr_pq_cursor_new();
    cr_err err;
    int64_t values = 0;
    cr_code code = CR_OK;
    while (code == CR_OK) {
        int unit = atomic_fetch_add(&j->next, 1);
        if (unit >= m->n_groups * j->n_leaves) break;
        int g = unit / j->n_leaves;
        code = cr_pq_seek(c, j->f, g, j->leaves[unit % j->n_leaves], 0, &err);
        for (int64_t row = 0; code == CR_OK && row < m->groups[g].n_rows;) {
            cr_pq_vec v;
            code = cr_pq_read(c, j->vector_rows, true, &v, &err);
            row += v.n_rows;
            values += v.n;
        }
    }
    if (code != CR_OK) {
        complain(&err);
        j->failed = 1;
    }
    cr_pq_times t = cr_pq_cursor_times(c);
    pthread_mutex_lock(&j->lock);
    j->times.read += t.read;
    j->times.decompress += t.decompress;
    j->times.decode += t.decode;
    j->times.bytes_read += t.bytes_read;
    j->times.bytes_raw += t.bytes_raw;
    j->values += values;
    pthread_mutex_unlock(&j->lock);
    cr_pq_cursor_free(c);
    return NULL;
}

static double cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* the leaves under the named columns, or all */
static int pick(const cr_pq_meta *m, char *names, int *out) {
    int n = 0;
    if (!names) {
        for (; n < m->n_leaves; n++)
            out[n] = n;
        return n;
    }
    for (char *p = strtok(names, ","); p; p = strtok(NULL, ",")) {
        int node = cr_pq_find(m, p);
        if (node < 0) {
            fprintf(stderr, "bench_parquet: the file has no column '%s'\n", p);
            exit(2);
        }
        for (int i = 0; i < m->n_leaves; i++) {
            if (m->leaves[i] >= node && m->leaves[i] < m->nodes[node].next && n < m->n_leaves)
                out[n++] = i;
        }
    }
    return n;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: bench_parquet FILE [THREADS [REPEAT [VECTOR_ROWS [COLUMNS]]]]\n");
        return 2;
    }
    enum { MAX_THREADS = 64 };
    int threads = argc > 2 ? atoi(argv[2]) : 1, repeat = argc > 3 ? atoi(argv[3]) : 5;
    int64_t vector_rows = argc > 4 ? atol(argv[4]) : 0;
    if (vector_rows <= 0) vector_rows = 16384;
    if (threads < 1 || threads > MAX_THREADS || repeat < 1) return 2;
    cr_err err;
    cr_pq_file *f;
    if (cr_pq_open(&f, argv[1], NULL, &err) != CR_OK) {
        complain(&err);
        return 1;
    }
    const cr_pq_meta *m = cr_pq_get_meta(f);
    int *leaves = cr_alloc((size_t)m->n_leaves * sizeof(int) + 1, "the columns");
    int n_leaves = pick(m, argc > 5 ? argv[5] : NULL, leaves), failed = 0;
    double best = 0, best_cpu = 0;
    cr_pq_times times = {0};
    int64_t values = 0;
    for (int i = 0; i < repeat && !failed; i++) {
        job j = {.f = f, .vector_rows = vector_rows, .leaves = leaves, .n_leaves = n_leaves};
        pthread_t t[MAX_THREADS];
        pthread_mutex_init(&j.lock, NULL);
        double t0 = cr_now(), c0 = cpu_now();
        for (int k = 1; k < threads; k++) {
            if (pthread_create(&t[k], NULL, work, &j) != 0) return 1;
        }
        work(&j);
        for (int k = 1; k < threads; k++)
            pthread_join(t[k], NULL);
        double s = cr_now() - t0, cpu = cpu_now() - c0;
        if (i == 0 || cpu < best_cpu) best_cpu = cpu;
        if (i == 0 || s < best) {
            best = s;
            times = j.times;
            values = j.values;
        }
        failed |= j.failed;
    }
    double all = times.read + times.decompress + times.decode;
    if (!failed)
        printf(
            "{\"threads\": %d, \"cpu\": \"%s\", \"rows\": %lld, \"columns\": %d, \"values\": %lld, "
            "\"seconds\": %.4f, \"cpu_s\": %.4f, \"rows_per_s\": %.0f, \"file_gb_per_s\": %.3f, "
            "\"raw_gb_per_s\": %.3f, \"read\": %.3f, \"decompress\": %.3f, \"decode\": %.3f}\n",
            threads, cr_cpu_level_name(cr_cpu_level_max()), (long long)m->n_rows, n_leaves,
            (long long)values, best, best_cpu, (double)m->n_rows / best,
            (double)times.bytes_read / best / 1e9, (double)times.bytes_raw / best / 1e9,
            times.read / all, times.decompress / all, times.decode / all);
    cr_free(leaves);
    cr_pq_close(f);
    return failed;
}
