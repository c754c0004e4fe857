"""Other makers' relying parties, given the discovery address and their credentials, sign a person in.

None is told more than its own required settings: what these programs do by default is what most services do.
"""

import json
import re
import secrets
import threading
import urllib.parse

import flask
import pytest
import requests
from authlib.integrations.base_client import OAuthError as AuthlibError
from authlib.integrations.flask_client import OAuth
from authlib.integrations.requests_client import OAuth2Session as AuthlibSession
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from jwcrypto import jwk, jwt
from oauthlib.oauth2 import DeviceClient, OAuth2Error
from requests_oauthlib import OAuth2Session
from werkzeug.serving import make_server

import apache as apache2
from programs import free_port, png_of_qr_svg, socket_is_open


def approve(deployment, phone, browser, page, folder):
    """Has the phone scan the sign-in page that the browser is at, and gives what the browser is led to."""
    assert page.status_code == 200, page.text
    svg = re.search(r'data-testid="qr-code".*?(<svg.*?</svg>)', page.text, re.S).group(1)
    picture = folder / f"{secrets.token_hex(4)}.png"
    picture.write_bytes(png_of_qr_svg(svg))
    phone.approve(picture).expect(0)
    address = urllib.parse.urlparse(page.url)
    return browser.get(f"{deployment.server.issuer}/sign-in/complete?{address.query}", timeout=20)


def verified_claims(issuer, client_id, token, required=("sub", "nonce")):
    """The claims of an ID token, by a JOSE library that is not ours, with the keys that the provider publishes."""
    return verified_token(issuer, token, iss=issuer, aud=client_id, **dict.fromkeys(required))


def verified_token(issuer, token, **expected):
    """The header and the claims of whatever the provider has signed, which has what is expected."""
    metadata = requests.get(f"{issuer}/.well-known/openid-configuration", timeout=20).json()
    keys = jwk.JWKSet.from_json(requests.get(metadata["jwks_uri"], timeout=20).text)
    checked = jwt.JWT(
        algs=metadata["id_token_signing_alg_values_supported"], check_claims=expected, expected_type="JWS"
    )
    checked.deserialize(token, keys)
    header = checked.token.jose_header
    key = keys.get_key(header["kid"])
    assert key.export_public(as_dict=True)["alg"] == header["alg"]
    return header, json.loads(checked.claims)


@pytest.fixture
def person(deployment):
    """A person with a phone and an e-mail address."""
    phone = deployment.person()
    deployment.server.admin("account", "change", phone.username, "--email", f"{phone.username}@post.example")
    return phone


class WebApplication:
    """A web application on a port of its own."""

    def __init__(self):
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.app = flask.Flask(f"relying-party-{self.port}")
        self.app.secret_key = secrets.token_hex()

    def start(self):
        self.server = make_server("127.0.0.1", self.port, self.app, threaded=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()


@pytest.fixture
def application():
    running = WebApplication()
    yield running
    running.stop()


# Authlib


def authlib_application(application, deployment, *options, **settings):
    client_id, secret = deployment.server.add_client(
        f"Authlib {application.port}", f"{application.origin}/callback", options=options
    )
    serve_authlib(application, deployment, client_id, secret.read_text().strip(), **settings)
    return client_id


def serve_authlib(application, deployment, client_id, secret, methods=(), **settings):
    """An application with Authlib, which authenticates in the library's own ways and in `methods`."""
    provider = OAuth(application.app).register(
        "countersign",
        client_id=client_id,
        client_secret=secret,
        client_auth_methods=list(methods),
        server_metadata_url=f"{deployment.server.issuer}/.well-known/openid-configuration",
        client_kwargs={"scope": "openid email profile", **settings},
    )

    @application.app.get("/login")
    def login():
        return provider.authorize_redirect(f"{application.origin}/callback")

    @application.app.get("/callback")
    def callback():
        if "error" in flask.request.args:
            return dict(flask.request.args)
        token = provider.authorize_access_token()
        return {"token": token["id_token"], "claims": token["userinfo"], "userinfo": provider.userinfo(token=token)}

    application.start()


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "PS256", "EdDSA"])
def test_authlib_without_settings(deployment, application, person, tmp_path, algorithm):
    # RS256 is what a client gets that names nothing.
    named = [] if algorithm == "RS256" else ["--id-token-signed-response-alg", algorithm]
    client_id = authlib_application(application, deployment, *named)
    browser = requests.Session()
    page = browser.get(f"{application.origin}/login", timeout=20)
    answer = approve(deployment, person, browser, page, tmp_path)
    assert answer.url.startswith(application.origin) and answer.status_code == 200, answer.text
    signed_in = answer.json()
    header, claims = verified_claims(deployment.server.issuer, client_id, signed_in["token"])
    assert header["alg"] == algorithm
    assert claims["sub"] == signed_in["claims"]["sub"] == signed_in["userinfo"]["sub"]
    assert signed_in["userinfo"]["preferred_username"] == person.username
    assert signed_in["userinfo"]["email"] == f"{person.username}@post.example"
    assert signed_in["userinfo"]["email_verified"] is False


