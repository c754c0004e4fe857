import Ceremony
import CeremonyEngine
import Crypto
import GRDBSQLite
import JOSE
import Records
import SQLStore
import Synchronization
import Testing
import UAF
import _Primitives

/// What stores are asked in SQL, whichever connection has it: SQLite tells it of every connection of this process.
private enum AskedStatements {
    private static let noted = Mutex<[String: [String]]>([:])

    /// Has SQLite tell of every connection that is opened from now on.
    private static let isTold: Void = {
        let opened: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?, OpaquePointer?) -> Int32 = { db, _, _ in
            sqlite3_trace_v2(
                db, UInt32(SQLITE_TRACE_STMT),
                { _, _, statement, _ in
                    guard let statement = statement.map({ OpaquePointer($0) }), let sql = sqlite3_sql(statement),
                        let file = sqlite3_db_filename(sqlite3_db_handle(statement), "main")
                    else { return 0 }
                    AskedStatements.note(String(cString: sql), of: String(cString: file))
                    return 0
                }, nil)
        }
        // The entry point of an extension is declared without its parameters.
        sqlite3_auto_extension(unsafeBitCast(opened, to: (@convention(c) () -> Void).self))
    }()

    private static func note(_ sql: String, of file: String) {
        self.noted.withLock { noted in
            guard noted[file] != nil else { return }
            noted[file]?.append(sql)
        }
    }

    /// Begins before the store is opened.
    static func begin() { _ = self.isTold }

    static func take(in folder: String, during body: () async throws -> Void) async throws -> [String] {
        let file = folder + "/countersign.sqlite"
        self.noted.withLock { $0[file] = [] }
        try await body()
        return self.noted.withLock { $0.removeValue(forKey: file) } ?? []
    }
}

/// What a whole answer to factors took: neither depends on the machine or its load.
private struct AnswerWork: Hashable {
    /// What the store was asked, in its order.
    var statements: [String]
    /// Signatures that the server made.
    var signatures: Int
}

/// How factors come. Of those that are wrong nobody shall learn in what.
private enum SentFactors: CaseIterable {
    case right, wrongPin, otherFinger, otherDevice, pinAlone, fingerAlone, pinAndFinger, allThree

    var types: [AuthenticatorType] {
        switch self {
        case .right, .wrongPin, .otherDevice: [.device, .pin]
        case .otherFinger: [.device, .biometric]
        case .pinAlone: [.pin]
        case .fingerAlone: [.biometric]
        case .pinAndFinger: [.pin, .biometric]
        case .allThree: [.device, .pin, .biometric]
        }
    }

    /// The factor that is somebody else's.
    var foreign: AuthenticatorType? {
        switch self {
        case .wrongPin: .pin
        case .otherFinger: .biometric
        case .otherDevice: .device
        default: nil
        }
    }
}

@Suite("Decision 63: what a whole answer costs does not tell which factor was wrong (parity, row 50)")
struct AnswerWorkTests {
    /// - Parameter beside: What a server does beside judging, once it has judged.
    private func work(
        _ sent: SentFactors, beside: (TestServer, SentFactors) async throws -> Void = { _, _ in }
    ) async throws -> AnswerWork {
        AskedStatements.begin()
        let made = Counter()
        let signing = try SigningKey(
            kept: try SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: nil)
        let server = try TestServer(
            signer: ManagerSigner(
                key: { _ in
                    made.count()
                    return signing
                }, publicKeys: { _ in JWKSet([signing.publicKey].compactMap(\.self)) }))
        try await server.addService()
        let (_, phone) = try await server.personalise(factors: [.device, .pin, .biometric])
        let code = try await server.showCode()
        _ = try await phone.start(code)
        let prepared = try await phone.prepared(code.id)
        let call = try await phone.finishCall(code.id, prepared, sent.types) { factor in
            if factor.type == sent.foreign { factor.key = P256.Signing.PrivateKey() }
        }
        let before = made.value
        var isAccepted = false
        let statements = try await AskedStatements.take(in: server.folder) {
            let reply = try await server.engine.identities.judgement.finish(code.id, call)
            try await beside(server, sent)
            if case .accepted = try await phone.read(reply, to: call, as: FinishResponse.self) { isAccepted = true }
        }
        #expect(isAccepted == (sent == .right), "\(sent)")
        return AnswerWork(statements: statements, signatures: made.value - before)
    }

    private func works(
        beside: (TestServer, SentFactors) async throws -> Void = { _, _ in }
    ) async throws -> [SentFactors: AnswerWork] {
        var works: [SentFactors: AnswerWork] = [:]
        for sent in SentFactors.allCases { works[sent] = try await self.work(sent, beside: beside) }
        return works
    }

    @Test("Whatever is wrong with factors, the store is asked the same and the server signs as often")
    func wholeAnswers() async throws {
        var works = try await self.works()
        // A right answer writes more by what it is for: the session ends, the sign-in is approved, the values are given.
        let right = try #require(works[.right])
        works[.right] = nil
        #expect(Set(works.values).count == 1, "\(works.mapValues { ($0.statements.count, $0.signatures) })")
        let wrong = try #require(works[.wrongPin])
        #expect(wrong.signatures == 1 && right.signatures == 1)
        #expect(wrong.statements.contains { $0.hasPrefix("UPDATE activation") }, "and it does take something")
        #expect(right.statements != wrong.statements, "and what is right is told from what is wrong")
    }

    @Test("A server that notes wrong PINs by themselves is told from ours by the same measure")
    func notingPins() async throws {
        var works = try await self.works { server, sent in
            guard sent == .wrongPin else { return }
            try await server.database.appendAudit(
                AuditEvent(.init(rawValue: "wrong-pin"), at: server.clock.now))
        }
        let wrongPin = try #require(works[.wrongPin])
        for sent in [SentFactors.right, .wrongPin] { works[sent] = nil }
        #expect(!works.values.contains(wrongPin))
    }
}

/// Counts in every task alike.
private final class Counter: Sendable {
    private let counted = Mutex(0)

    var value: Int { self.counted.withLock { $0 } }
    func count() { self.counted.withLock { $0 += 1 } }
}
