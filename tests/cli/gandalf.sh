# gandalf.sh - data and a config in the form that Gandalf publishes, for the cases cruise_*
gandalf_rows() { # gandalf_rows N SEED: labels, four slots, a vector, source and reason; the labels follow two slots
    awk -v n="$1" -v s="$2" 'BEGIN { srand(s); for (i = 0; i < n; i++) {
        a = int(rand() * 100); b = rand(); c = rand() < 0.2 ? -1 : rand() * 10
        y = (a / 100 + b + rand() * 0.4 > 1.2); z = y || rand() < 0.3
        printf "%d|%d|%d|%g|%g|%g|%g|[%g,%g]|%s|%s\n", y, z, y, a, b, c, rand(), rand(), y ? 0.8 : 0.3,
            i % 5 ? "origin" : "high_precision", i % 10 == 3 ? "a tag_7" : "" } }'
}
gandalf_make() { # gandalf_make FOLDER N SEED
    mkdir -p "$1"
    gandalf_rows "$2" "$3" >rows.txt
    pq_make "$1/part-0.parquet" 'label:int32, censor_label:int32, reject_label:int32, slot_0:float, slot_1:float, slot_2:float, slot_3:float, asr:list<float>, source:string, verify_reason:string' 100 <rows.txt
}
gandalf_data() {
    gandalf_make data/train/20221230 160 1
    gandalf_make data/train/20221231 160 2
    gandalf_make data/val/20221215 120 4
    gandalf_make data/test/20221230 80 5
}
# all keys of the published configs; small widths
gandalf_config() {
    cat <<'CONFIG'
data:
  dataset:
    input_dir: data/train
    val_input_dir: data/val
    test_input_dir: data/test
    train_folder: 2022123[0-1]|20221231
    val_folder: 2022121[5-9]
    test_folder: 2022123[0-1]
  feature_provider:
    feature_num: 5
    tokenizer_path: ./models/weights/deberta_3l
    max_length: 512
    embedding_conf:
      author_embedding: 128
      universal_embedding: 256
    feature_norm_info:
      '0':
        - 0.0
        - 100.0
      '2':
        - 0.0
        - 10.0
    slot_mask:
      - 3
      - 4
    type: EcomLiveGandalfParquetAutoDisFeatureProvider
    use_high_precision: true
    filtered_tags: null
  data_factory:
    type: ParquetDataFactory
    train_max_iteration: -1
    val_max_iteration: -1
    test_max_iteration: -1
    batch_size: 32
    batch_size_val: -1
    num_parallel_reads: 4
    num_workers: 6
  type: EcomLiveGandalfParquetAutoDisCruiseDataModule
model:
  type: EcomLiveGandalfAutoDisNNAsrCruiseModel
  features:
    feature_num: 5
    bucket_dim: 8
    bucket_num: 4
    bucket_output_size: 1024
    slot_mask:
      - 3
      - 4
  asr_encoder:
    encoder_name: pretrain/deberta_asr_small
    emb_dropout_prob: 0.3
    emb_mode: pool
    embedding_dim: 2
    encoder_freeze_layer: null
    num_attention_heads: 3
    num_hidden_layers: 3
  embedding:
    author_embedding_dim: 128
  kwargs:
    enable_asr_embedding: 1
    enable_author_embedding: 0
    dropout: 0.3
    optimizer:
      optimizer_name: AdamW
      learning_rate: 0.001
    lr_scheduler:
      scheduler_name: LinearLrSchedulerWithWarmUp
      last_epoch: -1
      total_iters: 5
      start_factor: 1
      end_factor: 0.2
      warmup_steps: 5
trainer:
  default_root_dir: exps/version_1
  enable_versions: false
  logger: tracking
  max_epochs: 2
  find_unused_parameters: true
  limit_val_batches: -1
  limit_train_batches: -1
  val_check_interval: 5
  project_name: gandalf
  experiment_name: me/auto_dis_nn_asr_demo
CONFIG
}
