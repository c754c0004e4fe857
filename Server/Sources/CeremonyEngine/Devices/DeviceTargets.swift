import Ceremony
public import Records
import Settings
public import UAF
import _Primitives

/// Devices as targets of dispatches, as devices state themselves (decision 114).
///
/// A device has proved each request (``DeviceProofs``). A device changes its own target and no other, and no request
/// changes a key.
public struct DeviceTargets: CeremonyPart {
    /// The values that a device states when it makes itself known as a target.
    public struct Statement: Sendable {
        /// The device's own name.
        public var name: String
        /// The name of the dispatcher that reaches the device.
        public var dispatcher: String?
        /// The push address at the dispatcher's provider.
        public var address: String?
        /// `false` if the device does not want to be pushed to.
        public var isPushWanted: Bool
        /// The thumbprints (RFC 7638) of the device's signing key and of its encryption key; `nil` for a value that is no
        /// public key on P-256.
        public var keys: (signing: String?, encryption: String?)

        /// Creates a statement.
        public init(
            name: String, dispatcher: String?, address: String?, isPushWanted: Bool,
            keys: (signing: String?, encryption: String?)
        ) {
            self.name = name
            self.dispatcher = dispatcher
            self.address = address
            self.isPushWanted = isPushWanted
            self.keys = keys
        }
    }

    /// A device's target and keys, as the device may know them.
    public struct Information: Sendable {
        /// The target.
        public let target: DispatchTargetRecord
        /// The registered keys of the device, by model and name.
        public let credentials: [(aaid: AAID, keyID: KeyID)]
    }

    let environment: CeremonyEnvironment
    let store: any AccountStore & DispatchTargetStore & DeviceIdentityStore
    let budgets: Budgets
    let dispatchers: Dispatchers

    /// Makes a device known as a target, or states all of the target's values anew. Returns the target's identifier for
    /// the device, which is the device's own and always the same.
    ///
    /// Throws ``CeremonyError``: `keysDiffer` unless both keys are the ones that the device's authenticator told, each in
    /// its place, `nameTaken`, `dispatcherUnknown`, `targetInvalid`, `notFound` for a device that is gone, and
    /// `tooManyRequests`. Cost: three queries and a step.
    public func create(_ statement: Statement, by device: AuthenticatedDevice) async throws -> String {
        let present = try await self.target(of: device)
        guard let signing = statement.keys.signing, let encryption = statement.keys.encryption,
            let told = present.encryptionKey, told.name.hasSameBytes(as: encryption),
            try await self.store.isKey(signing, ofDevice: device.deviceID)
        else { throw CeremonyError(.keysDiffer, "keys that the device has not told") }
        try await self.change(
            DispatchTargetChange(
                deviceID: device.deviceID, accountID: device.accountID, name: statement.name,
                dispatcher: .changed(to: statement.dispatcher), address: .changed(to: statement.address),
                isPushWanted: statement.isPushWanted, audit: self.event(.dispatchTargetCreated, device)),
            of: present)
        return device.deviceID
    }

    /// Returns the target and the keys of a device. Throws ``CeremonyError`` `notFound` for a device that is gone. Cost:
    /// two queries.
    public func information(of device: AuthenticatedDevice) async throws -> Information {
        let target = try await self.target(of: device)
        let keys = try await self.store.credentials(accountID: device.accountID)
        return Information(
            target: target,
            credentials: try keys.filter { $0.deviceID.hasSameBytes(as: device.deviceID) }.map {
                (try AAID($0.aaid), try KeyID($0.keyID))
            })
    }

    /// Changes those values of a target that the device states; `nil` keeps a name and the wish to be pushed to.
    ///
    /// Throws ``CeremonyError`` as ``create(_:by:)``, without `keysDiffer`. Cost: a query and a step.
    public func change(
        of device: AuthenticatedDevice, name: String?, dispatcher: DispatchTargetChange.Member,
        address: DispatchTargetChange.Member, isPushWanted: Bool?
    ) async throws {
        try await self.change(
            DispatchTargetChange(
                deviceID: device.deviceID, accountID: device.accountID, name: name, dispatcher: dispatcher,
                address: address, isPushWanted: isPushWanted, audit: self.event(.dispatchTargetChanged, device)),
            of: try await self.target(of: device))
    }

