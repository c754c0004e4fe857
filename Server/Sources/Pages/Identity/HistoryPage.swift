import Texts

/// The uses of an identity.
public struct IdentityHistoryPage: Sendable {
    /// The purpose of a session.
    public enum Purpose: Sendable {
        case changeOfAccount, signIn, signInOfApp, addedFactor, anotherPIN, codeForDevice, endOfIdentity, merge
        /// A purpose without words, by its own name.
        case named(String)
    }

    /// An ended session. The entry does not name the factors.
    public struct Entry: Sendable {
        /// The result of a session: `failed` also if its time was over, and `aborted` if it was given up.
        public enum Outcome: String, Sendable { case finished, failed, aborted }

        /// The purpose of the session.
        public var what: Purpose
        /// The service.
        public var service: String?
        /// The role at the service.
        public var role: String?
        /// The result of the session.
        public var outcome: Outcome
        /// The moment of the session, as RFC 3339.
        public var moment: String
        /// The moment of the session, as people read the time.
        public var shownMoment: String

        /// Describes a session.
        public init(
            what: Purpose, service: String?, role: String?, outcome: Outcome, moment: String, shownMoment: String
        ) {
            self.what = what
            self.service = service
            self.role = role
            self.outcome = outcome
            self.moment = moment
            self.shownMoment = shownMoment
        }
    }

    /// An agreement of the person in a session.
    public struct Agreement: Sendable {
        /// The purpose of the session.
        public var what: Purpose
        /// The service that asked, as the person saw the name.
        public var service: String
        /// The role at the service, as the person saw the role.
        public var role: String
        /// The values that went to the service.
        public var values: [NamedValue]
        /// A further text that the person agreed to.
        public var text: String?
        /// The moment of the agreement, as RFC 3339.
        public var moment: String
        /// The moment of the agreement, as people read the time.
        public var shownMoment: String

        /// Describes an agreement.
        public init(
            what: Purpose, service: String, role: String, values: [NamedValue], text: String?, moment: String,
            shownMoment: String
        ) {
            self.what = what
            self.service = service
            self.role = role
            self.values = values
            self.text = text
            self.moment = moment
            self.shownMoment = shownMoment
        }
    }

    /// The sessions, the newest first.
    public var entries: [Entry]
    /// The agreements of the person, the newest first.
    public var agreements: [Agreement]
    /// The number of the oldest session on this page; older sessions exist before the number. `nil` if the page ends
    /// with the oldest session.
    public var older: Int64?
    /// `true` if the page leaves newer sessions out.
    public var isContinued: Bool

    /// Creates a history.
    public init(entries: [Entry], agreements: [Agreement] = [], older: Int64? = nil, isContinued: Bool = false) {
        self.entries = entries
        self.agreements = agreements
        self.older = older
        self.isContinued = isContinued
    }
}

private struct HistoryView: PageView {
    struct Entry {
        let what: String
        let service: String?
        let role: String?
        let outcome: String
        let came: Sentence
        let moment: String
        let shownMoment: String
    }

    struct Agreement {
        let agreedWhat: String
        let asker: String
        let agreedRole: String
        let given: String?
        let agreedText: String?
        let agreedMoment: String
        let shownAgreedMoment: String
    }

    let hasEntries: Bool
    let entries: [Entry]
    let hasAgreements: Bool
    let agreements: [Agreement]
    let nothing: Sentence
    let older: String?
    let newest: String?
    let back = IdentityPaths.overview

    static let template = "history"

