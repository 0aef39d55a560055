/*
 * cmd_params.c - `crank params`: prints what a checkpoint or an export holds.
 *
 * Norms need every value to be read, so the norms of a large checkpoint are computed only when the
 * user asks for them. 8-bit rows are described by the values that they stand for.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/shown.h"
#include "ckpt/ckpt.h"
#include "cli/cli.h"
#include "cli/params_top.h"

typedef struct args {
    const char *checkpoint_path;
    bool norms, verify, json;
    const char *table;
    int64_t top;
} args;

static const cr_opt opts[] = {
    CR_OPT_STR(args, checkpoint_path, CR_O_REQUIRED | CR_O_PATH, "PATH", NULL,
               "checkpoint, model_dir (its newest), export or safetensors file"),
    CR_OPT_BOOL(args, norms, 0,
                "read all values for norm, mean, least and largest; done anyway up to 64M values"),
    CR_OPT_BOOL(args, verify, 0,
                "compare all values with their digests; done anyway when they are read"),
    CR_OPT_STR(args, table, 0, "NAME", NULL,
               "print the most frequent ids of a table with zch or dynamicemb instead"),
    CR_OPT_INT(args, top, "N", "20", NULL, 1, 1000000000, "how many of them"),
    CR_OPT_BOOL(args, json, 0, "print one JSON object"),
    CR_OPT_END,
};

#define FEW_VALUES (64LL << 20)
#define PIECE      65536

typedef struct stats {
    double norm, mean, min, max; /* over finite values */
    int64_t bad;                 /* NaN and infinities */
} stats;

static cr_code measure(const cr_ckpt *c, const cr_ckpt_info *p, stats *s, cr_err *err) {
    float *x = cr_alloc(sizeof(float) * PIECE, "piece of a tensor");
    double sum = 0, squares = 0;
    cr_code code = CR_OK;
    *s = (stats){.min = HUGE_VAL, .max = -HUGE_VAL};
    for (int64_t k = 0; k < p->n_elems && code == CR_OK; k += PIECE) {
        int64_t n = p->n_elems - k < PIECE ? p->n_elems - k : PIECE;
        code = cr_ckpt_read(c, p->name, k, n, x, err);
        for (int64_t i = 0; i < n && code == CR_OK; i++) {
            double v = (double)x[i];
            if (!isfinite(v)) {
                s->bad++;
                continue;
            }
            sum += v;
            squares += v * v;
            if (v < s->min) s->min = v;
            if (v > s->max) s->max = v;
        }
    }
    cr_free(x);
    int64_t good = p->n_elems - s->bad;
    s->norm = sqrt(squares);
    s->mean = good > 0 ? sum / (double)good : 0;
    if (good == 0) s->min = s->max = NAN;
    return code;
}

