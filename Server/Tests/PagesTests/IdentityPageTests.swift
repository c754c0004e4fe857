import Pages
import Testing

@Suite("Pages of personalised identities")
struct IdentityPageTests {
    private let renderer = PageRenderer(serviceName: "Example ID", host: "id.example.com", heartbeat: .seconds(15))
    private static let hostile = "<b>\"x\u{301}\" {{name}}"
    private static let escaped = "&lt;b&gt;&quot;x\u{301}&quot; {{name}}"

    private static func matter(_ name: String = "Club") -> InvitationMatter {
        InvitationMatter(organisation: name, place: (service: name, role: name), until: "2026-01-31 12:34 UTC")
    }

    private static func code(_ text: String = "eyJhbGciOiJFUzI1NiJ9.e30.c2ln~c2VjcmV0") -> ActivationCodePage {
        ActivationCodePage(
            activation: "act/1", ticket: "ticket", code: text, link: "https://id.example.com/open#\(text)",
            secondsLeft: 900, until: "2026-01-31 12:34 UTC", renewal: "/account/activation", merges: true)
    }

    private static func identity(_ name: String = "alice") -> IdentityPage {
        var page = IdentityPage(name: name)
        page.devices = [
            .init(
                id: "a/1", name: name, factors: [.pin], since: "dawn", used: nil, lockedUntil: "noon", isDisabled: false
            ),
            .init(id: "a/2", name: name, factors: [.pin], since: "dawn", used: nil, lockedUntil: nil, isDisabled: true),
        ]
        page.offers = [.init(id: "o/1", name: nil, until: "noon"), .init(id: "o/2", name: name, until: "noon")]
        page.values = [
            .init(id: "v/1", attribute: "email", alias: name, value: name, isPrimary: true, isVerified: false)
        ]
        page.services = [
            .init(id: "s/1", name: name, roles: [name], choices: [NamedValue(attribute: "email", alias: name)]),
            .init(id: "s/2", name: name, roles: [], choices: []),
        ]
        page.organisations = [name]
        page.addresses = [
            .init(id: "m/1", address: name, isVerified: false), .init(id: "m/2", address: name, isVerified: true),
        ]
        page.confirmation = "token"
        return page
    }

    private static func history(_ name: String = "Bank") -> IdentityHistoryPage {
        IdentityHistoryPage(entries: [
            .init(
                what: .signIn, service: name, role: name, outcome: .finished, moment: "2026-01-31T12:34:00.000Z",
                shownMoment: "2026-01-31 12:34 UTC"),
            .init(
                what: .anotherPIN, service: nil, role: nil, outcome: .failed, moment: "2026-01-31T12:34:00.000Z",
                shownMoment: "2026-01-31 12:34 UTC"),
        ])
    }

    private static func receipts(_ name: String = "Bank") -> ReceiptsPage {
        ReceiptsPage(
            entries: [name, "Shop"].map { service in
                .init(
                    session: "s/1", service: service, origin: service == name ? "https://bank.example" : nil,
                    contentType: "text/plain", contentHash: "c2hh", moment: "2026-01-31T12:34:00.000Z",
                    shownMoment: "2026-01-31 12:34 UTC")
            })
    }

    /// Each of them, with a name that somebody has chosen.
    static func every(_ renderer: PageRenderer, named name: String = "Club") throws -> [RenderedPage] {
        let end = EndActivationPage(id: "a/1", name: name, isOffer: false, isLast: true, confirmation: "token")
        let own: [RenderedPage] = [
            try renderer.html(Self.code()), renderer.html(Self.identity(name)),
            renderer.html(IdentityPage(name: name)), renderer.html(Self.history(name)),
            renderer.html(IdentityHistoryPage(entries: [])), renderer.html(end),
            renderer.html(Self.receipts(name)), renderer.html(ReceiptsPage(entries: [])),
            renderer.html(
                RenameActivationPage(id: "a/1", name: name, confirmation: "token", refusedBeyond: 128)),
            renderer.html(
                ForgetChoicePage(
                    id: "s/1", service: name, choices: [NamedValue(attribute: "email", alias: name)],
                    confirmation: "token")),
            renderer.html(OwnValuePage(.email, confirmation: "token")),
            renderer.html(OwnValuePage(.email, confirmation: "token", sendsMail: false)),
            renderer.html(OwnValuePage(.phone, confirmation: "token", value: name, problem: .invalid)),
            renderer.html(RenameValuePage(id: "v/1", attribute: "email", alias: name, confirmation: "token")),
            renderer.html(
                RemoveValuePage(id: "v/1", attribute: "email", alias: name, services: [name], confirmation: "token")),
            renderer.html(RemoveAddressPage(id: "m/1", address: name, isVerified: true, confirmation: "token")),
        ]
        let offered: [RenderedPage] = [
            renderer.html(
                ActivationRequestPage(proof: .confirmation("token", change: "ch"), digits: 5...32, problem: .notTheSame)
            ),
            renderer.html(
                ActivationRequestPage(
                    proof: .invitation(link: "a.b", to: Self.matter(name), action: "/invitation"), digits: 5...32)),
            renderer.html(
                AcceptInvitationPage(
                    link: "a.b", matter: Self.matter(name), username: name, confirmation: "token",
                    action: "/invitation")),
            renderer.html(InvitationElsewherePage(Self.matter(name), signedInAs: name, home: nil)),
            renderer.html(
                NewcomerPage(frame: SignInFrame(requestID: "r/1", clientName: name, client: name), isNoAddress: true)),
            renderer.html(InvitedNewcomerPage(frame: SignInFrame(requestID: "r/1", clientName: name, client: name))),
        ]
        let states: [ActivationStatePage] = [
            .waiting(again: "/account/activation"), .done(home: nil), .done(home: (name, "https://club.example/")),
            .over(again: "/account/activation"),
        ]
        return own + offered + states.map { renderer.html($0) }
    }

