package import Ceremony
package import UAF
import UAFClient
package import _Primitives

/// What a phone keeps of one PIN that only the server can judge: what makes a key of it, beside the PIN itself.
///
/// Nothing in it tells a right PIN from a wrong one.
package struct ServerPinSecret: Sendable, Equatable, CustomReflectable {
    /// What the key is bound to; its version is the PIN's.
    package let context: PinScheme.Context
    /// What a try costs.
    package let parameters: PinParameters
    /// The key's name, random.
    package let keyID: KeyID
    /// In `pin/2`, the key of the PIN service that evaluations of this PIN have to be of, as the server has named it at the
    /// enrolment; `nil` in `pin/1`.
    package let serviceKey: [UInt8]?
    /// The device secret, sealed to this device's own key.
    let sealed: String

    /// Which PIN of its activation it is.
    package var version: UInt32 { self.context.version }

    /// Without children: the device's secret is in here.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// What a phone keeps of the factor `pin` of one activation: the PIN that counts, and at a change the new one too, until it
/// is known which of them the server has. The caller keeps it in the device's storage, before anything of it leaves.
package struct ServerPinRecord: Sendable, Equatable, CustomReflectable {
    /// One, or two of which the later is not confirmed yet; of different versions.
    package private(set) var secrets: [ServerPinSecret]

    /// The PIN of a new activation.
    package init(_ first: ServerPinSecret) { self.secrets = [first] }

    /// The PIN of a version, which the server names; `nil` where there is none on this phone.
    package func secret(of version: UInt32) -> ServerPinSecret? { self.secrets.first { $0.version == version } }

    /// Begins a change: a new PIN beside the one that the server has just judged as right. A change that is repeated, because
    /// its answer was lost, goes on with the secret that is here already: the server may have it. What is older than the
    /// current one is forgotten: the server does not have it any more.
    ///
    /// Throws ``ServerPinError``: `unknownVersion` for a `current` that is not here, `repeatedVersion` for a new one that is.
    package mutating func begin(_ new: ServerPinSecret, beside current: UInt32) throws(ServerPinError) {
        guard let kept = self.secret(of: current) else { throw .unknownVersion }
        guard self.secret(of: new.version) == nil else { throw .repeatedVersion }
        self.secrets = [kept, new]
    }

    /// Ends a change with what the server says that it has: with its receipt, or after a later answer by the version that it
    /// names. Older ones are forgotten. A newer one stays, because an answer that was given before a change may come after
    /// it. Throws ``ServerPinError`` `unknownVersion`, and nothing is changed.
    package mutating func settle(on version: UInt32) throws(ServerPinError) {
        guard self.secret(of: version) != nil else { throw .unknownVersion }
        self.secrets.removeAll { $0.version < version }
    }

    /// Without children, as each of its secrets is.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Why a PIN cannot be used on this phone. Never that it is wrong: that only the server can tell.
package enum ServerPinError: Error, Hashable, Sendable {
    /// This phone has no PIN of that version.
    case unknownVersion
    /// There is a PIN of that version already: each change counts one up.
    case repeatedVersion
    /// The device does not open its secret any more: damaged, or its key is gone. A new activation is needed.
    case secretGone
}

// MARK: - Storing

extension ServerPinRecord {
    /// Reads what ``json`` has written. Throws `StorageError` `corrupt`.
    package init(json object: JSONObject) throws(StorageError) {
        do {
            let secrets = try object.array("secrets") ?? []
            self.secrets = try secrets.map { value in
                guard case .object(let secret) = value else { throw StorageError(.corrupt, "a PIN's secret") }
                return try ServerPinSecret(json: secret)
            }
        } catch {
            throw StorageError(.corrupt, "a PIN's record")
        }
        guard (1...2).contains(self.secrets.count), Set(self.secrets.map(\.version)).count == self.secrets.count else {
            throw StorageError(.corrupt, "a PIN's record")
        }
    }

    /// As it is stored.
    package var json: JSONObject { ["secrets": .array(self.secrets.map { .object($0.json) })] }
}

extension ServerPinSecret {
    fileprivate init(json object: JSONObject) throws {
        guard let parameters = try object.object("parameters") else {
            throw StorageError(.corrupt, "a PIN's parameters")
        }
        self.init(
            context: PinScheme.Context(
                server: try object.requiredString("server"), activation: try object.requiredString("activation"),
                version: try object.requiredInteger("version")),
            parameters: try PinParameters(json: parameters),
            keyID: try KeyID(base64URL: try object.requiredString("keyID")),
            serviceKey: try object.string("serviceKey").map { text in
                guard let bytes = Base64URL.decode(text) else { throw StorageError(.corrupt, "a PIN service's key") }
                return bytes
            },
            sealed: try object.requiredString("sealed"))
        guard (self.parameters.scheme == .pin2) == (self.serviceKey != nil) else {
            throw StorageError(.corrupt, "a PIN's scheme")
        }
    }

    fileprivate var json: JSONObject {
        var object: JSONObject = [
            "server": .string(self.context.server), "activation": .string(self.context.activation),
            "version": .integer(Int64(self.version)), "parameters": .object(self.parameters.json),
            "keyID": .string(self.keyID.base64URL), "sealed": .string(self.sealed),
        ]
        object["serviceKey"] = self.serviceKey.map { .string(Base64URL.encode($0)) }
        return object
    }
}
