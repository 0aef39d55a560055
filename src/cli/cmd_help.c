/*
 * cmd_help.c - `crank help`: commands, families of config keys, single keys.
 *
 * Nothing is written here about any model or key: lists come from the oneofs that the config
 * reader uses and from the table of activations, texts from the field tables.
 */
#include <string.h>
#include <strings.h>

#include "cli/cli.h"
#include "cli/example.h"
#include "cli/help_search.h"
#include "conf/conf.h"
#include "job/env.h"
#include "layer/layer.h"

typedef struct args {
    cr_opt_list topic;
    bool example;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, topic, CR_O_LIST, 0, 0, "TOPIC", NULL, NULL, 0, 0,
            "command, key of the config, or a list: models, features, optimizers, losses, metrics, "
            "activations, environment; other words are searched for"),
    CR_OPT_BOOL(args, example, 0, "print a whole config that uses the model or feature TOPIC"),
    CR_OPT_END,
};

/* A list: the oneof `field` of the message that the path leads to. */
typedef struct family {
    const char *topic, *one; /* "models", "model" */
    const char *title;
    const char *path[3]; /* keys from the root message, NULL-ended */
    const char *field;
} family;
static const family families[] = {
    {"models", "model", "models: key of model_config", {"model_config"}, "model"},
    {"features", "feature", "features: key of a feature_config", {"feature_configs"}, "feature"},
    {"optimizers",
     "optimizer",
     "optimizers of embedding tables: key of sparse_optimizer",
     {"train_config", "sparse_optimizer"},
     "optimizer"},
    {"optimizers",
     "optimizer",
     "optimizers of everything else: key of dense_optimizer",
     {"train_config", "dense_optimizer"},
     "optimizer"},
    {"optimizers",
     "learning_rates",
     "learning rates: key of either optimizer",
     {"train_config", "dense_optimizer"},
     "learning_rate"},
    {"losses",
     "loss",
     "losses: key of an item of model_config.losses",
     {"model_config", "losses"},
     "loss"},
    {"metrics",
     "metric",
     "metrics: key of an item of model_config.metrics",
     {"model_config", "metrics"},
     "metric"},
};
#define ACTIVATIONS "activations"
#define ENVIRONMENT "environment"
enum { N_FAMILIES = sizeof families / sizeof *families };

static const cr_oneof *family_oneof(const family *f) {
    const cr_msg *m = &cr_root_msg;
    for (int i = 0; i < 3 && f->path[i]; i++) {
        const cr_field *row = cr_msg_field(m, f->path[i]);
        if (!row || row->type != CR_T_MSG) CR_BUG("a family's path leads nowhere");
        m = row->ref;
    }
    const cr_field *row = cr_msg_field(m, f->field);
    if (!row || row->type != CR_T_ONEOF) CR_BUG("a family's field is not a oneof");
    return row->ref;
}

static void list_members(cr_buf *out, const cr_oneof *o, bool later) {
    size_t n = 0;
    int width = 0;
    for (const cr_oneof_member *m = o->members; m->key; m++) {
        n += m->msg->later == later;
        if ((int)strlen(m->key) > width) width = (int)strlen(m->key);
    }
    if (!n) return;
    if (later) cr_buf_str(out, "\n  known, not in this version:\n");
    for (const cr_oneof_member *m = o->members; m->key; m++)
        if (m->msg->later == later)
            cr_buf_printf(out, "  %-*s  %s%s\n", width, m->key, m->msg->help ? m->msg->help : "",
                          m->msg->ours ? " (crank only)" : "");
}

static bool family_help(cr_buf *out, const char *topic) {
    bool any = false;
    for (int i = 0; i < N_FAMILIES; i++) {
        const family *f = &families[i];
        if (strcasecmp(f->topic, topic) != 0 && strcasecmp(f->one, topic) != 0) continue;
        cr_buf_printf(out, "%s%s\n", any ? "\n" : "", f->title);
        const cr_oneof *o = family_oneof(f);
        list_members(out, o, false);
        list_members(out, o, true);
        any = true;
    }
    if (any) cr_buf_str(out, "\n'crank help NAME' lists the keys of one of them.\n");
    return any;
}

static void activation_help(cr_buf *out) {
    cr_buf_str(out, "activations: activation of an mlp, ppnet_activation, function of a block\n");
    cr_buf call;
    cr_buf_init(&call);
    const char *help;
    for (size_t i = 0; (help = cr_act_help(i, &call)); i++, cr_buf_reset(&call))
        cr_buf_printf(out, "  %-38s  %s\n", call.data, help);
    cr_buf_clear(&call);
    cr_buf_str(out,
               "\nThe numbers in brackets are the defaults; inplace=True changes nothing. \"\" "
               "is none.\n");
}

