// read_events.js FILE... - lists event files, read with npm's tfrecord (framing, checksums) and
// protobufjs (messages). read_events.py prints the same lines by other means.
'use strict';
const path = require('path');
const crypto = require('crypto');
const { RecordReader } = (() => {
  const m = require('tfrecord/lib/record_reader');
  return { RecordReader: m.RecordReader || m.default };
})();
const protobuf = require('protobufjs');

const hex = (x, bytes) => {
  const b = Buffer.alloc(bytes);
  if (bytes === 4) b.writeFloatBE(x); else b.writeDoubleBE(x);
  return b.toString('hex');
};

function show(event) {
  const step = String(event.step);
  if (event.what === 'fileVersion') return [`${step} version ${event.fileVersion} by ${event.sourceMetadata.writer}`];
  if (event.what === 'sessionLog') return [`${step} session ${event.sessionLog.status}`];
  return event.summary.value.map((v) => {
    if (v.value === 'simpleValue') return `${step} scalar ${v.tag} ${hex(v.simpleValue, 4)}`;
    if (v.value === 'histo') {
      const h = v.histo, total = h.bucket.reduce((a, b) => a + b, 0);
      if (h.bucket.length !== h.bucketLimit.length) throw new Error(`${v.tag}: buckets and limits differ`);
      if (total !== h.num) throw new Error(`${v.tag}: ${total} values in buckets, ${h.num} in all`);
      for (let i = 1; i < h.bucketLimit.length; i++)
        if (!(h.bucketLimit[i] > h.bucketLimit[i - 1])) throw new Error(`${v.tag}: limits do not grow`);
      return `${step} histogram ${v.tag} ${[h.min, h.max, h.num, h.sum, h.sumSquares].map((x) => hex(x, 8)).join(' ')} ${h.bucket.length}`;
    }
    const text = v.tensor.stringVal[0];
    if (v.metadata.pluginData.pluginName !== 'text' || v.tensor.dtype !== 7) throw new Error(`${v.tag}: not a text`);
    return `${step} text ${v.tag} ${crypto.createHash('sha256').update(text).digest('hex')}`;
  });
}

async function main() {
  const Event = protobuf.loadSync(path.join(__dirname, 'events.proto')).lookupType('events.Event');
  for (const file of process.argv.slice(2)) {
    const reader = await RecordReader.create(file);
    for (let r; (r = await reader.readRecord()) !== null;)
      for (const line of show(Event.decode(r))) console.log(line);
  }
}
main().catch((e) => { console.error(e.message); process.exit(1); });
