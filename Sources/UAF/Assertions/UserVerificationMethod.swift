/// One way in which the user was verified, as an authenticator says it in the extension `fido.uaf.uvm` (§15).
///
/// No response is refused by it: what a model can do stands in its metadata. It tells which of that was done, and takes
/// from the assurance of an authentication what was not.
public struct UserVerificationMethod: Hashable, Sendable {
    /// The method.
    public let userVerification: UserVerification
    /// Where the key is kept.
    public let keyProtection: KeyProtection
    /// Where the user's input is compared.
    public let matcherProtection: MatcherProtection

    /// Describes a method.
    public init(
        userVerification: UserVerification, keyProtection: KeyProtection, matcherProtection: MatcherProtection
    ) {
        self.userVerification = userVerification
        self.keyProtection = keyProtection
        self.matcherProtection = matcherProtection
    }
}

extension AssertionExtension {
    /// The id of the extension that says how the user was verified.
    public static let userVerificationMethodsID = "fido.uaf.uvm"

    /// The methods of `fido.uaf.uvm`, eight little-endian bytes each; empty for another extension and for bytes that are
    /// not of that form. Other forms are in use, so that none is an error.
    public var userVerificationMethods: [UserVerificationMethod] {
        guard self.id == Self.userVerificationMethodsID, self.data.count.isMultiple(of: 8) else { return [] }
        return stride(from: 0, to: self.data.count, by: 8).map { start in
            let entry = self.data[start..<start + 8]
            return UserVerificationMethod(
                userVerification: UserVerification(rawValue: entry.littleEndian(at: 0)),
                keyProtection: KeyProtection(rawValue: entry.littleEndian(at: 4)),
                matcherProtection: MatcherProtection(rawValue: entry.littleEndian(at: 6)))
        }
    }
}
