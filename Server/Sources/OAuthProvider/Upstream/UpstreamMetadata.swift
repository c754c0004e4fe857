import OAuth
import Records
import Settings
import _Primitives

/// The addresses of another provider, from its discovery document (OpenID Connect Discovery 1.0, section 3) or from the
/// operator.
struct UpstreamMetadata: Sendable {
    /// The provider's identifier, as the provider states it.
    let issuer: String
    /// The address for the browsers of people who sign in.
    let authorization: RedirectURI
    let token: RedirectURI
    let userinfo: RedirectURI?
    /// The address of the provider's keys; `nil` for a provider that signs nothing.
    let keys: RedirectURI?
    /// The address for a browser's sign-out (OpenID Connect RP-Initiated Logout 1.0, section 2.1).
    let endSession: RedirectURI?
    /// `true` if the provider's answers name their issuer (RFC 9207, section 3).
    let namesItself: Bool

    /// Returns the address of a provider's discovery document.
    static func address(of issuer: String) -> String {
        (issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer) + "/.well-known/openid-configuration"
    }

    /// Creates the metadata of a provider without a discovery document, from the operator's settings.
    init(_ endpoints: UpstreamProvider.Endpoints, issuer: String) throws {
        self.issuer = issuer
        self.authorization = try RedirectURI(endpoints.authorization)
        self.token = try RedirectURI(endpoints.token)
        self.userinfo = try RedirectURI(endpoints.userinfo)
        self.keys = nil
        self.endSession = nil
        self.namesItself = false
    }

    /// Reads a discovery document. Throws ``OutgoingCallError`` with the missing part.
    init(parsing body: [UInt8]) throws(OutgoingCallError) {
        guard case .object(let document)? = try? JSON(parsing: body, leavesOutNull: true) else {
            throw OutgoingCallError("it answers no JSON object")
        }
        func address(_ name: String) throws(OutgoingCallError) -> RedirectURI? {
            guard let value = document[name] else { return nil }
            guard case .string(let text) = value, let address = try? RedirectURI(text) else {
                throw OutgoingCallError("its \(name) is not https, or http to a literal loopback address")
            }
            return address
        }
        guard case .string(let issuer)? = document["issuer"] else { throw OutgoingCallError("it names no issuer") }
        guard let authorization = try address("authorization_endpoint"), let token = try address("token_endpoint"),
            let keys = try address("jwks_uri")
        else {
            throw OutgoingCallError("it lacks an authorization_endpoint, a token_endpoint or a jwks_uri")
        }
        self.issuer = issuer
        self.authorization = authorization
        self.token = token
        self.userinfo = try address("userinfo_endpoint")
        self.keys = keys
        // People can sign in without this address.
        self.endSession = try? address("end_session_endpoint")
        self.namesItself = document["authorization_response_iss_parameter_supported"] == .bool(true)
    }
}

extension UpstreamMetadata {
    /// Returns the code of a provider's answer to a browser (RFC 6749, section 4.1.2; RFC 9207, section 2.4).
    ///
    /// Throws ``UpstreamRefusal``: `declined` for `access_denied`, `failed` for every other error and for an answer of
    /// another issuer.
    func code(of parameters: Parameters, from upstream: UpstreamProvider) throws(UpstreamRefusal) -> String {
        if let named = parameters["iss"] {
            guard named.hasSameBytes(as: upstream.issuer) else {
                throw .failed("the answer is of another issuer (iss)")
            }
        } else if self.namesItself {
            throw .failed("the answer does not name its issuer (iss), as its provider always does")
        }
        if let error = parameters["error"] {
            let code = UpstreamRefusal.shown(error)
            throw UpstreamRefusal(
                error.hasSameBytes(as: OAuthError.Code.accessDenied.rawValue) ? .declined : .failed,
                "it answers the browser with \(code)")
        }
        guard let code = parameters["code"] else { throw .failed("its answer has no code") }
        return code
    }
}

/// The reason why a person who was sent to another provider is not signed in.
public struct UpstreamRefusal: Error, Sendable, Equatable {
    /// The public part of the reason, for the person.
    public enum Code: String, Sendable, CaseIterable {
        /// The person did not sign in at the provider.
        case declined = "upstream-declined"
        /// The other provider cannot be reached, or its answer is not credible.
        case failed = "upstream-failed"
        /// The provider does not say that the person was authenticated recently enough.
        case stale = "upstream-stale"
        /// The person's account here cannot sign in.
        case keptOut = "upstream-account-locked"
    }

    /// The public part of the reason, for the person.
    public let code: Code
    /// The reason for the operator's log, without any content of the request.
    public let reason: String

    init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    static func failed(_ reason: String) -> UpstreamRefusal { UpstreamRefusal(.failed, reason) }

    /// The provider does not say that the person was authenticated recently enough.
    static let stale = UpstreamRefusal(
        .stale, "it does not say that the person was authenticated recently enough (auth_time)")
}

extension UpstreamRefusal {
    /// Returns an error's code from another provider, for the log. For a text that does not look like a code, returns a
    /// sentence in place of the text.
    static func shown(_ code: String?) -> String {
        guard let code, (1...Limits.Fixed.upstreamErrorLetters).contains(code.utf8.count),
            code.utf8.allSatisfy({ (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "_") })
        else { return "no error of RFC 6749" }
        return code
    }
}
