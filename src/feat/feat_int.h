/*
 * feat_int.h - parts that the feature types share: inputs from the config, tokens to ids, numbers.
 */
#ifndef CR_FEAT_FEAT_INT_H
#define CR_FEAT_FEAT_INT_H

#include <string.h>

#include "base/buf.h"
#include "feat/config.h"
#include "feat/hash.h"
#include "feat/list.h"
#include "feat/normalize.h"
#include "feat/vocab.h"

/* ---- inputs ---- */

/* The one input of a feature. */
typedef struct cr_input {
    const char *constant; /* text of a "const:" input; else NULL */
    bool is_int;          /* a text column declared as an integer: "007" is 7 */
    bool is_num;          /* a text column that TorchEasyRec reads as a numeric one */
} cr_input;
/* cr_input_make sets f->columns (none for a constant) from the mode and the expression. */
void cr_input_make(cr_input *in, cr_feature *f, const void *conf, const char *expression,
                   const cr_data_conf *data, cr_arena *arena, cr_diag *diag);
/* cr_input_column returns the feature's column of the chunk, or a column made from its constant. */
const cr_column *cr_input_column(const cr_input *in, const cr_feature *f, const cr_chunk *chunk,
                                 cr_arena *arena);
/* cr_input_side says what kind of input side:name is; mistakes go to diag. */
typedef enum cr_side { CR_SIDE_COLUMN, CR_SIDE_CONST, CR_SIDE_FEATURE, CR_SIDE_WRONG } cr_side;
cr_side cr_input_side(const cr_feature *f, const char *side, const char *name,
                      const cr_data_conf *data, cr_loc at, cr_diag *diag);
/* cr_input_name returns the column that side:name means for a feature, and whether it holds a
 * sequence (for f->is_seq). many: the feature has several inputs. */
const char *cr_input_name(const cr_feature *f, const char *side, const char *name, bool many,
                          bool *is_seq, cr_arena *arena);
/* Returns the place of byte `pos` inside the text value of a field. */
cr_loc cr_at_char(const void *conf, const char *field, size_t pos);
/* Does the data hold ids and numbers that were made before (FG_NONE)? Otherwise features are made
 * here. */
bool cr_fg_encoded(const cr_data_conf *data);
/* Does the column of a feature have the feature's name? (FG_NONE, FG_BUCKETIZE) */
bool cr_fg_by_name(const cr_data_conf *data);
/* cr_encoded_cure says what to do when FG_NONE finds raw values in the feature's column although
 * its config says how to make ids of them; NULL: the mode is another one, or the config does not
 * say. cr_encoded_check warns in one line of all keys that FG_NONE does not apply. */
const char *cr_encoded_cure(const cr_feature *f, const cr_data_conf *data, cr_arena *arena);
void cr_encoded_check(const cr_features *fs, const cr_data_conf *data, cr_diag *diag);
/* Returns the line number of a row for cr_bad_add; 0: unknown. */
static inline int64_t cr_line_of(const cr_chunk *c, int64_t row) {
    return c->lines ? c->lines[row] : 0;
}

/* Writes a number as people write it in files: 1e39, not 1e+39. */
static inline const char *cr_show_f64(char out[32], double x) {
    out[cr_fmt_f64(out, x)] = 0;
    char *plus = strstr(out, "e+");
    if (plus) memmove(plus + 1, plus + 2, strlen(plus + 2) + 1);
    return out;
}

/* cr_feature_add_asset notes that a file with this content is needed; cr_feature_asset returns its
 * name in an export (NULL: the field has no file). */
/* cr_feature_path finds the file `name` of a feature, in asset_dir if there is one. In an export
 * the file must lie in the export. */
CR_CHECKED cr_code cr_feature_path(const char *asset_dir, const char *name,
                                   const cr_data_conf *data, cr_arena *arena, const char **path,
                                   cr_err *err);
void cr_feature_add_asset(cr_feature *f, const char *field, const char *path, const cr_buf *content,
                          cr_arena *arena);
const char *cr_feature_asset(const cr_feature *f, const char *field);

/* Return a field that feature messages have in common; "" or false when the message does not have
 * it. */
