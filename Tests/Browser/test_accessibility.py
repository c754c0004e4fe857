"""No page breaks a rule of WCAG 2.2, level A or AA, that axe-core can find: in light and dark, narrow and wide, with
and without scripts."""

import secrets

import pytest
import requests
from selenium.webdriver.common.keys import Keys

from browser import EXPIRY_SECONDS
from programs import Server, run

APPEARANCES = [(scheme, width) for scheme in ("light", "dark") for width in (320, 1280)]


def examine_page(browser, name):
    """Checks the page that a browser shows, in every appearance."""
    found = []
    for scheme, width in APPEARANCES:
        browser.appear(scheme, width)
        found += [f"{name}, {scheme}, {width}: {text}" for text in browser.accessibility_violations()]
    browser.appear()
    assert found == []


@pytest.fixture(params=["with scripts", "without scripts"])
def examined(request, new_browser):
    """A browser, and a check of the page that it shows in every appearance."""
    browser = new_browser(scripts=request.param == "with scripts")
    return browser, lambda name: examine_page(browser, name)


def test_pages_of_a_sign_in_and_a_transfer(bank, phone, examined):
    browser, examine = examined
    browser.get(bank.origin + "/")
    examine("the bank's home")
    browser.begin_sign_in(bank)
    examine("the sign-in page")
    phone.approve(browser.picture()).expect(0)
    browser.finish_sign_in()
    examine("the accounts")
    browser.one("transfer-form").find_element("name", "amount").clear()
    browser.send_transfer().wait_for("problem")
    examine("the transfer form with a problem")
    browser.get(bank.origin + "/accounts")
    browser.begin_transfer()
    examine("the transfer")
    phone.approve(browser.picture()).expect(0)
    browser.finish_transfer()
    examine("the receipt")
    browser.get(bank.origin + "/accounts")
    browser.press(browser.one("sign-out")).wait_for("signed-out")
    examine("signed out")


def test_pages_of_refusals(bank, phone, examined, deployment):
    browser, examine = examined
    browser.sign_in(bank, phone)
    browser.begin_transfer()
    phone("scan", browser.picture(), "--deny").expect(1)
    browser.finish_transfer()
    examine("the refused transfer")
    browser.get(bank.origin + "/transfers/none")
    examine("the bank's error")
    browser.get(deployment.server.issuer + "/sign-in?request=none")
    examine("the sign-in server's error")
    browser.get(f"{deployment.server.issuer}/sign-in?request=none&client={bank.client_id}")
    assert browser.has("link"), "no way back to the bank"
    examine("the sign-in that has run out")
    browser.get(deployment.server.issuer + "/oauth2/authorize?client_id=nobody")
    examine("the request of nobody's")
    browser.get(deployment.server.issuer + "/sign-in")
    examine("an incomplete address")
    browser.get(deployment.server.issuer + "/open?dispatchTokenResponse=e30")
    examine("the page behind a link, without the app")
    browser.get(deployment.server.issuer + "/admin/setup")
    examine("the administrator's link")
    browser.driver.delete_all_cookies()
    browser.get(bank.origin + "/")
    browser.driver.delete_all_cookies()
    browser.begin_sign_in(bank)
    phone("scan", browser.picture(), "--deny").expect(1)
    if not browser.scripts:
        browser.press(browser.one("confirmed"))
    browser.wait_for_state("denied")
    examine("the denied sign-in")


def test_pages_of_a_device_without_a_browser(deployment, phone, examined):
    browser, examine = examined
    issuer = deployment.server.issuer
    client_id, secret = deployment.server.add_client(
        f"Demo Television {secrets.token_hex(2)}", "https://tv.example/about",
        options=["--grant-type", "urn:ietf:params:oauth:grant-type:device_code"],
    )
    codes = requests.post(
        f"{issuer}/oauth2/device_authorization", data={"scope": "openid"},
        auth=(client_id, secret.read_text().strip()), timeout=20,
    ).json()
    browser.get(codes["verification_uri"])
    examine("the page for a device's code")
    browser.driver.find_element("id", "user-code").send_keys("ZZZZ-ZZZZ")
    browser.press(browser.one("continue")).wait_for("problem")
    examine("the page for a device's code, with a problem")
    browser.get(codes["verification_uri_complete"])
    browser.press(browser.one("continue")).wait_for("qr-code")
    phone.approve(browser.picture()).expect(0)
    if not browser.scripts:
        browser.press(browser.one("confirmed"))
    browser.wait_for("device-confirmation")
    assert browser.one("user-code").text == codes["user_code"]
    examine("the question about a device")
    browser.press(browser.one("confirm")).wait_for("result")
    examine("the end of a device's sign-in")


