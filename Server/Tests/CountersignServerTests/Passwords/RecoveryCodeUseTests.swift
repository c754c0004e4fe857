import Accounts
import CountersignServer
import CountersignTestKit
import HTTPTypes
import HummingbirdTesting
import Passwords
import Records
import SQLStore
import Sealing
import Settings
import Testing
import _Primitives

@Suite("Recovery codes are used once, replaced, told of and rested (decision 128, row 99 of the operations)")
struct RecoveryCodeUseTests {
    /// Limits by which codes of the app do not rest before recovery codes do.
    private static var limits: Limits {
        var limits = Limits()
        limits.passwords.secondFactorAttempts = 100
        return limits
    }

    /// Begins a sign-in, and shows a code beside the password.
    private static func signIn(_ place: PasswordPlace, code: String) async throws -> TestResponse {
        place.browser.forgetCookies()
        let request = try await place.begin()
        _ = try await place.show(PasswordPlace.password, request)
        return try await place.post("/sign-in/code", ["request": request, "code": code])
    }

    @Test("The page shows the code in place of the used one; that one counts, and the used one does not")
    func replaced() async throws {
        try await PasswordPlace.run { place in
            let (_, codes) = try await place.giveSecondFactor()
            let used = codes[0].shownOnce
            let answer = try await Self.signIn(place, code: used)
            #expect(answer.status == .ok)
            let shown = try answer.words(of: "code")
            #expect(try #require(RecoveryCode(typed: shown)) != codes[0])
            #expect(try await Self.signIn(place, code: used).status == .forbidden)
            #expect(try await Self.signIn(place, code: shown).status == .ok)
            #expect(try await Self.signIn(place, code: codes[1].shownOnce).status == .ok)
        }
    }

    @Test("A use is told to every device and to every confirmed address, and to no other address")
    func told() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            let (_, codes) = try await place.giveSecondFactor()
            _ = try await place.sendMail()
            let (store, now) = (place.server.database, place.server.clock.timeSource.now())
            let account = try await place.server.assembly.directory.account(username: "alice").id
            let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: now)
            for (id, isVerified) in [("confirmed", true), ("unconfirmed", false)] {
                _ = try await store.addEmail(
                    AdditionalEmail(
                        id: id, address: "\(id)@home.example", isVerified: isVerified, createdAt: now),
                    accountID: account, limit: 9, audit: event)
            }
            let before = place.server.mail.messages.count
            #expect(try await Self.signIn(place, code: codes[0].shownOnce).status == .ok)
            #expect(try await place.sendMail() == [.delivered, .delivered])
            let letters = place.server.mail.messages.dropFirst(before)
            #expect(letters.allSatisfy { CaughtMail.text(of: $0).contains("A recovery code of the name alice") })
            for (address, count) in [
                ("alice@post.example", 1), ("confirmed@home.example", 1), ("unconfirmed@home.example", 0),
            ] {
                #expect(letters.count { $0.contains(address) } == count, "\(address)")
            }
            #expect(!letters.contains { CaughtMail.text(of: $0).contains(codes[0].shownOnce) })
            let notices = try await place.server.assembly.directory.notices(accountID: account)
            #expect(notices.contains { $0.kind.name == "recovery-code-used" && $0.subject == "alice" })
        }
    }

    @Test("Ten wrong codes rest all of them, a right one too, and the app's codes go on; a right one forgets the rest")
    func rests() async throws {
        let limits = Self.limits
        try await PasswordPlace.run(limits: limits) { place in
            let (totp, codes) = try await place.giveSecondFactor()
            func status(_ code: String) async throws -> HTTPResponse.Status {
                try await Self.signIn(place, code: code).status
            }
            for _ in 0..<limits.passwords.recoveryCodeAttempts {
                #expect(try await status(RecoveryCode(random: .system).shownOnce) == .forbidden)
            }
            #expect(try await status(codes[0].shownOnce) == .forbidden)
            #expect(
                try await place.server.database.auditEntries(after: 0, limit: 999).contains {
                    $0.event.kind.rawValue == "password-attempts-rest" && $0.event.detail == "recovery-code"
                })
            // The app's code signs in, and does not end the rest of the paper.
            let code = try #require(totp.code(at: place.server.clock.timeSource.now()))
            #expect(try await status(code) == .seeOther)
            #expect(try await status(codes[0].shownOnce) == .forbidden)
            place.server.clock.advance(by: limits.passwords.attemptRest)
            #expect(try await status(codes[0].shownOnce) == .ok)
            #expect(try await status(RecoveryCode(random: .system).shownOnce) == .forbidden)
            #expect(try await status(codes[1].shownOnce) == .ok)
        }
    }

    @Test("A code of twelve letters from before counts until the codes are replaced")
    func formerCodes() async throws {
        var former = PasswordLimits.cheap
        former.recoveryCodeLetters = 12
        try await PasswordPlace.run(hashing: former) { place in
            let (_, codes) = try await place.giveSecondFactor()
            #expect(codes[0].shownOnce.utf8.count == 14)
            // The same store, by a server of today.
            let accounts = try PasswordAccounts(
                store: place.server.database, sealing: Sealing(place.server.key), hashing: .cheap,
                time: place.server.clock.timeSource)
            let account = try await place.server.assembly.directory.account(username: "alice").id
            func proof(_ code: String) async throws -> OwnPassword.Proved? {
                let verdict = try await OwnPassword(accounts).judge(
                    OwnPassword.Proof(
                        accountID: account, password: PasswordPlace.password, code: code,
                        visitor: Visitor(source: "192.0.2.7")))
                guard case .right(let person) = verdict else { return nil }
                return person
            }
            let person = try #require(try await proof(codes[0].shownOnce))
            #expect(try await proof(codes[0].shownOnce) == nil)
            let renewed = try #require(try await SecondFactors(accounts).renewRecoveryCodes(of: person))
            #expect(renewed.allSatisfy { $0.shownOnce.utf8.count == 15 })
            #expect(try await proof(codes[1].shownOnce) == nil)
            #expect(try await proof(renewed[1].shownOnce) != nil)
        }
    }
}
