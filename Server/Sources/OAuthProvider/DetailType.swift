public import OAuth
public import _Primitives

/// A type of authorization details that people can be shown (RFC 9396). What is asked of them is one text: it stands on the
/// page, the phone shows it, and its key signs it.
public struct DetailType: Sendable {
    /// What an object of the type consists of.
    public let type: AuthorizationDetailsType
    /// What a person is shown and signs. Throws where the object is not right.
    public let text: @Sendable (JSONObject) throws -> String

    /// A type whose objects read as that text.
    public init(_ type: AuthorizationDetailsType, text: @escaping @Sendable (JSONObject) throws -> String) {
        self.type = type
        self.text = text
    }
}
