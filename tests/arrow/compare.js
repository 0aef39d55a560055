'use strict'
/*
 * compare.js TOOL DIR - Arrow beside other implementations.
 *
 *   DuckDB writes a Parquet file -> our writer makes Arrow of it -> apache-arrow (JavaScript) reads it,
 *     and parquet-wasm (arrow-rs) makes Parquet of it, which DuckDB compares with the first file
 *   apache-arrow and arrow-rs write Arrow -> our reader gives its rows, which are those of the Parquet file
 *
 * A difference is printed, and the exit code is 1.
 */
const fs = require('fs')
const path = require('path')
const { execFileSync } = require('child_process')
const from = require('module').createRequire(path.join(__dirname, '..', 'parquet', 'package.json'))
const arrow = from('apache-arrow')
const duckdb = from('@duckdb/node-api')

const [tool, dir] = process.argv.slice(2)
const N = 3000
let checks = 0
let failed = 0
function check(ok, what) {
  checks++
  if (ok) return
  failed++
  console.log('differs: ' + what)
}

const COLUMNS = {
  b: 'CASE WHEN i % 5 = 0 THEN NULL ELSE i % 2 = 0 END',
  i8: '(i % 127 - 60)::TINYINT',
  u16: '(i * 7 % 65536)::USMALLINT',
  i32: 'CASE WHEN i % 3 = 0 THEN NULL ELSE (i * 7919 - 1000000)::INTEGER END',
  i64: '(i * 1000000007 - 500000)::BIGINT',
  f: '(i / 7.0)::FLOAT',
  d: "CASE WHEN i % 11 = 0 THEN NULL ELSE i / 3.0 END::DOUBLE",
  s: "CASE WHEN i % 4 = 0 THEN NULL ELSE repeat('ab', i % 20) || i END",
  day: "(DATE '2020-01-01' + (i % 1000)::INTEGER)",
  ts: "(TIMESTAMP '2021-02-03 04:05:06' + INTERVAL (i) SECOND)",
  dec: '(i * 1.25)::DECIMAL(18, 4)',
  big: '(i * 1000000000000.125)::DECIMAL(38, 3)',
  l: 'CASE WHEN i % 6 = 0 THEN NULL ELSE list_transform(range(i % 4), x -> CASE WHEN x = 2 THEN NULL ELSE x + i END) END',
  ll: 'CASE WHEN i % 7 = 0 THEN NULL ELSE list_transform(range(i % 3), x -> list_transform(range(x), y -> (y / 4.0)::FLOAT)) END',
  ls: "list_transform(range(i % 3), x -> 'tag' || x)",
  m: "CASE WHEN i % 9 = 0 THEN NULL ELSE map_from_entries([('k' || i, i / 2.0)]) END",
  st: "CASE WHEN i % 8 = 0 THEN NULL ELSE {'x': i, 'y': CASE WHEN i % 2 = 0 THEN NULL ELSE 'v' || i END} END",
}
/* what our reader gives as numbers, text, lists and maps */
const READ = Object.keys(COLUMNS).filter(c => c !== 'st').concat(['st.x', 'st.y']).join(',')

function rowsOf(dataset, file) {
  return execFileSync(tool, ['rows', dataset, file, READ], { maxBuffer: 1 << 28 }).toString()
}

/* A value of apache-arrow in the form of JSON that both sides are brought to. */
function plain(v) {
  if (v === null || v === undefined) return null
  if (typeof v === 'bigint') return v.toString()
  if (typeof v === 'number') return v
  if (typeof v === 'string' || typeof v === 'boolean') return v
  if (v instanceof Date) return String(v.getTime())
  if (v instanceof arrow.Vector) return Array.from(v, plain)
  if (ArrayBuffer.isView(v)) return Array.from(v, plain)
  if (typeof v[Symbol.iterator] === 'function') return Array.from(v, x => Array.isArray(x) ? x.map(plain) : plain(x))
  return String(v)
}

