// test.js CRANK TMP [--update] - the page in a real browser. Each case has a page of its own; an error in the
// console or in a script fails it.
'use strict'
const assert = require('assert')
const { execFileSync } = require('child_process')
const fs = require('fs')
const path = require('path')
const { board, chromiumPath, freePort, launch, settled, start } = require('./browser.js')
const { demo, line, makeRun, makeWhy, START } = require('./make_runs.js')

const [crank, tmp, update] = process.argv.slice(2)
const root = path.resolve(__dirname, '../..')
const cases = []
const test = (name, fn) => cases.push([name, fn])
let browser, served

async function open(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-US', acceptDownloads: true, timezoneId: 'UTC', colorScheme: 'light', ...options })
  const page = await context.newPage()
  page.errors = []
  page.on('pageerror', (e) => page.errors.push(e.message))
  page.on('console', (m) => m.type() === 'error' && page.errors.push(m.text()))
  page.on('dialog', (d) => { page.errors.push('dialog: ' + d.message()); d.dismiss() })
  await page.goto(url)
  return page
}
async function done(page) {
  assert.deepStrictEqual(page.errors, [])
  await page.context().close()
}
const hash = (page) => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))))
const text = (page, selector) => page.locator(selector).innerText()
// Is there ink of a chart's curves? Counts pixels that are neither white nor grey.
const ink = (page, id) => page.evaluate((id) => {
  const c = document.querySelector(`[data-chart="${id}"] canvas`)
  const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data
  let n = 0
  for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 100 && Math.max(d[i], d[i + 1], d[i + 2]) - Math.min(d[i], d[i + 1], d[i + 2]) > 60) n++
  return n
}, id)
async function saved(page, action) {
  const [download] = await Promise.all([page.waitForEvent('download'), action()])
  return { name: download.suggestedFilename(), text: fs.readFileSync(await download.path(), 'utf8') }
}

