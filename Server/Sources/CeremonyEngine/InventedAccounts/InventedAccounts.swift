import Store
import UAF
import UAFRelyingParty
import _Primitives

/// Accounts that are invented for names that nobody has, and the names of their keys.
///
/// What they look like is a document (``KeyDistribution``); which of its devices and sets of keys a name has, and what
/// its keys are called, follows from keyed digests (HMAC-SHA256, one key for each of the purposes in quotation marks):
///
///     seed, 32 bytes = "invented key" of the key of the user name (AccountName)
///
///         byte   0          1   2   3      4   5   6      7   8   9      10 ... 31
///              +----------+------------+---------------+---------------+-----------+
///              | devices: | first draw | second draw,  | second draw,  | not used  |
///              | low four | of device  | high byte, of | low byte, of  |           |
///              | bits     | 1, 2, 3:   | device        | device        |           |
///              |          | low four   | 1, 2, 3       | 1, 2, 3       |           |
///              |          | bits       |               |               |           |
///              +----------+------------+---------------+---------------+-----------+
///
///     account, 16 bytes = the beginning of "invented account" of the seed
///     holder,  17 bytes = account, and a byte: two bits for the device (1, 2, 3), six for which of the device's keys
///                         of one model it is
///
///     KeyID, 32 bytes, or as many as the document says
///
///         byte   0 ... 14                15 ... 31             32 ...
///              +-----------------------+---------------------+-----------------------------+
///              | tag: the beginning of | holder, XOR the     | blocks of "invented key     |
///              | "invented key tag"    | beginning of        | rest" of tag, holder,       |
///              | of holder, AAID and,  | "invented key mask" | length (two bytes) and the  |
///              | beyond 32 bytes, the  | of the tag          | block's number (one byte),  |
///              | length (two bytes)    |                     | the last one cut            |
///              +-----------------------+---------------------+-----------------------------+
///
/// The tag is a synthetic IV: it makes the mask, and proves what is under it. To everybody else a KeyID is as good as
/// random, as those that the product's own authenticators draw are; the server reads from it alone whose it would be,
/// so that a message that names it is judged as if the key were registered. There are no shorter ones (UAF Protocol
/// §1).
public struct InventedAccounts: CeremonyPart {
    private static let tagCount = 15
    private static let accountCount = 16
    /// Tag, account and device.
    private static let shortestName = tagCount + accountCount + 1

    let environment: CeremonyEnvironment
    let store: any InventedAccountStore
    private let read = ReadDistribution()
    private let ableSets = AbleSets()

    init(environment: CeremonyEnvironment, store: any InventedAccountStore) {
        self.environment = environment
        self.store = store
    }

    // MARK: The document

    /// What invented accounts look like.
    public func keyDistribution() async throws -> KeyDistribution {
        self.distribution(of: try await self.store.inventedAccounts())
    }

    /// The distribution of a stored document; the standard one for none.
    func distribution(of document: String?) -> KeyDistribution {
        self.read.value(of: document, refused: self.configuration.inventedAccountsRefused)
    }

    /// Sets what invented accounts look like from now on; `nil`: as they are where nothing is set. Throws
    /// `invalidRequest` for a model that is not known.
    ///
    /// Whoever has asked by a name before, and asks again, sees whether the answer changed.
    public func setKeyDistribution(_ distribution: KeyDistribution?, by operator: String) async throws {
        for key in distribution?.sets.flatMap(\.keys) ?? []
        where !self.rules.value.metadata.servesOperations(key.aaid) {
            throw CeremonyError(.invalidRequest, "the model \(key.aaid) has no metadata, or is of no operation")
        }
        try await self.store.setInventedAccounts(
            distribution.map { JSON.object($0.json).text },
            audit: AuditEvent(.inventedAccountsSet, at: self.time.now(), actor: `operator`))
    }

    /// What invented accounts should look like to resemble those that there are now; nothing is set. `nil` where no
    /// kind of device is that of ``Limits/proposalAccounts`` accounts. Reads every key.
    public func proposedKeyDistribution() async throws -> KeyDistribution? {
        KeyDistribution(
            proposedFrom: try await self.store.keyStatistics(limit: self.limits.pageSize),
            accounts: self.limits.proposalAccounts)
    }

    // MARK: Accounts

    /// An account for a name that nobody has: an identifier of the form and length of every other one, and keys that
    /// nobody has, as the distribution has them; each device can answer by the policy. By whichever policy it is asked,
    /// a device has one key of a model.
    ///
    /// The same for the same name and distribution.
    func account(
        _ username: AccountName, for policy: Policy, named name: String?, _ rules: Rules,
        _ distribution: KeyDistribution
    ) throws -> (id: String, keys: [RegisteredCredential]) {
        let seed = self.sealing.code(username.key, purpose: .inventedKey)
        let id = Array(self.sealing.code(seed, purpose: .inventedAccount).prefix(Self.accountCount))
        let account = Base64URL.encode(id)
        let devices = KeyDistribution.index(of: Int(seed[0] & 15), in: distribution.devices) + 1
        var keys: [RegisteredCredential] = []
        for device in 1...devices {
            let draws = (Int(seed[device] & 15), Int(seed[device + 3]) << 8 | Int(seed[device + 6]))
            let models =
                try self.drawnModels(
                    draws, from: distribution, self.ableSets.value(of: name, policy, distribution, rules))
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

    /// The set of keys that the first of `draws` points to, where it can answer by the policy; else the one that the
    /// second points to among those that can. `nil` where none can.
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

    /// The key of an invented account that has this name: nobody holds it, and in everything else it is like one that
    /// is registered. `nil` for every other name.
    func key(_ id: CredentialID) -> RegisteredCredential? {
        let name = id.keyID.bytes
        guard name.count >= Self.shortestName, let statement = self.rules.value.metadata[id.aaid] else { return nil }
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
