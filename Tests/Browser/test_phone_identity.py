"""What a person does with their own identity at the phone: each command to its end, by a script and at a keyboard."""

import html
import re

import pytest
import requests

from programs import Failed, Phone
from qr_code import text_of_svg
from test_identity_pages import People, WAY_PIN
from test_terminal import Terminal

NEW_PIN = "719403"
# A root key of nobody's here (RFC 7517, appendix A.1).
OTHER_KEY = (
    '{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",'
    '"y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}')


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    # A first rest of three seconds is a countdown already.
    running = People(tmp_path_factory.mktemp("own-identities"), limits={"firstLockout": 3})
    yield running
    running.stop()


@pytest.fixture
def resident(people):
    return people.resident()


def own(phone, *arguments, pins=(), expected=0):
    """A command with the PINs that it asks for: what it said at its end."""
    lines = "".join(pin + "\n" for pin in pins)
    given = ("--pin-stdin",) if pins else ()
    return phone(*arguments, *given, stdin=lines).expect(expected)["finished"]


def refused(phone, *arguments, pins=(), code=1):
    """The reason of a command that is not done."""
    return own(phone, *arguments, pins=pins, expected=code)["reason"]


def identities(phone):
    return phone("identities").expect(0).events


def change_pin(phone, present, new, expected=0):
    return own(phone, "pin", "change", pins=(present, new), expected=expected)


def terminal(phone, *arguments):
    return Terminal(*arguments, "--home", phone.home)


def personalized(people, name, code, pin=WAY_PIN):
    phone = Phone(people.folder / name)
    phone.pin = pin
    phone("enroll", code, "--pin-stdin", stdin=pin + "\n").expect(0)
    return phone


def test_identities_are_listed(people, tmp_path):
    nobody = Phone(tmp_path / "nobody")
    assert identities(nobody) == []
    terminal(nobody, "identities").expect("This phone has no identity.")
    phone = people.resident()
    [identity] = identities(phone)
    assert identity["server"] == people.server.issuer and identity["factors"] == ["device", "pin"]
    assert identity["name"] and identity["createdAt"] and identity["activation"]
    shown = terminal(phone, "identities").expect(people.server.issuer).expect("Signs with").expect("Since")
    assert shown.exit_code() == 0
    listed = people.server.admin("identity", "activations", phone.username)["activations"]
    assert [activation["id"] for activation in listed] == [identity["activation"]]


@pytest.mark.parametrize(
    "command", [("pin", "change"), ("factor", "add"), ("activation", "new"), ("account", "delete", "--approve"),
                ("depersonalize", "--approve")])
def test_nothing_can_be_done_without_an_identity(tmp_path, command):
    pins = () if command[0] == "depersonalize" else (WAY_PIN, NEW_PIN)
    assert refused(Phone(tmp_path / "nobody"), *command, pins=pins, code=3) == "not-personalized"


def test_the_pin_is_changed(people, resident):
    for new, reason in ((resident.pin, "pin-unchanged"), ("12", "pin-too-short"), ("123456", "pin-too-simple"),
                        ("12a456", "pin-invalid-characters"), ("7" * 200, "pin-too-long")):
        assert change_pin(resident, resident.pin, new, expected=1)["reason"] == reason
    assert refused(resident, "pin", "change", pins=(resident.pin,), code=2) == "usage"
    assert change_pin(resident, resident.pin, NEW_PIN)["outcome"] == "changed"
    # A refused one was never taken: the one of before was good until the change, and is not any more.
    assert change_pin(resident, resident.pin, "604817", expected=4)["reason"] == "locked-out"
    # While it rests nothing is judged, not even what is right.
    assert change_pin(resident, NEW_PIN, "604817", expected=4)["reason"] == "locked-out"


def test_a_lockout_counts_down_at_the_keyboard(people, resident):
    by_hand = terminal(resident, "pin", "change")
    by_hand.expect("You have begun this on this phone: Change the PIN").expect("PIN: ").type("\r")
    # A Return too early, or half a PIN, is no attempt.
    by_hand.expect("A PIN has 5 digits or more. Nothing was sent.").expect("PIN: ").type("7194\r")
    by_hand.expect("Nothing was sent.").expect("PIN: ").type("000000\r")
    by_hand.expect("That was not right. Which part of it, nobody says.").expect("You can try again in")
    by_hand.expect("PIN: ")
    # Each second in the place of the one before, down to the last.
    seconds = [int(left) for left in re.findall(r"\rYou can try again in (\d+) s", by_hand.text)]
    assert seconds == list(range(seconds[0], 0, -1)) and 2 <= seconds[0] <= 4
    by_hand.type(resident.pin + "\r")
    by_hand.expect("New PIN: ").type("123456\r").expect("Once more: ").type("123456\r")
    by_hand.expect("a date, digits in a row and what repeats are tried first by whoever finds the phone.")
    by_hand.expect("New PIN: ").type(NEW_PIN + "\r").expect("Once more: ").type(NEW_PIN + "\r")
    by_hand.expect("The PIN is changed.")
    assert by_hand.exit_code() == 0
    assert resident.pin not in by_hand.text and NEW_PIN not in by_hand.text
    # Not back to the one that the server drew: one in ten of those looks like a date, and nobody may choose such a PIN.
    assert change_pin(resident, NEW_PIN, WAY_PIN)["outcome"] == "changed"


