/*
 * pbtxt.c - reads the protobuf text format into the tree.
 *
 * A lexer records the place of every token, and a recursive parser reads its tokens. Neither knows
 * a schema: 'field: DEEP' and 'field: 3' are scalars whose meaning the binder decides. A field
 * given several times stays several entries. After a mistake the parser goes on at the next line
 * that looks like a field (or at the brace that closes the block), so that one run reports all
 * mistakes.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "conf/conf_int.h"

typedef enum tok_kind { T_END, T_NAME, T_NUMBER, T_STRING, T_PUNCT, T_BAD } tok_kind;

typedef struct token {
    tok_kind kind;
    cr_loc at;
    const char *s, *end;
    bool new_line; /* first token of its line */
} token;

typedef struct parser {
    cr_conf_doc *doc;
    cr_diag *diag;
    const char *s, *end;
    const char *mark; /* a byte of the current line, and its column */
    int line_no, mark_col;
    token t; /* the next token */
    size_t budget;
    int errors;
    bool fatal, quiet; /* quiet: the parser skips text after a mistake */
} parser;

#define fail(p, at, ...)                                                                           \
    do {                                                                                           \
        if ((p)->fatal || (p)->quiet) break;                                                       \
        if ((p)->errors < CR_CONF_MAX_ERRORS)                                                      \
            cr_diag_add((p)->diag, CR_SEV_ERROR, CR_ECONF, (at), __VA_ARGS__);                     \
        (p)->errors++;                                                                             \
    } while (0)

