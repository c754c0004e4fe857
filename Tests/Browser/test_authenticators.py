"""The main job with each authenticator: the person signs in and confirms a transfer by what they enrolled with."""

import pytest

from programs import PIN

PASSWORD = "lantern street 9"
AAIDS = {
    "pin": "C516#0001",
    "password": "C516#0002",
    "fingerprint": "C516#0003",
    "face": "C516#0004",
    "passcode": "C516#0005",
}
SECRETS = {"pin": ("--pin-stdin", PIN), "password": ("--password-stdin", PASSWORD)}


def answer(phone, authenticator, code, *decision):
    """Lets the phone scan a code, and the person do what the authenticator wants."""
    option, secret = SECRETS.get(authenticator, (None, None))
    arguments = [option] if option else []
    return phone("scan", code, *(decision or ("--approve", "--new-browser")), *arguments, stdin=f"{secret}\n" if secret else "")


def person_with(deployment, authenticator):
    password = PASSWORD if authenticator == "password" else None
    return deployment.person("--authenticator", authenticator, password=password)


@pytest.mark.parametrize("authenticator", AAIDS)
def test_main_job_with_each_authenticator(deployment, bank, browser, authenticator):
    phone = person_with(deployment, authenticator)
    enrolled = {event["aaid"] for event in phone("authenticators").expect(0).events if event["accounts"]}
    assert enrolled == {AAIDS[authenticator]}
    browser.begin_sign_in(bank)
    run = answer(phone, authenticator, browser.picture()).expect(0)
    if authenticator not in SECRETS:
        assert run["sensor"]["sensor"] == authenticator and run["sensor"]["simulated"] is True
    browser.finish_sign_in()
    browser.begin_transfer("41.50")
    answer(phone, authenticator, browser.picture()).expect(0)
    browser.finish_transfer()
    assert "EUR 41.50" in browser.one("receipt").text


@pytest.mark.parametrize(
    ("authenticator", "told", "reason", "code"),
    [
        ("face", "cancel", "denied", 1),
        ("face", "no-match", "locked-out", 4),
        ("face", "changed", "key-disappeared", 1),
        ("passcode", "cancel", "denied", 1),
        ("passcode", "no-match", "locked-out", 4),
    ],
)
def test_whoever_is_not_verified_is_not_signed_in(deployment, bank, browser, authenticator, told, reason, code):
    phone = person_with(deployment, authenticator)
    browser.begin_sign_in(bank)
    phone("sensor", f"--{authenticator}", told).expect(0)
    run = answer(phone, authenticator, browser.picture()).expect(code)
    assert run["finished"]["reason"] == reason
    browser.get(bank.origin + "/accounts")
    assert browser.has("sign-in")


def test_a_passcode_that_may_replace_the_finger_signs_in(deployment, bank, browser):
    phone = deployment.person(
        "--authenticator", "fingerprint", "--allow-passcode", "--no-invalidate-on-new-biometrics"
    )
    kept = [event for event in phone("authenticators").expect(0).events if event["accounts"]]
    assert [(event["aaid"], event["allowsPasscode"]) for event in kept] == [("C516#0103", True)]
    phone("sensor", "--fingerprint", "no-match").expect(0)
    browser.begin_sign_in(bank)
    answer(phone, "fingerprint", browser.picture()).expect(0)
    browser.finish_sign_in()
    phone("sensor", "--passcode", "cancel").expect(0)
    browser.begin_transfer("41.50")
    run = answer(phone, "fingerprint", browser.picture()).expect(1)
    assert run["finished"]["reason"] == "denied"


def test_a_passcode_replaces_no_finger_whose_key_ends_with_other_fingers(deployment, bank, browser):
    phone = deployment.person("--authenticator", "fingerprint", "--allow-passcode")
    kept = [event for event in phone("authenticators").expect(0).events if event["accounts"]]
    assert [(event["aaid"], event["allowsPasscode"]) for event in kept] == [("C516#0003", False)]
    phone("sensor", "--fingerprint", "lockout").expect(0)
    browser.begin_sign_in(bank)
    run = answer(phone, "fingerprint", browser.picture()).expect(4)
    assert run["finished"]["reason"] == "locked-out"


def test_a_wrong_password_is_no_sign_in(deployment, bank, browser):
    phone = person_with(deployment, "password")
    browser.begin_sign_in(bank)
    scan = ("scan", browser.picture(), "--approve", "--new-browser", "--password-stdin")
    run = phone(*scan, stdin="another password\n").expect(1)
    assert run["finished"]["reason"] == "wrong-password"
    assert run["password"]["remainingTries"] == 4
    assert phone("accounts").expect(0).events[0]["passwordRemainingTries"] == 4


def test_a_deregistered_phone_signs_nobody_in(deployment, bank, browser):
    phone = person_with(deployment, "pin")
    run = phone("deregister", phone.username, "--pin-stdin", stdin=PIN + "\n").expect(0)
    assert run["finished"]["outcome"] == "deregistered" and run["finished"]["isGone"] is True
    assert phone("accounts").expect(0).events == []
    assert deployment.server.admin("device", "list", phone.username) == {"devices": []}
    browser.begin_sign_in(bank)
    phone.approve(browser.picture()).expect(1)
    browser.get(bank.origin + "/accounts")
    assert browser.has("sign-in")
