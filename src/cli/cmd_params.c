/*
 * cmd_params.c - `crank params`: what a checkpoint or an export holds.
 */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "ckpt/ckpt.h"
#include "cli/cli.h"

static const cr_opt opts[] = {
    CR_OPT_STR(checkpoint_path, CR_O_REQUIRED, "PATH", NULL,
               "checkpoint, model_dir (its newest), export or safetensors file"),
    CR_OPT_BOOL(json, 0, "print one JSON object"),
    CR_OPT_END,
};

static void shape_text(char *out, size_t size, const cr_ckpt_info *p) {
    size_t n = 0;
    n += (size_t)snprintf(out, size, "[");
    for (int i = 0; i < p->n_dims && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%lld", i ? ", " : "", (long long)p->shape[i]);
    if (n < size) snprintf(out + n, size - n, "]");
}

static void print_part(const cr_ckpt *c, bool optimizer, int width, int shape_width) {
    int64_t values = 0, bytes = 0;
    int n = 0;
    char shape[CR_ST_MAX_DIMS * 22 + 4], size[32], count[32];
    for (int i = 0; i < cr_ckpt_count(c); i++)
        n += cr_ckpt_at(c, i)->optimizer == optimizer;
    if (!n) return;
    cr_ui_say("\n%s\n", optimizer ? "optimizer" : "model");
    for (int i = 0; i < cr_ckpt_count(c); i++) {
        const cr_ckpt_info *p = cr_ckpt_at(c, i);
        if (p->optimizer != optimizer) continue;
        shape_text(shape, sizeof shape, p);
        cr_ui_say("  %-*s  %-*s  %-4s  %8s\n", width, p->name, shape_width, shape,
                  cr_dtype_name(p->dtype), cr_fmt_bytes(size, (double)p->n_bytes));
        values += p->n_elems;
        bytes += p->n_bytes;
    }
    cr_ui_say("  %d parameter%s, %s values, %s\n", n, n == 1 ? "" : "s",
              cr_fmt_count(count, (double)values), cr_fmt_bytes(size, (double)bytes));
}

static void print_text(const cr_ckpt *c) {
    int width = 0, shape_width = 0;
    char shape[CR_ST_MAX_DIMS * 22 + 4];
    for (int i = 0; i < cr_ckpt_count(c); i++) {
        const cr_ckpt_info *p = cr_ckpt_at(c, i);
        shape_text(shape, sizeof shape, p);
        if ((int)strlen(p->name) > width) width = (int)strlen(p->name);
        if ((int)strlen(shape) > shape_width) shape_width = (int)strlen(shape);
    }
    const cr_ckpt_state *s = cr_ckpt_get_state(c);
    cr_ui_say("%s", cr_ckpt_path(c));
    if (s) cr_ui_say(", step %lld", (long long)s->step);
    cr_ui_say("\n");
    print_part(c, false, width, shape_width);
    print_part(c, true, width, shape_width);
}

static void print_json(const cr_ckpt *c) {
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
        cr_jw_str(&w, "dtype", cr_dtype_name(p->dtype));
        cr_jw_i64(&w, "bytes", p->n_bytes);
        cr_jw_bool(&w, "optimizer", p->optimizer);
        cr_jw_end(&w);
        bytes += p->n_bytes;
    }
    cr_jw_end(&w);
    cr_jw_i64(&w, "bytes", bytes);
    cr_jw_end(&w);
    cr_ui_say("%s\n", out.data);
    cr_buf_clear(&out);
}

static cr_code run(cr_ui *ui, const cr_args *a) {
    cr_err err;
    cr_ckpt *c = NULL;
    char *path = NULL;
    if (cr_ckpt_resolve(&ui->arena, a->checkpoint_path, &path, &err) != CR_OK ||
        cr_ckpt_open(&c, path, &err) != CR_OK)
        return cr_ui_fail(ui, &err);
    if (a->json)
        print_json(c);
    else
        print_text(c);
    cr_ckpt_close(c);
    return CR_OK;
}

static const char *const examples[] = {
    "crank params experiments/deepfm/model.ckpt-1000",
    "crank params experiments/deepfm --json | jq '.parameters[].name'",
    NULL,
};

const cr_cmd cr_cmd_params = {
    .name = "params",
    .alias = "list_distcp_param",
    .module = "tzrec.tools.list_distcp_param",
    .help = "List names, shapes, types and sizes of a checkpoint",
    .operand = "CHECKPOINT",
    .operand_opt = "checkpoint_path",
    .opts = opts,
    .examples = examples,
    .run = run,
};
