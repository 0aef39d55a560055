// many.js CRANK TMP [RUNS LINES] - 500 runs of 100,000 lines on the page: how long until it shows, and how much memory
// the server takes when it has read them all. Fails above a second of CPU time of page and server together, which other
// work on the machine hardly changes, and above 200 MB (docs/design/board.md). Seconds of the clock are told too.
//
// All runs are one log with many names (hard links), so that the test needs megabytes of disk and not gigabytes; the
// server reads and keeps each of them for itself.
'use strict'
const fs = require('fs')
const path = require('path')
const { board, chromiumPath, freePort, launch } = require('./browser.js')
const { makeRun } = require('./make_runs.js')

const [crank, tmp, runs = '500', lines = '100000'] = process.argv.slice(2)
const MOST_SECONDS = 1, MOST_MEGABYTES = 200

function makeMany(dir) {
  const first = path.join(dir, 'run-0')
  makeRun(first, { seed: 1, steps: +lines, every: 1, end: 'finished' })
  for (let i = 1; i < +runs; i++) {
    fs.mkdirSync(path.join(dir, 'run-' + i))
    fs.linkSync(path.join(first, 'train_log.jsonl'), path.join(dir, `run-${i}/train_log.jsonl`))
  }
  return fs.statSync(path.join(first, 'train_log.jsonl')).size
}
const megabytes = (pid) => +/VmHWM:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1] / 1024
// The seconds of CPU time of a process: user and system, all threads.
function cpu(pid) {
  const f = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /, '').split(' ')
  return (+f[11] + +f[12]) / 100
}
// Opens an address and waits until the first chart has curves: the seconds that this takes, the seconds of CPU time of
// the page (its main thread) and of the server. While logs are read, the server's are mostly those of reading.
async function opened(browser, url, pid) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  const tools = await page.context().newCDPSession(page)
  await tools.send('Performance.enable', { timeDomain: 'threadTicks' })
  const from = Date.now(), spent = cpu(pid)
  await page.goto(url)
  await page.waitForFunction(() => {
    const c = document.querySelector('[data-chart=loss] canvas')
    if (!c) return false
    const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data
    for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 100 && Math.max(d[i], d[i + 1], d[i + 2]) - Math.min(d[i], d[i + 1], d[i + 2]) > 60) return true
    return false
  }, null, { polling: 20, timeout: 60000 })
  const seconds = (Date.now() - from) / 1000, server = cpu(pid) - spent
  const { metrics } = await tools.send('Performance.getMetrics')
  await page.close()
  return { seconds, server, page: metrics.find((m) => m.name === 'TaskDuration').value }
}
const told = (o) => `${o.seconds.toFixed(2)} s (CPU time: page ${o.page.toFixed(2)} s, server ${o.server.toFixed(2)} s)`
;(async () => {
  if (!chromiumPath()) return console.log('skipped: there is no chromium; apt install chromium')
  const bytes = makeMany(tmp)
  console.log(`${runs} runs of ${lines} lines, ${(bytes / 1e6).toFixed(1)} MB each`)
  const browser = await launch()
  await (await browser.newPage()).goto('about:blank') // the browser itself starts before the clock does
  const from = Date.now(), b = await board(crank, [tmp, '--port', await freePort()])
  const served = (Date.now() - from) / 1000, all = '#' + new URLSearchParams([...Array(+runs).keys()].map((i) => ['runs', 'run-' + i]))
  const ready = cpu(b.pid), newest = await opened(browser, b.url, b.pid), first = await opened(browser, b.url + all, b.pid)
  console.log(`served after ${served.toFixed(2)} s (CPU time: ${ready.toFixed(2)} s); while logs are read, the newest ten in ${told(newest)}, all in ${told(first)}`)
  let read = 0
  while (read < 1) {
    await new Promise((done) => setTimeout(done, 1000))
    const got = await (await fetch(b.url + 'api/runs?since=0')).json()
    read = got.runs.reduce((sum, r) => sum + r.read, 0) / +runs
  }
  const took = (Date.now() - from) / 1000, again = await opened(browser, b.url, b.pid), later = await opened(browser, b.url + all, b.pid), memory = megabytes(b.pid)
  console.log(`all read after ${took.toFixed(0)} s; then the newest ten in ${told(again)}, all in ${told(later)}; at most ${memory.toFixed(0)} MB of memory`)
  await browser.close()
  await b.stop()
  const slow = Math.max(ready + newest.page, first.page, again.page + again.server, later.page + later.server) > MOST_SECONDS, large = memory > MOST_MEGABYTES
  if (slow) console.log(`failed: the page takes more than ${MOST_SECONDS} s of CPU time`)
  if (large) console.log(`failed: the server takes more than ${MOST_MEGABYTES} MB`)
  process.exit(slow || large ? 1 : 0)
})()
