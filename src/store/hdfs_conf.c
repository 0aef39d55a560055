/*
 * hdfs_conf.c - see hdfs_conf.h.
 */
#include "store/hdfs_conf.h"

#include <errno.h>
#include <nettle/base64.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "store/xml.h"

#define MOST_FILE ((size_t)4 << 20)

static const char *env(const char *name) {
    const char *v = getenv(name);
    return v && *v ? v : NULL;
}

/* ---- Hadoop's files ---- */

/* Copies the value of a property of one of the two files; false: there is none. */
static bool property(const char *name, char *out, size_t size) {
    static const char *const files[] = {"hdfs-site.xml", "core-site.xml"};
    char path[1200], key[300];
    const char *dir = env("HADOOP_CONF_DIR"), *home = env("HADOOP_HOME");
    bool found = false;
    for (int i = 0; i < 2 && !found && (dir || home); i++) {
        cr_buf text;
        cr_err err;
        cr_xml in;
        cr_buf_init(&text);
        snprintf(path, sizeof path, "%s%s/%s", dir ? dir : home, dir ? "" : "/etc/hadoop",
                 files[i]);
        if (cr_file_read(path, MOST_FILE, &text, &err) == CR_OK && text.data) {
            cr_xml x = {text.data, text.data + text.n};
            while (!found && cr_xml_next(&x, "property", &in)) {
                size_t n = cr_xml_text(in, "name", key, sizeof key);
                if (n >= sizeof key || strcmp(key, name) != 0) continue;
                n = cr_xml_text(in, "value", out, size);
                found = n > 0 && n < size;
            }
        }
        cr_buf_clear(&text);
    }
    return found;
}

/* ---- tokens ---- */

typedef struct cursor {
    const unsigned char *at, *end;
} cursor;

/* Reads a number as Hadoop's WritableUtils writes it; negative: the file is broken. */
static long long read_vint(cursor *c) {
    if (c->at == c->end) return -1;
    signed char first = (signed char)*c->at++;
    if (first >= -112) return first;
    int n = first < -120 ? -1 : -112 - first; /* negative numbers do not occur */
    long long v = 0;
    if (n < 1 || n > 7 || c->end - c->at < n) return -1;
    for (int i = 0; i < n; i++)
        v = v << 8 | *c->at++;
    return v;
}

static bool read_bytes(cursor *c, const unsigned char **p, size_t *n) {
    long long k = read_vint(c);
    if (k < 0 || k > c->end - c->at) return false;
    *p = c->at;
    *n = (size_t)k;
    c->at += k;
    return true;
}

char *cr_hdfs_token(const char *data, size_t n) {
    cursor c = {(const unsigned char *)data, (const unsigned char *)data + n};
    static const char kind[] = "HDFS_DELEGATION_TOKEN";
    if (n < 6 || memcmp(data, "HDTS", 4) != 0 || data[4] != 0) return NULL;
    c.at += 5;
    for (long long left = read_vint(&c); left > 0; left--) {
        const unsigned char *p, *begin;
        size_t k, len;
        bool ours = false;
        if (!read_bytes(&c, &p, &k)) return NULL; /* its name */
        begin = c.at;
        for (int part = 0; part < 4; part++) { /* identifier, password, kind, service */
            if (!read_bytes(&c, &p, &k)) return NULL;
            if (part == 2) ours = k == strlen(kind) && memcmp(p, kind, k) == 0;
        }
        if (!ours) continue;
        len = (size_t)(c.at - begin);
        char *text = malloc(BASE64_ENCODE_RAW_LENGTH(len) + 1);
        if (!text) return NULL;
        base64_encode_raw(text, len, begin);
        text[BASE64_ENCODE_RAW_LENGTH(len)] = 0;
        for (char *q = text; *q; q++) /* the form of URLs, without the signs of the end */
            *q = *q == '+' ? '-' : *q == '/' ? '_' : *q == '=' ? (char)0 : *q;
        return text;
    }
    return NULL;
}

static char *find_token(void) {
    const char *file = env("HADOOP_TOKEN_FILE_LOCATION"), *text = env("HADOOP_TOKEN");
    cr_buf b;
    cr_err err;
    if (text) return strdup(text);
    if (!file) return NULL;
    cr_buf_init(&b);
    char *token = NULL;
    if (cr_file_read(file, MOST_FILE, &b, &err) == CR_OK && b.data)
        token = cr_hdfs_token(b.data, b.n);
    cr_buf_clear(&b);
    return token;
}

/* ---- addresses ---- */

static void add_node(cr_hdfs_place *p, const char *scheme, const char *host) {
    if (p->n < CR_HDFS_NODES) snprintf(p->base[p->n++], sizeof p->base[0], "%s%s", scheme, host);
}

