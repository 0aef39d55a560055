/*
 * blocks.c - the layers of a backbone, each over two vectors of width 4 or over a sequence: how
 * wide what it gives is, and which parameters it has.
 */
#include "unit/model/model_test.h"

#include "model/blocks_list.h"

#define GROUPS M_GROUP("ab", "a, b") ", " M_SEQ("s", "b, hist__b")
/* the block t reads a group; what it gives goes through output_mlp, whose width tells its own */
#define MODEL(input, layer)                                                                        \
    M_MODEL(GROUPS,                                                                                \
            "backbone: {blocks: [{name: t, inputs: [" input "], " layer "}], concat_blocks: [t]}")
#define AB   "{feature_group_name: ab}"
#define SEQ  "{feature_group_name: s}"
#define MLP3 "{hidden_units: [3]}"

static const struct {
    const char *key, *config;
    int width;          /* 1: it is the logits itself */
    const char *params; /* below model.blocks.t., in order */
} layers[] = {
    {"both",
     M_MODEL(GROUPS, "backbone: {blocks: [{name: a, inputs: [" AB
                     "], sum: {}}, {name: t, inputs: [{block_name: a}, {block_name: a}], both: "
                     "{}}], concat_blocks: [t]}"),
     1, ""},
    {"bilinear", MODEL(AB, "bilinear: {}"), 4, "weight"},
    {"capsules", MODEL(SEQ, "capsules: {num_interests: 2, dim: 3, max_seq_length: 6}"), 6,
     "bilinear.weight routing_logits"},
    {"conv", MODEL(AB, "conv: {filters: 2, kernel_height: 2, kernel_width: 2}"), 6, "weight bias"},
    {"dien", MODEL(SEQ, "dien: {attn_mlp: " MLP3 "}"), 4,
     "gru.weight_ih_l0 gru.weight_hh_l0 gru.bias_ih_l0 gru.bias_hh_l0 "
     "mlp.mlp.0.perceptron.0.weight "
     "mlp.mlp.0.perceptron.0.bias linear.weight linear.bias evolution.weight_ih_l0 "
     "evolution.weight_hh_l0 evolution.bias_ih_l0 evolution.bias_hh_l0"},
    {"fastformer", MODEL(AB, "fastformer: {vectors: 2, num_heads: 2, ff_units: 3}"), 4,
     "position_embeddings norm.weight norm.bias layers.0.query.weight layers.0.query.bias "
     "layers.0.key.weight layers.0.key.bias layers.0.query_att.weight layers.0.query_att.bias "
     "layers.0.key_att.weight layers.0.key_att.bias layers.0.transform.weight "
     "layers.0.transform.bias layers.0.dense.weight layers.0.dense.bias layers.0.norm1.weight "
     "layers.0.norm1.bias layers.0.linear1.weight layers.0.linear1.bias layers.0.linear2.weight "
     "layers.0.linear2.bias layers.0.norm2.weight layers.0.norm2.bias att_fc1.weight att_fc1.bias "
     "att_fc2.weight att_fc2.bias"},
    {"field_transformer", MODEL(AB, "field_transformer: {num_heads: 2, ff_units: 3}"), 8,
     "layers.0.self_attn.q_proj.weight layers.0.self_attn.q_proj.bias "
     "layers.0.self_attn.k_proj.weight layers.0.self_attn.k_proj.bias "
     "layers.0.self_attn.v_proj.weight layers.0.self_attn.v_proj.bias layers.0.norm1.weight "
     "layers.0.norm1.bias layers.0.self_attn.out_proj.weight layers.0.self_attn.out_proj.bias "
     "layers.0.linear1.weight layers.0.linear1.bias layers.0.linear2.weight layers.0.linear2.bias "
     "layers.0.norm2.weight layers.0.norm2.bias"},
    {"place_vectors", MODEL(AB, "place_vectors: {dim: 1}"), 10, "position_embeddings"},
    {"group_attention", MODEL(AB, "group_attention: {vectors: 2, units: 3}"), 4,
     "attention.weight attention.bias projection.weight"},
    {"group_conv", MODEL(AB, "group_conv: {vectors: 2, filters: 5}"), 10, "weight bias"},
    {"hard_concrete", MODEL(AB, "hard_concrete: {penalty: 0.1}"), 8, ""},
    {"interval_transformer",
     M_MODEL(GROUPS, "backbone: {blocks: [{name: k, inputs: [" SEQ
                     "], linear: {units: 1}}, {name: t, inputs: [" SEQ
                     ", {block_name: k}, {block_name: k}], interval_transformer: {num_heads: 2, "
                     "max_seq_length: 5, time_span: 3}}, {name: p, inputs: [{block_name: t}], "
                     "pooling: {}}], concat_blocks: [p]}"),
     4,
     "place_k.weight place_v.weight time_k.weight time_v.weight layers.0.norm1.weight "
     "layers.0.norm1.bias layers.0.q_proj.weight layers.0.q_proj.bias layers.0.k_proj.weight "
     "layers.0.k_proj.bias layers.0.v_proj.weight layers.0.v_proj.bias layers.0.norm2.weight "
     "layers.0.norm2.bias layers.0.linear1.weight layers.0.linear1.bias layers.0.linear2.weight "
     "layers.0.linear2.bias norm.weight norm.bias"},
    {"step_pairs", MODEL(SEQ ", " SEQ ", " SEQ, "step_pairs: {}"), 4, ""},
    {"item_vectors",
     M_MODEL(GROUPS, "backbone: {blocks: [{name: a, inputs: [" AB
                     "], sum: {}}, {name: t, inputs: [{block_name: a}], item_vectors: {num_items: "
                     "5, dim: 3}}], concat_blocks: [t]}"),
     3, "embedding.weight"},
    {"take_steps",
     M_MODEL(GROUPS, "backbone: {blocks: [{name: k, inputs: [" SEQ
                     "], linear: {units: 1}}, {name: t, inputs: [" SEQ
                     ", {block_name: k}], take_steps: {}}, {name: p, inputs: [{block_name: t}], "
                     "pooling: {}}], concat_blocks: [p]}"),
     4, ""},
    {"item_scores",
     M_MODEL(GROUPS, "backbone: {blocks: [{name: k, inputs: [" SEQ
                     "], linear: {units: 1}}, {name: e, inputs: [{block_name: k}], item_vectors: "
                     "{num_items: 5, dim: 3}}, {name: t, inputs: [{block_name: e}, {block_name: "
                     "k}], item_scores: {items_of: e}}], concat_blocks: [t]}"),
     5, "bias"},
    {"interleave", MODEL(AB ", " AB, "interleave: {}"), 16, ""},
    {"gru", MODEL(SEQ, "gru: {hidden_size: 6}"), 6,
     "weight_ih_l0 weight_hh_l0 bias_ih_l0 bias_hh_l0"},
    {"dselect_k", MODEL(AB ", " AB ", " AB, "dselect_k: {entropy_weight: 0.1}"), 8,
     "z_logits w_logits"},
    {"lstm", MODEL(SEQ, "lstm: {hidden_size: 3, both_ways: true}"), 6,
     "weight_ih_l0 weight_hh_l0 bias_ih_l0 bias_hh_l0 weight_ih_l0_reverse weight_hh_l0_reverse "
     "bias_ih_l0_reverse bias_hh_l0_reverse"},
    {"session_interests",
     M_MODEL(GROUPS,
             "backbone: {blocks: [{name: k, inputs: [" SEQ
             "], linear: {units: 1}}, {name: t, inputs: [" SEQ
             ", {block_name: k}, {block_name: k}, {block_name: k}], session_interests: {num_heads: "
             "2, ff_units: 3, bias: false}}, {name: p, inputs: [{block_name: t}], pooling: {}}], "
             "concat_blocks: [p]}"),
     4,
     "session_bias place_bias unit_bias transformer.layers.0.self_attn.in_proj_weight "
     "transformer.layers.0.self_attn.out_proj.weight transformer.layers.0.linear1.weight "
     "transformer.layers.0.linear2.weight transformer.layers.0.norm1.weight "
     "transformer.layers.0.norm1.bias transformer.layers.0.norm2.weight "
     "transformer.layers.0.norm2.bias"},
    {"label_attention", MODEL(AB ", " AB, "label_attention: {}"), 8, ""},
    {"field_linear", MODEL(AB, "field_linear: {units: 3}"), 6, "weight bias"},
    {"mix_fields", MODEL(AB, "mix_fields: {units: 3}"), 12, "weight"},
    {"pair_attention", MODEL(AB, "pair_attention: {attention_units: 3}"), 4,
     "attention.weight attention.bias projection.weight"},
    {"pair_mean",
     M_MODEL(GROUPS,
             "backbone: {blocks: [{name: p, inputs: [" AB
             "], pair_products: {self: true}}, {name: s, inputs: [{block_name: p}], sum: {each: "
             "true}}, {name: t, inputs: [{block_name: p}, {block_name: s}], pair_mean: {self: "
             "true}}], concat_blocks: [t]}"),
     8, ""},
    {"pair_products", MODEL(AB, "pair_products: {self: true}"), 12, ""},
    {"product", MODEL(AB, "product: {units: 3}"), 3, "weight"},
    {"penalty", MODEL(AB, "penalty: {factor: 2}"), 8, ""},
    {"scale", MODEL(AB, "scale: {bias: true}"), 8, "weight bias"},
    {"seq_conv",
     M_MODEL(GROUPS,
             "backbone: {blocks: [{name: t, inputs: [" SEQ "], seq_conv: {filters: 5}}, {name: p, "
             "inputs: [{block_name: t}], pooling: {pooling_type: max}}], concat_blocks: [p]}"),
     5, "weight bias"},
    {"scatter",
     M_MODEL(GROUPS, "backbone: {blocks: [{name: k, inputs: [" SEQ
                     "], linear: {units: 2}}, {name: t, inputs: [{block_name: k}], scatter: "
                     "{columns: 5}}], concat_blocks: [t]}"),
     5, ""},
    {"query_attention", MODEL(AB ", " SEQ, "query_attention: {units: 3, use_bn: true}"), 4,
     "attention.weight norm.weight norm.bias norm.running_mean norm.running_var "
     "norm.num_batches_tracked projection.weight projection.bias scale.weight"},
    {"vector_attention", MODEL(AB ", " AB, "vector_attention: {units: 3}"), 4,
     "attention.weight projection.weight projection.bias scale.weight"},
    {"member_attention",
     M_MODEL(GROUPS, "backbone: {blocks: [{name: k, inputs: [" SEQ
                     "], linear: {units: 1}}, {name: t, inputs: [" SEQ ", {block_name: k}, " SEQ
                     "], member_attention: {heads: 2, units: 3}}, {name: p, inputs: [{block_name: "
                     "t}], pooling: {pooling_type: sum}}], concat_blocks: [p]}"),
     6,
     "heads.0.member.weight heads.0.step.weight heads.0.projection.weight "
     "heads.0.projection.bias heads.0.scale.weight heads.1.member.weight heads.1.step.weight "
     "heads.1.projection.weight heads.1.projection.bias heads.1.scale.weight"},
    {"masked_error", MODEL(AB ", " AB, "masked_error: {}"), 8, ""},
    {"similarity", MODEL(AB ", " AB, "similarity: {}"), 4, ""},
    {"transformer", MODEL(SEQ, "transformer: {num_heads: 2, ff_units: 5}"), 4,
     "layers.0.self_attn.in_proj_weight layers.0.self_attn.in_proj_bias "
     "layers.0.self_attn.out_proj.weight layers.0.self_attn.out_proj.bias "
     "layers.0.linear1.weight layers.0.linear1.bias layers.0.linear2.weight "
     "layers.0.linear2.bias layers.0.norm1.weight layers.0.norm1.bias "
     "layers.0.norm2.weight layers.0.norm2.bias"},
    {"unroll", MODEL(SEQ, "unroll: {steps: 3}"), 12, ""},
    {"activation", MODEL(AB, "activation: {function: nn.Tanh}"), 8, ""},
    {"add", MODEL(AB ", " AB, "add: {}"), 8, ""},
    {"all_items",
     M_MODEL(GROUPS, "backbone: {blocks: [{name: k, inputs: [" SEQ
                     "], linear: {units: 1}}, {name: t, inputs: [" AB ", " AB
                     ", {block_name: k}], all_items: {num_features: 4, features_per_item: 2, "
                     "items: [0, 1, 2, 3, 0, 3]}}], concat_blocks: [t]}"),
     3, "item_embedding.weight item_bias.weight match.weight cross.weight bias"},
    {"autoint_layer", MODEL(AB, "autoint_layer: {num_heads: 2, head_dim: 3}"), 12,
     "w_q.weight w_k.weight w_v.weight w_res.weight"},
    {"aware_pairs", MODEL(AB ", " AB, "aware_pairs: {}"), 4, ""},
    {"batch_norm", MODEL(AB, "batch_norm: {}"), 8,
     "weight bias running_mean running_var num_batches_tracked"},
    {"choose", MODEL(AB, "choose: {columns: [7, 0, 1, 2, 5]}"), 5, ""},
    {"cin", MODEL(AB, "cin: {cin_layer_size: [3, 2]}"), 5,
     "cin_layers.0.weight cin_layers.0.bias cin_layers.1.weight cin_layers.1.bias"},
    {"concat", MODEL(AB ", " AB, "concat: {}"), 16, ""},
    {"cross", MODEL(AB, "cross: {cross_num: 1}"), 8, "w.0.weight b.0"},
    {"cross_v2", MODEL(AB, "cross_v2: {cross_num: 1, low_rank: 2}"), 8,
     "u_kernels.0.weight v_kernels.0.weight v_kernels.0.bias"},
    {"din", MODEL(SEQ, "din: {attn_mlp: " MLP3 "}"), 4,
     "mlp.mlp.0.perceptron.0.weight mlp.mlp.0.perceptron.0.bias linear.weight linear.bias"},
    {"dot_interaction", MODEL(AB, "dot_interaction: {}"), 1, ""},
    {"dropout", MODEL(AB, "dropout: {}"), 8, ""},
    {"fields", MODEL(AB, "fields: {dim: 2}"), 8, ""},
    {"fm", MODEL(AB, "fm: {}"), 4, ""},
    {"ensemble", MODEL(AB, "ensemble: {members: 2, hidden_units: [3]}"), 1,
     "layers.0.weight layers.0.r.0.weight layers.0.s.0.weight layers.0.bias.0.weight "
     "layers.0.r.1.weight layers.0.s.1.weight layers.0.bias.1.weight outputs.0.weight "
     "outputs.0.bias outputs.1.weight outputs.1.bias"},
    {"gate_nu", MODEL(AB ", " AB, "gate_nu: {hidden_dim: 3}"), 8,
     "dense_layers.0.weight dense_layers.0.bias dense_layers.2.weight dense_layers.2.bias"},
    {"layer_norm", MODEL(AB, "layer_norm: {}"), 8, "weight bias"},
    {"linear", MODEL(AB, "linear: {units: 5}"), 5, "weight bias"},
    {"mask_block", MODEL(AB ", " AB, "mask_block: {reduction_ratio: 1, hidden_dim: 3}"), 3,
     "mask_generator.0.weight mask_generator.0.bias mask_generator.2.weight mask_generator.2.bias "
     "ffn.0.weight ffn.0.bias ffn.1.weight ffn.1.bias"},
    {"mask_net",
     MODEL(AB, "mask_net: {n_mask_blocks: 2, mask_block: {aggregation_dim: 2, hidden_dim: 3}}"), 6,
     "ln_emb.weight ln_emb.bias mask_blocks.0.mask_generator.0.weight "
     "mask_blocks.0.mask_generator.0.bias mask_blocks.0.mask_generator.2.weight "
     "mask_blocks.0.mask_generator.2.bias mask_blocks.0.ffn.0.weight "
     "mask_blocks.0.ffn.0.bias mask_blocks.0.ffn.1.weight mask_blocks.0.ffn.1.bias "
     "mask_blocks.1.mask_generator.0.weight mask_blocks.1.mask_generator.0.bias "
     "mask_blocks.1.mask_generator.2.weight mask_blocks.1.mask_generator.2.bias "
     "mask_blocks.1.ffn.0.weight mask_blocks.1.ffn.0.bias mask_blocks.1.ffn.1.weight "
     "mask_blocks.1.ffn.1.bias"},
    {"mean", MODEL(AB, "mean: {fields: true}"), 4, ""},
    {"mlp", MODEL(AB, "mlp: " MLP3), 3, "mlp.0.perceptron.0.weight mlp.0.perceptron.0.bias"},
    {"mmoe", MODEL(AB, "mmoe: {num_task: 1, num_expert: 2, expert_mlp: " MLP3 "}"), 3,
     "expert_mlps.0.mlp.0.perceptron.0.weight expert_mlps.0.mlp.0.perceptron.0.bias "
     "expert_mlps.1.mlp.0.perceptron.0.weight expert_mlps.1.mlp.0.perceptron.0.bias "
     "gate_finals.0.weight gate_finals.0.bias"},
    {"multi_window_din",
     MODEL("{feature_group_name: s, max_seq_length: 6}",
           "multi_window_din: {attn_mlp: " MLP3 ", windows_len: [2, 4]}"),
     12, /* the windows and the query */
     "mlp.mlp.0.perceptron.0.weight mlp.mlp.0.perceptron.0.bias linear.weight linear.bias "
     "active.weight"},
    {"multiply", MODEL(AB ", " AB, "multiply: {}"), 8, ""},
    {"pooling", MODEL(SEQ, "pooling: {pooling_type: sum}"), 4, ""},
    {"query", MODEL(SEQ, "query: {}"), 4, ""},
    {"residual", MODEL(AB, "residual: {mlp: {hidden_units: [8]}}"), 8,
     "mlp.0.perceptron.0.weight mlp.0.perceptron.0.bias"},
    {"self_attention", MODEL(SEQ, "self_attention: {multihead_attn_dim: 4, num_heads: 2}"), 4,
     "_query.weight _query.bias _key.weight _key.bias _value.weight _value.bias "
     "_multihead_attn.in_proj_weight _multihead_attn.in_proj_bias "
     "_multihead_attn.out_proj.weight _multihead_attn.out_proj.bias"},
    {"senet", MODEL(AB, "senet: {reduction_ratio: 1}"), 8,
     "excitation.0.weight excitation.2.weight"},
    {"simple_attention", MODEL(SEQ, "simple_attention: {}"), 4, ""},
    {"slice", MODEL(AB, "slice: {begin: 2, width: 5}"), 5, ""},
    {"knowledge_match",
     M_MODEL(GROUPS, "backbone: {blocks: [{name: v, inputs: [" AB
                     "], linear: {units: 6}}, {name: f, inputs: [{block_name: v}], fields: {dim: "
                     "2}}, {name: t, inputs: [{block_name: f}, {block_name: f}, {block_name: f}], "
                     "knowledge_match: {words: 1, entities: 1, units: 4, num_heads: 2, "
                     "attention_units: 3, entity_heads: 2}}], concat_blocks: [t]}"),
     1,
     "attn_layer1.weight attn_layer1.bias attn_layer2.weight entity_encoder.dense1.weight "
     "entity_encoder.dense1.bias entity_encoder.dense2.weight gat_fuse.weight gat_fuse.bias "
     "gcat.q_proj.weight gcat.k_proj.weight gcat.v_proj.weight gcat.dense1.weight gcat.dense1.bias "
     "gcat.dense2.weight gcat.dense2.bias gcat.dense3.weight gcat.dense3.bias gcat.dense5.weight "
     "gcat.dense5.bias merge.weight merge.bias gcat0.q_proj.weight gcat0.k_proj.weight "
     "gcat0.v_proj.weight gcat0.dense1.weight gcat0.dense1.bias gcat0.dense2.weight "
     "gcat0.dense2.bias gcat0.dense3.weight gcat0.dense3.bias gcat0.dense5.weight "
     "gcat0.dense5.bias merge_layer.weight merge_layer.bias match_att1.weight match_att1.bias "
     "match_att2.weight match_reduce.weight match_reduce.bias context_encoder.conv.weight "
     "context_encoder.conv.bias context_encoder.q_proj.weight context_encoder.k_proj.weight "
     "context_encoder.v_proj.weight"},
    {"social_graph",
     M_MODEL(GROUPS, "backbone: {blocks: [{name: k, inputs: [" SEQ
                     "], linear: {units: 1}}, {name: n, inputs: [" AB
                     "], linear: {units: 1}}, {name: t, inputs: [{block_name: n}, {block_name: n}, "
                     "{block_name: k}], social_graph: {num_users: 3, num_items: 4, dim: 2, rated: "
                     "[0, 0, 1, 2, 2, 3, 1, 0], trusts: [0, 1]}}], concat_blocks: [t]}"),
     4,
     "user_embedding.weight item_embedding.weight gating.weight gating.bias attention.weight "
     "attention_mat.weight self_gating.weight self_gating.bias"},
    {"softmax", MODEL(AB, "softmax: {}"), 8, ""},
    {"step_attention",
     M_MODEL(GROUPS, "backbone: {blocks: [{name: t, inputs: [" SEQ ", " SEQ
                     "], step_attention: {}}, {name: p, inputs: [{block_name: t}], pooling: {}}], "
                     "concat_blocks: [p]}"),
     4, ""},
    {"spread",
     M_MODEL(GROUPS, "backbone: {blocks: [{name: t, inputs: [" SEQ ", " AB
                     "], spread: {}}, {name: p, inputs: [{block_name: t}], pooling: {}}], "
                     "concat_blocks: [p]}"),
     12, ""},
    {"weigh_steps", MODEL(SEQ ", " SEQ, "weigh_steps: {leave_out: 1}"), 4, ""},
    {"next_item",
     M_MODEL(GROUPS, "backbone: {blocks: [{name: k, inputs: [" AB
                     "], sum: {}}, {name: t, inputs: [" AB ", {block_name: k}, " AB
                     ", {block_name: k}], next_item: {num_items: 5}}], concat_blocks: [t]}"),
     1, "embedding.weight"},
    {"stop_gradient", MODEL(AB, "stop_gradient: {}"), 8, ""},
    {"sum", MODEL(AB, "sum: {}"), 1, ""},
    {"wukong_layer",
     MODEL(AB, "wukong_layer: {lcb_feature_num: 2, fmb_feature_num: 1, compressed_feature_num: 2, "
               "feature_num_mlp: " MLP3 "}"),
     12,
     "lcb.weight fmb.weight fmb.norm.weight fmb.norm.bias "
     "fmb.mlp.mlp.0.perceptron.0.weight fmb.mlp.mlp.0.perceptron.0.bias "
     "fmb.feature_out_liner.weight fmb.feature_out_liner.bias "
     "residual_projection.weight norm.weight norm.bias"},
};
#define N_LAYERS ((int)(sizeof(layers) / sizeof(layers[0])))

