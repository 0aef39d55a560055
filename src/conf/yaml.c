/*
 * yaml.c - reads YAML and JSON into the tree. Only this file knows libfyaml.
 *
 * This file uses libfyaml's events and not its documents. Events carry the place of every key and
 * value, and their state is on the heap however deep the nesting is. They leave doubled keys,
 * aliases and merge keys to us, so that each of them is refused or resolved with its place and
 * under one budget of nodes (an alias is a copy: edits change one place only). JSON uses libfyaml's
 * JSON mode, which refuses what JSON refuses (comments, single quotes, trailing commas, bare words)
 * and reads surrogate pairs.
 */
#include <errno.h>
#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "base/map.h"
#include "base/utf8.h"
#include "conf/conf_int.h"

/* The key of a merge. Its address distinguishes it from a quoted "<<", which is a key like any
 * other. */
static const char merge_key[] = "<<";

typedef struct level {
    cr_conf_node *node;
    const char *key; /* map: the key that waits for its value */
    cr_loc key_at;
    const char *anchor;
    bool merges; /* a map that has a '<<' */
    cr_map seen; /* the keys of a map */
} level;

/* A key that its map has already. */
typedef struct doubled {
    cr_conf_node *map;
    const char *key;
    cr_loc at;
    int64_t first; /* line */
} doubled;

typedef struct reader {
    cr_conf_doc *doc;
    cr_diag *diag;
    const char *text; /* the source */
    size_t n;
    level stack[CR_CONF_MAX_DEPTH + 1];
    int depth;
    size_t budget; /* nodes that may still be made */
    cr_map anchors;
    /* nodes, indexed by the value of the map; NULL while the node is open */
    cr_conf_node **anchored;
    size_t n_anchored, cap_anchored;
    cr_conf_node *root;
    doubled twice[CR_CONF_MAX_ERRORS];
    size_t n_twice;
    bool failed, json;
    int docs;
} reader;

#define fail(r, at, ...)                                                                           \
    do {                                                                                           \
        cr_diag_add((r)->diag, CR_SEV_ERROR, CR_ECONF, (at), __VA_ARGS__);                         \
        (r)->failed = true;                                                                        \
    } while (0)

static cr_loc place(const reader *r, struct fy_event *e, cr_loc other) {
    const struct fy_mark *m = fy_event_start_mark(e);
    if (!m) return other;
    cr_loc at = {r->doc->path, m->line + 1, m->column + 1};
    if (e->type == FYET_SCALAR && e->scalar.value && at.col > 1) {
        enum fy_scalar_style st = fy_token_scalar_style(e->scalar.value);
        /* the mark of a quoted scalar is after the quote */
        if (st == FYSS_SINGLE_QUOTED || st == FYSS_DOUBLE_QUOTED) at.col--;
    }
    return at;
}

static const char *token_text(reader *r, struct fy_token *t, size_t *len) {
    const char *s = t ? fy_token_get_text(t, len) : NULL;
    if (!s) {
        *len = 0;
        return NULL;
    }
    return cr_arena_strndup(&r->doc->arena, s, *len);
}

/* token_source gives the source between a token's marks; false when the marks make no sense. */
static bool token_source(const reader *r, struct fy_token *t, const char **s, size_t *n) {
    const struct fy_mark *from = fy_token_start_mark(t), *to = fy_token_end_mark(t);
    if (!from || !to || from->input_pos > to->input_pos || to->input_pos > r->n) return false;
    *s = r->text + from->input_pos;
    *n = to->input_pos - from->input_pos;
    return true;
}

/* uneven: does a folded text ('>') have lines of different indentation? */
static bool uneven(const reader *r, const char *s, size_t n) {
    const char *end = s + n;
    long base = -1;
    while (s > r->text && s[-1] != '\n')
        s--;
    while (s < end) {
        const char *nl = memchr(s, '\n', (size_t)(end - s));
        long indent = 0;
        while (s + indent < end && (s[indent] == ' ' || s[indent] == '\t'))
            indent++;
        bool blank = s + indent == end || s[indent] == '\n' || s[indent] == '\r';
        if (base >= 0 && (blank ? indent > base : indent != base)) return true;
        if (!blank) base = indent;
        if (!nl) break;
        s = nl + 1;
    }
    return false;
}

