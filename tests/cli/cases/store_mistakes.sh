# what new users of a store get wrong, and how a copy ends that is broken off: one line with store, object, cause and cure; no
# credential in it; nothing half-written
kind=s3
stand_in() {
    export AWS_ENDPOINT_URL="http://127.0.0.1:$1" AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=SECRETEXAMPLE AWS_EC2_METADATA_DISABLED=true
}
. "$CLI/store_server.sh"
at=s3://demo-bucket
mkdir objects
server --dir objects
told() { # told PATTERN: the last run failed with this one line
    ends 1 2
    has_err "$1"
    [ "$(wc -l <"$err")" -eq 1 ] || fail "more than one line"
    if grep -q 'PASSWORD\|SECRETEXAMPLE\|SECRETTOKEN' "$out" "$err"; then fail "a credential is shown"; fi
}
# a slash at the end of a folder: no key has two in a row, and the run goes on from there
tiny_config
tiny_data 960 300
run crank train tiny.yaml --model_dir local
run crank train tiny.yaml --model_dir "$at/exp/one/" --set train_config.num_epochs=1
ends 0
sed "s,^model_dir:.*,model_dir: \"$at/exp/one//\"," tiny.yaml >slash.yaml
grep -q "exp/one//" slash.yaml || fail "no model_dir in tiny.yaml"
run crank train slash.yaml --continue_train
ends 0
run crank export tiny.yaml --model_dir "$at/exp/one" --export_dir "$at/exports/"
ends 0
run crank predict --scripted_model_path "$at/exports/" --predict_input_path eval.csv --predict_output_path "$at/scores/" --reserved_columns user
ends 0
if ls objects | grep %2F%2F; then fail "keys with two slashes in a row"; fi
run crank cp -r "$at/exp/one" back
same_weights local back
# a copy that is ended by Ctrl-C takes back what it has sent, and leaves no file behind
head -c 20000000 /dev/urandom >big.bin
CRANK_TEST_KILL=sent:2:INT run crank cp big.bin "$at/stopped.bin"
told "$at/stopped.bin: stopped by a signal before the file was whole; nothing was written here"
run crank ls "$at/stopped.bin"
told "...404..."
[ "$(stat_of uploads)" -eq 0 ] || fail "parts of the upload are left"
run crank cp big.bin "$at/big.bin"
mkdir down
fault '{"rate": 4000000}'
run timeout -s INT 1 crank cp "$at/big.bin" down/big.bin
ends bad
fault '{"rate": 0}'
[ -z "$(ls -A down)" ] || fail "left behind: $(ls -A down)"
mkdir tree
cp tiny.yaml tree/a
cp tiny.yaml tree/b
CRANK_TEST_KILL=sent:1:INT run crank cp -r tree "$at/tree"
told "...stopped by a signal..."
# addresses
AWS_ENDPOINT_URL=http://me:PASSWORD@127.0.0.1:$port run crank ls "$at"
told "...the address of the store in the environment has a name or a password; write http://host:port or https://host into AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL"
AWS_ENDPOINT_URL=http://127.0.0.1:$port/gate run crank ls "$at"
told "...the address of the store in the environment has a path behind its host; ..."
OSS_ACCESS_KEY_ID=x OSS_ACCESS_KEY_SECRET=SECRETEXAMPLE OSS_REGION=x OSS_ENDPOINT=https:// run crank ls oss://demo-bucket
told "...the address of the store in the environment has no host; write http://host:port or https://host into OSS_ENDPOINT"
http_proxy=strange://me:PASSWORD@127.0.0.1:$port run crank ls "$at"
told "...the address of the proxy in the environment is not understood; check that the store can be reached by the proxy of http_proxy, or set no_proxy"
http_proxy=http://me:PASSWORD@127.0.0.1:1 run crank ls "$at"
told "...(tried 8 times); check that the store can be reached by the proxy of http_proxy, or set no_proxy"
run crank cp big.bin s4://demo-bucket/big.bin
told "crank cp: 's4://demo-bucket/big.bin' begins with s4://, ..."
AWS_PROFILE=mine HOME=$CASE_DIR AWS_ACCESS_KEY_ID='' run crank ls "$at"
told "...no keys were found (environment, role of a pod, profile 'mine' of ~/.aws/credentials, container, machine); set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
# what a store, and what is between, answers
refused() { # refused STATUS CODE PATTERN: to a listing, and to a file, whose answer to HEAD has no code
    fault "{\"answer\": [$1, \"$2\"]}"
    AWS_SESSION_TOKEN=SECRETTOKEN run crank ls "$at"
    told "$at: cannot list: demo-bucket answers $1${2:+ $2}$3"
    AWS_SESSION_TOKEN=SECRETTOKEN run crank cp "$at/big.bin" down/big.bin
    told "$at/big.bin: cannot copy: demo-bucket answers $1${2:+ $2}$3"
    fault '{"answer": null}'
}
refused 400 ExpiredToken "...; the keys have ended: get new ones, with a new session token"
refused 400 InvalidToken "...; check the session token: it must be of the same keys"
refused 403 InvalidObjectState "...; the object is archived: restore it first"
refused 302 "" "...; it sends to another address: check AWS_ENDPOINT_URL and the proxies"
refused 407 "" "...; the proxy wants a name and a password: http_proxy=http://name:password@host"
[ -z "$(ls -A down)" ] || fail "left behind: $(ls -A down)"
over
# something answers that speaks no HTTP, or not as a store does
answers() { # answers BYTES: a server that says them to every caller
    rm "$CASE_DIR/port"
    python3 -c '
import socket, sys
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(9)
print("port", s.getsockname()[1], flush=True)
while True:
    c, _ = s.accept()
    c.recv(65536)
    c.sendall(eval(sys.argv[1]))
    c.close()' "$1" >"$CASE_DIR/port" 2>/dev/null &
    server=$!
    while [ ! -s "$CASE_DIR/port" ]; do sleep 0.1; done
}
answers 'b"220 mail ready\r\n"'
AWS_ENDPOINT_URL=http://127.0.0.1:$(sed 's/port //' "$CASE_DIR/port") run crank ls "$at"
told "...(tried 8 times); check the address of the store and the proxies, and run again"
over
answers 'b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 200000 + b"\r\n\r\n"'
AWS_ENDPOINT_URL=http://127.0.0.1:$(sed 's/port //' "$CASE_DIR/port") run crank ls "$at"
told "...the head of the answer has a line of more than 100 KB..."
over
