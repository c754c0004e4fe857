"""Mail by a command: what the command says is told to the operator, and nothing of a letter. The mail programs themselves run
under the packaged unit in `make mail-programs`; here the unit's drop-ins are judged, and the guide's table is held to them."""

import configparser
import json
import re
import subprocess
import unittest

import operators
import programs

# Says what Postfix says where it is not let, and repeats the letter.
REFUSING = """#!/usr/bin/env python3
import base64, sys
head, _, body = sys.stdin.read().partition("\\n\\n")
sys.stderr.write("postdrop: warning: mail_queue_enter: create file maildrop/1.2: Permission denied\\n")
sys.stderr.write(head + "\\n" + body + "\\n" + base64.b64decode(body).decode())
sys.exit(75)
"""


class Mail(operators.OperatorTest):
    def refusing_server(self):
        server = self.server(self.folder)
        command = self.folder / "sendmail"
        command.write_text(REFUSING)
        command.chmod(0o700)
        server.arguments += ["--mail-command", f"{command} -t -i", "--mail-from", "no-reply@countersign.example"]
        server.start()
        return server

    def test_what_the_command_says_is_told_without_the_letter(self):
        self.refusing_server()
        code, _, err = self.command(self.folder, "mail", "test", "reader@post.example")
        self.assertEqual(code, 1, err)
        self.assertIn("ended with status 75", err)
        self.assertIn("maildrop/1.2: Permission denied", err)
        log = (self.folder / "server.log").read_text()
        self.assertIn("maildrop/1.2: Permission denied", log)
        for word in ("reader@post.example", "Somebody who runs", "Content-Transfer-Encoding"):
            self.assertNotIn(word, log)
            self.assertNotIn(word, err)

    def test_a_letter_that_is_taken_is_said_to_be(self):
        server = programs.Server(self.folder, mail=True)
        self.addCleanup(server.stop)
        server.start()
        self.assertEqual(self.succeed(self.folder, "mail", "test", "reader@post.example"), {"taken": True})
        self.assertIn("test of mail", server.mail_to("reader@post.example")["subject"])

    def test_without_a_server_or_a_mail_command_the_test_says_so(self):
        server = self.server(self.folder)
        server.start()
        code, _, err = self.command(self.folder, "mail", "test", "reader@post.example")
        self.assertEqual((code, "--mail-command" in err), (1, True), err)
        server.stop()
        code, _, err = self.command(self.folder, "mail", "test", "reader@post.example")
        self.assertEqual((code, "no server runs" in err), (5, True), err)

    def test_the_doctor_finds_what_is_wrong_and_says_so_by_its_exit_code(self):
        server = self.refusing_server()
        self.succeed(self.folder, "admin", "account", "add", "alice")
        code, _, err = self.command(self.folder, "admin", "account", "add", "Alice")
        self.assertNotEqual(code, 0)
        self.assertIn("The name is taken", err)
        (self.folder / "data").chmod(0o755)
        code, out, err = self.command(self.folder, "doctor", "--json")
        self.assertEqual(code, 1, err)
        checks = {check["name"]: check for check in json.loads(out)["checks"]}
        self.assertEqual(checks["names"]["verdict"], "good", checks["names"])
        self.assertEqual(checks["permissions"]["verdict"], "bad")
        self.assertIn("mode 755", checks["permissions"]["findings"][0])
        self.assertEqual(checks["mail"]["verdict"], "good", checks["mail"])
        server.stop()
        code, out, _ = self.command(self.folder, "doctor")
        self.assertEqual(code, 1)
        self.assertRegex(out, r"(?m)^unknown  mail$")

    def test_the_guides_mail_programs_have_what_the_unit_needs(self):
        guide = (programs.ROOT / "docs/guides/operator/passwords.md").read_text()
        rows = dict(re.findall(r"^\| (Postfix|Exim|OpenSMTPD|msmtp[^|]*) \| `([^`]+)` \|", guide, flags=re.M))
        self.assertEqual(len(rows), 4)
        self.assertTrue(all(command.startswith("/usr/") for command in rows.values()), rows)
        unit = configparser.RawConfigParser(strict=False)
        unit.optionxform = str
        unit.read([programs.ROOT / "packaging/countersign.service", programs.ROOT / "packaging/mail-by-postfix.conf"])
        # What the drop-in adds is what Postfix's sendmail was found to need; nothing of the unit is switched off.
        self.assertEqual(unit["Service"]["NoNewPrivileges"], "yes")
        self.assertEqual(unit["Service"]["SupplementaryGroups"], "postdrop")
        self.assertEqual(unit["Service"]["ReadWritePaths"], "/var/spool/postfix/maildrop")
        folder = self.folder / "systemd"
        folder.mkdir()
        merged = (programs.ROOT / "packaging/countersign.service").read_text()
        drop_in = (programs.ROOT / "packaging/mail-by-postfix.conf").read_text().partition("[Service]\n")[2]
        (folder / "countersign.service").write_text(merged.replace("[Service]\n", "[Service]\n" + drop_in))
        said = subprocess.run(
            ["systemd-analyze", "--no-pager", "security", "--offline=true", folder / "countersign.service"],
            capture_output=True, text=True)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertLessEqual(float(re.search(r"exposure level for \S+: ([\d.]+)", said.stdout)[1]), 1.5)


if __name__ == "__main__":
    unittest.main()
