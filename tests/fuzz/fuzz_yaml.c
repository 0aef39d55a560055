/*
 * fuzz_yaml.c - any bytes as YAML and as JSON, and as the text of --set and --edit_config_json.
 */
#include "conf_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 20000) return 0;
    conf_check(CR_SYNTAX_YAML, (const char *)data, size);
    conf_check(CR_SYNTAX_JSON, (const char *)data, size);
    static const char base[] = "groups: [{group_name: a, toy_flat: {}}, {group_name: b}]\n";
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    for (int k = 0; k < 2; k++) {
        toy t;
        if (toy_parse(&t, CR_SYNTAX_YAML, base, sizeof base - 1) != CR_OK) abort();
        cr_code code = k ? cr_conf_edit_json(&t.doc, &toy_root_msg, text, &t.diag)
                         : cr_conf_set(&t.doc, &toy_root_msg, text, true, &t.diag);
        if ((code == CR_OK) != (t.diag.n_errors == 0)) abort();
        if (code == CR_OK) toy_bind(&t);
        toy_clear(&t);
    }
    free(text);
    return 0;
}
