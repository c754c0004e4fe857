"""Takes the pictures in docs/images, which the guides show: `.build-venv/bin/python Tests/Browser/pictures.py docs/images`."""

import pathlib
import sys
import tempfile

from conftest import Deployment
from browser import Browser, Chromium
from programs import Phone

WIDE = (1100, 760)
NARROW = (390, 844)


def take(folder, deployment):
    deployment.server.admin("account", "add", "alice", "--display-name", "Alice Example")
    phone = Phone(deployment.folder / "phone")
    deployment.server.enroll("alice", phone)
    browser = Browser(deployment.folder / "browser")

    def picture(name, scheme="light", size=WIDE):
        browser.appear(scheme, *size)
        browser.driver.save_screenshot(str(folder / f"{name}.png"))
        browser.appear()

    browser.begin_sign_in(deployment.bank)
    picture("sign-in")
    picture("sign-in-dark", "dark")
    picture("sign-in-narrow", size=NARROW)
    phone.approve(browser.picture()).expect(0)
    browser.finish_sign_in()
    picture("bank-accounts")
    browser.begin_transfer()
    picture("bank-transfer")
    phone.approve(browser.picture()).expect(0)
    browser.finish_transfer()
    picture("bank-receipt")
    browser.quit()


if __name__ == "__main__":
    running = Deployment(tempfile.mkdtemp())
    try:
        target = pathlib.Path(sys.argv[1])
        target.mkdir(parents=True, exist_ok=True)
        take(target, running)
    finally:
        Chromium.quit_all()
        running.stop()
