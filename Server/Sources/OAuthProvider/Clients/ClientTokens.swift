public import JOSE
import OAuth
public import Records
import Settings
import _Primitives

/// A change of the encryption of a client's ID tokens.
public enum IDTokenEncryptionChange: Sendable, Equatable {
    /// ID tokens are encrypted in this way.
    case on(IDTokenEncryption)
    /// ID tokens are only signed.
    case off

    /// Reads `id_token_encrypted_response_alg` and `id_token_encrypted_response_enc`; `nil` if neither is present. The
    /// first is `none` for tokens that are only signed; without the second it is A128CBC-HS256.
    ///
    /// Throws `OAuthError` `invalid_client_metadata`.
    public init?(algorithm: String?, content: String?) throws {
        guard let algorithm else {
            guard content == nil else {
                throw OAuthError(
                    .invalidClientMetadata,
                    "id_token_encrypted_response_enc goes with id_token_encrypted_response_alg.")
            }
            return nil
        }
        if algorithm.hasSameBytes(as: "none"), content == nil {
            self = .off
            return
        }
        guard let known = KeyManagementAlgorithm(rawValue: algorithm),
            let content = ContentEncryption(rawValue: content ?? ContentEncryption.a128CBCHS256.rawValue)
        else {
            throw OAuthError(
                .invalidClientMetadata,
                "ID tokens are encrypted by \(KeyManagementAlgorithm.all.map(\.rawValue).joined(separator: ", ")), with \(ContentEncryption.all.map(\.rawValue).joined(separator: ", ")); or by none."
            )
        }
        self = .on(IDTokenEncryption(known, content: content))
    }

    fileprivate var new: IDTokenEncryption?? {
        switch self {
        case .on(let encryption): .some(encryption)
        case .off: .some(nil)
        }
    }
}

/// An operator's changes of a client's ``TokenSettings``. Settings of `nil` stay unchanged.
public struct TokenSettingsChange: Sendable, Equatable {
    /// The client's own scopes; the complete list.
    public var scopes: [String]?
    /// The client's own resources; the complete list.
    public var resources: [String]?
    /// The resources for which the client may request tokens; the complete list.
    public var audiences: [String]?
    /// The format of the tokens.
    public var format: TokenSettings.Format?
    /// The clients whose tokens this client may exchange; the complete list.
    public var subjects: [String]?
    /// The only client that may act with this client's tokens; an empty text for no particular client.
    public var actor: String?
    /// The group of apps that the client signs in with; an empty text for none.
    public var group: String?

    /// `true` if tokens are bound to the certificate that the client shows.
    public var certificateBound: Bool?
    /// The encryption of the client's ID tokens.
    public var idTokenEncryption: IDTokenEncryptionChange?
    /// The time after its first use for which an unbound refresh token still gives the same next token; zero for the
    /// server's own time.
    public var usedRefreshTokenLifetime: Duration?
    /// `true` if the answer to a refresh has an ID token.
    public var refreshesIDToken: Bool?
    /// `true` if the tokens are bound to a key that the client proves.
    public var keyBound: Bool?
    /// The algorithm that answers of the userinfo endpoint are signed with.
    public var userinfoAlgorithm: UserinfoAlgorithmChange?
    /// `true` if dispatches can have a text for a comparison of page and phone.
    public var linksChannels: Bool?

    /// Creates these changes and no others.
    public init(
        scopes: [String]? = nil, resources: [String]? = nil, audiences: [String]? = nil,
        format: TokenSettings.Format? = nil, subjects: [String]? = nil, actor: String? = nil, group: String? = nil,
        certificateBound: Bool? = nil, idTokenEncryption: IDTokenEncryptionChange? = nil,
        usedRefreshTokenLifetime: Duration? = nil, refreshesIDToken: Bool? = nil
    ) {
        self.refreshesIDToken = refreshesIDToken
        self.usedRefreshTokenLifetime = usedRefreshTokenLifetime
        self.idTokenEncryption = idTokenEncryption
        self.certificateBound = certificateBound
        self.subjects = subjects
        self.actor = actor
        self.group = group
        self.scopes = scopes
        self.resources = resources
        self.audiences = audiences
        self.format = format
    }

    func applied(to settings: TokenSettings) -> TokenSettings {
        func text(_ new: String?, _ old: String?) -> String? { new.map { $0.isEmpty ? nil : $0 } ?? old }
        var applied = TokenSettings(
            scopes: self.scopes ?? settings.scopes, resources: self.resources ?? settings.resources,
            audiences: self.audiences ?? settings.audiences, format: self.format ?? settings.format,
            subjects: self.subjects ?? settings.subjects, actor: text(self.actor, settings.actor),
            group: text(self.group, settings.group),
            certificateBound: self.certificateBound ?? settings.certificateBound,
            idTokenEncryption: self.idTokenEncryption?.new ?? settings.idTokenEncryption,
            usedRefreshTokenLifetime: self.usedRefreshTokenLifetime.map { $0 == .zero ? nil : $0 }
                ?? settings.usedRefreshTokenLifetime,
            refreshesIDToken: self.refreshesIDToken ?? settings.refreshesIDToken)
        applied.keyBound = self.keyBound ?? settings.keyBound
        applied.linksChannels = self.linksChannels ?? settings.linksChannels
        applied.userinfoAlgorithm =
            switch self.userinfoAlgorithm {
            case .signed(let algorithm): algorithm
            case .unsigned: nil
            case nil: settings.userinfoAlgorithm
            }
        return applied
    }
}

