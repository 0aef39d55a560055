/*
 * check_zoo.c - see check_zoo.h. The rules follow ModelZoo's contribution check: structure, README,
 * model.yaml, hygiene of the sources, help text of the run script, and a short run whose log has a
 * loss and a speed.
 */
#include "cli/check_zoo.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/shown.h"
#include "conf/tree.h"

#define MAX_TEXT ((size_t)64 << 20)
#define MAX_FILE (100 << 20) /* bytes that a file of a contribution may have */

extern char **environ;

typedef struct rule {
    const char *name, *what;
    const char *wrong; /* what is wrong and its cure; NULL: it passes */
    bool skipped;
} rule;
typedef struct check {
    cr_ui *ui;
    cr_arena *a;
    const char *dir;
    rule v[64];
    int n;
} check;

static void add(check *c, const char *name, const char *what, const char *wrong) {
    if (c->n < 64) c->v[c->n++] = (rule){name, what, wrong, false};
}

static char *read_text(check *c, const char *name) {
    cr_buf b;
    cr_err err;
    char *out = NULL;
    cr_buf_init(&b);
    if (cr_file_read(cr_path_join(c->a, c->dir, name), MAX_TEXT, &b, &err) == CR_OK)
        out = cr_arena_strndup(c->a, b.data ? b.data : "", b.n);
    cr_buf_clear(&b);
    return out;
}

/* ---- structure, texts ---- */

static void check_structure(check *c) {
    static const char *const files[] = {
        "README.md",
        "requirements.txt",
        "model.yaml",
        "run_scripts",
        "run_scripts/argument.py",
        "run_scripts/formate_cmd.py",
        "run_scripts/README.md",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        bool there = cr_path_exists(cr_path_join(c->a, c->dir, files[i]));
        add(c, "structure", files[i],
            there ? NULL : "it is missing; 'crank scaffold MODEL DIR' makes one to copy from");
    }
    char **names;
    size_t n;
    cr_err err;
    bool script = false;
    if (cr_list_dir(c->a, cr_path_join(c->a, c->dir, "run_scripts"), &names, &n, &err) == CR_OK)
        for (size_t i = 0; i < n; i++) {
            size_t k = strlen(names[i]);
            script |=
                strncmp(names[i], "run_", 4) == 0 && k > 7 && strcmp(names[i] + k - 3, ".py") == 0;
        }
    add(c, "structure", "run_scripts/run_<modelname>.py",
        script ? NULL : "it is missing; name the script that starts training so");
}

static void check_readme(check *c) {
    static const struct {
        const char *what, *words[4];
    } parts[] = {
        {"model overview with origin", {"模型概述", "verview", NULL}},
        {"dataset", {"数据集", "ataset", NULL}},
        {"environment", {"Docker", "环境", "docker", NULL}},
        {"how to start training", {"启动训练", "run_scripts/run_", NULL}},
        {"results", {"训练结果", "esults", "结果展示", NULL}},
    };
    const char *text = read_text(c, "README.md");
    for (size_t i = 0; text && i < sizeof parts / sizeof *parts; i++) {
        bool found = false;
        for (int k = 0; parts[i].words[k]; k++)
            found |= strstr(text, parts[i].words[k]) != NULL;
        add(c, "README.md", parts[i].what,
            found ? NULL : "the part is missing; add a heading and its text");
    }
    const char *table = read_text(c, "run_scripts/README.md");
    if (table)
        add(c, "run_scripts/README.md", "table of arguments",
            strstr(table, "|") && strstr(table, "batch_size")
                ? NULL
                : "it has no table of arguments: name, explanation, example");
}