    /// Ends the target of a device: nothing is pushed to the device any more. The device and its keys stay, and a target
    /// that has ended already is ended once more.
    ///
    /// Throws ``CeremonyError``: `notFound` for a device that is gone, and `tooManyRequests`. Cost: a query and a step.
    public func end(of device: AuthenticatedDevice) async throws {
        try await self.change(
            DispatchTargetChange(
                deviceID: device.deviceID, accountID: device.accountID, dispatcher: .changed(to: nil),
                address: .changed(to: nil), audit: self.event(.dispatchTargetDeleted, device)),
            of: try await self.target(of: device))
    }

    /// Returns `true` if a device has that identifier and may authenticate.
    public func isDevice(_ id: String) async throws -> Bool { try await self.store.dispatchTarget(deviceID: id) != nil }

    private func target(of device: AuthenticatedDevice) async throws -> DispatchTargetRecord {
        guard let target = try await self.store.dispatchTarget(deviceID: device.deviceID) else {
            throw CeremonyError(.notFound, "a device that may not authenticate any more")
        }
        return target
    }

    private func change(_ change: DispatchTargetChange, of present: DispatchTargetRecord) async throws {
        var change = change
        change.name = try change.name.map(self.checked(name:))
        try self.check(change, of: present)
        try CeremonyError.throwShortage(self.budgets.targetChanges.spend(change.deviceID, at: change.audit.at))
        do {
            try await self.store.changeDispatchTarget(change)
        } catch let error as StoreError where error.code == .conflict {
            throw CeremonyError(.nameTaken, "another phone's name")
        } catch let error as StoreError where error.code == .notFound {
            throw CeremonyError(.notFound, "a device that may not authenticate any more")
        }
    }

    /// Returns a name as people see it. Throws `targetInvalid` for a name that would be shown as another one.
    private func checked(name: String) throws(CeremonyError) -> String {
        let most = self.limits.nameCharacters
        let shown = DisplayText.name(name, length: most)
        // A name in another form of Unicode is the same name. The bound keeps the comparison short.
        guard !shown.isEmpty, name.utf8.count <= 16 * most, shown == name else {
            throw CeremonyError(.targetInvalid, "A name is one line of 1 to \(most) characters.")
        }
        return shown
    }

    private func check(_ change: DispatchTargetChange, of present: DispatchTargetRecord) throws(CeremonyError) {
        var dispatcher = present.dispatcher
        if case .changed(let stated) = change.dispatcher { dispatcher = stated }
        if case .changed(let stated?) = change.dispatcher {
            guard
                self.dispatchers.all.contains(where: { $0 is any DeviceDispatcher && $0.name.hasSameBytes(as: stated) })
            else { throw CeremonyError(.dispatcherUnknown, "no dispatcher to devices has the name") }
        }
        guard case .changed(let address?) = change.address else { return }
        guard (1...Limits.Fixed.pushAddressBytes).contains(address.utf8.count) else {
            throw CeremonyError(
                .targetInvalid, "A target is a text of 1 to \(Limits.Fixed.pushAddressBytes) bytes.")
        }
        guard dispatcher != nil else { throw CeremonyError(.dispatcherUnknown, "a push address without a dispatcher") }
    }

    private func event(_ kind: AuditEvent.Kind, _ device: AuthenticatedDevice) -> AuditEvent {
        AuditEvent(kind, at: self.time.now(), accountID: device.accountID, actor: "device", detail: device.deviceID)
    }
}

extension AuditEvent.Kind {
    /// A device has made itself known as a target of dispatches, or has stated all of its values anew.
    fileprivate static let dispatchTargetCreated = Self(rawValue: "dispatch-target-created")
    /// A device has changed its name, its dispatcher, its push address, or its wish to be pushed to.
    fileprivate static let dispatchTargetChanged = Self(rawValue: "dispatch-target-changed")
    /// A device has ended its target.
    fileprivate static let dispatchTargetDeleted = Self(rawValue: "dispatch-target-deleted")
}
