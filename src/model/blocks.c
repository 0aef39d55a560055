/*
 * blocks.c - backbone: a model that the user describes in the config as a graph of named blocks.
 *
 * A block has inputs (feature groups or other blocks) and one layer. Blocks may stand in any order;
 * each is built once, when it is first read. The outputs of the blocks in concat_blocks stand side
 * by side, pass through top_mlp and become the logits: directly when they are num_class wide, else
 * through a linear layer. A task tower reads the blocks that it names, or this common row. The keys
 * have EasyRec's names where it has them. Parameters are named blocks.<block>, top_mlp, output_mlp.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "conf/conf.h"
#include "layer/layer.h"
#include "model/blocks_int.h"
#include "model/config_int.h"
#include "model/group_int.h"
#include "op/op.h"

#define MAX_BLOCKS 1024 /* the limit of recursion: a block may be built while another one is */
#define MAX_INPUTS 1024
#define MAX_NAME   100

/* ---- messages ---- */

typedef struct input_conf { /* BlockInput */
    cr_conf_base base;
    const char *feature_group_name, *block_name;
    int64_t output, max_seq_length;
} input_conf;
typedef struct block_conf { /* Block */
    cr_conf_base base;
    const char *name;
    cr_msgs inputs; /* input_conf */
    const char *weights_of;
    cr_choice layer;
} block_conf;
typedef struct backbone_conf { /* Backbone */
    cr_conf_base base;
    cr_msgs blocks; /* block_conf */
    cr_strs concat_blocks;
    cr_mlp_conf *top_mlp; /* NULL: none */
    cr_msgs task_towers;  /* cr_task_conf */
    int64_t wide_embedding_dim;
    const char *wide_init_fn;
} backbone_conf;

static const cr_field input_fields[] = {
    CR_STR(input_conf, feature_group_name, NULL, CR_F_OURS, "a feature group"),
    CR_STR(input_conf, block_name, NULL, CR_F_OURS, "or a block"),
    CR_INT(input_conf, output, -1, -1, CR_MAX_TASKS, CR_F_OURS,
           "which output of a block that has several (mmoe), from 0 on; -1: all side by side"),
    CR_INT(input_conf, max_seq_length, 0, 0, 1000000000, CR_F_OURS,
           "steps that are read from a group of type SEQUENCE; 0: all"),
    CR_END,
};
static void input_check(const void *self, cr_diag *diag) {
    const input_conf *c = self;
    bool group = c->feature_group_name[0], block = c->block_name[0];
    if (group == block)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, c->base.at,
                    "an input has %s; name a feature group or a block",
                    group ? "both feature_group_name and block_name"
                          : "neither feature_group_name nor block_name");
    else if (group && cr_conf_has(c, "output"))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "output"),
                    "a feature group has no outputs to choose from; remove output");
    else if (block && cr_conf_has(c, "max_seq_length"))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "max_seq_length"),
                    "max_seq_length cuts the sequences of a feature group; give it where the block "
                    "reads one");
}
const cr_msg cr_block_input_msg = {
    .name = "BlockInput",
    .help = "What a block or a task reads",
    .fields = input_fields,
    .size = sizeof(input_conf),
    .check = input_check,
};

