# benchmarks: figures as text and as one JSON object; nothing is written
tiny_config
tiny_data 640 64
run crank bench train tiny.yaml --seconds 0.05 --threads 1
ends 0
has_out "rows per s ... rows/s"
has_out "share of peak ... %"
is_gone model
for what in train read features lookup gemm; do
    run crank bench $what tiny.yaml --seconds 0.05 --json
    ends 0
    [ "$(wc -l <"$out")" -eq 1 ] || fail "bench $what --json is not one line"
    grep -q "^{\"bench\": \"$what\", .*}\$" "$out" || fail "bench $what --json: $(cat "$out")"
done
for key in rows_per_s rows_per_s_median; do
    run crank bench train tiny.yaml --seconds 0.05 --json --from_files
    grep -q "\"$key\": [0-9]" "$out" || fail "no $key"
done
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
run crank bench train tiny.yaml --set data_config.batch_size=100000
ends 3
has_err "crank bench: the training data has no full batch of 100000 rows; lower data_config.batch_size"
