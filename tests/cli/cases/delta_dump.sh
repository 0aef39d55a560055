# delta_embedding_dump_config: the rows that changed, as Parquet. Every table kind; the vectors are those of the checkpoint; ranks and
# servers write each row once, the same rows as one process; bytes instead of floats; mistakes
tiny_data 960 300
tiny_config
sed "s/expression: \"user:user\", num_buckets: [0-9]*/expression: \"user:user\", growing: {max_rows: 30, bucket_rows: 8, lfu: {}}/
     s/expression: \"item:item\", num_buckets: [0-9]*/expression: \"item:item\", zch: {zch_size: 12, eviction_interval: 3, lfu: {}}/" tiny.yaml >kinds.yaml
[ "$(grep -c 'growing\|zch' kinds.yaml)" -eq 2 ] || fail "$(cat kinds.yaml)"
cat >check.py <<'END'
# check.py CKPT FILE...: the rows of dumps, one JSON object per line without rank and world_size; with a checkpoint its vectors are compared
import glob, json, struct, subprocess, sys
tensors = {}
for path in glob.glob(sys.argv[1] + "/*.safetensors") if sys.argv[1] else []:
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    for name, t in json.loads(data[8:8 + n]).items():
        if name == "__metadata__":
            continue
        code = {"F32": "f", "I64": "q"}[t["dtype"]]
        a, b = (8 + n + x for x in t["data_offsets"])
        tensors[name] = (t["shape"], struct.unpack("<%d%s" % ((b - a) // struct.calcsize(code), code), data[a:b]))
rows, width = [], {}
for path in sys.argv[2:]:
    text = subprocess.run(["crank", "parquet", path, "--rows_json"], check=True, capture_output=True, text=True).stdout
    rows += [json.loads(line) for line in text.splitlines()]
for r in rows:
    assert r["source"] == "model_delta_tracker", r
    name = r["table_fqn"]
    if tensors and r.get("embedding"):
        (n, D), w = tensors[name + ".weight"]
        row = r["key_id"]
        for m in [t for t in tensors if t.endswith("." + name.split(".")[-1] + "._mch_sorted_raw_ids")]:
            ids, at = tensors[m][1], tensors[m.replace("sorted_raw_ids", "remapped_ids_mapping")][1]
            row = at[ids.index(row)] if row in ids else n - 1
        got, want = r["embedding"], w[row * D:(row + 1) * D]
        if len(got) == D + 4:
            scale, offset = struct.unpack("<ee", bytes(got[D:]))
            assert all(abs(x * scale + offset - y) <= scale + abs(offset) / 1024 for x, y in zip(got, want)), (r, want)  # the offset is rounded, too
        else:
            assert all(abs(x - y) < 1e-6 for x, y in zip(got, want)), (r, want)
    r.pop("rank"), r.pop("world_size")
for line in sorted(json.dumps(r, sort_keys=True) for r in rows):
    print(line)
END
dump='train_config.delta_embedding_dump_config={dump_interval_steps: 10}'
run crank train kinds.yaml --threads 1 --model_dir one --set "$dump"
ends 0
for s in 10 20 30 40 50 59; do
    is_there one/delta_embedding_dump/delta_embedding_step_$s.parquet
done
[ "$(find one/delta_embedding_dump -type f | wc -l)" -eq 6 ] || fail "$(ls one/delta_embedding_dump)"
run crank parquet one/delta_embedding_dump/delta_embedding_step_59.parquet --schema
cat >want <<'END'
message schema {
  optional INT64 global_step;
  optional INT32 rank;
  optional INT32 world_size;
  optional BYTE_ARRAY feature_name (string);
  optional BYTE_ARRAY table_fqn (string);
  optional INT64 key_id;
  optional group embedding (LIST) {
    repeated group list {
      optional FLOAT element;
    }
  }
  optional BYTE_ARRAY source (string);
}
END
same "$out" want
run python3 check.py one/model.ckpt-59 one/delta_embedding_dump/delta_embedding_step_59.parquet
ends 0
cp "$out" one_59
for name in user item tags; do
    grep -q "\"feature_name\": \"$name\"" one_59 || fail "no rows of $name"
done
grep -q '"table_fqn": "model.embedding_group.emb_impls.__BASE__.ebc.embedding_bags.user_emb"' one_59 || fail "$(head -n 3 one_59)"
# threads and ranks: the same rows, each once; servers hold them where there are some
run crank train kinds.yaml --threads 3 --model_dir three --set "$dump"
ends 0
run python3 check.py three/model.ckpt-59 three/delta_embedding_dump/delta_embedding_step_59.parquet
same "$out" one_59
if [ -f "$(dirname "$CRANK")/comm-mpich.so" ]; then
    mpi_leaks
    run crank launch --standalone --nproc-per-node 2 -- train kinds.yaml --threads 1 --model_dir ranks --set "$dump" --set data_config.batch_size=16
    ends 0
    run python3 check.py ranks/model.ckpt-59 ranks/delta_embedding_dump/step_59/delta_embedding_step_59_rank_0_of_2.parquet \
        ranks/delta_embedding_dump/step_59/delta_embedding_step_59_rank_1_of_2.parquet
    ends 0
    same "$out" one_59
    sed "s/zch: {.*}, embedding_dim/num_buckets: 30, embedding_dim/" kinds.yaml >grow.yaml
    run crank train grow.yaml --threads 1 --model_dir alone --set "$dump"
    ends 0
    run python3 check.py '' alone/delta_embedding_dump/delta_embedding_step_50.parquet
    cp "$out" alone_50
    run crank launch --ps 2 --workers 1 -- train grow.yaml --strategy half_async --threads 1 --model_dir served --set "$dump"
    ends 0
    run python3 check.py '' served/delta_embedding_dump/step_50/*.parquet
    ends 0
    same "$out" alone_50
fi
# bytes with a scale and an offset, in a folder and under a name of the user's own
run crank train kinds.yaml --threads 1 --model_dir bytes --set 'train_config.delta_embedding_dump_config={dump_interval_steps: 100, output_dir: changed, file_prefix: d, quant_type: DELTA_EMBEDDING_QUANT_INT8}'
ends 0
has_err "...warning: checkpoints are saved every 10 steps and dumps made every 100: when a killed run goes on from a checkpoint, rows that changed between the last dump and it are in no dump; make save_checkpoints_steps a multiple of dump_interval_steps"
run crank parquet changed/d_step_59.parquet --schema
has_out "...INT32 element (uint8);"
run python3 check.py bytes/model.ckpt-59 changed/d_step_59.parquet
ends 0
# minutes: nothing is due in a short run but the rest at its end; a signal dumps what there is
run crank train tiny.yaml --threads 1 --model_dir late --set 'train_config.delta_embedding_dump_config={dump_interval_minutes: 60}'
ends 0
is_there late/delta_embedding_dump/delta_embedding_step_59.parquet
[ "$(find late/delta_embedding_dump -type f | wc -l)" -eq 1 ] || fail "$(ls late/delta_embedding_dump)"
CRANK_TEST_KILL=step:26:TERM run crank train tiny.yaml --threads 1 --model_dir stopped --set "$dump"
ends 1
is_there stopped/delta_embedding_dump/delta_embedding_step_20.parquet
[ "$(find stopped/delta_embedding_dump -type f | wc -l)" -eq 3 ] || fail "$(ls stopped/delta_embedding_dump)"
# mistakes
refused() { # refused VALUE MESSAGE
    run crank train tiny.yaml --model_dir no --set "train_config.delta_embedding_dump_config=$1"
    ends 2
    has_err "$2"
    is_gone no/model.ckpt-10
}
refused '{dump_interval_steps: 5, dump_interval_minutes: 1}' "...dump_interval_steps and dump_interval_minutes both say when to dump; remove one of them"
refused '{dump_interval_steps: 0}' "...dump_interval_steps..."
refused '{dump_interval_minutes: 0}' "...dump_interval_minutes is 0; set it to 1 or more, or remove it"
refused '{file_prefix: a/b}' "...file_prefix 'a/b' has a slash; use output_dir for the folder"
refused '{feature_store_config: {region: r}}' "...'feature_store_config' is known but not available in this version; crank uploads nothing; remove it and upload the files of output_dir"
refused '{quant_type: INT4}' "...quant_type..."
run crank train tiny.yaml --model_dir odd --set 'feature_configs[0].id_feature.embedding_dim=5' --set 'train_config.delta_embedding_dump_config={quant_type: DELTA_EMBEDDING_QUANT_INT8}'
ends 2
has_err "...quant_type DELTA_EMBEDDING_QUANT_INT8 needs rows of an even width, and embedding_dim of table 'user_emb' is 5; change it, or write floats"
