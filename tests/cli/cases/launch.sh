# crank launch on one machine: ranks, their output, exit codes, mistakes of the command line
mpi_leaks
[ -f "$(dirname "$CRANK")/comm-mpich.so" ] || skip "crank was built without comm-mpich.so (package libmpich-dev)"
tiny_config
tiny_data 640 64
run crank train tiny.yaml --model_dir one --threads 2 --set data_config.batch_size=64 --set train_config.lanes=4
ends 0
run crank launch --standalone --nproc-per-node 2 -- train tiny.yaml --model_dir two --set data_config.batch_size=32 --set train_config.lanes=4
ends 0
same_weights one two
has_err "...2 ranks on this machine, as the flags say"
[ "$(nproc)" -lt 2 ] || has_err "...thread... per rank: its share of the cores"
has_err "...2 ranks: the first step was done ... s after the start"
[ "$(grep -c '^trained ' "$out")" -eq 1 ] || fail "not one summary"
run taskset -c "$(taskset -pc $$ | sed 's/.*: *\([0-9]*\).*/\1/')" crank launch --nproc-per-node 2 -- eval two/pipeline.config --set data_config.batch_size=32
ends 0
has_err "...1 thread per rank: there are fewer cores than ranks, so they take turns"
# both spellings of flags; the environment of a rank; threads as told
run env OMP_NUM_THREADS=2 crank torchrun --nproc_per_node=2 --max-restarts=0 --rdzv-id=a -- eval two/pipeline.config --set data_config.batch_size=32
ends 0
has_err "...2 threads per rank: OMP_NUM_THREADS"
no_err "...OMP_NUM_THREADS of the environment has no effect..."
[ "$(grep -c '^evaluated ' "$out")" -eq 1 ] || fail "not one summary"
# one process needs no launcher, and a command that runs as one process gets one
run crank launch -- eval two/pipeline.config
ends 0
no_err "...thread per rank..."
# logs of each rank; a prefix on the terminal
run crank launch --standalone --nproc-per-node 2 --log_dir logs --tee 3 -- train tiny.yaml --model_dir three --set data_config.batch_size=32 --set train_config.lanes=4
ends 0
has_out "[default0]:trained ..."
has_err "[default0]:...Train and Evaluate Finished."
grep -q '^trained ' logs/attempt_0/0/stdout.log || fail "rank 0 has no log"
is_there logs/attempt_0/1/stderr.log
run crank launch --standalone --nproc-per-node 2 --log_dir logs2 -r 3 -- train tiny.yaml --model_dir four --set data_config.batch_size=32 --set train_config.lanes=4
ends 0
[ ! -s "$out" ] || fail "output was not redirected"
grep -q '^trained ' logs2/attempt_0/0/stdout.log || fail "rank 0 has no log"
# a log file that cannot be written is told once, and the job goes on
for stream in stdout stderr; do
    mkdir -p logs3/attempt_0/0
    ln -s /dev/full logs3/attempt_0/0/$stream.log
