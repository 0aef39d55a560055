/*
 * example.c - see example.h. A model's example is its model_config over a few features; a feature's
 * example is its feature_config, below a small tower. A sequence type (sequence_id_feature) is the
 * plain type with the length and the delimiter of a sequence.
 *
 * tests/cli/cases/help_examples.sh makes data for every whole config and runs `crank check` on it;
 * it fails when a model or feature type of `crank help` has no row here.
 */
#include "cli/example.h"

#include <string.h>

#define HEAD                                                                                       \
    "train_config:\n"                                                                              \
    "  sparse_optimizer: {adagrad_optimizer: {lr: 0.02}, constant_learning_rate: {}}\n"            \
    "  dense_optimizer: {adam_optimizer: {lr: 0.002}, constant_learning_rate: {}}\n"               \
    "  num_epochs: 1\n"                                                                            \
    "data_config:\n"                                                                               \
    "  dataset_type: CsvDataset\n"                                                                 \
    "  with_header: true\n"                                                                        \
    "  batch_size: 256\n"                                                                          \
    "  fg_mode: FG_DAG\n"

/* ---- models ---- */

#define ID(name, side, rows)                                                                       \
    "  - id_feature: {feature_name: " name ", expression: \"" side ":" name                        \
    "\", hash_bucket_size: " rows ", embedding_dim: 8}\n"
#define IDS                                                                                        \
    ID("user_id", "user", "10000")                                                                 \
    ID("city", "user", "300") ID("item_id", "item", "10000") ID("shop", "item", "1000")
#define PRICE                                                                                      \
    "  - raw_feature: {feature_name: price, expression: \"item:price\", normalizer: "              \
    "\"method=log10\"}\n"
#define CLICKED                                                                                    \
    "  - sequence_feature:\n"                                                                      \
    "      sequence_name: clicked\n"                                                               \
    "      sequence_length: 20\n"                                                                  \
    "      sequence_delim: \";\"\n"                                                                \
    "      features:\n"                                                                            \
    "        - id_feature: {feature_name: item_id, expression: \"item:item_id\", "                 \
    "hash_bucket_size: 10000, embedding_dim: 8}\n"

#define ALL_NAMES "[user_id, city, item_id, shop, price]"
#define ALL       "  feature_groups:\n    - {group_name: all, feature_names: " ALL_NAMES "}\n"
#define WIDE_AND(more)                                                                             \
    "  feature_groups:\n"                                                                          \
    "    - {group_name: wide, group_type: WIDE, feature_names: [user_id, city, item_id, shop]}\n"  \
    "    - {group_name: deep, feature_names: " ALL_NAMES "}\n" more
#define FIELDS "    - {group_name: fm, feature_names: [user_id, city, item_id, shop]}\n"
#define DENSE_SPARSE                                                                               \
    "  feature_groups:\n"                                                                          \
    "    - {group_name: dense, feature_names: [price]}\n"                                          \
    "    - {group_name: sparse, feature_names: [user_id, city, item_id, shop]}\n"
#define TOWERS_IN                                                                                  \
    "  feature_groups:\n"                                                                          \
    "    - {group_name: user, feature_names: [user_id, city]}\n"                                   \
    "    - {group_name: item, feature_names: [item_id, shop, price]}\n"
#define ONE_TASK                                                                                   \
    "  losses: [{binary_cross_entropy: {}}]\n"                                                     \
    "  metrics: [{auc: {}}]\n"
#define TASK(name)                                                                                 \
    "      - tower_name: " name "\n"                                                               \
    "        label_name: " name "\n"                                                               \
    "        mlp: {hidden_units: [16]}\n"                                                          \
    "        losses: [{binary_cross_entropy: {}}]\n"                                               \
    "        metrics: [{auc: {}}]\n"
#define TASKS "    task_towers:\n" TASK("click") TASK("buy")

typedef struct model_row {
    const char *key;
    const char *labels, *features;
    const char *model; /* the lines below model_config */
} model_row;

