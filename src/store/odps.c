/*
 * odps.c - see odps.h.
 */
#include "store/odps.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "store/creds.h"
#include "store/odps_sign.h"
#include "store/xml.h"

#define TRIES     6
#define WAIT_MS   100
#define USER      "crank/" CR_VERSION
#define MOST_FILE ((size_t)1 << 20)

static const cr_store patience = {.scheme = "odps", .tries = TRIES, .wait_ms = WAIT_MS};

struct cr_odps {
    char project[128], quota[128];
    char endpoint[512];        /* with /api, without a slash at its end */
    char region[64];           /* "": not known */
    char id[256], secret[256]; /* of a file; id "": the chain of creds.h */
    char bearer[8192];         /* a token in place of keys */
    pthread_mutex_t lock;      /* guards what follows */
    char data[512];            /* the data endpoint; "": not asked yet */
    bool plain;                /* the server does not know version 4 */
    int64_t skew;              /* seconds that our clock is behind */
};

static const char *env(const char *name) {
    const char *v = getenv(name);
    return v && *v ? v : NULL;
}

/* ---- paths ---- */

bool cr_odps_is(const char *path) {
    return strncmp(path, "odps://", 7) == 0;
}

cr_code cr_odps_parse(cr_odps_table *out, const char *path, cr_arena *a, cr_err *err) {
    char *text = cr_arena_strdup(a, path), *part[4] = {text + 7}, *p = text;
    int n = 1;
    *out = (cr_odps_table){0};
    if (cr_odps_is(path))
        for (p += 7; *p && n < 4; p++)
            if (*p == '/') {
                *p = 0;
                part[n++] = p + 1;
            }
    char *dot = n >= 3 ? strchr(part[2], '.') : NULL; /* behind the name of a schema */
    if (n < 3 || !*part[0] || strcmp(part[1], "tables") != 0 || !*part[2] ||
        (dot && (dot == part[2] || !dot[1])))
        return cr_fail_at(err, CR_ECONF, ((cr_loc){path, 0, 0}),
                          "it is no table of MaxCompute; write odps://project/tables/table, or "
                          "odps://project/tables/table/dt=20250101");
    out->project = part[0];
    out->schema = dot ? part[2] : "";
    out->table = dot ? dot + 1 : part[2];
    if (dot) *dot = 0;
    if (n < 4 || !*part[3]) return CR_OK;
    for (const char *s = part[3]; *s; s++)
        out->n_partitions += *s == '&';
    out->partitions = CR_NEW_N(a, const char *, ++out->n_partitions);
    int k = 0;
    for (char *s = part[3], *end; s; s = end) {
        end = strchr(s, '&');
        if (end) *end++ = 0;
        size_t len = strlen(s);
        if (len > 0 && s[len - 1] == '/') s[len - 1] = 0;
        if (*s == '=' || !strchr(s, '='))
            return cr_fail_at(err, CR_ECONF, ((cr_loc){path, 0, 0}),
                              "'%s' is no partition; write it as dt=20250101, and several with & "
                              "between them",
                              s);
        out->partitions[k++] = s;
    }
    return CR_OK;
}

/* ---- accounts ---- */

/* Reads key=value lines: keys are not trimmed, values are. */
static bool file_key(const cr_buf *text, const char *key, char *out, size_t size) {
    size_t k = strlen(key);
    for (const char *p = text->data, *end = p + text->n; p && p < end;) {
        const char *z = memchr(p, '\n', (size_t)(end - p)), *v = p + k;
        z = z ? z : end;
        if ((size_t)(z - p) > k && memcmp(p, key, k) == 0 && *v == '=') {
            v++;
            while (v < z && isspace((unsigned char)*v))
                v++;
            while (z > v && isspace((unsigned char)z[-1]))
                z--;
            snprintf(out, size, "%.*s", (int)(z - v), v);
            return z > v && (size_t)(z - v) < size;
        }
        p = z + 1;
    }
    return false;
}

/* Where TorchEasyRec looks, which takes /home/admin for a process without HOME. */
static bool home_file(char *out, size_t size) {
    if (!cr_home_path(out, size, ".odps_config.ini"))
        snprintf(out, size, "/home/admin/.odps_config.ini");
    return cr_path_exists(out);
}

