/*
 * env.c - the environment variables of crank and of TorchEasyRec, in one table (env.h).
 *
 * Variables that have no effect for the same reason share the text of that reason: the check
 * reports one line per text, not one per variable.
 */
#include "job/env.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/config.h"

extern char **environ;

#define ONE_SEED "all random numbers come from one seed; set TORCH_MANUAL_SEED or train_config.seed"
#define BY_MPI   "ranks know their place from `crank launch` or from the launcher of MPI"
#define LAUNCHED "only `crank launch` reads it, on platforms that set it; " BY_MPI
#define BY_LETTERS                                                                                 \
    "workers and parameter servers exchange letters by MPI, which needs no such number"
#define OF_SERVERS(key)                                                                            \
    "with parameter servers: `train_config.servers." key                                           \
    "`; wins over the config, `--set` over both"
#define IN_BYTES     "the planner of tables counts memory in bytes"
#define NO_GPU       "crank runs models on CPUs as they are, and compiles nothing for GPUs"
#define WHOLE        "an export is one folder with whole tables; --embedding_dtype says their type"
#define NO_TILE      "a row of crank's predictions always holds its user features too"
#define NO_ONLINE    "exports beside the training are not in this version; run crank export instead"
#define NO_FEATUREDB "nothing is uploaded to FeatureDB in this version"

