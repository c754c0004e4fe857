public import JOSE
import _Primitives

/// The signed parameters of a client's authorization request, `request`, read but not verified (RFC 9101).
public struct UnverifiedRequestObject: Sendable, CustomStringConvertible {
    /// The key that the object names (`kid`). Use this value only to find the key.
    public var keyID: String? { self.token.header.keyID }
    private let token: UnverifiedJWS

    /// Reads the value of `request`, of at most 16 KiB. An unsigned object and an encrypted object are refused.
    ///
    /// Throws ``OAuthError`` `invalid_request_object`.
    public init(_ compact: String) throws(OAuthError) {
        self.token = try ClientToken.read(compact, types: ["JWT", "oauth-authz-req+jwt"], refusal: Self.refusal)
    }

    /// Verifies the object (sections 6.2 and 6.3), and returns its parameters. The object's parameters are the whole
    /// request; parameters beside `request` do not count.
    ///
    /// Texts are taken unchanged, whole numbers in digits, objects and lists as JSON. Other numbers and truth values
    /// are refused. The value of `resource` may be a list, and each text in the list counts (RFC 8707, section 2). In
    /// `claims`, a null becomes an empty object, which requests the same. The JWT's own claims are not parameters.
    ///
    /// Cost: one signature.
    ///
    /// - Parameters:
    ///   - keys: The client's registered keys.
    ///   - clientID: The client in `client_id` beside the object, or the authenticated client.
    ///   - issuer: The server's own issuer.
    ///   - algorithms: `JWSAlgorithm.ofFAPI2` or, for clients without this profile, `JWSAlgorithm.ofClients`.
    ///   - requiringNotBefore: `true` if `nbf` is required and must be no longer ago than a token lasts (FAPI 2.0
    ///     Message Signing, section 5.3.1).
    ///   - window: The time in which the object counts.
    /// - Throws: ``OAuthError`` `invalid_request_object`.
    public func verified(
        by keys: JWKSet, clientID: String, issuer: String, allowing algorithms: Set<JWSAlgorithm>,
        requiringNotBefore: Bool = false, within window: ValidityWindow
    ) throws(OAuthError) -> VerifiedRequestObject {
        let token = try ClientToken(
            self.token, by: keys, allowing: algorithms, within: window, nullsIn: "claims", refusal: Self.refusal)
        let claims = token.claims
        guard let own = claims.issuer, own.hasSameBytes(as: clientID) else { throw Self.refusal("iss") }
        guard claims.audience.containsBytes(of: issuer) else { throw Self.refusal("aud") }
        guard case .string(let named)? = claims.members["client_id"], named.hasSameBytes(as: clientID) else {
            throw Self.refusal("client_id")
        }
        // Section 10.8: an object with the client as its subject could be meant as an authentication.
        if let subject = claims.subject, subject.hasSameBytes(as: clientID) { throw Self.refusal("sub") }
        if let notBefore = claims.notBefore {
            guard !requiringNotBefore || window.isRecent(notBefore) else { throw Self.refusal("nbf is long ago") }
        } else if requiringNotBefore {
            throw Self.refusal("nbf is missing")
        }
        return VerifiedRequestObject(
            parameters: try Self.parameters(claims.members), identifier: try token.identifier())
    }

    public var description: String { "UnverifiedRequestObject" }

    private static let refusal = ClientToken.Refusal(
        code: .invalidRequestObject, message: "The request object is not right for this request.")

    /// Returns the claims that are parameters, in the form of a request.
    private static func parameters(_ claims: JSONObject) throws(OAuthError) -> Parameters {
        let ofTheToken = ["iss", "sub", "aud", "exp", "nbf", "iat", "jti"]
        let members = claims.members.filter { !ofTheToken.containsBytes(of: $0.name) }
        var parameters: Parameters = [:]
        for (name, value) in members {
            // Section 4: an object must contain neither member.
            guard !["request", "request_uri"].containsBytes(of: name) else { throw Self.refusal("a request inside") }
            for text in try Self.texts(value, of: name) {
                guard !name.isEmpty, FormEncoding.isText(name), FormEncoding.isText(text) else {
                    throw Self.refusal("a parameter without a name, or with a control character")
                }
                if !text.isEmpty { parameters.append(name, text) }
            }
        }
        guard parameters.members.count <= Parameters.Limits().count else { throw Self.refusal("too many parameters") }
        return parameters
    }

    /// Returns the values of a parameter: a single value, except for `resource`.
    private static func texts(_ value: JSON, of name: String) throws(OAuthError) -> [String] {
        switch value {
        case .string(let text): return [text]
        case .integer(let number): return [String(number)]
        case .array(let values) where name.hasSameBytes(as: "resource"):
            var texts: [String] = []
            for value in values {
                guard case .string(let text) = value else { throw Self.refusal("resource") }
                texts.append(text)
            }
            return texts
        case .object, .array: return [value.text]
        case .number, .bool: throw Self.refusal("a parameter that is neither text nor a whole number")
        }
    }
}

/// A request with parameters that its client has signed. Only ``UnverifiedRequestObject`` creates a value.
public struct VerifiedRequestObject: Hashable, Sendable {
    /// The parameters of the request.
    public let parameters: Parameters
    /// The object's identifier (`jti`); `nil` if the client gave none.
    public let identifier: String?

    fileprivate init(parameters: Parameters, identifier: String?) {
        self.parameters = parameters
        self.identifier = identifier
    }
}
