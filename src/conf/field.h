/*
 * field.h - field tables: the one description of every config message.
 *
 * A message is a C struct plus a table of cr_field rows. The table drives binding (tree -> struct),
 * checking (unknown key, type, range, required, oneof), printing, `crank help` and docs/reference.
 * Messages are owned by the module that uses them (data/ owns DataConfig, layer/ owns MLP ...); a
 * oneof's members come from a family (a registry's list), so that conf/ itself knows no model.
 * Names, types and defaults are TorchEasyRec's; rows that only crank has carry CR_F_OURS.
 */
#ifndef CR_CONF_FIELD_H
#define CR_CONF_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/tree.h"

typedef struct cr_msg cr_msg;
typedef struct cr_oneof cr_oneof;

/* A set of rows of a table. */
#define CR_CONF_MAX_ROWS 256
typedef struct cr_fieldset {
    uint64_t bits[CR_CONF_MAX_ROWS / 64];
} cr_fieldset;
static inline bool cr_fieldset_has(const cr_fieldset *r, int row) {
    return r->bits[row / 64] >> row % 64 & 1;
}
static inline void cr_fieldset_add(cr_fieldset *r, int row) {
    r->bits[row / 64] |= (uint64_t)1 << row % 64;
}

/* Every bound struct begins with this. */
typedef struct cr_conf_base {
    const cr_msg *msg;
    const cr_conf_node *node; /* NULL: nothing was given, all values are defaults */
    cr_loc at;                /* place of the message's key, or of its item in a list */
    cr_syntax from;      /* how the user's file is written, for messages that show config text */
    cr_fieldset set;     /* rows that were given and could be read */
    cr_fieldset refused; /* rows that were given and are wrong, which the user was told */
} cr_conf_base;

typedef enum cr_ftype {
    CR_T_BOOL,      /* bool */
    CR_T_INT,       /* int64_t, min..max */
    CR_T_UINT64,    /* uint64_t */
    CR_T_FLOAT,     /* double, min..max */
    CR_T_STR,       /* const char * */
    CR_T_ENUM,      /* int; ref is cr_enum_value[] */
    CR_T_MSG,       /* T *; NULL when not given; ref is const cr_msg * */
    CR_T_ONEOF,     /* cr_choice; ref is const cr_oneof *; its members are keys of the same map */
    CR_T_MAP_INT,   /* cr_conf_map, values in .i */
    CR_T_MAP_FLOAT, /* cr_conf_map, values in .f */
    CR_T_TREE,      /* const cr_conf_node *: free-form (google.protobuf.Struct) */
} cr_ftype;

enum {
    CR_F_REPEATED = 1, /* the struct member is the matching list type below */
    CR_F_REQUIRED = 2, /* must be given */
    CR_F_GPU = 4,      /* meaningless on a CPU: accepted with one warning */
    CR_F_LATER = 8,    /* known, but not in this version: using it is an error */
    CR_F_OURS = 16,    /* not in TorchEasyRec */
    CR_F_SPEED = 32,   /* accepted without effect: results do not depend on it (fused …) */
    CR_F_PATH = 64,    /* STR: a path; the struct gets the local one (base/scheme.h) */
    CR_F_PATHS = 128,  /* STR: a comma-separated list of globs; the struct gets local ones */
    CR_F_ALIAS = 256,  /* another name of the row before it; it has no storage */
    CR_F_IDLE = 512,   /* known, but without effect here: accepted with one warning */
};

typedef struct cr_enum_value {
    const char *name; /* NULL ends the list */
    int value;
    const char *help;
    /* for a value that is not in this version: what to do instead; NULL: it is in this version */
    const char *instead;
} cr_enum_value;

#define CR_NO_STORE UINT32_MAX
typedef struct cr_field {
    const char *name; /* NULL ends the table */
    cr_ftype type;
    unsigned flags;
    /* offset in the struct; CR_NO_STORE: only checked (messages of later versions) */
    uint32_t offset;
    double num; /* default of BOOL, INT, UINT64, FLOAT, ENUM */
    /* STR: the default ("" when NULL). A stored MSG or ONEOF: what cr_conf_fill adds where none is
     * given: "{}", an empty message, or a member in YAML; NULL: nothing. A MSG that is not in this
     * version, or idle: what to do instead; NULL: remove it */
    const char *str;
    double min, max; /* inclusive limits of the number, or of the item count for repeated MSG */
    const void *ref;
    const char *help; /* one line, no full stop */
} cr_field;

