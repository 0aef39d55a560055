/*
 * fuzz_pbtxt.c - any bytes as protobuf text.
 */
#include "conf_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size <= 20000) conf_check(CR_SYNTAX_PBTXT, (const char *)data, size);
    return 0;
}
