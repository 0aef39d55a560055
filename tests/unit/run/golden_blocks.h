/*
 * golden_blocks.h - golden cases once more, with the model as a graph of blocks in the place of the
 * built-in one: the same expected values under other names of parameters.
 */
#ifndef CR_TESTS_GOLDEN_BLOCKS_H
#define CR_TESTS_GOLDEN_BLOCKS_H

#define GROUP(name, features) "{group_name: " name ", feature_names: [" features "]}"
#define TYPED(name, type, feats)                                                                   \
    "{group_name: " name ", group_type: " type ", feature_names: [" feats "]}"
#define FROM(...)                  "inputs: [" __VA_ARGS__ "]"
#define G(name)                    "{feature_group_name: " name "}"
#define B(name)                    "{block_name: " name "}"
#define BLOCK(name, inputs, layer) "{name: " name ", " inputs ", " layer "}"
#define ONE_TASK                   ", losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]"
#define BLOCKS(groups, more, ...)                                                                  \
    "model_config={feature_groups: [" groups "], backbone: {" more "blocks: [" __VA_ARGS__         \
    "]}" ONE_TASK "}"
#define TOWER(name, label, loss, metric, more)                                                     \
    "{tower_name: " name ", label_name: " label ", losses: [{" loss ": {}}], metrics: [{" metric   \
    ": {}}]" more "}"

