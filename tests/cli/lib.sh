# lib.sh - the words of a case. Read by run.sh; the current folder is empty and ours.
#
#   run CMD...            runs it; the output goes to $out, errors to $err, the exit code to $code.
#                         An exit code that is not 0 fails the case, at the next run or at the end,
#                         unless the case says that it expects it:
#   ends N...             the last run ended with exit code N, or one of several
#   ends bad, ends any    with any but 0; with any at all, and the case looks at $code itself
#   says_out / says_err   the whole output is the text on stdin; `...` in a line stands for any text,
#                         a line `...` for any lines
#   has_out T, has_err T  one line of the output fits the pattern T
#   no_err T              no line of stderr fits
#   same A B              two files, or two folders, are equal byte for byte
#   same_but_logs A B     two model_dirs are, but for the files that tell what each run did
#   same_weights A B      the newest checkpoints of two model_dirs hold the same weights and optimizer state, bit
#                         for bit; else the first tensor and element that differ are named
#   stops_at POINT CMD... starts CMD, which stops itself (SIGSTOP) at a kill point (base/kill_point.h), as in step:40,
#                         and waits until it has; its process is $pid
#   goes_on               the process that stopped goes on to its end; its exit code is $code
#   skip WHY              this machine cannot run the case
#   is_there / is_gone P  a path exists or not
#   trust FILE...         lists libraries as the user's own, so that crank loads them
#   fail TEXT             the case fails
#   flip FILE OFFSET      flips one bit of the byte at OFFSET; the same call again puts it back
#   old_version DIR       makes a checkpoint or an export one of format version 1: checksums of weights
#                         in index.json, no manifest.json
#   "$PTY" N CMD...        runs CMD with stderr on a terminal of N columns (pty.c)
#   "$STRANGER" H P HOW     someone who found the port P of a job on host H (stranger.c)
#   "$DEAD_FS" DIR          a file system that does not answer (dead_fs.c)
#   pq_make [-c] OUT SCHEMA [ROWS PER GROUP]   a Parquet file from rows on stdin (tests/pq_make.h)
#   h5_make OUT KIND        an HDF5 file from rows on stdin (h5_make.c), where crank is built with libhdf5
# and the small data set and config that most cases use: tiny_data, tiny_config; tiny_parquet makes
# train.parquet, eval.parquet and tiny_pq.yaml, which reads them, of tiny_data and tiny.yaml.

out=$CASE_DIR/out
err=$CASE_DIR/err
code=0
last=

fail() {
    echo "FAIL: $*"
    echo "after: $last (exit code $code)"
    echo "--- stdout"
    tail -n 40 "$out" 2>/dev/null || true
    echo "--- stderr"
    tail -n 40 "$err" 2>/dev/null || true
    exit 1
}
skip() {
    echo "$*"
    exit 77
}
# a failure that nothing expected; the file also tells of a run in a subshell
settled() {
    [ ! -f "$CASE_DIR/owed" ] || fail "$(cat "$CASE_DIR/owed"), and the case does not say that it expects this (ends N)"
}
run() {
    settled
    last="$*"
    code=0
    "$@" >"$out" 2>"$err" || code=$?
    # a sanitizer's report or a crash is never what a case expects
    if grep -q -E '^==[0-9]+==ERROR|runtime error:|ThreadSanitizer' "$err"; then fail "sanitizer report"; fi
    if [ $code -ge 128 ] && [ "${may_be_killed:-}" = "" ]; then fail "killed by signal $((code - 128))"; fi
    [ $code -eq 0 ] || echo "'$last' ended with exit code $code" >"$CASE_DIR/owed"
}
stops_at() {
    [ -r /proc/$$/status ] || skip "no /proc"
    point=$1
    shift
    last="$* (stopped at $point)"
    CRANK_TEST_KILL=$point:STOP "$@" >"$out" 2>"$err" &
    pid=$!
    until_stopped $pid || fail "it ended before $point"
}
until_stopped() { # until_stopped PID: false when it ended
    until grep -q '^State:.T' "/proc/$1/status" 2>/dev/null; do
        kill -0 "$1" 2>/dev/null || return 1
        sleep 0.01
    done
}
goes_on() { # goes_on [PID]
    kill -CONT "${1:-$pid}"
    code=0
    wait "${1:-$pid}" || code=$?
}
ends() {
    rm -f "$CASE_DIR/owed"
    for wanted; do
        case $wanted in
        any) return ;;
        bad) [ "$code" -eq 0 ] || return 0 ;;
        *) [ "$code" -ne "$wanted" ] || return 0 ;;
        esac
    done
    fail "exit code $code, expected $*"
}

