/*
 * products.c - what training says about matrix products on CPUs of every level, also on those that
 * are not at hand: one line where the tile unit is there and cannot be used, one where BF16 sums in
 * an order of its own, a warning where a kind is slow; else nothing.
 */
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "harness.h"
#include "job/job.h"

static char path[256];

/* The lines that are logged, without times; valid until the next call. */
static const char *told(cr_products p, cr_cpu_level level, cr_cpu_tiles tiles) {
    static char text[2048];
    cr_buf b;
    cr_buf_init(&b);
    CHECK_INT(truncate(path, 0), 0);
    cr_job_tell_products(p, level, tiles);
    CHECK_INT(cr_file_read(path, 0, &b, NULL), 0);
    snprintf(text, sizeof(text), "%.*s", (int)b.n, b.data ? b.data : "");
    cr_buf_clear(&b);
    return text;
}
static int lines(const char *text) {
    int n = 0;
    for (; (text = strchr(text, '\n')); text++)
        n++;
    return n;
}

TEST(a_unit_that_cannot_be_used) {
    static const struct {
        cr_cpu_tiles tiles;
        const char *cause, *cure;
    } cases[] = {{CR_TILES_REFUSED, "the system does not allow it", "Linux 5.16"},
                 {CR_TILES_NOT_BUILT, "the compiler of this build did not know it", "gcc 11"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *text = told(CR_PRODUCTS_BF16, CR_CPU_AVX512, cases[i].tiles);
        CHECK_INT(lines(text), 1);
        CHECK(strstr(text, "INFO") && strstr(text, "this CPU has a tile unit (AMX)"));
        CHECK(strstr(text, cases[i].cause) && strstr(text, cases[i].cure));
        CHECK(strstr(text, "the level avx512\n") != NULL);
        text = told(CR_PRODUCTS_BF16X3, CR_CPU_AVX512, cases[i].tiles);
        CHECK_INT(lines(text), 2);
        CHECK(strstr(text, "WARNING") && strstr(text, "products in BF16x3 are slower than FP32"));
        CHECK_STR(told(CR_PRODUCTS_FP32, CR_CPU_AVX512, cases[i].tiles), "");
    }
}

TEST(other_cpus) {
    for (int p = 0; p < CR_PRODUCTS_KINDS; p++) {
        bool parts = cr_products_parts((cr_products)p) > 1;
        CHECK_STR(told((cr_products)p, CR_CPU_AMX, CR_TILES_USABLE), "");
        for (int level = 0; level < CR_CPU_AMX; level++) {
            const char *text = told((cr_products)p, (cr_cpu_level)level, CR_TILES_NONE);
            bool pairs = p == CR_PRODUCTS_BF16 && level == CR_CPU_AVX512_BF16;
            CHECK_INT(lines(text), parts || pairs);
            CHECK(!pairs || strstr(text, "summed in pairs on this CPU (avx512_bf16)"));
        }
    }
    /* a level that CRANK_CPU lowered */
    CHECK_STR(told(CR_PRODUCTS_BF16, CR_CPU_AVX2, CR_TILES_USABLE), "");
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(a_unit_that_cannot_be_used), CASE(other_cpus)};
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof(path), "%s/crank-products-XXXXXX", tmp ? tmp : "/tmp");
    int fd = mkstemp(path);
    cr_log_set_level(CR_LOG_OFF);
    if (fd < 0 || close(fd) != 0 || cr_log_file(path, CR_LOG_INFO, NULL) != CR_OK) return 1;
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    unlink(path);
    return rc;
}
