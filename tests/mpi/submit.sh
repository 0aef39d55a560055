#!/bin/sh
# submit.sh CRANK - jobs of PaddleCloud and PAI-DLC from crank submit to their output, with a cluster that stands in; jobs of plain hosts.
#
# The generated job.sh is executed as it is; the client that stands in takes the uploaded files, and this script runs what the platform
# runs, on hosts that are network namespaces (net.sh), with the variables of the platform, in this order: before_hook.sh, the start
# command, end_hook.sh. Data and output are where the platform has them: on the mount ./afs of K8S, which all nodes share, in
# ./train_data and ./output of MPI. The program comes out of the uploaded bundle.
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

# ---- PaddleCloud: the three kinds of jobs, each from crank run -b to its output ----
rows() { awk -v from="$1" 'BEGIN { for (i = from; i < from + 128; i++) printf "click:%d dense_feature:%.2f 1:%d 2:%d\n", i % 3 == 0, i % 7 / 7, i % 50 + 1, i * 7 % 90 + 1 }'; }
mkdir -p bin afs_remote/data
rows 0 >afs_remote/data/part-0
rows 3 >afs_remote/data/part-1
cat >bin/paddlecloud <<'END'
#!/bin/sh
# a client whose cluster is the folder that the test looks at
[ "$1" != --version ] || { echo "paddlecloud 2.3.1"; exit 0; }
env true "$@" # a program, which gets the keys
while [ $# -gt 0 ]; do
    case $1 in
    --start-cmd | --mpi-nodes | --k8s-trainers | --k8s-ps-num | --k8s-gpu-cards | --distribute-job-type) echo "$2" >"$CLUSTER/${1#--}" ;;
    esac
    shift
