/*
 * paddlecloud_files.c - the folder of a job of PaddleCloud: before_hook.sh, config.ini, job.sh and
 * end_hook.sh, with PaddleRec's lines in PaddleRec's order, and what `crank jobs` asks.
 *
 * Files whose names begin with a dot stay here, because the client uploads all others. .client.sh
 * is the client without its keys in `ps`: it takes ak and sk only as flags, and anybody on the
 * machine may read the flags of a running program. So job.sh gives it the words @ak and @sk, and
 * .hide-args.so (hide_args.c) puts the keys in their places inside the client.
 */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/plugin.h"
#include "submit/paddlecloud.h"

static void before_hook(const cr_submit *s, const cr_cloud_keys *k, cr_buf *b) {
    const char *crank = *k->submit->crank ? k->submit->crank : "crank";
    cr_buf_str(b, "#!/bin/sh\n"
                  "# before_hook.sh - runs on each node before training: puts crank in its place.\n"
                  "echo \"Run before_hook.sh ...\"\n");
    if (s->bundle)
        cr_buf_str(b, "tar xzf crank.tar.gz || exit 1\nchmod +x crank || exit 1\n./crank version "
                      "|| exit 1\n");
    else
        cr_buf_printf(b, "%s version || exit 1\n", cr_sh(s->a, crank));
    cr_buf_str(b, "chmod 600 crank_secret || exit 1\necho \"End before_hook.sh ...\"\n");
}

static void config_ini(const cr_cloud_keys *k, cr_buf *b) {
    const cr_cloud_config *c = k->config;
    if (k->mode == CR_CLOUD_MPI_PS) {
        cr_buf_str(b, "storage_type=\"hdfs\"\nforce_reuse_output_path=\"True\"\n");
        cr_buf_printf(b, "fs_name=%s\nfs_ugi=%s\nFLAGS_rpc_deadline=300000\n", c->fs_name,
                      k->fs_ugi);
        cr_buf_printf(b, "train_data_path=%s\ntest_data_path=%s\noutput_path=%s\n",
                      c->train_data_path, c->test_data_path, c->output_path);
        cr_buf_printf(b, "thirdparty_path=%s\n", c->thirdparty_path);
    } else {
        cr_buf_printf(b, "fs_name=%s\nfs_ugi=%s\noutput_path=%s\n", c->fs_name, k->fs_ugi,
                      c->output_path);
        cr_buf_printf(b, "mount_afs=\"true\"\nAFS_REMOTE_MOUNT_POINT=%s\n",
                      c->afs_remote_mount_point);
        cr_buf_str(b, "afs_local_mount_point=\"/root/paddlejob/workspace/env_run/afs/\"\n");
    }
    cr_buf_printf(b, "PADDLE_PADDLEREC_ROLE=WORKER\nPADDLEREC_CLUSTER_TYPE=%s\n",
                  k->mode == CR_CLOUD_MPI_PS ? "MPI" : "K8S");
    cr_buf_printf(b, "use_python3=%lld\nCPU_NUM=%lld\nGLOG_v=0\n", (long long)c->use_python3,
                  (long long)k->threads);
    for (int i = 0; i < CR_CLOUD_FLAGS; i++)
        cr_buf_printf(b, "%s=%s\n", cr_cloud_flag_fields[i].name, k->flags[i]);
}

/* The shell's `*` leaves out names with a dot; those that the user listed go along all the same. */
static void files_line(const cr_submit *s, cr_buf *b) {
    cr_buf_str(b, "    --files ./*");
    cr_folder_dots(s, b, "./");
    cr_buf_str(b, " \\\n");
}

