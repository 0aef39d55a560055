/*
 * tune.c - `crank tune`: checks what is asked, keeps the plan, runs the trials, orders them and
 * writes the best config. docs/design/tune.md has the reasons.
 *
 * The plan (plan.txt in the folder of the trials) is a text of everything that decides a result:
 * metric, trials, rungs and the effective config. The same plan means that results of an earlier
 * run are good; another one is refused.
 */
#include "tool/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/scheme.h"

#define MAX_CHECKED  40          /* values of a key that are tried in the config beforehand */
#define OTHER_MEMORY (200 << 20) /* bytes of a training beside its tables, to begin with */

typedef struct work {
    cr_tune *t;
    const cr_tune_opts *o;
    cr_arena *a;
    cr_diag *diag;
    const char *model_dir; /* of the config */
    int64_t num_epochs, num_steps;
    int64_t bytes; /* of a training */
} work;

const char *cr_tune_trial_dir(const cr_tune *t, int i, cr_arena *a) {
    return cr_arena_printf(a, "%s/trial_%03d", t->dir, i);
}

void cr_tune_clear(cr_tune *t) {
    cr_buf_clear(&t->base);
}

/* ---- the config ---- */

/* Decides which result of an evaluation counts. */
static cr_code choose_metric(work *w, const cr_job *j) {
    cr_tune *t = w->t;
    const cr_model *m = j->model;
    cr_buf names;
    bool known = false;
    const char *want = w->o->metric ? w->o->metric : cr_job_best_metric(j);
    cr_buf_init(&names);
    for (int i = 0; i < m->n_metrics + m->n_losses; i++) {
        bool loss = i >= m->n_metrics;
        if (loss && m->losses[i - m->n_metrics].train_only) continue;
        const char *name = loss ? m->losses[i - m->n_metrics].name : m->metrics[i].name;
        if (!want && loss) want = name;
        known = known || (want && strcmp(want, name) == 0);
        cr_buf_printf(&names, "%s%s", names.n ? ", " : "", name);
    }
    if (!known)
        cr_diag_add(w->diag, CR_SEV_ERROR, CR_EUSAGE, CR_NOWHERE,
                    "no metric or loss of this model is called '%s'; use --metric with one of: %s",
                    want ? want : "", names.data ? names.data : "none");
    else
        t->metric = cr_arena_strdup(w->a, want);
    t->larger = w->o->larger < 0 ? known && cr_job_larger(j, want) : w->o->larger == 1;
    cr_buf_clear(&names);
    return known ? CR_OK : CR_EUSAGE;
}

static cr_code take_base(work *w, const cr_job *j) {
    const cr_root_conf *c = j->root;
    int64_t tables, dense;
    if (!cr_job_eval_paths(j)) {
        cr_diag_add(w->diag, CR_SEV_ERROR, CR_ECONF, CR_NOWHERE,
                    "trials are compared by evaluations, and the config names no data for them; "
                    "give --eval_input_path, or set data_config.eval_fraction");
        return CR_ECONF;
    }
    if (c->train_config->daily) {
        cr_diag_add(w->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c->train_config, "daily"),
                    "crank tune does not train day by day; remove train_config.daily and name the "
                    "data in train_input_path");
        return CR_ECONF;
    }
    CR_TRY(choose_metric(w, j));
    cr_model_bytes(j->model, j->mo.optim, &tables, &dense);
    w->bytes = cr_add_i64(tables, cr_add_i64(cr_mul_i64(dense, 4), OTHER_MEMORY));
    w->model_dir = cr_arena_strdup(w->a, c->model_dir);
    w->num_epochs = c->train_config->num_epochs;
    w->num_steps = c->train_config->num_steps;
    cr_conf_print(&w->t->base, &cr_root_msg, j->cfg.doc.root, CR_SYNTAX_YAML);
    return CR_OK;
}

/* Opens the config with some tries applied; all mistakes go to diag. */
static cr_code open_config(work *w, const char *const *tries, int n, cr_diag *diag,
                           cr_code (*then)(work *w, const cr_job *j)) {
    cr_config_opts c = w->o->config;
    cr_job j;
    c.tries = tries;
    c.n_tries = n;
    cr_job_opts jo = {.config = &c, .threads = 1, .train = true, .with_labels = true};
    cr_code code = cr_job_open(&j, &jo, diag);
    if (code == CR_OK && then) code = then(w, &j);
    cr_job_close(&j);
    return code;
}

/* Tries one value of a key in the config. Warnings come again with each trial, so only mistakes
 * are told. */
