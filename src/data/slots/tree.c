/*
 * tree.c - rows over a tree of items (TDM, Zhu et al. 2018): in each layer the node above the item
 * is a row with label 1, and other nodes of that layer, drawn without repetition, are rows with
 * label 0.
 *
 * The tree is in PaddleRec's files: travel_list.npy has the nodes above each item, and a line of
 * layer_list.txt the nodes of a layer. An item that ends above the last layer has a 0 there, and no
 * rows of it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/npy.h"
#include "base/rng.h"
#include "conf/conf.h"
#include "data/slots/slots_int.h"

#define MAX_LAYERS 1024

int64_t cr_slots_tree_most(const cr_slot_tree *t) {
    int64_t most = 1;
    for (int64_t i = 0; i < t->n_layers; i++)
        if (t->negatives[i] + 1 > most) most = t->negatives[i] + 1;
    return most;
}

int64_t cr_slots_tree_nodes(const cr_slot_tree *t, int64_t item, int64_t layer, uint64_t hash,
                            int64_t *out) {
    int64_t right = t->travel[item * t->n_layers + layer], n = 1;
    const int64_t *nodes = t->nodes + t->off[layer];
    uint64_t size = (uint64_t)(t->off[layer + 1] - t->off[layer]);
    uint64_t key = cr_rng_sub(cr_rng_sub(t->key, hash), (uint64_t)layer);
    if (right == 0) return 0;
    out[0] = right;
    uint64_t tries = 100 * (uint64_t)t->negatives[layer] + 1000; /* a file may repeat nodes */
    for (uint64_t i = 0; n <= t->negatives[layer] && i < tries; i++) {
        int64_t node = nodes[cr_rng_below(key, i, size)];
        bool there = false;
        for (int64_t k = 0; k < n; k++)
            there |= out[k] == node;
        if (!there) out[n++] = node;
    }
    return n;
}

/* Reads the nodes of the layers: *off and *nodes. */
static cr_code read_layers(cr_slot_tree *t, const char *path, cr_arena *a, cr_err *err) {
    cr_buf text;
    cr_buf_init(&text);
    cr_code code = cr_file_read(path, 0, &text, err);
    int64_t *nodes = CR_NEW_N(a, int64_t, text.n + 1);
    int64_t *off = CR_NEW_N(a, int64_t, MAX_LAYERS + 1), n = 0, layer = 0;
    int line = 1;
    for (const char *p = text.data, *end = p + text.n, *nl; code == CR_OK && p < end;
         p = nl + 1, line++) {
        nl = memchr(p, '\n', (size_t)(end - p));
        if (!nl) nl = end;
        int64_t begin = n;
        cr_loc at = {path, line, 0};
        for (const char *q; p < nl && code == CR_OK; p = q + 1) {
            q = memchr(p, ',', (size_t)(nl - p));
            if (!q) q = nl;
            const char *last = q > p && q[-1] == '\r' ? q - 1 : q;
            if (last > p && (!cr_parse_i64(p, (size_t)(last - p), &nodes[n++]) || nodes[n - 1] < 1))
                code = cr_fail_at(err, CR_EDATA, at,
                                  "'%.*s' is not the number of a node, from 1; correct the file",
                                  (int)(last - p < 40 ? last - p : 40), p);
        }
        if (n == begin) continue;
        if (layer == MAX_LAYERS) {
            code = cr_fail_at(err, CR_EDATA, at, "the tree has more than %d layers", MAX_LAYERS);
            break;
        }
        off[++layer] = n;
    }
    if (code == CR_OK && layer != t->n_layers)
        code = cr_fail(err, CR_EDATA,
                       "%s has %lld layers, and the travel list has %lld; both describe one tree",
                       path, (long long)layer, (long long)t->n_layers);
    t->nodes = nodes;
    t->off = off;
    cr_buf_clear(&text);
    return code;
}

/* Are there enough nodes in each layer to draw from? */
static cr_code check_draws(const cr_slot_tree *t, cr_err *err) {
    for (int64_t i = 0; i < t->n_layers; i++) {
        int64_t size = t->off[i + 1] - t->off[i];
        if (t->negatives[i] < size) continue;
        return cr_fail(err, CR_ECONF,
                       "layer %lld of the tree has %lld nodes, so %lld others than the right one "
                       "cannot be drawn; lower its number in negatives",
                       (long long)i, (long long)size, (long long)t->negatives[i]);
    }
    return CR_OK;
}

static int named(const struct cr_slots *t, const char *name) {
    return (int)cr_map_get(&t->index, name, strlen(name), -1);
}

static cr_code read_tree(struct cr_slots *t, const cr_slot_tree_conf *c, cr_slot_tree *out,
                         cr_arena *a, cr_err *err) {
    int64_t shape[2];
    int64_t *travel;
    out->item = named(t, c->item);
    out->node = named(t, "node");
    out->layer = named(t, "layer");
    out->label = named(t, "label");
    out->key = cr_rng_key(0, "slots", "tree");
    const int fields[] = {out->item, out->node, out->layer, out->label};
    for (int i = 0; i < 4; i++)
        if (fields[i] < 0 || t->v[fields[i]].many || t->v[fields[i]].type != CR_COL_I64)
            return cr_fail(err, CR_ECONF,
                           "tree: '%s' is no column of the type INT64 in input_fields; add it",
                           i == 0   ? c->item
                           : i == 1 ? "node"
                           : i == 2 ? "layer"
                                    : "label");
    CR_TRY(cr_npy_read_i64(c->travel, a, &travel, shape, err));
    out->travel = travel;
    out->n_items = shape[0];
    out->n_layers = shape[1];
    out->negatives = c->negatives.v;
    if (c->negatives.n != out->n_layers)
        return cr_fail(err, CR_ECONF,
                       "negatives has %lld numbers for the %lld layers of the tree; give each one",
                       (long long)c->negatives.n, (long long)out->n_layers);
    CR_TRY(read_layers(out, c->layers, a, err));
    return check_draws(out, err);
}

void cr_slots_find_tree(struct cr_slots *t, const cr_data_conf *c, cr_arena *a, cr_diag *diag) {
    const cr_slot_tree_conf *conf = c->slot_text ? c->slot_text->tree : NULL;
    cr_err err;
    if (!conf) return;
    cr_slot_tree *out = CR_NEW(a, cr_slot_tree);
    if (read_tree(t, conf, out, a, &err) != CR_OK)
        cr_diag_add(diag, CR_SEV_ERROR, err.code, err.at.path ? err.at : conf->base.at, "%s",
                    err.msg);
    else
        t->tree = out;
}