def test_pages_of_a_password(bank, deployment, examined):
    browser, examine = examined
    server = deployment.server
    name = f"typist{next(deployment.numbers)}"
    server.admin("account", "add", name)
    command = ("admin", "account", "password", "set", name, "--data", server.folder / "data")
    assert run("countersign", *command, stdin="for this once\n")[0] == 0
    client_id, _ = server.add_client(
        f"Typewriter {name}", "https://typewriter.example/back",
        options=["--sign-in-method", "phone", "--sign-in-method", "password", "--pkce", "nonce"],
    )
    browser.get(
        f"{server.issuer}/oauth2/authorize?response_type=code&client_id={client_id}&scope=openid&nonce=n"
        "&redirect_uri=https%3A%2F%2Ftypewriter.example%2Fback"
    )
    browser.wait_for("by-phone")
    examine("the choice of ways to sign in")
    browser.press(browser.one("by-phone")).wait_for("other-ways")
    examine("the phone's page with another way")
    browser.press(browser.one("other-ways")).wait_for("by-password")
    browser.press(browser.one("by-password")).wait_for("password-form")
    examine("the page for a password")
    browser.one("username").send_keys(name)
    browser.one("password").send_keys("another one")
    browser.press(browser.one("submit")).wait_for("problem")
    examine("the page for a password, with a problem")
    browser.one("password").send_keys("for this once")
    browser.press(browser.one("submit")).wait_for("new-password-form")
    examine("the page for a new password")


def test_pages_of_a_phone_that_asks(bank, deployment, examined):
    browser, examine = examined
    client_id, _ = deployment.server.add_client(
        f"Asking place {next(deployment.numbers)}", "https://asking.example/back",
        options=["--sign-in-method", "asked-phone", "--pkce", "nonce"],
    )
    browser.get(
        f"{deployment.server.issuer}/oauth2/authorize?response_type=code&client_id={client_id}&scope=openid&nonce=n"
        "&redirect_uri=https%3A%2F%2Fasking.example%2Fback"
    )
    browser.wait_for("ask-form")
    examine("the page that asks for a name")
    browser.one("username").send_keys("nobody")
    browser.press(browser.one("submit")).wait_for("number")
    examine("the page with a number")


def test_pages_of_a_persons_own_and_of_mail(bank, new_browser, tmp_path):
    server = Server(tmp_path / "server", mail=True).start()
    try:
        walk_own_pages(server, new_browser(scripts=False))
    finally:
        server.stop()


def walk_own_pages(server, browser):
    """Whoever has forgotten a password comes to a new one by mail and by the keyboard alone, and to their own pages."""

    def examine(name):
        examine_page(browser, name)

    server.admin("account", "add", "typist", "--email", "typist@post.example", "--email-verified")
    command = ("admin", "account", "password", "set", "typist", "--data", server.folder / "data")
    assert run("countersign", *command, stdin="for this once\n")[0] == 0
    back = f"http://127.0.0.1:{server.port}/open"
    client_id, _ = server.add_client(
        "Typewriter", back, options=["--sign-in-method", "password", "--pkce", "nonce"]
    )
    begin = (
        f"{server.issuer}/oauth2/authorize?response_type=code&client_id={client_id}&scope=openid&nonce=n"
        f"&redirect_uri={back}"
    )
    browser.get(begin)
    browser.wait_for("password-form")
    browser.press(browser.one("forgotten")).wait_for("forgotten-password")
    examine("the page for a forgotten password")
    type_in(browser, "username", "typist")
    browser.wait_for("result")
    examine("the answer to a forgotten password")
    browser.get(server.mailed_link("typist@post.example"))
    browser.wait_for("password-reset")
    examine("the page behind a mailed link")
    type_in(browser, "new-password", "short")
    browser.wait_for("problem")
    examine("the page behind a mailed link, with a problem")
    type_in(browser, "new-password", "mine from now on")
    browser.wait_for("result")
    examine("a password that was reset")
    assert "was changed" in server.mail_to("typist@post.example")["subject"]
    browser.get(begin)
    browser.wait_for("password-form")
    browser.one("username").send_keys("typist")
    type_in(browser, "password", "mine from now on")
    for path in ("password", "second-factor", "recovery-codes"):
        browser.get(f"{server.issuer}/account/{path}")
        browser.wait_for(f"own-{path}")
        examine(f"a person's own page {path}")
    browser.get(f"{server.issuer}/account/second-factor")
    type_in(browser, "password", "mine from now on")
    browser.wait_for("second-factor-offer")
    examine("the picture for an authenticator app")
    server.admin("account", "change", "typist", "--email", "typist@elsewhere.example")
    browser.get(f"{server.issuer}/account/address")
    browser.wait_for("own-address")
    examine("a person's own address")
    browser.press(browser.one("submit")).wait_for("result")
    browser.get(server.mailed_link("typist@elsewhere.example"))
    browser.wait_for("address-confirmation")
    examine("the page that confirms an address")


