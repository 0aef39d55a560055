/*
 * conf_int.h - what the files of conf/ share: limits, keys, scalars.
 *
 * Every walk over a tree stops at CR_CONF_MAX_DEPTH; the parsers refuse deeper text, so a walk
 * meets a deeper tree only when edits have built it.
 */
#ifndef CR_CONF_CONF_INT_H
#define CR_CONF_CONF_INT_H

#include "base/shown.h"
#include "conf/field.h"

enum {
    CR_CONF_MAX_DEPTH = 60,      /* below libfyaml's own limit of 64 */
    CR_CONF_MAX_TEXT = 64 << 20, /* bytes of one config text */
    CR_CONF_MAX_NODES = 4 << 20, /* nodes of one document, with aliases expanded */
    CR_CONF_MAX_ERRORS = 20,     /* syntax errors reported for one text */
};

/* cr_conf_is_null: is it the null of YAML or JSON? (An empty value is null in YAML.) */
bool cr_conf_is_null(const cr_conf_node *n);
/* cr_conf_copy copies a tree into doc's arena; NULL when deeper or larger than allowed. *budget
 * counts down by the nodes made. */
cr_conf_node *cr_conf_copy(cr_conf_doc *doc, const cr_conf_node *n, int depth, size_t *budget);
/* cr_conf_index returns the row of msg that key (spelled in map's syntax) belongs to, -1 when
 * there is none; *member is the oneof member, NULL for a plain field. */
int cr_conf_index(const cr_msg *msg, const cr_conf_node *map, const char *key,
                  const cr_oneof_member **member);
/* cr_conf_made returns what cr_conf_fill adds where a MSG or a ONEOF is not given; NULL:
 * nothing. */
static inline const char *cr_conf_made(const cr_field *f) {
    bool can = (f->type == CR_T_MSG || f->type == CR_T_ONEOF) && f->offset != CR_NO_STORE;
    return can && !(f->flags & (CR_F_LATER | CR_F_IDLE)) ? f->str : NULL;
}
/* cr_conf_next_key returns key i of a message, as a candidate for cr_nearest (ctx is the
 * cr_msg). */
const char *cr_conf_next_key(const void *ctx, size_t i);

/* cr_conf_enum_names writes the names that are in this version, separated by commas. */
void cr_conf_enum_names(const cr_enum_value *values, cr_buf *out);
void cr_conf_member_names(const cr_oneof *o, cr_buf *out);
/* cr_conf_unknown_keys reports the keys of node that the table of self does not know (rows[i] < 0).
 * name is the name of the message, NULL at the top level; `given` holds the rows that are given;
 * for own see cr_conf_bind_own; schema is that of the root, see cr_msg. cr_conf_missing reports the
 * required rows that are neither given nor refused. */
void cr_conf_unknown_keys(cr_conf_base *self, const cr_conf_node *node, const int16_t *rows,
                          const char *name, const cr_fieldset *given, const char *own,
                          const char *schema, cr_diag *diag);
void cr_conf_missing(const cr_conf_base *self, const char *name, const cr_fieldset *given,
                     cr_diag *diag);

/* cr_conf_flow writes a tree on one line: {a: 1, b: [x, y]}. With `quotes` scalars are JSON
 * strings. */
void cr_conf_flow(cr_buf *out, const cr_conf_node *n, bool quotes);

/* cr_conf_hex reads exactly n hex digits; false when there are fewer. */
bool cr_conf_hex(const char *s, const char *end, int n, uint32_t *out);
/* cr_conf_unicode reads the n hex digits of an escape such as \u00e9, and the second half of a pair
 * \ud83d\ude00 when one follows. It returns the text after them, NULL when there are fewer digits.
 * *c becomes the character, CR_UTF8_BAD when there is no such character. */
const char *cr_conf_unicode(const char *s, const char *end, int n, uint32_t *c);
void cr_conf_put_utf8(cr_buf *b, uint32_t c);
/* cr_conf_yaml_quoted returns the text of a quoted YAML scalar; s is its source between the
 * quotes. */
const char *cr_conf_yaml_quoted(cr_arena *arena, char quote, const char *s, size_t n, size_t *len);

/* These functions read a scalar as its syntax spells it (as cr_conf_read_bool of tree.h does); they
 * return false when the text is not of that type. The value is *out, negated when *neg; it fits 64
 * bits. */
bool cr_conf_read_int(const cr_conf_node *n, uint64_t *out, bool *neg);
/* cr_conf_is_huge: is it an integer that 64 bits do not hold? */
bool cr_conf_is_huge(const cr_conf_node *n);
/* cr_conf_limits_text writes " from LO to HI", the smallest and the largest integer that a row
 * takes. */
const char *cr_conf_limits_text(const cr_field *f, char out[96]);
/* cr_conf_meant returns the key of msg that an unknown key most likely means; NULL: none is
 * known. */
const char *cr_conf_meant(const cr_msg *msg, const char *key);
bool cr_conf_read_float(const cr_conf_node *n, double *out);
/* cr_conf_read_enum accepts a name or a number; it returns NULL when there is no such value. */
const cr_enum_value *cr_conf_read_enum(const cr_conf_node *n, const cr_enum_value *values);
/* cr_conf_is_str: may the scalar stand for a string in its syntax? */
bool cr_conf_is_str(const cr_conf_node *n);
/* cr_conf_in_range: is the number within the row's range? Rows without a range accept all. */
bool cr_conf_in_range(const cr_field *f, double x);
/* cr_conf_range_text writes " from 1 to 8", " of at least 1", " of at most 8" or "". */
const char *cr_conf_range_text(const cr_field *f, char out[96]);
/* cr_conf_show writes a short quoted form of a scalar, or "a mapping", "a list", "nothing". */
#define CR_CONF_SHOW (CR_SHOW + 4)
const char *cr_conf_show(const cr_conf_node *n, char out[CR_CONF_SHOW]);

/* An iterator over the values of one field of a map, in file order, over repeated keys. */
typedef struct cr_conf_iter {
    const cr_conf_node *map;
    const int16_t *rows; /* cr_conf_rows of the map */
    int row;
    bool open; /* give the items of lists instead of the lists */
    /* about the value that was returned last: */
    const char *key;
    cr_loc at; /* place of its key, or of the item inside a list */
    bool in_list;
    size_t i, j;
} cr_conf_iter;
/* cr_conf_rows returns the row of each entry of the map, -1 for unknown keys. The array is in the
 * arena. */
const int16_t *cr_conf_rows(cr_arena *arena, const cr_msg *msg, const cr_conf_node *map);
/* cr_conf_next returns the next value, NULL at the end. It leaves out JSON's nulls, which mean "not
 * given". */
const cr_conf_node *cr_conf_next(cr_conf_iter *it);

/* cr_conf_join returns one map with the entries of both, a's first, as protobuf merges messages. */
cr_conf_node *cr_conf_join(cr_arena *arena, const cr_conf_node *a, const cr_conf_node *b);
/* cr_conf_struct turns google.protobuf.Struct's text form (fields { key value }) into the plain
 * tree it stands for; a tree from YAML or JSON is plain already. When the text form is wrong and
 * bad is not NULL, it returns NULL and puts the first wrong place into *bad; when bad is NULL,
 * wrong parts become null. */
const cr_conf_node *cr_conf_struct(cr_arena *arena, const cr_conf_node *n, cr_loc *bad);

#endif