static bool is_name(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* columns count characters: continuation bytes of UTF-8 do not count */
static int column(parser *p) {
    for (; p->mark < p->s; p->mark++)
        p->mark_col += (*p->mark & 0xc0) != 0x80;
    return p->mark_col;
}

static void lex_number(parser *p) {
    if (p->s[0] == '0' && p->end - p->s > 1 && (p->s[1] == 'x' || p->s[1] == 'X')) {
        for (p->s += 2; p->s < p->end && is_name(*p->s);)
            p->s++;
        return;
    }
    for (p->s++; p->s < p->end; p->s++) {
        bool sign = (*p->s == '+' || *p->s == '-') && (p->s[-1] == 'e' || p->s[-1] == 'E');
        if (!is_name(*p->s) && *p->s != '.' && !sign) break;
    }
}

static void lex_string(parser *p) {
    char quote = *p->s++;
    while (p->s < p->end && *p->s != quote && *p->s != '\n')
        p->s += *p->s == '\\' && p->s + 1 < p->end && p->s[1] != '\n' ? 2 : 1;
    if (p->s < p->end && *p->s == quote) {
        p->s++;
        return;
    }
    fail(p, p->t.at, "the string has no closing %c on its line; add it", quote);
    p->t.kind = T_BAD;
}

static void advance(parser *p) {
    bool new_line = p->t.s == NULL;
    for (; p->s < p->end; p->s++) {
        if (*p->s == '\n') {
            p->mark = p->s + 1;
            p->mark_col = 1;
            p->line_no++;
            new_line = true;
        } else if (*p->s == '#') {
            const char *nl = memchr(p->s, '\n', (size_t)(p->end - p->s));
            p->s = (nl ? nl : p->end) - 1;
        } else if (!isspace((unsigned char)*p->s)) {
            break;
        }
    }
    p->t = (token){T_END, {p->doc->path, p->line_no, column(p)}, p->s, p->s, new_line};
    if (p->s == p->end || p->fatal) return;
    char c = *p->s;
    if (isalpha((unsigned char)c) || c == '_') {
        p->t.kind = T_NAME;
        while (p->s < p->end && is_name(*p->s))
            p->s++;
    } else if (isdigit((unsigned char)c) ||
               (c == '.' && p->end - p->s > 1 && isdigit((unsigned char)p->s[1]))) {
        p->t.kind = T_NUMBER;
        lex_number(p);
    } else if (c == '"' || c == '\'') {
        p->t.kind = T_STRING;
        lex_string(p);
    } else {
        p->t.kind = strchr("{}<>[]:;,-=", c) ? T_PUNCT : T_BAD;
        do
            p->s++;
        while (p->s < p->end && (*p->s & 0xc0) == 0x80);
        if (p->t.kind == T_BAD)
            fail(p, p->t.at, "'%.*s' has no meaning here; remove it", (int)(p->s - p->t.s), p->t.s);
    }
    p->t.end = p->s;
}

static bool is_punct(const parser *p, char c) {
    return p->t.kind == T_PUNCT && *p->t.s == c;
}

/* shown writes the next token in quotes, for messages. */
static const char *shown(const parser *p, char out[CR_CONF_SHOW]) {
    if (p->t.kind == T_END) return "the end of the file";
    char text[CR_SHOW];
    snprintf(out, CR_CONF_SHOW, "'%s'", cr_show(text, p->t.s, (size_t)(p->t.end - p->t.s)));
    return out;
}

/* unescape reads the escape at s (after the backslash); returns the text after it, NULL when it is
 * wrong. */
static const char *unescape(const char *s, const char *end, cr_buf *b) {
    static const char from[] = "abfnrtv\\'\"?", to[] = "\a\b\f\n\r\t\v\\'\"?";
    uint32_t c = 0;
    if (s == end) return NULL;
    const char *simple = strchr(from, *s);
    if (*s && simple) {
        cr_buf_char(b, to[simple - from]);
        return s + 1;
    }
    if (*s >= '0' && *s <= '7') {
        int n = 0;
        for (; n < 3 && s < end && *s >= '0' && *s <= '7'; n++)
            c = c * 8 + (uint32_t)(*s++ - '0');
        if (c > 255) return NULL;
        cr_buf_char(b, (char)c);
        return s;
    }
    if (*s == 'x' || *s == 'X') {
        int n = end - s > 2 && isxdigit((unsigned char)s[2]) ? 2 : 1;
        if (!cr_conf_hex(s + 1, end, n, &c)) return NULL;
        cr_buf_char(b, (char)c);
        return s + 1 + n;
    }
    if (*s == 'u' || *s == 'U') {
        s = cr_conf_unicode(s + 1, end, *s == 'u' ? 4 : 8, &c);
        if (!s || c == CR_UTF8_BAD) return NULL;
        cr_conf_put_utf8(b, c);
        return s;
    }
    return NULL;
}

/* take_literal appends one string literal, the next token, to b. */
static void take_literal(parser *p, cr_buf *b) {
    const char *s = p->t.s + 1, *end = p->t.end - 1;
    while (s < end) {
        if (*s != '\\') {
            cr_buf_char(b, *s++);
            continue;
        }
        const char *next = unescape(s + 1, end, b);
        if (!next) {
            cr_loc at = p->t.at;
            for (const char *q = p->t.s; q < s; q++)
                at.col += (*q & 0xc0) != 0x80;
            fail(p, at, "unknown escape '%.*s'; remove the backslash, or write '\\\\' for one",
                 s + 1 < end && (s[1] & 0x80) == 0 ? 2 : 1, s);
            next = s + 1;
        }
        s = next;
    }
    advance(p);
}

static cr_conf_node *new_node(parser *p, cr_node_kind kind, cr_loc at) {
    if (p->budget == 0) {
        if (!p->fatal)
            fail(p, at, "the config has more than %d values; make it smaller",
                 (int)CR_CONF_MAX_NODES);
        p->fatal = true;
    } else {
        p->budget--;
    }
    return cr_conf_new(p->doc, kind, at);
}

static void set_text(parser *p, cr_conf_node *n, const char *s, size_t len) {
    n->text = cr_arena_strndup(&p->doc->arena, s, len);
    n->len = len;
}

static void parse_fields(parser *p, cr_conf_node *map, cr_loc open_at, char open, int depth);

/* parse_block reads '{ … }' or '< … >'; the next token opens it. It always consumes a token. */
static cr_conf_node *parse_block(parser *p, int depth) {
    cr_loc at = p->t.at;
    char open = *p->t.s;
    cr_conf_node *n = new_node(p, CR_NODE_MAP, at);
    if (depth > CR_CONF_MAX_DEPTH) {
        fail(p, at, "the config is nested deeper than %d levels; make it flatter",
             (int)CR_CONF_MAX_DEPTH);
        p->fatal = true;
    }
    advance(p);
    parse_fields(p, n, at, open, depth);
    return n;
}

/* parse_scalar reads a scalar. When the next token cannot begin one, it returns NULL and consumes
 * nothing. */
static cr_conf_node *parse_scalar(parser *p) {
    cr_loc at = p->t.at;
    if (p->t.kind == T_STRING) {
        cr_buf b;
        cr_buf_init(&b);
        while (p->t.kind == T_STRING)
            take_literal(p, &b);
        cr_conf_node *n = new_node(p, CR_NODE_SCALAR, at);
        n->quoted = true;
        set_text(p, n, b.data ? b.data : "", b.n);
        if (!cr_utf8_all(n->text, n->len))
            fail(p, at, "the string is not UTF-8; write bytes above 127 as \\u escapes");
        cr_buf_clear(&b);
        return n;
    }
    bool minus = is_punct(p, '-');
    if (minus) advance(p);
    if (p->t.kind != T_NUMBER && p->t.kind != T_NAME) {
        char w[CR_CONF_SHOW];
        if (minus) fail(p, at, "'-' stands before %s; put a number there", shown(p, w));
        if (minus && p->t.kind == T_STRING) advance(p);
        return minus ? new_node(p, CR_NODE_SCALAR, at) : NULL;
    }
    cr_conf_node *n = new_node(p, CR_NODE_SCALAR, at);
    n->text = cr_arena_printf(&p->doc->arena, "%s%.*s", minus ? "-" : "", (int)(p->t.end - p->t.s),
                              p->t.s);
    n->len = strlen(n->text);
    advance(p);
    return n;
}

static cr_conf_node *parse_list(parser *p, int depth) {
    cr_loc at = p->t.at;
    char w[CR_CONF_SHOW];
    cr_conf_node *list = new_node(p, CR_NODE_LIST, at);
    advance(p);
    while (!is_punct(p, ']')) {
        cr_loc item_at = p->t.at;
        cr_conf_node *item =
            is_punct(p, '{') || is_punct(p, '<') ? parse_block(p, depth + 1) : parse_scalar(p);
        if (!item) {
            if (p->t.kind == T_END)
                fail(p, at, "'[' is never closed; add ']'");
            else if (p->t.kind != T_BAD)
                fail(p, p->t.at, "a list item cannot begin with %s; write [a, b]", shown(p, w));
            return NULL;
        }
        cr_conf_push(p->doc, list, NULL, item_at, item);
        if (is_punct(p, ',')) {
            advance(p);
            if (is_punct(p, ']')) {
                fail(p, p->t.at, "a list item is missing after ','; remove the ','");
                break;
            }
        } else if (!is_punct(p, ']')) {
            if (p->t.kind == T_END)
                fail(p, at, "'[' is never closed; add ']'");
            else if (p->t.kind != T_BAD)
                fail(p, p->t.at, "found %s in a list; put ',' or ']' there", shown(p, w));
            return NULL;
        }
    }
    advance(p);
    return list;
}

/* After a mistake, recover moves to a token that begins a field on a new line, or to the end of the
 * block. It skips blocks that open on the way as a whole. */
static void recover(parser *p) {
    int open = 0;
    p->quiet = true;
    while (p->t.kind != T_END && !p->fatal) {
        if (is_punct(p, '{') || is_punct(p, '<')) {
            open++;
        } else if (is_punct(p, '}') || is_punct(p, '>')) {
            if (open-- == 0) break;
        } else if (open == 0 && p->t.kind == T_NAME && p->t.new_line) {
            const char *q = p->t.end;
            while (q < p->end && (*q == ' ' || *q == '\t'))
                q++;
            if (q < p->end && strchr(":{<", *q)) break;
        }
        advance(p);
    }
    p->quiet = false;
}

/* parse_field reads one field, whose name is the next token. False: the caller recovers. */
static bool parse_field(parser *p, cr_conf_node *map, int depth) {
    char w[CR_CONF_SHOW];
    cr_loc at = p->t.at;
    const char *key = cr_arena_strndup(&p->doc->arena, p->t.s, (size_t)(p->t.end - p->t.s));
    advance(p);
    bool colon = is_punct(p, ':');
    if (is_punct(p, '=')) {
        fail(p, p->t.at, "found '=' after '%.100s'; write ':' instead", key);
        colon = true;
    }
    if (colon) advance(p);
    cr_conf_node *val = NULL;
    if (is_punct(p, '{') || is_punct(p, '<')) {
        val = parse_block(p, depth + 1);
    } else if (p->t.kind == T_PUNCT && *p->t.s == '[') {
        val = parse_list(p, depth);
        if (!val) return false;
    } else if (p->t.kind == T_BAD) {
        return false;
    } else {
        /* 'a: ' at the end of a line with 'b: …' below: the value is missing, and b is not the
         * value */
        const char *q = p->t.end;
        while (q < p->end && (*q == ' ' || *q == '\t'))
            q++;
        bool next_field = p->t.kind == T_NAME && p->t.new_line && q < p->end && *q == ':';
        cr_loc val_at = p->t.at;
        if (!next_field) val = parse_scalar(p);
        if (!val) {
            if (colon)
                fail(p, at, "'%.100s' has no value; write one after ':'", key);
            else
                fail(p, val_at, "found %s after '%.100s'; put ':' or '{' there", shown(p, w), key);
            return next_field;
        }
        if (!colon) fail(p, val_at, "':' is missing after '%.100s'; add it", key);
    }
    cr_conf_push(p->doc, map, key, at, val);
    if (is_punct(p, ',') || is_punct(p, ';')) advance(p);
    return true;
}

/* parse_any reads a google.protobuf.Any, [type.googleapis.com/x.Y] { … }: a field whose key has the
 * brackets. */
static bool parse_any(parser *p, cr_conf_node *map, int depth) {
    const char *s = p->t.end;
    while (s < p->end && *s != ']' && *s != '\n')
        s++;
    if (s == p->end || *s != ']') {
        fail(p, p->t.at, "'[' is never closed; add ']'");
        return false;
    }
    p->s = p->t.end = s + 1;
    return parse_field(p, map, depth);
}

/* parse_fields reads fields up to the closing brace (open is '{' or '<') or, for the root (open is
 * 0), to the end. */
static void parse_fields(parser *p, cr_conf_node *map, cr_loc open_at, char open, int depth) {
    char w[CR_CONF_SHOW];
    for (;;) {
        if (p->fatal) return;
        if (p->t.kind == T_END) {
            if (open)
                fail(p, open_at, "'%c' is never closed; add '%c'", open, open == '{' ? '}' : '>');
            return;
        }
        if (is_punct(p, '}') || is_punct(p, '>')) {
            if (open) {
                if ((*p->t.s == '}') != (open == '{'))
                    fail(p, p->t.at, "'%c' closes the '%c' of line %d; write '%c'", *p->t.s, open,
                         open_at.line, open == '{' ? '}' : '>');
                advance(p);
                return;
            }
            fail(p, p->t.at, "'%c' closes nothing; remove it", *p->t.s);
            advance(p);
            continue;
        }
        bool ok = false;
        if (p->t.kind == T_NAME) {
            ok = parse_field(p, map, depth);
        } else if (is_punct(p, '[')) {
            ok = parse_any(p, map, depth);
        } else if (p->t.kind == T_STRING) {
            fail(p, p->t.at, "a field's name is written without quotes; remove them from %s",
                 shown(p, w));
        } else if (p->t.kind != T_BAD) {
            fail(p, p->t.at, "a field cannot begin with %s; write 'name: value'", shown(p, w));
        }
        if (!ok) {
            token here = p->t;
            if (p->t.kind != T_NAME && !is_punct(p, '{') && !is_punct(p, '<')) {
                if (is_punct(p, '}') || is_punct(p, '>')) continue;
                advance(p);
            } else if (p->t.kind == T_NAME && !here.new_line) {
                advance(p);
            }
            recover(p);
        }
    }
}

cr_code cr_conf_parse_pbtxt(cr_conf_doc *doc, const char *text, size_t n, cr_diag *diag) {
    parser p = {.doc = doc,
                .diag = diag,
                .s = text,
                .end = text + n,
                .mark = text,
                .mark_col = 1,
                .line_no = 1,
                .budget = CR_CONF_MAX_NODES};
    advance(&p);
    parse_fields(&p, doc->root, doc->root->at, 0, 1);
    if (p.errors > CR_CONF_MAX_ERRORS)
        cr_diag_add(diag, CR_SEV_NOTE, CR_ECONF, (cr_loc){doc->path, 0, 0},
                    "%d more syntax errors are not shown", p.errors - CR_CONF_MAX_ERRORS);
    return p.errors ? CR_ECONF : CR_OK;
}
