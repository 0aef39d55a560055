/*
 * bench_duckdb.c - the same Parquet file through DuckDB, for comparison.
 *
 *   bench_duckdb LIBDUCKDB run SQL
 *   bench_duckdb LIBDUCKDB read FILE [THREADS [REPEAT]]
 *
 * Loads DuckDB's C library at run time; the few calls needed are declared here. `read` reads all
 * columns in two ways and prints the fastest round of each: as a stream of chunks (every chunk is
 * fetched and thrown away, no value is converted), and through count() of every column, which keeps
 * nothing. The faster one is what a reader is to be compared with.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"

typedef struct duckdb_result { /* as the library's C interface has it */
    uint64_t columns, rows, changed;
    void *data;
    char *message;
    void *internal;
} duckdb_result;
typedef void *handle;

static struct {
    int (*open)(const char *, handle *);
    int (*connect)(handle, handle *);
    int (*query)(handle, const char *, duckdb_result *);
    const char *(*result_error)(duckdb_result *);
    void (*destroy_result)(duckdb_result *);
    int (*prepare)(handle, const char *, handle *);
    const char *(*prepare_error)(handle);
    int (*execute_prepared_streaming)(handle, duckdb_result *);
    void (*destroy_prepare)(handle *);
    handle (*fetch_chunk)(duckdb_result);
    uint64_t (*column_count)(duckdb_result *);
    const char *(*column_name)(duckdb_result *, uint64_t);
    uint64_t (*data_chunk_get_size)(handle);
    handle (*data_chunk_get_vector)(handle, uint64_t);
    void *(*vector_get_data)(handle);
    void (*destroy_data_chunk)(handle *);
    const char *(*library_version)(void);
} duck;

static void die(const char *what, const char *why) {
    fprintf(stderr, "bench_duckdb: %s: %s\n", what, why ? why : "failed");
    exit(1);
}

static void load(const char *path) {
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) die(path, dlerror());
#define GET(name)                                                                                  \
    do {                                                                                           \
        void *p_ = dlsym(lib, "duckdb_" #name);                                                    \
        if (!p_) die(#name, "not in this library");                                                \
        memcpy(&duck.name, &p_, sizeof(p_));                                                       \
    } while (0)
    GET(open);
    GET(connect);
    GET(query);
    GET(result_error);
    GET(destroy_result);
    GET(prepare);
    GET(prepare_error);
    GET(execute_prepared_streaming);
    GET(destroy_prepare);
    GET(fetch_chunk);
    GET(column_count);
    GET(column_name);
    GET(data_chunk_get_size);
    GET(data_chunk_get_vector);
    GET(vector_get_data);
    GET(destroy_data_chunk);
    GET(library_version);
#undef GET
}

static void run(handle con, const char *sql) {
    duckdb_result r;
    if (duck.query(con, sql, &r) != 0) die(sql, duck.result_error(&r));
    duck.destroy_result(&r);
}

/* stream fetches everything and returns the number of rows */
static int64_t stream(handle con, const char *sql) {
    handle p;
    duckdb_result r;
    if (duck.prepare(con, sql, &p) != 0) die(sql, duck.prepare_error(p));
    if (duck.execute_prepared_streaming(p, &r) != 0) die(sql, duck.result_error(&r));
    uint64_t n_cols = duck.column_count(&r);
    int64_t rows = 0;
    for (handle c; (c = duck.fetch_chunk(r));) {
        uint64_t n = duck.data_chunk_get_size(c);
        for (uint64_t i = 0; i < n_cols; i++) {
            if (!duck.vector_get_data(duck.data_chunk_get_vector(c, i))) die(sql, "no vector");
        }
        rows += (int64_t)n;
        duck.destroy_data_chunk(&c);
        if (n == 0) break;
    }
    duck.destroy_result(&r);
    duck.destroy_prepare(&p);
    return rows;
}

static double cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: bench_duckdb LIB run SQL | LIB read FILE [THREADS [REPEAT]]\n");
        return 2;
    }
    load(argv[1]);
    handle db, con;
    if (duck.open(NULL, &db) != 0 || duck.connect(db, &con) != 0) die("open", NULL);
    if (strcmp(argv[2], "run") == 0) {
        run(con, argv[3]);
        return 0;
    }
    int threads = argc > 4 ? atoi(argv[4]) : 1, repeat = argc > 5 ? atoi(argv[5]) : 5;
    enum { SIZE = 1 << 16 };
    static char all[SIZE], counts[SIZE], set[64];
    snprintf(set, sizeof(set), "PRAGMA threads=%d", threads);
    run(con, set);
    snprintf(all, sizeof(all), "SELECT * FROM read_parquet('%s')", argv[3]);

    duckdb_result r; /* the column names */
    static char none[SIZE];
    snprintf(none, sizeof(none), "SELECT * FROM read_parquet('%s') LIMIT 0", argv[3]);
    if (duck.query(con, none, &r) != 0) die(none, duck.result_error(&r));
    size_t n = (size_t)snprintf(counts, SIZE, "SELECT ");
    uint64_t n_cols = duck.column_count(&r);
    for (uint64_t i = 0; i < n_cols && n < SIZE / 2; i++)
        n += (size_t)snprintf(counts + n, SIZE - n, "%scount(\"%s\")", i ? ", " : "",
                              duck.column_name(&r, i));
    snprintf(counts + n, SIZE - n, " FROM read_parquet('%s')", argv[3]);
    duck.destroy_result(&r);

    double best[2] = {0, 0}, cpu[2] = {0, 0};
    int64_t rows = 0;
    for (int i = 0; i < repeat; i++) {
        for (int way = 0; way < 2; way++) {
            double t = cr_now(), k = cpu_now();
            int64_t got = stream(con, way ? counts : all);
            t = cr_now() - t;
            k = cpu_now() - k;
            if (i == 0 || k < cpu[way]) cpu[way] = k;
            if (way == 0) rows = got;
            if (i == 0 || t < best[way]) best[way] = t;
        }
    }
    printf("{\"version\": \"%s\", \"threads\": %d, \"rows\": %lld, \"columns\": %llu, "
           "\"stream_s\": %.4f, \"count_s\": %.4f, \"seconds\": %.4f, \"cpu_s\": %.4f}\n",
           duck.library_version(), threads, (long long)rows, (unsigned long long)n_cols, best[0],
           best[1], best[0] < best[1] ? best[0] : best[1], cpu[0] < cpu[1] ? cpu[0] : cpu[1]);
    return 0;
}
