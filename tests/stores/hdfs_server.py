#!/usr/bin/env python3
"""hdfs_server.py - a stand-in for HDFS's web interface on loopback, for tests: two name nodes, of which one may be on
standby, and two data nodes. Written from the public description of WebHDFS, not from crank's client.

  hdfs_server.py [--user U] [--token T] [--spnego] [--page N]

It prints "nodes NN1 NN2 DN1 DN2 HTTPFS" with their ports. Data never comes from a name node, and a data node takes only
addresses that a name node made. GET /__control?json={...} of any of them changes the faults, /__stats tells what was asked:

  standby: 0|1     this name node is on standby (-1: none)
  dead: 0|1        this data node answers 500
  fail503: K       the next K requests of name nodes are answered with 503
  cut: N           the next read ends after N bytes, once
  lose: 1          the next append is made, and its answer is lost, once
  lose_names: K    the next K requests that make, rename or remove something are carried out, and their answers are lost
  lose_every: N    the same of every Nth such request
  strange: K       the next K listings are JSON that is no listing
  html: K          the next K requests are answered by a page of somebody else, with status 200
  nameless: K      the next K listings have an entry without a name
  hadoop2: 1       listings come whole, and the form with pages is not known
  fault_rate: P    each request meets a fault with this chance: 5xx, no answer, a cut read, the lost answer of a change
  seed: N          random numbers of the faults begin anew from N

With --spnego the name nodes want a Kerberos ticket of U for HTTP/localhost (RFC 4559), which the GSSAPI of the system checks with the keytab
of KRB5_KTNAME, and give a cookie hadoop.auth for it, as Hadoop does.
"""
import argparse
import base64
import json
import random
import secrets
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOCK = threading.RLock()
FILES = {"/": None}  # path -> None (folder) or [bytes, time, id]
TIMES = {}
IDS = [16386]
TICKETS = set()
COOKIES = set()
FAULTS = {"standby": -1}
STATS = {"faults": 0, "lost": 0, "changes": 0, "names": 0, "reads": 0, "writes": 0, "standby": 0, "refused": 0, "excluded": 0, "tickets": 0, "cookies": 0}
NODES = []
ARGS = None


def now():
    return int(time.time() * 1000)


def status(path, suffix):
    f = FILES[path]
    d = {"pathSuffix": suffix, "owner": "u", "group": "g", "permission": "755", "accessTime": 0, "replication": 0, "blockSize": 0}
    if f is None:
        return dict(d, type="DIRECTORY", length=0, modificationTime=TIMES.get(path, 1), fileId=1)
    return dict(d, type="FILE", length=len(f[0]), modificationTime=f[1], fileId=f[2], replication=3, blockSize=134217728)


