/*
 * config.c - DataConfig: where rows come from and how they are cut into batches.
 *
 * The tables hold every field of TorchEasyRec's data.proto; samplers and the readers of other
 * stores are known and refused by name. Two fields are shorthands that only make sense once the
 * whole message is known and are resolved in cr_data_conf_finish: fg_encoded (an older spelling of
 * fg_mode, which it overrides) and input_fields_str (input_fields in one string, which it
 * overrides).
 */
#include "data/config.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "conf/conf.h"

#define READ(NAME, reader, dataset, help)   {dataset, CR_##NAME, help, NULL},
#define LATER(NAME, dataset, help, instead) {dataset, CR_##NAME, help, instead},
const cr_enum_value cr_dataset_types[] = {
    CR_READERS(READ, LATER){NULL, 0, NULL, NULL},
};

static const cr_enum_value fg_modes[] = {
    {"FG_NONE", CR_FG_NONE, "columns are named after features and hold ids or floats", NULL},
    {"FG_NORMAL", CR_FG_NORMAL, "raw columns; each feature is made from its expression", NULL},
    {"FG_DAG", CR_FG_DAG, "raw columns; features may use the output of other features", NULL},
    {"FG_BUCKETIZE", CR_FG_BUCKETIZE,
     "columns are named after features and hold their values; only ids are looked up", NULL},
    {NULL, 0, NULL, NULL},
};

#define FIVE_TYPES(prefix, first, what)                                                            \
    {prefix "INT32", first, what " 32-bit integers", NULL},                                        \
        {prefix "INT64", first + 1, what " 64-bit integers", NULL},                                \
        {prefix "STRING", first + 2, what " texts", NULL},                                         \
        {prefix "FLOAT", first + 3, what " 32-bit floats", NULL}, {                                \
        prefix "DOUBLE", first + 4, what " 64-bit floats", NULL                                    \
    }
#define LAST_SCALAR 4
const cr_enum_value cr_field_types[] = {
    {"INT32", 0, "32-bit integer", NULL},
    {"INT64", 1, "64-bit integer", NULL},
    {"STRING", 2, "text", NULL},
    {"FLOAT", 3, "32-bit float", NULL},
    {"DOUBLE", 4, "64-bit float", NULL},
    FIVE_TYPES("ARRAY_", 5, "list of"),
    FIVE_TYPES("ARRAY_ARRAY_", 10, "list of lists of"),
    FIVE_TYPES("MAP_STRING_", 15, "map from text to"),
    FIVE_TYPES("MAP_INT64_", 20, "map from 64-bit integers to"),
    FIVE_TYPES("MAP_INT32_", 25, "map from 32-bit integers to"),
    {NULL, 0, NULL, NULL},
};

static const cr_field field_fields[] = {
    CR_STR(cr_field_conf, input_name, NULL, CR_F_REQUIRED, "name of the column"),
    CR_ENUM(cr_field_conf, input_type, cr_field_types, 0, 0,
            "type of the column; not given: what the file says, text in a CSV file"),
    CR_END,
};
static const cr_msg field_msg = {
    .name = "Field",
    .help = "One column of the input, its name and type",
    .fields = field_fields,
    .size = sizeof(cr_field_conf),
};

static const cr_field label_map_fields[] = {
    CR_STR(cr_label_map_conf, label, NULL, 0,
           "label column; not given: every label without a map of its own"),
    CR_MAP_FLOAT(cr_label_map_conf, map, CR_F_REQUIRED,
                 "number of each text; \"\" is that of an empty cell"),
    CR_END,
};
static const cr_msg label_map_msg = {
    .name = "LabelMap",
    .help = "Numbers of the texts in a label column",
    .fields = label_map_fields,
    .size = sizeof(cr_label_map_conf),
};

