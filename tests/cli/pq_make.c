/*
 * pq_make.c - Parquet files for cases of the command line, from text (see tests/pq_make.h).
 *
 *   pq_make OUT SCHEMA [ROWS PER GROUP] <ROWS
 *
 * A row is a line of cells with '|' between them, or ',' where -c comes first (CSV without quotes;
 * the first line is passed over and an empty cell is null unless its column is text).
 */
#include "../pq_make.h"

int main(int argc, char **argv) {
    bool csv = argc > 1 && strcmp(argv[1], "-c") == 0;
    if (csv) {
        argv++;
        argc--;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: pq_make [-c] OUT SCHEMA [ROWS PER GROUP]\n");
        return 2;
    }
    pm_file *f = cr_alloc(sizeof(*f), "a file");
    pm_init(f, argv[2]);
    f->sep = csv ? ',' : '|';
    char *line = NULL;
    size_t cap = 0;
    for (int64_t n = 0; getline(&line, &cap, stdin) > 0; n++) {
        line[strcspn(line, "\n")] = 0;
        if (!csv || n > 0) pm_row(f, line);
    }
    free(line);
    cr_pq_write_opts o = {.codec = CR_PQ_SNAPPY, .group_rows = argc > 3 ? atoll(argv[3]) : 0};
    pm_write(f, argv[1], &o);
    pm_clear(f);
    cr_free(f);
    return 0;
}
