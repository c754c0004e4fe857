extension PageAssets {
    /// The one script. Every page works without it, but the administrator's, which has to read a fragment.
    ///
    /// The server renders every state of the sign-in page; the script only listens for the word that names the state,
    /// fetches the page again and puts its new middle in place of the old one. So there is one rendering, with or without
    /// script, and no markup is made from data here.
    static let scriptText = """
        (function () {
          "use strict";

          // Below which path of its host the server is: this script is one of its files.
          var here = new URL(document.currentScript.src).pathname;
          var base = here.slice(0, here.lastIndexOf("/assets/"));

          var finalStates = ["approved", "completed", "denied", "expired", "failed"];

          function signIn(card) {
            // The page says which sign-in it is, never where to go: whatever stands in its markup, the browser stays at
            // these addresses of this server. A change of the account has addresses of its own.
            var way = card.dataset.matter === "change" ? "/account/change" : "/sign-in";
            function address(page) {
              var path = way + page;
              var client = card.dataset.client;
              return base + path + "?request=" + encodeURIComponent(card.dataset.request) +
                (client ? "&client=" + encodeURIComponent(client) : "");
            }

            var source = null, ticking = 0, listening = 0, busy = false, deadline = 0, isLeaving = false;

            // Once: a second navigation would end the first, and the sign-in is taken by whichever came first.
            function complete() {
              if (isLeaving) { return; }
              isLeaving = true;
              stop();
              window.location.replace(address("/complete"));
            }

            function isFinal() { return finalStates.indexOf(card.dataset.state) >= 0; }

            function refresh() {
              if (busy || isLeaving || isFinal()) { return; }
              busy = true;
              // A redirection means that the sign-in is approved: only a navigation may follow it, because it ends at the
              // service.
              fetch(address("/wait"), { credentials: "same-origin", cache: "no-store", redirect: "manual" })
                .then(function (answer) {
                  if (answer.type === "opaqueredirect") { complete(); return null; }
                  return answer.status < 500 ? answer.text() : null;
                })
                .then(function (text) {
                  busy = false;
                  if (text === null || isLeaving) { return; }
                  var page = new DOMParser().parseFromString(text, "text/html");
                  var fresh = page.getElementById("sign-in");
                  if (!fresh) { window.location.reload(); return; }
                  show(fresh);
                })
                .catch(function () { busy = false; });
            }

            function show(fresh) {
              var stage = document.getElementById("stage");
              var hadFocus = stage.contains(document.activeElement);
              stage.replaceWith(document.adoptNode(fresh.querySelector("#stage")));
              ["state", "secondsLeft"].forEach(function (name) {
                if (name in fresh.dataset) { card.dataset[name] = fresh.dataset[name]; } else { delete card.dataset[name]; }
              });
              card.className = fresh.className;
              var leave = document.getElementById("leave");
              if (leave && !fresh.querySelector("#leave")) { leave.hidden = true; }
              var state = document.getElementById("state"), words = fresh.querySelector("#state");
              state.dataset.state = words.dataset.state;
              if (state.textContent !== words.textContent) { state.textContent = words.textContent; }
              if (hadFocus) { document.getElementById("main").focus(); }
              start();
            }

            function tick() {
              var left = Math.max(0, Math.ceil((deadline - Date.now()) / 1000));
              var label = document.getElementById("expires");
              if (label) {
                label.textContent = "New code in " + Math.floor(left / 60) + ":" + ("0" + left % 60).slice(-2);
              }
              if (left === 0 && document.visibilityState === "visible") { refresh(); }
            }

            function offerButton(isOffered) {
              var form = document.getElementById("confirmed");
              if (form) { form.hidden = !isOffered; }
            }

            function listen() {
              if (source || isFinal() || !window.EventSource) { return; }
              source = new EventSource(address("/wait/events"));
              source.onopen = function () { offerButton(false); };
              source.addEventListener("state", function (event) {
                var state;
                try { state = JSON.parse(event.data).state; } catch (error) { return; }
                if (state === "approved") { complete(); return; }
                if (state !== card.dataset.state) { refresh(); }
              });
              // While the channel is down, where a proxy lets no events through, the button is the way on, as it is
              // without script. The page must not fetch itself often instead: each time it would get other codes.
              source.onerror = function () {
                offerButton(true);
                if (source && source.readyState === EventSource.CLOSED) { source = null; }
              };
            }

            function stop() {
              if (source) { source.close(); source = null; }
              deadline = 0;
              window.clearInterval(ticking);
              window.clearInterval(listening);
            }

            function start() {
              stop();
              if (card.dataset.state === "approved") { complete(); return; }
              if (isFinal()) { return; }
              offerButton(!window.EventSource);
              if ("secondsLeft" in card.dataset) {
                deadline = Date.now() + 1000 * Number(card.dataset.secondsLeft);
                ticking = window.setInterval(tick, 1000);
                tick();
              }
              listen();
              listening = window.setInterval(listen, 4000);
            }

            document.addEventListener("visibilitychange", function () {
              if (document.visibilityState === "visible" && !isFinal() && deadline) { tick(); }
            });
            // Whoever cancels goes back to the service. The word that the sign-in has ended may come first, and fetching the
            // page again would end that way.
            document.addEventListener("submit", function () { isLeaving = true; stop(); });
            window.addEventListener("pageshow", function (event) { if (event.persisted) { window.location.reload(); } });
            start();
          }

          function setUp(card) {
            var secret = window.location.hash.slice(1);
            // The secret leaves the address bar and the history before anything else happens.
            window.history.replaceState(null, "", window.location.pathname);
            var button = document.getElementById("create"), problem = document.getElementById("problem");
            if (!secret) { problem.textContent = card.dataset.missing; problem.hidden = false; return; }
            document.getElementById("start").hidden = false;
            button.addEventListener("click", function () {
              button.disabled = true;
              fetch(card.dataset.tokens, {
                method: "POST", headers: { "Content-Type": "application/json" }, cache: "no-store",
                body: JSON.stringify({ secret: secret })
              }).then(function (answer) {
                return answer.json().then(function (body) { if (!answer.ok) { throw body; } return body; });
              }).then(function (body) {
                secret = "";
                document.getElementById("token").textContent = body.token;
                document.getElementById("lines").textContent =
                  "export COUNTERSIGN_ADMIN_URL=" + window.location.origin + base + "\\n" +
                  "export COUNTERSIGN_ADMIN_TOKEN=" + body.token + "\\n" +
                  "countersign admin account list";
                document.getElementById("start").hidden = true;
                document.getElementById("done").hidden = false;
                document.getElementById("done-title").focus();
              }).catch(function (body) {
                var isSpent = body && body.status === 404;
                problem.textContent = isSpent ? card.dataset.spent : body && body.detail ? body.detail : card.dataset.failed;
                problem.hidden = false;
                document.getElementById("start").hidden = true;
              });
            });
          }

          // The page of a code that personalises a device. It has the code because it was the answer to whoever asked for
          // it, and gives it up as soon as something has become of it: no page that follows has it.
          function activation(card) {
            function address(path) {
              return base + path + "?activation=" + encodeURIComponent(card.dataset.activation) + "&ticket=" +
                encodeURIComponent(card.dataset.ticket);
            }

            var source = null, isLeaving = false;
            var deadline = Date.now() + 1000 * Number(card.dataset.secondsLeft);

            function leave() {
              if (isLeaving) { return; }
              isLeaving = true;
              if (source) { source.close(); }
              window.location.replace(address("/activation"));
            }

            function tick() {
              var left = Math.max(0, Math.ceil((deadline - Date.now()) / 1000));
              if (left === 0) { leave(); return; }
              if (left >= 3600) { return; }
              document.getElementById("expires").textContent =
                "This code works for " + Math.floor(left / 60) + ":" + ("0" + left % 60).slice(-2) + ".";
            }

            function listen() {
              if (source || isLeaving || !window.EventSource) { return; }
              source = new EventSource(address("/activation/events"));
              source.addEventListener("state", function (event) {
                try { if (JSON.parse(event.data).state !== "waiting") { leave(); } } catch (error) { return; }
              });
              source.onerror = function () {
                if (source && source.readyState === EventSource.CLOSED) { source = null; }
              };
            }

            window.setInterval(tick, 1000);
            window.setInterval(listen, 4000);
            tick();
            listen();
          }

          function copyButtons() {
            Array.prototype.forEach.call(document.querySelectorAll("button[data-copy]"), function (button) {
              if (!navigator.clipboard) { return; }
              button.hidden = false;
              button.addEventListener("click", function () {
                var target = document.getElementById(button.dataset.copy);
                var text = target ? target.textContent : window.location.href;
                navigator.clipboard.writeText(text).then(function () {
                  document.getElementById("copied").textContent = "Copied.";
                });
              });
            });
          }

          var page = document.getElementById("sent");
          // No field of the form can be taken for the function.
          if (page) { HTMLFormElement.prototype.submit.call(page); }
          page = document.getElementById("sign-in");
          if (page) { signIn(page); }
          page = document.getElementById("set-up");
          if (page) { setUp(page); }
          page = document.getElementById("activation");
          if (page) { activation(page); }
          copyButtons();
        }());
        """
}
