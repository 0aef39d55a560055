/*
 * paddlecloud.h - what the two files of PaddleCloud share: the keys of backend.yaml as they were
 * read and checked (paddlecloud.c), from which the folder is written (paddlecloud_files.c).
 */
#ifndef CR_SUBMIT_PADDLECLOUD_H
#define CR_SUBMIT_PADDLECLOUD_H

#include "submit/submit_int.h"

#define CR_CLOUD_FLAGS 7 /* of the communicator */

typedef struct cr_cloud_flags {
    cr_conf_base base;
    const char *FLAGS_communicator_is_sgd_optimizer, *FLAGS_communicator_send_queue_size;
    const char *FLAGS_communicator_thread_pool_size, *FLAGS_communicator_max_merge_var_num;
    const char *FLAGS_communicator_max_send_grad_num_before_recv;
    const char *FLAGS_communicator_fake_rpc, *FLAGS_rpc_retry_times;
} cr_cloud_flags;
/* Their names, in the order of config.ini. */
extern const cr_field cr_cloud_flag_fields[];

typedef struct cr_cloud_config {
    cr_conf_base base;
    const char *paddle_version, *fs_name, *fs_ugi, *output_path, *train_data_path;
    const char *test_data_path, *thirdparty_path, *afs_remote_mount_point;
    int64_t use_python3;
    cr_cloud_flags *communicator;
} cr_cloud_config;

typedef struct cr_cloud_submit {
    cr_conf_base base;
    const char *ak, *sk, *priority, *job_name, *group, *start_cmd, *binary, *crank;
    const cr_conf_node *files;
    int64_t nodes, k8s_trainers, k8s_cpu_cores, k8s_gpu_card, k8s_ps_num, k8s_ps_cores;
} cr_cloud_submit;

/* The kinds of jobs. */
enum { CR_CLOUD_NONE, CR_CLOUD_MPI_PS, CR_CLOUD_K8S_COLLECTIVE, CR_CLOUD_K8S_PS };

typedef struct cr_cloud_keys {
    cr_conf_base base;
    const char *backend, *cluster_type;
    cr_cloud_config *config;
    cr_cloud_submit *submit;
    /* found by the checks */
    int mode;
    int64_t threads; /* max_thread_num */
    const char *fs_ugi, *ak, *sk, *flags[CR_CLOUD_FLAGS], *start;
    int64_t cores;
} cr_cloud_keys;

/* cr_cloud_write makes the files of the folder; cr_cloud_answer finds the job's id. */
CR_CHECKED cr_code cr_cloud_write(cr_submit *s, cr_buf *b, cr_err *err);
const char *cr_cloud_answer(cr_submit *s, const char *text);

#endif
