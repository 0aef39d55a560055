/*
 * self.c - see self.h.
 */
#include "base/self.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool exe(char out[CR_SELF_MAX]) {
    ssize_t n = readlink("/proc/self/exe", out, CR_SELF_MAX - 1);
    out[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* Finds the file that this function was mapped from: "55d0c0000000-55d0c0100000 r-xp 00000000 08:01
 * 1234   /path". */
static bool mapped(char out[CR_SELF_MAX]) {
    char line[CR_SELF_MAX + 256];
    uintptr_t here = (uintptr_t)&mapped;
    bool found = false;
    FILE *f = fopen("/proc/self/maps", "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        unsigned long from, to;
        const char *path = strchr(line, '/');
        if (!path || sscanf(line, "%lx-%lx ", &from, &to) != 2 || here < from || here >= to)
            continue;
        snprintf(out, CR_SELF_MAX, "%.*s", (int)strcspn(path, "\n"), path);
        found = true;
    }
    if (f) fclose(f);
    return found;
}

bool cr_self_file(char out[CR_SELF_MAX]) {
    if (!exe(out)) return false;
    return strncmp(base_of(out), "ld-", 3) != 0 || mapped(out);
}

bool cr_self_folder(char out[CR_SELF_MAX]) {
    char start[CR_SELF_MAX + 8];
    if (!exe(out) || strncmp(base_of(out), "ld-", 3) != 0 || !mapped(out)) return false;
    for (int up = 0; up < 2; up++) { /* FOLDER/bin/crank */
        char *slash = strrchr(out, '/');
        if (!slash) return false;
        *slash = 0;
    }
    snprintf(start, sizeof start, "%s/crank", out);
    return access(start, X_OK) == 0;
}

bool cr_self_start(char out[CR_SELF_MAX]) {
    if (!cr_self_folder(out)) return cr_self_file(out);
    size_t n = strlen(out);
    snprintf(out + n, CR_SELF_MAX - n, "/crank");
    return true;
}
