/*
 * load.c - loads a config file for the command line: reads it, edits it by flags,
 * --edit_config_json and --set, fills in defaults, binds and checks it.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "job/env.h"
#include "job/job.h"
#include "job/verify.h"

/* A flag of the command line replaces a key. */
static void put_flag(cr_conf_doc *doc, cr_conf_node *map, const char *key, const char *value,
                     const char *flag) {
    cr_tree_put_str(doc, map, key, (cr_loc){flag, 0, 0}, value);
}

cr_code cr_config_load(cr_config *c, const cr_config_opts *o, cr_diag *diag) {
    memset(c, 0, sizeof(*c));
    cr_arena_init(&c->arena, 0);
    cr_conf_doc_init(&c->doc);
    CR_TRY(cr_verify_config(o->path, diag));
    CR_TRY(cr_dialect_load(&c->doc, o->path, &o->dialect, diag));
    const struct {
        const char *key, *value, *flag;
    } paths[] = {{"model_dir", o->model_dir, "--model_dir"},
                 {"train_input_path", o->train_input_path, "--train_input_path"},
                 {"eval_input_path", o->eval_input_path, "--eval_input_path"}};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (paths[i].value)
            put_flag(&c->doc, c->doc.root, paths[i].key, paths[i].value, paths[i].flag);
    bool edits_ok = true;
    if (o->fine_tune_checkpoint) {
        static const char flag[] = "--fine_tune_checkpoint";
        cr_conf_node *train =
            cr_tree_child(&c->doc, c->doc.root, "train_config", (cr_loc){flag, 0, 0});
        put_flag(&c->doc, train, "fine_tune_checkpoint", o->fine_tune_checkpoint, flag);
    }
    if (o->edit_config_json)
        edits_ok = cr_conf_edit_json(&c->doc, &cr_root_msg, o->edit_config_json, diag) == CR_OK;
    for (int i = 0; i < o->n_set; i++)
        if (cr_conf_set_by(&c->doc, &cr_root_msg,
                           i < o->n_env ? "FLAGS_... of the environment" : "--set", o->set[i],
                           i < o->n_env || o->n_set > 1, diag) != CR_OK)
            edits_ok = false;
    for (int i = 0; i < o->n_tries; i++)
        if (cr_conf_set_by(&c->doc, &cr_root_msg, "--try", o->tries[i], true, diag) != CR_OK)
            edits_ok = false;
    cr_env_keep(&c->doc, diag);
    cr_config_defaults(&c->doc);
    if (o->asset_dir) cr_assets_from(c, o->asset_dir);
    c->root = cr_conf_bind(&c->arena, &cr_root_msg, c->doc.root, diag);
    if (c->root->data_config) c->root->data_config->inside = o->asset_dir;
    cr_root_finish(c->root, &c->arena, diag);
    if (edits_ok) cr_root_check(c->root, diag);
    cr_diag_sort(diag);
    return cr_diag_code(diag);
}

void cr_config_of_dir(cr_config_opts *c, char path[1200]) {
    char weights[1200];
    if (!c->path || !cr_path_is_dir(c->path)) return;
    snprintf(path, 1200, "%s/pipeline.config", c->path);
    if (!cr_path_exists(path)) return; /* reading the folder reports it */
    snprintf(weights, sizeof(weights), "%s/index.json", c->path);
    if (cr_path_exists(weights)) c->asset_dir = c->path;
    c->path = path;
}

void cr_config_clear(cr_config *c) {
    cr_conf_doc_clear(&c->doc);
    cr_arena_clear(&c->arena);
    memset(c, 0, sizeof(*c));
}
