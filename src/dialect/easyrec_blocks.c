/*
 * easyrec_blocks.c - converts a backbone of EasyRec to a graph of blocks.
 *
 * A block of EasyRec has one layer or several layers in a row. A block here has one layer, so
 * several layers become a chain of blocks, and the last block of the chain keeps the name. An
 * input_layer that only reads a group does not become a block: the blocks that read it read the
 * group.
 */
#include <string.h>

#include "dialect/graph_int.h"

/* ---- blocks ---- */

static void write_block(cr_er_graph *g, const char *name, cr_loc at, const cr_conf_node *inputs,
                        const cr_er_link *layer) {
    cr_conf_node *b = cr_rw_map(g->w, g->out, "blocks", at);
    cr_rw_put_str(g->w, b, "name", at, name);
    for (size_t i = 0; i < inputs->n; i++)
        cr_conf_push(g->w->doc, b, "inputs", inputs->v[i].at, inputs->v[i].val);
    if (layer) cr_conf_push(g->w->doc, b, layer->key, at, layer->conf);
}

static cr_conf_node *read_one(cr_er_graph *g, const char *key, const char *name, cr_loc at) {
    cr_conf_node *in = cr_conf_new(g->w->doc, CR_NODE_MAP, at);
    cr_rw_put_str(g->w, in, key, at, name);
    return in;
}

/* read_block makes an input that reads the block, or the group that the block stands for. */
static cr_conf_node *read_block(cr_er_graph *g, const char *name, cr_loc at) {
    int64_t alias = cr_map_get(&g->aliases, name, strlen(name), -1);
    if (alias >= 0) return read_one(g, "feature_group_name", g->alias_groups->v[alias].key, at);
    cr_map_put(&g->read, name, strlen(name), 1);
    return read_one(g, "block_name", name, at);
}

/* slice_of reads "[1]"; it returns -1 for any other text. */
static int slice_of(const char *text) {
    int64_t i;
    size_t n = strlen(text);
    bool whole = n > 2 && text[0] == '[' && text[n - 1] == ']' && cr_parse_i64(text + 1, n - 2, &i);
    return whole && i >= 0 && i < 32 ? (int)i : -1;
}

static const cr_rule one_input_rules[] = {
    SPENT("feature_group_name"),
    SPENT("block_name"),
    CUT("package_name", "packages are not there; write their blocks"),
    CUT("use_package_input", "packages are not there; write their blocks"),
    SPENT("input_fn"),
    SPENT("input_slice"),
    SPENT("ignore_input"),
    CUT("reset_input", "write a block that reads the group as it is wanted"),
    CUT("package_input", "packages are not there; write their blocks"),
    CUT("package_input_fn", "packages are not there; write their blocks"),
    END,
};