static cr_code check_value(work *w, const cr_tune_key *k, const char *value) {
    const char **edits = CR_NEW_N(w->a, const char *, k->n_paths);
    for (int p = 0; p < k->n_paths; p++)
        edits[p] = cr_arena_printf(w->a, "%s=%s", k->paths[p], value);
    cr_diag found;
    cr_diag_init(&found);
    cr_code code = open_config(w, edits, k->n_paths, &found, NULL);
    if (code != CR_OK) {
        cr_err err;
        cr_diag_first(&found, &err);
        if (err.at.path && strncmp(err.at.path, "--try", 5) != 0) /* it fails somewhere else */
            cr_diag_add(w->diag, CR_SEV_ERROR, code, CR_NOWHERE, "--try '%.120s': %s", edits[0],
                        err.msg);
        else
            (void)cr_diag_err(w->diag, &err);
    }
    cr_diag_clear(&found);
    return code;
}

static cr_code check_values(work *w) {
    const cr_tune *t = w->t;
    cr_code code = CR_OK;
    for (int k = 0; k < t->n_keys; k++) {
        const cr_tune_key *key = &t->keys[k];
        char end[32];
        cr_code bad = CR_OK;
        for (int e = 0; e < 2 && key->kind != CR_TUNE_LIST && bad == CR_OK; e++) {
            end[cr_fmt_f64(end, e ? key->hi : key->lo)] = 0;
            bad = check_value(w, key, end);
        }
        for (int i = 0; i < key->n_values && i < MAX_CHECKED && bad != CR_EUSAGE; i++) {
            cr_code one = check_value(w, key, key->values[i]);
            if (one != CR_OK) bad = one; /* CR_EUSAGE: it is the key that is wrong */
        }
        /* a key of whole numbers takes the ends of uniform(1,8) and nothing between them */
        if (key->kind != CR_TUNE_LIST && bad == CR_OK)
            for (int i = 0; i < t->n_trials && i < 3 && bad == CR_OK; i++)
                bad = check_value(w, key, t->trials[i].values[k]);
        if (bad != CR_OK) code = bad;
    }
    return code;
}

/* ---- rungs ---- */

static cr_code make_rungs(work *w) {
    cr_tune *t = w->t;
    bool by_steps = w->num_steps > 0;
    int64_t all = by_steps ? w->num_steps : w->num_epochs, least = all;
    int left = t->n_trials;
    t->n_rungs = 1;
    if (t->search != CR_TUNE_HALVING) return CR_OK;
    while (left >= w->o->eta && least / w->o->eta >= 1 && t->n_rungs < 16) {
        left = (left + w->o->eta - 1) / w->o->eta;
        least /= w->o->eta;
        t->n_rungs++;
    }
    if (t->n_rungs == 1) {
        cr_diag_add(w->diag, CR_SEV_ERROR, CR_EUSAGE, CR_NOWHERE,
                    t->n_trials < w->o->eta
                        ? "halving needs at least %d trials; raise --trials, or use --search random"
                        : "halving trains first with a part of the budget, one in %d, and "
                          "num_epochs cannot be divided so; set train_config.num_steps, or more "
                          "epochs",
                    w->o->eta);
        return CR_EUSAGE;
    }
    t->unit = by_steps ? "num_steps" : "num_epochs";
    t->budgets = CR_NEW_N(w->a, int64_t, t->n_rungs);
    for (int r = t->n_rungs - 1; r >= 0; r--, all /= w->o->eta)
        t->budgets[r] = all;
    return CR_OK;
}

/* ---- the plan ---- */

static const char *const searches[] = {"", "grid", "random", "halving"};

static void plan_text(const work *w, cr_buf *out) {
    const cr_tune *t = w->t;
    cr_buf_printf(out, "crank tune 1\nmetric %s, the %s is the best\nsearch %s, seed %llu\n",
                  t->metric, t->larger ? "largest" : "smallest", searches[t->search],
                  (unsigned long long)w->o->seed);
    for (int r = 0; t->unit && r < t->n_rungs; r++)
        cr_buf_printf(out, "rung %d: %s %lld\n", r, t->unit, (long long)t->budgets[r]);
    for (int k = 0; k < t->n_keys; k++)
        for (int p = 0; p < t->keys[k].n_paths; p++)
            cr_buf_printf(out, "try %s: %s\n", t->keys[k].text, t->keys[k].paths[p]);
    for (int i = 0; i < t->n_trials; i++)
        cr_buf_printf(out, "trial_%03d %s\n", i, cr_tune_name(t, &t->trials[i], w->a));
    cr_buf_str(out, "config\n");
    cr_buf_add(out, t->base.data, t->base.n);
}

