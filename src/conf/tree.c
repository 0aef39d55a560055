/*
 * tree.c - documents and nodes: making, finding, copying; loading a file in the right syntax.
 *
 * The text is checked to be UTF-8 without NUL here, once, so that the parsers (and libfyaml) only
 * see clean text. The ending of the file name decides the syntax. Where the ending says nothing,
 * the first line that is possible in only one syntax decides.
 */
#include "conf/tree.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/utf8.h"
#include "conf/conf_int.h"

void cr_conf_doc_init(cr_conf_doc *doc) {
    memset(doc, 0, sizeof *doc);
    cr_arena_init(&doc->arena, 0);
    doc->root = cr_conf_new(doc, CR_NODE_MAP, CR_NOWHERE);
}

void cr_conf_doc_clear(cr_conf_doc *doc) {
    cr_arena_clear(&doc->arena);
    memset(doc, 0, sizeof *doc);
}

cr_conf_node *cr_conf_new(cr_conf_doc *doc, cr_node_kind kind, cr_loc at) {
    cr_conf_node *n = CR_NEW(&doc->arena, cr_conf_node);
    n->kind = kind;
    n->from = doc->syntax;
    n->at = at;
    n->text = "";
    return n;
}

void cr_conf_push(cr_conf_doc *doc, cr_conf_node *parent, const char *key, cr_loc at,
                  cr_conf_node *val) {
    CR_ASSERT(parent->kind != CR_NODE_SCALAR);
    if (parent->n == parent->cap) {
        size_t cap = parent->cap ? parent->cap * 2 : 4;
        cr_conf_entry *v = CR_NEW_N(&doc->arena, cr_conf_entry, cap);
        if (parent->n) memcpy(v, parent->v, parent->n * sizeof *v);
        parent->v = v;
        parent->cap = cap;
    }
    parent->v[parent->n++] = (cr_conf_entry){key, at, val};
}

/* is_camel: is key the camelCase form of name by protobuf's rule? "num_steps" is "numSteps",
 * "T_max" is "TMax". */
static bool is_camel(const char *key, const char *name) {
    bool up = false;
    for (; *name; name++) {
        if (*name == '_') {
            up = true;
            continue;
        }
        char c = up ? (char)toupper((unsigned char)*name) : *name;
        if (*key++ != c) return false;
        up = false;
    }
    return *key == 0;
}

bool cr_conf_key_is(const cr_conf_node *map, const char *key, const char *name) {
    return strcmp(key, name) == 0 || (map->from == CR_SYNTAX_JSON && is_camel(key, name));
}

cr_conf_node *cr_conf_find(const cr_conf_node *map, const char *key) {
    if (!map || map->kind != CR_NODE_MAP) return NULL;
    for (size_t i = map->n; i-- > 0;)
        if (cr_conf_key_is(map, map->v[i].key, key)) return map->v[i].val;
    return NULL;
}

const char *cr_conf_find_text(const cr_conf_node *map, const char *key) {
    const cr_conf_node *n = cr_conf_find(map, key);
    return n && n->kind == CR_NODE_SCALAR ? n->text : "";
}

cr_conf_node *cr_conf_copy(cr_conf_doc *doc, const cr_conf_node *n, int depth, size_t *budget) {
    if (depth > CR_CONF_MAX_DEPTH || *budget == 0) return NULL;
    --*budget;
    cr_conf_node *c = CR_NEW(&doc->arena, cr_conf_node);
    *c = *n;
    if (n->kind == CR_NODE_SCALAR) return c;
    c->v = CR_NEW_N(&doc->arena, cr_conf_entry, n->n ? n->n : 1);
    c->cap = n->n;
    for (size_t i = 0; i < n->n; i++) {
        c->v[i] = n->v[i];
        c->v[i].val = cr_conf_copy(doc, n->v[i].val, depth + 1, budget);
        if (!c->v[i].val) return NULL;
    }
    return c;
}

