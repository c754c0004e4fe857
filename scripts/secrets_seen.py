"""What nobody else may read of a run of the programs, and whether it stands in what the run has left."""

import base64
import json
import pathlib
import re
import urllib.parse

# Members of an operator's answers that open something by their last part.
OPENING = ("code", "link", "secret", "token")
# What holds secrets because that is what it is for: keys, certificates with theirs, what is handed to a client, photographs of
# codes; letters that were delivered, and what browsers keep of the pages that they have shown.
HOLDERS = (".key", ".pem", ".png", ".secret")
HOLDING_FOLDERS = re.compile(r"mailbox|browser-[0-9]+")
# What programs and packages of them begin with.
PROGRAMS = (b"\x7fELF", b"!<arch>")


def forms(value):
    """The value in whatever form it may stand somewhere: as it is, decoded where it is base64url, in hexadecimal, in base64
    and base64url at any place of a longer text, percent-encoded, and in a form's way."""
    raws = [value.encode()]
    if len(value) >= 16 and re.fullmatch(r"[A-Za-z0-9_-]+", value) and len(value) % 4 != 1:
        raws.append(base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)))
    found = {urllib.parse.quote(value, safe="").encode(), urllib.parse.quote_plus(value).encode()}
    for raw in raws:
        found |= {raw, raw.hex().encode(), raw.hex().upper().encode()}
        for before in range(3):
            # Of base64 those letters that are of nothing but the value.
            text = base64.urlsafe_b64encode(bytes(before) + raw)
            own = text[(before * 8 + 5) // 6:(before + len(raw)) * 8 // 6]
            found |= {own, own.translate(bytes.maketrans(b"-_", b"+/"))}
    return found


class Secrets:
    """The secrets of a run, each with what it is."""

    def __init__(self):
        self._kinds = {}
        self._forms = {}
        self._said = []

    @property
    def kinds(self):
        return set(self._kinds.values())

    def note(self, kind, value):
        """What is shorter than eight letters stands in many a text by chance, and is left out; a PIN is looked for as a number
        by itself."""
        value = value.strip()
        if len(value) >= 8 or (kind == "PIN" and re.fullmatch(r"[0-9]{5,}", value)):
            self._kinds[value] = kind
            self._forms[value] = forms(value) if len(value) >= 8 else ()

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

    def note_typed(self, text):
        """What a person types on a phone: PINs, passwords, and values of what they are asked."""
        for line in text.splitlines():
            if line.startswith("{"):
                self._note_values(line)
            else:
                self.note("PIN" if line.isdigit() else "password", line)

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
        for name, kind in (("pin", "PIN"), ("password", "password")):
            if isinstance(answer.get(name), str):
                self.note(kind, answer[name])

    def heard(self, text):
        """What a phone has said to its person, which is no PIN of theirs."""
        self._said.append(text)

    def found_in(self, data, kinds=None):
        """What kinds of secrets stand in there."""
        found = set()
        for value, kind in self._kinds.items():
            if kind in found or (kinds is not None and kind not in kinds):
                continue
            if len(value) >= 8:
                if any(form in data for form in self._forms[value]):
                    found.add(kind)
            elif re.search(rb"(?<![0-9A-Za-z.])" + value.encode() + rb"(?![0-9A-Za-z])", data):
                found.add(kind)
        return found

    def left_in(self, folder):
        """What stands in the files of a folder, and in which: in logs, traces, and what phones keep.

        Of a database's files codes, secrets and passwords alone are looked for: a PIN of six digits may be there by chance, and
        an account's address is no secret there.
        """
        left = []
        for path in sorted(pathlib.Path(folder).rglob("*")):
            own = path.relative_to(folder)
            if path.is_symlink() or not path.is_file() or any(map(HOLDING_FOLDERS.fullmatch, own.parts)):
                continue
            if path.suffix in HOLDERS or path.name == "key":
                continue
            try:
                data = path.read_bytes()
            except PermissionError:
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
    assert secrets.found_in(b'{"pin":"258036"}') == {"PIN"}
    assert secrets.found_in(b"1258036 258036a 1.258036") == set()
    assert secrets.found_in(token.encode(), {"PIN"}) == set()
