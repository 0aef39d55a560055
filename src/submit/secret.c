/*
 * secret.c - keys and passwords: from backend.yaml, the environment, or a file of mode 0600.
 *
 * A value in backend.yaml wins, then the variable, then the file. No function of this folder
 * prints or logs such a text; the messages name the key and the place only. Clients may print what
 * they were given (dlc shows its whole request), so their output passes through cr_secret_masked.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/shown.h"
#include "submit/submit_int.h"

#define MOST  65536 /* bytes of a file of secrets */
#define SHORT 4     /* bytes; a shorter secret is part of many words, which would not be readable */

/* A path as a word of the command that cures it. */
static const char *quoted(const cr_submit *s, const char *path) {
    return cr_shown(s->a, cr_sh(s->a, path));
}

void cr_secret_told(cr_submit *s, cr_loc at, const char *what) {
    s->private = true;
    if (!cr_owner_only(s->o->backend))
        cr_submit_warn(s, at,
                       "%s holds a secret, and others on this machine can read %s; run 'chmod 600 "
                       "%s'",
                       what, cr_shown(s->a, s->o->backend), quoted(s, s->o->backend));
}

static void hide(cr_submit *s, const char *text) {
    if (strlen(text) < SHORT) return;
    if (s->n_hidden == s->cap_hidden) {
        int cap = s->cap_hidden ? 2 * s->cap_hidden : 8;
        const char **v = CR_NEW_N(s->a, const char *, cap);
        if (s->n_hidden) memcpy(v, s->hidden, sizeof *v * (size_t)s->n_hidden);
        s->hidden = v;
        s->cap_hidden = cap;
    }
    s->hidden[s->n_hidden++] = text;
}

/* As it is, as JSON has it, and the password behind the user of fs_ugi. */
void cr_secret_hide(cr_submit *s, const char *text) {
    const char *comma = strchr(text, ',');
    cr_buf b;
    cr_buf_init(&b);
    cr_json_escape(&b, text, strlen(text));
    const char *json = cr_arena_strndup(s->a, b.data + 1, b.n - 2);
    cr_buf_clear(&b);
    hide(s, text);
    if (strcmp(json, text) != 0) hide(s, json);
    if (comma) cr_secret_hide(s, comma + 1);
}

const char *cr_secret_masked(const cr_submit *s, const char *text) {
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "");
    while (*text) {
        size_t n = 0; /* the longest that stands here: one may begin with another */
        for (int i = 0; i < s->n_hidden; i++) {
            size_t k = strlen(s->hidden[i]);
            if (k > n && strncmp(text, s->hidden[i], k) == 0) n = k;
        }
        if (n)
            cr_buf_str(&b, "***");
        else
            cr_buf_char(&b, *text);
        text += n ? n : 1;
    }
    const char *out = cr_arena_strndup(s->a, b.data, b.n);
    cr_buf_clear(&b);
    return out;
}

/* Finds `key=value` in the text; NULL: there is none. */
static const char *find_line(cr_arena *a, const char *text, const char *key) {
    size_t n = strlen(key);
    while (*text) {
        size_t line = strcspn(text, "\n");
        if (line > n && strncmp(text, key, n) == 0 && text[n] == '=') {
            size_t end = line;
            while (end > n + 1 && strchr(" \t\r", text[end - 1]))
                end--;
            return cr_arena_strndup(a, text + n + 1, end - n - 1);
        }
        text += line + (text[line] == '\n');
    }
    return NULL;
}

cr_code cr_secret_find(cr_submit *s, cr_secret *v, int n) {
    const char *path = s->o->secrets, *text = "";
    cr_buf b;
    cr_err err;
    bool any = false;
    cr_buf_init(&b);
    if (path && !cr_owner_only(path) && cr_path_exists(path)) {
        cr_submit_wrong(s, (cr_loc){path, 0, 0},
                        "others on this machine can read these secrets; run 'chmod 600 %s'",
                        quoted(s, path));
    } else if (path) {
        if (cr_file_read(path, MOST, &b, &err) != CR_OK)
            cr_diag_add(s->diag, CR_SEV_ERROR, err.code, (cr_loc){path, 0, 0}, "%s", err.msg);
        else
            text = cr_arena_strndup(s->a, b.data ? b.data : "", b.n);
    }
    cr_buf_clear(&b);
    for (int i = 0; i < n; i++) {
        const char *given = v[i].text && *v[i].text ? v[i].text : NULL;
        const char *env = getenv(v[i].env), *line = find_line(s->a, text, v[i].key);
        any = any || given;
        v[i].text = given ? given : env && *env ? env : line ? line : "";
        cr_secret_hide(s, v[i].text);
    }
    if (any && !cr_owner_only(s->o->backend))
        cr_submit_warn(s, (cr_loc){s->o->backend, 0, 0},
                       "it holds secrets and others on this machine can read it; run 'chmod 600 "
                       "%s', or give them by %s or --secrets FILE",
                       quoted(s, s->o->backend), v[0].env);
    return CR_OK;
}
