/*
 * random_runs.c - properties that must hold for any config, tried on random ones.
 *
 * A seed makes a data set (numbers, words, lists, gaps) and a config: features of every kind, one
 * of the models, random layers, sequence encoders, optimizers, batch sizes. Then, byte for byte:
 * threads   the number of threads does not matter pause     a run that stops and goes on equals one
 * that does not files how rows are cut into files does not matter (without shuffle) parquet neither
 * does the format: random column types that hold the same values (without shuffle; with it threads
 * and pauses do not matter) predict   neither batch size nor threads nor export change a score
 * random_runs [FIRST_SEED [COUNT]]; the seed is printed when something differs.
 */
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/rng.h"
#include "harness.h"
#include "pq_make.h"
#include "run/run.h"
#include "unit/base/tmpdir.h"

#define ROWS         700
#define MAX_FEATURES 10

static uint64_t key, drawn;

static int64_t below(int64_t n) {
    return (int64_t)cr_rng_below(key, drawn++, (uint64_t)n);
}
static bool chance(int percent) {
    return below(100) < percent;
}
#define PICK(...)                                                                                  \
    ((const char *const[]){__VA_ARGS__})[below(                                                    \
        (int64_t)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)))]

/* ---- data ---- */

typedef enum kind { NUMBER, SMALL_INT, WORD, LIST, WEIGHTED, PAIR, N_KINDS } kind;
typedef struct spec {
    int n;
    kind kind[MAX_FEATURES];
    bool gaps[MAX_FEATURES];
} spec;

static void value(cr_buf *b, kind k) {
    static const char *const words[] = {"ash", "birch", "cedar",       "dogwood",
                                        "elm", "fir",   "\"gum, red\""};
    switch (k) {
    case NUMBER: cr_buf_printf(b, "%.3f", (double)below(20000) / 1000 - 5); break;
    case SMALL_INT: cr_buf_printf(b, "%lld", (long long)below(12)); break;
    case WORD: cr_buf_str(b, words[below(7)]); break;
    case LIST:
        for (int64_t i = 0, n = 1 + below(4); i < n; i++)
            cr_buf_printf(b, "%s%lld", i ? "|" : "", (long long)below(30));
        break;
    case WEIGHTED:
        for (int64_t i = 0, n = 1 + below(3); i < n; i++)
            cr_buf_printf(b, "%sk%lld:%.2f", i ? "|" : "", (long long)below(9),
                          (double)below(300) / 100);
        break;
    default: cr_buf_printf(b, "%.2f|%.2f", (double)below(100) / 10, (double)below(100) / 10); break;
    }
}

static void header(cr_buf *b, const spec *s) {
    cr_buf_str(b, "y,w");
    for (int i = 0; i < s->n; i++)
        cr_buf_printf(b, ",f%d", i);
    cr_buf_char(b, '\n');
}

/* a type of Parquet that holds the values of a kind */
static const char *stored_as(kind k) {
    switch (k) {
    case NUMBER: return PICK("double", "float");
    case SMALL_INT: return PICK("int64", "int32", "int16", "uint8", "uint32", "dec9_0", "string");
    case WORD: return PICK("string", "binary");
    case LIST: return PICK("string", "list<int64>", "list<int32>", "list<uint32>", "list<string>");
    case WEIGHTED: return PICK("string", "list<string>", "map<string,float>", "map<string,double>");
    default: return PICK("string", "list<float>", "list<double>");
    }
}

/* a cell of the CSV file as pq_make takes it */
static void stored_cell(cr_buf *b, const char *type, const char *s, size_t n) {
    bool list = strncmp(type, "list", 4) == 0, map = strncmp(type, "map", 3) == 0;
    if (n == 0) { /* a gap */
        bool text = strcmp(type, "string") == 0 || strcmp(type, "binary") == 0;
        cr_buf_str(b, (!text && !list) || chance(50) ? "null" : list ? "[]" : "");
        return;
    }
    if (*s == '"') {
        s++;
        n -= 2;
    }
    if (list || map) cr_buf_char(b, list ? '[' : '{');
    for (size_t i = 0; i < n; i++)
        cr_buf_char(b, (list || map) && s[i] == '|' ? ',' : s[i]);
    if (list || map) cr_buf_char(b, list ? ']' : '}');
}

