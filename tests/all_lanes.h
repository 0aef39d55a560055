/*
 * all_lanes.h - the lanes of a batch that is here as a whole.
 */
#ifndef CR_TESTS_ALL_LANES_H
#define CR_TESTS_ALL_LANES_H

#include "graph/part.h"

static inline const cr_lanes *all_lanes(int n) {
    static cr_lanes t[CR_MAX_LANES + 1];
    cr_lanes_init(&t[n], n, NULL, NULL);
    return &t[n];
}

#endif
