/*
 * scheme.c - the known schemes of paths, and what a user can do where no store serves one.
 *
 * The list of stores (fs_list.h) decides which schemes are served. Percent signs stay as they are:
 * file:///a%20b is the file "a%20b", as most tools take it.
 */
#include "base/scheme.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/fs.h"
#include "base/secret.h"

#define COPY(tool) "give a local path, and copy the files with " tool
#define TABLE                                                                                      \
    "only data (dataset_type: OdpsDataset) and predictions may be in tables; give the path of a "  \
    "file or folder"

const cr_scheme cr_schemes[] = {
    {"file", "a local file", "give the path alone", false},
    {"odps", "a MaxCompute table", TABLE, true},
    {"maxcompute", "a MaxCompute table", "write it as odps://project/tables/table", false},
    {"kafka", "a Kafka topic", "topics are read as data only, with dataset_type: KafkaDataset",
     true},
    {"oss", "in Alibaba Cloud OSS", COPY("ossutil, or mount the bucket with ossfs"), false},
    {"dfs", "in a DFS file system", COPY("its client, or mount it"), false},
    {"hdfs", "in HDFS", COPY("hdfs dfs -get and -put"), false},
    {"viewfs", "in HDFS", COPY("hdfs dfs -get and -put"), false},
    {"afs", "in an AFS file system", COPY("hadoop fs -get and -put"), false},
    {"s3", "in an S3 store", COPY("aws s3 cp"), false},
    {"s3a", "in an S3 store", COPY("aws s3 cp"), false},
    {"s3n", "in an S3 store", COPY("aws s3 cp"), false},
    {"gs", "in Google Cloud Storage", COPY("gsutil cp"), false},
    {"gcs", "in Google Cloud Storage", COPY("gsutil cp"), false},
    {"abfs", "in Azure Storage", COPY("azcopy"), false},
    {"abfss", "in Azure Storage", COPY("azcopy"), false},
    {"wasb", "in Azure Storage", COPY("azcopy"), false},
    {"wasbs", "in Azure Storage", COPY("azcopy"), false},
    {"http", "on a web server", COPY("curl"), false},
    {"https", "on a web server", COPY("curl"), false},
    {"ftp", "on an FTP server", COPY("curl"), false},
    {"ftps", "on an FTP server", COPY("curl"), false},
    {"sftp", "on another machine", COPY("scp"), false},
    {NULL, NULL, NULL, false},
};

/* word_len counts the letters in front of a colon that may be a scheme (RFC 3986, 3.1). */
static size_t word_len(const char *s) {
    size_t n = 0;
    if (!isalpha((unsigned char)s[0])) return 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '+' || s[n] == '-' || s[n] == '.')
        n++;
    return s[n] == ':' && s[n + 1] == '/' ? n : 0;
}

static const cr_scheme *row_of(const char *name, size_t n) {
    for (const cr_scheme *s = cr_schemes; n && s->name; s++)
        if (strlen(s->name) == n && strncasecmp(s->name, name, n) == 0) return s;
    return NULL;
}

size_t cr_scheme_len(const char *path) {
    size_t n = word_len(path);
    return n && (path[n + 2] == '/' || row_of(path, n) || cr_store_named(path, n)) ? n : 0;
}

const cr_scheme *cr_scheme_find(const char *path) {
    return row_of(path, cr_scheme_len(path));
}

bool cr_scheme_rows(const char *path) {
    const cr_scheme *s = cr_scheme_find(path);
    return s && s->rows;
}

/* after_file returns the path in file:/a/b, file:///a/b and file://localhost/a/b; NULL when another
 * host is named. */
static const char *after_file(const char *path) {
    const char *p = path + strlen("file:");
    if (p[1] != '/') return p;
    p += 2;
    if (strncasecmp(p, "localhost/", 10) == 0) p += 9;
    return *p == '/' ? p : NULL;
}

const char *cr_path_local(cr_arena *a, const char *path) {
    size_t n = cr_scheme_len(path);
    if (n == 0) return path;
    const cr_store *s = cr_store_named(path, n);
    if (!s || !(s->can & CR_FS_LOCAL)) return s ? path : NULL;
    const char *local = after_file(path);
    return local ? cr_arena_strdup(a, local) : NULL;
}

const char *cr_path_take(cr_arena *a, const char *path, cr_loc at, cr_diag *diag) {
    const char *local = cr_path_local(a, path);
    if (local) return local;
    const cr_scheme *s = cr_scheme_find(path);
    const char *shown = cr_masked(a, path);
    if (cr_store_of(path))
        cr_diag_add(diag, CR_SEV_ERROR, CR_EUSAGE, at,
                    "'%s' names a host behind file://; write file:///folder/file, with three "
                    "slashes, or the path alone",
                    shown);
    else if (s)
        cr_diag_add(diag, CR_SEV_ERROR, CR_EUSAGE, at,
                    "'%s' is %s, which this version neither reads nor writes; %s", shown, s->store,
                    s->cure);
    else
        cr_diag_add(diag, CR_SEV_ERROR, CR_EUSAGE, at,
                    "'%s' begins with %.*s://, which this version neither reads nor writes; give a "
                    "local path",
                    shown, (int)cr_scheme_len(path), path);
    return NULL;
}

const char *cr_path_bare(cr_arena *a, const char *path) {
    size_t scheme = cr_scheme_len(path), n = strlen(path);
    if (!scheme || strncmp(path + scheme, "://", 3) != 0 || cr_scheme_rows(path)) return path;
    size_t host = scheme + 3 + strcspn(path + scheme + 3, "/");
    if (host == scheme + 3) host++; /* hdfs:///: the root of the default file system */
    while (n > host && path[n - 1] == '/')
        n--;
    return path[n] ? cr_arena_strndup(a, path, n) : path;
}

const char *cr_paths_take(cr_arena *a, const char *paths, cr_loc at, cr_diag *diag) {
    cr_buf out;
    cr_buf_init(&out);
    bool ok = true, changed = false;
    for (const char *s = paths, *end;; s = end + 1) {
        end = cr_glob_item_end(s);
        const char *from = s;
        while (from < end && isspace((unsigned char)*from))
            from++;
        const char *item = cr_arena_strndup(a, from, (size_t)(end - from));
        const char *local = cr_scheme_rows(item) ? item : cr_path_take(a, item, at, diag);
        ok = ok && local;
        changed = changed || local != item;
        cr_buf_printf(&out, "%s%s", s == paths ? "" : ",", local ? local : "");
        if (!*end) break;
    }
    const char *result = !ok ? NULL : changed ? cr_arena_strdup(a, out.data) : paths;
    cr_buf_clear(&out);
    return result;
}
