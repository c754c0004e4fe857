import UAF
import UAFClient
import _Primitives

/// What goes with a registration out of band, so that one device stays one device.
///
/// The phone makes a secret at each enrolment, keeps it with the account and gives it to that account's server alone,
/// which keeps a code of it. An enrolment over keys that cannot answer any more shows the secrets of before: the server
/// then knows the old device, and takes its keys away once the new one is confirmed. A name or a model would prove
/// nothing: anybody can have them.
struct EnrolmentProof: Sendable {
    /// The most keys that are named to the server: those that it knows as a device's before those that were never
    /// confirmed, and of each the newest first.
    private static let maximumKeys = 16

    /// The secret of this enrolment: 32 random bytes, base64url.
    let secret: String
    /// The secrets of earlier enrolments of the account.
    let former: [String]
    /// The account's keys that the new ones are to take the place of, oldest first.
    let replaced: [KeyName]
    /// Those of them that the server has confirmed.
    private let confirmed: Set<KeyName>

    /// For new keys of an account; `record` is what the device has of it, at the server that it registers at.
    init(for keys: [KeyName], of record: StoredAccount?, _ core: ClientCore) async throws {
        self.secret = Base64URL.encode(core.platform.random.bytes(32))
        self.former = record?.enrolments.map(\.secret) ?? []
        self.confirmed = await core.confirmedKeys(of: record)
        let spent = try await core.spentKeys(of: record)
        let models = Set(keys.map(\.aaid))
        self.replaced = (record?.keys ?? []).filter { models.contains($0.aaid) || spent.contains($0) }
    }

    /// What is kept of the enrolment that made those keys.
    func enrolment(of keys: [KeyName]) -> StoredAccount.Enrolment {
        StoredAccount.Enrolment(secret: self.secret, keys: keys, replaced: self.replaced)
    }

    /// Adds what the server is told.
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

extension ClientCore {
    /// The keys of an account that the server has confirmed, also where they cannot answer any more.
    func confirmedKeys(of record: StoredAccount?) async -> Set<KeyName> {
        guard let record else { return [] }
        let own = Set(record.keys)
        return Set(
            await self.module.registrations(appID: record.appID).filter { !$0.isPending }.map(\.name)
        ).intersection(own)
    }

    /// Where a device is full: lets the keys of an account go that were never confirmed, before a further enrolment of it
    /// is refused for them.
    func makeRoom(for count: Int, of record: StoredAccount?) async throws {
        guard let record, await !self.module.hasRoom(for: count) else { return }
        let confirmed = await self.confirmedKeys(of: record)
        // An account keeps a key that a person answers with.
        guard confirmed.contains(where: { AuthenticatorModel(aaid: $0.aaid)?.info.isSilent == false }) else { return }
        try await self.forget(record.keys.filter { !confirmed.contains($0) }, of: record)
    }

    /// The keys of an account that cannot answer any more: those that are locked or gone, and where no other is left
    /// that a person answers with, what came along with them.
    func spentKeys(of record: StoredAccount?) async throws -> [KeyName] {
        guard let record else { return [] }
        let pending = Set(await self.module.registrations(appID: record.appID).filter(\.isPending).map(\.name))
        var spent: [KeyName] = []
        var silent: [KeyName] = []
        var hasOther = false
        for key in record.keys {
            if AuthenticatorModel(aaid: key.aaid)?.info.isSilent == true {
                silent.append(key)
            } else if try await !self.module.canAnswer(key) {
                spent.append(key)
            } else if !pending.contains(key) {
                hasOther = true
            }
        }
        return spent.isEmpty || hasOther ? spent : spent + silent
    }
}
