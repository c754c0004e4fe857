import Foundation
import UAF
import UAFClient
import _Primitives

/// An identity that a server manages, as this device has it: which activation it is, and the keys that answer for it.
struct StoredIdentity: Equatable, Sendable {
    /// Where it is in its life on this device.
    enum State: String, Hashable, Sendable {
        /// Its keys have left, or were about to, and the server's receipt has not come.
        case pending
        /// It answers.
        case active
        /// It was taken off this device, and the server has not heard of it yet: only what says so to the server is left.
        case ending
    }

    /// The server's identifier.
    let server: String
    /// The server's name for the account: opaque.
    let account: String
    /// The server's name for this device as the account's.
    let activation: String
    /// The AppID of its factors.
    let appID: String
    /// The name of the account in registrations of factors.
    let username: String
    /// The keys by which the device speaks for itself.
    let device: IdentityKeys
    /// When it was made.
    let created: Timestamp
    var state = State.pending
    /// What the person calls it.
    var name: String
    /// The keys of its factors, but for the PIN's.
    var keys: [KeyName]
    /// Keys of factors that have left, and whose receipt has not come: nothing is signed with them before.
    var unconfirmed: [KeyName] = []
    /// When the request left last that carried what waits for its receipt, by the server's clock; `nil` where none is on its
    /// way, and where a version of before has written it.
    var sent: Timestamp?
    /// What its PIN's key is made with; `nil` once it has ended.
    var pin: ServerPinRecord?
    /// When a person authenticated with it last.
    var lastUsed: Timestamp?
    /// What the app was called when it was made (its facet), by which its keys are opened; `nil` where a version of before has
    /// written it.
    var facet: String?
}

/// What is kept of a server that manages identities.
struct StoredServer: Hashable, Sendable {
    /// Its key set, as its root signed it.
    var keySet: String
    /// When that came, by the device's clock.
    var fetched: Timestamp
    /// How far the server's clock is ahead of the device's.
    var clockOffset = Duration.zero
}

/// The identities on this device: which they are, and what is kept of their servers (decision 56: what is stored has a
/// version). Every change is durable before it shows.
// Safe to share: every access to `content` is within `lock`.
final class IdentityRegister: @unchecked Sendable, CustomReflectable {
    /// The version that is written. What says none of these, a later version has written.
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

    /// Without children: there are handles of keys in here.
    var customMirror: Mirror { Mirror(self, children: [:]) }

    // MARK: Identities

    /// All of them, oldest first.
    var identities: [StoredIdentity] { self.lock.withLock { self.content.identities } }

    /// The one of a server that answers.
    func identity(of server: String) -> StoredIdentity? {
        self.identities.first { $0.server.hasSameBytes(as: server) && $0.state == .active }
    }

    /// What is kept of an identity now.
    func kept(_ identity: StoredIdentity) -> StoredIdentity? { self.identities.first { $0.isSame(as: identity) } }

    /// Keeps an identity, in the place of the one of the same activation.
    func keep(_ identity: StoredIdentity) throws {
        try self.change { content in
            if let index = content.identities.firstIndex(where: { $0.isSame(as: identity) }) {
                content.identities[index] = identity
            } else {
                content.identities.append(identity)
            }
        }
    }

    /// Changes what is kept of an identity, if it is still here, and returns it.
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

    /// What is kept of a server.
    func server(_ server: String) -> StoredServer? { self.lock.withLock { self.content.servers[ExactText(server)] } }

    /// Keeps a server's keys, and with them how far its clock is ahead where that is known anew.
    func keep(keySet: String, of server: String, at now: Timestamp, clockOffset: Duration? = nil) throws {
        try self.change { content in
            content.servers[ExactText(server), default: StoredServer(keySet: "", fetched: now)].keySet = keySet
            content.servers[ExactText(server)]?.fetched = now
            if let clockOffset { content.servers[ExactText(server)]?.clockOffset = clockOffset }
        }
    }

    /// Keeps how far a server's clock is ahead, where there is a server to keep it with.
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
            // What could not be read again is not written: it would cost every identity.
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

    /// Reads what this version writes. Throws ``StorageError``: `newer` for what a later version has written, `corrupt` for
    /// everything else.
    private static func read(_ bytes: [UInt8]) throws -> Content {
        do {
            // Whatever name an app has given is read back.
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
            device: try IdentityKeys(json: try object.requiredObject("device")),
            created: Timestamp(milliseconds: try object.requiredInteger("created")), state: state,
            name: try object.requiredString("name"), keys: try AccountRegister.keys("keys", of: object),
            unconfirmed: try AccountRegister.keys("unconfirmed", of: object),
            sent: try object.integer("sent", as: Int64.self).map { Timestamp(milliseconds: $0) },
            pin: try object.object("pin").map { try ServerPinRecord(json: $0) },
            lastUsed: try object.integer("lastUsed", as: Int64.self).map { Timestamp(milliseconds: $0) },
            facet: try object.string("facet"))
    }
}

/// A storage within another one, whose names begin with a word of its own: what two parts of an app keep does not meet.
struct ScopedStorage: SecureStorage {
    let storage: any SecureStorage
    let scope: String

    var isDevelopmentStore: Bool { self.storage.isDevelopmentStore }
    func read(_ name: String) throws -> [UInt8]? { try self.storage.read(self.scope + name) }
    func write(_ value: [UInt8], to name: String) throws { try self.storage.write(value, to: self.scope + name) }
    func remove(_ name: String) throws { try self.storage.remove(self.scope + name) }
}
