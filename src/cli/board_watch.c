/*
 * board_watch.c - see board_watch.h.
 */
#include "cli/board_watch.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/log.h"

#define MLFLOW_S 30 /* seconds between two writes for MLflow at least */

const char *cr_board_token(void) {
    const char *t = getenv("CRANK_BOARD_TOKEN");
    return t && *t ? t : NULL;
}

void cr_board_hint(void) {
    size_t n;
    if (!cr_board_page(&n)) CR_WARN("%s", CR_BOARD_NO_PAGE);
}

static void warn(const cr_err *err, const char *what) {
    char text[1024];
    cr_err_text(err, text, sizeof text);
    CR_WARN("%s; %s", text, what);
}

static void write_mlflow(cr_board_watch *w) {
    char id[33];
    cr_err err;
    if (!w->mlflow || !w->model_dir[0]) return;
    if (cr_mlflow_write(w->mlflow, w->model_dir, id, &err) != CR_OK)
        warn(&err, "MLflow's files are not up to date");
    w->written = cr_now();
}

static void on_logs(void *ctx, const char *model_dir) {
    cr_board_watch *w = ctx;
    cr_err err;
    snprintf(w->model_dir, sizeof w->model_dir, "%s", model_dir);
    if (w->port != CR_NO_BOARD) {
        const char *dirs[] = {w->model_dir};
        cr_board_serve o = {.port = (int)w->port, .token = cr_board_token()};
        if (cr_board_open(&w->board, dirs, 1, &err) != CR_OK ||
            cr_board_start(&w->server, w->board, &o, &err) != CR_OK) {
            warn(&err, "the run goes on without its page");
        } else {
            CR_INFO("The page of this run is at %s", cr_board_url(w->server));
            cr_board_hint();
        }
    }
    write_mlflow(w);
}

static void on_saved(void *ctx, const char *path, int64_t epochs, int64_t batch) {
    cr_board_watch *w = ctx;
    if (w->inner.saved) w->inner.saved(w->inner.ctx, path, epochs, batch);
    if (cr_now() - w->written > MLFLOW_S) write_mlflow(w);
}

static void on_progress(void *ctx, const cr_progress *p) {
    const cr_board_watch *w = ctx;
    if (w->inner.progress) w->inner.progress(w->inner.ctx, p);
}

static void on_begin(void *ctx) {
    const cr_board_watch *w = ctx;
    if (w->inner.begins) w->inner.begins(w->inner.ctx);
}

static void on_step(void *ctx, const cr_stepped *s) {
    const cr_board_watch *w = ctx;
    w->inner.stepped(w->inner.ctx, s);
}

static void on_epoch(void *ctx, const cr_stepped *s) {
    const cr_board_watch *w = ctx;
    w->inner.epoch(w->inner.ctx, s);
}

static void on_evaluated(void *ctx, const cr_stepped *s) {
    const cr_board_watch *w = ctx;
    w->inner.evaluated(w->inner.ctx, s);
}

cr_code cr_board_watch_init(cr_board_watch *w, const cr_watch *inner, int64_t port,
                            const char *mlflow, cr_err *err) {
    *w = (cr_board_watch){.inner = *inner, .port = port, .mlflow = mlflow};
    return mlflow ? cr_mkdirs(mlflow, err) : CR_OK;
}

cr_watch cr_board_watch_of(cr_board_watch *w) {
    return (cr_watch){.progress = on_progress,
                      .begins = on_begin,
                      .logs = on_logs,
                      .stepped = w->inner.stepped ? on_step : NULL,
                      .epoch = w->inner.epoch ? on_epoch : NULL,
                      .evaluated = w->inner.evaluated ? on_evaluated : NULL,
                      .saved = on_saved,
                      .ctx = w};
}

void cr_board_watch_clear(cr_board_watch *w) {
    cr_board_stop(w->server);
    cr_board_close(w->board);
    write_mlflow(w);
}
