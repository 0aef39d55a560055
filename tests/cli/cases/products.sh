# the keys that say how matrix products take their inputs: wrong values, which of them wins, and what an export does
tiny_config
tiny_data 640 100
# place, cause, cure
edit 12 '  fp32_matmul: bf16x3'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:12:16: unknown fp32_matmul 'bf16x3'; use BF16x3, BF16x6 or FP32"
edit 12 '  fp32_matmul: BF16x6'
run crank check tiny.yaml --set train_config.mixed_precision=FP16
ends 2
has_err "tiny.yaml:12:16: fp32_matmul is for products of FP32 inputs, and mixed_precision is FP16; remove one of them"
run crank check tiny.yaml --set export_config.fp32_matmul=TF32
ends 2
has_err "...unknown fp32_matmul 'TF32'; use BF16x3, BF16x6 or FP32"
tiny_config
run crank help cuda_matmul_allow_tf32
ends 0
has_out "...BF16x3..."
# the config that training keeps names the choice, and evaluation and prediction from the checkpoint have it too
train() { # train NAME FLAGS
    name=$1
    shift
    run crank train tiny.yaml --model_dir "$name" "$@"
    ends 0
}
train fp32
train bf16 --autocast True
train x3 --set train_config.cuda_matmul_allow_tf32=true
train x6 --set train_config.fp32_matmul=BF16x6
grep -q 'cuda_matmul_allow_tf32: true' x3/pipeline.config || fail "$(cat x3/pipeline.config)"
for pair in "fp32 bf16" "fp32 x3" "fp32 x6" "x3 x6"; do
    run crank diff "${pair% *}" "${pair#* }"
    ends 1
    has_out "parameters: ... of ... differ"
done
# of several keys: mixed_precision wins, then fp32_matmul
train both --autocast True --set train_config.cuda_matmul_allow_tf32=true
same_weights bf16 both
train named --set train_config.fp32_matmul=FP32 --set train_config.cuda_matmul_allow_tf32=true
same_weights fp32 named
# an export has keys of its own: without them FP32, however the model was trained
scores() { # scores NAME HOW...: predictions in p-NAME
    to=$1
    shift
    run crank predict --predict_input_path eval.csv --predict_output_path "p-$to" "$@"
    ends 0
}
export_to() { # export_to NAME FLAGS
    to=$1
    shift
    run crank export bf16/pipeline.config --export_dir "e-$to" "$@"
    ends 0
    scores "e-$to" --scripted_model_path "e-$to"
}
ckpt='--pipeline_config_path bf16/pipeline.config'
# shellcheck disable=SC2086
scores bf16 $ckpt
# shellcheck disable=SC2086
scores fp32 $ckpt --set train_config.mixed_precision=
# shellcheck disable=SC2086
scores x3 $ckpt --set train_config.mixed_precision= --set train_config.fp32_matmul=BF16x3
differ p-bf16 p-fp32
export_to fp32
same p-fp32 p-e-fp32
export_to bf16 --set export_config.mixed_precision=BF16
same p-bf16 p-e-bf16
export_to x3 --set export_config.cuda_matmul_allow_tf32=true
same p-x3 p-e-x3
