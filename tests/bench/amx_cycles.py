#!/usr/bin/python3
"""amx_cycles.py - how long the BF16 products take on a CPU with AMX, counted, not measured.

  amx_cycles.py [--rows 256] [--steps]

Counts the instructions that src/kern/x86/gemm_amx.c executes per block of C (32 x 32 sums) and multiplies them by
the cycles that one takes on an Intel Xeon of model 207 at 3 GHz. Prints the tables of docs/design/bf16.md: GFLOP/s
of each product with floats between products (each product converts what it reads) and with units (the product
before has written them), then rows/s of layers, of whole steps (--steps prints these alone, as docs/guide/performance.md
has them), and what other forms of the ops beside the products would save. An estimate: it knows neither cache misses
beyond the ones named below nor how well vector work hides; SEEN says what a prototype of the same loops reached of it.
"""
import argparse
import math

DOT = 16                            # one multiplication of tiles: 16 x 16 x 32
LOAD_L1, LOAD_L2 = 8.4, 21          # one tile of an operand
STORE_L1, LOAD_C, STORE_L2 = 20, 21, 64   # one tile of sums; these are not hidden
VECTOR = 1                          # vector operations per cycle that are free beside the tile unit
GHZ = 3 * 2.3 / 2.96                # the clock falls with what is multiplied: 2.2 to 2.35 TFLOP/s instead of 2.96
SEEN = 0.8                          # the prototype's forward products, 512 x 256 and 429 x 512, beside this count

TIMES = {1: 1, 2: 3, 3: 6}          # products of parts per block along k
LOADS = {1: (2, 2), 2: (4, 4), 3: (8, 8)}  # tiles of the left operand (L2, streamed) and of the right one (L1)

# Vector operations per row of 32 values, from units_int.h: adds, compares, moves, conversions and shuffles
LOAD_ROW = 2                        # masks and addresses
BIAS, RELU, BITS, MASK, FLOATS = 2, 4, 5, 5, 2


def rows_op(parts):
    return 2 * parts + 7 * (parts - 1)   # vcvtne2ps2bf16 is two; what is left for the next part is seven


def pairs_op(parts, fresh):
    return 2 * parts + (rows_op(parts) if fresh else 0)  # two shuffles of two cycles for two rows


def turned_op(parts):
    return 5 * parts                # eight quarters of 12 inserts and 8 shuffles per unit of 32 rows


def blocks(n):
    return math.ceil(n / 32)


def tiles(k, parts):
    """cycles of the tile unit for a block of C"""
    left, right = LOADS[parts]
    return blocks(k) * max(4 * DOT * TIMES[parts], left * LOAD_L2 + right * LOAD_L1)


def product(M, K, N, parts, epilogue):
    """left operand there; epilogue: vector operations per row of a block"""
    t = tiles(K, parts)
    return blocks(M) * blocks(N) * (t + 4 * STORE_L1 + max(0, 32 * epilogue / VECTOR - t))


def convert(M, K, ops):
    """outside of the tile loop: two vector operations per cycle, 64 bytes of a load from L2 in two cycles"""
    return M * blocks(K) * max(ops / 2, 4)


def layer(M, K, N, parts, units):
    """cycles of (forward, dX, dW) for y (M, N) = relu(x (M, K) W + b)"""
    floats = LOAD_ROW + FLOATS
    if units:
        fwd = product(M, K, N, parts, LOAD_ROW + BIAS + RELU + BITS + rows_op(parts) + pairs_op(parts, False))
        dx = product(M, N, K, parts, floats + MASK + rows_op(parts) + pairs_op(parts, False) + turned_op(parts))
    else:
        fwd = product(M, K, N, parts, floats + BIAS + RELU) + convert(M, K, rows_op(parts))
        dx = product(M, N, K, parts, floats + MASK) + convert(M, N, rows_op(parts))
    dw = blocks(K) * blocks(N) * (tiles(M, parts) + 4 * LOAD_C + 4 * STORE_L2)
    if not units:
        dw += convert(M, K, pairs_op(parts, True)) + convert(M, N, pairs_op(parts, True) + turned_op(parts))
    return fwd, dx, dw


def gflops(M, K, N, cycles):
    return 2 * M * K * N / cycles * GHZ * SEEN


def layers(M, widths, parts, units, back=True):
    """microseconds per row of two cores"""
    cycles = sum(sum(layer(M, K, N, parts, units)[:3 if back else 1]) for K, N in zip(widths, widths[1:]))
    return cycles / (2 * M) / (GHZ * SEEN * 1e3)


# ---- whole steps ----

# What the prototype's layers 429-512-256-128 reached of the count, forward and backward: floats between products, units
REACHED = {1: (709 / 1057, 1000 / 1205), 2: (377 / 434, 420 / 486), 3: (218 / 230, 238 / 257)}
POSITIONS = 50.5                    # of a sequence of up to 100 steps, on average
# The rest of a step: microseconds of one core per row, FP32 on a Zen 4 (perf: all symbols of the step that are no product);
# without the sums over distinct ids of deepfm's first layer, which are counted: 5.9 ms for 8192 rows of two cores
REST = {"deepfm": 2.7, "dlrm": 3.6, "din": 29.5}
SMALL_BATCH = 0.9                   # more per row at batch 512, two cores (the prototype: 645k and 407k rows/s)
PREDICT_REST = 0.37                 # of two cores per row: 268k rows/s in FP32, less the products at the machine's peak


