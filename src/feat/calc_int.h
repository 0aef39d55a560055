/*
 * calc_int.h - feature types that compute their values from several columns: combo, lookup, expr
 * ...
 *
 * Such a feature is an operator - the values of its inputs become tokens or numbers, row by row -
 * and an end: an id_feature or a raw_feature that reads what the operator made, so defaults,
 * vocabularies, normalizers and boundaries are theirs. In FG_NONE the end reads the feature's own
 * column and the operator does not run.
 */
#ifndef CR_FEAT_CALC_INT_H
#define CR_FEAT_CALC_INT_H

#include "feat/config_int.h"
#include "feat/feat_int.h"
#include "feat/sample.h"

/* ---- config: the fields these messages share, first in the struct of each ---- */

typedef struct cr_calc_conf {
    cr_conf_base base;
    const char *feature_name, *embedding_name;
    int64_t embedding_dim;
    uint64_t hash_bucket_size, num_buckets;
    cr_strs vocab_list;
    cr_conf_map vocab_dict;
    const char *vocab_file, *asset_dir;
    uint64_t default_bucketize_value;
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
} cr_calc_conf; /* what a message does not have stays 0 */

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
        CR_K_MSG("zch", &cr_zch_msg, CR_F_LATER, HELP_ZCH),                                        \
        CR_K_MSG("dynamicemb", &cr_dynamicemb_msg, CR_F_LATER, HELP_DYNAMICEMB)
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

/* The message of a type from its table cr_<m>_fields and its struct. */
#define CR_CALC_MSGS(m, name_, help_, S)                                                           \
    const cr_msg cr_##m##_msg = {                                                                  \
        .name = name_, .help = help_, .fields = cr_##m##_fields, .size = sizeof(S)}

/* ---- what an operator makes ---- */

/* Tokens or numbers of all rows, in order. Rows without any are missing: the default counts. */
typedef struct cr_values {
    cr_arena *arena;
    bool text;
    int32_t *off; /* n_rows + 1 */
    int64_t row;  /* being made */
    int64_t n, cap;
    double *x; /* numbers */
    char *bytes;
    size_t n_bytes, cap_bytes;
    uint32_t *beg, *end; /* tokens */
} cr_values;
/* cr_values_piece adds bytes to the token being made, cr_values_token ends it. */
void cr_values_piece(cr_values *v, const char *p, size_t n);
void cr_values_token(cr_values *v);
void cr_values_number(cr_values *v, double x);
/* values of the current row so far; cr_values_drop forgets them (the row turned out bad) */
static inline int64_t cr_values_in_row(const cr_values *v) {
    return v->n - v->off[v->row];
}
void cr_values_drop(cr_values *v);
void cr_values_begin(cr_values *v, bool text, int64_t n_rows, cr_arena *arena);
/* cr_values_default puts the default into a row without values ("": none). */
void cr_values_default(cr_values *v, const char *def, char sep);
/* cr_values_column: as a column, of single values when dim is 1, else of lists */
void cr_values_column(cr_values *v, int64_t n_rows, int64_t dim, cr_column *out);

/* ---- reading inputs ---- */

/* what an input may hold */
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
/* The tokens of one row of an input. Integers are written out. */
typedef struct cr_toks {
    cr_tok *v;
    int64_t n, cap;
    char *num;
    int64_t cap_num;
} cr_toks;
/* cr_toks_row reads row r. keep_empty: empty texts and nulls count as tokens of length 0. */
#define CR_WHOLE_TEXT 256 /* as sep: a text is one token */
void cr_toks_row(cr_toks *t, const cr_column *col, int64_t r, int sep, bool keep_empty,
                 cr_arena *arena);
/* cr_tok_is: the same bytes? */
static inline bool cr_tok_is(cr_tok a, cr_tok b) {
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

/* Key and value pairs of one row. */
typedef struct cr_pair {
    cr_tok key, value; /* value.p NULL: none was given */
    double x;          /* the value as a number, when is_num */
    bool is_num;
} cr_pair;
typedef struct cr_pairs {
    cr_pair *v;
    int64_t n, cap;
    cr_toks toks; /* where keys and values lie */
} cr_pairs;
/* cr_pairs_row reads row r: items of text cut at the first kv, or a map. */
void cr_pairs_row(cr_pairs *t, const cr_column *col, int64_t r, char sep, char kv, cr_arena *arena);
/* cr_pair_number: false: the value is no number */
bool cr_pair_number(const cr_pair *p, double *x);

/* The numbers of one row; false: *bad is no number. */
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
    int64_t n_bad;     /* rows that cr_calc_bad dropped */
    void *scratch;     /* what begin made */
    bool with_default; /* missing rows get the default */
} cr_calc_run;
/* cr_calc_end_row ends the current row, for operators that go over all rows themselves. */
CR_CHECKED cr_code cr_calc_end_row(cr_calc_run *run, cr_err *err);
/* cr_calc_bad reports the current row (out->row) and drops what it made. input -1: no one input is
 * at fault; value.p NULL: no one value is. */
void cr_calc_bad(cr_calc_run *run, int input, cr_tok value, const char *why);

