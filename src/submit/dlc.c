/*
 * dlc.c - Alibaba's PAI-DLC, by `dlc submit pytorchjob --job_file`.
 *
 * Every flag of the client is a key of the same name, and goes to job.ini as it is, but for name,
 * workers, command and job_file, which crank writes from the common keys. The command is one short
 * line, `sh .../node.sh`, because the client's command passes through several shells; the work is
 * in that file. The folder reaches the containers by storage that both see: stage_dir (mounted
 * here, too) or upload (a command such as ossutil), and the containers find it below work_dir.
 *
 * Recurring trainings: {date} in args, env, model_dir, job_name or a key is the date that job.sh is
 * given, yesterday without one; {date-7} is a week earlier, {date:%Y-%m-%d} has another form.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/shown.h"
#include "submit/list.h"

#define MOST_REQUEST 65536  /* bytes of a request of the platform */
#define MOST_LINES   100000 /* lines of a pod's log that are asked for */

/* The client's flags, in the order of its help. */
#define FLAGS(X)                                                                                   \
    X(workspace_id, "workspace of the job")                                                        \
    X(tags, "k=v,k2=v2")                                                                           \
    X(priority, "1 to 9")                                                                          \
    X(envs, "variables that the platform sets: K=V,K2=V2")                                         \
    X(interactive, "true: the client stays until the job ends")                                    \
    X(job_max_running_time_minutes, "0: without a limit")                                          \
    X(running_timeout, "seconds")                                                                  \
    X(exit_code_on_stopped, "exit code of the client when the job is stopped")                     \
    X(worker_image, "image of the workers")                                                        \
    X(worker_spec, "ECS instance type of the workers")                                             \
    X(masters, "1: the first node is a master")                                                    \
    X(master_image, "image of the master")                                                         \
    X(master_spec, "ECS instance type of the master")                                              \
    X(resource_id, "quota, in the place of worker_spec")                                           \
    X(worker_cpu, "cores of a worker in a quota")                                                  \
    X(worker_gpu, "GPUs of a worker in a quota")                                                   \
    X(worker_gpu_type, "type of the GPUs")                                                         \
    X(worker_memory, "memory of a worker in a quota: 400Gi")                                       \
    X(worker_shared_memory, "shared memory of a worker")                                           \
    X(master_cpu, "cores of the master in a quota")                                                \
    X(master_gpu, "GPUs of the master in a quota")                                                 \
    X(master_gpu_type, "type of the GPUs")                                                         \
    X(master_memory, "memory of the master in a quota")                                            \
    X(master_shared_memory, "shared memory of the master")                                         \
    X(data_sources, "data sets: d-abc,d-def or id:version:/mount/point")                           \
    X(data_source_uris, "oss://bucket/path/::/mnt/data")                                           \
    X(code_source, "code set")                                                                     \
    X(code_branch, "branch of the code set")                                                       \
    X(code_commit, "commit of the code set")                                                       \
    X(thirdparty_libs, "Python packages")                                                          \
    X(thirdparty_lib_dir, "folder of requirements.txt")                                            \
    X(vpc_id, "network of the job, with switch_id and security_group_id")                          \
    X(switch_id, "switch of the network")                                                          \
    X(security_group_id, "security group of the network")                                          \
    X(extended_cidrs, "other networks")                                                            \
    X(default_route, "eth0 or eth1")                                                               \
    X(oversold_type, "ForbiddenQuotaOverSold and the like")                                        \
    X(driver, "driver of the GPUs")                                                                \
    X(job_reserved_minutes, "how long the nodes stay after the end")                               \
    X(job_reserved_policy, "Always, OnFailure or OnSucceed")                                       \
    X(enable_credential, "true: the job's role reaches the containers")                            \
    X(disable_ecs_stock_check, "true or false")                                                    \
    X(image_repo_username, "user of the registry")                                                 \
    X(image_repo_password, "password of the registry; or DLC_IMAGE_REPO_PASSWORD")                 \
    X(advanced_settings, "settings as the console shows them")

