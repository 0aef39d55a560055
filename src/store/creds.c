/*
 * creds.c - see creds.h. A chain is a list of functions; each fills the keys or says that it has
 * none.
 */
#include "store/creds.h"

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
#include "store/http.h"
#include "store/xml.h"

#define EARLY_S   900 /* keys are asked for anew so long before they end */
#define MOST_FILE ((size_t)1 << 20)
#define META_S    1 /* to wait for a machine that may not have such an address */
#define URI_S     5
#define URI_TRIES 3 /* of an address that the user named: servers of keys fail now and then */
#define URI_MS    200

static const char *env(const char *name) {
    const char *v = getenv(name);
    return v && *v ? v : NULL;
}

static bool put(char *out, size_t size, const char *text) {
    int n = snprintf(out, size, "%s", text ? text : "");
    return n > 0 && (size_t)n < size;
}

static bool from_env(cr_creds *c, const char *id, const char *secret, const char *token) {
    if (!put(c->id, sizeof c->id, env(id)) || !put(c->secret, sizeof c->secret, env(secret)))
        return false;
    put(c->token, sizeof c->token, env(token));
    return true;
}

bool cr_home_path(char *out, size_t size, const char *rest) {
    const char *home = env("HOME");
    return home && (size_t)snprintf(out, size, "%s/%s", home, rest) < size;
}

/* ---- files ---- */

static bool read_small(const char *path, cr_buf *out) {
    cr_err err;
    cr_buf_init(out);
    if (cr_file_read(path, MOST_FILE, out, &err) == CR_OK) return true;
    cr_buf_clear(out);
    return false;
}

/* Cuts blanks from both ends of [*a, *z). */
static void trim(const char **a, const char **z) {
    while (*a < *z && isspace((unsigned char)**a))
        ++*a;
    while (*z > *a && isspace((unsigned char)(*z)[-1]))
        --*z;
}

static bool same(const char *a, const char *z, const char *text) {
    return (size_t)(z - a) == strlen(text) && memcmp(a, text, strlen(text)) == 0;
}

bool cr_ini_get(const char *path, const char *section, const char *key, char *out, size_t size) {
    cr_buf text;
    bool inside = false, found = false;
    if (!read_small(path, &text)) return false;
    for (const char *p = text.data, *end = p + text.n, *next; p < end && !found; p = next) {
        const char *z = memchr(p, '\n', (size_t)(end - p)), *a = p, *eq;
        z = z ? z : end;
        next = z + 1;
        trim(&a, &z);
        if (a == z || *a == '#' || *a == ';') continue;
        if (*a == '[' && z[-1] == ']') {
            const char *x = a + 1, *y = z - 1;
            trim(&x, &y);
            inside = same(x, y, section);
            continue;
        }
        eq = memchr(a, '=', (size_t)(z - a));
        if (!inside || !eq) continue;
        const char *x = a, *y = eq, *v = eq + 1;
        trim(&x, &y);
        trim(&v, &z);
        if (!same(x, y, key) || (size_t)(z - v) >= size) continue;
        memcpy(out, v, (size_t)(z - v));
        out[z - v] = 0;
        found = z > v;
    }
    explicit_bzero(text.data, text.n);
    cr_buf_clear(&text);
    return found;
}

/* ---- JSON, from files and addresses ---- */

static int64_t time_of(const char *text) {
    struct tm tm = {0};
    if (!text || !strptime(text, "%Y-%m-%dT%H:%M:%S", &tm)) return 0;
    return (int64_t)timegm(&tm);
}

/* inside: the member of the answer that has the keys; NULL: they are the answer. */
static bool from_json(cr_creds *c, const char *text, size_t n, const char *inside, const char *id,
                      const char *secret, const char *token) {
    cr_json *j;
    cr_err err;
    if (cr_json_parse(&j, text, n, &err) != CR_OK) return false;
    const cr_json *o = inside ? cr_json_get(j, inside) : j;
    const char *code = cr_json_str(cr_json_get(o, "Code")); /* where an answer has one */
    bool fine = (!code || strcmp(code, "Success") == 0) &&
                put(c->id, sizeof c->id, cr_json_str(cr_json_get(o, id))) &&
                put(c->secret, sizeof c->secret, cr_json_str(cr_json_get(o, secret)));
    put(c->token, sizeof c->token, cr_json_str(cr_json_get(o, token)));
    c->until = time_of(cr_json_str(cr_json_get(o, "Expiration")));
    cr_json_free(j);
    return fine;
}

