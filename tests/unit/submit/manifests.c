/*
 * manifests.c - the manifests of MPIJob and PyTorchJob against the schemas of their operators.
 *
 * The facts of the schemas (kubeflow.org/v2beta1 of mpi-operator, kubeflow.org/v1 of
 * training-operator 1.9, and the pod template of Kubernetes) are a table here: every key that a
 * manifest has must be in it, with a value of its type, and the needed keys must be there. The
 * expected files of tests/cli/submit pass; each broken copy of them is refused.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "conf/tree.h"
#include "harness.h"

/* Types: m map, l list of maps, i integer of at least 0, b bool, s text, w list of texts, q
 * quantity (a quoted text), n DNS-1035 label; else one of the words. */
typedef struct row {
    const char *path; /* * stands for a role */
    const char *type;
    bool needed;
} row;

#define POD(roles)                                                                                 \
    {roles, "m", true}, {roles ".*", "m", true}, {roles ".*.replicas", "i", true},                 \
        {roles ".*.template", "m", true}, {roles ".*.template.spec", "m", true},                   \
        {roles ".*.template.spec.containers", "l", true},                                          \
        {roles ".*.template.spec.containers.name", "n", true},                                     \
        {roles ".*.template.spec.containers.image", "s", true},                                    \
        {roles ".*.template.spec.containers.imagePullPolicy", "Always IfNotPresent Never", false}, \
        {roles ".*.template.spec.containers.command", "w", false},                                 \
        {roles ".*.template.spec.containers.workingDir", "s", false},                              \
        {roles ".*.template.spec.containers.env", "l", false},                                     \
        {roles ".*.template.spec.containers.env.name", "s", false},                                \
        {roles ".*.template.spec.containers.env.value", "s", false},                               \
        {roles ".*.template.spec.containers.env.valueFrom", "m", false},                           \
        {roles ".*.template.spec.containers.env.valueFrom.secretKeyRef", "m", false},              \
        {roles ".*.template.spec.containers.env.valueFrom.secretKeyRef.name", "s", false},         \
        {roles ".*.template.spec.containers.env.valueFrom.secretKeyRef.key", "s", false},          \
        {roles ".*.template.spec.containers.resources", "m", false},                               \
        {roles ".*.template.spec.containers.resources.limits", "m", false},                        \
        {roles ".*.template.spec.containers.resources.limits.cpu", "q", false},                    \
        {roles ".*.template.spec.containers.resources.limits.memory", "q", false},                 \
        {roles ".*.template.spec.containers.volumeMounts", "l", false},                            \
        {roles ".*.template.spec.containers.volumeMounts.name", "n", false},                       \
        {roles ".*.template.spec.containers.volumeMounts.mountPath", "s", false},                  \
        {roles ".*.template.spec.volumes", "l", false},                                            \
        {roles ".*.template.spec.volumes.name", "n", false},                                       \
        {roles ".*.template.spec.volumes.configMap", "m", false},                                  \
        {roles ".*.template.spec.volumes.configMap.name", "s", false},                             \
        {roles ".*.template.spec.volumes.persistentVolumeClaim", "m", false}, {                    \
        roles ".*.template.spec.volumes.persistentVolumeClaim.claimName", "s", false               \
    }

#define HEAD(api, kind)                                                                            \
    {"apiVersion", api, true}, {"kind", kind, true}, {"metadata", "m", true},                      \
        {"metadata.name", "n", true}, {"metadata.namespace", "n", false}, {"spec", "m", true},     \
        {"spec.runPolicy", "m", false},                                                            \
        {"spec.runPolicy.cleanPodPolicy", "None Running All", false},                              \
        {"spec.runPolicy.backoffLimit", "i", false},                                               \
        {"spec.runPolicy.ttlSecondsAfterFinished", "i", false},                                    \
        {"spec.runPolicy.activeDeadlineSeconds", "i", false},                                      \
        {"spec.runPolicy.schedulingPolicy", "m", false},                                           \
        {"spec.runPolicy.schedulingPolicy.queue", "s", false}, {                                   \
        "spec.runPolicy.schedulingPolicy.priorityClass", "s", false                                \
    }

