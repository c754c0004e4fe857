"""Stand-ins for push services, over TLS on this machine: Apple's, Google's, and a push service of the web.

Each judges a request by the service's documentation, and answers as the test says: with a status, or with the misbehaviour
of a network. What a stand-in takes for right is itself tried with clients that work against the real services
(test_push_stand_ins.py).
"""

import base64
import dataclasses
import http.server
import json
import re
import socket
import ssl
import threading
import time
import urllib.parse
import uuid

import h2.config
import h2.connection
import h2.errors
import h2.events
import http_ece
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from py_vapid import Vapid02


@dataclasses.dataclass
class Answer:
    """What a stand-in does with the next request."""

    status: int = 0  # 0: the status that the request deserves
    body: dict | None = None
    fields: tuple = ()
    # silence, close, reset (RST_STREAM), goaway, endless, twice
    misbehaviour: str = ""


def server_context(identity, protocols):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity.certificate, identity.key)
    context.set_alpn_protocols(protocols)
    return context


class StandIn:
    """What all stand-ins share: the answers that are to come, and the requests that came."""

    def __init__(self):
        self.answers = []
        self.requests = []
        self.problems = []

    def next_answer(self):
        return self.answers.pop(0) if self.answers else Answer()

    def judge(self, condition, problem):
        if not condition:
            self.problems.append(problem)
        return condition


