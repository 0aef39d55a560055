/*
 * slots.c - SlotDataset: lines of slot:value pairs, the text that PaddleRec reads.
 *
 * input_fields names the slots and their types, because a line says nothing of either. A slot that
 * a line lacks is a missing value, and the feature's default stands for it. A name that is misspelt
 * in the config would then be a column of defaults, so the first lines are read when the data is
 * opened: a slot that never occurs in them is told, beside the slots that occur and are not read.
 * With slot_text.map_unread, a list of numbers takes the values of the only such slot that fits.
 *
 * Files and blocks are those of the CSV reader (csv/csv_int.h), without quotes.
 */
#include "data/slots/slots_int.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/shown.h"
#include "conf/conf.h"

#define LOOK_LINES 1000
#define SHOWN      6 /* slots that a message names */

enum { FIRST_LIST = 5, FIRST_LIST_OF_LISTS = 10, MAP_INT64_FLOAT = 23 };

static cr_loc at_of(const cr_data_conf *c, const void *conf, const char *key) {
    return c->base.msg ? cr_conf_at(conf, key) : CR_NOWHERE;
}

/* ---- fields ---- */

/* Finds the pair that makes a field: name_7 of the pair `name`. *place is 6 then. */
static const cr_slot_pair_conf *pair_of(const cr_slot_text_conf *c, const char *name,
                                        int64_t *place) {
    for (int64_t i = 0; c && i < c->pairs.n; i++) {
        const cr_slot_pair_conf *p = c->pairs.v[i];
        size_t n = strlen(p->name);
        if (strncmp(name, p->name, n) == 0 && name[n] == '_' &&
            cr_parse_i64(name + n + 1, strlen(name + n + 1), place) && *place >= 1) {
            --*place;
            return p;
        }
    }
    return NULL;
}

/* Returns the field of a list of that type; -1: there is none. */
static int list_of(const struct cr_slots *t, const char *name, cr_coltype type) {
    int f = (int)cr_map_get(&t->index, name, strlen(name), -1);
    return f >= 0 && t->v[f].many && t->v[f].type == type ? f : -1;
}

/* Is this the type of a part: a weighted id, or, without ids, a number? */
static bool is_part_type(int type, const cr_slot_pair_conf *p) {
    return type == (*p->ids ? MAP_INT64_FLOAT : CR_COL_F32);
}

/* Is it a column that no line has? */
static bool is_made(const cr_slot_text_conf *st, const char *name) {
    for (int64_t i = 0; st && i < st->made.n; i++)
        if (strcmp(((const cr_slot_made_conf *)st->made.v[i])->name, name) == 0) return true;
    return false;
}

/* Finds the slots of a part, which must be lists of input_fields. */
static void find_slots(struct cr_slots *t, cr_slot *s, const cr_data_conf *c,
                       const cr_field_conf *f, cr_diag *diag) {
    const cr_slot_pair_conf *p = pair_of(c->slot_text, s->name, &s->place);
    if (p && is_part_type(f->input_type, p)) {
        s->weights = list_of(t, p->weights, CR_COL_F32);
        s->ids = *p->ids ? list_of(t, p->ids, CR_COL_I64) : -1;
        if (s->weights >= 0 && (s->ids >= 0 || !*p->ids)) return;
    }
    cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at_of(c, f, "input_type"),
                "no pair of data_config.slot_text makes the column '%s'; a pair with the name x "
                "makes x_1, x_2, ...: MAP_INT64_FLOAT from an ARRAY_INT64 and an ARRAY_FLOAT of "
                "input_fields, or FLOAT from an ARRAY_FLOAT alone",
                s->name);
}