def test_escape_at_the_pin_changes_nothing(people, resident):
    by_hand = terminal(resident, "pin", "change")
    by_hand.expect("PIN: ").type("25\x1b").expect("You gave up.")
    assert by_hand.exit_code() == 1
    assert change_pin(resident, resident.pin, NEW_PIN)["outcome"] == "changed"


def test_a_factor_is_added(people, resident):
    resident("sensor", "--fingerprint", "no-match", "--face", "no-match").expect(0)
    assert refused(resident, "factor", "add", pins=(resident.pin,)).startswith("biometric-")
    assert identities(resident)[0]["factors"] == ["device", "pin"]
    resident("sensor", "--fingerprint", "match", "--face", "match").expect(0)
    assert own(resident, "factor", "add", pins=(resident.pin,))["outcome"] == "added"
    assert identities(resident)[0]["factors"] == ["biometric", "device", "pin"]
    assert refused(resident, "factor", "add", pins=(resident.pin,)) == "factor-already-enrolled"
    # Another set of fingers and faces ends the key; it is replaced, and no second one is there.
    resident("sensor", "--fingerprint", "changed", "--face", "changed").expect(0)
    assert own(resident, "factor", "add", pins=(resident.pin,))["outcome"] == "added"
    assert identities(resident)[0]["factors"] == ["biometric", "device", "pin"]


def test_a_code_for_another_phone(people, resident, tmp_path):
    new = ("activation", "new", "--name", "Tablet")
    for pin, reason in (("123456", "pin-too-simple"), ("12", "pin-too-short")):
        assert refused(resident, *new, pins=(resident.pin, pin)) == reason
    nowhere = tmp_path / "missing" / "code.png"
    assert refused(resident, *new, "--qr-file", nowhere, pins=(resident.pin, WAY_PIN)) == "not-written"
    picture = tmp_path / "code.png"
    made = own(resident, *new, "--qr-file", picture, pins=(resident.pin, WAY_PIN))
    assert made["outcome"] == "activated" and made["qrFile"] == str(picture)
    other = Phone(tmp_path / "tablet")
    # The picture is the code, and its PIN is the one that was chosen for it.
    assert refused(resident, "enroll", picture, pins=(WAY_PIN,)) == "already-personalized"
    done = own(other, "enroll", picture, pins=(WAY_PIN,))
    assert done["outcome"] == "personalized"
    assert refused(Phone(tmp_path / "late"), "enroll", made["code"], pins=(WAY_PIN,)) == "activation-data-consumed"
    listed = people.server.admin("identity", "activations", resident.username)["activations"]
    assert [activation["name"] for activation in listed][1:] == ["Tablet"]


def test_an_account_is_deleted_for_good(people, resident, tmp_path):
    made = own(resident, "activation", "new", pins=(resident.pin, WAY_PIN))
    other = personalized(people, f"other-{resident.username}", made["code"])
    assert refused(resident, "account", "delete", pins=(resident.pin,), code=2) == "usage"
    by_hand = terminal(resident, "account", "delete")
    by_hand.expect("PIN: ").type(resident.pin + "\r")
    by_hand.expect("Delete the account for good, with all its phones? [y/n]").type("n\n").expect("Nothing was deleted.")
    assert by_hand.exit_code() == 1
    people.server.admin("account", "show", resident.username)
    assert own(resident, "account", "delete", "--approve", pins=(resident.pin,))["outcome"] == "deleted"
    assert identities(resident) == []
    with pytest.raises(Failed):
        people.server.admin("account", "show", resident.username)
    # The person's other phone is none any more either.
    assert refused(other, "pin", "change", pins=(other.pin, NEW_PIN)) in ("activation-unknown", "activation-disabled")


def test_an_identity_is_taken_off_the_phone(people, resident):
    assert refused(resident, "depersonalize", code=2) == "usage"
    by_hand = terminal(resident, "depersonalize")
    by_hand.expect(f"Take the identity of {people.server.issuer} off this phone? [y/n]").type("n\n")
    by_hand.expect("Nothing was changed.")
    assert by_hand.exit_code() == 1 and len(identities(resident)) == 1
    assert own(resident, "depersonalize", "--approve")["outcome"] == "depersonalized"
    assert identities(resident) == []
    # The account stays, and the server has no device of it any more.
    people.server.admin("account", "show", resident.username)
    listed = people.server.admin("identity", "activations", resident.username)["activations"]
    assert not any(activation.get("state", "active") == "active" for activation in listed)
    assert refused(resident, "depersonalize", "--approve", code=3) == "not-personalized"