/* Makes a request, of an address that the user named several times where that may help; `out` gets
 * the body of the answer, whose status is 200. *status: that of another answer; 0: there was
 * none. */
static bool request(const cr_http_req *with, const char *header, int seconds, cr_buf *out,
                    int *status) {
    cr_http_res r;
    const char *headers[] = {header, NULL};
    cr_http_req q = *with;
    q.headers = headers;
    q.connect_s = seconds;
    q.idle_s = 2 * seconds;
    const cr_store patience = {.tries = seconds == URI_S ? URI_TRIES : 1, .wait_ms = URI_MS};
    int e, tries = 0;
    bool fine;
    do {
        cr_fs_why why = {0};
        e = cr_http_do(&q, &r, &why);
        fine = e == 0 && r.status == 200;
        *status = r.status;
        if (e == 0) e = cr_http_errno(r.status);
        cr_buf_init(out);
        if (fine) cr_buf_add(out, r.body.data, r.body.n);
        if (r.body.data) explicit_bzero(r.body.data, r.body.n);
        cr_http_clear(&r);
    } while (!fine && cr_fs_again(&patience, e, &tries));
    return fine;
}

/* Asks an address; `out` gets the answer's body. */
static bool ask(const char *method, const char *url, const char *header, int seconds, cr_buf *out) {
    int status;
    return request(&(cr_http_req){.method = method, .url = url}, header, seconds, out, &status);
}

static bool from_url(cr_creds *c, const char *url, const char *header, int seconds,
                     const char *token) {
    cr_buf b;
    bool alibaba = strcmp(token, "SecurityToken") == 0;
    bool fine = ask("GET", url, header, seconds, &b) &&
                from_json(c, b.data, b.n, NULL, "AccessKeyId",
                          alibaba ? "AccessKeySecret" : "SecretAccessKey", token);
    cr_buf_clear(&b);
    return fine;
}

/* Asks a machine for the keys of its role: a token first, then the name of the role. */
typedef struct meta {
    const char *base, *token_path, *token_header, *send_header, *roles_path;
    bool only_token; /* a machine without tokens is not asked */
} meta;

static bool from_meta(cr_creds *c, const meta *m, const char *role, const char *token_key) {
    char url[512], header[4200] = "X-None: 1";
    cr_buf token, name;
    snprintf(url, sizeof url, "%s%s", m->base, m->token_path);
    bool known = ask("PUT", url, m->token_header, META_S, &token) && token.n > 0;
    if (known) snprintf(header, sizeof header, "%s: %s", m->send_header, token.data);
    cr_buf_clear(&token);
    if (!known && m->only_token) return false;
    cr_buf_init(&name);
    snprintf(url, sizeof url, "%s%s", m->base, m->roles_path);
    if (role)
        cr_buf_str(&name, role);
    else if (ask("GET", url, header, META_S, &name) && name.n > 0)
        name.n = strcspn(name.data, "\r\n");
    snprintf(url, sizeof url, "%s%s%.*s", m->base, m->roles_path, (int)name.n,
             name.n ? name.data : "");
    bool fine = name.n > 0 && from_url(c, url, header, META_S, token_key);
    cr_buf_clear(&name);
    explicit_bzero(header, sizeof header);
    return fine;
}

static bool is_true(const char *name) {
    const char *v = env(name);
    return v && strcasecmp(v, "true") == 0;
}

/* ---- a token of a pod, which is exchanged for keys ---- */

/* The content of the file that a variable names, without blanks around it. */
static bool token_of(const char *variable, cr_buf *out) {
    const char *file = env(variable);
    if (!file || !read_small(file, out)) return false;
    while (out->n > 0 && isspace((unsigned char)out->data[out->n - 1]))
        out->data[--out->n] = 0;
    if (out->n > 0) return true;
    cr_buf_clear(out);
    return false;
}

static void field(cr_buf *form, const char *name, const char *value) {
    cr_buf_printf(form, "%s%s=", form->n ? "&" : "", name);
    cr_http_encode(form, value, strlen(value), false);
}

/* Posts a form to a service of tokens, and says why there are no keys: without a word the next
 * place would be looked at, and nobody would know that the role is refused. */
static bool exchange(const char *url, cr_buf *form, const char *role, cr_buf *out) {
    int status;
    cr_http_req q = {.method = "POST", .url = url, .body = form->data, .n_body = form->n};
    bool fine = request(&q, "Content-Type: application/x-www-form-urlencoded", URI_S, out, &status);
    if (!fine && status)
        CR_WARN(
            "%s answers %d and gives no keys for the role %s; check the role and whom it trusts",
            url, status, role);
    else if (!fine)
        CR_WARN("%s, which gives keys for the role %s, is not reached; check the network", url,
                role);
    explicit_bzero(form->data, form->n);
    cr_buf_clear(form);
    return fine;
}