async function main() {
  fs.mkdirSync(dir, { recursive: true })
  const base = path.join(dir, 'base.parquet')
  const db = await (await duckdb.DuckDBInstance.create(':memory:')).connect()
  await db.run('SET threads = 1') /* list() keeps the order of rows */
  const one = async q => (await db.runAndReadAll(q)).getRows()[0]
  const list = Object.entries(COLUMNS).map(([n, e]) => `${e} AS ${n}`).join(', ')
  await db.run(`COPY (SELECT ${list} FROM range(${N}) t(i)) TO '${base}' (FORMAT parquet, ROW_GROUP_SIZE 2048)`)
  const expected = rowsOf('ParquetDataset', base)
  check(expected.split('\n').length === N + 1, 'the number of rows that our Parquet reader gives')

  const wasm = from('parquet-wasm')
  for (const codec of ['plain', 'lz4', 'zstd']) {
    for (const form of ['file', 'stream']) {
      const name = `ours_${codec}_${form}`
      const file = path.join(dir, name + '.arrow')
      execFileSync(tool, ['convert', base, file, codec, form, '700'])
      check(rowsOf('ArrowDataset', file) === expected, name + ': rows by our own reader')
      if (codec !== 'plain') {
        /* apache-arrow decompresses by functions that it is given; zstd and LZ4 are not in Node 20 */
        continue
      }
      const table = arrow.tableFromIPC(fs.readFileSync(file))
      check(table.numRows === N, name + ': rows by apache-arrow')
      for (const c of ['b', 'i8', 'u16', 'i32', 'i64', 'f', 'd', 's', 'l', 'll', 'ls']) {
        const sql = await db.runAndReadAll(`SELECT to_json(list(${c === 'i64' ? c + '::VARCHAR' : c})) FROM '${base}'`)
        const want = JSON.parse(sql.getRows()[0][0], (k, v) => v)
        const got = plain(table.getChild(c))
        const num = x => Array.isArray(x) ? x.map(num) : typeof x === 'number' && c !== 'd' ? Math.fround(x) : x
        const text = x => c === 'l' ? JSON.stringify(x).replace(/"/g, '') : JSON.stringify(num(x))
        check(text(got) === text(want), `${name}: column ${c} by apache-arrow`)
      }
      if (form === 'stream') {
        const back = path.join(dir, name + '.parquet')
        fs.writeFileSync(back, wasm.writeParquet(wasm.Table.fromIPCStream(fs.readFileSync(file))))
        for (const [a, b] of [[base, back], [back, base]]) {
          const n = await one(`SELECT count(*) FROM (SELECT * FROM '${a}' EXCEPT ALL SELECT * FROM '${b}')`)
          check(Number(n[0]) === 0, `${name}: DuckDB finds ${n[0]} rows only in ${path.basename(a)}`)
        }
      }
    }
  }

  /* the other way: their Arrow, our reader */
  const rs = path.join(dir, 'rs.arrow')
  fs.writeFileSync(rs, wasm.readParquet(fs.readFileSync(base)).intoIPCStream())
  check(rowsOf('ArrowDataset', rs) === expected, 'a stream by arrow-rs')
  const js = arrow.tableFromIPC(fs.readFileSync(rs))
  for (const form of ['file', 'stream']) {
    const file = path.join(dir, `js_${form}.arrow`)
    fs.writeFileSync(file, arrow.tableToIPC(js, form))
    check(rowsOf('ArrowDataset', file) === expected, `a ${form} by apache-arrow`)
  }
  /* dictionaries, which apache-arrow makes of text; and integers of all sizes */
  const words = Array.from({ length: N }, (x, i) => i % 13 === 0 ? null : 'word' + i % 97)
  const dict = new arrow.Table({
    w: arrow.vectorFromArray(words, new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32())),
    large: arrow.vectorFromArray(words, new arrow.LargeUtf8()),
    pair: arrow.vectorFromArray(words.map((w, i) => i % 5 ? [i, i + 1] : null),
      new arrow.FixedSizeList(2, new arrow.Field('item', new arrow.Float32(), true))),
  })
  for (const form of ['file', 'stream']) {
    const file = path.join(dir, `dict_${form}.arrow`)
    fs.writeFileSync(file, arrow.tableToIPC(dict, form))
    const got = execFileSync(tool, ['rows', 'ArrowDataset', file, 'w,large,pair']).toString()
    const want = words.map((w, i) => `${w}|${w}|${i % 5 ? `[${i}f,${i + 1}f]` : 'null'}\n`).join('')
    check(got === want, `dictionaries in a ${form} by apache-arrow`)
  }
  console.log(`arrow: ${checks - failed} of ${checks} comparisons agree`)
  process.exitCode = failed ? 1 : 0
}
main().catch(e => { console.error(e); process.exitCode = 1 })
