'use strict'
/*
 * ours.js PROGRAM DIR - runs write_samples into DIR and turns what it says it wrote into the form of
 * canon.js; cases.json is as of make_files.js.
 */
const fs = require('fs')
const path = require('path')
const { execFileSync } = require('child_process')
const canon = require('./canon.js')

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

const [, , program, dir] = process.argv
if (!program || !dir) {
  console.error('ours.js: usage: ours.js PROGRAM DIR')
  process.exit(2)
}
fs.mkdirSync(dir, { recursive: true })
execFileSync(program, [dir], { stdio: 'inherit' })
const cases = []
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
fs.writeFileSync(path.join(dir, 'cases.json'), JSON.stringify(cases, null, 1) + '\n')
console.log(`${cases.length} files in ${dir}`)
