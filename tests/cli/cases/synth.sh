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
# a data set of crank's own is replaced as a whole: what fewer rows do not fill goes, other files stay
echo mine >a/train/part-mine.csv
run crank synth criteo --rows 3 -o a
ends 0
find a -type f | LC_ALL=C sort >got
echo a/.synth >want
for i in 0 1 2 3; do echo "a/eval/part-0000$i.csv"; done >>want
for f in pipeline.yaml synth.json train/part-00000.csv train/part-00001.csv train/part-00002.csv train/part-mine.csv; do
    echo "a/$f" >>want
done
same want got
# its config may have been edited
echo '# mine' >>a/pipeline.yaml
cp -r a kept
run crank synth criteo --rows 100 -o a
ends 2
has_err "crank synth: a holds a data set whose pipeline.yaml was changed; choose another -o or remove it first"
same kept a
# files of the user are never overwritten, nor is anything written through a link
mkdir -p full/train empty
echo x >full/train/part-00000.csv
cp -r full kept_full
run crank synth criteo --rows 100 -o full
ends 2
has_err "crank synth: full holds files that crank synth did not make (train); choose another -o"
same kept_full full
run crank synth census --rows 100 -o empty
ends 0
mv empty/train elsewhere
ln -s ../elsewhere empty/train
cp -r elsewhere kept_elsewhere
run crank synth census --rows 50 -o empty
ends 2
has_err "crank synth: empty/train is a symbolic link, which crank synth does not write through; choose another -o"
same kept_elsewhere elsewhere
# what a killed run left is removed by the next; two at once do not mix
mkdir -p killed/train killed/eval
touch killed/.synth killed/train/.part-00000.csv.tmp-1 killed/eval/part-00007.csv killed/train/.mine
run crank synth criteo --rows 5000 --seed 7 --scale 0.01 -o killed
ends 0
same killed/eval b/eval
[ "$(find killed/train -name 'part-*' | wc -l)" -eq 4 ] || fail "parts"
[ -e killed/train/.mine ] || fail "a file of the user was removed"
[ ! -e killed/train/.part-00000.csv.tmp-1 ] || fail "a leftover stayed"
grep -qx "[0-9a-f]\{16\}  pipeline.yaml" killed/.synth || fail "the mark: $(cat killed/.synth)"
mkdir busy
run flock busy/.synth "$CRANK" synth census --rows 100 -o busy
ends 1
has_err "crank synth: another crank synth is writing to busy; wait for it or choose another -o"
# a stopped run leaves the folder as it was: none, or the whole data set that was there
for format in csv parquet; do
    run env CRANK_TEST_KILL=write:2:INT crank synth criteo --rows 5000 --format $format -o stopped --threads 1
    ends 1
    has_err "crank synth: stopped by a signal; stopped is as it was before"
    [ ! -e stopped ] || fail "a stopped run left $(find stopped)"
done
rm -rf was
cp -r b was
run env CRANK_TEST_KILL=write:2:TERM crank synth criteo --rows 9000 -o b --threads 1
ends 1
same was b
# a killed run is made good by the next one, wherever it was killed
i=1
may_be_killed=yes
while :; do
    run env CRANK_TEST_KILL=any:$i crank synth criteo --rows 40 --scale 0.01 -o torn --threads 1
    [ "$code" -eq 137 ] || break
    ends 137
    i=$((i + 1))
done
may_be_killed=
ends 0
[ $i -gt 10 ] || fail "killed at $i places only"
run crank synth criteo --rows 40 --scale 0.01 -o whole
ends 0
sed 's,torn/,whole/,g' torn/pipeline.yaml >torn/p && mv torn/p torn/pipeline.yaml
rm torn/.synth whole/.synth
same torn whole
# a run that fails leaves nothing
run sh -c 'ulimit -f 1; exec "$0" "$@"' "$CRANK" synth census --rows 20k -o tight
ends 1
[ ! -e tight ] || fail "a failed run left $(find tight)"
