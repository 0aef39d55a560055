/*
 * tok_hf_steps.c - normalizers and pre-tokenizers of a tokenizer.json. Only this file knows
 * utf8proc.
 *
 * A pre-tokenizer gets pieces and cuts each into smaller ones. Most pre-tokenizers are a regular
 * expression and a rule for its matches, so reading the file turns their names into these two.
 */
#include "text/tok_hf.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/mem.h"
#include "base/utf8.h"

/* the expression with which GPT-2 cuts text */
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define WORD "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{200c}\\x{200d}"
/* ASCII signs count as punctuation whatever Unicode calls them */
#define PUNCTUATION "[\\p{P}!-/:-@\\[-`{-~]"

/* ---- reading ---- */

static const char *text_of(const cr_json *j, const char *key) {
    return cr_json_str(cr_json_get(j, key));
}

static bool flag_of(const cr_json *j, const char *key, bool otherwise) {
    bool x = otherwise;
    return cr_json_bool(cr_json_get(j, key), &x) ? x : otherwise;
}

/* set_text sets the text that a step inserts, possibly at every character of a text. */
static cr_code set_text(cr_hf_step *x, const char *s, const char *what, cr_err *err) {
    size_t n = strlen(s);
    if (n > CR_MOST_STEP_TEXT)
        return cr_fail(err, CR_ECONF,
                       "%s puts in a text of %zu bytes; at most %d are allowed: is it the right "
                       "tokenizer?",
                       what, n, CR_MOST_STEP_TEXT);
    x->text = cr_alloc(n + 1, "a tokenizer");
    memcpy(x->text, s, n + 1);
    return CR_OK;
}

static cr_code most_steps(const cr_hf_steps *s, const char *what, cr_err *err) {
    if (s->n <= CR_MOST_STEPS) return CR_OK;
    return cr_fail(err, CR_ECONF, "more than %d %s; take a tokenizer with fewer", CR_MOST_STEPS,
                   what);
}

static cr_hf_step *add(cr_hf_steps *s, cr_hf_kind kind) {
    if (s->n == s->cap) {
        int cap = s->cap ? 2 * s->cap : 8;
        s->v = cr_realloc(s->v, sizeof(*s->v) * (size_t)s->n, sizeof(*s->v) * (size_t)cap,
                          "a tokenizer");
        s->cap = cap;
    }
    s->v[s->n] = (cr_hf_step){.kind = kind};
    return &s->v[s->n++];
}

void cr_hf_steps_clear(cr_hf_steps *s) {
    for (int i = 0; i < s->n; i++) {
        cr_regex_free(s->v[i].regex);
        cr_free(s->v[i].text);
    }
    cr_free(s->v);
    *s = (cr_hf_steps){NULL, 0, 0};
}

static cr_code set_regex(cr_hf_step *x, const char *pattern, cr_err *err) {
    return cr_regex_new(&x->regex, pattern, CR_REGEX_UNICODE, err);
}

/* set_pattern reads {"String": "x"} or {"Regex": "x+"}. */
static cr_code set_pattern(cr_hf_step *x, const cr_json *pattern, const char *what, cr_err *err) {
    const char *plain = text_of(pattern, "String"), *regex = text_of(pattern, "Regex");
    if (regex) return set_regex(x, regex, err);
    if (!plain || !*plain)
        return cr_fail(err, CR_ECONF, "%s has no pattern of String or Regex", what);
    cr_buf b;
    cr_buf_init(&b);
    for (const char *p = plain; *p;
         p++) /* an ASCII sign is written as \x{..}, others stand for themselves */
        if ((unsigned char)*p < 0x80)
            cr_buf_printf(&b, "\\x{%x}", (unsigned)(unsigned char)*p);
        else
            cr_buf_char(&b, *p);
    cr_code code = set_regex(x, b.data, err);
    cr_buf_clear(&b);
    return code;
}

static cr_code unknown(const char *what, const cr_json *j, cr_err *err) {
    const char *type = text_of(j, "type");
    return cr_fail(err, CR_ECONF, "%s '%s' is not in this version; take a tokenizer without it",
                   what, type ? type : "?");
}

