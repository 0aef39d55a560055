/*
 * config.h - the feature messages as structs: IdFeature, RawFeature and what they hold.
 */
#ifndef CR_FEAT_CONFIG_H
#define CR_FEAT_CONFIG_H

#include "feat/feat.h"

/* ParameterConstraints: how tables may be split over ranks; it does not change results. */
typedef struct cr_constraints_conf {
    cr_conf_base base;
    cr_strs sharding_types;
    cr_strs compute_kernels;
} cr_constraints_conf;
extern const cr_msg cr_constraints_msg;

/* ZeroCollisionHash, and its policies. */
typedef struct cr_zch_policy_conf {
    cr_conf_base base;
    double decay_exponent; /* lfu has none */
} cr_zch_policy_conf;
typedef struct cr_zch_conf {
    cr_conf_base base;
    uint64_t zch_size;
    int64_t eviction_interval;
    cr_choice eviction_policy; /* conf: cr_zch_policy_conf */
    const char *threshold_filtering_func;
} cr_zch_conf;
#define CR_ZCH_MOST ((uint64_t)1 << 31) /* rows */
extern const cr_msg cr_zch_msg;

/* DynamicEmbedding, its admission and its first values. cr_conf_has tells which numbers are
 * given. */
typedef struct cr_demb_init_conf {
    cr_conf_base base;
    const char *mode;
    double mean, std_dev, lower, upper, value;
} cr_demb_init_conf;
typedef struct cr_demb_admit_conf {
    cr_conf_base base;
    uint64_t threshold;
    cr_demb_init_conf *initializer_args;
    uint64_t counter_capacity, counter_bucket_capacity;
} cr_demb_admit_conf;
typedef struct cr_demb_conf {
    cr_conf_base base;
    cr_demb_init_conf *initializer_args, *eval_initializer_args;
    const char *score_strategy;
    uint64_t max_capacity;
    double cache_load_factor;
    uint64_t init_capacity_per_rank;
    const char *init_table;
    uint64_t bucket_capacity;
    cr_choice admission_strategy; /* conf: cr_demb_admit_conf; m NULL: every id at once */
} cr_demb_conf;
extern const cr_msg cr_dynamicemb_msg;

/* GrowingTable, its admission and its expiry. */
typedef struct cr_grow_admit_conf {
    cr_conf_base base;
    uint64_t threshold, max_counters; /* frequency_admission */
    uint64_t cells;                   /* sketch_admission */
    double max_error;
    double probability; /* probability_admission */
} cr_grow_admit_conf;
typedef struct cr_grow_expiry_conf {
    cr_conf_base base;
    int64_t interval_steps, unseen_steps, unseen_days;
    double decay_rate, least_score;
} cr_grow_expiry_conf;
/* CtrAccessor, and the rules of the two parts of its rows. */
typedef struct cr_ctr_rule_conf {
    cr_conf_base base;
    double learning_rate, initial_g2sum, initial_range;
    double beta1_decay_rate, beta2_decay_rate, ada_epsilon;
    cr_floats weight_bounds; /* none, or two */
} cr_ctr_rule_conf;
typedef struct cr_ctr_sgd_conf {
    cr_conf_base base;
    cr_choice rule; /* conf: cr_ctr_rule_conf */
} cr_ctr_sgd_conf;
typedef struct cr_ctr_conf {
    cr_conf_base base;
    int pull; /* cr_ctr_form of op/ctr.h */
    double embedx_threshold;
    cr_ctr_sgd_conf *embed_sgd, *embedx_sgd; /* NULL: not given */
    double nonclk_coeff, click_coeff;
    double base_threshold, delta_threshold, delta_keep_days;
    double show_click_decay_rate, delete_threshold, delete_after_unseen_days;
    bool show_scale, sum_gradients, zero_init;
    const char *click_field, *show_field;
    int64_t slot; /* valid only if it is given (cr_conf_has) */
} cr_ctr_conf;
extern const cr_msg cr_ctr_msg;
/* cr_ctr_rule_number returns the number of a rule, which is its cr_ctr_sgd of emb/ctr.h. */
int cr_ctr_rule_number(const cr_choice *c);

typedef struct cr_grow_conf {
    cr_conf_base base;
    uint64_t max_rows, bucket_rows; /* max_rows 0: not given */
    cr_choice eviction_policy;      /* conf: cr_zch_policy_conf; m NULL: nobody leaves */
    cr_choice admission;            /* conf: cr_grow_admit_conf; m NULL: every id at once */
    cr_grow_expiry_conf *expiry;    /* NULL: not given */
    double absent_value;
    bool counts;
    uint64_t expected_rows;
    cr_ctr_conf *ctr_accessor; /* NULL: not given */
} cr_grow_conf;
extern const cr_msg cr_growing_msg;
extern const cr_oneof cr_grow_policy_family;
/* cr_grow_conf_rows returns how many rows there may be, or are expected to be. */
int64_t cr_grow_conf_rows(const cr_grow_conf *c);

