/*
 * blocks_call.c - one block layer: its inputs are checked and put together as its type says, and it
 * gives its outputs. blocks.c builds the graph of blocks with it.
 *
 * A layer reports its mistakes with the name of its block. Whether it succeeded is seen from the
 * number of errors, so a layer that reports none must give an output.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "layer/layer.h"
#include "model/blocks_int.h"
#include "op/op.h"

#define MAX_FIELDS 4096

void cr_block_wrong_(const char *src, int line, cr_block_call *c, cr_loc at, const char *fmt, ...) {
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    cr_diag_add_(src, line, c->b->diag, CR_SEV_ERROR, CR_ECONF, at, "block '%s': %s", c->block,
                 text);
}

void cr_block_give_val(cr_block_call *c, cr_block_val v_new) {
    if (c->n_out == c->cap_out) {
        int cap = c->cap_out ? 2 * c->cap_out : 2;
        cr_block_val *v = CR_NEW_N(&c->b->m->arena, cr_block_val, cap);
        if (c->n_out) memcpy(v, c->out, (size_t)c->n_out * sizeof(*v));
        c->out = v;
        c->cap_out = cap;
    }
    c->out[c->n_out++] = v_new;
}

void cr_block_give_fields(cr_block_call *c, cr_node *node, int64_t D) {
    cr_block_give_val(c, (cr_block_val){node, D, NULL});
}

void cr_block_give(cr_block_call *c, cr_node *node) {
    cr_block_give_fields(c, node, node->width);
}

void cr_block_give_like(cr_block_call *c, cr_node *node, const cr_block_val *x) {
    cr_block_give_fields(c, node, node->width == x->node->width ? x->D : node->width);
    c->out[c->n_out - 1].query = x->query;
}

cr_block_val cr_block_beside(cr_block_call *c, const cr_block_val *v, int n) {
    cr_block_val all = v[0];
    cr_node **parts = CR_NEW_N(&c->b->m->arena, cr_node *, n);
    for (int i = 0; i < n; i++) {
        parts[i] = v[i].node;
        if (v[i].D != all.D) all.D = 0;
        if (!all.query) all.query = v[i].query;
    }
    all.node = cr_concat(c->g, parts, n);
    return all;
}

bool cr_block_learns(const cr_block_call *c) {
    return c->b->o->with_labels;
}

void cr_block_loss(cr_block_call *c, cr_node *row) {
    cr_build *b = c->b;
    if (b->n_extra == CR_MAX_EXTRA) {
        cr_block_wrong(c, c->at, "the model has more than %d additional losses; use fewer",
                       CR_MAX_EXTRA);
        return;
    }
    b->extra[b->n_extra++] =
        (cr_extra_loss){.name = cr_arena_printf(&b->m->arena, "%s_loss", c->block),
                        .row = row,
                        .weight = -1,
                        .whole = true};
}

/* ---- inputs ---- */

/* Inputs that stand side by side must be of one kind: rows, or positions of one sequence. */
static bool same_kind(cr_block_call *c) {
    for (int i = 1; i < c->n_in; i++) {
        const cr_node *a = c->in[0].node, *b = c->in[i].node;
        if (a->cls != b->cls) {
            cr_block_wrong(c, c->at,
                           "some of its inputs are sequences and some are not; put a din, "
                           "simple_attention or pooling block between");
            return false;
        }
        if (a->cls == CR_SEQ && a->axis != b->axis) {
            cr_block_wrong(c, c->at,
                           "its inputs are sequences of different groups, which may differ in "
                           "length; put them into one feature group, or pool each first");
            return false;
        }
    }
    return true;
}