#define MEMBER(f, help) const char *f;
typedef struct keys {
    CR_PLACE_MEMBERS;
    const char *stage_dir, *upload, *success_policy, *command, *name, *workers, *job_file;
    FLAGS(MEMBER)
} keys;
#define ROW(f, help) CR_STR(keys, f, NULL, 0, help),
static const cr_field fields[] = {
    CR_PLACE_ROWS(keys, "bundle"),
    CR_STR(keys, stage_dir, NULL, 0, "folder here that the containers see as work_dir"),
    CR_STR(keys, upload, NULL, 0, "command that copies $stage to the storage of work_dir"),
    CR_STR(keys, success_policy, NULL, 0, "of TFJobs only"),
    CR_STR(keys, command, NULL, 0, "crank writes it; args has more words"),
    CR_STR(keys, name, NULL, 0, "crank writes it, from job_name"),
    CR_STR(keys, workers, NULL, 0, "crank writes it, from nodes"),
    CR_STR(keys, job_file, NULL, 0, "crank writes it"),
    FLAGS(ROW) CR_END,
};
static const cr_msg msg = {"dlc",  "A PyTorch job of PAI-DLC",
                           fields, sizeof(keys),
                           false,  true,
                           NULL,   NULL};

/* The flags by name, for the file. */
#define OFFSET(f, help) {#f, offsetof(keys, f)},
static const struct {
    const char *name;
    size_t at;
} table[] = {FLAGS(OFFSET)};
#define N_TABLE (sizeof table / sizeof *table)

static const char *value(const keys *k, size_t i) {
    const char *t;
    memcpy(&t, (const char *)k + table[i].at, sizeof t);
    return t;
}

static void number(cr_submit *s, const keys *k, const char *key, const char *text, int64_t lo,
                   int64_t hi) {
    int64_t x;
    if (*text && (!cr_parse_i64(text, strlen(text), &x) || x < lo || x > hi))
        cr_submit_wrong(s, cr_conf_at(k, key),
                        "%s is '%s' and must be an integer from %lld to %lld", key,
                        cr_shown(s->a, text), (long long)lo, (long long)hi);
}

static void needs(cr_submit *s, const keys *k, const char *key, const char *text, const char *why) {
    if (!*text) cr_submit_wrong(s, cr_conf_at(k, key), "%s is missing; %s", key, why);
}

/* The folder is one for all dates: daily_{date} is daily. */
static const char *without_dates(cr_submit *s, const char *name) {
    char *out = cr_arena_strdup(s->a, name), *to = out;
    for (const char *p = name; *p; p++) {
        if (*p == '{') p += strcspn(p, "}");
        if (*p && *p != '}') *to++ = *p;
        if (!*p) break;
    }
    while (to > out && strchr("_.-", to[-1]))
        to--;
    *to = 0;
    return *out ? out : "job";
}

static void check_name(cr_submit *s, const keys *k) {
    const char *p = without_dates(s, k->job_name);
    while (*p && (isalnum((unsigned char)*p) || strchr("_.-", *p)))
        p++;
    if (*p || strlen(k->job_name) > 256)
        cr_submit_wrong(s, cr_conf_at(k, "job_name"),
                        "job_name has letters, digits, '_', '.' and '-', at most 256 of them");
}

/* ---- dates ---- */

/* A date in a text: {date}, {date-7}, {date:%Y-%m-%d}, {date+1:%j}. */
typedef struct date_ref {
    const char *whole, *days, *form;
} date_ref;

/* Reads the one that begins at p; false: it is none. */
static bool read_date(cr_arena *a, const char *p, date_ref *out) {
    size_t n = strcspn(p, "}\n"), k = 5, sign = p[5] == '+' || p[5] == '-';
    size_t digits = strspn(p + k + sign, "0123456789");
    *out = (date_ref){cr_arena_strndup(a, p, n + (p[n] == '}')), "+0", "%Y%m%d"};
    if (p[n] != '}' || (sign && digits == 0) || (!sign && digits) || digits > 5) return false;
    if (sign) out->days = cr_arena_strndup(a, p + k, sign + digits);
    k += sign + digits;
    if (p[k] == ':') out->form = cr_arena_strndup(a, p + k + 1, n - k - 1);
    return (p[k] == ':' || p[k] == '}') && *out->form &&
           strspn(out->form, "%YmdHMjyU_./-") == strlen(out->form);
}

