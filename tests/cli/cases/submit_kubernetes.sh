# crank submit to Kubernetes: MPIJob and PyTorchJob, job.sh with a client that stands in, mistakes; tests/unit/submit/manifests.c checks
# the manifests against the operators' schemas

. "$CLI/submit/backends.sh"
standin kubectl
tiny_config
tiny_data
keys='job_name: deepfm
namespace: recsys
nodes: 2
ranks_per_node: 2
threads_per_rank: 4
image: registry.example.com/team/crank:1.0
memory: 64GiB
model_dir: /data/model
work_dir: /data
volumes: [{claim: recsys-data, mount: /data}]
env: {MODE: "a \"b\""}
args: [--set, train_config.lanes=8]'
for kind in mpijob pytorchjob; do
    { echo "backend: $kind" && echo "$keys"; } >kube.yaml
    rm -rf deepfm_* call
    run crank submit tiny.yaml -b kube.yaml
    ends 0
    has_out "client: .../kubectl, Client Version: v1.30.0"
    has_out "job id: deepfm"
    mkdir got.$kind
    cp deepfm_*/job.yaml deepfm_*/job.sh deepfm_*/.jobs.sh got.$kind
    same "$CLI/submit/$kind" got.$kind
    LC_ALL=C sort call >sorted # both ends of a pipe write to it
    same "$CLI/submit/$kind.call" sorted
    run crank jobs show last
    has_out "state      Running"
    has_out "last step  12"
    run crank jobs stop last
    has_out "deleted"
    STANDIN=exists run sh deepfm_*/job.sh
    ends 1
    has_err "there is a $kind deepfm already; end it first: kubectl -n recsys delete $kind deepfm"
    rm -rf deepfm_*
    STANDIN=refusal run crank submit tiny.yaml -b kube.yaml
    ends 1
    has_err "error: no matches for kind"
    rm -rf deepfm_*
done
# other forms, whose manifests the unit test reads as well
{ echo "backend: pytorchjob" && echo "$keys" && printf 'min_replicas: 1\nmax_replicas: 4\nqueue: night\npriority_class: low\nimage_pull_policy: Always\n'; } >kube.yaml
run crank submit tiny.yaml -b kube.yaml --dry-run
ends 0
same "$CLI/submit/elastic.yaml" "$(echo deepfm_*/job.yaml)"
rm -rf deepfm_*
{ echo "backend: mpijob" && echo "$keys" && printf 'mpi_implementation: MPICH\nrun_launcher_as_worker: true\nssh_auth_mount_path: /home/mpi/.ssh\nactive_deadline_seconds: 3600\n'; } >kube.yaml
run crank submit tiny.yaml -b kube.yaml --dry-run
ends 0
same "$CLI/submit/mpich.yaml" "$(echo deepfm_*/job.yaml)"
rm -rf deepfm_*
# ---- variables that hold keys are in a Secret, and the manifest names it ----
for kind in mpijob pytorchjob; do
    { echo "backend: $kind" && echo "$keys" | sed 's/^env: .*/env: {MODE: x, AWS_SECRET_ACCESS_KEY: "hush = #1", HADOOP_TOKEN: ""}/'; } >kube.yaml
    chmod 600 kube.yaml
    rm -f call
    run crank submit tiny.yaml -b kube.yaml
    ends 0
    same "$CLI/submit/secret_$kind.yaml" "$(echo deepfm_*/job.yaml)"
    printf 'AWS_SECRET_ACCESS_KEY=hush = #1\nHADOOP_TOKEN=\n' >wanted
    same wanted "$(echo deepfm_*/secret.env)"
    [ "$(stat -c %a deepfm_*/secret.env)" = 600 ] || fail "secret.env can be read by others"
    grep -qxF -- '-n recsys create secret generic deepfm-env --from-env-file=secret.env --dry-run=client -o yaml' call || fail "$(cat call)"
    if grep -q hush "$out" "$err" call deepfm_*/job.yaml deepfm_*/job.sh; then fail "the key is shown"; fi
    rm -rf deepfm_*
done

STANDIN=nowhere run crank submit tiny.yaml -b kube.yaml --dry-run
ends 0
has_err "...warning: kubectl knows no cluster, so it can hardly submit the job; set KUBECONFIG ..."
rm -rf deepfm_*
run crank submit tiny.yaml -b kube.yaml --dry-run
no_err "...kubectl knows no cluster..."
rm -rf deepfm_*
head -c 1200000 /dev/zero >big.bin
cat >bad.yaml <<'END'
backend: mpijob
job_name: Deep_FM
mpi_implementation: LAM
clean_pod_policy: Some
binary: bundle
volumes: [{claim: data}]
files: big.bin
END
run crank submit tiny.yaml -b bad.yaml
ends 2
has_err "bad.yaml:2:11: 'Deep_FM-worker-0' must be small letters, digits and '-', ..."
has_err "bad.yaml:3:21: mpi_implementation is 'LAM' and must be OpenMPI, Intel or MPICH"
has_err "bad.yaml:4:19: clean_pod_policy is 'Some' and must be None, Running or All"
has_err "bad.yaml:5:9: pods have no folder that this machine could put a bundle into; ..."
has_err "bad.yaml:6:...: volumes: give the name of a claim and a whole path: {claim: data, mount: /data}"
has_err "bad.yaml:1:1: the files of the job have 1.2 MB, and a ConfigMap of Kubernetes takes 1.0 MB; leave data and models out of 'files'"
has_err "...image is missing; the pods are made of it"
{ echo "backend: pytorchjob" && echo "$keys" && echo "min_replicas: 3" && echo "max_replicas: 2"; } >bad.yaml
run crank submit tiny.yaml -b bad.yaml
ends 2
has_err "...min_replicas is 3 and max_replicas 2; the first is the smaller one"
{ echo "backend: pytorchjob" && echo "$keys" && echo "min_replicas: 1"; } >bad.yaml
run crank submit tiny.yaml -b bad.yaml
ends 2
has_err "...nodes is 2 and lies not between min_replicas and max_replicas, 1 and 1; with these it is the number of pods at the start"
# args as a text: quotes are a shell's, but no shell runs in a pod
{ echo "backend: pytorchjob" && echo "$keys" | grep -v '^args' && printf 'args: >\n  --set=train_config.lanes=8\n  --set "model_dir=a b" --threads \\"\n'; } >kube.yaml
run crank submit tiny.yaml -b kube.yaml --dry-run --no-check
ends 0
sed -n '/- "--set=train/,/continue_train/s/^ *- //p' deepfm_*/job.yaml | head -n 6 >got
printf '"--set=train_config.lanes=8"\n"--set"\n"model_dir=a b"\n"--threads"\n"\\""\n"--continue_train"\n' >wanted
same wanted got
rm -rf deepfm_*
{ echo "backend: pytorchjob" && echo "$keys" | grep -v '^args' && echo 'args: --model_dir /data/$RANK'; } >bad.yaml
run crank submit tiny.yaml -b bad.yaml --dry-run --no-check
ends 2
has_err "bad.yaml:13:7: args: no shell runs in the pods, so '$' would be a plain character; write args as a list of words, and \$(NAME) for a variable"
