/*
 * paddlecloud.c - Baidu's PaddleCloud: PaddleRec's backend.yaml, MPI and K8S.
 *
 * Keys, defaults, messages, files and the order of their lines are those of PaddleRec 1.8.5. What
 * is different, on purpose: ak, sk and fs_ugi are not shown; a `#` in a value does no harm; the
 * client's exit code counts; before_hook.sh puts crank in its place instead of Paddle; end_hook.sh
 * says its own name; a job of one card is told from others (the original's test misses a blank and
 * never succeeds); files whose names begin with a dot are uploaded when `files` names them.
 *
 * The platform gives the nodes their roles (TRAINING_ROLE ...), and crank's processes know each
 * other by a secret, which job.sh makes and uploads with the other files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/shown.h"
#include "submit/list.h"
#include "submit/paddlecloud.h"

const cr_field cr_cloud_flag_fields[] = {
    CR_STR(cr_cloud_flags, FLAGS_communicator_is_sgd_optimizer, "0", 0, "the optimizer is SGD"),
    CR_STR(cr_cloud_flags, FLAGS_communicator_send_queue_size, NULL, 0, "gradients that wait"),
    CR_STR(cr_cloud_flags, FLAGS_communicator_thread_pool_size, "32", 0, "threads that send"),
    CR_STR(cr_cloud_flags, FLAGS_communicator_max_merge_var_num, NULL, 0,
           "gradients that are added"),
    CR_STR(cr_cloud_flags, FLAGS_communicator_max_send_grad_num_before_recv, NULL, 0,
           "gradients sent before parameters are fetched"),
    CR_STR(cr_cloud_flags, FLAGS_communicator_fake_rpc, "0", 0, "nothing is sent"),
    CR_STR(cr_cloud_flags, FLAGS_rpc_retry_times, "3", 0, "how often a call is tried"),
    CR_END,
};
static const cr_msg flags_msg = {"communicator",
                                 "Flags of the communicator",
                                 cr_cloud_flag_fields,
                                 sizeof(cr_cloud_flags),
                                 false,
                                 true,
                                 NULL,
                                 NULL};

static const cr_field config_fields[] = {
    CR_STR(cr_cloud_config, paddle_version, "1.7.2", 0, "without effect: crank needs no Paddle"),
    CR_INT(cr_cloud_config, use_python3, 0, 0, 1, 0, "0 or 1"),
    CR_STR(cr_cloud_config, fs_name, NULL, 0, "afs://host:port or hdfs://host:port"),
    CR_STR(cr_cloud_config, fs_ugi, NULL, 0, "user,password of the file system"),
    CR_STR(cr_cloud_config, output_path, NULL, 0, "remote folder of the output, without a scheme"),
    CR_STR(cr_cloud_config, train_data_path, NULL, 0, "MPI: remote folder of the training data"),
    CR_STR(cr_cloud_config, test_data_path, NULL, 0, "MPI: remote folder of the test data"),
    CR_STR(cr_cloud_config, thirdparty_path, NULL, 0, "MPI: remote folder of other files"),
    CR_STR(cr_cloud_config, afs_remote_mount_point, NULL, 0,
           "K8S: remote folder mounted as ./afs/"),
    CR_MSG_MADE(cr_cloud_config, communicator, &flags_msg, 0, "flags of the communicator"),
    CR_END,
};
static const cr_msg config_msg = {"config",      "The file system and the program",
                                  config_fields, sizeof(cr_cloud_config),
                                  false,         true,
                                  NULL,          NULL};

static const cr_field submit_fields[] = {
    CR_STR(cr_cloud_submit, ak, NULL, 0, "access key"),
    CR_STR(cr_cloud_submit, sk, NULL, 0, "secret key"),
    CR_STR(cr_cloud_submit, priority, "high", 0, "priority in the queue"),
    CR_STR(cr_cloud_submit, job_name, "PaddleRecClusterJob", 0, "name of the job"),
    CR_STR(cr_cloud_submit, group, "paddle", 0, "group of the queue"),
    CR_STR(cr_cloud_submit, start_cmd, NULL, 0, "command of every node"),
    CR_TREE(cr_cloud_submit, files, 0, "files and globs that are uploaded"),
    CR_INT(cr_cloud_submit, nodes, 1, 1, 4096, 0, "MPI: nodes, each a server and a worker"),
    CR_INT(cr_cloud_submit, k8s_trainers, 1, 1, 4096, 0, "K8S: trainers"),
    CR_INT(cr_cloud_submit, k8s_cpu_cores, 0, 1, 4096, 0, "K8S: cores of a trainer"),
    CR_INT(cr_cloud_submit, k8s_gpu_card, 1, 1, 64, 0, "K8S collective: cards of a trainer"),
    CR_INT(cr_cloud_submit, k8s_ps_num, 1, 1, 4096, 0, "K8S ps: servers"),
    CR_INT(cr_cloud_submit, k8s_ps_cores, 2, 1, 4096, 0, "K8S ps: cores of a server"),
    CR_STR(cr_cloud_submit, binary, "bundle", 0,
           "how crank comes to the nodes: bundle, image, path"),
    CR_STR(cr_cloud_submit, crank, NULL, 0,
           "path of crank on the nodes, of binary: image and path"),
    CR_END,
};
static const cr_msg submit_msg = {"submit", "The job", submit_fields, sizeof(cr_cloud_submit),
                                  false,    true,      NULL,          NULL};

static const cr_field key_fields[] = {
    CR_STR(cr_cloud_keys, backend, NULL, 0, "PaddleCloud"),
    CR_STR(cr_cloud_keys, cluster_type, NULL, 0, "mpi or k8s"),
    CR_MSG_MADE(cr_cloud_keys, config, &config_msg, 0, "the file system and the program"),
    CR_MSG_MADE(cr_cloud_keys, submit, &submit_msg, 0, "the job"),
    CR_END,
};
static const cr_msg keys_msg = {"backend.yaml", "PaddleRec's backend.yaml",
                                key_fields,     sizeof(cr_cloud_keys),
                                false,          true,
                                NULL,           NULL};

/* ---- checks ---- */

