import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Crypto
import Foundation
import Synchronization
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Decision 62: whoever sees how long messages are does not see which factor was wrong")
struct FailureLengthTests {
    /// What somebody sees of a finish who reads nothing of it.
    private struct Seen: Hashable {
        let request: Int
        let status: Int
        let answer: Int
        let headers: [String]
    }

    /// Factors that are wrong.
    private struct Attempt: Sendable {
        let name: String
        let types: Set<AuthenticatorType>
        var pin = Haul.right
        /// What somebody else's key signs for.
        var foreign: AuthenticatorModel.Factor?
    }

    // Names of different lengths: one of the tests has them told.
    private static let attempts = [
        Attempt(name: "a wrong PIN", types: [.device, .pin], pin: Haul.wrong),
        Attempt(name: "a finger without the device", types: [.biometric]),
        Attempt(name: "all three", types: [.device, .pin, .biometric]),
        Attempt(name: "another finger", types: [.device, .biometric], foreign: .fingerprint),
        Attempt(name: "somebody else's device", types: [.device, .pin], foreign: .devicePossession),
    ]

    /// What is seen of wrong factors of each kind.
    ///
    /// - Parameter answer: What a server answers to a kind, in the place of what ours does.
    private func seen(
        _ answer: @escaping @Sendable (_ name: String, [UInt8]) throws -> [UInt8] = { $1 }
    ) async throws -> [Seen] {
        let (all, continuation) = AsyncStream.makeStream(of: Seen.self)
        try await IdentityStage.run { stage async throws in
            let sensor = ScriptedSensor()
            let keys = BorrowedKeys(sensor)
            let phone = try await stage.phone(keys: keys, sensor: sensor)
            let offer = try await stage.offer(pin: Haul.right)
            guard case .newPersonalization(let new) = try await phone.open(offer.code, pin: Haul.right) else { return }
            phone.sensor.feel(.match)
            new.setFactor(try await phone.sdk.biometrics.factorForEnrolment())
            _ = try await phone.sdk.personalizer.finishPersonalization(request: new)
            // What the service asks for is chosen, and stands in every document from now on as it does in the next.
            let (first, _) = try await stage.code(in: TestBrowser(stage.client))
            try #require(try await phone.authenticate(first, pin: Haul.right).isUserLogin)

            for attempt in Self.attempts {
                let info = try await phone.prepare(try await stage.data(for: phone))
                if attempt.types.contains(.device) { try info.sign(factor: DeviceFactor()) }
                if attempt.types.contains(.pin) { try info.sign(factor: PinFactor(attempt.pin)) }
                if attempt.types.contains(.biometric) {
                    phone.sensor.feel(.match)
                    try info.sign(
                        factor: try await phone.sdk.biometrics.factor(idmIdentifier: IdentityStage.issuer))
                }
                keys.borrow(attempt.foreign)
                let finished = try await phone.sdk.authenticator.finishAuthentication(userInfo: info)
                _ = try #require(finished.lockout, "\(attempt.name) was accepted")
                keys.borrow(nil)
                let finish = try #require(stage.traffic.exchanges.last { $0.path.hasSuffix("/finish") })
                continuation.yield(
                    Seen(
                        request: finish.request.count, status: finish.status,
                        answer: try answer(attempt.name, finish.answer).count, headers: finish.answerHeaders))
                // Right ones end the row: every attempt is the first of its own, and has the shortest rest.
                stage.server.clock.advance(by: .seconds(10))
                let right = try await phone.finish(info, pin: Haul.right)
                try #require(right.isUserLogin, "right factors after \(attempt.name) were refused")
            }
        }
        continuation.finish()
        var seen: [Seen] = []
        for await one in all { seen.append(one) }
        #expect(seen.count == Self.attempts.count)
        return seen
    }

    @Test("A wrong PIN, a finger without the device, all three, another finger and another device look alike")
    func lengths() async throws {
        let seen = try await self.seen()
        #expect(Set(seen).count == 1, "\(seen)")
        #expect(seen.allSatisfy { $0.headers.contains("content-type: application/jose") }, "\(seen)")
    }

    @Test("An answer that says for the phone alone which factors were wrong is told by its length")
    func namingFactors() async throws {
        let seen = try await self.seen { name, answer in
            let parts = String(decoding: answer, as: UTF8.self).split(separator: ".")
            guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
                case .object(var said) = try JSON(parsing: payload)
            else { throw OtherProcess() }
            said["wrong"] = .string(name)
            let named = Base64URL.encode(JSON.object(said).serialized)
            return Array("\(parts[0]).\(named).\(parts[2])".utf8)
        }
        #expect(Set(seen).count == Self.attempts.count, "\(seen)")
    }

    @Test("Messages of one factor and of three have one length, which they would not have unless they were filled up")
    func filledUp() throws {
        func response(_ count: Int) -> String {
            let assertion = String(repeating: "A", count: 300)
            let assertions = (0..<count).map { _ in #"{"assertionScheme":"UAFV1TLV","assertion":"\#(assertion)"}"# }
            return #"[{"assertions":[\#(assertions.joined(separator: ","))]}]"#
        }
        let responses = (1...3).map(response)
        #expect(Set(responses.map(\.utf8.count)).count == 3)
        #expect(Set(responses.map { FinishRequest.Factors(response: $0).serialized.count }).count == 1)
    }
}

/// Keys of a device that is a chip of its own, of which those of one model are somebody else's on demand: what they sign is a
/// signature like any other, by another key.
private final class BorrowedKeys: DeviceKeys {
    private let own: VerifyingKeys
    private let borrowed = Mutex<AuthenticatorModel.Factor?>(nil)

    init(_ sensor: ScriptedSensor) { self.own = VerifyingKeys(fingerprintSensor: sensor) }

    /// Those of which model are somebody else's from now on; `nil`: none.
    func borrow(_ factor: AuthenticatorModel.Factor?) { self.borrowed.withLock { $0 = factor } }

    var keyStore: AuthenticatorModel.KeyStore { self.own.keyStore }
    var verifiesWhileSigning: Bool { self.own.verifiesWhileSigning }

    func make(_ name: DeviceKeyName, owner: String, lock: KeyLock) throws -> NewDeviceKey {
        try self.own.make(name, owner: owner, lock: lock)
    }

    func check(_ handle: [UInt8], of name: DeviceKeyName, unlocking: KeyUnlock) throws {
        try self.own.check(handle, of: name, unlocking: unlocking)
    }

    func sign(_ message: [UInt8], with handle: [UInt8], of name: DeviceKeyName, unlocking: KeyUnlock) async throws
        -> [UInt8]
    {
        let signature = try await self.own.sign(message, with: handle, of: name, unlocking: unlocking)
        let model = self.borrowed.withLock { $0 }.map { AuthenticatorModel(factor: $0, keyStore: self.keyStore) }
        guard let model, name.kind == model.aaid.text else { return signature }
        return Array(try P256.Signing.PrivateKey().signature(for: message).rawRepresentation)
    }

    func relock(_ handle: [UInt8], of name: DeviceKeyName, from old: SecretBytes, to new: SecretBytes) throws -> [UInt8]
    {
        try self.own.relock(handle, of: name, from: old, to: new)
    }

    func makeAgreementKey(_ name: DeviceKeyName) throws -> NewDeviceKey { try self.own.makeAgreementKey(name) }

    func agree(with point: [UInt8], by handle: [UInt8], of name: DeviceKeyName) throws -> SecretBytes {
        try self.own.agree(with: point, by: handle, of: name)
    }

    func delete(_ handle: [UInt8], of name: DeviceKeyName) { self.own.delete(handle, of: name) }
}
