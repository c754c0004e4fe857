import Accounts
import CeremonyEngine
import CountersignServer
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Records
import Testing
import _Primitives

/// Services of personalised identities, and the people who come to them.
extension ServerFixture {
    /// A service that says of itself what is given.
    func service(_ profile: JSONObject) async throws -> RelyingParty {
        let party = try await self.relyingParty()
        _ = try await self.assembly.identities.setService(party.id, to: profile, by: "test")
        return party
    }

    /// Alice, who has two addresses and no first name.
    func createAlice(home: String, office: String) async throws {
        _ = try await self.assembly.directory.create(username: "alice", displayName: nil, by: "test")
        for (alias, address) in [("Home", home), ("Office", office)] {
            _ = try await self.assembly.identities.addValue(
                .init(attribute: "email", value: address, alias: alias, isVerified: true), to: "alice", by: "test")
        }
    }

    /// The name of a person's account in the store.
    func accountID(_ username: String = "alice") async throws -> String {
        try await self.assembly.directory.account(written: username).id
    }

    /// An activation of a person's, whose PIN is chosen.
    func offer(to username: String = "alice", pin: String) async throws -> ActivationOffer {
        try await self.assembly.ceremonies.identities.offers.offer(
            accountID: try await self.accountID(username), pin: pin, by: "test")
    }

