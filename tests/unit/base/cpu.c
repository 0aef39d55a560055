/* What the machine says about itself is plausible; CRANK_CPU only lowers. */
#include "base/cpu.h"

#include "harness.h"

TEST(levels) {
    unsetenv("CRANK_CPU");
    cr_cpu_level top = cr_cpu_level_max();
    CHECK(top >= CR_CPU_C && top < CR_CPU_LEVELS);
    setenv("CRANK_CPU", "c", 1);
    CHECK_INT(cr_cpu_level_max(), CR_CPU_C);
    setenv("CRANK_CPU", "AVX2", 1);
    CHECK_INT(cr_cpu_level_max(), top < CR_CPU_AVX2 ? top : CR_CPU_AVX2);
    setenv("CRANK_CPU", "avx512", 1);
    CHECK_INT(cr_cpu_level_max(), top < CR_CPU_AVX512 ? top : CR_CPU_AVX512);
    setenv("CRANK_CPU", "avx512_bf16", 1);
    CHECK_INT(cr_cpu_level_max(), top);
    setenv("CRANK_CPU", "nonsense", 1);
    CHECK_INT(cr_cpu_level_max(), top);
    unsetenv("CRANK_CPU");
    CHECK_STR(cr_cpu_level_name(CR_CPU_C), "c");
    CHECK_STR(cr_cpu_level_name(CR_CPU_AVX2), "avx2");
    CHECK_STR(cr_cpu_level_name(CR_CPU_AVX512), "avx512");
    CHECK_STR(cr_cpu_level_name(CR_CPU_AVX512_BF16), "avx512_bf16");
    CHECK_STR(cr_cpu_level_name(CR_CPU_LEVELS), "?");
}

TEST(machine) {
    CHECK(cr_cpu_count() >= 1);
    CHECK(cr_cpu_l2() >= 128 * 1024);
    double a = cr_now(), b = cr_now();
    CHECK(a > 0 && b >= a);
    CHECK(cr_peak_rss() > 100000);
    CHECK(cr_mem_available() > 0);
}

TEST_MAIN(CASE(levels), CASE(machine))
