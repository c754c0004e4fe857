"""Two keys in one response, with the real programs: a PIN and possession of the device, enrolled and used together."""

import base64
import json
import urllib.request

import pytest
from programs import Phone, Server

PIN_MODEL, DEVICE_MODEL = "C516#0001", "C516#0006"


@pytest.fixture
def server(tmp_path):
    policies = tmp_path / "policies"
    policies.mkdir()
    both = {"accepted": [[{"aaid": [PIN_MODEL]}, {"aaid": [DEVICE_MODEL]}]]}
    (policies / "pin-and-device.json").write_text(json.dumps(both))
    server = Server(tmp_path / "server")
    server.arguments += ["--policies", policies]
    server.start()
    yield server
    server.stop()


def ask(server, path, body, client):
    request = urllib.request.Request(
        server.issuer + path, json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": f"Basic {client}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def dispatch(server, client):
    context = {"policy": "pin-and-device"}
    return ask(
        server, "/token/dispatch/authentication",
        {"dispatcher": "link-png-qr-code", "getUafRequest": {"op": "Auth", "context": json.dumps(context)}}, client)


def test_a_pin_and_the_device_answer_together(server, tmp_path):
    client_id, secret = server.add_client("Shop", "http://127.0.0.1:9/callback")
    client = base64.b64encode(f"{client_id}:{secret.read_text().strip()}".encode()).decode()
    phones = {}
    for name, policy in {"alice": ("--policy", "pin-and-device"), "bob": ()}.items():
        server.admin("account", "add", name, "--display-name", name.capitalize())
        phone = phones[name] = Phone(tmp_path / f"phone-{name}")
        picture = tmp_path / f"{name}.png"
        activation = server.admin("activation", "create", name, "--qr-file", picture, *policy)
        events = phone("enroll", picture, "--pin-stdin", stdin="258036\n").expect(0)
        server.admin("activation", "confirm", "--number", events["confirmation"]["number"], "--", activation["id"])
    held = {event["aaid"] for event in phones["alice"]("authenticators").expect(0).events if event["accounts"]}
    assert held == {PIN_MODEL, DEVICE_MODEL}

    # Somebody who has the PIN alone cannot answer.
    asked = dispatch(server, client)
    phones["bob"].approve(asked["link"], pin="258036").expect(1)
    asked = dispatch(server, client)
    phones["alice"].approve(asked["link"], pin="258036").expect(0)
    status = ask(server, "/status", {"sessionId": asked["sessionId"]}, client)
    assert status["status"] == "succeeded"
    assert {entry["aaid"] for entry in status["authenticators"]} == {PIN_MODEL, DEVICE_MODEL}