static bool check_text(const cr_conf_doc *doc, const char *text, size_t n, cr_diag *diag) {
    cr_loc at = {doc->path, 1, 1};
    if (n > CR_CONF_MAX_TEXT) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, (cr_loc){doc->path, 0, 0},
                    "the config is %zu bytes; at most %d are read", n, (int)CR_CONF_MAX_TEXT);
        return false;
    }
    static const struct {
        const char *begin, *what;
    } other[] = {
        {"\xff\xfe", "the text is UTF-16; save it as UTF-8 (iconv -f UTF-16 -t UTF-8)"},
        {"\xfe\xff", "the text is UTF-16; save it as UTF-8 (iconv -f UTF-16 -t UTF-8)"},
        {"\x1f\x8b", "the file is packed with gzip; unpack it (gunzip)"},
        {"\x28\xb5\x2f\xfd", "the file is packed with zstd; unpack it (unzstd)"},
    };
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        size_t len = strlen(other[i].begin);
        if (n < len || memcmp(text, other[i].begin, len) != 0) continue;
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, (cr_loc){doc->path, 0, 0}, "%s", other[i].what);
        return false;
    }
    if (n > 10 && memcmp(text + 4, "\0\0\0\0{\"", 6) == 0) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, (cr_loc){doc->path, 0, 0},
                    "this is a safetensors file, not a config; name the folder that it lies in");
        return false;
    }
    for (size_t i = 0; i < n;) {
        uint32_t c;
        size_t len = cr_utf8_get(text + i, n - i, &c);
        if (c >= CR_UTF8_BAD || c == 0) {
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at,
                        "byte 0x%02x is not text; save the config as UTF-8",
                        (unsigned char)text[i]);
            return false;
        }
        if (text[i] == '\n')
            at.line++, at.col = 1;
        else
            at.col++;
        i += len;
    }
    return true;
}

/* line_tells returns the syntax that one line shows; -1: the line fits several. */
static int line_tells(const char *s, const char *end) {
    while (s < end && (*s == ' ' || *s == '\t'))
        s++;
    if (s == end || *s == '#') return -1;
    if (*s == '{') {
        for (s++; s < end && isspace((unsigned char)*s); s++)
            ;
        return s == end || *s == '"' || *s == '}' ? (int)CR_SYNTAX_JSON : (int)CR_SYNTAX_YAML;
    }
    if (*s == '-' || *s == '"' || *s == '\'' || *s == '&' || *s == '%') return CR_SYNTAX_YAML;
    if (!isalpha((unsigned char)*s) && *s != '_') return -1;
    while (s < end && (isalnum((unsigned char)*s) || *s == '_'))
        s++;
    while (s < end && (*s == ' ' || *s == '\t'))
        s++;
    if (s < end && (*s == '{' || *s == '<')) return CR_SYNTAX_PBTXT;
    if (s == end || *s != ':') return -1;
    for (s++; s < end && isspace((unsigned char)*s); s++)
        ;
    if (s == end || *s == '#') return CR_SYNTAX_YAML; /* "key:" without a value */
    if (*s == '{' || *s == '<') {
        for (s++; s < end && isspace((unsigned char)*s); s++)
            ;
        return s == end ? (int)CR_SYNTAX_PBTXT : -1;
    }
    return -1;
}

/* syntax_of_name returns the syntax of a file name's ending; -1: the text decides. */
static int syntax_of_name(const char *path) {
    static const struct {
        const char *end;
        cr_syntax syntax;
    } ends[] = {
        {".yaml", CR_SYNTAX_YAML},    {".yml", CR_SYNTAX_YAML},    {".json", CR_SYNTAX_JSON},
        {".config", CR_SYNTAX_PBTXT}, {".pbtxt", CR_SYNTAX_PBTXT}, {".prototxt", CR_SYNTAX_PBTXT},
        {".txt", CR_SYNTAX_PBTXT},
    };
    size_t len = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t l = strlen(ends[i].end);
        if (len > l && strcasecmp(path + len - l, ends[i].end) == 0) return (int)ends[i].syntax;
    }
    return -1;
}

