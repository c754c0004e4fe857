import Foundation
import Store
import UAF
import UAFRelyingParty
import _Primitives

/// Accounts that are invented for names that nobody has, and the names of their keys.
///
/// What they look like is a document (``KeyDistribution``). A KeyID of 32 bytes, as the product's own authenticators draw
/// theirs: 15 bytes of a keyed digest (HMAC-SHA256) of AAID, account and device, and these, 17 bytes, under a mask that is
/// another keyed digest, of the first (a synthetic IV). A longer one goes on with further keyed digests of all that. To
/// everybody else it is as good as random; the server reads from it alone whose it would be, so that whatever names it is
/// judged as if the key were registered. Shorter ones there are none (UAF Protocol §1).
extension CeremonyEngine {
    private static let tagCount = 15
    private static let accountCount = 16
    /// Tag, account and device.
    private static let shortestName = tagCount + accountCount + 1

    /// An account for a name that nobody has: an identifier of the form and length of every other one, and keys that
    /// nobody has, as the distribution has them; each device can answer by the policy. By whichever policy it is asked, a
    /// device has one key of a model.
    ///
    /// The same for the same name and distribution. Spellings that Unicode holds for the same are the same name, as they
    /// are for accounts.
    func inventedAccount(
        _ username: String, for policy: Policy, named name: String?, _ rules: Rules, _ distribution: KeyDistribution
    ) throws -> (id: String, keys: [RegisteredCredential]) {
        let seed = self.sealing.code(username.precomposedStringWithCanonicalMapping, purpose: .inventedKey)
        let id = Array(self.sealing.code(seed, purpose: .inventedAccount).prefix(Self.accountCount))
        let account = Base64URL.encode(id)
        let devices = KeyDistribution.index(of: Int(seed[0] & 15), in: distribution.devices) + 1
        var keys: [RegisteredCredential] = []
        for device in 1...devices {
            let draws = (Int(seed[device] & 15), Int(seed[device + 3]) << 8 | Int(seed[device + 6]))
            let models =
                try self.drawnModels(
                    draws, from: distribution, rules.ableSets.value(of: name, policy, distribution, rules.requests))
                ?? self.modelsOfPolicy(policy, by: draws.1, rules)
            for (index, model) in models.enumerated() {
                let earlier = models.prefix(index).count { $0.aaid == model.aaid }
                // Two bits are the device's, six tell its keys of one model apart.
                let keyID = try self.inventedKeyID(
                    model.aaid, id + [UInt8(device) << 6 | UInt8(truncatingIfNeeded: earlier) & 0x3F],
                    length: model.keyIDLength)
                keys.append(
                    RegisteredCredential.unheld(
                        CredentialID(aaid: model.aaid, keyID: keyID), algorithm: .p256Raw, account: account,
                        deviceRegistration: "\(device)"))
            }
        }
        return (account, keys)
    }

    /// The set of keys that the first of `draws` points to, where it can answer by the policy; else the one that the second
    /// points to among those that can. `nil` where none can.
    private func drawnModels(_ draws: (Int, Int), from distribution: KeyDistribution, _ able: [Int])
        -> [KeyDistribution.Key]?
    {
        let sets = distribution.sets
        let first = KeyDistribution.index(of: draws.0, in: sets.map(\.weight))
        if able.contains(first) { return sets[first].keys }
        guard !able.isEmpty else { return nil }
        let weights = able.map { sets[$0].weight }
        return sets[able[KeyDistribution.index(of: draws.1 % weights.reduce(0, +), in: weights)]].keys
    }

    /// Keys that meet one of the policy's alternatives, where the distribution has none that do.
    private func modelsOfPolicy(_ policy: Policy, by draw: Int, _ rules: Rules) throws -> [KeyDistribution.Key] {
        let alternative = policy.accepted[draw % policy.accepted.count]
        return try alternative.map { criterion in
            let known = rules.requests.models(meeting: criterion, in: policy)
            guard !known.isEmpty else { throw CeremonyError(.invalidRequest, "a policy that nothing meets") }
            return KeyDistribution.Key(aaid: known[(draw >> 8) % known.count], keyIDLength: Self.shortestName)
        }
    }

    /// The key of an invented account that has this name: nobody holds it, and in everything else it is like one that is
    /// registered. `nil` for every other name.
    func inventedKey(_ id: CredentialID) -> RegisteredCredential? {
        let name = id.keyID.bytes
        guard name.count >= Self.shortestName, let statement = self.metadata[id.aaid] else { return nil }
        let tag = Array(name.prefix(Self.tagCount))
        let holder = self.masked(Array(name[Self.tagCount..<Self.shortestName]), by: tag)
        guard constantTimeEqual(self.inventedKeyTag(id.aaid, holder, length: name.count), tag),
            constantTimeEqual(
                self.inventedKeyRest(tag + holder, length: name.count), Array(name.dropFirst(Self.shortestName)))
        else { return nil }
        return .unheld(
            id, algorithm: statement.authenticationAlgorithm,
            account: Base64URL.encode(holder.prefix(Self.accountCount)),
            deviceRegistration: "\(holder[Self.accountCount] >> 6)")
    }

    private func inventedKeyID(_ model: AAID, _ holder: [UInt8], length: Int) throws -> KeyID {
        let tag = self.inventedKeyTag(model, holder, length: length)
        return try KeyID(tag + self.masked(holder, by: tag) + self.inventedKeyRest(tag + holder, length: length))
    }

    /// What a name of that length has after its first 32 bytes.
    private func inventedKeyRest(_ beginning: [UInt8], length: Int) -> [UInt8] {
        var rest: [UInt8] = []
        var block: UInt8 = 0
        while rest.count < length - Self.shortestName {
            rest += self.sealing.code(
                beginning + [UInt8(length >> 8), UInt8(length & 255), block], purpose: .inventedKeyRest)
            block += 1
        }
        return Array(rest.prefix(length - Self.shortestName))
    }

    /// Of a longer name it is over the length, too: no byte can be put to a shorter one, or taken away from it.
    private func inventedKeyTag(_ model: AAID, _ holder: [UInt8], length: Int) -> [UInt8] {
        let more = length == Self.shortestName ? [] : [UInt8(length >> 8), UInt8(length & 255)]
        return Array(
            self.sealing.code(holder + Array(model.text.utf8) + more, purpose: .inventedKeyTag).prefix(Self.tagCount))
    }

    private func masked(_ bytes: [UInt8], by tag: [UInt8]) -> [UInt8] {
        zip(bytes, self.sealing.code(tag, purpose: .inventedKeyMask)).map { $0 ^ $1 }
    }
}
