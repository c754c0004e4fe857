"""Services that no operator has registered, over a real web server of theirs: the phone shows the host, and nothing is kept of
a service before a person has let it have something."""

import base64
import hashlib
import html
import http.cookiejar
import http.server
import json
import re
import ssl
import threading
import unittest
import urllib.error
import urllib.parse
import urllib.request

import operators
import programs
from authority import Authority

CALLBACK = "http://127.0.0.1:5555/callback"
VERIFIER = "the-verifier-has-at-least-forty-three-letters-in-it"


class Document(http.server.BaseHTTPRequestHandler):
    """Answers with the metadata of a client whose identifier is this address."""

    def do_GET(self):
        self.server.asked.append(self.path)
        body = json.dumps({
            "client_id": self.server.client_id, "client_name": "Your Bank", "redirect_uris": ["http://127.0.0.1/callback"],
            "token_endpoint_auth_method": "none", "id_token_signed_response_alg": "ES256",
        }).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Strangers(operators.OperatorTest):
    def service(self, authority):
        """A web server with a document; says where, and what was asked of it."""
        identity = authority.issue("service", "DNS:localhost")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Document)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(identity.certificate, identity.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.client_id = f"https://localhost:{server.server_port}/client.json"
        server.asked = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def browser(self):
        """Opens addresses as a browser does that keeps its cookies; follows nothing. Gives status, place and text."""
        opener = urllib.request.build_opener(
            NoRedirects, urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

        def open_address(address, form=None):
            data = urllib.parse.urlencode(form).encode() if form else None
            try:
                answer = opener.open(address, data, timeout=30)
            except urllib.error.HTTPError as error:
                answer = error
            with answer:
                return answer.status, answer.headers.get("Location"), answer.read().decode()

        return open_address

    def test_a_service_with_a_document_of_its_own_is_shown_by_its_host_and_switched_off_by_its_address(self):
        authority = Authority(self.folder)
        service = self.service(authority)
        server = self.server(self.folder)
        server.arguments += ["--client-id-documents", "--ca-file", authority.certificate]
        server.start()
        phone = programs.Phone(self.folder / "phone")
        server.admin("account", "add", "alice")
        server.enroll("alice", phone)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
        # As many write it: colon and slashes stand for themselves in a query.
        start = f"{server.issuer}/oauth2/authorize?client_id={service.client_id}&" + urllib.parse.urlencode({
            "response_type": "code", "redirect_uri": CALLBACK, "scope": "openid", "state": "st",
            "code_challenge": challenge, "code_challenge_method": "S256"})
        browse = self.browser()
        _, place, _ = browse(start)
        _, _, page = browse(server.issuer + place)
        shown = f"localhost:{service.server_port} (not known to the operator)"
        self.assertIn(shown, page)
        self.assertNotIn("Your Bank", page)
        code = re.search(r'data-testid="typed-code">([^<]+)<', page).group(1)
        asked = phone.approve(code).expect(0)["request"]
        self.assertEqual((asked["service"], asked["origin"]), (shown, "http://127.0.0.1:5555"))
        request = re.search(r"request=([^&]+)", place).group(1)
        _, place, _ = browse(f"{server.issuer}/sign-in/complete?request={request}")
        _, _, page = browse(server.issuer + place)
        self.assertIn('data-testid="stranger"', page)
        self.assertEqual(server.admin("client", "list")["clients"], [])
        fields = {
            name: html.unescape(value)
            for name, value in re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page)}
        _, place, _ = browse(f"{server.issuer}/sign-in/consent", {**fields, "decision": "allow"})
        self.assertTrue(place.startswith(CALLBACK), place)
        given = urllib.parse.parse_qs(urllib.parse.urlsplit(place).query)
        status, _, tokens = browse(f"{server.issuer}/oauth2/token", {
            "grant_type": "authorization_code", "code": given["code"][0], "client_id": service.client_id,
            "redirect_uri": CALLBACK, "code_verifier": VERIFIER})
        self.assertEqual(status, 200, tokens)
        self.assertEqual(service.asked, ["/client.json"])
        self.assertEqual([client["name"] for client in server.admin("client", "list")["clients"]], [shown])
        code, out, err = self.command(self.folder, "admin", "client", "change", service.client_id, "--disabled")
        self.assertEqual(code, 0, f"{out}{err}")
        self.assertEqual(browse(start)[0], 400)

    def test_without_the_setting_no_document_is_fetched(self):
        authority = Authority(self.folder)
        service = self.service(authority)
        server = self.server(self.folder)
        server.arguments += ["--ca-file", authority.certificate]
        server.start()
        status, _, page = self.browser()(f"{server.issuer}/oauth2/authorize?client_id={service.client_id}")
        self.assertEqual(status, 400)
        self.assertIn("not known", page)
        self.assertEqual(service.asked, [])


if __name__ == "__main__":
    unittest.main()