/* Compares the plan with the one that is there, by lines. */
static cr_code same_plan(const char *path, const cr_buf *now, const cr_buf *then, cr_err *err) {
    size_t a = 0, b = 0;
    if (now->n == then->n && memcmp(now->data, then->data, now->n) == 0) return CR_OK;
    while (a < now->n && b < then->n) {
        size_t n = strcspn(now->data + a, "\n"), m = strcspn(then->data + b, "\n");
        if (n != m || memcmp(now->data + a, then->data + b, n) != 0) break;
        a += n + 1;
        b += m + 1;
    }
    if (a > now->n) a = now->n;
    if (b > then->n) b = then->n;
    int n = (int)strcspn(now->data + a, "\n"), m = (int)strcspn(then->data + b, "\n");
    return cr_fail_at(err, CR_EUSAGE, ((cr_loc){path, 0, 0}),
                      "the folder holds the trials of another search: it has '%.*s' where this one "
                      "has '%.*s'; name another folder with --model_dir, or remove this one",
                      m < 80 ? m : 80, then->data + b, n < 80 ? n : 80, now->data + a);
}

static cr_code keep_plan(work *w, cr_err *err) {
    const char *path = cr_path_join(w->a, w->t->dir, "plan.txt");
    static const char *const folders[] = {"configs", "logs", "results"};
    cr_buf now, then;
    cr_buf_init(&now);
    cr_buf_init(&then);
    plan_text(w, &now);
    cr_buf_char(&now, 0); /* lines are looked for as strings */
    now.n--;
    cr_code code = CR_OK;
    if (cr_path_exists(path)) {
        code = cr_file_read(path, 64 << 20, &then, err);
        cr_buf_char(&then, 0);
        then.n--;
        if (code == CR_OK) code = same_plan(path, &now, &then, err);
    } else {
        for (int i = 0; i < 3 && code == CR_OK; i++)
            code = cr_mkdirs(cr_path_join(w->a, w->t->dir, folders[i]), err);
        if (code == CR_OK) code = cr_file_write(path, now.data, now.n, err);
    }
    cr_buf_clear(&now);
    cr_buf_clear(&then);
    return code;
}

/* ---- the cores ---- */

/* Small trainings run fastest with one core each: threads of one training wait for each other.
 * Large ones must fit into memory together. */
static void divide(work *w) {
    cr_tune *t = w->t;
    int64_t room = cr_mem_available();
    t->cores = w->o->threads > 0 ? w->o->threads : cr_cpu_count();
    t->parallel = w->o->parallel > 0 ? w->o->parallel : t->cores;
    if (w->o->parallel == 0 && room > 0) {
        int64_t fit = room / 10 * 8 / w->bytes;
        if (fit < t->parallel) t->parallel = fit > 0 ? (int)fit : 1;
    }
    if (t->parallel > t->n_trials) t->parallel = t->n_trials;
}

/* ---- the end ---- */

static const cr_tune *sorting; /* qsort has no context; crank tune sorts in one thread */

/* The further trial first, then the better one, then the one with the smaller number. */
static int by_result(const void *p, const void *q) {
    int i = *(const int *)p, k = *(const int *)q;
    const cr_tune_trial *a = &sorting->trials[i], *b = &sorting->trials[k];
    if (!a->failed != !b->failed) return a->failed ? 1 : -1;
    if (!a->failed && a->rung != b->rung) return a->rung > b->rung ? -1 : 1;
    if (!a->failed && a->value != b->value)
        return (a->value > b->value) == sorting->larger ? -1 : 1;
    return i < k ? -1 : i > k;
}

static void sort(const cr_tune *t, int *v, int n) {
    sorting = t;
    qsort(v, (size_t)n, sizeof *v, by_result);
}

static void csv_cell(cr_buf *out, const char *s) {
    cr_buf_char(out, ',');
    if (!strpbrk(s, ",\"\n\r")) {
        cr_buf_str(out, s);
        return;
    }
    cr_buf_char(out, '"');
    for (; *s; s++) {
        if (*s == '"') cr_buf_char(out, '"');
        cr_buf_char(out, *s);
    }
    cr_buf_char(out, '"');
}

static cr_code write_table(work *w, cr_err *err) {
    const cr_tune *t = w->t;
    cr_buf text;
    cr_buf_init(&text);
    cr_buf_str(&text, "trial");
    for (int k = 0; k < t->n_keys; k++)
        csv_cell(&text, t->keys[k].name);
    csv_cell(&text, t->metric);
    cr_buf_str(&text, ",step,rung,failed\n");
    for (int i = 0; i < t->n_trials; i++) {
        const cr_tune_trial *x = &t->trials[t->order[i]];
        char value[32] = "";
        if (x->rung >= 0) value[cr_fmt_f64(value, x->value)] = 0;
        cr_buf_printf(&text, "trial_%03d", t->order[i]);
        for (int k = 0; k < t->n_keys; k++)
            csv_cell(&text, x->values[k]);
        csv_cell(&text, value);
        cr_buf_printf(&text, ",%lld,%d", (long long)x->step, x->rung);
        csv_cell(&text, x->failed ? x->failed : "");
        cr_buf_char(&text, '\n');
    }
    cr_code code = cr_file_write(cr_path_join(w->a, t->dir, "trials.csv"), text.data, text.n, err);
    cr_buf_clear(&text);
    return code;
}

