/*
 * run_tables.c - the tables that PaddleRec's old kind prints before a run, and its summary of a
 * failure. A table has a key per line; long values are cut at their beginning.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/run_int.h"

#define GAP   5
#define KEY   45
#define VALUE 50
#define SHOWN 46 /* of a value that is cut, behind "... " */

static int key_width(const cr_paddle_env *v, int n) {
    int width = KEY;
    for (int i = 0; i < n; i++)
        if ((int)strlen(v[i].key) > width) width = (int)strlen(v[i].key);
    return width;
}

static void rule(cr_buf *b, char c, int width) {
    for (int i = 0; i < width + GAP + VALUE; i++)
        cr_buf_char(b, c);
    cr_buf_char(b, '\n');
}

static void say_table(const char *head, const cr_paddle_env *v, int n) {
    int width = key_width(v, n), left = (width - (int)strlen(head)) / 2;
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_char(&b, '\n');
    rule(&b, '=', width);
    cr_buf_printf(&b, "%*s%-*s%*s%-*s\n", left, "", width - left, head, GAP, "", VALUE, "Value");
    rule(&b, '-', width);
    for (int i = 0; i < n; i++) {
        size_t k = strlen(v[i].value);
        bool cut = k >= VALUE;
        cr_buf_printf(&b, "%-*s%*s%s%-*s\n", width, v[i].key, GAP, "", cut ? "... " : "",
                      cut ? SHOWN : VALUE, cut ? v[i].value + (k - SHOWN) : v[i].value);
    }
    rule(&b, '=', width);
    cr_ui_say("%s\n", b.data);
    cr_buf_clear(&b);
}

/* What the config says of the runner. */
static const char *said(const cr_paddle_run *r, const char *key, const char *absent) {
    size_t n = strlen(r->runner);
    for (int i = 0; i < r->n_envs; i++) {
        const char *s = r->envs[i].key;
        if (strncmp(s, "runner.", 7) == 0 && strncmp(s + 7, r->runner, n) == 0 && s[7 + n] == '.' &&
            strcmp(s + 8 + n, key) == 0)
            return r->envs[i].value;
    }
    return absent;
}

void cr_run_say_tables(const cr_paddle_run *r) {
    const char *threads = getenv("CPU_NUM");
    cr_paddle_env v[6];
    int n = 0;
    v[n++] = (cr_paddle_env){"train.trainer.trainer", "GeneralTrainer"};
    v[n++] = (cr_paddle_env){"train.trainer.executor_mode", r->infer ? "infer" : "train"};
    if (r->servers)
        v[n++] = (cr_paddle_env){"train.trainer.strategy", said(r, "distribute_strategy", "async")};
    v[n++] = (cr_paddle_env){"train.trainer.threads", r->servers < 0 && threads ? threads : "2"};
    v[n++] = (cr_paddle_env){"train.trainer.platform", "LINUX"};
    v[n++] = (cr_paddle_env){"train.trainer.engine", r->servers < 0   ? "cluster"
                                                     : r->servers > 0 ? "local_cluster"
                                                                      : "single"};
    say_table("Runtime Envs", v, n);
    say_table("paddlerec Global Envs", r->envs, r->n_envs);
}

void cr_run_say_failure(const cr_ui *ui) {
    static const char line[] = "--------------------------------";
    cr_err err;
    if (cr_diag_first(&ui->diag, &err) == CR_OK) return;
    cr_ui_say("\n%s\nPaddleRec Error Message Summary:\n%s\n\nExit PaddleRec. catch exception in "
              "precoss status: [train_pass], except: %s\n",
              line, line, err.msg);
}