static void client_call(const cr_submit *s, const cr_cloud_keys *k, cr_buf *b) {
    const cr_cloud_submit *j = k->submit;
    cr_buf_str(b, "paddlecloud job --ak @ak --sk @sk train \\\n"
                  "    --job-name \"${job_name}\" \\\n");
    if (k->mode == CR_CLOUD_MPI_PS) {
        cr_buf_printf(b,
                      "    --mpi-priority \"${priority}\" \\\n"
                      "    --group-name \"${group_name}\" \\\n"
                      "    --mpi-wall-time \"${wall_time}\" \\\n"
                      "    --mpi-nodes %lld \\\n"
                      "    --is-standalone 0 \\\n"
                      "    --permission group \\\n"
                      "    --job-version \"${job_version}\" \\\n"
                      "    --job-conf config.ini \\\n"
                      "    --start-cmd \"${start_cmd}\" \\\n",
                      (long long)j->nodes);
        files_line(s, b);
        cr_buf_str(b, "    --json >.answer\n");
    } else {
        cr_buf_str(b, "    --group-name \"${group_name}\" \\\n"
                      "    --job-conf config.ini \\\n"
                      "    --start-cmd \"${start_cmd}\" \\\n");
        files_line(s, b);
        cr_buf_str(b, "    --job-version \"${job_version}\" \\\n");
    }
    if (k->mode == CR_CLOUD_K8S_COLLECTIVE)
        cr_buf_str(b, "    --k8s-trainers \"${k8s_trainers}\" \\\n"
                      "    --k8s-cpu-cores \"${k8s_cpu_cores}\" \\\n"
                      "    --k8s-gpu-cards \"${k8s_gpu_cards}\" \\\n"
                      "    --k8s-priority \"${priority}\" \\\n"
                      "    --wall-time \"${wall_time}\" \\\n"
                      "    --is-standalone ${is_standalone} \\\n"
                      "    --json \\\n"
                      "    ${distribute_job_type} >.answer\n");
    if (k->mode == CR_CLOUD_K8S_PS)
        cr_buf_printf(b,
                      "    --k8s-priority \"${priority}\" \\\n"
                      "    --wall-time \"${wall_time}\" \\\n"
                      "    --k8s-trainers %lld \\\n"
                      "    --k8s-cpu-cores %lld \\\n"
                      "    --k8s-ps-num %lld \\\n"
                      "    --k8s-ps-cores %lld \\\n"
                      "    --is-standalone 0 \\\n"
                      "    --distribute-job-type \"PSERVER\" \\\n"
                      "    --json >.answer\n",
                      (long long)j->k8s_trainers, (long long)k->cores, (long long)j->k8s_ps_num,
                      (long long)j->k8s_ps_cores);
}

static void job_sh(const cr_submit *s, const cr_cloud_keys *k, cr_buf *b) {
    const cr_cloud_submit *j = k->submit;
    cr_buf_str(b, "#!/bin/sh\n"
                  "# job.sh - submits the files of this folder; run it again after changes: sh "
                  "job.sh\n"
                  "# It holds keys: keep the folder to yourself.\n"
                  "cd \"$(dirname \"$0\")\" || exit 1\n"
                  ". ./.client.sh\n"
                  "unset http_proxy https_proxy\n"
                  "# the nodes of this job know each other by it\n"
                  "[ -s crank_secret ] || (umask 077 && head -c 32 /dev/urandom | base64 "
                  ">crank_secret)\n");
    cr_buf_printf(b, "job_name=%s\n", cr_sh_double(s->a, j->job_name));
    cr_buf_printf(b, "group_name=%s\n", cr_sh_double(s->a, j->group));
    cr_buf_str(b, "job_version=\"paddle-fluid-v1.7.1\"\n");
    cr_buf_printf(b, "start_cmd=%s\n", cr_sh_double(s->a, k->start));
    cr_buf_str(b, "wall_time=\"2000:00:00\"\n");
    cr_buf_printf(b, "priority=%s\n", cr_sh_double(s->a, j->priority));
    cr_buf_printf(b, "ak=%s\n", cr_sh_double(s->a, k->ak));
    cr_buf_printf(b, "sk=%s\n", cr_sh_double(s->a, k->sk));
    if (k->mode == CR_CLOUD_K8S_COLLECTIVE)
        cr_buf_printf(
            b,
            "k8s_trainers=%lld\nk8s_cpu_cores=%lld\nk8s_gpu_cards=%lld\n"
            "is_standalone=0\n"
            "distribute_job_type=\"--distribute-job-type NCCL2\"\n"
            "if [ ${k8s_trainers} -eq 1 ]; then\n"
            "    is_standalone=1\n"
            "    distribute_job_type=\"--job-remark single-trainer\"\n"
            "fi\n"
            "if [ ${k8s_trainers} -eq 1 ] && [ ${k8s_gpu_cards} -eq 1 ]; then\n"
            "    distribute_job_type=\"--job-remark single-gpu\"\n"
            "    echo \"Attention: Use single GPU card for PaddleRec distributed training, "
            "please set runner class from 'cluster_train' to 'train' in config.yaml.\"\n"
            "fi\n",
            (long long)j->k8s_trainers, (long long)k->cores, (long long)j->k8s_gpu_card);
    client_call(s, k, b);
    cr_buf_str(b, "code=$?\ncat .answer\nexit $code\n");
}

/* The client's words for jobs are `state`, `info` and `kill`; it has none for logs, and `info`
 * names the page of each trainer's machine, whose address tells where the text of the log is. */
