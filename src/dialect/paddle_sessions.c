/*
 * paddle_sessions.c - PaddleRec's dsin (Feng et al., 2019): the sessions of a user's history become
 * a vector each, an LSTM in both directions lets them act on each other, and the target
 * advertisement chooses among both.
 *
 * `crank run` writes the rows (src/tool/session_rows.c), without padding: it takes no part here,
 * and as shipped it does, in the attention and the means of steps and in the LSTM. As shipped,
 * places have sines and cosines in place of the bias encoding (--compat paddlerec). As in the code
 * of the paper's authors, the LSTM has two layers, its directions are averaged, and small networks
 * score the sessions.
 */
#include "dialect/paddle_int.h"

const char *const cr_paddle_session_ids[CR_PADDLE_SESSION_IDS] = {
    "userid",
    "adgroup_id",
    "pid",
    "cms_segid",
    "cms_group_id",
    "final_gender_code",
    "age_level",
    "pvalue_level",
    "shopping_level",
    "occupation",
    "new_user_class_level",
    "campaign_id",
    "customer",
    "cate_id",
    "brand",
};
static const char *const sizes[CR_PADDLE_SESSION_IDS] = {
    "user_size",
    "adgroup_size",
    "pid_size",
    "cms_segid_size",
    "cms_group_size",
    "final_gender_size",
    "age_level_size",
    "pvalue_level_size",
    "shopping_level_size",
    "occupation_size",
    "new_user_class_level_size",
    "campaign_size",
    "customer_size",
    "cate_size",
    "brand_size",
};
static const char *const steps[] = {"cates", "brands", "step_sessions", "places"};

enum { TARGET = CR_PADDLE_SESSION_IDS - 2 }; /* the last two ids are the target's */

cr_paddle_sessions cr_pd_session_sizes(cr_pd *p) {
    return (cr_paddle_sessions){
        .sessions = cr_pd_int(p, p->hyper, "sess_count", 5, 1, 64),
        .steps = cr_pd_int(p, p->hyper, "sess_max_length", 10, 1, 10000),
    };
}

void cr_pd_session_steps(cr_pd *p) {
    cr_buf b;
    cr_buf_init(&b);
    for (int i = 0; i < CR_PADDLE_SESSION_IDS; i++)
        cr_buf_printf(&b, "{input_name: %s, input_type: INT64}, ", cr_paddle_session_ids[i]);
    cr_buf_str(&b, "{input_name: price, input_type: FLOAT}");
    for (int i = 0; i < 4; i++)
        cr_buf_printf(&b, ", {input_name: %s, input_type: %s}", steps[i],
                      i < 2 ? "ARRAY_INT64" : "ARRAY_FLOAT");
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "slot_text: {form: LISTS, separator: \";\", list_separator: \" \"}, input_fields: "
              "[{input_name: label, input_type: INT64}, %s, {input_name: sessions, input_type: "
              "ARRAY_FLOAT}]}",
              b.data);
    cr_buf_clear(&b);
}

/* Features of ids and of the steps, whose categories and brands have the tables of the target's;
 * returns the names of those that are not the target's. */
static const char *features(cr_pd *p, long long E, const cr_paddle_sessions *s) {
    static const char init[] = "nn.init.normal_,std=0.0001";
    const char *names = "price";
    long long most = (long long)(s->sessions * s->steps);
    for (int i = 0; i < CR_PADDLE_SESSION_IDS; i++) {
        const char *name = cr_paddle_session_ids[i];
        long long rows =
            (long long)cr_pd_int(p, p->hyper, sizes[i], CR_PD_REQUIRED, 1, CR_PD_MAX_ROWS);
        cr_pd_feature(p, p->data_at,
                      "id_feature: {feature_name: %s, num_buckets: %lld, embedding_dim: %lld, "
                      "embedding_name: %s_emb, init_fn: \"%s\"}",
                      name, rows, E, name, init);
        if (i < TARGET)
            names = cr_arena_printf(&p->doc->arena, "%s, %s", names, name);
        else
            cr_pd_feature(
                p, p->data_at,
                "sequence_id_feature: {feature_name: %s, sequence_length: %lld, "
                "num_buckets: %lld, embedding_dim: %lld, embedding_name: %s_emb, init_fn: "
                "\"%s\"}",
                steps[i - TARGET], most, rows, E, name, init);
    }
    cr_pd_feature(p, p->data_at, "raw_feature: {feature_name: price}");
    for (int i = 2; i < 4; i++)
        cr_pd_feature(p, p->data_at,
                      "sequence_raw_feature: {feature_name: %s, sequence_length: %lld}", steps[i],
                      most);
    cr_pd_feature(p, p->data_at,
                  "sequence_raw_feature: {feature_name: sessions, sequence_length: %lld}",
                  (long long)s->sessions);
    return names;
}

