/*
 * links.c - second names of checkpoints (train_config.checkpoint_link): links in model_dir whose
 * names tell epoch, step and metrics. They are made anew from what lies in model_dir, so that a
 * kill between a checkpoint and its link costs nothing. A failure is a warning: the checkpoint is
 * there under its own name.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/fs.h"
#include "base/log.h"
#include "run/loop_int.h"

/* Writes the value of a name in braces; false: it has none yet. */
static bool put_value(cr_buf *b, const cr_ckpt_state *s, const char *name, size_t n) {
    bool inside = s->data.unit > 0 || s->data.row > 0;
    if (n == 5 && memcmp(name, "epoch", n) == 0) {
        cr_buf_printf(b, "%lld", (long long)(inside || s->epoch == 0 ? s->epoch : s->epoch - 1));
        return true;
    }
    if (n == 4 && memcmp(name, "step", n) == 0) {
        cr_buf_printf(b, "%lld", (long long)s->step);
        return true;
    }
    for (int i = 0; i < s->n_metrics; i++)
        if (strlen(s->metrics[i].name) == n && memcmp(s->metrics[i].name, name, n) == 0) {
            cr_buf_printf(b, "%.3f", s->metrics[i].value);
            return true;
        }
    return false;
}

/* Makes the name of a checkpoint from the pattern; false: a metric is not known. */
static bool name_of(cr_buf *b, const char *pattern, const cr_ckpt_state *s) {
    cr_buf_reset(b);
    for (const char *p = pattern; *p;) {
        const char *end = *p == '{' ? strchr(p, '}') : NULL;
        if (!end) {
            cr_buf_char(b, *p++);
            continue;
        }
        if (!put_value(b, s, p + 1, (size_t)(end - p - 1))) return false;
        p = end + 1;
    }
    return true;
}

/* Removes the links of a folder that lead to no checkpoint any more. */
static void sweep(cr_arena *a, const char *dir) {
    char **names, target[256];
    size_t n;
    if (!cr_path_is_dir(dir) || cr_list_dir(a, dir, &names, &n, NULL) != CR_OK) return;
    for (size_t i = 0; i < n; i++) {
        const char *path = cr_path_join(a, dir, names[i]);
        ssize_t len = readlink(path, target, sizeof target - 1);
        if (len <= 0) continue;
        target[len] = 0;
        if (strncmp(cr_path_base(target), "model.ckpt-", 11) == 0 && !cr_path_exists(path))
            (void)unlink(path);
    }
}

/* Links the name to the checkpoint; a link to it that is there already stays. */
static void link_to(cr_arena *a, const char *model_dir, const char *name, const char *to) {
    const char *path = cr_path_join(a, model_dir, name), *up = "";
    char is[256];
    cr_err err;
    for (const char *p = name; (p = strchr(p, '/')); p++)
        up = cr_arena_printf(a, "%s../", up);
    const char *target = cr_arena_printf(a, "%s%s", up, to);
    ssize_t len = readlink(path, is, sizeof is - 1);
    if (len > 0 && strlen(target) == (size_t)len && memcmp(is, target, (size_t)len) == 0) return;
    if (cr_mkdirs(cr_path_dir(a, path), &err) != CR_OK)
        CR_WARN("%s: %s; the checkpoint has no second name", path, err.msg);
    else if ((len > 0 && unlink(path) != 0) || symlink(target, path) != 0)
        CR_WARN("cannot make the link %s to the checkpoint: %s", path, strerror(errno));
}

void cr_loop_links(loop *l) {
    const char *pattern = l->tc->checkpoint_link, *dir = l->c->model_dir;
    int64_t *steps;
    int n;
    cr_arena a;
    cr_buf name;
    if (!*pattern || !writes(l) || !cr_store_can(dir, CR_FS_LOCAL)) return;
    cr_arena_init(&a, 0);
    cr_buf_init(&name);
    if (cr_ckpt_steps(&a, dir, &steps, &n, NULL) != CR_OK) n = 0;
    const char *slash = strrchr(pattern, '/');
    sweep(&a, slash
                  ? cr_path_join(&a, dir, cr_arena_strndup(&a, pattern, (size_t)(slash - pattern)))
                  : dir);
    for (int i = 0; i < n; i++) {
        cr_ckpt_state s;
        const char *base = cr_arena_printf(&a, "model.ckpt-%lld", (long long)steps[i]);
        if (cr_ckpt_read_state(&a, cr_path_join(&a, dir, base), &s, NULL) != CR_OK) continue;
        if (name_of(&name, pattern, &s)) link_to(&a, dir, name.data, base);
    }
    cr_buf_clear(&name);
    cr_arena_clear(&a);
}
