/// A row that a step locks before its first statement.
package struct StepGuard {
    /// A kind of lock.
    package enum Lock: Sendable {
        /// The step relies on the row: no other step changes the row meanwhile.
        case shared
        /// The step's rule changes the row: no other step relies on the row or changes the row meanwhile.
        case exclusive
    }

    /// A table whose rows can be locked. The order of the cases is the order of locking.
    package enum Table: String, CaseIterable, Comparable, Sendable {
        /// The account's row. The lock covers everything of the account: devices, keys, activations, password,
        /// addresses, values and history.
        case account
        case organisation
        case client = "oauth_client"
        case provider = "upstream_provider"
        case service
        case invite
        case session = "oauth_session"
        case request = "oauth_request"
        case pushedRequest = "oauth_pushed_request"
        case grant = "oauth_grant"
        case deviceCode = "oauth_device_code"
        case backchannelRequest = "oauth_backchannel_request"
        case ceremony
        case offer = "pending_activation"
        case device
        case credential
        case password
        case key = "oauth_key"

        package static func < (lhs: Self, rhs: Self) -> Bool { lhs.position < rhs.position }

        private var position: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    /// The kind of the lock.
    package let lock: Lock
    /// The table of the row.
    package let table: Table
    /// The condition that selects the row, with a place for each value.
    package let condition: SQLText
    /// The values of the condition.
    package let values: SQLValues

    /// Locks rows that the step relies on. `condition` follows WHERE.
    package static func shared(_ table: Table, where condition: SQLText, _ values: SQLValues) -> Self {
        Self(lock: .shared, table: table, condition: condition, values: values)
    }

    /// Locks rows that the step changes. `condition` follows WHERE.
    package static func exclusive(_ table: Table, where condition: SQLText, _ values: SQLValues) -> Self {
        Self(lock: .exclusive, table: table, condition: condition, values: values)
    }

    /// Locks a row that the step relies on, by its identifier.
    package static func shared(_ table: Table, id: String?) -> Self { .shared(table, where: "id = ?", [id]) }

    /// Locks a row that the step changes, by its identifier.
    package static func exclusive(_ table: Table, id: String?) -> Self { .exclusive(table, where: "id = ?", [id]) }

    /// The query that finds the row.
    package var query: String { "SELECT 1 FROM \(self.table.rawValue) WHERE \(self.condition.text)" }
}
