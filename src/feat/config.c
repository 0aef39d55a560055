/*
 * config.c - the config messages IdFeature and RawFeature, and their parts.
 *
 * registry.c says which key of FeatureConfig has which message. The checks here look at one message
 * alone; the build function of the feature type checks what depends on the columns of the data or
 * on files (vocabularies).
 */
#include "feat/config.h"

#include <math.h>
#include <string.h>

#include "conf/conf.h"
#include "feat/config_int.h"

/* ---- ParameterConstraints ---- */
static const char *const sharding_types[] = {"data_parallel",  "table_wise",
                                             "column_wise",    "row_wise",
                                             "table_row_wise", "table_column_wise",
                                             "grid_shard",     NULL};
static const char *const compute_kernels[] = {"dense",     "fused",
                                              "fused_uvm", "fused_uvm_caching",
                                              "key_value", NULL};

static const char *word_at(const void *ctx, size_t i) {
    return ((const char *const *)ctx)[i];
}

static void check_words(const void *conf, const char *field, const cr_strs *given,
                        const char *const *known, cr_diag *diag) {
    for (int64_t i = 0; i < given->n; i++) {
        const char *const *k = known;
        while (*k && strcmp(*k, given->v[i]) != 0)
            k++;
        if (*k) continue;
        const char *near = cr_nearest(given->v[i], word_at, known);
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at_item(conf, field, i),
                    "unknown value '%s' in %s; %s '%s'%s", given->v[i], field,
                    near ? "did you mean" : "the first known one is", near ? near : known[0],
                    near ? "?" : "");
    }
}

static void constraints_check(const void *self, cr_diag *diag) {
    const cr_constraints_conf *c = self;
    check_words(c, "sharding_types", &c->sharding_types, sharding_types, diag);
    check_words(c, "compute_kernels", &c->compute_kernels, compute_kernels, diag);
}

static const cr_field constraints_fields[] = {
    CR_STR(cr_constraints_conf, sharding_types, NULL, CR_F_REPEATED | CR_F_SPEED,
           "allowed ways to place a table: data_parallel, table_wise, column_wise, row_wise, "
           "table_row_wise, table_column_wise, grid_shard"),
    CR_STR(cr_constraints_conf, compute_kernels, NULL, CR_F_REPEATED | CR_F_SPEED,
           "allowed storage kinds: dense, fused, fused_uvm, fused_uvm_caching, key_value"),
    CR_END,
};
const cr_msg cr_constraints_msg = {
    .name = "ParameterConstraints",
    .help = "Limits on how tables are split over ranks",
    .fields = constraints_fields,
    .size = sizeof(cr_constraints_conf),
    .check = constraints_check,
};

