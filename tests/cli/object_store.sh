# object_store.sh - a whole run on an object store, for the cases store_s3 and store_oss. The case sets kind and defines
# stand_in PORT, which points crank to the server, and adds what only one store has.
. "$CLI/store_server.sh"
at=$kind://demo-bucket
tiny_config
tiny_data 960 300
server
# data, checkpoints, results and logs on the store; the bytes are those of a disk
run crank train tiny.yaml --model_dir local
ends 0
run crank cp train.csv "$at/data/dt=20250101/train.csv"
has_out "copied 1 file, ..."
run crank cp eval.csv "$at/data/eval set+1.csv"
run crank ls "$at/data"
has_out "... ...  eval set+1.csv"
has_out "...  dt=20250101/"
remote="--train_input_path $at/data/dt=*/train.csv --model_dir $at/exp/one"
# shellcheck disable=SC2086
run crank train tiny.yaml $remote --eval_input_path "$at/data/eval set+1.csv"
ends 0
run crank cp -r "$at/exp/one" back
same_weights local back
# every cause that may pass does: 503, a body that is cut, a wrong range, keys that ended
fault '{"fail503": 4, "cut": 100, "wrong_range": 1, "expire": 1}'
# shellcheck disable=SC2086
run crank train tiny.yaml --train_input_path "$at/data/dt=20250101/train.csv" --eval_input_path "$at/data/eval set+1.csv" --model_dir "$at/exp/two"
ends 0
run crank cp -r "$at/exp/two" back2
same_weights local back2
[ "$(stat_of refused)" -gt 4 ] || fail "the faults were not met: $(stat_of refused)"
# a clock that is an hour wrong
fault '{"skew": 3600}'
run crank ls "$at/data"
ends 0
fault '{"skew": 0}'
# killed while a checkpoint is written: it is whole or absent, and the run goes on to the same bytes
may_be_killed=yes
# shellcheck disable=SC2086
CRANK_TEST_KILL=step:25 run crank train tiny.yaml --train_input_path "$at/data/dt=20250101/train.csv" --eval_input_path "$at/data/eval set+1.csv" --model_dir "$at/exp/three" --set train_config.save_checkpoints_steps=10
ends 137
# shellcheck disable=SC2086
run crank train tiny.yaml --train_input_path "$at/data/dt=20250101/train.csv" --eval_input_path "$at/data/eval set+1.csv" --model_dir "$at/exp/three" --continue_train --set train_config.save_checkpoints_steps=10
ends 0
run crank cp -r "$at/exp/three" back3
same_weights local back3
. "$CLI/store_kill.sh"
killed_writing "$at/exp" --train_input_path "$at/data/dt=20250101/train.csv" --eval_input_path "$at/data/eval set+1.csv"
# predictions and an export
run crank export local/pipeline.config --export_dir "$at/export"
ends 0
run crank predict --scripted_model_path "$at/export" --predict_input_path "$at/data/eval set+1.csv" --predict_output_path "$at/scores" --reserved_columns user
ends 0
run crank predict --scripted_model_path "$at/export" --predict_input_path eval.csv --predict_output_path scores --reserved_columns user
ends 0
run crank cp -r "$at/scores" scores_back
same scores scores_back
# an upload of several parts, and what is refused
head -c 20000000 /dev/urandom >big.bin
run crank cp big.bin "$at/big.bin"
run crank cp "$at/big.bin" big_back.bin
same big.bin big_back.bin
# an answer is lost: those to the first, the second and the last request of an upload, and that to every second one of a training
for n in 1 2 5; do
    fault "{\"lose_at\": $n}"
    run crank cp big.bin "$at/lost_$n.bin"
    ends 0
    run crank cp "$at/lost_$n.bin" big_back.bin
    same big.bin big_back.bin
done
fault '{"lose_every": 2}'
run crank train tiny.yaml --train_input_path "$at/data/dt=20250101/train.csv" --eval_input_path "$at/data/eval set+1.csv" --model_dir "$at/exp/lost"
ends 0
fault '{"lose_every": 0}'
run crank cp -r "$at/exp/lost" back_lost
same_weights local back_lost
# somebody else answers, as a proxy does that wants a password: no page is taken for a file, and no file for written
fault '{"html": 1000}'
for what in "cp $at/big.bin page" "cp tiny.yaml $at/page"; do
    # shellcheck disable=SC2086
    run crank $what
    ends 1
    has_err "...the answer has status 200 and no ETag: it is not that of an object store (tried 8 times); check ..._ENDPOINT... and the proxies"
done
is_gone page
fault '{"html": 0}'
run crank ls "$at/page"
ends 1
# a store that does not know If-Match gives another version
fault '{"no_match": 1, "replace": 1}'
run crank cp "$at/big.bin" page
ends 1
has_err "...the object was replaced since it was opened; run again"
is_gone page
fault '{"no_match": 0}'
run crank ls "$at/none"
ends 1
has_err "$at/none: cannot list: demo-bucket answers 404...; check the path"
run crank ls "$kind://other-bucket/x"
ends 1
has_err "...NoSuchBucket...; check the name of the bucket and its region"
run crank ls "$kind://"
ends 1
has_err "...the path names no bucket; write $kind://bucket/folder/file"
