"""Something between the server and everybody else, which hears and can change all of it."""

import contextlib
import http.client
import http.server
import threading

from programs import Bank, Phone, Server


class Proxy(http.server.BaseHTTPRequestHandler):
    """Passes everything on. What is to be different stands in `asked` and `answered`."""

    protocol_version = "HTTP/1.1"
    target = 0

    def asked(self, body):
        """The body that the server gets in place of `body`."""
        return body

    def answered(self, data):
        """What is answered in place of `data`; streams are not asked for."""
        return data

    def streamed(self, piece):
        """What the client gets in place of a piece of a stream."""
        return piece

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.pass_on(b"")

    def do_POST(self):
        self.pass_on(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def pass_on(self, body):
        body = self.asked(body)
        connection = http.client.HTTPConnection("127.0.0.1", self.target, timeout=90)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "content-length"}
        connection.request(self.command, self.path, body or None, headers)
        answer = connection.getresponse()
        is_stream = answer.getheader("Content-Type", "").startswith("text/event-stream")
        data = b"" if is_stream else self.answered(answer.read())
        # The client that asked may be gone by now, and wants nothing any more.
        with contextlib.suppress(ConnectionError):
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
                self.wfile.write(self.streamed(piece))
                self.wfile.flush()


@contextlib.contextmanager
def deployment_behind(handler, folder, **options):
    """A bank and a phone that reach their server through a proxy, as the browser does: all believe it is the server."""
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server = Server(folder, issuer=f"http://localhost:{proxy.server_port}", **options).start()
    handler.target = server.port
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    bank = Bank(folder, server)
    try:
        bank.start()
        server.admin("account", "add", "alice")
        phone = Phone(folder / "phone")
        server.enroll("alice", phone)
        yield bank, phone
    finally:
        bank.stop()
        proxy.shutdown()
        server.stop()
