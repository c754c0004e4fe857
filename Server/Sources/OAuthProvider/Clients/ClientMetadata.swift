import JOSE
import OAuth
import Store
import _Primitives

/// What a client that registers itself says it is (RFC 7591, section 2; OpenID Connect Dynamic Client Registration 1.0,
/// section 2). What is not known here is ignored.
struct ClientMetadata {
    /// The ways to tokens that a client can have by itself. The others are for an operator to give.
    static let grantTypes = [OpenIDProvider.codeGrant, OpenIDProvider.refreshGrant]

    let name: String
    let redirectURIs: [String]
    let postLogoutRedirectURIs: [String]
    let clientURI: String?
    let settings: ClientSettings

    /// Reads metadata. Throws `OAuthError`: `invalid_redirect_uri`, `invalid_client_metadata`.
    ///
    /// - Parameter given: The ways to tokens that an operator has given the client since.
    init(_ json: JSONObject, given: [String] = []) throws {
        do {
            self.settings = try Self.settings(json, allowing: Self.grantTypes + given)
            self.redirectURIs = try json.strings("redirect_uris") ?? []
            self.postLogoutRedirectURIs = try json.strings("post_logout_redirect_uris") ?? []
            self.clientURI = try json.string("client_uri")
            let origin = try Self.checked(self.redirectURIs, self.settings)
            // People have to be shown something.
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
        let grants = try json.strings("grant_types") ?? [OpenIDProvider.codeGrant]
        guard grants.containsBytes(of: OpenIDProvider.codeGrant), grants.allSatisfy(allowed.containsBytes)
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

    /// The origin of the first address. Throws `OAuthError` `invalid_redirect_uri`.
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
    /// The client as it is told of itself (RFC 7591, section 3.2.1).
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