/* IdFeature. A text field that was not given is "". */
typedef struct cr_id_conf {
    cr_conf_base base;
    const char *feature_name;
    const char *expression;
    const char *embedding_name;
    int64_t embedding_dim;
    uint64_t hash_bucket_size; /* 0: not given; the same holds for num_buckets */
    uint64_t num_buckets;
    cr_strs vocab_list;
    cr_conf_map vocab_dict;
    const char *vocab_file;
    const char *asset_dir;
    /* cr_conf_has tells whether it is given, since 0 is a value */
    uint64_t default_bucketize_value;
    cr_zch_conf *zch; /* NULL: not given; the same holds for the next two */
    cr_demb_conf *dynamicemb;
    cr_grow_conf *growing;
    int64_t value_dim;   /* 0: all values */
    const char *pooling; /* "sum" or "mean" */
    const char *default_value;
    const char *separator; /* one byte */
    bool weighted;
    const char *fg_value_type;
    const char *init_fn;
    bool use_mask;
    const char *fg_encoded_default_value;
    bool trainable;
    bool stub_type;
    const char *data_type; /* "FP32" */
    cr_constraints_conf *embedding_constraints;
    int64_t sequence_length;
    const char *sequence_delim;
    cr_strs sequence_fields;
    const char *pretrained_path, *pretrained_tensor; /* "": the table starts from init_fn */
    const char *python2_hash;                        /* "": hash_bucket_size hashes the value */
} cr_id_conf;
extern const cr_msg cr_id_msg;

/* RawFeature */
typedef struct cr_raw_conf {
    cr_conf_base base;
    const char *feature_name;
    const char *expression;
    const char *embedding_name;
    int64_t embedding_dim; /* 0: not given */
    cr_floats boundaries;  /* strictly ascending as float32 */
    const char *normalizer;
    cr_choice dense_emb; /* m NULL: a plain number */
    int64_t value_dim;
    const char *pooling;
    const char *default_value;
    const char *separator; /* one byte */
    const char *init_fn;
    bool use_mask;
    const char *fg_encoded_default_value;
    bool trainable;
    bool stub_type;
    const char *data_type;
    cr_constraints_conf *embedding_constraints;
    int64_t sequence_length;
    const char *sequence_delim;
    cr_strs sequence_fields;
    const char *pretrained_path, *pretrained_tensor; /* "": the table starts from init_fn */
} cr_raw_conf;
extern const cr_msg cr_raw_msg;

/* SequenceFeature: features of the steps of sequences that run side by side. */
typedef struct cr_sequence_conf {
    cr_conf_base base;
    const char *sequence_name;
    int64_t sequence_length;
    const char *sequence_delim;
    const char *sequence_pk;
    cr_msgs features; /* cr_feature_conf */
} cr_sequence_conf;
extern const cr_msg cr_sequence_msg;

/* AutoDisEmbedding. The form says which implementation is meant and so what settings default to. */
typedef enum cr_autodis_form {
    CR_AUTODIS_TORCHEASYREC,
    CR_AUTODIS_EASYREC,
    CR_AUTODIS_GANDALF,
} cr_autodis_form;
typedef struct cr_autodis_conf {
    cr_conf_base base;
    int64_t num_channels;
    double temperature;
    double keep_prob;
    /* crank only; see cr_autodis_spec (layer/layer.h) */
    int form;        /* a cr_autodis_form */
    int aggregation; /* a cr_autodis_pick */
    int64_t top_k;
    double negative_slope;
    bool input_powers;
    int64_t hidden_dim;
    int64_t residual_blocks;
    double residual_alpha;
    bool use_bias;
    bool score_activation;
    bool learned_temperature;
    bool kaiming_init;
} cr_autodis_conf;
extern const cr_msg cr_autodis_msg;
typedef struct cr_piecewise_conf { /* PiecewiseEmbedding */
    cr_conf_base base;
    cr_floats points;
    bool relu;
} cr_piecewise_conf;
extern const cr_msg cr_piecewise_msg;
typedef struct cr_periodic_conf { /* PeriodicEmbedding */
    cr_conf_base base;
    int64_t frequencies;
    double sigma;
    bool relu;
} cr_periodic_conf;
extern const cr_msg cr_periodic_msg;

#endif
