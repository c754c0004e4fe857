#!/usr/bin/env python3
"""A second judge of the test vectors, which shares no code with this product.

It reads messages, TLV, keys, signatures, certificates and policies by itself (the cryptography is that of `cryptography`)
and gives each vector a verdict by the server's rules of UAF 1.1. The verdict must be the one that the vector names.

Usage: check.py [--report FILE] FOLDER…      the last line counts: N passed, N failed
"""

import argparse
import base64
import datetime
import hashlib
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
from cryptography.hazmat.primitives.serialization import load_der_public_key

REGISTRATION, AUTHENTICATION, KRD, SIGNED_DATA = 0x3E01, 0x3E02, 0x3E03, 0x3E04
CERTIFICATE, SIGNATURE, FULL, SURROGATE, ECDAA = 0x2E05, 0x2E06, 0x3E07, 0x3E08, 0x3E09
KEY_ID, HASH, AAID, PUBLIC_KEY, COUNTERS, INFO = 0x2E09, 0x2E0A, 0x2E0B, 0x2E0C, 0x2E0D, 0x2E0E
NONCE, CONTENT_HASH, CRITICAL_EXTENSION, EXTENSION, EXTENSION_ID, EXTENSION_DATA = (
    0x2E0F, 0x2E10, 0x3E11, 0x3E12, 0x2E13, 0x2E14)
USER_VERIFICATION_INDEX, USER_VERIFICATION_STATE = 0x0104, 0x0106
AAID_EXTENSION = x509.ObjectIdentifier("1.3.6.1.4.1.45724.1.1.1")
KNOWN_EXTENSIONS = {"fido.uaf.uvm"}
ALL, NONE = 0x400, 0x200


