# made-up data as Parquet: the rows of the CSV, and so the same weights
for kind in criteo taobao census; do
    for f in csv parquet; do
        run crank synth $kind --rows 3000 --seed 7 --scale 0.01 --format $f -o $kind.$f
        ends 0
        run crank train $kind.$f/pipeline.yaml
        ends 0
    done
    is_there $kind.parquet/train/part-00003.parquet
    grep -q 'dataset_type: ParquetDataset' $kind.parquet/pipeline.yaml || fail "dataset_type"
    sed "s/.*\"teacher\"//" $kind.csv/synth.json >a
    sed "s/.*\"teacher\"//" $kind.parquet/synth.json >b
    same a b
    for w in $kind.csv/model/model.ckpt-*/model*.safetensors; do
        same "$w" "$(echo "$w" | sed s/csv/parquet/)"
    done
done
# the same bytes for any number of threads
run crank synth taobao --rows 3000 --seed 7 --scale 0.01 --format parquet -o again --threads 3
ends 0
same taobao.parquet/train again/train
same taobao.parquet/eval again/eval
run crank synth taobao --rows 10 --format parket -o d
ends 2
has_err "crank synth: unknown format 'parket'; did you mean 'parquet'?"
