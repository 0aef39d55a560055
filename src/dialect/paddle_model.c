/*
 * paddle_model.c - which of PaddleRec's models a config means.
 *
 * A config names a Python file, and its folder names the model: models/rank/deepfm/model.py. The
 * last folder of the path of the model, of the workspace and of the config are tried in this order.
 * Where none is known (a project's own folder), hyper-parameters that only one model has decide.
 * phase.model: builtin:deepfm says it outright.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/fs.h"
#include "dialect/paddle_int.h"

static const char *const idle_slots[] = {"distributed_embedding", "sparse_inputs_slots",
                                         "sparse_fea_num", "is_sparse", NULL};
static const char *const idle_feat[] = {"distributed_embedding",
                                        "is_sparse",
                                        "sparse_feature_dim",
                                        "num_field",
                                        "fc_sizes",
                                        "act",
                                        NULL};
static const char *const idle_ncf[] = {"distributed_embedding", NULL};
static const char *const idle_slot_dnn[] = {"distributed_embedding", "emb_dim", NULL};
static const char *const idle_dcn[] = {"distributed_embedding",
                                       "sparse_inputs_slots",
                                       "clip_by_norm",
                                       "is_sparse",
                                       "dnn_use_bn",
                                       "l2_reg_cross",
                                       NULL};
static const char *const idle_xdeepfm[] = {"distributed_embedding",
                                           "sparse_inputs_slots",
                                           "fc_sizes",
                                           "num_field",
                                           "is_sparse",
                                           "act",
                                           "reg",
                                           NULL};
static const char *const idle_autoint[] = {"distributed_embedding", "use_sparse", "num_field",
                                           "is_sparse", NULL};
static const char *const idle_autofis[] = {"n_col", NULL};
static const char *const idle_fastformer[] = {"hidden_size", "max_position_embeddings", NULL};
static const char *const idle_dlrm[] = {"distributed_embedding", "sparse_inputs_slots", "num_field",
                                        NULL};
static const char *const idle_din[] = {"distributed_embedding", "use_DataLoader", "is_sparse",
                                       NULL};
static const char *const idle_bert4rec[] = {"_sent_types", "num_test_user", NULL};
static const char *const idle_tisas[] = {"num_users", NULL};
static const char *const idle_dpin[] = {"is_sparse", NULL};
static const char *const idle_listwise[] = {"batch_size", NULL};
static const char *const idle_dselect[] = {"tower_size", NULL};
static const char *const idle_none[] = {NULL};
static const char *const idle_loader[] = {"distributed_embedding", "use_DataLoader", "is_sparse",
                                          NULL};
static const char *const idle_ensfm[] = {"mode", NULL};
static const char *const idle_escm2[] = {
    "distributed_embedding", "gate_num",     "num_field",    "max_len",
    "ctr_fc_sizes",          "cvr_fc_sizes", "feature_size", NULL};
static const char *const idle_flen[] = {"distributed_embedding", "sparse_inputs_slots",
                                        "sparse_num_field", "dense_input_dim", NULL};
static const char *const idle_tasks[] = {
    "distributed_embedding", "gate_num", "num_field", "max_len", "is_sparse", NULL};

/* The models, in alphabetical order. The optimizer is the one that the shipped code of the new kind
 * takes. */
