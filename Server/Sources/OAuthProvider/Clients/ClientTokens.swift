public import JOSE
import OAuth
public import Store
import _Primitives

/// What becomes of the encryption of a client's ID tokens.
public enum IDTokenEncryptionChange: Sendable, Equatable {
    /// They are encrypted so.
    case on(IDTokenEncryption)
    /// They are signed alone.
    case off

    /// Reads `id_token_encrypted_response_alg` and `id_token_encrypted_response_enc`; `nil` where neither is named. The first
    /// is `none` for tokens that are signed alone; without the second it is A128CBC-HS256.
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

/// What an operator changes of a client's ``TokenSettings``; what is `nil` stays as it is.
public struct TokenSettingsChange: Sendable, Equatable {
    /// The scopes of its own; all of them.
    public var scopes: [String]?
    /// The resources that it owns; all of them.
    public var resources: [String]?
    /// The resources that it may ask tokens for; all of them.
    public var audiences: [String]?
    /// What the tokens look like.
    public var format: TokenSettings.Format?
    /// The clients whose tokens it may exchange; all of them.
    public var subjects: [String]?
    /// Who alone may act with its tokens; an empty text for nobody in particular.
    public var actor: String?
    /// The group of apps that it signs in with; an empty text for none.
    public var group: String?

    /// Whether they are bound to the certificate that the client shows.
    public var certificateBound: Bool?
    /// How its ID tokens are encrypted.
    public var idTokenEncryption: IDTokenEncryptionChange?
    /// How long after its first use a refresh token that nothing binds gives the same next one; zero for the server's own
    /// time.
    public var usedRefreshTokenLifetime: Duration?
    /// Whether the answer to a refresh has an ID token.
    public var refreshesIDToken: Bool?
    /// Whether the tokens are bound to a key that the client proves.
    public var keyBound: Bool?
    /// The algorithm that answers of the userinfo endpoint are signed with.
    public var userinfoAlgorithm: UserinfoAlgorithmChange?

    /// These changes and no others.
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
        applied.userinfoAlgorithm =
            switch self.userinfoAlgorithm {
            case .signed(let algorithm): algorithm
            case .unsigned: nil
            case nil: settings.userinfoAlgorithm
            }
        return applied
    }
}

/// How answers of the userinfo endpoint are to be given to a client.
public enum UserinfoAlgorithmChange: Sendable, Hashable {
    /// As a JWT that is signed so.
    case signed(JWSAlgorithm)
    /// As JSON.
    case unsigned
}

extension TokenSettings {
    /// The settings as texts of bytes.
    var exact: [[ExactText]] {
        [
            self.scopes, self.resources, self.audiences, [self.format.rawValue], self.subjects, [self.actor ?? ""],
            [self.group ?? ""], [self.certificateBound ? "bound" : ""],
            self.idTokenEncryption.map { [$0.algorithm.rawValue, $0.content.rawValue] } ?? [],
            [self.usedRefreshTokenLifetime.map { "\($0.components.seconds)" } ?? ""],
            [self.refreshesIDToken ? "" : "no ID token"], [self.keyBound ? "key" : ""],
            [self.userinfoAlgorithm?.rawValue ?? ""],
        ].map { $0.map(ExactText.init) }
    }
}

extension OpenIDProvider {
    /// Holds what tokens a client is to have against what there is. Throws `OAuthError` `invalid_request` with a sentence
    /// for the administrator.
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
                // Whoever owned this server's name would be told of all its tokens.
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
        guard !tokens.certificateBound || self.configuration.mutualTLS != nil else {
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
        try self.checkEncryption(of: settings, keys: keys)
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
        if settings.grantTypes.containsBytes(of: OwnGrant.serviceAssertion),
            !PrivateKeyJWT.methods.containsBytes(of: settings.authenticationMethod)
        {
            throw refuse(
                "A client with the grant type \(OwnGrant.serviceAssertion) authenticates by private_key_jwt.")
        }
    }

    /// Throws `OAuthError` `invalid_request` where another client owns one of these resources. The store sees to it in the
    /// step itself, and has no words for it.
    ///
    /// Cost: one query for each.
    func checkOwner(of resources: [String], client: String) async throws {
        for resource in resources {
            guard let owner = try await self.store.client(owning: resource), !owner.id.hasSameBytes(as: client) else {
                continue
            }
            throw OAuthError(.invalidRequest, "Another client owns the resource \(resource): \(owner.id).")
        }
    }
}
