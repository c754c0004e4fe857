import _Primitives

/// The permitted uses of an access token: names in the order of the request (RFC 6749, section 3.3).
public struct Scope: Hashable, Sendable, CustomStringConvertible {
    /// The scope's names, each once.
    public let names: [String]

    /// Asks for an ID token (OpenID Connect Core 1.0, section 3.1.2.1).
    public static let openID = "openid"
    /// Asks for the person's names (section 5.4).
    public static let profile = "profile"
    /// Asks for the person's e-mail address (section 5.4).
    public static let email = "email"
    /// Asks for the person's telephone number (section 5.4).
    public static let phone = "phone"
    /// Asks for the person's postal address (section 5.4).
    public static let address = "address"
    /// Asks for a refresh token, with which the client continues while the person is away (section 11).
    public static let offlineAccess = "offline_access"

    /// Asks for a secret with which other apps of the device sign in (OpenID Connect Native SSO for Mobile Apps 1.0,
    /// section 3.1).
    public static let deviceSSO = "device_sso"

    /// The names that OpenID Connect or a related specification defines, supported by a server or not.
    public static let ofOpenID = [
        Self.openID, Self.profile, Self.email, "address", "phone", Self.offlineAccess, Self.deviceSSO,
    ]

    /// Reads at most 16 names, separated by spaces. RFC 6749, section 3.3, has one space between two names, and some
    /// clients send more.
    ///
    /// Throws ``OAuthError`` `invalid_scope`.
    public init(_ text: String) throws(OAuthError) {
        var names: [String] = []
        for name in text.splitBytes(at: " ") where !name.isEmpty {
            guard
                name.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C })
            else { throw OAuthError(.invalidScope, "The scope is malformed.") }
            guard !names.containsBytes(of: name) else { continue }
            guard names.count < 16 else { throw OAuthError(.invalidScope, "The scope is too long.") }
            names.append(String(name))
        }
        guard !names.isEmpty else { throw OAuthError(.invalidScope, "The scope has no name.") }
        self.names = names
    }

    /// Returns the names that are also in `known`. The other names are left out, as RFC 6749 and OpenID Connect Core
    /// allow.
    public func limited(to known: [String]) -> Scope { Scope(names: self.names.filter(known.containsBytes)) }

    /// Returns `true` if `other` has all names of this scope.
    public func isPart(of other: Scope) -> Bool { self.names.allSatisfy(other.contains) }

    /// Returns `true` if the scope has the name.
    public func contains(_ name: String) -> Bool { self.names.containsBytes(of: name) }

    /// The value of `scope`.
    public var description: String { self.names.joined(separator: " ") }

    private init(names: [String]) { self.names = names }
}