class Refused(Exception):
    """A verdict other than 1200."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


def need(condition, status, reason):
    if not condition:
        raise Refused(status, reason)


# MARK: - Texts

def strict_object(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names) or any(value is None for _, value in pairs):
        raise ValueError("a name twice, or null")
    return dict(pairs)


def parse_json(text):
    return json.loads(text, object_pairs_hook=strict_object)


def decode(text, status, name):
    """Base64url without padding, in its one spelling."""
    need(isinstance(text, str) and re.fullmatch(r"[A-Za-z0-9_-]*", text) and len(text) % 4 != 1, status, name)
    value = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    need(base64.urlsafe_b64encode(value).decode().rstrip("=") == text, status, name)
    return value


def member(dictionary, name, kind):
    need(isinstance(dictionary, dict) and isinstance(dictionary.get(name), kind), 1400, name)
    return dictionary[name]


# MARK: - TLV

def items(data):
    """Tag, value and the whole item, one after another, to the last byte."""
    found = []
    while data:
        need(len(data) >= 4, 1498, "a truncated head")
        tag, length = int.from_bytes(data[:2], "little"), int.from_bytes(data[2:4], "little")
        need(len(data) >= 4 + length, 1498, f"truncated {tag:04X}")
        found.append((tag, data[4:4 + length], data[:4 + length]))
        data = data[4 + length:]
    return found


def composite(data, single, repeatable=()):
    """The values by tag; of repeatable ones a list."""
    values = {tag: [] for tag in repeatable}
    for tag, value, _ in items(data):
        if tag in single:
            need(tag not in values, 1498, f"{tag:04X} twice")
            values[tag] = value
        elif tag in repeatable:
            values[tag].append(value)
        else:
            need(not tag & 0x2000, 1498, f"unknown critical {tag:04X}")
    return values


def field(values, tag, lengths):
    need(tag in values, 1498, f"no {tag:04X}")
    need(len(values[tag]) in lengths, 1498, f"{tag:04X} of {len(values[tag])} bytes")
    return values[tag]


def number(data):
    return int.from_bytes(data, "little")


def extensions(values):
    found = []
    for tag in (CRITICAL_EXTENSION, EXTENSION):
        for value in values[tag]:
            parts = composite(value, {EXTENSION_ID, EXTENSION_DATA})
            need(EXTENSION_ID in parts and EXTENSION_DATA in parts, 1498, "an extension without its parts")
            found.append((tag == CRITICAL_EXTENSION, parts[EXTENSION_ID].decode()))
    return found


BOTH_EXTENSIONS = (CRITICAL_EXTENSION, EXTENSION)
VERIFICATION_TAGS = {USER_VERIFICATION_INDEX, USER_VERIFICATION_STATE}


def read_assertion(data, root_tag, data_tag, single):
    """The items beside the signed data, and the signed data itself with its head."""
    roots = items(data)
    need(len(roots) == 1 and roots[0][0] == root_tag, 1498, "not one assertion of this operation")
    inner = items(roots[0][1])
    need(inner and inner[0][0] == data_tag, 1498, "the signed data is not the first item")
    rest = roots[0][1][len(inner[0][2]):]
    return inner[0][1], inner[0][2], composite(rest, single, BOTH_EXTENSIONS)


def read_registration(data):
    value, signed, others = read_assertion(data, REGISTRATION, KRD, {FULL, SURROGATE, ECDAA})
    fields = composite(value, {AAID, INFO, HASH, KEY_ID, COUNTERS, PUBLIC_KEY} | VERIFICATION_TAGS, BOTH_EXTENSIONS)
    info, counters = field(fields, INFO, {7}), field(fields, COUNTERS, {8})
    kinds = [tag for tag in (FULL, SURROGATE, ECDAA) if tag in others]
    need(len(kinds) == 1, 1498, "not one attestation")
    parts = composite(others[kinds[0]], {SIGNATURE}, (CERTIFICATE,) if kinds[0] == FULL else ())
    need(parts.get(SIGNATURE), 1498, "no signature")
    need(kinds[0] != FULL or parts[CERTIFICATE], 1498, "no certificate")
    return {
        "aaid": aaid(field(fields, AAID, {9})), "version": number(info[:2]), "mode": info[2],
        "algorithm": number(info[3:5]), "format": number(info[5:7]), "hash": field(fields, HASH, {32}),
        "keyID": field(fields, KEY_ID, range(32, 2049)), "counter": number(counters[:4]),
        "publicKey": field(fields, PUBLIC_KEY, range(1, 1025)), "signed": signed,
        "extensions": extensions(fields) + extensions(others), "attestation": kinds[0],
        "signature": parts[SIGNATURE], "certificates": parts.get(CERTIFICATE, []),
    }


def read_authentication(data):
    value, signed, others = read_assertion(data, AUTHENTICATION, SIGNED_DATA, {SIGNATURE})
    fields = composite(
        value, {AAID, INFO, NONCE, HASH, CONTENT_HASH, KEY_ID, COUNTERS} | VERIFICATION_TAGS, BOTH_EXTENSIONS)
    info = field(fields, INFO, {5})
    field(fields, NONCE, range(8, 1025))
    need(others.get(SIGNATURE), 1498, "no signature")
    return {
        "aaid": aaid(field(fields, AAID, {9})), "version": number(info[:2]), "mode": info[2],
        "algorithm": number(info[3:5]), "hash": field(fields, HASH, {32}),
        "contentHash": field(fields, CONTENT_HASH, {0, 32}), "keyID": field(fields, KEY_ID, range(32, 2049)),
        "counter": number(field(fields, COUNTERS, {4})), "signed": signed,
        "extensions": extensions(fields) + extensions(others), "signature": others[SIGNATURE],
    }


def aaid(data):
    text = data.decode("ascii", "replace").upper()
    need(re.fullmatch(r"[0-9A-F]{4}#[0-9A-F]{4}", text), 1498, "no AAID")
    return text


# MARK: - Keys and signatures

ECDSA, PSS, PKCS1 = {1, 2}, {3, 4}, {8, 9}
FORMATS = {**{algorithm: {0x100, 0x101} for algorithm in ECDSA}, **{algorithm: {0x102, 0x103} for algorithm in PSS | PKCS1}}


def public_key(data, key_format):
    """A key of the registry's format, or a refusal with 1494."""
    try:
        if key_format in (0x100, 0x101):
            if key_format == 0x101:
                key = load_der_public_key(data)
                need(isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1), 1494, "curve")
                return key
            need(len(data) == 65 and data[0] == 4, 1494, "no uncompressed point")
            return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), data)
        if key_format == 0x102:
            numbers = rsa.RSAPublicNumbers(int.from_bytes(data[256:], "big"), int.from_bytes(data[:256], "big"))
        elif key_format == 0x103:
            # PKCS #1, or SubjectPublicKeyInfo in its place.
            key = load_der_public_key(data)
            need(isinstance(key, rsa.RSAPublicKey), 1494, "not RSA")
            numbers = key.public_numbers()
        else:
            raise Refused(1494, f"format {key_format}")
        need(numbers.n.bit_length() == 2048 and numbers.e % 2 == 1 and numbers.e >= 65537, 1494, "size or exponent")
        return numbers.public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise Refused(1494, str(error)) from error


