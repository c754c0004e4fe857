"""LemonLDAP::NG, an identity manager of another maker, as its packages give it: the portal, behind Apache.

It is configured by `Examples/IdentityManager/lmConf-2.json`, and by nothing else.
"""

import json
import pathlib
import subprocess
import time

import requests

import apache
from authority import Authority
from programs import ROOT, START_SECONDS, Failed, Part, free_port, stop_all

CONFIGURATION = ROOT / "Examples/IdentityManager/lmConf-2.json"
PORTAL = pathlib.Path("/usr/share/lemonldap-ng/portal")
MODULES = "mpm_event authz_core mime proxy proxy_fcgi ssl"


class IdentityManager:
    """The portal with one provider above it and one application behind it. Whom it lets in, `people` says, an address
    that is asked by the name that the provider has for a person."""

    HOST = "broker.localhost"
    APPLICATION = ("application", "not-a-secret")

    def __init__(self, folder, people, callback):
        self.folder = pathlib.Path(folder)
        (self.folder / "configuration").mkdir(parents=True)
        (self.folder / "configuration" / CONFIGURATION.name).write_text(CONFIGURATION.read_text())
        (self.folder / "sessions" / "lock").mkdir(parents=True)
        self.port = free_port()
        # Browsers and libcurl take every host below "localhost" for this machine.
        self.origin = f"https://{self.HOST}:{self.port}"
        self.authority = Authority(self.folder)
        self.identity = self.authority.issue("broker", f"DNS:{self.HOST},IP:127.0.0.1")
        self.issuer = self.origin + "/"
        self.callback = f"{self.origin}/?openidconnectcallback=1"
        self.people, self.application_callback = people, callback
        self.parts = []

    def start(self, issuer, client_id, secret):
        """Starts it for a client of the provider."""
        private = subprocess.run(["openssl", "genrsa", "2048"], check=True, capture_output=True).stdout
        public = subprocess.run(
            ["openssl", "rsa", "-pubout"], input=private, check=True, capture_output=True).stdout
        environment = {
            "LLNG_DEFAULTCONFFILE": self.folder / "lemonldap-ng.ini",
            "BROKER_ADDRESS": self.origin,
            "BROKER_HOST": self.HOST,
            "BROKER_SECURED_COOKIE": "1",
            "BROKER_SESSIONS": self.folder / "sessions",
            "BROKER_PEOPLE": self.people,
            "BROKER_PRIVATE_KEY": private.decode(),
            "BROKER_PUBLIC_KEY": public.decode(),
            "COUNTERSIGN_METADATA": requests.get(f"{issuer}/.well-known/openid-configuration", timeout=20).text,
            "COUNTERSIGN_CLIENT_ID": client_id,
            "COUNTERSIGN_CLIENT_SECRET": secret,
            "APPLICATION_CLIENT_ID": self.APPLICATION[0],
            "APPLICATION_CLIENT_SECRET": self.APPLICATION[1],
            "APPLICATION_CALLBACK": self.application_callback,
        }
        (self.folder / "lemonldap-ng.ini").write_text(f"""
[all]
logLevel = info
logger = Lemonldap::NG::Common::Logger::Std
userLogger = Lemonldap::NG::Common::Logger::Std
[configuration]
type = File
dirName = {self.folder}/configuration
useServerEnv = 1
[portal]
staticPrefix = /static
templateDir = {PORTAL}/templates
languages = en
""")
        socket = self.folder / "portal.socket"
        self.parts.append(Part(
            "plackup",
            ["plackup", "-E", "deployment", "-s", "FCGI", "--listen", socket, "--nproc", 2, PORTAL / "htdocs/index.psgi"],
            self.folder / "portal.log", environment))
        self.parts.append(apache.started(self.folder, self.HOST, self.port, MODULES, f"""
DocumentRoot {PORTAL}/htdocs
SSLEngine On
SSLCertificateFile {self.identity.certificate}
SSLCertificateKeyFile {self.identity.key}
TypesConfig /etc/mime.types
ProxyPass /static !
ProxyPass / unix:{socket}|fcgi://portal/
ProxyFCGISetEnvIf "true" SCRIPT_NAME ""
<Location />
    CGIPassAuth On
</Location>
"""))
        end = time.monotonic() + START_SECONDS
        while not self.is_ready():
            if time.monotonic() > end or any(part.process.poll() is not None for part in self.parts):
                # A part that has died says so as it is ended.
                self.stop()
                raise Failed(f"the portal did not answer:\n{self.log()}")
            time.sleep(0.05)
        return self

    def is_ready(self):
        try:
            return self.get("/.well-known/openid-configuration").status_code == 200
        except requests.ConnectionError:
            return False

    def stop(self):
        stop_all(self.parts)

    def get(self, path):
        """What a browser gets that knows nothing yet; it is led nowhere."""
        return requests.get(
            f"https://127.0.0.1:{self.port}{path}", headers={"Host": f"{self.HOST}:{self.port}"}, allow_redirects=False,
            timeout=20, verify=str(self.authority.certificate))

    def log(self):
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("*.log")))

    def sessions(self):
        """The sessions that people have."""
        found = [json.loads(path.read_text()) for path in (self.folder / "sessions").iterdir() if path.is_file()]
        return sorted((one for one in found if one.get("_session_kind") == "SSO"), key=lambda one: one["_utime"])
