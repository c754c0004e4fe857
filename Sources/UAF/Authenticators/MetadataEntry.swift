import _Primitives

/// A metadata statement, with later reports about its model (§16).
public struct MetadataEntry: Hashable, Sendable {
    /// The statement.
    public var statement: MetadataStatement
    /// `statusReports`
    public var reports: [StatusReport]

    /// A report about a model.
    public struct StatusReport: Hashable, Sendable {
        /// `status`
        public var status: AuthenticatorStatus
        /// `effectiveDate`, as `YYYY-MM-DD`. A report counts as soon as it is present, whatever its date.
        public var effectiveDate: String?

        /// Creates a report.
        public init(status: AuthenticatorStatus, effectiveDate: String? = nil) {
            self.status = status
            self.effectiveDate = effectiveDate
        }

        init(_ members: MemberReader) throws(UAFError) {
            self.status = AuthenticatorStatus(rawValue: try members.requiredString("status"))
            self.effectiveDate = try members.string("effectiveDate")
            guard self.effectiveDate.map(Self.isDay) ?? true else {
                throw UAFError(.invalidValue, "\(members.place).effectiveDate")
            }
        }

        /// Returns `true` if a text is a day of the calendar, `YYYY-MM-DD`. The meaning of another form is unknown
        /// here, and the reader of a status report must not guess.
        private static func isDay(_ text: String) -> Bool {
            let letters = Array(text.utf8)
            let dash = UInt8(ascii: "-")
            guard letters.count == 10, letters[4] == dash, letters[7] == dash else { return false }
            var numbers: [Int] = []
            for range in [0..<4, 5..<7, 8..<10] {
                let digits = letters[range]
                guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return false }
                numbers.append(digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) })
            }
            let (year, month, day) = (numbers[0], numbers[1], numbers[2])
            let isLeap = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
            let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
            return days.indices.contains(month - 1) && (1...days[month - 1]).contains(day)
        }
    }

    /// Creates an entry from a statement and its reports.
    public init(statement: MetadataStatement, reports: [StatusReport] = []) {
        self.statement = statement
        self.reports = reports
    }

    /// Reads a JSON object of at most 512 KiB: an entry of a metadata service with the statement in the member
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
}

/// The status of a model in the report of a metadata service: AuthenticatorStatus (§16).
public struct AuthenticatorStatus: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name on the wire.
    public let rawValue: String
    /// Creates a status; every name is accepted.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// An attacker can bypass the verification of the user.
    public static let userVerificationBypass = Self(rawValue: "USER_VERIFICATION_BYPASS")
    /// Others know an attestation key.
    public static let attestationKeyCompromise = Self(rawValue: "ATTESTATION_KEY_COMPROMISE")
    /// An attacker can get keys from afar.
    public static let userKeyRemoteCompromise = Self(rawValue: "USER_KEY_REMOTE_COMPROMISE")
    /// An attacker with the device in hand can get keys.
    public static let userKeyPhysicalCompromise = Self(rawValue: "USER_KEY_PHYSICAL_COMPROMISE")
    /// The model is not to be trusted any more.
    public static let revoked = Self(rawValue: "REVOKED")

    /// The statuses of a model that must not be trusted.
    public static let compromised: Set<Self> = [
        .userVerificationBypass, .attestationKeyCompromise, .userKeyRemoteCompromise, .userKeyPhysicalCompromise,
        .revoked,
    ]

    public var description: String { self.rawValue }
}
