import _Primitives

/// A statement with what became known of its model since (§16).
public struct MetadataEntry: Hashable, Sendable {
    /// The statement.
    public var statement: MetadataStatement
    /// `statusReports`
    public var reports: [StatusReport]

    /// What was reported of a model.
    public struct StatusReport: Hashable, Sendable {
        /// `status`
        public var status: AuthenticatorStatus
        /// `effectiveDate`, as `YYYY-MM-DD`; `nil`: as long as the report is there.
        public var effectiveDate: String?

        /// Makes a report.
        public init(status: AuthenticatorStatus, effectiveDate: String? = nil) {
            self.status = status
            self.effectiveDate = effectiveDate
        }

        init(_ members: MemberReader) throws(UAFError) {
            self.status = AuthenticatorStatus(rawValue: try members.requiredString("status"))
            self.effectiveDate = try members.string("effectiveDate")
        }
    }

    /// A statement with its reports.
    public init(statement: MetadataStatement, reports: [StatusReport] = []) {
        self.statement = statement
        self.reports = reports
    }

    /// Reads a JSON object of at most 512 KiB: an entry of a metadata service, whose statement is the member
    /// `metadataStatement`, or a statement alone.
    public init(parsing bytes: some Collection<UInt8>) throws(UAFError) {
        let members = try MemberReader(body: bytes, "metadata", limits: JSONLimits(bytes: 524_288))
        self.statement = try MetadataStatement(try members.members("metadataStatement") ?? members)
        self.reports =
            try members.list("statusReports", allowsEmpty: true) { (element) throws(UAFError) in
                try StatusReport(element)
            } ?? []
        guard
            try members.string("aaid").map({ (text) throws(UAFError) in try AAID(text) }) ?? self.statement.aaid
                == self.statement.aaid
        else { throw UAFError(.invalidValue, "metadata: an entry of another model than its statement") }
    }

    /// The status of the latest report that has one of the standard; of two of one day the later in the list. A report
    /// without a date is later than all others.
    public var latestStatus: AuthenticatorStatus? {
        var latest: StatusReport?
        for report in self.reports where AuthenticatorStatus.known.contains(report.status) {
            // Dates of this form are in the order of their letters.
            guard report.effectiveDate ?? "~" >= latest?.effectiveDate ?? (latest == nil ? "" : "~") else { continue }
            latest = report
        }
        return latest?.status
    }
}

/// What a metadata service reports of a model: AuthenticatorStatus (§16).
public struct AuthenticatorStatus: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name on the wire.
    public let rawValue: String
    /// Any name decodes; one that is not of the standard does not count.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The user's verification can be got around.
    public static let userVerificationBypass = Self(rawValue: "USER_VERIFICATION_BYPASS")
    /// An attestation key is known to others.
    public static let attestationKeyCompromise = Self(rawValue: "ATTESTATION_KEY_COMPROMISE")
    /// Keys can be got from afar.
    public static let userKeyRemoteCompromise = Self(rawValue: "USER_KEY_REMOTE_COMPROMISE")
    /// Keys can be got with the device in hand.
    public static let userKeyPhysicalCompromise = Self(rawValue: "USER_KEY_PHYSICAL_COMPROMISE")
    /// Not to be trusted any more.
    public static let revoked = Self(rawValue: "REVOKED")
    /// A newer version of the firmware is there.
    public static let updateAvailable = Self(rawValue: "UPDATE_AVAILABLE")

    /// Those that say that a model must not be trusted.
    public static let compromised: Set<Self> = [
        .userVerificationBypass, .attestationKeyCompromise, .userKeyRemoteCompromise, .userKeyPhysicalCompromise,
        .revoked,
    ]

    /// All of the standard.
    static let known: Set<Self> = Self.compromised.union(
        [
            "UPDATE_AVAILABLE", "NOT_FIDO_CERTIFIED", "FIDO_CERTIFIED", "SELF_ASSERTION_SUBMITTED",
            "FIDO_SECURITY_CERTIFIED_L1", "FIDO_SECURITY_CERTIFIED_L2", "FIDO_SECURITY_CERTIFIED_L3",
            "FIDO_SECURITY_CERTIFIED_L4",
        ].map(Self.init(rawValue:)))

    public var description: String { self.rawValue }
}
