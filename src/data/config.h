/*
 * config.h - DataConfig, bound from the config (reference: TorchEasyRec data.proto).
 */
#ifndef CR_DATA_CONFIG_H
#define CR_DATA_CONFIG_H

#include "conf/field.h"
#include "data/reader_list.h"

#define CR_DATASET_READ(NAME, reader, dataset, help)   CR_##NAME,
#define CR_DATASET_LATER(NAME, dataset, help, instead) CR_##NAME,
typedef enum cr_dataset_type {
    CR_DATASET_NONE,
    CR_READERS(CR_DATASET_READ, CR_DATASET_LATER)
} cr_dataset_type;
typedef enum cr_fg_mode {
    CR_FG_NONE = 1,
    CR_FG_NORMAL = 2,
    CR_FG_DAG = 3,
    CR_FG_BUCKETIZE = 4
} cr_fg_mode;

typedef struct cr_field_conf { /* Field */
    cr_conf_base base;
    const char *input_name;
    int input_type; /* FieldType: 0..4 are cr_coltype, then lists and maps of them, five each */
} cr_field_conf;

typedef struct cr_label_map_conf { /* LabelMap */
    cr_conf_base base;
    const char *label; /* "": every label without a map of its own */
    cr_conf_map map;   /* text of a cell -> number */
} cr_label_map_conf;

typedef enum cr_slot_form {
    CR_SLOT_VALUE,
    CR_VALUE_SLOT,
    CR_SLOT_COUNTED,
    CR_SLOT_FIXED,
    CR_SLOT_LISTS,
    /* one session per line, which gives several rows */
    CR_SLOT_NEXT,
    CR_SLOT_LAST,
    CR_SLOT_WINDOWS
} cr_slot_form;
typedef enum cr_slot_sampler {
    CR_DRAW_UNIFORM,
    CR_DRAW_LOG_UNIFORM,
    CR_DRAW_COUNTS
} cr_slot_sampler;
typedef struct cr_slot_made_conf { /* SlotMade */
    cr_conf_base base;
    const char *name, *value, *as_many_as, *begin_with, *other_than, *log_of, *counts;
    const char *copy_of, *parts_of, *parts, *values_of, *places_of, *where, *fill;
    int64_t count, first, last, plus, at_most, is, most;
    int sampler; /* cr_slot_sampler */
    double power;
} cr_slot_made_conf;
typedef struct cr_slot_tree_conf { /* SlotTree */
    cr_conf_base base;
    const char *item, *travel, *layers;
    cr_ints negatives;
} cr_slot_tree_conf;
typedef struct cr_slot_pair_conf { /* SlotPair */
    cr_conf_base base;
    const char *name, *ids, *weights;
} cr_slot_pair_conf;
typedef struct cr_slot_text_conf { /* SlotText */
    cr_conf_base base;
    int form; /* cr_slot_form */
    const char *separator;
    cr_strs columns;
    cr_ints widths;
    bool map_unread;
    cr_msgs pairs; /* cr_slot_pair_conf */
    const char *list_separator, *history;
    int64_t shortest, longest, window;
    cr_msgs made; /* cr_slot_made_conf */
    const char *padding, *missing;
    cr_slot_tree_conf *tree; /* NULL: none */
} cr_slot_text_conf;
extern const cr_msg cr_slot_text_msg; /* slots/config.c */

typedef struct cr_mixing_conf { /* Mixing */
    cr_conf_base base;
    cr_floats weights; /* one per source; none: equal shares */
    bool whole_batches;
} cr_mixing_conf;
typedef struct cr_skip_conf { /* SkipRows */
    cr_conf_base base;
    const char *column, *pattern;
} cr_skip_conf;

typedef struct cr_data_conf {
    cr_conf_base base;
    const char *inside; /* no key: the export that all files of features lie in; NULL: anywhere */
    int64_t batch_size;
    int64_t eval_batch_size; /* 0: batch_size */
    int dataset_type;        /* cr_dataset_type */
    int fg_mode;             /* cr_fg_mode, after fg_encoded was applied (cr_data_conf_finish) */
    bool fg_encoded;
    const char *fg_encoded_multival_sep;
    int64_t fg_threads;
    cr_strs label_fields;
    cr_msgs label_map; /* ours: cr_label_map_conf */
    cr_strs sample_weight_fields;
    const char *clock_field, *clock_unit; /* ours; feat/clock.h */
    cr_strs null_values;                  /* ours */
    int64_t num_workers;
    cr_msgs input_fields; /* cr_field_conf */
    const char *input_fields_str;
    const char *delimiter;
    bool with_header;
    bool drop_remainder, eval_drop_remainder;
    bool shuffle;
    int64_t shuffle_buffer_size;
    double eval_fraction;            /* ours; 0: the training data is not split */
    const char *eval_fraction_field; /* ours; "": rows are split */
    double sample_mask_prob;
    bool use_farm_hash; /* ours: hash_bucket_size by FarmHash Fingerprint64 */
    bool use_rtp;       /* ours: names in grouped sequences, see cr_group_sep */
    bool is_orderby_partition;
    const char *odps_data_quota_name, *odps_data_compression;
    int64_t max_bad_rows;         /* ours */
    int64_t min_file_bytes;       /* ours; smaller files are left out */
    bool unique_files;            /* ours */
    bool host_parts;              /* ours; job/parts.c */
    cr_mixing_conf *mixing;       /* ours; NULL: the training data is one source */
    cr_msgs skip_rows;            /* ours: cr_skip_conf */
    cr_slot_text_conf *slot_text; /* ours; NULL: slot:value, with blanks */
} cr_data_conf;
extern const cr_msg cr_data_msg; /* DataConfig; also knows the fields of later capabilities */
extern const cr_enum_value cr_dataset_types[];
/* cr_data_is_text: are the columns of the files text that says nothing of its type (registry.c)? */
bool cr_data_is_text(const cr_data_conf *c);
extern const cr_enum_value cr_field_types[]; /* FieldType */

/* cr_data_label_map: what label_map says of a label; NULL: nothing, its cells are numbers */
const cr_label_map_conf *cr_data_label_map(const cr_data_conf *c, const char *label);

/* cr_data_conf_finish applies fg_encoded to fg_mode and input_fields_str to input_fields (mistakes
 * to diag with their place). Call once after binding. */
void cr_data_conf_finish(cr_data_conf *c, cr_arena *arena, cr_diag *diag);
/* cr_group_sep: the text between the name of a sequence_feature and that of a feature or column in
 * it, "__"; with use_rtp "_". */
static inline const char *cr_group_sep(const cr_data_conf *c) {
    return c->use_rtp ? "_" : "__";
}

#endif
