/*
 * plugin.c - models and block layers from a shared library (crank/model.h): finds the type, binds
 * its parameters, and gives its build function the layers of blocks_list.h by handles.
 *
 * A handle is a cr_block_val. Every call of a library is checked here, so that a mistake of the
 * library gives a message with a place in the config and never a broken graph. The parameters of a
 * type are a message made at run time, so they are bound and checked like those of any other
 * message.
 */
#include "model/plugin_int.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/guard.h"
#include "base/map.h"
#include "base/plugin.h"
#include "conf/conf.h"
#include "conf/tree.h"
#include "model/blocks_list.h"
#include "model/config_int.h"
#include "op/custom.h"
#include "op/param.h"

#define SYMBOL     "crank_model_plugin"
#define HEADER     "crank/model.h"
#define MAX_PARAMS 60
#define MAX_WIDTH  1048576
#define MAX_DATA   (1 << 20)

struct crank_node {
    cr_block_val v;
};
struct crank_weight {
    cr_node *p;
};
struct crank_build {
    cr_build *b;
    size_t before;       /* number of errors when the build began */
    const char *library; /* file name of the library, without its folder */
    const crank_model_type *type;
    cr_loc at;
    const void *params;  /* bound parameters: slots of param_slot behind a cr_conf_base */
    const cr_msg *msg;   /* message of the parameters */
    cr_block_call *call; /* when the type is a block; NULL: it is a model */
    crank_node **in;     /* of a model: the groups that were read; NULL: not read yet */
    crank_node **out;
    int n_out, cap_out;
};

/* ---- mistakes ---- */

/* Reports the first mistake of a build only: most later ones follow from it, such as a width of
 * 0. */
static void vwrong(crank_build *b, const char *fmt, va_list ap) {
    if (b->b->diag->n_errors != b->before) return;
    char text[400];
    vsnprintf(text, sizeof(text), fmt, ap);
    for (char *c = text; *c; c++) /* a library's text may have several lines; a message has one */
        if (*c == '\n' || *c == '\r') *c = ' ';
    cr_diag_add(b->b->diag, CR_SEV_ERROR, CR_ECONF, b->at, "type '%s' of %s: %s", b->type->name,
                b->library, text);
}
static void wrong(crank_build *b, const char *fmt, ...) CR_PRINTF(2, 3);
static void wrong(crank_build *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vwrong(b, fmt, ap);
    va_end(ap);
}

static int api_fail(crank_build *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vwrong(b, fmt, ap);
    va_end(ap);
    return 1;
}

/* ---- parameters ---- */

typedef union param_slot {
    bool on;
    int64_t i;
    double f;
    const char *text;
    cr_ints ints;
    cr_floats floats;
} param_slot;

static uint32_t slot_offset(int i) {
    size_t first = (sizeof(cr_conf_base) + sizeof(param_slot) - 1) / sizeof(param_slot);
    return (uint32_t)((first + (size_t)i) * sizeof(param_slot));
}

/* Makes the message of a type's parameters; NULL when there is a mistake. */
static const cr_msg *params_msg(crank_build *b) {
    static const struct {
        cr_ftype type;
        unsigned flags;
    } kinds[] = {
        [CRANK_PARAM_INT] = {CR_T_INT, 0},
        [CRANK_PARAM_FLOAT] = {CR_T_FLOAT, 0},
        [CRANK_PARAM_BOOL] = {CR_T_BOOL, 0},
        [CRANK_PARAM_TEXT] = {CR_T_STR, 0},
        [CRANK_PARAM_INTS] = {CR_T_INT, CR_F_REPEATED},
        [CRANK_PARAM_FLOATS] = {CR_T_FLOAT, CR_F_REPEATED},
    };
    const crank_model_param *p = b->type->params;
    int n = 0;
    while (p && p[n].name && n <= MAX_PARAMS)
        n++;
    if (n > MAX_PARAMS) {
        wrong(b, "has more than %d parameters; end the table with a NULL name", MAX_PARAMS);
        return NULL;
    }
    cr_field *f = CR_NEW_N(&b->b->m->arena, cr_field, n + 1);
    for (int i = 0; i < n; i++) {
        if ((unsigned)p[i].kind >= sizeof(kinds) / sizeof(kinds[0])) {
            wrong(b, "parameter '%s' is of the unknown kind %d; use a crank_param_kind", p[i].name,
                  (int)p[i].kind);
            return NULL;
        }
        f[i] = (cr_field){.name = p[i].name,
                          .type = kinds[p[i].kind].type,
                          .flags = kinds[p[i].kind].flags | (p[i].required ? CR_F_REQUIRED : 0),
                          .offset = slot_offset(i),
                          .num = p[i].value,
                          .str = p[i].text,
                          .min = p[i].min,
                          .max = p[i].kind == CRANK_PARAM_BOOL ? 1 : p[i].max,
                          .help = p[i].help ? p[i].help : ""};
    }
    f[n] = (cr_field)CR_END;
    cr_msg *m = CR_NEW(&b->b->m->arena, cr_msg);
    *m = (cr_msg){.name = b->type->name,
                  .help = b->type->help ? b->type->help : "",
                  .fields = f,
                  .size = slot_offset(n)};
    return m;
}

