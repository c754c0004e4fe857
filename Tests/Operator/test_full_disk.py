"""A server starts on a full disk: what is there can be read, and it writes again once there is room."""

import os
import subprocess
import unittest
import urllib.error
import urllib.request

import operators
import programs

SIZE = "8m"


def status(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


class FullDisk(operators.OperatorTest):
    """scripts/operator-tests runs this where a small disk can be mounted; what is mounted goes with the process."""

    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", self.disk], capture_output=True, text=True)
        if done.returncode != 0:
            if os.environ.get("COUNTERSIGN_CAN_MOUNT"):
                self.fail(done.stderr)
            self.skipTest("nothing can be mounted here; SQLiteDatabaseTests hold that a start writes nothing")
        self.addCleanup(subprocess.run, ["umount", self.disk], check=True)

    def start(self, server):
        """Starts without asking whether the store can be written."""
        server.process = programs.Process("countersign", server.arguments, server.folder / "server.log")
        server.process.wait_until(lambda: status(f"{server.issuer}/.well-known/openid-configuration") == 200)

    def test_restart_after_a_stop_and_after_a_kill(self):
        server = self.server(self.disk)
        server.start()
        self.succeed(self.disk, "admin", "account", "add", "alice")
        server.stop()
        rest = self.disk / "rest"
        file = os.open(rest, os.O_WRONLY | os.O_CREAT)
        try:
            while True:
                os.write(file, bytes(4096))
        except OSError:
            os.close(file)
        # Logs go to another place, as an operator's would.
        server.folder = self.folder
        ready = f"http://127.0.0.1:{server.operations_port}/readyz"

        self.start(server)
        self.assertEqual(status(ready), 503, "the disk is not full")
        self.assertEqual(self.names(self.disk), ["alice"])
        code, _, err = self.command(self.disk, "admin", "account", "add", "bob")
        self.assertNotEqual(code, 0, "the disk is not full")

        server.process._process.kill()
        server.process._process.wait()
        self.start(server)
        self.assertEqual(self.names(self.disk), ["alice"])
        server.stop()
        self.start(server)

        rest.unlink()
        self.assertEqual(status(ready), 200)
        self.succeed(self.disk, "admin", "account", "add", "bob")
        self.assertEqual(self.names(self.disk), ["alice", "bob"])

    def fill(self, left=0):
        """Leaves so many bytes of the disk."""
        with open(self.disk / "rest", "wb", buffering=0) as rest:
            try:
                while True:
                    rest.write(bytes(4096))
            except OSError:
                if left:
                    rest.truncate(rest.tell() - left)

    def test_a_step_on_a_full_disk_names_the_folder(self):
        server = self.server(self.disk)
        server.start()
        server.folder = self.folder
        server.stop()
        self.start(server)
        self.fill()
        code, _, err = self.command(self.disk, "admin", "account", "add", "bob")
        self.assertNotEqual(code, 0, "the disk is not full")
        log = (self.folder / "server.log").read_text()
        self.assertIn(f"the disk of {self.disk / 'data'} is full", log)
        self.assertNotIn("SQLite error", log)

    def test_a_backup_onto_a_full_disk_names_that_disk(self):
        server = self.server(self.folder)
        server.start()
        self.succeed(self.folder, "admin", "account", "add", "alice")
        for left in (0, 64 * 1024):
            self.fill(left)
            code, _, err = self.command(self.folder, "db", "backup", self.disk / "one.backup")
            self.assertEqual(code, 1, err)
            self.assertIn(str(self.disk), err)
            self.assertRegex(err, r"full|No space left on device|no room")
            self.assertNotIn("SQLite 13", err)
            self.assertEqual([path.name for path in self.disk.iterdir()], ["rest"])

    def test_a_first_start_on_a_full_disk_names_the_folder(self):
        self.fill(96 * 1024)
        server = self.server(self.disk)
        code, _, err = programs.run(*["countersign", *server.arguments])
        self.assertNotEqual(code, 0)
        self.assertIn(str(self.disk / "data"), err)
        self.assertRegex(err, r"full|No space left on device|no room")
        self.assertNotIn("SQLite 13", err)

    def test_a_check_without_room_names_the_folder_that_is_full(self):
        server = self.server(self.folder)
        server.start()
        self.succeed(self.folder, "admin", "account", "add", "alice")
        backup = self.folder / "one.backup"
        self.succeed(self.folder, "db", "backup", backup)
        # The copy is made, and there is no room for what a restore changes of it.
        size = backup.stat().st_size
        with open(self.disk / "rest", "wb") as rest:
            rest.write(bytes(8 * 1024 * 1024 - size - 16 * 1024))
        code, _, err = programs.run(
            "countersign", "db", "restore", backup, "--check", "--data", self.folder / "data", "--key-file",
            self.folder / "key", environment={"TMPDIR": str(self.disk)})
        self.assertEqual(code, 1, err)
        self.assertIn(str(self.disk), err)
        self.assertNotIn(str(self.folder / "data"), err)
        self.assertEqual([path.name for path in self.disk.iterdir()], ["rest"])


if __name__ == "__main__":
    unittest.main()