/* scalar_text returns a scalar's text. libfyaml 0.7.12 counts bytes wrong for some quoted scalars
 * (runs of '' in single quotes, line breaks in double quotes) and for folded ones with uneven
 * lines. So quoted scalars are read from the source here, and such folded ones are refused. */
static const char *scalar_text(reader *r, struct fy_token *t, enum fy_scalar_style style, cr_loc at,
                               size_t *len) {
    const char *s;
    size_t n;
    bool quoted = style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
    if (t && quoted && token_source(r, t, &s, &n))
        return cr_conf_yaml_quoted(&r->doc->arena, style == FYSS_SINGLE_QUOTED ? '\'' : '"', s, n,
                                   len);
    if (t && style == FYSS_FOLDED && token_source(r, t, &s, &n) && uneven(r, s, n))
        fail(r, at, "a folded text ('>') with lines of different indentation is not read; use '|'");
    return token_text(r, t, len);
}

static const char *anchor_name(reader *r, struct fy_event *e) {
    size_t len;
    return token_text(r, fy_event_get_anchor_token(e), &len);
}

/* anchor_set: an anchor names its node once the node has ended. `done` NULL: the node has begun. */
static void anchor_set(reader *r, const char *name, cr_conf_node *done) {
    if (r->n_anchored == r->cap_anchored) {
        size_t cap = r->cap_anchored ? r->cap_anchored * 2 : 16;
        r->anchored = cr_realloc(r->anchored, r->cap_anchored * sizeof *r->anchored,
                                 cap * sizeof *r->anchored, "yaml anchors");
        r->cap_anchored = cap;
    }
    r->anchored[r->n_anchored] = done;
    cr_map_put(&r->anchors, name, strlen(name), (int64_t)r->n_anchored++);
}

/* take_tag accepts the core tags; !!str sets *quoted. */
static void take_tag(reader *r, struct fy_event *e, cr_loc at, bool *quoted) {
    static const char core[] = "tag:yaml.org,2002:";
    size_t len;
    const char *tag = token_text(r, fy_event_get_tag_token(e), &len);
    if (!tag) return;
    if (strcmp(tag, "!") == 0) {
        *quoted = true;
    } else if (strncmp(tag, core, sizeof core - 1) == 0) {
        const char *name = tag + sizeof core - 1;
        if (strcmp(name, "str") == 0)
            *quoted = true;
        else if (strcmp(name, "binary") == 0)
            fail(r, at, "tag '!!binary' is not read; remove it");
    } else {
        /* not the tag itself: it may be a secret without quotes */
        fail(r, at,
             "this tag is not known; remove it, or put a text that begins with '!' in quotes");
    }
}

static bool take_node(reader *r, cr_loc at) {
    if (r->budget > 0) {
        r->budget--;
        return true;
    }
    fail(r, at, "the config has more than %d values; make it smaller", (int)CR_CONF_MAX_NODES);
    return false;
}

/* attach puts a finished (or just opened) value into its map or list. */
static void attach(reader *r, cr_conf_node *n, cr_loc at) {
    if (r->depth == 0) {
        r->root = n;
        return;
    }
    level *l = &r->stack[r->depth - 1];
    if (l->node->kind == CR_NODE_LIST) {
        cr_conf_push(r->doc, l->node, NULL, at, n);
    } else {
        cr_conf_push(r->doc, l->node, l->key, l->key_at, n);
        l->key = NULL;
    }
}

static bool wants_key(const reader *r) {
    return r->depth > 0 && r->stack[r->depth - 1].node->kind == CR_NODE_MAP &&
           !r->stack[r->depth - 1].key;
}

static void take_key(reader *r, const char *text, size_t len, bool quoted, cr_loc at) {
    level *l = &r->stack[r->depth - 1];
    if (!text || (!quoted && len == 0)) {
        fail(r, at, "a key is missing before ':'; write 'key: value'");
        text = "";
        len = 0;
    } else if (strlen(text) != len) {
        fail(r, at, "a key holds a NUL character; remove it");
    }
    l->key_at = at;
    l->key = text;
    if (!quoted && !r->json && strcmp(text, merge_key) == 0) {
        l->key = merge_key;
        l->merges = true;
        return;
    }
    int64_t first = cr_map_get(&l->seen, text, len, 0);
    if (!first)
        cr_map_put(&l->seen, text, len, at.line);
    else if (r->n_twice < CR_CONF_MAX_ERRORS)
        r->twice[r->n_twice++] = (doubled){l->node, text, at, first};
}

