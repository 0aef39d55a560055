/*
 * print.c - printing: exact text of one config, then many random trees: what is printed must read
 * back and bind to an equal struct, through all syntaxes and back again.
 */
#include "toy.h"

#include "base/rng.h"

static const char source[] =
    "groups { group_name: 'a b' feature_names: ['p', \"user:x\", '', '1', '*y', 'yes']\n"
    "  vocab_dict { key: 'k' value: 0x10 } vocab_dict { key: 'k' value: 2 }\n"
    "  value_map: [{key: \"\\x1d\" value: inf}] toy_deep {} toy_deep { deep {} }\n"
    "  params { fields { key: 'n' value { number_value: 1.5 } } fields { key: 's' value {\n"
    "    string_value: 'x' } } fields { key: 'z' value { null_value: NULL_VALUE } } } }\n"
    "model_dir: \"a\\001\\\"\\\\\\n\xc3\xa4\"\n"
    "train_config { num_steps: 010 lr: 1e-3f shuffle: 1 } groups {}\n";

TEST(exact_yaml) {
    toy t;
    cr_buf out;
    cr_buf_init(&out);
    CHECK_INT(toy_parse(&t, PBTXT, source, sizeof source - 1), CR_OK);
    cr_conf_print(&out, &toy_root_msg, t.doc.root, YAML);
    CHECK_STR(out.data, "model_dir: \"a\\x01\\\"\\\\\\n\xc3\xa4\"\n"
                        "train_config:\n"
                        "  num_steps: 8\n"
                        "  lr: 0.001\n"
                        "  shuffle: true\n"
                        "groups:\n"
                        "  - group_name: \"a b\"\n"
                        "    feature_names: [p, user:x, \"\", \"1\", \"*y\", \"yes\"]\n"
                        "    toy_deep:\n"
                        "      deep: {}\n"
                        "    vocab_dict:\n"
                        "      \"k\": 2\n"
                        "    value_map:\n"
                        "      \"\\x1D\": .inf\n"
                        "    params: {\"n\": 1.5, \"s\": \"x\", \"z\": null}\n"
                        "  - {}\n");
    cr_buf_clear(&out);
    toy_clear(&t);
}

TEST(exact_pbtxt) {
    toy t;
    cr_buf out;
    cr_buf_init(&out);
    CHECK_INT(toy_parse(&t, PBTXT, source, sizeof source - 1), CR_OK);
    cr_conf_print(&out, &toy_root_msg, t.doc.root, PBTXT);
    CHECK_STR(out.data,
              "model_dir: \"a\\001\\\"\\\\\\n\xc3\xa4\"\n"
              "train_config {\n"
              "  num_steps: 8\n"
              "  lr: 0.001\n"
              "  shuffle: true\n"
              "}\n"
              "groups {\n"
              "  group_name: \"a b\"\n"
              "  feature_names: [\"p\", \"user:x\", \"\", \"1\", \"*y\", \"yes\"]\n"
              "  toy_deep {\n"
              "    deep {}\n"
              "  }\n"
              "  vocab_dict { key: \"k\" value: 2 }\n"
              "  value_map { key: \"\\035\" value: inf }\n"
              "  params { fields { key: \"n\" value { number_value: 1.5 } } fields { key: \"s\" "
              "value { string_value: \"x\" } } fields { key: \"z\" value { null_value: "
              "NULL_VALUE } } }\n"
              "}\n"
              "groups {}\n");
    cr_buf_clear(&out);
    toy_clear(&t);
}

