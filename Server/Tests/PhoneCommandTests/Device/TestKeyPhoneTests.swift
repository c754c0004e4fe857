import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@testable import PhoneCommand

@Suite("countersign-phone uaf answer: bare UAF messages and keys that are for tests alone")
struct TestKeyPhoneTests {
    private let folder = FileManager.default.temporaryDirectory.path + "/countersign-test-keys-" + UUID().uuidString
    private static let facet = "linux:program:test"
    private static let pin = AuthenticatorModel(factor: .pin, keyStore: .file).aaid
    private static let fingerprint = AuthenticatorModel(factor: .fingerprint, keyStore: .file).aaid

    private func phone(
        _ factor: AuthenticatorModel.Factor? = nil,
        fetch: @escaping FacetAuthorization.Fetch = { _ in throw Unexpected() }
    ) throws -> TestKeyPhone {
        try TestKeyPhone(
            home: self.folder, facet: try FacetID(Self.facet), factor: factor, fetchFacets: fetch)
    }

    private struct Unexpected: Error {}

    private func registration(_ aaids: [AAID], appID: String = "") -> [UInt8] {
        RegistrationRequest(
            header: OperationHeader(operation: .registration, appID: appID, serverData: "state"),
            challenge: Challenge(random: .system), username: "alice",
            policy: Policy(accepted: aaids.map { [MatchCriteria(aaid: [$0])] })
        ).serialized
    }

    private func authentication(_ aaid: AAID, _ keyID: KeyID? = nil, transaction: [Transaction] = []) -> [UInt8] {
        AuthenticationRequest(
            header: OperationHeader(operation: .authentication), challenge: Challenge(random: .system),
            transaction: transaction,
            policy: Policy(accepted: [[MatchCriteria(aaid: [aaid], keyIDs: keyID.map { [$0] })]])
        ).serialized
    }

    @Test("A registration, an authentication, a confirmation and a deregistration are answered, the counter rising")
    func answers() async throws {
        defer { try? FileManager.default.removeItem(atPath: self.folder) }
        let request = self.registration([Self.pin])
        let made = try await self.phone().answer(request, person: TestPerson(lines: ["123456"]))
        let response = try RegistrationResponse(parsing: try #require(made.response))
        #expect(response.header.serverData == "state" && response.header.appID == Self.facet)
        let key = try RegistrationAssertion(parsing: response.assertions[0].bytes).keyRegistrationData
        #expect(made.operation == .registration && made.keys.map(\.keyID) == [key.keyID] && key.aaid == Self.pin)

        // Each time the folder is opened anew.
        let signed = try await self.phone().answer(
            self.authentication(Self.pin), person: TestPerson(lines: ["123456"]))
        let first = try AuthenticationResponse(parsing: try #require(signed.response))
        let transaction = Transaction(content: Array("Pay 5".utf8))
        let confirmed = try await self.phone().answer(
            self.authentication(Self.pin, key.keyID, transaction: [transaction]),
            person: TestPerson(lines: ["123456"]))
        let second = try AuthenticationResponse(parsing: try #require(confirmed.response))
        let data = try [first, second].map { try AuthenticationAssertion(parsing: $0.assertions[0].bytes).signedData }
        #expect(data.map(\.signCounter) == [1, 2] && data.allSatisfy { $0.keyID == key.keyID })
        #expect(data[1].mode == .transactionConfirmed && data[1].transactionContentHash == transaction.contentHash)
        #expect(confirmed.transaction == "Pay 5" && signed.transaction == nil)

        let deregistration = DeregistrationRequest(
            header: OperationHeader(operation: .deregistration), authenticators: [.key(Self.pin, key.keyID)])
        let gone = try await self.phone().answer(deregistration.serialized, person: TestPerson(lines: []))
        #expect(gone.operation == .deregistration && gone.response == nil && gone.keys.map(\.keyID) == [key.keyID])
        await #expect(
            throws: Refusal(.refused, .refused, "no-suitable-authenticator", "Nothing here can answer that.")
        ) {
            try await self.phone().answer(self.authentication(Self.pin), person: TestPerson(lines: ["123456"]))
        }
    }

    @Test("Every operation goes by the client's rules: version, extensions, and one dictionary among several")
    func clientRules() async throws {
        defer { try? FileManager.default.removeItem(atPath: self.folder) }
        let message = String(decoding: self.registration([Self.pin]), as: UTF8.self)
        let older = message.replacingOccurrences(of: #""minor":1"#, with: #""minor":0"#)
        #expect(older != message)
        let both = "[\(older.dropFirst().dropLast()),\(message.dropFirst().dropLast())]"
        let made = try await self.phone().answer(Array(both.utf8), person: TestPerson(lines: ["123456"]))
        let response = try RegistrationResponse(parsing: try #require(made.response))
        #expect(response.header.version == .uaf11)
        let name = try #require(made.keys.first)
        func deregistration(_ version: Version, _ extensions: [UAF.Extension]) -> [UInt8] {
            var header = OperationHeader(version: version, operation: .deregistration)
            header.extensions = extensions
            return DeregistrationRequest(header: header, authenticators: [.key(name.aaid, name.keyID)]).serialized
        }
        let unknown = UAF.Extension(id: "unknown", data: "", failIfUnknown: true)
        for (request, code) in [
            (deregistration(Version(major: 2, minor: 7), []), ErrorCode.unsupportedVersion),
            (deregistration(.uaf11, [unknown]), .protocolError),
        ] {
            let refusal = await #expect(throws: Refusal.self) {
                try await self.phone().answer(request, person: TestPerson(lines: []))
            }
            #expect(refusal?.reason == "fido-\(code.rawValue)")
        }
        // The key is still there.
        let signed = try await self.phone().answer(
            self.authentication(Self.pin, name.keyID), person: TestPerson(lines: ["123456"]))
        #expect(signed.keys == [name])
    }

    @Test("The authenticator that is asked for is used, where the request accepts it")
    func authenticator() async throws {
        defer { try? FileManager.default.removeItem(atPath: self.folder) }
        let request = self.registration([Self.pin, Self.fingerprint])
        let made = try await self.phone(.fingerprint).answer(request, person: TestPerson(lines: []))
        #expect(made.keys.map(\.aaid) == [Self.fingerprint])
        let refusal = await #expect(throws: Refusal.self) {
            try await self.phone(.fingerprint).answer(self.registration([Self.pin]), person: TestPerson(lines: []))
        }
        #expect(refusal?.reason == "no-suitable-authenticator")
    }

    @Test("A request that is malformed, or of an application that does not trust the facet, is not answered")
    func refused() async throws {
        defer { try? FileManager.default.removeItem(atPath: self.folder) }
        let malformed = await #expect(throws: Refusal.self) {
            try await self.phone().answer(Array("[]".utf8), person: TestPerson(lines: []))
        }
        #expect(malformed?.reason == "fido-\(ErrorCode.protocolError.rawValue)")
        let request = self.registration([Self.pin], appID: "https://app.example/facets")
        func list(_ facet: String) -> FacetAuthorization.Fetch {
            let body = #"{"trustedFacets":[{"version":{"major":1,"minor":1},"ids":["\#(facet)"]}]}"#
            return { _ in
                FacetListAnswer(
                    status: 200, contentType: "application/fido.trusted-apps+json", body: Array(body.utf8))
            }
        }
        let untrusted = await #expect(throws: Refusal.self) {
            try await self.phone(fetch: list("other:app")).answer(request, person: TestPerson(lines: ["123456"]))
        }
        #expect(untrusted?.reason == "fido-\(ErrorCode.untrustedFacetID.rawValue)")
        let trusted = try await self.phone(fetch: list(Self.facet)).answer(
            request, person: TestPerson(lines: ["123456"]))
        #expect(trusted.keys.count == 1)
    }

