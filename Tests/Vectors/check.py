#!/usr/bin/env python3
"""A second judge of the test vectors, which shares no code with this product.

It reads messages, TLV, keys, signatures, certificates and policies by itself (the cryptography is that of `cryptography`)
and gives each vector a verdict by the server's rules of UAF 1.1. Status code and the rule that refuses must be the ones
that the vector names.

Usage: check.py [--report FILE] FOLDER…      the last line counts: N passed, N failed
"""

import argparse
import base64
import datetime
import functools
import hashlib
import itertools
import json
import operator
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key

REGISTRATION, AUTHENTICATION, KRD, SIGNED_DATA = 0x3E01, 0x3E02, 0x3E03, 0x3E04
CERTIFICATE, SIGNATURE, FULL, SURROGATE, ECDAA = 0x2E05, 0x2E06, 0x3E07, 0x3E08, 0x3E09
KEY_ID, HASH, AAID, PUBLIC_KEY, COUNTERS, INFO = 0x2E09, 0x2E0A, 0x2E0B, 0x2E0C, 0x2E0D, 0x2E0E
NONCE, CONTENT_HASH, CRITICAL_EXTENSION, EXTENSION, EXTENSION_ID, EXTENSION_DATA = (
    0x2E0F, 0x2E10, 0x3E11, 0x3E12, 0x2E13, 0x2E14)
USER_VERIFICATION_INDEX, USER_VERIFICATION_STATE = 0x0104, 0x0106
AAID_EXTENSION = x509.ObjectIdentifier("1.3.6.1.4.1.45724.1.1.1")
KNOWN_EXTENSIONS = {"fido.uaf.uvm"}
ALL, NONE = 0x400, 0x200


# The rules, by the names that vectors give them, with the status code of each (UAF Protocol 1.1, section 3.1).
STATUS = {
    "message": 1400, "version": 1498, "messageExtensions": 1498, "serverData": 1491, "finalChallengeParams": 1498,
    "appID": 1498, "facetID": 1498, "channelBinding": 1490, "challenge": 1491, "assertion": 1498, "metadata": 1480,
    "revocation": 1493, "assertionScheme": 1498, "credential": 1481, "account": 1401, "policy": 1492,
    "finalChallengeHash": 1498, "authenticatorVersion": 1498, "authenticationMode": 1498, "transaction": 1498,
    "signatureAlgorithm": 1495, "publicKey": 1494, "attestation": 1496, "assertionExtensions": 1498,
    "signature": 1498, "signCounter": 1498,
}


class Refused(Exception):
    """A verdict other than 1200."""

    def __init__(self, step, reason, status=None):
        super().__init__(reason)
        self.step, self.status = step, status or STATUS[step]


def need(condition, step, reason, status=None):
    if not condition:
        raise Refused(step, reason, status)


# MARK: - Texts

def strict_object(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names) or any(value is None for _, value in pairs):
        raise ValueError("a name twice, or null")
    return dict(pairs)


def parse_json(text):
    return json.loads(text, object_pairs_hook=strict_object)


def decode(text, step, name):
    """Base64url without padding, in its one spelling."""
    need(isinstance(text, str) and re.fullmatch(r"[A-Za-z0-9_-]*", text) and len(text) % 4 != 1, step, name)
    value = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    need(base64.urlsafe_b64encode(value).decode().rstrip("=") == text, step, name)
    return value


def member(dictionary, name, kind):
    need(isinstance(dictionary, dict) and isinstance(dictionary.get(name), kind), "message", name)
    return dictionary[name]


# MARK: - TLV

def items(data):
    """Tag, value and the whole item, one after another, to the last byte."""
    found = []
    while data:
        need(len(data) >= 4, "assertion", "a truncated head")
        tag, length = int.from_bytes(data[:2], "little"), int.from_bytes(data[2:4], "little")
        need(len(data) >= 4 + length, "assertion", f"truncated {tag:04X}")
        found.append((tag, data[4:4 + length], data[:4 + length]))
        data = data[4 + length:]
    return found