const cr_env cr_envs[] = {
    {"CRANK_CPU", CR_ENV_TEXT, NULL, NULL,
     "`c`, `avx2`, `avx512`, `avx512_bf16` or `amx`: use no more than this level of the CPU; "
     "results "
     "are the same, but for BF16 products of `avx512_bf16`",
     NULL, false},
    {"LOG_LEVEL", CR_ENV_TEXT, NULL, NULL,
     "`DEBUG`, `INFO`, `WARNING` or `ERROR`; `--log_level` wins", NULL, false},
    {"CRANK_BOARD_TOKEN", CR_ENV_TEXT, NULL, NULL,
     "the token that `crank board` asks for, of 16 letters and digits or more; not set: none on "
     "this machine's own address, a random one on others",
     NULL, false},
    {"TORCH_MANUAL_SEED", CR_ENV_COUNT, "train_config.seed", NULL,
     "the seed of a config that does not set `train_config.seed`; the config that training keeps "
     "remembers it there",
     NULL, false},
    {"USE_FARM_HASH_TO_BUCKETIZE", CR_ENV_BOOL, "data_config.use_farm_hash", NULL,
     "`true`: `hash_bucket_size` uses FarmHash; the config that training keeps remembers it as "
     "`data_config.use_farm_hash`, which wins",
     NULL, false},
    {"USE_RTP", CR_ENV_SWITCH, "data_config.use_rtp", NULL,
     "`1`: features and columns of a `sequence_feature` are named `group_name`, not `group__name`; "
     "the config that training keeps remembers it as `data_config.use_rtp`, which wins",
     NULL, false},
    {"QUANT_EMB", CR_ENV_TEXT, NULL, NULL,
     "type of tables in an export: `FP16`, `BF16`, `INT8` (or `1`); not set or `0`: FP32; "
     "`--embedding_dtype` wins",
     NULL, false},
    {"STORAGE_RESERVE_PERCENT", CR_ENV_SHARE, NULL, NULL,
     "share of the free memory that `crank check` and plans of tables leave to others, 0.15 for "
     "15 %; not set: 0, in plans 0.15",
     NULL, false},
    {"CI_ODPS_PROJECT_NAME", CR_ENV_TEXT, NULL, NULL,
     "replaces `{PROJECT}` in the configs that `crank benchmark` trains", NULL, false},
    {"WORLD_SIZE", CR_ENV_TEXT, NULL, NULL,
     "above 1 without an MPI launcher: refused, because crank would be one of several processes "
     "that do not know each other",
     NULL, false},
    {"PADDLE_PADDLEREC_ROLE", CR_ENV_TEXT, NULL, NULL,
     "`WORKER`: `crank run` trains a runner of class `cluster_train` here; else it is refused, "
     "because PaddleRec would submit a job",
     NULL, false},
    {"CPU_NUM", CR_ENV_TEXT, NULL, NULL,
     "replicas of a runner of class `cluster_train` or `local_cluster_train`, in place of "
     "`thread_num` of its phase",
     NULL, false},
    {"PADDLEREC_CLUSTER_TYPE", CR_ENV_TEXT, NULL, NULL,
     "`MPI`, under `mpiexec` or `mpirun`: even ranks are parameter servers and odd ranks workers; "
     "all ranks read the data files of all hosts (`data_config.host_parts`)",
     NULL, false},
    {"TRAINING_ROLE", CR_ENV_TEXT, NULL, NULL,
     "`PSERVER` or `TRAINER`: the role of this process, with `PADDLE_PSERVERS_IP_PORT_LIST`, "
     "`PADDLE_TRAINERS_NUM`, and `PADDLE_TRAINER_ID` of a trainer or `POD_IP` and `PADDLE_PORT` of "
     "a server; `crank launch` and `crank run` bring the processes together. "
     "`PADDLE_TRAINING_ROLE` is the same",
     NULL, false},
    {"COLUMNS", CR_ENV_TEXT, NULL, NULL, "width of the tables that `crank parquet` prints", NULL,
     false},
    {"TERM", CR_ENV_TEXT, NULL, NULL, "`dumb`: no progress line", NULL, false},
    {"XDG_CONFIG_HOME", CR_ENV_TEXT, NULL, NULL,
     "folder of the list of allowed libraries, `crank/libraries`; not set: `.config` in `HOME`",
     NULL, false},
    {"HOME", CR_ENV_TEXT, NULL, NULL, "see `XDG_CONFIG_HOME`", NULL, false},
    {"OMPI_COMM_WORLD_RANK", CR_ENV_TEXT, NULL, NULL,
     "set by Open MPI's `mpirun`: which rank this process is", NULL, false},
    {"OMPI_COMM_WORLD_SIZE", CR_ENV_TEXT, NULL, NULL,
     "set by Open MPI's `mpirun`: how many ranks there are", NULL, false},
    {"PMI_RANK", CR_ENV_TEXT, NULL, NULL, "set by MPICH's `mpiexec`: which rank this process is",
     NULL, false},
    {"PMI_SIZE", CR_ENV_TEXT, NULL, NULL, "set by MPICH's `mpiexec`: how many ranks there are",
     NULL, false},
    {"PMIX_RANK", CR_ENV_TEXT, NULL, NULL, "set by `srun --mpi=pmix`: which rank this process is",
     NULL, false},
    {"SLURM_NTASKS", CR_ENV_TEXT, NULL, NULL, "set by `srun --mpi=pmix`: how many ranks there are",
     NULL, false},
    {"SLURM_STEP_NUM_TASKS", CR_ENV_TEXT, NULL, NULL,
     "set by `srun`: how many tasks it started; tasks without MPI that would all do the same work "
     "are refused",
     NULL, false},
    {"SLURM_PROCID", CR_ENV_TEXT, NULL, NULL, "set by `srun`: which of its tasks this process is",
     NULL, false},
    {"MPI_LOCALNRANKS", CR_ENV_TEXT, NULL, NULL,
     "set by MPICH's `mpiexec`: a rank that has it ends without MPI_Finalize, which can wait for "
     "ever",
     NULL, false},
    {"PMI_FD", CR_ENV_TEXT, NULL, NULL,
     "set by MPICH's `mpiexec` and `crank launch`: the socket on which a rank says that it leaves",
     NULL, false},
    {"PROCESS_GROUP_TIMEOUT_SECONDS", CR_ENV_TEXT, NULL, NULL,
     "seconds that a rank waits for the others in one exchange before it names those that do not "
     "answer and ends the job; not set: 1800",
     NULL, false},
    {"AWS_ACCESS_KEY_ID", CR_ENV_TEXT, NULL, NULL,
     "key of `s3://` paths, with `AWS_SECRET_ACCESS_KEY`; never printed", NULL, false},
    {"AWS_SECRET_ACCESS_KEY", CR_ENV_TEXT, NULL, NULL,
     "the secret of `AWS_ACCESS_KEY_ID`; never printed", NULL, false},
    {"AWS_SESSION_TOKEN", CR_ENV_TEXT, NULL, NULL,
     "the session token of keys that end; never printed", NULL, false},
    {"AWS_PROFILE", CR_ENV_TEXT, NULL, NULL,
     "section of `~/.aws/credentials` and `~/.aws/config`; not set: `default`", NULL, false},
    {"AWS_SHARED_CREDENTIALS_FILE", CR_ENV_TEXT, NULL, NULL,
     "file of keys; not set: `~/.aws/credentials`", NULL, false},
    {"AWS_CONFIG_FILE", CR_ENV_TEXT, NULL, NULL,
     "file of settings (`region`); not set: `~/.aws/config`", NULL, false},
    {"AWS_REGION", CR_ENV_TEXT, NULL, NULL,
     "region of S3 buckets; not set: `AWS_DEFAULT_REGION`, `~/.aws/config`, `us-east-1`; a bucket "
     "of another region is found by itself",
     NULL, false},
    {"AWS_DEFAULT_REGION", CR_ENV_TEXT, NULL, NULL, "see `AWS_REGION`", NULL, false},
    {"AWS_ENDPOINT_URL_S3", CR_ENV_TEXT, NULL, NULL,
     "address of another store that speaks as S3 does, such as MinIO or Ceph: `http://host:9000`",
     NULL, false},
    {"AWS_ENDPOINT_URL", CR_ENV_TEXT, NULL, NULL, "see `AWS_ENDPOINT_URL_S3`, which wins", NULL,
     false},
    {"AWS_S3_ADDRESSING_STYLE", CR_ENV_TEXT, NULL, NULL,
     "`path` or `virtual`: whether URLs name the bucket in their path or their host; not set: as "
     "the endpoint needs it",
     NULL, false},
    {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", CR_ENV_TEXT, NULL, NULL,
     "where a container asks for its keys", NULL, false},
    {"AWS_CONTAINER_CREDENTIALS_FULL_URI", CR_ENV_TEXT, NULL, NULL, "the same, as a whole address",
     NULL, false},
    {"AWS_CONTAINER_AUTHORIZATION_TOKEN", CR_ENV_TEXT, NULL, NULL, "sent there; never printed",
     NULL, false},
    {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", CR_ENV_TEXT, NULL, NULL,
     "file with that text; it wins", NULL, false},
    {"AWS_WEB_IDENTITY_TOKEN_FILE", CR_ENV_TEXT, NULL, NULL,
     "file with the token of a pod, which is exchanged for keys of `AWS_ROLE_ARN`", NULL, false},
    {"AWS_ROLE_ARN", CR_ENV_TEXT, NULL, NULL, "see `AWS_WEB_IDENTITY_TOKEN_FILE`", NULL, false},
    {"AWS_ROLE_SESSION_NAME", CR_ENV_TEXT, NULL, NULL, "name of that session; not set: `crank`",
     NULL, false},
    {"AWS_ENDPOINT_URL_STS", CR_ENV_TEXT, NULL, NULL,
     "where the token is exchanged; not set: `AWS_ENDPOINT_URL`, "
     "`https://sts.REGION.amazonaws.com`",
     NULL, false},
    {"AWS_EC2_METADATA_V1_DISABLED", CR_ENV_TEXT, NULL, NULL,
     "`true`: a machine that gives no token is not asked for keys", NULL, false},
    {"AWS_EC2_METADATA_DISABLED", CR_ENV_TEXT, NULL, NULL,
     "`true`: the machine is not asked for keys", NULL, false},
    {"AWS_EC2_METADATA_SERVICE_ENDPOINT", CR_ENV_TEXT, NULL, NULL,
     "where the machine is asked for keys; not set: `http://169.254.169.254`", NULL, false},
    {"AWS_CA_BUNDLE", CR_ENV_TEXT, NULL, NULL,
     "file of certificates that `https` trusts; not set: `CURL_CA_BUNDLE`, `SSL_CERT_FILE`, those "
     "of the system",
     NULL, false},
    {"CURL_CA_BUNDLE", CR_ENV_TEXT, NULL, NULL, "see `AWS_CA_BUNDLE`", NULL, false},
    {"SSL_CERT_FILE", CR_ENV_TEXT, NULL, NULL, "see `AWS_CA_BUNDLE`", NULL, false},
    {"HADOOP_CONF_DIR", CR_ENV_TEXT, NULL, NULL,
     "folder of Hadoop's `core-site.xml` and `hdfs-site.xml`, which say where `hdfs://` paths lie; "
     "not set: `etc/hadoop` in `HADOOP_HOME`",
     NULL, false},
    {"HADOOP_HOME", CR_ENV_TEXT, NULL, NULL, "see `HADOOP_CONF_DIR`", NULL, false},
    {"HADOOP_USER_NAME", CR_ENV_TEXT, NULL, NULL, "the user as whom HDFS is asked; not set: `USER`",
     NULL, false},
    {"USER", CR_ENV_TEXT, NULL, NULL, "see `HADOOP_USER_NAME`", NULL, false},
    {"CRANK_HDFS", CR_ENV_TEXT, NULL, NULL,
     "`native`: `hdfs://` paths are read by the RPC of name nodes and data nodes, where the web "
     "interface is closed; `web` or not set: by WebHDFS",
     NULL, false},
    {"HADOOP_TOKEN", CR_ENV_TEXT, NULL, NULL,
     "a delegation token of HDFS as it stands in URLs; never printed", NULL, false},
    {"HADOOP_TOKEN_FILE_LOCATION", CR_ENV_TEXT, NULL, NULL,
     "file of delegation tokens, as Hadoop writes it", NULL, false},
    {"WEBHDFS_URL", CR_ENV_TEXT, NULL, NULL,
     "address that serves all `hdfs://` paths, such as a gateway: `http://httpfs:14000`", NULL,
     false},
    {"OSS_ENDPOINT", CR_ENV_TEXT, NULL, NULL,
     "address of OSS for `oss://bucket/...`: `oss-cn-hangzhou-internal.aliyuncs.com`", NULL, false},
    {"OSS_REGION", CR_ENV_TEXT, NULL, NULL, "region of OSS buckets; not set: that of the endpoint",
     NULL, false},
    {"OSS_ACCESS_KEY_ID", CR_ENV_TEXT, NULL, NULL,
     "key of `oss://` paths, with `OSS_ACCESS_KEY_SECRET`; never printed", NULL, false},
    {"OSS_ACCESS_KEY_SECRET", CR_ENV_TEXT, NULL, NULL,
     "the secret of `OSS_ACCESS_KEY_ID`; never printed", NULL, false},
    {"OSS_SESSION_TOKEN", CR_ENV_TEXT, NULL, NULL,
     "the session token of keys that end; never printed", NULL, false},
    {"ALIBABA_CLOUD_ACCESS_KEY_ID", CR_ENV_TEXT, NULL, NULL,
     "key of Alibaba Cloud where `OSS_ACCESS_KEY_ID` is not set", NULL, false},
    {"ALIBABA_CLOUD_ACCESS_KEY_SECRET", CR_ENV_TEXT, NULL, NULL, "its secret; never printed", NULL,
     false},
    {"ALIBABA_CLOUD_SECURITY_TOKEN", CR_ENV_TEXT, NULL, NULL, "its session token; never printed",
     NULL, false},
    {"ALIBABA_CLOUD_PROFILE", CR_ENV_TEXT, NULL, NULL,
     "section of `~/.alibabacloud/credentials`; not set: `default`", NULL, false},
    {"ALIBABA_CLOUD_CREDENTIALS_FILE", CR_ENV_TEXT, NULL, NULL,
     "file of keys; not set: `~/.alibabacloud/credentials`", NULL, false},
    {"ALIBABA_CLOUD_CREDENTIALS_URI", CR_ENV_TEXT, NULL, NULL, "address that is asked for keys",
     NULL, false},
    {"ALIBABA_CLOUD_OIDC_TOKEN_FILE", CR_ENV_TEXT, NULL, NULL,
     "file with the token of a pod, which is exchanged for keys of `ALIBABA_CLOUD_ROLE_ARN`", NULL,
     false},
    {"ALIBABA_CLOUD_ROLE_ARN", CR_ENV_TEXT, NULL, NULL, "see `ALIBABA_CLOUD_OIDC_TOKEN_FILE`", NULL,
     false},
    {"ALIBABA_CLOUD_OIDC_PROVIDER_ARN", CR_ENV_TEXT, NULL, NULL,
     "who made the token; see `ALIBABA_CLOUD_OIDC_TOKEN_FILE`", NULL, false},
    {"ALIBABA_CLOUD_ROLE_SESSION_NAME", CR_ENV_TEXT, NULL, NULL,
     "name of that session; not set: `crank`", NULL, false},
    {"ALIBABA_CLOUD_STS_ENDPOINT", CR_ENV_TEXT, NULL, NULL,
     "where the token is exchanged; not set: that of `ALIBABA_CLOUD_STS_REGION`", NULL, false},
    {"ALIBABA_CLOUD_STS_REGION", CR_ENV_TEXT, NULL, NULL,
     "region where the token is exchanged; not set: `sts.aliyuncs.com`", NULL, false},
    {"ALIBABA_CLOUD_IMDSV1_DISABLED", CR_ENV_TEXT, NULL, NULL,
     "`true`: a machine that gives no token is not asked for keys", NULL, false},
    {"ALIBABA_CLOUD_ECS_METADATA", CR_ENV_TEXT, NULL, NULL,
     "role whose keys the machine is asked for; not set: its own", NULL, false},
    {"ALIBABA_CLOUD_ECS_METADATA_DISABLED", CR_ENV_TEXT, NULL, NULL,
     "`true`: the machine is not asked for keys", NULL, false},
    {"CRANK_RINGS", CR_ENV_TEXT, NULL, NULL,
     "`off`: ranks of one machine talk through MPI only, not through shared memory of crank's own; "
     "results are the same; not set: `on`",
     NULL, false},
    {"CRANK_BATCH_RANKS", CR_ENV_TEXT, NULL, NULL,
     "set by `crank launch`: the number of ranks whose rows make the global batch, also when a "
     "restarted job has fewer or more",
     NULL, false},
    {"CRANK_JOBS_DIR", CR_ENV_TEXT, NULL, NULL,
     "folder in which `crank submit` keeps what `crank jobs` shows; otherwise `~/.crank/jobs`",
     NULL, false},
    {"PADDLECLOUD_AK", CR_ENV_TEXT, NULL, NULL,
     "`crank submit` to PaddleCloud: the access key, where `backend.yaml` has none", NULL, false},
    {"PADDLECLOUD_SK", CR_ENV_TEXT, NULL, NULL, "the same: the secret key", NULL, false},
    {"PADDLECLOUD_FS_UGI", CR_ENV_TEXT, NULL, NULL,
     "the same: user and password of the file system", NULL, false},
    {"PATH", CR_ENV_TEXT, NULL, NULL, "`crank submit` looks for the cluster's client there", NULL,
     false},
    {"TMPDIR", CR_ENV_TEXT, NULL, NULL, "`crank bundle` works there; otherwise in `/tmp`", NULL,
     false},
    {"CRANK_JOB_SECRET", CR_ENV_TEXT, NULL, NULL,
     "the secret by which the nodes of `crank launch` know each other, at least 16 bytes; "
     "`--secret_file` wins",
     NULL, false},
    {"INTRA_NODE_BANDWIDTH", CR_ENV_RATE, NULL, NULL,
     "bytes per millisecond that one rank sends to ranks of its machine, for the plan of tables",
     NULL, false},
    {"CROSS_NODE_BANDWIDTH", CR_ENV_RATE, NULL, NULL,
     "bytes per millisecond that one rank sends to other machines, for the plan of tables", NULL,
     false},
    {"FORCE_LOAD_SHARDING_PLAN", CR_ENV_SWITCH, NULL, "0",
     "`1`: tables lie as `plan.json` of `model_dir` says, if it is there", NULL, false},
    {"FLAGS_communicator_max_merge_var_num", CR_ENV_TEXT, NULL, NULL,
     OF_SERVERS("max_merge_var_num"), NULL, false},
    {"FLAGS_communicator_send_queue_size", CR_ENV_TEXT, NULL, NULL, OF_SERVERS("send_queue_size"),
     NULL, false},
    {"FLAGS_communicator_send_wait_times", CR_ENV_TEXT, NULL, NULL, OF_SERVERS("send_wait_times"),
     NULL, false},
    {"FLAGS_communicator_min_send_grad_num_before_recv", CR_ENV_TEXT, NULL, NULL,
     OF_SERVERS("min_send_grad_num_before_recv"), NULL, false},
    {"FLAGS_communicator_max_send_grad_num_before_recv", CR_ENV_TEXT, NULL, NULL,
     OF_SERVERS("min_send_grad_num_before_recv") "; the older name", NULL, false},
    {"FLAGS_communicator_independent_recv_thread", CR_ENV_TEXT, NULL, NULL,
     OF_SERVERS("independent_recv_thread"), NULL, false},
    {"FLAGS_communicator_is_sgd_optimizer", CR_ENV_TEXT, NULL, NULL, OF_SERVERS("is_sgd_optimizer"),
     NULL, false},
    {"FLAGS_communicator_merge_sparse_grad", CR_ENV_TEXT, NULL, NULL,
     OF_SERVERS("merge_sparse_grad"), NULL, false},
    {"FLAGS_communicator_fake_rpc", CR_ENV_TEXT, NULL, NULL, OF_SERVERS("fake_rpc"), NULL, false},
    {"FLAGS_rpc_deadline", CR_ENV_TEXT, NULL, NULL, OF_SERVERS("rpc_deadline"), NULL, false},
    {"FLAGS_rpc_retry_times", CR_ENV_TEXT, NULL, NULL, OF_SERVERS("rpc_retry_times"), NULL, false},
    {"FLAGS_worker_update_interval_secs", CR_ENV_TEXT, NULL, NULL,
     OF_SERVERS("worker_update_interval_secs"), NULL, false},
    {"CRANK_TEST_KILL", CR_ENV_TEXT, NULL, NULL,
     "for tests: `place:n` ends the process when it comes to that place for the n-th time", NULL,
     false},
    {"CRANK_TEST_NO_JIT", CR_ENV_TEXT, NULL, NULL,
     "for tests: set, regular expressions are not compiled to machine code", NULL, false},

    {"FLAGS_communicator_thread_pool_size", CR_ENV_TEXT, NULL, NULL,
     "threads that send and receive for a worker", BY_LETTERS, false},
    {"FLAGS_communicator_merge_sparse_bucket", CR_ENV_TEXT, NULL, NULL,
     "threads that merge gradients of rows", BY_LETTERS, false},
    {"FLAGS_rpc_send_thread_num", CR_ENV_TEXT, NULL, NULL, "threads of a server that receive",
     BY_LETTERS, false},
    {"FLAGS_rpc_get_thread_num", CR_ENV_TEXT, NULL, NULL, "threads of a server that send",
     BY_LETTERS, false},
    {"FLAGS_rpc_prefetch_thread_num", CR_ENV_TEXT, NULL, NULL, "threads of a server that look up",
     BY_LETTERS, false},
    {"FLAGS_rpc_disable_reuse_port", CR_ENV_TEXT, NULL, NULL, "a choice of server ports",
     BY_LETTERS, false},

    {"PYTHON_RANDOM_SEED", CR_ENV_TEXT, NULL, NULL, "seed of Python's random numbers", ONE_SEED,
     false},
    {"NUMPY_MANUAL_SEED", CR_ENV_TEXT, NULL, NULL, "seed of NumPy's random numbers", ONE_SEED,
     false},
    {"USE_DETERMINISTIC_ALGORITHMS", CR_ENV_SWITCH, NULL, "0", "the same result in every run",
     "every run gives the same result anyway", false},
    {"OMP_NUM_THREADS", CR_ENV_TEXT, NULL, "1", "threads of a process",
     "torchrun and others set it to 1 by themselves, so only crank launch uses it; use --threads N",
     false},
    {"GLOG_logtostderr", CR_ENV_TEXT, NULL, "0", "messages of libraries go to standard error",
     "all messages go to standard error anyway", false},
    {"PREDICT_QUEUE_TIMEOUT", CR_ENV_TEXT, NULL, NULL, "seconds that predictions wait for rows",
     "predictions wait for their rows as long as it takes", false},
    {"TZREC_DP_HBM_BINS_PER_DEVICE", CR_ENV_TEXT, NULL, NULL,
     "how finely the division of tables counts device memory", IN_BYTES, false},
    {"TZREC_DP_DDR_BINS_PER_DEVICE", CR_ENV_TEXT, NULL, NULL,
     "how finely the division of tables counts main memory", IN_BYTES, false},
    {"RANK", CR_ENV_TEXT, NULL, "0", "number of this process", LAUNCHED, true},
    {"LOCAL_RANK", CR_ENV_TEXT, NULL, "0", "number of this process on its machine", BY_MPI, true},
    {"LOCAL_WORLD_SIZE", CR_ENV_TEXT, NULL, "1", "processes on this machine", BY_MPI, true},
    {"GROUP_RANK", CR_ENV_TEXT, NULL, "0", "number of this machine", BY_MPI, true},
    {"MASTER_ADDR", CR_ENV_TEXT, NULL, NULL, "address of the first process", LAUNCHED, true},
    {"MASTER_PORT", CR_ENV_TEXT, NULL, NULL, "port of the first process", LAUNCHED, true},
    {"USE_HASH_NODE_ID", CR_ENV_SWITCH, NULL, "0", "ids of a negative sampler are texts",
     "negative samplers are not in this version", false},
    {"USE_INPLACE_TRUNC_NORMAL", CR_ENV_SWITCH, NULL, "0", "first weights take no extra memory",
     "first weights never take extra memory", false},
    {"QUANT_EC_EMB", CR_ENV_TEXT, NULL, "0", "type of sequence tables in an export",
     "sequence tables have the type of the others; use --embedding_dtype or QUANT_EMB", false},
    {"USE_DISTRIBUTED_EMBEDDING", CR_ENV_SWITCH, NULL, "0", "an export with divided tables", WHOLE,
     false},
    {"DIST_QUANT", CR_ENV_TEXT, NULL, "0", "type of tables in such an export", WHOLE, false},
    {"INPUT_TILE", CR_ENV_TEXT, NULL, "0",
     "an export that takes the user features once for all items of a request", NO_TILE, false},
    {"INPUT_TILE_3_ONLINE", CR_ENV_SWITCH, NULL, "0", "a form of INPUT_TILE", NO_TILE, false},
    {"LOCAL_CACHE_DIR", CR_ENV_TEXT, NULL, NULL, "where an export is made before it is copied",
     "an export is made beside export_dir and then renamed", false},
    {"ENABLE_TMA", CR_ENV_SWITCH, NULL, "0", "a way of GPUs to load memory", NO_GPU, false},
    {"ENABLE_AOT", CR_ENV_SWITCH, NULL, "0", "a compiled export", NO_GPU, false},
    {"UNIFIED_AOT", CR_ENV_SWITCH, NULL, "0", "a form of ENABLE_AOT", NO_GPU, false},
    {"ENABLE_TRT", CR_ENV_SWITCH, NULL, "0", "an export for TensorRT", NO_GPU, false},
    {"MAX_EXPORT_BATCH_SIZE", CR_ENV_TEXT, NULL, NULL, "most rows of a compiled export", NO_GPU,
     false},
    {"TRT_MAX_BATCH_SIZE", CR_ENV_TEXT, NULL, NULL, "most rows of an export for TensorRT", NO_GPU,
     false},
    {"TRT_MAX_SEQ_LEN", CR_ENV_TEXT, NULL, NULL, "longest sequence of an export for TensorRT",
     NO_GPU, false},
    {"ONLINE_DENSE_EXPORT*", CR_ENV_TEXT, NULL, "0",
     "exports of the dense weights while training goes on", NO_ONLINE, false},
    {"FBGEMM_MOMENTUM1_STATE_INIT_VALUE", CR_ENV_TEXT, NULL, NULL, "first state of sparse Adagrad",
     "use initial_accumulator_value of the optimizer", false},
    {"ODPS_ENDPOINT", CR_ENV_TEXT, NULL, NULL,
     "address of MaxCompute, as in `http://service.cn-hangzhou.maxcompute.aliyun.com/api`; needed "
     "unless a file names it",
     NULL, false},
    {"ODPS_CONFIG_FILE_PATH", CR_ENV_TEXT, NULL, NULL,
     "file with `access_id`, `access_key` and `end_point` for MaxCompute; else "
     "`~/.odps_config.ini`",
     NULL, false},
    {"ODPS_REGION_NAME", CR_ENV_TEXT, NULL, NULL,
     "region that requests to MaxCompute are signed for; else that of the address", NULL, false},
    {"ODPS_STS_*", CR_ENV_TEXT, NULL, NULL,
     "keys for MaxCompute that end: `ODPS_STS_ACCESS_KEY_ID`, `ODPS_STS_ACCESS_KEY_SECRET`, "
     "`ODPS_STS_TOKEN`, or `ODPS_STS_ACCOUNT_FILE` with them as JSON",
     NULL, false},
    {"ODPS_BEARER_TOKEN*", CR_ENV_TEXT, NULL, NULL,
     "a token for MaxCompute in place of keys, or `ODPS_BEARER_TOKEN_FILE` that holds it", NULL,
     false},
    {"ODPS_TABLE_LIFECYCLE", CR_ENV_TEXT, NULL, NULL,
     "days that a table lives which `crank predict` makes", NULL, false},
    {"ODPS_DATA_QUOTA_NAME", CR_ENV_TEXT, NULL, NULL,
     "quota with which predictions are written; reads have `data_config.odps_data_quota_name`",
     NULL, false},
    {"STORAGE_API_QUOTA_NAME", CR_ENV_TEXT, NULL, NULL, "the same, by its other name", NULL, false},
    {"TUNNEL_READ_TIMEOUT", CR_ENV_TEXT, NULL, NULL, "seconds that a table read waits",
     "a request ends after 30 s without a kilobyte per second, and is made again", false},
    {"USE_FSSPEC", CR_ENV_SWITCH, NULL, "0", "paths of other stores",
     "paths of stores (s3://, oss://, hdfs://) are read without it", false},
    {"TZREC_KAFKA_OFFSETS_FOR_TIMES_BATCH_SIZE", CR_ENV_TEXT, NULL, NULL,
     "partitions of a topic that brokers are asked for at once, for `start.timestamp.ms`; 32", NULL,
     false},
    {"TZREC_KAFKA_OFFSETS_FOR_TIMES_TIMEOUT", CR_ENV_TEXT, NULL, NULL,
     "seconds that such a question may take; 30", NULL, false},
    {"TZREC_KAFKA_OFFSETS_FOR_TIMES_RETRIES", CR_ENV_TEXT, NULL, NULL,
     "how often it is asked again; 2", NULL, false},
    {"FEATUREDB_USERNAME", CR_ENV_TEXT, NULL, NULL, "user of FeatureDB", NO_FEATUREDB, false},
    {"FEATUREDB_PASSWORD", CR_ENV_TEXT, NULL, NULL, "password of FeatureDB", NO_FEATUREDB, false},
    {NULL, CR_ENV_TEXT, NULL, NULL, NULL, NULL, false},
};