static cr_code from_file(cr_odps *o, const char *path, cr_err *err) {
    static const char *const keys[] = {"access_id", "access_key", "end_point"};
    char *to[] = {o->id, o->secret, o->endpoint};
    const size_t room[] = {sizeof o->id, sizeof o->secret, sizeof o->endpoint};
    cr_buf text;
    cr_buf_init(&text);
    cr_code code = cr_file_read(path, MOST_FILE, &text, err);
    for (int i = 0; i < 3 && code == CR_OK; i++)
        if (!text.data || !file_key(&text, keys[i], to[i], room[i]))
            code = cr_fail_at(err, CR_ECONF, ((cr_loc){path, 0, 0}),
                              "'%s' is missing; write lines access_id=..., access_key=... and "
                              "end_point=...",
                              keys[i]);
    if (text.data) explicit_bzero(text.data, text.n);
    cr_buf_clear(&text);
    return code;
}

static bool any_cloud(void) {
    return env("ALIBABA_CLOUD_CREDENTIALS_URI") || env("ALIBABA_CLOUD_SECURITY_TOKEN") ||
           env("ALIBABA_CLOUD_CREDENTIALS_FILE") || env("ALIBABA_CLOUD_ECS_METADATA") ||
           env("ALIBABA_CLOUD_OIDC_TOKEN_FILE");
}

static bool bearer_of(cr_odps *o) {
    const char *token = env("ODPS_BEARER_TOKEN"), *file = env("ODPS_BEARER_TOKEN_FILE");
    cr_buf text;
    cr_err err;
    if (token) return (size_t)snprintf(o->bearer, sizeof o->bearer, "%s", token) < sizeof o->bearer;
    if (!file) return false;
    cr_buf_init(&text);
    bool fine = cr_file_read(file, sizeof o->bearer - 1, &text, &err) == CR_OK && text.n > 0;
    if (fine) {
        snprintf(o->bearer, sizeof o->bearer, "%s", text.data);
        o->bearer[strcspn(o->bearer, "\r\n")] = 0;
    }
    cr_buf_clear(&text);
    return fine;
}

/* The second label of the host without -internal or -vpc; a label without "-" is no region. */
static void region_of(cr_odps *o) {
    const char *set = env("ODPS_REGION_NAME"), *host = strstr(o->endpoint, "://");
    o->region[0] = 0;
    if (set) {
        snprintf(o->region, sizeof o->region, "%s", set);
        return;
    }
    const char *a = host ? strchr(host + 3, '.') : NULL;
    if (!a) return;
    size_t n = strcspn(++a, "./:");
    static const char *const tails[] = {"-internal", "-vpc"};
    for (int i = 0; i < 2; i++) {
        size_t k = strlen(tails[i]);
        if (n > k && memcmp(a + n - k, tails[i], k) == 0) n -= k;
    }
    if (a[n] && memchr(a, '-', n)) snprintf(o->region, sizeof o->region, "%.*s", (int)n, a);
}

cr_code cr_odps_open(cr_odps **out, const char *project, const char *quota, cr_err *err) {
    char home[1024];
    const char *file = env("ODPS_CONFIG_FILE_PATH"), *endpoint = env("ODPS_ENDPOINT");
    cr_odps *o = cr_alloc(sizeof *o, "a client of MaxCompute");
    pthread_mutex_init(&o->lock, NULL);
    snprintf(o->project, sizeof o->project, "%s", project);
    snprintf(o->quota, sizeof o->quota, "%s", quota);
    cr_code code = CR_OK;
    bool sts = env("ODPS_STS_ACCESS_KEY_ID") || env("ODPS_STS_ACCOUNT_FILE");
    if (file) {
        code = from_file(o, file, err);
    } else if (any_cloud() || sts || bearer_of(o) ||
               (endpoint && (env("OSS_ACCESS_KEY_ID") || env("ALIBABA_CLOUD_ACCESS_KEY_ID")))) {
        if (!endpoint)
            code = cr_fail(err, CR_ECONF,
                           "ODPS_ENDPOINT is not set; set it to the address of MaxCompute, as in "
                           "http://service.cn-hangzhou.maxcompute.aliyun.com/api");
    } else if (home_file(home, sizeof home)) {
        code = from_file(o, home, err);
    } else {
        code = cr_fail(err, CR_ECONF,
                       "no account for MaxCompute was found; set ODPS_CONFIG_FILE_PATH to a file "
                       "with access_id, access_key and end_point, or ODPS_ENDPOINT and "
                       "ALIBABA_CLOUD_CREDENTIALS_URI");
    }
    if (code == CR_OK && endpoint) snprintf(o->endpoint, sizeof o->endpoint, "%s", endpoint);
    size_t n = strlen(o->endpoint);
    while (n > 0 && o->endpoint[n - 1] == '/')
        o->endpoint[--n] = 0;
    if (code == CR_OK && strncmp(o->endpoint, "http://", 7) != 0 &&
        strncmp(o->endpoint, "https://", 8) != 0)
        code = cr_fail(err, CR_ECONF,
                       "'%s' is no address of MaxCompute; it begins with http:// or https://",
                       o->endpoint);
    if (code != CR_OK) {
        cr_odps_close(o);
        return code;
    }
    region_of(o);
    *out = o;
    return CR_OK;
}