static const param_slot *param(crank_build *b, const char *name, unsigned kinds) {
    const crank_model_param *p = b->type->params;
    for (int i = 0; name && p && p[i].name; i++)
        if (strcmp(p[i].name, name) == 0 && (kinds >> p[i].kind & 1))
            return (const param_slot *)((const char *)b->params + slot_offset(i));
    wrong(b, "asks for the parameter '%s', which is not in its table with that kind; add it there",
          name ? name : "NULL");
    return NULL;
}

static int64_t api_get_int(crank_build *b, const char *name) {
    const param_slot *s = param(b, name, 1u << CRANK_PARAM_INT | 1u << CRANK_PARAM_BOOL);
    if (!s) return 0;
    return cr_msg_field(b->msg, name)->type == CR_T_BOOL ? s->on : s->i;
}
static double api_get_float(crank_build *b, const char *name) {
    const param_slot *s = param(b, name, 1u << CRANK_PARAM_FLOAT);
    return s ? s->f : 0;
}
static const char *api_get_text(crank_build *b, const char *name) {
    const param_slot *s = param(b, name, 1u << CRANK_PARAM_TEXT);
    return s ? s->text : "";
}
static int64_t api_get_list(crank_build *b, const char *name, const double **v) {
    *v = NULL;
    const param_slot *s = param(b, name, 1u << CRANK_PARAM_INTS | 1u << CRANK_PARAM_FLOATS);
    if (!s) return 0;
    if (cr_msg_field(b->msg, name)->type == CR_T_FLOAT) {
        *v = s->floats.v;
        return s->floats.n;
    }
    double *d = CR_NEW_N(&b->b->m->arena, double, s->ints.n + 1);
    for (int64_t i = 0; i < s->ints.n; i++)
        d[i] = (double)s->ints.v[i];
    *v = d;
    return s->ints.n;
}

/* ---- handles ---- */

static crank_node *handle(crank_build *b, cr_block_val v) {
    crank_node *n = CR_NEW(&b->b->m->arena, crank_node);
    n->v = v;
    return n;
}

static const cr_group_conf *group_at(const crank_build *b, int i) {
    return b->b->conf->feature_groups.v[i];
}

static int api_n_inputs(crank_build *b) {
    return b->call ? b->call->n_in : (int)b->b->conf->feature_groups.n;
}

static crank_node *api_input(crank_build *b, int i) {
    if (i < 0 || i >= api_n_inputs(b)) {
        wrong(b, "asks for input %d of %d; they are counted from 0 on%s", i, api_n_inputs(b),
              b->call ? "" : ", one for each feature group");
        return NULL;
    }
    if (b->call) return handle(b, b->call->in[i]);
    if (!b->in[i]) {
        cr_block_val v = cr_block_group(b->b, group_at(b, i)->group_name, 0, b->at);
        if (v.node) b->in[i] = handle(b, v);
    }
    return b->in[i];
}

static crank_node *api_group(crank_build *b, const char *name) {
    if (!name) name = "";
    if (b->call) {
        wrong(b, "asks for feature group '%s' inside of a block; name it in the block's inputs",
              name);
        return NULL;
    }
    for (int i = 0; i < api_n_inputs(b); i++)
        if (strcmp(group_at(b, i)->group_name, name) == 0) return api_input(b, i);
    (void)cr_block_group(b->b, name, 0, b->at); /* reports what is wrong with the group */
    return NULL;
}