/* the rows of all.csv in two Parquet files of random types, row groups and codecs */
static void make_parquet(const spec *s, const cr_buf *csv) {
    uint64_t before = drawn;
    key ^= 1;
    const char *type[MAX_FEATURES + 2] = {PICK("bool", "int32", "int8", "float", "double"),
                                          PICK("float", "double")};
    cr_buf schema, row;
    cr_buf_init(&schema);
    cr_buf_init(&row);
    for (int i = 0; i < s->n; i++)
        type[i + 2] = stored_as(s->kind[i]);
    for (int i = 0; i < s->n + 2; i++)
        if (i < 2)
            cr_buf_printf(&schema, "%s:%s,", i ? "w" : "y", type[i]);
        else
            cr_buf_printf(&schema, "f%d:%s,", i - 2, type[i]);
    int64_t cut = below(ROWS + 1), r = 0;
    const char *p = strchr(csv->data, '\n') + 1, *end = csv->data + csv->n;
    for (int file = 0; file < 2; file++) {
        pm_file *f = cr_alloc(sizeof(*f), "a test file");
        pm_init(f, schema.data);
        f->sep = '\t';
        for (; p < end && (file || r < cut); r++) {
            cr_buf_reset(&row);
            for (int i = 0; i < s->n + 2; i++) {
                const char *z = *p == '"' ? strchr(p + 1, '"') + 1 : p + strcspn(p, ",\n");
                if (i) cr_buf_char(&row, '\t');
                stored_cell(&row, type[i], p, (size_t)(z - p));
                p = z + 1;
            }
            pm_row(f, row.data);
        }
        cr_pq_write_opts o = {.codec = chance(50) ? CR_PQ_SNAPPY : CR_PQ_ZSTD,
                              .group_rows = 1 + below(400),
                              .page_bytes = (size_t)(64 + below(3000)),
                              .page_version = 1 + (int)below(2),
                              .no_dict = chance(30)};
        pm_write(f, file ? "pq-1.parquet" : "pq-0.parquet", &o);
        pm_clear(f);
        cr_free(f);
    }
    cr_buf_clear(&schema);
    cr_buf_clear(&row);
    key ^= 1;
    drawn = before;
}

/* the rows in one file, and the same rows in three */
static void make_data(const spec *s) {
    cr_buf whole, part;
    cr_buf_init(&whole);
    cr_buf_init(&part);
    header(&whole, s);
    int64_t cut = 1 + below(ROWS / 2), file = 0;
    for (int64_t r = 0; r < ROWS; r++) {
        if (r == 0 || r % cut == 0) {
            if (r && file < 3) {
                char path[32];
                snprintf(path, sizeof(path), "part-%lld.csv", (long long)file++);
                CHECK_INT(cr_file_write(path, part.data, part.n, NULL), CR_OK);
                cr_buf_reset(&part);
            }
            if (file < 3 && !part.n) header(&part, s);
        }
        size_t start = whole.n;
        cr_buf_printf(&whole, "%lld,%.2f", (long long)below(2), (double)(1 + below(50)) / 10);
        for (int i = 0; i < s->n; i++) {
            cr_buf_char(&whole, ',');
            if (!(s->gaps[i] && chance(15))) value(&whole, s->kind[i]);
        }
        cr_buf_char(&whole, '\n');
        if (!part.n) header(&part, s);
        cr_buf_add(&part, whole.data + start, whole.n - start);
    }
    CHECK_INT(cr_file_write("part-9.csv", part.data, part.n, NULL), CR_OK);
    CHECK_INT(cr_file_write("all.csv", whole.data, whole.n, NULL), CR_OK);
    make_parquet(s, &whole);
    cr_buf_clear(&whole);
    cr_buf_clear(&part);
}

/* ---- config ---- */