TEST(exact_json) {
    toy t;
    cr_buf out;
    cr_buf_init(&out);
    CHECK_INT(toy_parse(&t, PBTXT, source, sizeof source - 1), CR_OK);
    cr_conf_print(&out, &toy_root_msg, t.doc.root, JSON);
    CHECK_STR(out.data,
              "{\n"
              "  \"model_dir\": \"a\\u0001\\\"\\\\\\n\xc3\xa4\",\n"
              "  \"train_config\": {\n"
              "    \"num_steps\": 8,\n"
              "    \"lr\": 0.001,\n"
              "    \"shuffle\": true\n"
              "  },\n"
              "  \"groups\": [\n"
              "    {\n"
              "      \"group_name\": \"a b\",\n"
              "      \"feature_names\": [\"p\", \"user:x\", \"\", \"1\", \"*y\", \"yes\"],\n"
              "      \"toy_deep\": {\n"
              "        \"deep\": {}\n"
              "      },\n"
              "      \"vocab_dict\": {\n"
              "        \"k\": 2\n"
              "      },\n"
              "      \"value_map\": {\n"
              "        \"\\u001D\": \"Infinity\"\n"
              "      },\n"
              "      \"params\": {\"n\": 1.5, \"s\": \"x\", \"z\": null}\n"
              "    },\n"
              "    {}\n"
              "  ]\n"
              "}\n");
    cr_buf_reset(&out);
    cr_conf_print(&out, &toy_root_msg, cr_conf_new(&t.doc, CR_NODE_MAP, CR_NOWHERE), JSON);
    CHECK_STR(out.data, "{}\n");
    cr_buf_clear(&out);
    toy_clear(&t);
}

/* ---- equality of bound structs, by their tables ---- */

static bool same_msg(const void *a, const void *b);