static int64_t api_width(const crank_node *x) {
    return x ? x->v.node->width : 0;
}
static int64_t api_field_width(const crank_node *x) {
    return x ? x->v.D : 0;
}
static int64_t api_num_class(crank_build *b) {
    return b->b->conf->num_class;
}

/* Is this a valid handle? NULL is what a call returned after a mistake, which was reported; without
 * one, passing NULL is itself a mistake. */
static bool is_there(crank_build *b, const char *user, const void *handle) {
    if (!handle)
        wrong(b, "gives '%s' an input or weight that is NULL; use what a call returned", user);
    return handle;
}
static bool all_there(crank_build *b, const char *user, crank_node *const *in, int n) {
    bool ok = is_there(b, user, in);
    for (int i = 0; ok && i < n; i++)
        ok = is_there(b, user, in[i]);
    return ok;
}

static bool good_name(crank_build *b, const char *name) {
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    if (name && *name && !name[strspn(name, letters)] && strlen(name) <= 200) return true;
    wrong(b, "gives a layer or a weight the name '%.60s'; use letters, digits, _, - and .",
          name ? name : "");
    return false;
}

/* ---- layers ---- */

static const char *layer_at(const void *ctx, size_t i) {
    (void)ctx;
    return cr_block_family.members[i].key;
}

static const cr_oneof_member *find_layer(crank_build *b, const char *type) {
    if (!type) type = "";
    for (const cr_oneof_member *m = cr_block_family.members; m->key; m++)
        if (m->type && strcmp(m->key, type) == 0 && m->msg != &cr_block_plugin_msg) return m;
    const char *near = cr_nearest(type, layer_at, NULL);
    wrong(b, "asks for the layer '%s', which crank does not have%s%s%s", type,
          near ? "; did you mean '" : "; `crank help Block` lists them", near ? near : "",
          near ? "'?" : "");
    return NULL;
}

static crank_node *run_layer(crank_build *b, const char *name, const cr_oneof_member *m,
                             crank_node *const *in, int n, const void *conf) {
    cr_block_val *v = CR_NEW_N(&b->b->m->arena, cr_block_val, n);
    for (int i = 0; i < n; i++)
        v[i] = in[i]->v;
    cr_block_call c = {.b = b->b,
                       .g = b->b->g,
                       .block = name,
                       .path = name,
                       .type = m->key,
                       .at = b->at,
                       .in = v,
                       .n_in = n};
    if (!cr_block_run(&c, m->type, conf)) return NULL;
    return handle(b, c.n_out == 1 ? c.out[0] : cr_block_beside(&c, c.out, c.n_out));
}

