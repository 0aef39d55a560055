/*
 * url.c - addresses of topics, as TorchEasyRec writes them. Its own keys are taken out, and so are
 * crank's; the rest is librdkafka's business.
 */
#include <string.h>
#include <strings.h>

#include "data/kafka/kafka.h"

#define SCHEME "kafka://"

bool cr_kafka_is_url(const char *path) {
    return strncmp(path, SCHEME, sizeof SCHEME - 1) == 0;
}

static int hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Copies [p, p + n) with %XX and + turned back, as forms of web pages are read. */
static const char *decoded(cr_arena *a, const char *p, size_t n) {
    char *out = cr_arena_alloc(a, n + 1);
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '%' && n - i > 2 && hex(p[i + 1]) >= 0 && hex(p[i + 2]) >= 0) {
            out[m++] = (char)(hex(p[i + 1]) * 16 + hex(p[i + 2]));
            i += 2;
        } else {
            out[m++] = p[i] == '+' ? ' ' : p[i];
        }
    }
    out[m] = 0;
    return out;
}

static cr_code bad(cr_err *err, const char *what) {
    return cr_fail(err, CR_ECONF,
                   "the address of the topic %s; write "
                   "kafka://broker:9092/topic?group.id=NAME",
                   what);
}

static cr_code take_time(const char *key, const char *value, int64_t *out, cr_err *err) {
    if (cr_parse_i64(value, strlen(value), out) && *out >= 0) return CR_OK;
    return cr_fail(err, CR_ECONF,
                   "%s of the address of the topic is '%.40s'; give milliseconds, 0 or more", key,
                   value);
}

static cr_code take_key(cr_kafka_url *u, const char *key, const char *value, cr_err *err) {
    bool yes = strcasecmp(value, "true") == 0;
    if (strcmp(key, "start.timestamp.ms") == 0) return take_time(key, value, &u->start_ms, err);
    if (strcmp(key, "stop.timestamp.ms") == 0) return take_time(key, value, &u->stop_ms, err);
    if (strcmp(key, "skip.idle.ms") == 0) return take_time(key, value, &u->skip_idle_ms, err);
    if (strcmp(key, "stop.at.end") == 0) {
        u->stop_at_end = yes;
        if (yes || strcasecmp(value, "false") == 0) return CR_OK;
        return cr_fail(err, CR_ECONF,
                       "stop.at.end of the address of the topic is '%.40s'; give true or false",
                       value);
    }
    if (strcmp(key, "auto.offset.reset") == 0) {
        u->earliest = strcmp(value, "earliest") == 0 || strcmp(value, "smallest") == 0 ||
                      strcmp(value, "beginning") == 0;
        if (u->earliest || strcmp(value, "latest") == 0 || strcmp(value, "largest") == 0 ||
            strcmp(value, "end") == 0)
            return CR_OK;
        return cr_fail(err, CR_ECONF,
                       "auto.offset.reset of the address of the topic is '%.40s'; give earliest or "
                       "latest",
                       value);
    }
    u->keys[u->n] = key;
    u->values[u->n++] = value;
    return CR_OK;
}

cr_code cr_kafka_parse(const char *url, cr_arena *a, cr_kafka_url *u, cr_err *err) {
    *u = (cr_kafka_url){.start_ms = -1, .stop_ms = -1};
    if (!cr_kafka_is_url(url)) return bad(err, "does not begin with kafka://");
    const char *at = url + sizeof SCHEME - 1;
    size_t n = strcspn(at, "/?");
    if (n == 0) return bad(err, "names no broker");
    u->brokers = cr_arena_strndup(a, at, n);
    at += n;
    while (*at == '/')
        at++;
    n = strcspn(at, "?");
    if (n == 0) return bad(err, "names no topic");
    u->topic = decoded(a, at, n);
    at += n;
    at += *at == '?';
    size_t most = 1;
    for (const char *p = at; *p; p++)
        most += *p == '&';
    u->keys = CR_NEW_N(a, const char *, most);
    u->values = CR_NEW_N(a, const char *, most);
    bool group = false;
    for (; *at; at += *at == '&') {
        n = strcspn(at, "&");
        const char *eq = memchr(at, '=', n);
        if (eq && eq > at) {
            const char *key = decoded(a, at, (size_t)(eq - at));
            const char *value = decoded(a, eq + 1, (size_t)(at + n - eq - 1));
            group |= strcmp(key, "group.id") == 0 && *value;
            CR_TRY(take_key(u, key, value, err));
        } else if (n > 0) {
            return bad(err, "has a part behind '?' that is not KEY=VALUE");
        }
        at += n;
    }
    if (!group) return bad(err, "has no group.id");
    if (u->stop_ms >= 0 && u->start_ms > u->stop_ms)
        return bad(err, "stops before it starts (start.timestamp.ms, stop.timestamp.ms)");
    return CR_OK;
}
