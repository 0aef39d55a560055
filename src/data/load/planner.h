/*
 * planner.h - the planner makes batches of windows: it decides which rows of which windows are in
 * which batch, in the order of the stream. A planned batch is a parcel; any worker assembles it,
 * and parcels are handed out in the order they were planned.
 */
#ifndef CR_DATA_LOAD_PLANNER_H
#define CR_DATA_LOAD_PLANNER_H

#include "data/load/window.h"

typedef enum cr_parcel_kind { CR_PARCEL_BATCH, CR_PARCEL_END, CR_PARCEL_FAILED } cr_parcel_kind;
typedef struct cr_parcel {
    cr_batch batch;    /* first: the caller's pointer */
    cr_data_pos after; /* where the stream stands after it */
    struct cr_parcel *next;
    cr_parcel_kind kind;
    bool started, ready; /* a worker assembles it; it may be handed out */
    bool last;           /* CR_PARCEL_END: of the last epoch */
    cr_err err;          /* CR_PARCEL_FAILED */
    cr_region mem;
    cr_tally tally; /* of the windows that begin in it */
    const cr_batch *shape;
    cr_row_run *runs;
    cr_window **wins; /* of the runs */
    int n_runs, cap_runs;
} cr_parcel;

typedef struct cr_planner {
    const cr_loader_opts *o;
    cr_windows *from;
    bool over;             /* nothing comes after the last parcel */
    int64_t epoch_batches; /* planned in this epoch; of a run that goes on inside of one: and one */
    cr_parcel v[CR_LOADER_AHEAD];
    cr_parcel *head, *tail, *spare; /* planned, in order; not in use */
} cr_planner;

/* All are called with the loader's lock held. */

/* cr_planner_init: o->start tells where the run begins. */
void cr_planner_init(cr_planner *p, const cr_loader_opts *o, cr_windows *from);
/* cr_planner_run plans as many batches as there are spare parcels and rows. */
void cr_planner_run(cr_planner *p);
/* cr_planner_todo returns the first parcel that no worker assembles yet; NULL: there is none. */
cr_parcel *cr_planner_todo(const cr_planner *p);
/* cr_planner_done is called when a parcel was assembled; the parcel releases its windows. */
void cr_planner_done(cr_planner *p, cr_parcel *x);
/* cr_planner_take returns the next parcel in order if it is ready, else NULL. */
cr_parcel *cr_planner_take(cr_planner *p);
/* cr_planner_return takes back a parcel that was taken. */
void cr_planner_return(cr_planner *p, cr_parcel *x);
void cr_planner_clear(cr_planner *p);

#endif
