"""A real Firefox without a screen whose push service is on this machine, and that push service.

Firefox keeps a WebSocket to the address of `dom.push.serverURL` and speaks with it as with Mozilla's service (autopush):
`hello`, `register`, `notification` and `ack`. The push service takes messages over TLS (RFC 8030), as the other stand-ins do.
"""

import base64
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import uuid

import wsproto
import wsproto.events

import operators  # noqa: F401  (the folder of `programs` is known from here on)
import programs
import push_stand_ins

SECONDS = 90


class PushService(push_stand_ins.WebPush):
    """A push service for one browser. `acks` has the codes by which the browser says what it has done with a message."""

    DELIVERED, DOES_NOT_OPEN = 100, 101

    def __init__(self, identity):
        self.acks = {}
        # Changes a message on its way to the browser.
        self.change = lambda body: body
        self._channels = {}
        self._told = threading.Condition()
        self._browser = None
        # Set as soon as the browser has asked for its place.
        self.greeted = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"ws://localhost:{self._listener.getsockname()[1]}/"
        super().__init__(identity)
        threading.Thread(target=self._listen, daemon=True).start()

    def stop(self):
        self._listener.close()
        super().stop()

    def deserved(self, path, headers, body):
        with self._told:
            channel, key = self._channels.get(path, (None, None))
        if channel is None:
            return 404, None
        status = self.judged(headers, body)
        if status != 201:
            return status, None
        # The browser has bound the subscription to the key that the page has named (RFC 8292, section 4.2).
        if re.search(r"k=([^,\s]+)", headers["Authorization"])[1] != key:
            return 403, None
        version = str(uuid.uuid4())
        self._send({
            "messageType": "notification", "channelID": channel, "version": version, "ttl": int(headers["TTL"]),
            "data": base64.urlsafe_b64encode(self.change(body)).rstrip(b"=").decode(),
            "headers": {"encoding": headers["Content-Encoding"]}})
        with self._told:
            self._last = version
        return 201, None

    def ack(self):
        """What the browser has said of the last message."""
        with self._told:
            if not self._told.wait_for(lambda: self._last in self.acks, SECONDS):
                raise programs.Failed("the browser acknowledges no message")
            return self.acks[self._last]

    def _listen(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        state = wsproto.WSConnection(wsproto.ConnectionType.SERVER)
        text = ""
        try:
            while data := connection.recv(65536):
                state.receive_data(data)
                for event in state.events():
                    if isinstance(event, wsproto.events.Request):
                        offered = event.subprotocols
                        connection.sendall(state.send(wsproto.events.AcceptConnection(
                            subprotocol=offered[0] if offered else None)))
                        self._browser = (connection, state)
                    elif isinstance(event, wsproto.events.Ping):
                        connection.sendall(state.send(event.response()))
                    elif isinstance(event, wsproto.events.CloseConnection):
                        connection.sendall(state.send(event.response()))
                    elif isinstance(event, wsproto.events.TextMessage):
                        text += event.data
                        if event.message_finished:
                            self._take(json.loads(text))
                            text = ""
        except (OSError, wsproto.utilities.ProtocolError):
            pass  # The browser has ended.

    def _send(self, message):
        connection, state = self._browser
        connection.sendall(state.send(wsproto.events.TextMessage(data=json.dumps(message))))

    def _take(self, message):
        match message.get("messageType"):
            case "hello":
                self._send({"messageType": "hello", "status": 200, "uaid": uuid.uuid4().hex, "use_webpush": True})
                self.greeted.set()
            case "register":
                path = f"/push/{uuid.uuid4().hex}"
                with self._told:
                    self._channels[path] = (message["channelID"], message["key"].rstrip("="))
                self._send({
                    "messageType": "register", "status": 200, "channelID": message["channelID"],
                    "pushEndpoint": self.origin + path})
            case "ack":
                with self._told:
                    for update in message["updates"]:
                        self.acks[update["version"]] = update.get("code", self.DELIVERED)
                    self._told.notify_all()
            case None:
                self._send({})  # A ping of Firefox.


PAGE = """<!doctype html><meta charset="utf-8"><title>App</title><script type="module">
const tell = (path, value) => fetch(path, {method: "POST", body: JSON.stringify(value)});
try {
    await fetch("/greeted");
    await navigator.serviceWorker.register("/worker.js");
    const registration = await navigator.serviceWorker.ready;
    const subscription = await registration.pushManager.subscribe({userVisibleOnly: true, applicationServerKey: KEY});
    await tell("/subscription", subscription);
} catch (error) { await tell("/problem", String(error)); }
</script>"""

WORKER = """self.addEventListener("push", event => event.waitUntil(
    fetch("/words", {method: "POST", body: JSON.stringify(event.data ? event.data.text() : null)})));"""

# Firefox asks nobody for permission, shows no first page, and looks for nothing on the Internet.
PREFERENCES = {
    "dom.push.connection.enabled": True,
    "dom.push.testing.allowInsecureServerURL": True, "network.manage-offline-status": False,
    "browser.shell.checkDefaultBrowser": False, "browser.aboutwelcome.enabled": False, "app.update.enabled": False,
    "browser.startup.homepage_override.mstone": "ignore", "datareporting.policy.dataSubmissionEnabled": False,
    "datareporting.healthreport.uploadEnabled": False, "toolkit.telemetry.enabled": False,
    "browser.safebrowsing.malware.enabled": False, "browser.safebrowsing.phishing.enabled": False,
    "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,", "extensions.getAddons.cache.enabled": False,
    "extensions.systemAddon.update.enabled": False, "security.sandbox.content.level": 0}


class Firefox:
    """A browser with a page that subscribes with a key of an application server, and whose service worker tells the words of
    each push."""

    def __init__(self, folder, service, key):
        self._values = {"/subscription": [], "/words": [], "/problem": []}
        self._arrived = threading.Condition()
        self._pages = self._serve(service, key)
        profile = folder / "firefox"
        profile.mkdir()
        page = f"http://localhost:{self._pages.server_address[1]}"
        permissions = folder / "permissions"
        permissions.write_text(f"origin\tdesktop-notification\t1\t{page}\n")
        preferences = PREFERENCES | {
            "dom.push.serverURL": service.address, "permissions.manager.defaultsUrl": permissions.as_uri()}
        (profile / "user.js").write_text("".join(
            f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in preferences.items()))
        self._log = open(folder / "firefox.log", "wb")
        environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
        self._process = subprocess.Popen(
            ["firefox-esr", "--headless", "--no-remote", "--profile", str(profile),
             f"{page}/"],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True,
            env=environment | {"HOME": str(folder), "MOZ_CRASHREPORTER_DISABLE": "1", "XDG_RUNTIME_DIR": str(folder)})

    def stop(self):
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            pass
        # The processes of pages would write to the profile for a moment more.
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        self._log.close()
        self._pages.shutdown()
        self._pages.server_close()

    def subscription(self):
        """What the page has got from `pushManager.subscribe`, as `PushSubscription.toJSON` writes it."""
        return self._wait("/subscription", 1)

    def words(self, number=1):
        """The words of a push, as the service worker has read them."""
        return self._wait("/words", number)

    def count(self):
        """How often the service worker was woken."""
        with self._arrived:
            return len(self._values["/words"])

    def _wait(self, path, number):
        end = time.monotonic() + SECONDS
        with self._arrived:
            while len(self._values[path]) < number:
                if self._values["/problem"]:
                    raise programs.Failed(f"the page: {self._values['/problem'][0]}")
                if self._process.poll() is not None or time.monotonic() > end:
                    raise programs.Failed(f"Firefox tells nothing by {path}; its log is {self._log.name}")
                self._arrived.wait(1)
            return self._values[path][number - 1]

    def _serve(self, service, key):
        browser = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                match self.path:
                    case "/":
                        self._answer(200, "text/html", PAGE.replace("KEY", json.dumps(key)))
                    case "/greeted":
                        # Firefox forgets a subscription that is asked for before its push service has started.
                        self._answer(200 if service.greeted.wait(SECONDS) else 503, "text/plain", "")
                    case "/worker.js":
                        self._answer(200, "text/javascript", WORKER)
                    case _:
                        self._answer(404, "text/plain", "")

            def do_POST(self):
                value = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with browser._arrived:
                    browser._values[self.path].append(value)
                    browser._arrived.notify_all()
                self._answer(200, "text/plain", "")

            def _answer(self, status, kind, text):
                data = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        server.block_on_close = False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server
