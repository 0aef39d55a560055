/*
 * planner_int.h - what the files of the planner share: the loads of all ranks while a plan grows.
 *
 * Most of what a table costs is the same for all ranks, or for all ranks of a machine. So the load
 * of rank r is the sum all + node[r's machine] + rank[r], and a table that lies with one rank is
 * added in three places however many ranks there are.
 */
#ifndef CR_PLANNER_INT_H
#define CR_PLANNER_INT_H

#include "planner/planner.h"

/* Which part of the distinct ids lies in each of n ranges of rows: of those that one rank asks for,
 * and of those that the global batch touches. Ranges from CR_PLANNER_HEAD on count as alike. */
#define CR_PLANNER_HEAD 64
typedef struct cr_planner_profile {
    int n; /* 0: it is not filled */
    double asked[CR_PLANNER_HEAD + 1], touched[CR_PLANNER_HEAD + 1];
} cr_planner_profile;

/* What is known of a table before it is placed. */
typedef struct cr_planner_trait {
    double draws; /* ids of one rank's batch */
    double u;     /* those of them that are distinct */
    double parts; /* gradient parts of one rank: a distinct id has one per node of the lane tree */
    double G;     /* distinct ids of the global batch */
    double mask;  /* bytes that say which nodes the parts of an id are of; 0: there is one node */
    /* cut over all ranks, and over those of a machine; NULL: not asked for yet */
    cr_planner_profile *cut[2];
} cr_planner_trait;

typedef struct cr_planner_state {
    const cr_planner_job *j;
    const cr_planner_machine *m;
    int nodes;
    double per_byte[2];      /* seconds, as in bandwidth */
    cr_planner_trait *trait; /* [n] */
    cr_planner_load all, *node, *rank;
    int n_copies, n_cut;          /* trained tables that every rank has; tables that are cut */
    cr_planner_profile other;     /* of the last table that was cut into another number of ranges */
    double *node_sum, *node_full; /* [nodes] scratch of the search for places */
    cr_arena *arena;
} cr_planner_state;

/* cr_planner_begin: the loads of a job without its tables. */
void cr_planner_begin(cr_planner_state *s, const cr_planner_job *j, const cr_planner_machine *m,
                      cr_arena *a);
/* cr_planner_reset takes all tables away again. */
void cr_planner_reset(cr_planner_state *s);
/* cr_planner_add adds (sign 1) or takes away (-1) what table t costs with placing p. */
void cr_planner_add(cr_planner_state *s, int t, const cr_planned *p, double sign);
cr_planner_load cr_planner_load_of(const cr_planner_state *s, int rank);
/* cr_planner_seconds: a load as time, without messages. */
static inline double cr_planner_seconds(const cr_planner_state *s, const cr_planner_load *l) {
    double t = l->compute + l->update;
    for (int k = 0; k < 2; k++)
        t += (l->in[k] > l->out[k] ? l->in[k] : l->out[k]) * s->per_byte[k];
    return t;
}
/* cr_planner_put adds a load, sign times. */
static inline void cr_planner_put(cr_planner_load *to, const cr_planner_load *l, double sign) {
    to->compute += sign * l->compute;
    to->update += sign * l->update;
    for (int k = 0; k < 2; k++) {
        to->in[k] += sign * l->in[k];
        to->out[k] += sign * l->out[k];
    }
    to->memory += sign * l->memory;
}
/* cr_planner_messages: seconds that the messages of a step cost the rank. */
double cr_planner_messages(const cr_planner_state *s, int rank);
/* cr_planner_leanest: the allowed way that takes the least memory of any one rank. */
cr_planned cr_planner_leanest(const cr_planner_machine *m, const cr_planner_table *t, int number);
/* cr_planner_may_copy: may every rank have the whole table? */
bool cr_planner_may_copy(const cr_planner_machine *m, const cr_planner_table *t);
int cr_planner_node_size(const cr_planner_machine *m, int node);

#endif