/* The first runner of `mode`; NULL: the config has none. */
static const cr_conf_node *runner_of(const cr_submit *s) {
    const cr_conf_node *mode = cr_conf_find(s->conf.root, "mode");
    const cr_conf_node *list = cr_conf_find(s->conf.root, "runner");
    if (mode && mode->kind == CR_NODE_LIST && mode->n) mode = mode->v[0].val;
    for (size_t i = 0; mode && mode->text && list && list->kind == CR_NODE_LIST && i < list->n; i++)
        if (list->v[i].val->kind == CR_NODE_MAP &&
            strcmp(cr_conf_find_text(list->v[i].val, "name"), mode->text) == 0)
            return list->v[i].val;
    return NULL;
}

static const char *word(const cr_conf_node *map, const char *key, const char *def) {
    const char *t = cr_conf_find_text(map, key);
    return *t ? t : def;
}

static cr_loc at_key(const cr_conf_node *map, const char *key) {
    const cr_conf_node *n = cr_conf_find(map, key);
    return n ? n->at : map->at;
}

/* Does the runner use this phase? */
static bool has_phase(const cr_conf_node *runner, const char *name) {
    const cr_conf_node *v = cr_conf_find(runner, "phases");
    if (!v) return true;
    if (v->kind != CR_NODE_LIST) return v->text && strcmp(v->text, name) == 0;
    for (size_t i = 0; i < v->n; i++)
        if (v->v[i].val->text && strcmp(v->v[i].val->text, name) == 0) return true;
    return false;
}

/* max_thread_num: the largest thread_num of the runner's phases. */
static int64_t threads_of(const cr_submit *s, const cr_conf_node *runner) {
    const cr_conf_node *v = cr_conf_find(s->conf.root, "phase");
    int64_t most = 1, x;
    for (size_t i = 0; v && v->kind == CR_NODE_LIST && i < v->n; i++) {
        const cr_conf_node *p = v->v[i].val;
        if (p->kind != CR_NODE_MAP || !has_phase(runner, cr_conf_find_text(p, "name"))) continue;
        const char *t = cr_conf_find_text(p, "thread_num");
        if (cr_parse_i64(t, strlen(t), &x) && x > most) most = x;
    }
    return most;
}

/* The platform puts the data to fixed places of a node. That of MPI gives each node another part of
 * it, and the trainers read all parts, over the network (job/parts.c). */
