import Settings
public import UAF
import _Primitives

/// A role in which a person can use a service, with the authenticators that the role requires.
public struct ServiceRole: Sendable, Equatable {
    /// The role's name in messages, tokens and the command line. Unique within its service.
    public let id: String
    /// The name that people see.
    public let name: String
    /// The combinations of authenticators that are enough. The person has to use every authenticator of one
    /// combination.
    public let factors: AuthenticatorMatrix
    /// `true` if people without a role entry have the role.
    public let isDefault: Bool

    /// Makes a role. Throws ``ServiceProfileError``: `invalidRole` for an identifier or a name that cannot be shown.
    public init(
        id: String, name: String, factors: AuthenticatorMatrix, isDefault: Bool = false
    ) throws(ServiceProfileError) {
        guard Self.isIdentifier(id) else {
            throw ServiceProfileError(
                .invalidRole, "a role's id is 1 to \(Limits.Fixed.roleLetters) letters, digits, hyphens and underscores"
            )
        }
        guard ShownName.isAccepted(name) else {
            throw ServiceProfileError(
                .invalidRole,
                "the name of role \(id) is one line of 1 to \(Limits.Fixed.shownNameCharacters) characters that can be shown"
            )
        }
        self.id = id
        self.name = name
        self.factors = factors
        self.isDefault = isDefault
    }

    public static func == (left: Self, right: Self) -> Bool {
        left.id.hasSameBytes(as: right.id) && left.name.hasSameBytes(as: right.name) && left.factors == right.factors
            && left.isDefault == right.isDefault
    }

    /// Returns `true` if a text can be a role's identifier.
    public static func isIdentifier(_ text: String) -> Bool {
        (1...Limits.Fixed.roleLetters).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
