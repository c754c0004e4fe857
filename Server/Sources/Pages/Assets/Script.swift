import Texts

extension PageAssets {
    /// The script of all pages. Every page works without the script, except the administrator's page, which has to read
    /// a fragment.
    ///
    /// The server renders every state of the sign-in page. The script only listens for the word that names the state,
    /// fetches the page again and puts the new middle in place of the old middle. So each state has a single rendering,
    /// with or without script, and the script makes no markup from data.
    static func scriptText(_ words: ScriptWords) -> String {
        """
        (function () {
          "use strict";

          // The path of the server at its host. This script is one of the server's files.
          var here = new URL(document.currentScript.src).pathname;
          var base = here.slice(0, here.lastIndexOf("/assets/"));
          // A channel that says nothing for two heartbeats is dead, whatever the browser believes of its connection.
          var patience = 2000 * Number(document.currentScript.dataset.heartbeat);

          var finalStates = ["approved", "completed", "denied", "expired", "failed"];

          // The channel of a page that waits. It says the state as soon as it is open: to open it again is to ask, and costs
          // nobody a code. `told` gets the words; `lost` is called as often as a channel is given up.
          function channelOf(address, told, lost) {
            var source = null, heard = 0, timer = 0;

            function hear() { heard = Date.now(); }

            function open() {
              if (!window.EventSource) { return; }
              if (source) { source.close(); }
              hear();
              source = new EventSource(address);
              source.addEventListener("heartbeat", hear);
              source.addEventListener("state", function (event) {
                hear();
                var state;
                try { state = JSON.parse(event.data).state; } catch (error) { return; }
                told(state);
              });
              source.onerror = function () { lost(); };
            }

            function look() {
              if (source.readyState !== EventSource.CLOSED && Date.now() - heard <= patience) { return; }
              lost();
              open();
            }

            function close() {
              if (source) { source.close(); source = null; }
              window.clearInterval(timer);
            }

            return {
              open: function () {
                close();
                open();
                if (source) { timer = window.setInterval(look, 4000); }
              },
              close: close
            };
          }

          // A browser that was put aside, while its person was in the app, comes back: what was open before may be dead.
          // `ask` finds out at once how things stand; `restore` is for a page that the browser has kept and shows again.
          function onReturn(ask, restore) {
            document.addEventListener("visibilitychange", function () {
              if (document.visibilityState === "visible") { ask(); }
            });
            window.addEventListener("pageshow", function (event) { if (event.persisted) { restore(); } });
          }

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

            var ticking = 0, asked = 0, answered = 0, deadline = 0, isLeaving = false;
            var channel = channelOf(address("/wait/events"), function (state) {
              offerButton(false);
              if (state === "approved") { complete(); return; }
              if (state !== card.dataset.state) { refresh(); }
            }, function () {
              // While the channel is down, where a proxy lets no events through, the button is the way on, as it is without
              // script. While codes are shown the page must not fetch itself often instead: each time it would get others.
              offerButton(true);
              if (!deadline) { refresh(); }
            });

            // The page navigates once. A second navigation would end the first, which may have taken the sign-in.
            function complete() {
              if (isLeaving) { return; }
              isLeaving = true;
              stop();
              window.location.replace(address("/complete"));
            }

            function isFinal() { return finalStates.indexOf(card.dataset.state) >= 0; }

            function refresh() {
              if (isLeaving || isFinal()) { return; }
              // The page asks one question at a time. A question that hangs in a dead connection holds up no other.
              if (asked > answered && Date.now() - asked <= patience) { return; }
              var question = asked = Math.max(Date.now(), asked + 1);
              // A redirection means that the sign-in is approved: only a navigation may follow it, because it ends at the
              // service.
              fetch(address("/wait"), { credentials: "same-origin", cache: "no-store", redirect: "manual" })
                .then(function (answer) {
                  if (answer.type === "opaqueredirect") { complete(); return null; }
                  return answer.status < 500 ? answer.text() : null;
                })
                .then(function (text) {
                  if (question !== asked) { return; }
                  answered = asked;
                  if (text === null || isLeaving) { return; }
                  var page = new DOMParser().parseFromString(text, "text/html");
                  var fresh = page.getElementById("sign-in");
                  if (!fresh) { window.location.reload(); return; }
                  show(fresh);
                })
                .catch(function () { if (question === asked) { answered = asked; } });
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
                label.textContent = \(words.newCodeIn);
              }
              if (left === 0 && document.visibilityState === "visible") { refresh(); }
            }

            function offerButton(isOffered) {
              var form = document.getElementById("confirmed");
              if (form) { form.hidden = !isOffered; }
            }

            function stop() {
              channel.close();
              deadline = 0;
              window.clearInterval(ticking);
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
              channel.open();
            }

            onReturn(function () {
              if (isLeaving || isFinal()) { return; }
              channel.open();
              if (!window.EventSource) { refresh(); }
              if (deadline) { tick(); }
            }, function () { window.location.reload(); });
            // The form of a person who cancels leads back to the service. The channel may tell of the end before: to
            // fetch the page again would then end the way back.
            document.addEventListener("submit", function () { isLeaving = true; stop(); });
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

          // The page that shows a code for personalising a device. The code came once, with the answer to the form. The
          // page leaves as soon as the code was used or has run out, and no later page has the code.
          function activation(card) {
            function address(path) {
              return base + path + "?activation=" + encodeURIComponent(card.dataset.activation) + "&ticket=" +
                encodeURIComponent(card.dataset.ticket);
            }

            var isLeaving = false;
            var deadline = Date.now() + 1000 * Number(card.dataset.secondsLeft);
            var channel = channelOf(address("/activation/events"), function (state) {
              if (state !== "waiting") { leave(); }
            }, function () {});

            function leave() {
              if (isLeaving) { return; }
              isLeaving = true;
              channel.close();
              window.location.replace(address("/activation"));
            }

            function tick() {
              var left = Math.max(0, Math.ceil((deadline - Date.now()) / 1000));
              if (left === 0) { leave(); return; }
              if (left >= 3600) { return; }
              document.getElementById("expires").textContent =
                \(words.codeWorksFor);
            }

            function ask() {
              if (isLeaving) { return; }
              channel.open();
              tick();
            }

            // Loading the page again would send the form once more.
            onReturn(ask, ask);
            window.setInterval(tick, 1000);
            tick();
            if (!isLeaving) { channel.open(); }
          }

          function copyButtons() {
            Array.prototype.forEach.call(document.querySelectorAll("button[data-copy]"), function (button) {
              if (!navigator.clipboard) { return; }
              button.hidden = false;
              button.addEventListener("click", function () {
                var target = document.getElementById(button.dataset.copy);
                var text = target ? target.textContent : window.location.href;
                navigator.clipboard.writeText(text).then(function () {
                  document.getElementById("copied").textContent = \(words.copied);
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
}

/// The words of the script, each as an expression of the script.
struct ScriptWords {
    let newCodeIn: String
    let codeWorksFor: String
    let copied: String

    /// Takes the words from a language.
    init(_ language: any Language) {
        // Minutes and seconds of the remaining time.
        let clock = #"Math.floor(left / 60) + ":" + ("0" + left % 60).slice(-2)"#
        self.newCodeIn = Self.expression(language.words(.newCodeIn(clock: clock)))
        self.codeWorksFor = Self.expression(language.words(.codeWorksFor(clock: clock)))
        self.copied = Self.expression(language.words(.copied))
    }

    /// Returns a sentence as an expression. The values of the sentence are expressions.
    private static func expression(_ sentence: Sentence) -> String {
        sentence.parts.map { part in
            switch part {
            case .words(let words):
                "\"\(words.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
            case .value(let value): value
            }
        }.joined(separator: " + ")
    }
}
