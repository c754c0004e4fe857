import Records
import Settings
import Testing
import _Primitives

@Suite("Threat model: the order and the chain of the audit trail")
struct AuditTrailCheckTests {
    private static let last = Timestamp(seconds: 1_000_000)

    @Test("An event that is a little early gets the moment of the entry before it")
    func moments() {
        let disorder = Limits.Fixed.auditDisorder
        func moment(_ at: Timestamp, after last: Timestamp?) -> Timestamp {
            AuditEvent(.deregistered, at: at).moment(after: last)
        }
        let (late, early) = (Self.last + .milliseconds(1), Self.last - .milliseconds(1))
        #expect(moment(early, after: nil) == early)
        #expect(moment(late, after: Self.last) == late)
        #expect(moment(Self.last, after: Self.last) == Self.last)
        #expect(moment(early, after: Self.last) == Self.last)
        #expect(moment(Self.last - disorder, after: Self.last) == Self.last)
        let tooEarly = Self.last - disorder - .milliseconds(1)
        #expect(moment(tooEarly, after: Self.last) == tooEarly)
    }

    @Test("Each field changes the bytes of an entry, and a missing field is no empty field")
    func chained() {
        func bytes(_ event: AuditEvent, number: Int64 = 1, after code: [UInt8] = [7]) -> [UInt8] {
            event.chained(at: number, after: code)
        }
        let event = AuditEvent(.deregistered, at: Self.last)
        var events = [event]
        for path in [\AuditEvent.accountID, \.ceremonyID, \.actor, \.detail, \.address] {
            for text in ["", "x"] {
                var other = event
                other[keyPath: path] = text
                events.append(other)
            }
        }
        events.append(AuditEvent(.accountRenamed, at: Self.last))
        events.append(AuditEvent(.deregistered, at: Self.last + .milliseconds(1)))
        var all = events.map { bytes($0) }
        all.append(bytes(event, number: 2))
        all.append(bytes(event, after: [8]))
        #expect(Set(all).count == all.count)
        let kind = Array("deregistered".utf8)
        #expect(
            bytes(event)
                == [7, 0, 0, 0, 0, 0, 0, 0, 1] + withUnsafeBytes(of: Self.last.milliseconds.bigEndian, Array.init)
                + [1, 0, 0, 0, UInt8(kind.count)] + kind + [0, 0, 0, 0])
    }

    /// The entries of an intact trail. The code of an entry is its bytes backwards.
    private func trail(_ count: Int64) -> [(entry: AuditEntry, code: [UInt8])] {
        var code: [UInt8] = []
        return (0..<count).map { index in
            let event = AuditEvent(.deregistered, at: Self.last, detail: "\(index)")
            code = event.chained(at: index + 1, after: code).reversed()
            return (AuditEntry(number: index + 1, event: event), code)
        }
    }

    private func verdict(on pages: [[(entry: AuditEntry, code: [UInt8])]]) -> AuditVerdict? {
        var check = AuditTrailCheck { $0.reversed() }
        for page in pages {
            #expect(!check.isDone)
            check.take(page)
        }
        return check.isDone ? check.verdict : nil
    }

    @Test("A trail is intact if every entry follows from the entry before")
    func intact() {
        let trail = self.trail(4)
        #expect(self.verdict(on: []) == nil)
        #expect(self.verdict(on: [[]]) == .intact(entries: 0))
        #expect(self.verdict(on: [Array(trail[..<2])]) == nil)
        #expect(self.verdict(on: [Array(trail[..<2]), Array(trail[2...]), []]) == .intact(entries: 4))
    }

    @Test("A changed, missing or misplaced entry breaks the trail at its place")
    func broken() {
        var changed = self.trail(3)
        changed[1].entry.event.detail = "other"
        #expect(self.verdict(on: [changed]) == .broken(at: 2))
        var gap = self.trail(3)
        gap.remove(at: 1)
        #expect(self.verdict(on: [gap]) == .broken(at: 2))
        var numbered = self.trail(3)
        numbered[2].entry.number = 4
        #expect(self.verdict(on: [Array(numbered[..<2]), Array(numbered[2...])]) == .broken(at: 3))
        var code = self.trail(1)
        code[0].code = []
        #expect(self.verdict(on: [code]) == .broken(at: 1))
    }

    @Test("A notice's stored number is one of the kinds")
    func kinds() throws {
        for kind in NoticeRecord.Kind.allCases { #expect(try NoticeRecord.Kind(stored: kind.rawValue) == kind) }
        #expect(throws: StoreError(.corrupt, "")) { try NoticeRecord.Kind(stored: 0) }
    }
}
