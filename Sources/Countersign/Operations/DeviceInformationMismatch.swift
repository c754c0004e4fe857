import Foundation
import UAFClient
import _Primitives

/// A difference between this device and the server of one account, found by ``DeviceInformationCheck``.
public struct DeviceInformationMismatch: Hashable, Sendable, CustomStringConvertible {
    /// The kind of a difference.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case name, pushAddress, pushSetting, dispatchTarget, deviceKeys, authenticator }
        private let base: Base
        /// The server has another name of the device.
        public static let name = Self(base: .name)
        /// The server has another push address of the device, or none, or one that the device does not have.
        public static let pushAddress = Self(base: .pushAddress)
        /// Push is on at one side and off at the other side.
        public static let pushSetting = Self(base: .pushSetting)
        /// Only one side knows the device as a target of dispatches: see ``DeviceInformationMismatch/missingSide``.
        public static let dispatchTarget = Self(base: .dispatchTarget)
        /// The server does not accept the device's own keys. While the keys differ, no other difference can be found.
        public static let deviceKeys = Self(base: .deviceKeys)
        /// Only one side has a key of the account (``DeviceInformationMismatch/aaid``).
        public static let authenticator = Self(base: .authenticator)
        public var description: String { self.base.rawValue }
    }

    /// A side of a difference.
    public enum Side: Hashable, Sendable {
        /// This device.
        case device
        /// The account's server.
        case server
    }

    /// The account.
    public let account: RegisteredAccount
    /// The kind of the difference.
    public let kind: Kind
    /// The side that lacks the dispatch target or the key; `nil` for the other kinds.
    public let missingSide: Side?
    /// The model of the key that one side lacks; `nil` for the other kinds.
    public let aaid: Aaid?
    /// The key that one side lacks.
    let key: KeyName?

    init(_ account: RegisteredAccount, _ kind: Kind, missingAt side: Side? = nil, key: KeyName? = nil) {
        self.account = account
        self.kind = kind
        self.missingSide = side
        self.aaid = key?.aaid.text
        self.key = key
    }

    /// The kind, and the side that lacks something.
    public var description: String { self.missingSide.map { "\(self.kind), missing at the \($0)" } ?? "\(self.kind)" }
}

/// An account whose server could not be asked, or whose difference could not be repaired.
public struct DeviceInformationFailure: Hashable, Sendable {
    /// The account.
    public let account: RegisteredAccount
    /// The difference that stays; `nil` if the server could not be asked for its data.
    public let mismatch: DeviceInformationMismatch?
    /// The reason.
    public let error: OperationError
}

/// The comparison of this device with the servers of its accounts.
struct DeviceComparison: Sendable {
    let core: ClientCore
    /// This device's data.
    let device: StoredDevice

    /// Returns the differences between this device and an account's server. Different keys and a missing target hide all
    /// other differences.
    ///
    /// Throws the errors of ``DispatchTargetExchange/change(_:_:)``; a server that does not accept the device's keys is
    /// a difference and no error.
    func mismatches(of record: StoredAccount) async throws -> [DeviceInformationMismatch] {
        let account = record.account
        try self.core.checkName(of: record)
        guard let exchange = DispatchTargetExchange(self.core, record, self.core.newRecording()) else {
            return [DeviceInformationMismatch(account, .deviceKeys)]
        }
        guard let id = record.targetID else {
            return [DeviceInformationMismatch(account, .dispatchTarget, missingAt: .device)]
        }
        let target: DispatchTargetExchange.Target
        do {
            guard let found = try await exchange.target(id) else {
                return [DeviceInformationMismatch(account, .dispatchTarget, missingAt: .server)]
            }
            target = found
        } catch let error as EngineError where error.cause == .notAuthorized {
            return [DeviceInformationMismatch(account, .deviceKeys)]
        }
        var found: [DeviceInformationMismatch] = []
        if !target.hasName(self.device.shownName) { found.append(DeviceInformationMismatch(account, .name)) }
        if !target.hasAddress(self.device.pushAddress) {
            found.append(DeviceInformationMismatch(account, .pushAddress))
        }
        if target.isPushEnabled != self.device.isPushEnabled {
            found.append(DeviceInformationMismatch(account, .pushSetting))
        }
        // A key that waits for its confirmation belongs to a device of its own at the server.
        let confirmed = await self.core.module.confirmedKeys(of: record)
        for key in record.keys where confirmed.contains(key) && !target.keys.contains(key) {
            found.append(DeviceInformationMismatch(account, .authenticator, missingAt: .server, key: key))
        }
        for key in target.keys.subtracting(record.keys).sorted(by: { ExactText("\($0)") < ExactText("\($1)") }) {
            found.append(DeviceInformationMismatch(account, .authenticator, missingAt: .device, key: key))
        }
        return found
    }
}

extension DispatchTargetExchange.Target {
    /// Returns `true` if the server has this name, in any spelling that Unicode calls equal.
    fileprivate func hasName(_ name: String) -> Bool {
        // The reader of JSON and the device's own rule bound the runs of marks, so that composing is cheap.
        self.name.precomposedStringWithCanonicalMapping.hasSameBytes(as: name.precomposedStringWithCanonicalMapping)
    }

    /// Returns `true` if the server has exactly this push address.
    fileprivate func hasAddress(_ address: PushAddress?) -> Bool {
        guard let address else { return self.dispatcher == nil && self.addressHash == nil }
        return (self.dispatcher?.hasSameBytes(as: address.dispatcher) ?? false)
            && (self.addressHash?.hasSameBytes(as: address.hash) ?? false)
    }
}