def test_authlib_renews_looks_at_and_gives_up_its_tokens(deployment, person, tmp_path):
    issuer = deployment.server.issuer
    address = f"http://127.0.0.1:{free_port()}/callback"
    client_id, secret = deployment.server.add_client(
        "Authlib away", address, options=["--grant-type", "authorization_code", "--grant-type", "refresh_token"]
    )
    metadata = requests.get(f"{issuer}/.well-known/openid-configuration", timeout=20).json()
    client = AuthlibSession(
        client_id, secret.read_text().strip(), scope="openid profile offline_access", redirect_uri=address,
        code_challenge_method="S256",
    )
    verifier = secrets.token_urlsafe(48)
    asked, _ = client.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier, nonce="n")
    browser = requests.Session()
    page = browser.get(asked, timeout=20)
    with pytest.raises(requests.ConnectionError) as nobody_there:
        approve(deployment, person, browser, page, tmp_path)
    returned = nobody_there.value.request.url
    first = client.fetch_token(metadata["token_endpoint"], authorization_response=returned, code_verifier=verifier)
    assert first["scope"] == "openid profile offline_access"
    second = client.refresh_token(metadata["token_endpoint"], refresh_token=first["refresh_token"])
    assert second["refresh_token"] != first["refresh_token"] and second["access_token"] != first["access_token"]
    # The sign-in that it goes on with, and no other (OpenID Connect Core 1.0, section 12.2).
    _, signed_in = verified_claims(issuer, client_id, first["id_token"])
    _, renewed = verified_claims(issuer, client_id, second["id_token"], required=["sub"])
    assert "nonce" not in renewed and renewed["auth_time"] == signed_in["auth_time"]
    # The answer was lost: the token before it is good until the new one is used.
    third = client.refresh_token(metadata["token_endpoint"], refresh_token=first["refresh_token"])
    userinfo = client.get(metadata["userinfo_endpoint"])
    assert userinfo.status_code == 200 and userinfo.json()["preferred_username"] == person.username
    looked_at = client.introspect_token(metadata["introspection_endpoint"], token=third["access_token"])
    assert looked_at.json()["active"] is True and looked_at.json()["sub"] == userinfo.json()["sub"]
    given_up = client.revoke_token(metadata["revocation_endpoint"], token=third["refresh_token"])
    assert given_up.status_code == 200
    for token in (first, second, third):
        looked_at = client.introspect_token(metadata["introspection_endpoint"], token=token["access_token"])
        assert looked_at.json() == {"active": False}
    assert client.get(metadata["userinfo_endpoint"]).status_code == 401
    with pytest.raises(AuthlibError) as refused:
        client.refresh_token(metadata["token_endpoint"], refresh_token=third["refresh_token"])
    assert refused.value.error == "invalid_grant"


def test_authlib_with_a_challenge(deployment, application, person, tmp_path):
    authlib_application(application, deployment, code_challenge_method="S256")
    browser = requests.Session()
    page = browser.get(f"{application.origin}/login", timeout=20)
    answer = approve(deployment, person, browser, page, tmp_path)
    assert answer.json()["claims"]["iss"] == deployment.server.issuer
    # The code, and the address with it, are good for one time.
    assert browser.get(answer.url, timeout=20).status_code >= 400