static const cr_field block_fields[] = {
    CR_STR(block_conf, name, NULL, CR_F_REQUIRED | CR_F_OURS, "name that other blocks use"),
    CR_ROW_(block_conf, inputs, CR_T_MSG, CR_F_REPEATED | CR_F_OURS, 0, NULL, 0, MAX_INPUTS,
            &cr_block_input_msg,
            "inputs of the block; layers that take one row get them side by side"),
    CR_STR(block_conf, weights_of, NULL, CR_F_OURS,
           "another block, whose layer and parameters this one has, too"),
    CR_ONEOF(block_conf, layer, &cr_block_family, CR_F_OURS,
             "the layer and its parameters; none: the inputs side by side"),
    CR_END,
};
static void block_check(const void *self, cr_diag *diag) {
    const block_conf *c = self;
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t n = strspn(c->name, letters);
    if (c->name[n] || (n == 0 && cr_conf_has(c, "name")))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "name"),
                    "block name '%s' goes into the names of parameters; use letters, digits, _ "
                    "and - only",
                    c->name);
    else if (n > MAX_NAME)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "name"),
                    "block name has %zu letters; use %d at most", n, MAX_NAME);
    if (c->weights_of[0] && c->layer.m)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "weights_of"),
                    "block '%s' has a layer of its own and that of '%s'; remove one of them",
                    c->name, c->weights_of);
    if (c->inputs.n == 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, c->base.at,
                    "block '%s' has no inputs; name a feature group or a block", c->name);
}
static const cr_msg block_msg = {
    .name = "Block",
    .help = "A named layer of a backbone",
    .ours = true,
    .fields = block_fields,
    .size = sizeof(block_conf),
    .check = block_check,
};

static const cr_field fields[] = {
    CR_ROW_(backbone_conf, blocks, CR_T_MSG, CR_F_REPEATED | CR_F_OURS, 0, NULL, 0, MAX_BLOCKS,
            &block_msg, "the blocks, in any order"),
    CR_STR(backbone_conf, concat_blocks, NULL, CR_F_REPEATED | CR_F_OURS,
           "blocks whose outputs stand side by side at the end; none: those that nothing reads"),
    CR_MSG(backbone_conf, top_mlp, &cr_mlp_msg, CR_F_OURS, "layers over concat_blocks"),
    CR_MSG(backbone_conf, task_towers, &cr_block_tower_msg, CR_F_REPEATED | CR_F_OURS,
           "one tower per task; none: one task"),
    CR_INT(backbone_conf, wide_embedding_dim, CR_WIDE_DIM, 1, 65536, CR_F_OURS,
           "vector width in groups of type WIDE"),
    CR_STR(backbone_conf, wide_init_fn, NULL, CR_F_OURS, HELP_WIDE_INIT),
    CR_END,
};
const cr_msg cr_backbone_msg = {
    .name = "Backbone",
    .help = "A model of your own, as a graph of blocks",
    .ours = true,
    .fields = fields,
    .size = sizeof(backbone_conf),
};

/* ---- logits and towers ---- */

cr_node *cr_block_logits(cr_build *b, const char *name, cr_node *x, int64_t num_class, cr_loc at) {
    if (x->width != num_class) return cr_linear(b->g, name, x, num_class, true, false);
    if (x->zeros)
        cr_diag_add(b->diag, CR_SEV_WARN, CR_ECONF, at,
                    "what is %lld wide is taken as the logits, but ReLU lets no negative one "
                    "through; use %s or a linear block there",
                    (long long)num_class, CR_SAY(b->o->conf, "activation", "\"\""));
    return x;
}

void cr_block_tower(cr_build *b, const cr_task_conf *t, int64_t i, cr_node *x) {
    size_t mark = cr_graph_push(b->g, "_task_tower.%d", (int)i);
    x = cr_mlp(b->g, "tower_mlp", t->mlp, x, b->diag);
    x = cr_block_logits(b, "linear", x, t->num_class, t->base.at);
    cr_graph_pop(b->g, mark);
    (void)cr_tower_task(b, t, x);
}

/* ---- the graph of blocks ---- */

typedef enum state { NEW, OPEN, DONE } state;
typedef struct slot {
    const block_conf *conf;
    state state;
    int reads; /* how many blocks and towers read it */
    int asker; /* while open: the block that asked for it; -1: none */
    cr_block_val *out;
    int n_out; /* 0 when the block has a mistake */
} slot;
typedef struct group {
    const char *name;
    int64_t most;
    cr_block_val val; /* node NULL: it has a mistake */
    struct group *next;
} group;
typedef struct graph {
    cr_build *b;
    const backbone_conf *conf;
    cr_map index; /* name -> number of a block */
    slot *v;
    int n;
    group *groups;
} graph;

