/*
 * toy.h - a small schema of its own for the tests of conf/: every field type and flag once.
 */
#ifndef CR_TESTS_CONF_TOY_H
#define CR_TESTS_CONF_TOY_H

#include "base/buf.h"
#include "conf/conf.h"
#include "harness.h"

typedef struct toy_mlp {
    cr_conf_base base;
    cr_ints hidden_units;
    cr_floats dropout_ratio;
    const char *activation;
    bool bias;
} toy_mlp;
static const cr_field toy_mlp_fields[] = {
    CR_INT(toy_mlp, hidden_units, 0, 1, CR_U32_MAX, CR_F_REPEATED, "width of each layer"),
    CR_FLOAT(toy_mlp, dropout_ratio, 0, 0, 1, CR_F_REPEATED, "share of units dropped"),
    CR_STR(toy_mlp, activation, "nn.ReLU", 0, "activation of every layer"),
    CR_BOOL(toy_mlp, bias, true, 0, "add a bias"),
    CR_END,
};
static const cr_msg toy_mlp_msg = {
    .name = "MLP",
    .help = "a stack of layers",
    .fields = toy_mlp_fields,
    .size = sizeof(toy_mlp),
};

typedef struct toy_deep {
    cr_conf_base base;
    toy_mlp *deep;
    int64_t dim;
    int64_t T_max;
} toy_deep;
static const cr_field toy_deep_fields[] = {
    CR_MSG(toy_deep, deep, &toy_mlp_msg, CR_F_REQUIRED, "the deep part"),
    CR_INT(toy_deep, dim, 16, 1, 4096, 0, "width of every embedding"),
    CR_INT(toy_deep, T_max, 7, 0, CR_U32_MAX, 0, "steps of one period"),
    CR_END,
};
static const cr_msg toy_deep_msg = {
    .name = "ToyDeep",
    .help = "deep and wide",
    .fields = toy_deep_fields,
    .size = sizeof(toy_deep),
};

typedef struct toy_flat {
    cr_conf_base base;
    double scale;
} toy_flat;
static const cr_field toy_flat_fields[] = {
    CR_FLOAT(toy_flat, scale, 1, -CR_INF, CR_INF, 0, "factor"),
    CR_END,
};
static const cr_msg toy_flat_msg = {
    .name = "ToyFlat",
    .help = "nothing deep",
    .fields = toy_flat_fields,
    .size = sizeof(toy_flat),
};
static const cr_msg toy_far_msg = CR_MSG_LATER("ToyFar", "of a later version");

static const cr_oneof_member toy_models[] = {
    {"toy_deep", &toy_deep_msg, NULL},
    {"toy_flat", &toy_flat_msg, NULL},
    {"toy_far", &toy_far_msg, NULL},
    {NULL, NULL, NULL},
};
static const cr_oneof toy_model_oneof = {"model", true, toy_models};

static const cr_enum_value toy_kinds[] = {
    {"DEEP", 0, "through the deep part", NULL},
    {"WIDE", 1, "through the wide part", NULL},
    {"SEQUENCE", 2, "as a sequence", "use DEEP or WIDE"},
    {NULL, 0, NULL, NULL},
};

typedef struct toy_group {
    cr_conf_base base;
    const char *group_name;
    cr_strs feature_names;
    int group_type;
    cr_enums kinds;
    cr_choice model;
    cr_conf_map vocab_dict;
    cr_conf_map value_map;
    const cr_conf_node *params;
} toy_group;
static const cr_field toy_group_fields[] = {
    CR_STR(toy_group, group_name, "", CR_F_REQUIRED, "name of the group"),
    CR_STR(toy_group, feature_names, NULL, CR_F_REPEATED, "features in it"),
    CR_ENUM(toy_group, group_type, toy_kinds, 0, 0, "how it is used"),
    CR_ENUM(toy_group, kinds, toy_kinds, 0, CR_F_REPEATED, "several ways"),
    CR_ONEOF(toy_group, model, &toy_model_oneof, 0, "the model"),
    CR_MAP_INT(toy_group, vocab_dict, 0, "value to id"),
    CR_MAP_FLOAT(toy_group, value_map, 0, "value to number"),
    CR_TREE(toy_group, params, 0, "free parameters"),
    CR_END,
};
static const cr_msg toy_group_msg = {
    .name = "ToyGroup",
    .help = "features that go together",
    .fields = toy_group_fields,
    .size = sizeof(toy_group),
};

