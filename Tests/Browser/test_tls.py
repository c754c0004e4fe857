"""The whole job over TLS, with a certificate authority of the test's own."""

import base64
import json

import pytest

from authority import Authority, key_hash
from programs import PIN, Bank, Phone, Server, run

@pytest.fixture
def secure(tmp_path):
    authority = Authority(tmp_path)
    identities = {
        "server": authority.issue("server", "DNS:localhost"),
        "bank": authority.issue("bank", "IP:127.0.0.1"),
    }
    server = Server(tmp_path, tls=identities["server"]).start()
    bank = Bank(tmp_path, server, tls=identities["bank"], ca_file=authority.certificate).start()
    server.admin("account", "add", "alice")
    yield server, bank, authority, [key_hash(identity.certificate) for identity in identities.values()]
    bank.stop()
    server.stop()


def test_sign_in_and_transfer_over_tls(secure, tmp_path, new_browser):
    server, bank, authority, trusted_keys = secure
    phone = Phone(tmp_path / "phone", ca_file=authority.certificate)
    server.enroll("alice", phone)
    browser = new_browser(trusted_keys=trusted_keys)
    browser.sign_in(bank, phone)
    names = {cookie["name"]: cookie for cookie in browser.driver.get_cookies()}
    assert names["__Host-bank_session"]["secure"] and names["__Host-bank_session"]["httpOnly"]
    browser.begin_transfer()
    phone.approve(browser.picture()).expect(0)
    browser.finish_transfer()
    assert browser.has("receipt")
    assert browser.complaints() == []


def test_phone_refuses_a_server_of_an_unknown_authority(secure, tmp_path):
    server, _, _, _ = secure
    stranger = Phone(tmp_path / "stranger")
    activation = server.admin("activation", "create", "alice")
    stranger("enroll", activation["link"], "--pin-stdin", stdin=f"{PIN}\n").expect(5)


def test_login_at_a_server_of_an_unknown_authority(secure):
    server, _, authority, _ = secure
    link = server.folder / "data" / "administrator-link"
    server.process.wait_until(lambda: link.exists() and link.read_text().endswith("\n"))
    code, out, err = run("countersign", "admin", "login", "--json", stdin=link.read_text())
    assert code == 5 and "not one that this machine trusts" in err and out == ""
    named = ("--ca-file", authority.certificate)
    code, out, err = run("countersign", "admin", "login", "--json", *named, stdin=link.read_text())
    assert code == 0, err
    far = {"COUNTERSIGN_ADMIN_URL": server.issuer, "COUNTERSIGN_ADMIN_TOKEN": json.loads(out)["token"]}
    code, out, _ = run("countersign", "admin", "account", "list", "--json", *named, environment=far)
    assert code == 0 and [account["username"] for account in json.loads(out)["accounts"]] == ["alice"]
    assert run("countersign", "admin", "account", "list", "--json", environment=far)[0] == 5


def test_answer_over_another_trusted_certificate_is_refused(tmp_path):
    """Where the operator names the server's certificate, a phone's trust in another one is not enough."""
    authority = Authority(tmp_path)
    own, other = authority.issue("own", "DNS:localhost"), authority.issue("other", "DNS:localhost")
    server = Server(tmp_path, tls=own)
    server.arguments += ["--channel-binding", own.certificate]
    server.start()
    server.admin("account", "add", "alice")
    phone = Phone(tmp_path / "phone", ca_file=authority.certificate)
    server.enroll("alice", phone)
    phone("authenticate", "alice", "--pin-stdin", stdin=f"{PIN}\n").expect(0)
    server.stop()
    # The same server behind the other certificate, as somebody in between would show it.
    impostor = Server(tmp_path, port=server.port, tls=other)
    assert impostor.port == server.port
    impostor.arguments += ["--channel-binding", own.certificate]
    impostor.start()
    refused = phone("authenticate", "alice", "--pin-stdin", stdin=f"{PIN}\n").expect(1)
    assert "1490" in refused["finished"]["message"]
    impostor.stop()


def test_pin_is_no_argument_away_from_loopback(secure, tmp_path):
    """`--pin` is for trying things out on one machine: other programs see a process's arguments."""
    phone = Phone(tmp_path / "careless")
    payload = {
        "nma_data": {"token": "x" * 43, "redeem_url": "https://sign-in.example/token/redeem/registration"},
        "nma_data_content_type": "application/json",
        "nma_data_version": "1",
    }
    encoded = base64.urlsafe_b64encode(json.dumps(payload).encode()).decode().rstrip("=")
    link = f"https://sign-in.example/open?dispatchTokenResponse={encoded}"
    assert "--pin" in phone("enroll", link, "--pin", PIN).expect(2)["finished"]["message"]
