#!/bin/sh
# run.sh BUILD_DIR - manifests and job.sh of crank submit with a real kube-apiserver (apiserver.sh): it accepts the good ones of MPIJob and
# PyTorchJob and refuses the broken ones; crank submit and crank jobs run with the real kubectl.
#
# The kinds are known to the server by the schemas beside this script; CRDS=FOLDER takes the files of that folder instead, as those of the
# operators themselves (then what only an operator checks is not expected to be refused). The server and its tools are built once, into
# BUILD_DIR/kube. The last line counts cases. Exit code 77: this machine cannot run it, and why.
set -u
[ $# -eq 1 ] && [ -x "$1/crank" ] || { echo "usage: run.sh BUILD_DIR" >&2; exit 2; }
BUILD=$(cd "$1" && pwd)
CRANK=$BUILD/crank
HERE=$(cd "$(dirname "$0")" && pwd)
CLI=$HERE/../cli
sh "$HERE/apiserver.sh" build "$BUILD/kube" || exit $?
CASE_DIR=$(mktemp -d "${TMPDIR:-/tmp}/crank-kube.XXXXXX")
sh "$HERE/apiserver.sh" start "$BUILD/kube" "$CASE_DIR/server"
code=$?
[ $code -eq 0 ] || { rm -rf "$CASE_DIR"; exit $code; }
trap 'sh "$HERE/apiserver.sh" stop "$CASE_DIR/server"' EXIT
trap 'exit 130' INT TERM
KUBECONFIG=$CASE_DIR/server/kubeconfig
HOME=$CASE_DIR/home # kubectl keeps what it learned of the server there
PATH=$BUILD/kube/bin:$BUILD:$PATH
CRANK_JOBS_DIR=$CASE_DIR/jobs
WEIGHTS_DIFF=$BUILD/tests/cli/weights_diff
export KUBECONFIG HOME PATH CRANK_JOBS_DIR CASE_DIR WEIGHTS_DIFF CRANK CLI
mkdir "$CASE_DIR/work" "$HOME" && cd "$CASE_DIR/work" || exit 1
. "$CLI/lib.sh"
n_passed=0
passed() {
    echo "ok: $*"
    n_passed=$((n_passed + 1))
}
accepts() { # accepts FILE WHAT
    run kubectl apply -f "$1"
    ends 0
    passed "accepted: $2"
}
refuses() { # refuses FILE TEXT WHAT: the message has the text
    run kubectl apply -f "$1"
    ends bad
    has_err "...$2..."
    passed "refused: $3"
}
changed() { # changed FROM TO FILE: broken.yaml is the file with its first FROM replaced
    awk -v from="$1" -v to="$2" '!done && (i = index($0, from)) { $0 = substr($0, 1, i - 1) to substr($0, i + length(from)); done = 1 } { print } END { exit !done }' "$3" >broken.yaml ||
        fail "$3 has no '$1'"
}

own=${CRDS:+no}
# shellcheck disable=SC2086
run kubectl create ${CRDS:+--validate=false} -f "${CRDS:-$HERE}" # newer schemas have words that this server does not know
ends 0
run kubectl create namespace recsys
ends 0
for kind in mpijob pytorchjob; do
    for i in $(seq 300); do # kubectl checks keys by what the server publishes, a moment after a kind is known
        if kubectl explain "$kind.spec.runPolicy" >/dev/null 2>&1; then break; fi
        sleep 0.2
    done
    run kubectl explain "$kind.spec.runPolicy"
    ends 0
done

# ---- the manifests of tests/cli/submit, and copies with one mistake each ----
S=$CLI/submit
accepts "$S/mpijob/job.yaml" "MPIJob"
kubectl delete -f "$S/mpijob/job.yaml" >/dev/null
accepts "$S/mpich.yaml" "MPIJob with MPICH, whose launcher is a worker too"
accepts "$S/pytorchjob/job.yaml" "PyTorchJob"
kubectl delete -f "$S/pytorchjob/job.yaml" >/dev/null
accepts "$S/elastic.yaml" "PyTorchJob, elastic"
for kind in mpijob pytorchjob; do
    kubectl -n recsys delete "$kind" --all >/dev/null 2>&1
    accepts "$S/secret_$kind.yaml" "$kind with variables of a Secret"
    kubectl delete -f "$S/secret_$kind.yaml" >/dev/null
done
kubectl apply -f "$S/elastic.yaml" >/dev/null 2>&1
while IFS='|' read -r file from to text; do
    [ -n "$file" ] || continue
    # what an operator checks by itself is not in its schema
    case ${own:-yes}$to in no*Always | no*Master: | no*'launcherCreationPolicy: Soon' | no*'replicas: 7' | no*'rdzvBackend: static' | no*'replicas: -1') continue ;; esac
    changed "$from" "$to" "$S/$file"
    refuses broken.yaml "$text" "$file with '$to' in the place of '$from'"
