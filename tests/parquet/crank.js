'use strict'
/*
 * crank.js - the rows that crank prints, in the form of canon.js.
 *
 * The output is parsed as bytes with the file's schema beside it: numbers keep their digits until their
 * type is known, and a string of a gigabyte never becomes a JavaScript string.
 */
const { spawn } = require('child_process')
const canon = require('./canon.js')

const QUOTE = 34
const BACKSLASH = 92

class Parser {
  constructor(buf) {
    this.b = buf
    this.at = 0
  }

  fail(what) {
    throw new Error(`crank's output, byte ${this.at}: ${what}`)
  }

  expect(c) {
    if (this.b[this.at] !== c.charCodeAt(0)) this.fail(`'${c}' expected`)
    this.at++
  }

  skip(c) {
    if (this.b[this.at] !== c.charCodeAt(0)) return false
    this.at++
    return true
  }

  /* a string as bytes of UTF-8 */
  string() {
    this.expect('"')
    const beg = this.at
    let end = this.b.indexOf(QUOTE, beg)
    if (end < 0) this.fail('string without end')
    const slash = this.b.indexOf(BACKSLASH, beg)
    if (slash < 0 || slash > end) {
      this.at = end + 1
      return this.b.subarray(beg, end)
    }
    for (end = slash; this.b[end] !== QUOTE; end++) if (this.b[end] === BACKSLASH) end++
    this.at = end + 1
    return Buffer.from(JSON.parse(this.b.subarray(beg - 1, end + 1).toString()))
  }

  word() {
    const beg = this.at
    while (this.at < this.b.length && !',]}:'.includes(String.fromCharCode(this.b[this.at]))) this.at++
    return this.b.toString('latin1', beg, this.at)
  }

  value(type) {
    const c = this.b[this.at]
    if (c === 110 /* n */) {
      if (this.word() !== 'null') this.fail('null expected')
      return null
    }
    if (c === 91 /* [ */) return this.array(type)
    if (c === 123 /* { */) return this.object(type)
    if (c === QUOTE) return leaf(type, this.string(), true, this)
    return leaf(type, this.word(), false, this)
  }

  array(type) {
    const out = []
    this.expect('[')
    if (this.skip(']')) return out
    do {
      if (type?.kind === 'map') {
        this.expect('[')
        const key = this.value(type.key)
        this.expect(',')
        out.push([key, this.value(type.value)])
        this.expect(']')
      } else out.push(this.value(type?.kind === 'list' ? type.item : undefined))
    } while (this.skip(','))
    this.expect(']')
    return out
  }

  object(type) {
    const out = {}
    let k = 0
    this.expect('{')
    if (this.skip('}')) return out
    do {
      const name = this.string().toString()
      this.expect(':')
      out[name] = this.value(type?.kind === 'struct' ? type.fields[k]?.type : undefined)
      k++
    } while (this.skip(','))
    this.expect('}')
    return out
  }

  row(schema) {
    const out = []
    const names = []
    this.expect('{')
    if (!this.skip('}')) {
      do {
        names.push(this.string().toString())
        this.expect(':')
        out.push(this.value(schema?.types[out.length]))
      } while (this.skip(','))
      this.expect('}')
    }
    if (schema && JSON.stringify(names) !== JSON.stringify(schema.names)) throw new Error('column names differ: ' + names.slice(0, 5))
    return out
  }
}

const SPECIAL = { NaN: NaN, inf: Infinity, '-inf': -Infinity, Infinity: Infinity, '-Infinity': -Infinity, nan: NaN }

function days(y, m, d) {
  /* days from 1970-01-01 in the Gregorian calendar, any year */
  const yy = m <= 2 ? y - 1 : y
  const era = Math.floor(yy / 400)
  const yoe = yy - era * 400
  const doy = Math.floor((153 * (m + (m > 2 ? -3 : 9)) + 2) / 5) + d - 1
  return era * 146097 + yoe * 365 + Math.floor(yoe / 4) - Math.floor(yoe / 100) + doy - 719468
}

function dateDays(s) {
  const m = /^([+-]?\d{4,})-(\d\d)-(\d\d)$/.exec(s)
  return m && days(+m[1], +m[2], +m[3])
}

