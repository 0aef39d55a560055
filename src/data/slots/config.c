/*
 * config.c - the keys of data_config.slot_text: how a line of slot text is written.
 */
#include <string.h>

#include "data/config.h"

static const cr_enum_value forms[] = {
    {"SLOT_VALUE", CR_SLOT_VALUE, "slot:value, in any order", NULL},
    {"VALUE_SLOT", CR_VALUE_SLOT, "value:slot, in any order", NULL},
    {"COUNTED", CR_SLOT_COUNTED,
     "for every column of input_fields the number of its values and then the values", NULL},
    {"FIXED", CR_SLOT_FIXED, "the values of every column of input_fields, as many as widths says",
     NULL},
    {NULL, 0, NULL, NULL},
};

static const cr_field pair_fields[] = {
    CR_STR(cr_slot_pair_conf, name, NULL, CR_F_REQUIRED | CR_F_OURS,
           "the columns are name_1, name_2, ... of the type MAP_INT64_FLOAT, without ids FLOAT"),
    CR_STR(cr_slot_pair_conf, ids, NULL, CR_F_OURS, "slot of the ids; not given: none"),
    CR_STR(cr_slot_pair_conf, weights, NULL, CR_F_REQUIRED | CR_F_OURS,
           "slot of their weights, or of numbers"),
    CR_END,
};
static const cr_msg pair_msg = {
    .name = "SlotPair",
    .help = "The values of a slot, or of two that belong together, as one column per place",
    .fields = pair_fields,
    .size = sizeof(cr_slot_pair_conf),
    .ours = true,
};

static const cr_field slot_text_fields[] = {
    CR_ENUM(cr_slot_text_conf, form, forms, CR_SLOT_VALUE, CR_F_OURS, "how a token is written"),
    CR_STR(cr_slot_text_conf, separator, " ", CR_F_OURS, "the one byte between two tokens"),
    CR_STR(cr_slot_text_conf, columns, NULL, CR_F_REPEATED | CR_F_OURS,
           "plain columns in front of the pairs; those that input_fields lacks are passed over"),
    CR_INT(cr_slot_text_conf, widths, 0, 1, 1000000, CR_F_REPEATED | CR_F_OURS,
           "FIXED: number of values of each slot of input_fields, in order"),
    CR_MSG(cr_slot_text_conf, pairs, &pair_msg, CR_F_REPEATED | CR_F_OURS,
           "columns that are one place of a slot, or of two slots"),
    CR_END,
};

static void check(const void *self, cr_diag *diag) {
    const cr_slot_text_conf *c = self;
    const char *s = c->separator;
    if (strlen(s) == 1 && *s != ':' && *s != '\n' && *s != '\r') return;
    cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "separator"),
                "separator: one byte stands between two tokens, and it is neither a colon nor a "
                "line end; write a blank or a comma");
}

const cr_msg cr_slot_text_msg = {
    .name = "SlotText",
    .help = "How the lines of a SlotDataset are written",
    .fields = slot_text_fields,
    .size = sizeof(cr_slot_text_conf),
    .ours = true,
    .check = check,
};