/* List types of repeated fields. */
typedef struct cr_ints {
    int64_t *v;
    int64_t n;
} cr_ints; /* UINT64 too: cast back */
typedef struct cr_floats {
    double *v;
    int64_t n;
} cr_floats;
typedef struct cr_strs {
    const char **v;
    int64_t n;
} cr_strs;
typedef struct cr_enums {
    int *v;
    int64_t n;
} cr_enums;
typedef struct cr_msgs {
    void **v;
    int64_t n;
} cr_msgs; /* items are T* */
typedef struct cr_conf_map_entry {
    const char *key;
    uint64_t i;
    double f;
    cr_loc at;
} cr_conf_map_entry;
typedef struct cr_conf_map {
    cr_conf_map_entry *v;
    int64_t n;
} cr_conf_map;

struct cr_msg {
    const char *name; /* TorchEasyRec's message name, e.g. "TrainConfig" */
    const char *help; /* one line */
    const cr_field *fields;
    size_t size; /* size of the struct; 0: only checked, nothing is stored */
    /* the message is not in this version: its name is known, using it is an error, and its content
     * is not read (CR_MSG_LATER) */
    bool later;
    bool ours; /* only crank has it, TorchEasyRec does not */
    /* in a root: the program and its release whose keys the tables hold. An unknown key that is
     * similar to no other may belong to a newer release; the message then says so. NULL: there is
     * no such program */
    const char *schema;
    /* further checks after binding (combinations of fields); called only when the message and all
     * in it were bound without an error; may be NULL */
    void (*check)(const void *self, cr_diag *diag);
};
/* The table of a message without keys. */
extern const cr_field cr_no_fields[];
#define CR_MSG_LATER(name_, help_)                                                                 \
    { .name = name_, .help = help_, .fields = cr_no_fields, .later = true }

typedef struct cr_oneof_member {
    const char *key; /* NULL ends the list */
    const cr_msg *msg;
    /* the family's vtable (cr_model_type …). For a message that cannot be used it is a text, "why;
     * what to do instead", or NULL when it comes in a later version */
    const void *type;
} cr_oneof_member;
struct cr_oneof {
    const char *name; /* what the choice is called in messages: "model", "sparse optimizer" */
    bool required;
    const cr_oneof_member *members;
};
typedef struct cr_choice {
    const cr_oneof_member *m; /* the chosen member; NULL: none was given */
    void *conf;               /* the bound member struct */
} cr_choice;

