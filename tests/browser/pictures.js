// pictures.js CRANK OUT - the pictures of docs/guide/board.md, from made-up runs.
'use strict'
const fs = require('fs')
const os = require('os')
const path = require('path')
const { board, freePort, launch, settled } = require('./browser.js')
const { demo } = require('./make_runs.js')

const PICTURES = [
  ['board_charts', '#theme=light&focus=shop%2Fdeepfm-wide', 1280, 860],
  ['board_compare', '#theme=light&tab=compare&focus=shop%2Fdeepfm&against=shop%2Fdeepfm-wide', 1280, 620],
  ['board_features', '#theme=dark&tab=features&focus=shop%2Fdeepfm', 1280, 430],
  ['board_why', '#theme=light&tab=why&focus=shop%2Fdeepfm', 1280, 960],
]
;(async () => {
  const [crank, out] = process.argv.slice(2), tmp = fs.mkdtempSync(path.join(os.tmpdir(), 'board-'))
  demo(tmp)
  const b = await board(crank, [tmp, '--port', await freePort()]), browser = await launch()
  for (const [name, address, width, height] of PICTURES) {
    const page = await browser.newPage({ viewport: { width, height }, locale: 'en-US', timezoneId: 'UTC' })
    await page.goto(b.url + address)
    await settled(page)
    await page.screenshot({ path: path.join(out, name + '.png') })
    await page.close()
  }
  await browser.close()
  await b.stop()
  fs.rmSync(tmp, { recursive: true })
})()
