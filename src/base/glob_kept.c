/*
 * glob_kept.c - the files that patterns found on stores that are far, kept for the job.
 *
 * One training asks for its files several times: when the config is checked, when the data is
 * opened, when ranks compare it, at every evaluation. Listing ten thousand objects takes ten
 * requests each time, and the answer must not change during a run anyway. So the first answer stays
 * until this process writes or removes something that the pattern may match.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs_int.h"

#define MOST_KEPT 64 /* patterns; a job has a handful */

typedef struct kept {
    char *key;    /* the pattern and the endings */
    size_t fixed; /* bytes of the pattern before its first sign that matches others */
    char *names;  /* one after the other, each with its NUL */
    size_t n;
} kept;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kept all[MOST_KEPT];
static int n_all;

static void drop(int i) {
    cr_free(all[i].key);
    cr_free(all[i].names);
    all[i] = all[--n_all];
    all[n_all] = (kept){0};
}

void cr_kept_put(const char *key, size_t fixed, const char *const *names, size_t n) {
    size_t bytes = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        bytes += strlen(names[i]) + 1;
    kept k = {.key = cr_alloc(strlen(key) + 1, "a pattern"),
              .fixed = fixed,
              .names = cr_alloc(bytes + 1, "a list of files"),
              .n = n};
    memcpy(k.key, key, strlen(key) + 1);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(names[i]) + 1;
        memcpy(k.names + at, names[i], len);
        at += len;
    }
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n_all; i++)
        if (strcmp(all[i].key, key) == 0) drop(i--);
    if (n_all == MOST_KEPT) drop(0);
    all[n_all++] = k;
    pthread_mutex_unlock(&lock);
}

bool cr_kept_get(const char *key, cr_fs_each each, void *ctx) {
    bool found = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n_all && !found; i++) {
        if (strcmp(all[i].key, key) != 0) continue;
        found = true;
        const char *name = all[i].names;
        for (size_t k = 0; k < all[i].n; k++, name += strlen(name) + 1)
            each(ctx, name, CR_FS_FILE);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void cr_kept_forget(const char *path) {
    size_t n = strlen(path);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n_all; i++) {
        size_t k = all[i].fixed < n ? all[i].fixed : n;
        if (memcmp(all[i].key, path, k) == 0) drop(i--);
    }
    pthread_mutex_unlock(&lock);
}
