/*
 * config.c - the keys of data_config.slot_text: how a line of slot text is written.
 */
#include <string.h>

#include "base/buf.h"
#include "data/config.h"

static const cr_enum_value forms[] = {
    {"SLOT_VALUE", CR_SLOT_VALUE, "slot:value, in any order", NULL},
    {"VALUE_SLOT", CR_VALUE_SLOT, "value:slot, in any order", NULL},
    {"COUNTED", CR_SLOT_COUNTED,
     "for every column of input_fields the number of its values and then the values", NULL},
    {"FIXED", CR_SLOT_FIXED, "the values of every column of input_fields, as many as widths says",
     NULL},
    {"LISTS", CR_SLOT_LISTS,
     "the columns of input_fields, with separator between them and list_separator between values",
     NULL},
    {"NEXT", CR_SLOT_NEXT,
     "ids of a session; every one but the first is a row: the ids before it are the column "
     "history, it is the column next",
     NULL},
    {"LAST", CR_SLOT_LAST, "the same, and only the last id of a session is a row", NULL},
    {"WINDOWS", CR_SLOT_WINDOWS,
     "ids of a session; every pair of near ids is a row, with the columns center and context",
     NULL},
    {NULL, 0, NULL, NULL},
};

static const cr_enum_value samplers[] = {
    {"UNIFORM", CR_DRAW_UNIFORM, "each id as often", NULL},
    {"LOG_UNIFORM", CR_DRAW_LOG_UNIFORM, "small ids more often, with log((i + 2) / (i + 1))", NULL},
    {"COUNTS", CR_DRAW_COUNTS, "as often as a file says, raised to a power", NULL},
    {NULL, 0, NULL, NULL},
};
static const cr_field made_fields[] = {
    CR_STR(cr_slot_made_conf, name, NULL, CR_F_REQUIRED | CR_F_OURS, "a column of input_fields"),
    CR_STR(cr_slot_made_conf, value, NULL, CR_F_OURS, "the same value in every row"),
    CR_INT(cr_slot_made_conf, count, 0, 0, 100000, CR_F_OURS,
           "or this many ids, drawn for each row"),
    CR_STR(cr_slot_made_conf, as_many_as, NULL, CR_F_OURS,
           "or as many as this column has in the row"),
    CR_INT(cr_slot_made_conf, first, 0, 0, 4e18, CR_F_OURS, "smallest id that is drawn"),
    CR_INT(cr_slot_made_conf, last, 0, 0, 4e18, CR_F_OURS, "largest id that is drawn"),
    CR_ENUM(cr_slot_made_conf, sampler, samplers, CR_DRAW_UNIFORM, CR_F_OURS, "how ids are drawn"),
    CR_STR(cr_slot_made_conf, counts, NULL, CR_F_OURS,
           "COUNTS: a file with a word and its count per line; the first line is the id 0"),
    CR_FLOAT(cr_slot_made_conf, power, 0.75, 0, 10, CR_F_OURS,
             "COUNTS: a count is raised to this power"),
    CR_STR(cr_slot_made_conf, other_than, NULL, CR_F_OURS,
           "a column whose id is not drawn, except where 100 draws give nothing else"),
    CR_STR(cr_slot_made_conf, begin_with, NULL, CR_F_OURS,
           "a column whose first value stands before the drawn ids"),
    CR_STR(cr_slot_made_conf, log_of, NULL, CR_F_OURS,
           "or, for each value of a drawn column, the logarithm of how often it is expected among "
           "the drawn ones"),
    CR_STR(cr_slot_made_conf, copy_of, NULL, CR_F_OURS,
           "or the first value of another column of whole numbers, and `plus`"),
    CR_INT(cr_slot_made_conf, plus, 0, -4e18, 4e18, CR_F_OURS, "what is added to the copy"),
    CR_INT(cr_slot_made_conf, at_most, 4e18, -4e18, 4e18, CR_F_OURS,
           "a larger sum is this number: 1 makes 0 and 1 of grades"),
    CR_STR(cr_slot_made_conf, parts_of, NULL, CR_F_OURS,
           "or the id of this column and its parts, from the file `parts`"),
    CR_STR(cr_slot_made_conf, parts, NULL, CR_F_OURS,
           "parts_of: a file with an id and the ids of its parts per line"),
    CR_STR(cr_slot_made_conf, values_of, NULL, CR_F_OURS,
           "or the values of another column of whole numbers, all or those that `where` chooses"),
    CR_STR(cr_slot_made_conf, places_of, NULL, CR_F_OURS, "or their places in it, from 0"),
    CR_STR(cr_slot_made_conf, where, NULL, CR_F_OURS,
           "values_of, places_of: a column that is as long; where it is `is`, the value is taken"),
    CR_INT(cr_slot_made_conf, is, 1, -4e18, 4e18, CR_F_OURS, "what `where` must be"),
    CR_INT(cr_slot_made_conf, most, 0, 0, 1000000, CR_F_OURS,
           "values_of, places_of: so many values at most, the first ones; 0: all"),
    CR_STR(cr_slot_made_conf, fill, NULL, CR_F_OURS,
           "values_of, places_of: a whole number that stands behind fewer than `most` values"),
    CR_END,
};
static void made_check(const void *self, cr_diag *diag) {
    const cr_slot_made_conf *c = self;
    int ways = (cr_conf_has(c, "value") ? 1 : 0) + (c->count > 0) + (*c->as_many_as != 0) +
               (*c->log_of != 0) + (*c->copy_of != 0) + (*c->parts_of != 0) + (*c->values_of != 0) +
               (*c->places_of != 0);
    if (ways != 1)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, c->base.at,
                    "column '%s' is made in %d ways; give one of value, count, as_many_as, log_of, "
                    "copy_of, parts_of, values_of and places_of",
                    c->name, ways);
    if ((*c->parts_of != 0) != (*c->parts != 0))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, c->base.at,
                    "column '%s': parts_of and the file parts belong together", c->name);
    bool chosen = *c->values_of || *c->places_of;
    if (!chosen && (*c->where || *c->fill || c->most > 0))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, c->base.at,
                    "column '%s': where, most and fill belong to values_of and places_of", c->name);
    if (*c->fill && c->most == 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "fill"),
                    "fill stands behind fewer than `most` values, and most is not given; add it");
    int64_t number;
    if (*c->fill && !cr_parse_i64(c->fill, strlen(c->fill), &number))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "fill"),
                    "fill is '%.40s' and must be a whole number", c->fill);
    bool draws = c->count > 0 || *c->as_many_as;
    if (draws && (c->sampler == CR_DRAW_COUNTS) != (*c->counts != 0))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, c->base.at,
                    "column '%s': the sampler COUNTS and the file counts belong together", c->name);
    else if (draws && c->sampler != CR_DRAW_COUNTS &&
             (c->last < c->first || (c->last == c->first && *c->other_than)))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, c->base.at,
                    "column '%s' draws ids from %lld to %lld; give first and a larger last",
                    c->name, (long long)c->first, (long long)c->last);
}
static const cr_msg made_msg = {
    .name = "SlotMade",
    .help = "A column that no line has: a constant, drawn ids, or what follows from others",
    .fields = made_fields,
    .size = sizeof(cr_slot_made_conf),
    .ours = true,
    .check = made_check,
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

static const cr_field tree_fields[] = {
    CR_STR(cr_slot_tree_conf, item, NULL, CR_F_REQUIRED | CR_F_OURS,
           "the column of the item, a number from 0"),
    CR_STR(cr_slot_tree_conf, travel, NULL, CR_F_REQUIRED | CR_F_OURS,
           "a NumPy file (items, layers): the node of each item in each layer; 0: none"),
    CR_STR(cr_slot_tree_conf, layers, NULL, CR_F_REQUIRED | CR_F_OURS,
           "a file with the nodes of a layer per line, with commas"),
    CR_INT(cr_slot_tree_conf, negatives, 0, 0, 1000000, CR_F_REPEATED | CR_F_OURS,
           "how many other nodes of each layer are drawn"),
    CR_END,
};
static const cr_msg tree_msg = {
    .name = "SlotTree",
    .help = "A line becomes rows over a tree of items, with the columns node, layer and label: the "
            "nodes above the item, and others of the same layers",
    .fields = tree_fields,
    .size = sizeof(cr_slot_tree_conf),
    .ours = true,
};

static const cr_field slot_text_fields[] = {
    CR_ENUM(cr_slot_text_conf, form, forms, CR_SLOT_VALUE, CR_F_OURS, "how a token is written"),
    CR_STR(cr_slot_text_conf, separator, " ", CR_F_OURS, "the one byte between two tokens"),
    CR_STR(cr_slot_text_conf, columns, NULL, CR_F_REPEATED | CR_F_OURS,
           "plain columns in front of the pairs; those that input_fields lacks are passed over"),
    CR_INT(cr_slot_text_conf, widths, 0, 1, 1000000, CR_F_REPEATED | CR_F_OURS,
           "FIXED: number of values of each slot of input_fields, in order"),
    CR_BOOL(cr_slot_text_conf, map_unread, false, CR_F_OURS,
            "SLOT_VALUE, VALUE_SLOT: the only list of numbers that never occurs takes the values "
            "of the only slot that nothing reads and that has several numbers in each line"),
    CR_MSG(cr_slot_text_conf, pairs, &pair_msg, CR_F_REPEATED | CR_F_OURS,
           "columns that are one place of a slot, or of two slots"),
    CR_STR(cr_slot_text_conf, list_separator, ",", CR_F_OURS,
           "LISTS: the one byte between two values of a column"),
    CR_STR(cr_slot_text_conf, history, "history", CR_F_OURS,
           "NEXT, LAST: the column of the ids before the next one"),
    CR_INT(cr_slot_text_conf, shortest, 1, 1, 1000000, CR_F_OURS,
           "NEXT, LAST: fewest ids of a history; sessions without such a row are left out"),
    CR_INT(cr_slot_text_conf, longest, 0, 0, 1000000, CR_F_OURS,
           "NEXT, LAST: most ids of a history, the last ones; 0: all"),
    CR_INT(cr_slot_text_conf, window, 5, 1, 1000, CR_F_OURS,
           "WINDOWS: how far a pair may be apart; each center draws its own distance up to this"),
    CR_MSG(cr_slot_text_conf, made, &made_msg, CR_F_REPEATED | CR_F_OURS,
           "columns that no line has"),
    CR_STR(cr_slot_text_conf, padding, NULL, CR_F_OURS,
           "LISTS: a value that stands for none and is left out"),
    CR_STR(cr_slot_text_conf, missing, NULL, CR_F_OURS,
           "FIXED: an empty value, or NULL, is this one; not given: empty ones are passed over"),
    CR_MSG(cr_slot_text_conf, tree, &tree_msg, CR_F_OURS,
           "LISTS: each line gives several rows, those of nodes of a tree"),
    CR_END,
};

static void check(const void *self, cr_diag *diag) {
    const cr_slot_text_conf *c = self;
    const char *s = c->separator, *l = c->list_separator;
    if (c->form == CR_SLOT_LISTS && (strlen(l) != 1 || *l == *s || *l == '\n' || *l == '\r'))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "list_separator"),
                    "list_separator: one byte, and not the separator, stands between two values");
    if (c->form != CR_SLOT_LISTS && (*c->padding || c->tree))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, c->tree ? "tree" : "padding"),
                    "%s is for the form LISTS; set form, or leave it out",
                    c->tree ? "tree" : "padding");
    if (c->form != CR_SLOT_FIXED && *c->missing)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "missing"),
                    "missing is for the form FIXED; set form, or leave it out");
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
