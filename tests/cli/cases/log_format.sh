# the unified logs of other platforms: on stdout and in model_dir
export TZ=UTC
tiny_config
tiny_data 640 100
f='[0-9.e+-]+'
like() { # like FILE REGEX: a whole line of the file is that
    grep -q -x -E -e "$2" "$1" || { head -n 40 "$1" && fail "no line of $1 is $2"; }
}
log() { # log FORMAT MODEL_DIR FLAGS...: trains; all lines of stdout are $2.log
    format=$1 dir=$2
    shift 2
    run crank train tiny.yaml --model_dir "$dir" --log_format "$format" "$@"
    cp "$out" "$dir.log"
}
log tcap a --set train_config.log_step_count_steps=10
like a.log "TCAPPDLL 20[0-9-]+ [0-9:.]+ - PARAMETER version : crank [^ ]+  model_dir : a  .*  batch_size : 32  num_epochs : 2  .*"
like a.log "TCAPPDLL .* - Epoch: 0 Iteration: 0  rank : 0  train\.loss : $f  train\.ips : $f samples/s train\.binary_cross_entropy : $f  lr\.g0 : 0\.05  lr\.g1 : 0\.005 "
like a.log "TCAPPDLL .* - Epoch: 1 Iteration: 39  rank : 0  val\.loss : $f  val\.ips : $f samples/s val\.auc : $f  val\.binary_cross_entropy : $f "
like a.log "TCAPPDLL .* -  rank : 0  train\.ips : $f samples/s train\.steps : 40  train\.rows : 1280  train\.total_time : $f  val\.auc : $f  .*  best\.auc : $f "
at="\"timestamp\": \"$f\", \"datetime\": \"[0-9 :.-]+\", \"elapsedtime\": \"$f\""
meta="\"timestamp\": \"$f\", \"elapsedtime\": \"$f\", \"datetime\": \"[0-9 :.+-]+\", \"type\": \"METADATA\", \"metric\""
like a/tcap.json "TCAPPDLL \{$meta: \"train.loss\", \"metadata\": \{\"unit\": \"\", \"GOAL\": \"MINIMIZE\", \"STAGE\": \"TRAIN\"\}\}"
like a/tcap.json "TCAPPDLL \{$meta: \"train.ips\", \"metadata\": \{\"unit\": \"samples/s\", \"format\": \":.3f\", \"GOAL\": \"MAXIMIZE\", \"STAGE\": \"TRAIN\"\}\}"
like a/tcap.json "TCAPPDLL \{$meta: \"val.auc\", \"metadata\": \{\"unit\": \"\", \"GOAL\": \"MAXIMIZE\", \"STAGE\": \"VAL\"\}\}"
like a/tcap.json "TCAPPDLL \{$at, \"type\": \"LOG\", \"step\": \[0, 10\], \"data\": \"\{'rank': '0', 'train.loss': '$f', 'train.ips': '$f', .*'\}\"\}"
# all logs of a run have the same numbers
log dllogger b --set train_config.log_step_count_steps=10
like b/dllogger.json 'DLLL \{.*"type": "LOG", "step": "PARAMETER", "data": \{"version": "crank .*\}\}'
like b/dllogger.json "DLLL \{.* \"step\": \[1, 39\], \"data\": \{\"val.loss\": $f, \"val.ips\": $f, \"val.auc\": $f, \"val.binary_cross_entropy\": $f\}\}"
[ "$(grep -c '^DLL 20..-..-.. ..:..:.*' b.log)" = "$(wc -l <b.log)" ] || fail "other lines on stdout"
for log in a a.log a/tcap.json b.log b/dllogger.json; do
    run crank align b "$log" --tolerance 0
    grep -q "loss: 5 values of train.loss, steps 0 to 39" "$out" || fail "the losses of $log"
    grep -q "  val.auc .* passes" "$out" || fail "the metrics of $log"
done
# a run that goes on adds to the file
before=$(wc -l <a/tcap.json)
run crank train tiny.yaml --model_dir a --continue_train --log_format tcap --set train_config.num_epochs=3
[ "$(wc -l <a/tcap.json)" -gt "$before" ] || fail "the earlier lines are gone"
run crank train tiny.yaml --model_dir c --log_format nvidia
ends 2
has_err "crank train: --log_format is 'nvidia' and must be dllogger or tcap"
run crank train tiny.yaml --model_dir c --log_format tcap --log_json -
ends 2
has_err "crank train: --log_json - and --log_format both write to standard output; give --log_json a file"
