#!/bin/sh
# bench.sh [BUILD_DIR [ROWS]] - rows per second of training on this machine: deepfm on made-up criteo
# rows at three batch sizes with one and all threads. Kept with the machine's name for CPU in out/bench.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
rows=${2:-600000}
crank=$build/crank
out=out/bench
data=$out/data-$rows
mkdir -p $out
[ -f "$data/synth.json" ] || "$crank" synth criteo --rows "$rows" --scale 0.03 --seed 1 -o "$data"

log=$out/$(date +%Y%m%d-%H%M%S).txt
cores=$(getconf _NPROCESSORS_ONLN)
{
    echo "crank $("$crank" version | head -n 1)"
    echo "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1), $cores cores, CRANK_CPU=${CRANK_CPU:-best}"
    printf '%-8s %-8s %12s %10s\n' batch threads rows/s seconds
} | tee "$log"
for batch in 512 2048 8192; do
    for threads in 1 $([ "$cores" -gt 1 ] && echo "$cores"); do
        rm -rf $out/model
        best=$({
            for _ in 1 2; do
                rm -rf $out/model
                "$crank" train "$data/pipeline.yaml" --model_dir $out/model --threads "$threads" \
                    --set data_config.batch_size="$batch" --set eval_input_path= \
                    --set train_config.save_checkpoints_epochs=0 --set train_config.save_checkpoints_steps=0 --log_json 2>&1 || exit 1
            done
        } | sed -n 's/.*"rows_per_s": *\([0-9.]*\).*/\1/p' | sort -n | tail -n 1)
        if [ -z "$best" ]; then
            echo "bench.sh: the run with batch $batch and $threads threads gave no rows per second" >&2
            exit 1
        fi
        awk -v b="$batch" -v t="$threads" -v r="$best" -v n="$rows" \
            'BEGIN { printf "%-8d %-8d %12d %10.2f\n", b, t, r, n / r }' | tee -a "$log"
    done
done
rm -rf $out/model
echo "kept in $log"