/* Removes the entry of a key that stands before the one at this place. */
static void keep_last(cr_conf_node *map, const doubled *d) {
    for (size_t i = 0; i < map->n; i++) {
        if (strcmp(map->v[i].key, d->key) != 0) continue;
        if (map->v[i].at.line == d->at.line && map->v[i].at.col == d->at.col) return;
        memmove(&map->v[i], &map->v[i + 1], (--map->n - i) * sizeof *map->v);
        return;
    }
}

/* Reports doubled keys. Which program the config is of shows when all of it is read. */
static void tell_doubled(reader *r) {
    bool last = r->n_twice && r->doc->last_counts && r->doc->last_counts(r->doc);
    for (size_t i = 0; i < r->n_twice; i++) {
        const doubled *d = &r->twice[i];
        if (last) {
            keep_last(d->map, d);
            cr_diag_add(r->diag, CR_SEV_WARN, CR_ECONF, d->at,
                        "key '%.100s' is given twice (first on line %lld); the last counts", d->key,
                        (long long)d->first);
        } else {
            fail(r, d->at, "key '%.100s' is given twice (first on line %lld); remove one", d->key,
                 (long long)d->first);
        }
    }
}

static void take_scalar(reader *r, struct fy_event *e) {
    cr_loc behind = r->depth > 0 && r->stack[r->depth - 1].key ? r->stack[r->depth - 1].key_at
                    : r->depth > 0                             ? r->stack[r->depth - 1].node->at
                                                               : (cr_loc){r->doc->path, 1, 1};
    cr_loc at = place(r, e, behind);
    size_t len = 0;
    struct fy_token *t = e->scalar.value;
    enum fy_scalar_style style = t ? fy_token_scalar_style(t) : FYSS_PLAIN;
    const char *text = scalar_text(r, t, style, at, &len);
    bool quoted = text && style != FYSS_PLAIN;
    take_tag(r, e, at, &quoted);
    const char *anchor = anchor_name(r, e);
    if (wants_key(r)) {
        take_key(r, text, len, quoted, at);
        if (anchor) fail(r, at, "an anchor on a key is not read; put it on the value");
        return;
    }
    if (!take_node(r, at)) return;
    cr_conf_node *n = cr_conf_new(r->doc, CR_NODE_SCALAR, at);
    n->quoted = quoted;
    n->text = text ? text : "";
    n->len = len;
    attach(r, n, at);
    if (anchor) anchor_set(r, anchor, n);
}

static void open_level(reader *r, struct fy_event *e, cr_node_kind kind) {
    cr_loc at = place(r, e, (cr_loc){r->doc->path, 1, 1});
    if (wants_key(r)) {
        fail(r, at, "a %s cannot be a key; write 'key: value'",
             kind == CR_NODE_MAP ? "mapping" : "list");
        return;
    }
    if (r->depth == CR_CONF_MAX_DEPTH) {
        fail(r, at, "the config is nested deeper than %d levels; make it flatter",
             (int)CR_CONF_MAX_DEPTH);
        return;
    }
    if (!take_node(r, at)) return;
    bool quoted = false;
    take_tag(r, e, at, &quoted);
    cr_conf_node *n = cr_conf_new(r->doc, kind, at);
    attach(r, n, at);
    level *l = &r->stack[r->depth++];
    memset(l, 0, sizeof *l);
    l->node = n;
    l->anchor = anchor_name(r, e);
    cr_map_init(&l->seen);
    if (l->anchor) anchor_set(r, l->anchor, NULL);
}

/* merge_map adds the entries of one merged map whose keys are not there yet. */
static void merge_map(reader *r, level *l, const cr_conf_node *from, cr_loc at) {
    if (from->kind != CR_NODE_MAP) {
        fail(r, at, "'<<' takes a mapping or a list of mappings; give '<<: *name'");
        return;
    }
    for (size_t i = 0; i < from->n; i++) {
        const char *key = from->v[i].key;
        if (cr_map_get(&l->seen, key, strlen(key), 0)) continue;
        cr_map_put(&l->seen, key, strlen(key), from->v[i].at.line);
        cr_conf_push(r->doc, l->node, key, from->v[i].at, from->v[i].val);
    }
}

