/*
 * csv_int.h - what the files of the CSV reader share.
 *
 *   csv.c    files, headers, wanted columns, the reader's table of functions
 *   cut.c    where a block begins and ends
 *   parse.c  one block into columns
 *   scan.c   finding delimiters, row ends and quotes in text
 *
 * The grammar, in all of them: a row ends at \n (a \r before it belongs to the end); a field that
 * begins with a quote runs to the next quote that is not doubled and may hold anything; elsewhere a
 * quote is a letter like any other; an empty line is no row.
 *
 * Slot text (data/slots) and JSON lines (data/rows) have lines and no quotes. Their readers share
 * the files and the cutting, and have their own parsers.
 */
#ifndef CR_DATA_CSV_CSV_INT_H
#define CR_DATA_CSV_CSV_INT_H

#include "base/cpu.h"
#include "data/nulls.h"
#include "data/reader.h"
#include "data/stream.h"

/* text, views and encoded rows of a block together stay in a second-level cache: 1 MiB took a fifth
 * more time to parse and a third more to encode, 256 KiB more to cut */
#define CR_CSV_BLOCK    ((size_t)512 << 10)
#define CR_CSV_MAX_ROW  ((size_t)64 << 20)
#define CR_CSV_MAX_COLS 100000
#define CR_CSV_FDS      64

/* Marks of n_words * 64 bytes: delimiters' first bytes and \n, \n alone, quotes. */
typedef void (*cr_csv_classify)(const char *text, size_t n_words, char delim, uint64_t *sep,
                                uint64_t *nl, uint64_t *quote);
cr_csv_classify cr_csv_classify_best(void);

/* how the text is written */
typedef struct cr_csv_form {
    const char *delim;
    size_t n_delim;
    cr_csv_classify classify;
    bool no_quotes; /* a quote is a letter like any other, everywhere */
} cr_csv_form;

/* All separators of a text of whole rows. Memory from an arena. */
typedef struct cr_csv_marks {
    uint32_t *sep; /* positions of delimiters and row ends, in order */
    size_t n_sep, cap_sep;
    uint32_t *row_end;  /* per row: index in sep of its last separator */
    uint32_t *row_line; /* per row: line ends up to and with its own */
    size_t n_rows, cap_rows;
    bool quotes;     /* there are quotes */
    bool open_quote; /* the text ends inside a quoted field */
} cr_csv_marks;
/* cr_csv_index marks text[0, n), n < 4 GiB, which begins at a row and has CR_RAW_PAD readable bytes
 * behind it. */
void cr_csv_index(const cr_csv_form *f, const char *text, size_t n, cr_arena *a, cr_csv_marks *m);
/* cr_csv_row_end finds the end (behind the \n) of the first row that ends at or behind `target` in
 * a text that begins at a row. Returns SIZE_MAX when there is none; *last is then the last row end
 * (0: none). */
size_t cr_csv_row_end(const cr_csv_form *f, const char *text, size_t n, size_t target,
                      size_t *last);

/* What a text looks like when it is taken to begin inside or outside of quotes. */
typedef struct cr_csv_guess {
    size_t start;         /* of the first row at or behind the target; SIZE_MAX: none */
    int64_t rows, faults; /* whole rows; rows of other width, quotes in odd places */
} cr_csv_guess;
cr_csv_guess cr_csv_try(const cr_csv_form *f, const char *text, size_t from, size_t n,
                        size_t target, bool at_eof, bool in_quote, int n_cols);

/* one file of the data set */
typedef struct cr_csv_file {
    const char *path;
    bool front; /* compressed, or no file: read front to back */
    int64_t size;
    cr_file_id id;
    int64_t data_start; /* of the text: behind byte order mark and header */
    int64_t first_line; /* line data_start lies on */
    int n_cols;
    const int32_t *col; /* per wanted column its field */
    cr_stream *kept;    /* a file on a store that is far: it stays open; NULL: see fds */
    int64_t *starts;    /* of all blocks, once they were searched for from the beginning */
} cr_csv_file;

struct cr_source {
    const cr_data_conf *conf;
    const cr_want *want;
    int n_want;
    const cr_coltype *types; /* per wanted column */
    const int *twin;         /* per wanted column: an earlier one of the same name, or -1 */
    cr_csv_form form;
    cr_nulls nulls;
    size_t block;
    cr_csv_file *files;
    int64_t n_files;
    const char *const *names; /* of the first file */
    int n_names;
    cr_arena arena;

    /* cut: plain files */
    cr_stream *fds[CR_CSV_FDS]; /* file f at f % CR_CSV_FDS */
    int64_t fd_file[CR_CSV_FDS];
    int64_t memo_file, memo_block, memo_start; /* the last block start that was found */
    char *win;
    size_t win_cap;
    /* cut: the compressed file being read */
    cr_stream *front;
    int64_t front_file, front_block, front_line;
    cr_raw carry; /* text behind the last block */
    bool front_eof;

    const struct cr_slots *slots; /* slot text: what stands in a line; NULL: no slot text */
    struct cr_rowset *rows;       /* rows that name their columns (data/rows); NULL: others */
};

/* csv.c */
/* cr_csv_source makes an empty source. cr_csv_open_files finds and opens its files; without a
 * header, map has the field of every wanted column. On a failure both have told why, and the caller
 * closes the source. */
cr_source *cr_csv_source(const cr_data_conf *conf, const cr_want *want, int n_want);
void cr_csv_open_files(cr_source *s, const char *paths, const char *const *exts, const int32_t *map,
                       cr_diag *diag);
/* cr_csv_map_fields finds the wanted columns in input_fields. */
const int32_t *cr_csv_map_fields(cr_source *s, cr_diag *diag);
void cr_csv_close(cr_source *s);
int64_t cr_csv_n_files(const cr_source *s);
const char *cr_csv_path(const cr_source *s, int64_t file);
const cr_file_id *cr_csv_file_id(const cr_source *s, int64_t file);
CR_CHECKED cr_code cr_csv_n_blocks(cr_source *s, int64_t file, int64_t *out, cr_err *err);
CR_CHECKED cr_code cr_csv_line_at(const cr_source *s, int64_t file, int64_t offset, int64_t *line,
                                  cr_err *err);
void cr_csv_set_block(cr_source *s, size_t bytes);
int cr_csv_columns(const cr_source *s, const char *const **names);

/* cut.c */
CR_CHECKED cr_code cr_csv_cut(cr_source *s, int64_t file, int64_t block, cr_raw *raw, bool *end,
                              cr_err *err);
void cr_csv_will_need(cr_source *s, int64_t file, int64_t block);
CR_CHECKED cr_code cr_csv_reserve(cr_raw *raw, size_t size, cr_err *err);
void cr_csv_cut_clear(cr_source *s);
/* parse.c */
CR_CHECKED cr_code cr_csv_parse(const cr_source *s, const cr_raw *raw, cr_chunk *chunk, cr_bad *bad,
                                cr_err *err);
/* strips the quotes of a field that begins with one, in place; NULL or what is wrong */
const char *cr_csv_unquote(char *text, uint32_t *beg, uint32_t *end);

#endif
