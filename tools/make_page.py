#!/usr/bin/env python3
"""make_page.py OUTPUT WEB - puts the page of `crank board` together as one C file.

The modules of WEB, in the order in which main.js needs them, the style and the chart library with its
licence become one HTML text without anything to load, and that text an array of bytes. Modules may only use
`import {a, b} from './x.js'` and `export` in front of a declaration; a name that two of them declare is an
error, because all of them share one scope here. Without the chart library there is no page: the C file says so.
"""
import base64
import hashlib
import os
import re
import sys


def modules(web, name, seen, out):
    if name in seen:
        return
    seen.add(name)
    with open(os.path.join(web, name), encoding='utf-8') as f:
        text = f.read()
    for needed in re.findall(r"^import \{[^}]*\} from '\./([a-z_]+\.js)'$", text, re.M):
        modules(web, needed, seen, out)
    text = re.sub(r"^import \{[^}]*\} from '\./[a-z_]+\.js'\n", '', text, flags=re.M)
    if re.search(r'^(import|export default|export \{)', text, re.M):
        sys.exit(f'{name}: make_page.py knows only "import {{...}} from" and "export" before a declaration')
    out.append((name, re.sub(r'^export ', '', text, flags=re.M)))


def script(web):
    parts = []
    modules(web, 'main.js', set(), parts)
    owner = {}
    for name, text in parts:
        for word in re.findall(r'^(?:async )?(?:function|const|let|class) (\w+)', text, re.M):
            if word in owner:
                sys.exit(f"{name}: '{word}' is declared in {owner[word]} too")
            owner[word] = name
    return ''.join(f'// ---- {name} ----\n{text}' for name, text in parts)


def page(web):
    lib = os.path.join(web, 'node_modules', 'uplot')
    try:
        chart = open(os.path.join(lib, 'dist', 'uPlot.iife.min.js'), encoding='utf-8').read()
        css = open(os.path.join(lib, 'dist', 'uPlot.min.css'), encoding='utf-8').read()
        licence = open(os.path.join(lib, 'LICENSE'), encoding='utf-8').read()
    except FileNotFoundError:
        return None
    code = f'/*! uPlot\n{licence.strip()}\n*/\n{chart.strip()}\n"use strict";\n{{\n{script(web)}}}\n'
    if '</script' in code:
        sys.exit('make_page.py: a script must not hold </script')
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = (f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:; "
              "connect-src 'self'; base-uri 'none'; form-action 'none'")
    with open(os.path.join(web, 'page.html'), encoding='utf-8') as f:
        html = f.read()
    with open(os.path.join(web, 'style.css'), encoding='utf-8') as f:
        style = f.read()
    for mark, text in (('<!--policy-->', f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
                       ('<!--style-->', f'<style>\n{css}\n{style}</style>'),
                       ('<!--script-->', f'<script>{code}</script>')):
        if html.count(mark) != 1:
            sys.exit(f'page.html: {mark} must stand there once')
        html = html.replace(mark, text)
    return html


def main():
    output, web = sys.argv[1:]
    html = page(web)
    lines = ['/* made by tools/make_page.py */', '#include "board/board.h"', '']
    if html is None:
        lines += ['const char *cr_board_page(size_t *n) {', '    *n = 0;', '    return NULL;', '}']
    else:
        data = html.encode()
        lines += ['static const unsigned char page[] = {']
        lines += [','.join(map(str, data[i:i + 64])) + ',' for i in range(0, len(data), 64)]
        lines += ['0};', 'const char *cr_board_page(size_t *n) {', '    *n = sizeof page - 1;',
                  '    return (const char *)page;', '}']
    with open(output, 'w', encoding='utf-8') as f:
        f.write('\n'.join(lines) + '\n')


main()
