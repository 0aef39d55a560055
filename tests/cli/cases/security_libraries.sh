# docs/guide/security.md, "Libraries": nothing of a config or an export is loaded without the user's word
command -v cc >/dev/null || skip "no C compiler"
tiny_data 320 64
tiny_config
# its constructor leaves a trace, so that loading is seen whatever happens later
cat >plug.c <<'EOT'
#include <crank/feature.h>
#include <crank/model.h>
#include <stdio.h>
static int self;
static void *open_it(const crank_host *host, const crank_params *p, char *why, size_t n) {
    (void)host, (void)p, (void)why, (void)n;
    return &self;
}
static const crank_host *the_host;
static void *open_op(const crank_host *host, const crank_params *p, char *why, size_t n) {
    the_host = host;
    return open_it(host, p, why, n);
}
static int run(void *s, const crank_batch *in, crank_output *out, char *why, size_t n) {
    (void)s, (void)why, (void)n;
    for (int64_t r = 0; r < in->n_rows; r++) {
        the_host->put_int(out, 1);
        the_host->end_row(out);
    }
    return 0;
}
static const crank_type inputs[] = {CRANK_TEXT, 0};
static const crank_operator one = {.name = "One", .min_inputs = 1, .max_inputs = 1, .inputs = inputs, .output = CRANK_INT, .open = open_op, .run = run};
static const crank_operator *const all[] = {&one, 0};
const crank_feature_library crank_features = {CRANK_FEATURE_ABI, all};
static int build(crank_build *b, const crank_model_api *api) {
    crank_node *x = api->group(b, "deep");
    api->output(b, api->layer(b, "deep", "mlp", &x, 1, "hidden_units: [4]"));
    return 0;
}
static const crank_model_param params[] = {{0}};
static const crank_model_type types[] = {{"one", "one layer", params, build}, {0}};
const crank_model_library crank_model_plugin = {CRANK_MODEL_ABI, types};
__attribute__((constructor)) static void loaded(void) {
    FILE *f = fopen("LOADED", "w");
    if (f) fclose(f);
}
EOT
run cc -shared -fPIC -I "$CLI/../../include" plug.c -o plug.so
ends 0
digest=$(sha256sum plug.so | cut -d' ' -f1)
cp tiny.yaml base.yaml
edit 24 "  - custom_feature: {feature_name: price, operator_name: One, operator_lib_file: plug.so, expression: ['item:price'], num_buckets: 5, embedding_dim: 4}"
edit 16 "  fg_mode: FG_NORMAL"
edit 23 "  - id_feature: {feature_name: tags, expression: 'item:item', num_buckets: 30, embedding_dim: 4}"
cp tiny.yaml feature.yaml
awk '/^  wide_and_deep:/ { print "  plugin: {library: plug.so, type: one}"; getline; next } { print }' base.yaml | grep -v 'group_name: wide' >model.yaml

# ---- every command refuses, names the library and says what to do ----
refused() { # refused LIBRARY CMD...
    lib=$1
    shift
    run "$@"
    ends 2
    has_err "...library '$lib' is not loaded: its code could do anything; when you trust it, give --allow_libraries, or add the line '$digest ...' to ~/.config/crank/libraries"
    is_gone LOADED
}
for c in feature model; do
    refused plug.so crank check $c.yaml
    refused plug.so crank train $c.yaml --model_dir m_$c
    is_gone m_$c
    refused plug.so crank bench train $c.yaml --seconds 0.1
done
refused plug.so crank fg feature.yaml
refused plug.so crank create_fg_json --pipeline_config_path feature.yaml --fg_output_dir fg

# ---- --allow_libraries, for one command ----
for c in feature model; do
    run crank train $c.yaml --model_dir m_$c --allow_libraries
    ends 0
    has_out "next  crank export m_$c/pipeline.config ... --allow_libraries"
    is_there LOADED
    rm LOADED
    refused plug.so crank eval m_$c/pipeline.config
    refused plug.so crank export m_$c/pipeline.config --export_dir x
    run crank export m_$c/pipeline.config --export_dir x_$c --allow_libraries
    ends 0
    rm LOADED
done

# ---- an export brings its library along, and it is not loaded either ----
in_export=$(cd x_feature && ls plug_*.so)
refused x_feature/"$in_export" crank predict --scripted_model_path x_feature --predict_input_path eval.csv --predict_output_path o
refused x_feature/"$in_export" crank fg x_feature --input eval.csv
refused x_model/plug.so crank predict --scripted_model_path x_model --predict_input_path eval.csv --predict_output_path o
is_gone o/part-0.csv
# the bytes of an export and of a model_dir are compared all the same
refused x_feature/"$in_export" crank check x_feature
has_out "files     x_feature: ... files, ... digests compared: all as they were written"
refused plug.so crank check m_feature
has_out "files     m_feature/model.ckpt-...: ... digests compared: all as they were written"
# the cure names the list that is read
run env XDG_CONFIG_HOME="$PWD/settings" crank check feature.yaml
ends 2
has_err "...library 'plug.so' is not loaded: ... add the line '$digest plug.so' to $PWD/settings/crank/libraries"
run env -u HOME crank check feature.yaml
ends 2
has_err "...library 'plug.so' is not loaded: its code could do anything; when you trust it, give --allow_libraries"
is_gone LOADED

# ---- the user's list: by content, wherever the library lies; another content is another library ----
mkdir -p "$HOME/.config/crank"
echo "$digest  the plug of this test" >"$HOME/.config/crank/libraries"
for c in feature model; do
    run crank predict --scripted_model_path x_$c --predict_input_path eval.csv --predict_output_path o_$c
    ends 0
    is_there LOADED
    rm LOADED
done
run crank check feature.yaml
ends 0
rm LOADED
# a line that is no digest allows nothing, and is told with its place; comments are no mistake
printf '# mine\n\nplug.so\n%s  plug\n%s0\n' "$digest" "$digest" >"$HOME/.config/crank/libraries"
run crank check feature.yaml
ends 0
has_err "...libraries:3: the line does not begin with a SHA-256 digest, so it allows nothing; write the output of sha256sum there, or # in front"
has_err "...libraries:5: the line does not begin with a SHA-256 digest..."
no_err "...libraries:1: ..."
no_err "...libraries:2: ..."
rm LOADED
printf '\n' >>plug.so
digest=$(sha256sum plug.so | cut -d' ' -f1)
refused plug.so crank check feature.yaml
# built-in operators need no permission
rm "$HOME/.config/crank/libraries"
sed 's/operator_name: One, operator_lib_file: plug.so, expression: \[/operator_name: EditDistance, operator_lib_file: pyfg\/lib\/libedit_distance.so, expression: ["user:user", /' feature.yaml >built_in.yaml
run crank check built_in.yaml
ends 0
