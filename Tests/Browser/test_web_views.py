"""The health app and its web site, in a real browser over TLS: what the SDK opens is signed in there, and what a site of the
sign-in service has to withstand.

The windows are Chromium's, which the app's SDK starts and fills through its own pipe; the tests look into them by a port
that only a wrapper of theirs opens.
"""

import base64
import contextlib
import itertools
import json
import os
import re
import subprocess
import urllib.parse

import pytest
import requests
from selenium.common.exceptions import WebDriverException

from authority import key_hash
from browser import Browser, switches
from programs import BINARIES, ENVIRONMENT, Health, free_port, socket_is_open

NAMES = {"access": "health_access_token", "refresh": "health_refresh_token", "csrf": "health_anti_csrf_token",
         "info": "health_info_token"}


def chromium(health, folder):
    """A program that starts Chromium without a screen, and the port at which it can be looked into."""
    port = free_port()
    program = folder / f"chromium-{port}"
    resolving = f"--host-resolver-rules=MAP *.{health.DOMAIN} 127.0.0.1"
    arguments = [*switches(health.keys), f"--remote-debugging-port={port}", resolving]
    words = " ".join(f"'{argument}'" for argument in arguments)
    program.write_text(f'#!/bin/sh\nexec /usr/bin/chromium {words} "$@"\n')
    program.chmod(0o700)
    return program, port


class Window:
    """A web view of the app on a phone: Chromium, as `countersign-phone webview` has opened it."""

    def __init__(self, health, phone, path, *options, folder):
        wrapper, port = chromium(health, folder)
        self.run = phone.start("webview", health.origin + path, "--title", "Records", "--chromium", wrapper, *options)
        try:
            self.opened = self.run.wait_for("window")
            self.browser = Browser(folder / f"window-{port}", port=port)
        except BaseException:
            self.run.stop()
            raise

    def cookies(self):
        """Every cookie of the browser's, by name."""
        cookies = self.browser.command("Network.getAllCookies")["cookies"]
        assert len({cookie["name"] for cookie in cookies}) == len(cookies), "two of a name"
        return {cookie["name"]: cookie for cookie in cookies}

    def session(self):
        """The handle of the session that the cookies are of."""
        part = self.cookies()[NAMES["access"]]["value"].split(".")[1]
        return json.loads(base64.urlsafe_b64decode(part + "=="))["session_handle"]

    def hint(self):
        return self.browser.evaluate("localStorage.getItem('hasSession')")

    def close(self):
        """Closes it as its person does."""
        # The driver loses its window before it is answered.
        with contextlib.suppress(WebDriverException):
            self.browser.command("Browser.close")
        return self.run.ended()


@pytest.fixture(scope="module")
def health(tmp_path_factory):
    running = Health(tmp_path_factory.mktemp("health"))
    running.keys = [key_hash(identity.certificate) for identity in running.identities.values()]
    try:
        running.start()
        running.server.admin("account", "add", "alice", "--display-name", "Alice Archer")
        running.alices = running.phone("alices")
        running.server.enroll("alice", running.alices)
        yield running
    finally:
        running.stop()


@pytest.fixture
def browse(health, new_browser):
    """What alice does in the browser that the app opens: she authenticates with the phone that has her keys."""

    def act(address):
        browser = new_browser(trusted_keys=health.keys)
        browser.get(address)
        browser.press(browser.one("by-phone"))
        browser.wait_for("qr-code")
        health.alices.approve(browser.picture()).expect(0)
        browser.wait(lambda: browser.address.startswith("http://127.0.0.1:"), message="nobody comes back")

    return act


@pytest.fixture
def sign_in(health, browse):
    """Signs alice in to the app on a phone."""

    def act(name):
        phone = health.phone(name)
        health.sign_in(phone, browse)
        return phone

    return act


@pytest.fixture
def open_view(health, tmp_path):
    windows = []

    def act(phone, path="/records", *options):
        windows.append(Window(health, phone, path, *options, folder=tmp_path))
        return windows[-1]

    yield act
    for window in windows:
        window.run.stop()
        window.browser.driver.service.stop()


def exchanges(health):
    """How often the service was asked for a session of the web."""
    return len(re.findall(r" POST /v0/sign_in/token ", health.server.log()))


