public import UAF
import _Primitives

/// As what a person can come to a service, and which authenticators that asks for.
public struct ServiceRole: Sendable, Equatable {
    /// The role's name in messages, tokens and the command line. Unique within its service.
    public let id: String
    /// What people see.
    public let name: String
    /// What the person has to authenticate by.
    public let factors: AuthenticatorMatrix
    /// Whether people of whom nobody has said otherwise have it.
    public let isDefault: Bool

    /// A role. Throws ``ServiceProfileError``: `invalidRole` for an identifier or a name that cannot be shown.
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

    /// Whether a text can be a role's identifier.
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
