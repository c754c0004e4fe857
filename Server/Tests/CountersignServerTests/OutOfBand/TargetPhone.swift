import Accounts
import Ceremony
import CeremonyEngine
import CountersignServer
import CountersignTestKit
import Crypto
import Foundation
import HTTPTypes
import HummingbirdTesting
import JOSE
import NIOCore
import Records
import SQLStore
import Testing
import UAF
import _Primitives

/// A dispatcher to the devices that the server knows, as a program in another package would have one.
struct PigeonDispatcher: DeviceDispatcher {
    var name = "pigeon"

    func dispatcherInformation(for operation: DispatchedOperation) -> DispatcherInformation { DispatcherInformation() }
    func delivery(of operation: DispatchedOperation, to device: DispatchTargetRecord) -> DispatchDelivery {
        .message(DispatchMessage(target: device.deviceID, content: Array(operation.payload.json.utf8)))
    }
    func deliver(_ message: DispatchMessage) {}
}

/// A registered phone whose own keys the test has: it can also prove requests wrongly.
struct TargetPhone: Sendable {
    static let path = "/token/dispatch/targets"

    let server: ServerFixture
    let client: any TestClientProtocol
    /// The identifier of the registration.
    let id: String
    let accountID: String
    var signing = P256.Signing.PrivateKey()
    var encryption = P256.KeyAgreement.PrivateKey()

    /// Registers a phone with one key of an authenticator.
    init(
        _ name: String, of username: AccountName = "alice", at server: ServerFixture, _ client: any TestClientProtocol
    ) async throws {
        self.server = server
        self.client = client
        self.id = RandomSource.system.identifier()
        self.accountID = try await server.assembly.directory.account(username: username).id
        let now = server.clock.now()
        var registration = DeviceRegistration(
            device: DeviceRecord(id: self.id, accountID: self.accountID, name: name, isActive: true, createdAt: now),
            credentials: [
                CredentialRecord(
                    id: "credential-\(self.id)", deviceID: self.id, accountID: self.accountID,
                    aaid: AuthenticatorModel(factor: .pin, keyStore: .file).aaid.text,
                    keyID: RandomSource.system.bytes(32),
                    publicKey: Array(P256.Signing.PrivateKey().publicKey.x963Representation),
                    keyFormat: 256, algorithm: 1, counter: 1, registrationCounter: 1, authenticatorVersion: 1,
                    isActive: true, createdAt: now)
            ])
        registration.identity = DeviceIdentityRecord(
            signing: try Self.record(Array(self.signing.publicKey.x963Representation)),
            encryption: try Self.record(Array(self.encryption.publicKey.x963Representation)))
        var change = CeremonyChange()
        change.registration = registration
        let isFirst = try await server.database.answer(
            AnsweredChallenge(digest: Array(self.id.utf8), expiresAt: now + .seconds(9)), change: change, at: now)
        #expect(isFirst)
    }

    private static func key(_ point: [UInt8]) throws -> JWK {
        try JWK(.p256(x: Array(point[1..<33]), y: Array(point[33...]), d: nil))
    }

    private static func record(_ point: [UInt8]) throws -> DeviceIdentityRecord.Key {
        DeviceIdentityRecord.Key(name: try Self.key(point).thumbprint, point: point)
    }

    var signatureKey: JWK {
        get throws { try Self.key(Array(self.signing.publicKey.x963Representation)) }
    }
    var encryptionKey: JWK {
        get throws { try Self.key(Array(self.encryption.publicKey.x963Representation)) }
    }
    static func json(_ key: JWK) throws -> JSONObject { try #require(key.publicJSON) }

    /// The address of the phone's target.
    var own: String { "\(Self.path)/\(self.id)" }

    /// What the phone says of itself; `nil` leaves a member out.
    func statement(
        name: String = "Phone", dispatcher: String? = "pigeon", target: String? = "loft 7"
    ) throws -> JSONObject {
        var body: JSONObject = [
            "name": .string(name), "signatureKey": .object(try Self.json(self.signatureKey)),
            "encryptionKey": .object(try Self.json(self.encryptionKey)),
        ]
        body["dispatcher"] = dispatcher.map(JSON.string)
        body["target"] = target.map(JSON.string)
        return body
    }

    /// Proves a request.
    ///
    /// - Parameters:
    ///   - offset: By how much the phone's clock is ahead.
    ///   - signer: The key that signs in place of the phone's.
    func proof(
        _ method: HTTPRequest.Method, _ path: String, _ body: [UInt8] = [], offset: Duration = .zero,
        signedBy signer: P256.Signing.PrivateKey? = nil
    ) throws -> String {
        let issuer = self.server.assembly.configuration.issuer
        let unsigned = try DeviceProof.unsigned(
            DeviceProof.Request(audience: issuer, method: method.rawValue, target: issuer + path, body: body),
            keyID: try self.signatureKey.thumbprint, at: self.server.clock.now() + offset, random: .system)
        let signature = try (signer ?? self.signing).signature(for: Data(unsigned.signingInput))
        return unsigned.compact(signature: Array(signature.rawRepresentation))
    }

    /// Sends a proved request.
    func send(
        _ method: HTTPRequest.Method, _ path: String, _ body: JSONObject? = nil, offset: Duration = .zero,
        signedBy signer: P256.Signing.PrivateKey? = nil
    ) async throws -> (response: TestResponse, object: JSONObject) {
        let bytes = body.map { JSON.object($0).serialized } ?? []
        return try await self.send(
            method, path, bytes, self.proof(method, path, bytes, offset: offset, signedBy: signer))
    }

    /// Sends a request with a proof.
    func send(
        _ method: HTTPRequest.Method, _ path: String, _ bytes: [UInt8], _ proof: String?,
        contentType: String = "application/json", headers: HTTPFields = [:]
    ) async throws -> (response: TestResponse, object: JSONObject) {
        var headers = headers
        if !bytes.isEmpty { headers[.contentType] = contentType }
        if let proof { headers[try #require(HTTPField.Name("Device-Proof"))] = proof }
        let response = try await self.client.execute(
            uri: path, method: method, headers: headers, body: bytes.isEmpty ? nil : ByteBuffer(bytes: bytes))
        guard case .object(let object)? = try? JSON(parsing: Array(response.body.readableBytesView)) else {
            return (response, [:])
        }
        return (response, object)
    }

    /// What the server knows of the phone.
    func target() async throws -> DispatchTargetRecord {
        try #require(try await self.server.database.dispatchTarget(deviceID: self.id))
    }

    /// Expects that the phone has its keys, and no other.
    func expectKeys() async throws {
        let found = try await self.server.database.device(ofKey: try self.signatureKey.thumbprint)
        #expect(found?.deviceID == self.id)
        #expect(found?.signingKey == Array(self.signing.publicKey.x963Representation))
        #expect(try await self.target().encryptionKey?.name == self.encryptionKey.thumbprint)
    }
}

extension JSONObject {
    /// The last part of the type of a problem document.
    var problem: String? { (try? self.string("type")).map { String($0.split(separator: ":").last ?? "") } }
}
