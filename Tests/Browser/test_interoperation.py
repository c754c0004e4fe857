"""Bare FIDO UAF messages in files: `countersign-phone uaf answer` on one side, `countersign uaf verify` on the other."""

import base64
import json
import secrets

import pytest
from programs import ROOT, run

PIN_MODEL, FINGER_MODEL = "C516#0001", "C516#0003"
FACET = "linux:program:countersign-phone"
METADATA = ROOT / "Server/Sources/UAFRelyingParty/Metadata"


def text(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def message(operation, **members):
    header = {"upv": {"major": 1, "minor": 1}, "op": operation, "serverData": text(secrets.token_bytes(16))}
    return [{"header": header, **members}]


def asking(operation, criteria, **members):
    policy = {"accepted": [[criteria]]}
    return message(operation, challenge=text(secrets.token_bytes(32)), policy=policy, **members)


class Exchange:
    """Two programs and a folder between them."""

    def __init__(self, folder):
        self.folder = folder
        self.home = folder / "test-keys"
        self.keys = folder / "keys.json"
        self.request = folder / "request.json"
        self.response = folder / "response.json"

    def answer(self, request, *options, pin="258036"):
        self.request.write_text(json.dumps(request))
        self.response.unlink(missing_ok=True)
        code, said, errors = run(
            "countersign-phone", "uaf", "answer", "--request", self.request, "--output", self.response, "--pin-stdin",
            "--home", self.home, "--json", *options, stdin=pin + "\n")
        # What was done, or went wrong, is no answer: it is on the other stream.
        assert said == "", said
        return code, json.loads(errors.splitlines()[-1])

    def verify(self, *options):
        code, said, errors = run(
            "countersign", "uaf", "verify", "--request", self.request, "--response", self.response, "--metadata",
            METADATA, "--json", *options)
        return code, json.loads(said)

    def register(self, model, *options):
        code, _ = self.answer(asking("Reg", {"aaid": [model]}, username="alice"), *options)
        assert code == 0
        code, verdict = self.verify()
        assert code == 0, verdict
        self.keys.write_text(json.dumps(verdict))
        return verdict["keys"][0]

    def authenticate(self, model, **members):
        code, said = self.answer(asking("Auth", {"aaid": [model]}, **members))
        assert code == 0, said
        code, verdict = self.verify("--key", self.keys)
        if code == 0:
            self.keys.write_text(json.dumps(verdict))
        return code, verdict


@pytest.fixture
def exchange(tmp_path):
    return Exchange(tmp_path)


@pytest.mark.parametrize("model", [PIN_MODEL, FINGER_MODEL])
def test_what_one_program_answers_the_other_accepts(exchange, model):
    key = exchange.register(model)
    assert key["aaid"] == model and key["signCounter"] == 0 and key["attestationType"] == 15880
    for counter in (1, 2):
        code, verdict = exchange.authenticate(model)
        assert code == 0 and verdict["facetID"] == FACET
        assert verdict["keys"][0]["signCounter"] == counter and verdict["keys"][0]["keyID"] == key["keyID"]
        assert "confirmedContentHash" not in verdict


def test_a_transaction_is_confirmed(exchange):
    exchange.register(PIN_MODEL)
    content = {"contentType": "text/plain", "content": text(b"Pay 10 EUR")}
    code, verdict = exchange.authenticate(PIN_MODEL, transaction=[content])
    assert code == 0 and verdict["keys"][0]["mode"] == 2 and "confirmedContentHash" in verdict
    # The same answer to a request for another amount.
    asked = json.loads(exchange.request.read_text())
    asked[0]["transaction"][0]["content"] = text(b"Pay 99 EUR")
    exchange.request.write_text(json.dumps(asked))
    code, verdict = exchange.verify("--key", exchange.folder / "keys.json")
    assert (code, verdict["step"]) == (1, "transaction")


def test_an_answer_is_accepted_once_and_only_for_its_request(exchange):
    exchange.register(PIN_MODEL)
    assert exchange.authenticate(PIN_MODEL)[0] == 0
    code, verdict = exchange.verify("--key", exchange.keys)
    assert (code, verdict["status"], verdict["step"]) == (1, 1498, "signCounter")
    request = json.loads(exchange.request.read_text())
    request[0]["challenge"] = text(secrets.token_bytes(32))
    exchange.request.write_text(json.dumps(request))
    code, verdict = exchange.verify("--key", exchange.keys)
    assert (code, verdict["status"], verdict["step"]) == (1, 1491, "challenge")


def test_a_deregistered_key_answers_no_more(exchange):
    key = exchange.register(PIN_MODEL)
    request = message("Dereg", authenticators=[{"aaid": key["aaid"], "keyID": key["keyID"]}])
    code, said = exchange.answer(request)
    assert code == 0 and said["operation"] == "Dereg" and said["keys"] == [{"aaid": key["aaid"], "keyID": key["keyID"]}]
    assert not exchange.response.exists()
    code, said = exchange.answer(asking("Auth", {"aaid": [PIN_MODEL]}))
    assert code == 1 and said["reason"] == "no-suitable-authenticator"


def test_bodies_of_the_transport_are_taken_too(exchange):
    request = asking("Reg", {"aaid": [FINGER_MODEL]}, username="alice")
    code, _ = exchange.answer({"statusCode": 1200, "op": "Reg", "uafRequest": json.dumps(request)})
    assert code == 0
    exchange.response.write_text(json.dumps({"uafResponse": exchange.response.read_text()}))
    assert exchange.verify()[0] == 0


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_without_a_file_the_response_alone_is_on_the_standard_output(exchange, options):
    exchange.request.write_text(json.dumps(asking("Reg", {"aaid": [FINGER_MODEL]}, username="alice")))
    code, said, errors = run(
        "countersign-phone", "uaf", "answer", "--request", exchange.request, "--home", exchange.home, *options)
    assert code == 0 and isinstance(json.loads(said), list)
    if options:
        told = json.loads(errors.splitlines()[-1])
        assert told["outcome"] == "answered" and told["operation"] == "Reg" and "response" not in told
    exchange.response.write_text(said)
    code, said, _ = run(
        "countersign", "uaf", "verify", "--request", exchange.request, "--response", exchange.response, "--metadata",
        METADATA, "--facet", FACET)
    assert code == 0 and "verdict: accepted" in said and f"aaid: {FINGER_MODEL}" in said


def test_misuse_is_told(exchange):
    missing = exchange.folder / "nothing.json"
    assert run("countersign", "uaf", "verify", "--request", missing, "--response", missing, "--metadata", METADATA)[0] == 6
    assert run("countersign", "uaf", "verify", "--request", missing)[0] == 2
    code, said, _ = run(
        "countersign", "uaf", "verify", "--request", missing, "--response", missing, "--metadata", METADATA, "--json")
    assert code == 6 and json.loads(said)["verdict"] == "none" and str(missing) in json.loads(said)["reason"]
    exchange.request.write_text(json.dumps(message("Dereg", authenticators=[{"aaid": "", "keyID": ""}])))
    code, _, errors = run(
        "countersign", "uaf", "verify", "--request", exchange.request, "--response", missing, "--metadata", METADATA)
    assert code == 2 and "no response" in errors
    assert run("countersign-phone", "uaf", "answer", "--request", missing, "--home", exchange.home)[0] == 3
    # A phone's folder is left alone.
    (exchange.folder / "phone" / "store").mkdir(parents=True)
    for options in [["--json"], []]:
        code, said, errors = run(
            "countersign-phone", "uaf", "answer", "--request", exchange.request, "--home", exchange.folder / "phone",
            *options)
        assert code == 1 and said == "" and errors
        assert not options or json.loads(errors)["reason"] == "real-phone"
