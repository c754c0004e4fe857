/// The templates, by name. Three braces stand only around this target's own drawings: marks, emblems and QR codes.
enum PageTemplates {
    static let all = [
        "frame": Self.frame, "sign-in": Self.signIn, "message": Self.message, "open": Self.open, "set-up": Self.setUp,
        "device": Self.device, "device-confirmation": Self.deviceConfirmation,
        "form": Self.form, "choice": Self.choice, "consent": Self.consent, "codes": Self.codes, "terms": Self.terms,
        "connection": Self.connection, "identity": Self.identity, "history": Self.history, "changes": Self.changes,
        "change-provider": Self.changeProvider,
        "activation": Self.activation,
    ]

    private static let frame = """
        <!doctype html>
        <html lang="en">
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
        <a class="skip" href="#main">Skip to content</a>
        <header class="top"><span class="brand">{{{mark}}}<span>{{serviceName}}</span></span></header>
        <main id="main" tabindex="-1">
        {{#content}}{{$main}}{{/main}}{{/content}}
        </main>
        <footer class="foot"><p>You are at <strong>{{host}}</strong>. Make sure that your browser shows the same.</p></footer>
        </body>
        </html>
        """

    private static let signIn = """
        {{<frame}}{{$main}}
        <section class="card sign-in{{#ended}} ended{{/ended}}" id="sign-in" aria-labelledby="title" \
        data-state="{{state}}" data-request="{{requestID}}"{{#client}} data-client="{{.}}"{{/client}}{{#matter}} data-matter="{{.}}"{{/matter}}\
        {{#codes}} data-seconds-left="{{secondsLeft}}"{{/codes}}>
        <div class="intro">
        <h1 id="title">{{#isChange}}Confirm on your phone{{/isChange}}{{^isChange}}Sign in to <bdi>{{clientName}}</bdi>{{/isChange}}</h1>
        <p class="state" id="state" role="status" data-testid="state" data-state="{{state}}">{{stateText}}</p>
        {{#agreement}}<p class="small">You agree to this on your phone, which shows the same:</p>
        <pre class="agreement" data-testid="agreement"><bdi>{{.}}</bdi></pre>{{/agreement}}
        </div>
        {{#codes}}
        <div class="stage waiting" id="stage">
        <p class="same-device"><span class="small">Reading this on your phone?</span> <a class="button" href="{{sameDeviceLink}}" data-testid="same-device-link" \
        rel="noreferrer">Open the app on this phone</a></p>
        <div class="code">
        <div class="qr" data-testid="qr-code">{{{qr}}}</div>
        <p class="expires" id="expires" role="timer" data-testid="expires">This code works for {{secondsLeft}} seconds.</p>
        <p class="renew"><a href="{{wait}}" data-testid="new-code">Show a new code</a></p>
        </div>
        <ol class="steps">
        <li><span>Open the authenticator app on your phone.</span></li>
        <li class="scan"><span>Scan the code in the app. Your phone’s own camera does not open it.</span></li>
        <li><span>Check that it names <bdi>{{clientName}}</bdi>, then confirm on the phone.</span></li>
        </ol>
        {{#typedCode}}<div class="typed">
        <h2>No camera, or the app is on another phone?</h2>
        <p class="small">Type this code into the app:</p>
        <p><code data-testid="typed-code">{{.}}</code></p>
        </div>{{/typedCode}}
        <div class="confirmed" id="confirmed">
        <p class="small">Have you confirmed on your phone? Then go on here.</p>
        <form method="get" action="{{path}}/wait">
        <input type="hidden" name="request" value="{{requestID}}">
        {{#client}}<input type="hidden" name="client" value="{{.}}">{{/client}}
        <button type="submit" class="quiet" data-testid="confirmed">I have confirmed on my phone</button>
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
        <p class="actions"><a class="button" href="{{.}}" data-testid="continue">Continue</a></p>
        {{/continueLink}}
        {{#retryLink}}
        <p class="actions"><a class="button" href="{{.}}" data-testid="retry">Try again</a></p>
        {{/retryLink}}
        {{#homeLink}}
        <p class="actions"><a class="button" href="{{.}}" data-testid="home">Go to <bdi>{{clientName}}</bdi></a></p>
        {{/homeLink}}
        {{#showsConfirmed}}
        <form method="get" action="{{path}}/wait" id="confirmed">
        <input type="hidden" name="request" value="{{requestID}}">
        {{#client}}<input type="hidden" name="client" value="{{.}}">{{/client}}
        <button type="submit" class="quiet" data-testid="confirmed">I have confirmed on my phone</button>
        </form>
        {{/showsConfirmed}}
        {{#reference}}
        <p class="small">If you ask for help, give this number: <code>{{.}}</code></p>
        {{/reference}}
        </div>
        </div>
        {{/codes}}
        {{#enrolment}}
        <div class="typed" data-testid="enrolment">
        <h2>Have you no account yet?</h2>
        <p class="small">{{how}}</p>
        {{#begin}}<p><a href="{{.}}" data-testid="begin-enrolment">Make an identity</a></p>{{/begin}}
        </div>
        {{/enrolment}}
        {{#otherWays}}
        <p class="other"><a href="{{.}}" data-testid="other-ways">Sign in another way</a></p>
        {{/otherWays}}
        {{#canLeave}}
        <form class="leave" id="leave" method="post" action="{{path}}/cancel">
        <input type="hidden" name="request" value="{{requestID}}">
        {{#client}}<input type="hidden" name="client" value="{{.}}">{{/client}}
        <button type="submit" class="quiet" data-testid="cancel"><span>{{#isChange}}Cancel{{/isChange}}\
        {{^isChange}}Cancel and go back to <bdi>{{clientName}}</bdi>{{/isChange}}</span></button>
        </form>
        {{/canLeave}}
        </section>
        {{/main}}{{/frame}}
        """