/* Prints a layer's parameters as text; an empty message when there are none. */
static const char *printed(crank_build *b, const char *fmt, va_list ap) CR_PRINTF(2, 0);
static const char *printed(crank_build *b, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int len = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (len <= 0) return "{}";
    char *text = cr_arena_alloc(&b->b->m->arena, (size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, fmt, ap);
    return text;
}

static crank_node *api_layer(crank_build *b, const char *name, const char *type,
                             crank_node *const *in, int n, const char *params, ...) {
    if (!good_name(b, name)) return NULL;
    if (n < 1) wrong(b, "gives layer '%s' no inputs; it needs one at least", name);
    if (n < 1 || !all_there(b, name, in, n)) return NULL;
    const cr_oneof_member *m = find_layer(b, type);
    if (!m) return NULL;
    va_list ap;
    va_start(ap, params);
    const char *text = printed(b, params ? params : "", ap);
    va_end(ap);
    /* only the build of the layer uses the conf */
    cr_conf_doc doc;
    cr_conf_doc_init(&doc);
    const char *path = cr_arena_printf(&b->b->m->arena, "%s, layer '%s'", b->library, name);
    size_t before = b->b->diag->n_errors;
    crank_node *out = NULL;
    cr_code code = cr_conf_parse(&doc, CR_SYNTAX_YAML, path, text, strlen(text), b->b->diag);
    if (code == CR_OK) {
        const void *conf = cr_conf_bind(&doc.arena, m->msg, doc.root, b->b->diag);
        if (b->b->diag->n_errors == before) out = run_layer(b, name, m, in, n, conf);
    }
    cr_conf_doc_clear(&doc);
    return out;
}

/* ---- weights and ops ---- */

static crank_weight *api_weight(crank_build *b, const char *name, int64_t rows, int64_t cols,
                                const char *init_fn) {
    if (!good_name(b, name)) return NULL;
    if (rows < 1 || cols < 1 || rows > MAX_WIDTH || cols > MAX_WIDTH) {
        wrong(b, "weight '%s' is (%lld, %lld); use 1 to %d", name, (long long)rows, (long long)cols,
              MAX_WIDTH);
        return NULL;
    }
    cr_init init = CR_INIT_U(1.0 / sqrt((double)cols));
    cr_err err;
    if (init_fn && *init_fn && cr_init_parse(&init, init_fn, rows, cols, &err) != CR_OK) {
        wrong(b, "weight '%s': %s", name, err.msg);
        return NULL;
    }
    crank_weight *w = CR_NEW(&b->b->m->arena, crank_weight);
    w->p = cr_weight(b->b->g, name, rows, cols, init);
    return w;
}

static bool op_fits(crank_build *b, const crank_op *op, crank_node *const *in, int n, int n_weights,
                    int64_t width, size_t size) {
    const char *name = op && op->name ? op->name : "";
    if (!op || !op->forward)
        wrong(b, "op '%s' has no forward; set it", name);
    else if (n < 1 || n_weights < 0 || n > CRANK_MAX_OP_INPUTS ||
             n_weights > CRANK_MAX_OP_INPUTS - n)
        wrong(b, "op '%s' has %d inputs and %d weights; use 1 to %d in all", name, n, n_weights,
              CRANK_MAX_OP_INPUTS);
    else if (width < 1 || width > MAX_WIDTH)
        wrong(b, "op '%s' is %lld wide; use 1 to %d", name, (long long)width, MAX_WIDTH);
    else if (size > MAX_DATA)
        wrong(b, "op '%s' has %zu bytes of data; use %d at most", name, size, MAX_DATA);
    else if (all_there(b, name, in, n)) {
        for (int i = 1; i < n; i++)
            if (in[i]->v.node->cls != in[0]->v.node->cls ||
                in[i]->v.node->axis != in[0]->v.node->axis) {
                wrong(b,
                      "op '%s' reads rows beside sequences, or sequences of different groups; "
                      "pool them first",
                      name);
                return false;
            }
        return true;
    }
    return false;
}

static crank_node *api_op(crank_build *b, const crank_op *op, crank_node *const *in, int n,
                          crank_weight *const *weights, int n_weights, int64_t out_width,
                          const void *data, size_t size) {
    if (!op_fits(b, op, in, n, n_weights, out_width, size)) return NULL;
    cr_node *all[CRANK_MAX_OP_INPUTS];
    for (int i = 0; i < n; i++)
        all[i] = in[i]->v.node;
    for (int i = 0; i < n_weights; i++) {
        if (!is_there(b, op->name ? op->name : "", weights ? weights[i] : NULL)) return NULL;
        all[n + i] = weights[i]->p;
    }
    cr_custom_spec s = {op, n, n_weights, out_width, data, data ? size : 0};
    const char *what =
        cr_arena_printf(&b->b->m->arena, "op '%s' of %s", op->name ? op->name : "", b->library);
    cr_node *y = cr_custom(b->b->g, &s, all, what);
    cr_block_val v = {y, y->width == in[0]->v.node->width ? in[0]->v.D : y->width, in[0]->v.query};
    return handle(b, v);
}

static void api_output(crank_build *b, crank_node *x) {
    if (!x) return;
    if (b->n_out == b->cap_out) {
        int cap = b->cap_out ? 2 * b->cap_out : 4;
        crank_node **v = CR_NEW_N(&b->b->m->arena, crank_node *, cap);
        if (b->n_out) memcpy(v, b->out, (size_t)b->n_out * sizeof(*v));
        b->out = v;
        b->cap_out = cap;
    }
    b->out[b->n_out++] = x;
}

static const crank_model_api api = {
    .size = sizeof(crank_model_api),
    .get_int = api_get_int,
    .get_float = api_get_float,
    .get_text = api_get_text,
    .get_list = api_get_list,
    .n_inputs = api_n_inputs,
    .input = api_input,
    .group = api_group,
    .width = api_width,
    .field_width = api_field_width,
    .num_class = api_num_class,
    .layer = api_layer,
    .weight = api_weight,
    .op = api_op,
    .output = api_output,
    .fail = api_fail,
};

/* ---- one build of a type ---- */

static const char *type_at(const void *ctx, size_t i) {
    return ((const crank_model_type *)ctx)[i].name;
}

static const crank_model_type *find_type(cr_build *b, const cr_plugin_conf *c) {
    cr_err err;
    const void *entry;
    const char *inside = b->o->inside;
    if ((inside && cr_path_inside(inside, c->library, &err) != CR_OK) ||
        cr_plugin_open(c->library, SYMBOL, CRANK_MODEL_ABI, HEADER, &entry, &err) != CR_OK) {
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "library"), "%s", err.msg);
        return NULL;
    }
    const crank_model_library *lib = entry;
    static const crank_model_type none = {NULL, NULL, NULL, NULL};
    const crank_model_type *types = lib->types ? lib->types : &none;
    for (const crank_model_type *t = types; t->name; t++) {
        if (strcmp(t->name, c->type) != 0) continue;
        if (t->build) return t;
        cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "type"),
                    "type '%s' of library '%s' has no build function; set it there", c->type,
                    c->library);
        return NULL;
    }
    const char *near = cr_nearest(c->type, type_at, types);
    cr_diag_add(b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "type"),
                "library '%s' has no type '%s'; %s%s%s", c->library, c->type,
                near          ? "did you mean '"
                : types->name ? "its first is '"
                              : "list its types in " SYMBOL,
                near          ? near
                : types->name ? types->name
                              : "",
                near          ? "'?"
                : types->name ? "'"
                              : "");
    return NULL;
}

