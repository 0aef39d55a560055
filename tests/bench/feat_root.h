/*
 * feat_root.h - a config of data and features alone, for the benchmarks of feature encoding.
 */
#ifndef CR_TESTS_BENCH_FEAT_ROOT_H
#define CR_TESTS_BENCH_FEAT_ROOT_H

#include "feat/config.h"

typedef struct root {
    cr_conf_base base;
    cr_data_conf *data_config;
    cr_msgs feature_configs;
} root;
static const cr_field root_fields[] = {
    CR_MSG(root, data_config, &cr_data_msg, 0, "data"),
    CR_MSG(root, feature_configs, &cr_feature_msg, CR_F_REPEATED, "features"),
    CR_END,
};
static const cr_msg root_msg = {
    .name = "Root",
    .help = "bench",
    .fields = root_fields,
    .size = sizeof(root),
};

#endif
