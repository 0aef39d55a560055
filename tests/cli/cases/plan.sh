# crank plan: where tables would lie on ranks that need not exist; nothing is written but --json FILE
tiny_config
tiny_data 640 64
cat >machine.json <<'END'
{"flops_per_core": 2e10, "stream_bytes_per_s_per_core": 5e9, "seconds_per_miss": 1e-8, "cache_bytes": 4e6,
 "intra_node_bytes_per_s": 4e9, "cross_node_bytes_per_s": 1e9,
 "intra_node_seconds_per_message": 1e-6, "cross_node_seconds_per_message": 1e-5}
END
value() { sed 's/.*"'"$1"'": \([-+.e0-9]*\).*/\1/;q' "$out"; }

# one process holds everything, and sends nothing
run crank plan tiny.yaml
ends 0
has_out "ranks     1 on 1 machine, ... batches of 32 rows, 32 together"
has_out "machine   measured here: ... GFLOP/s and .../s of memory per core"
has_out "  user_emb ... data_parallel ... rank 0 ...  0 B"
has_out "step      ... ms predicted, ... rows/s; 0 B sent per row; fullest rank ... of ..."
is_gone model

# several machines, larger tables; the same input gives the same plan
sed 's/num_buckets: 50,/num_buckets: 50000000,/' tiny.yaml >big.yaml
run crank plan big.yaml --nnodes 4 --nproc-per-node 2 --memory 8GB --cores 4 --batch_size 1024 --machine machine.json --json plan.json
ends 0
has_out "ranks     8 on 4 machines, 4 cores each; batches of 1024 rows, 8.2k together"
has_out "          4.0 GB/s inside a machine, 1.0 GB/s between machines"
has_out "memory    8.0 GB per machine, of which 15 % stay free: 3.4 GB per rank"
has_out "  user_emb ...50.0M ...row_wise ...8 from rank ...1.6 GB ..."
[ "$(grep -c '^  [0-7]  ' "$out")" -eq 8 ] || fail "not a line per rank: $(cat "$out")"
grep -q '"fits": true' plan.json || fail "no plan: $(cat plan.json)"
run crank plan big.yaml --nnodes 4 --nproc_per_node 2 --memory 8e9 --cores 4 --set data_config.batch_size=1024 --machine plan.json --json -
ends 0
same "$out" plan.json
for key in ranks step_s dense_s lookup_s update_s network_s sync_s messages_s sent_bytes_per_step memory_bytes; do
    grep -q "\"$key\": [0-9]" "$out" || fail "no $key: $(cat "$out")"
done
is_gone model

# bandwidths of the environment are bytes per millisecond; flags win
run env INTRA_NODE_BANDWIDTH=2000000 CROSS_NODE_BANDWIDTH=1e5 STORAGE_RESERVE_PERCENT=0.5 \
    crank plan big.yaml --nnodes 2 --memory 8GB --machine machine.json --cross_node_bandwidth 3GiB
ends 0
has_out "          2.0 GB/s inside a machine, 3.2 GB/s between machines"
has_out "memory    8.0 GB per machine, of which 50 % stay free: 4.0 GB per rank"

# ids and bytes are whole numbers
run crank plan tiny.yaml --nnodes 2 --memory 8GB --machine machine.json --zipf 0.7 --batch_size 100
ends 0
if grep '_emb' "$out" | grep -E '[0-9][.][0-9]+ B$|[0-9][.][0-9]+  +[0-9.]+ [KM]?B$'; then fail "parts of an id or of a byte"; fi

# ids of the data instead of guesses: 'tags' has several per row
run crank plan tiny.yaml --sample_rows 640 --machine machine.json --json -
ends 0
ids=$(awk -F, 'NR > 1 { n += split($4, t, "|") } END { print n / (NR - 1) }' train.csv)
found=$(sed 's/.*"name": "tags_emb", [^}]*"ids_per_row": \([0-9.]*\).*/\1/' "$out")
awk "BEGIN { exit !($ids > 1 && ($ids - $found)^2 < 1e-6) }" || fail "tags has $ids ids per row, found $found"

