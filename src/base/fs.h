/*
 * fs.h - one door to files: a table of functions per store, found by the scheme of a path.
 *
 * A path without a scheme belongs to the store `file`, the local disk; "oss://bucket/data" belongs
 * to the store named `oss`. No other code opens files: readers, globs, vocabularies, checkpoints,
 * exports, predictions and logs use the functions of this header or those of file.h, which use it.
 * A new store is one file in src/store, one line in fs_list.h and one line in src/base/meson.build.
 * The design is in docs/design/fs.md.
 */
#ifndef CR_BASE_FS_H
#define CR_BASE_FS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

typedef enum cr_fs_kind {
    CR_FS_UNKNOWN,
    CR_FS_FILE,
    CR_FS_DIR,
    CR_FS_LINK,
    CR_FS_OTHER
} cr_fs_kind;

/* The description of a file or folder. A store that does not know a number leaves it 0. */
typedef struct cr_fs_stat {
    cr_fs_kind kind;
    int64_t size;
    uint64_t dev, ino; /* identity: equal numbers mean the same file */
    /* time of the last change of the content, and of any change; nanoseconds */
    int64_t changed, touched;
    /* names the content, as a hash of an ETag does; 0: only the times show a change */
    uint64_t version;
} cr_fs_stat;

/* The details that a store adds to an errno value. */
typedef struct cr_fs_why {
    int tries;      /* how often the request was made, when more than once */
    char text[160]; /* the cause; "": the text of strerror is the cause */
    char cure[128]; /* what the user can do, as "; cure"; "": the cure is cr_errno_cure's */
} cr_fs_why;

/* Abilities of a store. */
enum {
    CR_FS_LOCAL = 1,   /* its paths are the kernel's: locks, libraries and devices work */
    CR_FS_FOLDERS = 2, /* folders exist by themselves; without it a folder is a prefix of names */
    CR_FS_APPEND = 4,  /* put can append to a file */
    CR_FS_FAR = 8,     /* a request takes long: reads are merged and made ahead (fs_ahead.c) */
};

/* How put writes a file. */
enum {
    CR_PUT_APPEND = 1, /* adds to the end of the file; the bytes are visible at once */
    CR_PUT_NEW = 2,    /* the file must not exist yet (EEXIST) */
    CR_PUT_STDOUT = 4, /* writes to standard output; path is only its name in messages */
};

/* How move treats the new name. */
typedef enum cr_fs_move {
    CR_MOVE_OVER, /* a file or an empty folder of that name is replaced */
    CR_MOVE_NEW,  /* nothing of that name may be there (EEXIST) */
    CR_MOVE_SWAP, /* the two exchange their names; ENOTSUP where that is not possible */
} cr_fs_move;

/* Called for each name in a folder; kind may be CR_FS_UNKNOWN. */
typedef void (*cr_fs_each)(void *ctx, const char *name, cr_fs_kind kind);

/* A store. Functions return 0 or an errno value. When the cause may pass (EAGAIN, ETIMEDOUT,
 * ECONNRESET and their like), the caller tries again up to `tries` times, so a call that failed
 * must be repeatable. Any thread may call any function. */
typedef struct cr_store {
    const char *scheme;
    unsigned can;
    int tries;   /* how often a request is made at most; 0: every failure is final */
    int wait_ms; /* wait before the second try; it doubles with each further try */
    /* How to read well, for CR_FS_FAR. 0: the values of fs_ahead.c. */
    int64_t gap_bytes;  /* ranges with at most this distance become one request */
    int64_t most_bytes; /* the largest request */
    int n_requests;     /* number of requests at the same time */

    /* Reading. Threads share an open file. pread may give fewer bytes than asked; *got is 0 at the
     * end. A store without restat reads the version that was opened, or fails with ESTALE. With
     * `wait`, open waits for the writer of a pipe, and pread reads the next bytes of it whatever
     * `at` is. */
    int (*open)(void **file, const char *path, bool wait, cr_fs_stat *st, cr_fs_why *why);
    int (*pread)(void *file, int64_t at, void *buf, size_t n, size_t *got, cr_fs_why *why);
    void (*close)(void *file);
    int (*restat)(void *file, cr_fs_stat *st, cr_fs_why *why); /* optional */
    void (*will_need)(void *file, int64_t at, int64_t n);      /* optional; not CR_FS_FAR */
    int (*map)(void *file, size_t n, const void **out);        /* optional */
    void (*unmap)(const void *p, size_t n);                    /* exists where map does */

    /* Names. With `follow`, stat looks at the target of a link and not at the link. */
    int (*stat)(const char *path, bool follow, cr_fs_stat *st, cr_fs_why *why);
    int (*list)(const char *path, cr_fs_each each, void *ctx, cr_fs_why *why);
    int (*glob)(const char *pattern, cr_fs_each each,
                void *ctx); /* optional: without it path.c lists folders */
    /* optional, without CR_FS_FOLDERS: every file whose path begins with `prefix`, however deep; a
     * name is what stands behind the prefix */
    int (*list_tree)(const char *prefix, cr_fs_each each, void *ctx, cr_fs_why *why);
    int (*make_dir)(const char *path, cr_fs_why *why); /* one level; only with CR_FS_FOLDERS */
    /* a file or an empty folder; tree: a folder with all in it */
    int (*remove)(const char *path, bool tree, cr_fs_why *why);
    int (*move)(const char *from, const char *to, cr_fs_move how, cr_fs_why *why); /* optional */
    int (*sync_dir)(const char *path);                                             /* optional */
    int (*can_write)(const char *path);                                            /* optional */
    /* optional: the path without links, from malloc; NULL: nothing is there */
    char *(*real)(const char *path);

    /* Writing. The file appears whole at commit; with `sync` it then also survives a power failure.
     * end frees the writer; a file that was not committed disappears. With CR_PUT_APPEND each write
     * appears at once, whole or not at all. */
    int (*put)(void **out, const char *path, unsigned flags, cr_fs_why *why);
    int (*write)(void *out, const void *data, size_t n, cr_fs_why *why);
    int (*commit)(void *out, bool sync, cr_fs_why *why);
    void (*end)(void *out);
} cr_store;

