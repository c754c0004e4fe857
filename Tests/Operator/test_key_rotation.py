"""Another key-encryption key, and a server that is killed while it seals everything anew."""

import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import time
import unittest
import urllib.request

import operators
import programs

# How many moments of the sealing it is killed at, and of how many accounts. `make soak` has more.
KILLS = int(os.environ.get("KEY_KILLS", "8"))
ACCOUNTS = int(os.environ.get("KEY_ACCOUNTS", "600"))


class Administration(http.client.HTTPConnection):
    """The socket that a running server has for its operator."""

    def __init__(self, folder):
        super().__init__("localhost")
        self.path = str(folder / "data" / "admin.sock")

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)

    def call(self, method, path, body=None):
        text = None if body is None else json.dumps(body)
        self.request(method, "/admin/v1" + path, text, {"Content-Type": "application/json"} if text else {})
        answer = self.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise programs.Failed(f"{method} {path}: {answer.status} {content}")
        return json.loads(content) if content else {}


class KeyRotation(operators.OperatorTest):
    def key_set(self, server):
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/oauth2/jwks", timeout=10) as answer:
            return json.load(answer)["keys"]

    def wait_until_resealed(self, server):
        end = time.monotonic() + 120
        while "Nothing is sealed under former" not in server.process.log.read_text():
            self.assertLess(time.monotonic(), end, server.process.log.read_text()[-2000:])
            time.sleep(0.02)

    def test_a_server_that_is_killed_while_it_seals_anew_loses_nothing(self):
        server = self.server(self.folder).start()
        administration = Administration(self.folder)
        names = [f"person-{number:04}" for number in range(ACCOUNTS)]
        for name in names:
            administration.call("POST", "/accounts", {"username": name, "displayName": f"The person {name}"})
        keys = self.key_set(server)
        server.stop()
        command = [programs.BINARIES / "countersign", *server.arguments]

        first = self.succeed(self.folder, "admin", "key", "list")["sealing"][0]["id"]
        second = self.succeed(self.folder, "db", "add-key")["id"]
        # How long all of it takes, in a copy.
        subprocess.run(["cp", "-a", self.folder / "data", self.folder / "kept"], check=True)
        start = time.monotonic()
        server.start()
        self.wait_until_resealed(server)
        seconds = time.monotonic() - start
        server.stop()
        subprocess.run(["rm", "-rf", self.folder / "data"], check=True)
        (self.folder / "kept").rename(self.folder / "data")
        server.process.log.write_text("")

        interrupted = 0
        for number in range(KILLS):
            log = open(self.folder / "killed.log", "wb")
            process = subprocess.Popen(
                list(map(str, command)), env=programs.ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            # One moment of each part of the time, so that few leave no gap.
            time.sleep(seconds / 4 + (number + random.random()) / KILLS * seconds * 3 / 4)
            process.send_signal(signal.SIGKILL)
            process.wait()
            log.close()
            listed = self.succeed(self.folder, "admin", "key", "list")["sealing"]
            self.assertEqual(listed[0], {"id": second, "isNewest": True})
            text = (self.folder / "killed.log").read_text()
            interrupted += "are sealed anew under another" in text and "Nothing is sealed" not in text
            name = random.choice(names)
            person = self.succeed(self.folder, "admin", "account", "show", name)
            self.assertEqual(person["displayName"], f"The person {name}", "found by its name, and opened")
            self.assertTrue(self.succeed(self.folder, "audit", "verify")["intact"])
            if len(listed) == 1 and number < KILLS - 1:
                # It has come through before it was killed: another key, and on.
                second = self.succeed(self.folder, "db", "add-key")["id"]
        self.assertGreater(interrupted, 0)
        print(f"{interrupted} of {KILLS} kills while it was sealing")

        server.start()
        needed = self.succeed(self.folder, "admin", "key", "list")["sealing"]
        if len(needed) > 1:
            self.wait_until_resealed(server)
        self.assertEqual(self.key_set(server), keys, "the signing keys are what they were")
        forgotten = self.succeed(self.folder, "db", "forget-keys")
        self.assertIn(first, forgotten["forgotten"])
        self.assertEqual(forgotten["needed"], [second])
        server.stop()
        self.assertEqual(len((self.folder / "key").read_text().split()), 1)
        # With the last key alone everything is there.
        server.start()
        administration = Administration(self.folder)
        for name in names:
            person = administration.call("GET", f"/accounts/{name}")
            self.assertEqual((person["username"], person["displayName"]), (name, f"The person {name}"))
        self.assertEqual(self.key_set(server), keys)

    def test_a_backup_is_restored_with_the_key_of_its_time_alone(self):
        server = self.server(self.folder).start()
        self.succeed(self.folder, "admin", "account", "add", "alice")
        backup = self.folder / "one.backup"
        manifest = self.succeed(self.folder, "db", "backup", backup)
        former = (self.folder / "key").read_text()
        server.stop()
        self.succeed(self.folder, "db", "add-key")
        server.start()
        self.wait_until_resealed(server)
        self.succeed(self.folder, "db", "forget-keys")
        server.stop()
        present = (self.folder / "key").read_text()
        self.assertNotIn(former, present)

        code, _, err = self.command(self.folder, "db", "restore", backup, "--replace")
        self.assertEqual(code, 1)
        self.assertIn(manifest["key"], err)
        self.assertEqual(self.names(self.folder), ["alice"])
        (self.folder / "key").write_text(present + former)
        report = self.succeed(self.folder, "db", "restore", backup, "--replace")
        self.assertTrue(report["compared"])
        self.assertEqual(report["changes"], [], "what was sealed anew was not changed")
        self.assertEqual(self.names(self.folder), ["alice"])
        (self.folder / "key").write_text(present)
        code, _, err = self.command(self.folder, "admin", "account", "list")
        self.assertEqual(code, 1)
        self.assertIn("lacks a former key", err)
        self.assertTrue(re.search(manifest["key"], err), "which one")


if __name__ == "__main__":
    unittest.main()