static const model_row models[] = {
    {"autoint", "click", IDS,
     "  feature_groups:\n    - {group_name: all, feature_names: [user_id, city, item_id, shop]}\n"
     "  autoint:\n"
     "    attention_layers: [{num_heads: 2, head_dim: 8}, {num_heads: 2, head_dim: 8}]\n"
     "    deep: {hidden_units: [32, 16]}\n" ONE_TASK},
    {"backbone", "click", IDS PRICE,
     TOWERS_IN
     "  backbone:\n"
     "    blocks:\n"
     "      - {name: user, inputs: [{feature_group_name: user}], mlp: {hidden_units: [32, "
     "16]}}\n"
     "      - {name: item, inputs: [{feature_group_name: item}], mlp: {hidden_units: [32, "
     "16]}}\n"
     "      - {name: match, inputs: [{block_name: user}, {block_name: item}], multiply: "
     "{}}\n"
     "    concat_blocks: [user, item, match]\n"
     "    top_mlp: {hidden_units: [16]}\n" ONE_TASK},
    {"dbmtl", "click, buy", IDS PRICE,
     ALL "  dbmtl:\n"
         "    bottom_mlp: {hidden_units: [32]}\n" TASKS "        relation_tower_names: [click]\n"
         "        relation_mlp: {hidden_units: [8]}\n"},
    {"dcn_v1", "click", IDS PRICE,
     ALL "  dcn_v1:\n"
         "    cross: {cross_num: 3}\n"
         "    deep: {hidden_units: [32, 16]}\n"
         "    final: {hidden_units: [16]}\n" ONE_TASK},
    {"dcn_v2", "click", IDS PRICE,
     ALL "  dcn_v2:\n"
         "    cross: {cross_num: 3, low_rank: 16}\n"
         "    deep: {hidden_units: [32, 16]}\n"
         "    final: {hidden_units: [16]}\n" ONE_TASK},
    {"deepfm", "click", IDS PRICE,
     WIDE_AND(FIELDS) "  deepfm:\n"
                      "    deep: {hidden_units: [32, 16]}\n"
                      "    final: {hidden_units: [16]}\n" ONE_TASK},
    {"dlrm", "click", IDS PRICE,
     DENSE_SPARSE "  dlrm:\n"
                  "    dense_mlp: {hidden_units: [16, 8]} # ends with the width of the vectors\n"
                  "    final: {hidden_units: [32, 16]}\n" ONE_TASK},
    {"esmm", "click, buy", IDS PRICE,
     ALL "  esmm:\n"
         "    ctr_tower:\n"
         "      tower_name: click\n"
         "      label_name: click\n"
         "      mlp: {hidden_units: [16]}\n"
         "      losses: [{binary_cross_entropy: {}}]\n"
         "      metrics: [{auc: {}}]\n"
         "    cvr_tower: # buy is 1 only where click is 1\n"
         "      tower_name: buy\n"
         "      label_name: buy\n"
         "      mlp: {hidden_units: [16]}\n"
         "      losses: [{binary_cross_entropy: {}}]\n"
         "      metrics: [{auc: {}}]\n"},
    {"ffm", "click", IDS,
     "  feature_groups:\n    - {group_name: wide, group_type: WIDE, feature_names: [user_id, city, "
     "item_id, shop]}\n"
     "  ffm: {embedding_dim: 4}\n" ONE_TASK},
    {"fm", "click", IDS,
     "  feature_groups:\n    - {group_name: wide, group_type: WIDE, feature_names: [user_id, city, "
     "item_id, shop]}\n"
     "  fm: {embedding_dim: 8}\n" ONE_TASK},
    {"logistic_regression", "click", IDS PRICE,
     "  feature_groups:\n    - {group_name: wide, group_type: WIDE, feature_names: " ALL_NAMES "}\n"
     "  logistic_regression: {}\n" ONE_TASK},
    {"mask_net", "click", IDS PRICE,
     ALL "  mask_net:\n"
         "    mask_net_module:\n"
         "      n_mask_blocks: 3\n"
         "      mask_block: {reduction_ratio: 3, hidden_dim: 16}\n"
         "      top_mlp: {hidden_units: [16]}\n"
         "      use_parallel: true\n" ONE_TASK},
    {"mmoe", "click, buy", IDS PRICE,
     ALL "  mmoe:\n"
         "    num_expert: 3\n"
         "    expert_mlp: {hidden_units: [32, 16]}\n" TASKS},
    {"multi_tower", "click", IDS PRICE,
     TOWERS_IN "  multi_tower:\n"
               "    towers:\n"
               "      - {input: user, mlp: {hidden_units: [32, 16]}}\n"
               "      - {input: item, mlp: {hidden_units: [32, 16]}}\n"
               "    final: {hidden_units: [16]}\n" ONE_TASK},
    {"multi_tower_din", "click", IDS PRICE CLICKED,
     TOWERS_IN "    - {group_name: clicks, group_type: SEQUENCE, feature_names: [item_id, "
               "clicked__item_id]}\n"
               "  multi_tower_din:\n"
               "    towers:\n"
               "      - {input: user, mlp: {hidden_units: [32, 16]}}\n"
               "      - {input: item, mlp: {hidden_units: [32, 16]}}\n"
               "    din_towers:\n"
               "      - {input: clicks, attn_mlp: {hidden_units: [32, 16]}}\n"
               "    final: {hidden_units: [16]}\n" ONE_TASK},
    {"pepnet", "click, buy", IDS PRICE,
     ALL "    - {group_name: domain, feature_names: [shop]}\n"
         "    - {group_name: uia, feature_names: [user_id, city, item_id]}\n"
         "  pepnet:\n"
         "    epnet_hidden_unit: 16\n"
         "    ppnet_hidden_units: [32, 16]\n" TASKS},
    {"ple", "click, buy", IDS PRICE,
     ALL "  ple:\n"
         "    extraction_networks:\n"
         "      - network_name: first\n"
         "        expert_num_per_task: 2\n"
         "        share_num: 2\n"
         "        task_expert_net: {hidden_units: [32, 16]}\n"
         "        share_expert_net: {hidden_units: [32, 16]}\n" TASKS},
    {"plugin", "click", IDS PRICE,
     TOWERS_IN "  plugin:\n"
               "    library: libfaded.so # of examples/own_plugin\n"
               "    type: faded_towers\n" ONE_TASK},
    {"rocket_launching", "click", IDS PRICE,
     ALL "  rocket_launching:\n"
         "    booster_mlp: {hidden_units: [64, 32, 16]}\n"
         "    light_mlp: {hidden_units: [16, 8]}\n" ONE_TASK},
    {"simple_multi_task", "click, buy", IDS PRICE, ALL "  simple_multi_task:\n" TASKS},
    {"wide_and_deep", "click", IDS PRICE,
     WIDE_AND("") "  wide_and_deep:\n"
                  "    deep: {hidden_units: [32, 16]}\n" ONE_TASK},
    {"wukong", "click", IDS PRICE,
     DENSE_SPARSE "  wukong:\n"
                  "    dense_mlp: {hidden_units: [16, 8]}\n"
                  "    wukong_layers:\n"
                  "      - lcb_feature_num: 4\n"
                  "        fmb_feature_num: 4\n"
                  "        compressed_feature_num: 4\n"
                  "        feature_num_mlp: {hidden_units: [16]}\n"
                  "    final: {hidden_units: [16]}\n" ONE_TASK},
    {"xdeepfm", "click", IDS PRICE,
     WIDE_AND("") "  xdeepfm:\n"
                  "    cin: {cin_layer_size: [8, 8]}\n"
                  "    deep: {hidden_units: [32, 16]}\n"
                  "    final: {hidden_units: [16]}\n" ONE_TASK},
};

