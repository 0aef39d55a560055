# reserved columns of Parquet come out as they are stored: types, nesting, nulls, names; also those no feature could read
tiny_config
tiny_data 640 4
tiny_parquet
run crank train tiny_pq.yaml
ends 0
run crank export tiny_pq.yaml --export_dir export
ends 0
schema='label:int32, user:int64, item:int64, tags:string, price:double, hash:uint64, s.age:int8, s.names:list<string>, dec:dec38_3, t:int96, m:map<string,bson>, ll:list<list<date>>, h:float16, none:nulls'
cat >rows <<'END_ROWS'
1|7|1|1|2.5|18446744073709551615|-1|[a,null]|99999999999999999999999999999999999999|2440589 3600000000000|{k:b}|[[1],[]]|0038|null
0|999|2||0|9223372036854775808|null|null|-1|null|null|null|null|null
1|8|3|4|1|1|5|[]|null|2440588 0|{}|[]|ff7b|null
0|x|9|4|1|1|5|["q"]|null|2440588 0|{}|[]|ff7b|null
END_ROWS
sed 3q rows >three
pq_make in.parquet "$schema" 2 <three
predict() { run crank predict --scripted_model_path export "$@"; }
predict --predict_input_path in.parquet --predict_output_path p --reserved_columns ALL_COLUMNS
ends 0
run crank parquet in.parquet --schema
ends 0
cp "$out" want
run crank parquet p/part-0.parquet --schema
ends 0
grep -v -e 'required FLOAT logits;' -e 'required FLOAT probs;' "$out" >got
same want got
names=label,user,item,tags,price,hash,s,dec,t,m,ll,h,none
run crank parquet in.parquet --rows_json --columns $names
cp "$out" want
run crank parquet p/part-0.parquet --rows_json --columns $names
cp "$out" got
same want got
[ "$(wc -l <got)" -eq 3 ] || fail "rows"

# the same bytes for any number of threads
for t in 1 2; do
    predict --predict_input_path in.parquet --predict_output_path t$t --reserved_columns ALL_COLUMNS --threads $t --batch_size 2
    ends 0
done
same t1/part-0.parquet t2/part-0.parquet

# as text: single values as they are, the others as JSON
predict --predict_input_path in.parquet --predict_output_path c --writer_type CsvWriter --output_columns probs \
    --reserved_columns hash,s,dec,t,m,ll,h,none
ends 0
cp c/part-0.csv "$out"
says_out <<'END_CSV'
hash,s,dec,t,m,ll,h,none,probs
18446744073709551615,"{""age"":-1,""names"":[""a"",null]}",99999999999999999999999999999999999.999,1970-01-02T01:00:00,"[[""k"",""0x62""]]","[[""1970-01-02""],[]]",0.5,,...
9223372036854775808,"{""age"":null,""names"":null}",-0.001,,,,,,...
1,"{""age"":5,""names"":[]}",,1970-01-01T00:00:00,[],[],65504,,...
END_CSV

# members of structs, in several files that differ in what can be null; rows left out
sed 1d rows | pq_make in2.parquet 'label:int32, user:string, item:int64, tags:string, price:double, hash:uint64, s.age:int8, s.names:list<string>, dec:dec38_3, t:int96, m:map<string,bson>, ll:list<list<date>>, h:float16, none:string'
predict --predict_input_path in2.parquet --predict_output_path m --reserved_columns s.names,hash,none \
    --set data_config.max_bad_rows=1
ends 0
run crank parquet m/part-0.parquet --rows_json --columns s.names,hash,none
says_out <<'END_ROWS'
{"s.names":null,"hash":9223372036854775808,"none":null}
{"s.names":[],"hash":1,"none":null}
END_ROWS
# the column that is null in one file is text in the other
predict --predict_input_path in.parquet,in2.parquet --predict_output_path m --reserved_columns none,s
ends 3
has_err "...column 'user', which feature 'user' needs, has the type string in in2.parquet and int64 in in.parquet; write all files alike..."

# what cannot be: told before the first step
pq_make other.parquet "$(echo "$schema" | sed 's/hash:uint64, s.age:int8/hash:int32, s.age:int64/')" <three
predict --predict_input_path in.parquet,other.parquet --predict_output_path q --reserved_columns hash,s
ends 3
has_err "...column 'hash', which --reserved_columns needs, has the type int32 in other.parquet and uint64 in in.parquet; write all files alike"
has_err "...column 's', which --reserved_columns needs, has the type struct<age: int64, names: list<string>> in other.parquet and struct<age: int8, names: list<string>> in in.parquet; write all files alike"
is_gone q/part-0.parquet
predict --predict_input_path in.parquet --predict_output_path q --reserved_columns m.value
ends 3
has_err "...column 'm.value', which --reserved_columns needs, has the type bson and lies in a list of structs; name the whole list"
is_gone q/part-0.parquet