# constraints
sed 's/num_buckets: 50000000,/&embedding_constraints: {sharding_types: [table_wise]},/' big.yaml >whole.yaml
run crank plan whole.yaml --nnodes 2 --memory 8GB --machine machine.json --set train_config.lanes=8
ends 0
has_out "  user_emb ...table_wise ..."
sed 's/num_buckets: 50000000,/&embedding_constraints: {sharding_types: [column_wise]},/; s/adagrad_optimizer/rowwise_adagrad_optimizer/;
     s/embedding_dim: 4/embedding_dim: 8/' big.yaml >cols.yaml
run crank plan cols.yaml --nnodes 2 --memory 8GB --machine machine.json
ends 2
has_err "cols.yaml:21:...: sharding_types leave no way to place table 'user_emb' on several ranks: column_wise: its optimizer looks at whole rows; add row_wise or table_wise"
run crank plan cols.yaml --memory 8GB --machine machine.json
ends 0

# what does not fit is refused, with what would
run crank plan big.yaml --nnodes 2 --memory 1GB --machine machine.json
ends 1
has_err "...the tables do not fit: rank ... of 2 would need ... and may use 850 MB; start 4 ranks on 4 machines, or give each machine 1.9 GB, or use rowwise_adagrad_optimizer and data_type: FP16 for tables"
run crank plan big.yaml --nnodes 2 --memory 100MB --machine machine.json
ends 1
has_err "...start ... ranks on ... machines, or give each machine ..."
run crank plan tiny.yaml --memory 2KB --machine machine.json
ends 1
has_err "...give each machine ..., or lower batch_size: ... of it are dense parameters, buffers and data"

# more ranks than lanes
run crank plan tiny.yaml --nnodes 128 --machine machine.json
ends 0
has_err "tiny.yaml:...: warning: a global batch of 4096 rows has 8 lanes, and 128 ranks need as many, so training would refuse to start; raise train_config.lanes or data_config.batch_size"
has_out "  ..., slowest ..."
run crank plan tiny.yaml --nnodes 4096 --machine machine.json
ends 0
has_err "tiny.yaml:...: warning: ...; this version trains with 1024 ranks at most"

# wrong input
run crank plan
ends 2
run crank plan nothing.yaml
ends 2 1
run crank plan tiny.yaml --memory 64XB
ends 2
has_err "crank plan: --memory '64XB' is no size above 0; write for example 64GB"
run crank plan tiny.yaml --memory 64
ends 2
has_err "crank plan: --memory '64' would be bytes; write the unit, for example 64GB"
run crank plan tiny.yaml --cross_node_bandwidth=-3GB
ends 2
has_err "crank plan: --cross_node_bandwidth '-3GB' is no size above 0; write for example 3GB"
run crank plan tiny.yaml --nnodes 0
ends 2
has_err "...--nnodes..."
run crank plan tiny.yaml --nnodes 65536 --nproc_per_node 2
ends 2
has_err "crank plan: 131072 ranks are too many to plan; the most are 65536"
run crank plan tiny.yaml --zipf 7
ends 2
has_err "...--zipf..."
echo '{"flops_per_core": 0}' >bad.json
run crank plan tiny.yaml --machine bad.json
ends 2
has_err "bad.json: 'flops_per_core' must be a number above 0; correct it"
echo '{' >bad.json
run crank plan tiny.yaml --machine bad.json
ends 2 3
has_err "bad.json: ..."
echo '{}' >bad.json
run crank plan tiny.yaml --machine bad.json
ends 2
has_err "bad.json: it has none of the figures of a machine, such as 'flops_per_core'; make one with crank plan CONFIG --json FILE"
run crank plan tiny.yaml --machine none.json
ends 1
has_err "none.json: ..."
run crank plan tiny.yaml --machine machine.json --json no/such/folder.json
ends 1
: >train.csv
run crank plan tiny.yaml --sample_rows 10 --machine machine.json
ends 3
is_gone model
