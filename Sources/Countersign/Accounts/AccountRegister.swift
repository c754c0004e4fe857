import UAF
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The SDK's stored data of one account.
struct StoredAccount: Equatable {
    /// The maximum number of browsers that an account remembers. Beyond the maximum, the oldest browser is removed
    /// first.
    static let maximumBrowsers = 32
    /// The maximum number of stored enrolments out of band. Beyond the maximum, the oldest unconfirmed enrolment is
    /// removed first, together with its keys.
    static let maximumEnrolments = 8

    /// An enrolment out of band, which created a device at the server. The enrolment is removed together with the last
    /// of its keys.
    struct Enrolment: Equatable {
        /// The secret that proves to the account's server, and to no other server, that a later enrolment comes from
        /// this device.
        let secret: String
        /// The keys that the enrolment created, and the keys that joined its device in the app.
        var keys: [KeyName]
        /// The keys that the enrolment's keys replace, as soon as one of the enrolment's keys has answered.
        var replaced: [KeyName]
    }

    /// The account's identifier with its server.
    let key: AccountKey
    /// The account's name in the server's requests (UAF Protocol 1.1, `username`).
    let username: Username
    /// The account's keys, oldest first.
    var keys: [KeyName]
    /// The AppID for which the keys were made.
    var appID: String
    /// The browsers from which the person has confirmed something.
    var browsers: [String] = []
    /// The enrolments of which at least one key is left, oldest first.
    var enrolments: [Enrolment] = []
    /// The keys with which this device authenticates itself to the account's server; `nil` until the keys are made.
    var identity: DeviceIdentityKeys?
    /// `true` if the server has acknowledged the identity keys.
    var isIdentityKnown = false
    /// The server's identifier of this device as a target of dispatches; `nil` until the server has told the identifier.
    var targetID: String?
    /// `true` if a registration has still to create the dispatch target, which needs keys that the server knows.
    var isTargetOwed = false
}

/// The token of a deregistration that was sent, or was about to be sent, and whose answer is not yet carried out.
struct PendingDeregistration: Equatable, Sendable {
    /// The token, a secret.
    let token: String
    let redeemURL: URL
    /// The server of the accounts.
    let baseURL: URL
    /// The name of the encryption key of the only device that may redeem the token; `nil` for every device.
    let deviceKey: String?
}

