/*
 * custom.c - custom_feature: an operator from the user's shared library, or one that is built in,
 * through the interface of crank/feature.h.
 *
 * The operator gets all rows of a chunk at once: inputs become arrays of values, and its results
 * become the values of calc.c, so the feature ends like every computed feature. An operator that is
 * not thread safe is called by one thread at a time.
 *
 * In a sequence every input is cut into steps, even those that other feature types would repeat; an
 * input of one step stands for all steps of its row. (In TorchEasyRec the operator gets whole
 * sequences and broadcasts single values itself.)
 */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>

#include "base/file.h"
#include "base/guard.h"
#include "base/plugin.h"
#include "feat/calc_int.h"
#include "feat/number.h"
#include "feat/ops.h"
#include "text/limits.h"

typedef struct custom_conf {
    cr_calc_conf op;
    cr_strs expression;
    const char *operator_name, *operator_lib_file;
    const cr_conf_node *operator_params; /* a map; NULL: none */
    bool is_op_thread_safe;
} custom_conf;
static const cr_field cr_custom_fields[] = {
    CR_CALC_NAME,
    CR_STR(custom_conf, expression, NULL, CR_F_REPEATED, HELP_EXPRESSIONS),
    CR_STR(custom_conf, operator_name, NULL, CR_F_REQUIRED,
           "name of the operator; EditDistance, RegexReplace and SeqExpr are built in"),
    CR_STR(custom_conf, operator_lib_file, NULL, CR_F_REQUIRED | CR_F_PATH,
           "shared library that holds it; pyfg/lib/...: built in"),
    CR_TREE(custom_conf, operator_params, 0, "parameters handed to it"),
    CR_BOOL(custom_conf, is_op_thread_safe, false, 0,
            "threads may share one instance, even if the operator does not say so"),
    CR_CALC_EMBEDDING,
    CR_CALC_VOCAB,
    CR_CALC_BUCKETS,
    CR_CALC_NUMERIC,
    CR_CALC_NORMALIZER,
    CR_CALC_VALUE_DIM,
    CR_CALC_DEFAULT("0"),
    CR_CALC_TAIL,
    CR_END,
};
CR_CALC_MSGS(custom, "CustomFeature", "An operator of your own, or one of crank's", custom_conf);

typedef struct custom_self {
    cr_calc op;
    const crank_operator *what;
    void *instance;
    bool one_by_one;
    const char *from, *of; /* for messages: the library, and the operator with its feature */
    bool own;              /* the operator is built in */
    pthread_mutex_t lock;
} custom_self;

/* ---- the host functions for parameters and inputs ---- */

struct crank_params {
    const custom_conf *conf;
    const cr_calc *op;
    bool *asked; /* while the operator opens: did it read this parameter? */
};

static const char *host_param(const crank_params *p, const char *name, int i) {
    const cr_conf_node *map = p->conf->operator_params,
                       *n = map && map->kind == CR_NODE_MAP ? cr_conf_find(map, name) : NULL;
    for (size_t k = 0; n && p->asked && k < map->n; k++)
        if (map->v[k].val == n) p->asked[k] = true;
    if (n && n->kind == CR_NODE_LIST) {
        n = i >= 0 && (size_t)i < n->n ? n->v[i].val : NULL;
        i = 0;
    }
    return n && n->kind == CR_NODE_SCALAR && i == 0 ? n->text : NULL;
}

static int host_n_inputs(const crank_params *p) {
    return p->op->n_in;
}

static const char *host_input_name(const crank_params *p, int i) {
    return i >= 0 && i < p->op->n_in ? p->op->in[i].name : NULL;
}

/* ---- the results of the operator ---- */

/* More is a mistake of the operator, which is reported before it takes all memory. */
enum { MOST_VALUES = 1 << 20, MOST_BYTES = 1 << 30 };

struct crank_output {
    cr_calc_run *run;
    const crank_operator *what;
    uint8_t *bad; /* per row: an input could not be read */
    cr_err *err;
    cr_code code;
};