def test_authlib_without_a_person(deployment):
    admin, issuer = deployment.server.admin, deployment.server.issuer
    metadata = requests.get(f"{issuer}/.well-known/openid-configuration", timeout=20).json()
    resource = f"https://api.example/{secrets.token_hex(4)}"
    owner = admin("client", "add", "Accounts", "--resource", resource)
    service = admin(
        "client", "add", "Report", "--grant-type", "client_credentials", "--scope", "accounts.read",
        "--scope", "accounts.write", "--audience", resource,
    )
    client = AuthlibSession(service["clientId"], service["clientSecret"], scope="accounts.read")
    token = client.fetch_token(metadata["token_endpoint"], grant_type="client_credentials", resource=resource)
    assert token["scope"] == "accounts.read" and "refresh_token" not in token
    header, claims = verified_token(issuer, token["access_token"], iss=issuer, aud=resource, exp=None, jti=None)
    assert header["typ"] == "at+jwt" and claims["sub"] == claims["client_id"] == service["clientId"]
    asking = AuthlibSession(owner["clientId"], owner["clientSecret"])
    looked_at = asking.introspect_token(metadata["introspection_endpoint"], token=token["access_token"]).json()
    assert looked_at["active"] is True and looked_at["aud"] == resource and looked_at["scope"] == "accounts.read"
    signed = asking.introspect_token(
        metadata["introspection_endpoint"], token=token["access_token"],
        headers={
            "Accept": "application/token-introspection+jwt", "Content-Type": "application/x-www-form-urlencoded",
        },
    )
    header, claims = verified_token(issuer, signed.text, iss=issuer, aud=owner["clientId"], iat=None)
    assert header["typ"] == "token-introspection+jwt" and claims["token_introspection"] == looked_at
    assert client.revoke_token(metadata["revocation_endpoint"], token=token["access_token"]).status_code == 200
    looked_at = asking.introspect_token(metadata["introspection_endpoint"], token=token["access_token"])
    assert looked_at.json() == {"active": False}
    with pytest.raises(AuthlibError) as refused:
        client.fetch_token(metadata["token_endpoint"], grant_type="client_credentials", resource="urn:other")
    assert refused.value.error == "invalid_target"


@pytest.mark.parametrize("setting", ["at the library", "at the registration"])
def test_authlib_by_a_key(deployment, application, person, tmp_path, setting):
    key = jwk.JWK.generate(kty="RSA", size=2048, kid="bank", use="sig")
    keys = tmp_path / "bank.jwks.json"
    keys.write_text(json.dumps({"keys": [json.loads(key.export_public())]}))
    client = deployment.server.admin(
        "client", "add", f"Authlib by key {application.port}", "--redirect-uri", f"{application.origin}/callback",
        "--auth-method", "private_key_jwt", "--jwks", keys,
        *(["--assertion-audience", "token-endpoint"] if setting == "at the registration" else []),
    )
    assert "clientSecret" not in client
    assert ("warnings" in client) == (setting == "at the registration")
    # The library has the address of the token endpoint for the audience, unless it is told another.
    method = PrivateKeyJWT() if setting == "at the registration" else PrivateKeyJWT(deployment.server.issuer)
    serve_authlib(
        application, deployment, client["clientId"], key.export_to_pem(True, None).decode(),
        [method], token_endpoint_auth_method="private_key_jwt",
    )
    browser = requests.Session()
    page = browser.get(f"{application.origin}/login", timeout=20)
    answer = approve(deployment, person, browser, page, tmp_path)
    assert answer.status_code == 200, answer.text
    assert answer.json()["userinfo"]["preferred_username"] == person.username