static void close_level(reader *r) {
    level *l = &r->stack[r->depth - 1];
    cr_conf_node *n = l->node;
    if (n->kind == CR_NODE_MAP && l->merges) {
        /* the map's own entries are taken out first, so that they win in any order */
        cr_conf_entry *own = n->v;
        size_t n_own = n->n;
        n->v = NULL;
        n->n = n->cap = 0;
        for (size_t i = 0; i < n_own; i++)
            if (own[i].key != merge_key) cr_conf_push(r->doc, n, own[i].key, own[i].at, own[i].val);
        for (size_t i = 0; i < n_own; i++) {
            if (own[i].key != merge_key) continue;
            const cr_conf_node *v = own[i].val;
            if (v->kind != CR_NODE_LIST)
                merge_map(r, l, v, own[i].at);
            else
                for (size_t j = 0; j < v->n; j++)
                    merge_map(r, l, v->v[j].val, v->v[j].at);
        }
    }
    if (l->anchor) anchor_set(r, l->anchor, n);
    cr_map_clear(&l->seen);
    r->depth--;
}

static void take_alias(reader *r, struct fy_event *e) {
    cr_loc at = place(r, e, (cr_loc){r->doc->path, 1, 1});
    if (at.col > 1) at.col--; /* the mark is after the '*' */
    size_t len;
    const char *name = token_text(r, e->alias.anchor, &len);
    if (!name) name = "";
    if (wants_key(r)) {
        fail(r, at, "an alias cannot be a key; write the key out");
        return;
    }
    int64_t i = cr_map_get(&r->anchors, name, strlen(name), -1);
    if (i < 0) {
        /* not the name itself: it may be a secret without quotes */
        fail(r, at,
             "this alias has no anchor above it; define one with '&', or put a text that begins "
             "with '*' in quotes");
        return;
    }
    if (!r->anchored[i]) {
        fail(r, at, "alias '*%.60s' stands inside its own anchor; remove it", name);
        return;
    }
    cr_conf_node *n = cr_conf_copy(r->doc, r->anchored[i], r->depth, &r->budget);
    if (!n) {
        fail(r, at, "alias '*%.60s' makes the config too deep or too large; write it out", name);
        return;
    }
    attach(r, n, at);
}

static void take_event(reader *r, struct fy_event *e) {
    switch (e->type) {
    case FYET_DOCUMENT_START:
        if (++r->docs == 2)
            fail(r, place(r, e, (cr_loc){r->doc->path, 0, 0}),
                 "a second document begins; keep one config per file");
        break;
    case FYET_MAPPING_START: open_level(r, e, CR_NODE_MAP); break;
    case FYET_SEQUENCE_START: open_level(r, e, CR_NODE_LIST); break;
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END: close_level(r); break;
    case FYET_SCALAR: take_scalar(r, e); break;
    case FYET_ALIAS: take_alias(r, e); break;
    default: break;
    }
}

/* char_at returns the character at a place, 0 after the end. libfyaml's column counts characters
 * from 1. */
static char char_at(const reader *r, int line, int col) {
    const char *s = r->text, *end = r->text + r->n;
    while (s < end && --line > 0) {
        const char *nl = memchr(s, '\n', (size_t)(end - s));
        s = nl ? nl + 1 : end;
    }
    uint32_t c;
    while (s < end && --col > 0)
        s += cr_utf8_get(s, (size_t)(end - s), &c);
    return s < end ? *s : 0;
}

/* text_end returns the place behind the last character that is not blank. libfyaml names a line
 * after it, which no editor shows. */
static cr_loc text_end(const reader *r) {
    size_t n = r->n;
    while (n > 0 && strchr(" \t\r\n", r->text[n - 1]))
        n--;
    cr_loc at = {r->doc->path, 1, 1};
    uint32_t c;
    for (size_t i = 0; i < n; i += cr_utf8_get(r->text + i, n - i, &c)) {
        at.col++;
        if (r->text[i] == '\n') at = (cr_loc){at.path, at.line + 1, 1};
    }
    return at;
}

/* cure_at returns what to do about an error, by the text at its place. */
static const char *cure_at(const reader *r, int line, int col) {
    char c = char_at(r, line, col), before = col > 1 ? char_at(r, line, col - 1) : 0;
    if (!c) return "close the bracket or quote that is open at the end of the text";
    if (c == '\\') /* web pages write \_ for _ */
        return "remove the backslashes, or write \\\\ for one";
    /* these characters have a special meaning in front of a value; libfyaml names their place or
     * the next */
    if (!r->json && c && (strchr("?*&%@`", c) || (before && strchr("*&", before))))
        return "put the value in quotes";
    return "correct it here";
}

