/*
 * convert.c - configs of EasyRec: no key is lost in silence, and nothing brings the converter down.
 *
 * The configs are those in tests/easyrec. Each of their keys is taken out in turn: the result or
 * the report must then be another one, else nobody would notice that the key is ignored. The few
 * keys that say what would be so without them are listed. Then the trees are shaken: entries are
 * dropped, doubled, moved and given other values at random, and whatever comes out must convert or
 * be refused with words.
 */
#include "base/file.h"
#include "base/rng.h"
#include "conf/conf.h"
#include "dialect/dialect.h"
#include "harness.h"
#include "tool/tool.h"

static const char *source(const char *name) {
    static char path[1024];
    const char *root = getenv("CRANK_SOURCE_ROOT");
    snprintf(path, sizeof(path), "%s/tests/easyrec%s%s", root ? root : ".", *name ? "/" : "", name);
    return path;
}

static void report_text(cr_buf *out, const cr_diag *d) {
    for (size_t i = 0; i < d->n; i++)
        cr_buf_printf(out, "%d:%d %d %s\n", d->v[i].at.line, d->v[i].at.col, (int)d->v[i].sev,
                      d->v[i].msg);
}

/* the result as text, and the report below it; the code of the conversion */
static cr_code convert(const cr_conf_doc *in, cr_buf *text, size_t *n_errors) {
    cr_easyrec_opts opts = {NULL, false};
    cr_easyrec_result res;
    cr_conf_doc out;
    cr_diag diag;
    cr_conf_doc_init(&out);
    cr_diag_init(&diag);
    cr_buf_reset(text);
    cr_code code = cr_easyrec_convert(&out, in, &opts, &res, &diag);
    if (code == CR_OK) {
        cr_arena arena;
        cr_diag looks;
        cr_arena_init(&arena, 0);
        cr_diag_init(&looks);
        cr_root_conf *root = cr_conf_bind(&arena, &cr_root_msg, out.root, &looks);
        cr_root_finish(root, &arena, &looks);
        if (looks.n_errors == 0) cr_root_check(root, &looks);
        cr_conf_print(text, &cr_root_msg, out.root, CR_SYNTAX_PBTXT);
        if (n_errors) *n_errors = diag.n_errors + looks.n_errors;
        cr_diag_clear(&looks);
        cr_arena_clear(&arena);
    } else {
        CHECK(diag.n_errors > 0); /* refused with words */
    }
    report_text(text, &diag);
    cr_diag_clear(&diag);
    cr_conf_doc_clear(&out);
    return code;
}

/* keys that say what EasyRec and crank do anyway, as these configs use them */
static bool says_nothing(const char *key, const cr_conf_node *v) {
    static const struct {
        const char *key, *text;
    } known[] = {
        {"loss_type", "CLASSIFICATION"},
        {"feature_type", "IdFeature"},
        {"wide_deep", "DEEP"},
        {"label_name", "click"}, /* the first label, and the next */
        {"label_name", "buy"},
        {"model_class", ""},
        {"input", "all"},
        {"kv_separator", ":"},
        {"input_type", "STRING"},
        {"only_output_feature_list", "true"},
        {"output_2d_tensor_and_feature_list", "true"},
        {"output_tensor_list", "true"},
        {"merge_inputs_into_list", "true"},
        {"input_slice", "[1]"},
        {"fixed_input_index", "0"},
        {"input_fn", "lambda x: [x, x]"},
        {"need_target_feature", "false"},
        {"num_squeeze_group", "1"},
        {"expert_name", ""},
        {"item", "1"}, /* units of the layer that scores a step */
        {"arch_with_dense_feature", "true"},
        {"feature_names", "user"}, /* of a group that is left out */
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(key, known[i].key) == 0 && v->kind == CR_NODE_SCALAR &&
            (!*known[i].text || strcmp(v->text, known[i].text) == 0))
            return true;
    return v->kind == CR_NODE_MAP && v->n == 0; /* auc {} of a metric that is left out */
}

static int n_keys;

/* takes each entry below `in` out in turn */
static void without(const cr_conf_doc *doc, cr_conf_node *in, const char *name, const char *whole) {
    cr_buf text;
    cr_buf_init(&text);
    for (size_t i = 0; i < in->n; i++) {
        cr_conf_entry e = in->v[i];
        const char *key = e.key ? e.key : "item";
        if (e.val->kind != CR_NODE_SCALAR) without(doc, e.val, name, whole);
        if (says_nothing(key, e.val)) continue;
        memmove(&in->v[i], &in->v[i + 1], (in->n - i - 1) * sizeof(e));
        in->n--;
        (void)!convert(doc, &text, NULL);
        n_keys++;
        bool lost = strcmp(text.data ? text.data : "", whole) == 0;
        CHECK(!lost);
        if (lost)
            fprintf(stderr, "%s:%d:%d: '%s' is lost in silence\n", name, e.at.line, e.at.col, key);
        memmove(&in->v[i + 1], &in->v[i], (in->n - i) * sizeof(e));
        in->v[i] = e;
        in->n++;
    }
    cr_buf_clear(&text);
}

