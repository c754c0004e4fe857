"""Prepares every statement of Server/Sources/SQLStore in SQLite and in PostgreSQL.

The product has no store in PostgreSQL yet. Until the product has one, the tables here are the tables of a new data folder with
the types of PostgreSQL, and the places of a statement get their numbers here.
"""

import contextlib
import os
import pathlib
import pwd
import re
import sqlite3
import subprocess
import tempfile
import unittest

import statements
from operators import OperatorTest, programs

SOURCES = programs.ROOT / "Server/Sources/SQLStore"
POSTGRESQL = pathlib.Path("/usr/lib/postgresql/15/bin/postgres").parent
TYPES = {"INTEGER": "bigint", "TEXT": 'text COLLATE "C"', "BLOB": "bytea"}
# The columns of JSON whose parts statements read.
JSON = {
    ("oauth_client", "origins"), ("oauth_client", "redirect_uris"), ("oauth_client", "sign_in_service"),
    ("oauth_client", "token_settings"), ("service", "profile"), ("service_roles", "roles"),
}
# Words of SQLite that have no words in common with PostgreSQL yet (decision 104 says what comes in their place).
LEFT = ("pragma_table_info", "FROM main.audit", "rowid")


def of_sqlite(text):
    """A statement in the words of SQLite, by the product's own table of words."""
    dialect = (SOURCES / "Rows/Dialect.swift").read_text()
    for common, own in re.findall(r'\("([^"]+)", "([^"]+)"\)', dialect):
        text = text.replace(common, own)
    return text


def of_postgresql(text):
    """A statement in the words of PostgreSQL, which knows all words. A place without a number has the number of its turn."""
    parts = re.split(r"('(?:[^']|'')*'|\?\d*)", text)
    turn = 0
    for index, part in enumerate(parts):
        if part.startswith("?"):
            turn += 1
            parts[index] = f"${part[1:] or turn}"
    return "".join(parts)


def tables(database):
    """The statements that make the tables of a database of SQLite, and their unique indexes, in PostgreSQL."""
    unique = []
    names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    for (table,) in database.execute(names).fetchall():
        columns, keys = [], []
        for _, name, kind, is_needed, default, key in database.execute(f"PRAGMA table_info({table})"):
            own = "jsonb" if (table, name) in JSON else TYPES[kind]
            value = f" DEFAULT {default}".replace("X'", r"'\x") if default else ""
            columns.append(f"{name} {own}{value}{' NOT NULL' if is_needed else ''}")
            if key:
                keys.append((key, name))
        key = ", ".join(name for _, name in sorted(keys))
        yield f"CREATE TABLE {table} ({', '.join(columns)}, PRIMARY KEY ({key}))"
        for _, index, is_unique, origin, _ in database.execute(f"PRAGMA index_list({table})").fetchall():
            if is_unique and origin != "pk":
                (text,) = database.execute("SELECT sql FROM sqlite_schema WHERE name = ?", [index]).fetchone()
                indexed = ", ".join(row[2] for row in database.execute(f"PRAGMA index_info({index})"))
                unique.append(text or f"CREATE UNIQUE INDEX ON {table} ({indexed})")
    yield from unique


class PostgreSQL:
    """A private server in a folder of its own, which answers at a socket in the folder alone."""

    def __init__(self):
        # PostgreSQL does not run as root, and its user cannot enter the folder of the test.
        self._user = pwd.getpwnam("nobody") if os.getuid() == 0 else None
        self._temporary = tempfile.TemporaryDirectory(prefix="countersign-postgresql-", dir="/var/tmp")
        self.folder = pathlib.Path(self._temporary.name)
        if self._user:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)

    def _run(self, name, *arguments, lines=()):
        """Runs a program of PostgreSQL, and returns its exit code and its output."""
        user = {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []} if self._user else {}
        done = subprocess.run(
            [POSTGRESQL / name, *arguments],
            input="".join(f"{line}\n" for line in lines),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            text=True,
            check=False,
            **user,
        )
        return done.returncode, done.stdout

    def start(self):
        settings = f"-k {self.folder} -c listen_addresses= -c fsync=off"
        for name, *arguments in (
            ("initdb", "-D", "data", "-U", "owner", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"),
            ("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", settings, "start"),
        ):
            code, said = self._run(name, *arguments)
            if code != 0:
                raise programs.Failed(f"{name}: {said}")

    def stop(self):
        self._run("pg_ctl", "-D", "data", "-w", "-m", "immediate", "stop")
        self._temporary.cleanup()

    def errors(self, texts):
        """Runs statements, and returns the error of each text that has one."""
        lines = [" ".join(text.split()) for text in texts]
        connection = ("-h", str(self.folder), "-U", "owner", "-d", "postgres", "-X", "-q", "-f", "-")
        code, said = self._run("psql", *connection, lines=[f"{line};" for line in lines])
        if code != 0:
            raise programs.Failed(said)
        found = re.findall(r"^psql:<stdin>:(\d+): ERROR:  (.*)$", said, re.MULTILINE)
        return {texts[int(number) - 1]: error for number, error in found}


def can_change_user():
    """Whether this process is root of more than itself: root of a namespace of a user's own has no other user."""
    return os.getuid() != 0 or int(pathlib.Path("/proc/self/uid_map").read_text().split()[2]) > 1


class Statements(OperatorTest):
    def setUp(self):
        super().setUp()
        server = self.server(self.folder / "server")
        server.start()
        server.stop()
        self.database = sqlite3.connect(self.folder / "server" / "data" / "countersign.sqlite")
        self.addCleanup(self.database.close)
        self.reader = statements.Reader(SOURCES)

    def prepared(self, text):
        """The error of SQLite about a statement, if any."""
        places = {int(number) for number in re.findall(r"\?(\d+)", text)}
        with contextlib.closing(self.database.cursor()) as cursor:
            try:
                cursor.execute(f"EXPLAIN {of_sqlite(text)}", [None] * (max(places) if places else text.count("?")))
            except sqlite3.Error as error:
                return str(error)
        return None

    def test_sqlite_prepares_every_statement(self):
        """Decision 104."""
        self.assertEqual(self.reader.left, [], "the reader of the statements passes these over")
        # A reader that finds nothing would hold whatever the statements say.
        self.assertGreater(len(self.reader.statements), 700)
        errors = {(place, text): self.prepared(text) for text, place in self.reader.statements.items()}
        self.assertEqual({key: error for key, error in errors.items() if error}, {})

    @unittest.skipUnless(can_change_user(), "PostgreSQL does not run as root, and there is no other user here")
    def test_postgresql_prepares_every_statement(self):
        """Decision 104."""
        server = PostgreSQL()
        self.addCleanup(server.stop)
        server.start()
        self.assertEqual(server.errors(list(tables(self.database))), {})
        texts = {
            f"PREPARE statement_{number} AS {of_postgresql(text)}": (place, text)
            for number, (text, place) in enumerate(self.reader.statements.items())}
        errors = {texts[text]: error for text, error in server.errors(list(texts)).items()}
        left = {words for words in LEFT if any(words in text for _, text in errors)}
        self.assertEqual(left, set(LEFT), "PostgreSQL knows the rest of these words")
        self.assertEqual({key: error for key, error in errors.items() if not any(words in key[1] for words in LEFT)}, {})


if __name__ == "__main__":
    unittest.main()