/* ---- AutoDisEmbedding, MLPEmbedding: how a dense feature gets a vector ---- */
static const cr_enum_value autodis_forms[] = {
    {"TORCHEASYREC", CR_AUTODIS_TORCHEASYREC, "as published, keep_prob being the skip's weight",
     NULL},
    {"EASYREC", CR_AUTODIS_EASYREC, "the same with a negative_slope of 0.2", NULL},
    {"GANDALF", CR_AUTODIS_GANDALF,
     "input_powers, hidden_dim 64, use_bias, score_activation, learned_temperature, kaiming_init, "
     "no skip",
     NULL},
    {NULL, 0, NULL, NULL},
};
/* the numbers of cr_autodis_pick */
static const cr_enum_value autodis_picks[] = {
    {"WEIGHTED", 0, "all vectors, weighted by the softmax of the scores", NULL},
    {"MAX", 1, "the vector of the largest score; scores are then not trained", NULL},
    {"TOP_K", 2, "the sum of the vectors of the top_k largest scores; scores are then not trained",
     NULL},
    {NULL, 0, NULL, NULL},
};
static const cr_field autodis_fields[] = {
    CR_INT(cr_autodis_conf, num_channels, 0, 1, 65536, CR_F_REQUIRED,
           "vectors that a value is a mixture of"),
    CR_FLOAT(cr_autodis_conf, temperature, 0.1, 0, CR_INF, 0, "divides the scores of the mixture"),
    CR_FLOAT(cr_autodis_conf, keep_prob, 0.8, -CR_INF, CR_INF, 0,
             "weight of the skip connection inside the scores"),
    CR_ENUM(cr_autodis_conf, form, autodis_forms, CR_AUTODIS_TORCHEASYREC, CR_F_OURS,
            "the AutoDis of this project: sets the keys that are not given"),
    CR_ENUM(cr_autodis_conf, aggregation, autodis_picks, 0, CR_F_OURS,
            "how the vectors become one"),
    CR_INT(cr_autodis_conf, top_k, 2, 1, 65536, CR_F_OURS, "vectors that TOP_K adds up"),
    CR_FLOAT(cr_autodis_conf, negative_slope, 0.01, 0, 1, CR_F_OURS,
             "slope of LeakyReLU below zero"),
    CR_BOOL(cr_autodis_conf, input_powers, false, CR_F_OURS,
            "compute the scores from x, its square and its square root (0 below zero), not from x "
            "alone"),
    CR_INT(cr_autodis_conf, hidden_dim, 0, 0, 65536, CR_F_OURS,
           "width of the layer before the scores; 0: num_channels"),
    CR_INT(cr_autodis_conf, residual_blocks, 0, 0, 64, CR_F_OURS,
           "residual blocks between that layer and the scores"),
    CR_FLOAT(cr_autodis_conf, residual_alpha, 1, -CR_INF, CR_INF, CR_F_OURS,
             "weight of the skip connection in a residual block"),
    CR_BOOL(cr_autodis_conf, use_bias, false, CR_F_OURS, "the linear layers have a bias"),
    CR_BOOL(cr_autodis_conf, score_activation, false, CR_F_OURS, "LeakyReLU on the scores"),
    CR_BOOL(cr_autodis_conf, learned_temperature, false, CR_F_OURS,
            "multiply each score by a learned factor instead of dividing by temperature"),
    CR_BOOL(cr_autodis_conf, kaiming_init, false, CR_F_OURS,
            "weights start Kaiming uniform, biases normal"),
    CR_END,
};
static void autodis_check(const void *self, cr_diag *diag) {
    const cr_autodis_conf *c = self;
    bool gandalf = c->form == CR_AUTODIS_GANDALF;
    if (!(c->temperature > 0))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "temperature"),
                    "temperature must be above 0; leave it out for 0.1");
    if (c->aggregation == 2 && c->top_k > c->num_channels)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "top_k"),
                    "top_k is %lld, but there are %lld vectors; use at most num_channels",
                    (long long)c->top_k, (long long)c->num_channels);
    if (c->aggregation != 2 && cr_conf_has(c, "top_k"))
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, "top_k"),
                    "top_k is used with aggregation: TOP_K only; set that or remove top_k");
    int64_t hidden = c->hidden_dim;
    if (gandalf && !cr_conf_has(c, "hidden_dim")) hidden = 64;
    double skip = gandalf && !cr_conf_has(c, "keep_prob") ? 0 : c->keep_prob;
    if (hidden && hidden != c->num_channels && skip != 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "hidden_dim"),
                    "the skip connection (keep_prob %g) needs hidden_dim and num_channels to be "
                    "equal, they are %lld and %lld; write %s to leave it out",
                    skip, (long long)hidden, (long long)c->num_channels,
                    CR_SAY(c, "keep_prob", "0"));
    bool learned = c->learned_temperature || (gandalf && !cr_conf_has(c, "learned_temperature"));
    if (learned && cr_conf_has(c, "temperature"))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "temperature"),
                    "temperature is not used with a learned temperature; remove it, or write %s",
                    CR_SAY(c, "learned_temperature", "false"));
}
const cr_msg cr_autodis_msg = {
    .name = "AutoDisEmbedding",
    .help = "A number becomes a soft mixture of learned vectors",
    .fields = autodis_fields,
    .size = sizeof(cr_autodis_conf),
    .check = autodis_check,
};
static const cr_msg mlp_embedding_msg = {
    .name = "MLPEmbedding",
    .help = "Numbers become a vector through one linear map",
    .fields = cr_no_fields,
    .size = sizeof(cr_conf_base),
};
static const cr_field piecewise_fields[] = {
    CR_FLOAT(cr_piecewise_conf, points, 0, -CR_INF, CR_INF, CR_F_REPEATED | CR_F_REQUIRED,
             "ascending; a part of the vector's input is how far the number has come from one to "
             "the next"),
    CR_BOOL(cr_piecewise_conf, relu, false, 0, "ReLU behind the linear map"),
    CR_END,
};
static void piecewise_check(const void *self, cr_diag *diag) {
    const cr_piecewise_conf *c = self;
    if (c->points.n < 2)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "points"),
                    "points has %lld numbers and needs two at least; quantiles of the column do "
                    "well ('crank profile' shows some)",
                    (long long)c->points.n);
    for (int64_t i = 1; i < c->points.n; i++) {
        if ((float)c->points.v[i] > (float)c->points.v[i - 1]) continue;
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "points"),
                    "points must ascend strictly as 32-bit floats, but %.9g follows %.9g; sort "
                    "them and leave out equal ones",
                    c->points.v[i], c->points.v[i - 1]);
        break;
    }
}
const cr_msg cr_piecewise_msg = {
    .name = "PiecewiseEmbedding",
    .help = "A number becomes its place between points, then a vector through one linear map",
    .fields = piecewise_fields,
    .size = sizeof(cr_piecewise_conf),
    .check = piecewise_check,
};
static const cr_field periodic_fields[] = {
    CR_INT(cr_periodic_conf, frequencies, 16, 1, 65536, 0,
           "learned frequencies, each with a sine and a cosine"),
    CR_FLOAT(cr_periodic_conf, sigma, 0.1, 0, CR_INF, 0,
             "deviation of their first values, in waves per unit of the normalized number"),
    CR_BOOL(cr_periodic_conf, relu, true, 0, "ReLU behind the linear map"),
    CR_END,
};
const cr_msg cr_periodic_msg = {
    .name = "PeriodicEmbedding",
    .help = "A number becomes waves of learned frequencies, then a vector through one linear map",
    .fields = periodic_fields,
    .size = sizeof(cr_periodic_conf),
};
static const cr_oneof_member dense_embs[] = {
    {"autodis", &cr_autodis_msg, &cr_autodis_msg},
    {"mlp", &mlp_embedding_msg, &mlp_embedding_msg},
    {"piecewise", &cr_piecewise_msg, &cr_piecewise_msg},
    {"periodic", &cr_periodic_msg, &cr_periodic_msg},
    {NULL, NULL, NULL},
};
const cr_oneof cr_dense_emb_family = {"dense embedding", false, dense_embs};