static void feature(cr_buf *b, const spec *s, int i) {
    bool raw = s->kind[i] == NUMBER || s->kind[i] == PAIR, shared = false;
    cr_buf_printf(b, "  - %s: {feature_name: f%d, expression: \"user:f%d\", embedding_dim: 4",
                  raw ? "raw_feature" : "id_feature", i, i);
    switch (s->kind[i]) {
    case NUMBER:
        cr_buf_str(b, PICK("", ", boundaries: [-2, 0, 1.5, 9]", ", autodis: {num_channels: 3}",
                           ", autodis: {num_channels: 3, form: GANDALF, residual_blocks: 1}",
                           ", autodis: {num_channels: 3, aggregation: TOP_K}", ", mlp: {}",
                           ", normalizer: \"method=zscore,mean=3,standard_deviation=4\"",
                           ", normalizer: \"method=expression,expr=sigmoid(x)*2\""));
        break;
    case PAIR:
        cr_buf_printf(b, ", value_dim: 2, separator: \"|\"%s", chance(50) ? ", mlp: {}" : "");
        break;
    case SMALL_INT:
        cr_buf_str(b, PICK(", num_buckets: 12", ", num_buckets: 7", ", hash_bucket_size: 20"));
        break;
    case WORD:
        cr_buf_str(b, PICK(", hash_bucket_size: 11", ", vocab_list: [ash, elm, fir]",
                           ", vocab_dict: {ash: 2, elm: 9}",
                           ", vocab_list: [ash, elm, fir], default_bucketize_value: 1"));
        break;
    case LIST: /* sharers of a table must agree in everything that makes it */
        shared = chance(35);
        if (shared)
            cr_buf_str(
                b, ", num_buckets: 30, separator: \"|\", pooling: mean, embedding_name: shared");
        else
            cr_buf_printf(b, ", num_buckets: 30, separator: \"|\", pooling: %s%s",
                          PICK("sum", "mean"), PICK("", ", value_dim: 2"));
        break;
    default:
        cr_buf_printf(b, ", hash_bucket_size: 16, weighted: true, separator: \"|\", pooling: %s",
                      PICK("sum", "mean"));
        break;
    }
    if (raw && s->gaps[i]) cr_buf_str(b, ", default_value: \"0.5\"");
    if (!shared && chance(10)) cr_buf_str(b, ", trainable: false");
    cr_buf_str(b, "}\n");
}

/* the same column as a sequence, for the encoders */
static void sequence(cr_buf *b, int i) {
    cr_buf_printf(b,
                  "  - sequence_id_feature: {feature_name: s%d, expression: \"user:f%d\", "
                  "sequence_delim: \"|\", sequence_length: %lld, num_buckets: 30, embedding_dim: "
                  "4}\n",
                  i, i, (long long)(2 + below(4)));
}

static void mlp(cr_buf *b, int64_t last) {
    cr_buf_str(b, "{hidden_units: [");
    for (int64_t i = 0, n = below(3); i < n; i++)
        cr_buf_printf(b, "%lld, ", (long long)(1 + below(40)));
    cr_buf_printf(b, "%lld], activation: \"%s\"", (long long)(last ? last : 1 + below(24)),
                  PICK("nn.ReLU", "nn.Tanh", "nn.LeakyReLU(negative_slope=0.1)", "Dice", "nn.PReLU",
                       "nn.GELU", "", "nn.Sigmoid"));
    cr_buf_str(b, PICK("", "", ", use_bn: true", ", use_ln: true", ", bias: false"));
    if (chance(30)) cr_buf_str(b, ", dropout_ratio: [0.3]");
    cr_buf_str(b, "}");
}

/* the first feature of one of two kinds, or -1 */
static int first_of(const spec *s, kind a, kind b) {
    for (int i = 0; i < s->n; i++)
        if (s->kind[i] == a || s->kind[i] == b) return i;
    return -1;
}

/* perhaps a sequence group and its encoders, whose outputs are 4 wide as all tables are */
static void encoders(cr_buf *b, const spec *s) {
    int seq = first_of(s, LIST, LIST), query = first_of(s, SMALL_INT, WORD);
    if (seq < 0 || chance(40)) return;
    cr_buf_str(b, ", sequence_groups: [{feature_names: [");
    if (query >= 0) cr_buf_printf(b, "f%d, ", query);
    cr_buf_printf(b, "s%d]}], sequence_encoders: [", seq);
    if (query >= 0 && chance(60)) {
        cr_buf_str(b, "{din_encoder: {max_seq_length: 3, attn_mlp: ");
        mlp(b, 0);
        cr_buf_str(b, "}}, ");
    }
    if (query >= 0 && chance(40)) cr_buf_str(b, "{simple_attention: {}}, ");
    cr_buf_printf(b, "{%s}]",
                  PICK("pooling_encoder: {}", "pooling_encoder: {pooling_type: sum}",
                       "self_attention_encoder: {multihead_attn_dim: 4, num_heads: 2}",
                       "self_attention_encoder: {multihead_attn_dim: 4, num_heads: 1, dropout: "
                       "0.4, max_seq_length: 2}"));
}

static bool with_encoders; /* may the model under way have them? */

