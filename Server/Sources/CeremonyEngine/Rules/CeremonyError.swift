public import Store
public import UAF

/// Why the engine refuses. Two are equal when their codes are. A store that cannot write throws `StoreError` instead.
public struct CeremonyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name in kebab case, as it stands in problem documents.
        public let name: String
        /// No such token was ever given out, or its record is gone.
        public static let tokenUnknown = Self(name: "token-unknown")
        /// The token, or another one of the same ceremony, has been redeemed.
        public static let tokenAlreadyRedeemed = Self(name: "token-already-redeemed")
        /// The token's time is over, or the page has a newer one.
        public static let tokenExpired = Self(name: "token-expired")
        /// There is no such account, device, activation or sign-in.
        public static let notFound = Self(name: "not-found")
        /// The name is taken.
        public static let conflict = Self(name: "conflict")
        /// The browser is not the one that started the sign-in.
        public static let wrongBrowser = Self(name: "wrong-browser")
        /// What the request holds is not acceptable: a name, a text, a member that its caller may not send.
        public static let invalidRequest = Self(name: "invalid-request")
        /// A PIN that somebody has chosen is one of those that are guessed first.
        public static let pinTooSimple = Self(name: "pin-too-simple")
        /// What is to be confirmed as a picture is not one that is taken, or not what is said of it.
        public static let invalidPicture = Self(name: "invalid-picture")
        /// No authenticator of the person shows the picture that is to be confirmed.
        public static let pictureNotShown = Self(name: "picture-not-shown")
        /// The source has used its budget up.
        public static let tooManyRequests = Self(name: "too-many-requests")
        /// The number that should confirm an enrolment is wrong; the enrolment has ended.
        public static let wrongNumber = Self(name: "wrong-number")
        /// The ceremony is not in a state in which this can be done.
        public static let wrongState = Self(name: "wrong-state")
        /// The caller may not do this.
        public static let forbidden = Self(name: "forbidden")
        /// The account is locked.
        public static let locked = Self(name: "locked")
        public var description: String { self.name }
    }

    /// What went wrong.
    public let code: Code
    /// For the log: never a secret or a value that was sent.
    public let reason: String
    /// For ``Code/tooManyRequests``: what has run out.
    public let shortage: Shortage?
    /// For ``Code/pictureNotShown``: the pictures that the person's authenticators show.
    public let displays: [DisplayPNGCharacteristics]

    /// For ``Code/wrongBrowser`` where a continuation was shown: the relying party that the sign-in was to. Whoever has the
    /// continuation has approved that sign-in, or was told of it by somebody who has.
    public let service: String?
    /// For ``Code/wrongBrowser`` where a continuation was shown: the browser in which the sign-in began, in words, as the phone
    /// has shown them.
    public let browser: String?

    /// For ``Code/tooManyRequests``: after how many seconds a request can succeed.
    public var retryAfterSeconds: Int? { self.shortage?.retryAfterSeconds }

    /// Makes an error. `reason` must hold no secret and no value that was sent.
    public init(
        _ code: Code, _ reason: String = "", displays: [DisplayPNGCharacteristics] = [], service: String? = nil,
        browser: String? = nil
    ) {
        self.displays = displays
        self.service = service
        self.browser = browser
        self.code = code
        self.reason = reason
        self.shortage = nil
    }

    /// The refusal of whoever has run out of a budget.
    init(_ shortage: Shortage) {
        self.displays = []
        self.service = nil
        self.browser = nil
        self.code = .tooManyRequests
        self.reason = "\(shortage.setting) is used up"
        self.shortage = shortage
    }

    /// Refuses whoever has run out of a budget; does nothing for `nil`.
    static func throwShortage(_ shortage: Shortage?) throws(CeremonyError) {
        if let shortage { throw CeremonyError(shortage) }
    }

    public var description: String {
        self.reason.isEmpty ? "CeremonyError.\(self.code)" : "CeremonyError.\(self.code): \(self.reason)"
    }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}
