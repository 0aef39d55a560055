# what features are worth: as with data whose columns were shuffled, for several kinds of models; truth that is known; any threads
command -v python3 >/dev/null || skip "there is no python3"
cat >make.py <<'END'
import random
random.seed(5)
for name, n in (("train", 6000), ("eval", 1500)):
    with open(name + ".csv", "w") as f:
        print("label,buy,w,user,item,tags,x,noise,clicks__item,clicks__price", file=f)
        for i in range(n):
            user, item, x = random.randrange(30), random.randrange(40), random.gauss(0, 1)
            seq = [random.randrange(40) for _ in range(random.randrange(6))]
            tags = [random.randrange(12) for _ in range(random.randrange(4))]
            s = (2.5 if user % 2 else -2.5) + 0.8 * x + (1.2 if item in seq or item % 5 == 0 else -0.3) + 0.4 * len([t for t in tags if t < 4])
            y = int(random.random() < 1 / (1 + 2.718 ** -s))
            buy = int(y and random.random() < 0.5)
            print("%d,%d,%g,%d,%d,%s,%.4f,%d,%s,%s" % (y, buy, random.choice([0.5, 1, 2]), user, item, "|".join(map(str, tags)), x,
                  random.randrange(20), ";".join(map(str, seq)), ";".join("%.1f" % random.random() for _ in seq)), file=f)
END
python3 make.py
cat >head.yaml <<'END'
train_input_path: train.csv
eval_input_path: eval.csv
train_config:
  sparse_optimizer: {adagrad_optimizer: {lr: 0.1}, constant_learning_rate: {}}
  dense_optimizer: {adam_optimizer: {lr: 0.01}, constant_learning_rate: {}}
  num_epochs: 2
data_config: {dataset_type: CsvDataset, batch_size: 256, eval_batch_size: 400, fg_mode: FG_NORMAL, with_header: true, label_fields: [label, buy], delimiter: ",", sample_weight_fields: [w]}
feature_configs:
  - id_feature: {feature_name: user, expression: "user:user", num_buckets: 30, embedding_dim: 8}
  - id_feature: {feature_name: item, expression: "item:item", embedding_name: item_emb, num_buckets: 40, embedding_dim: 8}
  - id_feature: {feature_name: tags, expression: "item:tags", separator: "|", num_buckets: 12, embedding_dim: 8}
  - raw_feature: {feature_name: x, expression: "user:x"}
  - id_feature: {feature_name: noise, expression: "user:noise", num_buckets: 20, embedding_dim: 8}
  - id_feature: {feature_name: unused, expression: "user:noise", num_buckets: 20, embedding_dim: 8}
  - sequence_feature:
      sequence_name: clicks
      sequence_length: 50
      features:
      - id_feature: {feature_name: item, expression: "item:item", embedding_name: item_emb, num_buckets: 40, embedding_dim: 8}
      - raw_feature: {feature_name: price, expression: "item:price"}
END
plain='{group_name: deep, group_type: DEEP, feature_names: [user, item, tags, x, noise]}'
ids='{group_name: fm, group_type: DEEP, feature_names: [user, item, tags, noise]}'
ends_with='  losses: [{binary_cross_entropy: {}}]
  metrics: [{auc: {}}]'
{ cat head.yaml; cat <<END; } >deepfm.yaml
model_config:
  feature_groups:
    - {group_name: wide, group_type: WIDE, feature_names: [user, item, noise]}
    - $ids
    - $plain
  deepfm: {deep: {hidden_units: [32, 16]}, final: {hidden_units: [8]}}
$ends_with
END
{ cat head.yaml; cat <<END; } >dcn_v2.yaml
model_config:
  feature_groups:
    - {group_name: features, group_type: DEEP, feature_names: [user, item, tags, x, noise]}
  dcn_v2: {cross: {cross_num: 2, low_rank: 8}, deep: {hidden_units: [16]}, final: {hidden_units: [8]}}
$ends_with
END
{ cat head.yaml; cat <<END; } >din.yaml
model_config:
  feature_groups:
    - $plain
    - {group_name: seq, group_type: SEQUENCE, feature_names: [item, clicks__item, clicks__price]}
  multi_tower_din:
    towers: [{input: deep, mlp: {hidden_units: [16]}}]
    din_towers: [{input: seq, attn_mlp: {hidden_units: [16, 8], activation: "Dice"}}]
    final: {hidden_units: [16]}
