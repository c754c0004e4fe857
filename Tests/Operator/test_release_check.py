"""`make release-check` refuses what a tag must not have: a changelog without its date, a public declaration that is gone."""

import importlib.machinery
import importlib.util
import pathlib
import subprocess
import tempfile
import unittest

import operators  # puts the scripts on the path
import programs

loader = importlib.machinery.SourceFileLoader("release_check", str(programs.ROOT / "scripts/release-check"))
release = importlib.util.module_from_spec(importlib.util.spec_from_loader("release_check", loader))
loader.exec_module(release)


class Versions(unittest.TestCase):
    def test_program_package_and_sources_have_one_version(self):
        told = subprocess.run(
            [programs.BINARIES / "countersign", "--version"], capture_output=True, text=True, check=True).stdout.strip()
        phone = subprocess.run(
            [programs.BINARIES / "countersign-phone", "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(told, release.version())
        self.assertEqual(phone.strip(), release.version())

    def test_a_breakage_needs_a_new_minor_version_before_1_and_a_new_major_version_after(self):
        for before, now, isRaised in [
                ("0.1.0", "0.1.1", False), ("0.1.0", "0.2.0", True), ("0.1.0", "1.0.0", True),
                ("1.1.0", "1.2.0", False), ("1.1.0", "2.0.0", True), ("0.10.0", "0.9.0", False)]:
            self.assertEqual(release.is_raised(before, now), isRaised, (before, now))

    def test_the_changelog_begins_with_this_version_and_its_date(self):
        self.assertEqual(
            release.check_changelog("# Changelog\n\n## 1.2.3 (2027-01-31)\n", "1.2.3"), "1.2.3 (2027-01-31)")
        for text in ["## 1.2.3 (unreleased)\n", "## 1.2.4 (2027-01-31)\n", "# Changelog\n", "## 1.2.30 (2027-01-31)\n"]:
            with self.assertRaises(release.Refused, msg=text):
                release.check_changelog(text, "1.2.3")


class Declarations(unittest.TestCase):
    def digest(self, folder, name, code):
        folder = pathlib.Path(folder) / name
        folder.mkdir()
        (folder / "Part.swift").write_text(code)
        subprocess.run(
            ["swiftc", "-emit-module", "-module-name", "Part", "-emit-module-path", folder / "Part.swiftmodule",
             folder / "Part.swift"], check=True, capture_output=True)
        file = folder / "Part.json"
        subprocess.run(
            ["swift-api-digester", "-dump-sdk", "-module", "Part", "-I", folder, "-avoid-location", "-avoid-tool-args",
             "-o", file], check=True, capture_output=True)
        return file

    def test_a_function_that_is_gone_is_told_and_a_new_one_is_not(self):
        with tempfile.TemporaryDirectory() as folder:
            former = self.digest(folder, "former", "public func kept() {}\npublic func gone() {}\n")
            fewer = self.digest(folder, "fewer", "public func kept() {}\n")
            more = self.digest(folder, "more", "public func kept() {}\npublic func gone() {}\npublic func new() {}\n")
            told = release.breakages(former, fewer)
            self.assertEqual(len(told), 1, told)
            self.assertIn("gone()", told[0])
            self.assertEqual(release.breakages(former, more), [])


if __name__ == "__main__":
    unittest.main()
