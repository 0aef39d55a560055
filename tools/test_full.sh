#!/bin/sh
# test_full.sh [BUILD_DIR [STEP...]] - the full tier: the quick tier, then the same tests under
# sanitizers and valgrind, several hosts, Slurm, stores beside another S3 server and with random faults, Parquet beside other implementations,
# the page of crank board in a browser, installation and package, faults, a toy of every kind added, fuzzing, and the linters.
# Steps: quick products hosts slurm stores parquet board packages faults extend asan tsan valgrind fuzz clang tidy cppcheck.
#
# Every step runs, whatever the ones before it found. The last line adds up all cases; a step
# without cases of its own (a linter, a fuzzer) is one case.
set -u
cd "$(dirname "$0")/.."
build=${1:-build}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- quick products hosts slurm stores parquet board packages faults extend asan tsan valgrind fuzz clang tidy cppcheck
fuzz_seconds=${FUZZ_SECONDS:-30}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

sh tools/deps.sh build test full || exit 1
for lock in web/package-lock.json tests/*/package-lock.json; do sh tools/npm.sh "${lock%/*}" || exit 1; done
ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
TSAN_OPTIONS=halt_on_error=1
export ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS

setup() { # setup DIR OPTIONS...
    dir=$1
    shift
    [ -f "$dir/build.ninja" ] || meson setup "$dir" "$@" >/dev/null
}
quick() { sh tools/test.sh "$build"; }
products() { # models that learn to a known score, with the other kinds of matrix products; how far these are from FP32
    CRANK_CPU=avx512 CRANK_TEST_ROWS=153600 "$build/tests/test_run_products" >"$tmp/log" 2>&1 || {
        tail -n 40 "$tmp/log"
        return 1
    }
    tail -n 29 "$tmp/log"
    for level in avx512 avx2 c; do # the quick tier compares with PyTorch on the best level
        CRANK_SOURCE_ROOT=$PWD CRANK_CPU=$level "$build/tests/test_train_golden" >"$tmp/log" 2>&1 || {
            tail -n 20 "$tmp/log"
            return 1
        }
        echo "$level, golden values: $(tail -n 1 "$tmp/log")"
    done
    for how in mixed_precision=BF16 fp32_matmul=BF16x3 fp32_matmul=BF16x6; do
        for test in run_models:near_the_teacher run_encoders:every_encoder run_tasks:near_the_teacher run_tasks:threads_and_pauses_do_not_matter; do
            # BF16x6 is six times slower than FP32 here; one of the programs is enough
            [ $how != fp32_matmul=BF16x6 ] || [ $test = run_models:near_the_teacher ] || continue
            # the order of sums that all CPUs share
            CRANK_CPU=avx512 CRANK_TEST_SET=train_config.$how "$build/tests/test_${test%:*}" "${test#*:}" >"$tmp/log" 2>&1 || {
                tail -n 20 "$tmp/log"
                return 1
            }
            echo "$how, $test: $(tail -n 1 "$tmp/log")"
        done
    done
}
or_skip() { # or_skip COMMAND...: 77 means that this machine cannot run it; it says why
    "$@"
    code=$?
    [ $code -ne 77 ] || { echo "0 passed, 0 failed, 1 skipped"; return 0; }
    return $code
}
scripts() { # scripts FILE...: runs all of them with the program; the last line adds up their cases
    passed_=0 failed_=0 skipped_=0
    for script; do
        or_skip sh "$script" "$build/crank" >"$tmp/log" 2>&1 || failed_=$((failed_ + 1))
        cat "$tmp/log"
        # shellcheck disable=SC2046
        set -- $(tail -n 1 "$tmp/log" | sed -n 's/^\([0-9]*\) passed, [0-9]* failed, \([0-9]*\) skipped$/\1 \2/p')
        passed_=$((passed_ + ${1:-0})) skipped_=$((skipped_ + ${2:-0}))
    done
    echo "$passed_ passed, $failed_ failed, $skipped_ skipped"
    [ $failed_ -eq 0 ]
}
hosts() { scripts tests/mpi/hosts.sh tests/mpi/mpirun.sh tests/mpi/pods.sh tests/mpi/servers.sh tests/mpi/submit.sh; }
slurm() { scripts tests/slurm/srun.sh tests/slurm/submit.sh; }
stores() { # S3 beside s3rver; random faults on every stand-in
    or_skip sh tests/stores/run.sh "$build" "${FAULT_SECONDS:-120}"
}
together() { # together COMMAND...: runs all of them side by side; the last line adds up their cases
    n_=0
    for command; do
        n_=$((n_ + 1))
        { sh -c "$command" && echo 0 >"$tmp/code.$n_" || echo 1 >"$tmp/code.$n_"; } >"$tmp/log.$n_" 2>&1 &
    done
    wait
    passed_=0 failed_=0 skipped_=0
    while [ $n_ -gt 0 ]; do
        cat "$tmp/log.$n_"
        # shellcheck disable=SC2046
        set -- $(grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$tmp/log.$n_" | tail -n 1 | tr -d ,)
        # a command without counts is one case
        [ $# -gt 0 ] || set -- $((1 - $(cat "$tmp/code.$n_"))) passed "$(cat "$tmp/code.$n_")" failed 0
        [ "$(cat "$tmp/code.$n_")" -eq 0 ] || [ "$3" -gt 0 ] || failed_=$((failed_ + 1))
        passed_=$((passed_ + ${1:-0})) failed_=$((failed_ + ${3:-0})) skipped_=$((skipped_ + ${5:-0}))
        n_=$((n_ - 1))
    done
    echo "$passed_ passed, $failed_ failed, $skipped_ skipped"
    [ $failed_ -eq 0 ]
}
parquet() {
    setup "$build" && ninja -C "$build" tests/arrow/arrow_tool tests/parquet/write_samples >/dev/null &&
        together "sh tests/parquet/run.sh '$build'" "sh tests/arrow/run.sh '$build'"
}
board() { sh tests/browser/run.sh "$build"; }
packages() { sh tests/install/run.sh "$build"; }
faults() { # a run has one thread most of the time, so two series go side by side
    run_="sh tests/faults/run.sh '$build/crank' '$build/tests/faults/fault_shim.so' many"
    setup "$build" && ninja -C "$build" crank tests/faults/fault_shim.so >/dev/null && together "$run_ config train" "$run_ saving export predict"
}
extend() { sh tools/test_extend.sh; }
asan() {
    setup "$build-asan" -Db_sanitize=address,undefined -Db_lundef=false &&
        sh tools/test.sh "$build-asan" --timeout-multiplier 10
}
tsan() { # what runs threads: pool, loader, engine, whole runs
    CC=clang setup "$build-tsan" -Db_sanitize=thread -Db_lundef=false &&
        sh tools/test.sh "$build-tsan" --timeout-multiplier 20 \
            $(meson test -C "$build-tsan" --list 2>/dev/null | sed 's/.* \/ //' |
                grep -E '^(base/(pool|log)|(data|parquet|synth)/.*|op/.*|emb/.*|train/.*|run/.*|cli/(threads|continue_train|one_score))$')
}
valgrind_() { # unit tests; the programs choose avx2 by themselves, valgrind hides AVX-512
    # what run/ has trains whole models, which takes hours here; both sanitizers run it. Valgrind is there for values that were never set.
    setup "$build" && CRANK_TEST_NO_JIT=1 sh tools/test.sh "$build" --timeout-multiplier 30 \
        --wrap "valgrind -q --leak-check=full --error-exitcode=9 --suppressions=$PWD/tests/valgrind.supp" \
        $(meson test -C "$build" --list --suite unit 2>/dev/null | sed 's/.* \/ //' | grep -E '^[a-z]+/' | grep -v -E '^run/' ; echo run/corners run/callers run/mapped run/rows)
}
fuzz_one() { # fuzz_one PROGRAM: the output of a failed one ends with its input
    name=$(basename "$1" | sed 's/^fuzz_//')
    mkdir -p "$tmp/fuzz/$name"
    if "$1" "$tmp/fuzz/$name" "tests/fuzz/corpus/$name" -max_total_time="$fuzz_seconds" -timeout=10 -rss_limit_mb=4096 \
        -artifact_prefix="$tmp/fuzz/$name-" -print_final_stats=0 >"$tmp/fuzz/$name.log" 2>&1; then
        echo "fuzz_$name: $(grep -c . "$tmp/fuzz/$name.log") lines, last: $(tail -n 1 "$tmp/fuzz/$name.log")"
    else
        tail -n 40 "$tmp/fuzz/$name.log"
        echo "fuzz_$name failed; its input is:"
        cat "$tmp/fuzz/$name"-crash-* "$tmp/fuzz/$name"-timeout-* "$tmp/fuzz/$name"-oom-* 2>/dev/null | base64 | head -n 20
        touch "$tmp/fuzz/failed"
    fi
}
fuzz() { # one fuzzer per core at a time
    CC=clang setup "$build-fuzz" -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false &&
        ninja -C "$build-fuzz" $(ninja -C "$build-fuzz" -t targets all | sed -n 's,^\(tests/fuzz/fuzz_[a-z0-9_]*\):.*,\1,p') || return 1
    rm -rf "$tmp/fuzz"
    mkdir "$tmp/fuzz"
    found=0 running=0
    for f in "$build-fuzz"/tests/fuzz/fuzz_*; do
        [ -x "$f" ] && [ -f "$f" ] || continue
        found=$((found + 1)) running=$((running + 1))
        fuzz_one "$f" &
        [ $running -lt "$(getconf _NPROCESSORS_ONLN)" ] || { wait; running=0; }
    done
    wait
    [ $found -gt 0 ] && [ ! -e "$tmp/fuzz/failed" ]
}
clang_() { # zero warnings with the other compiler too, in the tests as well
    CC=clang setup "$build-clang" -Dwerror=true && ninja -C "$build-clang"
}
tidy() {
    CC=clang setup "$build-clang" -Dwerror=true || return 1
    find src -name '*.c' ! -path 'src/kern/*' | LC_ALL=C sort |
        xargs -P "$(getconf _NPROCESSORS_ONLN)" -n 8 clang-tidy --quiet -p "$build-clang" 2>"$tmp/tidy.err" ||
        { grep -v 'warnings generated' "$tmp/tidy.err" | tail -n 5; return 1; }
}
cppcheck_() {
    cppcheck --enable=warning,performance,portability --inline-suppr --error-exitcode=1 --quiet --std=c11 \
        -D_GNU_SOURCE -DCR_VERSION='""' '-DKERN(x)=kern_##x' --suppressions-list=tools/cppcheck.txt -j "$(getconf _NPROCESSORS_ONLN)" -Isrc -Iinclude src
}

passed=0
failed=0
skipped=0
for step; do
    printf '\n== %s\n' "$step"
    case $step in
    quick | products | hosts | slurm | stores | parquet | board | packages | faults | extend | asan | tsan | fuzz | tidy) call=$step ;;
    valgrind | clang | cppcheck) call=${step}_ ;;
    *)
        echo "test_full.sh: no step '$step'" >&2
        exit 2
        ;;
    esac
    began=$(date +%s)
    { $call && echo 0 >"$tmp/code" || echo 1 >"$tmp/code"; } 2>&1 | tee "$tmp/out"
    code=$(cat "$tmp/code")
    counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$tmp/out" | tail -n 1)
    [ -n "$counts" ] || counts="$((1 - code)) passed, $code failed, 0 skipped"
    # shellcheck disable=SC2086
    set_() { p=$1 f=$3 s=$5; } && set_ $counts
    [ "$code" -eq 0 ] || [ "$f" -gt 0 ] || f=1
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    printf '%-10s %4d passed %3d failed %3d skipped %5d s\n' "$step" "$p" "$f" "$s" $(($(date +%s) - began)) >>"$tmp/table"
done
echo
cat "$tmp/table"
printf '\n%d passed, %d failed, %d skipped\n' $passed $failed $skipped
[ $failed -eq 0 ]
