/*
 * replay_main.c - runs a fuzzer's function over saved inputs, without a fuzzing engine.
 *
 * Arguments are files and directories (one level). Reports the count; finding no input at all is
 * a failure, so that a moved corpus does not pass for a clean run.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static long n_run;

static int replay_file(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "%s: cannot open; check the path\n", path);
        return 1;
    }
    size_t n = 0, cap = 1 << 16;
    uint8_t *data = malloc(cap);
    while (data) {
        size_t got = fread(data + n, 1, cap - n, f);
        n += got;
        if (got == 0) break;
        if (n == cap) data = realloc(data, cap *= 2);
    }
    int bad = !data || ferror(f);
    fclose(f);
    if (bad) {
        fprintf(stderr, "%s: cannot read; check the file\n", path);
        free(data);
        return 1;
    }
    /* an exact copy, so that a sanitizer sees a read past the end */
    uint8_t *exact = malloc(n ? n : 1);
    for (size_t i = 0; exact && i < n; i++)
        exact[i] = data[i];
    free(data);
    if (!exact) return 1;
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    n_run++;
    return 0;
}

static int replay(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) return replay_file(path);
    DIR *d = opendir(path);
    if (!d) {
        fprintf(stderr, "%s: cannot open; check the path\n", path);
        return 1;
    }
    int failed = 0;
    for (struct dirent *e; (e = readdir(d));) {
        char file[4096];
        int len = snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        if (e->d_name[0] == '.' || len >= (int)sizeof file) continue;
        failed |= replay_file(file);
    }
    closedir(d);
    return failed;
}

int main(int argc, char **argv) {
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= replay(argv[i]);
    printf("%ld inputs replayed\n", n_run);
    if (n_run == 0) fprintf(stderr, "no inputs; give files or directories\n");
    return failed || n_run == 0;
}
