/*
 * hash.c - the two hashes against published values, in every length class; the fast modulus.
 */
#include "feat/hash.h"

#include "base/word.h"
#include "harness.h"

#define LOREM                                                                                      \
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt "   \
    "ut "                                                                                          \
    "labore et dolore magna aliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco "   \
    "laboris nisi ut aliquip ex ea commodo consequat. Duis aute irure dolor in reprehenderit in "  \
    "voluptate velit esse cillum dolore eu fugiat nulla pariatur. Excepteur sint occaecat "        \
    "cupidatat non proident, sunt in culpa qui officia deserunt mollit anim id est laborum."

typedef struct vec {
    uint64_t h;
    const char *s;
} vec;

static void check_hex(uint64_t got, uint64_t want, const char *s) {
    if (got == want) return;
    t_failed_checks++;
    fprintf(stderr, "%s: hash of '%s' is %016llx, expected %016llx\n", t_name, s,
            (unsigned long long)got, (unsigned long long)want);
}

TEST(murmur_values) {
    static const vec v[] = {
        {0x553e93901e462a6e, ""},
        {0x454ddee488c1ed6b, "a"},
        {0x32d82bf8ed3dba39, "abc"},
        {0x89fd74530212b7e8, "efg"},
        {0xd8469ff58b9e8182, "hij"},
        {0x91e4c7bd6105c1d9, "xyz"},
        {0x1fe2f4e72b63d536, "0"},
        {0x8cff77adfacb8ea3, "1"},
        {0x3f2a01296fb63016, "2"},
        {0x8c5b90a33a04dca5, "12345678"},
        {0xaaeb28d3d5f165c0, "123456789"},
        {0x89d768fb8a3ba9a9, "ua_ia"},
        {0x95e54787c6b0822b, "match_feat_1"},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
        check_hex(cr_hash_murmur(v[i].s, strlen(v[i].s)), v[i].h, v[i].s);
    static const struct {
        const char *s;
        int mod;
    } m[] = {{"", 90},      {"a", 59},     {"abc", 33},    {"3", 13},     {"4", 56},
             {"x", 35},     {"y", 30},     {"z", 54},      {"ua_ib", 90}, {"ub_ia", 5},
             {"ub_ib", 97}, {"uc_ic", 60}, {"ud_ic", 56},  {"ug_id", 40}, {"ug_ie", 57},
             {"uh_if", 55}, {"ua_abc", 2}, {"ua_efg", 42}, {"ua_hij", 3}, {"ub_hij", 23}};
    for (size_t i = 0; i < sizeof(m) / sizeof(m[0]); i++)
        CHECK_INT(cr_hash_murmur(m[i].s, strlen(m[i].s)) % 100, m[i].mod);
    CHECK_INT(cr_hash_murmur("1", 1) % 10, 5);
    CHECK_INT(cr_hash_murmur("3", 1) % 10, 3);
    CHECK_INT(cr_hash_murmur("5", 1) % 10, 9);
}

/* the definition, byte by byte */
static uint64_t murmur_slow(const unsigned char *s, size_t n) {
    const uint64_t m = 0xc6a4a7935bd1e995u;
    uint64_t h = 0xc70f6907u ^ (n * m);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t k = 0;
        for (size_t b = 0; b < 8; b++)
            k |= (uint64_t)s[i + b] << (8 * b);
        k *= m;
        k ^= k >> 47;
        k *= m;
        h ^= k;
        h *= m;
    }
    if (i < n) {
        uint64_t k = 0;
        for (size_t b = 0; i + b < n; b++)
            k |= (uint64_t)s[i + b] << (8 * b);
        h ^= k;
        h *= m;
    }
    h ^= h >> 47;
    h *= m;
    h ^= h >> 47;
    return h;
}

