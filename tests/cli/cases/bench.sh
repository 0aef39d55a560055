# benchmarks: figures as text and as one JSON object; nothing is written
tiny_config
tiny_data 640 64
run crank bench train tiny.yaml --seconds 0.05 --threads 1
ends 0
has_out "CPU, kernels ...(family ..., model ...), ..."
has_out "speed, best window ... rows/s"
has_out "arithmetic ... GFLOP/s, ... % of the ... GFLOP/s that this machine reaches"
has_out "memory, tables ...B"
is_gone model
for what in train predict read features lookup gemm; do
    # words for people, keys for programs
    run crank bench $what tiny.yaml --seconds 0.05
    ends 0
    grep -v '_feature ' "$out" | grep -v ', avx512_bf16' >words || true
    if grep -q _ words; then fail "bench $what prints keys: $(grep _ words)"; fi
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
value() { sed 's/.*"'"$1"'": \([-+.e0-9]*\).*/\1/' "$out"; } # of a key
for what in train predict read features lookup; do
    run crank bench $what tiny.yaml --seconds 0.05 --json
    awk "BEGIN { exit !($(value rows_per_s) >= $(value rows_per_s_median)) }" || fail "the best is below the median"
done
run crank bench train tiny.yaml --seconds 0.05 --json --from_files
ends 0
has_keys rows_per_s rows_per_s_median group_s step_s update_s read_wait_s bytes_per_s loss $memory
awk "BEGIN { exit !($(value rows_per_s) >= $(value rows_per_s_median)) }" || fail "the best is below the median"
run crank bench train tiny.yaml --seconds 0.05 --json --set data_config.shuffle=false
has_keys group_s step_s update_s group_share step_share update_share flops_per_row bytes_per_s
# two tables per feature, 4 weights and 4 of Adagrad: an id costs its weights and a gradient, a
# distinct one of a batch its record twice
bytes=$(awk -F, 'NR > 1 {
    if ((NR - 2) % 32 == 0) split("", seen)
    n = split($4, tag, "|")
    for (i = -1; i <= n; i++) {
        id = i == -1 ? "u" $2 : i == 0 ? "i" $3 : "t" tag[i]
        sum += 2 * 32
        if (!(id in seen)) sum += 2 * 64
        seen[id] = 1
    }
} END { printf "%.3f", sum / (NR - 1) }' train.csv)
awk "BEGIN { exit !(($(value bytes_per_row) - $bytes)^2 < 1e-4) }" || fail "bytes_per_row is not $bytes: $(cat "$out")"
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
run crank bench read tiny.yaml --from_files
ends 2
has_err "crank bench: --from_files is for bench train, bench read has no use for it; leave it out"
run crank bench limits --threads 1025
ends 2
has_err "...--threads...1024..."
run crank bench --help
has_out "usage: crank bench WHAT [CONFIG] [flags]"
head -n 1 train.csv >header.csv
: >nothing.csv
for file in header.csv nothing.csv; do
    for what in read features; do
        run crank bench $what tiny.yaml --train_input_path $file --seconds 0.05 --json
        ends 3
        has_err "$file: there are no rows; check the path and the files"
        [ ! -s "$out" ] || fail "figures of no rows: $(cat "$out")"
    done
done

# sequences: positions count in the operations, also while files are read; the first layer of the
# attention is among the products, and there are those that skip zeros and those of BF16
awk 'BEGIN {
    print "label,item,clicks__item"
    for (i = 0; i < 128; i++) {
        seq = i % 7
        for (j = 0; j < i % 11; j++) seq = seq ";" (i + j) % 40
        printf "%d,%d,%s\n", i % 2, i % 40, seq
    }
}' >seq.csv
cat >din.yaml <<'EOF'
train_input_path: seq.csv
eval_input_path: seq.csv
model_dir: model
train_config:
  sparse_optimizer: {adagrad_optimizer: {lr: 0.1}, constant_learning_rate: {}}
  dense_optimizer: {adam_optimizer: {lr: 0.01}, constant_learning_rate: {}}
  num_epochs: 1
data_config: {dataset_type: CsvDataset, batch_size: 32, fg_mode: FG_NORMAL, with_header: true, label_fields: [label]}
feature_configs:
  - id_feature: {feature_name: item, expression: "item:item", embedding_name: item_emb, num_buckets: 40, embedding_dim: 8}
  - sequence_feature:
      sequence_name: clicks
      sequence_length: 50
      features:
      - id_feature: {feature_name: item, expression: "item:item", embedding_name: item_emb, num_buckets: 40, embedding_dim: 8}
model_config:
  feature_groups:
    - {group_name: deep, group_type: DEEP, feature_names: [item]}
    - {group_name: seq, group_type: SEQUENCE, feature_names: [item, clicks__item]}
  multi_tower_din:
    towers: [{input: deep, mlp: {hidden_units: [16]}}]
    din_towers: [{input: seq, attn_mlp: {hidden_units: [48, 16]}}]
    final: {hidden_units: [16]}
  losses: [{binary_cross_entropy: {}}]
