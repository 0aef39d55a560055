# every feature type and its sequence form: row by row, in batches of any size, from CSV, from Parquet as text and as lists
files=$CLI/../golden/tokenizers
cp "$files/byte_level.json" .
awk 'BEGIN { s = 11; split("the thing abc other and", w, " "); print "y,u,a,x,kv,nested,t,mask,xs,as"
    for (i = 0; i < 60; i++) { s = (s * 1103 + 12345) % 1048573; a = s % 4; b = int(s / 7) % 5; x = s % 90
    printf "%d,%s,%s,%s,%s,%s,%s,%s,%s,%s\n", i % 2, i % 7 ? a : "", i % 5 ? "p" a "|q" b : "", i % 6 ? x / 8 : "", i % 4 ? "p" a ":" b "|q" b ":2.5" : "",
        "u" a "^p" a ":" b "|" a "^p" a ":7", w[1 + a] " " w[1 + b], a % 2 ? "true|false" : "0|1", i % 5 ? x / 8 ";" b ";" a : "", i % 5 ? "p" a ";q" b "|r;" : "" } }' >f.csv
types() { # the same for rows and for steps
    p=$1 sep=$2 src=$3
    cat <<EOF
  - ${p}id_feature: {feature_name: ${p}id, expression: "item:$src", separator: "|", hash_bucket_size: 97, embedding_dim: 4$sep}
  - ${p}raw_feature: {feature_name: ${p}raw, expression: "item:x$4", default_value: "0.5", normalizer: "method=zscore,mean=1,standard_deviation=2"$sep}
  - ${p}raw_feature: {feature_name: ${p}raw_b, expression: "item:x$4", boundaries: [0.5, 3, 7], embedding_dim: 4$sep}
  - ${p}combo_feature: {feature_name: ${p}combo, expression: ["item:$src", "user:u"], separator: "|", hash_bucket_size: 97, embedding_dim: 4$sep}
  - ${p}combine_feature: {feature_name: ${p}combine, expression: "item:$src", separator: "|", value_map: {p1: 1, q2: 2.5, q3: 4}, combiner: mean$sep}
  - ${p}lookup_feature: {feature_name: ${p}lookup, map: "user:kv", key: "item:$src", separator: "|", combiner: max$sep}
  - ${p}lookup_feature: {feature_name: ${p}lookup_d, map: "user:kv", key: "item:$src", separator: "|", vocab_list: ["1", "2.5"], embedding_dim: 4$sep}
  - ${p}match_feature: {feature_name: ${p}match, nested_map: "user:nested", pkey: "user:u", skey: "item:$src", separator: "|", hash_bucket_size: 97, embedding_dim: 4$sep}
  - ${p}expr_feature: {feature_name: ${p}expr, variables: ["item:x$4", "user:u"], expression: "x$4*2+u", boundaries: [1, 5, 9], embedding_dim: 4$sep}
  - ${p}overlap_feature: {feature_name: ${p}overlap, query: "item:$src", title: "user:a", separator: "|", method: query_common_ratio$sep}
  - ${p}kv_dot_product: {feature_name: ${p}dot, query: "user:kv", document: "item:$src", separator: "|"$sep}
  - ${p}tokenize_feature: {feature_name: ${p}tok, expression: "item:$src", vocab_file: byte_level.json, embedding_dim: 4$sep}
  - ${p}custom_feature: {feature_name: ${p}custom, operator_name: EditDistance, operator_lib_file: pyfg/lib/libedit_distance.so, expression: ["item:$src", "user:u"]$sep}
EOF
}
{
    cat <<'EOF'
train_input_path: f.csv
model_dir: m
train_config:
  sparse_optimizer: {adagrad_optimizer: {lr: 0.1}, constant_learning_rate: {}}
  dense_optimizer: {sgd_optimizer: {lr: 0.01}, constant_learning_rate: {}}
  num_epochs: 1
data_config: {dataset_type: CsvDataset, batch_size: 30, fg_mode: FG_DAG, with_header: true, label_fields: [y], input_fields: [{input_name: u, input_type: STRING}]}
feature_configs:
EOF
    types "" "" a ""
    types sequence_ ", sequence_length: 4" as s
    cat <<'EOF'
  - bool_mask_feature: {feature_name: mask, expression: ["item:a", "user:mask"], separator: "|", hash_bucket_size: 97, embedding_dim: 4}
  - tokenize_feature: {feature_name: steps, expression: "item:t", vocab_file: byte_level.json, embedding_dim: 4, tokens_as_sequence: true, sequence_length: 3}
  - sequence_feature:
      sequence_name: blk
      sequence_length: 3
      features:
      - id_feature: {feature_name: i, expression: "item:a", separator: "|", hash_bucket_size: 97, embedding_dim: 4, value_dim: 0}
      - raw_feature: {feature_name: x, expression: "item:x"}
model_config:
  feature_groups:
    - {group_name: all, group_type: DEEP, feature_names: [id, raw, raw_b, combo, lookup_d, match, expr, tok, custom]}
  multi_tower:
    towers: [{input: all, mlp: {hidden_units: [4]}}]
    final: {hidden_units: [4]}
  losses: [{binary_cross_entropy: {}}]
EOF
} >f.yaml
# the block's columns are the sequences again
awk -F, -v OFS=, 'NR == 1 { print $0, "blk__a", "blk__x"; next } { print $0, $10 != "" ? $10 : "", $9 != "" ? $9 : "" }' f.csv >f2.csv
mv f2.csv f.csv
run crank train f.yaml
ends 0
run crank export m/pipeline.config --export_dir e
ends 0
run crank fg e --input f.csv --rows 100
ends 0
awk '/^row/ { if (n++) print line; line = ""; next } /bad row/ { print "bad: " $0; next }
    { name = $1; v = $0; if (!sub(/.*-> (ids|floats) \[/, "", v)) v = ""; sub(/\](  \(.*)?$/, "", v)
      gsub(/\], \[/, ";", v); gsub(/[][]/, "", v); gsub(/, /, "|", v); gsub(/;/, ",", v); line = line (line ? ";" : "") name ":" v }
    END { print line }' "$out" >rows
if grep -q '^bad' rows; then fail "$(grep '^bad' rows | head -n 1)"; fi
[ "$(wc -l <rows)" -eq 60 ] || fail "$(wc -l <rows) rows"
pq_make -c text.parquet "y:int64, u:string, a:string, x:double, kv:string, nested:string, t:string, mask:string, xs:string, as:string, blk__a:string, blk__x:string" 17 <f.csv
# lists: tokens and numbers as the file's own; a cell that is empty is null
awk -F, 'NR > 1 { u = $2 == "" ? "null" : $2; a = $3 == "" ? "null" : "[" $3 "]"; gsub(/\|/, ",", a); x = $4 == "" ? "null" : $4
    xs = $9 == "" ? "null" : "[" $9 "]"; gsub(/;/, ",", xs); bx = xs
    printf "%s|%s|%s|%s|%s|%s\n", $1, u, a, x, xs, bx }' f.csv >lists.txt
