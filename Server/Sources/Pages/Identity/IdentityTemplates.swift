import Texts

/// The templates of the pages of personalised identities.
extension PageTemplates {
    var identity: String {
        """
        {{<frame}}{{$main}}
        <section class="card account" aria-labelledby="title" data-testid="identity">
        <h1 id="title">\(self.words(.yourIdentity))</h1>
        <p class="lead">\(self.words(.signedInAs(username: "<bdi data-testid=\"name\">{{name}}</bdi>"))) \
        \(self.words(.nobodyElseSees))</p>
        <h2>\(self.words(.yourDevices))</h2>
        {{#hasDevices}}<ul class="things">
        {{#devices}}
        <li data-testid="activation">
        <p><strong><bdi>{{deviceName}}</bdi></strong> <span class="small">{{factors}}</span></p>
        <p class="small">{{times}}</p>
        {{#trouble}}<p class="notice bad" data-testid="trouble">{{.}}</p>{{/trouble}}
        <p><a href="{{rename}}" data-testid="rename">\(self.words(.rename))</a> · <a href="{{end}}" data-testid="end">{{endWords}}</a></p>
        </li>
        {{/devices}}
        </ul>{{/hasDevices}}
        {{^hasDevices}}<p class="small" data-testid="no-activations">\(self.words(.noDevice))</p>{{/hasDevices}}
        {{#hasOffers}}<h2>\(self.words(.waitingCodes))</h2>
        <ul class="things">
        {{#offers}}
        <li data-testid="offer"><p><bdi>{{offerName}}</bdi> <span class="small">{{until}}</span></p>
        <p><a href="{{withdraw}}" data-testid="withdraw">\(self.words(.takeBack))</a></p></li>
        {{/offers}}
        </ul>{{/hasOffers}}
        <p class="actions"><a class="button" href="{{add}}" data-testid="add">\(self.words(.anotherDevice))</a></p>
        <h2>\(self.words(.values))</h2>
        {{#hasValues}}<dl class="facts">
        {{#values}}
        <div data-testid="value"><dt>{{attribute}}: <bdi>{{alias}}</bdi></dt><dd><bdi>{{value}}</bdi></dd>\
        {{#remark}}<dd class="small">{{.}}</dd>{{/remark}}\
        <dd class="small"><a href="{{renameValue}}" data-testid="rename-value">\(self.words(.rename))</a> · \
        <a href="{{removeValue}}" data-testid="remove-value">\(self.words(.remove))</a></dd></div>
        {{/values}}
        </dl>{{/hasValues}}
        {{^hasValues}}<p class="small">\(self.words(.noValue))</p>{{/hasValues}}
        <p class="other"><a href="{{addEmail}}" data-testid="add-email">\(self.words(.addEmail))</a> · \
        <a href="{{addPhone}}" data-testid="add-phone">\(self.words(.addPhone))</a></p>
        {{#hasAddresses}}<h2>\(self.words(.furtherAddresses))</h2>
        <ul class="things">
        {{#addresses}}
        <li data-testid="address"><p><bdi>{{address}}</bdi> <span class="small" data-testid="address-state">\
        {{addressState}}</span></p>
        {{#proof}}<form method="post" action="{{addressPath}}"><input type="hidden" name="confirmation" value="{{.}}">\
        <input type="hidden" name="address" value="{{addressID}}">\
        <button type="submit" class="quiet" data-testid="confirm-address">\(self.words(.mailLink))</button></form>\
        {{/proof}}
        <p><a href="{{removeAddress}}" data-testid="remove-address">\(self.words(.remove))</a></p>
        </li>
        {{/addresses}}
        </ul>{{/hasAddresses}}
        <h2>\(self.words(.yourServices))</h2>
        {{#hasServices}}<dl class="facts">
        {{#services}}
        <div data-testid="service"><dt><bdi>{{serviceName}}</bdi></dt><dd data-testid="roles"><bdi>{{roles}}</bdi></dd>\
        {{#choices}}<dd class="small" data-testid="choices"><bdi>{{.}}</bdi></dd>{{/choices}}\
        {{#forget}}<dd class="small"><a href="{{.}}" data-testid="forget">\(self.words(.askAgain))</a></dd>{{/forget}}</div>
        {{/services}}
        </dl>{{/hasServices}}
        {{^hasServices}}<p class="small">\(self.words(.noService))</p>{{/hasServices}}
        {{#organisations}}<h2>\(self.words(.yourOrganisations))</h2>
        <p data-testid="organisations"><bdi>{{.}}</bdi></p>{{/organisations}}
        <p class="other"><a href="{{history}}" data-testid="history">\(self.words(.history))</a></p>
        <p class="other"><a href="{{changes}}" data-testid="changes">\(self.words(.changes))</a></p>
        <p class="other"><a href="\(SignOutQuestionPage.path)" data-testid="sign-out">\(self.words(.signOut))</a></p>
        </section>
        {{/main}}{{/frame}}
        """
    }

