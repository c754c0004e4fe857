#!/usr/bin/env python3
"""Verifies a receipt of a confirmed transaction. Needs `cryptography`, and neither the server nor a network.

Usage: verify_receipt.py FILE --content FILE --keys FILE

FILE is a receipt (a compact JWS) or a person's copy (a JSON object). The content is what was confirmed, byte by byte. The
keys are the document that the server shows at /receipts/keys. The first line that is printed is the verdict: `good`,
`needs-trail`, or `refused` with a code. The form of receipts is docs/guides/receipts.md.
"""

import argparse
import base64
import hashlib
import hmac
import json
import pathlib
import re
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

TYPE = "transaction-receipt+jwt"


class Refused(Exception):
    """A receipt that is not good, with the code of the reason."""


def decoded(text, code="receipt-malformed"):
    """The bytes of a text in base64url: one spelling alone, without padding."""
    if not isinstance(text, str) or not re.fullmatch(r"[A-Za-z0-9_-]*", text) or len(text) % 4 == 1:
        raise Refused(code)
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if encoded(data) != text:
        raise Refused(code)
    return data


def encoded(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def once(pairs):
    """An object whose names are all different."""
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a name twice")
    return dict(pairs)


def parsed(data, code="receipt-malformed"):
    try:
        value = json.loads(data, object_pairs_hook=once)
    except (ValueError, RecursionError):
        raise Refused(code) from None
    if not isinstance(value, dict):
        raise Refused(code)
    return value


def member(value, name, kind, code="receipt-malformed"):
    if not isinstance(value, dict) or not isinstance(value.get(name), kind) or isinstance(value.get(name), bool):
        raise Refused(code)
    return value[name]


def public_key(key):
    code = "keys-malformed"
    if "d" in key or member(key, "kty", str, code) != "EC" or member(key, "crv", str, code) != "P-256":
        raise Refused(code)
    x, y = (decoded(member(key, name, str, code), code) for name in ("x", "y"))
    if len(x) != 32 or len(y) != 32:
        raise Refused(code)
    try:
        numbers = ec.EllipticCurvePublicNumbers(int.from_bytes(x, "big"), int.from_bytes(y, "big"), ec.SECP256R1())
        return numbers.public_key()
    except ValueError:
        raise Refused(code) from None


def claims_of(receipt, keys):
    """The claims of a receipt whose signature is right, and the key that signed."""
    parts = receipt.split(".")
    if len(parts) != 3:
        raise Refused("receipt-malformed")
    header, payload, signature = (decoded(part) for part in parts)
    header = parsed(header)
    if "crit" in header:
        raise Refused("receipt-malformed")
    if header.get("typ") != TYPE:
        raise Refused("wrong-type")
    if member(header, "alg", str) != "ES256":
        raise Refused("wrong-algorithm")
    named = [key for key in keys if isinstance(header.get("kid"), str) and key.get("kid") == header["kid"]]
    if not named:
        raise Refused("unknown-key")
    if len(signature) != 64:
        raise Refused("signature-invalid")
    r, s = (int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
    try:
        public_key(named[0]).verify(
            encode_dss_signature(r, s), f"{parts[0]}.{parts[1]}".encode(), ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        raise Refused("signature-invalid") from None
    return parsed(payload), named[0]


def check_evidence(evidence, told):
    """Compares a copy's evidence with the salted hashes of the receipt."""
    if len(evidence) != len(told):
        raise Refused("evidence-differs")
    for opened, hashed in zip(evidence, told):
        for name in ("assertion", "key"):
            salt = decoded(member(opened, name + "_salt", str))
            digest = encoded(hashlib.sha256(salt + decoded(member(opened, name, str))).digest())
            if not hmac.compare_digest(digest, member(hashed, name + "_hash", str)):
                raise Refused("evidence-differs")
        if member(opened, "aaid", str) != member(hashed, "aaid", str):
            raise Refused("evidence-differs")


def verify(file, content, document):
    """Returns the verdict (`good` or `needs-trail`), the claims, and the digest of the receipt. Raises `Refused`."""
    document = parsed(document, "keys-malformed")
    issuer, keys = member(document, "issuer", str, "keys-malformed"), member(document, "keys", list, "keys-malformed")
    for key in keys:
        member(key, "signs_from", int, "keys-malformed")
        public_key(key)
    file, evidence = file.strip(b" \t\r\n"), None
    if file.startswith(b"{"):
        copy = parsed(file)
        receipt, evidence = member(copy, "receipt", str), member(copy, "evidence", list)
    else:
        try:
            receipt = file.decode("ascii")
        except UnicodeDecodeError:
            raise Refused("receipt-malformed") from None
    claims, key = claims_of(receipt, keys)
    if member(claims, "iss", str) != issuer:
        raise Refused("wrong-issuer")
    at = member(claims, "iat", int)
    if at < key["signs_from"] or at > key.get("signs_until", at):
        raise Refused("key-outside-its-time")
    if member(claims, "transaction_hash", str) != encoded(hashlib.sha256(content).digest()):
        raise Refused("content-differs")
    if evidence is not None:
        check_evidence(evidence, member(claims, "evidence", list))
    digest = encoded(hashlib.sha256(receipt.encode()).digest())
    return ("needs-trail" if "seen_since" in key else "good"), claims, digest


def main():
    parser = argparse.ArgumentParser(description="Verifies a receipt of a confirmed transaction.")
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--content", type=pathlib.Path, required=True)
    parser.add_argument("--keys", type=pathlib.Path, required=True)
    options = parser.parse_args()
    try:
        verdict, claims, digest = verify(
            options.file.read_bytes(), options.content.read_bytes(), options.keys.read_bytes())
    except Refused as refusal:
        print(f"refused {refusal}")
        return 1
    print(verdict)
    print(json.dumps({"digest": digest, **claims}, indent=2, ensure_ascii=True))
    return 0 if verdict == "good" else 6


if __name__ == "__main__":
    sys.exit(main())
