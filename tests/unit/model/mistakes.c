/*
 * mistakes.c - wrong settings of models: each is told once, with its place in the config, its cause
 * and its cure; several are told at once, and none leaves a model behind.
 */
#include "unit/model/model_test.h"

#define DEEP_ENCODER(features, encoder)                                                            \
    "{group_name: all, feature_names: [a], sequence_groups: [{group_name: s, feature_names: "      \
    "[" features "]}], sequence_encoders: [" encoder "]}"
#define TWO_LAYERS                                                                                 \
    "dcn_v1: {cross: {cross_num: 1}, deep: {hidden_units: [2]}, final: {hidden_units: [2]}}"
#define TOWER(more) "{tower_name: p, label_name: y, " M_BCE more "}"
#define TASKS(towers)                                                                              \
    M_TASKS(M_GROUP("all", "a, x"), "simple_multi_task: {task_towers: [" towers "]}")
#define DBMTL(towers) M_TASKS(M_GROUP("all", "a, x"), "dbmtl: {task_towers: [" towers "]}")
#define BLOCKS(blocks)                                                                             \
    M_MODEL(M_GROUP("all", "a, b, x") ", " M_GROUP("ab", "a, b") ", " M_SEQ("s", "b, hist__b"),    \
            "backbone: {blocks: [" blocks "], concat_blocks: [deep]}")
#define BLOCK(name, input, layer) "{name: " name ", inputs: [{" input "}], " layer "}"
#define DEEP                      BLOCK("deep", "feature_group_name: all", "mlp: {hidden_units: [2]}")

/* place: how what stands there begins */
typedef struct mistake {
    const char *config, *place, *says;
    const char *weights, *features;
} mistake;

static void check(const mistake *v, size_t n, cr_sev sev) {
    for (size_t i = 0; i < n; i++) {
        m_model *t =
            m_open(v[i].config, (m_opts){.weights = v[i].weights, .features = v[i].features});
        CHECK(sev == CR_SEV_ERROR ? t->m == NULL : t->m != NULL);
        int found = 0;
        const char *place = "";
        for (size_t k = 0; k < t->diag.n; k++) {
            if (t->diag.v[k].sev != sev || strcmp(t->diag.v[k].msg, v[i].says) != 0) continue;
            found++;
            place = m_at(t, t->diag.v[k].at);
        }
        bool there = strncmp(place, v[i].place, strlen(v[i].place)) == 0;
        if (found != 1 || !there || t->diag.n != 1) {
            fprintf(stderr, "expected at '%s': %s\nfound at '%.30s':\n%s", v[i].place, v[i].says,
                    place, m_findings(t));
            CHECK_INT(found, 1);
            CHECK_INT(t->diag.n, 1);
            CHECK(there);
        }
        m_close(t);
    }
}
#define CHECK_ALL(v, sev) check(v, sizeof(v) / sizeof((v)[0]), sev)

TEST(groups) {
    static const mistake v[] = {
        {M_MODEL(M_GROUP("all", "a, nosuch"), TWO_LAYERS), "nosuch",
         "feature group 'all' names an unknown feature 'nosuch'; add it to feature_configs", 0, 0},
        {M_MODEL(M_GROUP("all", "a, wid"), TWO_LAYERS), "wid]",
         "feature group 'all' names an unknown feature 'wid'; did you mean 'wide'?", 0, 0},
        {M_MODEL(M_GROUP("all", "a, stub"), TWO_LAYERS), "stub]",
         "feature group 'all' names 'stub', which is only an input of other features (stub_type); "
         "remove one of the two",
         0,
         "- id_feature: {feature_name: stub, expression: 'item:s', num_buckets: 6, stub_type: "
         "true}\n"
         "- id_feature: {feature_name: reads, expression: 'feature:stub', num_buckets: 6}\n"},
        {M_MODEL(M_GROUP("all", ""), TWO_LAYERS), "{group_name: all",
         "feature group 'all' has no feature_names; list at least one feature", 0, 0},
        {M_MODEL(M_GROUP("all", "a, bare"), TWO_LAYERS), "bare",
         "feature 'bare' becomes a vector in the feature group 'all' and has no embedding_dim; add "
         "for example embedding_dim: 16",
         0, 0},
        {M_MODEL(M_SEQ("all", "b, hist__b"), TWO_LAYERS), "SEQUENCE",
         "feature group 'all' is of type SEQUENCE, but the model needs one vector per row here; "
         "put "
         "its features in sequence_groups of a group of type DEEP, with an encoder",
         0, 0},
        {M_MODEL("", TWO_LAYERS), "dcn_v1",
         "dcn_v1 has no feature group to read; add one to model_config.feature_groups", 0, 0},
    };
    CHECK_ALL(v, CR_SEV_ERROR);
    static const mistake warnings[] = {
        {M_MODEL(M_GROUP("all", "a") ", " M_GROUP("more", "b"), TWO_LAYERS), "{group_name: more",
         "dcn_v1 reads only its first feature group, 'all'; put all features there, or remove the "
         "other groups",
         0, 0},
    };
    CHECK_ALL(warnings, CR_SEV_WARN);
}

