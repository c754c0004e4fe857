"""What the public listener speaks over TLS, as testssl.sh finds it."""

import collections
import json
import subprocess

from operators import OperatorTest, programs

Identity = collections.namedtuple("Identity", "certificate key")

# RFC 9325 (BCP 195), section 4.2, and RFC 8446, appendix B.4, by their numbers.
RECOMMENDED = {
    "tls1_2": {"xc02b", "xc02c", "xc02f", "xc030"},
    "tls1_3": {"x1301", "x1302", "x1303"},
}


class TLSSuites(OperatorTest):
    def test_tls_1_2_and_later_with_the_suites_of_bcp_195(self):
        """Sign-in parity F100. A key of RSA: with one, a server can offer every kind of suite that there is."""
        identity = Identity(self.folder / "server.pem", self.folder / "server.key")
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
                *("-addext", "subjectAltName=DNS:localhost", "-keyout", identity.key, "-out", identity.certificate),
            ],
            check=True,
            capture_output=True,
        )
        identity.key.chmod(0o600)
        server = programs.Server(self.folder / "server", tls=identity)
        self.addCleanup(server.stop)
        server.start()
        report = self.folder / "report.json"
        done = subprocess.run(
            [
                *("testssl", "--quiet", "--color", "0", "--warnings", "off", "--nodns", "none", "--ip", "127.0.0.1"),
                *("--jsonfile", report, "-p", "-s", "-E", f"localhost:{server.port}"),
            ],
            capture_output=True,
            text=True,
            timeout=500,
        )
        findings = {entry["id"]: entry["finding"] for entry in json.loads(report.read_text())}
        for version in ("SSLv2", "SSLv3", "TLS1", "TLS1_1"):
            self.assertEqual(findings[version], "not offered", done.stdout)
        self.assertEqual(findings["TLS1_2"], "offered", done.stdout)
        self.assertTrue(findings["TLS1_3"].startswith("offered"), done.stdout)
        for kind in ("NULL", "aNULL", "EXPORT", "LOW", "3DES_IDEA", "AVERAGE"):
            self.assertEqual(findings[f"cipherlist_{kind}"], "not offered", done.stdout)
        self.assertEqual(findings["cipherlist_STRONG"], "offered", done.stdout)
        offered = collections.defaultdict(set)
        for name in findings:
            if name.startswith("cipher-"):
                version, suite = name.removeprefix("cipher-").rsplit("_", 1)
                offered[version].add(suite)
        self.assertEqual(set(offered), set(RECOMMENDED), done.stdout)
        for version, suites in offered.items():
            self.assertLessEqual(suites, RECOMMENDED[version], done.stdout)
