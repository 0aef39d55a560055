'use strict'
/*
 * golden.js CRANK MADE DIR - puts the small files of make_files.js, and their rows as crank prints
 * them, into DIR; list.txt says which rows belong to which file. Rows are only taken when they are exactly what the file's writer was given.
 */
const fs = require('fs')
const path = require('path')
const { readCrank, run } = require('./crank.js')
const { schemaOf } = require('./canon.js')
const { metadataOf, bufferOf } = require('./readers.js')

async function main() {
  const [, , crank, made, dir] = process.argv
  if (!dir) {
    console.error('golden.js: usage: golden.js CRANK MADE DIR')
    process.exit(2)
  }
  const list = []
  process.env.CRANK = path.resolve(crank)
  fs.mkdirSync(dir, { recursive: true })
  for (const c of JSON.parse(fs.readFileSync(path.join(made, 'cases.json'), 'utf8')).filter(x => x.golden)) {
    const file = path.join(made, c.file)
    const rows = await readCrank(file, schemaOf(await metadataOf(bufferOf(file))))
    if (rows.map(r => JSON.stringify(r) + '\n').join('') !== fs.readFileSync(path.join(made, c.truth), 'utf8')) throw new Error(file + ': not what was put in')
    const want = c.truth.replace('.truth', '.jsonl')
    fs.copyFileSync(file, path.join(dir, c.file))
    const text = []
    await run(['parquet', file, '--rows_json'], line => text.push(line, Buffer.from('\n')))
    fs.writeFileSync(path.join(dir, want), Buffer.concat(text))
    list.push(`${c.file} ${want}\n`)
  }
  fs.writeFileSync(path.join(dir, 'list.txt'), list.join(''))
}

main().catch(e => {
  console.error(e)
  process.exit(1)
})