static void check_data(cr_submit *s, bool mpi) {
    const cr_conf_node *v = cr_conf_find(s->conf.root, "dataset");
    for (size_t i = 0; v && v->kind == CR_NODE_LIST && i < v->n; i++) {
        const cr_conf_node *d = v->v[i].val;
        const char *path = d->kind == CR_NODE_MAP ? cr_conf_find_text(d, "data_path") : "";
        bool fits = mpi ? strstr(path, "train_data") || strstr(path, "test_data")
                        : strstr(path, "afs") != NULL;
        if (!*path || strstr(path, "://")) continue;
        if (!fits)
            cr_submit_warn(s, at_key(d, "data_path"),
                           "the nodes have the data in %s; write data_path: \"{workspace}/%s\"",
                           mpi ? "./train_data and ./test_data" : "./afs",
                           mpi ? "train_data" : "afs/<folder>");
    }
}

/* All files of a job lie in one folder of a node. */
static void check_workspace(cr_submit *s) {
    const char *path = cr_conf_find_text(s->conf.root, "workspace");
    if (strcmp(path, ".") != 0 && strcmp(path, "./") != 0 && path[0] != '/')
        cr_submit_warn(s, at_key(s->conf.root, "workspace"),
                       "the nodes have the files of the job in one folder and no folder '%s'; "
                       "write workspace: \"./\"",
                       cr_shown(s->a, path));
}

/* Ranks save together, into a folder that all of them see; in an MPI job the first node writes for
 * all. */
static void check_output(cr_submit *s, const cr_cloud_keys *k, const cr_conf_node *r) {
    const char *path = cr_conf_find_text(r, "save_checkpoint_path");
    bool many = k->mode == CR_CLOUD_K8S_PS ||
                (k->mode == CR_CLOUD_K8S_COLLECTIVE && k->submit->k8s_trainers > 1);
    if (many && *path && !strstr(path, "://") && !strstr(path, "afs"))
        cr_submit_warn(s, at_key(r, "save_checkpoint_path"),
                       "the nodes save a checkpoint together, and each has a folder '%s' of its "
                       "own; write save_checkpoint_path: afs/output",
                       cr_shown(s->a, path));
}

static void check_mode(cr_submit *s, cr_cloud_keys *k) {
    const cr_conf_node *r = runner_of(s);
    cr_loc at = cr_conf_at(k, "cluster_type");
    bool mpi = strcasecmp(k->cluster_type, "mpi") == 0;
    if (!mpi && strcasecmp(k->cluster_type, "k8s") != 0) {
        cr_submit_wrong(s, at, "cluster_type %s error, must in MPI/K8S",
                        cr_shown(s->a, k->cluster_type));
        return;
    }
    if (!s->paddle || !r) {
        cr_submit_wrong(s, s->conf.root->at,
                        "PaddleCloud runs configs of PaddleRec with mode and runner, and this is "
                        "none; another backend takes it");
        return;
    }
    const char *device = word(r, "device", "cpu"), *fleet = word(r, "fleet_mode", "ps");
    const char *class = word(r, "class", "");
    bool cpu = strcasecmp(device, "cpu") == 0, ps = strcasecmp(fleet, "ps") == 0;
    k->threads = threads_of(s, r);
    if (mpi && !(cpu && ps))
        cr_submit_wrong(s, at_key(r, cpu ? "fleet_mode" : "device"),
                        "Paddlecloud with Mpi don't support GPU training, check your config.yaml & "
                        "backend.yaml; write device: cpu and fleet_mode: ps, or cluster_type: k8s");
    else if (!mpi && !cpu && ps)
        cr_submit_wrong(s, at_key(r, "fleet_mode"),
                        "PS-GPU on paddlecloud is not supported at this time, comming soon; write "
                        "fleet_mode: collective or device: cpu");
    else if (!mpi && cpu && !ps)
        cr_submit_wrong(s, at_key(r, "device"),
                        "Unexpected config -> device: CPU with fleet_mode: Collective, check your "
                        "config.yaml; write device: gpu or fleet_mode: ps");
    else
        k->mode = mpi ? CR_CLOUD_MPI_PS : ps ? CR_CLOUD_K8S_PS : CR_CLOUD_K8S_COLLECTIVE;
    bool single = k->mode == CR_CLOUD_K8S_COLLECTIVE && k->submit->k8s_trainers == 1;
    if (strcasecmp(class, "cluster_train") != 0 && !(single && strcasecmp(class, "train") == 0))
        cr_submit_wrong(s, at_key(r, "class"),
                        "the runner's class is '%s', and a job of a cluster has class: "
                        "cluster_train%s",
                        cr_shown(s->a, class), single ? ", or train with one trainer" : "");
    check_workspace(s);
    check_data(s, mpi);
    check_output(s, k, r);
}