/* features that share a table must agree in everything */
#define SHARED(rows, dim, more)                                                                    \
    "- id_feature: {feature_name: s1, expression: 'item:b', num_buckets: 20, embedding_dim: 4, "   \
    "embedding_name: t}\n"                                                                         \
    "- id_feature: {feature_name: s2, expression: 'item:c', num_buckets: " rows                    \
    ", embedding_dim: " dim ", embedding_name: t" more "}\n"
#define DIFFER(what)                                                                               \
    "features 's1' and 's2' share the table 't' but differ in " what                               \
    "; make them equal or use another embedding_name"

TEST(shared_tables) {
#define BOTH M_MODEL(M_GROUP("all", "s1, s2"), TWO_LAYERS)
    static const mistake v[] = {
        {BOTH, "s2", DIFFER("number of rows"), 0, SHARED("21", "4", "")},
        {BOTH, "s2", DIFFER("embedding_dim"), 0, SHARED("20", "5", "")},
        {BOTH, "s2", DIFFER("pooling"), 0, SHARED("20", "4", ", pooling: mean")},
        {BOTH, "s2", DIFFER("init_fn"), 0,
         SHARED("20", "4", ", init_fn: 'nn.init.uniform_,a=-0.1,b=0.1'")},
        {BOTH, "s2", DIFFER("trainable"), 0, SHARED("20", "4", ", trainable: false")},
        {BOTH, "s2", DIFFER("data_type"), 0, SHARED("20", "4", ", data_type: FP16")},
        {M_MODEL("{group_name: u, feature_names: [s1], embedding_name_suffix: x}, {group_name: i, "
                 "feature_names: [s3]}",
                 "multi_tower: {towers: [{input: u}, {input: i}]}"),
         "s3",
         "features 's1' and 's3' come to the same table name 't_x' with the embedding_name_suffix "
         "'x' and '' of their groups; rename one embedding_name or suffix",
         0,
         SHARED("20", "4",
                "") "- id_feature: {feature_name: s3, expression: 'item:c', num_buckets: "
                    "20, embedding_dim: 4, embedding_name: t_x}\n"},
        {M_MODEL(M_GROUP("all", "s1"), TWO_LAYERS), "s1",
         "feature 's1': init_fn 'nn.init.nosuch_': unknown function 'nosuch_'; known are "
         "nn.init.uniform_, normal_, trunc_normal_, constant_, zeros_, ones_, xavier_uniform_, "
         "xavier_normal_, kaiming_uniform_, kaiming_normal_",
         0,
         "- id_feature: {feature_name: s1, expression: 'item:b', num_buckets: 20, embedding_dim: "
         "4, "
         "init_fn: 'nn.init.nosuch_'}\n"},
    };
    CHECK_ALL(v, CR_SEV_ERROR);
    m_model *t = m_open(BOTH, (m_opts){.features = SHARED("20", "4", "")});
    CHECK_STR(m_findings(t), "");
    CHECK_INT(t->m->n_tables, 1);
    CHECK_INT(t->m->tables[0]->n_uses, 2);
    m_close(t);
}

