# the parts of a score: they add up, a linear model gives its weights, two rows, two models, sequences, mistakes
command -v python3 >/dev/null || skip "there is no python3"
cat >make.py <<'END'
import random
random.seed(9)
for name, n in (("train", 3000), ("eval", 300)):
    with open(name + ".csv", "w") as f:
        print("label,user,item,tags,x,clicks__item,clicks__price", file=f)
        for i in range(n):
            user, item, x = random.randrange(20), random.randrange(15), random.gauss(0, 1)
            seq = [random.randrange(15) for _ in range(random.randrange(5))]
            y = int(random.random() < 1 / (1 + 2.718 ** -((1 if user % 2 else -1) + x)))
            print("%d,%d,%d,%s,%.4f,%s,%s" % (y, user, item, "|".join(str(random.randrange(9)) for _ in range(random.randrange(3))), x,
                  ";".join(map(str, seq)), ";".join("%.1f" % random.random() for _ in seq)), file=f)
END
python3 make.py
cat >head.yaml <<'END'
train_input_path: train.csv
eval_input_path: eval.csv
train_config:
  sparse_optimizer: {adagrad_optimizer: {lr: 0.1}, constant_learning_rate: {}}
  dense_optimizer: {adam_optimizer: {lr: 0.01}, constant_learning_rate: {}}
  num_epochs: 2
  save_checkpoints_epochs: 1
data_config: {dataset_type: CsvDataset, batch_size: 256, fg_mode: FG_NORMAL, with_header: true, label_fields: [label]}
feature_configs:
  - id_feature: {feature_name: user, expression: "user:user", num_buckets: 20, embedding_dim: 8}
  - id_feature: {feature_name: item, expression: "item:item", embedding_name: item_emb, num_buckets: 15, embedding_dim: 8}
  - id_feature: {feature_name: tags, expression: "item:tags", separator: "|", num_buckets: 9, embedding_dim: 8}
  - raw_feature: {feature_name: x, expression: "user:x"}
  - sequence_feature:
      sequence_name: clicks
      sequence_length: 50
      features:
      - id_feature: {feature_name: item, expression: "item:item", embedding_name: item_emb, num_buckets: 15, embedding_dim: 8}
      - raw_feature: {feature_name: price, expression: "item:price"}
END
{ cat head.yaml; cat <<'END'; } >din.yaml
model_config:
  feature_groups:
    - {group_name: deep, group_type: DEEP, feature_names: [user, item, tags, x]}
    - {group_name: seq, group_type: SEQUENCE, feature_names: [item, clicks__item, clicks__price]}
  multi_tower_din:
    towers: [{input: deep, mlp: {hidden_units: [16]}}]
    din_towers: [{input: seq, attn_mlp: {hidden_units: [16, 8]}}]
    final: {hidden_units: [16]}
  losses: [{binary_cross_entropy: {}}]
  metrics: [{auc: {}}]
END
{ cat head.yaml; cat <<'END'; } >linear.yaml
model_config:
  feature_groups:
    - {group_name: wide, group_type: DEEP, feature_names: [user, item, tags, x]}
  logistic_regression: {}
  losses: [{binary_cross_entropy: {}}]
  metrics: [{auc: {}}]
END
for m in din linear; do
    run crank train $m.yaml --model_dir $m
    ends 0
    run crank export $m.yaml --model_dir $m --export_dir $m.export
    ends 0
    run crank predict --scripted_model_path $m.export --predict_input_path eval.csv --predict_output_path $m.csv --output_columns logits
    ends 0
done
# sums.py FILE LOGIT [LOGIT]: the parts add up to the difference; `to` is what prediction says
cat >sums.py <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
total = sum(p["part"] for p in r["parts"])
assert abs(r["to"] - r["from"] - total) < 1e-9 and abs(r["residual"]) < 1e-9, r
for key, want in zip(("to", "from"), sys.argv[2:]):
    assert abs(r[key] - float(want)) < 1e-6, (r[key], want)
END
logit() { sed -n "$(($2 + 2))p" $1.csv; }
for m in din linear; do
    for threads in 1 2; do
        run crank why $m --row 5 --json -q --threads $threads
        ends 0
        cp "$out" $m.$threads
    done
    same $m.1 $m.2
    python3 sums.py $m.1 "$(logit $m 5)" || fail "$m: one row"
    run crank why $m.export --row 5 --row 17 --json -q --eval_input_path eval.csv
    ends 0
    cp "$out" two.json
    python3 sums.py two.json "$(logit $m 5)" "$(logit $m 17)" || fail "$m: two rows"
done
grep -q '"sequence", *"name": *"clicks"' two.json && fail "a linear model has no sequence"
run crank why din --row 5 --row 17 -q
ends 0
has_out "  clicks ...sequence..."
has_out "...the row (the parts miss it by ..."
# the order does not matter to a linear model, and a part is what the weights say: tables, then x times its weight
run crank why linear --row 5 --json -q --orders 64 --seed 7
ends 0
cp "$out" many.json
cat >linear.py <<'END'
import json
a, b = (json.load(open(f)) for f in ("linear.1", "many.json"))
of = lambda r: {(p["name"], p["value"]): p["part"] for p in r["parts"]}
x, y = of(a), of(b)
assert x.keys() == y.keys() and all(abs(x[k] - y[k]) < 1e-5 for k in x), (x, y)
assert all(x[k] == 0 for k in x if k[0] in ("clicks__item", "clicks__price")), x
END
python3 linear.py || fail "the linear model"
# a list of ids has a part for each of them, which in a linear model is the same in every row
cat >ids.py <<'END'
import csv, json, subprocess
rows = [r["tags"].split("|") for r in csv.DictReader(open("eval.csv"))]
def parts(model, row):
    r = json.loads(subprocess.run(["crank", "why", model, "--row", str(row), "--json", "-q"], check=True, stdout=subprocess.PIPE).stdout)
    assert abs(r["to"] - r["from"] - sum(p["part"] for p in r["parts"])) < 1e-9, r
    return [p for p in r["parts"] if p["name"] == "tags"]