/* Keys that the other type of cluster reads. */
static void check_strays(cr_submit *s, const cr_cloud_keys *k) {
    static const struct {
        const char *key;
        bool config;
        unsigned modes; /* bits of the modes that read it */
    } v[] = {
        {"train_data_path", true, 1u << CR_CLOUD_MPI_PS},
        {"test_data_path", true, 1u << CR_CLOUD_MPI_PS},
        {"thirdparty_path", true, 1u << CR_CLOUD_MPI_PS},
        {"afs_remote_mount_point", true, 1u << CR_CLOUD_K8S_COLLECTIVE | 1u << CR_CLOUD_K8S_PS},
        {"nodes", false, 1u << CR_CLOUD_MPI_PS},
        {"k8s_trainers", false, 1u << CR_CLOUD_K8S_COLLECTIVE | 1u << CR_CLOUD_K8S_PS},
        {"k8s_cpu_cores", false, 1u << CR_CLOUD_K8S_COLLECTIVE | 1u << CR_CLOUD_K8S_PS},
        {"k8s_gpu_card", false, 1u << CR_CLOUD_K8S_COLLECTIVE},
        {"k8s_ps_num", false, 1u << CR_CLOUD_K8S_PS},
        {"k8s_ps_cores", false, 1u << CR_CLOUD_K8S_PS},
    };
    static const char *const names[] = {"", "cluster_type: mpi",
                                        "cluster_type: k8s with fleet_mode: collective",
                                        "cluster_type: k8s with fleet_mode: ps"};
    for (size_t i = 0; k->mode && i < sizeof v / sizeof *v; i++) {
        const void *in = v[i].config ? (const void *)k->config : (const void *)k->submit;
        if (cr_conf_has(in, v[i].key) && !(v[i].modes >> k->mode & 1))
            cr_submit_warn(s, cr_conf_at(in, v[i].key), "%s has no effect with %s; remove it",
                           v[i].key, names[k->mode]);
    }
}

static void check_secrets(cr_submit *s, cr_cloud_keys *k) {
    cr_secret v[] = {{"ak", "PADDLECLOUD_AK", k->submit->ak, cr_conf_at(k->submit, "ak")},
                     {"sk", "PADDLECLOUD_SK", k->submit->sk, cr_conf_at(k->submit, "sk")},
                     {"fs_ugi", "PADDLECLOUD_FS_UGI", k->config->fs_ugi,
                      cr_conf_at(k->config, "fs_ugi")}};
    if (cr_secret_find(s, v, 3) != CR_OK) return;
    k->ak = v[0].text;
    k->sk = v[1].text;
    k->fs_ugi = v[2].text;
    s->private = true;
    if (!*k->ak || !*k->sk)
        cr_submit_wrong(s, v[*k->ak ? 1 : 0].at,
                        "No -- AK or SK -- found in your backend.yaml, please check; set %s and %s "
                        "in the environment, or give --secrets FILE with ak=... and sk=...",
                        v[0].env, v[1].env);
    if (!*k->fs_ugi || (!*k->config->fs_name && !cr_conf_refused(k->config, "fs_name")))
        cr_submit_wrong(s, *k->fs_ugi ? cr_conf_at(k->config, "fs_name") : v[2].at,
                        "No -- FS_UGI or FS_NAME -- found in your backend.yaml, please check; "
                        "fs_ugi may also come from %s or --secrets FILE",
                        v[2].env);
    else if (!strchr(k->fs_ugi, ','))
        cr_submit_wrong(s, v[2].at, "fs_ugi has no comma; its form is user,password");
    if (*k->config->fs_name && strncmp(k->config->fs_name, "afs://", 6) != 0 &&
        strncmp(k->config->fs_name, "hdfs://", 7) != 0)
        cr_submit_wrong(s, cr_conf_at(k->config, "fs_name"),
                        "fs_name '%s' begins with neither afs:// nor hdfs://; its form is "
                        "afs://host:port",
                        cr_shown(s->a, k->config->fs_name));
    for (int i = 0; i < 3; i++)
        if (strpbrk(v[i].text, "\n\r"))
            cr_submit_wrong(s, v[i].at, "%s holds a line break; remove it", v[i].key);
}

