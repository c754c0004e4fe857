import Foundation
import Store
import UAF
import UAFRelyingParty
import _Primitives

/// Accounts that are invented for names that nobody has, and the names of their keys.
///
/// A KeyID of 32 bytes, as the product's own authenticators draw theirs: 15 bytes of a keyed digest (HMAC-SHA256) of AAID,
/// account and device, and these, 17 bytes, under a mask that is another keyed digest, of the first (a synthetic IV). To
/// everybody else it is as good as random; the server reads from it alone whose it would be, so that whatever names it is
/// judged as if the key were registered.
extension CeremonyEngine {
    private static let tagCount = 15
    private static let accountCount = 16

    /// An account for a name that nobody has: an identifier of the form and length of every other one, and keys that
    /// nobody has. They are of one device, two or three, each of which meets one of the policy's alternatives. By
    /// whichever policy it is asked, a device has one key of a model.
    ///
    /// Spellings that Unicode holds for the same are the same name, as they are for accounts.
    func inventedAccount(_ username: String, for policy: Policy, _ rules: Rules) throws
        -> (id: String, keys: [RegisteredCredential])
    {
        let seed = self.sealing.code(username.precomposedStringWithCanonicalMapping, purpose: .inventedKey)
        let id = Array(self.sealing.code(seed, purpose: .inventedAccount).prefix(Self.accountCount))
        let account = Base64URL.encode(id)
        // Most people have one device.
        let devices: UInt8 = seed[0] < 160 ? 1 : seed[0] < 232 ? 2 : 3
        var keys: [RegisteredCredential] = []
        for device in 1...devices {
            let alternative = policy.accepted[Int(seed[Int(device)]) % policy.accepted.count]
            var models: [AAID] = []
            for criterion in alternative {
                let known = rules.requests.models(meeting: criterion, in: policy)
                guard !known.isEmpty else { throw CeremonyError(.invalidRequest, "a policy that nothing meets") }
                let model = known[Int(seed[Int(device) + 3]) % known.count]
                let earlier = models.count { $0 == model }
                models.append(model)
                // Two bits are the device's, six tell its keys of one model apart.
                let keyID = try self.inventedKeyID(
                    model, id + [device << 6 | UInt8(truncatingIfNeeded: earlier) & 0x3F])
                keys.append(
                    RegisteredCredential.unheld(
                        CredentialID(aaid: model, keyID: keyID), algorithm: .p256Raw, account: account,
                        deviceRegistration: "\(device)"))
            }
        }
        return (account, keys)
    }

    /// The key of an invented account that has this name: nobody holds it, and in everything else it is like one that is
    /// registered. `nil` for every other name.
    func inventedKey(_ id: CredentialID) -> RegisteredCredential? {
        let name = id.keyID.bytes
        guard name.count == Self.tagCount + Self.accountCount + 1, let statement = self.metadata[id.aaid] else {
            return nil
        }
        let tag = Array(name.prefix(Self.tagCount))
        let holder = self.masked(Array(name.dropFirst(Self.tagCount)), by: tag)
        guard constantTimeEqual(self.inventedKeyTag(id.aaid, holder), tag) else { return nil }
        return .unheld(
            id, algorithm: statement.authenticationAlgorithm,
            account: Base64URL.encode(holder.prefix(Self.accountCount)),
            deviceRegistration: "\(holder[Self.accountCount] >> 6)")
    }

    private func inventedKeyID(_ model: AAID, _ holder: [UInt8]) throws -> KeyID {
        let tag = self.inventedKeyTag(model, holder)
        return try KeyID(tag + self.masked(holder, by: tag))
    }

    private func inventedKeyTag(_ model: AAID, _ holder: [UInt8]) -> [UInt8] {
        Array(self.sealing.code(holder + Array(model.text.utf8), purpose: .inventedKeyTag).prefix(Self.tagCount))
    }

    private func masked(_ bytes: [UInt8], by tag: [UInt8]) -> [UInt8] {
        zip(bytes, self.sealing.code(tag, purpose: .inventedKeyMask)).map { $0 ^ $1 }
    }
}
