# two runs, or a run and a log of another program, within a tolerance
printf 'step 1 loss 0.70\nstep 2 loss 0.60\nstep 3 loss 0.50\n' >r.log
printf 'step 1 loss 0.707\nstep 2 loss 0.594\nstep 3 loss 0.505\n' >c.log
run crank align r.log c.log --plot c.svg
says_out <<'END'
A  r.log, the reference
B  c.log

loss: 3 values of loss, steps 1 to 3
  mean relative error  0.01  passes, limit 0.01
  largest              0.01  at step 1: 0.7 and 0.707
  last                 0.01

by ModelZoo's loss.py, whose means have signs:
MeanRelativeError: 0.003333333333333336
MeanAbsoluteError: 0.0020000000000000018
Rule,mean_absolute_error 0.0020000000000000018
pass mean_relative_error=0.003333333333333336 <= 0.05 or mean_absolute_error=0.0020000000000000018 <= 0.0002

aligned within 0.01
END
grep -q '^<svg .*xmlns=' c.svg || fail "c.svg is no image"
grep -q '<polyline ' c.svg || fail "c.svg has no curve"
run crank align --cuda-log r.log --sdaa-log c.log --tolerance 0.005
ends 1
has_out "  mean relative error  0.01  fails, limit 0.005"
has_out "not aligned within 0.005"
run crank align r.log c.log --json --skip 1 --last 1
has_out '{"a": "r.log", ... "aligned": true, "loss": {"name": "loss", "pass": true, "n": 1, ...'
# other steps
printf 'step 1 loss 0.70\nstep 2 loss 0.60\n' >short.log
run crank align r.log short.log
ends 1
has_out "  1 steps are only in A, the first is 3"
has_out "  runs that agree have the same steps; --match common ..."
run crank align r.log short.log --match common
# what cannot be compared
run crank align r.log
ends 2
has_err "crank align: 1 path given; align takes two: crank align REFERENCE CANDIDATE"
echo hello >no.log
run crank align r.log no.log
ends 2
has_err "...no.log has no loss: no line has a value named train.loss, loss, total_loss or cost; name it with --key"
run crank align r.log c.log --key auc
ends 2
has_err "...r.log has no value named 'auc'; --key names one as the log has it"
run crank align r.log c.log --mode metric
ends 2
has_err "...r.log and c.log have no metric of evaluations in common"
run crank align r.log gone.log
ends 2
has_err "gone.log: cannot ..."
run crank align r.log c.log --match nearly
ends 2
has_err "crank align: --match is 'nearly' and must be same, common or order"

# crank's own runs: other numbers of threads, another CPU level, mixed precision, two ranks
tiny_config
tiny_data 640 100
run crank train tiny.yaml --model_dir a --set train_config.log_step_count_steps=1
CRANK_CPU=c run crank train tiny.yaml --model_dir b --threads 1 --set train_config.log_step_count_steps=1
run crank align a b --tolerance 1e-5
has_out "loss: 40 values of train.loss, steps 0 to 39"
has_out "  val.auc ... passes"
has_out "MeanRelativeError: 0.0"
run crank align a b --mode params --tolerance 1e-3
has_out "parameters: ... of ... agree"
run crank train tiny.yaml --model_dir half --set train_config.log_step_count_steps=1 --set train_config.mixed_precision=BF16
run crank align a half --plot half.svg
has_out "aligned within 0.01"
run crank align a half --tolerance 1e-7
ends 1
# a run that learns something else is told by all three
run crank train tiny.yaml --model_dir other --set train_config.log_step_count_steps=1 --set train_config.dense_optimizer.adam_optimizer.lr=0.05
run crank align a other
ends 1
run crank align a/model.ckpt-39 other/model.ckpt-39
ends 1
has_out "  parameter ... max abs ... mean abs ... cosine ... relative L2 ... verdict"
has_out "  ... fails"
run crank align a a/model.ckpt-39
ends 2
has_err "...a is a log and a/model.ckpt-39 holds parameters; give two of a kind, or --mode params ..."
run crank align a a/model.ckpt-39 --mode params --tolerance 0
run crank align a b --mode params --plot p.svg
ends 2
has_err "...--plot draws losses and metrics, and parameters have no curve; ..."
# the console of the same run, in the form of TorchEasyRec, has the rounded values
run crank train tiny.yaml --model_dir again --set train_config.log_step_count_steps=10
cp "$err" console.log
run crank align a console.log --match common --mode loss --tolerance 1e-4
