/*
 * ui.c - how crank speaks: findings, progress, results.
 *
 * A finding is printed once, as soon as possible: warnings about the config appear before the first
 * step, not after the last. Findings and progress go to stderr and results to stdout, so that
 * `crank params x | sort` and `2>/dev/null` do what one expects.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/log.h"
#include "base/shown.h"
#include "cli/cli.h"

#define PROGRESS_GAP 0.1 /* seconds between two progress lines */

void cr_ui_init(cr_ui *ui, const cr_cmd *const *cmds) {
    *ui = (cr_ui){.cmds = cmds};
    cr_diag_init(&ui->diag);
    cr_map_init(&ui->shown);
    cr_map_init(&ui->told);
    cr_arena_init(&ui->arena, 0);
}

void cr_ui_clear(cr_ui *ui) {
    cr_diag_clear(&ui->diag);
    cr_map_clear(&ui->shown);
    cr_map_clear(&ui->told);
    cr_arena_clear(&ui->arena);
}

cr_code cr_ui_fail(cr_ui *ui, const cr_err *err) {
    cr_loc at = err->at;
    if (at.path && err->path[0]) at.path = err->path;
    cr_diag_add_(err->src, err->src_line, &ui->diag, CR_SEV_ERROR, err->code, at, "%s", err->msg);
    return err->code;
}

