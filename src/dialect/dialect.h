/*
 * dialect.h - converts configs of other programs to configs of crank.
 *
 * A dialect turns one tree (conf/tree.h) into another: keys of the other program go in, keys of
 * crank's tables come out. Every new node keeps the place that it came from, so that a mistake in
 * the result is reported at the user's own line. Nothing is lost silently: a key without a
 * counterpart is a finding with its place and the reason.
 */
#ifndef CR_DIALECT_DIALECT_H
#define CR_DIALECT_DIALECT_H

#include "conf/tree.h"

/* Which part of a config is wanted, and edits in the words of its program. Zeros: all of it. */
typedef enum cr_dialect_part {
    CR_DIALECT_WHOLE, /* what crank's own commands take: data of training and of evaluation */
    CR_DIALECT_TRAIN, /* a training as the other program does it */
    CR_DIALECT_INFER  /* an evaluation as the other program does it */
} cr_dialect_part;
typedef struct cr_dialect_opts {
    cr_dialect_part part;
    const char *runner, *phase; /* PaddleRec: which of them; NULL: the first that fits */
    const char *model;          /* PaddleRec: its name; NULL: folder and keys tell it */
    bool compat;                /* the model as the other program ships it, with its mistakes */
    bool servers;               /* the run has parameter servers */
    bool elsewhere;             /* the data is on other machines: its folders need not be here */
    const char *const *set;     /* n_set edits key=value */
    int n_set;
} cr_dialect_opts;

/* A program whose configs crank accepts. list.h has all of them. */
typedef struct cr_dialect {
    const char *name; /* the program's name */
    /* sign finds a key that only configs of this program have; NULL: there is none. */
    const cr_conf_entry *(*sign)(const cr_conf_doc *doc);
    /* rewrite turns the tree into one of crank's keys, in place, or tells the user what to do. Its
     * findings are at the places of the user's file. */
    CR_CHECKED cr_code (*rewrite)(cr_conf_doc *doc, const cr_conf_entry *sign,
                                  const cr_dialect_opts *o, cr_diag *diag);
} cr_dialect;

/* cr_dialect_load reads a config file of any of these programs into a tree of crank's keys; o NULL:
 * all of it. */
CR_CHECKED cr_code cr_dialect_load(cr_conf_doc *doc, const char *path, const cr_dialect_opts *o,
                                   cr_diag *diag);
/* cr_paddle_last_counts: is it a config of PaddleRec, whose reader takes the last of a doubled key?
 */
bool cr_paddle_last_counts(const cr_conf_doc *doc);
/* cr_dialect_rewrite does the same with a tree that is there already. */
CR_CHECKED cr_code cr_dialect_rewrite(cr_conf_doc *doc, const cr_dialect_opts *o, cr_diag *diag);
/* cr_cruise_test_paths returns the globs of the test data in a config of Cruise; NULL: none.
 * cr_cruise_test_steps returns the most batches of them; 0: all. cr_cruise_defaults adds the keys
 * that such a config lacks, with their defaults. */
const char *cr_cruise_test_paths(cr_arena *a, const cr_conf_node *root);
int64_t cr_cruise_test_steps(const cr_conf_node *root);
void cr_cruise_defaults(cr_conf_doc *doc);
/* cr_dialect_key returns the first entry whose message and key are among the pairs; the last pair
 * is {NULL}. A message may be repeated. */
const cr_conf_entry *cr_dialect_key(const cr_conf_doc *doc, const char *const pairs[][2]);

typedef struct cr_easyrec_opts {
    const char *fg_json_path; /* NULL: the fg_json_path of the config, if it has one */
    bool use_old_fg; /* features come from the config, and only their inputs from fg.json */
} cr_easyrec_opts;

typedef struct cr_easyrec_result {
    const char *model; /* key of the model that was made; NULL: none */
    int n_features, n_groups;
    int n_left; /* notes: keys that were left out without an effect on results */
    int n_lost; /* warnings: keys that were left out or replaced, so that results differ */
} cr_easyrec_result;

/* cr_easyrec_convert turns EasyRec's config `in` into a config `out`, which the caller has
 * initialised. A finding is an error where EasyRec would refuse the config too or where the config
 * cannot run without the key; a warning where results change; a note where they do not. It returns
 * CR_ECONF when `in` is not a config of EasyRec, and out is then useless; else CR_OK, even when
 * there are errors. `in` and the tree of out share nodes, so both must live equally long. */
CR_CHECKED cr_code cr_easyrec_convert(cr_conf_doc *out, const cr_conf_doc *in,
                                      const cr_easyrec_opts *o, cr_easyrec_result *res,
                                      cr_diag *diag);

#endif
