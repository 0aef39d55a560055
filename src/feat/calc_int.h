/*
 * calc_int.h - feature types that compute their values from several columns: combo, lookup, expr
 * ...
 *
 * Such a feature has an operator, which turns the values of its inputs into tokens or numbers row
 * by row, and an end: an id_feature or a raw_feature that reads the operator's results and applies
 * defaults, vocabularies, normalizers and boundaries. In FG_NONE the end reads the feature's own
 * column and the operator does not run.
 */
#ifndef CR_FEAT_CALC_INT_H
#define CR_FEAT_CALC_INT_H

#include "feat/config_int.h"
#include "feat/feat_int.h"
#include "feat/sample.h"

/* ---- config: the fields that these messages share; they come first in the struct of each ---- */

typedef struct cr_calc_conf {
    cr_conf_base base;
    const char *feature_name, *embedding_name;
    int64_t embedding_dim;
    uint64_t hash_bucket_size, num_buckets;
    cr_strs vocab_list;
    cr_conf_map vocab_dict;
    const char *vocab_file, *asset_dir;
    uint64_t default_bucketize_value;
    cr_zch_conf *zch;
    cr_demb_conf *dynamicemb;
    cr_grow_conf *growing;
    cr_floats boundaries;
    const char *normalizer;
    cr_choice dense_emb;
    int64_t value_dim;
    const char *pooling, *default_value, *separator, *fg_value_type, *init_fn;
    bool use_mask;
    const char *fg_encoded_default_value;
    bool trainable, stub_type;
    const char *data_type;
    cr_constraints_conf *embedding_constraints;
    int64_t sequence_length;
    const char *sequence_delim;
    cr_strs sequence_fields;
    const char *pretrained_path, *pretrained_tensor;
} cr_calc_conf; /* fields that a message does not have stay 0 */

#define HELP_PRETRAINED        "safetensors file (or folder) with the table's first values"
#define HELP_PRETRAINED_TENSOR "tensor of pretrained_path; not given: the only one in it"
#define CR_CALC_NAME           CR_STR(cr_calc_conf, feature_name, NULL, CR_F_REQUIRED, HELP_NAME)
#define CR_CALC_EMBEDDING                                                                          \
    CR_STR(cr_calc_conf, embedding_name, NULL, 0, HELP_EMB_NAME),                                  \
        CR_INT(cr_calc_conf, embedding_dim, 0, 0, 65536, 0, HELP_EMB_DIM)
#define CR_CALC_VOCAB                                                                              \
    CR_UINT64(cr_calc_conf, hash_bucket_size, 0, 0, HELP_HASH),                                    \
        CR_STR(cr_calc_conf, vocab_list, NULL, CR_F_REPEATED, HELP_VOCAB_LIST),                    \
        CR_MAP_INT(cr_calc_conf, vocab_dict, 0, HELP_VOCAB_DICT),                                  \
        CR_STR(cr_calc_conf, vocab_file, NULL, CR_F_PATH, HELP_VOCAB_FILE),                        \
        CR_STR(cr_calc_conf, asset_dir, NULL, CR_F_PATH, HELP_ASSET),                              \
        CR_UINT64(cr_calc_conf, default_bucketize_value, 0, 0, HELP_OOV),                          \
        CR_MSG(cr_calc_conf, zch, &cr_zch_msg, 0, HELP_ZCH),                                       \
        CR_MSG(cr_calc_conf, dynamicemb, &cr_dynamicemb_msg, 0, HELP_DYNAMICEMB),                  \
        CR_MSG(cr_calc_conf, growing, &cr_growing_msg, CR_F_OURS, HELP_GROWING)
#define CR_CALC_BUCKETS CR_UINT64(cr_calc_conf, num_buckets, 0, 0, HELP_BUCKETS)
#define CR_CALC_NUMERIC                                                                            \
    CR_FLOAT(cr_calc_conf, boundaries, 0, -CR_INF, CR_INF, CR_F_REPEATED, HELP_BOUNDARIES),        \
        CR_ONEOF(cr_calc_conf, dense_emb, &cr_dense_emb_family, 0, HELP_DENSE_EMB)