static void make_fields(struct cr_slots *t, const cr_data_conf *c, cr_arena *a, cr_diag *diag) {
    const cr_slot_text_conf *st = c->slot_text;
    t->n = (int)c->input_fields.n;
    t->v = CR_NEW_N(a, cr_slot, t->n + 1);
    bool *part = CR_NEW_N(a, bool, t->n + 1);
    int64_t n_real = 0;
    for (int i = 0; i < t->n; i++) {
        const cr_field_conf *f = c->input_fields.v[i];
        int type = f->input_type;
        cr_slot *s = &t->v[i];
        *s = (cr_slot){.name = f->input_name, .ids = -1, .weights = -1};
        const cr_slot_pair_conf *p = pair_of(st, s->name, &s->place);
        part[i] = type == MAP_INT64_FLOAT || (p && is_part_type(type, p));
        if (part[i]) {
            s->type = CR_COL_F32;
            continue;
        }
        s->place = 0;
        s->many = type >= FIRST_LIST;
        s->type = (cr_coltype)(type - (s->many ? FIRST_LIST : 0));
        if (!is_made(st, s->name)) {
            s->width = st && n_real < st->widths.n ? st->widths.v[n_real] : 1;
            n_real++;
        }
        if (type < FIRST_LIST_OF_LISTS &&
            (s->type == CR_COL_I64 || s->type == CR_COL_F32 || s->type == CR_COL_STR)) {
            (void)cr_map_put(&t->index, s->name, strlen(s->name), i);
            continue;
        }
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at_of(c, f, "input_type"),
                    "a slot cannot be %s; use INT64, FLOAT or STRING for one value, ARRAY_INT64, "
                    "ARRAY_FLOAT or ARRAY_STRING for any number of them",
                    cr_field_types[type].name);
    }
    for (int i = 0; i < t->n; i++)
        if (part[i]) find_slots(t, &t->v[i], c, c->input_fields.v[i], diag);
    if (t->form == CR_SLOT_FIXED && st->widths.n != n_real)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at_of(c, st, "widths"),
                    "widths has %lld numbers for the %lld slots of input_fields; give each slot "
                    "its number of values",
                    (long long)st->widths.n, (long long)n_real);
}

static void find_columns(struct cr_slots *t, const cr_slot_text_conf *c, cr_arena *a) {
    int *columns = CR_NEW_N(a, int, (c ? c->columns.n : 0) + 1);
    for (int64_t i = 0; c && i < c->columns.n; i++)
        columns[i] = (int)cr_map_get(&t->index, c->columns.v[i], strlen(c->columns.v[i]), -1);
    t->columns = columns;
    t->n_columns = c ? (int)c->columns.n : 0;
}

static int named(const struct cr_slots *t, const char *name) {
    return (int)cr_map_get(&t->index, name, strlen(name), -1);
}

/* Finds the columns that a session gives. */
static void find_session(struct cr_slots *t, const cr_data_conf *c, cr_diag *diag) {
    const cr_slot_text_conf *st = c->slot_text;
    t->history = t->next = t->center = t->context = -1;
    t->list_separator = st && st->list_separator ? st->list_separator[0] : ',';
    t->padding = st && st->padding ? st->padding : "";
    t->missing = st && st->missing ? st->missing : "";
    t->shortest = st ? st->shortest : 1;
    t->longest = st ? st->longest : 0;
    t->window = st ? st->window : 1;
    bool windows = t->form == CR_SLOT_WINDOWS;
    if (!windows && t->form != CR_SLOT_NEXT && t->form != CR_SLOT_LAST) return;
    const char *history = st->history ? st->history : "history";
    t->history = windows ? -1 : named(t, history);
    t->next = windows ? -1 : named(t, "next");
    t->center = windows ? named(t, "center") : -1;
    t->context = windows ? named(t, "context") : -1;
    for (int i = 0; i < t->n; i++) {
        const cr_slot *f = &t->v[i];
        bool list = i == t->history, one = i == t->next || i == t->center || i == t->context;
        if (f->draw || (f->type == CR_COL_I64 && f->many == list && (list || one))) continue;
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at_of(c, c->input_fields.v[i], "input_name"),
                    "a session has no column '%s' of this type; it has %s%s", f->name,
                    windows ? "center and context, both INT64" : history,
                    windows ? "" : ", ARRAY_INT64, and next, INT64");
    }
}