typedef struct toy_train {
    cr_conf_base base;
    int64_t num_steps;
    int64_t num_epochs;
    uint64_t seed;
    double lr;
    bool shuffle;
    bool cudnn_allow_tf32;
    const char *mixed_precision;
    const char *delimiter;
    int64_t offset;
} toy_train;
static void toy_train_check(const void *self, cr_diag *diag) {
    const toy_train *t = self;
    if (t->num_steps && t->num_epochs)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(t, "num_epochs"),
                    "num_epochs and num_steps are both set; keep one");
}
static const cr_field toy_train_fields[] = {
    CR_INT(toy_train, num_steps, 0, 0, CR_U32_MAX, 0, "steps to train"),
    CR_INT(toy_train, num_epochs, 0, 0, CR_U32_MAX, 0, "passes over the data"),
    CR_UINT64(toy_train, seed, 1, CR_F_OURS, "seed of all random numbers"),
    CR_FLOAT(toy_train, lr, 0.002, 0, 10, 0, "learning rate"),
    CR_BOOL(toy_train, shuffle, false, 0, "shuffle the rows"),
    CR_BOOL(toy_train, cudnn_allow_tf32, true, CR_F_GPU, "GPU convolutions in TF32"),
    CR_STR(toy_train, mixed_precision, "", CR_F_LATER, "BF16 or FP16"),
    CR_STR(toy_train, delimiter, ",", 0, "between columns"),
    CR_INT(toy_train, offset, 0, -CR_INF, 5, 0, "may be negative"),
    CR_ALIAS("shift", CR_T_INT, 0, "offset"),
    CR_K_MSG("dump", &toy_far_msg, CR_F_GPU, "a GPU's dump"),
    CR_K_INSTEAD("trace", &toy_far_msg, "look at the log", CR_F_IDLE, "not written here"),
    CR_END,
};
static const cr_msg toy_train_msg = {
    .name = "TrainConfig",
    .help = "how to train",
    .fields = toy_train_fields,
    .size = sizeof(toy_train),
    .check = toy_train_check,
};

typedef struct toy_root {
    cr_conf_base base;
    const char *model_dir;
    toy_train *train_config;
    cr_msgs groups;
} toy_root;
static const cr_field toy_root_fields[] = {
    CR_STR(toy_root, model_dir, "", 0, "where results go"),
    CR_MSG(toy_root, train_config, &toy_train_msg, 0, "training"),
    CR_MSG(toy_root, groups, &toy_group_msg, CR_F_REPEATED, "feature groups"),
    CR_END,
};
static const cr_msg toy_root_msg = {
    .name = "ToyConfig",
    .schema = "Toy 1.2",
    .help = "a whole config",
    .fields = toy_root_fields,
    .size = sizeof(toy_root),
};

/* a parsed and bound text; clear with toy_clear */
typedef struct toy {
    cr_conf_doc doc;
    cr_diag diag;
    toy_root *root;
    cr_buf text; /* all findings, one line each */
} toy;

static inline void toy_findings(toy *t) {
    cr_buf_reset(&t->text);
    cr_buf_str(&t->text, "");
    for (size_t i = 0; i < t->diag.n; i++) {
        const cr_finding *f = &t->diag.v[i];
        if (f->at.path) cr_buf_printf(&t->text, "%s:%d:%d: ", f->at.path, f->at.line, f->at.col);
        cr_buf_printf(&t->text, "%s%s\n",
                      f->sev == CR_SEV_WARN   ? "warning: "
                      : f->sev == CR_SEV_NOTE ? "note: "
                                              : "",
                      f->msg);
    }
}

static inline cr_code toy_parse(toy *t, cr_syntax syntax, const char *text, size_t n) {
    cr_conf_doc_init(&t->doc);
    cr_diag_init(&t->diag);
    cr_buf_init(&t->text);
    t->root = NULL;
    cr_code code = cr_conf_parse(&t->doc, syntax, "f", text, n, &t->diag);
    toy_findings(t);
    return code;
}

static inline void toy_bind(toy *t) {
    t->root = cr_conf_bind(&t->doc.arena, &toy_root_msg, t->doc.root, &t->diag);
    toy_findings(t);
}

static inline void toy_clear(toy *t) {
    cr_conf_doc_clear(&t->doc);
    cr_diag_clear(&t->diag);
    cr_buf_clear(&t->text);
}

/* parse and bind, then compare all findings */
static inline void toy_load(toy *t, cr_syntax syntax, const char *text) {
    if (toy_parse(t, syntax, text, strlen(text)) == CR_OK) toy_bind(t);
}
#define FINDINGS(syntax, text_, expected)                                                          \
    do {                                                                                           \
        toy t_;                                                                                    \
        toy_load(&t_, syntax, text_);                                                              \
        CHECK_STR(t_.text.data, expected);                                                         \
        toy_clear(&t_);                                                                            \
    } while (0)
#define YAML  CR_SYNTAX_YAML
#define PBTXT CR_SYNTAX_PBTXT
#define JSON  CR_SYNTAX_JSON

#endif
