/*
 * feat_int.h - what the feature types share: inputs from the config, tokens to ids, numbers.
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
    const char *constant; /* "const:" input: its text; else NULL */
    bool is_int;          /* text column declared as an integer: "007" is 7 */
    bool is_num;          /* text column that the reference reads as a numeric one */
} cr_input;
/* cr_input_make sets f->columns (none for a constant) from the mode and the expression. */
void cr_input_make(cr_input *in, cr_feature *f, const void *conf, const char *expression,
                   const cr_data_conf *data, cr_arena *arena, cr_diag *diag);
/* cr_input_column returns the feature's column of the chunk, or a constant one from the arena. */
const cr_column *cr_input_column(const cr_input *in, const cr_feature *f, const cr_chunk *chunk,
                                 cr_arena *arena);
/* cr_input_side: what an input side:name is; mistakes to diag. */
typedef enum cr_side { CR_SIDE_COLUMN, CR_SIDE_CONST, CR_SIDE_FEATURE, CR_SIDE_WRONG } cr_side;
cr_side cr_input_side(const cr_feature *f, const char *side, const char *name,
                      const cr_data_conf *data, cr_loc at, cr_diag *diag);
/* cr_input_name: the column that side:name means to a feature, and whether it holds a sequence (for
 * f->is_seq). many: the feature has several inputs. */
const char *cr_input_name(const cr_feature *f, const char *side, const char *name, bool many,
                          bool *is_seq, cr_arena *arena);
/* Place of byte `pos` inside the text value of a field. */
cr_loc cr_at_char(const void *conf, const char *field, size_t pos);
/* ids and numbers before the feature generator (FG_NORMAL, FG_DAG), or already made (FG_NONE) */
bool cr_fg_encoded(const cr_data_conf *data);
/* does a feature's column have its own name? (FG_NONE, FG_BUCKETIZE) */
bool cr_fg_by_name(const cr_data_conf *data);
/* cr_encoded_cure: what to do when FG_NONE finds raw values in the feature's column though its
 * config says how to make ids of them; NULL: another mode, or it says nothing of that.
 * cr_encoded_check warns of all keys that FG_NONE does not apply, in one line. */
const char *cr_encoded_cure(const cr_feature *f, const cr_data_conf *data, cr_arena *arena);
void cr_encoded_check(const cr_features *fs, const cr_data_conf *data, cr_diag *diag);
/* line number of a row for cr_bad_add, 0: unknown */
static inline int64_t cr_line_of(const cr_chunk *c, int64_t row) {
    return c->lines ? c->lines[row] : 0;
}

/* a number as people write it in files: 1e39, not 1e+39 */
static inline const char *cr_show_f64(char out[32], double x) {
    out[cr_fmt_f64(out, x)] = 0;
    char *plus = strstr(out, "e+");
    if (plus) memmove(plus + 1, plus + 2, strlen(plus + 2) + 1);
    return out;
}

/* cr_feature_add_asset notes a file with this content as needed; cr_feature_asset: its name in an
 * export, NULL: the field has none */
/* cr_feature_path: the file `name` of a feature, in asset_dir where there is one. In an export it
 * must lie in the export. */
CR_CHECKED cr_code cr_feature_path(const char *asset_dir, const char *name,
                                   const cr_data_conf *data, cr_arena *arena, const char **path,
                                   cr_err *err);
void cr_feature_add_asset(cr_feature *f, const char *field, const char *path, const cr_buf *content,
                          cr_arena *arena);
const char *cr_feature_asset(const cr_feature *f, const char *field);

/* a field that feature messages have in common; "", false: the message has none */
const char *cr_conf_text(const void *conf, const char *field);
bool cr_conf_flag(const void *conf, const char *field);

/* ---- sequences (seq.c) ---- */

/* cr_seq_make: what the config says of a feature that is a sequence; block NULL: stand-alone.
 * Mistakes to diag. */
struct cr_sequence_conf;
cr_seq *cr_seq_make(const void *conf, const struct cr_sequence_conf *block, const char *feature,
                    const cr_data_conf *data, cr_arena *arena, cr_diag *diag);
/* cr_seq_default: default_value, which a sequence always has: "0" for "" */
static inline const char *cr_seq_default(const cr_feature *f, const char *text) {
    return f->seq && !*text ? "0" : text;
}
/* cr_seq_encode fills out->ids or *dense: steps, encoded by the feature's type as rows. */
CR_CHECKED cr_code cr_seq_encode(const cr_feature *f, const cr_chunk *in, cr_feat_out *out,
                                 cr_dense_seq *dense, cr_err *err);
/* cr_seq_give: what a sequence gives to others (FG_DAG), a list of steps per row */
CR_CHECKED cr_code cr_seq_give(const cr_feature *f, const cr_chunk *in, cr_column *out,
                               cr_arena *arena, cr_bad *bad, cr_err *err);
/* cr_seq_refuses: what column k needs, else NULL; see cr_feature_type */
const char *cr_seq_refuses(const cr_feature *f, int k, const cr_colkind *kind);
/* cr_seq_check: rows in which features of one block differ in their number of steps are bad */
void cr_seq_check(const cr_features *fs, const cr_chunk *chunk, const cr_batch *b, cr_bad *bad);

/* fg.json: an object of a feature begins with its type, name and default and ends with what is said
 * of a sequence; type is the key of FeatureConfig, default_value NULL: it has none. open: the type
 * is written as it is, without sequence_. */
void cr_fg_json_open(const cr_feature *f, cr_jw *w, const char *type, const char *default_value);
void cr_fg_json_begin(const cr_feature *f, cr_jw *w, const char *type, const char *default_value);
void cr_fg_json_end(const cr_feature *f, cr_jw *w);

/* ---- features that read features (dag.c) ---- */