def composite(data, single, repeatable=()):
    """The values by tag; of repeatable ones a list."""
    values = {tag: [] for tag in repeatable}
    for tag, value, _ in items(data):
        if tag in single:
            need(tag not in values, "assertion", f"{tag:04X} twice")
            values[tag] = value
        elif tag in repeatable:
            values[tag].append(value)
        else:
            need(not tag & 0x2000, "assertion", f"unknown critical {tag:04X}")
    return values


def field(values, tag, lengths):
    need(tag in values, "assertion", f"no {tag:04X}")
    need(len(values[tag]) in lengths, "assertion", f"{tag:04X} of {len(values[tag])} bytes")
    return values[tag]


def number(data):
    return int.from_bytes(data, "little")


def extensions(values):
    found = []
    for tag in (CRITICAL_EXTENSION, EXTENSION):
        for value in values[tag]:
            parts = composite(value, {EXTENSION_ID, EXTENSION_DATA})
            need(EXTENSION_ID in parts and EXTENSION_DATA in parts, "assertion", "an extension without its parts")
            found.append((tag == CRITICAL_EXTENSION, parts[EXTENSION_ID].decode()))
    return found


BOTH_EXTENSIONS = (CRITICAL_EXTENSION, EXTENSION)
VERIFICATION_TAGS = {USER_VERIFICATION_INDEX, USER_VERIFICATION_STATE}


def read_assertion(data, root_tag, data_tag, single):
    """The items beside the signed data, and the signed data itself with its head."""
    roots = items(data)
    need(len(roots) == 1 and roots[0][0] == root_tag, "assertion", "not one assertion of this operation")
    inner = items(roots[0][1])
    need(inner and inner[0][0] == data_tag, "assertion", "the signed data is not the first item")
    rest = roots[0][1][len(inner[0][2]):]
    return inner[0][1], inner[0][2], composite(rest, single, BOTH_EXTENSIONS)


def read_registration(data):
    value, signed, others = read_assertion(data, REGISTRATION, KRD, {FULL, SURROGATE, ECDAA})
    fields = composite(value, {AAID, INFO, HASH, KEY_ID, COUNTERS, PUBLIC_KEY} | VERIFICATION_TAGS, BOTH_EXTENSIONS)
    info, counters = field(fields, INFO, {7}), field(fields, COUNTERS, {8})
    kinds = [tag for tag in (FULL, SURROGATE, ECDAA) if tag in others]
    need(len(kinds) == 1, "assertion", "not one attestation")
    parts = composite(others[kinds[0]], {SIGNATURE}, (CERTIFICATE,) if kinds[0] == FULL else ())
    need(parts.get(SIGNATURE), "assertion", "no signature")
    need(kinds[0] != FULL or parts[CERTIFICATE], "assertion", "no certificate")
    return {
        "aaid": aaid(field(fields, AAID, {9})), "version": number(info[:2]), "mode": info[2],
        "algorithm": number(info[3:5]), "format": number(info[5:7]), "hash": field(fields, HASH, {32}),
        "keyName": text_of(field(fields, KEY_ID, range(32, 2049))), "counter": number(counters[:4]),
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
    need(others.get(SIGNATURE), "assertion", "no signature")
    return {
        "aaid": aaid(field(fields, AAID, {9})), "version": number(info[:2]), "mode": info[2],
        "algorithm": number(info[3:5]), "hash": field(fields, HASH, {32}),
        "contentHash": field(fields, CONTENT_HASH, {0, 32}),
        "keyName": text_of(field(fields, KEY_ID, range(32, 2049))),
        "counter": number(field(fields, COUNTERS, {4})), "signed": signed,
        "extensions": extensions(fields) + extensions(others), "signature": others[SIGNATURE],
    }


def text_of(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def aaid(data):
    text = data.decode("ascii", "replace").upper()
    need(re.fullmatch(r"[0-9A-F]{4}#[0-9A-F]{4}", text), "assertion", "no AAID")
    return text


# MARK: - Keys and signatures

ECDSA, PSS, PKCS1 = {1, 2, 5, 6}, {3, 4}, {8, 9}
FORMATS = {**{algorithm: {0x100, 0x101} for algorithm in ECDSA}, **{algorithm: {0x102, 0x103} for algorithm in PSS | PKCS1}}


def curve(algorithm):
    return ec.SECP256K1 if algorithm in (5, 6) else ec.SECP256R1


def public_key(data, key_format, algorithm):
    """A key of the registry's format and of the algorithm's curve, or a refusal."""
    try:
        if key_format in (0x100, 0x101):
            if key_format == 0x101:
                key = load_der_public_key(data)
                need(isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, curve(algorithm)), "publicKey", "curve")
                return key
            need(len(data) == 65 and data[0] == 4, "publicKey", "no uncompressed point")
            return ec.EllipticCurvePublicKey.from_encoded_point(curve(algorithm)(), data)
        if key_format == 0x102:
            numbers = rsa.RSAPublicNumbers(int.from_bytes(data[256:], "big"), int.from_bytes(data[:256], "big"))
        elif key_format == 0x103:
            # PKCS #1, or SubjectPublicKeyInfo in its place.
            key = load_der_public_key(data)
            need(isinstance(key, rsa.RSAPublicKey), "publicKey", "not RSA")
            numbers = key.public_numbers()
        else:
            raise Refused("publicKey", f"format {key_format}")
        need(numbers.n.bit_length() == 2048 and numbers.e % 2 == 1 and numbers.e >= 65537, "publicKey", "size or exponent")
        return numbers.public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise Refused("publicKey", str(error)) from error


def verifies(key, algorithm, signature, data):
    """Whether a signature in the encoding of `algorithm` is the key's."""
    try:
        if algorithm in ECDSA:
            if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, curve(algorithm)):
                return False
            if algorithm in (1, 5):
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


