/// The templates of the pages of personalised identities.
extension PageTemplates {
    static let identity = """
        {{<frame}}{{$main}}
        <section class="card account" aria-labelledby="title" data-testid="identity">
        <h1 id="title">Your identity</h1>
        <p class="lead">You are signed in as <bdi data-testid="name">{{name}}</bdi>. Nobody but you sees this page.</p>
        <h2>Your devices</h2>
        {{#hasDevices}}<ul class="things">
        {{#devices}}
        <li data-testid="activation">
        <p><strong><bdi>{{deviceName}}</bdi></strong> <span class="small">{{factors}}</span></p>
        <p class="small">{{times}}</p>
        {{#trouble}}<p class="notice bad" data-testid="trouble">{{.}}</p>{{/trouble}}
        <p><a href="{{rename}}" data-testid="rename">Rename</a> · <a href="{{end}}" data-testid="end">{{endWords}}</a></p>
        </li>
        {{/devices}}
        </ul>{{/hasDevices}}
        {{^hasDevices}}<p class="small" data-testid="no-activations">No device is personalised for you.</p>{{/hasDevices}}
        {{#hasOffers}}<h2>Codes that wait for a device</h2>
        <ul class="things">
        {{#offers}}
        <li data-testid="offer"><p><bdi>{{offerName}}</bdi> <span class="small">{{until}}</span></p>
        <p><a href="{{withdraw}}" data-testid="withdraw">Take it back</a></p></li>
        {{/offers}}
        </ul>{{/hasOffers}}
        <p class="actions"><a class="button" href="{{add}}" data-testid="add">Personalise another device</a></p>
        <h2>What services can ask for</h2>
        {{#hasValues}}<dl class="facts">
        {{#values}}
        <div data-testid="value"><dt>{{attribute}}: <bdi>{{alias}}</bdi></dt><dd><bdi>{{value}}</bdi></dd>\
        {{#remark}}<dd class="small">{{.}}</dd>{{/remark}}\
        <dd class="small"><a href="{{renameValue}}" data-testid="rename-value">Rename</a> · \
        <a href="{{removeValue}}" data-testid="remove-value">Remove</a></dd></div>
        {{/values}}
        </dl>{{/hasValues}}
        {{^hasValues}}<p class="small">Nothing. A service that needs something asks you for it in the app.</p>{{/hasValues}}
        <p class="other"><a href="{{addEmail}}" data-testid="add-email">Add an e-mail address</a> · \
        <a href="{{addPhone}}" data-testid="add-phone">Add a phone number</a></p>
        {{#hasAddresses}}<h2>Your further e-mail addresses</h2>
        <ul class="things">
        {{#addresses}}
        <li data-testid="address"><p><bdi>{{address}}</bdi> <span class="small" data-testid="address-state">\
        {{addressState}}</span></p>
        {{#proof}}<form method="post" action="{{addressPath}}"><input type="hidden" name="confirmation" value="{{.}}">\
        <input type="hidden" name="address" value="{{addressID}}">\
        <button type="submit" class="quiet" data-testid="confirm-address">Mail me a link to confirm it</button></form>\
        {{/proof}}
        <p><a href="{{removeAddress}}" data-testid="remove-address">Remove</a></p>
        </li>
        {{/addresses}}
        </ul>{{/hasAddresses}}
        <h2>Your services</h2>
        {{#hasServices}}<dl class="facts">
        {{#services}}
        <div data-testid="service"><dt><bdi>{{serviceName}}</bdi></dt><dd data-testid="roles"><bdi>{{roles}}</bdi></dd>\
        {{#choices}}<dd class="small" data-testid="choices"><bdi>{{.}}</bdi></dd>{{/choices}}\
        {{#forget}}<dd class="small"><a href="{{.}}" data-testid="forget">Ask me again</a></dd>{{/forget}}</div>
        {{/services}}
        </dl>{{/hasServices}}
        {{^hasServices}}<p class="small">You have not been to any.</p>{{/hasServices}}
        {{#organisations}}<h2>Your organisations</h2>
        <p data-testid="organisations"><bdi>{{.}}</bdi></p>{{/organisations}}
        <p class="other"><a href="{{history}}" data-testid="history">What your identity was used for</a></p>
        <p class="other"><a href="{{changes}}" data-testid="changes">Changes of your account</a></p>
        <p class="other"><a href="\(SignOutQuestionPage.path)" data-testid="sign-out">Sign out</a></p>
        </section>
        {{/main}}{{/frame}}
        """

