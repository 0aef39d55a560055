# a config of Cruise: strict keys, overrides, training, validation, export
rows() { # rows N SEED: label and four slots; the label follows two of them
    awk -v n="$1" -v s="$2" 'BEGIN { srand(s); for (i = 0; i < n; i++) {
        a = int(rand() * 100); b = rand(); c = rand() < 0.2 ? -1 : rand() * 10; d = rand()
        y = (a / 100 + b + rand() * 0.4 > 1.2)
        printf "%d|%g|%g|%g|%g|[%g,%g]\n", y, a, b, c, d, rand(), y ? 0.8 : 0.3 } }'
}
make() { # make FOLDER N SEED
    mkdir -p "$1"
    rows "$2" "$3" >rows.txt
    pq_make "$1/part-0.parquet" 'label:int32, slot_0:float, slot_1:float, slot_2:float, slot_3:float, asr:list<float>' 100 <rows.txt
}
make data/train/20230101 300 1
make data/train/20230102 300 2
make data/train/20230205 300 3
make data/val/20230103 200 4
make data/test/20230104 200 5
cat >x.yaml <<'END'
trainer:
  default_root_dir: run
  default_hdfs_dir: null
  project_name: gandalf
  experiment_name: me/demo
  max_epochs: 2
  val_check_interval: 10
  precision: 32
  log_every_n_steps: 1
model:
  type: AutoDisNNASR
  features: {feature_num: 5, bucket_num: 4, bucket_dim: 8, slot_mask: [3, 4], layer_conf: [16, 16]}
  kwargs:
    dropout: 0.1
    optimizer: {optimizer_name: AdamW, learning_rate: 0.002, wd: 0.01, wd_ignore_bias: true, custom_keys: {meta_emb: {lr_factor: 2}}}
    lr_scheduler: {scheduler_name: LinearLrSchedulerWithWarmUp, warmup_steps: 5, total_iters: 5, end_factor: 0.2}
data:
  type: ParquetAutoDisDataModule
  dataset:
    input_dir: data/train
    val_input_dir: data/val
    test_input_dir: data/test
    train_folder: 2023010[1-2]|20230205
    val_folder: 20230103
    test_folder: 20230104
  feature_provider: {type: AutoDisFeatureProvider, feature_num: 5, slot_mask: [3, 4], feature_norm_info: {"0": [0, 100], "2": [0, 10]}, embedding_conf: {asr: 2}}
  data_factory: {type: ParquetDataFactory, batch_size: 64, num_workers: 1, num_parallel_reads: 4}
END
run crank config x.yaml
grep -q 'train_input_path: .*data/train/2023010\[1-2\]/\*parquet,data/train/20230205/\*parquet' "$out" || fail "other paths"
grep -q 'model_dir: .*run' "$out" || fail "another model_dir"
grep -q 'eval_batch_size: 32' "$out" || fail "the batch of validation is half of that of training"
grep -q 'method=expression,expr=x == -1 ? 0 : min(max((x - (0)) / 100, 0), 1)' "$out" || fail "another normalizer"
[ "$(grep -c 'GANDALF' "$out")" = 3 ] || fail "other slots"
run crank check x.yaml
run crank run --config=x.yaml --fit --val --test --trace --threads 1
has_out "metrics on 200 rows"
is_there run/version_0/config.yaml
is_there run/version_0/export/pipeline.config
grep -q '"train.rows": 1800' run/version_0/train_log.jsonl || fail "other rows"
grep -q '"lr.g1": 0.0004' run/version_0/train_log.jsonl || fail "no warm-up in steps"
auc=$(grep '"val.auc"' run/version_0/train_log.jsonl | tail -n 1 | sed 's/.*"val.auc": \([0-9.]*\).*/\1/')
awk -v a="$auc" 'BEGIN { exit !(a > 0.8) }' || fail "the AUC is $auc"
# a second run goes on where the first ended; null starts anew
run crank run --config=x.yaml --fit --trainer.max_epochs=3 --threads 1
is_gone run/version_1
run crank run --config=x.yaml --fit --trainer.resume_ckpt_path=null --trainer.max_steps 3 --threads 1
is_there run/version_1/model.ckpt-2
# what is printed is the same config again; files of sections, later files, bare words
run crank run --config=x.yaml --print_config --trainer.seed=7 'data.feature_provider.slot_mask[1]=4'
cp "$out" y.yaml
run crank cruise -c y.yaml --print_config
cp "$out" z.yaml
same y.yaml z.yaml
grep -q '  seed: 7' y.yaml || fail "no seed"
# defaults are printed too, and mean what their absence means
for key in default_hdfs_dir logger strategy limit_test_batches checkpoint_monitor dataloader_retry_limit enable_qat; do
    grep -q "^  $key: " y.yaml || fail "$key is not printed"
