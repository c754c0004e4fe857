public import Records
public import _Primitives

extension SQLStore: ReceiptStore {
    public func receipt(session: String, clientID: String, at now: Timestamp) async throws -> ReceiptRecord? {
        try await self.read { [sealing] db in
            try ReceiptRows(db).receipt(session: session, clientID: clientID, at: now, sealing)
        }
    }

    public func receipts(accountID: String, at now: Timestamp, limit: Int) async throws -> [ReceiptRecord] {
        try await self.read { [sealing] db in
            try ReceiptRows(db).receipts(accountID: accountID, at: now, limit: limit, sealing)
        }
    }

    public func receiptKeys() async throws -> [ReceiptKeyRecord] {
        try await self.read { db in try ReceiptKeyRows(db).keys() }
    }
}
