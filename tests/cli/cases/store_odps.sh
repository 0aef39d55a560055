# MaxCompute: training and predicting from tables by the Storage API and by the tunnel, to the bytes of a local file; faults,
# a kill and a resume, sessions that are over, ranks; predictions into a partition
command -v python3 >/dev/null || skip "python3 is not installed (the stand-in of the store needs it)"
[ -f "$(dirname "$CRANK")/http-curl.so" ] || skip "crank was built without libcurl"
server=
trap 'kill $server 2>/dev/null || true' EXIT
start() { # start FLAGS...: the stand-in; $port
    : >"$CASE_DIR/port"
    python3 -B "$CLI/../stores/odps_server.py" --dir tables "$@" >"$CASE_DIR/port" 2>"$CASE_DIR/server.err" &
    server=$!
    for _ in $(seq 100); do
        [ ! -s "$CASE_DIR/port" ] || break
        sleep 0.1
    done
    port=$(sed 's/port //' "$CASE_DIR/port")
    [ -n "$port" ] || fail "the stand-in does not start: $(cat "$CASE_DIR/server.err")"
    printf 'access_id=AKIDEXAMPLE\naccess_key=SECRETEXAMPLE\nend_point=http://127.0.0.1:%s/api\n' "$port" >odps.ini
}
fault() { # fault JSON
    python3 -c 'import sys, urllib.parse, urllib.request as u; u.urlopen("http://127.0.0.1:%s/__control?json=%s" % (sys.argv[1], urllib.parse.quote(sys.argv[2]))).read()' "$port" "$1"
}
stat_of() {
    python3 -c 'import sys, json, urllib.request as u; print(json.load(u.urlopen("http://127.0.0.1:%s/__stats" % sys.argv[1]))[sys.argv[2]])' "$port" "$1"
}
unset ODPS_ENDPOINT ALIBABA_CLOUD_CREDENTIALS_URI ALIBABA_CLOUD_SECURITY_TOKEN
export ODPS_CONFIG_FILE_PATH=odps.ini ODPS_REGION_NAME=cn-hangzhou
tiny_config
sed -i 's/save_checkpoints_steps: 10$/save_checkpoints_steps: 100/' tiny.yaml
tiny_data 9600 300
may_be_killed=yes
table() { # table NAME FILE.csv PARTITION...: rows of a CSV file, divided evenly
    python3 - "$@" <<'END'
import csv, json, os, sys
name, path, parts = sys.argv[1], sys.argv[2], sys.argv[3:] or [""]
os.makedirs("tables/" + name)
rows = list(csv.reader(open(path)))[1:]
json.dump({"columns": [["label", "INT"], ["user", "BIGINT"], ["item", "BIGINT"], ["tags", "STRING"], ["price", "DOUBLE"]],
           "partitions": ["dt"] if parts[0] else []}, open("tables/%s/schema.json" % name, "w"))
for k, p in enumerate(parts):
    with open("tables/%s/%s.jsonl" % (name, p or "all"), "w") as f:
        for r in rows[len(rows) * k // len(parts):len(rows) * (k + 1) // len(parts)]:
            f.write(json.dumps([int(r[0]), int(r[1]), int(r[2]), r[3], float(r[4])]) + "\n")
END
}
table clicks train.csv dt=20250101 dt=20250102 dt=20250103
table evals eval.csv
start
sed 's/CsvDataset/OdpsDataset/' tiny.yaml >tiny_odps.yaml
run crank train tiny.yaml --model_dir local
ends 0
days='odps://demo/tables/clicks/dt=20250101&dt=20250102&dt=20250103'
on_odps() { # on_odps MODEL_DIR FLAGS...
    to=$1
    shift
    run crank train tiny_odps.yaml --train_input_path "$days" --eval_input_path odps://demo/tables/evals --model_dir "$to" "$@"
}
on_odps one
ends 0
same_weights local one
same local/train_eval_result_v2.txt one/train_eval_result_v2.txt
[ "$(stat_of v4)" -gt 0 ] || fail "no request was signed by version 4"
[ "$(stat_of v2)" -gt 0 ] || fail "no request for data was signed by version 2"
# faults that pass: 503, a body that breaks off, batches of any size, a session that is not ready, another codec, version 2 only
fault '{"fail503": 3, "cut": 30000, "batch_rows": 777, "init": 1, "only_v2": 1}'
on_odps two --set data_config.odps_data_compression=ZSTD --threads 3
ends 0
same_weights local two
fault '{"batch_rows": 0, "init": 0, "only_v2": 0, "cut_all": 200000, "skew": 7200}'
on_odps three --set data_config.odps_data_compression=UNCOMPRESSED --set data_config.is_orderby_partition=true
ends 0
same_weights local three
fault '{"cut_all": 0, "skew": 0}'
# somebody else answers
fault '{"html": 1}'
on_odps page
ends bad
has_err "odps://demo/tables/...: the answer to the question for the data endpoint is no address; check ODPS_ENDPOINT and the proxies"
# by the tunnel, with a wrong checksum and a body that breaks off
fault '{"bad_crc": 1}'
on_odps tunnel --set data_config.dataset_type=OdpsDatasetV1
ends 0
same_weights local tunnel
fault '{"cut": 5000}'
on_odps tunnel2 --set data_config.dataset_type=OdpsDatasetV1 --threads 2
ends 0
same_weights local tunnel2
# killed, then continued in the same session; the server was started anew meanwhile
export CRANK_TEST_KILL=step:220
on_odps killed
ends 137
unset CRANK_TEST_KILL
made=$(stat_of sessions)
on_odps killed --continue_train
ends 0
same_weights local killed
[ "$(stat_of sessions)" -eq $((made + 1)) ] || fail "the training session was not used again: $made, $(stat_of sessions)"
# the session is over: a new one has the same rows, and is used
export CRANK_TEST_KILL=step:220
on_odps expired
ends 137
unset CRANK_TEST_KILL
fault '{"expire": 1}'
on_odps expired --continue_train
ends 0
has_err "...: the session of the checkpoint is over; a new one is made and compared"
has_err "... rows of the new session are those of the old one"
same_weights local expired
# or it has them in another order, and is refused
export CRANK_TEST_KILL=step:220
on_odps other
ends 137
unset CRANK_TEST_KILL
fault '{"expire": 1, "reverse": 1}'
on_odps other --continue_train
ends 3
has_err "... the session of the checkpoint is over, and rows 0 to ... of a new one differ from those that were trained on; ..."
fault '{"reverse": 0}'
# keys that end, from an address
fault '{"keys": ["STSID", "STSSECRET", "TOKEN"]}'
export ODPS_STS_ACCESS_KEY_ID=STSID ODPS_STS_ACCESS_KEY_SECRET=STSSECRET ODPS_STS_TOKEN=TOKEN ODPS_ENDPOINT="http://127.0.0.1:$port/api"
unset ODPS_CONFIG_FILE_PATH
on_odps sts
ends 0
same_weights local sts
unset ODPS_STS_ACCESS_KEY_ID ODPS_STS_ACCESS_KEY_SECRET ODPS_STS_TOKEN ODPS_ENDPOINT
export ODPS_CONFIG_FILE_PATH=odps.ini
on_odps refused
ends 1
has_err "...: cannot find the data endpoint: status 401, ODPS-0410042: ..., request REQ-...; check the keys of the account and its rights"
if grep -q 'SECRETEXAMPLE\|STSSECRET\|TOKEN' "$err"; then fail "a key is shown"; fi
fault '{"keys": ["AKIDEXAMPLE", "SECRETEXAMPLE", ""]}'
# keys of a credentials URI, which end every 5 requests; the server that gives them fails at first
export ALIBABA_CLOUD_ECS_METADATA_DISABLED=true ALIBABA_CLOUD_CREDENTIALS_URI="http://127.0.0.1:$port/creds"
unset ODPS_CONFIG_FILE_PATH
on_odps uri
ends 2
has_err "...ODPS_ENDPOINT is not set; ..."
fault '{"rotate_each": 5, "keys_fail": 2, "keys": ["TEMP", "SECRET0", "TOKEN0"]}'
ODPS_ENDPOINT=http://127.0.0.1:$port/api on_odps uri
ends 0
same_weights local uri
[ "$(stat_of keys)" -gt 2 ] || fail "the keys did not end: asked for $(stat_of keys) times"
if grep -q 'SECRET[0-9]\|TOKEN[0-9]' "$err"; then fail "a key is shown"; fi
fault '{"rotate_each": 0, "keys": ["AKIDEXAMPLE", "SECRETEXAMPLE", ""]}'
unset ALIBABA_CLOUD_ECS_METADATA_DISABLED ALIBABA_CLOUD_CREDENTIALS_URI
# keys of the cloud with an address need no file
ODPS_ENDPOINT=http://127.0.0.1:$port/api OSS_ACCESS_KEY_ID=AKIDEXAMPLE OSS_ACCESS_KEY_SECRET=SECRETEXAMPLE on_odps keys --set train_config.num_steps=3 --set train_config.num_epochs=0
ends 0
export ODPS_CONFIG_FILE_PATH=odps.ini
# predictions into a partition of a table that does not exist yet; again, which replaces them
run crank export tiny.yaml --model_dir local --export_dir export
ends 0
run crank predict --scripted_model_path export --predict_input_path eval.csv --predict_output_path scores.csv --reserved_columns user,tags
ends 0
for again in 1 2; do
    fault '{"fail503": 2, "commit_async": 1, "lose_block": 1, "lose_commit": 1}'
    run crank predict --scripted_model_path export --predict_input_path odps://demo/tables/evals --dataset_type OdpsDataset \
        --predict_output_path odps://demo/tables/scores/dt=20250104 --reserved_columns user,tags
    ends 0
done
python3 - <<'END' || fail "other rows in the table than in the file"
import csv, json, struct, sys
one = lambda x: struct.pack("f", float(x))
want = list(csv.reader(open("scores.csv")))
names = [n for n, _ in json.load(open("tables/scores/schema.json"))["columns"]]
rows = [json.loads(line) for line in open("tables/scores/dt=20250104.jsonl")]
same = names == want[0] and len(rows) == len(want) - 1
for r, w in zip(rows, want[1:]):
    same = same and str(r[0]) == w[0] and r[1] == w[1] and all(one(a) == one(b) for a, b in zip(r[2:], w[2:]))
sys.exit(not same)
END
# a table of a schema, which is made in it, and read back by both ways
run crank predict --scripted_model_path export --predict_input_path eval.csv --predict_output_path "odps://demo/tables/lab.scores/dt=it's" --reserved_columns label,user,item,tags,price
ends 0
[ -f "tables/lab.scores/dt=it's.jsonl" ] && [ ! -d tables/lab ] || fail "the table is not in the schema: $(ls -R tables)"
for how in OdpsDataset OdpsDatasetV1; do
    run crank predict --scripted_model_path export --predict_input_path "odps://demo/tables/lab.scores" --dataset_type $how --predict_output_path again_$how.csv --reserved_columns user,tags
    ends 0
    same scores.csv again_$how.csv
done
run crank predict --scripted_model_path export --predict_input_path eval.csv --predict_output_path odps://demo/tables/scores/dt=20250105
ends 2
has_err "... the table has 4 columns and the predictions have 2; ..."
# mistakes
run crank train tiny_odps.yaml --train_input_path odps://demo/tables/clicks/dt=19990101 --eval_input_path odps://demo/tables/evals --model_dir none
ends 1
has_err "odps://demo/tables/clicks/dt=19990101: cannot make a session for the table: status 404, NoSuchPartition: dt=19990101, request REQ-...; check the partition in the path"
run crank train tiny_odps.yaml --train_input_path odps://demo/clicks --eval_input_path odps://demo/tables/evals --model_dir none
ends 2
has_err "odps://demo/clicks: it is no table of MaxCompute; ..."
fault '{"same_marker": 1}'
run crank train tiny_odps.yaml --train_input_path odps://demo/tables/clicks --eval_input_path odps://demo/tables/evals --model_dir none --set data_config.is_orderby_partition=true
ends 1
has_err "odps://demo/tables/evals: MaxCompute's list of partitions does not end; name the partitions in the path"
fault '{"same_marker": 0}'
# what is there: columns and partitions
run crank ls odps://demo/tables/clicks
ends 0
has_out "price                     DOUBLE"
has_out "dt=20250103/"
run crank ls odps://demo/tables/lab.scores
ends 0
has_out "dt=it's/"
run crank ls 'odps://demo/tables/clicks/dt=20250101&dt=19990101'
ends 1
has_err "...the table has 1 of the 2 partitions; 'crank ls' of the table without a partition shows them all"
run crank ls odps://demo/tables/none
ends 1
has_err "...: cannot look at the table: status 404, NoSuchObject: ...; check project and table in the path"
# two ranks read parts of one session, to the weights of one process
if [ -f "$(dirname "$CRANK")/comm-mpich.so" ]; then
    mpi_leaks
    on_odps lanes --set train_config.lanes=4
    ends 0
    made=$(stat_of sessions)
    run crank launch --standalone --nproc-per-node 2 -- train tiny_odps.yaml --train_input_path "$days" --eval_input_path odps://demo/tables/evals --model_dir ranks \
        --set data_config.batch_size=16 --set train_config.lanes=4
    ends 0
    same_weights lanes ranks
    [ "$(stat_of sessions)" -eq $((made + 2)) ] || fail "each data set has one session: $made, $(stat_of sessions)"
fi