/* Adds what sed replaces for each date of the text; false: it has none. */
static bool dates(cr_submit *s, const char *text, cr_buf *out) {
    bool any = false;
    date_ref d;
    for (const char *p = text; (p = strstr(p, "{date")); p++) {
        if (!read_date(s->a, p, &d)) continue;
        any = true;
        const char *line =
            cr_arena_printf(s->a, "    -e \"s|%s|$(date -d \"$date %s days\" +'%s')|g\" \\\n",
                            d.whole, d.days, d.form);
        if (!out->n || !strstr(out->data, line)) cr_buf_str(out, line);
    }
    return any;
}

/* secret: the text is not shown. */
static void check_dates(cr_submit *s, cr_loc at, const char *what, const char *text, bool secret) {
    date_ref d;
    for (const char *p = text; (p = strstr(p, "{date")); p++)
        if (!read_date(s->a, p, &d))
            cr_submit_wrong(s, at,
                            "%s: '%s' is no date; write {date}, {date-7} for a week earlier, or "
                            "{date:%%Y-%%m-%%d} for another form",
                            what, secret ? "{date..." : cr_shown(s->a, d.whole));
}

static void check_variable(void *ctx, const char *name, const char *text) {
    cr_submit *s = ctx;
    check_dates(s, cr_conf_at(s->keys, "env"), name, text, cr_is_secret(name));
}

/* Every text in which job.sh replaces dates. */
static void check_all_dates(cr_submit *s, const keys *k) {
    const cr_conf_node *v = cr_unboxed(k->args);
    check_dates(s, cr_conf_at(k, "job_name"), "job_name", k->job_name, false);
    check_dates(s, cr_conf_at(k, "model_dir"), "model_dir", k->model_dir, false);
    for (size_t i = 0; i < N_TABLE; i++) {
        bool secret =
            strcmp(table[i].name, "image_repo_password") == 0 || strcmp(table[i].name, "envs") == 0;
        check_dates(s, cr_conf_at(k, table[i].name), table[i].name, value(k, i), secret);
    }
    cr_place_each(s, check_variable, s);
    if (v && v->kind == CR_NODE_SCALAR) check_dates(s, v->at, "args", v->text, false);
    for (size_t i = 0; v && v->kind == CR_NODE_LIST && i < v->n; i++)
        if (v->v[i].val->kind == CR_NODE_SCALAR)
            check_dates(s, v->v[i].at, "args", v->v[i].val->text, false);
    for (int i = 0; i < s->o->config.n_set; i++)
        check_dates(s, CR_NOWHERE, "--set", s->o->config.set[i], false);
}

static bool has_master(const keys *k) {
    return strcmp(k->masters, "1") == 0;
}

/* A master is one of the nodes. */
static int64_t workers(const keys *k) {
    return k->nodes - has_master(k);
}

static void job_ini(const keys *k, const char *command, cr_buf *b) {
    cr_buf_printf(b, "name=%s\n", k->job_name);
    if (workers(k)) cr_buf_printf(b, "workers=%lld\n", (long long)workers(k));
    for (size_t i = 0; i < N_TABLE; i++)
        if (*value(k, i)) cr_buf_printf(b, "%s=%s\n", table[i].name, value(k, i));
    cr_buf_printf(b, "command=%s\n", command);
}

