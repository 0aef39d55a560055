/*
 * fuzz_easyrec.c - any bytes as a config of EasyRec: they convert, or are refused with words.
 */
#include <stdlib.h>

#include "dialect/dialect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 20000) return 0;
    cr_conf_doc in, out;
    cr_diag diag;
    cr_easyrec_opts opts = {NULL, false};
    cr_easyrec_result res;
    cr_conf_doc_init(&in);
    cr_conf_doc_init(&out);
    cr_diag_init(&diag);
    cr_code code =
        cr_conf_parse(&in, CR_SYNTAX_PBTXT, "fuzz.config", (const char *)data, size, &diag);
    if (code == CR_OK) code = cr_easyrec_convert(&out, &in, &opts, &res, &diag);
    if (code != CR_OK && diag.n_errors == 0) abort(); /* refused without a word */
    for (size_t i = 0; i < diag.n; i++)
        if (!diag.v[i].msg || !*diag.v[i].msg) abort();
    cr_diag_clear(&diag);
    cr_conf_doc_clear(&out);
    cr_conf_doc_clear(&in);
    return 0;
}