    static let changes = """
        {{<frame}}{{$main}}
        <section class="card account" aria-labelledby="title" data-testid="changes">
        <h1 id="title">Changes of your account</h1>
        <p class="lead">The latest of the last seven days. If one was not you, say so: it rests then.</p>
        {{#hasDelayed}}<h2>Waiting</h2>
        <p class="small">Another provider has confirmed these. Stop what you did not ask for.</p>
        <ul class="things">
        {{#delayed}}
        <li data-testid="delayed">
        <p><strong><bdi>{{what}}</bdi></strong></p>
        <p class="small">Can be made from <time datetime="{{moment}}">{{shownMoment}}</time> on</p>
        {{#target}}<p><a href="{{.}}" data-testid="go-on">Go on in the browser that asked</a></p>{{/target}}
        <form method="post" action="{{stop}}">
        <input type="hidden" name="request" value="{{reference}}"><input type="hidden" name="confirmation" value="{{confirmation}}">
        <button type="submit" class="quiet" data-testid="stop">Stop this change</button>
        </form>
        </li>
        {{/delayed}}
        </ul>{{/hasDelayed}}
        {{#hasChanges}}<ul class="things">
        {{#changes}}
        <li data-testid="change" data-id="{{changeID}}">
        <p><strong><bdi>{{what}}</bdi></strong></p>
        <p class="small">{{state}} · <time datetime="{{moment}}">{{shownMoment}}</time></p>
        {{#question}}<p><a href="{{target}}" data-testid="question">{{question}}</a></p>{{/question}}
        </li>
        {{/changes}}
        </ul>{{/hasChanges}}
        {{^hasChanges}}<p class="small" data-testid="no-changes">Nothing was changed.</p>{{/hasChanges}}
        <p class="other"><a href="{{back}}" data-testid="back">Back to your identity</a></p>
        </section>
        {{/main}}{{/frame}}
        """

    static let changeProvider = """
        {{<frame}}{{$main}}
        <section class="card form" aria-labelledby="title" data-testid="change-provider">
        <h1 id="title">Confirm this change</h1>
        <p class="lead">{{text}}</p>
        {{#problem}}<p class="notice bad" id="problem" role="alert" data-testid="problem">{{.}}</p>{{/problem}}
        {{#reference}}<p class="reference small">If you ask for help, give this number: <code>{{.}}</code></p>{{/reference}}
        <p>You have no phone and no password here. The provider that signs you in asks who you are once more.</p>
        {{#hours}}<p data-testid="wait">The change can then be made after {{.}} hours, in this browser. Until then you can stop it \
        on every page where you are signed in.</p>{{/hours}}
        {{#providers}}
        <form method="post" action="{{action}}">
        <input type="hidden" name="request" value="{{request}}"><input type="hidden" name="confirmation" value="{{confirmation}}">
        <input type="hidden" name="provider" value="{{name}}">
        <button type="submit" data-testid="by-{{name}}">Confirm by <bdi>{{title}}</bdi></button>
        </form>
        {{/providers}}
        <p class="other"><a href="{{back}}" data-testid="back">Back to your identity</a></p>
        </section>
        {{/main}}{{/frame}}
        """