/* A role has an image, and an instance type or its share of a quota. */
static void check_role(cr_submit *s, const keys *k, const char *role, const char *const v[4]) {
    const char *image = v[0], *spec = v[1], *cpu = v[2], *memory = v[3];
    if (!*image)
        cr_submit_wrong(s, k->base.at, "%s_image is missing; the containers are made of it", role);
    if (!*spec && !*k->resource_id)
        cr_submit_wrong(s, k->base.at,
                        "neither %s_spec nor resource_id is given; 'dlc get specs' and 'dlc get "
                        "quota' list what there is",
                        role);
    if (*spec && *k->resource_id)
        cr_submit_wrong(s, cr_conf_at(k, cr_arena_printf(s->a, "%s_spec", role)),
                        "%s_spec and resource_id are both given; a quota has %s_cpu and %s_memory "
                        "instead of %s_spec",
                        role, role, role, role);
    if (*k->resource_id && (!*cpu || !*memory))
        cr_submit_wrong(s, cr_conf_at(k, "resource_id"),
                        "a quota needs %s_cpu and %s_memory; "
                        "write for example %s_cpu: 8 and %s_memory: 64Gi",
                        role, role, role, role);
}

/* Keys that do nothing without another one. */
static void check_idle(cr_submit *s, const keys *k) {
    static const char *const quota[] = {"_cpu", "_gpu", "_gpu_type", "_memory", "_shared_memory"};
    static const char *const net[] = {"switch_id", "security_group_id", "extended_cidrs",
                                      "default_route"};
    for (size_t i = 0; i < N_TABLE; i++) {
        const char *name = table[i].name, *without = NULL;
        if (!*value(k, i)) continue;
        for (size_t q = 0; q < sizeof quota / sizeof *quota; q++)
            if (strncmp(name, "worker", 6) == 0 && strcmp(name + 6, quota[q]) == 0 &&
                !*k->resource_id)
                without = "resource_id, the quota that it is a share of";
        for (size_t q = 0; q < sizeof net / sizeof *net; q++)
            if (strcmp(name, net[q]) == 0 && !*k->vpc_id) without = "vpc_id";
        if (strncmp(name, "master_", 7) == 0 && !has_master(k)) without = "masters: 1";
        if (without)
            cr_submit_warn(s, cr_conf_at(k, name), "%s has no effect without %s", name, without);
    }
}

/* K=V,K2=V2. What is no pair may be the rest of a secret with a comma, so it is counted and not
 * shown. */
static void check_pairs(cr_submit *s, const keys *k, const char *key, const char *text,
                        const char *cure) {
    int i = 1;
    for (const char *p = text; *p; i++) {
        size_t n = strcspn(p, ",");
        const char *is = memchr(p, '=', n);
        if (!is || is == p) {
            cr_submit_wrong(s, cr_conf_at(k, key), "%s: part %d is no pair K=V; %s", key, i, cure);
            return;
        }
        p += n + (p[n] == ',');
    }
}

/* scheme://location/::/mount/point,... */
static void check_uris(cr_submit *s, const keys *k) {
    for (const char *p = k->data_source_uris; *p;) {
        size_t n = strcspn(p, ",");
        const char *one = cr_arena_strndup(s->a, p, n);
        if (!strstr(one, "://") || !strstr(one, "::/"))
            cr_submit_wrong(s, cr_conf_at(k, "data_source_uris"),
                            "data_source_uris: '%s' has not the form "
                            "oss://bucket/path/::/mount/point",
                            cr_shown(s->a, one));
        p += n + (p[n] == ',');
    }
}

/* What crank writes itself. */
static void check_own(cr_submit *s, const keys *k) {
    const struct {
        const char *key, *text, *cure;
    } v[] = {{"success_policy", k->success_policy, "success_policy is for TFJobs; remove it"},
             {"command", k->command, "crank writes the command; add words with args: [...]"},
             {"name", k->name, "crank writes the name; write job_name"},
             {"workers", k->workers,
              "crank writes the number of workers; write nodes, which counts the master too"},
             {"job_file", k->job_file,
              "crank writes the job file; write its lines as keys of this file"}};
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        if (*v[i].text) cr_submit_wrong(s, cr_conf_at(k, v[i].key), "%s", v[i].cure);
}

