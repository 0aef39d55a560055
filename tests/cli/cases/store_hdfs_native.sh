# data on HDFS by its own protocol: two name nodes from Hadoop's files, three data nodes, faults, and what it cannot
command -v python3 >/dev/null || skip "python3 is not installed (the stand-in of the store needs it)"
server=
trap 'kill $server 2>/dev/null || true' EXIT
start() { # start FLAGS...: the stand-in; $nn1 $nn2 $control
    : >"$CASE_DIR/nodes"
    python3 "$CLI/../stores/hdfs_native_server.py" --root root "$@" >"$CASE_DIR/nodes" 2>"$CASE_DIR/server.err" &
    server=$!
    for _ in $(seq 100); do
        [ ! -s "$CASE_DIR/nodes" ] || break
        sleep 0.1
    done
    read -r _ nn1 nn2 _ _ _ control <"$CASE_DIR/nodes" || fail "the stand-in does not start: $(cat "$CASE_DIR/server.err")"
    mkdir -p conf
    printf '<configuration><property><name>fs.defaultFS</name><value>hdfs://ns1</value></property></configuration>\n' >conf/core-site.xml
    printf '<configuration>
<property><name>dfs.nameservices</name><value>ns1</value></property>
<property><name>dfs.ha.namenodes.ns1</name><value>a,b</value></property>
<property><name>dfs.namenode.rpc-address.ns1.a</name><value>127.0.0.1:%s</value></property>
<property><name>dfs.namenode.rpc-address.ns1.b</name><value>127.0.0.1:%s</value></property>
<property><name>dfs.namenode.http-address.ns1.a</name><value>127.0.0.1:9</value></property>
<property><name>dfs.client.use.datanode.hostname</name><value>%s</value></property>
</configuration>\n' "$nn1" "$nn2" "${by_name:-false}" >conf/hdfs-site.xml
}
over() {
    kill "$server"
    wait "$server" 2>/dev/null || true
    [ ! -s "$CASE_DIR/server.err" ] || fail "the stand-in complains: $(cat "$CASE_DIR/server.err")"
}
fault() { # fault JSON
    python3 -c 'import sys, urllib.parse, urllib.request as u; u.urlopen("http://127.0.0.1:%s/__control?json=%s" % (sys.argv[1], urllib.parse.quote(sys.argv[2]))).read()' "$control" "$1"
}
stat_of() {
    python3 -c 'import sys, json, urllib.request as u; print(json.load(u.urlopen("http://127.0.0.1:%s/__stats" % sys.argv[1]))[sys.argv[2]])' "$control" "$1"
}
export HADOOP_USER_NAME=alice HADOOP_CONF_DIR=conf CRANK_HDFS=native
tiny_data 960 300
tiny_config
tiny_parquet
mkdir -p "root/data/dt=20250101" root/data/empty
cp train.csv train.parquet "root/data/dt=20250101"
cp eval.csv "root/data/eval set+1.csv"
cp eval.parquet tiny.yaml root/data
head -c 3000000 /dev/urandom >root/big.bin
: >root/nothing
start --page 2 --block 10000
run crank train tiny.yaml --model_dir local
run crank train tiny_pq.yaml --model_dir local_pq
# names: pages of two, the root, a name service, the default file system, host and port
run crank ls hdfs://ns1/data
has_out "...  eval set+1.csv"
has_out "...  dt=20250101/"
[ "$(wc -l <"$out")" -eq 5 ] || fail "a listing in pages of two: $(cat "$out")"
run crank ls hdfs:///
has_out "...  big.bin"
run crank ls "hdfs://127.0.0.1:$nn1/data/"
has_out "...  eval.parquet"
run crank cp hdfs://ns1/nothing nothing
same root/nothing nothing
# the same bits as from the disk, from files in many blocks
native() { # native DIR: CSV
    run crank train tiny.yaml --train_input_path 'hdfs://ns1/data/dt=*/train.csv' --eval_input_path 'hdfs:///data/eval set+1.csv' --model_dir "$1"
    same_weights local "$1"
}
native one
run crank train tiny_pq.yaml --train_input_path 'hdfs://ns1/data/dt=*/*.parquet' --eval_input_path hdfs://ns1/data/eval.parquet --model_dir two
same_weights local_pq two
[ "$(stat_of fine)" -eq "$(stat_of reads)" ] || fail "not every read was ended well"
# connections to the name node stay open
before=$(stat_of connections)
calls=$(stat_of calls)
run crank cp hdfs://ns1/data/tiny.yaml got.yaml
same tiny.yaml got.yaml
[ $(($(stat_of calls) - calls)) -gt $(($(stat_of connections) - before)) ] || fail "each call had a connection of its own"
over
# other checksums, chunks of another size, nodes by their names; each fault once
for sum in crc32 none crc32c; do
    by_name=true
    getent hosts localhost >/dev/null || by_name=false # a bare system has no /etc/hosts
    start --block 1000000 --sum $sum --chunk 4096
    run crank cp hdfs://ns1/big.bin big.bin
    same root/big.bin big.bin
    for kind in cut short length huge place garbage answer more sum; do
        [ $sum$kind != nonesum ] || continue # nothing could find it
        fault "{\"data\": \"$kind\"}"
        run crank cp hdfs://ns1/big.bin big.bin
        same root/big.bin big.bin
    done
    over
