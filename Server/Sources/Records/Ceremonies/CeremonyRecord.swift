public import UAF
public import _Primitives

/// A single run between a person's device and the server, from creation to end.
public struct CeremonyRecord: Sendable, Equatable {
    /// The purpose of a run.
    public enum Kind: Int, Sendable, CaseIterable {
        /// A new device registration.
        case registration = 1
        /// The proof of a person's identity.
        case authentication = 2
        /// The agreement to a text.
        case transaction = 3
        /// The deletion, on a device, of keys that the server deletes as well.
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
        /// The phone has answered, and another party must act: the operator who confirms, or the browser that
        /// continues. Next: `ended`.
        case answering = 3
        /// Nothing more happens.
        case ended = 4
    }

    /// The way a ceremony ended.
    public enum Outcome: Int, Sendable, CaseIterable {
        case succeeded = 1
        /// The person said no.
        case denied = 2
        case failed = 3
        case expired = 4
        /// The starting party gave the ceremony up, or started another in its place.
        case cancelled = 5
    }

    /// The target of a dispatch to a single device.
    public struct Target: Sendable, Equatable {
        /// The device.
        public var deviceID: String
        /// The name of the dispatcher.
        public var dispatcher: String

        /// Names a device and a dispatcher.
        public init(deviceID: String, dispatcher: String) {
            self.deviceID = deviceID
            self.dispatcher = dispatcher
        }
    }

    /// The content of a denial that the person's device has signed.
    public enum Denial: Int, Sendable, CaseIterable {
        /// The person does not want the request to be carried out.
        case unwanted = 1
        /// The shown content was not the content that the person expected.
        case wrongContent = 2
        /// The person says that another party began the request.
        case notMe = 3
    }

    /// Random, 16 bytes as base64url: the session identifier of back ends.
    public var id: String
    /// The purpose of the ceremony.
    public var kind: Kind
    /// The phase of the ceremony.
    public var phase: Phase
    /// The way the ceremony ended; set when the phase is `ended`.
    public var outcome: Outcome?
    /// The requester of a request without a code, by which rests and budgets count: the relying party whose back end
    /// started the ceremony, or the client and the network of a browser that named the person
    /// (``isAskedByName``). `nil` for every other ceremony that a browser, an operator or an app started.
    public var clientID: String?
    /// The identifier by which another part finds the ceremony: of a browser's authorization request, of a client's
    /// request without a browser, or of a change of an account. A single ceremony at a time has the reference.
    public var reference: String?
    /// SHA-256 of the starting browser's cookie.
    public var browserDigest: [UInt8]?
    /// The person: set from the start if the person is known, otherwise from the phone's answer.
    public var accountID: String?
    /// The way the redeemed token had travelled.
    public var channel: DispatchChannel?
    /// The moment when the ceremony was created.
    public var createdAt: Timestamp
    /// The moment when the present phase is over.
    public var expiresAt: Timestamp
    /// The moment when the phase last changed.
    public var changedAt: Timestamp
    /// SHA-256 of the one-time continuation for the starting browser.
    public var continuationDigest: [UInt8]?
    /// HMAC of the number that confirms an enrolment.
    public var confirmationCode: [UInt8]?
    /// The pending device of an enrolment, or the device that answered.
    public var deviceID: String?
    /// UAF status code of the answer.
    public var uafStatusCode: Int?
    /// UAF client error code from the phone.
    public var clientErrorCode: Int?
    /// ASM status code from the phone.
    public var asmStatusCode: Int?
    /// HMAC of the answer that was judged, by which the same answer is recognised when the phone sends it again; `nil`
    /// before an answer (decision 129).
    public var answerCode: [UInt8]?
    /// `true` if the answer was refused because of the number that the person had typed.
    public var isNumberWrong: Bool
    /// The person's signed denial; `nil` for every other end, also if the phone only said that no answer will come.
    public var denial: Denial?
    /// The models that answered, their AAIDs.
    public var authenticators: [String]
    /// The methods of the person's authentication, as they were at the verification; words without spaces.
    public var methods: [String]
    /// The assurance that was reached; empty before.
    public var assurance: String
    /// SHA-256 of the content that the person agreed to.
    public var contentHash: [UInt8]?
    /// `true` if the sign-in that wanted the outcome has taken the outcome up.
    public var isConsumed: Bool
    /// `true` if the continuation was opened in another browser than the starting browser.
    public var isOpenedElsewhere: Bool
    /// The progress of a ceremony whose kind has steps of its own, as a document of this kind. Sealed at rest.
    public var progress: [UInt8]?
    /// The device that the ceremony was dispatched to, and its dispatcher; `nil` for a ceremony for any device. Never
    /// changed after the creation.
    public var target: Target?
    /// The details for the phone's screen. Sealed at rest and never changed.
    public let detail: CeremonyDetail

