"""The pages of personalised identities: a person's own, the code for another device, and where an invitation leads."""

import pytest

from browser import EXPIRY_SECONDS
from conftest import Deployment
from programs import Phone, TownHall
from qr_code import text_of_svg
from test_accessibility import examine_page

WAY_PIN = "604817"


class People(Deployment):
    """A deployment with a town hall, where people sign in with personalised identities, and with mail."""

    def __init__(self, folder, **options):
        super().__init__(folder, mail=True, **options)
        self.town_hall = TownHall(self.folder, self.server).start()
        club = self.server.admin("organisation", "add", "Rowing Club")
        self.club = club["id"]

    def stop(self):
        self.town_hall.stop()
        super().stop()

    def resident(self):
        """A person with a personalised phone, of whom the town hall knows what it asks for."""
        name = f"resident{next(self.numbers)}"
        self.server.admin("account", "add", name, "--display-name", name.capitalize())
        for attribute, value in (("givenName", "Robin"), ("birthdate", "1990-01-31"), ("email", f"{name}@post.example")):
            self.server.add_attribute(name, attribute, value, f"My {attribute}")
        phone = Phone(self.folder / f"phone-{name}")
        _, phone.pin = self.server.personalize(name, phone)
        phone.username = name
        return phone

    def ask_for_email(self, requirement):
        """Whether the town hall can do without an address."""
        attributes = ("givenName=required", "birthdate=required", f"email={requirement}")
        self.server.admin(
            "service", "set", self.town_hall.client_id,
            *(word for attribute in attributes for word in ("--attribute", attribute)))

    def invite(self, email, *options):
        return self.server.admin(
            *("invite", "create", email, "--organisation", self.club, "--service", self.town_hall.client_id),
            *("--role", "official", *options))


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    running = People(tmp_path_factory.mktemp("people"))
    yield running
    running.stop()


@pytest.fixture
def resident(people):
    return people.resident()


def sign_in(browser, people, phone, *options):
    browser.get(people.town_hall.origin + "/")
    browser.press(browser.one("sign-in"))
    browser.wait_for("qr-code")
    run = phone("scan", browser.picture(), "--approve", "--pin-stdin", *options, stdin=phone.pin + "\n")
    run.expect(0)
    if browser.scripts:
        browser.wait(lambda: browser.address.startswith(people.town_hall.origin), message="nobody is signed in")
    else:
        browser.press(browser.one("confirmed"))


def test_page_has_another_code_within_a_second_of_a_phone_that_gives_up(browser, people, resident):
    browser.get(people.town_hall.origin + "/")
    browser.press(browser.one("sign-in"))
    browser.wait_for("qr-code")
    before = code_on(browser)
    run = resident("scan", browser.picture(), "--deny", "--pin-stdin", stdin=resident.pin + "\n")
    run.expect(1)
    if not browser.scripts:
        browser.press(browser.one("confirmed"))
    browser.wait(lambda: browser.state() == "waiting" and code_on(browser) != before, 1, "no other code")
    run = resident("scan", browser.picture(), "--approve", "--pin-stdin", stdin=resident.pin + "\n")
    run.expect(0)


def confirm(browser, phone):
    """Has the phone confirm the change that a page asks for, and waits for the page on which the change is made."""
    browser.wait_for("qr-code")
    assert "Confirm on your phone" in browser.driver.page_source
    run = phone("scan", browser.picture(), "--approve", "--pin-stdin", stdin=phone.pin + "\n")
    run.expect(0)
    if browser.scripts:
        browser.wait(lambda: "/account/change/" not in browser.address, message="the page has not gone on")
    else:
        browser.press(browser.one("confirmed"))


def make_code(browser, people, phone, name="Tablet"):
    """Has the page make a code, with a PIN of the person's, once the phone has confirmed it."""
    browser.get(people.server.issuer + "/account/activation")
    browser.press(browser.one("confirm"))
    confirm(browser, phone)
    browser.one("name").send_keys(name)
    browser.one("pin").send_keys(WAY_PIN)
    browser.one("pin-again").send_keys(WAY_PIN)
    browser.press(browser.one("submit"))
    browser.wait_for("qr-code")


def code_on(browser):
    return text_of_svg(browser.one("qr-code").get_attribute("innerHTML"))


