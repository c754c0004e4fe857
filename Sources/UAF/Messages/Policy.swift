public import _Primitives

/// The authenticators that may take part (Policy, §2.2).
public struct Policy: Hashable, Sendable {
    /// `accepted`: alternatives in the order of preference. Different authenticators have to meet the criteria of an
    /// alternative.
    public var accepted: [[MatchCriteria]]
    /// `disallowed`: an authenticator that matches one of these criteria never takes part.
    public var disallowed: [MatchCriteria]

    /// Creates a policy. `accepted` and its lists must not be empty; the reader of a message checks this.
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
            // The inner list is read like a member, so the same rules apply.
            let inner = MemberReader(["accepted": alternative], members.place)
            accepted.append(
                try inner.requiredList("accepted") { (element) throws(UAFError) in try MatchCriteria(element) })
        }
        self.accepted = accepted
        self.disallowed =
            try members.list("disallowed") { (element) throws(UAFError) in try MatchCriteria(element) } ?? []
    }

    /// Reads a policy on its own, as in a server's configuration or record.
    public init(json object: JSONObject) throws(UAFError) { try self.init(MemberReader(object, "policy")) }

    /// The dictionary of the policy.
    public var json: JSONObject {
        var object: JSONObject = ["accepted": .array(self.accepted.map { .array($0.map { .object($0.json) }) })]
        if !self.disallowed.isEmpty { object["disallowed"] = .array(self.disallowed.map { .object($0.json) }) }
        return object
    }
}

/// The required properties of an authenticator (MatchCriteria, §2.2). Every present member must match. A member with
/// flags matches if both sides share a flag; `userVerification` has a rule of its own
/// (``UserVerification/matches(_:)``).
///
/// A reader accepts any combination of members, because the examples of the standard need this. ``checkCombination()``
/// is for writers.
public struct MatchCriteria: Hashable, Sendable {
    /// `aaid`: the model is one of these models.
    public var aaid: [AAID]?
    /// `vendorID`: the first four letters of the AAID are one of these texts, in either case.
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
    /// `authenticatorVersion`: the lowest accepted version. An authenticator whose version is unknown matches.
    public var authenticatorVersion: UInt16?
    /// `exts`
    public var extensions: [Extension]

    /// Creates criteria that match everything. Set the members that matter.
    public init() { self.extensions = [] }

    /// Creates criteria for an authenticator of one of the models that holds one of the keys, if `keyIDs` has any.
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

    /// The dictionary of the criteria.
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

    /// Checks the rule for writers of criteria (§2.2).
    ///
    /// Beside `aaid`, only `keyIDs`, `attachmentHint`, `authenticatorVersion` and `exts` are allowed. Without `aaid`,
    /// `authenticationAlgorithms` and `assertionSchemes` are required.
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
