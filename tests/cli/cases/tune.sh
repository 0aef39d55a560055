# crank tune: the same trials and the same table however many run at once and however often it was killed
work=$(mktemp -d /dev/shm/crank-tune.XXXXXX 2>/dev/null) || work=$PWD # where syncs cost nothing
[ "$work" = "$PWD" ] || trap 'rm -rf "$work"' EXIT
cd "$work"
tiny_config
tiny_data 640 200
tune() { run env CRANK_TEST_KILL="${kill:-}" crank tune tiny.yaml "$@"; }
may_be_killed=yes

# a bare name means the keys where it is set, and that is said
tune --try 'lr=log(1e-3,1e-1)' --try 'hidden_units=[[8],[16,8]]' --trials 4 --model_dir one --parallel 1
ends 0
has_err "...lr means train_config.sparse_optimizer.adagrad_optimizer.lr"
has_err "...lr means train_config.dense_optimizer.adam_optimizer.lr"
has_err "...hidden_units means model_config.wide_and_deep.deep.hidden_units"
has_err "...4 trials in one, 1 at once with ... each; the largest auc is the best"
has_out "  trial...lr  hidden_units       auc  step"
has_out "best config  one/best.yaml"
cp "$out" table
is_there one/trial_003/train_log.jsonl
grep -q '"experiment_name": "trial_002 lr=' one/trial_002/train_log.jsonl || grep -q 'experiment_name: "trial_002 lr=' one/trial_002/pipeline.config || fail "no name of the trial"
grep -q 'project_name: "\{0,1\}one' one/trial_002/pipeline.config || fail "no name of the project"
# the first line of the table is the best, and its config gives that result
best=$(sed -n 2p table | awk '{ print $1 }')
value=$(sed -n 2p table | awk '{ print $4 }')
run crank train one/best.yaml -q --model_dir again
ends 0
same_weights "one/$best" again
grep -q "auc $value" one/best.yaml || fail "best.yaml does not say $value"

# two at once, with other threads: the same
sed 's,one/,two/,' table >want
tune --try 'lr=log(1e-3,1e-1)' --try 'hidden_units=[[8],[16,8]]' --trials 4 --model_dir two --parallel 2 --threads 3
ends 0
same "$out" want
same one/trials.csv two/trials.csv

# killed before each result is recorded, while another trial runs; then the same command goes on
sed 's,one/,cut/,' table >want
for n in 1 2 3 4; do
    rm -rf cut
    kill=trial:$n
    tune --try 'lr=log(1e-3,1e-1)' --try 'hidden_units=[[8],[16,8]]' --trials 4 --model_dir cut --parallel 2
    ends 137
    [ "$(ls cut/results | wc -l)" -eq $((n - 1)) ] || fail "results: $(ls cut/results)"
    kill=
    tune --try 'lr=log(1e-3,1e-1)' --try 'hidden_units=[[8],[16,8]]' --trials 4 --model_dir cut --parallel 2
    ends 0
    same "$out" want
    same one/trials.csv cut/trials.csv
done
# trials that are killed themselves fail, and continue when the command is given again
rm -rf cut
kill=step:25
tune --try 'lr=log(1e-3,1e-1)' --try 'hidden_units=[[8],[16,8]]' --trials 4 --model_dir cut --parallel 2
ends 1
has_err "crank tune: all 4 trials failed; cut/logs tells why"
has_out "...signal 9 ended it"
is_there cut/trial_000/model.ckpt-20
kill=
tune --try 'lr=log(1e-3,1e-1)' --try 'hidden_units=[[8],[16,8]]' --trials 4 --model_dir cut
ends 0
same "$out" want
same_weights "one/$best" "cut/$best"
# a complete search is printed again without a training
before=$(ls -l --time-style=full-iso cut/trial_000/train_log.jsonl)
tune --try 'lr=log(1e-3,1e-1)' --try 'hidden_units=[[8],[16,8]]' --trials 4 --model_dir cut
ends 0
same "$out" want
[ "$before" = "$(ls -l --time-style=full-iso cut/trial_000/train_log.jsonl)" ] || fail "it trained again"
# another search in that folder
tune --try 'lr=log(1e-3,1e-1)' --try 'hidden_units=[[8],[16,8]]' --trials 5 --model_dir cut
ends 2
has_err "cut/plan.txt: the folder holds the trials of another search: it has 'config' where this one has 'trial_004 ...'; name another folder with --model_dir, or remove this one"
tune --try 'lr=log(1e-3,1e-1)' --try 'hidden_units=[[8],[16,8]]' --trials 4 --model_dir cut --set data_config.batch_size=64
ends 2
has_err "...it has '  batch_size: 32' where this one has '  batch_size: 64'; ..."