/* take_errors reports libfyaml's own findings. Only the first is about the text; later ones follow
 * from it. */
static void take_errors(reader *r, struct fy_diag *fd) {
    void *it = NULL;
    struct fy_diag_error *e = fy_diag_errors_iterate(fd, &it);
    if (!e) return;
    char msg[200];
    size_t n = 0;
    for (const char *s = e->msg ? e->msg : "syntax error"; *s && n < sizeof msg - 1; s++)
        msg[n++] = *s == '\n' ? ' ' : *s;
    msg[n] = 0;
    cr_loc at = {r->doc->path, e->line, e->column};
    const char *cure = cure_at(r, at.line, at.col);
    if (!char_at(r, at.line, at.col)) at = text_end(r);
    fail(r, at, "not valid %s: %s; %s", r->json ? "JSON" : "YAML", msg, cure);
}

/* libfyaml checks few of its allocations: after a failed one it crashes, or the text seems to end
 * early. errno tells whether an allocation failed. */
static void check_memory(void) {
    if (errno == ENOMEM) cr_no_memory(0, "reading a config");
}

cr_code cr_conf_parse_yaml(cr_conf_doc *doc, bool json, const char *text, size_t n, cr_diag *diag) {
    struct fy_diag_cfg dc;
    fy_diag_cfg_default(&dc);
    dc.fp = NULL;
    cr_guard guard = {.what = "reading a config", .no_checks = true};
    cr_guard_crashes();
    cr_guard_enter(&guard);
    errno = 0;
    struct fy_diag *fd = fy_diag_create(&dc);
    struct fy_parser *fp = NULL;
    reader *r = cr_alloc(sizeof *r, "yaml reader");
    *r = (reader){
        .doc = doc, .diag = diag, .text = text, .n = n, .budget = CR_CONF_MAX_NODES, .json = json};
    cr_map_init(&r->anchors);
    if (fd) {
        fy_diag_set_collect_errors(fd, true);
        struct fy_parse_cfg pc = {.diag = fd};
        pc.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | (json ? FYPCF_JSON_FORCE : FYPCF_JSON_NONE);
        fp = fy_parser_create(&pc);
    }
    if (!fp || fy_parser_set_string(fp, text, n) != 0) {
        check_memory();
        fail(r, ((cr_loc){doc->path, 0, 0}), "cannot start the YAML reader");
    } else {
        struct fy_event *e;
        /* after an error that we found, the nesting cannot be trusted: stop, except for findings
         * that leave the tree whole (doubled keys) */
        size_t before = diag->n_errors;
        while ((e = fy_parser_parse(fp))) {
            check_memory();
            int depth = r->depth;
            bool opens = e->type == FYET_MAPPING_START || e->type == FYET_SEQUENCE_START;
            bool keyed = wants_key(r);
            take_event(r, e);
            check_memory();
            bool broken = (opens && r->depth == depth) || (e->type == FYET_ALIAS && keyed) ||
                          r->budget == 0 || r->docs > 1;
            if (r->failed && e->type == FYET_ALIAS && r->depth > 0 && r->stack[r->depth - 1].key)
                broken = true; /* the alias gave no value */
            fy_parser_event_free(fp, e);
            if (broken || diag->n_errors - before + r->n_twice >= CR_CONF_MAX_ERRORS) break;
        }
        check_memory();
        take_errors(r, fd);
    }
    while (r->depth > 0)
        cr_map_clear(&r->stack[--r->depth].seen);
    if (r->root && r->root->kind == CR_NODE_MAP) doc->root = r->root;
    tell_doubled(r);
    if (doc->root != r->root && r->root && !cr_conf_is_null(r->root) && !r->failed) {
        fail(r, r->root->at, "the config is %s; it must be a mapping of keys to values",
             r->root->kind == CR_NODE_LIST ? "a list" : "a single value");
    }
    bool failed = r->failed;
    if (fp) fy_parser_destroy(fp);
    if (fd) fy_diag_destroy(fd);
    cr_guard_leave(&guard);
    cr_map_clear(&r->anchors);
    cr_free(r->anchored);
    cr_free(r);
    return failed ? CR_ECONF : CR_OK;
}
