import Foundation
import UAF
import UAFClient
import _Primitives

/// A stored identity of a server on this device: the activation, and the keys that sign for the identity.
struct StoredIdentity: Equatable, Sendable {
    /// The state of the identity on this device.
    enum State: String, Hashable, Sendable {
        /// The keys were sent, or were about to be sent, and the server's receipt has not arrived.
        case pending
        /// The identity is in use: its keys answer.
        case active
        /// The identity was removed from this device, and the server has not been told yet. Only the data for telling
        /// the server is left.
        case ending
    }

    /// The server's identifier.
    let server: String
    /// The server's identifier of the account: opaque.
    let account: String
    /// The server's identifier of this device among the account's devices.
    let activation: String
    /// The AppID of the identity's factors.
    let appID: String
    /// The name of the account in registrations of factors.
    let username: String
    /// The keys with which the device authenticates itself.
    let device: DeviceIdentityKeys
    /// The time at which the identity was made.
    let created: Timestamp
    var state = State.pending
    /// The person's name for the device.
    var name: String
    /// The keys of the identity's factors, except the PIN's key.
    var keys: [KeyName]
    /// The keys of factors that were sent and whose receipt has not arrived. Nothing is signed with them before the
    /// receipt.
    var unconfirmed: [KeyName] = []
    /// The time, by the server's clock, at which the last request without a receipt was sent; `nil` if no request is on
    /// its way, and if an earlier version has written the identity.
    var sent: Timestamp?
    /// The data from which the PIN's key is made; `nil` once the identity has ended.
    var pin: StoredServerPin?
    /// The time of the last authentication with the identity.
    var lastUsed: Timestamp?
    /// The app's name (its facet) at the time when the identity was made, with which its keys are opened; `nil` if an
    /// earlier version has written the identity.
    var facet: String?
}

/// The stored data of a server that manages identities.
struct StoredServer: Hashable, Sendable {
    /// The server's key set, as its root key signed it.
    var keySet: String
    /// The time at which the key set arrived, by the device's clock.
    var fetched: Timestamp
    /// The difference by which the server's clock is ahead of the device's clock.
    var clockOffset = Duration.zero
}

/// The register of the identities on this device, and of the stored data of their servers (decision 56: what is stored
/// has a version). Every change is durable before it becomes visible.
// Safe to share: every access to `content` is within `lock`.
final class IdentityRegister: @unchecked Sendable, CustomReflectable {
    /// The version that this version of the app writes. A higher version comes from a later version of the app.
    private static let version: Int64 = 1
    private static let name = "identities"

    private struct Content: Equatable {
        var servers: [ExactText: StoredServer] = [:]
        var identities: [StoredIdentity] = []
    }

    private let storage: any SecureStorage
    private let lock = NSLock()
    private var content: Content

    /// Opens the register. Throws ``StorageError``.
    init(storage: any SecureStorage) throws {
        self.storage = storage
        self.content = try storage.read(Self.name).map(Self.read) ?? Content()
    }

    /// A mirror without children, because the register holds handles of keys.
    var customMirror: Mirror { Mirror(self, children: [:]) }

    // MARK: Identities

    /// All identities, oldest first.
    var identities: [StoredIdentity] { self.lock.withLock { self.content.identities } }

    /// Returns the active identity of a server; `nil` if no identity is active.
    func identity(of server: String) -> StoredIdentity? {
        self.identities.first { $0.server.hasSameBytes(as: server) && $0.state == .active }
    }

    /// Returns the present stored state of an identity; `nil` if the identity was removed.
    func kept(_ identity: StoredIdentity) -> StoredIdentity? { self.identities.first { $0.isSame(as: identity) } }

    /// Stores an identity, in place of an identity of the same activation.
    func keep(_ identity: StoredIdentity) throws {
        try self.change { content in
            if let index = content.identities.firstIndex(where: { $0.isSame(as: identity) }) {
                content.identities[index] = identity
            } else {
                content.identities.append(identity)
            }
        }
    }

    /// Changes the stored state of an identity, and returns the new state. Changes nothing and returns `nil` if the
    /// identity was removed.
    @discardableResult
    func change(_ identity: StoredIdentity, _ body: (inout StoredIdentity) -> Void) throws -> StoredIdentity? {
        var changed: StoredIdentity?
        try self.change { content in
            guard let index = content.identities.firstIndex(where: { $0.isSame(as: identity) }) else { return }
            body(&content.identities[index])
            changed = content.identities[index]
        }
        return changed
    }

    /// Forgets an identity.
    func remove(_ identity: StoredIdentity) throws {
        try self.change { content in content.identities.removeAll { $0.isSame(as: identity) } }
    }

    // MARK: Servers

    /// Returns the stored data of a server.
    func server(_ server: String) -> StoredServer? { self.lock.withLock { self.content.servers[ExactText(server)] } }

    /// Stores a server's keys, and the offset of its clock if a new offset is given.
    func keep(keySet: String, of server: String, at now: Timestamp, clockOffset: Duration? = nil) throws {
        try self.change { content in
            content.servers[ExactText(server), default: StoredServer(keySet: "", fetched: now)].keySet = keySet
            content.servers[ExactText(server)]?.fetched = now
            if let clockOffset { content.servers[ExactText(server)]?.clockOffset = clockOffset }
        }
    }

