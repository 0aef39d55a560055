/*
 * pickle.c - reads the data of a pickle. A pickle is a program for a machine with a stack of
 * values, marks on the stack, and a memo of values by number; each instruction is one byte and its
 * operands.
 *
 * A value costs at least one byte of the file, so memory is bounded by a multiple of its size. What
 * names mean is in pickle_names.c.
 */
#include <string.h>

#include "base/pickle_int.h"
#include "base/shown.h"

typedef struct machine {
    const unsigned char *data, *at, *end;
    const char *path;
    cr_arena *a;
    cr_err *err;
    cr_pickle **stack, **memo;
    size_t n, cap, n_memo, cap_memo;
    size_t *marks, n_marks, cap_marks;
} machine;

#define BROKEN "this is no pickle, or it is cut short; write it again with pickle.dump"

static cr_code broken(machine *m, const char *what) {
    return cr_fail_at(m->err, CR_EDATA, ((cr_loc){m->path, 0, 0}), "byte %zu: %s",
                      (size_t)(m->at - m->data), what);
}

static cr_pickle *made(machine *m, cr_pickle_kind kind) {
    cr_pickle *v = CR_NEW(m->a, cr_pickle);
    v->kind = kind;
    return v;
}

/* Makes room for one more of `size` bytes; the old memory stays in the arena. */
static void *room(machine *m, void *v, size_t n, size_t *cap, size_t size) {
    if (n < *cap) return v;
    size_t more = *cap ? 2 * *cap : 16;
    void *w = cr_arena_alloc(m->a, more * size);
    if (n) memcpy(w, v, n * size);
    *cap = more;
    return w;
}

static void push(machine *m, cr_pickle *v) {
    m->stack = room(m, m->stack, m->n, &m->cap, sizeof *m->stack);
    m->stack[m->n++] = v;
}

/* The lowest value that may be taken from the stack: those below a mark belong to others. */
static size_t floor_of(const machine *m) {
    return m->n_marks ? m->marks[m->n_marks - 1] : 0;
}

static cr_pickle *pop(machine *m) {
    return m->n > floor_of(m) ? m->stack[--m->n] : NULL;
}

/* Reads an unsigned number of n bytes; false: the file has ended. */
static bool number(machine *m, size_t n, uint64_t *out) {
    if ((size_t)(m->end - m->at) < n) return false;
    *out = 0;
    for (size_t i = 0; i < n; i++)
        *out |= (uint64_t)m->at[i] << (8 * i);
    m->at += n;
    return true;
}

static bool text(machine *m, size_t width, cr_pickle **out) {
    uint64_t n;
    if (!number(m, width, &n) || n > (uint64_t)(m->end - m->at)) return false;
    *out = made(m, CR_PICKLE_TEXT);
    (*out)->text = (const char *)m->at;
    (*out)->n = (size_t)n;
    m->at += n;
    return true;
}

/* A line of the file, as the names of protocol 2 are written. */
static bool word(machine *m, const char **p, size_t *n) {
    const unsigned char *nl = memchr(m->at, '\n', (size_t)(m->end - m->at));
    if (!nl) return false;
    *p = (const char *)m->at;
    *n = (size_t)(nl - m->at);
    m->at = nl + 1;
    return true;
}

static void add(machine *m, cr_pickle *list, cr_pickle *v) {
    list->v = room(m, list->v, list->n, &list->cap, sizeof *list->v);
    list->v[list->n++] = v;
}

/* A list of the values of the stack from `from` on, which are taken away. */
static cr_pickle *gather(machine *m, size_t from) {
    cr_pickle *list = made(m, CR_PICKLE_LIST);
    for (size_t i = from; i < m->n; i++)
        add(m, list, m->stack[i]);
    m->n = from;
    return list;
}

/* ---- names ---- */

#define KNOWN "write numbers, texts, lists, arrays of NumPy's numbers, or a DataFrame of pandas"

static cr_code name(machine *m, const char *module, size_t n_module, const char *id, size_t n_id) {
    char shown[2][CR_SHOW];
    cr_pickle *v = cr_pickle_named(m->a, module, n_module, id, n_id);
    if (!v)
        return cr_fail_at(m->err, CR_EDATA, ((cr_loc){m->path, 0, 0}),
                          "byte %zu: it names %s.%s of Python, which is not run here; " KNOWN,
                          (size_t)(m->at - m->data), cr_show(shown[0], module, n_module),
                          cr_show(shown[1], id, n_id));
    push(m, v);
    return CR_OK;
}

