/*
 * align_plot.c - see align.h: an SVG image without scripts or fonts of its own. For each curve
 * there are two panels: both runs, and below the relative error on a logarithmic scale with the
 * tolerance as a dashed line. Long runs are drawn with at most POINTS points, each the mean of its
 * neighbours, so that the file stays small.
 */
#include <math.h>
#include <stdio.h>

#include "tool/align.h"

#define WIDTH     900.0
#define LEFT      80.0
#define RIGHT     20.0
#define TOP       48.0
#define MAIN_H    220.0
#define REL_H     110.0
#define GAP       26.0
#define FOOT      44.0
#define POINTS    800
#define MAX_TICKS 12
#define PANEL     (TOP + MAIN_H + GAP + REL_H + FOOT)

typedef struct axis {
    double lo, hi; /* values */
    double at, to; /* pixels of lo and hi */
} axis;

static double put(const axis *a, double x) {
    if (a->hi <= a->lo) return (a->at + a->to) / 2;
    return a->at + (x - a->lo) / (a->hi - a->lo) * (a->to - a->at);
}

static void escape(cr_buf *out, const char *s) {
    for (; *s; s++) {
        if (*s == '<')
            cr_buf_str(out, "&lt;");
        else if (*s == '>')
            cr_buf_str(out, "&gt;");
        else if (*s == '&')
            cr_buf_str(out, "&amp;");
        else if ((unsigned char)*s < 32)
            cr_buf_char(out, ' ');
        else
            cr_buf_char(out, *s);
    }
}

static void label(cr_buf *out, double x, double y, const char *anchor, const char *color,
                  const char *text) {
    cr_buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">", x, y, anchor,
                  color);
    escape(out, text);
    cr_buf_str(out, "</text>\n");
}

static void line(cr_buf *out, double x1, double y1, double x2, double y2, const char *style) {
    cr_buf_printf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2,
                  y2, style);
}

/* Returns a round distance between ticks, about a fifth of the range. */
static double tick_of(double range) {
    if (!(range > 0)) return 1;
    double p = pow(10, floor(log10(range / 5))), f = range / 5 / p;
    return p * (f > 5 ? 10 : f > 2 ? 5 : f > 1 ? 2 : 1);
}

static void frame(cr_buf *out, const axis *x, const axis *y, bool logarithm) {
    char text[32];
    double dy = logarithm ? 1 : tick_of(y->hi - y->lo);
    while (logarithm && (y->hi - y->lo) / dy > 6)
        dy++;
    double first = ceil(y->lo / dy - 1e-9) * dy;
    for (int i = 0; i < MAX_TICKS; i++) { /* values that hardly differ may have no round ones */
        double v = first + i * dy;
        if (v > y->hi + 1e-9 * dy) break;
        line(out, x->at, put(y, v), x->to, put(y, v), "stroke=\"#ddd\"");
        if (logarithm)
            cr_buf_printf(out,
                          "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" fill=\"#444\">1e%.0f"
                          "</text>\n",
                          x->at - 6, put(y, v) + 4, v);
        else {
            snprintf(text, sizeof text, "%.5g", fabs(v) < 1e-9 * dy ? 0 : v);
            label(out, x->at - 6, put(y, v) + 4, "end", "#444", text);
        }
        if (y->hi <= y->lo) break;
    }
    line(out, x->at, y->at, x->to, y->at, "stroke=\"#444\"");
    line(out, x->at, y->at, x->at, y->to, "stroke=\"#444\"");
}

/* The three columns of a pair: reference, candidate, logarithm of the error. */
static double column(const cr_align_pair *p, int which, double floor_rel) {
    return which == 0 ? p->r : which == 1 ? p->c : log10(fmax(p->rel, floor_rel));
}

