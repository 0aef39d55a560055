/*
 * paddle_tables.c - table_parameters and the keys of PaddleRec's online trainer: tables with an
 * accessor become growing tables with ctr_accessor, and start_day to end_day train_config.daily.
 */
#include <string.h>

#include "base/file.h"
#include "dialect/paddle_int.h"

/* ---- the accessor ---- */

/* Adds "key: x" for each number that is given. */
static void add_numbers(cr_pd *p, cr_pd_map m, const char *const *keys, cr_buf *out) {
    for (; *keys; keys++) {
        char text[32];
        if (!cr_pd_get(p, m, *keys)) continue;
        double x = cr_pd_num(p, m, *keys, 0, -1e30, 1e30);
        text[cr_fmt_f64(text, x)] = 0;
        cr_buf_printf(out, "%s%s: %s", out->n && out->data[out->n - 1] != '{' ? ", " : "", *keys,
                      text);
    }
}

static cr_pd_map map_of(cr_pd *p, cr_pd_map m, const char *key) {
    return (cr_pd_map){cr_pd_get(p, m, key), key};
}

static void add_bounds(cr_pd *p, cr_pd_map m, cr_buf *out) {
    const cr_conf_node *v = cr_pd_get(p, m, "weight_bounds");
    double x[2];
    if (!v) return;
    cr_tree_ask_all(&p->use, v);
    bool fine = v->kind == CR_NODE_LIST && v->n == 2;
    for (size_t i = 0; fine && i < 2; i++) {
        const cr_conf_node *one = v->v[i].val;
        fine = one->kind == CR_NODE_SCALAR && cr_parse_f64(one->text, one->len, &x[i]);
    }
    if (fine)
        cr_buf_printf(out, "%sweight_bounds: [%.17g, %.17g]",
                      out->data[out->n - 1] != '{' ? ", " : "", x[0], x[1]);
    else
        cr_pd_wrong(p, v->at, "%s.weight_bounds must be a list of two numbers, [-10.0, 10.0]",
                    m.name);
}

/* Adds a rule: embed_sgd: {adagrad: {...}}. */
static void add_rule(cr_pd *p, cr_pd_map accessor, const char *key, const char *to, cr_buf *out) {
    static const struct {
        const char *name, *rule, *keys;
    } rules[] = {{"SparseNaiveSGDRule", "naive", "naive"},
                 {"SparseAdaGradSGDRule", "adagrad", "adagrad"},
                 {"StdAdaGradSGDRule", "std_adagrad", "adagrad"},
                 {"SparseAdamSGDRule", "adam", "adam"},
                 {"SparseSharedAdamSGDRule", "shared_adam", "adam"}};
    static const char *const numbers[] = {"learning_rate",
                                          "initial_g2sum",
                                          "initial_range",
                                          "beta1_decay_rate",
                                          "beta2_decay_rate",
                                          "ada_epsilon",
                                          NULL};
    cr_pd_map m = map_of(p, accessor, key);
    if (!m.map) return;
    const char *name = cr_pd_str(p, m, "name", false);
    size_t k = 1, n = sizeof rules / sizeof *rules;
    for (k = 0; name && k < n && strcmp(rules[k].name, name) != 0; k++) {
    }
    if (!name) k = 1;
    if (k == n) {
        cr_pd_wrong(p, cr_pd_at(p, m, "name"),
                    "%s.name is '%.60s'; crank knows SparseNaiveSGDRule, SparseAdaGradSGDRule, "
                    "StdAdaGradSGDRule, SparseAdamSGDRule and SparseSharedAdamSGDRule",
                    key, name);
        return;
    }
    cr_pd_map values = map_of(p, m, rules[k].keys);
    cr_buf_printf(out, "%s%s: {%s: {", out->data[out->n - 1] != '{' ? ", " : "", to, rules[k].rule);
    add_numbers(p, values, numbers, out);
    add_bounds(p, values, out);
    cr_buf_str(out, "}}");
    /* the settings of other rules may stand there, too */
    for (size_t i = 0; i < n; i++)
        cr_pd_idle(p, m, rules[i].keys);
}

/* Which pull an accessor class has: 0 weights, 1 show and click before them; -1: it is refused. */
static int form_of(cr_pd *p, cr_pd_map accessor) {
    const char *name = cr_pd_str(p, accessor, "accessor_class", false);
    cr_loc at = cr_pd_at(p, accessor, "accessor_class");
    if (!name || strcmp(name, "SparseAccessor") == 0) return 0;
    if (strcmp(name, "CtrDoubleAccessor") == 0)
        cr_pd_note(p, at, "show and click of CtrDoubleAccessor are kept in 32 bits");
    if (strcmp(name, "CtrCommonAccessor") == 0 || strcmp(name, "CtrDoubleAccessor") == 0) return 1;
    if (strcmp(name, "CtrDymfAccessor") == 0)
        cr_pd_wrong(p, at,
                    "CtrDymfAccessor has rows of several widths in one table; use "
                    "CtrCommonAccessor");
    else
        cr_pd_wrong(p, at,
                    "accessor_class is '%.60s'; crank knows SparseAccessor, CtrCommonAccessor and "
                    "CtrDoubleAccessor",
                    name);
    return -1;
}