/* ---- rows that IdFeature and RawFeature share ---- */
#define NAME_ROWS(S)                                                                               \
    CR_STR(S, feature_name, NULL, CR_F_REQUIRED, HELP_NAME),                                       \
        CR_STR(S, expression, NULL, 0, HELP_EXPRESSION),                                           \
        CR_STR(S, embedding_name, NULL, 0, HELP_EMB_NAME)
#define TAIL_ROWS(S)                                                                               \
    CR_STR(S, init_fn, NULL, 0, HELP_INIT), CR_BOOL(S, use_mask, false, 0, HELP_MASK),             \
        CR_STR(S, fg_encoded_default_value, NULL, 0, HELP_ENC_DEFAULT),                            \
        CR_BOOL(S, trainable, true, 0, HELP_TRAINABLE),                                            \
        CR_BOOL(S, stub_type, false, 0, HELP_STUB),                                                \
        CR_STR(S, data_type, "FP32", 0, HELP_DATA_TYPE),                                           \
        CR_MSG(S, embedding_constraints, &cr_constraints_msg, CR_F_SPEED, HELP_CONSTRAINTS),       \
        CR_INT(S, sequence_length, 0, 0, CR_U32_MAX, 0, HELP_SEQ_LEN),                             \
        CR_STR(S, sequence_delim, ";", 0, HELP_SEQ_DELIM),                                         \
        CR_STR(S, sequence_fields, NULL, CR_F_REPEATED, HELP_SEQ_FIELDS),                          \
        CR_STR(S, pretrained_path, NULL, CR_F_OURS | CR_F_PATH,                                    \
               "safetensors file (or folder) with the table's first values"),                      \
        CR_STR(S, pretrained_tensor, NULL, CR_F_OURS,                                              \
               "tensor of pretrained_path; not given: the only one in it")

