"""Whatever must not sign anybody in, or move money, does not."""

import base64
import json
import re
import time
from urllib.parse import quote

import pytest

from browser import EXPIRY_SECONDS
from programs import PIN
from qr_code import text_of_svg


def assert_not_signed_in(browser, bank):
    browser.get(bank.origin + "/accounts")
    assert browser.has("sign-in"), "somebody is signed in"


def test_denied_sign_in(bank, phone, browser):
    browser.begin_sign_in(bank)
    phone("scan", browser.picture(), "--deny").expect(1)
    browser.wait_for_state("denied")
    assert_not_signed_in(browser, bank)


def test_denied_transfer(bank, phone, browser):
    browser.sign_in(bank, phone)
    before = browser.one("balance").text
    browser.begin_transfer()
    phone("scan", browser.picture(), "--deny").expect(1)
    browser.finish_transfer()
    assert browser.one("refused").get_attribute("data-reason") == "denied"
    browser.get(bank.origin + "/accounts")
    assert browser.one("balance").text == before


def test_expired_code(hasty_deployment, browser, plain_browser, new_browser):
    """The codes of a page with scripts, of one without and of a transfer expire in the same time."""
    bank, phone = hasty_deployment.bank, hasty_deployment.person()
    spender = new_browser()
    spender.sign_in(bank, phone)
    spender.begin_transfer()
    browser.begin_sign_in(bank)
    old, code = browser.picture(), browser.one("typed-code").text
    plain_browser.begin_sign_in(bank)
    plain_old, plain_code = plain_browser.picture(), plain_browser.one("typed-code").text
    end = time.monotonic() + hasty_deployment.limits["dispatchLifetime"]

    # With scripts: the page has another code by itself.
    browser.wait(lambda: browser.one("typed-code").text != code, EXPIRY_SECONDS, "no new code")
    run = phone.approve(old).expect(1)
    assert run["finished"]["reason"] == "token-expired"
    assert_not_signed_in(browser, bank)

    # Without: the page stays as it is, until its person asks for another code.
    plain_browser.wait(lambda: time.monotonic() > end, EXPIRY_SECONDS, "the time does not pass")
    assert plain_browser.one("typed-code").text == plain_code, "the page has changed by itself"
    run = phone.approve(plain_old).expect(1)
    assert run["finished"]["reason"] == "token-expired"
    plain_browser.press(plain_browser.one("new-code"))
    plain_browser.wait_for("qr-code")
    assert plain_browser.one("typed-code").text != plain_code
    phone.approve(plain_browser.picture()).expect(0)
    plain_browser.finish_sign_in()

    spender.finish_transfer(EXPIRY_SECONDS)
    assert spender.one("refused").get_attribute("data-reason") == "expired"


def test_code_scanned_twice(deployment, bank, phone, browser):
    other = deployment.person()
    browser.begin_sign_in(bank)
    picture = browser.picture()
    phone.approve(picture).expect(0)
    run = other.approve(picture).expect(1)
    assert run["finished"]["reason"] == "token-already-redeemed"
    browser.wait_for("balance")


def test_wrong_pin_until_locked(bank, phone, browser):
    codes = []
    for attempt in range(5):
        phone("clock", "--skew", f"+{600 * (attempt + 1)}").expect(0)
        browser.begin_sign_in(bank)
        codes.append(phone.approve(browser.picture(), pin="000000").code)
    assert codes == [1, 1, 1, 1, 4]
    browser.begin_sign_in(bank)
    run = phone.approve(browser.picture(), pin=PIN).expect(4)
    assert run["finished"]["outcome"] == "locked-out"
    advice = run["finished"]["message"]
    assert "countersign-phone enroll LINK" in advice and "takes the place of the locked one" in advice
    assert "wipe" not in advice and "forget" not in advice
    assert_not_signed_in(browser, bank)


