"""The main job: scan, confirm on the phone, signed in; transfer, confirm, receipt."""

import pytest

from qr_code import text_of_svg


def test_sign_in_and_transfer_from_screenshots(bank, phone, any_browser):
    browser = any_browser.begin_sign_in(bank)
    run = phone.approve(browser.picture()).expect(0)
    assert run["request"]["service"] == "Lantern Street Bank"
    assert run["request"]["origin"] == bank.origin
    assert run["request"]["browserIsNew"] is True
    assert run["request"]["channel"] == "png-qr-code"
    browser.finish_sign_in()
    before = browser.one("balance").text

    browser.begin_transfer("41.50")
    run = phone.approve(browser.picture()).expect(0)
    assert "Payment\nAmount: EUR 41.50\nTo: Jo Gardener\nIBAN: DE89370400440532013000" in run["request"]["transaction"]
    assert run["request"]["payment"]["amount"] == "41.50"
    assert run["request"]["channel"] == "link-png-qr-code"
    browser.finish_transfer()
    assert "EUR 41.50" in browser.one("receipt").text

    browser.get(bank.origin + "/accounts")
    assert amount(browser.one("balance").text) == pytest.approx(amount(before) - 41.50)
    assert browser.complaints() == []


def amount(text):
    return float(text.replace("EUR", "").replace(",", "").strip())


def test_the_second_sign_in_comes_from_a_known_browser(bank, phone, browser):
    browser.sign_in(bank, phone)
    browser.driver.get(bank.origin + "/accounts")
    browser.press(browser.one("sign-out")).wait_for("signed-out")
    run = browser.sign_in(bank, phone)
    assert run["request"]["browserIsNew"] is False


def test_signing_out_ends_the_session_at_both(bank, phone, browser):
    browser.sign_in(bank, phone)
    browser.press(browser.one("sign-out")).wait_for("signed-out")
    assert browser.address.startswith(bank.origin + "/signed-out")
    browser.get(bank.origin + "/accounts")
    assert browser.has("sign-in")
    # The provider has forgotten the session too: it asks for the phone again.
    browser.press(browser.one("sign-in"))
    browser.wait_for("qr-code")


def test_sign_in_with_the_typed_code(bank, phone, browser, deployment):
    browser.begin_sign_in(bank)
    code = browser.one("typed-code").text.split()[-1]
    phone.approve(code, "--server", deployment.server.issuer).expect(0)
    browser.wait_for("balance")


def test_sign_in_with_the_text_of_the_qr_code(bank, phone, browser):
    browser.begin_sign_in(bank)
    run = phone.approve(text_of_svg(browser.one("qr-code").get_attribute("innerHTML"))).expect(0)
    assert run["request"]["channel"] == "png-qr-code"
    browser.wait_for("balance")


def test_sign_in_on_the_same_device(bank, phone, browser):
    browser.begin_sign_in(bank)
    link = browser.one("same-device-link").get_attribute("href")
    run = phone.approve(link).expect(0)
    browser.get(run["finished"]["continuation"])
    browser.wait_for("balance")


def test_in_app_authentication(deployment, phone):
    run = phone(
        "authenticate", phone.username, "--server", deployment.server.issuer, "--pin-stdin", "--approve",
        stdin="258036\n",
    )
    assert run.expect(0)["finished"]["outcome"] == "authenticated"
    assert [account["username"] for account in phone("accounts").expect(0).events] == [phone.username]
