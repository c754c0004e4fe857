public import _Primitives

/// Who somebody is at another provider. Issuer and subject alone say it: an e-mail address never does.
public struct UpstreamIdentity: Sendable, Equatable {
    /// The provider, by its name here.
    public let provider: String
    /// The provider, by its own identifier.
    public let issuer: String
    /// The person, by the provider's own identifier. Sealed at rest.
    public let subject: String

    /// An identity of these values.
    public init(provider: String, issuer: String, subject: String) {
        self.provider = provider
        self.issuer = issuer
        self.subject = subject
    }
}

/// That a person of another provider is the person of an account here.
public struct UpstreamLink: Sendable, Equatable {
    /// 128 random bits as base64url. It opens nothing.
    public let id: String
    /// Who it is there.
    public let identity: UpstreamIdentity
    /// Who it is here.
    public let accountID: String
    /// Since when.
    public let createdAt: Timestamp

    /// A link of these values.
    public init(id: String, identity: UpstreamIdentity, accountID: String, createdAt: Timestamp) {
        self.id = id
        self.identity = identity
        self.accountID = accountID
        self.createdAt = createdAt
    }
}

/// A browser's way to another provider and back, for one authorization request.
public struct UpstreamTrip: Sendable, Equatable {
    /// The authorization request, which the browser started.
    public let request: String
    /// The provider, by its name.
    public let provider: String
    /// SHA-256 of the `state`, which has 256 random bits.
    public let stateDigest: [UInt8]
    /// The secret behind the code's challenge (PKCE). Sealed at rest.
    public let verifier: SecretBytes
    /// What the ID token must repeat. Sealed at rest.
    public let nonce: SecretBytes
    /// Whether the person has been there once for this request, and not surely enough.
    public let isSecond: Bool
    /// When it began.
    public let begunAt: Timestamp
    /// From then on the browser comes too late.
    public let expiresAt: Timestamp

    /// A trip of these values.
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

/// What a trip has come to: somebody whom the other provider has authenticated.
public struct UpstreamArrival: Sendable, Equatable {
    /// The authorization request.
    public var request: String
    /// Who it is there.
    public var identity: UpstreamIdentity
    /// When the other provider authenticated the person.
    public var at: Timestamp
    /// What that is worth here (`acr`).
    public var acr: String
    /// How it says that it did it, in words of RFC 8176.
    public var amr: [String]
    /// The browser and its system in words. Sealed at rest.
    public var browser: String?
    /// The browser's network address. Sealed at rest.
    public var address: String?

    /// An arrival of these values.
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

/// A sign-in by another provider that lacks nothing any more.
public struct UpstreamSignIn: Sendable, Equatable {
    /// What the trip has come to.
    public let arrival: UpstreamArrival
    /// Who it is here.
    public let accountID: String
    /// When the browser was back.
    public let finishedAt: Timestamp

    /// A sign-in of these values.
    public init(arrival: UpstreamArrival, accountID: String, finishedAt: Timestamp) {
        self.arrival = arrival
        self.accountID = accountID
        self.finishedAt = finishedAt
    }
}
