/*
 * secret.c - see secret.h. A name that is too much costs a value that is not shown; one that is
 * missing shows a password.
 */
#include "base/secret.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

bool cr_is_secret(const char *name) {
    static const char *const parts[] = {"SECRET",     "PASSW",   "PASSPHRASE",
                                        "TOKEN",      "API_KEY", "PRIVATE_KEY",
                                        "ACCESS_KEY", "UGI",     "CREDENTIAL"};
    static const char *const last[] = {"AK", "SK"}; /* Baidu's words for the two keys */
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcasestr(name, parts[i])) return true;
    const char *under = strrchr(name, '_'), *word = under ? under + 1 : name;
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        if (strcasecmp(word, last[i]) == 0) return true;
    return false;
}
