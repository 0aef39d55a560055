/*
 * feat.h - features: columns in, ids and floats out. The same code runs in train, eval and predict.
 *
 * A feature type is one file with its config message, `build` (config -> cr_feature, vocabularies
 * read, everything checked) and `encode` (columns of a chunk -> jagged ids or dense floats).
 */
#ifndef CR_FEAT_FEAT_H
#define CR_FEAT_FEAT_H

#include "base/json.h"
#include "data/batch.h"
#include "data/config.h"
#include "data/load/loader.h"
#include "data/nulls.h"

typedef struct cr_feature cr_feature;
typedef struct cr_feature_type cr_feature_type;
typedef struct cr_sampler cr_sampler;
struct cr_tab_col;
typedef enum cr_dense_emb { CR_DENSE_PLAIN, CR_DENSE_AUTODIS, CR_DENSE_MLP } cr_dense_emb;

/* What encoding met of one feature, in rows that were left out as bad too. A chunk has its own
 * (cr_features_counts); they are added in the order of the stream, so sums are those of the data
 * and not of threads. Zeros: nothing yet. */
typedef struct cr_feature_counts {
    int64_t rows;
    int64_t steps;        /* of a sequence */
    int64_t ids;          /* made from values; not those of defaults */
    int64_t missing;      /* rows, or steps of a sequence, without a value: the default was used */
    int64_t masked;       /* rows whose value was hidden (use_mask); they are missing, too */
    int64_t out_of_range; /* ids outside [0, num_embeddings), taken as 0 */
    int64_t first_bad;    /* the first of those ids (INT64_MAX: larger than 64 bits) */
    int64_t unknown;      /* values that its vocabulary does not list */
    int64_t not_finite;   /* rows or steps with NaN, an infinity, more than float32 holds: bad */
    int64_t unparsable;   /* rows or steps with what is no number, or too many or few: bad */
    int64_t truncated;    /* rows whose sequence was cut to sequence_length */
    int64_t cut;          /* rows or steps with more values than value_dim */
    uint64_t first_row;   /* what the first row became, as a hash */
    bool varies;          /* some row became something else */
} cr_feature_counts;

/* A feature whose rows are sequences; its type works on steps as if they were rows (seq.c). */
typedef struct cr_seq {
    const char *name;  /* of the sequence_feature block it stands in; NULL: stand-alone */
    const char *sep;   /* between that and the name of a column, cr_group_sep */
    const void *block; /* that block's cr_sequence_conf; NULL: stand-alone */
    int first;         /* first feature of the block in cr_features.v; all have the same steps */
    int64_t length;    /* most steps kept; 0: all, as always in FG_NONE */
    const char *delim; /* between the steps of a text */
    size_t n_delim;
    bool fill;   /* a row without values has one step, the default; else it has none */
    bool single; /* FG_NONE: a step of a text is one id */
} cr_seq;

#define CR_FEAT_ASSETS 3
/* What the rest of crank needs to know of a feature. Lives in the job arena. */
/* How a feature reads the numbers of its column. In TorchEasyRec the form of the column decides with
 * which precision they are normalized and what a missing one means. The data of the training decides
 * once, whatever the data of a later prediction is (cr_features_check, cr_features_adopt). */
typedef enum cr_number_form {
    CR_FORM_OPEN,    /* not decided yet, or no such feature */
    CR_FORM_TEXT,    /* a text: double precision */
    CR_FORM_TEXTS,   /* a list of texts that become ids: double precision */
    CR_FORM_LIST,    /* a list of numbers: single precision */
    CR_FORM_NUMBERS, /* a number: single precision; a missing one is 0 before boundaries */
} cr_number_form;

struct cr_feature {
    const cr_feature_type *type;
    const char *name;
    const void *conf;
    cr_loc at; /* in the config */

    bool sparse;                /* goes through a table; else dense */
    int64_t num_embeddings;     /* sparse: table rows */
    int spare_rows;             /* how many of the last rows no id leads to */
    int64_t embedding_dim;      /* sparse and autodis/mlp */
    const char *embedding_name; /* NULL: "<name>_emb" */
    bool mean;                  /* pooling: mean, else sum */
    bool weighted;
    const char *init_fn; /* NULL: default */
    bool trainable;
    int half; /* storage of the table's weights: 0 FP32, else CR_HALF_… of kern.h (data_type) */
    int64_t value_dim; /* dense: floats */
    cr_dense_emb dense_emb;
    const struct cr_autodis_conf *autodis; /* feat/config.h; with CR_DENSE_AUTODIS */