/* Calls a name with a tuple. */
static cr_code reduce(machine *m) {
    cr_pickle *args = pop(m), *f = pop(m), *out = NULL;
    if (!args || !f || args->kind != CR_PICKLE_LIST || f->kind != CR_PICKLE_NAME ||
        !cr_pickle_call(m->a, f, args, &out))
        return broken(m, "a call that is not that of a number or an array of NumPy; " KNOWN);
    push(m, out);
    return CR_OK;
}

static cr_code build(machine *m) {
    cr_pickle *state = pop(m), *v = pop(m);
    if (!state || !v || !cr_pickle_build(m->a, v, state))
        return broken(m, "an array whose sizes, type and numbers do not fit, or another value with "
                         "a state; " KNOWN);
    push(m, v);
    return CR_OK;
}

/* ---- the instructions ---- */

static cr_code put(machine *m, uint64_t k) {
    if (m->n <= floor_of(m) || k > (uint64_t)(m->end - m->data)) return broken(m, BROKEN);
    while (m->n_memo <= k) {
        m->memo = room(m, m->memo, m->n_memo, &m->cap_memo, sizeof *m->memo);
        m->memo[m->n_memo++] = NULL;
    }
    m->memo[k] = m->stack[m->n - 1];
    return CR_OK;
}

static cr_code get(machine *m, uint64_t k) {
    if (k >= m->n_memo || !m->memo[k]) return broken(m, BROKEN);
    push(m, m->memo[k]);
    return CR_OK;
}

/* Takes the last mark away; *from becomes the first value above it. */
static bool unmark(machine *m, size_t *from) {
    if (m->n_marks == 0) return false;
    *from = m->marks[--m->n_marks];
    return true;
}

static cr_code tuple(machine *m, size_t n) {
    if (m->n - floor_of(m) < n) return broken(m, BROKEN);
    push(m, gather(m, m->n - n));
    return CR_OK;
}

/* Adds what is on the stack to the list, or the mapping, below it. */
static cr_code appends(machine *m, cr_pickle_kind to, bool marked) {
    size_t from = m->n, each = to == CR_PICKLE_MAP ? 2 : 1; /* values of an item */
    if (marked ? !unmark(m, &from) : m->n < floor_of(m) + each) return broken(m, BROKEN);
    if (!marked) from -= each;
    if (from <= floor_of(m) || m->stack[from - 1]->kind != to || (m->n - from) % each != 0)
        return broken(m, BROKEN);
    cr_pickle *list = m->stack[from - 1];
    for (size_t i = from; i < m->n; i++)
        add(m, list, m->stack[i]);
    m->n = from;
    return CR_OK;
}

static cr_code whole(machine *m, size_t n, bool is_signed) {
    uint64_t x;
    if (n > 8) return broken(m, "a whole number of more than 64 bits; use smaller ones");
    if (!number(m, n, &x)) return broken(m, BROKEN);
    if (is_signed && n > 0 && n < 8 && x >> (8 * n - 1)) x |= ~UINT64_C(0) << (8 * n);
    cr_pickle *v = made(m, CR_PICKLE_INT);
    memcpy(&v->i, &x, sizeof x);
    push(m, v);
    return CR_OK;
}

static cr_code real(machine *m) {
    uint64_t x, y = 0;
    if (!number(m, 8, &x)) return broken(m, BROKEN);
    for (int i = 0; i < 8; i++)
        y |= (x >> (8 * i) & 0xff) << (8 * (7 - i));
    cr_pickle *v = made(m, CR_PICKLE_FLOAT);
    memcpy(&v->x, &y, sizeof y);
    push(m, v);
    return CR_OK;
}