const char *cr_conf_text(const void *conf, const char *field);
bool cr_conf_flag(const void *conf, const char *field);

/* ---- sequences (seq.c) ---- */

/* cr_seq_make reads what the config says about a feature that is a sequence; block NULL:
 * stand-alone. Mistakes go to diag. */
struct cr_sequence_conf;
cr_seq *cr_seq_make(const void *conf, const struct cr_sequence_conf *block, const char *feature,
                    const cr_data_conf *data, cr_arena *arena, cr_diag *diag);
/* cr_seq_default returns the default_value, which a sequence always has: "0" for "". */
static inline const char *cr_seq_default(const cr_feature *f, const char *text) {
    return f->seq && !*text ? "0" : text;
}
/* cr_seq_encode fills out->ids or *dense: the feature's type encodes steps as if they were rows. */
CR_CHECKED cr_code cr_seq_encode(const cr_feature *f, const cr_chunk *in, cr_feat_out *out,
                                 cr_dense_seq *dense, cr_err *err);
/* cr_seq_give makes what a sequence gives to other features (FG_DAG): a list of steps per row. */
CR_CHECKED cr_code cr_seq_give(const cr_feature *f, const cr_chunk *in, cr_column *out,
                               cr_arena *arena, cr_bad *bad, cr_err *err);
/* cr_seq_refuses returns what column k needs, or NULL; see cr_feature_type. */
const char *cr_seq_refuses(const cr_feature *f, int k, const cr_colkind *kind);
/* cr_seq_check: rows in which the features of one block have different numbers of steps are bad. */
void cr_seq_check(const cr_features *fs, const cr_chunk *chunk, const cr_batch *b, cr_bad *bad);

/* fg.json: the object of a feature begins with its type, name and default and ends with the keys of
 * a sequence. type is the key of FeatureConfig; default_value NULL: there is none. open: the type
 * is written as it is, without sequence_. */
void cr_fg_json_open(const cr_feature *f, cr_jw *w, const char *type, const char *default_value);
void cr_fg_json_begin(const cr_feature *f, cr_jw *w, const char *type, const char *default_value);
void cr_fg_json_end(const cr_feature *f, cr_jw *w);

/* ---- features that read features (dag.c) ---- */

#define CR_FROM_FEATURE "feature:" /* begins the name of such an input in f->columns */
/* The forms in which a feature gives its value are sums of these; f->given has bit 1 << form. 0: as
 * it is. */
enum {
    CR_GIVEN_TEXT = 1, /* numbers written as text */
    CR_GIVEN_FLAT = 2, /* a sequence for a reader that is not a sequence: its steps become values */
    CR_GIVEN_FORMS = 4,
};
/* cr_dag_column returns the place in a chunk of a form that feature i gives. */
int cr_dag_column(const cr_features *fs, int i, int form);
/* cr_dag_make orders the features and connects them; mistakes go to diag. */
void cr_dag_make(cr_features *fs, cr_arena *arena, cr_diag *diag);
/* cr_dag_give makes the values that feature i gives, as columns of the chunk behind those of the
 * file. */
CR_CHECKED cr_code cr_dag_give(const cr_features *fs, int i, cr_chunk *chunk, cr_arena *arena,
                               cr_bad *bad, cr_err *err);
/* These turn a column of tokens or numbers into what other features read: split by sep, at most dim
 * values (0: all), with the default where there is no value. */
CR_CHECKED cr_code cr_give_tokens(const cr_feature *f, const cr_column *col, const char *def,
                                  char sep, int64_t dim, const cr_chunk *chunk, cr_column *out,
                                  cr_arena *arena, cr_err *err);
CR_CHECKED cr_code cr_give_numbers(const cr_feature *f, const cr_column *col, const char *def,
                                   char sep, int64_t dim, const cr_norm *norm,
                                   const cr_chunk *chunk, cr_column *out, cr_arena *arena,
                                   cr_bad *bad, cr_err *err);

/* ---- counts (counts.c) ---- */

/* cr_count_bad counts a value that is not a number: either not finite, or unparsable. */
void cr_count_bad(cr_feature_counts *c, const char *s, size_t n);

/* ---- hidden rows (mask.c) ---- */