static const cr_field mixing_fields[] = {
    CR_FLOAT(cr_mixing_conf, weights, 0, 0, 1, CR_F_REPEATED | CR_F_OURS,
             "share of each source in a batch, or the chance that a batch is its; not given: equal "
             "shares"),
    CR_BOOL(cr_mixing_conf, whole_batches, false, CR_F_OURS,
            "each batch is of one source, which is drawn; false: each batch has rows of all"),
    CR_END,
};
static void mixing_check(const void *self, cr_diag *diag) {
    const cr_mixing_conf *c = self;
    double sum = 0;
    for (int64_t i = 0; i < c->weights.n; i++)
        sum += c->weights.v[i];
    if (c->weights.n > 0 && fabs(sum - 1) > 1e-6)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "weights"),
                    "the weights of mixing add up to %g and must to 1", sum);
}
static const cr_msg mixing_msg = {
    .name = "Mixing",
    .help = "How sources of training data are mixed",
    .fields = mixing_fields,
    .size = sizeof(cr_mixing_conf),
    .ours = true,
    .check = mixing_check,
};

static const cr_field skip_fields[] = {
    CR_STR(cr_skip_conf, column, NULL, CR_F_REQUIRED | CR_F_OURS, "a column of texts"),
    CR_STR(cr_skip_conf, pattern, NULL, CR_F_REQUIRED | CR_F_OURS,
           "regular expression; rows in whose text it is found are left out"),
    CR_END,
};
static const cr_msg skip_msg = {
    .name = "SkipRows",
    .help = "Rows that are left out of training and evaluation",
    .fields = skip_fields,
    .size = sizeof(cr_skip_conf),
    .ours = true,
};

/* ---- samplers: known, not in this version ---- */
#define SAMPLERS(X)                                                                                \
    X(negative_sampler, "NegativeSampler", "Shared negatives drawn by item weight")                \
    X(negative_sampler_v2, "NegativeSamplerV2", "Negatives that the user has no positive edge to") \
    X(hard_negative_sampler, "HardNegativeSampler",                                                \
      "Weighted negatives plus the user's hard negatives")                                         \
    X(hard_negative_sampler_v2, "HardNegativeSamplerV2",                                           \
      "Negatives without a positive edge plus the user's hard negatives")                          \
    X(tdm_sampler, "TDMSampler", "Positives and negatives on each level of an item tree")
#define SAMPLER_MSG(key, name, help) static const cr_msg key##_msg = CR_MSG_LATER(name, help);
#define SAMPLER(key, name, help)     {#key, &key##_msg, NULL},
SAMPLERS(SAMPLER_MSG)
static const cr_oneof_member samplers[] = {SAMPLERS(SAMPLER){NULL, NULL, NULL}};
static const cr_oneof sampler_family = {"negative sampler", false, samplers};