# the text of a file as a shell pattern
pattern_of() {
    awk '{
        gsub(/[][\\?*]/, "\\\\&")
        any = $0 == "..."
        gsub(/\.\.\./, "*")
        printf "%s%s", $0, any ? "" : "\n"
    }' "$1"
}
fits() { # fits FILE PATTERN_FILE
    text=$(cat "$1" && echo x)
    want=$(pattern_of "$2" && echo x)
    # shellcheck disable=SC2254
    case $text in $want) return 0 ;; esac
    return 1
}
# filled PATTERN_FILE FILE: the pattern with the lines of the file in the place of those that fit
filled() {
    awk '
    function regex(s) {
        gsub(/[][\\.*+?(){}|^$]/, "\\\\&", s)
        gsub(/\\\.\\\.\\\./, ".*", s)
        return "^" s "$"
    }
    BEGIN { at = n = 0 }
    FNR == NR { found[n++] = $0; next }
    $0 == "..." { any = 1; next }
    {
        for (j = at; j < n && found[j] !~ regex($0); j++) continue
        if (j == n) {
            if (any) print "..."
            print
        } else {
            for (; any && at < j; at++) print found[at]
            print found[j]
            at = j + 1
        }
        any = 0
    }
    END { for (; any && at < n; at++) print found[at] }' "$2" "$1"
}
says() { # says FILE: the pattern comes on stdin
    cat >"$CASE_DIR/pattern"
    if ! fits "$1" "$CASE_DIR/pattern"; then
        filled "$CASE_DIR/pattern" "$1" >"$CASE_DIR/expected"
        echo "--- expected, +++ found:"
        diff -u "$CASE_DIR/expected" "$1" | tail -n +3 || true
        fail "unexpected $(basename "$1")"
    fi
}
says_out() { says "$out"; }
says_err() { says "$err"; }
has() { # has FILE PATTERN
    printf '%s\n' "$2" >"$CASE_DIR/pattern"
    want=$(pattern_of "$CASE_DIR/pattern")
    while IFS= read -r line || [ -n "$line" ]; do
        # shellcheck disable=SC2254
        case $line in $want) return 0 ;; esac
    done <"$1"
    return 1
}
has_out() { has "$out" "$1" || fail "no line of stdout fits: $1"; }
has_err() { has "$err" "$1" || fail "no line of stderr fits: $1"; }
no_err() { if has "$err" "$1"; then fail "a line of stderr fits: $1"; fi; }
same() { # same A B [OPTION OF DIFF...]
    one=$1 two=$2
    shift 2
    if diff -r -u "$@" "$one" "$two" >"$CASE_DIR/diff" 2>&1; then return; fi
    head -n 40 "$CASE_DIR/diff"
    sed -n 's/^Binary files \(.*\.safetensors\) and \(.*\.safetensors\) differ$/\1 \2/p' "$CASE_DIR/diff" | while read -r a b; do
        "$WEIGHTS_DIFF" "$a" "$b" || true
    done
    fail "$one and $two differ"
}
same_but_logs() { same "$1" "$2" -x 'events.out.*' -x 'train_log*.jsonl' -x feature_counts.json; }
differ() { if diff -r "$1" "$2" >/dev/null 2>&1; then fail "$1 and $2 are equal"; fi; }
is_there() { [ -e "$1" ] || fail "$1 is missing"; }
is_gone() { [ ! -e "$1" ] || fail "$1 is there"; }

trust() {
    mkdir -p "$HOME/.config/crank"
    sha256sum "$@" >>"$HOME/.config/crank/libraries"
}