static const row mpijob[] = {
    HEAD("kubeflow.org/v2beta1", "MPIJob"),
    {"spec.slotsPerWorker", "i", false},
    {"spec.runLauncherAsWorker", "b", false},
    {"spec.mpiImplementation", "OpenMPI Intel MPICH", false},
    {"spec.sshAuthMountPath", "s", false},
    {"spec.launcherCreationPolicy", "AtStartup WaitForWorkersReady", false},
    {"spec.mpiReplicaSpecs.*.restartPolicy", "Never OnFailure", false},
    {"spec.mpiReplicaSpecs.Launcher", "m", true},
    POD("spec.mpiReplicaSpecs"),
    {NULL, NULL, false},
};
static const row pytorchjob[] = {
    HEAD("kubeflow.org/v1", "PyTorchJob"),
    {"spec.nprocPerNode", "q", false}, /* a text, also when it is a number */
    {"spec.elasticPolicy", "m", false},
    {"spec.elasticPolicy.minReplicas", "i", false},
    {"spec.elasticPolicy.maxReplicas", "i", false},
    {"spec.elasticPolicy.rdzvBackend", "c10d etcd etcd-v2", false},
    {"spec.elasticPolicy.maxRestarts", "i", false},
    {"spec.pytorchReplicaSpecs.*.restartPolicy", "Always OnFailure Never ExitCode", false},
    POD("spec.pytorchReplicaSpecs"),
    {NULL, NULL, false},
};

static const char *wrong; /* the first path that does not fit; NULL: all do */

