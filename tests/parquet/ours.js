'use strict'
/*
 * ours.js WRITE_SAMPLES CRANK DIR - files by our writer in DIR, with what was put into them in the form
 * of canon.js; cases.json is as of make_files.js. A case without truth only has to look the same to
 * everybody.
 */
const fs = require('fs')
const path = require('path')
const { execFileSync } = require('child_process')
const canon = require('./canon.js')
const { readCrank } = require('./crank.js')
const { duckdb, duckRows, metadataOf, bufferOf } = require('./readers.js')
const { FLAT, NESTED, EXTRA } = require('./tables.js')

function value(v) {
  if (typeof v === 'string') {
    if (v[0] === 'f') return canon.float(Buffer.from(v.slice(1), 'hex').readDoubleBE(0))
    if (v[0] === "'") return canon.text(v.slice(1))
    if (v.startsWith('0x')) return canon.hex(Buffer.from(v.slice(2), 'hex'))
    return v
  }
  if (Array.isArray(v)) return v.map(value)
  if (v === null || typeof v !== 'object') return v
  return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, value(x)]))
}

/* write_samples.c: every type, codec, page version and nesting */
function samples(program, dir, cases) {
  execFileSync(program, [dir], { stdio: 'inherit' })
  for (const line of fs.readFileSync(path.join(dir, 'cases.txt'), 'utf8').trim().split('\n')) {
    const [name, what] = line.split('\t')
    const want = path.join(dir, name + '.want')
    const rows = fs.readFileSync(want)
    const fd = fs.openSync(path.join(dir, name + '.truth'), 'w')
    for (let at = 0; at < rows.length; ) {
      const end = rows.indexOf(10, at)
      fs.writeSync(fd, JSON.stringify(value(JSON.parse(rows.toString('utf8', at, end)))) + '\n')
      at = end + 1
    }
    fs.closeSync(fd)
    fs.rmSync(want)
    cases.push({ name, writer: 'crank', what, file: name + '.parquet', truth: name + '.truth' })
  }
}

/* what commands write: synth, and predict with columns of every type on their way through it */
async function commands(crank, dir, cases) {
  const run = (...args) => execFileSync(crank, [...args, '-q'], { stdio: ['ignore', 'ignore', 'inherit'] })
  const add = (name, what, from, truth) => {
    fs.copyFileSync(from, path.join(dir, name + '.parquet'))
    cases.push({ name, writer: 'crank', what, file: name + '.parquet', truth })
  }
  const work = path.join(dir, 'work')
  for (const kind of ['criteo', 'taobao', 'census']) {
    run('synth', kind, '--rows', '500', '--eval_rows', '200', '--format', 'parquet', '-o', path.join(work, kind))
    add(`synth_${kind}`, `synth ${kind}`, path.join(work, kind, 'eval', 'part-00000.parquet'))
  }
  const model = path.join(work, 'model')
  run('train', path.join(work, 'taobao', 'pipeline.yaml'), '--model_dir', model)
  run('export', path.join(model, 'pipeline.config'), '--export_dir', path.join(work, 'export'))
  const { conn } = await duckdb()
  const n = 200
  const input = path.join(work, 'input.parquet')
  await conn.run(`COPY (SELECT e.*, f.* REPLACE (f.u64 // 2 AS u64), n.* EXCLUDE (id, lll, ml, lst, lm), x.* EXCLUDE (id, iv) FROM (SELECT * FROM read_parquet('${work}/taobao/eval/*.parquet') LIMIT ${n}) e
    POSITIONAL JOIN (${FLAT(n)}) f POSITIONAL JOIN (${NESTED(n)}) n POSITIONAL JOIN (${EXTRA(n)}) x) TO '${input}' (FORMAT parquet)`)
  const out = path.join(work, 'out')
  run('predict', '--scripted_model_path', path.join(work, 'export'), '--predict_input_path', input, '--predict_output_path', out, '--reserved_columns', 'ALL_COLUMNS')
  /* The columns that came in must go out as DuckDB has them, but long decimals as doubles and members of
   * structs as columns (docs/formats/predictions.md); the two that are new are crank's word. */
  const result = path.join(out, 'part-0.parquet')
  const schema = canon.schemaOf(await metadataOf(bufferOf(result)))
  process.env.CRANK = crank
  const mine = await readCrank(result, schema)
  const given = await duckRows(`SELECT * EXCLUDE (s, ss, uuid, enum) REPLACE (d18::DOUBLE AS d18, d38::DOUBLE AS d38),
    s.a, s.b, ss."in".x, ss."in".l, ss.y, uuid, enum FROM '${input}'`, schema)
  const rows = given.map((r, i) => [...r, ...mine[i].slice(r.length)])
  fs.writeFileSync(path.join(dir, 'predict.truth'), rows.map(r => JSON.stringify(r) + '\n').join(''))
  add('predict', 'predict, reserved columns of every type', result, 'predict.truth')
  fs.rmSync(work, { recursive: true })
}

async function main() {
  const [, , program, crank, dir] = process.argv
  if (!dir) {
    console.error('ours.js: usage: ours.js WRITE_SAMPLES CRANK DIR')
    process.exit(2)
  }
  const cases = []
  fs.mkdirSync(dir, { recursive: true })
  samples(path.resolve(program), dir, cases)
  await commands(path.resolve(crank), dir, cases)
  fs.writeFileSync(path.join(dir, 'cases.json'), JSON.stringify(cases, null, 1) + '\n')
  console.log(`${cases.length} files in ${dir}`)
}

main().catch(e => {
  console.error(e)
  process.exit(1)
})
