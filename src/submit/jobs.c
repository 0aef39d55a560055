/*
 * jobs.c - what crank knows about submitted jobs, and what their clients say.
 *
 * Every submission leaves a small JSON file in the folder of jobs: CRANK_JOBS_DIR, or
 * ~/.crank/jobs. A job's own folder has .jobs.sh, which asks the client about its state and its
 * logs and stops it; a person may change it, as the other files there. The id of a job that was
 * submitted again by hand comes from .answer, which job.sh writes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/json.h"
#include "base/shown.h"
#include "submit/list.h"

#define MOST ((size_t)1 << 20)

static const char *jobs_dir(cr_arena *a) {
    const char *dir = getenv("CRANK_JOBS_DIR"), *home = getenv("HOME");
    if (dir && *dir) return dir;
    return cr_arena_printf(a, "%s/.crank/jobs", home && *home ? home : ".");
}

static const char *text_of(cr_arena *a, const cr_json *j, const char *key) {
    const char *t = cr_json_str(cr_json_get(j, key));
    return t ? cr_arena_strdup(a, t) : "";
}

/* The id in the newest answer of the client, which knows of submissions by hand. */
static const char *newest_id(cr_arena *a, const cr_job_record *j) {
    cr_buf b;
    cr_err err;
    cr_submit s = {.a = a};
    const char *id = NULL;
    cr_buf_init(&b);
    if (cr_file_read(cr_path_join(a, j->folder, ".answer"), MOST, &b, &err) == CR_OK && b.n) {
#define ASK(t)                                                                                     \
    if (strcmp(cr_backend_##t.name, j->backend) == 0)                                              \
        id = cr_backend_##t.answer(&s, cr_arena_strndup(a, b.data, b.n));
        CR_BACKENDS(ASK)
    }
    cr_buf_clear(&b);
    return id ? id : j->id;
}

static bool read_record(cr_arena *a, const char *dir, const char *name, cr_job_record *out) {
    cr_buf b;
    cr_err err;
    cr_json *j = NULL;
    size_t n = strlen(name);
    if (n < 6 || strcmp(name + n - 5, ".json") != 0) return false;
    cr_buf_init(&b);
    bool ok = cr_file_read(cr_path_join(a, dir, name), MOST, &b, &err) == CR_OK &&
              cr_json_parse(&j, b.data ? b.data : "", b.n, &err) == CR_OK && cr_json_is_obj(j);
    if (ok) {
        *out = (cr_job_record){.name = cr_arena_strndup(a, name, n - 5),
                               .id = text_of(a, j, "id"),
                               .backend = text_of(a, j, "backend"),
                               .folder = text_of(a, j, "folder"),
                               .config = text_of(a, j, "config"),
                               .commit = text_of(a, j, "commit"),
                               .submitted = text_of(a, j, "submitted"),
                               .nanoseconds = text_of(a, j, "nanoseconds")};
        out->file = cr_arena_strdup(a, name);
        out->name = cr_path_base(out->folder);
        out->id = newest_id(a, out);
        ok = *out->folder != 0; /* else it is no record of ours */
    }
    cr_json_free(j);
    cr_buf_clear(&b);
    return ok;
}

/* The name of the record's file: jobs of other folders may have the same name and minute. */
static const char *file_of(cr_submit *s, const char *dir) {
    const char *name = cr_path_base(s->dir), *file = cr_arena_printf(s->a, "%s.json", name);
    cr_job_record other;
    for (int i = 2; read_record(s->a, dir, file, &other) && strcmp(other.folder, s->dir) != 0; i++)
        file = cr_arena_printf(s->a, "%s.%d.json", name, i);
    return file;
}

cr_code cr_jobs_keep(cr_submit *s, const char *id, cr_err *err) {
    char stamp[32];
    struct timespec t;
    struct tm local;
    cr_buf text;
    cr_jw w;
    clock_gettime(CLOCK_REALTIME, &t);
    localtime_r(&t.tv_sec, &local);
    strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &local);
    const char *dir = jobs_dir(s->a), *config = cr_path_dir(s->a, s->o->config.path);
    const char *commit = cr_client_line(s->a, config, "git rev-parse HEAD", NULL);
    cr_buf_init(&text);
    cr_jw_init(&w, &text);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "id", id);
    cr_jw_str(&w, "backend", s->type->name);
    cr_jw_str(&w, "folder", s->dir);
    cr_jw_str(&w, "config", cr_path_join(s->a, s->here, s->o->config.path));
    cr_jw_str(&w, "commit", commit ? commit : "");
    cr_jw_str(&w, "submitted", stamp);
    cr_jw_str(&w, "nanoseconds", cr_arena_printf(s->a, "%09ld", t.tv_nsec));
    cr_jw_end(&w);
    cr_buf_char(&text, '\n');
    cr_code code = cr_mkdirs(dir, err);
    if (code == CR_OK)
        code = cr_file_write(cr_path_join(s->a, dir, file_of(s, dir)), text.data, text.n, err);
    cr_buf_clear(&text);
    return code;
}

