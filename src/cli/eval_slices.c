/*
 * eval_slices.c - the slices and the reliability of `crank eval`: tables, JSON, a picture.
 */
#include "cli/eval_slices.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "cli/grid.h"
#include "cli/keep.h"

static const char *number(cr_ui *ui, double x, const char *format) {
    if (isnan(x)) return "-";
    return strcmp(format, "%.6f") == 0 ? cr_arena_printf(&ui->arena, "%.6f", x)
                                       : cr_arena_printf(&ui->arena, "%.4f", x);
}

static void row(cr_ui *ui, cr_grid *g, const cr_slice *s) {
    const char **c = cr_grid_row(g);
    c[0] = cr_plain(&ui->arena, s->name, strlen(s->name));
    c[1] = cr_arena_printf(&ui->arena, "%lld", (long long)s->rows);
    c[2] = number(ui, s->auc, "%.6f");
    c[3] = number(ui, s->logloss, "%.6f");
    c[4] = number(ui, s->mean_score, "%.4f");
    c[5] = number(ui, s->mean_label, "%.4f");
    c[6] = number(ui, s->calibration, "%.4f");
}

static void column(cr_ui *ui, const cr_slices_task *t, const cr_slices_column *col, bool named) {
    static const unsigned flags[] = {CR_GRID_LEFT | CR_GRID_SHRINK,
                                     CR_GRID_RIGHT,
                                     CR_GRID_RIGHT,
                                     CR_GRID_RIGHT,
                                     CR_GRID_RIGHT,
                                     CR_GRID_RIGHT,
                                     CR_GRID_RIGHT};
    cr_grid g;
    cr_grid_init(&g, &ui->arena, 7, flags);
    const char **c = cr_grid_row(&g);
    c[0] = col ? cr_plain(&ui->arena, col->name, strlen(col->name)) : "rows";
    c[1] = "rows", c[2] = "auc", c[3] = "logloss", c[4] = "mean score", c[5] = "mean label",
    c[6] = "calibration";
    for (int k = 0; col && k < col->n; k++)
        row(ui, &g, &col->v[k]);
    row(ui, &g, &t->all);
    cr_ui_say("\n%s%s", named ? t->name : "", named ? "\n" : "");
    cr_grid_print_names(&g);
}

static cr_code write_files(cr_ui *ui, const cr_slice_flags *f, const cr_slices *s,
                           const char **path, cr_err *err) {
    cr_buf out;
    cr_buf_init(&out);
    cr_slices_json(&out, s);
    cr_code code =
        cr_keep_result(ui,
                       &(cr_keep){f->slices_json, "--slices_json", s->dir, CR_BOARD_SLICES_FILE},
                       &out, path, err);
    cr_buf_reset(&out);
    if (code == CR_OK && f->reliability) {
        cr_slices_svg(&out, &s->tasks[0]);
        code = cr_file_write(f->reliability, out.data, out.n, err);
    }
    cr_buf_clear(&out);
    return code;
}

cr_code cr_eval_slices_run(cr_ui *ui, const cr_slice_flags *f, const cr_eval_opts *o,
                           cr_slices *out) {
    cr_slices_opts so = {.config = o->config,
                         .checkpoint_path = o->checkpoint_path,
                         .columns = f->slice.v,
                         .n_columns = f->slice.n,
                         .max_values = (int)f->slice_values,
                         .threads = o->threads};
    return cr_slices_run(&so, out, &ui->arena, &ui->diag);
}

cr_code cr_eval_slices_show(cr_ui *ui, const cr_slice_flags *f, const cr_slices *s) {
    cr_err err;
    const char *path;
    if (write_files(ui, f, s, &path, &err) != CR_OK) return cr_ui_fail(ui, &err);
    for (int t = 0; t < s->n_tasks; t++)
        for (int c = 0; c < s->n_columns; c++)
            column(ui, &s->tasks[t], &s->tasks[t].columns[c], s->n_tasks > 1);
    for (int t = 0; s->n_columns == 0 && t < s->n_tasks; t++)
        column(ui, &s->tasks[t], NULL, s->n_tasks > 1);
    if (path) cr_ui_say("\nslices and reliability for crank board: %s\n", path);
    return CR_OK;
}