#define CR_CALC_NORMALIZER CR_STR(cr_calc_conf, normalizer, NULL, 0, HELP_NORMALIZER)
#define CR_CALC_VALUE_DIM  CR_INT(cr_calc_conf, value_dim, 0, 0, CR_U32_MAX, 0, HELP_ID_VALUE_DIM)
#define CR_CALC_DEFAULT(text)                                                                      \
    CR_STR(cr_calc_conf, default_value, text, 0, HELP_DEFAULT),                                    \
        CR_STR(cr_calc_conf, separator, "\x1d", 0, HELP_SEPARATOR)
#define CR_CALC_VALUE_TYPE CR_STR(cr_calc_conf, fg_value_type, NULL, 0, HELP_VALUE_TYPE)
#define CR_CALC_TAIL                                                                               \
    CR_STR(cr_calc_conf, pooling, "sum", 0, HELP_POOLING),                                         \
        CR_STR(cr_calc_conf, init_fn, NULL, 0, HELP_INIT),                                         \
        CR_BOOL(cr_calc_conf, use_mask, false, 0, HELP_MASK),                                      \
        CR_STR(cr_calc_conf, fg_encoded_default_value, NULL, 0, HELP_ENC_DEFAULT),                 \
        CR_BOOL(cr_calc_conf, trainable, true, 0, HELP_TRAINABLE),                                 \
        CR_BOOL(cr_calc_conf, stub_type, false, 0, HELP_STUB),                                     \
        CR_STR(cr_calc_conf, data_type, "FP32", 0, HELP_DATA_TYPE),                                \
        CR_MSG(cr_calc_conf, embedding_constraints, &cr_constraints_msg, CR_F_SPEED,               \
               HELP_CONSTRAINTS),                                                                  \
        CR_INT(cr_calc_conf, sequence_length, 0, 0, CR_U32_MAX, 0, HELP_SEQ_LEN),                  \
        CR_STR(cr_calc_conf, sequence_delim, ";", 0, HELP_SEQ_DELIM),                              \
        CR_STR(cr_calc_conf, sequence_fields, NULL, CR_F_REPEATED, HELP_SEQ_FIELDS),               \
        CR_STR(cr_calc_conf, pretrained_path, NULL, CR_F_OURS | CR_F_PATH, HELP_PRETRAINED),       \
        CR_STR(cr_calc_conf, pretrained_tensor, NULL, CR_F_OURS, HELP_PRETRAINED_TENSOR)

/* Defines the message of a type from its table cr_<m>_fields and its struct. */
#define CR_CALC_MSGS(m, name_, help_, S)                                                           \
    const cr_msg cr_##m##_msg = {.name = name_,                                                    \
                                 .help = help_,                                                    \
                                 .fields = cr_##m##_fields,                                        \
                                 .size = sizeof(S)}

/* ---- the results of an operator ---- */

/* The tokens or numbers of all rows, in order. A row without any is missing and gets the
 * default. */
typedef struct cr_values {
    cr_arena *arena;
    bool text;
    int32_t *off; /* n_rows + 1 */
    int64_t row;  /* the row that is being made */
    int64_t n, cap;
    double *x; /* the numbers */
    char *bytes;
    size_t n_bytes, cap_bytes;
    uint32_t *beg, *end; /* the tokens */
} cr_values;
/* cr_values_piece adds bytes to the current token; cr_values_token ends it. */
void cr_values_piece(cr_values *v, const char *p, size_t n);
void cr_values_token(cr_values *v);
void cr_values_number(cr_values *v, double x);
/* cr_values_in_row returns how many values the current row has so far; cr_values_drop removes them,
 * when the row turns out to be bad. */
static inline int64_t cr_values_in_row(const cr_values *v) {
    return v->n - v->off[v->row];
}
void cr_values_drop(cr_values *v);
void cr_values_begin(cr_values *v, bool text, int64_t n_rows, cr_arena *arena);
/* cr_values_default puts the default into a row without values ("": no default). */
void cr_values_default(cr_values *v, const char *def, char sep);
/* cr_values_column makes a column of them: of single values when dim is 1, else of lists. */
void cr_values_column(cr_values *v, int64_t n_rows, int64_t dim, cr_column *out);

/* ---- reading inputs ---- */

