#!/usr/bin/env python3
"""Writes vectors made without this product's code, for its server to judge: the other direction of check.py.

Usage: make.py FOLDER
"""

import base64
import datetime
import hashlib
import json
import secrets
import sys
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import NameOID

OUT = Path(sys.argv[1])
APP_ID, FACET, MODEL = "https://bank.example/facets.json", "android:apk-key-hash:Zm9yIHRlc3RzIG9ubHk", "FFFF#E701"
ORDER_OF_P256 = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
ORDER_OF_SECP256K1 = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
P256, SECP256K1 = {1, 2}, {5, 6}
NOW = datetime.datetime(2026, 6, 1, tzinfo=datetime.timezone.utc)


def text(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def item(tag, value):
    return tag.to_bytes(2, "little") + len(value).to_bytes(2, "little") + value


def little(number, size):
    return number.to_bytes(size, "little")


def ecdsa(algorithm, r, s):
    """The two numbers as the algorithm writes them."""
    return r.to_bytes(32, "big") + s.to_bytes(32, "big") if algorithm in (1, 5) else utils.encode_dss_signature(r, s)


def sign(key, algorithm, data, choose=max):
    """`choose` takes one of the two valid values of s. By default the higher: a verifier must take both."""
    if algorithm in P256 | SECP256K1:
        r, s = utils.decode_dss_signature(key.sign(data, ec.ECDSA(hashes.SHA256())))
        order = ORDER_OF_P256 if algorithm in P256 else ORDER_OF_SECP256K1
        return ecdsa(algorithm, r, choose(s, order - s))
    scheme = padding.PSS(padding.MGF1(hashes.SHA256()), 32) if algorithm in (3, 4) else padding.PKCS1v15()
    signature = key.sign(data, scheme, hashes.SHA256())
    return signature if algorithm in (3, 8) else b"\x04\x82\x01\x00" + signature


def public_bytes(key, writing):
    public = key.public_key()
    if writing == "x962-raw":
        return 0x100, public.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    if writing == "x962-der":
        return 0x101, public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if writing == "rsa-raw":
        numbers = public.public_numbers()
        return 0x102, numbers.n.to_bytes(256, "big") + numbers.e.to_bytes(3, "big")
    kind = PublicFormat.PKCS1 if writing == "rsa-pkcs1" else PublicFormat.SubjectPublicKeyInfo
    return 0x103, public.public_bytes(Encoding.DER, kind)


def certificate(subject, issuer, key, signer, *, authority, until=datetime.timedelta(days=3650), aaid=None):
    def name(common):
        return x509.Name([
            x509.NameAttribute(NameOID.COUNTRY_NAME, "CH"), x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Tests"),
            x509.NameAttribute(NameOID.COMMON_NAME, common)])

    builder = (
        x509.CertificateBuilder().subject_name(name(subject)).issuer_name(name(issuer)).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(NOW - datetime.timedelta(days=365))
        .not_valid_after(NOW + until)
        .add_extension(x509.BasicConstraints(authority, None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .add_extension(
            x509.KeyUsage(not authority, False, False, False, False, authority, authority, False, False), critical=True)
    )
    if aaid:
        value = b"\x0c\x09" + aaid.encode()
        builder = builder.add_extension(
            x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.6.1.4.1.45724.1.1.1"), value), critical=False)
    return builder.sign(signer, hashes.SHA256())


def der(*certificates):
    return [one.public_bytes(Encoding.DER) for one in certificates]


def new_key(algorithm):
    if algorithm in SECP256K1:
        return ec.generate_private_key(ec.SECP256K1())
    return ec.generate_private_key(ec.SECP256R1()) if algorithm in P256 else rsa.generate_private_key(65537, 2048)


def statement(algorithm, key_format, attestations, roots=()):
    return {
        "aaid": MODEL, "description": "An authenticator that another program plays", "authenticatorVersion": 2,
        "upv": [{"major": 1, "minor": 0}, {"major": 1, "minor": 1}], "assertionScheme": "UAFV1TLV",
        "authenticationAlgorithm": algorithm, "publicKeyAlgAndEncoding": key_format, "attestationTypes": attestations,
        "userVerificationDetails": [[{"userVerification": 2}], [{"userVerification": 4}]], "keyProtection": 6,
        "matcherProtection": 2, "attachmentHint": 1, "isSecondFactorOnly": False, "tcDisplay": 5,
        "tcDisplayContentType": "text/plain",
        "attestationRootCertificates": [base64.b64encode(root).decode() for root in roots],
    }


def write(name, title, operation, metadata, request, assertion, *, registered=(), status=1200, step=None, facet=FACET):
    """`assertion` makes the TLV from the hash of the parameters."""
    parameters = text(json.dumps({
        "facetID": facet, "appID": APP_ID, "challenge": request["challenge"],
        "channelBinding": {"serverEndPoint": text(bytes(32)), "cid_pubkey": "unused"}}, indent=1).encode())
    tlv = assertion(hashlib.sha256(parameters.encode()).digest())
    header = {**request["header"], "serverData": request["header"]["serverData"]}
    response = [{
        "assertions": [{"assertion": text(tlv), "assertionScheme": "UAFV1TLV"}], "fcParams": parameters, "header": header}]
    expected = {"status": status} | ({"step": step} if step else {})
    vector = {
        "id": name, "title": title, "operation": operation, "expected": expected,
        "server": {
            "metadata": [metadata], "revoked": [], "trustedFacets": [FACET], "time": NOW.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "account": "alice", "registered": list(registered)},
        "request": [request], "response": json.dumps(response, indent=2)}
    (OUT / f"{name}.json").write_text(json.dumps(vector, separators=(",", ":")) + "\n")


def request(operation, criteria, transaction=None):
    made = {
        "header": {"upv": {"major": 1, "minor": 1}, "op": operation, "appID": APP_ID,
                   "serverData": text(secrets.token_bytes(40))},
        "challenge": text(secrets.token_bytes(48)), "policy": {"accepted": criteria}}
    if operation == "Reg":
        made["username"] = "alice"
    if transaction:
        made["transaction"] = [{"contentType": "text/plain", "content": text(transaction)}]
    return made


def registration(
        key, algorithm, writing, *, attest=None, certificates=(), extra=b"", surrogate=True, public=None,
        signature_of=None):
    """`public` and `signature_of` make the key's bytes and the signature in the place of the right ones."""
    key_format, right = public_bytes(key, writing)
    public = public(right) if public else right
    key_id = secrets.token_bytes(40)

    def make(parameters_hash):
        # Not the order of the standard's list; a User Verification Index and State among the items.
        krd = item(0x3E03, (
            item(0x2E0C, public) + item(0x0104, secrets.token_bytes(32)) + item(0x2E0A, parameters_hash)
            + item(0x2E0D, little(0, 4) + little(4711, 4)) + extra + item(0x2E09, key_id)
            + item(0x2E0E, little(3, 2) + b"\x01" + little(algorithm, 2) + little(key_format, 2))
            + item(0x0106, secrets.token_bytes(16)) + item(0x2E0B, MODEL.lower().encode())))
        signature = item(0x2E06, (signature_of or sign)(attest or key, algorithm, krd))
        proof = item(0x3E08, signature) if surrogate else item(
            0x3E07, b"".join(item(0x2E05, one) for one in certificates) + signature)
        return item(0x3E01, krd + proof)

    return key_format, key_id, make


def authentication(key, algorithm, key_id, *, content=b"", counter=2**31, signer=None, signature_of=None):
    def make(parameters_hash):
        signed = item(0x3E04, (
            item(0x2E09, key_id) + item(0x2E0D, little(counter, 4)) + item(0x0F01, b"a tag that may be skipped")
            + item(0x2E10, hashlib.sha256(content).digest() if content else b"") + item(0x2E0A, parameters_hash)
            + item(0x2E0F, secrets.token_bytes(8)) + item(0x2E0B, MODEL.encode())
            + item(0x2E0E, little(3, 2) + (b"\x02" if content else b"\x01") + little(algorithm, 2))))
        return item(0x3E02, signed + item(0x2E06, (signature_of or sign)(signer or key, algorithm, signed)))

    return make


def registered(key, algorithm, writing, key_id, counter=0):
    key_format, public = public_bytes(key, writing)
    return {"aaid": MODEL, "keyID": text(key_id), "publicKey": text(public), "publicKeyFormat": key_format,
            "signatureAlgorithm": algorithm, "signCounter": counter, "account": "alice"}


ANYTHING = [[{"userVerification": 1023, "authenticationAlgorithms": [1, 2, 3, 4, 5, 6, 8, 9], "assertionSchemes": ["UAFV1TLV"]}]]
NAMES = {1: "p256-raw", 2: "p256-der", 3: "pss-raw", 4: "pss-der", 5: "secp256k1-raw", 6: "secp256k1-der",
         8: "pkcs1-raw", 9: "pkcs1-der"}
WRITINGS = {1: "x962-der", 2: "x962-raw", 3: "rsa-spki", 4: "rsa-raw", 5: "x962-der", 6: "x962-raw", 8: "rsa-pkcs1",
            9: "rsa-spki"}


def changed(data, place):
    """`data` with a bit of one byte changed."""
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1:] if place >= 0 else changed(data, len(data) + place)


def numbers_in_place(choose):
    """A signature with the two numbers that `choose` makes of the right ones and the group's order."""
    def signature(key, algorithm, data):
        pair = utils.decode_dss_signature(key.sign(data, ec.ECDSA(hashes.SHA256())))
        return ecdsa(algorithm, *choose(*pair, ORDER_OF_SECP256K1))
    return signature


# Signatures on secp256k1 that are not right, each by what makes it.
BAD_SIGNATURES = {
    "broken": ("a changed bit", lambda key, algorithm, data: changed(sign(key, algorithm, data), -1)),
    "zero-r": ("0 for r", numbers_in_place(lambda r, s, n: (0, s))),
    "zero-s": ("0 for s", numbers_in_place(lambda r, s, n: (r, 0))),
    "order-r": ("the group's order for r", numbers_in_place(lambda r, s, n: (n, s))),
    "order-s": ("the group's order for s", numbers_in_place(lambda r, s, n: (r, n))),
    "over-s": ("s and the group's order, as far as 32 bytes hold it",
               numbers_in_place(lambda r, s, n: (r, min(s + n, 2**256 - 1)))),
    "long": ("a byte behind", lambda key, algorithm, data: sign(key, algorithm, data) + b"\0"),
    "short": ("without its last byte", lambda key, algorithm, data: sign(key, algorithm, data)[:-1]),
    "other-encoding": ("in the sibling's encoding", lambda key, algorithm, data: sign(key, 11 - algorithm, data)),
    "other-bytes": ("over other bytes", lambda key, algorithm, data: sign(key, algorithm, data + b"\0")),
    "other-curve": ("by a key on P-256", lambda key, algorithm, data: sign(new_key(1), 1 if algorithm == 5 else 2, data)),
}
# Keys on secp256k1 that are none, by their bytes as X9.62 has them.
BAD_KEYS = {
    "off-curve": ("a point that is not on the curve", lambda point: changed(point, -1)),
    "infinity": ("the point at infinity", lambda point: b"\0"),
    "zeros": ("zeros for both numbers", lambda point: b"\4" + bytes(64)),
    "hybrid": ("a point in the hybrid form", lambda point: bytes([6 + point[-1] % 2]) + point[1:]),
    "compressed": ("a compressed point", lambda point: bytes([2 + point[-1] % 2]) + point[1:33]),
    "other-curve": ("a key on P-256", lambda point: public_bytes(new_key(1), "x962-raw")[1]),
}


def secp256k1():
    """What is wrong with keys and signatures on secp256k1, and what is not: our own vectors have no such keys."""
    for algorithm in sorted(SECP256K1):
        key, name = new_key(algorithm), NAMES[algorithm]
        for writing in ("x962-raw", "x962-der"):
            for choose in (min, max):
                def chosen(key, algorithm, data, choose=choose):
                    return sign(key, algorithm, data, choose)

                end = f"{name}-{writing}-{'low' if choose is min else 'high'}-s"
                title = f"{name}, key {writing}: the {'lower' if choose is min else 'higher'} s"
                key_format, key_id, make = registration(key, algorithm, writing, signature_of=chosen)
                write(f"reg-{end}", f"{title}, registration", "Reg", statement(algorithm, key_format, [0x3E08]),
                      request("Reg", ANYTHING), make)
                write(f"auth-{end}", f"{title}, authentication", "Auth", statement(algorithm, key_format, [0x3E08]),
                      request("Auth", [[{"aaid": [MODEL], "keyIDs": [text(key_id)]}]]),
                      authentication(key, algorithm, key_id, signature_of=chosen),
                      registered=[registered(key, algorithm, writing, key_id)])
        key_format, key_id, _ = registration(key, algorithm, "x962-raw")
        for kind, (title, bad) in BAD_SIGNATURES.items():
            write(f"auth-{name}-{kind}", f"{name}: a signature, {title}", "Auth",
                  statement(algorithm, key_format, [0x3E08]),
                  request("Auth", [[{"aaid": [MODEL], "keyIDs": [text(key_id)]}]]),
                  authentication(key, algorithm, key_id, signature_of=bad),
                  registered=[registered(key, algorithm, "x962-raw", key_id)], status=1498, step="signature")
            _, _, make = registration(key, algorithm, "x962-raw", signature_of=bad)
            write(f"reg-{name}-{kind}", f"{name}: a surrogate attestation, {title}", "Reg",
                  statement(algorithm, key_format, [0x3E08]), request("Reg", ANYTHING), make, status=1496,
                  step="attestation")
        for kind, (title, bad) in BAD_KEYS.items():
            _, _, make = registration(key, algorithm, "x962-raw", public=bad)
            write(f"reg-{name}-key-{kind}", f"{name}: {title}", "Reg", statement(algorithm, key_format, [0x3E08]),
                  request("Reg", ANYTHING), make, status=1494, step="publicKey")


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for algorithm, writing in WRITINGS.items():
        key, name = new_key(algorithm), NAMES[algorithm]
        key_format, key_id, make = registration(key, algorithm, writing)
        write(f"reg-{name}", f"{name}: registration, free order, UVI and UVS", "Reg",
              statement(algorithm, key_format, [0x3E08]), request("Reg", ANYTHING), make)
        stored = registered(key, algorithm, writing, key_id)
        criteria = [[{"aaid": [MODEL], "keyIDs": [text(key_id)]}]]
        write(f"auth-{name}", f"{name}: authentication with a counter above 2^31", "Auth",
              statement(algorithm, key_format, [0x3E08]), request("Auth", criteria),
              authentication(key, algorithm, key_id), registered=[stored])
        content = "Überweisung 7.50 CHF".encode()
        write(f"auth-{name}-transaction", f"{name}: a transaction", "Auth",
              statement(algorithm, key_format, [0x3E08]), request("Auth", criteria, content),
              authentication(key, algorithm, key_id, content=content), registered=[stored])
        write(f"auth-{name}-other-key", f"{name}: another key signed", "Auth",
              statement(algorithm, key_format, [0x3E08]), request("Auth", criteria),
              authentication(key, algorithm, key_id, signer=new_key(algorithm)), registered=[stored],
              status=1498, step="signature")

    secp256k1()

    # Attestation: three certificates with key identifiers, the leaf as its own anchor, and what must be refused. The
    # authorities of a model with keys on secp256k1 have such keys too.
    for algorithm in (1, 6, 9):
        name, writing = NAMES[algorithm], WRITINGS[algorithm]
        of_authorities = 6 if algorithm in SECP256K1 else 1
        root_key, middle_key, lower_key, leaf_key = (new_key(of_authorities) for _ in range(3)), None, None, new_key(algorithm)
        root_key, middle_key, lower_key = root_key
        root = certificate("Root", "Root", root_key, root_key, authority=True)
        middle = certificate("Middle", "Root", middle_key, root_key, authority=True)
        lower = certificate("Lower", "Middle", lower_key, middle_key, authority=True)
        leaf = certificate("Leaf", "Lower", leaf_key, lower_key, authority=False, aaid=MODEL)
        key = new_key(algorithm)

        def full(kind, title, chain, roots, *, attest=leaf_key, status=1200, extra=b"", step="attestation"):
            key_format, _, make = registration(
                key, algorithm, writing, attest=attest, certificates=chain, extra=extra, surrogate=False)
            write(f"reg-{name}-{kind}", f"{name}: {title}", "Reg", statement(algorithm, key_format, [0x3E07], roots),
                  request("Reg", ANYTHING), make, status=status, step=None if status == 1200 else step)

        full("long-chain", "leaf, two authorities, root", der(leaf, lower, middle), der(root))
        full("leaf-is-root", "the metadata lists the leaf itself", der(leaf), der(leaf))
        full("with-root", "the chain ends with the root itself", der(leaf, lower, middle, root), der(root))
        full("gap", "an authority is missing", der(leaf, middle), der(root), status=1496)
        full("signed-by-user-key", "signed by the new key", der(leaf, lower, middle), der(root), attest=key, status=1496)
        old = certificate("Leaf", "Lower", leaf_key, lower_key, authority=False, until=datetime.timedelta(days=-1))
        forged = certificate("Leaf", "Lower", leaf_key, new_key(of_authorities), authority=False, aaid=MODEL)
        full("forged-leaf", "a leaf that another key signed", der(forged, lower, middle), der(root), status=1496)
        full("expired", "an expired leaf", der(old, lower, middle), der(root), status=1496)
        full("critical-extension", "an unknown critical extension", der(leaf, lower, middle), der(root),
             extra=item(0x3E11, item(0x2E13, b"com.example.must") + item(0x2E14, b"")), status=1498,
             step="assertionExtensions")
    print(f"{len(list(OUT.glob('*.json')))} vectors")


if __name__ == "__main__":
    main()
