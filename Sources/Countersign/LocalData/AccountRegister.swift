import UAF
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What the SDK keeps of an account.
struct AccountRecord: Equatable {
    /// The most browsers that an account remembers; the oldest goes first.
    static let maximumBrowsers = 32
    /// The most enrolments whose secret is kept; the oldest goes first.
    static let maximumSecrets = 8

    /// Keys that go once a newer one has answered.
    struct Replacement: Equatable {
        let key: KeyName
        var replaced: [KeyName]
    }

    var username: Username
    var baseUrl: URL
    /// The account's keys, oldest first.
    var keys: [KeyName]
    /// The AppID that the keys were made for.
    var appID: String
    /// The browsers that the person has confirmed something from.
    var browsers: [String] = []
    /// What proves to the account's server, and to nobody else, that a later enrolment comes from this device: one for
    /// each enrolment, oldest first.
    var secrets: [String] = []
    /// What newer keys take the place of, as soon as they are confirmed.
    var replacements: [Replacement] = []

    var account: Account { Account(username: self.username, server: Account.Server(baseUrl: self.baseUrl)) }
}

/// The accounts of the device and its name, one value in the secure storage that is replaced as a whole.
actor AccountRegister {
    private static let name = "accounts"

    /// The most tokens that are kept; the oldest goes first.
    private static let maximumDeregistrations = 8

    private struct Content: Equatable {
        var deviceName: String?
        var accounts: [AccountRecord] = []
        var deregistrations: [PendingDeregistration] = []
    }

    private let storage: any SecureStorage
    private var content: Content

    /// Throws ``StorageError``.
    init(storage: any SecureStorage) throws {
        self.storage = storage
        self.content = try Self.read(storage)
    }

    var records: [AccountRecord] { self.content.accounts }
    /// What services have begun and this device has not carried out, oldest first.
    var deregistrations: [PendingDeregistration] { self.content.deregistrations }
    var deviceInformation: DeviceInformation? { self.content.deviceName.map(DeviceInformation.init(name:)) }

    func record(of username: Username) -> AccountRecord? { self.content.accounts.first { $0.username == username } }

    /// Adds keys that the server has taken, and with them what a later enrolment proves itself by. They replace nothing
    /// yet: see ``settle(_:of:)``. The first registration names the device.
    func add(
        _ keys: [KeyName], to username: Username, baseUrl: URL, appID: String, deviceName: String?,
        proof: EnrolmentProof? = nil
    ) throws {
        var content = self.content
        if content.deviceName == nil { content.deviceName = deviceName }
        let found = content.accounts.firstIndex { $0.username == username }
        let index = found ?? content.accounts.endIndex
        if found == nil {
            content.accounts.append(AccountRecord(username: username, baseUrl: baseUrl, keys: [], appID: appID))
        }
        content.accounts[index].keys += keys
        content.accounts[index].appID = appID
        if let proof {
            content.accounts[index].secrets.append(proof.secret)
            if content.accounts[index].secrets.count > AccountRecord.maximumSecrets {
                content.accounts[index].secrets.removeFirst()
            }
            if !proof.replaced.isEmpty {
                content.accounts[index].replacements += keys.map {
                    AccountRecord.Replacement(key: $0, replaced: proof.replaced)
                }
            }
        }
        try self.write(content)
    }

    /// Lets keys that the server answers to take the place of the account's earlier keys of their models, and of those
    /// that their enrolment was to replace. These are returned, to be deleted. Until then all are here: a registration
    /// that is never confirmed costs no key.
    func settle(_ keys: [KeyName], of username: Username) throws -> [KeyName] {
        var content = self.content
        guard let index = content.accounts.firstIndex(where: { $0.username == username }) else { return [] }
        let all = content.accounts[index].keys
        let settled = content.accounts[index].replacements.filter { keys.contains($0.key) }
        let replaced = all.enumerated().filter { position, key in
            all[(position + 1)...].contains { $0.aaid == key.aaid && keys.contains($0) }
                || !keys.contains(key) && settled.contains { $0.replaced.contains(key) }
        }.map(\.element)
        content.accounts[index].keys.removeAll { replaced.contains($0) }
        content.accounts[index].replacements.removeAll { keys.contains($0.key) || replaced.contains($0.key) }
        try self.write(content)
        return replaced
    }

    /// Forgets keys; an account without a person's key goes, and the device's name with the last account. Returns all
    /// keys that go.
    func remove(_ keys: [KeyName], from username: Username) throws -> [KeyName] {
        var content = self.content
        let gone = Self.remove(keys, from: username, &content)
        try self.write(content)
        return gone
    }

    /// Forgets keys of accounts, and in the same write the token that they were deleted by. Returns all keys that go, with
    /// their AppIDs.
    func remove(_ keys: [(record: AccountRecord, keys: [KeyName])], endingDeregistrationBy token: String) throws
        -> [(appID: String, key: KeyName)]
    {
        var content = self.content
        var gone: [(appID: String, key: KeyName)] = []
        for (record, keys) in keys {
            gone += Self.remove(keys, from: record.username, &content).map { (record.appID, $0) }
        }
        content.deregistrations.removeAll { $0.token == token }
        try self.write(content)
        return gone
    }

    private static func remove(_ keys: [KeyName], from username: Username, _ content: inout Content) -> [KeyName] {
        guard let index = content.accounts.firstIndex(where: { $0.username == username }) else { return keys }
        var gone = keys
        content.accounts[index].keys.removeAll { keys.contains($0) }
        content.accounts[index].replacements.removeAll { keys.contains($0.key) }
        let left = content.accounts[index].keys
        if !left.contains(where: { AuthenticatorModel(aaid: $0.aaid)?.info.isSilent == false }) {
            gone += left
            content.accounts.remove(at: index)
        }
        if content.accounts.isEmpty { content.deviceName = nil }
        return gone
    }

    /// Writes down a token of a deregistration before it leaves.
    func note(_ deregistration: PendingDeregistration) throws {
        guard !self.content.deregistrations.contains(deregistration) else { return }
        var content = self.content
        content.deregistrations.append(deregistration)
        if content.deregistrations.count > Self.maximumDeregistrations { content.deregistrations.removeFirst() }
        try self.write(content)
    }

    /// Forgets a token that no answer is to be had for.
    func settle(_ deregistration: PendingDeregistration) throws {
        var content = self.content
        content.deregistrations.removeAll { $0 == deregistration }
        try self.write(content)
    }

    func isApproved(browser: String, by username: Username) -> Bool {
        self.record(of: username)?.browsers.contains(browser) ?? false
    }

    func approve(browser: String, by username: Username) throws {
        var content = self.content
        guard let index = content.accounts.firstIndex(where: { $0.username == username }) else { return }
        content.accounts[index].browsers.removeAll { $0 == browser }
        content.accounts[index].browsers.append(browser)
        if content.accounts[index].browsers.count > AccountRecord.maximumBrowsers {
            content.accounts[index].browsers.removeFirst()
        }
        try self.write(content)
    }

    private func write(_ content: Content) throws {
        guard content != self.content else { return }
        var object: JSONObject = ["version": .integer(1)]
        object["deviceName"] = content.deviceName.map { .string($0) }
        object["accounts"] = .array(
            content.accounts.map { account in
                .object([
                    "username": .string(account.username), "baseUrl": .string(account.baseUrl.absoluteString),
                    "appID": .string(account.appID), "browsers": .array(account.browsers.map { .string($0) }),
                    "secrets": .array(account.secrets.map { .string($0) }),
                    "replacements": .array(
                        account.replacements.map { replacement in
                            .object([
                                "key": .object(replacement.key.json),
                                "replaced": .array(replacement.replaced.map { .object($0.json) }),
                            ])
                        }),
                    "keys": .array(account.keys.map { .object($0.json) }),
                ])
            })
        if !content.deregistrations.isEmpty {
            object["deregistrations"] = .array(
                content.deregistrations.map { deregistration in
                    .object([
                        "token": .string(deregistration.token),
                        "redeemUrl": .string(deregistration.redeemUrl.absoluteString),
                        "baseUrl": .string(deregistration.baseUrl.absoluteString),
                    ])
                })
        }
        try self.storage.write(JSON.object(object).serialized, to: Self.name)
        self.content = content
    }

    private static func read(_ storage: any SecureStorage) throws -> Content {
        guard let bytes = try storage.read(self.name) else { return Content() }
        do {
            let limits = JSONLimits(bytes: 1 << 20, depth: 8, values: 100_000)
            guard case .object(let object) = try JSON(parsing: bytes, limits: limits),
                try object.requiredInteger("version", as: Int.self) == 1
            else { throw StorageError(.corrupt, "the accounts are of another version") }
            var content = Content()
            content.deviceName = try object.string("deviceName")
            for case .object(let account) in try object.array("accounts") ?? [] {
                guard let baseUrl = URL(string: try account.requiredString("baseUrl")) else {
                    throw StorageError(.corrupt, "an account's address")
                }
                // An account of before has neither secrets nor replacements.
                content.accounts.append(
                    AccountRecord(
                        username: try account.requiredString("username"), baseUrl: baseUrl,
                        keys: try Self.keys("keys", of: account), appID: try account.requiredString("appID"),
                        browsers: try account.strings("browsers") ?? [], secrets: try account.strings("secrets") ?? [],
                        replacements: try (account.array("replacements") ?? []).map { value in
                            guard case .object(let replacement) = value, let key = try replacement.object("key") else {
                                throw StorageError(.corrupt, "a replacement")
                            }
                            return AccountRecord.Replacement(
                                key: try KeyName(json: key), replaced: try Self.keys("replaced", of: replacement))
                        }))
            }
            for case .object(let deregistration) in try object.array("deregistrations") ?? [] {
                guard let redeemUrl = URL(string: try deregistration.requiredString("redeemUrl")),
                    let baseUrl = URL(string: try deregistration.requiredString("baseUrl"))
                else { throw StorageError(.corrupt, "a deregistration's address") }
                content.deregistrations.append(
                    PendingDeregistration(
                        token: try deregistration.requiredString("token"), redeemUrl: redeemUrl, baseUrl: baseUrl))
            }
            return content
        } catch let error as StorageError {
            throw error
        } catch {
            throw StorageError(.corrupt, "the accounts: \(error)")
        }
    }

    private static func keys(_ name: String, of object: JSONObject) throws -> [KeyName] {
        try (object.array(name) ?? []).map { value in
            guard case .object(let key) = value else { throw StorageError(.corrupt, "a key is not an object") }
            return try KeyName(json: key)
        }
    }
}

extension KeyName {
    /// As it is stored, and as servers name keys.
    var json: JSONObject { ["aaid": .string(self.aaid.text), "keyID": .string(self.keyID.base64URL)] }

    fileprivate init(json object: JSONObject) throws {
        self.init(
            aaid: try AAID(try object.requiredString("aaid")),
            keyID: try KeyID(base64URL: try object.requiredString("keyID")))
    }
}