static void one_input(cr_er_graph *g, const cr_conf_entry *e) {
    cr_rw *w = g->w;
    const cr_conf_node *in = e->val;
    const char *group = cr_rw_str(in, "feature_group_name", NULL);
    const char *block = cr_rw_str(in, "block_name", NULL);
    const char *fn = cr_rw_str(in, "input_fn", NULL), *slice = cr_rw_str(in, "input_slice", NULL);
    cr_rw_message(w, one_input_rules, in, NULL);
    if (cr_rw_bool(in, "ignore_input", false) || (!group && !block)) return;
    bool several = block && cr_map_get(&g->mmoe, block, strlen(block), 0);
    if (group) g->width = cr_er_group_width(g->er, group);
    cr_conf_node *x =
        group ? read_one(g, "feature_group_name", group, e->at) : read_block(g, block, e->at);
    int dim = 0;
    cr_er_python is = fn ? cr_er_lambda(fn, &dim) : CR_PY_SAME;
    int output = is == CR_PY_FIRST ? 0 : is == CR_PY_SECOND ? 1 : slice ? slice_of(slice) : -1;
    bool whole = cr_rw_has(x, "feature_group_name"); /* A group is list and row at once. */
    if (output >= 0 && several)
        cr_rw_put_num(w, x, "output", e->at, output);
    else if ((output >= 0 || slice) && !whole)
        cr_er_cut(g, e->at, "input_slice of this block", "name a block that is the part");
    if (is == CR_PY_FIRST || is == CR_PY_SECOND) is = CR_PY_SAME;
    if (is == CR_PY_OTHER) {
        cr_er_cut(g, cr_rw_at(in, "input_fn"), "this input_fn",
                  "write a block for each step of it");
    } else if (is != CR_PY_SAME) { /* The function becomes a block between the two. */
        int n = g->n_chain;
        const char *name =
            cr_arena_printf(cr_er_arena(g->er), "%s_input_%zu", g->name, g->inputs->n + 1);
        cr_conf_node *only = cr_conf_new(w->doc, CR_NODE_MAP, e->at);
        cr_conf_push(w->doc, only, "inputs", e->at, x);
        (void)cr_er_lambda_layer(g, fn, e->at);
        if (g->n_chain > n) write_block(g, name, e->at, only, &g->chain[n]);
        g->n_chain = n;
        x = read_one(g, "block_name", name, e->at);
    }
    cr_conf_push(w->doc, g->inputs, "inputs", e->at, x);
}

static void write_chain(cr_er_graph *g, cr_loc at) {
    cr_conf_node *inputs = g->inputs;
    if (g->n_chain == 0) write_block(g, g->name, at, inputs, NULL);
    for (int i = 0; i < g->n_chain; i++) {
        const char *name = i + 1 == g->n_chain
                               ? g->name
                               : cr_arena_printf(cr_er_arena(g->er), "%s_%d", g->name, i + 1);
        write_block(g, name, at, inputs, &g->chain[i]);
        inputs = cr_conf_new(g->w->doc, CR_NODE_MAP, at);
        cr_conf_push(g->w->doc, inputs, "inputs", at, read_one(g, "block_name", name, at));
    }
}

static const cr_rule block_rules[] = {
    SPENT("name"),
    SPENT("inputs"),
    IDLE("input_concat_axis", "-1", "inputs stand side by side"),
    SPENT("merge_inputs_into_list"),
    SPENT("extra_input_fn"),
    SPENT("layers"),
    SPENT("input_layer"),
    SPENT("lambda"),
    SPENT("keras_layer"),
    SPENT("recurrent"),
    SPENT("repeat"),
    SPENT("raw_input"),
    SPENT("embedding_layer"),
    END,
};

static bool named(const cr_conf_node *in, const char *key, const char *name) {
    cr_rw_iter it = {.map = in, .key = key};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));)
        if (e->val->kind == CR_NODE_SCALAR && strcmp(e->val->text, name) == 0) return true;
    return false;
}

static void mark_autodis(cr_er *er, const char *name, void *ctx) {
    cr_er_feature *f = cr_er_feature_of(er, name);
    const cr_conf_node *layer = *(const cr_conf_node *const *)ctx;
    if (f && f->kind == CR_ER_RAW && !f->table && cr_rw_num(f->conf, "embedding_dim", 0) == 0) {
        f->autodis = layer;
        f->dim = cr_rw_num(layer, "embedding_dim", 0);
    }
}

/* autodis_group finds AutoDis over a group of plain numbers and marks the features, which become
 * vectors themselves. It returns the name of the group, or NULL. */
static const char *autodis_group(const cr_er_graph *g, const cr_conf_node *in) {
    const cr_conf_node *layer = cr_rw_get(in, "keras_layer"), *first = cr_rw_get(in, "inputs");
    const char *name = cr_rw_str(first, "feature_group_name", NULL);
    const cr_conf_node *conf = cr_rw_get(layer, "auto_dis_embedding");
    bool is = strcmp(cr_rw_str(layer, "class_name", ""), "AutoDisEmbedding") == 0;
    if (!is || !conf || !name || cr_rw_count(in, "inputs") != 1) return NULL;
    cr_rw_iter it = {.map = cr_er_group_of(g->er, name), .key = "feature_names"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));)
        if (e->val->kind == CR_NODE_SCALAR) cr_er_expand(g->er, e->val->text, mark_autodis, &conf);
    return name;
}

