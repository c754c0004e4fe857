import Texts

/// The templates in a language, by name.
///
/// The words of a template are sentences of the language. A value of a sentence is a part of the template, with the
/// marks around a name.
///
/// Three braces stand only around this target's own drawings: marks, emblems and QR codes.
struct PageTemplates {
    let language: any Language

    /// The templates by name.
    var all: [String: String] {
        [
            "frame": self.frame, "sign-in": self.signIn, "message": self.message, "open": self.open,
            "set-up": self.setUp,
            "device": self.device, "device-confirmation": self.deviceConfirmation,
            "form": self.form, "choice": self.choice, "consent": self.consent, "codes": self.codes, "terms": self.terms,
            "connection": self.connection, "identity": self.identity, "history": self.history, "changes": self.changes,
            "change-provider": self.changeProvider,
            "activation": self.activation,
        ]
    }

    private var frame: String {
        """
        <!doctype html>
        <html lang="\(self.language.tag)">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta name="robots" content="noindex">
        <title>{{title}} · {{serviceName}}</title>
        <link rel="icon" type="image/svg+xml" href="{{icon}}">
        <link rel="stylesheet" href="{{stylesheet}}">
        <script src="{{script}}" data-heartbeat="{{heartbeat}}" defer></script>
        </head>
        <body data-page="{{template}}">
        <a class="skip" href="#main">\(self.words(.skipToContent))</a>
        <header class="top"><span class="brand">{{{mark}}}<span>{{serviceName}}</span></span></header>
        <main id="main" tabindex="-1">
        {{#content}}{{$main}}{{/main}}{{/content}}
        </main>
        <footer class="foot"><p>\(self.words(.youAreAt(host: "<strong>{{host}}</strong>")))</p></footer>
        </body>
        </html>
        """
    }

    private var signIn: String {
        """
        {{<frame}}{{$main}}
        <section class="card sign-in{{#ended}} ended{{/ended}}" id="sign-in" aria-labelledby="title" \
        data-state="{{state}}" data-request="{{requestID}}"{{#client}} data-client="{{.}}"{{/client}}{{#matter}} data-matter="{{.}}"{{/matter}}\
        {{#codes}} data-seconds-left="{{secondsLeft}}"{{/codes}}>
        <div class="intro">
        <h1 id="title">{{#isChange}}\(self.words(.confirmOnPhone)){{/isChange}}\
        {{^isChange}}\(self.words(.signInTo(client: "<bdi>{{clientName}}</bdi>"))){{/isChange}}</h1>
        <p class="state" id="state" role="status" data-testid="state" data-state="{{state}}">{{stateText}}</p>
        {{#agreement}}<p class="small">\(self.words(.agreeOnPhone))</p>
        <pre class="agreement" data-testid="agreement"><bdi>{{.}}</bdi></pre>{{/agreement}}
        </div>
        {{#codes}}
        <div class="stage waiting" id="stage">
        <p class="same-device"><span class="small">\(self.words(.readingOnPhone))</span> <a class="button" href="{{sameDeviceLink}}" data-testid="same-device-link" \
        rel="noreferrer">\(self.words(SignInText.openAppHere))</a></p>
        <div class="code">
        <div class="qr" data-testid="qr-code">{{{qr}}}</div>
        <p class="expires" id="expires" role="timer" data-testid="expires">{{expires}}</p>
        <p class="renew"><a href="{{wait}}" data-testid="new-code">\(self.words(.showNewCode))</a></p>
        </div>
        <ol class="steps">
        <li><span>\(self.words(SignInText.openApp))</span></li>
        <li class="scan"><span>\(self.words(SignInText.scanCode))</span></li>
        <li><span>\(self.words(.checkName(client: "<bdi>{{clientName}}</bdi>")))</span></li>
        </ol>
        {{#typedCode}}<div class="typed">
        <h2>\(self.words(SignInText.noCamera))</h2>
        <p class="small">\(self.words(.typeCode))</p>
        <p><code data-testid="typed-code">{{.}}</code></p>
        </div>{{/typedCode}}
        <div class="confirmed" id="confirmed">
        <p class="small">\(self.words(.haveConfirmedQuestion))</p>
        <form method="get" action="{{path}}/wait">
        <input type="hidden" name="request" value="{{requestID}}">
        {{#client}}<input type="hidden" name="client" value="{{.}}">{{/client}}
        <button type="submit" class="quiet" data-testid="confirmed">\(self.words(.haveConfirmed))</button>
        </form>
        </div>
        </div>
        {{/codes}}
        {{^codes}}
        <div class="stage" id="stage">
        <div class="outcome">
        <div class="emblem {{tone}}">{{{emblem}}}</div>
        <h2>{{headline}}</h2>
        <p class="lead">{{explanation}}</p>
        {{#continueLink}}
        <p class="actions"><a class="button" href="{{.}}" data-testid="continue">\(self.words(.continueOn))</a></p>
        {{/continueLink}}
        {{#retryLink}}
        <p class="actions"><a class="button" href="{{.}}" data-testid="retry">\(self.words(.tryAgain))</a></p>
        {{/retryLink}}
        {{#homeLink}}
        <p class="actions"><a class="button" href="{{.}}" data-testid="home">\(self.words(.goTo(name: "<bdi>{{clientName}}</bdi>")))</a></p>
        {{/homeLink}}
        {{#showsConfirmed}}
        <form method="get" action="{{path}}/wait" id="confirmed">
        <input type="hidden" name="request" value="{{requestID}}">
        {{#client}}<input type="hidden" name="client" value="{{.}}">{{/client}}
        <button type="submit" class="quiet" data-testid="confirmed">\(self.words(.haveConfirmed))</button>
        </form>
        {{/showsConfirmed}}
        {{#reference}}
        <p class="small">\(self.words(.helpNumber("<code>{{.}}</code>")))</p>
        {{/reference}}
        </div>
        </div>
        {{/codes}}
        {{#enrolment}}
        <div class="typed" data-testid="enrolment">
        <h2>\(self.words(.noAccountYet))</h2>
        <p class="small">{{how}}</p>
        {{#begin}}<p><a href="{{.}}" data-testid="begin-enrolment">\(self.words(.makeIdentity))</a></p>{{/begin}}
        </div>
        {{/enrolment}}
        {{#otherWays}}
        <p class="other"><a href="{{.}}" data-testid="other-ways">\(self.words(.signInAnotherWay))</a></p>
        {{/otherWays}}
        {{#canLeave}}
        <form class="leave" id="leave" method="post" action="{{path}}/cancel">
        <input type="hidden" name="request" value="{{requestID}}">
        {{#client}}<input type="hidden" name="client" value="{{.}}">{{/client}}
        <button type="submit" class="quiet" data-testid="cancel"><span>{{#isChange}}\(self.words(.cancel)){{/isChange}}\
        {{^isChange}}\(self.words(.cancelAndGoBack(client: "<bdi>{{clientName}}</bdi>"))){{/isChange}}</span></button>
        </form>
        {{/canLeave}}
        </section>
        {{/main}}{{/frame}}
        """
    }

