"""Reads the SQL statements of Server/Sources/SQLStore from the sources.

A statement is a literal that begins with a verb of SQL. A literal can have places (`\\(…)`) for a static constant, a local
constant or a parameter. The reader fills such a place with each text that the sources give to the place: a parameter has the
texts of all calls. `Reader.left` names the lines that the reader does not understand, so no statement is passed over.
"""

import functools
import re

VERB = re.compile(r"(SELECT|INSERT|UPDATE|DELETE|WITH) ")
# The functions of a connection whose first argument is the text of a statement. A row has functions of two of these names.
CALL = re.compile(
    r"(?<![\w$])(?:[a-z$]\w*\.(row|rows|run|runObserved|changeOneRow|isTrue|requireNoRow|refuse)"
    r"|(?:db|self)\.(require|number|text|texts|bytes|changes))\(")
GUARD = re.compile(r"\.(shared|exclusive)\(")
NAME = r"[A-Za-z_]\w*"
# Places that are no constants and no parameters, by the name of the file: each choice gives a text to every place.
MADE = {
    "AuditRows.swift": [{"schema": "main", "address": address} for address in ("address", "NULL")],
    "Activations+SQL.swift": [
        {"table": "identity_answer", "key": "number", "end": "kept_until"},
        {"table": "pending_activation", "key": "id", "end": "expires_at"}],
    "CeremonyRows.swift": [{"column": name} for name in ("id", "reference", "continuation_digest")],
    "Ceremonies+SQL.swift": [{"column": name} for name in ("id", "reference", "continuation_digest")],
    "IdentityAnswerRows.swift": [{"GivenAnswer.offerPrefix": "a:"}],
    "Resealing+SQL.swift": [{"size": "100", "header.count": "8"}],
}
# Assignments of columns that are chosen when the program runs: the statement of all columns.
ASSIGNED = {
    ("ActivationRows.swift", "Self.state"): "ActivationColumn",
    ("CeremonyRows.swift", "changed"): "CeremonyColumn",
    ("OfferRows.swift", "Self.allCases"): "OfferColumn",
    ("UpstreamProviderRows.swift", "columns"): "ProviderColumn",
}


class Unknown(Exception):
    """A text that the reader does not understand."""


class NoStatement(Exception):
    """A place that has no statement of its own."""


class Choice(Exception):
    """A place whose text depends on a choice, such as the call of a function."""

    def __init__(self, key, options):
        super().__init__(key)
        self.key, self.options = key, options


def literal(source, start):
    """A literal of Swift at `start`: its parts, which are texts and places `(expression, position)`, and its end."""
    quote = '"""' if source.startswith('"""', start) else '"'
    place, parts, text = start + len(quote), [], ""
    while not source.startswith(quote, place):
        if source.startswith("\\(", place):
            end = closing(source, place + 1)
            parts += [text, (source[place + 2:end], place + 2)]
            text, place = "", end + 1
        elif source[place] == "\\":
            text += {"\n": "", "n": "\n"}.get(source[place + 1], source[place + 1])
            place += 2
        else:
            text += source[place]
            place += 1
    return [*parts, text], place + len(quote)


def closing(source, start):
    """The place of the bracket that closes the one at `start`."""
    depth, place = 0, start
    while True:
        if source[place] == '"':
            place = literal(source, place)[1]
            continue
        depth += (source[place] in "([{") - (source[place] in ")]}")
        if not depth:
            return place
        place += 1


def split(source, start, end):
    """The places of the expressions between commas: pairs of start and end."""
    found, first, place = [], start, start
    while place < end:
        if source[place] == '"':
            place = literal(source, place)[1]
        elif source[place] in "([{":
            place = closing(source, place) + 1
        else:
            if source[place] == ",":
                found.append((first, place))
                first = place + 1
            place += 1
    return [*found, (first, end)]


def without_comments(source):
    """The source with spaces for its comments, so that places stay."""
    result, place = [], 0
    while place < len(source):
        if source.startswith("//", place):
            end = source.find("\n", place)
            end = len(source) if end < 0 else end
            result.append(" " * (end - place))
        else:
            end = literal(source, place)[1] if source[place] == '"' else place + 1
            result.append(source[place:end])
        place = end
    return "".join(result)