/* Finds the one sequence among the inputs, and puts the rows side by side as its query. */
static bool find_sequence(cr_block_call *c) {
    cr_block_val *rows = CR_NEW_N(&c->b->m->arena, cr_block_val, c->n_in);
    int n_rows = 0, n_seq = 0;
    for (int i = 0; i < c->n_in; i++) {
        if (c->in[i].node->cls == CR_SEQ)
            c->x = n_seq++ ? c->x : c->in[i];
        else
            rows[n_rows++] = c->in[i];
    }
    if (n_seq != 1) {
        cr_block_wrong(c, c->at,
                       "%s reads one sequence and has %d among its inputs; name one feature group "
                       "of type SEQUENCE",
                       c->type, n_seq);
        return false;
    }
    if (n_rows) c->x.query = cr_block_beside(c, rows, n_rows).node;
    return true;
}

bool cr_block_query_fits(cr_block_call *c, int64_t width, bool exact) {
    int64_t q = c->x.query ? c->x.query->width : 0;
    if (q > 0 && (exact ? q == width : q <= width)) return true;
    cr_block_wrong(c, c->at, "%s compares a query (%lld wide) with a sequence (%lld wide); %s",
                   c->type, (long long)q, (long long)width,
                   q == 0  ? "add the target's features to the group, or a row to the inputs"
                   : exact ? "make them equal"
                           : "the query may not be wider");
    return false;
}

bool cr_block_too_wide(cr_block_call *c, const cr_block_val *v, int n) {
    int64_t w = 0;
    for (int i = 0; i < n && w <= CR_BLOCK_MAX_ROW; i++)
        w += v[i].node->width;
    if (w <= CR_BLOCK_MAX_ROW) return false;
    cr_block_wrong(c, c->at, "its row would have more than %d numbers; make it narrower",
                   CR_BLOCK_MAX_ROW);
    return true;
}

static bool has_fields(cr_block_call *c) {
    if (c->x.D == 0) {
        cr_block_wrong(c, c->at,
                       "%s multiplies vectors with each other, but those of its inputs have "
                       "different widths; give their features the same embedding_dim, or put a "
                       "linear block before those that differ",
                       c->type);
        return false;
    }
    int64_t F = c->x.node->width / c->x.D;
    if (F > MAX_FIELDS)
        cr_block_wrong(c, c->at, "%s has %lld vectors; use %d at most", c->type, (long long)F,
                       MAX_FIELDS);
    return F <= MAX_FIELDS;
}

bool cr_block_take(cr_block_call *c, const cr_block_type *t) {
    if (c->n_in < t->min_in || (t->max_in && c->n_in > t->max_in)) {
        char most[32] = "";
        if (t->max_in && t->max_in != t->min_in) snprintf(most, sizeof(most), " to %d", t->max_in);
        cr_block_wrong(c, c->at, "%s reads %d%s%s input%s and has %d; change its inputs", c->type,
                       t->min_in, most, t->max_in ? "" : " or more",
                       t->min_in == 1 && !most[0] && t->max_in ? "" : "s", c->n_in);
        return false;
    }
    if (cr_block_too_wide(c, c->in, c->n_in)) return false;
    if (t->takes & CR_TAKES_SEQUENCE) return find_sequence(c);
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i].node->cls == CR_SEQ && !(t->takes & CR_TAKES_POSITIONS)) {
            cr_block_wrong(c, c->at,
                           "%s reads rows, and one of its inputs is a sequence; put a din, "
                           "simple_attention or pooling block between",
                           c->type);
            return false;
        }
    if (!(t->takes & CR_TAKES_MIXED) && !same_kind(c)) return false;
    if (t->takes & CR_TAKES_EACH)
        c->x = c->in[0];
    else
        c->x = cr_block_beside(c, c->in, c->n_in);
    return !(t->takes & CR_TAKES_FIELDS) || has_fields(c);
}

bool cr_block_run(cr_block_call *c, const cr_block_type *t, const void *conf) {
    size_t before = c->b->diag->n_errors;
    if (cr_block_take(c, t)) t->build(c, conf);
    if (c->b->diag->n_errors == before && c->n_out == 0) CR_BUG("a block layer gave nothing");
    for (int i = 0; i < c->n_out && !cr_block_too_wide(c, &c->out[i], 1); i++)
        ;
    return c->b->diag->n_errors == before;
}
