# crank submit to this machine and to plain hosts; ranks and memory that do not fit; crank bundle; crank jobs

tiny_config
tiny_data
export CRANK_JOBS_DIR="$PWD/jobs"
cat >local.yaml <<'END'
backend: local
job_name: tiny
model_dir: out
memory: 8GB
args: [--set, train_config.num_epochs=1]
END
run crank submit tiny.yaml -b local.yaml
ends 0
job=$(sed -n 's/^job id: //p' "$out")
run timeout 100 crank jobs logs -f "$job"
ends 0
has_out "...metrics on 200 rows..."
run crank jobs show "$job"
has_out "state      COMPLETED"
has_out "last step  19"
run crank train tiny.yaml --model_dir same --quiet --set train_config.num_epochs=1
same_weights out same
rm -rf tiny_2* jobs
run crank jobs list
has_out "no jobs were submitted from here"

run crank jobs frob
ends 2
has_err "crank jobs: 'frob' is none of list, show, logs and stop"
run crank jobs logs
ends 2
has_err "crank jobs: logs needs a job: its id, its folder, or last"

# stop saves a checkpoint
sed 's/num_epochs=1/num_epochs=100000/; s/model_dir: out/model_dir: long/' local.yaml >long.yaml
run crank submit tiny.yaml -b long.yaml
ends 0
until ls long/model.ckpt-* >/dev/null 2>&1; do sleep 0.1; done
run sh tiny_2*/job.sh
ends 1
has_err "the job runs already, as process ..."
run crank jobs stop last
ends 0
run crank jobs show last
has_out "state      STOPPED"
grep -q "checkpoint" tiny_2*/job.log || fail "$(cat tiny_2*/job.log)"
rm -rf tiny_2*

# what does not fit is told before anything is written
sed 's/^memory: .*/memory: 20MB/' local.yaml >small.yaml
sed 's/num_buckets: 50,/num_buckets: 2000000,/' tiny.yaml >large.yaml
run crank submit large.yaml -b small.yaml
ends bad
has_err "...the tables do not fit: rank 0 of 1 would need ...; start 8 ranks on 8 machines, or give each machine ..."
sed 's/^memory: .*/ranks_per_node: 64/' local.yaml >many.yaml
run crank submit tiny.yaml -b many.yaml --set data_config.batch_size=1 --set train_config.lanes=1
ends 2
has_err "...and 64 ranks need as many, so training would refuse to start..."
cat >bad.yaml <<'END'
backend: local
nodes: 2
memory: much
binary: magic
data: there
env: [A]
files: [none*]
END
sed 's/user:user/usr:usr/; s/num_buckets: 50/num_bucket: 50/' tiny.yaml >wrong.yaml
run crank submit wrong.yaml -b bad.yaml --secrets keys
ends 2
has_err "crank submit: --secrets has no effect with backend: local, which takes no keys; leave it out"
has_err "bad.yaml:2:8: nodes is 2, and local is this machine alone; write backend: hosts"
has_err "bad.yaml:3:9: memory 'much' is no size; write for example 64GB"
has_err "bad.yaml:4:9: binary is 'magic' and must be bundle, image or path"
has_err "bad.yaml:5:7: data is 'there' and must be here or nodes"
has_err "bad.yaml:6:6: env is a map: {NAME: value}"
has_err "bad.yaml:7:9: files: nothing fits 'none*' in ..."
has_err "wrong.yaml:...num_bucket..."
is_gone tiny_2*

# plain hosts: the files for each way to start
for start in ssh none mpich openmpi; do
    cat >hosts.yaml <<END
backend: hosts
job_name: tiny
hosts: [host0, host1]
ranks_per_node: 2
binary: path
crank: /opt/crank/crank
start: $start
env: {MODE: x}
END
    run crank submit tiny.yaml -b hosts.yaml --dry-run --no-check
    ends 0
    for f in run.sh job.sh; do sh -n tiny_2*/$f || fail "$f of $start"; done
    case $start in
    ssh) grep -q "ssh host1 'sh .*/node.sh 1'" tiny_2*/run.sh || fail "$(cat tiny_2*/run.sh)" ;;
    none) grep -q "on host1 run: sh .*/node.sh 1" tiny_2*/job.sh || fail "$(cat tiny_2*/job.sh)" ;;
    mpich) printf 'host0:2\nhost1:2\n' >wanted && same wanted "$(echo tiny_2*/hostfile)" ;;
    openmpi) printf 'host0 slots=2\nhost1 slots=2\n' >wanted && same wanted "$(echo tiny_2*/hostfile)" ;;
    esac
    rm -rf tiny_2*
done

# the bundle runs by itself
run crank bundle -o b.tar.gz
ends 0
has_out "b.tar.gz: crank, ..."
mkdir unpacked
tar xzf b.tar.gz -C unpacked
run env -i PATH=/usr/bin:/bin unpacked/crank version
ends 0
run env -i PATH=/usr/bin:/bin HOME="$HOME" unpacked/crank train tiny.yaml --model_dir bundled --quiet --set train_config.num_epochs=1
ends 0
same_weights bundled same

# ---- a config of PaddleRec: the job's folder has another name than that of the model, and no data beside the config ----
mkdir -p models/rank/deepfm/data
awk 'BEGIN { for (i = 0; i < 40; i++) { printf "click:%d", i % 3 == 0; for (k = 1; k <= 13; k++) printf " dense_feature:%.2f", (i * k % 17) / 17
    for (k = 1; k <= 26; k++) printf " %d:%d", k, (i * k) % 90 + 1; print "" } }' >models/rank/deepfm/data/part-0
cat >models/rank/deepfm/config.yaml <<'END_OF_CONFIG'
runner: {train_data_dir: data, train_reader_path: criteo_reader, train_batch_size: 8, epochs: 2, print_interval: 1, model_save_path: out_deepfm}
hyper_parameters: {optimizer: {class: Adam, learning_rate: 0.01}, sparse_feature_number: 101, sparse_feature_dim: 4, dense_input_dim: 13, fc_sizes: [8]}
END_OF_CONFIG
printf 'backend: local\njob_name: pd\n' >b.yaml
run crank submit models/rank/deepfm/config.yaml -b b.yaml --no-check
ends 0
run timeout 100 crank jobs logs -f last
ends 0
run crank jobs show last
has_out "state      COMPLETED"
is_there out_deepfm/1
# what the nodes would not be told is refused
for flag in '--compat paddlerec' --bf16 --infer '--builtin dnn' --continue_train '--threads 1'; do
    run crank run -m models/rank/deepfm/config.yaml -b b.yaml $flag
    ends 2
    has_err "crank run: ${flag%% *} does not reach the nodes of a cluster; write it into args, with PaddleCloud into start_cmd, of b.yaml"
done
