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
ends 0
# logs without steps: the n-th value with the n-th, and of common ones as many as both have
printf 'rank : 0  train.loss : 0.70\nrank : 0  train.loss : 0.60\nrank : 0  train.loss : 0.50\n' >plain.log
head -n 2 plain.log >plain_short.log
run crank align plain.log plain_short.log
ends 1
has_out "  1 values are only in A, the first is 2"
run crank align plain.log plain_short.log --match common
ends 0
has_out "loss: 2 values of train.loss, steps 0 to 1"
# a log that was cut off in a number, and an empty one
head -c 81 plain.log >cut.log
run crank align plain.log cut.log
ends 1
has_err "cut.log: warning: the file ends behind a number, without the end of a line; if it was cut off, its last value is wrong"
: >empty.log
run crank align plain.log empty.log
ends 2
has_err "crank align: empty.log is empty; there is nothing to compare"
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
# several ranks with the same global batch: the same bits
if [ -f "$(dirname "$CRANK")/comm-mpich.so" ]; then
    mpi_leaks
    run crank train tiny.yaml --model_dir one --set train_config.log_step_count_steps=1 --set train_config.lanes=4
    run crank launch --standalone --nproc-per-node 2 -- train tiny.yaml --model_dir two --set train_config.log_step_count_steps=1 --set train_config.lanes=4 --set data_config.batch_size=16
    run crank align one two --tolerance 0
    has_out "aligned within 0"
    run crank align one two --mode params --tolerance 0
fi
# logs of training loops in PyTorch and PaddlePaddle, made from the losses of a run
grep '"train.loss"' a/train_log.jsonl | sed 's/.*"epoch": \([0-9]*\), "step": \([0-9]*\),.*"train.loss": \([0-9.e-]*\),.*/\1 \2 \3/' >values.txt
awk '{ printf "Epoch: [%d][%d/40]\tTime 0.01\tLoss %.4e (%.4e)\n", $1, $2, $3, $3 }' values.txt >torch.log
awk '{ printf "2026-01-31 12:00:00,123 - INFO - epoch: %d, batch_id: %d, auc:0.500000, loss:%.6f, avg_reader_cost: 0.00010 sec, ips: 100.00000 ins/s\n", $1, $2, $3 }' values.txt >paddle.log
run crank align torch.log a --tolerance 1e-3 --mode loss
has_out "loss: 40 values of ..."
run crank align paddle.log a --tolerance 1e-4 --mode loss
awk '{ printf "epoch=%d step=%d loss=tensor(%.4f, grad_fn=<MeanBackward0>)\n", $1, $2, $3 * ($2 == 20 ? 1.5 : 1) }' values.txt >off.log
run crank align off.log a --tolerance 1e-3 --mode loss
ends 1
has_out "  largest ... at step 20: ..."
# the console of the same run, in the form of TorchEasyRec, has the rounded values
run crank train tiny.yaml --model_dir again --set train_config.log_step_count_steps=10
cp "$err" console.log
run crank align a console.log --match common --mode loss --tolerance 1e-4

# a plot that cannot be written is not the verdict that the runs differ
printf 'step 1 loss 0.5\nstep 2 loss 0.4\n' >same.log
for flag in --plot --report; do
    run crank align same.log same.log $flag nowhere/a.svg
    ends 2
    has_out "aligned within 0.01"
    has_err "nowhere/a.svg: cannot open for writing: No such file or directory; check the path"
done
# nothing to compare is no verdict either
run crank align same.log same.log --skip 2
ends 2
has_err "crank align: --skip 2 leaves no loss to compare; the logs have 2 and 2"
