import OAuth
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How one face of the server is spoken to: translation only.
protocol SignInFace: Sendable {
    /// Where the browser is sent.
    func page(for request: BrowserRequest) -> URL?
    /// What a code is exchanged with.
    func exchange(of code: String, for request: BrowserRequest) -> FormRequest
    /// What tokens are renewed with.
    func renewal(by refreshToken: String) -> FormRequest
    /// What ends a session, and what was spawned from it.
    func revocations(of order: RevocationOrder) -> [FormRequest]
    /// Reads what was issued. Throws `JSONError` where the answer is none.
    func tokens(in body: JSONObject) throws -> IssuedTokens
    /// The word or sentence with which a request was refused.
    func refusal(in body: JSONObject) -> String?
    /// Why the browser came back without a code; `nil` where it has one.
    func failure(in parameters: Parameters) -> SignInError?
}

extension SignInFace {
    /// Why the browser came back without a code, in the words of RFC 6749, section 4.1.2.1; `nil` where it does not say so.
    func namedFailure(in parameters: Parameters) -> SignInError? {
        parameters["error"].map { error in
            SignInError(
                error.hasSameBytes(as: OAuthError.Code.accessDenied.rawValue) ? .denied : .refused,
                serverCode: SignInError.word(error), "the browser came back with an error")
        }
    }
}

extension SignInError {
    /// A word of the server's, fit for a log and for a switch: letters, digits and a few signs, at most 64 of them.
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

/// What is to end at the server.
struct RevocationOrder: Sendable {
    /// Drawn, so that one that was heard is told from the others.
    let id: String
    /// At which server, and for which app: ``SignInConfiguration/registration``.
    let registration: String
    var refreshToken: String?
    var deviceSecret: String?
    /// How often the server has answered it with something that says nothing about it.
    var unheardCount: Int64 = 0
}

/// What a token says of itself to the app that it was given to, over a connection whose server is known. Nobody has verified
/// its signature: an app needs none for a token that came from its issuer's own hand (OpenID Connect Core 1.0, section
/// 3.1.3.7), and takes nobody else's word by it.
struct StatedClaims {
    let members: JSONObject

    /// `nil` where the token is none that says anything.
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

    /// How long the token lasts, by its issuer's clock alone.
    var lifetime: Duration? {
        guard case .integer(let end)? = self.members["exp"], case .integer(let start)? = self.members["iat"],
            end > start, end - start < 1 << 32
        else { return nil }
        return .seconds(end - start)
    }

    /// Whether the token is bound to a key (RFC 9449, section 6.1).
    var isBound: Bool {
        guard case .object(let confirmation)? = self.members["cnf"] else { return false }
        return confirmation["jkt"] != nil
    }
}
