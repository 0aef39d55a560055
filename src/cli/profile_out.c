/*
 * profile_out.c - see profile_out.h. The page is one file without scripts, and every name and value
 * in it is escaped.
 */
#include "cli/profile_out.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/grid.h"

static const char *quantile_names[CR_SURVEY_QUANTILES] = {"q01", "q05", "q25", "q50",
                                                          "q75", "q95", "q99"};

static const char *percent(cr_arena *a, double share) {
    if (share == 0) return "";
    return cr_arena_printf(a, share < 0.0005 ? "<0.1%%" : "%.1f%%", 100 * share);
}

static const char *kind_text(cr_arena *a, const cr_survey_col *c) {
    const char *name = cr_survey_kind_name(c->kind);
    if (c->format) return cr_arena_printf(a, "%s %s", name, c->format);
    if (c->kind != CR_SURVEY_LIST) return name;
    if (!c->separator) return c->stored ? c->stored : name;
    if (c->separator < ' ') return cr_arena_printf(a, "list by \\x%02x", c->separator);
    return cr_arena_printf(a, "list by %c", c->separator);
}

/* What is in the column, in a few words: a range of numbers, or its most frequent values. */
static const char *content(cr_arena *a, const cr_survey_col *c, int most) {
    char *text = "";
    if (c->kind == CR_SURVEY_LIST)
        return cr_arena_printf(a, "%.1f a row, at most %.0f", c->mean_length, c->max_length);
    if (c->numbers && c->kind != CR_SURVEY_CONSTANT && !(c->exact && c->distinct <= 8))
        return cr_arena_printf(a, "%.6g .. %.6g, median %.6g", c->min, c->max, c->q[3]);
    for (int i = 0; i < c->n_top && i < most; i++)
        text = cr_arena_printf(a, "%s%s%s %.0f%%", text, i ? ", " : "", c->top[i].text,
                               100 * c->top[i].share);
    return text;
}

static const char *remark(cr_arena *a, const cr_survey *s, int k) {
    const cr_survey_col *c = &s->cols[k];
    if (k == s->label) return s->label_guessed ? "label (guessed by its name or place)" : "label";
    if (c->gives_away) return "gives away the label";
    if (c->not_number)
        return cr_arena_printf(a, "%lld values are no numbers: '%s'", (long long)c->not_numbers,
                               c->not_number);
    if (cr_survey_counts_rows(c)) return "counts the rows";
    if (c->kind == CR_SURVEY_EMPTY || c->kind == CR_SURVEY_CONSTANT) return "tells nothing";
    if (c->kind == CR_SURVEY_WORD && c->values > 100 && c->distinct > 0.95 * (double)c->values)
        return "different in nearly every row";
    return NULL;
}

static void say_files(const cr_survey *s) {
    char rows[32], bytes[32];
    cr_ui_say("%s%s rows, %d columns", s->whole ? "" : "the first ",
              cr_fmt_count(rows, (double)s->rows), s->n_cols);
    cr_ui_say(" in %lld file%s", (long long)s->n_files, s->n_files == 1 ? "" : "s");
    if (s->bytes) cr_ui_say(" of %s", cr_fmt_bytes(bytes, (double)s->bytes));
    if (s->delimiter) {
        const char *d = s->delimiter;
        char code[16];
        if (strlen(d) == 1 && *d < ' ') snprintf(code, sizeof code, "\\x%02x", *d), d = code;
        cr_ui_say("; CSV cut at \"%s\", %s header", d, s->header ? "with a" : "without a");
    }
    cr_ui_say("\n");
    if (s->bad_rows)
        cr_ui_say("%lld bad rows were left out: %s\n", (long long)s->bad_rows, s->bad_row);
    for (int i = 0; i < s->n_marks; i++)
        cr_ui_say("%s'%s'%s", i ? ", " : "taken for missing values: ", s->marks[i],
                  i + 1 < s->n_marks ? "" : "\n");
}

void cr_profile_table(cr_ui *ui, const cr_survey *s) {
    static const unsigned flags[] = {CR_GRID_SHRINK, 0,
                                     CR_GRID_RIGHT,  CR_GRID_RIGHT,
                                     CR_GRID_RIGHT,  CR_GRID_SHRINK,
                                     CR_GRID_SHRINK};
    cr_arena *a = &ui->arena;
    cr_grid g;
    say_files(s);
    cr_grid_init(&g, a, 7, flags);
    const char **row = cr_grid_row(&g);
    row[0] = "column";
    row[1] = "kind";
    row[2] = "missing";
    row[3] = "distinct";
    row[4] = s->label >= 0 ? "tells" : NULL;
    row[5] = "content";
    row[6] = "remark";
    for (int i = 0; i < s->n_cols; i++) {
        const cr_survey_col *c = &s->cols[i];
        char n[32];
        row = cr_grid_row(&g);
        row[0] = cr_survey_col_name(c);
        row[1] = kind_text(a, c);
        row[2] = percent(a, (double)c->missing / (double)(c->rows ? c->rows : 1));
        row[3] = cr_arena_printf(a, "%s%s", c->exact || c->values == 0 ? "" : "~",
                                 cr_fmt_count(n, c->distinct));
        row[4] = isnan(c->share) ? NULL : cr_arena_printf(a, "%.2f%%", 100 * c->share);
        row[5] = content(a, c, 3);
        row[6] = remark(a, s, i);
    }
    cr_grid_print(&g, cr_screen_width());
    if (s->label >= 0)
        cr_ui_say("tells: how much of the label '%s' the column alone explains (mutual information "
                  "over its entropy, from %lld sampled rows)\n",
                  s->cols[s->label].name, (long long)s->sampled);
}