/* alias_of returns the group that an input_layer stands for: the layer only reads the group, and
 * only other blocks read the layer. It returns NULL for every other block. */
static const char *alias_of(const cr_er_graph *g, const cr_conf_node *tower,
                            const cr_conf_node *in) {
    const cr_conf_node *layer = cr_rw_get(in, "input_layer"), *first = cr_rw_get(in, "inputs");
    const char *name = cr_rw_str(in, "name", "");
    bool plain = layer && !cr_rw_bool(layer, "do_batch_norm", false) &&
                 !cr_rw_bool(layer, "do_layer_norm", false) &&
                 cr_rw_num(layer, "dropout_rate", 0) == 0;
    bool ends = named(tower, "concat_blocks", name) || named(tower, "output_blocks", name);
    if (autodis_group(g, in) && !ends) return autodis_group(g, in);
    return plain && !ends && cr_rw_count(in, "inputs") == 1
               ? cr_rw_str(first, "feature_group_name", NULL)
               : NULL;
}

static void one_block(cr_er_graph *g, const cr_conf_node *tower, const cr_conf_entry *e) {
    const cr_conf_node *in = e->val;
    g->block = in;
    g->name = cr_rw_str(in, "name", "");
    g->inputs = cr_conf_new(g->w->doc, CR_NODE_MAP, e->at);
    g->n_chain = 0;
    g->width = 0;
    cr_rw_message(g->w, block_rules, in, NULL);
    if (alias_of(g, tower, in)) {
        if (cr_rw_has(in, "input_layer")) cr_er_input_layer(g, cr_rw_get(in, "input_layer"), e->at);
        return;
    }
    cr_rw_iter it = {.map = in, .key = "inputs"};
    for (const cr_conf_entry *i; (i = cr_rw_next(&it));)
        one_input(g, i);
    const char *extra = cr_rw_str(in, "extra_input_fn", NULL);
    if (extra && !cr_er_lambda_layer(g, extra, cr_rw_at(in, "extra_input_fn")))
        cr_er_cut(g, cr_rw_at(in, "extra_input_fn"), "this extra_input_fn",
                  "write a block for each step of it");
    it = (cr_rw_iter){.map = in, .key = "layers"};
    bool several = false;
    for (const cr_conf_entry *l; (l = cr_rw_next(&it)); several = true)
        cr_er_any_layer(g, l->val);
    if (!several) cr_er_any_layer(g, in);
    write_chain(g, e->at);
}

/* ---- tasks ---- */

/* task_input makes the input of task i. It returns NULL if the task reads the end of the graph. */
static cr_conf_node *task_input(cr_er_graph *g, const cr_conf_node *tower, int i, cr_loc at) {
    cr_rw_iter it = {.map = tower, .key = "output_blocks"};
    int k = 0;
    for (const cr_conf_entry *e; (e = cr_rw_next(&it)); k++)
        if (k == i && e->val->kind == CR_NODE_SCALAR) return read_block(g, e->val->text, at);
    const char *end = cr_rw_str(tower, "concat_blocks", NULL);
    if (cr_rw_has(tower, "top_mlp") || cr_rw_count(tower, "concat_blocks") > 1) return NULL;
    for (size_t m = 0; m < g->mmoe.n; m++) {
        const cr_map_entry *x = &g->mmoe.entries[m];
        const char *name = cr_arena_strndup(cr_er_arena(g->er), x->key, x->len);
        bool last = end ? strcmp(end, name) == 0 : !cr_map_get(&g->read, x->key, x->len, 0);
        if (!last) continue;
        cr_conf_node *in = read_one(g, "block_name", name, at);
        cr_rw_put_num(g->w, in, "output", at, i);
        return in;
    }
    return NULL;
}

