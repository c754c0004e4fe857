public import _Primitives

/// Which authenticators may take part (Policy, §2.2).
public struct Policy: Hashable, Sendable {
    /// `accepted`: alternatives in the order of preference; within one, all criteria by different authenticators.
    public var accepted: [[MatchCriteria]]
    /// `disallowed`: an authenticator that matches one of these never takes part.
    public var disallowed: [MatchCriteria]

    /// Makes a policy. `accepted` and its lists must not be empty, which is checked where a message is read.
    public init(accepted: [[MatchCriteria]], disallowed: [MatchCriteria] = []) {
        self.accepted = accepted
        self.disallowed = disallowed
    }

    init(_ members: MemberReader) throws(UAFError) {
        guard let alternatives = try members.values("accepted") else {
            throw UAFError(.missingMember, "\(members.place).accepted")
        }
        var accepted: [[MatchCriteria]] = []
        for alternative in alternatives {
            // Read as a member, so that the same rules hold for the inner list.
            let inner = MemberReader(["accepted": alternative], members.place)
            accepted.append(
                try inner.requiredList("accepted") { (element) throws(UAFError) in try MatchCriteria(element) })
        }
        self.accepted = accepted
        self.disallowed =
            try members.list("disallowed") { (element) throws(UAFError) in try MatchCriteria(element) } ?? []
    }

    /// Reads a policy that stands alone, as in a server's configuration or record.
    public init(json object: JSONObject) throws(UAFError) { try self.init(MemberReader(object, "policy")) }

    /// The dictionary.
    public var json: JSONObject {
        var object: JSONObject = ["accepted": .array(self.accepted.map { .array($0.map { .object($0.json) }) })]
        if !self.disallowed.isEmpty { object["disallowed"] = .array(self.disallowed.map { .object($0.json) }) }
        return object
    }
}

/// What an authenticator must be like (MatchCriteria, §2.2). Every member that is there must match.
///
/// A reader takes any combination, as the examples of the standard need it; ``checkCombination()`` is for whatever writes.
public struct MatchCriteria: Hashable, Sendable {
    /// `aaid`: one of these models.
    public var aaid: [AAID]?
    /// `vendorID`: the first four letters of the AAID are one of these, in either case.
    public var vendorID: [String]?
    /// `keyIDs`: the authenticator holds one of these keys.
    public var keyIDs: [KeyID]?
    /// `userVerification`
    public var userVerification: UserVerification?
    /// `keyProtection`
    public var keyProtection: KeyProtection?
    /// `matcherProtection`
    public var matcherProtection: MatcherProtection?
    /// `attachmentHint`
    public var attachmentHint: AttachmentHint?
    /// `tcDisplay`
    public var tcDisplay: TransactionConfirmationDisplay?
    /// `authenticationAlgorithms`
    public var authenticationAlgorithms: [SignatureAlgorithm]?
    /// `assertionSchemes`
    public var assertionSchemes: [AssertionScheme]?
    /// `attestationTypes`: most preferred first.
    public var attestationTypes: [AttestationType]?
    /// `authenticatorVersion`: the lowest version that is accepted.
    public var authenticatorVersion: UInt16?
    /// `exts`
    public var extensions: [Extension]

    /// Criteria that match everything; set the members that matter.
    public init() { self.extensions = [] }

    /// The authenticator of one of these models, with one of these keys where any are given.
    public init(aaid: [AAID], keyIDs: [KeyID]? = nil) {
        self.extensions = []
        self.aaid = aaid
        self.keyIDs = keyIDs
    }

    init(_ members: MemberReader) throws(UAFError) {
        self.aaid = try members.strings("aaid") { (text) throws(UAFError) in try AAID(text) }
        self.vendorID = try members.strings("vendorID") { (text) throws(UAFError) in text }
        self.keyIDs = try members.strings("keyIDs") { (text) throws(UAFError) in try KeyID(base64URL: text) }
        self.userVerification = try members.integer("userVerification").map(UserVerification.init(rawValue:))
        self.keyProtection = try members.integer("keyProtection").map(KeyProtection.init(rawValue:))
        self.matcherProtection = try members.integer("matcherProtection").map(MatcherProtection.init(rawValue:))
        self.attachmentHint = try members.integer("attachmentHint").map(AttachmentHint.init(rawValue:))
        self.tcDisplay = try members.integer("tcDisplay").map(TransactionConfirmationDisplay.init(rawValue:))
        self.authenticationAlgorithms = try members.numbers(
            "authenticationAlgorithms", SignatureAlgorithm.init(rawValue:))
        self.assertionSchemes = try members.strings("assertionSchemes") { (text) throws(UAFError) in
            AssertionScheme(rawValue: text)
        }
        self.attestationTypes = try members.numbers("attestationTypes", AttestationType.init(rawValue:))
        self.authenticatorVersion = try members.integer("authenticatorVersion")
        self.extensions = try Extension.list(members)
    }

    /// The dictionary.
    public var json: JSONObject {
        var object = JSONObject()
        object["aaid"] = self.aaid.map { .strings($0.map(\.text)) }
        object["vendorID"] = self.vendorID.map { .strings($0) }
        object["keyIDs"] = self.keyIDs.map { .strings($0.map(\.base64URL)) }
        object["userVerification"] = self.userVerification.map { .whole($0.rawValue) }
        object["keyProtection"] = self.keyProtection.map { .whole($0.rawValue) }
        object["matcherProtection"] = self.matcherProtection.map { .whole($0.rawValue) }
        object["attachmentHint"] = self.attachmentHint.map { .whole($0.rawValue) }
        object["tcDisplay"] = self.tcDisplay.map { .whole($0.rawValue) }
        object["authenticationAlgorithms"] = self.authenticationAlgorithms.map {
            .array($0.map { .whole($0.rawValue) })
        }
        object["assertionSchemes"] = self.assertionSchemes.map { .strings($0.map(\.rawValue)) }
        object["attestationTypes"] = self.attestationTypes.map { .array($0.map { .whole($0.rawValue) }) }
        object["authenticatorVersion"] = self.authenticatorVersion.map { .whole($0) }
        object["exts"] = Extension.json(self.extensions)
        return object
    }

    /// The rule for whatever writes criteria (§2.2): beside `aaid` only `keyIDs`, `attachmentHint`, `authenticatorVersion` and
    /// `exts`; without it, `authenticationAlgorithms` and `assertionSchemes` must be there.
    ///
    /// Throws ``UAFError/Code/criteriaCombination``.
    public func checkCombination() throws(UAFError) {
        if self.aaid != nil {
            guard self.vendorID == nil, self.userVerification == nil, self.keyProtection == nil,
                self.matcherProtection == nil, self.tcDisplay == nil, self.authenticationAlgorithms == nil,
                self.assertionSchemes == nil, self.attestationTypes == nil
            else {
                throw UAFError(.criteriaCombination, "a member that must not stand beside aaid")
            }
        } else if self.authenticationAlgorithms == nil || self.assertionSchemes == nil {
            throw UAFError(.criteriaCombination, "neither aaid nor algorithms and schemes")
        }
    }
}
