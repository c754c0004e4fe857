import Passwords
import Records
import Sealing
import Settings
public import _Primitives

/// The cookie value of a browser in which a person has signed in with a password: 256 random bits, new at each sign-in.
/// The value identifies no person, and cannot sign a person in. Only its digest is ever stored.
public struct KnownBrowserSecret: Sendable, CustomStringConvertible {
    /// The value for the cookie. Not for a log.
    public let cookieValue: String

    /// Creates a new value.
    public init(random: RandomSource) { self.cookieValue = random.token(byteCount: 32) }

    /// Creates the value of a cookie; `nil` if the text is not 32 bytes in base64url.
    public init?(cookie: String) {
        guard cookie.utf8.count == Limits.Fixed.cookieCharacters, Base64URL.decode(cookie) != nil else { return nil }
        self.cookieValue = cookie
    }

    /// SHA-256 of the value, 32 bytes.
    var digest: [UInt8] { Sealing.digest(ofSecret: self.cookieValue) }

    public var description: String { "KnownBrowserSecret" }
}

/// The origin of a shown password: network and browser.
public struct Visitor: Sendable {
    /// The network, for the counts.
    public let source: String
    /// The browser's value from an earlier sign-in; `nil` if the browser shows none, and without a browser.
    public let shown: KnownBrowserSecret?
    /// The value that the browser gets after a complete sign-in; `nil` without a browser.
    public let given: KnownBrowserSecret?

    /// Creates a visitor.
    public init(source: String, shown: KnownBrowserSecret? = nil, given: KnownBrowserSecret? = nil) {
        self.source = source
        self.shown = shown
        self.given = given
    }
}

extension Visitor {
    /// Returns the turn for hashing a password of an account.
    func turn(atPasswordOf accountID: String) -> HashingTurn {
        HashingTurn(network: self.source, account: AttemptHolder.password(account: accountID).key)
    }
}

extension PasswordAccounts {
    /// Returns the account's memory of a visit.
    func remembered(_ visitor: Visitor, at now: Timestamp) -> KnownVisit {
        KnownVisit(
            network: visitor.source, former: visitor.shown?.digest, browser: visitor.given?.digest, at: now,
            most: self.limits.passwords.knownBrowsers)
    }

    /// Returns `true` if a person has signed in to the account from there before, in this browser or from this network,
    /// and the account still remembers the sign-in. A browser with too many wrong passwords since does not count. An
    /// unknown account takes the same query.
    func isKnown(_ visitor: Visitor, to accountID: String?, at now: Timestamp) async throws -> Bool {
        let (network, browser) = try await self.store.knownVisit(
            accountID: accountID ?? "", network: visitor.source, browser: visitor.shown?.digest)
        let rule = PauseRule(free: 0, limits: self.limits.passwords)
        return network.map { rule.isRemembered($0, at: now) } ?? false
            || browser.map { rule.mayGoOn($0, at: now) } ?? false
    }

    /// Spends a guess of the visitor's network, for a known account. Returns `true` if a guess was spent, and `false`
    /// if none is left but the account was signed in to from there before.
    ///
    /// Throws ``AccountError`` `tooManyRequests` if no guess is left, unless the account was signed in to from there
    /// before.
    func spendGuess(_ visitor: Visitor, accountID: String, at now: Timestamp) async throws -> Bool {
        guard let shortage = self.guesses.spend(visitor.source, at: now) else { return true }
        guard try await self.isKnown(visitor, to: accountID, at: now) else { throw AccountError.shortage(shortage) }
        return false
    }
}
