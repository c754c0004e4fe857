import Accounts
import CountersignServer
import CountersignTestKit
import Endpoints
import FreshStores
import Hummingbird
import HummingbirdTesting
import Logging
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("A refused password has a number on its page, its account in the log, and an entry of the trail (decision 95)")
struct RefusedAttemptTests {
    private static func reference(_ response: TestResponse) throws -> String {
        let text = String(buffer: response.body)
        let match = try #require(text.firstMatch(of: #/give this number: <code>([0-9A-Z]{4}-[0-9A-Z]{4})<\/code>/#))
        return String(match.1)
    }

    private static func entries(_ place: PasswordPlace) async throws -> [AuditEvent] {
        try await place.server.auditEvents(AuditEvent.Kind(rawValue: "password-refused"))
    }

    @Test(
        "the number is the one of the log's line, which has the account; the page of a name that nobody has is the same"
    )
    func pageAndLog() async throws {
        let server = try await ServerFixture(hashing: .cheap)
        _ = try await server.assembly.directory.create(username: "alice", displayName: nil, by: "test")
        try await PasswordDirectory(server.assembly.passwords).importHash(
            try await PasswordPlace.hash(PasswordPlace.password), username: "alice", by: "test")
        let account = try await server.assembly.directory.account(username: "alice").id
        let pages = Pages()
        let lines = try await server.requestLines { client in
            let place = PasswordPlace(
                server: server, client: client, party: try await server.relyingParty(signInMethods: ["password"]),
                browser: TestBrowser(client))
            let request = try await place.begin()
            for name in ["alice", "nobody"] {
                let answer = try await place.show("wrong", as: name, request)
                let number = try Self.reference(answer)
                let page = String(buffer: answer.body).replacing(number, with: "N").replacing(
                    "\"\(name)\"", with: "NAME")
                await pages.add(number, page)
            }
        }
        let refused = lines.filter { $0["error"] != nil }
        #expect(refused.map { $0["error"]?.description } == ["password-wrong", "password-unknown-name"])
        #expect(await refused.map { $0["reference"]?.description } == pages.numbers)
        #expect(refused.map { $0["account"]?.description } == [account, nil])
        let texts = await pages.texts
        #expect(texts.count == 2 && texts[0] == texts[1])
        // The metrics have the log's word.
        let numbers = server.assembly.configuration.metrics.registry.text
        #expect(numbers.contains("countersign_password_attempts_total{verdict=\"password-wrong\"} 1"))
        #expect(numbers.contains("countersign_refusals_total{code=\"password-wrong\"} 1"))
    }

    private actor Pages {
        private(set) var numbers: [String?] = []
        private(set) var texts: [String] = []

        func add(_ number: String, _ text: String) {
            self.numbers.append(number)
            self.texts.append(text)
        }
    }

    @Test(
        "the trail has one entry for an account in a while, with how often it was, and no step of an attempt writes it")
    func trail() async throws {
        try await PasswordPlace.run { place in
            let account = try await place.server.assembly.directory.account(username: "alice").id
            let passwords = place.server.assembly.passwords
            let request = try await place.begin()
            for name in ["alice", "alice", "nobody", "alice"] {
                #expect(try await place.show("wrong", as: name, request).status == .forbidden)
            }
            #expect(try await Self.entries(place).isEmpty)
            try await passwords.writeRefusals()
            let entries = try await Self.entries(place)
            #expect(Set(entries.map(\.accountID)) == [account, nil] && entries.count == 2)
            #expect(entries.first { $0.accountID == account }?.detail == "password-wrong 3")
            #expect(entries.first { $0.accountID == nil }?.detail == "password-unknown-name 1")
            // Within the pause the next ones are counted.
            for _ in 0..<2 { _ = try await place.show("wrong", request) }
            try await passwords.writeRefusals()
            #expect(try await Self.entries(place).count == 2)
            place.server.clock.advance(by: Limits().passwords.refusalPause)
            try await passwords.writeRefusals()
            #expect(try await Self.entries(place).map(\.detail).last == "password-wrong 2")
            // What is over is forgotten; the process's end writes what is left.
            _ = try await place.show("wrong", try await place.begin())
            try await passwords.writeRefusals(all: true)
            #expect(try await Self.entries(place).count == 4)
            try await passwords.writeRefusals(all: true)
            #expect(try await Self.entries(place).count == 4)
        }
    }

    @Test("refusals that the store does not take stay, and are in the trail at the next time")
    func failingStore() async throws {
        try await PasswordPlace.run { place in
            let passwords = place.server.assembly.passwords
            let request = try await place.begin()
            for name in ["alice", "nobody"] { _ = try await place.show("wrong", as: name, request) }
            place.server.hooks.failNext(.auditEvent, with: StoreError(.unavailable, "as the test wants it"))
            await #expect(throws: StoreError.self) { try await passwords.writeRefusals() }
            #expect(try await Self.entries(place).isEmpty)
            _ = try await place.show("wrong", request)
            try await passwords.writeRefusals()
            let details = try await Self.entries(place).compactMap(\.detail)
            #expect(details.sorted() == ["password-unknown-name 1", "password-wrong 2"])
            try await passwords.writeRefusals(all: true)
            #expect(try await Self.entries(place).count == 2)
        }
    }

    @Test("a wrong code is in the same entry, and its page has a number, too")
    func codes() async throws {
        try await PasswordPlace.run { place in
            _ = try await place.giveSecondFactor()
            let request = try await place.begin()
            _ = try await place.show(PasswordPlace.password, request)
            let answer = try await place.post("/sign-in/code", ["request": request, "code": "000000"])
            #expect(answer.status == .forbidden)
            _ = try Self.reference(answer)
            try await place.server.assembly.passwords.writeRefusals()
            #expect(try await Self.entries(place).map(\.detail) == ["code-wrong 1"])
        }
    }

    @Test(
        "a link that opens nothing any more is told with the number of the log's line",
        arguments: [
            "/account/reset?link=x", "/account/address/confirm?link=x", "/invitation?link=x",
            "/account/changes/question?link=x",
        ])
    func links(address: String) async throws {
        let server = try await ServerFixture()
        let pages = Pages()
        let lines = try await server.requestLines { client in
            await pages.add(try Self.reference(try await TestBrowser(client).get(address)), "")
        }
        #expect(await lines.map { $0["reference"]?.description } == pages.numbers)
        #expect(["link-over", "invitation-over"].contains(lines.first?["error"]?.description))
    }

    @Test("an attempt at an account and one at a name that nobody has are as many steps of the store")
    func steps() async throws {
        try await PasswordPlace.run { place in
            let request = try await place.begin()
            var entries: [Int] = []
            for name in ["alice", "nobody"] {
                let before = try await place.trail().count
                _ = try await place.show("wrong", as: name, request)
                entries.append(try await place.trail().count - before)
            }
            #expect(entries == [0, 0])
        }
    }
}
