"""A real browser, and what a person does with it at the bank and at the sign-in page."""

import functools
import importlib.util
import json
import pathlib
import time
import urllib.request

# Selenium itself needs this one.
import websocket
from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

SECONDS = 20
# The server looks for what has expired every fifteen seconds.
EXPIRY_SECONDS = 60
# Each window would else have a hidden page for the suggestions of the address bar, which costs as much as the page shown.
WITHOUT = ["WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "SpareRendererForSitePerProcess"]
ACCESSIBILITY_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def is_true_now(is_true):
    """An element of the page before may be looked at while the next one comes: the browser has two ways of saying so."""
    try:
        return is_true()
    except (NoSuchElementException, StaleElementReferenceException):
        return False
    except WebDriverException as error:
        if "does not belong to the document" in (error.msg or ""):
            return False
        raise


@functools.cache
def axe_source():
    """The text of axe-core, from the Python package that carries it."""
    package = pathlib.Path(importlib.util.find_spec("axe_playwright_python").origin).parent
    return (package / "axe.min.js").read_text()


def switches(trusted_keys=()):
    """How Chromium is started here: without a screen, and with no certificates exempt from their check but of these keys."""
    arguments = [
        *("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--force-device-scale-factor=1"),
        *("--window-size=1200,1000", f"--disable-features={','.join(WITHOUT)}"),
    ]
    if trusted_keys:
        arguments.append(f"--ignore-certificate-errors-spki-list={','.join(trusted_keys)}")
    return arguments


class Chromium:
    """A Chromium that runs, and its driver. What is opened in it has cookies, stores and a cache of its own, and is gone when
    it is closed: one person's browser after another is the same program, whose start costs more than most tests."""

    _running = []

    def __init__(self, trusted_keys):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in switches(trusted_keys):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.trusted_keys = trusted_keys
        self._running.append(self)
        # The driver needs a window between one browser and the next.
        self._resting = self.driver.current_window_handle
        self._context = None
        address = self.driver.capabilities["goog:chromeOptions"]["debuggerAddress"]
        with urllib.request.urlopen(f"http://{address}/json/version", timeout=SECONDS) as answer:
            own = json.load(answer)["webSocketDebuggerUrl"]
        self._connection = websocket.create_connection(own, suppress_origin=True, timeout=SECONDS)

    @classmethod
    def opened(cls, trusted_keys=()):
        """One in which nothing is open, with a new window in it. One that trusts the keys of other tests has served its time."""
        for idle in [one for one in cls._running if one._context is None]:
            if idle.trusted_keys and idle.trusted_keys != trusted_keys:
                idle.quit()
        idle = (one for one in cls._running if one._context is None and one.trusted_keys == trusted_keys)
        chromium = next(idle, None) or cls(trusted_keys)
        chromium._context = chromium._ask("Target.createBrowserContext")["browserContextId"]
        chromium.open_tab()
        return chromium

    @classmethod
    def quit_all(cls):
        for one in list(cls._running):
            one.quit()

    def open_tab(self):
        """Opens and shows a page beside those that are open, of the same person's."""
        tab = self._ask("Target.createTarget", url="about:blank", browserContextId=self._context)["targetId"]
        self.driver.switch_to.window(tab)

    def close(self):
        """Closes what is open, with all that it has kept."""
        self.driver.switch_to.window(self._resting)
        self._ask("Target.disposeBrowserContext", browserContextId=self._context)
        # What pages say when they are closed is no complaint of the next ones.
        self.driver.get_log("browser")
        self._context = None

    def quit(self):
        self._running.remove(self)
        self._connection.close()
        self.driver.quit()

    def _ask(self, method, **parameters):
        """Asks the program itself, where the driver asks pages."""
        self._connection.send(json.dumps({"id": 1, "method": method, "params": parameters}))
        answer = json.loads(self._connection.recv())
        if "result" not in answer:
            raise WebDriverException(f"{method}: {answer}")
        return answer["result"]


class Browser:
    """A person's browser, with cookies of its own; with `port`, a Chromium that was started elsewhere and is listened to there."""

    def __init__(self, folder, scripts=True, trusted_keys=(), port=None):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._chromium = None
        if port:
            options = webdriver.ChromeOptions()
            options.debugger_address = f"127.0.0.1:{port}"
            self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        else:
            self._chromium = Chromium.opened(tuple(trusted_keys))
            self.driver = self._chromium.driver
        self.scripts = scripts
        if not scripts:
            self.command("Emulation.setScriptExecutionDisabled", value=True)
        self._pictures = 0

    def open_tab(self):
        self._chromium.open_tab()

    def quit(self):
        self._chromium.close()

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
        """Looks often at first, as most of it comes at once; what takes its time costs a processor nothing meanwhile."""
        text = lambda: self.driver.find_element(By.TAG_NAME, "body").text[:800]
        start = time.monotonic()
        try:
            while not is_true_now(is_true):
                passed = time.monotonic() - start
                if passed > seconds:
                    raise TimeoutError(f"not within {seconds} s")
                time.sleep(0.05 if passed < 1 else 0.25)
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
        """What axe-core finds against WCAG 2.2, levels A and AA, and whether the page is wider than its window."""
        options = json.dumps({"runOnly": {"type": "tag", "values": ACCESSIBILITY_RULES}, "resultTypes": ["violations"]})
        overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        examine = f"axe.run(document, {options}).then(r => JSON.stringify([r.violations, {overflow}]))"
        # A page that was examined before has axe-core, whose text is longer than all pages.
        found = self.evaluate(f"'axe' in window ? {examine} : null") or self.evaluate(f"{axe_source()};{examine}")
        violations, pixels = json.loads(found)
        return [
            f"{rule['id']}: {rule['help']}: {node['html'][:200]} {node.get('failureSummary', '')[:300]}"
            for rule in violations
            for node in rule["nodes"]
        ] + [f"the page is {pixels} pixels wider than the window"] * (pixels > 0)