static const cr_field id_fields[] = {
    NAME_ROWS(cr_id_conf),
    CR_INT(cr_id_conf, embedding_dim, 0, 0, 65536, 0, HELP_EMB_DIM),
    CR_UINT64(cr_id_conf, hash_bucket_size, 0, 0, HELP_HASH),
    CR_STR(
        cr_id_conf, python2_hash, NULL, CR_F_OURS,
        "hash_bucket_size by Python 2's hash of this text and the value, as in PaddleRec's Criteo "
        "data; a missing value is the text alone"),
    CR_UINT64(cr_id_conf, num_buckets, 0, 0, HELP_BUCKETS),
    CR_STR(cr_id_conf, vocab_list, NULL, CR_F_REPEATED, HELP_VOCAB_LIST),
    CR_MAP_INT(cr_id_conf, vocab_dict, 0, HELP_VOCAB_DICT),
    CR_STR(cr_id_conf, vocab_file, NULL, CR_F_PATH, HELP_VOCAB_FILE),
    CR_STR(cr_id_conf, asset_dir, NULL, CR_F_PATH, HELP_ASSET),
    CR_UINT64(cr_id_conf, default_bucketize_value, 0, 0, HELP_OOV),
    CR_MSG(cr_id_conf, zch, &cr_zch_msg, 0, HELP_ZCH),
    CR_MSG(cr_id_conf, dynamicemb, &cr_dynamicemb_msg, 0, HELP_DYNAMICEMB),
    CR_MSG(cr_id_conf, growing, &cr_growing_msg, CR_F_OURS, HELP_GROWING),
    CR_INT(cr_id_conf, value_dim, 0, 0, CR_U32_MAX, 0, HELP_ID_VALUE_DIM),
    CR_STR(cr_id_conf, pooling, "sum", 0, HELP_POOLING),
    CR_STR(cr_id_conf, default_value, "", 0, HELP_DEFAULT),
    CR_STR(cr_id_conf, separator, "\x1d", 0, HELP_SEPARATOR),
    CR_BOOL(cr_id_conf, weighted, false, 0, "values are id:weight pairs"),
    CR_STR(cr_id_conf, fg_value_type, NULL, 0, HELP_VALUE_TYPE),
    TAIL_ROWS(cr_id_conf),
    CR_END,
};

static const cr_field raw_fields[] = {
    NAME_ROWS(cr_raw_conf),
    CR_INT(cr_raw_conf, embedding_dim, 0, 0, 65536, 0, HELP_EMB_DIM),
    CR_FLOAT(cr_raw_conf, boundaries, 0, -CR_INF, CR_INF, CR_F_REPEATED, HELP_BOUNDARIES),
    CR_STR(cr_raw_conf, normalizer, NULL, 0, HELP_NORMALIZER),
    CR_ONEOF(cr_raw_conf, dense_emb, &cr_dense_emb_family, 0, HELP_DENSE_EMB),
    CR_INT(cr_raw_conf, value_dim, 1, 0, CR_U32_MAX, 0, "numbers per row"),
    CR_STR(cr_raw_conf, pooling, "sum", 0, HELP_POOLING),
    CR_STR(cr_raw_conf, default_value, "0", 0, HELP_DEFAULT),
    CR_STR(cr_raw_conf, separator, "\x1d", 0, HELP_SEPARATOR),
    TAIL_ROWS(cr_raw_conf),
    CR_END,
};