def test_a_locked_account_is_enrolled_over(deployment, bank, phone, browser):
    """The new key takes the locked one's place at the server too, and the phone's other account is not touched."""
    server = deployment.server
    neighbour = f"{phone.username}-neighbour"
    server.admin("account", "add", neighbour)
    server.enroll(neighbour, phone)
    before = server.admin("device", "list", phone.username)["devices"]
    for attempt in range(5):
        phone("clock", "--skew", f"+{600 * (attempt + 1)}").expect(0)
        browser.begin_sign_in(bank)
        run = phone.approve(browser.picture(), "--account", phone.username, pin="000000")
    assert run.code == 4 and run["finished"]["reason"] == "locked-out"
    server.enroll(phone.username, phone)
    after = server.admin("device", "list", phone.username)["devices"]
    assert len(before) == len(after) == 1 and before[0]["id"] != after[0]["id"]
    assert len(server.admin("device", "list", neighbour)["devices"]) == 1
    for name in (phone.username, neighbour):
        phone("authenticate", name, "--server", server.issuer, "--pin-stdin", "--approve", stdin=PIN + "\n").expect(0)
    phone("forget", phone.username).expect(0)
    phone("forget", phone.username).expect(3)
    phone("authenticate", neighbour, "--server", server.issuer, "--pin-stdin", "--approve", stdin=PIN + "\n").expect(0)


def test_second_browser_cannot_take_the_sign_in_over(bank, phone, browser, new_browser):
    browser.begin_sign_in(bank)
    request = browser.address
    thief = new_browser()
    thief.get(request)
    assert thief.has("error") and not thief.has("qr-code")
    phone.approve(browser.picture()).expect(0)
    browser.finish_sign_in()
    thief.get(request.replace("/sign-in?", "/sign-in/complete?"))
    assert not thief.has("balance")
    assert_not_signed_in(thief, bank)


def test_second_browser_is_not_first_to_complete(bank, phone, plain_browser, new_browser):
    """The thief is there before the page of the person has noticed anything."""
    plain_browser.begin_sign_in(bank)
    request = plain_browser.address
    phone.approve(plain_browser.picture()).expect(0)
    thief = new_browser()
    thief.get(request.replace("/sign-in?", "/sign-in/complete?"))
    assert not thief.has("balance")
    assert_not_signed_in(thief, bank)
    plain_browser.finish_sign_in()


def test_forwarded_link_signs_nobody_in(bank, phone, browser, new_browser):
    """Somebody sends the link of their own page to a person, who opens and approves it."""
    browser.begin_sign_in(bank)
    request = browser.address
    link = browser.one("same-device-link").get_attribute("href")
    run = phone.approve(link).expect(0)
    persons_browser = new_browser()
    persons_browser.get(run["finished"]["continuation"])
    assert not persons_browser.has("balance")
    assert_not_signed_in(persons_browser, bank)
    browser.get(request.replace("/sign-in?", "/sign-in/complete?"))
    assert not browser.has("balance")
    assert_not_signed_in(browser, bank)


@pytest.mark.parametrize("form", ["QR code", "typed code"])
def test_forwarded_code_in_a_link_signs_nobody_in(deployment, bank, phone, browser, form):
    """Somebody makes a link of a code of their own page, and sends it to a person, who opens it and would approve."""
    browser.begin_sign_in(bank)
    request = browser.address
    content = text_of_svg(browser.one("qr-code").get_attribute("innerHTML"))
    assert re.fullmatch("[A-Z0-9$%+-]+", content), "a phone's own camera would open it"
    if form == "typed code":
        address = f"{deployment.server.issuer}/token/redeem/authentication"
        payload = {
            "nma_data": {"token": browser.one("typed-code").text, "redeem_url": address},
            "nma_data_content_type": "application/json",
            "nma_data_version": "1",
        }
        content = base64.urlsafe_b64encode(json.dumps(payload).encode()).decode().rstrip("=")
    link = f"{deployment.server.issuer}/open?dispatchTokenResponse={quote(content)}"
    run = phone.approve(link).expect(1)
    assert run["finished"]["reason"] == "code-came-by-link"
    assert [event["event"] for event in run.events] == ["finished"], "the person was asked"
    browser.wait_for_state("failed")
    browser.get(request.replace("/sign-in?", "/sign-in/complete?"))
    assert not browser.has("balance")
    # The token is spent, also for whoever would scan it now.
    run = phone.approve(content).expect(1)
    assert run["finished"]["reason"] == "token-already-redeemed"
    assert_not_signed_in(browser, bank)