    private var message: String {
        """
        {{<frame}}{{$main}}
        <section class="card message" aria-labelledby="title"{{#testID}} data-testid="{{.}}"{{/testID}}>
        <div class="emblem {{tone}}">{{{emblem}}}</div>
        <h1 id="title">{{headline}}</h1>
        <p class="lead">{{explanation}}</p>
        {{#form}}
        <form class="actions" method="post" action="{{action}}"{{#isSent}} id="sent"{{/isSent}}>
        {{#fields}}<input type="hidden" name="{{name}}" value="{{value}}">{{/fields}}
        <button type="submit" data-testid="confirm">{{label}}</button>
        </form>
        {{/form}}
        {{#link}}
        <p class="actions"><a class="button{{#form}} quiet{{/form}}" href="{{target}}" data-testid="link">{{label}}</a></p>
        {{/link}}
        {{#isAddressCopied}}
        <p><button type="button" class="quiet" data-copy="" hidden>\(self.words(.copyPageAddress))</button> \
        <span class="small" id="copied" role="status"></span></p>
        {{/isAddressCopied}}
        {{#note}}
        <p class="small">{{.}}</p>
        {{/note}}
        {{#reference}}
        <p class="reference small">\(self.words(.helpNumber("<code>{{.}}</code>")))</p>
        {{/reference}}
        </section>
        {{/main}}{{/frame}}
        """
    }

