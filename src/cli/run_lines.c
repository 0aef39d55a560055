/*
 * run_lines.c - the lines of `crank run`, as PaddleRec prints them: on stdout, while crank's own
 * log is on stderr. The old kind (1.8.5) has one form, the new kind (2.0 and later) another, and
 * its trainer with parameter servers a third.
 *
 * What PaddleRec's old kind dumps (runner_result_dump_path) is a JSON list with an object per
 * batch: the values of the line, and in an evaluation the scores of all rows.
 */
#include "cli/run_int.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/fs.h"
#include "base/log.h"

const char *cr_run_time(char out[64]) {
    struct timespec t;
    struct tm local;
    clock_gettime(CLOCK_REALTIME, &t);
    localtime_r(&t.tv_sec, &local);
    size_t n = strftime(out, 64, "%Y-%m-%d %H:%M:%S", &local);
    snprintf(out + n, 64 - n, ",%03d", (int)(t.tv_nsec / 1000000));
    return out;
}

static void number(cr_buf *b, double x) {
    char text[32];
    text[cr_fmt_f32(text, (float)x)] = 0;
    cr_buf_str(b, text);
}

/* PaddleRec's AUC of rows of one class is 0. */
static double shown(double x) {
    return isnan(x) ? 0 : x;
}

/* Metrics that PaddleRec's lines show, and their names in the old kind and in the new one. */
static const struct shown_metric {
    const char *name, *old, *now;
} shown_metrics[] = {{"auc", "AUC", "auc"},
                     {"batch_auc", "BATCH_AUC", "batch_auc"},
                     {"accuracy", "ACC", "acc"},
                     {"grouped_auc", "GAUC", "gauc"},
                     {"logloss", "LOGLOSS", "log_loss"},
                     {"mean_absolute_error", "MAE", "mae"},
                     {"recall@", "HR@", "HR@"},
                     {"ndcg@", "NDCG@", "NDCG@"},
                     {"mrr", "MRR", "MRR"}};

/* Writes the name of a metric as PaddleRec has it; false: its lines do not show it. */
static bool put_name(cr_buf *b, const char *name, bool old) {
    for (size_t i = 0; i < sizeof shown_metrics / sizeof *shown_metrics; i++) {
        const struct shown_metric *m = &shown_metrics[i];
        size_t n = strlen(m->name);
        if (strncmp(name, m->name, n) != 0) continue;
        if (b) cr_buf_printf(b, "%s%s", old ? m->old : m->now, name + n);
        return true;
    }
    return false;
}

/* Finds the AUC of the last steps that belongs to an AUC; without one it is that AUC itself, as in
 * most models of the old kind. */
static double batch_auc(const cr_stepped *s, const char *auc, double same) {
    double value;
    const char *name;
    for (int k = 0; (name = s->metric(s->of, k, &value)); k++)
        if (strncmp(name, "batch_", 6) == 0 && strcmp(name + 6, auc) == 0) return shown(value);
    return same;
}

static void old_value(cr_buf *b, const char *prefix, const char *name, const char *between,
                      double value) {
    if (b->n && b->data[b->n - 1] == ']') cr_buf_str(b, ", ");
    cr_buf_str(b, prefix);
    if (!put_name(b, name, true)) cr_buf_str(b, name);
    cr_buf_str(b, between);
    number(b, value);
    cr_buf_char(b, ']');
}

/* Writes the metrics of the old kind: "AUC: [0.5], BATCH_AUC: [0.5]". */
static void old_metrics(cr_buf *b, const cr_paddle_run *r, const cr_stepped *s, const char *between,
                        bool train) {
    double value;
    const char *name;
    for (int k = 0; (name = s->metric(s->of, k, &value)); k++) {
        if (strncmp(name, "batch_", 6) == 0) continue;
        if (train && r->plain_auc) {
            cr_buf_str(b, name);
            cr_buf_str(b, between);
            number(b, shown(value));
            cr_buf_char(b, ']');
            continue;
        }
        old_value(b, "", name, between, shown(value));
        if (train && strncmp(name, "auc", 3) == 0)
            old_value(b, "BATCH_", name, between, batch_auc(s, name, shown(value)));
    }
}

