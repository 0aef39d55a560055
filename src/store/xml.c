/*
 * xml.c - see xml.h.
 */
#include "store/xml.h"

#include <string.h>

/* Finds the start tag of a name; *after is behind its '>', *empty says that it ends itself. */
static const char *find_tag(cr_xml x, const char *name, const char **after, bool *empty) {
    size_t n = strlen(name);
    for (const char *p = x.at; p && p < x.end; p++) {
        p = memchr(p, '<', (size_t)(x.end - p));
        if (!p || (size_t)(x.end - p) < n + 2) return NULL;
        if (memcmp(p + 1, name, n) != 0 || !strchr("> /\t\r\n", p[n + 1])) continue;
        const char *gt = memchr(p, '>', (size_t)(x.end - p));
        if (!gt) return NULL;
        *empty = gt[-1] == '/';
        *after = gt + 1;
        return p;
    }
    return NULL;
}

bool cr_xml_next(cr_xml *x, const char *name, cr_xml *in) {
    const char *after;
    bool empty;
    if (!find_tag(*x, name, &after, &empty)) return false;
    *in = (cr_xml){after, after};
    x->at = after;
    if (empty) return true;
    size_t n = strlen(name);
    for (const char *p = after; (p = memchr(p, '<', (size_t)(x->end - p))) != NULL; p++) {
        if ((size_t)(x->end - p) < n + 3) return false;
        if (p[1] != '/' || memcmp(p + 2, name, n) != 0 || p[n + 2] != '>') continue;
        in->end = p;
        x->at = p + n + 3;
        return true;
    }
    return false;
}

/* Turns an entity at p back; returns its length, 0 where there is none. */
static size_t entity(const char *p, const char *end, char *out) {
    static const struct {
        const char *text;
        char c;
    } known[] = {{"&amp;", '&'},   {"&lt;", '<'},   {"&gt;", '>'},   {"&quot;", '"'},
                 {"&apos;", '\''}, {"&#13;", '\r'}, {"&#xD;", '\r'}, {"&#10;", '\n'},
                 {"&#34;", '"'},   {"&#39;", '\''}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i].text);
        if ((size_t)(end - p) >= n && memcmp(p, known[i].text, n) == 0) {
            *out = known[i].c;
            return n;
        }
    }
    return 0;
}

size_t cr_xml_text(cr_xml x, const char *name, char *out, size_t size) {
    cr_xml in;
    size_t n = 0;
    if (size > 0) out[0] = 0;
    if (!cr_xml_next(&x, name, &in)) return 0;
    for (const char *p = in.at; p < in.end; n++) {
        char c = *p;
        size_t skip = c == '&' ? entity(p, in.end, &c) : 0;
        p += skip ? skip : 1;
        if (n + 1 < size) {
            out[n] = c;
            out[n + 1] = 0;
        }
    }
    return n;
}

bool cr_xml_attribute(cr_xml x, const char *name, cr_buf *out) {
    size_t n = strlen(name);
    for (const char *p = x.at; (p = memmem(p, (size_t)(x.end - p), name, n)); p += n) {
        if (p == x.at || p[-1] != ' ' || (size_t)(x.end - p) < n + 2 || p[n] != '=') continue;
        const char *v = p + n + 2, *z = memchr(v, p[n + 1], (size_t)(x.end - v));
        if (!z || (p[n + 1] != '"' && p[n + 1] != '\'')) continue;
        while (v < z) {
            char c = *v;
            size_t skip = c == '&' ? entity(v, z, &c) : 0;
            cr_buf_char(out, c);
            v += skip ? skip : 1;
        }
        return true;
    }
    return false;
}

void cr_xml_escape(cr_buf *out, const char *text) {
    for (; *text; text++) {
        if (*text == '&')
            cr_buf_str(out, "&amp;");
        else if (*text == '<')
            cr_buf_str(out, "&lt;");
        else if (*text == '>')
            cr_buf_str(out, "&gt;");
        else if (*text == '\r')
            cr_buf_str(out, "&#13;");
        else
            cr_buf_char(out, *text);
    }
}
