#!/bin/sh
# submit.sh CRANK - a job of PaddleCloud from crank submit to its output, with a cluster that stands in; jobs of plain hosts.
#
# The generated job.sh is executed as it is; the client that stands in takes the uploaded files, starts a server and a trainer per
# node on hosts that are network namespaces (net.sh), with the variables of the platform, in this order: before_hook.sh, the start
# command, end_hook.sh. Data and output are on the mount ./afs, which all nodes share. The program comes out of the uploaded bundle.
# Exit code 77: this machine cannot run it, and why.
set -u
[ $# -eq 1 ] && [ -x "$1" ] || { echo "usage: submit.sh CRANK" >&2; exit 2; }
CRANK=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
HOSTS=4
. "$(dirname "$0")/net.sh"
unset CRANK_JOB_SECRET # the job brings its own
. "$CLI/submit/backends.sh"
CRANK_JOBS_DIR=$CASE_DIR/jobs
export CRANK_JOBS_DIR

# the platform: 2 servers on hosts 0 and 1, 2 trainers on hosts 2 and 3; each has its own working folder with the uploaded files
mkdir -p bin afs_remote/data
awk 'BEGIN { for (i = 0; i < 128; i++) printf "click:%d dense_feature:%.2f 1:%d 2:%d\n", i % 3 == 0, i % 7 / 7, i % 50 + 1, i * 7 % 90 + 1 }' >afs_remote/data/part-0
awk 'BEGIN { for (i = 3; i < 131; i++) printf "click:%d dense_feature:%.2f 1:%d 2:%d\n", i % 3 == 0, i % 7 / 7, i % 50 + 1, i * 7 % 90 + 1 }' >afs_remote/data/part-1
cat >bin/paddlecloud <<'END'
#!/bin/sh
# a client whose cluster is the folder that the test looks at
[ "$1" != --version ] || { echo "paddlecloud 2.3.1"; exit 0; }
while [ $# -gt 0 ]; do
    case $1 in
    --start-cmd) echo "$2" >"$CLUSTER/start_cmd" ;;
    --k8s-trainers) echo "$2" >"$CLUSTER/trainers" ;;
    --k8s-ps-num) echo "$2" >"$CLUSTER/servers" ;;
    esac
    shift
