public import Settings
public import UAF
public import _Primitives

/// A refusal of the engine. Two errors are equal if their codes are equal. A store that cannot read or write throws
/// `StoreError` instead.
public struct CeremonyError: CodedError {
    /// The reason of the refusal, for code that must choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name in kebab case, as in problem documents.
        public let name: String
        /// The token was never given out, its record is gone, or it is for another operation.
        public static let tokenUnknown = Self(name: "token-unknown")
        /// The token, or another one of the same ceremony, has been redeemed.
        public static let tokenAlreadyRedeemed = Self(name: "token-already-redeemed")
        /// The token was dispatched to a device, and the caller has not proved to be this device.
        public static let notProven = Self(name: "not-proven")
        /// The token's time is over, or the page has a newer token.
        public static let tokenExpired = Self(name: "token-expired")
        /// The account, device, activation or sign-in does not exist.
        public static let notFound = Self(name: "not-found")
        /// An existing object prevents the action: an invitation has an activation, or the number of codes or keys has
        /// reached its limit.
        public static let conflict = Self(name: "conflict")
        /// The browser is not the one that started the sign-in.
        public static let wrongBrowser = Self(name: "wrong-browser")
        /// The content of the request is not acceptable: a name, a text, or a member that the caller may not send.
        public static let invalidRequest = Self(name: "invalid-request")
        /// The chosen PIN is among the PINs that attackers guess first.
        public static let pinTooSimple = Self(name: "pin-too-simple")
        /// The picture for the confirmation is not accepted, or differs from its description.
        public static let invalidPicture = Self(name: "invalid-picture")
        /// No authenticator of the person can show the picture for the confirmation.
        public static let pictureNotShown = Self(name: "picture-not-shown")
        /// The network or the client has used up its budget.
        public static let tooManyRequests = Self(name: "too-many-requests")
        /// The number for the confirmation of an enrolment is wrong. The enrolment has ended.
        public static let wrongNumber = Self(name: "wrong-number")
        /// The state of the ceremony does not allow the action.
        public static let wrongState = Self(name: "wrong-state")
        /// The caller may not perform the action.
        public static let forbidden = Self(name: "forbidden")
        /// The account is locked.
        public static let locked = Self(name: "locked")
        /// Another device approved the device a short time ago: until ``CeremonyError/limitedUntil`` the device approves,
        /// removes and recovers nothing.
        public static let deviceLimited = Self(name: "device-limited")
        /// Another phone of the person has the name of a dispatch target.
        public static let nameTaken = Self(name: "name-taken")
        /// No dispatcher to devices has the name, or a push address came without a dispatcher.
        public static let dispatcherUnknown = Self(name: "dispatcher-unknown")
        /// The keys of a dispatch target are not the two that the device's authenticator told.
        public static let keysDiffer = Self(name: "keys-differ")
        /// A name that is no single line to show, or a push address that is empty or too long.
        public static let targetInvalid = Self(name: "target-invalid")
        public var description: String { self.name }
    }

    /// The reason of the refusal.
    public let code: Code
    /// A text for the log, without secrets and without values from the caller.
    public let reason: String
    /// The exhausted budget, for ``Code/tooManyRequests``.
    public let shortage: Shortage?
    /// The pictures that the person's authenticators can show, for ``Code/pictureNotShown``.
    public let displays: [DisplayPNGCharacteristics]

    /// The relying party of the sign-in, for ``Code/wrongBrowser`` with a shown continuation. The visitor with the
    /// continuation has approved the sign-in, or has the continuation from the person who approved.
    public let service: String?
    /// The browser in which the sign-in began, in words as on the phone, for ``Code/wrongBrowser`` with a shown
    /// continuation.
    public let browser: String?

    /// The moment from which the device may do what it asked for, for ``Code/deviceLimited``.
    public let limitedUntil: Timestamp?

    /// The number of seconds after which a request can succeed, for ``Code/tooManyRequests``.
    public var retryAfterSeconds: Int? { self.shortage?.retryAfterSeconds }

    /// Creates an error. `reason` must contain no secret and no value from the caller.
    public init(
        _ code: Code, _ reason: String = "", displays: [DisplayPNGCharacteristics] = [], service: String? = nil,
        browser: String? = nil, limitedUntil: Timestamp? = nil
    ) {
        self.limitedUntil = limitedUntil
        self.displays = displays
        self.service = service
        self.browser = browser
        self.code = code
        self.reason = reason
        self.shortage = nil
    }

    /// Creates the refusal for an exhausted budget.
    init(_ shortage: Shortage) {
        self.displays = []
        self.limitedUntil = nil
        self.service = nil
        self.browser = nil
        self.code = .tooManyRequests
        self.reason = "\(shortage.setting) is used up"
        self.shortage = shortage
    }

    /// Throws the refusal for an exhausted budget; does nothing for `nil`.
    static func throwShortage(_ shortage: Shortage?) throws(CeremonyError) {
        if let shortage { throw CeremonyError(shortage) }
    }
}
