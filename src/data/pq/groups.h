/*
 * groups.h - files whose rows lie in groups (the row groups of Parquet, the record batches of
 * Arrow): where their blocks begin, and which of the files are open.
 *
 * A block is a range of rows of one group, of about CR_PQG_BLOCK bytes as columns; where blocks
 * begin depends on the files and the wanted columns alone. A reader has a cr_pqg as the first
 * member of its cr_source; then the functions at the end of this file belong into its table as
 * they are.
 */
#ifndef CR_DATA_PQ_GROUPS_H
#define CR_DATA_PQ_GROUPS_H

#include <pthread.h>

#include "data/pq/pq_int.h"

#define CR_PQG_BLOCK      ((size_t)512 << 10)
#define CR_PQG_BLOCK_ROWS 16384
#define CR_PQG_OPEN       64 /* files that are open at a time, beside those of far stores */
#define CR_PQG_ERRORS     20 /* after so many, other files are not looked at */
#define CR_PQG_BLOCKS     ((int64_t)1 << 25) /* most blocks of a file */

typedef struct cr_pqg_group {
    int number;     /* in the file */
    int64_t n_rows; /* at least one */
    int64_t first_row, first_block;
    int64_t block_rows;
    /* Sizes of the wanted columns; a file may claim any. */
    double bytes;               /* in the file */
    double plain;               /* as columns */
    double held;                /* what a hand keeps of the group */
    bool whole;                 /* one hand reads all its blocks */
    int64_t hint_from, hint_to; /* rows that were asked for ahead */
} cr_pqg_group;

typedef struct cr_pqg_file {
    const char *path;
    const cr_pqs_schema *schema; /* where the wanted columns are */
    cr_pqg_group *groups;
    int n_groups;
    int64_t n_rows, n_blocks;
    cr_file_id id;
    void *open;   /* from cr_pqg_type.open; NULL: it is closed */
    bool far;     /* it lies on a store that is far, so it stays open */
    int users;    /* hands that use it */
    int64_t last; /* when it was last taken */
    void *own;    /* what the reader knows of it */
} cr_pqg_file;

/* How a format opens its files. */
typedef struct cr_pqg_type {
    CR_CHECKED cr_code (*open)(void **out, const char *path, cr_err *err);
    void (*close)(void *x); /* NULL: nothing to do */
    cr_fs *(*fs)(const void *x);
} cr_pqg_type;

typedef struct cr_pqg {
    const cr_pqg_type *type;
    cr_pqs_wants w;
    cr_pqg_file *files;
    int64_t n_files, n_rows;
    size_t block;
    int64_t run_rows; /* rows of a stretch, with a shuffle */
    int n_hands;
    size_t hand_bytes;
    double large; /* what a hand keeps beside its group */
    cr_arena arena;

    pthread_mutex_t lock; /* guards the list of open files, and hints */
    int n_open;
    int64_t clock;
} cr_pqg;

void cr_pqg_init(cr_pqg *g, const cr_pqg_type *type);
void cr_pqg_clear(cr_pqg *g); /* closes the files */
/* cr_pqg_list finds the files; mistakes go to diag. */
void cr_pqg_list(cr_pqg *g, const cr_data_conf *conf, const char *paths, const char *const *exts,
                 cr_diag *diag);
/* cr_pqg_begin notes what the file x is, and makes room for the groups of f, of which there are
 * at most n. false: it cannot be told, see diag. */
bool cr_pqg_begin(cr_pqg *g, cr_pqg_file *f, const void *x, int n, cr_diag *diag);
/* cr_pqg_add appends a group, which has rows. NULL: the file claims more rows than a file can
 * hold, see diag. */
cr_pqg_group *cr_pqg_add(cr_pqg_file *f, int number, int64_t n_rows, cr_diag *diag);
/* cr_pqg_keep: may the file x, which was looked at, stay open? If so it does. */
bool cr_pqg_keep(cr_pqg *g, cr_pqg_file *f, void *x);
/* cr_pqg_end: all files were looked at. It cuts them into blocks. */
CR_CHECKED cr_code cr_pqg_end(cr_pqg *g, size_t errors, cr_diag *diag);
void cr_pqg_not_opened(const cr_err *e, bool foreign, cr_diag *diag);

/* cr_pqg_take opens the file, if it is not open, and keeps it open until cr_pqg_leave. */
CR_CHECKED cr_code cr_pqg_take(cr_pqg *g, int64_t file, void **out, cr_err *err);
void cr_pqg_leave(cr_pqg *g, int64_t file);

cr_pqg_group *cr_pqg_of(const cr_pqg_file *f, int64_t block);
/* cr_pqg_run returns the blocks of a stretch, which one hand reads in turn. */
int64_t cr_pqg_run(const cr_pqg_group *x);
/* cr_pqg_cut: raw is what was wanted of the block of x, whose first row is `row` of x. */
void cr_pqg_cut(const cr_pqg_group *x, int64_t file, int64_t block, int64_t row, cr_raw *raw);
/* cr_pqg_chunk begins the chunk of raw. */
void cr_pqg_chunk(const cr_pqg *g, const cr_raw *raw, cr_chunk *chunk);

/* for the table of a reader */
int64_t cr_pqg_n_files(const cr_source *s);
const char *cr_pqg_path(const cr_source *s, int64_t file);
const cr_file_id *cr_pqg_file_id(const cr_source *s, int64_t file);
CR_CHECKED cr_code cr_pqg_n_blocks(cr_source *s, int64_t file, int64_t *out, cr_err *err);
void cr_pqg_set_block(cr_source *s, size_t bytes);
int cr_pqg_columns(const cr_source *s, const char *const **out);
void cr_pqg_block_rows(const cr_source *s, int64_t file, int64_t block, cr_block_rows *out);
int cr_pqg_hands(const cr_source *s);
size_t cr_pqg_hand_bytes(const cr_source *s);
void cr_pqg_kinds(const cr_source *s, cr_colkind *out);

#endif