static void check_flags(cr_submit *s, cr_cloud_keys *k) {
    cr_cloud_flags *f = k->config->communicator;
    const char *most = cr_arena_printf(s->a, "%lld", (long long)k->threads);
    const cr_field *row = cr_cloud_flag_fields;
    for (int i = 0; i < CR_CLOUD_FLAGS; i++, row++) {
        int64_t x;
        const char *given;
        memcpy(&given, (const char *)f + row->offset, sizeof given);
        k->flags[i] = row->str || cr_conf_has(f, row->name) ? given : most;
        if (!cr_parse_i64(k->flags[i], strlen(k->flags[i]), &x))
            cr_submit_wrong(s, cr_conf_at(f, row->name), "%s is '%s' and must be an integer",
                            row->name, cr_shown(s->a, k->flags[i]));
    }
}

static void check_paths(cr_submit *s, const cr_cloud_keys *k) {
    const cr_cloud_config *c = k->config;
    const struct {
        const char *key, *text;
    } v[] = {{"output_path", c->output_path},
             {"train_data_path", c->train_data_path},
             {"test_data_path", c->test_data_path},
             {"thirdparty_path", c->thirdparty_path},
             {"afs_remote_mount_point", c->afs_remote_mount_point}};
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        if (strstr(v[i].text, "://"))
            cr_submit_wrong(s, cr_conf_at(c, v[i].key),
                            "%s has a scheme, which fs_name says; write the path alone", v[i].key);
    for (size_t i = 0; i <= sizeof v / sizeof *v; i++) {
        bool path = i < sizeof v / sizeof *v;
        const char *key = path ? v[i].key : "fs_name";
        if (strpbrk(path ? v[i].text : c->fs_name, "\n\r"))
            cr_submit_wrong(s, cr_conf_at(c, key), "%s holds a line break; remove it", key);
    }
    if (!*c->output_path)
        cr_submit_warn(s, cr_conf_at(c, "output_path"),
                       "Job output_path not set! Please check your backend yaml.");
    if (k->mode == CR_CLOUD_MPI_PS) {
        if (!*c->train_data_path)
            cr_submit_wrong(s, cr_conf_at(c, "train_data_path"),
                            "No -- TRAIN_DATA_PATH -- found in your backend.yaml, please add "
                            "train_data_path in your backend yaml.");
        if (!*c->test_data_path)
            cr_submit_warn(s, cr_conf_at(c, "test_data_path"),
                           "Job test_data_path not set! Please check your backend yaml.");
        if (!*c->thirdparty_path)
            cr_submit_warn(s, cr_conf_at(c, "thirdparty_path"),
                           "Job thirdparty_path not set! Please check your backend yaml.");
    } else if (k->mode) {
        if (!*c->afs_remote_mount_point)
            cr_submit_warn(s, cr_conf_at(c, "afs_remote_mount_point"),
                           "Job afs_remote_mount_point not set! Please check your backend yaml.");
        cr_submit_warn(s, cr_conf_at(c, "afs_remote_mount_point"),
                       "The remote afs path will be mounted to the ./afs/");
    }
}

