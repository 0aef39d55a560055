/*
 * reader.h - one file format behind one struct: how a data set becomes chunks of columns.
 *
 * Reading is split in two so that many threads can help: `cut` is serial and cheap (find the next
 * block of whole rows in the file order or at a given block), `parse` turns one raw block into
 * columns and may run on any thread. reader_list.h has every format.
 *
 * A format that knows the rows of a block before reading it (block_rows) is told which rows are
 * wanted, and is cut and parsed by several hands at once: a hand is a cr_raw that keeps open files,
 * pages and dictionaries from block to block.
 */
#ifndef CR_DATA_READER_H
#define CR_DATA_READER_H

#include "base/buf.h"
#include "data/batch.h"
#include "data/config.h"
#include "data/file_id.h"

/* In what form a column is wanted. */
typedef enum cr_want_form {
    CR_WANT_VALUES,        /* numbers and text */
    CR_WANT_STORED,        /* as the file stores it, to be written again; of formats that store
                              text, or where files differ: values */
    CR_WANT_VALUES_STORED, /* both */
} cr_want_form;

/* One column a run needs. type -1: as the file has it (CSV: text). */
typedef struct cr_want {
    const char *name;
    int type;         /* cr_coltype or -1 */
    const char *why;  /* for messages: "feature 'age'", "label_fields" */
    cr_loc at;        /* who asked for it in the config */
    const char *cure; /* what else to do when there is no such column; NULL: nothing */
    cr_want_form form;
} cr_want;
#define CR_WANT_CURE 512
/* cr_want_cure writes what to do when there is no such column; near: a name like it, NULL: none,
 * then `otherwise` is said. Returns out. */
const char *cr_want_cure(char out[CR_WANT_CURE], const cr_want *w, const char *near,
                         const char *otherwise);

/* cr_data_is_label tells whether a column is one of label_fields, which no feature is meant to
 * read. */
bool cr_data_is_label(const cr_data_conf *c, const char *name);

/* What a column holds: a single value, a list, a list of lists, a map; or whatever was stored. */
typedef struct cr_colkind {
    cr_coltype type;  /* of the leaf values */
    int depth;        /* 0, 1, 2 */
    bool nulls;       /* nothing but nulls everywhere: the type is a guess */
    int key;          /* cr_coltype of a map's keys; -1: no map */
    const char *text; /* as the file says it: "list<int64>"; NULL: it does not */
    /* of a column that comes as it is stored: how, in the format's own terms; NULL: as above */
    const void *stored;
} cr_colkind;

typedef struct cr_source cr_source; /* an opened data set; opaque, each type has its own */
typedef struct cr_raw {             /* one block on its way from cut to parse; zeros: empty */
    int64_t file;                   /* index into the list of files */
    int64_t block;                  /* index of the block inside its file */
    int64_t first_row;  /* row number in the file; -1: not known (a block in the middle) */
    int64_t first_line; /* line of text[0] in the file, from 1; 0: not known, ask line_at */
    int64_t offset;     /* of text[0] in the file, -1: compressed */
    char *text; /* CSV: whole rows, then at least CR_RAW_PAD bytes of slack; from cr_try_alloc */
    size_t size, cap;
    int64_t from, n_rows; /* with block_rows: the rows of the block that are wanted */
    void *priv;           /* other formats; freed by raw_clear */
} cr_raw;
#define CR_RAW_PAD 64

/* A block whose rows are known before it is read. */
typedef struct cr_block_rows {
    int64_t first_row, n_rows; /* in the file; at least one */
    /* blocks from this one on (itself counts) that are best read in turn by one hand, because they
     * share pages: in file order, and shuffled, where shorter ones mix better */
    int64_t stretch, stretch_shuffled;
} cr_block_rows;

/* What a reader has whose data is no files but a stream: `paths` is one address, and where the
 * stream stood at a block is a text, which a checkpoint keeps. */
typedef struct cr_reader_stream {
    const char *prefix;                /* of its addresses: "kafka://" */
    bool (*endless)(const char *path); /* does it go on for ever? */
    /* begin goes to the places of a text of mark, before the first cut; `block` comes next. NULL:
     * where the address says. */
    CR_CHECKED cr_code (*begin)(cr_source *s, const char *places, int64_t block, cr_err *err);
    /* mark writes where the stream stood before a block; false: it is too long ago. Any thread. */
    bool (*mark)(cr_source *s, int64_t block, cr_buf *out);
    void (*interrupt)(cr_source *s); /* a cut that waits fails with CR_ESTOP. Any thread */
} cr_reader_stream;

