#!/bin/sh
# run.sh CRANK SHIM [few|many|all [COMMAND...]] - every call that the system can refuse, refused.
#
# A small train (with evaluations, and without: then checkpoints are written while it goes on), export and predict, and the reading of a config, run again and again, each time with one more call (open, read,
# write, fsync, rename, mkdir, mmap, allocation, pthread_create) failing: the n-th only, or the n-th and
# all after it. Each run must end in time, without a crash, with exit code 0, or 1 and one line that
# says why. Afterwards the folder must be usable: training goes on and ends with the bytes of an
# undisturbed run, an export or prediction is whole or absent and works the next time.
#
# few: four n per kind of call, but all of reading a config (part of `make test`). many: all n up to 400, then about 100
# more. all: every n. CALLS in the environment limits the kinds: CALLS="memory thread".
set -u
if [ $# -lt 2 ] || [ ! -x "$1" ] || [ ! -f "$2" ]; then
    echo "usage: run.sh CRANK SHIM [few|many|all [COMMAND...]]" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
crank=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shim=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
how=${3:-many}
[ $# -lt 3 ] && shift 2 || shift 3
[ $# -gt 0 ] || set -- config train saving export predict
commands=$*
work=$(mktemp -d "${TMPDIR:-/tmp}/crank-faults.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
cp "$crank" "$shim" . || exit 1 # a build meanwhile does not matter
crank=$work/$(basename "$crank") shim=$work/$(basename "$shim")
CASE_DIR=$work
# shellcheck disable=SC1091
. "$here/../cli/lib.sh"
tiny_data 96 32
tiny_config
runs=0
failed=0

config() { "$@" config tiny.yaml; }
train() { "$@" train tiny.yaml --model_dir m --threads 2 --set train_config.num_epochs=2 --set train_config.save_checkpoints_steps=2 $evaluated $more; }
saving() { evaluated=--eval_input_path= && train "$@"; }
export_() { "$@" export model/pipeline.config --export_dir x --threads 2; }
predict() { "$@" predict --scripted_model_path export --predict_input_path eval.csv --predict_output_path o --threads 2; }
more= evaluated= expected=files.ok

say_failed() {
    failed=$((failed + 1))
    echo "FAIL $command, $call $n$([ "$on" = 1 ] && echo ' and all after it'): $*"
    sed 's/^/    /' err.txt | grep -v '\[INFO\]' | tail -n 5
}
# what stderr says besides log lines, warnings and notes
lines() { grep -v -E '\]\[(INFO|WARNING)\] |^[^ ]*(: | [a-z_]*: )(warning|note): |: warning: |: note: ' err.txt; }
# files of a model_dir that are no matter of chance: not events and logs
listing() { (cd "$1" && find . -type f ! -name 'events.out.*' ! -name '*.jsonl' | LC_ALL=C sort); }

ended() { # ended CODE: false when the run ended in a wrong way
    case $1 in
    0) return 0 ;;
    1)
        found=$(lines | grep -c .)
        # where everything fails from some call on, each file that is wrong may have its line
        [ "$found" -eq 1 ] && return 0
        [ "$on" = 1 ] && [ "$found" -gt 1 ] && return 0
        say_failed "$found lines, expected one"
        ;;
    124) say_failed "does not end" ;;
    *) say_failed "exit code $1" ;;
    esac
    return 1
}

# a config is read whole or not at all
one_config() {
    FAULT_CALL=$call FAULT_N=$n FAULT_ON=$on LD_PRELOAD=$shim config timeout 60 "$crank" >out.txt 2>err.txt
    code=$?
    ended $code || return
    [ $code -ne 0 ] || cmp -s out.txt config.ok || say_failed "another config than without the fault"
}

one_train() {
    rm -rf m
    FAULT_CALL=$call FAULT_N=$n FAULT_ON=$on LD_PRELOAD=$shim train timeout 60 "$crank" >out.txt 2>err.txt
    code=$?
    ended $code || return
    if [ $code -ne 0 ]; then
        more=--continue_train
        train timeout 60 "$crank" >out.txt 2>err.txt || {
            say_failed "--continue_train fails afterwards"
            more=
            return
        }
        more=
    fi
    for f in $(cd model && find . -name '*.safetensors'); do
        cmp -s "model/$f" "m/$f" || {
            say_failed "$f is not as in an undisturbed run (exit code was $code)"
            return
        }
    done
    listing m >files.txt
    cmp -s files.txt $expected || say_failed "other files than in an undisturbed run: $(diff $expected files.txt | grep '^[<>]' | head -n 3 | tr '\n' ' ')"
}

