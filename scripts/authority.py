"""A certificate authority for one run on this machine: of the demo, of a test."""

import base64
import collections
import hashlib
import subprocess

Identity = collections.namedtuple("Identity", "certificate key")


def openssl(*arguments, stdin=None):
    return subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, input=stdin).stdout


def key_hash(certificate):
    """The SHA-256 of a certificate's public key, as Chromium's switch wants it."""
    public = openssl("x509", "-in", certificate, "-pubkey", "-noout")
    der = openssl("pkey", "-pubin", "-outform", "DER", stdin=public)
    return base64.b64encode(hashlib.sha256(der).digest()).decode()


class Authority:
    """A certificate authority of two days. Its files are in the folder of the run."""

    def __init__(self, folder):
        self.folder = folder
        self.certificate = folder / "authority.pem"
        self.key = folder / "authority.key"
        openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"),
            *("-keyout", self.key, "-out", self.certificate, "-subj", "/CN=Test authority"),
            *("-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign"),
        )

    def issue(self, name, alternatives):
        key = self.folder / f"{name}.key"
        request = self.folder / f"{name}.csr"
        certificate = self.folder / f"{name}.pem"
        extensions = self.folder / f"{name}.cnf"
        extensions.write_text(
            f"subjectAltName={alternatives}\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n"
        )
        openssl(
            *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key),
            *("-out", request, "-subj", f"/CN={name}"),
        )
        openssl(
            *("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial"),
            *("-days", "2", "-extfile", extensions, "-out", certificate),
        )
        key.chmod(0o600)
        return Identity(certificate, key)
