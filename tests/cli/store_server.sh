# store_server.sh - the stand-in of an object store, for cases that set kind (s3 or oss) and define stand_in PORT, which points
# crank to it.
command -v python3 >/dev/null || skip "python3 is not installed (the stand-in of the store needs it)"
[ -f "$(dirname "$CRANK")/http-curl.so" ] || skip "crank was built without libcurl"
server=
server() { # server FLAGS...: starts the stand-in; $port, $server
    : >"$CASE_DIR/port"
    python3 "$CLI/../stores/object_server.py" --kind "$kind" "$@" >"$CASE_DIR/port" 2>"$CASE_DIR/server.err" &
    server=$!
    for _ in $(seq 300); do
        [ ! -s "$CASE_DIR/port" ] || break
        sleep 0.1
    done
    port=$(sed 's/port //' "$CASE_DIR/port")
    [ -n "$port" ] || fail "the stand-in does not start: $(cat "$CASE_DIR/server.err")"
    stand_in "$port"
}
over() { # over: ends the stand-in
    kill "$server"
    wait "$server" 2>/dev/null || true
}
trap 'kill "$server" 2>/dev/null || true' EXIT
fault() { # fault JSON
    python3 -c 'import sys, urllib.parse, urllib.request as u; u.urlopen("http://127.0.0.1:%s/__control?json=%s" % (sys.argv[1], urllib.parse.quote(sys.argv[2]))).read()' "$port" "$1"
}
stat_of() { # stat_of NAME: a counter of the stand-in
    python3 -c 'import sys, json, urllib.request as u; print(json.load(u.urlopen("http://127.0.0.1:%s/__stats" % sys.argv[1]))[sys.argv[2]])' "$port" "$1"
}