static const char *name_at(const void *ctx, size_t i) {
    const graph *s = ctx;
    return i < s->index.n ? s->index.entries[i].key : NULL;
}

static cr_block_val read_sequence(cr_build *b, const cr_group_conf *gc, int64_t most, cr_loc at) {
    cr_block_val none = {0};
    cr_members members = cr_group_members(gc);
    cr_seq_in in;
    if (!cr_group_wanted(b, gc->group_name, at) || !cr_seq_open(b, &in, &members, at)) return none;
    cr_node *keys = cr_seq_keys(b, &in, most);
    return (cr_block_val){keys, keys->width, cr_seq_query(b, &in)};
}

cr_block_val cr_block_group(cr_build *b, const char *name, int64_t most, cr_loc at) {
    const cr_group_conf *gc = cr_group_find(b->conf, name);
    if (gc && cr_group_type_seq(gc->group_type)) return read_sequence(b, gc, most, at);
    cr_group_out out = cr_group_build(b, name, at);
    return (cr_block_val){out.node, out.D, NULL};
}

static const cr_block_val *read_group(graph *s, const input_conf *in) {
    for (group *g = s->groups; g; g = g->next)
        if (g->most == in->max_seq_length && strcmp(g->name, in->feature_group_name) == 0)
            return g->val.node ? &g->val : NULL;
    group *g = CR_NEW(&s->b->m->arena, group);
    *g = (group){in->feature_group_name, in->max_seq_length, {0}, s->groups};
    s->groups = g;
    const cr_group_conf *gc = cr_group_find(s->b->conf, g->name);
    if (g->most > 0 && gc && !cr_group_type_seq(gc->group_type))
        cr_diag_add(s->b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(in, "max_seq_length"),
                    "feature group '%s' is not of type SEQUENCE; remove max_seq_length", g->name);
    else
        g->val = cr_block_group(s->b, g->name, g->most, cr_conf_at(in, "feature_group_name"));
    return g->val.node ? &g->val : NULL;
}

static int64_t features_of(const graph *s, const input_conf *in) {
    const cr_group_conf *gc = cr_group_find(s->b->conf, in->feature_group_name);
    return gc ? gc->feature_names.n : 0;
}

static bool is_listed(const input_conf **v, int64_t n, const input_conf *in) {
    for (int64_t i = 0; i < n; i++)
        if (v[i]->max_seq_length == in->max_seq_length &&
            strcmp(v[i]->feature_group_name, in->feature_group_name) == 0)
            return true;
    return false;
}

/* Reads the groups with most features first: a group whose features are part of another group's is
 * then a slice of that group's lookup. */
static void read_groups(graph *s) {
    cr_arena *a = &s->b->m->arena;
    int64_t n = 0, n_towers = s->conf->task_towers.n, n_lists = s->n + n_towers;
    const cr_msgs **lists = CR_NEW_N(a, const cr_msgs *, n_lists);
    for (int64_t i = 0; i < n_lists; i++) {
        lists[i] = i < s->n ? &s->v[i].conf->inputs
                            : &((const cr_task_conf *)s->conf->task_towers.v[i - s->n])->inputs;
        n += lists[i]->n;
    }
    const input_conf **v = CR_NEW_N(a, const input_conf *, n + 1);
    n = 0;
    for (int64_t i = 0; i < n_lists; i++)
        for (int64_t k = 0; k < lists[i]->n; k++) {
            const input_conf *in = lists[i]->v[k];
            if (!in->feature_group_name[0] || is_listed(v, n, in)) continue;
            int64_t at = n++;
            for (; at > 0 && features_of(s, v[at - 1]) < features_of(s, in); at--)
                v[at] = v[at - 1];
            v[at] = in;
        }
    for (int64_t i = 0; i < n; i++)
        (void)read_group(s, v[i]);
}

