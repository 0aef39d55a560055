'use strict'
/*
 * stats.js - can others trust the statistics in our files?
 *
 * A wrong minimum makes a reader skip rows without a word. DuckDB skips row groups by their statistics,
 * hyparquet pages by the page index: both must find as many rows with a filter as there are without.
 */
const path = require('path')
const { duckdb, hyparquet, bufferOf } = require('./readers.js')

const FILES = ['crank_flat_groups', 'crank_flat_pages', 'crank_flat_plain', 'crank_required_zstd']

/* gives how many filters were tried, and what went wrong */
async function byDuckdb(file) {
  const { conn } = await duckdb()
  const ask = async sql => (await (await conn.run(sql)).getRows()).map(r => r[0])
  const bad = []
  let tried = 0
  await conn.run(`CREATE OR REPLACE TEMP TABLE t AS SELECT * FROM '${file}'`)
  const head = await conn.run('SELECT * FROM t LIMIT 0')
  for (const [k, name] of head.columnNames().entries()) {
    const type = String(head.columnType(k))
    const values = await ask(`SELECT v::VARCHAR FROM (SELECT min("${name}") AS v FROM t UNION ALL SELECT max("${name}") FROM t UNION ALL (SELECT "${name}" FROM t WHERE rowid % 97 = 5 LIMIT 4)) WHERE v IS NOT NULL`)
    const filters = [`"${name}" IS NULL`, `"${name}" IS NOT NULL`]
    /* the format says that statistics tell nothing about NaN; DuckDB believes them all the same */
    for (const v of values.filter(x => !/^-?nan$/.test(x))) for (const op of ['=', '<', '>=']) filters.push(`"${name}" ${op} CAST('${v.replace(/'/g, "''")}' AS ${type})`)
    for (const f of filters) {
      const [skipping] = await ask(`SELECT count(*) FROM '${file}' WHERE ${f}`)
      const [all] = await ask(`SELECT count(*) FROM t WHERE ${f}`)
      tried++
      if (skipping !== all) bad.push(`DuckDB finds ${skipping} of ${all} rows where ${f.slice(0, 80)}`)
    }
  }
  return { tried, bad }
}

const COLUMNS = ['i32', 'i64', 'f64', 'f32', 'string', 'enum', 'i8', 'u16', 'u32', 'date', 'ts_ms']

async function byHyparquet(file) {
  const h = await hyparquet()
  const { compressors } = await import('hyparquet-compressors')
  const buffer = bufferOf(file)
  const rows = await h.parquetReadObjects({ file: buffer, compressors, columns: COLUMNS })
  const number = v => (v instanceof Date ? v.getTime() : v)
  const bad = []
  let tried = 0
  for (const name of COLUMNS) {
    const values = rows.filter((r, i) => i % 331 === 7 && r[name] !== null && r[name] !== undefined && !Number.isNaN(r[name])).map(r => r[name])
    for (const v of values.slice(0, 4)) {
      for (const [op, test] of [['$eq', x => number(x) === number(v)], ['$gte', x => number(x) >= number(v)]]) {
        const want = rows.filter(r => r[name] !== null && r[name] !== undefined && test(r[name])).length
        const got = await h.parquetReadObjects({ file: buffer, compressors, columns: [name], filter: { [name]: { [op]: v } }, usePageIndex: true })
        tried++
        /* equal dates are not the same object, so hyparquet cannot compare them strictly */
        if (got.length !== want && !(v instanceof Date && op === '$eq')) bad.push(`hyparquet finds ${got.length} of ${want} rows where ${name} ${op} ${String(v).slice(0, 60)}`)
      }
    }
  }
  return { tried, bad }
}

/* verdict(ok, name, why) for every file; gives the number of filters */
async function check(dir, verdict) {
  let n = 0
  for (const base of FILES) {
    for (const version of ['V1', 'V2']) {
      const file = path.join(dir, `${base}_${version}.parquet`)
      for (const by of [byDuckdb, byHyparquet]) {
        const { tried, bad } = await by(file)
        n += tried
        verdict(!bad.length && tried > 0, `statistics of ${path.basename(file)}`, bad.slice(0, 3).join('; ') || 'nothing to try')
      }
    }
  }
  return n
}

module.exports = { check }

if (require.main === module)
  check(process.argv[2], (ok, name, why) => console.log(ok ? 'ok' : 'FAILED', name, ok ? '' : why)).then(n => {
    console.log(n, 'filters')
    process.exit(0)
  })
