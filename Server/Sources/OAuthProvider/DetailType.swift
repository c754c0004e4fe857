public import OAuth
public import _Primitives

/// A type of authorization details that people can be shown (RFC 9396). What is asked of them is one text: it stands on the
/// page, the phone shows it, and its key signs it.
public struct DetailType: Sendable {
    /// What an object of the type consists of.
    public let type: AuthorizationDetailsType
    /// What a person is shown and signs, of an object in its one spelling. Throws where the object is not right.
    public let text: @Sendable (JSONObject) throws -> String
    /// An object in its one spelling, which is what the text says and what clients and resource servers are told: nobody is
    /// told anything else than was signed. Throws where the object is not right.
    public let spelling: @Sendable (JSONObject) throws -> JSONObject

    /// A type whose objects read as that text, and are spelled so; as they come, where there is but one way.
    public init(
        _ type: AuthorizationDetailsType, text: @escaping @Sendable (JSONObject) throws -> String,
        spelling: @escaping @Sendable (JSONObject) throws -> JSONObject = { $0 }
    ) {
        self.type = type
        self.text = text
        self.spelling = spelling
    }
}
