/*
 * nulls.c - finds texts that stand for a missing value.
 */
#include "data/nulls.h"

#include <string.h>

void cr_nulls_init(cr_nulls *s, const cr_strs *texts, cr_arena *arena) {
    *s = (cr_nulls){.v = texts->v, .n = texts->n};
    size_t *len = CR_NEW_N(arena, size_t, texts->n + 1);
    for (int64_t i = 0; i < texts->n; i++) {
        unsigned char c = (unsigned char)texts->v[i][0];
        len[i] = strlen(texts->v[i]);
        s->lens |= (uint64_t)1 << (len[i] < 63 ? len[i] : 63);
        s->first[c >> 6] |= (uint64_t)1 << (c & 63);
    }
    s->len = len;
}

bool cr_nulls_search(const cr_nulls *s, const char *p, size_t n) {
    for (int64_t i = 0; i < s->n; i++)
        if (s->len[i] == n && memcmp(s->v[i], p, n) == 0) return true;
    return false;
}

static bool listed(const char *const *words, const char *p, size_t n) {
    for (; *words; words++)
        if (strlen(*words) == n && memcmp(*words, p, n) == 0) return true;
    return false;
}

bool cr_null_word(const char *p, size_t n) {
    static const char *const words[] = {"#N/A", "#N/A N/A", "#NA",    "-1.#IND", "-1.#QNAN",
                                        "-NaN", "-nan",     "1.#IND", "1.#QNAN", "N/A",
                                        "NA",   "NULL",     "NaN",    "n/a",     "nan",
                                        "null", NULL};
    return listed(words, p, n);
}

bool cr_null_like(const char *p, size_t n) {
    static const char *const words[] = {"?",    "-",    "--",      "\\N",  "None", "none",
                                        "NONE", "Null", "missing", "<NA>", "nil",  NULL};
    return cr_null_word(p, n) || listed(words, p, n);
}
