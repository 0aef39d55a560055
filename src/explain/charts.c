/*
 * charts.c - see charts.h.
 */
#include "explain/charts.h"

#include <math.h>
#include <stdio.h>

#define WIDTH  760
#define NAMES  220 /* columns of pixels for names */
#define RIGHT  90  /* and for the figures behind the bars */
#define ROW    20
#define HEADER 40

void cr_svg_text(cr_buf *out, const char *s) {
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '<')
            cr_buf_str(out, "&lt;");
        else if (c == '>')
            cr_buf_str(out, "&gt;");
        else if (c == '&')
            cr_buf_str(out, "&amp;");
        else if (c == '"')
            cr_buf_str(out, "&quot;");
        else
            cr_buf_char(out, c < 0x20 || c == 0x7f ? ' ' : *s);
    }
}

static double at(double x, double least, double most) {
    return NAMES + (WIDTH - NAMES - RIGHT) * (x - least) / (most - least);
}

void cr_chart_bars(cr_buf *out, const char *title, const cr_bar *v, int n) {
    double least = 0, most = 0;
    for (int i = 0; i < n; i++) {
        double lo = isnan(v[i].low) ? v[i].value : fmin(v[i].low, v[i].value),
               hi = isnan(v[i].high) ? v[i].value : fmax(v[i].high, v[i].value);
        if (lo < least) least = lo;
        if (hi > most) most = hi;
    }
    if (!(most > least)) most = least + 1;
    cr_buf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\" "
                  "fill=\"#777\">\n<text x=\"8\" y=\"20\" font-size=\"14\">",
                  WIDTH, HEADER + ROW * n + 8, WIDTH, HEADER + ROW * n + 8);
    cr_svg_text(out, title);
    cr_buf_str(out, "</text>\n");
    double zero = at(0, least, most);
    for (int i = 0; i < n; i++) {
        double y = HEADER + ROW * i, x = at(v[i].value, least, most);
        cr_buf_printf(out, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">", NAMES - 8, y + 14);
        cr_svg_text(out, v[i].name);
        cr_buf_str(out, "</text>\n");
        if (isnan(v[i].value)) continue;
        cr_buf_printf(out,
                      "<rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"12\" fill=\"%s\"/>\n",
                      fmin(x, zero), y + 4, fmax(fabs(x - zero), 0.5),
                      v[i].value < 0 ? "#d9822b" : "#2f7ed8");
        if (!isnan(v[i].low) && !isnan(v[i].high))
            cr_buf_printf(out,
                          "<path d=\"M%.1f %.0fH%.1fM%.1f %.0fV%.0fM%.1f %.0fV%.0f\" "
                          "stroke=\"#555\" fill=\"none\"/>\n",
                          at(v[i].low, least, most), y + 10, at(v[i].high, least, most),
                          at(v[i].low, least, most), y + 6, y + 14, at(v[i].high, least, most),
                          y + 6, y + 14);
        cr_buf_printf(out, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">%.5f</text>\n", WIDTH - 8,
                      y + 14, v[i].value);
    }
    cr_buf_printf(out, "<path d=\"M%.1f %d V%d\" stroke=\"#999\"/>\n</svg>\n", zero, HEADER,
                  HEADER + ROW * n);
}
