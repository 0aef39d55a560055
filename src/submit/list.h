/*
 * list.h - every backend, in the order of messages. A backend is one line here, one line of
 * meson.build and one file, which holds cr_backend_<name>.
 */
#ifndef CR_SUBMIT_LIST_H
#define CR_SUBMIT_LIST_H

#include "submit/submit_int.h"

/* clang-format off */
#define CR_BACKENDS(X)                                                                             \
    X(paddlecloud)                                                                                 \
    X(slurm)                                                                                       \
    X(local)                                                                                       \
    X(hosts)                                                                                       \
    X(dlc)                                                                                         \
    X(mpijob)                                                                                      \
    X(pytorchjob)
/* clang-format on */

#define CR_BACKEND_DECLARE(b) extern const cr_backend cr_backend_##b;
CR_BACKENDS(CR_BACKEND_DECLARE)

#endif
