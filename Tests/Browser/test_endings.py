"""No page is a dead end: each leads back to the service that the person came from, or to a new try."""

import re

import pytest

from browser import EXPIRY_SECONDS
from conftest import Deployment


@pytest.fixture(scope="module")
def brief_deployment(tmp_path_factory):
    """A server that gives a person ten seconds for a sign-in, and three for each code."""
    limits = {"dispatchLifetime": 3, "authorizationRequestLifetime": 10}
    running = Deployment(tmp_path_factory.mktemp("brief"), limits=limits)
    yield running
    running.stop()


def assert_leads_back(browser, bank, headline):
    """The page says what has happened and what to do, has a number, and its button leads to the bank's own page."""
    words = browser.one("error").text
    assert headline in words
    assert "Go back to Lantern Street Bank and start again." in words
    assert re.search(r"give this number: [0-9A-Z]{4}-[0-9A-Z]{4}", words)
    link = browser.one("link")
    assert link.text == "Go to Lantern Street Bank"
    browser.press(link)
    assert browser.address == bank.origin + "/"
    assert browser.has("sign-in"), "not the bank's own page"


def test_page_whose_sign_in_runs_out(brief_deployment, browser, plain_browser):
    """With scripts and without: both sign-ins run out in the same time."""
    bank = brief_deployment.bank
    browser.begin_sign_in(bank)
    plain_browser.begin_sign_in(bank)

    def has_run_out():
        if plain_browser.has("new-code"):
            plain_browser.press(plain_browser.one("new-code"))
        return plain_browser.has("error")

    plain_browser.wait(has_run_out, EXPIRY_SECONDS, "the sign-in goes on")
    # By itself: with its last code the page finds out.
    browser.wait_for("error", EXPIRY_SECONDS)
    for one in (browser, plain_browser):
        assert_leads_back(one, bank, "This sign-in has run out")
        one.begin_sign_in(bank)


def test_back_button_after_cancelling(bank, any_browser):
    browser = any_browser
    browser.begin_sign_in(bank)
    page = browser.address
    browser.one("cancel").click()
    browser.wait(lambda: browser.address.startswith(bank.origin), message="not back at the bank")
    browser.get(page)
    assert_leads_back(browser, bank, "This sign-in has run out")


def test_back_button_after_a_sign_in(bank, phone, any_browser):
    browser = any_browser
    browser.begin_sign_in(bank)
    page = browser.address
    phone.approve(browser.picture()).expect(0)
    browser.finish_sign_in()
    browser.get(page)
    browser.wait_for_state("completed")
    browser.press(browser.one("home"))
    assert browser.address.startswith(bank.origin + "/")
    browser.wait_for("balance")


def test_browser_that_keeps_no_cookies(bank, any_browser):
    browser = any_browser
    browser.begin_sign_in(bank)
    page = browser.address
    browser.driver.delete_all_cookies()
    browser.get(page)
    assert_leads_back(browser, bank, "This browser does not know the sign-in")
    browser.begin_sign_in(bank)


def test_address_with_a_service_of_somebodys_making(deployment, bank, any_browser):
    browser = any_browser
    browser.begin_sign_in(bank)
    for made_up in ("https%3A%2F%2Fevil.example%2F", "Evil%20Bank"):
        browser.get(f"{deployment.server.issuer}/sign-in?request=none&client={made_up}")
        words = browser.one("error").text
        assert "Go back to the service and start again." in words
        assert "vil" not in words and not browser.has("link")


def test_address_that_belongs_to_a_form(deployment, any_browser):
    browser = any_browser
    browser.get(deployment.server.issuer + "/sign-in/cancel")
    assert "This address is no page" in browser.one("error").text
