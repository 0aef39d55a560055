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
# a level that nobody knows is told, once, and changes nothing; an empty one is none
CRANK_CPU=sse9
run crank train tiny.yaml --model_dir unknown
ends 0
has_err "...warning: CRANK_CPU is 'sse9'; use c, avx2, avx512 or avx512_bf16"
[ "$(grep -c CRANK_CPU "$err")" = 1 ] || fail "CRANK_CPU is told more than once"
same_weights best unknown
CRANK_CPU=c
run crank version
ends 0
has_out "cpu        c, ..."
no_err "...CRANK_CPU..."
CRANK_CPU=
run crank version
ends 0
no_err "...CRANK_CPU..."
