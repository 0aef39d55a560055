#!/usr/bin/env python3
"""odps_server.py - a stand-in for MaxCompute on loopback, for tests: metadata, SQL that makes tables and partitions, the
Storage API (version 1) for reading and writing, and the tunnel.

  odps_server.py --dir DIR [--port 0] [--faults JSON] [--id AKIDEXAMPLE --secret SECRETEXAMPLE] [--project demo]

Written from the published description of the protocol, not from crank's client: it computes every signature anew (versions 2
and 4) and refuses a request whose signature differs; arrow_plain.py is its own writer and reader of Arrow. It prints "port N"
once it listens. A table is a folder of DIR: schema.json {"columns": [["a", "BIGINT"]], "partitions": ["dt"]} and a file of rows
per partition, dt=1.jsonl or all.jsonl, a JSON list per line. Sessions outlive the server, in DIR/.sessions.json.
GET /__control?json={...} changes the faults, GET /__stats tells what was asked:

  fail503: K        the next K requests are answered with 503
  cut: N            the next body of rows ends after N bytes, once
  cut_all: N        every body of rows that is longer ends after N bytes
  bad_crc: 1        the next body of the tunnel has a wrong checksum, once
  delay_ms: MS      every request takes so long
  expire: 1         all sessions are over
  reverse: 1        sessions that are made now have the rows in another order
  init: K           a session is INIT for K polls
  batch_rows: N     the server cuts batches of N rows, whatever is asked
  only_v2: 1        signatures of version 4 are refused
  skew: SECONDS     this clock is so far from the real one
  keys: [ID, SECRET, TOKEN]   the keys that count from now on
  commit_async: 1   a commit takes two polls
  lose_block: K     the next K blocks that are written are taken, but the connection ends without an answer
  lose_commit: K    the same of the next K commits; a session that is committed is not committed again
  html: K           the next K requests are answered by a page of somebody else, with status 200
  keys_fail: K      the next K requests for keys are answered with 503
  rotate_each: N    the keys end after every N requests; new ones are at /creds, a credentials URI
  fault_rate: P     each request meets a fault with this chance: 503, no answer, a cut body, a late answer
  seed: N           random numbers of the faults begin anew from N

A table of a schema is the folder SCHEMA.TABLE; requests for it must say curr_schema.
"""
import argparse
import base64
import hashlib
import hmac
import json
import os
import random
import re
import struct
import threading
import time
import urllib.parse
from email.utils import formatdate, parsedate_to_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

import arrow_plain

LOCK = threading.RLock()
STATS = {"requests": 0, "refused": 0, "reads": 0, "sessions": 0, "refreshes": 0, "v2": 0, "v4": 0, "commits": 0, "sql": 0, "keys": 0, "faults": 0}


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for b in data:
        crc = TABLE[(crc ^ b) & 255] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


TABLE = []
for n_ in range(256):
    for _ in range(8):
        n_ = n_ >> 1 ^ 0x82F63B78 if n_ & 1 else n_ >> 1
    TABLE.append(n_)


