"""A browser that was put aside while its person was in the app, tabs that wait beside each other, and a link that opens in
another browser than the one that shows the page."""

import pytest
import requests

from proxy import Proxy, deployment_behind
from test_identity_pages import code_on, personalise, people, resident, sign_in, WAY_PIN  # noqa: F401

# No page hears by its own clock sooner than this: two heartbeats, the code's own time and the timer of a channel are longer.
AT_ONCE = 3

# Until the page is shown again its channels are as those whose connection has died: open, and silent. The last state that
# the server has told is noted, by whether the page could hear it, and so are the page's own questions.
DEAD = """
(function () {
  var Real = window.EventSource, ask = window.fetch, isDead = true;
  document.addEventListener("visibilitychange", function () {
    if (document.visibilityState === "visible") { isDead = false; }
  });
  window.EventSource = function (address) {
    var channel = new Real(address), name = isDead ? "unheard" : "heard";
    channel.addEventListener("state", function (event) { window[name] = JSON.parse(event.data).state; });
    if (!isDead) { return channel; }
    this.readyState = Real.OPEN;
    this.addEventListener = this.close = function () {};
  };
  window.EventSource.CLOSED = Real.CLOSED;
  window.fetches = 0;
  window.fetch = function () {
    window.fetches += 1;
    return ask.apply(window, arguments);
  };
})();
"""


def with_dead_channels(browser):
    browser.command("Page.addScriptToEvaluateOnNewDocument", source=DEAD)
    return browser


def wait_until_told(browser, name, state):
    """Waits until the server has told a state that the page has `heard`, or could not hear: `unheard`."""
    browser.wait(lambda: browser.evaluate(f"window.{name}") == state, message=f"{state} is not {name}")


def put_aside(browser):
    """Shows another tab, and the page again."""
    page = browser.driver.current_window_handle
    browser.open_tab()
    browser.driver.close()
    browser.driver.switch_to.window(page)


def test_a_page_that_is_shown_again_asks_at_once(bank, phone, browser):
    with_dead_channels(browser).begin_sign_in(bank)
    phone.approve(browser.picture()).expect(0)
    wait_until_told(browser, "unheard", "approved")
    assert browser.state() == "waiting", "the channel is dead"
    put_aside(browser)
    browser.wait(lambda: browser.has("balance"), AT_ONCE, "the page has not asked")


def test_a_page_that_asks_shows_the_same_code(bank, browser):
    with_dead_channels(browser).begin_sign_in(bank)
    before = code_on(browser)
    put_aside(browser)
    wait_until_told(browser, "heard", "waiting")
    assert browser.evaluate("window.fetches") == 0, "the page has fetched itself, which costs a code"
    assert code_on(browser) == before


def test_pages_of_a_change_and_of_an_activation_ask_at_once(people, resident, browser):  # noqa: F811
    sign_in(browser, people, resident)
    with_dead_channels(browser).get(people.server.issuer + "/account/activation")
    browser.press(browser.one("confirm"))
    browser.wait_for("qr-code")
    resident("scan", browser.picture(), "--approve", "--pin-stdin", stdin=resident.pin + "\n").expect(0)
    wait_until_told(browser, "unheard", "approved")
    assert "/account/change/wait" in browser.address
    put_aside(browser)
    browser.wait(lambda: "/account/change/" not in browser.address, AT_ONCE, "the page has not asked")

    browser.one("name").send_keys("Tablet")
    browser.one("pin").send_keys(WAY_PIN)
    browser.one("pin-again").send_keys(WAY_PIN)
    browser.press(browser.one("submit"))
    browser.wait_for("qr-code")
    _, run = personalise(people, f"phone-{resident.username}-second", browser.picture())
    run.expect(0)
    wait_until_told(browser, "unheard", "done")
    assert not browser.has("result")
    put_aside(browser)
    browser.wait(lambda: browser.has("result"), AT_ONCE, "the page has not asked")


class Silent(Proxy):
    """Lets channels open, and then nothing through: those that are open when the silence begins, or all. Pages are told of
    shorter heartbeats than the server's, so that their patience ends within a test."""

    generation = 0
    are_all_silent = False

    def asked(self, body):
        self.born = Silent.generation
        return body

    def answered(self, data):
        return data.replace(b'data-heartbeat="15"', b'data-heartbeat="2"')

    def streamed(self, piece):
        return b"" if Silent.are_all_silent or self.born < Silent.generation else piece


@pytest.mark.parametrize("are_all", [False, True], ids=["one channel", "all channels"])
def test_a_silent_channel_is_given_up(tmp_path, browser, are_all):
    """Of a page that shows no codes nothing else asks, whatever becomes of the sign-in."""
    with deployment_behind(Silent, tmp_path, limits={"claimedLifetime": 6}) as (bank, _):
        browser.begin_sign_in(bank)
        token = browser.one("typed-code").text
        issuer = browser.address.split("/sign-in")[0]
        assert requests.post(f"{issuer}/token/redeem/authentication", json={"token": token}, timeout=20).ok
        browser.wait_for_state("claimed")
        Silent.generation += 1
        Silent.are_all_silent = are_all
        try:
            browser.wait_for_state("expired")
        finally:
            Silent.are_all_silent = False


def test_tabs_that_wait_go_on_when_one_has_signed_in(bank, phone, browser):
    browser.begin_sign_in(bank)
    waiting = browser.driver.current_window_handle
    browser.open_tab()
    browser.sign_in(bank, phone)
    browser.driver.switch_to.window(waiting)
    # The bank knows one sign-in of a browser at a time; what its page says of the other one is the bank's.
    browser.wait(lambda: browser.address.startswith(bank.origin + "/callback?code="), AT_ONCE, "the tab waits on")


def test_a_link_that_opens_in_another_browser(bank, phone, new_browser):
    browser, other = new_browser(), new_browser()
    browser.begin_sign_in(bank)
    run = phone.approve(browser.one("same-device-link").get_attribute("href")).expect(0)
    continuation = run["finished"]["continuation"]
    browser.wait_for_state("approved-on-device")

    other.get(continuation)
    words = other.one("error").text
    assert "Go on in Chrome on Linux" in words and "give its address to nobody" in words
    other.get(continuation)
    assert "Go on in Chrome on Linux" in other.one("error").text, "a visit spends nothing"
    assert browser.state() == "approved-on-device", "the page that has waited is not signed in by the visit"

    browser.get(continuation)
    browser.wait_for("balance")
    other.get(continuation)
    assert "This sign-in has run out" in other.one("error").text
