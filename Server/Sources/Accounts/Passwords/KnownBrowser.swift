import Passwords
import Store
public import _Primitives

/// The value of the cookie of a browser in which somebody has signed in by a password: 256 random bits, new at each sign-in. It
/// names nobody, and signs nobody in. Only its digest is ever stored.
public struct KnownBrowserSecret: Sendable, CustomStringConvertible {
    /// For the cookie. Not for a log.
    public let cookieValue: String

    /// A new one.
    public init(random: RandomSource) { self.cookieValue = random.token(byteCount: 32) }

    /// That of a cookie; `nil` where the value is not 32 bytes in base64url.
    public init?(cookie: String) {
        guard cookie.utf8.count == Limits.Fixed.cookieCharacters, Base64URL.decode(cookie) != nil else { return nil }
        self.cookieValue = cookie
    }

    /// SHA-256 of the value, 32 bytes.
    var digest: [UInt8] { Sealing.digest(ofSecret: self.cookieValue) }

    public var description: String { "KnownBrowserSecret" }
}

/// From where somebody shows a password.
public struct Visitor: Sendable {
    /// Who is counted (a network).
    public let source: String
    /// What the browser shows of a sign-in of before; `nil` where it shows nothing, and for what is no browser.
    public let shown: KnownBrowserSecret?
    /// What the browser is given where the sign-in is complete; `nil` for what is no browser.
    public let given: KnownBrowserSecret?

    /// Somebody of these values.
    public init(source: String, shown: KnownBrowserSecret? = nil, given: KnownBrowserSecret? = nil) {
        self.source = source
        self.shown = shown
        self.given = given
    }
}

extension Visitor {
    /// Whose turn it is when something is hashed for an account.
    func turn(atPasswordOf accountID: String) -> HashingTurn {
        HashingTurn(network: self.source, account: AttemptHolder.password(account: accountID).key)
    }
}

extension PasswordAccounts {
    /// What an account is to remember of a visit.
    func remembered(_ visitor: Visitor, at now: Timestamp) -> KnownVisit {
        KnownVisit(
            network: visitor.source, former: visitor.shown?.digest, browser: visitor.given?.digest, at: now,
            most: self.limits.passwords.knownBrowsers)
    }

    /// Whether somebody has signed in to an account from there before, in this browser or from this network. Names that
    /// nobody has are looked for by the same query.
    func isKnown(_ visitor: Visitor, to accountID: String?, at now: Timestamp) async throws -> Bool {
        let (network, browser) = try await self.store.knownVisit(
            accountID: accountID ?? "", network: visitor.source, browser: visitor.shown?.digest)
        let rule = AttemptRule(free: 0, limits: self.limits.passwords)
        return network.map { rule.isRemembered($0, at: now) } ?? false
            || browser.map { rule.mayGoOn($0, at: now) } ?? false
    }

    /// Spends one of the wrong ones that a network has, for somebody whose account is known already. Says whether it was
    /// spent.
    ///
    /// Throws ``AccountError`` `tooManyRequests` where none is left, unless the account was signed in to from there before.
    func spendGuess(_ visitor: Visitor, accountID: String, at now: Timestamp) async throws -> Bool {
        guard let shortage = self.guesses.spend(visitor.source, at: now) else { return true }
        guard try await self.isKnown(visitor, to: accountID, at: now) else { throw AccountError.shortage(shortage) }
        return false
    }
}
