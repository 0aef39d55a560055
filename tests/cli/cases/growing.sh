# tables that grow: no size is given, and rows are made when ids come. The same bytes as a table of a fixed size, for any
# number of threads and ranks and after a kill; admission, eviction and expiry; checkpoints hold ids; evaluation changes nothing.
tiny_data 960 300
tiny_config
init='init_fn: "nn.init.uniform_,a=-0.05,b=0.05"'
sed 's/^  wide_and_deep:/&\n    wide_init_fn: "nn.init.uniform_,a=-0.05,b=0.05"/' tiny.yaml >own_init.yaml
mv own_init.yaml tiny.yaml
sed "s/num_buckets: [0-9]*/&, $init/" tiny.yaml >fixed.yaml
sed "s/num_buckets: [0-9]*/growing: {}, $init/" tiny.yaml >grow.yaml
[ "$(grep -c 'growing: {}' grow.yaml)" -eq 3 ] || fail "$(cat grow.yaml)"
# all ids of the data are seen in training, so both tables know the same ones
run crank train fixed.yaml --model_dir fixed --set train_config.eval_interval_steps=20
ends 0
run crank train grow.yaml --model_dir plain --threads 1 --set train_config.eval_interval_steps=20
ends 0
same fixed/train_eval_result_v2.txt plain/train_eval_result_v2.txt
run crank params "$(newest plain)"
has_out "...ebc.embedding_bags.user_emb.weight ...[51, 4] ..."
run crank params plain --table user_emb --top 2
ends 0
has_out "table user_emb: 50 ids have rows"

# fine-tuning by name, from a fixed table to one that grows and back: the same rows and state belong to the same ids
for from in fixed plain; do
    for to in fixed grow; do
        run crank train $to.yaml --model_dir "$to-of-$from" --fine_tune_checkpoint $from --set train_config.num_epochs=1
        ends 0
        no_err "...Skip restore state..."
        no_err "...begins anew..."
        same "$to-of-$from/train_eval_result_v2.txt" "fixed-of-fixed/train_eval_result_v2.txt"
    done
done
# where ids are hashes no row of the other table belongs to them
for to in fixed grow; do
    from=$([ $to = fixed ] && echo plain || echo fixed)
    run crank train $to.yaml --model_dir "hashed-$to" --fine_tune_checkpoint $from --set data_config.fg_mode=FG_NORMAL \
        --set "feature_configs[2].id_feature.separator=\"|\"" --set train_config.num_epochs=1
    ends 0
    has_err "...table '...user_emb.weight' has ... begins anew..."
done

# ids that are no whole numbers: which row belongs to which id is not known, so nothing is taken
LC_ALL=C sed 's/\(user_emb\._mch_remapped_ids_mapping": {"dtype": "\)I64/\1F64/' "$(newest plain)"/model-*.safetensors >no_ids.safetensors
cmp -s no_ids.safetensors "$(newest plain)"/model-*.safetensors && fail "the type of the ids is the same"
run crank train fixed.yaml --model_dir no_ids --fine_tune_checkpoint no_ids.safetensors --ignore_restore_optimizer
ends 1
has_err "...tensor '...user_emb._mch_remapped_ids_mapping' is of type F64 and must be I64; correct the file"
run crank check fixed.yaml --fine_tune_checkpoint no_ids.safetensors
ends 1
has_err "...tensor '...user_emb._mch_remapped_ids_mapping' is of type F64 and must be I64; correct the file"
# more ids than there is memory for: a file of 4 TiB without content
bytes=2199023255552
ids=$(crank params "$(newest plain)" | sed -n 's/^ *\([^ ]*user_emb\._mch_\)sorted_raw_ids .*/\1/p' | head -n 1)
type="{\"dtype\":\"I64\",\"shape\":[$((bytes / 8))],\"data_offsets\""
printf -- "{\"${ids}sorted_raw_ids\":$type:[0,$bytes]},\"${ids}remapped_ids_mapping\":$type:[$bytes,$((2 * bytes))]}}" >header
n=$(wc -c <header)
[ "$n" -ge 256 ] && [ "$n" -lt 512 ] || fail "a header of $n bytes"
printf '%b\1\0\0\0\0\0\0' "\\0$(printf %o $((n - 256)))" | cat - header >huge.safetensors
if truncate -s $((8 + n + 2 * bytes)) huge.safetensors 2>/dev/null; then
    run crank train fixed.yaml --model_dir huge --fine_tune_checkpoint huge.safetensors --ignore_restore_optimizer
    ends 1
    has_err "--fine_tune_checkpoint: 'huge.safetensors': no memory for the ids of a table that grew: 2.2 TB needed, ..."
    is_gone huge/model.ckpt-0
