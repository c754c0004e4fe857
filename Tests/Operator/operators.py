"""What the operator's tests share: the programs of scripts/programs.py, and a server that is told when it answers."""

import json
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
# Set before they are read there.
os.environ.setdefault("NO_COLOR", "1")

import programs  # noqa: E402


class OperatorTest(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="countersign-operator-", dir="/var/tmp")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # After all programs have stopped: what is registered last is done first.
        self.addCleanup(programs.expect_no_secrets, self.folder)

    def server(self, folder):
        server = programs.Server(folder)
        self.addCleanup(server.stop)
        return server

    def command(self, folder, *arguments):
        """A command over a data folder: its exit code, its output, its errors."""
        return programs.run(
            "countersign", *arguments, "--data", folder / "data", "--key-file", folder / "key")

    def succeed(self, folder, *arguments):
        """A command that must succeed, and its answer as JSON."""
        code, out, err = self.command(folder, *arguments, "--json")
        self.assertEqual(code, 0, f"{' '.join(map(str, arguments))}: {out}{err}")
        return json.loads(out) if out.strip() else {}

    def names(self, folder):
        return [account["username"] for account in self.succeed(folder, "admin", "account", "list")["accounts"]]
