public import Countersign

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// Members with the spelling of the printed documentation: `…Id` and `…Url`, and times in seconds. Each member is
// another name for a member of `Countersign`.

extension UserLoginResult {
    /// The service's web origin: `relyingPartyURL`.
    public var relyingPartyUrl: String { self.relyingPartyURL }
}

extension AuthenticateRequest {
    /// The service's web origin: `serviceURL`.
    public var serviceUrl: String { self.serviceURL }
}

extension ClientConfiguration {
    /// Creates a configuration with the defaults for everything but the server's address: `init(baseURL:)`.
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

    /// The time limit of an exchange with the server, in whole seconds, rounded up: `networkTimeout`.
    public var networkTimeoutInSeconds: Int {
        get { Int(self.networkTimeout.secondsRoundedUp) }
        set { self.networkTimeout = .seconds(newValue) }
    }

    /// The delay before each retry of an authentication's signed answer, in whole seconds, rounded up:
    /// `authenticationRetryInterval`.
    public var authenticationRetryIntervalInSeconds: Int {
        get { Int(self.authenticationRetryInterval.secondsRoundedUp) }
        set { self.authenticationRetryInterval = .seconds(newValue) }
    }

    /// The time limit of each answer of the person, in whole seconds, rounded up: `userInteractionTimeout`.
    public var userInteractionTimeoutInSeconds: Int {
        get { Int(self.userInteractionTimeout.secondsRoundedUp) }
        set { self.userInteractionTimeout = .seconds(newValue) }
    }
}

extension RetryPolicy {
    /// A number of retries with the same delay, in seconds, before each: `constant(maxRetries:delay:)`.
    public static func constant(maxRetries: Int, delayInSeconds: Int) -> Self {
        .constant(maxRetries: maxRetries, delay: .seconds(delayInSeconds))
    }

    /// A number of retries with growing delays, in seconds:
    /// `exponential(maxRetries:initialDelay:multiplier:maximumDelay:)`.
    public static func exponential(
        maxRetries: Int, initialDelayInSeconds: Int, multiplier: Double, maximumDelayInSeconds: Int
    ) -> Self {
        .exponential(
            maxRetries: maxRetries, initialDelay: .seconds(initialDelayInSeconds), multiplier: multiplier,
            maximumDelay: .seconds(maximumDelayInSeconds))
    }
}

extension OperationBuilder where Operation: InAppOperation {
    /// The server of the operation: `serverURL(_:)`.
    public func serverUrl(_ url: URL) -> Self { self.serverURL(url) }
}

extension OutOfBandPayload.RedeemData {
    /// The address that redeems the token: `redeemURL`.
    public var redeemUrl: URL { self.redeemURL }
}

extension OperationBuilder where Operation == OutOfBandPayloadDecode {
    /// The payload's text: `base64URLEncoded(_:)`.
    public func base64UrlEncoded(_ text: String) -> Self { self.base64URLEncoded(text) }
}

extension RegisteredAccount.Server {
    /// Creates a server with the address: `init(baseURL:)`.
    public init(baseUrl: URL) { self.init(baseURL: baseUrl) }

    /// Scheme, host and port: `baseURL`.
    public var baseUrl: URL { self.baseURL }
}

extension DeviceInformation {
    /// A random identifier of this device, for the app alone: `deviceID`.
    public var deviceId: String? { self.deviceID }
}

extension MetaData {
    /// The operating system's name for this app: `applicationFacetID`.
    public static var applicationFacetId: String { Self.applicationFacetID }
}

extension FidoErrorCode {
    /// The server does not accept answers from this app: `untrustedFacetID`.
    public static var untrustedFacetId: Self { .untrustedFacetID }
}