    /// Makes a ceremony at its creation.
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
        self.isNumberWrong = false
        self.detail = detail
    }
}

extension CeremonyRecord {
    /// `true` for a sign-in at a browser in which the person's devices ask: the page shows a number in place of codes
    /// (decision 126).
    public var isAskedByName: Bool { self.browserDigest != nil && self.detail.number != nil }
}

/// The details shown on a phone before a person answers: the asking party, the place, and the request.
public struct CeremonyDetail: Sendable, Equatable {
    /// The relying party's name.
    public var service: String?
    /// The relying party's web origin.
    public var origin: String?
    /// The network address of the browser.
    public var address: String?
    /// The browser and its system, in words.
    public var browser: String?
    /// An identifier of the browser, the same for the same browser at this server.
    public var browserID: String?
    /// Media type of ``content``.
    public var contentType: String?
    /// The content to agree to.
    public var content: [UInt8]?
    /// The keys to delete, in the back end's words: a JSON object.
    public var deregistration: String?
    /// The name of the policy for the answer; `nil` for the default policy.
    public var policy: String?
    /// The identifier of the relying party of a browser's sign-in. No phone shows the identifier.
    public var client: String?
    /// The change of the account that ``content`` asks for, as a JSON object of the engine's. No phone shows the
    /// object.
    public var change: String?
    /// The number that the person has to type on the phone; `nil` for a request without a number. The back end shows the
    /// number, and no phone does.
    public var number: String?
    /// The text that the requester's page and the phone show, for a comparison by the person; `nil` for none.
    public var channelLinking: String?
    /// The name of the signing key of the device that approves the enrolment; `nil` for every other enrolment. No phone
    /// shows the name.
    public var approver: String?
    /// The identifier of the enrolment that the person approves by ``content``; `nil` for every other request. No phone
    /// shows the identifier.
    public var approval: String?

    /// Describes the details for a phone.
    public init(
        service: String? = nil, origin: String? = nil, address: String? = nil, browser: String? = nil,
        browserID: String? = nil, contentType: String? = nil, content: [UInt8]? = nil, deregistration: String? = nil,
        policy: String? = nil, client: String? = nil, change: String? = nil, number: String? = nil,
        channelLinking: String? = nil, approver: String? = nil, approval: String? = nil
    ) {
        self.approver = approver
        self.approval = approval
        self.number = number
        self.channelLinking = channelLinking
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

/// A token to be redeemed by a phone, by the digest of its secret.
public struct DispatchTokenRecord: Sendable, Equatable {
    /// SHA-256 of a token of 128 bits and more, HMAC of a typed code.
    public var digest: [UInt8]
    /// The way the token travels.
    public var channel: DispatchChannel
    /// The moment when the token expires.
    public var expiresAt: Timestamp

    /// Describes a token.
    public init(digest: [UInt8], channel: DispatchChannel, expiresAt: Timestamp) {
        self.digest = digest
        self.channel = channel
        self.expiresAt = expiresAt
    }
}