static void curve(cr_buf *out, const cr_align_result *c, int which, double floor_rel, const axis *x,
                  const axis *y, const char *color) {
    int per = (c->n + POINTS - 1) / POINTS;
    bool open = false;
    for (int i = 0; i < c->n; i += per) {
        double sum = 0, at = 0;
        int n = 0;
        for (int k = i; k < i + per && k < c->n; k++) {
            double v = column(&c->v[k], which, floor_rel);
            if (!isfinite(v) || isnan(c->v[k].rel)) continue;
            sum += v;
            at += k;
            n++;
        }
        if (n == 0) { /* a gap where values are not finite */
            if (open) cr_buf_str(out, "\"/>\n");
            open = false;
            continue;
        }
        if (!open)
            cr_buf_printf(out,
                          "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"",
                          color);
        open = true;
        cr_buf_printf(out, "%.1f,%.1f ", put(x, at / n), put(y, sum / n));
    }
    if (open) cr_buf_str(out, "\"/>\n");
}

static void panel(cr_buf *out, const cr_align_result *c, double top, double tolerance) {
    axis x = {0, c->n > 1 ? c->n - 1 : 0, LEFT, WIDTH - RIGHT};
    axis y = {INFINITY, -INFINITY, top + TOP + MAIN_H, top + TOP};
    double least = INFINITY, most = tolerance;
    for (int i = 0; i < c->n; i++) {
        const cr_align_pair *p = &c->v[i];
        if (isnan(p->rel)) continue;
        y.lo = fmin(y.lo, fmin(p->r, p->c));
        y.hi = fmax(y.hi, fmax(p->r, p->c));
        if (p->rel > 0) least = fmin(least, p->rel);
        most = fmax(most, p->rel);
    }
    char text[160];
    snprintf(text, sizeof text, "%.80s: mean relative error %.4g, largest %.4g", c->name,
             c->mean_rel, c->max_rel);
    label(out, LEFT, top + 22, "start", "#111", text);
    if (!(y.lo <= y.hi)) {
        label(out, LEFT, top + TOP + 20, "start", "#b00", "there are no pairs of finite values");
        return;
    }
    frame(out, &x, &y, false);
    curve(out, c, 0, 0, &x, &y, "#1f77b4");
    curve(out, c, 1, 0, &x, &y, "#d62728");
    double low = fmax(fmin(least, tolerance) / 2, 1e-9);
    axis e = {floor(log10(low)), ceil(log10(most)), top + TOP + MAIN_H + GAP + REL_H,
              top + TOP + MAIN_H + GAP};
    if (e.hi <= e.lo) e.hi = e.lo + 1;
    frame(out, &x, &e, true);
    curve(out, c, 2, pow(10, e.lo), &x, &e, "#444");
    line(out, x.at, put(&e, log10(tolerance)), x.to, put(&e, log10(tolerance)),
         "stroke=\"#d62728\" stroke-dasharray=\"6 4\"");
    const cr_align_pair *first = &c->v[0], *last = &c->v[c->n - 1];
    snprintf(text, sizeof text, "step %lld", (long long)first->step);
    label(out, x.at, e.at + 18, "start", "#444", text);
    snprintf(text, sizeof text, "step %lld", (long long)last->step);
    if (c->n > 1) label(out, x.to, e.at + 18, "end", "#444", text);
    label(out, (x.at + x.to) / 2, e.at + 18, "middle", "#444",
          "relative error; dashed: the tolerance");
}

void cr_align_plot(const cr_align_result *v, int n, const char *name_a, const char *name_b,
                   double tolerance, cr_buf *out) {
    double height = 40 + PANEL * n;
    if (!(tolerance > 0)) tolerance = 1e-9; /* a line must lie somewhere on the scale */
    cr_buf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                  WIDTH, height, WIDTH, height);
    line(out, LEFT, 22, LEFT + 24, 22, "stroke=\"#1f77b4\" stroke-width=\"3\"");
    label(out, LEFT + 30, 26, "start", "#111", name_a);
    line(out, WIDTH / 2, 22, WIDTH / 2 + 24, 22, "stroke=\"#d62728\" stroke-width=\"3\"");
    label(out, WIDTH / 2 + 30, 26, "start", "#111", name_b);
    for (int i = 0; i < n; i++)
        panel(out, &v[i], 40 + PANEL * i, tolerance);
    cr_buf_str(out, "</svg>\n");
}
