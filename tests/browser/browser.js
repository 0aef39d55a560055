// browser.js - starts crank board and Chromium for tests and pictures.
'use strict'
const { spawn, execFileSync } = require('child_process')
const fs = require('fs')
const { chromium } = require('playwright-core')

function chromiumPath() {
  for (const name of ['chromium', 'chromium-browser', 'google-chrome'])
    try {
      return execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim()
    } catch {
      // the next name
    }
  return null
}
function launch() {
  return chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox', '--force-color-profile=srgb', '--font-render-hinting=none', '--disable-lcd-text'] })
}
// start runs a program that does not outlive this one, also when a test throws.
const running = new Set()
process.on('exit', () => running.forEach((p) => p.kill('SIGKILL')))
function start(program, args, options) {
  const p = spawn(program, args, options)
  running.add(p)
  p.on('error', (e) => { throw e })
  p.once('exit', () => running.delete(p))
  return p
}
// board starts `crank board`; the promise gives {url, stop()}.
function board(crank, args, env = {}) {
  const p = start(crank, ['board', ...args], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...env } })
  return new Promise((ready, fail) => {
    let text = ''
    p.on('exit', (code) => fail(new Error(`crank board ended with ${code}: ${text}`)))
    p.stdout.on('data', (d) => {
      text += d
      const m = /at (http:\S+)/.exec(text)
      if (m) ready({ url: m[1], pid: p.pid, process: p, stop: () => new Promise((done) => { p.removeAllListeners('exit'); p.on('exit', done); p.kill('SIGTERM') }) })
    })
  })
}
// freePort: --port 0 would take 7878 first, where somebody's own board may be.
function freePort() {
  return new Promise((done) => {
    const s = require('net').createServer().listen(0, '127.0.0.1', () => {
      const { port } = s.address()
      s.close(() => done(String(port)))
    })
  })
}
// settled waits until the page has drawn its charts.
async function settled(page) {
  await page.waitForFunction(() => document.querySelector('#panel')?.childElementCount > 0)
  await page.waitForTimeout(600)
}
module.exports = { board, chromiumPath, freePort, launch, settled, start, fs }
