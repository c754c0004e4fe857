import UAF
public import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What is on this device, without asking the server.
public struct LocalData: Sendable {
    let core: ClientCore

    /// The accounts that this device is enrolled for, oldest first.
    public var accounts: [RegisteredAccount] {
        get async { await self.core.register.records.map(\.account) }
    }

    /// The authenticators of this device.
    public var authenticators: [AuthenticatorDescriptor] {
        get async { await self.core.descriptors() }
    }

    /// What the device is called; `nil` before the first registration and after the last account has gone.
    public var deviceInformation: DeviceInformation? {
        get async { await self.core.register.deviceName.map(DeviceInformation.init(name:)) }
    }

    /// How the PIN of an account stands; `nil` where the account has none. Throws `StorageError`, and
    /// ``OperationError`` `appRenamed` where the app had another name when the account was enrolled.
    public func pinProtectionStatus(username: Username) async throws -> AuthenticatorProtectionStatus? {
        try await self.protectionStatus(.pin, of: username)
    }

    /// How the password of an account stands; `nil` where the account has none. Throws `StorageError`, and
    /// ``OperationError`` `appRenamed` where the app had another name when the account was enrolled.
    public func passwordProtectionStatus(username: Username) async throws -> AuthenticatorProtectionStatus? {
        try await self.protectionStatus(.password, of: username)
    }

    /// What is kept of an account, in whichever way its name is typed.
    private func record(of username: Username) async -> StoredAccount? {
        guard let name = username.normalizedUsername else { return nil }
        return await self.core.record(named: name)
    }

    private func protectionStatus(_ factor: AuthenticatorModel.Factor, of username: Username) async throws
        -> AuthenticatorProtectionStatus?
    {
        let record = await self.record(of: username)
        do { try self.core.checkName(of: record) } catch { throw OperationError(translating: error) }
        let keys = record?.keys ?? []
        guard let key = keys.last(where: { AuthenticatorModel(aaid: $0.aaid)?.factor == factor }) else { return nil }
        return try await self.core.module.protectionStatus(of: key)
    }

    /// Deletes what this device keeps of an account that is of no use any more, without telling the server: all of its
    /// keys, locked or not, and what proves that an enrolment comes from this device. Other accounts are not touched.
    ///
    /// The server goes on listing the device, whose keys nobody has any more, until its operator takes it away or the
    /// person deregisters it elsewhere. To use the account again, do not forget it: enrol over it with a new link, and the
    /// server retires the old device once the new key is confirmed. To leave for good, ``Deregistration`` tells the server.
    ///
    /// Throws ``DeleteAuthenticatorError``; `unknownUsername` also for an account of that name at another server.
    public func forget(_ account: RegisteredAccount) async throws {
        guard let record = await self.record(of: account.username), record.key.server == account.server.baseURL else {
            throw DeleteAuthenticatorError(.unknownUsername, "no such account")
        }
        do {
            try await self.core.forget(record.keys, of: record)
        } catch {
            throw DeleteAuthenticatorError(.storageError, "\(error)")
        }
    }

    /// Deletes what this device keeps of an authenticator of an account, or of all of them, without telling the server.
    /// The account goes with its last authenticator.
    ///
    /// After a lock-out do not delete the locked one: it is what proves that a new enrolment comes from this device. Have
    /// the person enrol over the account with a new link, as <doc:EnrolADevice> says; that replaces the locked key.
    ///
    /// Throws ``DeleteAuthenticatorError``.
    public func deleteAuthenticator(username: Username, aaid: Aaid? = nil) async throws {
        guard let record = await self.record(of: username) else {
            throw DeleteAuthenticatorError(.unknownUsername, "no account of that name")
        }
        let keys = record.keys.filter { key in aaid.map { $0.hasSameBytes(as: key.aaid.text) } ?? true }
        guard !keys.isEmpty else {
            throw DeleteAuthenticatorError(.invalidAaid, "the account is not registered with \(aaid ?? "anything")")
        }
        do {
            try await self.core.forget(keys, of: record)
        } catch {
            throw DeleteAuthenticatorError(.storageError, "\(error)")
        }
    }
}

/// Why an authenticator could not be deleted. Two are equal when their codes are.
public struct DeleteAuthenticatorError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the app should do.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        fileprivate enum Base: String { case invalidAaid, unknownUsername, storageError }
        fileprivate let base: Base
        /// The account is not registered with that authenticator. Refresh what is shown.
        public static let invalidAaid = Self(base: .invalidAaid)
        /// There is no such account. Refresh what is shown.
        public static let unknownUsername = Self(base: .unknownUsername)
        /// The device's storage failed. Transient; nothing or everything was deleted.
        public static let storageError = Self(base: .storageError)
        public var description: String { self.base.rawValue }
    }

    /// What happened.
    public let code: Code
    /// What the app does about it.
    public var recovery: OperationError.Recovery { self.code == .storageError ? .tryAgain : .nothing }
    /// For the log.
    public let reason: String

    /// An error of that code; `reason` goes to the log alone.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }

    public var description: String { "DeleteAuthenticatorError.\(self.code): \(self.reason)" }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}

extension DeleteAuthenticatorError: LocalizedError {
    /// What happened, in English and fit to be shown.
    public var errorDescription: String? {
        switch self.code.base {
        case .invalidAaid: "The account has no such authenticator on this device."
        case .unknownUsername: "This device has no account of that name."
        case .storageError: "This device's storage failed."
        }
    }

    /// What a person does about it, in English and fit to be shown.
    public var recoverySuggestion: String? { self.recovery.suggestion }
}