def children(path):
    head = path.rstrip("/") + "/"
    return sorted(p for p in FILES if p != "/" and p.startswith(head) and "/" not in p[len(head):])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for an acknowledgement

    def log_message(self, *a):
        pass

    def answer(self, code, body=b"", headers=()):
        if self.lost:
            self.close_connection = True
            self.connection.close()
            return
        self.send_response(code)
        for k, v in list(headers) + getattr(self, "extra", []):
            self.send_header(k, v)
        self.extra = []
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def json(self, value, code=200):
        self.answer(code, json.dumps(value).encode(), [("Content-Type", "application/json")])

    def refuse(self, code, name, message):
        STATS["refused"] += 1
        self.json({"RemoteException": {"exception": name, "javaClassName": "org.apache.hadoop." + name, "message": message}}, code)

    def handle_any(self):
        url = urllib.parse.urlsplit(self.path)
        q = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.lost = False
        if url.path == "/__control":
            with LOCK:
                FAULTS.update(json.loads(q["json"]))
                if "seed" in FAULTS:
                    random.seed(FAULTS.pop("seed"))
            return self.answer(200)
        if url.path == "/__stats":
            return self.json(STATS)
        if FAULTS.get("html", 0) > 0:
            FAULTS["html"] -= 1
            return self.answer(200, b"<html><body>Welcome</body></html>", [("Content-Type", "text/html")])
        path = urllib.parse.unquote(url.path)
        if not path.startswith("/webhdfs/v1/") and path != "/webhdfs/v1":
            return self.answer(404)
        path = path[len("/webhdfs/v1"):].rstrip("/") or "/"
        with LOCK:
            if self.server.role >= 2 and self.server.role < 4:
                return self.data(path, q)
            return self.name(path, q)

    def random_fault(self, q):
        """with the chance FAULTS["fault_rate"] a request fails, or the data of the next one is cut; True: it was answered"""
        if random.random() >= FAULTS.get("fault_rate", 0):
            return False
        STATS["faults"] += 1
        kind = random.randrange(5)
        if kind == 0:
            self.answer(random.choice((500, 502, 503, 504)))
        elif kind == 1:  # no answer at all
            self.close_connection = True
            self.connection.close()
        elif kind == 2 and q.get("op", "").upper() == "OPEN":
            FAULTS["cut"] = random.randrange(100000)
        elif kind == 3:
            FAULTS["lose"] = 1
        elif kind == 4:
            FAULTS["lose_names"] = 1
        return kind < 2

    def believed(self, q):
        """does the request show a ticket, or the cookie that was given for one? False: it was answered"""
        if "user.name" in q:
            return self.refuse(400, "IllegalArgumentException", "a name where a ticket is wanted")
        cookie = self.headers.get("Cookie", "")
        if cookie.startswith("hadoop.auth=") and cookie[12:].strip('"') in COOKIES:
            STATS["cookies"] += 1
            self.extra = []
            return True
        auth = self.headers.get("Authorization", "")
        if not auth.startswith("Negotiate "):
            return self.answer(401, b"", [("WWW-Authenticate", "Negotiate")])
        import gssapi
        try:
            ctx = gssapi.SecurityContext(creds=gssapi.Credentials(usage="accept"), usage="accept")
            reply = ctx.step(base64.b64decode(auth[10:]))
            who = str(ctx.initiator_name) if ctx.complete else "?"
        except gssapi.exceptions.GSSError as e:
            return self.refuse(403, "AuthenticationException", str(e)[:200])
        if who.split("@")[0] != ARGS.user:
            return self.refuse(403, "AccessControlException", "Permission denied: user=" + who)
        STATS["tickets"] += 1
        cookie = secrets.token_hex(16)
        COOKIES.add(cookie)
        self.extra = [("WWW-Authenticate", "Negotiate " + base64.b64encode(reply or b"").decode()),
                      ("Set-Cookie", 'hadoop.auth="%s"; Path=/; HttpOnly' % cookie)]
        return True

    def name(self, path, q):
        STATS["names"] += 1
        gateway = self.server.role == 4
        if self.random_fault(q):
            return None
        if FAULTS.get("fail503", 0) > 0:
            FAULTS["fail503"] -= 1
            return self.answer(503)
        if not gateway and FAULTS.get("standby", -1) == self.server.role:
            STATS["standby"] += 1
            return self.refuse(403, "StandbyException", "Operation category READ is not supported in state standby")
        if ARGS.token and q.get("delegation") != ARGS.token:
            return self.refuse(403, "InvalidToken", "the token is not known")
        if ARGS.spnego and not ARGS.token and not self.believed(q):
            return None
        if not ARGS.spnego and not ARGS.token and q.get("user.name") != ARGS.user:
            return self.refuse(401, "AccessControlException", "Permission denied: user=%s" % q.get("user.name"))
        op = q.get("op", "").upper()
        f = FILES.get(path, 0)
        if op in ("MKDIRS", "DELETE", "RENAME"):
            STATS["changes"] += 1
            self.lost = bool(FAULTS.get("lose_every")) and STATS["changes"] % FAULTS["lose_every"] == 0
            if FAULTS.get("lose_names", 0) > 0:
                FAULTS["lose_names"] -= 1
                self.lost = True
            STATS["lost"] += self.lost
        if op == "GETFILESTATUS":
            return self.json({"FileStatus": status(path, "")}) if f != 0 else self.refuse(404, "FileNotFoundException", "File does not exist: " + path)
        if op == "LISTSTATUS_BATCH" and FAULTS.get("hadoop2"):
            return self.refuse(400, "IllegalArgumentException", "Invalid value for webhdfs parameter \"op\": No enum constant LISTSTATUS_BATCH")
        if op == "LISTSTATUS" and FAULTS.get("hadoop2"):
            return self.json({"FileStatuses": {"FileStatus": [status(p, p.rsplit("/", 1)[1]) for p in children(path)]}})
        if op == "LISTSTATUS_BATCH":
            if f == 0:
                return self.refuse(404, "FileNotFoundException", "File does not exist: " + path)
            names = [p for p in children(path) if p.rsplit("/", 1)[1] > q.get("startAfter", "")]
            some = names[:ARGS.page]
            if FAULTS.get("strange", 0) > 0:
                FAULTS["strange"] -= 1
                return self.json({"FileStatus": status(path, "")})
            if FAULTS.get("nameless", 0) > 0:
                FAULTS["nameless"] -= 1
                return self.json({"DirectoryListing": {"partialListing": {"FileStatuses": {"FileStatus": [{"type": "FILE"}]}}, "remainingEntries": 0}})
            return self.json({"DirectoryListing": {"partialListing": {"FileStatuses": {"FileStatus": [status(p, p.rsplit("/", 1)[1]) for p in some]}},
                                                   "remainingEntries": len(names) - len(some)}})
        if op == "MKDIRS":
            at = ""
            for part in path.strip("/").split("/"):
                at += "/" + part
                if FILES.setdefault(at, None) is not None:
                    return self.refuse(403, "FileAlreadyExistsException", "a file is there")
                TIMES.setdefault(at, now())
            return self.json({"boolean": True})
        if op == "DELETE":
            if f == 0:
                return self.json({"boolean": False})
            below = [p for p in FILES if p.startswith(path.rstrip("/") + "/")]
            if f is None and below and q.get("recursive") != "true":
                return self.refuse(403, "PathIsNotEmptyDirectoryException", "not empty")
            for p in below + [path]:
                FILES.pop(p, None)
            return self.json({"boolean": True})
        if op == "RENAME":
            to = q["destination"]
            if f == 0:
                return self.refuse(404, "FileNotFoundException", "File does not exist: " + path)
            over = "OVERWRITE" in q.get("renameoptions", "").upper()
            if to in FILES and not over:
                return self.json({"boolean": False})
            if FILES.get(to.rsplit("/", 1)[0] or "/", 0) is not None:
                return self.refuse(404, "FileNotFoundException", "no parent")
            if to in FILES and [p for p in FILES if p.startswith(to + "/")]:
                return self.refuse(403, "IOException", "the folder is not empty")
            for p in [p for p in FILES if p == path or p.startswith(path + "/")]:
                FILES[to + p[len(path):]] = FILES.pop(p)
            return self.answer(200) if over else self.json({"boolean": True})
        if op in ("OPEN", "CREATE", "APPEND"):
            if op != "CREATE" and f == 0:
                return self.refuse(404, "FileNotFoundException", "File does not exist: " + path)
            if gateway and op == "OPEN":
                return self.data(path, q)
            if gateway and q.get("data") == "true":
                return self.data(path, q)
            if self.body:
                return self.refuse(400, "IllegalArgumentException", "data was sent to a name node")
            ticket = secrets.token_hex(8)
            TICKETS.add(ticket)
            dn = 2
            if "excludedatanodes" in q:
                STATS["excluded"] += 1
                dn = 3 if str(NODES[2]) in q["excludedatanodes"] else 2
            port = NODES[4] if gateway else NODES[dn]
            keep = {k: v for k, v in q.items() if k in ("op", "offset", "length", "overwrite", "user.name", "delegation")}
            if gateway:
                keep["data"] = "true"
            else:
                keep = {k: v for k, v in keep.items() if k not in ("user.name", "delegation")}
                keep["delegation"] = ticket
            where = "http://127.0.0.1:%d/webhdfs/v1%s?%s" % (port, urllib.parse.quote(path), urllib.parse.urlencode(keep))
            return self.answer(307, b"", [("Location", where)])
        return self.refuse(400, "UnsupportedOperationException", op + " is not known")

    def data(self, path, q):
        if self.server.role < 4:
            if q.get("delegation") not in TICKETS:
                return self.refuse(403, "InvalidToken", "no name node made this address")
            if FAULTS.get("dead") == self.server.role - 2:
                return self.refuse(500, "IOException", "the disk is gone")
        op = q["op"].upper()
        if op == "OPEN":
            STATS["reads"] += 1
            f = FILES[path][0]
            at, n = int(q.get("offset", 0)), int(q.get("length", len(f)))
            if at > len(f):
                return self.refuse(403, "IOException", "behind the end")
            body = f[at:at + n]
            cut = FAULTS.pop("cut", None)
            if cut is not None and cut < len(body):
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[:cut])
                self.wfile.flush()
                self.close_connection = True
                return self.connection.close()
            return self.answer(200, body, [("Content-Type", "application/octet-stream")])
        STATS["writes"] += 1
        if op == "CREATE":
            IDS[0] += 1
            parent = path.rsplit("/", 1)[0]
            at = ""
            for part in parent.strip("/").split("/") if parent else ():
                at += "/" + part
                FILES.setdefault(at, None)
            FILES[path] = [self.body, now(), IDS[0]]
            return self.answer(201)
        FILES[path] = [FILES[path][0] + self.body, now(), FILES[path][2]]
        if FAULTS.pop("lose", 0):
            self.close_connection = True
            return self.connection.close()
        return self.answer(200)

    do_GET = do_PUT = do_POST = do_DELETE = handle_any


def main():
    global ARGS
    ap = argparse.ArgumentParser()
    ap.add_argument("--user", default="alice")
    ap.add_argument("--token", default="")
    ap.add_argument("--spnego", action="store_true")
    ap.add_argument("--page", type=int, default=1000)
    ARGS = ap.parse_args()
    servers = []
    for role in range(5):
        s = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        s.daemon_threads = True
        s.role = role
        servers.append(s)
        NODES.append(s.server_address[1])
    for s in servers[1:]:
        threading.Thread(target=s.serve_forever, daemon=True).start()
    print("nodes", *NODES, flush=True)
    try:
        servers[0].serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    sys.exit(main())
