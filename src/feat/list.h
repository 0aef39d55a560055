/*
 * list.h - every feature type: X(key, name) is one line here, one line of meson.build and one file,
 * which holds its config's struct, its message cr_<name>_msg and its type cr_feature_<name>.
 * Its sequence forms come with it (seq.c): sequence_<key>, and <key> inside a sequence_feature. The
 * order is that of the help texts.
 */
#ifndef CR_FEAT_LIST_H
#define CR_FEAT_LIST_H

#include "feat/feat.h"

#define CR_FEATURES(X)                                                                             \
    X(id_feature, id)                                                                              \
    X(raw_feature, raw)                                                                            \
    X(combo_feature, combo)                                                                        \
    X(lookup_feature, lookup)                                                                      \
    X(match_feature, match)                                                                        \
    X(expr_feature, expr)                                                                          \
    X(overlap_feature, overlap)                                                                    \
    X(kv_dot_product, kv_dot)                                                                      \
    X(bool_mask_feature, bool_mask)                                                                \
    X(combine_feature, combine)                                                                    \
    X(custom_feature, custom)                                                                      \
    X(tokenize_feature, tokenize)

#define CR_FEATURE_DECLARE(key, name)                                                              \
    extern const cr_msg cr_##name##_msg;                                                           \
    extern const cr_feature_type cr_feature_##name;
CR_FEATURES(CR_FEATURE_DECLARE)

#endif
