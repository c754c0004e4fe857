"""Starts the built programs on this machine: for the demo, for the browser tests, for anybody's experiments.

Everything of a run is in one folder: database, key file, phones, traces, logs.
"""

import contextlib
import json
import os
import pathlib
import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.request
import zlib

from authority import Authority
from secrets_seen import Secrets

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARIES = pathlib.Path(os.environ.get("COUNTERSIGN_BINARIES", ROOT / ".build" / "debug"))
START_SECONDS = 60
# What is set for a server of one's own is not meant for these.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERSIGN_")}
PIN = "258036"
# What was typed, made and handed over in this run.
SECRETS = Secrets()
# Where servers and phones of this run have written.
FOLDERS = set()


class Failed(Exception):
    """A program did not do what it was started for."""


_reserved = []


def free_port(wanted=0):
    """The wanted port where nobody listens at it, else one that the system chooses.

    The system gives a port that it chose to nobody else as long as a socket is bound to it: the socket is kept, without
    listening, which leaves the port to the program that is told of it.
    """
    probe = socket.socket()
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        probe.bind(("127.0.0.1", wanted))
    except OSError:
        probe.close()
        return free_port()
    if wanted:
        probe.close()
        return wanted
    _reserved.append(probe)
    return probe.getsockname()[1]


