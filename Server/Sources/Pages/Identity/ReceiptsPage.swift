import Texts

/// The receipts of what a person has confirmed for services.
public struct ReceiptsPage: Sendable {
    /// A receipt.
    public struct Entry: Sendable {
        /// The identifier of the session in which the person confirmed.
        public var session: String
        /// The service that asked, as the person saw the name.
        public var service: String
        /// Scheme, host and port of the service.
        public var origin: String?
        /// The media type of the content.
        public var contentType: String
        /// The SHA-256 of the content, in base64url.
        public var contentHash: String
        /// The moment of the confirmation, as RFC 3339.
        public var moment: String
        /// The moment of the confirmation, as people read the time.
        public var shownMoment: String

        /// Describes a receipt.
        public init(
            session: String, service: String, origin: String?, contentType: String, contentHash: String,
            moment: String, shownMoment: String
        ) {
            self.session = session
            self.service = service
            self.origin = origin
            self.contentType = contentType
            self.contentHash = contentHash
            self.moment = moment
            self.shownMoment = shownMoment
        }
    }

    /// The receipts, the newest first.
    public var entries: [Entry]

    /// Creates a list.
    public init(entries: [Entry]) { self.entries = entries }
}

private struct ReceiptsView: PageView {
    struct Entry {
        let service: String
        let origin: String?
        let contentType: String
        let contentHash: String
        let moment: String
        let shownMoment: String
        let copy: String
    }

    let hasEntries: Bool
    let entries: [Entry]
    let back = IdentityPaths.overview

    static let template = "receipts"

    static func markup(_ words: TemplateWords) -> String {
        """
        {{<frame}}{{$main}}
        <section class="card account" aria-labelledby="title" data-testid="receipts">
        <h1 id="title">\(words(.receipts))</h1>
        <p class="lead">\(words(.receiptsLead))</p>
        {{#hasEntries}}<ul class="things">
        {{#entries}}
        <li data-testid="receipt">
        <p><strong><bdi>{{service}}</bdi></strong>{{#origin}} <span class="small"><bdi>{{.}}</bdi></span>{{/origin}}</p>
        <p class="small"><time datetime="{{moment}}">{{shownMoment}}</time> · {{contentType}}</p>
        <p class="small">\(words(.contentHash("<code>{{contentHash}}</code>")))</p>
        <p><a href="{{copy}}" data-testid="copy">\(words(.saveCopy))</a></p>
        </li>
        {{/entries}}
        </ul>{{/hasEntries}}
        {{^hasEntries}}<p class="small" data-testid="no-receipts">\(words(.nothingYet))</p>{{/hasEntries}}
        <p class="other"><a href="{{back}}" data-testid="back">\(words(.backToIdentity))</a></p>
        </section>
        {{/main}}{{/frame}}
        """
    }
}

extension ReceiptsPage: Page {
    /// Renders the list.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let view = ReceiptsView(
            hasEntries: !self.entries.isEmpty,
            entries: self.entries.map { entry in
                ReceiptsView.Entry(
                    service: entry.service, origin: entry.origin, contentType: entry.contentType,
                    contentHash: entry.contentHash, moment: entry.moment, shownMoment: entry.shownMoment,
                    copy: IdentityPaths.address(IdentityPaths.receiptCopy, "session", entry.session))
            })
        return renderer.render(view, title: renderer.language.words(.receipts))
    }
}
