# sample_mask_prob: values hidden in training only; the same for any number of threads and through a pause
tiny_config
tiny_data 640 64
sed -i 's/^data_config:/&\n  sample_mask_prob: 0.25/; s/feature_name: user,/&  use_mask: true, /' tiny.yaml
grep -q 'use_mask' tiny.yaml || fail "the config has changed"
run crank train tiny.yaml --threads 1 --model_dir one
ends 0
run crank train tiny.yaml --threads 3 --model_dir three
ends 0
same_weights one three
run crank train tiny.yaml --model_dir parts --set train_config.num_steps=13 --set train_config.num_epochs=0
ends 0
run crank train tiny.yaml --model_dir parts --continue_train
ends 0
same_weights one parts
# a quarter of the rows, anew in each epoch
awk 'match($0, /"masked": [0-9]+/) { n = substr($0, RSTART + 10, RLENGTH - 10) + 0; exit !(n > 110 && n < 210) }' one/feature_counts.json || fail "not a quarter of the rows is masked"
[ "$(grep '"event": "features"' one/train_log.jsonl | grep -o '"masked": [1-9][0-9]*' | sort -u | wc -l)" -gt 1 ] || fail "each epoch masks the same rows"
run crank eval one/pipeline.config
ends 0
if grep -q '"masked": [1-9]' one/feature_counts_eval.json; then fail "evaluation masks"; fi
run crank train tiny.yaml --model_dir none --set data_config.sample_mask_prob=0
ends 0
if (same_weights one none >/dev/null 2>&1); then fail "masking changes nothing"; fi
run crank train tiny.yaml --model_dir neg --set data_config.negative_sample_mask_prob=0.5
ends 2
has_err "...negative_sample_mask_prob...not available in this version..."
