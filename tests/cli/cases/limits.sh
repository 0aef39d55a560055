# limits instead of exhaustion: sizes that do not fit are told, files have limits, and want of memory or stack is one line
tiny_data 320 64
tiny_config

# ---- sizes of a config: no sum wraps around ----
for n in 9223372036854775807 1152921504606846976; do
    run crank check tiny.yaml --set "feature_configs[0].id_feature.num_buckets=$n"
    ends 1
    has_out "memory    9.2 EB: tables 9.2 EB, ..."
    if grep -q 'tables with -' "$out"; then fail "the sum of rows wrapped around"; fi
    has_err "tiny.yaml:...: training needs about 9.2 EB, this machine has ... free; ..."
    run crank train tiny.yaml --model_dir m --set "feature_configs[0].id_feature.num_buckets=$n"
    ends 1
    has_err "crank train: no memory for ...: 18.4 EB needed, ... free; ..."
done
run crank check tiny.yaml --set data_config.batch_size=4294967295
ends 1
has_err "crank check: no memory for batch buffers: ... needed, ... free; ..."

# ---- only regular files are read as assets, and not beyond their limit ----
mkfifo pipe
mkdir folder
truncate -s 1073741825 large
for f in /dev/zero pipe folder large; do
    for feature in "id_feature: {feature_name: user, vocab_file: $f, default_bucketize_value: 0, embedding_dim: 4}" \
        "tokenize_feature: {feature_name: user, expression: 'user:user', vocab_file: $f, embedding_dim: 4}"; do
        tiny_config
        edit 21 "  - $feature"
        run timeout 60 crank check tiny.yaml
        ends 1
        case $f in
        folder) has_err "tiny.yaml:21:...: feature 'user': vocab_file: folder: cannot read: Is a directory; name a file, not a directory" ;;
        large) has_err "tiny.yaml:21:...: feature 'user': vocab_file: large: the file is larger than the ... bytes allowed here; is it the right file?" ;;
        *) has_err "tiny.yaml:21:...: feature 'user': vocab_file: $f: not a regular file, but a device, pipe or socket; copy the data into a file" ;;
        esac
    done
done
rm large
# a config may come through a pipe that the user names
tiny_config
(cat tiny.yaml >pipe) &
run timeout 60 crank config pipe
ends 0

# ---- a tokenizer is limited in what it puts in, and in the work it does on a text ----
tokenizer() { # tokenizer FILE NORMALIZERS
    printf '{"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":[]},"normalizer":{"type":"Sequence","normalizers":[%s]}}\n' "$2" >"$1"
}
{
    printf '{"type":"Prepend","prepend":"'
    head -c 10000000 /dev/zero | tr '\0' a
    printf '"}'
} >prepend
printf '{"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"normalizer":%s}\n' "$(cat prepend)" >prepend.json
double='{"type":"Replace","pattern":{"String":"a"},"content":"aa"}'
all=$double
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35; do all="$all,$double"; done
tokenizer double.json "$all"
tokenizer many.json "$all,$all"
tokenizer slow.json '{"type":"Replace","pattern":{"Regex":"(a+)+$"},"content":"b"}'
with_tokenizer() { # with_tokenizer FILE
    tiny_config
    edit 16 "  fg_mode: FG_NORMAL"
    edit 21 "  - tokenize_feature: {feature_name: user, expression: 'user:text', vocab_file: $1, embedding_dim: 4, default_value: a}"
    edit 23 "  - id_feature: {feature_name: tags, expression: 'item:item', num_buckets: 30, embedding_dim: 4}"
}
awk -F, 'NR == 1 { print $0 ",text"; next } { print $0 ",a" }' train.csv >t && mv t train.csv
awk -F, 'NR == 1 { print $0 ",text"; next } { print $0 ",a" }' eval.csv >t && mv t eval.csv
with_tokenizer prepend.json
run timeout 60 crank check tiny.yaml
ends 2
has_err "tiny.yaml:21:...: feature 'user': vocab_file 'prepend.json': normalizer Prepend puts in a text of 10000000 bytes; at most 1024 are allowed: ..."
with_tokenizer many.json
run timeout 60 crank check tiny.yaml
ends 2
has_err "...vocab_file 'many.json': more than 64 normalizers; take a tokenizer with fewer"
with_tokenizer double.json
run timeout 100 crank train tiny.yaml --model_dir m
ends 3
has_err "...csv:2: ...takes too much work on it..."
awk -F, -v OFS=, 'NR > 1 { $6 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac" } { print }' train.csv >t && mv t train.csv
with_tokenizer slow.json
run timeout 100 crank train tiny.yaml --model_dir m
ends 3
has_err "...csv:2: ...takes too much work on it..."

