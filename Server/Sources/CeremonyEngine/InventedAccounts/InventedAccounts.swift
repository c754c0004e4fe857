import Records
import Sealing
import Settings
import UAF
import UAFRelyingParty
import _Primitives

/// Invented accounts for names without an account, and the names of their keys.
///
/// A document describes the invented accounts (``KeyDistribution``). Keyed digests (HMAC-SHA256, one key for each of
/// the purposes in quotation marks) select a name's devices and sets of keys in the document, and make the names of the
/// keys:
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
/// The tag is a synthetic IV: the tag makes the mask, and authenticates the masked bytes. To every other party a KeyID
/// looks random, like the KeyIDs that the product's own authenticators draw. The server alone can read the account from
/// a KeyID. So the server judges a message with an invented KeyID like a message with a registered key. No KeyID is
/// shorter (UAF Protocol §1).
public struct InventedAccounts: CeremonyPart {
    private static let tagCount = 15
    private static let accountCount = 16
    /// The length of tag, account and device.
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

    /// Returns the distribution of invented accounts: the operator's, or the standard distribution.
    public func keyDistribution() async throws -> KeyDistribution {
        self.distribution(of: try await self.store.inventedAccounts())
    }

    /// Returns the distribution of a stored document; the standard distribution without a document.
    func distribution(of document: String?) -> KeyDistribution {
        self.read.value(of: document, refused: self.configuration.inventedAccountsRefused)
    }

    /// Sets the distribution of invented accounts from now on; `nil` restores the standard distribution. Throws
    /// `invalidRequest` for a model without metadata, and for the model for ceremonies of personalised identities
    /// alone.
    ///
    /// A caller that asked for a name before and asks again can see a changed answer.
    public func setKeyDistribution(_ distribution: KeyDistribution?, by operator: String) async throws {
        for key in distribution?.sets.flatMap(\.keys) ?? []
        where !self.rules.value.metadata.servesOperations(key.aaid) {
            throw CeremonyError(.invalidRequest, "the model \(key.aaid) has no metadata, or is of no operation")
        }
        try await self.store.setInventedAccounts(
            distribution.map { JSON.object($0.json).text },
            audit: AuditEvent(.inventedAccountsSet, at: self.time.now(), actor: `operator`))
    }

    /// Returns a distribution that resembles the present accounts, without setting the distribution. `nil` if no kind
    /// of device, or no number of devices, occurs in ``Limits/proposalAccounts`` accounts. Reads every key.
    public func proposedKeyDistribution() async throws -> KeyDistribution? {
        KeyDistribution(
            proposedFrom: try await self.store.keyStatistics(limit: self.limits.pageSize),
            accounts: self.limits.proposalAccounts)
    }

    // MARK: Accounts

    /// Returns the account for a name without an account: an identifier in the usual form and length, and invented keys
    /// by the distribution. Each device can answer by the policy. A device has the same key of a model for every
    /// policy.
    ///
    /// The result is the same for the same name and distribution.
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
                // Two bits are the device's number, six bits distinguish its keys of one model.
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

    /// Returns the set of keys at the first of `draws` if the set can answer by the policy; otherwise the set at the
    /// second draw among the sets that can answer. `nil` if no set can answer.
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

    /// Returns keys that meet an alternative of the policy, for a distribution without suitable keys.
    private func modelsOfPolicy(_ policy: Policy, by draw: Int, _ rules: Rules) throws -> [KeyDistribution.Key] {
        let alternative = policy.accepted[draw % policy.accepted.count]
        return try alternative.map { criterion in
            let able = rules.requests.models(meeting: criterion, in: policy)
            // A device has its keys in one key store, and most devices have theirs in a file.
            let inFile = able.filter { AuthenticatorModel(aaid: $0)?.keyStore == .file }
            let known = inFile.isEmpty ? able : inFile
            guard !known.isEmpty else { throw CeremonyError(.invalidRequest, "a policy that nothing meets") }
            return KeyDistribution.Key(aaid: known[(draw >> 8) % known.count], keyIDLength: Self.shortestName)
        }
    }

    /// Returns the key of an invented account with this name; `nil` for every other name. No client holds the key. In
    /// all other respects the key is like a registered key.
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

    /// Returns the bytes after the first 32 of a name with this length.
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

    /// Returns the tag of a name. For a longer name the tag also covers the length, so no byte can be added or removed.
    private func inventedKeyTag(_ model: AAID, _ holder: [UInt8], length: Int) -> [UInt8] {
        let more = length == Self.shortestName ? [] : [UInt8(length >> 8), UInt8(length & 255)]
        return Array(
            self.sealing.code(holder + Array(model.text.utf8) + more, purpose: .inventedKeyTag).prefix(Self.tagCount))
    }

    private func masked(_ bytes: [UInt8], by tag: [UInt8]) -> [UInt8] {
        zip(bytes, self.sealing.code(tag, purpose: .inventedKeyMask)).map { $0 ^ $1 }
    }
}
