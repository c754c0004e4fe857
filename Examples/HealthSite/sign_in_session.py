"""Who somebody is, by the one cookie that the app sign-in service has left in their browser.

A web site needs nothing else of the service: no secret, no key, no session of its own. It asks at each request, so who has
signed out, on the site or in the app, is nobody from the next request on.
"""

import base64
import dataclasses
import enum
import http.client
import json
import re
import socket
import ssl
import urllib.parse

SECONDS = 5
ANSWER_BYTES = 65_536
# A JWT as it travels: three parts of base64url. Nothing else is passed on, so a cookie cannot write a header of ours.
ACCESS_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
TOKEN_LETTERS = 8192


class Unreachable(Exception):
    """The service has not said who it is. That signs nobody in and nobody out: ask again later."""


class State(enum.Enum):
    SIGNED_IN = "signed-in"
    SIGNED_OUT = "signed-out"
    # The session goes on, its access token's minutes are over: the browser renews it, as `session.js` does.
    EXPIRED = "expired"


@dataclasses.dataclass(frozen=True)
class Visitor:
    """Whoever a request comes from."""

    state: State
    # Never changes, and is the person's at all sites and apps of the service: keep your records under it, not under a name.
    id: str = ""
    name: str = ""


NOBODY = Visitor(State.SIGNED_OUT)


class SignInService:
    """The service as a site sees it.

    `address` is its origin, `site` the site's client id there, and `cookie_prefix` what its cookies' names begin with.
    """

    def __init__(self, address, site, cookie_prefix="countersign", ca_file=None):
        parts = urllib.parse.urlsplit(address)
        if parts.scheme != "https" or not parts.hostname or parts.path not in ("", "/"):
            raise ValueError(f"the service's address is https://HOST[:PORT], not {address}")
        self.origin = f"https://{parts.netloc}"
        self.host, self.port = parts.hostname, parts.port or 443
        self.site = site
        self.cookie = f"{cookie_prefix}_access_token"
        self.tls = ssl.create_default_context(cafile=ca_file)

    def visitor(self, cookie_header):
        """Who sends these cookies. Raises `Unreachable`."""
        token = self._token(cookie_header or "")
        if token is None:
            return NOBODY
        status, body = self._introspect(token)
        # 401: ended, or never one of the service's. 403: its minutes are over.
        if status == 401:
            return NOBODY
        if status == 403:
            return Visitor(State.EXPIRED)
        if status != 200:
            raise Unreachable(f"status {status}")
        try:
            data = json.loads(body)["data"]
            person, attributes = data["id"], data["attributes"]
            claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
            if not isinstance(person, str) or not person:
                raise ValueError
            name = " ".join(filter(None, (attributes.get("first_name"), attributes.get("last_name"))))
            # The service has just vouched for the token as it stands. It can be another site's of the same service, which
            # somebody has carried over: that is no session here.
            return Visitor(State.SIGNED_IN, person, name) if claims.get("client_id") == self.site else NOBODY
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Unreachable("an answer that makes no sense") from error

    def _token(self, cookie_header):
        pairs = (pair.strip().partition("=") for pair in cookie_header.split(";"))
        values = [value for name, _, value in pairs if name == self.cookie]
        # A second one of the name is somebody else's, put there by a page of a host beside this one: neither counts.
        if len(values) != 1 or len(values[0]) > TOKEN_LETTERS or not ACCESS_TOKEN.fullmatch(values[0]):
            return None
        return values[0]

    def _introspect(self, token):
        connection = http.client.HTTPSConnection(self.host, self.port, timeout=SECONDS, context=self.tls)
        try:
            # As a cookie, not as `Authorization`: so the service refuses a token that is an app's.
            connection.sock = self.tls.wrap_socket(self._connect(), server_hostname=self.host)
            connection.request("GET", "/v0/sign_in/introspect", headers={"Cookie": f"{self.cookie}={token}"})
            answer = connection.getresponse()
            body = answer.read(ANSWER_BYTES + 1)
            if len(body) > ANSWER_BYTES:
                raise Unreachable("an answer that is too long")
            return answer.status, body
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(type(error).__name__) from error
        finally:
            connection.close()

    def _connect(self):
        # Names below `localhost` are this machine's (RFC 6761), which not every resolver knows.
        host = "127.0.0.1" if self.host.endswith(".localhost") else self.host
        return socket.create_connection((host, self.port), timeout=SECONDS)
