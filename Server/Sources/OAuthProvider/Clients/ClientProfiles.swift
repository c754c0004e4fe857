package import JOSE
import OAuth
package import Records
import Settings
import _Primitives

extension ClientSettings {
    /// `true` if the client shares a secret with the server.
    var hasSecret: Bool { ClientSecret.methods.containsBytes(of: self.authenticationMethod) }

    /// `true` if all of the client's requests follow the FAPI 2.0 Security Profile.
    var isFAPI2: Bool { self.profile.security == .fapi2 }

    /// `true` if the client's app may sign people in without a browser. The operator must have marked the app, and the
    /// app must be the operator's own, under no stricter rules.
    var mayChallenge: Bool { self.profile.signsInDirectly && self.party == .first && !self.isFAPI2 }

    /// The permitted algorithms of the client's signatures (FAPI 2.0 Security Profile, section 5.4.1).
    package var signingAlgorithms: Set<JWSAlgorithm> {
        Set(PrivateKeyJWT.algorithms).intersection(self.isFAPI2 ? JWSAlgorithm.ofFAPI2 : JWSAlgorithm.ofClients)
    }
}

extension ClientRules {
    /// Checks the settings for a client's requests against the client's kind. Throws `OAuthError` `invalid_request`
    /// with a sentence for the administrator.
    func checkProfile(of client: ClientRecord, keys: JWKSet?) throws {
        let (settings, profile) = (client.settings, client.settings.profile)
        if profile.requiresSignedRequests, settings.keySet == nil, settings.keySetAddress == nil {
            throw OAuthError(.invalidRequest, "A client that signs its requests needs its keys (jwks, or jwks_uri).")
        }
        guard profile.defaultMaximumAge.map({ $0.components.seconds <= Limits.Fixed.maximumAges }) ?? true else {
            throw OAuthError(
                .invalidRequest, "The default_max_age is 0 to \(Limits.Fixed.maximumAges) seconds.")
        }
        guard profile.origins.count <= self.limits.oauth.addressesPerClient,
            Set(profile.origins.map(ExactText.init)).count == profile.origins.count
        else { throw OAuthError(.invalidRequest, "There are too many origins, or one twice.") }
        for origin in profile.origins {
            guard Self.isOrigin(origin) else {
                throw OAuthError(
                    .invalidRequest,
                    "An origin is https://NAME or https://NAME:PORT, http to a loopback address or to localhost, and nothing after it; or \(Self.originOfApps)."
                )
            }
        }
        let types = self.detailTypes
        guard profile.detailTypes.allSatisfy(types.containsBytes),
            Set(profile.detailTypes.map(ExactText.init)).count == profile.detailTypes.count
        else {
            throw OAuthError(
                .invalidRequest,
                "The types of authorization details are these, each once: \(types.joined(separator: ", ")).")
        }
        guard profile.origins.isEmpty || settings.isPublic else {
            throw OAuthError(
                .invalidRequest,
                "Origins are for an app in the browser, which has no way to authenticate: a page's scripts can keep no secret."
            )
        }
        guard !profile.signsInDirectly || settings.mayChallenge else {
            throw OAuthError(
                .invalidRequest,
                "Only an app of your own (first-party), and none of fapi2, signs people in without a browser.")
        }
        // A client with this grant type has an address, and the address tells people which app asks.
        guard !profile.signsInDirectly || settings.grantTypes.containsBytes(of: GrantType.authorizationCode.rawValue)
        else {
            throw OAuthError(
                .invalidRequest,
                "A client that signs people in without a browser gets codes: it needs the grant type authorization_code."
            )
        }
        if settings.isFAPI2 { try Self.checkFAPI2(client, keys: keys) }
    }

    /// The origin of the pages of an app that is made with Capacitor, on iOS. No server has this origin.
    private static let originOfApps = "capacitor://localhost"

    private static func isOrigin(_ text: String) -> Bool {
        if text.hasSameBytes(as: Self.originOfApps) { return true }
        let address = try? RedirectURI(text, allowing: [.https, .loopback, .localhost])
        return address?.origin.hasSameBytes(as: text) ?? false
    }

    /// Checks a client by the FAPI 2.0 Security Profile, sections 5.3.2 and 5.4. Reports everything that is missing at
    /// once.
    private static func checkFAPI2(_ client: ClientRecord, keys: JWKSet?) throws {
        let settings = client.settings
        let signing = (keys?.keys ?? []).filter { !($0.use ?? "sig").hasSameBytes(as: "enc") }
        let addresses = try client.redirectURIs.map { try RedirectURI($0, allowing: RedirectURI.everyKind) }
        let rules: [(isKept: Bool, sentence: String)] = [
            (
                (PrivateKeyJWT.methods + CertificateClient.proving).containsBytes(of: settings.authenticationMethod),
                "authenticates by private_key_jwt or by a certificate: it is confidential, and shares no secret."
            ),
            (
                settings.tokens.group == nil,
                "signs in by requests that it pushed, and by no other app's secret: it is in no group of apps."
            ),
            (
                JWSAlgorithm.ofFAPI2.contains(settings.idTokenAlgorithm),
                "has its ID tokens signed with ES256, PS256 or EdDSA."
            ),
            (
                settings.answers.mode != .push,
                "fetches its tokens, for a proof of its key: nothing is pushed to it."
            ),
            (
                signing.allSatisfy {
                    $0.algorithm.map(JWSAlgorithm.ofFAPI2.map(\.rawValue).containsBytes) ?? true
                },
                "signs with ES256, PS256 or EdDSA: a key of its set is for another algorithm."
            ),
            (addresses.allSatisfy { $0.kind == .https }, "is answered at https alone."),
        ]
        let missing = rules.filter { !$0.isKept }.map { "A client of fapi2 \($0.sentence)" }
        guard missing.isEmpty else { throw OAuthError(.invalidRequest, missing.joined(separator: " ")) }
    }

    /// Checks an authorization request against the rules for its client's requests. Throws `OAuthError`
    /// `invalid_request`, for the client's answer.
    ///
    /// - Parameters:
    ///   - isSigned: `true` if the client has signed the request.
    ///   - isPushed: `true` if the client has pushed the request, or pushes it now. A pushed request is checked when it
    ///     is pushed.
    ///   - setting: Is set to the setting that the request does not fit.
    static func checkKind(
        ofRequestBy client: ClientRecord, isSigned: Bool, isPushed: Bool, setting: inout String?
    ) throws {
        if client.settings.isFAPI2, !isPushed {
            setting = "--profile"
            throw OAuthError(
                .invalidRequest, "This client has to push its requests (RFC 9126): its profile is fapi2.")
        }
        if client.settings.profile.requiresPushedRequests, !isPushed {
            setting = "--require-pushed-authorization-requests"
            throw OAuthError(.invalidRequest, "This client has to push its requests (RFC 9126).")
        }
        if client.settings.profile.requiresSignedRequests, !isSigned {
            setting = "--require-signed-request-object"
            throw OAuthError(.invalidRequest, "This client has to sign its requests (request, RFC 9101).")
        }
    }
}