/* Does the path fit the row's, in which * is one part? */
static bool fits(const char *pattern, const char *path) {
    while (*pattern && *path) {
        if (*pattern == '*') {
            path += strcspn(path, ".");
            pattern++;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return !*pattern && !*path;
}

static bool is_label(const char *t) {
    size_t n = strlen(t);
    return n > 0 && n <= 63 && *t >= 'a' && *t <= 'z' && t[n - 1] != '-' &&
           strspn(t, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static bool is_word_of(const char *all, const char *word) {
    size_t n = strlen(word);
    for (const char *p = all; n && (p = strstr(p, word)); p++)
        if ((p == all || p[-1] == ' ') && (!p[n] || p[n] == ' ')) return true;
    return false;
}

static bool has_type(const char *type, const cr_conf_node *n) {
    bool yes, scalar = n->kind == CR_NODE_SCALAR;
    if (strcmp(type, "m") == 0) return n->kind == CR_NODE_MAP;
    if (strcmp(type, "l") == 0 || strcmp(type, "w") == 0) {
        if (n->kind != CR_NODE_LIST) return false;
        for (size_t i = 0; i < n->n; i++)
            if ((n->v[i].val->kind == CR_NODE_MAP) != (*type == 'l')) return false;
        return true;
    }
    if (!scalar) return false;
    if (strcmp(type, "i") == 0)
        return !n->quoted && n->len && strspn(n->text, "0123456789") == n->len;
    if (strcmp(type, "b") == 0) return !n->quoted && cr_conf_read_bool(n, &yes);
    if (strcmp(type, "q") == 0) return n->quoted && n->len;
    if (strcmp(type, "n") == 0) return is_label(n->text);
    if (strcmp(type, "s") == 0) return n->len > 0;
    return is_word_of(type, n->text);
}

static void walk(const row *rows, const cr_conf_node *map, const char *prefix, cr_arena *a) {
    for (size_t i = 0; i < map->n && !wrong; i++) {
        const char *path = cr_arena_printf(a, "%s%s%s", prefix, *prefix ? "." : "", map->v[i].key);
        const cr_conf_node *val = map->v[i].val;
        const row *r = rows;
        while (r->path && !fits(r->path, path))
            r++;
        if (!r->path || !has_type(r->type, val)) wrong = path;
        if (wrong) return;
        if (val->kind == CR_NODE_MAP) walk(rows, val, path, a);
        for (size_t k = 0; val->kind == CR_NODE_LIST && k < val->n; k++)
            if (val->v[k].val->kind == CR_NODE_MAP) walk(rows, val->v[k].val, path, a);
    }
}

static bool is_there(const cr_conf_node *n, const char *path) {
    size_t k = strcspn(path, ".");
    if (n->kind == CR_NODE_LIST) {
        for (size_t i = 0; i < n->n; i++)
            if (!is_there(n->v[i].val, path)) return false;
        return n->n > 0;
    }
    if (n->kind != CR_NODE_MAP) return false;
    bool any = false;
    for (size_t i = 0; i < n->n; i++) {
        if (*path != '*' && (strncmp(n->v[i].key, path, k) != 0 || n->v[i].key[k])) continue;
        any = !path[k] || is_there(n->v[i].val, path + k + 1);
        if (*path == '*' && !any) return false; /* every role needs it */
    }
    return any;
}

/* The first thing that the operator would refuse; NULL: none. */
static const char *refused(const row *rows, const char *text, cr_arena *a) {
    cr_conf_doc doc;
    cr_diag diag;
    cr_diag_init(&diag);
    cr_conf_doc_init(&doc);
    wrong = NULL;
    if (cr_conf_parse(&doc, CR_SYNTAX_YAML, "job.yaml", text, strlen(text), &diag) != CR_OK)
        wrong = "no YAML";
    else
        walk(rows, doc.root, "", a);
    for (const row *r = rows; r->path && !wrong; r++)
        if (r->needed && !is_there(doc.root, r->path)) wrong = r->path;
    cr_conf_doc_clear(&doc);
    cr_diag_clear(&diag);
    return wrong;
}

static const char *file(cr_arena *a, const char *name) {
    cr_buf b;
    cr_err err;
    const char *root = getenv("CRANK_SOURCE_ROOT");
    cr_buf_init(&b);
    const char *path = cr_arena_printf(a, "%s/tests/cli/submit/%s", root ? root : ".", name);
    const char *out = "";
    if (cr_file_read(path, 0, &b, &err) == CR_OK) out = cr_arena_strndup(a, b.data, b.n);
    cr_buf_clear(&b);
    return out;
}

/* The text with one part replaced. */
static const char *broken(cr_arena *a, const char *text, const char *from, const char *to) {
    const char *p = strstr(text, from);
    if (!p) return text;
    return cr_arena_printf(a, "%.*s%s%s", (int)(p - text), text, to, p + strlen(from));
}

typedef struct change {
    const char *from, *to;
} change;

static void test_kind(const char *name, const row *rows, const change *v) {
    cr_arena a;
    cr_arena_init(&a, 0);
    const char *text = file(&a, name);
    CHECK(*text);
    CHECK(refused(rows, text, &a) == NULL);
    for (; v->from; v++) {
        const char *other = broken(&a, text, v->from, v->to);
        CHECK(other != text);
        CHECK(refused(rows, other, &a) != NULL);
    }
    cr_arena_clear(&a);
}

/* Variables that come from a Secret. */
static const change secret[] = {{"secretKeyRef", "secretRef"},
                                {"key: HADOOP_TOKEN", "keys: HADOOP_TOKEN"},
                                {"valueFrom:", "value:"},
                                {NULL, NULL}};

TEST(mpijob_fits_the_schema) {
    static const change v[] = {{"kubeflow.org/v2beta1", "kubeflow.org/v1"},
                               {"restartPolicy: Never", "restartPolicy: Always"},
                               {"slotsPerWorker: 2", "slotsPerWorker: two"},
                               {"mpiImplementation: OpenMPI", "mpiImplementation: LAM"},
                               {"cleanPodPolicy", "cleanPodsPolicy"},
                               {"    Launcher:", "    Master:"},
                               {"cpu: \"1\"", "cpus: \"1\""},
                               {"name: \"deepfm\"", "name: \"Deep_FM\""},
                               {NULL, NULL}};
    static const change other[] = {{"runLauncherAsWorker: true", "runLauncherAsWorker: yes please"},
                                   {"activeDeadlineSeconds: 3600", "activeDeadlineSeconds: 1h"},
                                   {NULL, NULL}};
    test_kind("mpijob/job.yaml", mpijob, v);
    test_kind("mpich.yaml", mpijob, other);
    test_kind("secret_mpijob.yaml", mpijob, secret);
}

TEST(pytorchjob_fits_the_schema) {
    static const change v[] = {{"kind: PyTorchJob", "kind: PytorchJob"},
                               {"nprocPerNode: \"2\"", "nprocPerNode: 2"},
                               {"restartPolicy: ExitCode", "restartPolicy: Sometimes"},
                               {"replicas: 1", "replicas: -1"},
                               {"image:", "images:"},
                               {"backoffLimit: 3", "backoffLimit: \"3\""},
                               {NULL, NULL}};
    static const change elastic[] = {{"rdzvBackend: c10d", "rdzvBackend: static"},
                                     {"minReplicas: 1", "minReplica: 1"},
                                     {"priorityClass", "priorityclass"},
                                     {NULL, NULL}};
    test_kind("pytorchjob/job.yaml", pytorchjob, v);
    test_kind("elastic.yaml", pytorchjob, elastic);
    test_kind("secret_pytorchjob.yaml", pytorchjob, secret);
}

TEST_MAIN(CASE(mpijob_fits_the_schema), CASE(pytorchjob_fits_the_schema))