/* What values of each kind look like; a message about a wrong value ends with it. */
static const char *const must_be[] = {
    [CR_ENV_TEXT] = "",
    [CR_ENV_SWITCH] = "must be 0 or 1; set it to 1, or unset it",
    [CR_ENV_BOOL] = "must be true or false; set it to true, or unset it",
    [CR_ENV_COUNT] = "must be an integer of at least 0; correct it or unset it",
    [CR_ENV_RATE] = "must be a number above 0, in bytes per millisecond; correct it or unset it",
    [CR_ENV_SHARE] = "must be a share from 0 to below 1; write 0.15 for 15 percent, or unset it",
};

static bool is_on(const cr_env *e, const char *value) {
    return value && strcmp(value, e->kind == CR_ENV_BOOL ? "true" : "1") == 0;
}

static bool is_right(const cr_env *e, const char *value) {
    double x;
    uint64_t n;
    switch (e->kind) {
    case CR_ENV_SWITCH: return is_on(e, value) || strcmp(value, "0") == 0;
    case CR_ENV_BOOL: return is_on(e, value) || strcmp(value, "false") == 0;
    case CR_ENV_COUNT: return cr_parse_u64(value, strlen(value), &n);
    case CR_ENV_RATE: return cr_parse_f64(value, strlen(value), &x) && x > 0 && isfinite(x);
    case CR_ENV_SHARE: return cr_parse_f64(value, strlen(value), &x) && x >= 0 && x < 1;
    default: return true;
    }
}

