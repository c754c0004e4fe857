"""The example's deployment of the app sign-in service, on a fresh server: its names at work."""

import base64
import hashlib
import http.cookiejar
import http.client
import json
import os
import pathlib
import re
import secrets
import subprocess
import unittest
import urllib.error
import urllib.parse
import urllib.request

import operators
import programs

EXAMPLE = programs.ROOT / "Examples/SignInService"
SITE = "https://www.va.example"
# bcrypt of U*U, a test vector of its authors.
PASSWORD = "U*U"
HASH = "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"
# A copy of https://github.com/department-of-veterans-affairs/sign-in-service-rb, which no registry of packages has.
LIBRARY = os.environ.get("COUNTERSIGN_HEALTH_LIBRARY")


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments):
        return None


class Browser:
    """A browser, or with no cookies an app: it follows nothing by itself."""

    def __init__(self, server):
        self.server = server
        self.opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()), NoRedirects)

    def open(self, address, form=None):
        data = None if form is None else urllib.parse.urlencode(form).encode()
        # `localhost`, as people have it: cookies are for that host.
        url = urllib.parse.urljoin(self.server.issuer + "/", address)
        try:
            with self.opener.open(urllib.request.Request(url, data, {"Accept": "text/html, */*"}), timeout=30) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as answer:
            return answer.code, answer.headers, answer.read().decode()

    def follow(self, address, form=None):
        """Goes on as long as the way leads somewhere at this server: the last address, and the page at it."""
        status, headers, text = self.open(address, form)
        while status in (302, 303):
            address = headers["Location"]
            if not address.startswith(("/", self.server.issuer)):
                return address, text
            status, headers, text = self.open(address)
        return None, text


def claims(token):
    payload = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


class BackEnd:
    """A back end with the health service's own client library, in one of its two modes."""

    def __init__(self, server, client, mode):
        self.process = subprocess.Popen(
            ["ruby", pathlib.Path(__file__).with_name("back_end.rb")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={
                **programs.ENVIRONMENT, "RUBYLIB": str(pathlib.Path(LIBRARY, "lib")), "BASE_URL": server.issuer,
                "CLIENT_ID": client, "AUTH_TYPE": mode})
        self.server = server

    def stop(self):
        self.process.communicate(timeout=30)

    def call(self, name, **arguments):
        """Calls a function of the library: what it gave, or status, body and cookies of the answer."""
        try:
            self.process.stdin.write(json.dumps([name, arguments]) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        line = self.process.stdout.readline()
        if not line:
            raise programs.Failed(f"the back end has ended:\n{self.process.stderr.read()}")
        told = json.loads(line)
        if isinstance(told, str):
            return told
        status, body, cookies = told
        return status, body, dict(re.findall(r"vagov_(\w+)=([^;,]*)", cookies))

    def tokens(self):
        """Signs alice in, in a browser of her own, and gives the tokens by their names."""
        verifier = secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        browser = Browser(self.server)
        _, page = browser.follow(self.call("authorize_uri", type="password", acr="loa1", code_challenge=challenge))
        request = re.search(r'name="request" value="([^"]*)"', page)[1]
        back, page = browser.follow(
            "/sign-in/password", {"request": request, "username": "alice", "password": PASSWORD})
        if back is None:
            raise programs.Failed(page)
        code = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(back).query))["code"]
        return self.taken(self.call("get_token", code=code, code_verifier=verifier))

    def taken(self, answer):
        """The tokens of an answer, as this mode has them."""
        status, body, cookies = answer
        if status != 200:
            raise programs.Failed(f"{status} {body}")
        if cookies:
            return {name: urllib.parse.unquote(value) for name, value in cookies.items()}
        return body["data"]