/* Writes the name of a metric as the lines of the new kind have it; false: they do not show it. */
static bool new_name(cr_buf *b, const cr_paddle_run *r, const char *name) {
    if (r->only_auc && strncmp(name, "auc_", 4) != 0) return false;
    if (r->accuracy && strncmp(name, "accuracy", 8) == 0) {
        cr_buf_str(b, name);
        return true;
    }
    if (r->sessions && strncmp(name, "accuracy", 8) == 0) {
        cr_buf_str(b, "Acc");
        return true;
    }
    if (r->by_place && strncmp(name, "grouped_auc", 11) == 0) {
        cr_buf_str(b, "PAUC");
        return true;
    }
    if (!r->task_first) return put_name(b, name, r->capitals);
    cr_buf_printf(b, "%s_auc", name + 4);
    return true;
}

/* Writes those of the new kind with a format for each: "auc:0.500000, " or "auc: 0.500000,". */
static void new_metrics(cr_buf *b, const cr_paddle_run *r, const cr_stepped *s, const char *between,
                        const char *behind) {
    double value;
    const char *name;
    for (int k = 0; (name = s->metric(s->of, k, &value)); k++) {
        if (!new_name(b, r, name)) {
            if (r->only_auc) continue;
            cr_buf_str(b, name);
        }
        cr_buf_printf(b, "%s%.6f%s", between, shown(value), behind);
    }
}

/* Writes what a model prints behind its metrics: the loss, and its root as rmse. */
static void new_loss(cr_buf *b, const cr_paddle_run *r, double loss) {
    cr_buf_str(b, "loss:");
    number(b, loss);
    if (!r->root) return;
    cr_buf_str(b, ",rmse:");
    number(b, round(sqrt(loss) * 1e5) / 1e5);
}

/* Writes scores as NumPy does: [[0.1] [0.2]]; the new kind takes the outer brackets away. */
static void scores(cr_buf *b, const cr_stepped *s, bool brackets) {
    if (brackets) cr_buf_char(b, '[');
    for (int64_t r = 0; r < s->rows; r++) {
        if (brackets || r) cr_buf_str(b, r ? " [" : "[");
        for (int64_t i = 0; i < s->width; i++) {
            if (i) cr_buf_char(b, ' ');
            number(b, (double)s->pred[r * s->stride + i]);
        }
        if (brackets || r + 1 < s->rows) cr_buf_char(b, ']');
    }
    if (brackets) cr_buf_char(b, ']');
}

static bool has_metrics(const cr_stepped *s) {
    double value;
    return s->metric(s->of, 0, &value) != NULL;
}

/* ---- the dump ---- */

static void dump_value(cr_buf *b, const char *prefix, const char *name, double value) {
    cr_buf_printf(b, "\"%s", prefix);
    if (!put_name(b, name, true)) cr_buf_str(b, name);
    cr_buf_str(b, "\": [");
    number(b, value);
    cr_buf_str(b, "], ");
}

static void dump_batch(cr_run_lines *x, const cr_stepped *s) {
    cr_buf *b = &x->dump;
    double value;
    const char *name;
    if (!x->r->dump) return;
    cr_buf_printf(b, "%s{", b->n ? ", " : "[");
    for (int k = 0; (name = s->metric(s->of, k, &value)); k++)
        if (isfinite(value)) dump_value(b, "", name, value);
    if (s->pred) {
        cr_buf_str(b, "\"predict\": [");
        for (int64_t r = 0; r < s->rows; r++) {
            cr_buf_str(b, r ? ", [" : "[");
            for (int64_t i = 0; i < s->width; i++) {
                if (i) cr_buf_str(b, ", ");
                number(b, (double)s->pred[r * s->stride + i]);
            }
            cr_buf_char(b, ']');
        }
        cr_buf_str(b, "], ");
    }
    cr_buf_printf(b, "\"batch\": %lld}", (long long)s->batch);
}