static int by_time(const void *x, const void *y) {
    const cr_job_record *a = x, *b = y;
    int c = strcmp(a->submitted, b->submitted);
    if (c == 0) c = strcmp(a->nanoseconds, b->nanoseconds);
    return c ? c : strcmp(a->name, b->name);
}

cr_code cr_jobs_load(cr_arena *a, cr_job_record **out, int *n, cr_err *err) {
    const char *dir = jobs_dir(a);
    char **names;
    size_t k = 0;
    *n = 0;
    if (cr_path_is_dir(dir)) CR_TRY(cr_list_dir(a, dir, &names, &k, err));
    *out = CR_NEW_N(a, cr_job_record, (int64_t)k + 1);
    for (size_t i = 0; i < k; i++)
        if (read_record(a, dir, names[i], &(*out)[*n])) (*n)++;
    qsort(*out, (size_t)*n, sizeof **out, by_time);
    return CR_OK;
}

cr_code cr_jobs_find(cr_arena *a, const char *what, cr_job_record *out, cr_err *err) {
    cr_job_record *v;
    int n;
    size_t len = strlen(what);
    CR_TRY(cr_jobs_load(a, &v, &n, err));
    while (len > 1 && what[len - 1] == '/')
        len--;
    const char *base = cr_path_base(cr_arena_strndup(a, what, len));
    for (int i = n - 1; i >= 0; i--) {
        if (!cr_path_is_dir(what) || !cr_same_file(what, v[i].folder)) continue;
        *out = v[i];
        return CR_OK;
    }
    for (int i = n - 1; i >= 0; i--) {
        if (strcmp(what, "last") != 0 && strcmp(what, v[i].id) != 0 && strcmp(base, v[i].name) != 0)
            continue;
        *out = v[i];
        return CR_OK;
    }
    return cr_fail(err, CR_EUSAGE,
                   "there is no job '%s'; 'crank jobs list' shows the jobs that "
                   "were submitted from here (%s)",
                   cr_shown(a, what), jobs_dir(a));
}

/* timeout_s 0: its output is ours, for as long as it takes. */
static cr_code ask(cr_arena *a, const cr_job_record *j, const char *verb, double timeout_s,
                   cr_ran *ran, cr_err *err) {
    static char sh[] = "sh", script[] = ".jobs.sh";
    char *argv[] = {sh, script, cr_arena_strdup(a, verb), cr_arena_strdup(a, j->id), NULL};
    cr_client_opts o = {.dir = j->folder,
                        .argv = argv,
                        .pass = timeout_s == 0,
                        .stay = timeout_s == 0,
                        .timeout_s = timeout_s};
    if (!cr_path_exists(cr_path_join(a, j->folder, ".jobs.sh")))
        return cr_fail_at(err, CR_EIO, ((cr_loc){j->folder, 0, 0}),
                          "the folder of the job is gone, so its client cannot be asked; remove "
                          "%s/%s to forget the job",
                          jobs_dir(a), j->file);
    if (!*j->id)
        return cr_fail_at(err, CR_EUSAGE, ((cr_loc){j->folder, 0, 0}),
                          "the client gave this job no id; 'sh job.sh' in the folder submits it");
    return cr_client_run(a, &o, ran, err);
}

/* *late: the client gave no answer in time. */
static cr_code ask_text(cr_arena *a, const cr_job_record *j, const char *verb, double timeout_s,
                        const char **text, bool *late, cr_err *err) {
    cr_ran ran = {0};
    *late = false;
    CR_TRY(ask(a, j, verb, timeout_s, &ran, err));
    *late = ran.late;
    if (ran.late)
        return cr_fail(err, CR_ERUN,
                       "the client gave no answer within %.0f s (--timeout gives more time)",
                       timeout_s);
    if (ran.exit_code != 0)
        return cr_fail(err, CR_ERUN, "the client ended with exit code %d", ran.exit_code);
    *text = ran.out ? ran.out : "";
    return CR_OK;
}