static void column_json(cr_jw *w, const cr_survey_col *c) {
    cr_jw_obj(w, NULL);
    cr_jw_str(w, "name", c->name);
    cr_jw_str(w, "kind", cr_survey_kind_name(c->kind));
    if (c->stored) cr_jw_str(w, "stored", c->stored);
    if (c->format) cr_jw_str(w, "format", c->format);
    if (c->separator) cr_jw_str(w, "separator", (char[]){c->separator, '\0'});
    cr_jw_i64(w, "rows", c->rows);
    cr_jw_i64(w, "missing", c->missing);
    cr_jw_i64(w, "marked_missing", c->marked);
    cr_jw_i64(w, "values", c->values);
    cr_jw_f64(w, "distinct", c->distinct);
    cr_jw_bool(w, "distinct_exact", c->exact);
    if (c->not_numbers) cr_jw_i64(w, "not_numbers", c->not_numbers);
    if (c->not_number) cr_jw_str(w, "not_number", c->not_number);
    if (c->numbers) {
        cr_jw_f64(w, "min", c->min);
        cr_jw_f64(w, "max", c->max);
        cr_jw_f64(w, "mean", c->mean);
        cr_jw_f64(w, "sd", c->sd);
        for (int i = 0; i < CR_SURVEY_QUANTILES; i++)
            cr_jw_f64(w, quantile_names[i], c->q[i]);
    }
    if (c->kind == CR_SURVEY_LIST) {
        cr_jw_f64(w, "mean_length", c->mean_length);
        cr_jw_f64(w, "max_length", c->max_length);
    }
    cr_jw_arr(w, "top");
    for (int i = 0; i < c->n_top; i++) {
        cr_jw_obj(w, NULL);
        cr_jw_str(w, "value", c->top[i].text);
        cr_jw_f64(w, "share", c->top[i].share);
        if (c->top[i].n >= 0) cr_jw_i64(w, "count", c->top[i].n);
        cr_jw_end(w);
    }
    cr_jw_end(w);
    if (!isnan(c->bits)) {
        cr_jw_f64(w, "label_bits", c->bits);
        cr_jw_f64(w, "label_share", c->share);
        cr_jw_bool(w, "gives_away_label", c->gives_away);
    }
    cr_jw_end(w);
}

void cr_profile_json(cr_buf *out, const cr_survey *s) {
    cr_jw w;
    cr_jw_init(&w, out);
    cr_jw_obj(&w, NULL);
    cr_jw_i64(&w, "rows", s->rows);
    cr_jw_bool(&w, "whole", s->whole);
    cr_jw_i64(&w, "bad_rows", s->bad_rows);
    cr_jw_i64(&w, "sampled_rows", s->sampled);
    cr_jw_i64(&w, "files", s->n_files);
    cr_jw_i64(&w, "bytes", s->bytes);
    cr_jw_str(&w, "dataset_type", s->reader->name);
    if (s->delimiter) {
        cr_jw_str(&w, "delimiter", s->delimiter);
        cr_jw_bool(&w, "header", s->header);
    }
    cr_jw_arr(&w, "null_values");
    for (int i = 0; i < s->n_marks; i++)
        cr_jw_str(&w, NULL, s->marks[i]);
    cr_jw_end(&w);
    if (s->label >= 0) {
        cr_jw_str(&w, "label", s->cols[s->label].name);
        cr_jw_bool(&w, "label_guessed", s->label_guessed);
        cr_jw_f64(&w, "label_entropy_bits", s->label_bits);
        if (s->positives >= 0) cr_jw_i64(&w, "positives", s->positives);
    }
    cr_jw_arr(&w, "columns");
    for (int i = 0; i < s->n_cols; i++)
        column_json(&w, &s->cols[i]);
    cr_jw_end(&w);
    cr_jw_end(&w);
    cr_buf_char(out, '\n');
}

/* ---- the page ---- */

static void escaped(cr_buf *b, const char *s) {
    for (; *s; s++) {
        const char *as = *s == '&'   ? "&amp;"
                         : *s == '<' ? "&lt;"
                         : *s == '>' ? "&gt;"
                         : *s == '"' ? "&quot;"
                                     : NULL;
        if (as)
            cr_buf_str(b, as);
        else if ((unsigned char)*s >= ' ' || *s == '\t')
            cr_buf_char(b, *s);
        else
            cr_buf_printf(b, "\\x%02x", (unsigned char)*s);
    }
}

