"""What the requests that are made of the documents get of the world that they meet: names that are there.

Most of what is drawn would end at the first look-up: nobody has such a client, such an account. Every second request
therefore has those that exist, so that it reaches what stands behind.
"""

import base64
import collections
import json
import os
import zlib

import schemathesis

WORLD = json.loads(os.environ["DOCUMENTS_WORLD"])
BASIC = "Basic " + base64.b64encode(f"{WORLD.get('clientId')}:{WORLD.get('clientSecret')}".encode()).decode()
# What a person's app would be told by the same names.
KNOWN = {
    "client_id": WORLD.get("clientId"),
    "redirect_uri": WORLD.get("redirectUri"),
    "post_logout_redirect_uri": WORLD.get("redirectUri"),
    "scope": "openid profile email offline_access",
    "response_type": "code",
    "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    "code_challenge_method": "S256",
    "username": WORLD.get("username"),
    "id": WORLD.get("id"),
    "request": WORLD.get("request"),
    "redirectUris": [WORLD.get("redirectUri")],
    "email": "somebody@example.org",
    "number": "123456",
    # Most drawn texts are empty, and an empty token is none. Nobody has this token.
    "token": "a-token-of-nobody",
    "name": "Some service",
    "idTokenSignedResponseAlg": "ES256",
}
# What is wrong unless it fits much else: half of those requests are without it.
OPTIONAL = {
    "request", "request_uri", "dpop_jkt", "id_token_hint", "max_age", "prompt", "claims", "acr_values", "login_hint",
    "response_mode", "ui_locales", "resource", "authorization_details", "client_assertion", "client_assertion_type",
    "client_secret",
    # Settings of a client, of which each has a few right values alone.
    *WORLD.get("settings", ()),
}
# How often each operation was called, and each of its parameters was one that is known.
turns = collections.Counter()

# Its content is JSON.
schemathesis.serializer.alias(["application/fido+uaf"], "application/json")


def known(label, members):
    """The same parameters, those among them that can be right being so, but for two in five: one is as it was drawn, and
    one is of the right form and nobody's. Which of them is counted for each parameter of an operation by itself, so that
    each comes, however few requests there are."""
    def one(name, value):
        right = KNOWN.get(name)
        if right is None:
            return value
        turns[label, name] += 1
        kind = turns[label, name] % 5
        return value if kind == 2 else right[::-1] if kind == 4 and isinstance(right, str) else right

    return {name: one(name, value) for name, value in members.items()}


@schemathesis.hook
def before_call(context, case, kwargs):
    # Of each operation by itself, and in no step with how its cases are made, so that another operation changes nothing.
    label = case.operation.label
    turns[label] += 1
    turn = zlib.crc32(f"{label} {turns[label]}".encode())
    if WORLD.get("clientSecret") and turn % 4:
        security = case.operation.definition.raw.get("security")
        if security and "client" in security[0]:
            case.headers = {**(case.headers or {}), "Authorization": BASIC}
    # Whoever cancels the sign-in takes it from all requests that follow.
    if WORLD.get("cookie") and case.path.startswith("/sign-in") and not case.path.endswith("/cancel"):
        case.headers = {**(case.headers or {}), "Cookie": WORLD["cookie"]}
    if turn % 2:
        # A page's request is what the page is about; elsewhere it is a signed one (RFC 9101).
        optional = OPTIONAL - {"request"} if case.path.startswith("/sign-in") else OPTIONAL
        for part in ("query", "body", "path_parameters"):
            value = getattr(case, part)
            if isinstance(value, dict) and turn % 4 == 1:
                value = type(value)({name: one for name, one in value.items() if name not in optional})
                if case.headers and "DPoP" in case.headers:
                    del case.headers["DPoP"]
            if isinstance(value, dict):
                setattr(case, part, type(value)(known(label, value)))
