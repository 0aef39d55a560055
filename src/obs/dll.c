/*
 * dll.c - see dll.h. A record is made once in three forms while its values come in: the body of a
 * JSON object, the body of Python's text of a dict, and the words of the console.
 */
#include "obs/dll.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "obs/logfile.h"

#define US 1000000

typedef struct meta {
    const char *name, *unit;
    int decimals;
    struct meta *next;
} meta;

struct cr_dll {
    cr_arena arena;
    cr_dll_form form;
    cr_logfile *file, *console;
    meta *metas;
    int64_t started, now, elapsed;
    bool fixed;
    int n_step;
    int64_t step[3];
    int n_values;
    cr_buf json, dict, words, line;
};

bool cr_dll_form_of(const char *name, cr_dll_form *out) {
    *out = strcmp(name, "tcap") == 0 ? CR_DLL_TCAP : CR_DLL_NVIDIA;
    return *out == CR_DLL_TCAP || strcmp(name, "dllogger") == 0;
}

/* ---- time ---- */

static int64_t now_us(void) {
    struct timeval t;
    gettimeofday(&t, NULL);
    return (int64_t)t.tv_sec * US + t.tv_usec;
}

static void tick(cr_dll *l) {
    if (l->fixed) return;
    l->now = now_us();
    l->elapsed = l->now - l->started;
}

void cr_dll_fix_time(cr_dll *l, int64_t now, int64_t elapsed) {
    l->fixed = true;
    l->now = now;
    l->elapsed = elapsed;
}

/* Writes local time as Python's str(datetime) does: without a fraction if there is none. */
static void put_time(cr_buf *b, int64_t us, bool offset) {
    time_t s = (time_t)(us / US);
    struct tm t;
    char text[40];
    localtime_r(&s, &t);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &t);
    cr_buf_str(b, text);
    if (us % US) cr_buf_printf(b, ".%06d", (int)(us % US));
    if (!offset) return;
    long minutes = t.tm_gmtoff / 60;
    cr_buf_printf(b, "%c%02ld:%02ld", minutes < 0 ? '-' : '+', labs(minutes) / 60,
                  labs(minutes) % 60);
}

/* ---- texts ---- */

/* Appends s as a JSON string in ASCII, as Python's json.dumps does. */
static void put_json(cr_buf *b, const char *s) {
    uint32_t c;
    cr_buf_char(b, '"');
    for (size_t i = 0, n = strlen(s); i < n;) {
        i += cr_utf8_get(s + i, n - i, &c);
        static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
        const char *at = c && c < 0x80 ? strchr(plain, (int)c) : NULL;
        if (at)
            cr_buf_printf(b, "\\%c", letters[at - plain]);
        else if (c >= CR_UTF8_BAD)
            cr_buf_printf(b, "\\udc%02x", (unsigned)(c - CR_UTF8_BAD)); /* surrogateescape */
        else if (c >= 0x10000)
            cr_buf_printf(b, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((c - 0x10000) >> 10)),
                          (unsigned)(0xdc00 + ((c - 0x10000) & 0x3ff)));
        else if (c < 0x20 || c >= 0x7f)
            cr_buf_printf(b, "\\u%04x", (unsigned)c);
        else
            cr_buf_char(b, (char)c);
    }
    cr_buf_char(b, '"');
}

/* Appends s as Python's repr of a text. */
static void put_repr(cr_buf *b, const char *s) {
    char quote = strchr(s, '\'') && !strchr(s, '"') ? '"' : '\'';
    cr_buf_char(b, quote);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '\n')
            cr_buf_str(b, "\\n");
        else if (c == '\t')
            cr_buf_str(b, "\\t");
        else if (c == '\r')
            cr_buf_str(b, "\\r");
        else if (c < 0x20 || c == 0x7f)
            cr_buf_printf(b, "\\x%02x", c);
        else {
            if (c == (unsigned char)quote || c == '\\') cr_buf_char(b, '\\');
            cr_buf_char(b, *s);
        }
    }
    cr_buf_char(b, quote);
}

/* ---- a log ---- */

