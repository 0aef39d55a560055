# what features are worth in every ranking and multi-task model: as evaluations of data whose columns were shuffled
command -v python3 >/dev/null || skip "there is no python3"
cat >all.py <<'END'
import csv, json, random, subprocess
random.seed(11)
for name, n in (("train", 1500), ("eval", 400)):
    with open(name + ".csv", "w") as f:
        print("y,z,k,domain,a,b,c,x,v,hist__b,hist__t", file=f)
        for i in range(n):
            a, b, c, x = random.randrange(10), random.randrange(20), random.randrange(5), random.gauss(0, 1)
            seq = [random.randrange(20) for _ in range(random.randrange(6))]
            y = int(random.random() < 1 / (1 + 2.718 ** -((2 if a % 2 else -2) + x + (1 if b in seq or c == 2 else 0))))
            print("%d,%d,%d,%d,%d,%d,%d,%.4f,%.4f,%s,%s" % (y, y and random.random() < 0.5, random.randrange(3), i % 2, a, b, c, x, random.random(),
                  ";".join(map(str, seq)), ";".join("%.1f" % random.random() for _ in seq)), file=f)
HEAD = """train_input_path: train.csv
eval_input_path: eval.csv
train_config:
  sparse_optimizer: {adagrad_optimizer: {lr: 0.1}, constant_learning_rate: {}}
  dense_optimizer: {adam_optimizer: {lr: 0.01}, constant_learning_rate: {}}
  num_epochs: 1
data_config: {dataset_type: CsvDataset, batch_size: 128, fg_mode: FG_NORMAL, with_header: true, label_fields: [y, z, k, domain], delimiter: ","}
feature_configs:
  - id_feature: {feature_name: a, expression: "user:a", num_buckets: 10, embedding_dim: 4}
  - id_feature: {feature_name: b, expression: "item:b", embedding_name: b_emb, num_buckets: 20, embedding_dim: 4}
  - id_feature: {feature_name: c, expression: "item:c", num_buckets: 5, embedding_dim: 4}
  - raw_feature: {feature_name: x, expression: "item:x"}
  - raw_feature: {feature_name: v, expression: "item:v"}
  - sequence_feature:
      sequence_name: hist
      sequence_length: 6
      features:
      - id_feature: {feature_name: b, expression: "item:b", embedding_name: b_emb, num_buckets: 20, embedding_dim: 4}
      - raw_feature: {feature_name: t, expression: "item:t"}
model_config:
  feature_groups: [%s]
  %s
%s"""
group = lambda name, features, kind="DEEP": "{group_name: %s, group_type: %s, feature_names: [%s]}" % (name, kind, features)
LOSS = "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]"
TWO = "task_towers: [{tower_name: p, label_name: y, mlp: {hidden_units: [3]}, %s}, {tower_name: q, label_name: z, %s}]" % (LOSS, LOSS)
END = "  losses: [{binary_cross_entropy: {}}]\n  metrics: [{auc: {}}]\n"
ids, some = group("all", "a, b, c"), group("all", "a, b, x")
wide = group("wide", "a, b", "WIDE")
MODELS = {
    "autoint": (ids, "{attention_layers: [{num_heads: 2, head_dim: 3}], deep: {hidden_units: [6]}, final: {hidden_units: [5]}}", END),
    "backbone": (group("all", "a, b"), "{blocks: [{name: deep, inputs: [{feature_group_name: all}], mlp: {hidden_units: [6]}}]}", END),
    "dbmtl": (some, "{bottom_mlp: {hidden_units: [6]}, expert_mlp: {hidden_units: [4]}, num_expert: 2, task_towers: [{tower_name: p, label_name: y, mlp: {hidden_units: [3]}, %s}, {tower_name: q, label_name: z, relation_tower_names: [p], relation_mlp: {hidden_units: [2]}, %s}]}" % (LOSS, LOSS), ""),
    "dcn_v1": (some, "{cross: {cross_num: 2}, deep: {hidden_units: [6]}, final: {hidden_units: [3]}}", END),
    "dcn_v2": (some, "{cross: {cross_num: 1, low_rank: 2}, deep: {hidden_units: [6]}, final: {hidden_units: [3]}}", END),
    "deepfm": (wide + ", " + group("fm", "a, b") + ", " + group("deep", "a, b, x"), "{deep: {hidden_units: [6]}, final: {hidden_units: [3]}, wide_embedding_dim: 2}", END),
    "dlrm": (group("dense", "x, v") + ", " + group("sparse", "a, b"), "{dense_mlp: {hidden_units: [4]}, final: {hidden_units: [3]}}", END),
    "esmm": (some, "{bottom_mlp: {hidden_units: [4]}, ctr_tower: {tower_name: p, label_name: y, %s}, cvr_tower: {tower_name: q, label_name: z, mlp: {hidden_units: [2]}, %s}}" % (LOSS, LOSS), ""),
    "ffm": (some, "{embedding_dim: 2}", END),
    "fm": (some, "{embedding_dim: 2}", END),
    "logistic_regression": (some, "{}", END),
    "mask_net": (some, "{mask_net_module: {n_mask_blocks: 1, mask_block: {reduction_ratio: 2, hidden_dim: 3}, top_mlp: {hidden_units: [2]}}}", END),
    "mmoe": (some, "{expert_mlp: {hidden_units: [4]}, num_expert: 2, %s}" % TWO, ""),
    "multi_tower": (group("u", "a") + ", " + group("i", "b, x"), "{towers: [{input: u, mlp: {hidden_units: [3]}}, {input: i}], final: {hidden_units: [2]}}", END),
    "multi_tower_din": (group("u", "a") + ", " + group("s", "b, hist__b, hist__t", "SEQUENCE"), "{towers: [{input: u, mlp: {hidden_units: [3]}}], din_towers: [{input: s, attn_mlp: {hidden_units: [4]}}], final: {hidden_units: [2]}}", END),
    "pepnet": (group("all", "a, x") + ", " + group("domain", "c") + ", " + group("uia", "b"), "{ppnet_hidden_units: [3], domain_input_name: domain, task_domain_num: 2, task_towers: [{tower_name: p, label_name: y, %s}]}" % LOSS, ""),
    "ple": (some, "{extraction_networks: [{network_name: n, expert_num_per_task: 1, share_num: 1, task_expert_net: {hidden_units: [4]}, share_expert_net: {hidden_units: [4]}}], %s}" % TWO, ""),
    "rocket_launching": (some, "{share_mlp: {hidden_units: [6]}, booster_mlp: {hidden_units: [5, 3]}, light_mlp: {hidden_units: [3]}, feature_based_distillation: true}", END),
    "simple_multi_task": (some, "{task_towers: [{tower_name: p, label_name: y, mlp: {hidden_units: [3]}, %s}, {tower_name: q, label_name: k, num_class: 3, losses: [{softmax_cross_entropy: {}}], metrics: [{accuracy: {}}]}]}" % LOSS, ""),
    "wide_and_deep": (wide + ", " + group("deep", "a, b, x"), "{deep: {hidden_units: [6]}}", END),
    "wukong": (group("dense", "x") + ", " + group("sparse", "a, b, c"), "{dense_mlp: {hidden_units: [4]}, wukong_layers: [{lcb_feature_num: 2, fmb_feature_num: 3, compressed_feature_num: 2, feature_num_mlp: {hidden_units: [5]}}], final: {hidden_units: [3]}}", END),
    "xdeepfm": (wide + ", " + group("deep", "a, b, x"), "{cin: {cin_layer_size: [3]}, deep: {hidden_units: [4]}, final: {hidden_units: [2]}, wide_embedding_dim: 2}", END),
}
def crank(*args):
    r = subprocess.run(["crank", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert r.returncode == 0, (args, r.stderr)
    return r.stdout
def evaluate(model, data):
    crank("eval", model + ".yaml", "--model_dir", model, "--eval_input_path", data, "--eval_result_filename", "e.txt", "-q")
    return json.loads(open(model + "/e.txt").read().split("\n")[-2])
rows = list(csv.DictReader(open("eval.csv")))
for model, (groups, body, end) in MODELS.items():
    open(model + ".yaml", "w").write(HEAD % (groups, "%s: %s" % (model, body), end))
    crank("train", model + ".yaml", "--model_dir", model, "-q")
    r = json.loads(crank("importance", model + ".yaml", "--model_dir", model, "--json", "--order", "order", "-q"))
    order = [int(x) for x in open("order")]
    plain, worth = evaluate(model, "eval.csv"), 0
    for name in ("a", "b"):
        with open("shuffled.csv", "w") as f:
            w = csv.DictWriter(f, list(rows[0]))
            w.writeheader()
            for i, x in enumerate(rows):
                w.writerow(dict(x, **{name: rows[order[i]][name]}))
        e = evaluate(model, "shuffled.csv")
        unit = [u for u in r["units"] if u["name"] == name and u["kind"] == "feature"][0]
        assert unit["used"], (model, name)
        for m in r["measures"]:
            assert abs(m["value"] - plain[m["name"]]) < 2e-6, (model, m, plain)
            want = (e[m["name"]] - plain[m["name"]]) * (-1 if m["name"].startswith("auc") else 1)
            got = unit[m["name"]]["shuffled"]["loss"]
            assert abs(got - want) < 4e-6, (model, name, m["name"], got, want)
            worth += got != 0
    assert worth > 0, model
assert len(MODELS) == 22
END
python3 all.py || fail "a model gives another worth than its evaluations"