def verifies(key, algorithm, signature, data):
    """Whether a signature in the encoding of `algorithm` is the key's."""
    try:
        if algorithm in ECDSA:
            if not isinstance(key, ec.EllipticCurvePublicKey):
                return False
            if algorithm == 1:
                if len(signature) != 64:
                    return False
                numbers = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
                signature = utils.encode_dss_signature(*numbers)
            elif utils.encode_dss_signature(*utils.decode_dss_signature(signature)) != signature:
                return False
            key.verify(signature, data, ec.ECDSA(hashes.SHA256()))
            return True
        if not isinstance(key, rsa.RSAPublicKey):
            return False
        if algorithm in (4, 9):
            if signature[:4] != b"\x04\x82\x01\x00":
                return False
            signature = signature[4:]
        if len(signature) != 256:
            return False
        scheme = padding.PSS(padding.MGF1(hashes.SHA256()), 32) if algorithm in PSS else padding.PKCS1v15()
        key.verify(signature, data, scheme, hashes.SHA256())
        return True
    except (InvalidSignature, ValueError):
        return False


def is_authority(certificate):
    try:
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
        return constraints.ca
    except x509.ExtensionNotFound:
        return False


def leaf_key(chain, roots, model, now):
    """The attestation key at the end of a chain to one of the roots (RFC 5280, as far as UAF needs it)."""
    try:
        certificates = [x509.load_der_x509_certificate(data) for data in chain]
        anchors = [x509.load_der_x509_certificate(base64.b64decode(root)) for root in roots]
        for certificate in certificates:
            need(certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc, 1496, "validity")
        for subject, issuer in zip(certificates, certificates[1:]):
            subject.verify_directly_issued_by(issuer)
            need(is_authority(issuer), 1496, "an issuer that is no authority")
        last = certificates[-1]
        if not any(anchor == last for anchor in anchors):
            def issued(anchor):
                try:
                    last.verify_directly_issued_by(anchor)
                    return is_authority(anchor) and anchor.not_valid_before_utc <= now <= anchor.not_valid_after_utc
                except (ValueError, TypeError, InvalidSignature):
                    return False
            need(any(issued(anchor) for anchor in anchors), 1496, "no chain to a root")
        try:
            extension = certificates[0].extensions.get_extension_for_oid(AAID_EXTENSION).value.value
            # A UTF8String or OCTET STRING of nine letters, or the letters themselves.
            need(extension[-9:].decode("ascii", "replace").upper() == model, 1496, "a certificate of another model")
        except x509.ExtensionNotFound:
            pass
        return certificates[0].public_key()
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm) as error:
        raise Refused(1496, str(error)) from error


# MARK: - Policy

def matches(criterion, statement, key_id):
    verification = [sum(entry["userVerification"] for entry in way) for way in statement["userVerificationDetails"]]
    methods = verification[0] if len(verification) == 1 else sum(verification)
    if len(verification) == 1 and len(statement["userVerificationDetails"][0]) > 1:
        methods |= ALL

    def verified(wanted):
        return wanted == methods or not (wanted | methods) & ALL and bool(wanted & methods)

    rules = {
        "aaid": lambda wanted: statement["aaid"] in [text.upper() for text in wanted],
        "vendorID": lambda wanted: statement["aaid"][:4] in [text.upper() for text in wanted],
        "keyIDs": lambda wanted: key_id in wanted,
        "userVerification": verified,
        "keyProtection": lambda wanted: wanted & statement["keyProtection"],
        "matcherProtection": lambda wanted: wanted & statement["matcherProtection"],
        "attachmentHint": lambda wanted: wanted & statement["attachmentHint"],
        "tcDisplay": lambda wanted: wanted & statement["tcDisplay"],
        "authenticationAlgorithms": lambda wanted: statement["authenticationAlgorithm"] in wanted,
        "assertionSchemes": lambda wanted: statement["assertionScheme"] in wanted,
        "attestationTypes": lambda wanted: set(wanted) & set(statement["attestationTypes"]),
        "authenticatorVersion": lambda wanted: wanted <= statement["authenticatorVersion"],
        "exts": lambda wanted: not any(entry["fail_if_unknown"] for entry in wanted),
    }
    return all(rules[name](wanted) for name, wanted in criterion.items() if name in rules)


