# a table with another number of rows: the rule is said, and followed
tiny_config
tiny_data 640 100
run crank train tiny.yaml --model_dir first
ends 0
emb=model.embedding_group.emb_impls.__BASE__.ebc.embedding_bags
more='--set feature_configs[1].id_feature.num_buckets=45'
# fine tuning
# shellcheck disable=SC2086
run crank train tiny.yaml --model_dir grown --fine_tune_checkpoint first $more --set train_config.num_steps=1 --set train_config.num_epochs=0
ends 0
has_err "...table '$emb.item_emb.weight' is (30, 4) in the checkpoint, (45, 4) in the model: its rows are taken, the new ones begin from the seed"
has_err "...table '$emb.item_emb_wide.weight' is (30, 4) in the checkpoint, (45, 4) in the model: ..."
no_err "...user_emb..."
no_err "...state.$emb..."
run crank params grown --json
has_out '...item_emb.weight", "shape": [45, 4]...'
run crank train tiny.yaml --model_dir shrunk --fine_tune_checkpoint first --set 'feature_configs[1].id_feature.num_buckets=20'
ends 0
has_err "...item_emb.weight' is (30, 4) in the checkpoint, (20, 4) in the model: the first rows are taken, the others are lost"
# going on
cp -r first on
# shellcheck disable=SC2086
run crank train tiny.yaml --model_dir on --continue_train $more --set train_config.num_epochs=3
ends 0
has_err "...item_emb.weight' is (30, 4) in the checkpoint, (45, 4) in the model: its rows are taken..."
# shellcheck disable=SC2086
run crank eval tiny.yaml --model_dir on $more
ends 0
# a score needs the model it was trained with
# shellcheck disable=SC2086
run crank eval tiny.yaml --model_dir first $more
ends 1
has_err "...item_emb.weight' is (30, 4) in the checkpoint, (45, 4) in the model; was the config changed?"
# another width is no matter of rows
run crank train tiny.yaml --model_dir wide --fine_tune_checkpoint first --set 'feature_configs[1].id_feature.embedding_dim=8'
ends 1
has_err "...item_emb.weight' is (30, 4) in the checkpoint, (30, 8) in the model; ..."
# hashed: grown to a multiple every value finds its vector again, so scores stay
sed 's/expression: "user:user", num_buckets: 50/expression: "user:user", hash_bucket_size: 40/; s/FG_NONE/FG_NORMAL/; s/fg_encoded_multival_sep.*/shuffle: false/' tiny.yaml | sed 's/expression: "item:tags",/expression: "item:tags", separator: "|",/' >hashed.yaml
run crank train hashed.yaml --model_dir h
ends 0
run crank predict --pipeline_config_path h/pipeline.config --predict_input_path eval.csv --predict_output_path p
ends 0
run crank train hashed.yaml --model_dir h2 --fine_tune_checkpoint h --set 'feature_configs[0].id_feature.hash_bucket_size=120' \
    --set train_config.num_steps=1 --set train_config.num_epochs=0 --set 'train_config.sparse_optimizer.adagrad_optimizer.lr=0' --set 'train_config.dense_optimizer.adam_optimizer.lr=0'
ends 0
has_err "...user_emb.weight' is (40, 4) in the checkpoint, (120, 4) in the model: row r takes row r mod the old number, where the hash led before"
run crank predict --pipeline_config_path h2/pipeline.config --predict_input_path eval.csv --predict_output_path p2
ends 0
same p p2
run crank train hashed.yaml --model_dir h3 --fine_tune_checkpoint h --set 'feature_configs[0].id_feature.hash_bucket_size=50'
ends 0
has_err "...(40, 4) in the checkpoint, (50, 4) in the model: the hash leads to other rows now, so the table begins anew; grow it to a multiple to keep it"
