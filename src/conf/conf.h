/*
 * conf.h - work on whole configs: edits, printing, help. The root message's tables drive all of it.
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
/* cr_conf_set_by does the same for another flag than --set, which must outlive doc. */
CR_CHECKED cr_code cr_conf_set_by(cr_conf_doc *doc, const cr_msg *root, const char *flag,
                                  const char *assignment, bool named, cr_diag *diag);
/* cr_conf_edit_json applies --edit_config_json (reference 1.10): selectors [i] [a:b] [:] [path op
 * val]. */
CR_CHECKED cr_code cr_conf_edit_json(cr_conf_doc *doc, const cr_msg *root, const char *json,
                                     cr_diag *diag);

/* cr_conf_fill adds to the tree what was not given and has a default in the tables, such as whole
 * messages and choices. each (may be NULL) is then called for every message in the tree, inner ones
 * first. It may look at the message with cr_fill_find (the last value of a key; NULL: none, or an
 * empty list) and add to it with cr_fill_put ("key: value", in YAML). */
typedef struct cr_fill {
    cr_conf_doc *doc;
    const cr_msg *msg;
    cr_conf_node **maps; /* n maps: protobuf text may give a message in parts */
    int n;
} cr_fill;
void cr_conf_fill(cr_conf_doc *doc, const cr_msg *root, void (*each)(const cr_fill *f));
const cr_conf_node *cr_fill_find(const cr_fill *f, const char *key);
void cr_fill_put(const cr_fill *f, const char *text);

/* cr_conf_print writes what is set, in table order, as YAML, protobuf text or JSON; all three can
 * be read again. */
void cr_conf_print(cr_buf *out, const cr_msg *root, const cr_conf_node *node, cr_syntax syntax);

/* cr_conf_value writes the value of a bound field that is stored, as one line. Equal values give
 * equal text, whether given or default and in any syntax. It is for comparisons and messages. */
void cr_conf_value(cr_buf *out, const void *conf, const cr_field *f);

#define CR_CONF_SAY 256
/* cr_conf_say writes `key: value` for a message to the user, in the syntax of the file that conf,
 * any bound struct, came from; returns out. fmt is a printf format that gives the value in YAML's
 * flow style: 1, NAME, "text", [1, 2], {a: 1}. For a dotted path it writes the last key and puts
 * the rest behind: "fg_mode: FG_DAG in data_config". CR_SAY brings its own buffer. */
const char *cr_conf_say(char out[CR_CONF_SAY], const void *conf, const char *path, const char *fmt,
                        ...) CR_PRINTF(4, 5);
#define CR_SAY(conf, path, ...) cr_conf_say((char[CR_CONF_SAY]){0}, conf, path, __VA_ARGS__)

/* cr_conf_diff calls tell for each key whose value differs in two bound messages of one type. path
 * is the place of the key: "feature_configs[city].id_feature.num_buckets"; a and b are its values
 * on one line, NULL where it does not exist. The texts live until tell returns. */
typedef void (*cr_conf_diff_fn)(void *ctx, const char *path, const char *a, const char *b);
void cr_conf_diff(const void *a, const void *b, cr_conf_diff_fn tell, void *ctx);

#define CR_CONF_NEAR 160
/* cr_conf_help writes help for a dotted key path ("train_config.num_steps") or for the name of a
 * message or member ("deepfm", "TrainConfig"). When there is no such topic it returns false, and
 * `near` becomes the nearest name or path, or "". */
bool cr_conf_help(cr_buf *out, const cr_msg *root, const char *topic, char near[CR_CONF_NEAR]);
/* A word of the config: a key, a member of a oneof (`of` names the oneof: "model"), or a value of
 * an enum (`of` is its key). */
typedef enum cr_term_kind { CR_TERM_KEY, CR_TERM_MEMBER, CR_TERM_VALUE } cr_term_kind;
typedef struct cr_conf_term {
    cr_term_kind kind;
    const char *name, *of, *help;
    const cr_msg *in; /* the message that has the key */
    bool later;       /* not in this version */
} cr_conf_term;
/* cr_conf_terms calls tell for every word that can be reached from root, in a fixed order. */
void cr_conf_terms(const cr_msg *root, void (*tell)(void *ctx, const cr_conf_term *t), void *ctx);
/* cr_conf_reference writes the reference pages (Markdown): it calls page(ctx, message, text) for
 * each message reachable from root, in a fixed order. */
void cr_conf_reference(const cr_msg *root,
                       void (*page)(void *ctx, const cr_msg *msg, const char *text), void *ctx);

#endif
