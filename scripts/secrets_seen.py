"""What nobody else may read of a run of the programs, and whether it stands in what the run has left."""

import base64
import functools
import json
import os
import pathlib
import re
import sys
import tempfile
import urllib.parse

# Members of an operator's answers that open something by their last part.
OPENING = ("code", "link", "secret", "token")
# What holds secrets because that is what it is for: keys, certificates with theirs, what is handed to a client, photographs of
# codes; letters that were delivered, and what browsers keep of the pages that they have shown.
HOLDERS = (".key", ".pem", ".png", ".secret")
HOLDING_FOLDERS = re.compile(r"mailbox|browser-[0-9]+")
# What programs and packages of them begin with.
PROGRAMS = (b"\x7fELF", b"!<arch>")


# How many bytes of a text are compared at once, and so how long whatever is looked for has to be.
WINDOW = 8
BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
STANDARD = bytes.maketrans(b"-_", b"+/")
# A byte that is neither a letter nor a digit nor a dot, in hexadecimal.
APART = rb"(?:[01][0-9A-Fa-f]|2[0-9A-DFa-df]|3[A-Fa-f]|40|5[B-Fb-f]|60|7[B-Fb-f]|[89A-Fa-f][0-9A-Fa-f])"
# A number by itself: not within a longer one or a word, and no decimals. What is escaped before it is a letter of its own.
ALONE = rb"(?:(?<![0-9A-Za-z.])|(?<=%%%(apart)b)|(?<=\\[bfnrt])|(?<=\\u00%(apart)b))%(pin)b(?![0-9A-Za-z])"
DIGITS = re.compile(rb"[0-9]{5,}")
ESCAPED_BEFORE_DIGITS = re.compile(rb"(?:%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4})([0-9]{5,})")


def lists(raw):
    """Bytes as Swift prints them, and as JSON has them."""
    return {between.join(map(str, raw)).encode() for between in (", ", ",")}