done
run crank launch --standalone --nproc-per-node 2 --log_dir logs3 --redirects 0:1 -- train tiny.yaml --model_dir full --set data_config.batch_size=32 --set train_config.lanes=4
ends 0
has_err "...logs3/attempt_0/0/stdout.log cannot be written: No space left on device; until that is put right, lines of this rank's output are lost"
has_err "...logs3/attempt_0/0/stderr.log cannot be written: No space left on device; until that is put right, lines of this rank's output are on the terminal only"
[ "$(grep -c 'cannot be written' "$err")" -eq 2 ] || fail "not once per file"
# more ranks than the usual number of open files has room for
run sh -c 'ulimit -Sn 24; crank launch --standalone --nproc-per-node 6 --log_dir logs4 -- eval two/pipeline.config --set data_config.batch_size=8 --set train_config.lanes=8'
ends 0
# a run that was stopped says how it goes on: with the same launcher and as many ranks
run env CRANK_TEST_KILL=step:3:TERM crank launch --standalone --nproc-per-node 2 -- train tiny.yaml --model_dir stopped --set data_config.batch_size=32 --set train_config.lanes=4
ends 1
has_out "next  crank launch --nproc-per-node 2 -- train stopped/pipeline.config --continue_train"
# exit codes are the ranks'; their own message is what is read, once
run crank launch --standalone --nproc-per-node 2 --max_restarts 3 -- train tiny.yaml --model_dir two
ends 2
[ "$(grep -c 'two already holds checkpoints' "$err")" -eq 1 ] || fail "$(cat "$err")"
no_err "...restart..."
head -c 200 train.csv >bad.csv
echo 'x,y,z' >>bad.csv
run crank launch --standalone --nproc-per-node 2 --max_restarts 3 -- train tiny.yaml --model_dir bad --train_input_path bad.csv --set data_config.batch_size=32 --set train_config.lanes=4
ends 3
no_err "...restart..."
[ "$(grep -c 'bad.csv' "$err")" -eq 1 ] || fail "the rank's error is not told once: $(cat "$err")"
# mistakes are told before anything is started
run crank launch
ends 2
has_err "crank launch: no command is given; write 'crank launch --nproc-per-node 2 -- train CONFIG', or -m tzrec.train_eval and its flags"
run crank launch --standalone -- trian x
ends 2
has_err "crank: unknown command 'trian'; did you mean 'train'?"
run crank launch --standalone --nproc-per-node 2 -- train tiny.yaml --modeldir x
ends 2
has_err "crank train: unknown flag --modeldir; did you mean --model_dir?"
run crank launch --nnode 2 --no_such_flag -- train tiny.yaml
ends 2
has_err "crank launch: unknown flag --no_such_flag..."
run crank launch --nnodes 2 --node_rank 0 --master_addr 127.0.0.1 --nproc-per-node 1 -- train tiny.yaml --model_dir five
ends 2
has_err "crank launch: several nodes need a secret that they share...CRANK_JOB_SECRET..."
run env CRANK_JOB_SECRET=short crank launch --nnodes 2 --node_rank 0 --master_addr 127.0.0.1 -- train tiny.yaml --model_dir five
ends 2
has_err "...has 5 bytes and needs at least 16..."
run env WORLD_SIZE=4 RANK=0 crank launch -- train tiny.yaml --model_dir five
ends 2
has_err "...WORLD_SIZE of the environment is '4', which may count nodes or processes; say which..."
run env WORLD_SIZE=4 RANK=0 crank launch --nproc-per-node 2 -- train tiny.yaml --model_dir five
ends 2
has_err "...WORLD_SIZE of the environment is '4', which may count nodes or processes; say which..."
# more ranks than a job can have are refused before any is started
run crank launch --nproc-per-node 1500 -- train tiny.yaml --model_dir five
ends 2
has_err "crank launch: --nproc-per-node is '1500' and must be a number from 1 to 1024, auto, cpu or gpu"
run env OMP_NUM_THREADS=many crank launch --nproc-per-node 2 -- train tiny.yaml --model_dir five
ends 2
has_err "crank launch: OMP_NUM_THREADS of the environment is 'many' and must be a number from 1 to 1024; unset it to divide the cores among the ranks"
run crank launch --standalone --nproc-per-node 2 --redirects 3 -- train tiny.yaml --model_dir five
ends 2
has_err "...--redirects needs a folder for the files; give --log_dir DIR"
run crank launch --standalone --monitor_interval 5 --start-method=spawn --nproc-per-node 1 -- eval two/pipeline.config
ends 0
has_err "...--monitor_interval, --start_method are without effect in crank..."
is_gone five
# a reader that leaves early ends neither the ranks nor their log
run crank export two/pipeline.config --export_dir early_export
ends 0
awk 'NR == 1 { print; next } { for (i = 0; i < 8; i++) print }' train.csv >more.csv
timeout 120 crank launch --standalone --nproc-per-node 2 --log_dir early_logs -- predict --scripted_model_path early_export --predict_input_path more.csv --predict_output_path - \
    --reserved_columns user,item,price 2>early.err | head -n 1 >early.csv
[ "$(wc -l <early_logs/attempt_0/0/stdout.log)" -eq "$(wc -l <more.csv)" ] || fail "the log lacks lines: $(wc -l <early_logs/attempt_0/0/stdout.log) of $(wc -l <more.csv): $(cat early.err)"
# a reader that begins late gets all of a rank's output
run crank export two/pipeline.config --export_dir late_export
ends 0
awk 'NR == 1 { print; next } { for (i = 0; i < 4; i++) print }' train.csv >many.csv
crank launch --standalone --nproc-per-node 2 --log_dir late_logs -- predict --scripted_model_path late_export --predict_input_path many.csv --predict_output_path - \
    --reserved_columns user,item,price 2>late.err | { sleep 2 && cat >late.csv; }
[ "$(wc -l <late.csv)" -eq "$(wc -l <many.csv)" ] || fail "$(wc -l <late.csv) of $(wc -l <many.csv) lines arrived: $(cat late.err)"
