"""The Debian package: built of the tests' program, installed, upgraded with data, removed; the unit checked, and its
command run as the unit's user with what the service manager would give it.

Everything is installed into a folder that stands for a machine's root, so that the machine itself stays as it is.
"""

import configparser
import json
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

import operators
import programs


class Package(operators.OperatorTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory(prefix="countersign-packages-", dir="/var/tmp")
        cls.addClassCleanup(folder.cleanup)
        cls.packages = pathlib.Path(folder.name)

    def setUp(self):
        super().setUp()
        # The unit's user must get in.
        self.folder.chmod(0o755)
        self.root = self.folder / "root"
        for name in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib", "etc", "tmp"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        for name in ("status", "available"):
            (self.root / "var/lib/dpkg" / name).touch()
        # The one program of another package that the unit names.
        (self.root / "bin").mkdir()
        (self.root / "bin/kill").touch(mode=0o755)
        self.addCleanup(self.open_accounts)

    def open_accounts(self):
        """Lets the search for secrets read the root's files of passwords. A package that is installed by somebody else than
        root leaves the files to that person, and without the right to read."""
        for name in ("shadow", "gshadow", "shadow-", "gshadow-"):
            if (self.root / "etc" / name).exists():
                (self.root / "etc" / name).chmod(0o600)

    def call(self, *command, **options):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
        self.assertEqual(done.returncode, 0, f"{command}: {done.stdout}{done.stderr}")
        return done.stdout

    def package(self, version):
        """The package of a version, which is made once for all tests."""
        made = list(self.packages.glob(f"*_{version}_*.deb"))
        return made[0] if made else self.call(
            programs.ROOT / "scripts/package", programs.BINARIES / "countersign", self.packages, version,
            env={**os.environ, "COMPRESSION": "none"}).strip()

    def dpkg(self, *arguments):
        as_user = ["--force-not-root"] if os.getuid() else []
        return self.call(
            "dpkg", f"--root={self.root}", "--force-script-chrootless", "--force-depends", *as_user, *arguments,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})

    def unit(self):
        reader = configparser.RawConfigParser(strict=False, interpolation=None)
        reader.optionxform = str
        reader.read(self.root / "usr/lib/systemd/system/countersign.service")
        return reader

    def test_the_unit_is_valid_and_hardened(self):
        self.dpkg("-i", self.package("0.1.0"))
        unit = "countersign.service"
        self.call("systemd-analyze", f"--root={self.root}", "--man=no", "--recursive-errors=no", "verify", unit)
        text = self.call("systemd-analyze", f"--root={self.root}", "--no-pager", "security", "--offline=true", unit)
        exposure = float(re.search(r"exposure level for \S+: ([\d.]+)", text)[1])
        # What the guide says is what holds.
        guide = (programs.ROOT / "docs/guides/operator/installing.md").read_text()
        said = float(re.search(r"`systemd-analyze security countersign`: ([\d.]+) or better", guide)[1])
        self.assertLessEqual(exposure, said)
        settings = self.unit()
        self.assertEqual(settings["Service"]["ExecReload"], "/bin/kill -HUP $MAINPID")
        self.assertEqual(settings["Install"]["WantedBy"], "multi-user.target")

    def test_the_guide_is_there_and_what_it_links_to(self):
        self.dpkg("-i", self.package("0.1.0"))
        named = self.unit()["Unit"]["Documentation"].removeprefix("file://")
        guide = pathlib.Path(str(self.root) + named)
        chapters = sorted(path.name for path in (programs.ROOT / "docs/guides/operator").iterdir())
        self.assertEqual(sorted(path.name for path in guide.parent.iterdir()), chapters)
        linked = {}
        for chapter in chapters:
            text = (guide.parent / chapter).read_text()
            targets = [link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text)]
            linked[chapter] = [target for target in targets if target and "://" not in target]
            missing = [file for file in linked[chapter] if not (guide.parent / file).is_file()]
            self.assertEqual(missing, [], chapter)
        self.assertEqual(set(chapters) - set(linked[guide.name]), {guide.name}, "a chapter is not in the table of the guide")
        self.assertIn("../configuration.md", linked["production.md"])

    def test_what_the_package_needs_is_what_the_program_needs(self):
        needed = self.call("dpkg-deb", "-f", self.package("0.1.0"), "Depends")
        for name in ("libc6", "libsqlite3-0", "libqrencode4", "libsecp256k1", "libargon2-1", "libcrypt1", "procps", "systemd"):
            self.assertRegex(needed, rf"(^|, ){re.escape(name)}")
        # Somebody who installs without the package has the guide: it names the same libraries.
        guide = (programs.ROOT / "docs/guides/operator/installing.md").read_text()
        named = re.search(r"^\| libraries: (.*) of your distribution \|", guide, flags=re.M)[1]
        for package in (entry.split()[0] for entry in needed.split(",")):
            if package not in ("libc6", "procps", "systemd"):
                words = [word for word in re.findall(r"[\w+]+", named) if len(word) > 3]
                self.assertTrue(any(package.startswith(word) for word in words), package)

    def test_a_program_whose_libraries_are_not_found_makes_no_package(self):
        # It is linked to none, so that it works when they are gone.
        done = subprocess.run(
            [programs.ROOT / "scripts/package", "/sbin/ldconfig", self.folder, "0.1.0"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "package: dpkg-shlibdeps finds no library")
        self.assertEqual(list(self.folder.glob("*.deb")), [])

    def test_what_an_interrupted_installation_left_of_a_key_is_not_used(self):
        etc = self.root / "etc/countersign"
        etc.mkdir()
        elsewhere = self.folder / "elsewhere"
        for left in ("file", "link"):
            if left == "file":
                (etc / "countersign.key.new").write_text("half")
                (etc / "countersign.key.new").chmod(0o644)
            else:
                (etc / "countersign.key").unlink()
                (etc / "countersign.key.new").symlink_to(elsewhere)
            self.dpkg("-i", self.package("0.1.0"))
            key = etc / "countersign.key"
            self.assertEqual(key.lstat().st_mode & 0o777, 0o600)
            self.assertTrue(key.is_file() and not key.is_symlink())
            self.assertRegex(key.read_text(), r"^[A-Za-z0-9_-]{43}\n$")
            self.assertFalse((etc / "countersign.key.new").exists() or elsewhere.exists())

    def test_installed_upgraded_with_data_and_removed(self):
        older, newer = self.package("0.0.9"), self.package("0.1.0")
        self.dpkg("-i", older)
        etc = self.root / "etc/countersign"
        key = etc / "countersign.key"
        self.assertEqual(key.stat().st_mode & 0o777, 0o600)
        self.assertRegex(key.read_text(), r"^[A-Za-z0-9_-]{43}\n$")
        issuer = "https://id.example.com"
        settings = (etc / "countersign.yaml").read_text().replace("# issuer:", "issuer:")
        (etc / "countersign.yaml").write_text(settings)
        made = key.read_bytes()

        self.start()
        self.admin("account", "add", "alice")
        backup = self.folder / "before-upgrade.backup"
        self.call(*self.as_root("db", "backup", backup))
        self.assertEqual(json.loads(self.call(*self.as_root("db", "restore", backup, "--check", "--json")))["changes"], [])

        self.dpkg("--force-confold", "-i", newer)
        self.stop()
        self.assertEqual(key.read_bytes(), made, "an upgrade makes no new key")
        self.assertEqual((etc / "countersign.yaml").read_text(), settings, "what an operator wrote stays")
        self.start()
        names = [account["username"] for account in self.admin("account", "list")["accounts"]]
        self.assertEqual(names, ["alice"])
        self.assertEqual((self.data / "issuer").read_text().strip(), issuer)
        self.stop()

        self.call(*self.as_root("db", "restore", backup, "--replace"))
        owners = {path.stat().st_uid for path in self.data.iterdir()}
        self.assertEqual(owners, {self.user}, "what root restored belongs to the server")
        self.start()
        names = [account["username"] for account in self.admin("account", "list")["accounts"]]
        self.assertEqual(names, ["alice"])
        self.stop()

        self.dpkg("--purge", "countersign")
        self.assertFalse((self.root / "usr/bin/countersign").exists())
        self.assertEqual(key.read_bytes(), made)
        self.assertTrue((self.data / "countersign.sqlite").exists())

    # What the service manager does with the unit.

    @property
    def data(self):
        return self.root / "var/lib/countersign"

    @property
    def user(self):
        """The unit's user, where this test may become another one; else whoever runs it."""
        name = self.unit()["Service"]["User"]
        for line in (self.root / "etc/passwd").read_text().splitlines():
            if line.split(":")[0] == name:
                return int(line.split(":")[2]) if os.getuid() == 0 else os.getuid()
        self.fail(f"the package makes no user {name}")

    def start(self):
        service = self.unit()["Service"]
        command = [
            str(self.root) + word if word.startswith(("/usr/", "/etc/")) else word
            for word in shlex.split(service["ExecStart"])
        ]
        name, _, source = service["LoadCredential"].partition(":")
        credentials = self.folder / "credentials"
        credentials.mkdir(mode=0o700, exist_ok=True)
        (credentials / name).unlink(missing_ok=True)
        (credentials / name).write_bytes(pathlib.Path(str(self.root) + source).read_bytes())
        (credentials / name).chmod(0o400)
        self.data.mkdir(mode=int(service["StateDirectoryMode"], 8), exist_ok=True)
        if os.getuid() == 0:
            for path in (credentials, credentials / name, self.data):
                os.chown(path, self.user, self.user)
            command = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups",
                       "--no-new-privs", "--bounding-set=-all", *command]
        port, operations = programs.free_port(), programs.free_port()
        log = self.folder / "server.log"
        self.log = open(log, "ab")
        self.addCleanup(self.log.close)
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT, cwd="/",
            env={
                "PATH": "/usr/bin:/bin", "STATE_DIRECTORY": str(self.data), "CREDENTIALS_DIRECTORY": str(credentials),
                "COUNTERSIGN_BIND": f"127.0.0.1:{port}", "COUNTERSIGN_OPERATIONS_BIND": f"127.0.0.1:{operations}",
            })
        self.addCleanup(self.process.kill)
        ready = programs.Process.__new__(programs.Process)
        ready.name, ready.log, ready._process, ready._file = "the unit", log, self.process, self.log
        ready.wait_until(lambda: programs.answers(f"http://127.0.0.1:{operations}/readyz"))

    def stop(self):
        self.process.terminate()
        self.assertEqual(self.process.wait(30), 0)

    def as_root(self, *arguments):
        """A command of the operator's, as the guide has it."""
        return [self.root / "usr/bin/countersign", *arguments, "--data", self.data,
                "--key-file", self.root / "etc/countersign/countersign.key"]

    def admin(self, *arguments):
        return json.loads(self.call(
            self.root / "usr/bin/countersign", "admin", *arguments, "--data", self.data, "--json"))


if __name__ == "__main__":
    unittest.main()
