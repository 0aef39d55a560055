/*
 * cmd_why.c - `crank why`: the parts of a score, or of the difference between two.
 */
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/grid.h"
#include "explain/explain.h"

typedef struct args {
    cr_opt_list models, row, set;
    const char *eval_input_path, *output;
    int64_t orders, seed, threads;
    bool json;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, models, CR_O_LIST, 0, CR_O_REQUIRED | CR_O_PATH, "MODEL", NULL, NULL, 0, 0,
            "a config, a model_dir, an export or a checkpoint; two: what makes the second differ; "
            "MODEL without a flag means this"),
    CR_OPT_(args, row, CR_O_LIST, 0, CR_O_REQUIRED, "N", NULL, NULL, 0, 0,
            "row of the data, from 0 on; given twice: what makes the first differ from the second"),
    CR_OPT_STR(args, eval_input_path, CR_O_PATHS, "PATHS", "from the config",
               "data with the row: files or quoted globs, with commas"),
    CR_OPT_STR(args, output, 0, "NAME", "the first logit or y", "the output to explain"),
    CR_OPT_INT(args, orders, "N", "16", NULL, 2, 4096,
               "orders of replacement whose mean is shown; an even number"),
    CR_OPT_INT(args, seed, "N", "1", NULL, 0, 9e15, "decides these orders"),
    CR_OPT_BOOL(args, json, 0, "print one JSON object"),
    CR_OPT_AT(args, set, "set", CR_O_LIST, 0, 0, "KEY=VALUE", NULL, "none", 0, 0,
              "one edit of the config, a.b[0].c=value; may be repeated"),
    CR_OPT_THREADS(args),
    CR_OPT_END,
};

/* Takes a model; of a checkpoint in a model_dir the config is that of the folder above. */
static void take_model(cr_ui *ui, const args *a, const char *path, cr_why_opts *o) {
    int k = o->n_models++;
    o->config[k] = (cr_config_opts){.path = path,
                                    .eval_input_path = a->eval_input_path,
                                    .set = a->set.v,
                                    .n_set = a->set.n};
    bool has_config = cr_path_exists(cr_path_join(&ui->arena, path, "pipeline.config"));
    bool state = cr_path_exists(cr_path_join(&ui->arena, path, "state.json"));
    if (!cr_path_is_dir(path) || !state) return;
    o->checkpoint_path[k] = path;
    if (!has_config) o->config[k].path = cr_path_dir(&ui->arena, path);
}

static cr_code read_flags(cr_ui *ui, const args *a, cr_why_opts *o) {
    if (a->models.n > 2) return cr_ui_wrong(ui, "crank why takes one model or two");
    if (a->row.n > 2) return cr_ui_wrong(ui, "--row is given %d times; at most two", a->row.n);
    if (a->row.n == 2 && a->models.n == 2)
        return cr_ui_wrong(ui, "two models are compared at one row; give --row once");
    if (a->orders % 2)
        return cr_ui_wrong(ui, "--orders is %lld; give an even number", (long long)a->orders);
    for (int i = 0; i < a->row.n; i++)
        if (!cr_parse_i64(a->row.v[i], strlen(a->row.v[i]), &o->rows[i]) || o->rows[i] < 0)
            return cr_ui_wrong(ui, "--row '%s' is no row; give a number from 0 on", a->row.v[i]);
    o->n_rows = a->row.n;
    for (int i = 0; i < a->models.n; i++)
        take_model(ui, a, a->models.v[i], o);
    return CR_OK;
}

static void table(cr_ui *ui, const cr_why_opts *o, const cr_why *r) {
    static const unsigned flags[] = {CR_GRID_LEFT | CR_GRID_SHRINK, CR_GRID_LEFT, CR_GRID_RIGHT,
                                     CR_GRID_LEFT | CR_GRID_SHRINK};
    cr_grid g;
    cr_grid_init(&g, &ui->arena, 4, flags);
    for (int i = 0; i < r->n_parts; i++) {
        const cr_why_part *p = &r->parts[i];
        const char **c = cr_grid_row(&g);
        c[0] = cr_plain(&ui->arena, p->name, strlen(p->name));
        c[1] = p->kind;
        c[2] = cr_arena_printf(&ui->arena, "%+.6f", p->part);
        c[3] = p->value;
    }
    const char *from = o->n_models == 2 ? "the first model"
                       : o->n_rows == 2 ? "the second row"
                                        : "a row without values";
    cr_ui_say("%s of row %lld\n", r->output, (long long)o->rows[0]);
    if (r->has_label) cr_ui_say("  label %g\n", r->label);
    cr_ui_say("  %+.6f  %s\n", r->from, from);
    cr_grid_print_names(&g);
    cr_ui_say("  %+.6f  %s (the parts miss it by %.1g)\n", r->to,
              o->n_models == 2 ? "the second model" : "the row", r->residual);
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    cr_why_opts o = {.output = a->output,
                     .orders = (int)a->orders,
                     .seed = (uint64_t)a->seed,
                     .threads = (int)a->threads};
    CR_TRY(read_flags(ui, a, &o));
    cr_why r;
    CR_TRY(cr_why_run(&o, &r, &ui->arena, &ui->diag));
    cr_ui_findings(ui);
    if (!a->json) {
        table(ui, &o, &r);
        return CR_OK;
    }
    cr_buf json;
    cr_buf_init(&json);
    cr_why_json(&json, &o, &r);
    cr_ui_put(json.data, json.n);
    cr_buf_clear(&json);
    return CR_OK;
}

static const char *const examples[] = {
    "crank why experiments/deepfm --row 17",
    "crank why experiments/deepfm --row 17 --row 18",
    "crank why experiments/deepfm/model.ckpt-1000 experiments/deepfm/model.ckpt-2000 --row 17",
    NULL,
};

const cr_cmd cr_cmd_why = {
    .name = "why",
    .help = "The parts of a score, or of the difference between two rows or two models",
    .about = "Features (or, between models, table rows and layers) are replaced one after the "
             "other; what each changes is\nits part, as a mean over orders. The parts add up to "
             "the difference.\n",
    .operand = "MODEL",
    .operand_opt = "models",
    .opts = opts,
    .args_size = sizeof(args),
    .examples = examples,
    .run = run,
};