/* Reports a circle: block `asker` reads block i, which is being built because `asker` needs it. */
static void told_cycle(graph *s, int i, int asker, cr_loc at) {
    cr_buf way;
    cr_buf_init(&way);
    int shown = 0;
    for (int k = asker; k >= 0 && shown < 10; k = s->v[k].asker, shown++) {
        cr_buf_printf(&way, " -> '%s'", s->v[k].conf->name);
        if (k == i) break;
    }
    cr_diag_add(s->b->diag, CR_SEV_ERROR, CR_ECONF, at,
                "blocks read each other in a circle: '%s'%s%s; remove one of these inputs",
                s->v[i].conf->name, way.data, shown == 10 ? " -> ..." : "");
    cr_buf_clear(&way);
}

static void build_block(graph *s, int i, int asker);

/* Returns the number of a block; -1 after it reported that there is none. */
static int find_block(graph *s, const char *name, cr_loc at, const char *who) {
    int64_t i = cr_map_get(&s->index, name, strlen(name), -1);
    if (i >= 0) return (int)i;
    const char *near = cr_nearest(name, name_at, s);
    bool is_group = cr_group_find(s->b->conf, name) != NULL;
    cr_diag_add(s->b->diag, CR_SEV_ERROR, CR_ECONF, at, "%s reads the unknown block '%s'; %s%s%s",
                who, name,
                is_group ? "it is a feature group: use feature_group_name"
                : near   ? "did you mean '"
                         : "add it to blocks",
                !is_group && near ? near : "", !is_group && near ? "'?" : "");
    return -1;
}

/* Returns the outputs that an input names, *n of them; NULL when there is a mistake, reported here
 * or before. */
static const cr_block_val *read_input(graph *s, const input_conf *in, int asker, const char *who,
                                      int *n) {
    if (in->feature_group_name[0]) {
        *n = 1;
        return read_group(s, in);
    }
    cr_loc at = cr_conf_at(in, "block_name");
    int i = find_block(s, in->block_name, at, who);
    if (i < 0) return NULL;
    slot *block = &s->v[i];
    block->reads++;
    if (block->state == OPEN) {
        told_cycle(s, i, asker, at);
        return NULL;
    }
    build_block(s, i, asker);
    if (block->n_out == 0) return NULL;
    if (in->output < 0) {
        *n = block->n_out;
        return block->out;
    }
    if (in->output >= block->n_out) {
        cr_diag_add(s->b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(in, "output"),
                    "block '%s' has %d output%s, number %lld is read; count from 0 on",
                    block->conf->name, block->n_out, block->n_out == 1 ? "" : "s",
                    (long long)in->output);
        return NULL;
    }
    *n = 1;
    return block->out + in->output;
}

/* Returns all inputs of a block or a tower; NULL when one of them is wrong. */
static cr_block_val *read_inputs(graph *s, const cr_msgs *inputs, int asker, const char *who,
                                 int *n) {
    cr_block_val *v = NULL;
    int cap = 0;
    bool ok = true;
    *n = 0;
    for (int64_t i = 0; i < inputs->n; i++) {
        int more;
        const cr_block_val *from = read_input(s, inputs->v[i], asker, who, &more);
        ok = ok && from;
        if (!ok) continue;
        if (!v || *n + more > cap) {
            cr_block_val *bigger = CR_NEW_N(&s->b->m->arena, cr_block_val, 2 * (*n + more));
            if (*n) memcpy(bigger, v, (size_t)*n * sizeof(*v));
            v = bigger;
            cap = 2 * (*n + more);
        }
        memcpy(v + *n, from, (size_t)more * sizeof(*v));
        *n += more;
    }
    return ok && *n > 0 ? v : NULL;
}

/* Returns the block whose parameters block i has, which is built then; -1: a mistake was
 * reported. */