class Process:
    """A program that stays up, its output in a log file. `before` is what starts it, where it is not started by itself."""

    def __init__(self, name, arguments, log, environment=None, before=()):
        self.name = name
        self.log = log
        self._file = open(log, "ab")
        self._process = subprocess.Popen(
            [*map(str, before), str(BINARIES / name), *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=self._file,
            stderr=subprocess.STDOUT,
            env={**ENVIRONMENT, **(environment or {})},
        )

    def wait_until(self, is_ready):
        """Waits until `is_ready()`; an end of the program before that is a failure, told with its last words."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if self._process.poll() is not None:
                break
            if is_ready():
                return
            time.sleep(0.05)
        words = self.log.read_text(errors="replace")[-2000:]
        self.stop()
        raise Failed(f"{self.name} did not start:\n{words}")

    def stop(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._file.close()


class Part:
    """A program of another maker that stays up, with all that it starts: they are a group of processes of their own. Its
    output is in a log file, and what it writes elsewhere in `logs`."""

    def __init__(self, name, arguments, log, environment=None, logs=(), folder=None):
        self.name = name
        self.logs = [pathlib.Path(log), *map(pathlib.Path, logs)]
        self.is_ended = False
        more = {key: str(value) for key, value in (environment or {}).items()}
        with self.logs[0].open("wb") as output:
            self.process = subprocess.Popen(
                list(map(str, arguments)), stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=folder,
                start_new_session=True, env={**ENVIRONMENT, **more})

    def wait_until(self, is_ready):
        """Waits until `is_ready()`; an end of the program before that is a failure, told with its last words."""
        end = time.monotonic() + START_SECONDS
        while self.process.poll() is None and time.monotonic() < end:
            if is_ready():
                return
            time.sleep(0.05)
        words = self.last_words()
        with contextlib.suppress(Failed):
            self.stop()
        raise Failed(f"{self.name} did not start:\n{words}")

    def last_words(self):
        """The ends of its logs."""
        return "\n".join(
            f"{log}:\n{log.read_text(errors='replace')[-2000:]}" for log in self.logs if log.exists())

    def stop(self):
        """Ends the program and what it has started. Where nobody had ended it and it has ended, that is a failure, told with
        its last words."""
        if self.is_ended:
            return
        self.is_ended = True
        # Not asked with `poll`, which lets the system forget the process: its group is then nobody's, or another's.
        died = self.process.returncode is not None or os.waitid(
            os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            code = self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            code = self.process.wait()
        if died:
            raise Failed(f"{self.name} had ended before, with {code}:\n{self.last_words()}")


def stop_all(parts):
    """Ends all of them, and then fails where some of them had died."""
    failures = []
    for part in parts:
        try:
            part.stop()
        except Failed as failure:
            failures.append(str(failure))
    if failures:
        raise Failed("\n".join(failures))


def run(name, *arguments, stdin="", environment=None, seconds=90):
    """Runs a program to its end: its exit code, its output, its errors."""
    done = subprocess.run(
        [str(BINARIES / name), *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=seconds,
        env={**ENVIRONMENT, "NO_COLOR": "1", **(environment or {})},
    )
    return done.returncode, done.stdout, done.stderr


# Stands where an operator names sendmail: keeps each message, as a parser of MIME that is not the server's reads it.
MAIL_CATCHER = pathlib.Path(__file__).with_name("catch-mail.py")


def expect_no_secrets(folder):
    """Throws where something secret of this run stands in what it has left in a folder."""
    left = SECRETS.left_in(folder)
    if left:
        raise Failed(f"what nobody may read was left in {folder}: {'; '.join(left)}")


def expect_no_secrets_anywhere():
    """The same of every folder that a server or a phone of this run had, as far as it is there still."""
    for folder in sorted(FOLDERS):
        if folder.is_dir() and not any(parent in FOLDERS for parent in folder.parents):
            expect_no_secrets(folder)


def answers(url):
    """Whether an address answers that all is well."""
    try:
        with urllib.request.urlopen(url, timeout=2):
            return True
    except OSError:
        return False


class Server:
    """`countersign serve` on SQLite, and its operator."""

    def __init__(
        self, folder, port=0, operations_port=0, issuer=None, limits=None, tls=None, trace=False, mail=False, host=None,
        path="", log_level=None
    ):
        self.folder = pathlib.Path(folder)
        FOLDERS.add(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.port = free_port(port)
        self.operations_port = free_port(operations_port)
        scheme = "https" if tls else "http"
        # Browsers keep cookies by host alone: servers beside each other need hosts of their own, such as 127.0.0.2.
        self.issuer = issuer or f"{scheme}://{host or 'localhost'}:{self.port}{path}"
        self.trace = self.folder / "server.ndjson"
        self.arguments = [
            "serve",
            *("--data", self.folder / "data"),
            *("--key-file", self.folder / "key"),
            *("--bind", f"{host or '127.0.0.1'}:{self.port}"),
            *("--operations-bind", f"127.0.0.1:{self.operations_port}"),
            *("--issuer", self.issuer),
        ]
        if limits:
            self.arguments += ["--limits", ",".join(f"{name}={seconds}" for name, seconds in limits.items())]
        if tls:
            self.arguments += ["--tls-certificate", tls.certificate, "--tls-key", tls.key]
        if trace:
            self.arguments += ["--trace", self.trace]
        if log_level:
            self.arguments += ["--log-level", log_level]
        self.mailbox = self.folder / "mailbox"
        if mail:
            # The server takes the command apart at its spaces, and the folder of a clone may have some.
            sendmail = self.folder.absolute() / "sendmail"
            words = shlex.join(map(str, (sys.executable, MAIL_CATCHER, self.mailbox.absolute())))
            sendmail.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
            sendmail.chmod(0o700)
            self.arguments += ["--mail-command", f"{sendmail} -t -i"]
            self.arguments += ["--mail-from", "no-reply@countersign.example"]
        self.process = None

    def mail_to(self, address):
        """The next message, which is for that address, and is taken out of the mailbox."""
        found = []
        self.process.wait_until(lambda: found.extend(sorted(self.mailbox.glob("*.json"))[:1]) or found)
        message = json.loads(found[0].read_text())
        found[0].unlink()
        if message["to"] != [address]:
            raise Failed(f"a message for {address} went to {message['to']}")
        for line in message["text"].splitlines():
            if line.startswith(self.issuer):
                SECRETS.note_way(line)
        return message

    def mailed_link(self, address):
        """The link in the next message, which is for that address."""
        return next(line for line in self.mail_to(address)["text"].splitlines() if line.startswith(self.issuer))

    def start(self):
        self.process = Process("countersign", self.arguments, self.folder / "server.log")
        self.process.wait_until(lambda: answers(f"http://127.0.0.1:{self.operations_port}/readyz"))
        return self

    def log(self):
        """What the server has said."""
        return (self.folder / "server.log").read_text(errors="replace")

    def stop(self):
        if self.process:
            self.process.stop()

    def admin(self, *arguments, stdin="", words=2):
        """An operator's command of so many words; its answer as JSON."""
        command, rest = arguments[:words], arguments[words:]
        code, out, err = run(
            "countersign", "admin", *command, "--data", self.folder / "data", "--json", *rest, stdin=stdin)
        if code != 0:
            raise Failed(f"countersign admin {' '.join(map(str, arguments))}: exit {code}\n{out}{err}")
        answer = json.loads(out) if out.strip() else {}
        SECRETS.note_answer(answer)
        is_password = arguments[:3] == ("account", "password", "set")
        if is_password or "--pin-stdin" in arguments:
            SECRETS.note_typed(stdin, is_password)
        return answer

    def add_client(self, name, redirect_uri, post_logout_redirect_uri=None, options=()):
        """Registers a relying party, with further options of the command: its client id and the file with its secret."""
        secret = self.folder / f"{re.sub('[^a-z0-9]+', '-', name.lower())}.secret"
        after = ["--post-logout-redirect-uri", post_logout_redirect_uri] if post_logout_redirect_uri else []
        answer = self.admin("client", "add", name, "--redirect-uri", redirect_uri, *after, "--secret-file", secret, *options)
        if secret.exists():
            SECRETS.note("client secret", secret.read_text())
        return answer["clientId"], secret

    def enroll(self, username, phone, *options, password=None):
        """Adds nobody: makes a link for `username`, has the phone open it, and confirms the number that it shows. What
        the phone asks for is the PIN, or else the given password."""
        picture = phone.home / "activation.png"
        activation = self.admin("activation", "create", username, "--qr-file", picture)
        typed = ("--pin-stdin", PIN) if password is None else ("--password-stdin", password)
        events = phone("enroll", picture, typed[0], *options, stdin=typed[1] + "\n").expect(0)
        picture.unlink()
        # An id may begin with a dash: after two of them nothing is taken for an option.
        self.admin("activation", "confirm", "--number", events["confirmation"]["number"], "--", activation["id"])
        return events

    def personalize(self, username, phone, *options):
        """Has a phone personalised for `username` by a code: the code as the phone's own words tell of it, and its PIN."""
        picture = phone.home / "identity.png"
        offer = self.admin("activation", "create", username, "--identity", "--qr-file", picture)
        events = phone("enroll", picture, "--pin-stdin", *options, stdin=offer["pin"] + "\n").expect(0)
        picture.unlink()
        return events, offer["pin"]

    def add_attribute(self, username, attribute, value, alias):
        """Vouches for a value of an attribute."""
        SECRETS.note("value", value)
        return self.admin(
            "attribute", "add", username, attribute, "--alias", alias, "--verified", stdin=value + "\n")


class Bank:
    """The example relying party."""

    NAME, WORD, OPTIONS = "Lantern Street Bank", "bank", ()

    def __init__(self, folder, server, port=0, issuer=None, tls=None, ca_file=None, trace=False):
        self.folder = pathlib.Path(folder)
        self.port = free_port(port)
        self.origin = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self.trace = self.folder / f"{self.WORD}.ndjson"
        self.client_id, secret = server.add_client(
            self.NAME,
            f"{self.origin}/callback",
            f"{self.origin}/signed-out",
            # What the bank verifies, as it does the provider's signed results; and where a sign-in that has run out leads.
            ("--id-token-signed-response-alg", "ES256", "--client-uri", f"{self.origin}/"),
        )
        self.arguments = [
            *self.OPTIONS,
            *("--issuer", issuer or server.issuer),
            *("--client-id", self.client_id),
            *("--client-secret-file", secret),
            *("--bind", f"127.0.0.1:{self.port}"),
        ]
        if tls:
            self.arguments += ["--tls-certificate", tls.certificate, "--tls-key", tls.key]
        if ca_file:
            self.arguments += ["--ca-file", ca_file]
        if trace:
            self.arguments += ["--trace", self.trace]
        self.process = None

    def start(self):
        self.process = Process("bank", self.arguments, self.folder / f"{self.WORD}.log")
        self.process.wait_until(lambda: socket_is_open(self.port))
        return self

    def stop(self):
        if self.process:
            self.process.stop()


class TownHall(Bank):
    """The same program as a service of personalised identities, which asks for three attributes of a person."""

    NAME, WORD, OPTIONS = "Lantern Street Town Hall", "town-hall", ("--town-hall",)
    PROFILE = {
        "roles": [
            {"id": "resident", "name": "Resident", "default": True, "factors": [["pin", "device"]]},
            {"id": "official", "name": "Official", "factors": [["biometric", "device"], ["pin", "device"]]},
        ],
        "attributes": {"givenName": "required", "birthdate": "required", "email": "required"},
    }

    def __init__(self, folder, server, **options):
        super().__init__(folder, server, **options)
        self.server = server
        server.admin("service", "set", self.client_id, "--file", "-", stdin=json.dumps(self.PROFILE))

    def employ(self, username):
        """Makes an official of somebody, who stays a resident."""
        for role in ("resident", "official"):
            self.server.admin("role", "assign", self.client_id, role, username)


class Health:
    """The health app's surroundings: a sign-in service at one host of a domain, and at another the web site that the app
    shows in its web views, all over TLS."""

    DOMAIN = "health.localhost"
    APP, SITE = "health-app", "health-web"

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.authority = Authority(self.folder)
        self.identities = {
            name: self.authority.issue(name, f"DNS:{name}.{self.DOMAIN}") for name in ("id", "www")
        }
        port, self.site_port = free_port(), free_port()
        # The service's requests name no address: the port at which the app listens is registered with it.
        self.app_address = f"http://127.0.0.1:{free_port()}/signed-in"
        self.server = Server(
            self.folder, port=port, issuer=f"https://id.{self.DOMAIN}:{port}", tls=self.identities["id"])
        self.server.arguments += ["--sign-in-cookie-prefix", "health", "--sign-in-cookie-domain", self.DOMAIN]
        self.host = f"www.{self.DOMAIN}:{self.site_port}"
        self.origin = f"https://{self.host}"
        self.site = None

    def start(self):
        self.server.start()
        shared = ("--sign-in-method", "phone", "--auth-method", "none", "--sign-in-service", "sharedSessions=true",
                  "--sign-in-service", "serviceLevels=min")
        self.server.admin(
            *("client", "add", "Health app", "--client-id", self.APP, "--redirect-uri", self.app_address),
            *("--sign-in-service", "authentication=api", "--sign-in-service", f"accessTokenAudience={self.APP}"),
            *("--sign-in-service", "refreshTokenSeconds=3888000", *shared),
        )
        self.server.admin(
            *("client", "add", "Health site", "--client-id", self.SITE, "--redirect-uri", f"{self.origin}/signed-in"),
            *("--post-logout-redirect-uri", f"{self.origin}/", "--sign-in-service", "authentication=cookie"),
            *("--sign-in-service", f"accessTokenAudience={self.host}", "--sign-in-service", "antiCsrf=true", *shared),
        )
        return self.start_site()

    def start_site(self):
        arguments = [
            *("--origin", self.origin, "--service", self.server.issuer, "--client-id", self.SITE),
            *("--cookie-prefix", "health", "--ca-file", self.authority.certificate),
            *("--certificate", self.identities["www"].certificate, "--key", self.identities["www"].key),
        ]
        self.site = Process(
            ROOT / "Examples/HealthSite/health_site.py", arguments, self.folder / "site.log", before=[sys.executable])
        self.site.wait_until(lambda: socket_is_open(self.site_port))
        return self

    def stop(self):
        if self.site:
            self.site.stop()
        self.server.stop()

    def phone(self, name):
        """A phone with the app on it, which trusts the authority."""
        return Phone(self.folder / name, ca_file=self.authority.certificate)

    def sign_in(self, phone, browse):
        """Signs a person in to the app on a phone, with a finger from then on: `browse` is given the address that the app
        opens in the browser, and comes back when the person has authenticated there."""
        app = phone.start(
            *("sign-in", "--browser", "--biometric", "--server", self.server.issuer, "--application", self.APP),
            *("--web-application", self.SITE, "--web-host", self.host, "--cookie-prefix", "health_"),
            *("--redirect-uri", self.app_address),
        )
        browse(app.wait_for("browser")["address"])
        return app.ended().expect(0)


def socket_is_open(port):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


class PhoneRun:
    """What one run of `countersign-phone --json` said: its exit code and its events by name."""

    def __init__(self, arguments, code, out, err):
        self.arguments = arguments
        self.code = code
        self.events = [json.loads(line) for line in out.splitlines() if line.strip()]
        self.err = err

    def __getitem__(self, name):
        found = [event for event in self.events if event.get("event") == name]
        if not found:
            raise Failed(f"the phone said nothing of {name}: {self.events} {self.err}")
        return found[-1]

    def expect(self, code):
        if self.code != code:
            raise Failed(f"countersign-phone {self.arguments}: exit {self.code}, not {code}: {self.events} {self.err}")
        return self


class StartedPhoneRun:
    """A run of `countersign-phone --json` that goes on, and what it has said so far."""

    def __init__(self, arguments, errors):
        self.arguments = [str(argument) for argument in arguments]
        self.errors = errors
        self.lines = []
        self._process = subprocess.Popen(
            [str(BINARIES / "countersign-phone"), *self.arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=open(errors, "w"), text=True,
            env={**ENVIRONMENT, "NO_COLOR": "1"},
        )

    def wait_for(self, name):
        """The next event of that name."""
        for line in self._process.stdout:
            self.lines.append(line)
            event = json.loads(line)
            if event.get("event") == name:
                return event
        raise Failed(f"countersign-phone {self.arguments} ended without {name}: {self.lines} {self.errors.read_text()}")

    def ended(self):
        """Waits for its end."""
        self.lines += self._process.stdout.readlines()
        return PhoneRun(self.arguments, self._process.wait(START_SECONDS), "".join(self.lines), self.errors.read_text())

    def stop(self):
        self._process.terminate()
        self._process.wait()


class Phone:
    """A terminal phone with a home folder of its own."""

    def __init__(self, home, ca_file=None, trace=None):
        self.home = pathlib.Path(home)
        FOLDERS.add(self.home)
        self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.common = ["--home", self.home, "--json"]
        if ca_file:
            self.common += ["--ca-file", ca_file]
        if trace:
            self.common += ["--trace", trace]

    def start(self, *arguments):
        """A run that goes on while others do something."""
        return StartedPhoneRun([*arguments, *self.common], self.home / "run.log")

    def __call__(self, *arguments, stdin=""):
        SECRETS.note_typed(stdin, is_password="--password-stdin" in arguments)
        code, out, err = run("countersign-phone", *arguments, *self.common, stdin=stdin)
        SECRETS.heard(out + err)
        return PhoneRun([str(argument) for argument in arguments], code, out, err)

    def approve(self, code, *options, pin=PIN):
        """Scans a picture, or takes a link or typed code, and agrees with the PIN, also in a browser that is new."""
        return self("scan", code, "--approve", "--new-browser", "--pin-stdin", *options, stdin=pin + "\n")


def png_of_qr_svg(svg, scale=4):
    """The picture of a QR code that is an SVG path of dark runs, `M<x> <y>h<width>v1…`, as a camera would see it."""
    side = int(re.search(r'viewBox="0 0 (\d+) \d+"', svg).group(1))
    rows = [bytearray(b"\xff" * side) for _ in range(side)]
    for x, y, width in re.findall(r"M(\d+) (\d+)h(\d+)v1", svg):
        rows[int(y)][int(x) : int(x) + int(width)] = b"\x00" * int(width)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    lines = b"".join((b"\x00" + bytes(value for value in row for _ in range(scale))) * scale for row in rows)
    header = struct.pack(">IIBBBBB", side * scale, side * scale, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    )
