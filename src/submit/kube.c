/*
 * kube.c - see kube.h.
 *
 * The files of the job (the config and `files`) become a ConfigMap, mounted at /crank; a larger one
 * than a megabyte is refused by the API, so data and the program are elsewhere: in the image or on
 * a volume. Every text in a manifest is in double quotes with JSON's escapes, which YAML shares, so
 * that no value can become another structure. Manifests can be read by many in a cluster, so
 * variables of `env` that are called after a secret lie in secret.env, of which job.sh makes a
 * Secret, and the manifest only names it.
 */
#include "submit/kube.h"

#include <ctype.h>
#include <string.h>

#include "base/json.h"
#include "base/shown.h"

#define MOUNT "/crank"

static void text(cr_buf *b, const char *t) {
    cr_json_escape(b, t, strlen(t));
}

/* DNS-1035: small letters, digits and '-', a letter first, at most 63. */
static bool is_label(const char *t) {
    size_t n = strlen(t);
    if (n == 0 || n > 63 || !islower((unsigned char)t[0]) || t[n - 1] == '-') return false;
    for (; *t; t++)
        if (!islower((unsigned char)*t) && !isdigit((unsigned char)*t) && *t != '-') return false;
    return true;
}

static void check_volumes(cr_submit *s, const cr_kube_conf *k) {
    const cr_conf_node *v = cr_unboxed(k->volumes);
    if (v && v->kind != CR_NODE_LIST)
        cr_submit_wrong(s, v->at, "volumes is a list: [{claim: data, mount: /data}]");
    for (size_t i = 0; v && v->kind == CR_NODE_LIST && i < v->n; i++) {
        const cr_conf_node *m = v->v[i].val;
        if (m->kind != CR_NODE_MAP || !is_label(cr_conf_find_text(m, "claim")) ||
            *cr_conf_find_text(m, "mount") != '/')
            cr_submit_wrong(s, v->v[i].at,
                            "volumes: give the name of a claim and a whole path: {claim: data, "
                            "mount: /data}");
    }
}

/* No shell reads the words of a pod. */
static void check_words(cr_submit *s, const cr_kube_conf *k) {
    const cr_conf_node *v = cr_unboxed(k->args);
    if (!v || v->kind != CR_NODE_SCALAR) return;
    for (const char *p = v->text; *p; p++)
        if (strchr("`;|<>", *p) || (*p == '$' && p[1] != '(')) {
            cr_submit_wrong(s, v->at,
                            "args: no shell runs in the pods, so '%c' would be a plain character; "
                            "write args as a list of words, and $(NAME) for a variable",
                            *p);
            return;
        }
}

