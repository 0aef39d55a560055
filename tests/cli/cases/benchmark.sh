# configs are trained several times, and their metrics compared with base results
tiny_data
tiny_config
mkdir -p configs/small data/small
mv train.csv eval.csv data/small
crank config tiny.yaml --format pbtxt >configs/small/one.config
cp configs/small/one.config configs/small/two.config
base() { # base AUC_OF_ONE AUC_OF_TWO
    cat >configs/base_eval_metric.json <<END
{"tzrec/benchmark/configs/small/one.config": {"label": {"auc": $1}, "threshold": 0.01, "run_cnt": 2},
 "tzrec/benchmark/configs/small/two.config": {"label": {"auc": $2}, "threshold": {"auc": 0.9}, "run_cnt": 1}}
END
}
bench() {
    rm -rf exp_*
    run crank python -m tzrec.benchmark.benchmark --pipeline_config_path configs --experiment_path exp "$@" \
        --train_input_path 'data/{DIR}/train.csv' --eval_input_path 'data/{DIR}/eval.csv'
}
base 0.01 0.5
bench
ends 0
says_out <<'END'
******* We will save experiment is exp_... *******
[BETTER] config_path:configs/small/one.config, fail_cnt:0 and run_cnt:2. better metric name:['auc'], all train metric is:{'auc': ...}
[BALANCE] config_path:configs/small/two.config, fail_cnt:0 and run_cnt:1. not has better and worse metric name, all train metric is:{'auc': ...}
==============================
==============================
[BETTER] config_path:configs/small/one.config, ...
[BALANCE] config_path:configs/small/two.config, ...
benchmark complete !!!

  config...runs  rows/s  metric...mean...base  difference  verdict
  configs/small/one.config...2/2...auc...0.0100...better
  configs/small/two.config...1/1...auc...0.5000...balance
the means are in exp_.../benchmark_eval.txt
END
is_there exp_*/logs/configs_small_one_1.log
is_there exp_*/models/configs_small_two_0/pipeline.config
grep -q '^{"configs/small/one.config": {"auc": 0\.' exp_*/benchmark_eval.txt || fail "no means"
# runs differ in their seeds, and the mean is theirs
a=$(sed -n 's/.*"auc": \([0-9.]*\).*/\1/p' exp_*/models/configs_small_one_0/train_eval_result_v2.txt | tail -n 1)
b=$(sed -n 's/.*"auc": \([0-9.]*\).*/\1/p' exp_*/models/configs_small_one_1/train_eval_result_v2.txt | tail -n 1)
m=$(sed -n 's/^{"configs.small.one.config": {"auc": \([0-9.]*\).*/\1/p' exp_*/benchmark_eval.txt)
[ "$a" != "$b" ] || fail "two runs with the same seed"
awk -v a="$a" -v b="$b" -v m="$m" 'BEGIN { d = (a + b) / 2 - m; exit !(d < 1e-9 && d > -1e-9) }' || fail "$m is no mean of $a and $b"

# a metric that is worse makes it a failure
base 0.999 0.5
bench --runs 1
ends 1
has_out "[WORSE] config_path:configs/small/one.config, fail_cnt:0 and run_cnt:1. worse metric name:['auc'], ..."
has_err "crank benchmark: of 2 configs 1 is worse than the base results and 0 did not train"

# a config that does not train does not stop the others; its log tells why
sed 's/num_epochs: .*/num_epochs: 0/; s/num_steps: .*/num_steps: 0/' configs/small/one.config >configs/small/no.config
base 0.01 0.5
bench --runs 1
ends 1
has_out "[ERROR] config_path:configs/small/no.config, fail_cnt:1 and run_cnt:0. metric is unbelief, train metric: {}"
has_out "        the training ended with exit code 2; the log is exp_.../logs/configs_small_no_0.log"
has_out "[BETTER] config_path:configs/small/one.config, ..."
has_err "crank benchmark: of 3 configs 0 are worse than the base results and 1 did not train"
grep -q 'num_epochs' exp_*/logs/configs_small_no_0.log || fail "the log says nothing"
rm configs/small/no.config

# a signal stops the training that runs, and the others do not begin
rm -rf exp_*
[ -r /proc/$$/status ] || skip "no /proc"
CRANK_TEST_KILL=step:3:STOP crank benchmark configs --experiment_path exp --train_input_path 'data/{DIR}/train.csv' --eval_input_path 'data/{DIR}/eval.csv' \
    --set train_config.num_epochs=1000000 >"$out" 2>"$err" &
pid=$!
# the training is a process of its own, which stands still before its third step
until child=$(sed -n 's/^process //p' exp_*/models/configs_small_one_0/train.lock 2>/dev/null) && [ -n "$child" ]; do
    kill -0 $pid 2>/dev/null || fail "it ended before the training began"
    sleep 0.01
done
until_stopped "$child" || fail "the training ended before its third step"
kill -TERM $pid
kill -CONT "$child"
code=0
wait $pid || code=$?
ends 1
has_err "crank benchmark: stopped by a signal; the runs so far are in exp_..."
is_gone exp_*/models/configs_small_one_0/train.lock
is_gone exp_*/models/configs_small_two_0

# one config without a base: its metrics, and no verdict
cp configs/small/one.config alone.config
run crank benchmark alone.config --base_metric_path configs/base_eval_metric.json --experiment_path exp \
    --train_input_path 'data/small/train.csv' --eval_input_path 'data/small/eval.csv' --set train_config.seed=7
ends 0
has_err "configs/base_eval_metric.json: warning: there is no base result for alone.config; its metrics are not compared"
has_out "config_path:alone.config, fail_cnt:0 and run_cnt:1. all train metric is:{'auc': ..."

# mistakes
run crank benchmark nothing_here
ends 1
has_err "nothing_here: there is no such file or folder; ..."
mkdir empty
run crank benchmark empty
ends 2
has_err "empty: the folder holds no config; ..."
# data and notes beside configs are not taken as configs
mkdir mixed
echo 'a,b' >mixed/a.csv
cp configs/small/one.config mixed/
run crank benchmark mixed
ends 1
has_err 'mixed/base_eval_metric.json: there is no such file with base results; write {"one.config": ...'
rm mixed/one.config
run crank benchmark mixed
ends 2
has_err "mixed: the folder holds no config; ..."
echo '[1]' >configs/base_eval_metric.json
bench
ends 2
has_err "configs/base_eval_metric.json: it must be one object, a member per config"
echo '{"small/one.config": {"label": {"auc": "high"}, "threshold": 1}}' >configs/base_eval_metric.json
bench
ends 2
has_err "configs/base_eval_metric.json: configs/small/one.config: a base metric is no number"
rm configs/base_eval_metric.json
bench
ends 1
has_err "configs/base_eval_metric.json: there is no such file with base results; write {\"one.config\": {\"label\": {\"auc\": 0.78}, \"threshold\": 0.002}} into it, or name another with --base_metric_path"
# for one config they lie beside it, and what the message says works
one() {
    run crank benchmark configs/small/one.config --experiment_path exp --train_input_path 'data/small/train.csv' --eval_input_path 'data/small/eval.csv'
}
echo '{"one.config": {"click": {"auc": 0.01}}}' >configs/small/base_eval_metric.json
one
ends 2
has_err 'configs/small/base_eval_metric.json: configs/small/one.config: it has no base metrics; write them as "label": {"auc": 0.78}'
echo '{"one.config": {"label": {"auc": 0.01}, "threshold": 0.002}}' >configs/small/base_eval_metric.json
one
ends 0
has_out "[BETTER] config_path:configs/small/one.config, ..."
