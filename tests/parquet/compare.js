'use strict'
/*
 * compare.js - crank's values beside those of DuckDB, parquet-wasm and hyparquet, row by row.
 *
 *   node compare.js --crank build/crank [--testing DIR] [--made DIR] [--ours DIR] [--tmp DIR] [--report FILE.md] [--only TEXT]
 *
 * --testing  the folder with data/ and bad_data/ of the Parquet project's test files
 * --made     what make_files.js wrote, with what was put in
 * --ours     what write_samples wrote, with what was put in
 *
 * A file of data/ that one of the three reads must be read by crank with the same values; where the
 * three disagree, notes.js says who is right and why, and a disagreement without a note is a failure.
 * --tmp keeps the rows and the answers of the other readers for the next run with the same files.
 * Files that none reads, and those of bad_data/, must get one line that names the file. The last line
 * counts: N passed, N failed, N skipped; the exit code is 1 when one failed.
 */
const fs = require('fs')
const os = require('os')
const path = require('path')
const { same } = require('./canon.js')
const { readAll } = require('./pool.js')
const notes = require('./notes.js')
const stats = require('./stats.js')

const OTHERS = ['duckdb', 'wasm', 'hyparquet']
const TITLE = { duckdb: 'DuckDB', wasm: 'parquet-wasm', hyparquet: 'hyparquet', crank: 'crank' }
const count = { passed: 0, failed: 0, skipped: 0 }
const report = []

function options() {
  const opt = {}
  const names = ['crank', 'testing', 'made', 'ours', 'tmp', 'report', 'only']
  for (let i = 2; i < process.argv.length; i += 2) {
    const name = process.argv[i].slice(2)
    if (!process.argv[i].startsWith('--') || !names.includes(name) || i + 1 >= process.argv.length) {
      console.error(`compare.js: what is '${process.argv[i]}'? Known: ${names.map(n => '--' + n + ' X').join(' ')}`)
      process.exit(2)
    }
    opt[name] = process.argv[i + 1]
  }
  if (!opt.crank) {
    console.error('compare.js: --crank PATH is needed')
    process.exit(2)
  }
  opt.crank = path.resolve(opt.crank)
  fs.accessSync(opt.crank, fs.constants.X_OK)
  return opt
}

const lines = file => {
  const t = fs.readFileSync(file, 'utf8')
  return t === '' ? [] : t.replace(/\n$/, '').split('\n')
}

/* The first difference between two files of rows: null, or {row, column, a, b} */
function difference(fileA, fileB, loose = []) {
  const a = lines(fileA)
  const b = lines(fileB)
  if (a.length !== b.length) return { text: `${a.length} rows and ${b.length} rows` }
  let found = null
  let n = 0
  for (let i = 0; i < a.length; i++) {
    if (a[i] === b[i] || loose.includes(i)) continue
    const x = JSON.parse(a[i])
    const y = JSON.parse(b[i])
    if (same(x, y)) continue
    n++
    if (found) continue
    const k = x.findIndex((v, j) => !same(v, y[j]))
    found = `row ${i}, column ${k}: ${JSON.stringify(x[k])?.slice(0, 120)} and ${JSON.stringify(y[k])?.slice(0, 120)}`
  }
  return found && { text: found + (n > 1 ? ` (${n} rows)` : '') }
}

function verdict(ok, name, why) {
  count[ok ? 'passed' : 'failed']++
  if (!ok) console.log(`FAILED ${name}: ${why}`)
}

const cell = s => String(s).replace(/\|/g, '\\|').replace(/\s+/g, ' ').trim()
function table(head, rows) {
  report.push('| ' + head.join(' | ') + ' |', '|' + head.map(() => '---').join('|') + '|')
  for (const r of rows) report.push('| ' + r.map(cell).join(' | ') + ' |')
  report.push('')
}