    /* input columns, and where the output lies in a batch */
    const char **columns;
    int n_columns;
    const char *raw_cure; /* of values that are no ids: see cr_encoded_cure; NULL: none */
    const char *place;    /* what messages call the values it reads: column 'a', feature 'b' */
    const int *col_idx;   /* of the inputs in the chunk */
    int slot;             /* sparse: index into batch->sparse; dense sequence: into dense_seq */
    int64_t dense_off;    /* dense: first float in a row of batch->dense */
    const cr_seq *seq;    /* set before build; NULL: no sequence */
    const bool *is_seq; /* sequence: per column, is it one (else a value for all steps of its row);
                           NULL: all are */
    bool spread;        /* sequence: an input of one step stands for all steps of its row */
    bool mask;          /* use_mask: has no value in hidden rows of a chunk */
    bool token_steps;   /* sequence: its own values are the steps, inputs are not cut */
    cr_number_form form;
    bool stub;          /* stub_type: only gives its value to others, in no batch */
    int given;          /* to other features (FG_DAG): which forms, see feat_int.h */
    void *self;         /* the type's own */

    size_t row_scratch;    /* bytes of scratch encode needs per row of a chunk */
    struct cr_asset {      /* files it needs, for an export */
        const char *field; /* of its config: "vocab_file" */
        const char *path;  /* as found (asset_dir applied) */
        const char *name;  /* of the copy in an export directory, as fg.json says */
        uint64_t hash;     /* of the content, which has `size` bytes */
        size_t size;
    } assets[CR_FEAT_ASSETS];
    int n_assets;
};

/* What encode fills for one feature over one chunk. */
typedef struct cr_feat_out {
    cr_arena *arena;
    cr_jagged *ids;       /* sparse */
    float *dense;         /* dense: first float of row 0 */
    int64_t dense_stride; /* floats from row to row */
    void *scratch;        /* n_rows * f->row_scratch bytes, 64-byte aligned */
    cr_bad *bad;
    cr_feature_counts *counts; /* to be added to */
} cr_feat_out;

struct cr_feature_type {
    const char *name; /* the oneof's key: "id_feature" */
    /* fills f (name, kind, sizes, columns …). All mistakes to diag. */
    void (*build)(cr_feature *f, const void *conf, const cr_data_conf *data, cr_arena *arena,
                  cr_diag *diag);
    CR_CHECKED cr_code (*encode)(const cr_feature *f, const cr_chunk *in, cr_feat_out *out,
                                 cr_err *err);
    void (*fg_json)(const cr_feature *f, cr_jw *w); /* one object of fg.json (reference 4.8) */
    /* refuses: what the feature needs when it cannot read such a column as its columns[k], else
     * NULL */
    const char *(*refuses)(const cr_feature *f, int k, const cr_colkind *kind);
    /* form: how it reads the numbers of such a column; NULL: it reads none, or all in one way */
    cr_number_form (*form)(const cr_feature *f, cr_coltype type, int depth);
    /* FG_DAG: what others read of the feature - is it numbers? - and making it */
    bool (*gives_numbers)(const cr_feature *f);
    CR_CHECKED cr_code (*give)(const cr_feature *f, const cr_chunk *in, cr_column *out,
                               cr_arena *arena, cr_bad *bad, cr_err *err);
    /* made-up data (sample.h): what the feature's columns[k] may hold, into out, which says one
     * token per row so far; NULL: that is it */
    void (*sample)(const cr_feature *f, int k, const cr_sampler *s, struct cr_tab_col *out);
};

/* FeatureConfig (a oneof of all feature types), member.type is cr_feature_type* */
extern const cr_oneof cr_feature_family;
extern const cr_msg cr_feature_msg;
typedef struct cr_feature_conf {
    cr_conf_base base;
    cr_choice feature;
} cr_feature_conf;

/* All features of a run plus labels, weights and reserved columns: what a chunk must hold and how
 * it becomes a batch. */
typedef struct cr_features {
    cr_feature **v;
    int n, n_sparse, n_dense_seq;
    int64_t dense_width;
    int *order; /* of encoding: a feature comes after those it reads */
    bool gives; /* some feature reads another */
    /* nanoseconds that encoding took, per feature; NULL: they are not measured */
    atomic_llong *times;
    cr_nulls nulls; /* texts that mean a missing value */
    bool by_name;   /* columns hold what features would make (FG_NONE, FG_BUCKETIZE) */
    cr_want *want;  /* columns to read: inputs, labels, weights, reserved; each name once */
    int n_want;
    const char **labels;
    int n_labels;
    int *label_col;
    struct cr_label_rule {
        int64_t K;       /* 0: any number; 1: any share 0 .. 1; else whole numbers 0 .. K - 1 */
        const char *who; /* the loss that asks for it */
    } * label_rules;     /* per label */
    const struct cr_label_map *const *label_maps; /* per label; NULL: its cells are numbers */
    const char **weights;
    int n_weights;
    int *weight_col;
    int n_reserved;
    int *reserved_col;
    int split_col; /* the column of data_config.eval_fraction_field; -1: none */
} cr_features;
/* cr_features_new builds all features. confs: FeatureConfig structs. with_labels: train and eval;
 * reserved: columns to carry along (predict). Returns NULL when diag got errors. */
