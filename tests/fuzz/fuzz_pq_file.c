/*
 * fuzz_pq_file.c - any bytes as a whole Parquet file: opened, every column read, rows as JSON.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "pq_touch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int fd = -1;
    char path[64];
    if (fd < 0) fd = memfd_create("file", 0);
    if (fd < 0 || ftruncate(fd, 0) != 0) return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    cr_pq_file *f;
    cr_err err;
    const cr_pq_opts opts = {.budget = 2 << 20, .skip_crc = size & 1, .keep_levels = true};
    if (pwrite(fd, data, size, 0) != (ssize_t)size) return 0;
    if (cr_pq_open(&f, path, &opts, &err) != CR_OK) {
        pq_touch_err(&err);
        return 0;
    }
    (void)pq_touch_file(f, 5000);
    cr_pq_close(f);
    return 0;
}
