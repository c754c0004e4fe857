"""A confirmed transaction leaves a receipt, which a program that shares no code with the server verifies (decision 121)."""

import json
import pathlib
import sys

import pytest
import requests

import programs
from test_confirmed_pictures import BackEnd, base64url

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Examples/Receipts"))

import verify_receipt  # noqa: E402

TEXT = "Pay 120.00 EUR to Jo Gardener"


class Shop(BackEnd):
    """A relying party that keeps the receipts of its customers' orders."""

    def order(self, subject, phone, text=TEXT, word="approve"):
        content = {"contentType": "text/plain", "content": base64url(text.encode())}
        context = json.dumps({"subject": subject, "transaction": [content]})
        dispatched = requests.post(
            f"{self.issuer}/token/dispatch/authentication", auth=self.credentials, timeout=20,
            json={"dispatcher": "link", "getUafRequest": {"op": "Auth", "context": context}}).json()
        if word == "approve":
            phone.approve(dispatched["link"]).expect(0)
        else:
            phone("scan", dispatched["link"], "--deny").expect(1)
        return dispatched["sessionId"]

    def receipt(self, session):
        return requests.get(f"{self.issuer}/receipts/{session}", auth=self.credentials, timeout=20)

    def keys(self):
        return requests.get(f"{self.issuer}/receipts/keys", timeout=20).content


@pytest.fixture
def shop(deployment):
    return Shop(deployment)


@pytest.fixture
def subject(shop, phone, tmp_path):
    return shop.sign_in(phone, tmp_path)


def verdicts(folder, receipt, content, keys):
    """The verdicts of `countersign receipt verify`, and of the program in Python."""
    files = {"receipt.jws": receipt, "content": content, "keys.json": keys}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    _, out, _ = programs.run(
        "countersign", "receipt", "verify", folder / "receipt.jws", "--content", folder / "content", "--keys",
        folder / "keys.json", "--json")
    told = json.loads(out)
    try:
        expected = verify_receipt.verify(receipt, content, keys)[0]
    except verify_receipt.Refused as refusal:
        expected = str(refusal)
    return told.get("code", told["verdict"]), expected


def verdict(*arguments):
    """The verdict of both programs."""
    ours, other = verdicts(*arguments)
    assert ours == other
    return ours


def test_receipt_of_a_confirmed_transaction(shop, subject, phone, tmp_path):
    session = shop.order(subject, phone)
    receipt = shop.receipt(session).json()["receipt"].encode()
    keys = shop.keys()
    assert verdict(tmp_path, receipt + b"\n", TEXT.encode(), keys) == "good"
    _, claims, _ = verify_receipt.verify(receipt, TEXT.encode(), keys)
    assert claims["sub"] == subject and claims["client_id"] == shop.id and claims["session_id"] == session
    assert set(claims["evidence"][0]) == {"aaid", "assertion_hash", "key_hash"}
    # The keys of receipts are in no other document.
    published = requests.get(f"{shop.issuer}/oauth2/jwks", timeout=20).json()["keys"]
    assert not {key["kid"] for key in published} & {key["kid"] for key in json.loads(keys)["keys"]}


def test_refusals(shop, subject, phone, tmp_path):
    receipt = shop.receipt(shop.order(subject, phone)).json()["receipt"].encode()
    keys = shop.keys()
    assert verdict(tmp_path, receipt, b"Pay 920.00 EUR to Jo Gardener", keys) == "content-differs"
    other = json.loads(keys)
    other["issuer"] = "https://other.example"
    assert verdict(tmp_path, receipt, TEXT.encode(), json.dumps(other).encode()) == "wrong-issuer"
    other = json.loads(keys)
    other["keys"][0]["signs_until"] = other["keys"][0]["signs_from"] - 1
    assert verdict(tmp_path, receipt, TEXT.encode(), json.dumps(other).encode()) == "key-outside-its-time"
    other = json.loads(keys)
    other["keys"][0]["seen_since"] = other["keys"][0]["signs_from"]
    assert verdict(tmp_path, receipt, TEXT.encode(), json.dumps(other).encode()) == "needs-trail"
    other["keys"] = []
    assert verdict(tmp_path, receipt, TEXT.encode(), json.dumps(other).encode()) == "unknown-key"
    for position in range(0, len(receipt), 29):
        changed = bytearray(receipt)
        changed[position] ^= 1
        assert not {"good", "needs-trail"} & set(verdicts(tmp_path, bytes(changed), TEXT.encode(), keys)), position


def test_what_nobody_confirmed_leaves_none(shop, subject, phone):
    assert shop.receipt(shop.order(subject, phone, word="deny")).status_code == 404
    assert Shop.receipt(shop, "none").status_code == 404
