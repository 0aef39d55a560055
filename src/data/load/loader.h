/*
 * loader.h - the data side of a run: files in, batches out, ahead of the step.
 *
 *   cut (one at a time) -> parse + encode (n_threads workers) -> assemble in order -> queue of
 * batches
 *
 * The stream of batches is a function of (files, seed, epoch, global batch size) alone, never of
 * the number of threads or of processes that share the batches. Shuffle: the order of blocks is
 * permuted per epoch, a window of blocks holding at least shuffle_buffer_size global batches is
 * pooled and its rows are permuted. Memory: about two windows of encoded rows, one raw block per
 * worker and CR_LOADER_AHEAD batches.
 */
#ifndef CR_DATA_LOAD_LOADER_H
#define CR_DATA_LOAD_LOADER_H

#include "base/trace.h"
#include "data/load/split.h"
#include "data/pos.h"
#include "data/reader.h"

/* Turns a chunk into as many encoded rows (jagged ids, dense, labels, weights, reserved), all
 * memory from out->arena; reserved columns may point into the chunk. Called from many threads,
 * never with n_rows 0. Bad values go to bad; the row is then dropped. The numbers of features,
 * labels ... must be the same for every chunk. */
typedef cr_code (*cr_encode_fn)(void *ctx, const cr_chunk *chunk, cr_chunk_rows *out, cr_bad *bad,
                                cr_err *err);

/* Which rows of every global batch are given out: of n rows [n * first / of, n * end / of). Zeros:
 * all of them. */
typedef struct cr_share {
    int first, end, of;
} cr_share;

typedef struct cr_loader_opts {
    const cr_data_conf *conf;
    const cr_reader_type *reader;
    const char *paths;
    const cr_want *want;
    int n_want;
    cr_encode_fn encode;
    void *encode_ctx;
    /* NULL, or looks at what the columns are before anything is read; mistakes to diag */
    void (*check)(const void *encode_ctx, const cr_colkind *kinds, cr_diag *diag);
    /* What encode counts besides: it leaves tally_size bytes at out->tally, tally_add puts one
     * behind another (zeros: empty). Sums go along with the rows, so they depend on the rows given
     * out and not on threads. 0: nothing is counted. */
    size_t tally_size;
    void (*tally_add)(void *to, const void *from, size_t size);
    /* training: a row is hidden with the chance conf->sample_mask_prob. Which ones is a function of
     * seed, epoch, file and row, of CSV files block and row of the block. */
    bool mask;
    cr_split split;     /* zeros: all rows */
    int64_t batch_size; /* rows of the global batch */
    bool shuffle;
    bool drop_remainder;
    uint64_t seed;
    int n_threads; /* parse/encode workers; >= 1 */
    cr_share share;
    cr_data_pos start;    /* where to begin (zeros: the beginning) */
    const char *places;   /* of a stream: the text of cr_loader_mark for `start`; NULL: none */
    int64_t n_epochs;     /* 0: endless */
    int64_t max_bad_rows; /* per epoch: so many rows are left out, counted and logged, one more is
                             an error; 0: the first bad row is */
    bool silent;          /* bad rows are counted and not logged */
    bool no_split;        /* every process reads all rows, also where it could pass over others' */
    size_t block_bytes;   /* tests: size of a block; 0: the reader's */
    cr_trace *trace;      /* a row per worker; NULL: none */
    /* what the files of this data set are. Empty: filled in; else files that are others now are an
     * error, because an earlier loader of the same run has read them. NULL: not wanted */
    cr_file_ids *ids;
} cr_loader_opts;

/* Batches assembled ahead of the step. The caller may hold CR_LOADER_AHEAD - 2 at a time. */
#define CR_LOADER_AHEAD 6

typedef struct cr_loader cr_loader;
/* cr_loader_new opens the data set and starts the workers. Everything opts points to is borrowed
 * until cr_loader_free, which may be called at any moment. Mistakes in config and files go to diag.
 */
CR_CHECKED cr_code cr_loader_new(cr_loader **out, const cr_loader_opts *opts, cr_diag *diag);
void cr_loader_free(cr_loader *l);
/* cr_loader_next gives the next batch. *out NULL: an epoch ended (call again for the next one);
 * *done is set when the last epoch has ended. A batch is valid until cr_loader_release. A share of
 * a global batch may have 0 rows at the end of an epoch. An error comes after all batches before it
 * in the stream, and again on every further call. One thread. */
CR_CHECKED cr_code cr_loader_next(cr_loader *l, cr_batch **out, bool *done, cr_err *err);
void cr_loader_release(cr_loader *l, cr_batch *b);
/* cr_loader_after returns where the stream stands after a batch that was given out and not yet
 * released. */
cr_data_pos cr_loader_after(const cr_batch *b);
/* cr_loader_mark writes where a stream stands at a position, for the checkpoint; nothing for files.
 * Any thread. */
void cr_loader_mark(cr_loader *l, cr_data_pos pos, cr_buf *out);
/* cr_loader_tally writes the sum over all blocks of which rows were given out since the last call
 * and, at the end of an epoch, over blocks of which none were; out has tally_size bytes. */
void cr_loader_tally(cr_loader *l, void *out);
/* cr_loader_divides: does this process read its own rows only, so that tallies of all processes
 * have to be added? Rows that every process reads are then in the tally of the first share alone.
 */
bool cr_loader_divides(const cr_loader *l);
/* cr_loader_kinds tells what the n_want wanted columns are; the texts live as long as the loader.
 */
void cr_loader_kinds(const cr_loader *l, cr_colkind *out);
/* cr_loader_kept appends what a checkpoint is to have of the reader's sessions; nothing where there
 * are none. */
void cr_loader_kept(const cr_loader *l, cr_buf *out);
typedef struct cr_loader_stats {
    int64_t rows, bad_rows, bytes, batches;   /* given out; left out; text parsed; given out */
    double read_s, parse_s, encode_s, wait_s; /* CPU seconds of the workers; time next() waited */
    int64_t total_rows; /* rows of an epoch, bad ones too; an estimate where rows are split; 0: not
                           known */
} cr_loader_stats;
void cr_loader_get_stats(cr_loader *l, cr_loader_stats *out);
/* cr_loader_memory estimates the most bytes that reading takes, with shuffle or without, by the
 * rows that were read so far. */
int64_t cr_loader_memory(cr_loader *l, bool shuffle);
/* cr_loader_first_bad tells place and cause of the first bad row that was left out; false: none
 * was. */
bool cr_loader_first_bad(cr_loader *l, cr_err *out);

#endif