static void each_config(void (*fn)(cr_conf_doc *doc, const char *name)) {
    cr_arena arena;
    char **names = NULL;
    size_t n = 0;
    cr_err err;
    cr_arena_init(&arena, 0);
    CHECK(cr_list_dir(&arena, source(""), &names, &n, &err) == CR_OK);
    CHECK(n > 10);
    for (size_t i = 0; i < n; i++) {
        cr_conf_doc doc;
        cr_diag diag;
        cr_conf_doc_init(&doc);
        cr_diag_init(&diag);
        CHECK(cr_conf_load(&doc, source(names[i]), &diag) == CR_OK);
        fn(&doc, names[i]);
        cr_diag_clear(&diag);
        cr_conf_doc_clear(&doc);
    }
    cr_arena_clear(&arena);
}

static void no_key_lost(cr_conf_doc *doc, const char *name) {
    cr_buf text;
    size_t n_errors = 1;
    cr_buf_init(&text);
    CHECK(convert(doc, &text, &n_errors) == CR_OK);
    CHECK_INT(n_errors, 0);
    without(doc, doc->root, name, text.data);
    cr_buf_clear(&text);
}

TEST(every_key_counts) {
    each_config(no_key_lost);
    CHECK(n_keys > 500);
}

/* ---- shaken trees ---- */

static uint64_t rng_key, rng_n;
static uint64_t draw(uint64_t n) {
    return cr_rng_u64(rng_key, rng_n++) % n;
}

static int collect(cr_conf_node *n, cr_conf_node **out, int have, int cap) {
    if (n->kind == CR_NODE_SCALAR || have == cap) return have;
    out[have++] = n;
    for (size_t i = 0; i < n->n; i++)
        have = collect(n->v[i].val, out, have, cap);
    return have;
}

static int depth_of(const cr_conf_node *n, int depth) {
    int deepest = depth;
    if (depth > 64) return depth;
    for (size_t i = 0; i < n->n; i++) {
        int d = depth_of(n->v[i].val, depth + 1);
        deepest = d > deepest ? d : deepest;
    }
    return deepest;
}

static void shake(cr_conf_doc *doc) {
    enum { CAP = 4096 };
    static cr_conf_node *nodes[CAP];
    static const char *const values[] = {"",     "0",     "-1", "1e300",        "nan",
                                         "true", "x[1-9", "[",  "abc",          "x[3-1]",
                                         "[0]",  "DEEP",  "1",  "f[0-99999999]"};
    int n = collect(doc->root, nodes, 0, CAP);
    cr_conf_node *a = nodes[draw((uint64_t)n)], *b = nodes[draw((uint64_t)n)];
    if (a->n == 0) return;
    size_t i = draw(a->n);
    cr_conf_entry e = a->v[i];
    switch (draw(5)) {
    case 0: /* drop */
        memmove(&a->v[i], &a->v[i + 1], (a->n - i - 1) * sizeof(e));
        a->n--;
        break;
    case 1: /* double */
        if (a->n < 200) cr_conf_push(doc, a, e.key, e.at, e.val);
        break;
    case 2: /* elsewhere too, unless that makes a circle */
        if (e.val->kind == CR_NODE_SCALAR && b->n < 200)
            cr_conf_push(doc, b, b->kind == CR_NODE_MAP ? e.key ? e.key : "key" : NULL, e.at,
                         e.val);
        break;
    case 3: { /* another value */
        cr_conf_node *v = cr_conf_new(doc, CR_NODE_SCALAR, e.at);
        v->text = values[draw(sizeof(values) / sizeof(*values))];
        v->len = strlen(v->text);
        v->quoted = draw(2);
        a->v[i].val = v;
        break;
    }
    default: /* another kind of value */
        a->v[i].val = cr_conf_new(doc, draw(2) ? CR_NODE_MAP : CR_NODE_LIST, e.at);
    }
}

static void shaken(cr_conf_doc *doc, const char *name) {
    cr_buf text;
    cr_buf_init(&text);
    for (int round = 0; round < 300; round++) {
        shake(doc);
        if (depth_of(doc->root, 0) > 60) break;
        (void)!convert(doc, &text, NULL);
    }
    cr_buf_clear(&text);
    (void)name;
}

TEST(shaken_trees_convert_or_are_refused) {
    for (uint64_t seed = 1; seed <= 4; seed++) {
        rng_key = cr_rng_sub(20260504, seed);
        rng_n = 0;
        each_config(shaken);
    }
}

TEST_MAIN(CASE(every_key_counts), CASE(shaken_trees_convert_or_are_refused))
