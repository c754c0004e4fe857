public import UAF
import _Primitives

/// What the module keeps of one key: its handle, which only the authenticator opens, and what finds it.
struct KeyRecord: Equatable {
    var aaid: AAID
    var keyID: KeyID
    var appID: String
    /// The app that made the key.
    var callerID: String
    /// The user or profile of the operating system; empty where there is one alone.
    var personaID: String
    /// What the device finds the key by, or the key under its lock: the device's own.
    var keyHandle: [UInt8]
    /// How many signatures the key has made, the next one not counted.
    var signCounter: UInt32
    /// Until the server has accepted the key.
    var isPending: Bool
    /// When the key was made, in milliseconds since 1970.
    var created: Int64
    var protection: KeyProtectionRecord

    var name: KeyName { KeyName(aaid: self.aaid, keyID: self.keyID) }

    init(
        aaid: AAID, keyID: KeyID, appID: String, callerID: String, personaID: String, keyHandle: [UInt8],
        created: Int64, protection: KeyProtectionRecord
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
        self.protection = try KeyProtectionRecord(json: object)
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

/// What stands between a key and whoever holds the device, as far as it is on disk.
struct KeyProtectionRecord: Equatable {
    /// There for a key that a PIN or a password protects.
    var secretSalt: SecretSalt?
    /// There for a key that ends with the enrolment at the operating system: a hash of that enrolment's name.
    var enrolment: [UInt8]?
    /// Whether the operating system may ask for the device's passcode in place of finger or face.
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

/// What names a key: its model and its identifier (UAF Protocol 1.1 §3.1.5).
public struct KeyName: Hashable, Sendable, CustomStringConvertible {
    /// The model of the authenticator that made the key.
    public let aaid: AAID
    /// The key's identifier, random and unguessable.
    public let keyID: KeyID

    /// The name of a key.
    package init(aaid: AAID, keyID: KeyID) {
        self.aaid = aaid
        self.keyID = keyID
    }

    public var description: String { "\(self.aaid)/\(self.keyID)" }
}

/// The module's own store: its keys and the registration counter, one value that is replaced as a whole.
struct KeyDatabase: Equatable {
    static let name = "authenticators"
    /// Of the format.
    private static let version: Int64 = 1

    /// How many keys were ever made on this device, over all applications; never lowered.
    var registrationCounter: UInt32 = 0
    var keys: [KeyRecord] = []

    init() {}

    /// Reads the store; empty where there is none yet. Throws ``StorageError`` (`corrupt`).
    init(storage: any SecureStorage) throws {
        guard let bytes = try storage.read(Self.name) else { return }
        do {
            // Whatever name an app has given is read back.
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
                return try KeyRecord(json: key)
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