/* Rows. S is the struct, f the member (and the key). */
#define CR_ROW_(S, f, T, fl, nu, st, mi, ma, re, he)                                               \
    { #f, T, fl, (uint32_t)offsetof(S, f), nu, st, mi, ma, re, he }
#define CR_BOOL(S, f, def, fl, help) CR_ROW_(S, f, CR_T_BOOL, fl, def, NULL, 0, 1, NULL, help)
#define CR_INT(S, f, def, lo, hi, fl, help)                                                        \
    CR_ROW_(S, f, CR_T_INT, fl, def, NULL, lo, hi, NULL, help)
#define CR_UINT64(S, f, def, fl, help) CR_ROW_(S, f, CR_T_UINT64, fl, def, NULL, 0, 0, NULL, help)
#define CR_FLOAT(S, f, def, lo, hi, fl, help)                                                      \
    CR_ROW_(S, f, CR_T_FLOAT, fl, def, NULL, lo, hi, NULL, help)
#define CR_STR(S, f, def, fl, help) CR_ROW_(S, f, CR_T_STR, fl, 0, def, 0, 0, NULL, help)
#define CR_ENUM(S, f, values, def, fl, help)                                                       \
    CR_ROW_(S, f, CR_T_ENUM, fl, def, NULL, 0, 0, values, help)
#define CR_MSG(S, f, msg, fl, help)      CR_ROW_(S, f, CR_T_MSG, fl, 0, NULL, 0, 0, msg, help)
#define CR_ONEOF(S, f, oneof, fl, help)  CR_ROW_(S, f, CR_T_ONEOF, fl, 0, NULL, 0, 0, oneof, help)
#define CR_MSG_MADE(S, f, msg, fl, help) CR_ROW_(S, f, CR_T_MSG, fl, 0, "{}", 0, 0, msg, help)
#define CR_ONEOF_DEF(S, f, oneof, fl, def, help)                                                   \
    CR_ROW_(S, f, CR_T_ONEOF, fl, 0, def, 0, 0, oneof, help)
#define CR_MAP_INT(S, f, fl, help)   CR_ROW_(S, f, CR_T_MAP_INT, fl, 0, NULL, 0, 0, NULL, help)
#define CR_MAP_FLOAT(S, f, fl, help) CR_ROW_(S, f, CR_T_MAP_FLOAT, fl, 0, NULL, 0, 0, NULL, help)
#define CR_TREE(S, f, fl, help)      CR_ROW_(S, f, CR_T_TREE, fl, 0, NULL, 0, 0, NULL, help)
/* CR_ALIAS is another name of the row before it, which has type T and is called `of`. */
#define CR_ALIAS(name, T, fl, of)                                                                  \
    CR_K_(name, T, CR_F_ALIAS | (fl), 0, NULL, 0, 0, NULL, "another name for " of)
#define CR_END                                                                                     \
    { NULL, CR_T_BOOL, 0, 0, 0, NULL, 0, 0, NULL, NULL }
/* Rows of messages that are only known by name and have no struct. name is a string. */
#define CR_K_(name, T, fl, nu, st, mi, ma, re, he)                                                 \
    { name, T, fl, CR_NO_STORE, nu, st, mi, ma, re, he }
#define CR_K_BOOL(name, def, fl, help) CR_K_(name, CR_T_BOOL, fl, def, NULL, 0, 1, NULL, help)
#define CR_K_INT(name, def, lo, hi, fl, help)                                                      \
    CR_K_(name, CR_T_INT, fl, def, NULL, lo, hi, NULL, help)
#define CR_K_UINT64(name, def, fl, help) CR_K_(name, CR_T_UINT64, fl, def, NULL, 0, 0, NULL, help)
#define CR_K_FLOAT(name, def, lo, hi, fl, help)                                                    \
    CR_K_(name, CR_T_FLOAT, fl, def, NULL, lo, hi, NULL, help)
#define CR_K_STR(name, def, fl, help) CR_K_(name, CR_T_STR, fl, 0, def, 0, 0, NULL, help)
#define CR_K_ENUM(name, values, def, fl, help)                                                     \
    CR_K_(name, CR_T_ENUM, fl, def, NULL, 0, 0, values, help)
#define CR_K_MSG(name, msg, fl, help)     CR_K_(name, CR_T_MSG, fl, 0, NULL, 0, 0, msg, help)
#define CR_K_ONEOF(name, oneof, fl, help) CR_K_(name, CR_T_ONEOF, fl, 0, NULL, 0, 0, oneof, help)
#define CR_K_TREE(name, fl, help)         CR_K_(name, CR_T_TREE, fl, 0, NULL, 0, 0, NULL, help)
#define CR_K_INSTEAD(name, msg, instead, fl, help)                                                 \
    CR_K_(name, CR_T_MSG, fl, 0, instead, 0, 0, msg, help)

#define CR_U32_MAX 4294967295.0
#define CR_INF     __builtin_inf()

/* cr_conf_bind makes a struct for msg in the arena and fills it from node (NULL: all defaults).
 * Every mistake goes to diag, which is sorted by place; the struct is complete in any case, with
 * defaults for wrong values. The tree must live as long as the struct. A table has at most
 * CR_CONF_MAX_ROWS rows. An INT or FLOAT row with min = max = 0 has no range. A LATER scalar that
 * is given its default is accepted. */
void *cr_conf_bind(cr_arena *arena, const cr_msg *msg, const cr_conf_node *node, cr_diag *diag);
/* cr_conf_bind_own does the same for a message that is not part of the schema (parameters of a
 * library) and stands under `key`. `crank help` does not know such a message, so mistakes list its
 * keys. */
void *cr_conf_bind_own(cr_arena *arena, const cr_msg *msg, const char *key,
                       const cr_conf_node *node, cr_diag *diag);
/* cr_conf_has: was the field given? (protobuf's HasField) */
bool cr_conf_has(const void *conf, const char *field);
/* cr_conf_refused: was the field given (perhaps under a misspelled key) and refused? Then the user
 * has been told, and its absence is not another mistake. */
bool cr_conf_refused(const void *conf, const char *field);
/* cr_conf_at returns the place of the field's value, or of the message when the field was not
 * given. */
cr_loc cr_conf_at(const void *conf, const char *field);
/* cr_conf_at_item returns the place of item i of a repeated field. */
cr_loc cr_conf_at_item(const void *conf, const char *field, int64_t i);
/* cr_msg_field returns the row with that name, or NULL. */
const cr_field *cr_msg_field(const cr_msg *msg, const char *name);
/* cr_msg_member returns the oneof member called key; *field (if field is not NULL) becomes the row
 * it belongs to. */
const cr_oneof_member *cr_msg_member(const cr_msg *msg, const char *key, const cr_field **field);

#endif
