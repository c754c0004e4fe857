"""What an operator's commands say and how they end, as scripts see them: through pipes, and by exit codes."""

import datetime
import json
import select
import socket
import subprocess
import threading
import urllib.request

import pytest

from programs import BINARIES, ENVIRONMENT, PIN, Phone, Server, run


class Waiting:
    """`countersign admin activation create --wait --json` with its output in a pipe."""

    def __init__(self, server, username):
        server.admin("account", "add", username)
        self.process = subprocess.Popen(
            [BINARIES / "countersign", "admin", "activation", "create", username, "--wait", "--json"]
            + ["--data", server.folder / "data"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        # A link that does not come is a failure and not an endless wait.
        self.timer = threading.Timer(60, self.process.kill)
        self.timer.start()

    def link(self):
        """The first object, which must come while the command waits."""
        line = self.process.stdout.readline()
        assert line, "no link came through the pipe"
        assert self.process.poll() is None
        return json.loads(line)["link"]

    def end(self, typed=""):
        out, err = self.process.communicate(typed, timeout=60)
        self.timer.cancel()
        return self.process.returncode, out, err


def test_waiting_ends_when_the_person_declines(deployment, tmp_path):
    waiting = Waiting(deployment.server, "declines")
    Phone(tmp_path / "phone")("enroll", waiting.link(), "--deny").expect(1)
    code, _, err = waiting.end()
    assert code == 1
    assert "declined on the phone" in err


def test_waiting_ends_with_the_number(deployment, tmp_path):
    waiting = Waiting(deployment.server, "enrols")
    events = Phone(tmp_path / "phone")("enroll", waiting.link(), "--approve", "--pin-stdin", stdin=PIN + "\n").expect(0)
    code, out, _ = waiting.end(events["confirmation"]["number"] + "\n")
    assert code == 0
    assert json.loads(out)["state"] == "succeeded"


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com", "http://127.0.0.1.example.com", "https://a.example/path?x", "https://user@a.example",
        "https://a.example/path/../x",
    ],
)
def test_a_token_is_not_sent_to_just_anybody(url):
    secrets = {"COUNTERSIGN_ADMIN_URL": url, "COUNTERSIGN_ADMIN_TOKEN": "secret"}
    code, _, err = run("countersign", "admin", "account", "list", environment=secrets)
    assert code == 2 and "secret" not in err
    code, _, err = run("countersign", "admin", "login", stdin=f"{url}/admin/setup#secret\n")
    assert code == 2 and "secret" not in err


def test_a_server_that_is_not_there_is_unreachable():
    nowhere = {"COUNTERSIGN_ADMIN_URL": "http://127.0.0.1:1", "COUNTERSIGN_ADMIN_TOKEN": "t"}
    code, _, err = run("countersign", "admin", "account", "list", environment=nowhere)
    assert code == 5 and "does not answer" in err


def test_tokens_keys_and_the_trail(tmp_path):
    server = Server(tmp_path / "server").start()
    try:
        link = server.folder / "data" / "administrator-link"
        server.process.wait_until(lambda: link.exists() and link.read_text().endswith("\n"))
        code, out, _ = run("countersign", "admin", "login", "--json", stdin=link.read_text())
        assert code == 0
        far = {"COUNTERSIGN_ADMIN_URL": server.issuer, "COUNTERSIGN_ADMIN_TOKEN": json.loads(out)["token"]}

        def admin(*arguments):
            return run("countersign", *arguments, "--json", environment=far)

        assert admin("admin", "account", "add", "alice")[0] == 0
        assert admin("admin", "key", "rotate")[0] == 0
        code, out, _ = admin("audit", "export")
        kinds = [json.loads(line)["kind"] for line in out.splitlines()]
        assert code == 0 and "account-created" in kinds and "signing-key-rotated" in kinds
        code, out, _ = admin("audit", "verify")
        assert code == 0 and json.loads(out) == {"intact": True, "entries": len(kinds)}
        token = json.loads(admin("admin", "token", "list")[1])["tokens"][0]["id"]
        assert admin("admin", "token", "revoke", token)[0] == 0
        code, _, err = admin("admin", "account", "list")
        assert code == 1 and "administrator's token" in err
    finally:
        server.stop()


