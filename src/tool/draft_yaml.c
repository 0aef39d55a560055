/*
 * draft_yaml.c - writes the choices of `crank init` as a config in YAML, with the reasons beside
 * them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/json.h"
#include "tool/draft.h"

/* A JSON string is also a YAML string. */
static void quoted(cr_buf *b, const char *s) {
    cr_json_escape(b, s, strlen(s));
}

static void number(cr_buf *b, double x) {
    char text[32];
    cr_buf_add(b, text, cr_fmt_f64(text, x));
}

/* Comments end with the line: control characters of names must not end it. */
static void comment(cr_buf *b, const char *s) {
    for (; *s; s++)
        cr_buf_char(b, (unsigned char)*s < ' ' ? '?' : *s);
}

/* The values of a label in the order of their numbers: as numbers, else by their bytes. */
static int label_values(const cr_survey_col *l, const char *out[CR_SURVEY_TOP]) {
    for (int i = 0; i < l->n_top; i++) {
        int at = i;
        double x, y;
        for (; at > 0; at--) {
            const char *a = out[at - 1], *c = l->top[i].text;
            bool numbers = cr_parse_f64(a, strlen(a), &x) && cr_parse_f64(c, strlen(c), &y);
            if (numbers ? x <= y : strcmp(a, c) <= 0) break;
            out[at] = a;
        }
        out[at] = l->top[i].text;
    }
    return l->n_top;
}

static void head(cr_buf *b, const cr_draft *c) {
    const cr_survey *s = c->s;
    const cr_survey_col *l = &s->cols[c->label];
    char rows[32];
    cr_buf_str(b, "# Made by crank init from ");
    comment(b, s->paths);
    cr_buf_printf(b, ":\n# %s%s rows, %d columns, of which %d are features.\n",
                  s->whole ? "" : "the first ", cr_fmt_count(rows, (double)s->rows), s->n_cols,
                  c->n_features);
    cr_buf_str(b, "# The label is '");
    comment(b, l->name);
    cr_buf_printf(b, "'%s", s->label_guessed ? ", guessed by its name or place" : "");
    if (c->task == CR_DRAFT_BINARY && s->positives >= 0)
        cr_buf_printf(b, "; %.1f %% of the rows are positive",
                      100 * (double)s->positives / (double)s->rows);
    if (c->task == CR_DRAFT_CLASSES)
        cr_buf_printf(b, "; it has %lld classes", (long long)c->n_class);
    if (c->task == CR_DRAFT_REGRESSION) cr_buf_printf(b, "; a number around %.6g", l->mean);
    cr_buf_str(b, ".\n# Every guess is told beside it: change what you know better.\n");
}

static void left_out(cr_buf *b, const cr_draft *c) {
    bool any = false;
    for (int i = 0; i < c->s->n_cols; i++) {
        const cr_draft_col *x = &c->cols[i];
        if (x->use != CR_DRAFT_SKIP) continue;
        if (!any) cr_buf_str(b, "# Left out:\n");
        any = true;
        cr_buf_str(b, "#   ");
        comment(b, cr_survey_col_name(x->col));
        cr_buf_printf(b, ": %s\n", x->why);
    }
}

static void train_config(cr_buf *b, const cr_draft *c, bool ours) {
    cr_buf_str(b, "train_config:\n  sparse_optimizer:\n    adagrad_optimizer: {lr: ");
    number(b, floor(c->sparse_lr * 1000 + 0.5) / 1000);
    cr_buf_str(b,
               "}\n    constant_learning_rate: {}\n  dense_optimizer:\n    adam_optimizer: {lr: ");
    number(b, c->dense_lr);
    cr_buf_str(b, "}\n    constant_learning_rate: {}\n");
    if (c->save_steps)
        cr_buf_printf(b, "  num_epochs: 1\n  save_checkpoints_steps: %lld\n",
                      (long long)c->save_steps);
    else if (ours)
        cr_buf_printf(b,
                      "  num_epochs: %lld  # at most: see early_stopping_patience\n"
                      "  save_checkpoints_epochs: 1\n",
                      (long long)c->epochs);
    else
        cr_buf_printf(b, "  num_epochs: %d\n  save_checkpoints_epochs: 1\n",
                      c->epochs > 3 ? 8 : (int)c->epochs);
    if (!c->save_steps && ours)
        cr_buf_str(b, "eval_config:\n  early_stopping_patience: 3  # ends after three epochs that "
                      "are not better\n");
    if (c->task == CR_DRAFT_REGRESSION)
        cr_buf_str(b, "export_config: {best_exporter_metric: mean_squared_error, "
                      "metric_larger_is_better: false}\n");
    if (c->task == CR_DRAFT_CLASSES)
        cr_buf_str(b, "export_config: {best_exporter_metric: accuracy}\n");
}

