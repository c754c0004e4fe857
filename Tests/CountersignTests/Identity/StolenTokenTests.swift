import Ceremony
import Countersign
import CountersignTestKit
import Crypto
import Foundation
import JOSE
import Testing
import UAFClient
import _Primitives

@Suite("What a proof of a code's PIN earns is the device's that has made it (decision 79)") struct StolenTokenTests {
    /// Notes what passes.
    // Safe to share: every access to `bodies` is within `lock`.
    private final class Listener: @unchecked Sendable {
        private let lock = NSLock()
        private var bodies: [[UInt8]] = []

        func note(_ response: TransportResponse) -> TransportResponse {
            self.lock.withLock { self.bodies.append(response.body) }
            return response
        }

        /// What was said to a proof of the PIN.
        func proven() throws -> ProvenActivation? {
            for body in self.lock.withLock({ self.bodies }) {
                let payload = String(decoding: body, as: UTF8.self).split(separator: ".")[1]
                guard case .object(let answer) = try JSON(parsing: Base64URL.decode(payload) ?? []),
                    let message = try answer.object("body"),
                    case .proven(let proven)? = try? ProveResponse(json: message)
                else { continue }
                return proven
            }
            return nil
        }
    }

    /// Somebody who has read everything that passed, and speaks to the server with a key of their own.
    private struct Thief {
        let server: VirtualIdentityServer
        let key = P256.Signing.PrivateKey()

        private func send(_ method: String, _ path: String, _ body: [UInt8], by activation: String? = nil) async throws
            -> TransportResponse
        {
            let url = try #require(URL(string: self.server.identifier + path))
            var headers: [(name: String, value: String)] = []
            if let activation {
                let unsigned = try DeviceProof.unsigned(
                    DeviceProof.Request(
                        audience: self.server.identifier, method: method, target: url.absoluteString, body: body),
                    keyID: activation, at: self.server.now, random: .system)
                let signature = try self.key.signature(for: unsigned.signingInput)
                headers.append(("Device-Proof", unsigned.compact(signature: Array(signature.rawRepresentation))))
            }
            return try await self.server.send(
                TransportRequest(method: method, url: url, headers: headers, body: body, timeout: .seconds(1)))
        }

        private func sealingKey() async throws -> ManagerKeySet.SealingKey {
            let compact = String(decoding: try await self.send("GET", "/identity/keys", []).body, as: UTF8.self)
            let root = try #require(self.server.trusted.rootKeys.first)
            guard case .object(let json) = try JSON(parsing: root.utf8) else { throw WrongCode() }
            return try #require(
                try ManagerKeySet(
                    verifying: compact, server: self.server.identifier, roots: JWKSet([try JWK(publicJSON: json)]),
                    at: self.server.now
                ).sealingKeys.first)
        }

        /// What an enrolment with the key comes to.
        func enrol(_ proven: ProvenActivation, code: String) async throws -> String {
            let point = Array(self.key.publicKey.rawRepresentation)
            let jwk = try JWK(.p256(x: Array(point[..<32]), y: Array(point[32...]), d: nil))
            let sealed = try SealedMessage(
                sealing: EnrollRequest.Enrolment(
                    token: proven.token, name: "Thief", signingKey: jwk, encryptionKey: jwk, response: "e30"),
                to: try await self.sealingKey(),
                for: .enrolment(activation: code, token: proven.token.withBytes { Base64URL.encode($0) }))
            let answer = try await self.send(
                "POST", "/identity/activations/\(code)/enroll", EnrollRequest(enrolment: sealed).serialized,
                by: proven.activation)
            let payload = String(decoding: answer.body, as: UTF8.self).split(separator: ".")[1]
            return String(decoding: try #require(Base64URL.decode(payload)), as: UTF8.self)
        }
    }

    @Test("whoever reads the answer enrols nothing with it, and the device that has proven the PIN goes on")
    func stolen() async throws {
        for hasService in [false, true] {
            let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
            if hasService { await phone.server.newPinService() }
            let listener = Listener()
            await phone.server.damage { listener.note($0) }
            let personalization = try await phone.newIdentity()
            let proven = try #require(try listener.proven())
            let path = try #require(await phone.server.requests.last { $0.url.path().hasSuffix("/prove") }?.url.path())
            let id = String(path.split(separator: "/")[2])
            let answer = try await Thief(server: phone.server).enrol(proven, code: id)
            #expect(answer.contains(#""notProven""#), "\(answer)")
            #expect(await phone.server.activeActivations.isEmpty)
            let identity = try await phone.sdk.personalizer.finishPersonalization(request: personalization)
            #expect(await phone.server.activeActivations == [identity.activation])
            #expect(try await phone.authenticate(try await phone.data()).isUserLogin)
        }
    }

    @Test("the keys that a proof has named are gone with it, and an identity's stay") func keys() async throws {
        let keys = VerifyingKeys()
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer(), keys: keys)
        let code = try await phone.server.activationCode(pin: VirtualIdentityPhone.pin)
        _ = await identityError { _ = try await phone.open(code, pin: "824194") }
        #expect(keys.count == 0, "a wrong PIN")
        phone.clock.advance(by: .seconds(6))
        _ = try await phone.open(code, pin: VirtualIdentityPhone.pin)
        #expect(keys.count == 0, "given up")
        try await phone.personalize()
        let count = keys.count
        #expect(try await phone.authenticate(try await phone.data()).isUserLogin)
        // An identity that is there proves with its own.
        _ = try await phone.open(try await phone.server.activationCode(pin: "135802", mayMerge: true), pin: "135802")
        #expect(keys.count == count)
        try await phone.sdk.personalizer.depersonalizeIdentityManager(idmIdentifier: phone.server.identifier)
        #expect(keys.count == 0)
    }

    @Test("keys of a finished identity go with it, also while what has made it is still at hand") func handedOver()
        async throws
    {
        let keys = VerifyingKeys()
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer(), keys: keys)
        let personalization = try await phone.newIdentity()
        try await phone.sdk.personalizer.finishPersonalization(request: personalization)
        try await phone.sdk.personalizer.depersonalizeIdentityManager(idmIdentifier: phone.server.identifier)
        #expect(keys.count == 0)
        withExtendedLifetime(personalization) {}
    }
}