    var changes: String {
        """
        {{<frame}}{{$main}}
        <section class="card account" aria-labelledby="title" data-testid="changes">
        <h1 id="title">\(self.words(.changes))</h1>
        <p class="lead">\(self.words(.changesLead))</p>
        {{#hasDelayed}}<h2>\(self.words(ChangeText.waiting))</h2>
        <p class="small">\(self.words(.waitingLead))</p>
        <ul class="things">
        {{#delayed}}
        <li data-testid="delayed">
        <p><strong><bdi>{{what}}</bdi></strong></p>
        <p class="small">\
        \(self.words(.canBeMade(from: "<time datetime=\"{{moment}}\">{{shownMoment}}</time>")))</p>
        {{#target}}<p><a href="{{.}}" data-testid="go-on">\(self.words(.goOnHere))</a></p>{{/target}}
        <form method="post" action="{{stop}}">
        <input type="hidden" name="request" value="{{reference}}"><input type="hidden" name="confirmation" value="{{confirmation}}">
        <button type="submit" class="quiet" data-testid="stop">\(self.words(.stop))</button>
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
        {{^hasChanges}}<p class="small" data-testid="no-changes">\(self.words(.nothingChanged))</p>{{/hasChanges}}
        <p class="other"><a href="{{back}}" data-testid="back">\(self.words(.backToIdentity))</a></p>
        </section>
        {{/main}}{{/frame}}
        """
    }

    var changeProvider: String {
        """
        {{<frame}}{{$main}}
        <section class="card form" aria-labelledby="title" data-testid="change-provider">
        <h1 id="title">\(self.words(.confirmThisChange))</h1>
        <p class="lead">{{text}}</p>
        {{#problem}}<p class="notice bad" id="problem" role="alert" data-testid="problem">{{.}}</p>{{/problem}}
        {{#reference}}<p class="reference small">\(self.words(.helpNumber("<code>{{.}}</code>")))</p>{{/reference}}
        <p>\(self.words(.noPhoneNoPassword))</p>
        {{#wait}}<p data-testid="wait">{{.}}</p>{{/wait}}
        {{#providers}}
        <form method="post" action="{{action}}">
        <input type="hidden" name="request" value="{{request}}"><input type="hidden" name="confirmation" value="{{confirmation}}">
        <input type="hidden" name="provider" value="{{name}}">
        <button type="submit" data-testid="by-{{name}}">\(self.words(.confirmBy(provider: "<bdi>{{title}}</bdi>")))</button>
        </form>
        {{/providers}}
        <p class="other"><a href="{{back}}" data-testid="back">\(self.words(.backToIdentity))</a></p>
        </section>
        {{/main}}{{/frame}}
        """
    }