/* What an input may hold. */
typedef enum cr_calc_form {
    CR_IN_TOKENS,  /* text, integers, lists of them */
    CR_IN_NUMBERS, /* numbers, text with numbers, lists of them */
    CR_IN_PAIRS,   /* key:value text, lists of it, maps */
    CR_IN_NESTED,  /* text, or a map to text */
} cr_calc_form;

typedef struct cr_tok {
    const char *p;
    size_t n;
} cr_tok;
/* The tokens of one row of an input; integers are written as text. */
typedef struct cr_toks {
    cr_tok *v;
    int64_t n, cap;
    char *num;
    int64_t cap_num;
} cr_toks;
/* cr_toks_row reads row r. keep_empty: empty texts and nulls count as tokens of length 0. */
#define CR_WHOLE_TEXT 256 /* used as sep: a text is one token */
void cr_toks_row(cr_toks *t, const cr_column *col, int64_t r, int sep, bool keep_empty,
                 cr_arena *arena);
/* cr_tok_is: do both have the same bytes? */
static inline bool cr_tok_is(cr_tok a, cr_tok b) {
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

/* The key and value pairs of one row. */
typedef struct cr_pair {
    cr_tok key, value; /* value.p NULL: the key has no value */
    double x;          /* the value as a number, when is_num */
    bool is_num;
} cr_pair;
typedef struct cr_pairs {
    cr_pair *v;
    int64_t n, cap;
    cr_toks toks; /* keys and values lie here */
} cr_pairs;
/* cr_pairs_row reads row r, which is a map or items of text that are cut at the first kv. */
void cr_pairs_row(cr_pairs *t, const cr_column *col, int64_t r, char sep, char kv, cr_arena *arena);
/* cr_pair_number returns false when the value is not a number. */
bool cr_pair_number(const cr_pair *p, double *x);

/* The numbers of one row; cr_nums_row returns false when *bad is not a number. */
typedef struct cr_nums {
    double *v;
    int64_t n, cap;
} cr_nums;
bool cr_nums_row(cr_nums *t, const cr_column *col, int64_t r, char sep, cr_arena *arena,
                 cr_tok *bad);

/* ---- the operator ---- */

typedef struct cr_calc_run {
    const cr_feature *f;
    const cr_chunk *chunk;
    const cr_column **in; /* n_in columns */
    cr_arena *arena;
    cr_values *out;
    cr_bad *bad;
    cr_feature_counts *counts;
    int64_t n_bad;     /* number of rows that cr_calc_bad dropped */
    void *scratch;     /* made by begin */
    bool with_default; /* missing rows get the default */
} cr_calc_run;
/* cr_calc_end_row ends the current row; operators that loop over the rows themselves call it. */
CR_CHECKED cr_code cr_calc_end_row(cr_calc_run *run, cr_err *err);
/* cr_calc_bad reports the current row (out->row) as bad and drops its values. input -1: no single
 * input is the cause; value.p NULL: no single value is. */
void cr_calc_bad(cr_calc_run *run, int input, cr_tok value, const char *why);

typedef struct cr_calc_input {
    cr_calc_form form;
    const char *constant; /* for a "const:" input; otherwise column is set */
    int column;           /* index into f->columns */
    const char *name;     /* its name in a formula */
} cr_calc_input;
#define CR_CALC_MAX_INPUTS 64
typedef enum cr_calc_end {
    CR_END_TOKENS, /* tokens, each of which becomes an id */
    CR_END_NUMBER, /* dim numbers per row */
    CR_END_MANY,   /* any number of numbers, each of which becomes the id of its bucket */
    CR_END_WHOLE,  /* a number that is cut to an integer, which is the id (num_buckets) */
} cr_calc_end;
typedef struct cr_calc cr_calc;
/* The first part of what a type keeps in f->self. */
struct cr_calc {
    bool encoded; /* FG_NONE, FG_BUCKETIZE: the end reads the file's column */
    char sep;
    cr_calc_end end_kind;
    const char *def; /* default_value */
    int64_t n_ids;   /* END_WHOLE: number of table rows, if the operator knows it; 0: num_buckets */
    int64_t dim, most; /* END_NUMBER: numbers per row; END_MANY: values that are kept (0: all) */
    cr_calc_input in[CR_CALC_MAX_INPUTS];
    int n_in;
    bool is_seq[CR_CALC_MAX_INPUTS]; /* f->is_seq */
    cr_feature *end;
    cr_norm norm; /* END_MANY, END_WHOLE: applied before the end reads */
    const float *bounds;
    int64_t n_bounds;
    /* The operator: begin (may be NULL) makes the scratch for a chunk, row makes the values of one
     * row. */
    void *(*begin)(const cr_feature *f, cr_arena *arena);
    void (*row)(cr_calc_run *run, int64_t r);
    /* In place of both: makes the values of all rows and ends each row with cr_calc_end_row. */
    cr_code (*all)(cr_calc_run *run, cr_err *err);
};
/* cr_calc_start comes first in build; it sets f->self. */
void cr_calc_start(cr_calc *op, cr_feature *f, const cr_calc_conf *c, const cr_data_conf *data);
/* cr_calc_add adds an input "side:column" that the config gives in `field` (item: its place in a
 * repeated field, or -1). Returns its number, or -1 after an error. In FG_NONE it reads and checks
 * nothing. */
int cr_calc_add(cr_calc *op, cr_feature *f, const char *field, int64_t item, const char *text,
                cr_calc_form form, const cr_data_conf *data, cr_arena *arena, cr_diag *diag);
/* cr_calc_finish comes last in build, when begin and row are set. dim is the number of numbers per
 * row for END_NUMBER. */
void cr_calc_finish(cr_calc *op, cr_feature *f, const cr_calc_conf *c, cr_calc_end kind,
                    int64_t dim, const cr_data_conf *data, cr_arena *arena, cr_diag *diag);
/* encode and refuses of all these types. */
CR_CHECKED cr_code cr_calc_encode(const cr_feature *f, const cr_chunk *in, cr_feat_out *out,
                                  cr_err *err);
bool cr_calc_gives_numbers(const cr_feature *f);
CR_CHECKED cr_code cr_calc_give(const cr_feature *f, const cr_chunk *in, cr_column *out,
                                cr_arena *arena, cr_bad *bad, cr_err *err);
const char *cr_calc_refuses(const cr_feature *f, int k, const cr_colkind *kind);
/* cr_calc_sample comes first in the `sample` of these types. It returns the number of the input
 * that column k is, or -1 when the end reads the column and has already described it. */
int cr_calc_sample(const cr_feature *f, int k, const cr_sampler *s, cr_tab_col *out);
/* cr_calc_sample_plain is the `sample` of a type that takes any tokens or numbers. */
void cr_calc_sample_plain(const cr_feature *f, int k, const cr_sampler *s, cr_tab_col *out);
/* cr_calc_sample_value describes values that the end can use; without an end any number or token
 * will do. */
void cr_calc_sample_value(const cr_feature *f, const cr_sampler *s, cr_tab_value *out);
/* cr_calc_sample_link adds the column of an input to v[*n]. */
void cr_calc_sample_link(const cr_feature *f, int input, const cr_sampler *s, int *v, int *n);
/* Does the config ask for ids of tokens? */
bool cr_calc_has_vocab(const cr_calc_conf *c);

/* ---- fg.json ---- */

/* cr_calc_fg_open begins the object: type, name, default, value_type ("": none), separator. */
void cr_calc_fg_open(const cr_feature *f, const cr_calc_conf *c, const char *value_type, cr_jw *w);
/* cr_calc_fg_close ends the object: normalizer, the keys that make ids, stub_type. */
void cr_calc_fg_close(const cr_feature *f, const cr_calc_conf *c, cr_jw *w);

/* How several numbers become one. */
typedef enum cr_combiner {
    CR_COMBINE_SUM,
    CR_COMBINE_MEAN,
    CR_COMBINE_MIN,
    CR_COMBINE_MAX,
    CR_COMBINE_COUNT,
    CR_COMBINE_NONE, /* "": each number stays */
} cr_combiner;
/* cr_combiner_of returns false after an error (unknown word). */
bool cr_combiner_of(cr_combiner *out, const cr_feature *f, const void *conf, const char *word,
                    bool all, cr_diag *diag);
double cr_combine(cr_combiner c, const double *x, int64_t n);
/* cr_combiner_fg writes the key of fg.json, in lower case. */
void cr_combiner_fg(cr_jw *w, const char *word);

#endif
