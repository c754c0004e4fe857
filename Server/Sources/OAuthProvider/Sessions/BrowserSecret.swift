import Sealing
import Settings
public import _Primitives

/// The value of the cookie that recognises a browser: 256 random bits. Only the digest is ever stored.
///
/// Only the browser that started a sign-in can finish the sign-in.
public struct BrowserSecret: Sendable, Equatable, CustomStringConvertible {
    /// The value for the cookie. Not for a log.
    public let cookieValue: String

    /// Creates the secret of a new browser.
    public init(random: RandomSource = .system) { self.cookieValue = random.token(byteCount: 32) }

    /// Reads the secret from a cookie; `nil` if the value is not 32 bytes in base64url.
    public init?(cookie: String) {
        guard cookie.utf8.count == Limits.Fixed.cookieCharacters, Base64URL.decode(cookie) != nil else { return nil }
        self.cookieValue = cookie
    }

    /// SHA-256 of the value, 32 bytes.
    public var digest: [UInt8] { Sealing.digest(ofSecret: self.cookieValue) }

    /// Compares two secrets in constant time.
    public static func == (left: Self, right: Self) -> Bool {
        constantTimeEqual(Array(left.cookieValue.utf8), Array(right.cookieValue.utf8))
    }

    public var description: String { "BrowserSecret" }
}

/// The value of the cookie of a signed-in browser: 256 random bits, new at each sign-in. Only the digest is ever
/// stored.
public struct SessionSecret: Sendable, Equatable, CustomStringConvertible {
    /// The value for the cookie. Not for a log.
    public let cookieValue: String

    init(random: RandomSource) { self.cookieValue = random.token(byteCount: 32) }

    /// Reads the secret from a cookie; `nil` if the value is not 32 bytes in base64url.
    public init?(cookie: String) {
        guard cookie.utf8.count == Limits.Fixed.cookieCharacters, Base64URL.decode(cookie) != nil else { return nil }
        self.cookieValue = cookie
    }

    /// SHA-256 of the value, 32 bytes.
    public var digest: [UInt8] { Sealing.digest(ofSecret: self.cookieValue) }

    /// Compares two secrets in constant time.
    public static func == (left: Self, right: Self) -> Bool {
        constantTimeEqual(Array(left.cookieValue.utf8), Array(right.cookieValue.utf8))
    }

    public var description: String { "SessionSecret" }
}
