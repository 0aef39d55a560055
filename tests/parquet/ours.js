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

/* A node of a schema in the words of `like`: a type may be written in the older form, the newer one, or both. */
function sameWords(node, like) {
  const { converted_type: old, logical_type: logical, ...rest } = node
  return JSON.stringify([rest, like.logical_type ? logical : old])
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
  process.env.CRANK = crank
  /* The columns that come in must go out as DuckDB has them, with the schema they had; the two that are new are
   * crank's word. */
  const predict = async (name, what, columns) => {
    const input = path.join(work, name + '.parquet')
    const out = path.join(work, name)
    const result = path.join(out, 'part-0.parquet')
    await conn.run(`COPY (SELECT e.*, ${columns} FROM (SELECT * FROM read_parquet('${work}/taobao/eval/*.parquet') LIMIT ${n}) e
      POSITIONAL JOIN (${FLAT(n)}) f POSITIONAL JOIN (${NESTED(n)}) n POSITIONAL JOIN (${EXTRA(n)}) x) TO '${input}' (FORMAT parquet, ROW_GROUP_SIZE 64)`)
    run('predict', '--scripted_model_path', path.join(work, 'export'), '--predict_input_path', input, '--predict_output_path', out,
      '--reserved_columns', 'ALL_COLUMNS', '--batch_size', '37')
    const [stored, kept] = await Promise.all([input, result].map(async f => (await metadataOf(bufferOf(f))).schema.slice(1)))
    for (const [i, node] of stored.entries()) {
      const was = sameWords(node, node)
      const is = sameWords(kept[i], node)
      if (was !== is) throw new Error(`predict changed the schema: ${was} became ${is}`)
    }
    const schema = canon.schemaOf(await metadataOf(bufferOf(result)))
    const mine = await readCrank(result, schema)
    const given = await duckRows(`SELECT * FROM '${input}'`, schema)
    const rows = given.map((r, i) => [...r, ...mine[i].slice(r.length)])
    fs.writeFileSync(path.join(dir, name + '.truth'), rows.map(r => JSON.stringify(r) + '\n').join(''))
    add(name, what, result, name + '.truth')
  }
  await predict('predict', 'predict, reserved columns of every type', 'f.*, n.* EXCLUDE (id), x.* EXCLUDE (id, iv)')
  await predict('predict_interval', 'predict, reserved intervals', 'x.iv')
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
