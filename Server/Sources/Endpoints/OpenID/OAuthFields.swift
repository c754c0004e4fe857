import HTTPTypes
package import Hummingbird
import OAuth
package import _Primitives

/// The parameters of the provider's addresses, as the document describes the parameters.
///
/// For a parameter whose values the provider's metadata lists, the document has the same list.
package struct OAuthFields {
    /// The provider's metadata (RFC 8414).
    let metadata: JSONObject

    /// Creates the parameters of a provider with this metadata.
    package init(metadata: JSONObject) { self.metadata = metadata }

    /// Returns the kind of a text that has one of the values in a member of the metadata.
    package func choice(_ member: String) -> DescribedField.Kind {
        .choice((try? self.metadata.strings(member)) ?? [])
    }

    package static let state = DescribedField.optional("state", "Comes back as it is.")
    package static let proof = DescribedField.optional("DPoP", "A proof of a key (RFC 9449).")
    package static let resource = DescribedField.optional(
        "resource", "Where the tokens are to be used (RFC 8707).")

    /// The parameters by which a client proves itself in a form (RFC 6749, section 2.3.1; RFC 7521, section 4.2).
    package static let credentials: [DescribedField] = [
        .optional("client_id", "The client, where it is not in the header."),
        .optional("client_secret", "Its secret, where it is not in the header."),
        .optional("client_assertion_type", "What kind of statement client_assertion is."),
        .optional("client_assertion", "A statement that the client has signed."),
    ]

    /// The parameters of an authorization request (RFC 6749, section 4.1.1; OpenID Connect Core 1.0, section 3.1.2.1).
    package var authorization: [DescribedField] {
        [
            .optional("response_type", self.choice("response_types_supported"), "What is to come back."),
            .optional("redirect_uri", "Where the answer goes: an address that the client has registered."),
            .optional("scope", "What the client wants, separated by spaces; openid among it."), Self.state,
            .optional("nonce", "Comes back in the ID token."),
            .optional("code_challenge", "What the code is bound to (RFC 7636)."),
            .optional("code_challenge_method", self.choice("code_challenge_methods_supported"), "How it is made."),
            .optional("response_mode", self.choice("response_modes_supported"), "How it gets there."),
            .optional("prompt", "How the person is asked: words of prompt_values_supported, separated by spaces."),
            .optional("login_hint", "Who is believed to come."),
            .optional("acr_values", "How surely the person has to be authenticated, separated by spaces."),
            .optional("claims", "What is wanted of the person, by name, as JSON."),
            .optional("ui_locales", "Languages of the pages, the best first."),
            .optional("max_age", "How many seconds ago the person may have authenticated."),
            .optional("id_token_hint", "An ID token of the person who alone may sign in."),
            .optional("request", "The whole request, signed by the client (RFC 9101)."),
            .optional("authorization_details", "What the person is asked in detail, as JSON (RFC 9396)."),
            .optional("dpop_jkt", "The thumbprint of the key that the tokens will be bound to."),
            Self.resource,
        ]
    }
}

extension Request {
    private static let keyProof = HTTPField.Name(DPoPProof.header)

    /// The header with a client's credentials or with a token, if there is exactly one. With several headers, the parts
    /// of a deployment could each take another.
    package var authorization: String? {
        let values = self.headers[values: .authorization]
        return values.count == 1 ? values[0] : nil
    }

    /// All proofs of keys. The provider checks that a request has a single proof.
    package var keyProofs: [String] { Self.keyProof.map { self.headers[values: $0] } ?? [] }
}
