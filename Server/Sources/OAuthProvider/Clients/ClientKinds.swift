import JOSE
import OAuth
import Records
import Settings
import _Primitives

extension ClientSettings.CodeBinding {
    /// `true` if the binding permits requests without a challenge.
    var isLoose: Bool { self == .nonce || self == .nothing }
}

extension ClientRecord {
    /// The reason why each of the client's codes is bound to a challenge, whatever the client's setting. `nil` for the
    /// operator's own confidential client of the usual profile. Nobody here answers for the checks of another party's
    /// client.
    var reasonForChallenges: String? {
        if self.settings.isPublic { return "A client without a way to authenticate" }
        if self.settings.isFAPI2 { return "A client of fapi2" }
        if self.registration != nil { return "A client that no operator has registered" }
        return self.settings.party == .third ? "A third party's client" : nil
    }

    /// The binding of the client's codes, by the client's kind and setting: never ``ClientSettings/CodeBinding/usual``.
    var codeBinding: ClientSettings.CodeBinding {
        guard self.reasonForChallenges == nil else { return .pkce }
        return self.settings.codeBinding == .usual ? .nonce : self.settings.codeBinding
    }
}

extension ClientRules {
    /// Checks a client's kind against the server's abilities, and against the client's other settings. Throws
    /// `OAuthError` `invalid_request` with a sentence for the administrator; `invalid_client_metadata` for its keys.
    ///
    /// - Parameters:
    ///   - before: The client before the change, if the client is changed. The earlier client's keys may stay without
    ///     a use, for example the keys to which tokens were encrypted.
    ///   - read: The client's keys, if the set has been read already (``keySet(_:)``).
    func checkKind(of client: ClientRecord, insteadOf before: ClientRecord? = nil, keys read: JWKSet? = nil) throws {
        let settings = client.settings
        if settings.isPublic { try Self.checkPublic(settings) }
        if settings.codeBinding.isLoose, let reason = client.reasonForChallenges {
            throw OAuthError(
                .invalidRequest,
                "\(reason) needs PKCE, each of its codes bound to a challenge: --pkce \(settings.codeBinding.rawValue) is for your own confidential clients of the usual profile."
            )
        }
        if settings.assertionAudience != .issuer {
            guard PrivateKeyJWT.methods.containsBytes(of: settings.authenticationMethod), !settings.isFAPI2,
                settings.signInService == nil
            else {
                throw OAuthError(
                    .invalidRequest,
                    "--assertion-audience \(settings.assertionAudience.rawValue) is for a client of the usual profile that authenticates by private_key_jwt, and for none of the app sign-in service."
                )
            }
        }
        let known = GrantType.allCases.map(\.rawValue)
        // A service that only accepts tokens needs no grant type.
        guard !settings.grantTypes.isEmpty || !settings.tokens.resources.isEmpty,
            settings.grantTypes.allSatisfy(known.containsBytes),
            Set(settings.grantTypes.map(ExactText.init)).count == settings.grantTypes.count
        else {
            throw OAuthError(
                .invalidRequest,
                "A client has one grant type or more of these, each once: \(known.joined(separator: ", ")).")
        }
        let methods = self.authenticationMethods
        guard methods.containsBytes(of: settings.authenticationMethod) else {
            throw OAuthError(
                .invalidRequest, "A client authenticates in one of these ways: \(methods.joined(separator: ", ")).")
        }
        if PrivateKeyJWT.methods.containsBytes(of: settings.authenticationMethod), settings.keySet == nil,
            settings.keySetAddress == nil
        {
            throw OAuthError(
                .invalidRequest, "A client that authenticates by private_key_jwt needs its keys (jwks, or jwks_uri).")
        }
        var keys: JWKSet?
        if let text = settings.keySet {
            let isKept = before?.settings.keySet == text
            let verifies =
                PrivateKeyJWT.methods.containsBytes(of: settings.authenticationMethod)
                || settings.tokens.idTokenEncryption == nil && !isKept
            keys = try read ?? JWKSet(ofClient: Array(text.utf8), verifies: false)
            try keys?.checkUse(verifies: verifies)
        }
        if let address = settings.keySetAddress {
            guard settings.keySet == nil else {
                throw OAuthError(.invalidRequest, "A client gives its keys, or the address that they are at: not both.")
            }
            do { _ = try RedirectURI(address) } catch {
                throw OAuthError(
                    .invalidRequest,
                    "The address of keys is https, or http to a literal loopback address, without a fragment.",
                    detail: error.detail)
            }
        }
        try self.checkCertificate(of: settings)
        if let logout = settings.logout {
            do { _ = try RedirectURI(logout.text) } catch {
                throw OAuthError(
                    .invalidRequest,
                    "The address for back-channel logout is https, or http to a literal loopback address, without a fragment.",
                    detail: error.detail)
            }
        }
        if let address = settings.statusAddress {
            do { _ = try RedirectURI(address) } catch {
                throw OAuthError(
                    .invalidRequest,
                    "The address for the ends of sessions is https, or http to a literal loopback address, without a fragment.",
                    detail: error.detail)
            }
        }
        if let address = settings.answers.address {
            do { _ = try RedirectURI(address) } catch {
                throw OAuthError(
                    .invalidRequest,
                    "The address for answers is https, or http to a literal loopback address, without a fragment.",
                    detail: error.detail)
            }
        } else if settings.answers.mode != .poll {
            throw OAuthError(
                .invalidRequest,
                "A client that is told what people have answered names where (backchannel_client_notification_endpoint)."
            )
        }
        if settings.grantTypes.containsBytes(of: GrantType.authorizationCode.rawValue), client.redirectURIs.isEmpty {
            throw OAuthError(.invalidRequest, "A redirect address is needed.")
        }
        let unasked = GrantType.allCases.filter(\.asksNobody).map(\.rawValue)
        if settings.party == .third, unasked.contains(where: settings.grantTypes.containsBytes) {
            throw OAuthError(
                .invalidRequest,
                "People are asked what a third party's client may have, on a page: it cannot have one of the grant types \(unasked.joined(separator: ", "))."
            )
        }
        guard settings.party == .first || settings.tokens.subjects.isEmpty else {
            throw OAuthError(
                .invalidRequest,
                "People are asked what a third party's client may have, on a page: it cannot exchange the tokens of others."
            )
        }
        if settings.tokens.group != nil, client.redirectURIs.isEmpty {
            throw OAuthError(
                .invalidRequest,
                "An app that signs in by others needs a redirect address: people are shown where they are.")
        }
        try self.checkTokens(of: settings, keys: keys)
        guard !settings.signInMethods.isEmpty,
            settings.signInMethods.allSatisfy(self.isWay),
            Set(settings.signInMethods.map(ExactText.init)).count == settings.signInMethods.count
        else {
            throw OAuthError(
                .invalidRequest,
                "People sign in to a client in one way or more of these, each once: \(self.ways.joined(separator: ", "))."
            )
        }
        try self.checkProfile(of: client, keys: keys)
        if client.isStranger { try Strangers.check(settings) }
        for address in client.redirectURIs + client.postLogoutRedirectURIs {
            _ = try settings.redirectURI(address)
        }
        try self.checkHost(of: client)
        try Self.checkSignInService(of: client, levels: self.levels)
    }