/// The accounts and the data of the device: one value in the secure storage, always replaced as a whole.
actor AccountRegister: CustomReflectable {
    private static let name = "accounts"
    /// The version of the format. Version 2 identifies accounts by their server and an identifier.
    private static let version: Int64 = 2

    /// A mirror without children, because the register holds secrets and tokens.
    nonisolated var customMirror: Mirror { Mirror(self, children: [:]) }

    /// The maximum number of stored deregistration tokens of one server.
    private static let maximumDeregistrations = 8

    private struct Content: Equatable {
        var device: StoredDevice?
        var accounts: [StoredAccount] = []
        var deregistrations: [PendingDeregistration] = []
    }

    private let storage: any SecureStorage
    private var content: Content

    /// Opens the register. Throws ``StorageError``.
    init(storage: any SecureStorage) throws {
        self.storage = storage
        self.content = try storage.read(Self.name).map(Self.read) ?? Content()
    }

    var records: [StoredAccount] { self.content.accounts }
    /// The deregistrations that services have begun and that this device has not carried out, oldest first.
    var deregistrations: [PendingDeregistration] { self.content.deregistrations }
    /// The device's data; `nil` before the first registration and after the removal of the last account.
    var device: StoredDevice? { self.content.device }

    func record(of key: AccountKey) -> StoredAccount? { self.content.accounts.first { $0.key == key } }

    private static func index(of key: AccountKey, in content: Content) -> Int? {
        content.accounts.firstIndex { $0.key == key }
    }

    /// Adds keys that the server has accepted. With the first keys, the function also adds the account and the
    /// account's name at the server.
    ///
    /// The enrolment holds the secret that authenticates a later enrolment. The new keys replace nothing yet: see
    /// ``settle(_:of:)``. The first registration sets the device's data. An enrolment makes a new device at the server,
    /// and so does the first key of an account: the device's dispatch target is then still to be created.
    ///
    /// Keys that come from no enrolment out of band join the devices of the `confirmed` keys. If the account has too
    /// many enrolments, the function removes the oldest unconfirmed enrolment and returns its keys.
    func add(
        _ keys: [KeyName], to key: AccountKey, named username: Username, appID: String, device: StoredDevice?,
        confirmed: Set<KeyName> = [], enrolment: StoredAccount.Enrolment? = nil, identity: DeviceIdentityKeys? = nil
    ) throws -> [KeyName] {
        var content = self.content
        if content.device == nil { content.device = device }
        let found = Self.index(of: key, in: content)
        let index = found ?? content.accounts.endIndex
        if found == nil {
            content.accounts.append(StoredAccount(key: key, username: username, keys: [], appID: appID))
        }
        content.accounts[index].keys += keys
        content.accounts[index].appID = appID
        if found == nil || enrolment != nil {
            content.accounts[index].targetID = nil
            content.accounts[index].isTargetOwed = true
        }
        if content.accounts[index].identity == nil { content.accounts[index].identity = identity }
        var gone: [KeyName] = []
        if let enrolment {
            gone = content.accounts[index].makeRoomForEnrolment(keeping: confirmed)
            content.accounts[index].enrolments.append(enrolment)
        } else {
            for enrolment in content.accounts[index].enrolments.indices
            where !confirmed.isDisjoint(with: content.accounts[index].enrolments[enrolment].keys) {
                content.accounts[index].enrolments[enrolment].keys += keys
            }
        }
        try self.write(content)
        return gone
    }

    /// Replaces earlier keys of the account by keys to which the server has answered.
    ///
    /// These keys replace the account's earlier keys of the same models, and the keys that their enrolment was to
    /// replace. The function returns the replaced keys, so that the caller deletes them. Until then the account keeps
    /// all keys: a registration that is never confirmed costs no key.
    func settle(_ keys: [KeyName], of key: AccountKey) throws -> [KeyName] {
        var content = self.content
        guard let index = Self.index(of: key, in: content) else { return [] }
        let all = content.accounts[index].keys
        let settled = content.accounts[index].enrolments.filter {
            !$0.replaced.isEmpty && $0.keys.contains(where: keys.contains)
        }
        let replaced = all.enumerated().filter { position, key in
            all[(position + 1)...].contains { $0.aaid == key.aaid && keys.contains($0) }
                || !keys.contains(key) && settled.contains { $0.replaced.contains(key) }
        }.map(\.element)
        for enrolment in content.accounts[index].enrolments.indices
        where content.accounts[index].enrolments[enrolment].keys.contains(where: keys.contains) {
            content.accounts[index].enrolments[enrolment].replaced = []
        }
        content.accounts[index].drop(replaced)
        try self.write(content)
        return replaced
    }

    /// Removes keys of an account. An account without a key of the person is removed, and the device's data are removed
    /// with the last account. Returns all removed keys.
    func remove(_ keys: [KeyName], from key: AccountKey) throws -> [KeyName] {
        var content = self.content
        let gone = Self.remove(keys, from: key, &content)
        try self.write(content)
        return gone
    }

    /// Removes keys of accounts, and in the same write the token of the deregistration. Returns all removed keys with
    /// their AppIDs.
    func remove(_ keys: [(record: StoredAccount, keys: [KeyName])], endingDeregistrationBy token: String) throws
        -> [(appID: String, key: KeyName)]
    {
        var content = self.content
        var gone: [(appID: String, key: KeyName)] = []
        for (record, keys) in keys {
            gone += Self.remove(keys, from: record.key, &content).map { (record.appID, $0) }
        }
        content.deregistrations.removeAll { $0.token == token }
        try self.write(content)
        return gone
    }

    private static func remove(_ keys: [KeyName], from key: AccountKey, _ content: inout Content) -> [KeyName] {
        guard let index = self.index(of: key, in: content) else { return keys }
        var gone = keys
        content.accounts[index].drop(keys)
        let left = content.accounts[index].keys
        if !left.contains(where: { AuthenticatorModel(aaid: $0.aaid)?.info.isSilent == false }) {
            gone += left
            content.accounts.remove(at: index)
        }
        if content.accounts.isEmpty { content.device = nil }
        return gone
    }

    /// Stores a deregistration token before the token is sent.
    ///
    /// Throws ``EngineError`` (`unavailable`) if too many deregistrations of the same server already wait for an
    /// answer. Dropping one of them would leave its keys on this device permanently; redeeming the new token without
    /// storing it would do the same.
    func note(_ deregistration: PendingDeregistration) throws {
        guard !self.content.deregistrations.contains(deregistration) else { return }
        var content = self.content
        content.deregistrations.append(deregistration)
        guard
            content.deregistrations.count(where: { $0.baseURL == deregistration.baseURL })
                <= Self.maximumDeregistrations
        else {
            throw EngineError(.unavailable, "too many deregistrations wait for the server's answer")
        }
        try self.write(content)
    }

    /// Removes a token for which no answer can arrive any more.
    func settle(_ deregistration: PendingDeregistration) throws {
        var content = self.content
        content.deregistrations.removeAll { $0 == deregistration }
        try self.write(content)
    }

    /// Stores the keys with which the device authenticates itself. If the account already has such keys, the function
    /// keeps and returns the existing keys. Returns `nil` if the account does not exist.
    func keep(_ identity: DeviceIdentityKeys, of key: AccountKey) throws -> DeviceIdentityKeys? {
        var content = self.content
        guard let index = Self.index(of: key, in: content) else { return nil }
        if let kept = content.accounts[index].identity { return kept }
        content.accounts[index].identity = identity
        try self.write(content)
        return identity
    }

    /// Records whether the server knows the device's identity keys, if the account still has the given keys.
    func note(isKnown: Bool, _ identity: DeviceIdentityKeys, of key: AccountKey) throws {
        var content = self.content
        guard let index = Self.index(of: key, in: content), content.accounts[index].identity == identity else { return }
        content.accounts[index].isIdentityKnown = isKnown
        try self.write(content)
    }

    /// Removes the device's identity keys and the note that the server knows the keys, if the account still has the
    /// given keys.
    func forget(_ identity: DeviceIdentityKeys, of key: AccountKey) throws {
        var content = self.content
        guard let index = Self.index(of: key, in: content), content.accounts[index].identity == identity else { return }
        content.accounts[index].identity = nil
        content.accounts[index].isIdentityKnown = false
        try self.write(content)
    }

    /// Returns the device's data with an identifier. A device that an earlier version has enrolled gets its identifier
    /// now, unless the storage refuses.
    func identifiedDevice(random: RandomSource) -> StoredDevice? {
        guard var device = self.content.device, device.id == nil else { return self.content.device }
        device.id = StoredDevice.newIdentifier(random)
        var content = self.content
        content.device = device
        try? self.write(content)
        return self.content.device
    }

    /// Changes the device's data. Returns the changed data; `nil` if this device has no account.
    @discardableResult
    func change(_ change: StoredDevice.Change) throws -> StoredDevice? {
        var content = self.content
        content.device = content.device?.applying(change)
        try self.write(content)
        return self.content.device
    }

    /// Records the server's identifier of this device; `nil` if the server has no dispatch target for the device, and
    /// the registration cannot create the target any more.
    func note(targetID: String?, of key: AccountKey) throws {
        var content = self.content
        guard let index = Self.index(of: key, in: content) else { return }
        content.accounts[index].targetID = targetID
        content.accounts[index].isTargetOwed = false
        try self.write(content)
    }

    func isApproved(browser: String, by key: AccountKey) -> Bool {
        self.record(of: key)?.browsers.containsBytes(of: browser) ?? false
    }

    func approve(browser: String, by key: AccountKey) throws {
        var content = self.content
        guard let index = Self.index(of: key, in: content) else { return }
        content.accounts[index].browsers.removeAll { $0.hasSameBytes(as: browser) }
        content.accounts[index].browsers.append(browser)
        if content.accounts[index].browsers.count > StoredAccount.maximumBrowsers {
            content.accounts[index].browsers.removeFirst()
        }
        try self.write(content)
    }

    private func write(_ content: Content) throws {
        guard content != self.content else { return }
        var object: JSONObject = ["version": .integer(Self.version)]
        content.device?.write(to: &object)
        object["accounts"] = .array(
            content.accounts.map { account in
                var object: JSONObject = [
                    "server": .string(account.key.server.absoluteString), "id": .string(account.key.id.text),
                    "username": .string(account.username), "appID": .string(account.appID),
                    "browsers": .array(account.browsers.map { .string($0) }),
                    "enrolments": .array(account.enrolments.map { .object($0.json) }),
                    "keys": .array(account.keys.map { .object($0.json) }),
                ]
                object["identity"] = account.identity.map { .object($0.json) }
                if account.isIdentityKnown { object["identityKnown"] = .bool(true) }
                object["target"] = account.targetID.map { .string($0) }
                if account.isTargetOwed { object["targetOwed"] = .bool(true) }
                return .object(object)
            })
        if !content.deregistrations.isEmpty {
            object["deregistrations"] = .array(
                content.deregistrations.map { deregistration in
                    var object: JSONObject = [
                        "token": .string(deregistration.token),
                        "redeemUrl": .string(deregistration.redeemURL.absoluteString),
                        "baseUrl": .string(deregistration.baseURL.absoluteString),
                    ]
                    object["deviceKey"] = deregistration.deviceKey.map(JSON.string)
                    return .object(object)
                })
        }
        let bytes = JSON.object(object).serialized
        // An unreadable value is not written, because reading it back would fail and cost every account.
        do { _ = try Self.read(bytes) } catch { throw StorageError(.unavailable, "not written, because \(error)") }
        try self.storage.write(bytes, to: Self.name)
        self.content = content
    }

    /// Reads the formats of this version and of earlier versions.
    ///
    /// Throws ``StorageError``: `newer` for a value of a later version, `corrupt` for every other failure.
    private static func read(_ bytes: [UInt8]) throws -> Content {
        do {
            // Any name that an app has given can be read back.
            let limits = JSONLimits(bytes: 1 << 20, depth: 8, values: 100_000, takesNUL: true)
            guard case .object(let object) = try JSON(parsing: bytes, limits: limits) else {
                throw StorageError(.corrupt, "the accounts are no object")
            }
            let version: Int64 = try object.requiredInteger("version")
            guard version <= Self.version else { throw StorageError(.newer, "the accounts are of version \(version)") }
            guard version >= 1 else { throw StorageError(.corrupt, "the accounts are of no version") }
            var content = Content()
            content.device = try StoredDevice(in: object)
            guard let accounts = try object.array("accounts") else { throw JSONError(.missing, "accounts") }
            for case .object(let account) in accounts {
                let keys = try Self.keys("keys", of: account)
                let (key, username) = try Self.names(of: account, version: version)
                content.accounts.append(
                    StoredAccount(
                        key: key, username: username, keys: keys, appID: try account.requiredString("appID"),
                        browsers: try account.strings("browsers") ?? [],
                        enrolments: try StoredAccount.Enrolment.read(from: account, keys),
                        identity: try account.object("identity").map { try DeviceIdentityKeys(json: $0) },
                        isIdentityKnown: try account.bool("identityKnown") ?? false,
                        targetID: try account.string("target"),
                        isTargetOwed: try account.bool("targetOwed") ?? false))
            }
            for case .object(let deregistration) in try object.array("deregistrations") ?? [] {
                guard let redeemURL = URL(string: try deregistration.requiredString("redeemUrl")),
                    let baseURL = URL(string: try deregistration.requiredString("baseUrl"))
                else { throw StorageError(.corrupt, "a deregistration's address") }
                content.deregistrations.append(
                    PendingDeregistration(
                        token: try deregistration.requiredString("token"), redeemURL: redeemURL, baseURL: baseURL,
                        deviceKey: try deregistration.string("deviceKey")))
            }
            return content
        } catch let error as StorageError {
            throw error
        } catch {
            throw StorageError(.corrupt, "the accounts: \(error)")
        }
    }

    /// Returns an account's key and its name. Version 1 identified accounts by the name alone, and did not record the
    /// name's spelling.
    private static func names(of account: JSONObject, version: Int64) throws -> (AccountKey, Username) {
        guard let server = URL(string: try account.requiredString(version == 1 ? "baseUrl" : "server")) else {
            throw StorageError(.corrupt, "an account's server")
        }
        let name = try account.requiredString("username")
        guard version == 1 else {
            return (AccountKey(server: server, id: ExactText(try account.requiredString("id"))), name)
        }
        let username = name.normalizedUsername ?? name
        return (AccountKey(server: server, username: username), username)
    }

    static func keys(_ name: String, of object: JSONObject) throws -> [KeyName] {
        try (object.array(name) ?? []).map { value in
            guard case .object(let key) = value else { throw StorageError(.corrupt, "a key is not an object") }
            return try KeyName(json: key)
        }
    }
}

