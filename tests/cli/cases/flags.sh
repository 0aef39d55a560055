# wrong command lines: exit code 2 and the nearest name
tiny_config
tiny_data
run crank
ends 2
run crank trian tiny.yaml
ends 2
has_err "...'trian'...did you mean 'train'..."
run crank train tiny.yaml --continue_trian
ends 2
has_err "...--continue_trian...did you mean ...--continue_train..."
run crank train tiny.yaml --model_dir
ends 2
has_err "...--model_dir..."
run crank train tiny.yaml --threads zero
ends 2
has_err "...--threads..."
run crank train
ends 2
run crank train tiny.yaml other.yaml
ends 2
run crank export tiny.yaml
ends 2
has_err "...--export_dir..."
run crank predict --scripted_model_path x
ends 2
run crank synth nothing --rows 10 -o d
ends 2
has_err "...criteo..."
is_gone model
run crank version
ends 0
grep -q "[0-9]" "$out" || fail "no version"
run crank help
ends 0
for verb in train eval export predict params check config synth; do
    has_out "...$verb..."
done
# all flags that are missing are told at once
run crank predict
ends 2
has_err "crank predict: --predict_input_path, --predict_output_path are missing; add --predict_input_path PATHS --predict_output_path PATH"
run crank export
ends 2
has_err "crank export: no CONFIG is given; write 'crank export CONFIG --export_dir DIR' or --pipeline_config_path FILE --export_dir DIR"
# JSON that the shell has split, and JSON out of a web page
run crank check tiny.yaml --edit_config_json {\"train_config.num_epochs\": 2}
ends 2
has_err "crank check: unexpected argument '2}' after 'tiny.yaml'; put JSON in single quotes, ..."
run crank check tiny.yaml --edit_config_json '\{"train_config.num_epochs": 2\}'
ends 2
has_err "crank check: --edit_config_json is ..., which begins with a backslash; remove the backslashes"
# a folder, a file of weights or a file of results in the wrong place
mkdir folder
for command in check fg train; do
    run crank $command folder
    ends 1
    has_err "folder: it is a directory without a pipeline.config; name a config, or a folder that crank train or crank export wrote"
done
run crank train tiny.yaml -q
ends 0
run crank check "$(ls "$(newest model)"/model-*.safetensors)"
ends 2
has_err "...safetensors: this is a safetensors file, not a config; name the folder that it lies in"
run crank export model/pipeline.config --export_dir exported
ends 0
run crank predict --scripted_model_path exported --predict_input_path eval.csv --predict_output_path tiny.yaml
ends 2
has_err "crank predict: --predict_output_path 'tiny.yaml' is a file that is there already; name a folder, or a file that ends in .csv, .parquet or .arrow"