def test_oauthlib_on_a_device_without_a_browser(deployment, person, tmp_path):
    issuer = deployment.server.issuer
    grant = "urn:ietf:params:oauth:grant-type:device_code"
    client_id, secret = deployment.server.add_client(
        "Television", "https://tv.example/about", options=["--grant-type", grant, "--id-token-signed-response-alg", "ES256"]
    )
    credentials = (client_id, secret.read_text().strip())
    metadata = requests.get(f"{issuer}/.well-known/openid-configuration", timeout=20).json()
    assert grant in metadata["grant_types_supported"]
    client = DeviceClient(client_id, scope=["openid", "profile"])

    def begin():
        return requests.post(
            metadata["device_authorization_endpoint"], data={"scope": "openid profile"}, auth=credentials, timeout=20
        ).json()

    def ask(code):
        form = client.prepare_request_body(code, include_client_id=False, scope=["openid", "profile"])
        answer = requests.post(
            metadata["token_endpoint"], data=form, auth=credentials, timeout=20,
            headers={"Content-Type": "application/x-www-form-urlencoded"},
        )
        return client.parse_request_body_response(answer.text)

    with pytest.raises(OAuth2Error) as waiting:
        ask(begin()["device_code"])
    assert waiting.value.error == "authorization_pending"
    asked = begin()
    browser = requests.Session()
    page = browser.get(asked["verification_uri_complete"], timeout=20)
    assert asked["user_code"] in page.text
    page = browser.post(asked["verification_uri"], data={"user_code": asked["user_code"]}, timeout=20)
    question = approve(deployment, person, browser, page, tmp_path)
    assert question.status_code == 200 and asked["user_code"] in question.text
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', question.text))
    confirmed = browser.post(f"{issuer}/device/confirm", data=fields, timeout=20)
    assert confirmed.status_code == 200, confirmed.text
    token = ask(asked["device_code"])
    header, claims = verified_claims(issuer, client_id, token["id_token"], required=["sub"])
    assert header["alg"] == "ES256"
    userinfo = requests.get(
        metadata["userinfo_endpoint"], headers={"Authorization": f"Bearer {token['access_token']}"}, timeout=20
    ).json()
    assert userinfo["preferred_username"] == person.username and userinfo["sub"] == claims["sub"]


def test_a_client_that_has_to_send_a_challenge_is_told_of_it(deployment, application):
    client_id = authlib_application(application, deployment, "--pkce", "required")
    answer = requests.Session().get(f"{application.origin}/login", timeout=20)
    assert answer.json()["error"] == "invalid_request"
    assert "--pkce nonce" in answer.json()["error_description"]
    line = next(line for line in (deployment.folder / "server.log").read_text().splitlines() if client_id in line)
    assert "--pkce" in line


# oauthlib, by requests-oauthlib


def test_oauthlib(deployment, person, tmp_path, monkeypatch):
    # It takes no plain http for its own address unless it is told that this is a trial.
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    issuer = deployment.server.issuer
    metadata = requests.get(f"{issuer}/.well-known/openid-configuration", timeout=20).json()
    callback = f"http://127.0.0.1:{free_port()}/callback"
    client_id, secret = deployment.server.add_client(f"oauthlib {callback}", callback)
    client = OAuth2Session(client_id, redirect_uri=callback, scope=["openid", "email"])
    nonce = secrets.token_urlsafe()
    address, _ = client.authorization_url(metadata["authorization_endpoint"], nonce=nonce)
    browser = requests.Session()
    page = browser.get(address, timeout=20)
    with pytest.raises(requests.ConnectionError) as nobody_there:
        approve(deployment, person, browser, page, tmp_path)
    returned = nobody_there.value.request.url
    token = client.fetch_token(
        metadata["token_endpoint"], authorization_response=returned, client_secret=secret.read_text().strip()
    )
    header, claims = verified_claims(issuer, client_id, token["id_token"])
    assert header["alg"] == "RS256" and claims["nonce"] == nonce
    userinfo = client.get(metadata["userinfo_endpoint"], timeout=20).json()
    assert userinfo == {
        "sub": claims["sub"], "email": f"{person.username}@post.example", "email_verified": False,
    }
    with pytest.raises(OAuth2Error):
        client.fetch_token(
            metadata["token_endpoint"], authorization_response=returned, client_secret=secret.read_text().strip()
        )


def test_an_app_without_a_secret(deployment, person, tmp_path, monkeypatch):
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    issuer = deployment.server.issuer
    metadata = requests.get(f"{issuer}/.well-known/openid-configuration", timeout=20).json()
    name = f"App {secrets.token_hex(4)}"
    app = deployment.server.admin(
        "client", "add", name, "--redirect-uri", "http://127.0.0.1/callback", "--auth-method", "none"
    )
    # The port is the one that the system has free.
    callback = f"http://127.0.0.1:{free_port()}/callback"
    client = OAuth2Session(app["clientId"], redirect_uri=callback, scope=["openid"], pkce="S256")
    address, _ = client.authorization_url(metadata["authorization_endpoint"], nonce=secrets.token_urlsafe())
    browser = requests.Session()
    page = browser.get(address, timeout=20)
    with pytest.raises(requests.ConnectionError) as nobody_there:
        approve(deployment, person, browser, page, tmp_path)
    returned = nobody_there.value.request.url
    token = client.fetch_token(
        metadata["token_endpoint"], authorization_response=returned, include_client_id=True
    )
    verified_claims(issuer, app["clientId"], token["id_token"])
    # The browser has a session now, and the person is asked all the same.
    again, _ = client.authorization_url(metadata["authorization_endpoint"], nonce=secrets.token_urlsafe())
    assert 'data-testid="qr-code"' in browser.get(again, timeout=20).text
    with pytest.raises(requests.ConnectionError) as nobody_there:
        browser.get(again + "&prompt=none", timeout=20)
    assert "error=interaction_required" in nobody_there.value.request.url


