'use strict'
/*
 * readers.js - the readers that are not ours: file -> rows in the form of canon.js.
 *
 * Each converts by its own types; the file's schema only says what a value means where a reader has no
 * type for it (a UUID in 16 bytes). hyparquet is asked for what is stored: annotations it would turn
 * into doubles (decimals), into objects with text keys (maps), or refuse (BSON, intervals) are taken
 * out of the metadata before it reads, and the values get their meaning here.
 */
const fs = require('fs')
const canon = require('./canon.js')

const esm = {}
async function hyparquet() {
  if (!esm.h) {
    esm.h = await import('hyparquet')
    esm.c = (await import('hyparquet-compressors')).compressors
  }
  return esm.h
}

function bufferOf(path) {
  const b = fs.readFileSync(path)
  return b.buffer.slice(b.byteOffset, b.byteOffset + b.byteLength)
}

/* The metadata by hyparquet; undefined when it cannot parse it. */
async function metadataOf(buffer) {
  const h = await hyparquet()
  return h.parquetMetadata(buffer, { geoparquet: false })
}

/* ---- hyparquet ---- */

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const PARSERS = {
  timestampFromMilliseconds: v => v,
  timestampFromMicroseconds: v => v,
  timestampFromNanoseconds: v => v,
  dateFromDays: v => v,
  /* longer than a JavaScript string can be: only the hash matters */
  stringFromBytes: v => v && (v.length > 1 << 28 ? { long: canon.longText(v) } : decoder.decode(v)),
  jsonFromBytes: v => v && decoder.decode(v),
  geometryFromBytes: v => v,
  geographyFromBytes: v => v,
  uuidFromBytes: v => v,
}

function hyValue(type, v) {
  if (v === null || v === undefined) return null
  switch (type.kind) {
  case 'list': {
    if (type.set && v.key_value) return v.key_value.map(x => hyValue(type.item, x.key))
    if (!Array.isArray(v) && typeof v === 'object' && !ArrayBuffer.isView(v)) {
      /* a list that hyparquet does not take for one: a struct with one repeated member */
      const inner = Object.values(v)
      if (inner.length === 1 && Array.isArray(inner[0])) v = inner[0]
    }
    return Array.from(v, x => hyValue(type.item, x))
  }
  case 'map': {
    const entries = Object.values(v)[0] || []
    return Array.from(entries, x => [hyValue(type.key, x[type.names[0]]), hyValue(type.value, x[type.names[1]])])
  }
  case 'struct': {
    const out = {}
    for (const f of type.fields) out[f.name] = hyValue(f.type, v[f.name])
    return out
  }
  default: return v.long ?? canon.stored(type, v)
  }
}

async function readHyparquet(path) {
  const h = await hyparquet()
  const file = bufferOf(path)
  const metadata = await metadataOf(file)
  const schema = canon.schemaOf(metadata)
  for (const e of metadata.schema) {
    if (['DECIMAL', 'BSON', 'INTERVAL', 'MAP', 'MAP_KEY_VALUE'].includes(e.converted_type)) delete e.converted_type
    if (['DECIMAL', 'BSON', 'MAP', 'GEOMETRY', 'GEOGRAPHY', 'VARIANT'].includes(e.logical_type?.type)) delete e.logical_type
  }
  let rows
  await h.parquetRead({ file, metadata, compressors: esm.c, utf8: false, parsers: PARSERS, geoparquet: false, onComplete: r => (rows = r) })
  return rows.map(r => schema.types.map((t, i) => hyValue(t, r[i])))
}

/* ---- parquet-wasm, its Arrow stream decoded by apache-arrow ---- */

function valid(d, i) {
  const b = d.nullBitmap
  return !b || !b.length || (b[(d.offset + i) >> 3] >> ((d.offset + i) & 7)) & 1
}

function little(words, i, n) {
  let v = 0n
  for (let k = n - 1; k >= 0; k--) v = (v << 32n) | BigInt(words[i * n + k])
  return BigInt.asIntN(32 * n, v)
}