one_saving() {
    evaluated=--eval_input_path= expected=files.alone
    one_train
    evaluated= expected=files.ok
}

whole_or_absent() { # whole_or_absent RESULT REFERENCE FUNCTION
    rm -rf x o .x.* .o.*
    FAULT_CALL=$call FAULT_N=$n FAULT_ON=$on LD_PRELOAD=$shim $3 timeout 60 "$crank" >out.txt 2>err.txt
    code=$?
    ended $code || return
    # predictions are files in a folder: each is whole or absent
    for f in $(cd "$2" && ls); do
        if [ $code -eq 0 ] || [ -e "$1/$f" ]; then
            cmp -s "$2/$f" "$1/$f" && continue
            # what is not needed may be missing, with a warning
            [ ! -e "$1/$f" ] && grep -q "WARNING.*$f" err.txt && continue
            say_failed "$1/$f is neither whole nor absent"
            return
        fi
    done
    [ $code -eq 0 ] && return
    [ "$3" = predict ] || [ ! -e "$1" ] || {
        diff -r "$2" "$1" >/dev/null || say_failed "$1 is neither whole nor absent"
        rm -rf "$1"
    }
    if ! $3 timeout 60 "$crank" >out.txt 2>err.txt || ! diff -r "$2" "$1" >/dev/null 2>&1; then
        say_failed "does not work the next time"
        return
    fi
    left=$(ls -A | grep -E '^\.|tmp-' | tr '\n' ' ')
    [ -z "$left" ] || say_failed "left behind: $left"
}
one_export() { whole_or_absent x export export_; }
one_predict() { whole_or_absent o predicted predict; }

# the calls that are tried, of so many
numbers() { # numbers TOTAL
    awk -v total="$1" -v how="$how" -v command="$command" 'BEGIN {
        if (how == "few" && command != "config") {
            for (k = 1; k <= 4; k++) { n = int(total * k / 4); if (n > last) { print n; last = n } }
            exit
        }
        stride = how == "all" || total <= 500 ? 1 : int((total - 400) / 100)
        for (n = 1; n <= total; n += n < 400 ? 1 : stride) print n
    }'
}

# undisturbed: what is right, and how many calls there are
config "$crank" >config.ok 2>err.txt || { cat err.txt; exit 1; }
train "$crank" >out.txt 2>err.txt || { cat err.txt; exit 1; }
mv m model
sed 's,model_dir: .*,model_dir: "model",' model/pipeline.config >p && mv p model/pipeline.config
listing model >files.ok
grep -v -E 'train_eval_result|eval_val' files.ok >files.alone
export_ "$crank" >out.txt 2>err.txt || { cat err.txt; exit 1; }
mv x export
predict "$crank" >out.txt 2>err.txt || { cat err.txt; exit 1; }
mv o predicted

for command in $commands; do
    rm -rf m x o
    case $command in export) f=export_ ;; *) f=$command ;; esac
    FAULT_COUNT=$work/counts.$command LD_PRELOAD=$shim $f "$crank" >out.txt 2>err.txt
    evaluated=
    began=$runs
    while read -r call total; do
        case " ${CALLS:-$call} " in *" $call "*) ;; *) continue ;; esac
        for n in $(numbers "$total"); do
            ways="0 1"
            [ "$how" != few ] || ways=$((runs % 2)) # in turns
            for on in $ways; do
                one_$command
                runs=$((runs + 1))
            done
        done
    done <"counts.$command"
    echo "$command: $((runs - began)) runs; calls:$(tr '\n' ',' <"counts.$command" | sed 's/,$//; s/,/, /g; s/^/ /')"
done
echo "$runs passed, $failed failed, 0 skipped" | awk '{ print $1 - $3, $2, $3, $4, $5, $6 }'
[ $failed -eq 0 ]