# mod_auth_openidc, the module of Apache


class Apache:
    """Apache with mod_auth_openidc, as its package gives it, in front of a page that shows who is signed in."""

    MODULES = "mpm_event authn_core authz_core authz_user auth_openidc alias dir headers"

    def __init__(self, folder, issuer, client_id, secret, port, settings):
        self.origin = f"http://127.0.0.1:{port}"
        self.port = port
        self.folder = folder
        (folder / "pages").mkdir()
        (folder / "pages" / "index.html").write_text("the guarded page")
        (folder / "pages" / "left").write_text("you have left")
        self.part = apache2.started(folder, "127.0.0.1", port, self.MODULES, f"""
LogLevel info
DocumentRoot {folder}/pages
OIDCProviderMetadataURL {issuer}/.well-known/openid-configuration
OIDCClientID {client_id}
OIDCClientSecret {secret}
OIDCRedirectURI {self.origin}/signed-in
OIDCCryptoPassphrase {secrets.token_hex()}
OIDCScope "openid email profile"
<Location />
    AuthType openid-connect
    Require valid-user
    Header set X-Person "expr=%{{REMOTE_USER}}"
    Header set X-Email "expr=%{{reqenv:OIDC_CLAIM_email}}"
    Header set X-Token "expr=%{{reqenv:OIDC_id_token}}"
</Location>
<Location /left>
    AuthType None
    Require all granted
</Location>
OIDCPassIDTokenAs serialized
{settings}
""")

    def wait(self):
        self.part.wait_until(lambda: socket_is_open(self.port))

    def stop(self):
        self.part.stop()


@pytest.fixture(params=["as it comes", "with PKCE"])
def apache(request, deployment):
    settings = "OIDCPKCEMethod S256" if request.param == "with PKCE" else ""
    port = free_port()
    left = f"http://127.0.0.1:{port}/left"
    client_id, secret = deployment.server.add_client(
        f"Apache {port}", f"http://127.0.0.1:{port}/signed-in",
        options=["--post-logout-redirect-uri", left],
    )
    with apache2.open_folder() as folder:
        running = Apache(folder, deployment.server.issuer, client_id, secret.read_text().strip(), port, settings)
        running.client_id = client_id
        try:
            running.wait()
            yield running
        finally:
            running.stop()


def test_apache_module(deployment, apache, person, tmp_path):
    browser = requests.Session()
    page = browser.get(f"{apache.origin}/", timeout=20)
    answer = approve(deployment, person, browser, page, tmp_path)
    assert answer.url == f"{apache.origin}/", (apache.folder / "error.log").read_text()
    assert answer.status_code == 200 and answer.text == "the guarded page"
    header, claims = verified_claims(deployment.server.issuer, apache.client_id, answer.headers["X-Token"])
    assert header["alg"] == "RS256"
    assert answer.headers["X-Person"].startswith(claims["sub"])
    assert answer.headers["X-Email"] == f"{person.username}@post.example"
    # The module's own session goes on; another browser is asked.
    assert browser.get(f"{apache.origin}/", timeout=20).text == "the guarded page"
    stranger = requests.get(f"{apache.origin}/", timeout=20)
    assert stranger.url.startswith(deployment.server.issuer)
    # The module leads to the provider's end of the session with its ID token, which asks nobody and leads back.
    left = f"{apache.origin}/left"
    gone = browser.get(f"{apache.origin}/signed-in?{urllib.parse.urlencode({'logout': left})}", timeout=20)
    assert gone.url == left and gone.text == "you have left"
    assert any(answer.headers["Location"].startswith(f"{deployment.server.issuer}/oauth2/logout") for answer in gone.history)
    asked = browser.get(f"{apache.origin}/", timeout=20)
    assert 'data-testid="qr-code"' in asked.text