cr_code cr_run_dump(cr_run_lines *x, int64_t epoch, cr_err *err) {
    if (!x->r->dump) return CR_OK;
    cr_buf *b = &x->dump;
    if (b->n == 0) cr_buf_char(b, '[');
    cr_buf_char(b, ']');
    const char *path =
        epoch < 0 ? x->r->dump
                  : cr_arena_printf(&x->ui->arena, "%s_epoch_%lld", x->r->dump, (long long)epoch);
    cr_code code = cr_mkdirs(cr_path_dir(&x->ui->arena, path), err);
    if (code == CR_OK) code = cr_file_write(path, b->data, b->n, err);
    if (code == CR_OK) cr_ui_say("Dump runner result in %s\n", path);
    cr_buf_reset(b);
    return code;
}

/* ---- training ---- */

static void on_step(void *ctx, const cr_stepped *s) {
    cr_run_lines *x = ctx;
    const cr_paddle_run *r = x->r;
    x->rows += s->rows;
    x->epoch_rows += s->rows;
    dump_batch(x, s);
    if (s->batch % r->print_interval != 0 || (r->old && s->batch == 0)) return;
    double now = cr_now(), spent = now - x->interval_t0, wait = s->wait_s - x->wait0;
    char time[64];
    cr_buf b;
    cr_buf_init(&b);
    if (r->old) {
        cr_buf_printf(
            &b, "%s - INFO: \t[Train],  epoch: %lld,  batch: %lld, time_each_interval: %.2fs, ",
            cr_run_time(time), (long long)s->epoch, (long long)s->batch, spent);
        old_metrics(&b, r, s, ": [", true);
    } else {
        double n = (double)r->print_interval;
        cr_buf_printf(&b, "%s - INFO - epoch: %lld, batch_id: %lld, ", cr_run_time(time),
                      (long long)s->epoch, (long long)s->batch);
        new_metrics(&b, r, s, ":", ", ");
        new_loss(&b, r, s->loss);
        cr_buf_printf(&b,
                      ", avg_reader_cost: %.5f sec, avg_batch_cost: %.5f sec, avg_samples: %.5f, "
                      "ips: %.5f ins/s",
                      wait / n, spent / n, (double)x->rows / n, (double)x->rows / (spent + 0.0001));
    }
    cr_ui_say("%s\n", b.data);
    cr_buf_clear(&b);
    x->rows = 0;
    x->interval_t0 = now;
    x->wait0 = s->wait_s;
}

/* The line of PaddleRec's trainer with servers. */
static void say_round(cr_run_lines *x, const cr_stepped *s, double spent) {
    char time[64];
    double value, speed = (double)x->epoch_rows / (spent > 0 ? spent : 1e-9);
    const char *name = s->metric(s->of, 0, &value);
    bool auc = name && strncmp(name, "auc", 3) == 0;
    cr_ui_say("%s - INFO - Epoch: %lld, using time%s %.6g second, ips%s %.6g example/sec.",
              cr_run_time(time), (long long)s->epoch, auc ? ":" : "", spent, auc ? ":" : "", speed);
    if (auc) cr_ui_say(" auc: %.6g", shown(value));
    cr_ui_say("\n");
    cr_buf_printf(&x->speeds, "%s%.6g", x->speeds.n ? ", " : "", speed);
    if (auc) cr_buf_printf(&x->aucs, "%s%.6g", x->aucs.n ? ", " : "", shown(value));
}

