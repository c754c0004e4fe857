#!/usr/bin/env python3
"""An example web site of the app sign-in service, whose pages an app shows in its web views.

    health_site.py --origin https://www.health.localhost:8444 --service https://id.health.localhost:8443 \\
        --client-id health-web --certificate FILE --key FILE

What a site of your own needs is in `sign_in_session.py`, `visitor` and `is_own_page` below, and `session.js`. `HealthSite`
is a WSGI application; the server at the end is for one machine.
"""

import argparse
import collections
import html
import pathlib
import re
import socketserver
import ssl
import sys
import threading
import urllib.parse
import wsgiref.simple_server

from sign_in_session import SignInService, State, Unreachable

SCRIPT = pathlib.Path(__file__).with_name("session.js").read_text()
STYLE = "body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:2rem auto;padding:0 1rem}"
FORM_BYTES = 4096
MESSAGE_LETTERS = 500
PEOPLE = 1000
MESSAGES = 20

SIGNED_OUT = """<h1>You are not signed in</h1>
<p data-testid="signed-out">The health app opens this page signed in. Elsewhere, sign in here:</p>
<p><button data-sign-in data-testid="sign-in">Sign in</button></p>"""
COMING_BACK = """<h1>One moment</h1>
<p data-testid="signed-in" data-signed-in data-next="/records">You are being signed in.</p>
<noscript><p>This needs JavaScript.</p></noscript>"""
EXPIRED = """<h1>One moment</h1>
<p data-testid="expired" data-renew data-next="/records">Your session is renewed.</p>
<noscript><p>This needs JavaScript. Open this page in the health app again.</p></noscript>"""
AWAY = """<h1>Try again</h1>
<p data-testid="away">Who you are cannot be asked at the moment. Nothing is lost: load this page again.</p>"""
FOREIGN = "<h1>That was not asked for here</h1><p data-testid='refused'>Nothing was done. Begin again on this site.</p>"