/* The files become keys of a ConfigMap. */
static void check_keys(cr_submit *s) {
    static const char fits[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    for (int i = 0; i < s->n_files; i++)
        if (strspn(s->files[i].name, fits) != strlen(s->files[i].name))
            cr_submit_wrong(s, (cr_loc){s->files[i].path, 0, 0},
                            "Kubernetes takes letters, digits, '-', '_' and '.' in names of files; "
                            "rename it");
}

void cr_kube_check(cr_submit *s, const char *suffix, int64_t last) {
    static const char *const clean[] = {"None", "Running", "All", NULL};
    static const char *const pull[] = {"Always", "IfNotPresent", "Never", NULL};
    cr_kube_conf *k = s->keys;
    cr_place_check(s, false, true);
    const char *name = cr_arena_printf(s->a, "%s%s%lld", k->job_name, suffix, (long long)last);
    if (!is_label(name))
        cr_submit_wrong(s, cr_conf_at(k, "job_name"),
                        "'%s' must be small letters, digits and '-', begin with a letter, and have "
                        "63 characters at most; choose another job_name",
                        cr_shown(s->a, name));
    if (!is_label(k->namespace))
        cr_submit_wrong(
            s, cr_conf_at(k, "namespace"),
            "namespace '%s' must be small letters, digits and '-', and begin with a letter",
            cr_shown(s->a, k->namespace));
    if (!*k->image)
        cr_submit_wrong(s, cr_conf_at(k, "image"), "image is missing; the pods are made of it");
    cr_check_one_of(s, k, "clean_pod_policy", k->clean_pod_policy, clean);
    cr_check_one_of(s, k, "image_pull_policy", k->image_pull_policy, pull);
    check_volumes(s, k);
    check_words(s, k);
    check_keys(s);
    if (cr_client_path(s->a, "kubectl") &&
        !cr_client_line(s->a, NULL, "kubectl config current-context", NULL))
        cr_submit_warn(
            s, CR_NOWHERE,
            "kubectl knows no cluster, so it can hardly submit the job; set KUBECONFIG or "
            "run 'kubectl config use-context NAME'");
}

void cr_kube_head(cr_submit *s, cr_buf *b, const char *api, const char *kind) {
    const cr_kube_conf *k = s->keys;
    cr_buf_printf(b, "apiVersion: %s\nkind: %s\nmetadata:\n  name: ", api, kind);
    text(b, k->job_name);
    cr_buf_str(b, "\n  namespace: ");
    text(b, k->namespace);
    cr_buf_str(b, "\nspec:\n");
}

void cr_kube_policy(cr_submit *s, cr_buf *b) {
    const cr_kube_conf *k = s->keys;
    cr_buf_printf(b, "  runPolicy:\n    cleanPodPolicy: %s\n    backoffLimit: %lld\n",
                  k->clean_pod_policy, (long long)k->backoff_limit);
    cr_buf_printf(b, "    ttlSecondsAfterFinished: %lld\n",
                  (long long)k->ttl_seconds_after_finished);
    if (k->active_deadline_seconds)
        cr_buf_printf(b, "    activeDeadlineSeconds: %lld\n",
                      (long long)k->active_deadline_seconds);
    if (!*k->queue && !*k->priority_class) return;
    cr_buf_str(b, "    schedulingPolicy:\n");
    if (*k->queue) {
        cr_buf_str(b, "      queue: ");
        text(b, k->queue);
        cr_buf_char(b, '\n');
    }
    if (*k->priority_class) {
        cr_buf_str(b, "      priorityClass: ");
        text(b, k->priority_class);
        cr_buf_char(b, '\n');
    }
}

typedef struct variables {
    cr_submit *s;
    cr_buf *b;
} variables;

/* Names a value of a Secret of the job. */
static void secret_ref(cr_submit *s, cr_buf *b, const char *variable, const char *suffix,
                       const char *key) {
    const cr_kube_conf *k = s->keys;
    cr_buf_printf(b,
                  "            - name: %s\n              valueFrom:\n"
                  "                secretKeyRef:\n                  name: ",
                  variable);
    text(b, cr_arena_printf(s->a, "%s-%s", k->job_name, suffix));
    cr_buf_printf(b, "\n                  key: %s\n", key);
}

static void variable(void *ctx, const char *name, const char *value) {
    variables *v = ctx;
    if (cr_is_secret(name)) {
        secret_ref(v->s, v->b, name, "env", name);
        return;
    }
    cr_buf_printf(v->b, "            - name: %s\n              value: ", name);
    text(v->b, value);
    cr_buf_char(v->b, '\n');
}

/* A line of secret.env, as `kubectl create secret --from-env-file` reads it. */
static void secret_line(void *ctx, const char *name, const char *value) {
    if (cr_is_secret(name)) cr_buf_printf(ctx, "%s=%s\n", name, value);
}

static void env(cr_submit *s, cr_buf *b, bool secret) {
    const cr_kube_conf *k = s->keys;
    if (!secret && !k->env) return;
    cr_buf_str(b, "            env:\n");
    if (secret) secret_ref(s, b, "CRANK_JOB_SECRET", "secret", "secret");
    variables v = {s, b};
    cr_place_each(s, variable, &v);
}

static void volumes(cr_submit *s, cr_buf *b, bool mounts) {
    const cr_kube_conf *k = s->keys;
    const cr_conf_node *v = cr_unboxed(k->volumes);
    const char *pad = mounts ? "            " : "          ";
    cr_buf_printf(b, "%s%s:\n%s- name: files\n", pad, mounts ? "volumeMounts" : "volumes", pad);
    if (mounts) {
        cr_buf_printf(b, "%s  mountPath: %s\n", pad, MOUNT);
    } else {
        cr_buf_printf(b, "%s  configMap:\n%s    name: ", pad, pad);
        text(b, cr_arena_printf(s->a, "%s-files", k->job_name));
        cr_buf_char(b, '\n');
    }
    for (size_t i = 0; v && v->kind == CR_NODE_LIST && i < v->n; i++) {
        const cr_conf_node *m = v->v[i].val;
        cr_buf_printf(b, "%s- name: volume%zu\n%s  %s", pad, i, pad,
                      mounts ? "mountPath: " : "persistentVolumeClaim:\n");
        if (!mounts) cr_buf_printf(b, "%s    claimName: ", pad);
        text(b, cr_conf_find_text(m, mounts ? "mount" : "claim"));
        cr_buf_char(b, '\n');
    }
}

void cr_kube_role(cr_submit *s, cr_buf *b, const cr_kube_pod *p) {
    const cr_kube_conf *k = s->keys;
    cr_buf_printf(b, "    %s:\n      replicas: %lld\n      restartPolicy: %s\n", p->role,
                  (long long)p->replicas, p->restart);
    cr_buf_printf(b,
                  "      template:\n        spec:\n          containers:\n          - name: %s\n",
                  p->container);
    cr_buf_str(b, "            image: ");
    text(b, k->image);
    cr_buf_char(b, '\n');
    if (*k->image_pull_policy)
        cr_buf_printf(b, "            imagePullPolicy: %s\n", k->image_pull_policy);
    if (p->command) {
        cr_buf_str(b, "            command:\n");
        for (int i = 0; p->command[i]; i++) {
            cr_buf_str(b, "            - ");
            text(b, p->command[i]);
            cr_buf_char(b, '\n');
        }
    }
    if (*k->work_dir) {
        cr_buf_str(b, "            workingDir: ");
        text(b, k->work_dir);
        cr_buf_char(b, '\n');
    }
    env(s, b, p->secret);
    cr_buf_printf(b,
                  "            resources:\n              limits:\n                cpu: \"%lld\"\n",
                  p->small ? 1LL : (long long)(k->ranks_per_node * k->threads_per_rank));
    if (s->memory > 0 && !p->small)
        cr_buf_printf(b, "                memory: \"%lldMi\"\n", (long long)(s->memory / 1048576));
    volumes(s, b, true);
    volumes(s, b, false);
}

const char *const *cr_kube_words(cr_submit *s, const char *const *first, const char *behind) {
    int n = 0, more;
    const char *text = cr_arena_printf(s->a, "%s%s", cr_place_words(s, MOUNT), behind);
    const char *const *words = cr_sh_split(s->a, text, &more);
    while (first[n])
        n++;
    const char **out = CR_NEW_N(s->a, const char *, (int64_t)n + more + 1);
    memcpy(out, first, sizeof *out * (size_t)n);
    memcpy(out + n, words, sizeof *out * (size_t)more);
    return out;
}

cr_code cr_kube_files(cr_submit *s, cr_buf *b, const char *kind, const char *log, bool secret,
                      cr_err *err) {
    const cr_kube_conf *k = s->keys;
    const char *space = cr_sh(s->a, k->namespace), *name = cr_sh(s->a, k->job_name);
    CR_TRY(cr_folder_put(s, "job.yaml", b, err));
    cr_place_each(s, secret_line, b);
    bool hidden = b->n > 0;
    if (hidden) CR_TRY(cr_folder_put(s, "secret.env", b, err));
    cr_buf_str(b,
               "#!/bin/sh\n# job.sh - submits this folder; run it again after changes: sh job.sh\n"
               "cd \"$(dirname \"$0\")\" || exit 1\n");
    cr_place_prepare(s, b, secret);
    cr_buf_printf(b, "if kubectl -n %s get %s %s >/dev/null 2>&1; then\n", space, kind, name);
    cr_buf_printf(b,
                  "    echo \"there is a %s %s already; end it first: kubectl -n %s delete %s %s\" "
                  ">&2\n    exit 1\nfi\n",
                  kind, name, space, kind, name);
    cr_buf_printf(b, "kubectl -n %s create configmap %s-files", space, name);
    for (int i = 0; i < s->n_files; i++)
        cr_buf_printf(b, " \\\n    --from-file=%s", cr_sh(s->a, s->files[i].name));
    cr_buf_printf(b, " \\\n    --dry-run=client -o yaml | kubectl -n %s apply -f - >&2 || exit 1\n",
                  space);
    if (secret)
        cr_buf_printf(b,
                      "kubectl -n %s create secret generic %s-secret --from-file=secret \\\n"
                      "    --dry-run=client -o yaml | kubectl -n %s apply -f - >&2 || exit 1\n",
                      space, name, space);
    if (hidden)
        cr_buf_printf(b,
                      "kubectl -n %s create secret generic %s-env --from-env-file=secret.env \\\n"
                      "    --dry-run=client -o yaml | kubectl -n %s apply -f - >&2 || exit 1\n",
                      space, name, space);
    cr_buf_str(b, "kubectl apply -f job.yaml >.answer\ncode=$?\ncat .answer\nexit $code\n");
    CR_TRY(cr_folder_put(s, "job.sh", b, err));
    cr_buf_printf(
        b,
        "#!/bin/sh\n# .jobs.sh VERB ID - what 'crank jobs' asks Kubernetes\n"
        "case $1 in\n"
        "state) kubectl -n %s get %s \"$2\" -o "
        "'jsonpath={.status.conditions[?(@.status==\"True\")].type}' | awk '{ print $NF }' "
        ";;\n"
        "logs) kubectl -n %s logs %s ;;\n"
        "follow) kubectl -n %s logs -f %s ;;\n"
        "stop) kubectl -n %s delete %s \"$2\" ;;\n"
        "esac\n",
        space, kind, space, log, space, log, space, kind);
    return cr_folder_put(s, ".jobs.sh", b, err);
}

/* `mpijob.kubeflow.org/deepfm created` */
const char *cr_kube_answer(cr_submit *s, const char *t) {
    const char *p = strstr(t, "job.kubeflow.org/");
    if (!p) return NULL;
    p += strlen("job.kubeflow.org/");
    size_t n = strcspn(p, " \n");
    return n ? cr_arena_strndup(s->a, p, n) : NULL;
}
