"""Web Push with a real Firefox: what `countersign push test web-push` sends reaches the service worker of a page, and the
browser judges the encryption (RFC 8291) and says of each message what it has done with it."""

import base64
import json
import unittest

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

import firefox
import operators  # noqa: F401  (the path of the scripts)
from test_push import PushTest
from test_push_stand_ins import pem


class WebPushWithFirefox(PushTest):
    NAME = "web-push"

    def setUp(self):
        super().setUp()
        key = ec.generate_private_key(ec.SECP256R1())
        self.settings |= {"webPushKey": self.secret("vapid.pem", pem(key)), "webPushContact": "mailto:push@example.com"}
        point = key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
        self.service = self.kept(firefox.PushService(self.identity))
        self.browser = self.kept(firefox.Firefox(
            self.folder, self.service, base64.urlsafe_b64encode(point).rstrip(b"=").decode()))

    def test_the_service_worker_gets_the_words_and_a_flipped_bit_is_acknowledged_as_one_that_does_not_open(self):
        # As the browser writes it: with a member `expirationTime`.
        subscription = self.browser.subscription()
        self.assertTrue(subscription["endpoint"].startswith(self.service.origin))
        self.expect(self.push(self.NAME, subscription), 0, "taken")
        self.assertEqual(json.loads(self.browser.words()), {"nma_data_version": "1"})
        self.assertEqual(self.service.ack(), self.service.DELIVERED)

        def flipped(body):
            return body[:-1] + bytes([body[-1] ^ 1])

        self.service.change = flipped
        self.expect(self.push(self.NAME, subscription), 0, "taken")
        self.assertEqual(self.service.ack(), self.service.DOES_NOT_OPEN)
        self.service.change = lambda body: body
        self.expect(self.push(self.NAME, subscription), 0, "taken")
        self.assertEqual(json.loads(self.browser.words(2)), {"nma_data_version": "1"})
        self.assertEqual((self.service.ack(), self.browser.count()), (self.service.DELIVERED, 2))

        # A server with another key is no sender of this subscription.
        self.settings["webPushKey"] = self.secret("other.pem", pem(ec.generate_private_key(ec.SECP256R1())))
        self.expect(self.push(self.NAME, subscription), 1, "status 403")
        self.assertEqual((self.service.problems, self.browser.count()), ([], 2))


if __name__ == "__main__":
    unittest.main()
