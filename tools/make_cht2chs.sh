#!/bin/sh
# make_cht2chs.sh >src/text/cht2chs.c - the table of traditional and simplified Chinese characters.
#
# From ICU's transform Traditional-Simplified (Unicode CLDR), single characters of the basic plane;
# needs uconv (Debian: icu-devtools).
set -eu
cat <<'EOF'
/*
 * cht2chs.c - traditional Chinese characters and the simplified ones they become, ascending.
 * tools/make_cht2chs.sh made the list from Unicode CLDR. Characters are replaced one by one; where
 * simplified Chinese has another word, the word stays.
 */
#include "text/text_norm.h"

EOF
LC_ALL=C awk 'function u(c) { return sprintf("%c%c%c", 224 + int(c / 4096), 128 + int(c / 64) % 64, 128 + c % 64) }
    BEGIN { for (c = 13312; c < 64256; c++) if ((c < 19904) || (c >= 19968 && c < 40960) || c >= 63744) print u(c) }' >/tmp/cht.$$
uconv -f utf-8 -t utf-8 -x Traditional-Simplified </tmp/cht.$$ | LC_ALL=C paste -d' ' /tmp/cht.$$ - |
    LC_ALL=C awk 'BEGIN { for (i = 0; i < 256; i++) ord[sprintf("%c", i)] = i }
        function code(s) { return (ord[substr(s, 1, 1)] - 224) * 4096 + (ord[substr(s, 2, 1)] - 128) * 64 + ord[substr(s, 3, 1)] - 128 }
        $1 != $2 && length($2) == 3 { v[n++] = sprintf("0x%04x, 0x%04x", code($1), code($2)) }
        END { print "const uint16_t cr_cht2chs[][2] = {"
              for (i = 0; i < n; i++) printf "%s{%s},%s", i % 6 ? " " : "    ", v[i], i % 6 == 5 || i == n - 1 ? "\n" : ""
              print "};\nconst int cr_n_cht2chs = (int)(sizeof(cr_cht2chs) / sizeof(cr_cht2chs[0]));" }'
rm -f /tmp/cht.$$
