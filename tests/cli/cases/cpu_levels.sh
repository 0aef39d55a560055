# lower CPU levels give the same bytes, in mixed precision too
tiny_config
tiny_data 640 64
run crank train tiny.yaml --model_dir best
ends 0
run crank train tiny.yaml --model_dir best_bf16 --autocast True
ends 0
for level in c avx2 avx512; do
    CRANK_CPU=$level
    export CRANK_CPU
    run crank train tiny.yaml --model_dir $level
    ends 0
    same_weights best $level
    run crank train tiny.yaml --model_dir ${level}_bf16 --autocast True
    ends 0
    same_weights best_bf16 ${level}_bf16
done