/* bottom_block makes a block of the end of the graph. Related towers are blocks, and they read this
 * one. */
static void bottom_block(cr_er_graph *g, const cr_conf_node *tower, cr_loc at) {
    cr_conf_node *inputs = cr_conf_new(g->w->doc, CR_NODE_MAP, at);
    cr_rw_iter it = {.map = tower,
                     .key = cr_rw_has(tower, "concat_blocks") ? "concat_blocks" : "blocks"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));) {
        const char *name =
            e->val->kind == CR_NODE_SCALAR ? e->val->text : cr_rw_str(e->val, "name", "");
        bool leaf = cr_rw_has(tower, "concat_blocks") ||
                    (!cr_map_get(&g->read, name, strlen(name), 0) &&
                     cr_map_get(&g->aliases, name, strlen(name), -1) < 0);
        if (leaf) cr_conf_push(g->w->doc, inputs, "inputs", at, read_block(g, name, at));
    }
    cr_er_link mlp = {"mlp", cr_conf_new(g->w->doc, CR_NODE_MAP, at)};
    const cr_conf_node *top = cr_rw_get(tower, "top_mlp");
    cr_rw_message(g->w, cr_er_mlp_rules, top, mlp.conf);
    write_block(g, "shared_bottom", at, inputs, top ? &mlp : NULL);
}

static void move_key(cr_er_graph *g, cr_conf_node *from, const char *key, const char *to,
                     cr_er_link *out) {
    size_t n = 0;
    for (size_t i = 0; i < from->n; i++) {
        if (strcmp(from->v[i].key, key) == 0)
            *out = (cr_er_link){to, from->v[i].val};
        else
            from->v[n++] = from->v[i];
    }
    from->n = n;
    (void)g;
}

/* relate makes blocks of the mlp and the relation_mlp of a tower, and lets the tower read the
 * second block. */
static void relate(cr_er_graph *g, cr_conf_node *tower, const char *name, cr_conf_node *input,
                   cr_loc at) {
    cr_arena *arena = cr_er_arena(g->er);
    cr_er_link mlp = {NULL, NULL}, relation = {NULL, NULL};
    const char *own = cr_arena_printf(arena, "%s_dnn", name);
    const char *all = cr_arena_printf(arena, "%s_relation", name);
    cr_conf_node *inputs = cr_conf_new(g->w->doc, CR_NODE_MAP, at);
    move_key(g, tower, "mlp", "mlp", &mlp);
    move_key(g, tower, "relation_mlp", "mlp", &relation);
    cr_conf_push(g->w->doc, inputs, "inputs", at,
                 input ? input : read_one(g, "block_name", "shared_bottom", at));
    write_block(g, own, at, inputs, mlp.key ? &mlp : NULL);
    inputs = cr_conf_new(g->w->doc, CR_NODE_MAP, at);
    cr_conf_push(g->w->doc, inputs, "inputs", at, read_one(g, "block_name", own, at));
    cr_rw_iter it = {.map = tower, .key = "relation_tower_names"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));)
        if (e->val->kind == CR_NODE_SCALAR)
            cr_conf_push(g->w->doc, inputs, "inputs", at,
                         read_one(g, "block_name",
                                  cr_arena_printf(arena, "%s_relation", e->val->text), at));
    cr_er_link unused;
    while (cr_rw_has(tower, "relation_tower_names"))
        move_key(g, tower, "relation_tower_names", "", &unused);
    write_block(g, all, at, inputs, relation.key ? &relation : NULL);
    cr_conf_push(g->w->doc, tower, "inputs", at, read_one(g, "block_name", all, at));
}

