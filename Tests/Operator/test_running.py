"""What the system sees of a running server: how its threads take turns, and what it does when the disk fails."""

import os
import pathlib
import subprocess
import unittest
import urllib.error
import urllib.request

import operators
import programs

# Does what the system's own would, until a file is there.
FAILING_DISK = """
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int fdatasync(int descriptor) {
    if (access(getenv("DISK_HAS_FAILED"), F_OK) == 0) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_fdatasync, descriptor);
}
"""


class Running(operators.OperatorTest):
    def ready(self, server):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{server.operations_port}/readyz", timeout=5) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def test_all_threads_take_whole_turns(self):
        server = self.server(self.folder)
        server.start()
        tasks = pathlib.Path(f"/proc/{server.process._process.pid}/task")
        self.succeed(self.folder, "admin", "account", "add", "alice")
        policies = {task.name: os.sched_getscheduler(int(task.name)) for task in tasks.iterdir()}
        self.assertGreater(len(policies), 5)
        self.assertEqual(set(policies.values()), {os.SCHED_BATCH}, policies)

    def test_a_file_of_authorities_that_cannot_be_used_ends_the_start_by_name(self):
        words = self.folder / "words.pem"
        words.write_text("no certificate")
        for path in (self.folder / "missing.pem", words):
            code, out, err = self.command(self.folder, "serve", "--bind", "127.0.0.1:0", "--ca-file", path)
            self.assertEqual(code, 2, f"{out}{err}")
            self.assertIn(str(path), err)
            self.assertIn("--ca-file", err)

    def test_after_a_disk_has_failed_nothing_is_done_until_the_server_is_started_again(self):
        library = self.folder / "disk.so"
        subprocess.run(
            ["clang", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=FAILING_DISK, text=True, check=True)
        failed = self.folder / "failed"
        server = self.server(self.folder)
        log = self.folder / "server.log"
        server.process = programs.Process(
            "countersign", server.arguments, log,
            environment={"LD_PRELOAD": str(library), "DISK_HAS_FAILED": str(failed)})
        server.process.wait_until(lambda: programs.answers(f"http://127.0.0.1:{server.operations_port}/readyz"))
        self.succeed(self.folder, "admin", "account", "add", "alice")

        failed.touch()
        code, _, err = self.command(self.folder, "admin", "account", "add", "bob")
        self.assertNotEqual(code, 0, err)
        failed.unlink()
        # What was to be durable may be lost, though the disk takes more again.
        for command in (["list"], ["add", "carol"]):
            code, _, err = self.command(self.folder, "admin", "account", *command)
            self.assertNotEqual(code, 0, err)
        self.assertEqual(self.ready(server), 503)
        self.assertIn("the store's log could not be made durable; see to the disk", log.read_text())

        server.stop()
        server.start()
        names = self.names(self.folder)
        self.assertIn("alice", names)
        # Nobody was told that they are there.
        self.assertNotIn("carol", names)
        self.succeed(self.folder, "admin", "account", "add", "carol")


if __name__ == "__main__":
    unittest.main()
