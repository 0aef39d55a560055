/*
 * slots_int.h - what the files of the slot reader share.
 *
 *   config.c  the keys of data_config.slot_text
 *   slots.c   fields, files, a look at the first lines, the reader's table of functions
 *   parse.c   one block into columns
 *   made.c    columns that no line has
 *   parts.c   parts of ids, from a file
 *   tree.c    rows over the nodes of a tree
 *
 * The grammar: one row per line, tokens with a separator between them. In form SLOT_VALUE a token
 * is slot:value, in VALUE_SLOT value:slot; the order of tokens is free, and a slot that comes
 * several times has several values. In COUNTED a row is, for every field in the order of
 * input_fields, the number of its values and then the values. In LISTS a row is the fields in
 * order, each with its values. In NEXT, LAST and WINDOWS a line is a session, which gives several
 * rows. Plain columns may stand in front. An empty token is nothing, an empty line is no row, and a
 * slot that is not in input_fields is passed over.
 */
#ifndef CR_DATA_SLOTS_SLOTS_INT_H
#define CR_DATA_SLOTS_SLOTS_INT_H

#include "base/map.h"
#include "data/csv/csv_int.h"

/* One field of input_fields. */
typedef struct cr_slot {
    const char *name;
    cr_coltype type; /* of its values; those of a pair are the weights */
    bool many;       /* a list; else exactly one value */
    bool needed;     /* a wanted column reads it */
    /* a part of a pair: the fields that it takes one value of; else -1. A part of numbers has no
     * ids. */
    int ids, weights;
    int64_t place;                   /* which value of them, from 0 */
    int64_t width;                   /* FIXED: number of its values */
    const struct cr_slot_draw *draw; /* a column that no line has; NULL: it is in the lines */
} cr_slot;

/* How such a column is made. Fields of others are -1 where there is none. */
typedef struct cr_slot_draw {
    const cr_slot_made_conf *conf;
    int as_many_as, begin_with, other_than, log_of, copy_of, parts_of, values_of, places_of, where;
    const double *sums; /* COUNTS: share of the ids up to each */
    int64_t n_sums;
    const struct cr_slot_parts *parts;
    uint64_t key;
} cr_slot_draw;
/* cr_slots_draw returns id number i of a row, drawn under `key`; never `ban`, with `bans`, unless
 * many draws give nothing else. cr_slots_share is how likely an id is. */
int64_t cr_slots_draw(const cr_slot_draw *d, uint64_t key, uint64_t i, bool bans, int64_t ban);
double cr_slots_share(const cr_slot_draw *d, int64_t id);

/* The parts of ids: those of id i are part[off[i]] to part[off[i + 1] - 1]. */
typedef struct cr_slot_parts {
    int64_t n; /* ids from 0 */
    const int64_t *off, *part;
} cr_slot_parts;
/* cr_slots_read_parts reads a file with an id and its parts per line; NULL: it was reported. */
const cr_slot_parts *cr_slots_read_parts(const char *path, cr_loc at, cr_arena *a, cr_diag *diag);

/* A tree of items. */
typedef struct cr_slot_tree {
    int item, node, layer, label; /* fields; -1: not wanted */
    int64_t n_items, n_layers;
    const int64_t *travel; /* (n_items, n_layers): nodes above an item; 0: none */
    const int64_t *nodes;  /* of layer i: nodes[off[i]] to nodes[off[i + 1] - 1] */
    const int64_t *off, *negatives;
    uint64_t key;
} cr_slot_tree;
struct cr_slots;
/* cr_slots_find_tree finds its fields and reads its files. */
void cr_slots_find_tree(struct cr_slots *t, const cr_data_conf *c, cr_arena *a, cr_diag *diag);
/* cr_slots_tree_nodes writes the nodes of an item's rows in one layer, the right one first, and
 * returns their number; 0: the item has no node there. hash: of the line. */
int64_t cr_slots_tree_nodes(const cr_slot_tree *t, int64_t item, int64_t layer, uint64_t hash,
                            int64_t *out);
/* The most nodes of a layer that cr_slots_tree_nodes writes. */
int64_t cr_slots_tree_most(const cr_slot_tree *t);

struct cr_slots {
    int form; /* cr_slot_form */
    char separator;
    bool map_unread; /* a slot under another name is found */
    cr_slot *v;
    int n;
    cr_map index;       /* name of a slot -> field */
    const int *columns; /* fields of the plain columns in front */
    int n_columns;
    const int32_t *col; /* per wanted column its field */
    char list_separator;
    int64_t shortest, longest, window;
    int history, next, center, context; /* fields of sessions; -1: not wanted */
    const char *padding;                /* LISTS: a value that is left out; "": none */
    const char *missing;                /* FIXED: what an empty value is; "": they are none */
    const cr_slot_tree *tree;           /* NULL: none */
    const int *made; /* fields that no line has, in the order of slot_text.made */
    int n_made;
};
/* cr_slots_find_made finds the fields of made columns and reads their files. */
void cr_slots_find_made(struct cr_slots *t, const cr_data_conf *c, cr_arena *a, cr_diag *diag);

CR_CHECKED cr_code cr_slots_parse(const cr_source *s, const cr_raw *raw, cr_chunk *chunk,
                                  cr_bad *bad, cr_err *err);
/* cr_slots_token splits a token; false: it has no colon. */
bool cr_slots_token(const struct cr_slots *t, const char *p, size_t n, const char **slot,
                    size_t *n_slot, const char **value, size_t *n_value);

#endif
