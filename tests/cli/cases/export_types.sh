# table rows in FP32, FP16, BF16, INT8
tiny_config
tiny_data 640 100
run crank train tiny.yaml --set model_config.wide_and_deep.wide_embedding_dim=1
ends 0
export_as() { # export_as TYPE: folder e-TYPE, scores in p-TYPE
    run crank export model/pipeline.config --export_dir "e-$1" --embedding_dtype "$1"
    ends 0
    run crank predict --scripted_model_path "e-$1" --predict_input_path eval.csv --predict_output_path "p-$1"
    ends 0
}
for t in FP32 FP16 BF16 INT8; do export_as $t; done
run crank export model/pipeline.config --export_dir e
ends 0
same e/index.json e-FP32/index.json
run crank predict --pipeline_config_path model/pipeline.config --predict_input_path eval.csv --predict_output_path p
ends 0
same p p-FP32
# how far the scores may move: INT8 half a step of each row, which is little here
for t in FP16:0.002 BF16:0.01 INT8:0.01; do
    differ p "p-${t%:*}"
    paste -d, p/part-0.csv "p-${t%:*}/part-0.csv" | awk -F, -v max="${t#*:}" 'NR > 1 {
        d = $2 - $4; if (d < 0) d = -d
        if (d > max || $2 == "" || $4 == "") { print "row " NR ": " $0; exit 1 } }' || fail "$t moves scores too far"
done
run crank params e-INT8
has_out "...item_emb.weight ... [30, 4] ... INT8 ...360 B..."
has_out "...item_emb_wide.weight ... [30, 1] ... F32 ...120 B..."
run crank params e-FP16
has_out "...item_emb.weight ... [30, 4] ... F16 ...240 B..."
run crank diff model e-INT8
ends 1
has_out "...item_emb.weight ... of 120 ...F32, INT8"
grep -q '"embedding_dtype": *"INT8"' e-INT8/schema.json || fail "schema.json does not say INT8"
# TorchEasyRec's variable, under the flag
run env QUANT_EMB=INT8 crank export model/pipeline.config --export_dir env1 --additional_export_config '{"a": 1}'
ends 0
same e-INT8/index.json env1/index.json
[ "$(cat env1/model_acc.json)" = '{"QUANT_EMB": "INT8", "a": 1}' ] || fail "model_acc.json: $(cat env1/model_acc.json)"
run env QUANT_EMB=1 crank export model/pipeline.config --export_dir env2 --embedding_dtype FP16
ends 0
same e-FP16/index.json env2/index.json
run env QUANT_EMB=0 crank export model/pipeline.config --export_dir env3
ends 0
same e/index.json env3/index.json
run env QUANT_EMB=INT4 crank export model/pipeline.config --export_dir no
ends 2
has_err "...QUANT_EMB is INT4, which is not in this version; use INT8"
run crank export model/pipeline.config --export_dir no --embedding_dtype INT16
ends 2
has_err "...embedding_dtype 'INT16' is not known; use FP32, FP16, BF16 or INT8"
is_gone no