    /// Stores the offset of a server's clock, if the server has stored data.
    func keep(clockOffset: Duration, of server: String) throws {
        try self.change { content in content.servers[ExactText(server)]?.clockOffset = clockOffset }
    }

    // MARK: On disk

    private func change(_ body: (inout Content) -> Void) throws {
        try self.lock.withLock {
            var content = self.content
            body(&content)
            guard content != self.content else { return }
            let bytes = Self.written(content)
            // An unreadable value is not written, because reading it back would fail and cost every identity.
            do { _ = try Self.read(bytes) } catch { throw StorageError(.unavailable, "not written, because \(error)") }
            try self.storage.write(bytes, to: Self.name)
            self.content = content
        }
    }

    private static func written(_ content: Content) -> [UInt8] {
        let servers = content.servers.sorted { $0.key < $1.key }.map { name, server in
            JSON.object([
                "server": .string(name.text), "keySet": .string(server.keySet),
                "fetched": .integer(server.fetched.milliseconds),
                "clockOffset": .integer(server.clockOffset.milliseconds),
            ])
        }
        return JSON.object([
            "version": .integer(Self.version), "servers": .array(servers),
            "identities": .array(content.identities.map { .object($0.json) }),
        ]).serialized
    }

    /// Reads the format of this version. Throws ``StorageError``: `newer` for a value of a later version, `corrupt` for
    /// every other failure.
    private static func read(_ bytes: [UInt8]) throws -> Content {
        do {
            // Any name that an app has given can be read back.
            let limits = JSONLimits(bytes: 1 << 20, depth: 8, values: 100_000, takesNUL: true)
            guard case .object(let object) = try JSON(parsing: bytes, limits: limits) else {
                throw StorageError(.corrupt, "the identities are no object")
            }
            let version: Int64 = try object.requiredInteger("version")
            guard version <= Self.version else { throw StorageError(.newer, "identities of version \(version)") }
            guard version == Self.version else { throw StorageError(.corrupt, "identities of no version") }
            var content = Content()
            for case .object(let server) in try object.array("servers") ?? [] {
                content.servers[ExactText(try server.requiredString("server"))] = StoredServer(
                    keySet: try server.requiredString("keySet"),
                    fetched: Timestamp(milliseconds: try server.requiredInteger("fetched")),
                    clockOffset: .milliseconds(try server.requiredInteger("clockOffset", as: Int64.self)))
            }
            content.identities = try (object.array("identities") ?? []).map { value in
                guard case .object(let identity) = value else { throw StorageError(.corrupt, "an identity") }
                return try StoredIdentity(json: identity)
            }
            return content
        } catch let error as StorageError {
            throw error
        } catch {
            throw StorageError(.corrupt, "the identities: \(error)")
        }
    }
}

extension StoredIdentity {
    fileprivate func isSame(as other: Self) -> Bool {
        self.server.hasSameBytes(as: other.server) && self.activation.hasSameBytes(as: other.activation)
    }

    fileprivate var json: JSONObject {
        var object: JSONObject = [
            "server": .string(self.server), "account": .string(self.account), "activation": .string(self.activation),
            "appID": .string(self.appID), "username": .string(self.username), "state": .string(self.state.rawValue),
            "name": .string(self.name), "created": .integer(self.created.milliseconds),
            "device": .object(self.device.json), "keys": .array(self.keys.map { .object($0.json) }),
        ]
        if !self.unconfirmed.isEmpty { object["unconfirmed"] = .array(self.unconfirmed.map { .object($0.json) }) }
        object["sent"] = self.sent.map { .integer($0.milliseconds) }
        object["pin"] = self.pin.map { .object($0.json) }
        object["lastUsed"] = self.lastUsed.map { .integer($0.milliseconds) }
        object["facet"] = self.facet.map { .string($0) }
        return object
    }

    fileprivate init(json object: JSONObject) throws {
        guard let state = State(exactly: try object.requiredString("state")) else {
            throw StorageError(.corrupt, "the state of an identity")
        }
        self.init(
            server: try object.requiredString("server"), account: try object.requiredString("account"),
            activation: try object.requiredString("activation"), appID: try object.requiredString("appID"),
            username: try object.requiredString("username"),
            device: try DeviceIdentityKeys(json: try object.requiredObject("device")),
            created: Timestamp(milliseconds: try object.requiredInteger("created")), state: state,
            name: try object.requiredString("name"), keys: try AccountRegister.keys("keys", of: object),
            unconfirmed: try AccountRegister.keys("unconfirmed", of: object),
            sent: try object.integer("sent", as: Int64.self).map { Timestamp(milliseconds: $0) },
            pin: try object.object("pin").map { try StoredServerPin(json: $0) },
            lastUsed: try object.integer("lastUsed", as: Int64.self).map { Timestamp(milliseconds: $0) },
            facet: try object.string("facet"))
    }
}

/// A storage within another storage, with a prefix for all names: the data of two parts of an app stay separate.
struct ScopedStorage: SecureStorage {
    let storage: any SecureStorage
    let scope: String

    var isDevelopmentStore: Bool { self.storage.isDevelopmentStore }
    func read(_ name: String) throws -> [UInt8]? { try self.storage.read(self.scope + name) }
    func write(_ value: [UInt8], to name: String) throws { try self.storage.write(value, to: self.scope + name) }
    func remove(_ name: String) throws { try self.storage.remove(self.scope + name) }
}
