public import Countersign

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// Members by the spelling that documentation prints: `…Id` and `…Url`, and times in seconds. Each is the member of `Countersign` with another name.

extension UserLoginResult {
    /// The service's web origin: `relyingPartyURL`.
    public var relyingPartyUrl: String { self.relyingPartyURL }
}

extension AuthenticateRequest {
    /// The service's web origin: `serviceURL`.
    public var serviceUrl: String { self.serviceURL }
}

extension ClientConfiguration {
    /// A configuration with the defaults for everything but the server's address: `init(baseURL:)`.
    public init(baseUrl: URL) { self.init(baseURL: baseUrl) }

    /// The server's address: `baseURL`.
    public var baseUrl: URL {
        get { self.baseURL }
        set { self.baseURL = newValue }
    }

    /// The identity of this app: `facetID`.
    public var facetId: String {
        get { self.facetID }
        set { self.facetID = newValue }
    }

    /// How long one exchange with the server may take, in whole seconds, rounded up: `networkTimeout`.
    public var networkTimeoutInSeconds: Int {
        get { Int(self.networkTimeout.secondsRoundedUp) }
        set { self.networkTimeout = .seconds(newValue) }
    }

    /// How long the person has for each answer, in whole seconds, rounded up: `userInteractionTimeout`.
    public var userInteractionTimeoutInSeconds: Int {
        get { Int(self.userInteractionTimeout.secondsRoundedUp) }
        set { self.userInteractionTimeout = .seconds(newValue) }
    }
}

extension OutOfBandPayload.RedeemData {
    /// Where the token is redeemed: `redeemURL`.
    public var redeemUrl: URL { self.redeemURL }
}

extension OperationBuilder where Operation == OutOfBandPayloadDecode {
    /// The payload's text: `base64URLEncoded(_:)`.
    public func base64UrlEncoded(_ text: String) -> Self { self.base64URLEncoded(text) }
}

extension RegisteredAccount.Server {
    /// A server at that address: `init(baseURL:)`.
    public init(baseUrl: URL) { self.init(baseURL: baseUrl) }

    /// Scheme, host and port: `baseURL`.
    public var baseUrl: URL { self.baseURL }
}

extension MetaData {
    /// What the operating system calls this app: `applicationFacetID`.
    public static var applicationFacetId: String { Self.applicationFacetID }
}

extension FidoErrorCode {
    /// The server does not take answers of this app: `untrustedFacetID`.
    public static var untrustedFacetId: Self { .untrustedFacetID }
}
