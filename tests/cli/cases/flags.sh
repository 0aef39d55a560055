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
