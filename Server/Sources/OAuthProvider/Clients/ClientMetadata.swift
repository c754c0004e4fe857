import Foundation
import JOSE
import OAuth
import Records
import _Primitives

/// The metadata of a client that registers itself (RFC 7591, section 2; OpenID Connect Dynamic Client Registration 1.0,
/// section 2).
///
/// A member that this server does not support is refused by its name if the client would rely on the member. A member
/// that is not kept, as nothing here depends on the member, is named in the answer (``ignored``).
struct ClientMetadata {
    /// The member of an answer that lists the members which were not kept.
    static let ignored = "ignored_members"

    /// The members that are read, and the members of an answer, which a client may send back.
    private static let known: Set<ExactText> = [
        "client_id", "client_secret", "client_name", "client_uri", "redirect_uris", "post_logout_redirect_uris",
        "grant_types", "response_types", "token_endpoint_auth_method", "jwks", "jwks_uri", "software_statement",
        "id_token_signed_response_alg", "id_token_encrypted_response_alg", "id_token_encrypted_response_enc",
        "backchannel_logout_uri", "backchannel_logout_session_required", "dpop_bound_access_tokens",
        "require_pushed_authorization_requests", "require_signed_request_object", "default_max_age",
        "userinfo_signed_response_alg", "sector_identifier_uri", "subject_type", "require_auth_time", "scope",
        "tls_client_certificate_bound_access_tokens", "ignored_members",
    ]

    /// The members that a client relies on and this server does not support, each with the values that ask for nothing.
    private static let unsupported: [(name: String, harmless: [JSON])] = [
        ("application_type", [.string("web"), .string("native")]),
        ("authorization_details_types", [.array([])]),
        ("authorization_encrypted_response_alg", []), ("authorization_encrypted_response_enc", []),
        ("authorization_signed_response_alg", []), ("backchannel_authentication_request_signing_alg", []),
        ("backchannel_client_notification_endpoint", []), ("backchannel_token_delivery_mode", []),
        ("backchannel_user_code_parameter", [.bool(false)]), ("default_acr_values", [.array([])]),
        ("frontchannel_logout_session_required", [.bool(false)]), ("frontchannel_logout_uri", []),
        ("introspection_encrypted_response_alg", []), ("introspection_encrypted_response_enc", []),
        ("introspection_signed_response_alg", []), ("request_object_encryption_alg", []),
        ("request_object_encryption_enc", []), ("request_uris", [.array([])]),
        ("tls_client_auth_san_dns", []), ("tls_client_auth_san_email", []), ("tls_client_auth_san_ip", []),
        ("tls_client_auth_san_uri", []), ("tls_client_auth_subject_dn", []),
        ("use_mtls_endpoint_aliases", [.bool(false)]), ("userinfo_encrypted_response_alg", []),
        ("userinfo_encrypted_response_enc", []),
    ]

    /// Returns the names of the members that were not kept; `nil` for none.
    static func ignoredMembers(of json: JSONObject, by client: ClientRecord) -> JSON? {
        let known = client.isStranger ? self.known.subtracting([ExactText("client_uri")]) : self.known
        let names = json.members.filter { !known.contains(ExactText($0.name)) }.map(\.name)
        return names.isEmpty ? nil : .array(names.map(JSON.string))
    }

    /// Throws `OAuthError` `invalid_client_metadata` for a member that a client would rely on, and that is not supported.
    private static func checkSupported(_ json: JSONObject) throws {
        for (name, harmless) in self.unsupported {
            guard let value = json[name], !harmless.contains(value) else { continue }
            throw OAuthError(.invalidClientMetadata, "This server does not support \(name), or not with that value.")
        }
        for name in ["request_object_signing_alg", "token_endpoint_auth_signing_alg"] {
            guard let value = try json.string(name) else { continue }
            guard JWSAlgorithm(rawValue: value).map(PrivateKeyJWT.algorithms.contains) ?? false else {
                throw OAuthError(.invalidClientMetadata, "The \(name) is not one that this server verifies.")
            }
        }
        if let type = try json.string("subject_type") {
            guard type.hasSameBytes(as: "pairwise") || type.hasSameBytes(as: "public") else {
                throw OAuthError(.invalidClientMetadata, "The subject_type is pairwise.")
            }
        }
    }