test('the five charts come first, then all others', async () => {
  const page = await open(served.url)
  await settled(page)
  const ids = await page.locator('[data-chart]').evaluateAll((v) => v.map((e) => e.dataset.chart))
  assert.deepStrictEqual(ids.slice(0, 5), ['loss', 'auc', 'precision', 'recall', 'average_output'])
  for (const id of ['m:logloss', 'rates', 'speed', 'stages', 'memory']) assert(ids.includes(id), id)
  for (const id of ids) assert(await ink(page, id) > 50, `${id} has no curves`)
  assert.strictEqual(await page.locator('.run.on').count(), 5)
  await done(page)
})
test('runs are chosen, filtered and grouped', async () => {
  const page = await open(served.url)
  await settled(page)
  await page.locator('[data-do=none]').click()
  assert.match(await text(page, '#panel'), /No run is chosen/)
  await page.locator('[data-run="shop/deepfm"] input').click()
  await settled(page)
  const one = await ink(page, 'loss')
  await page.locator('[data-do=all]').click()
  await settled(page)
  assert(await ink(page, 'loss') > one)
  await page.locator('#find').fill('shop wide')
  assert.strictEqual(await page.locator('.run').count(), 1)
  await page.locator('#find').fill('')
  await page.locator('#project').selectOption('=news')
  assert.strictEqual(await page.locator('.run').count(), 2)
  assert.strictEqual((await hash(page)).project, 'news')
  await page.locator('#project').selectOption('*')
  await page.locator('[data-do=newest]').click()
  assert.strictEqual((await hash(page)).runs, undefined)
  await page.locator('[data-run="news/mmoe"]').click()
  assert.match(await text(page, '#focus'), /mmoe\s*failed/)
  // names of projects are shown as they are; a metric that is not in the log says which lines add it
  assert.strictEqual(await text(page, '.group h4 >> nth=0'), 'news')
  await page.goto(served.url + '#runs=news%2Fmmoe&focus=news%2Fmmoe')
  await page.waitForFunction(() => document.querySelector('[data-chart=average_output] .absent'))
  assert.match(await text(page, '[data-chart=average_output] .absent'), /metrics \{ average_output \{\} \}\s*metrics \{ average_label \{\} \}[\s\S]*- average_label: \{\}/)
  assert.strictEqual(await page.locator('[data-chart="m:binary_cross_entropy"]').count(), 0) // it is the loss
  await done(page)
})
test('axis, smoothing, zoom and hover', async () => {
  const page = await open(served.url)
  await settled(page)
  for (const axis of ['time', 'rows', 'step']) {
    await page.locator(`[data-axis=${axis}]`).click()
    await settled(page)
    assert.strictEqual(await page.locator(`[data-axis=${axis}]`).getAttribute('aria-pressed'), 'true')
    assert(await ink(page, 'loss') > 50)
  }
  const before = await ink(page, 'loss')
  await page.locator('#smooth').fill('0.9')
  await page.waitForTimeout(200)
  assert.strictEqual((await hash(page)).smooth, '0.9')
  assert.notStrictEqual(await ink(page, 'loss'), before)
  const over = page.locator('[data-chart=loss] .u-over'), box = await over.boundingBox()
  await page.mouse.move(box.x + box.width / 2, box.y + 50)
  assert.match(await text(page, '[data-chart=loss] .tip'), /deepfm[\s\S]*train\.loss/)
  assert.match(await text(page, '[data-chart=loss] .tip-x'), /^\d+$/) // there is no half of a step
  assert.strictEqual(await page.locator('.tip:visible').count(), 1) // the others show the place only
  await page.mouse.move(box.x + box.width * 0.25, box.y + 60)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * 0.5, box.y + 60, { steps: 4 })
  await page.mouse.up()
  await settled(page)
  const { from, to } = await hash(page)
  assert(+from > 400 && +from < 600 && +to > 900 && +to < 1100, `${from} ${to}`)
  assert(await page.locator('#reset').isVisible())
  await page.locator('#reset').click()
  assert.strictEqual((await hash(page)).from, undefined)
  await page.locator('[data-chart=loss]').hover()
  await page.locator('[data-chart=loss] [data-do=grow]').click()
  assert(await page.locator('[data-chart=loss].big').count() === 1)
  await done(page)
})
test('double click, Escape, small charts again, the button of keys', async () => {
  const page = await open(served.url + '#from=500&to=900&big=auc')
  await settled(page)
  const over = page.locator('[data-chart=loss] .u-over')
  await over.hover()
  assert(await page.locator('[data-chart=loss] .tip').isVisible())
  await over.dblclick()
  await page.waitForFunction(() => !location.hash.includes('from='))
  assert(await page.locator('[data-chart=auc].big').count() === 1)
  await page.mouse.move(5, 5)
  assert(!await page.locator('[data-chart=loss] .tip').isVisible())
  await page.locator('[data-chart=auc]').hover()
  await page.locator('[data-chart=auc] [data-do=grow]').click()
  assert.strictEqual(await page.locator('.chart.big').count(), 0)
  await page.goto(served.url + '#from=500&to=900&big=auc')
  await settled(page)
  await page.keyboard.press('Escape')
  await page.waitForFunction(() => !/from=|big=/.test(location.hash))
  await page.locator('#keys').click()
  assert(await page.locator('#help kbd').count() > 8)
  await page.keyboard.press('Escape')
  assert(!await page.locator('#help').isVisible())
  await done(page)
})
test('the run in focus: from the table, as the first of two, with its place in the data', async () => {
  const page = await open(served.url + '#tab=table&focus=shop/deepfm')
  await settled(page)
  await page.locator('#panel tbody tr', { hasText: 'news/dssm' }).locator('td.name').click()
  assert.strictEqual((await hash(page)).focus, 'news/dssm')
  await page.locator('[data-tab=compare]').click()
  await page.locator('[data-do=compare-a]').selectOption('shop/deepfm-wide')
  await page.waitForFunction(() => document.querySelector('[data-table=metrics] thead')?.innerText.includes('deepfm-wide'))
  assert.strictEqual((await hash(page)).focus, 'shop/deepfm-wide')
  // position in the data, epoch, rows, time, memory
  const facts = await text(page, '#focus')
  for (const name of [/Done\s+\d/, /Step\s+\d/, /Rows\s+\d/, /Elapsed\s+\d/, /memory\s+\d/]) assert.match(facts, name)
  assert.match(await page.locator('#focus [role=progressbar]').getAttribute('aria-valuenow'), /^\d+$/)
  await done(page)
})
test('all of it is in the address', async () => {
  const page = await open(served.url + '#' + new URLSearchParams([['runs', 'shop/deepfm'], ['runs', 'news/dssm'], ['axis', 'rows'], ['smooth', '0.5'], ['theme', 'dark'], ['lang', 'zh'], ['from', '100000'], ['to', '900000'], ['focus', 'news/dssm']]))
  await settled(page)
  assert.strictEqual(await page.locator('.run.on').count(), 2)
  assert.strictEqual(await page.evaluate(() => document.documentElement.dataset.theme), 'dark')
  assert.match(await text(page, '#tabs'), /曲线/)
  assert.strictEqual(await page.locator('#smooth').inputValue(), '0.5')
  assert.match(await text(page, '#focus'), /dssm/)
  assert(await page.locator('#reset').isVisible())
  await done(page)
})
test('tables: runs, comparison, features, checkpoints, config', async () => {
  const page = await open(served.url + '#focus=shop/deepfm&against=shop/deepfm-wide')
  await settled(page)
  await page.locator('[data-tab=table]').click()
  assert.match(await text(page, '#panel'), /shop\/deepfm-wide/)
  const heads = await page.evaluate(() => [...document.querySelectorAll('#panel tbody tr:first-child td')].map((d, k) => (getComputedStyle(d).textAlign === 'right') === (getComputedStyle(document.querySelectorAll('#panel th')[k]).textAlign === 'right')))
  assert(heads.every((ok) => ok), 'heads do not stand over their numbers')
  assert.strictEqual(await page.locator('#panel td.when').evaluateAll((v) => v.filter((e) => e.offsetHeight > 60).length), 0)
  assert.strictEqual(await page.locator('#panel tbody tr').count(), 5)
  await page.locator('#panel tbody input').first().click()
  assert.strictEqual(await page.locator('.run.on').count(), 4)
  await page.locator('[data-tab=compare]').click()
  await page.locator('[data-table=config]').waitFor()
  assert.match(await text(page, '[data-table=config]'), /lr\s+0\.01\s+0\.02/)
  assert.match(await text(page, '[data-table=config]'), /hidden_units/)
  assert.match(await text(page, '[data-table=metrics]'), /val\.auc\s+0\.79\d+\s+0\.80\d+\s+\+0\.00/)
  const few = await page.locator('[data-table=metrics] tbody tr').count()
  await page.locator('[data-do=changes]').click()
  await page.waitForFunction((n) => document.querySelectorAll('[data-table=metrics] tbody tr').length > n, few)
  await page.locator('[data-do=compare-b]').selectOption('shop/dcn-4-ranks')
  await page.waitForFunction(() => document.querySelector('[data-table=metrics] thead')?.innerText.includes('dcn-4-ranks'))
  await page.locator('[data-tab=features]').click()
  await page.locator('[data-table=features]').waitFor()
  assert.match(await text(page, '[data-table=features]'), /age\s+Missing 100\.0 %\s*Constant/)
  assert(await page.evaluate(() => document.querySelector('[data-table=features]').offsetWidth <= document.querySelector('#panel .scroll').clientWidth), 'the table of features is cut')
  assert.strictEqual(await page.locator('[data-table=features] tbody tr').count(), 4)
  await page.locator('[data-do=all-features]').click()
  await page.waitForFunction(() => document.querySelectorAll('[data-table=features] tbody tr').length === 5)
  await page.locator('[data-tab=checkpoints]').click()
  await page.locator('[data-table=checkpoints]').waitFor()
  assert.match(await text(page, '[data-table=checkpoints]'), /model\.ckpt-1790 best/)
  await page.locator('[data-tab=config]').click()
  await page.locator('[data-do=config-find]').fill('adagrad')
  assert.match(await text(page, '.hit'), /adagrad_optimizer/)
  await done(page)
})
test('why: what features are worth, slices, reliability, scores', async () => {
  const page = await open(served.url + '#focus=shop/deepfm&tab=why')
  await page.locator('[data-worth=auc]').waitFor()
  assert.match(await text(page, '[data-worth=auc] h3'), /^auc lost$/)
  assert.match(await text(page, '[data-worth=binary_cross_entropy] h3'), /gained/)
  // both kinds with their intervals, the most worth on top, and one that is not used
  const d = JSON.parse(fs.readFileSync(path.join(tmp, 'demo/shop/deepfm/importance.json'), 'utf8'))
  const order = [...d.units].sort((x, y) => y.auc.shuffled.loss - x.auc.shuffled.loss).map((u) => u.name)
  assert.deepStrictEqual(await page.locator('[data-worth=auc] .worth-name .mono').allInnerTexts(), order)
  assert.match(await text(page, '[data-worth=auc]'), /not used/)
  for (const part of ['.shuffled .fill', '.removed .fill', '.shuffled .span', '.removed .span']) assert.strictEqual(await page.locator('[data-worth=auc] ' + part).count(), 5, part)
  // a bar is as long as its figure says
  const first = d.units.find((u) => u.name === order[0]).auc, wide = await page.locator('[data-worth=auc] .fill').evaluateAll((v) => v.slice(0, 2).map((e) => e.getBoundingClientRect().width))
  assert(Math.abs(wide[1] / wide[0] - Math.abs(first.removed.loss / first.shuffled.loss)) < 0.02, String(wide))
  assert((await text(page, '[data-worth=auc] .worth-row >> nth=0')).includes(first.shuffled.loss.toFixed(6)))
  const table = await text(page, '[data-table=slices]')
  for (const word of ['gender', '(missing)', 'all', 'calibration']) assert(table.includes(word), word)
  assert.strictEqual(await page.locator('[data-table=slices] tbody tr').count(), 4)
  assert.strictEqual(await page.locator('[data-figure=reliability] circle').count(), 20)
  assert.strictEqual(await page.locator('[data-figure=scores] rect').count(), 20)
  assert.strictEqual(await page.locator('[data-do=all-units]').count(), 0)
  await page.locator('#lang').click() // the panel asks the server before it is drawn again
  await page.waitForFunction(() => document.querySelector('#panel')?.innerText.includes('特征的价值'))
  assert.match(await text(page, '#panel'), /特征的价值[\s\S]*分组评估[\s\S]*可靠性/)
  await page.locator('#theme').click()
  assert.strictEqual(await page.evaluate(() => document.documentElement.dataset.theme), 'dark')
  await page.goto(served.url + '#focus=news/mmoe&tab=why')
  await page.waitForFunction(() => document.querySelector('#panel')?.innerText.includes('crank importance'))
  await done(page)
})
test('why: what is computed while somebody looks', async () => {
  const dir = path.join(tmp, 'later')
  makeRun(dir, { seed: 8, steps: 100 })
  const b = await board(crank, [dir, '--port', await freePort()]), page = await open(b.url + '#tab=why')
  const first = (n) => page.waitForFunction((n) => document.querySelector('[data-worth=auc]')?.innerText.includes(n), n, { timeout: 20000 })
  await page.waitForFunction(() => document.querySelector('#panel')?.innerText.includes('crank importance'))
  makeWhy(dir, { names: ['early', 'b'] })
  await first('early')
  await page.locator('[data-table=slices]').waitFor()
  makeWhy(dir, { names: ['late', 'b'] })
  await first('late')
  fs.rmSync(path.join(dir, 'importance.json'))
  await page.waitForFunction(() => !document.querySelector('[data-worth=auc]') && document.querySelector('[data-table=slices]'), null, { timeout: 20000 })
  await done(page)
  await b.stop()
})
test('why: many features, and files that cannot be used', async () => {
  const dir = path.join(tmp, 'whys'), many = Array.from({ length: 60 }, (_, i) => 'f' + i)
  for (const name of ['many', 'broken', 'lies']) makeRun(path.join(dir, name), { seed: 6, steps: 100 })
  makeWhy(path.join(dir, 'many'), { names: many })
  fs.writeFileSync(path.join(dir, 'broken/importance.json'), '{"kind": "importance", "units": [')
  fs.writeFileSync(path.join(dir, 'broken/slices.json'), '[]')
  fs.writeFileSync(path.join(dir, 'lies/importance.json'), JSON.stringify({ kind: 'importance', checkpoint: 'c', rows: 'many', measures: [{ name: 'auc', value: {} }], units: [{ kind: 'feature', name: 'a', used: true, auc: 7 }, { kind: 'feature', name: 'b', used: true, auc: { shuffled: { loss: 'x' } } }] }))
  fs.writeFileSync(path.join(dir, 'lies/slices.json'), JSON.stringify({ kind: 'slices', checkpoint: 'c', tasks: [{ output: 'p', all: 3, bins: [{}, { from: 5, to: -1, rows: 1e300, mean_score: 9, mean_label: -4 }], columns: [] }] }))
  const b = await board(crank, [dir, '--port', await freePort()]), page = await open(b.url + '#focus=many&tab=why')
  await page.locator('[data-do=all-units]').waitFor()
  assert.strictEqual(await page.locator('[data-worth=auc] .worth-row').count(), 25)
  await page.locator('[data-do=all-units]').click()
  await page.waitForFunction(() => document.querySelectorAll('[data-worth=auc] .worth-row').length === 61)
  assert.strictEqual((await hash(page)).units, '1')
  await page.locator('[data-run=broken]').click()
  await page.waitForFunction(() => /importance\.json[\s\S]*slices\.json/.test(document.querySelector('#panel')?.innerText ?? ''))
  await page.locator('[data-run=lies]').click()
  await page.locator('[data-table=slices]').waitFor()
  assert.strictEqual(await page.locator('[data-worth=auc] .worth-row').count(), 2)
  assert.strictEqual(await page.locator('[data-figure=reliability] circle, [data-figure=scores] rect').count(), 0)
  await done(page)
  await b.stop()
})
test('notes are kept, and a viewer who may not write is told', async () => {
  const page = await open(served.url + '#focus=shop/deepfm&tab=notes')
  const words = 'first try <img src=x onerror=alert(1)>\n第二行'
  await page.locator('[data-do=notes]').fill(words)
  await page.locator('[data-do=save-notes]').click()
  await page.waitForFunction(() => document.querySelector('[role=status]')?.innerText.includes('notes.md'))
  assert.strictEqual(fs.readFileSync(path.join(tmp, 'demo/shop/deepfm/notes.md'), 'utf8'), words)
  await done(page)
  const b = await board(crank, [path.join(tmp, 'demo'), '--read_only', '--port', await freePort()])
  const other = await open(b.url + '#focus=shop/deepfm&tab=notes')
  await other.locator('[data-do=notes]').waitFor()
  assert.strictEqual(await other.locator('[data-do=notes]').inputValue(), words)
  assert.strictEqual(await other.locator('[data-do=save-notes]').count(), 0)
  await done(other)
  await b.stop()
  fs.rmSync(path.join(tmp, 'demo/shop/deepfm/notes.md'))
})
test('keys', async () => {
  const page = await open(served.url)
  await settled(page)
  const press = async (k) => { await page.keyboard.press(k); await page.waitForTimeout(80) }
  await press('d')
  assert.strictEqual(await page.evaluate(() => document.documentElement.dataset.theme), 'dark')
  await press('l')
  assert.strictEqual(await page.evaluate(() => document.documentElement.lang), 'zh-CN')
  await press('l')
  await press('t')
  assert.strictEqual((await hash(page)).axis, 'time')
  await press(']')
  assert.strictEqual((await hash(page)).smooth, '0.1')
  await press('[')
  await press('j')
  assert.strictEqual((await hash(page)).focus, 'news/dssm')
  await press('k')
  await press('x')
  assert.strictEqual(await page.locator('.run.on').count(), 4)
  await press('a')
  assert.strictEqual(await page.locator('.run.on').count(), 5)
  await press('n')
  assert.strictEqual(await page.locator('.run.on').count(), 0)
  await press('3')
  assert.strictEqual((await hash(page)).tab, 'compare')
  await press('/')
  await page.keyboard.type('dssm')
  assert.strictEqual(await page.locator('.run').count(), 1)
  await press('Escape')
  await press('?')
  assert(await page.locator('#help').isVisible())
  await page.locator('#help button').click()
  assert(!await page.locator('#help').isVisible())
  await done(page)
})
test('CSV and SVG', async () => {
  const page = await open(served.url + '#runs=shop%2Fdeepfm')
  await settled(page)
  await page.locator('[data-chart=loss]').hover()
  const csv = await saved(page, () => page.locator('[data-chart=loss] [data-do=csv]').click())
  assert.strictEqual(csv.name, 'loss.csv')
  const rows = csv.text.trim().split('\n')
  assert.strictEqual(rows[0], 'run,name,step,seconds,rows,value,smallest,largest')
  const train = rows.filter((r) => r.includes(',train.loss,')), first = JSON.parse(fs.readFileSync(path.join(tmp, 'demo/shop/deepfm/train_log.jsonl'), 'utf8').split('\n')[1])
  assert.strictEqual(train.length, 200) // every line of the log
  assert.strictEqual(+train[0].split(',')[5], first['train.loss'])
  const svg = await saved(page, () => page.locator('[data-chart=loss] [data-do=svg]').click())
  assert.strictEqual(svg.name, 'loss.svg')
  const shapes = await page.evaluate((t) => {
    const d = new DOMParser().parseFromString(t, 'image/svg+xml')
    return d.querySelector('parsererror') ? -1 : d.querySelectorAll('polyline').length
  }, svg.text)
  assert.strictEqual(shapes, 2)
  await done(page)
})
test('several ranks', async () => {
  const page = await open(served.url + '#focus=shop/dcn-4-ranks&runs=shop%2Fdcn-4-ranks')
  await settled(page)
  for (const id of ['rank-wait', 'rank-step', 'rank-memory']) assert(await ink(page, id) > 50, id)
  assert.match(await text(page, '[data-chart=rank-memory] .note'), /rank 3/)
  const cut = await page.locator('.chart h3').evaluateAll((v) => v.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.innerText))
  assert.deepStrictEqual(cut, [], 'titles are cut')
  await done(page)
})
test('hostile names and values are only text', async () => {
  const dir = path.join(tmp, 'hostile'), evil = '<img src=x onerror=alert(1)>'
  const bad = '"><script>alert(2)</script>'
  makeRun(path.join(dir, evil), { seed: 9, steps: 300, project: bad, experiment: "'\"<b onmouseover=alert(3)>", end: evil, more: { ['val.' + bad]: 0.5, 'val.=cmd|x': 1 },
    features: [{ name: evil, rows: 10, missing: 10, unknown: 1, constant: true }], config: `# ${bad}\nmodel_dir: "${evil}"\n` })
  makeWhy(path.join(dir, evil), { names: [evil, bad], values: [bad, evil], column: evil, output: bad, checkpoint: evil })
  const b = await board(crank, [dir, '--port', await freePort()])
  for (const tab of ['charts', 'table', 'compare', 'features', 'why', 'checkpoints', 'config', 'notes']) {
    const page = await open(b.url + '#tab=' + tab)
    await settled(page)
    assert.strictEqual(await page.locator('main img, aside img, main script, main b[onmouseover]').count(), 0)
    if (tab === 'charts') {
      const id = 'm:' + bad
      assert(await page.locator('.chart h3').evaluateAll((v, want) => v.some((e) => e.innerText === want), bad))
      const svg = await saved(page, () => page.evaluate((id) => [...document.querySelectorAll('[data-chart]')].find((e) => e.dataset.chart === id).querySelector('[data-do=svg]').click(), id))
      assert(!svg.text.includes('<script'))
    }
    await done(page)
  }
  await b.stop()
  const out = path.join(tmp, 'hostile.html')
  execFileSync(crank, ['report', dir, '-o', out])
  const page = await open('file://' + out)
  await settled(page)
  assert.strictEqual(await page.locator('main img').count(), 0)
  await done(page)
})
test('no run, a broken log, a killed run', async () => {
  const dir = path.join(tmp, 'poor')
  fs.mkdirSync(dir)
  const b = await board(crank, [dir, '--port', await freePort()])
  const page = await open(b.url)
  await settled(page)
  assert.match(await text(page, '#panel'), /No run here yet/)
  // it comes into being while somebody looks
  makeRun(path.join(dir, 'one'), { seed: 3, steps: 500 })
  fs.appendFileSync(path.join(dir, 'one/train_log.jsonl'), 'not json at all\n{"event": "train", "step": \n')
  await page.waitForFunction(() => document.querySelector('#focus')?.innerText.includes('killed'), null, { timeout: 20000 })
  await page.waitForFunction(() => document.querySelector('#focus .warn')?.innerText.includes('2 lines'))
  assert(await ink(page, 'loss') > 50)
  // steps go on after a kill
  fs.appendFileSync(path.join(dir, 'one/train_log.jsonl'), line('start', START + 900, 0, { from_step: 300 }) + line('train', START + 901, 1, { step: 301, 'train.rows': 1024, 'train.loss': 0.4 }))
  await page.waitForFunction(() => document.querySelector('[data-fact=step]')?.innerText.includes('301'), null, { timeout: 20000 })
  await done(page)
  await b.stop()
})
test('a live update leaves the focus and the elements where they are', async () => {
  const dir = path.join(tmp, 'growing')
  for (const name of ['a', 'b']) makeRun(path.join(dir, name), { seed: 4, steps: 300 })
  const b = await board(crank, [dir, '--port', await freePort()]), page = await open(b.url + '#tab=table&focus=a')
  await settled(page)
  await page.locator('.run[data-run=b] input').focus()
  await page.evaluate(() => { for (const e of document.querySelectorAll('.run, .run input, #tabs button, #panel tr')) e.mark = 1 })
  fs.appendFileSync(path.join(dir, 'b/train_log.jsonl'), line('train', START + 901, 1, { step: 777, 'train.rows': 1024, 'train.loss': 0.4 }))
  await page.waitForFunction(() => document.querySelector('.run[data-run=b]').innerText.includes('777') && document.querySelector('#panel').innerText.includes('777'), null, { timeout: 20000 })
  assert(await page.evaluate(() => [...document.querySelectorAll('.run, .run input, #tabs button, #panel tr')].every((e) => e.mark)), 'elements were made anew')
  assert(await page.evaluate(() => document.activeElement === document.querySelector('.run[data-run=b] input')), 'the focus is lost')
  await page.keyboard.press('Space')
  await page.waitForFunction(() => document.querySelectorAll('.run.on').length === 1)
  assert(!await page.locator('#panel tr', { hasText: '777' }).locator('input').isChecked())
  // runs that come later have their own places and listeners
  makeRun(path.join(dir, 'c'), { seed: 4, steps: 300, day: 9 })
  await page.waitForFunction(() => document.querySelector('.run')?.dataset.run === 'c', null, { timeout: 20000 })
  await page.locator('#panel tbody tr').first().locator('td.name').first().click()
  assert.strictEqual((await hash(page)).focus, 'c')
  await done(page)
  await b.stop()
})
test('an answer that comes late does not overwrite another tab', async () => {
  const page = await open(served.url + '#focus=shop/deepfm')
  await settled(page)
  let slow = true
  await page.route('**/api/run?*', async (route) => {
    if (slow) {
      slow = false
      await new Promise((r) => setTimeout(r, 1500))
    }
    await route.continue()
  })
  await page.locator('[data-tab=features]').click()
  await page.locator('[data-tab=config]').click()
  await page.locator('pre.config').waitFor()
  await page.waitForTimeout(2000)
  assert.strictEqual(await page.locator('pre.config').count(), 1)
  assert.strictEqual(await page.locator('[data-table=features]').count(), 0)
  await done(page)
})
test('two viewers see a run while it trains, and its end', async () => {
  const data = path.join(tmp, 'live')
  execFileSync(crank, ['synth', 'census', '--rows', '20k', '-o', data], { stdio: 'ignore' })
  const config = fs.readdirSync(data).find((n) => /\.(yaml|config)$/.test(n)), port = await freePort()
  const p = start(crank, ['train', config, '--model_dir', 'model', '--board', port, '--set', 'train_config.num_epochs=0', '--set', 'train_config.num_steps=100000',
    '--set', 'train_config.log_step_count_steps=5', '--set', 'train_config.save_checkpoints_steps=0', '--set', 'train_config.save_checkpoints_epochs=0', '--threads', '1'], { cwd: data, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  p.stderr.on('data', (d) => (said += d))
  const ended = new Promise((over) => p.on('exit', over))
  for (let i = 0; i < 600 && !said.includes('http://'); i++) await new Promise((r) => setTimeout(r, 100))
  assert(said.includes(`http://127.0.0.1:${port}/`), said)
  const viewers = [await open(`http://127.0.0.1:${port}/`), await open(`http://127.0.0.1:${port}/#lang=zh`)]
  const stepOf = (page) => page.evaluate(() => +(document.querySelector('[data-fact=step] .value')?.innerText ?? '-1').replace(/\D/g, ''))
  for (const page of viewers) {
    await page.waitForFunction(() => /running|训练中/.test(document.querySelector('#focus')?.innerText ?? ''), null, { timeout: 60000 })
    const at = await stepOf(page)
    await page.waitForFunction((at) => +(document.querySelector('[data-fact=step] .value')?.innerText ?? '0').replace(/\D/g, '') > at, at, { timeout: 60000 })
    assert(await page.locator('[data-fact=left]').count() === 1)
  }
  p.kill('SIGKILL')
  await ended
  await viewers[0].waitForFunction(() => !document.querySelector('#gone').hidden, null, { timeout: 30000 })
  assert.match(await text(viewers[0], '#gone'), /does not answer/)
  for (const page of viewers) await page.context().close() // their consoles tell of the lost connection
  const b = await board(crank, [path.join(data, 'model'), '--port', await freePort()])
  const page = await open(b.url)
  await page.waitForFunction(() => document.querySelector('#focus')?.innerText.includes('killed'), null, { timeout: 30000 })
  await done(page)
  await b.stop()
})
test('answers about many runs do not stay in memory', async () => {
  const dir = path.join(tmp, 'hundred'), log = path.join(dir, 'run-0/train_log.jsonl')
  makeRun(path.dirname(log), { seed: 2, steps: 3000 })
  for (let i = 1; i < 100; i++) {
    fs.mkdirSync(path.join(dir, 'run-' + i))
    fs.linkSync(log, path.join(dir, `run-${i}/train_log.jsonl`))
  }
  const b = await board(crank, [dir, '--port', await freePort()]), memory = () => +/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${b.pid}/status`, 'utf8'))[1] / 1024
  const { runs } = await (await fetch(b.url + 'api/runs?since=0')).json()
  const ask = { method: 'POST', headers: { 'X-Crank': '1', Connection: 'close' }, body: JSON.stringify({ runs: runs.map((r) => r.run), names: Object.keys(runs[0].last), axis: 'step', points: 400 }) }
  const viewers = async () => assert((await (await fetch(b.url + 'api/series', ask)).text()).length > 3e6)
  await viewers()
  const before = memory()
  for (let i = 0; i < 4; i++) await Promise.all([viewers(), viewers(), viewers()])
  assert(memory() - before < 8, `${before.toFixed(0)} MB became ${memory().toFixed(0)} MB`)
  await b.stop()
})
test('a token for other addresses', async () => {
  const b = await board(crank, [path.join(tmp, 'demo'), '--host', '0.0.0.0', '--port', await freePort()])
  assert.match(b.url, /\?token=[0-9a-f]{32}$/)
  const url = b.url.replace('0.0.0.0', '127.0.0.1'), plain = url.replace(/\?.*/, '')
  const refused = await open(plain)
  assert.match(await refused.innerText('body'), /A token is needed/)
  await refused.goto(plain + '?token=' + '0'.repeat(32))
  assert.match(await refused.innerText('body'), /A token is needed/)
  await refused.context().close() // its console tells of 401, sooner or later
  const page = await open(url)
  await settled(page)
  assert.strictEqual(page.url().split('#')[0], plain) // the token does not stay in the address
  assert.strictEqual(await page.locator('.run').count(), 5)
  await done(page)
  await b.stop()
})
test('a report is the page without a server', async () => {
  const out = path.join(tmp, 'run.html')
  execFileSync(crank, ['report', path.join(tmp, 'demo'), '-o', out])
  const page = await open('file://' + out, { offline: true })
  await settled(page)
  assert.strictEqual(await page.locator('.run').count(), 5)
  assert.match(await text(page, '#gone'), /Report of/)
  for (const id of ['loss', 'auc', 'memory']) assert(await ink(page, id) > 50, id)
  await page.locator('[data-axis=rows]').click()
  await settled(page)
  assert(await ink(page, 'loss') > 50)
  await page.locator('[data-run="shop/deepfm"]').click()
  await page.locator('[data-tab=features]').click()
  await page.locator('[data-table=features]').waitFor()
  await page.locator('[data-tab=why]').click()
  for (const part of ['[data-worth=auc] .fill', '[data-table=slices]', '[data-figure=reliability] circle', '[data-figure=scores] rect']) await page.locator(part).first().waitFor()
  await page.locator('[data-tab=compare]').click()
  await page.locator('[data-table=metrics]').waitFor()
  await page.locator('[data-tab=charts]').click()
  await settled(page)
  const csv = await saved(page, () => page.evaluate(() => document.querySelector('[data-chart=loss] [data-do=csv]').click()))
  assert(csv.text.split('\n').length > 500)
  await done(page)
})
test('a report of many runs says what it does not keep', async () => {
  const dir = path.join(tmp, 'twelve'), out = path.join(tmp, 'twelve.html')
  for (let i = 0; i < 12; i++) makeRun(path.join(dir, `run-with-a-name-that-is-rather-long-as-those-of-searches-are-${i}`), { seed: i + 1, steps: 300, day: i })
  execFileSync(crank, ['report', dir, '-o', out])
  const page = await open('file://' + out + '#tab=compare', { offline: true })
  await page.locator('[data-table=metrics]').waitFor()
  assert.match(await text(page, '#panel'), /more than ten runs/)
  assert.match(await text(page, '[data-table=metrics]'), /val\.auc\s+0\.\d+/)
  assert(await page.evaluate(() => document.querySelector('[data-table=metrics]').offsetWidth <= document.querySelector('#panel .scroll').clientWidth), 'long names push values out of sight')
  await done(page)
})
test('a phone', async () => {
  const page = await open(served.url, { viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true })
  await settled(page)
  assert(await page.evaluate(() => document.documentElement.scrollWidth <= 390), 'the page is wider than the phone')
  assert(!await page.locator('aside').isVisible())
  await page.locator('#menu').tap()
  assert(await page.locator('aside').isVisible())
  await page.locator('[data-run="shop/deepfm"]').tap()
  assert.match(await text(page, '#focus'), /deepfm/)
  for (const tab of ['table', 'compare', 'features', 'why', 'checkpoints', 'config', 'notes']) {
    await page.locator(`[data-tab=${tab}]`).tap()
    await settled(page)
    assert(await page.evaluate(() => document.documentElement.scrollWidth <= 390), tab)
  }
  await done(page)
})

// ---- pictures ----
// A pixel counts as different beyond a quarter of the range; texts of other font versions may differ by 2 %.
async function compare(page, name) {
  const file = path.join(__dirname, 'expected', name + '.png')
  const shot = await page.screenshot()
  if (update) {
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, shot)
    return
  }
  const share = await page.evaluate(async ([a, b]) => {
    const pixels = async (data) => {
      const image = new Image()
      image.src = 'data:image/png;base64,' + data
      await image.decode()
      const c = document.createElement('canvas')
      c.width = image.width
      c.height = image.height
      const ctx = c.getContext('2d')
      ctx.drawImage(image, 0, 0)
      return [c.width, c.height, ctx.getImageData(0, 0, c.width, c.height).data]
    }
    const [w, h, x] = await pixels(a), [v, g, y] = await pixels(b)
    if (w !== v || h !== g) return 1
    let n = 0
    for (let i = 0; i < x.length; i += 4) if (Math.abs(x[i] - y[i]) + Math.abs(x[i + 1] - y[i + 1]) + Math.abs(x[i + 2] - y[i + 2]) > 190) n++
    return n / (w * h)
  }, [shot.toString('base64'), fs.readFileSync(file).toString('base64')])
  if (share > 0.02) fs.writeFileSync(path.join(root, name + '.differs.png'), shot)
  assert(share <= 0.02, `${name}: ${(100 * share).toFixed(1)} % of the pixels differ; see ${name}.differs.png`)
}
const VIEWS = { light: '#theme=light', dark: '#theme=dark&axis=time&smooth=0.6', ranks: '#theme=light&focus=shop%2Fdcn-4-ranks&big=rank-memory&runs=shop%2Fdcn-4-ranks', compare: '#theme=light&tab=compare&focus=shop%2Fdeepfm&against=shop%2Fdeepfm-wide', features: '#theme=dark&tab=features&focus=shop%2Fdeepfm', why: '#theme=light&tab=why&focus=shop%2Fdeepfm' }
for (const [name, address] of Object.entries(VIEWS))
  test('picture ' + name, async () => {
    const page = await open(served.url + address, { viewport: { width: 1000, height: 700 } })
    await settled(page)
    await page.addStyleTag({ content: "* { font-family: 'DejaVu Sans' !important; caret-color: transparent !important; }" })
    if (name === 'ranks') await page.evaluate(() => document.querySelector('[data-chart=rank-memory]').scrollIntoView())
    await page.waitForTimeout(300)
    await compare(page, name)
    await page.context().close() // the policy of the page refuses nothing here, but tells of the added style
  })

;(async () => {
  if (!chromiumPath()) {
    console.log('skipped: there is no chromium; apt install chromium\n0 passed, 0 failed, 1 skipped')
    return
  }
  demo(path.join(tmp, 'demo'))
  browser = await launch()
  served = await board(crank, [path.join(tmp, 'demo'), '--port', await freePort()])
  let passed = 0, failed = 0
  for (const [name, fn] of cases) {
    if (process.env.ONLY && !name.includes(process.env.ONLY)) continue
    try {
      await fn()
      passed++
    } catch (e) {
      failed++
      console.log(`failed: ${name}\n${e.stack}`)
    }
  }
  await served.stop()
  await browser.close()
  console.log(`${passed} passed, ${failed} failed, 0 skipped`)
  process.exit(failed ? 1 : 0)
})()