$ends_with
END
{ cat head.yaml; cat <<END; } >mmoe.yaml
model_config:
  feature_groups:
    - $plain
  mmoe:
    expert_mlp: {hidden_units: [16, 8]}
    num_expert: 2
    task_towers:
      - {tower_name: ctr, label_name: label, mlp: {hidden_units: [8]}, losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}], sample_weight_name: w}
      - {tower_name: cvr, label_name: buy, mlp: {hidden_units: [8]}, weight: 2, task_space_indicator_label: label, in_task_space_weight: 1, out_task_space_weight: 0, losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}
END
sed 's/^  dcn_v2:.*/  multi_tower: {towers: [{input: features, mlp: {hidden_units: [16]}}], final: {hidden_units: [8]}}/; s/^  num_epochs: 2/  num_epochs: 2\n  mixed_precision: BF16/' dcn_v2.yaml >bf16.yaml
# shuffled.py MODEL FEATURE COLUMNS - evaluates data with shuffled columns and compares; the shift of a first layer rounds anew
cat >shuffled.py <<'END'
import csv, json, subprocess, sys
model, kind, name, columns = sys.argv[1:]
order = [int(x) for x in open(model + ".order")]
r = json.load(open(model + ".json"))
rows = list(csv.DictReader(open("eval.csv")))
with open("shuffled.csv", "w") as f:
    w = csv.DictWriter(f, list(rows[0]))
    w.writeheader()
    for i, x in enumerate(rows):
        w.writerow(dict(x, **{c: rows[order[i]][c] for c in columns.split(",")}))
subprocess.run(["crank", "eval", model + ".yaml", "--model_dir", model, "--eval_input_path", "shuffled.csv", "--eval_result_filename", "s.txt", "-q"],
               check=True, stdout=subprocess.DEVNULL)
e = json.loads(open(model + "/s.txt").read().split("\n")[-2])
unit = [u for u in r["units"] if u["name"] == name and u["kind"] == kind][0]
for m in r["measures"]:
    want = e[m["name"]] - m["value"]
    if m["name"].startswith("auc"):
        want = -want
    got = unit[m["name"]]["shuffled"]["loss"]
    assert abs(got - want) < 2e-6, (model, name, m["name"], got, want)
    p = unit[m["name"]]["shuffled"]
    assert p["low"] <= p["loss"] <= p["high"] and p["high"] - p["low"] < 0.2, p
END
for model in deepfm dcn_v2 din mmoe bf16; do
    run crank train $model.yaml --model_dir $model
    ends 0
    for threads in 1 2 4; do
        run crank importance $model.yaml --model_dir $model --json --order $model.order --threads $threads -q
        ends 0
        cp "$out" $model.json.$threads
    done
    same $model.json.1 $model.json.2
    same $model.json.1 $model.json.4
    cp $model.json.1 $model.json
    for f in user item tags x; do
        python3 shuffled.py $model feature $f $f || fail "$model: $f"
    done
done
python3 shuffled.py din sequence clicks clicks__item,clicks__price || fail "din: the sequence"
python3 shuffled.py deepfm group fm user,item,tags,noise || fail "deepfm: the group fm"
cat >truth.py <<'END'
import json
for model in ("deepfm", "din", "dcn_v2"):
    r = json.load(open(model + ".json"))
    worth = {(u["kind"], u["name"]): u for u in r["units"]}
    auc = lambda n: worth["feature", n]["auc"]["shuffled"]
    assert auc("user")["low"] > auc("x")["high"] > 0, model
    assert auc("x")["low"] > 0 and abs(auc("noise")["loss"]) < 0.02, model
    assert not worth["feature", "unused"]["used"] and auc("unused")["loss"] == 0, model
    # a removed user tells nothing either
    assert worth["feature", "user"]["auc"]["removed"]["low"] > 0.05, model
    # all features without values give every row the same score
r = json.load(open("dcn_v2.json"))
g = [u for u in r["units"] if u["kind"] == "group"][0]
assert abs(g["auc"]["removed"]["loss"] - (r["measures"][0]["value"] - 0.5)) < 1e-9, g
r = json.load(open("mmoe.json"))
assert [m["name"] for m in r["measures"]] == ["auc_ctr", "auc_cvr", "binary_cross_entropy_ctr", "binary_cross_entropy_cvr"]
END
python3 truth.py || fail "the truth"
# slices of a model with two tasks: each task as the evaluation has it
run crank eval mmoe.yaml --model_dir mmoe --slice user --slice_values 3 --eval_result_filename all.txt
ends 0
has_out "probs_ctr"
has_out "probs_cvr"
cat >tasks.py <<'END'
import csv, json
r = {t["output"]: t for t in json.load(open("mmoe/slices.json"))["tasks"]}
assert sorted(r) == ["probs_ctr", "probs_cvr"], list(r)
rows = list(csv.DictReader(open("eval.csv")))
e = json.loads(open("mmoe/all.txt").read().split("\n")[-2])
for task, label in (("ctr", "label"), ("cvr", "buy")):
    t = r["probs_" + task]
    assert t["all"]["positives"] == sum(x[label] == "1" for x in rows) == sum(b["positives"] for b in t["bins"]), t
    assert abs(t["all"]["auc"] - e["auc_" + task]) < 1e-9, (t["all"], e)
    assert t["all"]["rows"] == len(rows) == sum(s["rows"] for s in t["columns"][0]["slices"]), t
