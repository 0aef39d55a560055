/*
 * types.c - the types of MaxCompute's tables as fields of Arrow, as both of its interfaces send
 * them.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/odps/types.h"

static bool is_word(const char **s, const char *word) {
    size_t n = strlen(word);
    if (strncasecmp(*s, word, n) != 0 || isalnum((unsigned char)(*s)[n]) || (*s)[n] == '_')
        return false;
    *s += n;
    return true;
}

static void skip(const char **s) {
    while (**s == ' ')
        ++*s;
}

static bool expect(const char **s, char c) {
    skip(s);
    if (**s != c) return false;
    ++*s;
    skip(s);
    return true;
}

static const char *parse(cr_arrow_schema *s, const char *name, const char **at, int depth,
                         cr_arena *a);

static const char *members(cr_arrow_schema *s, const char **at, int of, int depth,
                           cr_arena *arena) {
    int n = 0;
    do {
        const char *a = *at, *colon;
        skip(&a);
        colon = strchr(a, ':');
        if (!colon) return "is a struct whose members cannot be read";
        size_t k = (size_t)(colon - a);
        char *name = cr_arena_strndup(arena, a, k);
        if (k >= 2 && name[0] == '`' && name[k - 1] == '`') {
            memmove(name, name + 1, k - 2);
            name[k - 2] = 0;
        }
        *at = colon + 1;
        skip(at);
        const char *why = parse(s, name, at, depth, arena);
        if (why) return why;
        n++;
    } while (expect(at, ','));
    s->v[of].n_children = n;
    return expect(at, '>') ? NULL : "is a struct that does not end";
}

static const char *parse(cr_arrow_schema *s, const char *name, const char **at, int depth,
                         cr_arena *a) {
    static const struct {
        const char *word;
        cr_arrow_kind kind;
        int bits;
        cr_arrow_unit unit;
    } plain[] = {
        {"BIGINT", CR_ARROW_INT, 64, 0},
        {"INT", CR_ARROW_INT, 32, 0},
        {"SMALLINT", CR_ARROW_INT, 16, 0},
        {"TINYINT", CR_ARROW_INT, 8, 0},
        {"DOUBLE", CR_ARROW_FLOAT, 64, 0},
        {"FLOAT", CR_ARROW_FLOAT, 32, 0},
        {"BOOLEAN", CR_ARROW_BOOL, 0, 0},
        {"STRING", CR_ARROW_UTF8, 0, 0},
        {"CHAR", CR_ARROW_UTF8, 0, 0},
        {"VARCHAR", CR_ARROW_UTF8, 0, 0},
        {"JSON", CR_ARROW_UTF8, 0, 0},
        {"BINARY", CR_ARROW_BINARY, 0, 0},
        {"DATE", CR_ARROW_DATE, 32, 0},
        {"DATETIME", CR_ARROW_TIMESTAMP, 0, CR_ARROW_MILLIS},
        {"TIMESTAMP", CR_ARROW_TIMESTAMP, 0, CR_ARROW_NANOS},
        {"TIMESTAMP_NTZ", CR_ARROW_TIMESTAMP, 0, CR_ARROW_NANOS},
    };
    int i = s->n++;
    s->v[i] = (cr_arrow_field){.name = name, .nullable = true, .is_signed = true};
    cr_arrow_field *f = &s->v[i];
    if (depth > 16) return "is nested too deeply";
    skip(at);
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++)
        if (is_word(at, plain[k].word)) {
            f->kind = plain[k].kind;
            f->bits = plain[k].bits;
            f->unit = plain[k].unit;
            if (**at == '(') { /* the length of a text */
                *at += strcspn(*at, ")");
                if (!expect(at, ')')) return "has a length that does not end";
            }
            return NULL;
        }
    if (is_word(at, "DECIMAL")) {
        f->kind = CR_ARROW_DECIMAL;
        f->precision = 38;
        f->scale = 18;
        if (expect(at, '(')) {
            f->precision = (int)strtol(*at, (char **)(uintptr_t)at, 10);
            f->scale = expect(at, ',') ? (int)strtol(*at, (char **)(uintptr_t)at, 10) : 0;
            if (!expect(at, ')')) return "is a decimal that does not end";
        }
        f->bits = f->precision > 38 ? 256 : 128;
        return NULL;
    }
    if (is_word(at, "ARRAY")) {
        f->kind = CR_ARROW_LIST;
        f->n_children = 1;
        if (!expect(at, '<')) return "is an array of nothing";
        const char *why = parse(s, "item", at, depth + 1, a);
        return why ? why : expect(at, '>') ? NULL : "is an array that does not end";
    }
    if (is_word(at, "MAP")) {
        f->kind = CR_ARROW_MAP;
        f->n_children = 1;
        int entries = s->n++;
        s->v[entries] =
            (cr_arrow_field){.name = "entries", .kind = CR_ARROW_STRUCT, .n_children = 2};
        if (!expect(at, '<')) return "is a map of nothing";
        const char *why = parse(s, "key", at, depth + 1, a);
        if (!why && !expect(at, ',')) why = "is a map without values";
        if (!why) why = parse(s, "value", at, depth + 1, a);
        return why ? why : expect(at, '>') ? NULL : "is a map that does not end";
    }
    if (is_word(at, "STRUCT")) {
        f->kind = CR_ARROW_STRUCT;
        return expect(at, '<') ? members(s, at, i, depth + 1, a) : "is a struct of nothing";
    }
    return "has a type that crank does not know";
}

