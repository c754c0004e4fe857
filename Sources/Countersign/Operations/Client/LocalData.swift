import UAF
public import UAFClient
public import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The data on this device, available without asking the server.
public struct LocalData: Sendable {
    let core: ClientCore

    /// The accounts for which this device is enrolled, oldest first.
    public var accounts: [RegisteredAccount] {
        get async { await self.core.register.records.map(\.account) }
    }

    /// The authenticators of this device, including kinds whose hardware is missing
    /// (``AuthenticatorDescriptor/isSupportedByHardware``).
    public var authenticators: [AuthenticatorDescriptor] {
        get async { await self.core.descriptors() }
    }

    /// The data about this device; `nil` before the first registration and after the removal of the last account.
    /// ``DeviceInformationChange`` changes the data.
    public var deviceInformation: DeviceInformation? {
        get async {
            guard let device = await self.core.register.identifiedDevice(random: self.core.platform.random) else {
                return nil
            }
            let identifiers = await self.core.register.records.compactMap { record in
                record.targetID.map {
                    DeviceInformation.AccountIdentifier(identifier: $0, account: record.account)
                }
            }
            return DeviceInformation(
                name: device.name, pushAddress: device.pushAddress, isPushEnabled: device.isPushEnabled,
                deviceID: device.id, accountIdentifiers: identifiers)
        }
    }

    /// Returns the status of an account's PIN; `nil` if this device has no such account, or the account has no PIN.
    ///
    /// Throws `StorageError`, and ``OperationError`` `appRenamed` if the app had another name when the account was
    /// enrolled.
    public func pinProtectionStatus(username: Username) async throws -> AuthenticatorProtectionStatus? {
        try await self.protectionStatus(.pin, of: username)
    }

    /// Returns the status of the password that protects an account's key on this device; `nil` if this device has no
    /// such account, or the account has no such password.
    ///
    /// Throws `StorageError`, and ``OperationError`` `appRenamed` if the app had another name when the account was
    /// enrolled.
    public func passwordProtectionStatus(username: Username) async throws -> AuthenticatorProtectionStatus? {
        try await self.protectionStatus(.password, of: username)
    }

    /// Returns the stored data of an account, for any spelling of its name.
    private func record(of username: Username) async -> StoredAccount? {
        guard let name = username.normalizedUsername else { return nil }
        return await self.core.record(named: name)
    }

    private func protectionStatus(_ factor: AuthenticatorModel.Factor, of username: Username) async throws
        -> AuthenticatorProtectionStatus?
    {
        let record = await self.record(of: username)
        do { try self.core.checkName(of: record) } catch { throw OperationError(translating: error) }
        guard let key = record?.latestKey(of: factor) else { return nil }
        return try await self.core.module.protectionStatus(of: key)
    }

    /// Deletes this device's data of an account that is no longer needed, without telling the server: all of its keys,
    /// locked or not, and the secret that identifies the device at a new enrolment. Other accounts are not touched.
    ///
    /// The server continues to list the device, whose keys no longer exist. The device is removed when the server's
    /// operator removes it or when the person deregisters it elsewhere. To use the account again, do not forget it:
    /// enrol over the account with a new link; the server retires the old device once the new key is confirmed. To
    /// leave permanently, use ``Deregistration``, which tells the server.
    ///
    /// Throws ``DeleteAuthenticatorError``; `unknownUsername` also for an account of the same name at another server.
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

    /// Deletes this device's data of one authenticator of an account, or with `nil` of all its authenticators, without
    /// telling the server. The account is removed with the last authenticator that asks the person for something.
    ///
    /// After a lock-out, do not delete the locked authenticator: it proves that a new enrolment comes from this device.
    /// Let the person enrol over the account with a new link, as <doc:EnrolADevice> says; the enrolment replaces the
    /// locked key.
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

/// The reason why an authenticator could not be deleted. Two errors are equal if their codes are equal.
public struct DeleteAuthenticatorError: CodedError {
    /// The kind of the error, which determines the app's remedy.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        fileprivate enum Base: String, CaseIterable { case invalidAaid, unknownUsername, storageError }
        fileprivate let base: Base
        /// The account is not registered with the authenticator. Refresh the list in the app.
        public static let invalidAaid = Self(base: .invalidAaid)
        /// This device has no such account. Refresh the list in the app.
        public static let unknownUsername = Self(base: .unknownUsername)
        /// The device's storage failed. Transient. Either nothing was deleted, or the entries in ``LocalData/accounts``
        /// are gone and the remaining keys are deleted at the next start.
        public static let storageError = Self(base: .storageError)
        public var description: String { self.base.rawValue }
    }

    /// The kind of the error.
    public let code: Code
    /// The remedy for the app.
    public var recovery: OperationError.Recovery { self.code == .storageError ? .tryAgain : .nothing }
    /// The reason for the log.
    public let reason: String

    /// Creates an error with the code; `reason` goes only to the log.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }
}

extension DeleteAuthenticatorError.Code: CaseIterable {
    /// All codes of this version.
    public static var allCases: [Self] { Base.allCases.map(Self.init) }
}

extension DeleteAuthenticatorError: ExplainedError {
    /// The event of the error.
    public var event: ErrorEvent {
        switch self.code.base {
        case .invalidAaid: .noSuchAuthenticator
        case .unknownUsername: .accountMissing
        case .storageError: .storageFailed
        }
    }

    /// The person's next step.
    public var advice: ErrorAdvice { self.recovery.advice }
}

extension DeleteAuthenticatorError: LocalizedError {
    /// The event in English, fit to be shown. No part of the text comes from the server.
    public var errorDescription: String? { EnglishMessages().words(self.event).text }

    /// The person's next step in English, fit to be shown.
    public var recoverySuggestion: String? { EnglishMessages().words(self.advice).text }
}