static void names(cr_buf *b, const spec *s, const char *group, const char *type, bool tables_only) {
    cr_buf_printf(b, "    - {group_name: %s, group_type: %s, feature_names: [", group, type);
    bool first = true;
    for (int i = 0; i < s->n; i++) {
        if (tables_only && (s->kind[i] == NUMBER || s->kind[i] == PAIR)) continue;
        cr_buf_printf(b, "%sf%d", first ? "" : ", ", i);
        first = false;
    }
    cr_buf_char(b, ']');
    if (with_encoders && strcmp(type, "DEEP") == 0) encoders(b, s);
    cr_buf_str(b, "}\n");
}

static void part(cr_buf *b, const char *name) {
    cr_buf_printf(b, "\n    %s: ", name);
    mlp(b, 0);
}

/* models that multiply features; all tables have width 4 */
static void interactions(cr_buf *b, const spec *s, int64_t which) {
    bool one = which < 3 || which == 8;
    with_encoders = which < 6;
    names(b, s, which == 4 ? "sparse" : which == 5 ? "fields" : "all", "DEEP", !one);
    if (which == 3) names(b, s, "deep", "DEEP", false);
    if (which == 3 || which == 6 || which == 7) names(b, s, "wide", "WIDE", which == 3);
    long long n = 1 + below(3);
    switch (which) {
    case 0:
    case 1:
        cr_buf_printf(b, "  dcn_v%lld:\n    cross: {cross_num: %lld%s}", (long long)which + 1, n,
                      which ? ", low_rank: 5" : "");
        if (which && chance(30)) part(b, "backbone");
        part(b, "deep");
        part(b, "final");
        break;
    case 2:
        cr_buf_printf(b,
                      "  mask_net:\n    mask_net_module:\n      n_mask_blocks: %lld\n      "
                      "use_parallel: %s\n      mask_block: {hidden_dim: 9, reduction_ratio: 0.7}",
                      n, PICK("true", "false"));
        if (chance(50)) {
            cr_buf_str(b, "\n      top_mlp: ");
            mlp(b, 0);
        }
        break;
    case 3:
        cr_buf_printf(b,
                      "  xdeepfm:\n    wide_embedding_dim: %lld\n    cin: {cin_layer_size: [5, 3]}",
                      n);
        part(b, "deep");
        part(b, "final");
        break;
    case 4:
        cr_buf_printf(b,
                      "  wukong:\n    wukong_layers: [{lcb_feature_num: %lld, fmb_feature_num: 2, "
                      "compressed_feature_num: 3, feature_num_mlp: {hidden_units: [6]}}]",
                      n);
        part(b, "final");
        break;
    case 5:
        cr_buf_printf(b,
                      "  autoint:\n    attention_layers: [{num_heads: %lld, head_dim: 3, "
                      "use_residual: %s}, {num_heads: 1, head_dim: 5}]",
                      n, PICK("true", "false"));
        if (chance(50)) part(b, "deep");
        break;
    case 6: cr_buf_printf(b, "  fm: {embedding_dim: %s}", PICK("0", "3", "8")); break;
    case 7: cr_buf_printf(b, "  ffm: {embedding_dim: %lld}", n); break;
    default: cr_buf_str(b, "  logistic_regression: {}"); break;
    }
}

static void model(cr_buf *b, const spec *s) {
    int64_t which = below(13);
    with_encoders = true;
    cr_buf_str(b, "model_config:\n  feature_groups:\n");
    if (which > 3) {
        interactions(b, s, which - 4);
    } else if (which == 0) {
        names(b, s, "one", "DEEP", false);
        names(b, s, "two", "DEEP", true);
        cr_buf_str(b, "  multi_tower:\n    towers: [{input: one, mlp: ");
        mlp(b, 0);
        cr_buf_str(b, "}, {input: two}]\n    final: ");
        mlp(b, 0);
    } else if (which == 3) {
        names(b, s, "sparse", "DEEP", true);
        cr_buf_str(b, "    - {group_name: dense, group_type: DEEP, feature_names: [f0]}\n");
        cr_buf_str(b, "  dlrm:\n    dense_mlp: ");
        mlp(b, 4);
        cr_buf_printf(b, "\n    arch_with_sparse: %s\n    final: ", PICK("true", "false"));
        mlp(b, 0);
    } else {
        names(b, s, "wide", "WIDE", true);
        names(b, s, "deep", "DEEP", false);
        if (which == 2) names(b, s, "fm", "DEEP", true);
        cr_buf_printf(b, "  %s:\n    wide_embedding_dim: %lld\n    deep: ",
                      which == 2 ? "deepfm" : "wide_and_deep", (long long)(1 + below(4)));
        mlp(b, 0);
        if (chance(50)) {
            cr_buf_str(b, "\n    final: ");
            mlp(b, 0);
        }
    }
    cr_buf_str(b, "\n  losses:\n    - binary_cross_entropy: {}\n  metrics:\n    - auc: {}\n");
}