def type_in(browser, field, text):
    """Types into a field and sends its form, without a pointer."""
    before = browser.document()
    browser.one(field).send_keys(text + Keys.ENTER)
    browser.wait(lambda: browser.document() != before, message="the page stays")


def take_code(browser, issuer):
    """A phone that takes the code of the page and then says nothing."""
    token = browser.one("typed-code").text
    answer = requests.post(f"{issuer}/token/redeem/authentication", json={"token": token}, timeout=20)
    assert answer.status_code == 200


def look_again(browser):
    if not browser.scripts:
        browser.press(browser.one("confirmed"))


def test_pages_while_a_phone_has_the_request(bank, deployment, phone, examined):
    browser, examine = examined
    browser.begin_sign_in(bank)
    take_code(browser, deployment.server.issuer)
    look_again(browser)
    browser.wait_for_state("claimed")
    examine("the claimed sign-in")

    browser.begin_sign_in(bank)
    link = browser.one("same-device-link").get_attribute("href")
    phone.approve(link).expect(0)
    look_again(browser)
    browser.wait_for_state("approved-on-device")
    examine("the sign-in that goes on in another window")

    # The continuation of the one above may be too old by now.
    browser.begin_sign_in(bank)
    run = phone.approve(browser.one("same-device-link").get_attribute("href")).expect(0)
    browser.get(run["finished"]["continuation"])
    browser.wait_for("balance")


def is_expired(browser):
    """Whether the sign-in of a page has expired. A page without scripts is loaded anew for the answer."""
    if not browser.scripts:
        browser.driver.refresh()
    return browser.state() == "expired"


def test_page_of_an_expired_sign_in(hasty_deployment, browser, plain_browser):
    """With scripts and without: both sign-ins expire in the same time."""
    both = (browser, plain_browser)
    for one in both:
        one.begin_sign_in(hasty_deployment.bank)
        take_code(one, hasty_deployment.server.issuer)
        look_again(one)
        one.wait_for_state("claimed", "expired")
    for one in both:
        one.wait(lambda: is_expired(one), EXPIRY_SECONDS, "the sign-in has not expired")
        examine_page(one, "the expired sign-in")


def test_pages_of_a_sign_in_that_ended_elsewhere(bank, phone, examined):
    browser, examine = examined
    browser.begin_sign_in(bank)
    run = phone.approve(browser.one("same-device-link").get_attribute("href")).expect(0)
    # The phone's own browser is not the one that began.
    assert requests.get(run["finished"]["continuation"], timeout=20).status_code == 403
    look_again(browser)
    browser.wait_for_state("approved-on-device")
    examine("the sign-in whose link was opened in another browser")

    browser.begin_sign_in(bank)
    page = browser.address
    phone.approve(browser.picture()).expect(0)
    browser.finish_sign_in()
    browser.get(page)
    browser.wait_for_state("completed")
    examine("the sign-in that was finished in another tab")


def test_pages_of_signing_out_at_the_server(bank, deployment, phone, examined):
    browser, examine = examined
    browser.sign_in(bank, phone)
    browser.get(deployment.server.issuer + "/oauth2/logout")
    browser.wait_for("confirm")
    examine("the question before signing out")
    browser.press(browser.one("confirm"))
    assert not browser.has("confirm"), "still the question"
    examine("signed out at the server")


def test_page_of_the_first_administrator(tmp_path, new_browser):
    server = Server(tmp_path / "new").start()
    try:
        browser = new_browser()
        link = server.folder / "data" / "administrator-link"
        server.process.wait_until(lambda: link.exists() and link.read_text().endswith("\n"))
        browser.get(link.read_text().strip())
        browser.one("create-token").click()
        browser.wait(lambda: browser.one("admin-token").text, message="no token")
        examine_page(browser, "the first administrator's token")
    finally:
        server.stop()
