# crank check looks at the data as well: a column that no file has
tiny_config
tiny_data
edit 22 '  - id_feature: {feature_name: itm, expression: "item:itm", num_buckets: 30, embedding_dim: 4}'
sed -i 's/\[user, item, tags/[user, itm, tags/' tiny.yaml
run crank check tiny.yaml
ends 2
has_err "...train.csv has no column 'itm', which ... needs; did you mean 'item'?"
tiny_config
# another delimiter is one line, with the likely one
tr , ';' <train.csv >semi.csv
run crank check tiny.yaml --train_input_path semi.csv
ends 2
has_err "tiny.yaml:13:1: semi.csv: the header is one column when cut at delimiter \",\", 5 columns when cut at \";\"; set data_config.delimiter to that"
[ "$(grep -c semi.csv "$err")" -eq 1 ] || fail "more than one line"
run crank check tiny.yaml --train_input_path semi.csv --eval_input_path semi.csv --set 'data_config.delimiter=;'
ends 0
run crank train tiny.yaml --model_dir m --eval_input_path '' --set 'data_config.delimiter="\t"'
ends 2
has_err "--set:1:23: train.csv: the header is one column when cut at delimiter \"\\t\", 5 columns when cut at \",\"; set data_config.delimiter to that"
# another file
printf 'a,b\n1,2\n' >other.csv
run crank check tiny.yaml --train_input_path other.csv
ends 2
has_err "other.csv:1: the header has none of the 5 columns that the config needs, it has 'a', 'b'; is it the right file, and does it have a header?"
[ "$(grep -c other.csv "$err")" -eq 1 ] || fail "more than one line"
# a name that is like no other: what there is besides
run crank check tiny.yaml --set 'data_config.label_fields=[clicked]'
ends 2
has_err "--set:1:27: train.csv has no column 'clicked', which label_fields needs; it has 'label' that nothing reads"
# a binary file under the name of a text file: said so, and not printed
printf '\030\001x,\002\376\nabc\n' >binary.csv
run crank check tiny.yaml --train_input_path binary.csv
ends 3
has_err "binary.csv:1: the first line is not text; name CSV files, plain or packed with gzip or zstd"
# a file in another encoding, with and without a header
iconv -t UTF-16 train.csv >wide.csv
for header in true false; do
    run crank train tiny.yaml --train_input_path wide.csv --model_dir wide --set eval_input_path='' --set data_config.with_header=$header --set 'data_config.input_fields_str="user:INT64;item:INT64;tags:STRING;price:DOUBLE;label:INT64"'
    ends 3
    has_err "wide.csv: the text is UTF-16; write it as UTF-8 (iconv -f UTF-16 -t UTF-8)"
done
