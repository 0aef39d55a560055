#!/bin/sh
# kerberos.sh [BUILD_DIR] - HDFS that wants Kerberos: a KDC of MIT's krb5 on loopback, a user with a ticket, and the stand-in for HDFS, whose
# name nodes let the GSSAPI of the system check what libcurl shows them (SPNEGO). Part of the stores tier (run.sh).
# Exit code 77: a program is missing here, and which one.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
crank=$PWD/$build/crank
here=$PWD/tests/stores
PATH=$PATH:/usr/sbin
for tool in krb5kdc kdb5_util kadmin.local kinit; do
    command -v $tool >/dev/null || { echo "$tool is not installed (packages krb5-kdc, krb5-admin-server, krb5-user)"; exit 77; }
done
py=python3 # or that of the system, which has Debian's packages
$py -c 'import gssapi' 2>/dev/null || py=/usr/bin/python3
$py -c 'import gssapi' 2>/dev/null || { echo "python3-gssapi is not installed"; exit 77; }
[ -f "$build/http-curl.so" ] || { echo "crank was built without libcurl"; exit 77; }
tmp=$(mktemp -d)
kdc= server=
trap 'kill $kdc $server 2>/dev/null || true; rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
cd "$tmp"
passed=0
fail() {
    echo "FAIL: $*"
    tail -n 20 log kdc.log server.err 2>/dev/null || true
    exit 1
}
run() { "$@" >log 2>&1 || fail "$*"; }
ok() {
    passed=$((passed + 1))
    echo "PASS $1"
}
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
port=$(free_port)
cat >krb5.conf <<END
[libdefaults]
default_realm = CRANK.TEST
dns_lookup_kdc = false
dns_canonicalize_hostname = false
rdns = false
[realms]
CRANK.TEST = {
  kdc = 127.0.0.1:$port
}
END
cat >kdc.conf <<END
[kdcdefaults]
kdc_listen = 127.0.0.1:$port
kdc_tcp_listen = 127.0.0.1:$port
[realms]
CRANK.TEST = {
  database_name = $tmp/principal
  key_stash_file = $tmp/stash
  acl_file = $tmp/acl
  max_life = 1h
}
[logging]
kdc = FILE:$tmp/kdc.log
END
export KRB5_CONFIG="$tmp/krb5.conf" KRB5_KDC_PROFILE="$tmp/kdc.conf" KRB5CCNAME="FILE:$tmp/ticket" KRB5_KTNAME="FILE:$tmp/keytab" HOME="$tmp"
run kdb5_util create -s -r CRANK.TEST -P master
run kadmin.local -r CRANK.TEST -q "addprinc -pw secret alice"
run kadmin.local -r CRANK.TEST -q "addprinc -pw secret bob"
run kadmin.local -r CRANK.TEST -q "addprinc -randkey HTTP/localhost"
run kadmin.local -r CRANK.TEST -q "ktadd -k $tmp/keytab HTTP/localhost"
krb5kdc -n -r CRANK.TEST >log 2>&1 &
kdc=$!
$py "$here/hdfs_server.py" --spnego >ports 2>server.err &
server=$!
for _ in $(seq 300); do
    [ ! -s ports ] || break
    sleep 0.1
done
nn=$(sed -n 's/^nodes \([0-9]*\).*/\1/p' ports)
mkdir conf
cat >conf/core-site.xml <<'END'
<configuration><property><name>hadoop.security.authentication</name><value>kerberos</value></property></configuration>
END
export HADOOP_CONF_DIR="$tmp/conf"
unset HADOOP_TOKEN HADOOP_TOKEN_FILE_LOCATION HADOOP_USER_NAME
stat_of() { python3 -c 'import sys, json, urllib.request as u; print(json.load(u.urlopen("http://127.0.0.1:%s/__stats" % sys.argv[1]))[sys.argv[2]])' "$nn" "$1"; }
at=webhdfs://localhost:$nn

# ---- no ticket ----
if "$crank" ls "$at/" >log 2>&1; then fail "nothing was shown, and it was let in"; fi
grep -q kinit log || fail "what is said of a missing ticket"
ok "no ticket: refused, with the cure"

# ---- a ticket ----
tries=0
until echo secret | kinit alice >log 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 50 ] || fail "kinit"
    sleep 0.1
done
"$crank" synth census --rows 2k --eval_rows 200 --format parquet -o data --quiet >/dev/null
run "$crank" cp -r data/train "$at/data/train"
run "$crank" cp -r data/eval "$at/data/eval"
run "$crank" ls "$at/data"
grep -q train/ log || fail "a listing"
config="data/pipeline.yaml --set data_config.batch_size=100 --set train_config.num_epochs=1"
# shellcheck disable=SC2086
run "$crank" train $config --model_dir near --quiet
# shellcheck disable=SC2086
run "$crank" train $config --train_input_path "$at/data/train/*.parquet" --eval_input_path "$at/data/eval/*.parquet" --model_dir "$at/exp" --quiet
run "$crank" cp -r "$at/exp" back
for f in near/model.ckpt-*/*.safetensors; do
    cmp -s "$f" "back/${f#near/}" || fail "$f differs"
done
[ "$(stat_of tickets)" -gt 0 ] || fail "no ticket was shown"
[ "$(stat_of cookies)" -gt "$(stat_of tickets)" ] || fail "the cookie is not used: $(stat_of tickets) tickets, $(stat_of cookies) cookies"
ok "a ticket: listing, data, checkpoints, the same bits; $(stat_of tickets) tickets, $(stat_of cookies) cookies"

# ---- another user, a ticket that has ended ----
echo secret | kinit bob >log 2>&1 || fail "kinit bob"
if "$crank" ls "$at/data" >log 2>&1; then fail "another user was let in"; fi
grep -q "Permission denied: user=bob" log || fail "what is said of another user"
echo secret | kinit -l 2s alice >log 2>&1 || fail "kinit for two seconds"
sleep 4
if "$crank" ls "$at/data" >log 2>&1; then fail "a ticket that has ended was taken"; fi
grep -q kinit log || fail "what is said of a ticket that has ended"
ok "another user and a ticket that has ended: refused, with cause and cure"
echo "$passed passed, 0 failed, 0 skipped"