/* Looks at every Python file of run_scripts. */
static void check_sources(check *c) {
    char **names;
    size_t n;
    cr_err err;
    const char *dir = cr_path_join(c->a, c->dir, "run_scripts");
    if (cr_list_dir(c->a, dir, &names, &n, &err) != CR_OK) return;
    for (size_t i = 0; i < n; i++) {
        size_t k = strlen(names[i]);
        const char *name = cr_arena_printf(c->a, "run_scripts/%s", names[i]);
        int64_t size;
        if (cr_file_size(cr_path_join(c->a, dir, names[i]), &size, &err) == CR_OK &&
            size > MAX_FILE)
            add(c, "sources", name, "it is larger than 100 MB; leave it out of the folder");
        if (k < 4 || strcmp(names[i] + k - 3, ".py") != 0) continue;
        const char *text = read_text(c, name);
        if (!text) continue;
        const char *wrong = NULL;
        if (!strstr(text, "License") && !strstr(text, "Copyright") &&
            !strstr(text, "Adapted to tecorigin hardware"))
            wrong = "it has no licence header; add one";
        if (strstr(text, "breakpoint()") || strstr(text, "set_trace("))
            wrong = "it calls a debugger; remove the call";
        if (strstr(text, "\"/mnt/") || strstr(text, "'/mnt/"))
            wrong = "it has an absolute /mnt path; make it an argument";
        add(c, "sources", name, wrong);
    }
}

/* ---- model.yaml ---- */

static const char *const params[] = {"nnodes",       "nproc_per_node", "batch_size", "model_name",
                                     "dataset_path", "step",           "epoch",      "lr",
                                     "device",       "autocast"};
#define N_PARAMS ((int)(sizeof params / sizeof *params))

static const char *scalar(const cr_conf_node *map, const char *key) {
    const cr_conf_node *n = map && map->kind == CR_NODE_MAP ? cr_conf_find(map, key) : NULL;
    return n && n->kind == CR_NODE_SCALAR && n->len ? n->text : NULL;
}

static const char *at_line(check *c, const cr_conf_node *n, const char *text) {
    /* the text was read below a line of ours */
    return cr_arena_printf(c->a, "line %d: %s", n->at.line > 1 ? n->at.line - 1 : 1, text);
}

/* Checks one case; the script that it runs, or NULL. */
static const char *check_case(check *c, const cr_conf_node *item, int k) {
    const char *what = cr_arena_printf(c->a, "case %d", k + 1);
    if (item->kind != CR_NODE_MAP) {
        add(c, "model.yaml", what, "a case is a map with case_name, desc and params");
        return NULL;
    }
    const cr_conf_node *desc = cr_conf_find(item, "desc"), *p = cr_conf_find(item, "params");
    const char *file = scalar(desc, "run_file"), *dir = scalar(desc, "run_dir");
    if (!scalar(item, "case_name"))
        add(c, "model.yaml", what, at_line(c, item, "case_name is missing; name your account"));
    if (!dir || dir[0] == '/')
        add(c, "model.yaml", what,
            at_line(c, item,
                    "desc.run_dir must be a relative path, as in "
                    "PyTorch/contrib/Recommendation/DeepFM"));
    if (!file || strncmp(file, "run_scripts/", 12) != 0 || strstr(file, "..")) {
        add(c, "model.yaml", what,
            at_line(c, item, "desc.run_file must be a script in run_scripts"));
        file = NULL;
    } else if (!cr_path_exists(cr_path_join(c->a, c->dir, file))) {
        add(c, "model.yaml", what,
            at_line(c, item, cr_arena_printf(c->a, "%s is not there", cr_shown(c->a, file))));
        file = NULL;
    }
    if (!p || p->kind != CR_NODE_MAP) {
        add(c, "model.yaml", what, at_line(c, item, "params is missing"));
        return NULL;
    }
    for (int i = 0; i < N_PARAMS; i++)
        if (!scalar(p, params[i]))
            add(c, "model.yaml", what,
                at_line(c, p,
                        cr_arena_printf(c->a, "params.%s is missing or empty; all of %s", params[i],
                                        "the ten parameters are needed")));
    for (size_t i = 0; i < p->n; i++) {
        bool known = strcmp(p->v[i].key, "others") == 0;
        for (int q = 0; q < N_PARAMS; q++)
            known |= strcmp(p->v[i].key, params[q]) == 0;
        if (!known)
            add(c, "model.yaml", what,
                at_line(c, p->v[i].val,
                        cr_arena_printf(c->a,
                                        "params.%s is no common parameter; put it under "
                                        "params.others",
                                        cr_shown(c->a, p->v[i].key))));
    }
    return file;
}