static cr_code names(machine *m, bool from_stack) {
    const char *p[2];
    size_t n[2];
    if (!from_stack) {
        if (!word(m, &p[0], &n[0]) || !word(m, &p[1], &n[1])) return broken(m, BROKEN);
        return name(m, p[0], n[0], p[1], n[1]);
    }
    cr_pickle *id = pop(m), *module = pop(m);
    if (!id || !module || id->kind != CR_PICKLE_TEXT || module->kind != CR_PICKLE_TEXT)
        return broken(m, BROKEN);
    return name(m, module->text, module->n, id->text, id->n);
}

static cr_code constant(machine *m, cr_pickle_kind kind, int64_t i) {
    cr_pickle *v = made(m, kind);
    v->i = i;
    push(m, v);
    return CR_OK;
}

static cr_code step(machine *m, int op) {
    uint64_t k;
    size_t from;
    cr_pickle *v;
    switch (op) {
    case 0x80: return number(m, 1, &k) && k >= 2 && k <= 5 ? CR_OK : broken(m, BROKEN);
    case 0x95: return number(m, 8, &k) ? CR_OK : broken(m, BROKEN); /* a frame */
    case 'N': return constant(m, CR_PICKLE_NONE, 0);
    case 0x88: return constant(m, CR_PICKLE_INT, 1);
    case 0x89: return constant(m, CR_PICKLE_INT, 0);
    case ']':
    case ')': return constant(m, CR_PICKLE_LIST, 0);
    case 'J': return whole(m, 4, true);
    case 'K': return whole(m, 1, false);
    case 'M': return whole(m, 2, false);
    case 0x8a: return number(m, 1, &k) ? whole(m, (size_t)k, true) : broken(m, BROKEN);
    case 'G': return real(m);
    case 'X':
    case 'B':
    case 'U':
    case 'T':
    case 'C':
    case 0x8c:
    case 0x8d:
    case 0x8e:
    case 0x96:
        from = op == 'X' || op == 'B' || op == 'T'    ? 4
               : op == 0x8c || op == 'U' || op == 'C' ? 1
                                                      : 8;
        if (!text(m, from, &v)) return broken(m, BROKEN);
        push(m, v);
        return CR_OK;
    case 'q': return number(m, 1, &k) ? put(m, k) : broken(m, BROKEN);
    case 'r': return number(m, 4, &k) ? put(m, k) : broken(m, BROKEN);
    case 0x94: return put(m, m->n_memo);
    case 'h': return number(m, 1, &k) ? get(m, k) : broken(m, BROKEN);
    case 'j': return number(m, 4, &k) ? get(m, k) : broken(m, BROKEN);
    case '(':
        m->marks = room(m, m->marks, m->n_marks, &m->cap_marks, sizeof *m->marks);
        m->marks[m->n_marks++] = m->n;
        return CR_OK;
    case 't':
    case 'l':
        if (!unmark(m, &from)) return broken(m, BROKEN);
        push(m, gather(m, from));
        return CR_OK;
    case 0x85: return tuple(m, 1);
    case 0x86: return tuple(m, 2);
    case 0x87: return tuple(m, 3);
    case 'a': return appends(m, CR_PICKLE_LIST, false);
    case 'e': return appends(m, CR_PICKLE_LIST, true);
    case '}': return constant(m, CR_PICKLE_MAP, 0);
    case 's': return appends(m, CR_PICKLE_MAP, false);
    case 'u': return appends(m, CR_PICKLE_MAP, true);
    case 'c': return names(m, false);
    case 0x93: return names(m, true);
    case 0x81: /* makes an object of a class, which is a call here */
    case 'R': return reduce(m);
    case 'b': return build(m);
    default:
        return broken(m, "a value that is no number, text, list, tuple, mapping or array, or no "
                         "pickle at all; " KNOWN);
    }
}

cr_code cr_pickle_read(const void *data, size_t size, const char *path, cr_arena *a,
                       const cr_pickle **out, cr_err *err) {
    machine m = {.data = data, .at = data, .path = path, .a = a, .err = err};
    m.end = m.data + size;
    while (m.at < m.end) {
        int op = *m.at++;
        if (op == '.') {
            if (m.n != 1 || m.n_marks || m.stack[0]->kind > CR_PICKLE_OBJECT)
                return broken(&m, BROKEN);
            *out = m.stack[0];
            return CR_OK;
        }
        CR_TRY(step(&m, op));
    }
    return broken(&m, BROKEN);
}