def forms(value):
    """The value in whatever form it may stand somewhere: as it is, decoded where it is base64url, in hexadecimal, as a list of
    bytes, in base64 and base64url at any place of a longer text, percent-encoded, in a form's way, and within JSON."""
    raws = [value.encode()]
    if len(value) >= 16 and re.fullmatch(r"[A-Za-z0-9_-]+", value) and len(value) % 4 != 1:
        raws.append(base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)))
    found = set()
    for text in (urllib.parse.quote(value, safe=""), urllib.parse.quote(value), urllib.parse.quote_plus(value)):
        found |= {text.encode(), re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), text).encode()}
    for is_ascii in (True, False):
        text = json.dumps(value, ensure_ascii=is_ascii)[1:-1]
        for escaped in (text, re.sub(r"(?<=\\u)[0-9a-f]{4}", lambda match: match[0].upper(), text)):
            found |= {escaped.encode(), escaped.replace("/", "\\/").encode()}
    for raw in raws:
        found |= {raw, raw.hex().encode(), raw.hex().upper().encode(), *lists(raw)}
        for before in range(3):
            # Of base64 those letters that are of nothing but the value.
            text = base64.urlsafe_b64encode(bytes(before) + raw)
            own = text[(before * 8 + 5) // 6:(before + len(raw)) * 8 // 6]
            found |= {own, own.translate(STANDARD)}
    return found


def forms_of_pin(pin):
    """The forms of a PIN besides its digits: each with what decodes it together with what stands around it. What is shorter than
    eight letters stands in many a text by chance, and is left out."""
    raw = pin.encode()
    found = {(raw.hex().encode(), around_hexadecimal), *((text, around_list) for text in lists(raw))}
    for before in range(3):
        text = base64.urlsafe_b64encode(bytes(before) + raw + bytes(2))
        first, end = (before * 8 + 5) // 6, (before + len(raw)) * 8 // 6
        owns = {first: [text[first:end]]}
        if end - first == WINDOW - 1:
            # The letter before or after it is in part of the PIN too: of the bits of others in it there are few.
            if before == 1:
                known = BASE64.index(text[first - 1]) & 15
                owns = {first - 1: [BASE64[bits << 4 | known:][:1] + text[first:end] for bits in range(4)]}
            elif before == 2:
                known = BASE64.index(text[end]) & 60
                owns = {first: [text[first:end] + BASE64[known | bits:][:1] for bits in range(4)]}
        for place, letters in owns.items():
            for own in letters:
                decode = functools.partial(around_base64, place)
                found |= {(own, decode)} | ({(own.translate(STANDARD), decode)} if own.translate(STANDARD) != own else set())
    return {(text, decode) for text, decode in found if len(text) >= WINDOW}


def around_hexadecimal(data, start, end):
    before = re.search(rb"(?:[0-9A-Fa-f]{2}){0,6}\Z", data[max(start - 12, 0):start])[0]
    after = re.match(rb"(?:[0-9A-Fa-f]{2}){0,6}", data[end:end + 12])[0]
    return bytes.fromhex((before + data[start:end] + after).decode())


def around_list(data, start, end):
    before = re.search(rb"(?:(?<![0-9])[0-9]{1,3}, ?)*[0-9]*\Z", data[max(start - 30, 0):start])[0]
    after = re.match(rb"[0-9]*(?:, ?[0-9]{1,3})*", data[end:end + 30])[0]
    return bytes(min(int(number), 255) for number in re.findall(rb"[0-9]+", before + data[start:end] + after))


def around_base64(place, data, start, end):
    """`place`: how many letters of the first three bytes' four stand before it."""
    before = re.search(rb"[A-Za-z0-9+/_-]*\Z", data[max(start - place - 8, 0):start])[0]
    if len(before) < place:
        return b""
    before = before[(len(before) - place) % 4:]
    text = before + data[start:end] + re.match(rb"[A-Za-z0-9+/_-]*", data[end:end + 8])[0]
    text = text[:-1] if len(text) % 4 == 1 else text
    return base64.urlsafe_b64decode(text.translate(bytes.maketrans(b"+/", b"-_")) + b"=" * (-len(text) % 4))


def ends_of(form):
    return (int.from_bytes(form[:WINDOW], sys.byteorder), int.from_bytes(form[-WINDOW:], sys.byteorder))


class Secrets:
    """The secrets of a run, each with what it is."""

    def __init__(self):
        self._kinds = {}
        self._pins = {}
        # By the first window of a form: the form, its last window, whose it is, and what decodes it where it is a PIN's.
        self._forms = {}
        self._windows = set()
        self._said = []

    @property
    def kinds(self):
        return set(self._kinds.values())

    def note(self, kind, value):
        """What is shorter than eight letters stands in many a text by chance, and is left out; a PIN is looked for as a number
        by itself."""
        value = value.strip()
        is_pin = kind == "PIN" and re.fullmatch("[0-9]{5,32}", value)
        if value in self._kinds or not (is_pin or len(value) >= WINDOW):
            if value in self._kinds and not is_pin and value.encode() not in self._pins:
                self._kinds[value] = kind
            return
        self._kinds[value] = kind
        if is_pin:
            self._pins[value.encode()] = re.compile(ALONE % {b"apart": APART, b"pin": value.encode()})
        for form, decode in forms_of_pin(value) if is_pin else ((form, None) for form in forms(value)):
            first, last = ends_of(form)
            self._forms.setdefault(first, []).append((form, last, value, decode))
            self._windows |= {first, last}

    def note_way(self, text):
        """A code or a link: what opens something is its last part."""
        last = re.split(r"[#=~./]", text.strip())[-1]
        if len(last) < 16:
            return
        self.note("code", last)
        try:
            # A link for phones that are enrolled is a document with the token in it.
            self.note("code", json.loads(base64.urlsafe_b64decode(last + "=" * (-len(last) % 4)))["nma_data"]["token"])
        except (ValueError, KeyError, TypeError):
            pass

    def note_typed(self, text, is_password=False):
        """What a person types: PINs, values of what they are asked, and, where it is known to be that, a password. Other lines
        may be names, which are no secrets."""
        for line in text.splitlines():
            if line.startswith("{"):
                self._note_values(line)
            elif re.fullmatch("[0-9]{5,32}", line):
                # What nobody may have as a PIN stands in many a place: 000000, 111111, 123456.
                if len(set(line)) > 1 and line not in "0123456789":
                    self.note("PIN", line)
            elif is_password:
                self.note("password", line)

    def _note_values(self, line):
        def note(value):
            if isinstance(value, dict):
                for member in value.values():
                    note(member)
            elif isinstance(value, str):
                self.note("value", value)

        try:
            note(json.loads(line))
        except ValueError:
            # A test types what is no document.
            self.note("value", line)

    def note_answer(self, answer):
        """What an operator's command answers."""
        for name in OPENING:
            if isinstance(answer.get(name), str):
                self.note_way(answer[name])
        # Its `password` says where an account has one from: no command answers one.
        if isinstance(answer.get("pin"), str):
            self.note("PIN", answer["pin"])

    def heard(self, text):
        """What a phone has said to its person, which is no PIN of theirs."""
        self._said.append(text)

    def found_in(self, data, kinds=None):
        """What kinds of secrets stand in there."""
        found = {self._kinds[value] for value in self._plain_pins(data)}
        view = memoryview(data)
        windows = set()
        for start in range(min(WINDOW, len(data))):
            # All windows that begin there or a multiple of their length later, as numbers.
            numbers = view[start:start + (len(data) - start) // WINDOW * WINDOW].cast("Q")
            windows |= self._windows.intersection(numbers)
        for first in windows & self._forms.keys():
            for form, last, value, decode in self._forms[first]:
                kind = self._kinds[value]
                if kind in found or last not in windows or (kinds is not None and kind not in kinds):
                    continue
                if self._has(data, form, value, decode):
                    found.add(kind)
        return found if kinds is None else found & kinds

    def _plain_pins(self, data):
        """The PINs whose digits stand there by themselves."""
        runs = {*DIGITS.findall(data), *ESCAPED_BEFORE_DIGITS.findall(data)} if self._pins else set()
        return [pin.decode() for pin in self._pins.keys() & runs if self._pins[pin].search(data)]

    def _has(self, data, form, value, decode):
        place = data.find(form)
        while place >= 0:
            if decode is None or self._pins[value.encode()].search(decode(data, place, place + len(form))):
                return True
            place = data.find(form, place + 1)
        return False

    def left_in(self, folder):
        """What stands in the files of a folder, and in which: in logs, traces, and what phones keep.

        Of a database's files codes, secrets and passwords alone are looked for: a PIN of six digits may be there by chance, and
        an account's address is no secret there.
        """
        left = []
        paths = []
        folder = pathlib.Path(folder)

        def note_unreadable(error):
            if isinstance(error, PermissionError):
                left.append(f"unreadable {pathlib.Path(error.filename).relative_to(folder)}")

        for place, folders, names in os.walk(folder, onerror=note_unreadable):
            folders[:] = [name for name in folders if not HOLDING_FOLDERS.fullmatch(name)]
            paths += [pathlib.Path(place, name) for name in names]
        for path in sorted(paths):
            own = path.relative_to(folder)
            if path.suffix in HOLDERS or path.name == "key" or HOLDING_FOLDERS.fullmatch(path.name):
                continue
            try:
                if path.is_symlink() or not path.is_file():
                    continue
                data = path.read_bytes()
            except PermissionError:
                left.append(f"unreadable {own}")
                continue
            if data.startswith(PROGRAMS):
                continue
            is_database = data.startswith(b"SQLite format 3\0") or path.name.endswith(("-wal", "-shm"))
            found = self.found_in(data, {"code", "client secret", "password"} if is_database else None)
            left += [f"{kind} in {own}" for kind in sorted(found)]
        if "PIN" in self.found_in("\n".join(self._said).encode(), {"PIN"}):
            left.append("PIN in what a phone has said")
        return left


def check_finder():
    """Whether what is looked for is found, in every form in which it could stand somewhere, and nothing else."""
    secrets = Secrets()
    token = "Zm9vYmFyYmF6cXV4_-8xMjM0NTY3ODk"
    secrets.note("password", "correct horse?>")
    secrets.note_way(f"https://id.example/open#identity~{token}")
    secrets.note("PIN", "258036")
    secrets.note("value", "Robin")
    assert secrets.kinds == {"password", "code", "PIN"}
    for before in (b"", b"a", b"ab", b"abc"):
        for value, kind in ((b"correct horse?>", "password"), (token.encode(), "code")):
            text = before + value + b"z"
            for form in (text, text.hex().encode(), base64.b64encode(text), base64.urlsafe_b64encode(text)):
                assert secrets.found_in(form) == {kind}, form
            assert secrets.found_in(text[:len(text) // 2]) == set()
    assert secrets.found_in(base64.urlsafe_b64decode(token + "=")) == {"code"}
    assert secrets.found_in(b"p=correct+horse%3F%3E&q=1") == {"password"}
    assert secrets.found_in(token.encode(), {"PIN"}) == set()
    check_escapes()
    for pin in ("258036", "2580364", "25803641", "258036417093"):
        check_pin(pin)
    check_typed()
    check_unreadable()


def check_escapes():
    """A secret is found as JSON and addresses have it."""
    secrets = Secrets()
    secret = 'gr\u00fcn/"\u00e4pfel" +1'
    secrets.note("password", secret)
    percent = urllib.parse.quote(secret, safe="")
    swift = json.dumps(secret, ensure_ascii=False).replace("/", "\\/")
    for text in (
        json.dumps(secret), json.dumps(secret).replace("00fc", "00FC").replace("00e4", "00E4"), swift,
        json.dumps(secret).replace("/", "\\/"), percent, percent.lower(), str(list(secret.encode())),
        str(list(secret.encode())).replace(" ", ""), secret.encode().hex(), secret.encode().hex().upper(),
    ):
        assert secrets.found_in(f"x{text}x".encode()) == {"password"}, text
        assert secrets.found_in(f"x{text[:-len(text) // 3]}x".encode()) == set(), text


def check_pin(pin):
    """A PIN is found in each form, and its digits are not where they are of something else."""
    secrets = Secrets()
    secrets.note("PIN", pin)
    apart = ("", " ", "=", '"pin":"', "pin%3D", "pin%3d", "a%20", "a%22", "%", "\\n", "\\r", "\\t", "\\u0022", "a\\\\n", "\u00fc")
    within = ("1", "a", "Z", "17", "x1", "1.", "%31", "%41", "%2E", "\\u0031")
    for word, is_found in [(word, True) for word in apart] + [(word, False) for word in within]:
        for text in (f"{word}{pin}", f"{word}{pin}\n", f"{word}{pin}&q=1", f'{word}{pin}","a":1'):
            for form in encoded(text.encode()):
                assert (secrets.found_in(form) == {"PIN"}) == is_found, (text, form)
    for word in ("", "=", "pin:", "\\n"):
        for after in ("1", "a", "17", "Z "):
            for form in encoded(f"{word}{pin}{after}".encode()):
                assert secrets.found_in(form) == set(), (word, after, form)
    # An element of a list is not the end of another, nor its beginning.
    numbers = ", ".join(map(str, pin.encode()))
    assert secrets.found_in(f"[1{numbers}]".encode()) == set() and secrets.found_in(f"[{numbers}5]".encode()) == set()


def encoded(raw):
    """Each form of a whole text, also after one and two further bytes."""
    yield raw
    for text in (raw, b" " + raw, b" ?" + raw):
        base = base64.b64encode(text)
        yield from (base, base.rstrip(b"="), base64.urlsafe_b64encode(text), b'{"a":"' + base + b'"}')
        yield from (text.hex().encode(), text.hex().upper().encode(), b"x: " + text.hex().encode() + b"\n")
        yield from (str(list(text)).encode(), str(list(text)).replace(" ", "").encode())


def check_typed():
    """What is typed is a secret where that is known of it."""
    secrets = Secrets()
    secrets.note_typed("My address at work\r258036\r1234\n" + "1" * 33 + "\n")
    assert secrets.kinds == {"PIN"}
    assert secrets.found_in(b"My address at work 1234 " + b"1" * 33) == set() and secrets.found_in(b"258036") == {"PIN"}
    secrets.note_typed("a long password\n", is_password=True)
    assert secrets.found_in(b"a long password") == {"password"}


def check_unreadable():
    """What cannot be read is said, as far as it would have been searched."""
    secrets = Secrets()
    secrets.note("PIN", "258036")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for own in ("run.log", "closed.log", "server.key"):
            (folder / own).write_text("258036")
        read_bytes = pathlib.Path.read_bytes

        def read(path):
            # Who is root may read everything.
            if path.name in ("closed.log", "server.key"):
                raise PermissionError
            return read_bytes(path)

        pathlib.Path.read_bytes = read
        try:
            assert secrets.left_in(folder) == ["unreadable closed.log", "PIN in run.log"]
        finally:
            pathlib.Path.read_bytes = read_bytes
