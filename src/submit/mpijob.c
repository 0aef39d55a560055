/*
 * mpijob.c - Kubeflow's MPIJob, kubeflow.org/v2beta1: a launcher pod with mpirun, worker pods with
 * sshd, which the operator starts. Open MPI's names of flags; MPICH and Intel have Hydra's.
 */
#include <string.h>

#include "base/json.h"
#include "base/shown.h"
#include "submit/kube.h"
#include "submit/list.h"

typedef struct keys {
    CR_KUBE_MEMBERS;
    const char *mpi_implementation, *ssh_auth_mount_path, *launcher_creation_policy;
    bool run_launcher_as_worker;
} keys;
static const cr_field fields[] = {
    CR_KUBE_ROWS(keys),
    CR_STR(keys, mpi_implementation, "OpenMPI", 0, "OpenMPI, Intel or MPICH: that of the image"),
    CR_STR(keys, ssh_auth_mount_path, NULL, 0, "where the keys of ssh are; /root/.ssh without it"),
    CR_STR(keys, launcher_creation_policy, "WaitForWorkersReady", 0,
           "AtStartup or WaitForWorkersReady"),
    CR_BOOL(keys, run_launcher_as_worker, false, 0, "the launcher's pod has ranks, too"),
    CR_END,
};
static const cr_msg msg = {"mpijob", "Kubeflow's MPIJob", fields, sizeof(keys), false, true, NULL,
                           NULL};

static void check(cr_submit *s) {
    static const char *const mpis[] = {"OpenMPI", "Intel", "MPICH", NULL};
    static const char *const policies[] = {"AtStartup", "WaitForWorkersReady", NULL};
    keys *k = s->keys;
    cr_kube_check(s, "-worker-", k->nodes - 1);
    cr_check_one_of(s, k, "mpi_implementation", k->mpi_implementation, mpis);
    cr_check_one_of(s, k, "launcher_creation_policy", k->launcher_creation_policy, policies);
    if (cr_conf_has(k, "max_restarts"))
        cr_submit_warn(s, cr_conf_at(k, "max_restarts"),
                       "max_restarts has no effect in an MPIJob, whose ranks mpirun starts; "
                       "backoff_limit starts the launcher again");
}

typedef struct variables {
    cr_submit *s;
    const char **v;
    int n;
} variables;

/* mpirun gives the variables of the launcher to the ranks. */
static void pass(void *ctx, const char *name, const char *value) {
    variables *x = ctx;
    (void)value;
    x->v[x->n++] = "-x";
    x->v[x->n++] = name;
}

static cr_code write_files(cr_submit *s, cr_buf *b, cr_err *err) {
    const keys *k = s->keys;
    bool open = strcmp(k->mpi_implementation, "OpenMPI") == 0;
    int64_t ranks = (k->nodes + k->run_launcher_as_worker) * k->ranks_per_node;
    const char *n = cr_arena_printf(s->a, "%lld", (long long)ranks);
    const cr_conf_node *env = cr_unboxed(k->env);
    const char **first = CR_NEW_N(s->a, const char *, (env ? 2 * (int64_t)env->n : 0) + 16);
    variables x = {s, first, 0};
    first[x.n++] = open ? "mpirun" : "mpiexec";
    if (open) first[x.n++] = "--allow-run-as-root";
    first[x.n++] = open ? "-np" : "-n";
    first[x.n++] = n;
    if (open) {
        first[x.n++] = "--bind-to";
        first[x.n++] = "none";
        cr_place_each(s, pass, &x);
    }
    first[x.n++] = *k->crank ? k->crank : "crank";
    const char *const *command =
        cr_kube_words(s, first,
                      cr_arena_printf(s->a, " --threads %lld", (long long)k->threads_per_rank));
    cr_kube_head(s, b, "kubeflow.org/v2beta1", "MPIJob");
    cr_buf_printf(b, "  slotsPerWorker: %lld\n  mpiImplementation: %s\n",
                  (long long)k->ranks_per_node, k->mpi_implementation);
    cr_buf_printf(b, "  launcherCreationPolicy: %s\n", k->launcher_creation_policy);
    if (k->run_launcher_as_worker) cr_buf_str(b, "  runLauncherAsWorker: true\n");
    if (*k->ssh_auth_mount_path) {
        cr_buf_str(b, "  sshAuthMountPath: ");
        cr_json_escape(b, k->ssh_auth_mount_path, strlen(k->ssh_auth_mount_path));
        cr_buf_char(b, '\n');
    }
    cr_kube_policy(s, b);
    cr_buf_str(b, "  mpiReplicaSpecs:\n");
    cr_kube_pod launcher = {"Launcher", "OnFailure", "launcher",
                            1,          command,     !k->run_launcher_as_worker,
                            false};
    cr_kube_pod worker = {"Worker", "Never", "worker", k->nodes, NULL, false, false};
    cr_kube_role(s, b, &launcher);
    cr_kube_role(s, b, &worker);
    return cr_kube_files(s, b, "mpijob", cr_arena_printf(s->a, "job/%s-launcher", k->job_name),
                         false, err);
}

const cr_backend cr_backend_mpijob = {
    .name = "mpijob",
    .help = "Kubernetes, by Kubeflow's MPIJob v2beta1",
    .msg = &msg,
    .client = "kubectl",
    .version = "kubectl version --client",
    .most_bytes = CR_KUBE_LIMIT,
    .most_why = "a ConfigMap of Kubernetes",
    .check = check,
    .write = write_files,
    .answer = cr_kube_answer,
};
