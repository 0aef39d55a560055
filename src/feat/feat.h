/*
 * feat.h - features turn columns into ids and floats. The same code runs in train, eval and
 * predict.
 *
 * A feature type is one file with its config message, `build` (makes a cr_feature from the config,
 * reads vocabularies, checks everything) and `encode` (turns the columns of a chunk into jagged ids
 * or dense floats).
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
typedef enum cr_dense_emb {
    CR_DENSE_PLAIN,
    CR_DENSE_AUTODIS,
    CR_DENSE_MLP,
    CR_DENSE_PIECEWISE,
    CR_DENSE_PERIODIC
} cr_dense_emb;

/* What encoding met of one feature, in bad rows too, which are left out. Each chunk has its own
 * counts (cr_features_counts); they are added in the order of the stream, so sums do not depend on
 * threads. All zeros: nothing was counted yet. */
typedef struct cr_feature_counts {
    int64_t rows;
    int64_t steps;        /* of a sequence */
    int64_t ids;          /* ids made from values, without those of defaults */
    int64_t missing;      /* rows, or steps of a sequence, without a value; they got the default */
    int64_t masked;       /* rows whose value was hidden (use_mask); they also count as missing */
    int64_t out_of_range; /* ids outside [0, num_embeddings), taken as 0 */
    int64_t first_bad;    /* the first such id (INT64_MAX: larger than 64 bits) */
    int64_t unknown;      /* values that its vocabulary does not list */
    int64_t not_finite;   /* bad rows or steps: NaN, an infinity, or more than float32 holds */
    /* bad rows or steps: a value is not a number, or there are too many or too few */
    int64_t unparsable;
    int64_t truncated;  /* rows whose sequence was cut to sequence_length */
    int64_t cut;        /* rows or steps with more values than value_dim */
    uint64_t first_row; /* a hash of the result of the first row */
    bool varies;        /* another row has another result */
} cr_feature_counts;

/* A feature whose rows are sequences; its type works on steps as if they were rows (seq.c). */
typedef struct cr_seq {
    const char *name;  /* name of the sequence_feature block that holds it; NULL: stand-alone */
    const char *sep;   /* stands between that name and the name of a column: cr_group_sep */
    const void *block; /* the block's cr_sequence_conf; NULL: stand-alone */
    int first;         /* first feature of the block in cr_features.v; all have the same steps */
    int64_t length;    /* most steps that are kept; 0: all, as always in FG_NONE */
    const char *delim; /* stands between the steps of a text */
    size_t n_delim;
    bool fill;   /* a row without values has one step with the default; else it has no step */
    bool single; /* FG_NONE: a step of a text is one id */
} cr_seq;

#define CR_FEAT_ASSETS 3
/* How a feature reads the numbers of its column. In TorchEasyRec the form of the column decides the
 * precision in which they are normalized and the meaning of a missing number. Here the training
 * data decides that once, whatever the data of a later prediction looks like (cr_features_check,
 * cr_features_adopt). */
typedef enum cr_number_form {
    CR_FORM_OPEN,    /* not decided yet, or the feature reads no numbers */
    CR_FORM_TEXT,    /* a text: double precision */
    CR_FORM_TEXTS,   /* a list of texts that become ids: double precision */
    CR_FORM_LIST,    /* a list of numbers: single precision */
    CR_FORM_NUMBERS, /* a number: single precision; a missing one is 0 before boundaries */
} cr_number_form;

/* A feature: what the rest of crank needs to know about it. It lives in the job arena. */
struct cr_feature {
    const cr_feature_type *type;
    const char *name;
    const void *conf;
    cr_loc at; /* place in the config */

    bool sparse;            /* it has an embedding table; else it is dense */
    int64_t num_embeddings; /* sparse: number of table rows */
    /* feat/config.h; with one of them its ids have 63 bits and get their rows from a map; NULL:
     * they are rows */
    const struct cr_zch_conf *zch;
    const struct cr_demb_conf *demb;
    const struct cr_grow_conf *grow;
    int spare_rows;             /* number of last rows that no id leads to */
    int64_t embedding_dim;      /* sparse and autodis/mlp */
    const char *embedding_name; /* NULL: "<name>_emb" */
    bool mean;                  /* pooling: mean, else sum */
    bool weighted;
    const char *init_fn; /* NULL: the default */
    bool trainable;
    int half; /* storage of the table's weights: 0 FP32, else CR_HALF_… of kern.h (data_type) */
    int64_t value_dim; /* dense: floats */
    cr_dense_emb dense_emb;
    const void *dense_conf; /* its settings, cr_autodis_conf ... (feat/config.h); MLP has none */

