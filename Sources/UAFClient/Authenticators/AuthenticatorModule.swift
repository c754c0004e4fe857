import Crypto
public import UAF
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The ASM and its authenticators (UAF ASM API 1.1, UAF Authenticator Commands 1.1): keys, counters and the verification
/// of the person.
///
/// Public for programs that answer messages without an app, as the terminal phone with its test keys: they open it, hand it
/// to a ``MessageClient`` and say what a server said of a key. An app has a client of `Countersign`.
///
/// Every change is durable before it shows: a counter before the signature that uses it leaves, an attempt at a PIN or a
/// password before it is checked, a key's end before its answer.
public actor AuthenticatorModule: CustomReflectable {
    /// What the module needs to know beside the platform.
    public struct Configuration: Sendable {
        /// The app that calls, as its facet identifier: other apps' keys stay closed to it (the standard's CallerID).
        package var callerID: FacetID
        /// How often a PIN or a password can be tried.
        package var attemptLimit: AttemptLimit
        /// What a try costs. It holds for keys made from now on.
        package var pinHardening: PinHardening
        /// How many keys the module keeps.
        package var maximumKeys: Int
        /// The user or profile of the operating system (the standard's PersonaID); empty where there is one alone.
        package var personaID: String
        /// The pictures of transactions that the app can show; none: it shows texts alone.
        package var pictureDisplays: [DisplayPNGCharacteristics]

        /// The defaults, for the app of this facet identifier.
        public init(callerID: FacetID) { self.init(callerID: callerID, attemptLimit: AttemptLimit()) }

        package init(
            callerID: FacetID, attemptLimit: AttemptLimit = AttemptLimit(), pinHardening: PinHardening = PinHardening(),
            maximumKeys: Int = 256, personaID: String = "",
            pictureDisplays: [DisplayPNGCharacteristics] = []
        ) {
            self.callerID = callerID
            self.attemptLimit = attemptLimit
            self.pinHardening = pinHardening
            self.maximumKeys = maximumKeys
            self.personaID = personaID
            self.pictureDisplays = pictureDisplays
        }
    }

    private static let secretsName = "module"

    let platform: DevicePlatform
    let configuration: Configuration
    /// The random secret of this installation (the standard's ASMToken), made at the first start.
    private let token: SecretBytes
    /// The device's keys, or those in the storage where it has none of its own.
    let keys: any DeviceKeys
    /// The keys in the storage, which the device may have made before it had others.
    private let softwareKeys: SoftwareKeys
    let ledger: AttemptLedger
    private(set) var database: KeyDatabase
    /// The keys of this persona that were here at the start and were made when the app had another name, each with that
    /// name. They sign as soon as the app has that name again.
    package nonisolated let formerNames: [KeyName: String]
    /// The operations that use a key or wait for it.
    private let uses = ExclusiveUse<KeyName>()

    /// Opens the module over a platform; the first time, makes its secrets.
    ///
    /// Throws ``StorageError``: `corrupt` where keys are there without their secrets.
    public init(platform: DevicePlatform, configuration: Configuration) throws {
        precondition(configuration.pinHardening.isSupported, "scrypt does not take these numbers")
        self.platform = platform
        self.configuration = configuration
        let database = try KeyDatabase(storage: platform.storage)
        let secrets: [UInt8]
        if let stored = try platform.storage.read(Self.secretsName) {
            guard stored.count == 64 else { throw StorageError(.corrupt, "the module's secrets") }
            secrets = stored
        } else {
            guard database.keys.isEmpty else { throw StorageError(.corrupt, "keys without the module's secrets") }
            secrets = platform.random.bytes(64)
            try platform.storage.write(secrets, to: Self.secretsName)
        }
        self.token = SecretBytes(secrets[..<32])
        let softwareKeys = SoftwareKeys(wrapSecret: SecretBytes(secrets[32...]), random: platform.random)
        self.softwareKeys = softwareKeys
        self.keys = platform.keys ?? softwareKeys
        self.database = database
        self.formerNames = Dictionary(
            database.keys.filter {
                !$0.callerID.hasSameBytes(as: configuration.callerID.text)
                    && $0.personaID.hasSameBytes(as: configuration.personaID)
            }.map { ($0.name, $0.callerID) }, uniquingKeysWith: { first, _ in first })
        self.ledger = AttemptLedger(
            storage: platform.storage, clock: platform.clock, limit: configuration.attemptLimit)
    }

    /// Without children: there are wrapped keys in here, and what wraps them.
    public nonisolated var customMirror: Mirror { Mirror(self, children: [:]) }

    /// Where the keys are that this device makes.
    package nonisolated var keyStore: AuthenticatorModel.KeyStore { self.keys.keyStore }

    /// The authenticators of this device (GetInfo): those that make keys, and those whose keys it made when it kept them
    /// elsewhere.
    package nonisolated var authenticators: [AuthenticatorAvailability] {
        get async {
            var statuses: [AuthenticatorAvailability] = []
            let models = AuthenticatorModel.Factor.allCases.map {
                AuthenticatorModel(factor: $0, keyStore: self.keyStore)
            }
            let kept = await self.keptModels.filter { !models.contains($0) }
            for model in models + kept {
                let (isSupported, isEnrolled): (Bool, Bool)
                switch model.factor {
                case .pin, .password, .devicePossession: (isSupported, isEnrolled) = (true, true)
                case .fingerprint:
                    let sensor = self.platform.fingerprintSensor
                    (isSupported, isEnrolled) = (sensor != nil, (try? await sensor?.enrolledSet()) != nil)
                case .face:
                    let sensor = self.platform.faceSensor
                    (isSupported, isEnrolled) = (sensor != nil, (try? await sensor?.enrolledSet()) != nil)
                case .devicePasscode:
                    let passcode = self.platform.devicePasscode
                    (isSupported, isEnrolled) = (passcode != nil, (try? await passcode?.enrolment()) != nil)
                }
                statuses.append(
                    AuthenticatorAvailability(
                        model: model, isSupportedByHardware: isSupported, isUserEnrolled: isEnrolled,
                        makesKeys: !kept.contains(model)))
            }
            return statuses
        }
    }

    /// The authenticators that a person can register with now: those that make keys, where whoever is to be recognised by
    /// the operating system is enrolled with it.
    public nonisolated var usableModels: [AuthenticatorModel] {
        get async {
            await self.authenticators.filter { $0.isSupportedByHardware && $0.isUserEnrolled && $0.makesKeys }
                .map(\.model)
        }
    }

    /// The models of the keys that are here and can sign here.
    private var keptModels: [AuthenticatorModel] {
        self.ownKeys.reduce(into: []) { models, key in
            guard let model = AuthenticatorModel(aaid: key.aaid), self.keys(of: model) != nil, !models.contains(model)
            else { return }
            models.append(model)
        }
    }

    /// Where the keys of a model are; `nil` where this device has no such place, or not any more.
    nonisolated func keys(of model: AuthenticatorModel) -> (any DeviceKeys)? { self.keys(in: model.keyStore) }

    /// The keys in a place; `nil` where this device has none there, or not any more.
    nonisolated func keys(in keyStore: AuthenticatorModel.KeyStore) -> (any DeviceKeys)? {
        if keyStore == self.keyStore { return self.keys }
        return keyStore == self.softwareKeys.keyStore ? self.softwareKeys : nil
    }

    /// What a policy sees of a model on this device: pictures can be shown where the app says so.
    package nonisolated func info(of model: AuthenticatorModel) -> AuthenticatorInfo {
        var info = model.info
        if !info.tcDisplay.isEmpty { info.pngCharacteristics = self.configuration.pictureDisplays }
        return info
    }

    /// The keys that were made for an AppID by this app (GetRegistrations), oldest first.
    package func registrations(appID: String) -> [KeyRegistration] {
        self.ownKeys.filter { $0.appID.hasSameBytes(as: appID) }.map {
            KeyRegistration(name: $0.name, isPending: $0.isPending)
        }
    }

    /// How the PIN or the password of a key stands. A key that is not there counts as locked. Throws ``StorageError``.
    package func protectionStatus(of name: KeyName) throws -> AuthenticatorProtectionStatus {
        guard self.ownIndex(of: name) != nil else { return .lockedOut }
        return try self.ledger.status(name.keyID.base64URL)
    }

    /// Whether a key can still answer: it is there, and not locked after too many wrong tries. Throws ``StorageError``.
    package func canAnswer(_ name: KeyName) throws -> Bool {
        guard let index = self.ownIndex(of: name) else { return false }
        guard self.database.keys[index].protection.secretSalt != nil else { return true }
        return try self.ledger.status(name.keyID.base64URL) != .lockedOut
    }

    /// Whether there is room for that many new keys.
    package func hasRoom(for count: Int) -> Bool {
        self.database.keys.count <= self.configuration.maximumKeys - count
    }

    /// What the server said of a key (notifyUAFResult, UAF Application API 1.1).
    ///
    /// `ok` makes a pending key final; `accepted` leaves it pending; `unknownKeyID` deletes it, and so does every other
    /// code as long as the key is pending. Throws ``StorageError``.
    public func notify(_ name: KeyName, _ status: UAFStatusCode) throws {
        guard let index = self.ownIndex(of: name) else { return }
        let isPending = self.database.keys[index].isPending
        switch status {
        case .accepted: return
        case .ok:
            guard isPending else { return }
            try self.change { $0.keys[index].isPending = false }
        case .unknownKeyID: try self.delete([name])
        default: if isPending { try self.delete([name]) }
        }
    }

    /// Deletes keys of an AppID (Deregister): the one named, those of a model, or all.
    ///
    /// Keys that are not there are no error: nobody learns whether they were. Throws ``StorageError``.
    package func deregister(appID: String, aaid: AAID? = nil, keyID: KeyID? = nil) throws {
        try self.delete(
            self.ownKeys.filter { key in
                key.appID.hasSameBytes(as: appID) && aaid.map { key.aaid == $0 } ?? true
                    && keyID.map { key.keyID == $0 } ?? true
            }.map(\.name))
    }

    /// Deletes every key of this app that is not in `names`: leftovers of a registration that was cut off.
    ///
    /// Throws ``StorageError``.
    package func deleteAll(except names: Set<KeyName>) throws {
        try self.delete(self.ownKeys.map(\.name).filter { !names.contains($0) })
    }

    /// Runs `body` while no other operation uses these keys: signatures reach the server in the order of their counters.
    ///
    /// Throws `CancellationError` where the task is cancelled while it waits.
    package func withExclusiveUse<Result: Sendable>(
        of names: [KeyName], _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        // One order for all, so that two operations never wait for each other.
        let ordered = Set(names).sorted { $0.keyID.base64URL < $1.keyID.base64URL }
        return try await self.uses.run(ordered, body)
    }
}