/* ---- DataConfig ---- */
static const cr_field data_fields[] = {
    CR_INT(cr_data_conf, batch_size, 1024, 1, CR_U32_MAX, 0, "rows per training step and rank"),
    CR_INT(cr_data_conf, eval_batch_size, 0, 0, CR_U32_MAX, 0,
           "rows per batch in evaluation and prediction; 0: batch_size"),
    CR_ENUM(cr_data_conf, dataset_type, cr_dataset_types, CR_ODPS, CR_F_REQUIRED,
            "what kind of store the rows come from"),
    CR_ENUM(cr_data_conf, fg_mode, fg_modes, CR_FG_NONE, 0,
            "how columns become features: already done, or from each feature's expression"),
    CR_BOOL(
        cr_data_conf, fg_encoded, true, 0,
        "older form of fg_mode, which it overrides when given: true is FG_NONE, false is FG_DAG, "
        "or FG_NORMAL with fg_threads 0"),
    CR_STR(cr_data_conf, fg_encoded_multival_sep, "\x03", 0,
           "text between the values of an already encoded column"),
    CR_INT(cr_data_conf, fg_threads, 1, 0, CR_U32_MAX, 0,
           "threads that make features, per reader; it matters only if it is 0 and fg_encoded is "
           "given"),
    CR_STR(cr_data_conf, label_fields, NULL, CR_F_REPEATED,
           "label columns; single-task models use the first"),
    CR_MSG(cr_data_conf, label_map, &label_map_msg, CR_F_REPEATED | CR_F_OURS,
           "numbers of the texts in label columns, for labels that are words"),
    CR_STR(cr_data_conf, sample_weight_fields, NULL, CR_F_REPEATED,
           "row weight columns; single-task models use the first"),
    CR_STR(cr_data_conf, clock_field, NULL, CR_F_OURS,
           "column with the time of a row; tables that let ids go after some days need it"),
    CR_STR(cr_data_conf, clock_unit, "SECONDS", CR_F_OURS,
           "what clock_field holds: SECONDS or MILLISECONDS since 1970, DAYS, or DATE (20260131)"),
    CR_INT(cr_data_conf, num_workers, 8, 0, CR_U32_MAX, CR_F_SPEED,
           "reader threads ahead of the step; results do not depend on it"),
    CR_K_BOOL("pin_memory", true, CR_F_SPEED, "memory kind for copies to a device"),
    CR_K_BOOL("in_order", true, CR_F_SPEED, "batches always come in order here"),
    CR_MSG(cr_data_conf, input_fields, &field_msg, CR_F_REPEATED,
           "columns of a CSV file in order; types that columns of a Parquet file are to have"),
    CR_STR(cr_data_conf, input_fields_str, NULL, 0,
           "input_fields in one text, name:TYPE;name:TYPE; overrides input_fields"),
    CR_STR(cr_data_conf, delimiter, ",", 0,
           "text between the columns of a CSV file, one or more bytes"),
    CR_BOOL(cr_data_conf, with_header, false, 0,
            "the first line of each CSV file names its columns"),
    CR_BOOL(cr_data_conf, drop_remainder, false, 0, "leave out a last batch that is not full"),
    CR_BOOL(cr_data_conf, eval_drop_remainder, false, CR_F_OURS,
            "leave it out in evaluation too, as PaddleRec does"),
    CR_BOOL(cr_data_conf, shuffle, false, 0, "mix the rows of the training data, from the seed"),
    CR_INT(cr_data_conf, shuffle_buffer_size, 32, 0, CR_U32_MAX, 0,
           "batches held for mixing; more mixes better and takes memory"),
    CR_K_BOOL("enable_hstu", false, CR_F_LATER,
              "sequences of negatives for hstu_match, in older releases"),
    CR_BOOL(cr_data_conf, is_orderby_partition, false, 0,
            "read partitions of a table one after the other, in the order of the path (ODPS only)"),
    CR_STR(cr_data_conf, odps_data_quota_name, "pay-as-you-go", CR_F_SPEED,
           "quota of table reads (ODPS only)"),
    CR_STR(cr_data_conf, odps_data_compression, "LZ4_FRAME", CR_F_SPEED,
           "compression on the wire: LZ4_FRAME, ZSTD or UNCOMPRESSED (ODPS only)"),
    CR_FLOAT(cr_data_conf, sample_mask_prob, 0, 0, 1, 0,
             "chance that a training row loses its use_mask features"),
    CR_K_FLOAT("negative_sample_mask_prob", 0, 0, 1, CR_F_LATER,
               "the same chance for sampled negatives"),
    CR_K_BOOL("force_base_data_group", false, CR_F_SPEED,
              "treat user and item features as one group of rows; matters with a sampler only"),
    CR_K_STR("sample_cost_field", NULL, CR_F_LATER,
             "column with a row's cost, for batches by cost"),
    CR_K_UINT64("batch_cost_size", 0, CR_F_LATER, "most summed cost of a batch"),
    CR_K_ONEOF("sampler", &sampler_family, CR_F_LATER, "draws negatives for matching models"),
    CR_FLOAT(cr_data_conf, eval_fraction, 0, 0, 1, CR_F_OURS,
             "share of the training data that is kept for evaluation, without eval_input_path"),
    CR_STR(cr_data_conf, eval_fraction_field, NULL, CR_F_OURS,
           "column whose values are split by eval_fraction, such as a user id; not given: rows"),
    CR_STR(cr_data_conf, null_values, NULL, CR_F_REPEATED | CR_F_OURS,
           "texts of a cell that mean a missing value, besides the empty one"),
    CR_BOOL(cr_data_conf, use_farm_hash, false, CR_F_OURS,
            "hash_bucket_size uses FarmHash; the environment variable "
            "USE_FARM_HASH_TO_BUCKETIZE=true sets it, so that a saved config keeps it"),
    CR_BOOL(cr_data_conf, use_rtp, false, CR_F_OURS,
            "features and columns of a sequence_feature are named group_name, not group__name; the "
            "environment variable USE_RTP=1 sets it, so that a saved config keeps it"),
    CR_INT(cr_data_conf, max_bad_rows, 0, 0, 9e15, CR_F_OURS,
           "unreadable rows that are skipped and counted before the run stops"),
    CR_INT(cr_data_conf, min_file_bytes, 0, 0, 9e15, CR_F_OURS,
           "files that are smaller are left out; 0: none"),
    CR_BOOL(cr_data_conf, unique_files, false, CR_F_OURS,
            "a file that several patterns name is read once, and files come sorted by name"),
    CR_BOOL(cr_data_conf, host_parts, false, CR_F_OURS,
            "hosts may have different files: all ranks read the files of all hosts, over the "
            "network where another host has them; true under PADDLEREC_CLUSTER_TYPE=MPI"),
    CR_MSG(cr_data_conf, mixing, &mixing_msg, CR_F_OURS,
           "train_input_path has several sources, with $ between them, that are mixed"),
    CR_MSG(cr_data_conf, skip_rows, &skip_msg, CR_F_REPEATED | CR_F_OURS,
           "rows that are left out, by a text in them"),
    CR_MSG(cr_data_conf, slot_text, &cr_slot_text_msg, CR_F_OURS,
           "how the lines of a SlotDataset are written; not given: slot:value, with blanks"),
    CR_END,
};