static bool same_double(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

static bool same_tree(const cr_conf_node *a, const cr_conf_node *b) {
    if (!a || !b) return a == b;
    if (a->kind != b->kind || a->n != b->n) return false;
    if (a->kind == CR_NODE_SCALAR) return strcmp(a->text, b->text) == 0 && a->quoted == b->quoted;
    for (size_t i = 0; i < a->n; i++) {
        if (a->v[i].key && strcmp(a->v[i].key, b->v[i].key) != 0) return false;
        if (!same_tree(a->v[i].val, b->v[i].val)) return false;
    }
    return true;
}

static bool same_list(const cr_field *f, const cr_ints *a, const cr_ints *b) {
    if (a->n != b->n) return false;
    for (int64_t i = 0; i < a->n; i++) {
        const void *x = a->v, *y = b->v;
        bool same = f->type == CR_T_STR    ? !strcmp(((char *const *)x)[i], ((char *const *)y)[i])
                    : f->type == CR_T_ENUM ? ((const int *)x)[i] == ((const int *)y)[i]
                    : f->type == CR_T_MSG  ? same_msg(((void *const *)x)[i], ((void *const *)y)[i])
                    : f->type == CR_T_FLOAT
                        ? same_double(((const double *)x)[i], ((const double *)y)[i])
                        : a->v[i] == b->v[i];
        if (!same) return false;
    }
    return true;
}

static bool same_row(const cr_field *f, const char *a, const char *b) {
    if (f->offset == CR_NO_STORE) return true;
    const void *x = a + f->offset, *y = b + f->offset;
    if (f->flags & CR_F_REPEATED) return same_list(f, x, y);
    const cr_choice *c = x, *d = y;
    const cr_conf_map *m = x, *n = y;
    switch (f->type) {
    case CR_T_BOOL: return *(const bool *)x == *(const bool *)y;
    case CR_T_INT:
    case CR_T_UINT64: return *(const int64_t *)x == *(const int64_t *)y;
    case CR_T_FLOAT: return same_double(*(const double *)x, *(const double *)y);
    case CR_T_STR: return strcmp(*(char *const *)x, *(char *const *)y) == 0;
    case CR_T_ENUM: return *(const int *)x == *(const int *)y;
    case CR_T_MSG: return same_msg(*(void *const *)x, *(void *const *)y);
    case CR_T_ONEOF: return c->m == d->m && same_msg(c->conf, d->conf);
    case CR_T_TREE:
        return same_tree(*(const cr_conf_node *const *)x, *(const cr_conf_node *const *)y);
    case CR_T_MAP_INT:
    case CR_T_MAP_FLOAT:
        if (m->n != n->n) return false;
        for (int64_t i = 0; i < m->n; i++)
            if (strcmp(m->v[i].key, n->v[i].key) || m->v[i].i != n->v[i].i ||
                !same_double(m->v[i].f, n->v[i].f))
                return false;
        return true;
    }
    return false;
}

static bool same_msg(const void *a, const void *b) {
    if (!a || !b) return a == b;
    const cr_conf_base *x = a, *y = b;
    if (x->msg != y->msg || memcmp(&x->set, &y->set, sizeof x->set) != 0) return false;
    for (const cr_field *f = x->msg->fields; f->name; f++)
        if (!same_row(f, a, b)) {
            fprintf(stderr, "%s.%s differs\n", x->msg->name, f->name);
            return false;
        }
    return true;
}

/* ---- random trees ---- */

typedef struct gen {
    cr_conf_doc *doc;
    uint64_t key, i;
} gen;

static uint64_t below(gen *g, uint64_t n) {
    return cr_rng_below(g->key, g->i++, n);
}

static cr_conf_node *scalar(gen *g, const char *text, size_t len, bool quoted) {
    cr_conf_node *n = cr_conf_new(g->doc, CR_NODE_SCALAR, CR_NOWHERE);
    n->text = cr_arena_strndup(&g->doc->arena, text, len);
    n->len = len;
    n->quoted = quoted;
    return n;
}

static const char *random_text(gen *g, cr_buf *b, size_t max) {
    static const char *const bits[] = {"a",
                                       "B",
                                       "_",
                                       "7",
                                       " ",
                                       "\"",
                                       "'",
                                       "\\",
                                       "\n",
                                       "\x1d",
                                       "\x7f",
                                       ":",
                                       ": ",
                                       "#",
                                       " #",
                                       "-",
                                       "- ",
                                       "[",
                                       "]",
                                       "{",
                                       "}",
                                       ",",
                                       "&",
                                       "*",
                                       "!",
                                       "|",
                                       ">",
                                       "%",
                                       "@",
                                       "`",
                                       "\xc3\xa4",
                                       "\xe4\xb8\xad",
                                       "\xf0\x9f\x98\x80",
                                       "\xc2\x85",
                                       "\xe2\x80\xa8",
                                       "\xef\xbb\xbf",
                                       "\t",
                                       "\r",
                                       "true",
                                       "null",
                                       "~",
                                       "0x1",
                                       "1e5",
                                       "\0011",
                                       "<<",
                                       "=",
                                       "?",
                                       "\xc2\xa0",
                                       "\xef\xbf\xbf"};
    cr_buf_reset(b);
    cr_buf_str(b, "");
    for (uint64_t n = below(g, max); n > 0; n--)
        cr_buf_str(b, bits[below(g, sizeof bits / sizeof *bits)]);
    return b->data ? b->data : "";
}

static cr_conf_node *random_scalar(gen *g, const cr_field *f) {
    char text[64];
    cr_buf b;
    cr_buf_init(&b);
    cr_conf_node *n;
    const cr_enum_value *e = f->ref;
    switch (f->type) {
    case CR_T_BOOL: n = below(g, 2) ? scalar(g, "True", 4, false) : scalar(g, "0", 1, false); break;
    case CR_T_FLOAT:
        if (f->max > 1e300 && below(g, 4) == 0)
            snprintf(text, sizeof text, "%s", below(g, 2) ? "-inf" : "nan");
        else
            snprintf(text, sizeof text, "%.17g", cr_rng_f64(g->key, g->i++));
        n = scalar(g, text, strlen(text), false);
        break;
    case CR_T_STR:
        random_text(g, &b, below(g, 30) == 0 ? 1500 : 8);
        n = scalar(g, b.data, b.n, true);
        break;
    case CR_T_ENUM: n = scalar(g, e[below(g, 2)].name, 4, false); break;
    case CR_T_INT:
        snprintf(text, sizeof text, "%d",
                 (int)(f->max < 10 ? -(int)below(g, 100) : 1 + (int)below(g, 4000)));
        n = scalar(g, text, strlen(text), false);
        break;
    default:
        snprintf(text, sizeof text, "%llu", (unsigned long long)cr_rng_u64(g->key, g->i++));
        n = scalar(g, text, strlen(text), false);
    }
    cr_buf_clear(&b);
    return n;
}

static cr_conf_node *random_tree(gen *g, int depth) {
    cr_buf b;
    cr_buf_init(&b);
    uint64_t kind = depth > 3 ? below(g, 4) : below(g, 6);
    cr_conf_node *n;
    if (kind < 4) {
        static const char *const plain[] = {"true", "1.5", "null", "-3"};
        random_text(g, &b, 6);
        n = below(g, 2) ? scalar(g, b.data, b.n, true)
                        : scalar(g, plain[kind], strlen(plain[kind]), false);
    } else {
        n = cr_conf_new(g->doc, kind == 4 ? CR_NODE_MAP : CR_NODE_LIST, CR_NOWHERE);
        for (uint64_t i = below(g, 4); i > 0; i--) {
            char key[16];
            snprintf(key, sizeof key, "k%d \"", (int)i);
            cr_conf_push(g->doc, n, kind == 4 ? cr_arena_strdup(&g->doc->arena, key) : NULL,
                         CR_NOWHERE, random_tree(g, depth + 1));
        }
    }
    cr_buf_clear(&b);
    return n;
}

static cr_conf_node *random_msg(gen *g, const cr_msg *msg) {
    cr_conf_node *map = cr_conf_new(g->doc, CR_NODE_MAP, CR_NOWHERE);
    for (const cr_field *f = msg->fields; f->name; f++) {
        bool must = f->flags & CR_F_REQUIRED || f->type == CR_T_ONEOF;
        unsigned idle = CR_F_LATER | CR_F_GPU | CR_F_IDLE | CR_F_ALIAS;
        if (f->flags & idle || (!must && below(g, 3) == 0)) continue;
        cr_conf_node *n;
        const char *key = f[1].flags & CR_F_ALIAS && below(g, 2) ? f[1].name : f->name;
        if (f->type == CR_T_ONEOF) {
            const cr_oneof_member *m = &((const cr_oneof *)f->ref)->members[below(g, 2)];
            key = m->key;
            n = random_msg(g, m->msg);
        } else if (f->type == CR_T_TREE) {
            do
                n = random_tree(g, 0);
            while (n->kind != CR_NODE_MAP);
        } else if (f->type == CR_T_MAP_INT || f->type == CR_T_MAP_FLOAT) {
            cr_buf b;
            cr_buf_init(&b);
            n = cr_conf_new(g->doc, CR_NODE_MAP, CR_NOWHERE);
            cr_field row = {.type = f->type == CR_T_MAP_INT ? CR_T_UINT64 : CR_T_FLOAT, .max = 1};
            for (uint64_t i = below(g, 5); i > 0; i--) {
                random_text(g, &b, below(g, 10) == 0 ? 900 : 8);
                const char *k = cr_arena_strdup(&g->doc->arena, b.data);
                if (!cr_conf_find(n, k))
                    cr_conf_push(g->doc, n, k, CR_NOWHERE, random_scalar(g, &row));
            }
            cr_buf_clear(&b);
        } else if (f->flags & CR_F_REPEATED) {
            n = cr_conf_new(g->doc, CR_NODE_LIST, CR_NOWHERE);
            for (uint64_t i = below(g, 5); i > 0; i--)
                cr_conf_push(g->doc, n, NULL, CR_NOWHERE,
                             f->type == CR_T_MSG ? random_msg(g, f->ref) : random_scalar(g, f));
        } else {
            n = f->type == CR_T_MSG ? random_msg(g, f->ref) : random_scalar(g, f);
        }
        cr_conf_push(g->doc, map, key, CR_NOWHERE, n);
    }
    /* the toy's own rule: not both */
    if (msg == &toy_train_msg && cr_conf_find(map, "num_steps"))
        for (size_t i = 0; i < map->n; i++)
            if (strcmp(map->v[i].key, "num_epochs") == 0) map->v[i].val = scalar(g, "0", 1, false);
    return map;
}

TEST(random_round_trips) {
    enum { ROUNDS = 400, SEED = 20240611, STEPS = 6 };
    static const cr_syntax chain[STEPS] = {YAML, PBTXT, JSON, YAML, JSON, PBTXT};
    printf("seed %d\n", SEED);
    for (int round = 0; round < ROUNDS && t_failed_checks == 0; round++) {
        toy first, t[STEPS];
        CHECK_INT(toy_parse(&first, YAML, "", 0), CR_OK);
        gen g = {&first.doc, cr_rng_key(SEED, "tree", NULL) + (uint64_t)round, 0};
        first.doc.root = random_msg(&g, &toy_root_msg);
        toy_bind(&first);
        CHECK_STR(first.text.data, "");
        const cr_conf_node *node = first.doc.root;
        for (int k = 0; k < STEPS; k++) {
            /* from each syntax to each other one, bound and compared with the first */
            cr_syntax s = chain[k];
            cr_buf out;
            cr_buf_init(&out);
            cr_buf_str(&out, "");
            cr_conf_print(&out, &toy_root_msg, node, s);
            CHECK_INT(toy_parse(&t[k], s, out.data, out.n), CR_OK);
            toy_bind(&t[k]);
            CHECK_STR(t[k].text.data, "");
            CHECK(same_msg(first.root, t[k].root));
            if (t_failed_checks) fprintf(stderr, "round %d, step %d:\n%s\n", round, k, out.data);
            node = t[k].doc.root;
            cr_buf_clear(&out);
        }
        for (int k = 0; k < STEPS; k++)
            toy_clear(&t[k]);
        toy_clear(&first);
    }
}

/* a message that is known by name only is printed as it stands: the converter writes such models */
TEST(unread) {
    static const char from[] =
        "groups { group_name: \"a\" toy_far { similarity: COSINE input: \"user\" rate: 1e-3\n"
        "tower { dims: 16 dims: 8 used: true } tower { dims: [4, 2] name: 'x y' } part { } } }";
    static const struct {
        cr_syntax to;
        const char *text;
    } forms[] = {
        {YAML,
         "groups:\n  - group_name: a\n    toy_far:\n      similarity: COSINE\n      input: user\n"
         "      rate: 0.001\n      tower:\n        - dims: [16, 8]\n          used: true\n"
         "        - dims: [4, 2]\n          name: \"x y\"\n      part: {}\n"},
        {PBTXT,
         "groups {\n  group_name: \"a\"\n  toy_far {\n    similarity: COSINE\n"
         "    input: \"user\"\n    rate: 1e-3\n    tower {\n      dims: [16, 8]\n"
         "      used: true\n    }\n    tower {\n      dims: [4, 2]\n      name: \"x y\"\n    }\n"
         "    part {}\n  }\n}\n"},
    };
    for (int i = 0; i < 2; i++) {
        toy t;
        cr_buf out;
        cr_buf_init(&out);
        CHECK_INT(toy_parse(&t, PBTXT, from, sizeof from - 1), CR_OK);
        cr_conf_print(&out, &toy_root_msg, t.doc.root, forms[i].to);
        CHECK_STR(out.data, forms[i].text);
        cr_buf_clear(&out);
        toy_clear(&t);
    }
    /* what no message can have as a key is left out, and JSON stays JSON */
    toy t;
    cr_buf out;
    cr_buf_init(&out);
    static const char odd[] = "groups: [{group_name: a, toy_far: {'a\"b': 1, c: [x, y]}}]";
    CHECK_INT(toy_parse(&t, YAML, odd, sizeof odd - 1), CR_OK);
    cr_conf_print(&out, &toy_root_msg, t.doc.root, JSON);
    CHECK(strstr(out.data, "\"c\": [\"x\", \"y\"]\n") && !strstr(out.data, "a\"b"));
    cr_buf_clear(&out);
    toy_clear(&t);
}

TEST_MAIN(CASE(exact_yaml), CASE(exact_pbtxt), CASE(exact_json), CASE(unread),
          CASE(random_round_trips))