    /// The page for newcomers that a service sends a browser to, and what its form has beside the address.
    func newcomersPage(_ browser: TestBrowser, _ party: RelyingParty) async throws -> (
        form: TestResponse, fields: String
    ) {
        let (_, sent) = try await self.signInPage(browser, party, "&prompt=create")
        let location = try #require(sent.headers[.location])
        return (try await browser.get(location), String(try #require(location.split(separator: "?").last)))
    }
}

extension TestResponse {
    /// Whether the phone has to confirm a change first.
    var asksForPhone: Bool {
        self.status == .seeOther && self.headers[.location]?.hasPrefix("/account/change/wait?request=") == true
    }

    /// The value of a hidden field; `nil` where the page has none.
    func field(_ name: String) -> String? {
        self.text.matches(of: /<input type="hidden" name="([^"]*)" value="([^"]*)">/)
            .first { $0.1 == name }.map { String($0.2) }
    }
}

extension TestBrowser {
    /// Goes on from the page that has waited for a confirmation.
    func changePage(after waiting: String) async throws -> TestResponse {
        let reference = try #require(waiting.split(separator: "=").last)
        let complete = try await self.get("/account/change/complete?request=\(reference)")
        return try await self.get(try #require(complete.headers[.location]))
    }

    /// Sends the form of an invitation's page, which has a PIN twice: the page of a code.
    func accept(_ invitation: TestResponse, pin: String, again: String? = nil) async throws -> TestResponse {
        try await self.post("/invitation", form: invitation.hiddenFields + "&pin=\(pin)&pin-again=\(again ?? pin)")
    }

    /// Opens the link that confirms an address, and sends the form that its page has for this browser.
    func confirmAddress(_ link: String) async throws -> TestResponse {
        let page = try await self.get("/account/address/confirm?link=\(link)")
        guard page.status == .ok else { return page }
        return try await self.post("/account/address/confirm", form: page.hiddenFields)
    }
}

extension JSON {
    /// A role of a service, in which people sign by the device and their PIN unless it says otherwise.
    static func role(
        _ id: String, _ name: String, isDefault: Bool = false, factors: [[String]] = [["pin", "device"]]
    ) -> JSON {
        var role: JSONObject = [
            "id": .string(id), "name": .string(name),
            "factors": .array(factors.map { way in JSON.array(way.map { JSON.string($0) }) }),
        ]
        if isDefault { role["default"] = .bool(true) }
        return .object(role)
    }

    /// The role of whoever has no other.
    static let resident = JSON.role("resident", "Resident", isDefault: true)
}

/// What tests of the pages of identities do in front of a whole server.
extension TerminalPhoneFixture {
    static let values = #"{"givenName":"Alice"}"#

    /// Signs the person of a phone in, in a browser of their own: for the first time, or when the service knows already what
    /// it asks for.
    func signedIn(_ browser: TestBrowser? = nil, isFirst: Bool = true) async throws -> TestBrowser {
        let browser = browser ?? TestBrowser(self.client)
        let (request, outcome) = try await self.signIn(
            isFirst ? ["--alias", "email=Office", "--value-stdin"] : [],
            lines: (isFirst ? [Self.values] : []) + ["258036"], in: browser)
        #expect(outcome.refusal == nil, "\(outcome.lines)")
        #expect(try await browser.get("/sign-in/complete?request=\(request)").status == .seeOther)
        return browser
    }

    /// Has a phone take the code of the sign-in page in a browser: the name of the page's request, and what it came to.
    func signIn(
        _ identity: [String] = [], lines: [String], named name: String = "", at party: RelyingParty? = nil,
        in browser: TestBrowser, _ more: String = ""
    ) async throws -> (request: String, outcome: Outcome) {
        let (request, page) = try await self.server.signInPage(browser, party ?? self.party, more)
        return (request, try await self.scan(try Self.code(on: page), identity, lines: lines, named: name))
    }

    /// Bob, signed in by a phone of his own in a browser of his own.
    func bobSignedIn() async throws -> TestBrowser {
        _ = try await self.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
        _ = try await self.server.assembly.identities.addValue(
            .init(attribute: "email", value: "bob@office.example", alias: "Office", isVerified: true), to: "bob",
            by: "test")
        let offer = try await self.server.offer(to: "bob", pin: "258036")
        #expect(try await self.enroll(offer.code, named: "-bob").refusal == nil)
        let browser = TestBrowser(self.client)
        let (request, outcome) = try await self.signIn(
            ["--value-stdin"], lines: [Self.values, "258036"], named: "-bob", in: browser)
        #expect(outcome.refusal == nil, "\(outcome.lines)")
        _ = try await browser.get("/sign-in/complete?request=\(request)")
        return browser
    }

    func post(_ path: String, _ fields: [String: String], _ browser: TestBrowser) async throws -> TestResponse {
        try await browser.post(path, form: PasswordPlace.form(fields))
    }

    /// Sends the form of a page as it stands there, with what a person enters. A change that the phone has to confirm is
    /// confirmed there.
    func fill(_ path: String, _ fields: [String: String], query: String = "", _ browser: TestBrowser) async throws
        -> TestResponse
    {
        var fields = fields
        fields["confirmation"] = try Self.confirmation(of: try await browser.get(path + query))
        let answer = try await self.post(path, fields, browser)
        guard answer.asksForPhone else { return answer }
        let page = try await self.confirm(answer, in: browser)
        fields["confirmation"] = try Self.confirmation(of: page)
        let change: String = try #require(page.field("change"))
        fields["change"] = change
        return try await self.post(path, fields, browser)
    }

    /// Has the phone confirm the change that a page asks for: the page on which the change is made then.
    func confirm(_ asked: TestResponse, in browser: TestBrowser, named name: String = "") async throws -> TestResponse {
        let waiting = try #require(asked.headers[.location])
        let page = try await browser.get(waiting)
        let outcome = try await self.scan(try Self.code(on: page), lines: ["258036"], named: name)
        #expect(outcome.refusal == nil, "\(outcome.lines)")
        #expect(try outcome.line("text").requiredString("text").hasPrefix("Change your account: "))
        return try await browser.changePage(after: waiting)
    }

    /// What a form of our pages carries as a sign that it stood there.
    static func confirmation(of page: TestResponse) throws -> String {
        String(try #require(page.text.firstMatch(of: /name="confirmation" value="([^"]*)"/)).1)
    }

    /// Has a page make a code for another device.
    func makeCode(
        _ browser: TestBrowser, name: String = "Tablet", pin: String = "604817", again: String? = nil
    ) async throws -> TestResponse {
        try await self.fill("/account/activation", ["name": name, "pin": pin, "pin-again": again ?? pin], browser)
    }

    /// Where a page with a code asks what has become of it.
    static func address(_ page: TestResponse, _ path: String = "/activation") throws -> String {
        let (activation, ticket) = try (
            page.attribute("data-activation", of: "activation"), page.attribute("data-ticket", of: "activation")
        )
        return "\(path)?activation=\(activation)&ticket=\(ticket)"
    }

    func sendMail() async throws -> [OutboxResult] { try await self.server.sendMail(leavingOut: .accountChanged) }

    func enterAddress(_ address: String = "alice@post.example", isVerified: Bool = true) async throws {
        try await self.server.enterAddress(address, isVerified: isVerified)
    }
}

extension JSONObject {
    /// The objects that a member lists; none where there is no such member.
    func list(_ name: String) throws -> [JSONObject] {
        try (self.array(name) ?? []).compactMap { value in
            if case .object(let object) = value { object } else { nil }
        }
    }
}
