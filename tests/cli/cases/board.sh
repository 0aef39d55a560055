# crank board, crank report, crank train --board and --mlflow: what they refuse, what they write
tiny_config
tiny_data 640 64
[ -f "$(dirname "$CRANK")/httpd.so" ] || skip "crank was built without libmicrohttpd"
run crank board nowhere
ends 1
has_err "...nowhere is no folder; name a model_dir, or a folder with model_dirs in it"
run crank board . --host somewhere.example
ends 2
has_err "...'somewhere.example' is no address; give one of this machine in digits, as 0.0.0.0"
run env CRANK_BOARD_TOKEN=short crank board .
ends 2
has_err "...CRANK_BOARD_TOKEN must have 16 to ... letters, digits, - and _"
# the page of a run changes nothing in it; its port is free again behind it
run crank train tiny.yaml --model_dir plain
run crank train tiny.yaml --model_dir shown --board --mlflow store --set train_config.project_name=shop
has_err "...The page of this run is at http://127.0.0.1:..."
same_weights plain shown
grep -q '"project": "shop"' shown/train_log.jsonl || fail "the log has no project"
grep -q '"progress": \(1\|0.99\)' shown/train_log.jsonl || fail "the log does not say that the training is done"
[ "$(cat store/*/*/meta.yaml | grep -c '^status: 3$')" = 1 ] || fail "MLflow's run is not finished"
[ "$(wc -l <"$(echo store/*/*/metrics/val.auc)")" -ge 1 ] || fail "MLflow has no AUC"
[ "$(cat store/*/*/params/train_config.project_name)" = shop ] || fail "MLflow has no parameters"
is_there "$(echo store/*/*/artifacts/config.yaml)"
run crank train tiny.yaml --model_dir refused --mlflow tiny.yaml
ends 1
has_err "...tiny.yaml..."
is_gone refused
# a page that cannot be served does not end the run
run crank train tiny.yaml --model_dir alone --board 1x
ends 2
# an address that other machines can open
for host in 0.0.0.0 ::; do
    run timeout -s INT 2 crank board plain --host $host
    ends 0 1 124 # 1: this machine has no IPv6
    [ $code -eq 1 ] || has_out "from other machines at http://$(hostname):...?token=..."
done
run timeout -s INT 2 crank board plain
ends 0 124
has_out "1 run at http://127.0.0.1:.../ (Ctrl-C ends)"
# runs that are over
run crank report plain
ends 2
has_err "...nothing to write; give -o FILE or --mlflow DIR"
mkdir empty
run crank report empty -o x.html
ends 1
has_err "...there is no run in empty: a run has a train_log.jsonl; check the path"
run crank report plain --mlflow store
has_out "plain is run ... in store"
run crank report plain shown -o both.html
if [ "$code" = 0 ]; then
    has_out "both.html has 2 runs"
    grep -q 'id="frozen"' both.html || fail "the report has no data"
    if grep -q -E 'src="?https?:|href="?https?:' both.html; then fail "the report loads something"; fi
else
    ends 1
    has_err "...this crank was built without the page of the board..."
fi
