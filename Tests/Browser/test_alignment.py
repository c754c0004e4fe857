"""Outcomes and errors stand alike: what came of a sign-in, of a transfer or of a request, and what to do next."""

import requests

# How far the middle of each headline, of the sentence below it and of the button or link is from that of the page's
# content, and how the text stands in its box.
PLACES = """(() => {
  var main = document.querySelector("main"), style = getComputedStyle(main), box = main.getBoundingClientRect();
  var middle = (box.left + parseFloat(style.paddingLeft) + box.right - parseFloat(style.paddingRight)) / 2;
  var headline = main.querySelector("h1");
  var after = node => headline.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING;
  var sentence = [...main.querySelectorAll("p")].find(after);
  var button = [...main.querySelectorAll("a.button, a.primary, a[data-testid], button")].find(after);
  return [headline, sentence, button].map(element => {
    if (!element) { return null; }
    var own = element.getBoundingClientRect();
    return [Math.round(Math.abs((own.left + own.right) / 2 - middle)), getComputedStyle(element).textAlign];
  });
})()"""


def assert_centred(browser, name):
    for width in (320, 1280):
        browser.appear(width=width)
        places = browser.evaluate(PLACES)
        assert places == [[0, "center"]] * 3, (name, width, places)
    browser.appear()


def test_outcomes_and_errors_of_the_bank(bank, phone, browser):
    browser.sign_in(bank, phone)
    browser.begin_transfer()
    phone.approve(browser.picture()).expect(0)
    browser.finish_transfer()
    assert browser.has("receipt")
    assert_centred(browser, "the receipt")
    browser.get(bank.origin + "/accounts")
    browser.begin_transfer()
    phone("scan", browser.picture(), "--deny").expect(1)
    browser.finish_transfer()
    assert browser.has("refused")
    assert_centred(browser, "the refused transfer")
    browser.get(bank.origin + "/transfers/none")
    assert browser.has("error")
    assert_centred(browser, "the error")
    browser.get(bank.origin + "/accounts")
    browser.press(browser.one("sign-out")).wait_for("signed-out")
    assert_centred(browser, "signed out")


def test_outcomes_and_errors_of_a_sign_in(bank, deployment, phone, browser):
    issuer = deployment.server.issuer
    browser.begin_sign_in(bank)
    page = browser.address
    phone.approve(browser.picture()).expect(0)
    browser.finish_sign_in()
    browser.get(page)
    browser.wait_for_state("completed")
    assert_centred(browser, "the sign-in that is finished")
    browser.get(f"{issuer}/sign-in?request=none&client={bank.client_id}")
    assert browser.has("error")
    assert_centred(browser, "the sign-in that has run out")
    browser.driver.delete_all_cookies()
    browser.get(bank.origin + "/")
    browser.driver.delete_all_cookies()
    browser.begin_sign_in(bank)
    phone("scan", browser.picture(), "--deny").expect(1)
    browser.wait_for_state("denied")
    assert_centred(browser, "the sign-in that was declined")
    browser.driver.delete_all_cookies()
    browser.get(bank.origin + "/")
    browser.driver.delete_all_cookies()
    browser.begin_sign_in(bank)
    run = phone.approve(browser.one("same-device-link").get_attribute("href")).expect(0)
    elsewhere = requests.get(run["finished"]["continuation"], timeout=20)
    assert elsewhere.status_code == 403 and "Go to Lantern Street Bank" in elsewhere.text
    browser.wait_for_state("approved-on-device")
