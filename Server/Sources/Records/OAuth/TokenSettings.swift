public import JOSE
import _Primitives

/// The encryption of a client's ID tokens, beside the signature (OpenID Connect Dynamic Client Registration 1.0,
/// section 2).
public struct IDTokenEncryption: Sendable, Equatable {
    /// The way the content key reaches the client (`id_token_encrypted_response_alg`).
    public var algorithm: KeyManagementAlgorithm
    /// The encryption of the token itself (`id_token_encrypted_response_enc`).
    public var content: ContentEncryption

    /// Makes an encryption; by default, as the specification has it, with A128CBC-HS256.
    public init(_ algorithm: KeyManagementAlgorithm, content: ContentEncryption = .a128CBCHS256) {
        self.algorithm = algorithm
        self.content = content
    }
}

/// An operator's decisions about the access tokens that a client gets, and about the access tokens for the client.
public struct TokenSettings: Sendable, Equatable {
    /// The form of an access token.
    public enum Format: String, Sendable, CaseIterable {
        /// A JWT for verification by the audience itself (RFC 9068).
        case jwt
        /// A text without readable content. The audience asks at the introspection endpoint (RFC 7662).
        case opaque
    }

    /// The scopes of its own that the client may have, beside the scopes of OpenID Connect: `accounts.read`.
    public var scopes: [String]
    /// The resources that the client owns, each by its identifier (RFC 8707). The client takes the tokens for them.
    public var resources: [String]
    /// The resources of other owners for which the client may request tokens.
    public var audiences: [String]
    /// The form of the tokens for the client's resources. For a client without resources, the form of its tokens
    /// without a resource.
    public var format: Format
    /// The clients whose tokens the client may exchange for its own, by their identifiers (RFC 8693).
    public var subjects: [String]
    /// The only client that may act with this client's tokens of people (`may_act`); `nil` for any client that may
    /// exchange the tokens.
    public var actor: String?
    /// The apps that sign in by each other, by the name of their group (OpenID Connect Native SSO for Mobile Apps 1.0);
    /// `nil` for an app without a group.
    public var group: String?

    /// `true` if the client's tokens are bound to the certificate that it shows
    /// (`tls_client_certificate_bound_access_tokens`, RFC 8705, section 3.4).
    public var certificateBound: Bool
    /// The encryption of the client's ID tokens; `nil` if they are only signed.
    public var idTokenEncryption: IDTokenEncryption?
    /// The time after its first use for which an unbound refresh token still gives the same next token; `nil` for the
    /// server's own time (``Limits/OAuth/usedRefreshTokenLifetime``).
    public var usedRefreshTokenLifetime: Duration?
    /// `true` if the answer to a refresh has an ID token (OpenID Connect Core 1.0, section 12.2), for a grant with the
    /// scope `openid`.
    public var refreshesIDToken: Bool
    /// `true` if the client's tokens are bound to a key that it proves (`dpop_bound_access_tokens`, RFC 9449, section
    /// 5.2).
    public var keyBound = false
    /// The algorithm that signs the answers of the userinfo endpoint (`userinfo_signed_response_alg`, OpenID Connect
    /// Dynamic Client Registration 1.0, section 2); `nil` for unsigned JSON.
    public var userinfoAlgorithm: JWSAlgorithm?
    /// `true` if the client's dispatches can have a text that page and phone show for a comparison by the person
    /// (channel linking). NIST SP 800-63B-4, section 3.1.3, is against such a comparison: people approve without
    /// comparing.
    public var linksChannels = false

