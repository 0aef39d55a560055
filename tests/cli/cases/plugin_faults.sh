# a library that crashes is named with function and row before the process ends; one that does not come back ends at the first SIGTERM
command -v cc >/dev/null || skip "no C compiler"
case ${ASAN_OPTIONS:-} in ?*) skip "a sanitizer has its own words for crashes" ;; esac
tiny_data 320 64
tiny_config
cat >plug.c <<'EOT'
#include <crank/feature.h>
#include <crank/model.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static const crank_host *host;
static const char *fault;
static volatile int zero, sink;
static int deep(volatile char *p) {
    volatile char more[65536];
    more[0] = *p;
    return deep(more) + more[1];
}
static void fail(const char *where) {
    if (!fault || strncmp(fault, where, strlen(where)) != 0) return;
    const char *how = fault + strlen(where);
    if (!strcmp(how, " segv")) *(volatile int *)(long)zero = 1;
    if (!strcmp(how, " fpe")) sink = sink / zero;
    if (!strcmp(how, " abort")) abort();
    if (!strcmp(how, " stack")) { volatile char c = 0; sink = deep(&c); }
    if (!strcmp(how, " loop")) {
        static int asked; /* the process is asked to stop, once, while it is here */
        if (!__sync_fetch_and_add(&asked, 1)) kill(getpid(), SIGTERM);
        for (;;) sink++;
    }
}
static int self;
static void *open_it(const crank_host *h, const crank_params *p, char *why, size_t n) {
    (void)why, (void)n, (void)p;
    host = h;
    fault = getenv("FAULT");
    fail("open");
    return &self;
}
static int run(void *s, const crank_batch *in, crank_output *out, char *why, size_t n) {
    (void)s, (void)why, (void)n;
    for (int64_t r = 0; r < in->n_rows; r++) {
        const crank_text *t = &in->inputs[0].texts[in->inputs[0].offsets[r]];
        if (in->inputs[0].offsets[r + 1] > in->inputs[0].offsets[r] && t->size == 5 && !memcmp(t->data, "crash", 5)) fail("run");
        host->put_int(out, 1);
        host->end_row(out);
    }
    return 0;
}
static const crank_type inputs[] = {CRANK_TEXT, 0};
static const crank_operator one = {.name = "One", .min_inputs = 1, .max_inputs = 1, .inputs = inputs, .output = CRANK_INT, .open = open_it, .run = run};
static const crank_operator *const all[] = {&one, 0};
const crank_feature_library crank_features = {CRANK_FEATURE_ABI, all};

static int forward(const crank_op_call *c) {
    fail("forward");
    for (int64_t r = 0; r < c->n_rows; r++) memcpy(c->out.v + r * c->out.stride, c->in[0].v + r * c->in[0].stride, sizeof(float) * (size_t)c->out.width);
    return 0;
}
static int backward(const crank_op_call *c) {
    fail("backward");
    return 0;
}
static const crank_op op = {"copy", forward, backward};
static int build(crank_build *b, const crank_model_api *api) {
    crank_node *x = api->group(b, "deep");
    fault = getenv("FAULT");
    fail("build");
    crank_node *y = api->layer(b, "deep", "mlp", &x, 1, "hidden_units: [4]");
    api->output(b, api->op(b, &op, &y, 1, 0, 0, 4, 0, 0));
    return 0;
}
static const crank_model_param params[] = {{0}};
static const crank_model_type types[] = {{"one", "one layer", params, build}, {0}};
const crank_model_library crank_model_plugin = {CRANK_MODEL_ABI, types};
EOT
run cc -shared -fPIC -I "$CLI/../../include" plug.c -o plug.so
ends 0
trust plug.so
cp tiny.yaml base.yaml
edit 16 "  fg_mode: FG_NORMAL"
edit 23 "  - id_feature: {feature_name: tags, expression: 'item:item', num_buckets: 30, embedding_dim: 4}"
edit 24 "  - custom_feature: {feature_name: price, operator_name: One, operator_lib_file: plug.so, expression: ['item:price'], num_buckets: 5, embedding_dim: 4}"
cp tiny.yaml feature.yaml
awk '/^  wide_and_deep:/ { print "  plugin: {library: plug.so, type: one}"; getline; next } { print }' base.yaml | grep -v 'group_name: wide' >model.yaml
awk -F, -v OFS=, 'NR == 42 { $5 = "crash" } { print }' train.csv >t && mv t train.csv

# ---- crashes ----
may_be_killed=1
ulimit -c 0
crashes() { # crashes CONFIG FAULT EXIT_CODE SIGNAL PLACE
    rm -rf m
    run env FAULT="$2" crank train "$1" --model_dir m --threads 2 --quiet
    ends "$3"
    has_err "crank: $5; correct the library, or leave it out"
    [ "$(grep -c '^crank: ' "$err")" -eq 1 ] || fail "more than one line"
}
of="operator 'One' for feature 'price'"
crashes feature.yaml "run segv" 139 SIGSEGV "library 'plug.so' crashed (SIGSEGV) in run of $of, at train.csv:42"
crashes feature.yaml "run stack" 139 SIGSEGV "library 'plug.so' crashed (SIGSEGV) in run of $of, at train.csv:42"
crashes feature.yaml "run abort" 134 SIGABRT "library 'plug.so' crashed (SIGABRT) in run of $of, at train.csv:42"
crashes feature.yaml "open segv" 139 SIGSEGV "library 'plug.so' crashed (SIGSEGV) in open of $of"
crashes model.yaml "build segv" 139 SIGSEGV "library 'plug.so' crashed (SIGSEGV) in build of type 'one'"
sed '42s/crash/1/' train.csv >t && mv t train.csv
crashes model.yaml "forward segv" 139 SIGSEGV "op 'copy' of plug.so crashed (SIGSEGV) in forward, in rows ... to ... (from 0) of a batch"
crashes model.yaml "backward segv" 139 SIGSEGV "op 'copy' of plug.so crashed (SIGSEGV) in backward, in rows ... to ... (from 0) of a batch"
if [ "$(uname -m)" = x86_64 ]; then
    crashes model.yaml "forward fpe" 136 SIGFPE "op 'copy' of plug.so crashed (SIGFPE) in forward, in rows ... to ... (from 0) of a batch"
fi
# no crash, no word
rm -rf m
run crank train model.yaml --model_dir m --quiet
ends 0
no_err "...crashed..."

# ---- endless loops: the first SIGTERM is enough; a second one ends at once ----
loops() { # loops CONFIG FAULT PLACE
    rm -rf m
    run env FAULT="$2" crank train "$1" --model_dir m --threads 2 --quiet
    ends 1
    has_err "crank: asked to stop 5 s ago or more, and $3; ended without waiting for it"
}
sed '42s/,[^,]*$/,crash/' train.csv >t && mv t train.csv
loops feature.yaml "run loop" "library 'plug.so' does not come back from run of $of, at train.csv:42"
sed '42s/crash/1/' train.csv >t && mv t train.csv
loops model.yaml "forward loop" "op 'copy' of plug.so does not come back from forward, in rows ... to ... (from 0) of a batch"
