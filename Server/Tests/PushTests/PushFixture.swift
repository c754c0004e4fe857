import Ceremony
import CeremonyEngine
import Crypto
import CryptoExtras
import Foundation
import JOSE
import Push
import Records
import Settings
import Synchronization
import Testing
import _Primitives

/// A clock that tests move.
final class MovedClock: Sendable {
    private let current: Mutex<Timestamp>

    init(_ start: Timestamp = Timestamp(seconds: 1_900_000_000)) { self.current = Mutex(start) }

    var now: Timestamp { self.current.withLock { $0 } }
    var source: TimeSource { TimeSource { self.now } }
    func advance(by span: Duration) { self.current.withLock { $0 = $0 + span } }
}

/// A way to push services that notes the requests and answers by a function.
final class NotedCalls: PushCalls {
    typealias Answer = @Sendable (PushRequest) async throws -> PushResponse

    private let answer: Answer
    private let noted = Mutex<[PushRequest]>([])

    init(_ answer: @escaping Answer = { _ in PushResponse(status: 200) }) { self.answer = answer }

    var requests: [PushRequest] { self.noted.withLock { $0 } }

    func post(_ request: PushRequest) async throws -> PushResponse {
        self.noted.withLock { $0.append(request) }
        return try await self.answer(request)
    }
}

/// The events of a dispatcher.
final class NotedEvents: Sendable {
    private let noted = Mutex<[PushEvent]>([])

    var all: [PushEvent] { self.noted.withLock { $0 } }
    @Sendable func note(_ event: PushEvent) { self.noted.withLock { $0.append(event) } }
}

/// The targets of a server with one device.
final class OneTarget: DispatchTargetStore {
    private let record: Mutex<DispatchTargetRecord?>
    private let noted = Mutex<[AuditEvent]>([])

    init(_ record: DispatchTargetRecord?) { self.record = Mutex(record) }

    var current: DispatchTargetRecord? { self.record.withLock { $0 } }
    var events: [AuditEvent] { self.noted.withLock { $0 } }
    func replace(by record: DispatchTargetRecord?) { self.record.withLock { $0 = record } }

    func dispatchTarget(deviceID: String) async throws -> DispatchTargetRecord? {
        self.current.flatMap { $0.deviceID == deviceID ? $0 : nil }
    }

    func dispatchTargets(accountID: String) async throws -> [DispatchTargetRecord] { [self.current].compactMap(\.self) }
    func formerDevices(accountID: String) async throws -> [String] { [] }
    func changeDispatchTarget(_ change: DispatchTargetChange) async throws {}
    func noteSeen(deviceID: String, at moment: Timestamp) async throws {}

    func endDispatchTarget(
        deviceID: String, address: String, unlessChangedAfter moment: Timestamp?, audit: AuditEvent?
    ) async throws -> Bool {
        self.record.withLock { record in
            guard record?.deviceID == deviceID, record?.address == address, let changedAt = record?.changedAt,
                moment.map({ changedAt <= $0 }) ?? true
            else { return false }
            record?.dispatcher = nil
            record?.address = nil
            if let audit { self.noted.withLock { $0.append(audit) } }
            return true
        }
    }
}

/// A device with its keys, and the operations for the device.
struct PushedDevice {
    static let fcmToken = "bk3RNwTe3H0:CI2k_HHwgIpoDKCIZvvDMExUdFQ3P1"
    static let apnsToken = String(repeating: "0f", count: 32)

    let key = P256.KeyAgreement.PrivateKey()

    /// The device as a target.
    func target(
        _ dispatcher: String?, _ address: String?, of account: String = "account-1",
        changedAt: Timestamp = Timestamp(seconds: 1_800_000_000)
    ) throws -> DispatchTargetRecord {
        let point = Array(self.key.publicKey.x963Representation)
        return DispatchTargetRecord(
            deviceID: "device-1", accountID: account, name: "Alice's phone", dispatcher: dispatcher,
            address: address,
            encryptionKey: .init(name: try self.publicKey().thumbprint, point: point), changedAt: changedAt)
    }

    /// The device's encryption key as the server knows the key.
    func publicKey() throws -> JWK {
        let point = Array(self.key.publicKey.x963Representation)
        return try JWK(.p256(x: Array(point[1..<33]), y: Array(point[33...]), d: nil))
    }

    /// Opens the payload of a message that the device got.
    func open(_ members: JSONObject) throws -> OutOfBandPayload {
        let names = ["nma_data", "nma_data_content_type", "nma_data_version"]
        let payload = JSONObject(try names.map { ($0, .string(try members.requiredString($0))) })
        let name = try self.publicKey().thumbprint
        return try OutOfBandPayload(json: JSON.object(payload).text) { keyID, point in
            #expect(keyID == name)
            let other = try P256.KeyAgreement.PublicKey(x963Representation: point)
            return try self.key.sharedSecretFromKeyAgreement(with: other).withUnsafeBytes { SecretBytes(Array($0)) }
        }
    }

    /// A dispatched operation whose payload has words that no provider may read.
    static func operation(until expiresAt: Timestamp) throws -> DispatchedOperation {
        let payload = try OutOfBandPayload(
            redeemData: .init(
                token: Self.secrets[0], redeemURL: try #require(URL(string: "https://sign-in.example.com/redeem"))),
            data: #"{"payee":"Example Bakery","amount":"12.50 EUR"}"#)
        return DispatchedOperation(
            payload: payload, link: "https://sign-in.example.com/open", accountID: "account-1", expiresAt: expiresAt)
    }

    /// The words that stand in the operation and about the device.
    static let secrets = [
        "one-time-token-of-alice", "Example Bakery", "12.50", "Alice", "sign-in.example.com", "account-1", "device-1",
    ]
}

/// The credentials of the tests.
enum PushCredentials {
    static let rsa = try? _RSA.Signing.PrivateKey(keySize: .bits2048)

    /// The file of a service account, with other members in place of some.
    static func serviceAccountFile(_ other: JSONObject = [:], without name: String? = nil) throws -> [UInt8] {
        var file: JSONObject = [
            "type": .string("service_account"), "project_id": .string("example-project"),
            "private_key_id": .string("key-1"),
            "private_key": .string(try #require(Self.rsa).pemRepresentation),
            "client_email": .string("push@example-project.iam.gserviceaccount.com"),
            "token_uri": .string("https://oauth2.googleapis.com/token"),
        ]
        for member in other.members { file[member.name] = member.value }
        if let name { file[name] = nil }
        return JSON.object(file).serialized
    }

    static func verifyRSA(_ token: String) throws -> JSONObject {
        let numbers = try #require(Self.rsa).publicKey.getKeyPrimitives()
        let key = try JWK(.rsa(n: Array(numbers.modulus), e: Array(numbers.publicExponent), privateNumbers: nil))
        return try Self.claims(token, by: VerificationKey(key, algorithm: .rs256))
    }

    static func claims(_ token: String, by key: VerificationKey) throws -> JSONObject {
        guard case .object(let claims) = try JSON(parsing: try UnverifiedJWS(compact: token).verified(by: key).payload)
        else { throw JSONError(.wrongType, "claims") }
        return claims
    }
}

/// Reads a JSON object.
func object(_ bytes: [UInt8]) throws -> JSONObject {
    guard case .object(let object) = try JSON(parsing: bytes) else { throw JSONError(.wrongType, "no object") }
    return object
}