cr_code cr_hf_normalizers(cr_hf_steps *out, const cr_json *j, cr_err *err) {
    static const struct {
        const char *type;
        cr_hf_kind kind;
    } plain[] = {{"NFC", CR_HF_NFC},
                 {"NFD", CR_HF_NFD},
                 {"NFKC", CR_HF_NFKC},
                 {"NFKD", CR_HF_NFKD},
                 {"Lowercase", CR_HF_LOWERCASE},
                 {"StripAccents", CR_HF_STRIP_ACCENTS}};
    const char *type = text_of(j, "type");
    if (!j || !cr_json_is_obj(j)) return CR_OK;
    for (size_t i = 0; type && i < sizeof(plain) / sizeof(plain[0]); i++)
        if (strcmp(type, plain[i].type) == 0) {
            add(out, plain[i].kind);
            return CR_OK;
        }
    if (type && strcmp(type, "Sequence") == 0) {
        const cr_json *list = cr_json_get(j, "normalizers");
        for (size_t i = 0; i < cr_json_len(list); i++)
            CR_TRY(cr_hf_normalizers(out, cr_json_at(list, i), err));
        return most_steps(out, "normalizers", err);
    }
    if (type && strcmp(type, "Strip") == 0) {
        cr_hf_step *x = add(out, CR_HF_STRIP);
        x->left = flag_of(j, "strip_left", true);
        x->right = flag_of(j, "strip_right", true);
        return CR_OK;
    }
    if (type && strcmp(type, "Prepend") == 0 && text_of(j, "prepend"))
        return set_text(add(out, CR_HF_PREPEND), text_of(j, "prepend"), "normalizer Prepend", err);
    if (type && strcmp(type, "Replace") == 0 && text_of(j, "content")) {
        cr_hf_step *x = add(out, CR_HF_REPLACE);
        CR_TRY(set_text(x, text_of(j, "content"), "normalizer Replace", err));
        return set_pattern(x, cr_json_get(j, "pattern"), "normalizer Replace", err);
    }
    return unknown("normalizer", j, err);
}

static bool behavior_of(const char *name, cr_hf_behavior *out) {
    static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous"};
    for (int i = 0; name && i < 5; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (cr_hf_behavior)i;
            return true;
        }
    return false;
}

static cr_code add_split(cr_hf_steps *out, const char *pattern, cr_hf_behavior behavior,
                         bool invert, cr_err *err) {
    cr_hf_step *x = add(out, CR_HF_SPLIT);
    x->behavior = behavior;
    x->invert = invert;
    return set_regex(x, pattern, err);
}

static cr_code add_metaspace(cr_hf_steps *out, const cr_json *j, cr_err *err) {
    const char *mark = text_of(j, "replacement"), *scheme = text_of(j, "prepend_scheme");
    cr_hf_step *x = add(out, CR_HF_METASPACE);
    CR_TRY(set_text(x, mark ? mark : "\xe2\x96\x81", "pre_tokenizer Metaspace", err));
    x->split = flag_of(j, "split", true);
    x->prepend = scheme && strcmp(scheme, "never") == 0   ? CR_HF_NEVER
                 : scheme && strcmp(scheme, "first") == 0 ? CR_HF_FIRST
                                                          : CR_HF_ALWAYS;
    if (!scheme && !flag_of(j, "add_prefix_space", true)) x->prepend = CR_HF_NEVER;
    if (!*x->text) return cr_fail(err, CR_ECONF, "pre_tokenizer Metaspace has no replacement");
    return CR_OK;
}