/* Does the assignment "NAME=value" belong to the row? *value is then its value. */
static bool is_row(const cr_env *e, const char *assignment, const char **value) {
    size_t n = strlen(e->name), name = strcspn(assignment, "=");
    bool any = e->name[n - 1] == '*';
    if (any ? name < n - 1 || strncmp(assignment, e->name, n - 1) != 0
            : name != n || strncmp(assignment, e->name, n) != 0)
        return false;
    *value = assignment + name + (assignment[name] == '=');
    return true;
}

/* Writes the names of all variables that are set and have no effect for this reason, separated by
 * commas. Returns how many there are. */
static int set_for(const char *why, cr_buf *names) {
    int n = 0;
    CR_ASSERT(why);
    for (const cr_env *e = cr_envs; e->name; e++) {
        if (!e->unused || e->silent || strcmp(e->unused, why) != 0) continue;
        for (char **a = environ; a && *a; a++) {
            const char *value;
            if (!is_row(e, *a, &value) || !*value || (e->idle && strcmp(e->idle, value) == 0))
                continue;
            cr_buf_printf(names, "%s%.*s", n++ ? ", " : "", (int)strcspn(*a, "="), *a);
        }
    }
    return n;
}

/* Is this row the first one with its reason? */
static bool first_of_reason(const cr_env *e) {
    for (const cr_env *b = cr_envs; b < e; b++)
        if (b->unused && !b->silent && strcmp(b->unused, e->unused) == 0) return false;
    return true;
}