def test_a_token_lives_as_long_as_the_operator_says(tmp_path):
    server = Server(tmp_path / "server").start()
    try:
        link = server.folder / "data" / "administrator-link"
        server.process.wait_until(lambda: link.exists() and link.read_text().endswith("\n"))
        # What is refused costs no link.
        for lifetime, code in (("forever", 2), ("0h", 1), ("366d", 1)):
            refused = run("countersign", "admin", "login", "--lifetime", lifetime, "--json", stdin=link.read_text())
            assert refused[0] == code and refused[1] == "", refused
        code, out, _ = run("countersign", "admin", "login", "--lifetime", "12h", "--json", stdin=link.read_text())
        assert code == 0
        far = {"COUNTERSIGN_ADMIN_URL": server.issuer, "COUNTERSIGN_ADMIN_TOKEN": json.loads(out)["token"]}

        def admin(*arguments):
            return run("countersign", "admin", "token", *arguments, "--json", environment=far)

        def lifetime():
            """The identifier of the one token there is, and for how many hours it was made."""
            (token,) = json.loads(admin("list")[1])["tokens"]
            end, start = (datetime.datetime.fromisoformat(token[name]) for name in ("expiresAt", "createdAt"))
            return token["id"], (end - start).total_seconds() / 3600

        token, hours = lifetime()
        assert hours == 12
        for asked, code in (("forever", 2), ("0h", 1), ("366d", 1)):
            assert admin("rotate", token, "--lifetime", asked)[0] == code
        # With none it lives as long as the one before.
        for options, hours in ((["--lifetime", "90d"], 90 * 24), ([], 90 * 24), (["--lifetime", "30m"], 0.5)):
            far["COUNTERSIGN_ADMIN_TOKEN"] = json.loads(admin("rotate", token, *options)[1])["token"]
            assert lifetime() == (token, hours)
    finally:
        server.stop()


def numbers(server):
    """What the operations listener says, by name and labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.operations_port}/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


def test_the_numbers_of_a_running_server(deployment):
    phone, before = deployment.person(), numbers(deployment.server)
    run = phone(
        "authenticate", phone.username, "--server", deployment.server.issuer, "--pin-stdin", "--approve",
        stdin=PIN + "\n",
    )
    run.expect(0)
    after = numbers(deployment.server)
    way = 'countersign_sign_ins_total{by="app"}'
    assert after[way] == before.get(way, 0) + 1
    # The answer is a step, and what the request is made of is read.
    for work in ("step", "read"):
        count, total = f'countersign_store_seconds_count{{work="{work}"}}', f'countersign_store_seconds_sum{{work="{work}"}}'
        assert after[count] > before[count] and after[total] > before[total]
        assert f'countersign_store_waiting{{work="{work}"}}' in after


def test_a_misspelt_setting_is_named(tmp_path):
    (tmp_path / "config.yaml").write_text("trustedProxy: 10.0.0.0/8\n")
    code, out, err = run("countersign", "serve", "--config", tmp_path / "config.yaml", "--print-config")
    assert (code, out) == (2, "") and "trustedProxies" in err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--client-secret-file", "/nope/x"], 1),
        (["--client-secret-file", "/etc/hostname", "--trace", "/nope/x"], 1),
        (["--client-secret-file", "/etc/hostname", "--issuer", "http://evil.example"], 2),
        (["--client-secret-file", "/etc/hostname", "--bind", "nowhere"], 2),
        (["--no-such-option"], 2),
        ([], 2),
    ],
)
def test_the_bank_says_what_is_wrong(arguments, code):
    ended, _, err = run("bank", "--client-id", "bank", *arguments)
    assert ended == code
    first = err.splitlines()[0]
    assert first.startswith("Error: ") and "NSCocoa" not in err and "Domain=" not in err


def test_an_app_that_is_not_listed_is_named_in_the_log(tmp_path):
    server = Server(tmp_path / "server")
    server.arguments += ["--facets", "android:apk-key-hash:other", "--no-terminal-phone"]
    server.start()
    try:
        server.admin("account", "add", "alice")
        link = server.admin("activation", "create", "alice")["link"]
        Phone(tmp_path / "phone")("enroll", link, "--approve", "--pin-stdin", stdin=PIN + "\n").expect(1)
        log = (server.folder / "server.log").read_text()
        assert "facet=linux:program:countersign-phone" in log and "setting=--facets" in log
    finally:
        server.stop()


@pytest.mark.parametrize("is_proxy", [False, True])
def test_a_source_has_its_share_of_connections_unless_it_is_a_named_proxy(tmp_path, is_proxy):
    server = Server(tmp_path / "server", limits={"connectionsPerSource": 4})
    server.arguments += ["--trusted-proxies", "127.0.0.0/8"] if is_proxy else []
    server.start()
    connections = [socket.create_connection(("127.0.0.1", server.port), timeout=30) for _ in range(10)]
    try:
        ended = set()
        while len(ended) < (0 if is_proxy else 6):
            ended |= set(select.select(set(connections) - ended, [], [], 30)[0]) or pytest.fail("too few have ended")
        assert all(connection.recv(1) == b"" for connection in ended)
        for connection in set(connections) - ended:
            connection.sendall(b"GET /.well-known/openid-configuration HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(12) == b"HTTP/1.1 200"
    finally:
        for connection in connections:
            connection.close()
        server.stop()