static int owner_of(graph *s, int i, const char *who) {
    const block_conf *conf = s->v[i].conf;
    cr_loc at = cr_conf_at(conf, "weights_of");
    int k = find_block(s, conf->weights_of, at, who);
    if (k < 0) return -1;
    const block_conf *of = s->v[k].conf;
    const cr_block_type *t = of->layer.m ? of->layer.m->type : NULL;
    if (!t || !t->shares) {
        cr_diag_add(s->b->diag, CR_SEV_ERROR, CR_ECONF, at,
                    "the parameters of block '%s' cannot be shared: %s; name a block with mlp, "
                    "linear, gru, transformer, seq_conv, conv, mix_fields, field_linear or "
                    "item_vectors",
                    of->name, t ? "its layer is of another kind" : "it has no layer of its own");
        return -1;
    }
    if (s->v[k].state == OPEN) {
        told_cycle(s, k, i, at);
        return -1;
    }
    build_block(s, k, i);
    return s->v[k].n_out ? k : -1;
}

/* Builds the layer of block `of` once more, over other inputs. */
static bool run_shared(graph *s, cr_block_call *c, const block_conf *of, cr_loc at) {
    cr_graph *g = s->b->g;
    size_t before = s->b->diag->n_errors;
    c->path = cr_arena_printf(&s->b->m->arena, "blocks.%s", of->name);
    c->type = of->layer.m->key;
    g->share = true;
    g->unlike = 0;
    bool ok = cr_block_run(c, of->layer.m->type, of->layer.conf);
    g->share = false;
    if (g->unlike && s->b->diag->n_errors == before)
        cr_diag_add(s->b->diag, CR_SEV_ERROR, CR_ECONF, at,
                    "block '%s' cannot have the parameters of block '%s': its inputs have another "
                    "width, or the layer has batch norm; make the inputs equal, use layer norm",
                    c->block, of->name);
    return ok && !g->unlike;
}

static void build_block(graph *s, int i, int asker) {
    slot *block = &s->v[i];
    if (block->state == DONE) return;
    block->state = OPEN;
    block->asker = asker;
    char who[MAX_NAME + 32];
    snprintf(who, sizeof(who), "block '%.*s'", MAX_NAME, block->conf->name);
    const cr_oneof_member *m = block->conf->layer.m;
    cr_block_call c = {.b = s->b,
                       .g = s->b->g,
                       .block = block->conf->name,
                       .path = cr_arena_printf(&s->b->m->arena, "blocks.%s", block->conf->name),
                       .type = m ? m->key : "a block",
                       .at = block->conf->base.at};
    bool borrows = block->conf->weights_of[0];
    int owner = borrows ? owner_of(s, i, who) : -1;
    c.in = read_inputs(s, &block->conf->inputs, i, who, &c.n_in);
    block->state = DONE;
    static const cr_block_type beside = {.name = "", .takes = CR_TAKES_POSITIONS, .min_in = 1};
    if (!c.in || (borrows && owner < 0)) return;
    if (borrows) {
        if (!run_shared(s, &c, s->v[owner].conf, cr_conf_at(block->conf, "weights_of"))) return;
    } else if (!m) {
        if (!cr_block_take(&c, &beside)) return;
        cr_block_give_val(&c, c.x);
    } else {
        c.at = ((const cr_conf_base *)block->conf->layer.conf)->at;
        if (!cr_block_run(&c, m->type, block->conf->layer.conf)) return;
    }
    block->out = c.out;
    block->n_out = c.n_out;
}

static bool name_blocks(graph *s) {
    bool ok = true;
    for (int i = 0; i < s->n; i++) {
        s->v[i] = (slot){.conf = s->conf->blocks.v[i], .asker = -1};
        const char *name = s->v[i].conf->name;
        int64_t first = cr_map_get(&s->index, name, strlen(name), -1);
        if (first >= 0) {
            cr_diag_add(s->b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(s->v[i].conf, "name"),
                        "block '%s' is already defined at line %d; give one of them another name",
                        name, s->v[first].conf->base.at.line);
            ok = false;
        } else {
            cr_map_put(&s->index, name, strlen(name), i);
        }
    }
    return ok;
}