typedef struct cr_reader_type {
    const char *name;        /* the dataset_type's name: "CsvDataset" */
    const char *const *exts; /* endings of its files, NULL-ended; NULL: it has none */
    /* open finds the files, reads the headers, checks every wanted column (all mistakes to diag).
     * conf and want are borrowed until close. */
    CR_CHECKED cr_code (*open)(cr_source **out, const cr_data_conf *conf, const char *paths,
                               const cr_want *want, int n_want, cr_diag *diag);
    void (*close)(cr_source *s);
    int64_t (*n_files)(const cr_source *s);
    const char *(*path)(const cr_source *s, int64_t file);
    /* what the file was when it was opened; cut finds out when it is another one */
    const cr_file_id *(*file_id)(const cr_source *s, int64_t file);
    /* n_blocks of one file when blocks can be cut in any order (plain files), -1 when the file can
     * only be read front to back (compressed). */
    CR_CHECKED cr_code (*n_blocks)(cr_source *s, int64_t file, int64_t *out, cr_err *err);
    /* cut block `block` of `file` into raw; *end is set when the file holds no such block. For
     * front-to-back files the calls come in order, block 0 begins again. Called from one thread at
     * a time, with block_rows from several, each with its own raw. */
    CR_CHECKED cr_code (*cut)(cr_source *s, int64_t file, int64_t block, cr_raw *raw, bool *end,
                              cr_err *err);
    /* will_need: this block of a file that is not read front to back is cut soon. Called from one
     * thread at a time, with block_rows from several. NULL: the reader needs no such word. */
    void (*will_need)(cr_source *s, int64_t file, int64_t block);
    /* parse raw into chunk (its arena reset first), whose columns may point into raw->text, which
     * may be rewritten (doubled quotes). Any thread. Rows that cannot be split into columns are
     * reported through bad with row -1 and left out; rows with a bad value are reported and stay
     * in. */
    CR_CHECKED cr_code (*parse)(const cr_source *s, const cr_raw *raw, cr_chunk *chunk, cr_bad *bad,
                                cr_err *err);
    /* line_at counts lines: which line of the file (from 1) holds the byte at offset. Slow (reads
     * the file up to there), for messages only. Any thread. */
    CR_CHECKED cr_code (*line_at)(const cr_source *s, int64_t file, int64_t offset, int64_t *line,
                                  cr_err *err);
    /* set_block sets the target size of a block in bytes, before the first cut (tests; default 1
     * MiB) */
    void (*set_block)(cr_source *s, size_t bytes);
    /* names of the columns of the first file, in file order */
    int (*columns)(const cr_source *s, const char *const **names);
    /* NULL: rows are not known before a block is parsed */
    void (*block_rows)(const cr_source *s, int64_t file, int64_t block, cr_block_rows *out);
    /* with block_rows: how many places are read in turn when rows are shuffled (a function of the
     * files), and about how many bytes one hand holds */
    int (*hands)(const cr_source *s);
    size_t (*hand_bytes)(const cr_source *s);
    void (*raw_clear)(const cr_source *s, cr_raw *raw); /* frees raw->priv; NULL: there is none */
    /* what the wanted columns are, the same in all files */
    void (*kinds)(const cr_source *s, cr_colkind *out);
    /* Of data whose rows have numbers only within a session: prepare makes the sessions, once for
     * all processes, and writes what they need to know; kept is what a checkpoint has of an earlier
     * run (NULL: nothing). open gets "+" and that text as paths in the process that called prepare,
     * which keeps the sessions alive, and "-" and the text in the others. kept writes what a
     * checkpoint is to have. NULL: there are no sessions. */
    CR_CHECKED cr_code (*prepare)(cr_buf *out, const cr_data_conf *conf, const char *paths,
                                  const cr_want *want, int n_want, const char *kept, cr_err *err);
    void (*kept)(const cr_source *s, cr_buf *out);
    bool typed; /* the files say so themselves; else columns are text, or as asked for */
    const cr_reader_stream *stream; /* NULL: it reads files */
} cr_reader_type;

/* registry.c: every reader, NULL-ended */
extern const cr_reader_type *const cr_readers[];
const cr_reader_type *cr_reader_find(const char *dataset_type);
/* cr_reader_of: the one for the dataset_type of a config; NULL: none */
const cr_reader_type *cr_reader_of(const cr_data_conf *c);
/* cr_reader_by_path: the one whose endings all of these paths (globs, with commas) have; NULL: none
 */
const cr_reader_type *cr_reader_by_path(const char *paths);

#endif