static bool may_put(crank_output *o, crank_type type) {
    cr_values *v = o->run->out;
    if (o->code != CR_OK || v->row >= o->run->chunk->n_rows) return false;
    if (o->what->output == type && cr_values_in_row(v) < MOST_VALUES) return true;
    if (o->what->output == type)
        o->code = cr_fail(o->err, CR_ERUN,
                          "feature '%s': operator '%s' puts more than %d values into one row; "
                          "correct the operator",
                          o->run->f->name, o->what->name, MOST_VALUES);
    else
        o->code = cr_fail(o->err, CR_ERUN,
                          "feature '%s': operator '%s' puts values of another type than its "
                          "output says; correct the operator",
                          o->run->f->name, o->what->name);
    return false;
}

static void host_put_text(crank_output *o, const char *data, size_t size) {
    if (!may_put(o, CRANK_TEXT) || size == 0) return;
    if (size > MOST_BYTES) {
        o->code = cr_fail(o->err, CR_ERUN,
                          "feature '%s': operator '%s' puts a text of %zu bytes, more than %d; "
                          "correct the operator",
                          o->run->f->name, o->what->name, size, MOST_BYTES);
        return;
    }
    cr_values_piece(o->run->out, data, size);
    cr_values_token(o->run->out);
}

static void host_put_int(crank_output *o, int64_t x) {
    char text[24];
    if (!may_put(o, CRANK_INT)) return;
    if (!o->run->out->text) {
        cr_values_number(o->run->out, (double)x);
        return;
    }
    cr_values_piece(o->run->out, text, cr_fmt_i64(text, x));
    cr_values_token(o->run->out);
}

static void host_put_float(crank_output *o, double x) {
    char text[32];
    if (!may_put(o, CRANK_FLOAT)) return;
    if (!o->run->out->text) {
        cr_values_number(o->run->out, x);
        return;
    }
    cr_values_piece(o->run->out, text, cr_number_text(text, x));
    cr_values_token(o->run->out);
}

static void host_end_row(crank_output *o) {
    cr_values *v = o->run->out;
    if (o->code == CR_OK && v->row < o->run->chunk->n_rows) {
        if (o->bad[v->row]) cr_values_drop(v);
        o->code = cr_calc_end_row(o->run, o->err);
    }
    v->row++;
}

static void host_bad_row(crank_output *o, const char *why) {
    int64_t row = o->run->out->row;
    const cr_calc *op = o->run->f->self;
    /* with several inputs it is not known which one is the cause */
    int in = op->n_in == 1 ? 0 : -1;
    if (o->code == CR_OK && row < o->run->chunk->n_rows && !o->bad[row])
        cr_calc_bad(o->run, in, (cr_tok){NULL, 0}, why ? why : "the operator gives no reason");
    host_end_row(o);
}

static const crank_host host = {
    .param = host_param,
    .n_inputs = host_n_inputs,
    .input_name = host_input_name,
    .put_text = host_put_text,
    .put_int = host_put_int,
    .put_float = host_put_float,
    .end_row = host_end_row,
    .bad_row = host_bad_row,
};

/* ---- the inputs of the operator ---- */

static crank_type type_of(const crank_operator *what, int input) {
    int i = 0;
    while (i < input && what->inputs[i + 1])
        i++;
    return what->inputs[i];
}

typedef struct filler {
    cr_calc_run *run;
    uint8_t *bad;
    int input;
    crank_type type;
    cr_toks toks;
    cr_nums nums;
    crank_text *texts;
    int64_t *ints;
    double *floats;
    int64_t n, cap;
} filler;

static void *grow(filler *t, void *old, size_t size, int64_t more) {
    int64_t cap = t->cap ? 2 * t->cap : 64;
    while (cap < t->n + more)
        cap *= 2;
    void *v = cr_arena_alloc(t->run->arena, size * (size_t)cap);
    if (t->n) memcpy(v, old, size * (size_t)t->n);
    t->cap = cap;
    return v;
}

static void room(filler *t, int64_t more) {
    if (t->n + more <= t->cap) return;
    if (t->type == CRANK_FLOAT)
        t->floats = grow(t, t->floats, sizeof(double), more);
    else if (t->type == CRANK_INT)
        t->ints = grow(t, t->ints, sizeof(int64_t), more);
    else
        t->texts = grow(t, t->texts, sizeof(crank_text), more);
}

/* Reports a row as bad, once. */
static bool say_bad(filler *t, int64_t r, cr_tok value, const char *why) {
    if (!t->bad[r]) cr_calc_bad(t->run, t->input, value, why);
    t->bad[r] = 1;
    return false;
}

