/*
 * pytorchjob.c - Kubeflow's PyTorchJob, kubeflow.org/v1: a `crank launch` in every pod.
 *
 * With min_replicas the job is elastic: there are only workers, the first of which is node 0, and
 * pods may come and go. The exit codes of crank fit restartPolicy ExitCode.
 */
#include <string.h>

#include "submit/kube.h"
#include "submit/list.h"

typedef struct keys {
    CR_KUBE_MEMBERS;
    int64_t min_replicas, max_replicas;
} keys;
static const cr_field fields[] = {
    CR_KUBE_ROWS(keys),
    CR_INT(keys, min_replicas, 0, 0, 4096, 0, "elastic: the fewest pods; 0: not elastic"),
    CR_INT(keys, max_replicas, 0, 0, 4096, 0, "elastic: the most pods"),
    CR_END,
};
static const cr_msg msg = {"pytorchjob", "Kubeflow's PyTorchJob",
                           fields,       sizeof(keys),
                           false,        true,
                           NULL,         NULL};

static void check(cr_submit *s) {
    keys *k = s->keys;
    cr_kube_check(s, "-worker-", k->nodes - 1);
    if (k->max_replicas && !k->min_replicas) k->min_replicas = k->max_replicas;
    if (k->min_replicas && !k->max_replicas) k->max_replicas = k->min_replicas;
    if (k->min_replicas > k->max_replicas)
        cr_submit_wrong(s, cr_conf_at(k, "min_replicas"),
                        "min_replicas is %lld and max_replicas %lld; the first is the smaller one",
                        (long long)k->min_replicas, (long long)k->max_replicas);
    if (k->min_replicas && (k->nodes < k->min_replicas || k->nodes > k->max_replicas))
        cr_submit_wrong(
            s, cr_conf_at(k, "nodes"),
            "nodes is %lld and lies not between min_replicas and max_replicas, %lld and "
            "%lld; with these it is the number of pods at the start",
            (long long)k->nodes, (long long)k->min_replicas, (long long)k->max_replicas);
}

static cr_code write_files(cr_submit *s, cr_buf *b, cr_err *err) {
    const keys *k = s->keys;
    bool elastic = k->min_replicas > 0;
    const char *restarts = cr_arena_printf(s->a, "%lld", (long long)k->max_restarts);
    const char *first[] = {
        *k->crank ? k->crank : "crank", "launch", "--max_restarts", restarts, "--", NULL};
    const char *const *command = cr_kube_words(s, first, "");
    cr_kube_head(s, b, "kubeflow.org/v1", "PyTorchJob");
    cr_buf_printf(b, "  nprocPerNode: \"%lld\"\n", (long long)k->ranks_per_node);
    if (elastic)
        cr_buf_printf(b,
                      "  elasticPolicy:\n    minReplicas: %lld\n    maxReplicas: %lld\n"
                      "    rdzvBackend: c10d\n    maxRestarts: %lld\n",
                      (long long)k->min_replicas, (long long)k->max_replicas,
                      (long long)k->max_restarts);
    cr_kube_policy(s, b);
    cr_buf_str(b, "  pytorchReplicaSpecs:\n");
    cr_kube_pod pod = {"Master", "ExitCode", "pytorch", 1, command, false, true};
    if (!elastic) cr_kube_role(s, b, &pod);
    pod.role = "Worker";
    pod.replicas = elastic ? k->nodes : k->nodes - 1;
    if (pod.replicas > 0) cr_kube_role(s, b, &pod);
    return cr_kube_files(s, b, "pytorchjob",
                         cr_arena_printf(s->a, "%s-%s-0", k->job_name,
                                         elastic ? "worker" : "master"),
                         true, err);
}

const cr_backend cr_backend_pytorchjob = {
    .name = "pytorchjob",
    .help = "Kubernetes, by Kubeflow's PyTorchJob v1",
    .msg = &msg,
    .client = "kubectl",
    .version = "kubectl version --client",
    .most_bytes = CR_KUBE_LIMIT,
    .most_why = "a ConfigMap of Kubernetes",
    .check = check,
    .write = write_files,
    .answer = cr_kube_answer,
};