/* The names of envs may say that a value is a secret, as those of env. */
static void check_envs(cr_submit *s, const keys *k) {
    bool secret = false;
    check_pairs(s, k, "envs", k->envs,
                "a value has no comma; env: {NAME: value} takes any value of one line");
    for (const char *p = k->envs; *p; p += strcspn(p, ","), p += *p == ',') {
        size_t name = strcspn(p, "=,");
        if (!cr_is_secret(cr_arena_strndup(s->a, p, name))) continue;
        secret = true;
        if (p[name] == '=')
            cr_secret_hide(s, cr_arena_strndup(s->a, p + name + 1, strcspn(p + name + 1, ",")));
    }
    if (secret) cr_secret_told(s, cr_conf_at(k, "envs"), "envs");
}

/* The request holds the text of job.ini. */
static void check_size(cr_submit *s, const keys *k) {
    cr_buf all;
    cr_buf_init(&all);
    job_ini(k, k->work_dir, &all);
    if (all.n > MOST_REQUEST)
        cr_submit_wrong(s, k->base.at,
                        "job.ini would have %zu bytes, and a request of DLC has %d at most; "
                        "shorten envs and advanced_settings (env and args are in node.sh)",
                        all.n, MOST_REQUEST);
    cr_buf_clear(&all);
}

/* One line of job.sh. */
static void check_upload(cr_submit *s, keys *k) {
    size_t n = strlen(k->upload);
    while (n > 0 && strchr("\r\n", k->upload[n - 1]))
        n--; /* a block text of YAML ends with one */
    k->upload = cr_arena_strndup(s->a, k->upload, n);
    if (strpbrk(k->upload, "\r\n"))
        cr_submit_wrong(s, cr_conf_at(k, "upload"),
                        "upload holds a line break; write one command, with && between its parts, "
                        "or the name of a script");
}

static void check(cr_submit *s) {
    static const char *const routes[] = {"eth0", "eth1", NULL};
    static const char *const policies[] = {"Always", "OnFailure", "OnSucceed", NULL};
    static const char *const bools[] = {"true", "false", NULL};
    keys *k = s->keys;
    cr_place_check(s, false, false);
    check_name(s, k);
    s->name = without_dates(s, k->job_name);
    needs(s, k, "workspace_id", k->workspace_id, "'dlc get workspace' lists yours");
    number(s, k, "masters", k->masters, 0, 1);
    number(s, k, "priority", k->priority, 1, 9);
    number(s, k, "job_max_running_time_minutes", k->job_max_running_time_minutes, 0, 1000000000);
    number(s, k, "running_timeout", k->running_timeout, 0, 1000000000);
    number(s, k, "job_reserved_minutes", k->job_reserved_minutes, 0, 1000000000);
    number(s, k, "exit_code_on_stopped", k->exit_code_on_stopped, 0, 255);
    cr_check_one_of(s, k, "default_route", k->default_route, routes);
    cr_check_one_of(s, k, "job_reserved_policy", k->job_reserved_policy, policies);
    cr_check_one_of(s, k, "interactive", k->interactive, bools);
    cr_check_one_of(s, k, "enable_credential", k->enable_credential, bools);
    cr_check_one_of(s, k, "disable_ecs_stock_check", k->disable_ecs_stock_check, bools);
    const char *const worker[] = {k->worker_image, k->worker_spec, k->worker_cpu, k->worker_memory};
    const char *const master[] = {k->master_image, k->master_spec, k->master_cpu, k->master_memory};
    if (workers(k)) check_role(s, k, "worker", worker);
    if (has_master(k)) check_role(s, k, "master", master);
    check_idle(s, k);
    check_own(s, k);
    check_pairs(s, k, "tags", k->tags, "write k=v,k2=v2");
    check_envs(s, k);
    check_uris(s, k);
    if (*k->vpc_id && (!*k->switch_id || !*k->security_group_id))
        cr_submit_wrong(s, cr_conf_at(k, "vpc_id"),
                        "with vpc_id, switch_id and security_group_id are needed too");
    if (*k->work_dir != '/')
        cr_submit_wrong(s, cr_conf_at(k, "work_dir"),
                        "work_dir is a whole path in the containers, as /mnt/data/jobs, because "
                        "their working folder is another one");
    if (!*k->stage_dir == !*k->upload)
        cr_submit_wrong(s, k->base.at,
                        "give one of stage_dir, a folder here that the containers see as work_dir, "
                        "and upload, a command that copies \"$stage\" there");
    check_upload(s, k);
    if (*k->stage_dir && !cr_path_is_dir(k->stage_dir))
        cr_submit_wrong(s, cr_conf_at(k, "stage_dir"),
                        "there is no folder '%s'; make it, or correct stage_dir",
                        cr_shown(s->a, k->stage_dir));
    cr_secret v[] = {{"image_repo_password", "DLC_IMAGE_REPO_PASSWORD", k->image_repo_password,
                      cr_conf_at(k, "image_repo_password")}};
    if (cr_secret_find(s, v, 1) == CR_OK) k->image_repo_password = v[0].text;
    s->private = true; /* the secret of the job is in job.ini */
    for (size_t i = 0; i < N_TABLE; i++)
        if (strpbrk(value(k, i), "\n\r"))
            cr_submit_wrong(s, cr_conf_at(k, table[i].name), "%s holds a line break; remove it",
                            table[i].name);
    const char *home = getenv("HOME");
    const char *config = cr_arena_printf(s->a, "%s/.dlc/config", home ? home : "");
    if (!cr_path_exists(config))
        cr_submit_warn(s, (cr_loc){config, 0, 0},
                       "the client's file with your access keys is missing; run 'dlc config'");
    check_all_dates(s, k);
    check_size(s, k);
}