static cr_syntax syntax_of_text(const char *text, size_t n) {
    const char *s = text, *end = text + n;
    while (s < end) {
        const char *nl = memchr(s, '\n', (size_t)(end - s));
        int told = line_tells(s, nl ? nl : end);
        if (told >= 0) return (cr_syntax)told;
        if (!nl) break;
        s = nl + 1;
    }
    return CR_SYNTAX_YAML;
}

cr_code cr_conf_parse(cr_conf_doc *doc, cr_syntax syntax, const char *path, const char *text,
                      size_t n, cr_diag *diag) {
    doc->path = cr_arena_strdup(&doc->arena, path);
    doc->syntax = syntax;
    doc->root = cr_conf_new(doc, CR_NODE_MAP, (cr_loc){doc->path, 1, 1});
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) text += 3, n -= 3;
    if (!check_text(doc, text, n, diag)) return CR_ECONF;
    if (syntax == CR_SYNTAX_PBTXT) return cr_conf_parse_pbtxt(doc, text, n, diag);
    return cr_conf_parse_yaml(doc, syntax == CR_SYNTAX_JSON, text, n, diag);
}

/* is_other_syntax: is the text correct in another syntax than its name says? */
static bool is_other_syntax(const char *path, cr_syntax named, const char *text, size_t n,
                            cr_diag *diag) {
    static const struct {
        const char *name, *end;
    } kinds[] = {[CR_SYNTAX_YAML] = {"YAML", ".yaml"},
                 [CR_SYNTAX_PBTXT] = {"protobuf text", ".config"},
                 [CR_SYNTAX_JSON] = {"JSON", ".json"}};
    cr_syntax is = syntax_of_text(text, n);
    if (is == named) return false;
    cr_conf_doc doc;
    cr_diag ignored;
    cr_conf_doc_init(&doc);
    cr_diag_init(&ignored);
    bool fits = cr_conf_parse(&doc, is, path, text, n, &ignored) == CR_OK && doc.root->n > 0;
    const char *dot = strrchr(path, '.');
    if (fits)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, (cr_loc){path, 0, 0},
                    "the text is %s, but %s stands for %s; rename the file: %.*s%s", kinds[is].name,
                    dot, kinds[named].name, (int)(dot - path), path, kinds[is].end);
    cr_diag_clear(&ignored);
    cr_conf_doc_clear(&doc);
    return fits;
}

static cr_code parse_file(cr_conf_doc *doc, const char *path, const char *text, size_t n,
                          cr_diag *diag) {
    int named = syntax_of_name(path);
    if (named < 0) return cr_conf_parse(doc, syntax_of_text(text, n), path, text, n, diag);
    cr_diag found;
    cr_diag_init(&found);
    cr_code code = cr_conf_parse(doc, (cr_syntax)named, path, text, n, &found);
    if (code == CR_OK || !is_other_syntax(doc->path, (cr_syntax)named, text, n, diag))
        cr_diag_append(diag, &found);
    cr_diag_clear(&found);
    return code;
}

cr_code cr_conf_load(cr_conf_doc *doc, const char *path, cr_diag *diag) {
    cr_buf text;
    cr_err err = {0};
    cr_buf_init(&text);
    cr_code code = cr_file_read_any(path, CR_CONF_MAX_TEXT, &text, &err);
    const char *inside = cr_path_join(&doc->arena, path, "pipeline.config");
    if (code != CR_OK && cr_path_is_dir(path) && cr_path_exists(inside)) {
        cr_diag_add(diag, CR_SEV_ERROR, code, err.at, "it is a directory; name %s", inside);
    } else if (code != CR_OK && cr_path_is_dir(path)) {
        cr_diag_add(diag, CR_SEV_ERROR, code, err.at,
                    "it is a directory without a pipeline.config; name a config, or a folder that "
                    "crank train or crank export wrote");
    } else if (code != CR_OK) {
        cr_diag_add(diag, CR_SEV_ERROR, code, err.at, "%s", err.msg);
    } else {
        const char *s = text.data ? text.data : "";
        code = parse_file(doc, path, s, text.n, diag);
    }
    cr_buf_clear(&text);
    return code;
}
