import Accounts
import CeremonyEngine
import CountersignServer
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Store
import Testing
import _Primitives

/// What tests of the pages of identities do in front of a whole server.
extension TerminalPhoneFixture {
    static let values = #"{"givenName":"Alice"}"#

    /// Signs the person of a phone in, in a browser of their own: for the first time, or when the service knows already what
    /// it asks for.
    func signedIn(_ browser: TestBrowser? = nil, isFirst: Bool = true) async throws -> TestBrowser {
        let browser = browser ?? TestBrowser(self.client)
        let (request, page) = try await self.server.signInPage(browser, self.party)
        let outcome = try await self.scan(
            try Self.code(on: page), isFirst ? ["--alias", "email=Office", "--value-stdin"] : [],
            lines: (isFirst ? [Self.values] : []) + ["258036"])
        #expect(outcome.refusal == nil, "\(outcome.lines)")
        #expect(try await browser.get("/sign-in/complete?request=\(request)").status == .seeOther)
        return browser
    }

    func post(_ path: String, _ fields: [String: String], _ browser: TestBrowser) async throws -> TestResponse {
        try await browser.post(path, form: PasswordPlace.form(fields))
    }

    /// What a form of our pages carries as a sign that it stood there.
    static func confirmation(of page: TestResponse) throws -> String {
        String(try #require(page.text.firstMatch(of: /name="confirmation" value="([^"]*)"/)).1)
    }

    /// Has a page make a code for another device.
    func makeCode(
        _ browser: TestBrowser, name: String = "Tablet", pin: String = "604817", again: String? = nil
    ) async throws -> TestResponse {
        let form = try await browser.get("/account/activation")
        return try await self.post(
            "/account/activation",
            [
                "confirmation": try Self.confirmation(of: form), "name": name, "pin": pin, "pin-again": again ?? pin,
            ], browser)
    }

    /// Where a page with a code asks what has become of it.
    static func address(_ page: TestResponse, _ path: String = "/activation") throws -> String {
        let (activation, ticket) = try (
            page.attribute("data-activation", of: "activation"), page.attribute("data-ticket", of: "activation")
        )
        return "\(path)?activation=\(activation)&ticket=\(ticket)"
    }

    /// Sends what is due, as a node does, and says what became of it.
    func sendMail() async throws -> [MailResult] {
        let deliverer = try #require(self.server.mailDeliverer)
        var results: [MailResult] = []
        for delivery in try await deliverer.takeDue() {
            results.append(try await deliverer.deliveries.deliver(delivery))
        }
        return results
    }

    /// Says that an address is alice's.
    func enterAddress(_ address: String = "alice@post.example", isVerified: Bool = true) async throws {
        _ = try await self.server.assembly.directory.setEmail(
            AccountEmail(address: address, isVerified: isVerified), username: "alice", by: "test")
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
