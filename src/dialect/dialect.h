/*
 * dialect.h - converts configs of other programs to configs of crank.
 *
 * A dialect is a way from one tree (conf/tree.h) to another: keys of the other program come in,
 * keys of our tables go out. Every node that goes out keeps the place it came from, so that
 * whatever is wrong with the result is told at the user's own line. Nothing is lost in silence:
 * what has no counterpart is a finding with its place and the reason.
 */
#ifndef CR_DIALECT_DIALECT_H
#define CR_DIALECT_DIALECT_H

#include "conf/tree.h"

/* A program whose configs crank takes. list.h has them all. */
typedef struct cr_dialect {
    const char *name; /* the program's name */
    /* a key that only configs of this program have; NULL: there is none */
    const cr_conf_entry *(*sign)(const cr_conf_doc *doc);
    /* makes the tree one of our keys, in place, or tells the user what to do; findings are at the
     * places of the user's file */
    CR_CHECKED cr_code (*rewrite)(cr_conf_doc *doc, const cr_conf_entry *sign, cr_diag *diag);
} cr_dialect;
/* all of them, NULL-ended; the first is ours, which is also meant where nothing is a sign */
extern const cr_dialect *const cr_dialects[];

/* cr_dialect_load reads a config file of any of these programs into a tree of our keys. */
CR_CHECKED cr_code cr_dialect_load(cr_conf_doc *doc, const char *path, cr_diag *diag);
/* cr_dialect_key: the first entry whose message and key are among the pairs; the last pair is
 * {NULL}. A message may be repeated. */
const cr_conf_entry *cr_dialect_key(const cr_conf_doc *doc, const char *const pairs[][2]);

typedef struct cr_easyrec_opts {
    const char *fg_json_path; /* NULL: the fg_json_path of the config, if it has one */
    bool use_old_fg; /* Features come from the config and only their inputs from fg.json. */
} cr_easyrec_opts;

typedef struct cr_easyrec_result {
    const char *model; /* key of the model that was made; NULL: none */
    int n_features, n_groups;
    int n_left; /* notes: keys that were left out without an effect on results */
    int n_lost; /* warnings: keys that were left out or replaced, so that results differ */
} cr_easyrec_result;

/* cr_easyrec_convert makes a config (out, which the caller has initialised) of EasyRec's config
 * `in`. Findings: an error for what EasyRec would refuse too and for what the config cannot do
 * without; a warning for what changes results; a note for what changes none. CR_ECONF when `in` is
 * no config of EasyRec: then out holds nothing of use; else CR_OK, also when there are errors. `in`
 * and out's tree share nodes: both live together. */
CR_CHECKED cr_code cr_easyrec_convert(cr_conf_doc *out, const cr_conf_doc *in,
                                      const cr_easyrec_opts *o, cr_easyrec_result *res,
                                      cr_diag *diag);

#endif