static void jobs_sh(cr_buf *b) {
    cr_buf_str(
        b, "#!/bin/sh\n"
           "# .jobs.sh VERB ID - what 'crank jobs' asks the client; change the lines where "
           "your client has other words.\n"
           ". ./.client.sh\n"
           "eval \"$(grep -E '^(ak|sk)=' job.sh)\"\n"
           "unset http_proxy https_proxy\n"
           "ask() { paddlecloud job --ak @ak --sk @sk \"$@\"; }\n"
           "texts() { tr ',{}' '\\n\\n\\n' | sed -n 's/^ *\"'\"$1\"'\" *: "
           "*\"\\([^\"]*\\)\".*/\\1/p'; }\n"
           "state() { ask state \"$1\" | texts jobStatus | head -n 1; }\n"
           "pods() { ask info \"$1\" | texts logUrl; }\n"
           "# http://HOST/x/y/CONTAINER/... is the page of a trainer\n"
           "log() {\n"
           "    host=$(echo \"$2\" | cut -d / -f 3) container=$(echo \"$2\" | cut -d / -f 6)\n"
           "    curl -sS -f \"http://$host/filetree?action=cat&path=/home/work/containers_backup/"
           "$container/root/paddlejob/workspace/log/train.log\" ||\n"
           "        echo \"the log is at $2\" >&2\n"
           "}\n"
           "case $1 in\n"
           "state) state \"$2\" ;;\n"
           "stop) ask kill \"$2\" ;;\n");
    cr_jobs_polled(b, "*success* | *fail* | *killed*", 60);
    cr_buf_str(b, "esac\n");
}

static void client_sh(cr_buf *b) {
    cr_buf_str(
        b,
        "# .client.sh - read by job.sh and .jobs.sh: the client, whose keys 'ps' does not show.\n"
        "# .hide-args.so puts the keys of descriptor 9 in the places of @ak and @sk inside it. "
        "Where that does not work,\n"
        "# write \"${ak}\" and \"${sk}\" in their places and leave out the line that reads this "
        "file.\n"
        "paddlecloud() {\n"
        "    hide=$PWD/.hide-args.so\n"
        "    case $hide in *[\\ :]*) hide=./.hide-args.so ;; esac\n"
        "    : >.hiding.$$\n"
        "    env LD_PRELOAD=\"$hide${LD_PRELOAD:+:$LD_PRELOAD}\" CRANK_HIDE=\"$PWD/.hiding.$$\" "
        "paddlecloud \"$@\" 9<<KEYS\n"
        "@ak ${ak}\n"
        "@sk ${sk}\n"
        "KEYS\n"
        "    code=$?\n"
        "    [ $code -eq 127 ] || [ ! -e .hiding.$$ ] || echo \"the client did not get its keys, "
        "because .hide-args.so was not loaded into it; .client.sh says what to do\" >&2\n"
        "    rm -f .hiding.$$\n"
        "    return $code\n"
        "}\n");
}

cr_code cr_cloud_write(cr_submit *s, cr_buf *b, cr_err *err) {
    const cr_cloud_keys *k = s->keys;
    const char *kind = k->mode == CR_CLOUD_MPI_PS ? "mpi" : "k8s";
    char hide[4096];
    cr_submit_say(s, "gen %s before_hook.sh", k->mode == CR_CLOUD_K8S_COLLECTIVE ? "gpu" : "cpu");
    before_hook(s, k, b);
    CR_TRY(cr_folder_put(s, "before_hook.sh", b, err));
    cr_submit_say(s, "gen %s_config.ini", kind);
    config_ini(k, b);
    CR_TRY(cr_folder_put(s, "config.ini", b, err));
    cr_submit_say(s, "gen %s_job.sh", kind);
    job_sh(s, k, b);
    CR_TRY(cr_folder_put(s, "job.sh", b, err));
    cr_submit_say(s, "gen end_hook.sh");
    cr_buf_str(b, "#!/bin/sh\n# end_hook.sh - runs on each node after training.\n"
                  "echo \"Run end_hook.sh ...\"\n");
    CR_TRY(cr_folder_put(s, "end_hook.sh", b, err));
    client_sh(b);
    CR_TRY(cr_folder_put(s, ".client.sh", b, err));
    CR_TRY(cr_plugin_file("hide-args.so", "build or install the two together", hide, sizeof hide,
                          err));
    CR_TRY(cr_file_read(hide, 0, b, err));
    CR_TRY(cr_folder_put(s, ".hide-args.so", b, err));
    jobs_sh(b);
    return cr_folder_put(s, ".jobs.sh", b, err);
}

/* The answer is some lines and a JSON object with jobId. */
const char *cr_cloud_answer(cr_submit *s, const char *text) {
    const char *from = strchr(text, '{'), *to = strrchr(text, '}');
    cr_json *j = NULL;
    cr_err err;
    const char *out = NULL;
    int64_t number;
    if (!from || !to || to < from) return NULL;
    if (cr_json_parse(&j, from, (size_t)(to - from) + 1, &err) != CR_OK) return NULL;
    const cr_json *id = cr_json_get(j, "jobId");
    if (cr_json_str(id) && *cr_json_str(id)) out = cr_arena_strdup(s->a, cr_json_str(id));
    if (!out && cr_json_i64(id, &number)) out = cr_arena_printf(s->a, "%lld", (long long)number);
    cr_json_free(j);
    return out;
}
