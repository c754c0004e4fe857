public import _Primitives

/// One run between a person's device and the server, from its creation to its end.
public struct CeremonyRecord: Sendable, Equatable {
    /// What the run is for.
    public enum Kind: Int, Sendable, CaseIterable {
        /// A new device registration.
        case registration = 1
        /// Saying who somebody is.
        case authentication = 2
        /// Agreeing to a text.
        case transaction = 3
        /// Having a device delete keys that the server deletes.
        case deregistration = 4
        /// A session of a personalised identity, whose steps are a document of its own (``CeremonyRecord/progress``).
        case identity = 5
    }

    /// The outer life cycle, the same for every kind.
    public enum Phase: Int, Sendable, CaseIterable {
        /// A token can be redeemed. Next: `claimed`, `ended`.
        case created = 1
        /// A phone has the request. Next: `answering`, `ended`.
        case claimed = 2
        /// The phone has answered; somebody else must act: the operator who confirms, the browser that continues.
        /// Next: `ended`.
        case answering = 3
        /// Nothing more happens.
        case ended = 4
    }

    /// How it ended.
    public enum Outcome: Int, Sendable, CaseIterable {
        case succeeded = 1
        /// The person said no.
        case denied = 2
        case failed = 3
        case expired = 4
        /// Whoever started it gave it up, or started another in its place.
        case cancelled = 5
    }

    /// How a token travels to the phone.
    public enum Channel: Int, Sendable, CaseIterable {
        /// A QR code that holds a link, which a phone's own camera opens.
        case linkQRCode = 1
        case link = 2
        case typed = 3
        /// A QR code that holds the payload alone, which only the app reads.
        case qrCode = 4

        /// Whether a link carries the token: anybody can send it on to somebody else.
        public var isLink: Bool { self == .link || self == .linkQRCode }
    }

    /// Random, 16 bytes as base64url: the session identifier of back ends.
    public var id: String
    /// What it is for.
    public var kind: Kind
    /// How far it is.
    public var phase: Phase
    /// There when the phase is `ended`.
    public var outcome: Outcome?
    /// The relying party that started it through its back end.
    public var clientID: String?
    /// What a browser signs in to: the identifier of the authorization request. One ceremony at a time has it.
    public var reference: String?
    /// SHA-256 of the starting browser's cookie.
    public var browserDigest: [UInt8]?
    /// The person: from the start where it is known, else from the phone's answer.
    public var accountID: String?
    /// How the token that was redeemed had travelled.
    public var channel: Channel?
    /// When it was created.
    public var createdAt: Timestamp
    /// When the present phase is over.
    public var expiresAt: Timestamp
    /// When the phase changed last.
    public var changedAt: Timestamp
    /// SHA-256 of the one-time continuation for the starting browser.
    public var continuationDigest: [UInt8]?
    /// HMAC of the number that confirms an enrolment.
    public var confirmationCode: [UInt8]?
    /// The pending device of an enrolment; the device that answered.
    public var deviceID: String?
    /// UAF status code of the answer.
    public var uafStatusCode: Int?
    /// UAF client error code that the phone reported.
    public var clientErrorCode: Int?
    /// ASM status code that the phone reported.
    public var asmStatusCode: Int?
    /// The models that answered, their AAIDs.
    public var authenticators: [String]
    /// The methods by which a person authenticated, as they were when it was verified; words without spaces.
    public var methods: [String]
    /// The assurance that was reached; empty before.
    public var assurance: String
    /// SHA-256 of the content that the person agreed to.
    public var contentHash: [UInt8]?
    /// Whether the outcome has been taken up by the sign-in that wanted it.
    public var isConsumed: Bool
    /// Whether its continuation has been opened in a browser that did not start it.
    public var isOpenedElsewhere: Bool
    /// How far a ceremony of a kind with steps of its own is: that kind's document. Sealed at rest.
    public var progress: [UInt8]?
    /// What the phone shows. Sealed at rest and never changed.
    public let detail: CeremonyDetail

    /// A ceremony at its creation.
    public init(
        id: String, kind: Kind, clientID: String? = nil, reference: String? = nil, browserDigest: [UInt8]? = nil,
        accountID: String? = nil, createdAt: Timestamp, expiresAt: Timestamp, detail: CeremonyDetail
    ) {
        self.id = id
        self.kind = kind
        self.phase = .created
        self.clientID = clientID
        self.reference = reference
        self.browserDigest = browserDigest
        self.accountID = accountID
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.changedAt = createdAt
        self.authenticators = []
        self.methods = []
        self.assurance = ""
        self.isConsumed = false
        self.isOpenedElsewhere = false
        self.detail = detail
    }
}

/// Who asks, from where, and for what: what a phone shows before a person answers.
public struct CeremonyDetail: Sendable, Equatable {
    /// The relying party's name.
    public var service: String?
    /// The relying party's web origin.
    public var origin: String?
    /// The network address of the browser.
    public var address: String?
    /// The browser and its system, in words.
    public var browser: String?
    /// The same for the same browser at this server.
    public var browserID: String?
    /// Media type of ``content``.
    public var contentType: String?
    /// The content to agree to.
    public var content: [UInt8]?
    /// Which keys are to go, as the back end said it: a JSON object.
    public var deregistration: String?
    /// The policy that the answer must meet, by its name; `nil` for the default one.
    public var policy: String?
    /// The relying party that a browser signs in to, by its identifier: no phone shows it.
    public var client: String?
    /// The change of the account that ``content`` asks for, as a JSON object of the engine's: no phone shows it.
    public var change: String?

    /// Describes what a phone shows.
    public init(
        service: String? = nil, origin: String? = nil, address: String? = nil, browser: String? = nil,
        browserID: String? = nil, contentType: String? = nil, content: [UInt8]? = nil, deregistration: String? = nil,
        policy: String? = nil, client: String? = nil, change: String? = nil
    ) {
        self.change = change
        self.service = service
        self.origin = origin
        self.address = address
        self.browser = browser
        self.browserID = browserID
        self.contentType = contentType
        self.content = content
        self.deregistration = deregistration
        self.policy = policy
        self.client = client
    }
}

/// A token that a phone redeems, by the digest of its secret.
public struct DispatchTokenRecord: Sendable, Equatable {
    /// SHA-256 of a token of 128 bits and more, HMAC of a typed code.
    public var digest: [UInt8]
    /// How it travels.
    public var channel: CeremonyRecord.Channel
    /// Until when it can be redeemed.
    public var expiresAt: Timestamp

    /// Describes a token.
    public init(digest: [UInt8], channel: CeremonyRecord.Channel, expiresAt: Timestamp) {
        self.digest = digest
        self.channel = channel
        self.expiresAt = expiresAt
    }
}