/* Sizes that PaddleRec's code has, unless the config gives others. */
static const char *widths(cr_pd *p, const char *key, const char *shipped) {
    int64_t n;
    return cr_pd_get(p, p->hyper, key) ? cr_pd_widths(p, p->hyper, key, &n) : shipped;
}

void cr_pd_dsin(cr_pd *p) {
    cr_pd_map h = p->hyper;
    cr_paddle_sessions s = cr_pd_session_sizes(p);
    long long E = (long long)cr_pd_int(p, h, "feat_embed_size", CR_PD_REQUIRED, 1, 32768);
    long long heads = (long long)cr_pd_int(p, h, "num_heads", 8, 1, 65536), D = 2 * E;
    long long inner = (long long)cr_pd_int(p, h, "dim_feedforward", 64, 1, 1048576);
    const char *deep = widths(p, "fc_sizes", "[200, 80]");
    const char *scores = widths(p, "att_hidden_units", "[64, 16]");
    if (D % heads != 0)
        cr_pd_wrong(p, cr_pd_at(p, h, "feat_embed_size"),
                    "a step has twice feat_embed_size %lld numbers, which is not a multiple of "
                    "num_heads %lld; make it one",
                    E, heads);
    const char *names = features(p, E, &s);
    cr_pd_put(
        p, p->model_at,
        "model_config: {feature_groups: [{group_name: plain, feature_names: [%s]}, {group_name: "
        "history, group_type: SEQUENCE, feature_names: [cate_id, brand, cates, brands, "
        "step_sessions, places]}, {group_name: sessions, group_type: SEQUENCE, feature_names: "
        "[sessions]}], backbone: {blocks: [{name: target, inputs: [{feature_group_name: history}], "
        "query: {}}, {name: items, "
        "inputs: [{feature_group_name: history}], slice: {begin: 0, width: %lld}}, {name: session, "
        "inputs: [{feature_group_name: history}], slice: {begin: %lld, width: 1}}, {name: place, "
        "inputs: [{feature_group_name: history}], slice: {begin: %lld, width: 1}}, {name: "
        "interests, inputs: [{block_name: items}, {block_name: session}, {block_name: place}, "
        "{feature_group_name: sessions}], session_interests: {num_heads: %lld, ff_units: %lld, "
        "max_sessions: %lld, max_places: %lld, bias: false, encoding: %s}}, {name: evolved, "
        "inputs: [{block_name: interests}], lstm: {hidden_size: %lld, num_layers: 2, both_ways: "
        "true, merge: MEAN, output: STEPS}}, {name: interest, inputs: [{block_name: interests}, "
        "{block_name: target}], din: {attn_mlp: {hidden_units: %s, activation: nn.Sigmoid}}}, "
        "{name: evolution, inputs: [{block_name: evolved}, {block_name: target}], din: {attn_mlp: "
        "{hidden_units: %s, activation: nn.Sigmoid}}}, {name: deep, inputs: [{feature_group_name: "
        "plain}, {block_name: target}, {block_name: interest}, {block_name: evolution}], mlp: "
        "{hidden_units: %s, activation: nn.Sigmoid}}, {name: score, inputs: [{block_name: deep}], "
        "linear: {units: 1}}]}, " CR_PD_ONE_SCORE "}",
        names, D, D, D + 1, heads, inner, (long long)s.sessions, (long long)s.steps,
        p->o->compat ? "WAVES" : "BIAS", D, scores, scores, deep);
}