typedef struct cr_calc_input {
    cr_calc_form form;
    const char *constant; /* "const:" input; else column */
    int column;           /* of f->columns */
    const char *name;     /* what a formula calls it */
} cr_calc_input;
#define CR_CALC_MAX_INPUTS 64
typedef enum cr_calc_end {
    CR_END_TOKENS, /* tokens, each to an id */
    CR_END_NUMBER, /* dim numbers per row */
    CR_END_MANY,   /* any count of numbers, each to the id of its bucket */
    CR_END_WHOLE,  /* a number, cut to an integer, is the id (num_buckets) */
} cr_calc_end;
typedef struct cr_calc cr_calc;
/* First in what a type keeps in f->self. */
struct cr_calc {
    bool encoded; /* FG_NONE, FG_BUCKETIZE: the end reads the file */
    char sep;
    cr_calc_end end_kind;
    const char *def; /* default_value */
    int64_t n_ids;   /* END_WHOLE: rows of the table when the operator knows them; 0: num_buckets */
    int64_t dim, most; /* END_NUMBER: numbers per row; END_MANY: values kept, 0: all */
    cr_calc_input in[CR_CALC_MAX_INPUTS];
    int n_in;
    bool is_seq[CR_CALC_MAX_INPUTS]; /* f->is_seq */
    cr_feature *end;
    cr_norm norm; /* END_MANY, END_WHOLE: applied before the end */
    const float *bounds;
    int64_t n_bounds;
    /* the operator: begin (may be NULL) makes scratch for a chunk, row makes the values of one */
    void *(*begin)(const cr_feature *f, cr_arena *arena);
    void (*row)(cr_calc_run *run, int64_t r);
    /* or, in place of both, the values of all rows, each ended by cr_calc_end_row */
    cr_code (*all)(cr_calc_run *run, cr_err *err);
};
/* cr_calc_start: first in build; sets f->self. */
void cr_calc_start(cr_calc *op, cr_feature *f, const cr_calc_conf *c, const cr_data_conf *data);
/* cr_calc_add adds an input "side:column" that stands in `field` (item of a repeated one, or -1).
 * Returns its number, -1 after an error. In FG_NONE nothing is read and nothing checked. */
int cr_calc_add(cr_calc *op, cr_feature *f, const char *field, int64_t item, const char *text,
                cr_calc_form form, const cr_data_conf *data, cr_arena *arena, cr_diag *diag);
/* cr_calc_finish: last in build. dim: numbers per row of END_NUMBER; begin, row are set before. */
void cr_calc_finish(cr_calc *op, cr_feature *f, const cr_calc_conf *c, cr_calc_end kind,
                    int64_t dim, const cr_data_conf *data, cr_arena *arena, cr_diag *diag);
/* encode and refuses of all these types */
CR_CHECKED cr_code cr_calc_encode(const cr_feature *f, const cr_chunk *in, cr_feat_out *out,
                                  cr_err *err);
bool cr_calc_gives_numbers(const cr_feature *f);
CR_CHECKED cr_code cr_calc_give(const cr_feature *f, const cr_chunk *in, cr_column *out,
                                cr_arena *arena, cr_bad *bad, cr_err *err);
const char *cr_calc_refuses(const cr_feature *f, int k, const cr_colkind *kind);
/* cr_calc_sample, first in the sample of these types: the number of the input that column k is, -1
 * when the end reads the column and has said what it holds */
int cr_calc_sample(const cr_feature *f, int k, const cr_sampler *s, cr_tab_col *out);
/* cr_calc_sample_plain: `sample` of a type that takes any tokens or numbers */
void cr_calc_sample_plain(const cr_feature *f, int k, const cr_sampler *s, cr_tab_col *out);
/* cr_calc_sample_value: what the end makes something of; any number, or token, without an end */
void cr_calc_sample_value(const cr_feature *f, const cr_sampler *s, cr_tab_value *out);
/* cr_calc_sample_link: the column of an input as one of v[*n] */
void cr_calc_sample_link(const cr_feature *f, int input, const cr_sampler *s, int *v, int *n);
/* does the config ask for ids of tokens? */
bool cr_calc_has_vocab(const cr_calc_conf *c);

/* ---- fg.json ---- */

/* cr_calc_fg_open begins the object: type, name, default, value_type ("" none), separator. */
void cr_calc_fg_open(const cr_feature *f, const cr_calc_conf *c, const char *value_type, cr_jw *w);
/* cr_calc_fg_close ends it: normalizer, what makes ids, stub_type. */
void cr_calc_fg_close(const cr_feature *f, const cr_calc_conf *c, cr_jw *w);

/* how several numbers become one */
typedef enum cr_combiner {
    CR_COMBINE_SUM,
    CR_COMBINE_MEAN,
    CR_COMBINE_MIN,
    CR_COMBINE_MAX,
    CR_COMBINE_COUNT,
    CR_COMBINE_NONE, /* "": each stays */
} cr_combiner;
/* cr_combiner_of: false after an error (unknown word) */
bool cr_combiner_of(cr_combiner *out, const cr_feature *f, const void *conf, const char *word,
                    bool all, cr_diag *diag);
double cr_combine(cr_combiner c, const double *x, int64_t n);
/* cr_combiner_fg writes the key of fg.json, in small letters */
void cr_combiner_fg(cr_jw *w, const char *word);

#endif