TEST(murmur_all_lengths) {
    unsigned char *buf = malloc(200);
    for (size_t n = 0; n < 100; n++) {
        /* exactly n bytes at the end of a block: reading past them is found by the sanitizer */
        unsigned char *p = malloc(n ? n : 1);
        for (size_t i = 0; i < n; i++)
            p[i] = (unsigned char)(i * 37 + n * 101 + 200);
        CHECK(cr_hash_murmur((const char *)p, n) == murmur_slow(p, n));
        if (n <= 8)
            CHECK(cr_hash_murmur_word(cr_word_of((const char *)p, n), n) == murmur_slow(p, n));
        (void)cr_hash_farm((const char *)p, n);
        free(p);
    }
    free(buf);
}

/* Fingerprint64 as published with the farmhash64 library's tests */
TEST(farm_published) {
    static const vec v[] = {
        {0x9ae16a3b2f90404f, ""},
        {0xb3454265b6df75e3, "a"},
        {0xaa8d6e5242ada51e, "ab"},
        {0x24a5b3a074e7f369, "abc"},
        {0x1a5502de4a1f8101, "abcd"},
        {0xc22f4663e54e04d4, "abcde"},
        {0xc329379e6a03c2cd, "abcdef"},
        {0x3c40c92b1ccb7355, "abcdefg"},
        {0xfee9d22990c82909, "abcdefgh"},
        {0x332c8ed4dae5ba42, "abcdefghi"},
        {0xad052244b781c4eb, "0123456789"},
        {0x5361eae17c1ff6bc, "0123456789@0123"},
        {0x4283d4ef43627f64, "0123456789'01234"},
        {0x46a7416ed4861e3b, "0123456789=012345"},
        {0x80d73b843ba57db8, "size:  a.out:  bad magic"},
        {0x8eb3808d1ccfc779, "Nepal premier won't resign."},
        {0xb944f8a16261e414, "C is as portable as Stonehedge!!"},
        {0xe8f89ab6df9bdd25, "Discard medicine more than two years old."},
        {0xa9961670ce2a46d9, "I wouldn't marry him with a ten foot pole."},
        {0xbdd69b798d6ba37a, "If the enemy is within range, then so are you."},
        {0xc2f8db8624fefc0e, "The major problem is with sendmail.  -Mark Horton"},
        {0x5a0a6efd52e84e2a, "How can you write a big system without C++?  -Paul Glick"},
        {0x786d7e1987023ca9, "He who has a shady past knows that nice guys finish last."},
        {0x2a578b80bb82147c, "The days of the digital watch are numbered.  -Tom Stoppard"},
        {0x55182f8859eca4ce, "For every action there is an equal and opposite government program."},
        {0xabcdb319fcf2826c,
         "You remind me of a TV show, but that's all right: I watch it anyway."},
        {0x1d85702503ac7eb4,
         "It's well we cannot hear the screams/That we create in others' dreams."},
        {0xa2b8bf3032021993,
         "Give me a rock, paper and scissors and I will move the world.  CCFestoon"},
        {0x38aa3175b37f305c,
         "It's a tiny change to the code and not completely disgusting. - Bob Manchek"},
        {0x7e85d7b050ed2967,
         "There is no reason for any individual to have a computer in their home. -Ken "
         "Olsen, 1977"},
        {0x098eff6958c5e91a,
         "The fugacity of a constituent in a mixture of gases at a given temperature is "
         "proportional to its mole fraction.  Lewis-Randall Rule"},
        {0xc3f02c4ffd5d71e6, LOREM},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
        check_hex(cr_hash_farm(v[i].s, strlen(v[i].s)), v[i].h, v[i].s);
    /* on both sides of each length class */
    static const struct {
        size_t n;
        uint64_t h;
    } b[] = {{33, 0x1bd257e2fc3da812}, {63, 0xd52b7a8646a91b9e},  {64, 0x9c4a595c23bb9bfa},
             {65, 0x2434d8917886fe2a}, {128, 0xc3244d5ec8a4474a}, {129, 0x9b1ca0571b8cefd4}};
    char az[156];
    for (size_t i = 0; i < sizeof(az); i++)
        az[i] = (char)('a' + i % 26);
    for (size_t i = 0; i < sizeof(b) / sizeof(b[0]); i++)
        check_hex(cr_hash_farm(az, b[i].n), b[i].h, "alphabet");
}

TEST(farm_feature_values) {
    static const struct {
        const char *s;
        uint64_t h;
    } v[] = {
        {"0", 5975597238397796928},
        {"1", 80785766752259042},
        {"99", 1128186851707534602},
        {"100", 8275097709545553548},
        {"-1", 7333874265151076430},
        {"+01", 5890132485342445499},
        {"00099", 8076438773911922895},
        {"9223372036854775807", 3516461496058286512},
        {"-9223372036854775808", 1493431938208774112},
    };
    cr_mod big = cr_mod_make(INT64_MAX);
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
        CHECK(cr_mod_of(big, cr_hash_farm(v[i].s, strlen(v[i].s))) == v[i].h);
    static const struct {
        const char *s;
        int h;
    } m[] = {{"abc", 85},    {"efg", 59},       {"hij", 95},    {"xyz", 20},
             {"1", 49},      {"2", 59},         {"3", 21},      {"4", 43},
             {"Action", 40}, {"Adventure", 46}, {"Comedy", 39}, {"unknown", 55}};
    for (size_t i = 0; i < sizeof(m) / sizeof(m[0]); i++)
        CHECK_INT(cr_hash_farm(m[i].s, strlen(m[i].s)) % 100, m[i].h);
}

TEST(modulus) {
    static const uint64_t ds[] = {1,          2,           3,
                                  5,          7,           10,
                                  64,         100,         1000003,
                                  1u << 31,   0xffffffffu, (uint64_t)1 << 63,
                                  INT64_MAX,  UINT64_MAX,  UINT64_MAX - 1,
                                  10000000019};
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < sizeof(ds) / sizeof(ds[0]); i++) {
        cr_mod m = cr_mod_make(ds[i]);
        uint64_t edge[] = {0,         1,          ds[i] - 1,      ds[i],
                           ds[i] + 1, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX / 2};
        for (size_t k = 0; k < 8; k++)
            CHECK(cr_mod_of(m, edge[k]) == edge[k] % ds[i]);
        for (int k = 0; k < 2000; k++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            CHECK(cr_mod_of(m, x) == x % ds[i]);
            CHECK(cr_mod_of(m, x / ds[i] * ds[i]) == 0);
        }
    }
}

