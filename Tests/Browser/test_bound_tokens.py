"""A relying party of jwcrypto and requests, which pushes its requests (RFC 9126) and proves a key with each (RFC 9449)."""

import base64
import hashlib
import secrets
import time
import urllib.parse

import pytest
import requests
from jwcrypto import jwk, jwt
from test_relying_parties import approve, person, verified_claims, verified_token  # noqa: F401 (a fixture among them)

CALLBACK = "http://127.0.0.1:8097/callback"


class ProvingClient:
    """A client that proves a key as RFC 9449 says, with the nonce that the server gave last."""

    def __init__(self, client_id, secret):
        self.credentials = (client_id, secret)
        self.key = jwk.JWK.generate(kty="EC", crv="P-256")
        self.nonce = None

    def proof(self, method, address, token=None):
        claims = {"htm": method, "htu": address, "iat": int(time.time()), "jti": secrets.token_urlsafe(24)}
        if self.nonce:
            claims["nonce"] = self.nonce
        if token:
            claims["ath"] = base64.urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).rstrip(b"=").decode()
        header = {"typ": "dpop+jwt", "alg": "ES256", "jwk": self.key.export_public(as_dict=True)}
        proof = jwt.JWT(header=header, claims=claims)
        proof.make_signed_token(self.key)
        return proof.serialize()

    def send(self, method, address, token=None, **settings):
        """Asks, and once more where the server wants its nonce in the proof (section 8)."""
        for _ in range(2):
            headers = {"DPoP": self.proof(method, address, token)}
            if token:
                headers["Authorization"] = f"DPoP {token}"
            answer = requests.request(method, address, headers=headers, timeout=20, **settings)
            self.nonce = answer.headers.get("DPoP-Nonce", self.nonce)
            wanted = answer.status_code in (400, 401) and "use_dpop_nonce" in (
                answer.text + answer.headers.get("WWW-Authenticate", "")
            )
            if not wanted:
                break
        return answer

    def post(self, address, **form):
        return self.send("POST", address, data=form, auth=self.credentials)

    @property
    def thumbprint(self):
        return self.key.thumbprint()


@pytest.fixture
def client(deployment):
    client_id, secret = deployment.server.add_client(
        f"Proofs {secrets.token_hex(4)}", CALLBACK,
        options=["--grant-type", "authorization_code", "--grant-type", "refresh_token"],
    )
    return ProvingClient(client_id, secret.read_text().strip())


def pushed_code(metadata, client, browser, lead):
    """What a code is exchanged with, of a request that the client has pushed with its key; `lead` takes the browser on."""
    verifier = secrets.token_urlsafe(48)
    state = secrets.token_urlsafe(24)
    pushed = client.post(
        metadata["pushed_authorization_request_endpoint"],
        response_type="code", redirect_uri=CALLBACK, scope="openid offline_access", state=state,
        nonce=secrets.token_urlsafe(24), code_challenge_method="S256",
        code_challenge=base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode(),
    )
    assert pushed.status_code == 201, pushed.text
    query = urllib.parse.urlencode({"client_id": client.credentials[0], "request_uri": pushed.json()["request_uri"]})
    with pytest.raises(requests.ConnectionError) as nobody_there:
        lead(browser.get(f"{metadata['authorization_endpoint']}?{query}", timeout=20))
    returned = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(nobody_there.value.request.url).query))
    assert returned["state"] == state and returned["iss"] == metadata["issuer"]
    return {
        "grant_type": "authorization_code", "code": returned["code"], "redirect_uri": CALLBACK,
        "code_verifier": verifier,
    }


def test_pushed_requests_and_bound_tokens(deployment, client, person, tmp_path):  # noqa: F811
    issuer = deployment.server.issuer
    metadata = requests.get(f"{issuer}/.well-known/openid-configuration", timeout=20).json()
    browser = requests.Session()
    exchange = pushed_code(
        metadata, client, browser, lambda page: approve(deployment, person, browser, page, tmp_path)
    )
    # The code is bound to the key that pushed the request: with another key it gives nothing, whatever else is right.
    thief = ProvingClient(*client.credentials)
    stolen = pushed_code(metadata, client, browser, lambda page: page)
    assert thief.post(metadata["token_endpoint"], **stolen).json()["error"] == "invalid_grant"
    given = client.post(metadata["token_endpoint"], **exchange)
    assert given.status_code == 200, given.text
    token = given.json()
    assert token["token_type"] == "DPoP"
    verified_claims(issuer, client.credentials[0], token["id_token"])
    header, claims = verified_token(issuer, token["access_token"], iss=issuer, exp=None, jti=None)
    assert header["typ"] == "at+jwt" and claims["cnf"] == {"jkt": client.thumbprint}

    userinfo = client.send("GET", metadata["userinfo_endpoint"], token["access_token"])
    assert userinfo.status_code == 200 and userinfo.json()["sub"] == claims["sub"], userinfo.text
    bearer = {"Authorization": f"Bearer {token['access_token']}"}
    assert requests.get(metadata["userinfo_endpoint"], headers=bearer, timeout=20).status_code == 401
    assert thief.send("GET", metadata["userinfo_endpoint"], token["access_token"]).status_code == 401
    looked_at = requests.post(
        metadata["introspection_endpoint"], data={"token": token["access_token"]}, auth=client.credentials, timeout=20
    ).json()
    assert looked_at["active"] is True and looked_at["token_type"] == "DPoP"
    assert looked_at["cnf"] == {"jkt": client.thumbprint}

    renewal = {"grant_type": "refresh_token", "refresh_token": token["refresh_token"]}
    renewed = client.post(metadata["token_endpoint"], **renewal)
    assert renewed.status_code == 200 and renewed.json()["token_type"] == "DPoP", renewed.text
    last = renewed.json()["refresh_token"]
    revoked = requests.post(
        metadata["revocation_endpoint"], data={"token": last}, auth=client.credentials, timeout=20
    )
    assert revoked.status_code == 200
    ended = client.post(metadata["token_endpoint"], grant_type="refresh_token", refresh_token=last)
    assert ended.json()["error"] == "invalid_grant"