static const char *label_at(const void *ctx, size_t i) {
    const cr_strs *labels = ctx;
    return (int64_t)i < labels->n ? labels->v[i] : NULL;
}

/* Reports maps that belong to no label, two maps of one label, and values that are no labels. */
static void check_label_maps(const cr_data_conf *c, cr_diag *diag) {
    for (int64_t i = 0; i < c->label_map.n; i++) {
        const cr_label_map_conf *m = c->label_map.v[i];
        bool known = !*m->label;
        for (int64_t k = 0; k < c->label_fields.n; k++)
            known |= strcmp(c->label_fields.v[k], m->label) == 0;
        const char *near = known ? NULL : cr_nearest(m->label, label_at, &c->label_fields);
        if (near)
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(m, "label"),
                        "label_map: '%s' is not in label_fields; did you mean '%s'?", m->label,
                        near);
        else if (!known)
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(m, "label"),
                        "label_map: '%s' is not in label_fields; name one of them", m->label);
        for (int64_t k = 0; k < i; k++)
            if (strcmp(((const cr_label_map_conf *)c->label_map.v[k])->label, m->label) == 0) {
                cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, m->base.at,
                            *m->label ? "label_map: label '%s' has a map already; put all texts "
                                        "into one"
                                      : "label_map: there is a map without a label already%s; put "
                                        "all texts into one, or name the label",
                            m->label);
                break;
            }
        if (m->map.n == 0)
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(m, "map"),
                        "label_map: the map is empty; write for example %s",
                        CR_SAY(m, "map", "{yes: 1, no: 0}"));
        for (int64_t k = 0; k < m->map.n; k++)
            if (!isfinite((float)m->map.v[k].f))
                cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, m->map.v[k].at,
                            "label_map: the number of '%s' is not finite; a label is a float32",
                            m->map.v[k].key);
    }
}

const cr_label_map_conf *cr_data_label_map(const cr_data_conf *c, const char *label) {
    const cr_label_map_conf *found = NULL;
    for (int64_t i = 0; i < c->label_map.n; i++) {
        const cr_label_map_conf *m = c->label_map.v[i];
        if (strcmp(m->label, label) == 0) return m;
        if (!*m->label) found = m;
    }
    return found;
}

