import _Primitives

/// The place at which a client wants to use a token (`resource`, RFC 8707, section 2): an absolute address without a
/// fragment, or another URI of a service. Two indicators are equal if their bytes are equal.
public struct ResourceIndicator: Hashable, Sendable, CustomStringConvertible {
    /// The most occurrences of the parameter in one request.
    public static let mostInARequest = 8
    /// The parameter's name, which may occur more than once: ``Parameters/init(parsing:limits:repeating:)``.
    public static let parameter = "resource"

    /// The URI as sent.
    public let text: String

    /// Checks a URI of at most 1024 characters: a scheme, and a text after the scheme.
    ///
    /// Throws ``OAuthError`` `invalid_target`.
    public init(_ text: String) throws(OAuthError) {
        guard (1...1024).contains(text.utf8.count), URISyntax.isWritten(text) else {
            throw Self.refusal("has a character that a URI cannot have, or is too long")
        }
        guard !text.utf8.contains(UInt8(ascii: "#")) else { throw Self.refusal("has a fragment") }
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), URISyntax.isScheme(text[..<colon]),
            colon < text.utf8.index(before: text.utf8.endIndex)
        else { throw Self.refusal("is not absolute") }
        self.text = text
    }

    /// Returns all indicators of a request, each once, in their order.
    ///
    /// Throws ``OAuthError`` `invalid_target`, also for more than ``mostInARequest`` indicators.
    public static func all(in parameters: Parameters) throws(OAuthError) -> [ResourceIndicator] {
        let texts = parameters.values(Self.parameter)
        guard texts.count <= Self.mostInARequest else {
            throw OAuthError(.invalidTarget, "The request names too many resources.")
        }
        var indicators: [ResourceIndicator] = []
        for text in texts {
            let indicator = try ResourceIndicator(text)
            if !indicators.contains(indicator) { indicators.append(indicator) }
        }
        return indicators
    }

    public var description: String { self.text }

    private static func refusal(_ reason: String) -> OAuthError {
        OAuthError(.invalidTarget, "The resource \(reason).")
    }
}