def column(name):
    """The name of a column, as `TableColumn.name` makes it."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


class File:
    """A file of the sources, with its literals and with the blocks of its types and functions."""

    def __init__(self, path):
        self.name = path.name
        self.source = without_comments(path.read_text())
        # The kind, the name, the start behind the name, and the end.
        self.blocks = []
        block = rf"\b(enum|struct|extension|class|func|init)\b ?({NAME}(?:\.{NAME})*)?(<[^>]*>)?"
        for found in re.finditer(block, self.source):
            kind = found[1]
            if kind in ("func", "init"):
                if not self.source.startswith("(", found.end()):
                    continue
                after = closing(self.source, found.end()) + 1
            else:
                after = found.end()
            start = self.source.find("{", after)
            if start >= 0:
                self.blocks.append((kind, found[2] or "init", found.end(), closing(self.source, start)))
        self.literals = []
        place = 0
        while (place := self.source.find('"', place)) >= 0:
            parts, end = literal(self.source, place)
            self.literals.append((place, parts, end))
            place = end

    def line(self, place):
        return f"{self.name}:{self.source.count(chr(10), 0, place) + 1}"

    def around(self, place, kinds):
        """The blocks around a place, the innermost first."""
        blocks = [block for block in self.blocks if block[0] in kinds and block[2] <= place < block[3]]
        return sorted(blocks, key=lambda block: -block[2])


TYPES = ("enum", "struct", "extension", "class")


class Reader:
    """The statements of a folder: `statements` has the place of each text, and `left` what was not understood."""

    def __init__(self, folder):
        self.files = [File(path) for path in sorted(folder.rglob("*.swift"))]
        self.left = []
        self.statements = {}
        for file in self.files:
            self._read(file)

    # The text of a place. `chosen` holds what was chosen for the statement, such as one call of the function around.

    def _text(self, file, expression, place, chosen):
        """The text of an expression at a place of a file."""
        place += len(expression) - len(expression.lstrip())
        expression = expression.strip()
        if expression.startswith('"'):
            parts, end = literal(expression, 0)
            if end == len(expression):
                moved = [part if isinstance(part, str) else (part[0], place + part[1]) for part in parts]
                return self._filled(file, moved, chosen)
        if expression in MADE.get(file.name, [{}])[0]:
            return self._chosen(chosen, file.name, MADE[file.name])[expression]
        if found := re.fullmatch(r"(\w+(?:\.\w+)?)\.map ?[({].*[)}]\.joined\(separator: \", \"\)", expression):
            if (file.name, found[1]) in ASSIGNED:
                return ", ".join(f"{name} = ?" for name in self._columns_of(ASSIGNED[file.name, found[1]])[1])
        if found := re.fullmatch(r"(?:\.composed|SQLText\.once|\.once)\((.*)\)", expression, re.DOTALL):
            return self._text(file, found[1], place + found.start(1), chosen)
        # The number of a case: any number has the same type.
        if re.fullmatch(rf"{NAME}(?:\.{NAME})+\.rawValue", expression):
            return "0"
        # A constant of the texts.
        if re.fullmatch(rf"\.{NAME}", expression):
            return self._static(file, "SQLText", expression[1:], place, chosen)
        if re.fullmatch(NAME, expression):
            return self._text(*self._named(file, expression, place, chosen), chosen)
        if found := re.fullmatch(rf"({NAME}(?:\.{NAME})*)\.({NAME})", expression):
            return self._member(file, found[1], found[2], place, chosen)
        if found := re.fullmatch(r"[^?\"]*[^?\s]\s*\?\s+(.*?)\s+:\s+(.*)", expression, re.DOTALL):
            number = self._chosen(chosen, (file.name, place), (1, 2))
            return self._text(file, found[number], place + found.start(number), chosen)
        raise Unknown(f"{file.line(place)}: {expression}")

    def _filled(self, file, parts, chosen):
        return "".join(part if isinstance(part, str) else self._text(file, *part, chosen) for part in parts)

    @staticmethod
    def _chosen(chosen, key, options):
        if key not in chosen:
            raise Choice(key, options)
        return chosen[key]

    def _named(self, file, name, place, chosen):
        """The expression behind a name: a file, the expression and its place."""
        for function in file.around(place, ("func", "init")):
            constants = list(re.finditer(rf"\blet {name}(?:: String)? = ", file.source[:place]))
            if constants and constants[-1].start() > function[2]:
                return self._expression(file, constants[-1].end())
            for loop in reversed(list(re.finditer(rf"\bfor (\(.*\b{name}\b.*\)|{name}) in ", file.source[:place]))):
                if function[2] < loop.start():
                    item = self._chosen(chosen, (file.name, loop.start()), self._list(file, loop.end(), chosen))
                    if loop[1] == name:
                        return item
                    other, text, start = item
                    number = re.findall(NAME, loop[1]).index(name)
                    first, last = split(other.source, start + 1, start + len(text) - 1)[number]
                    return other, other.source[first:last], first
            start = function[2]
            for number, (first, last) in enumerate(split(file.source, start + 1, closing(file.source, start))):
                parameter = re.match(
                    rf"\s*(?:({NAME}) )?({NAME}): ([\w\[\]]+)(?: = (.*))?", file.source[first:last], re.DOTALL)
                if parameter and parameter[2] == name:
                    return self._given(file, function, number, parameter, first, chosen)
        raise Unknown(f"{file.line(place)}: {name}")

    @staticmethod
    def _expression(file, start):
        """The expression that begins at a place: a literal, or the rest of the line."""
        source = file.source
        while source[start].isspace():
            start += 1
        if source[start] == '"':
            return file, source[start:literal(source, start)[1]], start
        end = start
        while source[end] not in "\n}":
            end = closing(source, end) + 1 if source[end] in "([{" else end + 1
        return file, source[start:end], start

    def _list(self, file, start, chosen):
        """The expressions of a list in brackets, or behind a name."""
        if file.source[start] != "[":
            name = re.match(rf"{NAME}(?:\.{NAME})*", file.source[start:])[0]
            tables = self._records("RestingTable")
            if name == "RestingTable.names":
                names = ["rested_activation", *(f"rested_{table['name']}" for table in tables.values())]
                return [(file, f'"{name}"', start) for name in names]
            if name == "RestingTable.all":
                return [(file, f".{table}", start) for table in tables]
            other, _, start = self._named(file, name, start, chosen)
            return self._list(other, start, chosen)
        found = []
        for first, last in split(file.source, start + 1, closing(file.source, start)):
            text = file.source[first:last]
            if text.strip():
                found.append((file, text.strip(), first + len(text) - len(text.lstrip())))
        return found

    def _given(self, file, function, number, parameter, place, chosen):
        """What a call gives to a parameter, where each call is a choice."""
        calls = self._calls(file, function)
        if not calls:
            raise Unknown(f"{file.line(place)}: nobody calls {function[1]}")
        other, arguments = self._chosen(chosen, (file.name, function[2]), calls)
        label = None if parameter[1] == "_" else parameter[1] or parameter[2]
        for index, (match, first, last) in enumerate(arguments):
            if match[1] == label and (label or index == number):
                start = first + match.end()
                return other, other.source[start:last], start
        if parameter[4]:
            return file, parameter[4], place + parameter.start(4)
        raise Unknown(f"{file.line(place)}: {function[1]} without {parameter[2]}")

    @functools.cache
    def _calls(self, file, function):
        """The calls of a function: the file, and the labels, starts and ends of the arguments."""
        calls = []
        for other in self.files:
            for call in re.finditer(rf"\b{function[1]}\(", other.source) if f"{function[1]}(" in other.source else ():
                if other.source.endswith("func ", 0, call.start()):
                    continue
                arguments = [
                    (re.match(rf"\s*(?:({NAME}): )?", other.source[first:last]), first, last)
                    for first, last in split(other.source, call.end(), closing(other.source, call.end() - 1))]
                if self._takes(file, function, [match[1] or "_" for match, _, _ in arguments]):
                    calls.append((other, arguments))
        return calls

    @staticmethod
    def _takes(file, function, labels):
        """Whether a call with these labels is a call of the function."""
        own, needed = [], []
        for first, last in split(file.source, function[2] + 1, closing(file.source, function[2])):
            if match := re.match(rf"\s*({NAME})", file.source[first:last]):
                own.append(match[1])
                if " = " not in file.source[first:last] and "->" not in file.source[first:last]:
                    needed.append(match[1])
        # What follows the brackets, a closure, has no label.
        return all(labels.count(label) <= own.count(label) for label in labels) and all(
            label in labels for label in needed if label != "_")

    def _member(self, file, owner, name, place, chosen):
        """The text of a member: of a static constant's type, or of a value with texts in it."""
        if owner == "column" or owner == "self" and file.name == "Resealing+SQL.swift":
            return self._chosen(chosen, "SealedColumn", list(self._records("SealedColumn").values()))[name]
        if owner == "table":
            other, value, start = self._named(file, owner, place, chosen)
            while re.fullmatch(NAME, value.strip()):
                other, value, start = self._named(other, value.strip(), start, chosen)
            if value.strip().startswith("."):
                return self._records("RestingTable")[value.strip()[1:]][name]
            return self._chosen(chosen, "PolledTable", list(self._records("PolledTable").values()))[name]
        return self._static(file, owner, name, place, chosen)

    @functools.cache
    def _records(self, kind):
        """The values of a type whose members are texts, by a name or a number."""
        records = {}
        for file in self.files:
            pattern = {
                "SealedColumn": r"(?<!static let all: \[)\bSealedColumn(?=\(\")", "PolledTable": r"\bPolledTable(?=\(name)",
                "RestingTable": r"static let (\w+) = Self(?=\(\s*\")"}[kind]
            if kind == "RestingTable" and file.name != "RestingRows.swift":
                continue
            for found in re.finditer(pattern, file.source):
                arguments = [
                    (re.match(rf"\s*(?:({NAME}): )?", file.source[first:last]), first, last)
                    for first, last in split(file.source, found.end() + 1, closing(file.source, found.end()))]
                texts = {}
                for index, (match, first, last) in enumerate(arguments):
                    start = first + match.end()
                    value = file.source[start:last].strip()
                    texts[match[1] or index] = value if value.startswith(".") else self._text(
                        file, file.source[start:last], start, {})
                records[found[1] if found.re.groups else len(records)] = self._record(kind, texts)
        return records

    @staticmethod
    def _record(kind, texts):
        if kind == "PolledTable":
            return texts
        if kind == "RestingTable":
            return {
                "name": texts[0], "columns": texts[1], "key": texts.get("key", "id"),
                "assignments": ", ".join(f"{name} = excluded.{name}" for name in texts[1].split(", ")),
                "columnsPutBack": texts.get("putBack", texts[1]), "isWanted": texts.get("wanted", "TRUE")}
        more = {
            ".place": ["account_id", "device_id", "aaid", "key_id"], ".value": ["account_id", "attribute"],
            ".consent": ["session", "account_id"]}
        key = texts.get("by", "id")
        names = [key, texts[1], *more.get(list(texts.values())[-1], [])]
        return {
            "table": texts[0], "name": texts[1], "key": key,
            "selection": ", ".join(f"{texts[0]}.{name}" for name in names)}

    def _static(self, file, owner, name, place, chosen):
        """The text of a static constant of a type."""
        types = [block[1] for block in file.around(place, TYPES)]
        if owner == "Self" and types:
            owner = types[0]
        candidates = []
        for other in self.files:
            if f" {name}" not in other.source:
                continue
            for found in re.finditer(rf"\bstatic (?:let|var) {name}(?:: \w+)? (=|\{{)\s*", other.source):
                around = [block[1] for block in other.around(found.start(), TYPES)]
                if around and owner in (around[0], ".".join(reversed(around))):
                    # A type within the type that names it, a type of the same file, any type.
                    is_within = bool(types) and ".".join(reversed(around)) == f"{types[0]}.{owner}"
                    candidates.append((is_within, other is file, len(candidates), other, found.end()))
        if not candidates:
            raise Unknown(f"{file.line(place)}: {owner}.{name}")
        other, start = max(candidates)[3:]
        if other.source.startswith("Self.selected()", start):
            table, names = self._columns(other, start)
            return ", ".join(f"{table}.{each}" for each in names)
        return self._text(*self._expression(other, start), chosen)

    @functools.cache
    def _columns_of(self, name):
        """The table and the columns of a type."""
        return next(
            self._columns(file, block[2] + 1)
            for file in self.files for block in file.blocks if block[:2] == ("enum", name))

    def _columns(self, file, place):
        """The table and the columns of the type around a place."""
        block = file.around(place, ("enum",))[0]
        body = file.source[block[2]:block[3]]
        cases = re.findall(rf"^\s*case ({NAME}(?:,\s*{NAME})*)$", body, re.MULTILINE)
        names = [column(name) for line in cases for name in re.findall(NAME, line)]
        start = re.search(r"static let table = ", body).end() + block[2]
        return self._text(*self._expression(file, start), {}), names

    # What is read

    def _add(self, file, place, make):
        """Adds the statements that `make(chosen)` gives for all choices."""
        rest = [{}]
        while rest:
            chosen = rest.pop()
            try:
                text = " ".join(make(chosen).split())
                if not VERB.match(text):
                    raise Unknown(text)
                self.statements.setdefault(text, file.line(place))
            except Choice as choice:
                rest += [{**chosen, choice.key: option} for option in choice.options]
            except NoStatement:
                pass
            except Unknown as unknown:
                self.left.append(f"{file.line(place)}: {unknown}")

    def _read(self, file):
        understood = set()
        for place, parts, _ in file.literals:
            before = file.source[:place].rstrip()
            is_composed = bool(re.search(r"(?<!where: )(?:\.composed|\.once)\($", before))
            begin = " ".join(parts[0].split()) + (" " if len(parts) > 1 else "")
            if not VERB.match(begin) and (parts[0].strip() or not is_composed):
                continue
            understood.add(place)
            # A constant without a function around is a part of other statements. The texts of all tables follow by their
            # constants.
            if not re.search(rf"\blet {NAME} =$", before) and file.name not in ("TableColumn.swift", "StepGuard.swift"):
                self._add(file, place, lambda chosen, parts=parts: self._filled(file, parts, chosen))
        for found in re.finditer(r"= Self\.inserted\(", file.source):
            self._add(file, found.start(), lambda chosen, found=found: self._insertion(file, found, chosen))
        for found in GUARD.finditer(file.source) if file.name != "StepGuard.swift" else ():
            self._add(file, found.start(), lambda chosen, found=found: self._guard(file, found, chosen))
        for call in CALL.finditer(file.source):
            first, last = split(file.source, call.end(), closing(file.source, call.end() - 1))[0]
            if not self._is_read(file, call[1] or call[2], file.source[first:last].strip(), first, understood):
                self.left.append(f"{file.line(call.start())}: {call[0]}{file.source[first:last].strip()[:60]}")

    def _insertion(self, file, found, chosen):
        """The statement of `TableColumn.inserted(_:)`."""
        table, names = self._columns(file, found.start())
        conflict = file.source[found.end():closing(file.source, found.end() - 1)]
        end = self._text(file, conflict, found.end(), chosen) if conflict.strip() else ""
        return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' for _ in names)}) {end}"

    def _guard(self, file, found, chosen):
        """The query of a guard, as `StepGuard.query` makes it."""
        arguments = [
            (re.match(rf"\s*(?:({NAME}): )?", file.source[first:last]), first, last)
            for first, last in split(file.source, found.end(), closing(file.source, found.end() - 1))]
        (match, first, last), *rest = arguments
        if match[1]:
            # A guard of the feature's own, whose function has the condition.
            if any(re.search(rf"\bfunc {found[1]}\({match[1]} ", other.source) for other in self.files):
                raise NoStatement
        elif case := re.fullmatch(rf"\s*\.({NAME})\s*", file.source[first:last]):
            declared = next(other.source for other in self.files if other.name == "StepGuard.swift")
            table = re.search(rf'case {case[1]}(?: = "(\w+)")?\s*\n', declared)[1] or case[1]
            label, first, last = rest[0][0], rest[0][1] + rest[0][0].end(), rest[0][2]
            if label[1] in ("where", "id"):
                condition = (
                    self._text(file, file.source[first:last], first, chosen) if label[1] == "where" else "id = ?")
                return f"SELECT 1 FROM {table} WHERE {condition}"
        elif re.fullmatch(NAME, file.source[first:last].strip()) and any(
                f"func {found[1]}(_ " in other.source for other in self.files if other.name != "StepGuard.swift"):
            raise NoStatement
        raise Unknown(found[0])

    def _is_read(self, file, name, argument, first, understood):
        """Whether the first argument of a function of that name is a statement that was read, or is no statement."""
        if found := re.compile(r'\s*(?:\.composed\(\s*)?"').match(file.source, first):
            # Else a column of a row, or a table.
            return found.end() - 1 in understood or (
                name in ("text", "bytes", "require") and bool(re.fullmatch(r'"\w+"', argument)))
        if re.fullmatch(rf"{NAME}(?:\.{NAME})*", argument):
            last = argument.rsplit(".", 1)[-1]
            declared = rf"\bstatic let {last} = (?:SQLText\.once|Self\.inserted)\(|\b{last}: SQLText\b"
            # Else the position of a column.
            is_position = rf"\b{last}: (?:some TableColumn|Int|Column)\b"
            return any(re.search(declared, other.source) for other in self.files) or (
                name in ("text", "bytes") and (last == "rawValue" or bool(re.search(is_position, file.source))))
        return name in ("text", "bytes") and argument == "try self.position(of: name)"
