package import Ceremony
package import UAF
import UAFClient
package import _Primitives

/// A phone's stored data of one PIN that only the server can judge: everything that makes a key, except the PIN itself.
///
/// Nothing in the data distinguishes a right PIN from a wrong PIN.
package struct ServerPinSecret: Sendable, Equatable, CustomReflectable {
    /// The context to which the key is bound; its version is the PIN's version.
    package let context: PinScheme.Context
    /// The cost parameters of one try.
    package let parameters: PinParameters
    /// The random name of the key.
    package let keyID: KeyID
    /// In `pin/2`, the key of the PIN service that must make all evaluations of this PIN, as the server has named it at
    /// the enrolment; `nil` in `pin/1`.
    package let serviceKey: [UInt8]?
    /// The phone's half of the PIN's key, sealed to this device's own key.
    let sealed: String

    /// The version of the PIN within its activation.
    package var version: UInt32 { self.context.version }

    /// A mirror without children, because the value holds the phone's half.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A phone's stored data of the factor `pin` of one activation: the current PIN, and during a change also the new PIN,
/// until it is known which PIN the server has.
///
/// The caller writes the data to the device's storage, before any part of it is sent.
package struct StoredServerPin: Sendable, Equatable, CustomReflectable {
    /// One secret, or two secrets of different versions, of which the later is not confirmed yet.
    package private(set) var secrets: [ServerPinSecret]

    /// Creates the data with the PIN of a new activation.
    package init(_ first: ServerPinSecret) { self.secrets = [first] }

    /// Returns the PIN's secret of the version that the server names; `nil` if this phone has none.
    package func secret(of version: UInt32) -> ServerPinSecret? { self.secrets.first { $0.version == version } }

    /// Begins a change: adds a new PIN beside the PIN that the server has just judged as right. Secrets older than the
    /// current one are forgotten, because the server no longer has them.
    ///
    /// A change that is repeated because its answer was lost continues with the existing secret: the server may have
    /// it.
    ///
    /// Throws ``ServerPinError``: `unknownVersion` if `current` is missing here, `repeatedVersion` if the new version
    /// exists already.
    package mutating func begin(_ new: ServerPinSecret, beside current: UInt32) throws(ServerPinError) {
        guard let kept = self.secret(of: current) else { throw .unknownVersion }
        guard self.secret(of: new.version) == nil else { throw .repeatedVersion }
        self.secrets = [kept, new]
    }

    /// Ends a change with the version that the server names: with its receipt, or after a later answer. Older secrets
    /// are forgotten. A newer secret stays, because an answer that was given before a change may arrive after the
    /// change.
    ///
    /// Throws ``ServerPinError`` `unknownVersion`, and changes nothing.
    package mutating func settle(on version: UInt32) throws(ServerPinError) {
        guard self.secret(of: version) != nil else { throw .unknownVersion }
        self.secrets.removeAll { $0.version < version }
    }

    /// A mirror without children, like the mirror of each secret.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The reason why a PIN cannot be used on this phone. A wrong PIN is never the reason: only the server can judge a PIN.
package enum ServerPinError: Error, Hashable, Sendable {
    /// This phone has no PIN of the version.
    case unknownVersion
    /// A PIN of the version exists already: each change increases the version by one.
    case repeatedVersion
    /// The device can no longer open its secret: the secret is damaged, or its key is gone. A new activation is needed.
    case secretGone
}

// MARK: - Storing

extension StoredServerPin {
    /// Reads the format of ``json``. Throws `StorageError` `corrupt`.
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

    /// The data in their stored format.
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
