import UAFClient
public import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The reason why the client could not be initialised. Two errors are equal if their codes are equal.
public struct InitializationError: CodedError {
    /// The kind of the error, which determines the app's remedy.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        fileprivate enum Base: String, CaseIterable {
            case invalidConfiguration, storageInUse, storageCorrupt, storageNewer, storageUnavailable, operationReused
            case noDeviceLock, deviceProtection
        }
        fileprivate let base: Base
        /// The configuration is missing, incomplete or wrong, or the transport cannot enforce the configuration's pins. A
        /// mistake in the app.
        public static let invalidConfiguration = Self(base: .invalidConfiguration)
        /// Another process uses the storage. Wait for the other process to end.
        public static let storageInUse = Self(base: .storageInUse)
        /// The stored data cannot be opened. The enrolments are lost; the app wipes the storage and enrols again.
        public static let storageCorrupt = Self(base: .storageCorrupt)
        /// A later version of the app has written the stored data. Nothing is lost: ask the person to update the app.
        public static let storageNewer = Self(base: .storageNewer)
        /// The storage failed. Transient; try again later.
        public static let storageUnavailable = Self(base: .storageUnavailable)
        /// The initializer was executed before. A mistake in the app's code.
        public static let operationReused = Self(base: .operationReused)
        /// The device has no passcode (``ClientConfiguration/isDeviceLockRequired``). Ask the person to set a passcode
        /// in the device's settings, and create the client again. Nothing is lost.
        public static let noDeviceLock = Self(base: .noDeviceLock)
        /// The app's ``SecurityInspection`` found that the device's protection was removed, or the inspection failed.
        /// Do not work on this device. Nothing was deleted.
        public static let deviceProtection = Self(base: .deviceProtection)
        public var description: String { self.base.rawValue }
    }

    /// The kind of the error.
    public let code: Code
    /// The remedy for the app. For ``Code/storageCorrupt``, the app wipes the storage first.
    public var recovery: OperationError.Recovery {
        switch self.code.base {
        case .invalidConfiguration, .operationReused: .correctApp
        case .storageInUse, .storageUnavailable: .tryAgain
        case .storageCorrupt: .enrollAgain
        case .storageNewer: .updateApp
        case .noDeviceLock: .enrollWithOperatingSystem
        case .deviceProtection: .contactService
        }
    }
    /// The reason for the log: never a secret.
    public let reason: String

    /// Creates an error with the code; `reason` goes only to the log.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }

    init(_ error: StorageError) {
        let code: Code =
            switch error.code {
            case .inUse: .storageInUse
            case .corrupt: .storageCorrupt
            case .newer: .storageNewer
            default: .storageUnavailable
            }
        self.init(code, error.reason)
    }
}

extension InitializationError.Code: CaseIterable {
    /// All codes of this version.
    public static var allCases: [Self] { Base.allCases.map(Self.init) }
}

extension InitializationError: ExplainedError {
    /// The event of the error.
    public var event: ErrorEvent {
        switch self.code.base {
        case .invalidConfiguration: .appMistaken
        case .storageInUse: .keysInUse
        case .storageCorrupt: .storageUnreadable
        case .storageNewer: .storageNewer
        case .storageUnavailable: .storageFailed
        case .operationReused: .doneBefore
        case .noDeviceLock: .noDevicePasscode
        case .deviceProtection: .protectionRemoved
        }
    }

    /// The person's next step.
    public var advice: ErrorAdvice { self.code == .noDeviceLock ? .setDevicePasscode : self.recovery.advice }
}

extension InitializationError: LocalizedError {
    /// The event in English, fit to be shown. No part of the text comes from the server.
    public var errorDescription: String? { EnglishMessages().words(self.event).text }

    /// The person's next step in English, fit to be shown.
    public var recoverySuggestion: String? { EnglishMessages().words(self.advice).text }
}
