#!/bin/sh
# bench.sh [BUILD_DIR [SECONDS]] - how fast this machine is, kept with its CPU in out/bench: the
# training step of deepfm from memory at three batch sizes with one and with all threads, whole runs
# from CSV files, making data, reading Parquet beside DuckDB, the matrix kernels, and training and
# predicting beside PyTorch. SECONDS: per case of the step (default 3).
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
seconds=${2:-3}
rows=600000
crank=$build/crank
out=out/bench
data=$out/data
mkdir -p $out
log=$out/$(date +%Y%m%d-%H%M%S).txt
cores=$(getconf _NPROCESSORS_ONLN)
threads="1"
[ "$cores" -eq 1 ] || threads="1 $cores"

ninja -C "$build" tests/kern/test_kern_gemm >/dev/null
{
    "$crank" version | head -n 1
    echo "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1), $cores cores, CRANK_CPU=${CRANK_CPU:-best}"

    printf '\n== synth: %s criteo rows\n' "$rows"
    "$crank" synth criteo --rows "$rows" --scale 0.03 --seed 1 -o "$data" --quiet

    printf '\n== training step, deepfm, data in memory\n'
    for batch in 512 2048 8192; do
        for n in $threads; do
            printf 'batch %s, %s threads: ' "$batch" "$n"
            "$crank" bench train "$data/pipeline.yaml" --threads "$n" --seconds "$seconds" \
                --set data_config.batch_size=$batch | sed -n 's/^rows per s  *\([0-9]\)/\1/p'
        done
    done

    printf '\n== crank train, deepfm, from CSV files\n'
    for batch in 512 2048 8192; do
        for n in $threads; do
            rm -rf $out/model
            printf 'batch %s, %s threads: ' "$batch" "$n"
            "$crank" train "$data/pipeline.yaml" --model_dir $out/model --threads "$n" --quiet --eval_input_path '' \
                --set data_config.batch_size="$batch" | head -n 1
        done
    done
    rm -rf $out/model

    printf '\n== Parquet files into vectors, beside DuckDB\n'
    sh tests/bench/parquet_duckdb.sh "$build" $out

    printf '\n== matrix kernels\n'
    "$build/tests/kern/test_kern_gemm" --bench

    printf '\n== beside PyTorch and ONNX Runtime\n'
    python3 tests/bench/peers.py --build "$build" --out $out
} 2>&1 | tee "$log"
echo "kept in $log"