static void on_epoch(void *ctx, const cr_stepped *s) {
    cr_run_lines *x = ctx;
    double now = cr_now(), spent = now - x->epoch_t0;
    char time[64];
    cr_err err;
    cr_buf b;
    cr_buf_init(&b);
    if (x->r->old) {
        cr_buf_printf(&b, "epoch %lld done, use time: %.6g, global metrics: ", (long long)s->epoch,
                      spent);
        old_metrics(&b, x->r, s, "=[", true);
    } else {
        cr_buf_printf(&b, "%s - INFO - epoch: %lld done, ", cr_run_time(time), (long long)s->epoch);
        new_metrics(&b, x->r, s, ": ", ",");
        new_loss(&b, x->r, s->loss);
        cr_buf_printf(&b, ", epoch time: %.2f s", spent);
    }
    cr_ui_say("%s\n", b.data);
    if (x->servers && !x->r->old) say_round(x, s, spent);
    if (cr_run_dump(x, s->epoch, &err) != CR_OK) CR_WARN("%s", err.msg);
    cr_buf_clear(&b);
    x->epoch_t0 = x->interval_t0 = now;
    x->rows = x->epoch_rows = 0;
}

/* Makes a link to a checkpoint, which lies in another folder or in the same one. */
static bool link_to(cr_run_lines *x, const char *path, const char *link, bool beside) {
    cr_err err;
    char *real = beside ? NULL : cr_store_of(path)->real(path);
    const char *to = beside ? cr_path_base(path) : real ? real : path;
    bool made = cr_mkdirs(cr_path_dir(&x->ui->arena, link), &err) == CR_OK &&
                (unlink(link) == 0 || errno == ENOENT) && symlink(to, link) == 0;
    if (!made) CR_WARN("cannot make the link %s to the checkpoint: %s", link, strerror(errno));
    free(real);
    return made;
}

/* Makes <dir>/<epoch> a link to the checkpoint, or <step_dir>/epoch_<E>_batch_<B>. A failure is a
 * warning: the checkpoint is there. */
static void on_saved(void *ctx, const char *path, int64_t epochs, int64_t batch) {
    cr_run_lines *x = ctx;
    char link[1200], time[64];
    if (batch >= 0 && x->r->step_dir) {
        snprintf(link, sizeof link, "%s/epoch_%lld_batch_%lld", x->r->step_dir, (long long)epochs,
                 (long long)batch);
        if (link_to(x, path, link, strcmp(x->r->step_dir, x->r->dir) == 0))
            cr_ui_say("\tsave epoch_id:%lld, batch_id:%lld model into: \"%s\"\n", (long long)epochs,
                      (long long)batch, link);
        return;
    }
    if (epochs < 1) return; /* a signal ended the run in its first epoch */
    snprintf(link, sizeof link, "%s/%lld", x->r->dir, (long long)epochs - 1);
    if (!link_to(x, path, link, true)) return;
    if (x->r->old)
        cr_ui_say("\tsave epoch_id:%lld model into: \"%s\"\n", (long long)epochs - 1, link);
    else
        cr_ui_say("%s - INFO - Already save model in %s\n", cr_run_time(time), link);
}

/* ---- evaluation ---- */

void cr_run_say_batch(cr_run_lines *x, int64_t batch, int64_t rows, const char *text) {
    const cr_paddle_run *r = x->r;
    char time[64];
    x->rows += rows;
    if (batch % r->print_interval != 0 || (r->old && batch == 0)) return;
    double now = cr_now(), spent = now - x->interval_t0, n = (double)r->print_interval;
    if (r->old)
        cr_ui_say("%s - INFO: \t[Infer] batch: %lld, time_each_interval: %.2fs, %s\n",
                  cr_run_time(time), (long long)batch, spent, text);
    else
        cr_ui_say("%s - INFO - epoch: %s, batch_id: %lld, %s avg_reader_cost: %.5f sec, "
                  "avg_batch_cost: %.5f sec, avg_samples: %.5f, ips: %.2f ins/s\n",
                  cr_run_time(time), x->epoch, (long long)batch, text, x->waited / n, spent / n,
                  (double)x->rows / n, (double)x->rows / (spent + 0.0001));
    x->rows = 0;
    x->waited = 0;
    x->interval_t0 = now;
}

