/*
 * pmi.c - the server's side of PMI-1 for one node: a row per command.
 */
#include "launch/pmi.h"

#include <stdio.h>
#include <string.h>

#define KVS "crank"

void cr_pmi_init(cr_pmi *p, int n_local, int n_nodes) {
    char mapping[64];
    *p = (cr_pmi){.n_local = n_local, .world = n_local * n_nodes};
    cr_arena_init(&p->arena, 0);
    cr_map_init(&p->keys);
    p->waits = CR_NEW_N(&p->arena, bool, n_local);
    /* "n_nodes nodes from node 0 on, with n_local ranks each": the library finds out which ranks
     * share memory */
    snprintf(mapping, sizeof mapping, "(vector,(0,%d,%d))", n_nodes, n_local);
    if (!cr_pmi_put(p, "PMI_process_mapping", 19, mapping, strlen(mapping)))
        CR_BUG("a mapping of ranks that is too long");
}

void cr_pmi_clear(cr_pmi *p) {
    if (!p->n_local) return;
    cr_free(p->values);
    cr_map_clear(&p->keys);
    cr_arena_clear(&p->arena);
    *p = (cr_pmi){0};
}

/* ---- values ---- */

static bool add(cr_pmi *p, const char *key, size_t n_key, const char *value, size_t n_value,
                bool own) {
    if (n_key == 0 || n_key >= CR_PMI_KEY || n_value >= CR_PMI_VALUE || p->n_values >= CR_PMI_KEYS)
        return false;
    if (p->n_values == p->cap_values) {
        size_t cap = p->cap_values ? 2 * p->cap_values : 64;
        p->values = cr_realloc(p->values, p->cap_values * sizeof *p->values,
                               cap * sizeof *p->values, "values of ranks");
        p->cap_values = cap;
    }
    p->values[p->n_values] = (cr_pmi_value){.key = cr_arena_strndup(&p->arena, key, n_key),
                                            .value = cr_arena_strndup(&p->arena, value, n_value),
                                            .own = own};
    cr_map_put(&p->keys, key, n_key, (int64_t)p->n_values++);
    return true;
}

bool cr_pmi_put(cr_pmi *p, const char *key, size_t n_key, const char *value, size_t n_value) {
    return add(p, key, n_key, value, n_value, false);
}

bool cr_pmi_untold(cr_pmi *p, const char **key, const char **value) {
    while (p->told < p->n_values) {
        const cr_pmi_value *v = &p->values[p->told++];
        if (!v->own) continue;
        *key = v->key;
        *value = v->value;
        return true;
    }
    return false;
}

const char *cr_pmi_release(cr_pmi *p) {
    memset(p->waits, 0, (size_t)p->n_local * sizeof *p->waits);
    p->n_waiting = 0;
    return "cmd=barrier_out\n";
}

/* ---- lines ---- */

typedef struct span {
    const char *p;
    size_t n;
} span;

/* the value of name= in a line; it ends at a blank, but the value of a put goes to the end */
static bool field(const char *line, size_t n, const char *name, bool to_end, span *out) {
    size_t k = strlen(name);
    const char *end = line + n;
    for (const char *p = line; p < end;) {
        if ((size_t)(end - p) > k && memcmp(p, name, k) == 0 && p[k] == '=') {
            out->p = p + k + 1;
            const char *blank = memchr(out->p, ' ', (size_t)(end - out->p));
            out->n = (size_t)((blank && !to_end ? blank : end) - out->p);
            return true;
        }
        p = memchr(p, ' ', (size_t)(end - p));
        if (!p) break;
        p++;
    }
    return false;
}

typedef struct call {
    cr_pmi *p;
    int local;
    const char *line;
    size_t n;
    cr_buf *reply;
    int *code;
} call;

static cr_pmi_event do_init(const call *c) {
    cr_buf_str(c->reply, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    return CR_PMI_NOTHING;
}

static cr_pmi_event do_maxes(const call *c) {
    cr_buf_printf(c->reply, "cmd=maxes kvsname_max=64 keylen_max=%d vallen_max=%d\n", CR_PMI_KEY,
                  CR_PMI_VALUE);
    return CR_PMI_NOTHING;
}

static cr_pmi_event do_appnum(const call *c) {
    cr_buf_str(c->reply, "cmd=appnum appnum=0\n");
    return CR_PMI_NOTHING;
}

static cr_pmi_event do_kvsname(const call *c) {
    cr_buf_str(c->reply, "cmd=my_kvsname kvsname=" KVS "\n");
    return CR_PMI_NOTHING;
}

static cr_pmi_event do_universe(const call *c) {
    cr_buf_printf(c->reply, "cmd=universe_size size=%d\n", c->p->world);
    return CR_PMI_NOTHING;
}

static cr_pmi_event do_put(const call *c) {
    span key, value;
    if (!field(c->line, c->n, "key", false, &key) || !field(c->line, c->n, "value", true, &value) ||
        !add(c->p, key.p, key.n, value.p, value.n, true))
        return CR_PMI_BAD;
    cr_buf_str(c->reply, "cmd=put_result rc=0 msg=success\n");
    return CR_PMI_NOTHING;
}

static cr_pmi_event do_get(const call *c) {
    span key;
    if (!field(c->line, c->n, "key", false, &key)) return CR_PMI_BAD;
    int64_t at = cr_map_get(&c->p->keys, key.p, key.n, -1);
    if (at < 0)
        cr_buf_str(c->reply, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
    else
        cr_buf_printf(c->reply, "cmd=get_result rc=0 msg=success value=%s\n",
                      c->p->values[at].value);
    return CR_PMI_NOTHING;
}

static cr_pmi_event do_barrier(const call *c) {
    if (c->p->waits[c->local]) return CR_PMI_BAD;
    c->p->waits[c->local] = true;
    return ++c->p->n_waiting == c->p->n_local ? CR_PMI_BARRIER : CR_PMI_NOTHING;
}

static cr_pmi_event do_finalize(const call *c) {
    cr_buf_str(c->reply, "cmd=finalize_ack\n");
    return CR_PMI_NOTHING;
}

static cr_pmi_event do_abort(const call *c) {
    span code;
    int64_t x = 1;
    if (field(c->line, c->n, "exitcode", false, &code) && !cr_parse_i64(code.p, code.n, &x)) x = 1;
    *c->code = x > 0 && x < 256 ? (int)x : 1;
    return CR_PMI_ABORT;
}

static const struct {
    const char *name;
    cr_pmi_event (*run)(const call *c);
} rows[] = {
    {"init", do_init},
    {"get_maxes", do_maxes},
    {"get_appnum", do_appnum},
    {"put", do_put},
    {"get_my_kvsname", do_kvsname},
    {"get", do_get},
    {"barrier_in", do_barrier},
    {"get_universe_size", do_universe},
    {"finalize", do_finalize},
    {"abort", do_abort},
};

cr_pmi_event cr_pmi_line(cr_pmi *p, int local, const char *line, size_t n, cr_buf *reply,
                         int *code) {
    span cmd;
    call c = {p, local, line, n, reply, code};
    if (memchr(line, 0, n) || !field(line, n, "cmd", false, &cmd)) return CR_PMI_BAD;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (cmd.n == strlen(rows[i].name) && memcmp(cmd.p, rows[i].name, cmd.n) == 0)
            return rows[i].run(&c);
    return CR_PMI_BAD;
}