def test_the_page_is_signed_in(health, sign_in, open_view):
    phone = sign_in("signed-in")
    before = exchanges(health)
    view = open_view(phone)
    assert view.opened["signedIn"] is True
    assert exchanges(health) == before + 1
    # The first page is the person's already, and nobody has typed anything.
    assert view.browser.address == health.origin + "/records"
    assert view.browser.one("person").text == "Alice Archer"
    assert view.hint() == "true"
    service, site = f"id.{health.DOMAIN}", f".{health.DOMAIN}"
    seen = {
        name: (cookie["domain"], cookie["path"], cookie["httpOnly"], cookie["secure"], cookie.get("sameSite"))
        for name, cookie in view.cookies().items()
    }
    assert seen == {
        NAMES["access"]: (site, "/", True, True, "Lax"),
        NAMES["refresh"]: (service, "/v0/sign_in/refresh", True, True, "Lax"),
        NAMES["csrf"]: (service, "/", True, True, "Lax"),
        NAMES["info"]: (site, "/", False, True, "Lax"),
    }
    # What scripts of the page see of it is when it ends.
    names = [pair.split("=")[0] for pair in view.browser.evaluate("document.cookie").split("; ")]
    assert names == [NAMES["info"]]
    # The hint is there before the page's own scripts are.
    view.browser.get(health.origin + "/")
    assert "Welcome back" in view.browser.all("hint")[0].text
    # A page of another host is told nothing.
    view.browser.get(health.server.issuer + "/")
    assert view.hint() is None
    assert view.close().expect(0)["finished"]["signedIn"] is True


def test_each_view_has_a_session_of_its_own_and_both_end_with_the_app(health, sign_in, open_view):
    phone, other = sign_in("two-views"), sign_in("another-device")
    first, second, elsewhere = open_view(phone), open_view(phone), open_view(other)
    assert len({view.session() for view in (first, second, elsewhere)}) == 3
    assert [view.browser.one("person").text for view in (first, second, elsewhere)] == ["Alice Archer"] * 3
    assert phone("sign-out").expect(0)["finished"]["serverKnows"] is True
    for view in (first, second):
        view.browser.get(health.origin + "/records")
        assert view.browser.has("signed-out") and not view.browser.has("person")
    elsewhere.browser.get(health.origin + "/records")
    assert elsewhere.browser.one("person").text == "Alice Archer"
    # Nothing is kept that a further view could be opened with.
    assert phone("webview", health.origin + "/records").code != 0


def test_signing_out_on_the_site_ends_that_view_alone(health, sign_in, open_view):
    phone = sign_in("one-of-two")
    first, second = open_view(phone), open_view(phone)
    first.browser.press(first.browser.one("sign-out"))
    assert first.browser.address == health.origin + "/"
    assert first.cookies() == {}
    first.browser.get(health.origin + "/records")
    assert first.browser.has("signed-out")
    second.browser.get(health.origin + "/records")
    assert second.browser.one("person").text == "Alice Archer"


def test_without_sso_nothing_is_fetched_and_no_page_is_told(health, sign_in, open_view):
    phone = sign_in("signed-out-view")
    before = exchanges(health)
    view = open_view(phone, "/records", "--no-sso")
    assert view.opened["signedIn"] is False
    assert view.browser.has("signed-out") and view.cookies() == {} and view.hint() is None
    assert exchanges(health) == before
    view.browser.get(health.origin + "/")
    assert "Sign in" in view.browser.all("hint")[0].text
    assert view.close().expect(0)["finished"]["signedIn"] is False


def test_where_the_exchange_fails_no_page_is_told_of_a_session(health, sign_in, open_view):
    phone = sign_in("refused")
    change = ("client", "change", health.SITE, "--sign-in-service")
    health.server.admin(*change, "sharedSessions=false")
    try:
        before = exchanges(health)
        view = open_view(phone)
        assert exchanges(health) > before, "it was asked for"
    finally:
        health.server.admin(*change, "sharedSessions=true")
    assert view.opened["signedIn"] is False
    assert view.browser.has("signed-out") and view.cookies() == {} and view.hint() is None
    assert view.close().code == 1


def sign_in_on_the_site(health, browser):
    browser.get(health.origin + "/records")
    browser.one("sign-in").click()
    browser.press(browser.one("by-phone"))
    browser.wait_for("qr-code")
    health.alices.approve(browser.picture()).expect(0)
    browser.wait(lambda: browser.address.startswith(health.origin), message="nobody comes back")


def test_the_site_signs_people_in_itself(health, new_browser):
    browser = new_browser(trusted_keys=health.keys)
    sign_in_on_the_site(health, browser)
    assert browser.wait_for("person").text == "Alice Archer"
    assert browser.address == health.origin + "/records"
    browser.press(browser.one("sign-out"))
    browser.get(health.origin + "/records")
    assert browser.has("signed-out")


