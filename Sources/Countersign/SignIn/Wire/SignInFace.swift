import OAuth
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The messages of one of the server's interfaces: translation only.
protocol SignInFace: Sendable {
    /// Returns the address to which the browser is sent.
    func page(for request: BrowserRequest) -> URL?
    /// Returns the request that exchanges a code.
    func exchange(of code: String, for request: BrowserRequest) -> FormRequest
    /// Returns the request that renews tokens.
    func renewal(by refreshToken: String) -> FormRequest
    /// Returns the requests that end a session and everything derived from the session.
    func revocations(of order: RevocationOrder) -> [FormRequest]
    /// Reads the issued tokens. Throws `JSONError` if the answer is malformed.
    func tokens(in body: JSONObject) throws -> IssuedTokens
    /// Returns the word or sentence with which a request was refused.
    func refusal(in body: JSONObject) -> String?
    /// Returns the reason why the browser returned without a code; `nil` if the browser has a code.
    func failure(in parameters: Parameters) -> SignInError?
}

extension SignInFace {
    /// Returns the reason why the browser returned without a code, in the words of RFC 6749, section 4.1.2.1; `nil` if
    /// the answer states no reason.
    func namedFailure(in parameters: Parameters) -> SignInError? {
        parameters["error"].map { error in
            SignInError(
                error.hasSameBytes(as: OAuthError.Code.accessDenied.rawValue) ? .denied : .refused,
                serverCode: SignInError.word(error), "the browser came back with an error")
        }
    }
}

extension SignInError {
    /// Returns a word of the server in a form fit for a log and for a switch: letters, digits and a few signs, at most
    /// 64 of them.
    static func word(_ text: String) -> String {
        String(
            decoding: text.utf8.prefix(64).map { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
                    byte
                default: UInt8(ascii: "?")
                }
            }, as: UTF8.self)
    }
}

/// An order to end a session, a device secret or both at the server.
struct RevocationOrder: Sendable {
    /// A random identifier, so that a received order is distinguished from the others.
    let id: String
    /// The app and server of the order: ``SignInConfiguration/registration``.
    let registration: String
    var refreshToken: String?
    var deviceSecret: String?
    /// The number of the server's answers that say nothing about the order.
    var unheardCount: Int64 = 0
}

/// The claims that a token states to the app that received it, over a connection with a known server.
///
/// The signature is not verified. An app need not verify a token that came directly from its issuer (OpenID Connect
/// Core 1.0, section 3.1.3.7), and must not rely on such claims from any other source.
struct StatedClaims {
    let members: JSONObject

    /// Reads the claims of a token; `nil` if the text is not a token with claims.
    init?(of token: String) {
        let parts = token.splitBytes(at: ".")
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
            case .object(let members)? = try? JSON(parsing: payload)
        else { return nil }
        self.members = members
    }

    subscript(text name: String) -> String? {
        guard case .string(let text)? = self.members[name] else { return nil }
        return text
    }

    /// The lifetime of the token, by its issuer's clock alone.
    var lifetime: Duration? {
        guard case .integer(let end)? = self.members["exp"], case .integer(let start)? = self.members["iat"],
            end > start, end - start < 1 << 32
        else { return nil }
        return .seconds(end - start)
    }

    /// `true` if the token is bound to a key (RFC 9449, section 6.1).
    var isBound: Bool {
        guard case .object(let confirmation)? = self.members["cnf"] else { return false }
        return confirmation["jkt"] != nil
    }
}