    /// Makes settings; by default the settings of a client that has tokens for this server alone.
    public init(
        scopes: [String] = [], resources: [String] = [], audiences: [String] = [], format: Format = .jwt,
        subjects: [String] = [], actor: String? = nil, group: String? = nil, certificateBound: Bool = false,
        idTokenEncryption: IDTokenEncryption? = nil, usedRefreshTokenLifetime: Duration? = nil,
        refreshesIDToken: Bool = true
    ) {
        self.refreshesIDToken = refreshesIDToken
        self.idTokenEncryption = idTokenEncryption
        self.usedRefreshTokenLifetime = usedRefreshTokenLifetime
        self.certificateBound = certificateBound
        self.subjects = subjects
        self.actor = actor
        self.group = group
        self.scopes = scopes
        self.resources = resources
        self.audiences = audiences
        self.format = format
    }

    /// Returns `true` if the client owns the resource.
    public func owns(_ resource: String) -> Bool { self.resources.containsBytes(of: resource) }
}

extension TokenSettings {
    /// The stored form of the settings. A missing member has the value of a client that names nothing.
    package var text: String {
        var json: JSONObject = [:]
        for (name, list) in [
            ("scopes", self.scopes), ("resources", self.resources), ("audiences", self.audiences),
            ("subjects", self.subjects),
        ] where !list.isEmpty {
            json[name] = .array(list.map(JSON.string))
        }
        if self.format != .jwt { json["format"] = .string(self.format.rawValue) }
        json["actor"] = self.actor.map(JSON.string)
        json["group"] = self.group.map(JSON.string)
        if self.certificateBound { json["certificateBound"] = .bool(true) }
        json["idTokenEncryption"] = self.idTokenEncryption.map {
            .array([.string($0.algorithm.rawValue), .string($0.content.rawValue)])
        }
        json["usedRefreshTokenSeconds"] = self.usedRefreshTokenLifetime.map { .integer($0.components.seconds) }
        if !self.refreshesIDToken { json["refreshesIDToken"] = .bool(false) }
        if self.keyBound { json["keyBound"] = .bool(true) }
        if self.linksChannels { json["channelLinking"] = .bool(true) }
        json["userinfoAlgorithm"] = self.userinfoAlgorithm.map { .string($0.rawValue) }
        return JSON.object(json).text
    }

    /// Reads the output of ``text``. Throws ``StoreError/Code/corrupt``.
    package init(kept text: String) throws {
        do {
            guard case .object(let json) = try JSON(parsing: text) else {
                throw StoreError(.corrupt, "a client's tokens")
            }
            let format = try json.string("format").map(Format.init(rawValue:)) ?? .jwt
            guard let format else { throw StoreError(.corrupt, "what a client's tokens look like") }
            self.init(
                scopes: try json.strings("scopes") ?? [], resources: try json.strings("resources") ?? [],
                audiences: try json.strings("audiences") ?? [], format: format,
                subjects: try json.strings("subjects") ?? [], actor: try json.string("actor"),
                group: try json.string("group"), certificateBound: try json.bool("certificateBound") ?? false,
                idTokenEncryption: try json.strings("idTokenEncryption").map(IDTokenEncryption.init(kept:)),
                usedRefreshTokenLifetime: try json.integer("usedRefreshTokenSeconds", as: Int64.self).map {
                    .seconds($0)
                },
                refreshesIDToken: try json.bool("refreshesIDToken") ?? true)
            self.keyBound = try json.bool("keyBound") ?? false
            self.linksChannels = try json.bool("channelLinking") ?? false
            self.userinfoAlgorithm = try json.string("userinfoAlgorithm").map { name in
                guard let algorithm = JWSAlgorithm(rawValue: name) else {
                    throw StoreError(.corrupt, "the algorithm of a client's userinfo")
                }
                return algorithm
            }
        } catch is JSONError {
            throw StoreError(.corrupt, "a client's tokens")
        }
    }
}

extension IDTokenEncryption {
    fileprivate init(kept names: [String]) throws {
        guard names.count == 2, let algorithm = KeyManagementAlgorithm(rawValue: names[0]),
            let content = ContentEncryption(rawValue: names[1])
        else { throw StoreError(.corrupt, "how a client's ID tokens are encrypted") }
        self.init(algorithm, content: content)
    }
}