EOF
run crank bench train din.yaml --seconds 0.05 --json
ends 0
flops=$(value flops_per_row)
bytes=$(value bytes_per_row)
run crank bench train din.yaml --seconds 0.05 --json --from_files
ends 0
[ "$(value flops_per_row)" = "$flops" ] || fail "other operations than $flops: $(cat "$out")"
[ "$(value bytes_per_row)" = "$bytes" ] || fail "other bytes than $bytes: $(cat "$out")"
run env CRANK_CPU=c crank bench gemm din.yaml --seconds 0.05 --threads 1
ends 0
has_out "  rows x in x out, kernels ...fwd ...dx ...dw ...fwd nz ...dx nz ...dw nz"
for peak in BF16 BF16x3 BF16x6; do
    has_out "the same in $peak ... GFLOP/s"
    [ "$(awk '/ x 8 x 48, c, '$peak' / { print NF }' "$out" | head -n 1)" -eq 10 ] || fail "a row of $peak has not three figures"
done
[ "$(awk '/ x 8 x 48, c / { print NF }' "$out" | head -n 1)" -eq 12 ] || fail "a row of gemm has not six figures"
run crank bench gemm din.yaml --seconds 0.05 --threads 1
[ "$(awk '/, avx512_bf16, / && NF != 10' "$out" | wc -l)" -eq 0 ] || fail "the level of BF16 repeats other products"
# the largest tiles of the engine: whole blocks of 14 rows, with BF16 of 32
run env CRANK_CPU=c crank bench gemm din.yaml --seconds 0.05 --threads 1 --json --set data_config.batch_size=600 --set train_config.lanes=1
has_out '..."rows_of_a_tile": 252, "rows_of_a_bf16_tile": 256, ...'
has_out '..."name": "252 x 8 x 48, c", ..."name": "256 x 8 x 48, c, BF16", ..."name": "256 x 8 x 48, c, BF16x6", ...'

# rows per core of every feature type, as text and as JSON
cp "$CLI/../golden/tokenizers/byte_level.json" .
run crank synth --for "$CLI/all_features.yaml" --rows 2k --format csv -o all
ends 0
run crank bench features all/pipeline.yaml --seconds 0.2
ends 0
for type in id raw combo lookup match expr overlap bool_mask combine custom tokenize sequence_id sequence_raw sequence_lookup; do
    has_out "  ${type}_feature ..."
done
has_out "  kv_dot_product ..."
has_out "  feature type ... features  rows/s per core  ns per row  % of the time"
run crank bench features all/pipeline.yaml --seconds 0.2 --json
ends 0
has_out '{"bench": "features"..."rows": [{"name": "id_feature", "features": ..., "rows_per_core_s": ...'

# two saved results side by side; a figure that only one of them has gets no ratio
cat >a.json <<'EOF'
{"bench": "train", "cpu": "Old CPU (family 6, model 85)", "kernels": "avx512",
 "units": {"rows_per_s": "rows/s", "group_s": "s", "group_share": "%"}, "rows_per_s": 50000,
 "group_s": 0.002, "group_share": 10, "gone": 3, "ranks": 0, "rows": [{"name": "id", "share": 40}]}
EOF
cat >b.json <<'EOF'
{"bench": "train", "rows_per_s": 100000, "group_s": 0.001, "group_share": 5, "ranks": 2,
 "rows": [{"name": "id", "share": 50}, {"name": "raw", "share": 1}]}
EOF
run crank bench --compare a.json b.json
says_out <<'EOF'
A  a.json: Old CPU (family 6, model 85), kernels avx512
B  b.json: unknown CPU, kernels unknown

  train                                 A            B  B / A
  speed, best window         50.0k rows/s  100k rows/s  2.000
  step, grouping ids             2.000 ms     1.000 ms  0.500
  step, grouping ids, share        10.0 %        5.0 %  0.500
  gone                                  3            -      -
  ranks                                 0            2      -
  id: % of the time                    40           50  1.250
  raw: % of the time                    -            1      -
EOF
run crank bench --compare a.json b.json --json
has_out '{"bench": "train", "figures": [{"key": "rows_per_s", "a": 50000, "b": 100000, "ratio": 2}, ..."name": "raw", "key": "share", "a": null, "b": 1, "ratio": null}]}'
run crank bench train tiny.yaml --seconds 0.05 --json
cp "$out" c.json
run crank bench --compare c.json c.json
has_out "  speed, best window ... rows/s ... rows/s  1.000"
has_out "  memory, tables ...B ...B  1.000"
run crank bench --compare a.json
ends 2
has_err "crank bench: --compare takes two files that 'crank bench WHAT CONFIG --json' has written: crank bench --compare A.json B.json"
run crank bench --compare a.json missing.json
ends 1
has_err "missing.json: cannot open...: No such file or directory; ..."
run crank bench --compare tiny.yaml a.json
ends 3
has_err "tiny.yaml: not valid JSON at line 1, ...; save one with 'crank bench WHAT CONFIG --json >FILE'"
echo '[1, 2]' >list.json
run crank bench --compare a.json list.json
ends 3
has_err "list.json: this is not a result of 'crank bench': it has no name of a benchmark under \"bench\"; save one with 'crank bench WHAT CONFIG --json >FILE'"
sed 's/"train"/"predict"/' a.json >predict.json
run crank bench --compare a.json predict.json
ends 3
has_err "crank bench: 'a.json' is a result of bench train and 'predict.json' of bench predict; compare two results of one benchmark"