/* A checkpoint holds each name once, and so must the model, with the layers that crank adds at its
 * end. */
static bool has_own_names(crank_build *b) {
    cr_map seen;
    cr_map_init(&seen);
    const cr_node *twice = NULL;
    for (int i = 0; i < b->b->g->n && !twice; i++) {
        const cr_node *p = b->b->g->nodes[i];
        if (p->cls == CR_PARAM && !cr_map_put(&seen, p->name, strlen(p->name), i)) twice = p;
    }
    cr_map_clear(&seen);
    if (twice)
        wrong(b,
              "the parameter '%s' occurs twice; give layers and weights different names, and "
              "none output_mlp or _task_tower",
              twice->name);
    return !twice;
}

/* Runs the build function; returns false when there is a mistake. */
static bool run_build(crank_build *b, const cr_plugin_conf *c) {
    b->before = b->b->diag->n_errors;
    b->at = c->base.at;
    b->library = cr_path_base(c->library);
    b->type = find_type(b->b, c);
    if (!b->type || !(b->msg = params_msg(b))) return false;
    const cr_conf_node empty = {.kind = CR_NODE_MAP, .at = b->at};
    if (c->params && c->params->kind != CR_NODE_MAP) {
        cr_diag_add(b->b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "params"),
                    "params holds keys and values; write %s", CR_SAY(c, "params", "{key: 1}"));
        return false;
    }
    b->params = cr_conf_bind_own(&b->b->m->arena, b->msg, "params", c->params ? c->params : &empty,
                                 b->b->diag);
    if (b->b->diag->n_errors != b->before) return false;
    cr_arena *arena = &b->b->m->arena;
    cr_guard g = {.what = cr_arena_printf(arena, "library '%s'", c->library),
                  .function = "build",
                  .of = cr_arena_printf(arena, "type '%s'", b->type->name)};
    cr_guard_enter(&g);
    int code = b->type->build(b, &api);
    cr_guard_leave(&g);
    if (b->b->diag->n_errors != b->before) return false;
    if (code != 0)
        wrong(b, "build failed with %d and said nothing; call fail with the reason", code);
    else if (b->n_out == 0)
        wrong(b, "build gave no output; call output with what it made");
    return b->b->diag->n_errors == b->before;
}

/* ---- as a block ---- */