static void mark_needed(struct cr_slots *t, int n_want) {
    for (int i = 0; i < n_want; i++) {
        cr_slot *f = &t->v[t->col[i]];
        f->needed = true;
        if (f->weights >= 0) t->v[f->weights].needed = true;
        if (f->ids >= 0) t->v[f->ids].needed = true;
    }
    /* what a needed column is made of; such columns stand behind what they are made of */
    for (int i = t->n_made - 1; i >= 0; i--) {
        const cr_slot *f = &t->v[t->made[i]];
        int of[] = {f->draw->as_many_as, f->draw->begin_with, f->draw->other_than,
                    f->draw->log_of,     f->draw->copy_of,    f->draw->parts_of,
                    f->draw->values_of,  f->draw->places_of,  f->draw->where};
        for (size_t k = 0; f->needed && k < sizeof of / sizeof *of; k++)
            if (of[k] >= 0) t->v[of[k]].needed = true;
    }
    if (t->tree) t->v[t->tree->item].needed = true;
}

/* ---- the first lines ---- */

typedef struct look {
    cr_map seen;  /* slot -> how often */
    cr_map words; /* slots with a value that is not a number */
    int64_t lines;
} look;

static void look_at(const struct cr_slots *t, const char *text, size_t size, look *l) {
    for (const char *p = text, *end = text + size; p < end && l->lines < LOOK_LINES;) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        if (!nl) nl = end;
        l->lines += nl > p;
        for (const char *q; p < nl; p = q + 1) {
            q = memchr(p, t->separator, (size_t)(nl - p));
            if (!q) q = nl;
            const char *slot, *value;
            size_t n_slot, n_value, n = (size_t)(q - p);
            if (n && p[n - 1] == '\r') n--;
            if (n && cr_slots_token(t, p, n, &slot, &n_slot, &value, &n_value)) {
                int64_t k = cr_map_get(&l->seen, slot, n_slot, 0);
                double number;
                (void)cr_map_put(&l->seen, slot, n_slot, k + 1);
                if (!cr_parse_f64(value, n_value, &number))
                    (void)cr_map_put(&l->words, slot, n_slot, 1);
            }
        }
        p = nl + 1;
    }
}

/* Lists slots that occur in the lines and that input_fields lacks; NULL: there are none. */
static const char *unread(cr_source *s, const look *l) {
    const char *text = NULL;
    int n = 0;
    for (size_t i = 0; i < l->seen.n; i++) {
        const cr_map_entry *e = &l->seen.entries[i];
        if (cr_map_get(&s->slots->index, e->key, e->len, -1) >= 0) continue;
        char name[CR_SHOW], rate[32];
        cr_show(name, e->key, e->len);
        rate[cr_fmt_f64(rate, (double)e->value / (double)l->lines)] = 0;
        if (n++ < SHOWN)
            text = cr_arena_printf(&s->arena, "%s%s'%s' (%.5s per line)", text ? text : "",
                                   text ? ", " : "", name, rate);
    }
    return n > SHOWN ? cr_arena_printf(&s->arena, "%s and %d more", text, n - SHOWN) : text;
}

/* The slot of a wanted column as the lines name it. */
static const char *slot_of(const cr_source *s, int i) {
    const cr_slot *f = &s->slots->v[s->slots->col[i]];
    return f->weights >= 0 ? s->slots->v[f->weights].name : f->name;
}

/* Counts the other columns that are made of the same slot; -1: one before this is. */
static int sharers(const cr_source *s, int i) {
    int n = 0;
    for (int k = 0; k < s->n_want; k++) {
        if (k == i || strcmp(slot_of(s, k), slot_of(s, i)) != 0) continue;
        if (k < i) return -1;
        n++;
    }
    return n;
}