static void shape_text(char *out, size_t size, const cr_ckpt_info *p) {
    size_t n = 0;
    n += (size_t)snprintf(out, size, "[");
    for (int i = 0; i < p->n_dims && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%lld", i ? ", " : "", (long long)p->shape[i]);
    if (n < size) snprintf(out + n, size - n, "]");
}

static void print_part(cr_arena *a, const cr_ckpt *c, const stats *st, bool optimizer, int width,
                       int shape_width) {
    int64_t values = 0, bytes = 0;
    int n = 0;
    char shape[CR_ST_MAX_DIMS * 22 + 4], size[32], count[32];
    for (int i = 0; i < cr_ckpt_count(c); i++)
        n += cr_ckpt_at(c, i)->optimizer == optimizer;
    if (!n) return;
    cr_ui_say("\n%s\n", optimizer ? "optimizer" : "model");
    if (st)
        cr_ui_say("  %-*s  %-*s  %-4s  %8s  %11s %11s %11s %11s\n", width, "", shape_width, "",
                  "type", "size", "norm", "mean", "least", "largest");
    for (int i = 0; i < cr_ckpt_count(c); i++) {
        const cr_ckpt_info *p = cr_ckpt_at(c, i);
        if (p->optimizer != optimizer) continue;
        shape_text(shape, sizeof shape, p);
        cr_ui_say("  %-*s  %-*s  %-4s  %8s", width, cr_shown(a, p->name), shape_width, shape,
                  cr_ckpt_type_name(p), cr_fmt_bytes(size, (double)p->n_bytes));
        if (st)
            cr_ui_say("  %11.5g %11.4g %11.4g %11.4g", st[i].norm, st[i].mean, st[i].min,
                      st[i].max);
        if (st && st[i].bad) cr_ui_say("  %lld not finite", (long long)st[i].bad);
        cr_ui_say("\n");
        values += p->n_elems;
        bytes += p->n_bytes;
    }
    cr_ui_say("  %d parameter%s, %s values, %s\n", n, n == 1 ? "" : "s",
              cr_fmt_count(count, (double)values), cr_fmt_bytes(size, (double)bytes));
}

static void print_text(cr_arena *a, const cr_ckpt *c, const stats *st) {
    int width = 0, shape_width = 0;
    char shape[CR_ST_MAX_DIMS * 22 + 4];
    for (int i = 0; i < cr_ckpt_count(c); i++) {
        const cr_ckpt_info *p = cr_ckpt_at(c, i);
        shape_text(shape, sizeof shape, p);
        int len = (int)strlen(cr_shown(a, p->name));
        if (len > width) width = len;
        if ((int)strlen(shape) > shape_width) shape_width = (int)strlen(shape);
    }
    const cr_ckpt_state *s = cr_ckpt_get_state(c);
    cr_ui_say("%s", cr_shown(a, cr_ckpt_path(c)));
    if (s) cr_ui_say(", step %lld", (long long)s->step);
    cr_ui_say("\n");
    print_part(a, c, st, false, width, shape_width);
    print_part(a, c, st, true, width, shape_width);
}

static void print_json(const cr_ckpt *c, const stats *st) {
    cr_buf out;
    cr_jw w;
    cr_buf_init(&out);
    cr_jw_init(&w, &out);
    int64_t bytes = 0;
    const cr_ckpt_state *s = cr_ckpt_get_state(c);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "checkpoint", cr_ckpt_path(c));
    if (s) cr_jw_i64(&w, "global_step", s->step);
    cr_jw_arr(&w, "parameters");
    for (int i = 0; i < cr_ckpt_count(c); i++) {
        const cr_ckpt_info *p = cr_ckpt_at(c, i);
        cr_jw_obj(&w, NULL);
        cr_jw_str(&w, "name", p->name);
        cr_jw_arr(&w, "shape");
        for (int k = 0; k < p->n_dims; k++)
            cr_jw_i64(&w, NULL, p->shape[k]);
        cr_jw_end(&w);
        cr_jw_str(&w, "dtype", cr_ckpt_type_name(p));
        cr_jw_i64(&w, "bytes", p->n_bytes);
        cr_jw_bool(&w, "optimizer", p->optimizer);
        if (st) {
            cr_jw_f64(&w, "norm", st[i].norm);
            cr_jw_f64(&w, "mean", st[i].mean);
            cr_jw_f64(&w, "min", st[i].min);
            cr_jw_f64(&w, "max", st[i].max);
            cr_jw_i64(&w, "not_finite", st[i].bad);
        }
        cr_jw_end(&w);
        bytes += p->n_bytes;
    }
    cr_jw_end(&w);
    cr_jw_i64(&w, "bytes", bytes);
    cr_jw_end(&w);
    cr_ui_say("%s\n", out.data);
    cr_buf_clear(&out);
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    cr_err err;
    cr_ckpt *c = NULL;
    char *path = NULL;
    if (cr_ckpt_resolve(&ui->arena, a->checkpoint_path, CR_NEED_LIST, NULL, &path, &err) != CR_OK ||
        cr_ckpt_open(&c, path, &err) != CR_OK)
        return cr_ui_fail(ui, &err);
    if (a->table && *a->table) {
        cr_code top = cr_params_top(c, a->table, a->top, a->json, &ui->arena, &err);
        if (top != CR_OK) cr_ui_fail(ui, &err);
        cr_ckpt_close(c);
        return top;
    }
    int64_t values = 0;
    int n = cr_ckpt_count(c);
    for (int i = 0; i < n; i++)
        values += cr_ckpt_at(c, i)->n_elems;
    stats *st = NULL;
    cr_code code = CR_OK;
    if (a->norms || values <= FEW_VALUES) st = CR_NEW_N(&ui->arena, stats, n + 1);
    cr_ckpt_tell_old(c);
    if (st || a->verify) code = cr_ckpt_verify(c, NULL, &err);
    for (int i = 0; i < n && st && code == CR_OK; i++)
        code = measure(c, cr_ckpt_at(c, i), &st[i], &err);
    if (code != CR_OK)
        cr_ui_fail(ui, &err);
    else if (a->json)
        print_json(c, st);
    else
        print_text(&ui->arena, c, st);
    cr_ckpt_close(c);
    return code;
}

static const char *const examples[] = {
    "crank params experiments/deepfm/model.ckpt-1000",
    "crank params experiments/deepfm --json | jq '.parameters[].name'",
    "crank params experiments/deepfm --table item_emb --top 20",
    NULL,
};

const cr_cmd cr_cmd_params = {
    .name = "params",
    .alias = "list_distcp_param",
    .module = "tzrec.tools.list_distcp_param",
    .help = "List names, shapes, types, sizes and norms of a checkpoint",
    .operand = "CHECKPOINT",
    .operand_opt = "checkpoint_path",
    .opts = opts,
    .args_size = sizeof(args),
    .examples = examples,
    .run = run,
};
