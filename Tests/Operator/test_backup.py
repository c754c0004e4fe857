"""`countersign db backup` beside a server that writes, and `restore` killed at random moments of all its time."""

import os
import random
import signal
import subprocess
import threading
import time
import unittest

import operators
import programs

# How many moments of a restore it is killed at. `make soak` has more.
KILLS = int(os.environ.get("RESTORE_KILLS", "14"))


class Backup(operators.OperatorTest):
    def test_a_backup_while_the_server_writes_holds_what_was_acknowledged(self):
        server = self.server(self.folder).start()
        self.succeed(self.folder, "admin", "account", "add", "before")
        stopped = threading.Event()
        written = []

        def write():
            while not stopped.is_set():
                name = f"name-{len(written)}"
                code, _, err = self.command(self.folder, "admin", "account", "add", name)
                if code != 0:
                    return written.append(err)
                written.append(name)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            while len(written) < 2:
                time.sleep(0.01)
            acknowledged = len(written)
            manifest = self.succeed(self.folder, "db", "backup", self.folder / "one.backup")
        finally:
            stopped.set()
            writer.join()
        self.assertEqual([name for name in written if not name.startswith("name-")], [], "a step was refused")
        self.assertGreaterEqual(manifest["accounts"], 1 + acknowledged)
        self.assertEqual(manifest["issuer"], server.issuer)
        self.assertEqual((self.folder / "one.backup").stat().st_mode & 0o777, 0o600)
        code, _, err = self.command(self.folder, "db", "restore", self.folder / "one.backup", "--replace")
        self.assertEqual(code, 1, "a server runs")
        self.assertIn("another process uses the data folder", err)
        server.stop()

        # On another machine: the backup, and the key from where keys are kept.
        other = self.folder / "other"
        other.mkdir()
        (other / "key").write_bytes((self.folder / "key").read_bytes())
        (other / "key").chmod(0o600)
        report = self.succeed(other, "db", "restore", self.folder / "one.backup")
        self.assertFalse(report["compared"])
        self.assertEqual(len(self.names(other)), manifest["accounts"])
        self.assertTrue(self.succeed(other, "audit", "verify")["intact"])

    def test_a_restore_that_is_killed_leaves_the_one_store_or_the_other(self):
        server = self.server(self.folder).start()
        for name in ("alice", "bob"):
            self.succeed(self.folder, "admin", "account", "add", name)
        backup = self.folder / "one.backup"
        self.succeed(self.folder, "db", "backup", backup)
        self.succeed(self.folder, "admin", "account", "add", "carol")
        server.stop()
        (before, after) = (["alice", "bob", "carol"], ["alice", "bob"])
        self.assertEqual(self.names(self.folder), before)
        data = self.folder / "data"
        kept = self.folder / "kept"
        subprocess.run(["cp", "-a", data, kept], check=True)
        command = [
            str(programs.BINARIES / "countersign"), "db", "restore", str(backup), "--replace",
            *("--data", str(data), "--key-file", str(self.folder / "key")),
        ]

        def restore(kill_after=None):
            subprocess.run(["rm", "-rf", data], check=True)
            subprocess.run(["cp", "-a", kept, data], check=True)
            start = time.monotonic()
            process = subprocess.Popen(
                command, env=programs.ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if kill_after is not None:
                time.sleep(kill_after)
                process.send_signal(signal.SIGKILL)
            return process.wait(), time.monotonic() - start

        code, seconds = restore()
        self.assertEqual(code, 0)
        self.assertEqual(self.names(self.folder), after)
        killed = 0
        outcomes = set()
        for number in range(KILLS):
            # One moment of each part of its time, so that few leave no gap.
            code, _ = restore((number + random.random()) / KILLS * seconds)
            killed += code == -signal.SIGKILL
            names = self.names(self.folder)
            self.assertIn(names, (before, after))
            outcomes.add(len(names))
            self.assertTrue(self.succeed(self.folder, "audit", "verify")["intact"])
            left = [path.name for path in data.iterdir() if path.name.startswith("restored-")]
            self.assertEqual(left, [], "a start cleans up")
            if names == before:
                self.assertEqual(subprocess.run(command, env=programs.ENVIRONMENT, capture_output=True).returncode, 0)
                self.assertEqual(self.names(self.folder), after)
        self.assertGreater(killed, 0)
        print(f"{killed} restores killed, endings: {sorted(outcomes)}")


if __name__ == "__main__":
    unittest.main()
