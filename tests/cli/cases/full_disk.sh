# a disk that fills up: one line, a bad exit code, and the checkpoints before it stay good
[ "$(id -u)" -eq 0 ] || skip "a small tmpfs needs root"
mkdir small
mount -t tmpfs -o size=600k none small 2>/dev/null || skip "mounting a tmpfs is not allowed here"
trap 'umount small' EXIT
tiny_config
tiny_data 640 64
run crank train tiny.yaml --model_dir small/m --set 'feature_configs[0].id_feature.num_buckets=3000' \
    --set train_config.save_checkpoints_steps=10
ends 1
has_err "...small/m...No space left on device..."
n=0
for c in small/m/model.ckpt-*; do
    [ -d "$c" ] || continue
    n=$((n + 1))
    run crank eval small/m/pipeline.config --checkpoint_path "$c" --eval_result_filename ../../e.txt --eval_input_path eval.csv
    ends 0 1
    [ $code -eq 0 ] || has_err "...No space left..."
done
[ $n -ge 1 ] || fail "no checkpoint fitted; make the test's tables smaller"
# nothing fits at all
dd if=/dev/zero of=small/fill bs=64k >/dev/null 2>&1 || true
run crank train tiny.yaml --model_dir small/n
ends 1
has_err "...small/n...No space left on device..."
# predictions are whole or absent, in either format
for w in Csv Parquet; do
    run crank predict --pipeline_config_path small/m/pipeline.config --predict_input_path eval.csv --predict_output_path small/p \
        --writer_type ${w}Writer
    ends 1
    has_err "...small/p...No space left on device..."
    [ -z "$(ls small/p 2>/dev/null)" ] || fail "left: $(ls small/p)"
done
