# ranks_files.sh - files that several ranks write besides checkpoints, when something goes wrong: exports and parts of predictions after a
# kill or on a full disk; and ranks with little memory. For the cases ranks_files_mpich and ranks_files_openmpi, which define
# ranks as for ranks.sh.
[ -f "$(dirname "$CRANK")/$plug" ] || skip "crank was built without $plug"
mpi_leaks
tiny_config
tiny_data 960 300
lanes="--set train_config.lanes=8"
told_once() { # told_once CODE TEXT
    ends "$1"
    [ "$(grep -c "$2" "$err")" -eq 1 ] || fail "not told once: $2"
}
# on_one 'SHELL COMMANDS' N CMD...: rank 1 of N runs the commands first; they see CMD and its arguments as "$@"
on_one() {
    one=$1 n=$2
    shift 2
    if [ "$1" = crank ]; then shift && set -- "$CRANK" "$@"; fi
    # shellcheck disable=SC2016
    ONE=$one ranks "$n" timeout -k 2 60 sh -c 'if [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ]; then eval "$ONE"; fi; exec "$@"' sh "$@"
}

predict() { # predict N OUT ARGS
    number=$1 to=$2
    shift 2
    run ranks "$number" crank predict --scripted_model_path export1 --predict_output_path "$to" "$@"
}
# shellcheck disable=SC2086
run crank train tiny.yaml --model_dir base -q $lanes --set train_config.num_epochs=1
ends 0
run crank export base/pipeline.config --export_dir export1 -q
ends 0

# ---- exports ----
# no rank needs memory for a table: the limit is less than one table has
sed 's/num_buckets: 50, embedding_dim: 4/num_buckets: 400000, embedding_dim: 64/' tiny.yaml >wide.yaml
run crank train wide.yaml --model_dir wide -q --eval_input_path= --set train_config.num_epochs=1
ends 0
for p in 1 2 3; do
    [ -z "$sanitized" ] || continue
    run ranks $p sh -c 'ulimit -d 90000; exec "$0" "$@"' "$CRANK" export wide/pipeline.config --export_dir wide$p --threads 1
    ends 0
    same wide1 wide$p
    [ "$(wc -c <wide$p/model-00001-of-00001.safetensors)" -gt 102400000 ] || fail "the table is too small for the test"
done
# a full disk, a rank that is killed, another type or another folder for one rank
run ranks 2 sh -c 'ulimit -f 16384; exec "$0" "$@"' "$CRANK" export wide/pipeline.config --export_dir wide_full
told_once 1 "rank 0: cannot write: File too large"
# shellcheck disable=SC2010
[ -z "$(ls -A | grep wide_full)" ] || fail "left behind: $(ls -A)"
may_be_killed=yes
run ranks 2 env CRANK_TEST_KILL=write:2 timeout -k 2 60 "$CRANK" export base/pipeline.config --export_dir killed_export
[ "$code" -ne 0 ] || fail "a killed rank was not noticed"
ends "$code"
may_be_killed=
is_gone killed_export
run ranks 2 crank export base/pipeline.config --export_dir killed_export
ends 0
same export1 killed_export
# shellcheck disable=SC2010
[ -z "$(ls -A | grep '^\.tmp-killed_export')" ] || fail "left behind: $(ls -A)"
run on_one 'set -- "$@" --embedding_dtype INT8' 2 crank export base/pipeline.config --export_dir other_type
told_once 2 "rank 1 (host .*): other flags, "
mkdir elsewhere
run on_one 'cd elsewhere' 2 crank export "$PWD/base/pipeline.config" --model_dir "$PWD/base" --export_dir unseen
told_once 1 "the first rank made this folder, but it is not here; give an --export_dir on a file system that all ranks share"
is_gone unseen
is_gone elsewhere/unseen

# ---- parts of a prediction ----
# Parts that a kill left are no result, and the next run removes them, however many parts it has. Before the parts of all
# ranks are whole, none has its name, and an earlier result stays as it was.
predict 3 earlier --predict_input_path eval.csv --part_per_rank --batch_size 40
ends 0
killed_parts() { # killed_parts RANK POINT: into a copy of earlier, and into a new folder
    for to in parts_over parts_new; do
        rm -rf $to
        [ $to = parts_new ] || cp -R earlier $to
        may_be_killed=yes
        # shellcheck disable=SC2016
        run ranks 3 env WHO="$1" POINT="$2" sh -c 'if [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = "$WHO" ]; then
            CRANK_TEST_KILL=$POINT; export CRANK_TEST_KILL; fi; exec "$0" "$@"' \
            "$CRANK" predict --scripted_model_path export1 --predict_output_path $to --part_per_rank --predict_input_path eval.csv --batch_size 40
        [ "$code" -ne 0 ] || fail "a killed rank was not noticed"
        ends "$code"
        may_be_killed=
        # mpirun may return before the other ranks have ended, and files of running processes stay
        # shellcheck disable=SC2012
        for pid in $(ls -A $to | sed -n 's/^\..*-\([0-9]*\)$/\1/p'); do
            while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
        done
    done
}
swept_parts() { # swept_parts FILES N ARGS: a run of N ranks leaves these files in both folders
    files=$1 number=$2
    shift 2
    for to in parts_over parts_new; do
        rm -rf again && cp -R $to again
        predict "$number" again --predict_input_path eval.csv --batch_size 40 "$@"
        ends 0
        # shellcheck disable=SC2012
        [ "$(ls -A again | tr '\n' ' ')" = "$files " ] || fail "files: $(ls -A again)"
    done
}
for point in "1 batch:2" "1 sync:1" "1 rename:1" "0 rename:2"; do
    # shellcheck disable=SC2086
    killed_parts $point
    for r in 0 1 2; do
        same earlier/part-$r.csv parts_over/part-$r.csv
        is_gone parts_new/part-$r.csv
    done