/* ---- features ---- */

typedef struct feature_row {
    const char *key;
    const char *lines; /* the keys of the feature, below feature_name */
} feature_row;

#define K(line)    "      " line "\n"
#define EMBEDDING  K("embedding_dim: 8")
#define BOUNDARIES K("boundaries: [1, 5, 20]") EMBEDDING
#define BUCKETS    K("hash_bucket_size: 1000") EMBEDDING

static const feature_row features[] = {
    {"id_feature", K("expression: \"item:brand\"") BUCKETS},
    {"raw_feature", K("expression: \"item:price\"") BOUNDARIES},
    {"combo_feature", K("expression: [\"user:city\", \"item:shop\"]") BUCKETS},
    {"lookup_feature", K("map: \"user:shop_clicks\"") K("key: \"item:shop\"") BOUNDARIES},
    {"match_feature", K("nested_map: \"user:city_shop_clicks\"") K("pkey: \"item:city\"")
                          K("skey: \"item:shop\"") BOUNDARIES},
    {"expr_feature", K("expression: \"sqrt(age) + log(1 + price)\"")
                         K("variables: [\"user:age\", \"item:price\"]") BOUNDARIES},
    {"overlap_feature",
     K("query: \"user:query\"") K("title: \"item:title\"") K("method: query_common_ratio")
         K("boundaries: [0.1, 0.5, 0.9]") EMBEDDING},
    {"kv_dot_product", K("query: \"user:tastes\"") K("document: \"item:topics\"") BOUNDARIES},
    {"bool_mask_feature", K("expression: [\"item:tags\", \"item:tag_is_new\"]") BUCKETS},
    {"combine_feature", K("expression: \"user:grades\"") K("value_map: {a: 1, b: 2, c: 5}")
                            K("combiner: sum") BOUNDARIES},
    {"custom_feature", K("operator_name: EditDistance")
                           K("operator_lib_file: pyfg/lib/libedit_distance.so # built in")
                               K("expression: [\"user:query\", \"item:title\"]") BOUNDARIES},
    {"tokenize_feature", K("expression: \"item:title\"")
                             K("vocab_file: tokenizer.json # as Hugging Face has them") EMBEDDING},
};
#define SEQUENCE "sequence_"