static const struct rebuilt {
    const char *name, *of; /* case */
    const char *config;
    const char *renames[20]; /* ours, golden, ours, golden, … without "model." */
} rebuilt[] = {
    {"blocks_deepfm",
     "deepfm_fm",
     BLOCKS(
         TYPED("wide", "WIDE", "user,item,tags,wtags") "," GROUP(
             "fm", "user,item,tags,cats") "," GROUP("deep", "user,item,tags,cats,price,pos"),
         "concat_blocks: [all], ",
         BLOCK("all", FROM(B("w") "," B("f") "," B("out")), "add: {}") "," BLOCK(
             "w", FROM(G("wide")),
             "sum: {}") "," BLOCK("fm", FROM(G("fm")),
                                  "fm: {}") "," BLOCK("f", FROM(B("fm")),
                                                      "sum: {}") "," BLOCK("deep", FROM(G("deep")),
                                                                           "mlp: {hidden_units: "
                                                                           "[8, 6]}") "," BLOCK("ou"
                                                                                                "t",
                                                                                                FROM(B(
                                                                                                    "deep")),
                                                                                                "li"
                                                                                                "ne"
                                                                                                "ar"
                                                                                                ": "
                                                                                                "{u"
                                                                                                "ni"
                                                                                                "ts"
                                                                                                ": "
                                                                                                "1"
                                                                                                "}")),
     {"blocks.deep.", "deep_mlp.", "blocks.out.", "output_mlp."}},
    {"blocks_dcn_v1",
     "dcn_v1",
     BLOCKS(
         GROUP("all", "user,item,tags,price,pos"), "",
         BLOCK("cross", FROM(G("all")), "cross: {cross_num: 2}") "," BLOCK(
             "deep", FROM(G("all")),
             "mlp: {hidden_units: [6]}") "," BLOCK("final", FROM(B("cross") "," B("deep")),
                                                   "mlp: {hidden_units: [5]}") "," BLOCK("out",
                                                                                         FROM(B(
                                                                                             "fina"
                                                                                             "l")),
                                                                                         "linear: "
                                                                                         "{units: "
                                                                                         "1, bias: "
                                                                                         "false}")),
     {"blocks.cross.", "cross.", "blocks.deep.", "deep.", "blocks.final.", "final.", "blocks.out.",
      "output_mlp."}},
    {"blocks_dcn_v2",
     "dcn_v2_backbone",
     BLOCKS(
         GROUP("all", "user,item,tags,price,pos"), "",
         BLOCK("below", FROM(G("all")), "mlp: {hidden_units: [5]}") "," BLOCK(
             "cross", FROM(B("below")),
             "cross_v2: {cross_num: 2, low_rank: 2}") "," BLOCK("final", FROM(B("cross")),
                                                                "mlp: "
                                                                "{hidden_units: "
                                                                "[4]}") "," BLOCK("out",
                                                                                  FROM(B("final")),
                                                                                  "linear: {units: "
                                                                                  "1, bias: "
                                                                                  "false}")),
     {"blocks.below.", "backbone.", "blocks.cross.", "cross.", "blocks.final.", "final.",
      "blocks.out.", "output_mlp."}},
    {"blocks_mask_net",
     "mask_net",
     BLOCKS(GROUP("all", "user,tags,price"), "",
            BLOCK("net", FROM(G("all")),
                  "mask_net: {n_mask_blocks: 2, mask_block: {hidden_dim: 4}, top_mlp: "
                  "{hidden_units: [4]}}") "," BLOCK("out", FROM(B("net")),
                                                    "linear: {units: 1, bias: false}")),
     {"blocks.net.", "mask_net_layer.", "blocks.out.", "output_linear."}},
    /* the same from single mask blocks */
    {"blocks_mask_block",
     "mask_net",
     BLOCKS(
         GROUP("all", "user,tags,price"), "",
         BLOCK("ln", FROM(G("all")), "layer_norm: {}") "," BLOCK("one", FROM(B("ln") "," G("all")), "mask_block: {hidden_dim: 4}") "," BLOCK(
             "two", FROM(B("ln") "," G("all")),
             "mask_block: {hidden_dim: 4}") "," BLOCK("top", FROM(B("one") "," B("two")),
                                                      "mlp: {hidden_units: [4]}") "," BLOCK("out",
                                                                                            FROM(B(
                                                                                                "to"
                                                                                                "p")),
                                                                                            "linear"
                                                                                            ": "
                                                                                            "{units"
                                                                                            ": 1, "
                                                                                            "bias: "
                                                                                            "false"
                                                                                            "}")),
     {"blocks.ln.", "mask_net_layer.ln_emb.", "blocks.one.", "mask_net_layer.mask_blocks.0.",
      "blocks.two.", "mask_net_layer.mask_blocks.1.", "blocks.top.", "mask_net_layer.top_mlp.",
      "blocks.out.", "output_linear."}},
    {"blocks_autoint",
     "autoint_deep",
     BLOCKS(GROUP("fields", "user,item,tags,wtags") "," GROUP("deep", "user,price,pos"),
            "top_mlp: {hidden_units: [4]}, ",
            BLOCK("att", FROM(G("fields")),
                  "autoint_layer: {num_heads: 2, head_dim: 2, use_residual: false, use_scale: "
                  "true}") "," BLOCK("deep", FROM(G("deep")), "mlp: {hidden_units: [5]}")),
     {"blocks.att.", "attention_layers.0.", "blocks.deep.", "deep_mlp.", "top_mlp.", "final_mlp."}},
    {"blocks_dlrm",
     "dlrm",
     BLOCKS(GROUP("dense", "price,pos") "," GROUP("sparse", "user,item,tags,cats"),
            "concat_blocks: [dot, dense, sparse], top_mlp: {hidden_units: [8]}, ",
            BLOCK("dense", FROM(G("dense")), "mlp: {hidden_units: [6, 4]}") "," BLOCK(
                "dot", FROM(B("dense") "," G("sparse")),
                "dot_interaction: {}") "," BLOCK("sparse", FROM(G("sparse")), "concat: {}")),
     {"blocks.dense.", "dense_mlp.", "top_mlp.", "final_mlp."}},
    {"blocks_wukong",
     "wukong",
     BLOCKS(
         GROUP("dense", "price,pos") "," GROUP("sparse", "user,item,tags,wtags"),
         "top_mlp: {hidden_units: [5]}, ",
         BLOCK("dense", FROM(G("dense")), "mlp: {hidden_units: [4]}") "," BLOCK(
             "one", FROM(B("dense") "," G("sparse")),
             "wukong_layer: {lcb_feature_num: 2, fmb_feature_num: 3, compressed_feature_num: 2, "
             "feature_num_mlp: {hidden_units: [5]}}") "," BLOCK("two", FROM(B("one")),
                                                                "wukong_layer: {lcb_feature_num: "
                                                                "1, fmb_feature_num: 2, "
                                                                "compressed_feature_num: 2, "
                                                                "feature_num_mlp: {hidden_units: "
                                                                "[5]}}")),
     {"blocks.dense.", "dense_mlp.", "blocks.one.", "_wukong_layers.0.", "blocks.two.",
      "_wukong_layers.1.", "top_mlp.", "final_mlp."}},
    {"blocks_din",
     "multi_tower_din",
     BLOCKS(GROUP("deep", "user,item") "," TYPED(
                "seq", "SEQUENCE", "item,shop,clicks__item,clicks__shop,clicks__price"),
            "top_mlp: {hidden_units: [5]}, ",
            BLOCK("deep", FROM(G("deep")), "mlp: {hidden_units: [6]}") "," BLOCK(
                "din", FROM(G("seq")), "din: {attn_mlp: {hidden_units: [7, 4]}}")),
     {"blocks.deep.", "towers.deep.", "blocks.din.", "din_towers.0.", "top_mlp.", "final_mlp."}},
    {"blocks_mmoe",
     "task_mmoe_gate",
     "model_config={feature_groups: [" GROUP(
         "all",
         "user,tags,price,pos") "], backbone: {blocks: [" BLOCK("mmoe", FROM(G("all")),
                                                                "mmoe: {num_task: 3, num_expert: "
                                                                "2, expert_mlp: {hidden_units: "
                                                                "[5]}, gate_mlp: "
                                                                "{hidden_units: [4]}}") "], "
                                                                                        "task_"
                                                                                        "towers: "
                                                                                        "[" TOWER("ctr",
                                                                                                  "click",
                                                                                                  "binary_cross_entropy",
                                                                                                  "auc",
                                                                                                  ", mlp: {hidden_units: [5, 4]}, inputs: [{block_name: mmoe, output: 0}]") "," TOWER("grade",
                                                                                                                                                                                      "grade",
                                                                                                                                                                                      "softmax_cross_entropy", "accuracy", ", num_class: 3, inputs: [{block_name: mmoe, output: 1}]") "," TOWER("cvr",
                                                                                                                                                                                                                                                                                                "buy", "binary_cross_entropy", "auc",
                                                                                                                                                                                                                                                                                                ", mlp: {hidden_units: [4]}, task_space_indicator_label: click, in_task_space_weight: "
                                                                                                                                                                                                                                                                                                "1, out_task_space_weight: 0, inputs: [{block_name: mmoe, output: 2}]") "]}}",
     {"blocks.mmoe.", "mmoe."}},
    /* gates of PEPNet: of the domain over all features, of the person over each layer */
    {"blocks_pepnet",
     "task_pepnet",
     "model_config={feature_groups: [" GROUP("all", "user,item,tags,price") "," GROUP(
         "domain", "scene") "," GROUP("uia",
                                      "user,cats") "], backbone: {blocks: [" BLOCK("still",
                                                                                   FROM(G("all")),
                                                                                   "stop_gradient: "
                                                                                   "{}") "," BLOCK("where", FROM(G("domain") "," B("still")), "concat: {}") "," BLOCK("ep", FROM(G("all") "," B("where")), "gate_nu: {hidden_dim: 4}") "," BLOCK("still_ep", FROM(B("ep")),
                                                                                                                                                                                                                                                 "stop_gradient: {}") "," BLOCK("who", FROM(G("uia") "," B("still_ep")),
                                                                                                                                                                                                                                                                                "concat: {}") "," BLOCK("a0",
                                                                                                                                                                                                                                                                                                        FROM(B(
                                                                                                                                                                                                                                                                                                            "ep")),
                                                                                                                                                                                                                                                                                                        "mlp: {hidden_units: [5]}") "," BLOCK("p0", FROM(B("a0") "," B("who")),
                                                                                                                                                                                                                                                                                                                                              "gate_nu: {}") "," BLOCK("a1", FROM(B("p0")), "mlp: {hidden_units: [4]}") "," BLOCK("p1", FROM(B("a1") "," B("who")), "gate_nu: {}") "," BLOCK("a2",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                             FROM(B(
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 "ep")),
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                             "mlp: {hidden_units: [5]}") "," BLOCK("p2", FROM(B("a2") "," B("who")), "gate_nu: {}") "," BLOCK("a3",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              FROM(B("p2")), "mlp: {hidden_units: [4]}") "," BLOCK("p3", FROM(B("a3") "," B("who")), "gate_nu: {}") "], task_towers: [" TOWER("ctr",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "click",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "binary_cross_entropy",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "auc", ", mlp: {hidden_units: [5, 4]}, inputs: [{block_name: p1}]") "," TOWER("cvr",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                            "buy", "binary_cross_entropy", "auc",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                            ", mlp: {hidden_units: [4]}, task_space_indicator_label: click, in_task_space_weight: "
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                            "1, out_task_space_weight: 0, inputs: [{block_name: p3}]") "]}}",
     {"blocks.ep.", "epnet.gate_nu.", "blocks.a0.mlp.0.perceptron.0.", "ppnet.linears.0.",
      "blocks.p0.", "ppnet.gate_nus.0.", "blocks.a1.mlp.0.perceptron.0.", "ppnet.linears.1.",
      "blocks.p1.", "ppnet.gate_nus.1.", "blocks.a2.mlp.0.perceptron.0.", "ppnet.linears.2.",
      "blocks.p2.", "ppnet.gate_nus.2.", "blocks.a3.mlp.0.perceptron.0.", "ppnet.linears.3.",
      "blocks.p3.", "ppnet.gate_nus.3."}},
};

#endif