void cr_odps_close(cr_odps *o) {
    if (!o) return;
    pthread_mutex_destroy(&o->lock);
    explicit_bzero(o, sizeof *o);
    cr_free(o);
}

const char *cr_odps_project(const cr_odps *o) {
    return o->project;
}

/* {"accessKeyId", "accessKeySecret", "securityToken"} of ODPS_STS_ACCOUNT_FILE, read each time,
 * because somebody keeps it fresh. */
static bool sts_file(cr_creds *c) {
    cr_buf text;
    cr_json *j;
    cr_err err;
    const char *path = env("ODPS_STS_ACCOUNT_FILE");
    bool fine = false;
    if (!path) return false;
    cr_buf_init(&text);
    if (cr_file_read(path, MOST_FILE, &text, &err) == CR_OK && text.n &&
        cr_json_parse(&j, text.data, text.n, &err) == CR_OK) {
        const char *id = cr_json_str(cr_json_get(j, "accessKeyId"));
        const char *secret = cr_json_str(cr_json_get(j, "accessKeySecret"));
        const char *token = cr_json_str(cr_json_get(j, "securityToken"));
        fine = id && secret;
        snprintf(c->id, sizeof c->id, "%s", id ? id : "");
        snprintf(c->secret, sizeof c->secret, "%s", secret ? secret : "");
        snprintf(c->token, sizeof c->token, "%s", token ? token : "");
        cr_json_free(j);
    }
    if (text.data) explicit_bzero(text.data, text.n);
    cr_buf_clear(&text);
    return fine;
}

static int keys_of(const cr_odps *o, cr_creds *c, bool fresh, cr_fs_why *why) {
    *c = (cr_creds){0};
    if (*o->id) {
        memcpy(c->id, o->id, sizeof c->id);
        memcpy(c->secret, o->secret, sizeof c->secret);
        return 0;
    }
    const char *id = env("ODPS_STS_ACCESS_KEY_ID"), *secret = env("ODPS_STS_ACCESS_KEY_SECRET"),
               *token = env("ODPS_STS_TOKEN");
    if (id && secret) {
        snprintf(c->id, sizeof c->id, "%s", id);
        snprintf(c->secret, sizeof c->secret, "%s", secret);
        snprintf(c->token, sizeof c->token, "%s", token ? token : "");
        return 0;
    }
    return sts_file(c) ? 0 : cr_creds_alibaba(c, fresh, why);
}

/* ---- calls ---- */

/* The code and the message of an answer that says no. */
typedef struct refusal {
    char code[128], text[256], request[64];
} refusal;

static void read_refusal(const cr_http_res *r, refusal *x) {
    cr_json *j = NULL;
    cr_err err;
    *x = (refusal){0};
    snprintf(x->request, sizeof x->request, "%s", cr_http_header(r, "x-odps-request-id"));
    if (r->body.n == 0) return;
    if (r->body.data[0] == '{' && cr_json_parse(&j, r->body.data, r->body.n, &err) == CR_OK) {
        const char *code = cr_json_str(cr_json_get(j, "Code"));
        const char *text = cr_json_str(cr_json_get(j, "Message"));
        snprintf(x->code, sizeof x->code, "%s", code ? code : "");
        snprintf(x->text, sizeof x->text, "%s", text ? text : "");
        cr_json_free(j);
        return;
    }
    cr_xml xml = {r->body.data, r->body.data + r->body.n};
    cr_xml_text(xml, "Code", x->code, sizeof x->code);
    cr_xml_text(xml, "Message", x->text, sizeof x->text);
}

