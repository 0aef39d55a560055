/*
 * synth_for.c - makes up data for a config: the columns that its features, labels and model read.
 *
 * The config is opened as training opens it, so its mistakes are reported in the same way. Paths
 * and dataset_type are replaced by those of the data, and the edited config is written beside the
 * data.
 */
#include <string.h>

#include "base/file.h"
#include "conf/conf.h"
#include "feat/sample.h"
#include "job/job.h"
#include "tool/tool.h"

/* Adds edits that point the config to the data; the caller's own edits come before them. */
static void aim(cr_config_opts *c, const cr_data_conf *data, const cr_synth_opts *o, bool parquet,
                cr_arena *a) {
    const char *ext = parquet ? "parquet" : "csv";
    c->train_input_path = cr_arena_printf(a, "%s/train/*.%s", o->dir, ext);
    c->eval_input_path = cr_arena_printf(a, "%s/eval/*.%s", o->dir, ext);
    c->model_dir = cr_path_join(a, o->dir, "model");
    const char **set = CR_NEW_N(a, const char *, c->n_set + 3);
    if (c->n_set) memcpy(set, c->set, sizeof *set * (size_t)c->n_set);
    c->set = set;
    if (data->dataset_type != (parquet ? CR_PARQUET : CR_CSV))
        set[c->n_set++] = parquet ? "data_config.dataset_type=ParquetDataset"
                                  : "data_config.dataset_type=CsvDataset";
    /* input_fields names the columns */
    bool named = data->dataset_type == CR_CSV && data->input_fields.n > 0;
    if (!parquet && !data->with_header && !named) set[c->n_set++] = "data_config.with_header=true";
}

static int label_of(const cr_synth_table *t, const char *name) {
    for (int i = 0; i < t->n_labels; i++)
        if (strcmp(t->labels[i].name, name) == 0) return i;
    return -1;
}

/* A purchase needs a click: the label of a tower follows that of its task space, or that of the
 * tower it depends on. */
static void relate_labels(const cr_model_conf *m, cr_synth_table *t) {
    const cr_task_conf *tower, *first = cr_model_tower(m, 0);
    bool esmm = m->model.m && strcmp(m->model.m->key, "esmm") == 0;
    for (int64_t i = 0; (tower = cr_model_tower(m, i)); i++) {
        int own = label_of(t, tower->label_name), after = -1;
        if (tower->task_space_indicator_label[0])
            after = label_of(t, tower->task_space_indicator_label);
        else if (esmm && i > 0)
            after = label_of(t, first->label_name);
        const cr_task_conf *other;
        for (int64_t k = 0;
             after < 0 && tower->relation_tower_names.n && (other = cr_model_tower(m, k)); k++)
            if (strcmp(other->tower_name, tower->relation_tower_names.v[0]) == 0)
                after = label_of(t, other->label_name);
        if (own >= 0 && after >= 0 && own != after && t->labels[after].after != own)
            t->labels[own].after = after;
    }
}

/* A label for which no loss has a rule is 0 or 1 too, unless a loss takes any number. */
static void label_kinds(const cr_job *j, cr_synth_table *t) {
    for (int l = 0; l < t->n_labels; l++) {
        bool any = false;
        for (int i = 0; i < j->model->n_losses; i++)
            any |= j->model->losses[i].label == l && !j->model->losses[i].lists;
        if (t->labels[l].K == 0 && !any) t->labels[l].K = 2;
    }
}

/* Gives the sequences of a group the same steps, since they run side by side. */
static void join_groups(const cr_job *j, cr_synth_table *t) {
    const cr_msgs *groups = &j->root->model_config->feature_groups;
    for (int64_t i = 0; i < groups->n; i++) {
        const cr_group_conf *g = groups->v[i];
        if (cr_group_type_seq(g->group_type))
            cr_sample_same_steps(t, j->features, g->feature_names.v, g->feature_names.n);
        for (int64_t k = 0; k < g->sequence_groups.n; k++) {
            const cr_seq_group_conf *s = g->sequence_groups.v[k];
            cr_sample_same_steps(t, j->features, s->feature_names.v, s->feature_names.n);
        }
    }
}

static cr_code make(cr_job *j, const cr_config_opts *c, cr_synth_opts *o, bool parquet,
                    cr_diag *diag) {
    const cr_data_conf *data = j->root->data_config;
    cr_arena *a = &j->cfg.arena;
    cr_synth_table t = {.name = c->path,
                        .delimiter = data->delimiter && data->delimiter[0] ? data->delimiter : ",",
                        .header = data->with_header};
    cr_features_sample(j->features, data, &t, a);
    label_kinds(j, &t);
    relate_labels(j->root->model_config, &t);
    join_groups(j, &t);
    cr_buf text;
    cr_buf_init(&text);
    cr_buf_str(&text, "# Made by crank synth --for; fits the data beside it.\n");
    cr_conf_print(&text, &cr_root_msg, j->cfg.doc.root, CR_SYNTAX_YAML);
    t.config = text.data;
    o->table = &t;
    o->format = parquet ? "parquet" : "csv";
    cr_err err;
    cr_code code = cr_synth(o, j->pool, &err);
    cr_buf_clear(&text);
    o->table = NULL;
    return code == CR_OK ? CR_OK : cr_diag_err(diag, &err);
}

cr_code cr_synth_for(const cr_config_opts *config, int threads, cr_synth_opts *o, cr_diag *diag) {
    cr_config first;
    cr_config_opts c = *config;
    /* a first look; mistakes are reported below, where a dataset_type that crank cannot read is not
     * one */
    cr_diag unheard;
    cr_diag_init(&unheard);
    (void)!cr_config_load(&first, &c, &unheard);
    cr_diag_clear(&unheard);
    const cr_data_conf *data = first.root ? first.root->data_config : NULL;
    bool parquet =
        o->format ? strcmp(o->format, "parquet") == 0 : !data || data->dataset_type != CR_CSV;
    if (data) aim(&c, data, o, parquet, &first.arena);
    cr_job j;
    cr_job_opts jo = {.config = &c, .threads = threads, .train = true, .with_labels = true};
    cr_code code = cr_job_open(&j, &jo, diag);
    if (code == CR_OK) code = make(&j, &c, o, parquet, diag);
    cr_job_close(&j);
    cr_config_clear(&first);
    return code;
}