class HealthSite:
    """The pages. What people write is kept in memory, under the identifier that the service has for them."""

    def __init__(self, origin, service):
        self.origin = origin
        self.service = service
        self.messages = collections.OrderedDict()
        self.lock = threading.Lock()

    def __call__(self, environ, start_response):
        status, body, headers = self.answer(environ)
        if isinstance(body, str):
            body, kind = self.page(body).encode(), "text/html; charset=utf-8"
        else:
            kind, body = body
            body = body.encode()
        start_response(status, [
            ("Content-Type", kind), ("Content-Length", str(len(body))),
            # What is one person's is kept nowhere, and shown within no other page.
            ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
            ("Content-Security-Policy",
             f"default-src 'none'; script-src 'self'; style-src 'self'; connect-src {self.service.origin}; "
             f"form-action 'self' {self.service.origin}; frame-ancestors 'none'; base-uri 'none'"),
            # The service ends a session for a page of this site alone, and tells by where the request comes from.
            ("Referrer-Policy", "strict-origin-when-cross-origin"), *headers,
        ])
        return [b""] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    def answer(self, environ):
        """The status, the page or its type and text, and further header fields."""
        pages = {"/": self.home, "/records": self.records, "/signed-in": self.signed_in}
        files = {"/session.js": ("text/javascript", SCRIPT), "/style.css": ("text/css", STYLE)}
        path, method = environ.get("PATH_INFO", ""), environ["REQUEST_METHOD"]
        if path == "/messages":
            return self.write(environ) if method == "POST" else ("405 Method Not Allowed", "", [("Allow", "POST")])
        if path not in pages and path not in files:
            return "404 Not Found", "<h1>There is nothing here</h1>", []
        if method not in ("GET", "HEAD"):
            return "405 Method Not Allowed", "", [("Allow", "GET, HEAD")]
        return ("200 OK", files[path], []) if path in files else pages[path](environ)

    # What a relying party has to get right

    def visitor(self, environ):
        """Whoever the request comes from, and what they are answered where that is nobody who is signed in."""
        try:
            visitor = self.service.visitor(environ.get("HTTP_COOKIE"))
        except Unreachable as error:
            print(f"the sign-in service: {error}", file=sys.stderr)
            return None, ("503 Service Unavailable", AWAY, [("Retry-After", "5")])
        if visitor.state is State.SIGNED_IN:
            return visitor, None
        return None, ("401 Unauthorized", EXPIRED if visitor.state is State.EXPIRED else SIGNED_OUT, [])

    def is_own_page(self, environ):
        """Whether a page of this site has asked. Cookies come with a request whichever page has made it, and those of a
        host beside this one count as the same site to the browser."""
        return environ.get("HTTP_ORIGIN") == self.origin

    # Pages

    def home(self, environ):
        """Nobody is asked for here: a page that everybody sees may go by the hint that the app gives."""
        return "200 OK", """<h1>Health</h1>
<p data-testid="hint" data-hint></p><p><a href="/records" data-testid="to-records">Your records</a></p>""", []

    def signed_in(self, environ):
        """Where the browser comes back to with a code. It is its script's, which knows what it was asked for with."""
        return "200 OK", COMING_BACK, []

    def records(self, environ):
        visitor, refusal = self.visitor(environ)
        if refusal:
            return refusal
        with self.lock:
            messages = list(self.messages.get(visitor.id, ()))
        items = "".join(f'<li data-testid="message">{html.escape(message)}</li>' for message in messages)
        return "200 OK", f"""<h1>Your records</h1>
<p>Signed in as <strong data-testid="person" data-id="{html.escape(visitor.id)}">{html.escape(visitor.name)}</strong></p>
<ul>{items}</ul>
<form method="post" action="/messages" data-testid="message-form">
<label>To your care team <input name="text" maxlength="{MESSAGE_LETTERS}" required></label> <button>Send</button></form>
<form method="post" action="{html.escape(self.service.origin)}/v0/sign_in/logout">
<input type="hidden" name="client_id" value="{html.escape(self.service.site)}">
<button data-testid="sign-out">Sign out here</button></form>""", []

    def write(self, environ):
        length = environ.get("CONTENT_LENGTH") or ""
        if not re.fullmatch("[0-9]{1,9}", length) or int(length) > FORM_BYTES:
            return "413 Content Too Large", "<h1>That is too long</h1>", []
        # It is read before it is refused: a connection that is closed with something unread shows nobody why.
        body = environ["wsgi.input"].read(int(length))
        if not self.is_own_page(environ):
            return "403 Forbidden", FOREIGN, []
        visitor, refusal = self.visitor(environ)
        if refusal:
            return refusal
        try:
            form = urllib.parse.parse_qs(body.decode(), max_num_fields=4)
            (text,) = form["text"]
        except (ValueError, KeyError):
            return "400 Bad Request", "<h1>That is not the form of this page</h1>", []
        with self.lock:
            self.messages.setdefault(visitor.id, collections.deque(maxlen=MESSAGES)).append(text[:MESSAGE_LETTERS])
            self.messages.move_to_end(visitor.id)
            if len(self.messages) > PEOPLE:
                self.messages.popitem(last=False)
        return "303 See Other", "", [("Location", "/records")]

    def page(self, body):
        return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Health</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/style.css">
<script src="/session.js" defer data-service="{html.escape(self.service.origin)}" data-site="{html.escape(self.service.site)}" data-cookies="{html.escape(self.service.cookie)}"></script>
</head><body>{body}</body></html>"""


class Listener(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    """A thread for each connection, in which it is greeted too: nobody who is slow keeps the others waiting."""

    daemon_threads = True
    seconds = 20

    def finish_request(self, request, client_address):
        request.settimeout(self.seconds)
        try:
            secured = self.tls.wrap_socket(request, server_side=True)
        except OSError:
            # One who does not speak TLS, or does not trust the certificate.
            return
        with secured:
            super().finish_request(secured, client_address)


def main():
    parser = argparse.ArgumentParser(description="An example web site of the app sign-in service.")
    parser.add_argument("--origin", required=True, help="where people reach this site: https://HOST[:PORT]")
    parser.add_argument("--service", required=True, help="where the sign-in service is: https://HOST[:PORT]")
    parser.add_argument("--client-id", required=True, help="what this site is called there")
    parser.add_argument("--cookie-prefix", default="countersign", help="what the names of its cookies begin with")
    parser.add_argument("--ca-file", help="a certificate authority to trust beside those of this machine")
    parser.add_argument("--certificate", required=True)
    parser.add_argument("--key", required=True)
    given = parser.parse_args()
    service = SignInService(given.service, given.client_id, given.cookie_prefix, given.ca_file)
    port = urllib.parse.urlsplit(given.origin).port or 443
    listener = wsgiref.simple_server.make_server(
        "127.0.0.1", port, HealthSite(given.origin, service), server_class=Listener)
    listener.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    listener.tls.load_cert_chain(given.certificate, given.key)
    print(f"open at {given.origin}", flush=True)
    listener.serve_forever()


if __name__ == "__main__":
    main()