/* a layer that is added needs a line above */
TEST(all_are_here) {
    const char *const keys[] = {
#define KEY(key, message) #key,
        CR_BLOCKS(KEY)};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        int here = 0;
        for (int k = 0; k < N_LAYERS; k++)
            here += strcmp(layers[k].key, keys[i]) == 0;
        /* plugin needs a library, the others inputs of several kinds: tests/unit/run/own_models.c
         */
        static const char *const elsewhere[] = {"plugin", "pick", "session_graph"};
        bool other = false;
        for (int k = 0; k < 3; k++)
            other |= strcmp(keys[i], elsewhere[k]) == 0;
        if (here != !other) fprintf(stderr, "%s\n", keys[i]);
        CHECK_INT(here, !other);
    }
}

TEST(what_they_give) {
    for (int i = 0; i < N_LAYERS; i++) {
        m_model *t = m_open(layers[i].config, (m_opts){0});
        for (size_t k = 0; k < t->diag.n; k++) /* one of the two groups is not read */
            if (t->diag.v[k].sev == CR_SEV_ERROR)
                fprintf(stderr, "%s: %s\n", layers[i].key, t->diag.v[k].msg);
        CHECK(t->m != NULL);
        if (!t->m) {
            m_close(t);
            continue;
        }
        char params[2000] = "";
        int64_t width = 1;
        for (int n = 0; n < t->m->graph.n; n++) {
            const cr_node *p = t->m->graph.nodes[n];
            if (p->cls != CR_PARAM || p->op) continue;
            if (strcmp(p->name, "model.output_mlp.weight") == 0) width = p->cols;
            if (strncmp(p->name, "model.blocks.t.", 15) != 0) continue;
            snprintf(params + strlen(params), sizeof(params) - strlen(params), "%s%s",
                     *params ? " " : "", p->name + 15);
        }
        if (width != layers[i].width) fprintf(stderr, "%s:\n", layers[i].key);
        CHECK_INT(width, layers[i].width);
        if (strcmp(params, layers[i].params) != 0) fprintf(stderr, "%s:\n", layers[i].key);
        CHECK_STR(params, layers[i].params);
        m_close(t);
    }
}

