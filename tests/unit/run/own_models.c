/*
 * own_models.c - models of the user's own: a graph of blocks with every layer there is, over rows
 * and over sequences, gives the same bytes for any number of threads, through a pause and through
 * an export; so do models and layers from a shared library. Also: each mistake in such configs.
 * That blocks compute what the built-in models do is golden.c's; that they learn is models.c's and
 * tasks.c's.
 */
#include "model/blocks_int.h"
#include "tool/tool.h"
#include "unit/run/run_test.h"

#define TRAIN_ROWS 2400
#define EVAL_ROWS  300

#define IN_G(name)       "{feature_group_name: " name "}"
#define IN(name)         "{block_name: " name "}"
#define BLOCK(name, ...) "{name: " name ", inputs: [" __VA_ARGS__ "}"
#define ROWS             "{group_name: rows, feature_names: [user, item, cate, tags]}"
#define NUMBERS          "{group_name: numbers, feature_names: [price, age]}"
#define SEQ              "{group_name: seq, group_type: SEQUENCE, feature_names: [item, clicks__item]}"
#define ENDS             ", losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]"
#define GRAPH(groups, more, blocks)                                                                \
    "model_config={feature_groups: [" groups "], backbone: {" more "blocks: [" blocks "]}" ENDS "}"

#define TOWER(name, more)                                                                          \
    "{tower_name: " name ", label_name: label, losses: [{binary_cross_entropy: {}}]" more "}"
#define USER_ITEM                                                                                  \
    "{group_name: user, feature_names: [user, tags]}, {group_name: item, feature_names: [item, "   \
    "cate, price]}"
/* @ is where the libraries lie */
#define PLUGIN(groups, library, type, more)                                                        \
    "model_config={feature_groups: [" groups "], plugin: {library: '@/lib" library                 \
    ".so', type: " type more "}" ENDS "}"

static const char config_text[] =
    "train_input_path: %s/train.csv\n"
    "eval_input_path: %s/eval.csv\n"
    "model_dir: unused\n"
    "train_config:\n"
    "  sparse_optimizer: {adagrad_optimizer: {lr: 0.05}, constant_learning_rate: {}}\n"
    "  dense_optimizer: {adam_optimizer: {lr: 0.005}, constant_learning_rate: {}}\n"
    "  num_epochs: 1\n"
    "data_config: {dataset_type: CsvDataset, batch_size: 100, fg_mode: FG_NORMAL, with_header: "
    "true, label_fields: [label]}\n"
    "feature_configs:\n"
    "  - id_feature: {feature_name: user, expression: 'user:user', num_buckets: 40, "
    "embedding_dim: 8}\n"
    "  - id_feature: {feature_name: item, expression: 'item:item', num_buckets: 30, "
    "embedding_name: item_emb, embedding_dim: 8}\n"
    "  - id_feature: {feature_name: cate, expression: 'item:cate', num_buckets: 5, embedding_dim: "
    "8}\n"
    "  - id_feature: {feature_name: tags, expression: 'user:tags', separator: '|', num_buckets: 9, "
    "embedding_dim: 8}\n"
    "  - raw_feature: {feature_name: price, expression: 'item:price'}\n"
    "  - raw_feature: {feature_name: age, expression: 'user:age'}\n"
    "  - sequence_feature:\n"
    "      sequence_name: clicks\n"
    "      sequence_length: 50\n"
    "      features:\n"
    "      - id_feature: {feature_name: item, expression: 'item:item', num_buckets: 30, "
    "embedding_name: item_emb, embedding_dim: 8}\n"
    "      - raw_feature: {feature_name: place, expression: 'item:item'}\n"
    "model_config:\n"
    "  feature_groups: [{group_name: rows, feature_names: [user]}]\n"
    "  fm: {}\n"
    "  losses: [{binary_cross_entropy: {}}]\n";

static void write_data(void) {
    uint64_t s = 7;
    for (int f = 0; f < 2; f++) {
        cr_buf b;
        cr_buf_init(&b);
        cr_buf_printf(&b, "label,user,item,cate,tags,price,age,clicks__item\n");
        for (int i = 0; i < (f ? EVAL_ROWS : TRAIN_ROWS); i++) {
            int r[12];
            for (int k = 0; k < 12; k++) {
                s = s * 6364136223846793005u + 1442695040888963407u;
                r[k] = (int)(s >> 40);
            }
            int user = r[0] % 40, item = r[1] % 30, n = r[2] % 4;
            int y = (user * 7 + item * 5) % 11 < 4 ? r[3] % 8 != 0 : r[3] % 8 == 0;
            cr_buf_printf(&b, "%d,%d,%d,%d,%d|%d,%.2f,%.2f,", y, user, item, item % 5, r[4] % 9,
                          r[5] % 9, (double)(r[6] % 100) / 100, (double)(r[7] % 100) / 100);
            for (int k = 0; k < n; k++)
                cr_buf_printf(&b, "%s%d", k ? ";" : "", r[8 + k] % 30);
            cr_buf_printf(&b, "\n");
        }
        CHECK_INT(cr_file_write(in_root(f ? "eval.csv" : "train.csv"), b.data, b.n, NULL), 0);
        cr_buf_clear(&b);
    }
    char text[8192];
    int n = snprintf(text, sizeof(text), config_text, root, root);
    CHECK(n > 0 && (size_t)n < sizeof(text));
    CHECK_INT(cr_file_write(in_root("config.yaml"), text, (size_t)n, NULL), 0);
}

