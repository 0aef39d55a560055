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
    CHECK_INT(cr_cpu_level_max(), top < CR_CPU_AVX512_BF16 ? top : CR_CPU_AVX512_BF16);
    setenv("CRANK_CPU", "amx", 1);
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

TEST(own_name) {
    char name[96] = "";
    CHECK(cr_cpu_name(name) == name);
    CHECK(name[0] && name[0] != ' ' && strlen(name) < sizeof name);
#if defined(__x86_64__) || defined(__i386__)
    CHECK(strstr(name, " (family ") && strstr(name, ", model "));
#endif
}

/* asks on behalf of a CPU with that level */
static cr_cpu_level wish(const char *text, cr_cpu_level own, const char *want_why) {
    char why[256] = "before";
    cr_cpu_level got = cr_cpu_level_wish(text, own, why, sizeof why);
    CHECK_STR(why, want_why);
    CHECK_INT(cr_cpu_level_wish(text, own, NULL, 0), got);
    return got;
}
TEST(wishes) {
    CHECK_INT(wish(NULL, CR_CPU_AVX2, ""), CR_CPU_AVX2);
    CHECK_INT(wish("", CR_CPU_AVX512, ""), CR_CPU_AVX512);
    CHECK_INT(wish("c", CR_CPU_C, ""), CR_CPU_C);
    CHECK_INT(wish("Avx2", CR_CPU_AVX2, ""), CR_CPU_AVX2);
    CHECK_INT(wish("avx2", CR_CPU_AVX512_BF16, ""), CR_CPU_AVX2);
    CHECK_INT(wish("sse9", CR_CPU_AVX2,
                   "CRANK_CPU is 'sse9'; use c, avx2, avx512, avx512_bf16 or amx"),
              CR_CPU_AVX2);
    CHECK_INT(wish("?", CR_CPU_AVX512_BF16,
                   "CRANK_CPU is '?'; use c, avx2, avx512, avx512_bf16 or amx"),
              CR_CPU_AVX512_BF16);
    CHECK_INT(wish("avx2", CR_CPU_C, "CRANK_CPU is 'avx2', which this CPU does not have; use c"),
              CR_CPU_C);
    CHECK_INT(wish("avx512", CR_CPU_AVX2,
                   "CRANK_CPU is 'avx512', which this CPU does not have; use c or avx2"),
              CR_CPU_AVX2);
    CHECK_INT(
        wish("avx512_bf16", CR_CPU_AVX512,
             "CRANK_CPU is 'avx512_bf16', which this CPU does not have; use c, avx2 or avx512"),
        CR_CPU_AVX512);
    /* cut, not overrun */
    char why[8] = "", text[300];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    cr_cpu_level_wish(text, CR_CPU_C, why, sizeof why);
    CHECK_STR(why, "CRANK_C");
}

/* CPUs that are not at hand. */
TEST(other_cpus) {
    static const struct {
        cr_cpu_facts has;
        cr_cpu_level level;
        const char *why; /* part of what is told; NULL: nothing */
    } cpus[] = {
        {{0}, CR_CPU_C, NULL},
        {{.avx512 = true}, CR_CPU_C, NULL}, /* a virtual machine that hides what is below */
        {{.avx2 = true}, CR_CPU_AVX2, NULL},
        {{.avx2 = true, .avx512_bf16 = true, .amd = true}, CR_CPU_AVX2, NULL}, /* valgrind */
        {{.avx2 = true, .avx512 = true, .amd = true}, CR_CPU_AVX512, NULL},
        {{.avx2 = true, .avx512 = true, .avx512_bf16 = true}, CR_CPU_AVX512, NULL},
        {{.avx2 = true, .avx512 = true, .avx512_bf16 = true, .amd = true},
         CR_CPU_AVX512_BF16,
         NULL},
        {{.avx2 = true, .avx512 = true, .avx512_bf16 = true, .tiles = CR_TILES_USABLE},
         CR_CPU_AMX,
         NULL},
        {{.avx2 = true, .avx512 = true, .avx512_bf16 = true, .tiles = CR_TILES_REFUSED},
         CR_CPU_AVX512,
         "the system does not allow it"},
        {{.avx2 = true, .avx512 = true, .avx512_bf16 = true, .tiles = CR_TILES_NOT_BUILT},
         CR_CPU_AVX512,
         "the compiler of this build"},
    };
    for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
        const char *why = cr_cpu_tiles_why(cpus[i].has.tiles);
        CHECK_INT(cr_cpu_level_of(&cpus[i].has), cpus[i].level);
        CHECK(!why == !cpus[i].why && (!why || strstr(why, cpus[i].why)));
    }
    /* of this one both are the same answer */
    CHECK((cr_cpu_tiles_own() == CR_TILES_USABLE) == (cr_cpu_level_own() == CR_CPU_AMX));
}

/* A level without a version of its own takes that of the next lower level with the same bits. */
TEST(picks) {
    int x[CR_CPU_LEVELS];
    int *of[CR_CPU_LEVELS];
    for (int i = 0; i < CR_CPU_LEVELS; i++)
        of[i] = &x[i];
    for (int i = 0; i < CR_CPU_LEVELS; i++)
        CHECK(CR_CPU_PICK(of, (cr_cpu_level)i) == &x[i]);
    of[CR_CPU_AMX] = NULL;
    CHECK(CR_CPU_PICK(of, CR_CPU_AMX) == &x[CR_CPU_AVX512]);
    of[CR_CPU_AVX512] = NULL;
    CHECK(CR_CPU_PICK(of, CR_CPU_AMX) == &x[CR_CPU_AVX2]);
    CHECK(CR_CPU_PICK(of, CR_CPU_AVX512_BF16) == &x[CR_CPU_AVX512_BF16]);
}

TEST(machine) {
    CHECK(cr_cpu_count() >= 1);
    CHECK(cr_cpu_l2() >= 128 * 1024);
    double a = cr_now(), b = cr_now();
    CHECK(a > 0 && b >= a);
    CHECK(cr_peak_rss() > 100000);
    CHECK(cr_mem_available() > 0);
}

TEST_MAIN(CASE(levels), CASE(own_name), CASE(wishes), CASE(other_cpus), CASE(picks), CASE(machine))