static cr_code write_best(work *w, cr_err *err) {
    cr_tune *t = w->t;
    const cr_tune_trial *x = &t->trials[t->order[0]];
    const char **edits;
    cr_conf_doc doc;
    cr_buf text;
    if (x->failed) return CR_OK;
    int n = cr_tune_edits(t, x, w->a, &edits);
    cr_conf_doc_init(&doc);
    cr_buf_init(&text);
    cr_code code =
        cr_conf_parse(&doc, CR_SYNTAX_YAML, "the config", t->base.data, t->base.n, w->diag);
    for (int k = 0; k < n && code == CR_OK; k++)
        code = cr_conf_set(&doc, &cr_root_msg, edits[k], false, w->diag);
    if (code == CR_OK) {
        cr_buf_printf(&text,
                      "# The best of %d trials of crank tune: trial_%03d, %s %.6f at step %lld\n",
                      t->n_trials, t->order[0], t->metric, x->value, (long long)x->step);
        for (int k = 0; k < n; k++)
            cr_buf_printf(&text, "#   %s\n", edits[k]);
        cr_conf_print(&text, &cr_root_msg, doc.root, CR_SYNTAX_YAML);
        const char *path = w->o->output ? w->o->output : cr_path_join(w->a, t->dir, "best.yaml");
        code = cr_file_write(path, text.data, text.n, err);
        t->best = path;
    }
    cr_buf_clear(&text);
    cr_conf_doc_clear(&doc);
    return code;
}

static cr_code run_rungs(work *w) {
    cr_tune *t = w->t;
    int n = t->n_trials;
    for (int i = 0; i < n; i++)
        t->order[i] = i;
    for (int r = 0; r < t->n_rungs && n > 0; r++) {
        CR_TRY(cr_tune_rung(t, w->o, r, t->order, n, w->a, w->diag));
        sort(t, t->order, n);
        int good = 0;
        while (good < n && !t->trials[t->order[good]].failed)
            good++;
        int keep = (n + w->o->eta - 1) / w->o->eta;
        n = keep < good ? keep : good;
    }
    sort(t, t->order, t->n_trials);
    for (int i = 0; i < t->n_trials; i++)
        t->n_failed += t->trials[i].failed != NULL;
    return CR_OK;
}

static cr_code prepare(work *w) {
    cr_tune *t = w->t;
    cr_conf_doc doc;
    cr_conf_doc_init(&doc);
    cr_code code = open_config(w, NULL, 0, w->diag, take_base);
    if (code == CR_OK)
        code = cr_conf_parse(&doc, CR_SYNTAX_YAML, "the config", t->base.data, t->base.n, w->diag);
    if (code == CR_OK) code = cr_tune_read(t, w->o, doc.root, w->a, w->diag);
    cr_conf_doc_clear(&doc);
    if (code == CR_OK) code = cr_tune_draw(t, w->o, w->a, w->diag);
    if (code == CR_OK) code = make_rungs(w);
    if (code == CR_OK) code = check_values(w);
    return code;
}

cr_code cr_tune_run(const cr_tune_opts *o, cr_tune *t, void (*begins)(void *ctx, const cr_tune *t),
                    void *ctx, cr_arena *a, cr_diag *diag) {
    work w = {.t = t, .o = o, .a = a, .diag = diag};
    cr_ckpt_lock *lock = NULL;
    cr_err err;
    *t = (cr_tune){0};
    cr_buf_init(&t->base);
    CR_TRY(prepare(&w));
    t->dir = o->dir ? o->dir : cr_arena_printf(a, "%s_tune", w.model_dir);
    t->order = CR_NEW_N(a, int, t->n_trials + 1);
    divide(&w);
    cr_code code = CR_OK;
    if (cr_scheme_len(t->dir) > 0)
        code = cr_fail(&err, CR_EUSAGE,
                       "the trials are processes of this machine, and '%s' is no "
                       "folder of it; name a local one with --model_dir",
                       t->dir);
    if (code == CR_OK) code = cr_mkdirs(t->dir, &err);
    if (code == CR_OK) code = cr_ckpt_lock_dir(&lock, t->dir, &err);
    if (code == CR_OK) code = keep_plan(&w, &err);
    if (code != CR_OK) {
        cr_ckpt_unlock(lock);
        return cr_diag_err(diag, &err);
    }
    if (begins) begins(ctx, t);
    code = run_rungs(&w);
    if (code == CR_OK) {
        code = write_table(&w, &err);
        if (code == CR_OK) code = write_best(&w, &err);
        if (code != CR_OK) (void)cr_diag_err(diag, &err);
    }
    cr_ckpt_unlock(lock);
    return code;
}
