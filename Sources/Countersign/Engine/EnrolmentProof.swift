import UAF
import UAFClient
import _Primitives

/// The proof that a registration out of band comes from a device that the server knows. With the proof, the server does
/// not count one phone as two devices.
///
/// The phone makes a secret at each enrolment. The phone keeps the secret with the account, and gives the secret only
/// to the account's server. The server keeps only a keyed hash of the secret. If the keys of an earlier enrolment
/// cannot answer any more, the next enrolment shows the earlier secrets. The server then recognises the old device, and
/// removes the device's keys once the new key is confirmed. The name or the model of a phone would prove nothing,
/// because other phones have the same name and model.
struct EnrolmentProof: Sendable {
    /// The maximum number of keys that are named to the server. Confirmed keys, which the server knows as a device's
    /// keys, come before unconfirmed keys; each group is sorted newest first.
    private static let maximumKeys = 16

    /// The secret of this enrolment: 32 random bytes, base64url.
    let secret: String
    /// The secrets of earlier enrolments of the account.
    let former: [String]
    /// The account's keys that the new keys replace, oldest first.
    let replaced: [KeyName]
    /// The keys that the server has confirmed.
    private let confirmed: Set<KeyName>

    /// Creates the proof for new keys of an account; `record` is the device's stored data of the account at the server
    /// of the registration.
    init(for keys: [KeyName], of record: StoredAccount?, _ module: AuthenticatorModule, random: RandomSource)
        async throws
    {
        self.secret = Base64URL.encode(random.bytes(32))
        self.former = record?.enrolments.map(\.secret) ?? []
        self.confirmed = await module.confirmedKeys(of: record)
        let spent = try await module.spentKeys(of: record)
        let models = Set(keys.map(\.aaid))
        self.replaced = (record?.keys ?? []).filter { models.contains($0.aaid) || spent.contains($0) }
    }

    /// Returns the enrolment record of the new keys for the storage.
    func enrolment(of keys: [KeyName]) -> StoredAccount.Enrolment {
        StoredAccount.Enrolment(secret: self.secret, keys: keys, replaced: self.replaced)
    }

    /// Adds the proof to the message for the server.
    func add(to context: inout JSONObject) {
        context["deviceSecret"] = .string(self.secret)
        guard !self.former.isEmpty, !self.replaced.isEmpty else { return }
        context["replaces"] = .object([
            "secrets": .array(self.former.map { .string($0) }),
            "keys": .array(self.named.map { .object($0.json) }),
        ])
    }
}

extension EnrolmentProof {
    private var named: some Sequence<KeyName> {
        let newest = self.replaced.reversed()
        return (newest.filter(self.confirmed.contains) + newest.filter { !self.confirmed.contains($0) })
            .prefix(Self.maximumKeys)
    }
}

extension AuthenticatorModule {
    /// Returns the keys of an account that the server has confirmed, including keys that cannot answer any more.
    func confirmedKeys(of record: StoredAccount?) -> Set<KeyName> {
        guard let record else { return [] }
        let own = Set(record.keys)
        return Set(self.registrations(appID: record.appID).filter { !$0.isPending }.map(\.name)).intersection(own)
    }

    /// Returns the keys of an account that cannot answer any more: locked or lost keys, and also the silent keys if no
    /// other key is left with which a person answers.
    func spentKeys(of record: StoredAccount?) throws -> [KeyName] {
        guard let record else { return [] }
        let pending = Set(self.registrations(appID: record.appID).filter(\.isPending).map(\.name))
        var spent: [KeyName] = []
        var silent: [KeyName] = []
        var hasOther = false
        for key in record.keys {
            if AuthenticatorModel(aaid: key.aaid)?.info.isSilent == true {
                silent.append(key)
            } else if try !self.canAnswer(key) {
                spent.append(key)
            } else if !pending.contains(key) {
                hasOther = true
            }
        }
        return spent.isEmpty || hasOther ? spent : spent + silent
    }
}
