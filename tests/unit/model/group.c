/*
 * group.c - feature groups in the graph: which features stand where, which tables they share, which
 * groups are parts of others, sequences and their axes, how tables begin.
 */
#include "unit/model/model_test.h"

#include "op/op.h"
#include "op/param.h"

/* a build without a model type: groups are built one by one */
typedef struct built {
    m_model *t;
    cr_model *m;
    cr_build *b;
} built;

static built open_groups(const char *groups) {
    built k;
    char config[2000];
    snprintf(config, sizeof(config), "{feature_groups: [%s], logistic_regression: {}, " M_BCE "}",
             groups);
    k.t = m_open(config, (m_opts){.no_labels = true});
    cr_diag_clear(&k.t->diag); /* what logistic_regression says of them */
    cr_diag_init(&k.t->diag);
    cr_model_free(k.t->m);
    k.t->m = NULL;
    k.m = cr_alloc(sizeof(*k.m), "model");
    cr_arena_init(&k.m->arena, 0);
    cr_graph_init(&k.m->graph, 1);
    k.b = CR_NEW(&k.m->arena, cr_build);
    *k.b = (cr_build){.m = k.m,
                      .g = &k.m->graph,
                      .o = &k.t->o,
                      .conf = k.t->root->model_config,
                      .diag = &k.t->diag,
                      .wide_dim = CR_WIDE_DIM};
    return k;
}
static void close_groups(built *k) {
    cr_model_free(k->m);
    m_close(k->t);
}
static int count_lookups(const built *k) {
    int n = 0;
    for (int i = 0; i < k->m->graph.n; i++)
        n += k->m->graph.nodes[i]->op == &cr_op_lookup;
    return n;
}

TEST(features_side_by_side) {
    built k = open_groups(M_GROUP("g", "b, x2, a, m, d, x"));
    cr_group_out g = cr_group_build(k.b, "g", CR_NOWHERE);
    CHECK_STR(m_findings(k.t), "");
    static const int64_t widths[] = {4, 2, 4, 4, 4, 1};
    static const char *const names[] = {"b", "x2", "a", "m", "d", "x"};
    CHECK_INT(g.F, 6);
    CHECK_INT(g.D, 0); /* of different widths */
    CHECK_INT(g.node->width, 19);
    for (int i = 0; i < 6; i++) {
        CHECK_INT(g.widths[i], widths[i]);
        CHECK_STR(g.names[i], names[i]);
        CHECK_INT(g.tables[i], i == 0 || i == 2);
    }
    /* b, x2, a are one lookup; m and d begin with one each, x ends the row */
    CHECK_INT(count_lookups(&k), 4);
    close_groups(&k);
    k = open_groups(M_GROUP("g", "a, m, d"));
    g = cr_group_build(k.b, "g", CR_NOWHERE);
    CHECK_INT(g.D, 4);
    close_groups(&k);
}

/* a group that is part of another is a slice of its lookup */
TEST(parts_of_groups) {
    built k = open_groups(M_GROUP("all", "a, x, b, c") ", " M_GROUP("bc", "b, c") ", " M_GROUP(
        "same", "a, x, b, c") ", " M_GROUP("cb", "c, b"));
    cr_group_out all = cr_group_build(k.b, "all", CR_NOWHERE);
    cr_group_out bc = cr_group_build(k.b, "bc", CR_NOWHERE),
                 same = cr_group_build(k.b, "same", CR_NOWHERE);
    CHECK_STR(m_findings(k.t), "");
    CHECK_INT(count_lookups(&k), 1);
    CHECK(same.node == all.node);
    CHECK(bc.node != all.node && bc.node->in[0] == all.node);
    CHECK_INT(bc.node->width, 8);
    CHECK_INT(k.m->n_tables, 3);
    CHECK_INT(k.m->tables[1]->n_uses, 1);
    /* in another order it is none */
    cr_group_out cb = cr_group_build(k.b, "cb", CR_NOWHERE);
    CHECK_INT(count_lookups(&k), 2);
    CHECK_INT(cb.node->width, 8);
    CHECK_INT(k.m->n_tables, 3);
    CHECK_INT(k.m->tables[1]->n_uses, 2);
    CHECK_INT(k.m->n_views, 5);
    close_groups(&k);
}

/* autodis and mlp have one piece of graph per feature, in however many groups it is */
TEST(dense_embeddings_are_shared) {
    built k = open_groups(M_GROUP("one", "m, a") ", " M_GROUP("two", "b, m"));
    cr_group_build(k.b, "one", CR_NOWHERE);
    cr_group_build(k.b, "two", CR_NOWHERE);
    int n = 0;
    for (int i = 0; i < k.m->graph.n; i++) {
        const cr_node *p = k.m->graph.nodes[i];
        if (p->cls != CR_PARAM) continue;
        n++;
        CHECK_STR(p->name,
                  "embedding_group.emb_impls.__BASE__.dense_ec.dense_embs.mlp#4.proj_w_m.weight");
    }
    CHECK_INT(n, 1);
    close_groups(&k);
}