    /// The grant types that a client can take for itself. Only an operator gives the others.
    static let grantTypes = [GrantType.authorizationCode.rawValue, GrantType.refreshToken.rawValue]

    let name: String
    let redirectURIs: [String]
    let postLogoutRedirectURIs: [String]
    let clientURI: String?
    let settings: ClientSettings

    /// Reads metadata. Throws `OAuthError`: `invalid_redirect_uri`, `invalid_client_metadata`.
    ///
    /// - Parameter given: The grant types that an operator has since given to the client.
    init(_ json: JSONObject, given: [String] = []) throws {
        do {
            try Self.checkSupported(json)
            self.settings = try Self.settings(json, allowing: Self.grantTypes + given)
            self.redirectURIs = try json.strings("redirect_uris") ?? []
            self.postLogoutRedirectURIs = try json.strings("post_logout_redirect_uris") ?? []
            self.clientURI = try json.string("client_uri")
            let origin = try Self.checked(self.redirectURIs, self.settings)
            // People need a name to read.
            self.name = try json.string("client_name") ?? origin
        } catch let error as JSONError {
            throw OAuthError(
                .invalidClientMetadata, "A member of the metadata is not of its type.", detail: error.reason)
        }
    }

    private static func settings(_ json: JSONObject, allowing allowed: [String]) throws -> ClientSettings {
        let algorithm = try json.string("id_token_signed_response_alg") ?? JWSAlgorithm.rs256.rawValue
        guard let algorithm = JWSAlgorithm(rawValue: algorithm), SigningKeys.algorithms.contains(algorithm) else {
            throw OAuthError(.invalidClientMetadata, "ID tokens are not signed with that algorithm here.")
        }
        let types = try json.strings("response_types") ?? ["code"]
        guard types.count == 1, types[0].hasSameBytes(as: "code") else {
            throw OAuthError(.invalidClientMetadata, "The only response type is code.")
        }
        let grants = try json.strings("grant_types") ?? [GrantType.authorizationCode.rawValue]
        guard grants.containsBytes(of: GrantType.authorizationCode.rawValue), grants.allSatisfy(allowed.containsBytes)
        else {
            throw OAuthError(
                .invalidClientMetadata,
                "The grant types are \(Self.grantTypes[0]), and \(Self.grantTypes[1]) beside it; others an operator gives."
            )
        }
        var settings = ClientSettings(
            idTokenAlgorithm: algorithm, grantTypes: grants,
            authenticationMethod: try json.string("token_endpoint_auth_method") ?? "client_secret_basic",
            keySet: try json.object("jwks").map { JSON.object($0).text })
        settings.keySetAddress = try json.string("jwks_uri")
        settings.sectorIdentifierURI = try json.string("sector_identifier_uri")
        settings.tokens.keyBound = try json.bool("dpop_bound_access_tokens") ?? false
        settings.tokens.certificateBound = try json.bool("tls_client_certificate_bound_access_tokens") ?? false
        settings.tokens.userinfoAlgorithm = try json.string("userinfo_signed_response_alg").map { name in
            guard let algorithm = JWSAlgorithm(rawValue: name), SigningKeys.algorithms.contains(algorithm) else {
                throw OAuthError(.invalidClientMetadata, "Userinfo is not signed with that algorithm here.")
            }
            return algorithm
        }
        settings.profile.requiresPushedRequests = try json.bool("require_pushed_authorization_requests") ?? false
        settings.profile.requiresSignedRequests = try json.bool("require_signed_request_object") ?? false
        settings.profile.defaultMaximumAge = try json.integer("default_max_age", as: Int64.self).map { seconds in
            guard seconds >= 0 else { throw OAuthError(.invalidClientMetadata, "The default_max_age is negative.") }
            return .seconds(seconds)
        }
        // Each ID token has the time, requested or not.
        _ = try json.bool("require_auth_time")
        _ = try json.string("scope")
        if case .on(let encryption) = try IDTokenEncryptionChange(
            algorithm: json.string("id_token_encrypted_response_alg"),
            content: json.string("id_token_encrypted_response_enc"))
        {
            settings.tokens.idTokenEncryption = encryption
        }
        settings.logout = try json.string("backchannel_logout_uri").map {
            ClientSettings.LogoutAddress(
                $0, needsSession: try json.bool("backchannel_logout_session_required") ?? false)
        }
        return settings
    }

