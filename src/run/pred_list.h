/*
 * pred_list.h - every format that predictions can be written in. A writer is one line here, one
 * line of meson.build and one file pred_<name>.c, which holds cr_pred_<name>. The first line is the
 * format of standard output, and of data sets for which no writer is the default.
 */
#ifndef CR_RUN_PRED_LIST_H
#define CR_RUN_PRED_LIST_H

#include "run/pred.h"

#define CR_WRITERS(X)                                                                              \
    X(csv)                                                                                         \
    X(parquet)                                                                                     \
    X(arrow)                                                                                       \
    X(odps)

#define CR_WRITER_DECLARE(w) extern const cr_pred_type cr_pred_##w;
CR_WRITERS(CR_WRITER_DECLARE)

#endif
