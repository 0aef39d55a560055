/*
 * yaml.c - writes pipeline.yaml, a config that trains on the data just made. For criteo the ids are
 * read as they are (FG_NONE); the other kinds use feature generation, so that words, bounds and
 * bags are used too.
 */
#include <string.h>

#include "base/json.h"
#include "synth/synth_int.h"

static void quoted_path(cr_buf *b, const char *key, const char *dir, const char *rest) {
    cr_buf path;
    cr_buf_init(&path);
    cr_buf_printf(&path, "%s%s", dir, rest);
    cr_buf_printf(b, "%s: ", key);
    cr_json_escape(b, path.data, path.n); /* a JSON string is also a YAML string */
    cr_buf_char(b, '\n');
    cr_buf_clear(&path);
}

static void feature(cr_buf *b, const synth_draw *d, bool parquet) {
    const synth_col *c = d->col;
    bool raw = c->type == SYNTH_REAL || c->type == SYNTH_NUM;
    cr_buf_printf(b, "  - %s:\n      feature_name: %s\n      expression: \"%s:%s\"\n",
                  raw ? "raw_feature" : "id_feature", c->name, c->side, c->name);
    switch (c->type) {
    case SYNTH_REAL: return;
    case SYNTH_NUM:
        cr_buf_str(b, "      boundaries: [");
        for (int i = 0; c->bounds[i] != 0; i++)
            cr_buf_printf(b, "%s%g", i ? ", " : "", c->bounds[i]);
        cr_buf_str(b, "]\n");
        break;
    case SYNTH_WORD:
        cr_buf_str(b, "      vocab_list: [");
        for (int i = 0; c->words[i]; i++)
            cr_buf_printf(b, "%s%s\"%s\"", i ? "," : "",
                          i && i % 6 == 0 ? "\n                   "
                          : i             ? " "
                                          : "",
                          c->words[i]);
        cr_buf_str(b, "]\n");
        break;
    case SYNTH_BAG:
        if (!parquet) cr_buf_str(b, "      separator: \"|\"\n"); /* in Parquet it is a list */
        /* fall through */
    case SYNTH_ID: cr_buf_printf(b, "      num_buckets: %lld\n", (long long)d->card); break;
    }
    if (c->share_emb)
        cr_buf_printf(b, "      embedding_name: %s\n      pooling: mean\n", c->share_emb);
    cr_buf_str(b, "      embedding_dim: 16\n");
}

void cr_synth_yaml(cr_buf *b, const synth_teacher *t, const cr_synth_opts *o, const char *dir) {
    bool plain = true, parquet = o->format && strcmp(o->format, "parquet") == 0;
    for (int i = 0; i < t->n; i++)
        if (t->v[i].col->type != SYNTH_ID && t->v[i].col->type != SYNTH_REAL) plain = false;
    cr_buf_printf(b, "# Made by crank synth %s; fits the data beside it.\n", t->kind->name);
    quoted_path(b, "train_input_path", dir, parquet ? "/train/*.parquet" : "/train/*.csv");
    quoted_path(b, "eval_input_path", dir, parquet ? "/eval/*.parquet" : "/eval/*.csv");
    quoted_path(b, "model_dir", dir, "/model");
    cr_buf_str(b, "train_config:\n"
                  "  sparse_optimizer:\n"
                  "    adagrad_optimizer:\n      lr: 0.02\n"
                  "    constant_learning_rate: {}\n"
                  "  dense_optimizer:\n"
                  "    adam_optimizer:\n      lr: 0.001\n"
                  "    constant_learning_rate: {}\n"
                  "  num_epochs: 1\n"
                  "  save_checkpoints_epochs: 1\n"
                  "eval_config: {}\n"
                  "data_config:\n");
    cr_buf_printf(b, "  dataset_type: %s\n", parquet ? "ParquetDataset" : "CsvDataset");
    cr_buf_printf(b, "  batch_size: %d\n", o->rows < 1000000 ? 512 : 2048);
    cr_buf_printf(b, "  fg_mode: %s\n", plain ? "FG_NONE" : "FG_NORMAL");
    if (!parquet) cr_buf_str(b, "  with_header: true\n");
    cr_buf_printf(b, "  label_fields: [%s]\n", t->kind->label);
    cr_buf_str(b, "feature_configs:\n");
    for (int i = 0; i < t->n; i++)
        feature(b, &t->v[i], parquet);
    t->kind->yaml(b, t);
    cr_buf_str(b, "  num_class: 1\n"
                  "  losses:\n    - binary_cross_entropy: {}\n"
                  "  metrics:\n    - auc: {}\n    - logloss: {}\n");
}