static const char *rate(void) {
    return PICK(
        "constant_learning_rate: {}",
        "exponential_decay_learning_rate: {decay_size: 5, decay_factor: 0.8}",
        "exponential_decay_learning_rate: {decay_size: 4, decay_factor: 0.5, staircase: true, "
        "warmup_size: 6}");
}

static void make_config(const spec *s, bool shuffle) {
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "train_input_path: all.csv\neval_input_path: all.csv\nmodel_dir: unused\n");
    cr_buf_printf(
        &b, "train_config:\n  sparse_optimizer: {%s, %s}\n",
        PICK("sgd_optimizer: {lr: 0.1}", "adagrad_optimizer: {lr: 0.05}",
             "rowwise_adagrad_optimizer: {lr: 0.05}", "adam_optimizer: {lr: 0.01}",
             "adagrad_optimizer: {lr: 0.05, gradient_clipping: true, max_gradient: 0.01}"),
        rate());
    cr_buf_printf(&b, "  dense_optimizer: {%s, %s}\n",
                  PICK("sgd_optimizer: {lr: 0.01}", "adagrad_optimizer: {lr: 0.02}",
                       "adam_optimizer: {lr: 0.003}",
                       "adam_optimizer: {lr: 0.003, weight_decay: 0.01}"),
                  rate());
    cr_buf_printf(&b,
                  "  num_steps: %lld\n  save_checkpoints_steps: %lld\n  seed: %lld\n  lanes: %s\n",
                  (long long)(20 + below(20)), (long long)(5 + below(40)), (long long)below(1000),
                  PICK("8", "8", "1", "2", "16"));
    cr_buf_printf(
        &b,
        "data_config:\n  dataset_type: CsvDataset\n  batch_size: %lld\n  fg_mode: FG_NORMAL\n"
        "  with_header: true\n  label_fields: [y]\n  shuffle: %s\n  shuffle_buffer_size: %lld\n"
        "  drop_remainder: %s\n%s",
        (long long)(1 + below(120)), shuffle ? "true" : "false", (long long)(1 + below(9)),
        PICK("true", "false"), chance(30) ? "  sample_weight_fields: [w]\n" : "");
    cr_buf_str(&b, "feature_configs:\n");
    for (int i = 0; i < s->n; i++)
        feature(&b, s, i);
    for (int i = 0; i < s->n; i++)
        if (s->kind[i] == LIST) sequence(&b, i);
    model(&b, s);
    CHECK_INT(cr_file_write("c.yaml", b.data, b.n, NULL), CR_OK);
    cr_buf_clear(&b);
}

/* ---- runs ---- */

static void show(const cr_diag *d) {
    for (size_t i = 0; i < d->n; i++)
        if (d->v[i].sev == CR_SEV_ERROR)
            fprintf(stderr, "%s:%d:%d: %s\n", d->v[i].at.path ? d->v[i].at.path : "",
                    d->v[i].at.line, d->v[i].at.col, d->v[i].msg);
}

/* trains into dir; ckpt (1088 bytes) gets the last checkpoint */
static void train(const char *dir, const char *input, int threads, const char *set, bool go_on,
                  char *ckpt) {
    cr_diag diag;
    cr_diag_init(&diag);
    bool parquet = input && strstr(input, ".parquet");
    const char *sets[] = {"data_config.dataset_type=ParquetDataset", set};
    cr_train_opts o = {.config = {.path = "c.yaml",
                                  .model_dir = dir,
                                  .train_input_path = input,
                                  .eval_input_path = parquet ? input : NULL,
                                  .set = parquet ? sets : sets + 1,
                                  .n_set = parquet + (set != NULL)},
                       .threads = threads,
                       .continue_train = go_on};
    cr_train_result res;
    CHECK_INT(cr_train(&o, &res, &diag), CR_OK);
    show(&diag);
    snprintf(ckpt, 1088, "%s", res.checkpoint);
    cr_arena_clear(&res.arena);
    cr_diag_clear(&diag);
}