    /* the input columns, and where the output lies in a batch */
    const char **columns;
    int n_columns;
    /* how to cure values that are not ids, see cr_encoded_cure; NULL: no hint */
    const char *raw_cure;
    const char *place;  /* how messages call the values that it reads: column 'a', feature 'b' */
    const int *col_idx; /* indices of the inputs in the chunk */
    int slot;           /* sparse: index into batch->sparse; dense sequence: into dense_seq */
    int64_t dense_off;  /* dense: first float in a row of batch->dense */
    const cr_seq *seq;  /* set before build; NULL: not a sequence */
    /* sequence: which columns are sequences (the others hold one value for all steps of their row);
     * NULL: all are */
    const bool *is_seq;
    bool spread;      /* sequence: an input of one step stands for all steps of its row */
    bool mask;        /* use_mask: it has no value in the hidden rows of a chunk */
    bool token_steps; /* sequence: its own values are the steps; inputs are not cut into steps */
    cr_number_form form;
    /* stub_type: it only gives its value to other features and is in no batch */
    bool stub;
    int given;  /* forms that it gives to other features (FG_DAG), see feat_int.h */
    void *self; /* data of the feature's type */

    size_t row_scratch;    /* bytes of scratch that encode needs per row of a chunk */
    struct cr_asset {      /* files that it needs in an export */
        const char *field; /* field of its config: "vocab_file" */
        const char *path;  /* path where it was found (asset_dir is applied) */
        const char *name;  /* name of the copy in an export directory, as fg.json has it */
        uint64_t hash;     /* hash of the content, which has `size` bytes */
        size_t size;
    } assets[CR_FEAT_ASSETS];
    int n_assets;
};

/* cr_feature_mapped: a map gives the ids their rows. */
static inline bool cr_feature_mapped(const cr_feature *f) {
    return f->zch || f->demb || f->grow;
}
/* cr_feature_grows: its table has as many rows as there are ids (emb/grow.h). */
static inline bool cr_feature_grows(const cr_feature *f) {
    return f->demb || f->grow;
}

/* What encode fills for one feature over one chunk. */
typedef struct cr_feat_out {
    cr_arena *arena;
    cr_jagged *ids;       /* sparse */
    float *dense;         /* dense: first float of row 0 */
    int64_t dense_stride; /* floats from row to row */
    void *scratch;        /* n_rows * f->row_scratch bytes, 64-byte aligned */
    cr_bad *bad;
    cr_feature_counts *counts; /* encode adds to them */
} cr_feat_out;

struct cr_feature_type {
    const char *name; /* key in the oneof: "id_feature" */
    /* build fills f (name, kind, sizes, columns …). All mistakes go to diag. */
    void (*build)(cr_feature *f, const void *conf, const cr_data_conf *data, cr_arena *arena,
                  cr_diag *diag);
    CR_CHECKED cr_code (*encode)(const cr_feature *f, const cr_chunk *in, cr_feat_out *out,
                                 cr_err *err);
    void (*fg_json)(const cr_feature *f, cr_jw *w); /* writes one object of fg.json */
    /* refuses says what the feature needs when it cannot read such a column as its columns[k];
     * NULL: it can. */
    const char *(*refuses)(const cr_feature *f, int k, const cr_colkind *kind);
    /* form says how it reads the numbers of such a column; NULL: it reads none, or all in one
     * way. */
    cr_number_form (*form)(const cr_feature *f, cr_coltype type, int depth);
    /* FG_DAG: is what other features read of it numbers? And the function that makes it. */
    bool (*gives_numbers)(const cr_feature *f);
    CR_CHECKED cr_code (*give)(const cr_feature *f, const cr_chunk *in, cr_column *out,
                               cr_arena *arena, cr_bad *bad, cr_err *err);
    /* For made-up data (sample.h): describes in out what the feature's columns[k] may hold. out
     * starts as one token per row; NULL: that is right. */
    void (*sample)(const cr_feature *f, int k, const cr_sampler *s, struct cr_tab_col *out);
};

/* FeatureConfig is a oneof of all feature types; member.type is a cr_feature_type*. */
extern const cr_oneof cr_feature_family;
extern const cr_msg cr_feature_msg;
typedef struct cr_feature_conf {
    cr_conf_base base;
    cr_choice feature;
} cr_feature_conf;

/* All features of a run plus labels, weights and reserved columns: the columns that a chunk must
 * hold, and how it becomes a batch. */
typedef enum cr_clock_unit {
    CR_CLOCK_SECONDS,
    CR_CLOCK_MILLISECONDS,
    CR_CLOCK_DAYS,
    CR_CLOCK_DATE,
    CR_CLOCK_NONE
} cr_clock_unit;

typedef struct cr_features {
    cr_feature **v;
    int n, n_sparse, n_dense_seq;
    int64_t dense_width;
    int *order; /* order of encoding: a feature comes after those that it reads */
    bool gives; /* a feature reads another one */
    /* nanoseconds that encoding took, per feature; NULL: they are not measured */
    atomic_llong *times;
    cr_nulls nulls; /* texts that mean a missing value */
    bool by_name;   /* columns hold the results of features (FG_NONE, FG_BUCKETIZE) */
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
    /* The column of data_config.clock_field is read as one more weight, the last one, whose numbers
     * are days (clock.h). */
    cr_clock_unit clock_unit; /* CR_CLOCK_NONE: there is none */
    int n_reserved;
    int *reserved_col;
    int split_col; /* the column of data_config.eval_fraction_field; -1: none */
    cr_skip *skip; /* the rows of data_config.skip_rows, which train and eval leave out */
    int n_skip;
} cr_features;
/* cr_features_clock returns which of a batch's weights holds the days of rows; -1: none.
 * cr_features_row_weights returns how many are weights of rows. */
