"""Letters by the way that they go at an operator's: a sendmail of a distribution, which speaks SMTP to a mail server."""

import email
import email.policy
import email.utils

import pytest
from aiosmtpd.controller import Controller

from programs import Phone, Server, free_port

WAY_PIN = "604817"
SENDER = "no-reply@countersign.example"
# Of the package `msmtp`. It is a sendmail by its arguments, and speaks SMTP to whoever its file names.
SENDMAIL = "/usr/bin/msmtp"


class MailServer:
    """Takes letters by SMTP, but for those whose receiver nobody is there."""

    def __init__(self):
        self.letters = []
        self.refused = []
        self.controller = Controller(self, hostname="127.0.0.1", port=free_port())
        self.controller.start()

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody"):
            self.refused.append(address)
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        self.letters.append((envelope.mail_from, envelope.rcpt_tos, envelope.content))
        return "250 Message accepted"

    def stop(self):
        self.controller.stop()


@pytest.fixture
def mail_server():
    running = MailServer()
    yield running
    running.stop()


@pytest.fixture
def server(tmp_path, mail_server):
    settings = tmp_path / "sendmail.conf"
    settings.write_text(
        f"account default\nhost 127.0.0.1\nport {mail_server.controller.port}\nfrom {SENDER}\ntls off\nauth off\n")
    running = Server(tmp_path / "server")
    running.arguments += ["--mail-command", f"{SENDMAIL} --file={settings} -i -t", "--mail-from", SENDER]
    running.start()
    yield running
    running.stop()


def test_the_letter_of_an_activation_goes_by_smtp(server, mail_server, tmp_path):
    def addressed(address):
        server.admin("account", "change", "jo", "--email", address, "--email-verified")

    def letter():
        code = phone(
            *("activation", "new", "--name", "Tablet", "--mail", "--approve", "--pin-stdin"),
            stdin=f"{pin}\n{WAY_PIN}\n").expect(0)["finished"]["code"]
        return code

    server.admin("account", "add", "jo", "--display-name", "Jo Gärtner")
    phone = Phone(tmp_path / "phone")
    _, pin = server.personalize("jo", phone)
    addressed("jo.gaertner@post.example")
    code = letter()
    server.process.wait_until(lambda: mail_server.letters)
    [(sender, receivers, content)] = mail_server.letters
    # The envelope is what the server said, and one person is named in it.
    assert sender == SENDER and receivers == ["jo.gaertner@post.example"]
    message = email.message_from_bytes(content, policy=email.policy.default)
    assert message.defects == [] and message["To"].addresses[0].addr_spec == "jo.gaertner@post.example"
    assert message["From"].addresses[0].addr_spec == SENDER and message["Subject"]
    assert message["Message-ID"] and email.utils.parsedate_to_datetime(message["Date"])
    # Nothing on the way had to be changed: 7 bits, lines of SMTP's length, and no line that ends the letter early.
    assert content.isascii() and all(len(line) <= 998 for line in content.split(b"\r\n"))
    text = message.get_content()
    assert f"{server.issuer}/open#{code}" in text.splitlines() and WAY_PIN not in text
    # What came out of the mailbox makes the identity.
    link = next(line for line in text.splitlines() if "/open#" in line)
    other = Phone(tmp_path / "tablet")
    done = other("enroll", link, "--pin-stdin", stdin=WAY_PIN + "\n").expect(0)["finished"]
    assert done["outcome"] == "personalized"

    # What the mail server does not take is not taken for sent: the server says so, and nothing of the letter in it.
    addressed("nobody@post.example")
    lost = letter()
    server.process.wait_until(lambda: mail_server.refused)
    server.process.wait_until(lambda: "the mail command ended with status" in server.log())
    assert len(mail_server.letters) == 1
    assert lost not in server.log() and "nobody@post.example" not in server.log()
