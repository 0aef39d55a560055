/*
 * expr.c - formulas and normalizers: values, precedence, and errors at the right character.
 */
#include "feat/expr.h"

#include "feat/normalize.h"
#include "harness.h"

static const char *const XY[] = {"x", "y"};

static double eval(const char *text, double x, double y) {
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_expr *e = NULL;
    size_t where = 0;
    cr_err err = {0};
    double r = NAN;
    if (cr_expr_compile(&e, &a, text, strlen(text), XY, 2, &where, &err) == CR_OK)
        r = cr_expr_eval(e, (const double[]){x, y});
    else
        fprintf(stderr, "%s: character %zu: %s\n", text, where, err.msg);
    cr_arena_clear(&a);
    return r;
}

TEST(values) {
    static const struct {
        const char *text;
        double want; /* x = 3, y = 2 */
    } v[] = {
        {"x", 3},
        {"x+y*2", 7},
        {"(x+y)*2", 10},
        {"x-y-1", 0},
        {"x/y/2", 0.75},
        {"2^3^2", 512},
        {"-x^2", -9},
        {"(-x)^2", 9},
        {"2^-1", 0.5},
        {"--x", 3},
        {"-x+5", 2},
        {"1e2+1.5E-1", 100.15},
        {".5", 0.5},
        {"x>y", 1},
        {"x<y", 0},
        {"x>=3", 1},
        {"x<=2", 0},
        {"x==3", 1},
        {"x!=3", 0},
        {"x>y && y>5", 0},
        {"x>y || y>5", 1},
        {"1 || 0 && 0", 1},
        {"6 & 3", 2},
        {"4 | 1", 5},
        {"1 | 2 & 2", 3},
        {"1+2 == 3", 1},
        {"x>y ? 10 : 20", 10},
        {"x<y ? 10 : x>5 ? 20 : 30", 30},
        {"abs(-x)", 3},
        {"sqrt(x*x)", 3},
        {"log2(8)", 3},
        {"log10(1000)", 3},
        {"log(_e)", 1},
        {"ln(exp(2))", 2},
        {"sigmoid(0)", 0.5},
        {"sign(-5)", -1},
        {"sign(0)", 0},
        {"floor(2.7)", 2},
        {"ceil(2.1)", 3},
        {"trunc(-2.7)", -2},
        {"round(2.5)", 3},
        {"rint(2.5)", 2},
        {"roundp(3.14159, 2)", 3.14},
        {"mod(7, 4)", 3},
        {"min(3, 1, 2)", 1},
        {"max(3, 1, 2)", 3},
        {"sum(1, 2, 3, 4)", 10},
        {"avg(1, 2, 3, 4)", 2.5},
        {"min(x)", 3},
        {"isnan(0/0)", 1},
        {"isnan(1)", 0},
        {"sin(_pi/2)", 1},
        {"cos(0)", 1},
        {"atan(1)*4", M_PI},
        {"tanh(0)", 0},
        {"asinh(0)", 0},
        {"acosh(1)", 0},
        {"atanh(0)", 0},
        {"acos(1)", 0},
        {"asin(0)", 0},
        {"tan(0)", 0},
        {"sinh(0)", 0},
        {"cosh(0)", 1},
        {" max( x , y ) + 1 ", 4},
        {"haversine(0, 0, 0, 0)", 0},
        {"sphere_dist(10, 20, 10, 20)", 0},
        {"haversine(0, 0, 90, 0)", 6371.0 * M_PI / 2},
        {"sphere_dist(0, 0, 90, 0)", 6371.0 * M_PI / 2},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        double got = eval(v[i].text, 3, 2);
        if (!(fabs(got - v[i].want) <=
              1e-4 * (fabs(v[i].want) > 100) + 1e-12 * fabs(v[i].want) + 1e-12)) {
            CHECK(false);
            fprintf(stderr, "%s is %.17g, expected %.17g\n", v[i].text, got, v[i].want);
        }
    }
}

/* the caret stands under the character that is wrong */
TEST(errors) {
    static const struct {
        const char *text, *caret, *say;
    } v[] = {
        {"", "^", "ends too early"},
        {"x +", "   ^", "ends too early"},
        {"(x + 1", "^", "never closed"},
        {"x + * 2", "    ^", "unexpected '*'"},
        {"x 2", "  ^", "an operator or the end"},
        {"1.2.3", "^", "not a number"},
        {"foo(x)", "^", "unknown name 'foo'"},
        {"x + lgo(x)", "    ^", "did you mean 'log'"},
        {"sqrt(x, y)", "^", "one argument"},
        {"1 + mod(x)", "    ^", "2 arguments, 1 given"},
        {"sqrt x", "^", "is a function"},
        {"max(x, y", "        ^", "')' expected"},
        {"x ? 1", "  ^", "no ':'"},
        {"rnd(1)", "^", "every time"},
        {"1 + dot(x, y)", "    ^", "vectors"},
        {"x = 3", "  ^", "unexpected '='"},
        {"x # y", "  ^", "unexpected '#'"},
        {"sin()", "    ^", "unexpected ')'"},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        cr_arena a;
        cr_arena_init(&a, 0);
        cr_expr *e = NULL;
        size_t where = 999;
        cr_err err = {0};
        CHECK(cr_expr_compile(&e, &a, v[i].text, strlen(v[i].text), XY, 2, &where, &err) ==
              CR_ECONF);
        if (where != strlen(v[i].caret) - 1 || !strstr(err.msg, v[i].say)) {
            CHECK(false);
            fprintf(stderr, "'%s': character %zu: %s\n", v[i].text, where, err.msg);
        }
        cr_arena_clear(&a);
    }
}