/* ---- files ---- */

static void node_sh(cr_submit *s, const char *base, cr_buf *b) {
    const char *flags = "--secret_file secret";
    cr_buf_str(b, "#!/bin/sh\n# node.sh - what every container runs.\n");
    cr_buf_printf(b, "cd %s || exit 1\n", cr_sh(s->a, base));
    cr_place_env(s, b);
    cr_buf_str(b, "chmod 600 secret\n");
    cr_buf_printf(b, "exec %s\n", cr_place_launch(s, ".", flags));
}

/* job.sh stages the files, with the dates filled in, brings them to the storage of the containers
 * and calls the client. found: what sed replaces, NULL: there are no dates. */
static void job_sh(cr_submit *s, const char *found, cr_buf *b) {
    const keys *k = s->keys;
    cr_buf_str(b,
               "#!/bin/sh\n# job.sh [DATE] - submits this folder; run it again after changes: sh "
               "job.sh\n");
    if (found)
        cr_buf_str(b, "# DATE is YYYYmmdd, yesterday without one, and takes the place of {date}.\n"
                      "date=${1:-$(date -d yesterday +%Y%m%d)}\n"
                      "date -d \"$date\" >/dev/null || exit 2\n");
    cr_buf_str(b, "cd \"$(dirname \"$0\")\" || exit 1\n");
    cr_place_prepare(s, b, true);
    cr_buf_printf(b, "stage=$PWD/.stage/%s%s\n", cr_path_base(s->dir), found ? "-$date" : "");
    cr_buf_str(b, "rm -rf .stage && mkdir -p \"$stage\" || exit 1\n"
                  "for f in *");
    cr_folder_dots(s, b, "");
    cr_buf_str(b,
               "; do\n"
               "    case $f in job.sh | job.ini | crank.tar.gz) ;; *) cp -r \"$f\" \"$stage/\" || "
               "exit 1 ;; esac\n"
               "done\n");
    if (found)
        cr_buf_printf(b,
                      "fill() { sed \\\n%s    \"$1\"; }\nfill node.sh >\"$stage/node.sh\"\n"
                      "(umask 077 && fill job.ini >.job.ini)\n",
                      found);
    else
        cr_buf_str(b, "(umask 077 && cat job.ini >.job.ini)\n");
    if (*k->stage_dir)
        cr_buf_printf(b, "cp -r \"$stage\" %s/ || exit 1\n", cr_sh(s->a, k->stage_dir));
    else
        cr_buf_printf(b, "export stage\n%s || exit 1\n", k->upload);
    cr_buf_str(b, "dlc submit pytorchjob --job_file .job.ini >.answer\ncode=$?\ncat .answer\nexit "
                  "$code\n");
}

