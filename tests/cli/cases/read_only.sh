# a folder that cannot be written: one line, no traces
tiny_config
tiny_data 320 64
run crank train tiny.yaml
ends 0
run crank export model/pipeline.config --export_dir e
ends 0
mkdir locked
chmod 555 locked
if [ "$(id -u)" -eq 0 ]; then
    # root may write anywhere: be nobody
    chmod 755 "$CASE_DIR" "$CASE_DIR/work" "$CASE_DIR/bin"
    setpriv --reuid=65534 --regid=65534 --clear-groups "$CRANK" version >/dev/null 2>&1 || skip "cannot run crank as another user here"
    as="setpriv --reuid=65534 --regid=65534 --clear-groups"
else
    as=
fi
run $as "$CRANK" train tiny.yaml --model_dir locked/m
ends 1
has_err "...locked/m...Permission denied..."
run $as "$CRANK" predict --scripted_model_path e --predict_input_path eval.csv --predict_output_path locked/p
ends 1
has_err "...locked/p...Permission denied..."
run $as "$CRANK" export model/pipeline.config --export_dir locked/e
ends 1
has_err "...locked/...Permission denied..."
[ -z "$(ls locked)" ] || fail "left behind: $(ls locked)"
# eval says so before the work
cp -r model given
run $as "$CRANK" eval given/pipeline.config --model_dir given
ends 1
has_err "given/eval_result.txt: cannot write: Permission denied; ...; or name another file with --eval_result_filename"
no_err "...Restoring..."
is_gone given/eval_result.txt
chmod 777 "$CASE_DIR/work"
run $as "$CRANK" eval given/pipeline.config --model_dir given --eval_result_filename "$PWD/elsewhere.txt"
ends 0
is_there elsewhere.txt
