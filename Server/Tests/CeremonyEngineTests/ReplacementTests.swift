import Accounts
import CeremonyEngine
import Foundation
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite("decision 18: an enrolment over spent keys retires its own device, once it is confirmed, and no other")
struct ReplacementTests {
    /// A phone that keeps its secrets, one for each enrolment.
    private struct Phone {
        let key: TestPhone
        let secret: String
        let enrolment: EnrolmentLink
        let number: String
    }

    private static func newSecret() -> String { Base64URL.encode(RandomSource.system.bytes(32)) }

    private static func claim(_ secrets: [String], _ keys: [TestPhone]) -> JSON {
        .object([
            "secrets": .array(secrets.map { .string($0) }),
            "keys": .array(
                keys.map { .object(["aaid": .string($0.aaid.text), "keyID": .string($0.keyID.base64URL)]) }),
        ])
    }

    /// Enrols until the number is to be given.
    private func pending(
        _ server: TestServer, _ username: String = "alice", claiming claim: JSON? = nil, name: String = "A phone",
        secret: String = Self.newSecret()
    ) async throws -> Phone {
        _ = try? await server.directory.create(username: username, displayName: nil, by: "test")
        let phone = try TestPhone()
        let enrolment = try await server.engine.enrolments.createEnrolmentLink(username: username, by: "operator")
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(enrolment.link), operation: .registration)
        var message = try phone.register(request, name: name)
        message.context?["deviceSecret"] = .string(secret)
        if let claim { message.context?["replaces"] = claim }
        let answer = try await server.engine.registrationAnswers.judge(message)
        #expect(answer.statusCode == .accepted)
        return Phone(
            key: phone, secret: secret, enrolment: enrolment, number: try #require(answer.confirmation?.number))
    }

    private func confirm(_ phone: Phone, _ server: TestServer) async throws {
        _ = try await server.engine.enrolments.confirmEnrolment(
            id: phone.enrolment.id, number: phone.number, by: "operator")
    }

    private func enrolled(_ server: TestServer, _ username: String = "alice", claiming claim: JSON? = nil) async throws
        -> Phone
    {
        let phone = try await self.pending(server, username, claiming: claim)
        try await self.confirm(phone, server)
        return phone
    }

    private func keys(_ server: TestServer, _ username: String = "alice") async throws -> Set<[UInt8]> {
        let account = try #require(try await server.database.account(username: AccountName(stored: username)))
        return Set(try await server.database.credentials(accountID: account.id).map(\.keyID))
    }

    private func signsIn(_ phone: Phone, _ server: TestServer) async throws -> Bool {
        let open = try await server.engine.requests.authentication(username: nil, source: "a")
        return try await server.engine.authenticationAnswers.judge(try phone.key.authenticate(open, counter: 9))
            .response.statusCode == .ok
    }

    private func replaced(_ server: TestServer) async throws -> [AuditEvent] {
        try await server.database.auditEntries(after: 0, limit: 999).map(\.event)
            .filter { $0.kind.rawValue == "device-replaced" }
    }

    @Test("the old device goes with its key when the new one is confirmed, and not before; the trail names it")
    func replaces() async throws {
        let server = try TestServer()
        let old = try await self.enrolled(server)
        let other = try await self.enrolled(server)
        let oldDevice = try #require(try await server.directory.devices(username: "alice").first?.id)
        let new = try await self.pending(server, claiming: Self.claim([old.secret], [old.key]))
        #expect(try await self.keys(server).count == 3)
        #expect(try await self.signsIn(old, server), "until the confirmation the old one is good")
        try await self.confirm(new, server)
        #expect(try await self.keys(server) == [other.key.keyID.bytes, new.key.keyID.bytes])
        #expect(try await server.directory.devices(username: "alice").count == 2)
        #expect(try await self.signsIn(new, server))
        #expect(try await !self.signsIn(old, server))
        let event = try #require(try await self.replaced(server).first)
        #expect(event.detail == oldDevice && event.actor == "operator" && event.accountID != nil)
        #expect(try await self.replaced(server).count == 1)
    }