/* Is it the slot of plain columns, or a made column, or does it occur? */
static bool is_there(const cr_source *s, int i, const look *l) {
    const struct cr_slots *t = s->slots;
    const char *name = slot_of(s, i);
    for (int k = 0; k < t->n_columns; k++)
        if (t->columns[k] == t->col[i]) return true;
    return t->v[t->col[i]].draw || cr_map_get(&l->seen, name, strlen(name), 0) > 0;
}

/* Finds the only list of numbers that never occurs; NULL: there is none, or several. */
static const char *only_lost(const cr_source *s, const look *l) {
    const char *lost = NULL;
    for (int i = 0; i < s->n_want; i++) {
        const char *name = slot_of(s, i);
        if (is_there(s, i, l) || list_of(s->slots, name, CR_COL_F32) < 0) continue;
        if (lost && strcmp(lost, name) != 0) return NULL;
        lost = name;
    }
    return lost;
}

/* Finds the only slot that nothing reads and that has several numbers, equally many in each line;
 * NULL: there is none, or several. */
static const cr_map_entry *only_unread(const cr_source *s, const look *l) {
    const cr_map_entry *found = NULL;
    for (size_t i = 0; i < l->seen.n; i++) {
        const cr_map_entry *e = &l->seen.entries[i];
        if (cr_map_get(&s->slots->index, e->key, e->len, -1) >= 0 ||
            cr_map_get(&l->words, e->key, e->len, 0) || e->value <= l->lines ||
            e->value % l->lines != 0)
            continue;
        if (found) return NULL;
        found = e;
    }
    return found;
}

/* map_unread: a slot under another name. What it holds is compared with the size of the feature
 * when its rows are read. */
static void map_unread(const cr_source *s, struct cr_slots *t, look *l, cr_diag *diag) {
    const char *lost = only_lost(s, l);
    const cr_map_entry *e = lost ? only_unread(s, l) : NULL;
    if (!e) return;
    char name[CR_SHOW];
    cr_show(name, e->key, e->len);
    cr_diag_add(diag, CR_SEV_NOTE, CR_EDATA, (cr_loc){s->files[0].path, 0, 0},
                "slot '%s' does not occur; the %lld values per line of '%s' are read for it, as "
                "slot_text.map_unread says",
                lost, (long long)(e->value / l->lines), name);
    (void)cr_map_put(&t->index, e->key, e->len, list_of(t, lost, CR_COL_F32));
    (void)cr_map_put(&l->seen, lost, strlen(lost), e->value);
}

static void tell_look(cr_source *s, const look *l, const char *path, cr_diag *diag) {
    const char *others = unread(s, l);
    bool told = false;
    for (int i = 0; i < s->n_want; i++) {
        const cr_want *w = &s->want[i];
        char more[40] = "";
        if (is_there(s, i, l)) continue;
        int n = sharers(s, i);
        if (n < 0) continue;
        if (n > 0) snprintf(more, sizeof more, " and %d more", n);
        cr_diag_add(diag, CR_SEV_WARN, CR_EDATA, w->at,
                    "slot '%s', which %s%s need%s, does not occur in the first %lld line%s of %s, "
                    "so that all of them get its default; %s%s",
                    slot_of(s, i), w->why ? w->why : "the config", more, n ? "" : "s",
                    (long long)l->lines, l->lines == 1 ? "" : "s", path,
                    others ? "slots that occur and are not read: " : "check the name and the file",
                    others ? others : "");
        told = true;
    }
    if (others && !told)
        cr_diag_add(diag, CR_SEV_NOTE, CR_EDATA, (cr_loc){path, 0, 0},
                    "slots that nothing reads occur: %s; add them to the config if they are meant "
                    "to be used",
                    others);
}