/* cr_mask_make finds which features are masked; mistakes go to diag. */
void cr_mask_make(cr_features *fs, const cr_data_conf *data, cr_diag *diag);
/* cr_mask_hide returns the chunk as a masked feature sees it. */
cr_chunk cr_mask_hide(const cr_feature *f, const cr_chunk *chunk, cr_arena *arena,
                      cr_feature_counts *counts);

/* ---- null_values (nulls.c) ---- */

/* cr_nulls_hide returns the chunk as features, labels and weights see it, with room for n_cols
 * columns; the columns behind those of the file are empty. */
cr_chunk cr_nulls_hide(const cr_features *fs, const cr_chunk *chunk, int n_cols, cr_arena *arena);

/* ---- labels and weights (labels.c) ---- */

/* cr_labels_make reads the label_map of each of fs->labels. */
void cr_labels_make(cr_features *fs, const cr_data_conf *data, cr_arena *arena);
/* cr_labels_encode fills the labels and weights of `to` from the chunk. scratch has 9 bytes per
 * row.
 */
CR_CHECKED cr_code cr_labels_encode(const cr_features *fs, const cr_chunk *chunk, void *scratch,
                                    cr_chunk_rows *to, cr_bad *bad, cr_err *err);

/* ---- tokens to ids (ids.c) ---- */

typedef enum cr_id_kind { CR_IDS_HASH, CR_IDS_BUCKETS, CR_IDS_VOCAB, CR_IDS_ENCODED } cr_id_kind;
typedef struct cr_ids {
    cr_id_kind kind;
    cr_hash_fn hash;
    cr_mod mod;
    const char *before; /* HASH: Python 2's hash of this text and the value; NULL: hash */
    size_t n_before;
    cr_vocab vocab;
    int64_t num_embeddings;
    bool clamp;        /* HASH, VOCAB: an id may lie outside the table */
    bool is_int;       /* see cr_input */
    bool weighted;     /* items are key:weight */
    int64_t value_dim; /* ids that are taken per row; 0: all */
    const char *sep;   /* stands between the values of a text column; at least one byte */
    size_t n_sep;
    const int64_t *def; /* ids of a missing value, with weight 1 */
    int64_t n_def;
} cr_ids;
/* cr_ids_of maps one token. false: the token is not valid, and *why says so. An id out of range
 * becomes 0, and *range receives it. A token that the vocabulary does not list is fine. */
bool cr_ids_of(const cr_ids *m, const char *s, size_t n, int64_t *id, int64_t *range,
               const char **why);
/* cr_ids_encode turns a column into out->ids. off stays NULL when every row has exactly one id. */
CR_CHECKED cr_code cr_ids_encode(const cr_ids *m, const cr_feature *f, const cr_column *col,
                                 const cr_chunk *chunk, cr_feat_out *out, cr_err *err);
/* cr_ids_refuses: see cr_feature_type */
const char *cr_ids_refuses(const cr_ids *m, const cr_colkind *kind);
#define CR_NO_RANGE INT64_MIN
/* cr_id_fg_buckets writes the keys of fg.json that say how tokens become ids. */
/* Ids of features whose table has a map are below this: the hash is taken modulo 2^63-1. */
#define CR_WIDE_IDS INT64_MAX
void cr_id_fg_buckets(const cr_feature *f, const cr_id_conf *c, cr_jw *w);

/* ---- numbers (numbers.c) ---- */

typedef enum cr_row_state { CR_ROW_MISSING = 0, CR_ROW_OK = 1, CR_ROW_BAD = 2 } cr_row_state;
/* cr_numbers_read reads dim numbers per row into x (n_rows, dim) and tells the state of each row;
 * place: see cr_feature. Text is split by sep where dim > 1; arena is for scratch. Rows with a
 * wrong count or text are reported to bad and counted, and have 0 in x. It fails when the column
 * holds no numbers. */
CR_CHECKED cr_code cr_numbers_read(const cr_column *col, const cr_chunk *chunk, const char *place,
                                   int64_t dim, const char *sep, size_t n_sep, double *x,
                                   uint8_t *state, cr_arena *arena, cr_bad *bad,
                                   cr_feature_counts *counts, cr_err *err);

#endif
