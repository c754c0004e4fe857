"""The stand-ins of push services, tried with clients that work against the real services: a stand-in that such a client
takes for the service judges our own requests by more than our own reading."""

import asyncio
import base64
import pathlib
import ssl
import tempfile
import unittest
from unittest import mock

import aioapns
import aioapns.connection
import firebase_admin
import firebase_admin.exceptions
import firebase_admin.messaging
import http_ece
import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from py_vapid import Vapid02

import operators  # noqa: F401  (the path of the scripts)
import push_stand_ins
from authority import Authority
from push_stand_ins import Answer

TOKEN = "0f" * 32


def pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()


class StandInTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="countersign-push-", dir="/var/tmp")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.authority = Authority(self.folder)
        self.identity = self.authority.issue("localhost", "DNS:localhost")

    def kept(self, stand_in):
        self.addCleanup(stand_in.stop)
        return stand_in


class APNsWithAioapns(StandInTest):
    def setUp(self):
        super().setUp()
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.service = self.kept(push_stand_ins.APNs(
            self.identity, "com.example.app", "DEF123GHIJ", "ABC123DEFG", self.key.public_key(), [TOKEN]))

    def send(self, *answers, token=TOKEN, topic="com.example.app", key=None, requests_to_send=1):
        self.service.answers += answers

        async def run():
            client = aioapns.APNs(
                key=pem(key or self.key), key_id="ABC123DEFG", team_id="DEF123GHIJ", topic=topic,
                max_connection_attempts=1,
                ssl_context=ssl.create_default_context(cafile=self.authority.certificate))
            protocol = type("Local", (client.pool.protocol_class,), {
                "APNS_SERVER": "localhost", "APNS_PORT": self.service.port})
            client.pool.protocol_class = protocol
            result = None
            for _ in range(requests_to_send):
                result = await asyncio.wait_for(client.send_notification(aioapns.NotificationRequest(
                    device_token=token, message={"aps": {"alert": "Hello"}}, time_to_live=60,
                    push_type=aioapns.PushType.ALERT, priority=10, collapse_key="one")), 10)
            client.pool.close()
            return result

        return asyncio.run(run())

    def test_a_push_is_taken(self):
        self.assertTrue(self.send(requests_to_send=2).is_successful)
        self.assertEqual((self.service.problems, len(self.service.requests)), ([], 2))
        # One connection, one token for both.
        self.assertEqual((len(self.service.protocols), len(self.service.provider_tokens)), (1, 1))

    def test_an_unknown_device_another_topic_and_another_key_are_refused_as_apple_refuses_them(self):
        for arguments, status, reason in (
                ({"token": "00" * 32}, "400", "BadDeviceToken"), ({"topic": "com.other"}, "400", "TopicDisallowed"),
                ({"key": ec.generate_private_key(ec.SECP256R1())}, "403", "InvalidProviderToken")):
            result = self.send(**arguments)
            self.assertEqual((result.status, result.description), (status, reason))

    def test_a_scripted_answer_is_understood(self):
        result = self.send(Answer(410, {"reason": "Unregistered", "timestamp": 1_899_999_999_123}))
        self.assertEqual((result.status, result.description), ("410", "Unregistered"))
        self.assertEqual(int(result.timestamp), 1_899_999_999_123)


class FCMWithFirebaseAdmin(StandInTest):
    def setUp(self):
        super().setUp()
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        email = "push@example-project.iam.gserviceaccount.com"
        self.service = self.kept(push_stand_ins.FCM(
            self.identity, "example-project", email, key.public_key(), ["registered"]))
        base = f"https://localhost:{self.service.port}"
        account = {
            "type": "service_account", "project_id": "example-project", "private_key_id": "key-1",
            "private_key": pem(key), "client_email": email, "token_uri": f"{base}/token"}
        for change in (
                mock.patch.dict("os.environ", REQUESTS_CA_BUNDLE=str(self.authority.certificate)),
                mock.patch.object(
                    firebase_admin.messaging._MessagingService, "FCM_URL", base + "/v1/projects/{0}/messages:send")):
            change.start()
            self.addCleanup(change.stop)
        self.app = firebase_admin.initialize_app(firebase_admin.credentials.Certificate(account), name=self.id())
        self.addCleanup(firebase_admin.delete_app, self.app)

    def send(self, token):
        return firebase_admin.messaging.send(firebase_admin.messaging.Message(
            token=token, data={"nma_data": "x"},
            android=firebase_admin.messaging.AndroidConfig(priority="high", ttl=57)), app=self.app)

    def test_a_message_is_taken_with_a_token_of_the_service_account(self):
        self.assertTrue(self.send("registered").startswith("projects/example-project/messages/"))
        self.assertEqual(self.service.problems, [])
        self.assertEqual(self.service.messages[0]["data"], {"nma_data": "x"})
        self.assertEqual(self.service.messages[0]["android"], {"priority": "high", "ttl": "57s"})

    def test_the_library_understands_each_refusal_as_google_means_it(self):
        with self.assertRaises(firebase_admin.exceptions.InvalidArgumentError):
            self.send("unknown")
        for answer, error in (
                (push_stand_ins.FCM.error(404, "NOT_FOUND", "UNREGISTERED"),
                 firebase_admin.messaging.UnregisteredError),
                (push_stand_ins.FCM.error(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"),
                 firebase_admin.messaging.SenderIdMismatchError),
                (push_stand_ins.FCM.error(401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR"),
                 firebase_admin.messaging.ThirdPartyAuthError),
                (push_stand_ins.FCM.error(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"),
                 firebase_admin.messaging.QuotaExceededError)):
            # After 401 the library fetches another access token and tries again, twice.
            self.service.answers = [answer] * 3
            with self.assertRaises(error):
                self.send("registered")


class WebPushWithLibraries(StandInTest):
    def setUp(self):
        super().setUp()
        self.service = self.kept(push_stand_ins.WebPush(self.identity))
        self.vapid = Vapid02()
        self.vapid.generate_keys()

    def send(self, message, claims=None, **fields):
        subscription = self.service.subscription()
        decode = lambda text: base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        body = http_ece.encrypt(
            message, private_key=ec.generate_private_key(ec.SECP256R1()),
            dh=decode(subscription["keys"]["p256dh"]), auth_secret=decode(subscription["keys"]["auth"]))
        signature = self.vapid.sign({"sub": "mailto:push@example.com", "aud": self.service.origin, **(claims or {})})
        return requests.post(
            subscription["endpoint"], data=body, verify=str(self.authority.certificate),
            headers={"TTL": "60", "Content-Encoding": "aes128gcm", **signature, **fields})

    def test_a_message_of_the_libraries_opens(self):
        self.assertEqual(self.send(b"words", Urgency="high", Topic="one").status_code, 201)
        self.assertEqual((self.service.messages, self.service.problems), ([b"words"], []))

    def test_a_signature_for_another_service_a_missing_time_and_a_long_record_are_refused(self):
        self.assertEqual(self.send(b"words", {"aud": "https://other.example"}).status_code, 403)
        self.assertEqual(self.send(b"words", TTL="soon").status_code, 400)
        self.assertEqual(self.send(b"x" * 4090).status_code, 413)

    def test_a_flipped_bit_is_taken_and_does_not_open(self):
        with mock.patch.object(http_ece, "encrypt", side_effect=lambda *a, **k: b"\0" * 200):
            self.assertEqual(self.send(b"words").status_code, 201)
        self.assertEqual(self.service.messages, [])
        self.assertIn("encryption", self.service.problems[0])


if __name__ == "__main__":
    unittest.main()
