# PaddleRec's online trainer: slot_dnn with table_parameters and days becomes a growing table with a CTR accessor, trained day by day
signs() { # signs FILE ROWS SEED
    awk -v n="$2" -v seed="$3" '
    function r(m) { s = (s * 1103 + 12345) % 1048573; return s % m }
    BEGIN {
        s = seed
        for (i = 0; i < n; i++) {
            a = r(20); b = r(9)
            printf "%d:1 1844674407370955%04d:2 77%03d:3", (a + b + r(5)) % 3 == 0, a, b
            if (r(3)) printf " 900%02d:4", r(12)
            printf "\n"
        }
    }' >"$1"
}
mkdir -p models/slot_dnn
for day in 20190720 20190721; do
    for time in 0000 1200; do
        mkdir -p models/slot_dnn/data/$day/$time
        signs models/slot_dnn/data/$day/$time/part-0 90 $((day % 100 * 100 + time))
    done
done
cat >models/slot_dnn/config_online.yaml <<'END'
runner:
  train_data_dir: "./data"
  use_gpu: False
  train_batch_size: 16
  print_interval: 5
  model_save_path: "output_model"
  checkpoint_per_pass: 1
  save_delta_frequency: 1
  train_thread_num: 3
  shuffle_thread_num: 12
  reader_type: "InMemoryDataset"
  pipe_command: "python3.7 queuedataset_reader.py"
  dataset_debug: False
  data_sleep_second: 1
  prefetch: True
  split_interval: 720
  split_per_pass: 1
  start_day: "20190720"
  end_day: "20190721"
  infer_batch_size: 16
  infer_thread_num: 1
  infer_data_dir: "data/"
  train_dump_fields_dir: "./train_dump_data"
  infer_dump_fields_dir: "./infer_dump_data"
hyper_parameters:
  optimizer:
    class: Adam
    learning_rate: 5e-3
    strategy: async
  dict_dim: 1000000
  emb_dim: 9
  sparse_feature_dim: 9
  slot_num: 3
  layer_sizes: [16, 8]
  distributed_embedding: 0
table_parameters:
  embedding:
    table_class: "MemorySparseTable"
    shard_num: 4
    accessor:
      accessor_class: "SparseAccessor"
      fea_dim: 11
      embedx_dim: 8
      embedx_threshold: 2
      embed_sgd_param:
        name: "SparseAdaGradSGDRule"
        adagrad:
          learning_rate: 0.05
          initial_g2sum: 3.0
          initial_range: 0.0001
          weight_bounds: [-10.0, 10.0]
      embedx_sgd_param:
        name: "SparseSharedAdamSGDRule"
        adam:
          learning_rate: 0.01
          beta1_decay_rate: 0.9
          beta2_decay_rate: 0.999
          ada_epsilon: 1e-8
          initial_range: 0.02
      ctr_accessor_param:
        nonclk_coeff: 0.1
        click_coeff: 1.0
        base_threshold: 1.5
        delta_threshold: 0.25
        delta_keep_days: 16.0
        show_click_decay_rate: 0.98
        delete_threshold: 0.8
        delete_after_unseen_days: 30.0
        ssd_unseenday_threshold: 1
END
run crank config models/slot_dnn/config_online.yaml
ends 0
has_out "...ctr_accessor:..."
has_out "...embedx_threshold: 2..."
has_out "...start_day: 20190720..."
run crank train models/slot_dnn/config_online.yaml
ends 0
has_err "...Day 20190720 pass 1 before training: auc:..."
for f in 20190720/1 20190720/2 20190720/delta-1 20190721/base 20190721/0 20190722/base; do
    is_there output_model/$f/000/part-000
    is_there output_model/$f/001/part-000-00003
done
# slots are those of the data, and every row of the first day has one of the 41 signs
cat output_model/20190720/2/001/part-* | awk '{ n[$2]++ } END { print n[2], n[3], n[4] }' >slots.txt
echo "20 9 12" >want.txt
same want.txt slots.txt
grep -q '"input": "output_model/20190721/base/000"' output_model/base_donefile.txt || fail "$(cat output_model/base_donefile.txt)"
# CtrCommonAccessor reads show and click too
sed 's/"SparseAccessor"/"CtrCommonAccessor"/; s/"output_model"/"common"/' models/slot_dnn/config_online.yaml >models/slot_dnn/common.yaml
run crank train models/slot_dnn/common.yaml
ends 0
run crank params common
has_out "...[16, 33] ..."
# mistakes
bad() { # bad SED TEXT
    sed "$1" models/slot_dnn/config_online.yaml >models/slot_dnn/bad.yaml
    run crank check models/slot_dnn/bad.yaml
    ends 2
    has_err "$2"
}
bad 's/"SparseSharedAdamSGDRule"/"SparseAdamW"/' "models/slot_dnn/bad.yaml:...: embedx_sgd_param.name is 'SparseAdamW'; crank knows ..."
bad 's/"SparseAccessor"/"CtrDymfAccessor"/' "models/slot_dnn/bad.yaml:...: CtrDymfAccessor has rows of several widths in one table..."
bad 's/fea_dim: 11/fea_dim: 12/' "models/slot_dnn/bad.yaml:...: fea_dim is 12, and with show, click, embed_w and embedx_dim 8 it is 11"
bad 's/end_day: "20190721"/end_day: "20190732"/' "models/slot_dnn/bad.yaml:...: end_day is no day..."
bad 's/shard_num: 4/shard_number: 4/' "models/slot_dnn/bad.yaml:...: unknown key 'shard_number'; did you mean 'shard_num'?"
