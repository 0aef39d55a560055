/*
 * units.h - what a score can be explained by: a feature, a group of features of the model, the
 * features of one sequence; and which parts of a batch and nodes of the graph belong to it.
 */
#ifndef CR_EXPLAIN_UNITS_H
#define CR_EXPLAIN_UNITS_H

#include "explain/kept.h"

typedef struct cr_unit {
    const char *kind; /* "feature", "group", "sequence" */
    const char *name;
    int n_features;
    bool seq; /* it is one feature, which is a sequence */
    /* the parts of a batch: by list of ids (those of tables with a map too), by sequence of
     * numbers, by float of a dense row */
    bool *ids, *seqs, *dense;
    struct cr_unit_part { /* the same as a list */
        cr_kept_part part;
        int64_t at;
    } * parts;
    int n_parts;
    /* it has all sequences of every axis that it has one of, so that their lengths go with it */
    bool lengths;
} cr_unit;

typedef struct cr_unit_list {
    cr_unit *v;
    int n, n_features; /* the features come first, in the order of the config */
} cr_unit_list;
/* cr_units_make lists every feature, and with `all` also the groups and sequences that have more
 * than one feature and not the same features as a unit before them. */
cr_unit_list cr_units_make(const cr_job *j, bool all, cr_arena *a);
/* cr_unit_changes marks, by number of node, what can differ when the unit has other values.
 * moved: with other lengths. */
void cr_unit_changes(const cr_unit *u, const cr_model *m, bool moved, bool *mark);
/* cr_unit_differ sets differs[i], for i < n, to whether the unit has not the same values in the
 * kept rows first + i and donor[first + i] (NULL: no values). */
void cr_unit_differ(const cr_unit *u, const cr_kept *k, int64_t first, int64_t n,
                    const int64_t *donor, bool *differs);
/* cr_unit_from lets the parts of the unit come from these rows. */
typedef struct cr_unit_sources {
    const int64_t **ids, **seqs, **dense;
} cr_unit_sources;
cr_unit_sources cr_unit_sources_new(const cr_kept *k, cr_arena *a);
void cr_unit_from(const cr_unit *u, cr_unit_sources *s, const int64_t *rows);

#endif
