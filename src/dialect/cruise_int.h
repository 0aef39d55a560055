/*
 * cruise_int.h - what the files of the Cruise dialect share.
 *
 *   cruise.c         the whole, and reading of values
 *   cruise_train.c   trainer: lengths, checkpoints, precision, logs
 *   cruise_optim.c   optimizers and schedules
 *   cruise_model.c   model: slots, text vectors, the network
 *   cruise_data.c    data: sources, folders, files
 *   cruise_print.c   defaults of all keys, for --print_config
 *
 * Keys are strict: what no table has is a mistake. A key whose value is null counts as not given.
 */
#ifndef CR_DIALECT_CRUISE_INT_H
#define CR_DIALECT_CRUISE_INT_H

#include "dialect/rewrite_int.h"

typedef struct cr_cruise {
    const cr_conf_node *trainer, *model, *data; /* sections of the user's file */
    /* what is made: set is data_config, net is model_config */
    cr_conf_node *root, *train, *eval, *export, *set, *net;
    const cr_conf_node *provider, *factory; /* sections of data */
    bool two_tasks;                         /* the provider of the two-task model */
} cr_cruise;

#define CR_CRUISE_GPU  "crank trains on the CPU"
#define CR_CRUISE_SAME "crank always does so"
#define CR_CRUISE_NONE "it has no counterpart in crank and changes no result"

/* ---- cruise.c: reading ---- */
/* cr_cruise_section passes a section through its table; messages name it. */
void cr_cruise_section(cr_rw *w, const char *name, const cr_rule *rules, const cr_conf_node *in,
                       cr_conf_node *out);
/* cr_cruise_part returns the map under a key; a value of another kind is told and counts as empty,
 * and so does an absent one, which is a mistake if it is needed. */
const cr_conf_node *cr_cruise_part(cr_rw *w, const cr_conf_node *in, const char *key, bool needed);
/* cr_cruise_is_number: is it a finite number? cr_cruise_number and cr_cruise_whole return the
 * number under a key; another value is a mistake. */
bool cr_cruise_is_number(const cr_conf_node *n, double *x);
double cr_cruise_number(cr_rw *w, const cr_conf_node *in, const char *key, double absent);
int64_t cr_cruise_whole(cr_rw *w, const cr_conf_node *in, const char *key, int64_t absent,
                        int64_t lo, int64_t hi);
bool cr_cruise_bool(cr_rw *w, const cr_conf_node *in, const char *key, bool absent);
/* cr_cruise_type reads `type:`; a name that is not among names, which NULL ends, is a mistake that
 * lists them. Returns the number of the name, 0 after a mistake. */
int cr_cruise_type(cr_rw *w, const cr_conf_node *in, const char *where, const char *const *names);
/* Making lists. */
cr_conf_node *cr_cruise_list(cr_rw *w, cr_conf_node *out, const char *key, cr_loc at);
cr_conf_node *cr_cruise_item(cr_rw *w, cr_conf_node *list, cr_loc at); /* a map */
void cr_cruise_name(cr_rw *w, cr_conf_node *list, const char *name);   /* a string */

/* ---- the parts ---- */
void cr_cruise_trainer(cr_rw *w, cr_cruise *c);
/* cr_cruise_optimizers reads model.kwargs and, where that has none, trainer.optimizer_kwargs. */
void cr_cruise_optimizers(cr_rw *w, cr_cruise *c, const cr_conf_node *kwargs);
void cr_cruise_data(cr_rw *w, cr_cruise *c); /* before the model, which reads c->provider */
void cr_cruise_model(cr_rw *w, cr_cruise *c);

#endif
