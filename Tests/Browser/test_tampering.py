"""Somebody between the bank and the server changes the amount."""

import base64
import json

import pytest

from proxy import Proxy, deployment_behind


class Tamperer(Proxy):
    """Passes everything on but dispatches, in which 120.00 becomes 920.00."""

    hides = True

    @property
    def is_dispatch(self):
        return self.path == "/token/dispatch/authentication"

    def asked(self, body):
        return self.changed(body) if self.is_dispatch else body

    def answered(self, data):
        return self.hidden(data) if self.is_dispatch and self.hides else data

    @staticmethod
    def changed(body):
        message = json.loads(body)
        context = json.loads(message["getUafRequest"]["context"])
        assert context["payment"]["amount"] == "120.00"
        context["payment"]["amount"] = "920.00"
        message["getUafRequest"]["context"] = json.dumps(context)
        return json.dumps(message).encode()

    @staticmethod
    def hidden(data):
        """The answer to a dispatch, in which the bank's own amount seems to stand."""
        shown = json.loads(data)
        content = shown["transaction"][0]["content"]
        text = base64.urlsafe_b64decode(content + "=" * (-len(content) % 4)).replace(b"920.00", b"120.00")
        shown["transaction"][0]["content"] = base64.urlsafe_b64encode(text).decode().rstrip("=")
        return json.dumps(shown).encode()


@pytest.fixture
def tampered(tmp_path):
    handler = type("Handler", (Tamperer,), {})
    with deployment_behind(handler, tmp_path) as (bank, phone):
        yield bank, phone, handler


def test_amount_that_changes_between_dispatch_and_answer_is_refused(tampered, browser):
    bank, phone, _ = tampered
    browser.sign_in(bank, phone)
    before = browser.one("balance").text
    browser.begin_transfer("120.00")
    run = phone.approve(browser.picture()).expect(0)
    assert "EUR 920.00" in run["request"]["transaction"], "the phone shows what is signed"
    assert run["request"]["payment"]["amount"] == "920.00"
    browser.finish_transfer()
    assert browser.one("refused").get_attribute("data-reason") == "unverified"
    browser.get(bank.origin + "/accounts")
    assert browser.one("balance").text == before


def test_amount_that_the_server_would_show_differently_is_not_sent(tampered, browser):
    bank, phone, handler = tampered
    handler.hides = False
    browser.sign_in(bank, phone)
    browser.send_transfer().wait_for("error")
    assert not browser.has("transfer-qr")