    private var form: String {
        """
        {{<frame}}{{$main}}
        <section class="card form" aria-labelledby="title" data-testid="{{testID}}">
        <h1 id="title">{{headline}}</h1>
        <p class="lead">{{lead}}</p>
        {{#problem}}
        <p class="notice bad" id="problem" role="alert" data-testid="problem">{{.}}</p>
        {{/problem}}
        {{#reference}}
        <p class="reference small">\(self.words(.helpNumber("<code>{{.}}</code>")))</p>
        {{/reference}}
        {{#picture}}<div class="qr" data-testid="qr-code">{{{.}}}</div>{{/picture}}
        {{#secret}}<p class="typed"><code data-testid="secret">{{.}}</code></p>{{/secret}}
        <form method="post" action="{{action}}">
        {{#hidden}}<input type="hidden" name="{{hiddenName}}" value="{{hiddenValue}}">{{/hidden}}
        {{#fields}}
        <div class="field">
        <label for="{{id}}">{{label}}</label>
        <input id="{{id}}" name="{{id}}" type="{{type}}" autocomplete="{{autocomplete}}" autocapitalize="none" \
        spellcheck="false" value="{{value}}" required{{#isReadOnly}} readonly{{/isReadOnly}}{{#isNumber}} inputmode="numeric"{{/isNumber}}\
        {{#hint}} aria-describedby="{{id}}-hint"{{/hint}} data-testid="{{id}}">
        {{#hint}}<p class="small" id="{{id}}-hint">{{.}}</p>{{/hint}}
        </div>
        {{/fields}}
        <p class="actions"><button type="submit" data-testid="submit">{{submit}}</button></p>
        {{#other}}
        <p class="small">{{about}}</p>
        <p><button type="submit" class="quiet" name="{{name}}" value="yes" formnovalidate data-testid="{{name}}">{{words}}</button></p>
        {{/other}}
        </form>
        {{#links}}
        <p class="other"><a href="{{target}}" data-testid="{{linkID}}">{{words}}</a></p>
        {{/links}}
        {{#leave}}
        <form class="leave" id="leave" method="post" action="/sign-in/cancel">
        <input type="hidden" name="request" value="{{requestID}}">
        {{#client}}<input type="hidden" name="client" value="{{.}}">{{/client}}
        <button type="submit" class="quiet" data-testid="cancel"><span>\
        \(self.words(.cancelAndGoBack(client: "<bdi>{{clientName}}</bdi>")))</span></button>
        </form>
        {{/leave}}
        </section>
        {{/main}}{{/frame}}
        """
    }

    private var codes: String {
        """
        {{<frame}}{{$main}}
        <section class="card form" aria-labelledby="title" data-testid="recovery-codes">
        <h1 id="title">\(self.words(.recoveryCodes))</h1>
        <p class="lead">\(self.words(.recoveryCodesUse))</p>
        <ul class="codes">{{#codes}}<li><code>{{.}}</code></li>{{/codes}}</ul>
        <p class="notice">\(self.words(.recoveryCodesOnce))</p>
        </section>
        {{/main}}{{/frame}}
        """
    }

    private var choice: String {
        """
        {{<frame}}{{$main}}
        <section class="card form" aria-labelledby="title" data-testid="choice">
        <h1 id="title">{{#isChange}}\(self.words(.confirmOnPhone)){{/isChange}}\
        {{^isChange}}\(self.words(.signInTo(client: "<bdi>{{clientName}}</bdi>"))){{/isChange}}</h1>
        <p class="lead">\(self.words(.chooseWay))</p>
        <ul class="choice">
        {{#ways}}
        <li><a class="button{{#isQuiet}} quiet{{/isQuiet}}" href="{{target}}" data-testid="{{wayID}}">{{words}}</a></li>
        {{/ways}}
        </ul>
        {{#requestID}}
        <form class="leave" id="leave" method="post" action="/sign-in/cancel">
        <input type="hidden" name="request" value="{{.}}">
        {{#client}}<input type="hidden" name="client" value="{{.}}">{{/client}}
        <button type="submit" class="quiet" data-testid="cancel"><span>\
        \(self.words(.cancelAndGoBack(client: "<bdi>{{clientName}}</bdi>")))</span></button>
        </form>
        {{/requestID}}
        </section>
        {{/main}}{{/frame}}
        """
    }

    private var consent: String {
        """
        {{<frame}}{{$main}}
        <section class="card message" aria-labelledby="title" data-testid="consent">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">\(self.words(.mayHave(client: "<bdi>{{clientName}}</bdi>")))</h1>
        <p class="lead">\(self.words(.signedInAs(username: "<bdi>{{username}}</bdi>"))) \
        \(self.words(.serviceWouldGet(origin: "{{origin}}")))</p>
        {{#isStranger}}<p class="notice bad" data-testid="stranger">\
        \(self.words(.stranger))</p>{{/isStranger}}
        <div class="paper">
        <ul data-testid="consent-items">
        {{#items}}<li>{{.}}</li>
        {{/items}}</ul>
        </div>
        {{#agreement}}<p class="small">\(self.words(.andWouldGet))</p>
        <pre class="agreement" data-testid="agreement"><bdi>{{.}}</bdi></pre>{{/agreement}}
        <form class="actions" method="post" action="/sign-in/consent">
        <input type="hidden" name="request" value="{{requestID}}">
        <input type="hidden" name="client" value="{{client}}">
        <input type="hidden" name="confirmation" value="{{confirmation}}">
        <button type="submit" name="decision" value="allow" data-testid="allow">\(self.words(.allow))</button>
        <button type="submit" name="decision" value="deny" class="quiet" data-testid="deny">\(self.words(.doNotAllow))</button>
        </form>
        <p class="small">{{#isStranger}}\(self.words(.askedEachTime)) {{/isStranger}}\
        {{^isStranger}}{{^agreement}}\(self.words(.askedOnce)) {{/agreement}}{{/isStranger}}\
        \(self.words(.canTakeBack))</p>
        </section>
        {{/main}}{{/frame}}
        """
    }

