"""The phone in a real terminal: what a person sees and types."""

import codecs
import os
import pty
import select
import signal
import time

import requests
from programs import BINARIES, PIN, SECRETS

SECONDS = 30


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, *arguments, program="countersign-phone", environment=None):
        self.text = ""
        self.seen = 0
        self.letters = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.process, self.keyboard = pty.fork()
        if self.process == 0:
            program = str(BINARIES / program)
            environment = {**os.environ, "NO_COLOR": "1", "TERM": "xterm", **(environment or {})}
            os.execve(program, [program, *map(str, arguments)], environment)

    def expect(self, words):
        """Waits until the program has said `words`, after whatever was expected before."""
        end = time.monotonic() + SECONDS
        while words not in self.text[self.seen :]:
            assert time.monotonic() < end, f"the program did not say {words!r}:\n{self.text}"
            assert self.listen() or words in self.text[self.seen :], f"ended before {words!r}:\n{self.text}"
        self.seen = self.text.index(words, self.seen) + len(words)
        return self

    def listen(self):
        """Takes up what the program says within a moment. Whether it may still say something."""
        if select.select([self.keyboard], [], [], 0.1)[0]:
            try:
                self.text += self.letters.decode(os.read(self.keyboard, 4096))
            except OSError:
                return False
        return True

    def type(self, text):
        SECRETS.note_typed(text)
        os.write(self.keyboard, text.encode())
        return self

    def exit_code(self):
        end = time.monotonic() + SECONDS
        while self.listen():
            if time.monotonic() > end:
                os.kill(self.process, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


def test_sign_in_by_hand(bank, phone, browser):
    browser.begin_sign_in(bank)
    terminal = Terminal("scan", browser.picture(), "--home", phone.home)
    terminal.expect("not used this browser before").expect(bank.origin).expect("Chrome on Linux")
    terminal.expect("[y/n]").type("y\n")
    terminal.expect("Lantern Street Bank asks you to sign in").expect(bank.origin).expect("Chrome on Linux")
    terminal.expect("Approve? [y/n]").type("y\n")
    terminal.expect("PIN: ").type("111111\r")
    terminal.expect("That is not the PIN.").expect("4 tries left.")
    terminal.expect("PIN: ").type(PIN + "\r")
    terminal.expect("Approved.")
    assert terminal.exit_code() == 0
    assert PIN not in terminal.text and "••••••" in terminal.text
    browser.wait_for("balance")

    browser.begin_transfer("77.00")
    terminal = Terminal("scan", browser.picture(), "--home", phone.home)
    terminal.expect("asks you to confirm a payment").expect("You are about to pay")
    terminal.expect("│ Amount    │ EUR 77.00").expect("│ To        │ Jo Gardener")
    terminal.expect("[y/n]").type("n\n")
    terminal.expect("Denied.")
    assert terminal.exit_code() == 1
    browser.finish_transfer()
    assert browser.one("refused").get_attribute("data-reason") == "denied"


def test_enrolment_by_hand(deployment, tmp_path):
    deployment.server.admin("account", "add", "by-hand")
    activation = deployment.server.admin("activation", "create", "by-hand")
    terminal = Terminal("enroll", activation["link"], "--home", tmp_path / "phone")
    terminal.expect("wants to enrol this phone").expect("by-hand").expect("[y/n]").type("y\n")
    terminal.expect("With what?").expect("Number: ").type("1\n")
    terminal.expect("Choose a PIN:").type("123\r").expect("And once more:").type("123\r")
    terminal.expect("A PIN has 6 digits.")
    terminal.expect("Choose a PIN:").type(PIN + "\r").expect("And once more:").type("258037\r")
    terminal.expect("two different ones")
    terminal.expect("Choose a PIN:").type(PIN + "\r").expect("And once more:").type(PIN + "\r")
    terminal.expect("store for development").expect("Type this number where the link was made")
    terminal.expect("This phone is enrolled")
    assert terminal.exit_code() == 0
    assert PIN not in terminal.text


def test_escape_at_the_pin_denies(bank, phone, browser):
    browser.begin_sign_in(bank)
    terminal = Terminal("scan", browser.picture(), "--home", phone.home, "--approve")
    terminal.expect("not used this browser before").expect("[y/n]").type("y\n")
    terminal.expect("PIN: ").type("25\x1b")
    terminal.expect("Denied.")
    assert terminal.exit_code() == 1
    browser.wait_for_state("denied")


def test_a_call_centre_asks_by_hand(deployment, phone):
    ciba = "urn:openid:params:grant-type:ciba"
    client, secret = deployment.server.add_client("Call Centre", "https://calls.example/", options=("--grant-type", ciba))
    credentials = (client, secret.read_text().strip())

    def ask(path, **form):
        return requests.post(f"{deployment.server.issuer}/oauth2/{path}", data=form, auth=credentials, timeout=20).json()

    def begin(message):
        asked = {"scope": "openid", "login_hint": phone.username, "binding_message": message}
        return ask("bc-authorize", **asked)["auth_req_id"]

    # Nobody has to authenticate: the phone proves which one it is.
    notices = phone("notices", phone.username).expect(0)
    assert [event["kind"] for event in notices.events if event["event"] == "account-notice"] == ["device-added"]
    assert notices["finished"]["outcome"] == "listed"
    shown = Terminal("notices", phone.username, "--home", phone.home).expect("device added: ")
    assert shown.exit_code() == 0
    assert phone("notices", "nobody").expect(3)["finished"]["reason"] == "no-such-account"
    assert phone("inbox", phone.username, "--pin-stdin", stdin=PIN + "\n").expect(0)["finished"]["outcome"] == "listed"
    request = begin("Call 4711: change of address")
    # The device itself asks what waits for it; the person's PIN is for the answer.
    terminal = Terminal("inbox", phone.username, "--home", phone.home)
    terminal.expect("Call Centre asks you something").expect("https://calls.example")
    terminal.expect("Call 4711: change of address").expect("[y/n]").type("y\n")
    terminal.expect("PIN: ").type(PIN + "\r")
    terminal.expect("Approved.")
    assert terminal.exit_code() == 0
    assert ask("token", grant_type=ciba, auth_req_id=request)["token_type"] == "Bearer"

    first, second = begin("Call 4712"), begin("Call 4713")
    listed = phone("inbox", phone.username, "--deny", "--pin-stdin", stdin=PIN + "\n").expect(0)
    questions = [event["id"] for event in listed.events if event["event"] == "question"]
    assert len(questions) == 2 and listed["finished"]["outcome"] == "listed"
    # The newest comes first.
    denied = phone("inbox", phone.username, "--question", questions[0], "--deny", "--pin-stdin", stdin=PIN + "\n")
    assert denied.expect(1)["finished"]["outcome"] == "denied"
    assert ask("token", grant_type=ciba, auth_req_id=second)["error"] == "access_denied"
    assert ask("token", grant_type=ciba, auth_req_id=first)["error"] == "authorization_pending"
    missing = phone("inbox", phone.username, "--question", questions[0], "--approve", "--pin-stdin", stdin=PIN + "\n")
    assert missing.expect(3)["finished"]["reason"] == "no-such-question"


def test_a_pin_is_changed_by_hand(phone):
    change = ("pin", "change", phone.username, "--home", phone.home)
    terminal = Terminal(*change)
    terminal.expect("PIN: ").type("111111\r").expect("Choose a PIN: ").type("963852\r")
    terminal.expect("And once more: ").type("963852\r")
    terminal.expect("That is not the PIN.").expect("4 tries left.")
    terminal.expect("PIN: ").type(PIN + "\r").expect("Choose a PIN: ").type("963852\r")
    terminal.expect("And once more: ").type("963852\r")
    terminal.expect(f"The PIN of {phone.username} on this phone is changed.")
    assert terminal.exit_code() == 0
    assert PIN not in terminal.text and "963852" not in terminal.text and "••••••" in terminal.text
    # The new PIN is no more echoed than the old one, and nobody who gives up loses it.
    terminal = Terminal(*change)
    terminal.expect("PIN: ").type("963852\r").expect("Choose a PIN: ").type("2580\x1b")
    terminal.expect("Nothing was changed.")
    assert terminal.exit_code() == 1
    for pin, code in ((PIN, 1), ("963852", 0)):
        phone("authenticate", phone.username, "--pin-stdin", stdin=pin + "\n").expect(code)
    # An argument shows in the list of processes, and is refused before anything is asked.
    phone("pin", "change", phone.username, "--pin", "963852").expect(2)
