"""The sign-in page shows what can be used on the device that shows it."""

import pytest


def is_shown(browser, hook):
    return browser.one(hook).is_displayed()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_phone_is_offered_its_own_app_and_no_code_to_scan(bank, new_browser, scripts):
    browser = new_browser(scripts=scripts)
    browser.begin_sign_in(bank)
    browser.touch(360, 780)
    assert browser.evaluate("matchMedia('(pointer: coarse)').matches"), "the browser is no phone"
    assert not is_shown(browser, "qr-code")
    assert is_shown(browser, "typed-code")
    link = browser.one("same-device-link")
    assert link.size["height"] >= 44 and link.size["width"] > 250, "it is the page's main button"


def test_a_tablet_is_offered_both(bank, browser):
    browser.begin_sign_in(bank)
    browser.touch(1024, 768)
    assert is_shown(browser, "qr-code")
    assert browser.one("same-device-link").size["height"] >= 44


def test_a_narrow_window_is_no_phone(bank, phone, browser):
    browser.appear(width=360, height=1400)
    browser.begin_sign_in(bank)
    assert is_shown(browser, "qr-code")
    assert browser.one("same-device-link").size["height"] < 44, "the app is on another device"
    phone.approve(browser.picture()).expect(0)
    browser.finish_sign_in()