static void predict(const char *export_dir, const char *model_dir, int64_t batch, int threads,
                    const char *out) {
    cr_diag diag;
    cr_diag_init(&diag);
    cr_predict_opts o = {.scripted_model_path = export_dir,
                         .predict_input_path = "all.csv",
                         .predict_output_path = out,
                         .reserved_columns = "y",
                         .batch_size = batch,
                         .threads = threads};
    if (!export_dir) o.config = (cr_config_opts){.path = "c.yaml", .model_dir = model_dir};
    cr_predict_result res;
    CHECK_INT(cr_predict(&o, &res, &diag), CR_OK);
    CHECK_INT(res.rows, ROWS);
    show(&diag);
    cr_diag_clear(&diag);
}

static void same_file(const char *a, const char *b, const char *name) {
    cr_buf x, y;
    char path[1200];
    cr_buf_init(&x);
    cr_buf_init(&y);
    snprintf(path, sizeof(path), "%s/%s", a, name);
    CHECK_INT(cr_file_read(path, 0, &x, NULL), CR_OK);
    snprintf(path, sizeof(path), "%s/%s", b, name);
    CHECK_INT(cr_file_read(path, 0, &y, NULL), CR_OK);
    if (x.n == 0 || x.n != y.n || memcmp(x.data, y.data, x.n) != 0) {
        t_failed_checks++;
        fprintf(stderr, "%s: %s and %s differ in %s\n", t_name, a, b, name);
    }
    cr_buf_clear(&x);
    cr_buf_clear(&y);
}
static void same_checkpoint(const char *a, const char *b) {
    same_file(a, b, "model-00001-of-00001.safetensors");
    same_file(a, b, "optimizer-00001-of-00001.safetensors");
}

static void one(uint64_t seed) {
    char first[1088], other[1088], set[64];
    key = cr_rng_key(seed, "random runs", NULL);
    drawn = 0;
    spec s = {.n = (int)(3 + below(MAX_FEATURES - 2))};
    bool shuffle = chance(50);
    for (int i = 0; i < s.n; i++) {
        s.kind[i] = i == 0 ? NUMBER : i <= 2 ? SMALL_INT : (kind)below(N_KINDS);
        s.gaps[i] = chance(40);
    }
    make_data(&s);
    make_config(&s, shuffle);
    train("m1", NULL, 1, NULL, false, first);
    train("m2", NULL, (int)(2 + below(3)), NULL, false, other);
    same_checkpoint(first, other);
    /* stop somewhere, go on with another number of threads */
    snprintf(set, sizeof(set), "train_config.num_steps=%lld", (long long)(1 + below(18)));
    train("m3", NULL, 2, set, false, other);
    train("m3", NULL, 1, NULL, true, other);
    same_checkpoint(first, other);
    const char *pq = "pq-*.parquet";
    if (!shuffle) {
        train("m4", "part-*.csv", 2, NULL, false, other);
        same_checkpoint(first, other);
        train("m5", pq, 2, NULL, false, other);
        same_checkpoint(first, other);
    } else {
        train("m5", pq, 1, NULL, false, first);
        train("m6", pq, 3, NULL, false, other);
        same_checkpoint(first, other);
    }
    train("m7", pq, 1, set, false, other);
    train("m7", pq, 2, NULL, true, other);
    same_checkpoint(first, other);
    cr_diag diag;
    cr_diag_init(&diag);
    cr_export_opts eo = {.config = {.path = "c.yaml", .model_dir = "m1"}, .export_dir = "e"};
    CHECK_INT(cr_export(&eo, other, &diag), CR_OK);
    show(&diag);
    cr_diag_clear(&diag);
    predict("e", NULL, 1 + below(300), 1, "p1");
    predict("e", NULL, 1 + below(300), 3, "p2");
    predict(NULL, "m2", 0, 2, "p3");
    same_file("p1", "p2", "part-0.csv");
    same_file("p1", "p3", "part-0.csv");
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int count = argc > 2 ? atoi(argv[2]) : 12, passed = 0, failed = 0;
    cr_log_set_level(CR_LOG_ERROR);
    for (int i = 0; i < count; i++, seed++) {
        static char name[48];
        snprintf(name, sizeof(name), "seed %llu", (unsigned long long)seed);
        t_name = name;
        t_failed_checks = 0;
        if (!tmpdir_enter()) {
            perror("random_runs: no temporary folder");
            return 1;
        }
        one(seed);
        if (t_failed_checks) {
            failed++;
            fprintf(stderr, "%s failed; repeat with: random_runs %llu 1 (kept: %s)\n", name,
                    (unsigned long long)seed, t_dir);
        } else {
            passed++;
            CHECK(tmpdir_leave());
        }
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed ? 1 : 0;
}