typedef struct words {
    const cr_cmd *const *cmds;
    size_t n_cmds;
} words;
static const char *next_word(const void *ctx, size_t i) {
    const words *w = ctx;
    if (i < w->n_cmds) return w->cmds[i]->name;
    i -= w->n_cmds;
    if (i < N_FAMILIES) return families[i].topic;
    static const char *const others[] = {ACTIVATIONS, ENVIRONMENT};
    return i - N_FAMILIES < 2 ? others[i - N_FAMILIES] : NULL;
}

static void add_example(cr_buf *out, const char *topic) {
    cr_buf part;
    cr_buf_init(&part);
    if (cr_example_part(&part, topic, "  "))
        cr_buf_printf(out, "\nexample ('crank help %s --example' prints a whole config):\n\n%s",
                      topic, part.data);
    cr_buf_clear(&part);
}

static cr_code whole_example(cr_ui *ui, cr_buf *out, const cr_opt_list *topic) {
    if (topic->n == 0)
        return cr_ui_wrong(ui, "--example needs a model or a feature: crank help deepfm --example");
    const char *name = topic->v[topic->n - 1];
    if (cr_example_whole(out, name)) return CR_OK;
    return cr_ui_wrong(ui,
                       "there is no example of '%s'; see 'crank help models' and 'crank help "
                       "features' for what has one",
                       name);
}

static cr_code topic_help(cr_ui *ui, cr_buf *out, const char *topic) {
    const cr_cmd *cmd = cr_cmd_find(ui->cmds, topic);
    if (cmd) return cr_cmd_usage(out, cmd), CR_OK;
    if (family_help(out, topic)) return CR_OK;
    if (strcasecmp(topic, ACTIVATIONS) == 0) return activation_help(out), CR_OK;
    if (strcasecmp(topic, ENVIRONMENT) == 0) return cr_env_lines(out), CR_OK;
    if (cr_env_line(out, topic)) return CR_OK;
    char path[CR_CONF_NEAR];
    if (cr_conf_help(out, &cr_root_msg, topic, path)) {
        add_example(out, topic);
        cr_help_also(ui, out, topic);
        return CR_OK;
    }
    if (cr_help_search(ui, topic)) return CR_OK;
    const char *near = *path ? path : NULL;
    words w = {ui->cmds, 0};
    while (ui->cmds[w.n_cmds])
        w.n_cmds++;
    const char *word = cr_nearest(topic, next_word, &w);
    if (word && (!near || cr_edit_distance(topic, word) <= cr_edit_distance(topic, near)))
        near = word;
    if (near) return cr_ui_wrong(ui, "nothing is called '%s'; did you mean '%s'?", topic, near);
    return cr_ui_wrong(ui,
                       "nothing is called '%s'; try 'crank help', 'crank help models' or "
                       "'crank help train_config'",
                       topic);
}

/* "help early stopping" means the keys that have early_stopping in their names. */
static bool several_words(cr_ui *ui, const cr_opt_list *topic) {
    cr_buf all;
    cr_buf_init(&all);
    for (int64_t i = 0; i < topic->n; i++)
        cr_buf_printf(&all, "%s%s", i ? "_" : "", topic->v[i]);
    for (size_t i = 0; i < all.n; i++)
        if (all.data[i] == ' ') all.data[i] = '_';
    bool several = topic->n > 1 || (topic->n == 1 && strcmp(all.data, topic->v[0]) != 0);
    bool found = several && cr_help_search(ui, all.data);
    cr_buf_clear(&all);
    return found;
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    cr_buf out;
    cr_buf_init(&out);
    cr_code code = CR_OK;
    /* In "help model deepfm" the last word is enough. */
    if (a->example)
        code = whole_example(ui, &out, &a->topic);
    else if (several_words(ui, &a->topic))
        code = CR_OK;
    else if (a->topic.n)
        code = topic_help(ui, &out, a->topic.v[a->topic.n - 1]);
    else
        cr_cmd_overview(&out, ui->cmds);
    if (code == CR_OK) cr_ui_say("%s", out.data ? out.data : "");
    cr_buf_clear(&out);
    return code;
}

static const char *const examples[] = {
    "crank help train",
    "crank help deepfm",
    "crank help train_config.num_steps",
    "crank help optimizers",
    "crank help dropout",
    "crank help deepfm --example > deepfm.yaml",
    NULL,
};

const cr_cmd cr_cmd_help = {
    .name = "help",
    .help = "Explain a command, a model, a feature or any key of the config",
    .operand = "TOPIC",
    .words = "models features optimizers losses metrics activations environment",
    .word_commands = true,
    .operand_opt = "topic",
    .opts = opts,
    .args_size = sizeof(args),
    .examples = examples,
    .run = run,
};