done
by_name=false
start --block 1000000 --sum crc32
for kind in drop close garbage huge cut other; do
    fault "{\"rpc\": \"$kind\"}"
    run crank cp hdfs://ns1/big.bin big.bin
    same root/big.bin big.bin
done
# the first name node goes on standby, two data nodes die, one of them later gives wrong bytes, an answer is late
fault '{"standby": 0, "dead": [0, 2], "stall": 2}'
native three
[ "$(stat_of standby)" -gt 0 ] || fail "the fault was not met"
fault '{"dead": [], "spoil": [0, 1], "standby": 1}'
native four
fault '{"spoil": [], "deny": [1], "fault_rate": 0.03}'
native five
# the cluster changes before every tenth answer: a data node dies or is damaged, the name nodes change roles
fault '{"fault_rate": 0, "deny": [], "change_rate": 0.1, "seed": 19}'
native six
[ "$(stat_of changes)" -gt 0 ] || fail "the cluster did not change"
fault '{"change_rate": 0, "dead": [], "spoil": [], "standby": -1, "deny": [0, 1, 2]}'
run crank cp hdfs://ns1/big.bin big.bin
ends 1
has_err "hdfs://ns1/big.bin: cannot read at byte 0: 127.0.0.1:... answers ERROR, Replica not found for BP-1:blk_...(tried 8 times); ..."
fault '{"deny": [], "spoil": [0, 1, 2]}'
run crank cp hdfs://ns1/big.bin big.bin
ends 1
has_err "...: byte 0 of block ... does not have its checksum (tried 8 times); replicas are damaged: hdfs fsck PATH -files -blocks -locations shows which"
fault '{"spoil": []}'
# a file that is replaced while a run reads it, by one of the same size, is found
stops_at step:12 crank train tiny.yaml --train_input_path hdfs://ns1/data/dt=20250101/train.csv --model_dir seven --set train_config.num_epochs=8
tac train.csv >other
mv other root/data/dt=20250101/train.csv
goes_on
ends 3
has_err "hdfs://ns1/data/dt=20250101/train.csv: the file changed while the run was using it; ..."
cp train.csv root/data/dt=20250101/train.csv
# what it cannot is told, with the way that can
fault '{"coded": "/big.bin"}'
run crank cp hdfs://ns1/big.bin big.bin
ends 1
has_err "hdfs://ns1/big.bin: cannot read at byte 0: the file is erasure-coded, and the native protocol reads replicas; read it by WebHDFS: unset CRANK_HDFS, or write webhdfs://host:9870/path"
fault '{"coded": "", "encrypted": "/big.bin"}'
run crank cp hdfs://ns1/big.bin big.bin
ends 1
has_err "...: the file lies in an encryption zone; read it by WebHDFS: ..."
fault '{"encrypted": "", "building": "/big.bin"}'
run crank cp hdfs://ns1/big.bin big.bin
ends 1
has_err "...: the file is still being written; run again when its writer has closed it"
fault '{"building": "", "kerberos": 1}'
run crank ls hdfs://ns1/data
ends 1
has_err "hdfs://ns1/data: cannot list: 127.0.0.1:... wants Kerberos, which the native protocol of crank does not speak; read it by WebHDFS: ..."
fault '{"kerberos": 0, "web": 1}'
run crank ls hdfs://ns1/data
ends 1
has_err "...: a web server answers, and no name node; CRANK_HDFS=native needs the port of RPC, 8020 on most clusters"
fault '{"web": 0}'
run crank train tiny.yaml --model_dir hdfs://ns1/exp
ends 1
has_err "hdfs://ns1/exp...: CRANK_HDFS=native reads HDFS and does not write it; write to webhdfs://host:9870/path, to HttpFS, to another store or to a disk"
run crank cp tiny.yaml hdfs://ns1/data/b
ends 1
has_err "...CRANK_HDFS=native reads HDFS and does not write it; ..."
run crank ls hdfs://ns1/none
ends 1
has_err "hdfs://ns1/none: cannot list: No such file or directory; check the path"
HADOOP_USER_NAME=bob run crank ls hdfs://ns1/data
ends 1
has_err "...AccessControlException, Permission denied: user=bob, access=READ; check HADOOP_USER_NAME, ..."
CRANK_HDFS=rpc run crank ls hdfs://ns1/data
ends 1
has_err "hdfs://ns1/data: cannot list: CRANK_HDFS is 'rpc', which is no way to HDFS; set it to web or to native"
sed 's,</configuration>,<property><name>hadoop.security.authentication</name><value>kerberos</value></property></configuration>,' conf/core-site.xml >core
cp conf/core-site.xml keep
cp core conf/core-site.xml
run crank ls hdfs://ns1/data
ends 1
has_err "...hadoop.security.authentication is kerberos, which CRANK_HDFS=native does not speak; read it by WebHDFS: ..."
cp keep conf/core-site.xml
# the web interface is closed, and the message names the setting
if [ -f "$(dirname "$CRANK")/http-curl.so" ]; then
    CRANK_HDFS=web run crank ls hdfs://ns1/data
    ends 1
    has_err "hdfs://ns1/data: cannot list: 127.0.0.1:9: ...; check that the store can be reached; where HTTP is closed, set CRANK_HDFS=native"
fi
over