static inline int cr_features_clock(const cr_features *fs) {
    return fs->clock_unit == CR_CLOCK_NONE ? -1 : fs->n_weights - 1;
}
static inline int cr_features_row_weights(const cr_features *fs) {
    return fs->n_weights - (fs->clock_unit != CR_CLOCK_NONE);
}
/* cr_features_new builds all features. confs are FeatureConfig structs; with_labels is for train
 * and eval; reserved are columns to carry along (predict). Returns NULL when diag got errors. */
cr_features *cr_features_new(cr_arena *arena, const cr_msgs *confs, const cr_data_conf *data,
                             bool with_labels, const char *const *reserved, int n_reserved,
                             cr_diag *diag);
/* cr_features_label_rule: from now on a row whose label breaks the rule is a bad row. When a label
 * has several rules, the strictest one holds. who is kept. */
void cr_features_label_rule(cr_features *fs, int label, int64_t K, const char *who);
/* cr_features_check_labels reports the numbers of label_map that break the rules, each once. */
void cr_features_check_labels(const cr_features *fs, cr_diag *diag);
const cr_feature *cr_features_find(const cr_features *fs, const char *name);
/* cr_features_encode is the cr_encode_fn of the loader; ctx is the cr_features. Thread safe. */
cr_code cr_features_encode(void *ctx, const cr_chunk *chunk, cr_chunk_rows *to, cr_bad *bad,
                           cr_err *err);
/* cr_features_values gives for each feature its values before they become ids, as a column of the
 * chunk's rows: tokens, or numbers after the normalizer, with the default where a value is missing;
 * a sequence has a list of steps. depth CR_NO_VALUES: the file's columns hold results already
 * (FG_NONE, FG_BUCKETIZE). out has fs->n places. */
#define CR_NO_VALUES (-1)
CR_CHECKED cr_code cr_features_values(const cr_features *fs, const cr_chunk *chunk, cr_column *out,
                                      cr_arena *arena, cr_err *err);
/* cr_dag_feature returns the feature that gives a column of f->col_idx; -1: the column is one of
 * the file. */
int cr_dag_feature(const cr_features *fs, int column);
/* cr_features_check is the loader's check: it reports columns that features, labels and weights
 * cannot read. It also decides the forms of numbers that are still open. */
void cr_features_check(const void *ctx, const cr_colkind *kinds, cr_diag *diag);
/* Writes the fg.json text of all features. */
void cr_features_fg_json(const cr_features *fs, cr_buf *out);
/* ---- what the numbers mean (meaning.c) ---- */

/* A list of features whose order matters, because the inputs of a layer stand side by side in it.
 * conf has a field feature_names, for messages. */
typedef struct cr_feature_order {
    const char *name;
    const void *conf;
    cr_strs names;
} cr_feature_order;
/* cr_features_meaning writes everything that decides which ids and floats a cell becomes, and where
 * they go, as JSON (features.json of checkpoints and exports). Equal texts mean equal numbers. */
void cr_features_meaning(const cr_features *fs, const cr_data_conf *data,
                         const cr_feature_order *orders, int n_orders, cr_buf *out);
/* cr_features_adopt takes over from such a text what the training data decided: the forms of
 * numbers. A text that is damaged, or that does not say, decides nothing. */
void cr_features_adopt(cr_features *fs, const char *was);
/* cr_features_same_meaning compares the features with such a text `was`, which the model at `path`
 * holds. It reports each difference with severity sev at its place in the config, and counts it in
 * *n. Features and orders that only one side has are left to the comparison of parameters. */
CR_CHECKED cr_code cr_features_same_meaning(const cr_features *fs, const cr_data_conf *data,
                                            const cr_feature_order *orders, int n_orders,
                                            const char *was, const char *path, cr_sev sev, int *n,
                                            cr_diag *diag);
/* ---- counts (counts.c) ---- */

/* Returns the counts of the rows that cr_features_encode made, one per feature of cr_features.v. */
const cr_feature_counts *cr_features_counts(const cr_chunk_rows *e);
size_t cr_features_counts_size(const cr_features *fs); /* bytes */
/* cr_features_counts_add is the loader's tally_add: `from` comes behind `to` in the stream. */
void cr_features_counts_add(void *to, const void *from, size_t size);
/* cr_features_compare fills rows, steps, first_row and varies of feature f from the batch. */
void cr_features_compare(const cr_feature *f, const cr_batch *b, cr_feature_counts *c);
/* Is the feature the same in all rows? */
static inline bool cr_counts_constant(const cr_feature_counts *c) {
    return c->rows > 1 && !c->varies;
}
/* Has no row a value of its own? */
static inline bool cr_counts_absent(const cr_feature *f, const cr_feature_counts *c) {
    return c->rows > c->masked && c->missing >= (f->seq ? c->steps : c->rows);
}

#endif