    /// Returns the origin of the first address. Throws `OAuthError` `invalid_redirect_uri`.
    private static func checked(_ addresses: [String], _ settings: ClientSettings) throws -> String {
        var origins: [String] = []
        for address in addresses {
            guard !address.contains("*") else {
                throw OAuthError(.invalidRedirectURI, "Redirect addresses have no wildcards.")
            }
            do { origins.append(try RedirectURI(address, allowing: settings.redirectKinds).origin) } catch {
                throw OAuthError(.invalidRedirectURI, error.message, detail: error.detail)
            }
        }
        guard let first = origins.first else { throw OAuthError(.invalidRedirectURI, "A redirect address is needed.") }
        return first
    }
}

extension ClientRecord {
    /// The client's metadata in an answer to the client (RFC 7591, section 3.2.1).
    var metadata: JSONObject {
        func texts(_ values: [String]) -> JSON { .array(values.map(JSON.string)) }
        var json: JSONObject = [
            "client_id": .string(self.id), "client_id_issued_at": .integer(self.createdAt.seconds),
            "client_name": .string(self.name), "redirect_uris": texts(self.redirectURIs),
            "response_types": texts(["code"]), "grant_types": texts(self.settings.grantTypes),
            "token_endpoint_auth_method": .string(self.settings.authenticationMethod),
            "id_token_signed_response_alg": .string(self.settings.idTokenAlgorithm.rawValue),
        ]
        if !self.postLogoutRedirectURIs.isEmpty {
            json["post_logout_redirect_uris"] = texts(self.postLogoutRedirectURIs)
        }
        json["client_uri"] = self.clientURI.map(JSON.string)
        let mayRenew = self.settings.grantTypes.containsBytes(of: GrantType.refreshToken.rawValue)
        let scopes = Clients.scopes.filter { mayRenew || !$0.hasSameBytes(as: Scope.offlineAccess) }
        json["scope"] = .string((scopes + self.settings.tokens.scopes).joined(separator: " "))
        json["subject_type"] = .string("pairwise")
        json["require_auth_time"] = .bool(true)
        json["dpop_bound_access_tokens"] = .bool(
            self.settings.tokens.keyBound || self.settings.isFAPI2 && !self.settings.tokens.certificateBound)
        json["tls_client_certificate_bound_access_tokens"] = .bool(self.settings.tokens.certificateBound)
        json["require_pushed_authorization_requests"] = .bool(
            self.settings.profile.requiresPushedRequests || self.settings.isFAPI2)
        json["require_signed_request_object"] = .bool(self.settings.profile.requiresSignedRequests)
        json["default_max_age"] = self.settings.profile.defaultMaximumAge.map { .integer($0.components.seconds) }
        json["userinfo_signed_response_alg"] = self.settings.tokens.userinfoAlgorithm.map { .string($0.rawValue) }
        json["sector_identifier_uri"] = self.settings.sectorIdentifierURI.map(JSON.string)
        json["jwks"] = self.settings.keySet.flatMap { try? JSON(parsing: Array($0.utf8)) }
        json["jwks_uri"] = self.settings.keySetAddress.map(JSON.string)
        if let encryption = self.settings.tokens.idTokenEncryption {
            json["id_token_encrypted_response_alg"] = .string(encryption.algorithm.rawValue)
            json["id_token_encrypted_response_enc"] = .string(encryption.content.rawValue)
        }
        json["backchannel_logout_uri"] = self.settings.logout.map { .string($0.text) }
        json["backchannel_logout_session_required"] = self.settings.logout.map { .bool($0.needsSession) }
        return json
    }
}

extension ClientSettings {
    /// The host of the sector's document, in small letters; `nil` for a client that is a sector by itself, and for an
    /// address without a host.
    var sector: String? {
        self.sectorIdentifierURI.flatMap { URLComponents(string: $0)?.host?.asciiLowercased }
    }
}