function arrowGetter(arrow, d, type) {
  const T = arrow.Type
  const t = d.type
  const v = d.values
  const kids = (x, sub) => arrowGetter(arrow, x, sub)
  const wrap = get => i => (valid(d, i) ? get(i) : null)
  const steps = [1000000000n, 1000000n, 1000n, 1n]
  const times = (prefix, unit) => wrap(i => prefix + BigInt(v[i]) * steps[unit])
  switch (t.typeId) {
  case T.Null: return () => null
  case T.Bool: return wrap(i => !!((v[(d.offset + i) >> 3] >> ((d.offset + i) & 7)) & 1))
  case T.Int: return wrap(i => String(v[i]))
  case T.Float:
    if (t.precision === 0) return wrap(i => canon.float(canon.half(v[i])))
    return wrap(i => canon.float(v[i]))
  case T.Decimal: {
    const n = t.bitWidth / 32
    return wrap(i => canon.decimal(little(v, i, n), t.scale))
  }
  case T.Date: return wrap(i => 'D' + (t.unit === 0 ? v[i] : Number(BigInt(v[i]) / 86400000n)))
  case T.Time: return times('t', t.unit)
  case T.Timestamp: return times('T', t.unit)
  case T.Duration: return wrap(i => String(v[i]))
  case T.Interval:
    if (t.unit === 1) return wrap(i => `I0 ${v[2 * i] >>> 0} ${v[2 * i + 1] >>> 0}`)
    if (t.unit === 0) return wrap(i => `I${v[i]} 0 0`)
    throw new Error('interval of nanoseconds')
  case T.Dictionary: {
    const dict = d.dictionary
    const gets = dict.data.map(x => kids(x, type))
    const at = k => {
      let j = 0
      while (k >= dict.data[j].length) k -= dict.data[j++].length
      return gets[j](k)
    }
    return wrap(i => at(Number(v[i])))
  }
  case T.List:
  case T.LargeList:
  case T.FixedSizeList: {
    const get = kids(d.children[0], type?.kind === 'list' ? type.item : undefined)
    const o = d.valueOffsets
    const beg = i => (t.typeId === T.FixedSizeList ? i * t.listSize : Number(o[i]))
    return wrap(i => {
      const out = []
      for (let k = beg(i); k < beg(i + 1); k++) out.push(get(k))
      return out
    })
  }
  case T.Map: {
    const [kd, vd] = d.children[0].children
    const key = kids(kd, type?.kind === 'map' ? type.key : undefined)
    const val = kids(vd, type?.kind === 'map' ? type.value : undefined)
    const o = d.valueOffsets
    return wrap(i => {
      const out = []
      for (let k = Number(o[i]); k < Number(o[i + 1]); k++) out.push([key(k), val(k)])
      return out
    })
  }
  case T.Struct: {
    const same = type?.kind === 'struct' && type.fields.length === t.children.length
    const gets = d.children.map((c, k) => kids(c, same ? type.fields[k].type : undefined))
    return wrap(i => {
      const out = {}
      t.children.forEach((f, k) => (out[f.name] = gets[k](i)))
      return out
    })
  }
  default: {
    /* texts and bytes of all layouts */
    const vec = new arrow.Vector([d])
    return wrap(i => {
      const x = vec.get(i)
      if (typeof x === 'string') return canon.text(x)
      if (!(x instanceof Uint8Array)) throw new Error('Arrow type ' + t)
      /* parquet-wasm gives enums as bytes */
      if (type && ['string', 'uuid', 'interval', 'float'].includes(type.kind)) return canon.stored(type, x)
      return canon.hex(x)
    })
  }
  }
}

async function readWasm(path, schema) {
  const wasm = require('parquet-wasm/node')
  const arrow = require('apache-arrow')
  const table = wasm.readParquet(new Uint8Array(fs.readFileSync(path)))
  /* apache-arrow cannot decode a stream of maps that has no batches */
  if (table.numBatches === 0) return []
  const ipc = table.intoIPCStream()
  const rows = []
  for (const batch of arrow.RecordBatchReader.from(ipc)) {
    const gets = batch.data.children.map((c, k) => arrowGetter(arrow, c, schema?.types[k]))
    for (let i = 0; i < batch.numRows; i++) rows.push(gets.map(g => g(i)))
  }
  return rows
}

