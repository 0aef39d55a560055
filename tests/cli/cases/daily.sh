# training day by day: passes, evaluations before them, deltas, bases, shrinking, donefiles. The same bytes for any number of
# threads and ranks, and after a kill -9 anywhere; data that comes late; text models that a new run starts from.
tiny_config
seed=100
for day in 20260228 20260301; do
    for time in 0000 0600 1200 1800; do
        mkdir -p "data/$day/$time"
        seed=$((seed + 37))
        tiny_rows "data/$day/$time/part-0.csv" 150 $seed
        : >"data/$day/$time/_DONE"
    done
done
# the ids of a day differ, so that rows come and go
awk 'BEGIN { FS = OFS = "," } NR > 1 { $2 += 1000 } { print }' data/20260301/0000/part-0.csv >new.csv
mv new.csv data/20260301/0000/part-0.csv
acc='ctr_accessor: {embedx_threshold: 3, show_click_decay_rate: 0.5, delete_threshold: 1.2, delete_after_unseen_days: 1}'
sed "/feature_name: user/s/num_buckets: [0-9]*/growing: {$acc}/
     s/^train_input_path: .*//; s/^eval_input_path: .*//
     s/^  num_epochs: .*/  daily: {data_dir: data, start_day: 20260228, end_day: 20260301, split_interval: 360, split_per_pass: 2, checkpoint_per_pass: 1, save_delta_frequency: 1, save_first_base: true, data_donefile: _DONE, data_sleep_second: 0, shard_num: 3}/
     s/^  save_checkpoints_steps: .*//" tiny.yaml >daily.yaml
run crank train daily.yaml --model_dir one --threads 1
ends 0
has_err "...Day 20260228 pass 1 before training: auc:..."
has_err "...Day 20260228 is over: ... rows went, ... are left"
# what is there: the first base, deltas and checkpoints of every pass, a base and the batch model behind every day
for f in 20260228/base 20260228/1 20260228/2 20260228/delta-1 20260228/delta-2 20260301/base 20260301/0 20260301/1 20260302/base 20260302/0; do
    is_there one/daily/$f/000/part-000
    is_there one/daily/$f/001/part-000-00000
    is_there one/daily/$f/001/part-000-00002
    [ ! -e one/daily/$f/001/part-000-00003 ] || fail "$f has too many files"
done
is_there one/daily/20260302/0/002/part-000-00001
[ ! -e one/daily/20260302/0/003 ] || fail "there are only 2 tables"
printf '20260228\t20260228\tone/daily/20260228/1\t1\t0
20260228\t20260228\tone/daily/20260228/2\t2\t0
20260301\t20260301\tone/daily/20260301/0\t0\t0
20260301\t20260301\tone/daily/20260301/1\t1\t0
20260301\t20260301\tone/daily/20260301/2\t2\t0
20260302\t20260302\tone/daily/20260302/0\t0\t0\n' >want.txt
same want.txt one/daily/donefile.txt
[ "$(wc -l <one/daily/base_donefile.txt)" -eq 3 ] || fail "$(cat one/daily/base_donefile.txt)"
[ "$(wc -l <one/daily/patch_donefile.txt)" -eq 4 ] || fail "$(cat one/daily/patch_donefile.txt)"
grep -q '"key": "20260301", "input": "one/daily/20260301/base/000", "monitor_data": "{.*auc.*}"' one/daily/base_donefile.txt ||
    fail "$(cat one/daily/base_donefile.txt)"
[ "$(wc -l <one/daily/eval.txt)" -eq 4 ] || fail "$(cat one/daily/eval.txt)"
# shows and clicks are those of the rows: a user's lines of the first pass, counted by hand
cat data/20260228/0000/part-0.csv data/20260228/0600/part-0.csv | awk -F, '$2 == 6 { n++; c += $1 } END { print n, c }' >want.txt
cat one/daily/20260228/1/001/part-* | awk '$1 == 6 { print $5, $6 }' >got.txt
same want.txt got.txt
# file k has the ids k mod 3; a base has the rows that are worth it; rows go at the end of a day
awk '$1 % 3 != 1 { exit 1 }' one/daily/20260302/0/001/part-000-00001 || fail "a file has the rows of another"
rows() { cat "one/daily/$1"/001/part-* | wc -l; }
[ "$(rows 20260302/base)" -lt "$(rows 20260302/0)" ] || fail "a base has as many rows as there are"
[ "$(rows 20260302/0)" -lt "$(rows 20260301/2)" ] || fail "no rows went"
[ "$(cat one/daily/20260228/1/002/part-* | awk '{ print NF }' | sort -u | wc -l)" -eq 2 ] || fail "all rows have a second part, or none"