/* cr_store_of returns the store of a path, NULL when no store has its scheme. */
const cr_store *cr_store_of(const char *path);
/* cr_store_named returns the store of a scheme of n letters, NULL when there is none. */
const cr_store *cr_store_named(const char *scheme, size_t n);
/* cr_store_add adds a store for the rest of the process, before threads start: for tests, and for
 * the files of other ranks (launch/parts.h). A second one with the same scheme takes its place. */
void cr_store_add(const cr_store *s);
/* cr_store_can: does the store of the path have all of these abilities? */
bool cr_store_can(const char *path, unsigned abilities);
/* cr_store_moves: can the store of the path rename? Where it cannot, a folder counts as whole once
 * the file is there that is written last (ckpt/outdir.c). */
bool cr_store_moves(const char *path);

/* cr_fs_fail fills err with "path: cannot <what>: <cause>; <cure>", CR_EIO. why may be NULL. */
cr_code cr_fs_fail(cr_err *err, const char *path, const char *what, int e, const cr_fs_why *why);

/* A file open for reading. Threads may use one at once. */
typedef struct cr_fs cr_fs;
/* cr_fs_open opens whatever the path leads to and does not wait for the writer of a pipe.
 * cr_fs_info tells what the path is, so that the caller can refuse what it cannot use. */
CR_CHECKED cr_code cr_fs_open(cr_fs **out, const char *path, cr_err *err);
/* cr_fs_open_any waits for the writer of a pipe. A pipe is read from front to back. */
CR_CHECKED cr_code cr_fs_open_any(cr_fs **out, const char *path, cr_err *err);
void cr_fs_close(cr_fs *f); /* NULL is fine */
/* cr_fs_info tells what the file was when it was opened. */
const cr_fs_stat *cr_fs_info(const cr_fs *f);
const char *cr_fs_path(const cr_fs *f);
/* cr_fs_restat tells what the file is now. It costs nothing for a store that always reads the
 * version it opened. */
CR_CHECKED cr_code cr_fs_restat(cr_fs *f, cr_fs_stat *out, cr_err *err);
/* cr_fs_pread reads n bytes at `at`; *got is less only at the end of the file. */
CR_CHECKED cr_code cr_fs_pread(cr_fs *f, int64_t at, void *buf, size_t n, size_t *got, cr_err *err);
/* cr_fs_will_need announces that these parts will be read soon. It sorts v. */
typedef struct cr_fs_range {
    int64_t at, n;
} cr_fs_range;
void cr_fs_will_need(cr_fs *f, cr_fs_range *v, int n);
/* cr_fs_is_far: is it worth while to call cr_fs_will_need long before a read? */
bool cr_fs_is_far(const cr_fs *f);
/* The whole content of a file: mapped where the store can, else read into memory. It outlives f. A
 * zeroed struct holds nothing; cr_fs_unmap gives the content back. */
typedef struct cr_fs_map {
    const void *data;
    int64_t size;
    const cr_store *by; /* the store that mapped it; NULL: memory of our own */
} cr_fs_map;
CR_CHECKED cr_code cr_fs_map_file(cr_fs_map *out, cr_fs *f, cr_err *err);
void cr_fs_unmap(cr_fs_map *m);

/* The calls of a store, tried again where that helps, for file.c and path.c. They return 0 or an
 * errno value. why may be NULL. */
int cr_fs_stat_path(const char *path, bool follow, cr_fs_stat *st, cr_fs_why *why);
/* cr_fs_stat_data describes a data file as opening it would. A store that knows the file from a
 * listing makes no request: when the file is replaced later, reading it fails. */
int cr_fs_stat_data(const char *path, cr_fs_stat *st, cr_fs_why *why);
/* cr_fs_make_dir makes one folder; a store without folders has nothing to do. */
int cr_fs_make_dir(const char *path, cr_fs_why *why);
int cr_fs_remove(const char *path, bool tree, cr_fs_why *why);
int cr_fs_move_path(const char *from, const char *to, cr_fs_move how, cr_fs_why *why);
/* cr_list_kinds is cr_list_dir (file.h) with what each name is; CR_FS_UNKNOWN: the listing did not
 * tell. */
CR_CHECKED cr_code cr_list_kinds(cr_arena *a, const char *path, char ***names, cr_fs_kind **kinds,
                                 size_t *n, cr_err *err);
/* cr_fs_again: is a failure worth another try? It waits before it says yes, and counts in
 * *tries. */
bool cr_fs_again(const cr_store *s, int e, int *tries);

#endif
