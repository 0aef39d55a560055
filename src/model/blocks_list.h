/*
 * blocks_list.h - every block layer: its key and its message. A new layer is one line here; its
 * message and its type cr_block_<key> stand in one of the files blocks_*.c.
 */
#ifndef CR_MODEL_BLOCKS_LIST_H
#define CR_MODEL_BLOCKS_LIST_H

#include "model/blocks_int.h"

#define CR_BLOCKS(X)                                                                               \
    X(activation, cr_block_activation_msg)                                                         \
    X(add, cr_block_add_msg)                                                                       \
    X(all_items, cr_block_all_items_msg)                                                           \
    X(autoint_layer, cr_autoint_layer_msg)                                                         \
    X(aware_pairs, cr_block_aware_pairs_msg)                                                       \
    X(batch_norm, cr_block_batch_norm_msg)                                                         \
    X(bilinear, cr_block_bilinear_msg)                                                             \
    X(both, cr_block_both_msg)                                                                     \
    X(capsules, cr_block_capsules_msg)                                                             \
    X(choose, cr_block_choose_msg)                                                                 \
    X(cin, cr_cin_msg)                                                                             \
    X(concat, cr_block_concat_msg)                                                                 \
    X(conv, cr_block_conv_msg)                                                                     \
    X(cross, cr_cross_msg)                                                                         \
    X(cross_v2, cr_cross_v2_msg)                                                                   \
    X(dien, cr_block_dien_msg)                                                                     \
    X(din, cr_block_din_msg)                                                                       \
    X(dot_interaction, cr_block_dot_interaction_msg)                                               \
    X(dropout, cr_block_dropout_msg)                                                               \
    X(dselect_k, cr_block_dselect_k_msg)                                                           \
    X(ensemble, cr_block_ensemble_msg)                                                             \
    X(fastformer, cr_block_fastformer_msg)                                                         \
    X(field_linear, cr_block_field_linear_msg)                                                     \
    X(field_transformer, cr_block_field_transformer_msg)                                           \
    X(fields, cr_block_fields_msg)                                                                 \
    X(fm, cr_block_fm_msg)                                                                         \
    X(gate_nu, cr_block_gate_nu_msg)                                                               \
    X(group_attention, cr_block_group_attention_msg)                                               \
    X(group_conv, cr_block_group_conv_msg)                                                         \
    X(gru, cr_block_gru_msg)                                                                       \
    X(hard_concrete, cr_block_hard_concrete_msg)                                                   \
    X(interleave, cr_block_interleave_msg)                                                         \
    X(interval_transformer, cr_block_interval_transformer_msg)                                     \
    X(item_scores, cr_block_item_scores_msg)                                                       \
    X(item_vectors, cr_block_item_vectors_msg)                                                     \
    X(knowledge_match, cr_block_knowledge_match_msg)                                               \
    X(label_attention, cr_block_label_attention_msg)                                               \
    X(layer_norm, cr_block_layer_norm_msg)                                                         \
    X(linear, cr_block_linear_msg)                                                                 \
    X(lstm, cr_block_lstm_msg)                                                                     \
    X(mask_block, cr_mask_block_msg)                                                               \
    X(mask_net, cr_mask_net_module_msg)                                                            \
    X(masked_error, cr_block_masked_error_msg)                                                     \
    X(mean, cr_block_mean_msg)                                                                     \
    X(member_attention, cr_block_member_attention_msg)                                             \
    X(mix_fields, cr_block_mix_fields_msg)                                                         \
    X(mlp, cr_mlp_msg)                                                                             \
    X(mmoe, cr_block_mmoe_msg)                                                                     \
    X(multi_window_din, cr_block_multi_window_din_msg)                                             \
    X(multiply, cr_block_multiply_msg)                                                             \
    X(next_item, cr_block_next_item_msg)                                                           \
    X(pair_attention, cr_block_pair_attention_msg)                                                 \
    X(pair_mean, cr_block_pair_mean_msg)                                                           \
    X(pair_products, cr_block_pair_products_msg)                                                   \
    X(penalty, cr_block_penalty_msg)                                                               \
    X(pick, cr_block_pick_msg)                                                                     \
    X(place_vectors, cr_block_place_vectors_msg)                                                   \
    X(plugin, cr_block_plugin_msg)                                                                 \
    X(pooling, cr_block_pooling_msg)                                                               \
    X(product, cr_block_product_msg)                                                               \
    X(query, cr_block_query_msg)                                                                   \
    X(query_attention, cr_block_query_attention_msg)                                               \
    X(residual, cr_block_residual_msg)                                                             \
    X(scale, cr_block_scale_msg)                                                                   \
    X(scatter, cr_block_scatter_msg)                                                               \
    X(self_attention, cr_block_self_attention_msg)                                                 \
    X(senet, cr_block_senet_msg)                                                                   \
    X(seq_conv, cr_block_seq_conv_msg)                                                             \
    X(session_graph, cr_block_session_graph_msg)                                                   \
    X(session_interests, cr_block_session_interests_msg)                                           \
    X(similarity, cr_block_similarity_msg)                                                         \
    X(simple_attention, cr_block_simple_attention_msg)                                             \
    X(slice, cr_block_slice_msg)                                                                   \
    X(social_graph, cr_block_social_graph_msg)                                                     \
    X(softmax, cr_block_softmax_msg)                                                               \
    X(spread, cr_block_spread_msg)                                                                 \
    X(step_attention, cr_block_step_attention_msg)                                                 \
    X(step_pairs, cr_block_step_pairs_msg)                                                         \
    X(stop_gradient, cr_block_stop_gradient_msg)                                                   \
    X(sum, cr_block_sum_msg)                                                                       \
    X(take_steps, cr_block_take_steps_msg)                                                         \
    X(transformer, cr_block_transformer_msg)                                                       \
    X(unroll, cr_block_unroll_msg)                                                                 \
    X(vector_attention, cr_block_vector_attention_msg)                                             \
    X(weigh_steps, cr_block_weigh_steps_msg)                                                       \
    X(wukong_layer, cr_wukong_layer_msg)

#define CR_BLOCK_DECLARE(key, message)                                                             \
    extern const cr_block_type cr_block_##key;                                                     \
    extern const cr_msg message;
CR_BLOCKS(CR_BLOCK_DECLARE)

#endif