static void on_evaluated(void *ctx, const cr_stepped *s) {
    cr_run_lines *x = ctx;
    const cr_paddle_run *r = x->r;
    cr_buf b;
    dump_batch(x, s);
    if (s->batch % r->print_interval != 0 || (r->old && s->batch == 0)) {
        x->rows += s->rows;
        return;
    }
    cr_buf_init(&b);
    cr_buf_str(&b, "");
    if (r->ad_tasks && s->task) cr_buf_printf(&b, "aid: %s ", s->task);
    if (r->root || r->sessions) {
        cr_buf_str(&b, ""); /* these lines show times alone */
    } else if (r->shows_scores || !has_metrics(s)) {
        cr_buf_str(&b, r->old ? "prediction: " : "prediction:");
        if (s->pred) scores(&b, s, r->old);
        if (!r->old) cr_buf_char(&b, ',');
    } else if (r->old) {
        old_metrics(&b, r, s, ": [", false);
    } else {
        new_metrics(&b, r, s, ": ", ",");
    }
    x->waited = s->wait_s - x->wait0;
    x->wait0 = s->wait_s;
    cr_run_say_batch(x, s->batch, s->rows, b.data);
    cr_buf_clear(&b);
}

/* The lines of mhcn's own evaluation. */
static void say_lists(const cr_run_lines *x, const cr_eval_result *res) {
    static const struct {
        const char *name, *shown;
    } v[] = {{"group_precision@", "Precision"},
             {"group_recall@", "Recall"},
             {"group_f1@", "F1"},
             {"group_ndcg@", "NDCG"}};
    char time[64];
    cr_ui_say("%s - INFO - Top %lld\n", cr_run_time(time), (long long)x->r->lists);
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        for (int k = 0; k < res->n; k++)
            if (strncmp(res->v[k].name, v[i].name, strlen(v[i].name)) == 0)
                cr_ui_say("\t%s:%.9g\n", v[i].shown, shown(res->v[k].value));
}

/* The last line of kim's own evaluation. */
static void say_sessions(const cr_run_lines *x, const cr_eval_result *res, double seconds) {
    static const struct {
        const char *name, *shown, *behind;
    } v[] = {{"grouped_auc", "AUC", ",  "},
             {"grouped_mrr", "MRR", ", "},
             {"grouped_ndcg@5", "nDCG5", ", "},
             {"grouped_ndcg@10", "nDCG10", " "}};
    char time[64];
    cr_ui_say("%s - INFO - epoch: %s done, ", cr_run_time(time), x->epoch);
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        for (int k = 0; k < res->n; k++)
            if (strcmp(res->v[k].name, v[i].name) == 0)
                cr_ui_say("%s : %.4f%s", v[i].shown, shown(res->v[k].value), v[i].behind);
    cr_ui_say("epoch time: %.2f s\n", seconds);
}

void cr_run_say_result(const cr_run_lines *x, const cr_eval_result *res, double seconds) {
    const cr_paddle_run *r = x->r;
    char time[64];
    cr_buf b;
    if (r->lists || r->sessions) {
        if (r->lists)
            say_lists(x, res);
        else
            say_sessions(x, res, seconds);
        return;
    }
    cr_buf_init(&b);
    if (r->old)
        cr_buf_printf(&b, "Infer %s of epoch %s done, use time: %.6g, global metrics: ", r->phase,
                      x->epoch, seconds);
    else
        cr_buf_printf(&b, "%s - INFO - epoch: %s done, ", cr_run_time(time), x->epoch);
    for (int k = 0; r->root && k < res->n; k++)
        if (strcmp(res->v[k].name, "loss") == 0 || strstr(res->v[k].name, "_loss"))
            cr_buf_printf(&b, "RMSE: %.5f", sqrt(res->v[k].value));
    for (int k = 0; k < 2 * res->n; k++) { /* AUCs first, as in the lines of batches */
        const cr_metric_result *m = &res->v[k % res->n];
        if ((strncmp(m->name, "auc", 3) == 0) != (k < res->n)) continue;
        if (r->old && put_name(NULL, m->name, true))
            old_value(&b, "", m->name, "=[", shown(m->value));
        if (r->old || !new_name(&b, r, m->name)) continue;
        cr_buf_printf(&b, ": %.6f,", shown(m->value));
    }
    if (!r->old) cr_buf_printf(&b, " epoch time: %.2f s", seconds);
    cr_ui_say("%s\n", b.data);
    cr_buf_clear(&b);
}

