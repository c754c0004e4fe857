"""Answers that arrive late, and in another order than they were asked for."""

import threading

from proxy import Proxy, deployment_behind

SECONDS = 20


class Slow(Proxy):
    """The waiting page's own question is answered after the page has begun to leave, and the leaving takes its time."""

    leaving = threading.Event()
    answering = threading.Event()
    leaving_again = threading.Event()

    def asked(self, body):
        if self.path.startswith("/sign-in/wait?"):
            self.leaving.wait(SECONDS)
        if self.path.startswith("/sign-in/complete"):
            (self.leaving_again if self.leaving.is_set() else self.leaving).set()
            self.answering.wait(SECONDS)
        return body

    def answered(self, data):
        if self.path.startswith("/sign-in/wait?"):
            self.answering.set()
        if self.path.startswith("/sign-in/complete"):
            # Time for what must not come.
            self.leaving_again.wait(1)
        return data


def test_a_page_that_leaves_goes_nowhere_else(tmp_path, browser):
    """The page asks how things stand, hears that they stand well, and goes; only then comes the answer to its question,
    which says the same. Going twice would end the first going, which alone has the code for the service."""
    with deployment_behind(Slow, tmp_path) as (bank, phone):
        browser.sign_in(bank, phone)
        assert Slow.answering.is_set(), "the page has asked nothing"
        assert not Slow.leaving_again.is_set()