TEST(wide_groups) {
    built k = open_groups(
        "{group_name: w, group_type: WIDE, feature_names: [a, wide, x]}, " M_GROUP("g", "a, wide"));
    k.b->wide_dim = 2;
    k.b->wide_init = "nn.init.constant_,val=0.25";
    cr_group_out w = cr_group_build(k.b, "w", CR_NOWHERE);
    CHECK_INT(w.node->width, 5);
    cr_group_out g = cr_group_build(k.b, "g", CR_NOWHERE);
    CHECK_INT(g.node->width, 7);
    CHECK_STR(m_findings(k.t), "");
    CHECK_INT(k.m->n_tables, 4);
    CHECK_STR(k.m->tables[0]->short_name, "a_emb_wide");
    CHECK_STR(k.m->tables[0]->table.name,
              "embedding_group.emb_impls.__BASE__.ebc.embedding_bags.a_emb_wide.weight");
    CHECK_INT(k.m->tables[1]->D, 2);
    CHECK_STR(k.m->tables[3]->short_name, "wide_emb");
    CHECK_INT(k.m->tables[3]->D, 3);
    /* how they begin */
    CHECK(k.m->tables[0]->init.kind == CR_INIT_CONST && k.m->tables[0]->init.a == 0.25);
    CHECK(k.m->tables[3]->init.kind == CR_INIT_UNIFORM);
    CHECK_NEAR(k.m->tables[3]->init.b, sqrt(1.0 / 6), 0, 1e-6);
    close_groups(&k);
}

TEST(suffixes_make_tables) {
    built k = open_groups(M_GROUP("g", "a") ", {group_name: h, feature_names: [a], "
                                            "embedding_name_suffix: mine}");
    cr_group_build(k.b, "g", CR_NOWHERE);
    cr_group_build(k.b, "h", CR_NOWHERE);
    CHECK_STR(m_findings(k.t), "");
    CHECK_INT(k.m->n_tables, 2);
    CHECK_STR(k.m->tables[1]->short_name, "a_emb_mine");
    CHECK_STR(k.m->tables[1]->suffix, "mine");
    close_groups(&k);
}

TEST(tables_of_the_models_own_width) {
    built k = open_groups(M_GROUP("g", "a, x2"));
    cr_group_out g = cr_group_build_as(k.b, "g", 6, "_ffm", "nn.init.ones_", true, CR_NOWHERE);
    CHECK_STR(m_findings(k.t), "");
    CHECK_INT(g.D, 6);
    CHECK_INT(g.node->width, 12);
    CHECK_STR(k.m->tables[0]->short_name, "a_emb_ffm");
    int n = 0;
    for (int i = 0; i < k.m->graph.n; i++) {
        const cr_node *p = k.m->graph.nodes[i];
        if (p->cls != CR_PARAM) continue;
        n++;
        CHECK_STR(p->name, "ffm.x2.weight");
        CHECK_INT(p->rows, 2);
        CHECK_INT(p->cols, 6);
    }
    CHECK_INT(n, 1);
    close_groups(&k);
}

/* tables of sequences are parameters of their own; axes know lengths and the most steps */
TEST(sequences) {
    built k = open_groups(M_SEQ("s", "b, hist__b, hist__t") ", " M_SEQ(
        "o", "c, other__c") ", " M_SEQ("both", "b, hist__b, other__c") ", " M_GROUP("g", "b"));
    cr_group_build(k.b, "g", CR_NOWHERE);
    cr_seq_out s = cr_group_build_seq(k.b, "s", 0, CR_NOWHERE);
    CHECK_STR(m_findings(k.t), "");
    CHECK_INT(s.query->cls, CR_ROW);
    CHECK_INT(s.query->width, 4);
    CHECK_INT(s.keys->cls, CR_SEQ);
    CHECK_INT(s.keys->width, 5);
    CHECK_INT(k.m->n_tables, 3);
    CHECK(!k.m->tables[0]->seq && k.m->tables[1]->seq && k.m->tables[2]->seq);
    CHECK_STR(k.m->tables[1]->table.name,
              "embedding_group.seq_emb_impls.__BASE__.ec_dict.4.embeddings.b_emb.weight");
    CHECK_INT(k.m->n_axes, 1);
    CHECK_STR(k.m->axes[0].name, "hist__b");
    CHECK_INT(k.m->axes[0].most, 0);
    /* of another feature; cut; cut behind the end, which cuts nothing */
    CHECK_INT(cr_group_build_seq(k.b, "o", 0, CR_NOWHERE).keys->axis, 1);
    CHECK_INT(cr_group_build_seq(k.b, "s", 4, CR_NOWHERE).keys->axis, 2);
    CHECK_INT(k.m->axes[2].most, 4);
    CHECK_INT(cr_group_build_seq(k.b, "s", 6, CR_NOWHERE).keys->axis, 0);
    CHECK_INT(k.m->n_axes, 3);
    CHECK_INT(k.m->axes[0].n_others, 0);
    /* two blocks in one group: their lengths are compared in each batch */
    CHECK_INT(cr_group_build_seq(k.b, "both", 0, CR_NOWHERE).keys->axis, 0);
    CHECK_INT(k.m->axes[0].n_others, 1);
    CHECK_STR(k.m->axes[0].others[0]->name, "other__c");
    cr_group_build_seq(k.b, "both", 0, CR_NOWHERE);
    CHECK_INT(k.m->axes[0].n_others, 1); /* once */
    CHECK_STR(m_findings(k.t), "");
    close_groups(&k);
}

