/*
 * days.c - training day by day (train_config.daily): which files a pass reads, the evaluation
 * before it, and what is saved behind it. To the loop a pass is an epoch.
 *
 * Behind pass p of a day, in this order: a delta every save_delta_frequency passes, a checkpoint as
 * text every checkpoint_per_pass, and behind the last one the day's end: rows shrink, a base and
 * the batch model of the next day are saved. Then the loop saves its own checkpoint, which holds
 * the rows as all this has left them. A run that goes on from it first forgets the lines of the
 * donefiles that belong to later passes; their folders are replaced when they come again.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/json.h"
#include "base/kill_point.h"
#include "base/log.h"
#include "base/stop.h"
#include "job/text_model.h"
#include "run/loop_int.h"

#define DONE  "donefile.txt"
#define BASE  "base_donefile.txt"
#define PATCH "patch_donefile.txt"
#define EVAL  "eval.txt"
#define MOST  ((size_t)1 << 30) /* bytes of such a file */

static const cr_daily_conf *conf(const loop *l) {
    return l->tc->daily;
}

static const char *out_dir(const loop *l, cr_arena *a) {
    return *conf(l)->output_dir ? conf(l)->output_dir : cr_path_join(a, l->c->model_dir, "daily");
}

/* ---- the files of a pass ---- */

/* Is a folder there, and whole? */
static bool is_there(const loop *l, const char *dir, cr_arena *a) {
    const char *done = conf(l)->data_donefile;
    return *done ? cr_path_exists(cr_path_join(a, dir, done)) : cr_path_is_dir(dir);
}

static cr_code wait_for(loop *l, const char *dir, cr_arena *a) {
    const cr_daily_conf *c = conf(l);
    double t0 = cr_now();
    bool told = false;
    while (!is_there(l, dir, a)) {
        if (cr_stop_requested)
            return cr_diag_err(l->diag,
                               &(cr_err){.code = CR_ESTOP,
                                         .at = {dir, 0, 0},
                                         .msg = "stopped by a signal while waiting for this data; "
                                                "--continue_train goes on"});
        double waited = cr_now() - t0;
        if (c->data_wait_second > 0 && waited >= (double)c->data_wait_second)
            return cr_diag_err(
                l->diag,
                &(cr_err){.code = CR_EDATA,
                          .at = {dir, 0, 0},
                          .msg = "the data of the pass has not come within data_wait_second; "
                                 "--continue_train goes on when it is there"});
        if (!told && writes(l)) CR_INFO("Waiting for %s", dir);
        told = true;
        /* a signal ends the sleep */
        if (c->data_sleep_second > 0)
            (void)sleep((unsigned)c->data_sleep_second);
        else
            (void)usleep(10000);
    }
    return CR_OK;
}

/* Adds the files of a folder to the list. */
static cr_code add_files(const loop *l, const char *dir, cr_arena *a, cr_buf *list, cr_err *err) {
    char **names;
    size_t n;
    CR_TRY(cr_list_dir(a, dir, &names, &n, err));
    for (size_t i = 0; i < n; i++) {
        const char *path = cr_path_join(a, dir, names[i]);
        bool hidden = names[i][0] == '.' || names[i][0] == '_';
        if (hidden || strcmp(names[i], conf(l)->data_donefile) == 0 || cr_path_is_dir(path))
            continue;
        cr_buf_printf(list, "%s%s", list->n ? "," : "", path);
    }
    return CR_OK;
}

cr_code cr_days_find(loop *l) {
    cr_arena a;
    cr_buf list;
    cr_err err;
    cr_arena_init(&a, 0);
    cr_buf_init(&list);
    cr_code code = CR_OK;
    for (int64_t i = 0; code == CR_OK && i < conf(l)->split_per_pass; i++) {
        const char *dir = cr_daily_folder(conf(l), l->epoch, i, &a);
        code = wait_for(l, dir, &a);
        if (code == CR_OK && add_files(l, dir, &a, &list, &err) != CR_OK)
            code = cr_diag_err(l->diag, &err);
    }
    l->paths = cr_arena_strndup(&l->res->arena, list.n ? list.data : "", list.n);
    if (code == CR_OK && list.n == 0)
        CR_WARN("%s: the pass has no files", cr_daily_folder(conf(l), l->epoch, 0, &a));
    cr_buf_clear(&list);
    cr_arena_clear(&a);
    return code;
}