# ---- want of memory is one line and exit code 1; a small stack is enough ----
tiny_data 320 64
tiny_config
run crank train tiny.yaml --model_dir whole
ends 0
run crank export whole/pipeline.config --export_dir export
ends 0
limited() { # limited LIMIT VALUE CMD...: exit code 0, or 1 with one line
    run sh -c 'ulimit "$0" "$1" || exit 77; shift; exec "$@"' "$@"
    ends 0 1 77 127
    [ $code -ne 77 ] || skip "ulimit $1 cannot be set here"
    [ $code -ne 127 ] || return 0 # not even the libraries of the program fit
    [ $code -ne 0 ] || return 0
    [ "$(grep -c -v '\[INFO\]' "$err")" -eq 1 ] || fail "more than one line, or none"
}
if [ -z "${ASAN_OPTIONS:-}" ]; then # the sanitizer needs the address space for itself
    v=12000
    while [ $v -lt 160000 ]; do
        rm -rf m o x
        limited -v $v crank train tiny.yaml --model_dir m --threads 2
        limited -v $v crank export whole/pipeline.config --export_dir x
        limited -v $v crank predict --scripted_model_path export --predict_input_path eval.csv --predict_output_path o
        v=$((v + 9300))
    done
    for s in 128 256; do
        rm -rf m o x
        limited -s $s crank train tiny.yaml --model_dir m
        ends 0
        same_weights whole m
        limited -s $s crank export m/pipeline.config --export_dir x
        ends 0
        limited -s $s crank predict --scripted_model_path x --predict_input_path eval.csv --predict_output_path o
        ends 0
    done
fi

# ---- an export needs no memory for tables: their rows go from file to file ----
if [ -z "${ASAN_OPTIONS:-}" ]; then
    tiny_config
    edit 21 '  - id_feature: {feature_name: user, expression: "user:user", num_buckets: 400000, embedding_dim: 64}'
    run crank train tiny.yaml --model_dir wide --eval_input_path=
    ends 0
    run crank export wide/pipeline.config --export_dir wide_free
    ends 0
    run sh -c 'ulimit -d 80000 || exit 77; exec "$@"' sh crank export wide/pipeline.config --export_dir wide_limited --threads 2
    [ $code -ne 77 ] || skip "ulimit -d cannot be set here"
    ends 0
    same wide_free wide_limited
fi

# ---- a limit of the process counts as free memory, and says so ----
if [ -z "${ASAN_OPTIONS:-}" ]; then
    tiny_config
    edit 21 '  - id_feature: {feature_name: user, expression: "user:user", num_buckets: 20000000, embedding_dim: 4}'
    run sh -c 'ulimit -v 600000; exec "$@"' sh crank check tiny.yaml
    ends 1
    has_out "machine   ..., ... MB free, ..."
    has_err "tiny.yaml:21:...: training needs about ..., this process (ulimit -v) has ... MB free; shrink ..."
    run sh -c 'ulimit -v 600000; exec "$@"' sh crank train tiny.yaml --model_dir large
    ends 1
    has_err "crank train: no memory for ...: ... needed, this process (ulimit -v) has ... MB free; make it smaller or allow more memory"
fi

# ---- many tables that grow take few addresses; when there are none left, that is one line ----
if [ -z "${ASAN_OPTIONS:-}" ]; then
    tiny_config
    awk '/id_feature/ { if (!n++) for (i = 1; i <= 40; i++)
            printf "  - id_feature: {feature_name: f%d, expression: \"user:user\", growing: {}, embedding_dim: 4}\n", i; next }
        /WIDE/ || /^    deep:/ { next }
        /DEEP/ { s = "f1"; for (i = 2; i <= 40; i++) s = s ", f" i; sub("user, item, tags", s) }
        /wide_and_deep:/ { print "  multi_tower: {towers: [{input: deep, mlp: {hidden_units: [8]}}], final: {hidden_units: [4]}}"; next }
        { sub("FG_NONE", "FG_NORMAL"); print }' tiny.yaml >many.yaml
    run crank train many.yaml --model_dir many_free --threads 1
    ends 0
    run sh -c 'ulimit -v 1000000 || exit 77; exec "$@"' sh crank train many.yaml --model_dir many --threads 1
    [ $code -ne 77 ] || skip "ulimit -v cannot be set here"
    ends 0
    same_weights many_free many
    run sh -c 'ulimit -v 250000; exec "$@"' sh crank train many.yaml --model_dir none --threads 1
    ends 1
    has_err "crank train: no memory for ...: ... needed, this process (ulimit -v) has ... MB free; make it smaller or allow more memory"
fi

# ---- too many open files: every message names that limit, none the disk ----
tiny_config
told=0
for n in 4 5 6 7 8 9 10 11 12 14; do
    rm -rf m o
    for cmd in "train tiny.yaml --model_dir m" "eval whole/pipeline.config" \
        "predict --scripted_model_path export --predict_input_path eval.csv --predict_output_path o"; do
        # shellcheck disable=SC2086
        run sh -c 'ulimit -n "$0" || exit 77; exec "$@"' $n crank $cmd
        [ $code -eq 127 ] && continue
        no_err "...check the disk..."
        if [ $code -ne 0 ]; then
            ends 1
            has_err "...Too many open files; raise the limit of open files (ulimit -n)..."
            told=$((told + 1))
        fi
    done
done
[ $told -ge 3 ] || fail "the limit of open files was met $told times only"
