'use strict'
/* tables.js - queries that make n rows of many types, for DuckDB. */

/* Every flat type DuckDB writes, with nulls and the edges of each type. */
const FLAT = n => `SELECT
  i::INTEGER AS id,
  CASE WHEN i % 7 = 3 THEN NULL ELSE i % 3 = 0 END AS bool,
  CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN -128 WHEN 2 THEN 127 ELSE i % 100 END::TINYINT AS i8,
  CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN -32768 WHEN 2 THEN 32767 ELSE i % 1000 END::SMALLINT AS i16,
  CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN -2147483648 WHEN 2 THEN 2147483647 ELSE i * 7919 % 100003 END::INTEGER AS i32,
  CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN -9223372036854775808 WHEN 2 THEN 9223372036854775807 ELSE i * 1000003 END::BIGINT AS i64,
  CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN 255 ELSE i % 200 END::UTINYINT AS u8,
  CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN 65535 ELSE i % 60000 END::USMALLINT AS u16,
  CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN 4294967295 ELSE i END::UINTEGER AS u32,
  CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN 18446744073709551615 ELSE i END::UBIGINT AS u64,
  CASE i % 11 WHEN 0 THEN NULL WHEN 1 THEN 'nan'::FLOAT WHEN 2 THEN 'inf'::FLOAT WHEN 3 THEN '-inf'::FLOAT WHEN 4 THEN '-0.0'::FLOAT
    WHEN 5 THEN 1e-45::FLOAT WHEN 6 THEN 3.4028235e38::FLOAT ELSE (sin(i) * pow(10, i % 20))::FLOAT END AS f32,
  CASE i % 11 WHEN 0 THEN NULL WHEN 1 THEN 'nan'::DOUBLE WHEN 2 THEN 'inf'::DOUBLE WHEN 3 THEN '-inf'::DOUBLE WHEN 4 THEN '-0.0'::DOUBLE
    WHEN 5 THEN 5e-324::DOUBLE WHEN 6 THEN 1.7976931348623157e308::DOUBLE ELSE cos(i) * pow(10, i % 200 - 100) END AS f64,
  CASE i % 6 WHEN 0 THEN NULL ELSE (i % 1999 - 999) / 10 END::DECIMAL(4, 1) AS d4,
  CASE i % 6 WHEN 0 THEN NULL ELSE (i * 7919 % 1999999 - 999999) / 100 END::DECIMAL(9, 2) AS d9,
  CASE i % 6 WHEN 0 THEN NULL WHEN 1 THEN '-999999999999999.999'::DECIMAL(18, 3) ELSE ((i * 1000003) / 1000)::DECIMAL(18, 3) END AS d18,
  CASE i % 6 WHEN 0 THEN NULL WHEN 1 THEN '-9999999999999999999999999999.9999999999'::DECIMAL(38, 10) WHEN 2 THEN '0.0000000001'::DECIMAL(38, 10) ELSE i::DECIMAL(38, 10) END AS d38,
  CASE WHEN i % 9 = 0 THEN NULL ELSE DATE '1970-01-01' + (i * 37 - 20000)::INTEGER END AS date,
  CASE WHEN i % 9 = 1 THEN NULL ELSE make_timestamp(i * 1234567890123 - 60000000000000000) END AS ts,
  CASE WHEN i % 9 = 2 THEN NULL ELSE make_timestamp(i * 1000000 - 5000000)::TIMESTAMP_S END AS ts_s,
  CASE WHEN i % 9 = 3 THEN NULL ELSE make_timestamp(i * 1001000 - 5000000)::TIMESTAMP_MS END AS ts_ms,
  CASE WHEN i % 9 = 4 THEN NULL ELSE make_timestamp_ns(i * 1234567890123456 - 600000000000000000) END AS ts_ns,
  CASE WHEN i % 9 = 5 THEN NULL ELSE make_timestamp(i * 86400000001)::TIMESTAMPTZ END AS ts_tz,
  CASE WHEN i % 9 = 6 THEN NULL ELSE TIME '00:00:00' + to_microseconds(i * 28799999 % 86400000000) END AS time,
  CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE 'v' || (i % 17) END AS few,
  CASE i % 8 WHEN 0 THEN NULL WHEN 1 THEN 'Grüße, 世界 😀' WHEN 2 THEN repeat('ab', i % 300) WHEN 3 THEN e'quote " slash \\\\ tab \\t end' ELSE md5(i::VARCHAR) END AS many,
  CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN ''::BLOB ELSE unhex(md5(i::VARCHAR)) END AS blob,
  NULL::INTEGER AS nothing,
  42::BIGINT AS same
  FROM range(${n}) r(i)`