/* ---- lines of donefiles ---- */

/* Reads the number behind a key of a line of JSON; -1: there is none. */
static int64_t number_at(const char *line, size_t n, const char *key) {
    const char *p = memmem(line, n, key, strlen(key));
    int64_t x = -1;
    if (!p) return -1;
    p += strlen(key);
    size_t len = strspn(p, "0123456789");
    return cr_parse_i64(p, len, &x) ? x : -1;
}

/* Returns the pass that a line belongs to; it is that of the day and the number in it. */
static int64_t pass_of(const cr_daily_conf *c, const char *line, size_t n) {
    int64_t day = -1, number = -1;
    const char *end = line + n, *tab = memchr(line, '\t', n);
    if (*line == '{') {
        day = number_at(line, n, "\"day\": ");
        number = number_at(line, n, "\"pass\": ");
    } else if (tab && cr_parse_i64(line, (size_t)(tab - line), &day)) {
        /* day, pass, metrics; or day, key, path, pass, 0 */
        const char *word = tab + 1, *next = memchr(word, '\t', (size_t)(end - word));
        for (int i = 0; i < 2 && next && memchr(next + 1, '\t', (size_t)(end - next - 1)); i++) {
            word = next + 1;
            next = memchr(word, '\t', (size_t)(end - word));
        }
        if (next) (void)cr_parse_i64(word, (size_t)(next - word), &number);
    }
    return cr_daily_find(c, day, number);
}

/* Keeps the lines of passes before `end`. */
static cr_code cut(const loop *l, const char *path, int64_t end, cr_err *err) {
    cr_buf b, kept;
    if (!cr_path_exists(path)) return CR_OK;
    cr_buf_init(&b);
    cr_buf_init(&kept);
    cr_code code = cr_file_read(path, MOST, &b, err);
    for (size_t from = 0; code == CR_OK && from < b.n;) {
        const char *line = b.data + from, *stop = memchr(line, '\n', b.n - from);
        size_t n = stop ? (size_t)(stop - line) + 1 : b.n - from;
        if (stop && pass_of(conf(l), line, n - 1) < end) cr_buf_add(&kept, line, n);
        from += n;
    }
    if (code == CR_OK && kept.n != b.n)
        code = cr_file_write(path, kept.n ? kept.data : "", kept.n, err);
    cr_buf_clear(&b);
    cr_buf_clear(&kept);
    return code;
}

cr_code cr_days_resume(loop *l) {
    static const char *const files[] = {DONE, BASE, PATCH};
    bool inside = l->pos.unit > 0 || l->pos.row > 0;
    cr_arena a;
    cr_err err;
    if (!writes(l)) return CR_OK;
    cr_arena_init(&a, 0);
    cr_code code = CR_OK;
    for (size_t i = 0; code == CR_OK && i < sizeof files / sizeof *files; i++)
        code = cut(l, cr_path_join(&a, out_dir(l, &a), files[i]), l->epoch, &err);
    if (code == CR_OK)
        code = cut(l, cr_path_join(&a, out_dir(l, &a), EVAL), l->epoch + inside, &err);
    cr_arena_clear(&a);
    return code == CR_OK ? CR_OK : cr_diag_err(l->diag, &err);
}

static cr_code append(loop *l, const char *file, const cr_buf *line) {
    cr_arena a;
    cr_err err;
    cr_code code = CR_OK;
    cr_arena_init(&a, 0);
    if (writes(l)) {
        code = cr_mkdirs(out_dir(l, &a), &err);
        if (code == CR_OK)
            code =
                cr_file_append(cr_path_join(&a, out_dir(l, &a), file), line->data, line->n, &err);
        if (code != CR_OK) (void)cr_diag_err(l->diag, &err);
    }
    cr_arena_clear(&a);
    return agreed(l, code);
}

/* ---- the evaluation before a pass ---- */