/* The ids in PaddleRec's sample of Criteo: the number of the column, then the value. */
TEST(python2_published) {
    static const struct {
        const char *column, *value;
        int64_t id;
    } of[] = {{"14", "05db9164", 737395}, {"14", "68fd1e64", 715353}, {"18", "25c83c98", 286835},
              {"19", "7e0ccccf", 948614}, {"22", "a73ee510", 27346},  {"27", "b28479f6", 873363},
              {"30", "e5ba7672", 342789}, {"32", "", 26230},          {"33", "", 26229},
              {"35", "", 26235},          {"38", "", 26224},          {"39", "", 26223}};
    cr_mod m = cr_mod_make(1000001);
    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        const char *c = of[i].column, *v = of[i].value;
        char both[32];
        CHECK_INT(cr_hash_python2(c, strlen(c), v, strlen(v), &m), of[i].id);
        snprintf(both, sizeof both, "%s%s", c, v);
        CHECK_INT(cr_hash_python2("", 0, both, strlen(both), &m), of[i].id);
    }
    CHECK_INT(cr_hash_python2("", 0, "", 0, &m), 0);
}

TEST(choice) {
    CHECK(cr_hash_choose(false) == cr_hash_murmur);
    CHECK(cr_hash_choose(true) == cr_hash_farm);
}

TEST_MAIN(CASE(murmur_values), CASE(murmur_all_lengths), CASE(farm_published),
          CASE(farm_feature_values), CASE(modulus), CASE(python2_published), CASE(choice))
