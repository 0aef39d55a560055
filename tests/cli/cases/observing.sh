# what a run tells: a progress line on a terminal, plain lines in a file, JSON lines, the summary
tiny_config
tiny_data 640 64
run crank train tiny.yaml --log_json extra.jsonl
ends 0
says_out <<'END'
trained  1.3k rows, 40 steps in ...
  speed              ... rows/s while training
...%...
  peak memory        ... MB
  checkpoint         model/model.ckpt-39
  best               model/model.ckpt-..., auc ...
metrics on 64 rows
  auc                   ...
...
END
if grep -q "$(printf '\033')" "$out" "$err"; then fail "control characters in a file"; fi
is_there model/train_log.jsonl
is_there model/eval_val
same model/train_log.jsonl extra.jsonl
grep -q '"event": "eval".*"step": 39, "val.rows": 64, "val.auc": 0\.' extra.jsonl || fail "no line of the last evaluation"
grep -q '"event": "end".*"status": "finished"' extra.jsonl || fail "no last line"
# stdout is for programs only
run crank train tiny.yaml --model_dir lines --log_json -
ends 0
[ "$(grep -c -v '^{"event": ' "$out" || true)" = 0 ] || fail "stdout holds more than JSON lines"
same lines/train_log.jsonl "$out"
same_weights model lines
# whoever reads may leave: training goes on
(crank train tiny.yaml --model_dir left --log_json - --quiet 2>"$err" | true)
same_weights model left
# the run's own log under another path: every line once
mkdir own
run crank train tiny.yaml --model_dir own --log_json ./own/../own/train_log.jsonl
ends 0
[ "$(sort own/train_log.jsonl | uniq -d | wc -l)" -eq 0 ] || fail "lines are written twice"
grep -q '"end"' own/train_log.jsonl || fail "the log has no end"
run crank train tiny.yaml --model_dir gone --log_json no/such/place
ends 1
has_err "no/such/place: cannot write: No such file or directory; check the path"
run crank train tiny.yaml --model_dir gone --log_json ''
ends 2
has_err "crank train: --log_json is empty; name a file, or - for standard output"
# without TensorBoard
run crank train tiny.yaml --model_dir plain --set train_config.use_tensorboard=false
ends 0
is_gone plain/eval_val
same_weights model plain
# a profile
run crank train tiny.yaml --model_dir prof --set train_config.is_profiling=true --threads 2
ends 0
has_out "profile of steps 2 to 11, ... ms each: ..."
has_out "  all threads ..."
is_there prof/trace.json
same_weights model prof
run crank predict --pipeline_config_path model/pipeline.config --predict_input_path train.csv --predict_output_path p --is_profiling
ends 0
is_there p/trace.json
has_out "  thread ... forward ..."
# a terminal
command -v script >/dev/null || skip "no script command for a terminal"
script -qec true /dev/null >/dev/null 2>&1 </dev/null || skip "no pseudo-terminal on this machine"
TERM=xterm
export TERM
long="--set train_config.num_epochs=200 --set train_config.save_checkpoints_steps=1000"
run crank train tiny.yaml --model_dir file $long
ends 0
script -qec "stty cols 100; crank train tiny.yaml --model_dir tty $long" /dev/null >tty.txt </dev/null
wiped=$(printf '\033')'\[K'
grep -q "${wiped}train  epoch [0-9]*/200 .* rows .*  loss [0-9.]*" tty.txt || fail "no progress line: $(cat tty.txt)"
grep -q "${wiped}train .*  loss [0-9.]*  auc 0\.[0-9]*" tty.txt || fail "no AUC in the progress line: $(cat tty.txt)"
# the lines that stay begin at the left margin: a progress line before them was wiped
tr '\r' '\n' <tty.txt | grep -E '^.+\[20[0-9-]+ ' | grep -v "^$wiped\[20" | grep -v -E "^$wiped(train|eval) .*$wiped\[20" >torn || true
[ ! -s torn ] || fail "a log line after a progress line that was not wiped: $(cat torn)"
tr '\r' '\n' <tty.txt | grep -q -E "^($wiped)?trained  128k rows" || fail "no summary on the terminal: $(tail -n 20 tty.txt)"
same_weights file tty
