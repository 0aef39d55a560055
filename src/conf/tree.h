/*
 * tree.h - config text as a tree in which every value knows its place.
 *
 * YAML, protobuf text and JSON all become this tree; binding, edits and printing work on it and
 * do not know which syntax it came from. Nodes live in the document's arena.
 */
#ifndef CR_CONF_TREE_H
#define CR_CONF_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

typedef enum cr_node_kind { CR_NODE_SCALAR, CR_NODE_MAP, CR_NODE_LIST } cr_node_kind;
typedef enum cr_syntax { CR_SYNTAX_YAML, CR_SYNTAX_PBTXT, CR_SYNTAX_JSON } cr_syntax;

typedef struct cr_conf_node cr_conf_node;
typedef struct cr_conf_entry {
    const char *key; /* NULL in lists */
    cr_loc at;       /* place of the key, or of the item in lists */
    cr_conf_node *val;
} cr_conf_entry;
struct cr_conf_node {
    cr_node_kind kind;
    cr_syntax from;
    cr_loc at;
    bool quoted;      /* scalar was a quoted string */
    const char *text; /* scalar: unescaped, NUL-ended, may hold NULs inside: see len */
    size_t len;
    /* map and list: entries in file order. A map from protobuf text may hold a key several
     * times (repeated fields); in YAML and JSON a doubled key is a parse error,
     * or only its last entry is kept. */
    cr_conf_entry *v;
    size_t n, cap;
};

/* A parsed document; owns its tree. */
typedef struct cr_conf_doc cr_conf_doc;
struct cr_conf_doc {
    cr_arena arena;
    cr_conf_node *root; /* always a map */
    const char *path;
    cr_syntax syntax;
    /* Decides, once the YAML is read, whether the last of a doubled key counts, with a warning, as
     * in Python's reader. NULL: a doubled key is an error. */
    bool (*last_counts)(const cr_conf_doc *doc);
};
void cr_conf_doc_init(cr_conf_doc *doc);
void cr_conf_doc_clear(cr_conf_doc *doc);

/* cr_conf_load reads a file. The ending (.yaml .yml .json .config .pbtxt .prototxt .txt) decides
 * the syntax, and where that says nothing, the text does. All syntax errors go to diag. */
CR_CHECKED cr_code cr_conf_load(cr_conf_doc *doc, const char *path, cr_diag *diag);
/* cr_conf_parse does the same for a text in memory; path is only for messages. */
CR_CHECKED cr_code cr_conf_parse(cr_conf_doc *doc, cr_syntax syntax, const char *path,
                                 const char *text, size_t n, cr_diag *diag);
/* The two above use these; each is in its own file: yaml.c (the only one that knows libfyaml),
 * pbtxt.c. */
CR_CHECKED cr_code cr_conf_parse_yaml(cr_conf_doc *doc, bool json, const char *text, size_t n,
                                      cr_diag *diag);
CR_CHECKED cr_code cr_conf_parse_pbtxt(cr_conf_doc *doc, const char *text, size_t n, cr_diag *diag);

cr_conf_node *cr_conf_new(cr_conf_doc *doc, cr_node_kind kind, cr_loc at);
void cr_conf_push(cr_conf_doc *doc, cr_conf_node *parent, const char *key, cr_loc at,
                  cr_conf_node *val);
/* cr_conf_key_is: is the key, spelled in the syntax of map, the field `name`? */
bool cr_conf_key_is(const cr_conf_node *map, const char *key, const char *name);
/* cr_conf_find returns the last value under that key, also where JSON spells the key in camelCase;
 * NULL when there is none. */
cr_conf_node *cr_conf_find(const cr_conf_node *map, const char *key);
/* cr_conf_read_bool reads a scalar as its syntax spells a bool; false: it is none. */
bool cr_conf_read_bool(const cr_conf_node *n, bool *out);
/* cr_conf_find_text: the text of the scalar under that key; "" when there is none */
const char *cr_conf_find_text(const cr_conf_node *map, const char *key);

/* Rewriting (tree_edit.c). Values keep their places, entries their order; texts are copied. */
cr_conf_node *cr_tree_scalar(cr_conf_doc *doc, const char *text, bool quoted, cr_loc at);
/* cr_tree_copy copies a tree into doc; NULL when it is deeper or larger than a config may be. */
cr_conf_node *cr_tree_copy(cr_conf_doc *doc, const cr_conf_node *n);
/* cr_tree_put makes val the only value of the key: at the place of the last one, else at the
 * end. */
void cr_tree_put(cr_conf_doc *doc, cr_conf_node *map, const char *key, cr_loc at,
                 cr_conf_node *val);
/* cr_tree_put_str does the same with a quoted text, so that any text survives. */
void cr_tree_put_str(cr_conf_doc *doc, cr_conf_node *map, const char *key, cr_loc at,
                     const char *text);
/* cr_tree_child returns the message under the key, and makes it when it does not exist. */
cr_conf_node *cr_tree_child(cr_conf_doc *doc, cr_conf_node *map, const char *key, cr_loc at);
/* These work on all entries of the key and return how many there were. */
int cr_tree_drop(cr_conf_node *map, const char *key);
int cr_tree_rename(cr_conf_doc *doc, cr_conf_node *map, const char *key, const char *to);
int cr_tree_move(cr_conf_doc *doc, cr_conf_node *from, const char *key, cr_conf_node *to,
                 const char *name);
/* cr_tree_remove takes the value `what` out of the tree below `in`, wherever it stands; returns how
 * often it was there. */
int cr_tree_remove(cr_conf_node *in, const cr_conf_node *what);

/* Which keys does nothing read? For trees that no table describes: the reader of a key asks
 * for it here, and what was never asked for is told, with the nearest key that was. */
typedef struct cr_tree_asked cr_tree_asked;
typedef struct cr_tree_use {
    cr_arena arena;
    cr_tree_asked *asked;
} cr_tree_use;
void cr_tree_use_init(cr_tree_use *u);
void cr_tree_use_clear(cr_tree_use *u);
const cr_conf_node *cr_tree_ask(cr_tree_use *u, const cr_conf_node *map, const char *key);
/* cr_tree_ask_all: all that stands below is read */
void cr_tree_ask_all(cr_tree_use *u, const cr_conf_node *map);
void cr_tree_tell_unused(const cr_tree_use *u, const cr_conf_node *root, cr_sev sev, cr_diag *diag);

#endif
