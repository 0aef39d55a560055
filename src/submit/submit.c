/*
 * submit.c - the way of a job: read backend.yaml, check everything, write the folder, call the
 * client, keep what is known about the job.
 *
 * Nothing is written before all checks have passed, and all their findings are told at once. The
 * client runs as `sh job.sh` in the folder, the same line that a person types to submit it again;
 * job.sh leaves the client's answer in .answer.
 */
#include "submit/submit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/shown.h"
#include "base/stop.h"
#include "dialect/list.h"
#include "dialect/paddle.h"
#include "submit/list.h"

#define MOST_NAME 200 /* bytes of a job's name: a date and .json follow it in names of files */

#define ENTRY(b) &cr_backend_##b,
static const cr_backend *const types[] = {CR_BACKENDS(ENTRY) NULL};

/* ---- findings ---- */

static void add_finding(cr_submit *s, cr_sev sev, cr_loc at, const char *fmt, va_list args) {
    char text[1024];
    vsnprintf(text, sizeof text, fmt, args);
    cr_diag_add(s->diag, sev, CR_ECONF, at, "%s", text);
}

void cr_submit_wrong(cr_submit *s, cr_loc at, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    add_finding(s, CR_SEV_ERROR, at, fmt, args);
    va_end(args);
}

void cr_submit_warn(cr_submit *s, cr_loc at, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    add_finding(s, CR_SEV_WARN, at, fmt, args);
    va_end(args);
}