cr_code cr_jobs_pass(cr_arena *a, const cr_job_record *j, const char *verb, int *exit_code,
                     cr_err *err) {
    cr_ran ran = {0};
    CR_TRY(ask(a, j, verb, 0, &ran, err));
    *exit_code = ran.exit_code < 0 ? 1 : ran.exit_code;
    return CR_OK;
}

cr_code cr_jobs_ask(cr_arena *a, const cr_job_record *j, const char *verb, double timeout_s,
                    const char **text, cr_err *err) {
    bool late;
    return ask_text(a, j, verb, timeout_s, text, &late, err);
}

static cr_code ask_state(cr_arena *a, const cr_job_record *j, double timeout_s, const char **state,
                         bool *late, cr_err *err) {
    const char *text = "";
    *state = "unknown";
    CR_TRY(ask_text(a, j, "state", timeout_s, &text, late, err));
    text += strspn(text, " \t\n");
    size_t n = strcspn(text, " \t\n");
    if (n == 0) return cr_fail(err, CR_ERUN, "the client does not know the job any more");
    *state = cr_shown(a, cr_arena_strndup(a, text, n));
    return CR_OK;
}

const char *cr_jobs_state(cr_arena *a, const cr_job_record *j, double timeout_s, const char **why) {
    const char *state;
    bool late;
    cr_err err;
    *why = ask_state(a, j, timeout_s, &state, &late, &err) == CR_OK ? NULL
                                                                    : cr_arena_strdup(a, err.msg);
    return state;
}

cr_code cr_jobs_states(cr_arena *a, const cr_job_record *v, int n, double timeout_s,
                       const char **states, cr_err *err) {
    bool *late = CR_NEW_N(a, bool, n + 1);
    for (int i = 0; i < n; i++) {
        bool ask = *v[i].id != 0;
        states[i] = ask ? "unknown" : "not submitted";
        for (int k = 0; k < i; k++)
            if (late[k] && strcmp(v[k].backend, v[i].backend) == 0) ask = false;
        if (!ask) continue;
        if (ask_state(a, &v[i], timeout_s, &states[i], &late[i], err) == CR_ESTOP) return CR_ESTOP;
    }
    return CR_OK;
}

void cr_jobs_polled(cr_buf *b, const char *ends, int seconds) {
    cr_buf_printf(
        b,
        "logs) pods \"$2\" | while read -r pod; do log \"$2\" \"$pod\" </dev/null; done ;;\n"
        "follow)\n"
        "    seen=.seen.$$\n"
        "    trap 'rm -f $seen.*' EXIT\n"
        "    trap 'exit 130' INT TERM\n"
        "    while :; do\n"
        "        now=$(state \"$2\")\n"
        "        pods \"$2\" | while read -r pod; do\n"
        "            i=$((i + 1))\n"
        "            log \"$2\" \"$pod\" </dev/null >$seen.log\n"
        "            tail -n +$(($(cat $seen.$i 2>/dev/null) + 1)) $seen.log\n"
        "            wc -l <$seen.log >$seen.$i\n"
        "        done\n"
        "        case $now in %s) exit 0 ;; esac\n"
        "        # clusters limit questions\n"
        "        sleep \"${CRANK_POLL:-%d}\"\n"
        "    done\n"
        "    ;;\n",
        ends, seconds);
}

/* The number behind a word such as "step": `step 120`, `"step": 120`, `batch: 120`, `ckpt-120`. */
static int64_t number_after(const char *p) {
    p += strspn(p, "\"': =-");
    return *p >= '0' && *p <= '9' ? strtoll(p, NULL, 10) : -1;
}

int64_t cr_jobs_last_step(const char *log) {
    static const char *const words[] = {"step", "batch", "batch_id", "ckpt"};
    int64_t last = -1;
    for (const char *p = log; *p; p++) {
        if (p > log && (p[-1] == '_' || (p[-1] >= 'a' && p[-1] <= 'z'))) continue;
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
            size_t n = strlen(words[k]);
            if (strncmp(p, words[k], n) != 0) continue;
            int64_t x = number_after(p + n);
            if (x > last) last = x; /* the best checkpoint may be named after the last */
        }
    }
    return last;
}
