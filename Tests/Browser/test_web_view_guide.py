"""The guide to an app and its web site: its lines are run as they stand, with a person and a browser beside them."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from authority import key_hash
from programs import BINARIES, ENVIRONMENT, ROOT, Part, Phone, free_port, socket_is_open, stop_all

GUIDE = ROOT / "docs/guides/web-views.md"


class Reader:
    """Somebody who goes by the guide in a folder of their own; only the ports are others."""

    def __init__(self, home):
        self.home = home
        self.ports = {name: free_port() for name in ("8443", "8444", "8445")}
        self.environment = {
            **ENVIRONMENT, "HOME": str(home), "NO_COLOR": "1", "CLONE": str(ROOT),
            "PATH": f"{BINARIES}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
            "COUNTERSIGN_OPERATIONS_BIND": f"127.0.0.1:{free_port()}",
        }
        self.beside = []

    def lines(self):
        """The guide's listings in their order, each with how it is marked."""
        found = re.findall(r"(?:<!-- ([^>]+) -->\n)?```(\w+)\n(.*?)```", GUIDE.read_text(), re.S)
        assert found and all(mark for mark, _, _ in found), "a listing says not how it is tried"
        return [(mark, self.with_ports(text)) for mark, _, text in found]

    def with_ports(self, text):
        for written, port in self.ports.items():
            text = text.replace(f":{written}", f":{port}")
        return text

    def run(self, text):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=self.home, env=self.environment, capture_output=True, text=True, timeout=90,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"

    def run_beside(self, text, port):
        log = self.home / f"beside-{len(self.beside)}.log"
        part = Part("the guide's program", ["bash", "-c", text], log, self.environment, folder=self.home)
        self.beside.append(part)
        part.wait_until(lambda: socket_is_open(port))

    def run_with_a_person(self, text, act):
        """Gives what the program says first to `act`, and waits for its end."""
        process = subprocess.Popen(
            ["bash", "-c", text], cwd=self.home, env=self.environment, stdout=subprocess.PIPE, text=True)
        try:
            address = re.search(r'"address":"([^"]+)"', process.stdout.readline())[1].replace("\\/", "/")
            act(address)
            rest = process.stdout.read()
            assert process.wait(30) == 0 and "signed-in" in rest, rest
        finally:
            process.kill()
            process.wait()

    def stop(self):
        stop_all(self.beside)


@pytest.fixture
def reader(tmp_path):
    somebody = Reader(tmp_path)
    yield somebody
    somebody.stop()


def test_the_guide(reader, tmp_path, new_browser):
    def approve(address):
        keys = [key_hash(tmp_path / f"{host}.pem") for host in ("id", "www")]
        browser = new_browser(trusted_keys=keys)
        browser.get(address)
        browser.press(browser.one("by-phone"))
        browser.wait_for("qr-code")
        Phone(tmp_path / "phone", ca_file=tmp_path / "authority.pem").approve(browser.picture()).expect(0)
        browser.wait(lambda: browser.address.startswith("http://127.0.0.1:"), message="nobody comes back")

    ports = iter(reader.ports.values())
    tried = set()
    for mark, text in reader.lines():
        tried.add(mark)
        if mark == "run":
            reader.run(text)
        elif mark == "run beside":
            reader.run_beside(text, next(ports))
        elif mark == "run with a person":
            reader.run_with_a_person(text, approve)
        else:
            assert mark == "by hand", mark
    assert tried == {"run", "run beside", "run with a person", "by hand"}
