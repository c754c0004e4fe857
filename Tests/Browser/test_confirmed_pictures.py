"""A relying party has a picture confirmed: dispatched, shown, signed by its hash, and told so."""

import base64
import hashlib
import json
import re
import secrets
import struct
import urllib.parse
import zlib

import pytest
import requests
from jwcrypto import jwk, jwt

from programs import png_of_qr_svg

REDIRECT = "http://127.0.0.1:9/in"
# What the terminal phone shows: 80 by 64 points, black or white.
KIND = {"width": 80, "height": 64, "bitDepth": 1, "colorType": 0, "compression": 0, "filter": 0, "interlace": 0}


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def chunk(name, content):
    checksum = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)


def picture(width=80, height=64, depth=1, color=0, interlace=0, more=b"", noise=b""):
    """A PNG file, with a frame of white points on black."""
    line = (width * depth * {0: 1, 2: 3, 4: 2, 6: 4}[color] + 7) // 8
    rows = [b"\xff" * line if row in (0, height - 1) else b"\x80" + bytes(line - 2) + b"\x01" for row in range(height)]
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlace)
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + more + (chunk(b"teXt", noise) if noise else b"")
        + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    )


class BackEnd:
    """A relying party without a browser: it signs a person in, and dispatches for them."""

    def __init__(self, deployment):
        self.issuer = deployment.server.issuer
        name = f"Gallery {secrets.token_hex(3)}"
        self.id, secret = deployment.server.add_client(name, REDIRECT, options=("--id-token-signed-response-alg", "ES256"))
        self.credentials = (self.id, secret.read_text().strip())

    def sign_in(self, phone, folder):
        """The name by which the person is known here."""
        session, verifier = requests.Session(), secrets.token_urlsafe(48)
        query = {
            "response_type": "code", "client_id": self.id, "redirect_uri": REDIRECT, "scope": "openid", "state": "s",
            "code_challenge": base64url(hashlib.sha256(verifier.encode()).digest()), "code_challenge_method": "S256",
        }
        page = session.get(f"{self.issuer}/oauth2/authorize", params=query, timeout=20)
        code = folder / "code.png"
        code.write_bytes(png_of_qr_svg(re.search(r'data-testid="qr-code".*?(<svg.*?</svg>)', page.text, re.S).group(1)))
        phone.approve(code).expect(0)
        address = urllib.parse.urlparse(page.url)
        end = session.get(f"{self.issuer}/sign-in/complete?{address.query}", allow_redirects=False, timeout=20)
        given = urllib.parse.parse_qs(urllib.parse.urlparse(end.headers["Location"]).query)
        form = {
            "grant_type": "authorization_code", "code": given["code"][0], "redirect_uri": REDIRECT,
            "code_verifier": verifier,
        }
        answer = requests.post(f"{self.issuer}/oauth2/token", data=form, auth=self.credentials, timeout=20)
        return self.claims(answer.json()["id_token"])["sub"]

    def claims(self, token):
        """What the server has signed, verified with the keys that it publishes."""
        keys = jwk.JWKSet.from_json(requests.get(f"{self.issuer}/oauth2/jwks", timeout=20).text)
        checked = jwt.JWT(algs=["ES256"], check_claims={"aud": self.id}, expected_type="JWS")
        checked.deserialize(token, keys)
        return json.loads(checked.claims)

    def dispatch(self, subject, content, characteristics=None, **more):
        transaction = {"contentType": "image/png", "content": base64url(content)}
        if characteristics:
            transaction["tcDisplayPNGCharacteristics"] = characteristics
        context = {"subject": subject, "transaction": [transaction], **more}
        body = {"dispatcher": "link-png-qr-code", "getUafRequest": {"op": "Auth", "context": json.dumps(context)}}
        return requests.post(
            f"{self.issuer}/token/dispatch/authentication", json=body, auth=self.credentials, timeout=20)

    def status(self, session):
        return requests.post(
            f"{self.issuer}/status", json={"sessionId": session}, auth=self.credentials, timeout=20).json()


@pytest.fixture
def back_end(deployment):
    return BackEnd(deployment)


@pytest.fixture
def subject(back_end, phone, tmp_path):
    return back_end.sign_in(phone, tmp_path)


def test_picture_from_dispatch_to_result(back_end, subject, phone):
    content = picture()
    dispatched = back_end.dispatch(subject, content).json()
    assert dispatched["dispatchResult"] == "dispatched"
    assert dispatched["transaction"] == [
        {"contentType": "image/png", "content": base64url(content), "tcDisplayPNGCharacteristics": KIND}]
    run = phone.approve(dispatched["link"]).expect(0)
    hashed = base64url(hashlib.sha256(content).digest())
    assert run["request"]["picture"] == {"width": 80, "height": 64, "sha256": hashed}
    assert "transaction" not in run["request"]
    status = back_end.status(dispatched["sessionId"])
    assert status["status"] == "succeeded"
    result = back_end.claims(status["result"])
    assert result["transaction_hash"] == hashed
    assert result["transaction_content_type"] == "image/png"
    assert result["sub"] == subject


def test_picture_that_the_person_declines(back_end, subject, phone):
    dispatched = back_end.dispatch(subject, picture(), KIND).json()
    phone("scan", dispatched["link"], "--deny").expect(1)
    status = back_end.status(dispatched["sessionId"])
    assert status["status"] == "failed" and "result" not in status


WHOLE = picture()
REFUSED = {
    "truncated": WHOLE[:-5],
    "without an end": WHOLE[:-12],
    "one bit flipped": WHOLE[:60] + bytes([WHOLE[60] ^ 1]) + WHOLE[61:],
    "its size flipped": WHOLE[:19] + bytes([WHOLE[19] ^ 1]) + WHOLE[20:],
    "something behind it": WHOLE + b"x",
    "animated": picture(more=chunk(b"acTL", struct.pack(">II", 1, 0))),
    "interlaced": picture(interlace=1),
    "a critical chunk of its own": picture(more=chunk(b"ABCD", b"")),
    "an impossible bit depth": picture(depth=3),
    "too large": picture(noise=bytes(25_000)),
    "too wide": picture(width=4096, height=1),
    "no picture": b"GIF89a" + WHOLE,
}


@pytest.mark.parametrize("damage", REFUSED)
def test_picture_that_is_none(back_end, damage, phone):
    answer = back_end.dispatch("somebody", REFUSED[damage])
    assert answer.status_code == 400
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["type"] == "urn:countersign:error:invalid-picture"


def test_picture_that_is_said_to_be_another(back_end, phone):
    answer = back_end.dispatch("somebody", WHOLE, {**KIND, "width": 81})
    assert answer.status_code == 400
    assert answer.json()["type"] == "urn:countersign:error:invalid-picture"


@pytest.mark.parametrize(
    "other", [{"width": 81}, {"height": 63}, {"depth": 8}, {"depth": 8, "color": 2}, {"depth": 8, "color": 4}])
def test_picture_that_no_authenticator_shows(back_end, subject, other):
    answer = back_end.dispatch(subject, picture(**other))
    assert answer.status_code == 422
    problem = answer.json()
    assert problem["type"] == "urn:countersign:error:picture-not-shown"
    assert problem["displays"] == [KIND], "the relying party learns what it can draw"


def test_picture_beside_something_else(back_end, subject):
    payment = {
        "amount": "1.00", "currency": "EUR", "payee": "Jo Gardener", "iban": "DE89370400440532013000"}
    answer = back_end.dispatch(subject, WHOLE, payment=payment)
    assert answer.status_code == 400
    assert answer.json()["type"] == "urn:countersign:error:invalid-request"