/* ---- DuckDB ---- */

function duckValue(D, t, v, type) {
  if (v === null || v === undefined) return null
  const I = D.DuckDBTypeId
  switch (t.typeId) {
  case I.BOOLEAN: return v
  case I.FLOAT:
  case I.DOUBLE: return canon.float(v)
  case I.VARCHAR:
  case I.ENUM: return canon.text(v)
  case I.BLOB: return type?.kind === 'string' ? canon.longText(v.bytes) : canon.hex(v.bytes)
  case I.GEOMETRY: return canon.hex(v.bytes ?? v)
  case I.DECIMAL: return canon.decimal(v.value, v.scale)
  case I.DATE: return 'D' + v.days
  case I.TIME: return 't' + v.micros * 1000n + (type?.nanos === 1n ? '~1000' : '')
  case I.TIME_NS: return 't' + v.nanos
  case I.TIME_TZ: return 't' + v.micros * 1000n
  case I.TIMESTAMP_S: return 'T' + v.seconds * 1000000000n
  case I.TIMESTAMP_MS: return 'T' + v.millis * 1000000n
  case I.TIMESTAMP:
  case I.TIMESTAMP_TZ: return 'T' + v.micros * 1000n + (type?.nanos === 1n ? '~1000' : '')
  case I.TIMESTAMP_NS: return 'T' + v.nanos
  case I.INTERVAL: return `I${v.months} ${v.days} ${v.micros / 1000n}`
  case I.UUID: return 'u' + v.toString()
  case I.LIST:
  case I.ARRAY: return v.items.map(x => duckValue(D, t.valueType, x, type?.kind === 'list' ? type.item : undefined))
  case I.MAP:
    return v.entries.map(e => [
      duckValue(D, t.keyType, e.key, type?.kind === 'map' ? type.key : undefined),
      duckValue(D, t.valueType, e.value, type?.kind === 'map' ? type.value : undefined),
    ])
  case I.STRUCT: {
    const out = {}
    t.entryNames.forEach((n, k) => {
      const f = type?.kind === 'struct' ? type.fields[k] : undefined
      out[f && f.name.toLowerCase() === n.toLowerCase() ? f.name : n] = duckValue(D, t.entryTypes[k], v.entries[n], f?.type)
    })
    return out
  }
  default:
    if (typeof v === 'number' || typeof v === 'bigint') return v.toString()
    throw new Error('DuckDB type ' + t)
  }
}

let duck
async function duckdb() {
  const D = require('@duckdb/node-api')
  if (!duck) {
    const instance = await D.DuckDBInstance.create(':memory:', { threads: '2' })
    duck = await instance.connect()
  }
  return { D, conn: duck }
}

async function duckRows(sql, schema) {
  const { D, conn } = await duckdb()
  const result = await conn.run(sql)
  const types = result.columnTypes()
  const rows = await result.getRows()
  return rows.map(r => r.map((v, k) => duckValue(D, types[k], v, schema?.types[k])))
}

async function readDuckdb(path, schema) {
  const from = `FROM read_parquet('${path.replace(/'/g, "''")}', hive_partitioning = false)`
  if (!schema?.big) return duckRows('SELECT * ' + from, schema)
  /* texts longer than a JavaScript string can be: as bytes, only the hash matters */
  const { conn } = await duckdb()
  const r = await conn.run(`SELECT * ${from} LIMIT 0`)
  const cast = r.columnNames().map((n, k) => `CAST("${n}" AS ${String(r.columnType(k)).replace(/VARCHAR/g, 'BLOB')})`)
  return duckRows(`SELECT ${cast.join(', ')} ${from}`, schema)
}

const readers = { duckdb: readDuckdb, wasm: readWasm, hyparquet: readHyparquet }
module.exports = { readers, metadataOf, bufferOf, duckdb, duckRows, hyparquet }