# a grid, with a trial that fails: the others go on
tune --try 'train_config.dense_optimizer.adam_optimizer.lr=[0.005,1e300]' --try 'embedding_dim=[2,4]' --model_dir grid
ends 0
has_err "...embedding_dim means feature_configs[0].id_feature.embedding_dim"
has_out "  trial_003  1e300              4 ..."
has_err "...trial_003 failed (... of 4): lr=1e300 embedding_dim=4: ..."
[ "$(sed -n '2,3p' "$out" | grep -c ' 0.005 ')" -eq 2 ] || fail "$(cat "$out")"

# what a trial fails of is told, also where it has a place
{ cat train.csv && echo 1; } >short_row.csv
tune --try 'embedding_dim=[2,4]' --model_dir short --set train_input_path=short_row.csv
ends 1
has_err "...trial_000 failed (... of 2): embedding_dim=2: short_row.csv:...: the row has 1 field..."

# ties: the smaller number is first; --direction turns the order around
tune --try 'train_config.log_step_count_steps=[7,5,3]' --model_dir ties -q
ends 0
[ "$(sed -n '2,4p' "$out" | awk '{ print $1 }' | tr '\n' ' ')" = "trial_000 trial_001 trial_002 " ] || fail "$(cat "$out")"
tune --try 'train_config.dense_optimizer.adam_optimizer.lr=[0.1,0.01,0.001]' --model_dir up
ends 0
tune --try 'train_config.dense_optimizer.adam_optimizer.lr=[0.1,0.01,0.001]' --model_dir worst --direction min
ends 0
has_err "...the smallest auc is the best"
awk -F, 'NR > 2 && $3 < last { exit 1 } { last = $3 }' worst/trials.csv || fail "not in order: $(cat worst/trials.csv)"
tune --try 'train_config.dense_optimizer.adam_optimizer.lr=[0.1,0.01,0.001]' --model_dir down --metric binary_cross_entropy
ends 0
has_err "...the smallest binary_cross_entropy is the best"
awk -F, 'NR > 2 && $3 < last { exit 1 } { last = $3 }' down/trials.csv || fail "not in order: $(cat down/trials.csv)"

# halving: all train a little, the best third three times longer, and so on; any kill, the same
tune --try 'lr=log(1e-3,1e-1)' --trials 9 --search halving --model_dir halving --set train_config.num_epochs=9
ends 0
has_err "...rung 0: num_epochs 1"
has_err "...rung 2: num_epochs 9"
[ "$(awk '$5 == 9' "$out" | wc -l)" -eq 1 ] && [ "$(awk '$5 == 3' "$out" | wc -l)" -eq 2 ] && [ "$(awk '$5 == 1' "$out" | wc -l)" -eq 6 ] || fail "$(cat "$out")"
sed 's,halving/,hcut/,' "$out" >want
# the one that went the whole way has the bits of a training of its own
best=$(sed -n 2p want | awk '{ print $1 }')
run crank train halving/best.yaml -q --model_dir whole
ends 0
same_weights "halving/$best" whole
for n in 2 9 10 12 13; do
    rm -rf hcut
    kill=trial:$n
    tune --try 'lr=log(1e-3,1e-1)' --trials 9 --search halving --model_dir hcut --set train_config.num_epochs=9 --parallel 2
    ends 137
    kill=
    tune --try 'lr=log(1e-3,1e-1)' --trials 9 --search halving --model_dir hcut --set train_config.num_epochs=9 --parallel 3
    ends 0
    same "$out" want