    private static let message = """
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
        <p><button type="button" class="quiet" data-copy="" hidden>Copy the address of this page</button> \
        <span class="small" id="copied" role="status"></span></p>
        {{/isAddressCopied}}
        {{#note}}
        <p class="small">{{.}}</p>
        {{/note}}
        {{#reference}}
        <p class="reference small">If you ask for help, give this number: <code>{{.}}</code></p>
        {{/reference}}
        </section>
        {{/main}}{{/frame}}
        """

    private static let form = """
        {{<frame}}{{$main}}
        <section class="card form" aria-labelledby="title" data-testid="{{testID}}">
        <h1 id="title">{{headline}}</h1>
        <p class="lead">{{lead}}</p>
        {{#problem}}
        <p class="notice bad" id="problem" role="alert" data-testid="problem">{{.}}</p>
        {{/problem}}
        {{#reference}}
        <p class="reference small">If you ask for help, give this number: <code>{{.}}</code></p>
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
        <button type="submit" class="quiet" data-testid="cancel"><span>Cancel and go back to \
        <bdi>{{clientName}}</bdi></span></button>
        </form>
        {{/leave}}
        </section>
        {{/main}}{{/frame}}
        """

    private static let codes = """
        {{<frame}}{{$main}}
        <section class="card form" aria-labelledby="title" data-testid="recovery-codes">
        <h1 id="title">Your recovery codes</h1>
        <p class="lead">Each stands in once for a code of your authenticator app. Keep them where you keep papers.</p>
        <ul class="codes">{{#codes}}<li><code>{{.}}</code></li>{{/codes}}</ul>
        <p class="notice">They are shown this once. Codes from before count no more.</p>
        </section>
        {{/main}}{{/frame}}
        """

    private static let choice = """
        {{<frame}}{{$main}}
        <section class="card form" aria-labelledby="title" data-testid="choice">
        <h1 id="title">{{#isChange}}Confirm on your phone{{/isChange}}{{^isChange}}Sign in to <bdi>{{clientName}}</bdi>{{/isChange}}</h1>
        <p class="lead">Choose how you show who you are.</p>
        <ul class="choice">
        {{#ways}}
        <li><a class="button{{#isQuiet}} quiet{{/isQuiet}}" href="{{target}}" data-testid="{{wayID}}">{{words}}</a></li>
        {{/ways}}
        </ul>
        {{#requestID}}
        <form class="leave" id="leave" method="post" action="/sign-in/cancel">
        <input type="hidden" name="request" value="{{.}}">
        {{#client}}<input type="hidden" name="client" value="{{.}}">{{/client}}
        <button type="submit" class="quiet" data-testid="cancel"><span>Cancel and go back to \
        <bdi>{{clientName}}</bdi></span></button>
        </form>
        {{/requestID}}
        </section>
        {{/main}}{{/frame}}
        """

