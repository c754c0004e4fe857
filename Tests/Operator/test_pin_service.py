"""The service that evaluates PINs, beside a server: two processes, a phone, and what happens without one of them."""

import shutil
import unittest

import operators
import programs


class PinService(operators.OperatorTest):
    def service(self, name="pins"):
        """`countersign pin-service`, which can be asked as soon as it is there."""
        log = self.folder / f"{name}.log"
        process = programs.Process(
            "countersign", ["pin-service", "--data", self.folder / name, "--socket", self.socket], log)
        self.addCleanup(process.stop)
        process.wait_until(lambda: "is ready at" in log.read_text())
        return process

    def setUp(self):
        super().setUp()
        self.socket = self.folder / "pin.socket"

    def served(self):
        server = self.server(self.folder / "server")
        # All that it can say is looked through afterwards, with the log of the service.
        server.arguments += ["--log-level", "trace", "--pin-service", self.socket]
        return server.start()

    def change(self, phone, former, new):
        # What authenticates is asked first, then the new PIN.
        return phone("pin", "change", "--approve", "--pin-stdin", stdin=f"{former}\n{new}\n")

    def test_a_pin_is_right_with_the_service_alone(self):
        first = self.service()
        server = self.served()
        server.admin("account", "add", "alice")
        phone = programs.Phone(self.folder / "phone")
        _, pin = server.personalize("alice", phone)
        self.change(phone, pin, "824193").expect(0)

        # Without it: the person is told, the operator reads of which setting.
        first.stop()
        self.assertNotIn("--pin-service", server.log())
        gone = self.change(phone, "824193", "506193")
        self.assertNotEqual(gone.code, 0)
        self.assertIn("--pin-service", server.log())
        self.assertNotIn("824193", server.log())

        # The same again: nothing was counted, and the former PIN counts.
        self.service()
        self.change(phone, "824193", "506193").expect(0)

    def test_another_service_is_found_out(self):
        first = self.service()
        server = self.served()
        server.admin("account", "add", "alice")
        phone = programs.Phone(self.folder / "phone")
        _, pin = server.personalize("alice", phone)
        first.stop()
        # Somebody has put a service with another secret at its socket.
        impostor = self.service("impostor")
        refused = self.change(phone, pin, "824193")
        self.assertEqual(refused.code, 1)
        self.assertIn("server-signature-invalid", str(refused.events) + refused.err)
        impostor.stop()

    def test_a_server_starts_without_it_and_says_so(self):
        server = self.served()
        self.assertIn("The PIN service does not answer", server.log())
        server.admin("account", "add", "alice")
        phone = programs.Phone(self.folder / "phone")
        with self.assertRaises(programs.Failed):
            server.personalize("alice", phone)
        self.service()
        shutil.rmtree(phone.home)
        server.personalize("alice", programs.Phone(self.folder / "phone"))

    def test_refusals_say_what_to_do(self):
        first = self.service()
        code, _, err = programs.run(
            "countersign", "pin-service", "--data", self.folder / "pins", "--socket", self.folder / "other")
        self.assertEqual(code, 1)
        self.assertIn("Another process holds it", err)
        first.stop()
        (self.folder / "pins" / "master.key").chmod(0o644)
        code, _, err = programs.run(
            "countersign", "pin-service", "--data", self.folder / "pins", "--socket", self.socket)
        self.assertEqual(code, 1)
        self.assertIn("chmod 600", err)
        (self.folder / "pins" / "master.key").chmod(0o600)
        # A lost secret is not made anew: every PIN would be wrong.
        (self.folder / "pins" / "master.key").rename(self.folder / "kept.key")
        code, _, err = programs.run(
            "countersign", "pin-service", "--data", self.folder / "pins", "--socket", self.socket)
        self.assertEqual(code, 1)
        self.assertIn("master.key is missing", err)
        self.assertFalse((self.folder / "pins" / "master.key").exists())
        (self.folder / "kept.key").rename(self.folder / "pins" / "master.key")
        code, _, err = programs.run(
            "countersign", "pin-service", "--data", self.folder / "pins", "--socket", self.folder / "none" / "socket")
        self.assertEqual(code, 1)
        self.assertIn("--socket", err)


if __name__ == "__main__":
    unittest.main()