#define CR_FROM_FEATURE "feature:" /* begins the name of such an input in f->columns */
/* Forms of what a feature gives: sums of these; f->given has bit 1 << form. 0: as it is. */
enum {
    CR_GIVEN_TEXT = 1, /* numbers written out */
    CR_GIVEN_FLAT = 2, /* a sequence for a reader that is none: its steps are values */
    CR_GIVEN_FORMS = 4,
};
/* cr_dag_column: where in a chunk a form of what feature i gives lies */
int cr_dag_column(const cr_features *fs, int i, int form);
/* cr_dag_make orders the features and connects them; mistakes to diag. */
void cr_dag_make(cr_features *fs, cr_arena *arena, cr_diag *diag);
/* cr_dag_give makes what feature i gives, as columns of the chunk behind those of the file. */
CR_CHECKED cr_code cr_dag_give(const cr_features *fs, int i, cr_chunk *chunk, cr_arena *arena,
                               cr_bad *bad, cr_err *err);
/* what a column of tokens or numbers is for others: split by sep, at most dim values (0: all), the
 * default where there is none */
CR_CHECKED cr_code cr_give_tokens(const cr_feature *f, const cr_column *col, const char *def,
                                  char sep, int64_t dim, const cr_chunk *chunk, cr_column *out,
                                  cr_arena *arena, cr_err *err);
CR_CHECKED cr_code cr_give_numbers(const cr_feature *f, const cr_column *col, const char *def,
                                   char sep, int64_t dim, const cr_norm *norm,
                                   const cr_chunk *chunk, cr_column *out, cr_arena *arena,
                                   cr_bad *bad, cr_err *err);

/* ---- counts (counts.c) ---- */

/* cr_count_bad counts a value that is no number: not finite, or unparsable. */
void cr_count_bad(cr_feature_counts *c, const char *s, size_t n);

/* ---- hidden rows (mask.c) ---- */

/* cr_mask_make says which features are masked; mistakes to diag. */
void cr_mask_make(cr_features *fs, const cr_data_conf *data, cr_diag *diag);
/* cr_mask_hide: the chunk as a masked feature sees it */
cr_chunk cr_mask_hide(const cr_feature *f, const cr_chunk *chunk, cr_arena *arena,
                      cr_feature_counts *counts);

/* ---- null_values (nulls.c) ---- */

/* cr_nulls_hide: the chunk as features, labels and weights see it, with room for n_cols columns;
 * the columns behind those of the file are empty */
cr_chunk cr_nulls_hide(const cr_features *fs, const cr_chunk *chunk, int n_cols, cr_arena *arena);

/* ---- labels and weights (labels.c) ---- */

/* cr_labels_make: what label_map says of each of fs->labels */
void cr_labels_make(cr_features *fs, const cr_data_conf *data, cr_arena *arena);
/* cr_labels_encode fills the labels and weights of out from the chunk. scratch has 9 bytes per row.
 */
CR_CHECKED cr_code cr_labels_encode(const cr_features *fs, const cr_chunk *chunk, void *scratch,
                                    cr_batch *out, cr_bad *bad, cr_err *err);

/* ---- tokens to ids (ids.c) ---- */

typedef enum cr_id_kind { CR_IDS_HASH, CR_IDS_BUCKETS, CR_IDS_VOCAB, CR_IDS_ENCODED } cr_id_kind;
typedef struct cr_ids {
    cr_id_kind kind;
    cr_hash_fn hash;
    cr_mod mod;
    cr_vocab vocab;
    int64_t num_embeddings;
    bool clamp;        /* HASH, VOCAB: ids may lie outside the table */
    bool is_int;       /* see cr_input */
    bool weighted;     /* items are key:weight */
    int64_t value_dim; /* ids taken per row; 0: all */
    const char *sep;   /* between values of a text column; at least one byte */
    size_t n_sep;
    const int64_t *def; /* ids of a missing value, with weight 1 */
    int64_t n_def;
} cr_ids;
/* cr_ids_of maps one token; false: not a valid token, *why says so. Out of range ids become 0 and
 * set *range to the id met. What a vocabulary does not list is fine. */
bool cr_ids_of(const cr_ids *m, const char *s, size_t n, int64_t *id, int64_t *range,
               const char **why);
/* cr_ids_encode turns a column into out->ids. off stays NULL when every row has exactly one id. */
CR_CHECKED cr_code cr_ids_encode(const cr_ids *m, const cr_feature *f, const cr_column *col,
                                 const cr_chunk *chunk, cr_feat_out *out, cr_err *err);
/* cr_ids_refuses: see cr_feature_type */
const char *cr_ids_refuses(const cr_ids *m, const cr_colkind *kind);
#define CR_NO_RANGE INT64_MIN
/* cr_id_fg_buckets writes the keys of fg.json that say how tokens become ids */
void cr_id_fg_buckets(const cr_feature *f, const cr_id_conf *c, cr_jw *w);

/* ---- numbers (numbers.c) ---- */

typedef enum cr_row_state { CR_ROW_MISSING = 0, CR_ROW_OK = 1, CR_ROW_BAD = 2 } cr_row_state;
/* cr_numbers_read reads dim numbers per row into x (n_rows, dim) and says what each row is; place:
 * see cr_feature. Text is
 * split by sep where dim > 1; arena is for scratch. Rows with a wrong count or text are reported to
 * bad and counted, x is 0 there. Returns false and fills err for a column that holds no numbers. */
CR_CHECKED cr_code cr_numbers_read(const cr_column *col, const cr_chunk *chunk, const char *place,
                                   int64_t dim, const char *sep, size_t n_sep, double *x,
                                   uint8_t *state, cr_arena *arena, cr_bad *bad,
                                   cr_feature_counts *counts, cr_err *err);

#endif
