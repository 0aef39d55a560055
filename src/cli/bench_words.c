/*
 * bench_words.c - what the figures of `crank bench` are called, and how they are written.
 *
 * The keys are those of the JSON object. A figure that src/tool adds needs a line here.
 */
#include "cli/bench_words.h"

#include <stdio.h>
#include <string.h>

static const cr_bench_word figures[] = {
    {NULL, "rows_per_s", "speed, best window", NULL, NULL, NULL},
    {NULL, "rows_per_s_median", "speed, median", NULL, NULL, NULL},
    {NULL, "rows_per_cpu_s", "speed per second of CPU time", NULL, NULL, NULL},
    {NULL, "lookups_per_s", "lookups", NULL, NULL, NULL},
    {NULL, "lookup_bytes_per_s", "memory read by lookups", NULL, NULL, NULL},
    {NULL, "update_rows_per_s", "speed of updates", NULL, NULL, NULL},
    {NULL, "updates_per_s", "updates", NULL, NULL, NULL},
    {NULL, "batch_size", "batch size", NULL, NULL, NULL},
    {NULL, "threads", "threads", NULL, NULL, NULL},
    {NULL, "steps", "steps measured", NULL, NULL, NULL},
    {NULL, "columns", "columns read", NULL, NULL, NULL},
    {NULL, "rows_read", "rows measured", NULL, NULL, NULL},
    {NULL, "tables", "tables", NULL, NULL, NULL},
    {NULL, "rows_of_a_tile", "rows of a product", NULL, NULL, NULL},
    {NULL, "rows_of_a_bf16_tile", "rows of a product with BF16", NULL, NULL, NULL},
    {NULL, "group_s", "step, grouping ids", "group_share", NULL, NULL},
    {NULL, "step_s", "step, forward and backward", "step_share", NULL, NULL},
    {NULL, "update_s", "step, updating parameters", "update_share", NULL, NULL},
    {NULL, "read_wait_s", "step, waiting for data", "read_wait_share", NULL, NULL},
    {NULL, "read_share", "CPU time, reading files", NULL, NULL, NULL},
    {NULL, "parse_share", "CPU time, reading values", NULL, NULL, NULL},
    {NULL, "encode_share", "CPU time, making features", NULL, NULL, NULL},
    {NULL, "flops_per_row", "work per row", NULL, NULL, NULL},
    {NULL, "gflops", "arithmetic", "share_of_peak", "peak_gflops", "this machine reaches"},
    {NULL, "peak_gflops", "arithmetic of this machine", NULL, NULL, NULL},
    {NULL, "peak_bf16_gflops", "the same in BF16", NULL, NULL, NULL},
    {NULL, "peak_bf16x3_gflops", "the same in BF16x3", NULL, NULL, NULL},
    {NULL, "peak_bf16x6_gflops", "the same in BF16x6", NULL, NULL, NULL},
    {"train", "bytes_per_row", "bytes of table rows per row", NULL, NULL, NULL},
    {"train", "bytes_per_s", "memory traffic of tables", "share_of_stream", "stream_bytes_per_s",
     "this machine reaches"},
    {NULL, "bytes_per_s", "files read", NULL, NULL, NULL},
    {NULL, "stream_bytes_per_s", "memory, in order", NULL, NULL, NULL},
    {NULL, "gather_rows_per_s", "memory, random rows of 64 bytes", NULL, NULL, NULL},
    {NULL, "gather_bytes_per_s", "memory, random rows in bytes", NULL, NULL, NULL},
    {NULL, "tables_ready_s", "time to make the parameters", NULL, NULL, NULL},
    {NULL, "table_rows", "all tables", NULL, NULL, NULL},
    {NULL, "table_bytes", "memory, tables", NULL, NULL, NULL},
    {NULL, "dense_bytes", "memory, dense parameters", NULL, NULL, NULL},
    {NULL, "state_bytes", "memory, optimizer state", NULL, NULL, NULL},
    {NULL, "batches_bytes", "memory, batches held to measure", NULL, NULL, NULL},
    {NULL, "peak_rss_bytes", "memory, peak of the process", NULL, NULL, NULL},
    {NULL, "rss_over_bytes", "memory, peak beside parameters", NULL, NULL, NULL},
    {NULL, "ranks", "ranks", NULL, NULL, NULL},
    {NULL, "sent_bytes_per_row", "sent between ranks per row", NULL, NULL, NULL},
    {NULL, "least_bytes_per_row", "the least that must be sent", NULL, NULL, NULL},
    {NULL, "sent_to_least", "sent, in times of the least", NULL, NULL, NULL},
    {NULL, "loss", "loss of the last step", NULL, NULL, NULL},
};
/* The columns of a table. The unit stands in the head or in the legend. */
static const struct {
    const char *key, *label;
} columns[] = {
    {"features", "features"},
    {"rows_per_core_s", "rows/s per core"},
    {"ns_per_row", "ns per row"},
    {"share", "% of the time"},
    {"peak_gflops", "GFLOP/s"},
    {"peak_bf16_gflops", "BF16 GFLOP/s"},
    {"peak_bf16x3_gflops", "BF16x3"},
    {"peak_bf16x6_gflops", "BF16x6"},
    {"forward", "fwd"},
    {"dx", "dx"},
    {"dw", "dw"},
    {"forward_nz", "fwd nz"},
    {"dx_nz", "dx nz"},
    {"dw_nz", "dw nz"},
};
_Static_assert(sizeof columns / sizeof *columns <= CR_BENCH_COLUMNS, "a table has room for all");

static bool is_of(const cr_bench_word *w, const char *bench) {
    return !w->bench || strcmp(w->bench, bench) == 0;
}

const cr_bench_word *cr_bench_words(const char *bench, const char *key) {
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (strcmp(figures[i].key, key) == 0 && is_of(&figures[i], bench)) return &figures[i];
    return NULL;
}

const cr_bench_word *cr_bench_share(const char *bench, const char *key) {
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (figures[i].share && strcmp(figures[i].share, key) == 0 && is_of(&figures[i], bench))
            return &figures[i];
    return NULL;
}

const char *cr_bench_column(const char *key) {
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strcmp(columns[i].key, key) == 0) return columns[i].label;
    return NULL;
}

void cr_bench_value(char *out, size_t size, double x, const char *unit) {
    char t[32];
    if (strcmp(unit, "bytes") == 0)
        snprintf(out, size, "%s", cr_fmt_bytes(t, x));
    else if (strcmp(unit, "bytes/s") == 0)
        snprintf(out, size, "%s/s", cr_fmt_bytes(t, x));
    else if (strcmp(unit, "%") == 0)
        snprintf(out, size, "%.1f %%", x);
    else if (strcmp(unit, "GFLOP/s") == 0)
        snprintf(out, size, "%.1f GFLOP/s", x);
    else if (strcmp(unit, "s") == 0)
        snprintf(out, size, x < 0.1 ? "%.3f ms" : "%.3f s", x < 0.1 ? 1e3 * x : x);
    else if (!*unit)
        snprintf(out, size, "%.6g", x);
    else
        snprintf(out, size, "%s %s", cr_fmt_count(t, x), unit);
}
