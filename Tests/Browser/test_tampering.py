"""Somebody between the bank and the server changes the amount."""

import base64
import http.client
import http.server
import json
import threading

import pytest

from programs import Bank, Phone, Server, free_port


class Tamperer(http.server.BaseHTTPRequestHandler):
    """Passes everything on but dispatches, in which 120.00 becomes 920.00."""

    protocol_version = "HTTP/1.1"
    target = 0
    hides = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.pass_on(b"")

    def do_POST(self):
        self.pass_on(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def pass_on(self, body):
        is_dispatch = self.path == "/token/dispatch/authentication"
        if is_dispatch:
            body = self.changed(body)
        connection = http.client.HTTPConnection("127.0.0.1", self.target, timeout=90)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "content-length"}
        connection.request(self.command, self.path, body or None, headers)
        answer = connection.getresponse()
        is_stream = answer.getheader("Content-Type", "").startswith("text/event-stream")
        data = b"" if is_stream else answer.read()
        if is_dispatch and self.hides:
            data = self.hidden(data)
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.close_connection = True
        if not is_stream:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        while is_stream and (piece := answer.read1(4096)):
            self.wfile.write(piece)
            self.wfile.flush()

    @staticmethod
    def changed(body):
        message = json.loads(body)
        context = json.loads(message["getUafRequest"]["context"])
        assert context["payment"]["amount"] == "120.00"
        context["payment"]["amount"] = "920.00"
        message["getUafRequest"]["context"] = json.dumps(context)
        return json.dumps(message).encode()

    @staticmethod
    def hidden(data):
        """The answer to a dispatch, in which the bank's own amount seems to stand."""
        shown = json.loads(data)
        content = shown["transaction"][0]["content"]
        text = base64.urlsafe_b64decode(content + "=" * (-len(content) % 4)).replace(b"920.00", b"120.00")
        shown["transaction"][0]["content"] = base64.urlsafe_b64encode(text).decode().rstrip("=")
        return json.dumps(shown).encode()


@pytest.fixture
def tampered(tmp_path):
    """A bank that reaches its server through somebody else, its browser too; both believe it is the server."""
    port = free_port()
    server = Server(tmp_path, issuer=f"http://localhost:{port}").start()
    handler = type("Handler", (Tamperer,), {"target": server.port})
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    bank = Bank(tmp_path, server).start()
    server.admin("account", "add", "alice")
    phone = Phone(tmp_path / "phone")
    server.enroll("alice", phone)
    yield bank, phone, handler
    bank.stop()
    proxy.shutdown()
    server.stop()


def test_amount_that_changes_between_dispatch_and_answer_is_refused(tampered, browser):
    bank, phone, _ = tampered
    browser.sign_in(bank, phone)
    before = browser.one("balance").text
    browser.begin_transfer("120.00")
    run = phone.approve(browser.picture()).expect(0)
    assert "EUR 920.00" in run["request"]["transaction"], "the phone shows what is signed"
    assert run["request"]["payment"]["amount"] == "920.00"
    browser.finish_transfer()
    assert browser.one("refused").get_attribute("data-reason") == "unverified"
    browser.get(bank.origin + "/accounts")
    assert browser.one("balance").text == before


def test_amount_that_the_server_would_show_differently_is_not_sent(tampered, browser):
    bank, phone, handler = tampered
    handler.hides = False
    browser.sign_in(bank, phone)
    browser.send_transfer().wait_for("error")
    assert not browser.has("transfer-qr")