done <<'END'
mpijob/job.yaml|kubeflow.org/v2beta1|kubeflow.org/v1|no matches for kind "MPIJob" in version "kubeflow.org/v1"
mpijob/job.yaml|kind: MPIJob|kind: MpiJob|no matches for kind "MpiJob"
mpijob/job.yaml|name: "deepfm"|name: "Deep_FM"|Deep_FM
mpijob/job.yaml|slotsPerWorker: 2|slotsPerWorker: two|slotsPerWorker
mpijob/job.yaml|slotsPerWorker: 2|slotPerWorker: 2|unknown field "slotPerWorker"
mpijob/job.yaml|mpiImplementation: OpenMPI|mpiImplementation: LAM|mpiImplementation
mpijob/job.yaml|launcherCreationPolicy: WaitForWorkersReady|launcherCreationPolicy: Soon|launcherCreationPolicy
mpijob/job.yaml|cleanPodPolicy: Running|cleanPodsPolicy: Running|unknown field "cleanPodsPolicy"
mpijob/job.yaml|backoffLimit: 3|backoffLimit: "3"|backoffLimit
mpijob/job.yaml|restartPolicy: Never|restartPolicy: Always|restartPolicy
mpijob/job.yaml|replicas: 1|replicas: 7|replicas
mpijob/job.yaml|    Launcher:|    Master:|Launcher
mpijob/job.yaml|mpiReplicaSpecs|mpiReplicas|mpiReplicas
mpich.yaml|runLauncherAsWorker: true|runLauncherAsWorker: yes please|runLauncherAsWorker
mpich.yaml|activeDeadlineSeconds: 3600|activeDeadlineSeconds: 1h|activeDeadlineSeconds
pytorchjob/job.yaml|nprocPerNode: "2"|nprocPerNode: 2|nprocPerNode
pytorchjob/job.yaml|restartPolicy: ExitCode|restartPolicy: 7|restartPolicy
pytorchjob/job.yaml|replicas: 1|replicas: -1|replicas
pytorchjob/job.yaml|ttlSecondsAfterFinished: 86400|ttlSecondsAfterFinished: a day|ttlSecondsAfterFinished
elastic.yaml|rdzvBackend: c10d|rdzvBackend: static|rdzvBackend
elastic.yaml|minReplicas: 1|minReplica: 1|unknown field "minReplica"
elastic.yaml|priorityClass|priorityclass|unknown field "priorityclass"
END

# ---- the pods of each role: the server checks them as it does when an operator makes them ----
template() { # template KIND JOB PATH: the role's template as an object of its own
    printf '{"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "pod", "namespace": "recsys"}, "template": %s}\n' \
        "$(kubectl -n recsys get "$1" "$2" -o "jsonpath={.spec.$3.template}")"
}
kubectl apply -f "$S/mpijob/job.yaml" >/dev/null 2>&1
for role in mpiReplicaSpecs.Launcher mpiReplicaSpecs.Worker; do
    template mpijob deepfm $role >pod.json
    accepts pod.json "the pod of $role"