def met_criterion(policy, statement, key_id):
    """The criterion that one authenticator alone meets: all vectors have one assertion."""
    need(not any(matches(entry, statement, key_id) for entry in policy.get("disallowed", [])), 1492, "disallowed")
    for alternative in policy["accepted"]:
        if len(alternative) == 1 and matches(alternative[0], statement, key_id):
            return alternative[0]
    raise Refused(1492, "no alternative")


# MARK: - Verdict

def judge(vector):
    """The status code that a strict server gives (its steps by UAF Protocol 1.1, sections 3.4.7.5 and 3.5.7.5)."""
    server, request = vector["server"], vector["request"][0]
    operation = vector["operation"]
    try:
        message = parse_json(vector["response"])
    except ValueError as error:
        raise Refused(1400, str(error)) from error
    need(isinstance(message, list) and len(message) == 1, 1400, "not one dictionary")
    dictionary = message[0]
    header = member(dictionary, "header", dict)
    version = member(header, "upv", dict)
    need(member(header, "op", str) == operation, 1400, "another operation")
    text = member(dictionary, "fcParams", str)
    encoded = member(dictionary, "assertions", list)
    assertions = []
    for entry in encoded:
        scheme = member(entry, "assertionScheme", str)
        data = decode(member(entry, "assertion", str), 1400, "assertion")
        need(1 <= len(data) <= 4096, 1400, "length of an assertion")
        assertions.append((scheme, data))
    try:
        parameters = parse_json(decode(text, 1498, "fcParams"))
    except ValueError as error:
        raise Refused(1498, str(error)) from error
    need(isinstance(parameters, dict), 1498, "fcParams")
    read = read_registration if operation == "Reg" else read_authentication
    assertions = [(scheme, read(data)) for scheme, data in assertions]

    need((version.get("major"), version.get("minor")) == (1, 1), 1498, "version")
    for entry in header.get("exts", []):
        need(not entry["fail_if_unknown"] or entry["id"] in KNOWN_EXTENSIONS, 1498, "extension of the message")
    need(header.get("serverData") == request["header"].get("serverData"), 1491, "server data")
    for name, kind in (("appID", str), ("challenge", str), ("facetID", str), ("channelBinding", dict)):
        need(isinstance(parameters.get(name), kind), 1498, f"fcParams.{name}")
    app_id = request["header"].get("appID") or parameters["facetID"]
    need(parameters["appID"] == app_id and header.get("appID", app_id) == app_id, 1498, "AppID")
    need(trusted(parameters["facetID"], app_id, server["trustedFacets"]), 1498, "facet")
    if "serverEndPoints" in server:
        need(parameters["channelBinding"].get("serverEndPoint") in server["serverEndPoints"], 1490, "channel")
    need(parameters["challenge"] == request["challenge"], 1491, "challenge")
    need(len(assertions) == 1, 1498, "assertions")

    scheme, assertion = assertions[0]
    statements = {statement["aaid"]: statement for statement in server["metadata"]}
    statement = statements.get(assertion["aaid"])
    need(statement, 1480, "no metadata")
    need(assertion["aaid"] not in server["revoked"], 1493, "revoked")
    need(scheme == statement["assertionScheme"], 1498, "scheme")
    key_id = base64.urlsafe_b64encode(assertion["keyID"]).decode().rstrip("=")
    known = [key for key in server["registered"] if (key["aaid"], key["keyID"]) == (assertion["aaid"], key_id)]
    need(hashlib.sha256(text.encode()).digest() == assertion["hash"], 1498, "hash of the parameters")
    need(assertion["version"] >= statement["authenticatorVersion"], 1498, "authenticator's version")
    for critical, name in assertion["extensions"]:
        need(not critical or name in KNOWN_EXTENSIONS, 1498, "extension of the assertion")
    if operation == "Reg":
        judge_registration(assertion, statement, known, key_id, request, server)
    else:
        judge_authentication(assertion, statement, known, key_id, request, server)