def personalise(people, name, code):
    """Another phone, personalised by a code with the PIN for the way, and that PIN for its own."""
    phone = Phone(people.folder / name)
    phone.pin = WAY_PIN
    return phone, phone("enroll", code, "--pin-stdin", stdin=WAY_PIN + "\n")


def test_another_device(people, resident, any_browser):
    browser = any_browser
    sign_in(browser, people, resident)
    make_code(browser, people, resident)
    shown = browser.address
    code = code_on(browser)
    assert browser.one("typed-code").text == code
    assert browser.one("same-device-link").get_attribute("href").endswith("/open#" + code)
    phone, run = personalise(people, f"phone-{resident.username}-second", browser.picture())
    run.expect(0)
    if browser.scripts:
        # By itself, within a second or so.
        browser.wait_for("result")
    else:
        browser.press(browser.one("confirmed"))
    assert "This device is personalised" in browser.one("result").text
    assert code.split("~")[1] not in browser.address and browser.address != shown

    browser.get(people.server.issuer + "/account")
    devices = [device.text for device in browser.all("activation")]
    assert len(devices) == 2 and "Tablet" in devices[1]
    # The second device is the person's, everywhere.
    for address in (people.town_hall.origin, people.server.issuer + "/account"):
        browser.get(address)
        browser.driver.delete_all_cookies()
    sign_in(browser, people, phone)
    browser.get(people.server.issuer + "/account")
    assert browser.one("name").text == resident.username


def test_a_code_is_of_no_use_to_others(people, resident, new_browser):
    """Somebody has the page's address, looks at the page again, and tries the address of a session of their own."""
    browser = new_browser()
    sign_in(browser, people, resident)
    make_code(browser, people, resident)
    code = code_on(browser)
    secret = code.split("~")[1]
    activation = browser.one("activation")
    state = "{}/activation?activation={}&ticket={}".format(
        people.server.issuer, activation.get_attribute("data-activation"), activation.get_attribute("data-ticket"))
    assert secret not in browser.address and secret not in state

    thief = new_browser()
    thief.get(state)
    assert "This browser has not asked for this code" in thief.one("result").text
    thief.get(people.server.issuer + "/account")
    assert "Nobody is signed in here" in thief.one("result").text
    sign_in(thief, people, people.resident())
    thief.get(state)
    assert "This browser has not asked for this code" in thief.one("result").text
    thief.get(people.server.issuer + "/account/activation/end?activation=" + activation.get_attribute("data-activation"))
    assert "There is no such device" in thief.one("result").text

    # Without the PIN the code personalises nobody, and it is in nothing that the server has said.
    stolen = Phone(people.folder / f"stolen-{resident.username}")
    assert stolen("enroll", code, "--pin-stdin", stdin="111222\n").code != 0
    assert secret not in people.server.log()
    # Looked at again, the page has no code any more.
    browser.get(state)
    assert "This code still waits for a device" in browser.one("result").text
    assert secret not in browser.driver.page_source


def test_a_device_is_ended(people, resident, any_browser):
    browser = any_browser
    sign_in(browser, people, resident)
    browser.get(people.server.issuer + "/account")
    browser.press(browser.one("end"))
    assert "It is the last device that you have" in browser.one("end-activation").text
    browser.press(browser.one("confirm"))
    confirm(browser, resident)
    browser.press(browser.one("confirm"))
    assert "It has ended" in browser.one("result").text
    browser.get(people.server.issuer + "/account")
    assert "Nobody is signed in here" in browser.one("result").text


def test_history(people, resident, any_browser):
    browser = any_browser
    sign_in(browser, people, resident)
    other = people.town_hall.origin
    browser.get(other + "/")
    browser.get(people.server.issuer + "/account")
    assert "Town Hall" in browser.one("service").text and "Resident" in browser.one("roles").text
    assert "Email: My email" in browser.one("choices").text
    browser.press(browser.one("rename"))
    browser.one("name").clear()
    browser.one("name").send_keys("Robin's phone")
    browser.press(browser.one("submit"))
    browser.press(browser.one("link"))
    assert "Robin's phone" in browser.one("activation").text
    browser.press(browser.one("forget"))
    assert "Email: My email" in browser.one("forget-choice").text
    browser.press(browser.one("confirm"))
    browser.press(browser.one("link"))
    assert not browser.all("choices") and not browser.all("forget")
    values = " ".join(value.text for value in browser.all("value"))
    assert "Robin" in values and f"{resident.username}@post.example" in values
    browser.press(browser.one("history"))
    entry = browser.one("entry")
    assert entry.get_attribute("data-outcome") == "finished"
    assert "Sign-in: Lantern Street Town Hall" in entry.text and "as Resident" in entry.text
    browser.press(browser.one("back"))
    browser.wait_for("identity")


