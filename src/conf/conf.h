/*
 * conf.h - work on whole configs: edits, printing, help. All driven by the root message's tables.
 */
#ifndef CR_CONF_CONF_H
#define CR_CONF_CONF_H

#include "base/buf.h"
#include "conf/field.h"

/* cr_conf_set applies one "--set a.b[0].c=v". Missing messages are made; v is YAML for lists
 * ("[1,2]") and messages ("{…}"), else a scalar. Places of errors read "--set:1:col", or with
 * `named`, for one of several, "--set 'a.b[0].c=v':1:col". */
CR_CHECKED cr_code cr_conf_set(cr_conf_doc *doc, const cr_msg *root, const char *assignment,
                               bool named, cr_diag *diag);
/* cr_conf_edit_json applies --edit_config_json (reference 1.10): selectors [i] [a:b] [:] [path op
 * val]. */
CR_CHECKED cr_code cr_conf_edit_json(cr_conf_doc *doc, const cr_msg *root, const char *json,
                                     cr_diag *diag);

/* cr_conf_fill puts what is not given and has a default in the tables, whole messages and choices,
 * into the tree. each (may be NULL) is then called for every message that there is, inner ones
 * first, to look at it with cr_fill_find (the last value of a key; NULL: none, or an empty list)
 * and to put more with cr_fill_put ("key: value", YAML). */
typedef struct cr_fill {
    cr_conf_doc *doc;
    const cr_msg *msg;
    cr_conf_node **maps; /* n of them: protobuf text may give a message in parts */
    int n;
} cr_fill;
void cr_conf_fill(cr_conf_doc *doc, const cr_msg *root, void (*each)(const cr_fill *f));
const cr_conf_node *cr_fill_find(const cr_fill *f, const char *key);
void cr_fill_put(const cr_fill *f, const char *text);

/* cr_conf_print writes what is set, in table order, as YAML, protobuf text or JSON; all read back.
 */
void cr_conf_print(cr_buf *out, const cr_msg *root, const cr_conf_node *node, cr_syntax syntax);

/* cr_conf_value writes the value of a bound field (one that is stored) as one line: the same text
 * for the same value, given or default, in any syntax. For comparisons and messages. */
void cr_conf_value(cr_buf *out, const void *conf, const cr_field *f);

#define CR_CONF_SAY 256
/* cr_conf_say writes `key: value` for a message, in the syntax of the file that conf, any bound
 * struct, came from; returns out. The value is YAML's flow style: 1, NAME, "text", [1, 2], {a: 1}.
 * It is a format of printf.
 * Of a dotted path the last key is written and the rest follows: "fg_mode: FG_DAG in data_config".
 * CR_SAY brings its own room. */
const char *cr_conf_say(char out[CR_CONF_SAY], const void *conf, const char *path, const char *fmt,
                        ...) CR_PRINTF(4, 5);
#define CR_SAY(conf, path, ...) cr_conf_say((char[CR_CONF_SAY]){0}, conf, path, __VA_ARGS__)

/* cr_conf_diff tells each key whose value differs in two bound messages of one type. path is where
 * it stands: "feature_configs[city].id_feature.num_buckets"; a and b are its values on one line,
 * NULL where it is not there. The texts live until tell returns. */
typedef void (*cr_conf_diff_fn)(void *ctx, const char *path, const char *a, const char *b);
void cr_conf_diff(const void *a, const void *b, cr_conf_diff_fn tell, void *ctx);

#define CR_CONF_NEAR 160
/* cr_conf_help writes help for a dotted key path ("train_config.num_steps") or for a message or
 * member name ("deepfm", "TrainConfig"). Returns false, with `near` set to the nearest name or path
 * or "", when there is none. */
bool cr_conf_help(cr_buf *out, const cr_msg *root, const char *topic, char near[CR_CONF_NEAR]);
/* A word of the config: a key, a member of a oneof (`of` is what the oneof is: "model"), or a value
 * of an enum (`of` is its key). */
typedef enum cr_term_kind { CR_TERM_KEY, CR_TERM_MEMBER, CR_TERM_VALUE } cr_term_kind;
typedef struct cr_conf_term {
    cr_term_kind kind;
    const char *name, *of, *help;
    const cr_msg *in; /* the message that has the key */
    bool later;       /* not in this version */
} cr_conf_term;
/* cr_conf_terms tells every word that can be reached from root, in a fixed order. */
void cr_conf_terms(const cr_msg *root, void (*tell)(void *ctx, const cr_conf_term *t), void *ctx);
/* cr_conf_reference writes the reference pages (Markdown): one call per message reachable from
 * root, in a fixed order; page(ctx, message, text). */
void cr_conf_reference(const cr_msg *root,
                       void (*page)(void *ctx, const cr_msg *msg, const char *text), void *ctx);

#endif