static void tasks(cr_er_graph *g, const cr_conf_node *tower) {
    const cr_conf_node *params = g->er->params;
    bool related = false, bottom = false;
    cr_rw_iter it = {.map = params, .key = "task_towers"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));)
        related |= cr_rw_has(e->val, "relation_dnn");
    it = (cr_rw_iter){.map = params, .key = "task_towers"};
    int i = 0;
    for (const cr_conf_entry *e; (e = cr_rw_next(&it)); i++) {
        cr_conf_node *out = cr_rw_map(g->w, g->out, "task_towers", e->at);
        cr_conf_node *input = task_input(g, tower, i, e->at);
        cr_er_task(g->w, e, out);
        if (related) {
            if (!input && !bottom) bottom_block(g, tower, e->at);
            bottom |= !input;
            relate(g, out, cr_rw_str(e->val, "tower_name", ""), input, e->at);
        } else if (input) {
            cr_conf_push(g->w->doc, out, "inputs", e->at, input);
        }
    }
    if (!bottom) return;
    cr_er_link unused; /* These keys became the block shared_bottom. */
    while (cr_rw_has(g->out, "concat_blocks"))
        move_key(g, g->out, "concat_blocks", "", &unused);
    while (cr_rw_has(g->out, "top_mlp"))
        move_key(g, g->out, "top_mlp", "", &unused);
}

/* ---- the backbone ---- */

#define TWO_TOWERS "it belongs to models that match users and items"
static const cr_rule params_rules[] = {
    SPENT("l2_regularization"),
    IDLE("outputs", NULL, "predictions are the scores of the model"),
    SPENT("task_towers"),
    LOST("user_tower_idx_in_output", NULL, TWO_TOWERS),
    LOST("item_tower_idx_in_output", NULL, TWO_TOWERS),
    LOST("simi_func", NULL, TWO_TOWERS),
    LOST("temperature", NULL, TWO_TOWERS),
    LOST("scale_simi", NULL, TWO_TOWERS),
    END,
};
static const cr_rule backbone_rules[] = {
    CUT("packages", "packages are not there; write their blocks"),
    SPENT("blocks"),
    TAKE("concat_blocks", NULL, NULL),
    SPENT("output_blocks"),
    INTO("top_mlp", NULL, cr_er_mlp_rules),
    END,
};

void cr_er_backbone(cr_er *er, const cr_conf_node *in, cr_loc at, cr_conf_node *out) {
    const cr_conf_node *tower = cr_rw_get(in, "backbone");
    cr_er_graph g = {.er = er, .w = &er->w, .name = ""};
    if (!tower) {
        cr_diag_add(er->w.diag, CR_SEV_ERROR, CR_ECONF, at,
                    "model_class is '%s' and there is no backbone { ... }; EasyRec needs it, too",
                    er->model_class);
        return;
    }
    g.out = cr_rw_map(&er->w, out, "backbone", cr_rw_at(in, "backbone"));
    g.alias_groups = cr_conf_new(er->w.doc, CR_NODE_MAP, at);
    cr_map_init(&g.aliases);
    cr_map_init(&g.mmoe);
    cr_map_init(&g.read);
    cr_rw_iter it = {.map = tower, .key = "blocks"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));) {
        const char *group = alias_of(&g, tower, e->val), *name = cr_rw_str(e->val, "name", "");
        if (!group) continue;
        cr_map_put(&g.aliases, name, strlen(name), (int64_t)g.alias_groups->n);
        cr_conf_push(er->w.doc, g.alias_groups, group, e->at, g.out);
    }
    it = (cr_rw_iter){.map = tower, .key = "blocks"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));)
        one_block(&g, tower, e);
    cr_rw_message(&er->w, backbone_rules, tower, g.out);
    cr_rw_message(&er->w, params_rules, er->params, NULL);
    if (er->tasks)
        tasks(&g, tower);
    else if (cr_rw_has(tower, "output_blocks"))
        cr_conf_push(er->w.doc, g.out, "concat_blocks", at, cr_conf_find(tower, "output_blocks"));
    cr_map_clear(&g.aliases);
    cr_map_clear(&g.mmoe);
    cr_map_clear(&g.read);
}