cr_code cr_ui_wrong(cr_ui *ui, const char *fmt, ...) {
    char msg[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    cr_diag_add(&ui->diag, CR_SEV_ERROR, CR_EUSAGE, CR_NOWHERE, "%s", msg);
    return CR_EUSAGE;
}

/* ---- findings ---- */

static void finding_text(cr_buf *out, const cr_ui *ui, const cr_finding *f) {
    if (!f->at.path)
        cr_buf_printf(out, "crank%s%s", ui->cmd ? " " : "", ui->cmd ? ui->cmd->name : "");
    else
        cr_buf_shown(out, f->at.path, strlen(f->at.path), false);
    if (f->at.path && f->at.line > 0) cr_buf_printf(out, ":%d", f->at.line);
    if (f->at.path && f->at.line > 0 && f->at.col > 0) cr_buf_printf(out, ":%d", f->at.col);
    cr_buf_str(out, ": ");
    if (ui->comm && ui->place.rank > 0 && f->sev == CR_SEV_ERROR)
        cr_buf_printf(out, "rank %d (host %s): ", ui->place.rank,
                      cr_comm_who(ui->comm)[ui->place.rank].host);
    if (f->sev == CR_SEV_WARN) cr_buf_str(out, "warning: ");
    if (f->sev == CR_SEV_NOTE) cr_buf_str(out, "note: ");
    cr_buf_str(out, f->msg);
    if (ui->debug && f->src) {
        const char *src = strstr(f->src, "src/"); /* leaves out the path from the build directory */
        cr_buf_printf(out, " [%s:%d]", src ? src : f->src, f->src_line);
    }
    cr_buf_char(out, '\n');
}

/* Of several ranks, what is wrong is told by the rank that it is wrong for, and once. */
static bool tells(const cr_ui *ui) {
    int blamed = ui->comm ? cr_comm_blamed(ui->comm) : -1;
    return ui->blamed || ui->place.rank == (blamed < 0 ? 0 : blamed);
}

/* Was this told before, at the place that the user wrote? */
static bool is_told(cr_ui *ui, const cr_finding *f) {
    return ui->written && f->sev != CR_SEV_ERROR && f->at.path &&
           strcmp(f->at.path, ui->written) == 0 &&
           cr_map_get(&ui->told, f->msg, strlen(f->msg), 0) != 0;
}

void cr_ui_findings(cr_ui *ui) {
    cr_buf all, one;
    cr_buf_init(&all);
    cr_buf_init(&one);
    for (; ui->filed < ui->diag.n; ui->filed++) {
        cr_buf_reset(&one);
        finding_text(&one, ui, &ui->diag.v[ui->filed]);
        cr_log_file_add(one.data, one.n);
    }
    if (!tells(ui) || ui->shown.n == ui->diag.n) {
        cr_buf_clear(&all);
        cr_buf_clear(&one);
        return;
    }
    for (size_t i = 0; i < ui->diag.n; i++) {
        cr_buf_reset(&one);
        finding_text(&one, ui, &ui->diag.v[i]);
        if (cr_map_put(&ui->shown, one.data, one.n, 1) && !is_told(ui, &ui->diag.v[i]))
            cr_buf_add(&all, one.data, one.n);
    }
    if (all.n) {
        cr_log_progress(NULL);
        fflush(stdout);
        fwrite(all.data, 1, all.n, stderr);
        fflush(stderr);
    }
    cr_buf_clear(&all);
    cr_buf_clear(&one);
}

bool cr_ui_counts(const cr_ui *ui, char out[64]) {
    size_t errors = 0, warnings = 0;
    for (size_t i = 0; i < ui->diag.n; i++) {
        errors += ui->diag.v[i].sev == CR_SEV_ERROR;
        warnings += ui->diag.v[i].sev == CR_SEV_WARN;
    }
    out[0] = 0;
    if (errors) snprintf(out, 64, "%zu error%s", errors, errors == 1 ? "" : "s");
    size_t n = strlen(out);
    if (warnings)
        snprintf(out + n, 64 - n, "%s%zu warning%s", n ? ", " : "", warnings,
                 warnings == 1 ? "" : "s");
    return errors || warnings;
}

/* ---- progress ---- */

/* The parts of the progress line, in their order. */
enum { STAGE, EPOCH, STEP, ROWS, RATE, LOSS, METRIC, LEFT, N_PARTS };
/* The parts that a narrow terminal leaves out, the first one first; the loss and the time left
 * stay. */
static const int dropped[] = {ROWS, RATE, EPOCH, STAGE, METRIC, STEP};

typedef struct part {
    char text[64]; /* "": the part is not shown */
} part;

static int line_width(const part *v) {
    int n = 0;
    for (int i = 0; i < N_PARTS; i++)
        if (v[i].text[0]) n += (n ? 2 : 0) + (int)strlen(v[i].text);
    return n;
}

static void say(part *p, const char *fmt, ...) CR_PRINTF(2, 3);
static void say(part *p, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(p->text, sizeof p->text, fmt, ap);
    va_end(ap);
}

static void progress_parts(part *v, const cr_progress *p) {
    char t[32];
    if (p->stage) say(&v[STAGE], "%s", p->stage);
    /* A run counts epochs from 0; after the last one the number must not pass the end. */
    int64_t epoch = p->epoch < p->n_epochs ? p->epoch + 1 : p->n_epochs;
    if (p->n_epochs > 0)
        say(&v[EPOCH], "epoch %lld/%lld", (long long)epoch, (long long)p->n_epochs);
    if (p->n_steps > 0)
        say(&v[STEP], "step %lld/%lld", (long long)p->step, (long long)p->n_steps);
    else if (p->step > 0)
        say(&v[STEP], "step %lld", (long long)p->step);
    say(&v[ROWS], "%s rows", cr_fmt_count(t, (double)p->rows));
    if (p->rows_per_s > 0) say(&v[RATE], "%s rows/s", cr_fmt_count(t, p->rows_per_s));
    if (p->stage && strcmp(p->stage, "train") == 0) say(&v[LOSS], "loss %.4f", p->loss);
    if (p->metric && isfinite(p->metric_value))
        say(&v[METRIC], "%.40s %.4f", p->metric, p->metric_value);
    if (p->seconds_left >= 0 && isfinite(p->seconds_left))
        say(&v[LEFT], "%s left", cr_fmt_time(t, p->seconds_left));
}

void cr_progress_text(char *out, size_t size, const cr_progress *p, int width) {
    part v[N_PARTS] = {0};
    char t[32];
    progress_parts(v, p);
    int keep = v[LOSS].text[0] ? LOSS : v[LEFT].text[0] ? LEFT : ROWS; /* always shown */
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped && line_width(v) > width; i++)
        if (dropped[i] != keep) v[dropped[i]].text[0] = 0;
    if (line_width(v) > width && v[LEFT].text[0])
        say(&v[LEFT], "%s", cr_fmt_time(t, p->seconds_left));
    if (line_width(v) > width && v[LOSS].text[0]) say(&v[LOSS], "%.4f", p->loss);
    if (line_width(v) > width && keep != LEFT) v[LEFT].text[0] = 0;
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "");
    for (int i = 0; i < N_PARTS; i++)
        if (v[i].text[0]) cr_buf_printf(&b, "%s%s", b.n ? "  " : "", v[i].text);
    snprintf(out, size, "%s", b.data);
    cr_buf_clear(&b);
}

