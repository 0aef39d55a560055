#!/usr/bin/env python3
"""object_server.py - a stand-in for S3 and OSS on loopback, for tests.

  object_server.py --kind s3|oss [--dir DIR] [--port 0] [--faults JSON] [--id AKIDEXAMPLE --secret SECRETEXAMPLE] [--region us-east-1] [--cert FILE]

With --cert it speaks TLS by the key and certificate of the file.
Written from the published description of the two protocols, not from crank's client: it computes every signature anew
and refuses a request whose signature differs. It prints "port N" once it listens. Objects are kept in memory, or in DIR so
that they outlive it. GET /__control?json={...} changes the faults, GET /__stats tells what was asked:

  fail503: K       the next K requests are answered with 503
  cut: N           the next GET of an object ends after N bytes, once
  flip: K          K bodies of objects have another first byte than the object (OSS has a checksum)
  wrong_range: 1   the next range is one byte off
  skew: SECONDS    requests whose time is not within 15 minutes of this clock plus SECONDS are refused
  delay_ms: MS     every request takes so long
  rate: BYTES      bytes per second of one connection
  region: NAME     the bucket lies there: requests that are signed for another region are refused, with the name
  expire: 1        the keys of the next request have expired, once
  token: TEXT      requests must carry this session token
  replace: 1       the next GET of an object finds another version of it, of the same size
  no_match: 1      If-Match is not known
  rotate: 1        the keys end now: only those that the places below give from now on are known
  rotate_each: N   the same after every N requests
  keys_s: SECONDS  how long keys are said to be good
  keys_fail: K     the next K requests for keys are answered with 503
  keys_fail_after: N   all requests for keys behind the next N ones are answered so
  keys_code: TEXT  the Code of an answer with keys, in place of Success
  list_cut: K      the next K listings do not tell where they go on
  list_bad: K      the next K listings tell no size of their objects
  timeout400: K    the next K requests are answered with 400 RequestTimeout, as S3 does after a silent upload
  moved: HOST      the bucket is at another endpoint
  lose_at: N       the Nth request from now on that changes something is carried out, and its answer is lost
  lose_every: N    the same of every Nth such request
  html: K          the next K requests are answered by a page of somebody else, with status 200
  answer: [STATUS, CODE]   every request is refused so
  say: TEXT        messages of refusals end with it
  fault_rate: P    each request meets a fault with this chance: 503, no answer, a cut body, a wrong range, a late answer, a lost one
  seed: N          random numbers of the faults begin anew from N

It also plays the places where keys are found, all on the same port. Keys that were given there end with the next rotation:

  /creds                                             a credentials URI of Alibaba Cloud, and of an AWS container
  /latest/api/token, /latest/meta-data/iam|ram/...   the role of a machine; with --imds 2 only with a token
  /sts                                               keys for the token POD-TOKEN of a pod
"""
import argparse
import hashlib
import hmac
import json
import os
import random
import ssl
import sys
import threading
import time
import urllib.parse
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

LOCK = threading.Lock()
OBJECTS = {}   # "bucket/key" -> (bytes, etag, time)
UPLOADS = {}   # id -> (name, {number: bytes})
STATS = {"requests": 0, "gets": 0, "heads": 0, "lists": 0, "puts": 0, "posts": 0, "deletes": 0, "refused": 0, "bytes": 0, "connections": 0, "keys": 0, "uri": 0, "role": 0, "faults": 0, "changes": 0}
POLY = 0xC96C5795D7870F42
ROUND = [0]    # which keys count: 0 those of the command line
MACHINE_TOKEN = "machine-token"


CRCS = []
for n_ in range(256):
    for _ in range(8):
        n_ = n_ >> 1 ^ POLY if n_ & 1 else n_ >> 1
    CRCS.append(n_)
SUMS = {}      # etag -> CRC-64


def crc64(data):
    c = 0xFFFFFFFFFFFFFFFF
    for b in data:
        c = CRCS[(c ^ b) & 255] ^ c >> 8
    return c ^ 0xFFFFFFFFFFFFFFFF


def enc(text, safe=""):
    return urllib.parse.quote(text, safe="-._~" + safe)