/* Appends the values of row r; false: the row is bad. */
static bool fill_row(filler *t, const cr_column *col, int64_t r) {
    const cr_calc *op = t->run->f->self;
    cr_arena *arena = t->run->arena;
    if (t->type == CRANK_FLOAT) {
        cr_tok bad;
        if (!cr_nums_row(&t->nums, col, r, op->sep, arena, &bad))
            return say_bad(t, r, bad, "not a number");
        room(t, t->nums.n);
        for (int64_t i = 0; i < t->nums.n; i++)
            t->floats[t->n++] = t->nums.v[i];
        return true;
    }
    cr_toks_row(&t->toks, col, r, t->type == CRANK_TEXT ? CR_WHOLE_TEXT : op->sep, false, arena);
    room(t, t->toks.n);
    for (int64_t i = 0; i < t->toks.n; i++) {
        cr_tok x = t->toks.v[i];
        if (t->type == CRANK_INT) {
            if (cr_num_whole(x.p, x.n, &t->ints[t->n]) != CR_NUM_OK)
                return say_bad(t, r, x, "not an integer of 64 bits");
            t->n++;
            continue;
        }
        /* integers are written where the next row writes too, so they are copied */
        char *p = (char *)(uintptr_t)x.p;
        if (col->type != CR_COL_STR) {
            p = cr_arena_alloc(arena, x.n);
            memcpy(p, x.p, x.n);
        }
        t->texts[t->n++] = (crank_text){p, x.n};
    }
    return true;
}

static crank_input fill(cr_calc_run *run, const crank_operator *what, int input, uint8_t *bad) {
    static const crank_text no_text;
    static const int64_t no_int;
    static const double no_float;
    int64_t n_rows = run->chunk->n_rows;
    filler t = {.run = run, .bad = bad, .input = input, .type = type_of(what, input)};
    int64_t *off = CR_NEW_N(run->arena, int64_t, n_rows + 1);
    for (int64_t r = 0; r < n_rows; r++) {
        run->out->row = r; /* for messages */
        int64_t before = t.n;
        if (!fill_row(&t, run->in[input], r)) t.n = before;
        off[r + 1] = t.n;
    }
    run->out->row = 0;
    crank_input in = {.type = t.type, .offsets = off};
    if (t.type == CRANK_FLOAT)
        in.floats = t.floats ? t.floats : &no_float;
    else if (t.type == CRANK_INT)
        in.ints = t.ints ? t.ints : &no_int;
    else
        in.texts = t.texts ? t.texts : &no_text;
    return in;
}

/* ---- running ---- */

static cr_code all_rows(cr_calc_run *run, cr_err *err) {
    custom_self *s = run->f->self;
    crank_input in[CR_CALC_MAX_INPUTS];
    uint8_t *bad = CR_NEW_N(run->arena, uint8_t, run->chunk->n_rows + 1);
    /* a row that turns out to be bad while its inputs are read has no results to drop yet */
    memset(run->out->off, 0, sizeof(int32_t) * (size_t)(run->chunk->n_rows + 1));
    for (int i = 0; i < s->op.n_in; i++)
        in[i] = fill(run, s->what, i, bad);
    crank_batch batch = {run->chunk->n_rows, s->op.n_in, in};
    crank_output out = {run, s->what, bad, err, CR_OK};
    char why[256] = "";
    cr_guard g = {.what = s->from,
                  .own = s->own,
                  .function = "run",
                  .of = s->of,
                  .path = run->chunk->path,
                  .row = &run->out->row,
                  .lines = run->chunk->lines,
                  .first_row = run->chunk->first_row,
                  .n_rows = run->chunk->n_rows};
    if (s->one_by_one) pthread_mutex_lock(&s->lock);
    cr_guard_enter(&g);
    int failed = s->what->run(s->instance, &batch, &out, why, sizeof(why));
    cr_guard_leave(&g);
    if (s->one_by_one) pthread_mutex_unlock(&s->lock);
    why[sizeof(why) - 1] = 0;
    if (out.code != CR_OK) return out.code;
    if (failed)
        return cr_fail(err, CR_ERUN, "feature '%s': operator '%s' failed: %s", run->f->name,
                       s->what->name, *why ? why : "it gives no reason");
    if (run->out->row != batch.n_rows)
        return cr_fail(err, CR_ERUN,
                       "feature '%s': operator '%s' ended %" PRId64 " of %" PRId64
                       " rows; correct the operator",
                       run->f->name, s->what->name, run->out->row, batch.n_rows);
    return CR_OK;
}

