#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A message of the server to the devices of a person: an event on the account.
public struct AccountNotice: Hashable, Sendable, Identifiable {
    /// The kind of the event. A struct, because a newer server may report more kinds.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The server's name of the kind.
        public let rawValue: String
        /// Creates a kind from the server's name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// A person signed in with this account; the subject is the service.
        public static let signedIn = Self(rawValue: "signed-in")
        /// A device was added to the account; the subject is its name.
        public static let deviceAdded = Self(rawValue: "device-added")
        /// A device received an additional authenticator or a new PIN; the subject is the device's name.
        public static let authenticatorAdded = Self(rawValue: "authenticator-added")
        /// Authenticators of the account were deleted. If a service deleted them, the subject is the service; if a
        /// personalised device or a factor of the device was removed, the subject is the device's name.
        public static let authenticatorsRemoved = Self(rawValue: "authenticators-removed")
        /// The password of the account was changed, and every browser was signed out; the subject is the account's name.
        public static let passwordChanged = Self(rawValue: "password-changed")
        /// The second factor was changed: the account has codes of another app, or new recovery codes. The subject is
        /// the account's name.
        public static let secondFactorChanged = Self(rawValue: "second-factor-changed")
        /// The account was linked with an account at another provider. From now on the other provider can sign in to
        /// this account. The subject is the other provider.
        public static let identityLinked = Self(rawValue: "identity-linked")
        /// A device authenticates itself with new keys, because the device has lost its former keys. The subject is the
        /// device's name.
        public static let deviceKeysReplaced = Self(rawValue: "device-keys-replaced")
        /// A service wants a device added to the account. The device has answered and waits for its number; the subject
        /// is the device's name, and ``AccountNotice/id`` is the identifier of the enrolment.
        public static let enrolmentAsked = Self(rawValue: "enrolment-asked")
        /// A device was added, because another device of the person approved the device. The subject is the name of the
        /// new device. A person who knows nothing of this reports it by the letter that tells of the same, or asks the
        /// operator of the service.
        public static let deviceApproved = Self(rawValue: "device-approved")
        /// The person said on a device that another party had begun a request (`DenialStatement.notMe`). The subject is
        /// the service that requested the operation.
        public static let requestDisowned = Self(rawValue: "request-disowned")
        /// A recovery code of the account was used. The subject is the account's name.
        public static let recoveryCodeUsed = Self(rawValue: "recovery-code-used")
        /// A device was reported as lost: the device signs nobody in until it comes back. The subject is the device's
        /// name.
        public static let deviceRested = Self(rawValue: "device-rested")
        /// A device that was reported as lost is in use again. The subject is the device's name.
        public static let deviceReturned = Self(rawValue: "device-returned")
        /// The server's name of the kind.
        public var description: String { self.rawValue }
    }

    /// The server's identifier of the notice.
    public let id: String
    /// The kind of the event. Fit to be shown, like ``subject``.
    public let kind: Kind
    /// The time of the event.
    public let date: Date
    /// The object of the event, such as a service or a device; see ``Kind``. One line.
    public let subject: String
}

/// A browser that is signed in to a person's account.
public struct BrowserSession: Hashable, Sendable, Identifiable {
    /// A service to which the browser was signed in.
    public struct Service: Hashable, Sendable {
        /// The service's name. One line, fit to be shown.
        public let name: String
        /// Scheme, host and port of the service, fit to be compared by a person.
        public let origin: String
    }

    /// The identifier for ``SessionRevocation/sessionID(_:)``.
    public let id: String
    /// The services to which the browser was signed in, the last one first; the server may leave out older services.
    public let services: [Service]
    /// The browser and its system in words, at the sign-in. One line, fit to be shown.
    public let browser: String?
    /// The browser's network address at the sign-in. One line, fit to be shown.
    public let address: String?
    /// The time at which the person authenticated.
    public let authenticatedAt: Date
    /// The time at which the session last signed the person in to a service.
    public let usedAt: Date
    /// The latest time at which the session ends by itself.
    public let expiresAt: Date
}

/// A service's grant for a person's account that continues without a browser: the service renews its access by itself.
public struct ServiceGrant: Hashable, Sendable, Identifiable {
    /// The identifier for ``GrantRevocation/grantID(_:)``.
    public let id: String
    /// The service's name. One line, fit to be shown.
    public let service: String
    /// The granted scopes, in the server's words. Each is one line, fit to be shown.
    public let scopes: [String]
    /// The browser session in which the person gave the grant, also if that session has ended; `nil` for a grant that was
    /// given without a browser.
    public let session: GivingSession?
    /// The time at which the grant was given.
    public let since: Date
    /// The time at which the service last renewed its access; `nil` if the service has not renewed it yet.
    public let usedAt: Date?
    /// The time at which the grant ends by itself, if the service does not use it.
    public let expiresAt: Date

    /// The session in which a person gave a grant.
    public struct GivingSession: Hashable, Sendable, Identifiable {
        /// The session's identifier, as ``BrowserSession/id`` has the identifier while the session lasts.
        public let id: String
        /// The browser and its system in words. One line, fit to be shown; `nil` if the server did not learn them.
        public let browser: String?
        /// The browser's network address. One line, fit to be shown; `nil` if the server did not learn the address.
        public let address: String?
    }
}
