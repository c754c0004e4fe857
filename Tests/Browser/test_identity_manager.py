"""A service that is an identity manager itself: it has the data of its people, and signs them in by us.

It is told no more of a person than a name that nobody else has for them.
"""

import collections
import contextlib
import json
import re
import secrets
import urllib.parse

import flask
import pytest
import requests
from authlib.integrations.requests_client import OAuth2Session

import apache
from authority import key_hash
from conftest import Deployment
from lemonldap import IdentityManager
from programs import ROOT, Phone, free_port, png_of_qr_svg
from test_relying_parties import Apache, WebApplication, verified_claims

CONFIGURATIONS = ROOT / "Examples/IdentityManager"
PROFILE = json.loads((CONFIGURATIONS / "profile.json").read_text())
KEYCLOAK = CONFIGURATIONS / "people-realm.json"
# What an ID token says of a sign-in, which is nothing of a person but the name.
OF_A_SIGN_IN = {"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "acr", "amr", "azp", "at_hash", "sid", "jti"}
# And what userinfo says of it: in which of the service's own roles.
ROLE = {"roles": ["person"]}
# How the server knows a service.
Client = collections.namedtuple("Client", "id secret callback")


class People:
    """What the identity manager knows of people itself: number and name, by the name that the provider has for them."""

    def __init__(self):
        self.service = WebApplication()
        self.address = f"{self.service.origin}/people"
        self.known = {}

        @self.service.app.post("/people")
        def person():
            number = self.known.setdefault(flask.request.json["user"], len(self.known) + 1)
            return {"result": True, "info": {"uid": f"member-{number}", "cn": f"Member {number}"}}

        self.service.start()


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    running = Deployment(tmp_path_factory.mktemp("here"))
    yield running
    running.stop()


@pytest.fixture
def resident(here):
    """A person with a personalised phone, of whom a lot is known here."""
    name = f"resident{next(here.numbers)}"
    here.server.admin(
        *("account", "add", name, "--display-name", "Robin Example"),
        *("--email", f"{name}@post.example", "--email-verified"))
    for attribute, value in (("givenName", "Robin"), ("email", f"{name}@post.example")):
        here.server.add_attribute(name, attribute, value, f"My {attribute}")
    phone = Phone(here.folder / f"phone-{name}")
    _, phone.pin = here.server.personalize(name, phone)
    phone.username = name
    return phone


def register(here, name, callback, *options, profile=PROFILE):
    """A service of personalised identities."""
    client_id, secret = here.server.add_client(f"{name} {secrets.token_hex(4)}", callback, options=options)
    here.server.admin("service", "set", client_id, "--file", "-", stdin=json.dumps(profile))
    return Client(client_id, secret.read_text().strip(), callback)


@pytest.fixture(scope="module")
def broker(here):
    """The identity manager, and an application behind it that has never heard of us."""
    # What is entered last ends first, and all of it ends where some of it fails.
    with contextlib.ExitStack() as running:
        yield started_broker(here, running)


def started_broker(here, running):
    """The same, all of whose parts end with `running`."""
    folder = running.enter_context(apache.open_folder())
    people = People()
    running.callback(people.service.stop)
    port = free_port()
    manager = IdentityManager(folder / "portal", people.address, f"http://127.0.0.1:{port}/signed-in")
    manager.client = register(here, "Identity manager", manager.callback)
    manager.known = people.known
    running.callback(manager.stop)
    manager.start(here.server.issuer, manager.client.id, manager.client.secret)
    (folder / "application").mkdir()
    manager.application = Apache(
        folder / "application", manager.issuer, *manager.APPLICATION, port,
        f"""
OIDCPKCEMethod S256
OIDCCABundlePath {manager.authority.certificate}
Header set X-Name "expr=%{{reqenv:OIDC_CLAIM_name}}"
""")
    running.callback(manager.application.stop)
    manager.application.wait()
    return manager


def answer_in(address):
    return dict(urllib.parse.parse_qsl(urllib.parse.urlparse(address).query))


def answered(here, phone, folder, client, **more):
    """Signs a person in to a service, and gives what the browser is to bring it, where it does not go."""
    browser = requests.Session()
    page = browser.get(f"{here.server.issuer}/oauth2/authorize", timeout=20, params={
        "response_type": "code", "client_id": client.id, "redirect_uri": client.callback, "scope": "openid",
        "state": "s", "nonce": "n", **more})
    assert page.status_code == 200, page.text
    svg = re.search(r'data-testid="qr-code".*?(<svg.*?</svg>)', page.text, re.S).group(1)
    picture = folder / f"{secrets.token_hex(4)}.png"
    picture.write_bytes(png_of_qr_svg(svg))
    phone.approve(picture, pin=phone.pin).expect(0)
    query = urllib.parse.urlparse(page.url).query
    step = browser.get(f"{here.server.issuer}/sign-in/complete?{query}", timeout=20, allow_redirects=False)
    assert step.is_redirect and step.headers["Location"].startswith(client.callback), step.text
    return answer_in(step.headers["Location"])


def redeem(here, client, code):
    return requests.post(
        f"{here.server.issuer}/oauth2/token", auth=(client.id, client.secret), timeout=20,
        data={"grant_type": "authorization_code", "code": code, "redirect_uri": client.callback})


def userinfo(here, access_token):
    return requests.get(
        f"{here.server.issuer}/oauth2/userinfo", headers={"Authorization": f"Bearer {access_token}"}, timeout=20).json()


def told(here, client, answer):
    """What a service is told of a person: the claims of the ID token, and those of userinfo."""
    tokens = redeem(here, client, answer["code"]).json()
    return verified_claims(here.server.issuer, client.id, tokens["id_token"])[1], userinfo(here, tokens["access_token"])


def sign_in(browser, broker, phone):
    """Signs a person in to the application: whom it takes them for, and what the phone was asked."""
    browser.get(broker.application.origin + "/")
    browser.wait_for("qr-code")
    asked = phone("scan", browser.picture(), "--approve", "--pin-stdin", stdin=phone.pin + "\n").expect(0)["request"]
    browser.wait(
        lambda: browser.address == f"{broker.application.origin}/", message=f"nobody is signed in\n{broker.log()}")
    cookies = {cookie["name"]: cookie["value"] for cookie in browser.driver.get_cookies()}
    page = requests.get(f"{broker.application.origin}/", cookies=cookies, timeout=20, allow_redirects=False)
    assert page.status_code == 200 and page.text == "the guarded page"
    return (page.headers["X-Person"].split("@")[0], page.headers["X-Name"]), asked


def test_a_person_signs_in_to_an_application_behind_an_identity_manager(here, broker, resident, new_browser, tmp_path):
    trusted = [key_hash(broker.identity.certificate)]
    person, asked = sign_in(new_browser(trusted_keys=trusted), broker, resident)
    # The phone is asked for nothing of its person, and whatever the application knows the identity manager knew.
    assert asked["service"].startswith("Identity manager") and asked["attributes"] == []
    session = broker.sessions()[-1]
    _, claims = verified_claims(here.server.issuer, broker.client.id, session["_oidc_id_token"])
    assert set(claims) <= OF_A_SIGN_IN
    assert userinfo(here, session["_oidc_access_token"]) == {"sub": claims["sub"], **ROLE}
    number = broker.known[claims["sub"]]
    assert person == (f"member-{number}", f"Member {number}")
    # What it has written down of them, in its sessions and its logs, has nothing of what is known here.
    kept = "".join(path.read_text(errors="replace") for path in broker.folder.rglob("*") if path.is_file())
    assert claims["sub"] in kept
    assert "Robin" not in kept and resident.username not in kept and "post.example" not in kept
    # They are the same person there in another browser, and to another service somebody else.
    again, _ = sign_in(new_browser(trusted_keys=trusted), broker, resident)
    assert again == person
    assert broker.sessions()[-1]["_user"] == claims["sub"]
    assert broker.sessions()[-1]["_session_id"] != session["_session_id"]
    profile = {**PROFILE, "attributes": {"givenName": "required", "email": "required"}}
    other = register(here, "Town hall", f"http://127.0.0.1:{free_port()}/in", profile=profile)
    elsewhere, information = told(here, other, answered(here, resident, tmp_path, other))
    assert elsewhere["sub"] != claims["sub"] and information["sub"] == elsewhere["sub"]
    # A service that asks for something is told it: there was something to be told.
    assert information["given_name"] == "Robin" and information["email"] == f"{resident.username}@post.example"


def test_an_identity_manager_that_asks_for_everything_is_told_the_mapping_id_alone(here, broker, resident, tmp_path):
    names = ("name", "preferred_username", "given_name", "email", "email_verified", "birthdate", "phone_number")
    every = {name: {"essential": True} for name in names}
    answer = answered(
        here, resident, tmp_path, broker.client, scope="openid profile email phone address",
        claims=json.dumps({"id_token": every, "userinfo": every}))
    claims, information = told(here, broker.client, answer)
    assert (set(claims) - OF_A_SIGN_IN, information) == (set(), {"sub": claims["sub"], **ROLE})
    # It is the name that they have there whatever is asked.
    assert told(here, broker.client, answered(here, resident, tmp_path, broker.client))[1] == information


def brought(broker, code, state):
    """What the identity manager does with what a browser brings: whether it signs anybody in, and why not."""
    count, length = len(broker.sessions()), len(broker.log())
    page = broker.get("/?" + urllib.parse.urlencode({"openidconnectcallback": 1, "code": code, "state": state}))
    is_in = "lemonldap" in page.cookies
    assert len(broker.sessions()) == count + is_in
    return is_in, broker.log()[length:]


def test_an_answer_that_is_not_the_sign_ins_own_is_refused(here, broker, resident, tmp_path):
    other = register(here, "Town hall", f"http://127.0.0.1:{free_port()}/in")

    def begun():
        """What the identity manager asks us for a browser that is new to it."""
        return answer_in(broker.get("/").headers["Location"])

    def code(client, nonce):
        return answered(here, resident, tmp_path, client, nonce=nonce)["code"]

    asked = begun()
    mine = code(broker.client, asked["nonce"])
    # A state that it has not given.
    forged = asked["state"][:-1] + ("0" if asked["state"][-1] != "0" else "1")
    is_in, why = brought(broker, mine, forged)
    assert not is_in and "Unable to extract state" in why
    # Nothing was used up by that: with its own state, the answer is good, once.
    assert brought(broker, mine, asked["state"])[0]
    is_in, why = brought(broker, mine, asked["state"])
    assert not is_in and "Unable to extract state" in why
    # A code that another service of ours was given for the same person: we give nothing for it.
    asked = begun()
    is_in, why = brought(broker, code(other, asked["nonce"]), asked["state"])
    assert not is_in and "Bad token response" in why
    # A code of its own, for a sign-in in another browser.
    is_in, why = brought(broker, code(broker.client, "of another browser"), begun()["state"])
    assert not is_in and "Nonce" in why
    # And one of its own in the hands of another service, which knows what it was given for.
    refused = redeem(here, other._replace(callback=broker.callback), code(broker.client, "n"))
    assert refused.status_code == 400 and refused.json()["error"] == "invalid_grant"


def keycloak(issuer, client):
    """The configuration as Keycloak reads it, which puts in what its environment has and leaves other names alone."""
    environment = {
        "COUNTERSIGN_ISSUER": issuer, "COUNTERSIGN_CLIENT_ID": client.id, "COUNTERSIGN_CLIENT_SECRET": client.secret}
    text = re.sub(r"\$\{(\w+)\}", lambda match: environment[match.group(1)], KEYCLOAK.read_text())
    return json.loads(text)


def test_the_configuration_of_keycloak_is_what_the_provider_says(here, resident, tmp_path):
    address = f"http://127.0.0.1:{free_port()}/realms/people/broker/countersign/endpoint"
    client = register(here, "Keycloak", address)
    realm = keycloak(here.server.issuer, client)
    [provider], [mapper] = realm["identityProviders"], realm["identityProviderMappers"]
    settings = provider["config"]
    assert provider["providerId"] == "oidc" and provider["alias"] in address and realm["realm"] in address
    offered = requests.get(f"{here.server.issuer}/.well-known/openid-configuration", timeout=20).json()
    addresses = {
        "issuer": "issuer", "authorizationUrl": "authorization_endpoint", "tokenUrl": "token_endpoint",
        "userInfoUrl": "userinfo_endpoint", "logoutUrl": "end_session_endpoint", "jwksUrl": "jwks_uri"}
    assert {name: settings[name] for name in addresses} == {name: offered[said] for name, said in addresses.items()}
    assert {name for name in settings if name.endswith("Url") and name != "useJwksUrl"} < set(addresses)
    assert settings["clientAuthMethod"] in offered["token_endpoint_auth_methods_supported"]
    assert settings["pkceEnabled"] == "true" and settings["pkceMethod"] in offered["code_challenge_methods_supported"]
    assert settings["defaultScope"] in offered["scopes_supported"]
    assert settings["validateSignature"] == "true" and settings["useJwksUrl"] == "true"
    [claim] = re.findall(r"\$\{CLAIM\.(\w+)\}", mapper["config"]["template"])
    assert mapper["identityProviderAlias"] == provider["alias"] and claim in offered["claims_supported"]
    # What it says is enough for a library of another maker to sign a person in.
    library = OAuth2Session(
        settings["clientId"], settings["clientSecret"], scope=settings["defaultScope"], redirect_uri=address,
        token_endpoint_auth_method=settings["clientAuthMethod"], code_challenge_method=settings["pkceMethod"])
    verifier = secrets.token_urlsafe(48)
    asked, _ = library.create_authorization_url(settings["authorizationUrl"], code_verifier=verifier, nonce="n")
    tokens = library.fetch_token(
        settings["tokenUrl"], code=answered(here, resident, tmp_path, client, **answer_in(asked))["code"],
        code_verifier=verifier)
    _, claims = verified_claims(settings["issuer"], settings["clientId"], tokens["id_token"])
    assert library.get(settings["userInfoUrl"]).json() == {claim: claims[claim], **ROLE}
    assert set(claims) <= OF_A_SIGN_IN