// MARK: - What the commands share

extension AuthenticatorModule {
    /// Applies a change to the keys and makes it durable; where that fails, nothing has changed.
    func change(_ body: (inout KeyDatabase) throws -> Void) throws {
        var database = self.database
        try body(&database)
        try database.write(to: self.platform.storage)
        self.database = database
    }

    func delete(_ names: [KeyName]) throws {
        guard !names.isEmpty else { return }
        // The tries first: a key without them counts as locked, and what is left of it goes at the next start. Tries
        // without their key would stay for ever, and so would a key of the device of which nothing is known.
        for name in names { try self.ledger.remove(name.keyID.base64URL) }
        for key in self.database.keys where names.contains(key.name) {
            guard let model = AuthenticatorModel(aaid: key.aaid) else { continue }
            try self.keys(of: model)?.delete(key.keyHandle, of: self.deviceName(of: key.name, appID: key.appID))
        }
        try self.change { database in database.keys.removeAll { names.contains($0.name) } }
    }

    /// The keys of this app and persona. Those of others are as if they were not there (§10).
    private var ownKeys: [KeyRecord] { self.database.keys.filter(self.isOwn) }

    /// The name that the app had when keys were made, where it has another one now and none of them signs because of that.
    package nonisolated func formerName(of names: [KeyName]) -> String? {
        let former = names.map { self.formerNames[$0] }
        return former.contains(nil) ? nil : former.compactMap(\.self).first
    }

