# numbers are read as in training, however a later data set holds them: as text or as numbers
config() { # config DATASET FILE
    cat <<END
train_input_path: $2
eval_input_path: $2
train_config: {num_epochs: 1, sparse_optimizer: {adagrad_optimizer: {lr: 0.1}, constant_learning_rate: {}}, dense_optimizer: {adam_optimizer: {lr: 0.01}, constant_learning_rate: {}}}
data_config: {batch_size: 64, dataset_type: $1, with_header: true, label_fields: [label], fg_mode: FG_NORMAL}
feature_configs:
- raw_feature: {feature_name: price, expression: "item:price", normalizer: "method=log10,threshold=1e-10,default=-10", default_value: "0"}
- raw_feature: {feature_name: pace, expression: "item:pace", normalizer: "method=zscore,mean=0.1,standard_deviation=0.3", boundaries: [-1.3, -0.3, 0.1, 0.7, 1.9], embedding_dim: 4, default_value: ""}
model_config:
  feature_groups: [{group_name: deep, feature_names: [price, pace], group_type: DEEP}]
  multi_tower: {towers: [{input: deep, mlp: {hidden_units: [8]}}], final: {hidden_units: [4]}}
  num_class: 1
  metrics: [{auc: {}}]
  losses: [{binary_cross_entropy: {}}]
END
}
awk 'BEGIN { srand(7); print "label,price,pace"; for (i = 0; i < 400; i++)
    printf "%d,%.7f,%s\n", rand() < 0.4, rand() * 30 + 0.001, i % 17 ? sprintf("%.6f", rand() * 2 - 0.6) : "" }' >rows.csv
pq_make -c text.parquet 'label:int32, price:string, pace:string' 100 <rows.csv
pq_make -c typed.parquet 'label:int32, price:double, pace:double' 100 <rows.csv
config CsvDataset rows.csv >csv.yaml
config ParquetDataset text.parquet >text.yaml
config ParquetDataset typed.parquet >typed.yaml
for trained in csv text typed; do
    run crank train $trained.yaml --model_dir m_$trained
    run crank export m_$trained/pipeline.config --export_dir e_$trained
    run crank predict --scripted_model_path e_$trained --predict_input_path rows.csv --predict_output_path p_$trained/csv --dataset_type CsvDataset --writer_type CsvWriter
    for data in text typed; do
        run crank predict --scripted_model_path e_$trained --predict_input_path $data.parquet --predict_output_path p_$trained/$data --dataset_type ParquetDataset --writer_type CsvWriter
        same p_$trained/csv p_$trained/$data
    done
    # from a checkpoint too
    run crank predict --pipeline_config_path m_$trained/pipeline.config --predict_input_path typed.parquet --predict_output_path p_$trained/ckpt --dataset_type ParquetDataset --writer_type CsvWriter
    same p_$trained/csv p_$trained/ckpt
done
# text and numbers do differ in training: what TorchEasyRec does with such columns
grep -q '"numbers": *"text"' e_text/features.json || fail "$(cat e_text/features.json)"
grep -q '"numbers": *"numbers"' e_csv/features.json || fail "$(cat e_csv/features.json)"
cmp -s p_text/csv/part-0.csv p_typed/csv/part-0.csv && fail "text and numbers were read alike"
# a training that goes on reads them as it began
run crank train csv.yaml --model_dir m_csv --continue_train --set train_config.num_epochs=2
run crank train typed.yaml --model_dir m_typed --continue_train --set train_config.num_epochs=2 --set data_config.dataset_type=ParquetDataset
settled