static cr_code note_result(loop *l, cr_pass p, const cr_eval_result *r) {
    cr_buf b;
    cr_buf_init(&b);
    cr_eval_text(&b, r);
    CR_INFO("Day %lld pass %lld before training: %s", (long long)p.day, (long long)p.number,
            b.n ? b.data : "");
    cr_buf_reset(&b);
    cr_buf_printf(&b, "%lld\t%lld\t", (long long)p.day, (long long)p.number);
    cr_eval_line(&b, l->step, r);
    cr_code code = append(l, EVAL, &b);
    cr_buf_clear(&b);
    return code;
}

cr_code cr_days_evaluate(loop *l) {
    cr_err err;
    cr_evaluator *ev = NULL;
    cr_eval_result result;
    cr_pass p = cr_daily_pass(conf(l), l->epoch);
    if (!conf(l)->evaluate || !*l->paths || l->pos.unit > 0 || l->pos.row > 0) return CR_OK;
    double t0 = cr_now();
    char title[96];
    snprintf(title, sizeof title, "Evaluating day %lld pass %lld", (long long)p.day,
             (long long)p.number);
    cr_eval_run r = {.paths = l->paths,
                     .max_steps = l->c->eval_config->num_steps,
                     .log_every = l->c->eval_config->log_step_count_steps,
                     .title = title,
                     .watch = &l->o->watch};
    cr_code code = cr_evaluator_new(&ev, &l->j, &err);
    if (code != CR_OK) (void)cr_diag_err(l->diag, &err);
    code = agreed(l, code);
    if (code == CR_OK) {
        cr_trainer_swap_ema(l->t);
        code = cr_evaluator_run(ev, &r, &result, &l->res->arena, l->diag);
        cr_trainer_swap_ema(l->t);
    }
    cr_evaluator_free(ev);
    l->res->eval_s += cr_now() - t0;
    if (code == CR_ESTOP) return CR_OK; /* the loop handles the signal */
    return code == CR_OK ? note_result(l, p, &result) : code;
}

/* ---- saves ---- */

/* Collective: saves a folder and says so. */
static cr_code save(loop *l, const char *path, cr_ctr_mode mode) {
    static const char *const names[CR_CTR_MODES] = {[CR_CTR_ALL] = "checkpoint",
                                                    [CR_CTR_DELTA_ROWS] = "delta",
                                                    [CR_CTR_BASE] = "base",
                                                    [CR_CTR_BATCH] = "batch model"};
    int64_t rows;
    double t0 = cr_now();
    CR_TRY(cr_text_model_save(&l->j, path, mode, conf(l)->shard_num, &rows, l->diag));
    l->res->save_s += cr_now() - t0;
    if (writes(l)) CR_INFO("Saved the %s %s: %lld rows", names[mode], path, (long long)rows);
    return CR_OK;
}

/* Finds the metrics of a pass in the file of evaluations. */
static void add_metrics(const loop *l, cr_pass p, cr_jw *w, cr_arena *a) {
    cr_buf b;
    cr_buf_init(&b);
    const char *found = "", *path = cr_path_join(a, out_dir(l, a), EVAL);
    int64_t k = cr_daily_find(conf(l), p.day, p.number);
    if (cr_path_exists(path) && cr_file_read(path, MOST, &b, NULL) != CR_OK) cr_buf_reset(&b);
    for (size_t from = 0; from < b.n;) {
        const char *line = b.data + from, *stop = memchr(line, '\n', b.n - from);
        size_t n = stop ? (size_t)(stop - line) : b.n - from;
        const char *json = memchr(line, '{', n);
        if (json && pass_of(conf(l), line, n) == k)
            found = cr_arena_strndup(a, json, n - (size_t)(json - line));
        from += n + 1;
    }
    cr_jw_str(w, "monitor_data", found);
    cr_buf_clear(&b);
}

/* Writes the line of a base (number 0) or of a delta; `of` is the pass that was trained last. */
static cr_code write_json(loop *l, const char *file, int64_t day, int64_t number, const char *path,
                          const cr_pass *of) {
    cr_arena a;
    cr_buf b;
    cr_arena_init(&a, 0);
    cr_buf_init(&b);
    cr_jw w;
    cr_jw_init(&w, &b);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "id", cr_arena_printf(&a, "%lld%04lld", (long long)day, (long long)number));
    cr_jw_str(&w, "key", cr_arena_printf(&a, "%lld", (long long)day));
    cr_jw_str(&w, "input", cr_arena_printf(&a, "%s/000", path));
    if (of) add_metrics(l, *of, &w, &a);
    cr_jw_i64(&w, "day", day);
    cr_jw_i64(&w, "pass", number);
    cr_jw_end(&w);
    cr_buf_char(&b, '\n');
    cr_code code = append(l, file, &b);
    cr_buf_clear(&b);
    cr_arena_clear(&a);
    return code;
}

