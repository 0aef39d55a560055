# several tasks: train, eval, export and predict under the towers' names, CSV = Parquet, mistakes with their places
for f in csv parquet; do
    run crank synth taobao --rows 3000 --eval_rows 1000 --seed 3 --scale 0.01 --format $f -o $f
    ends 0
done
has_out "...of the second label: AUC ... where it can be 1, ... over all rows"
cat >mmoe.config <<'END'
model_config {
  feature_groups { group_name: "all" feature_names: ["user_id", "age_level", "user_cates", "cate_id", "price", "pid"] group_type: DEEP }
  mmoe {
    expert_mlp { hidden_units: [16, 8] }
    num_expert: 3
    task_towers {
      tower_name: "ctr" label_name: "clk" mlp { hidden_units: [8] }
      losses { binary_cross_entropy {} } metrics { auc {} } metrics { grouped_auc { grouping_key: "age_level" } } train_metrics { auc {} }
    }
    task_towers {
      tower_name: "cvr" label_name: "buy" mlp { hidden_units: [8] } weight: 2
      task_space_indicator_label: "clk" in_task_space_weight: 1 out_task_space_weight: 0
      losses { binary_cross_entropy {} } metrics { auc {} }
    }
  }
}
END
for f in csv parquet; do
    run crank config $f/pipeline.yaml --format pbtxt --set data_config.label_fields=[clk,buy] --set data_config.batch_size=500
    ends 0
    awk '/^model_config/ { skip = 1 } !skip { print } skip && /^}/ { skip = 0 }' "$out" >$f.config
    cat mmoe.config >>$f.config
    run crank check $f.config
    ends 0
    has_out "train ...rows sampled, mean label clk 0... buy 0..., 0 bad rows: ..."
    run crank train $f.config --model_dir $f.model
    ends 0
    has_out "  auc_ctr ..."
    has_out "  grouped_auc_ctr ..."
    has_out "  auc_cvr ..."
    has_out "  binary_cross_entropy_cvr ..."
    has_err "...binary_cross_entropy_ctr:... binary_cross_entropy_cvr:... total_loss: ... auc_ctr:..."
done
same csv.model/model.ckpt-5/model-00001-of-00001.safetensors parquet.model/model.ckpt-5/model-00001-of-00001.safetensors
run crank params csv.model/model.ckpt-5
ends 0
has_out "...model.mmoe.expert_mlps.2.mlp.1.perceptron.0.weight..."
has_out "...model.mmoe.gate_finals.1.weight..."
has_out "...model._task_tower.1.tower_mlp.mlp.0.perceptron.0.weight..."
has_out "...model._task_tower.0.linear.bias..."
run crank eval csv.model/pipeline.config
ends 0
run crank export csv.model/pipeline.config --export_dir export
ends 0
run crank predict --scripted_model_path export --predict_input_path 'csv/eval/*.csv' --predict_output_path p --reserved_columns clk,buy
ends 0
[ "$(head -n 1 p/part-0.csv)" = clk,buy,logits_ctr,logits_cvr,probs_ctr,probs_cvr ] || fail "header $(head -n 1 p/part-0.csv)"
run crank predict --pipeline_config_path csv.model/pipeline.config --predict_input_path 'csv/eval/*.csv' --predict_output_path q \
    --reserved_columns clk,buy --batch_size 7 --threads 3
ends 0
same p q
# a task's loss counts only its space, times its weight
said=$(sed -n 's/.*"binary_cross_entropy_cvr": *\([0-9.e-]*\).*/\1/p' csv.model/eval_result.txt | tail -n 1)
cat p/part-*.csv | awk -F, -v said="$said" '
    $1 == 1 { z = $4; y = $2; s += (z > 0 ? z : 0) - z * y + log(1 + exp(z > 0 ? -z : z)); n++ }
    END { d = 2 * s / n - said; if (d < 0) d = -d; if (said == "" || d > 1e-5) { print 2 * s / n, said; exit 1 } }' || fail "eval says $said"
# prediction needs no labels
cut -d, -f2-18 csv/eval/part-00000.csv >nolabel.csv
run crank predict --scripted_model_path export --predict_input_path nolabel.csv --predict_output_path r
ends 0
# a bad label of a task has its file and line
awk -F, -v OFS=, 'NR == 20 { $19 = 3 } { print }' csv/train/part-00000.csv >bad.csv
run crank train csv.config --model_dir m --train_input_path bad.csv
ends 3
has_err "bad.csv:20: column 'buy', value '3': binary_cross_entropy_cvr takes the labels 0 and 1..."
# the mean of each label; a task of any number beside one of yes or no
run crank check csv.config --json
ends 0
has_out '..."mean_labels": {"clk": 0..."buy": 0...'
sed 's/label_name: "buy"/label_name: "price"/; s/weight: 2//; s/label_fields: .*"buy".*/&\n  label_fields: "price"/' csv.config >value.config
run crank check value.config --set data_config.label_fields=[clk,buy,price] \
    --set 'model_config.mmoe.task_towers[1].losses=[{l2_loss: {}}]' --set 'model_config.mmoe.task_towers[1].metrics=[{mean_squared_error: {}}]'
ends 0
# mistakes
sed 's/label_name: "buy"/label_name: "bui"/' csv.config >wrong.config
run crank check wrong.config
ends 2
has_err "wrong.config:...: task 'cvr': 'bui' is not among label_fields; did you mean 'buy'?"
run crank check csv.config --set data_config.label_fields=clk
ends 2
has_err "csv.config:...: task 'cvr': 'buy' is not among label_fields; add it there"
run crank check csv.config --set 'model_config.losses=[{binary_cross_entropy: {}}]'
ends 0
has_err "--set:...: warning: losses of model_config has no effect: mmoe has its own in each task tower; remove it"
