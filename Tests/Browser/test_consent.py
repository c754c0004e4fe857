"""A service of somebody else's gets what its person agrees to, on a page that works without scripts, narrow and wide."""

import pytest

from test_accessibility import examine_page


@pytest.fixture
def foreign_bank(deployment):
    """The bank, as somebody else's service."""
    bank = deployment.bank
    deployment.server.admin("client", "change", bank.client_id, "--party", "third-party")
    yield bank
    deployment.server.admin("client", "change", bank.client_id, "--party", "first-party")


def test_person_is_asked_what_a_service_may_have(foreign_bank, phone, any_browser, deployment):
    browser, bank = any_browser, foreign_bank
    browser.begin_sign_in(bank)
    phone.approve(browser.picture()).expect(0)
    if not browser.scripts:
        browser.press(browser.one("confirmed"))
    words = browser.wait_for("consent").text
    assert phone.username in words
    assert bank.origin in words
    assert "your user name" in browser.one("consent-items").text
    examine_page(browser, "the question what a service may have")
    browser.press(browser.one("deny"))
    browser.wait(lambda: browser.address.startswith(bank.origin + "/"), message="not back at the bank")
    assert not browser.has("balance")

    # The person is still signed in at the server: only the question comes again.
    browser.get(bank.origin + "/")
    browser.press(browser.one("sign-in"))
    browser.press(browser.wait_for("allow"))
    browser.wait_for("balance")
    browser.press(browser.one("sign-out"))