    private static let consent = """
        {{<frame}}{{$main}}
        <section class="card message" aria-labelledby="title" data-testid="consent">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">May <bdi>{{clientName}}</bdi> have this?</h1>
        <p class="lead">You are signed in as <bdi>{{username}}</bdi>. The service at {{origin}} would get:</p>
        {{#isStranger}}<p class="notice bad" data-testid="stranger">The people who run this server do not know this service. \
        Anybody can offer such a service. Allow this only if you have come from it yourself, just now.</p>{{/isStranger}}
        <div class="paper">
        <ul data-testid="consent-items">
        {{#items}}<li>{{.}}</li>
        {{/items}}</ul>
        </div>
        {{#agreement}}<p class="small">And it would get this, which you have signed on your phone:</p>
        <pre class="agreement" data-testid="agreement"><bdi>{{.}}</bdi></pre>{{/agreement}}
        <form class="actions" method="post" action="/sign-in/consent">
        <input type="hidden" name="request" value="{{requestID}}">
        <input type="hidden" name="client" value="{{client}}">
        <input type="hidden" name="confirmation" value="{{confirmation}}">
        <button type="submit" name="decision" value="allow" data-testid="allow">Allow</button>
        <button type="submit" name="decision" value="deny" class="quiet" data-testid="deny">Do not allow</button>
        </form>
        <p class="small">{{#isStranger}}You are asked this each time. {{/isStranger}}\
        {{^isStranger}}{{^agreement}}You are asked this once. {{/agreement}}{{/isStranger}}You can take it back later: in your authenticator app, or by asking the \
        people who run this server.</p>
        </section>
        {{/main}}{{/frame}}
        """

    private static let terms = """
        {{<frame}}{{$main}}
        <section class="card message" aria-labelledby="title" data-testid="terms">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">The terms of use of {{operatorName}}</h1>
        <p class="lead">You are signed in as <bdi>{{username}}</bdi>. Before you go on to <bdi>{{clientName}}</bdi>, read the terms \
        and say whether you agree to them.</p>
        <p><a href="{{address}}" target="_blank" rel="noreferrer" data-testid="terms-link">Read the terms, version {{version}} (in a \
        new tab)</a></p>
        <form class="actions" method="post" action="/sign-in/consent">
        <input type="hidden" name="request" value="{{requestID}}">
        <input type="hidden" name="client" value="{{client}}">
        <input type="hidden" name="terms" value="{{version}}">
        <input type="hidden" name="confirmation" value="{{confirmation}}">
        <button type="submit" name="decision" value="allow" data-testid="allow">I agree</button>
        <button type="submit" name="decision" value="deny" class="quiet" data-testid="deny">I do not agree</button>
        </form>
        <p class="small">You are asked once for each version.</p>
        </section>
        {{/main}}{{/frame}}
        """

    private static let connection = """
        {{<frame}}{{$main}}
        <section class="card message" aria-labelledby="title" data-testid="connection">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">Let <bdi>{{provider}}</bdi> sign you in?</h1>
        <p class="lead">You are signed in as <bdi>{{username}}</bdi>. If you connect this account, whoever can sign in at \
        <bdi>{{provider}}</bdi> as you did just now can sign in to it from then on. {{#change}}You have confirmed \
        this.{{/change}}{{^change}}You are asked to confirm this first.{{/change}}</p>
        <form class="actions" method="post" action="/sign-in/consent">
        <input type="hidden" name="request" value="{{requestID}}">
        <input type="hidden" name="client" value="{{client}}">
        <input type="hidden" name="connection" value="{{name}}">
        <input type="hidden" name="confirmation" value="{{confirmation}}">
        {{#change}}<input type="hidden" name="change" value="{{.}}">{{/change}}
        <button type="submit" name="decision" value="allow" data-testid="allow">Connect</button>
        <button type="submit" name="decision" value="deny" class="quiet" data-testid="deny">Do not connect</button>
        </form>
        <p class="small">If you did not ask for this, do not connect: somebody else may have.</p>
        </section>
        {{/main}}{{/frame}}
        """

    private static let open = """
        {{<frame}}{{$main}}
        <section class="card message" aria-labelledby="title">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">Open this with your authenticator app</h1>
        <p class="lead">This address is meant for the app on your phone. You see it in a browser because no app on this device \
        has taken it.</p>
        <div class="paper">
        <ol class="steps">
        <li><span>Install the authenticator app that your service named, if it is not on this device yet.</span></li>
        <li><span>Open the address again. Or copy it, and paste it where the app asks for a link or a code.</span></li>
        <li><span>Check in the app who asks and what for, before you confirm.</span></li>
        </ol>
        <p class="notice">The address works once and for a short time. Do not send it to anybody.</p>
        <p><button type="button" class="quiet" data-copy="" hidden>Copy the address</button> \
        <span class="small" id="copied" role="status"></span></p>
        </div>
        </section>
        {{/main}}{{/frame}}
        """

