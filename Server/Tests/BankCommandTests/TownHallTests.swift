import Foundation
import Synchronization
import Testing

@testable import BankCommand

@Suite("The example town hall shows the claims that a person has confirmed (OpenID Connect Core 1.0, section 5.3)")
struct TownHallTests {
    /// The desk of a person of whom the provider says this.
    private func desk(_ userinfo: [String: String?], _ test: @escaping @Sendable (BankFixture.Page) throws -> Void)
        async throws
    {
        try await BankFixture.run(as: .townHall) { house async throws in
            house.provider.state.withLock { $0.userinfo = userinfo }
            let answer = try await house.comeBack(try await house.beginSignIn())
            #expect(answer.location == "/desk")
            try test(try await house.get("/desk"))
        }
    }

    @Test func itAsksForTheClaimsOfPersonsAndTheirAddress() async throws {
        try await BankFixture.run(as: .townHall) { house async throws in
            #expect(try await house.beginSignIn().parameter("scope") == "openid profile email")
        }
    }

    @Test func whoHasNoIdentityIsSentAsSomebodyNew() async throws {
        try await BankFixture.run(as: .townHall) { house async throws in
            #expect(try await house.get("/").text.contains(#"name="newcomer" value="yes""#))
            #expect(try await house.beginSignIn(isNewcomer: true).parameter("prompt") == "create")
            #expect(try await house.beginSignIn().location?.contains("prompt=") == false)
        }
    }

    @Test func itShowsWhatItGotAndNothingElse() async throws {
        try await self.desk(["name": nil, "given_name": "Ada", "birthdate": "1990-04-01", "email": "ada@example.com"]) {
            page in
            #expect(page.status == 200 && page.text.contains("Good to see you, Ada."))
            #expect(page.text.contains(#"<dd data-testid="claim-birthdate">1990-04-01</dd>"#))
            #expect(page.text.contains(#"<dd data-testid="claim-email">ada@example.com</dd>"#))
            #expect(page.text.contains(#"data-testid="subject">s-1<"#))
            #expect(!page.text.contains("claim-family_name") && !page.text.contains("claim-sub"))
        }
    }

    @Test func whatItGotIsTextAndNoMarkup() async throws {
        try await self.desk(["given_name": "<script>x</script>", "name": "Ada & Co"]) { page in
            #expect(!page.text.contains("<script>x") && page.text.contains("&lt;script&gt;x"))
            #expect(page.text.contains("Ada &amp; Co"))
        }
    }

    @Test func aServiceThatAskedForNothingSaysSo() async throws {
        try await self.desk(["name": nil]) { page in
            #expect(page.text.contains(#"data-testid="no-claims""#) && page.text.contains("Good to see you, customer."))
        }
    }

    @Test func claimsOfSomebodyElseSignNobodyIn() async throws {
        try await BankFixture.run(as: .townHall) { house async throws in
            house.provider.state.withLock { $0.userinfo = ["sub": "s-2"] }
            #expect(try await house.comeBack(try await house.beginSignIn()).status == 400)
            #expect(try await house.get("/desk").location == "/")
        }
    }

    @Test func theDeskIsForThoseWhoAreSignedIn() async throws {
        try await BankFixture.run(as: .townHall) { house async throws in
            #expect(try await house.get("/desk").location == "/")
            #expect(try await house.get("/").text.contains("Lantern Street Town Hall"))
            #expect(try await house.get("/transfers/1").status == 404, "it has no accounts and no transfers")
        }
    }

    @Test func anAddressIsAnObjectOfTexts() throws {
        let document = #"{"sub":"s","address":{"formatted":"1 Lantern Street"},"age":7,"given_name":"Ada"}"#
        let info = try JSONDecoder().decode(UserInfo.self, from: Data(document.utf8))
        #expect(info.subject == "s")
        #expect(
            info.claims == [Claim(name: "address", text: "1 Lantern Street"), Claim(name: "given_name", text: "Ada")])
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(UserInfo.self, from: Data("{}".utf8)) }
    }
}
