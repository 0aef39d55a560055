# crank profile and crank init: from data that nobody has described to a trained model
run crank synth criteo --rows 20k --eval_rows 5k --scale 0.01 -q -o data
ends 0
run crank profile data/train --label label --threads 1
ends 0
has_out "20.0k rows, ... columns in ... file... of ...; CSV cut at \",\", with a header"
has_out "...label...int...2..."
cp "$out" one
run crank profile data/train --label label --threads 3
ends 0
same one "$out"
run crank profile data/train --json --html page.html
ends 0
grep -q '"label": "label", "label_guessed": true' "$out" || fail "the label is not in the JSON"
grep -q '<table>' page.html || fail "no page"
# a config that trains as it is, and learns
run crank init data/train -o first.yaml --model_dir m --eval_input_path data/eval
ends 0
has_out "wrote first.yaml: ... features of ... columns, 20.0k rows"
has_out "  label       label, a yes-or-no label (guessed; --label names another)"
run crank check first.yaml
ends 0
run crank train first.yaml --set train_config.num_epochs=4
ends 0
auc=$(sed -n 's/^  best .*, auc //p' "$out")
awk -v a="$auc" 'BEGIN { exit !(a > 0.76) }' || fail "the first config learns nothing: AUC $auc"
# the same with what TorchEasyRec knows
run crank init data/train -o first.config --like tzrec
ends 0
grep -q 'eval_fraction\|null_values\|early_stopping' first.config && fail "keys of crank in $(cat first.config)"
grep -q '^# Made by crank init' first.config || fail "no comments"
run crank check first.config
ends 0
# Parquet gives the same choices
run crank synth criteo --rows 20k --eval_rows 5k --scale 0.01 -q -o pq --format parquet
ends 0
run crank init pq/train -o pq.yaml --model_dir mp
ends 0
run crank check pq.yaml
ends 0
# without a header, with words as labels, marks, weights, dates, leaks and names of evil
{
    for i in 1 2 3 4 5 6 7 8 9; do
        for j in 0 1 2 3 4 5 6 7 8 9; do echo "$i$j; 2024-01-0$i; $((i * j % 7)); $((j % 2 ? 1 : 2)); $([ $((i * j % 7)) -gt 2 ] && echo yes || echo no); ?"; done
        for j in 0 1 2 3 4 5 6 7 8 9; do echo "$j$i; 2024-02-0$i; $((i + j)); 1; $([ $j -gt 5 ] && echo yes || echo no); x"; done
    done
} >plain.txt
run crank init plain.txt --label 5 -o plain.yaml
ends 0
grep -q 'map: {"no": 0, "yes": 1}' plain.yaml || fail "no label_map: $(cat plain.yaml)"
grep -q 'delimiter: "; "' plain.yaml || fail "no delimiter: $(cat plain.yaml)"
grep -q 'null_values: \["?"\]' plain.yaml || fail "no null_values"
grep -q '#   col_2: a date (yyyy-mm-dd)' plain.yaml || fail "the date is not told: $(cat plain.yaml)"
run crank train plain.yaml --model_dir mq --set train_config.num_epochs=2
ends 0
printf 'label,"a\n#b: {",weight,copy\n' >evil.csv
i=0
while [ $i -lt 300 ]; do
    echo "$((i % 3 == 0)),$((i % 5)),$((i % 4)),$((i % 3 == 0))" >>evil.csv
    i=$((i + 1))
done
run crank init evil.csv -o evil.yaml
ends 0
has_out "  row weight  weight (guessed by its name)"
has_out "...copy: it gives away the label..."
run crank check evil.yaml
ends 0
# a number to predict, and classes
awk 'BEGIN { print "price,x,word"; for (i = 0; i < 2000; i++) print i % 97 * 1.5 + 0.25 "," i % 97 ",w" i % 5 }' >number.csv
run crank init number.csv --label price -o number.yaml --model_dir mn
ends 0
grep -q l2_loss number.yaml || fail "no regression"
run crank train number.yaml --set train_config.num_epochs=1
ends 0
awk 'BEGIN { print "x,kind"; for (i = 0; i < 2000; i++) print i % 30 "," substr("abc", 1 + (i % 30 + i % 11) % 30 / 10, 1) }' >class.csv
run crank init class.csv --label kind -o class.yaml --model_dir mc
ends 0
grep -q 'num_class: 3' class.yaml || fail "no classes"
run crank train class.yaml --set train_config.num_epochs=2
ends 0
# days in the names of files: the last ones are for evaluation
for d in 1 2 3 4 5 6; do
    mkdir -p days/dt=2024010$d
    awk -v s=$d 'BEGIN { print "click,x"; for (i = 0; i < 400; i++) print ((i * s) % 3 == 0) "," i % 9 }' >days/dt=2024010$d/a.csv