/* windows over steps that a sequence cannot have are no mistake, whether max_seq_length says so or
 * the sequence_length (6) of the feature */
TEST(windows) {
#define WINDOWS(input, len)                                                                        \
    MODEL("{feature_group_name: s" input "}",                                                      \
          "multi_window_din: {attn_mlp: " MLP3 ", windows_len: [2, " len "]}")
    static const struct {
        const char *config, *says;
    } v[] = {
        {WINDOWS("", "4"), ""},
        {WINDOWS(", max_seq_length: 6", "4"), ""},
        {WINDOWS(", max_seq_length: 5", "3"), ""},
        {WINDOWS("", "7"), ""},
        {WINDOWS("", "3"),
         "block 't': the windows hold 5 steps; write max_seq_length: 5 where the group is read"},
        {WINDOWS(", max_seq_length: 6", "3"),
         "block 't': the windows hold 5 steps; write max_seq_length: 5 where the group is read"},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        m_model *t = m_open(v[i].config, (m_opts){0});
        const char *said = "";
        for (size_t k = 0; k < t->diag.n; k++)
            if (t->diag.v[k].sev == CR_SEV_ERROR) said = t->diag.v[k].msg;
        CHECK_STR(said, v[i].says);
        CHECK_INT(t->m != NULL, !*v[i].says);
        m_close(t);
    }
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(all_are_here), CASE(what_they_give), CASE(windows)};
    cr_kern_init();
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