    private var terms: String {
        """
        {{<frame}}{{$main}}
        <section class="card message" aria-labelledby="title" data-testid="terms">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">\(self.words(.termsOf(operatorName: "{{operatorName}}")))</h1>
        <p class="lead">\(self.words(.signedInAs(username: "<bdi>{{username}}</bdi>"))) \
        \(self.words(.beforeGoingOn(client: "<bdi>{{clientName}}</bdi>")))</p>
        <p><a href="{{address}}" target="_blank" rel="noreferrer" data-testid="terms-link">\
        \(self.words(.readTerms(version: "{{version}}")))</a></p>
        <form class="actions" method="post" action="/sign-in/consent">
        <input type="hidden" name="request" value="{{requestID}}">
        <input type="hidden" name="client" value="{{client}}">
        <input type="hidden" name="terms" value="{{version}}">
        <input type="hidden" name="confirmation" value="{{confirmation}}">
        <button type="submit" name="decision" value="allow" data-testid="allow">\(self.words(.agree))</button>
        <button type="submit" name="decision" value="deny" class="quiet" data-testid="deny">\(self.words(.doNotAgree))</button>
        </form>
        <p class="small">\(self.words(.askedOncePerVersion))</p>
        </section>
        {{/main}}{{/frame}}
        """
    }

    private var connection: String {
        """
        {{<frame}}{{$main}}
        <section class="card message" aria-labelledby="title" data-testid="connection">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">\(self.words(.letSignIn(provider: "<bdi>{{provider}}</bdi>")))</h1>
        <p class="lead">\(self.words(.signedInAs(username: "<bdi>{{username}}</bdi>"))) \
        \(self.words(.connectionMeans(provider: "<bdi>{{provider}}</bdi>"))) \
        {{#change}}\(self.words(.haveConfirmedThis)){{/change}}{{^change}}\(self.words(.askedToConfirmFirst)){{/change}}</p>
        <form class="actions" method="post" action="/sign-in/consent">
        <input type="hidden" name="request" value="{{requestID}}">
        <input type="hidden" name="client" value="{{client}}">
        <input type="hidden" name="connection" value="{{name}}">
        <input type="hidden" name="confirmation" value="{{confirmation}}">
        {{#change}}<input type="hidden" name="change" value="{{.}}">{{/change}}
        <button type="submit" name="decision" value="allow" data-testid="allow">\(self.words(.connect))</button>
        <button type="submit" name="decision" value="deny" class="quiet" data-testid="deny">\(self.words(.doNotConnect))</button>
        </form>
        <p class="small">\(self.words(.connectionWarning))</p>
        </section>
        {{/main}}{{/frame}}
        """
    }

    private var open: String {
        """
        {{<frame}}{{$main}}
        <section class="card message" aria-labelledby="title">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">\(self.words(.openThis))</h1>
        <p class="lead">\(self.words(.meantForApp))</p>
        <div class="paper">
        <ol class="steps">
        <li><span>\(self.words(.installApp))</span></li>
        <li><span>\(self.words(.openAgain))</span></li>
        <li><span>\(self.words(.checkInApp))</span></li>
        </ol>
        <p class="notice">\(self.words(.worksOnce))</p>
        <p><button type="button" class="quiet" data-copy="" hidden>\(self.words(.copyAddress))</button> \
        <span class="small" id="copied" role="status"></span></p>
        </div>
        </section>
        {{/main}}{{/frame}}
        """
    }