static const cr_pd_model models[] = {
    {"afm", cr_pd_feat, cr_pd_afm, idle_slots, NULL, true, false},
    {"aitm", cr_pd_purchases, cr_pd_aitm, idle_none, "Adam", false, false},
    {"autofis", cr_pd_pasted, cr_pd_autofis, idle_autofis, "Adam", false, false},
    {"autoint", cr_pd_places, cr_pd_autoint, idle_autoint, "Adam", true, false},
    {"bert4rec", cr_pd_masked, cr_pd_bert4rec, idle_bert4rec, "AdamW", false, false},
    {"bst", cr_pd_clicks, cr_pd_bst, idle_loader, "Adagrad", true, false},
    {"dcn", cr_pd_criteo, cr_pd_dcn, idle_dcn, "Adam", false, false},
    {"dcn_v2", cr_pd_criteo, cr_pd_dcn_v2, idle_dcn, "Adam", false, false},
    {"deep_crossing", cr_pd_feat, cr_pd_deep_crossing, idle_slots, NULL, true, false},
    {"deepfefm", cr_pd_criteo, cr_pd_deepfefm, idle_slots, NULL, false, false},
    {"deepfm", cr_pd_criteo, cr_pd_deepfm, idle_slots, "Adam", true, false},
    {"deeprec", cr_pd_rated, cr_pd_deeprec, idle_none, "SGD", false, false},
    {"difm", cr_pd_criteo, cr_pd_difm, idle_slots, "Adam", false, false},
    {"dien", cr_pd_histories, cr_pd_dien, idle_loader, NULL, false, false},
    {"din", cr_pd_history, cr_pd_din, idle_din, NULL, false, false},
    {"dlrm", cr_pd_criteo, cr_pd_dlrm, idle_dlrm, "Adam", false, false},
    {"dmr", cr_pd_behaviour, cr_pd_dmr, idle_none, "Adam", false, false},
    {"dnn", cr_pd_criteo, cr_pd_dnn, idle_slots, "Adam", false, true},
    {"dpin", cr_pd_page, cr_pd_dpin, idle_dpin, "SGD", false, false},
    {"dselect_k", cr_pd_digits, cr_pd_dselect_k, idle_dselect, "Adam", false, false},
    {"dsin", cr_pd_session_steps, cr_pd_dsin, idle_none, "Adam", false, false},
    {"dssm", cr_pd_documents, cr_pd_dssm, idle_none, "Adam", true, false},
    {"ensfm", cr_pd_users, cr_pd_ensfm, idle_ensfm, "Adagrad", false, false},
    {"escm2", cr_pd_aliccp, cr_pd_escm2, idle_escm2, "Adam", false, false},
    {"esmm", cr_pd_aliccp, cr_pd_esmm, idle_tasks, "Adam", false, false},
    {"fastformer", cr_pd_news, cr_pd_fastformer, idle_fastformer, "Adam", false, false},
    {"fasttext", cr_pd_subwords, cr_pd_fasttext, idle_none, NULL, true, false},
    {"fat_deepffm", cr_pd_criteo, cr_pd_fat_deepffm, idle_slots, "Adam", false, false},
    {"ffm", cr_pd_criteo, cr_pd_ffm, idle_slots, "Adam", true, false},
    {"fgcnn", cr_pd_matrix, cr_pd_fgcnn, idle_slots, "Adam", true, false},
    {"fibinet", cr_pd_criteo, cr_pd_fibinet, idle_slots, NULL, false, false},
    {"flen", cr_pd_avazu, cr_pd_flen, idle_flen, NULL, false, false},
    {"fm", cr_pd_criteo, cr_pd_fm, idle_slots, "Adam", true, false},
    {"fnn", cr_pd_feat, cr_pd_fnn, idle_slots, NULL, true, false},
    {"gatenet", cr_pd_criteo, cr_pd_gatenet, idle_slots, "Adam", false, false},
    {"gnn", cr_pd_clicked, cr_pd_gnn, idle_none, NULL, false, false},
    {"gru4rec", cr_pd_sessions, cr_pd_gru4rec, idle_none, NULL, false, false},
    {"iprec", cr_pd_packages, cr_pd_iprec, idle_none, "Adam", false, false},
    {"kim", cr_pd_knowledge, cr_pd_kim, idle_none, "Adam", false, false},
    {"listwise", cr_pd_lists, cr_pd_listwise, idle_listwise, NULL, false, false},
    {"logistic_regression", cr_pd_feat, cr_pd_logistic_regression, idle_feat, "Adam", true, false},
    {"look_alike_recall", cr_pd_seeds, cr_pd_look_alike, idle_none, NULL, true, false},
    {"maml", cr_pd_pictures, cr_pd_maml, idle_none, "Adam", false, false},
    {"match_pyramid", cr_pd_texts, cr_pd_match_pyramid, idle_none, "Adam", false, false},
    {"metaheac", cr_pd_ad_tasks, cr_pd_metaheac, idle_none, "Adam", false, false},
    {"mhcn", cr_pd_social, cr_pd_mhcn, idle_none, "Adam", false, false},
    {"mind", cr_pd_interests, cr_pd_mind, idle_none, "Adam", false, false},
    {"mmoe", cr_pd_census, cr_pd_mmoe, idle_tasks, "Adam", false, false},
    {"movie_rank", cr_pd_movies, cr_pd_movie_rank, idle_none, "Adam", false, true},
    {"movie_recall", cr_pd_movies, cr_pd_movie_recall, idle_none, "Adam", false, true},
    {"multiview_simnet", cr_pd_titles, cr_pd_simnet, idle_none, "Adam", false, false},
    {"naml", cr_pd_news, cr_pd_naml, idle_none, "Adam", false, false},
    {"ncf", cr_pd_ratings, cr_pd_ncf, idle_ncf, "Adam", false, false},
    {"nfm", cr_pd_feat, cr_pd_nfm, idle_slots, NULL, true, false},
    {"ple", cr_pd_census, cr_pd_ple, idle_tasks, "Adam", false, false},
    {"pnn", cr_pd_feat, cr_pd_pnn, idle_slots, NULL, true, false},
    {"share_bottom", cr_pd_census, cr_pd_share_bottom, idle_tasks, "Adam", false, false},
    {"sign", cr_pd_id_lines, cr_pd_sign, idle_none, "Adagrad", false, false},
    {"slot_dnn", cr_pd_signs, cr_pd_slot_dnn, idle_slot_dnn, "Adam", false, false},
    {"ssr", cr_pd_last_item, cr_pd_ssr, idle_none, NULL, false, false},
    {"tagspace", cr_pd_tagged, cr_pd_tagspace, idle_none, NULL, false, false},
    {"tdm", cr_pd_tree, cr_pd_tdm, idle_none, NULL, false, false},
    {"textcnn", cr_pd_words, cr_pd_textcnn, idle_loader, NULL, false, false},
    {"textcnn_pretrain", cr_pd_words, cr_pd_textcnn, idle_loader, NULL, false, false},
    {"tisas", cr_pd_intervals, cr_pd_tisas, idle_tisas, "Adam", false, false},
    {"wide_deep", cr_pd_criteo, cr_pd_wide_deep, idle_slots, "Adam", false, false},
    {"word2vec", cr_pd_skip_gram, cr_pd_word2vec, idle_none, NULL, false, false},
    {"xdeepfm", cr_pd_criteo, cr_pd_xdeepfm, idle_xdeepfm, "Adam", false, false},
    {"youtube_dnn", cr_pd_vectors, cr_pd_youtube_dnn, idle_none, NULL, false, false},
};
#define N_MODELS (sizeof models / sizeof *models)