/* Reports towers without inputs: there is no concat_blocks, and other blocks read all blocks, so
 * nothing is left for them. */
static void tell_no_end(const graph *s) {
    for (int i = 0; i < s->n; i++)
        if (s->v[i].n_out == 0) return; /* a circle, which was reported before */
    for (int64_t i = 0; i < s->conf->task_towers.n; i++) {
        const cr_task_conf *t = s->conf->task_towers.v[i];
        if (t->inputs.n > 0) continue;
        cr_diag_add(s->b->diag, CR_SEV_ERROR, CR_ECONF, t->base.at,
                    "task '%s' has no inputs, and no block is left that nothing reads; give it "
                    "inputs, or name blocks in concat_blocks",
                    t->tower_name);
    }
}

/* Returns the row that ends the model or that the towers share; NULL when there is a mistake. */
static cr_node *end_row(graph *s) {
    const cr_strs *names = &s->conf->concat_blocks;
    int n_blocks = 0, n = 0;
    bool ok = true;
    int *ends = CR_NEW_N(&s->b->m->arena, int, s->n + names->n + 1);
    for (int64_t i = 0; i < names->n; i++) {
        int k = find_block(s, names->v[i], cr_conf_at_item(s->conf, "concat_blocks", i),
                           "concat_blocks");
        ok = ok && k >= 0;
        if (k >= 0) ends[n_blocks++] = k;
    }
    for (int i = 0; names->n == 0 && i < s->n; i++)
        if (s->v[i].reads == 0) ends[n_blocks++] = i;
    for (int i = 0; i < n_blocks; i++) {
        s->v[ends[i]].reads++;
        n += s->v[ends[i]].n_out;
        ok = ok && s->v[ends[i]].n_out > 0;
    }
    if (n_blocks == 0) tell_no_end(s);
    if (!ok || n == 0) return NULL;
    cr_block_val *v = CR_NEW_N(&s->b->m->arena, cr_block_val, n);
    n = 0;
    for (int i = 0; i < n_blocks; i++)
        for (int k = 0; k < s->v[ends[i]].n_out; k++) {
            v[n] = s->v[ends[i]].out[k];
            if (v[n++].node->cls != CR_SEQ) continue;
            cr_diag_add(s->b->diag, CR_SEV_ERROR, CR_ECONF, s->v[ends[i]].conf->base.at,
                        "block '%s' gives a sequence, which cannot end a model; put a din, "
                        "simple_attention or pooling block behind it",
                        s->v[ends[i]].conf->name);
            return NULL;
        }
    cr_block_call c = {.b = s->b, .g = s->b->g, .block = "concat_blocks", .at = s->conf->base.at};
    if (cr_block_too_wide(&c, v, n)) return NULL;
    cr_node *x = cr_block_beside(&c, v, n).node;
    return cr_mlp(s->b->g, "top_mlp", s->conf->top_mlp, x, s->b->diag);
}

static void end_tower(graph *s, int64_t i, cr_node *shared) {
    const cr_task_conf *t = s->conf->task_towers.v[i];
    char who[64];
    snprintf(who, sizeof(who), "task '%.40s'", t->tower_name);
    cr_node *x = shared;
    if (t->inputs.n > 0) {
        cr_block_call c = {.b = s->b, .g = s->b->g, .block = t->tower_name, .type = "a task"};
        c.at = t->base.at;
        static const cr_block_type row = {.name = "", .min_in = 1};
        c.in = read_inputs(s, &t->inputs, -1, who, &c.n_in);
        if (!c.in || !cr_block_take(&c, &row)) return;
        x = c.x.node;
    }
    if (x) cr_block_tower(s->b, t, i, x);
}