class SignInService(operators.OperatorTest):
    def example(self, name, *arguments, environment=None):
        done = subprocess.run(
            [EXAMPLE / name, *map(str, arguments)], capture_output=True, text=True, timeout=90,
            env={**programs.ENVIRONMENT, "COUNTERSIGN": str(programs.BINARIES / "countersign"), **(environment or {})})
        return done.returncode, done.stdout, done.stderr

    def fresh_server(self):
        server = programs.Server(self.folder, trace=True)
        self.addCleanup(server.stop)
        server.arguments += ["--config", EXAMPLE / "countersign.yaml"]
        server.start()
        code, out, err = self.example("set-up", "--data", self.folder / "data", environment={"SITE": SITE})
        self.assertEqual(code, 0, out + err)
        self.assertIn("Any app can take the scheme of vamobile://login-success", out)
        server.admin("account", "add", "alice", "--display-name", "Alice Example")
        server.admin("account", "password", "import", "alice", stdin=HASH + "\n", words=3)
        return server

    def test_the_example_makes_a_fresh_server_the_deployment_that_is_drawn(self):
        server = self.fresh_server()
        verifier = secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        state = secrets.token_urlsafe(24)
        browser, app = Browser(server), Browser(server)

        # As the app opens the browser.
        status, _, page = browser.open("/sign-in?" + urllib.parse.urlencode({
            "application": "vamobile", "oauth": "true", "code_challenge": challenge,
            "code_challenge_method": "S256", "scope": "device_sso", "state": state}))
        self.assertEqual(status, 200, page)
        self.assertIn("VA: Health and Benefits", page)
        choice = next(tag for tag in re.findall(r"<a [^>]*>", page) if 'data-testid="by-password"' in tag)
        choice = re.search(r'href="([^"]*)"', choice)[1].replace("&amp;", "&")
        self.assertTrue(choice.startswith("/v0/sign_in/authorize?"), choice)
        _, page = browser.follow(choice)
        request = re.search(r'name="request" value="([^"]*)"', page)[1]
        back, page = browser.follow(
            "/sign-in/password", {"request": request, "username": "alice", "password": PASSWORD})
        self.assertIsNotNone(back, page)
        self.assertTrue(back.startswith("vamobile://login-success?"), back)
        answer = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(back).query))
        self.assertEqual((answer["state"], answer["type"]), (state, "password"))

        # The app's tokens.
        status, _, text = app.open("/v0/sign_in/token", {
            "grant_type": "authorization_code", "code": answer["code"], "code_verifier": verifier})
        self.assertEqual(status, 200, text)
        tokens = json.loads(text)["data"]
        self.assertEqual(set(tokens), {"access_token", "refresh_token", "device_secret"})
        said = claims(tokens["access_token"])
        self.assertEqual((said["iss"], said["client_id"]), ("va.gov sign in", "vamobile"))
        self.assertEqual(sorted(said["aud"]), ["va.gov", "vamobile"])
        self.assertEqual(said["exp"] - said["iat"], 30 * 60)

        # A web view of the site.
        status, headers, text = app.open("/v0/sign_in/token", {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "subject_token": tokens["access_token"],
            "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
            "actor_token": tokens["device_secret"],
            "actor_token_type": "urn:x-oath:params:oauth:token-type:device-secret", "client_id": "vaweb"})
        self.assertEqual((status, text), (200, "{}"))
        cookies = {field.split("=", 1)[0]: field for field in headers.get_all("Set-Cookie")}
        names = {"vagov_access_token", "vagov_refresh_token", "vagov_anti_csrf_token", "vagov_info_token"}
        self.assertEqual(set(cookies), names)
        for field in cookies.values():
            self.assertIn(int(re.search(r"Max-Age=(\d+)", field)[1]), range(30 * 60 - 5, 30 * 60 + 1), "30 minutes")
        web = claims(cookies["vagov_access_token"].split("=", 1)[1].split(";")[0])
        self.assertEqual((web["client_id"], web["exp"] - web["iat"]), ("vaweb", 5 * 60))

        # The app comes back.
        status, _, text = app.open("/v0/sign_in/refresh", {"refresh_token": tokens["refresh_token"]})
        self.assertEqual(status, 200, text)
        renewed = json.loads(text)["data"]["refresh_token"]
        for client, seconds in {"vamobile": 45 * 24 * 60 * 60, "vaweb": 30 * 60}.items():
            shown = server.admin("client", "show", client)
            self.assertEqual(shown["signInService"]["refreshTokenSeconds"], seconds)

        # And signs out: the web view is signed out with it.
        status, _, text = app.open("/v0/sign_in/revoke", {
            "refresh_token": renewed, "device_secret": tokens["device_secret"]})
        self.assertEqual(status, 200, text)
        address = urllib.parse.urlsplit(server.issuer)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
        self.addCleanup(connection.close)
        connection.request(
            "GET", "/v0/sign_in/introspect", headers={"Cookie": cookies["vagov_access_token"].split(";")[0]})
        self.assertEqual(connection.getresponse().status, 401)

        # What the server has recorded, in either wording.
        server.stop()
        for name in ("SIS", "IAM"):
            code, out, err = self.example("draw", name, server.trace)
            self.assertEqual(code, 0, err)
            self.assertIn(f"participant server as {name}\n", out)
            self.assertIn("browser->>server: authorization request", out)

    def test_the_web_site_signs_in_by_cookies_and_learns_of_a_failure_by_a_code(self):
        server = self.fresh_server()
        browser = Browser(server)
        asked = {"client_id": "vaweb", "type": "password", "acr": "loa1", "code_challenge_method": "S256",
                 "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}
        _, page = browser.follow("/v0/sign_in/authorize?" + urllib.parse.urlencode(asked))
        request = re.search(r'name="request" value="([^"]*)"', page)[1]
        back, page = browser.follow(
            "/sign-in/password", {"request": request, "username": "alice", "password": PASSWORD})
        self.assertIsNotNone(back, page)
        self.assertTrue(back.startswith(f"{SITE}/auth/login/callback?code="), back)
        # One factor is not what loa3 needs.
        _, page = browser.follow("/v0/sign_in/authorize?" + urllib.parse.urlencode({**asked, "acr": "loa3"}))
        request = re.search(r'name="request" value="([^"]*)"', page)[1]
        back, _ = browser.follow(
            "/sign-in/password", {"request": request, "username": "alice", "password": PASSWORD})
        told = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(back).query))
        self.assertEqual((told["auth"], told["code"]), ("fail", "007"))

    def test_the_example_has_people_signed_out_at_logingov_and_at_nobody_else(self):
        server = programs.Server(self.folder)
        self.addCleanup(server.stop)
        server.start()
        for name in ("idme", "logingov"):
            server.admin("provider", "add", name, "--issuer", f"https://{name}.example", "--client-id", "sis",
                         "--auth-method", "none")
        code, out, err = self.example(
            "set-up", "--data", self.folder / "data", environment={"SITE": SITE, "PROVIDERS": "idme logingov"})
        self.assertEqual(code, 0, out + err)
        shown = {name: server.admin("provider", "show", name) for name in ("idme", "logingov")}
        self.assertEqual({name: one["signsOut"] for name, one in shown.items()}, {"idme": False, "logingov": True})
        self.assertTrue(shown["logingov"]["postLogoutRedirectUri"].endswith("/v0/sign_in/logingov_logout_proxy"))
        web = server.admin("client", "show", "vaweb")
        self.assertEqual(web["signInMethods"][:2], ["provider:idme", "provider:logingov"])
        shown = server.admin("provider", "change", "logingov", "--no-sign-out")
        self.assertEqual((shown["signsOut"], "postLogoutRedirectUri" in shown), (False, False))

    @unittest.skipUnless(LIBRARY, "COUNTERSIGN_HEALTH_LIBRARY names no copy of the health service's client library")
    def test_the_health_services_own_library_renews_ends_and_signs_out(self):
        server = self.fresh_server()
        for client, mode in (("vamobile", "api"), ("vaweb", "cookie")):
            with self.subTest(mode=mode):
                back_end = BackEnd(server, client, mode)
                self.addCleanup(back_end.stop)
                first = back_end.tokens()
                more = {name: first[name] for name in ("anti_csrf_token",) if name in first}
                second = back_end.taken(
                    back_end.call("refresh_token", refresh_token=first["refresh_token"], **more))
                self.assertNotEqual(second["refresh_token"], first["refresh_token"])
                self.assertTrue(self.is_open(server, second))
                more = {name: second[name] for name in ("anti_csrf_token",) if name in second}
                status, body, _ = back_end.call("logout", access_token=second["access_token"], **more)
                self.assertIn(status, (200, 302), body)
                self.assertFalse(self.is_open(server, second))
                third = back_end.tokens()
                status, body, _ = back_end.call(
                    "revoke_token", refresh_token=third["refresh_token"],
                    anti_csrf_token=third.get("anti_csrf_token", ""))
                self.assertEqual(status, 200, body)
                self.assertFalse(self.is_open(server, third))
                both = [back_end.tokens(), back_end.tokens()]
                status, body, _ = back_end.call("revoke_all_sessions", access_token=both[0]["access_token"])
                self.assertEqual(status, 200, body)
                for tokens in both:
                    self.assertFalse(self.is_open(server, tokens))

    def is_open(self, server, tokens):
        """Whether an access token is good for anything."""
        request = urllib.request.Request(
            server.issuer + "/v0/sign_in/introspect", headers={"Authorization": f"Bearer {tokens['access_token']}"})
        try:
            with urllib.request.urlopen(request, timeout=30):
                return True
        except urllib.error.HTTPError:
            return False


if __name__ == "__main__":
    unittest.main()
