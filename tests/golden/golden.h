/*
 * golden.h - reads the expected values that tools/golden/ wrote to tests/golden/data.
 *
 * A file is lines of text: '#' starts a comment; `tensor NAME D0 D1 ... : v v v` is one array, row
 * after row, floats with nine digits (they read back as the same float32). A scalar has no sizes.
 * Header only, like harness.h, because a test is one file. Broken files end the test program.
 */
#ifndef CR_TESTS_GOLDEN_H
#define CR_TESTS_GOLDEN_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN_MAX_DIMS 4
typedef struct golden_tensor {
    char *name;
    int n_dims;
    int64_t dims[GOLDEN_MAX_DIMS];
    int64_t n; /* elements; 1 for a scalar */
    double *v;
} golden_tensor;
typedef struct golden {
    golden_tensor *v;
    int64_t n;
    char path[512];
} golden;

static inline void golden_die(const char *path, int64_t line, const char *why) {
    fprintf(stderr, "%s:%lld: %s\n", path, (long long)line, why);
    exit(1);
}
static inline void *golden_alloc(size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size);
    if (!p) golden_die("golden", 0, "no memory");
    return p;
}

/* The path of a file under tests/golden/data; CRANK_SOURCE_ROOT is set by the build. */
static inline void golden_path(char *out, size_t size, const char *rel) {
    const char *root = getenv("CRANK_SOURCE_ROOT");
    snprintf(out, size, "%s/tests/golden/data/%s", root ? root : ".", rel);
}

static inline void golden_parse(golden *g, char *line, int64_t line_no) {
    golden_tensor t = {.n = 1};
    char *save = NULL;
    char *word = strtok_r(line, " \n", &save);
    if (!word || word[0] == '#') return;
    if (strcmp(word, "tensor") != 0) golden_die(g->path, line_no, "expected 'tensor' or '#'");
    word = strtok_r(NULL, " \n", &save);
    if (!word) golden_die(g->path, line_no, "no name");
    size_t len = strlen(word) + 1;
    t.name = golden_alloc(len, 1);
    memcpy(t.name, word, len);
    while ((word = strtok_r(NULL, " \n", &save)) && strcmp(word, ":") != 0) {
        if (t.n_dims == GOLDEN_MAX_DIMS) golden_die(g->path, line_no, "too many sizes");
        t.dims[t.n_dims] = strtoll(word, NULL, 10);
        t.n *= t.dims[t.n_dims++];
    }
    if (!word || t.n < 0) golden_die(g->path, line_no, "no ':' after the sizes");
    t.v = golden_alloc((size_t)t.n, sizeof(double));
    for (int64_t i = 0; i < t.n; i++) {
        char *end;
        word = strtok_r(NULL, " \n", &save);
        if (!word) golden_die(g->path, line_no, "too few values");
        t.v[i] = strtod(word, &end);
        if (*end) golden_die(g->path, line_no, "not a number");
    }
    if (strtok_r(NULL, " \n", &save)) golden_die(g->path, line_no, "too many values");
    golden_tensor *v = realloc(g->v, (size_t)(g->n + 1) * sizeof t);
    if (!v) golden_die(g->path, line_no, "no memory");
    g->v = v;
    g->v[g->n++] = t;
}

/* golden_load reads tests/golden/data/<rel>; free with golden_clear. */
static inline void golden_load(golden *g, const char *rel) {
    *g = (golden){0};
    golden_path(g->path, sizeof g->path, rel);
    FILE *f = fopen(g->path, "r");
    if (!f) golden_die(g->path, 0, "cannot be opened");
    char *line = NULL;
    size_t cap = 0;
    for (int64_t no = 1; getline(&line, &cap, f) >= 0; no++) {
        golden_parse(g, line, no);
    }
    free(line);
    fclose(f);
}

static inline void golden_clear(golden *g) {
    for (int64_t i = 0; i < g->n; i++) {
        free(g->v[i].name);
        free(g->v[i].v);
    }
    free(g->v);
    *g = (golden){0};
}

/* golden_find returns NULL when there is no such tensor; golden_get ends the program. */
static inline const golden_tensor *golden_find(const golden *g, const char *name) {
    for (int64_t i = 0; i < g->n; i++) {
        if (strcmp(g->v[i].name, name) == 0) return &g->v[i];
    }
    return NULL;
}
static inline const golden_tensor *golden_get(const golden *g, const char *name) {
    const golden_tensor *t = golden_find(g, name);
    if (!t) golden_die(g->path, 0, name);
    return t;
}

/* golden_f32 returns a new array of the values as floats (free it). */
static inline float *golden_f32(const golden_tensor *t) {
    float *out = golden_alloc((size_t)t->n, sizeof(float));
    for (int64_t i = 0; i < t->n; i++) {
        out[i] = (float)t->v[i];
    }
    return out;
}

#endif