def steps(parts):
    """(name, microseconds per row of two cores, floor and goal in thousand rows/s)"""
    fl, un = REACHED[parts]
    more = layers(256, [429, 512], parts, False) / layers(256, [429, 512], 1, False)
    first = 5900 / 8192 + 1700 / 8192 * more  # sums over distinct ids, and their products
    deepfm = layers(256, [512, 256, 128], parts, True) / un + first + REST["deepfm"] / 2
    dlrm = (layers(256, [367, 512, 256], parts, True) + layers(256, [13, 512, 256, 64, 16], parts, True)) / un + REST["dlrm"] / 2
    din = (POSITIONS * layers(256, [96, 256, 64], parts, False) / fl +
           layers(256, [272, 512, 256, 128], parts, True) / un + REST["din"] / 2)
    predict = layers(256, [429, 512, 256, 128, 64], parts, True, back=False) / un + PREDICT_REST
    bars = {1: ((400, 600), (250, 400), (250, 400), (40, 60)), 2: ((220, 300), (160, 230), (160, 210), (28, 38))}.get(parts, (None,) * 4)
    return [("deepfm, batch 8192", deepfm, bars[0]), ("deepfm, batch 512", deepfm + SMALL_BATCH, bars[1]),
            ("dlrm, batch 8192", dlrm, bars[2]), ("multi_tower_din, batch 2048", din, bars[3]),
            ("predict deepfm, batch 8192", predict, None)]


def print_steps():
    print("thousand rows/s of two cores, estimated (floor / goal)")
    print("| | BF16 | BF16x3 | BF16x6 |\n|---|---|---|---|")
    for rows in zip(*(steps(p) for p in TIMES)):
        cells = [f"{1e3 / us:.0f}" + (f" ({bar[0]} / {bar[1]})" if bar else "") for _, us, bar in rows]
        print(f"| {rows[0][0]} | " + " | ".join(cells) + " |")


# ---- what other forms of the rest would save ----

def savings():
    """(what, microseconds per row of two cores that it saves in BF16, of which step)"""
    per_us = 2 * GHZ * SEEN * 1e3
    M = 256
    x = convert(M, 429, rows_op(1)) + convert(M, 429, pairs_op(1, True))
    seq = convert(M, 256, rows_op(1)) + convert(M, 64, rows_op(1))
    all_steps = {n: us for n, us, _ in steps(1)}
    return [("lookups that write units for a first layer of 429 inputs", x / M / per_us, all_steps["deepfm, batch 8192"]),
            ("units between the layers of an attention, rows only", POSITIONS * seq / M / per_us, all_steps["multi_tower_din, batch 2048"])]


def main():
    ap = argparse.ArgumentParser(description="cycles of BF16 products with AMX, counted")
    ap.add_argument("--rows", type=int, default=256)
    ap.add_argument("--steps", action="store_true", help="whole steps alone")
    a = ap.parse_args()
    if a.steps:
        print_steps()
        return 0
    M, kinds = a.rows, {1: "BF16", 2: "BF16x3", 3: "BF16x6"}
    print(f"GFLOP/s of one core, {M} rows: floats between products / units")
    print("| | " + " | ".join(kinds.values()) + " |\n|---|---|---|---|")
    for K, N in ((429, 512), (512, 256), (256, 128), (145, 64)):
        for i, what in enumerate(("forward", "dX", "dW")):
            cells = [" / ".join(f"{gflops(M, K, N, layer(M, K, N, p, u)[i]):.0f}" for u in (False, True)) for p in kinds]
            print(f"| {K} × {N} {what} | " + " | ".join(cells) + " |")
    print("\nrows/s of two cores, forward and backward: floats between products / units")
    print("| layers | " + " | ".join(kinds.values()) + " |\n|---|---|---|---|")
    for widths in ([429, 512, 256, 128], [512, 256, 128], [367, 512, 256]):
        cells = []
        for p in kinds:
            rates = []
            for units in (False, True):
                cycles = sum(sum(layer(M, K, N, p, units)) for K, N in zip(widths, widths[1:]))
                rates.append(2 * M / (cycles / (GHZ * SEEN * 1e9)))
            cells.append(" / ".join(f"{r / 1e3:.0f}k" for r in rates))
        print("| " + "-".join(map(str, widths)) + " | " + " | ".join(cells) + " |")
    print()
    print_steps()
    print("\nwhat would be saved, microseconds per row of two cores in BF16, and of which step")
    for what, us, step in savings():
        print(f"{what}: {us:.3f} of {step:.2f} ({100 * us / step:.1f} %)")
    return 0


if __name__ == "__main__":
    main()
