import Records
import Testing

@Suite("Decision 21: a database that does not go on from the backup counts for nothing")
struct IncomparableTests {
    @Test("A database of a newer version, of other names, of another past or with a broken trail is not compared")
    func checks() throws {
        #expect(throws: Incomparable("it was written by a newer version")) {
            try Incomparable.check(SchemaVersion(4), known: 3)
        }
        #expect(throws: Incomparable("its names were made under another secret")) {
            try Incomparable.check(namesAreOurs: false)
        }
        for answer in [false, nil] {
            #expect(throws: Incomparable("it does not go on from this backup")) {
                try Incomparable.check(isContinuation: answer)
            }
        }
        #expect(throws: Incomparable("its audit trail is broken at entry 7")) {
            try Incomparable.check(AuditVerdict.broken(at: 7))
        }
        try Incomparable.check(SchemaVersion(3), known: 3)
        try Incomparable.check(namesAreOurs: true)
        try Incomparable.check(isContinuation: true)
        try Incomparable.check(AuditVerdict.intact(entries: 7))
    }

    @Test(
        "A damaged database and a missing key are reasons",
        arguments: [StoreError.Code.corrupt, .wrongKey, .missingKey])
    func reasons(code: StoreError.Code) throws {
        #expect(try Incomparable(StoreError(code, "the reason")).reason == "the reason")
    }

    @Test(
        "Any other error ends the restore",
        arguments: [StoreError.Code.unavailable, .conflict, .notFound, .newerSchema, .locked, .invalidKey])
    func errors(code: StoreError.Code) {
        #expect(throws: StoreError(code, "")) { try Incomparable(StoreError(code, "the reason")) }
    }
}