void cr_env_check(cr_diag *diag) {
    cr_buf names;
    cr_buf_init(&names);
    for (const cr_env *e = cr_envs; e->name; e++) {
        const char *value = getenv(e->name);
        if (!e->unused) {
            if (value && *value && !is_right(e, value))
                cr_diag_add(diag, CR_SEV_ERROR, CR_EUSAGE, (cr_loc){e->name, 0, 0},
                            "the environment says '%s', but it %s", value, must_be[e->kind]);
            continue;
        }
        if (e->silent || !first_of_reason(e)) continue;
        cr_buf_reset(&names);
        int n = set_for(e->unused, &names);
        if (n > 0)
            cr_diag_add(diag, CR_SEV_WARN, CR_OK, CR_NOWHERE,
                        "%s of the environment %s no effect here: %s", names.data,
                        n == 1 ? "has" : "have", e->unused);
    }
    cr_buf_clear(&names);
}

/* Returns what the config key of a row should say: the value of the environment, or the default of
 * the key. */
static const char *kept_value(const cr_env *e, cr_arena *a) {
    const char *value = getenv(e->name);
    if (e->kind != CR_ENV_COUNT) return is_on(e, value) ? "true" : "false";
    if (value && *value && is_right(e, value)) return cr_arena_strdup(a, value);
    return cr_arena_printf(a, "%.0f", cr_msg_field(&cr_train_msg, strchr(e->key, '.') + 1)->num);
}