    private var setUp: String {
        """
        {{<frame}}{{$main}}
        <section class="card message" id="set-up" aria-labelledby="title" data-tokens="/admin/v1/tokens" \
        data-missing="\(self.words(.secretMissing))" \
        data-spent="\(self.words(.linkSpent))" \
        data-failed="\(self.words(.serverUnreachable))">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">\(self.words(.setUpServer))</h1>
        <p class="lead">\(self.words(.tokenLead))</p>
        <noscript><p class="notice">\
        \(self.words(.needsScript(command: "<code>countersign admin login</code>")))</p></noscript>
        <p class="notice bad" id="problem" role="alert" hidden data-testid="error"></p>
        <div class="actions" id="start" hidden>
        <button type="button" id="create" data-testid="create-token">\(self.words(.createToken))</button>
        </div>
        <div class="paper" id="done" hidden>
        <h2 id="done-title" tabindex="-1">\(self.words(.yourToken))</h2>
        <code class="secret" id="token" data-testid="admin-token"></code>
        <p>\(self.words(.useInShell))</p>
        <pre><code id="lines"></code></pre>
        <p><button type="button" class="quiet" data-copy="lines" hidden>\(self.words(.copyLines))</button> \
        <span class="small" id="copied" role="status"></span></p>
        <p class="notice">\(self.words(.keepToken))</p>
        </div>
        </section>
        {{/main}}{{/frame}}
        """
    }

    private var device: String {
        """
        {{<frame}}{{$main}}
        <section class="card message" aria-labelledby="title" data-testid="device">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">\(self.words(.device))</h1>
        <p class="lead" id="hint">\(self.words(.typeDeviceCode))</p>
        {{#problem}}<p class="notice bad" id="problem" role="alert" data-testid="problem">{{.}}</p>{{/problem}}
        {{#reference}}<p class="reference small">\(self.words(.helpNumber("<code>{{.}}</code>")))</p>{{/reference}}
        <form class="entry" method="post" action="/device">
        <label for="user-code">\(self.words(FieldText.code))</label>
        <input id="user-code" name="user_code" value="{{code}}" type="text" autocomplete="off" autocapitalize="characters" \
        spellcheck="false" required maxlength="64"{{#problem}} aria-invalid="true"{{/problem}} \
        aria-describedby="{{#problem}}problem {{/problem}}hint">
        <button type="submit" data-testid="continue">\(self.words(.continueOn))</button>
        </form>
        <p class="small">\(self.words(.deviceWarning))</p>
        </section>
        {{/main}}{{/frame}}
        """
    }

    private var deviceConfirmation: String {
        """
        {{<frame}}{{$main}}
        <section class="card message" aria-labelledby="title" data-testid="device-confirmation">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">\(self.words(.isThisYourDevice))</h1>
        <p class="lead">\
        \(self.words(.deviceWants(client: "<bdi>{{clientName}}</bdi>", username: "<bdi>{{username}}</bdi>")))</p>
        <dl class="facts">
        <div><dt>\(self.words(FieldText.code))</dt><dd><code data-testid="user-code">{{code}}</code></dd></div>
        <div><dt>\(self.words(.service))</dt><dd data-testid="service"><bdi>{{clientName}}</bdi></dd></div>
        <div><dt>\(self.words(.itsAddress))</dt><dd data-testid="origin">{{clientOrigin}}</dd></div>
        </dl>
        <form class="actions" method="post" action="/device/confirm">
        <input type="hidden" name="request" value="{{requestID}}">
        <input type="hidden" name="client" value="{{client}}">
        <input type="hidden" name="confirmation" value="{{formToken}}">
        <button type="submit" data-testid="confirm">\(self.words(.yesSignIn))</button>
        </form>
        <form class="actions" method="post" action="/sign-in/cancel">
        <input type="hidden" name="request" value="{{requestID}}">
        <input type="hidden" name="client" value="{{client}}">
        <button type="submit" class="quiet" data-testid="refuse">\(self.words(.no))</button>
        </form>
        </section>
        {{/main}}{{/frame}}
        """
    }

    // MARK: - Words

    func words(_ text: SharedText) -> String { Self.markup(self.language.words(text)) }
    func words(_ text: FieldText) -> String { Self.markup(self.language.words(text)) }
    func words(_ text: SignInText) -> String { Self.markup(self.language.words(text)) }
    func words(_ text: DecisionText) -> String { Self.markup(self.language.words(text)) }
    func words(_ text: OpeningText) -> String { Self.markup(self.language.words(text)) }
    func words(_ text: IdentityText) -> String { Self.markup(self.language.words(text)) }
    func words(_ text: ActivationText) -> String { Self.markup(self.language.words(text)) }
    func words(_ text: ChangeText) -> String { Self.markup(self.language.words(text)) }

    /// Returns a sentence as a part of a template. The values of the sentence are parts of the template already.
    private static func markup(_ sentence: Sentence) -> String {
        sentence.parts.reduce(into: "") { markup, part in
            switch part {
            case .words(let words): markup += escapedForHTML(words)
            case .value(let value): markup += value
            }
        }
    }
}
