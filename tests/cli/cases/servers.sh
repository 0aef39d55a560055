# parameter servers, strategy sync: the bytes of one process for any numbers of servers and workers; evaluation, export, prediction;
# mistakes
mpi_leaks
[ -f "$(dirname "$CRANK")/comm-mpich.so" ] || skip "crank was built without comm-mpich.so (package libmpich-dev)"
tiny_config
tiny_data 960 300
settings="--set train_config.lanes=8 --set train_config.num_epochs=2 --set train_config.save_checkpoints_steps=3
 --set train_config.grad_clipping.clipping_type=norm --set train_config.grad_clipping.max_gradient=0.5 --set train_config.gradient_accumulation_steps=2"
# shellcheck disable=SC2086
run crank train tiny.yaml --model_dir one --threads 2 $settings --set data_config.batch_size=120
ends 0
same_run() { # same_run DIR: the checkpoint and the results are those of one process
    same_weights one "$1"
    same one/train_eval_result_v2.txt "$1/train_eval_result_v2.txt"
}
for shape in 1x1 1x4 2x2 4x3; do
    s=${shape%x*} w=${shape#*x}
    # shellcheck disable=SC2086
    run crank launch --ps $s --workers $w -- train tiny.yaml --strategy sync --model_dir m$shape --threads 1 $settings --set data_config.batch_size=$((120 / w))
    ends 0
    same_run m$shape
    has_err "...tables in ... blocks on $s server..."
    [ "$(grep -c '^trained ' "$out")" -eq 1 ] || fail "not one summary"
done
# a table that is cut over the servers
sed 's/num_buckets: 50,/num_buckets: 20000,/' tiny.yaml >large.yaml
# shellcheck disable=SC2086
run crank train large.yaml --model_dir big --threads 2 $settings --set data_config.batch_size=120
ends 0
# shellcheck disable=SC2086
run crank launch --ps 3 --workers 2 -- train large.yaml --model_dir cut --threads 1 $settings --set data_config.batch_size=60
ends 0
same_weights big cut
# tables whose ids are counted
sed 's/expression: "user:user", num_buckets: 50/expression: "user:user", zch: {zch_size: 30, eviction_interval: 3, lfu: {}}/' tiny.yaml >zch.yaml
grep -q zch_size zch.yaml || fail "$(cat zch.yaml)"
# shellcheck disable=SC2086
run crank train zch.yaml --model_dir ids --threads 2 $settings --set data_config.batch_size=120
ends 0
# shellcheck disable=SC2086
run crank launch --ps 1 --workers 2 -- train zch.yaml --model_dir served --threads 1 $settings --set data_config.batch_size=60
ends 0
same_weights ids served
run crank launch --ps 1 --workers 1 -- train zch.yaml --model_dir no --strategy async
ends 2
has_err "...zch looks at the ids of a step, and with strategy async no step has all workers; remove it, or use --strategy sync"
# the other commands; the strategy in the config keeps none of them from running as one process
run crank eval m2x2/pipeline.config --eval_result_filename alone.txt
ends 0
run crank launch --ps 2 --workers 2 -- eval m2x2/pipeline.config --eval_result_filename served.txt --set data_config.batch_size=60 --set train_config.lanes=8
ends 0
same m2x2/alone.txt m2x2/served.txt
run crank export m2x2/pipeline.config --export_dir export_one
ends 0
run crank launch --ps 1 --workers 1 -- export m2x2/pipeline.config --export_dir export_two
ends 0
same export_one export_two
run crank predict --scripted_model_path export_one --predict_input_path eval.csv --predict_output_path one.csv
ends 0
run crank launch --ps 1 --workers 2 -- predict --scripted_model_path export_one --predict_input_path eval.csv --predict_output_path two.csv
ends 0
same one.csv two.csv
# mistakes
run crank train tiny.yaml --strategy sync --model_dir no
ends 2
has_err "...the strategy 'sync' is one of parameter servers, and no rank is a server; start the training with 'crank launch --ps N --workers M -- train ...', or remove train_config.servers"
run crank launch --ps 1 --workers 1 -- train tiny.yaml --strategy sink --model_dir no
ends 2
has_err "...unknown strategy 'sink'; use sync, half_async, async or geo"
run crank launch --ps 1 -- train tiny.yaml
ends 2
has_err "crank launch: --ps is given without --workers; parameter servers need workers, so give both"
run crank launch --workers 1 -- train tiny.yaml
ends 2
has_err "crank launch: --workers is given without --ps; parameter servers need workers, so give both"
run crank launch --ps 1 --workers 1 --nproc-per-node 2 -- train tiny.yaml
ends 2
has_err "crank launch: --nproc-per-node is 2 beside --ps and --workers, which start 2 ranks on each node; leave one of both out"
run crank launch --ps 1 --workers 1 -- check tiny.yaml
ends 2
has_err "crank launch: check runs as one process and has no use for parameter servers; leave out --ps and --workers"
run crank launch --nproc-per-node 2 -- train tiny.yaml --ps 1
ends 2
has_err "crank launch: --ps and --workers stand behind '--'; write them before it, for the launcher to start so many ranks"
run crank train tiny.yaml --ps 1
ends 2
has_err "crank train: --ps 1 needs ranks that serve, and this process is alone; write 'crank launch --ps 1 --workers N -- train ...'"
run crank train tiny.yaml --workers 1
ends 2
has_err "crank train: --workers counts the workers of parameter servers..."