/* ---- building ---- */

static const char *op_name(const void *ctx, size_t i) {
    const crank_operator *const *v = ctx;
    const crank_operator *o = v ? v[i] : cr_op_at(i);
    return o ? o->name : NULL;
}

/* Is this one of the libraries that come with TorchEasyRec? Their operators are built in. */
static bool is_built_in(const char *lib) {
    static const char *const libs[] = {"libedit_distance.so", "libregex_replace.so",
                                       "libseq_expr.so"};
    if (strncmp(lib, "pyfg/lib/", 9) == 0) return true;
    for (size_t i = 0; i < 3; i++)
        if (strcmp(lib, libs[i]) == 0) return true;
    return false;
}

static void unknown_op(const cr_feature *f, const custom_conf *c, const void *ops, cr_diag *diag) {
    const char *near = cr_nearest(c->operator_name, op_name, ops), *first = op_name(ops, 0);
    cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "operator_name"),
                "feature '%s': %s has no operator '%s'; %s '%s'%s", f->name,
                ops ? c->operator_lib_file : "crank itself", c->operator_name,
                near ? "did you mean" : "its first is",
                near    ? near
                : first ? first
                        : "none",
                near ? "?" : "");
}

/* A library is the user's code: what would make it crash is reported. */
static const char *wrong_library(const crank_feature_library *l) {
    if (!l->operators || !l->operators[0]) return "names no operators";
    for (size_t i = 0; l->operators[i]; i++)
        if (!l->operators[i]->name) return "has an operator without a name";
    return NULL;
}

static const crank_operator *find_op(cr_feature *f, const custom_conf *c, const cr_data_conf *data,
                                     cr_arena *arena, cr_diag *diag) {
    const char *lib = c->operator_lib_file;
    if (is_built_in(lib)) {
        const crank_operator *o = cr_op_find(c->operator_name);
        if (!o) unknown_op(f, c, NULL, diag);
        return o;
    }
    /* in an export the library lies beside the vocabularies */
    const char *path;
    const void *object;
    cr_err err;
    if (cr_feature_path(c->op.asset_dir, lib, data, arena, &path, &err) != CR_OK ||
        cr_plugin_open(path, "crank_features", CRANK_FEATURE_ABI, "crank/feature.h", &object,
                       &err) != CR_OK) {
        cr_diag_add(diag, CR_SEV_ERROR, err.code, cr_conf_at(c, "operator_lib_file"),
                    "feature '%s': %s", f->name, err.msg);
        return NULL;
    }
    const crank_feature_library *l = object;
    const char *wrong = wrong_library(l);
    if (wrong) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "operator_lib_file"),
                    "feature '%s': library '%s' %s; see crank/feature.h", f->name, path, wrong);
        return NULL;
    }
    cr_buf code;
    cr_buf_init(&code);
    if (cr_file_read(path, CR_MOST_LIBRARY_BYTES, &code, &err) == CR_OK)
        cr_feature_add_asset(f, "operator_lib_file", path, &code, arena);
    cr_buf_clear(&code);
    for (const crank_operator *const *o = l->operators; *o; o++)
        if (strcmp((*o)->name, c->operator_name) == 0) return *o;
    unknown_op(f, c, l->operators, diag);
    return NULL;
}

static const char *wrong_op(const crank_operator *o) {
    if (!o->open || !o->run) return "has no open or no run";
    if (!o->inputs || !o->inputs[0]) return "names no types of inputs";
    for (int i = 0; o->inputs[i]; i++)
        if (o->inputs[i] < CRANK_TEXT || o->inputs[i] > CRANK_FLOAT)
            return "has an input of an unknown type";
    if (o->output != CRANK_TEXT && o->output != CRANK_INT && o->output != CRANK_FLOAT)
        return "has an output that is not text, integers or floats";
    return NULL;
}

static void forget(void *self) {
    custom_self *s = self;
    cr_guard g = {.what = s->from, .own = s->own, .function = "close", .of = s->of};
    cr_guard_enter(&g);
    if (s->what->close) s->what->close(s->instance);
    cr_guard_leave(&g);
    pthread_mutex_destroy(&s->lock);
}