cr_code cr_dll_open(cr_dll **out, cr_dll_form form, const char *path, bool append, bool console,
                    cr_err *err) {
    cr_dll *l = cr_alloc(sizeof *l, "a log");
    cr_code code = CR_OK;
    cr_arena_init(&l->arena, 0);
    cr_buf *bufs[] = {&l->json, &l->dict, &l->words, &l->line};
    for (int i = 0; i < 4; i++)
        cr_buf_init(bufs[i]);
    l->form = form;
    l->started = now_us();
    if (path && !append) code = cr_file_remove(path, err);
    if (code == CR_OK && path) code = cr_logfile_open(&l->file, path, err);
    if (code == CR_OK && console) code = cr_logfile_open(&l->console, "-", err);
    if (code != CR_OK) {
        cr_dll_close(l);
        l = NULL;
    }
    *out = l;
    return code;
}

void cr_dll_settle(cr_dll *l) {
    if (l) cr_logfile_settle(l->file);
}

void cr_dll_close(cr_dll *l) {
    if (!l) return;
    cr_logfile_close(l->file);
    cr_logfile_close(l->console);
    cr_buf *bufs[] = {&l->json, &l->dict, &l->words, &l->line};
    for (int i = 0; i < 4; i++)
        cr_buf_clear(bufs[i]);
    cr_arena_clear(&l->arena);
    cr_free(l);
}

static const char *head(const cr_dll *l, bool console) {
    return l->form == CR_DLL_TCAP ? "TCAPPDLL " : console ? "DLL " : "DLLL ";
}

/* Adds "name": "seconds", a float in a text. */
static void put_seconds(cr_buf *b, const char *name, int64_t us) {
    char text[32];
    text[cr_fmt_py(text, (double)us / US)] = 0;
    cr_buf_printf(b, "\"%s\": \"%s\", ", name, text);
}

static void put_datetime(const cr_dll *l, cr_buf *b) {
    cr_buf_str(b, "\"datetime\": \"");
    put_time(b, l->now, l->form == CR_DLL_NVIDIA);
    cr_buf_str(b, "\", ");
}

/* Adds a text entry of a metadata dict, with a comma if it is not the first. */
static void put_entry(cr_buf *b, const char *key, const char *value, bool first) {
    if (!first) cr_buf_str(b, ", ");
    put_json(b, key);
    cr_buf_str(b, ": ");
    put_json(b, value);
}

static const meta *meta_of(const cr_dll *l, const char *metric) {
    const meta *m = l->metas;
    while (m && strcmp(m->name, metric) != 0)
        m = m->next;
    return m;
}

void cr_dll_meta(cr_dll *l, const char *metric, const char *unit, int decimals, const char *goal,
                 const char *stage) {
    if (!l || meta_of(l, metric)) return;
    meta *m = CR_NEW(&l->arena, meta);
    m->name = cr_arena_strdup(&l->arena, metric);
    m->unit = cr_arena_strdup(&l->arena, unit ? unit : "");
    m->decimals = decimals;
    m->next = l->metas;
    l->metas = m;
    tick(l);
    cr_buf *b = &l->line;
    cr_buf_reset(b);
    cr_buf_printf(b, "%s{", head(l, false));
    put_seconds(b, "timestamp", l->now);
    put_seconds(b, "elapsedtime", l->elapsed);
    put_datetime(l, b);
    cr_buf_str(b, "\"type\": \"METADATA\", \"metric\": ");
    put_json(b, metric);
    cr_buf_str(b, ", \"metadata\": {");
    put_entry(b, "unit", m->unit, true);
    char format[16];
    snprintf(format, sizeof format, ":.%df", decimals);
    if (decimals >= 0) put_entry(b, "format", format, false);
    if (goal) put_entry(b, "GOAL", goal, false);
    if (stage) put_entry(b, "STAGE", stage, false);
    cr_buf_str(b, "}}\n");
    cr_logfile_write(l->file, b->data, b->n);
}

void cr_dll_begin(cr_dll *l, int n, const int64_t *step) {
    if (!l) return;
    tick(l);
    l->n_step = n;
    for (int i = 0; i < n && i < 3; i++)
        l->step[i] = step[i];
    l->n_values = 0;
    cr_buf_reset(&l->json);
    cr_buf_reset(&l->dict);
    cr_buf_reset(&l->words);
    if (l->form == CR_DLL_TCAP && n >= 0) cr_dll_i64(l, "rank", 0);
}

