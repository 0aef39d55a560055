/*
 * help_search.c - see help_search.h. All tables are walked, and each word goes to one function,
 * which keeps it when it fits. A key that many messages have is one row that names two of them.
 */
#include "cli/help_search.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "cli/grid.h"
#include "conf/conf.h"
#include "job/env.h"
#include "layer/layer.h"

#define MAX_MENTIONS 15 /* at most this many rows that have the word in their help only */
#define MAX_ALSO     8
#define MIN_WORD     2
#define LINE         96 /* the longest line of text */

typedef struct row {
    const char *name, *kind; /* "fg_mode", "key of" */
    const char *of;          /* "value of <of>"; may be NULL */
    const char *where[2];    /* messages, commands */
    int n_where;             /* how many there are in all */
    const char *help;
    bool mention, later; /* mention: the word is in the help only */
} row;

typedef struct search {
    cr_arena *arena;
    const char *word;
    row *v;
    int n, cap;
    int n_mentions;
} search;

/* `-` and `_` mean the same in names */
static bool has_word(const char *text, const char *word) {
    for (; text && *text; text++) {
        size_t i = 0;
        while (word[i] && (tolower((unsigned char)text[i]) == tolower((unsigned char)word[i]) ||
                           (text[i] == '_' && word[i] == '-')))
            i++;
        if (!word[i]) return true;
    }
    return false;
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Keeps one word of a table when it fits, joined with an equal word of another place. */
static void tell(search *s, const row *r) {
    bool named = has_word(r->name, s->word);
    if (!named && !has_word(r->help, s->word)) return;
    for (int i = 0; i < s->n; i++) {
        row *old = &s->v[i];
        if (strcmp(old->name, r->name) != 0 || !same_text(old->kind, r->kind) ||
            !same_text(old->of, r->of))
            continue;
        if (r->n_where && old->n_where < 2) old->where[old->n_where] = r->where[0];
        old->n_where += r->n_where;
        return;
    }
    if (s->n == s->cap) {
        int cap = s->cap ? 2 * s->cap : 64;
        row *v = CR_NEW_N(s->arena, row, cap);
        if (s->n) memcpy(v, s->v, sizeof *v * (size_t)s->n);
        s->v = v;
        s->cap = cap;
    }
    s->v[s->n] = *r;
    s->v[s->n].mention = !named;
    s->n_mentions += !named;
    s->n++;
}

/* ---- the tables ---- */

static void tell_term(void *ctx, const cr_conf_term *t) {
    static const char *const kinds[] = {"key of", NULL, "value of"};
    row r = {.name = t->name,
             .kind = t->kind == CR_TERM_MEMBER ? t->of : kinds[t->kind],
             .of = t->kind == CR_TERM_VALUE ? t->of : NULL,
             .help = t->help,
             .later = t->later};
    if (t->kind != CR_TERM_MEMBER) {
        r.where[0] = t->in->name;
        r.n_where = 1;
    }
    tell(ctx, &r);
}

static void tell_activations(search *s) {
    cr_buf call;
    cr_buf_init(&call);
    const char *help;
    for (size_t i = 0; (help = cr_act_help(i, &call)); i++, cr_buf_reset(&call))
        tell(s, &(row){.name = cr_arena_strdup(s->arena, call.data),
                       .kind = "activation",
                       .help = help});
    cr_buf_clear(&call);
}

static void tell_commands(search *s, const cr_cmd *const *cmds) {
    for (; *cmds; cmds++) {
        const cr_cmd *c = *cmds;
        if (c->hidden) continue;
        tell(s, &(row){.name = c->name, .kind = "command", .help = c->help});
        for (const cr_opt *o = c->opts; o->name; o++)
            tell(s, &(row){.name = cr_arena_printf(s->arena, "--%s", o->name),
                           .kind = "flag of crank",
                           .where = {c->name},
                           .n_where = 1,
                           .help = o->help,
                           .later = o->flags & CR_O_LATER});
    }
}

static void tell_environment(search *s) {
    for (const cr_env *e = cr_envs; e->name; e++)
        tell(s, &(row){.name = e->name, .kind = "environment variable", .help = e->help});
}

static search find(cr_ui *ui, const char *word) {
    search s = {.arena = &ui->arena, .word = word};
    cr_conf_terms(&cr_root_msg, tell_term, &s);
    tell_activations(&s);
    tell_commands(&s, ui->cmds);
    tell_environment(&s);
    return s;
}

/* ---- what is printed ---- */

static const char *what_text(cr_arena *a, const row *r) {
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, r->kind);
    if (r->of) cr_buf_printf(&b, " %s in", r->of);
    for (int i = 0; i < r->n_where && i < 2; i++)
        cr_buf_printf(&b, "%s%s", i ? ", " : " ", r->where[i]);
    if (r->n_where > 2) cr_buf_printf(&b, " and %d more", r->n_where - 2);
    const char *text = cr_arena_strdup(a, b.data);
    cr_buf_clear(&b);
    return text;
}

