// s3rver.js FOLDER - starts s3rver, an S3 server of somebody else that verifies signatures, on loopback, with the bucket
// demo-bucket; prints "port N".
const S3rver = require('@20minutes/s3rver');
const server = new S3rver({
    port: 0, address: '127.0.0.1', directory: process.argv[2], silent: true, resetOnClose: true,
    configureBuckets: [{ name: 'demo-bucket', configs: [] }],
});
server.run().then((a) => console.log('port', a.port), (e) => { console.error(e); process.exit(1); });
