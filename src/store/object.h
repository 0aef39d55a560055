/*
 * object.h - object stores: S3 and those that speak like it, and OSS. What is alike is in object.c
 * (signed requests), object_read.c (names and reading) and object_write.c (writing and removing);
 * s3.c and oss.c say where a bucket is found and how the two differ.
 *
 * There are no folders, only keys with slashes in them; no rename; and a file appears whole when
 * its upload is completed. An open file keeps to the version that it had then (If-Match), so a
 * replaced object is an error, ESTALE, and never a mixture.
 */
#ifndef CR_STORE_OBJECT_H
#define CR_STORE_OBJECT_H

#include "store/creds.h"
#include "store/http.h"
#include "store/sig4.h"

/* Where the object of a path is found. */
typedef struct cr_obj_place {
    char base[320]; /* "https://host:port" */
    char host[256]; /* the same without the scheme */
    char bucket[128];
    char region[64];
    char key[1100]; /* not encoded, without a slash in front; "": the bucket itself */
    bool in_path;   /* the URL names the bucket in its path, else in the host */
} cr_obj_place;

typedef struct cr_cloud {
    const char *scheme;
    const cr_sig4_style *style;
    const char *prefix;       /* of its own headers: "x-amz-" */
    const char *region_name;  /* a header that names the bucket's real region; NULL: none */
    const char *range_header; /* sent with ranges; NULL: none */
    const char *checksum;     /* a header with the CRC-64 of the object; NULL: none */
    bool signs_host;          /* "host" and "range" are signed, and the bucket is part of the signed
                               * path only where it is part of the URL's */
    int (*creds)(cr_creds *out, bool fresh, cr_fs_why *why);
    /* place: region "" means that it is not known */
    int (*place)(cr_obj_place *p, const char *path, cr_fs_why *why);
} cr_cloud;

extern const cr_cloud cr_cloud_s3, cr_cloud_oss;
const cr_cloud *cr_cloud_of(const char *path);

/* cr_obj_split takes "scheme://bucket/key" apart. EINVAL: there is no bucket, or the key is too
 * long. */
int cr_obj_split(cr_obj_place *p, const char *path, cr_fs_why *why);

/* cr_obj_endpoint checks the address of a store, which `variable` of the environment names: a host,
 * perhaps with a port, behind http:// or https://. It writes the length of the scheme and that of
 * the host. EINVAL: it is none. */
int cr_obj_endpoint(const char *text, const char *variable, size_t *scheme, size_t *host,
                    cr_fs_why *why);

/* A request. Header names are given in lower case. */
#define CR_OBJ_PAIRS 8
typedef struct cr_obj_req {
    const char *method;
    const char *key; /* NULL: that of the path */
    cr_sig4_pair query[CR_OBJ_PAIRS];
    int n_query;
    cr_sig4_pair headers[CR_OBJ_PAIRS];
    int n_headers;
    const void *body;
    size_t n_body;
    void *into;
    size_t room;
    bool once;  /* the library must not send it a second time by itself */
    int idle_s; /* the store may be silent for so long; 0: as http.c has it */
} cr_obj_req;

/* cr_obj_call signs and makes a request; 0: the status is 200 to 299. Otherwise the answer was read
 * for its code, message and request number, which are in why. A wrong clock, a bucket of another
 * region and keys that have ended are mended once. r must be cleared in either case. */
int cr_obj_call(const char *path, const cr_obj_req *q, cr_http_res *r, cr_fs_why *why);

/* cr_obj_etag copies the ETag of an answer, with its quotes. EPROTO: it has none, so
 * another server answered: an object store sends one with every HEAD, GET and PUT. */
int cr_obj_etag(const char *path, const cr_http_res *r, char *out, size_t size, cr_fs_why *why);

/* The functions of the table of fs.h. */
int cr_obj_open(void **file, const char *path, bool wait, cr_fs_stat *st, cr_fs_why *why);
int cr_obj_pread(void *file, int64_t at, void *buf, size_t n, size_t *got, cr_fs_why *why);
void cr_obj_close(void *file);
int cr_obj_stat(const char *path, bool follow, cr_fs_stat *st, cr_fs_why *why);
int cr_obj_list(const char *path, cr_fs_each each, void *ctx, cr_fs_why *why);
int cr_obj_list_tree(const char *prefix, cr_fs_each each, void *ctx, cr_fs_why *why);
int cr_obj_remove(const char *path, bool tree, cr_fs_why *why);
int cr_obj_put(void **out, const char *path, unsigned flags, cr_fs_why *why);
int cr_obj_write(void *out, const void *data, size_t n, cr_fs_why *why);
int cr_obj_commit(void *out, bool sync, cr_fs_why *why);
void cr_obj_end(void *out);

/* cr_obj_keys calls `each` for every key below a prefix, with its size; folders: those directly
 * below it only, and the folders there (size -1), without the prefix. */
typedef int (*cr_obj_each)(void *ctx, const char *key, int64_t size);
int cr_obj_keys(const char *path, const char *prefix, bool folders, cr_obj_each each, void *ctx,
                cr_fs_why *why);
/* cr_obj_forget: what listings told of a path counts no more, because it was written or removed. */
void cr_obj_forget(const char *path);

#define CR_OBJECT_STORE(name)                                                                      \
    {                                                                                              \
        .scheme = name, .can = CR_FS_FAR, .tries = 8, .wait_ms = 100, .open = cr_obj_open,         \
        .pread = cr_obj_pread, .close = cr_obj_close, .stat = cr_obj_stat, .list = cr_obj_list,    \
        .list_tree = cr_obj_list_tree, .remove = cr_obj_remove, .put = cr_obj_put,                 \
        .write = cr_obj_write, .commit = cr_obj_commit, .end = cr_obj_end,                         \
    }

#endif