/* Adds the name nodes of a name service, or of the only one. */
static void from_files(cr_hdfs_place *p, const char *name, bool native) {
    char ids[400], key[600], host[256], policy[40] = "";
    bool tls =
        property("dfs.http.policy", policy, sizeof policy) && strcmp(policy, "HTTPS_ONLY") == 0;
    const char *scheme = native ? ""
                         : tls  ? "https://"
                                : "http://",
               *what = native ? "rpc-address"
                       : tls  ? "https-address"
                              : "http-address";
    snprintf(key, sizeof key, "dfs.ha.namenodes.%s", name);
    if (!property(key, ids, sizeof ids)) return;
    for (char *save, *id = strtok_r(ids, ", \t\n", &save); id;
         id = strtok_r(NULL, ", \t\n", &save)) {
        snprintf(key, sizeof key, "dfs.namenode.%s.%s.%.200s", what, name, id);
        if (property(key, host, sizeof host)) add_node(p, scheme, host);
    }
}

/* One name node: its host, with the port of its web server. */
static void from_host(cr_hdfs_place *p, const char *name) {
    char address[256], host[256];
    const char *port = "9870";
    snprintf(host, sizeof host, "%.*s", (int)strcspn(name, ":"), name);
    if (property("dfs.namenode.http-address", address, sizeof address) && strrchr(address, ':')) {
        port = strrchr(address, ':') + 1;
        if (strncmp(address, "0.0.0.0", 7) != 0)
            snprintf(host, sizeof host, "%.*s", (int)strcspn(address, ":"), address);
    }
    char whole[300];
    snprintf(whole, sizeof whole, "%.250s:%.20s", host, port);
    add_node(p, "http://", whole);
}

/* One name node, by its own protocol: the port of the path counts, then that of the files. */
static void from_rpc(cr_hdfs_place *p, const char *name) {
    char key[600], address[256], whole[300];
    const char *colon = strrchr(name, ':');
    snprintf(key, sizeof key, "dfs.namenode.rpc-address.%s", name);
    if ((!colon || strchr(colon, ']')) &&
        (property(key, address, sizeof address) ||
         (property("dfs.namenode.rpc-address", address, sizeof address) &&
          strncmp(address, name, strlen(name)) == 0 && address[strlen(name)] == ':')))
        snprintf(whole, sizeof whole, "%s", address);
    else
        snprintf(whole, sizeof whole, "%.255s%s", name,
                 colon && !strchr(colon, ']') ? "" : ":8020");
    add_node(p, "", whole);
}

static int nowhere(cr_fs_why *why, bool native, const char *text) {
    snprintf(why->text, sizeof why->text, "%s", text);
    snprintf(why->cure, sizeof why->cure, "; set HADOOP_CONF_DIR, or write %s",
             native ? "hdfs://host:8020/path" : "webhdfs://host:9870/path");
    return EINVAL;
}

int cr_hdfs_find(cr_hdfs_place *p, const char *path, bool native, cr_fs_why *why) {
    const char *a = strstr(path, ":/"), *gateway = env("WEBHDFS_URL"),
               *user = env("HADOOP_USER_NAME");
    char value[512];
    memset(p, 0, sizeof *p);
    if (!a) return nowhere(why, native, "the path has no scheme");
    bool web = strncasecmp(path, "webhdfs", 7) == 0, safe = strncasecmp(path, "swebhdfs", 8) == 0;
    a++;
    if (a[1] == '/') { /* hdfs://name/path, else hdfs:/path */
        a += 2;
        snprintf(p->name, sizeof p->name, "%.*s", (int)strcspn(a, "/"), a);
        a += strcspn(a, "/");
    }
    p->path = *a ? a : "/";
    if (!p->name[0] && property("fs.defaultFS", value, sizeof value) && strstr(value, "://"))
        snprintf(p->name, sizeof p->name, "%.*s", (int)strcspn(strstr(value, "://") + 3, "/"),
                 strstr(value, "://") + 3);
    p->gateway = gateway && !native;
    if (p->gateway)
        add_node(p, "", gateway);
    else if (!p->name[0])
        return nowhere(why, native, "neither the path nor fs.defaultFS names a file system");
    else if (web || safe)
        add_node(p, safe ? "https://" : "http://", p->name);
    else {
        from_files(p, p->name, native);
        if (p->n == 0 && native) from_rpc(p, p->name);
        if (p->n == 0) from_host(p, p->name);
    }
    for (int i = 0; i < p->n; i++) { /* an address of the environment may end in a slash */
        size_t n = strlen(p->base[i]);
        if (n > 0 && p->base[i][n - 1] == '/') p->base[i][n - 1] = 0;
    }
    if (!user) user = env("USER");
    snprintf(p->user, sizeof p->user, "%s", user ? user : "");
    p->kerberos = property("hadoop.security.authentication", value, sizeof value) &&
                  strcmp(value, "kerberos") == 0;
    p->by_name = property("dfs.client.use.datanode.hostname", value, sizeof value) &&
                 strcmp(value, "true") == 0;
    p->token = native ? NULL : find_token();
    return 0;
}

void cr_hdfs_clear(cr_hdfs_place *p) {
    if (p->token) explicit_bzero(p->token, strlen(p->token));
    free(p->token);
    p->token = NULL;
}