done
mkdir "$CLUSTER/files" && cp ./* "$CLUSTER/files" || exit 1
echo '{"groupName": "paddle", "jobId": "job-1", "userId": "u"}'
END
chmod +x bin/paddlecloud
mkdir cluster
CLUSTER=$CASE_DIR/cluster
PATH=$CASE_DIR/bin:$PATH
export CLUSTER PATH
paddle_config cpu ps '{workspace}/afs/data'
# ranks save together, into a folder that all of them see: the mount
sed -i 's,save_checkpoint_path: output,save_checkpoint_path: afs/output,' config.yaml
backend_k8s_ps | sed 's/^  binary: image/  binary: bundle/; s/k8s_ps_num: 3/k8s_ps_num: 2/' >backend.yaml
chmod 600 backend.yaml
run "$CRANK" run -m config.yaml -b backend.yaml
ends 0
has_out "job id: job-1"
[ "$(cat cluster/servers) $(cat cluster/trainers)" = "2 2" ] || fail "$(cat cluster/servers cluster/trainers)"
passed "submit: the folder reaches the client, with the bundle"

node() { # node HOST VARIABLES...: what the platform does on one node
    i=$1
    shift
    mkdir "node$i" && cp cluster/files/* "node$i" && ln -s "$CASE_DIR/afs_remote" "node$i/afs"
    # config.ini is the environment of the nodes
    # shellcheck disable=SC2016
    on "$i" env -u CRANK_JOB_SECRET PATH=/usr/bin:/bin "$@" sh -c 'cd "$0" && set -a && . ./env.sh && set +a &&
        sh before_hook.sh && sh -c "$(cat "$CLUSTER/start_cmd")" && sh end_hook.sh' "$CASE_DIR/node$i" >"out.$i" 2>"err.$i" &
    eval "pid_$i=$!"
}
servers=10.77.0.1:7164,10.77.0.2:7164
# fs_ugi has characters that a shell would obey; the platform reads the file line by line
grep -v '^fs_' cluster/files/config.ini >cluster/files/env.sh
for i in 0 1; do
    node $i TRAINING_ROLE=PSERVER PADDLE_PSERVERS_IP_PORT_LIST=$servers PADDLE_TRAINERS_NUM=2 POD_IP=10.77.0.$((i + 1)) PADDLE_PORT=7164
done
for i in 2 3; do
    node $i TRAINING_ROLE=TRAINER PADDLE_PSERVERS_IP_PORT_LIST=$servers PADDLE_TRAINERS_NUM=2 PADDLE_TRAINER_ID=$((i - 2))
done
for i in 0 1 2 3; do
    eval "p=\$pid_$i"
    code=0
    # shellcheck disable=SC2154
    wait "$p" || code=$?
    [ $code -eq 0 ] || fail "node $i ended with $code: $(cat "out.$i" "err.$i")"
    grep -q "^Run before_hook.sh" "out.$i" && grep -q "^End before_hook.sh" "out.$i" && grep -q "^Run end_hook.sh" "out.$i" ||
        fail "node $i did not run its hooks: $(cat "out.$i")"
done
none_left
is_there afs_remote/output/1/state.json
grep -q "Running PSRunner" out.2 || fail "$(cat out.2)"
passed "before_hook, training with servers and trainers of the platform, end_hook, output"

# ---- plain hosts: job.sh on host 0 starts the ranks of hosts 0 and 1, by a script in the place of ssh, by hand, by mpiexec, by mpirun ----
mkdir -p etc
{ echo "127.0.0.1 localhost" && for i in 0 1; do echo "10.77.0.$((i + 1)) host$i"; done; } >etc/hosts
cat >rsh <<END2
#!/bin/sh
# rsh HOST COMMAND...: as ssh does it, without the caller's variables
while :; do case \$1 in -*) shift ;; *) break ;; esac done
i=\${1#host}
shift
cd "$CASE_DIR" || exit 1
# shellcheck disable=SC2016
exec env -i $mark PATH="$PATH" HOME=/root ${ASAN_OPTIONS:+ASAN_OPTIONS=$ASAN_OPTIONS} unshare --uts --mount sh -c \\
    'hostname "\$0"; mount --bind etc/hosts /etc/hosts; exec ip netns exec "\$@"' "host\$i" "${tag}n\$i" sh -c "\$*"
END2
chmod +x rsh
starts="ssh none"
! command -v mpiexec.hydra >/dev/null || starts="$starts mpich"
if command -v mpirun.openmpi >/dev/null && [ -f "$(dirname "$CRANK")/comm-openmpi.so" ]; then starts="$starts openmpi"; fi
for start in $starts; do
    cat >hosts.yaml <<END2
backend: hosts
job_name: hosts-$start
hosts: [host0, host1]
ranks_per_node: 2
binary: path
crank: $CRANK
model_dir: $CASE_DIR/m.$start
start: $start
ssh: $CASE_DIR/rsh
shared: true
env: {UCX_TLS: "self,tcp"}
END2
    # shellcheck disable=SC2086
    run "$CRANK" submit tiny.yaml -b hosts.yaml --dry-run $settings
    ends 0
    folder=$(sed -n 's/^The task submission folder is generated at //p' "$out")
    on 0 sh "$folder/job.sh" >out.0 2>err.0 &
    wait $! || fail "job.sh of $start: $(cat err.0)"
    if [ $start = none ]; then
        line=$(sed -n 's/^on host1 run: //p' err.0)
        [ -n "$line" ] || fail "no line for host1: $(cat err.0)"
        # shellcheck disable=SC2086
        on 1 $line >out.1 2>err.1 &
    fi
    for k in $(seq 600); do
        [ ! -s "$folder/exit_code" ] || break
        sleep 0.1
    done
    last="job of start: $start"
    [ "$(cat "$folder/exit_code" 2>/dev/null)" = 0 ] || fail "start: $start: $(tail -n 20 "$folder/job.log")"
    same_weights one "m.$start"
    run "$CRANK" jobs show "$folder"
    has_out "state      COMPLETED"
    none_left
    passed "hosts, start: $start: the bytes of one process"
done
finish