extension StoredAccount {
    /// Removes keys, and each enrolment without remaining keys.
    fileprivate mutating func drop(_ gone: [KeyName]) {
        self.keys.removeAll(where: gone.contains)
        for index in self.enrolments.indices {
            self.enrolments[index].keys.removeAll(where: gone.contains)
            self.enrolments[index].replaced.removeAll(where: gone.contains)
        }
        self.enrolments.removeAll { $0.keys.isEmpty }
    }

    /// Removes an enrolment if the account has too many enrolments: the oldest unconfirmed enrolment, with its keys. An
    /// enrolment by which this device proves its identity (`confirmed`) is never chosen.
    ///
    /// If all enrolments were confirmed, the function removes the oldest enrolment's secret only. Returns the removed
    /// keys.
    fileprivate mutating func makeRoomForEnrolment(keeping confirmed: Set<KeyName>) -> [KeyName] {
        guard self.enrolments.count >= Self.maximumEnrolments else { return [] }
        guard let index = self.enrolments.firstIndex(where: { confirmed.isDisjoint(with: $0.keys) }) else {
            self.enrolments.removeFirst()
            return []
        }
        let gone = self.enrolments[index].keys
        self.drop(gone)
        return gone
    }
}

extension StoredAccount.Enrolment {
    fileprivate var json: JSONObject {
        [
            "secret": .string(self.secret), "keys": .array(self.keys.map { .object($0.json) }),
            "replaced": .array(self.replaced.map { .object($0.json) }),
        ]
    }

    /// Reads the enrolments of a stored account. The earlier format has secrets without their keys: each secret may
    /// belong to all of the keys, or to none.
    fileprivate static func read(from account: JSONObject, _ keys: [KeyName]) throws -> [Self] {
        guard let values = try account.array("enrolments") else {
            return try (account.strings("secrets") ?? []).map { Self(secret: $0, keys: keys, replaced: []) }
        }
        return try values.map { value in
            guard case .object(let enrolment) = value else { throw StorageError(.corrupt, "an enrolment") }
            return Self(
                secret: try enrolment.requiredString("secret"), keys: try AccountRegister.keys("keys", of: enrolment),
                replaced: try AccountRegister.keys("replaced", of: enrolment))
        }
    }
}

extension KeyName {
    /// The key's name in the storage format, which is also the servers' format.
    var json: JSONObject { ["aaid": .string(self.aaid.text), "keyID": .string(self.keyID.base64URL)] }

    fileprivate init(json object: JSONObject) throws {
        self.init(
            aaid: try AAID(try object.requiredString("aaid")),
            keyID: try KeyID(base64URL: try object.requiredString("keyID")))
    }
}
