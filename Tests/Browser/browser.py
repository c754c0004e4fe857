"""A real browser, and what a person does with it at the bank and at the sign-in page."""

import importlib.util
import json
import pathlib

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

SECONDS = 20
# The server looks for what has expired every fifteen seconds.
EXPIRY_SECONDS = 60
ACCESSIBILITY_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def is_true_now(is_true):
    """An element of the page before may be looked at while the next one comes: the browser has two ways of saying so."""
    try:
        return is_true()
    except StaleElementReferenceException:
        return False
    except WebDriverException as error:
        if "does not belong to the document" in (error.msg or ""):
            return False
        raise


def axe_source():
    """The text of axe-core, from the Python package that carries it."""
    package = pathlib.Path(importlib.util.find_spec("axe_playwright_python").origin).parent
    return (package / "axe.min.js").read_text()


def switches(trusted_keys=()):
    """How Chromium is started here: without a screen, and with no certificates exempt from their check but of these keys."""
    arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--force-device-scale-factor=1", "--window-size=1200,1000"]
    if trusted_keys:
        arguments.append(f"--ignore-certificate-errors-spki-list={','.join(trusted_keys)}")
    return arguments


class Browser:
    """One Chromium with cookies of its own; with `port`, one that was started elsewhere and is listened to there."""

    def __init__(self, folder, scripts=True, trusted_keys=(), port=None):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        options = webdriver.ChromeOptions()
        if port:
            options.debugger_address = f"127.0.0.1:{port}"
        else:
            options.binary_location = "/usr/bin/chromium"
            for argument in (*switches(trusted_keys), f"--user-data-dir={self.folder / 'profile'}"):
                options.add_argument(argument)
            options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.scripts = scripts
        if not scripts:
            self.command("Emulation.setScriptExecutionDisabled", value=True)
        self._pictures = 0

    def quit(self):
        self.driver.quit()

    def command(self, name, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    # What is on the page

    def get(self, address):
        self.driver.get(address)

    @property
    def address(self):
        return self.driver.current_url

    def all(self, hook):
        return self.driver.find_elements(By.CSS_SELECTOR, f'[data-testid="{hook}"]')

    def has(self, hook):
        return bool(self.all(hook))

    def one(self, hook):
        return self.wait_for(hook)

    def wait_for(self, hook, seconds=SECONDS):
        found = []

        def is_there():
            found[:] = self.all(hook)
            return bool(found)

        self.wait(is_there, seconds, f"the page has no {hook}")
        return found[0]

    def wait(self, is_true, seconds=SECONDS, message=""):
        text = lambda: self.driver.find_element(By.TAG_NAME, "body").text[:800]
        try:
            WebDriverWait(self.driver, seconds, 0.05).until(lambda _: is_true_now(is_true))
        except Exception as error:
            raise AssertionError(f"{message} at {self.address}:\n{text()}") from error

    def state(self):
        """The word of the sign-in page for how far the phone is."""
        return self.one("state").get_attribute("data-state")

    def wait_for_state(self, *states):
        self.wait(lambda: self.has("state") and self.state() in states, message=f"the state is not {states}")

    def picture(self):
        """A screenshot of the page, as a PNG file."""
        self._pictures += 1
        path = self.folder / f"screen-{self._pictures}.png"
        self.driver.save_screenshot(str(path))
        return path

    def complaints(self):
        """What the browser complained of: scripts that failed, policies that were broken."""
        return [
            entry
            for entry in self.driver.get_log("browser")
            if entry["level"] == "SEVERE" and entry["source"] != "network"
        ]

    # What a person does

    def press(self, button):
        """Presses a button or a link that leads away, and waits until its page has gone: a click can return before."""
        before = self.document()
        button.click()
        self.wait(lambda: self.document() != before, message="the page stays")
        return self

    def document(self):
        """What tells the page that is loaded now from the ones before and after it."""
        return self.driver.find_element(By.TAG_NAME, "html").id

    def begin_sign_in(self, bank):
        self.get(bank.origin + "/")
        self.press(self.one("sign-in"))
        self.wait_for("qr-code")
        return self

    def finish_sign_in(self):
        """Without scripts a person presses the button that loads the page's present state."""
        if not self.scripts:
            self.press(self.one("confirmed"))
        self.wait_for("balance")
        return self

    def sign_in(self, bank, phone):
        self.begin_sign_in(bank)
        run = phone.approve(self.picture()).expect(0)
        self.finish_sign_in()
        return run

    def begin_transfer(self, amount="120.00"):
        field = self.one("transfer-form").find_element(By.NAME, "amount")
        field.clear()
        field.send_keys(amount)
        self.send_transfer()
        self.wait_for("transfer-qr")
        return self

    def send_transfer(self):
        return self.press(self.one("transfer-form").find_element(By.TAG_NAME, "button"))

    def finish_transfer(self, seconds=SECONDS):
        if not self.scripts:
            self.press(self.one("transfer-refresh"))
        self.wait(lambda: self.has("receipt") or self.has("refused"), seconds, "the transfer has not ended")
        return self

    # Appearance

    def appear(self, scheme="light", width=1200, height=1000):
        self.command(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
        )
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )

    def touch(self, width, height):
        """Becomes a device with a touch screen and no mouse."""
        self.command("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=5)
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2, mobile=True
        )

    def evaluate(self, source):
        """Evaluates an expression in the page.

        Where scripts are switched off they are allowed for its time alone: the page's own were passed over when it was
        loaded, and are not made up for.
        """
        if not self.scripts:
            self.command("Emulation.setScriptExecutionDisabled", value=False)
        try:
            result = self.command("Runtime.evaluate", expression=source, awaitPromise=True, returnByValue=True)
        finally:
            if not self.scripts:
                self.command("Emulation.setScriptExecutionDisabled", value=True)
        if "exceptionDetails" in result:
            raise AssertionError(result["exceptionDetails"])
        return result["result"].get("value")

    def accessibility_violations(self):
        """What axe-core finds against WCAG 2.2, levels A and AA."""
        self.evaluate(axe_source() + ";0")
        options = json.dumps({"runOnly": {"type": "tag", "values": ACCESSIBILITY_RULES}, "resultTypes": ["violations"]})
        found = self.evaluate(f"axe.run(document, {options}).then(r => JSON.stringify(r.violations))")
        return [
            f"{rule['id']}: {rule['help']}: {node['html'][:200]} {node.get('failureSummary', '')[:300]}"
            for rule in json.loads(found)
            for node in rule["nodes"]
        ]