def extension(certificate, kind):
    """An extension's value; `None` where it is not there."""
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def is_authority(certificate):
    constraints, usage = extension(certificate, x509.BasicConstraints), extension(certificate, x509.KeyUsage)
    return bool(constraints and constraints.ca) and (usage is None or usage.key_cert_sign)


def fingerprint(key):
    return hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def der_parts(data):
    """The items of a DER SEQUENCE, each with its head."""
    def head(data):
        if data[1] < 0x80:
            return 2, data[1]
        size = data[1] & 0x7F
        return 2 + size, int.from_bytes(data[2:2 + size], "big")

    rest, parts = data[head(data)[0]:], []
    while rest:
        size = sum(head(rest))
        parts.append(rest[:size])
        rest = rest[size:]
    return parts


def names_its_algorithm(certificate):
    """Whether what is signed names the algorithm that the signature has (RFC 5280, section 4.1.1.2)."""
    signed, algorithm, _ = der_parts(certificate.public_bytes(Encoding.DER))
    fields = der_parts(signed)
    return fields[2 if fields[0][0] == 0xA0 else 1] == algorithm


def issued(certificate, issuer):
    try:
        certificate.verify_directly_issued_by(issuer)
        return True
    except (ValueError, TypeError, InvalidSignature):
        return False


def is_shared(path, others):
    """Whether a path leads through an authority that the metadata of another model lists too."""
    keys = {fingerprint(certificate.public_key()) for certificate in path}
    anchors = [
        x509.load_der_x509_certificate(base64.b64decode(root))
        for statement in others for root in statement["attestationRootCertificates"]]
    return any(fingerprint(anchor.public_key()) in keys or issued(path[-1], anchor) for anchor in anchors)


def check_path(path, now):
    """The rules of RFC 5280 on a chain from the leaf to the root, as far as UAF needs them."""
    for certificate in path:
        need(names_its_algorithm(certificate), "attestation", "two signature algorithms")
        need(certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc, "attestation", "validity")
        need(certificate.serial_number.bit_length() <= 160, "attestation", "serial number")
        for entry in certificate.extensions:
            known = isinstance(entry.value, (x509.BasicConstraints, x509.KeyUsage)) or entry.oid == AAID_EXTENSION
            need(known or not entry.critical, "attestation", "an unknown critical extension")
            need(not isinstance(entry.value, x509.NameConstraints), "attestation", "name constraints")
    for subject, issuer in zip(path, path[1:]):
        subject.verify_directly_issued_by(issuer)
        need(is_authority(issuer), "attestation", "an issuer that is no authority")
    constraints = extension(path[0], x509.BasicConstraints)
    need(len(path) == 1 or not (constraints and constraints.ca), "attestation", "a leaf that may issue")


