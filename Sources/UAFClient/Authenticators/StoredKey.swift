public import UAF
import _Primitives

/// The module's stored data of a key: the handle, which only the authenticator opens, and the names that find the key.
struct StoredKey: Equatable {
    var aaid: AAID
    var keyID: KeyID
    var appID: String
    /// The app that made the key.
    var callerID: String
    /// The user or profile of the operating system; empty if the system has a single user.
    var personaID: String
    /// The data with which the device finds the key, or the key itself under its lock. The data belong to the device.
    var keyHandle: [UInt8]
    /// The number of signatures by the key, without the next signature.
    var signCounter: UInt32
    /// `true` until the server has accepted the key.
    var isPending: Bool
    /// The moment of creation, in milliseconds since 1970.
    var created: Int64
    var protection: StoredKeyProtection

    var name: KeyName { KeyName(aaid: self.aaid, keyID: self.keyID) }

    init(
        aaid: AAID, keyID: KeyID, appID: String, callerID: String, personaID: String, keyHandle: [UInt8],
        created: Int64, protection: StoredKeyProtection
    ) {
        self.aaid = aaid
        self.keyID = keyID
        self.appID = appID
        self.callerID = callerID
        self.personaID = personaID
        self.keyHandle = keyHandle
        self.signCounter = 0
        self.isPending = true
        self.created = created
        self.protection = protection
    }

    init(json object: JSONObject) throws {
        self.aaid = try AAID(try object.requiredString("aaid"))
        self.keyID = try KeyID(base64URL: try object.requiredString("keyID"))
        self.appID = try object.requiredString("appID")
        self.callerID = try object.requiredString("callerID")
        self.personaID = try object.requiredString("personaID")
        guard let keyHandle = Base64URL.decode(try object.requiredString("keyHandle")),
            let isPending = try object.bool("isPending")
        else { throw StorageError(.corrupt, "a key") }
        self.keyHandle = keyHandle
        self.signCounter = try object.requiredInteger("signCounter")
        self.isPending = isPending
        self.created = try object.requiredInteger("created")
        self.protection = try StoredKeyProtection(json: object)
    }

    var json: JSONObject {
        var object: JSONObject = [
            "aaid": .string(self.aaid.text), "keyID": .string(self.keyID.base64URL), "appID": .string(self.appID),
            "callerID": .string(self.callerID), "personaID": .string(self.personaID),
            "keyHandle": .string(Base64URL.encode(self.keyHandle)), "signCounter": .integer(Int64(self.signCounter)),
            "isPending": .bool(self.isPending), "created": .integer(self.created),
        ]
        self.protection.add(to: &object)
        return object
    }
}

/// The protection of a key against a holder of the device, as far as stored on disk.
struct StoredKeyProtection: Equatable {
    /// Present if a PIN or a password protects the key.
    var secretSalt: SecretSalt?
    /// Present if the key ends with the enrolment at the operating system: a hash of the enrolment's name.
    var enrolment: [UInt8]?
    /// `true` if the operating system may ask for the device's passcode in place of finger or face.
    var allowsPasscode = false

    init() {}

    init(json object: JSONObject) throws {
        self.secretSalt = try object.object("secret").map { try SecretSalt(json: $0) }
        if let text = try object.string("enrolment") {
            guard let bytes = Base64URL.decode(text) else { throw StorageError(.corrupt, "an enrolment") }
            self.enrolment = bytes
        }
        self.allowsPasscode = try object.bool("allowsPasscode") ?? false
    }

    func add(to object: inout JSONObject) {
        object["secret"] = self.secretSalt.map { .object($0.json) }
        object["enrolment"] = self.enrolment.map { .string(Base64URL.encode($0)) }
        if self.allowsPasscode { object["allowsPasscode"] = .bool(true) }
    }
}

/// The name of a key: its model and its identifier (UAF Protocol 1.1 §3.1.5).
public struct KeyName: Hashable, Sendable, CustomStringConvertible {
    /// The model of the authenticator that made the key.
    public let aaid: AAID
    /// The key's identifier, random and unguessable.
    public let keyID: KeyID

    /// Creates the name of a key.
    package init(aaid: AAID, keyID: KeyID) {
        self.aaid = aaid
        self.keyID = keyID
    }

    public var description: String { "\(self.aaid)/\(self.keyID)" }
}

/// The module's own store: its keys and the registration counter, as one value that is replaced as a whole.
struct KeyDatabase: Equatable {
    static let name = "authenticators"
    /// The version of the format.
    private static let version: Int64 = 1

    /// The number of keys ever made on this device, across all applications. The number never decreases.
    var registrationCounter: UInt32 = 0
    var keys: [StoredKey] = []

    init() {}

    /// Reads the store; empty if the storage has none yet. Throws ``StorageError``: `corrupt`, `newer`, and the errors
    /// of the storage.
    init(storage: any SecureStorage) throws {
        guard let bytes = try storage.read(Self.name) else { return }
        do {
            // The limits accept any name that an app has given.
            let limits = JSONLimits(bytes: 1 << 20, depth: 8, values: 100_000, takesNUL: true)
            guard case .object(let object) = try JSON(parsing: bytes, limits: limits) else {
                throw StorageError(.corrupt, "the key store is no object")
            }
            let version: Int64 = try object.requiredInteger("version")
            guard version <= Self.version else { throw StorageError(.newer, "the key store is of version \(version)") }
            guard version >= 1 else { throw StorageError(.corrupt, "the key store is of no version") }
            self.registrationCounter = try object.requiredInteger("registrationCounter")
            self.keys = try (object.array("keys") ?? []).map { value in
                guard case .object(let key) = value else { throw StorageError(.corrupt, "a key is not an object") }
                return try StoredKey(json: key)
            }
        } catch let error as StorageError {
            throw error
        } catch {
            throw StorageError(.corrupt, "the key store: \(error)")
        }
    }

    func write(to storage: any SecureStorage) throws {
        let object: JSONObject = [
            "version": .integer(Self.version), "registrationCounter": .integer(Int64(self.registrationCounter)),
            "keys": .array(self.keys.map { .object($0.json) }),
        ]
        try storage.write(JSON.object(object).serialized, to: Self.name)
    }

    func index(of name: KeyName) -> Int? { self.keys.firstIndex { $0.name == name } }
}