done
run crank init 'days/*/*.csv' -o days.yaml
ends 0
has_out "  evaluation  the last 1 of 6 files, by the dates in their names"
grep -q 'eval_input_path: "days/dt=20240106/a.csv"' days.yaml || fail "no files to evaluate on: $(cat days.yaml)"
run crank init days -o folders.yaml
ends 1
has_err "days: the directory holds folders and no file...; write 'days/*' for the files in them"
run crank init 'days/*' -o folders.yaml
ends 0
# a history: the label says whether the row's item is in it (of 20 labels 1 is turned), so its steps are compared with the item; other lists are averaged
awk 'function r(m) { s = (s * 16807) % 2147483647; return int(s / 64) % m }
BEGIN {
    s = 99
    print "click,user_id,item_id,hist_items,tags"
    for (i = 0; i < 9000; i++) {
        v = r(30); n = 2 + r(8); y = r(2); at = r(n); seq = ""
        for (j = 0; j < n; j++) {
            w = (v + 1 + r(29)) % 30
            if (y && j == at) w = v
            seq = seq (j ? "|" : "") w
        }
        printf "%d,%d,%d,%s,t%d;t%d;t%d\n", y != (r(20) == 0), r(50), v, seq, r(5), r(9), r(7)
    }
}' >history.csv
run crank init history.csv -o history.yaml --model_dir mh
ends 0
grep -q "a history, by its name: its steps are compared with 'item_id'" history.yaml || fail "the history is not told: $(cat history.yaml)"
grep -q 'pooling: mean' history.yaml || fail "the tags are not averaged"
run crank train history.yaml
ends 0
auc=$(sed -n 's/^  best .*, auc //p' "$out")
awk -v a="$auc" 'BEGIN { exit !(a > 0.9) }' || fail "the history is not used: AUC $auc"
run crank init history.csv -o history.config --like tzrec
ends 0
run crank check history.config
ends 0
# two histories of one column: the table has room for the longer one, whichever comes first
awk 'function r(m) { s = (s * 16807) % 2147483647; return int(s / 64) % m }
BEGIN {
    s = 7
    print "click,item_id,hist_items,last_items"
    for (i = 0; i < 4000; i++) printf "%d,i%d,i%d|i%d|i%d,i%d|i%d\n", r(2), r(300), r(5000), r(5000), r(5000), r(100), r(100)
}' >two.csv
run crank init two.csv -o two.yaml
ends 0
[ "$(grep -c 'hash_bucket_size: 20000' two.yaml)" = 3 ] || fail "the tables of two histories: $(grep hash_bucket two.yaml)"
# without the column that it is a history of, a list is a list; so is one of words beside numbers
awk -F, -v OFS=, '{ $3 = NR == 1 ? "shop_id" : $3; print }' history.csv >lists.csv
run crank init lists.csv -o lists.yaml
ends 0
if grep -q sequence lists.yaml; then fail "a history of nothing: $(cat lists.yaml)"; fi
awk -F, -v OFS=, '{ $3 = NR == 1 ? $3 : "item" $3; print }' history.csv >words.csv
run crank init words.csv -o words.yaml
ends 0
if grep -q sequence words.yaml; then fail "names are compared with numbers: $(cat words.yaml)"; fi
# mistakes
run crank init data/train -o first.yaml
ends 2
has_err "...first.yaml is there already; name another file, or add --force..."
run crank init data/train --label lable -o x.yaml
ends 2
has_err "...there is no column 'lable' for --label; did you mean 'label'?..."
run crank init nowhere.csv -o x.yaml
ends 1
run crank init data/train --like toml -o x.yaml
ends 2
has_err "...--like is 'toml' and must be yaml or tzrec..."
printf 'a,b\n1,2\n1,3\n' >same.csv
run crank init same.csv --label a -o x.yaml
ends 3
has_err "...the label 'a' has fewer than two values..."
printf 'a,b\n1\n2\n' >short.csv
run crank profile short.csv
ends 3
has_err "short.csv: none of the 2 rows can be read; the first: ..."
: >empty.csv
run crank profile empty.csv
ends 3
has_err "empty.csv: there is nothing in it; name files with rows"
# a table as pandas writes it: the numbers of rows have no name, or one that pandas gave them when it read them again
awk 'BEGIN { print ",Unnamed: 0,price,city,label"; for (i = 0; i < 900; i++) printf "%d,%d,%.2f,c%d,%d\n", i, i, i % 97 / 7, i % 5, (i % 97 > 50) }' >pandas.csv
run crank profile pandas.csv
ends 0
has_out "900 rows, 5 columns in 1 file of ...; CSV cut at \",\", with a header"
has_out "  (no name) ... counts the rows"
run crank init pandas.csv -o pandas.yaml --model_dir mpd
ends 0
has_out "wrote pandas.yaml: 2 features of 5 columns, 900 rows"
has_out "  left out    (no name): it counts the rows"
has_out "              Unnamed: 0: it counts the rows"
run crank train pandas.yaml --set train_config.num_epochs=1
ends 0
run crank profile pandas.csv --rows all -q
ends 0
run crank profile pandas.csv --rows some
ends 2
has_err "crank profile: --rows is 'some' and must be all, or an integer of at least 1"
