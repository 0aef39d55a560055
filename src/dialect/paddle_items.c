/*
 * paddle_items.c - PaddleRec's ensfm (Chen et al., 2020: efficient non-sampling factorization
 * machines): a user's features, all items of the user, and a loss over all items at once.
 *
 * `crank run` makes a row for each user (src/tool/user_rows.c), and the file .items beside the rows
 * has the features of the items, which become a list in the config: so a checkpoint knows them, and
 * the items of an evaluation may be others. An evaluation leaves the items of train.csv out.
 */
#include <string.h>

#include "base/file.h"
#include "dialect/paddle_int.h"

#define MAX_FILE  (256 << 20)
#define MAX_PARTS 1000

/* What .items says: features of a user and of an item, the most items of a row, and the features of
 * all items with commas. */
typedef struct item_list {
    int64_t user, item, longest, count;
    const char *ids;
} item_list;

/* Reads a whole number and what separates it from the next one; false: there is none. */
static bool next_number(const char **s, int64_t *v) {
    size_t n = strcspn(*s, " \n");
    bool good = cr_parse_i64(*s, n, v);
    *s += n;
    if (**s) ++*s;
    return good;
}

/* Reads the list. Without the file there are no rows either, which is told there. */
static item_list read_items(cr_pd *p) {
    cr_paddle_rows r = cr_pd_rows(p, cr_pd_alone(p));
    item_list l = {1, 1, 1, 2, "0, 0"};
    cr_err err;
    cr_buf text, ids;
    const char *path = cr_path_join(&p->doc->arena, r.dir, ".items");
    cr_buf_init(&text);
    cr_buf_init(&ids);
    if (cr_path_exists(path) && cr_file_read(path, MAX_FILE, &text, &err) == CR_OK) {
        const char *s = text.data ? text.data : "";
        int64_t n = 0, id;
        item_list f = {0};
        bool good = next_number(&s, &f.user) && next_number(&s, &f.item) &&
                    next_number(&s, &f.longest) && f.user > 0 && f.user <= MAX_PARTS &&
                    f.item > 0 && f.item <= MAX_PARTS;
        for (; good && *s; n++) {
            good = next_number(&s, &id);
            cr_buf_printf(&ids, n ? ", %lld" : "%lld", (long long)id);
        }
        f.count = good ? n / f.item : 0;
        if (f.longest < 1) f.longest = 1;
        if (good && f.count > 1 && n % f.item == 0) {
            l = f;
            l.ids = cr_arena_strdup(&p->doc->arena, ids.data);
        } else {
            cr_pd_wrong(p, p->data_at, "the file '%s' is damaged; 'crank run -m' writes it anew",
                        path);
        }
    }
    cr_buf_clear(&text);
    cr_buf_clear(&ids);
    return l;
}

/* label;feature;...;feature;items of the user */
void cr_pd_users(cr_pd *p) {
    item_list l = read_items(p);
    cr_buf b;
    cr_buf_init(&b);
    p->apart = true; /* the numbers of the items belong to the folder of the rows */
    p->ids = CR_NEW_N(&p->doc->arena, const char *, l.user);
    p->n_ids = (int)l.user;
    for (int i = 0; i < p->n_ids; i++) {
        p->ids[i] = cr_arena_printf(&p->doc->arena, "user_%d", i + 1);
        cr_buf_printf(&b, "{input_name: %s, input_type: INT64}, ", p->ids[i]);
    }
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "slot_text: {form: LISTS, separator: \";\", list_separator: \" \"}, input_fields: "
              "[{input_name: label, input_type: INT64}, %s{input_name: items, input_type: "
              "ARRAY_FLOAT}]}",
              b.data);
    cr_buf_clear(&b);
}

void cr_pd_ensfm(cr_pd *p) {
    int64_t users = cr_pd_int(p, p->hyper, "num_users", CR_PD_REQUIRED, 1, CR_PD_MAX_ROWS);
    int64_t features = cr_pd_int(p, p->hyper, "num_items", CR_PD_REQUIRED, 1, 16777216);
    int64_t dim = cr_pd_int(p, p->hyper, "mf_dim", CR_PD_REQUIRED, 1, 65536);
    double weight = cr_pd_num(p, p->hyper, "negative_weight", 0.5, 0, 1);
    const char *init = cr_pd_cut_normal(p, 0.01), *names = cr_pd_id_names(p);
    item_list l = read_items(p);
    cr_buf metrics;
    cr_buf_init(&metrics);
    cr_buf_str(&metrics, "");
    for (int64_t k = 5; k <= 20 && k <= l.count; k *= 2)
        cr_buf_printf(&metrics, "%s{recall_at_k: {top_k: %lld}}", metrics.n ? ", " : "",
                      (long long)k);
    for (int i = 0; i < p->n_ids; i++)
        cr_pd_feature(p, p->data_at,
                      "id_feature: {feature_name: %s, num_buckets: %lld, embedding_dim: %lld, "
                      "embedding_name: user_feature_emb, init_fn: \"%s\"}",
                      p->ids[i], (long long)users, (long long)dim, init);
    cr_pd_feature(p, p->data_at,
                  "sequence_raw_feature: {feature_name: items, sequence_length: %lld}",
                  (long long)l.longest);
    cr_pd_put(p, p->model_at,
              "model_config: {feature_groups: [{group_name: user, feature_names: [%s]}, "
              "{group_name: weights, group_type: WIDE, feature_names: [%s]}, {group_name: items, "
              "group_type: SEQUENCE, feature_names: [items]}], num_class: %lld, backbone: "
              "{wide_embedding_dim: 1, wide_init_fn: \"%s\", blocks: [{name: scores, inputs: "
              "[{feature_group_name: user}, {feature_group_name: weights}, {feature_group_name: "
              "items}], all_items: {num_features: %lld, features_per_item: %lld, negative_weight: "
              "%.9g, items: [%s]}}]}, losses: [{softmax_cross_entropy: {}}], metrics: [%s]}",
              names, names, (long long)l.count, init, (long long)features, (long long)l.item,
              weight, l.ids, metrics.data);
    cr_buf_clear(&metrics);
}