static void data_config(cr_buf *b, const cr_draft *c, bool ours) {
    const cr_survey *s = c->s;
    cr_buf_printf(b, "data_config:\n  dataset_type: %s\n  batch_size: %lld\n  fg_mode: FG_NORMAL\n",
                  s->reader->name, (long long)c->batch_size);
    cr_buf_str(b, "  label_fields: [");
    quoted(b, s->cols[c->label].name);
    cr_buf_str(b, "]\n");
    if (c->label_map) {
        const char *v[CR_SURVEY_TOP];
        int n = label_values(&s->cols[c->label], v);
        cr_buf_str(b, "  label_map:\n    - map: {");
        for (int i = 0; i < n; i++) {
            if (i) cr_buf_str(b, ", ");
            quoted(b, v[i]);
            cr_buf_printf(b, ": %d", i);
        }
        cr_buf_str(b, "}\n");
    }
    for (int i = 0, n = 0; i < s->n_cols; i++) {
        if (c->cols[i].use != CR_DRAFT_WEIGHT || n++) continue;
        cr_buf_str(b, "  sample_weight_fields: [");
        quoted(b, c->cols[i].col->name);
        cr_buf_str(b, "]  # guessed by its name\n");
    }
    if (s->n_marks && ours) {
        cr_buf_str(b, "  null_values: [");
        for (int i = 0; i < s->n_marks; i++) {
            if (i) cr_buf_str(b, ", ");
            quoted(b, s->marks[i]);
        }
        cr_buf_str(b, "]  # texts that mean a missing value\n");
    }
    if (s->delimiter) {
        cr_buf_printf(b, "  with_header: %s\n", s->header ? "true" : "false");
        if (strcmp(s->delimiter, ",") != 0) {
            cr_buf_str(b, "  delimiter: ");
            quoted(b, s->delimiter);
            cr_buf_str(b, "\n");
        }
        if (!s->header) {
            cr_buf_str(b, "  input_fields:  # the files have no header: name the columns here\n");
            for (int i = 0; i < s->n_cols; i++) {
                cr_buf_str(b, "    - {input_name: ");
                quoted(b, s->cols[i].name);
                cr_buf_str(b, ", input_type: STRING}\n");
            }
        }
    }
    cr_buf_printf(b, "  shuffle: true\n  shuffle_buffer_size: %lld\n", (long long)c->window);
    if (c->eval_fraction > 0 && ours)
        cr_buf_printf(b, "  eval_fraction: %g  # of the rows, kept for evaluation\n",
                      c->eval_fraction);
}

static void feature_start(cr_buf *b, const char *kind, const char *name, const char *column) {
    cr_buf_printf(b, "  - %s:\n      feature_name: ", kind);
    quoted(b, name);
    cr_buf_str(b, "\n      expression: ");
    char expr[1024];
    snprintf(expr, sizeof expr, "user:%s", column);
    quoted(b, expr);
    cr_buf_str(b, "\n");
}

/* The column whose name another feature has taken would be a second one of that name. */
static void value_name(char out[1024], const cr_draft *c, const char *name) {
    snprintf(out, 1024, "%s_value", name);
    while (cr_survey_find(c->s, out) >= 0 && strlen(out) < 1000)
        strcat(out, "_");
}

static void number_feature(cr_buf *b, const cr_draft *c, const cr_draft_col *x) {
    const cr_survey_col *v = x->col;
    char name[1024];
    feature_start(b, "raw_feature", v->name, v->name);
    cr_buf_str(b, "      boundaries: [");
    for (int i = 0; i < x->n_cuts; i++) {
        if (i) cr_buf_str(b, i % 12 ? ", " : ",\n                   ");
        number(b, v->cuts[i]);
    }
    cr_buf_printf(b, "]\n      embedding_dim: %lld\n", (long long)c->dim);
    value_name(name, c, v->name);
    feature_start(b, "raw_feature", name, v->name);
    cr_buf_str(b, "      normalizer: \"method=zscore,mean=");
    cr_buf_printf(b, "%.6g,standard_deviation=%.6g\"\n", x->mean, x->sd);
}

static void feature(cr_buf *b, const cr_draft *c, const cr_draft_col *x) {
    const cr_survey_col *v = x->col;
    char distinct[32];
    cr_buf_printf(b, "  # %s: %s%s different", x->why, v->exact ? "" : "about ",
                  cr_fmt_count(distinct, v->distinct));
    if (v->missing)
        cr_buf_printf(b, ", %.1f %% missing", 100 * (double)v->missing / (double)v->rows);
    if (!isnan(v->share)) cr_buf_printf(b, "; tells %.2f %% of the label", 100 * v->share);
    if (v->not_number) {
        cr_buf_printf(b, "; %lld values are no numbers, for example ", (long long)v->not_numbers);
        comment(b, v->not_number);
    }
    cr_buf_str(b, "\n");
    if (x->use == CR_DRAFT_NUMBER) {
        number_feature(b, c, x);
        return;
    }
    bool history = x->target >= 0;
    feature_start(b, history ? "sequence_id_feature" : "id_feature", v->name, v->name);
    if (v->separator) {
        cr_buf_str(b, history ? "      sequence_delim: " : "      separator: ");
        quoted(b, (char[]){v->separator, '\0'});
        cr_buf_str(b, "\n");
    }
    if (history)
        cr_buf_printf(b, "      sequence_length: %lld\n", (long long)x->steps);
    else if (v->kind == CR_SURVEY_LIST)
        cr_buf_str(b, "      pooling: mean\n");
    if (x->shares_ids) {
        cr_buf_str(b, "      embedding_name: ");
        quoted(b, history ? c->cols[x->target].col->name : v->name);
        cr_buf_str(b, "\n");
    }
    cr_buf_printf(b, "      %s: %lld\n      embedding_dim: %lld\n",
                  x->use == CR_DRAFT_ID ? "num_buckets" : "hash_bucket_size", (long long)x->buckets,
                  (long long)c->dim);
}

