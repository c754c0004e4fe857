public import _Primitives

/// A person's identity at another provider. Only issuer and subject identify the person: an e-mail address never does.
public struct UpstreamIdentity: Sendable, Equatable {
    /// The provider, by its name here.
    public let provider: String
    /// The provider, by its own identifier.
    public let issuer: String
    /// The person, by the provider's own identifier. Sealed at rest.
    public let subject: String

    /// Makes an identity of these values.
    public init(provider: String, issuer: String, subject: String) {
        self.provider = provider
        self.issuer = issuer
        self.subject = subject
    }
}

/// The connection between a person of another provider and an account here.
public struct UpstreamLink: Sendable, Equatable {
    /// Random, 16 bytes as base64url. The identifier opens nothing.
    public let id: String
    /// The person's identity at the provider.
    public let identity: UpstreamIdentity
    /// The person's account here.
    public let accountID: String
    /// The moment when the connection was made.
    public let createdAt: Timestamp

    /// Makes a link of these values.
    public init(id: String, identity: UpstreamIdentity, accountID: String, createdAt: Timestamp) {
        self.id = id
        self.identity = identity
        self.accountID = accountID
        self.createdAt = createdAt
    }
}

/// A browser's trip to another provider and back, for one authorization request.
public struct UpstreamTrip: Sendable, Equatable {
    /// The authorization request, which the browser started.
    public let request: String
    /// The provider, by its name.
    public let provider: String
    /// SHA-256 of the `state`, which has 256 random bits.
    public let stateDigest: [UInt8]
    /// The secret behind the code's challenge (PKCE). Sealed at rest.
    public let verifier: SecretBytes
    /// The nonce that the ID token must repeat. Sealed at rest.
    public let nonce: SecretBytes
    /// `true` if the person has made a trip for this request before, and was not authenticated surely enough.
    public let isSecond: Bool
    /// The moment when the trip began.
    public let begunAt: Timestamp
    /// The moment from which the browser comes too late.
    public let expiresAt: Timestamp

    /// Makes a trip of these values.
    public init(
        request: String, provider: String, stateDigest: [UInt8], verifier: SecretBytes, nonce: SecretBytes,
        isSecond: Bool, begunAt: Timestamp, expiresAt: Timestamp
    ) {
        self.request = request
        self.provider = provider
        self.stateDigest = stateDigest
        self.verifier = verifier
        self.nonce = nonce
        self.isSecond = isSecond
        self.begunAt = begunAt
        self.expiresAt = expiresAt
    }
}

/// The result of a trip: a person whom the other provider has authenticated.
public struct UpstreamArrival: Sendable, Equatable {
    /// The authorization request.
    public var request: String
    /// The person's identity at the provider.
    public var identity: UpstreamIdentity
    /// The moment when the other provider authenticated the person.
    public var at: Timestamp
    /// The level of the authentication here (`acr`).
    public var acr: String
    /// The provider's own statement of its methods, in words of RFC 8176.
    public var amr: [String]
    /// The browser and its system in words. Sealed at rest.
    public var browser: String?
    /// The browser's network address. Sealed at rest.
    public var address: String?

    /// Makes an arrival of these values.
    public init(
        request: String, identity: UpstreamIdentity, at: Timestamp, acr: String, amr: [String],
        browser: String? = nil, address: String? = nil
    ) {
        self.request = request
        self.identity = identity
        self.at = at
        self.acr = acr
        self.amr = amr
        self.browser = browser
        self.address = address
    }
}

extension UpstreamArrival {
    /// Returns the sign-in that the arrival finishes.
    ///
    /// - Parameters:
    ///   - account: The account that the identity is connected with.
    ///   - moment: The moment when the browser was back.
    package func finished(by account: String, at moment: Timestamp) -> FinishedSignInRecord {
        FinishedSignInRecord(
            request: self.request, method: UpstreamProvider.method(of: self.identity.provider), account: account,
            at: self.at, acr: self.acr, amr: self.amr, browser: self.browser, address: self.address,
            finishedAt: moment)
    }
}