done

# every mistake comes before the first trial, with its cure
tune --try 'lrr=logg(1,2)' --try x --try 'batch_size=[]' --try 'lr=0.1' --try 'lr=log(0,1)' --try 'lr=uniform(2,1)' --try 'lr=[0.1,0.1]' \
    --try 'lr=int(1,2.5)' --try 'lr=uniform(1)' --try 'lr=[1,(2]' --try 'batch_size=int(8,64)' --try 'data_config.batch_size=[8]' --model_dir wrong
ends 2
says_err <<'END'
crank tune: --try 'lrr=logg(1,2)': there is no 'logg'; did you mean 'log'?
crank tune: --try 'lrr=logg(1,2)': no key 'lrr' is set in the config; did you mean 'lr'?
crank tune: --try 'x': write KEY=VALUES, as in lr=log(0.0001,0.1) or dim=[8,16]
crank tune: --try 'batch_size=[]': the list is empty; write batch_size=[a,b]
crank tune: --try 'lr=0.1': one value is no choice; write several as lr=[a,b], or use --set for one
crank tune: --try 'lr=log(0,1)': log needs numbers above 0, and 0 is not; use uniform
crank tune: --try 'lr=uniform(2,1)': the range ends at 1, before it begins; write the smaller number first
crank tune: --try 'lr=[0.1,0.1]': '0.1' stands twice; remove one
crank tune: --try 'lr=int(1,2.5)': int takes two whole numbers; use uniform for others
crank tune: --try 'lr=uniform(1)': uniform takes two numbers; write uniform(0.001,0.1)
crank tune: --try 'lr=[1,(2]': a bracket or a quote is not closed; close it
crank tune: --try 'data_config.batch_size=[8]': 'batch_size' gives values to data_config.batch_size too; leave one of them out
END
tune --try 'train_config.num_epoch=[1,2]' --try 'batch_size=uniform(10,90)' --try 'num_buckets=[0,50]' --try 'hidden_units=[[8],8,[x]]' --model_dir wrong
ends 2
has_err "--try 'train_config.num_epoch=1':1:14: unknown key 'num_epoch' in train_config; did you mean 'num_epochs'?"
has_err "--try 'data_config.batch_size=...':1:24: batch_size: '...' is not an integer; give an integer from 1 to 4294967295"
has_err "--try 'model_config.wide_and_deep.deep.hidden_units=[x]':..."
tune --try 'lr=[0.1,0.01]' --metric acc --model_dir wrong
ends 2
has_err "crank tune: no metric or loss of this model is called 'acc'; use --metric with one of: auc, binary_cross_entropy"
tune --try 'lr=log(0.1,1)' --search grid --model_dir wrong
ends 2
has_err "crank tune: --search grid takes lists only, and --try 'lr=log(0.1,1)' is a range; write a list, or use --search random"
tune --try 'lr=[0.1,0.2,0.3]' --search grid --trials 2 --model_dir wrong
ends 2
has_err "crank tune: the grid has 3 trials, and --trials allows 2; raise it, or use --search random"
tune --try 'lr=log(0.1,1)' --search halving --model_dir wrong --set train_config.num_epochs=1
ends 2
has_err "crank tune: halving trains first with a part of the budget, one in 3, and num_epochs cannot be divided so; set train_config.num_steps, or more epochs"
tune --try 'lr=[0.1,0.2]' --model_dir wrong --set eval_input_path=
ends 2
has_err "crank tune: trials are compared by evaluations, and the config names no data for them; give --eval_input_path, or set data_config.eval_fraction"
tune --try 'lr=[0.1,0.2]' --model_dir wrong --search best
ends 2
has_err "crank tune: --search is 'best' and must be grid, random or halving"
tune --try 'lr=[0.1,0.2]' --model_dir s3://bucket/tune
ends 2
has_err "crank tune: the trials are processes of this machine, and 's3://bucket/tune' is no folder of it; name a local one with --model_dir"
is_gone wrong
cd "$CASE_DIR/work"
