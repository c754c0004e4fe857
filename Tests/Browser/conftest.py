"""The programs under test, and the browsers and phones that use them."""

import itertools
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

from browser import Browser, Chromium  # noqa: E402
from programs import Bank, Phone, Server, expect_no_secrets_anywhere  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--share", default="1/1", help="which share of the files to run, such as 2/2: they are dealt in turns")


def pytest_collection_modifyitems(config, items):
    number, of = map(int, config.getoption("--share").split("/"))
    files = sorted({item.path for item in items})
    mine = set(files[number - 1::of])
    config.hook.pytest_deselected(items=[item for item in items if item.path not in mine])
    items[:] = [item for item in items if item.path in mine]


class Deployment:
    """A server and a bank, and as many people, phones and browsers as a test wants."""

    def __init__(self, folder, **options):
        self.folder = pathlib.Path(folder)
        self.limits = options.get("limits", {})
        # It says all that it can: afterwards nothing secret is in it.
        self.server = Server(self.folder, **{"log_level": "trace", **options}).start()
        try:
            self.bank = Bank(self.folder, self.server).start()
        except BaseException:
            self.server.stop()
            raise
        self.numbers = itertools.count(1)

    def person(self, *options, password=None):
        """A person with an enrolled phone. Every test has its own, so that none disturbs another."""
        name = f"person{next(self.numbers)}"
        self.server.admin("account", "add", name, "--display-name", name.capitalize())
        phone = Phone(self.folder / f"phone-{name}")
        self.server.enroll(name, phone, *options, password=password)
        phone.username = name
        return phone

    def stop(self):
        self.bank.stop()
        self.server.stop()


@pytest.fixture(scope="session", autouse=True)
def no_secret_is_left():
    """When all programs have stopped, nothing that was typed, made or handed over stands in what they have left."""
    yield
    expect_no_secrets_anywhere()


@pytest.fixture(scope="session")
def deployment(tmp_path_factory):
    running = Deployment(tmp_path_factory.mktemp("deployment"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def hasty_deployment(tmp_path_factory):
    """A server whose codes last fifteen seconds, and what a phone has taken as long: time enough to take one."""
    limits = {"dispatchLifetime": 15, "claimedLifetime": 15}
    running = Deployment(tmp_path_factory.mktemp("hasty"), limits=limits)
    yield running
    running.stop()


@pytest.fixture
def bank(deployment):
    return deployment.bank


@pytest.fixture
def phone(deployment):
    return deployment.person()


@pytest.fixture(scope="session")
def chromiums():
    """The programs in which the browsers of one test after another are opened."""
    yield
    Chromium.quit_all()


@pytest.fixture
def new_browser(tmp_path, chromiums):
    """Makes browsers; they are closed after the test, and must not have complained of scripts or policies."""
    browsers = []

    def make(**options):
        browsers.append(Browser(tmp_path / f"browser-{len(browsers)}", **options))
        return browsers[-1]

    yield make
    complaints = [browser.complaints() for browser in browsers]
    for browser in browsers:
        browser.quit()
    assert not any(complaints), complaints


@pytest.fixture
def browser(new_browser):
    return new_browser()


@pytest.fixture
def plain_browser(new_browser):
    """A browser that runs no scripts."""
    return new_browser(scripts=False)


@pytest.fixture(params=["with scripts", "without scripts"])
def any_browser(request, new_browser):
    return new_browser(scripts=request.param == "with scripts")
