import Accounts
import CeremonyEngine
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import HummingbirdTesting
import Records
import SQLStore
import Testing
import _Primitives

@testable import PhoneCommand

@Suite("Decision 121: a person sees on the terminal phone what they confirmed, and saves the copies")
struct TerminalReceiptsTests {
    private static let pin = "604817"
    private static let text = "Call 1"

    /// Runs a test with a phone whose person has confirmed a text for the call centre.
    private static func run(_ test: @escaping @Sendable (TerminalPhoneFixture, _ folder: String) async throws -> Void)
        async throws
    {
        let folder = NSTemporaryDirectory() + "receipts-" + RandomSource.system.token(byteCount: 8)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await TerminalPhoneFixture.run { fixture async throws in
            try await fixture.enrolForOperations(pin: Self.pin)
            #expect(try await fixture.receipts("alice").lines.count == 1, "nothing is confirmed yet")
            _ = try await CallCentre(fixture.server, fixture.client).begin()
            let approved = try await fixture.inbox("alice", "--approve", "--pin", Self.pin)
            #expect(approved.refusal == nil)
            try await test(fixture, folder)
        }
    }

    @Test("receipts lists what was confirmed without a PIN, and a denied question leaves nothing")
    func listed() async throws {
        try await Self.run { fixture, _ async throws in
            _ = try await CallCentre(fixture.server, fixture.client).begin()
            #expect(try await fixture.inbox("alice", "--deny").reason == "denied")
            let outcome = try await fixture.receipts("alice")
            #expect(outcome.refusal == nil && outcome.lines.count == 2)
            let receipt = try outcome.line("receipt")
            #expect(try receipt.string("service") == "Call Centre")
            #expect(try receipt.string("origin") == "https://calls.example")
            #expect(try receipt.string("contentType") == "text/plain")
            #expect(try receipt.strings("methods")?.contains("pin") == true)
            #expect(receipt["file"] == nil)
            #expect(try outcome.line("finished").string("outcome") == "listed")
            #expect(try outcome.line("finished").string("account") == "alice")
        }
    }

    @Test("The saved file verifies as a copy with evidence, is for its owner alone, and is replaced by a later run")
    func saved() async throws {
        try await Self.run { fixture, folder async throws in
            let outcome = try await fixture.receipts("alice", "--save", folder)
            let receipt = try outcome.line("receipt")
            let file = try receipt.requiredString("file")
            #expect(file == "\(folder)/receipt-\(try receipt.requiredString("id")).json")
            let copy = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
            let keys = try await fixture.client.send(.get, "/receipts/keys").object
            let verified = try ReceiptVerification(keys: JSON.object(keys).serialized)
                .verify(copy, content: Array(Self.text.utf8))
            #expect(verified.hasEvidence && !verified.needsTrail)
            #expect(try verified.claims.string("transaction_hash") == receipt.string("contentHash"))
            let moment = Timestamp(milliseconds: try verified.claims.requiredInteger("iat", as: Int64.self) * 1000)
            #expect(try receipt.string("at") == moment.description)
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
            let again = try await fixture.receipts("alice", "--save", folder)
            #expect(again.refusal == nil)
            #expect(Array(try Data(contentsOf: URL(fileURLWithPath: file))) == copy)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
        }
    }

    @Test("A folder that cannot be made is a refusal before the server is asked, and so is a stranger's name")
    func refused() async throws {
        try await Self.run { fixture, folder async throws in
            _ = FileManager.default.createFile(atPath: folder, contents: Data())
            let before = fixture.answers.count
            let outcome = try await fixture.receipts("alice", "--save", folder)
            #expect(outcome.reason == "not-saved" && outcome.refusal?.status == .refused)
            #expect(try await fixture.receipts("bob").reason == "no-such-account")
            #expect(fixture.answers.count == before)
        }
    }

    @Test("A phone that was taken away is told nothing")
    func takenAway() async throws {
        try await Self.run { fixture, folder async throws in
            let directory = fixture.server.assembly.directory
            let account = try await directory.account(written: "alice")
            for device in try await fixture.server.database.devices(accountID: account.id) {
                try await directory.deleteDevice(id: device.id, by: "test")
            }
            let outcome = try await fixture.receipts("alice", "--save", folder)
            #expect(outcome.refusal != nil && outcome.lines.isEmpty)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
    }
}
