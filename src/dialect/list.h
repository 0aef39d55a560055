/*
 * list.h - every program whose configs crank accepts. A dialect is one line here, one line of
 * meson.build and one file, which holds cr_dialect_<name>. The first one is crank's own, which is
 * also assumed when there is no sign of another.
 */
#ifndef CR_DIALECT_LIST_H
#define CR_DIALECT_LIST_H

#include "dialect/dialect.h"

/* clang-format off */
#define CR_DIALECTS(X)                                                                             \
    X(native)                                                                                      \
    X(easyrec)                                                                                     \
    X(cruise)                                                                                      \
    X(paddle)
/* clang-format on */

#define CR_DIALECT_DECLARE(d) extern const cr_dialect cr_dialect_##d;
CR_DIALECTS(CR_DIALECT_DECLARE)

#endif
