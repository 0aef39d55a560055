/*
 * text_diff.h - how two texts differ, as `diff -u` shows it. For failing
 * comparisons of tests.
 */
#ifndef CR_TESTS_TEXT_DIFF_H
#define CR_TESTS_TEXT_DIFF_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* text_file: a temporary file with the text, and a line end behind the last line; false: there is
 * none */
static inline bool text_file(char *path, size_t size, const char *text) {
    const char *tmp = getenv("TMPDIR");
    snprintf(path, size, "%s/crank-text-XXXXXX", tmp ? tmp : "/tmp");
    int fd = mkstemp(path);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!f) return false;
    size_t n = strlen(text);
    fprintf(f, "%s%s", text, n > 0 && text[n - 1] == '\n' ? "" : "\n");
    return fclose(f) == 0;
}

/* text_diff writes to `to` how `found` differs from `expected`. Where diff cannot run, it writes
 * both texts. */
static inline void text_diff(FILE *to, const char *expected, const char *found) {
    char a[512] = "", b[512] = "", command[1200], line[4096];
    bool shown = false;
    if (text_file(a, sizeof(a), expected) && text_file(b, sizeof(b), found)) {
        snprintf(command, sizeof(command), "diff -u '%s' '%s' 2>&1 | tail -n +3", a, b);
        FILE *p = popen(command, "r");
        fprintf(to, "--- expected, +++ found:\n");
        while (p && fgets(line, sizeof(line), p)) {
            shown = true;
            fputs(line, to);
        }
        if (p) pclose(p);
    }
    if (a[0]) unlink(a);
    if (b[0]) unlink(b);
    if (!shown) fprintf(to, "expected\n  %s\nfound\n  %s\n", expected, found);
}

#endif