/* Does the config say the same as the environment, which has a right value? */
static bool agrees(const cr_env *e, const char *value, const cr_conf_node *x) {
    bool on;
    uint64_t mine, other;
    if (e->kind != CR_ENV_COUNT) return !cr_conf_read_bool(x, &on) || on == is_on(e, value);
    return !cr_parse_u64(x->text, x->len, &other) || !cr_parse_u64(value, strlen(value), &mine) ||
           mine == other;
}

/* Warns when the environment contradicts the key of a row in the config, which wins. */
static void tell_winner(const cr_env *e, const cr_conf_node *x, cr_diag *diag) {
    const char *value = getenv(e->name);
    if (!value || !*value || !is_right(e, value) || x->kind != CR_NODE_SCALAR) return;
    if (agrees(e, value, x)) return;
    cr_diag_add(diag, CR_SEV_WARN, CR_OK, x->at,
                "%s is %s here, but the environment has %s=%s; the config wins: change it, or "
                "unset the variable",
                e->key, x->text, e->name, value);
}

void cr_env_keep(cr_conf_doc *doc, cr_diag *diag) {
    for (const cr_env *e = cr_envs; e->name; e++) {
        if (!e->key) continue;
        const char *dot = strchr(e->key, '.'), *key = dot + 1;
        cr_conf_node *map =
            cr_conf_find(doc->root, cr_arena_strndup(&doc->arena, e->key, (size_t)(dot - e->key)));
        if (!map || map->kind != CR_NODE_MAP) continue;
        const cr_conf_node *given = cr_conf_find(map, key);
        if (given) {
            tell_winner(e, given, diag);
            continue;
        }
        cr_loc at = {e->name, 0, 0}; /* a variable has no lines */
        cr_tree_put(doc, map, key, at, cr_tree_scalar(doc, kept_value(e, &doc->arena), false, at));
    }
}

