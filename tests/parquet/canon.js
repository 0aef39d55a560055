'use strict'
/*
 * canon.js - one form for the values of every reader.
 *
 * A row becomes an array with one entry per top-level column; lists are arrays, maps are arrays of
 * [key, value], structs are objects; null stays null. A value becomes a short tagged text that keeps
 * every bit that matters:
 *
 *   true, false   "123" integers           "0.1", "-0", "NaN" floats, as the exact double
 *   "'text"       "0x00ff" bytes           "d1.20" decimals
 *   "D-3" days    "t5" nanoseconds of day  "T12" nanoseconds since 1970   "I1 2 3" months days millis
 *   "u..." UUID
 *
 * Long texts and bytes are their length and SHA-1. "T120~1000" is a time whose reader knows only
 * multiples of 1000 nanoseconds. The schema tree below follows the format's definition of lists, maps
 * and bare repeated fields (LogicalTypes.md, "Nested Types").
 */
const crypto = require('crypto')

const LONG = 256

function hash(bytes) {
  return crypto.createHash('sha1').update(bytes).digest('hex')
}

const longText = bytes => `'#${bytes.length}:${hash(bytes)}`
const text = s => (s.length <= LONG ? "'" + s : longText(Buffer.from(s)))
const hex = b =>
  b.length <= LONG ? '0x' + Buffer.from(b.buffer, b.byteOffset, b.length).toString('hex') : `0x#${b.length}:${hash(b)}`
const float = x => (Object.is(x, -0) ? '-0' : String(x))

function decimal(value, scale) {
  const minus = value < 0n
  let digits = (minus ? -value : value).toString()
  if (scale > 0) {
    digits = digits.padStart(scale + 1, '0')
    digits = digits.slice(0, -scale) + '.' + digits.slice(-scale)
  }
  return 'd' + (minus ? '-' : '') + digits
}

/* big-endian two's complement, as decimals are stored in bytes */
function bigEndian(bytes) {
  if (!bytes.length) return 0n
  const v = BigInt('0x' + Buffer.from(bytes).toString('hex'))
  return BigInt.asIntN(8 * bytes.length, v)
}

function uuid(bytes) {
  const h = Buffer.from(bytes).toString('hex')
  return `u${h.slice(0, 8)}-${h.slice(8, 12)}-${h.slice(12, 16)}-${h.slice(16, 20)}-${h.slice(20)}`
}

function interval(bytes) {
  const b = Buffer.from(bytes)
  return `I${b.readUInt32LE(0)} ${b.readUInt32LE(4)} ${b.readUInt32LE(8)}`
}

function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1
  const exp = (bits >> 10) & 31
  const frac = bits & 1023
  if (exp === 0) return sign * frac * 2 ** -24
  if (exp === 31) return frac ? NaN : sign * Infinity
  return sign * (1 + frac / 1024) * 2 ** (exp - 15)
}

const NANOS = { MILLIS: 1000000n, MICROS: 1000n, NANOS: 1n }

/* What a leaf means: kind is one of bool, int, float, bytes, string, decimal, date, time, timestamp,
 * interval, uuid, null. Follows the annotations of a SchemaElement as hyparquet parses it. */
function leafOf(e) {
  const lt = e.logical_type || {}
  const ct = e.converted_type
  const leaf = { kind: 'bytes', physical: e.type, size: e.type_length }
  const isBytes = e.type === 'BYTE_ARRAY' || e.type === 'FIXED_LEN_BYTE_ARRAY'
  const isInt = e.type === 'INT32' || e.type === 'INT64'
  const unit = u => NANOS[u]
  if (e.type === 'BOOLEAN') leaf.kind = 'bool'
  if (e.type === 'FLOAT' || e.type === 'DOUBLE') Object.assign(leaf, { kind: 'float', bits: e.type === 'FLOAT' ? 32 : 64 })
  if (isInt) Object.assign(leaf, { kind: 'int', bits: e.type === 'INT32' ? 32 : 64, signed: true })
  if (e.type === 'INT96') Object.assign(leaf, { kind: 'timestamp', nanos: 1n })
  if (lt.type === 'NULL') leaf.kind = 'null'
  else if ((lt.type === 'DECIMAL' || ct === 'DECIMAL') && (isInt || isBytes)) {
    Object.assign(leaf, { kind: 'decimal', scale: lt.scale ?? e.scale ?? 0 })
  } else if (isInt && (lt.type === 'DATE' || ct === 'DATE')) leaf.kind = 'date'
  else if (isInt && lt.type === 'TIME') Object.assign(leaf, { kind: 'time', nanos: unit(lt.unit) })
  else if (isInt && ct && ct.startsWith('TIME_')) Object.assign(leaf, { kind: 'time', nanos: unit(ct.slice(5)) })
  else if (isInt && lt.type === 'TIMESTAMP') Object.assign(leaf, { kind: 'timestamp', nanos: unit(lt.unit) })
  else if (isInt && ct && ct.startsWith('TIMESTAMP_')) Object.assign(leaf, { kind: 'timestamp', nanos: unit(ct.slice(10)) })
  else if (isInt && lt.type === 'INTEGER') Object.assign(leaf, { intBits: lt.bitWidth, signed: lt.isSigned })
  else if (isInt && ct && /^U?INT_/.test(ct)) Object.assign(leaf, { intBits: +ct.split('_')[1], signed: ct[0] !== 'U' })
  else if (isBytes && (['STRING', 'ENUM', 'JSON'].includes(lt.type) || ['UTF8', 'ENUM', 'JSON'].includes(ct))) leaf.kind = 'string'
  else if (lt.type === 'UUID') leaf.kind = 'uuid'
  else if (lt.type === 'FLOAT16') Object.assign(leaf, { kind: 'float', bits: 16 })
  else if (ct === 'INTERVAL') leaf.kind = 'interval'
  return leaf
}