    var history: String {
        """
        {{<frame}}{{$main}}
        <section class="card account" aria-labelledby="title" data-testid="history">
        <h1 id="title">\(self.words(.history))</h1>
        <p class="lead">\(self.words(.historyLead))</p>
        {{#hasEntries}}<ul class="things">
        {{#entries}}
        <li data-testid="entry" data-outcome="{{outcome}}">
        <p><strong>{{what}}</strong>{{#service}}: <bdi>{{.}}</bdi>{{/service}}\
        {{#role}} <span class="small">\(self.words(.role("<bdi>{{.}}</bdi>")))</span>{{/role}}</p>
        <p class="small">{{came}} · <time datetime="{{moment}}">{{shownMoment}}</time></p>
        </li>
        {{/entries}}
        </ul>{{/hasEntries}}
        {{^hasEntries}}<p class="small" data-testid="no-entries">{{nothing}}</p>{{/hasEntries}}
        {{#older}}<p class="other"><a href="{{.}}" data-testid="older">\(self.words(.older))</a></p>{{/older}}
        {{#newest}}<p class="other"><a href="{{.}}" data-testid="newest">\(self.words(.newest))</a></p>{{/newest}}
        {{#hasAgreements}}<h2>\(self.words(.agreed))</h2>
        <ul class="things">
        {{#agreements}}
        <li data-testid="agreement">
        <p><strong>{{agreedWhat}}</strong>: <bdi>{{asker}}</bdi> \
        <span class="small">\(self.words(.role("<bdi>{{agreedRole}}</bdi>")))</span></p>
        {{#given}}<p class="small" data-testid="given">\(self.words(.given("<bdi>{{.}}</bdi>")))</p>{{/given}}
        {{#agreedText}}<p class="small" data-testid="agreed-text"><bdi>{{.}}</bdi></p>{{/agreedText}}
        <p class="small"><time datetime="{{agreedMoment}}">{{shownAgreedMoment}}</time></p>
        </li>
        {{/agreements}}
        </ul>{{/hasAgreements}}
        <p class="other"><a href="{{back}}" data-testid="back">\(self.words(.backToIdentity))</a></p>
        </section>
        {{/main}}{{/frame}}
        """
    }

    /// The template of a code's page. The template has the layout and the styles of the sign-in page.
    var activation: String {
        """
        {{<frame}}{{$main}}
        <section class="card sign-in" id="activation" aria-labelledby="title" data-activation="{{activation}}" \
        data-ticket="{{ticket}}" data-seconds-left="{{secondsLeft}}" data-testid="activation">
        <div class="intro">
        <h1 id="title">\(self.words(.personaliseDevice))</h1>
        <p class="state" id="state" role="status" data-testid="state" data-state="waiting">\(self.words(.waitingForDevice))</p>
        </div>
        <div class="stage waiting" id="stage">
        <p class="same-device"><span class="small">\(self.words(.isThisTheDevice))</span> <a class="button" href="{{link}}" \
        data-testid="same-device-link" rel="noreferrer">\(self.words(ActivationText.openAppHere))</a></p>
        <div class="code">
        <div class="qr" data-testid="qr-code">{{{qr}}}</div>
        <p class="expires" id="expires" role="timer" data-testid="expires">{{until}}</p>
        <p class="renew"><a href="{{renew}}" data-testid="new-code">\(self.words(.makeAnotherCode))</a></p>
        </div>
        <ol class="steps">
        <li><span>\(self.words(ActivationText.openApp))</span></li>
        <li class="scan"><span>\(self.words(ActivationText.scanCode))</span></li>
        <li><span>\(self.words(.typePIN))</span></li>
        {{#merges}}<li><span>\(self.words(.mergeCode))</span></li>{{/merges}}
        </ol>
        <div class="typed">
        <h2>\(self.words(ActivationText.noCamera))</h2>
        <p class="small">\(self.words(.takeText))</p>
        <p class="long"><code id="code" data-testid="typed-code">{{code}}</code></p>
        <p><button type="button" class="quiet" data-copy="code" hidden>\(self.words(.copy))</button> <span id="copied" role="status"></span></p>
        </div>
        <div class="confirmed" id="confirmed">
        <p class="small">\(self.words(.isDoneQuestion))</p>
        <form method="get" action="/activation">
        <input type="hidden" name="activation" value="{{activation}}">
        <input type="hidden" name="ticket" value="{{ticket}}">
        <button type="submit" class="quiet" data-testid="confirmed">\(self.words(.isDone))</button>
        </form>
        </div>
        </div>
        </section>
        {{/main}}{{/frame}}
        """
    }
}