cr_code cr_hf_pre_tokenizers(cr_hf_steps *out, const cr_json *j, cr_err *err) {
    if (!j || !cr_json_is_obj(j)) return CR_OK;
    const char *type = text_of(j, "type");
    cr_hf_behavior behavior = CR_HF_ISOLATED;
    if (!type) return unknown("pre_tokenizer", j, err);
    if (strcmp(type, "Sequence") == 0) {
        const cr_json *list = cr_json_get(j, "pretokenizers");
        for (size_t i = 0; i < cr_json_len(list); i++)
            CR_TRY(cr_hf_pre_tokenizers(out, cr_json_at(list, i), err));
        return most_steps(out, "pre_tokenizers", err);
    }
    if (strcmp(type, "ByteLevel") == 0) {
        cr_hf_step *x = add(out, CR_HF_BYTE_LEVEL);
        x->prefix_space = flag_of(j, "add_prefix_space", true);
        return flag_of(j, "use_regex", true) ? set_regex(x, GPT2, err) : CR_OK;
    }
    if (strcmp(type, "Split") == 0) {
        cr_hf_step *x = add(out, CR_HF_SPLIT);
        x->invert = flag_of(j, "invert", false);
        if (!behavior_of(text_of(j, "behavior"), &x->behavior))
            return cr_fail(err, CR_ECONF, "pre_tokenizer Split has no behavior that is known");
        return set_pattern(x, cr_json_get(j, "pattern"), "pre_tokenizer Split", err);
    }
    if (strcmp(type, "Metaspace") == 0) return add_metaspace(out, j, err);
    if (strcmp(type, "Whitespace") == 0)
        return add_split(out, "[" WORD "]+|[^" WORD "\\s]+", CR_HF_REMOVED, true, err);
    if (strcmp(type, "WhitespaceSplit") == 0)
        return add_split(out, "\\s", CR_HF_REMOVED, false, err);
    if (strcmp(type, "Digits") == 0)
        return add_split(out, "\\p{N}",
                         flag_of(j, "individual_digits", false) ? CR_HF_ISOLATED : CR_HF_CONTIGUOUS,
                         false, err);
    if (strcmp(type, "Punctuation") == 0) {
        (void)behavior_of(text_of(j, "behavior"), &behavior);
        return add_split(out, PUNCTUATION, behavior, false, err);
    }
    if (strcmp(type, "BertPreTokenizer") == 0) {
        CR_TRY(add_split(out, "\\s", CR_HF_REMOVED, false, err));
        return add_split(out, PUNCTUATION, CR_HF_ISOLATED, false, err);
    }
    return unknown("pre_tokenizer", j, err);
}

/* ---- pieces ---- */

static void piece_add(cr_hf_pieces *p, size_t beg, size_t end) {
    if (end <= beg) return;
    if (p->n == p->cap) {
        int64_t cap = p->cap ? 2 * p->cap : 64;
        p->v = cr_realloc(p->v, sizeof(*p->v) * (size_t)p->n, sizeof(*p->v) * (size_t)cap,
                          "words of a text");
        p->cap = cap;
    }
    p->v[p->n++] = (struct cr_hf_piece){(uint32_t)beg, (uint32_t)end};
}

void cr_hf_pieces_clear(cr_hf_pieces *p) {
    cr_buf_clear(&p->text);
    cr_free(p->v);
    *p = (cr_hf_pieces){0};
}

/* byte_char returns the character that stands for a byte in byte-level vocabularies. */
static uint32_t byte_char(unsigned char b) {
    bool itself = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    if (itself) return b;
    /* the other bytes (0-32, 127-160, 173) are numbered from 256 on */
    uint32_t k = b <= 32 ? b : b <= 160 ? 33u + (b - 127u) : 67u;
    return 256 + k;
}

/* ---- normalizing ---- */

static bool unicode_form(cr_hf_kind kind, const char *p, size_t n, cr_buf *out) {
    utf8proc_uint8_t *made = NULL;
    int o = UTF8PROC_STABLE;
    o |= kind == CR_HF_NFC || kind == CR_HF_NFKC ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
    if (kind == CR_HF_NFKC || kind == CR_HF_NFKD) o |= UTF8PROC_COMPAT;
    utf8proc_ssize_t k =
        utf8proc_map((const utf8proc_uint8_t *)p, (utf8proc_ssize_t)n, &made, (utf8proc_option_t)o);
    if (k == UTF8PROC_ERROR_NOMEM) cr_no_memory(0, "a text in a Unicode form");
    if (k >= 0) cr_buf_add(out, made, (size_t)k);
    free(made);
    return k >= 0;
}