done
template pytorchjob deepfm pytorchReplicaSpecs.Worker >pod.json
accepts pod.json "the pod of pytorchReplicaSpecs.Worker"
while IFS='|' read -r from to text; do
    changed "$from" "$to" pod.json
    refuses broken.yaml "$text" "a pod with '$to' in the place of '$from'"
done <<'END'
"image":|"images":|unknown field "images"
"cpu":|"cpus":|must be a standard resource
"name":"pytorch"|"name":"Py Torch"|Invalid value: "Py Torch"
"mountPath":"/crank"|"mountPath":""|mountPath: Required value
"name":"files"|"name":"other"|Not found: "other"
"key":"secret"|"key":""|key: Required value
END

# ---- crank submit and crank jobs, with the real client ----
tiny_config
tiny_data
for kind in mpijob pytorchjob; do
    kubectl -n recsys delete "$kind" --all >/dev/null 2>&1
    cat >kube.yaml <<END
backend: $kind
job_name: deepfm
namespace: recsys
nodes: 2
image: registry.example.com/team/crank:1.0
volumes: [{claim: recsys-data, mount: /data}]
work_dir: /data
model_dir: /data/model
env: {MODE: x, AWS_SECRET_ACCESS_KEY: "hush = #1 'two'"}
END
    chmod 600 kube.yaml
    rm -rf deepfm_*
    run crank submit tiny.yaml -b kube.yaml
    ends 0
    has_out "client: $BUILD/kube/bin/kubectl, ..."
    has_out "job id: deepfm"
    kubectl -n recsys get configmap deepfm-files -o 'jsonpath={.data.tiny\.yaml}' >got
    same tiny.yaml got
    kubectl -n recsys get secret deepfm-env -o 'jsonpath={.data.AWS_SECRET_ACCESS_KEY}' | base64 -d >got
    printf "hush = #1 'two'" >wanted
    same wanted got
    kubectl -n recsys get "$kind" deepfm -o yaml >got
    if grep -q hush got; then fail "the manifest holds the key: $(cat got)"; fi
    if [ $kind = pytorchjob ]; then
        kubectl -n recsys get secret deepfm-secret -o 'jsonpath={.data.secret}' | base64 -d >got
        same deepfm_*/secret got
    fi
    run sh deepfm_*/job.sh
    ends 1
    has_err "there is a $kind deepfm already; ..."
    run crank jobs show last
    has_out "state      unknown" # no operator has looked at the job
    for state in Created Running Succeeded; do # an operator's words
        kubectl -n recsys get "$kind" deepfm -o json >job.json
        perl -0pe 's/\n    "status": \{.*//s; s/,?\s*\}?\s*$//' job.json >head.json
        case $state in Created) more= ;; *) more='{"type": "Created", "status": "True"}, ' ;; esac
        printf '%s, "status": {"conditions": [%s{"type": "%s", "status": "True"}]}}\n' "$(cat head.json)" "$more" $state >status.json
        version=$(sed -n 's/^apiVersion: //p' deepfm_*/job.yaml)
        run kubectl replace --raw "/apis/$version/namespaces/recsys/${kind}s/deepfm/status" -f status.json
        ends 0
        run crank jobs show last
        has_out "state      $state"
    done
    run crank jobs logs last # there are no nodes, so there are no pods
    ends bad
    has_err "...not found..."
    run crank jobs stop last
    ends 0
    has_out "...deleted..."
    run kubectl -n recsys get "$kind" deepfm
    ends bad
    run crank jobs show last
    has_err "...does not know the job any more"
    passed "crank submit and crank jobs: $kind"
done
finish_pids=$(cat "$CASE_DIR/server/pids")
sh "$HERE/apiserver.sh" stop "$CASE_DIR/server"
trap - EXIT
for p in $finish_pids; do if kill -0 "$p" 2>/dev/null; then fail "process $p still runs"; fi; done
rm -rf "$CASE_DIR"
echo "$n_passed passed, 0 failed, 0 skipped"
