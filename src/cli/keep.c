/*
 * keep.c - results that the page of crank board shows, as files of the model_dir.
 */
#include "cli/keep.h"

#include "base/file.h"

cr_code cr_keep_result(cr_ui *ui, const cr_keep *k, const cr_buf *text, const char **path,
                       cr_err *err) {
    cr_err why;
    *path = k->given;
    if (k->given) return cr_file_write(k->given, text->data, text->n, err);
    if (!k->dir) return CR_OK;
    const char *own = cr_path_join(&ui->arena, k->dir, k->name);
    if (cr_file_write(own, text->data, text->n, &why) == CR_OK) {
        *path = own;
        return CR_OK;
    }
    cr_diag_add(&ui->diag, CR_SEV_WARN, CR_OK, why.at,
                "%s; the page of this model will not show the result: name a file with %s", why.msg,
                k->flag);
    return CR_OK;
}