/* Adds a value in its three forms: as JSON, as Python's str, and for the console. */
static void add(cr_dll *l, const char *name, const char *json, const char *text,
                const char *shown) {
    const meta *m = meta_of(l, name);
    bool first = l->n_values++ == 0;
    if (!first) {
        cr_buf_str(&l->json, ", ");
        cr_buf_str(&l->dict, ", ");
        cr_buf_char(&l->words, ' ');
    }
    put_json(&l->json, name);
    cr_buf_printf(&l->json, ": %s", json);
    put_repr(&l->dict, name);
    cr_buf_str(&l->dict, ": ");
    put_repr(&l->dict, text);
    cr_buf_printf(&l->words, "%s : %s %s", name, shown, m ? m->unit : "");
}

void cr_dll_i64(cr_dll *l, const char *name, int64_t value) {
    char text[32];
    if (!l) return;
    snprintf(text, sizeof text, "%lld", (long long)value);
    add(l, name, text, text, text);
}

void cr_dll_f64(cr_dll *l, const char *name, double value) {
    char text[32], fixed[400];
    if (!l) return;
    text[cr_fmt_py(text, value)] = 0;
    const meta *m = meta_of(l, name);
    bool cut = l->form == CR_DLL_NVIDIA && m && m->decimals >= 0 && isfinite(value);
    if (cut) snprintf(fixed, sizeof fixed, "%.*f", m->decimals, value);
    add(l, name, isfinite(value) ? text : "null", text, cut ? fixed : text);
}

void cr_dll_str(cr_dll *l, const char *name, const char *value) {
    if (!l) return;
    cr_buf b;
    cr_buf_init(&b);
    put_json(&b, value ? value : "");
    add(l, name, value ? b.data : "null", value ? value : "None", value ? value : "None");
    cr_buf_clear(&b);
}

static void console_line(cr_dll *l) {
    static const char *const words[] = {"Epoch: ", "Iteration: ", "Validation Iteration: "};
    cr_buf *b = &l->line;
    cr_buf_reset(b);
    cr_buf_str(b, head(l, true));
    put_time(b, l->now, false);
    cr_buf_str(b, " - ");
    if (l->n_step < 0)
        cr_buf_str(b, "PARAMETER");
    else if (l->form == CR_DLL_TCAP)
        for (int i = 0; i < l->n_step; i++)
            cr_buf_printf(b, "%s%lld ", words[i], (long long)l->step[i]);
    else {
        cr_buf_char(b, '(');
        for (int i = 0; i < l->n_step; i++)
            cr_buf_printf(b, "%s%lld", i ? ", " : "", (long long)l->step[i]);
        cr_buf_str(b, l->n_step == 1 ? ",)" : ")");
    }
    cr_buf_char(b, ' ');
    cr_buf_add(b, l->words.data, l->words.n);
    cr_buf_char(b, '\n');
    cr_logfile_write(l->console, b->data, b->n);
}

static void file_line(cr_dll *l) {
    cr_buf *b = &l->line;
    cr_buf_reset(b);
    cr_buf_printf(b, "%s{", head(l, false));
    put_seconds(b, "timestamp", l->now);
    put_datetime(l, b);
    put_seconds(b, "elapsedtime", l->elapsed);
    cr_buf_str(b, "\"type\": \"LOG\", \"step\": ");
    if (l->n_step < 0)
        cr_buf_str(b, "\"PARAMETER\"");
    else {
        cr_buf_char(b, '[');
        for (int i = 0; i < l->n_step; i++)
            cr_buf_printf(b, "%s%lld", i ? ", " : "", (long long)l->step[i]);
        cr_buf_char(b, ']');
    }
    cr_buf_str(b, ", \"data\": ");
    if (l->form == CR_DLL_NVIDIA) {
        cr_buf_printf(b, "{%s}", l->json.n ? l->json.data : "");
    } else {
        cr_buf text;
        cr_buf_init(&text);
        cr_buf_printf(&text, "{%s}", l->dict.n ? l->dict.data : "");
        put_json(b, text.data);
        cr_buf_clear(&text);
    }
    cr_buf_str(b, "}\n");
    cr_logfile_write(l->file, b->data, b->n);
}

void cr_dll_end(cr_dll *l) {
    if (!l) return;
    file_line(l);
    console_line(l);
}
