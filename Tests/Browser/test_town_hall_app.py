"""The town hall's app in its terminal, against the real server, with its own back end and beside a browser."""

import json

import pytest

from programs import Process, Server, TownHall, free_port, run, socket_is_open
from qr_code import text_of_svg
from test_terminal import Terminal

PIN, NEW_PIN = "604817", "719403"
RULES = {"roles": [{"id": "resident", "name": "Resident", "default": True, "factors": [["pin", "device"]]}],
         "attributes": {"givenName": "required"}}


class Town:
    """A server that knows the app, a town hall's page, and the back end of the app."""

    def __init__(self, folder):
        self.folder = folder
        self.server = Server(folder)
        self.server.arguments += ["--facets", "linux:program:town-hall-app"]
        self.running = [self.server.start()]
        try:
            self.page = TownHall(folder, self.server).start()
            self.running.append(self.page)
            self.root_key = folder / "root.jwk"
            self.server.admin("identity", "root", "--file", self.root_key)
            self.back_end = self.start_back_end()
        except BaseException:
            self.stop()
            raise

    def start_back_end(self):
        redirect_uri = "https://town.example/app"
        client, secret = self.server.add_client("Town Hall app", redirect_uri)
        self.server.admin("service", "set", client, "--in-app", "--file", "-", stdin=json.dumps(RULES))
        port = free_port()
        environment = {"ISSUER": self.server.issuer, "CLIENT_ID": client, "CLIENT_SECRET_FILE": str(secret),
                       "REDIRECT_URI": redirect_uri, "PORT": str(port)}
        process = Process("back-end", [], self.folder / "back-end.log", environment)
        self.running.append(process)
        process.wait_until(lambda: socket_is_open(port))
        return f"http://127.0.0.1:{port}"

    def app(self):
        """The app, started: what its person sees and types."""
        return Terminal(
            self.server.issuer, self.root_key, self.back_end, program="town-hall-app",
            environment={"TOWN_HALL_APP_FOLDER": str(self.folder / "app")})

    def stop(self):
        for process in reversed(self.running):
            process.stop()


@pytest.fixture
def town(tmp_path):
    running = Town(tmp_path)
    yield running
    running.stop()


def test_the_town_halls_app(town, browser):
    town.server.admin("account", "add", "robin", "--display-name", "Robin Resident")
    for attribute, value in (("givenName", "Robin"), ("birthdate", "1990-01-31"), ("email", "robin@post.example")):
        town.server.add_attribute("robin", attribute, value, f"My {attribute}")
    offer = town.server.admin("activation", "create", "robin", "--identity", "--pin-stdin", stdin=PIN + "\n")
    app = town.app().expect("[Nobody's yet")
    app.type(f"open {offer['code'][:40]}A{offer['code'][41:]}\n").expect(" Begin again.")
    app.type(f"open {offer['code']}\n").expect("The PIN that came with the activation").type(PIN + "\n")
    app.expect("What is this phone to be called?").type("Robin's terminal\n")
    app.expect("Use your finger, too?").type("yes\n").expect("press Return in place of a finger").type("\n")
    app.expect("This phone is yours now.")

    browser.get(town.page.origin + "/")
    browser.press(browser.one("sign-in"))
    browser.wait_for("qr-code")
    app.type(f"open {text_of_svg(browser.one('qr-code').get_attribute('innerHTML'))}\n")
    for attribute in ("given name (My givenName)", "date of birth (My birthdate)", "e-mail address (My email)"):
        app.expect(f"The service needs your {attribute}. Tell it?").type("yes\n")
    app.expect(f"Sign in to Lantern Street Town Hall ({town.page.origin}) as Resident").type("yes\n")
    app.expect("Your PIN").type(PIN + "\n").expect("You are signed in to Lantern Street Town Hall as Resident.")
    browser.wait(lambda: browser.address.startswith(town.page.origin), message="nobody is signed in")

    app.type("change pin\n").expect("Change your PIN at").type("yes\n").expect("Your PIN").type(PIN + "\n")
    app.expect("The new PIN").type(NEW_PIN + "\n").expect("Your PIN is changed.")
    assert app.type("quit\n").exit_code() == 0

    again = town.app().expect("[Robin's terminal at ").expect("signs with a finger and this phone and the PIN]")
    again.type("sign in\n").expect("The service needs your given name (My givenName)").type("yes\n")
    again.expect("as Resident, and tell it your given name").type("yes\n").expect("Your PIN").type(NEW_PIN + "\n")
    again.expect("The town hall says: Hello, Robin!")
    again.type("leave\n").expect("Take your identity off this phone?").type("yes\n").expect("nobody's now.")
    assert again.type("quit\n").exit_code() == 0
    assert not any(pin in seen.text for pin in (PIN, NEW_PIN) for seen in (app, again)), "a PIN was shown"


def test_what_it_cannot_start_with_it_says(town, tmp_path):
    def start(*arguments):
        return run("town-hall-app", *arguments, environment={"TOWN_HALL_APP_FOLDER": str(tmp_path / "app")})

    code, out, _ = start("--help")
    assert code == 0 and "--facets linux:program:town-hall-app" in out
    for arguments, words in (
        ((), "usage: town-hall-app SERVER"), ((town.server.issuer, "missing.jwk"), "missing.jwk cannot be read"),
        (("ftp://id.example", town.root_key), "no server's address"),
        ((town.server.issuer, town.server.folder / "server.log"), "no root key"),
    ):
        code, _, err = start(*arguments)
        assert code == 2 and words in err, arguments
    app = town.app().expect("[Nobody's yet")
    code, _, err = start(town.server.issuer, town.root_key)
    assert code == 1 and "the app is open already" in err
    assert app.type("quit\n").exit_code() == 0