# weights and optimizer state of the newest checkpoint of a model_dir
newest() { ls -d "$1"/model.ckpt-* | sed 's/.*model\.ckpt-//' | sort -n | tail -n 1 | sed "s,^,$1/model.ckpt-,"; }
same_weights() { # same_weights MODEL_DIR_A MODEL_DIR_B
    a=$(newest "$1") b=$(newest "$2")
    [ "$(basename "$a")" = "$(basename "$b")" ] || fail "newest checkpoints are $a and $b"
    n=0
    for f in "$a"/*.safetensors; do
        is_there "$b/$(basename "$f")"
        where=$("$WEIGHTS_DIFF" "$f" "$b/$(basename "$f")") || fail "$where"
        n=$((n + 1))
    done
    [ $n -ge 2 ] || fail "$a holds $n safetensors files; weights and optimizer state were expected"
}

flip() {
    byte=$(od -An -tu1 -j"$2" -N1 "$1" | tr -d ' ')
    # shellcheck disable=SC2059
    printf "\\$(printf %03o $(((byte & ~(1 << ($2 % 8))) | (~byte & (1 << ($2 % 8))))))" |
        dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
old_version() {
    rm "$1/manifest.json"
    sed 's/"format_version": *2/"format_version": 1/' "$1/index.json" >"$CASE_DIR/index"
    for f in "$1"/*.safetensors; do
        crc=$(gzip -1 -c "$f" | tail -c 8 | od -An -tx4 -N4 | tr -d ' ')
        sed "s/\(\"name\": *\"$(basename "$f")\", *\"size\": *[0-9]*\)}/\1, \"crc32\": \"$crc\"}/" "$CASE_DIR/index" >"$CASE_DIR/index2"
        mv "$CASE_DIR/index2" "$CASE_DIR/index"
    done
    cp "$CASE_DIR/index" "$1/index.json"
}

# mpi_leaks: the case runs MPI, whose libraries keep memory to the end; a sanitizer must not count it
mpi_leaks() {
    sanitized=${ASAN_OPTIONS:-} # not empty: a sanitizer is at work, which needs memory for itself
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
    export ASAN_OPTIONS
}

# train.csv (and eval.csv): label,user,item,tags,price; the label depends on user and item
tiny_data() { # tiny_data [ROWS [EVAL_ROWS]]
    tiny_rows train.csv "${1:-640}" 17
    tiny_rows eval.csv "${2:-200}" 4711
}
tiny_rows() { # tiny_rows FILE ROWS SEED
    awk -v n="$2" -v seed="$3" '
    function r(m) { s = (s * 1103 + 12345) % 1048573; return s % m }
    BEGIN {
        s = seed
        print "label,user,item,tags,price"
        for (i = 0; i < n; i++) {
            u = r(50); v = r(30); t = r(7); k = r(3)
            tags = ""
            for (j = 0; j < k; j++) tags = tags (j ? "|" : "") r(20)
            p = r(1000) / 100
            y = ((u * 7 + v * 3) % 10 + p / 3 + r(4) > 8) ? 1 : 0
            printf "%d,%d,%d,%s,%.2f\n", y, u, v, tags, p
        }
    }' >"$1"
}
h5_make() { "$H5_MAKE" "$@" || fail "h5_make $*"; }
pq_make() { "$PQ_MAKE" "$@" || fail "pq_make $*"; }
tiny_parquet() { # tiny_parquet [ROWS PER GROUP]
    for f in train eval; do
        pq_make -c $f.parquet 'label:int32, user:int64, item:int64, tags:string, price:double' "${1:-100}" <$f.csv
    done
    sed 's/CsvDataset/ParquetDataset/; s/_path: \(.*\)\.csv/_path: \1.parquet/' tiny.yaml >tiny_pq.yaml
}
# tiny.yaml: wide_and_deep over tiny_data; the line numbers are part of what cases expect
tiny_config() {
    cat >tiny.yaml <<'END'
train_input_path: train.csv
eval_input_path: eval.csv
model_dir: model
train_config:
  sparse_optimizer:
    adagrad_optimizer: {lr: 0.05}
    constant_learning_rate: {}
  dense_optimizer:
    adam_optimizer: {lr: 0.005}
    constant_learning_rate: {}
  num_epochs: 2
  save_checkpoints_steps: 10
data_config:
  dataset_type: CsvDataset
  batch_size: 32
  fg_mode: FG_NONE
  fg_encoded_multival_sep: "|"
  with_header: true
  label_fields: [label]
feature_configs:
  - id_feature: {feature_name: user, expression: "user:user", num_buckets: 50, embedding_dim: 4}
  - id_feature: {feature_name: item, expression: "item:item", num_buckets: 30, embedding_dim: 4}
  - id_feature: {feature_name: tags, expression: "item:tags", num_buckets: 20, embedding_dim: 4}
  - raw_feature: {feature_name: price, expression: "item:price"}
model_config:
  feature_groups:
    - {group_name: wide, group_type: WIDE, feature_names: [user, item, tags]}
    - {group_name: deep, group_type: DEEP, feature_names: [user, item, tags, price]}
  wide_and_deep:
    deep: {hidden_units: [16, 8]}
  losses:
    - binary_cross_entropy: {}
  metrics:
    - auc: {}
END
}
# edit LINE TEXT: replaces line LINE of tiny.yaml
edit() {
    awk -v n="$1" -v t="$2" 'NR == n { print t; next } { print }' tiny.yaml >tiny.new
    mv tiny.new tiny.yaml
}
