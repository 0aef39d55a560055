# evaluation in training, eval, predict from checkpoint and export: the same score for the same row
tiny_config
tiny_data 640 200
run crank train tiny.yaml
ends 0
run crank export model/pipeline.config --export_dir e
ends 0
run crank predict --scripted_model_path e --predict_input_path eval.csv --predict_output_path p1 --reserved_columns label
ends 0
run crank predict --pipeline_config_path model/pipeline.config --predict_input_path eval.csv --predict_output_path p2 \
    --reserved_columns label
ends 0
same p1 p2
# any batch size, any number of threads
run crank predict --scripted_model_path e --predict_input_path eval.csv --predict_output_path p3 --reserved_columns label \
    --batch_size 7 --threads 3
ends 0
same p1 p3
# order and label stay
sed 1d eval.csv | cut -d, -f1 >want
sed 1d p1/part-0.csv | cut -d, -f1 >got
same want got
# the logloss of the predictions is what eval says
run crank eval model/pipeline.config
ends 0
said=$(sed -n 's/.*"binary_cross_entropy": *\([0-9.e-]*\).*/\1/p' model/eval_result.txt | tail -n 1)
head -n 1 p1/part-0.csv | grep -q '^label,logits,probs$' || fail "columns: $(head -n 1 p1/part-0.csv)"
sed 1d p1/part-0.csv | awk -F, -v said="$said" '
    { z = $2; y = $1; s += (z > 0 ? z : 0) - z * y + log(1 + exp(z > 0 ? -z : z)); n++ }
    END { d = s / n - said; if (d < 0) d = -d; if (said == "" || d > 1e-5) { print s / n, said; exit 1 } }' || fail "eval says $said"
# chosen columns
run crank predict --scripted_model_path e --predict_input_path eval.csv --predict_output_path p4 --output_columns probs
ends 0
[ "$(head -n 1 p4/part-0.csv)" = probs ] || fail "header $(head -n 1 p4/part-0.csv)"
run crank predict --scripted_model_path e --predict_input_path eval.csv --predict_output_path p5 --output_columns prbs
ends 2
has_err "...prbs..."
# all columns of the input
run crank predict --scripted_model_path e --predict_input_path eval.csv --predict_output_path p6 --reserved_columns ALL_COLUMNS
ends 0
[ "$(head -n 1 p6/part-0.csv)" = label,user,item,tags,price,logits,probs ] || fail "header $(head -n 1 p6/part-0.csv)"
# prediction needs no labels
cut -d, -f2- eval.csv >nolabel.csv
run crank predict --scripted_model_path e --predict_input_path nolabel.csv --predict_output_path p7
ends 0
cut -d, -f2,3 p1/part-0.csv >a
same a p7/part-0.csv
# a name like none of them: all are told; a run that failed leaves no folder
run crank predict --scripted_model_path e --predict_input_path eval.csv --predict_output_path p9 --output_columns everything
ends 2
has_err "crank predict: --output_columns: this model has no output 'everything'; it has logits, probs"
sed '3s/^[^,]*,/x,/; 3s/,[^,]*$/,x/' eval.csv >broken.csv
printf 'one field\n' >>broken.csv
run crank predict --scripted_model_path e --predict_input_path broken.csv --predict_output_path p9
ends 3
is_gone p9