fi

# every rule at once
sed "s/expression: \"user:user\", growing: {}/expression: \"user:user\", growing: {max_rows: 30, bucket_rows: 8, lfu: {}}/
     s/expression: \"item:item\", growing: {}/expression: \"item:item\", growing: {frequency_admission: {threshold: 12, max_counters: 20}, absent_value: 0.1, expiry: {interval_steps: 4, decay_rate: 0.7, least_score: 2}}/
     s/expression: \"item:tags\", growing: {}/expression: \"item:tags\", growing: {max_rows: 15, bucket_rows: 5, distance_lfu: {decay_exponent: 0.5}, probability_admission: {probability: 0.3}, expiry: {unseen_steps: 3, interval_steps: 2}}/" grow.yaml >ruled.yaml
[ "$(grep -c 'growing: {}' ruled.yaml)" -eq 0 ] || fail "$(cat ruled.yaml)"
run crank train ruled.yaml --threads 1 --model_dir one
ends 0
run crank train ruled.yaml --threads 3 --set train_config.eval_interval_steps=7
ends 0
same_weights one model
rm -rf model
may_be_killed=yes
CRANK_TEST_KILL=step:25 run crank train ruled.yaml
ends 137
run crank train ruled.yaml --continue_train
ends 0
same_weights one model
run crank params one --table user_emb --top 3
ends 0
has_out "table user_emb: ... ids have rows"
run crank export one/pipeline.config --export_dir export
ends 0
run crank predict --scripted_model_path export --predict_input_path eval.csv --predict_output_path from_export
ends 0
run crank predict --pipeline_config_path one/pipeline.config --predict_input_path eval.csv --predict_output_path from_ckpt --threads 2
ends 0
same from_export/part-0.csv from_ckpt/part-0.csv
run crank eval one/pipeline.config --eval_result_filename again.txt
ends 0
tail -n 1 one/train_eval_result_v2.txt >last.txt
same last.txt one/again.txt
# rows in 16 bits
run crank train grow.yaml --model_dir halves --set 'feature_configs[0].id_feature.data_type=BF16' --set 'feature_configs[1].id_feature.data_type=FP16'
ends 0
run crank train fixed.yaml --model_dir halves_fixed --set 'feature_configs[0].id_feature.data_type=BF16' --set 'feature_configs[1].id_feature.data_type=FP16'
ends 0
same halves/train_eval_result_v2.txt halves_fixed/train_eval_result_v2.txt
# ranks: the same bytes, with tables that are cut by the hash of ids; another number of ranks goes on
if [ -f "$(dirname "$CRANK")/comm-mpich.so" ]; then
    mpi_leaks
    run crank train ruled.yaml --model_dir lanes --set train_config.lanes=4 --set data_config.batch_size=24
    ends 0
    for ranks in 2 3; do
        run crank launch --nproc_per_node $ranks -- train ruled.yaml --model_dir "by_$ranks" --threads 1 \
            --set data_config.batch_size=$((24 / ranks)) --set train_config.lanes=4
        ends 0
        same_weights lanes "by_$ranks"
    done
    CRANK_TEST_KILL=step:31 run crank launch --nproc_per_node 3 -- train ruled.yaml --model_dir cut --threads 1 \
        --set data_config.batch_size=8 --set train_config.lanes=4
    ends bad
    run crank launch --nproc_per_node 2 -- train ruled.yaml --model_dir cut --threads 1 --set data_config.batch_size=12 \
        --set train_config.lanes=4 --continue_train
    ends 0
    same_weights lanes cut
    run crank launch --nproc_per_node 2 -- eval lanes/pipeline.config --eval_result_filename by_two.txt --set data_config.batch_size=12
    ends 0
    run crank eval lanes/pipeline.config --eval_result_filename alone.txt
    ends 0
    same lanes/alone.txt lanes/by_two.txt
    run crank launch --ps 2 --workers 2 -- train ruled.yaml --model_dir served --threads 1 --set data_config.batch_size=12 \
        --set train_config.lanes=4
    ends 0
    same_weights lanes served