TEST(no_text_is_too_much) {
    char text[8192];
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_expr *e = NULL;
    size_t where;
    cr_err err = {0};
    const char *fill[] = {"(", "-", "x?", "max(", "2^", "x+(", "!", "sin(", "1,", "x?x:"};
    for (size_t i = 0; i < sizeof(fill) / sizeof(fill[0]); i++) {
        size_t k = strlen(fill[i]);
        for (size_t n = 0; n + k <= sizeof(text); n += k)
            memcpy(text + n, fill[i], k);
        CHECK(cr_expr_compile(&e, &a, text, sizeof(text) / k * k, XY, 2, &where, &err) != CR_OK);
    }
    /* long but flat is fine up to the limit, then refused */
    size_t n = 0;
    for (int i = 0; i < 400; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%sx", i ? "+" : "");
    CHECK(cr_expr_compile(&e, &a, text, n, XY, 2, &where, &err) == CR_OK);
    CHECK(cr_expr_eval(e, (const double[]){1, 0}) == 400);
    CHECK(cr_expr_uses(e, 0) && !cr_expr_uses(e, 1));
    for (int i = 0; i < 400; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "+x");
    CHECK(cr_expr_compile(&e, &a, text, n, XY, 2, &where, &err) != CR_OK);
    cr_arena_clear(&a);
}

static float norm(const char *text, double x, bool f64) {
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_norm m;
    size_t where;
    cr_err err = {0};
    float y = NAN;
    if (cr_norm_parse(&m, &a, text, &where, &err) == CR_OK)
        cr_norm_apply(&m, &x, &y, 1, f64);
    else
        fprintf(stderr, "%s: %s\n", text, err.msg);
    cr_arena_clear(&a);
    return y;
}

TEST(normalizers) {
    for (int f64 = 0; f64 < 2; f64++) {
        CHECK(norm("", 2.5, f64) == 2.5f);
        CHECK_NEAR(norm("method=log10,threshold=1e-10,default=-10", 100, f64), 2, 0, 1e-7);
        CHECK_NEAR(norm("method=log10,threshold=1e-10,default=-10", 0, f64), -10, 0, 0);
        CHECK_NEAR(norm("method=log10", 1, f64), 0, 0, 0);
        CHECK_NEAR(norm("method=log10,default=7", 1, f64), 7, 0, 0); /* x > threshold, not >= */
        CHECK_NEAR(norm("method=zscore,mean=1,standard_deviation=2", 4, f64), 1.5, 0, 0);
        CHECK_NEAR(norm("method=minmax,min=2,max=6", 4, f64), 0.5, 0, 0);
        CHECK_NEAR(norm("method=minmax,min=2,max=6", 10, f64), 2, 0, 0);
        CHECK_NEAR(norm("method=expression,expr=max(x, 1) * 2", 0.5, f64), 2, 0, 0);
        CHECK_NEAR(norm(" method=expression, expr=x>0?log10(x):-1", 1000, f64), 3, 0, 1e-7);
        CHECK_NEAR(norm("threshold=0.5,method=log10,default=3", 0.25, f64), 3, 0, 0);
    }
    /* numeric columns compute in float32: 16777217 is not a float */
    CHECK(norm("method=zscore,mean=16777216,standard_deviation=1", 16777217, false) == 0);
    CHECK(norm("method=zscore,mean=16777216,standard_deviation=1", 16777217, true) == 1);
}

TEST(normalizer_errors) {
    static const struct {
        const char *text;
        size_t where;
        const char *say;
    } v[] = {
        {"log10", 0, "no method"},
        {"method=log", 7, "unknown method 'log'"},
        {"method", 0, "unknown method ''"},
        {"method=log10,method=log10", 20, "twice"},
        {"method=log10,broken", 13, "no parameter 'broken'"},
        {"method=log10,threshold=a", 23, "not a number"},
        {"method=log10,threshold=1,threshold=2", 25, "twice"},
        {"method=log10,threshold=-1", 0, "below 0"},
        {"method=zscore,mean=0", 0, "needs standard_deviation"},
        {"method=zscore,mean=0,standard_deviation=0", 0, "above 0"},
        {"method=minmax,min=1,max=1", 0, "above min"},
        {"method=expression", 0, "needs expr"},
        {"method=expression,expr=x+z", 25, "unknown name 'z'"},
        {"method=expression,expr=", 23, "ends too early"},
        {"method=log10,mean=3", 13, "no parameter 'mean'"},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        cr_arena a;
        cr_arena_init(&a, 0);
        cr_norm m;
        size_t where = 999;
        cr_err err = {0};
        CHECK(cr_norm_parse(&m, &a, v[i].text, &where, &err) == CR_ECONF);
        if (where != v[i].where || !strstr(err.msg, v[i].say)) {
            CHECK(false);
            fprintf(stderr, "'%s': character %zu: %s\n", v[i].text, where, err.msg);
        }
        cr_arena_clear(&a);
    }
}

TEST_MAIN(CASE(values), CASE(errors), CASE(no_text_is_too_much), CASE(normalizers),
          CASE(normalizer_errors))