bool cr_hf_is_blank(uint32_t c) {
    return c == ' ' || (c >= 9 && c <= 13) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

static void put_char(cr_buf *out, uint32_t c) {
    char text[4];
    cr_buf_add(out, text, cr_utf8_put(text, c));
}

static void each_char(cr_hf_kind kind, const char *p, size_t n, cr_buf *out) {
    uint32_t c;
    for (size_t at = 0; at < n;) {
        at += cr_utf8_get(p + at, n - at, &c);
        if (kind == CR_HF_LOWERCASE) {
            if (c == 0x130) { /* the only letter whose lower case is two characters */
                cr_buf_str(out, "i\xcc\x87");
                continue;
            }
            c = (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
        } else if (utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_MN) {
            continue;
        }
        put_char(out, c);
    }
}

static void strip(const cr_hf_step *x, const char *p, size_t n, cr_buf *out) {
    size_t from = 0, to = 0;
    uint32_t c;
    bool begun = !x->left;
    for (size_t at = 0; at < n;) {
        size_t len = cr_utf8_get(p + at, n - at, &c);
        if (!begun && cr_hf_is_blank(c)) from = at + len;
        begun |= !cr_hf_is_blank(c);
        at += len;
        if (!cr_hf_is_blank(c)) to = at;
    }
    if (!x->right) to = n;
    if (to > from) cr_buf_add(out, p + from, to - from);
}

static bool replace(const cr_hf_step *x, cr_hf_run *run, const char *p, size_t n, cr_buf *out) {
    size_t at = 0;
    cr_regex_match m;
    for (int found; at < n && (found = cr_regex_find(x->regex, run->regex, p, n, at, true, &m));) {
        if (found < 0) return false;
        if (m.end[0] == m.beg[0]) break;
        cr_buf_add(out, p + at, m.beg[0] - at);
        cr_buf_str(out, x->text);
        if (!cr_work_spend(&run->work, m.beg[0] - at + strlen(x->text))) return false;
        at = m.end[0];
    }
    cr_buf_add(out, p + at, n - at);
    return true;
}

const char *cr_hf_normalize(const cr_hf_steps *s, cr_hf_run *run, const char *p, size_t n,
                            size_t *n_out) {
    for (int i = 0; i < s->n; i++) {
        const cr_hf_step *x = &s->v[i];
        cr_buf *out = &run->buf[i & 1];
        cr_buf_reset(out);
        cr_buf_reserve(out, 1);
        bool fine = true;
        switch (x->kind) {
        case CR_HF_LOWERCASE:
        case CR_HF_STRIP_ACCENTS: each_char(x->kind, p, n, out); break;
        case CR_HF_STRIP: strip(x, p, n, out); break;
        case CR_HF_PREPEND:
            if (n) cr_buf_str(out, x->text);
            cr_buf_add(out, p, n);
            break;
        case CR_HF_REPLACE: fine = replace(x, run, p, n, out); break;
        default: fine = unicode_form(x->kind, p, n, out);
        }
        if (!fine || !cr_work_spend(&run->work, out->n)) return NULL;
        p = out->data;
        n = out->n;
    }
    *n_out = n;
    return p;
}

/* ---- cutting ---- */

/* split cuts text[beg, end) of `to`, which holds the text already, at the matches of a split. */
static bool split(const cr_hf_step *x, cr_hf_run *run, cr_hf_pieces *to, size_t beg, size_t end) {
    const char *p = to->text.data + beg;
    /* the text is cut up to `at`; the search goes on at `from` */
    size_t n = end - beg, at = 0, from = 0;
    size_t open = SIZE_MAX; /* begin of a piece that may still grow */
    cr_regex_match m;
    int found = 1;
    while (at < n || open != SIZE_MAX) {
        found = from < n ? cr_regex_find(x->regex, run->regex, p, n, from, true, &m) : 0;
        if (found < 0) return false;
        size_t mb = found ? m.beg[0] : n, me = found ? m.end[0] : n;
        if (found && mb == me) { /* an empty match cuts nothing */
            for (from = mb + 1; from < n && ((unsigned char)p[from] & 0xc0) == 0x80;)
                from++;
            continue;
        }
        /* with invert, the text between matches counts as matched */
        for (int k = 0; k < 2; k++) {
            size_t a = k ? mb : at, b = k ? me : mb;
            bool match = (k == 1) != x->invert;
            if (a >= b) continue;
            switch (x->behavior) {
            case CR_HF_REMOVED:
                if (!match) piece_add(to, beg + a, beg + b);
                break;
            case CR_HF_ISOLATED: piece_add(to, beg + a, beg + b); break;
            case CR_HF_CONTIGUOUS:
                if (match && open != SIZE_MAX) break; /* the piece goes on */
                if (open != SIZE_MAX) piece_add(to, beg + open, beg + a);
                open = match ? a : SIZE_MAX;
                if (!match) piece_add(to, beg + a, beg + b);
                break;
            case CR_HF_PREVIOUS: /* open is where the unmatched text begins */
                if (match) {
                    piece_add(to, beg + (open != SIZE_MAX ? open : a), beg + b);
                    open = SIZE_MAX;
                } else {
                    open = a;
                }
                break;
            case CR_HF_NEXT: /* open is where a match begins that waits for the text after it */
                if (match) {
                    if (open != SIZE_MAX) piece_add(to, beg + open, beg + a);
                    open = a;
                } else {
                    piece_add(to, beg + (open != SIZE_MAX ? open : a), beg + b);
                    open = SIZE_MAX;
                }
                break;
            }
        }
        at = from = me;
        if (!found) {
            if (open != SIZE_MAX) piece_add(to, beg + open, beg + n);
            break;
        }
    }
    return true;
}

static bool byte_level(const cr_hf_step *x, cr_hf_run *run, const char *p, size_t n,
                       cr_hf_pieces *to) {
    cr_buf *text = &run->buf[0];
    cr_buf_reset(text);
    if (x->prefix_space && p[0] != ' ') cr_buf_char(text, ' ');
    cr_buf_add(text, p, n);
    cr_regex_match m = {.beg = {0}, .end = {text->n}};
    for (size_t at = 0; at < text->n;) {
        int found =
            x->regex ? cr_regex_find(x->regex, run->regex, text->data, text->n, at, true, &m) : 1;
        if (found < 0) return false;
        /* the expression matches the whole text; without an expression the piece stays whole */
        size_t beg = at, end = found ? (m.beg[0] > at ? m.beg[0] : m.end[0]) : text->n;
        if (!x->regex) end = text->n;
        size_t from = to->text.n;
        for (size_t i = beg; i < end; i++)
            put_char(&to->text, byte_char((unsigned char)text->data[i]));
        piece_add(to, from, to->text.n);
        at = end;
    }
    return true;
}

static bool metaspace(const cr_hf_step *x, cr_hf_run *run, const char *p, size_t n, bool first,
                      cr_hf_pieces *to) {
    size_t n_mark = strlen(x->text), beg = to->text.n;
    bool has = n >= n_mark && memcmp(p, x->text, n_mark) == 0;
    if (!has && p[0] != ' ' && (x->prepend == CR_HF_ALWAYS || (x->prepend == CR_HF_FIRST && first)))
        cr_buf_str(&to->text, x->text);
    for (size_t i = 0; i < n; i++) {
        if (p[i] != ' ') {
            cr_buf_char(&to->text, p[i]);
            continue;
        }
        cr_buf_add(&to->text, x->text, n_mark);
        if (!cr_work_spend(&run->work, n_mark)) return false;
    }
    size_t end = to->text.n;
    if (!x->split) {
        piece_add(to, beg, end);
        return true;
    }
    size_t from = beg; /* a mark begins the piece that follows it */
    for (size_t i = beg; i + n_mark <= end;) {
        if (memcmp(to->text.data + i, x->text, n_mark) != 0) {
            i++;
            continue;
        }
        piece_add(to, from, i);
        from = i;
        i += n_mark;
    }
    piece_add(to, from, end);
    return true;
}

const cr_hf_pieces *cr_hf_cut(const cr_hf_steps *s, cr_hf_run *run, const char *text, size_t n,
                              bool first) {
    cr_hf_pieces *a = &run->pieces[0], *b = &run->pieces[1];
    cr_buf_reset(&a->text);
    cr_buf_add(&a->text, text, n);
    a->n = 0;
    piece_add(a, 0, n);
    for (int i = 0; i < s->n; i++) {
        const cr_hf_step *x = &s->v[i];
        cr_buf_reset(&b->text);
        b->n = 0;
        for (int64_t k = 0; k < a->n; k++) {
            const char *p = a->text.data + a->v[k].beg;
            size_t len = a->v[k].end - a->v[k].beg, had = b->text.n;
            bool fine = true;
            if (x->kind == CR_HF_SPLIT) {
                size_t beg = b->text.n;
                cr_buf_add(&b->text, p, len);
                fine = split(x, run, b, beg, beg + len);
            } else if (x->kind == CR_HF_METASPACE) {
                fine = metaspace(x, run, p, len, first && k == 0, b);
            } else {
                fine = byte_level(x, run, p, len, b);
            }
            if (!fine || !cr_work_spend(&run->work, b->text.n - had + 1)) return NULL;
        }
        cr_hf_pieces *t = a;
        a = b;
        b = t;
    }
    return a;
}
