"""Libraries of other makers sign a person in to a client as `client add` makes it.

Each is a program in `libraries`, with the settings that the guide for relying parties has for it, and no others.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from programs import Part, free_port, socket_is_open
from test_relying_parties import approve, person  # noqa: F401 (a fixture)

PROGRAMS = Path(__file__).parent / "libraries"

# The program of each library, and the address that it has the provider lead people back to.
LIBRARIES = {
    "Flask-OIDC": ("flask_oidc_application.py", "/authorize"),
    "Flask-pyoidc": ("flask_pyoidc_application.py", "/callback"),
    "idpyoidc": ("idpyoidc_application.py", "/callback"),
    "mozilla-django-oidc": ("mozilla_django_oidc_application.py", "/oidc/callback/"),
    "social-auth-app-django": ("social_auth_application.py", "/complete/oidc/"),
    "django-allauth": ("allauth_application.py", "/accounts/oidc/countersign/login/callback/"),
    "simple-openid-connect": ("simple_openid_connect_application.py", "/openid/login-callback/"),
    "requests-oauth2client": ("requests_oauth2client_application.py", "/callback"),
    "FastAPI-SSO": ("fastapi_sso_application.py", "/callback"),
    "httpx-oauth": ("httpx_oauth_application.py", "/callback"),
    "omniauth_openid_connect": ("omniauth_application.rb", "/auth/openid_connect/callback"),
    "Mojolicious-Plugin-OAuth2": ("mojolicious_application.pl", "/callback"),
    "go-oidc": ("go_oidc_application.go", "/callback"),
}

# Where Debian's packages for Go have their sources.
GO_SOURCES = "/usr/share/gocode"


def command(program, folder):
    """Starts a program of `libraries`: by the interpreter of its language, or as it was compiled into the folder."""
    if program.suffix == ".go":
        compiled = folder / program.stem
        environment = {"GO111MODULE": "off", "GOPATH": GO_SOURCES, "GOCACHE": str(folder / "go")}
        subprocess.run(["go", "build", "-o", compiled, program], check=True, env={**os.environ, **environment})
        return [compiled]
    return [{".py": sys.executable, ".rb": "ruby", ".pl": "perl"}[program.suffix], program]


@pytest.fixture(params=LIBRARIES)
def library(request, deployment, tmp_path):
    program, callback = LIBRARIES[request.param]
    port = free_port()
    origin = f"http://127.0.0.1:{port}"
    client_id, secret = deployment.server.add_client(f"{request.param} {port}", origin + callback)
    running = Part(
        request.param, command(PROGRAMS / program, tmp_path), tmp_path / "library.log", folder=tmp_path,
        environment={
            "ISSUER": deployment.server.issuer, "CLIENT_ID": client_id, "CLIENT_SECRET": secret.read_text().strip(),
            "PORT": port,
            # oauthlib takes no plain http unless it is told that this is a trial.
            "OAUTHLIB_INSECURE_TRANSPORT": 1,
        },
    )
    try:
        running.wait_until(lambda: socket_is_open(port))
        running.origin = origin
        yield running
    finally:
        running.stop()


def test_a_library_signs_a_person_in(deployment, library, person, tmp_path):  # noqa: F811
    browser = requests.Session()
    page = browser.get(f"{library.origin}/", timeout=20)
    answer = approve(deployment, person, browser, page, tmp_path)
    assert answer.status_code == 200 and answer.url.startswith(library.origin), library.last_words()
    # idpyoidc and simple-openid-connect ask nobody for more than the ID token says.
    told, address = answer.json(), f"{person.username}@post.example"
    assert told.get("sub") or told.get("email"), library.last_words()
    assert told.get("email", address) == address, library.last_words()