done
run crank config x.yaml
grep -v seed "$out" >native.txt
run crank config y.yaml
grep -v seed "$out" >native_all.txt
same native.txt native_all.txt
printf 'default_root_dir: other\nmax_steps: 2\n' >t.yaml
run crank run --config=x.yaml --trainer=t.yaml --fit --threads 1
# of several files the last word counts, and a flag behind them; sections have files of their own
printf 'trainer:\n  max_steps: 4\n  seed: 11\n' >later.yaml
run crank run --config=x.yaml --config=later.yaml --trainer.seed=12 --print_config
ends 0
grep -q '^  max_steps: 4' "$out" && grep -q '^  seed: 12' "$out" || fail "later files"
for part in model data; do
    awk -v part=$part '/^[a-z]/ { on = $0 == part ":" ; next } on { print substr($0, 3) }' y.yaml >$part.yaml
done
run crank run --config=later.yaml --trainer=t.yaml --model=model.yaml --data=data.yaml --trainer.default_root_dir=parts --fit --threads 1
ends 0
is_there parts/version_0/model.ckpt-1
is_there other/version_0/model.ckpt-1
# all mistakes at once, at their places
sed -e 's/max_epochs: 2/max_epoch: 2/' -e 's/AutoDisNNASR/AutoDiss/' -e 's/AdamW/Lion/' x.yaml >bad.yaml
run crank run --config=bad.yaml --fit --data.data_factory.batch_sise=3
ends 2
has_err "bad.yaml:6:3: Cruise has no key 'max_epoch' in trainer; did you mean 'max_epochs'?"
has_err "bad.yaml:11:3: model.type 'AutoDiss' is not registered; crank has AutoDisNN, AutoDisNNASR, ..."
has_err "bad.yaml:15:...: optimizer_name is 'Lion' and must be SGD, Adam or AdamW"
has_err "--data.data_factory.batch_sise=3:1:3: Cruise has no key 'batch_sise' in data.data_factory; did you mean 'batch_size'?"
# values that are wrong only in crank's own terms are told with the rest
run crank run --config=x.yaml --fit --trainer.max_epoch=1 --model.kwargs.dropout=3 --data.data_factory.batch_size=0
ends 2
has_err "--trainer.max_epoch=1:1:3: Cruise has no key 'max_epoch' ..."
has_err "--data.data_factory.batch_size=0:1:3: batch_size: 0 is out of range; ..."
has_err "x.yaml:...: ...dropout_ratio..."
# a mistake is told once, and a list of names has only those that crank can read
run crank run --config=x.yaml --fit --data.data_factory.batch_size=many --data.data_factory.type=Parket
ends 2
has_err "--data.data_factory.batch_size=many:1:3: batch_size: 'many' is not an integer; ..."
no_err "...batch_size must be a number..."
has_err "--data.data_factory.type=Parket:1:3: data.data_factory.type 'Parket' is not registered; crank has ParquetDataFactory, TFRecordDataFactory, JsonLDataFactory"
# wrong overrides do not hide each other, nor what is wrong elsewhere
run crank run --config=x.yaml --fit foo.bar=3 'data.feature_provider.slot_mask[9]=4' nokey --trainer.max_epoc=3 --trainer.checkpoint_monitor=loudness --trainer.limit_train_batches=0 --trainer.log_every_n_steps=abc --trainer.accumulate_grad_batches=0
ends 2
has_err "crank cruise: 'foo.bar=3': there is no 'foo' in the config; write --foo.bar=3 to add it"
has_err "crank cruise: 'data.feature_provider.slot_mask[9]=4': data.feature_provider.slot_mask is no list with such an item"
has_err "crank cruise: 'nokey' must be key=value, or a flag that begins with --"
has_err "--trainer.max_epoc=3:1:3: Cruise has no key 'max_epoc' in trainer; did you mean 'max_epochs'?"
has_err "--trainer.checkpoint_monitor=loudness:1:3: checkpoint_monitor is 'loudness', which no validation measures; use loss, step, auc, ..."
has_err "--trainer.limit_train_batches=0:1:3: limit_train_batches is 0, which leaves no batch; use -1 or null for all of them"
has_err "--trainer.log_every_n_steps=abc:1:3: log_every_n_steps must be a number; write one, or remove the key for 50"
has_err "--trainer.accumulate_grad_batches=0:1:3: accumulate_grad_batches must be a whole number from 1 to 4294967295"
run crank run --config=x.yaml --fit --trainer.max_epochs=0
ends 2
has_err "--trainer.max_epochs=0:1:3: neither max_epochs nor max_steps is above 0, so the run would have no step; give one of them"
# warnings are told once, at the user's own places, and not at those of the file that the run writes
sed 's/  precision: 32/  precision: 32\n  strategy: deepspeed/' x.yaml >warn.yaml
run crank run --config=warn.yaml --fit --val --trainer.default_root_dir=warned --trainer.max_steps=2 --trainer.checkpoint_monitor=ClsMetric.auc --threads 1
ends 0
has_err "warn.yaml:9:3: note: 'trainer.strategy' is left out: several ranks are started with crank launch"
has_err "--trainer.max_steps=2:1:3: warning: max_steps decides when training ends, and max_epochs does not"
no_err "warned/version_0/config.yaml:..."
[ "$(grep -c 'trainer.strategy' "$err")" = 1 ] || fail "it is told more than once"
ls warned/version_0/checkpoints | grep -q '^epoch=0-step=1-ClsMetric.auc=0' || fail "another name: $(ls warned/version_0/checkpoints)"
run crank run --config=x.yaml
ends 2
has_err "crank cruise: nothing is to be done; add --fit, --val, --test, --trace or --print_config"
run crank run --config=x.yaml --fit trainer.max_step=3
ends 2
has_err "crank cruise: 'trainer.max_step=3': there is no 'max_step' in trainer; write --trainer.max_step=3 to add it"
run crank run --fit
ends 2
has_err "crank cruise: no config is given; write --config=FILE"
run crank run --config=x.yaml --val --trainer.default_root_dir=nowhere
ends 2
has_err "crank cruise: nowhere has no checkpoint; run with --fit first"

# data that is not there is told at the user's own place, before anything runs or is written
run crank run --config=x.yaml --fit --trainer.default_root_dir=missing --data.dataset.input_dir=nowhere
ends 1
has_err "--data.dataset.input_dir=nowhere:1:3: 'nowhere/2023010[1-2]/*parquet': no file found; check the path"
run crank run --config=x.yaml --fit --val --test --trainer.default_root_dir=missing --data.dataset.train_folder=2020 --data.dataset.val_folder=2021 --data.dataset.test_folder=2022
ends 1
has_err "x.yaml:20:...: 'data/train/2020/*parquet': no file found; check the path"
has_err "x.yaml:21:...: 'data/val/2021/*parquet': no file found; check the path"
has_err "x.yaml:22:...: 'data/test/2022/*parquet': no file found; check the path"
is_gone missing
# a file without a section is no config of Cruise
: >none.yaml
for file in none.yaml t.yaml; do
    run crank run --config=$file --fit
    ends 2
    has_err "$file: there is no section trainer, model or data in it, so it is not a config of Cruise; 'crank train' takes configs of TorchEasyRec, 'crank run -m' those of PaddleRec"
    [ "$(grep -c . "$err")" -eq 1 ] || fail "$(cat "$err")"
done
