-- The table of tests/bench/parquet_duckdb.sh: what click logs look like, by formulas, so that it is the same everywhere. ROWS, DIR and
-- the codecs are filled in there. 1 label, 13 nullable floats (counts, amounts, rates), 12 ids and times whose values repeat as those
-- of users and items do (few of many), 14 short strings.
CREATE MACRO u(i, k) AS (hash(i * 64 + k) >> 11)::DOUBLE / 9007199254740992.0;
CREATE MACRO often(i, k, n) AS floor(n * pow(u(i, k), 3))::BIGINT;
CREATE MACRO hex8(x) AS printf('%08x', (hash(x) % 4294967296)::BIGINT);
CREATE TABLE log AS SELECT
    (hash(i) % 100 < 23)::INTEGER AS label,
    (floor(exp(6 * u(i, 1))) - 1)::FLOAT AS f0,
    CASE WHEN u(i, 21) >= 0.05 THEN ln(1 + 1000 * u(i, 2))::FLOAT END AS f1,
    CASE WHEN u(i, 22) >= 0.10 THEN round(u(i, 3), 2)::FLOAT END AS f2,
    CASE WHEN u(i, 23) >= 0.02 THEN (floor(exp(6 * u(i, 4))) - 1)::FLOAT END AS f3,
    CASE WHEN u(i, 24) >= 0.45 THEN ln(1 + 1000 * u(i, 5))::FLOAT END AS f4,
    CASE WHEN u(i, 25) >= 0.20 THEN round(u(i, 6), 2)::FLOAT END AS f5,
    CASE WHEN u(i, 26) >= 0.01 THEN (floor(exp(6 * u(i, 7))) - 1)::FLOAT END AS f6,
    CASE WHEN u(i, 27) >= 0.30 THEN ln(1 + 1000 * u(i, 8))::FLOAT END AS f7,
    CASE WHEN u(i, 28) >= 0.04 THEN round(u(i, 9), 2)::FLOAT END AS f8,
    CASE WHEN u(i, 29) >= 0.001 THEN (floor(exp(6 * u(i, 10))) - 1)::FLOAT END AS f9,
    CASE WHEN u(i, 30) >= 0.15 THEN ln(1 + 1000 * u(i, 11))::FLOAT END AS f10,
    CASE WHEN u(i, 31) >= 0.08 THEN round(u(i, 12), 2)::FLOAT END AS f11,
    CASE WHEN u(i, 32) >= 0.25 THEN (floor(exp(6 * u(i, 13))) - 1)::FLOAT END AS f12,
    often(i, 40, 3) AS i0,
    often(i, 41, 10) AS i1,
    often(i, 42, 60) AS i2,
    often(i, 43, 250) AS i3,
    often(i, 44, 1000) AS i4,
    often(i, 45, 5000) AS i5,
    often(i, 46, 20000) AS i6,
    often(i, 47, 100000) AS i7,
    often(i, 48, 500000) AS i8,
    often(i, 49, 2000000) AS i9,
    1700000000 + i // 50 AS i10,
    (hash(often(i, 50, 300000)) >> 8)::BIGINT AS i11,
    'item_' || often(i, 70, 4) AS s0,
    hex8(often(i, 71, 12)) AS s1,
    'cn_' || often(i, 72, 40) % 97 || '_' || often(i, 72, 40) AS s2,
    'item_' || often(i, 73, 100) AS s3,
    hex8(often(i, 74, 500)) AS s4,
    'cn_' || often(i, 75, 2000) % 97 || '_' || often(i, 75, 2000) AS s5,
    'item_' || often(i, 76, 8000) AS s6,
    hex8(often(i, 77, 30000)) AS s7,
    'cn_' || often(i, 78, 100000) % 97 || '_' || often(i, 78, 100000) AS s8,
    'item_' || often(i, 79, 300000) AS s9,
    hex8(often(i, 80, 1000000)) AS s10,
    'cn_' || often(i, 81, 20) AS s11,
    'item_' || often(i, 82, 1500) AS s12,
    hex8(often(i, 83, 50000)) AS s13
FROM range(ROWS) r(i);
