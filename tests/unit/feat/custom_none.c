/* A library for custom.c that has no operators, or one without a name. */
#include <crank/feature.h>

#ifdef NAMELESS
static const crank_operator nameless;
static const crank_operator *const operators[] = {&nameless, NULL};
const crank_feature_library crank_features = {CRANK_FEATURE_ABI, operators};
#else
const crank_feature_library crank_features = {CRANK_FEATURE_ABI, NULL};
#endif