void cr_submit_say(cr_submit *s, const char *fmt, ...) {
    char text[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (s->o->say) s->o->say(s->o->ctx, text);
}

/* ---- backend.yaml ---- */

static const char *next_type(const void *ctx, size_t i) {
    (void)ctx;
    return types[i] ? types[i]->name : NULL;
}

static bool find_type(cr_submit *s) {
    const cr_conf_node *root = s->doc.root, *n = cr_conf_find(root, "backend");
    cr_buf all;
    if (n && n->kind == CR_NODE_SCALAR)
        for (int i = 0; types[i]; i++)
            if (strcasecmp(types[i]->name, n->text) == 0) s->type = types[i];
    if (s->type) return true;
    cr_buf_init(&all);
    for (int i = 0; types[i]; i++)
        cr_buf_printf(&all, "%s%s", i ? ", " : "", types[i]->name);
    if (!n || n->kind != CR_NODE_SCALAR) {
        cr_submit_wrong(s, root->at, "'backend' is missing; write 'backend: NAME', one of %s",
                        all.data);
    } else if (strcasecmp(n->text, "Kubernetes") == 0) {
        cr_submit_wrong(s, n->at,
                        "Kubernetes can not be supported now: that backend of PaddleRec never "
                        "worked as it was published; write 'backend: pytorchjob' or 'backend: "
                        "mpijob' (docs/guide/start_kubernetes.md)");
    } else {
        const char *near = cr_nearest(n->text, next_type, NULL);
        cr_submit_wrong(s, n->at, "%s can not be supported now; %s%s%sthe backends are %s",
                        cr_shown(s->a, n->text), near ? "did you mean '" : "", near ? near : "",
                        near ? "'? " : "", all.data);
    }
    cr_buf_clear(&all);
    return false;
}

/* The keys of the tables have `_`, and files may have `-`. Values that are texts need no quotes:
 * the programs that these files were written for do not ask for them. A free value that is no map
 * (a text, a list) goes into one, because the tables know maps only. */
static void soften(cr_submit *s, cr_conf_node *map, const cr_msg *msg) {
    for (size_t i = 0; i < map->n; i++) {
        char *key = cr_arena_strdup(s->a, map->v[i].key);
        for (char *p = key; *p; p++)
            if (*p == '-') *p = '_';
        const cr_field *f = cr_msg_field(msg, key);
        if (!f) continue;
        if (strcmp(key, map->v[i].key) != 0) {
            for (size_t k = 0; k < map->n; k++)
                if (k != i && strcmp(map->v[k].key, key) == 0)
                    cr_submit_wrong(s, map->v[i].at, "%s and %s are the same key; keep one of them",
                                    map->v[i].key, key);
            map->v[i].key = key;
        }
        cr_conf_node *val = map->v[i].val;
        if (f->type == CR_T_STR && val->kind == CR_NODE_SCALAR) val->quoted = true;
        if (f->type == CR_T_TREE && val->kind != CR_NODE_MAP) {
            cr_conf_node *box = cr_conf_new(&s->doc, CR_NODE_MAP, val->at);
            cr_conf_push(&s->doc, box, CR_BOXED, val->at, val);
            map->v[i].val = box;
        }
        if (f->type == CR_T_MSG && val->kind == CR_NODE_MAP) soften(s, val, f->ref);
    }
}

const cr_conf_node *cr_unboxed(const cr_conf_node *n) {
    if (n && n->kind == CR_NODE_MAP && n->n == 1 && strcmp(n->v[0].key, CR_BOXED) == 0)
        return n->v[0].val;
    return n;
}

/* PaddleRec reads its backend.yaml with Python, where the last of a doubled key counts. The file it
 * publishes has such keys. */
static bool last_counts(const cr_conf_doc *doc) {
    return strcasecmp(cr_conf_find_text(doc->root, "backend"), "PaddleCloud") == 0;
}

static bool read_backend(cr_submit *s) {
    s->doc.last_counts = last_counts;
    if (cr_conf_load(&s->doc, s->o->backend, s->diag) != CR_OK) return false;
    if (!find_type(s)) return false;
    size_t before = s->diag->n_errors;
    soften(s, s->doc.root, s->type->msg);
    if (s->diag->n_errors == before)
        s->keys = cr_conf_bind_own(s->a, s->type->msg, "backend.yaml", s->doc.root, s->diag);
    return s->keys != NULL;
}

/* PaddleRec's models are found by the names of their folders, which the folder of a job does not
 * have, so the nodes are told. */
static void find_model(cr_submit *s) {
    const cr_conf_node *runner = cr_conf_find(s->conf.root, "runner");
    const cr_conf_node *phases = cr_conf_find(s->conf.root, "phase");
    bool named;
    s->paddle_new = runner && runner->kind == CR_NODE_MAP;
    s->model = cr_paddle_model(s->o->config.path, NULL, s->a, &named);
    if (named) s->model = NULL;
    for (size_t i = 1; s->model && phases && phases->kind == CR_NODE_LIST && i < phases->n; i++) {
        const cr_conf_node *a = phases->v[0].val, *b = phases->v[i].val;
        if (a->kind != CR_NODE_MAP || b->kind != CR_NODE_MAP ||
            strcmp(cr_conf_find_text(a, "model"), cr_conf_find_text(b, "model")) == 0)
            continue;
        cr_submit_warn(s, b->at,
                       "the phases have different models, and the nodes do not see the names of "
                       "their folders; write model: builtin:NAME in each phase");
        s->model = NULL;
    }
}

static bool read_config(cr_submit *s) {
    s->conf.last_counts = cr_paddle_last_counts;
    if (cr_conf_load(&s->conf, s->o->config.path, s->diag) != CR_OK) return false;
    s->paddle = cr_dialect_paddle.sign(&s->conf) != NULL;
    s->config_name = cr_path_base(s->o->config.path);
    if (s->paddle) find_model(s);
    if (s->paddle && s->o->config.n_set) {
        cr_submit_wrong(s, CR_NOWHERE,
                        "--set %s does not reach the nodes, which run a config of PaddleRec; edit "
                        "%s",
                        cr_shown(s->a, s->o->config.set[0]), cr_shown(s->a, s->o->config.path));
        s->config.n_set = 0;
    }
    return true;
}

/* ---- the client ---- */

static void client_error(void *ctx, const char *line) {
    cr_submit *s = ctx;
    if (s->o->complain) s->o->complain(s->o->ctx, cr_shown(s->a, cr_secret_masked(s, line)));
}

static cr_code call_client(cr_submit *s, const char **id, cr_err *err) {
    static char sh[] = "sh", job[] = "job.sh";
    char *argv[] = {sh, job, NULL};
    cr_ran ran = {0};
    cr_client_opts o = {.dir = s->dir,
                        .argv = argv,
                        .timeout_s = s->o->timeout_s,
                        .errors = client_error,
                        .ctx = s};
    cr_code code = cr_client_run(s->a, &o, &ran, err);
    if (code == CR_ESTOP)
        return cr_fail_at(err, CR_ESTOP, ((cr_loc){s->dir, 0, 0}),
                          "job.sh was ended by a signal; the cluster may have taken the job all "
                          "the same, so look at its list before you run 'sh job.sh' there again");
    CR_TRY(code);
    for (const char *p = ran.out; *p;) {
        size_t n = strcspn(p, "\n");
        const char *line = cr_secret_masked(s, cr_arena_strndup(s->a, p, n));
        if (s->o->say) s->o->say(s->o->ctx, cr_shown(s->a, line));
        p += n + (p[n] == '\n');
    }
    if (ran.late)
        return cr_fail_at(err, CR_ERUN, ((cr_loc){s->dir, 0, 0}),
                          "job.sh gave no answer within %.0f s and was ended; the cluster may have "
                          "taken the job all the same, so look at its list before you run 'sh "
                          "job.sh' there again (--timeout gives more time)",
                          s->o->timeout_s);
    if (ran.exit_code != 0)
        return cr_fail_at(err, CR_ERUN, ((cr_loc){s->dir, 0, 0}),
                          "the client refused the job: job.sh ended with exit code %d; correct the "
                          "files there and run 'sh job.sh' again",
                          ran.exit_code);
    *id = s->type->answer(s, ran.out);
    if (!*id)
        return cr_fail_at(err, CR_ERUN, ((cr_loc){s->dir, 0, 0}),
                          "the client's answer has no job id; it is in .answer, and the cluster's "
                          "own list says whether the job is there");
    return CR_OK;
}

static cr_code fill_folder(cr_submit *s, cr_err *err) {
    cr_bundle_result bundle;
    cr_buf b;
    CR_TRY(cr_folder_copy(s, err));
    cr_submit_say(s, "The task submission folder is generated at %s", cr_shown(s->a, s->dir));
    if (s->private) cr_submit_say(s, "the folder holds secrets: only you can read it (mode 0700)");
    if (s->bundle)
        CR_TRY(cr_bundle_make(s->a, cr_path_join(s->a, s->dir, "crank.tar.gz"), &bundle, err));
    cr_submit_say(s, "before_submit");
    cr_buf_init(&b);
    cr_code code = s->type->write(s, &b, err);
    cr_buf_clear(&b);
    return code;
}

/* The folder is there whole or not at all: a part of it would look like a job. */
static cr_code write_folder(cr_submit *s, cr_err *err) {
    cr_err ignored;
    cr_signals signals;
    cr_signals_watch(&signals);
    cr_code code = cr_folder_make(s, err);
    if (code == CR_OK) {
        code = fill_folder(s, err);
        if (cr_stop_requested)
            code = cr_fail(err, CR_ESTOP,
                           "stopped by a signal; nothing was submitted, and the "
                           "folder was removed");
        if (code != CR_OK) (void)!cr_rmtree(s->dir, &ignored);
    }
    cr_signals_leave(&signals);
    return code;
}

static cr_code write_and_call(cr_submit *s, cr_submit_result *res, cr_err *err) {
    const char *id = NULL;
    if (s->type->show) s->type->show(s);
    CR_TRY(write_folder(s, err));
    res->folder = s->dir;
    cr_code code = s->o->dry_run ? CR_OK : call_client(s, &id, err);
    cr_err keep;
    if (cr_jobs_keep(s, id ? id : "", &keep) != CR_OK)
        cr_diag_add(s->diag, CR_SEV_WARN, keep.code, keep.at, "%s; crank jobs does not know it",
                    keep.msg);
    if (s->o->dry_run) {
        cr_submit_say(s, "nothing was submitted (--dry-run); 'sh job.sh' in the folder does it");
        return CR_OK;
    }
    CR_TRY(code);
    cr_submit_say(s, "end submit");
    cr_submit_say(s, "job id: %s", cr_shown(s->a, id));
    res->job_id = id;
    return CR_OK;
}

/* ---- all of it ---- */

static const char *folder_name(cr_submit *s) {
    char stamp[32];
    time_t t = time(NULL);
    struct tm local;
    localtime_r(&t, &local);
    strftime(stamp, sizeof stamp, "%Y%m%d%H%M", &local);
    return cr_arena_printf(s->a, "%s/%s_%s", s->here, s->name, stamp);
}

/* A name is a part of a path, of file names and of command lines. */
static void check_name(cr_submit *s) {
    const cr_conf_node *root = s->doc.root, *n = cr_conf_find(root, "job_name");
    if (!n) n = cr_conf_find(cr_conf_find(root, "submit"), "job_name");
    cr_loc at = n ? n->at : root->at;
    if (!s->name || !*s->name) {
        cr_submit_wrong(s, at, "job_name is empty; give the job a name");
        s->name = "job";
        return;
    }
    const char *shown = cr_shown(s->a, s->name);
    if (strlen(s->name) > MOST_NAME)
        cr_submit_wrong(s, at,
                        "job_name has %zu bytes, and the folder of the job is called after it; "
                        "choose a name of %d bytes at most",
                        strlen(s->name), MOST_NAME);
    else if (strchr(s->name, '/') || s->name[0] == '.' || s->name[0] == '-' || shown != s->name)
        cr_submit_wrong(s, at,
                        "job_name '%s' names the folder of the job, so it has no '/', no line "
                        "break or other control character, and begins neither with '.' nor with "
                        "'-'; choose another one",
                        shown);
}

cr_code cr_submit_run(const cr_submit_opts *o, cr_submit_result *res, cr_arena *a, cr_diag *diag) {
    char here[4096];
    cr_submit s = {.o = o, .a = a, .diag = diag, .nodes = 1, .per_node = 1};
    cr_err err;
    *res = (cr_submit_result){0};
    if (!getcwd(here, sizeof here)) {
        (void)cr_fail(&err, CR_EIO, "the current folder cannot be found: %s", strerror(errno));
        cr_diag_add(diag, CR_SEV_ERROR, err.code, err.at, "%s", err.msg);
        return err.code;
    }
    s.here = here;
    s.config = o->config;
    cr_conf_doc_init(&s.doc);
    cr_conf_doc_init(&s.conf);
    bool config = read_config(&s);
    if (read_backend(&s) && config) {
        res->backend = s.type->name;
        if (o->secrets && !s.type->secrets)
            cr_submit_wrong(&s, CR_NOWHERE,
                            "--secrets has no effect with backend: %s, which takes no keys; leave "
                            "it out",
                            s.type->name);
        s.type->check(&s);
        check_name(&s);
        cr_check_all(&s);
    }
    cr_code code = diag->n_errors ? cr_diag_code(diag) : CR_OK;
    if (code == CR_OK && cr_stop_requested) {
        code = cr_fail(&err, CR_ESTOP, "stopped by a signal; nothing was written");
        cr_diag_add(diag, CR_SEV_ERROR, err.code, err.at, "%s", err.msg);
    }
    if (code == CR_OK) {
        if (o->checked) o->checked(o->ctx);
        s.dir = folder_name(&s);
        code = write_and_call(&s, res, &err);
        if (code != CR_OK) cr_diag_add(diag, CR_SEV_ERROR, err.code, err.at, "%s", err.msg);
    }
    cr_conf_doc_clear(&s.conf);
    cr_conf_doc_clear(&s.doc);
    return code;
}