/* ---- checks ---- */
static void check_separator(const void *conf, const char *text, cr_diag *diag) {
    if (strlen(text) != 1)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(conf, "separator"),
                    "separator '%s' has %zu bytes and must have exactly one; "
                    "leave it out for \"\\x1d\"",
                    text, strlen(text));
}
static void check_pooling(const void *conf, const char *text, cr_diag *diag) {
    if (strcmp(text, "sum") != 0 && strcmp(text, "mean") != 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(conf, "pooling"),
                    "unknown pooling '%s'; use sum or mean", text);
}
static void check_data_type(const void *conf, const char *text, cr_diag *diag) {
    if (strcmp(text, "FP32") != 0 && strcmp(text, "FP16") != 0 && strcmp(text, "BF16") != 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(conf, "data_type"),
                    "unknown data_type '%s'; use FP32, FP16 or BF16", text);
}

/* When the config gives several sources of a table's size, the first one of this list counts, as in
 * TorchEasyRec. */
static void check_sources(const cr_id_conf *c, cr_diag *diag) {
    static const char *const sources[] = {"zch",         "dynamicemb",
                                          "growing",     "hash_bucket_size",
                                          "num_buckets", "vocab_list",
                                          "vocab_dict",  "vocab_file"};
    const char *used = NULL;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (!cr_conf_has(c, sources[i])) continue;
        if (used)
            cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, sources[i]),
                        "%s is given beside %s, which decides the table's rows; keep one of them",
                        sources[i], used);
        else
            used = sources[i];
    }
}
static void check_size(const void *conf, const char *field, uint64_t value, cr_diag *diag) {
    if (cr_conf_has(conf, field) && (value == 0 || value > INT64_MAX))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(conf, field),
                    "%s must lie between 1 and 2^63-1; it is the number of table rows", field);
}

void cr_id_conf_check(const void *self, cr_diag *diag) {
    const cr_id_conf *c = self;
    check_separator(c, c->separator, diag);
    check_pooling(c, c->pooling, diag);
    check_data_type(c, c->data_type, diag);
    check_size(c, "hash_bucket_size", c->hash_bucket_size, diag);
    check_size(c, "num_buckets", c->num_buckets, diag);
    check_sources(c, diag);
}

void cr_raw_conf_check(const void *self, cr_diag *diag) {
    const cr_raw_conf *c = self;
    check_separator(c, c->separator, diag);
    check_pooling(c, c->pooling, diag);
    check_data_type(c, c->data_type, diag);
    for (int64_t i = 0; i < c->boundaries.n; i++) {
        float x = (float)c->boundaries.v[i];
        if (isnan(x)) {
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at_item(c, "boundaries", i),
                        "boundary %lld is not a number; write numbers in ascending order",
                        (long long)i + 1);
        } else if (i && !((float)c->boundaries.v[i - 1] < x)) {
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at_item(c, "boundaries", i),
                        "boundaries must ascend strictly as 32-bit floats, but %.9g follows %.9g; "
                        "sort them and leave out equal ones",
                        (double)x, (double)(float)c->boundaries.v[i - 1]);
            break;
        }
    }
    if (c->dense_emb.m && c->boundaries.n)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "boundaries"),
                    "boundaries make the feature sparse, %s needs a dense one; keep one of them",
                    c->dense_emb.m->key);
    if (!c->dense_emb.m && !c->boundaries.n && c->embedding_dim > 0)
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, "embedding_dim"),
                    "embedding_dim has no effect on a plain number; give boundaries, %s or autodis "
                    "to make it a vector",
                    CR_SAY(c, "mlp", "{}"));
    if (c->dense_emb.m && c->dense_emb.m->msg != &mlp_embedding_msg && c->value_dim > 1)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "value_dim"),
                    "%s takes one number per row, value_dim is %lld; "
                    "set value_dim to 1 or use mlp",
                    c->dense_emb.m->key, (long long)c->value_dim);
}

const cr_msg cr_id_msg = {
    .name = "IdFeature",
    .help = "A categorical column: values become ids of table rows",
    .fields = id_fields,
    .size = sizeof(cr_id_conf),
    .check = cr_id_conf_check,
};
const cr_msg cr_raw_msg = {
    .name = "RawFeature",
    .help = "A numeric column: floats, or buckets between boundaries",
    .fields = raw_fields,
    .size = sizeof(cr_raw_conf),
    .check = cr_raw_conf_check,
};