done
swept_parts "_feature_counts.json part-0.csv part-1.csv part-2.csv" 3 --part_per_rank
# some parts have their names
killed_parts 1 rename:2
swept_parts "_feature_counts.json part-0.csv part-1.csv" 2 --part_per_rank
killed_parts 0 rename:3
swept_parts "_feature_counts.json part-0.csv" 2
killed_parts 0 renamed:3
swept_parts "_feature_counts.json part-0.csv" 1

# ---- memory ----
# no memory on one rank
if [ -z "$sanitized" ]; then
    # shellcheck disable=SC2086
    run on_one 'ulimit -v 400000' 2 crank train tiny.yaml --model_dir memory --threads 1 $lanes --set data_config.batch_size=60 \
        --set 'feature_configs[0].id_feature.num_buckets=1000000' --set 'feature_configs[0].id_feature.embedding_dim=96' --set train_config.global_embedding_constraints.sharding_types=[data_parallel]
    told_once 1 "rank 1 (host .*): no memory for .*user_emb.weight: .* MB needed"
    # less and less for one rank: it ends all of them with one line, also in the middle of a step
    awk 'BEGIN { print "label,user,item,tags,price"
        for (i = 0; i < 60000; i++) printf "%d,%d,%d,%d|%d,%.1f\n", i % 2, i * 7919 % 250000, i * 104729 % 250000, i % 20, i * 3 % 20, i % 10 }' >large.csv
    sed 's/num_buckets: [35]0, embedding_dim: 4/num_buckets: 250000, embedding_dim: 48/' tiny.yaml >large.yaml
    told=0 limit=250000
    while [ $limit -gt 150000 ]; do
        rm -rf memory
        # shellcheck disable=SC2086
        run on_one "ulimit -d $limit" 2 crank train large.yaml --model_dir memory --threads 1 -q $lanes --train_input_path large.csv --eval_input_path= \
            --set train_config.num_epochs=1 --set data_config.batch_size=30000 --set 'train_config.global_embedding_constraints.sharding_types=[row_wise]'
        ends "$code"
        [ "$code" -eq 0 ] || [ "$(grep -c 'no memory for\|cannot start a' "$err")" -eq 1 ] || fail "not one line"
        if grep -q 'rank 1 (host .*) cannot go on: no memory for \(rows of a batch from\|gradients of the table rows\)' "$err"; then told=$((told + 1)); fi
        limit=$((limit - 16000))
    done
    [ $told -gt 0 ] || fail "no limit was met inside of a step"
fi

# ---- each rank has a folder of its own, with another part of the data ----
if [ "$plug" = comm-mpich.so ]; then
    rm -rf here0 here1 here2 whole
    mkdir -p whole/data whole/eval
    for i in 0 1 2; do
        mkdir -p here$i/data here$i/eval
        { head -n 1 train.csv && sed 1d train.csv | awk -v k=$i 'int((NR - 1) / 320) == k'; } >here$i/data/part-$i.csv
        cp here$i/data/part-$i.csv whole/data
        cp eval.csv here$i/eval/e.csv
    done
    cp eval.csv whole/eval/e.csv
    sed 's,^train_input_path:.*,train_input_path: "data/*.csv",; s,^eval_input_path:.*,eval_input_path: "eval/*.csv",' tiny.yaml >parts.yaml
    grep -q 'data/\*.csv' parts.yaml || fail "the config of the parts: $(cat parts.yaml)"
    # shellcheck disable=SC2016
    in_own='cd "here${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" && exec "$@"'
    (cd whole && run crank train ../parts.yaml --model_dir ../m_whole -q $lanes --set data_config.batch_size=24 && ends 0)
    run ranks 3 sh -c "$in_own" sh "$CRANK" train ../parts.yaml --model_dir ../m_parts -q $lanes --set data_config.batch_size=8
    told_once 2 "set data_config.host_parts where each host has a part of them"
    run ranks 3 sh -c "$in_own" sh "$CRANK" train ../parts.yaml --model_dir ../m_parts -q $lanes --set data_config.batch_size=8 --set data_config.host_parts=true
    ends 0
    same_weights m_whole m_parts
    # a folder of each rank for the model, too: the first one has all of it
    run ranks 3 sh -c "$in_own" sh "$CRANK" train ../parts.yaml --model_dir m -q $lanes --set data_config.batch_size=8 --set data_config.host_parts=true
    ends 0
    same_weights m_whole here0/m
    is_gone here1/m
    # an evaluation reads the parts, too
    sed 's,"eval/\*.csv","data/*.csv",' parts.yaml >parts_eval.yaml
    (cd whole && run crank eval ../parts_eval.yaml --checkpoint_path ../m_whole -q $lanes && ends 0 && sed -n "/^metrics/,\$p" "$out" >../r_whole.txt)
    run ranks 3 sh -c "$in_own" sh "$CRANK" eval ../parts_eval.yaml --checkpoint_path ../m_whole -q $lanes --set data_config.host_parts=true
    ends 0
    sed -n "/^metrics/,\$p" "$out" >r_parts.txt
    grep -q auc r_parts.txt || fail "no metrics"
    same r_whole.txt r_parts.txt
    # two files of one name and another content are two files; a rank without files reads those of the others
    mv here1/data/part-1.csv here1/data/part-0.csv
    rm here2/data/part-2.csv
    run ranks 3 sh -c "$in_own" sh "$CRANK" train ../parts.yaml --model_dir ../m_names -q $lanes --set data_config.batch_size=8 --set data_config.host_parts=true
    ends 0
    has_out "trained  1.3k rows, ..."
fi