bool cr_env_on(const char *name) {
    const cr_env *e = cr_envs;
    while (e->name && strcmp(e->name, name) != 0)
        e++;
    if (!e->name) CR_BUG("a variable without a row");
    return is_on(e, getenv(name));
}

double cr_env_reserve(void) {
    const char *value = getenv("STORAGE_RESERVE_PERCENT");
    double x;
    bool right = value && cr_parse_f64(value, strlen(value), &x) && x >= 0 && x < 1;
    return right ? x : 0;
}

void cr_env_rate(const char *name, double *bytes_per_s) {
    const char *value = getenv(name);
    double x;
    if (value && cr_parse_f64(value, strlen(value), &x) && x > 0 && isfinite(x))
        *bytes_per_s = 1000 * x;
}

/* Adds a text without its backticks, which are for Markdown. */
static void add_plain(cr_buf *out, const char *text) {
    for (; *text; text++)
        if (*text != '`') cr_buf_char(out, *text);
}

static void add_line(cr_buf *out, const cr_env *e) {
    cr_buf_printf(out, "  %s\n      ", e->name);
    add_plain(out, e->help);
    if (e->unused) cr_buf_str(out, ": ");
    if (e->unused) add_plain(out, e->unused);
    cr_buf_char(out, '\n');
}

