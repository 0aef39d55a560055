# docs/guide/security.md, "Names and texts": what a terminal would obey is escaped in every output, other text is kept
tiny_data 320 64
tiny_config
esc=$(printf '\033')
no_escapes() {
    if LC_ALL=C grep -q "[$esc$(printf '\007\177\233')]" "$out" "$err"; then fail "a control character was printed"; fi
}
# names of a checkpoint: a safetensors file with an escape, a newline, a C1 control, a turned direction and Chinese text in a name
name='a\u001b]0;x\u0007\nb\u009b31m\u202e\u4e2d\u6587'
head="{\"$name\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"
write() { # write FILE BYTE: little-endian length, header, one float
    n=$(printf '%s' "$head" | wc -c)
    {
        printf "$(printf '\\%03o\\%03o\\0\\0\\0\\0\\0\\0' $((n % 256)) $((n / 256)))"
        printf '%s' "$head"
        printf '\0\0\200\077' | sed "s/$(printf '\077')/$2/"
    } >"$1"
}
write a.safetensors '?'
write b.safetensors '>'
run crank params a.safetensors
ends 0
no_escapes
has_out "...a\x1b]0;x\a\nb\u{9b}31m\u{202e}$(printf '\344\270\255\346\226\207')  [1] ..."
run crank params a.safetensors --json
ends 0
no_escapes
has_out "...a\u001b]0;x\u0007\nb\u009b31m\u202e$(printf '\344\270\255\346\226\207')..."
run crank diff a.safetensors b.safetensors
ends 1
no_escapes
has_out "...a\x1b]0;x\a\nb\u{9b}31m\u{202e}$(printf '\344\270\255\346\226\207')..."
# values of data, columns and paths in messages
sed "2s/^[01],[0-9]*,/1,7$esc[31mred,/" train.csv >"bad$esc[2J.csv"
run crank train tiny.yaml --model_dir m --train_input_path "bad$esc[2J.csv"
ends 3
no_escapes
has_err 'bad\x1b[2J.csv:2: column...'
# names in a config: errors, logs, results
edit 16 "  fg_mode: FG_NORMAL"
edit 23 "  - id_feature: {feature_name: tags, expression: 'item:item', num_buckets: 30, embedding_dim: 4}"
sed "s/feature_name: price/feature_name: \"pri\\\\e[31mce\\\\n\"/; s/tags, price\]/tags, \"pri\\\\e[31mce\\\\n\"]/; s/item:price/item:no\\\\e[1m/" tiny.yaml >names.yaml
run crank check names.yaml
ends 2
no_escapes
has_err '...\x1b[1m...'
sed "s/feature_name: price/feature_name: \"pri\\\\e[31mce\\\\n\"/; s/tags, price\]/tags, \"pri\\\\e[31mce\\\\n\"]/" tiny.yaml >names.yaml
run crank train names.yaml --model_dir m
ends 0
no_escapes
run crank check names.yaml
ends 0
no_escapes
has_out '...pri\x1b[31mce\n...'
run crank fg names.yaml --rows 2
ends 0
no_escapes
run crank params m
ends 0
no_escapes
for f in yaml pbtxt; do
    run crank config names.yaml --format $f
    ends 0
    no_escapes
    cp "$out" again.$f
    run crank config again.$f --format yaml
    ends 0
    cp "$out" again
    run crank config names.yaml --format yaml
    same "$out" again
done
# names of Parquet columns
sed "1s/price/pri$esc[31mce/" train.csv >esc.csv
pq_make -c esc.parquet "label:int32, user:int64, item:int64, tags:string, pri$esc[31mce:double" 100 <esc.csv
for f in "" --schema --row_groups --json --rows_json; do
    run crank parquet esc.parquet $f
    ends 0
    no_escapes
done