def leaf_key(chain, roots, model, now, revocations, others):
    """The attestation key at the end of a chain to one of the roots; `others` are the other models' statements."""
    try:
        path = [x509.load_der_x509_certificate(data) for data in chain]
        anchors = [x509.load_der_x509_certificate(base64.b64decode(root)) for root in roots]
        if path[-1] not in anchors:
            path += [anchor for anchor in anchors if issued(path[-1], anchor)][:1]
        need(path[-1] in anchors, "attestation", "no chain to a root")
        for certificate in path:
            named = [(entry["aaid"].upper(), int(entry["serialNumber"], 16)) for entry in revocations["certificates"]]
            need((model, certificate.serial_number) not in named, "revocation", "a revoked certificate")
            need(fingerprint(certificate.public_key()) not in revocations["keys"], "revocation", "its key")
        check_path(path, now)
        try:
            value = path[0].extensions.get_extension_for_oid(AAID_EXTENSION).value.value
            # A UTF8String or OCTET STRING of nine letters, or the letters themselves.
            need(value[-9:].decode("ascii", "replace").upper() == model, "attestation", "another model's certificate")
        except x509.ExtensionNotFound:
            need(not is_shared(path, others), "attestation", "for which model of the authority")
        return path[0].public_key()
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm) as error:
        raise Refused("attestation", str(error)) from error


# MARK: - Policy

def methods(statement):
    """The verification methods as one number; `None` where they are mixed, which no number can say."""
    ways = [[entry["userVerification"] for entry in way] for way in statement["userVerificationDetails"]]
    if all(len(way) == 1 for way in ways):
        return functools.reduce(operator.or_, (way[0] for way in ways))
    return functools.reduce(operator.or_, ways[0], ALL) if len(ways) == 1 else None


def is_silent(statement):
    return any(entry["userVerification"] & NONE for way in statement["userVerificationDetails"] for entry in way)


def is_unreadable(criterion):
    return any(entry["fail_if_unknown"] for entry in criterion.get("exts", []))


def matches(criterion, statement, assertion):
    own = methods(statement)

    def verified(wanted):
        return own is not None and (wanted == own or not (wanted | own) & ALL and bool(wanted & own))

    rules = {
        "aaid": lambda wanted: statement["aaid"] in [text.upper() for text in wanted],
        "vendorID": lambda wanted: statement["aaid"][:4] in [text.upper() for text in wanted],
        "keyIDs": lambda wanted: assertion["keyName"] in wanted,
        "userVerification": verified,
        "keyProtection": lambda wanted: wanted & statement["keyProtection"],
        "matcherProtection": lambda wanted: wanted & statement["matcherProtection"],
        "attachmentHint": lambda wanted: wanted & statement["attachmentHint"],
        "tcDisplay": lambda wanted: wanted & statement["tcDisplay"],
        "authenticationAlgorithms": lambda wanted: statement["authenticationAlgorithm"] in wanted,
        "assertionSchemes": lambda wanted: statement["assertionScheme"] in wanted,
        "attestationTypes": lambda wanted: set(wanted) & set(statement["attestationTypes"]),
        "authenticatorVersion": lambda wanted: wanted <= assertion["version"],
    }
    return not is_unreadable(criterion) and all(
        rules[name](wanted) for name, wanted in criterion.items() if name in rules)


def prefers(criterion, statement, kind):
    """Whether an attestation is the first of the criterion's types that the model has."""
    wanted = [wanted for wanted in criterion.get("attestationTypes", [kind]) if wanted in statement["attestationTypes"]]
    return wanted[:1] == [kind]


def check_policy(policy, found):
    """All authenticators of a response meet one alternative, none to spare."""
    for assertion, statement in found:
        for entry in policy.get("disallowed", []):
            need(not is_unreadable(entry), "policy", "a ban that nobody understands")
            need(not matches(entry, statement, assertion), "policy", "disallowed")
    ways = [
        list(zip(alternative, order))
        for alternative in policy["accepted"] if len(alternative) == len(found)
        for order in itertools.permutations(found)
        if all(matches(criterion, statement, one) for criterion, (one, statement) in zip(alternative, order))
    ]
    need(ways, "policy", "no alternative")
    need(not all(is_silent(statement) for _, statement in found), "policy", "silent authenticators alone")
    need(
        "attestation" not in found[0][0] or any(
            all(prefers(criterion, statement, one["attestation"]) for criterion, (one, statement) in way)
            for way in ways),
        "attestation", "not the preferred attestation")


