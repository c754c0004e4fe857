"""A server that shares its host: everything that people, phones and services reach is below the issuer's path."""

import json
import urllib.error
import urllib.request

import pytest

from conftest import Deployment

PATH = "/shared/id"


@pytest.fixture(scope="module")
def deployment_below_a_path(tmp_path_factory):
    running = Deployment(tmp_path_factory.mktemp("path"), path=PATH)
    yield running
    running.stop()


@pytest.mark.parametrize("scripts", [True, False])
def test_sign_in_and_transfer(deployment_below_a_path, new_browser, scripts):
    issuer, bank = deployment_below_a_path.server.issuer, deployment_below_a_path.bank
    assert issuer.endswith(PATH)
    phone = deployment_below_a_path.person()
    browser = new_browser(scripts=scripts).begin_sign_in(bank)
    assert browser.address.startswith(issuer + "/")
    phone.approve(browser.picture()).expect(0)
    browser.finish_sign_in()
    browser.get(issuer + "/account/password")
    cookies = {cookie["name"]: cookie["path"] for cookie in browser.driver.get_cookies() if "countersign" in cookie["name"]}
    assert cookies == {"countersign_browser": PATH, "countersign_session": PATH}
    browser.get(bank.origin + "/accounts")
    browser.begin_transfer("17.00")
    phone.approve(browser.picture()).expect(0)
    browser.finish_transfer()
    assert "EUR 17.00" in browser.one("receipt").text
    browser.press(browser.one("sign-out")).wait_for("signed-out")


def test_a_typed_code_and_the_same_device(deployment_below_a_path, new_browser):
    bank, phone = deployment_below_a_path.bank, deployment_below_a_path.person()
    browser = new_browser().begin_sign_in(bank)
    phone.approve(browser.one("typed-code").text.split()[-1], "--server", deployment_below_a_path.server.issuer).expect(0)
    browser.wait_for("balance")
    browser = new_browser().begin_sign_in(bank)
    run = phone.approve(browser.one("same-device-link").get_attribute("href")).expect(0)
    browser.get(run["finished"]["continuation"])
    browser.wait_for("balance")


def test_the_metadata_are_where_libraries_look(deployment_below_a_path):
    issuer = deployment_below_a_path.server.issuer
    origin = issuer.removesuffix(PATH)
    for name in ["openid-configuration", "oauth-authorization-server"]:
        for address in [f"{issuer}/.well-known/{name}", f"{origin}/.well-known/{name}{PATH}"]:
            with urllib.request.urlopen(address) as answer:
                assert json.load(answer)["issuer"] == issuer
        for address in [f"{origin}/.well-known/{name}", f"{origin}/.well-known/{name}/other"]:
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(address)