static void bar(cr_buf *b, double share) {
    cr_buf_printf(b, "<span class=bar><span style=\"width:%.1f%%\"></span></span>",
                  100 * fmin(1, fmax(0, share)));
}

/* Quantiles as a box: 5 to 95 % thin, 25 to 75 % thick, the median a line. */
static void box(cr_buf *b, const cr_survey_col *c) {
    double lo = c->q[0], hi = c->q[6], x[CR_SURVEY_QUANTILES];
    if (!(hi > lo)) return;
    for (int i = 0; i < CR_SURVEY_QUANTILES; i++)
        x[i] = 160 * (c->q[i] - lo) / (hi - lo);
    cr_buf_printf(
        b,
        "<svg width=160 height=14><rect x=%.1f y=6 width=%.1f height=2 /><rect x=%.1f y=2 "
        "width=%.1f height=10 class=in /><rect x=%.1f y=0 width=2 height=14 class=mid "
        "/></svg>",
        x[1], x[5] - x[1], x[2], fmax(1, x[4] - x[2]), fmin(158, x[3]));
}

static void column_html(cr_buf *b, const cr_survey *s, int k, cr_arena *a) {
    const cr_survey_col *c = &s->cols[k];
    char n[32];
    const char *note = remark(a, s, k);
    cr_buf_str(b, "<tr><td>");
    escaped(b, cr_survey_col_name(c));
    cr_buf_str(b, "<td>");
    escaped(b, kind_text(a, c));
    cr_buf_printf(b, "<td class=n>%s<td class=n>%s%s<td class=n>",
                  percent(a, (double)c->missing / (double)(c->rows ? c->rows : 1)),
                  c->exact || c->values == 0 ? "" : "~", cr_fmt_count(n, c->distinct));
    if (!isnan(c->share)) {
        cr_buf_printf(b, "%.2f%% ", 100 * c->share);
        bar(b, c->share);
    }
    cr_buf_str(b, "<td>");
    escaped(b, content(a, c, 5));
    if (c->numbers && c->kind != CR_SURVEY_LIST) {
        cr_buf_str(b, "<br>");
        box(b, c);
    }
    cr_buf_str(b, "<td>");
    if (note) escaped(b, note);
    cr_buf_str(b, "</tr>\n");
}

void cr_profile_html(cr_buf *b, const cr_survey *s) {
    char rows[32], bytes[32];
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_buf_str(b, "<!doctype html>\n<html lang=en><meta charset=utf-8>\n<meta name=viewport "
                  "content=\"width=device-width\">\n<title>Profile of ");
    escaped(b, s->paths);
    cr_buf_str(b,
               "</title>\n<style>\n"
               ":root{color-scheme:light dark}\n"
               "body{font:15px/1.4 system-ui,sans-serif;margin:2em auto;max-width:80em;padding:0 "
               "1em}\n"
               "table{border-collapse:collapse;width:100%}\n"
               "td,th{padding:.3em .6em;border-bottom:1px solid #8884;text-align:left;"
               "vertical-align:top;overflow-wrap:anywhere}\n"
               ".n{text-align:right;white-space:nowrap}\n"
               ".bar{display:inline-block;width:5em;height:.6em;background:#8883}\n"
               ".bar span{display:block;height:100%;background:#38f}\n"
               "rect{fill:#888}.in{fill:#38f}.mid{fill:#f60}\n"
               "</style>\n<h1>");
    escaped(b, s->paths);
    cr_buf_printf(b, "</h1>\n<p>%s%s rows, %d columns in %lld files", s->whole ? "" : "The first ",
                  cr_fmt_count(rows, (double)s->rows), s->n_cols, (long long)s->n_files);
    if (s->bytes) cr_buf_printf(b, " of %s", cr_fmt_bytes(bytes, (double)s->bytes));
    cr_buf_str(b, ".");
    if (s->label >= 0) {
        cr_buf_str(b, " <b>Tells</b> is how much of the label <b>");
        escaped(b, s->cols[s->label].name);
        cr_buf_printf(b,
                      "</b> a column alone explains: the mutual information over the label's "
                      "entropy of %.3f bits, from %lld sampled rows.",
                      s->label_bits, (long long)s->sampled);
    }
    cr_buf_str(b, " A box shows the quantiles from 1 to 99&nbsp;%.</p>\n<table>\n<tr><th>column<th>"
                  "kind<th class=n>missing<th class=n>distinct<th class=n>tells<th>content<th>"
                  "remark</tr>\n");
    for (int i = 0; i < s->n_cols; i++)
        column_html(b, s, i, &a);
    cr_buf_str(b, "</table>\n</html>\n");
    cr_arena_clear(&a);
}