# MARK: - Verdict

def judge(vector):
    """What a strict server says (its steps by UAF Protocol 1.1, sections 3.4.7.5 and 3.5.7.5)."""
    server, request = vector["server"], vector["request"][0]
    operation = vector["operation"]
    try:
        message = parse_json(vector["response"])
    except ValueError as error:
        raise Refused("message", str(error)) from error
    need(isinstance(message, list) and len(message) == 1, "message", "not one dictionary")
    dictionary = message[0]
    header = member(dictionary, "header", dict)
    version = member(header, "upv", dict)
    need(member(header, "op", str) == operation, "message", "another operation")
    text = member(dictionary, "fcParams", str)
    encoded = [
        (member(entry, "assertionScheme", str), member(entry, "assertion", str), entry.get("exts", []))
        for entry in member(dictionary, "assertions", list)
    ]
    read = read_registration if operation == "Reg" else read_authentication
    found = []
    for scheme, assertion, exts in encoded:
        data = decode(assertion, "assertion", "base64url")
        need(1 <= len(data) <= 4096, "assertion", "length")
        found.append((scheme, exts, read(data)))
    check_message(header, version, text, request, server)

    need(found, "assertion", "none")
    hashed = hashlib.sha256(text.encode()).digest()
    revocations = {"models": [], "certificates": [], "keys": [], **server.get("revocations", {})}
    revoked = {name.upper() for name in server["revoked"] + revocations["models"]}
    statements = {statement["aaid"]: statement for statement in server["metadata"]}
    models = []
    for scheme, exts, assertion in found:
        for entry in exts:
            need(not entry["fail_if_unknown"] or entry["id"] in KNOWN_EXTENSIONS, "messageExtensions", "an assertion's")
        statement = statements.get(assertion["aaid"])
        need(statement, "metadata", "no metadata")
        need(assertion["aaid"] not in revoked, "revocation", "the model")
        need(scheme == statement["assertionScheme"], "assertionScheme", scheme)
        models.append((assertion, statement))
    known = {(key["aaid"], key["keyID"]): key for key in server["registered"]}
    names = [(assertion["aaid"], assertion["keyName"]) for assertion, _ in models]
    need(len(set(names)) == len(names), "credential", "a key twice", 1494 if operation == "Reg" else 1498)
    if operation == "Reg":
        need(not any(name in known for name in names), "credential", "a key that exists", 1494)
    else:
        need(all(name in known for name in names), "credential", "no such key")
        need(all(known[name]["account"] == server["account"] for name in names), "account", "somebody else's key")
    check_policy(request["policy"], models)

    confirmations = 0
    for assertion, statement in models:
        need(hashed == assertion["hash"], "finalChallengeHash", "of other parameters")
        need(assertion["version"] >= statement["authenticatorVersion"], "authenticatorVersion", "too old")
        for critical, name in assertion["extensions"]:
            need(not critical or name in KNOWN_EXTENSIONS, "assertionExtensions", name)
        if operation == "Reg":
            judge_registration(assertion, statement, server, revocations)
        else:
            key = known[assertion["aaid"], assertion["keyName"]]
            confirmations += judge_authentication(assertion, statement, key, request, revocations)
    need(confirmations or not request.get("transaction"), "transaction", "nobody confirmed")


def check_message(header, version, text, request, server):
    """The rules on a message before its assertions."""
    try:
        parameters = parse_json(decode(text, "finalChallengeParams", "base64url"))
    except ValueError as error:
        raise Refused("finalChallengeParams", str(error)) from error
    need(isinstance(parameters, dict), "finalChallengeParams", "no object")
    for name, kind in (("appID", str), ("challenge", str), ("facetID", str), ("channelBinding", dict)):
        need(isinstance(parameters.get(name), kind), "finalChallengeParams", name)
    need((version.get("major"), version.get("minor")) == (1, 1), "version", "another")
    for entry in header.get("exts", []):
        need(not entry["fail_if_unknown"] or entry["id"] in KNOWN_EXTENSIONS, "messageExtensions", entry["id"])
    need(header.get("serverData") == request["header"].get("serverData"), "serverData", "other")
    app_id = request["header"].get("appID") or parameters["facetID"]
    need(parameters["appID"] == app_id and header.get("appID", app_id) == app_id, "appID", "another")
    need(trusted(parameters["facetID"], app_id, server["trustedFacets"]), "facetID", "not trusted")
    if "serverEndPoints" in server:
        told = parameters["channelBinding"].get("serverEndPoint")
        need(told in server["serverEndPoints"], "channelBinding", "another")
    need(parameters["challenge"] == request["challenge"], "challenge", "another")


