# benchmarks: figures as text and as one JSON object; nothing is written
tiny_config
tiny_data 640 64
run crank bench train tiny.yaml --seconds 0.05 --threads 1
ends 0
has_out "rows per s ... rows/s"
has_out "share of peak ... %"
is_gone model
for what in train predict read features lookup gemm; do
    run crank bench $what tiny.yaml --seconds 0.05 --json
    ends 0
    [ "$(wc -l <"$out")" -eq 1 ] || fail "bench $what --json is not one line"
    grep -q "^{\"bench\": \"$what\", .*}\$" "$out" || fail "bench $what --json: $(cat "$out")"
done
has_keys() { # of the last run's object
    for key; do
        grep -q "\"$key\": [0-9]" "$out" || fail "no $key: $(cat "$out")"
    done
}
memory="tables_ready_s table_rows table_bytes state_bytes dense_bytes batches_bytes peak_rss_bytes rss_over_bytes"
run crank bench train tiny.yaml --seconds 0.05 --json --from_files
has_keys rows_per_s rows_per_s_median loss $memory
table=$(sed 's/.*"table_bytes": \([0-9]*\).*/\1/' "$out")
run crank bench predict tiny.yaml --seconds 0.05 --json --set data_config.eval_batch_size=64
has_keys rows_per_s rows_per_s_median flops_per_row $memory
has_out '..."batch_size": 64, ..."table_bytes": '"$table"', ..."state_bytes": 0, ...' # no optimizer
is_gone model
run crank bench trian tiny.yaml
ends 2
has_err "crank bench: there is no benchmark 'trian'; did you mean 'train'?"
run crank bench read
ends 2
has_err "crank bench: read needs a config: crank bench read CONFIG"
run crank bench train tiny.yaml more
ends 2
has_err "crank bench: 'more' is one argument too many for bench train"
run crank bench predict tiny.yaml --set data_config.eval_batch_size=100000
ends 3
has_err "crank bench: the training data has no full batch of 100000 rows; lower data_config.eval_batch_size"
run crank bench train tiny.yaml --set data_config.batch_size=100000
ends 3
has_err "crank bench: the training data has no full batch of 100000 rows; lower data_config.batch_size"

# rows per core of every feature type, as text and as JSON
cp "$CLI/../golden/tokenizers/byte_level.json" .
run crank synth --for "$CLI/all_features.yaml" --rows 2k --format csv -o all
ends 0
run crank bench features all/pipeline.yaml --seconds 0.2
ends 0
for type in id raw combo lookup match expr overlap bool_mask combine custom tokenize sequence_id sequence_raw sequence_lookup; do
    has_out "${type}_feature...rows_per_core_s ... rows/s..."
done
has_out "kv_dot_product...rows_per_core_s ... rows/s..."
run crank bench features all/pipeline.yaml --seconds 0.2 --json
ends 0
has_out '{"bench": "features"..."rows": [{"name": "id_feature", "features": ..., "rows_per_core_s": ...'
