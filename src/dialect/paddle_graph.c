/*
 * paddle_graph.c - PaddleRec's sign: L0-SIGN (Su et al., 2021: detecting beneficial feature
 * interactions). The ids of a row are the nodes of a graph; every pair of them has a gate, learned
 * with a penalty of the gates that are open, and a node is the mean of the messages of its open
 * pairs.
 *
 * A line is a label and ids, as many in every line. As in PaddleRec, the first line of the training
 * data tells how many, and the largest id of all lines tells the size of the tables.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/fs.h"
#include "dialect/paddle_int.h"

#define MAX_IDS 1000 /* ids that a row may have; their pairs are half a million */

/* What the lines of a folder hold. */
typedef struct id_lines {
    int64_t per_line; /* ids of the first line; 0: there is no line */
    int64_t largest;
} id_lines;

/* Reads the lines of a text, or the first one. What is no id is told by the reader, later. */
static void read_ids(const char *s, const char *end, bool all, id_lines *out) {
    while (s < end && (all || out->per_line == 0)) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        int64_t n = -1, id; /* the label stands in front */
        if (!stop) stop = end;
        while (s < stop) {
            while (s < stop && strchr(" \t\r", *s))
                s++;
            const char *word = s;
            while (s < stop && !strchr(" \t\r", *s))
                s++;
            if (s > word && ++n > 0 && cr_parse_i64(word, (size_t)(s - word), &id) &&
                id > out->largest)
                out->largest = id;
        }
        if (out->per_line == 0 && n > 0) out->per_line = n;
        s = stop + 1;
    }
}

/* Reads the files of a folder; false: one cannot be read, which was told. */
static bool read_folder(cr_pd *p, cr_loc at, const char *dir, bool all, id_lines *out) {
    char **names;
    size_t n;
    cr_err err;
    cr_arena *a = &p->doc->arena;
    cr_code code = cr_list_dir(a, dir, &names, &n, &err);
    for (size_t i = 0; code == CR_OK && i < n && (all || out->per_line == 0); i++) {
        const char *path = cr_path_join(a, dir, names[i]);
        cr_fs *f = NULL;
        cr_fs_map map = {0};
        if (names[i][0] == '.' || cr_path_is_dir(path)) continue;
        code = cr_fs_open(&f, path, &err);
        if (code == CR_OK && cr_fs_info(f)->kind == CR_FS_FILE)
            code = cr_fs_map_file(&map, f, &err);
        if (code == CR_OK && map.size > 0)
            read_ids(map.data, (const char *)map.data + map.size, all, out);
        cr_fs_unmap(&map);
        cr_fs_close(f);
    }
    if (code != CR_OK) cr_pd_wrong(p, at, "%s", err.msg);
    return code == CR_OK;
}

/* Finds the number of ids of a row, and of the rows of the tables. */
static id_lines find_ids(cr_pd *p) {
    static const char key[] = "n_feature";
    int64_t rows = cr_pd_int(p, p->hyper, key, 0, 1, CR_PD_MAX_ROWS);
    id_lines found = {0};
    cr_arena *a = &p->doc->arena;
    const char *where = "train_data_dir", *dir = cr_pd_str(p, p->runner, where, false);
    if ((!dir || !*dir) && rows > 0) {
        where = "test_data_dir";
        dir = cr_pd_str(p, p->runner, where, false);
    }
    cr_loc at = cr_pd_at(p, p->runner, where);
    if (dir && *dir) dir = cr_pd_remote(p, cr_path_join(a, cr_path_dir(a, p->path), dir), at);
    bool there = dir && *dir && cr_path_is_dir(dir);
    size_t errors = p->diag->n_errors;
    if (there && read_folder(p, at, dir, rows == 0, &found) && found.per_line == 0)
        cr_pd_wrong(p, at, "'%s' has no line with a label and ids, such as '1 4 17 23'", dir);
    if (found.per_line > MAX_IDS)
        cr_pd_wrong(p, at, "the first line of '%s' has %lld ids; use %d at most", dir,
                    (long long)found.per_line, MAX_IDS);
    /* a training tells that there is no such folder; an evaluation reads another one */
    if (!there && cr_pd_alone(p) && !p->o->elsewhere && p->diag->n_errors == errors)
        cr_pd_wrong(p, at,
                    "the largest id of runner.train_data_dir tells the size of the tables, and "
                    "'%s' is not a folder; name it, or give hyper_parameters.%s",
                    dir ? dir : "", key);
    if (found.per_line < 1 || found.per_line > MAX_IDS) found.per_line = 1;
    if (rows > 0) found.largest = rows - 1;
    return found;
}

void cr_pd_id_lines(cr_pd *p) {
    id_lines found = find_ids(p);
    cr_buf fields, widths;
    cr_buf_init(&fields);
    cr_buf_init(&widths);
    cr_buf_str(&fields, "{input_name: label, input_type: FLOAT}");
    cr_buf_str(&widths, "1");
    p->ids = CR_NEW_N(&p->doc->arena, const char *, found.per_line);
    p->n_ids = (int)found.per_line;
    p->largest_id = found.largest;
    for (int i = 0; i < p->n_ids; i++) {
        p->ids[i] = cr_arena_printf(&p->doc->arena, "id_%d", i + 1);
        cr_buf_printf(&fields, ", {input_name: %s, input_type: INT64}", p->ids[i]);
        cr_buf_str(&widths, ", 1");
    }
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "slot_text: {form: FIXED, widths: [%s]}, input_fields: [%s]}",
              widths.data, fields.data);
    cr_buf_clear(&fields);
    cr_buf_clear(&widths);
}