ORIGIN = re.compile(r"https://([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::([1-9][0-9]{0,4}))?", re.IGNORECASE)


def trusted(facet, app_id, facets):
    """A listed caller, or an origin, with nothing behind host and port, of the AppID's own host."""
    origin, own = ORIGIN.fullmatch(facet.removesuffix("/")), ORIGIN.fullmatch(re.split(r"(?<=[^:/])[/?#]", app_id)[0])
    return facet in facets or bool(
        origin and own and int(origin[2] or 443) < 65536 and origin[1].lower() == own[1].lower())


def judge_registration(assertion, statement, server, revocations):
    need(assertion["mode"] == 1, "authenticationMode", "not 1")
    algorithm = assertion["algorithm"]
    need(
        algorithm == statement["authenticationAlgorithm"] and algorithm in FORMATS, "signatureAlgorithm", algorithm)
    need(assertion["format"] in FORMATS[algorithm], "publicKey", "format")
    key = public_key(assertion["publicKey"], assertion["format"], algorithm)
    need(fingerprint(key) not in revocations["keys"], "revocation", "the new key")
    kind = assertion["attestation"]
    need(kind in statement["attestationTypes"] and kind != ECDAA, "attestation", "type")
    roots = statement["attestationRootCertificates"]
    if kind == FULL:
        need(roots, "attestation", "no roots")
        now = datetime.datetime.fromisoformat(server["time"].replace("Z", "+00:00"))
        others = [other for other in server["metadata"] if other["aaid"] != assertion["aaid"]]
        key = leaf_key(assertion["certificates"], roots, assertion["aaid"], now, revocations, others)
    else:
        need(not roots, "attestation", "roots")
    need(verifies(key, algorithm, assertion["signature"], assertion["signed"]), "attestation", "signature")


def judge_authentication(assertion, statement, key, request, revocations):
    """Gives whether the transaction was confirmed."""
    contents = [
        hashlib.sha256(decode(entry["content"], "message", "content")).digest()
        for entry in request.get("transaction", [])
    ]
    need(assertion["mode"] in (1, 2), "authenticationMode", "unknown")
    if assertion["mode"] == 1:
        need(not assertion["contentHash"], "transaction", "a hash without confirmation")
        need(not contents or is_silent(statement), "transaction", "not confirmed")
    else:
        need(statement["tcDisplay"] and not is_silent(statement), "transaction", "nothing was shown")
        need(assertion["contentHash"] in contents, "transaction", "content")
    algorithm = key["signatureAlgorithm"]
    need(assertion["algorithm"] == algorithm, "signatureAlgorithm", "not the key's")
    stored = public_key(decode(key["publicKey"], "publicKey", "key"), key["publicKeyFormat"], algorithm)
    need(verifies(stored, algorithm, assertion["signature"], assertion["signed"]), "signature", "not the key's")
    need(fingerprint(stored) not in revocations["keys"], "revocation", "the key")
    old, new = key["signCounter"], assertion["counter"]
    need(new > old or new == old == 0, "signCounter", f"{new} after {old}")
    return assertion["mode"] == 2


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
            verdict, reason = {"status": 1200}, "accepted"
        except Refused as refusal:
            verdict, reason = {"status": refusal.status, "step": refusal.step}, str(refusal)
        if verdict == vector["expected"]:
            passed += 1
        else:
            failed += 1
            text = f"{path}: {verdict} ({reason}), where the vector says {vector['expected']}"
            ElementTree.SubElement(case, "failure", message=text)
            print(text)
    if arguments.report:
        ElementTree.ElementTree(suite).write(arguments.report)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
