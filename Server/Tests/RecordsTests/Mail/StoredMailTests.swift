import Records
import Testing
import _Primitives

@Suite("Letters in the outbox, and the links in them")
struct StoredMailTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    @Test("Strangers' letters count for strangers alone, and all letters for everybody else")
    func rivals() {
        for turn in MailRecord.Turn.allCases {
            let rivals: MailRecord.Turn.Rivals = turn == .stranger ? .sameLane : .allMail
            #expect(turn.rivals == rivals)
            #expect(turn.lane == (turn == .stranger ? "strangers" : "people"))
        }
    }

    @Test("A letter waits if fewer letters than allowed wait", arguments: [(4, true), (5, false), (6, false)])
    func room(waiting: Int, hasRoom: Bool) {
        let letter = MailRecord(
            accountID: "alice", subject: .invitation, createdAt: Self.now, expiresAt: Self.now + .seconds(60))
        #expect(letter.hasRoom(beside: waiting, most: 5) == hasRoom)
    }

    @Test(
        "A link and a code have a letter of their own",
        arguments: [
            (MailedLinkRecord.Purpose.passwordReset, MailRecord.Subject.passwordReset),
            (.addressConfirmation, .addressConfirmation), (.changeQuestion, .accountChanged),
            (.changeCode, .changeCode),
        ])
    func letter(purpose: MailedLinkRecord.Purpose, letter: MailRecord.Subject) {
        #expect(purpose.letter == letter)
    }

    @Test("Stored subjects and turns are known values")
    func stored() throws {
        for subject in MailRecord.Subject.allCases {
            #expect(try MailRecord.Subject(stored: subject.rawValue, orCorrupt: "") == subject)
        }
        for turn in MailRecord.Turn.allCases { #expect(try MailRecord.Turn(stored: turn.rawValue) == turn) }
        #expect(throws: StoreError(.corrupt, "")) { try MailRecord.Subject(stored: "else", orCorrupt: "") }
        #expect(throws: StoreError(.corrupt, "")) { try MailRecord.Turn(stored: 9) }
    }

    @Test("Links end with another first address and with the loss of its confirmation")
    func firstAddress() {
        func email(_ address: String = "ada@example.org", isVerified: Bool = true) -> AccountEmail {
            AccountEmail(address: address, isVerified: isVerified)
        }
        let withdrawn = FirstAddressEffect.withdraw("ada@example.org")
        for (present, former, effects) in [
            (email(), nil, [.endLinks]), (nil, nil, [.endLinks]), (nil, email(), [.endLinks, withdrawn]),
            (email(), email(), [withdrawn]), (email(), email(isVerified: false), [withdrawn]),
            (email(isVerified: false), email(isVerified: false), [withdrawn]),
            (email(isVerified: false), email(), [.endLinks, withdrawn]),
            (email("Ada@example.org"), email(), [.endLinks, withdrawn]),
            (email("bob@example.org"), email(), [.endLinks, withdrawn]),
        ] as [(AccountEmail?, AccountEmail?, [FirstAddressEffect])] {
            #expect(FirstAddressEffect.effects(of: present, after: former) == effects)
        }
    }

    @Test("A link confirms an address of an open account")
    func confirmedAddresses() {
        func link(about address: String?) -> MailedLinkRecord {
            MailedLinkRecord(
                digest: [1], accountID: "alice", purpose: .addressConfirmation, about: address,
                expiresAt: Self.now + .seconds(60))
        }
        func account(email: String? = "alice@example.org", isLocked: Bool = false) -> AccountRecord {
            AccountRecord(
                id: "alice", username: nil, displayName: nil,
                email: email.map { AccountEmail(address: $0, isVerified: false) }, isLocked: isLocked,
                createdAt: Self.now)
        }
        let first = ConfirmedAddress.first(
            AccountEmail(address: "alice@example.org", isVerified: true), account: "alice")
        for (shown, holder, confirmed) in [
            (nil, account(), nil), (link(about: nil), nil, nil), (link(about: nil), account(isLocked: true), nil),
            (link(about: "second"), account(isLocked: true), nil), (link(about: nil), account(email: nil), nil),
            (link(about: nil), account(), first),
            (link(about: "second"), account(), .further("second", account: "alice")),
            (link(about: "second"), account(email: nil), .further("second", account: "alice")),
        ] as [(MailedLinkRecord?, AccountRecord?, ConfirmedAddress?)] {
            #expect(ConfirmedAddress(by: shown, of: holder) == confirmed)
        }
    }
}