static void end_towers(graph *s) {
    const cr_msgs *towers = &s->conf->task_towers;
    bool shared = false;
    for (int64_t i = 0; i < towers->n; i++)
        shared = shared || ((const cr_task_conf *)towers->v[i])->inputs.n == 0;
    static const char *const idle[] = {"concat_blocks", "top_mlp"};
    for (int i = 0; !shared && i < 2; i++)
        if (cr_conf_has(s->conf, idle[i]))
            cr_diag_add(s->b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(s->conf, idle[i]),
                        "%s is read by no task: all task_towers have inputs; remove it, or the "
                        "inputs of a tower",
                        idle[i]);
    /* Towers that name their inputs are counted first; then it is known which blocks nothing
     * reads. */
    for (int64_t i = 0; i < towers->n; i++) {
        const cr_task_conf *t = towers->v[i];
        for (int64_t k = 0; k < t->inputs.n && shared; k++) {
            const input_conf *in = t->inputs.v[k];
            int64_t block = cr_map_get(&s->index, in->block_name, strlen(in->block_name), -1);
            if (block >= 0) s->v[block].reads++;
        }
    }
    cr_node *x = shared ? end_row(s) : NULL;
    for (int64_t i = 0; i < towers->n; i++)
        end_tower(s, i, x);
}

static void tell_unread(const graph *s) {
    for (int i = 0; i < s->n; i++)
        if (s->v[i].reads == 0)
            cr_diag_add(s->b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(s->v[i].conf, "name"),
                        "nothing reads block '%s'; name it in inputs or concat_blocks, or remove "
                        "it",
                        s->v[i].conf->name);
    const cr_msgs *groups = &s->b->conf->feature_groups;
    for (int64_t i = 0; i < groups->n; i++) {
        const cr_group_conf *gc = groups->v[i];
        bool read = false;
        for (const group *g = s->groups; g; g = g->next)
            read = read || strcmp(g->name, gc->group_name) == 0;
        if (!read)
            cr_diag_add(s->b->diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(gc, "group_name"),
                        "nothing reads feature group '%s'; name it in the inputs of a block, or "
                        "remove it",
                        gc->group_name);
    }
}

void cr_block_can_learn(cr_build *b, cr_loc at) {
    bool any = b->m->n_tables > 0;
    for (int i = 0; i < b->g->n; i++)
        any = any || (b->g->nodes[i]->cls == CR_PARAM && b->g->nodes[i]->trainable);
    if (!any)
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, at,
                    "the model has no parameters, so there is nothing to learn; add a layer that "
                    "has some");
}

static void build(cr_build *b, const void *conf) {
    graph s = {.b = b, .conf = conf};
    size_t before = b->diag->n_errors;
    b->wide_dim = s.conf->wide_embedding_dim;
    b->wide_init = s.conf->wide_init_fn;
    s.n = (int)s.conf->blocks.n;
    if (s.n == 0) {
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, s.conf->base.at,
                    "backbone has no blocks; add at least one");
        return;
    }
    s.v = CR_NEW_N(&b->m->arena, slot, s.n);
    cr_map_init(&s.index);
    if (name_blocks(&s)) {
        read_groups(&s);
        for (int i = 0; i < s.n; i++)
            build_block(&s, i, -1);
        if (s.conf->task_towers.n > 0) {
            end_towers(&s);
        } else {
            cr_node *x = end_row(&s);
            if (x)
                cr_end_task(b, cr_block_logits(b, "output_mlp", x, b->conf->num_class,
                                               s.conf->base.at));
        }
        if (b->diag->n_errors == before) {
            tell_unread(&s);
            cr_block_can_learn(b, s.conf->base.at);
        }
    }
    cr_map_clear(&s.index);
}

bool cr_model_own_loss(const cr_model_conf *c) {
    if (!c->model.m || c->model.m->msg != &cr_backbone_msg || !c->model.conf) return false;
    const backbone_conf *b = c->model.conf;
    for (int64_t i = 0; i < b->blocks.n; i++) {
        const block_conf *one = b->blocks.v[i];
        const cr_block_type *type = one->layer.m ? one->layer.m->type : NULL;
        if (type && type->loss) return true;
    }
    return false;
}

const cr_model_type cr_model_backbone = {.name = "backbone", .build = build};