static void jobs_sh(cr_submit *s, cr_buf *b) {
    const keys *k = s->keys;
    cr_buf_printf(b,
                  "#!/bin/sh\n# .jobs.sh VERB ID - what 'crank jobs' asks DLC\n"
                  "workspace=%s\n"
                  "detail() { dlc get job \"$1\" --workspace_id=\"$workspace\" | tr -d '\\n'; }\n"
                  "# lists go first: pods and the history have states of their own\n"
                  "state() { detail \"$1\" | sed ':a; s/\\[[^][]*\\]//g; ta; s/.*\"Status\" *: "
                  "*\"\\([^\"]*\\)\".*/\\1/'; echo; }\n"
                  "pods() { detail \"$1\" | grep -o '\"PodId\" *: *\"[^\"]*\"' | sed "
                  "'s/.*\"\\([^\"]*\\)\"$/\\1/'; "
                  "}\n"
                  "# without a number the client shows 2000 lines\n"
                  "log() { dlc logs \"$1\" \"$2\" --max_events_num=%d; }\n"
                  "case $1 in\n"
                  "state) state \"$2\" ;;\n"
                  "stop) dlc stop job \"$2\" --workspace_id=\"$workspace\" --force --quiet ;;\n",
                  cr_sh(s->a, k->workspace_id), MOST_LINES);
    cr_jobs_polled(b, "Succeeded | Failed | Stopped", 60);
    cr_buf_str(b, "esac\n");
}

/* Finds all dates: `found` gets what sed replaces; false: there are none. */
static bool find_dates(cr_submit *s, cr_buf *found) {
    cr_buf text;
    cr_buf_init(&text);
    job_ini(s->keys, "", &text);
    cr_place_env(s, &text);
    cr_buf_str(&text, cr_place_launch(s, ".", ""));
    bool any = dates(s, text.data, found);
    cr_buf_clear(&text);
    return any;
}

static cr_code write_all(cr_submit *s, cr_buf *found, cr_buf *b, cr_err *err) {
    const keys *k = s->keys;
    bool dated = find_dates(s, found);
    const char *base =
        cr_arena_printf(s->a, "%s/%s%s", k->work_dir, cr_path_base(s->dir), dated ? "-{date}" : "");
    if (dated) (void)dates(s, base, found);
    node_sh(s, base, b);
    CR_TRY(cr_folder_put(s, "node.sh", b, err));
    job_ini(k, cr_arena_printf(s->a, "sh %s/node.sh", cr_sh(s->a, base)), b);
    CR_TRY(cr_folder_put(s, "job.ini", b, err));
    job_sh(s, dated ? found->data : NULL, b);
    CR_TRY(cr_folder_put(s, "job.sh", b, err));
    jobs_sh(s, b);
    return cr_folder_put(s, ".jobs.sh", b, err);
}

static cr_code write_files(cr_submit *s, cr_buf *b, cr_err *err) {
    cr_buf found;
    cr_buf_init(&found);
    cr_code code = write_all(s, &found, b, err);
    cr_buf_clear(&found);
    return code;
}

/* The answer is the request as JSON, then a table with the columns JobId and RequestId. */
static const char *answer(cr_submit *s, const char *text) {
    const char *p = text, *at = NULL;
    while ((p = strstr(p, "JobId"))) {
        at = p;
        p++;
    }
    for (p = at; p && (p = strstr(p, "dlc")); p++) {
        size_t n = 0;
        while (islower((unsigned char)p[n]) || isdigit((unsigned char)p[n]))
            n++;
        if (n > 5 && !isalnum((unsigned char)p[-1]) && p[-1] != '-' && p[n] != '-')
            return cr_arena_strndup(s->a, p, n);
    }
    return NULL;
}

const cr_backend cr_backend_dlc = {
    .name = "dlc",
    .help = "Alibaba's PAI-DLC, by dlc submit pytorchjob",
    .msg = &msg,
    .client = "dlc",
    .secrets = true,
    .check = check,
    .write = write_files,
    .answer = answer,
};