several = next(i for i, t in enumerate(rows) if len(set(t)) > 1)
found = parts("linear", several)
assert sorted(p["value"] for p in found) == sorted(rows[several]) and all(p["kind"] == "id" for p in found), (rows[several], found)
for p in found:
    alone = parts("linear", rows.index([p["value"]]))
    assert len(alone) == 1 and alone[0]["kind"] == "feature" and abs(alone[0]["part"] - p["part"]) < 1e-5, (alone, p)
assert len(parts("din", several)) == len(rows[several])
END
python3 ids.py || fail "the ids of a list"
# between two rows each id that only one of them has comes or goes; in a linear model that is its weight
cat >moves.py <<'END'
import csv, json, subprocess
from collections import Counter
rows = [r["tags"].split("|") if r["tags"] else [] for r in csv.DictReader(open("eval.csv"))]
logits = {m: [float(x) for x in open(m + ".csv").read().split()[1:]] for m in ("linear", "din")}
def ask(model, *row):
    r = json.loads(subprocess.run(["crank", "why", model, "--json", "-q"] + [a for x in row for a in ("--row", str(x))], check=True, stdout=subprocess.PIPE).stdout)
    assert abs(r["to"] - r["from"] - sum(p["part"] for p in r["parts"])) < 1e-9, r
    return r, [p for p in r["parts"] if p["name"] == "tags"]
weight = {}
for i, t in enumerate(rows):
    if len(t) == 1 and t[0] not in weight:
        weight[t[0]] = ask("linear", i)[1][0]["part"]
def pairs():
    lists = [i for i, t in enumerate(rows) if len(t) == 2]
    one = lambda ok: next((i, k) for i in lists for k in range(len(rows)) if ok(Counter(rows[i]), Counter(rows[k])))
    yield one(lambda x, y: not x & y and sum(y.values()) == 2)  # nothing in common
    yield one(lambda x, y: (x & y) and x != y and sum(y.values()) == 2)  # one id stays
    yield one(lambda x, y: not y)  # the other row has none
    yield one(lambda x, y: max(x.values()) == 2 and sum(y.values()) == 1 and (x & y))  # an id twice
    i, k = one(lambda x, y: not x & y and sum(y.values()) == 1)
    yield k, i
for i, k in pairs():
    a, b = Counter(rows[i]), Counter(rows[k])
    want = sorted(["+" + x for x in (a - b).elements()] + ["-" + x for x in (b - a).elements()])
    for model in ("linear", "din"):
        r, found = ask(model, i, k)
        assert abs(r["to"] - logits[model][i]) < 1e-6 and abs(r["from"] - logits[model][k]) < 1e-6, r
        assert sorted(p["value"] for p in found) == want and all(p["kind"] == "id" for p in found), (rows[i], rows[k], found)
        for p in found if model == "linear" else []:
            assert abs(p["part"] - (1 if p["value"][0] == "+" else -1) * weight[p["value"][1:]]) < 1e-5, (p, weight)
# lists of one id each are one part
one = [i for i, t in enumerate(rows) if len(t) == 1]
other = next(i for i in one if rows[i] != rows[one[0]])
assert [p["kind"] for p in ask("linear", one[0], other)[1]] == ["feature"]
# the same ids in both rows have no part
twin = next(((i, k) for i in range(len(rows)) for k in range(i) if len(rows[i]) == 2 and sorted(rows[i]) == sorted(rows[k])), None)
assert twin and all(abs(p["part"]) < 1e-6 for p in ask("linear", *twin)[1]), twin
END
python3 moves.py || fail "the ids that two rows do not share"
# two checkpoints: table rows and layers
set -- $(ls -d din/model.ckpt-*)
[ $# -eq 2 ] || fail "$# checkpoints"
run crank predict --pipeline_config_path din/pipeline.config --checkpoint_path "$1" --predict_input_path eval.csv --predict_output_path old.csv --output_columns logits
ends 0
run crank why "$1" "$2" --row 5 --json -q
ends 0
cp "$out" models.json
set -- "$1" "$2" "$(logit old 5)" "$(logit din 5)"
python3 sums.py models.json "$4" "$3" || fail "two models"
run crank why "$1" "$2" --row 5
ends 0
has_out "  user ...table rows..."
has_out "...layer..."
has_out "...the second model (the parts miss it by ..."
run crank why "$1" "$1" --row 5 --json -q
ends 0
grep -q '"part": *-*[0-9.]*[1-9]' "$out" && fail "a model differs from itself"
# mistakes
run crank why din --row 300
ends 2
has_err "...the data has 300 rows, counted from 0; there is no row 300..."
run crank why din --row x
ends 2
has_err "...--row 'x' is no row; give a number from 0 on..."
run crank why din linear --row 1
ends 2
has_err "...the two models are built in another way..."
run crank why din linear --row 1 --row 2
ends 2
run crank why din linear din --row 1
ends 2
run crank why din --row 1 --output nothing
ends 2
has_err "...--output 'nothing' is no output; there are logits, probs..."
run crank why din --row 1 --orders 3
ends 2
