/*
 * place.c - what all backends but PaddleCloud share: the common keys, and crank's own line that
 * every node runs.
 *
 * The line is `crank launch FLAGS -- train CONFIG ...`: one launcher per node, which starts the
 * ranks of its node, finds its number in the platform's variables, and starts ranks again after
 * a fault. With --continue_train the same line serves for the first start and for every later one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/fs.h"
#include "base/shown.h"
#include "submit/submit_int.h"

const char *const cr_binaries[] = {"bundle", "image", "path", NULL};

/* Names of the files that crank writes itself. */
static const char *const own[] = {"job.sh",   "run.sh",    "job.sbatch", "node.sh",      "hostfile",
                                  "job.ini",  "secret",    "job.yaml",   "crank.tar.gz", "bin",
                                  "job.log",  "exit_code", "stopped",    ".answer",      ".jobs.sh",
                                  ".job.ini", ".stage",    "bin.part",   "secret.env",   NULL};

static void check_env(cr_submit *s, const cr_place_conf *p) {
    const cr_conf_node *env = cr_unboxed(p->env);
    bool secret = false;
    if (!env) return;
    if (env->kind != CR_NODE_MAP) {
        cr_submit_wrong(s, env->at, "env is a map: {NAME: value}");
        return;
    }
    for (size_t i = 0; i < env->n; i++) {
        const char *name = env->v[i].key;
        size_t ok = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
        if (!*name || ok != strlen(name) || (name[0] >= '0' && name[0] <= '9') ||
            env->v[i].val->kind != CR_NODE_SCALAR || strpbrk(env->v[i].val->text, "\n\r"))
            cr_submit_wrong(
                s, env->v[i].at,
                "env: '%s' is no variable with a text of one line; write NAME: \"value\"",
                cr_shown(s->a, name));
        else if (cr_is_secret(name)) {
            secret = true;
            cr_secret_hide(s, env->v[i].val->text);
        }
    }
    if (secret) cr_secret_told(s, env->at, "env");
}

/* Block texts of YAML (| and >) end with a line break. */
static const char *one_line(cr_arena *a, const char *text) {
    size_t n = strlen(text);
    while (n > 0 && strchr("\r\n", text[n - 1]))
        n--;
    return cr_arena_strndup(a, text, n);
}

static void check_args(cr_submit *s, const cr_place_conf *p) {
    const cr_conf_node *v = cr_unboxed(p->args);
    if (!v) return;
    bool ok = v->kind != CR_NODE_MAP;
    for (size_t i = 0; ok && v->kind == CR_NODE_LIST && i < v->n; i++)
        ok = v->v[i].val->kind == CR_NODE_SCALAR;
    if (!ok)
        cr_submit_wrong(s, v->at, "args is a list of words: [--set, train_config.num_epochs=2]");
    if (v->kind == CR_NODE_SCALAR && strpbrk(one_line(s->a, v->text), "\n\r"))
        cr_submit_wrong(s, v->at,
                        "args holds a line break, which would end the command of the nodes; write "
                        "it as one line");
}

/* The words of args, as the nodes' command has them. */
static const char *const *arg_words(cr_submit *s, const cr_conf_node *v, int *n) {
    *n = 0;
    if (v && v->kind == CR_NODE_SCALAR) return cr_sh_split(s->a, v->text, n);
    const char **out = CR_NEW_N(s->a, const char *, (v ? (int64_t)v->n : 0) + 1);
    for (size_t i = 0; v && v->kind == CR_NODE_LIST && i < v->n; i++)
        if (v->v[i].val->kind == CR_NODE_SCALAR) out[(*n)++] = v->v[i].val->text;
    return out;
}

/* The checks read the config with the edits that the nodes' command has: --set KEY=VALUE. One with
 * a variable is known on the nodes only. */
static void take_edits(cr_submit *s, const cr_place_conf *p) {
    int n_words, n = 0;
    const cr_conf_node *v = cr_unboxed(p->args);
    bool expanded = v && v->kind == CR_NODE_SCALAR; /* a list is quoted */
    const char *const *w = arg_words(s, v, &n_words);
    if (s->paddle || n_words == 0) return;
    const char **set = CR_NEW_N(s->a, const char *, s->config.n_set + n_words + 1);
    for (int i = 0; i < n_words; i++) {
        const char *edit = strncmp(w[i], "--set=", 6) == 0           ? w[i] + 6
                           : i > 0 && strcmp(w[i - 1], "--set") == 0 ? w[i]
                                                                     : NULL;
        if (edit && !(expanded && strpbrk(edit, "$`"))) set[n++] = edit;
    }
    for (int i = 0; i < s->config.n_set; i++)
        set[n++] = s->config.set[i];
    s->config.set = set;
    s->config.n_set = n;
}