class Store:
    def __init__(self, path):
        self.dir = path
        self.file = os.path.join(path, ".sessions.json")
        self.sessions = json.load(open(self.file)) if os.path.exists(self.file) else {}

    def save(self):
        with open(self.file + ".new", "w") as f:
            json.dump(self.sessions, f)
        os.replace(self.file + ".new", self.file)

    def schema(self, table):
        p = os.path.join(self.dir, table, "schema.json")
        return json.load(open(p)) if os.path.exists(p) else None

    def partitions(self, table):
        names = sorted(f[:-6].replace("__", "/") for f in os.listdir(os.path.join(self.dir, table)) if f.endswith(".jsonl"))
        return [n for n in names if n != "all"]

    def path(self, table, part):
        return os.path.join(self.dir, table, (part.replace("/", "__") or "all") + ".jsonl")

    def rows(self, table, parts):
        out = []
        for p in parts or self.partitions(table) or [""]:
            with open(self.path(table, p)) as f:
                out += [json.loads(line) for line in f]
        return out


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for an acknowledgement

    def log_message(self, *a):
        pass

    def date_time_string(self, timestamp=None):
        return formatdate(time.time() + self.server.faults.get("skew", 0), usegmt=True)

    def answer(self, status, body=b"", headers=(), size=None):
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
        self.send_response(status)
        for k, v in headers:
            self.send_header(k, v)
        self.send_header("x-odps-request-id", "REQ-%d" % STATS["requests"])
        self.send_header("Content-Length", str(len(body) if size is None else size))
        self.end_headers()
        self.wfile.write(body)
        if size is not None and size != len(body):
            self.close_connection = True

    def error(self, status, code, message):
        with LOCK:
            STATS["refused"] += 1
        if self.path.startswith("/api/storage"):
            self.answer(status, {"Code": code, "Message": message, "RequestId": "REQ"})
        else:
            self.answer(status, f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>".encode())

    def take(self, key):
        with LOCK:
            n = self.server.faults.get(key, 0)
            if n:
                self.server.faults[key] = 0
            return n

    # ---- signatures ----

    def signed(self, path, query):
        """None, or (status, code, message)"""
        s = self.server
        who, secret, token = s.keys
        h = {k.lower(): v for k, v in self.headers.items()}
        sent = parsedate_to_datetime(h.get("date", "Thu, 01 Jan 1970 00:00:00 GMT")).timestamp()
        if abs(sent - time.time() - s.faults.get("skew", 0)) > 900:
            return 403, "RequestTimeTooSkewed", "the clocks differ"
        if token and h.get("authorization-sts-token") != token:
            return 401, "ODPS-0410042", "Invalid signature value - expired token"
        lines = [self.command, h.get("content-md5", ""), h.get("content-type", ""), h.get("date", "")]
        lines += ["%s:%s" % (k, h[k]) for k in sorted(h) if k.startswith("x-odps-")]
        text = path + ("?" + "&".join(k + ("=" + v if v else "") for k, v in sorted(query)) if query else "")
        lines.append(text)
        auth = h.get("authorization", "")
        m = re.fullmatch(r"ODPS ([^:/]+)(?:/(\d{8})/([^/]+)/odps/aliyun_v4_request)?:(.+)", auth)
        if not m:
            return 401, "ODPS-0410051", "Invalid credentials - no signature"
        key = secret.encode()
        if m[2]:
            if s.faults.get("only_v2"):
                return 403, "Forbidden", "need ak v3 support"
            key = b"aliyun_v4" + key
            for part in (m[2], m[3], "odps", "aliyun_v4_request"):
                key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        want = base64.b64encode(hmac.new(key, "\n".join(lines).encode(), hashlib.sha1).digest()).decode()
        with LOCK:
            STATS["v4" if m[2] else "v2"] += 1
        if m[1] != who or not hmac.compare_digest(want, m[4]):
            return 403, "ODPS-0410051", "Invalid credentials - the signature is another one"
        if h.get("x-odps-user-agent") != h.get("user-agent"):
            return 400, "InvalidArgument", "x-odps-user-agent"
        return None

    # ---- requests ----

    def do_GET(self):
        self.handle_one("GET")

    def do_POST(self):
        self.handle_one("POST")

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            out = b""
            while True:
                n = int(self.rfile.readline().split(b";")[0], 16)
                out += self.rfile.read(n)
                self.rfile.readline()
                if n == 0:
                    return out
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def handle_one(self, method):
        url = urllib.parse.urlsplit(self.path)
        body = self.body()
        query = urllib.parse.parse_qsl(url.query, keep_blank_values=True)
        q = dict(query)
        path = urllib.parse.unquote(url.path)
        s = self.server
        if path == "/__control":
            with LOCK:
                change = json.loads(q["json"])
                if "keys" in change:
                    s.keys = change.pop("keys")
                s.faults.update(change)
                if "seed" in s.faults:
                    random.seed(s.faults.pop("seed"))
                if s.faults.pop("expire", 0):
                    for x in s.store.sessions.values():
                        x["status"] = "EXPIRED"
                    s.store.save()
            return self.answer(200, b"{}")
        if path == "/__stats":
            return self.answer(200, STATS)
        with LOCK:
            if path == "/creds":
                return self.give_keys()
            STATS["requests"] += 1
            if s.faults.get("rotate_each") and STATS["requests"] % s.faults["rotate_each"] == 0:
                s.rounds += 1
                s.keys = ["TEMP%d" % s.rounds, "SECRET%d" % s.rounds, "TOKEN%d" % s.rounds]
            fail = s.faults.get("fail503", 0)
            if fail:
                s.faults["fail503"] = fail - 1
        time.sleep(s.faults.get("delay_ms", 0) / 1000)
        if fail:
            return self.error(503, "ServiceUnavailable", "try again")
        if self.random_fault():
            return None
        if s.faults.get("html", 0) > 0:
            s.faults["html"] -= 1
            return self.answer(200, b"<html><body>Welcome</body></html>", [("Content-Type", "text/html")])
        control = path.startswith("/api/") and not path.startswith("/api/storage/")
        bad = self.signed(path[4:] if control else path, query)
        if bad:
            return self.error(*bad)
        if q.get("curr_project") != s.project:
            return self.error(400, "InvalidArgument", "curr_project")
        named = re.search(r"/schemas/(\w+)/", path)
        if q.get("curr_schema", "") != (named[1] if named and named[1] != "default" else q.get("curr_schema", "") if path.endswith("/instances") else ""):
            return self.error(400, "InvalidArgument", "curr_schema")
        try:
            if control:
                return self.control(method, path[4:], q, body)
            if path.startswith("/api/storage/v1/"):
                return self.storage(method, path, q, body)
            return self.tunnel(method, path, q, body)
        except (KeyError, ValueError) as e:
            return self.error(400, "InvalidArgument", repr(e))

    def give_keys(self):
        """a credentials URI"""
        s = self.server
        if s.faults.get("keys_fail", 0) > 0:
            s.faults["keys_fail"] -= 1
            return self.answer(503)
        STATS["keys"] += 1
        who, secret, token = s.keys
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
        return self.answer(200, {"Code": "Success", "AccessKeyId": who, "AccessKeySecret": secret, "SecurityToken": token, "Expiration": until})

    def random_fault(self):
        """one of the faults, for this request; True: it was answered"""
        if random.random() >= self.server.faults.get("fault_rate", 0):
            return False
        with LOCK:
            STATS["faults"] += 1
        kind = random.randrange(4)
        if kind == 0:
            self.error(random.choice((502, 503, 504)), "ServiceUnavailable", "try again")
            return True
        if kind == 1:  # no answer at all
            self.close_connection = True
            self.connection.close()
            return True
        if kind == 2:
            self.server.faults["cut"] = random.randrange(1, 100000)
        else:
            time.sleep(random.random() * 0.3)
        return False

    # ---- metadata and SQL ----

    def control(self, method, path, q, body):
        s, st = self.server, self.server.store
        base = f"/projects/{s.project}"
        if path == base + "/tunnel" and "service" in q:
            return self.answer(200, ("127.0.0.1:%d" % s.server_address[1]).encode())
        m = re.fullmatch(base + r"(?:/schemas/(\w+))?/tables/(\w+)", path)
        if m and method == "GET":
            table = (m[1] + "." if m[1] else "") + m[2]
            schema = st.schema(table)
            if not schema:
                return self.error(404, "NoSuchObject", "ODPS-0130131: Table not found - " + table)
            if "partitions" in q:
                if s.faults.get("same_marker"):
                    return self.answer(200, b"<Partitions><Marker>again</Marker></Partitions>")
                names = st.partitions(table)
                first = int(q.get("marker") or 0)  # three at a time
                rows = "".join("<Partition>" + "".join('<Column Name="%s" Value="%s"/>' % tuple(escape(y, {'"': "&quot;"}) for y in x.split("=", 1)) for x in n.split("/")) +
                               "</Partition>" for n in names[first:first + 3])
                marker = str(first + 3) if first + 3 < len(names) else ""
                return self.answer(200, f"<?xml version='1.0'?><Partitions><Marker>{marker}</Marker>{rows}</Partitions>".encode())
            cols = {"columns": [{"name": n, "type": t} for n, t in schema["columns"]],
                    "partitionKeys": [{"name": n, "type": "STRING"} for n in schema.get("partitions", [])]}
            return self.answer(200, f"<?xml version='1.0'?><Table><Name>{m[2]}</Name><Schema format=\"Json\"><![CDATA[{json.dumps(cols)}]]></Schema></Table>".encode())
        if path == base + "/instances" and method == "POST":
            sql = re.search(r"<Query><!\[CDATA\[(.*)\]\]></Query>", body.decode(), re.S)[1]
            with LOCK:
                STATS["sql"] += 1
                number = STATS["sql"]
            s.jobs[str(number)] = self.run_sql(sql, "odps.namespace.schema" in body.decode())
            return self.answer(201, b"", [("Location", f"http://x{base}/instances/{number}")])
        m = re.fullmatch(base + r"/instances/(\d+)", path)
        if m:
            how, text = s.jobs[m[1]]
            if "taskstatus" in q:
                return self.answer(200, f"<Instance><Tasks><Task Type='SQL'><Name>t</Name><Status>{how}</Status></Task></Tasks></Instance>".encode())
            if "result" in q:
                return self.answer(200, f"<Instance><Tasks><Task><Result><![CDATA[{text}]]></Result></Task></Tasks></Instance>".encode())
            return self.answer(200, b"<Instance><Status>Terminated</Status></Instance>")
        return self.error(404, "NoSuchObject", path)

    def run_sql(self, sql, schemas):
        st = self.server.store
        three = re.search(r"TABLE (?:IF NOT EXISTS )?\w+\.(\w+)\.`", sql)
        if bool(three) != schemas:
            return "Failed", "ODPS-0130161: a name of %d parts" % (3 if three else 2)
        if three:  # the folder is SCHEMA.TABLE
            sql = re.sub(r"(\w+)\.(\w+)\.`(\w+)`", r"\1.`\2.\3`", sql, count=1)
        m = re.fullmatch(r"CREATE TABLE IF NOT EXISTS \w+\.`([\w.]+)` \((.*?)\)(?: PARTITIONED BY \((.*?)\))?(?: LIFECYCLE \d+)?;", sql, re.S)
        if m:
            path = os.path.join(st.dir, m[1])
            if not os.path.exists(path):
                os.makedirs(path)
                cols = [re.match(r"`(.*?)` (.*)", c.strip()).groups() for c in re.split(r",(?![^<]*>)", m[2])]
                parts = [c.strip().split()[0].strip("`") for c in (m[3] or "").split(",") if c.strip()]
                json.dump({"columns": cols, "partitions": parts}, open(os.path.join(path, "schema.json"), "w"))
            return "Success", ""
        m = re.fullmatch(r"ALTER TABLE \w+\.`([\w.]+)` ADD IF NOT EXISTS PARTITION \((.*)\);", sql)
        if m and st.schema(m[1]):
            found = re.findall(r"(\w+)='((?:[^'\\]|\\.)*)'", m[2])
            part = "/".join(n + "=" + re.sub(r"\\(.)", r"\1", v) for n, v in found)
            open(st.path(m[1], part), "a").close()
            return "Success", ""
        return "Failed", "ODPS-0130161: cannot parse " + sql

    # ---- the Storage API ----

    def new_session(self, what):
        st = self.server.store
        with LOCK:
            STATS["sessions"] += 1
            sid = "S%d-%d" % (os.getpid(), STATS["sessions"])
            what.update(status="INIT" if self.server.faults.get("init") else "NORMAL", polls=self.server.faults.get("init", 0),
                        reverse=bool(self.server.faults.get("reverse")))
            st.sessions[sid] = what
            st.save()
        return sid

    def session_answer(self, sid, x):
        st = self.server.store
        types = dict(map(tuple, st.schema(x["table"])["columns"]))
        cols = x.get("columns") or list(types)
        n = len(st.rows(x["table"], x["parts"])) if x["type"] == "batch_read" else 0
        return {"SessionId": sid, "SessionType": x["type"], "SessionStatus": x["status"], "ExpirationTime": int(time.time() * 1000) + 86400000,
                "RecordCount": n, "SplitsCount": 1, "MaxBlockNumber": 20000,
                "DataSchema": {"DataColumns": [{"Name": c, "Type": types[c], "Nullable": True} for c in cols], "PartitionColumns": []},
                "SupportedDataFormat": [{"Type": "ARROW", "Version": "V5"}]}

    def rows_of(self, x, columns):
        st = self.server.store
        names = [n for n, _ in st.schema(x["table"])["columns"]]
        at = [names.index(c) for c in columns]
        rows = st.rows(x["table"], x["parts"])
        if x["reverse"]:
            rows.reverse()
        return [[r[i] for i in at] for r in rows]

    def send_rows(self, data):
        with LOCK:
            STATS["reads"] += 1
        cut = self.take("cut") or self.server.faults.get("cut_all", 0)
        if cut and cut < len(data):
            return self.answer(200, data[:cut], size=len(data))
        return self.answer(200, data)

    def storage(self, method, path, q, body):
        s, st = self.server, self.server.store
        if q.get("quotaName") != s.quota:
            return self.error(403, "QuotaNotGranted", "quota " + q.get("quotaName", ""))
        m = re.fullmatch(rf"/api/storage/v1/projects/{s.project}/schemas/(\w+)/tables/(\w+)(/.*)", path)
        table, rest = ("" if m[1] == "default" else m[1] + ".") + m[2], m[3]
        schema = st.schema(table)
        if not schema:
            return self.error(404, "NoSuchTable", table)
        types = dict(map(tuple, schema["columns"]))
        if rest == "/sessions" and method == "POST":
            if hashlib.md5(body).hexdigest() != self.headers.get("Content-MD5"):
                return self.error(400, "InvalidArgument", "Content-MD5")
            o = json.loads(body)
            if q["session_type"] == "batch_write":
                part = o["PartitionSpec"]
                if part and part not in st.partitions(table):
                    return self.error(404, "NoSuchPartition", part)
                sid = self.new_session({"type": "batch_write", "table": table, "parts": [part], "blocks": {}, "attempts": []})
                return self.answer(201, self.session_answer(sid, st.sessions[sid]))
            for c in o["RequiredDataColumns"]:
                if c not in types:
                    return self.error(400, "InvalidArgument", "no column " + c)
            for p in o["RequiredPartitions"]:
                if p not in st.partitions(table):
                    return self.error(404, "NoSuchPartition", p)
            if o["SplitOptions"]["SplitMode"] != "RowOffset":
                return self.error(400, "InvalidArgument", "SplitMode")
            sid = self.new_session({"type": "batch_read", "table": table, "parts": o["RequiredPartitions"], "columns": o["RequiredDataColumns"]})
            return self.answer(202 if s.faults.get("init") else 201, self.session_answer(sid, st.sessions[sid]))
        m = re.fullmatch(r"/sessions/([\w-]+)", rest)
        if m and method == "GET":
            x = st.sessions.get(m[1])
            if not x:
                return self.error(404, "NoSuchSession", m[1])
            with LOCK:
                STATS["refreshes"] += q.get("session_refresh") == "true"
                if x["polls"]:
                    x["polls"] -= 1
                    if x["polls"] == 0:
                        x["status"] = "COMMITTED" if x["status"] == "COMMITTING" else "NORMAL"
            return self.answer(200, self.session_answer(m[1], x))
        if rest == "/data" and method == "GET":
            x = st.sessions.get(q["session_id"])
            if not x or x["status"] == "EXPIRED":
                return self.error(400, "SessionExpired", q["session_id"])
            first, n = int(q["row_index"]), int(q["row_count"])
            rows = self.rows_of(x, x["columns"])
            if first < 0 or n <= 0 or first + n > len(rows):
                return self.error(400, "InvalidRowRange", f"{first} + {n} of {len(rows)}")
            per = s.faults.get("batch_rows") or int(q["max_batch_rows"])
            codec = self.headers.get("Accept-Encoding") or None
            cols = [(c, types[c]) for c in x["columns"]]
            return self.send_rows(arrow_plain.stream(cols, rows[first:first + n], per, codec if codec in ("LZ4_FRAME", "ZSTD") else None))
        m = re.fullmatch(r"/sessions/([\w-]+)/data", rest)
        if m and method == "POST":
            x = st.sessions[m[1]]
            names, rows = arrow_plain.read_stream(body)
            if names != [n for n, _ in schema["columns"]]:
                return self.error(400, "InvalidArgument", "columns %s, the table has %s" % (names, list(types)))
            with LOCK:
                attempt = q["block_number"] + "/" + q["attempt_number"]
                if attempt in x["attempts"]:
                    return self.error(400, "InvalidArgument", "attempt %s was made" % attempt)
                x["attempts"].append(attempt)
                x["blocks"][q["block_number"]] = rows
                st.save()
                lose = s.faults.get("lose_block", 0)
                if lose:
                    s.faults["lose_block"] = lose - 1
            if lose:
                self.close_connection = True
                self.connection.close()
                return None
            return self.answer(200, {"CommitMessage": "msg-" + q["block_number"]})
        if rest == "/commit" and method == "POST":
            x = st.sessions[q["session_id"]]
            order = [m_.split("-")[1] for m_ in json.loads(body)["CommitMessages"]]
            if x["status"] != "NORMAL":
                return self.error(400, "InvalidSessionStatus", "the session is " + x["status"])
            with LOCK:
                STATS["commits"] += 1
                path_ = st.path(table, x["parts"][0])
                with open(path_ + ".new", "w") as f:
                    for b in order:
                        for r in x["blocks"][b]:
                            f.write(json.dumps(r) + "\n")
                os.replace(path_ + ".new", path_)
                x["status"], x["polls"] = ("COMMITTING", 2) if s.faults.get("commit_async") else ("COMMITTED", 0)
                st.save()
            if s.faults.get("lose_commit", 0) > 0:
                s.faults["lose_commit"] -= 1
                self.close_connection = True
                self.connection.close()
                return None
            return self.answer(200 if x["polls"] else 201, self.session_answer(q["session_id"], x))
        return self.error(404, "NoSuchObject", path)

    # ---- the tunnel ----

    def tunnel(self, method, path, q, body):
        s, st = self.server, self.server.store
        m = re.fullmatch(rf"/projects/{s.project}(?:/schemas/(\w+))?/tables/(\w+)", path)
        table = m and (m[1] + "." if m[1] else "") + m[2]
        schema = m and st.schema(table)
        if not schema:
            return self.error(404, "NoSuchTable", path)
        if self.headers.get("x-odps-tunnel-version") != "6":
            return self.error(400, "InvalidArgument", "x-odps-tunnel-version")
        part = q.get("partition", "").replace(",", "/")
        if part and part not in st.partitions(table):
            return self.error(404, "NoSuchPartition", part)
        if st.partitions(table) and not part:
            return self.error(400, "InvalidArgument", "a partition is needed")

        def about(did, x):
            cols = [{"name": n, "type": t} for n, t in schema["columns"]]
            status = {"INIT": "INITIATING"}.get(x["status"], x["status"])
            return {"DownloadID": did, "Status": status, "RecordCount": len(st.rows(table, [part] if part else [])),
                    "Schema": {"columns": cols, "partitionKeys": []}, "SupportReadByRawSize": True}
        if method == "POST" and "downloads" in q:
            did = self.new_session({"type": "download", "table": table, "parts": [part] if part else []})
            return self.answer(201, about(did, st.sessions[did]))
        x = st.sessions.get(q.get("downloadid", ""))
        if not x or x["status"] == "EXPIRED":
            return self.error(404, "NoSuchDownload", q.get("downloadid", ""))
        if "data" not in q:
            with LOCK:
                if x["polls"]:
                    x["polls"] -= 1
                    x["status"] = "INIT" if x["polls"] else "NORMAL"
            return self.answer(200, about(q["downloadid"], x))
        first, n = map(int, q["rowrange"].strip("()").split(","))
        columns = q["columns"].split(",")
        types = dict(map(tuple, schema["columns"]))
        rows = self.rows_of(x, columns)
        if first + n > len(rows):
            return self.error(400, "InvalidRowRange", q["rowrange"])
        data = arrow_plain.stream([(c, types[c]) for c in columns], rows[first:first + n], s.faults.get("batch_rows") or 1000, with_schema=False)
        size, out, at = 4096, struct.pack(">I", 4096), 0
        bad = self.take("bad_crc")
        while len(data) - at >= size:
            out += data[at:at + size] + struct.pack(">I", crc32c(data[at:at + size]) ^ (1 if bad else 0))
            at += size
        out += data[at:] + struct.pack(">I", crc32c(data) ^ (1 if bad else 0))
        return self.send_rows(out)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--dir", required=True)
    p.add_argument("--port", type=int, default=0)
    p.add_argument("--faults", default="{}")
    p.add_argument("--id", default="AKIDEXAMPLE")
    p.add_argument("--secret", default="SECRETEXAMPLE")
    p.add_argument("--project", default="demo")
    p.add_argument("--quota", default="pay-as-you-go")
    a = p.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", a.port), Handler)
    server.daemon_threads = True
    server.faults = json.loads(a.faults)
    server.keys = [a.id, a.secret, ""]
    server.rounds = 0
    server.project, server.quota = a.project, a.quota
    server.store, server.jobs = Store(a.dir), {}
    print("port %d" % server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