def trusted(facet, app_id, facets):
    def host(address):
        found = re.fullmatch(r"https://([^/?#@:]+)(?::\d+)?(/[^?#]*)?", address)
        return found[1].lower() if found else None

    return facet in facets or (re.fullmatch(r"https://[^/]+", facet) and host(facet) == host(app_id))


def judge_registration(assertion, statement, known, key_id, request, server):
    need(not known, 1494, "a key that exists")
    criterion = met_criterion(request["policy"], statement, key_id)
    need(assertion["mode"] == 1, 1498, "mode")
    algorithm = assertion["algorithm"]
    need(algorithm == statement["authenticationAlgorithm"] and algorithm in FORMATS, 1495, "algorithm")
    need(assertion["format"] in FORMATS[algorithm], 1494, "format")
    key = public_key(assertion["publicKey"], assertion["format"])
    kind = assertion["attestation"]
    need(kind in statement["attestationTypes"] and kind != ECDAA, 1496, "attestation type")
    preferred = [wanted for wanted in criterion.get("attestationTypes", [kind]) if wanted in statement["attestationTypes"]]
    need(preferred[0] == kind, 1496, "not the preferred attestation")
    roots = statement["attestationRootCertificates"]
    if kind == FULL:
        need(roots, 1496, "no roots")
        now = datetime.datetime.fromisoformat(server["time"].replace("Z", "+00:00"))
        key = leaf_key(assertion["certificates"], roots, assertion["aaid"], now)
    else:
        need(not roots, 1496, "roots")
    need(verifies(key, algorithm, assertion["signature"], assertion["signed"]), 1496, "signature of the attestation")


def judge_authentication(assertion, statement, known, key_id, request, server):
    need(known, 1481, "no such key")
    key = known[0]
    need(key["account"] == server["account"], 1401, "somebody else's key")
    met_criterion(request["policy"], statement, key_id)
    contents = [hashlib.sha256(decode(entry["content"], 1498, "content")).digest() for entry in request.get("transaction", [])]
    if assertion["mode"] == 1:
        need(not assertion["contentHash"] and not contents, 1498, "not confirmed")
    else:
        need(assertion["mode"] == 2 and assertion["contentHash"] in contents, 1498, "mode or content")
    algorithm = key["signatureAlgorithm"]
    need(assertion["algorithm"] == algorithm, 1495, "algorithm")
    stored = public_key(decode(key["publicKey"], 1494, "key"), key["publicKeyFormat"])
    need(verifies(stored, algorithm, assertion["signature"], assertion["signed"]), 1498, "signature")
    old, new = key["signCounter"], assertion["counter"]
    need(new > old or new == old == 0, 1498, "counter")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--report", type=Path)
    parser.add_argument("folders", nargs="+", type=Path)
    arguments = parser.parse_args()
    suite = ElementTree.Element("testsuite", name="vectors")
    passed = failed = 0
    for path in sorted(path for folder in arguments.folders for path in folder.glob("*.json")):
        vector = json.loads(path.read_text())
        case = ElementTree.SubElement(suite, "testcase", classname=f"vectors.{path.parent.name}", name=path.stem)
        try:
            judge(vector)
            status, reason = 1200, "accepted"
        except Refused as refusal:
            status, reason = refusal.status, str(refusal)
        expected = vector["expected"]["status"]
        if status == expected:
            passed += 1
        else:
            failed += 1
            text = f"{path}: {status} ({reason}), where the vector says {expected}"
            ElementTree.SubElement(case, "failure", message=text)
            print(text)
    if arguments.report:
        ElementTree.ElementTree(suite).write(arguments.report)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