static void on_progress(void *ctx, const cr_progress *p) {
    cr_ui *ui = ctx;
    if (ui->shown.n != ui->diag.n) cr_ui_findings(ui);
    if (ui->quiet || !cr_log_is_terminal()) return;
    double now = cr_now();
    /* The first metric is news and is shown at once. */
    bool news = p->metric && !ui->metric_shown;
    if (now - ui->last_progress < PROGRESS_GAP && !news) return;
    ui->last_progress = now;
    ui->metric_shown = p->metric != NULL;
    char line[256];
    cr_progress_text(line, sizeof line, p, cr_log_columns());
    cr_log_progress(line);
}

static void on_begin(void *ctx) {
    cr_ui_findings(ctx);
}

cr_watch cr_ui_watch(cr_ui *ui) {
    return (cr_watch){.progress = on_progress, .ctx = ui, .begins = on_begin};
}

/* ---- results ---- */

static cr_buf *copy; /* what is printed goes here too; NULL: nowhere */

void cr_ui_copy(cr_buf *to) {
    copy = to;
}

void cr_ui_put(const char *text, size_t n) {
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_shown(&b, text, n, true);
    fwrite(b.data, 1, b.n, stdout);
    if (copy) cr_buf_add(copy, b.data, b.n);
    cr_buf_clear(&b);
}

/* Messages hold names that other people chose, and foreign text never reaches the terminal as it
 * is. */
static void put_formatted(const char *fmt, va_list ap) {
    char few[256], *text = few;
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(few, sizeof few, fmt, ap);
    if (n < 0) CR_BUG("bad format");
    if ((size_t)n >= sizeof few) {
        text = cr_alloc((size_t)n + 1, "a line of output");
        vsnprintf(text, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    cr_ui_put(text, (size_t)n);
    if (text != few) cr_free(text);
}

static bool muted; /* it changes only while no thread speaks */

void cr_ui_flush(void) {
    fflush(stdout);
}

void cr_ui_mute(bool on) {
    muted = on;
}

void cr_ui_say(const char *fmt, ...) {
    if (muted) return;
    cr_log_progress(NULL);
    va_list ap;
    va_start(ap, fmt);
    put_formatted(fmt, ap);
    va_end(ap);
}

void cr_ui_metrics(const cr_eval_result *r) {
    int width = 0;
    for (int i = 0; i < r->n; i++)
        if ((int)strlen(r->v[i].name) > width) width = (int)strlen(r->v[i].name);
    char rows[32];
    if (r->rows > 0)
        cr_ui_say("metrics on %s rows\n", cr_fmt_count(rows, (double)r->rows));
    else
        cr_ui_say("metrics of the last evaluation\n");
    for (int i = 0; i < r->n; i++) {
        const cr_metric_result *m = &r->v[i];
        double error = 1.96 * cr_auc_error(m->value, m->n_pos, m->n_neg);
        cr_ui_say("  %-*s  %.6f", width, m->name, m->value);
        if (isfinite(error)) /* the spread that chance alone gives the same model on other rows */
            cr_ui_say("  (95%%: %.4f to %.4f, %lld positives)", fmax(m->value - error, 0),
                      fmin(m->value + error, 1), (long long)m->n_pos);
        cr_ui_say("\n");
    }
}

void cr_ui_next(const cr_ui *ui, const char *fmt, ...) {
    if (ui->quiet) return;
    cr_log_progress(NULL);
    va_list ap;
    va_start(ap, fmt);
    cr_ui_put("next  ", 6);
    put_formatted(fmt, ap);
    va_end(ap);
    cr_ui_say("%s\n", ui->allow_libraries ? " --allow_libraries" : "");
}

const char *cr_ui_quote(cr_ui *ui, const char *text) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=+,:@%";
    if (*text && strspn(text, plain) == strlen(text)) return text;
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_char(&b, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            cr_buf_str(&b, "'\\''");
        else
            cr_buf_char(&b, *text);
    }
    cr_buf_char(&b, '\'');
    const char *s = cr_arena_strdup(&ui->arena, b.data);
    cr_buf_clear(&b);
    return s;
}