/* ---- AWS ---- */

static bool aws_env(cr_creds *c) {
    return from_env(c, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN");
}

static bool aws_file(cr_creds *c) {
    char path[1024];
    const char *file = env("AWS_SHARED_CREDENTIALS_FILE"), *profile = env("AWS_PROFILE");
    if (!profile) profile = "default";
    if (!file && !cr_home_path(path, sizeof path, ".aws/credentials")) return false;
    if (!file) file = path;
    if (!cr_ini_get(file, profile, "aws_access_key_id", c->id, sizeof c->id) ||
        !cr_ini_get(file, profile, "aws_secret_access_key", c->secret, sizeof c->secret))
        return false;
    cr_ini_get(file, profile, "aws_session_token", c->token, sizeof c->token);
    return true;
}

/* The role of a service account (EKS), by AssumeRoleWithWebIdentity, whose answer is XML. */
static bool aws_pod(cr_creds *c) {
    const char *role = env("AWS_ROLE_ARN"), *name = env("AWS_ROLE_SESSION_NAME"),
               *url = env("AWS_ENDPOINT_URL_STS"), *region = env("AWS_REGION");
    char whole[256], until[64];
    cr_buf token, form, b;
    if (!role || !token_of("AWS_WEB_IDENTITY_TOKEN_FILE", &token)) return false;
    if (!url) url = env("AWS_ENDPOINT_URL");
    if (!region) region = env("AWS_DEFAULT_REGION");
    if (!url) {
        bool china = region && strncmp(region, "cn-", 3) == 0;
        snprintf(whole, sizeof whole, "https://sts%s%.60s.amazonaws.com%s/", region ? "." : "",
                 region ? region : "", china ? ".cn" : "");
        url = whole;
    }
    cr_buf_init(&form);
    field(&form, "Action", "AssumeRoleWithWebIdentity");
    field(&form, "Version", "2011-06-15");
    field(&form, "RoleArn", role);
    field(&form, "RoleSessionName", name ? name : "crank");
    field(&form, "WebIdentityToken", token.data);
    explicit_bzero(token.data, token.n);
    cr_buf_clear(&token);
    bool fine = exchange(url, &form, role, &b) && b.n > 0;
    if (fine) {
        cr_xml x = {b.data, b.data + b.n}, in;
        fine = cr_xml_next(&x, "Credentials", &in);
        size_t n = fine ? cr_xml_text(in, "AccessKeyId", c->id, sizeof c->id) : 0;
        fine = fine && n > 0 && n < sizeof c->id;
        n = fine ? cr_xml_text(in, "SecretAccessKey", c->secret, sizeof c->secret) : 0;
        fine = fine && n > 0 && n < sizeof c->secret;
        n = fine ? cr_xml_text(in, "SessionToken", c->token, sizeof c->token) : 0;
        fine = fine && n > 0 && n < sizeof c->token;
        if (fine) cr_xml_text(in, "Expiration", until, sizeof until);
        if (fine) c->until = time_of(until);
        explicit_bzero(b.data, b.n);
    }
    cr_buf_clear(&b);
    return fine;
}

static bool aws_container(cr_creds *c) {
    const char *part = env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
               *full = env("AWS_CONTAINER_CREDENTIALS_FULL_URI"),
               *token = env("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    char url[1024], header[4200] = "X-None: 1";
    if (!part && !full) return false;
    snprintf(url, sizeof url, "%s%s", part ? "http://169.254.170.2" : full, part ? part : "");
    cr_buf file;
    bool has_file = token_of("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", &file);
    if (has_file) token = file.data;
    if (token) snprintf(header, sizeof header, "Authorization: %s", token);
    if (has_file) cr_buf_clear(&file);
    bool fine = from_url(c, url, header, URI_S, "Token");
    explicit_bzero(header, sizeof header);
    return fine;
}

static bool aws_machine(cr_creds *c) {
    const char *base = env("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    meta m = {.base = base ? base : "http://169.254.169.254",
              .token_path = "/latest/api/token",
              .token_header = "X-aws-ec2-metadata-token-ttl-seconds: 21600",
              .send_header = "X-aws-ec2-metadata-token",
              .roles_path = "/latest/meta-data/iam/security-credentials/",
              .only_token = is_true("AWS_EC2_METADATA_V1_DISABLED")};
    return !is_true("AWS_EC2_METADATA_DISABLED") && from_meta(c, &m, NULL, "Token");
}

/* ---- Alibaba Cloud ---- */

static bool oss_env(cr_creds *c) {
    return from_env(c, "OSS_ACCESS_KEY_ID", "OSS_ACCESS_KEY_SECRET", "OSS_SESSION_TOKEN") ||
           from_env(c, "ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_ACCESS_KEY_SECRET",
                    "ALIBABA_CLOUD_SECURITY_TOKEN");
}

/* The role of a service account (RRSA), by AssumeRoleWithOIDC. */
static bool oss_pod(cr_creds *c) {
    const char *role = env("ALIBABA_CLOUD_ROLE_ARN"),
               *provider = env("ALIBABA_CLOUD_OIDC_PROVIDER_ARN"),
               *name = env("ALIBABA_CLOUD_ROLE_SESSION_NAME"),
               *host = env("ALIBABA_CLOUD_STS_ENDPOINT"), *region = env("ALIBABA_CLOUD_STS_REGION");
    char url[512], when[32];
    cr_buf token, form, b;
    time_t now = time(NULL);
    struct tm tm;
    if (!role || !provider || !token_of("ALIBABA_CLOUD_OIDC_TOKEN_FILE", &token)) return false;
    gmtime_r(&now, &tm);
    strftime(when, sizeof when, "%Y-%m-%dT%H%%3A%M%%3A%SZ", &tm);
    if (host)
        snprintf(url, sizeof url, "%s%.300s", strstr(host, "://") ? "" : "https://", host);
    else
        snprintf(url, sizeof url, "https://sts%s%.60s.aliyuncs.com", region ? "." : "",
                 region ? region : "");
    size_t n = strlen(url);
    snprintf(url + n, sizeof url - n,
             "/?Action=AssumeRoleWithOIDC&Format=JSON&Version=2015-04-01&Timestamp=%s", when);
    cr_buf_init(&form);
    field(&form, "RoleArn", role);
    field(&form, "OIDCProviderArn", provider);
    field(&form, "OIDCToken", token.data);
    field(&form, "RoleSessionName", name ? name : "crank");
    explicit_bzero(token.data, token.n);
    cr_buf_clear(&token);
    bool fine =
        exchange(url, &form, role, &b) && b.n > 0 &&
        from_json(c, b.data, b.n, "Credentials", "AccessKeyId", "AccessKeySecret", "SecurityToken");
    if (b.data) explicit_bzero(b.data, b.n);
    cr_buf_clear(&b);
    return fine;
}

/* The profile of the command line tool: {"current": "x", "profiles": [{"name": "x", ...}]}. */
static bool oss_cli(cr_creds *c) {
    char path[1024];
    cr_buf text;
    cr_json *j = NULL;
    cr_err err;
    if (!cr_home_path(path, sizeof path, ".aliyun/config.json") || !read_small(path, &text))
        return false;
    bool fine = false;
    if (cr_json_parse(&j, text.data, text.n, &err) == CR_OK) {
        const char *current = cr_json_str(cr_json_get(j, "current"));
        const cr_json *all = cr_json_get(j, "profiles");
        for (size_t i = 0; all && cr_json_is_arr(all) && i < cr_json_len(all) && !fine; i++) {
            const cr_json *p = cr_json_at(all, i);
            const char *name = cr_json_str(cr_json_get(p, "name"));
            if (!name || (current && strcmp(name, current) != 0)) continue;
            fine =
                put(c->id, sizeof c->id, cr_json_str(cr_json_get(p, "access_key_id"))) &&
                put(c->secret, sizeof c->secret, cr_json_str(cr_json_get(p, "access_key_secret")));
            put(c->token, sizeof c->token, cr_json_str(cr_json_get(p, "sts_token")));
        }
        cr_json_free(j);
    }
    explicit_bzero(text.data, text.n);
    cr_buf_clear(&text);
    return fine;
}

static bool oss_file(cr_creds *c) {
    char path[1024];
    const char *file = env("ALIBABA_CLOUD_CREDENTIALS_FILE"),
               *profile = env("ALIBABA_CLOUD_PROFILE");
    if (!profile) profile = "default";
    if (!file && !cr_home_path(path, sizeof path, ".alibabacloud/credentials")) return false;
    if (!file) file = path;
    if (!cr_ini_get(file, profile, "access_key_id", c->id, sizeof c->id) ||
        !cr_ini_get(file, profile, "access_key_secret", c->secret, sizeof c->secret))
        return false;
    cr_ini_get(file, profile, "security_token", c->token, sizeof c->token);
    return true;
}

static bool oss_machine(cr_creds *c) {
    meta m = {.base = "http://100.100.100.200",
              .token_path = "/latest/api/token",
              .token_header = "X-aliyun-ecs-metadata-token-ttl-seconds: 21600",
              .send_header = "X-aliyun-ecs-metadata-token",
              .roles_path = "/latest/meta-data/ram/security-credentials/",
              .only_token = is_true("ALIBABA_CLOUD_IMDSV1_DISABLED")};
    return !is_true("ALIBABA_CLOUD_ECS_METADATA_DISABLED") &&
           from_meta(c, &m, env("ALIBABA_CLOUD_ECS_METADATA"), "SecurityToken");
}

static bool oss_uri(cr_creds *c) {
    const char *uri = env("ALIBABA_CLOUD_CREDENTIALS_URI");
    if (!uri) return false;
    if (from_url(c, uri, "X-None: 1", URI_S, "SecurityToken") && c->token[0] && c->until)
        return true;
    CR_WARN("the address of ALIBABA_CLOUD_CREDENTIALS_URI gives no keys; its answer must have the "
            "status 200, Code \"Success\", AccessKeyId, AccessKeySecret, SecurityToken and "
            "Expiration");
    return false;
}

/* ---- chains ---- */

typedef struct chain {
    bool (*const *places)(cr_creds *c);
    const char *text, *cure;
    cr_creds found;
    bool has;
    int from; /* the place that gave what was found */
} chain;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Looks in the places, the one that gave the last keys first. */
static void look(chain *ch) {
    cr_creds c = {0};
    bool had = ch->has;
    ch->has = had && ch->places[ch->from](&c);
    for (int i = 0; !ch->has && ch->places[i]; i++) {
        if (had && i == ch->from) continue;
        memset(&c, 0, sizeof c);
        ch->has = ch->places[i](&c);
        if (ch->has) ch->from = i;
    }
    if (ch->has) ch->found = c;
    explicit_bzero(&c, sizeof c);
}

static int walk(chain *ch, cr_creds *out, bool fresh, cr_fs_why *why) {
    pthread_mutex_lock(&lock);
    int64_t now = (int64_t)time(NULL), until = ch->found.until;
    bool ends = ch->has && until && now > until - EARLY_S;
    if (ends && !fresh && now < until) {
        /* they are good until they end: another place may hold the keys of another account */
        cr_creds c = {0};
        if (ch->places[ch->from](&c)) ch->found = c;
        explicit_bzero(&c, sizeof c);
    } else if (!ch->has || fresh || ends) {
        look(ch);
    }
    *out = ch->found;
    bool has = ch->has;
    pthread_mutex_unlock(&lock);
    if (has) return 0;
    snprintf(why->text, sizeof why->text, "%s", ch->text);
    snprintf(why->cure, sizeof why->cure, "%s", ch->cure);
    return EACCES;
}

int cr_creds_aws(cr_creds *out, bool fresh, cr_fs_why *why) {
    static bool (*const places[])(cr_creds *) = {aws_env,       aws_pod,     aws_file,
                                                 aws_container, aws_machine, NULL};
    static chain ch = {.places = places,
                       .text = "no keys were found (environment, role of a pod, "
                               "~/.aws/credentials, container, machine)",
                       .cure = "; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"};
    int e = walk(&ch, out, fresh, why);
    const char *profile = env("AWS_PROFILE");
    if (e != 0 && profile)
        snprintf(why->text, sizeof why->text,
                 "no keys were found (environment, role of a pod, profile '%.40s' of "
                 "~/.aws/credentials, container, machine)",
                 profile);
    return e;
}

int cr_creds_alibaba(cr_creds *out, bool fresh, cr_fs_why *why) {
    static bool (*const places[])(cr_creds *) = {oss_env,     oss_pod, oss_cli, oss_file,
                                                 oss_machine, oss_uri, NULL};
    static chain ch = {.places = places,
                       .text =
                           "no keys were found (environment, role of a pod, ~/.aliyun/config.json, "
                           "~/.alibabacloud/credentials, machine, credentials URI)",
                       .cure = "; set OSS_ACCESS_KEY_ID and OSS_ACCESS_KEY_SECRET"};
    return walk(&ch, out, fresh, why);
}