def test_a_person_adds_an_address(people, any_browser):
    """Without a value of e-mail nobody comes into the town hall; the person adds one at the account's page, and comes in."""
    browser = any_browser
    name = f"newhere{next(people.numbers)}"
    people.server.admin("account", "add", name)
    for attribute, value in (("givenName", "Robin"), ("birthdate", "1990-01-31")):
        people.server.add_attribute(name, attribute, value, f"My {attribute}")
    phone = Phone(people.folder / f"phone-{name}")
    _, phone.pin = people.server.personalize(name, phone)
    browser.get(people.town_hall.origin + "/")
    browser.press(browser.one("sign-in"))
    browser.wait_for("qr-code")
    run = phone("scan", browser.picture(), "--approve", "--pin-stdin", stdin=phone.pin + "\n")
    assert run.code != 0

    # For as long as the town hall does without it the person is signed in.
    people.ask_for_email("optional")
    try:
        sign_in(browser, people, phone)
    finally:
        people.ask_for_email("required")
    browser.get(people.server.issuer + "/account")
    browser.press(browser.one("add-email"))
    examine_page(browser, "an address")
    browser.one("email").send_keys(f"{name}@post.example")
    browser.press(browser.one("submit"))
    confirm(browser, phone)
    browser.press(browser.one("submit"))
    assert "Look into your mailbox" in browser.one("result").text
    browser.get(people.server.mailed_link(f"{name}@post.example"))
    browser.press(browser.one("submit"))
    assert "This address is confirmed" in browser.one("result").text
    browser.get(people.server.issuer + "/account")
    assert f"{name}@post.example" in " ".join(value.text for value in browser.all("value"))

    for address in (people.town_hall.origin, people.server.issuer + "/account"):
        browser.get(address)
        browser.driver.delete_all_cookies()
    sign_in(browser, people, phone, "--alias", "email=email")
    browser.get(people.server.issuer + "/account")
    assert "Email: email" in browser.one("choices").text


def test_an_invitation_makes_an_account(people, any_browser):
    browser = any_browser
    email = f"new{next(people.numbers)}@post.example"
    invite = people.invite(email)
    message = people.server.mail_to(email)
    assert invite["link"] in message["text"].splitlines() and "PIN" not in message["text"]
    browser.get(invite["link"])
    assert "You are invited to Rowing Club" in browser.one("invitation").text
    browser.one("pin").send_keys(WAY_PIN)
    browser.one("pin-again").send_keys(WAY_PIN)
    browser.press(browser.one("submit"))
    phone, run = personalise(people, f"phone-{email}", browser.picture())
    run.expect(0)
    if browser.scripts:
        browser.wait_for("result")
    else:
        browser.press(browser.one("confirmed"))
    assert "This device is personalised" in browser.one("result").text
    accepted = people.server.admin("invite", "show", "--", invite["id"])
    assert accepted["state"] == "accepted"
    browser.get(invite["link"])
    assert "This invitation is accepted" in browser.one("result").text


