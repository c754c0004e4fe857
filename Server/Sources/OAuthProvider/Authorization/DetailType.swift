public import OAuth
public import _Primitives

/// A type of authorization details that people can be shown (RFC 9396).
///
/// The person reads one text. The page and the phone show the same text, and the phone's key signs the text.
public struct DetailType: Sendable {
    /// The members of an object of the type.
    public let type: AuthorizationDetailsType
    /// Returns the text that a person reads and signs, for an object in its canonical spelling. Throws if the object is
    /// not valid.
    public let text: @Sendable (JSONObject) throws -> String
    /// Returns the canonical spelling of an object. Throws if the object is not valid.
    ///
    /// The text describes this spelling, and clients and resource servers receive this spelling: everybody receives
    /// exactly the signed content.
    public let spelling: @Sendable (JSONObject) throws -> JSONObject

    /// Creates a type with functions for the text and the canonical spelling. Without a `spelling` function, objects
    /// keep the spelling in which they came.
    public init(
        _ type: AuthorizationDetailsType, text: @escaping @Sendable (JSONObject) throws -> String,
        spelling: @escaping @Sendable (JSONObject) throws -> JSONObject = { $0 }
    ) {
        self.type = type
        self.text = text
        self.spelling = spelling
    }
}
