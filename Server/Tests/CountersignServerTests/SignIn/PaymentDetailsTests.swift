import Ceremony
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import OAuth
import OAuthProvider
import Records
import Testing
import _Primitives

@Suite("Sign-in parity F110: a payment is agreed to with a sign-in (RFC 9396)")
struct PaymentDetailsTests {
    private static let details =
        #"[{"type":"payment","amount":"120.00","currency":"EUR","payee":"Lantern & Sons","iban":"DE89370400440532013000"}]"#
    private static let text = "Payment\nAmount: EUR 120.00\nTo: Lantern & Sons\nIBAN: DE89370400440532013000"

    private func address(_ party: RelyingParty, _ details: String) -> String {
        let parameters: OAuth.Parameters = ["authorization_details": details]
        return party.authorizeAddress("&" + parameters.encoded)
    }

    private func party(_ server: ServerFixture) async throws -> RelyingParty {
        let party = try await server.relyingParty()
        _ = try await server.assembly.provider.clients.change(
            party.id, ClientChange(profile: ClientProfileChange(detailTypes: ["payment"])))
        return party
    }

    @Test(
        "the page shows it, the phone shows the same and signs it, and the tokens say it, however it was spelled",
        arguments: [
            details,
            #"[{"iban":"de89 3704 0044 0532 0130 00","payee":" Lantern  & Sons","currency":"EUR","amount":"120","type":"payment"}]"#,
        ])
    func agreed(details: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await self.party(server)
            let phone = try await server.enrolledPhone(client)
            let browser = TestBrowser(client)
            let begun = try await browser.get(self.address(party, details))
            let request = try #require(begun.redirectParameters["request"])
            let page = try await browser.get(try #require(begun.headers[.location]))
            #expect(page.text.contains("data-testid=\"agreement\""))
            #expect(page.text.contains("EUR 120.00") && page.text.contains("Lantern &amp; Sons"))
            _ = try await phone.authenticate(try server.typedPayload(page))
            let shown = phone.person.asked.compactMap(\.transaction)
            #expect(!shown.isEmpty && shown.allSatisfy { $0 == Data(Self.text.utf8) })
            #expect(phone.person.asked.contains { $0.payment != nil })
            let completed = try await browser.get("/sign-in/complete?request=\(request)")
            let code = try #require(completed.redirectParameters["code"])
            let answer = try await party.exchange(code, client)
            #expect(answer.response.status == .ok)
            #expect(try answer.object["authorization_details"] == JSON(parsing: Self.details))
            // The session that is there now agrees to nothing.
            let again = try await browser.get(self.address(party, details))
            #expect(again.redirectParameters["request"] != nil)
        }
    }

    @Test(
        "a payment that cannot be shown, or that nobody could make, is refused at once",
        arguments: [
            ("120.00", "0.00"), ("EUR", "EURO"), ("DE89370400440532013000", "DE89370400440532013001"),
            (#""payee":"Lantern & Sons","#, ""), (#""payee""#, #""colour":"red","payee""#),
            ("Lantern & Sons", "Lantern\\nIBAN: X"), ("payment", "account_information"),
        ])
    func refused(part: String, other: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await self.party(server)
            let details = Self.details.replacing(part, with: other)
            let answer = try await TestBrowser(client).get(self.address(party, details))
            #expect(answer.redirectParameters["error"] == "invalid_authorization_details")
        }
    }

    @Test("what is kept of it cannot be read without the key")
    func sealed() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await self.party(server)
            let phone = try await server.enrolledPhone(client)
            let browser = TestBrowser(client)
            let begun = try await browser.get(self.address(party, Self.details))
            let request = try #require(begun.redirectParameters["request"])
            let page = try await browser.get(try #require(begun.headers[.location]))
            _ = try await phone.authenticate(try server.typedPayload(page))
            _ = try await browser.get("/sign-in/complete?request=\(request)")
        }
        var read = 0
        for file in try FileManager.default.subpathsOfDirectory(atPath: server.folder) {
            guard let bytes = FileManager.default.contents(atPath: "\(server.folder)/\(file)") else { continue }
            read += bytes.count
            for secret in ["Lantern & Sons", "DE89370400440532013000"] {
                #expect(bytes.range(of: Data(secret.utf8)) == nil, "\(file)")
            }
        }
        #expect(read > 100_000)
    }
}