const NESTED = n => `SELECT
  i::INTEGER AS id,
  CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN [] ELSE list_transform(range(i % 7), x -> CASE WHEN x = 2 THEN NULL ELSE x * i END) END::BIGINT[] AS l,
  CASE i % 6 WHEN 0 THEN NULL WHEN 1 THEN [] ELSE list_transform(range(i % 4), x -> CASE WHEN x = 1 THEN NULL ELSE 's' || (x * i % 50) END) END::VARCHAR[] AS ls,
  CASE i % 4 WHEN 0 THEN [] ELSE list_transform(range(i % 3 + 1), x -> (x * 0.5)::FLOAT) END AS lf,
  CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN [] WHEN 2 THEN [[], NULL, []] ELSE
    list_transform(range(i % 4), x -> CASE WHEN x = 1 THEN NULL ELSE list_transform(range((i + x) % 3), y -> CASE WHEN y = 1 THEN NULL ELSE y + x + i END) END) END::INTEGER[][] AS ll,
  CASE i % 3 WHEN 0 THEN [] ELSE [[[i, i + 1], NULL], [], NULL, [[], [NULL, i]]] END::INTEGER[][][] AS lll,
  CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN MAP {} ELSE MAP { i: i * 0.25, i + 1: NULL } END::MAP(BIGINT, DOUBLE) AS m,
  CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN MAP {} ELSE MAP { 'k' || (i % 9): [i, NULL], 'z': NULL } END::MAP(VARCHAR, INTEGER[]) AS ml,
  CASE i % 4 WHEN 0 THEN NULL ELSE { 'a': CASE WHEN i % 3 = 0 THEN NULL ELSE i END, 'b': CASE WHEN i % 2 = 0 THEN NULL ELSE 's' || i END } END::STRUCT(a BIGINT, b VARCHAR) AS s,
  CASE i % 5 WHEN 0 THEN NULL ELSE { 'in': CASE WHEN i % 2 = 0 THEN NULL ELSE { 'x': i, 'l': CASE WHEN i % 3 = 0 THEN NULL ELSE [i] END } END, 'y': i } END::STRUCT("in" STRUCT(x INTEGER, l INTEGER[]), y INTEGER) AS ss,
  CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN [] ELSE [{ 'a': i, 't': ['p', NULL] }, NULL, { 'a': NULL, 't': [] }] END::STRUCT(a INTEGER, t VARCHAR[])[] AS lst,
  CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN [] ELSE [MAP { 'a': i }, NULL, MAP {}] END::MAP(VARCHAR, INTEGER)[] AS lm
  FROM range(${n}) r(i)`

/* types that a second writer would change */
const EXTRA = n => `SELECT i::INTEGER AS id,
  CASE WHEN i % 4 = 0 THEN NULL ELSE md5(i::VARCHAR)::UUID END AS uuid,
  CASE WHEN i % 4 = 1 THEN NULL ELSE to_months((i % 40)::INTEGER) + to_days((i % 99)::INTEGER) + to_milliseconds(i * 1001) END AS iv,
  CASE WHEN i % 4 = 2 THEN NULL ELSE (['low', 'middle', 'high'])[i % 3 + 1] END::ENUM('low', 'middle', 'high') AS enum
  FROM range(${n}) r(i)`

const SKEWED = n => `SELECT (i // 1000)::INTEGER AS runs, (i * 7919 % ${n})::INTEGER AS mixed, i::BIGINT AS rising,
  'w' || (i * 31 % 4000) AS words, CASE WHEN (i // 2500) % 2 = 0 THEN NULL ELSE i::DOUBLE END AS holes, (i % 5000 = 77) AS rare FROM range(${n}) r(i)`

module.exports = { FLAT, NESTED, EXTRA, SKEWED }
