import Records
import Sealing
import _Primitives

/// The columns of an activation. The activation's name and account are in the row of its device.
enum ActivationColumn: Int, LockoutColumn {
    static let table = "activation"
    static let selection = Self.selected()
    static let insertion = Self.inserted()
    static let count = Self.allCases.count
    /// The columns that a step changes with every attempt, in the order of ``stateValues(of:)``.
    static let state: [Self] = Self.ofLockout + [.pinVersion, .lastUsedAt]

    case deviceID, signingKey, encryptionKey, pinVersion, failuresInRow, failures, lockedUntil, isPermanent,
        reservedRequest, reservedAt, lastUsedAt

    static let change = SQLText.once(
        """
        UPDATE activation SET \(Self.state.map { "\($0.name) = ?" }.joined(separator: ", ")) WHERE device_id = ?
        """)

    static func stateValues(of activation: ActivationRecord) -> SQLValues {
        Self.values(of: activation.lockout) + [activation.pinVersion, activation.lastUsedAt?.milliseconds]
    }
}

/// The rows of activations.
struct ActivationRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    private static let activationQuery = SQLText.once(
        "SELECT \(ActivationRecord.selection) FROM \(ActivationRecord.tables) WHERE device_id = ?")

    func activation(id: String, _ sealing: Sealing) throws -> ActivationRecord? {
        try self.db.row(Self.activationQuery, [id]).map { try ActivationRecord($0, sealing) }
    }

    func activations(accountID: String, _ sealing: Sealing) throws -> [ActivationRecord] {
        try self.db.rows(
            .composed(
                """
                SELECT \(ActivationRecord.selection) FROM \(ActivationRecord.tables) WHERE account_id = ?
                ORDER BY device.number
                """), [accountID]
        ) { try ActivationRecord($0, sealing) }
    }

    /// Returns the activations disabled by an attempt that was counted at `moment` or before and never settled, at most
    /// `limit`.
    func activations(forsakenSince moment: Timestamp, limit: Int, _ sealing: Sealing) throws -> [ActivationRecord] {
        try self.db.rows(
            .composed(
                """
                SELECT \(ActivationRecord.selection) FROM \(ActivationRecord.tables)
                WHERE activation.is_permanent = 1 AND activation.reserved_at <= ? ORDER BY activation.reserved_at LIMIT ?
                """), [moment.milliseconds, limit]
        ) { try ActivationRecord($0, sealing) }
    }

    /// Adds an activation to its device, which must exist.
    func insert(_ activation: ActivationRecord, _ sealing: Sealing) throws {
        let id = activation.device.id
        var values = Dictionary(
            uniqueKeysWithValues: zip(ActivationColumn.state, ActivationColumn.stateValues(of: activation)))
        values[.deviceID] = id
        values[.signingKey] = try sealing.seal(activation.signingKey, purpose: .activationSigningKey, row: id)
        values[.encryptionKey] = try sealing.seal(
            activation.encryptionKey, purpose: .activationEncryptionKey, row: id
        )
        try self.db.insert(values, by: ActivationColumn.insertion)
    }

    /// Writes the changes of a step to an activation. Throws `conflict` if the device is changed.
    func update(_ activation: ActivationRecord, from before: ActivationRecord, _ sealing: Sealing) throws {
        switch try activation.write(from: before) {
        case .nothing: return
        case .state: try self.updateState(of: activation)
        case .stateAndKeys:
            try self.updateState(of: activation)
            try self.updateKeys(of: activation, sealing)
        }
    }

    private func updateState(of activation: ActivationRecord) throws {
        try self.db.run(ActivationColumn.change, ActivationColumn.stateValues(of: activation) + [activation.device.id])
    }

    private func updateKeys(of activation: ActivationRecord, _ sealing: Sealing) throws {
        let id = activation.device.id
        try self.db.run(
            "UPDATE activation SET signing_key = ?, encryption_key = ? WHERE device_id = ?",
            [
                try sealing.seal(activation.signingKey, purpose: .activationSigningKey, row: id),
                try sealing.seal(activation.encryptionKey, purpose: .activationEncryptionKey, row: id), id,
            ])
    }

    /// Returns the account of an activation; `nil` if the activation does not exist.
    func accountOfActivation(id: String) throws -> String? {
        try self.db.text(
            """
            SELECT account_id FROM device JOIN activation ON device_id = device.id WHERE device_id = ?
            """, [id])
    }
}

extension ActivationRecord {
    /// The tables behind FROM for a row that ``init(_:start:_:)`` reads.
    static let tables = "activation JOIN device ON device.id = activation.device_id"
    /// The columns that ``init(_:start:_:)`` reads.
    static let selection = "\(ActivationColumn.selection), \(DeviceColumn.selection)"
    static let columnCount = ActivationColumn.count + DeviceColumn.allCases.count

    /// Reads a row with the columns of ``selection`` from position `start` on.
    init(_ row: SQLRow, start: Int = 0, _ sealing: Sealing) throws {
        let part = RowPart<ActivationColumn>(row: row, start: start)
        let id = try part.text(.deviceID)
        self.init(
            device: try DeviceRecord(RowPart(row: row, start: start + ActivationColumn.count), sealing),
            signingKey: try sealing.open(try part.bytes(.signingKey), purpose: .activationSigningKey, row: id),
            encryptionKey: try sealing.open(try part.bytes(.encryptionKey), purpose: .activationEncryptionKey, row: id),
            pinVersion: try part.optionalInteger(.pinVersion), lockout: try LockoutRecord(part),
            lastUsedAt: try part.optionalMoment(.lastUsedAt))
    }
}