TEST(widths) {
    static const mistake v[] = {
        {M_MODEL(M_GROUP("all", "a, b, x"), "autoint: {attention_layers: [{}]}"), "x]",
         "autoint multiplies the features of group 'all' with each other, but 'x' has width 1 and "
         "others have 4; give it mlp: {} (or autodis) and embedding_dim: 4",
         0, 0},
        {M_MODEL(M_GROUP("all", "a, wide, b"), "fm: {embedding_dim: 0}"), "wide, b]",
         "fm multiplies the features of group 'all' with each other, but 'wide' has width 3 and "
         "others have 4; give it embedding_dim: 4",
         0, 0},
        {M_MODEL(M_WIDE("a") ", " M_GROUP("deep", "a, x"), "deepfm: {deep: {hidden_units: [2]}}"),
         "{deep",
         "deepfm multiplies the features of group 'deep' with each other, but their widths differ; "
         "give them the same embedding_dim, or add a group 'fm' with those that have it",
         0, 0},
        {M_MODEL(M_GROUP("all", "a, m"), "ffm: {embedding_dim: 3}"), "m",
         "feature 'm' has its own vector of width 4, but this group needs width 6; leave out "
         "autodis or mlp, or use boundaries",
         0, 0},
        {M_MODEL(M_GROUP("dense", "x") ", " M_GROUP("sparse", "a, b"),
                 "dlrm: {dense_mlp: {hidden_units: [5]}, final: {hidden_units: [2]}}"),
         "[5]",
         "the last of dense_mlp.hidden_units is 5, but the sparse features have embedding_dim 4; "
         "they must be equal",
         0, 0},
        {M_MODEL(M_GROUP("dense", "x") ", " M_GROUP("sparse", "a, b"),
                 "dlrm: {final: {hidden_units: [2]}}"),
         "{final", "dlrm has a group 'dense' but no dense_mlp; add one that ends in 4 units", 0, 0},
        {M_MODEL(M_GROUP("all", "a"), "dlrm: {final: {hidden_units: [2]}}"), "{final",
         "dlrm needs at least two fields to multiply; add features", 0, 0},
        {"{num_class: 3, feature_groups: [" M_GROUP("all", "a, b") "], fm: {}, losses: "
                                                                   "[{softmax_cross_entropy: {}}]}",
         "3", "fm gives one score, num_class is 3; set it to 1, or use a model with layers", 0, 0},
    };
    CHECK_ALL(v, CR_SEV_ERROR);
}

TEST(sequences) {
#define DIN(group)                                                                                 \
    M_MODEL(M_GROUP("u", "a") ", " group,                                                          \
            "multi_tower_din: {towers: [{input: u}], din_towers: [{input: s, attn_mlp: "           \
            "{hidden_units: [2]}}], final: {hidden_units: [2]}}")
    static const mistake v[] = {
        {DIN(M_GROUP("s", "b, hist__b")), "{group_name: s",
         "feature group 's' is read as a query and its sequences; write group_type: SEQUENCE", 0,
         0},
        {DIN(M_SEQ("s", "b")), "s, attn_mlp",
         "feature group 's' has no sequence among its features; add one of a sequence_feature "
         "(named sequence__feature)",
         0, 0},
        {DIN(M_SEQ("s", "hist__b")), "s, attn_mlp",
         "attention compares the plain features of group 's' (0 wide) with its sequences (4 wide); "
         "add the target's features",
         0, 0},
        {DIN(M_SEQ("s", "a, b, hist__b")), "s, attn_mlp",
         "attention compares the plain features of group 's' (8 wide) with its sequences (4 wide); "
         "the plain ones may not be wider",
         0, 0},
        {DIN(M_SEQ("s", "m, hist__b")), "m",
         "feature 'm' has autodis or mlp, which a sequence group does not take; use boundaries, or "
         "leave them out",
         0, 0},
        {M_MODEL(DEEP_ENCODER("b, hist__b, hist__t", "{simple_attention: {input: s}}"), TWO_LAYERS),
         "s}",
         "simple_attention multiplies the plain features of group 's' (4 wide) with its sequences "
         "(5 wide); make both equally wide, or use din_encoder",
         0, 0},
        {M_MODEL(DEEP_ENCODER("b, hist__b", "{pooling_encoder: {input: nosuch}}"), TWO_LAYERS),
         "nosuch",
         "there is no sequence group 'nosuch' in feature group 'all'; add it to its "
         "sequence_groups",
         0, 0},
        {M_MODEL(DEEP_ENCODER("b, hist__b", "{din_encoder: {input: s, attn_mlp: {hidden_units: "
                                            "[2]}}}"),
                 "fm: {}"),
         "[{din_encoder",
         "group 'all' is read with tables of the model's own width, which sequence encoders do not "
         "have; use a model with layers (deepfm, multi_tower, dcn_v2)",
         0, 0},
    };
    CHECK_ALL(v, CR_SEV_ERROR);
}

