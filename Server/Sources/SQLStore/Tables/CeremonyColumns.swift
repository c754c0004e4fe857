package import Records
import Sealing
import _Primitives

extension SealingPurpose {
    static let ceremonyDetail = SealingPurpose("ceremony detail", isOpenedOften: true)
    static let ceremonyProgress = SealingPurpose("ceremony progress")
}

/// The columns of a ceremony.
enum CeremonyColumn: Int, TableColumn {
    static let table = "ceremony"

    case id, kind, phase, outcome, clientID, reference, browserDigest, accountID, channel, createdAt, expiresAt,
        changedAt, continuationDigest, confirmationCode, deviceID, uafStatus, clientError, asmStatus, authenticators,
        contentHash, isConsumed, detail, methods, assurance, progress, isOpenedElsewhere, targetDevice,
        targetDispatcher, denial, answerCode, isNumberWrong

    static let selection = Self.selected()
    static let insertion = Self.inserted()
    static let count = Self.allCases.count
}

/// A column that a step may change.
struct ChangeableColumn: Sendable {
    let column: CeremonyColumn
    /// The column's assignment in a statement.
    let assignment: String
    /// Returns `true` if two records have the same value in the column. The values are compared unsealed, because
    /// sealing the same value twice gives different bytes.
    private let isSame: @Sendable (CeremonyRecord, CeremonyRecord) -> Bool

    private init<Value: Equatable & SendableMetatype>(
        _ column: CeremonyColumn, _ value: @escaping @Sendable (CeremonyRecord) -> Value
    ) {
        self.column = column
        self.assignment = "\(column.name) = ?"
        self.isSame = { value($0) == value($1) }
    }

    private static let all = [
        Self(.phase) { $0.phase }, Self(.outcome) { $0.outcome }, Self(.reference) { $0.reference },
        Self(.accountID) { $0.accountID }, Self(.channel) { $0.channel }, Self(.expiresAt) { $0.expiresAt },
        Self(.changedAt) { $0.changedAt }, Self(.continuationDigest) { $0.continuationDigest },
        Self(.confirmationCode) { $0.confirmationCode }, Self(.deviceID) { $0.deviceID },
        Self(.uafStatus) { $0.uafStatusCode }, Self(.clientError) { $0.clientErrorCode },
        Self(.asmStatus) { $0.asmStatusCode }, Self(.authenticators) { $0.authenticators },
        Self(.contentHash) { $0.contentHash }, Self(.isConsumed) { $0.isConsumed }, Self(.methods) { $0.methods },
        Self(.assurance) { $0.assurance }, Self(.progress) { $0.progress },
        Self(.isOpenedElsewhere) { $0.isOpenedElsewhere }, Self(.denial) { $0.denial },
        Self(.answerCode) { $0.answerCode }, Self(.isNumberWrong) { $0.isNumberWrong },
    ]

    /// Returns the columns in which a ceremony differs from the ceremony before a step.
    static func changed(from before: CeremonyRecord, to ceremony: CeremonyRecord) -> [Self] {
        Self.all.filter { !$0.isSame(ceremony, before) }
    }
}

extension CeremonyKey {
    /// The column that finds the ceremony, and the column's value.
    var place: (column: String, value: SQLValue) {
        switch self {
        case .id(let id): ("id", .text(id))
        case .reference(let reference): ("reference", .text(reference))
        case .continuation(let digest): ("continuation_digest", .bytes(digest))
        }
    }
}

extension CeremonyRecord {
    // Conditions on a row, written with the enumerations. The text has to equal the text of the indexes; otherwise
    // SQLite does not use the indexes. `IS DISTINCT FROM` equals `IS NOT`, SQLite's own word in an index.

    /// The ceremony has not ended.
    static let isOpen = "phase < \(Phase.ended.rawValue)"
    /// The ceremony has ended, and can be deleted some minutes later.
    static let hasEnded = """
        phase = \(Phase.ended.rawValue) AND (kind <> \(Kind.deregistration.rawValue) \
        OR outcome IS DISTINCT FROM \(Outcome.succeeded.rawValue))
        """
    /// The ceremony is a deregistration that was carried out. Its answer is kept for longer.
    package static let isCarriedOutDeregistration = """
        phase = \(Phase.ended.rawValue) AND kind = \(Kind.deregistration.rawValue) \
        AND outcome = \(Outcome.succeeded.rawValue)
        """