END
python3 tasks.py || fail "slices of two tasks"
# the table, the picture, an export, fewer rows, the value of the evaluation itself
run crank export din.yaml --model_dir din --export_dir export
ends 0
run crank importance export --eval_input_path eval.csv --svg bars.svg --measure binary_cross_entropy --rows 1000
ends 0
has_out "importance  1.0k rows (there are more: --rows), 8 features in ..."
has_out "binary_cross_entropy gained"
has_out "  user ...feature ..."
has_out "  unused ...feature ...not used..."
has_out "  clicks ...sequence..."
grep -q '<svg xmlns=' bars.svg || fail "no picture"
# work that takes more than a second: as many rows as the rule says, evenly, and the same figures as of these rows alone
sed 's/\[32, 16\]/[2048, 2048]/' deepfm.yaml >large.yaml
run crank train large.yaml --model_dir large --train_input_path eval.csv --set train_config.num_epochs=1 -q
ends 0
run crank importance large.yaml --model_dir large --order large.order
ends 0
has_out "  rows ... of the first 1500, evenly, so that this costs a fifth of features x an evaluation; --rows all takes all"
mv large/importance.json some.json
cat >some.py <<'END'
import csv, json
pairs = [list(map(int, x.split())) for x in open("large.order")]
r = json.load(open("some.json"))
assert r["read_rows"] == 1500 and not r["more_rows"] and 200 < r["rows"] == len(pairs) < 1500, r["rows"]
rows = [p[0] for p in pairs]
assert rows == sorted(set(rows)) and rows[0] == 0 and max(b - a for a, b in zip(rows, rows[1:])) <= 5
assert sorted(p[1] for p in pairs) == rows
lines = open("eval.csv").read().split("\n")
open("some.csv", "w").write("\n".join([lines[0]] + [lines[1 + i] for i in rows]) + "\n")
END
python3 some.py || fail "the rows that were chosen"
run crank importance large.yaml --model_dir large --data some.csv --rows all --output all.json -q
ends 0
sed 's/"read_rows": *[0-9]*/"read_rows": 0/' some.json >some.plain
sed 's/"read_rows": *[0-9]*/"read_rows": 0/' all.json >all.plain
same some.plain all.plain
run crank importance large.yaml --model_dir large --rows al
ends 2
# where the JSON object goes: to model_dir for the page, not to that of an export, else where --output says; --data
same din/importance.json din.json
rm din/importance.json
run crank importance export --data eval.csv --rows 100
ends 0
! grep -q "written for crank board" "$out" || fail "an export says that it has written"
[ ! -e din/importance.json ] && [ ! -e export/importance.json ] || fail "an export has written importance.json"
run crank importance din.yaml --model_dir din --data shuffled.csv --rows 100 --output there.json
ends 0
has_out "written for crank board: there.json"
[ ! -e din/importance.json ] || fail "importance.json beside --output"
run crank importance din.yaml --model_dir din --rows 100
ends 0
has_out "written for crank board: din/importance.json"
rm din/importance.json
mkdir din/importance.json
run crank importance din.yaml --model_dir din --rows 100
ends 0
has_err "...din/importance.json...name a file with --output..."
rmdir din/importance.json
# mistakes
run crank importance deepfm.yaml --model_dir none
ends 1
run crank importance deepfm.yaml --model_dir deepfm --measure acu
ends 2
has_err "...--measure 'acu' is no AUC or loss of this model; it has 'auc'..."
run crank importance deepfm.yaml --model_dir deepfm --eval_input_path none.csv
ends 1 2 3
head -n 1 eval.csv >empty.csv
run crank importance deepfm.yaml --model_dir deepfm --eval_input_path empty.csv
ends 3
has_err "...the data holds no rows; check the path and the files..."
