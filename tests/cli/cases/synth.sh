# made-up data: the same bytes for any number of threads, the columns as stated
run crank synth criteo --rows 5000 --seed 7 --scale 0.01 -o a --threads 1
ends 0
run crank synth criteo --rows 5000 --seed 7 --scale 0.01 -o b --threads 3
ends 0
same a/train b/train
same a/eval b/eval
head -n 1 a/train/part-*.csv | head -n 1 >got
header=label
for i in 0 1 2 3 4 5 6 7 8 9 10 11 12; do header=$header,int_$i; done
for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do header=$header,cat_$i; done
echo "$header" >want
grep '^label' a/train/part-*.csv | head -n 1 | sed 's/^[^:]*csv://' >got
same want got
[ "$(cat a/train/*.csv | grep -vc '^label')" -eq 5000 ] || fail "rows"
grep -q '"auc"' a/synth.json || fail "no teacher's auc"
grep -q '"logloss"' a/synth.json || fail "no teacher's logloss"
run crank synth criteo --rows 5000 --seed 8 --scale 0.01 -o c
ends 0
differ a/train c/train
for kind in taobao census; do
    run crank synth $kind --rows 2000 --seed 1 -o $kind
    ends 0
    run crank check $kind/pipeline.yaml
    ends 0
done
run crank synth criteo --rows -5 -o d
ends 2
# a data set that is there is never replaced: its config may have been edited
run crank synth criteo --rows 100 -o a
ends 2
has_err "crank synth: a holds a data set already; choose another -o or remove it first"