    func ownIndex(of name: KeyName) -> Int? {
        self.database.index(of: name).flatMap { self.isOwn(self.database.keys[$0]) ? $0 : nil }
    }

    private func isOwn(_ key: KeyRecord) -> Bool {
        key.callerID.hasSameBytes(as: self.configuration.callerID.text)
            && key.personaID.hasSameBytes(as: self.configuration.personaID)
    }

    /// What the device knows a key by, which opens to this app and AppID alone.
    func deviceName(of name: KeyName, appID: String) -> DeviceKeyName {
        DeviceKeyName(
            kind: name.aaid.text, id: name.keyID.bytes, accessToken: self.keyHandleAccessToken(appID: appID))
    }

    /// SHA-256(AppID ‖ ASMToken ‖ PersonaID ‖ CallerID) (§12).
    nonisolated func keyHandleAccessToken(appID: String) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Array(appID.utf8))
        self.token.withBytes { hash.update(bufferPointer: $0) }
        hash.update(data: Array(self.configuration.personaID.utf8))
        hash.update(data: Array(self.configuration.callerID.text.utf8))
        return Array(hash.finalize())
    }
}

/// An authenticator of the device and whether it can be used.
package struct AuthenticatorAvailability: Hashable, Sendable {
    /// Which authenticator.
    package let model: AuthenticatorModel
    /// Whether the device has what the authenticator needs.
    package let isSupportedByHardware: Bool
    /// Whether a person is enrolled with the operating system. For a PIN, a password and device possession always true,
    /// as the registration itself enrols.
    package let isUserEnrolled: Bool
    /// Whether it makes new keys. One that does not answers with those that it has.
    package let makesKeys: Bool
}

/// A key of the device.
package struct KeyRegistration: Hashable, Sendable {
    /// The key's name.
    package let name: KeyName
    /// Whether the server has not confirmed the key yet.
    package let isPending: Bool
}