/* Each history is a group of its own, because two of them may have different numbers of steps. */
static void histories(cr_buf *b, const cr_draft *c) {
    static const char *const heads[] = {"      sequence_groups:\n", "      sequence_encoders:\n"};
    for (int part = 0; part < 2; part++) {
        bool any = false;
        for (int i = 0; i < c->s->n_cols; i++) {
            const cr_draft_col *x = &c->cols[i];
            if (x->target < 0) continue;
            if (!any) cr_buf_str(b, heads[part]);
            any = true;
            cr_buf_str(b, part ? "        - din_encoder: {input: " : "        - {group_name: ");
            quoted(b, x->col->name);
            if (part) {
                cr_buf_str(b, ", attn_mlp: {hidden_units: [32, 16]}}\n");
                continue;
            }
            cr_buf_str(b, ", feature_names: [");
            quoted(b, c->cols[x->target].col->name);
            cr_buf_str(b, ", ");
            quoted(b, x->col->name);
            cr_buf_str(b, "]}\n");
        }
    }
}

static void model_config(cr_buf *b, const cr_draft *c) {
    cr_buf_str(b,
               "model_config:\n  feature_groups:\n    - group_name: all\n      group_type: DEEP\n"
               "      feature_names:\n");
    for (int i = 0; i < c->s->n_cols; i++) {
        const cr_draft_col *x = &c->cols[i];
        if (x->use < CR_DRAFT_NUMBER || x->target >= 0) continue;
        cr_buf_str(b, "        - ");
        quoted(b, x->col->name);
        cr_buf_str(b, "\n");
        if (x->use != CR_DRAFT_NUMBER) continue;
        char name[1024];
        value_name(name, c, x->col->name);
        cr_buf_str(b, "        - ");
        quoted(b, name);
        cr_buf_str(b, "\n");
    }
    histories(b, c);
    cr_buf_printf(b,
                  "  dcn_v2:  # products of features, beside a deep part\n"
                  "    cross: {cross_num: 2, low_rank: 32}\n"
                  "    deep: {hidden_units: [%d, %d], dropout_ratio: [%g]}\n"
                  "    final: {hidden_units: [32]}\n",
                  c->units[0], c->units[1], c->s->rows < 1000000 ? 0.5 : 0.1);
    switch (c->task) {
    case CR_DRAFT_BINARY:
        cr_buf_str(b, "  losses:\n    - binary_cross_entropy: {}\n  metrics:\n    - auc: {}\n    - "
                      "logloss: {}\n");
        break;
    case CR_DRAFT_CLASSES:
        cr_buf_printf(b,
                      "  num_class: %lld\n  losses:\n    - softmax_cross_entropy: {}\n  metrics:\n"
                      "    - accuracy: {}\n    - multiclass_auc: {}\n",
                      (long long)c->n_class);
        break;
    case CR_DRAFT_REGRESSION:
        cr_buf_str(b,
                   "  losses:\n    - l2_loss: {}\n  metrics:\n    - mean_squared_error: {}\n    - "
                   "mean_absolute_error: {}\n");
    }
}

void cr_draft_yaml(const cr_draft *c, const char *model_dir, bool ours, cr_buf *b) {
    head(b, c);
    left_out(b, c);
    cr_buf_str(b, "train_input_path: ");
    quoted(b, c->train_paths);
    cr_buf_str(b, "\n");
    if (c->eval_paths) {
        cr_buf_str(b, "eval_input_path: ");
        quoted(b, c->eval_paths);
        cr_buf_str(b, c->eval_from >= 0 ? "  # the last days\n" : "\n");
    }
    cr_buf_str(b, "model_dir: ");
    quoted(b, model_dir);
    cr_buf_str(b, "\n");
    train_config(b, c, ours);
    data_config(b, c, ours);
    cr_buf_str(b, "feature_configs:\n");
    for (int i = 0; i < c->s->n_cols; i++)
        if (c->cols[i].use >= CR_DRAFT_NUMBER) feature(b, c, &c->cols[i]);
    model_config(b, c);
}