/* Reads the inputs and opens the operator; false after an error. */
static bool open_op(custom_self *s, cr_feature *f, const custom_conf *c, const cr_data_conf *data,
                    cr_arena *arena, cr_diag *diag) {
    size_t errors = diag->n_errors;
    const char *wrong = wrong_op(s->what);
    if (wrong) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "operator_name"),
                    "feature '%s': operator '%s' %s; see crank/feature.h", f->name, s->what->name,
                    wrong);
        return false;
    }
    for (int64_t i = 0; i < c->expression.n; i++) {
        crank_type type = type_of(s->what, (int)(i < CR_CALC_MAX_INPUTS ? i : 0));
        cr_calc_add(&s->op, f, "expression", i, c->expression.v[i],
                    type == CRANK_FLOAT ? CR_IN_NUMBERS : CR_IN_TOKENS, data, arena, diag);
    }
    if (diag->n_errors > errors) return false;
    int n = s->op.n_in, lo = s->what->min_inputs, hi = s->what->max_inputs;
    if (n < lo || (hi && n > hi)) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "expression"),
                    "feature '%s': operator '%s' takes %s%d input%s, expression has %d; name them "
                    "as side:column",
                    f->name, s->what->name,
                    hi == lo ? ""
                    : n < lo ? "at least "
                             : "at most ",
                    n < lo ? lo : hi, (n < lo ? lo : hi) == 1 ? "" : "s", n);
        return false;
    }
    struct crank_params *p = CR_NEW(arena, struct crank_params);
    const cr_conf_node *map = c->operator_params;
    size_t n_params = map && map->kind == CR_NODE_MAP ? map->n : 0;
    *p = (struct crank_params){c, &s->op, CR_NEW_N(arena, bool, n_params + 1)};
    char why[256] = "";
    cr_guard g = {.what = s->from, .own = s->own, .function = "open", .of = s->of};
    cr_guard_enter(&g);
    s->instance = s->what->open(&host, p, why, sizeof(why));
    cr_guard_leave(&g);
    why[sizeof(why) - 1] = 0;
    if (!s->instance) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "operator_params"),
                    "feature '%s': operator '%s': %s", f->name, s->what->name,
                    *why ? why : "it cannot be opened and gives no reason");
        return false;
    }
    for (size_t k = 0; k < n_params; k++)
        if (!p->asked[k])
            cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, map->v[k].at,
                        "feature '%s': operator '%s' does not read the parameter '%s'; check its "
                        "name, or leave it out",
                        f->name, s->what->name, map->v[k].key);
    p->asked = NULL; /* threads may ask later */
    s->one_by_one = !(s->what->flags & CRANK_THREAD_SAFE) && !c->is_op_thread_safe;
    pthread_mutex_init(&s->lock, NULL);
    cr_arena_defer(arena, forget, s);
    return true;
}

/* Chooses the end: that of an id_feature, or that of a raw_feature. */
static cr_calc_end end_of(const custom_self *s, const cr_feature *f, const custom_conf *c,
                          cr_diag *diag) {
    bool text = !s->what || s->what->output == CRANK_TEXT, norm = c->op.normalizer[0] != 0;
    bool hash = c->op.zch || c->op.dynamicemb || c->op.growing ||
                cr_conf_has(c, "hash_bucket_size") || c->op.vocab_list.n || c->op.vocab_dict.n ||
                c->op.vocab_file[0];
    if (hash ||
        (cr_conf_has(c, "num_buckets") && (text || (s->what->output == CRANK_INT && !norm))))
        return CR_END_TOKENS;
    if (cr_conf_has(c, "num_buckets")) return CR_END_WHOLE;
    if (s->what && text && !f->stub && !s->op.encoded)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, f->at,
                    "feature '%s': operator '%s' makes text, which needs a table; add "
                    "hash_bucket_size, num_buckets or a vocabulary",
                    f->name, s->what->name);
    if (s->what && text && f->stub) return CR_END_TOKENS;
    return c->op.boundaries.n ? CR_END_MANY : CR_END_NUMBER;
}

static int64_t dim_of(const custom_conf *c) {
    return cr_conf_has(c, "value_dim") ? c->op.value_dim : 1;
}