static const struct a_graph {
    const char *name, *config;
} graphs[] = {
    {"rows", "model_config={feature_groups: ["
             "{group_name: rows, feature_names: [user, item, cate, tags]}, "
             "{group_name: numbers, feature_names: [price, age]}], "
             "backbone: {concat_blocks: [both, m, one, m3, en], top_mlp: {hidden_units: [8]}, "
             "blocks: ["
             "{name: top, inputs: [{block_name: deep}, {block_name: cin}, {block_name: cross}, "
             "{block_name: old}], mlp: {hidden_units: [16, 8]}}, " /* before what it reads */
             "{name: deep, inputs: [{feature_group_name: rows}], mlp: {hidden_units: [16, 8], "
             "dropout_ratio: [0.1]}}, "
             "{name: number, inputs: [{feature_group_name: numbers}], linear: {units: 8}}, "
             "{name: en, inputs: [{block_name: number}], ensemble: {members: 3, "
             "hidden_units: [4], dropout_ratio: [0.1]}}, "
             "{name: cin, inputs: [{feature_group_name: rows}, {block_name: number}], "
             "cin: {cin_layer_size: [4, 4]}}, "
             "{name: cross, inputs: [{feature_group_name: rows}], cross_v2: {cross_num: 2, "
             "low_rank: 4}}, "
             "{name: old, inputs: [{feature_group_name: rows}], cross: {cross_num: 2}}, "
             "{name: fm, inputs: [{feature_group_name: rows}, {block_name: number}], fm: {}}, "
             "{name: dot, inputs: [{feature_group_name: rows}], dot_interaction: {}}, "
             "{name: wk, inputs: [{feature_group_name: rows}], wukong_layer: {lcb_feature_num: 2, "
             "fmb_feature_num: 2, compressed_feature_num: 2, "
             "feature_num_mlp: {hidden_units: [8]}}}, "
             "{name: att, inputs: [{block_name: wk}, {block_name: fm}], "
             "autoint_layer: {num_heads: 2, head_dim: 4}}, "
             "{name: se, inputs: [{block_name: att}], senet: {reduction_ratio: 2}}, "
             "{name: gate, inputs: [{block_name: se}, {block_name: dot}], gate_nu: {}}, "
             "{name: m, inputs: [{block_name: gate}], mean: {}}, "
             "{name: mf, inputs: [{block_name: se}], mean: {fields: true}}, "
             "{name: bn, inputs: [{block_name: dot}], batch_norm: {}}, "
             "{name: soft, inputs: [{block_name: bn}], softmax: {}}, "
             "{name: one, inputs: [{block_name: soft}, {block_name: bn}], sum: {}}, "
             "{name: mn, inputs: [{feature_group_name: rows}], mask_net: {n_mask_blocks: 2, "
             "mask_block: {reduction_ratio: 0.5, hidden_dim: 8}}}, "
             "{name: mb, inputs: [{feature_group_name: rows}, {block_name: mn}], "
             "mask_block: {reduction_ratio: 0.5, hidden_dim: 8}}, "
             "{name: ln, inputs: [{block_name: mb}, {block_name: mf}], "
             "layer_norm: {fields: true}}, "
             "{name: act, inputs: [{block_name: ln}], activation: {function: Dice}}, "
             "{name: dr, inputs: [{block_name: act}], dropout: {}}, "
             "{name: half, inputs: [{block_name: dr}], slice: {begin: 8, width: 8}}, "
             "{name: res, inputs: [{block_name: half}], residual: {mlp: {hidden_units: [4, 8]}}}, "
             "{name: still, inputs: [{block_name: top}], stop_gradient: {}}, "
             "{name: mul, inputs: [{block_name: res}, {block_name: still}], multiply: {}}, "
             "{name: sq, inputs: [{block_name: mul}, {block_name: mul}], multiply: {}}, "
             "{name: add, inputs: [{block_name: one}, {block_name: mul}, {block_name: top}, "
             "{block_name: sq}], add: {}}, "
             "{name: mo, inputs: [{block_name: add}], mmoe: {num_task: 2, num_expert: 3, "
             "expert_mlp: {hidden_units: [4]}}}, "
             "{name: as, inputs: [{block_name: mo}], fields: {dim: 4}}, "
             "{name: last, inputs: [{block_name: mo, output: 1}, {block_name: as}], "
             "sum: {fields: true}}, "
             "{name: both, inputs: [{block_name: last}, {block_name: mo}]}, " /* no layer */
             "{name: all, inputs: [{block_name: both}, {block_name: top}], concat: {}}, "
             "{name: m2, inputs: [{block_name: all}], linear: {units: 4}}, "
             "{name: m3, inputs: [{block_name: m2}, {block_name: m2}], dot_interaction: {}}]}, "
             "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"},
    {"sequence",
     "model_config={feature_groups: ["
     "{group_name: rows, feature_names: [user, item, cate, tags]}, "
     "{group_name: seq, group_type: SEQUENCE, feature_names: [item, clicks__item]}], "
     "backbone: {blocks: ["
     "{name: din, inputs: [{feature_group_name: seq}], "
     "din: {attn_mlp: {hidden_units: [8], use_bn: true}}}, "
     "{name: each, inputs: [{feature_group_name: seq}], mlp: {hidden_units: [8], "
     "use_ln: true}}, "
     "{name: gone, inputs: [{block_name: each}], dropout: {dropout_ratio: 0.2}}, "
     "{name: sa, inputs: [{block_name: gone}], simple_attention: {}}, "
     "{name: target, inputs: [{feature_group_name: rows}], linear: {units: 8}}, "
     "{name: sb, inputs: [{block_name: each}, {block_name: target}], "
     "simple_attention: {}}, "
     "{name: bn, inputs: [{block_name: each}], batch_norm: {affine: false}}, "
     "{name: sum, inputs: [{block_name: each}, {block_name: bn}], add: {}}, "
     "{name: pool, inputs: [{block_name: sum}], pooling: {pooling_type: sum}}, "
     "{name: few, inputs: [{feature_group_name: seq, max_seq_length: 2}], pooling: {}}, "
     "{name: qy, inputs: [{feature_group_name: seq}], query: {}}, "
     "{name: st, inputs: [{block_name: each}, {block_name: sum}], step_attention: {}}, "
     "{name: sp, inputs: [{block_name: st}], pooling: {}}, "
     "{name: l1, inputs: [{block_name: target}], linear: {units: 1}}, "
     "{name: l2, inputs: [{block_name: target}], linear: {units: 1}}, "
     "{name: bo, inputs: [{block_name: l1}, {block_name: l2}], both: {}}, "
     "{name: spr, inputs: [{block_name: each}, {block_name: target}], spread: {}}, "
     "{name: spp, inputs: [{block_name: spr}], pooling: {}}, "
     "{name: ws, inputs: [{block_name: each}, {block_name: sum}], weigh_steps: {leave_out: 1}}, "
     "{name: nk, inputs: [{block_name: l1}], activation: {function: nn.Sigmoid}}, "
     "{name: nx, inputs: [{block_name: target}, {block_name: nk}, {block_name: target}, "
     "{block_name: nk}], next_item: {num_items: 3}}, "
     "{name: deep, inputs: [{feature_group_name: rows}], mlp: {hidden_units: [8]}}, "
     "{name: self, inputs: [{block_name: each}], self_attention: {multihead_attn_dim: 8, "
     "num_heads: 2}}, "
     "{name: win, inputs: [{feature_group_name: seq, max_seq_length: 3}], "
     "multi_window_din: {attn_mlp: {hidden_units: [4]}, windows_len: [1, 2]}}, "
     "{name: top, inputs: [{block_name: din}, {block_name: sa}, {block_name: sb}, "
     "{block_name: qy}, {block_name: sp}, {block_name: bo}, {block_name: spp}, {block_name: ws}, "
     "{block_name: nx}, "
     "{block_name: pool}, {block_name: few}, {block_name: self}, {block_name: win}, "
     "{block_name: deep}], mlp: {hidden_units: [8]}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"},
    {"steps",
     "model_config={feature_groups: ["
     "{group_name: rows, feature_names: [user, item, cate, tags]}, "
     "{group_name: seq, group_type: SEQUENCE, feature_names: [item, clicks__item]}], "
     "backbone: {blocks: ["
     "{name: gru, inputs: [{feature_group_name: seq}], gru: {hidden_size: 6, output: STEPS}}, "
     "{name: last, inputs: [{block_name: gru}], pooling: {pooling_type: last}}, "
     "{name: other, inputs: [{feature_group_name: seq}], linear: {units: 8}}, "
     "{name: evolved, inputs: [{feature_group_name: seq}, {block_name: other}], "
     "dien: {attn_mlp: {hidden_units: [4]}}}, "
     "{name: bst, inputs: [{feature_group_name: seq}], transformer: {num_heads: 2, "
     "num_layers: 2, ff_units: 6, dropout: 0.1}}, "
     "{name: conv, inputs: [{feature_group_name: seq}], seq_conv: {filters: 5}}, "
     "{name: most, inputs: [{block_name: conv}], pooling: {pooling_type: max}}, "
     "{name: interests, inputs: [{feature_group_name: seq}], capsules: {num_interests: 3, "
     "max_seq_length: 3}}, "
     "{name: target, inputs: [{feature_group_name: rows}], linear: {units: 8}}, "
     "{name: mine, inputs: [{block_name: interests}, {block_name: target}], "
     "label_attention: {power: 2}}, "
     "{name: flat, inputs: [{feature_group_name: seq}], unroll: {steps: 3}}, "
     "{name: again, inputs: [{feature_group_name: rows}], weights_of: target}, "
     "{name: near, inputs: [{block_name: target}, {block_name: flat}], similarity: {}}, "
     "{name: cos, inputs: [{block_name: target}, {block_name: again}, {block_name: mine}], "
     "similarity: {kind: COSINE, scale: 2}}, "
     "{name: top, inputs: [{block_name: last}, {block_name: evolved}, {block_name: bst}, "
     "{block_name: most}, {block_name: near}, {block_name: cos}], mlp: {hidden_units: [8]}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"},
    {"chosen",
     "model_config={feature_groups: ["
     "{group_name: rows, feature_names: [user, item]}, "
     "{group_name: numbers, feature_names: [price]}, "
     "{group_name: ages, group_type: SEQUENCE, feature_names: [clicks__place]}], "
     "backbone: {blocks: ["
     "{name: scores, inputs: [{feature_group_name: ages}], session_graph: {num_items: 30, "
     "hidden_size: 4, num_steps: 2}}, "
     "{name: a, inputs: [{feature_group_name: rows}], linear: {units: 4}}, "
     "{name: b, inputs: [{feature_group_name: rows}], mlp: {hidden_units: [4]}}, "
     "{name: one, inputs: [{feature_group_name: numbers}, {block_name: a}, {block_name: b}], "
     "pick: {}}, "
     "{name: top, inputs: [{block_name: scores}, {block_name: one}], mlp: {hidden_units: [8]}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"},
    {"pairs",
     "model_config={feature_groups: ["
     "{group_name: rows, feature_names: [user, item, cate, tags]}], "
     "backbone: {blocks: ["
     "{name: afm, inputs: [{feature_group_name: rows}], pair_attention: {attention_units: 4}}, "
     "{name: bi, inputs: [{feature_group_name: rows}], bilinear: {}}, "
     "{name: each, inputs: [{feature_group_name: rows}], bilinear: {kind: EACH}}, "
     "{name: pair, inputs: [{feature_group_name: rows}], bilinear: {kind: INTERACTION}}, "
     "{name: mixed, inputs: [{block_name: bi}, {block_name: each}, {block_name: pair}], "
     "mix_fields: {units: 2}}, "
     "{name: each2, inputs: [{block_name: mixed}], field_linear: {units: 4, relu: true}}, "
     "{name: less, inputs: [{block_name: each2}, {block_name: each2}], add: {weights: [1, -2]}}, "
     "{name: both, inputs: [{feature_group_name: rows}], bilinear: {kind: INTERACTION, symmetric: "
     "true}}, "
     "{name: scaled, inputs: [{block_name: both}], scale: {bias: true}}, "
     "{name: small, inputs: [{block_name: scaled}], penalty: {factor: 0.01}}, "
     "{name: dots, inputs: [{block_name: small}], sum: {each: true}}, "
     "{name: weighed, inputs: [{block_name: both}, {block_name: dots}], multiply: {}}, "
     "{name: most, inputs: [{feature_group_name: rows}], senet: {squeeze: MAX, bias: true}}, "
     "{name: aware, inputs: [{block_name: most}], aware_pairs: {}}, "
     "{name: inner, inputs: [{feature_group_name: rows}], product: {units: 3}}, "
     "{name: outer, inputs: [{feature_group_name: rows}], product: {units: 3, kind: OUTER}}, "
     "{name: grown, inputs: [{feature_group_name: rows}], conv: {filters: 2, kernel_height: 3, "
     "kernel_width: 1, padding: SAME, activation: nn.Tanh, pool_height: 2}}, "
     "{name: at, inputs: [{feature_group_name: rows}], place_vectors: {dim: 2}}, "
     "{name: see, inputs: [{block_name: at}], field_transformer: {num_heads: 2, num_layers: 2, "
     "dropout_ratio: 0.1}}, "
     "{name: on, inputs: [{block_name: see}], place_vectors: {}}, "
     "{name: row, inputs: [{block_name: on}], field_transformer: {ff_units: 3, norm: ROW}}, "
     "{name: top, inputs: [{block_name: afm}, {block_name: less}, {block_name: inner}, "
     "{block_name: row}, {block_name: outer}, {block_name: grown}, {block_name: weighed}, "
     "{block_name: aware}], mlp: "
     "{hidden_units: [8]}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"},
    /* a graph of the fields, whose pairs have gates */
    {"pair_graph",
     "model_config={feature_groups: ["
     "{group_name: rows, feature_names: [user, item, cate, tags]}], "
     "backbone: {blocks: ["
     "{name: p, inputs: [{feature_group_name: rows}], pair_products: {}}, "
     "{name: hidden, inputs: [{block_name: p}], field_linear: {units: 4, relu: true}}, "
     "{name: edge, inputs: [{block_name: hidden}], field_linear: {units: 1}}, "
     "{name: gates, inputs: [{block_name: edge}], hard_concrete: {penalty: 0.01}}, "
     "{name: still, inputs: [{block_name: edge}], hard_concrete: {noise: false, binary_log: "
     "true}}, "
     "{name: nodes, inputs: [{block_name: p}, {block_name: gates}], pair_mean: {}}, "
     "{name: second, inputs: [{block_name: hidden}, {block_name: still}], pair_mean: {both: "
     "false}}, "
     "{name: again, inputs: [{block_name: second}], pair_products: {self: true}}, "
     "{name: top, inputs: [{block_name: nodes}, {block_name: again}], mlp: {hidden_units: [8]}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"},
    /* candidates beside clicked articles, with dropout */
    {"knowledge_match",
     "model_config={feature_groups: [{group_name: rows, feature_names: [user, item, cate, tags]}], "
     "num_class: 2, backbone: {blocks: ["
     "{name: words, inputs: [{feature_group_name: rows}], linear: {units: 16}}, "
     "{name: w, inputs: [{block_name: words}], fields: {dim: 2}}, "
     "{name: near, inputs: [{feature_group_name: rows}], linear: {units: 32}}, "
     "{name: n, inputs: [{block_name: near}], fields: {dim: 2}}, "
     "{name: scores, inputs: [{block_name: w}, {block_name: w}, {block_name: n}], "
     "knowledge_match: {candidates: 2, words: 2, entities: 2, units: 6, num_heads: 2, "
     "attention_units: 3, entity_heads: 1}}]}, "
     "losses: [{softmax_cross_entropy: {}}], metrics: [{accuracy: {}}]}"},
    /* vectors from a graph of all users and items, with drawn items and shuffles */
    {"social_graph",
     "model_config={feature_groups: ["
     "{group_name: rows, feature_names: [user, item, cate, tags]}, "
     "{group_name: ages, group_type: SEQUENCE, feature_names: [clicks__place]}], num_class: 4, "
     "backbone: {blocks: ["
     "{name: user, inputs: [{feature_group_name: rows}], linear: {units: 1}}, "
     "{name: scores, inputs: [{block_name: user}, {block_name: user}, {feature_group_name: ages}], "
     "social_graph: {num_users: 3, num_items: 4, dim: 5, num_layers: 1, rated: [0, 0, 1, 2, 2, 3, "
     "1, 0], trusts: [0, 1, 1, 2, 2, 0]}}]}, losses: [{softmax_cross_entropy: {}}], metrics: "
     "[{group_at_k: {grouping_key: user, top_k: 2}}]}"},
    /* scores of all items, with a loss of the block's own */
    {"all_items",
     "model_config={feature_groups: ["
     "{group_name: rows, feature_names: [user, item, cate, tags]}, "
     "{group_name: ages, group_type: SEQUENCE, feature_names: [clicks__place]}], num_class: 4, "
     "backbone: {blocks: ["
     "{name: weights, inputs: [{feature_group_name: rows}], linear: {units: 1}}, "
     "{name: scores, inputs: [{feature_group_name: rows}, {block_name: weights}, "
     "{feature_group_name: ages}], all_items: {num_features: 5, features_per_item: 2, "
     "negative_weight: 0.2, items: [0, 1, 2, 3, 0, 3, 1, 4]}}]}, "
     "losses: [{softmax_cross_entropy: {}}], metrics: [{recall_at_k: {top_k: 2}}]}"},
    /* vectors in groups of two */
    {"groups",
     "model_config={feature_groups: ["
     "{group_name: rows, feature_names: [user, item, cate, tags]}], "
     "backbone: {blocks: ["
     "{name: conv, inputs: [{feature_group_name: rows}], group_conv: {vectors: 2, filters: 4}}, "
     "{name: turns, inputs: [{block_name: conv}, {block_name: conv}], interleave: {}}, "
     "{name: fast, inputs: [{block_name: turns}], fastformer: {vectors: 4, num_heads: 2, "
     "num_layers: 2, ff_units: 6, dropout_ratio: 0.1}}, "
     "{name: pooled, inputs: [{block_name: conv}], group_attention: {vectors: 2, units: 3}}, "
     "{name: some, inputs: [{block_name: pooled}], choose: {columns: [5, 0, 2]}}, "
     "{name: top, inputs: [{block_name: fast}, {block_name: some}], mlp: {hidden_units: [8]}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"},
    /* the times between steps; the loss of a block */
    {"intervals",
     "model_config={feature_groups: ["
     "{group_name: seq, group_type: SEQUENCE, feature_names: [clicks__item, clicks__place]}], "
     "backbone: {blocks: ["
     "{name: item, inputs: [{feature_group_name: seq}], slice: {begin: 0, width: 8}}, "
     "{name: place, inputs: [{feature_group_name: seq}], slice: {begin: 8, width: 1}}, "
     "{name: states, inputs: [{block_name: item}, {block_name: place}, {block_name: place}], "
     "interval_transformer: {num_heads: 2, num_layers: 2, max_seq_length: 9, time_span: 4, "
     "dropout: 0.1}}, "
     "{name: last, inputs: [{block_name: states}, {block_name: item}, {block_name: states}], "
     "step_pairs: {}}, "
     "{name: score, inputs: [{block_name: last}], sum: {}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"},
    /* gates that choose few experts, for all rows and row by row */
    {"few_experts",
     "model_config={feature_groups: ["
     "{group_name: rows, feature_names: [user, item, cate, tags]}], "
     "backbone: {blocks: ["
     "{name: a, inputs: [{feature_group_name: rows}], mlp: {hidden_units: [5]}}, "
     "{name: b, inputs: [{feature_group_name: rows}], mlp: {hidden_units: [5]}}, "
     "{name: c, inputs: [{feature_group_name: rows}], mlp: {hidden_units: [5]}}, "
     "{name: all, inputs: [{block_name: a}, {block_name: b}, {block_name: c}], dselect_k: "
     "{entropy_weight: 0.01}}, "
     "{name: each, inputs: [{block_name: a}, {block_name: b}, {block_name: c}, "
     "{feature_group_name: rows}], dselect_k: {by_row: true, num_selected: 1, gamma: 2}}, "
     "{name: score, inputs: [{block_name: all}, {block_name: each}], linear: {units: 1}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"},
    /* sessions, told apart by the places of steps, and memory over them */
    {"sessions",
     "model_config={feature_groups: ["
     "{group_name: seq, group_type: SEQUENCE, feature_names: [clicks__item, clicks__place]}], "
     "backbone: {blocks: ["
     "{name: item, inputs: [{feature_group_name: seq}], slice: {begin: 0, width: 8}}, "
     "{name: place, inputs: [{feature_group_name: seq}], slice: {begin: 8, width: 1}}, "
     "{name: bias, inputs: [{block_name: item}, {block_name: place}, {block_name: place}, "
     "{block_name: place}], session_interests: {num_heads: 2, dropout: 0.1}}, "
     "{name: waves, inputs: [{block_name: bias}, {block_name: place}, {block_name: place}, "
     "{block_name: place}], session_interests: {num_heads: 2, encoding: WAVES}}, "
     "{name: memory, inputs: [{block_name: waves}], lstm: {hidden_size: 4, num_layers: 2, "
     "both_ways: true, output: STEPS}}, "
     "{name: last, inputs: [{block_name: memory}], lstm: {hidden_size: 3, both_ways: true, merge: "
     "MEAN}}, "
     "{name: score, inputs: [{block_name: last}], linear: {units: 1}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"},
    /* one of all items at several places of a row */
    {"masked",
     "model_config={feature_groups: ["
     "{group_name: ages, group_type: SEQUENCE, feature_names: [clicks__place]}], num_class: 30, "
     "backbone: {blocks: ["
     "{name: item, inputs: [{feature_group_name: ages}], item_vectors: {num_items: 30, dim: 4, "
     "init_std: 0.5}}, "
     "{name: encoder, inputs: [{block_name: item}], transformer: {num_heads: 2, output: STEPS}}, "
     "{name: taken, inputs: [{block_name: encoder}, {feature_group_name: ages}], take_steps: {}}, "
     "{name: scores, inputs: [{block_name: taken}, {feature_group_name: ages}, "
     "{feature_group_name: ages}], item_scores: {items_of: item}}]}, "
     "losses: [{softmax_cross_entropy: {}}], metrics: [{accuracy: {}}, {ndcg_at_k: {}}, "
     "{mean_reciprocal_rank: {}}]}"},
    /* attention with a query over steps, over vectors, and over the members of steps */
    {"packages",
     "model_config={feature_groups: ["
     "{group_name: rows, feature_names: [user, item, cate, tags]}, "
     "{group_name: ages, group_type: SEQUENCE, feature_names: [clicks__place]}, "
     "{group_name: seq, group_type: SEQUENCE, feature_names: [item, clicks__item]}], backbone: "
     "{blocks: ["
     "{name: seen, inputs: [{feature_group_name: rows}, {feature_group_name: seq}], "
     "query_attention: {use_bn: true, dropout_ratio: 0.2}}, "
     "{name: of, inputs: [{feature_group_name: rows}, {feature_group_name: rows}], "
     "vector_attention: {use_bn: true}}, "
     "{name: members, inputs: [{feature_group_name: ages}, {feature_group_name: ages}, "
     "{feature_group_name: seq}], member_attention: {heads: 3, units: 4}}, "
     "{name: each, inputs: [{block_name: of}, {block_name: members}], vector_attention: {units: 5, "
     "use_bn: true}}, "
     "{name: all, inputs: [{block_name: each}], pooling: {pooling_type: sum}}, "
     "{name: top, inputs: [{block_name: seen}, {block_name: of}, {block_name: all}], mlp: "
     "{hidden_units: [8]}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"},
    /* a vector of values, and an error over those that are there */
    {"scatter",
     "model_config={feature_groups: ["
     "{group_name: ages, group_type: SEQUENCE, feature_names: [clicks__place]}], num_class: 12, "
     "backbone: {blocks: ["
     "{name: own, inputs: [{feature_group_name: ages}, {feature_group_name: ages}], scatter: "
     "{columns: 12}}, "
     "{name: deep, inputs: [{block_name: own}], mlp: {hidden_units: [4, 12], activation: "
     "nn.SELU}}, "
     "{name: values, inputs: [{block_name: deep}, {block_name: own}], masked_error: {}}]}, "
     "losses: [{l2_loss: {}}]}"},
    {"plugin_model", "model_config={feature_groups: ["
                     "{group_name: user, feature_names: [user, tags]}, "
                     "{group_name: item, feature_names: [item, cate, price]}], "
                     "plugin: {library: '@/libfaded.so', type: faded_towers, params: {dim: 8, "
                     "hidden: 16}}, "
                     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"},
    {"plugin_tasks", "model_config={feature_groups: ["
                     "{group_name: user, feature_names: [user, tags]}, "
                     "{group_name: item, feature_names: [item, cate, price]}], "
                     "plugin: {library: '@/libfaded.so', type: faded_towers, "
                     "task_towers: ["
                     "{tower_name: a, label_name: label, losses: [{binary_cross_entropy: {}}]}, "
                     "{tower_name: b, label_name: label, losses: [{binary_cross_entropy: {}}]}]}}"},
    {"plugin_block", "model_config={feature_groups: ["
                     "{group_name: user, feature_names: [user, tags]}, "
                     "{group_name: item, feature_names: [item, cate, price]}], "
                     "backbone: {blocks: ["
                     "{name: u, inputs: [{feature_group_name: user}], linear: {units: 8}}, "
                     "{name: v, inputs: [{feature_group_name: item}], linear: {units: 8}}, "
                     "{name: uv, inputs: [{block_name: u}, {block_name: v}], "
                     "plugin: {library: '@/libfaded.so', type: faded_product}}, "
                     "{name: again, inputs: [{block_name: uv}, {block_name: v}], "
                     "plugin: {library: '@/libfaded.so', type: faded_product}}, "
                     /* a file of the same name from another folder */
                     "{name: other, inputs: [{block_name: again}, {block_name: v}], "
                     "plugin: {library: '@/../run/libfaded.so', type: faded_product}}]}, "
                     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"},
    {"plugin_kinds", "model_config={feature_groups: ["
                     "{group_name: rows, feature_names: [user, item, cate, tags]}], "
                     "plugin: {library: '@/libplug_bad.so', type: all_kinds, params: {size: 5, "
                     "text: hello, ints: [3, 4], floats: [0.5]}}, "
                     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"},
    {"plugin_steps",
     "model_config={feature_groups: ["
     "{group_name: seq, group_type: SEQUENCE, feature_names: [item, clicks__item]}], "
     "plugin: {library: '@/libplug_bad.so', type: steps}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"},
    /* logits that are a block as it is, over the lookup itself */
    {"lookup", "model_config={feature_groups: ["
               "{group_name: wide, group_type: WIDE, feature_names: [user]}], "
               "backbone: {wide_embedding_dim: 1, blocks: ["
               "{name: x, inputs: [{feature_group_name: wide}]}]}, "
               "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"},
};
#define N_GRAPHS (int)(sizeof(graphs) / sizeof(graphs[0]))

/* a layer that is in no graph would be tested by nothing */
TEST(every_layer_is_here) {
    for (const cr_oneof_member *m = cr_block_family.members; m->key; m++) {
        char key[64];
        snprintf(key, sizeof(key), "], %s: {", m->key);
        bool found = false;
        for (int i = 0; i < N_GRAPHS; i++)
            found = found || strstr(graphs[i].config, key);
        if (!found) fprintf(stderr, "no graph has %s\n", m->key);
        CHECK(found);
    }
}

static void train(const char *dir, int threads, bool go_on, const char *const *set, int n_set,
                  cr_train_result *r) {
    cr_diag diag;
    cr_diag_init(&diag);
    cr_train_opts o = {
        .config = {.path = in_root("config.yaml"), .model_dir = dir, .set = set, .n_set = n_set},
        .threads = threads,
        .continue_train = go_on};
    CHECK_INT(cr_train(&o, r, &diag), 0);
    show(&diag);
    cr_diag_clear(&diag);
}

TEST(threads_and_pauses_do_not_matter) {
    for (int i = 0; i < N_GRAPHS; i++) {
        char one[400], three[400], parts[400], first[1088];
        snprintf(one, sizeof(one), "%s/1_%s", root, graphs[i].name);
        snprintf(three, sizeof(three), "%s/3_%s", root, graphs[i].name);
        snprintf(parts, sizeof(parts), "%s/p_%s", root, graphs[i].name);
        const char *set[] = {placed(graphs[i].config), "train_config.num_steps=10",
                             "train_config.num_epochs=0"};
        cr_train_result r;
        train(one, 1, false, set, 1, &r);
        CHECK_INT(r.steps, 24);
        for (int k = 0; k < r.eval.n; k++)
            CHECK(isfinite(r.eval.v[k].value));
        snprintf(first, sizeof(first), "%s", r.checkpoint);
        cr_arena_clear(&r.arena);
        train(three, 3, false, set, 1, &r);
        same_weights(first, r.checkpoint);
        cr_arena_clear(&r.arena);
        train(parts, 2, false, set, 3, &r);
        CHECK_INT(r.steps, 10);
        cr_arena_clear(&r.arena);
        train(parts, 1, true, set, 1, &r);
        CHECK_INT(r.steps, 14);
        same_weights(first, r.checkpoint);
        cr_arena_clear(&r.arena);
    }
}

/* after the test above: its models are there */
TEST(one_score_everywhere) {
    for (int i = 0; i < N_GRAPHS; i++) {
        char config[400], export[400];
        snprintf(config, sizeof(config), "%s/1_%s/pipeline.config", root, graphs[i].name);
        snprintf(export, sizeof(export), "%s/x_%s", root, graphs[i].name);
        cr_diag diag;
        cr_diag_init(&diag);
        char ckpt[1088];
        cr_export_opts xo = {.config = {.path = config}, .export_dir = export, .threads = 2};
        CHECK_INT(cr_export(&xo, ckpt, &diag), 0);
        char out[2][400];
        for (int k = 0; k < 2; k++) {
            snprintf(out[k], sizeof(out[k]), "%s/o%d_%s", root, k, graphs[i].name);
            cr_predict_opts po = {.predict_input_path = in_root("eval.csv"),
                                  .predict_output_path = out[k],
                                  .reserved_columns = "label",
                                  .threads = 1 + k,
                                  .batch_size = k ? 77 : 1000};
            if (k)
                po.scripted_model_path = export;
            else
                po.config.path = config;
            cr_predict_result pr;
            CHECK_INT(cr_predict(&po, &pr, &diag), 0);
            CHECK_INT(pr.rows, EVAL_ROWS);
        }
        show(&diag);
        same_files(out[0], out[1], "part-0.csv");
        cr_diag_clear(&diag);
    }
}

/* ---- graphs made by chance ---- */

static uint64_t chance_state;
static int below(int n) {
    chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
    return (int)((chance_state >> 33) % (uint64_t)n);
}

/* up to eight blocks with any layer and any inputs, in any order of names */
static void random_graph(cr_buf *b) {
    static const char *const layers[] = {
        "mlp: {hidden_units: [8]}",
        "mlp: {hidden_units: [4, 8], use_bn: true, activation: Dice}",
        "linear: {units: 8}",
        "linear: {units: 1}",
        "activation: {function: nn.Tanh}",
        "dropout: {}",
        "batch_norm: {}",
        "layer_norm: {}",
        "layer_norm: {fields: true}",
        "residual: {mlp: {hidden_units: [8]}}",
        "ensemble: {members: 3, hidden_units: [6], dropout_ratio: [0.2]}",
        "concat: {}",
        "slice: {begin: 0, width: 8}",
        "fields: {dim: 4}",
        "add: {}",
        "multiply: {}",
        "sum: {}",
        "sum: {fields: true}",
        "mean: {fields: true}",
        "softmax: {}",
        "stop_gradient: {}",
        "cross: {cross_num: 2}",
        "cross_v2: {cross_num: 1, low_rank: 2}",
        "fm: {}",
        "dot_interaction: {}",
        "cin: {cin_layer_size: [2, 3]}",
        ("wukong_layer: {lcb_feature_num: 2, fmb_feature_num: 1, compressed_feature_num: 2, "
         "feature_num_mlp: {hidden_units: [4]}}"),
        "autoint_layer: {num_heads: 2, head_dim: 4}",
        "senet: {reduction_ratio: 2}",
        "mask_net: {n_mask_blocks: 2, mask_block: {hidden_dim: 8}}",
        "mask_block: {hidden_dim: 8}",
        "gate_nu: {}",
        "mmoe: {num_task: 2, num_expert: 2, expert_mlp: {hidden_units: [8]}}",
        "din: {attn_mlp: {hidden_units: [4]}}",
        "multi_window_din: {attn_mlp: {hidden_units: [4]}, windows_len: [1, 2]}",
        "simple_attention: {}",
        "simple_attention: {tanh: true}",
        "step_attention: {}",
        "query: {}",
        "both: {}",
        "self_attention: {multihead_attn_dim: 8, num_heads: 2}",
        "pooling: {}",
        "pooling: {pooling_type: max}",
        "gru: {hidden_size: 4}",
        "gru: {hidden_size: 8, output: STEPS}",
        "lstm: {hidden_size: 4, num_layers: 2}",
        "dien: {attn_mlp: {hidden_units: [4]}}",
        "transformer: {num_heads: 2, ff_units: 4}",
        "seq_conv: {filters: 8}",
        "capsules: {num_interests: 2, max_seq_length: 3}",
        "unroll: {steps: 2}",
        "similarity: {}",
        "label_attention: {}",
        "conv: {filters: 2, kernel_height: 2, kernel_width: 2}",
        "pair_attention: {}",
        "bilinear: {}",
        "product: {units: 3}",
        "product: {units: 3, kind: NORM}",
        "mix_fields: {units: 2}",
        "field_linear: {units: 4}",
    };
    static const char *const groups[] = {"rows", "rows", "numbers", "seq",
                                         "seq, max_seq_length: 2"};
    int n = 1 + below(8);
    cr_buf_printf(b, "model_config={feature_groups: [" ROWS "," NUMBERS "," SEQ
                     "], backbone: {blocks: [");
    for (int i = 0; i < n; i++) {
        cr_buf_printf(b, "%s{name: b%d, inputs: [", i ? ", " : "", i);
        for (int k = 1 + below(2); k >= 0; k--) {
            int other = below(n); /* b7 is the bottom: no circles */
            if (other > i)
                cr_buf_printf(b, "{block_name: b%d}", other);
            else
                cr_buf_printf(b, "{feature_group_name: %s}", groups[below(5)]);
            if (k && below(3) == 0) k = 0;
            cr_buf_printf(b, "%s", k ? ", " : "]");
        }
        if (below(9))
            cr_buf_printf(b, ", %s", layers[below((int)(sizeof(layers) / sizeof(layers[0])))]);
        cr_buf_printf(b, "}");
    }
    cr_buf_printf(b, "]}" ENDS "}");
}

/* whatever it is, it is refused in lines or it gives the same bytes for any number of threads */
TEST(graphs_made_by_chance) {
    int fine = 0, refused = 0;
    for (uint64_t seed = 1; seed <= 400 && fine < 40; seed++) {
        cr_buf b;
        cr_buf_init(&b);
        chance_state = seed * 7919;
        random_graph(&b);
        const char *set[] = {b.data, "train_config.num_steps=3", "train_config.num_epochs=0"};
        char ckpt[2][1088] = {"", ""};
        for (int t = 0; t < 2; t++) {
            char dir[400];
            snprintf(dir, sizeof(dir), "%s/r%d", root, t);
            CHECK_INT(cr_rmtree(dir, NULL), 0);
            cr_diag diag;
            cr_diag_init(&diag);
            cr_train_opts o = {.config = {.path = in_root("config.yaml"),
                                          .model_dir = dir,
                                          .set = set,
                                          .n_set = 3},
                               .threads = 1 + 2 * t};
            cr_train_result r;
            cr_code code = cr_train(&o, &r, &diag);
            if (code != CR_OK) {
                CHECK(code == CR_ECONF && diag.n_errors > 0 && t == 0);
                refused++;
                t = 2;
            } else {
                snprintf(ckpt[t], sizeof(ckpt[t]), "%s", r.checkpoint);
            }
            cr_arena_clear(&r.arena);
            cr_diag_clear(&diag);
        }
        if (*ckpt[1]) {
            int before = t_failed_checks;
            same_weights(ckpt[0], ckpt[1]);
            if (t_failed_checks > before) fprintf(stderr, "seed %d: %s\n", (int)seed, b.data);
            fine++;
        }
        cr_buf_clear(&b);
    }
    fprintf(stderr, "%d graphs trained, %d refused\n", fine, refused);
    CHECK(fine >= 20 && refused >= 20);
}

/* each mistake is one line with its place, its cause and its cure; ?: a warning */
static void refused(int line, const char *text, const char *const *says) {
    const char *config = placed(text);
    cr_config_opts co = {.path = in_root("config.yaml"),
                         .model_dir = "unused",
                         .set = &config,
                         .n_set = 1};
    cr_diag diag;
    cr_diag_init(&diag);
    cr_job j;
    cr_job_opts jo = {.config = &co, .threads = 1, .train = true, .with_labels = true};
    bool error = says[0][0] != '?', found = false;
    cr_code code = cr_job_open(&j, &jo, &diag);
    CHECK((code != CR_OK) == error);
    for (size_t i = 0; i < diag.n; i++) {
        bool all = (diag.v[i].sev == CR_SEV_ERROR) == error && diag.v[i].at.line > 0 &&
                   diag.v[i].at.col > 0;
        for (int k = 0; says[k]; k++)
            all = all && strstr(diag.v[i].msg, says[k] + (k == 0 && !error));
        found = found || all;
    }
    if (!found) {
        fprintf(stderr, "line %d: nobody says %s; but:\n", line, says[0]);
        for (size_t i = 0; i < diag.n; i++)
            fprintf(stderr, "  %s\n", diag.v[i].msg);
    }
    CHECK(found);
    CHECK(diag.n_errors <= 1); /* one mistake is told once */
    cr_job_close(&j);
    cr_diag_clear(&diag);
}
#define REFUSED(config, ...) refused(__LINE__, config, (const char *const[]){__VA_ARGS__, NULL})
#define ONE(block)           GRAPH(ROWS, "", block)

TEST(mistakes_of_shared_weights) {
    REFUSED(ONE(BLOCK("a",
                      IN_G("rows") "], linear: {units: 8}") ", " BLOCK("b",
                                                                       IN("a") "], weights_of: a")),
            "'b' cannot have the parameters of block 'a'", "another width");
    REFUSED(ONE(BLOCK("a", IN_G("rows") "], mlp: {hidden_units: [8], use_bn: true}") ", " BLOCK(
                "b", IN_G("rows") "], weights_of: a")),
            "'b' cannot have the parameters of block 'a'", "batch norm");
    REFUSED(ONE(BLOCK("a", IN_G("rows") "], fm: {}") ", " BLOCK("b",
                                                                IN_G("rows") "], weights_of: a")),
            "parameters of block 'a' cannot be shared", "another kind");
    REFUSED(ONE(BLOCK("b", IN_G("rows") "], weights_of: c")), "unknown block 'c'");
    REFUSED(ONE(BLOCK("b", IN_G("rows") "], weights_of: b, fm: {}")), "layer of its own", "remove");
    REFUSED(ONE(BLOCK("b", IN_G("rows") "], weights_of: b")), "cannot be shared", "no layer");
}

TEST(mistakes_over_steps) {
#define STEPS_(block) GRAPH(ROWS "," NUMBERS "," SEQ, "", block)
    REFUSED(STEPS_(BLOCK("a", IN_G("rows") "], gru: {hidden_size: 4}")), "gru reads one sequence");
    REFUSED(STEPS_(BLOCK("a", IN_G("seq") ", " IN_G("seq") ", " IN_G(
                                  "seq") "], dien: {attn_mlp: {hidden_units: [4]}}")),
            "it has 3 sequences");
    REFUSED(STEPS_(
                BLOCK("a", IN_G("seq") ", " IN_G(
                               "seq") "], dien: {hidden_size: 9, attn_mlp: {hidden_units: [4]}}")),
            "the states are 9 wide", "make them equal");
    REFUSED(STEPS_(BLOCK("a", IN_G("seq") "], dien: {hidden_size: 4, attn_mlp: {hidden_units: "
                                          "[4]}}")),
            "a query (8 wide) with a sequence (4 wide)", "may not be wider");
    REFUSED(STEPS_(BLOCK("a", IN_G("seq") "], transformer: {num_heads: 3}")),
            "not a multiple of num_heads 3");
    REFUSED(STEPS_(BLOCK("a", IN_G("seq") "], transformer: {activation: nn.PReLU}")), "nn.PReLU",
            "use for example");
    REFUSED(STEPS_(BLOCK("a", IN_G("seq") ", " IN_G("numbers") "], transformer: {}")),
            "a query (2 wide)", "make them equal");
    REFUSED(STEPS_(BLOCK("a", IN_G("rows") "], conv: {height: 5, filters: 2}")),
            "no 1 pictures of 5 lines", "give height");
    REFUSED(STEPS_(BLOCK("a", IN_G("rows") "], conv: {filters: 2, kernel_height: 9}")),
            "leaves nothing", "smaller");
    REFUSED(STEPS_(BLOCK("a", IN_G("rows") ", " IN_G("numbers") "], similarity: {}")),
            "input 2 is 2 wide", "multiple");
    REFUSED(STEPS_(BLOCK("a", IN_G("rows") ", " IN_G("rows") "], label_attention: {}") ", " BLOCK(
                "b", IN_G("numbers") ", " IN_G("rows") "], label_attention: {}")),
            "the first input is 2 wide");
    REFUSED(STEPS_(BLOCK("a", IN_G("numbers") "], linear: {units: 8}") ", " BLOCK(
                "b", IN("a") "], pair_attention: {}")),
            "makes pairs of 1 vector", "two or more");
}

TEST(mistakes_between_blocks) {
    REFUSED(ONE(""), "backbone has no blocks", "add");
    REFUSED(ONE("{name: a, mlp: {hidden_units: [4]}}"), "block 'a' has no inputs", "name");
    REFUSED(ONE("{inputs: [" IN_G("rows") "]}"), "name");
    REFUSED(ONE(BLOCK("''", IN_G("rows") "]")), "block name ''", "letters");
    REFUSED(ONE(BLOCK("'a.b'", IN_G("rows") "]")), "'a.b' goes into the names", "letters");
    REFUSED(ONE(BLOCK("a", "{}]")), "neither feature_group_name nor block_name");
    REFUSED(ONE(BLOCK("a", "{feature_group_name: rows, block_name: rows}]")),
            "both feature_group_name and block_name");
    REFUSED(ONE(BLOCK("a", "{feature_group_name: rows, output: 0}]")), "remove output");
    REFUSED(ONE(BLOCK("a", "{feature_group_name: rows, max_seq_length: 3}]")),
            "'rows' is not of type SEQUENCE", "remove max_seq_length");
    REFUSED(ONE(BLOCK("a", IN_G("row") "]")), "no feature group 'row'", "did you mean 'rows'");
    REFUSED(ONE(BLOCK("deep", IN_G("rows") "]") "," BLOCK("b", IN("dep") "]")),
            "block 'b' reads the unknown block 'dep'", "did you mean 'deep'");
    REFUSED(ONE(BLOCK("b", IN("zzz") "]")), "reads the unknown block 'zzz'", "add it to blocks");
    REFUSED(ONE(BLOCK("b", IN("rows") "]")), "it is a feature group: use feature_group_name");
    REFUSED(ONE(BLOCK("a", IN_G("rows") "]") "," BLOCK("a", IN_G("rows") "]")),
            "block 'a' is already defined", "another name");
    REFUSED(ONE(BLOCK("a", IN("c") "]") "," BLOCK("b", IN("a") "]") "," BLOCK("c", IN("b") "]")),
            "in a circle: 'a' -> 'b' -> 'c' -> 'a'", "remove one");
    REFUSED(ONE(BLOCK("a", IN("a") "]")), "in a circle: 'a' -> 'a'");
    REFUSED(GRAPH(ROWS, "concat_blocks: [a], ",
                  BLOCK("a", IN_G("rows") "]") "," BLOCK("b",
                                                         IN("a") "], mlp: {hidden_units: [4]}")),
            "nothing reads block 'b'", "remove it");
    REFUSED(GRAPH(ROWS, "concat_blocks: [ab], ", BLOCK("abc", IN_G("rows") "]")),
            "concat_blocks reads the unknown block 'ab'", "did you mean 'abc'");
    REFUSED(ONE(BLOCK("a", IN_G("rows") "]") "," BLOCK("b", "{block_name: a, output: 1}]")),
            "block 'a' has 1 output, number 1 is read", "from 0 on");
    REFUSED(GRAPH(ROWS "," NUMBERS, "", BLOCK("a", IN_G("rows") "]")),
            "?nothing reads feature group 'numbers'", "remove it");
    REFUSED(ONE(BLOCK("a", IN_G("rows") "], mlp: {hidden_units: [4, 1]}")),
            "?taken as the logits, but ReLU", "linear block");
    REFUSED(GRAPH(ROWS,
                  "concat_blocks: [a], task_towers: [" TOWER("t", ", inputs: [" IN("a") "]") "], ",
                  BLOCK("a", IN_G("rows") "]")),
            "concat_blocks is read by no task", "remove it");
    REFUSED("model_config={feature_groups: [" ROWS "], backbone: {task_towers: [" TOWER(
                "t", ", inputs: [" IN("x") "]") "], blocks: [" BLOCK("a", IN_G("rows") "]") "]}}",
            "task 't' reads the unknown block 'x'");
    REFUSED("model_config={feature_groups: [" ROWS
            "], backbone: {task_towers: [" TOWER("t", ", inputs: [" IN("a") "]") "," TOWER(
                "u", "") "], blocks: [" BLOCK("a", IN_G("rows") "]") "]}}",
            "task 'u' has no inputs, and no block is left", "concat_blocks");
    REFUSED("model_config={feature_groups: [" ROWS
            "], backbone: {task_towers: [" TOWER("t", "") "], blocks: [" BLOCK(
                "a",
                IN_G("rows") "]") "," BLOCK("b",
                                            IN("a") "]") "," BLOCK("c",
                                                                   IN("b") "]") "], concat_blocks: "
                                                                                "[b]}}",
            "nothing reads block 'c'");
    REFUSED(GRAPH("{group_name: rows, feature_names: [price]}", "", BLOCK("a", IN_G("rows") "]")),
            "nothing to learn", "add a layer");
    REFUSED(ONE(BLOCK("a", IN_G("rows") "], mlpp: {hidden_units: [4]}")), "unknown", "mlp");
    REFUSED(ONE(BLOCK("a", IN_G("rows") "], mlp: {hidden_units: [4]}, fm: {}")), "mlp", "fm");
}

/* blocks that double their input pass any size in a few lines */
TEST(sizes_stay_bounded) {
    char text[16384];
    int n =
        snprintf(text, sizeof(text), "%s",
                 "model_config={feature_groups: [" ROWS "], backbone: {blocks: [{name: b0, inputs: "
                 "[{feature_group_name: rows}]}");
    for (int i = 1; i < 70; i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n,
                      ", {name: b%d, inputs: [{block_name: b%d}, {block_name: b%d}]}", i, i - 1,
                      i - 1);
    snprintf(text + n, sizeof(text) - (size_t)n, "]}" ENDS "}");
    REFUSED(text, "more than 16777216 numbers", "narrower");
    REFUSED(ONE(BLOCK("b", IN_G("rows") "], linear: {units: 8192}") "," BLOCK(
                "c", IN("b") "], fields: {dim: 1}") "," BLOCK("d", IN("c") "], senet: {}")),
            "senet has 8192 vectors", "4096 at most");
    /* as many as there may be: a layer is a handful of nodes, whatever its size */
    REFUSED(GRAPH(ROWS "," NUMBERS, "",
                  BLOCK("b", IN_G("rows") "], linear: {units: 4096}") "," BLOCK(
                      "c", IN("b") "], fields: {dim: 1}") "," BLOCK("d", IN("c") "], senet: {}")),
            "?nothing reads feature group 'numbers'");
}

TEST(mistakes_of_layers) {
#define LAYER(layer) ONE(BLOCK("a", IN_G("rows") "], " layer))
#define MIXED(layer)                                                                               \
    GRAPH(ROWS "," NUMBERS, "", BLOCK("a", IN_G("rows") "," IN_G("numbers") "], " layer))
    REFUSED(MIXED("fm: {}"), "block 'a': fm multiplies vectors", "different widths", "linear");
    REFUSED(MIXED("dot_interaction: {}"), "different widths");
    REFUSED(MIXED("cin: {cin_layer_size: [2]}"), "different widths");
    REFUSED(MIXED("senet: {}"), "different widths");
    REFUSED(MIXED("autoint_layer: {}"), "different widths");
    REFUSED(MIXED("layer_norm: {fields: true}"), "different widths", "remove fields");
    REFUSED(MIXED("sum: {fields: true}"), "different widths", "remove fields");
    REFUSED(MIXED("add: {}"), "input 2 is 2 wide and another 32", "linear block");
    REFUSED(MIXED("multiply: {}"), "input 2 is 2 wide and another 32");
    REFUSED(LAYER("multiply: {}"), "multiply reads 2 or more inputs and has 1", "change");
    REFUSED(ONE(BLOCK("a", IN_G("rows") "," IN_G("rows") "," IN_G("rows") "], gate_nu: {}")),
            "gate_nu reads 1 to 2 inputs and has 3");
    REFUSED(LAYER("slice: {begin: 30, width: 4}"), "numbers 30 to 33", "32 wide");
    REFUSED(LAYER("field_transformer: {num_heads: 3}"), "a vector is 8 wide",
            "not a multiple of num_heads 3");
    REFUSED(MIXED("field_transformer: {}"), "different widths");
    REFUSED(MIXED("place_vectors: {}"), "different widths");
    REFUSED(MIXED("pair_products: {}"), "different widths");
    REFUSED(LAYER("hard_concrete: {low: 0}"), "low below 0");
#define THREE_ROWS IN_G("rows") "," IN_G("rows") "," IN_G("rows")
#define KNOWN(keys)                                                                                \
    ONE(BLOCK("f", IN_G("rows") "], fields: {dim: 1}") ", " BLOCK(                                 \
        "a", "{block_name: f}, {block_name: f}, {block_name: f}], knowledge_match: {" keys "}"))
    REFUSED(KNOWN("words: 3, entities: 1"),
            "the words of the articles, 3 for each, their entities");
    REFUSED(KNOWN("words: 1, entities: 1, candidates: 900"), "than the 900 candidates");
    REFUSED(KNOWN("words: 1, entities: 1, entity_heads: 1, num_heads: 3"),
            "num_heads must divide units 400");
    REFUSED(KNOWN("words: 1, entities: 1"), "entity_heads the width 1 of an entity");
#define SOCIAL(keys)                                                                               \
    ONE(BLOCK("a", THREE_ROWS "], social_graph: {num_users: 2, num_items: 3, " keys "}"))
    REFUSED(SOCIAL("rated: [0, 1, 1]"), "rated has 3 numbers; give two for each pair");
    REFUSED(SOCIAL("rated: [0, 3]"), "rated names number 3, and the numbers are from 0 to 2");
    REFUSED(SOCIAL("rated: [0, 1], trusts: [0, 2]"), "trusts names number 2", "from 0 to 1");
    REFUSED(SOCIAL("trusts: [0, 1]"), "rated is empty; list the users with their items");
    REFUSED(SOCIAL("rated: [0, 1]"), "social_graph reads the number of a user");
    REFUSED(MIXED("query_attention: {}"), "query_attention reads a row and a sequence");
    REFUSED(GRAPH(ROWS "," NUMBERS, "",
                  BLOCK("b", IN_G("rows") "," IN_G("numbers") "], concat: {}") "," BLOCK(
                      "a", IN_G("rows") "," IN("b") "], vector_attention: {}")),
            "vector_attention reads a query and vectors of one width");
    REFUSED(ONE(BLOCK("a", THREE_ROWS "], member_attention: {}")),
            "member_attention reads members, the number of the step");
    REFUSED(LAYER("scatter: {columns: 3}"), "a sequence with a number and a value at each step");
    REFUSED(MIXED("masked_error: {}"), "its inputs are 32 and 2 wide");
#define ITEMS(inputs, keys) ONE(BLOCK("a", inputs "], all_items: {num_features: 3, " keys "}"))
    REFUSED(ITEMS(THREE_ROWS, "items: [0, 1]"), "a sequence of the numbers of the user's items");
    REFUSED(ITEMS(THREE_ROWS, "items: [0, 3]"), "item 1 has the feature 3", "num_features is 3");
    REFUSED(ITEMS(THREE_ROWS, "items: [0, 1, 2], features_per_item: 2"),
            "items has 3 numbers; give 2 for each of two or more items");
    REFUSED(LAYER("hard_concrete: {high: 1}"), "high above 1");
    REFUSED(LAYER("hard_concrete: {temperature: 0}"), "temperature above 0");
    REFUSED(LAYER("pair_mean: {}"), "pair_mean reads 2 inputs and has 1");
    REFUSED(ONE(BLOCK("a", IN_G("rows") "," IN_G("rows") "], pair_mean: {}")),
            "the vectors of pairs and as many gates, and has 4 and 32");
    REFUSED(ONE(BLOCK("s", IN_G("rows") "], sum: {each: true}") ", " BLOCK(
                "a", IN_G("rows") "," IN("s") "], pair_mean: {}")),
            "its 4 vectors are not all pairs of some vectors", "give `self`");
    REFUSED(ONE(BLOCK("s", IN_G("rows") "], linear: {units: 4}") ", " BLOCK(
                "a", IN("s") "], "
                             "pair_products: {}")),
            "pair_products makes pairs of 1 vector; give it two or more");
    REFUSED(ONE(BLOCK("a",
                      IN_G("rows") "," IN_G("rows") "," IN_G(
                          "rows") "], interval_transformer: {max_seq_length: 3, time_span: 2}")),
            "interval_transformer reads steps, the time of each step and its place");
    REFUSED(ONE(BLOCK("a", IN_G("rows") "," IN_G("rows") "," IN_G("rows") "], step_pairs: {}")),
            "step_pairs reads states, right items and wrong ones");
    REFUSED(ONE(BLOCK("b", IN_G("rows") "], linear: {units: 4}") ", " BLOCK(
                "a", IN_G("rows") "," IN("b") "], dselect_k: {}")),
            "expert 2 is 4 wide and the first one 32");
    REFUSED(ONE(BLOCK("a", IN_G("rows") "," IN_G("rows") "], dselect_k: {num_selected: 3}")),
            "it chooses 3 of 2 experts");
    REFUSED(ONE(BLOCK("a", IN_G("rows") "," IN_G("rows") "," IN_G("rows") "," IN_G(
                               "rows") "], session_interests: {}")),
            "session_interests reads steps, the number of each step's session");
    REFUSED(LAYER("item_vectors: {num_items: 3, dim: 2}"), "its input is 32 wide",
            "the number of an item");
    REFUSED(ONE(BLOCK("a", IN_G("rows") "," IN_G("rows") "], take_steps: {}")),
            "take_steps reads a sequence and a second one of places");
    REFUSED(ONE(BLOCK("a", IN_G("rows") "," IN_G("rows") "], item_scores: {items_of: b}")),
            "item_scores reads the steps of a sequence and the numbers of their items");
    REFUSED(LAYER("fields: {dim: 5}"), "no whole number of vectors of width 5", "divides");
    REFUSED(LAYER("residual: {mlp: {hidden_units: [4]}}"), "hidden_units is 4", "32 wide");
    REFUSED(LAYER("activation: {function: nn.Rely}"), "nn.Rely");
    REFUSED(LAYER("activation: {function: 'nn.PReLU(num_parameters=3)'}"), "3 slopes", "32");
    REFUSED(LAYER("linear: {}"), "units");
    REFUSED(LAYER("linear: {units: 0}"), "units", "from 1");
    REFUSED(LAYER("mlp: {hidden_units: [4], activation: nn.Rely}"), "nn.Rely");
    REFUSED(LAYER("mask_block: {reduction_ratio: 0.0001, hidden_dim: 4}"), "empty");
    REFUSED(ONE(BLOCK("b", IN_G("rows") "], linear: {units: 4}") "," BLOCK(
                "a", IN("b") "], dot_interaction: {}")),
            "one vector and needs two");
    REFUSED(LAYER("din: {attn_mlp: {hidden_units: [4]}}"), "din reads one sequence and has 0",
            "type SEQUENCE");
#define WITH_SEQ(layer) GRAPH(SEQ, "", BLOCK("a", IN_G("seq") "], " layer))
    REFUSED(WITH_SEQ("cross: {}"), "one of its inputs is a sequence", "pooling");
    REFUSED(WITH_SEQ("mlp: {hidden_units: [4]}"), "block 'a' gives a sequence", "pooling");
    REFUSED(GRAPH(SEQ "," ROWS, "", BLOCK("a", IN_G("seq") "," IN_G("rows") "], concat: {}")),
            "some of its inputs are sequences");
    REFUSED(GRAPH(SEQ "," ROWS, "",
                  BLOCK("a", IN_G("seq") "," IN_G("rows") "], din: {attn_mlp: "
                                                          "{hidden_units: [4]}}")),
            "a query (32 wide) with a sequence (8 wide)", "may not be wider");
    REFUSED(WITH_SEQ("self_attention: {multihead_attn_dim: 9}"), "not a multiple of num_heads 4");
    REFUSED(WITH_SEQ("multi_window_din: {attn_mlp: {hidden_units: [4]}, windows_len: [2, 3]}"),
            "the windows hold 5 steps", "max_seq_length: 5");
    REFUSED(WITH_SEQ("multi_window_din: {attn_mlp: {hidden_units: [4]}}"), "windows_len is empty");
    REFUSED(GRAPH("{group_name: seq, group_type: SEQUENCE, feature_names: [clicks__item]}", "",
                  BLOCK("a", IN_G("seq") "], simple_attention: {}")),
            "a query (0 wide)", "add the target's features");
}

TEST(mistakes_of_libraries) {
#define BAD(type) PLUGIN(ROWS, "plug_bad", type, "")
    REFUSED(PLUGIN(ROWS, "nothere", "x", ""), "cannot read library", "No such file");
    REFUSED("model_config={feature_groups: [" ROWS "], plugin: {library: '@/../../../build.ninja', "
            "type: x}" ENDS "}",
            "does not load");
    REFUSED(PLUGIN(ROWS, "plug_old", "says", ""), "interface 0 of crank/model.h",
            "this crank has 1", "compile it again");
    REFUSED("model_config={feature_groups: [" ROWS
            "], plugin: {library: '@/../base/libplug_abi1.so', type: x}" ENDS "}",
            "has no object 'crank_model_plugin'", "crank/model.h");
    REFUSED(BAD("sayz"), "has no type 'sayz'", "did you mean 'says'");
    REFUSED(BAD("no_build"), "type 'no_build'", "has no build function");
    REFUSED(BAD("zzzzzz"), "has no type 'zzzzzz'", "its first is 'says'");
    REFUSED(BAD("says"), "type 'says' of libplug_bad.so: no luck; try again");
    REFUSED(PLUGIN(ROWS, "plug_bad", "says", ", params: {zzqq: 7}"), "'zzqq' in params",
            "it takes none");
    REFUSED(BAD("silent"), "build failed with 3", "call fail");
    REFUSED(BAD("nothing"), "gave no output", "call output");
    REFUSED(BAD("layer_unknown"), "the layer 'mlpp'", "did you mean 'mlp'");
    REFUSED(BAD("layer_plugin"), "the layer 'plugin'");
    REFUSED(BAD("layer_key"), "hidden_unit", "did you mean 'hidden_units'");
    REFUSED(BAD("layer_text"), "not valid YAML", "closing bracket");
    REFUSED(BAD("layer_widths"), "input 2 is 3 wide and another 32");
    REFUSED(BAD("layer_empty"), "no inputs");
    REFUSED(BAD("layer_null"), "asks for the layer ''", "lists them");
    REFUSED(BAD("input_null"), "gives 'y' an input or weight that is NULL");
    REFUSED(BAD("inputs_null"), "gives 'y' an input or weight that is NULL");
    REFUSED(BAD("group_null"), "no feature group ''");
    REFUSED(BAD("asks_null"), "asks for the parameter 'NULL'");
    REFUSED(BAD("twice"), "the parameter 'model.y.weight' occurs twice");
    REFUSED(BAD("end_twice"), "the parameter 'model.output_mlp.weight' occurs twice",
            "none output_mlp");
    REFUSED(BAD("name_blank"), "the name 'a b'", "letters");
    REFUSED(BAD("asks"), "asks for the parameter 'size'", "add it there");
    REFUSED(BAD("input_9"), "input 9 of 1", "from 0 on");
    REFUSED(BAD("group_zz"), "no feature group 'row'", "did you mean 'rows'");
    REFUSED(BAD("two_outputs"), "gives 2 outputs for 1 task", "give one");
    REFUSED(BAD("op_none"), "op 'empty' has no forward");
    REFUSED(BAD("op_wide"), "op 'copy' is 0 wide");
    REFUSED(BAD("op_many"), "40 inputs and 0 weights", "1 to 32");
    REFUSED(BAD("op_sums"), "2147483647 inputs and 1 weights", "1 to 32");
    REFUSED(BAD("op_null"), "gives 'copy' an input or weight that is NULL");
    REFUSED(BAD("weights_null"), "gives 'wrong_bits' an input or weight that is NULL");
    REFUSED(BAD("weight_size"), "weight 'w' is (0, 5)");
    REFUSED(BAD("weight_init"), "weight 'w'", "nosuch_");
    REFUSED(BAD("odd_kind"), "unknown kind 77");
    REFUSED(BAD("all_kinds"), "size");
#define KINDS(params) PLUGIN(ROWS, "plug_bad", "all_kinds", ", params: " params)
    REFUSED(KINDS("{size: 11}"), "size", "from 1 to 10");
    REFUSED(KINDS("{size: x}"), "size");
    REFUSED(KINDS("{size: 5, ints: [10]}"), "ints");
    REFUSED(KINDS("{size: 5, rat: 0.5}"), "unknown", "did you mean 'rate'");
    REFUSED(KINDS("7"), "params");
    REFUSED(KINDS("{size: 5, zzqq: 7}"), "unknown key 'zzqq' in params", "give one of size");
    REFUSED(GRAPH(ROWS, "",
                  BLOCK("a", IN_G("rows") "], plugin: {library: '@/libplug_bad.so', "
                                          "type: group_zz}")),
            "inside of a block", "inputs");
    REFUSED(GRAPH(ROWS, "",
                  BLOCK("a", IN_G("rows") "], plugin: {library: '@/libfaded.so', "
                                          "type: faded_product}")),
            "reads two inputs");
    REFUSED("model_config={feature_groups: [" ROWS "," USER_ITEM
            "], plugin: {library: '@/libfaded.so', type: faded_towers}" ENDS "}",
            "?does not read feature group 'rows'", "remove it");
    /* the rest of the build has a NULL and a width of 0 */
    REFUSED("model_config={feature_groups: [{group_name: usr, feature_names: [user]}, "
            "{group_name: item, feature_names: [item]}], "
            "plugin: {library: '@/libfaded.so', type: faded_towers}" ENDS "}",
            "no feature group 'user'", "did you mean 'usr'");
    REFUSED(PLUGIN(SEQ, "plug_bad", "says", ", task_towers: [" TOWER("t", "") "]"), "says");
}

/* what a run or a check says; ?: a warning, and all is well */
static void op_says(const char *type, bool run, const char *says) {
    char config[512];
    snprintf(config, sizeof(config),
             "model_config={feature_groups: [" ROWS
             "], plugin: {library: '@/libplug_bad.so', type: %s}" ENDS "}",
             type);
    const char *set = placed(config);
    bool error = says[0] != '?', found = false;
    says += !error;
    cr_diag diag;
    cr_diag_init(&diag);
    cr_config_opts co = {.path = in_root("config.yaml"), .set = &set, .n_set = 1};
    if (run) {
        char dir[400];
        snprintf(dir, sizeof(dir), "%s/f_%s", root, type);
        co.model_dir = dir;
        cr_train_opts o = {.config = co, .threads = 2};
        cr_train_result r;
        CHECK(cr_train(&o, &r, &diag) == CR_ERUN);
        cr_arena_clear(&r.arena);
    } else {
        cr_check_opts o = {.config = co, .threads = 2};
        cr_buf out;
        cr_buf_init(&out);
        CHECK(cr_check(&o, &out, &diag) == (error ? CR_ERUN : CR_OK));
        CHECK(
            strstr(out.data, error ? "1 op tried: see below" : "1 op tried: gradients are right"));
        cr_buf_clear(&out);
    }
    CHECK_INT(diag.n_errors, error);
    for (size_t i = 0; i < diag.n; i++)
        found = found || ((diag.v[i].sev == CR_SEV_ERROR) == error && strstr(diag.v[i].msg, says));
    for (size_t i = 0; !found && i < diag.n; i++)
        fprintf(stderr, "not '%s' but '%s'\n", says, diag.v[i].msg);
    CHECK(found);
    cr_diag_clear(&diag);
}

TEST(ops_that_are_wrong) {
    op_says("op_forward", true, "op 'broken_forward' of libplug_bad.so: forward failed with 7");
    op_says("op_backward", true, "op 'broken_backward' of libplug_bad.so: backward failed with 7");
    op_says("op_forward", false, "forward failed with 7");
    op_says("op_slope", false, "its gradient is not the slope of its forward");
    op_says("op_bits", false, "other tiles or threads give other bits");
    op_says("op_nan", false, "op 'nan_back' of libplug_bad.so: gives NaN");
    op_says("op_log", false, "?op 'log_times' of libplug_bad.so: gives NaN for inputs below 0");
}

int main(int argc, char **argv) {
    static const t_case cases[] = {
        CASE(every_layer_is_here),     CASE(threads_and_pauses_do_not_matter),
        CASE(one_score_everywhere),    CASE(graphs_made_by_chance),
        CASE(mistakes_between_blocks), CASE(sizes_stay_bounded),
        CASE(mistakes_of_layers),      CASE(mistakes_of_libraries),
        CASE(ops_that_are_wrong),      CASE(mistakes_of_shared_weights),
        CASE(mistakes_over_steps)};
    if (!root_open("own_models")) return 1;
    t_name = "data";
    write_data();
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    return root_close(rc);
}
