# Parquet files that do not fit: one line with file, column and both types, before anything runs
tiny_config
tiny_data 200 100
tiny_parquet 64
mkdir d
put() { # put NAME SCHEMA: rows of train.csv as d/NAME.parquet
    pq_make -c d/"$1".parquet "$2" <train.csv
}
all='label:int32, user:int64, item:int64, tags:string, price:double'
put a "$all"
put b "$all"
put c 'label:int32, user:int64, itm:int64, tags:string, price:double'
run crank train tiny_pq.yaml --model_dir m --train_input_path d
ends 2
says_err <<'END'
tiny_pq.yaml:22:32: d/c.parquet has no column 'item', which feature 'item' needs; did you mean 'itm'?
END
is_gone m/model.ckpt-0
put c 'label:int32, user:int64, item:string, tags:string, price:double'
run crank check tiny_pq.yaml --train_input_path d
ends 3
has_err "tiny_pq.yaml:22:32: column 'item', which feature 'item' needs, has the type string in d/c.parquet and int64 in d/a.parquet; write all files alike, or give its input_type in input_fields"
put c 'label:string, user:double, item:int64, tags:string, price:string'
run crank check tiny_pq.yaml --train_input_path d/c.parquet
ends 3
has_err "tiny_pq.yaml:21:32: column 'user' holds double; feature 'user' needs integers or text: give it an integer input_type in input_fields, or use raw_feature"
# the same file for training and evaluation is wrong twice and told once; nothing is read of it
run crank check tiny_pq.yaml --train_input_path d/c.parquet --eval_input_path d/c.parquet
ends 3
[ "$(grep -c "column 'user'" "$err")" -eq 1 ] || fail "not told once"
has_out "eval      not read: d/c.parquet"
# a label that is a list, a struct, an id in lists of lists
printf '[1]|1|2|3|4\n' | pq_make d/c.parquet 'label:list<int32>, user:int64, item:int64, tags:string, price:double'
run crank check tiny_pq.yaml --train_input_path d/c.parquet
ends 3
has_err "tiny_pq.yaml:19:18: column 'label' holds list<int32>; a label is one number per row"
printf '1|1|2|[[3]]|4\n' | pq_make d/c.parquet 'label:int32, user.id:int64, item:int64, tags:list<list<int64>>, price:double'
run crank check tiny_pq.yaml --train_input_path d/c.parquet
ends 3
has_err "tiny_pq.yaml:21:32: column 'user', which feature 'user' needs, has the type struct<id: int64> in d/c.parquet, which is a struct; name its members with dots, such as 'user.id'"
run crank check tiny_pq.yaml --train_input_path d/c.parquet --set 'feature_configs[0].id_feature.feature_name=user.idd' \
    --set 'model_config.feature_groups[0].feature_names=[item]' --set 'model_config.feature_groups[1].feature_names=[item]'