static const char *const titles[] = {"variables of TorchEasyRec that have no effect here:\n",
                                     "variables that crank uses:\n"};

void cr_env_lines(cr_buf *out) {
    for (int used = 1; used >= 0; used--) {
        cr_buf_printf(out, "%s%s", used ? "" : "\n", titles[used]);
        for (const cr_env *e = cr_envs; e->name; e++)
            if (used == !e->unused) add_line(out, e);
    }
}

bool cr_env_line(cr_buf *out, const char *name) {
    const cr_env *e = cr_envs;
    while (e->name && strcmp(e->name, name) != 0)
        e++;
    if (!e->name) return false;
    cr_buf_str(out, titles[!e->unused]);
    add_line(out, e);
    return true;
}

void cr_env_page(cr_buf *out) {
    cr_buf_str(out, "# Environment variables\n\nA value that a variable cannot have is an error "
                    "before anything runs.\n\n## Used\n\n| variable | meaning |\n|---|---|\n");
    for (const cr_env *e = cr_envs; e->name; e++)
        if (!e->unused) cr_buf_printf(out, "| `%s` | %s |\n", e->name, e->help);
    cr_buf_str(out, "\n## Without effect\n\nVariables of TorchEasyRec that crank knows and does "
                    "not need. One that is set gets a warning, except those marked with †, which "
                    "machines set by themselves.\n\n| variable | meaning in TorchEasyRec | why it "
                    "has no effect |\n|---|---|---|\n");
    for (const cr_env *e = cr_envs; e->name; e++)
        if (e->unused)
            cr_buf_printf(out, "| `%s`%s | %s | %s |\n", e->name, e->silent ? " †" : "", e->help,
                          e->unused);
}
