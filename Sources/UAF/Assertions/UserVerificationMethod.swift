/// A method of user verification, as reported by an authenticator in the extension `fido.uaf.uvm` (§15).
///
/// No response is refused because of this report: the metadata of a model lists the model's methods. The report says
/// which methods were used. The report can lower the assurance of the authentication, but never raises it.
public struct UserVerificationMethod: Hashable, Sendable {
    /// The method.
    public let userVerification: UserVerification
    /// The protection of the key.
    public let keyProtection: KeyProtection
    /// The protection of the comparison of the user's input.
    public let matcherProtection: MatcherProtection

    /// Creates a method.
    public init(
        userVerification: UserVerification, keyProtection: KeyProtection, matcherProtection: MatcherProtection
    ) {
        self.userVerification = userVerification
        self.keyProtection = keyProtection
        self.matcherProtection = matcherProtection
    }
}

extension AssertionExtension {
    /// The id of the extension that reports the methods of user verification.
    public static let userVerificationMethodsID = "fido.uaf.uvm"

    /// The methods of `fido.uaf.uvm`, eight little-endian bytes each; empty for another extension and for bytes of
    /// another form. Other forms are in use, so another form is not an error.
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