static const char *meaning_text(cr_arena *a, const row *r) {
    char *text = cr_arena_printf(a, "%s%s", r->help ? r->help : "",
                                 r->later ? " (not in this version)" : "");
    char *to = text;
    for (const char *c = text; *c; c++) /* backticks are for Markdown, so they are left out */
        if (*c != '`') *to++ = *c;
    *to = 0;
    return text;
}

static void print_rows(const search *s, bool mention, int most) {
    static const unsigned flags[] = {CR_GRID_LEFT, CR_GRID_LEFT, CR_GRID_LEFT | CR_GRID_SHRINK};
    cr_grid t;
    cr_grid_init(&t, s->arena, 3, flags);
    const char **head = cr_grid_row(&t);
    head[0] = "name";
    head[1] = "what it is";
    head[2] = "meaning";
    for (int i = 0; i < s->n && t.n_rows <= most; i++) {
        const row *r = &s->v[i];
        if (r->mention != mention) continue;
        const char **cells = cr_grid_row(&t);
        cells[0] = r->name;
        cells[1] = what_text(s->arena, r);
        cells[2] = meaning_text(s->arena, r);
    }
    cr_grid_print(&t, cr_screen_width());
}

bool cr_help_search(cr_ui *ui, const char *word) {
    if (strlen(word) < MIN_WORD) return false;
    search s = find(ui, word);
    int n_named = s.n - s.n_mentions;
    if (s.n == 0) return false;
    if (n_named) {
        cr_ui_say("names with '%s':\n", word);
        print_rows(&s, false, s.n);
    }
    if (s.n_mentions) {
        cr_ui_say("%stexts with '%s':\n", n_named ? "\n" : "", word);
        print_rows(&s, true, MAX_MENTIONS);
        if (s.n_mentions > MAX_MENTIONS) cr_ui_say("  and %d more\n", s.n_mentions - MAX_MENTIONS);
    }
    cr_ui_say("\n'crank help NAME' explains a model, a key or a command.\n");
    return true;
}

void cr_help_also(cr_ui *ui, cr_buf *out, const char *word) {
    if (strlen(word) < MIN_WORD) return;
    search s = {.arena = &ui->arena, .word = word};
    cr_conf_terms(&cr_root_msg, tell_term, &s);
    int n = 0;
    size_t line = 0; /* where the line begins in out */
    for (int i = 0; i < s.n && n <= MAX_ALSO; i++) {
        const row *r = &s.v[i];
        bool told = r->mention || strcasecmp(r->name, word) == 0;
        for (int k = 0; k < i && !told; k++)
            told = !s.v[k].mention && strcmp(s.v[k].name, r->name) == 0;
        if (told) continue;
        const char *name = n == MAX_ALSO ? "..." : r->name;
        if (n++ == 0) {
            cr_buf_char(out, '\n');
            line = out->n;
            cr_buf_printf(out, "See also: %s", name);
        } else if (out->n - line + strlen(name) > LINE) {
            cr_buf_str(out, ",\n");
            line = out->n;
            cr_buf_printf(out, "          %s", name);
        } else {
            cr_buf_printf(out, ", %s", name);
        }
    }
    if (n) cr_buf_char(out, '\n');
}