/// A change of the form in which a client gets answers of the userinfo endpoint.
public enum UserinfoAlgorithmChange: Sendable, Hashable {
    /// As a JWT, signed with this algorithm.
    case signed(JWSAlgorithm)
    /// As JSON.
    case unsigned
}

extension TokenSettings {
    /// The settings as texts, for a comparison byte by byte.
    var exact: [[ExactText]] {
        [
            self.scopes, self.resources, self.audiences, [self.format.rawValue], self.subjects, [self.actor ?? ""],
            [self.group ?? ""], [self.certificateBound ? "bound" : ""],
            self.idTokenEncryption.map { [$0.algorithm.rawValue, $0.content.rawValue] } ?? [],
            [self.usedRefreshTokenLifetime.map { "\($0.components.seconds)" } ?? ""],
            [self.refreshesIDToken ? "" : "no ID token"], [self.keyBound ? "key" : ""],
            [self.userinfoAlgorithm?.rawValue ?? ""], [self.linksChannels ? "channel linking" : ""],
        ].map { $0.map(ExactText.init) }
    }
}

extension ClientRules {
    /// Checks a client's token settings against the server's abilities. Throws `OAuthError` `invalid_request` with a
    /// sentence for the administrator.
    func checkTokens(of settings: ClientSettings, keys: JWKSet?) throws {
        let tokens = settings.tokens
        func refuse(_ sentence: String) -> OAuthError { OAuthError(.invalidRequest, sentence) }
        guard tokens.scopes.count <= Limits.Fixed.scopesPerClient,
            Set(tokens.scopes.map(ExactText.init)).count == tokens.scopes.count,
            tokens.scopes.allSatisfy({ name in
                (1...Limits.Fixed.scopeCharacters).contains(name.utf8.count) && (try? Scope(name))?.names == [name]
            })
        else {
            throw refuse(
                "A client has \(Limits.Fixed.scopesPerClient) scopes of its own at most, each once, of \(Limits.Fixed.scopeCharacters) characters and without spaces."
            )
        }
        if let reserved = tokens.scopes.first(where: Scope.ofOpenID.containsBytes) {
            throw refuse("The scope \(reserved) is one of OpenID Connect's, which every client may ask for.")
        }
        for resources in [tokens.resources, tokens.audiences] {
            guard resources.count <= Limits.Fixed.resourcesPerClient,
                Set(resources.map(ExactText.init)).count == resources.count
            else { throw refuse("There are too many resources, or one twice.") }
            for resource in resources {
                do { _ = try ResourceIndicator(resource) } catch {
                    throw refuse(error.message ?? "A resource is wrong.")
                }
                // An owner of this server's own name would learn of all tokens.
                guard !resource.hasSameBytes(as: self.issuer), !resource.hasBytes(atStart: self.issuer + "/") else {
                    throw refuse("A resource has an address of this server's own.")
                }
            }
        }
        guard tokens.subjects.count <= Limits.Fixed.subjectsPerClient,
            Set(tokens.subjects.map(ExactText.init)).count == tokens.subjects.count,
            (tokens.subjects + [tokens.actor].compactMap(\.self)).allSatisfy({
                ProviderRefusal.isClientName($0)
            })
        else {
            throw refuse("What is to be the identifier of a client cannot be one, or there are too many, or one twice.")
        }
        guard !tokens.certificateBound || self.certificates != nil else {
            throw refuse("No certificates are asked for here: the server needs --mtls-bind.")
        }
        guard
            tokens.usedRefreshTokenLifetime.map({
                (Limits.Fixed.shortestLifetime...Limits.Fixed.longestUsedRefreshToken).contains($0)
            })
                ?? true
        else {
            throw refuse(
                "A used refresh token can be taken again for \(Limits.Fixed.shortestLifetime.components.seconds) to \(Limits.Fixed.longestUsedRefreshToken.components.seconds) seconds; 0 stands for the server's own time."
            )
        }
        try Self.checkEncryption(of: settings, keys: keys)
        if settings.isPublic, !tokens.subjects.isEmpty {
            throw refuse("A client without a way to authenticate cannot exchange the tokens of others.")
        }
        if let group = tokens.group {
            guard (1...Limits.Fixed.groupCharacters).contains(group.utf8.count), ProviderRefusal.isClientName(group)
            else {
                throw refuse(
                    "The name of a group of apps has letters, digits, dashes and underscores, \(Limits.Fixed.groupCharacters) at most."
                )
            }
        }
        if settings.grantTypes.containsBytes(of: GrantType.serviceAssertion.rawValue),
            !PrivateKeyJWT.methods.containsBytes(of: settings.authenticationMethod)
        {
            throw refuse(
                "A client with the grant type \(GrantType.serviceAssertion.rawValue) authenticates by private_key_jwt.")
        }
    }

    /// Checks the encryption of a client's ID tokens against the client's keys. Throws `OAuthError` `invalid_request`
    /// with a sentence for the administrator.
    private static func checkEncryption(of settings: ClientSettings, keys: JWKSet?) throws {
        guard let encryption = settings.tokens.idTokenEncryption, settings.keySetAddress == nil else { return }
        guard keys?.recipient(for: encryption.algorithm) != nil else {
            throw OAuthError(
                .invalidRequest,
                "A client whose ID tokens are encrypted needs a key for \(encryption.algorithm.rawValue) among its keys (jwks, or jwks_uri)."
            )
        }
    }
}

extension JWKSet {
    /// Returns the key for encryption: a key that is only for encryption, or else a key for every use.
    func recipient(for algorithm: KeyManagementAlgorithm) -> JWK? {
        let fitting = self.keys.filter { $0.fits(algorithm) }
        return fitting.first { $0.use != nil } ?? fitting.first
    }
}
