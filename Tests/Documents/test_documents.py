"""Requests that schemathesis makes of the OpenAPI documents, right ones and wrong ones, to a server over SQLite: no answer
is a failure of the server, and each has a status, a content type and a body that the document names.

The seed and the number of requests are given, so a run is the same each time, and as long.
"""

import collections
import http.client
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import urllib.request

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

from programs import Server  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,unsupported_method"
)
SEED = 20
# What is refused for being too much is not read.
LIMITS = {
    name: 1_000_000
    for name in ("signInBurst", "codeBurst", "guessBurst", "refusalBurst", "openDispatchBurst", "dispatchBurst")
}
REDIRECT = "http://127.0.0.1:9/callback"
# Requests that are drawn for each operation. `make soak` has more.
EXAMPLES = int(os.environ.get("DOCUMENTS_EXAMPLES", "20"))


def explore(url, world, *options, examples=EXAMPLES, headers=()):
    """Runs schemathesis over a document: whether it found nothing, and what it said. What it would remember for the next
    run goes with its folder."""
    with tempfile.TemporaryDirectory(prefix="countersign-documents-") as folder:
        return explore_in(folder, url, world, *options, examples=examples, headers=headers)


def explore_in(folder, url, world, *options, examples, headers):
    done = subprocess.run(
        [
            *(pathlib.Path(sys.executable).with_name("schemathesis"), "--config-file", HERE / "schemathesis.toml"),
            *("run", url, "--checks", CHECKS, "--phases", "coverage,fuzzing"),
            *("--seed", str(SEED), "--max-examples", str(examples)),
            *("--generation-database", "none", "--no-shrink", "--continue-on-failure", "--no-color"),
            *("--request-timeout", "10", *options),
            *(word for header in headers for word in ("--header", header)),
        ],
        env={**os.environ, "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(HERE), "DOCUMENTS_WORLD": json.dumps(world)},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    return done.returncode == 0, done.stdout + done.stderr


def post(url, body, token=None):
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def document(server, path):
    with urllib.request.urlopen(server.issuer + path) as answer:
        return json.load(answer)


class World:
    """A server, and one of everything that its addresses name."""

    def __init__(self, folder):
        self.server = Server(folder, limits=LIMITS).start()
        link = folder / "data" / "administrator-link"
        self.server.process.wait_until(lambda: link.exists() and "#" in link.read_text())
        secret = link.read_text().strip().split("#")[1]
        self.token = post(self.server.issuer + "/admin/v1/tokens", {"secret": secret})["token"]
        self.server.admin("account", "add", "alice")
        self.client_id, secret = self.server.add_client("Shop", REDIRECT, REDIRECT)
        self.known = {
            "clientId": self.client_id, "clientSecret": secret.read_text().strip(), "redirectUri": REDIRECT,
            "username": "alice", "id": self.client_id, "settings": self.settings(), **self.sign_in(),
        }

    def settings(self):
        """The settings of a client that need not be there, by the document. A name and a return address are right ones."""
        paths = document(self.server, "/admin/v1/openapi.json")["paths"]
        bodies = (paths["/clients"]["post"]["requestBody"], paths["/clients/{id}"]["patch"]["requestBody"])
        names = {name for body in bodies for name in body["content"]["application/json"]["schema"]["properties"]}
        return sorted(names - {"name", "redirectUris"})

    def sign_in(self):
        """A sign-in that waits for its phone, and the cookie of its browser."""
        query = urllib.parse.urlencode({
            "client_id": self.client_id, "redirect_uri": REDIRECT, "response_type": "code", "scope": "openid",
            "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "code_challenge_method": "S256",
        })
        connection = http.client.HTTPConnection("localhost", self.server.port)
        connection.request("GET", f"/oauth2/authorize?{query}")
        answer = connection.getresponse()
        address = urllib.parse.urlsplit(answer.getheader("Location"))
        cookie = answer.getheader("Set-Cookie").split(";")[0]
        connection.close()
        return {"request": urllib.parse.parse_qs(address.query)["request"][0], "cookie": cookie}

    def statuses(self):
        """What each operation was answered with, and how often: as the server's own log has it."""
        counts = collections.defaultdict(collections.Counter)
        for line in (self.server.folder / "server.log").read_text(errors="replace").splitlines():
            found = re.search(r" info ([A-Z]+) (/\S+) .*\bstatus=(\d+)", line)
            if found:
                counts[f"{found[1]} {found[2]}"][int(found[3])] += 1
        return counts


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path / "server")
    yield world
    world.server.stop()


def assert_all_were_asked(world, described, prefix=""):
    """Every operation got its requests, those that read a body many, and the server failed at none."""
    counts = world.statuses()
    for path, item in described["paths"].items():
        for method, operation in item.items():
            statuses = counts[f"{method.upper()} {prefix}{path}"]
            least = 20 if "requestBody" in operation else 2
            assert sum(statuses.values()) >= least, f"{method} {path}: {dict(statuses)}"
    failures = {name: statuses for name, statuses in counts.items() if any(status >= 500 for status in statuses)}
    assert not failures
    return counts


def test_administration(world):
    """Sign-in parity F134: the admin API, by its own document."""
    described = document(world.server, "/admin/v1/openapi.json")
    # These end the token that the others are called with.
    ending = ("DELETE /tokens/{id}", "POST /tokens/{id}/rotate")
    leaving_out = [word for name in ending for word in ("--exclude-name", name)]
    fine, said = explore(
        world.server.issuer + "/admin/v1/openapi.json", world.known, *leaving_out, 
        headers=[f"Authorization: Bearer {world.token}"])
    assert fine, said
    fine, said = explore(
        world.server.issuer + "/admin/v1/openapi.json", world.known,
        *(word for name in ending for word in ("--include-name", name)),
        headers=[f"Authorization: Bearer {world.token}"])
    assert fine, said
    # A client has more settings than any other thing, each with a few right values: most of what is drawn is refused.
    fine, said = explore(
        world.server.issuer + "/admin/v1/openapi.json", world.known, "--include-name", "POST /clients",
        examples=10 * EXAMPLES, headers=[f"Authorization: Bearer {world.token}"])
    assert fine, said
    counts = assert_all_were_asked(world, described, "/admin/v1")
    # The requests got further than the checks at the door.
    for operation in (
        "POST /admin/v1/accounts", "PATCH /admin/v1/accounts/{username}", "PUT /admin/v1/accounts/{username}/email",
        "POST /admin/v1/clients", "PATCH /admin/v1/clients/{id}", "POST /admin/v1/clients/{id}/secret",
        "POST /admin/v1/activations", "GET /admin/v1/audit", "DELETE /admin/v1/accounts/{username}",
    ):
        assert any(200 <= status < 300 for status in counts[operation]), f"{operation}: {dict(counts[operation])}"
        assert any(400 <= status < 500 for status in counts[operation]), f"{operation}: {dict(counts[operation])}"


def test_public_addresses(world):
    """Sign-in parity F134: what everybody reaches, by the document of it."""
    described = document(world.server, "/openapi.json")
    # A channel stays open where there is something to tell: these are asked for what is not there.
    channels = ("GET /status/{session}/events", "GET /sign-in/wait/events")
    leaving_out = [word for name in channels for word in ("--exclude-name", name)]
    fine, said = explore(world.server.issuer + "/openapi.json", world.known, *leaving_out)
    assert fine, said
    fine, said = explore(world.server.issuer + "/openapi.json", {}, *(word for name in channels for word in ("--include-name", name)))
    assert fine, said
    counts = assert_all_were_asked(world, described)
    for operation, statuses in {
        "GET /oauth2/authorize": {303, 400}, "POST /oauth2/authorize": {303, 415}, "POST /oauth2/par": {201, 400, 401},
        "POST /oauth2/token": {400, 401, 415}, "POST /oauth2/revoke": {200, 400, 401},
        "POST /oauth2/introspect": {200, 400, 401}, "GET /oauth2/userinfo": {401}, "GET /oauth2/logout": {200, 303, 400},
        "POST /token/dispatch/authentication": {200, 400, 401}, "POST /status": {200, 400, 401},
        "POST /token/redeem/authentication": {400, 404}, "POST /uaf/1.1/authentication": {200, 415},
        "GET /sign-in": {200, 400, 404}, "GET /sign-in/wait": {200, 400, 404},
    }.items():
        assert statuses <= set(counts[operation]), f"{operation}: {dict(counts[operation])}"


@pytest.mark.parametrize(
    "status, content_type, body",
    [
        (500, "application/json", b"{}"),
        (418, "application/json", b'{"a": 1}'),
        (200, "text/plain", b'{"a": 1}'),
        (200, "application/json", b'{"a": "text"}'),
    ],
)
def test_what_is_not_described_is_found(status, content_type, body):
    """The run itself can fail: by a failure of the server, a status, a type and a body that the document does not have."""
    described = {
        "openapi": "3.1.0", "info": {"title": "t", "version": "1"},
        "paths": {"/thing": {"get": {"responses": {"200": {
            "description": "d",
            "content": {"application/json": {"schema": {
                "type": "object", "properties": {"a": {"type": "integer"}}}}}}}}}},
    }

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            is_document = self.path == "/openapi.json"
            answer = json.dumps(described).encode() if is_document else body
            self.send_response(200 if is_document else status)
            self.send_header("Content-Type", "application/json" if is_document else content_type)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        fine, said = explore(f"http://127.0.0.1:{server.server_port}/openapi.json", {}, examples=2)
    finally:
        server.shutdown()
    assert not fine
    assert "1 failed" in said or "FAILURES" in said, said
