import Crypto
public import UAF
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The ASM and its authenticators (UAF ASM API 1.1, UAF Authenticator Commands 1.1): keys, counters and the
/// verification of the person.
///
/// The type is public for programs that answer messages without an app, such as the terminal phone with its test keys.
/// Such a program opens the module, passes it to a ``MessageClient`` and reports the server's results about keys. An
/// app uses a client of `Countersign`.
///
/// Every change is durable before it takes effect. A counter is durable before its signature leaves, an attempt at a
/// PIN or a password before the check, and a key's end before the answer.
public actor AuthenticatorModule: CustomReflectable {
    /// The settings of the module, beside the platform.
    public struct Configuration: Sendable {
        /// The calling app, as its facet identifier. Keys of other apps stay closed to the app (the standard's
        /// CallerID).
        package var callerID: FacetID
        /// The rule of attempts at a PIN or a password.
        package var coolDownRule: CoolDownRule
        /// The cost of an attempt, for keys made from now on.
        package var pinHardening: PinHardening
        /// The largest number of keys in the module.
        package var maximumKeys: Int
        /// The user or profile of the operating system (the standard's PersonaID); empty if the system has a single
        /// user.
        package var personaID: String
        /// The pictures of transactions that the app can show; empty if the app shows only texts.
        package var pictureDisplays: [DisplayPNGCharacteristics]

        /// Creates the default settings, for the app with this facet identifier.
        public init(callerID: FacetID) { self.init(callerID: callerID, coolDownRule: CoolDownRule()) }

        package init(
            callerID: FacetID, coolDownRule: CoolDownRule = CoolDownRule(), pinHardening: PinHardening = PinHardening(),
            maximumKeys: Int = 256, personaID: String = "",
            pictureDisplays: [DisplayPNGCharacteristics] = []
        ) {
            self.callerID = callerID
            self.coolDownRule = coolDownRule
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
    /// The device's keys, or the keys in the storage if the device has no key store.
    let keys: any DeviceKeys
    /// The keys in the storage. The device may have made them before it had another key store.
    private let softwareKeys: SoftwareKeys
    let ledger: AttemptLedger
    private(set) var database: KeyDatabase
    /// The keys of this persona that existed at the start and were made when the app had another name, each with this
    /// name. The keys sign again as soon as the app has its former name again.
    package nonisolated let formerNames: [KeyName: String]
    /// The operations that use a key or wait for the key.
    private let uses = ExclusiveUse<KeyName>()

    /// Opens the module on a platform; the first time, the initializer makes the module's secrets.
    ///
    /// Throws ``StorageError``: `corrupt` if the stored keys or secrets cannot be read or if keys exist without the
    /// module's secrets, `newer` for keys of a later version of the program, and the errors of the storage.
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
            storage: platform.storage, clock: platform.clock, limit: configuration.coolDownRule)
    }

    /// No children, because the module holds wrapped keys and the secret that wraps them.
    public nonisolated var customMirror: Mirror { Mirror(self, children: [:]) }

    /// The key store for new keys of this device.
    package nonisolated var keyStore: AuthenticatorModel.KeyStore { self.keys.keyStore }

    /// The authenticators of this device (GetInfo): the authenticators that make keys, and the authenticators of keys
    /// in the device's earlier key store.
    package nonisolated var authenticators: [AuthenticatorAvailability] {
        get async { await self.authenticators(with: BiometricOptions()) }
    }

    /// The authenticators of this device for a registration with options. If the options offer the device's passcode,
    /// the models of finger and face are the models that say so.
    package nonisolated func authenticators(with options: BiometricOptions) async -> [AuthenticatorAvailability] {
        var statuses: [AuthenticatorAvailability] = []
        let models = AuthenticatorModel.Factor.allCases.map {
            AuthenticatorModel(factor: $0, keyStore: self.keyStore, allowsPasscode: options.offersPasscode)
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

    /// The authenticators that a person can register with now: the authenticators that make keys. If the operating
    /// system recognises the person, the person must be enrolled there.
    public nonisolated var usableModels: [AuthenticatorModel] {
        get async {
            await self.authenticators.filter { $0.isSupportedByHardware && $0.isUserEnrolled && $0.makesKeys }
                .map(\.model)
        }
    }

    /// The models of the existing keys that can sign on this device.
    private var keptModels: [AuthenticatorModel] {
        self.ownKeys.reduce(into: []) { models, key in
            guard let model = AuthenticatorModel(aaid: key.aaid), self.keys(of: model) != nil, !models.contains(model)
            else { return }
            models.append(model)
        }
    }

    /// Returns the key store of a model; `nil` if this device never had the store, or has it no more.
    nonisolated func keys(of model: AuthenticatorModel) -> (any DeviceKeys)? { self.keys(in: model.keyStore) }

    /// Returns the keys in a key store; `nil` if this device never had the store, or has it no more.
    nonisolated func keys(in keyStore: AuthenticatorModel.KeyStore) -> (any DeviceKeys)? {
        if keyStore == self.keyStore { return self.keys }
        return keyStore == self.softwareKeys.keyStore ? self.softwareKeys : nil
    }

    /// Returns a model's properties on this device for a policy. The properties include the app's picture displays.
    package nonisolated func info(of model: AuthenticatorModel) -> AuthenticatorInfo {
        var info = model.info
        if !info.tcDisplay.isEmpty { info.pngCharacteristics = self.configuration.pictureDisplays }
        return info
    }

    /// Returns the keys that this app made for an AppID (GetRegistrations), oldest first.
    package func registrations(appID: String) -> [KeyRegistration] {
        self.ownKeys.filter { $0.appID.hasSameBytes(as: appID) }.map {
            KeyRegistration(name: $0.name, isPending: $0.isPending)
        }
    }

    /// Returns the state of a key's PIN or password.
    ///
    /// A missing key, and a key without a PIN or a password, count as locked. Throws ``StorageError``.
    package func protectionStatus(of name: KeyName) throws -> AuthenticatorProtectionStatus {
        guard self.ownIndex(of: name) != nil else { return .lockedOut }
        return try self.ledger.status(name.keyID.base64URL)
    }

    /// Returns `true` if a key can still answer: the key exists, and is not locked after too many wrong attempts.
    /// Throws ``StorageError``.
    package func canAnswer(_ name: KeyName) throws -> Bool {
        guard let index = self.ownIndex(of: name) else { return false }
        guard self.database.keys[index].protection.secretSalt != nil else { return true }
        return try self.ledger.status(name.keyID.base64URL) != .lockedOut
    }

    /// Returns `true` if the module has room for `count` new keys.
    package func hasRoom(for count: Int) -> Bool {
        self.database.keys.count <= self.configuration.maximumKeys - count
    }

    /// Applies the server's result for a key (notifyUAFResult, UAF Application API 1.1).
    ///
    /// `ok` makes a pending key final. `accepted` leaves a pending key pending. `unknownKeyID` deletes the key, and
    /// every other code deletes a pending key. Throws ``StorageError``.
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

    /// Deletes keys of an AppID (Deregister): the named key, the keys of a model, or all keys.
    ///
    /// Missing keys are not an error, so the caller does not learn if they existed. Throws ``StorageError``.
    package func deregister(appID: String, aaid: AAID? = nil, keyID: KeyID? = nil) throws {
        try self.delete(
            self.ownKeys.filter { key in
                key.appID.hasSameBytes(as: appID) && aaid.map { key.aaid == $0 } ?? true
                    && keyID.map { key.keyID == $0 } ?? true
            }.map(\.name))
    }

    /// Deletes every key of this app that is not in `names`: remains of an interrupted registration.
    ///
    /// Throws ``StorageError``.
    package func deleteAll(except names: Set<KeyName>) throws {
        try self.delete(self.ownKeys.map(\.name).filter { !names.contains($0) })
    }

    /// Runs `body` while no other operation uses these keys, so signatures reach the server in the order of their
    /// counters.
    ///
    /// Throws `CancellationError` if the task is cancelled while it waits.
    package func withExclusiveUse<Result: Sendable>(
        of names: [KeyName], _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        // All operations use the same order, so two operations never wait for each other.
        let ordered = Set(names).sorted { $0.keyID.base64URL < $1.keyID.base64URL }
        return try await self.uses.run(ordered, body)
    }
}

// MARK: - What the commands share

extension AuthenticatorModule {
    /// Applies a change to the keys and makes the change durable. If writing fails, nothing has changed.
    func change(_ body: (inout KeyDatabase) throws -> Void) throws {
        var database = self.database
        try body(&database)
        try database.write(to: self.platform.storage)
        self.database = database
    }

    func delete(_ names: [KeyName]) throws {
        guard !names.isEmpty else { return }
        // The attempts go first: a key without attempts counts as locked, and the next start deletes the rest of the
        // key. In another order, attempts without their key would remain for ever, and so would a key of the device
        // without a record.
        for name in names { try self.ledger.remove(name.keyID.base64URL) }
        for key in self.database.keys where names.contains(key.name) {
            guard let model = AuthenticatorModel(aaid: key.aaid) else { continue }
            try self.keys(of: model)?.delete(key.keyHandle, of: self.deviceName(of: key.name, appID: key.appID))
        }
        try self.change { database in database.keys.removeAll { names.contains($0.name) } }
    }

    /// The keys of this app and persona. Keys of other apps and personas count as missing (§10).
    private var ownKeys: [StoredKey] { self.database.keys.filter(self.isOwn) }

    /// Returns the name that the app had when the keys were made, if the app has another name now and none of the keys
    /// signs because of the change. `nil` if at least one key is not in ``formerNames``.
    package nonisolated func formerName(of names: [KeyName]) -> String? {
        let former = names.map { self.formerNames[$0] }
        return former.contains(nil) ? nil : former.compactMap(\.self).first
    }

    func ownIndex(of name: KeyName) -> Int? {
        self.database.index(of: name).flatMap { self.isOwn(self.database.keys[$0]) ? $0 : nil }
    }

    private func isOwn(_ key: StoredKey) -> Bool {
        key.callerID.hasSameBytes(as: self.configuration.callerID.text)
            && key.personaID.hasSameBytes(as: self.configuration.personaID)
    }

    /// Returns the device's name for a key, which opens the key for this app and AppID only.
    func deviceName(of name: KeyName, appID: String) -> DeviceKeyName {
        DeviceKeyName(
            kind: name.aaid.text, id: name.keyID.bytes, accessToken: self.keyHandleAccessToken(appID: appID))
    }

    /// Returns SHA-256(AppID ‖ ASMToken ‖ PersonaID ‖ CallerID) (§12).
    nonisolated func keyHandleAccessToken(appID: String) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Array(appID.utf8))
        self.token.withBytes { hash.update(bufferPointer: $0) }
        hash.update(data: Array(self.configuration.personaID.utf8))
        hash.update(data: Array(self.configuration.callerID.text.utf8))
        return Array(hash.finalize())
    }
}

/// An authenticator of the device, with its availability.
package struct AuthenticatorAvailability: Hashable, Sendable {
    /// The model of the authenticator.
    package let model: AuthenticatorModel
    /// `true` if the device has the hardware for the authenticator.
    package let isSupportedByHardware: Bool
    /// `true` if a person is enrolled with the operating system. Always `true` for a PIN, a password and device
    /// possession, because the registration itself enrols the person.
    package let isUserEnrolled: Bool
    /// `true` if the authenticator makes new keys. Otherwise the authenticator answers with its existing keys.
    package let makesKeys: Bool
}

/// A key of the device.
package struct KeyRegistration: Hashable, Sendable {
    /// The key's name.
    package let name: KeyName
    /// `true` if the server has not confirmed the key yet.
    package let isPending: Bool
}
