#!/bin/sh
# auc.sh FILE - AUC of three scores on the same rows, with 95 % intervals after DeLong (1988).
#
# FILE: label and the scores of baseline, rule and model, separated by blanks. A row's placement is the share of rows of
# the other class that it is ranked right against (ties count half); AUC is the mean placement, its variance the sum
# over both classes of the variance of placements divided by their count. Differences work the same.
set -eu
export LC_ALL=C
file=$1
placements() { # placements COLUMN: one per row
    awk -v c="$1" '{ print NR, $1, $c }' "$file" | sort -k 3,3g | awk '
        function flush(    i) {
            for (i = 0; i < n; i++) place[row[i]] = label[row[i]] ? neg + tied_neg / 2 : pos + tied_pos / 2
            pos += tied_pos; neg += tied_neg
            n = tied_pos = tied_neg = 0
        }
        NR > 1 && $3 != last { flush() }
        { last = $3; row[n++] = $1; label[$1] = $2; if ($2) tied_pos++; else tied_neg++ }
        END {
            flush()
            for (i = 1; i <= NR; i++) printf "%.9f\n", label[i] ? place[i] / neg : 1 - place[i] / pos
        }'
}
for c in 2 3 4; do placements $c >"$file.$c"; done
paste -d ' ' "$file" "$file.2" "$file.3" "$file.4" | awk '
    function interval(name, i,    mean, half, c, v) {
        mean = s[1, i] / n[1]
        for (c = 0; c < 2; c++) v += (ss[c, i] - s[c, i] ^ 2 / n[c]) / (n[c] - 1) / n[c]
        half = 1.96 * sqrt(v)
        printf "%-22s%7.4f, 95 %% interval %7.4f to %7.4f\n", name, mean, mean - half, mean + half
    }
    {
        c = $1 + 0
        n[c]++
        x[1] = $5; x[2] = $6; x[3] = $7; x[4] = $7 - $5; x[5] = $7 - $6
        for (i = 1; i <= 5; i++) { s[c, i] += x[i]; ss[c, i] += x[i] ^ 2 }
    }
    END {
        printf "test rows %d, clicks %d\n", n[0] + n[1], n[1]
        interval("auc baseline", 1)
        interval("auc rule", 2)
        interval("auc model", 3)
        interval("model - baseline", 4)
        interval("model - rule", 5)
    }'
