"""The quick start for relying parties, and the README's of identities: their lines are run as they stand there, and a person
signs in to what they have made."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import urllib.parse

import pytest
import requests

from programs import BINARIES, ENVIRONMENT, Failed, Part, Phone, Process, answers, free_port, png_of_qr_svg, socket_is_open
from test_relying_parties import approve

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE, README = ROOT / "docs/guides/quick-start.md", ROOT / "README.md"


def listings(mark, page=GUIDE):
    found = re.findall(rf"<!-- {re.escape(mark)} -->\n```\w+\n(.*?)```", page.read_text(), re.S)
    assert found, f"{page.name} has no listing marked {mark}"
    return found


class QuickStart:
    """Somebody who has a home folder, and goes by the guide; only the ports are others."""

    def __init__(self, home):
        self.home = home
        # A deployment of which others ask the server's address.
        self.server = self
        self.port, self.page_port, operations_port = free_port(), free_port(), free_port()
        self.issuer = f"http://localhost:{self.port}"
        self.page = f"http://127.0.0.1:{self.page_port}"
        self.settings = {
            "HOME": str(home),
            "PATH": f"{BINARIES}:{os.environ['PATH']}",
            "COUNTERSIGN_BIND": f"127.0.0.1:{self.port}",
            "COUNTERSIGN_OPERATIONS_BIND": f"127.0.0.1:{operations_port}",
            "COUNTERSIGN_ISSUER": self.issuer,
        }
        self.process = Process("countersign", ["serve"], home / "server.log", self.settings)
        self.process.wait_until(lambda: answers(f"http://127.0.0.1:{operations_port}/readyz"))
        self.flask = None

    def with_ports(self, text):
        page = f"127.0.0.1:{self.page_port}"
        return text.replace("127.0.0.1:5000", page).replace("127.0.0.1:8082", page).replace(
            "localhost:8080", f"localhost:{self.port}"
        )

    def follow(self):
        environment = {**ENVIRONMENT, **self.settings}
        for lines in listings("run"):
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", self.with_ports(lines)],
                cwd=self.home, env=environment, capture_output=True, text=True, timeout=90,
            )
            assert done.returncode == 0, f"{lines}\n{done.stdout}{done.stderr}"
        (self.home / "app.py").write_text(self.with_ports(listings("app.py")[0]))
        self.flask = Part(
            "flask", [sys.executable, "-m", "flask", "run", "--port", str(self.page_port)], self.home / "flask.log",
            environment, folder=self.home)
        self.flask.wait_until(lambda: socket_is_open(self.page_port))

    def stop(self):
        try:
            if self.flask:
                self.flask.stop()
        finally:
            self.process.stop()


@pytest.fixture
def quick_start(tmp_path):
    running = QuickStart(tmp_path)
    try:
        running.follow()
        running.folder, running.phone = tmp_path, Phone(tmp_path / "phone")
        yield running
    finally:
        running.stop()


def test_quick_start(quick_start):
    browser = requests.Session()
    assert "Sign in with your phone" in browser.get(f"{quick_start.page}/", timeout=20).text
    page = browser.get(f"{quick_start.page}/sign-in", timeout=20)
    ended = approve(quick_start, quick_start.phone, browser, page, quick_start.folder)
    assert "Good day, Alice Archer" in ended.text
    assert "Good day, Alice Archer" in browser.get(f"{quick_start.page}/", timeout=20).text

    # What was begun in one browser ends in no other, and a code that somebody else brings signs nobody in.
    stranger = requests.Session()
    callback = ended.history[-1].url
    assert callback.startswith(f"{quick_start.page}/signed-in?")
    assert stranger.get(callback, timeout=20).status_code == 400
    forged = stranger.get(f"{quick_start.page}/signed-in", params={"code": "c", "state": "s"}, timeout=20)
    assert forged.status_code == 400 and "not signed in" in forged.text
    assert "Sign in with your phone" in stranger.get(f"{quick_start.page}/", timeout=20).text


def test_cancelled(quick_start):
    browser = requests.Session()
    page = browser.get(f"{quick_start.page}/sign-in", timeout=20)
    form = re.search(r'<form[^>]*action="([^"]*cancel[^"]*)"(.*?)</form>', page.text, re.S)
    fields = dict(re.findall(r'name="([^"]+)" value="([^"]*)"', form.group(2)))
    ended = browser.post(requests.compat.urljoin(page.url, form.group(1)), data=fields, timeout=20)
    assert ended.status_code == 400 and "access_denied" in ended.text and 'href="/"' in ended.text


class Readme(QuickStart):
    """Somebody who goes by the README's lines of personalised identities, the last of which starts a page that stays up."""

    def follow(self):
        self.lines = None
        for lines in listings("run", README):
            with open(self.home / "lines.log", "w") as log:
                self.lines = subprocess.Popen(
                    ["bash", "-euo", "pipefail", "-c", self.with_ports(lines)], cwd=self.home, stdout=log, stderr=log,
                    env={**ENVIRONMENT, **self.settings}, start_new_session=True,
                )
            assert self.lines.wait(90) == 0, (self.home / "lines.log").read_text()
        self.process.wait_until(lambda: socket_is_open(self.page_port))

    def phone_run(self, *arguments, lines=()):
        """A command of the phone that the lines have personalised, as a script gives it."""
        done = subprocess.run(
            [BINARIES / "countersign-phone", *arguments, "--home", "phone", "--json"], cwd=self.home, env={**ENVIRONMENT, **self.settings},
            input="".join(f"{line}\n" for line in lines), capture_output=True, text=True, timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def sign_in(self, *lines, options=()):
        """Comes to the page with the phone: what the page shows then."""
        browser = requests.Session()
        form = re.search(r'name="form_token" value="([^"]+)"', browser.get(f"{self.page}/", timeout=20).text).group(1)
        page = browser.post(f"{self.page}/sign-in", data={"form_token": form}, timeout=20)
        svg = re.search(r'data-testid="qr-code".*?(<svg.*?</svg>)', page.text, re.S).group(1)
        (self.home / "screenshot.png").write_bytes(png_of_qr_svg(svg))
        self.phone_run("scan", "screenshot.png", "--approve", "--pin-stdin", *options, lines=lines)
        query = urllib.parse.urlparse(page.url).query
        return browser.get(f"{self.issuer}/sign-in/complete?{query}", timeout=20).text

    def stop(self):
        try:
            if self.lines:
                os.killpg(self.lines.pid, signal.SIGTERM)
        except ProcessLookupError:
            words = (self.home / "lines.log").read_text()
            raise Failed(f"nothing of what the lines have started was there any more:\n{words}") from None
        finally:
            super().stop()


def test_readme(tmp_path):
    running = Readme(tmp_path)
    try:
        running.follow()
        # The lines make the phone trust the server by its root key before anything of it was sent there.
        asked = json.dumps({"givenName": "Alice"})
        page = running.sign_in(asked, "824193", options=("--role", "Clerk", "--factor", "pin,device", "--value-stdin"))
        assert re.search(r'data-testid="claim-given_name">\s*Alice\s*<', page), page
        running.phone_run("pin", "change", "--pin-stdin", lines=("824193", "904817"))
        # What was typed is the account's now, and she comes as what everybody is.
        page = running.sign_in("904817", options=("--role", "Resident"))
        assert re.search(r'data-testid="claim-given_name">\s*Alice\s*<', page), page
    finally:
        running.stop()