cr_features *cr_features_new(cr_arena *arena, const cr_msgs *confs, const cr_data_conf *data,
                             bool with_labels, const char *const *reserved, int n_reserved,
                             cr_diag *diag);
/* cr_features_label_rule: rows whose label breaks the rule are bad rows from now on; the stricter
 * of several rules of one label stays. who is kept. */
void cr_features_label_rule(cr_features *fs, int label, int64_t K, const char *who);
/* cr_features_check_labels: numbers of label_map that break the rules, each once, to diag */
void cr_features_check_labels(const cr_features *fs, cr_diag *diag);
const cr_feature *cr_features_find(const cr_features *fs, const char *name);
/* cr_features_encode is the cr_encode_fn of the loader; ctx is the cr_features. Thread safe. */
cr_code cr_features_encode(void *ctx, const cr_chunk *chunk, cr_batch *out, cr_bad *bad,
                           cr_err *err);
/* cr_features_values: per feature what it is before ids, a column of the chunk's rows: tokens, or
 * numbers after the normalizer, the default where there is none; a sequence has a list of steps.
 * depth CR_NO_VALUES: columns hold that already (FG_NONE, FG_BUCKETIZE). out has fs->n places. */
#define CR_NO_VALUES (-1)
CR_CHECKED cr_code cr_features_values(const cr_features *fs, const cr_chunk *chunk, cr_column *out,
                                      cr_arena *arena, cr_err *err);
/* cr_dag_feature: the feature that gives a column of f->col_idx, -1: it is one of the file */
int cr_dag_feature(const cr_features *fs, int column);
/* cr_features_check is the loader's check: columns that features, labels and weights cannot read. It
 * also decides the forms of numbers that are open. */
void cr_features_check(const void *ctx, const cr_colkind *kinds, cr_diag *diag);
/* fg.json text of all features */
void cr_features_fg_json(const cr_features *fs, cr_buf *out);
/* ---- what the numbers mean (meaning.c) ---- */

/* A list of features whose order counts: the inputs of a layer stand side by side in it. conf has a
 * field feature_names, for messages. */
typedef struct cr_feature_order {
    const char *name;
    const void *conf;
    cr_strs names;
} cr_feature_order;
/* cr_features_meaning writes everything that decides which ids and floats a cell becomes, and where
 * they go, as JSON (features.json of checkpoints and exports). Equal texts mean equal numbers. */
void cr_features_meaning(const cr_features *fs, const cr_data_conf *data,
                         const cr_feature_order *orders, int n_orders, cr_buf *out);
/* cr_features_adopt takes over what the training decided by its data from such a text: the forms of
 * numbers. A text that is damaged, or that does not say, decides nothing. */
void cr_features_adopt(cr_features *fs, const char *was);
/* cr_features_same_meaning compares the features with such a text `was`, which the model at `path`
 * holds: each difference is a message of severity sev at its place in the config, and counted in
 * *n. Features and orders that only one side has are left to the comparison of parameters. */
CR_CHECKED cr_code cr_features_same_meaning(const cr_features *fs, const cr_data_conf *data,
                                            const cr_feature_order *orders, int n_orders,
                                            const char *was, const char *path, cr_sev sev, int *n,
                                            cr_diag *diag);
/* ---- counts (counts.c) ---- */

/* counts of a batch that cr_features_encode made, one per feature of cr_features.v */
const cr_feature_counts *cr_features_counts(const cr_batch *b);
size_t cr_features_counts_size(const cr_features *fs); /* bytes */
/* cr_features_counts_add is the loader's tally_add: `from` comes behind `to` in the stream. */
void cr_features_counts_add(void *to, const void *from, size_t size);
/* cr_features_compare fills rows, steps, first_row and varies of feature f from the batch. */
void cr_features_compare(const cr_feature *f, const cr_batch *b, cr_feature_counts *c);
/* is it the same in all rows? */
static inline bool cr_counts_constant(const cr_feature_counts *c) {
    return c->rows > 1 && !c->varies;
}
/* has no row a value of its own? */
static inline bool cr_counts_absent(const cr_feature *f, const cr_feature_counts *c) {
    return c->rows > c->masked && c->missing >= (f->seq ? c->steps : c->rows);
}

#endif