    /// Refuses addresses of another party's service at this server's own origin. Browsers treat all pages of an origin
    /// as one, whatever their paths, and people see the origin.
    private func checkHost(of client: ClientRecord) throws {
        guard client.settings.party == .third, let own = TargetURI(self.issuer)?.origin else { return }
        let addresses =
            client.redirectURIs + client.postLogoutRedirectURIs + (client.clientURI.map { [$0] } ?? [])
        // However the address is written: browsers accept the host in upper or lower case, and an omitted port.
        for address in addresses where TargetURI(address)?.origin.hasSameBytes(as: own) ?? false {
            throw OAuthError(
                .invalidRequest,
                "An address of a third party's client cannot be at \(own), where this server is itself. Give the service a host name of its own, or make it a first party's."
            )
        }
    }

    /// Checks the settings about a client's certificate (RFC 8705, section 2). Throws `invalid_request`.
    ///
    /// A client with self-signed certificates needs keys, and a client with an issued certificate needs the
    /// certificate's name. The name has to be short and without control characters. Tokens that are pushed to a client
    /// are bound neither to a certificate nor to a DPoP key.
    private func checkCertificate(of settings: ClientSettings) throws {
        let method = settings.authenticationMethod
        if method.hasSameBytes(as: CertificateClient.selfSigned), settings.keySet == nil, settings.keySetAddress == nil
        {
            throw OAuthError(
                .invalidRequest,
                "A client that authenticates by \(CertificateClient.selfSigned) needs the keys of its certificates (jwks, or jwks_uri)."
            )
        }
        if method.hasSameBytes(as: CertificateClient.issued), settings.certificateName == nil {
            throw OAuthError(
                .invalidRequest,
                "A client that authenticates by \(CertificateClient.issued) needs the name that its certificate has.")
        }
        guard settings.answers.mode != .push || !(settings.tokens.certificateBound || settings.tokens.keyBound) else {
            throw OAuthError(
                .invalidRequest,
                "Tokens that are pushed to a client are bound neither to a certificate nor to a DPoP key: the client shows none of its own then."
            )
        }
        guard !(settings.tokens.certificateBound && settings.tokens.keyBound) else {
            throw OAuthError(
                .invalidRequest,
                "The tokens of a client are bound to its certificate or to a DPoP key: leave out one of the two.")
        }
        if let name = settings.certificateName {
            guard (1...Limits.Fixed.certificateNameBytes).contains(name.value.utf8.count),
                name.value.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
            else {
                throw OAuthError(
                    .invalidRequest,
                    "The name of a certificate has \(Limits.Fixed.certificateNameBytes) bytes at most, and none that does not show."
                )
            }
        }
    }

    /// Refuses settings that a client without authentication can never have.
    private static func checkPublic(_ settings: ClientSettings) throws {
        let proving = GrantType.allCases.filter(\.isForClientsThatProve).map(\.rawValue)
        if let own = proving.first(where: settings.grantTypes.containsBytes) {
            throw OAuthError(
                .invalidRequest, "A client without a way to authenticate cannot have the grant type \(own).")
        }
        guard settings.tokens.resources.isEmpty else {
            throw OAuthError(.invalidRequest, "A client without a way to authenticate cannot own resources.")
        }
    }

    /// Returns the keys of a client, and the key set's text as it is kept: only the known members, and nothing else
    /// that came with the keys. Throws `OAuthError` `invalid_client_metadata` with a sentence for the administrator.
    func keySet(_ text: String) throws -> (keys: JWKSet, text: String) {
        let most = self.limits.oauth.keySetBytes
        guard text.utf8.count <= most else {
            throw OAuthError(.invalidClientMetadata, "The key set has more than \(most) bytes.")
        }
        let keys = try JWKSet(ofClient: Array(text.utf8), verifies: false)
        return (keys, JSON.object(keys.publicJSON).text)
    }
}
