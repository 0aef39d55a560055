# a run on HDFS: two name nodes from Hadoop's own files, data nodes behind redirects, faults, a gateway, tokens
command -v python3 >/dev/null || skip "python3 is not installed (the stand-in of the store needs it)"
[ -f "$(dirname "$CRANK")/http-curl.so" ] || skip "crank was built without libcurl"
server=
trap 'kill $server 2>/dev/null || true' EXIT
start() { # start FLAGS...: the stand-in; $nn1 $nn2 $dn1 $dn2 $fs
    : >"$CASE_DIR/nodes"
    python3 "$CLI/../stores/hdfs_server.py" "$@" >"$CASE_DIR/nodes" 2>"$CASE_DIR/server.err" &
    server=$!
    for _ in $(seq 100); do
        [ ! -s "$CASE_DIR/nodes" ] || break
        sleep 0.1
    done
    read -r _ nn1 nn2 dn1 dn2 fs <"$CASE_DIR/nodes" || fail "the stand-in does not start: $(cat "$CASE_DIR/server.err")"
    [ -n "$dn1$dn2" ]
}
fault() { # fault JSON
    python3 -c 'import sys, urllib.parse, urllib.request as u; u.urlopen("http://127.0.0.1:%s/__control?json=%s" % (sys.argv[1], urllib.parse.quote(sys.argv[2]))).read()' "$nn1" "$1"
}
stat_of() {
    python3 -c 'import sys, json, urllib.request as u; print(json.load(u.urlopen("http://127.0.0.1:%s/__stats" % sys.argv[1]))[sys.argv[2]])' "$nn1" "$1"
}
conf() { # Hadoop's files for the name service ns1
    mkdir -p conf
    printf '<configuration><property><name>fs.defaultFS</name><value>hdfs://ns1</value></property></configuration>\n' >conf/core-site.xml
    printf '<configuration>
<property><name>dfs.nameservices</name><value>ns1</value></property>
<property><name>dfs.ha.namenodes.ns1</name><value>a, b</value></property>
<property><name>dfs.namenode.http-address.ns1.a</name><value>127.0.0.1:%s</value></property>
<property><name>dfs.namenode.http-address.ns1.b</name><value>127.0.0.1:%s</value></property>
</configuration>\n' "$nn1" "$nn2" >conf/hdfs-site.xml
}
export HADOOP_USER_NAME=alice HADOOP_CONF_DIR=conf
tiny_config
tiny_data 960 300
start --page 2
conf
run crank train tiny.yaml --model_dir local
ends 0
run crank cp train.csv "hdfs://ns1/data/dt=20250101/train.csv"
run crank cp eval.csv "hdfs:///data/eval set+1.csv"
run crank cp tiny.yaml hdfs://ns1/data/a
run crank cp tiny.yaml hdfs://ns1/data/b
run crank ls hdfs://ns1/data
has_out "...  eval set+1.csv"
has_out "...  dt=20250101/"
[ "$(wc -l <"$out")" -eq 4 ] || fail "a listing in pages of two: $(cat "$out")"
on_hdfs() { # on_hdfs DIR FLAGS...
    to=$1
    shift
    run crank train tiny.yaml --train_input_path 'hdfs://ns1/data/dt=*/train.csv' --eval_input_path 'hdfs:///data/eval set+1.csv' --model_dir "hdfs://ns1/exp/$to" "$@"
}
on_hdfs one
ends 0
run crank cp -r hdfs://ns1/exp/one back
same_weights local back
# the first name node goes on standby, a data node dies, requests fail, a body is cut, an answer is lost
fault '{"standby": 0, "dead": 0, "fail503": 3, "cut": 50, "lose": 1}'
on_hdfs two
ends 0
run crank cp -r hdfs://ns1/exp/two back2
same_weights local back2
[ "$(stat_of standby)" -gt 0 ] && [ "$(stat_of excluded)" -gt 0 ] || fail "the faults were not met"
fault '{"standby": 1, "dead": -1}'
# answers to requests that make, rename and remove names are lost; listings that are none are refused
fault '{"lose_names": 1}'
run crank cp tiny.yaml hdfs://ns1/lost.yaml
ends 0
fault '{"lose_every": 2}'
on_hdfs lost
ends 0
fault '{"lose_every": 0}'
run crank cp -r hdfs://ns1/exp/lost back_lost
same_weights local back_lost
[ "$(stat_of lost)" -gt 5 ] || fail "no answers were lost"
fault '{"strange": 2}'
run crank ls hdfs://ns1/data
has_out "...  dt=20250101/"
fault '{"nameless": 8}'
run crank ls hdfs://ns1/data
ends 1
has_err "...the listing has an entry without a name, a type or a length (tried 8 times); check the address of the store and the proxies, and run again"
# the name nodes of Hadoop 2 know no pages of listings
fault '{"nameless": 0}'
run crank ls hdfs://ns1/data
ends 0
cp "$out" pages
fault '{"hadoop2": 1}'
run crank ls hdfs://ns1/data
ends 0
cmp "$out" pages || fail "listings of Hadoop 2 differ"
run crank ls hdfs://ns1/nowhere
ends 1
fault '{"hadoop2": 0}'
# somebody else answers every request with a page
fault '{"html": 1000}'
run crank cp tiny.yaml hdfs://ns1/page.yaml
ends 1
has_err "...answers 200 and does not say where the data goes (tried 8 times); check the address of the store and the proxies, and run again"
fault '{"html": 0}'
# killed while it trains; the run goes on to the same bytes
may_be_killed=yes
CRANK_TEST_KILL=step:25 on_hdfs three --set train_config.save_checkpoints_steps=10
ends 137
on_hdfs three --continue_train --set train_config.save_checkpoints_steps=10
ends 0
run crank cp -r hdfs://ns1/exp/three back3
same_weights local back3
. "$CLI/store_kill.sh"
killed_writing hdfs://ns1/exp --train_input_path 'hdfs://ns1/data/dt=*/train.csv' --eval_input_path 'hdfs:///data/eval set+1.csv'
# a large file, in appended pieces, one of which was made though its answer was lost
head -c 70000000 /dev/urandom >big.bin
fault '{"lose": 1}'
run crank cp big.bin hdfs://ns1/big.bin
run crank cp hdfs://ns1/big.bin big_back.bin
same big.bin big_back.bin
# a gateway, and the address in the path
WEBHDFS_URL=http://127.0.0.1:$fs run crank cp hdfs://ns1/big.bin big_gw.bin
same big.bin big_gw.bin
WEBHDFS_URL=http://127.0.0.1:$fs run crank cp tiny.yaml hdfs://ns1/by_gateway
HADOOP_CONF_DIR=none run crank cp "webhdfs://127.0.0.1:$nn1/by_gateway" got.yaml
same tiny.yaml got.yaml
# PaddleRec: fs_name is where hdfs:/ paths lie, fs_ugi whose they are; afs: is told
mkdir -p conf2 afm
cp conf/hdfs-site.xml conf2
awk 'BEGIN { for (i = 0; i < 21; i++) { printf "label:%d", i % 2; for (k = 1; k <= 39; k++) printf " feat_idx:%d", (i + k) % 50 + 1; for (k = 1; k <= 39; k++) printf " feat_value:1"; print "" } }' >a.txt
run crank cp a.txt hdfs://ns1/paddle/train/a.txt
cat >afm/config.yaml <<END
workspace: "afm"
mode: t
dataset: [{name: d, type: DataLoader, batch_size: 8, data_path: "hdfs:/paddle/train", sparse_slots: "label feat_idx", dense_slots: "feat_value:39"}]
hyper_parameters: {optimizer: {class: Adam, learning_rate: 0.01}, sparse_feature_number: 60, sparse_feature_dim: 4, hidden1_attention_size: 3}
runner: [{name: t, class: train, epochs: 1, save_checkpoint_path: "ckpt", fs_name: "hdfs://ns1/", fs_ugi: "alice,password", phases: phase1}]
phase: [{name: phase1, model: "{workspace}/model.py", dataset_name: d}]
END
HADOOP_USER_NAME='' USER=nobody HADOOP_CONF_DIR=conf2 run crank config afm/config.yaml
ends 0
has_out "train_input_path: \"hdfs://ns1/paddle/train\""
sed 's,hdfs:/paddle,afs:/paddle,' afm/config.yaml >afm/afs.yaml
run crank config afm/afs.yaml
ends bad
has_err "...'afs:/paddle/train' lies in AFS, which has no public interface; copy it with its own client, or let the platform mount it, and name that folder"
# mistakes
run crank ls hdfs://ns1/none
ends 1
has_err "hdfs://ns1/none: cannot list: ...404 FileNotFoundException...; check the path"
HADOOP_USER_NAME=bob run crank ls hdfs://ns1/data
ends 1
has_err "...401 AccessControlException, Permission denied: user=bob; check HADOOP_USER_NAME, the token or the ticket, and the rights"
HADOOP_CONF_DIR=none run crank ls hdfs:///data
ends 1
has_err "...neither the path nor fs.defaultFS names a file system; set HADOOP_CONF_DIR, or write webhdfs://host:9870/path"
kill "$server"
wait "$server" 2>/dev/null || true
run crank ls hdfs://ns1/data
ends 1
has_err "...(tried 8 times); check that the store can be reached; where HTTP is closed, set CRANK_HDFS=native"
# a delegation token, from a file in Hadoop's form; it is in no message
python3 - <<'P'
def v(b): return bytes([len(b)]) + b
token = v(b"ident") + v(b"password") + v(b"HDFS_DELEGATION_TOKEN") + v(b"ha-hdfs:ns1")
open("tokens", "wb").write(b"HDTS\0" + bytes([2]) + v(b"other") + v(b"x") + v(b"y") + v(b"OTHER") + v(b"z") + v(b"ns1") + token)
import base64
open("token.txt", "w").write(base64.urlsafe_b64encode(token).decode().rstrip("="))
P
start --token "$(cat token.txt)"
conf
HADOOP_TOKEN_FILE_LOCATION=tokens run crank cp tiny.yaml hdfs://ns1/with_token
ends 0
HADOOP_TOKEN=wrongtoken run crank ls hdfs://ns1/with_token
ends 1
has_err "...InvalidToken..."
no_err "...wrongtoken..."
kill "$server"
wait "$server" 2>/dev/null || true
