# data that changes under a run, with the same size and other rows, is found: in every epoch of training, in evaluations, in predictions;
# a run that goes on compares too. The run stops itself at an exact place (SIGSTOP), so nothing here depends on time
tiny_config
tiny_data 960 200
edit 11 '  num_epochs: 4'
edit 12 '  save_checkpoints_steps: 1000'
message="the file changed while the run was using it; keep data files as they are during a run, and start again"
meanwhile() { # meanwhile POINT CHANGE COMMAND...: the command stops at the point, the change is made, the command goes on
    at_point=$1
    change=$2
    shift 2
    stops_at "$at_point" "$@"
    $change
    goes_on
}
# other rows, the same size: the first label of the file is another one now
in_place() { printf "$digit" | dd of=$file bs=1 seek=$at conv=notrunc 2>/dev/null; }
replace() { cp $file new && printf "$digit" | dd of=new bs=1 seek=$at conv=notrunc 2>/dev/null && mv new $file; }
at=27
file=train.csv
digit=7
cp train.csv kept.csv
for change in in_place replace; do
    for point in step:5 step:40; do # of the first epoch, of the second
        rm -rf model
        cp kept.csv train.csv
        meanwhile $point $change crank train tiny.yaml -q
        ends 3
        has_err "train.csv: $message"
        [ "$(wc -c <train.csv)" -eq "$(wc -c <kept.csv)" ] || fail "another size"
    done
done
cp kept.csv train.csv
# Parquet, with shuffled rows
tiny_parquet 300
file=train.parquet
at=$(($(wc -c <train.parquet) / 3))
cp train.parquet kept.parquet
for change in in_place replace; do
    rm -rf model
    cp kept.parquet train.parquet
    meanwhile step:40 $change crank train tiny_pq.yaml -q --set data_config.shuffle=true
    ends 3
    has_err "train.parquet: $message"
done
# the data of evaluations is the same in all of them, else they could not be compared
file=eval.csv
at=27
cp eval.csv kept.eval
rm -rf model
meanwhile step:15 in_place crank train tiny.yaml -q --set train_config.save_checkpoints_steps=10
ends 3
has_err "eval.csv: $message"
is_there model/model.ckpt-10
cp kept.eval eval.csv
# one evaluation, one prediction
rm -rf model
run crank train tiny.yaml -q --set train_config.num_epochs=1
ends 0
tiny_rows eval.csv 300000 5 # more blocks than are read ahead
digit=8
for what in eval predict; do
    [ $what = eval ] && set -- eval model/pipeline.config || set -- predict --pipeline_config_path model/pipeline.config --predict_input_path eval.csv --predict_output_path p
    for change in in_place replace; do
        at=$(($(wc -c <eval.csv) - 3))
        [ $change = replace ] && digit=9
        meanwhile batch:10 $change crank "$@" -q --threads 1
        ends 3
        has_err "eval.csv: $message"
        is_gone p/part-0.csv
    done
    digit=6
done
cp kept.eval eval.csv
# a run that goes on
rm -rf model
kill=step:40:TERM
run env CRANK_TEST_KILL=$kill crank train tiny.yaml -q
ends 1
cp -r model stopped
run crank train tiny.yaml -q --continue_train
ends 0
no_err "...train..."
again() {
    rm -rf model
    cp -r stopped model
    run crank train tiny.yaml -q --continue_train
    ends 0
}
touch train.csv
again
has_err "model/model.ckpt-39: warning: the training files that it was made with were written again since then: rows of this epoch may come again or be missed"
file=train.csv
at=27
other_label() {
    digit=$((1 - $(od -An -c -j$at -N1 $file)))
    in_place
}
other_label
again
has_err "model/model.ckpt-39: warning: the training files that it was made with hold something else now: rows of this epoch may come again or be missed"
cp kept.csv train.csv
file=eval.csv
other_label
again
has_err "model/model.ckpt-39: warning: the files of eval_input_path hold something else now: metrics from before and from now on are of different data"
# another global batch between two epochs
batch=$(sed -n 's/.*batch_size: *\([0-9]*\).*/\1/p' tiny.yaml)
run crank train tiny.yaml -q --continue_train --set train_config.num_epochs=3
ends 0
no_err "...global batch..."
run crank train tiny.yaml -q --continue_train --set train_config.num_epochs=4 --set data_config.batch_size=$((2 * batch))
ends 0
has_err "model/model.ckpt-...: warning: made with a global batch of $batch rows, and now it has $((2 * batch)): results differ from an unbroken run; data_config.batch_size counts for each rank"
