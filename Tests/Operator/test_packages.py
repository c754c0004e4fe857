"""The packages that `scripts/install-packages` names for the tests are all that the tests need, whatever else is installed.

apt resolves "a | b" by what is there already. A package that has something of the tests' is therefore named, or is needed by
a named one without a choice.
"""

import ast
import pathlib
import re
import shutil
import subprocess
import unittest

import operators
import programs

ROOT = programs.ROOT
# The toolchain has these, and Python's environments: no package of Debian.
OTHERS = {"clang", "docc", "swift", "swiftc", "pytest"}
STARTERS = {"Popen", "Part", "call", "check_call", "check_output", "run"}
# What the portal of LemonLDAP::NG loads that it is configured for, what plackup loads by its options, and what an application
# of Mojolicious loads that verifies ID tokens.
PERL = [
    "FCGI", "FCGI::ProcManager", "Mojo::JWT", "Mojolicious::Plugin::OAuth2", "Plack::Handler::FCGI",
    "Lemonldap::NG::Portal::Main", *(
        f"Lemonldap::NG::Portal::{name}" for name in ("Auth::OpenIDConnect", "Issuer::OpenIDConnect", "UserDB::REST"))]
# What the shell scripts and the tests in Swift start beside what they name with its path.
WORDS = [
    "dbus-monitor", "dbus-run-session", "dbus-test-tool", "dpkg-deb", "dpkg-shlibdeps", "flock", "gdbus",
    "gnome-keyring-daemon", "make", "openssl", "pkg-config", "python3", "secret-tool", "swtpm", "tpm2_getcap", "unshare"]


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout


def words_of(path):
    """The programs that a file in Python starts by a list of words: the first word, and the words that start another."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in STARTERS:
            for argument in node.args[:2]:
                first = argument.elts[0] if isinstance(argument, (ast.List, ast.Tuple)) and argument.elts else argument
                first = first.value if isinstance(first, ast.Starred) else first
                first = first.elts[0] if isinstance(first, ast.Tuple) else first
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    yield first.value


def files_of_tests():
    """The files of the system that tests and their scripts use: programs by their names, and all that stands with its path."""
    sources = [
        path for folder in ("Tests", "scripts", "Server/Tests") for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix in ("", ".py", ".swift") and ".build" not in path.parts]
    found = set()
    for path in sources:
        text = path.read_text(errors="replace")
        if path.suffix == ".py" or text.startswith("#!/usr/bin/env python3"):
            found |= {shutil.which(word, path="/usr/bin:/usr/sbin:/bin") for word in words_of(path) if word not in OTHERS}
        found |= set(re.findall(r'["\s](/(?:usr/(?:bin|sbin|lib|share)|etc)/[\w.+/-]*[\w+])(?=["\s/])', text))
    found |= {shutil.which(word, path="/usr/bin:/usr/sbin:/bin") for word in WORDS}
    loaded = 'for (@ARGV) { eval "require $_; 1" or die $@ } print "$_\\n" for values %INC'
    return {file for file in found if file} | set(output("perl", "-e", loaded, *PERL).split())


def packages_of(files):
    """The package of each file that a package has. A file of /usr/bin may be listed as one of /bin."""
    places = {}
    for file in files:
        for place in (str(pathlib.Path(file).resolve()), file):
            places.setdefault(place, file)
            places.setdefault(place.removeprefix("/usr"), file)
    found = {}
    for line in output("dpkg-query", "-S", *places).splitlines():
        names, _, place = line.partition(": ")
        # Folders are of many packages.
        if "," not in names and place in places:
            found[places[place]] = names.split(":")[0]
    return found


def needed_by(names):
    """The packages that come with the named ones whatever is installed: what they need without a choice, and so on, and what
    every system has."""
    fields = "${Package}\t${Essential}\t${Pre-Depends}, ${Depends}\n"
    needs, there = {}, set()
    for line in output("dpkg-query", "-W", "-f", fields).splitlines():
        name, essential, alternatives = line.split("\t")
        needs[name] = {
            re.split(r"[\s:(]", need.strip())[0] for need in alternatives.split(",") if need.strip() and "|" not in need}
        if essential == "yes":
            there.add(name)
    rest = [*names, *there]
    reached = set()
    while rest:
        name = rest.pop()
        if name not in reached:
            reached.add(name)
            rest += needs.get(name, ())
    return reached


@unittest.skipUnless(shutil.which("dpkg-query"), "this system has no packages of Debian")
class Packages(unittest.TestCase):
    def test_every_package_that_tests_need_is_named_or_needed_without_a_choice(self):
        names = output(ROOT / "scripts/install-packages", "--list", "build", "test").split()
        packages = packages_of(files_of_tests())
        # A check that finds nothing would hold whatever the list says.
        for package in (
                "apache2-bin", "chromium", "firefox-esr", "libfcgi-perl", "msmtp", "media-types", "prosody-modules",
                "testssl.sh"):
            self.assertIn(package, packages.values())
        came = needed_by(names)
        left = {file: package for file, package in sorted(packages.items()) if package not in came}
        self.assertEqual(left, {}, "scripts/install-packages does not name the package of these files")


if __name__ == "__main__":
    unittest.main()
