/*
 * paddle_knowledge.c - PaddleRec's kim (Qi et al., 2021: knowledge-aware interactive matching of
 * news): a user's clicked articles beside candidates, by the words of titles and by entities.
 *
 * `crank run` writes the rows and the first vectors of words and entities
 * (src/tool/knowledge_rows.c). A row of training has a clicked article and some others, between
 * which a softmax decides; a row of an evaluation has one candidate, and its label.
 *
 * As shipped, the entities of a candidate are taken with those of the clicked article in one place,
 * and candidates are weighed by the scores of clicked articles in another; here, as in the paper,
 * with their own. Each candidate has a dropout of its own for the clicked titles; here they share
 * one.
 */
#include <string.h>

#include "base/file.h"
#include "dialect/paddle_int.h"

cr_paddle_knowledge cr_pd_knowledge_sizes(cr_pd *p) {
    cr_pd_map h = p->hyper;
    return (cr_paddle_knowledge){
        .words = cr_pd_int(p, h, "max_sentence", 30, 1, 10000),
        .entities = cr_pd_int(p, h, "max_entity_num", 10, 1, 1000),
        .clicked = cr_pd_int(p, h, "max_sents", 50, 1, 10000),
        .others = cr_pd_int(p, h, "npratio", 4, 1, 999),
        .vocab = cr_pd_int(p, h, "vocab_size", CR_PD_REQUIRED, 2, CR_PD_MAX_ROWS),
        .width = cr_pd_int(p, h, "embedding_size", 300, 1, 65536),
    };
}

void cr_pd_knowledge(cr_pd *p) {
    cr_pd_map root = {p->in, "the config"};
    cr_pd_idle(p, root, "mode");
    p->apart = true;
    p->sessions = true; /* the last batch may have fewer rows */
    if (!cr_pd_bool(p, p->runner, "random_emb", true))
        cr_pd_wrong(p, cr_pd_at(p, p->runner, "random_emb"),
                    "random_emb is false, and crank does not read entity_embedding.npy; make it "
                    "true, or give pretrained_path of the features in the config that 'crank "
                    "config' prints");
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "slot_text: {form: LISTS, separator: \"\\t\", list_separator: \" \"}, input_fields: "
              "[{input_name: label, input_type: INT64}, {input_name: session, input_type: INT64}, "
              "{input_name: words, input_type: ARRAY_INT64}, {input_name: entities, input_type: "
              "ARRAY_INT64}, {input_name: neighbours, input_type: ARRAY_INT64}]}");
}

/* The number of entities, which the rows have beside them. */
static int64_t count_entities(cr_pd *p, const char *dir) {
    cr_err err;
    cr_buf text;
    int64_t n = 0;
    const char *path = cr_path_join(&p->doc->arena, dir, ".sizes");
    cr_buf_init(&text);
    if (!cr_path_exists(path))
        n = 1; /* there are no rows either, which is told there */
    else if (cr_file_read(path, 64, &text, &err) != CR_OK || text.n < 2 ||
             !cr_parse_i64(text.data, text.n - 1, &n) || n < 0 || n >= CR_PD_MAX_ROWS) {
        cr_pd_wrong(p, p->data_at, "the file '%s' is damaged; 'crank run -m' writes it anew", path);
        n = 1;
    }
    cr_buf_clear(&text);
    return n;
}

static void steps(cr_pd *p, const char *name, int64_t n, int64_t rows, int64_t dim,
                  const char *table, const char *vectors, bool trainable) {
    const char *path = cr_path_exists(vectors)
                           ? cr_arena_printf(&p->doc->arena, ", pretrained_path: \"%s\"", vectors)
                           : "";
    cr_pd_feature(p, p->data_at,
                  "sequence_id_feature: {feature_name: %s, sequence_length: %lld, num_buckets: "
                  "%lld, embedding_dim: %lld, embedding_name: %s, trainable: %s%s}",
                  name, (long long)n, (long long)rows, (long long)dim, table,
                  trainable ? "true" : "false", path);
}

void cr_pd_kim(cr_pd *p) {
    cr_paddle_knowledge s = cr_pd_knowledge_sizes(p);
    bool alone = cr_pd_alone(p);
    cr_arena *a = &p->doc->arena;
    cr_paddle_rows r = cr_pd_rows(p, alone);
    const char *dir = r.dir ? r.dir : "";
    int64_t entities = count_entities(p, dir) + 1, N = s.entities;
    int64_t candidates = alone ? 1 : s.others + 1, n = candidates + s.clicked;
    long long units = (long long)cr_pd_int(p, p->hyper, "hidden_size", 400, 20, 65520);
    if (units % 20 != 0)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "hidden_size"),
                    "hidden_size %lld is not a multiple of the 20 heads; make it one", units);
    const char *known = cr_path_join(a, dir, ".entities.safetensors");
    steps(p, "words", n * s.words, s.vocab, s.width, "title_word_embedding",
          cr_path_join(a, dir, ".words.safetensors"), true);
    steps(p, "entities", n * N, entities, CR_PADDLE_ENTITY, "entity_embedding", known, false);
    steps(p, "neighbours", n * N * N, entities, CR_PADDLE_ENTITY, "entity_embedding", known, false);
    if (alone)
        cr_pd_feature(p, p->data_at,
                      "id_feature: {feature_name: session, num_buckets: 2000000000, embedding_dim: "
                      "1}");
#define SEQ(name) "{group_name: " name ", group_type: SEQUENCE, feature_names: [" name "]}"
    cr_pd_put(
        p, p->model_at,
        "model_config: {feature_groups: [" SEQ("words") ", " SEQ("entities") ", " SEQ(
            "neighbours") "]%s, backbone: {blocks: [{name: title_words, inputs: "
                          "[{feature_group_name: words}], unroll: {steps: %lld}}, {name: known, "
                          "inputs: [{feature_group_name: entities}], unroll: {steps: %lld}}, "
                          "{name: near, inputs: [{feature_group_name: neighbours}], unroll: "
                          "{steps: %lld}}, {name: scores, inputs: [{block_name: title_words}, "
                          "{block_name: known}, {block_name: near}], knowledge_match: {candidates: "
                          "%lld, words: %lld, entities: %lld, units: %lld}}]}, %s}",
        alone ? "" : cr_arena_printf(a, ", num_class: %lld", (long long)candidates),
        (long long)(n * s.words), (long long)(n * N), (long long)(n * N * N), (long long)candidates,
        (long long)s.words, (long long)N, units,
        alone ? "losses: [{binary_cross_entropy: {}}], metrics: [{grouped_auc: {grouping_key: "
                "session}}, {grouped_place: {grouping_key: session}}, {grouped_place: "
                "{grouping_key: session, top_k: 5}}, {grouped_place: {grouping_key: session, "
                "top_k: 10}}]"
              : "losses: [{softmax_cross_entropy: {}}], metrics: [{accuracy: {}}], train_metrics: "
                "[{accuracy: {}, since_epoch: true}]");
}
