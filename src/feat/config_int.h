/*
 * config_int.h - parts that the feature messages share inside this folder: help lines, fields,
 * families.
 */
#ifndef CR_FEAT_CONFIG_INT_H
#define CR_FEAT_CONFIG_INT_H

#include "base/buf.h"
#include "feat/config.h"
#include "feat/list.h"

#define HELP_NAME "name of the feature, of its output and, in FG_NONE, of its column"
#define HELP_EXPRESSION                                                                            \
    "input as side:column, side being user, item or context; not needed in FG_NONE"
#define HELP_EXPRESSIONS "inputs, each as side:column"
#define HELP_EMB_NAME    "table name; features with the same name share the table"
#define HELP_EMB_DIM                                                                               \
    "width of the feature's vector; needed in groups that do not set it (WIDE does)"
#define HELP_HASH         "rows of the table; a value's row is its hash modulo this"
#define HELP_BUCKETS      "rows of the table; values are the ids themselves, others count as 0"
#define HELP_VOCAB_LIST   "known values; ids follow their order"
#define HELP_VOCAB_DICT   "known values with their ids"
#define HELP_VOCAB_FILE   "file of known values, one per line, with an optional id"
#define HELP_ASSET        "folder that vocab_file is relative to"
#define HELP_OOV          "id of values that the vocabulary does not hold"
#define HELP_GROWING      "a table without a size: ids get rows when they come"
#define HELP_ZCH          "give ids rows without collisions, with eviction"
#define HELP_DYNAMICEMB   "give ids rows when they are first seen"
#define HELP_ID_VALUE_DIM "values taken per row; 0: all"
#define HELP_POOLING      "how the vectors of several values become one: sum or mean"
#define HELP_DEFAULT      "value used where the input has none; empty: no value"
#define HELP_SEPARATOR    "the one byte between the values of a text"
#define HELP_VALUE_TYPE   "type of the values before they become ids"
#define HELP_BOUNDARIES   "ascending limits of buckets; a number's id is how many limits it reaches"
#define HELP_NORMALIZER                                                                            \
    "method=log10|zscore|minmax|expression with its parameters, for example "                      \
    "method=zscore,mean=0,standard_deviation=1"
#define HELP_DENSE_EMB   "turn the numbers into a vector of embedding_dim"
#define HELP_INIT        "how the table starts, as a torch.nn.init call: nn.init.uniform_,a=-0.01,b=0.01"
#define HELP_MASK        "null this feature in rows chosen by data_config.sample_mask_prob"
#define HELP_ENC_DEFAULT "value of nulls in FG_NONE; empty: none"
#define HELP_TRAINABLE   "false keeps the table as it starts"
#define HELP_STUB        "only an input of other features, not of the model"
#define HELP_DATA_TYPE   "type the table is stored in"
#define HELP_CONSTRAINTS "limits on how the table is split over ranks"
#define HELP_SEQ_LEN     "most steps of a sequence; only in sequence features"
#define HELP_SEQ_DELIM   "text between the steps of a sequence; only in sequence features"
#define HELP_SEQ_FIELDS  "inputs that are sequences; only in grouped sequence features"

/* Checks of IdFeature and RawFeature; calc.c also uses them for computed features. */
void cr_id_conf_check(const void *self, cr_diag *diag);
void cr_raw_conf_check(const void *self, cr_diag *diag);
extern const cr_oneof cr_dense_emb_family;

#endif