const char *cr_pd_accessor(cr_pd *p, int64_t *width) {
    static const char *const above[] = {"embedx_threshold", NULL};
    static const char *const scores[] = {"nonclk_coeff",
                                         "click_coeff",
                                         "base_threshold",
                                         "delta_threshold",
                                         "delta_keep_days",
                                         "show_click_decay_rate",
                                         "delete_threshold",
                                         "delete_after_unseen_days",
                                         NULL};
    cr_pd_map root = {p->in, "the config"}, tables = map_of(p, root, "table_parameters"),
              table = map_of(p, tables, "embedding"), accessor = map_of(p, table, "accessor");
    if (!accessor.map) return NULL;
    p->tables = true;
    int form = form_of(p, accessor);
    int64_t X = cr_pd_int(p, accessor, "embedx_dim", 8, 0, 65536);
    int64_t fea = cr_pd_int(p, accessor, "fea_dim", X + 3, 1, 65539);
    if (fea != X + 3 && fea != X + 1)
        cr_pd_wrong(p, cr_pd_at(p, accessor, "fea_dim"),
                    "fea_dim is %lld, and with show, click, embed_w and embedx_dim %lld it is %lld",
                    (long long)fea, (long long)X, (long long)X + 3);
    *width = X + (form == 1 ? 3 : 1);
    const char *class = cr_pd_str(p, table, "table_class", false);
    if (class && strcmp(class, "SSDSparseTable") == 0)
        cr_pd_warn(p, cr_pd_at(p, table, "table_class"),
                   "rows of an SSDSparseTable stay in memory here; more ranks share them");
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_printf(&b, "growing: {ctr_accessor: {pull: %s", form == 1 ? "SHOW_CLICK" : "WEIGHTS");
    add_numbers(p, accessor, above, &b);
    cr_pd_map ctr = map_of(p, accessor, "ctr_accessor_param");
    add_numbers(p, ctr, scores, &b);
    cr_buf_printf(&b, ", show_scale: %s, zero_init: %s",
                  cr_pd_bool(p, ctr, "show_scale", true) ? "true" : "false",
                  cr_pd_bool(p, ctr, "zero_init", true) ? "true" : "false");
    add_rule(p, accessor, "embed_sgd_param", "embed_sgd", &b);
    add_rule(p, accessor, "embedx_sgd_param", "embedx_sgd", &b);
    cr_buf_str(&b, "}}");
    cr_pd_idle(p, ctr, "ssd_unseenday_threshold");
    cr_pd_idle(p, accessor, "table_accessor_save_param");
    cr_pd_idle(p, table, "shard_num");
    char *text = cr_arena_strndup(&p->doc->arena, b.data, b.n);
    cr_buf_clear(&b);
    return text;
}

/* ---- day by day ---- */

bool cr_pd_online(const cr_pd *p) {
    return !p->old && p->runner.map && cr_conf_find(p->runner.map, "start_day");
}

static const char *bool_of(cr_pd *p, const char *key, bool absent) {
    return cr_pd_bool(p, p->runner, key, absent) ? "true" : "false";
}

void cr_pd_daily(cr_pd *p, const char *dir) {
    static const char *const idle[] = {"train_thread_num",      "shuffle_thread_num",
                                       "preload_thread_num",    "prefetch",
                                       "infer_data_dir",        "train_dump_fields_dir",
                                       "infer_dump_fields_dir", "fs_client"};
    static const char *const refused[] = {"need_train_dump", "need_infer_dump"};
    if (!cr_pd_online(p)) return;
    cr_pd_map r = p->runner, root = {p->in, "the config"},
              table = map_of(p, map_of(p, root, "table_parameters"), "embedding");
    const char *data = cr_pd_str(p, r, "train_data_dir", true),
               *done = cr_pd_str(p, r, "data_donefile", false);
    data = cr_path_join(&p->doc->arena, cr_path_dir(&p->doc->arena, p->path), data);
    if (!done) done = "";
    cr_pd_put(p, cr_pd_at(p, r, "start_day"),
              "train_config: {daily: {data_dir: %s, start_day: %lld, end_day: %lld, "
              "split_interval: %lld, "
              "split_per_pass: %lld, checkpoint_per_pass: %lld, save_delta_frequency: %lld, "
              "save_first_base: %s, data_donefile: %s, data_sleep_second: %lld, output_dir: %s, "
              "shard_num: %lld}}",
              cr_pd_names(p, &data, 1),
              (long long)cr_pd_int(p, r, "start_day", CR_PD_REQUIRED, 1, INT32_MAX),
              (long long)cr_pd_int(p, r, "end_day", CR_PD_REQUIRED, 1, INT32_MAX),
              (long long)cr_pd_int(p, r, "split_interval", 5, 1, 1440),
              (long long)cr_pd_int(p, r, "split_per_pass", 1, 1, 1440),
              (long long)cr_pd_int(p, r, "checkpoint_per_pass", 6, 0, INT32_MAX),
              (long long)cr_pd_int(p, r, "save_delta_frequency", 6, 0, INT32_MAX),
              bool_of(p, "save_first_base", false), cr_pd_names(p, &done, 1),
              (long long)cr_pd_int(p, r, "data_sleep_second", 10, 0, INT32_MAX),
              cr_pd_names(p, &dir, 1), (long long)cr_pd_int(p, table, "shard_num", 1000, 1, 99999));
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        cr_pd_idle(p, r, idle[i]);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (cr_pd_bool(p, r, refused[i], false))
            cr_pd_wrong(p, cr_pd_at(p, r, refused[i]),
                        "%s writes variables of Paddle for each row, which crank does not have; "
                        "remove it, and take 'crank predict' for a score per row",
                        refused[i]);
    if (cr_pd_bool(p, p->hyper, "adam_d2sum", false))
        cr_pd_note(
            p, cr_pd_at(p, p->hyper, "adam_d2sum"),
            "dense parameters are trained with Adam as it is published, not with the sums of "
            "adam_d2sum");
}
