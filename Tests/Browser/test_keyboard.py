"""What a person does on the pages can be done with the keyboard alone, in the order in which it is read, and it is seen
where they are."""

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

FOCUSED = """(function () {
  var element = document.activeElement;
  if (!element || element === document.body) { return null; }
  var style = getComputedStyle(element), box = element.getBoundingClientRect();
  var all = Array.from(document.querySelectorAll("*"));
  return {
    name: element.dataset.testid || element.name || element.textContent.trim(),
    place: all.indexOf(element),
    isMarked: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    isShown: box.width > 0 && box.height > 0 && box.left >= 0 && box.top >= 0,
  };
})()"""


def press(browser, *keys):
    ActionChains(browser.driver).send_keys(*keys).perform()


def walk(browser, limit=40):
    """Goes through the page with the tabulator, from its start to its end. Returns the names of what had the focus."""
    browser.driver.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
    seen = []
    for _ in range(limit):
        press(browser, Keys.TAB)
        focused = browser.evaluate(FOCUSED)
        if focused is None or (seen and focused["place"] == seen[0]["place"]):
            break
        assert focused["isMarked"], f"{focused['name']} does not show that it has the focus"
        assert focused["isShown"], f"{focused['name']} has the focus outside of the window"
        seen.append(focused)
    places = [focused["place"] for focused in seen]
    assert places == sorted(places), "the focus jumps"
    return [focused["name"] for focused in seen]


def go_to(browser, name, limit=40):
    """Brings the focus to an element, with the tabulator."""
    for _ in range(limit):
        focused = browser.evaluate(FOCUSED)
        if focused and focused["name"] == name:
            return
        press(browser, Keys.TAB)
    raise AssertionError(f"the keyboard does not reach {name}")


def press_with_keyboard(browser, name):
    before = browser.document()
    go_to(browser, name)
    press(browser, Keys.ENTER)
    browser.wait(lambda: browser.document() != before, message="the page stays")


def test_sign_in_and_transfer(bank, phone, browser):
    browser.get(bank.origin + "/")
    assert walk(browser)[0] == "Skip to the content"
    press_with_keyboard(browser, "sign-in")
    browser.wait_for("qr-code")
    names = walk(browser)
    assert names == ["Skip to content", "same-device-link", "new-code", "cancel"]
    phone.approve(browser.picture()).expect(0)
    browser.finish_sign_in()
    names = walk(browser)
    assert names[-5:] == ["amount", "payee", "iban", "reference", "Continue on the phone"]
    go_to(browser, "amount")
    # The tabulator selects what stands in a field.
    press(browser, "41.50", Keys.ENTER)
    browser.wait_for("transfer-qr")
    phone.approve(browser.picture()).expect(0)
    browser.finish_transfer()
    assert "41.50" in browser.one("receipt").text
    assert walk(browser)[-1] == "Back to the accounts"
    press_with_keyboard(browser, "sign-out")
    browser.wait_for("signed-out")


def test_skip_link_leads_to_the_content(bank, browser):
    browser.begin_sign_in(bank)
    browser.driver.execute_script("document.activeElement.blur()")
    press(browser, Keys.TAB, Keys.ENTER)
    assert browser.evaluate("document.activeElement.id") == "main"
    press(browser, Keys.TAB)
    assert browser.evaluate(FOCUSED)["name"] == "same-device-link"


def test_cancelling(bank, browser):
    browser.begin_sign_in(bank)
    press_with_keyboard(browser, "cancel")
    browser.wait_for("error")


def test_signing_out_or_staying(bank, deployment, phone, browser):
    browser.sign_in(bank, phone)
    browser.get(deployment.server.issuer + "/oauth2/logout")
    browser.wait_for("confirm")
    assert walk(browser) == ["Skip to content", "confirm"]
    press_with_keyboard(browser, "confirm")
    assert not browser.has("confirm")