TEST(tasks) {
    static const mistake v[] = {
        {TASKS("{tower_name: p, label_name: nosuch, " M_BCE "}"), "nosuch",
         "'nosuch' is not among label_fields; add it there", 0, 0},
        {TASKS(TOWER(", sample_weight_name: nosuch")), "nosuch",
         "'nosuch' is not among sample_weight_fields; add it there", "w", 0},
        {TASKS(TOWER(", task_space_indicator_label: nosuch")), "nosuch",
         "'nosuch' is not among label_fields; add it there", 0, 0},
        {DBMTL("{tower_name: q, label_name: z, relation_tower_names: [p], relation_mlp: "
               "{hidden_units: [2]}, " M_BCE "}, " TOWER("")),
         "p]", "task 'q' depends on 'p', which is not an earlier tower; list that one first", 0, 0},
        {M_TASKS(M_GROUP("all", "a"), "ple: {task_towers: [" TOWER("") "]}"), "ple: {",
         "ple has no extraction_networks; add one, or use simple_multi_task", 0, 0},
        {M_TASKS(M_GROUP("all", "a") ", " M_GROUP("uia", "b"),
                 "pepnet: {task_towers: [" TOWER("") "]}"),
         "pepnet: {",
         "pepnet has a group 'uia' but no ppnet_hidden_units; give the width of each gated layer, "
         "or remove the group",
         0, 0},
        {M_TASKS(M_GROUP("all", "a"),
                 "pepnet: {domain_input_name: nosuch, task_domain_num: 2, task_towers: [" TOWER(
                     "") "]}"),
         "nosuch", "'nosuch' is not among label_fields; add it there", 0, 0},
        {M_TASKS(M_GROUP("all", "a"),
                 "esmm: {ctr_tower: " TOWER(
                     "") ", cvr_tower: {tower_name: ctcvr, label_name: z, " M_BCE "}}"),
         "ctcvr", "'ctcvr' is the name of both events together; give the tower another name", 0, 0},
        {M_TASKS(M_GROUP("all", "a"), "esmm: {ctr_tower: " TOWER(
                                          "") ", cvr_tower: {tower_name: q, label_name: z, losses: "
                                              "[{l2_loss: {}}]}}"),
         "{l2_loss", "esmm multiplies probabilities of yes-or-no labels; use binary_cross_entropy",
         0, 0},
    };
    CHECK_ALL(v, CR_SEV_ERROR);
    static const mistake warnings[] = {
        {M_TASKS(M_GROUP("all", "a"), "pepnet: {task_domain_num: 2, task_towers: [" TOWER("") "]}"),
         "2",
         "task_domain_num has no effect without domain_input_name; name the label that holds the "
         "domain, or remove it",
         0, 0},
    };
    CHECK_ALL(warnings, CR_SEV_WARN);
}

TEST(losses_and_metrics) {
    static const mistake v[] = {
        {"{feature_groups: [" M_GROUP("all", "a") "], " TWO_LAYERS
                                                  ", losses: [{binary_cross_entropy: {}}], "
                                                  "metrics: [{grouped_auc: {grouping_key: x}}]}",
         "x}", "grouping_key 'x' is not a feature that goes through a table; name an id_feature", 0,
         0},
        {"{feature_groups: [" M_GROUP(
             "all", "a") "], " TWO_LAYERS
                         ", num_class: 2, losses: [{jrc_loss: {session_name: nosuch}}]}",
         "nosuch",
         "session_name 'nosuch' is not a feature that goes through a table; name an id_feature", 0,
         0},
        {"{feature_groups: [" M_GROUP("all",
                                      "a") "], " TWO_LAYERS
                                           ", losses: [{listwise_rank_loss: {session_name: b}}]}",
         "{listwise",
         "listwise_rank_loss compares whole lists and takes no weight per row; remove "
         "sample_weight_fields, or this loss",
         "w", 0},
    };
    CHECK_ALL(v, CR_SEV_ERROR);
}