    @Test("A wrong or missing PIN gives no answer, and no key is left of a registration")
    func secrets() async throws {
        defer { try? FileManager.default.removeItem(atPath: self.folder) }
        let missing = await #expect(throws: Refusal.self) {
            try await self.phone().answer(self.registration([Self.pin]), person: TestPerson(lines: []))
        }
        #expect(missing?.status == .usage)
        _ = try await self.phone().answer(self.registration([Self.pin]), person: TestPerson(lines: ["123456"]))
        let wrong = await #expect(throws: Refusal.self) {
            try await self.phone().answer(self.authentication(Self.pin), person: TestPerson(lines: ["654321"]))
        }
        #expect(wrong?.reason == "wrong-pin")
    }

    @Test(
        "A phone's folder, and a folder of something else, are refused and left as they are",
        arguments: ["store", "notes"])
    func otherFolders(name: String) throws {
        defer { try? FileManager.default.removeItem(atPath: self.folder) }
        try FileManager.default.createDirectory(atPath: "\(self.folder)/\(name)", withIntermediateDirectories: true)
        let refusal = #expect(throws: Refusal.self) { try self.phone() }
        #expect(refusal?.reason == (name == "store" ? "real-phone" : "not-test-keys"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder) == [name])
    }

    @Test("The folder says what it is, and opens for its owner alone")
    func label() throws {
        defer { try? FileManager.default.removeItem(atPath: self.folder) }
        _ = try self.phone()
        let label = try String(contentsOfFile: "\(self.folder)/TEST-KEYS", encoding: .utf8)
        #expect(label.contains("for tests"))
        let mode = try FileManager.default.attributesOfItem(atPath: self.folder)[.posixPermissions] as? Int
        #expect(mode == 0o700)
        #expect(!FileManager.default.fileExists(atPath: "\(self.folder)/store"))
    }
}
