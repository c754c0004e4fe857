import Records
import _Primitives

/// The columns of a table that keep failed attempts.
protocol LockoutColumn: TableColumn {
    static var failuresInRow: Self { get }
    static var failures: Self { get }
    static var lockedUntil: Self { get }
    static var isPermanent: Self { get }
    static var reservedRequest: Self { get }
    static var reservedAt: Self { get }
}

extension LockoutColumn {
    /// The columns, in the order of ``values(of:)``.
    static var ofLockout: [Self] {
        [.failuresInRow, .failures, .lockedUntil, .isPermanent, .reservedRequest, .reservedAt]
    }

    /// Returns the stored values of a record, in the order of ``ofLockout``.
    static func values(of lockout: LockoutRecord) -> SQLValues {
        [
            lockout.failuresInARow, lockout.keptFailures, lockout.lockedUntil?.milliseconds, lockout.isPermanent,
            lockout.reservation?.request, lockout.reservation?.at.milliseconds,
        ]
    }
}

extension LockoutRecord {
    init<Column: LockoutColumn>(_ row: RowPart<Column>) throws {
        let failures = try Self.failures(kept: try row.text(.failures))
        let reservation = try row.optionalBytes(.reservedRequest).flatMap { request in
            try row.optionalMoment(.reservedAt).map { Reservation(request: request, at: $0) }
        }
        self.init(
            failuresInARow: try row.integer(.failuresInRow), failures: failures,
            lockedUntil: try row.optionalMoment(.lockedUntil), isPermanent: try row.flag(.isPermanent),
            reservation: reservation)
    }
}