function timeNanos(s) {
  const m = /^(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z?$/.exec(s)
  return m && (BigInt(m[1]) * 3600n + BigInt(m[2]) * 60n + BigInt(m[3])) * 1000000000n + BigInt((m[4] || '').padEnd(9, '0'))
}

function leaf(type, v, quoted, p) {
  const bad = () => p.fail(`a ${type.kind} was expected, not ${String(v).slice(0, 50)}`)
  if (!type) return quoted ? canon.text(v.toString()) : v
  const s = quoted && v.length > 100 ? '' : String(v)
  switch (type.kind) {
  case 'bool':
    if (v !== 'true' && v !== 'false') bad()
    return v === 'true'
  case 'int':
    if (quoted || !/^-?\d+$/.test(v)) bad()
    return v
  case 'float': {
    if (quoted && !(s in SPECIAL)) bad()
    let x = quoted ? SPECIAL[s] : Number(v)
    if (!quoted && (v === '' || Number.isNaN(x))) bad()
    if (type.bits === 32) x = Math.fround(x)
    if (type.bits === 16) x = nearestHalf(x)
    return canon.float(x)
  }
  case 'string':
    if (!quoted) bad()
    return v.length <= 1024 ? canon.text(v.toString()) : canon.longText(v)
  case 'decimal':
    if (!quoted || !/^-?\d+(\.\d+)?$/.test(s)) bad()
    return 'd' + s
  case 'date': {
    const d = dateDays(s)
    if (d === null) bad()
    return 'D' + d
  }
  case 'time': {
    const t = timeNanos(s)
    if (t === null) bad()
    return 't' + t
  }
  case 'timestamp': {
    const k = s.search(/[T ]/)
    const d = dateDays(s.slice(0, k))
    const t = timeNanos(s.slice(k + 1))
    if (d === null || t === null) bad()
    return 'T' + (BigInt(d) * 86400000000000n + t)
  }
  case 'uuid': return 'u' + s
  case 'interval': {
    const m = /^P(\d+)M(\d+)DT(\d+)(?:\.(\d{3}))?S$/.exec(s)
    if (!m) bad()
    return `I${m[1]} ${m[2]} ${Number(m[3]) * 1000 + Number(m[4] || 0)}`
  }
  default:
    if (!quoted || v[0] !== 48 || v[1] !== 120) bad()
    return v.length <= 2 + 512 ? s || v.toString() : canon.hex(Buffer.from(v.toString('latin1', 2), 'hex'))
  }
}

function nearestHalf(x) {
  if (!Number.isFinite(x) || x === 0) return x
  const e = Math.max(Math.floor(Math.log2(Math.abs(x))), -14)
  const ulp = 2 ** (e - 10)
  return Math.round(x / ulp) * ulp
}

/* line(buffer) is called for each line of the output: all of it may be longer than a Buffer can be
 * searched */
function run(args, line) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.env.CRANK, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let pieces = []
    let err = ''
    let bad
    const finish = piece => {
      if (piece.length) pieces.push(piece)
      const whole = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)
      pieces = []
      try {
        if (!bad) line(whole)
      } catch (e) {
        bad = e
      }
    }
    child.on('error', reject)
    child.stdout.on('data', d => {
      let at = 0
      for (let end; (end = d.indexOf(10, at)) >= 0; at = end + 1) finish(d.subarray(at, end))
      if (at < d.length) pieces.push(d.subarray(at))
    })
    child.stderr.on('data', d => (err += d))
    child.on('close', (code, signal) => {
      if (pieces.length) finish(Buffer.alloc(0))
      if (bad && code === 0) reject(bad)
      else resolve({ err, code, signal })
    })
  })
}

async function readCrank(file, schema, job) {
  const rows = []
  const r = await run(['parquet', file, '--rows_json', ...(job?.args || [])], line => {
    const p = new Parser(line)
    rows.push(p.row(schema))
    if (p.at !== p.b.length) p.fail('more than a row')
  })
  if (r.signal) throw new Error('crashed: ' + r.signal)
  if (r.code !== 0) {
    const e = new Error(r.err.trim() || 'no message')
    const lines = r.err.trim().split('\n')
    if (lines.length !== 1 || !lines[0].includes(file) || /Sanitizer|runtime error/.test(r.err)) e.message = 'not a one-line error that names the file: ' + lines[0]
    e.exit = r.code
    throw e
  }
  return rows
}

module.exports = { readCrank, run }