done
mkdir "$CLUSTER/files" && cp ./* "$CLUSTER/files" || exit 1
echo '{"groupName": "paddle", "jobId": "job-1", "userId": "u"}'
END
chmod +x bin/paddlecloud
CLUSTER=$CASE_DIR/cluster
PATH=$CASE_DIR/bin:$PATH
export CLUSTER PATH
submitted() { # submitted: config.yaml and backend.yaml reach the client, with the bundle
    rm -rf cluster node[0-9]
    mkdir cluster
    chmod 600 backend.yaml
    run "$CRANK" run -m config.yaml -b backend.yaml
    ends 0
    has_out "job id: job-1"
    is_there cluster/files/crank.tar.gz
    # fs_ugi has characters that a shell would obey; the platform reads the file line by line
    grep -v '^fs_' cluster/files/config.ini >cluster/files/env.sh
}
arrive() { # arrive I: the uploaded files and the mount ./afs in the working folder of host I
    mkdir "node$1" && cp cluster/files/* "node$1" && ln -s "$CASE_DIR/afs_remote" "node$1/afs"
}
in_node() { # in_node I SCRIPT VARIABLES...: on host I, in its folder; config.ini is the environment of the nodes
    in_i=$1 in_script=$2
    shift 2
    # shellcheck disable=SC2016
    on "$in_i" env -u CRANK_JOB_SECRET PATH=/usr/bin:/bin "$@" sh -c 'cd "$0" && set -a && . ./env.sh && set +a && eval "$1"' "$CASE_DIR/node$in_i" "$in_script"
}
# shellcheck disable=SC2016
whole='sh before_hook.sh && sh -c "$(cat "$CLUSTER/start-cmd")" && sh end_hook.sh'
node() { # node I VARIABLES...: what the platform does on a node with one process; it is $pid_I
    i=$1
    shift
    arrive "$i"
    in_node "$i" "$whole" "$@" >"out.$i" 2>"err.$i" &
    eval "pid_$i=$!"
}
nodes_end() { # nodes_end N: the nodes 0 to N - 1 have run both hooks and trained
    for i in $(seq 0 $(($1 - 1))); do
        eval "p=\$pid_$i"
        code=0
        # shellcheck disable=SC2154
        wait "$p" || code=$?
        [ $code -eq 0 ] || fail "node $i ended with $code: $(cat "out.$i" "err.$i")"
        grep -q "^Run before_hook.sh" "out.$i" && grep -q "^End before_hook.sh" "out.$i" && grep -q "^Run end_hook.sh" "out.$i" ||
            fail "node $i did not run its hooks: $(cat "out.$i")"
    done
    none_left
}

# K8S with servers: 2 servers on hosts 0 and 1, 2 trainers on hosts 2 and 3. Ranks save together, into a folder that all of them see: the mount.
paddle_config cpu ps '{workspace}/afs/data'
sed -i 's,save_checkpoint_path: output,save_checkpoint_path: afs/output,' config.yaml
backend_k8s_ps | sed 's/^  binary: image/  binary: bundle/; s/k8s_ps_num: 3/k8s_ps_num: 2/' >backend.yaml
submitted
[ "$(cat cluster/k8s-ps-num) $(cat cluster/k8s-trainers)" = "2 2" ] || fail "$(cat cluster/k8s-ps-num cluster/k8s-trainers)"
passed "submit: the folder reaches the client, with the bundle"
servers=10.77.0.1:7164,10.77.0.2:7164
for i in 0 1; do
    node $i TRAINING_ROLE=PSERVER PADDLE_PSERVERS_IP_PORT_LIST=$servers PADDLE_TRAINERS_NUM=2 POD_IP=10.77.0.$((i + 1)) PADDLE_PORT=7164
done
for i in 2 3; do
    node $i TRAINING_ROLE=TRAINER PADDLE_PSERVERS_IP_PORT_LIST=$servers PADDLE_TRAINERS_NUM=2 PADDLE_TRAINER_ID=$((i - 2))
done
nodes_end 4
is_there afs_remote/output/1/state.json
grep -q "Running PSRunner" out.2 || fail "$(cat out.2)"
passed "K8S with servers: before_hook, training with servers and trainers of the platform, end_hook, output"

# K8S collective: one trainer on each of two hosts, with the variables that Paddle's launcher reads
rm -rf afs_remote/output ctr_*
paddle_config gpu collective '{workspace}/afs/data'
sed -i 's,save_checkpoint_path: output,save_checkpoint_path: afs/output,' config.yaml
backend_k8s_collective | sed 's/^  binary: image/  binary: bundle/' >backend.yaml
submitted
[ "$(cat cluster/k8s-trainers) $(cat cluster/k8s-gpu-cards) $(cat cluster/distribute-job-type)" = "2 1 NCCL2" ] || fail "$(head cluster/k* cluster/d*)"
for i in 1 0; do
    node $i PADDLE_TRAINERS=10.77.0.1,10.77.0.2 PADDLE_TRAINERS_NUM=2 PADDLE_TRAINER_ID=$i POD_IP=10.77.0.$((i + 1)) PADDLE_PORT=6170 \
        TRAINER_PORTS_NUM=1 TRAINER_GPU_CARD_COUNT=1 PADDLE_TRAINING_ROLE=TRAINER
done
nodes_end 2
is_there afs_remote/output/1/state.json
grep -q "2 nodes with 1 rank each" err.0 || fail "$(cat err.0)"
mv afs_remote/output collective
# the same config as one process: the same bytes
paddle_config cpu collective "$CASE_DIR/afs_remote/data"
sed -i 's,class: cluster_train,class: train,; s,save_checkpoint_path: output,save_checkpoint_path: alone,; s,batch_size: 4,batch_size: 8,' config.yaml
run "$CRANK" run -m config.yaml
ends 0
same_weights alone collective
passed "K8S collective: two trainers, the bytes of one process"

# MPI with servers: a node has a server and a trainer, the platform brings train_data and takes output away
rm -rf ctr_*
paddle_config cpu ps '{workspace}/train_data'
backend_mpi | sed 's/^  binary: image/  binary: bundle/; s/^  nodes: 2/  nodes: 1/' >backend.yaml
submitted
[ "$(cat cluster/mpi-nodes)" = 1 ] || fail "$(cat cluster/mpi-nodes)"
arrive 0
rm node0/afs
cp -r afs_remote/data node0/train_data
in_node 0 'sh before_hook.sh' >out.0 2>err.0 &
wait $! || fail "before_hook.sh: $(cat err.0)"
both="PADDLE_PSERVERS_IP_PORT_LIST=10.77.0.1:7164 PADDLE_TRAINERS_NUM=1"
# shellcheck disable=SC2016,SC2086
in_node 0 'sh -c "$(cat "$CLUSTER/start-cmd")"' $both TRAINING_ROLE=PSERVER POD_IP=10.77.0.1 PADDLE_PORT=7164 >out.1 2>err.1 &
server=$!
# shellcheck disable=SC2016,SC2086
in_node 0 'sh -c "$(cat "$CLUSTER/start-cmd")" && sh end_hook.sh' $both TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID=0 >>out.0 2>>err.0 &
wait $! || fail "the trainer: $(cat err.0)"
wait $server || fail "the server: $(cat err.1)"
grep -q "^End before_hook.sh" out.0 && grep -q "^Run end_hook.sh" out.0 || fail "$(cat out.0)"
none_left
is_there node0/output/1/state.json
grep -q '^output_path=/user/out$' node0/config.ini || fail "$(cat node0/config.ini)"
passed "MPI with servers: a server and a trainer on the node, train_data, output"

# MPI with two nodes, which share no folder: each has another part of the data and its own output. Both trainers read all parts, and the
# first node writes the checkpoint for all; with the strategy sync the weights are those of one process that has all files.
rm -rf ctr_*
paddle_config cpu ps '{workspace}/train_data'
sed -i 's,fleet_mode: ps,fleet_mode: ps\, distribute_strategy: sync,' config.yaml
backend_mpi | sed 's/^  binary: image/  binary: bundle/' >backend.yaml
submitted
[ "$(cat cluster/mpi-nodes)" = 2 ] || fail "$(cat cluster/mpi-nodes)"
! grep -q "another part" "$err" || fail "$(cat "$err")"
both="PADDLE_PSERVERS_IP_PORT_LIST=10.77.0.1:7164,10.77.0.2:7164 PADDLE_TRAINERS_NUM=2"
pids=
for i in 0 1; do
    arrive $i
    rm node$i/afs
    mkdir node$i/train_data
    cp afs_remote/data/part-$i node$i/train_data
    in_node $i 'sh before_hook.sh' >out.$i 2>err.$i &
    wait $! || fail "before_hook.sh: $(cat err.$i)"
    # shellcheck disable=SC2016,SC2086
    in_node $i 'sh -c "$(cat "$CLUSTER/start-cmd")"' $both TRAINING_ROLE=PSERVER POD_IP=10.77.0.$((i + 1)) PADDLE_PORT=7164 >out.s$i 2>err.s$i &
    pids="$pids $!"
    # shellcheck disable=SC2016,SC2086
    in_node $i 'sh -c "$(cat "$CLUSTER/start-cmd")" && sh end_hook.sh' $both TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID=$i >>out.$i 2>>err.$i &
    pids="$pids $!"
done
for p in $pids; do
    wait "$p" || fail "a process of the MPI job: $(cat err.0 err.1 err.s0 err.s1)"
done
none_left
grep -q "train_input_path: the hosts have different files" err.0 out.0 || fail "nothing is said of the parts: $(cat err.0 out.0)"
is_there node0/output/1/state.json
[ ! -e node1/output/1 ] || fail "the second node has a checkpoint, too"
rm -rf alone
paddle_config cpu collective "$CASE_DIR/afs_remote/data"
sed -i 's,class: cluster_train,class: train,; s,save_checkpoint_path: output,save_checkpoint_path: alone,; s,batch_size: 4,batch_size: 8,' config.yaml
run "$CRANK" run -m config.yaml
ends 0
same_weights alone node0/output
passed "MPI with two nodes: parts of the data, one checkpoint, the bytes of one process"

# without backend.yaml: the files by hand, from those of a dry run
rm -rf ctr_* byhand
paddle_config cpu ps '{workspace}/train_data'
both="PADDLE_PSERVERS_IP_PORT_LIST=10.77.0.1:7164 PADDLE_TRAINERS_NUM=1"
backend_mpi | sed 's/^  binary: image/  binary: bundle/; s/^  nodes: 2/  nodes: 1/' >backend.yaml
run "$CRANK" submit config.yaml -b backend.yaml --dry-run
ends 0
mkdir byhand && cp config.yaml ctr_*/before_hook.sh ctr_*/end_hook.sh ctr_*/crank.tar.gz byhand
echo PADDLE_PADDLEREC_ROLE=WORKER >byhand/config.ini
cat >byhand/job.sh <<'END'
head -c 32 /dev/urandom | base64 >crank_secret
paddlecloud job --ak AKAKAK --sk SKSKSK train --job-name ctr --job-conf config.ini --files ./* --json \
    --start-cmd 'CRANK_JOB_SECRET=$(cat crank_secret) ./crank run -m config.yaml'
END
rm -rf cluster node0
mkdir cluster
(cd byhand && sh job.sh) >out.0 || fail "$(cat out.0)"
cp cluster/files/config.ini cluster/files/env.sh
arrive 0
rm node0/afs
cp -r afs_remote/data node0/train_data
# shellcheck disable=SC2016,SC2086
in_node 0 'sh before_hook.sh && : >unpacked && sh -c "$(cat "$CLUSTER/start-cmd")"' $both TRAINING_ROLE=PSERVER POD_IP=10.77.0.1 PADDLE_PORT=7164 >out.1 2>err.1 &
server=$!
# shellcheck disable=SC2016,SC2086
in_node 0 'until [ -e unpacked ]; do sleep 0.2; done; sh -c "$(cat "$CLUSTER/start-cmd")"' $both TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID=0 >out.0 2>err.0 &
wait $! || fail "the trainer: $(cat err.0)"
wait $server || fail "the server: $(cat err.1)"
none_left
is_there node0/output/1/state.json
passed "without backend.yaml: the user's own files, with PADDLE_PADDLEREC_ROLE=WORKER"

# ---- PAI-DLC: the folder reaches the storage of the containers, each of which runs the command of the job file with the variables of
# the platform; the date is that of a scheduler, and the program comes out of the bundle ----
rm -rf cluster
mkdir cluster storage "dt=20250301"
cp train.csv "dt=20250301/"
cat >bin/dlc <<'END'
#!/bin/sh
# dlc submit pytorchjob --job_file FILE
cp "$4" "$CLUSTER/job.ini"
echo '|      JobId       |              RequestId               |'
echo '| dlc1k2m3n4o5p6q7 | 0A1B2C3D-0000-0000-0000-000000000000 |'
END
chmod +x bin/dlc
cat >dlc.yaml <<END
backend: dlc
job_name: "daily_{date}"
nodes: 2
ranks_per_node: 2
workspace_id: 12345
worker_image: registry.example.com/team/base:1.0
worker_spec: ecs.g7.8xlarge
work_dir: $CASE_DIR/storage
stage_dir: $CASE_DIR/storage
model_dir: $CASE_DIR/m.dlc
env: {UCX_TLS: "self,tcp"}
args: [--train_input_path, "$CASE_DIR/dt={date}/*.csv", --eval_input_path, $CASE_DIR/eval.csv]
END
# shellcheck disable=SC2086
run "$CRANK" submit tiny.yaml -b dlc.yaml --dry-run $settings
ends 0
folder=$(sed -n 's/^The task submission folder is generated at //p' "$out")
run sh "$folder/job.sh" 20250301
ends 0
[ "$(sed -n 's/^name=//p' cluster/job.ini)" = daily_20250301 ] || fail "$(cat cluster/job.ini)"
command=$(sed -n 's/^command=//p' cluster/job.ini)
for i in 1 0; do
    on $i env -u CRANK_JOB_SECRET PATH=/usr/bin:/bin MASTER_ADDR=10.77.0.1 MASTER_PORT=23456 WORLD_SIZE=2 NPROC_PER_NODE=1 RANK=$i sh -c "$command" >out.$i 2>err.$i &
    eval "pid_$i=$!"
done
for i in 0 1; do
    eval "p=\$pid_$i"
    code=0
    wait "$p" || code=$?
    [ $code -eq 0 ] || fail "container $i ended with $code: $(cat out.$i err.$i)"
done
none_left
grep -q "2 nodes with 2 ranks each" err.0 || fail "$(cat err.0)"
same_weights one m.dlc
passed "PAI-DLC: job.sh with a date, the storage, two containers, the bytes of one process"

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
