/*
 * local.c - this machine: the ranks of one node, in the background.
 */
#include "base/file.h"
#include "base/shown.h"
#include "submit/here.h"
#include "submit/list.h"

typedef cr_place_conf keys;
static const cr_field fields[] = {CR_PLACE_ROWS(keys, "path"), CR_END};
static const cr_msg msg = {"local", "A job of this machine",
                           fields,  sizeof(keys),
                           false,   true,
                           NULL,    NULL};

static void check(cr_submit *s) {
    keys *k = s->keys;
    if (k->nodes != 1)
        cr_submit_wrong(s, cr_conf_at(k, "nodes"),
                        "nodes is %lld, and local is this machine alone; write backend: hosts",
                        (long long)k->nodes);
    if (!cr_conf_has(k, "binary") && !cr_conf_has(k, "crank")) k->crank = cr_own_program(s->a);
    if (*k->work_dir && !cr_path_is_dir(k->work_dir))
        cr_submit_wrong(s, cr_conf_at(k, "work_dir"),
                        "work_dir '%s' is no folder here; make it, or leave the key out",
                        cr_shown(s->a, k->work_dir));
    cr_place_check(s, true, false);
}

static cr_code write_files(cr_submit *s, cr_buf *b, cr_err *err) {
    cr_place_prepare(s, b, false);
    return cr_here_write(s, cr_place_launch(s, s->dir, "--standalone"), b, err);
}

const cr_backend cr_backend_local = {
    .name = "local",
    .help = "This machine, in the background",
    .msg = &msg,
    .check = check,
    .write = write_files,
    .answer = cr_here_answer,
};