    static let history = """
        {{<frame}}{{$main}}
        <section class="card account" aria-labelledby="title" data-testid="history">
        <h1 id="title">What your identity was used for</h1>
        <p class="lead">The newest is at the top. What you do not know was somebody else: end the devices that are not yours.</p>
        {{#hasEntries}}<ul class="things">
        {{#entries}}
        <li data-testid="entry" data-outcome="{{outcome}}">
        <p><strong>{{what}}</strong>{{#service}}: <bdi>{{.}}</bdi>{{/service}}\
        {{#role}} <span class="small">as <bdi>{{.}}</bdi></span>{{/role}}</p>
        <p class="small">{{came}} · <time datetime="{{moment}}">{{shownMoment}}</time></p>
        </li>
        {{/entries}}
        </ul>{{/hasEntries}}
        {{^hasEntries}}<p class="small" data-testid="no-entries">{{nothing}}</p>{{/hasEntries}}
        {{#older}}<p class="other"><a href="{{.}}" data-testid="older">Older</a></p>{{/older}}
        {{#newest}}<p class="other"><a href="{{.}}" data-testid="newest">The newest</a></p>{{/newest}}
        {{#hasAgreements}}<h2>What you have agreed to</h2>
        <ul class="things">
        {{#agreements}}
        <li data-testid="agreement">
        <p><strong>{{agreedWhat}}</strong>: <bdi>{{asker}}</bdi> \
        <span class="small">as <bdi>{{agreedRole}}</bdi></span></p>
        {{#given}}<p class="small" data-testid="given">It got: <bdi>{{.}}</bdi></p>{{/given}}
        {{#agreedText}}<p class="small" data-testid="agreed-text"><bdi>{{.}}</bdi></p>{{/agreedText}}
        <p class="small"><time datetime="{{agreedMoment}}">{{shownAgreedMoment}}</time></p>
        </li>
        {{/agreements}}
        </ul>{{/hasAgreements}}
        <p class="other"><a href="{{back}}" data-testid="back">Back to your identity</a></p>
        </section>
        {{/main}}{{/frame}}
        """

    /// The template of a code's page. The template has the layout and the styles of the sign-in page.
    static let activation = """
        {{<frame}}{{$main}}
        <section class="card sign-in" id="activation" aria-labelledby="title" data-activation="{{activation}}" \
        data-ticket="{{ticket}}" data-seconds-left="{{secondsLeft}}" data-testid="activation">
        <div class="intro">
        <h1 id="title">Personalise your device</h1>
        <p class="state" id="state" role="status" data-testid="state" data-state="waiting">Waiting for your device</p>
        </div>
        <div class="stage waiting" id="stage">
        <p class="same-device"><span class="small">Is this the device?</span> <a class="button" href="{{link}}" \
        data-testid="same-device-link" rel="noreferrer">Open the app on this device</a></p>
        <div class="code">
        <div class="qr" data-testid="qr-code">{{{qr}}}</div>
        <p class="expires" id="expires" role="timer" data-testid="expires">{{until}}</p>
        <p class="renew"><a href="{{renew}}" data-testid="new-code">Make another code</a></p>
        </div>
        <ol class="steps">
        <li><span>Open the app on the device that is to be yours.</span></li>
        <li class="scan"><span>Scan the code in the app, and show it to nobody: it is made once, and not shown again.</span></li>
        <li><span>Type the PIN that you have just chosen. Then the app asks for the one that it is to have.</span></li>
        {{#merges}}<li><span>Do you have an app here already? Scan the code with that one: your identity gets what you are \
        invited to, and no second one is made.</span></li>{{/merges}}
        </ol>
        <div class="typed">
        <h2>No camera?</h2>
        <p class="small">Take this text to the app instead:</p>
        <p class="long"><code id="code" data-testid="typed-code">{{code}}</code></p>
        <p><button type="button" class="quiet" data-copy="code" hidden>Copy</button> <span id="copied" role="status"></span></p>
        </div>
        <div class="confirmed" id="confirmed">
        <p class="small">Has the app said that the device is yours? Then go on here.</p>
        <form method="get" action="/activation">
        <input type="hidden" name="activation" value="{{activation}}">
        <input type="hidden" name="ticket" value="{{ticket}}">
        <button type="submit" class="quiet" data-testid="confirmed">The device is personalised</button>
        </form>
        </div>
        </div>
        </section>
        {{/main}}{{/frame}}
        """
}
