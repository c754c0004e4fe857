import JOSE
import OAuth
import Records
public import _Primitives

extension OpenIDProvider {
    /// The discovery document (RFC 8414; OpenID Connect Discovery 1.0).
    public var discovery: JSONObject {
        var metadata = ProviderMetadata(
            issuer: self.configuration.issuer, scopes: Clients.scopes, grantTypes: GrantType.allCases.map(\.rawValue),
            clientAuthenticationMethods: self.clients.rules.authenticationMethods,
            clientSigningAlgorithms: PrivateKeyJWT.algorithms.map(\.rawValue),
            idTokenAlgorithms: SigningKeys.algorithms.map(\.rawValue),
            acrValues: self.configuration.levels.filter { !$0.levels.isEmpty }.map(\.name),
            claims: [
                "iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "acr", "amr", "at_hash", "sid", "ds_hash",
            ] + PersonClaims.names,
            responseModes: ResponseMode.allCases.map(\.rawValue),
            promptValues: AuthorizationWishes.Prompt.allCases.map(\.rawValue))
        metadata.uiLocales = self.configuration.uiLocales
        metadata.supportsNativeSSO = true
        metadata.idTokenKeyManagement = KeyManagementAlgorithm.all.map(\.rawValue)
        metadata.idTokenEncryptions = ContentEncryption.all.map(\.rawValue)
        metadata.introspectionAlgorithms = SigningKeys.algorithms.map(\.rawValue)
        metadata.requestObjectAlgorithms = PrivateKeyJWT.algorithms.map(\.rawValue)
        metadata.hasRegistration = self.configuration.hasRegistration || self.configuration.isRegistrationOpen
        metadata.takesClientIDDocuments = self.configuration.takesClientDocuments
        metadata.backchannelModes =
            self.configuration.calls == nil
            ? [ClientSettings.AnswerDelivery.Mode.poll.rawValue]
            : ClientSettings.AnswerDelivery.Mode.allCases.map(\.rawValue)
        metadata.mutualTLSOrigin = self.configuration.mutualTLS?.origin
        metadata.authorizationDetailTypes = self.configuration.detailTypes.map(\.type.name)
        var json = metadata.json
        json["userinfo_signing_alg_values_supported"] = .array(SigningKeys.algorithms.map { .string($0.rawValue) })
        return json
    }
}