    @Test("Whoever has a device by an invitation is led to its service, and everybody else to their identity")
    func homes() {
        for (home, target) in [(("Club", "https://club.example/"), "https://club.example/"), (nil, "/account")] {
            let page = self.renderer.html(ActivationStatePage.done(home: home))
            #expect(page.html.contains("href=\"\(target)\""))
            #expect(page.html.contains("Go to Club") == (home != nil))
        }
    }

    @Test("What people, operators and services are called is escaped on every page, and no tag of theirs is one")
    func escaping() throws {
        for page in try Self.every(self.renderer, named: Self.hostile) {
            #expect(!page.html.contains("<b>") && !page.html.contains("{{name}} {{"))
        }
        for page in [
            self.renderer.html(Self.identity(Self.hostile)), self.renderer.html(Self.history(Self.hostile)),
            self.renderer.html(Self.receipts(Self.hostile)),
        ] {
            #expect(page.html.contains(Self.escaped))
        }
    }

    @Test("A value that is missing is not one from further out: each part shows what is its own")
    func innerValues() {
        let page = self.renderer.html(Self.identity("zoe")).html
        #expect(page.matches(of: /data-testid="trouble"/).count == 2)
        #expect(page.contains("Rests until noon") && page.contains("Disabled: it signs nobody in any more"))
        #expect(page.matches(of: /data-testid="choices"/).count == 1)
        #expect(page.contains("<bdi>A device</bdi>") && page.contains("no role"))
        #expect(page.contains("href=\"/account/activation/end?activation=a%2F1\""))
        #expect(page.contains("href=\"/account/activation/name?activation=a%2F1\""))
        #expect(page.contains("href=\"/account/choice?service=s%2F1\""))
        #expect(page.contains("href=\"/account/value/name?value=v%2F1\""))
        #expect(page.contains("href=\"/account/value/remove?value=v%2F1\""))
        #expect(page.contains("href=\"/account/address/remove?address=m%2F2\""))
        #expect(page.contains("href=\"/account/value/email\"") && page.contains("href=\"/account/value/phone\""))
        #expect(page.matches(of: /data-testid="forget"/).count == 1, "where something is chosen")
        #expect(page.matches(of: /data-testid="confirm-address"/).count == 1, "of the one that is not confirmed")
        #expect(page.contains("action=\"/account/address\"") && page.contains("name=\"address\" value=\"m/1\""))
        var silent = Self.identity("zoe")
        silent.confirmation = nil
        #expect(!self.renderer.html(silent).html.contains("confirm-address"), "where no mail is sent")
        let history = self.renderer.html(Self.history("zoe")).html
        #expect(history.matches(of: /as <bdi>/).count == 1 && history.matches(of: /: <bdi>/).count == 1)
        let receipts = self.renderer.html(Self.receipts("zoe")).html
        #expect(receipts.matches(of: /https:\/\/bank\.example/).count == 1)
        #expect(receipts.matches(of: /href="\/account\/receipts\/copy\?session=s%2F1"/).count == 2)
        #expect(receipts.contains("SHA-256 of the content: <code>c2hh</code>"))
        #expect(self.renderer.html(ReceiptsPage(entries: [])).html.contains("Nothing yet."))
        let empty = self.renderer.html(IdentityPage(name: "zoe")).html
        #expect(empty.contains("No device is personalised for you.") && !empty.contains("Codes that wait"))
    }

    @Test(
        "The page of a code has it as a picture, as a link and as text, works without script, and says how it goes on")
    func code() throws {
        let page = try self.renderer.html(Self.code()).html
        let text = "eyJhbGciOiJFUzI1NiJ9.e30.c2ln~c2VjcmV0"
        #expect(page.contains("href=\"https://id.example.com/open#\(text)\"") && page.contains("rel=\"noreferrer\""))
        #expect(page.contains("data-testid=\"typed-code\">\(text)</code>"))
        #expect(page.contains("<form method=\"get\" action=\"/activation\">"))
        #expect(page.contains("<input type=\"hidden\" name=\"ticket\" value=\"ticket\">"))
        #expect(page.contains("This code works until 2026-01-31 12:34 UTC."))
        #expect(page.contains("href=\"/account/activation\" data-testid=\"new-code\""))
        let start = try #require(page.firstRange(of: "data-testid=\"qr-code\">")).upperBound
        let drawn = try pixels(ofSVG: String(page[start...]), scale: 4)
        #expect(decodedQRCodes(grey: drawn.pixels, width: drawn.side, height: drawn.side) == [text])
    }

    @Test("No page of an identity is a dead end")
    func wayOn() throws {
        for page in try Self.every(self.renderer) {
            #expect(page.html.contains(/<main[\s\S]*(<a [^>]*href="[^"#]|<button)[\s\S]*<\/main>/))
        }
    }
}
