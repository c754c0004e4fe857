"""Another maker's relying party: Authlib signs a person in, from discovery to user information."""

import re
import threading
import urllib.parse

import flask
import pytest
import requests
from authlib.integrations.flask_client import OAuth
from werkzeug.serving import make_server

from programs import free_port, png_of_qr_svg


class RelyingParty:
    """A small web application that knows Authlib, the discovery address and its credentials."""

    def __init__(self, issuer, client_id, client_secret, port):
        self.app = flask.Flask("relying-party")
        self.app.secret_key = "for the cookies of one test"
        provider = OAuth(self.app).register(
            "countersign",
            client_id=client_id,
            client_secret=client_secret,
            server_metadata_url=f"{issuer}/.well-known/openid-configuration",
            client_kwargs={"scope": "openid profile", "code_challenge_method": "S256"},
        )
        self.origin = f"http://127.0.0.1:{port}"

        @self.app.get("/login")
        def login():
            return provider.authorize_redirect(f"{self.origin}/callback")

        @self.app.get("/callback")
        def callback():
            token = provider.authorize_access_token()
            return {"claims": token["userinfo"], "userinfo": provider.userinfo(token=token), "type": token["token_type"]}

        self.server = make_server("127.0.0.1", port, self.app, threaded=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def relying_party(deployment):
    port = free_port()
    client_id, secret = deployment.server.add_client(f"Authlib {port}", f"http://127.0.0.1:{port}/callback")
    party = RelyingParty(deployment.server.issuer, client_id, secret.read_text().strip(), port)
    yield party
    party.server.shutdown()


def test_authlib_signs_in(deployment, relying_party, phone, tmp_path):
    browser = requests.Session()
    page = browser.get(f"{relying_party.origin}/login", timeout=20)
    assert page.status_code == 200
    svg = re.search(r'data-testid="qr-code".*?(<svg.*?</svg>)', page.text, re.S).group(1)
    picture = tmp_path / "code.png"
    picture.write_bytes(png_of_qr_svg(svg))
    run = phone.approve(picture).expect(0)
    assert run["request"]["origin"] == relying_party.origin

    address = urllib.parse.urlparse(page.url)
    answer = browser.get(f"{deployment.server.issuer}/sign-in/complete?{address.query}", timeout=20)
    assert answer.url.startswith(relying_party.origin)
    signed_in = answer.json()
    assert signed_in["claims"]["iss"] == deployment.server.issuer
    assert signed_in["claims"]["sub"] == signed_in["userinfo"]["sub"]
    assert signed_in["type"] == "Bearer"

    # The code, and the address with it, are good for one time.
    assert browser.get(answer.url, timeout=20).status_code >= 400