/* Models of PaddleRec that crank does not have. */
static const char *const others[] = {"deepwalk", NULL};

static const char *next_model(const void *ctx, size_t i) {
    (void)ctx;
    return i < N_MODELS ? models[i].name : NULL;
}

/* AutoInt and share-bottom are autoint and share_bottom. */
static char *folded(cr_arena *a, const char *s, size_t n) {
    char *out = cr_arena_strndup(a, s, n);
    for (char *c = out; *c; c++)
        *c = *c == '-' ? '_' : (char)tolower((unsigned char)*c);
    return out;
}

static const cr_pd_model *by_name(const char *name) {
    for (size_t i = 0; i < N_MODELS; i++)
        if (strcmp(models[i].name, name) == 0) return &models[i];
    return NULL;
}

/* Returns the last folder of a path, folded; "" when it has no name. */
static const char *last_folder(cr_pd *p, const char *dir) {
    char *real = cr_store_of(dir)->real(dir);
    const char *path = real ? real : dir, *base = cr_path_base(path);
    const char *name = folded(&p->doc->arena, base, strlen(base));
    free(real);
    return name;
}

static bool has(const cr_pd *p, const char *key) {
    return p->hyper.map && cr_conf_find(p->hyper.map, key) != NULL;
}

/* Hyper-parameters that only one model has. */
static const cr_pd_model *by_keys(const cr_pd *p) {
    static const struct {
        const char *model, *a, *b;
    } rules[] = {
        {"xdeepfm", "layer_sizes_cin", "layer_sizes_dnn"},
        {"dcn_v2", "use_low_rank_mixture", "cross_num"},
        {"dcn", "cross_num", "cross_num"},
        {"gatenet", "use_embedding_gate", "use_hidden_gate"},
        {"difm", "fen_layers_size", "att_factor_dim"},
        {"dlrm", "bot_layer_sizes", "top_layer_sizes"},
        {"autoint", "attn_layer_sizes", "head_num"},
        {"ple", "exp_per_task", "shared_num"},
        {"escm2", "counterfactual_w", "global_w"},
        {"dselect_k", "expert_num", "top_k"},
        {"mmoe", "expert_num", "expert_size"},
        {"share_bottom", "bottom_size", "tower_size"},
        {"esmm", "ctr_fc_sizes", "cvr_fc_sizes"},
        {"esmm", "vocab_size", "embed_size"},
        {"wide_deep", "hidden1_units", "hidden2_units"},
        {"deep_crossing", "residual_unit_num", "residual_w_dim"},
        {"dssm", "trigram_d", "neg_num"},
        {"ensfm", "negative_weight", "mf_dim"},
        {"mhcn", "num_factors", "n_layer"},
        {"iprec", "u_max_pack", "pack_max_nei_b"},
        {"deeprec", "dp_drop_prob", "layer_sizes"},
        {"kim", "max_entity_num", "npratio"},
        {"ncf", "num_users", "latent_dim"},
        {"ncf", "num_users", "mf_dim"},
        {"bst", "item_emb_size", "n_encoder_layers"},
        {"autoint", "d_key", "n_interacting_layers"},
        {"fgcnn", "new_filters", "pooling_size"},
        {"fgcnn", "new_maps", "pooling_width"},
        {"afm", "hidden1_attention_size", "sparse_feature_dim"},
        {"pnn", "use_inner_product", "deep_input_size"},
        {"fibinet", "bilinear_type", "reduction_ratio"},
        {"aitm", "feature_vocabulary", "drop_prob"},
        {"autofis", "grad_c", "grad_mu"},
        {"fastformer", "pooler_type", "article_title_size"},
        {"naml", "neg_condidate_sample_size", "article_title_size"},
        {"dmr", "main_embedding_size", "cms_segid_size"},
        {"maml", "update_step", "k_query"},
        {"metaheac", "local_lr", "num_expert"},
        {"dsin", "feat_embed_size", "cms_segid_size"},
        {"tisas", "time_span", "maxlen"},
        {"bert4rec", "_voc_size", "_max_position_seq_len"},
        {"dpin", "max_item", "max_context"},
        {"listwise", "user_vocab", "item_len"},
        {"sign", "l0_para", "pred_edges"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (has(p, rules[i].a) && has(p, rules[i].b)) return by_name(rules[i].model);
    return NULL;
}

/* The names of all models, with commas. */
static const char *all_names(cr_arena *a) {
    cr_buf b;
    cr_buf_init(&b);
    for (size_t i = 0; i < N_MODELS; i++)
        cr_buf_printf(&b, "%s%s", i ? ", " : "", models[i].name);
    const char *out = cr_arena_strdup(a, b.data);
    cr_buf_clear(&b);
    return out;
}

/* A model that is named outright. */
static const cr_pd_model *by_word(cr_pd *p, const char *word, cr_loc at) {
    const char *name = folded(&p->doc->arena, word, strlen(word));
    const char *near = by_name(name) ? NULL : cr_nearest(name, next_model, NULL);
    if (by_name(name)) return by_name(name);
    if (near)
        cr_pd_wrong(p, at, "crank has no model '%s' of PaddleRec; did you mean '%s'?", word, near);
    else
        cr_pd_wrong(p, at, "crank has no model '%s' of PaddleRec; known are %s", word,
                    all_names(&p->doc->arena));
    return NULL;
}

/* Slots or a reader that only one model has: dnn of 1.8.5 alone lists the label and 26 ids, and
 * these readers belong to one model of 2.0 each. */
static const cr_pd_model *by_data(const cr_pd *p) {
    static const char *const readers[][2] = {
        {"amazon_reader", "bst"},          {"avazu_reader", "flen"},
        {"dien_reader", "dien"},           {"dinReader", "din"},
        {"letor_reader", "match_pyramid"}, {"word2vec_reader", "word2vec"},
    };
    if (!p->dataset.map || p->dataset.map->kind != CR_NODE_MAP) return NULL;
    const char *slots = cr_conf_find_text(p->dataset.map, "sparse_slots");
    const char *reader = cr_conf_find_text(p->dataset.map, "train_reader_path");
    int n = 0;
    for (const char *s = slots + strspn(slots, " "); *s; s += strspn(s, " "), n++)
        s += strcspn(s, " ");
    if (p->old && n == 27 && has(p, "fc_sizes") && has(p, "sparse_feature_dim"))
        return by_name("dnn");
    for (size_t i = 0; !p->old && i < sizeof readers / sizeof *readers; i++)
        if (strcmp(readers[i][0], reader) == 0) return by_name(readers[i][1]);
    return NULL;
}

const cr_pd_model *cr_pd_find(cr_pd *p) {
    cr_arena *a = &p->doc->arena;
    const char *file = p->old ? cr_pd_str(p, p->phase, "model", true) : NULL, *tried[3] = {0};
    int n = 0;
    p->model_at = p->old ? cr_pd_at(p, p->phase, "model") : p->in->at;
    if (p->hyper.map) p->model_at = p->hyper.map->at;
    if (p->o->model) return by_word(p, p->o->model, (cr_loc){"--builtin", 0, 0});
    if (file && strncmp(file, "builtin:", 8) == 0)
        return by_word(p, file + 8, cr_pd_at(p, p->phase, "model"));
    if (file) tried[n++] = last_folder(p, cr_path_dir(a, file));
    if (p->workspace) tried[n++] = last_folder(p, p->workspace);
    tried[n++] = last_folder(p, cr_path_dir(a, p->path));
    for (int i = 0; i < n; i++)
        if (by_name(tried[i])) return by_name(tried[i]);
    const char *slots = p->dataset.map ? cr_conf_find_text(p->dataset.map, "sparse_slots") : "";
    if (strstr(slots, "movieid") && strcmp(tried[0], "rank") == 0) return by_name("movie_rank");
    if (strstr(slots, "movieid") && strcmp(tried[0], "recall") == 0) return by_name("movie_recall");
    for (int i = 0; i < n; i++)
        for (const char *const *o = others; *o; o++)
            if (strcmp(*o, tried[i]) == 0) {
                cr_pd_wrong(p, p->model_at,
                            "the model '%s' of PaddleRec is not in this version of crank; build "
                            "it from blocks (docs/guide/own_models.md)",
                            tried[i]);
                return NULL;
            }
    const cr_pd_model *m = by_keys(p);
    bool keys = m != NULL;
    if (!m) m = by_data(p);
    if (m) {
        cr_pd_note(p, p->model_at,
                   "the %s are those of PaddleRec's %s, so that is the model; --builtin NAME takes "
                   "another",
                   keys ? "hyper-parameters" : "data and hyper-parameters", m->name);
        return m;
    }
    cr_pd_wrong(p, p->model_at,
                "neither the folder '%s' nor the hyper-parameters tell which model is meant, and "
                "crank runs no Python; %s, or build the model from blocks "
                "(docs/guide/own_models.md). Known are %s",
                tried[0],
                p->old ? "add --builtin NAME, or write phase.model: builtin:NAME"
                       : "add --builtin NAME, or put the config into a folder NAME",
                all_names(a));
    return NULL;
}