# any threads; a kill -9 in a pass, behind it, while a folder is written, and between folders and checkpoint
same_daily() { # same_daily DIR
    same_weights one "$1"
    (cd one/daily && find . -type f) | sort >want.txt
    (cd "$1/daily" && find . -type f) | sort >got.txt
    same want.txt got.txt
    while read -r f; do
        sed "s,one/daily,$1/daily,g" "one/daily/$f" >want.txt
        same want.txt "$1/daily/$f"
    done <got.txt
}
run crank train daily.yaml --model_dir more --threads 3
ends 0
same_daily more
may_be_killed=yes
for at in step:13 pass:2 text_model:1 text_model:6; do
    rm -rf cut
    CRANK_TEST_KILL=$at run crank train daily.yaml --model_dir cut
    ends 137
    run crank train daily.yaml --model_dir cut --continue_train
    ends 0
    same_daily cut
done
# data that has not come yet
mv data/20260301/1800/_DONE later
run crank train daily.yaml --model_dir waits --set train_config.daily.data_wait_second=1
ends 3
has_err "...data/20260301/1800: the data of the pass has not come within data_wait_second..."
mv later data/20260301/1800/_DONE
run crank train daily.yaml --model_dir waits --continue_train
ends 0
same_daily waits
run crank train daily.yaml --model_dir waits --continue_train
ends 0
has_err "...nothing left to train...daily.end_day, which is 20260301"
# a pass without files is one without steps
mkdir -p bare/20260228/0000 bare/20260228/0600 bare/20260228/1200 bare/20260228/1800
cp data/20260228/1200/part-0.csv bare/20260228/1800
run crank train daily.yaml --model_dir bare_model --set train_config.daily.data_dir=bare --set train_config.daily.end_day=20260228 \
    --set 'train_config.daily.data_donefile=""'
ends 0
has_err "...bare/20260228/0000: the pass has no files"
is_there bare_model/daily/20260301/base/000/part-000
# a new run starts from a text model
run crank train daily.yaml --model_dir warm --set train_config.warmup_model_path=one/daily/20260302/0 \
    --set train_config.daily.start_day=20260301 --set train_config.daily.save_first_base=true
ends 0
has_err "...Loading the text model one/daily/20260302/0"
for k in 1 2; do
    cat warm/daily/20260301/base/00$k/part-* | cut -d' ' -f1,2,5- | sort >got.txt
    cat one/daily/20260302/0/00$k/part-* | cut -d' ' -f1,2,5- | sort >all.txt
    # the base has those of all rows that are worth it
    [ -z "$(comm -23 got.txt all.txt)" ] || fail "other rows came back: $(comm -23 got.txt all.txt | head -n 3)"
done
same warm/daily/20260301/base/000/part-000 one/daily/20260302/0/000/part-000
# ranks
if [ -f "$(dirname "$CRANK")/comm-mpich.so" ]; then
    mpi_leaks
    run crank train daily.yaml --model_dir lanes --set train_config.lanes=4 --set data_config.batch_size=24
    ends 0
    for how in "--nproc_per_node 2" "--ps 1 --workers 2"; do
        rm -rf ranks
        run crank launch $how -- train daily.yaml --model_dir ranks --threads 1 --set data_config.batch_size=12 \
            --set train_config.lanes=4
        ends 0
        same_weights lanes ranks
        for f in 20260228/delta-1 20260302/base 20260302/0; do
            for part in lanes/daily/$f/*/part-*; do
                same "$part" "ranks/${part#lanes/}"
            done
        done
    done
fi
# mistakes
bad() { # bad SED TEXT
    sed "$1" daily.yaml >bad.yaml
    run crank check bad.yaml
    ends 2
    has_err "$2"
}
bad 's/start_day: 20260228/start_day: 20260230/' "bad.yaml:...: start_day is no day; write year, month and day, as in 20260131"
bad 's/end_day: 20260301/end_day: 20260201/' "bad.yaml:...: end_day 20260201 comes before start_day 20260228; exchange them"
bad 's/split_interval: 360/split_interval: 7/' "bad.yaml:...: split_interval 7 does not divide a day..."
bad 's/split_per_pass: 2/split_per_pass: 3/' "bad.yaml:...: split_per_pass 3 does not divide the 4 folders of a day..."
bad 's/^  daily:/  num_epochs: 2\n&/' "bad.yaml:...: num_epochs does not go with daily..."
echo "5 1 0 0 x" >>one/daily/20260302/0/001/part-000-00001
run crank train daily.yaml --model_dir no --set train_config.warmup_model_path=one/daily/20260302/0
ends 3
has_err "one/daily/20260302/0/001/part-000-00001:...: column 5: 'x' is no such value..."
rm one/daily/20260302/0/001/part-000-00001
run crank train daily.yaml --model_dir no --set train_config.warmup_model_path=one/daily/20260302/0
ends 3
has_err "one/daily/20260302/0/001: has 2 files part-* of table '...', and shard_num is 3..."