static cr_code look_ahead(cr_source *s, struct cr_slots *t, cr_diag *diag) {
    cr_raw raw = {0};
    cr_err err;
    bool end;
    bool named = s->slots->form == CR_SLOT_VALUE || s->slots->form == CR_VALUE_SLOT;
    if (!named || s->n_files == 0 || cr_is_stdin(s->files[0].path)) return CR_OK;
    cr_code code = cr_csv_cut(s, 0, 0, &raw, &end, &err);
    if (code != CR_OK) {
        cr_diag_add(diag, CR_SEV_ERROR, err.code, err.at, "%s", err.msg);
    } else if (!end && raw.size) {
        look l = {.lines = 0};
        cr_map_init(&l.seen);
        cr_map_init(&l.words);
        look_at(s->slots, raw.text, raw.size, &l);
        if (l.lines && t->map_unread) map_unread(s, t, &l, diag);
        if (l.lines) tell_look(s, &l, s->files[0].path, diag);
        cr_map_clear(&l.seen);
        cr_map_clear(&l.words);
    }
    cr_free(raw.text);
    return code;
}

/* ---- the reader ---- */

static void clear_index(void *map) {
    cr_map_clear(map);
}

static cr_code slots_open(cr_source **out, const cr_data_conf *conf, const char *paths,
                          const cr_want *want, int n_want, cr_diag *diag) {
    *out = NULL;
    size_t errors = diag->n_errors;
    cr_source *s = cr_csv_source(conf, want, n_want);
    struct cr_slots *t = CR_NEW(&s->arena, struct cr_slots);
    cr_map_init(&t->index);
    cr_arena_defer(&s->arena, clear_index, &t->index);
    s->slots = t;
    t->form = conf->slot_text ? conf->slot_text->form : CR_SLOT_VALUE;
    t->separator = conf->slot_text ? conf->slot_text->separator[0] : ' ';
    t->map_unread = conf->slot_text && conf->slot_text->map_unread;
    s->form = (cr_csv_form){.delim = " ", .n_delim = 1, .no_quotes = true};
    s->form.classify = cr_csv_classify_best();
    if (conf->input_fields.n == 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF,
                    conf->base.msg ? cr_conf_at(conf, "dataset_type") : CR_NOWHERE,
                    "nothing says which slots there are and what they hold; list them in "
                    "data_config.input_fields");
    else {
        make_fields(t, conf, &s->arena, diag);
        find_columns(t, conf->slot_text, &s->arena);
        cr_slots_find_made(t, conf, &s->arena, diag);
        cr_slots_find_tree(t, conf, &s->arena, diag);
        find_session(t, conf, diag);
        t->col = cr_csv_map_fields(s, diag);
        const char **names = CR_NEW_N(&s->arena, const char *, t->n);
        for (int i = 0; i < t->n; i++)
            names[i] = t->v[i].name;
        s->names = names;
        s->n_names = t->n;
    }
    if (diag->n_errors == errors) {
        mark_needed(t, n_want);
        cr_csv_open_files(s, paths, NULL, t->col, diag);
    }
    if (diag->n_errors == errors) (void)look_ahead(s, t, diag);
    if (diag->n_errors > errors) {
        cr_csv_close(s);
        return cr_diag_code(diag);
    }
    *out = s;
    return CR_OK;
}

static void slots_kinds(const cr_source *s, cr_colkind *out) {
    for (int i = 0; i < s->n_want; i++) {
        const cr_slot *f = &s->slots->v[s->slots->col[i]];
        bool pair = f->ids >= 0;
        out[i] =
            (cr_colkind){.type = f->type, .depth = pair || f->many, .key = pair ? CR_COL_I64 : -1};
    }
}

const cr_reader_type cr_reader_slots = {
    .name = "SlotDataset",
    .open = slots_open,
    .close = cr_csv_close,
    .n_files = cr_csv_n_files,
    .path = cr_csv_path,
    .file_id = cr_csv_file_id,
    .n_blocks = cr_csv_n_blocks,
    .cut = cr_csv_cut,
    .will_need = cr_csv_will_need,
    .parse = cr_slots_parse,
    .line_at = cr_csv_line_at,
    .set_block = cr_csv_set_block,
    .columns = cr_csv_columns,
    .kinds = slots_kinds,
    .typed = true,
};