const annotated = (e, ...names) => names.includes(e.converted_type) || names.includes(e.logical_type?.type)

/* The type of a field: its repetition first (a bare repeated field is a list), then what it holds. */
function typeOf(node, inList) {
  const e = node.element
  if (e.repetition_type === 'REPEATED' && !inList) return { kind: 'list', bare: true, item: typeOf(node, true) }
  if (!node.children.length) return leafOf(e)
  const c = node.children
  if (annotated(e, 'LIST') && c.length === 1 && c[0].element.repetition_type === 'REPEATED') {
    const r = c[0]
    const name = r.element.name
    const twoLevel =
      r.children.length !== 1 ||
      r.children[0].element.repetition_type === 'REPEATED' ||
      annotated(r.element, 'LIST', 'MAP') ||
      name === 'array' ||
      name === e.name + '_tuple'
    return { kind: 'list', twoLevel, item: twoLevel ? typeOf(r, true) : typeOf(r.children[0]) }
  }
  if (annotated(e, 'MAP', 'MAP_KEY_VALUE') && c.length === 1 && c[0].element.repetition_type === 'REPEATED' && c[0].children.length) {
    const [k, v] = c[0].children
    if (!v) return { kind: 'list', set: true, item: typeOf(k) }
    if (c[0].children.length === 2) return { kind: 'map', key: typeOf(k), value: typeOf(v), names: [k.element.name, v.element.name] }
  }
  return { kind: 'struct', fields: c.map(x => ({ name: x.element.name, type: typeOf(x) })) }
}

/* schemaOf gives {names, types} of the top-level columns from parsed metadata; big: half a gigabyte or more */
function schemaOf(metadata) {
  let at = 0
  const tree = () => {
    const element = metadata.schema[at++]
    if (!element) throw new Error('schema ends early')
    const children = []
    for (let i = 0; i < (element.num_children || 0); i++) children.push(tree())
    return { element, children }
  }
  const root = tree()
  const bytes = metadata.row_groups.reduce((sum, g) => sum + Number(g.total_byte_size), 0)
  return { names: root.children.map(c => c.element.name), types: root.children.map(c => typeOf(c)), big: bytes > 2 ** 29 }
}

/* A stored value (number, bigint, Uint8Array, boolean; INT96 as bigint) in canonical form. */
function stored(leaf, v) {
  if (v === null || v === undefined) return null
  switch (leaf.kind) {
  case 'null': return null
  case 'bool': return !!v
  case 'int': {
    const b = BigInt(v)
    return (leaf.signed ? b : BigInt.asUintN(leaf.bits, b)).toString()
  }
  case 'float': return float(leaf.bits === 16 && v instanceof Uint8Array ? half(v[0] | (v[1] << 8)) : v)
  case 'string': return typeof v === 'string' ? text(v) : text(Buffer.from(v).toString())
  case 'decimal': return decimal(v instanceof Uint8Array ? bigEndian(v) : BigInt(v), leaf.scale)
  case 'date': return 'D' + v
  case 'time': return 't' + BigInt(v) * leaf.nanos
  case 'timestamp': return 'T' + BigInt(v) * leaf.nanos
  case 'uuid': return uuid(v)
  case 'interval': return interval(v)
  default: return typeof v === 'string' ? text(v) : hex(v)
  }
}

/* same compares canonical rows; a time with "~step" equals those nearer than a step. */
function same(a, b) {
  if (a === b) return true
  if (typeof a === 'string' && typeof b === 'string') {
    const [x, sx] = a.split('~')
    const [y, sy] = b.split('~')
    if (!sx && !sy) return false
    if (!/^[Tt]-?\d+$/.test(x) || !/^[Tt]-?\d+$/.test(y) || x[0] !== y[0]) return false
    const step = BigInt(Math.max(Number(sx || 1), Number(sy || 1)))
    const apart = BigInt(x.slice(1)) - BigInt(y.slice(1))
    return apart > -step && apart < step
  }
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const ka = Object.keys(a)
  const kb = Object.keys(b)
  return ka.length === kb.length && ka.every((k, i) => k === kb[i] && same(a[k], b[k]))
}

module.exports = { text, longText, hex, float, decimal, bigEndian, uuid, interval, half, schemaOf, stored, same, NANOS }
