# lower CPU levels give the same bytes, in mixed precision and with split inputs too
tiny_config
tiny_data 640 64
run crank train tiny.yaml --model_dir best
ends 0
run crank train tiny.yaml --model_dir best_x3 --set train_config.cuda_matmul_allow_tf32=true
ends 0
case $(crank version) in
*"cpu        avx512_bf16"*) # sums in an order of its own, and says so
    run crank train tiny.yaml --model_dir pairs --autocast True
    ends 0
    has_err "...BF16 products are summed in pairs on this CPU (avx512_bf16); CRANK_CPU=avx512 gives the bits of all other CPUs, at half the speed"
    grep -q '"cpu": *"avx512_bf16"' pairs/model.ckpt-*/state.json || fail "the checkpoint does not name the level"
    CRANK_CPU=avx512
    export CRANK_CPU
    ;;
esac
run crank train tiny.yaml --model_dir best_bf16 --autocast True
ends 0
no_err "...summed in pairs..."
for level in c avx2 avx512; do
    CRANK_CPU=$level
    export CRANK_CPU
    run crank train tiny.yaml --model_dir $level
    ends 0
    same_weights best $level
    run crank train tiny.yaml --model_dir ${level}_bf16 --autocast True
    ends 0
    same_weights best_bf16 ${level}_bf16
    run crank train tiny.yaml --model_dir ${level}_x3 --set train_config.fp32_matmul=BF16x3
    ends 0
    has_err "...products in BF16x3 are slower than FP32 on this CPU, which has no AMX; remove cuda_matmul_allow_tf32 and fp32_matmul for speed, keep them for the bits of other CPUs"
    same_weights best_x3 ${level}_x3
done
# a level that nobody knows is told, once, and changes nothing; an empty one is none
CRANK_CPU=sse9
run crank train tiny.yaml --model_dir unknown
ends 0
has_err "...warning: CRANK_CPU is 'sse9'; use c, avx2, avx512, avx512_bf16 or amx"
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
