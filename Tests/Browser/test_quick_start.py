"""The quick start for relying parties: its lines are run, its page is served, and a person signs in to it."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
import requests

from programs import BINARIES, ENVIRONMENT, Phone, Process, answers, free_port, socket_is_open
from test_relying_parties import approve

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs/guides/quick-start.md"


def listings(mark):
    found = re.findall(rf"<!-- {re.escape(mark)} -->\n```\w+\n(.*?)```", GUIDE.read_text(), re.S)
    assert found, f"the guide has no listing marked {mark}"
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
        return text.replace("127.0.0.1:5000", f"127.0.0.1:{self.page_port}").replace(
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
        self.flask = subprocess.Popen(
            [sys.executable, "-m", "flask", "run", "--port", str(self.page_port)],
            cwd=self.home, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        while not socket_is_open(self.page_port):
            assert self.flask.poll() is None, "the page did not start"

    def stop(self):
        if self.flask:
            self.flask.terminate()
            self.flask.wait()
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
