"""`countersign push test` against the stand-ins of push services: what the program sends over TLS, and what it makes of
each answer and of each misbehaviour of a network. The stand-ins are judged by test_push_stand_ins.py."""

import json
import unittest

from cryptography.hazmat.primitives.asymmetric import ec, rsa

import operators  # The folder of `programs` is known from here on.
import programs
import push_stand_ins
from push_stand_ins import Answer
from test_push_stand_ins import TOKEN, StandInTest, pem


class PushTest(StandInTest):
    def setUp(self):
        super().setUp()
        self.settings = {"caFile": self.authority.certificate, "data": self.folder / "data",
                         "keyFile": self.folder / "key"}

    def secret(self, name, text):
        """A file that only its owner can read."""
        file = self.folder / name
        file.write_text(text)
        file.chmod(0o600)
        return file

    def push(self, dispatcher, target, *answers):
        self.service.answers = list(answers)
        config = self.folder / "countersign.yaml"
        config.write_text("".join(f"{name}: {json.dumps(str(value))}\n" for name, value in self.settings.items()))
        return programs.run(
            "countersign", "push", "test", dispatcher, "--config", config, "--target-file",
            self.secret("target", target if isinstance(target, str) else json.dumps(target)))

    def expect(self, result, code, *words):
        self.assertEqual(result[0], code, result)
        for word in words:
            self.assertIn(word, result[1] + result[2])
        # Neither a target nor a credential is repeated.
        for secret in (TOKEN, "registered", "ya29.", "BEGIN PRIVATE KEY", "eyJ"):
            self.assertNotIn(secret, result[1] + result[2])


class APNs(PushTest):
    NAME = "apple-push-notification-service"

    def setUp(self):
        super().setUp()
        key = ec.generate_private_key(ec.SECP256R1())
        self.service = self.kept(push_stand_ins.APNs(
            self.identity, "com.example.app", "DEF123GHIJ", "ABC123DEFG", key.public_key(), [TOKEN]))
        self.settings |= {
            "apnsKey": self.secret("AuthKey.p8", pem(key)), "apnsKeyId": "ABC123DEFG", "apnsTeam": "DEF123GHIJ",
            "apnsTopic": "com.example.app", "apnsEnvironment": "production",
            "apnsAddress": f"https://localhost:{self.service.port}"}

    def test_a_push_is_taken_over_http_2(self):
        self.expect(self.push(self.NAME, TOKEN), 0, "taken")
        self.assertEqual((self.service.problems, self.service.protocols), ([], ["h2"]))
        fields, body = self.service.requests[0]
        self.assertEqual((fields["apns-push-type"], fields["apns-priority"]), ("alert", "10"))
        self.assertEqual(set(json.loads(body)), {"aps", "nma_data_version"})

    def test_each_answer_has_its_meaning(self):
        for answer, words in (
                (Answer(410, {"reason": "Unregistered", "timestamp": 1}), "no longer"),
                (Answer(400, {"reason": "BadDeviceToken"}), "BadDeviceToken"),
                (Answer(403, {"reason": "ExpiredProviderToken"}), "ExpiredProviderToken"),
                (Answer(429, {"reason": "TooManyRequests"}, (("retry-after", "31536000"),)), "now"),
                (Answer(503, {"reason": "Shutdown"}), "now"),
                (Answer(413, {"reason": "PayloadTooLarge"}), "PayloadTooLarge")):
            self.expect(self.push(self.NAME, TOKEN, answer), 1, words)

    def test_a_wrong_team_is_refused_by_the_service_and_the_operator_reads_why(self):
        self.settings["apnsTeam"] = "OTHERTEAM1"
        self.expect(self.push(self.NAME, TOKEN), 1, "InvalidProviderToken", "guide for operators")

    def test_no_answer_a_closed_connection_goaway_and_reset_end_the_call(self):
        for misbehaviour in ("silence", "close", "goaway", "reset", "endless"):
            self.expect(self.push(self.NAME, TOKEN, Answer(200, misbehaviour=misbehaviour)), 5)

    def test_a_certificate_of_another_authority_is_refused(self):
        del self.settings["caFile"]
        self.expect(self.push(self.NAME, TOKEN), 5, "certificate")
        self.assertEqual(self.service.requests, [])

    def test_a_key_file_that_others_can_read_is_refused_before_any_call(self):
        (self.folder / "AuthKey.p8").chmod(0o640)
        self.expect(self.push(self.NAME, TOKEN), 1, "can be read by others", "chmod 600")
        self.assertEqual(self.service.requests, [])


class FCM(PushTest):
    NAME = "firebase-cloud-messaging"

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
        self.settings |= {"fcmAccount": self.secret("account.json", json.dumps(account)), "fcmAddress": base}

    def test_a_data_message_of_high_priority_is_taken(self):
        self.expect(self.push(self.NAME, "registered"), 0, "taken")
        self.assertEqual(self.service.problems, [])
        message = self.service.messages[0]
        self.assertEqual((message["data"], message["android"]["priority"]), ({"nma_data_version": "1"}, "HIGH"))

    def test_each_answer_has_its_meaning(self):
        error = push_stand_ins.FCM.error
        self.expect(self.push(self.NAME, "unknown"), 1, "INVALID_ARGUMENT", "does not know the device")
        for answer, words in (
                (error(404, "NOT_FOUND", "UNREGISTERED"), "no longer"),
                (error(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"), "SENDER_ID_MISMATCH"),
                (error(401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR"), "status 401"),
                (error(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"), "now"), (Answer(503), "now")):
            self.expect(self.push(self.NAME, "registered", answer), 1, words)

    def test_no_answer_a_closed_connection_and_an_endless_answer_end_the_call(self):
        for misbehaviour in ("silence", "close", "endless"):
            self.expect(self.push(self.NAME, "registered", Answer(200, misbehaviour=misbehaviour)), 5)


class WebPush(PushTest):
    NAME = "web-push"

    def setUp(self):
        super().setUp()
        self.service = self.kept(push_stand_ins.WebPush(self.identity))
        self.settings |= {
            "webPushKey": self.secret("vapid.pem", pem(ec.generate_private_key(ec.SECP256R1()))),
            "webPushContact": "mailto:push@example.com"}

    def test_the_device_opens_the_message_and_the_service_takes_the_signature(self):
        self.expect(self.push(self.NAME, self.service.subscription()), 0, "taken")
        self.assertEqual(self.service.problems, [])
        self.assertEqual([json.loads(message) for message in self.service.messages], [{"nma_data_version": "1"}])
        _, fields, body = self.service.requests[0]
        self.assertEqual((fields["urgency"], fields["content-encoding"]), ("high", "aes128gcm"))
        self.assertLessEqual(len(body), 4096)

    def test_each_answer_has_its_meaning(self):
        for answer, words in (
                (Answer(404), "no longer"), (Answer(410), "no longer"), (Answer(403), "status 403"),
                (Answer(413), "status 413"), (Answer(429), "now"), (Answer(503), "now"),
                # A redirect is an answer, and is not followed.
                (Answer(307, fields=(("Location", "https://localhost/"),)), "status 307")):
            self.expect(self.push(self.NAME, self.service.subscription(), answer), 1, words)
        self.assertEqual(len(self.service.requests), 7)

    def test_a_private_network_is_not_called(self):
        # The address of the server is a public one, so that loopback counts as private.
        self.settings["issuer"] = "https://sign-in.example.com"
        self.expect(self.push(self.NAME, self.service.subscription()), 5)
        self.assertEqual(self.service.requests, [])


if __name__ == "__main__":
    unittest.main()
