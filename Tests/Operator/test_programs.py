"""The helper that starts programs for the tests: it says why a program has ended that nobody had ended."""

import os
import signal
import unittest

import operators
import programs


class Parts(operators.OperatorTest):
    def part(self, words):
        return programs.Part("part", ["sh", "-c", words], self.folder / "part.log")

    def test_a_part_that_died_shows_the_last_words_of_its_log(self):
        part = self.part("echo no such module; exit 7")
        os.waitid(os.P_PID, part.process.pid, os.WEXITED | os.WNOWAIT)
        with self.assertRaisesRegex(programs.Failed, "(?s)part had ended before, with 7.*no such module"):
            part.stop()

    def test_a_part_that_died_and_was_looked_at_shows_them_too(self):
        part = self.part("echo no such module; exit 7")
        part.process.wait()
        with self.assertRaisesRegex(programs.Failed, "(?s)with 7.*no such module"):
            part.stop()

    def test_what_a_part_that_died_has_left_ends_with_it(self):
        part = self.part("sleep 600 & echo $!; exit 7")
        part.process.wait()
        left = int((self.folder / "part.log").read_text())
        with self.assertRaises(programs.Failed):
            part.stop()
        self.assertTrue(self.has_ended(left))

    def test_what_waits_for_a_part_that_died_shows_them(self):
        part = self.part("echo no such module; exit 7")
        with self.assertRaisesRegex(programs.Failed, "(?s)did not start.*no such module"):
            part.wait_until(lambda: False)

    def test_all_parts_end_where_one_of_them_died(self):
        died, running = self.part("exit 7"), self.part("exec sleep 600")
        died.process.wait()
        with self.assertRaises(programs.Failed):
            programs.stop_all([died, running])
        self.assertEqual(running.process.returncode, -signal.SIGTERM)

    def test_a_part_that_is_ended_twice_says_nothing(self):
        part = self.part("exec sleep 600")
        part.stop()
        part.stop()

    def has_ended(self, process):
        """Whether a process has ended, or is about to: whoever has lost their parent is a child of another."""
        for _ in range(100):
            try:
                with open(f"/proc/{process}/stat") as file:
                    if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                        return True
            except FileNotFoundError:
                return True
            os.sched_yield()
            signal.sigtimedwait([], 0.05)
        return False


if __name__ == "__main__":
    unittest.main()