    static func markup(_ words: TemplateWords) -> String {
        """
        {{<frame}}{{$main}}
        <section class="card account" aria-labelledby="title" data-testid="history">
        <h1 id="title">\(words(.history))</h1>
        <p class="lead">\(words(.historyLead))</p>
        {{#hasEntries}}<ul class="things">
        {{#entries}}
        <li data-testid="entry" data-outcome="{{outcome}}">
        <p><strong>{{what}}</strong>{{#service}}: <bdi>{{.}}</bdi>{{/service}}\
        {{#role}} <span class="small">\(words(.role("<bdi>{{.}}</bdi>")))</span>{{/role}}</p>
        <p class="small">{{came}} · <time datetime="{{moment}}">{{shownMoment}}</time></p>
        </li>
        {{/entries}}
        </ul>{{/hasEntries}}
        {{^hasEntries}}<p class="small" data-testid="no-entries">{{nothing}}</p>{{/hasEntries}}
        {{#older}}<p class="other"><a href="{{.}}" data-testid="older">\(words(.older))</a></p>{{/older}}
        {{#newest}}<p class="other"><a href="{{.}}" data-testid="newest">\(words(.newest))</a></p>{{/newest}}
        {{#hasAgreements}}<h2>\(words(.agreed))</h2>
        <ul class="things">
        {{#agreements}}
        <li data-testid="agreement">
        <p><strong>{{agreedWhat}}</strong>: <bdi>{{asker}}</bdi> \
        <span class="small">\(words(.role("<bdi>{{agreedRole}}</bdi>")))</span></p>
        {{#given}}<p class="small" data-testid="given">\(words(.given("<bdi>{{.}}</bdi>")))</p>{{/given}}
        {{#agreedText}}<p class="small" data-testid="agreed-text"><bdi>{{.}}</bdi></p>{{/agreedText}}
        <p class="small"><time datetime="{{agreedMoment}}">{{shownAgreedMoment}}</time></p>
        </li>
        {{/agreements}}
        </ul>{{/hasAgreements}}
        <p class="other"><a href="{{back}}" data-testid="back">\(words(.backToIdentity))</a></p>
        </section>
        {{/main}}{{/frame}}
        """
    }
}

extension IdentityHistoryPage: Page {
    /// Renders a history.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let view = HistoryView(
            hasEntries: !self.entries.isEmpty,
            entries: self.entries.map { entry in
                let came: IdentityText =
                    switch entry.outcome {
                    case .finished: .finished
                    case .failed: .failed
                    case .aborted: .aborted
                    }
                return HistoryView.Entry(
                    what: entry.what.words(in: renderer.language), service: entry.service, role: entry.role,
                    outcome: entry.outcome.rawValue, came: renderer.language.words(came), moment: entry.moment,
                    shownMoment: entry.shownMoment)
            }, hasAgreements: !self.agreements.isEmpty,
            agreements: self.agreements.map { agreement in
                HistoryView.Agreement(
                    agreedWhat: agreement.what.words(in: renderer.language), asker: agreement.service,
                    agreedRole: agreement.role,
                    given: agreement.values.isEmpty
                        ? nil : agreement.values.map { $0.words(in: renderer.language) }.joined(separator: ", "),
                    agreedText: agreement.text, agreedMoment: agreement.moment,
                    shownAgreedMoment: agreement.shownMoment)
            }, nothing: renderer.language.words(self.isContinued ? .nothingOlder : .nothingYet),
            older: self.older.map { IdentityPaths.address(IdentityPaths.history, "before", "\($0)") },
            newest: self.isContinued ? IdentityPaths.history : nil)
        return renderer.render(view, title: renderer.language.words(.history))
    }
}

extension IdentityHistoryPage.Purpose {
    /// Returns the purpose in words of a language.
    fileprivate func words(in language: any Language) -> String {
        switch self {
        case .changeOfAccount: language.words(.changeOfAccount).plain
        case .signIn: language.words(.signIn).plain
        case .signInOfApp: language.words(.signInOfApp).plain
        case .addedFactor: language.words(.addedFactor).plain
        case .anotherPIN: language.words(.anotherPIN).plain
        case .codeForDevice: language.words(.codeForDevice).plain
        case .endOfIdentity: language.words(.endOfIdentity).plain
        case .merge: language.words(.merge).plain
        case .named(let name): name
        }
    }
}
