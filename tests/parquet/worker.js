'use strict'
/*
 * worker.js READER - reads files with one reader, one request per line of stdin:
 *   {"id": 1, "file": "x.parquet", "out": "rows.txt", "args": []}
 * Rows in the form of canon.js go to `out`; the answer is one line of stdout, {"id", "rows"} or
 * {"id", "error"}. A process of its own, so that a reader that crashes costs one file.
 */
const fs = require('fs')
const readline = require('readline')
const canon = require('./canon.js')
const { readers, metadataOf, bufferOf } = require('./readers.js')
const { readCrank } = require('./crank.js')

const read = process.argv[2] === 'crank' ? readCrank : readers[process.argv[2]]
let turn = Promise.resolve()

async function answer(line) {
  const job = JSON.parse(line)
  const reply = { id: job.id }
  try {
    let schema
    try {
      schema = canon.schemaOf(await metadataOf(bufferOf(job.file)))
    } catch (e) {
      schema = undefined
    }
    const rows = await read(job.file, schema, job)
    const fd = fs.openSync(job.out, 'w')
    for (let i = 0; i < rows.length; i += 1000) fs.writeSync(fd, rows.slice(i, i + 1000).map(r => JSON.stringify(r) + '\n').join(''))
    fs.closeSync(fd)
    reply.rows = rows.length
  } catch (e) {
    reply.error = String(e?.message ?? e).split('\n')[0]
    reply.exit = e?.exit
    reply.trap = e instanceof WebAssembly.RuntimeError
  }
  process.stdout.write(JSON.stringify(reply) + '\n')
  /* a WebAssembly program is not usable after a trap */
  if (reply.trap) process.exit(0)
}

readline
  .createInterface({ input: process.stdin })
  .on('line', line => (turn = turn.then(() => answer(line))))
  .on('close', () => turn.then(() => process.exit(0)))