def test_somebody_elses_transfer_is_not_confirmed(deployment, bank, phone, browser):
    other = deployment.person()
    browser.sign_in(bank, phone)
    browser.begin_transfer()
    other.approve(browser.picture()).expect(1)
    browser.driver.refresh()
    assert browser.has("refused") or browser.has("transfer-state")
    assert not browser.has("receipt")


def test_a_new_browser_wants_a_yes_of_its_own(phone, bank, browser):
    browser.begin_sign_in(bank)
    run = phone("scan", browser.picture(), "--approve", "--pin-stdin", stdin=PIN + "\n").expect(1)
    assert run["finished"]["reason"] == "new-browser"
    assert run["new-browser"]["origin"] == bank.origin and run["new-browser"]["address"]
    assert_not_signed_in(browser, bank)


def test_finger_that_does_not_match(deployment, bank, browser):
    phone = deployment.person("--authenticator", "fingerprint")
    browser.begin_sign_in(bank)
    phone("sensor", "--fingerprint", "no-match").expect(0)
    run = phone("scan", browser.picture(), "--approve", "--new-browser")
    assert run.code in (1, 4)
    assert_not_signed_in(browser, bank)


def test_form_of_another_site_moves_nothing(bank, phone, browser):
    browser.sign_in(bank, phone)
    before = browser.one("balance").text
    page = (
        f"data:text/html,<form id=f method=post action='{bank.origin}/transfers'>"
        "<input name=amount value=1><input name=payee value=x><input name=iban value=DE89370400440532013000>"
        "<input name=reference value=x><input name=form_token value=guess></form><script>f.submit()</script>"
    )
    browser.get(page)
    # The browser sends no cookie with it, so that it goes unheard and the person's own page comes.
    assert browser.one("balance").text == before
    assert not browser.has("transfer-qr")


def test_address_with_markup_leads_nowhere_else(deployment, bank, phone, browser):
    """A quotation mark with an accent on it would close its attribute if characters were compared in place of scalars."""
    browser.sign_in(bank, phone)
    mark = "%22%CC%81%20id=sign-in%20data-state=approved%20data-request=r%20data-complete=https://evil.example/%20z"
    for parameter in ("x", "state"):
        address = f"{deployment.server.issuer}/oauth2/logout?{parameter}={mark}"
        browser.get(address)
        browser.wait_for("sign-out")
        assert browser.evaluate("document.getElementById('sign-in') === null")
        assert browser.address == address


def test_markup_that_got_in_leads_nowhere_else(deployment, browser):
    """The script goes to this server's own addresses, even where somebody else has written a part of the page."""
    browser.command(
        "Page.addScriptToEvaluateOnNewDocument",
        source="""
          document.addEventListener("readystatechange", function () {
            if (document.readyState !== "interactive" || location.pathname !== "/open") { return; }
            document.body.insertAdjacentHTML("beforeend",
              '<p id="sign-in" data-state="approved" data-request="//evil.example/" ' +
              'data-complete="https://evil.example/" data-wait="https://evil.example/"></p>');
          });
        """,
    )
    browser.get(deployment.server.issuer + "/open")
    browser.wait(lambda: not browser.address.endswith("/open"), message="the script has not taken the markup up")
    assert browser.address == deployment.server.issuer + "/sign-in/complete?request=%2F%2Fevil.example%2F"