static void build(cr_feature *f, const void *conf, const cr_data_conf *data, cr_arena *arena,
                  cr_diag *diag) {
    const custom_conf *c = conf;
    custom_self *s = CR_NEW(arena, custom_self);
    cr_calc_start(&s->op, f, &c->op, data);
    f->spread = f->seq != NULL;
    if (!s->op.encoded) {
        s->what = find_op(f, c, data, arena, diag);
        if (s->what) {
            s->own = is_built_in(c->operator_lib_file);
            s->from = s->own ? "crank itself"
                             : cr_arena_printf(arena, "library '%s'", c->operator_lib_file);
            s->of =
                cr_arena_printf(arena, "operator '%s' for feature '%s'", s->what->name, f->name);
        }
        if (s->what && !open_op(s, f, c, data, arena, diag)) s->what = NULL;
        if (!s->what) { /* it was reported; the rest would only repeat it */
            f->value_dim = 1;
            f->seq = NULL;
            return;
        }
        if (f->seq) f->is_seq = NULL; /* all inputs are sequences */
        s->op.all = all_rows;
    }
    cr_calc_finish(&s->op, f, &c->op, end_of(s, f, c, diag), dim_of(c), data, arena, diag);
}

/* ---- fg.json ---- */

static void put_tree(cr_jw *w, const char *key, const cr_conf_node *n) {
    double x;
    if (n->kind == CR_NODE_MAP) {
        cr_jw_obj(w, key);
        for (size_t i = 0; i < n->n; i++)
            put_tree(w, n->v[i].key, n->v[i].val);
        cr_jw_end(w);
    } else if (n->kind == CR_NODE_LIST) {
        cr_jw_arr(w, key);
        for (size_t i = 0; i < n->n; i++)
            put_tree(w, NULL, n->v[i].val);
        cr_jw_end(w);
    } else if (!n->quoted && (strcmp(n->text, "true") == 0 || strcmp(n->text, "false") == 0)) {
        cr_jw_bool(w, key, n->text[0] == 't');
    } else if (!n->quoted && cr_num_f64(n->text, n->len, &x)) {
        cr_jw_f64(w, key, x);
    } else {
        cr_jw_str(w, key, n->text);
    }
}

static void fg_json(const cr_feature *f, cr_jw *w) {
    const custom_conf *c = f->conf;
    const custom_self *s = f->self;
    bool tokens = s->op.end_kind == CR_END_TOKENS, ints = cr_conf_has(c, "num_buckets");
    cr_fg_json_open(f, w, "custom_feature", c->op.default_value);
    cr_jw_str(w, "operator_name", c->operator_name);
    const char *lib = cr_feature_asset(f, "operator_lib_file");
    cr_jw_str(w, "operator_lib_file", lib ? lib : c->operator_lib_file);
    cr_jw_bool(w, "is_op_thread_safe", c->is_op_thread_safe);
    cr_jw_arr(w, "expression");
    for (int64_t i = 0; i < c->expression.n; i++)
        cr_jw_str(w, NULL, c->expression.v[i]);
    cr_jw_end(w);
    cr_jw_str(w, "value_type", ints ? "int64" : tokens ? "string" : "float");
    if (strcmp(c->op.separator, "\x1d") != 0) cr_jw_str(w, "separator", c->op.separator);
    for (size_t i = 0; c->operator_params && i < c->operator_params->n; i++)
        put_tree(w, c->operator_params->v[i].key, c->operator_params->v[i].val);
    cr_jw_i64(w, "value_dim", dim_of(c));
    if (f->seq) cr_jw_bool(w, "is_sequence", true);
    cr_calc_fg_close(f, &c->op, w);
}

/* Texts of one to four words, similar enough to be compared. */
static void sample(const cr_feature *f, int k, const cr_sampler *s, cr_tab_col *out) {
    static const char *const texts[] = {"shoes",          "red shoes",       "blue shoes",
                                        "red silk dress", "blue silk dress", "long red silk dress",
                                        "coat",           "short coat"};
    if (cr_calc_sample(f, k, s, out) < 0 || out->value.leaf != CR_TAB_TOKEN) return;
    out->value = (cr_tab_value){.leaf = CR_TAB_WORD,
                                .card = sizeof(texts) / sizeof(*texts),
                                .words = texts,
                                .closed = true};
}

const cr_feature_type cr_feature_custom = {
    .name = "custom_feature",
    .build = build,
    .encode = cr_calc_encode,
    .fg_json = fg_json,
    .refuses = cr_calc_refuses,
    .gives_numbers = cr_calc_gives_numbers,
    .give = cr_calc_give,
    .sample = sample,
};
