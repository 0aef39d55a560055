'use strict'
/* pool.js - readAll: many files by several readers, each reader a process that is started again when
 * it crashes. */
const { spawn } = require('child_process')
const fs = require('fs')
const path = require('path')
const readline = require('readline')

/* jobs: [{file, out(reader), args}]; gives results[reader][k] = {rows} or {error} */
function readOne(reader, jobs, env, seconds) {
  return new Promise(resolve => {
    const results = new Array(jobs.length)
    let next = 0
    const start = () => {
      if (next >= jobs.length) return resolve(results)
      const child = spawn(process.execPath, ['--max-old-space-size=8192', path.join(__dirname, 'worker.js'), reader], { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] })
      let timer
      let late = false
      let err = ''
      child.stderr.on('data', d => (err = (err + d).slice(-2000)))
      child.stdin.on('error', () => {})
      const send = () => {
        clearTimeout(timer)
        if (next >= jobs.length) return child.stdin.end()
        timer = setTimeout(() => ((late = true), child.kill('SIGKILL')), seconds * 1000)
        child.stdin.write(JSON.stringify({ id: next, file: jobs[next].file, out: jobs[next].out(reader), args: jobs[next].args }) + '\n')
      }
      readline.createInterface({ input: child.stdout }).on('line', line => {
        const reply = JSON.parse(line)
        results[reply.id] = reply
        next = reply.id + 1
        if (reply.trap) clearTimeout(timer)
        else send()
      })
      child.on('close', (code, signal) => {
        clearTimeout(timer)
        if (next < jobs.length && !results[next]) {
          const why = late ? `no answer within ${seconds} s` : `crashed (${signal || 'exit ' + code}) ${err.trim().split('\n')[0]}`
          /* after a trap the process ends by itself and the next file has not been asked for */
          if (next === 0 || !results[next - 1]?.trap || late || code !== 0) results[next++] = { error: why, crashed: true }
        }
        start()
      })
      send()
    }
    start()
  })
}

/* cache: a folder where answers of the other readers are kept from run to run; undefined: none */
async function readAll(readers, jobs, { crank, cache, seconds = 600 }) {
  const lists = await Promise.all(
    readers.map(async r => {
      const kept = cache && r !== 'crank' && path.join(cache, `${r}-${path.basename(jobs[0]?.file || '')}-${jobs.length}.json`)
      if (kept && fs.existsSync(kept)) return JSON.parse(fs.readFileSync(kept, 'utf8'))
      const list = await readOne(r, jobs, { CRANK: crank }, seconds)
      if (kept) fs.writeFileSync(kept, JSON.stringify(list))
      return list
    }),
  )
  return Object.fromEntries(readers.map((r, k) => [r, lists[k]]))
}

module.exports = { readAll }