# Apple: https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns
class APNs(StandIn):
    """Apple Push Notification service, over HTTP/2."""

    def __init__(self, identity, topic, team, key_id, public_key, tokens):
        super().__init__()
        self.topic, self.team, self.key_id, self.public_key = topic, team, key_id, public_key
        self.tokens = set(tokens)
        # The protocol that each connection has agreed on.
        self.protocols = []
        self.provider_tokens = []
        self.context = server_context(identity, ["h2"])
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def stop(self):
        self.listener.close()

    def _listen(self):
        while True:
            try:
                raw, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(raw,), daemon=True).start()

    def _serve(self, raw):
        try:
            with self.context.wrap_socket(raw, server_side=True) as connection:
                # A client that names no protocol speaks HTTP/2 all the same.
                self.protocols.append(connection.selected_alpn_protocol())
                self._serve_h2(connection)
        except (OSError, ssl.SSLError):
            pass

    def _serve_h2(self, connection):
        state = h2.connection.H2Connection(config=h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        state.initiate_connection()
        connection.sendall(state.data_to_send())
        open_streams = {}
        while data := connection.recv(65536):
            for event in state.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    open_streams[event.stream_id] = (event.headers, bytearray())
                elif isinstance(event, h2.events.DataReceived):
                    open_streams[event.stream_id][1].extend(event.data)
                    state.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    headers, body = open_streams.pop(event.stream_id)
                    if not self._answer(connection, state, event.stream_id, headers, bytes(body)):
                        return
            connection.sendall(state.data_to_send())

    def _answer(self, connection, state, stream, headers, body):
        """Answers a request; whether the connection goes on."""
        self.requests.append((dict(headers), body))
        deserved = self._judge(headers, body)
        answer = self.next_answer()
        if answer.misbehaviour == "silence":
            return True
        if answer.misbehaviour == "close":
            return False
        if answer.misbehaviour == "reset":
            state.reset_stream(stream, h2.errors.ErrorCodes.INTERNAL_ERROR)
            return True
        if answer.misbehaviour == "goaway":
            state.close_connection(last_stream_id=0)
            connection.sendall(state.data_to_send())
            return False
        status, reason = (answer.status, answer.body) if answer.status else deserved
        # Apple repeats the identifier of a request, and makes one for a request without.
        identifier = dict(headers).get("apns-id", str(uuid.uuid4()).upper())
        state.send_headers(
            stream, [(":status", str(status)), ("apns-id", identifier), *answer.fields],
            end_stream=reason is None and answer.misbehaviour != "endless")
        if answer.misbehaviour == "endless":
            connection.sendall(state.data_to_send())
            return True
        if reason is not None:
            state.send_data(stream, json.dumps(reason).encode(), end_stream=True)
        return True

    def _judge(self, headers, body):
        """The status and the body that a request deserves."""
        def refused(status, reason):
            self.problems.append(reason)
            return status, {"reason": reason}

        names = [name for name, _ in headers]
        fields = dict(headers)
        if len(names) != len(set(names)):
            return refused(400, "DuplicateHeaders")
        if fields[":method"] != "POST":
            return refused(405, "MethodNotAllowed")
        path = re.fullmatch(r"/3/device/(.*)", fields[":path"])
        if not path:
            return refused(404, "BadPath")
        refusal = self._judge_provider(fields.get("authorization"))
        if refusal:
            return refused(403, refusal)
        if "apns-topic" not in fields:
            return refused(400, "MissingTopic")
        if fields["apns-topic"] != self.topic:
            return refused(400, "TopicDisallowed")
        if fields.get("apns-push-type") not in ("alert", "background"):
            return refused(400, "InvalidPushType")
        if fields.get("apns-priority", "10") not in ("1", "5", "10"):
            return refused(400, "BadPriority")
        if not re.fullmatch(r"\d+", fields.get("apns-expiration", "0")):
            return refused(400, "BadExpirationDate")
        if len(fields.get("apns-collapse-id", "").encode()) > 64:
            return refused(400, "BadCollapseId")
        if not body:
            return refused(400, "PayloadEmpty")
        if len(body) > 4096:
            return refused(413, "PayloadTooLarge")
        if not isinstance(json.loads(body).get("aps"), dict):
            return refused(400, "PayloadEmpty")
        if path[1] not in self.tokens:
            return 400, {"reason": "BadDeviceToken"}
        return 200, None

    def _judge_provider(self, field):
        if not field or not field.lower().startswith("bearer "):
            return "MissingProviderToken"
        token = field[7:]
        try:
            header = jwt.get_unverified_header(token)
            claims = jwt.decode(token, self.public_key, algorithms=["ES256"], options={"verify_iat": False})
        except jwt.PyJWTError:
            return "InvalidProviderToken"
        if header.get("kid") != self.key_id or claims.get("iss") != self.team:
            return "InvalidProviderToken"
        if not -60 <= time.time() - claims["iat"] <= 3600:
            return "ExpiredProviderToken"
        if token not in self.provider_tokens:
            self.provider_tokens.append(token)
        return None


class HTTPStandIn(StandIn):
    """A stand-in over HTTP/1.1."""

    def __init__(self, identity):
        super().__init__()
        stand_in = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                stand_in.requests.append((self.path, dict(self.headers.items()), body))
                deserved = stand_in.deserved(self.path, self.headers, body)
                answer = stand_in.next_answer() if stand_in.is_scripted(self.path) else Answer()
                stand_in.answer(self, deserved, answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.server.socket = server_context(identity, ["http/1.1"]).wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def is_scripted(self, path):
        return True

    def answer(self, handler, deserved, answer):
        if answer.misbehaviour == "silence":
            time.sleep(30)
            return
        if answer.misbehaviour == "close":
            handler.close_connection = True
            return
        status, body = (answer.status, answer.body) if answer.status else deserved
        handler.send_response(status)
        for name, value in answer.fields:
            handler.send_header(name, value)
        if answer.misbehaviour == "endless":
            handler.send_header("Content-Length", str(1 << 40))
            handler.end_headers()
            try:
                while True:
                    handler.wfile.write(b" " * 65536)
            except OSError:
                handler.close_connection = True
            return
        data = json.dumps(body).encode() if body is not None else b""
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)


# Google: https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages and RFC 7523
class FCM(HTTPStandIn):
    """Firebase Cloud Messaging, and the address that gives access tokens."""

    AUDIENCE = "https://oauth2.googleapis.com/token"
    # Either permission is enough.
    SCOPES = {"https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform"}
    ERROR = "type.googleapis.com/google.firebase.fcm.v1.FcmError"

    def __init__(self, identity, project, email, public_key, tokens):
        self.project, self.email, self.public_key, self.tokens = project, email, public_key, set(tokens)
        self.granted = []
        self.messages = []
        super().__init__(identity)

    def is_scripted(self, path):
        return path != "/token"

    @classmethod
    def error(cls, status, word, code, *details):
        """An error of the service, by its status, the word of its status and the code of the details."""
        return Answer(status, {"error": {
            "code": status, "message": "A sentence for developers.", "status": word,
            "details": [{"@type": cls.ERROR, "errorCode": code}, *details]}})

    def deserved(self, path, headers, body):
        if path == "/token":
            return self._grant(headers, body)
        refuse = lambda status, word, code, *details: (status, self.error(status, word, code, *details).body)
        if path != f"/v1/projects/{self.project}/messages:send":
            self.problems.append(f"path {path}")
            return 404, {"error": {"code": 404, "status": "NOT_FOUND"}}
        if headers.get("Authorization", "").removeprefix("Bearer ") not in self.granted:
            self.problems.append("access token")
            return 401, {"error": {"code": 401, "status": "UNAUTHENTICATED"}}
        try:
            message = json.loads(body)["message"]
            assert set(message) <= {"token", "data", "android", "notification", "apns", "webpush", "fcm_options"}
            assert all(isinstance(value, str) for value in message.get("data", {}).values())
            android = message.get("android", {})
            assert android.get("priority", "NORMAL").upper() in ("NORMAL", "HIGH")
            assert re.fullmatch(r"\d+(\.\d{1,9})?s", android.get("ttl", "0s"))
            assert sum(len(name) + len(value) for name, value in message.get("data", {}).items()) <= 4096
        except (AssertionError, KeyError, ValueError):
            self.problems.append("message")
            return refuse(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT")
        self.messages.append(message)
        if message["token"] not in self.tokens:
            return refuse(
                400, "INVALID_ARGUMENT", "INVALID_ARGUMENT",
                {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [
                    {"field": "message.token", "description": "Invalid registration token"}]})
        return 200, {"name": f"projects/{self.project}/messages/0:1"}

    def _grant(self, headers, body):
        form = urllib.parse.parse_qs(body.decode(), strict_parsing=True)
        try:
            assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
            claims = jwt.decode(
                form["assertion"][0], self.public_key, algorithms=["RS256"], audience=self.AUDIENCE, issuer=self.email,
                options={"require": ["aud", "exp", "iat", "iss"]})
            assert claims["exp"] - claims["iat"] <= 3600 and self.SCOPES.intersection(claims["scope"].split())
        except (AssertionError, KeyError, jwt.PyJWTError) as error:
            self.problems.append(f"statement: {error!r}")
            return 400, {"error": "invalid_grant"}
        self.granted.append(f"ya29.stand-in-{len(self.granted)}")
        return 200, {"access_token": self.granted[-1], "expires_in": 3599, "token_type": "Bearer"}


class WebPush(HTTPStandIn):
    """A push service of the web (RFC 8030) that has one subscription, and reads its messages as the device would."""

    def __init__(self, identity):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.secret = b"sixteen bytes of"
        self.messages = []
        super().__init__(identity)
        self.origin = f"https://localhost:{self.port}"

    def subscription(self):
        point = self.key.public_key().public_numbers()
        public = b"\4" + point.x.to_bytes(32, "big") + point.y.to_bytes(32, "big")
        encode = lambda value: base64.urlsafe_b64encode(value).rstrip(b"=").decode()
        return {"endpoint": f"{self.origin}/push/one", "keys": {"p256dh": encode(public), "auth": encode(self.secret)}}

    def deserved(self, path, headers, body):
        if path != "/push/one":
            return 404, None
        status = self.judged(headers, body)
        if status == 201:
            try:
                self.messages.append(http_ece.decrypt(body, private_key=self.key, auth_secret=self.secret))
            except Exception as error:
                # The service cannot know: the device acknowledges a message that does not open.
                self.problems.append(f"encryption: {error!r}")
        return status, None

    def judged(self, headers, body):
        """The status that a message deserves for all that a push service can see of it."""
        try:
            claims = self._signature(headers["Authorization"])
            assert claims["aud"] == self.origin and time.time() < claims["exp"] <= time.time() + 86_400
            assert claims["sub"].startswith(("mailto:", "https:"))
        except Exception as error:  # Whatever the client did: it is refused.
            self.problems.append(f"signature: {error!r}")
            return 403
        if not re.fullmatch(r"\d+", headers.get("TTL", "")):
            self.problems.append("TTL")
            return 400
        if headers.get("Urgency", "normal") not in ("very-low", "low", "normal", "high"):
            self.problems.append("Urgency")
            return 400
        if not re.fullmatch(r"[A-Za-z0-9_-]{0,32}", headers.get("Topic", "")):
            self.problems.append("Topic")
            return 400
        if len(body) > 4096:
            return 413
        if headers.get("Content-Encoding") != "aes128gcm":
            self.problems.append("Content-Encoding")
            return 415
        return 201

    def _signature(self, field):
        # py-vapid judges the signature; what it has checked is read again.
        if not Vapid02.verify(field):
            raise ValueError("vapid")
        token = re.search(r"t=([^,\s]+)", field)[1]
        return jwt.decode(token, options={"verify_signature": False, "verify_aud": False})