fi
# mistakes
bad() { # bad SED TEXT
    sed "$1" ruled.yaml >bad.yaml
    run crank check bad.yaml
    ends 2
    has_err "$2"
}
bad 's/max_rows: 30, bucket_rows: 8, //' "bad.yaml:21:...: lfu lets rows go when the table is full, and without max_rows it never is..."
bad 's/max_rows: 30/max_rows: 0/' "bad.yaml:21:...: max_rows is 0 and must lie between 1 and ..."
bad 's/bucket_rows: 8/bucket_rows: 0/' "bad.yaml:21:...: bucket_rows is 0 and must lie between 1 and ..."
bad 's/threshold: 12/threshold: 0/' "bad.yaml:22:...: threshold must lie between 1 and ..."
bad 's/probability: 0.3/probability: 0/' "bad.yaml:23:...: probability must be above 0..."
bad 's/probability: 0.3/probability: 1.5/' "bad.yaml:23:...: probability..."
bad 's/lfu: {}/lfu: {}, lru: {}/' "bad.yaml:21:...lru..."
bad 's/adagrad_optimizer: {lr: 0.05}/adam_optimizer: {lr: 0.05, mode: DENSE}/' "bad.yaml:21:...: feature 'user': the optimizer ... moves every row of a table in each step..."
bad 's/growing: {max_rows: 30/pretrained_path: one, &/' "bad.yaml:21:...: feature 'user': no row of its table belongs to an id yet..."
bad 's/growing: {max_rows: 30/embedding_name: item_emb, &/' "bad.yaml:22:...: features 'user' and 'item' share the table 'item_emb' but differ in ..."

# days unseen, counted by a clock in the data: ids that are not seen for two days of it go, whatever the machine's own clock says
awk -F, 'BEGIN { OFS = "," } NR == 1 { print $0, "time"; next } { day = int((NR - 2) / 120); if (day >= 3 && $2 % 2 == 0) $2 = $2 + 1; print $0, 1735689600 + 86400 * day + NR }' train.csv >days_train.csv
awk -F, 'BEGIN { OFS = "," } NR == 1 { print $0, "time"; next } { print $0, 1735689600 }' eval.csv >days_eval.csv
sed 's/growing: {}/growing: {expiry: {unseen_days: 2, interval_steps: 2}}/; s/ train.csv/ days_train.csv/; s/ eval.csv/ days_eval.csv/
     s/^  label_fields: .*/&\n  clock_field: time/; s/num_epochs: 2/num_epochs: 1/' grow.yaml >days.yaml
run crank train days.yaml --model_dir days --threads 1
ends 0
run crank params days --table user_emb --top 50
ends 0
has_out "table user_emb: 25 ids have rows"
rm -rf model
may_be_killed=yes
CRANK_TEST_KILL=step:25 run crank train days.yaml --threads 3
ends 137
run crank train days.yaml --continue_train --threads 3
ends 0
same_weights days model
run crank train days.yaml --model_dir no --set data_config.clock_field=''
ends 2
has_err "...feature 'user': unseen_days counts days of the data, and nothing tells the time of a row; name its column in data_config.clock_field, or use unseen_steps"
run crank train days.yaml --model_dir no --set data_config.clock_unit=HOURS
ends 2
has_err "...unknown clock_unit 'HOURS'; use SECONDS or MILLISECONDS since 1970, DAYS, or DATE for numbers like 20260131"
run crank train days.yaml --model_dir no --set data_config.clock_unit=MILLISECONDS
ends 0
run crank train days.yaml --model_dir no2 --set data_config.clock_unit=DATE
ends 3
has_err "...column 'time', value '...': not a time; see data_config.clock_unit..."

# a sketch counts the ids that wait; with so few ids, and counters that are never halved, as exactly as counters do
sed 's/growing: {}/growing: {sketch_admission: {threshold: 12, cells: 65536, max_error: 1000000}}/' grow.yaml >sketch.yaml
sed 's/growing: {}/growing: {frequency_admission: {threshold: 12}}/' grow.yaml >exact.yaml
run crank train sketch.yaml --model_dir sketch --threads 1
ends 0
run crank train exact.yaml --model_dir exact --threads 1
ends 0
same sketch/train_eval_result_v2.txt exact/train_eval_result_v2.txt
rm -rf model
may_be_killed=yes
CRANK_TEST_KILL=step:25 run crank train sketch.yaml --threads 2
ends 137
run crank train sketch.yaml --continue_train
ends 0
same_weights sketch model
run crank train sketch.yaml --continue_train --set train_config.num_epochs=3 --set 'feature_configs[0].id_feature.growing.sketch_admission.cells=131072'
ends 0
has_err "...table ...user_emb...: the ids that wait were counted in a sketch of another size; their counts begin anew"
run crank check sketch.yaml --set 'feature_configs[0].id_feature.growing.sketch_admission.cells=100'
ends 2
has_err "...cells is 100 and must lie between 65536 and ...; frequency_admission counts a few ids exactly"
if [ -f "$(dirname "$CRANK")/comm-mpich.so" ]; then
    for config in days sketch; do
        run crank launch --standalone --nproc-per-node 2 -- train $config.yaml --model_dir ranks_$config --threads 1 --set data_config.batch_size=16
        ends 0
        same_weights $config ranks_$config
    done
fi
