package import OAuth
import Records
package import _Primitives

/// The key or certificate that a token is bound to, and that has to be shown with the token.
package enum TokenBinding: Sendable, Equatable {
    /// A key. Each request has a proof of the key (RFC 9449).
    case key(KeyThumbprint)
    /// The certificate of the connection, by its thumbprint (RFC 8705, section 3).
    case certificate(String)

    private static let thumbprint = "x5t#S256"

    /// The claim `cnf`.
    package var confirmation: JSONObject {
        switch self {
        case .key(let key): key.confirmation
        case .certificate(let thumbprint): [Self.thumbprint: .string(thumbprint)]
        }
    }

    /// Reads the claim; `nil` if the claim has no known binding.
    package init?(confirmation: JSONObject) {
        if case .string(let text)? = confirmation["jkt"], let key = try? KeyThumbprint(text) {
            self = .key(key)
        } else if case .string(let text)? = confirmation[Self.thumbprint] {
            self = .certificate(text)
        } else {
            return nil
        }
    }

    /// The binding's text in a stored grant. A key's thumbprint has no space.
    package var text: String {
        switch self {
        case .key(let key): key.text
        case .certificate(let thumbprint): "\(Self.thumbprint) \(thumbprint)"
        }
    }

    /// The scheme by which the token is shown.
    var scheme: PresentedToken.Scheme {
        switch self {
        case .key: .dpop
        case .certificate: .bearer
        }
    }
}

extension TokenBinding {
    /// Returns the binding of a request's tokens: the key that the request proves, or the certificate of its connection
    /// if the client's tokens are to be bound to the certificate.
    ///
    /// Returns `nil` if the tokens need no binding, and the request proves no key. Throws `OAuthError` if the client's
    /// tokens have to be bound, and the request lacks the certificate or the proof.
    static func needed(by client: ClientRecord, _ proof: DPoPProof?, over connection: ClientConnection) throws -> Self?
    {
        if let proof { return .key(proof.thumbprint) }
        guard !client.settings.tokens.keyBound else {
            throw OAuthError(
                .invalidDPoPProof, "The tokens of this client are bound to a key: a DPoP proof is needed.",
                detail: "its setting is --dpop-bound-access-tokens")
        }
        if client.settings.tokens.certificateBound {
            guard let certificate = connection.certificate else {
                throw OAuthError(
                    .invalidRequest,
                    "The tokens of this client are bound to its certificate: ask at the token_endpoint of mtls_endpoint_aliases.",
                    detail: "its setting is --certificate-bound-tokens, and it has shown none")
            }
            return .certificate(certificate.thumbprint)
        }
        guard !client.settings.isFAPI2 else {
            throw OAuthError(
                .invalidDPoPProof, "The tokens of this client are bound to a key: a DPoP proof is needed.",
                detail: "its --profile is fapi2, and it has not --certificate-bound-tokens")
        }
        return nil
    }
}
