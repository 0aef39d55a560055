/*
 * golden_blocks.h - golden cases once more, with the model as a graph of blocks in the place of the
 * built-in one: the same expected values under other names of parameters.
 */
#ifndef CR_TESTS_GOLDEN_BLOCKS_H
#define CR_TESTS_GOLDEN_BLOCKS_H

static const struct rebuilt {
    const char *name, *of; /* case */
    const char *config;
    const char *renames[20]; /* ours, golden, ours, golden, … without "model." */
} rebuilt[] = {
    {"blocks_deepfm",
     "deepfm_fm",
     "model_config={feature_groups: ["
     "{group_name: wide, group_type: WIDE, feature_names: [user, item, tags, wtags]}, "
     "{group_name: fm, feature_names: [user, item, tags, cats]}, "
     "{group_name: deep, feature_names: [user, item, tags, cats, price, pos]}], "
     "backbone: {concat_blocks: [all], blocks: ["
     "{name: all, inputs: [{block_name: w}, {block_name: f}, {block_name: out}], "
     "add: {}}, "
     "{name: w, inputs: [{feature_group_name: wide}], sum: {}}, "
     "{name: fm, inputs: [{feature_group_name: fm}], fm: {}}, "
     "{name: f, inputs: [{block_name: fm}], sum: {}}, "
     "{name: deep, inputs: [{feature_group_name: deep}], mlp: {hidden_units: [8, 6]}}, "
     "{name: out, inputs: [{block_name: deep}], linear: {units: 1}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}",
     {"blocks.deep.", "deep_mlp.", "blocks.out.", "output_mlp."}},
    {"blocks_dcn_v1",
     "dcn_v1",
     "model_config={feature_groups: ["
     "{group_name: all, feature_names: [user, item, tags, price, pos]}], "
     "backbone: {blocks: ["
     "{name: cross, inputs: [{feature_group_name: all}], cross: {cross_num: 2}}, "
     "{name: deep, inputs: [{feature_group_name: all}], mlp: {hidden_units: [6]}}, "
     "{name: final, inputs: [{block_name: cross}, {block_name: deep}], "
     "mlp: {hidden_units: [5]}}, "
     "{name: out, inputs: [{block_name: final}], linear: {units: 1, bias: false}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}",
     {"blocks.cross.", "cross.", "blocks.deep.", "deep.", "blocks.final.", "final_dnn.",
      "blocks.out.", "output_linear."}},
    {"blocks_dcn_v2",
     "dcn_v2_backbone",
     "model_config={feature_groups: ["
     "{group_name: all, feature_names: [user, item, tags, price, pos]}], "
     "backbone: {blocks: ["
     "{name: below, inputs: [{feature_group_name: all}], mlp: {hidden_units: [5]}}, "
     "{name: cross, inputs: [{block_name: below}], cross_v2: {cross_num: 2, "
     "low_rank: 2}}, "
     "{name: final, inputs: [{block_name: cross}], mlp: {hidden_units: [4]}}, "
     "{name: out, inputs: [{block_name: final}], linear: {units: 1, bias: false}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}",
     {"blocks.below.", "backbone.", "blocks.cross.", "cross.", "blocks.final.", "final.",
      "blocks.out.", "output_mlp."}},
    {"blocks_mask_net",
     "mask_net",
     "model_config={feature_groups: ["
     "{group_name: all, feature_names: [user, tags, price]}], "
     "backbone: {blocks: ["
     "{name: net, inputs: [{feature_group_name: all}], mask_net: {n_mask_blocks: 2, "
     "mask_block: {hidden_dim: 4}, top_mlp: {hidden_units: [4]}}}, "
     "{name: out, inputs: [{block_name: net}], linear: {units: 1, bias: false}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}",
     {"blocks.net.", "mask_net_layer.", "blocks.out.", "output_linear."}},
    /* the same from single mask blocks */
    {"blocks_mask_block",
     "mask_net",
     "model_config={feature_groups: ["
     "{group_name: all, feature_names: [user, tags, price]}], "
     "backbone: {blocks: ["
     "{name: ln, inputs: [{feature_group_name: all}], layer_norm: {}}, "
     "{name: one, inputs: [{block_name: ln}, {feature_group_name: all}], "
     "mask_block: {hidden_dim: 4}}, "
     "{name: two, inputs: [{block_name: ln}, {feature_group_name: all}], "
     "mask_block: {hidden_dim: 4}}, "
     "{name: top, inputs: [{block_name: one}, {block_name: two}], "
     "mlp: {hidden_units: [4]}}, "
     "{name: out, inputs: [{block_name: top}], linear: {units: 1, bias: false}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}",
     {"blocks.ln.", "mask_net_layer.ln_emb.", "blocks.one.", "mask_net_layer.mask_blocks.0.",
      "blocks.two.", "mask_net_layer.mask_blocks.1.", "blocks.top.", "mask_net_layer.top_mlp.",
      "blocks.out.", "output_linear."}},
    {"blocks_autoint",
     "autoint_deep",
     "model_config={feature_groups: ["
     "{group_name: fields, feature_names: [user, item, tags, wtags]}, "
     "{group_name: deep, feature_names: [user, price, pos]}], "
     "backbone: {top_mlp: {hidden_units: [4]}, blocks: ["
     "{name: att, inputs: [{feature_group_name: fields}], autoint_layer: {num_heads: 2, "
     "head_dim: 2, use_residual: false, use_scale: true}}, "
     "{name: deep, inputs: [{feature_group_name: deep}], mlp: {hidden_units: [5]}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}",
     {"blocks.att.", "attention_layers.0.", "blocks.deep.", "deep_mlp.", "top_mlp.", "final_mlp."}},
    {"blocks_dlrm",
     "dlrm",
     "model_config={feature_groups: ["
     "{group_name: dense, feature_names: [price, pos]}, "
     "{group_name: sparse, feature_names: [user, item, tags, cats]}], "
     "backbone: {concat_blocks: [dot, dense, sparse], top_mlp: {hidden_units: [8]}, "
     "blocks: ["
     "{name: dense, inputs: [{feature_group_name: dense}], mlp: {hidden_units: [6, 4]}}, "
     "{name: dot, inputs: [{block_name: dense}, {feature_group_name: sparse}], "
     "dot_interaction: {}}, "
     "{name: sparse, inputs: [{feature_group_name: sparse}], concat: {}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}",
     {"blocks.dense.", "dense_mlp.", "top_mlp.", "final_mlp."}},
    {"blocks_wukong",
     "wukong",
     "model_config={feature_groups: ["
     "{group_name: dense, feature_names: [price, pos]}, "
     "{group_name: sparse, feature_names: [user, item, tags, wtags]}], "
     "backbone: {top_mlp: {hidden_units: [5]}, blocks: ["
     "{name: dense, inputs: [{feature_group_name: dense}], mlp: {hidden_units: [4]}}, "
     "{name: one, inputs: [{block_name: dense}, {feature_group_name: sparse}], "
     "wukong_layer: {lcb_feature_num: 2, fmb_feature_num: 3, compressed_feature_num: 2, "
     "feature_num_mlp: {hidden_units: [5]}}}, "
     "{name: two, inputs: [{block_name: one}], wukong_layer: {lcb_feature_num: 1, "
     "fmb_feature_num: 2, compressed_feature_num: 2, "
     "feature_num_mlp: {hidden_units: [5]}}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}",
     {"blocks.dense.", "dense_mlp.", "blocks.one.", "_wukong_layers.0.", "blocks.two.",
      "_wukong_layers.1.", "top_mlp.", "final_mlp."}},
    {"blocks_din",
     "multi_tower_din",
     "model_config={feature_groups: ["
     "{group_name: deep, feature_names: [user, item]}, "
     "{group_name: seq, group_type: SEQUENCE, feature_names: [item, shop, clicks__item, "
     "clicks__shop, clicks__price]}], "
     "backbone: {top_mlp: {hidden_units: [5]}, blocks: ["
     "{name: deep, inputs: [{feature_group_name: deep}], mlp: {hidden_units: [6]}}, "
     "{name: din, inputs: [{feature_group_name: seq}], din: {attn_mlp: {hidden_units: [7, "
     "4]}}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}",
     {"blocks.deep.", "towers.deep.", "blocks.din.", "din_towers.0.", "top_mlp.", "final_mlp."}},
    /* encoders of a group, in front of its tower */
    {"blocks_simple",
     "enc_simple",
     "model_config={feature_groups: ["
     "{group_name: deep, feature_names: [user, item]}, "
     "{group_name: seq, group_type: SEQUENCE, feature_names: [item, shop, clicks__item, "
     "clicks__shop]}], "
     "backbone: {top_mlp: {hidden_units: [5]}, blocks: ["
     "{name: enc, inputs: [{feature_group_name: seq}], simple_attention: {}}, "
     "{name: tower, inputs: [{feature_group_name: deep}, {block_name: enc}], "
     "mlp: {hidden_units: [6]}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}",
     {"blocks.tower.", "towers.deep.", "top_mlp.", "final_mlp."}},
    {"blocks_windows",
     "enc_windows",
     "model_config={feature_groups: ["
     "{group_name: deep, feature_names: [user, item]}, "
     "{group_name: seq, group_type: SEQUENCE, feature_names: [item, shop, clicks__item, "
     "clicks__shop, clicks__price]}], "
     "backbone: {top_mlp: {hidden_units: [5]}, blocks: ["
     "{name: enc, inputs: [{feature_group_name: seq, max_seq_length: 6}], "
     "multi_window_din: {attn_mlp: {hidden_units: [7, 4]}, windows_len: [2, 1, 3]}}, "
     "{name: tower, inputs: [{feature_group_name: deep}, {block_name: enc}], "
     "mlp: {hidden_units: [6]}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}",
     {"blocks.tower.", "towers.deep.", "top_mlp.", "final_mlp.", "blocks.enc.",
      "embedding_group._group_name_to_seq_encoders.deep.0."}},
    {"blocks_self",
     "enc_self",
     "model_config={feature_groups: ["
     "{group_name: deep, feature_names: [user, item]}, "
     "{group_name: seq, group_type: SEQUENCE, feature_names: [clicks__item, clicks__shop, "
     "clicks__price]}], "
     "backbone: {top_mlp: {hidden_units: [5]}, blocks: ["
     "{name: enc, inputs: [{feature_group_name: seq}], "
     "self_attention: {multihead_attn_dim: 6, num_heads: 2}}, "
     "{name: tower, inputs: [{feature_group_name: deep}, {block_name: enc}], "
     "mlp: {hidden_units: [6]}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}",
     {"blocks.tower.", "towers.deep.", "top_mlp.", "final_mlp.", "blocks.enc.",
      "embedding_group._group_name_to_seq_encoders.deep.0."}},
    {"blocks_mean",
     "enc_mean",
     "model_config={feature_groups: ["
     "{group_name: deep, feature_names: [user, item]}, "
     "{group_name: seq, group_type: SEQUENCE, feature_names: [clicks__item, clicks__shop, "
     "clicks__price]}], "
     "backbone: {top_mlp: {hidden_units: [5]}, blocks: ["
     "{name: enc, inputs: [{feature_group_name: seq}], pooling: {}}, "
     "{name: tower, inputs: [{feature_group_name: deep}, {block_name: enc}], "
     "mlp: {hidden_units: [6]}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}",
     {"blocks.tower.", "towers.deep.", "top_mlp.", "final_mlp."}},
    {"blocks_sum",
     "enc_sum_cut",
     "model_config={feature_groups: ["
     "{group_name: deep, feature_names: [user, item]}, "
     "{group_name: seq, group_type: SEQUENCE, feature_names: [clicks__item, clicks__shop, "
     "clicks__price]}], "
     "backbone: {top_mlp: {hidden_units: [5]}, blocks: ["
     "{name: enc, inputs: [{feature_group_name: seq, max_seq_length: 4}], "
     "pooling: {pooling_type: sum}}, "
     "{name: tower, inputs: [{feature_group_name: deep}, {block_name: enc}], "
     "mlp: {hidden_units: [6]}}]}, "
     "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}",
     {"blocks.tower.", "towers.deep.", "top_mlp.", "final_mlp."}},
    {"blocks_mmoe",
     "task_mmoe_gate",
     "model_config={feature_groups: ["
     "{group_name: all, feature_names: [user, tags, price, pos]}], "
     "backbone: {blocks: ["
     "{name: mmoe, inputs: [{feature_group_name: all}], mmoe: {num_task: 3, "
     "num_expert: 2, expert_mlp: {hidden_units: [5]}, gate_mlp: {hidden_units: [4]}}}], "
     "task_towers: ["
     "{tower_name: ctr, label_name: click, losses: [{binary_cross_entropy: {}}], "
     "metrics: [{auc: {}}], mlp: {hidden_units: [5, 4]}, inputs: [{block_name: mmoe, "
     "output: 0}]}, "
     "{tower_name: grade, label_name: grade, losses: [{softmax_cross_entropy: {}}], "
     "metrics: [{accuracy: {}}], num_class: 3, inputs: [{block_name: mmoe, output: 1}]}, "
     "{tower_name: cvr, label_name: buy, losses: [{binary_cross_entropy: {}}], "
     "metrics: [{auc: {}}], mlp: {hidden_units: [4]}, task_space_indicator_label: click, "
     "in_task_space_weight: 1, out_task_space_weight: 0, inputs: [{block_name: mmoe, "
     "output: 2}]}]}}",
     {"blocks.mmoe.", "mmoe."}},
    /* gates of PEPNet: of the domain over all features, of the person over each layer */
    {"blocks_pepnet",
     "task_pepnet",
     "model_config={feature_groups: ["
     "{group_name: all, feature_names: [user, item, tags, price]}, "
     "{group_name: domain, feature_names: [scene]}, "
     "{group_name: uia, feature_names: [user, cats]}], "
     "backbone: {blocks: ["
     "{name: still, inputs: [{feature_group_name: all}], stop_gradient: {}}, "
     "{name: where, inputs: [{feature_group_name: domain}, {block_name: still}], "
     "concat: {}}, "
     "{name: ep, inputs: [{feature_group_name: all}, {block_name: where}], "
     "gate_nu: {hidden_dim: 4}}, "
     "{name: still_ep, inputs: [{block_name: ep}], stop_gradient: {}}, "
     "{name: who, inputs: [{feature_group_name: uia}, {block_name: still_ep}], "
     "concat: {}}, "
     "{name: a0, inputs: [{block_name: ep}], mlp: {hidden_units: [5]}}, "
     "{name: p0, inputs: [{block_name: a0}, {block_name: who}], gate_nu: {}}, "
     "{name: a1, inputs: [{block_name: p0}], mlp: {hidden_units: [4]}}, "
     "{name: p1, inputs: [{block_name: a1}, {block_name: who}], gate_nu: {}}, "
     "{name: a2, inputs: [{block_name: ep}], mlp: {hidden_units: [5]}}, "
     "{name: p2, inputs: [{block_name: a2}, {block_name: who}], gate_nu: {}}, "
     "{name: a3, inputs: [{block_name: p2}], mlp: {hidden_units: [4]}}, "
     "{name: p3, inputs: [{block_name: a3}, {block_name: who}], gate_nu: {}}], "
     "task_towers: ["
     "{tower_name: ctr, label_name: click, losses: [{binary_cross_entropy: {}}], "
     "metrics: [{auc: {}}], mlp: {hidden_units: [5, 4]}, inputs: [{block_name: p1}]}, "
     "{tower_name: cvr, label_name: buy, losses: [{binary_cross_entropy: {}}], "
     "metrics: [{auc: {}}], mlp: {hidden_units: [4]}, task_space_indicator_label: click, "
     "in_task_space_weight: 1, out_task_space_weight: 0, inputs: [{block_name: p3}]}]}}",
     {"blocks.ep.", "epnet.gate_nu.", "blocks.a0.mlp.0.perceptron.0.", "ppnet.linears.0.",
      "blocks.p0.", "ppnet.gate_nus.0.", "blocks.a1.mlp.0.perceptron.0.", "ppnet.linears.1.",
      "blocks.p1.", "ppnet.gate_nus.1.", "blocks.a2.mlp.0.perceptron.0.", "ppnet.linears.2.",
      "blocks.p2.", "ppnet.gate_nus.2.", "blocks.a3.mlp.0.perceptron.0.", "ppnet.linears.3.",
      "blocks.p3.", "ppnet.gate_nus.3."}},
};

#endif