const short = (s, folder) => cell(s.replaceAll(folder + '/', '')).slice(0, 200)
/* without what every message of a reader begins with */
const cause = s => cell(s.replace(/^((Parquet|Invalid|IO|Input|argument) ?)*[Ee]rror: (Parquet error: )?/, '').replace(/Failed to read file "[^"]*": /, '').replace(/\. Supported options.*/, ''))
const rowsOf = n => (n === 1 ? '1 row' : `${n} rows`)

async function testing(opt, tmp) {
  const dir = path.join(opt.testing, 'data')
  let files = fs.readdirSync(dir).filter(f => f.endsWith('.parquet')).sort()
  if (opt.only) files = files.filter(f => f.includes(opt.only))
  const out = (f, r) => path.join(tmp, `${f}.${r}`)
  const jobs = files.map(f => ({ file: path.join(dir, f), out: r => out(f, r), args: notes.data[f]?.args || [] }))
  const got = await readAll([...OTHERS, 'crank'], jobs, { crank: opt.crank, cache: opt.tmp })
  const plain = await readAll(['crank'], jobs.map(j => ({ ...j, args: [], out: r => j.out(r) + '.plain' })).filter((j, k) => jobs[k].args.length), { crank: opt.crank, cache: opt.tmp })
  const strict = files.filter((f, k) => jobs[k].args.length)
  const rows = []
  files.forEach((f, k) => {
    const note = notes.data[f]
    const reads = OTHERS.filter(r => !got[r][k].error)
    const mine = got.crank[k]
    const cells = {}
    const bad = []
    for (const r of OTHERS) cells[r] = got[r][k].error ? 'cannot' : 'same'
    if (!reads.length) {
      cells.crank = mine.error ? 'error' : rowsOf(mine.rows)
      if (mine.error && (mine.exit === undefined || /^not a one-line/.test(mine.error))) bad.push(mine.error)
      if (!mine.error && !note) bad.push('none of the three reads it, crank does, and notes.js does not say why')
    } else if (mine.error) {
      cells.crank = 'cannot'
      bad.push(mine.error)
    } else {
      cells.crank = rowsOf(mine.rows)
      for (const r of reads) {
        const d = difference(out(f, 'crank'), out(f, r), note?.loose)
        if (!d) continue
        cells[r] = 'differs'
        if (!note?.wrong?.includes(r)) bad.push(`crank and ${TITLE[r]}: ${d.text}`)
      }
      for (const r of note?.wrong || []) if (cells[r] !== 'differs') bad.push(`notes.js says that ${TITLE[r]} differs, it does not`)
      if (note?.wrong && reads.every(r => note.wrong.includes(r))) bad.push('notes.js calls every reader wrong')
    }
    let why = note?.why || ''
    const j = strict.indexOf(f)
    if (j >= 0) {
      const r = plain.crank[j]
      if (!r.error || r.exit === undefined || /^not a one-line/.test(r.error)) bad.push(`without ${note.args.join(' ')}: ${r.error || 'no error'}`)
      cells.crank += ` (${note.args.join(' ')})`
    }
    const cannot = OTHERS.filter(r => got[r][k].error)
    if (!why && cannot.length) why = cannot.map(r => `${TITLE[r]}: ${cause(got[r][k].error)}`).join('; ')
    rows.push([f.replace('.parquet', ''), cells.duckdb, cells.wasm, cells.hyparquet, cells.crank, why])
    verdict(!bad.length, 'data/' + f, bad.join('; '))
  })
  report.push('## Files of parquet-testing', '', `${files.length} files of \`data/\`. *same*: the same values as crank, row by row.`, '')
  table(['file', 'DuckDB', 'parquet-wasm', 'hyparquet', 'crank', 'note'], rows)
  await badData(opt, tmp)
}

async function badData(opt, tmp) {
  const dir = path.join(opt.testing, 'bad_data')
  let files = fs.readdirSync(dir).filter(f => f.endsWith('.parquet')).sort()
  if (opt.only) files = files.filter(f => f.includes(opt.only))
  const out = (f, r) => path.join(tmp, `bad_${f}.${r}`)
  const got = await readAll([...OTHERS, 'crank'], files.map(f => ({ file: path.join(dir, f), out: r => out(f, r) })), { crank: opt.crank, cache: opt.tmp })
  const rows = []
  files.forEach((f, k) => {
    const note = notes.bad[f]
    const mine = got.crank[k]
    const bad = []
    if (mine.error) {
      if (mine.exit === undefined || /^not a one-line/.test(mine.error)) bad.push(mine.error)
    } else if (!note?.valid) bad.push(`read as ${mine.rows} rows, an error was expected`)
    else for (const r of OTHERS) {
      const d = got[r][k].error ? { text: got[r][k].error } : difference(out(f, 'crank'), out(f, r))
      if (d) bad.push(`crank and ${TITLE[r]}: ${d.text}`)
    }
    const cells = OTHERS.map(r => (got[r][k].error ? 'error' : rowsOf(got[r][k].rows)))
    rows.push([f.replace('.parquet', ''), ...cells, mine.error ? '`' + short(mine.error, dir).replace(/^crank: /, '') + '`' : `${rowsOf(mine.rows)}, the same`, note?.why || ''])
    verdict(!bad.length, 'bad_data/' + f, bad.join('; '))
  })
  report.push(`${files.length} files of \`bad_data/\`, with what crank says of each.`, '')
  table(['file', 'DuckDB', 'parquet-wasm', 'hyparquet', 'crank', 'note'], rows)
}

/* Files whose contents are known: everybody is held against what was put in. */
async function known(opt, tmp, dir, title, intro) {
  let cases = JSON.parse(fs.readFileSync(path.join(dir, 'cases.json'), 'utf8'))
  if (opt.only) cases = cases.filter(c => c.file.includes(opt.only))
  const out = (c, r) => path.join(tmp, `${c.file}.${r}`)
  const got = await readAll([...OTHERS, 'crank'], cases.map(c => ({ file: path.join(dir, c.file), out: r => out(c, r) })), { crank: opt.crank, cache: opt.tmp })
  const groups = new Map()
  cases.forEach((c, k) => {
    const bad = []
    const state = {}
    for (const r of [...OTHERS, 'crank']) {
      const g = got[r][k]
      const d = g.error ? { text: g.error, cannot: true } : difference(c.truth ? path.join(dir, c.truth) : out(c, 'crank'), out(c, r))
      state[r] = d ? (d.cannot ? 'cannot' : 'differs') : 'same'
      if (!d) continue
      const note = r === 'crank' ? undefined : notes.made.find(n => n.reader === r && n.file.test(c.file))
      if (r === 'crank' || !note) bad.push(`${TITLE[r]}: ${d.text}`)
      else {
        note.files = (note.files || 0) + 1
        if (note.state && note.state !== state[r]) bad.push(`${TITLE[r]} was to be '${note.state}': ${d.text}`)
      }
    }
    const g = groups.get(c.writer) || { n: 0, duckdb: 0, wasm: 0, hyparquet: 0, crank: 0 }
    g.n++
    for (const r in state) if (state[r] === 'same') g[r]++
    groups.set(c.writer, g)
    verdict(!bad.length, c.file, bad.join('; '))
  })
  report.push('## ' + title, '', intro, '')
  table(['written by', 'files', 'DuckDB', 'parquet-wasm', 'hyparquet', 'crank'], [...groups].map(([w, g]) => [TITLE[w] || w, g.n, g.duckdb, g.wasm, g.hyparquet, g.crank]))
  const used = notes.made.filter(n => n.files)
  if (used.length) {
    report.push('What the others do not read or read differently:', '')
    table(['reader', 'files', 'why'], used.map(n => [TITLE[n.reader], n.files, n.why]))
  }
  for (const n of notes.made) n.files = 0
}

async function main() {
  const opt = options()
  const tmp = opt.tmp || fs.mkdtempSync(path.join(os.tmpdir(), 'pqcompare'))
  fs.mkdirSync(tmp, { recursive: true })
  const version = n => JSON.parse(fs.readFileSync(path.join(__dirname, 'node_modules', n, 'package.json'), 'utf8')).version
  report.push(
    '# Parquet beside other implementations', '',
    'Made by `make test-parquet` (`tests/parquet/compare.js`); not written by hand. crank reads with `crank parquet FILE --rows_json`,',
    `the others are DuckDB (@duckdb/node-api ${version('@duckdb/node-api')}), parquet-wasm ${version('parquet-wasm')} with apache-arrow ${version('apache-arrow')}, and`,
    `hyparquet ${version('hyparquet')} with hyparquet-writer ${version('hyparquet-writer')}. Values are compared exactly: integers by digits, floats by value (NaN,`,
    'infinities, -0 told apart), decimals by digits, times in nanoseconds (where DuckDB has microseconds only, up to these), bytes by bytes, nulls',
    'and empty lists apart. hyparquet is asked for what is stored where it would give doubles for decimals and objects for maps.', '')
  try {
    if (opt.testing && fs.existsSync(path.join(opt.testing, 'data'))) await testing(opt, tmp)
    else if (opt.testing) {
      console.log(`skipped: no parquet-testing files in ${opt.testing}`)
      count.skipped++
    }
    if (opt.made) await known(opt, tmp, opt.made, 'Files by other writers', 'Every codec, both page versions, nulls, nested lists, maps, structs, empty row groups, 0 and 1 rows, 10,000 columns, strings of 100 MB (`tests/parquet/make_files.js`). The numbers are files whose values were exactly those put in.')
    if (opt.ours) {
      await known(opt, tmp, opt.ours, 'Files by crank', 'Every type, codec, page version and nesting of the writer (`tests/parquet/write_samples.c`), results of synth and predict, read by all. The numbers are files whose values were exactly those put in.')
      if (!opt.only) {
        const before = count.failed
        const n = await stats.check(opt.ours, verdict)
        if (count.failed === before) report.push(`DuckDB skips row groups by statistics, hyparquet pages by the page index: with ${n} filters on our files both find every row.`, '')
      }
    }
  } finally {
    if (!opt.tmp) fs.rmSync(tmp, { recursive: true })
  }
  if (opt.report && !opt.only) fs.writeFileSync(opt.report, report.join('\n').replace(/\n+$/, '\n'))
  console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`)
  process.exit(count.failed || !count.passed ? 1 : 0)
}

main().catch(e => {
  console.error(e)
  process.exit(1)
})