const char *cr_odps_type(cr_arrow_schema *s, const char *name, const char *type, cr_arena *a) {
    const char *at = type;
    const char *why = parse(s, name, &at, 0, a);
    skip(&at);
    return why ? why : *at ? "has a type that crank cannot read" : NULL;
}

bool cr_odps_type_text(const cr_arrow_schema *s, int field, cr_buf *out) {
    const cr_arrow_field *f = &s->v[field];
    static const char *const whole[] = {"TINYINT", "SMALLINT", "INT", "BIGINT"};
    bool fine = true;
    switch (f->kind) {
    case CR_ARROW_INT:
        cr_buf_str(out, whole[f->bits == 8 ? 0 : f->bits == 16 ? 1 : f->bits == 32 ? 2 : 3]);
        return f->is_signed;
    case CR_ARROW_FLOAT: cr_buf_str(out, f->bits == 64 ? "DOUBLE" : "FLOAT"); return f->bits != 16;
    case CR_ARROW_BOOL: cr_buf_str(out, "BOOLEAN"); return true;
    case CR_ARROW_UTF8: cr_buf_str(out, "STRING"); return true;
    case CR_ARROW_BINARY: cr_buf_str(out, "BINARY"); return true;
    case CR_ARROW_DATE: cr_buf_str(out, "DATE"); return f->bits == 32;
    case CR_ARROW_TIMESTAMP:
        cr_buf_str(out, f->unit == CR_ARROW_MILLIS ? "DATETIME" : "TIMESTAMP");
        return f->unit == CR_ARROW_MILLIS || f->unit == CR_ARROW_NANOS;
    case CR_ARROW_DECIMAL:
        cr_buf_printf(out, "DECIMAL(%d,%d)", f->precision, f->scale);
        return true;
    case CR_ARROW_LIST: cr_buf_str(out, "ARRAY<"); break;
    case CR_ARROW_MAP: cr_buf_str(out, "MAP<"); break;
    case CR_ARROW_STRUCT: cr_buf_str(out, "STRUCT<"); break;
    default: return false;
    }
    int c = f->kind == CR_ARROW_MAP ? field + 2 : field + 1;
    int n = f->kind == CR_ARROW_MAP ? 2 : f->n_children;
    for (int k = 0; k < n; k++, c = s->v[c].next) {
        if (k) cr_buf_char(out, ',');
        if (f->kind == CR_ARROW_STRUCT) cr_buf_printf(out, "%s:", s->v[c].name);
        fine &= cr_odps_type_text(s, c, out);
    }
    cr_buf_char(out, '>');
    return fine;
}
