"""A person who is named at the sign-in page: a number, the wait, and the number on the phone."""

import urllib.parse

import pytest

from programs import PIN


@pytest.fixture
def back(deployment):
    """Where the service has people come back to."""
    return f"http://127.0.0.1:{deployment.server.port}/open"


@pytest.fixture
def address(deployment, back):
    """The address at which a sign-in begins at a service that takes codes and asked phones."""
    client_id, _ = deployment.server.add_client(
        f"Asker {next(deployment.numbers)}", back,
        options=["--sign-in-method", "phone", "--sign-in-method", "asked-phone", "--pkce", "nonce"],
    )
    query = {
        "response_type": "code", "client_id": client_id, "scope": "openid", "nonce": "n", "redirect_uri": back,
    }
    return f"{deployment.server.issuer}/oauth2/authorize?{urllib.parse.urlencode(query)}"


def ask(browser, address, name):
    """Names a person, and gives the number that the page shows."""
    browser.get(address)
    browser.press(browser.one("by-asked-phone")).wait_for("ask-form")
    browser.one("username").send_keys(name)
    browser.press(browser.one("submit")).wait_for("number")
    return browser.one("number").text


def answer(phone, number):
    return phone(
        "inbox", phone.username, "--number", number, "--approve", "--new-browser", "--pin-stdin", stdin=PIN + "\n"
    )


def without_sign_in(browser):
    """What the page says, without the name of its request."""
    return browser.driver.find_element("tag name", "main").text.replace(browser.one("number").text, "NUMBER")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_name_and_a_number_sign_in(address, back, phone, new_browser, scripts):
    browser = new_browser(scripts=scripts)
    number = ask(browser, address, phone.username)
    assert len(number) == 6 and number.isdigit()
    assert not browser.has("qr-code") and browser.state() == "waiting"
    assert answer(phone, number).expect(0)["finished"]["outcome"] == "approved"
    if not scripts:
        browser.press(browser.one("confirmed"))
    browser.wait(lambda: browser.address.startswith(back), message="the browser does not go back")
    assert "code=" in browser.address


def test_a_wrong_number_and_an_unknown_name_look_the_same(address, phone, new_browser):
    known, unknown = new_browser(), new_browser()
    number = ask(known, address, phone.username)
    ask(unknown, address, "nobody-has-this-name")
    wrong = "123456" if number != "123456" else "654321"
    answer(phone, wrong).expect(1)
    assert without_sign_in(known) == without_sign_in(unknown)
    known.driver.refresh()
    assert known.one("number").text == number and known.state() == unknown.state() == "waiting"
    assert without_sign_in(known) == without_sign_in(unknown)
    assert known.complaints() == []