static void data_check(const void *self, cr_diag *diag) {
    const cr_data_conf *c = self;
    check_label_maps(c, diag);
    if (c->eval_fraction == 1)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "eval_fraction"),
                    "eval_fraction 1 leaves no rows for training; write for example 0.1");
    if (*c->eval_fraction_field && c->eval_fraction == 0)
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, "eval_fraction_field"),
                    "eval_fraction_field does nothing without eval_fraction; set it, for example "
                    "to 0.1");
    if (!*c->delimiter || strpbrk(c->delimiter, "\"\r\n"))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "delimiter"),
                    "delimiter must not be empty or hold a quote or a line end; write for example "
                    "\",\", \"\\t\" or \", \"");
    if (c->fg_encoded_multival_sep[0] == 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "fg_encoded_multival_sep"),
                    "fg_encoded_multival_sep is empty; leave it out for the default \"\\x03\"");
}

const cr_msg cr_data_msg = {
    .name = "DataConfig",
    .help = "Where rows come from and how they become batches",
    .fields = data_fields,
    .size = sizeof(cr_data_conf),
    .check = data_check,
};

/* ---- input_fields_str ---- */
static const char *const type_words[] = {"INT32",  "INT64", "STRING", "FLOAT", "DOUBLE",
                                         "BIGINT", "INT",   "ARRAY<", "MAP<",  NULL};
static const char *type_word(const void *ctx, size_t i) {
    (void)ctx;
    return type_words[i];
}

/* Returns the number of the scalar type at *s, which is moved past it; -1: there is none. */
static int scalar_type(const char **s) {
    static const struct {
        const char *word;
        int type;
    } words[] = {{"INT32", 0},  {"INT64", 1}, {"INT", 0},   {"BIGINT", 1},
                 {"STRING", 2}, {"FLOAT", 3}, {"DOUBLE", 4}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].word);
        if (strncmp(*s, words[i].word, n) == 0) {
            *s += n;
            return words[i].type;
        }
    }
    return -1;
}

/* Returns the FieldType of a type text without spaces and in capitals; -1: it is no type. */
static int parse_type(const char *s) {
    int type = -1;
    if (strncmp(s, "ARRAY<ARRAY<", 12) == 0) {
        s += 12;
        if ((type = scalar_type(&s)) < 0 || strcmp(s, ">>") != 0) return -1;
        return 10 + type;
    }
    if (strncmp(s, "ARRAY<", 6) == 0) {
        s += 6;
        if ((type = scalar_type(&s)) < 0 || strcmp(s, ">") != 0) return -1;
        return 5 + type;
    }
    if (strncmp(s, "MAP<", 4) == 0) {
        s += 4;
        int key = scalar_type(&s);
        if (key < 0 || key > 2 || *s++ != ',') return -1;
        if ((type = scalar_type(&s)) < 0 || strcmp(s, ">") != 0) return -1;
        return (key == 2 ? 15 : key == 1 ? 20 : 25) + type;
    }
    for (const cr_enum_value *e = cr_field_types; e->name; e++)
        if (strcmp(s, e->name) == 0) return e->value;
    type = scalar_type(&s);
    return *s == 0 ? type : -1;
}

static const char *skip_space(const char *s, const char *end) {
    while (s < end && isspace((unsigned char)*s))
        s++;
    return s;
}
static const char *trim_end(const char *s, const char *end) {
    while (end > s && isspace((unsigned char)end[-1]))
        end--;
    return end;
}

