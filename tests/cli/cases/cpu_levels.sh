# lower CPU levels give the same bytes
tiny_config
tiny_data 640 64
run crank train tiny.yaml --model_dir best
ends 0
for level in c avx2; do
    CRANK_CPU=$level
    export CRANK_CPU
    run crank train tiny.yaml --model_dir $level
    ends 0
    same_weights best $level
done