    private static let setUp = """
        {{<frame}}{{$main}}
        <section class="card message" id="set-up" aria-labelledby="title" data-tokens="/admin/v1/tokens" \
        data-missing="This address has no secret in it. Open the whole link that the server printed. While there is no \
        administrator, it prints a new one when it starts." \
        data-spent="This link has been used, or its time is over. While there is no administrator, the server prints a new \
        one when it starts." data-failed="The server could not be reached. Open the link again in a moment.">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">Set up this server</h1>
        <p class="lead">You get a token with which the command line and scripts administer this server. It is shown once.</p>
        <noscript><p class="notice">This page needs JavaScript: without it a browser does not send the secret of the link. Run \
        <code>countersign admin login</code> instead, and give it the whole link.</p></noscript>
        <p class="notice bad" id="problem" role="alert" hidden data-testid="error"></p>
        <div class="actions" id="start" hidden>
        <button type="button" id="create" data-testid="create-token">Create the administrator token</button>
        </div>
        <div class="paper" id="done" hidden>
        <h2 id="done-title" tabindex="-1">Your token</h2>
        <code class="secret" id="token" data-testid="admin-token"></code>
        <p>To use it in a shell:</p>
        <pre><code id="lines"></code></pre>
        <p><button type="button" class="quiet" data-copy="lines" hidden>Copy these lines</button> \
        <span class="small" id="copied" role="status"></span></p>
        <p class="notice">Keep it like a password. Nobody can show it again; the link that brought you here is used up.</p>
        </div>
        </section>
        {{/main}}{{/frame}}
        """

    private static let device = """
        {{<frame}}{{$main}}
        <section class="card message" aria-labelledby="title" data-testid="device">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">Sign in on a device</h1>
        <p class="lead" id="hint">Type the code that the device shows. Small and capital letters are the same.</p>
        {{#problem}}<p class="notice bad" id="problem" role="alert" data-testid="problem">{{.}}</p>{{/problem}}
        {{#reference}}<p class="reference small">If you ask for help, give this number: <code>{{.}}</code></p>{{/reference}}
        <form class="entry" method="post" action="/device">
        <label for="user-code">Code</label>
        <input id="user-code" name="user_code" value="{{code}}" type="text" autocomplete="off" autocapitalize="characters" \
        spellcheck="false" required maxlength="64"{{#problem}} aria-invalid="true"{{/problem}} \
        aria-describedby="{{#problem}}problem {{/problem}}hint">
        <button type="submit" data-testid="continue">Continue</button>
        </form>
        <p class="small">Go on only where you have started this yourself, on a device that you can see. Who sends you a code \
        wants to be signed in as you.</p>
        </section>
        {{/main}}{{/frame}}
        """

    private static let deviceConfirmation = """
        {{<frame}}{{$main}}
        <section class="card message" aria-labelledby="title" data-testid="device-confirmation">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">Is this your device?</h1>
        <p class="lead">A device wants to be signed in to <bdi>{{clientName}}</bdi> as <bdi>{{username}}</bdi>. Say yes only \
        where it is in front of you and shows this code.</p>
        <dl class="facts">
        <div><dt>Code</dt><dd><code data-testid="user-code">{{code}}</code></dd></div>
        <div><dt>Service</dt><dd data-testid="service"><bdi>{{clientName}}</bdi></dd></div>
        <div><dt>Its address</dt><dd data-testid="origin">{{clientOrigin}}</dd></div>
        </dl>
        <form class="actions" method="post" action="/device/confirm">
        <input type="hidden" name="request" value="{{requestID}}">
        <input type="hidden" name="client" value="{{client}}">
        <input type="hidden" name="confirmation" value="{{formToken}}">
        <button type="submit" data-testid="confirm">Yes, sign the device in</button>
        </form>
        <form class="actions" method="post" action="/sign-in/cancel">
        <input type="hidden" name="request" value="{{requestID}}">
        <input type="hidden" name="client" value="{{client}}">
        <button type="submit" class="quiet" data-testid="refuse">No</button>
        </form>
        </section>
        {{/main}}{{/frame}}
        """
}