static bool says(const refusal *x, const char *word) {
    return strcasestr(x->code, word) || strcasestr(x->text, word);
}

/* What users can do about an answer, and what it means to callers. */
static const char *cure_of(const refusal *x, int status, int *why) {
    static const struct {
        const char *word, *cure;
        int why;
    } known[] = {
        {"NoSuchPartition", "; check the partition in the path", CR_ODPS_ABSENT},
        {"NoSuchTable", "; check project and table in the path", CR_ODPS_ABSENT},
        {"NoSuchObject", "; check project and table in the path", CR_ODPS_ABSENT},
        {"ODPS-0130131", "; check project and table in the path", CR_ODPS_ABSENT},
        {"NoPermission", "; ask for Describe, Select and Download on the table", 0},
        {"ODPS-0130013", "; ask for Describe, Select and Download on the table", 0},
        {"FlowExceeded", "; the tunnel's slots are taken: wait, or use another quota", 0},
        {"TableModified", "; the table was changed while it was read: run again", CR_ODPS_EXPIRED},
        {"SessionExpired", "; run again: a new session is made", CR_ODPS_EXPIRED},
        {"NoSuchSession", "; run again: a new session is made", CR_ODPS_EXPIRED},
        {"NoSuchDownload", "; run again: a new session is made", CR_ODPS_EXPIRED},
        {"ODPS-0410051", "; check the keys of the account", 0},
        {"RequestTimeTooSkewed", "; set the clock of this machine", 0},
        {"quota", "; check data_config.odps_data_quota_name and your right to use it", 0},
        {"StorageApi", "; switch the Storage API on for the tenant, or use OdpsDatasetV1", 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (says(x, known[i].word)) {
            *why = known[i].why;
            return known[i].cure;
        }
    *why = status == 404 ? CR_ODPS_ABSENT : 0;
    return status == 404                    ? "; check the path"
           : status == 403 || status == 401 ? "; check the keys of the account and its rights"
                                            : "; run again, and ask the operators if it stays";
}

static cr_code refused(const cr_odps_call *c, const cr_http_res *r, int tries, cr_err *err) {
    refusal x;
    int why = 0;
    char tried[40] = "";
    read_refusal(r, &x);
    const char *cure = cure_of(&x, r->status, &why);
    if (tries > 1) snprintf(tried, sizeof tried, " (tried %d times)", tries);
    cr_fail_at(err, CR_EIO, ((cr_loc){c->place, 0, 0}),
               "cannot %s: status %d%s%s%s%.160s, request %s%s%s", c->what, r->status,
               *x.code ? ", " : "", x.code, *x.text ? ": " : "", x.text,
               *x.request ? x.request : "without an id", tried, cure);
    cr_err_cure(err, cure);
    return cr_fail_why(err, why, CR_EIO);
}

/* Seconds since 1970 of a Date header; 0: it is none. */
static int64_t date_of(const char *text) {
    struct tm tm = {0};
    return *text && strptime(text, "%a, %d %b %Y %H:%M:%S", &tm) ? (int64_t)timegm(&tm) : 0;
}

/* One request, signed. */
static int ask(cr_odps *o, const cr_odps_call *c, const char *base, bool fresh, int tries,
               cr_http_res *r, cr_fs_why *why) {
    cr_creds keys = {0};
    cr_sig4_pair query[15], signed_[8];
    char date[40], md5[33] = "", name[8][64], attempt[16];
    const char *headers[20];
    cr_buf url, auth, line[5];
    int n = 0, n_query = 0, n_signed = 0;
    memset(r, 0, sizeof *r);
    int e = *o->bearer ? 0 : keys_of(o, &keys, fresh, why);
    if (e != 0) return e;
    for (; n_query < c->n_query; n_query++)
        query[n_query] = c->query[n_query];
    snprintf(attempt, sizeof attempt, "%d", tries);
    if (c->attempt) query[c->attempt - 1].value = attempt;
    query[n_query++] = (cr_sig4_pair){"curr_project", o->project};
    if (c->schema && *c->schema) query[n_query++] = (cr_sig4_pair){"curr_schema", c->schema};
    if (c->quota && *o->quota) query[n_query++] = (cr_sig4_pair){"quotaName", o->quota};
    pthread_mutex_lock(&o->lock);
    int64_t now = (int64_t)time(NULL) + o->skew;
    /* PyODPS signs requests for data by version 2 */
    bool v4 = *o->region && !o->plain && !c->data;
    pthread_mutex_unlock(&o->lock);
    cr_odps_sign s = {.id = keys.id,
                      .secret = keys.secret,
                      .region = v4 ? o->region : "",
                      .method = c->method,
                      .md5 = md5,
                      .type = c->type ? c->type : "",
                      .date = date,
                      .path = c->path,
                      .query = query,
                      .n_query = n_query,
                      .headers = signed_};
    cr_odps_date(date, s.day, now);
    if (c->md5) cr_odps_md5(c->body, c->n_body, md5);
    signed_[n_signed++] = (cr_sig4_pair){"x-odps-user-agent", USER};
    for (int i = 0; i < c->n_headers; i++) {
        const char *h = c->headers[i], *colon = strchr(h, ':');
        headers[n++] = h;
        if (strncasecmp(h, "x-odps-", 7) != 0 || !colon) continue;
        snprintf(name[i], sizeof name[i], "%.*s", (int)(colon - h), h);
        signed_[n_signed++] = (cr_sig4_pair){name[i], colon + 2};
    }
    s.n_headers = n_signed;
    cr_buf_init(&url);
    cr_buf_init(&auth);
    for (int i = 0; i < 5; i++)
        cr_buf_init(&line[i]);
    if (*o->bearer) {
        cr_buf_printf(&auth, "x-odps-bearer-token: %s", o->bearer);
    } else {
        cr_buf_str(&auth, "Authorization: ");
        cr_odps_signature(&s, &auth);
        if (*keys.token) cr_buf_printf(&line[0], "authorization-sts-token: %s", keys.token);
    }
    cr_buf_printf(&line[1], "Date: %s", date);
    if (*md5) cr_buf_printf(&line[2], "Content-MD5: %s", md5);
    cr_buf_printf(&line[3], "Content-Type:%s%s", c->type ? " " : "", c->type ? c->type : "");
    headers[n++] = auth.data;
    headers[n++] = "User-Agent: " USER;
    headers[n++] = "x-odps-user-agent: " USER;
    for (int i = 0; i < 4; i++)
        if (line[i].n) headers[n++] = line[i].data;
    headers[n] = NULL;
    cr_buf_str(&url, base);
    cr_http_encode(&url, c->path, strlen(c->path), true);
    for (int i = 0; i < n_query; i++) {
        cr_buf_printf(&url, "%s%s", i ? "&" : "?", query[i].name);
        if (!*query[i].value) continue;
        cr_buf_char(&url, '=');
        cr_http_encode(&url, query[i].value, strlen(query[i].value), false);
    }
    cr_http_req q = {.method = c->method,
                     .url = url.data,
                     .headers = headers,
                     .body = c->body,
                     .n_body = c->n_body,
                     .most = c->most,
                     .once = strcmp(c->method, "GET") != 0 && (!c->again || c->attempt)};
    e = cr_http_do(&q, r, why);
    if (auth.data) explicit_bzero(auth.data, auth.n);
    explicit_bzero(&keys, sizeof keys);
    if (line[0].data) explicit_bzero(line[0].data, line[0].n);
    for (int i = 0; i < 5; i++)
        cr_buf_clear(&line[i]);
    cr_buf_clear(&auth);
    cr_buf_clear(&url);
    return e;
}

static cr_code data_endpoint(cr_odps *o, const cr_odps_call *c, char out[512], cr_err *err);

cr_code cr_odps_do(cr_odps *o, const cr_odps_call *c, cr_http_res *r, cr_err *err) {
    char base[512];
    memset(r, 0, sizeof *r);
    snprintf(base, sizeof base, "%s", o->endpoint);
    if (c->data) CR_TRY(data_endpoint(o, c, base, err));
    bool repeat = strcmp(c->method, "GET") == 0 || c->again, fresh = false, moved = false;
    cr_store wait = patience;
    if (c->tries) wait.tries = c->tries;
    for (int tries = 0;;) {
        cr_fs_why why = {0};
        refusal x;
        int e = ask(o, c, base, fresh, tries, r, &why);
        if (e == 0 && r->status >= 200 && r->status < 300) return CR_OK;
        bool partial = e != 0 && c->partial && r->status >= 200 && r->status < 300 && r->body.n > 0;
        if (partial)
            return cr_fail_why(err, CR_ODPS_PARTIAL, cr_fs_fail(err, c->place, c->what, e, &why));
        if (e == 0) {
            read_refusal(r, &x);
            int64_t theirs = date_of(cr_http_header(r, "date"));
            bool skewed = says(&x, "RequestTimeTooSkewed") && theirs && !moved;
            bool old = says(&x, "need ak v3 support") || says(&x, "accesskey acl denied") ||
                       says(&x, "invalid or missing") || says(&x, "ODPS-0410051");
            pthread_mutex_lock(&o->lock);
            bool v4 = *o->region && !o->plain && !c->data;
            if (skewed) o->skew = theirs - (int64_t)time(NULL);
            if (old && v4 && fresh) o->plain = true;
            pthread_mutex_unlock(&o->lock);
            bool keys =
                old || r->status == 401 || says(&x, "expired token") || says(&x, "ODPS-0410042");
            if (skewed || (keys && !fresh) || (old && v4)) {
                moved |= skewed;
                fresh |= keys; /* the next try looks the keys up again */
                cr_http_clear(r);
                continue;
            }
            e = cr_http_errno(r->status);
            if (says(&x, "FlowExceeded")) e = EAGAIN;
            if ((!repeat && r->status != 503 && r->status != 429) || !cr_fs_again(&wait, e, &tries))
                return refused(c, r, tries, err);
        } else if ((!repeat && e != ECONNREFUSED && e != EHOSTUNREACH) ||
                   !cr_fs_again(&wait, e, &tries)) {
            why.tries = tries;
            return cr_fs_fail(err, c->place, c->what, e, &why);
        }
        cr_http_clear(r);
    }
}

/* Is it a host, perhaps with a port? The page of another server is none. */
static bool is_host(const char *text, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && !memchr(".-_:[]", text[i], 6)) return false;
    return true;
}

/* Asks once where the rows of the project are. */
static cr_code data_endpoint(cr_odps *o, const cr_odps_call *c, char out[512], cr_err *err) {
    pthread_mutex_lock(&o->lock);
    snprintf(out, 512, "%s", o->data);
    pthread_mutex_unlock(&o->lock);
    if (*out) return CR_OK;
    char path[256];
    snprintf(path, sizeof path, "/projects/%s/tunnel", o->project);
    cr_odps_call q = {.method = "GET",
                      .path = path,
                      .what = "find the data endpoint",
                      .place = c->place,
                      .query = {{"service", ""}},
                      .n_query = 1,
                      .quota = true};
    cr_http_res r;
    cr_code code = cr_odps_do(o, &q, &r, err);
    if (code == CR_OK) {
        size_t n = r.body.n ? strcspn(r.body.data, "\r\n \t/") : 0;
        if (n == 0 || n > 300)
            code = cr_fail_at(err, CR_EIO, ((cr_loc){c->place, 0, 0}),
                              "the data endpoint of project %s is not known to MaxCompute; check "
                              "the project",
                              o->project);
        else if (!is_host(r.body.data, n))
            code = cr_fail_at(err, CR_EIO, ((cr_loc){c->place, 0, 0}),
                              "the answer to the question for the data endpoint is no address; "
                              "check ODPS_ENDPOINT and the proxies");
        else
            snprintf(out, 512, "%s://%.*s",
                     strncmp(o->endpoint, "https", 5) == 0 ? "https" : "http", (int)n, r.body.data);
    }
    cr_http_clear(&r);
    if (code != CR_OK) return code;
    pthread_mutex_lock(&o->lock);
    snprintf(o->data, sizeof o->data, "%s", out);
    pthread_mutex_unlock(&o->lock);
    return CR_OK;
}
