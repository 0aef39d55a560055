/*
 * plugin_int.h - the messages PluginModel and PluginBlock.
 */
#ifndef CR_MODEL_PLUGIN_INT_H
#define CR_MODEL_PLUGIN_INT_H

#include "model/blocks_int.h"

typedef struct cr_plugin_conf {
    cr_conf_base base;
    const char *library, *type;
    const cr_conf_node *params; /* NULL: none */
    cr_msgs task_towers;        /* of a model: cr_task_conf */
    int64_t wide_embedding_dim; /* of a model, like wide_init_fn */
    const char *wide_init_fn;
} cr_plugin_conf;

#endif
