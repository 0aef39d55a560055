/*
 * files.c - see files.h.
 */
#include "data/files.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

int cr_data_sources(const cr_data_conf *c, const char *paths) {
    int n = 1;
    for (const char *p = paths; c->mixing && (p = strchr(p, '$')); p++)
        n++;
    return n;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the files by name and drops those that are there twice. */
static size_t unique(char **v, size_t n) {
    size_t k = 0;
    qsort(v, n, sizeof *v, by_name);
    for (size_t i = 0; i < n; i++)
        if (k == 0 || strcmp(v[k - 1], v[i]) != 0) v[k++] = v[i];
    return k;
}

cr_code cr_data_files(const cr_data_conf *c, cr_arena *a, const char *paths,
                      const char *const *exts, char ***out, size_t *n, cr_err *err) {
    char *list = cr_arena_strdup(a, paths);
    int64_t size;
    size_t k = 0;
    for (char *p = list; c->mixing && (p = strchr(p, '$')); p++)
        *p = ',';
    CR_TRY(cr_glob(a, list, exts, out, n, err));
    for (size_t i = 0; c->min_file_bytes > 0 && i < *n; i++) {
        if (!cr_is_stdin((*out)[i])) {
            CR_TRY(cr_file_size((*out)[i], &size, err));
            if (size < c->min_file_bytes) continue;
        }
        (*out)[k++] = (*out)[i];
    }
    if (c->min_file_bytes > 0) {
        if (k == 0 && *n > 0)
            return cr_fail_at(err, CR_EDATA, ((cr_loc){paths, 0, 0}),
                              "all %zu files are smaller than data_config.min_file_bytes, %lld; "
                              "lower it",
                              *n, (long long)c->min_file_bytes);
        *n = k;
    }
    if (c->unique_files) *n = unique(*out, *n);
    return CR_OK;
}