@pytest.mark.parametrize("change", ["state", "iss", "begun"])
def test_an_answer_to_another_sign_in_signs_nobody_in(health, new_browser, change):
    browser = new_browser(trusted_keys=health.keys)
    # Somebody else's code, or their whole answer, in this browser.
    browser.get(health.origin + "/signed-in?code=theirs&state=theirs&iss=" + health.server.issuer)
    browser.wait(lambda: browser.one("signed-in").get_attribute("data-failed") is not None)
    begun = {"verifier": "v" * 43, "state": "s" * 43}
    if change != "begun":
        browser.evaluate(f"sessionStorage.setItem('sign-in', '{json.dumps(begun)}')")
    answer = {"code": "theirs", "state": begun["state"], "iss": health.server.issuer, change: "https://evil.example"}
    before = exchanges(health)
    browser.get(health.origin + "/signed-in?" + urllib.parse.urlencode(answer))
    browser.wait(lambda: browser.one("signed-in").get_attribute("data-failed") is not None)
    assert "code" not in browser.address and exchanges(health) == before
    browser.get(health.origin + "/records")
    assert browser.has("signed-out")


# Foundation's network trusts the machine's authorities alone. For one program, in a namespace of its own, that is another.
TRUSTING = ("unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c",
            'mount --bind "$0" /etc/ssl/certs/ca-certificates.crt && exec "$@"')


class HealthApp:
    """The example app in its terminal."""

    def __init__(self, health, folder, program):
        self.process = subprocess.Popen(
            [*TRUSTING, health.authority.certificate, BINARIES / "health-app", health.server.issuer, health.APP, health.origin],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            env={
                **ENVIRONMENT, "HEALTH_APP_FOLDER": str(folder), "HEALTH_APP_CHROMIUM": str(program),
                "HEALTH_APP_REDIRECT_URI": health.app_address,
            },
        )

    def press(self, button):
        self.process.stdin.write(button + "\n")
        return self

    def expect(self, words):
        """Waits for a line with these words, among the next few; the line."""
        lines = []
        for line in itertools.islice(self.process.stdout, 2):
            lines.append(line)
            if words in line:
                return line
        raise AssertionError(f"the app did not say {words!r}: {lines}")

    def quit(self):
        self.process.stdin.close()
        assert self.process.wait(30) == 0


@pytest.mark.skipif(
    subprocess.run([*TRUSTING[:2], "true"], capture_output=True).returncode != 0, reason="no namespace of one's own here")
def test_the_health_app(health, browse, tmp_path):
    program, port = chromium(health, tmp_path)
    app = HealthApp(health, tmp_path / "app", program)
    app.expect("[Sign in]")
    address = app.press("sign in").expect("https://").split()[-1]
    browse(address)
    app.expect("Use your finger")
    app.press("yes").expect("[You are signed in]")
    app.quit()

    app = HealthApp(health, tmp_path / "app", program)
    app.expect("press Return in place of a finger")
    app.press("").expect("[You are signed in]")
    app.press("records").expect("[You are signed in]")
    window = Browser(tmp_path / "window", port=port)
    assert window.one("person").text == "Alice Archer"
    value = window.command("Network.getAllCookies")["cookies"]
    token = next(cookie["value"] for cookie in value if cookie["name"] == NAMES["access"])
    assert Requests(health)("/records", f"{NAMES['access']}={token}").status_code == 200
    app.press("sign out").expect("[Sign in]")
    assert not socket_is_open(port), "the window is closed"
    assert Requests(health)("/records", f"{NAMES['access']}={token}").status_code == 401
    app.quit()
    window.driver.service.stop()


# What the site has to withstand, by requests that no browser of a person's makes


class Requests:
    """Requests to the site with cookies of one's own making."""

    def __init__(self, health):
        requests.packages.urllib3.disable_warnings()
        self.health = health

    def __call__(self, path, cookies="", method="GET", **headers):
        address = f"https://127.0.0.1:{self.health.site_port}{path}"
        headers = {"Host": self.health.host, "Cookie": cookies, **{name.replace("_", "-"): value for name, value in headers.items()}}
        # The certificate is for the name, which this machine's resolver may not know. It is the browser's to judge.
        return requests.request(
            method, address, headers=headers, verify=False, timeout=30, allow_redirects=False,
            data="text=hello" if method == "POST" else None)


