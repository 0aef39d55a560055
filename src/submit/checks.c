/*
 * checks.c - what every backend checks before anything is written: the config and its columns, the
 * data where it can be seen from here, the plan of tables with the memory and the number of ranks,
 * the uploads, and the client.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/shown.h"
#include "data/files.h"
#include "dialect/paddle.h"
#include "submit/submit_int.h"
#include "tool/tool.h"

#define SAMPLE   1000       /* rows of the data that are looked at */
#define LARGE    1000000000 /* bytes of uploads that are hardly meant */
#define NO_LIMIT 1e15       /* bytes of a machine whose memory is not known */

/* The options by which a run of a PaddleRec config is read. */
static cr_config_opts run_config(const cr_submit *s, const cr_paddle_run *r) {
    cr_config_opts c = s->config;
    c.dialect = (cr_dialect_opts){.part = r->infer ? CR_DIALECT_INFER : CR_DIALECT_TRAIN,
                                  .runner = r->runner,
                                  .phase = r->phase,
                                  .servers = r->servers != 0,
                                  .elsewhere = !s->data_here};
    return c;
}

static bool config_ok(cr_submit *s, const cr_config_opts *o, bool *data) {
    cr_config c;
    cr_err err;
    char **paths;
    size_t n;
    bool ok = cr_config_load(&c, o, s->diag) == CR_OK;
    *data = false;
    if (ok && c.root->train_input_path && *c.root->train_input_path)
        *data = cr_data_files(c.root->data_config, s->a, c.root->train_input_path, NULL, &paths, &n,
                              &err) == CR_OK;
    cr_config_clear(&c);
    return ok;
}

/* Rows and columns of the data; cr_check also says what is wrong with the config. */
static bool rows_ok(cr_submit *s, const cr_config_opts *o) {
    cr_check_opts c = {.config = *o, .sample_rows = SAMPLE, .threads = 1};
    cr_buf out;
    cr_buf_init(&out);
    cr_code code = cr_check(&c, &out, s->diag);
    cr_buf_clear(&out);
    return code == CR_OK;
}

static void plan_ok(cr_submit *s, const cr_config_opts *o) {
    cr_planning res;
    cr_diag found;
    cr_planning_opts p = {.config = *o,
                          .nodes = s->nodes,
                          .per_node = s->per_node,
                          .memory = s->memory > 0 ? s->memory : NO_LIMIT,
                          .zipf = 1.05};
    cr_diag_init(&found);
    cr_code code = cr_planning_run(&p, &res, &found);
    /* 0: there are fewer lanes than ranks, a warning of the planner; training would not start */
    bool few = code == CR_OK && s->nodes * s->per_node > 1 && res.job.lanes == 0;
    for (size_t i = 0; i < found.n; i++) {
        const cr_finding *f = &found.v[i];
        bool lanes = few && f->sev == CR_SEV_WARN && f->code == CR_ECONF;
        cr_diag_add(s->diag, lanes ? CR_SEV_ERROR : f->sev, f->code, f->at, "%s", f->msg);
    }
    cr_diag_clear(&found);
    cr_planning_clear(&res);
}

static void check_config(cr_submit *s, const cr_config_opts *o, bool servers) {
    bool data, ok = config_ok(s, o, &data);
    if (ok && !s->o->no_check) {
        if (s->data_here || data)
            ok = rows_ok(s, o);
        else
            cr_submit_say(s, "the data is not on this machine; the nodes look at it");
    }
    if (ok && !servers && !s->o->no_check && (s->nodes * s->per_node > 1 || s->memory > 0))
        plan_ok(s, o);
}

static void check_configs(cr_submit *s) {
    cr_paddle_run *runs;
    int n = 0;
    if (!s->paddle) {
        check_config(s, &s->config, false);
        return;
    }
    const char *before = getenv("PADDLE_PADDLEREC_ROLE");
    if (before) before = cr_arena_strdup(s->a, before);
    setenv("PADDLE_PADDLEREC_ROLE", "WORKER", 1); /* the config is that of a node */
    cr_code code = cr_paddle_runs(s->o->config.path, &(cr_dialect_opts){.elsewhere = !s->data_here},
                                  false, s->a, &runs, &n, s->diag);
    for (int i = 0; code == CR_OK && i < n; i++) {
        cr_config_opts o = run_config(s, &runs[i]);
        if (!runs[i].infer) check_config(s, &o, runs[i].servers != 0);
    }
    if (before)
        setenv("PADDLE_PADDLEREC_ROLE", before, 1);
    else
        unsetenv("PADDLE_PADDLEREC_ROLE");
}

static void check_uploads(cr_submit *s) {
    int64_t bytes = 0;
    char a[32], b[32];
    for (int i = 0; i < s->n_files; i++)
        bytes += s->files[i].size;
    if (s->type->most_bytes && bytes > s->type->most_bytes)
        cr_submit_wrong(s, s->doc.root->at,
                        "the files of the job have %s, and %s takes %s; leave "
                        "data and models out of 'files'",
                        cr_fmt_bytes(a, (double)bytes), s->type->most_why,
                        cr_fmt_bytes(b, (double)s->type->most_bytes));
    else if (bytes > LARGE)
        cr_submit_warn(s, s->doc.root->at,
                       "the files of the job have %s, and all of them are copied into the folder "
                       "and sent to the nodes; leave data and models out of 'files'",
                       cr_fmt_bytes(a, (double)bytes));
}

void cr_check_client(cr_submit *s, cr_loc at, const char *name, const char *version) {
    const char *path = cr_client_path(s->a, name);
    if (!path) {
        const char *text = "the client '%s' is not on PATH, and job.sh calls it; install it or "
                           "extend PATH";
        if (s->o->dry_run)
            cr_submit_warn(s, at, text, cr_shown(s->a, name));
        else
            cr_submit_wrong(s, at, text, cr_shown(s->a, name));
        return;
    }
    const char *failed = "", *line = version ? cr_client_line(s->a, NULL, version, &failed) : NULL;
    cr_submit_say(s, "client: %s, %s", cr_shown(s->a, path),
                  line && *line ? cr_shown(s->a, line) : "which does not tell its version");
    if (*failed)
        cr_submit_warn(s, at, "'%s' failed, so the client may not work here: %s", version,
                       cr_shown(s->a, failed));
}

/* "a, b or c" */
static const char *listed(cr_arena *a, const char *const *v) {
    const char *out = v[0];
    for (int i = 1; v[i]; i++)
        out = cr_arena_printf(a, "%s%s%s", out, v[i + 1] ? ", " : " or ", v[i]);
    return out;
}

void cr_check_one_of(cr_submit *s, const void *conf, const char *key, const char *value,
                     const char *const *names) {
    if (!*value && !cr_conf_has(conf, key)) return;
    for (int i = 0; names[i]; i++)
        if (strcmp(value, names[i]) == 0) return;
    cr_submit_wrong(s, cr_conf_at(conf, key), "%s is '%s' and must be %s", key,
                    cr_shown(s->a, value), listed(s->a, names));
}

void cr_check_all(cr_submit *s) {
    check_configs(s);
    check_uploads(s);
    if (s->type->client) cr_check_client(s, CR_NOWHERE, s->type->client, s->type->version);
}
