#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Something that the server tells a person's devices.
public struct AccountNotice: Hashable, Sendable, Identifiable {
    /// What has happened. A struct, because a newer server may tell of more.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The server's word for it.
        public let rawValue: String
        /// A kind by the server's word.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Somebody signed in with this account; the subject is the service.
        public static let signedIn = Self(rawValue: "signed-in")
        /// A device was added to the account; the subject is its name.
        public static let deviceAdded = Self(rawValue: "device-added")
        /// A device has another authenticator to answer with; the subject is the device's name.
        public static let authenticatorAdded = Self(rawValue: "authenticator-added")
        /// A service had authenticators of the account deleted; the subject is the service.
        public static let authenticatorsRemoved = Self(rawValue: "authenticators-removed")
        /// The password of the account was changed, and every browser was signed out; the subject is the account's name.
        public static let passwordChanged = Self(rawValue: "password-changed")
        /// The codes that are asked for beside the password are of another app, or there are other recovery codes; the subject
        /// is the account's name.
        public static let secondFactorChanged = Self(rawValue: "second-factor-changed")
        /// The account was connected with one at another provider, which signs in to it from now on; the subject is that
        /// provider.
        public static let identityLinked = Self(rawValue: "identity-linked")
        /// A device speaks for itself by other keys from now on, because it has lost those that it had; the subject is its
        /// name.
        public static let deviceKeysReplaced = Self(rawValue: "device-keys-replaced")
        /// The server's word.
        public var description: String { self.rawValue }
    }

    /// The server's name for it.
    public let id: String
    /// What has happened. Fit to be shown, as ``subject`` is.
    public let kind: Kind
    /// When.
    public let date: Date
    /// To what, or of what. One line.
    public let subject: String
}

/// A browser that is signed in to a person's account.
public struct BrowserSession: Hashable, Sendable, Identifiable {
    /// A service that the browser was signed in to.
    public struct Service: Hashable, Sendable {
        /// The service's name. One line, fit to be shown.
        public let name: String
        /// Scheme, host and port, fit to be compared by a person.
        public let origin: String
    }

    /// What ``SessionRevocation/sessionID(_:)`` takes.
    public let id: String
    /// The services that it was signed in to, the last one first; the server may leave older ones out.
    public let services: [Service]
    /// The browser and its system in words, at the sign-in. One line, fit to be shown.
    public let browser: String?
    /// The browser's network address at the sign-in. One line, fit to be shown.
    public let address: String?
    /// When the person authenticated.
    public let authenticatedAt: Date
    /// When the session last signed the person in somewhere.
    public let usedAt: Date
    /// When it ends by itself, at the latest.
    public let expiresAt: Date
}

/// What a service has of a person that goes on without a browser: it renews its access by itself.
public struct ServiceGrant: Hashable, Sendable, Identifiable {
    /// What ``GrantRevocation/grantID(_:)`` takes.
    public let id: String
    /// The service's name. One line, fit to be shown.
    public let service: String
    /// What was granted, by the server's words. Each one line, fit to be shown.
    public let scopes: [String]
    /// The browser session in which the person gave the grant, also if that session has ended; `nil` for a grant that was
    /// given without a browser.
    public let session: GivingSession?
    /// When it was given.
    public let since: Date
    /// When the service last renewed its access; `nil` where it has not yet.
    public let usedAt: Date?
    /// When it ends by itself, if the service does not use it.
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
