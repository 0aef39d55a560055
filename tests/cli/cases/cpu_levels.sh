# lower CPU levels give the same bytes, in mixed precision and with split inputs too
tiny_config
tiny_data 640 64
run crank train tiny.yaml --model_dir best
ends 0
run crank train tiny.yaml --model_dir best_x3 --set train_config.cuda_matmul_allow_tf32=true
ends 0
own=$(crank version | sed -n 's/^cpu  *\([a-z0-9_]*\).*/\1/p')
common=$own
case $own in
avx512_bf16 | amx) # sums in an order of its own, and says so
    CRANK_CPU=avx512_bf16
    export CRANK_CPU
    run crank train tiny.yaml --model_dir pairs --autocast True
    ends 0
    has_err "...BF16 products are summed in pairs on this CPU (avx512_bf16); CRANK_CPU=avx512 gives the bits of all other CPUs, at half the speed"
    grep -q '"cpu": *"avx512_bf16"' pairs/model.ckpt-*/state.json || fail "the checkpoint does not name the level"
    [ "$own" = amx ] || common=avx512
    ;;
esac
CRANK_CPU=$common
export CRANK_CPU
run crank train tiny.yaml --model_dir best_bf16 --autocast True
ends 0
no_err "...summed in pairs..."
# training that goes on with another order says so; with the same one, and without BF16, it does not
resume() { # resume LEVEL MODEL_DIR FLAGS
    CRANK_CPU=$1
    cp -R "$2" again
    shift 2
    run crank train tiny.yaml --model_dir again --continue_train --set train_config.num_epochs=3 "$@"
    ends 0
    rm -r again
}
if [ -d pairs ]; then
    resume avx512 pairs --autocast True
    has_err "...WARNING] again/model.ckpt-39 was trained on a CPU that sums BF16 products in pairs (level avx512_bf16), this one sums them in tiles (avx512): results differ from an unbroken run; CRANK_CPU=avx512_bf16 goes on in the same order"
    resume avx512_bf16 best_bf16 --autocast True
    has_err "...WARNING] again/model.ckpt-39 was trained on a CPU that sums BF16 products in tiles (level $common), this one sums them in pairs (avx512_bf16): results differ from an unbroken run; CRANK_CPU=avx512 goes on in the same order"
    resume avx512_bf16 pairs --autocast True
    no_err "...differ from an unbroken run..."
    resume avx512_bf16 best_x3 --set train_config.cuda_matmul_allow_tf32=true
    no_err "...differ from an unbroken run..."
fi
resume avx2 best_bf16 --autocast True
no_err "...differ from an unbroken run..."
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
    has_err "...products in BF16x3 are slower than FP32 without AMX (the CPU level is $level); remove cuda_matmul_allow_tf32 and fp32_matmul for speed, keep them for the bits of other CPUs"
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
