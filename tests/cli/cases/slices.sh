# evaluation by slices: each slice as if its rows were evaluated alone, ranges, missing and other values, tasks, reliability, mistakes
command -v python3 >/dev/null || skip "there is no python3"
for f in csv parquet; do
    run crank synth taobao --rows 4000 --eval_rows 2000 --seed 3 --scale 0.01 --format $f -o $f
    ends 0
    run crank train $f/pipeline.yaml --model_dir $f.model
    ends 0
    for threads in 1 2 4; do
        run crank eval $f/pipeline.yaml --model_dir $f.model --slice age_level --slice price --slice pid --slice_values 4 --slices_json $f.$threads --reliability $f.svg --threads $threads -q
        ends 0
    done
    same $f.1 $f.2
    same $f.1 $f.4
    grep -q '<svg xmlns=' $f.svg || fail "no picture"
done
sed 's/"checkpoint": "[^"]*"//' csv.1 >csv.0
sed 's/"checkpoint": "[^"]*"//' parquet.1 >parquet.0
same csv.0 parquet.0
[ ! -e csv.model/slices.json ] || fail "slices.json beside --slices_json"
has_out "  age_level ...rows ...auc ...logloss ...calibration"
has_out "  (other) ... values ..."
has_out "  all ...2000..."
# every slice as an evaluation of its own rows, and the whole as the evaluation itself
cat csv/eval/*.csv | awk 'NR == 1 { head = $0 } NR == 1 || $0 != head' >all.csv
cat >alone.py <<'END'
import csv, json, subprocess
r = json.load(open("csv.1"))["tasks"]
assert len(r) == 1
r = r[0]
rows = list(csv.DictReader(open("all.csv")))
def evaluate(keep):
    with open("part.csv", "w") as f:
        w = csv.DictWriter(f, list(rows[0]))
        w.writeheader()
        part = [x for x in rows if keep(x)]
        w.writerows(part)
    subprocess.run(["crank", "eval", "csv/pipeline.yaml", "--model_dir", "csv.model", "--eval_input_path", "part.csv", "--eval_result_filename", "p.txt", "-q"],
                   check=True, stdout=subprocess.DEVNULL)
    return len(part), json.loads(open("csv.model/p.txt").read().split("\n")[-2])
def check(s, keep):
    n, e = evaluate(keep)
    assert s["rows"] == n, (s, n)
    assert abs(s["auc"] - e["auc"]) < 1e-12 and abs(s["logloss"] - e["logloss"]) < 1e-6, (s, e)
check(r["all"], lambda x: True)
columns = {c["column"]: c["slices"] for c in r["columns"]}
for s in columns["age_level"][:2]:
    check(s, lambda x: x["age_level"] == s["value"])
for s in columns["price"]:
    if " .. " in s["value"]:
        lo, hi = map(float, s["value"].split(" .. "))
        check(s, lambda x: x["price"] and lo * (1 - 1e-5) <= float(x["price"]) <= hi * (1 + 1e-5))
        break
else:
    raise SystemExit("price has no ranges")
for c in columns.values():
    assert sum(s["rows"] for s in c) == len(rows)
assert sum(b["rows"] for b in r["bins"]) == len(rows) and sum(b["positives"] for b in r["bins"]) == r["all"]["positives"]
END
python3 alone.py || fail "a slice is not what its rows alone give"
# without slices: reliability only; a feature that has another name than its column
run crank eval csv/pipeline.yaml --model_dir csv.model --reliability r.svg
ends 0
has_out "  all ...2000..."
has_out "slices and reliability for crank board: csv.model/slices.json"
grep -q '^{"kind": "slices", "checkpoint": "csv.model/model.ckpt-' csv.model/slices.json || fail "no slices.json in model_dir"
# mistakes
run crank eval csv/pipeline.yaml --model_dir csv.model --slice nothing --eval_result_filename wrong.txt
ends 2
if grep -q evaluated "$out"; then fail "the evaluation ran before the columns were looked at"; fi
[ ! -e csv.model/wrong.txt ] || fail "the evaluation wrote its results"
has_err "...has no column 'nothing', which --slice needs; name a column of the data, or a feature that has one column"
no_err "...reserved_columns..."
run crank eval csv/pipeline.yaml --model_dir csv.model --slice age_level --slice_values 0 -q
ends 2
