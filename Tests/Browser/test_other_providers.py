"""People sign in here by another provider: by a second server of ours, and by one of another maker (Glewlwyd)."""

import base64
import hashlib
import importlib.machinery
import importlib.util
import re
import secrets
import urllib.parse

import pytest
import requests
from conftest import Deployment
from programs import ROOT, Phone, Server, free_port, png_of_qr_svg
from test_relying_parties import verified_claims

TWO_FACTORS = "urn:countersign:acr:two-factor"
PASSWORD = "correct horse battery staple"
# A test vector of bcrypt's authors.
IMPORTED, IMPORTED_HASH = "U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"


def glewlwyd():
    """The program that starts Glewlwyd, as a module."""
    loader = importlib.machinery.SourceFileLoader("glewlwyd", str(ROOT / "scripts/glewlwyd"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("glewlwyd", loader))
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The server that people sign in to, and its bank. Browsers tell it from the others by its host."""
    running = Deployment(tmp_path_factory.mktemp("here"), host="127.0.0.2")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def staff(tmp_path_factory, here):
    """A second server of ours, at which the first is a client by its keys, and a person with a phone and a password."""
    folder = tmp_path_factory.mktemp("staff")
    server = Server(folder, host="127.0.0.1").start()
    try:
        callback = f"{here.server.issuer}/sign-in/provider/staff/callback"
        client = server.admin(
            "client", "add", "The other server", "--redirect-uri", callback, "--auth-method", "private_key_jwt",
            "--jwks-uri", f"{here.server.issuer}/oauth2/jwks", "--sign-in-method", "phone", "--sign-in-method", "password",
            "--post-logout-redirect-uri", f"{here.server.issuer}/v0/sign_in/logingov_logout_proxy",
        )
        added = here.server.admin(
            "provider", "add", "staff", "--title", "Staff accounts", "--issuer", server.issuer,
            "--client-id", client["clientId"], "--auth-method", "private_key_jwt", "--newcomers", "created",
            "--level", f"{TWO_FACTORS}={TWO_FACTORS}", "--email-domain", "staff.example",
        )
        assert added["redirectUri"] == callback and "clientSecret" not in added
        server.admin(
            "account", "add", "pat", "--display-name", "Pat Example", "--email", "pat@staff.example", "--email-verified"
        )
        server.phone = Phone(folder / "phone")
        server.enroll("pat", server.phone)
        server.admin("account", "password", "set", "pat", stdin=PASSWORD + "\n", words=3)
        yield server
    finally:
        server.stop()


class Service:
    """A service of the server, as far as a browser without scripts goes."""

    def __init__(self, server, *methods):
        self.server = server
        self.address = f"http://127.0.0.1:{free_port()}/callback"
        options = [word for method in methods for word in ("--sign-in-method", method)]
        self.client_id, secret = server.add_client(
            f"Service {secrets.token_hex(4)}", self.address, options=[*options, "--pkce", "nonce"])
        self.secret = secret.read_text().strip()

    def begin(self, browser, **more):
        query = urllib.parse.urlencode({
            "response_type": "code", "client_id": self.client_id, "redirect_uri": self.address, "state": "s",
            "scope": "openid profile email", "nonce": "n", **more,
        })
        return browser.get(f"{self.server.issuer}/oauth2/authorize?{query}", timeout=20)

    def finish(self, walk):
        """What the browser brings that is led back to the service, where nobody listens."""
        with pytest.raises(requests.ConnectionError) as nobody_there:
            walk()
        returned = nobody_there.value.request.url
        assert returned.startswith(self.address), returned
        return dict(urllib.parse.parse_qsl(urllib.parse.urlparse(returned).query))

    def claims(self, answer):
        assert "code" in answer, answer
        assert answer["iss"] == self.server.issuer and answer["state"] == "s"
        tokens = requests.post(
            f"{self.server.issuer}/oauth2/token", auth=(self.client_id, self.secret), timeout=20,
            data={"grant_type": "authorization_code", "code": answer["code"], "redirect_uri": self.address},
        ).json()
        self.userinfo = requests.get(
            f"{self.server.issuer}/oauth2/userinfo", timeout=20,
            headers={"Authorization": f"Bearer {tokens['access_token']}"}).json()
        return verified_claims(self.server.issuer, self.client_id, tokens["id_token"])[1]


def link(page, hook):
    """Where a link of a page leads."""
    tag = re.search(rf'<a [^>]*data-testid="{hook}"[^>]*>', page.text)
    assert tag, page.text
    target = re.search(r'href="([^"]*)"', tag.group(0)).group(1).replace("&amp;", "&")
    return urllib.parse.urljoin(page.url, target)


def form(page):
    """The hidden fields of a page's first form, and where it goes."""
    first = re.search(r'<form[^>]*action="([^"]*)".*?</form>', page.text, re.S)
    fields = dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', first.group(0)))
    return urllib.parse.urljoin(page.url, first.group(1)), fields


def send(browser, page, **fields):
    action, hidden = form(page)
    return browser.post(action, data={**hidden, **fields}, timeout=20)


def scan(server, browser, page, folder):
    """Has the phone scan the page's code, and gives the address at which the browser goes on."""
    svg = re.search(r'data-testid="qr-code".*?(<svg.*?</svg>)', page.text, re.S).group(1)
    picture = folder / f"{secrets.token_hex(4)}.png"
    picture.write_bytes(png_of_qr_svg(svg))
    server.phone.approve(picture).expect(0)
    return page.url.replace("/wait?", "/complete?").replace("/sign-in?", "/sign-in/complete?")


def accounts(server):
    return server.admin("account", "list")["accounts"]


def test_a_second_server_of_ours_in_a_browser(here, staff, new_browser):
    ways = ("--sign-in-method", "phone", "--sign-in-method", "provider:staff")
    here.server.admin("client", "change", here.bank.client_id, *ways)
    for _ in range(2):
        browser = new_browser()
        browser.get(here.bank.origin + "/")
        browser.press(browser.one("sign-in"))
        # The person chooses at the bank's server, and once more at the other one.
        browser.press(browser.one("by-staff"))
        browser.press(browser.one("by-phone"))
        browser.wait_for("qr-code")
        assert browser.address.startswith(staff.issuer + "/")
        staff.phone.approve(browser.picture()).expect(0)
        browser.finish_sign_in()
        assert browser.address.startswith(here.bank.origin)
    known = [account for account in accounts(here.server) if account.get("displayName") == "Pat Example"]
    assert len(known) == 1 and "username" not in known[0]
    assert known[0]["email"] == "pat@staff.example" and known[0]["emailVerified"] is True
    links = here.server.admin("provider", "links", f"id:{known[0]['id']}")["links"]
    assert [(one["provider"], one["issuer"]) for one in links] == [("staff", staff.issuer)]


def test_a_second_server_of_ours_asks_once_more_where_it_was_not_sure_enough(here, staff, tmp_path):
    service = Service(here.server, "provider:staff")
    browser = requests.Session()
    choice = service.begin(browser, acr_values=TWO_FACTORS)
    assert choice.url.startswith(staff.issuer), choice.text
    password = browser.get(link(choice, "by-password"), timeout=20)
    chosen = send(browser, password, username="pat", password=PASSWORD)
    # The password was for one sign-in.
    again = send(browser, chosen, **{"new-password": PASSWORD + " 2"}) if "new-password" in chosen.url else chosen
    # One factor: the other server asks once more, with what it has to be.
    assert again.url.startswith(staff.issuer) and link(again, "by-phone"), again.text
    phone = browser.get(link(again, "by-phone"), timeout=20)
    complete = scan(staff, browser, phone, tmp_path)
    claims = service.claims(service.finish(lambda: browser.get(complete, timeout=20)))
    assert claims["acr"] == TWO_FACTORS and "mfa" in claims["amr"] and "pwd" not in claims["amr"]
    assert "preferred_username" not in service.userinfo and service.userinfo["email_verified"] is True
    # Who gives up there comes back to a page that leads on.
    other = requests.Session()
    choice = service.begin(other)
    given_up = send(other, choice)
    assert given_up.status_code == 403 and "You did not sign in at Staff accounts" in given_up.text
    assert given_up.url.startswith(here.server.issuer)


def led_to(address, walk):
    """The parameters that a browser brings to an address where nobody listens."""
    with pytest.raises(requests.ConnectionError) as nobody_there:
        walk()
    returned = nobody_there.value.request.url
    assert returned.split("?")[0] == address, returned
    return dict(urllib.parse.parse_qsl(urllib.parse.urlparse(returned).query))


def test_whoever_signs_out_of_a_web_site_is_signed_out_at_a_second_server_of_ours(here, staff):
    changed = here.server.admin("provider", "change", "staff", "--sign-out")
    assert changed["signsOut"] and changed["postLogoutRedirectUri"].startswith(here.server.issuer)
    staff.admin("account", "add", "kim", "--display-name", "Kim Example")
    staff.admin("account", "password", "import", "kim", stdin=IMPORTED_HASH + "\n", words=3)
    # At http a page would ask first, as another program of the machine could be there.
    site = f"https://127.0.0.1:{free_port()}"
    here.server.admin(
        "client", "add", "Health site", "--client-id", "health_site", "--auth-method", "none",
        "--redirect-uri", f"{site}/in", "--post-logout-redirect-uri", f"{site}/bye",
        "--sign-in-method", "provider:staff", "--sign-in-service", "authentication=cookie",
        "--sign-in-service", "antiCsrf=true", "--sign-in-service", "accessTokenAudience=health",
        "--sign-in-service", "serviceLevels=loa1",
    )
    verifier = secrets.token_urlsafe(48)
    digest = hashlib.sha256(verifier.encode()).digest()
    begin = f"{here.server.issuer}/v0/sign_in/authorize?" + urllib.parse.urlencode({
        "client_id": "health_site", "type": "staff", "acr": "loa1", "state": secrets.token_urlsafe(24),
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(), "code_challenge_method": "S256"})
    browser = requests.Session()
    password = browser.get(link(browser.get(begin, timeout=20), "by-password"), timeout=20)
    led_to(f"{site}/in", lambda: send(browser, password, username="kim", password=IMPORTED))
    # Whoever is signed in at the other server comes back without a question.
    answer = led_to(f"{site}/in", lambda: browser.get(begin, timeout=20))
    given = browser.post(
        f"{here.server.issuer}/v0/sign_in/token", timeout=20,
        data={"grant_type": "authorization_code", "code": answer["code"], "code_verifier": verifier})
    assert given.status_code == 200 and given.text == "{}", given.text
    question = browser.get(
        f"{here.server.issuer}/v0/sign_in/logout", timeout=20,
        params={"client_id": "health_site", "anti_csrf_token": given.cookies["countersign_anti_csrf_token"]})
    assert question.url.startswith(f"{staff.issuer}/oauth2/logout?"), question.text
    assert led_to(f"{site}/bye", lambda: send(browser, question)) == {}
    # From now on it asks who they are.
    asked = browser.get(begin, timeout=20)
    assert asked.url.startswith(staff.issuer) and link(asked, "by-password")


@pytest.fixture(scope="module")
def campus(tmp_path_factory, here):
    """Glewlwyd: its plugin for OpenID Connect, a person, and the first server as its client."""
    module = glewlwyd()
    peer = module.Peer(tmp_path_factory.mktemp("campus"), host="127.0.0.1")
    try:
        peer.set_up(redirect_uri=f"{here.server.issuer}/sign-in/provider/campus/callback")
        peer.client, peer.person = module.CLIENT, module.PERSON
        here.server.admin(
            "provider", "add", "campus", "--title", "Campus", "--issuer", peer.issuer, "--client-id", peer.client[0],
            "--scope", "openid", "--secret-stdin", stdin=peer.client[1] + "\n")
        yield peer
    finally:
        peer.stop()


def at_glewlwyd(browser, campus, page):
    """Signs the person in at Glewlwyd, whose pages are scripts, by its interface, and gives where its endpoint is now."""
    # The way there led to its own sign-in page, which names the endpoint that asked.
    asked = [step.url for step in page.history if "/api/oidc/auth?" in step.url]
    assert asked, page.url
    api = campus.address + "/api"
    assert browser.post(f"{api}/auth/", json=campus.person, timeout=20).status_code == 200
    granted = browser.put(f"{api}/auth/grant/{campus.client[0]}", json={"scope": "openid"}, timeout=20)
    assert granted.status_code == 200, granted.text
    return asked[0] + "&g_continue"


def test_another_makers_provider(here, campus, tmp_path):
    phone = here.person()
    here.server.phone = phone
    service = Service(here.server, "phone", "provider:campus")
    browser = requests.Session()
    choice = service.begin(browser)
    there = browser.get(link(choice, "by-campus"), timeout=20)
    unknown = browser.get(at_glewlwyd(browser, campus, there), timeout=20)
    assert unknown.status_code == 403 and "You are not known here yet" in unknown.text, unknown.text
    count = len(accounts(here.server))
    # The person connects the account that they have, by a fresh sign-in to it.
    choice = send(browser, unknown)
    page = browser.get(link(choice, "by-phone"), timeout=20)
    complete = scan(here.server, browser, page, tmp_path)
    question = browser.get(complete, timeout=20)
    assert 'data-testid="connection"' in question.text and phone.username in question.text
    # The phone confirms who will sign its person in from then on.
    waiting = send(browser, question, decision="allow")
    assert "let \u201cCampus\u201d sign you in from now on" in waiting.text
    confirmed = browser.get(scan(here.server, browser, waiting, tmp_path), timeout=20)
    assert "You have confirmed this" in confirmed.text
    first = service.claims(service.finish(lambda: send(browser, confirmed, decision="allow")))
    assert "mfa" in first["amr"] and service.userinfo["preferred_username"] == phone.username
    assert len(accounts(here.server)) == count
    # From then on Glewlwyd will do, in any browser; what it says of levels is nothing that was translated.
    other = requests.Session()
    there = other.get(link(service.begin(other), "by-campus"), timeout=20)
    target = at_glewlwyd(other, campus, there)
    second = service.claims(service.finish(lambda: other.get(target, timeout=20)))
    assert second["sub"] == first["sub"] and second["acr"] == "urn:countersign:acr:one-factor"
    assert service.userinfo["preferred_username"] == phone.username
    # Once the connection is ended it will not.
    links = here.server.admin("provider", "links", phone.username)["links"]
    assert len(links) == 1 and links[0]["provider"] == "campus"
    here.server.admin("provider", "unlink", phone.username, "--", links[0]["id"])
    third = requests.Session()
    there = third.get(link(service.begin(third), "by-campus"), timeout=20)
    refused = third.get(at_glewlwyd(third, campus, there), timeout=20)
    assert refused.status_code == 403 and "You are not known here yet" in refused.text
