# configs with all keys that Gandalf publishes: three networks, checkpoint names, the copy on a store, resuming
. "$CLI/gandalf.sh"
gandalf_data
gandalf_config >asr.yaml
crank run --config=asr.yaml --print_config >/dev/null 2>&1 || fail "--print_config"
run crank run --config=asr.yaml --fit --val --test --threads 1
has_out "------------------------ data arguments ------------------------"
has_out "  max_epochs ...................................... 2"
has_err "...'data.feature_provider.tokenizer_path' is left out: the vector of the text is made before, ..."
has_err "...Training Epoch 1: ... auc:... precision:... recall:... average_output:..."
for m in accuracy auc average_label average_output binary_cross_entropy f1 precision recall; do
    has_out "  $m ..."
done
# duplicates of patterns are read once: 320 rows an epoch
grep -q '"train.rows": 640' exps/version_1/train_log.jsonl || fail "other rows"
grep -q '"project": "gandalf", "experiment": "me/auto_dis_nn_asr_demo"' exps/version_1/train_log.jsonl || fail "the run has no names"
ls exps/version_1/checkpoints >names.txt
has names.txt "epoch=0-step=5-loss=0...ckpt" || fail "$(cat names.txt)"
has names.txt "epoch=1-step=19-loss=0...ckpt" || fail "$(cat names.txt)"
# no events without tensorboard among the loggers
[ -z "$(ls exps/version_1 | grep tfevents)" ] || fail "there are events"
# a checkpoint by its name; an export
run crank run --config=asr.yaml --trace "--checkpoint_path=$(ls -d exps/version_1/checkpoints/epoch=0-step=5-*)" --export_dir=export --threads 1
has_out "  checkpoint  ...step=5-..."
is_there export/pipeline.config
# the same network with another text encoder; two tasks
sed 's/AutoDisNNAsrCruiseModel/AutoDisNNAsrSimcseCruiseModel/; s,version_1,version_2,; s/logger: tracking/logger: null/' asr.yaml >simcse.yaml
run crank run --config=simcse.yaml --fit --threads 1
run crank align exps/version_1 exps/version_2 --tolerance 0
sed -e 's/AutoDisFeatureProvider/AutoDisMtlFeatureProvider/; s/AutoDisNNAsrCruiseModel/AutoDisNNAsrAitmCruiseModel/; s,version_1,mtl,' \
    -e 's/^  embedding:/  mtl:\n    shared_out_size: 256\n    tower_dims: [256,128,64]\n    loss_weight: [0.15,0.85]\n    constraint_weight: 0.3\n  embedding:/' asr.yaml >mtl.yaml
run crank run --config=mtl.yaml --fit --threads 1
has_out "  auc_censor ..."
has_out "  auc_reject ..."
has_out "  excess_loss_constraint ..."
run crank run --config=mtl.yaml --fit --model.type=AutoDisNN --trainer.default_root_dir=none
ends 2
has_err "...model.mtl belongs to EcomLiveGandalfAutoDisNNAsrAitmCruiseModel..."
has_err "...model.type and data.feature_provider.type do not fit..."

# the best checkpoints stay, and the newest; the copy has the same; an empty disk goes on from the copy
set -- --threads 1 --trainer.enable_versions=true --trainer.default_root_dir=near --trainer.default_hdfs_dir=far --trainer.enable_checkpoint=2
run crank run --config=asr.yaml --fit --trainer.max_epochs=2 "$@"
ls near/version_0 | grep ckpt >near.txt
ls far/version_0 | grep ckpt >far.txt
same near.txt far.txt
[ "$(wc -l <near.txt)" -le 3 ] || fail "too many checkpoints"
[ "$(ls near/version_0/checkpoints | wc -l)" = "$(wc -l <near.txt)" ] || fail "names without checkpoints"
is_there far/version_0/config.yaml
is_there far/version_0/train_log.jsonl
is_gone far/version_0/train.lock
cp -r near whole
run crank run --config=asr.yaml --fit --trainer.max_epochs=3 "$@" --trainer.default_root_dir=whole --trainer.default_hdfs_dir=null
rm -rf near
run crank run --config=asr.yaml --fit --trainer.max_epochs=3 "$@"
has_err "...near/version_0 has no checkpoint; copying far/version_0/model.ckpt-19, to go on from it"
same_weights near/version_0 whole/version_0
# a path to resume from: a new version goes on with optimizer and step
run crank run --config=asr.yaml --fit --trainer.max_epochs=3 "$@" --trainer.default_root_dir=third --trainer.default_hdfs_dir=null \
    --trainer.resume_ckpt_path=exps/version_1/model.ckpt-19
same_weights third/version_0 whole/version_0
# a copy that cannot be made: a warning on the way, an error at the end, and the run is complete
echo x >blocked
run crank run --config=asr.yaml --fit "$@" --trainer.default_root_dir=fourth --trainer.default_hdfs_dir=blocked/here
ends 1
has_err "...the copy in mirror_dir is tried again with the next checkpoint"
has_err "...fourth/version_0 is complete, and its copy in mirror_dir is not: ..."
is_there fourth/version_0/model.ckpt-19

# limits per epoch, shares of an epoch
run crank run --config=asr.yaml --fit --threads 1 --trainer.default_root_dir=fifth --trainer.limit_train_batches=4 --trainer.limit_val_batches=1 --trainer.val_check_interval=0.5
grep -q '"train.rows": 256' fifth/train_log.jsonl || fail "limit_train_batches"
is_there fifth/model.ckpt-2
run crank run --config=asr.yaml --fit --threads 1 --trainer.default_root_dir=sixth --data.data_factory.train_max_iteration=4 --trainer.val_check_interval=2 --trainer.max_epochs=4
may_be_killed=yes run env CRANK_TEST_KILL=step:9 crank run --config=asr.yaml --fit --threads 1 --trainer.default_root_dir=seventh --data.data_factory.train_max_iteration=4 --trainer.val_check_interval=2 --trainer.max_epochs=4
ends 137
run crank run --config=asr.yaml --fit --threads 1 --trainer.default_root_dir=seventh --data.data_factory.train_max_iteration=4 --trainer.val_check_interval=2 --trainer.max_epochs=4
same_weights sixth seventh

# the script
cp "$CLI/../../examples/gandalf/run_on_merlin.sh" .
run bash run_on_merlin.sh --config=asr.yaml --val-only --threads 1
has_out "metrics on 120 rows"