TEST(encoders_follow_the_features) {
    built k = open_groups(
        "{group_name: g, feature_names: [a], sequence_groups: [{group_name: s, feature_names: [b, "
        "hist__b, hist__t]}], sequence_encoders: [{pooling_encoder: {input: s, pooling_type: "
        "mean}}, "
        "{din_encoder: {input: s, attn_mlp: {hidden_units: [3]}}}]}");
    cr_group_out g = cr_group_build(k.b, "g", CR_NOWHERE);
    CHECK_STR(m_findings(k.t), "");
    CHECK_INT(g.F, 3);
    CHECK_INT(g.node->width, 4 + 5 + 5);
    CHECK_STR(g.names[1], "g_seq_encoder_0");
    CHECK_STR(g.names[2], "g_seq_encoder_1");
    CHECK(g.tables[0] && !g.tables[1]);
    int n = k.m->graph.n, axes = k.m->n_axes;
    int keys = 0;
    for (int i = 0; i < n; i++)
        keys += k.m->graph.nodes[i]->cls == CR_SEQ && k.m->graph.nodes[i]->n_in == 0;
    CHECK_INT(axes, 1);
    CHECK_INT(keys, 1); /* both encoders read the same ones */
    cr_group_out again = cr_group_build(k.b, "g", CR_NOWHERE);
    CHECK_INT(again.F, 3);
    CHECK_INT(k.m->graph.n, n + 1); /* encoders are made once; only the row is put together again */
    close_groups(&k);
}

TEST(finding_groups) {
    built k = open_groups(M_GROUP("group", "a") ", " M_GROUP("h", "b"));
    const cr_model_conf *c = k.b->conf;
    CHECK(cr_group_find(c, "group") == c->feature_groups.v[0]);
    CHECK(cr_group_find(c, "h") == c->feature_groups.v[1]);
    CHECK(cr_group_find(c, "i") == NULL);
    CHECK_STR(cr_group_or(k.b, "h", "group"), "h");
    CHECK_STR(cr_group_or(k.b, "i", "group"), "group");
    CHECK_STR(cr_group_first(k.b, "toy", CR_NOWHERE), "group");
    CHECK_INT(k.t->diag.n, 1); /* it reads one of two */
    CHECK(cr_group_build(k.b, "grup", CR_NOWHERE).node == NULL);
    CHECK_STR(k.t->diag.v[1].msg, "there is no feature group 'grup'; did you mean 'group'?");
    CHECK(cr_group_build(k.b, "nothing", CR_NOWHERE).node == NULL);
    CHECK_STR(k.t->diag.v[2].msg, "there is no feature group 'nothing'; add one to "
                                  "model_config.feature_groups");
    close_groups(&k);
}

/* what a linear model is: tables of width K added up, numbers through a matrix, a bias */
TEST(linear_part) {
    built k = open_groups(M_GROUP("g", "a, x, b, x2") ", " M_GROUP("ids", "a, b"));
    cr_node *y = cr_linear_part(k.b, "g", NULL, CR_NOWHERE);
    CHECK_INT(y->width, 1);
    CHECK_INT(k.m->n_tables, 2);
    CHECK_STR(k.m->tables[0]->short_name, "a_emb_wide");
    CHECK_INT(k.m->tables[0]->D, 1);
    cr_node *z = cr_linear_part(k.b, "ids", NULL, CR_NOWHERE);
    CHECK_INT(z->width, 1);
    int64_t widths[3] = {0};
    const char *names[3] = {0};
    int n = 0;
    for (int i = 0; i < k.m->graph.n; i++)
        if (k.m->graph.nodes[i]->cls == CR_PARAM && n < 3) {
            names[n] = k.m->graph.nodes[i]->name;
            widths[n++] = k.m->graph.nodes[i]->width;
        }
    CHECK_INT(n, 3);
    CHECK_STR(names[0], "linear.weight");
    CHECK_INT(widths[0], 3);
    CHECK_STR(names[1], "linear.bias");
    CHECK_STR(names[2], "linear.bias");
    close_groups(&k);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(features_side_by_side),
                                   CASE(parts_of_groups),
                                   CASE(dense_embeddings_are_shared),
                                   CASE(wide_groups),
                                   CASE(suffixes_make_tables),
                                   CASE(tables_of_the_models_own_width),
                                   CASE(sequences),
                                   CASE(encoders_follow_the_features),
                                   CASE(finding_groups),
                                   CASE(linear_part)};
    cr_kern_init();
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