static cr_code write_done(loop *l, int64_t day, int64_t number, const char *path) {
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_printf(&b, "%lld\t%lld\t%s\t%lld\t0\n", (long long)day, (long long)day, path,
                  (long long)number);
    cr_code code = append(l, DONE, &b);
    cr_buf_clear(&b);
    return code;
}

/* Collective: a day is over. */
static cr_code end_day(loop *l, cr_pass p, cr_arena *a) {
    int64_t next = cr_day_after(p.day), gone, left;
    cr_err err;
    if (cr_text_model_shrink(&l->j, &gone, &left, &err) != CR_OK) return cr_diag_err(l->diag, &err);
    if (writes(l))
        CR_INFO("Day %lld is over: %lld rows went, %lld are left", (long long)p.day,
                (long long)gone, (long long)left);
    const char *base = cr_arena_printf(a, "%s/%08lld/base", out_dir(l, a), (long long)next);
    CR_TRY(save(l, base, CR_CTR_BASE));
    CR_TRY(write_json(l, BASE, next, 0, base, &p));
    const char *batch = cr_arena_printf(a, "%s/%08lld/0", out_dir(l, a), (long long)next);
    CR_TRY(save(l, batch, CR_CTR_BATCH));
    return write_done(l, next, 0, batch);
}

static cr_code end_pass(loop *l, cr_arena *a) {
    const cr_daily_conf *c = conf(l);
    cr_pass p = cr_daily_pass(c, l->epoch - 1);
    const char *dir = cr_arena_printf(a, "%s/%08lld", out_dir(l, a), (long long)p.day);
    if (c->save_delta_frequency > 0 && p.number % c->save_delta_frequency == 0) {
        const char *path = cr_arena_printf(a, "%s/delta-%lld", dir, (long long)p.number);
        CR_TRY(save(l, path, CR_CTR_DELTA_ROWS));
        CR_TRY(write_json(l, PATCH, p.day, p.number, path, &p));
    }
    if (c->checkpoint_per_pass > 0 && p.number % c->checkpoint_per_pass == 0) {
        const char *path = cr_arena_printf(a, "%s/%lld", dir, (long long)p.number);
        CR_TRY(save(l, path, CR_CTR_ALL));
        CR_TRY(write_done(l, p.day, p.number, path));
    }
    return p.ends_day ? end_day(l, p, a) : CR_OK;
}

cr_code cr_days_end(loop *l) {
    cr_arena a;
    cr_kill_point("pass");
    CR_TRY(cr_loop_settle(l));
    /* a checkpoint of this step may be there, of before the rows change here: it is made again */
    if (l->saved == l->step) l->saved = -1;
    l->saved_by_signal = false;
    cr_arena_init(&a, 0);
    cr_code code = end_pass(l, &a);
    cr_arena_clear(&a);
    return code;
}

cr_code cr_days_first(loop *l) {
    cr_arena a;
    int64_t day = conf(l)->start_day;
    if (!conf(l)->save_first_base || l->resume) return CR_OK;
    cr_arena_init(&a, 0);
    const char *base = cr_arena_printf(&a, "%s/%08lld/base", out_dir(l, &a), (long long)day);
    cr_err err;
    cr_code code = CR_OK;
    /* a run that was killed before its first checkpoint has written the line already */
    if (writes(l) && cut(l, cr_path_join(&a, out_dir(l, &a), BASE), -1, &err) != CR_OK)
        code = cr_diag_err(l->diag, &err);
    code = agreed(l, code);
    if (code == CR_OK) code = save(l, base, CR_CTR_BASE);
    if (code == CR_OK) code = write_json(l, BASE, day, 0, base, NULL);
    cr_arena_clear(&a);
    return code;
}
