# models of one's own: blocks give the built-in model's scores from the same weights, in both syntaxes; a library and its mistakes
tiny_data
tiny_config
cat >blocks.yaml <<'EOF'
blocks:
  - {name: wide, inputs: [{feature_group_name: wide}], sum: {}}
  - {name: deep, inputs: [{feature_group_name: deep}], mlp: {hidden_units: [16, 8]}}
  - {name: out, inputs: [{block_name: deep}], linear: {units: 1}}
  - {name: all, inputs: [{block_name: wide}, {block_name: out}], add: {}}
EOF
awk 'FNR == NR { t = t "    " $0 "\n"; next } /^  wide_and_deep:/ { printf "  backbone:\n%s", t; getline; next } { print }' blocks.yaml tiny.yaml >own.yaml
run crank check own.yaml
ends 0

# ---- the same weights, the same steps ----
run crank train tiny.yaml --model_dir first --set train_config.num_epochs=1
ends 0
cat >map.txt <<'EOF'
model.blocks.deep.mlp.0.perceptron.0.weight model.deep_mlp.mlp.0.perceptron.0.weight
model.blocks.deep.mlp.0.perceptron.0.bias model.deep_mlp.mlp.0.perceptron.0.bias
model.blocks.deep.mlp.1.perceptron.0.weight model.deep_mlp.mlp.1.perceptron.0.weight
model.blocks.deep.mlp.1.perceptron.0.bias model.deep_mlp.mlp.1.perceptron.0.bias
model.blocks.out.weight model.output_mlp.weight
model.blocks.out.bias model.output_mlp.bias
EOF
from=$(newest first)
run crank train tiny.yaml --model_dir built_in --fine_tune_checkpoint "$from" --threads 2
ends 0
run crank train own.yaml --model_dir own --fine_tune_checkpoint "$from" --set train_config.fine_tune_ckpt_param_map=map.txt --threads 1
ends 0
for m in built_in own; do
    run crank export $m/pipeline.config --export_dir x_$m
    ends 0
    run crank predict --scripted_model_path x_$m --predict_input_path eval.csv --predict_output_path o_$m
    ends 0
done
same o_built_in o_own
run crank train own.yaml --model_dir two --fine_tune_checkpoint "$from" --set train_config.fine_tune_ckpt_param_map=map.txt --threads 2
ends 0
same_weights own two

# ---- both syntaxes ----
for s in yaml pbtxt; do
    run crank config own.yaml --format $s
    ends 0
    cp "$out" again.$s
done
run crank config again.pbtxt
ends 0
same "$out" again.yaml

# ---- a mistake has its place ----
sed 's/block_name: deep/block_name: depe/' own.yaml >wrong.yaml
run crank check wrong.yaml
ends 2
has_err "wrong.yaml:...:...: block 'out' reads the unknown block 'depe'; did you mean 'deep'?"

# ---- a library ----
command -v cc >/dev/null || skip "no C compiler"
cat >plug.c <<'EOF'
#include <crank/model.h>
static int build(crank_build *b, const crank_model_api *api) {
    crank_node *x = api->group(b, "deep");
    api->output(b, api->layer(b, "deep", "mlp", &x, 1, "hidden_units: [%d]", (int)api->get_int(b, "units")));
    return 0;
}
static const crank_model_param params[] = {{"units", CRANK_PARAM_INT, 1, 0, 0, 1, 64, "width"}, {0}};
static const crank_model_type types[] = {{"one", "one layer", params, build}, {0}};
#ifdef NOTHING
int nothing;
#else
const crank_model_library crank_model_plugin = {CRANK_MODEL_ABI + OLD, types};
#endif
EOF
if command -v c++ >/dev/null; then # both headers in one file of C++
    printf '#include <crank/model.h>\n#include <crank/feature.h>\nint x;\n' >both.cc
    run c++ -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$CLI/../../include" both.cc
    ends 0
fi
for d in OLD=0 OLD=1 NOTHING; do
    run cc -shared -fPIC -D$d -I "$CLI/../../include" plug.c -o $d.so
    ends 0
    trust $d.so
done
trust plug.c
awk '/^  wide_and_deep:/ { print "  plugin: {library: LIB, type: one, params: {units: 8}}"; getline; next } { print }' tiny.yaml | grep -v 'group_name: wide' >plug.yaml
sed 's,LIB,OLD=0.so,' plug.yaml >good.yaml
run crank train good.yaml --model_dir p1 --threads 1
ends 0
run crank train good.yaml --model_dir p2 --threads 2
ends 0
same_weights p1 p2
refuse() { # refuse LIBRARY MESSAGE
    sed "s,LIB,$1," plug.yaml >bad.yaml
    run crank train bad.yaml --model_dir bad
    ends 2
    has_err "$2"
    is_gone bad
}
refuse none.so "bad.yaml:...:...: cannot read library 'none.so': No such file or directory; give the path..."
refuse NOTHING.so "bad.yaml:...:...: library 'NOTHING.so' has no object 'crank_model_plugin'; define it as crank/model.h shows"
refuse OLD=1.so "bad.yaml:...: library 'OLD=1.so' was compiled for interface 2 of crank/model.h, this crank has 1; compile it again..."
refuse plug.c "bad.yaml:...: library 'plug.c' does not load: ...; build it with..."
run crank train good.yaml --model_dir bad --set model_config.plugin.type=on
ends 2
has_err "...library 'OLD=0.so' has no type 'on'; did you mean 'one'?"
run crank train good.yaml --model_dir bad --set 'model_config.plugin.params={units: 65}'
ends 2
has_err "...units...from 1 to 64..."
is_gone bad