/* The temperature, low and high of the gates. */
static void gate_numbers(cr_pd *p, double v[3]) {
    const cr_conf_node *n = cr_pd_get(p, p->hyper, "l0_para");
    static const double shipped[] = {0.66, -0.1, 1.1};
    bool good = !n || (n->kind == CR_NODE_LIST && n->n == 3);
    memcpy(v, shipped, sizeof shipped);
    if (n) cr_tree_ask_all(&p->use, n);
    for (int i = 0; n && good && i < 3; i++) {
        const cr_conf_node *x = n->v[i].val;
        good = x->kind == CR_NODE_SCALAR && cr_parse_f64(x->text, x->len, &v[i]);
    }
    if (!good || !(v[0] > 0 && v[1] < 0 && v[2] > 1))
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "l0_para"),
                    "hyper_parameters.l0_para must be three numbers: the temperature above 0, the "
                    "least gate below 0 and the largest above 1, such as [0.66, -0.1, 1.1]");
}

void cr_pd_sign(cr_pd *p) {
    long long dim = (long long)cr_pd_int(p, p->hyper, "dim", 8, 1, 65536);
    long long hidden = (long long)cr_pd_int(p, p->hyper, "hidden_layer", 64, 1, 65536);
    double drop = cr_pd_num(p, p->hyper, "dropout_rate", 0.5, 0, 0.99), gate[3];
    double l0 = cr_pd_num(p, p->hyper, "l0_weight", 0.001, 0, 1e6);
    double l2 = cr_pd_num(p, p->hyper, "l2_weight", 0.001, 0, 1e6);
    bool compat = p->o->compat;
    gate_numbers(p, gate);
    if (cr_pd_int(p, p->hyper, "pred_edges", 1, 0, 1) == 0)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "pred_edges"),
                    "pred_edges: 0 reads the pairs of each row from a file, which PaddleRec's "
                    "reader does not name either; leave it 1 to learn them");
    for (int i = 0; i < p->n_ids; i++)
        cr_pd_feature(p, p->data_at,
                      "id_feature: {feature_name: %s, num_buckets: %lld, embedding_dim: %lld, "
                      "embedding_name: feature_emb, init_fn: nn.init.xavier_uniform_}",
                      p->ids[i], (long long)p->largest_id + 1, dim);
    /* as shipped, the penalty of the gates is their mean, that of the nodes the sum over the batch
     * with the weight of the other, and the second node of a pair alone receives */
    double pairs = (double)p->n_ids * (p->n_ids + 1) / 2;
    if (compat) l2 = l0 * (double)p->batch;
    if (compat) l0 /= pairs;
    const char *names = cr_pd_id_names(p);
    cr_pd_put(
        p, p->model_at,
        "model_config: {feature_groups: [{group_name: nodes, feature_names: [%s]}, {group_name: "
        "edges, group_type: WIDE, feature_names: [%s]}], num_class: 2, backbone: "
        "{wide_embedding_dim: %lld, wide_init_fn: \"nn.init.normal_,mean=0.2,std=0.01\", blocks: "
        "[{name: edge_pairs, inputs: [{feature_group_name: edges}], pair_products: {self: true}}, "
        "{name: edge_hidden, inputs: [{block_name: edge_pairs}], field_linear: {units: %lld, relu: "
        "true}}, {name: edge_kept, inputs: [{block_name: edge_hidden}], dropout: {dropout_ratio: "
        "%.9g}}, "
        "{name: edge, inputs: [{block_name: edge_kept}], field_linear: {units: 1}}, {name: gates, "
        "inputs: [{block_name: edge}], hard_concrete: {temperature: %.9g, low: %.9g, high: %.9g, "
        "penalty: %.9g, binary_log: %s}}, {name: node_pairs, inputs: [{feature_group_name: "
        "nodes}], "
        "pair_products: {self: true}}, {name: node_hidden, inputs: [{block_name: node_pairs}], "
        "field_linear: {units: %lld, relu: true}}, {name: messages, inputs: [{block_name: "
        "node_hidden}], field_linear: {units: %lld}}, {name: updated, inputs: [{block_name: "
        "messages}, {block_name: gates}], pair_mean: {self: true, both: %s}}, {name: small, "
        "inputs: "
        "[{block_name: updated}], penalty: {factor: %.9g}}, {name: mean, inputs: [{block_name: "
        "small}], mean: {fields: true}}, {name: scores, inputs: [{block_name: mean}], linear: "
        "{units: 2}}]}, losses: [{softmax_cross_entropy: {}}], metrics: [{auc: {}}, {accuracy: "
        "{}}], train_metrics: [{auc: {}, since_epoch: true}, {accuracy: {}, since_epoch: true}]}",
        names, names, dim, hidden, drop, gate[0], gate[1], gate[2], l0, compat ? "true" : "false",
        hidden, dim, compat ? "false" : "true", l2);
}