def invitation_code(people, email, pin=WAY_PIN):
    """Opens an invitation's link as somebody without a session does: the invitation, and the code that its page shows."""
    invite = people.invite(email, "--no-mail")
    browser = requests.Session()
    page = browser.get(invite["link"], timeout=20)
    hidden = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page.text)
    form = {name: html.unescape(value) for name, value in hidden} | {"pin": pin, "pin-again": pin}
    page = browser.post(f"{people.server.issuer}/invitation", data=form, timeout=20)
    assert page.status_code == 200, page.text
    return invite, text_of_svg(re.search(r'data-testid="qr-code".*?(<svg.*?</svg>)', page.text, re.S).group(1))


def test_an_invitation_is_taken_into_the_identity_that_there_is(people, resident, tmp_path):
    before = identities(resident)[0]
    invite, code = invitation_code(people, f"merged-{resident.username}@post.example")
    # Whoever gives up leaves the invitation as it is.
    assert refused(resident, "enroll", code, "--deny", pins=(WAY_PIN, resident.pin)) == "denied"
    assert people.server.admin("invite", "show", "--", invite["id"])["state"] == "open"
    merged = own(resident, "enroll", code, pins=(WAY_PIN, resident.pin))
    assert merged["outcome"] == "merged" and merged["server"] == people.server.issuer
    shown = people.server.admin("invite", "show", "--", invite["id"])
    assert shown["state"] == "accepted"
    # The phone signs as before, as the same person; and the code is void for everybody.
    [after] = identities(resident)
    assert after["activation"] == before["activation"]
    assert refused(resident, "enroll", code, pins=(WAY_PIN, resident.pin)).startswith("activation-data-")
    assert refused(Phone(tmp_path / "late"), "enroll", code, pins=(WAY_PIN,)).startswith("activation-data-")
    assert change_pin(resident, resident.pin, NEW_PIN)["outcome"] == "changed"


def test_a_server_is_trusted_by_its_own_key_alone(people, tmp_path):
    """Whoever gives the phone another server's key learns it at once, and not at the first code."""
    key, other = tmp_path / "root.jwk", tmp_path / "other.jwk"
    people.server.admin("identity", "root", "--file", key)
    other.write_text(OTHER_KEY)
    phone = Phone(tmp_path / "phone")
    kept = tmp_path / "phone" / "trust.json"
    assert refused(phone, "trust", people.server.issuer, "--key", other) == "not-its-key"
    assert not kept.exists()
    otherwise = people.server.issuer.replace("localhost", "127.0.0.1")
    assert otherwise != people.server.issuer
    assert refused(phone, "trust", otherwise, "--key", key) == "not-its-address"
    assert not kept.exists()
    trusted = own(phone, "trust", people.server.issuer, "--key", key)
    assert trusted["outcome"] == "trusted" and trusted["reached"] is True
    # One that is trusted already, and whose keys the phone has, stays so, whatever somebody says later.
    before = kept.read_bytes()
    assert refused(phone, "trust", people.server.issuer, "--key", other) == "not-its-key"
    assert kept.read_bytes() == before
    nowhere = own(phone, "trust", "http://127.0.0.1:1", "--key", other)
    assert nowhere["outcome"] == "trusted" and nowhere["reached"] is False


def test_an_invitation_by_hand(people, resident):
    """Whoever sits at the phone says so twice: what the code is, and that its account comes into their identity."""
    invite, code = invitation_code(people, f"byhand-{resident.username}@post.example")
    by_hand = terminal(resident, "enroll", code)
    by_hand.expect("offers this phone an identity").expect("Personalise this phone? [y/n]").type("y\n")
    by_hand.expect("PIN of the activation: ").type(WAY_PIN + "\r")
    by_hand.expect("Take the invitation into the identity that this phone has? [y/n]").type("n\n")
    by_hand.expect("You gave up. Nothing was done.")
    assert by_hand.exit_code() == 1
    assert people.server.admin("invite", "show", "--", invite["id"])["state"] == "open"
    by_hand = terminal(resident, "enroll", code)
    by_hand.expect("[y/n]").type("y\n").expect("PIN of the activation: ").type(WAY_PIN + "\r")
    by_hand.expect("Take the invitation").expect("[y/n]").type("y\n")
    by_hand.expect("PIN: ").type(resident.pin + "\r")
    by_hand.expect("The invitation belongs to your identity now. Its code is void.")
    assert by_hand.exit_code() == 0
    assert people.server.admin("invite", "show", "--", invite["id"])["state"] == "accepted"
