"""`countersign push test unified-push` against a push server of other makers: Prosody with `mod_unified_push`, at which a
distributor registers as the one of a phone does."""

import base64
import json
import unittest

import http_ece
import requests
from cryptography.hazmat.primitives.asymmetric import ec

import operators  # noqa: F401  (the path of the scripts)
import prosody
from test_push import PushTest
from test_push_stand_ins import pem


class UnifiedPush(PushTest):
    NAME = "unified-push"
    OPTIONS = {}

    def setUp(self):
        super().setUp()
        self.service = self.kept(prosody.Prosody(self.folder, self.identity, **self.OPTIONS))
        self.distributor = self.kept(prosody.Distributor(self.service))
        self.settings["unifiedPush"] = "true"
        # The keys that the connector in the app makes for its endpoint.
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.secret_of_app = b"sixteen bytes of"

    def subscription(self, endpoint):
        encode = lambda value: base64.urlsafe_b64encode(value).rstrip(b"=").decode()
        point = self.key.public_key().public_numbers()
        public = b"\4" + point.x.to_bytes(32, "big") + point.y.to_bytes(32, "big")
        return {"endpoint": endpoint, "keys": {"p256dh": encode(public), "auth": encode(self.secret_of_app)}}

    def registered(self):
        endpoint = self.distributor.register("com.example.app", "alice")
        self.assertTrue(endpoint.startswith(self.service.origin + "/"), endpoint)
        return endpoint

    def opened(self, number=1):
        record = self.distributor.wait_for_push(number)
        return json.loads(http_ece.decrypt(record, private_key=self.key, auth_secret=self.secret_of_app))


class UnifiedPushAtProsody(UnifiedPush):
    def test_the_distributor_gets_the_record_and_the_app_opens_it(self):
        self.expect(self.push(self.NAME, self.subscription(self.registered())), 0, "taken")
        self.assertEqual(self.opened(), {"nma_data_version": "1"})

    def test_with_the_key_of_web_push_the_push_server_takes_the_identification_too(self):
        self.settings |= {
            "webPushKey": self.secret("vapid.pem", pem(ec.generate_private_key(ec.SECP256R1()))),
            "webPushContact": "mailto:push@example.com"}
        self.expect(self.push(self.NAME, self.subscription(self.registered())), 0, "taken")
        self.assertEqual(self.opened(), {"nma_data_version": "1"})

    def test_an_endpoint_that_nobody_has_ends_the_target(self):
        self.expect(self.push(self.NAME, self.subscription(self.service.origin + "/push/nobody")), 1, "no longer")

    def test_a_push_that_the_distributor_does_not_take_is_tried_again_later(self):
        target = self.subscription(self.registered())
        # The module of Debian answers 500 to each: it means 404 and 503, and looks for the stanza in the wrong place.
        for self.distributor.refusal in ("item-not-found", "recipient-unavailable"):
            self.expect(self.push(self.NAME, target), 1, "now")
        self.assertEqual(self.distributor.pushes, [])

    def test_the_push_server_takes_a_record_of_4096_bytes_and_refuses_a_longer_one(self):
        # The longest record that the server makes (`webPushRecordBytes`), and one byte more.
        endpoint = self.registered()
        for size, status in ((4096, 201), (4097, 413)):
            answer = requests.post(endpoint, data=b"x" * size, verify=str(self.authority.certificate), timeout=30)
            self.assertEqual(answer.status_code, status)
        self.assertEqual(len(self.distributor.wait_for_push()), 4096)

    def test_without_the_setting_there_is_no_dispatcher(self):
        del self.settings["unifiedPush"]
        self.expect(self.push(self.NAME, self.subscription(self.registered())), 2, "no push service")

    def test_a_private_network_is_called_only_if_it_is_open_to_devices(self):
        # The address of the server is a public one, so that loopback counts as private.
        self.settings["issuer"] = "https://sign-in.example.com"
        target = self.subscription(self.registered())
        self.settings["outgoingNetworks"] = "127.0.0.0/8,::1/128"
        self.expect(self.push(self.NAME, target), 5)
        self.assertEqual(self.distributor.pushes, [])
        self.settings["pushNetworks"] = self.settings.pop("outgoingNetworks")
        self.expect(self.push(self.NAME, target), 0, "taken")
        self.assertEqual(self.opened(), {"nma_data_version": "1"})


class UnifiedPushAtAStricterProsody(UnifiedPush):
    OPTIONS = {"longest": 64}

    def test_a_message_that_is_too_long_for_the_push_server_is_refused(self):
        self.expect(self.push(self.NAME, self.subscription(self.registered())), 1, "status 413")
        self.assertEqual(self.distributor.pushes, [])


class UnifiedPushWithAnEndedRegistration(UnifiedPush):
    OPTIONS = {"lifetime": -1}

    def test_an_endpoint_whose_registration_is_over_ends_the_target(self):
        self.expect(self.push(self.NAME, self.subscription(self.registered())), 1, "no longer")
        self.assertEqual(self.distributor.pushes, [])


if __name__ == "__main__":
    unittest.main()