pq_make lists.parquet "y:int64, u:int64, a:list<string>, x:double, xs:list<double>, blk__x:list<double>" 23 <lists.txt
for n in 1 7 1000; do
    for i in f.csv text.parquet; do
        run crank predict --scripted_model_path e --predict_input_path $i --predict_output_path p --writer_type CsvWriter --debug_level 1 --output_columns logits --batch_size $n
        ends 0
        sed '1d; s/^[^,]*,//; s/"//g' p/part-0.csv >got
        sed 's/ *$//' rows | diff -u - got >d || fail "$i, batches of $n: $(head -n 8 d | cut -c 1-600)"
    done
done
# what can be read as lists alone gives the same
sed -n '1,/^feature_configs/p' f.yaml | sed 's/, input_fields.*}]}/}/' >l.yaml
grep -E 'feature_name: (id|raw|raw_b|combo|combine|expr|sequence_raw|sequence_raw_b|sequence_expr),' f.yaml >>l.yaml
sed -n '/^model_config/,$p' f.yaml | sed 's/feature_names: .*]}/feature_names: [id, raw, raw_b, combo, expr]}/' >>l.yaml
for i in f.csv lists.parquet; do
    run crank fg l.yaml --input $i --rows 100
    ends 0
    sed -n 's/^  \([a-z_]*\) .*-> \(\(ids\|floats\) .*\)/\1 \2/p' "$out" >$i.made
    [ "$(wc -l <$i.made)" -eq 540 ] || fail "$i: $(wc -l <$i.made) lines"
done
same f.csv.made lists.parquet.made