/* ---- running ---- */

/* Runs a program in the folder; *text is what it printed. Returns its exit code, or -1. */
static int execute(check *c, char **argv, const char **text) {
    posix_spawn_file_actions_t f;
    pid_t pid;
    int status = -1, fd = memfd_create("output", MFD_CLOEXEC);
    cr_buf b;
    cr_err err;
    *text = "";
    if (fd < 0) return -1;
    posix_spawn_file_actions_init(&f);
    posix_spawn_file_actions_addchdir_np(&f, c->dir);
    posix_spawn_file_actions_addopen(&f, 0, "/dev/null", 0, 0);
    posix_spawn_file_actions_adddup2(&f, fd, 1);
    posix_spawn_file_actions_adddup2(&f, fd, 2);
    if (posix_spawnp(&pid, argv[0], &f, NULL, argv, environ) == 0)
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
    posix_spawn_file_actions_destroy(&f);
    cr_buf_init(&b);
    if (cr_file_read(cr_arena_printf(c->a, "/proc/self/fd/%d", fd), MAX_TEXT, &b, &err) == CR_OK &&
        b.n)
        *text = cr_arena_strndup(c->a, b.data, b.n);
    cr_buf_clear(&b);
    close(fd);
    return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *last_line(check *c, const char *text) {
    size_t n = strlen(text);
    while (n && text[n - 1] == '\n')
        n--;
    size_t at = n;
    while (at && text[at - 1] != '\n')
        at--;
    return cr_shown(c->a, cr_arena_strndup(c->a, text + at, n - at));
}

static void add_flags(check *c, const cr_conf_node *p, char **argv, int *n, int most) {
    for (size_t i = 0; i < p->n && *n + 2 < most; i++) {
        const cr_conf_node *v = p->v[i].val;
        if (v->kind == CR_NODE_MAP) add_flags(c, v, argv, n, most);
        if (v->kind != CR_NODE_SCALAR) continue;
        argv[(*n)++] = cr_arena_printf(c->a, "--%s", p->v[i].key);
        argv[(*n)++] = cr_arena_strdup(c->a, v->text);
    }
}

/* Runs the script of a case: its help must name the common flags, its short run must end well and
 * log a loss and a speed. */
static void run_case(check *c, const cr_conf_node *p, const char *file) {
    enum { MOST = 128 };
    char *argv[MOST + 1] = {0};
    const char *text, *wrong = NULL;
    int n = 0;
    argv[n++] = cr_arena_strdup(c->a, "python3");
    argv[n++] = cr_arena_strdup(c->a, file);
    argv[n] = cr_arena_strdup(c->a, "--help");
    int code = execute(c, argv, &text);
    for (int i = 0; code == 0 && i < N_PARAMS; i++)
        if (!strstr(text, cr_arena_printf(c->a, "--%s", i ? params[i] : "nnode")))
            wrong = cr_arena_printf(c->a, "--help does not list --%s; add the flag", params[i]);
    if (code != 0)
        wrong = cr_arena_printf(c->a, "--help ended with %d: %s", code, last_line(c, text));
    add(c, "arguments", file, wrong);
    argv[n] = NULL;
    add_flags(c, p, argv, &n, MOST);
    code = execute(c, argv, &text);
    wrong = code ? cr_arena_printf(c->a, "it ended with %d: %s", code, last_line(c, text)) : NULL;
    add(c, "run", file, wrong);
    if (code == 0)
        add(c, "log", file,
            strstr(text, "train.loss : ") && strstr(text, "train.ips : ")
                ? NULL
                : "its output has no train.loss and train.ips; log them with TCAP_DLLogger");
}

static void check_model_yaml(check *c, bool run) {
    const char *text = read_text(c, "model.yaml");
    if (!text) return;
    cr_conf_doc doc;
    cr_diag quiet;
    cr_diag_init(&quiet);
    cr_conf_doc_init(&doc);
    /* The file is a list, and a config is a map: the list becomes the value of a key. */
    const char *all = cr_arena_printf(c->a, "cases:\n%s", text);
    cr_code code = cr_conf_parse(&doc, CR_SYNTAX_YAML, "model.yaml", all, strlen(all), &quiet);
    const cr_conf_node *list = code == CR_OK ? cr_conf_find(doc.root, "cases") : NULL;
    if (!list || list->kind != CR_NODE_LIST || list->n == 0) {
        add(c, "model.yaml", "cases", "it is no YAML list of cases; begin with '- case_name: ...'");
    } else {
        int before = c->n;
        const char *file = NULL;
        for (size_t i = 0; i < list->n; i++) {
            file = check_case(c, list->v[i].val, (int)i);
            if (file) file = cr_arena_strdup(c->a, file); /* the findings outlive the document */
            if (run && file) run_case(c, cr_conf_find(list->v[i].val, "params"), file);
        }
        if (!run || c->n == before) add(c, "model.yaml", "cases", NULL);
        if (!run)
            c->v[c->n++] = (rule){"run", "not run",
                                  "add --run, which executes the scripts of this "
                                  "folder",
                                  true};
    }
    cr_conf_doc_clear(&doc);
    cr_diag_clear(&quiet);
}

/* ---- the result ---- */

static void print_json(const check *c, int failed) {
    cr_buf out;
    cr_jw w;
    cr_buf_init(&out);
    cr_jw_init(&w, &out);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "path", c->dir);
    cr_jw_bool(&w, "pass", failed == 0);
    cr_jw_arr(&w, "rules");
    for (int i = 0; i < c->n; i++) {
        const rule *r = &c->v[i];
        cr_jw_obj(&w, NULL);
        cr_jw_str(&w, "rule", r->name);
        cr_jw_str(&w, "what", r->what);
        cr_jw_str(&w, "verdict", r->skipped ? "skipped" : r->wrong ? "fail" : "ok");
        if (r->wrong) cr_jw_str(&w, "why", r->wrong);
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    cr_jw_end(&w);
    cr_ui_say("%s\n", out.data);
    cr_buf_clear(&out);
}

bool cr_is_zoo_dir(cr_arena *a, const char *path) {
    return cr_path_is_dir(path) && (cr_path_is_dir(cr_path_join(a, path, "run_scripts")) ||
                                    cr_path_exists(cr_path_join(a, path, "model.yaml")));
}

cr_code cr_check_zoo(cr_ui *ui, const char *dir, bool run, bool json) {
    check *c = CR_NEW(&ui->arena, check);
    *c = (check){.ui = ui, .a = &ui->arena, .dir = dir};
    check_structure(c);
    check_readme(c);
    check_sources(c);
    check_model_yaml(c, run);
    int failed = 0;
    for (int i = 0; i < c->n; i++)
        failed += c->v[i].wrong && !c->v[i].skipped;
    if (json) {
        print_json(c, failed);
    } else {
        for (int i = 0; i < c->n; i++) {
            const rule *r = &c->v[i];
            cr_ui_say("%-5s %s: %s%s%s\n",
                      r->skipped ? "-"
                      : r->wrong ? "FAIL"
                                 : "ok",
                      r->name, cr_shown(c->a, r->what), r->wrong ? ": " : "",
                      r->wrong ? r->wrong : "");
        }
        if (failed) cr_ui_say("%d of %d rules fail\n", failed, c->n);
        if (!failed) cr_ui_say("%d rules pass\n", c->n);
    }
    return failed ? CR_ECONF : CR_OK;
}