/* Reads one "name:TYPE" in [s, end); base is the text's first byte, at the place of that byte. */
static void parse_entry(cr_data_conf *c, cr_arena *arena, cr_map *seen, const char *base, cr_loc at,
                        const char *s, const char *end, int number, cr_diag *diag) {
    const cr_conf_node *node = c->base.node ? cr_conf_find(c->base.node, "input_fields_str") : NULL;
    const char *colon = memchr(s, ':', (size_t)(end - s));
    cr_loc here = at;
    here.col += (int)(s - base);
    if (!colon) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, here,
                    "entry %d of input_fields_str, '%.*s', has no type; write name:TYPE;", number,
                    (int)(end - s), s);
        return;
    }
    const char *name_end = trim_end(s, colon);
    if (name_end == s) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, here,
                    "entry %d of input_fields_str has no name; write name:TYPE;", number);
        return;
    }
    if (!cr_map_put(seen, s, (size_t)(name_end - s), number)) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, here,
                    "entry %d of input_fields_str names column '%.*s' again; "
                    "every column has one name",
                    number, (int)(name_end - s), s);
        return;
    }
    const char *type_at = skip_space(colon + 1, end);
    cr_loc type_loc = at;
    type_loc.col += (int)(type_at - base);
    char *word = cr_arena_alloc(arena, (size_t)(end - type_at) + 1);
    size_t n = 0;
    for (const char *p = type_at; p < end; p++)
        if (!isspace((unsigned char)*p)) word[n++] = (char)toupper((unsigned char)*p);
    word[n] = 0;
    int type = parse_type(word);
    if (type < 0) {
        const char *near = cr_nearest(word, type_word, NULL);
        if (near)
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, type_loc,
                        "entry %d of input_fields_str: unknown type '%.*s'; did you mean '%s'?",
                        number, (int)(end - type_at), type_at, near);
        else
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, type_loc,
                        "entry %d of input_fields_str: unknown type '%.*s'; use INT32, INT64, "
                        "STRING, FLOAT, DOUBLE, ARRAY<T>, ARRAY<ARRAY<T>> or MAP<K,V>",
                        number, (int)(end - type_at), type_at);
        return;
    }
    if (type > LAST_SCALAR && cr_data_is_text(c))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, type_loc,
                    "entry %d of input_fields_str: a column of a CSV file cannot be %s; use STRING "
                    "and let the feature split the text",
                    number, cr_field_types[type].name);
    cr_field_conf *f = CR_NEW(arena, cr_field_conf);
    f->base = (cr_conf_base){
        .msg = &field_msg, .node = node, .at = here, .from = c->base.from, .set = {{3}}};
    f->input_name = cr_arena_strndup(arena, s, (size_t)(name_end - s));
    f->input_type = type;
    c->input_fields.v[c->input_fields.n++] = f;
}

static void parse_fields_str(cr_data_conf *c, cr_arena *arena, cr_diag *diag) {
    const char *text = c->input_fields_str;
    const cr_conf_node *node = c->base.node ? cr_conf_find(c->base.node, "input_fields_str") : NULL;
    cr_loc at = cr_conf_at(c, "input_fields_str");
    if (node && node->quoted) at.col++; /* the place is that of the quote */
    size_t n_max = 1;
    for (const char *p = text; *p; p++)
        n_max += *p == ';';
    c->input_fields.v = CR_NEW_N(arena, void *, n_max);
    c->input_fields.n = 0;
    cr_map seen;
    cr_map_init(&seen);
    int number = 0;
    for (const char *s = text, *end; *s; s = *end ? end + 1 : end) {
        end = strchrnul(s, ';');
        const char *first = skip_space(s, end), *last = trim_end(first, end);
        if (first < last) parse_entry(c, arena, &seen, text, at, first, last, ++number, diag);
    }
    if (number == 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at,
                    "input_fields_str names no column; write name:TYPE;name:TYPE;");
    cr_map_clear(&seen);
}

void cr_data_conf_finish(cr_data_conf *c, cr_arena *arena, cr_diag *diag) {
    if (cr_conf_has(c, "fg_encoded")) {
        c->fg_mode = c->fg_encoded ? CR_FG_NONE : c->fg_threads > 0 ? CR_FG_DAG : CR_FG_NORMAL;
    }
    if (cr_conf_has(c, "input_fields_str")) parse_fields_str(c, arena, diag);
    /* A column must not stand twice in input_fields, or have a type that text cannot have. */
    cr_map seen;
    cr_map_init(&seen);
    for (int64_t i = 0; i < c->input_fields.n && !cr_conf_has(c, "input_fields_str"); i++) {
        const cr_field_conf *f = c->input_fields.v[i];
        if (f->input_name[0] && !cr_map_put(&seen, f->input_name, strlen(f->input_name), i))
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(f, "input_name"),
                        "input_fields names column '%s' again; every column has one name",
                        f->input_name);
        if (f->input_type > LAST_SCALAR && cr_data_is_text(c))
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(f, "input_type"),
                        "a column of a CSV file cannot be %s; use STRING and let the feature split "
                        "the text",
                        cr_field_types[f->input_type].name);
    }
    cr_map_clear(&seen);
}