/* ---- the rest ---- */

static void on_progress(void *ctx, const cr_progress *p) {
    cr_run_lines *x = ctx;
    if (x->own.progress) x->own.progress(x->own.ctx, p);
}

static void on_begin(void *ctx) {
    cr_run_lines *x = ctx;
    char time[64];
    if (x->own.begins) x->own.begins(x->own.ctx);
    x->epoch_t0 = x->interval_t0 = cr_now();
    if (x->servers && !x->r->old && !x->r->infer)
        cr_ui_say("%s - INFO - Epoch: 0, Running Dataset Begin.\n", cr_run_time(time));
}

void cr_run_lines_init(cr_run_lines *x, cr_ui *ui, const cr_paddle_run *r) {
    *x = (cr_run_lines){.ui = ui, .own = cr_ui_watch(ui), .r = r, .epoch = ""};
    cr_buf_init(&x->dump);
    cr_buf_init(&x->speeds);
    cr_buf_init(&x->aucs);
    x->epoch_t0 = x->interval_t0 = cr_now();
}

void cr_run_lines_clear(cr_run_lines *x) {
    cr_buf_clear(&x->dump);
    cr_buf_clear(&x->speeds);
    cr_buf_clear(&x->aucs);
}

cr_watch cr_run_lines_watch(cr_run_lines *x) {
    return (cr_watch){.ctx = x,
                      .progress = on_progress,
                      .begins = on_begin,
                      .stepped = on_step,
                      .epoch = on_epoch,
                      .evaluated = x->r->infer && !x->r->lists ? on_evaluated : NULL,
                      .saved = on_saved};
}

void cr_run_say_head(const cr_paddle_run *r, bool servers) {
    char time[64];
    if (r->old) {
        const char *kind = r->servers ? "PS" : "Single", *mode = r->infer ? "Infer" : "";
        cr_run_say_tables(r);
        cr_ui_say(
            "PaddleRec: Runner %s Begin\nExecutor Mode: %s\nprocessor_register begin\nRunning "
            "%sInstance.\nRunning %sNetwork.\nRunning %s%sStartup.\nRunning %s%sRunner.\n",
            r->runner, r->infer ? "infer" : "train", kind, kind, kind, mode, kind, mode);
        return;
    }
    cr_run_time(time);
    if (servers && !r->infer) cr_ui_say("%s - INFO - Run Worker Begin\n", time);
    cr_ui_say("%s - INFO - **************common.configs**********\n", time);
    if (r->infer)
        cr_ui_say("%s - INFO - use_gpu: False, infer_batch_size: %lld, test_data_dir: %s, "
                  "start_epoch: %lld, end_epoch: %lld, print_interval: %lld, model_load_path: %s\n",
                  time, (long long)r->batch, r->data, (long long)r->first, (long long)r->end,
                  (long long)r->print_interval, r->dir);
    else
        cr_ui_say("%s - INFO - use_gpu: False, train_batch_size: %lld, train_data_dir: %s, epochs: "
                  "%lld, print_interval: %lld, model_save_path: %s\n",
                  time, (long long)r->batch, r->data, (long long)r->epochs,
                  (long long)r->print_interval, r->dir);
    cr_ui_say("%s - INFO - **************common.configs**********\n%s - INFO - read data\n", time,
              time);
}

cr_code cr_run_record(const cr_run_lines *x, cr_err *err) {
    char time[64];
    if (!x->servers || x->r->old) return CR_OK;
    const char *text =
        cr_arena_printf(&x->ui->arena, "{'speed': [%s], 'auc': [%s]}",
                        x->speeds.n ? x->speeds.data : "", x->aucs.n ? x->aucs.data : "");
    cr_ui_say("%s - INFO - train_result_dict: %s\n%s - INFO - Run Success, Exit.\n",
              cr_run_time(time), text, time);
    return cr_file_write("train_result_dict.txt", text, strlen(text), err);
}