def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for an acknowledgement

    def log_message(self, *a):
        pass

    def date_time_string(self, timestamp=None):
        return formatdate(time.time() + self.server.faults.get("skew", 0), usegmt=True)

    def setup(self):
        super().setup()
        with LOCK:
            STATS["connections"] += 1

    def answer(self, status, body=b"", headers=(), head=False, size=None):
        if self.lost:
            self.close_connection = True
            self.connection.close()
            return
        self.send_response(status)
        for k, v in headers:
            self.send_header(k, v)
        self.send_header(self.server.prefix + "request-id", "REQ-%d" % STATS["requests"])
        self.send_header("Content-Length", str(len(body) if size is None else size))
        self.end_headers()
        if head:
            return
        rate = self.server.faults.get("rate", 0)
        at = 0
        while at < len(body):
            piece = body[at:at + (65536 if rate else len(body))]
            if rate:
                time.sleep(len(piece) / rate)
            self.wfile.write(piece)
            at += len(piece)
        with LOCK:
            STATS["bytes"] += len(body)

    def error(self, status, code, message, headers=(), extra=""):
        with LOCK:
            STATS["refused"] += 1
        message += self.server.faults.get("say", "")
        body = "" if self.command == "HEAD" else (f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{escape(message)}</Message>"
                                                  f"<RequestId>REQ-{STATS['requests']}</RequestId>{extra}</Error>")
        self.answer(status, body.encode(), headers)

    def expected(self, path, query, now):
        """the signature that this request must have; and the one that it has"""
        s = self.server
        auth = self.headers.get("Authorization", "")
        fields = dict(f.strip().split("=", 1) for f in auth.split(" ", 1)[1].split(",")) if " " in auth else {}
        scope = fields.get("Credential", "").split("/")
        if len(scope) != 5:
            return None, None, None
        who, day, region, service, end = scope
        if s.kind == "s3":
            names = fields.get("SignedHeaders", "").split(";")
            must = {"host", "x-amz-date", "x-amz-content-sha256"} | {h.lower() for h in self.headers if h.lower().startswith("x-amz-")}
            if not must <= set(names):
                return None, None, None
            uri, line, key0, algorithm = path, ";".join(names), "AWS4", "AWS4-HMAC-SHA256"
            q = "&".join(f"{enc(k)}={enc(v)}" for k, v in sorted(query, key=lambda p: (enc(p[0]), enc(p[1]))))
        else:
            names = sorted(h.lower() for h in self.headers if h.lower() in ("content-type", "content-md5") or h.lower().startswith("x-oss-"))
            uri, line, key0, algorithm = path, "", "aliyun_v4", "OSS4-HMAC-SHA256"
            q = "&".join(enc(k) + ("=" + enc(v) if v else "") for k, v in sorted(query, key=lambda p: (enc(p[0]), enc(p[1]))))
        heads = "".join(f"{n}:{(self.headers.get(n) or '').strip()}\n" for n in names)
        payload = self.headers.get(s.prefix + "content-sha256", "")
        if s.kind == "s3" and payload != "UNSIGNED-PAYLOAD" and payload != hashlib.sha256(self.body).hexdigest():
            return "the digest of the body", "differs", region
        canonical = f"{self.command}\n{enc(uri, '/')}\n{q}\n{heads}\n{line}\n{payload}"
        text = f"{algorithm}\n{now}\n{day}/{region}/{service}/{end}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        known, secret, _ = self.keys()
        k = mac((key0 + secret).encode(), day)
        for part in (region, service, end):
            k = mac(k, part)
        want = hmac.new(k, text.encode(), hashlib.sha256).hexdigest() if who == known else "unknown key"
        self.old = who != known and (who == s.id or who.startswith("TEMP"))
        return want, fields.get("Signature"), region

    def allowed(self, path, query):
        s, f = self.server, self.server.faults
        now = self.headers.get(s.prefix + "date", "")
        try:
            t = time.mktime(time.strptime(now, "%Y%m%dT%H%M%SZ")) - time.timezone
        except ValueError:
            self.error(403, "AccessDenied", "no date")
            return False
        clock = time.time() + f.get("skew", 0)
        if abs(t - clock) > 900:
            self.error(403, "RequestTimeTooSkewed", "the clocks differ")
            return False
        self.old = False
        want, has, region = self.expected(path, query, now)
        if self.old:
            self.error(403, "InvalidAccessKeyId", "these keys have ended")
            return False
        if want is None or want != has:
            self.error(403, "SignatureDoesNotMatch", "the signature differs")
            return False
        if region != f.get("region", s.region):
            self.error(400, "AuthorizationHeaderMalformed", "the region is wrong", [(s.prefix + "bucket-region", f.get("region", s.region))])
            return False
        token = f.get("token") or self.keys()[2]
        if token and self.headers.get(s.prefix + "security-token") != token:
            self.error(403, "InvalidAccessKeyId", "the token is not known")
            return False
        if f.pop("expire", 0):
            self.error(400 if s.kind == "s3" else 403, "ExpiredToken", "the keys have ended")
            return False
        return True

    def keys(self):
        """id, secret and token that count now"""
        n = ROUND[0]
        return (self.server.id, self.server.secret, "") if n == 0 else ("TEMP%d" % n, "SECRET%d" % n, "TOKEN%d" % n)

    def exchange(self):
        """a service of tokens: keys for the token of a pod"""
        oss = self.server.kind == "oss"
        form = dict(urllib.parse.parse_qsl(self.body.decode()))
        form.update(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        wanted = {"Action": "AssumeRoleWithOIDC", "Version": "2015-04-01", "Format": "JSON", "RoleArn": "acs:ram::1:role/a+b", "OIDCToken": "POD-TOKEN",
                  "OIDCProviderArn": "acs:ram::1:oidc-provider/x", "RoleSessionName": "crank"} if oss else {
                      "Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": "arn:aws:iam::1:role/a+b",
                      "WebIdentityToken": "POD-TOKEN", "RoleSessionName": "crank"}
        if self.command != "POST" or any(form.get(k) != v for k, v in wanted.items()) or (oss and "Timestamp" not in form):
            self.answer(403, b"<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>")
            return
        STATS["keys"] += 1
        if ROUND[0] == 0:
            ROUND[0] = 1
        who, secret, token = self.keys()
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + self.server.faults.get("keys_s", 3600)))
        if oss:
            self.answer(200, json.dumps({"RequestId": "r", "Credentials": {"AccessKeyId": who, "AccessKeySecret": secret, "SecurityToken": token, "Expiration": until}}).encode())
        else:
            self.answer(200, (f"<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>{who}</AccessKeyId><SecretAccessKey>{secret}"
                              f"</SecretAccessKey><SessionToken>{token}</SessionToken><Expiration>{until}</Expiration></Credentials></AssumeRoleWithWebIdentityResult>"
                              "</AssumeRoleWithWebIdentityResponse>").encode())

    def give_keys(self, path):
        """the places where keys are found; False: this is none of them"""
        s = self.server
        if path == "/latest/api/token":
            self.answer(200 if self.command == "PUT" else 405, MACHINE_TOKEN.encode())
            return True
        if path.startswith("/sts"):
            self.exchange()
            return True
        if path == "/word":
            if self.headers.get("Authorization") != "word":
                self.answer(401)
                return True
            path = "/creds"
        if path != "/creds" and not path.startswith("/latest/meta-data/"):
            return False
        if s.faults.get("keys_fail", 0) > 0:
            s.faults["keys_fail"] -= 1
            self.answer(503)
            return True
        if s.faults.get("keys_fail_after", 0) > 0:
            s.faults["keys_fail_after"] -= 1
            s.faults["keys_fail"] = 0 if s.faults["keys_fail_after"] else 1 << 30
        header = "X-aws-ec2-metadata-token" if s.kind == "s3" else "X-aliyun-ecs-metadata-token"
        if path != "/creds" and s.imds == 2 and self.headers.get(header) != MACHINE_TOKEN:
            self.answer(401)
        elif path.endswith("/security-credentials/"):
            self.answer(200, b"a-role\n")
        else:
            STATS["keys"] += 1
            STATS["uri" if path == "/creds" else "role"] += 1
            if ROUND[0] == 0:
                ROUND[0] = 1
            who, secret, token = self.keys()
            until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + s.faults.get("keys_s", 3600)))
            oss = s.kind == "oss"
            self.answer(200, json.dumps({"Code": s.faults.get("keys_code") or "Success", "AccessKeyId": who, "AccessKeySecret" if oss else "SecretAccessKey": secret,
                                         "SecurityToken" if oss else "Token": token, "Expiration": until}).encode())
        return True

    def random_fault(self):
        """one of the faults, for this request; True: it was answered"""
        f = self.server.faults
        if random.random() >= f.get("fault_rate", 0):
            return False
        STATS["faults"] += 1
        kind = random.randrange(6)
        if kind == 0:
            self.error(random.choice((500, 502, 503, 504, 429, 408)), "SlowDown", "please wait")
            return True
        if kind == 1:  # no answer at all
            self.close_connection = True
            self.connection.close()
            return True
        if kind == 2:
            f["cut"] = random.randrange(100000)
        elif kind == 3:
            f["wrong_range"] = 1
        elif kind == 4:
            self.lost = self.command not in ("GET", "HEAD")
        else:
            time.sleep(random.random() * 0.3)
        return False

    def handle_any(self):
        s, f = self.server, self.server.faults
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qsl(url.query, keep_blank_values=True)
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.lost = False
        if url.path == "/__control":
            with LOCK:
                f.update(json.loads(dict(query)["json"]))
                if "seed" in f:
                    random.seed(f.pop("seed"))
                if f.pop("rotate", 0):
                    ROUND[0] += 1
            self.answer(200)
            return
        if url.path == "/__stats":
            self.answer(200, json.dumps(dict(STATS, uploads=len(UPLOADS))).encode())
            return
        if self.give_keys(url.path):
            return
        with LOCK:
            STATS["requests"] += 1
            if f.get("rotate_each") and STATS["requests"] % f["rotate_each"] == 0:
                ROUND[0] += 1
            fail = f.get("fail503", 0) > 0
            if fail:
                f["fail503"] -= 1
        if f.get("delay_ms"):
            time.sleep(f["delay_ms"] / 1000)
        if fail:
            self.error(503, "SlowDown", "please wait")
            return
        if self.random_fault():
            return
        path = urllib.parse.unquote(url.path)
        bucket, _, key = path.lstrip("/").partition("/")
        if not self.allowed(path, query):
            return
        q = dict(query)
        with LOCK:
            STATS[{"GET": "gets", "HEAD": "heads", "PUT": "puts", "POST": "posts", "DELETE": "deletes"}[self.command]] += 1
        if self.command not in ("GET", "HEAD"):
            with LOCK:
                STATS["changes"] += 1
                self.lost |= bool(f.get("lose_every")) and STATS["changes"] % f["lose_every"] == 0
            self.lost |= self.take("lose_at") == 1
        if f.get("answer"):
            self.error(f["answer"][0], f["answer"][1], "no") if f["answer"][1] else self.answer(f["answer"][0], b"", [("Location", "https://login.example/")])
        elif self.take("html"):
            self.answer(200, b"<html><body>Welcome</body></html>", [("Content-Type", "text/html")], head=self.command == "HEAD")
        elif self.take("timeout400"):
            self.error(400, "RequestTimeout", "the connection was silent")
        elif f.get("moved"):
            self.error(403, "AccessDenied", "The bucket must be addressed using the specified endpoint.", extra=f"<Endpoint>{f['moved']}</Endpoint>")
        elif bucket != s.bucket:
            self.error(404, "NoSuchBucket", "there is no such bucket")
        elif not key and self.command == "GET":
            self.list(bucket, q)
        elif not key and self.command == "POST" and "delete" in q:
            self.delete_many(bucket)
        elif self.command in ("GET", "HEAD"):
            self.get(bucket + "/" + key)
        else:
            self.change(bucket + "/" + key, q)

    def take(self, fault):
        """counts a fault down; how many there were"""
        with LOCK:
            n = self.server.faults.get(fault, 0)
            if n:
                self.server.faults[fault] = n - 1
        return n

    def list(self, bucket, q):
        with LOCK:
            STATS["lists"] += 1
            names = sorted(k[len(bucket) + 1:] for k in OBJECTS if k.startswith(bucket + "/" + q.get("prefix", "")))
        code = (lambda t: enc(t, "/")) if q.get("encoding-type") == "url" else escape
        page, n, out, folders, last = min(int(q.get("max-keys", 1000)), self.server.page), 0, [], [], ""
        start = q.get("continuation-token", "")
        more = ""
        for k in names:
            rest = k[len(q.get("prefix", "")):]
            folder = q.get("prefix", "") + rest.split("/")[0] + "/" if q.get("delimiter") == "/" and "/" in rest else None
            mark = folder or k
            if mark <= start or mark == last:
                continue
            if n == page:
                more = last
                break
            n, last = n + 1, mark
            if folder:
                folders.append(f"<CommonPrefixes><Prefix>{code(folder)}</Prefix></CommonPrefixes>")
            else:
                data, etag, t = OBJECTS[bucket + "/" + k]
                out.append(f"<Contents><Key>{code(k)}</Key><LastModified>{time.strftime('%Y-%m-%dT%H:%M:%S.000Z', time.gmtime(t))}</LastModified>"
                           f"<ETag>&quot;{etag}&quot;</ETag><Size>{len(data)}</Size></Contents>")
        if self.take("list_cut"):
            more, cut = "x", True
        else:
            cut = False
        if self.take("list_bad"):
            out = [o.replace("<Size>", "<Sizes>") for o in out]
        body = (f"<?xml version='1.0' encoding='UTF-8'?><ListBucketResult><Name>{bucket}</Name><EncodingType>url</EncodingType>"
                f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>{''.join(out)}{''.join(folders)}"
                + (f"<NextContinuationToken>{escape(more)}</NextContinuationToken>" if more and not cut else "") + "</ListBucketResult>")
        self.answer(200, body.encode(), [("Content-Type", "application/xml")])

    def get(self, name):
        f = self.server.faults
        if self.command == "GET" and f.get("replace") and name in OBJECTS:
            f.pop("replace")
            self.store(name, OBJECTS[name][0][::-1])
        with LOCK:
            o = OBJECTS.get(name)
        if not o:
            self.error(404, "NoSuchKey", "there is no such object")
            return
        data, etag, t = o
        if self.headers.get("If-Match") not in (None, '"%s"' % etag) and not f.get("no_match"):
            self.error(412, "PreconditionFailed", "it is another version")
            return
        heads = [("ETag", '"%s"' % etag), ("Last-Modified", formatdate(t, usegmt=True)), ("Accept-Ranges", "bytes")]
        if self.server.kind == "oss":
            if etag not in SUMS and len(data) < 1 << 21:
                SUMS[etag] = crc64(data)
            if etag in SUMS:  # of a larger one it takes too long
                heads.append(("x-oss-hash-crc64ecma", str(SUMS[etag])))
        if self.command == "HEAD":
            self.answer(200, b"", heads, head=True, size=len(data))
            return
        status = 200
        r = self.headers.get("Range")
        if r:
            a, b = r[len("bytes="):].split("-")
            a, b = int(a), int(b)
            if self.server.kind == "oss" and self.headers.get("x-oss-range-behavior") != "standard" and b >= len(data):
                r = None  # as OSS does without this header: the whole object
            elif a >= len(data):
                self.error(416, "InvalidRange", "behind the end")
                return
            else:
                b = min(b, len(data) - 1)
                status = 206
                heads.append(("Content-Range", f"bytes {a}-{b}/{len(data)}"))
                if f.pop("wrong_range", 0):
                    heads[-1] = ("Content-Range", f"bytes {a + 1}-{b + 1}/{len(data)}")
                data = data[a:b + 1]
        if data and self.take("flip"):
            data = bytes([data[0] ^ 1]) + data[1:]
        cut = f.pop("cut", None)
        if cut is not None and cut < len(data):
            self.send_response(status)
            for k, v in heads:
                self.send_header(k, v)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[:cut])
            self.wfile.flush()
            self.close_connection = True
            self.connection.close()
            return
        self.answer(status, data, heads)

    def store(self, name, data):
        etag = hashlib.md5(data).hexdigest()
        with LOCK:
            OBJECTS[name] = (data, etag, int(time.time()))
        if self.server.dir:
            path = os.path.join(self.server.dir, enc(name))
            with open(path + ".new", "wb") as out:
                out.write(data)
            os.rename(path + ".new", path)
        return etag

    def stored(self, name, data, body=b""):
        heads = [("ETag", '"%s"' % self.store(name, data))]
        if self.server.kind == "oss":
            c = crc64(data) if len(data) < 1 << 20 else None
            if self.server.faults.pop("wrong_crc", 0):
                c = 1
            if c is not None:
                heads.append(("x-oss-hash-crc64ecma", str(c)))
        self.answer(200, body, heads)

    def change(self, name, q):
        if self.command == "DELETE" and "uploadId" in q:
            with LOCK:
                UPLOADS.pop(q["uploadId"], None)
            self.answer(204)
        elif self.command == "DELETE":
            with LOCK:
                OBJECTS.pop(name, None)
            if self.server.dir and os.path.exists(os.path.join(self.server.dir, enc(name))):
                os.remove(os.path.join(self.server.dir, enc(name)))
            self.answer(204)
        elif self.command == "POST" and "uploads" in q:
            uid = "upload-%d" % (len(UPLOADS) + 1 + int(time.time() * 1000))
            with LOCK:
                UPLOADS[uid] = (name, {})
            self.answer(200, f"<InitiateMultipartUploadResult><UploadId>{uid}</UploadId></InitiateMultipartUploadResult>".encode())
        elif self.command == "PUT" and "uploadId" in q:
            with LOCK:
                up = UPLOADS.get(q["uploadId"])
            if not up:
                self.error(404, "NoSuchUpload", "there is no such upload")
                return
            up[1][int(q["partNumber"])] = self.body
            self.answer(200, b"", [("ETag", '"%s"' % hashlib.md5(self.body).hexdigest())])
        elif self.command == "POST" and "uploadId" in q:
            with LOCK:
                up = UPLOADS.pop(q["uploadId"], None)
            if not up:
                self.error(404, "NoSuchUpload", "there is no such upload")
                return
            want = [hashlib.md5(up[1][n]).hexdigest() for n in sorted(up[1])]
            if [e.split("&quot;")[-1].strip('"') for e in self.body.decode().replace("&quot;", "").split("<ETag>")[1:]] and \
                    not all(w in self.body.decode() for w in want):
                self.error(400, "InvalidPart", "a part differs")
                return
            self.stored(name, b"".join(up[1][n] for n in sorted(up[1])), b"<CompleteMultipartUploadResult/>")
        elif self.command == "PUT":
            if self.headers.get("If-None-Match") == "*" and name in OBJECTS:
                self.error(412, "PreconditionFailed", "it exists")
                return
            self.stored(name, self.body)
        else:
            self.error(400, "InvalidRequest", "this is not known")

    def delete_many(self, bucket):
        import base64
        if base64.b64encode(hashlib.md5(self.body).digest()).decode() != self.headers.get("Content-MD5"):
            self.error(400, "BadDigest", "the digest differs")
            return
        from xml.etree import ElementTree
        for o in ElementTree.fromstring(self.body.decode()).iter("Key"):
            with LOCK:
                OBJECTS.pop(bucket + "/" + (o.text or ""), None)
        self.answer(200, b"<DeleteResult/>")

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--kind", choices=["s3", "oss"], required=True)
    ap.add_argument("--dir", default="")
    ap.add_argument("--port", type=int, default=0)
    ap.add_argument("--bucket", default="demo-bucket")
    ap.add_argument("--faults", default="{}")
    ap.add_argument("--id", default="AKIDEXAMPLE")
    ap.add_argument("--secret", default="SECRETEXAMPLE")
    ap.add_argument("--region", default="")
    ap.add_argument("--page", type=int, default=1000)
    ap.add_argument("--imds", type=int, default=2)
    ap.add_argument("--cert", default="")
    a = ap.parse_args()
    s = ThreadingHTTPServer(("127.0.0.1", a.port), Handler)
    s.daemon_threads = True
    if a.cert:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(a.cert)
        s.socket = tls.wrap_socket(s.socket, server_side=True)
    s.kind, s.dir, s.bucket, s.id, s.secret, s.page, s.imds = a.kind, a.dir, a.bucket, a.id, a.secret, a.page, a.imds
    s.region = a.region or ("us-east-1" if a.kind == "s3" else "cn-hangzhou")
    s.prefix = "x-amz-" if a.kind == "s3" else "x-oss-"
    s.faults = json.loads(a.faults)
    for name in os.listdir(a.dir) if a.dir else ():
        if not name.endswith(".new"):
            data = open(os.path.join(a.dir, name), "rb").read()
            OBJECTS[urllib.parse.unquote(name)] = (data, hashlib.md5(data).hexdigest(), int(os.stat(os.path.join(a.dir, name)).st_mtime))
    print("port", s.server_address[1], flush=True)
    try:
        s.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    sys.exit(main())