    /// Reads a ceremony. Opens `detail`, unless the caller has it.
    init(_ row: SQLRow, _ sealing: Sealing, detail: CeremonyDetail? = nil) throws {
        let id = try row.text(CeremonyColumn.id)
        let (kind, phase) = try Self.state(
            storedKind: row.integer(CeremonyColumn.kind), phase: row.integer(CeremonyColumn.phase))
        self.init(
            id: id, kind: kind, clientID: try row.optionalText(CeremonyColumn.clientID),
            reference: try row.optionalText(CeremonyColumn.reference),
            browserDigest: try row.optionalBytes(CeremonyColumn.browserDigest),
            accountID: try row.optionalText(CeremonyColumn.accountID),
            createdAt: try row.moment(CeremonyColumn.createdAt),
            expiresAt: try row.moment(CeremonyColumn.expiresAt),
            detail: try detail
                ?? CeremonyDetail(
                    stored: try sealing.open(try row.bytes(CeremonyColumn.detail), purpose: .ceremonyDetail, row: id)))
        self.phase = phase
        self.outcome = try row.optionalInteger(CeremonyColumn.outcome).map {
            try Outcome(stored: $0, "an unknown outcome")
        }
        self.channel = try row.optionalInteger(CeremonyColumn.channel).map { try .init(stored: $0) }
        self.changedAt = try row.moment(CeremonyColumn.changedAt)
        self.continuationDigest = try row.optionalBytes(CeremonyColumn.continuationDigest)
        self.confirmationCode = try row.optionalBytes(CeremonyColumn.confirmationCode)
        self.deviceID = try row.optionalText(CeremonyColumn.deviceID)
        self.uafStatusCode = try row.optionalInteger(CeremonyColumn.uafStatus)
        self.clientErrorCode = try row.optionalInteger(CeremonyColumn.clientError)
        self.asmStatusCode = try row.optionalInteger(CeremonyColumn.asmStatus)
        self.authenticators = try row.text(CeremonyColumn.authenticators).split(separator: " ").map(String.init)
        self.contentHash = try row.optionalBytes(CeremonyColumn.contentHash)
        self.isConsumed = try row.flag(CeremonyColumn.isConsumed)
        self.isOpenedElsewhere = try row.flag(CeremonyColumn.isOpenedElsewhere)
        self.denial = try row.optionalInteger(CeremonyColumn.denial).map {
            try Denial(stored: $0, "an unknown denial")
        }
        self.answerCode = try row.optionalBytes(CeremonyColumn.answerCode)
        self.isNumberWrong = try row.flag(CeremonyColumn.isNumberWrong)
        self.methods = try row.text(CeremonyColumn.methods).split(separator: " ").map(String.init)
        self.assurance = try row.text(CeremonyColumn.assurance)
        self.progress = try row.optionalBytes(CeremonyColumn.progress).map {
            try sealing.open($0, purpose: .ceremonyProgress, row: id)
        }
        self.target = try row.optionalText(CeremonyColumn.targetDevice).map {
            Target(deviceID: $0, dispatcher: try row.text(CeremonyColumn.targetDispatcher))
        }
    }

    /// Returns the stored value of a column; `detail` and `progress` are passed in sealed form. `progress` is sealed
    /// only for its own column.
    func value(
        of column: CeremonyColumn, detail: [UInt8] = [], progress: @autoclosure () throws -> [UInt8]?
    ) rethrows -> (any SQLBindable)? {
        switch column {
        case .id: self.id
        case .kind: self.kind.rawValue
        case .phase: self.phase.rawValue
        case .outcome: self.outcome?.rawValue
        case .clientID: self.clientID
        case .reference: self.reference
        case .browserDigest: self.browserDigest
        case .accountID: self.accountID
        case .channel: self.channel?.stored
        case .createdAt: self.createdAt.milliseconds
        case .expiresAt: self.expiresAt.milliseconds
        case .changedAt: self.changedAt.milliseconds
        case .continuationDigest: self.continuationDigest
        case .confirmationCode: self.confirmationCode
        case .deviceID: self.deviceID
        case .uafStatus: self.uafStatusCode
        case .clientError: self.clientErrorCode
        case .asmStatus: self.asmStatusCode
        case .authenticators: self.authenticators.joined(separator: " ")
        case .contentHash: self.contentHash
        case .isConsumed: self.isConsumed
        case .isOpenedElsewhere: self.isOpenedElsewhere
        case .denial: self.denial?.rawValue
        case .answerCode: self.answerCode
        case .isNumberWrong: self.isNumberWrong
        case .detail: detail
        case .methods: self.methods.joined(separator: " ")
        case .assurance: self.assurance
        case .progress: try progress()
        case .targetDevice: self.target?.deviceID
        case .targetDispatcher: self.target?.dispatcher
        }
    }

    /// Returns the progress in sealed form; `nil` for no progress.
    func sealedProgress(_ sealing: Sealing) throws -> [UInt8]? {
        try self.progress.map { try sealing.seal($0, purpose: .ceremonyProgress, row: self.id) }
    }
}
