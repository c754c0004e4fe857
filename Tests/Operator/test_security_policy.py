"""What an operator wants of the devices of personalised identities, and how long their PINs are."""

import operators
import programs


class SecurityPolicy(operators.OperatorTest):
    def test_a_rooted_device_is_taken_where_the_operator_says_so(self):
        server = self.server(self.folder / "server")
        usual = list(server.arguments)
        server.arguments = [*usual, "--require-security-report", "--pin-length", "8-8"]
        server.start()
        server.admin("account", "add", "alice")
        phone = programs.Phone(self.folder / "phone")
        phone("integrity", "--rooted").expect(0)
        with self.assertRaises(programs.Failed) as refused:
            server.personalize("alice", phone)
        self.assertIn("security-insufficient", str(refused.exception))

        server.stop()
        server.arguments = [*usual, "--require-security-report", "--pin-length", "8-8", "--accept-rooted"]
        server.start()
        other = programs.Phone(self.folder / "other")
        other("integrity", "--rooted").expect(0)
        _, pin = server.personalize("alice", other)
        self.assertEqual(len(pin), 8)