void cr_place_check(cr_submit *s, bool data_here, bool image) {
    static const char *const seen[] = {"here", "nodes", NULL};
    cr_place_conf *p = s->keys;
    s->name = p->job_name;
    s->nodes = (int)p->nodes;
    s->per_node = (int)p->ranks_per_node;
    if (*p->memory && !cr_parse_size(p->memory, &s->memory))
        cr_submit_wrong(s, cr_conf_at(p, "memory"),
                        "memory '%s' is no size; write for example 64GB",
                        cr_shown(s->a, p->memory));
    cr_check_one_of(s, p, "binary", p->binary, cr_binaries);
    s->bundle = strcmp(p->binary, "bundle") == 0;
    if (s->bundle && image)
        cr_submit_wrong(s, cr_conf_at(p, "binary"),
                        "pods have no folder that this machine could put a bundle into; write "
                        "binary: image, with crank in the image, or binary: path, on a volume");
    if (strcmp(p->binary, "path") == 0 && !*p->crank)
        cr_submit_wrong(s, cr_conf_at(p, "binary"),
                        "binary: path needs the path of crank on the nodes; add 'crank: PATH'");
    if (s->bundle && *p->crank)
        cr_submit_wrong(s, cr_conf_at(p, "crank"),
                        "crank has no effect with binary: bundle; write binary: path");
    cr_check_one_of(s, p, "data", p->data, seen);
    s->data_here = *p->data ? strcmp(p->data, "here") == 0 : data_here;
    check_env(s, p);
    check_args(s, p);
    take_edits(s, p);
    cr_folder_add(s, s->o->config.path, (cr_loc){s->o->config.path, 0, 0});
    cr_folder_files(s, cr_unboxed(p->files));
    for (int i = 0; own[i]; i++)
        if (cr_folder_has(s, own[i]))
            cr_submit_wrong(s, cr_conf_at(p, "files"),
                            "files has %s, a name that the submission writes itself; rename it",
                            own[i]);
}

const char *cr_place_crank(cr_submit *s, const char *base) {
    const cr_place_conf *p = s->keys;
    if (s->bundle) return cr_sh(s->a, cr_arena_printf(s->a, "%s/bin/crank", base));
    return cr_sh(s->a, *p->crank ? p->crank : "crank");
}

static void add(cr_submit *s, cr_buf *b, const char *word) {
    cr_buf_printf(b, "%s%s", b->n ? " " : "", cr_sh(s->a, word));
}

const char *cr_place_words(cr_submit *s, const char *base) {
    const cr_place_conf *p = s->keys;
    const cr_conf_node *args = cr_unboxed(p->args);
    const char *config = cr_arena_printf(s->a, "%s/%s", base, s->config_name);
    cr_buf b;
    cr_buf_init(&b);
    add(s, &b, s->paddle ? "run" : "train");
    if (s->paddle) add(s, &b, "-m");
    add(s, &b, config);
    if (s->model) {
        add(s, &b, "--builtin");
        add(s, &b, s->model);
    }
    if (s->paddle_new) {
        const char *dir = cr_path_dir(s->a, s->o->config.path);
        char *real = s->data_here ? cr_store_of(dir)->real(dir) : NULL;
        add(s, &b, "-o");
        add(s, &b, cr_arena_printf(s->a, "config_abs_dir=%s", real ? real : dir));
        free(real);
    }
    if (*p->model_dir && !s->paddle) {
        add(s, &b, "--model_dir");
        add(s, &b, p->model_dir);
    }
    for (int i = 0; i < s->o->config.n_set; i++) {
        add(s, &b, "--set");
        add(s, &b, s->o->config.set[i]);
    }
    if (args && args->kind == CR_NODE_SCALAR) cr_buf_printf(&b, " %s", one_line(s->a, args->text));
    for (size_t i = 0; args && args->kind == CR_NODE_LIST && i < args->n; i++)
        if (args->v[i].val->kind == CR_NODE_SCALAR) add(s, &b, args->v[i].val->text);
    add(s, &b, "--continue_train");
    const char *out = cr_arena_strdup(s->a, b.data);
    cr_buf_clear(&b);
    return out;
}

const char *cr_place_launch(cr_submit *s, const char *base, const char *flags) {
    const cr_place_conf *p = s->keys;
    return cr_arena_printf(s->a, "%s launch --nproc-per-node %lld --max_restarts %lld%s%s -- %s",
                           cr_place_crank(s, base), (long long)p->ranks_per_node,
                           (long long)p->max_restarts, *flags ? " " : "", flags,
                           cr_place_words(s, base));
}

void cr_place_each(cr_submit *s, void (*fn)(void *ctx, const char *name, const char *value),
                   void *ctx) {
    const cr_place_conf *p = s->keys;
    const cr_conf_node *env = cr_unboxed(p->env);
    for (size_t i = 0; env && env->kind == CR_NODE_MAP && i < env->n; i++)
        if (env->v[i].val->kind == CR_NODE_SCALAR) fn(ctx, env->v[i].key, env->v[i].val->text);
}

typedef struct lines {
    cr_submit *s;
    cr_buf *out;
} lines;

static void export_line(void *ctx, const char *name, const char *value) {
    lines *l = ctx;
    cr_buf_printf(l->out, "export %s=%s\n", name, cr_sh(l->s->a, value));
}

void cr_place_env(cr_submit *s, cr_buf *out) {
    lines l = {s, out};
    cr_place_each(s, export_line, &l);
}

void cr_place_prepare(cr_submit *s, cr_buf *out, bool secret) {
    if (s->bundle)
        cr_buf_str(out, "# the program, out of the bundle\n"
                        "[ -x bin/crank ] || { rm -rf bin.part && mkdir bin.part && tar xzf "
                        "crank.tar.gz -C bin.part && mv bin.part bin; } || exit 1\n");
    if (secret)
        cr_buf_str(out, "# the nodes of this job know each other by it\n"
                        "[ -s secret ] || (umask 077 && head -c 32 /dev/urandom | base64 "
                        ">secret) || exit 1\n");
}