def test_a_newcomer_makes_an_identity_on_the_way(tmp_path_factory, any_browser):
    """From the town hall, which sends them here as somebody new, back to the town hall, which has them signed in."""
    browser, running = any_browser, People(tmp_path_factory.mktemp("newcomers"))
    try:
        hall, email = running.town_hall, "new@post.example"
        running.server.admin("service", "set", hall.client_id, "--newcomers", "--attribute", "givenName=required")
        browser.get(hall.origin + "/")
        browser.press(browser.one("newcomer"))
        browser.one("email").send_keys(email)
        browser.press(browser.one("submit"))
        assert "Look into your mailbox" in browser.one("result").text
        # A person has that page open still when they open the letter's link in another one.
        waiting = browser.one("link").get_attribute("href")

        link = next(line for line in running.server.mail_to(email)["text"].splitlines() if "/invitation?link=" in line)
        browser.get(link)
        browser.one("pin").send_keys(WAY_PIN)
        browser.one("pin-again").send_keys(WAY_PIN)
        browser.press(browser.one("submit"))
        phone, run = personalise(running, "phone-new", browser.picture())
        run.expect(0)
        if browser.scripts:
            browser.wait_for("result")
        else:
            browser.press(browser.one("confirmed"))
        assert "If a sign-in waits in another page, go on there." in browser.one("result").text
        assert browser.one("link").text == "Go to Lantern Street Town Hall"

        browser.get(waiting)
        browser.wait_for("qr-code")
        run = phone(
            *("scan", browser.picture(), "--approve", "--pin-stdin", "--value-stdin"),
            stdin='{"givenName":"Robin"}\n' + phone.pin + "\n")
        run.expect(0)
        if not browser.scripts:
            browser.press(browser.one("confirmed"))
        # The town hall has compared state and nonce, and has the ID token and the claims.
        browser.wait(lambda: browser.address.startswith(hall.origin + "/desk"), message="nobody is signed in")
        assert browser.one("claim-given_name").text == "Robin"
    finally:
        running.stop()


def test_the_letter_of_a_new_activation(people, resident):
    """By the operator's own mail command: one letter where the person has asked for it, with the code and no PIN."""
    email = f"{resident.username}@post.example"
    people.server.admin("account", "change", resident.username, "--email", email, "--email-verified")
    codes = []
    for options in ((), ("--mail",)):
        run = resident(
            *("activation", "new", "--name", "Tablet", "--approve", "--pin-stdin", *options),
            stdin=f"{resident.pin}\n{WAY_PIN}\n").expect(0)
        codes.append(run["finished"]["code"])
    message = people.server.mail_to(email)
    assert f"{people.server.issuer}/open#{codes[1]}" in message["text"].splitlines()
    assert WAY_PIN not in message["text"] and codes[0] not in message["text"]
    personalise(people, f"mailed-{resident.username}", codes[1])[1].expect(0)
    assert list(people.server.mailbox.glob("*.json")) == []
    listed = people.server.admin("identity", "activations", resident.username)
    assert [activation["name"] for activation in listed["activations"]][1:] == ["Tablet"]


def test_an_invitation_that_is_taken_back(people, any_browser):
    email = f"gone{next(people.numbers)}@post.example"
    invite = people.invite(email, "--no-mail")
    people.server.admin("invite", "revoke", "--", invite["id"])
    any_browser.get(invite["link"])
    assert "This invitation was taken back" in any_browser.one("result").text
    any_browser.get(invite["link"][:-3] + "AAA")
    assert "This link opens no invitation" in any_browser.one("result").text


def test_pages_are_accessible(people, resident, new_browser):
    for scripts in (True, False):
        browser = new_browser(scripts=scripts)
        email = f"seen{next(people.numbers)}@post.example"
        browser.get(people.invite(email, "--no-mail")["link"])
        examine_page(browser, "the invitation")
        sign_in(browser, people, resident)
        for path in (
                *("/account", "/account/history", "/account/receipts", "/account/activation"),
                *("/account/value/email", "/account/value/phone")):
            browser.get(people.server.issuer + path)
            examine_page(browser, path)
        make_code(browser, people, resident)
        examine_page(browser, "the code")
        browser.get(people.server.issuer + "/account")
        browser.press(browser.one("end"))
        examine_page(browser, "the end of a device")


def test_a_code_is_over(tmp_path_factory, new_browser):
    """The page says by itself that the time of its code is over, and leads to another one."""
    running = People(tmp_path_factory.mktemp("hasty-people"), limits={"activationLifetime": 15})
    try:
        browser = new_browser()
        resident = running.resident()
        sign_in(browser, running, resident)
        make_code(browser, running, resident)
        code = browser.picture()
        browser.wait_for("result", EXPIRY_SECONDS)
        assert "This code does not work any more" in browser.one("result").text
        assert personalise(running, "late", code)[1].code != 0
        browser.press(browser.one("link"))
        browser.wait_for("change-question")
    finally:
        running.stop()