    @Test("a confirmation with a wrong number, one that is declined and one whose time is over leave the old device")
    func declined() async throws {
        let server = try TestServer()
        let old = try await self.enrolled(server)
        let wrong = try await self.pending(server, claiming: Self.claim([old.secret], [old.key]))
        await #expect(throws: CeremonyError(.wrongNumber)) {
            try await server.engine.enrolments.confirmEnrolment(
                id: wrong.enrolment.id, number: wrong.number == "000000" ? "000001" : "000000", by: "operator")
        }
        #expect(try await self.keys(server) == [old.key.keyID.bytes])
        _ = try await self.pending(server, claiming: Self.claim([old.secret], [old.key]))
        server.clock.advance(.seconds(3600))
        try await server.engine.sweep.run()
        #expect(try await self.keys(server) == [old.key.keyID.bytes])
        #expect(try await self.signsIn(old, server))
        #expect(try await self.replaced(server).isEmpty)
    }

    @Test("the database holds no secret, and none that is another account's, unknown or of a device that is gone helps")
    func foreignSecrets() async throws {
        let server = try TestServer()
        let old = try await self.enrolled(server)
        let bob = try await self.enrolled(server, "bob")
        let gone = try await self.enrolled(server)
        let account = try #require(try await server.database.account(username: "alice"))
        let devices = try await server.database.devices(accountID: account.id)
        try await server.directory.deleteDevice(id: try #require(devices.last?.id), by: "test")
        #expect(devices.allSatisfy { $0.secretCode?.count == 32 })
        for secret in [bob.secret, gone.secret, Self.newSecret()] {
            let new = try await self.enrolled(server, claiming: Self.claim([secret], [old.key, bob.key]))
            #expect(try await self.keys(server).contains(old.key.keyID.bytes))
            #expect(try await self.keys(server).contains(new.key.keyID.bytes))
            #expect(try await self.keys(server, "bob") == [bob.key.keyID.bytes])
        }
        // The right secret takes nothing but what was named.
        let unnamed = try await self.enrolled(server, claiming: Self.claim([old.secret], [bob.key]))
        #expect(try await self.keys(server).isSuperset(of: [old.key.keyID.bytes, unnamed.key.keyID.bytes]))
        #expect(try await self.replaced(server).isEmpty)
        // The right secret proves one device: another device's key, and another person's, stay.
        let second = try await self.enrolled(server)
        let new = try await self.enrolled(
            server, claiming: Self.claim([old.secret, bob.secret], [old.key, second.key, bob.key]))
        let keys = try await self.keys(server)
        #expect(!keys.contains(old.key.keyID.bytes) && keys.contains(second.key.keyID.bytes))
        #expect(keys.contains(new.key.keyID.bytes))
        #expect(try await self.keys(server, "bob") == [bob.key.keyID.bytes])
        #expect(try await self.replaced(server).count == 1)
        var read = 0
        for file in try FileManager.default.contentsOfDirectory(atPath: server.folder) {
            guard let bytes = FileManager.default.contents(atPath: "\(server.folder)/\(file)") else { continue }
            read += bytes.count
            #expect(bytes.range(of: Data(second.secret.utf8)) == nil, "\(file)")
        }
        #expect(read > 100_000)
    }

    @Test("what is kept of a secret tells nobody that two accounts are on one phone")
    func boundToTheAccount() async throws {
        let server = try TestServer()
        let secret = Self.newSecret()
        var codes: [[UInt8]?] = []
        for name in ["alice", "bob"] {
            _ = try await self.pending(server, name, secret: secret)
            let account = try #require(try await server.database.account(username: AccountName(stored: name)))
            codes += try await server.database.devices(accountID: account.id).map(\.secretCode)
        }
        #expect(codes.count == 2 && codes[0] != nil && codes[1] != nil && codes[0] != codes[1])
    }

    @Test("a device from before, which has no secret, stays; so does one of the same name and model")
    func before() async throws {
        let server = try TestServer()
        let (_, old) = try await server.enrol()
        let new = try await self.enrolled(server, claiming: Self.claim([Self.newSecret()], [old]))
        #expect(try await self.keys(server) == [old.keyID.bytes, new.key.keyID.bytes])
        let third = try await self.pending(server, name: "Alice's phone")
        try await self.confirm(third, server)
        #expect(try await self.keys(server).count == 3)
    }

    @Test("two enrolments at once over one device: whichever is confirmed takes its place, in either order")
    func atOnce() async throws {
        for secondFirst in [true, false] {
            let server = try TestServer()
            let old = try await self.enrolled(server)
            let first = try await self.pending(server, claiming: Self.claim([old.secret], [old.key]))
            let second = try await self.pending(
                server, claiming: Self.claim([old.secret, first.secret], [old.key, first.key]))
            if secondFirst {
                try await self.confirm(second, server)
                await #expect(throws: CeremonyError(.wrongState)) { try await self.confirm(first, server) }
            } else {
                try await self.confirm(first, server)
                #expect(try await self.signsIn(first, server))
                try await self.confirm(second, server)
            }
            #expect(try await self.keys(server) == [second.key.keyID.bytes])
            #expect(try await server.directory.devices(username: "alice").map(\.isActive) == [true])
            #expect(try await self.signsIn(second, server))
        }
    }

    @Test("a device that was taken away while it was to be replaced is no obstacle")
    func goneMeanwhile() async throws {
        let server = try TestServer()
        let old = try await self.enrolled(server)
        let new = try await self.pending(server, claiming: Self.claim([old.secret], [old.key]))
        let id = try #require(try await server.directory.devices(username: "alice").first?.id)
        try await server.directory.deleteDevice(id: id, by: "test")
        try await self.confirm(new, server)
        #expect(try await self.keys(server) == [new.key.keyID.bytes])
        #expect(try await self.replaced(server).isEmpty)
    }

    @Test(
        "1400: a claim that is not understood",
        arguments: [
            #"{"deviceSecret":"x"}"#, #"{"deviceSecret":""}"#, #"{"deviceSecret":7}"#, #"{"replaces":{}}"#,
            #"{"replaces":[]}"#, #"{"replaces":{"secrets":[],"keys":[]}}"#, "secrets", "keys", "short",
        ])
    func malformed(text: String) async throws {
        let server = try TestServer()
        let old = try await self.enrolled(server)
        let context: JSONObject
        switch text {
        case "secrets":
            context = [
                "replaces": Self.claim(
                    [String](repeating: old.secret, count: Limits().shownDeviceSecrets + 1), [old.key])
            ]
        case "keys":
            context = [
                "replaces": Self.claim([old.secret], [TestPhone](repeating: old.key, count: Limits().replacedKeys + 1))
            ]
        case "short": context = ["deviceSecret": .string(Base64URL.encode([UInt8](repeating: 1, count: 31)))]
        default:
            guard case .object(let object) = try JSON(parsing: Array(text.utf8)) else {
                throw JSONError(.wrongType, text)
            }
            context = object
        }
        let enrolment = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "operator")
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(enrolment.link), operation: .registration)
        var message = try TestPhone().register(request)
        message.context = context
        #expect(try await server.engine.registrationAnswers.judge(message).statusCode == .badRequest)
        #expect(try await self.keys(server) == [old.key.keyID.bytes])
    }
}
