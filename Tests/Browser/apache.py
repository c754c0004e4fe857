"""Apache as Debian's package gives it, with a configuration of a test's own and no service."""

import contextlib
import grp
import os
import pathlib
import pwd
import tempfile

from programs import Part

MODULES = "/usr/lib/apache2/modules"


@contextlib.contextmanager
def open_folder():
    """A folder that Apache's user can enter, as nobody but their owner can the folders of pytest."""
    with tempfile.TemporaryDirectory(prefix="countersign-apache-", dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


def user():
    """The lines that say as whom Apache answers: it does not do that as root, and is started by the person's user else."""
    if os.geteuid() != 0:
        return ""
    for name in ("www-data", "nobody"):
        with contextlib.suppress(KeyError):
            found = pwd.getpwnam(name)
            return f"User {found.pw_name}\nGroup {grp.getgrgid(found.pw_gid).gr_name}"
    raise AssertionError("Apache does not answer as root, and this machine has neither a user www-data nor a user nobody")


def started(folder, host, port, modules, lines):
    """Apache at a port of this machine, as a part that may not answer yet. `lines` is what its configuration says beside
    folders and modules."""
    loaded = "\n".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in modules.split())
    configuration = folder / "httpd.conf"
    # Apache reads the file before it is anybody else: secrets that stand there are nobody else's.
    configuration.touch(0o600)
    configuration.write_text(f"""
ServerRoot {folder}
ServerName {host}
Listen 127.0.0.1:{port}
PidFile {folder}/httpd.pid
ErrorLog {folder}/error.log
Mutex file:{folder} default
{loaded}
{user()}
{lines}
""")
    return Part(
        "apache2", ["/usr/sbin/apache2", "-f", configuration, "-DFOREGROUND"], folder / "apache.log",
        logs=[folder / "error.log"])