/* The file behind -m must be among the files that the nodes get. */
static void check_start(cr_submit *s, cr_cloud_keys *k) {
    const char *start = k->submit->start_cmd, *crank = "./crank";
    cr_check_one_of(s, k->submit, "binary", k->submit->binary, cr_binaries);
    s->bundle = strcmp(k->submit->binary, "bundle") == 0;
    if (!s->bundle) crank = *k->submit->crank ? k->submit->crank : "crank";
    if (!cr_conf_has(k->submit, "start_cmd")) {
        bool many = k->mode == CR_CLOUD_K8S_COLLECTIVE &&
                    k->submit->k8s_trainers * k->submit->k8s_gpu_card > 1;
        start = many ? cr_arena_printf(s->a, "launch --nproc-per-node %lld -- run -m %s",
                                       (long long)k->submit->k8s_gpu_card, s->config_name)
                     : cr_arena_printf(s->a, "run -m %s", s->config_name);
        start = cr_arena_printf(s->a, "%s %s", crank, start);
        if (s->model) start = cr_arena_printf(s->a, "%s --builtin %s", start, s->model);
    } else {
        if (strncmp(start, "python", 6) == 0) start = cr_arena_printf(s->a, "%s %s", crank, start);
        if (s->model && !strstr(start, "--builtin"))
            cr_submit_warn(s, cr_conf_at(k->submit, "start_cmd"),
                           "the nodes do not have the folder whose name says that the model is %s; "
                           "add --builtin %s to start_cmd, or write phase.model: builtin:%s",
                           s->model, s->model, s->model);
    }
    if (!start[strspn(start, " \t")])
        cr_submit_wrong(s, cr_conf_at(k->submit, "start_cmd"),
                        "start_cmd is empty, so the nodes would run nothing; leave it out, and "
                        "they run 'crank run -m %s'",
                        cr_shown(s->a, s->config_name));
    const char *m = strstr(start, "-m ");
    while (m && strncmp(m, "-m paddlerec.run", 16) == 0)
        m = strstr(m + 3, "-m ");
    if (m) {
        m += 3;
        while (*m == ' ')
            m++;
        const char *file = cr_arena_strndup(s->a, m, strcspn(m, " ;&|"));
        if (file[0] != '/' && !cr_folder_has(s, cr_path_base(file)))
            cr_submit_wrong(s, cr_conf_at(k->submit, "files"),
                            "start_cmd reads %s, and no pattern of 'files' fits it, so the nodes "
                            "would not have it; add it to files",
                            cr_shown(s->a, file));
    }
    k->start = cr_arena_printf(s->a, "CRANK_JOB_SECRET=$(cat crank_secret) %s", start);
}

/* Names of the files that crank writes itself; the last ones come out of the bundle on a node. */
static void check_names(cr_submit *s, const cr_cloud_keys *k) {
    static const char *const own[] = {
        "before_hook.sh", "config.ini", "job.sh",     "end_hook.sh",   "crank.tar.gz",
        "crank_secret",   ".answer",    ".client.sh", ".hide-args.so", ".jobs.sh",
        "crank",          "bin",        "lib"};
    size_t n = sizeof own / sizeof *own;
    for (size_t i = 0; i < (s->bundle ? n : n - 3); i++)
        if (cr_folder_has(s, own[i]))
            cr_submit_wrong(s, cr_conf_at(k->submit, "files"),
                            "files has %s, a name that the submission writes itself; leave it out",
                            own[i]);
}

static void check(cr_submit *s) {
    cr_cloud_keys *k = s->keys;
    if (!k->config) k->config = cr_conf_bind(s->a, &config_msg, NULL, s->diag);
    if (!k->submit) k->submit = cr_conf_bind(s->a, &submit_msg, NULL, s->diag);
    if (!k->config->communicator)
        k->config->communicator = cr_conf_bind(s->a, &flags_msg, NULL, s->diag);
    if (!k->config->base.node) k->config->base.at = s->doc.root->at;
    if (!k->submit->base.node) k->submit->base.at = s->doc.root->at;
    s->name = k->submit->job_name;
    const cr_conf_node *files = cr_unboxed(k->submit->files);
    if (!files || (files->kind == CR_NODE_SCALAR && !files->len) ||
        (files->kind == CR_NODE_LIST && files->n == 0))
        cr_submit_wrong(s, cr_conf_at(k->submit, "files"),
                        "No -- files -- found in your backend.yaml, please check.");
    else
        cr_folder_files(s, files);
    check_mode(s, k);
    check_strays(s, k);
    check_secrets(s, k);
    check_flags(s, k);
    check_paths(s, k);
    if (files) check_start(s, k);
    check_names(s, k);
    k->cores = cr_conf_has(k->submit, "k8s_cpu_cores") ? k->submit->k8s_cpu_cores
               : k->mode == CR_CLOUD_K8S_COLLECTIVE    ? 1
                                                       : 2;
    if (k->mode == CR_CLOUD_K8S_COLLECTIVE) {
        s->nodes = (int)k->submit->k8s_trainers;
        s->per_node = (int)k->submit->k8s_gpu_card;
    } else if (k->mode) {
        s->nodes = (int)(k->mode == CR_CLOUD_MPI_PS ? k->submit->nodes : k->submit->k8s_trainers);
    }
    if (k->mode == CR_CLOUD_K8S_PS && k->submit->k8s_ps_num + k->submit->k8s_trainers > 4096)
        cr_submit_wrong(s, cr_conf_at(k->submit, "k8s_ps_num"),
                        "%lld servers and %lld trainers are more than 4096 processes",
                        (long long)k->submit->k8s_ps_num, (long long)k->submit->k8s_trainers);
}