ends 2
has_err "...d/c.parquet has no column 'user.idd', which feature 'user.idd' needs; did you mean 'user.id'? Or, fg_mode FG_NONE does not apply expression, set ..."
printf '1|1|2|[[3]]|4\n' | pq_make d/c.parquet 'label:int32, user:int64, item:int64, tags:list<list<int64>>, price:double'
run crank check tiny_pq.yaml --train_input_path d/c.parquet
ends 3
has_err "tiny_pq.yaml:23:32: column 'tags' holds list<list<int64>>; feature 'tags' needs single values or lists"
put c 'x:int32, y:int64, z:int64, v:string, w:double'
run crank check tiny_pq.yaml --train_input_path d
ends 2
has_err "d/c.parquet: it has none of the 5 columns that the config needs, it has 'x', 'y', 'z', 'v', 'w'; is it the right file?"
[ "$(grep -c c.parquet "$err")" -eq 1 ] || fail "more than one line"
# every row is bad: leaving rows out is no advice
put a 'label:int32, user:string, item:int64, tags:string, price:string'
sed 's/,[^,]*$/,x/' train.csv | pq_make -c d/a.parquet "$(echo "$all" | sed s/double/string/)"
run crank check tiny_pq.yaml --train_input_path d/a.parquet
ends 3
has_err "d/a.parquet: row 0 (from 0): column 'price', value 'x': not a number; 200 bad rows among 200, max_bad_rows is 0: correct the data or the config"
# a null label, an id that is none: file, row and column
{ sed 20q train.csv; echo ',1,2,3,4.5'; sed 1,20d train.csv; } >null.csv
pq_make -c null.parquet "$all" 7 <null.csv
run crank train tiny_pq.yaml --model_dir m --train_input_path null.parquet
ends 3
has_err "null.parquet: row 19 (from 0): column 'label' is empty; a label must be a number; correct the row, or leave some out with data_config.max_bad_rows"
run crank train tiny_pq.yaml --model_dir m1 --train_input_path null.parquet --set data_config.max_bad_rows=1
ends 0
has_err "...null.parquet: row 19 (from 0): column 'label' is empty; a label must be a number; the row is left out"
run crank train tiny_pq.yaml --model_dir m2
ends 0
same_weights m1 m2
# not Parquet, cut short, empty, a mixture, nothing at all
rm -r d
mkdir d e
cp train.parquet d/a.parquet
head -c 3000 train.parquet >d/b.parquet
run crank check tiny_pq.yaml --train_input_path d
ends 3
has_err "d/b.parquet: it begins as a Parquet file and has no footer; it is cut short or still being written..."
cp train.csv d/b.parquet
run crank check tiny_pq.yaml --train_input_path d
ends 3
has_err "d/b.parquet: not a Parquet file; leave it out, or set data_config.dataset_type to what it is"
: >d/b.parquet
run crank check tiny_pq.yaml --train_input_path 'd/*'
ends 3
has_err "d/b.parquet: the file is empty..."
rm d/b.parquet
cp train.csv d/
run crank check tiny_pq.yaml --train_input_path 'd/*'
ends 3
has_err "d/train.csv: not a Parquet file; leave it out, or set data_config.dataset_type to what it is"
run crank check tiny_pq.yaml --train_input_path d
ends 0
run crank check tiny.yaml --train_input_path 'd/*'
ends 3
has_err "d/a.parquet: this is a Parquet file; set dataset_type: ParquetDataset in data_config"
run crank check tiny_pq.yaml --train_input_path e
ends 1
has_err "--train_input_path: 'e': the directory holds no file ending in .parquet..."
: | pq_make e/none.parquet "$all"
run crank train tiny_pq.yaml --model_dir m3 --train_input_path e
ends 3
# bytes that are wrong inside a page: file, column, row group
cp train.parquet broken.parquet
printf '\377\377\377\377\377\377\377\377' | dd of=broken.parquet bs=1 seek=40 conv=notrunc 2>/dev/null
run crank train tiny_pq.yaml --model_dir m4 --train_input_path broken.parquet
ends 3
has_err "broken.parquet: column 'label', row group 0, byte ...: ..."
# input_fields that do not fit
run crank check tiny_pq.yaml --set 'data_config.input_fields_str=tags:INT64;'
ends 2
has_err "--set:1:31: column 'tags' has the type string in train.parquet, which cannot be converted to INT64; correct input_type or leave it out"
# a vocabulary written otherwise than the column
for i in 0 1 0 1 1; do printf '%s|%s\n' $i $i; done | pq_make v.parquet 'label:int32, flag:bool'
sed -e '/feature_configs/,$d' -e 's/FG_NONE/FG_NORMAL/' -e '/fg_encoded_multival_sep/d' tiny_pq.yaml >v.yaml
cat >>v.yaml <<'END'
feature_configs:
  - id_feature: {feature_name: flag, expression: "user:flag", vocab_list: [WORDS], embedding_dim: 4}
model_config:
  feature_groups:
    - {group_name: all, group_type: DEEP, feature_names: [flag]}
  multi_tower: {towers: [{input: all, mlp: {hidden_units: [4]}}], final: {hidden_units: [4]}}
  losses: [{binary_cross_entropy: {}}]
END
sed 's/WORDS/"true", "false"/' v.yaml >v1.yaml
run crank check v1.yaml --train_input_path v.parquet --eval_input_path v.parquet
ends 0
has_err "v1.yaml:...: warning: feature 'flag': none of the 5 sampled values of train data is in its vocabulary; compare it with what the column holds (a bool is 0 or 1, a date a number)"
sed 's/WORDS/"0", "1"/' v.yaml >v2.yaml
run crank check v2.yaml --train_input_path v.parquet --eval_input_path v.parquet
ends 0
no_err "...vocabulary..."