@pytest.fixture
def ask(health):
    return Requests(health)


@pytest.fixture
def cookie(health, sign_in, open_view):
    """The access cookie of a view, as `NAME=VALUE`."""
    view = open_view(sign_in("asking"))
    return f"{NAMES['access']}={view.cookies()[NAMES['access']]['value']}"


def test_cookies_that_are_none_sign_nobody_in(health, ask, cookie):
    good = ask("/records", cookie)
    assert good.status_code == 200 and "Alice Archer" in good.text
    assert good.headers["Cache-Control"] == "no-store"
    name, value = cookie.split("=", 1)
    head, body, signature = value.split(".")
    for cookies in (
        "", f"{name}=", f"{name}=x", f"{name}={head}.{body}", f"{name}={head}.{body}.{signature[::-1]}",
        f"{name}={value}%0d%0a", f"{name}={'a' * 9000}.b.c", f"{name}2={value}", f"other={value}",
        # One that somebody has put beside it, whichever comes first.
        f"{cookie}; {name}=x", f"{name}=x; {cookie}", f"{cookie}; {cookie}",
    ):
        answer = ask("/records", cookies)
        assert answer.status_code == 401 and 'data-testid="signed-out"' in answer.text, cookies
        assert "Archer" not in answer.text


def test_another_sites_session_is_none_here(health, ask, sign_in, open_view):
    """A token of the same person, which the service vouches for, for another site of its."""
    health.server.admin(
        *("client", "add", "Other site", "--client-id", "other-web", "--auth-method", "none"),
        *("--redirect-uri", "https://other.health.localhost/signed-in", "--sign-in-method", "phone"),
        *("--post-logout-redirect-uri", "https://other.health.localhost/"),
        *("--sign-in-service", "authentication=cookie", "--sign-in-service", "sharedSessions=true"),
        *("--sign-in-service", "antiCsrf=true", "--sign-in-service", "accessTokenAudience=other"),
        *("--sign-in-service", "serviceLevels=min"),
    )
    phone = sign_in("other-site")
    setup = json.loads((phone.home / "sign-in.json").read_text())
    (phone.home / "sign-in.json").write_text(json.dumps({**setup, "webApplication": "other-web"}))
    view = open_view(phone)
    assert view.opened["signedIn"] is True, "the service has opened it"
    assert view.browser.has("signed-out") and not view.browser.has("person")
    value = view.cookies()[NAMES["access"]]["value"]
    assert ask("/records", f"{NAMES['access']}={value}").status_code == 401


def test_what_is_written_comes_from_a_page_of_the_site(health, ask, cookie):
    for headers in ({}, {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": health.origin + ".evil.example"},
                    {"Origin": health.server.issuer}, {"Referer": health.origin + "/records"},
                    {"Origin": health.origin.replace("https", "http")}):
        answer = ask("/messages", cookie, "POST", Content_Type="application/x-www-form-urlencoded", **headers)
        assert answer.status_code == 403, headers
    assert 'data-testid="message"' not in ask("/records", cookie).text
    assert ask("/messages", cookie).status_code == 405
    own = {"Origin": health.origin, "Content_Type": "application/x-www-form-urlencoded"}
    assert ask("/messages", "", "POST", **own).status_code == 401
    written = ask("/messages", cookie, "POST", **own)
    assert written.status_code == 303 and written.headers["Location"] == "/records"
    assert "hello" in ask("/records", cookie).text


def test_a_person_writes_in_the_view(health, sign_in, open_view):
    view = open_view(sign_in("writing"))
    field = view.browser.one("message-form").find_element("name", "text")
    field.send_keys("<b>How are you?</b>")
    view.browser.press(view.browser.one("message-form").find_element("tag name", "button"))
    assert view.browser.all("message")[-1].text == "<b>How are you?</b>"


def test_where_the_service_is_not_there_nobody_is_signed_in_or_out(health, ask, cookie):
    health.server.stop()
    try:
        answer = ask("/records", cookie)
        assert answer.status_code == 503 and answer.headers["Retry-After"] and "Archer" not in answer.text
        assert "Set-Cookie" not in answer.headers
        own = {"Origin": health.origin, "Content_Type": "application/x-www-form-urlencoded"}
        assert ask("/messages", cookie, "POST", **own).status_code == 503
        # Who shows nothing is nobody, whether or not the service is there.
        assert ask("/records").status_code == 401
    finally:
        health.server.start()
    assert ask("/records", cookie).status_code == 200
