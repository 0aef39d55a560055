/*
 * secret.c - see secret.h. A name that is too much costs a value that is not shown; one that is
 * missing shows a password.
 */
#include "base/secret.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"

bool cr_is_secret(const char *name) {
    static const char *const parts[] = {"SECRET",     "PASSW",       "PASSPHRASE",        "TOKEN",
                                        "API_KEY",    "PRIVATE_KEY", "ACCESS_KEY",        "UGI",
                                        "CREDENTIAL", "KEY.PEM",     "OAUTHBEARER.CONFIG"};
    static const char *const last[] = {"AK", "SK"}; /* Baidu's words for the two keys */
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcasestr(name, parts[i])) return true;
    const char *under = strrchr(name, '_'), *word = under ? under + 1 : name;
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        if (strcasecmp(word, last[i]) == 0) return true;
    return false;
}

/* Where an address ends in a text: at a blank, a quote or a comma before the next address. */
static size_t address_len(const char *p) {
    return strcspn(p, " \t\r\n\"'<>`");
}

const char *cr_masked(cr_arena *a, const char *text) {
    cr_buf out;
    bool any = false;
    if (!strstr(text, "://")) return text;
    cr_buf_init(&out);
    for (const char *p = text, *at; *p; p = at) {
        at = strstr(p, "://");
        at = at ? at + 3 : p + strlen(p);
        cr_buf_add(&out, p, (size_t)(at - p));
        if (!*at) break;
        const char *end = at + address_len(at), *host = at + strcspn(at, "/?\"' \t\r\n");
        const char *colon = memchr(at, ':', (size_t)(host - at)),
                   *sign = memrchr(at, '@', (size_t)(host - at));
        if (colon && sign && sign > colon) { /* name:password@host */
            cr_buf_add(&out, at, (size_t)(colon + 1 - at));
            cr_buf_str(&out, "***");
            at = sign;
            any = true;
        }
        const char *query = memchr(at, '?', (size_t)(end - at));
        if (!query) query = end;
        while (query < end) {
            const char *key = query + 1, *next = key;
            while (next < end && *next != '&')
                next++;
            const char *eq = memchr(key, '=', (size_t)(next - key));
            char name[80];
            snprintf(name, sizeof name, "%.*s", eq ? (int)(eq - key) : 0, key);
            cr_buf_add(&out, at, (size_t)((eq ? eq + 1 : next) - at));
            at = eq ? eq + 1 : next;
            if (eq && cr_is_secret(name)) {
                cr_buf_str(&out, "***");
                at = next;
                any = true;
            }
            query = next;
        }
    }
    const char *result = any ? cr_arena_strdup(a, out.data) : text;
    cr_buf_clear(&out);
    return result;
}