static void block(cr_block_call *c, const void *conf) {
    crank_build b = {.b = c->b, .call = c};
    size_t mark = cr_graph_push(c->g, "%s", c->path);
    bool ok = run_build(&b, conf) && has_own_names(&b);
    cr_graph_pop(c->g, mark);
    for (int i = 0; ok && i < b.n_out; i++)
        cr_block_give_val(c, b.out[i]->v);
}
const cr_block_type cr_block_plugin = {
    .name = "plugin",
    .takes = CR_TAKES_POSITIONS | CR_TAKES_EACH | CR_TAKES_MIXED,
    .min_in = 1,
    .build = block,
};

/* ---- as a model ---- */

static void end_model(crank_build *b, const cr_plugin_conf *c) {
    int64_t n = c->task_towers.n;
    if (n > 0 ? b->n_out != 1 && b->n_out != n : b->n_out != 1) {
        wrong(b, "gives %d outputs for %lld task%s; give one%s", b->n_out, (long long)(n ? n : 1),
              n > 1 ? "s" : "", n > 1 ? ", or one per task tower" : "");
        return;
    }
    for (int i = 0; i < b->n_out; i++)
        if (b->out[i]->v.node->cls == CR_SEQ) {
            wrong(b, "gives a sequence, which cannot end a model; pool it first");
            return;
        }
    if (n == 0)
        cr_end_task(b->b, cr_block_logits(b->b, "output_mlp", b->out[0]->v.node,
                                          b->b->conf->num_class, b->at));
    for (int64_t i = 0; i < n; i++)
        cr_block_tower(b->b, c->task_towers.v[i], i, b->out[b->n_out == 1 ? 0 : i]->v.node);
}

static void build(cr_build *b, const void *conf) {
    const cr_plugin_conf *c = conf;
    if (b->conf->feature_groups.n == 0) {
        cr_group_first(b, "plugin", c->base.at);
        return;
    }
    crank_build p = {.b = b};
    p.in = CR_NEW_N(&b->m->arena, crank_node *, b->conf->feature_groups.n + 1);
    b->wide_dim = c->wide_embedding_dim;
    b->wide_init = c->wide_init_fn;
    if (!run_build(&p, c)) return;
    for (int i = 0; i < api_n_inputs(&p); i++)
        if (!p.in[i])
            cr_diag_add(b->diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(group_at(&p, i), "group_name"),
                        "type '%s' of %s does not read feature group '%s'; remove it", p.type->name,
                        p.library, group_at(&p, i)->group_name);
    end_model(&p, c);
    if (has_own_names(&p)) cr_block_can_learn(b, c->base.at);
}

const cr_model_type cr_model_plugin = {.name = "plugin", .build = build};

/* ---- messages ---- */

#define PLUGIN_ROWS                                                                                \
    CR_STR(cr_plugin_conf, library, NULL, CR_F_REQUIRED | CR_F_OURS | CR_F_PATH,                   \
           "shared library, a path as seen from the folder crank runs in"),                        \
        CR_STR(cr_plugin_conf, type, NULL, CR_F_REQUIRED | CR_F_OURS,                              \
               "one of the types that it defines"),                                                \
        CR_TREE(cr_plugin_conf, params, CR_F_OURS, "the parameters that the type declares")
static const cr_field block_fields[] = {PLUGIN_ROWS, CR_END};
const cr_msg cr_block_plugin_msg = {
    .name = "PluginBlock",
    .help = "A layer from a shared library",
    .fields = block_fields,
    .size = sizeof(cr_plugin_conf),
};
static const cr_field model_fields[] = {
    PLUGIN_ROWS,
    CR_MSG(cr_plugin_conf, task_towers, &cr_task_tower_msg, CR_F_REPEATED | CR_F_OURS,
           "one tower per task; none: one task"),
    CR_INT(cr_plugin_conf, wide_embedding_dim, CR_WIDE_DIM, 1, 65536, CR_F_OURS,
           "vector width in groups of type WIDE"),
    CR_STR(cr_plugin_conf, wide_init_fn, NULL, CR_F_OURS, HELP_WIDE_INIT),
    CR_END,
};
const cr_msg cr_plugin_msg = {
    .name = "PluginModel",
    .help = "A model from a shared library",
    .ours = true,
    .fields = model_fields,
    .size = sizeof(cr_plugin_conf),
};
