public import OAuth
public import Settings
public import _Primitives

/// The reason why the provider refused a request, for the request's line in the operator's log.
public struct ProviderRefusal: Sendable, Equatable {
    /// The error code of the answer (RFC 6749).
    public let code: String
    /// The reason in words, without any text from the request.
    public let reason: String?
    /// The client in whose name the request came, if the client is known or the name could be a client's identifier.
    public let client: String?
    /// The client's setting that the request does not fit, by its name on the command line.
    public let setting: String?

    /// Creates the reason of an error. Drops a `client` that could not be the identifier of a client here.
    public init(_ error: OAuthError, client: String? = nil, setting: String? = nil) {
        self.code = error.code.rawValue
        self.reason = [error.message, error.detail].compactMap(\.self).joined(separator: " ")
        self.client = client.flatMap { Self.isClientName($0) ? $0 : nil }
        self.setting = setting
    }

    /// `true` if the text could be the identifier of a client here.
    static func isClientName(_ text: String) -> Bool {
        ClientIDAddress(text) != nil
            || (1...Limits.Fixed.notedClientBytes).contains(text.utf8.count)
                && text.utf8.allSatisfy { byte in
                    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                        || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
                }
    }
}

/// A complete answer to a client, ready to be written.
public struct ProviderAnswer: Sendable {
    /// The HTTP status.
    public let status: Int
    /// The header fields, among them `Cache-Control` and, with a body, `Content-Type`.
    public internal(set) var headers: [(name: String, value: String)]
    /// The body; `nil` for no body.
    public let body: JSONObject?
    /// The content of a signed answer in place of the body: a compact text, and its media type.
    public let signed: (text: String, type: String)?
    /// The reason of a refusal, for the operator's log.
    public let refusal: ProviderRefusal?
    /// The exhausted budget, if any, for the operator's log.
    public let shortage: Shortage?

    init(
        status: Int, body: JSONObject?, headers: [(name: String, value: String)] = [], refusal: ProviderRefusal? = nil,
        shortage: Shortage? = nil
    ) {
        self.signed = nil
        self.refusal = refusal
        self.shortage = shortage
        self.status = status
        self.body = body
        // Tokens and claims are never cached (RFC 6749, section 5.1).
        self.headers =
            [("Cache-Control", "no-store")] + (body == nil ? [] : [("Content-Type", "application/json")]) + headers
    }

    /// Creates a signed answer with a media type.
    init(signed text: String, type: String) {
        self.status = 200
        self.body = nil
        self.signed = (text, type)
        self.refusal = nil
        self.shortage = nil
        self.headers = [("Cache-Control", "no-store"), ("Content-Type", type)]
    }
}

extension ProviderAnswer {
    /// Creates the answer to a client that has used up a budget (RFC 9126, section 2.3).
    init(_ shortage: Shortage) {
        let error = OAuthError(.temporarilyUnavailable, shortage.remedy)
        self.init(
            status: 429, body: error.json, headers: [("Retry-After", String(shortage.retryAfterSeconds))],
            refusal: ProviderRefusal(error, client: shortage.clientID, setting: shortage.setting), shortage: shortage)
    }
}