static const model_row *find_model(const char *key) {
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strcmp(models[i].key, key) == 0) return &models[i];
    return NULL;
}

static const feature_row *find_feature(const char *key) {
    for (size_t i = 0; i < sizeof features / sizeof *features; i++)
        if (strcmp(features[i].key, key) == 0) return &features[i];
    return NULL;
}

/* Writes the feature_configs that show a feature type; false: there is no such type. */
static bool feature_lines(cr_buf *out, const char *key) {
    if (strcmp(key, SEQUENCE "feature") == 0) {
        cr_buf_str(out, CLICKED);
        return true;
    }
    bool sequence = strncmp(key, SEQUENCE, strlen(SEQUENCE)) == 0;
    const feature_row *f = find_feature(sequence ? key + strlen(SEQUENCE) : key);
    if (!f) return false;
    cr_buf_printf(out, "  - %s:\n" K("feature_name: example") "%s", key, f->lines);
    if (sequence) cr_buf_str(out, K("sequence_length: 20") K("sequence_delim: \";\""));
    return true;
}

/* Writes a tower over the feature. */
static void feature_model(cr_buf *out, const char *key) {
    bool grouped = strcmp(key, SEQUENCE "feature") == 0;
    cr_buf_str(out, "model_config:\n  feature_groups:\n    - group_name: deep\n");
    if (strncmp(key, SEQUENCE, strlen(SEQUENCE)) == 0)
        cr_buf_printf(out,
                      K("sequence_groups: [{group_name: steps, feature_names: [%s]}]")
                          K("sequence_encoders: [{pooling_encoder: {input: steps}}]"),
                      grouped ? "clicked__item_id" : "example");
    else
        cr_buf_str(out, K("feature_names: [example]"));
    cr_buf_str(out, "  multi_tower:\n    towers: [{input: deep, mlp: {hidden_units: [16, "
                    "8]}}]\n" ONE_TASK);
}

/* Writes the lines of a text, each behind the indent. */
static void indented(cr_buf *out, const char *text, const char *indent) {
    while (*text) {
        size_t n = strcspn(text, "\n") + 1;
        cr_buf_str(out, indent);
        cr_buf_add(out, text, n);
        text += n;
    }
}

bool cr_example_part(cr_buf *out, const char *key, const char *indent) {
    cr_buf text;
    cr_buf_init(&text);
    const model_row *m = find_model(key);
    bool known = true;
    if (m) {
        cr_buf_printf(&text, "model_config:\n%s", m->model);
    } else {
        cr_buf_str(&text, "feature_configs:\n");
        known = feature_lines(&text, key);
    }
    if (known) indented(out, text.data, indent);
    cr_buf_clear(&text);
    return known;
}

bool cr_example_whole(cr_buf *out, const char *key) {
    const model_row *m = find_model(key);
    cr_buf lines;
    cr_buf_init(&lines);
    bool known = m || feature_lines(&lines, key);
    if (known)
        cr_buf_printf(out,
                      "# %s. Save this as example.yaml; then\n"
                      "#   crank synth --for example.yaml -o data && crank train "
                      "data/pipeline.yaml\n" HEAD "  label_fields: [%s]\nfeature_configs:\n%s",
                      key, m ? m->labels : "click", m ? m->features : lines.data);
    if (m)
        cr_buf_printf(out, "model_config:\n%s", m->model);
    else if (known)
        feature_model(out, key);
    cr_buf_clear(&lines);
    return known;
}