TEST(blocks) {
    static const mistake v[] = {
        {BLOCKS(DEEP ", " BLOCK("deep2", "block_name: nosuch", "mlp: {hidden_units: [2]}")),
         "nosuch", "block 'deep2' reads the unknown block 'nosuch'; add it to blocks", 0, 0},
        {BLOCKS(BLOCK("deep", "feature_group_name: all", "fm: {}")), "fm: {}",
         "block 'deep': fm multiplies vectors with each other, but those of its inputs have "
         "different "
         "widths; give their features the same embedding_dim, or put a linear block before those "
         "that differ",
         0, 0},
        {BLOCKS("{name: deep, inputs: [{feature_group_name: s}, {feature_group_name: ab}], gru: "
                "{hidden_size: 3, start: true}}"),
         "true",
         "block 'deep': the state before the first step is 3 wide and its row 8; add a row of "
         "hidden_size numbers to the inputs",
         0, 0},
        {BLOCKS("{name: deep, inputs: [{feature_group_name: s}, {feature_group_name: ab}], gru: "
                "{hidden_size: 8}}"),
         "gru: {hidden_size",
         "block 'deep': gru reads a row beside its sequence as the state before the first step; "
         "write start: true, or leave the row out",
         0, 0},
        {BLOCKS(DEEP ", " DEEP), "deep",
         "block 'deep' is already defined at line 1; give one of them another name", 0, 0},
        {BLOCKS(BLOCK("deep", "block_name: other", "mlp: {hidden_units: [2]}") ", " BLOCK(
             "other", "block_name: deep", "mlp: {hidden_units: [2]}")),
         "",
         "blocks read each other in a circle: 'deep' -> 'other' -> 'deep'; remove one of these "
         "inputs",
         0, 0},
        {BLOCKS("{name: deep, inputs: [{}], mlp: {hidden_units: [2]}}"), "{}",
         "an input has neither feature_group_name nor block_name; name a feature group or a block",
         0, 0},
        {BLOCKS(BLOCK("'a b'", "feature_group_name: all", "mlp: {hidden_units: [2]}")), "'a b'",
         "block name 'a b' goes into the names of parameters; use letters, digits, _ and - only", 0,
         0},
    };
    CHECK_ALL(v, CR_SEV_ERROR);
}

/* ---- checks of a config alone, before anything is built ---- */

/* what the check of the model's type finds: "text at place" per line */
static const char *checked(const char *config, m_model **model) {
    m_model *t = *model = m_open(config, (m_opts){0});
    static char text[2000];
    size_t n = 0;
    text[0] = 0;
    if (!t->root) return "it cannot be read";
    const cr_model_conf *c = t->root->model_config;
    const cr_model_type *type = c->model.m->type;
    cr_diag d;
    cr_diag_init(&d);
    if (type->check) type->check(c, c->model.conf, &d);
    for (size_t i = 0; i < d.n; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s at %.8s\n",
                              d.v[i].sev == CR_SEV_WARN ? "warning: " : "", d.v[i].msg,
                              m_at(t, d.v[i].at));
    cr_diag_clear(&d);
    return text;
}

