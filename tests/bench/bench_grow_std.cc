// bench_grow_std.cc - std::unordered_map, for bench_grow.c to compare with.
#include <cstdint>
#include <unordered_map>

using map = std::unordered_map<std::uint64_t, std::uint32_t>;

extern "C" {
void *std_map_new() {
    return new map;
}
void std_map_add(void *m, std::uint64_t key, std::uint32_t row) {
    static_cast<map *>(m)->emplace(key, row);
}
std::uint64_t std_map_sum(const void *m, const std::int64_t *keys, std::int64_t n) {
    const map &v = *static_cast<const map *>(m);
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < n; i++) {
        auto at = v.find(static_cast<std::uint64_t>(keys[i]));
        if (at != v.end()) sum += at->second + 1ULL;
    }
    return sum;
}
void std_map_free(void *m) {
    delete static_cast<map *>(m);
}
}
