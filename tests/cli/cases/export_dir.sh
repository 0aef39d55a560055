# an export folder is whole or absent, and never overwritten
tiny_config
tiny_data 640 64
run crank train tiny.yaml
ends 0
mkdir there
run crank export model/pipeline.config --export_dir there
ends 2
has_err "...there..."
[ -z "$(ls there)" ] || fail "wrote into it"
printf 'hello\n' >note.txt
run crank export model/pipeline.config --export_dir e --asset_files note.txt
ends 0
same note.txt e/note.txt
run crank export model/pipeline.config --export_dir f --asset_files missing.txt
ends 1
has_err "...missing.txt..."
is_gone f
# the export stands alone
mkdir away
mv e away/e
mv model elsewhere
run crank predict --scripted_model_path away/e --predict_input_path eval.csv --predict_output_path p
ends 0
run crank predict --scripted_model_path nowhere --predict_input_path eval.csv --predict_output_path q
ends 1
has_err "...nowhere..."
is_gone q
run crank check away/e
ends 0
# the additional config must be an object
run crank export model/pipeline.config --export_dir odd --additional_export_config '{'
ends 2
has_err "crank export: --additional_export_config: not valid JSON..."
is_gone odd