TEST(checks) {
#define WD         "wide_and_deep: {deep: {hidden_units: [2]}}"
#define MT(towers) "multi_tower: {towers: [" towers "], final: {hidden_units: [2]}}"
    static const char *const v[][2] = {
        {M_MODEL(M_WIDE("a") ", " M_GROUP("deep", "a"), WD), ""},
        {M_MODEL(M_GROUP("deep", "a"), WD), "wide_and_deep needs a feature group named 'wide'; add "
                                            "it to feature_groups at wide_and\n"},
        {M_MODEL(M_WIDE("a") ", " M_GROUP("deeep", "a"), WD),
         "wide_and_deep needs a feature group named 'deep'; is 'deeep' meant? at wide_and\n"},
        {M_MODEL(M_GROUP("wide", "a") ", " M_GROUP("deep", "a"), WD),
         "warning: group 'wide' is of type DEEP, so wide_embedding_dim does not apply to it; write "
         "group_type: WIDE at {group_n\n"},
        {M_MODEL(M_GROUP("user", "a"), MT("{input: user}, {input: usr}, {input: other}")),
         "tower names the unknown feature group 'usr'; did you mean 'user'? at usr}, {i\n"
         "tower names the unknown feature group 'other'; define it or remove the name at "
         "other}],\n"},
        {M_MODEL("", MT("{input: user}")),
         "tower names the feature group 'user', but there is none; define it at user}], \n"},
        {M_MODEL(M_GROUP("x", "a") ", " M_GROUP("y", "a"), "dlrm: {final: {hidden_units: [2]}}"),
         "dlrm needs a feature group named 'sparse'; add it to feature_groups at dlrm: {f\n"},
        {M_MODEL(M_GROUP("x", "a"), "dlrm: {final: {hidden_units: [2]}}"), ""},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        m_model *t;
        CHECK_STR(checked(v[i][0], &t), v[i][1]);
        m_close(t);
    }
}

/* task towers of any model, whatever its message calls them */
TEST(towers_of_models) {
    static const char *const v[] = {
        TASKS(TOWER("") ", {tower_name: q, label_name: z, " M_BCE "}"),
        DBMTL(TOWER("") ", {tower_name: q, label_name: z, " M_BCE "}"),
        M_TASKS(M_GROUP("all", "a"), "esmm: {cvr_tower: {tower_name: q, label_name: z, " M_BCE
                                     "}, ctr_tower: " TOWER("") "}"),
    };
    for (int i = 0; i < 3; i++) {
        m_model *t = m_open(v[i], (m_opts){0});
        const cr_model_conf *c = t->root->model_config;
        CHECK_STR(cr_model_tower(c, 0)->tower_name, "p"); /* in the order of the message */
        CHECK_STR(cr_model_tower(c, 1)->tower_name, "q");
        CHECK(cr_model_tower(c, 2) == NULL);
        m_close(t);
    }
    m_model *t = m_open(M_MODEL(M_GROUP("all", "a"), TWO_LAYERS), (m_opts){0});
    CHECK(cr_model_tower(t->root->model_config, 0) == NULL);
    m_close(t);
    CHECK(cr_is_tower_msg(&cr_task_tower_msg) && cr_is_tower_msg(&cr_bayes_tower_msg) &&
          cr_is_tower_msg(&cr_block_tower_msg) && !cr_is_tower_msg(&cr_tower_msg));
}

TEST(all_at_once) {
    m_model *t =
        m_open(M_MODEL(M_GROUP("u", "a, nosuch, bare") ", " M_SEQ("s", "b"),
                       "multi_tower_din: {towers: [{input: u}, {input: v}], din_towers: "
                       "[{input: s, attn_mlp: {hidden_units: [2]}}], final: {hidden_units: "
                       "[2]}}"),
               (m_opts){0});
    CHECK(t->m == NULL);
    CHECK_INT(t->diag.n_errors, 4);
    if (t->diag.n_errors != 4) fprintf(stderr, "%s", m_findings(t));
    m_close(t);
}

/* the models of later versions are known and refused by name */
TEST(other_models) {
    static const mistake v[] = {
        {"{feature_groups: [], dssm: {}}", "", "", 0, 0},
    };
    m_model *t = m_open(v[0].config, (m_opts){0});
    CHECK(t->m == NULL);
    CHECK(strstr(m_findings(t), "dssm") != NULL);
    m_close(t);
    t = m_open("{feature_groups: [], deepfn: {}}", (m_opts){0});
    CHECK(t->m == NULL);
    CHECK(strstr(m_findings(t), "did you mean 'deepfm'?") != NULL);
    m_close(t);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(groups),      CASE(shared_tables), CASE(widths),
                                   CASE(sequences),   CASE(tasks),         CASE(losses_and_metrics),
                                   CASE(blocks),      CASE(checks),        CASE(towers_of_models),
                                   CASE(all_at_once), CASE(other_models)};
    cr_kern_init();
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
