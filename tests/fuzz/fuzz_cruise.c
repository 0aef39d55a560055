/*
 * fuzz_cruise.c - any bytes as a config of Cruise: it becomes a config of crank, or is refused with
 * words; and the defaults that --print_config adds change nothing about which of the two it is.
 */
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "dialect/dialect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static cr_code rewrite(const uint8_t *data, size_t size, bool defaults) {
    cr_conf_doc doc;
    cr_diag diag;
    cr_conf_doc_init(&doc);
    cr_diag_init(&diag);
    cr_code code = cr_conf_parse(&doc, CR_SYNTAX_YAML, "x.yaml", (const char *)data, size, &diag);
    if (code == CR_OK && defaults) cr_cruise_defaults(&doc);
    if (code == CR_OK) code = cr_dialect_rewrite(&doc, NULL, &diag);
    if (code != CR_OK && diag.n_errors == 0) abort(); /* refused without a word */
    for (size_t i = 0; i < diag.n; i++)
        if (!diag.v[i].msg || !*diag.v[i].msg) abort();
    cr_diag_clear(&diag);
    cr_conf_doc_clear(&doc);
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 20000) return 0;
    if (rewrite(data, size, false) == CR_OK) (void)!rewrite(data, size, true);
    return 0;
}
