/*
 * pickle_int.h - between the machine that runs a pickle (pickle.c) and the names that it knows
 * (pickle_names.c).
 */
#ifndef CR_BASE_PICKLE_INT_H
#define CR_BASE_PICKLE_INT_H

#include "base/pickle.h"

/* cr_pickle_named returns a name of Python; NULL: it is not known. */
cr_pickle *cr_pickle_named(cr_arena *a, const char *module, size_t n_module, const char *id,
                           size_t n_id);
/* cr_pickle_call makes what the name f makes of the arguments, a list; false: they do not fit. */
bool cr_pickle_call(cr_arena *a, const cr_pickle *f, cr_pickle *args, cr_pickle **out);
/* cr_pickle_build gives v its state; false: v has none, or another one. */
bool cr_pickle_build(cr_arena *a, cr_pickle *v, const cr_pickle *state);

#endif
