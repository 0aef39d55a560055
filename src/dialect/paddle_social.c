/*
 * paddle_social.c - PaddleRec's mhcn (Yu et al., 2021: self-supervised multi-channel hypergraph
 * convolution): ratings and relations of users as a graph of all of them.
 *
 * `crank run` makes the rows (src/tool/social_rows.c); the file .graph beside them has the pairs of
 * the graph, which become lists in the config, so that a checkpoint knows them. The lines of an
 * evaluation are those of the model's own infer.py.
 *
 * Two things differ from the code as shipped: a pair that stands twice counts once, and items that
 * the user has are left out of an evaluation, where the code gives them the score 0.
 */
#include <string.h>

#include "base/file.h"
#include "dialect/paddle_int.h"

#define MAX_FILE ((size_t)1 << 30)
#define DECAY    0.001 /* PaddleRec's code has it for all parameters */

/* What .graph says. */
typedef struct graph_file {
    long long users, items, longest;
    const char *rated, *trusts; /* numbers with commas */
} graph_file;

/* Cuts the next line off; it has digits and these other characters only. NULL: it has not. */
static char *next_line(char **s, const char *others) {
    char *line = *s, *end = strchr(line, '\n');
    if (!end) return NULL;
    *end = 0;
    *s = end + 1;
    for (const char *c = line; *c; c++)
        if ((*c < '0' || *c > '9') && !strchr(others, *c)) return NULL;
    return line;
}

static bool split(cr_pd *p, char *text, graph_file *f) {
    int64_t v[3] = {0};
    char *head = next_line(&text, " ");
    char *rated = head ? next_line(&text, ", ") : NULL,
         *trusts = rated ? next_line(&text, ", ") : 0;
    for (int i = 0; trusts && i < 3; i++) {
        size_t n = strcspn(head, " ");
        if (!cr_parse_i64(head, n, &v[i])) return false;
        head += head[n] ? n + 1 : n;
    }
    if (!trusts || v[0] < 1 || v[1] < 2 || v[2] < 1) return false;
    *f = (graph_file){v[0], v[1], v[2], cr_arena_strdup(&p->doc->arena, rated),
                      cr_arena_strdup(&p->doc->arena, trusts)};
    return true;
}

/* Reads the graph. Without the file there are no rows either, which is told there. */
static graph_file read_graph(cr_pd *p) {
    cr_paddle_rows r = cr_pd_rows(p, cr_pd_alone(p));
    graph_file f = {1, 2, 1, "0, 0, 0, 1", ""};
    cr_err err;
    cr_buf text;
    if (!r.dir) return f; /* without the keys of mhcn nothing says where its rows are */
    const char *path = cr_path_join(&p->doc->arena, r.dir, ".graph");
    cr_buf_init(&text);
    if (cr_path_exists(path) && (cr_file_read(path, MAX_FILE, &text, &err) != CR_OK || !text.data ||
                                 !split(p, text.data, &f)))
        cr_pd_wrong(p, p->data_at, "the file '%s' is damaged; 'crank run -m' writes it anew", path);
    cr_buf_clear(&text);
    return f;
}

/* item;user;items */
void cr_pd_social(cr_pd *p) {
    p->apart = true; /* the items of a row belong to the folder of the rows */
    p->sessions = p->o->part == CR_DIALECT_INFER; /* an evaluation is about all users */
    cr_pd_idle(p, p->runner, "is_train");
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "slot_text: {form: LISTS, separator: \";\", list_separator: \" \", made: [{name: "
              "item, copy_of: label}, {name: who, copy_of: user}]}, input_fields: [{input_name: "
              "label, input_type: INT64}, {input_name: user, input_type: INT64}, {input_name: "
              "items, input_type: ARRAY_FLOAT}, {input_name: item, input_type: INT64}, "
              "{input_name: who, input_type: INT64}]}");
}

void cr_pd_mhcn(cr_pd *p) {
    int64_t layers = cr_pd_int(p, p->hyper, "n_layer", CR_PD_REQUIRED, 1, 64);
    int64_t dim = cr_pd_int(p, p->hyper, "num_factors", CR_PD_REQUIRED, 1, 65536);
    long long top = (long long)cr_pd_int(p, p->runner, "top_k", 10, 1, 1000000);
    graph_file f = read_graph(p);
    static const char *const measures[] = {"PRECISION", "RECALL", "F1", "NDCG"};
    cr_buf metrics;
    cr_buf_init(&metrics);
    for (int i = 0; i < 4; i++)
        cr_buf_printf(&metrics, "%s{group_at_k: {grouping_key: who, top_k: %lld, measure: %s}}",
                      i ? ", " : "", top, measures[i]);
    cr_pd_feature(p, p->data_at, "raw_feature: {feature_name: user}");
    cr_pd_feature(p, p->data_at, "raw_feature: {feature_name: item}");
    cr_pd_feature(p, p->data_at,
                  "id_feature: {feature_name: who, num_buckets: 2000000000, embedding_dim: 1}");
    cr_pd_feature(p, p->data_at,
                  "sequence_raw_feature: {feature_name: items, sequence_length: %lld}", f.longest);
    const char *name = cr_pd_str(p, p->optimizer, "class", false);
    if (!name || strcmp(name, "Adam") == 0 || strcmp(name, "adam") == 0 || p->o->compat)
        cr_pd_put(p, cr_pd_at(p, p->optimizer, "class"),
                  "train_config: {dense_optimizer: {adam_optimizer: {weight_decay: %.9g}}}", DECAY);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: user, feature_names: [user]}, "
              "{group_name: item, feature_names: [item]}, {group_name: items, group_type: "
              "SEQUENCE, feature_names: [items]}], num_class: %lld, backbone: {blocks: [{name: "
              "scores, inputs: [{feature_group_name: user}, {feature_group_name: item}, "
              "{feature_group_name: items}], social_graph: {num_users: %lld, num_items: %lld, dim: "
              "%lld, num_layers: %lld, rated: [%s], trusts: [%s]}}]}, losses: "
              "[{softmax_cross_entropy: {}}], metrics: [%s]}",
              f.items, f.users, f.items, (long long)dim, (long long)layers, f.rated, f.trusts,
              metrics.data);
    cr_buf_clear(&metrics);
}
