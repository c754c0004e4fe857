"""Prosody of Debian with `mod_unified_push`, as a push server of UnifiedPush, and a distributor that registers with it.

Prosody runs on loopback, with a configuration, a data folder and a certificate of its own. The protocol between a
distributor and the server is http://gultsch.de/xmpp/drafts/unified-push.
"""

import base64
import hashlib
import json
import os
import pathlib
import socket
import subprocess
import threading
import time
import xml.etree.ElementTree as ElementTree
from xml.sax.saxutils import quoteattr

import operators  # noqa: F401  (the folder of `programs` is known from here on)
import programs

MODULE = pathlib.Path("/usr/lib/prosody/modules/mod_unified_push/mod_unified_push.lua")
UNIFIED_PUSH = "http://gultsch.de/xmpp/drafts/unified-push"
SECONDS = 30


class Prosody:
    """A server in a folder. With `longest`, the module takes shorter messages than the 4,096 bytes that it takes. An
    endpoint lives for `lifetime` seconds."""

    def __init__(self, folder, identity, longest=None, lifetime=86_400):
        self.xmpp_port, self.https_port = programs.free_port(), programs.free_port()
        self.origin = f"https://localhost:{self.https_port}"
        self.log = folder / "prosody.log"
        data, modules = folder / "prosody-data", folder / "prosody-modules"
        accounts = data / "localhost" / "accounts"
        for made in (accounts, modules):
            made.mkdir(parents=True)
        # The account of the person whose distributor registers.
        (accounts / "alice.dat").write_text('return { ["password"] = "of alice" }')
        text = MODULE.read_text()
        if longest:
            assert "> 4096" in text
            text = text.replace("> 4096", f"> {longest}")
        (modules / "mod_unified_push.lua").write_text(text)
        config = folder / "prosody.cfg.lua"
        quote = lambda value: json.dumps(str(value))
        config.write_text(f"""
            run_as_root = true
            pidfile = {quote(folder / "prosody.pid")}
            data_path = {quote(data)}
            plugin_paths = {{ {quote(modules)} }}
            log = {{ debug = {quote(self.log)} }}
            interfaces = {{ "127.0.0.1" }}
            c2s_ports = {{ {self.xmpp_port} }}
            c2s_require_encryption = false
            allow_unencrypted_plain_auth = true
            modules_enabled = {{ "disco"; "saslauth"; "tls" }}
            modules_disabled = {{ "s2s" }}
            http_ports = {{ }}
            https_ports = {{ {self.https_port} }}
            https_ssl = {{ certificate = {quote(identity.certificate)}; key = {quote(identity.key)} }}
            VirtualHost "localhost"
                authentication = "internal_plain"
                ssl = {{ certificate = {quote(identity.certificate)}; key = {quote(identity.key)} }}
                modules_enabled = {{ "unified_push" }}
                unified_push_registration_ttl = {lifetime}
                http_external_url = {quote(self.origin + "/")}
        """)
        self._output = open(folder / "prosody.out", "wb")
        self._process = subprocess.Popen(
            ["prosody", "--config", str(config), "-F"], stdin=subprocess.DEVNULL, stdout=self._output,
            stderr=subprocess.STDOUT, cwd=folder, env={**os.environ, "HOME": str(folder)})
        end = time.monotonic() + SECONDS
        for port in (self.xmpp_port, self.https_port):
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=SECONDS).close()
                    break
                except OSError:
                    if self._process.poll() is not None or time.monotonic() > end:
                        self.stop()
                        raise programs.Failed("prosody: " + (folder / "prosody.out").read_text() + self._said())
                    time.sleep(0.05)

    def _said(self):
        return self.log.read_text() if self.log.exists() else ""

    def stop(self):
        self._process.terminate()
        try:
            self._process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()


class Distributor:
    """The program on a person's device that keeps a connection to the push server, and has endpoints for apps."""

    def __init__(self, server):
        self._socket = socket.create_connection(("127.0.0.1", server.xmpp_port), timeout=SECONDS)
        self._sending = threading.Lock()
        self._answers = {}
        self._arrived = threading.Condition()
        # What came for apps: application, instance and the message.
        self.pushes = []
        # What the distributor answers to a push: None for a result, else the condition of an error.
        self.refusal = None
        self._open()
        plain = base64.b64encode(b"\0alice\0of alice").decode()
        self._say(f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>{plain}</auth>")
        self._expect("success")
        self._open()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.ask("bind", "<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/>", to=None)

    def register(self, application, instance):
        """An endpoint for an instance of an app, as the server tells it."""
        digest = lambda text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        answer = self.ask(
            "register", f"<register xmlns='{UNIFIED_PUSH}' application={quoteattr(digest(application))} "
            f"instance={quoteattr(digest(instance))}/>", to="localhost")
        registered = answer.find(f"{{{UNIFIED_PUSH}}}registered")
        if registered is None:
            raise programs.Failed(ElementTree.tostring(answer, encoding="unicode"))
        return registered.get("endpoint")

    def wait_for_push(self, number=1):
        """The message of a push, in the order of their arrival."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.pushes) >= number, SECONDS):
                raise programs.Failed("no push came")
            return self.pushes[number - 1]

    def ask(self, identifier, content, to):
        """The answer to a request of the distributor."""
        self._say(f"<iq type='set' id='{identifier}'{f' to={quoteattr(to)}' if to else ''}>{content}</iq>")
        with self._arrived:
            if not self._arrived.wait_for(lambda: identifier in self._answers, SECONDS):
                raise programs.Failed(f"no answer to {identifier}")
            return self._answers.pop(identifier)

    def stop(self):
        self._socket.close()

    def _say(self, text):
        with self._sending:
            self._socket.sendall(text.encode())

    def _open(self):
        self._parser = ElementTree.XMLPullParser(["start", "end"])
        self._depth = 0
        self._say(
            "<?xml version='1.0'?><stream:stream to='localhost' version='1.0' xmlns='jabber:client' "
            "xmlns:stream='http://etherx.jabber.org/streams'>")
        self._expect("features")

    def _stanzas(self):
        """The elements that are whole, as they come; ends with the connection."""
        while data := self._socket.recv(65536):
            self._parser.feed(data)
            for event, element in self._parser.read_events():
                self._depth += 1 if event == "start" else -1
                if event == "end" and self._depth == 1:
                    yield element

    def _expect(self, name):
        element = next(self._stanzas(), None)
        if element is None or element.tag.partition("}")[2] != name:
            raise programs.Failed(f"no {name}")

    def _read(self):
        try:
            for element in self._stanzas():
                self._take(element)
        except OSError:
            pass  # The test has ended.

    def _take(self, element):
        push = element.find(f"{{{UNIFIED_PUSH}}}push")
        identifier, sender = quoteattr(element.get("id", "")), quoteattr(element.get("from", ""))
        if push is not None and self.refusal:
            self._say(
                f"<iq type='error' id={identifier} to={sender}><error type='cancel'>"
                f"<{self.refusal} xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>")
            return
        if push is not None:
            self._say(f"<iq type='result' id={identifier} to={sender}/>")
        with self._arrived:
            if push is None:
                self._answers[element.get("id")] = element
            else:
                self.pushes.append(base64.b64decode(push.text, validate=True))
            self._arrived.notify_all()