/* ---- the table ---- */

static void row(cr_submit *s, const char *key, const char *value) {
    size_t n = strlen(value);
    cr_submit_say(s, "%-48s     %s%-*s", key, n >= 50 ? "... " : "", n >= 50 ? 46 : 50,
                  cr_shown(s->a, n >= 50 ? value + (n - 46) : value));
}

static void row_int(cr_submit *s, const char *key, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    row(s, key, text);
}

static const char *line_of(cr_arena *a, char c) {
    char *out = cr_arena_zalloc(a, 104);
    memset(out, c, 103);
    return out;
}

/* The widest key is a flag. PaddleRec shows ak and sk here. */
static void table(cr_submit *s) {
    const cr_cloud_keys *k = s->keys;
    const cr_cloud_config *c = k->config;
    const cr_cloud_submit *j = k->submit;
    bool mpi = k->mode == CR_CLOUD_MPI_PS;
    cr_submit_say(s, "%s", "");
    cr_submit_say(s, "%s", line_of(s->a, '='));
    cr_submit_say(s, "%*s%-*s     %-50s", 18, "", 30, "Cluster Envs", "Value");
    cr_submit_say(s, "%s", line_of(s->a, '-'));
    row(s, "CLUSTER_TYPE", mpi ? "MPI" : "K8S");
    row(s, "FS_NAME", c->fs_name);
    row(s, "FS_UGI", "(hidden)");
    row(s, "OUTPUT_PATH", c->output_path);
    row(s, "PADDLE_VERSION", c->paddle_version);
    row_int(s, "USE_PYTHON3", c->use_python3);
    row_int(s, "CPU_NUM", k->threads);
    for (int i = 0; i < CR_CLOUD_FLAGS; i++)
        row(s, cr_cloud_flag_fields[i].name, k->flags[i]);
    if (mpi) {
        row(s, "TRAIN_DATA_PATH", c->train_data_path);
        row(s, "TEST_DATA_PATH", c->test_data_path);
        row(s, "THIRDPARTY_PATH", c->thirdparty_path);
    } else {
        row(s, "AFS_REMOTE_MOUNT_POINT", c->afs_remote_mount_point);
    }
    row(s, "AK", "(hidden)");
    row(s, "SK", "(hidden)");
    row(s, "JOB_NAME", j->job_name);
    row(s, "PRIORITY", j->priority);
    row(s, "GROUP_NAME", j->group);
    row(s, "START_CMD", k->start);
    if (mpi) {
        row_int(s, "MPI_NODES", j->nodes);
    } else {
        row_int(s, "K8S_TRAINERS", j->k8s_trainers);
        row_int(s, "K8S_CPU_CORES", k->cores);
    }
    if (k->mode == CR_CLOUD_K8S_COLLECTIVE) row_int(s, "K8S_GPU_CARD", j->k8s_gpu_card);
    if (k->mode == CR_CLOUD_K8S_PS) {
        row_int(s, "K8S_PS_NUM", j->k8s_ps_num);
        row_int(s, "K8S_PS_CORES", j->k8s_ps_cores);
    }
    cr_submit_say(s, "%s", line_of(s->a, '='));
}

const cr_backend cr_backend_paddlecloud = {
    .name = "PaddleCloud",
    .help = "Baidu's PaddleCloud, by PaddleRec's backend.yaml",
    .msg = &keys_msg,
    .client = "paddlecloud",
    .version = "paddlecloud --version",
    .secrets = true,
    .check = check,
    .show = table,
    .write = cr_cloud_write,
    .answer = cr_cloud_answer,
};
