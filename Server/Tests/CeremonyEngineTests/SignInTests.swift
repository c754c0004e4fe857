import Accounts
import Ceremony
import CeremonyEngine
import Foundation
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite("Sign-in: scan, approve, complete in the browser that began (threat model, Forwarding a link)")
struct SignInTests {
    @Test func aQRCodeSignsTheWaitingBrowserIn() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let request = try await server.claimSignIn()
        #expect(request.statusCode == .ok)
        #expect(request.operation == .authentication)
        #expect(request.dispatchChannel == "png-qr-code")
        #expect(request.requester?.service == "Demo Bank")
        #expect(request.requester?.address == "192.0.2.1")
        #expect(request.lifetimeMilliseconds == 180_000)
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .claimed)
        #expect(
            try await server.engine.signIns.consume(reference: "request", browser: server.browser, client: "demo-bank")
                == nil)

        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(answer.response.statusCode == .ok)
        #expect(answer.response.location == nil)
        #expect(answer.authenticated == nil, "a ceremony gives the phone no token")
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .approved)

        server.clock.advance(.seconds(10))
        let outcome = try await server.engine.signIns.consume(
            reference: "request", browser: server.browser, client: "bank")
        let told = try await server.database.auditEntries(after: 0, limit: 100).map(\.event)
            .filter { $0.kind == .init(rawValue: "signed-in") }
        #expect(told.map(\.detail) == ["service=bank methods=pin,swk,mfa"] && told.first?.address == "192.0.2.1")
        #expect(told.first?.accountID == account.id)
        #expect(outcome?.accountID == account.id)
        #expect(outcome?.amr == ["pin", "swk", "mfa"])
        #expect(outcome?.acr == "urn:countersign:acr:two-factor")
        #expect(outcome?.authTime == server.clock.now - .seconds(10))
        // Whoever could make no session of it comes again, however late.
        server.clock.advance(server.engine.configuration.limits.outcomeLifetime)
        #expect(
            try await server.engine.signIns.consume(reference: "request", browser: server.browser, client: "demo-bank")
                == outcome)
        #expect(try await server.beginSignIn().state == .completed)
        let notices = try await server.database.notices(accountID: account.id, limit: 9)
        #expect(notices.map(\.kind) == [.signedIn, .deviceAdded])
        #expect(notices.first?.subject == "Demo Bank")
    }

    /// What a QR code holds can be read off the page and sent to a person: it must be nothing to tap.
    @Test func theQRCodeHoldsNoLink() async throws {
        let server = try TestServer()
        let begun = try #require(try await server.beginSignIn().codes)
        server.clock.advance(.seconds(1))
        let renewed = try #require(
            try await server.engine.signIns.renew(reference: "request", browser: server.browser, source: "a").codes)
        for codes in [begun, renewed] {
            #expect(!codes.qrContent.utf8.contains(UInt8(ascii: ":")))
            #expect(!codes.qrContent.utf8.contains(UInt8(ascii: "/")))
            #expect(!codes.qrContent.utf8.contains(UInt8(ascii: ".")))
            let payload = try OutOfBandPayload(scanned: codes.qrContent)
            #expect(payload.compact == codes.qrContent)
            #expect(payload.redeemData.redeemURL.absoluteString == "http://localhost:8080/token/redeem/authentication")
        }
    }

    @Test func theTypedCodeIsReadAsPeopleTypeIt() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        let view = try await server.beginSignIn()
        let code = try #require(view.codes?.typedCode)
        #expect(code.count == 11)
        let typed = code.lowercased().replacing("-", with: " ").replacing("0", with: "o").replacing("1", with: "l")
        let request = try await server.engine.redemptions.redeem(token: typed, operation: .authentication)
        #expect(request.dispatchChannel == "typed")
        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(answer.response.statusCode == .ok)
        #expect(answer.response.location == nil)
        #expect(
            try await server.engine.signIns.consume(reference: "request", browser: server.browser, client: "demo-bank")
                != nil)
    }

    @Test func aLinkSignsInOnlyThroughTheContinuationInTheStartingBrowser() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        let view = try await server.beginSignIn()
        let codes = try #require(view.codes)
        #expect(try TestPhone.token(codes.link) != TestPhone.token(codes.qrContent))
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(codes.link), operation: .authentication)
        #expect(request.dispatchChannel == "link")
        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        let location = try #require(answer.response.location)
        #expect(location.hasPrefix("http://localhost:8080/sign-in/continue?code="))
        #expect(
            try await server.engine.signIns.state(reference: "request", browser: server.browser) == .approvedOnDevice)
        #expect(
            try await server.engine.signIns.consume(reference: "request", browser: server.browser, client: "demo-bank")
                == nil)

        let code = String(location.split(separator: "=")[1])
        #expect(try await server.engine.signIns.resume(code: code, browser: server.browser).reference == "request")
        await #expect(throws: CeremonyError(.notFound)) {
            try await server.engine.signIns.resume(code: code, browser: server.browser)
        }
        // The page that has waited must not take it away from the one that the phone opened.
        #expect(
            try await server.engine.signIns.state(reference: "request", browser: server.browser) == .approvedOnDevice)
        #expect(try await server.engine.signIns.completedService(reference: "request", browser: server.browser) == nil)
        #expect(
            try await server.engine.signIns.consume(reference: "request", browser: server.browser, client: "demo-bank")
                != nil)
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .completed)
        #expect(
            try await server.engine.signIns.completedService(reference: "request", browser: server.browser)
                == "Demo Bank")
        #expect(try await server.engine.signIns.completedService(reference: "request", browser: "another") == nil)
    }

    @Test func aPageThatWaitsLearnsThatAnotherPageOfItsBrowserHasFinished() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        let view = try await server.beginSignIn()
        var events = try await server.engine.signIns.events(reference: "request", browser: server.browser)
            .makeAsyncIterator()
        #expect(try await events.next() == .waiting)
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(view.codes?.link ?? ""), operation: .authentication)
        #expect(try await events.next() == .claimed)
        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(try await events.next() == .approvedOnDevice)
        let code = String(try #require(answer.response.location).split(separator: "=")[1])
        _ = try await server.engine.signIns.resume(code: code, browser: server.browser)
        #expect(
            try await server.engine.signIns.consume(reference: "request", browser: server.browser, client: "demo-bank")
                != nil)
        #expect(try await events.next() == .completed)
        #expect(try await events.next() == nil)
    }

    @Test func noticesAreKeptForTheirTimeAndNoLonger() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let view = try await server.beginSignIn()
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(view.codes?.qrContent ?? ""), operation: .authentication)
        _ = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        _ = try await server.engine.signIns.consume(reference: "request", browser: server.browser, client: "demo-bank")
        let told = try await server.directory.notices(accountID: account.id)
        #expect(told.map(\.kind).contains(.signedIn))
        server.clock.advance(server.engine.configuration.limits.noticeRetention)
        try await server.engine.sweep.run()
        #expect(try await server.directory.notices(accountID: account.id) == told, "not a moment too early")
        server.clock.advance(.seconds(1))
        try await server.engine.sweep.run()
        #expect(try await server.directory.notices(accountID: account.id).isEmpty)
    }

    @Test("A visit of another browser completes and spends nothing, and is in the trail once")
    func aVisitOfAnotherBrowserSpendsNothing() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let view = try await server.beginSignIn()
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(view.codes?.link ?? ""), operation: .authentication)
        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        let code = String(try #require(answer.response.location).split(separator: "=")[1])
        let signIns = server.engine.signIns
        for browser in [nil, "another browser's cookie", nil] {
            let refusal = await #expect(throws: CeremonyError(.wrongBrowser)) {
                try await signIns.resume(code: code, browser: browser, address: "198.51.100.7")
            }
            #expect(refusal?.service == "demo-bank", "the way back")
            #expect(refusal?.browser == "Chrome on Linux", "where it goes on")
            #expect(try await signIns.state(reference: "request", browser: server.browser) == .approvedOnDevice)
            #expect(
                try await signIns.consume(reference: "request", browser: server.browser, client: "demo-bank") == nil)
        }
        let visits = try await server.database.auditEntries(after: 0, limit: 100).map(\.event)
            .filter { $0.kind == .init(rawValue: "wrong-browser") }
        #expect(visits.map(\.accountID) == [account.id] && visits.map(\.address) == ["198.51.100.7"])

        #expect(try await signIns.resume(code: code, browser: server.browser).reference == "request")
        await #expect(throws: CeremonyError(.notFound)) {
            try await signIns.resume(code: code, browser: server.browser)
        }
        let outcome = try await signIns.consume(reference: "request", browser: server.browser, client: "demo-bank")
        #expect(outcome?.accountID == account.id)
    }

    @Test("A link that somebody forwards signs the waiting browser in at no time")
    func aForwardedLinkSignsNobodyIn() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        let view = try await server.beginSignIn()
        let signIns = server.engine.signIns
        var events = try await signIns.events(reference: "request", browser: server.browser).makeAsyncIterator()
        #expect(try await events.next() == .waiting)
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(view.codes?.link ?? ""), operation: .authentication)
        #expect(try await events.next() == .claimed)
        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(try await events.next() == .approvedOnDevice)
        let code = String(try #require(answer.response.location).split(separator: "=")[1])
        await #expect(throws: CeremonyError(.wrongBrowser)) {
            try await signIns.resume(code: code, browser: "the victim's cookie")
        }
        server.clock.advance(server.engine.configuration.limits.continuationLifetime)
        try await server.engine.sweep.run()
        #expect(try await events.next() == .expired)
        #expect(try await events.next() == nil)
        for browser in [server.browser, "the victim's cookie"] {
            await #expect(throws: CeremonyError(.notFound)) { try await signIns.resume(code: code, browser: browser) }
        }
        #expect(try await signIns.consume(reference: "request", browser: server.browser, client: "demo-bank") == nil)
        #expect(try await signIns.state(reference: "request", browser: server.browser) == .expired)
    }

    @Test func aContinuationComesTooLate() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        let view = try await server.beginSignIn()
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(view.codes?.link ?? ""), operation: .authentication)
        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        let code = String(try #require(answer.response.location).split(separator: "=")[1])
        server.clock.advance(server.engine.configuration.limits.continuationLifetime)
        await #expect(throws: CeremonyError(.notFound)) {
            try await server.engine.signIns.resume(code: code, browser: server.browser)
        }
    }

    @Test func anotherBrowserSeesAndTakesNothing() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        let request = try await server.claimSignIn()
        _ = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        let other = RandomSource.system.token()
        let engine = server.engine
        await #expect(throws: CeremonyError(.wrongBrowser)) { try await server.beginSignIn(browser: other) }
        await #expect(throws: CeremonyError(.wrongBrowser)) {
            try await engine.signIns.renew(reference: "request", browser: other, source: "a")
        }
        await #expect(throws: CeremonyError(.wrongBrowser)) {
            try await engine.signIns.state(reference: "request", browser: other)
        }
        await #expect(throws: CeremonyError(.wrongBrowser)) {
            _ = try await engine.signIns.events(reference: "request", browser: other)
        }
        await #expect(throws: CeremonyError(.wrongBrowser)) {
            try await engine.signIns.consume(reference: "request", browser: other, client: "demo-bank")
        }
        await #expect(throws: CeremonyError(.wrongBrowser)) {
            try await engine.signIns.cancel(reference: "request", browser: other)
        }
        #expect(
            try await engine.signIns.consume(reference: "request", browser: server.browser, client: "demo-bank") != nil)
    }

    @Test func anUnknownSignInIsNotFound() async throws {
        let server = try TestServer()
        await #expect(throws: CeremonyError(.notFound)) {
            try await server.engine.signIns.renew(reference: "none", browser: server.browser, source: "a")
        }
        await #expect(throws: CeremonyError(.notFound)) {
            try await server.engine.signIns.state(reference: "none", browser: server.browser)
        }
        #expect(
            try await server.engine.signIns.consume(reference: "none", browser: server.browser, client: "demo-bank")
                == nil)
        await #expect(throws: CeremonyError(.notFound)) {
            try await server.engine.signIns.resume(code: "none", browser: server.browser)
        }
    }

    @Test func aRenewalKillsTheCodesBefore() async throws {
        let server = try TestServer()
        try await server.enrol()
        let first = try #require(try await server.beginSignIn().codes)
        server.clock.advance(.seconds(61))
        await #expect(throws: CeremonyError(.tokenExpired)) {
            try await server.engine.redemptions.redeem(token: first.typedCode, operation: .authentication)
        }
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .waiting)
        let second = try #require(
            try await server.engine.signIns.renew(reference: "request", browser: server.browser, source: "a").codes)
        let third = try #require(try await server.beginSignIn().codes)
        for codes in [first, second] {
            for token in [try TestPhone.token(codes.link), try TestPhone.token(codes.qrContent), codes.typedCode] {
                await #expect(throws: CeremonyError(.tokenExpired)) {
                    try await server.engine.redemptions.redeem(token: token, operation: .authentication)
                }
            }
        }
        #expect(third.expiresAt == server.clock.now + .seconds(60))
        _ = try await server.engine.redemptions.redeem(token: third.typedCode, operation: .authentication)
        for token in [try TestPhone.token(third.link), try TestPhone.token(third.qrContent), third.typedCode] {
            await #expect(throws: CeremonyError(.tokenAlreadyRedeemed)) {
                try await server.engine.redemptions.redeem(token: token, operation: .authentication)
            }
        }
        #expect(
            try await server.engine.signIns.renew(reference: "request", browser: server.browser, source: "a").codes
                == nil
        )
    }

    @Test func codesThatWereReplacedAreToldFromUnknownOnesForTheirTime() async throws {
        let server = try TestServer()
        let first = try #require(try await server.beginSignIn().codes)
        let retention = server.engine.configuration.limits.replacedCodeRetention
        func renew() async throws { _ = try await server.beginSignIn() }
        try await renew()
        server.clock.advance(retention)
        try await renew()
        await #expect(throws: CeremonyError(.tokenExpired)) {
            try await server.engine.redemptions.redeem(token: first.typedCode, operation: .authentication)
        }
        server.clock.advance(.seconds(1))
        try await renew()
        await #expect(throws: CeremonyError(.tokenUnknown)) {
            try await server.engine.redemptions.redeem(token: first.typedCode, operation: .authentication)
        }
    }

    @Test func theTrailBeginsWithThePhone() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        func trail() async throws -> [String] {
            try await server.database.auditEntries(after: 0, limit: 999).map(\.event.kind.rawValue)
        }
        let before = try await trail()
        for index in 0..<3 { _ = try await server.beginSignIn("request-\(index)") }
        try await server.engine.signIns.cancel(reference: "request-0", browser: server.browser)
        server.clock.advance(server.engine.configuration.limits.ceremonyLifetime)
        try await server.engine.sweep.run()
        #expect(try await trail() == before, "begun, given up and expired without a phone")
        let request = try await server.claimSignIn()
        _ = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(try await Array(trail().dropFirst(before.count)) == ["sign-in-claimed", "authenticated"])
        let claimed = try await server.beginSignIn("other")
        _ = try await server.engine.redemptions.redeem(
            token: claimed.codes?.typedCode ?? "", operation: .authentication)
        server.clock.advance(server.engine.configuration.limits.claimedLifetime)
        try await server.engine.sweep.run()
        #expect(try await Array(trail().dropFirst(before.count + 2)) == ["sign-in-claimed", "expired"])
    }

    @Test func aSourceHasABudgetOfCodesAndOthersHaveTheirs() async throws {
        let server = try TestServer {
            $0.limits.codeBurst = 3
            $0.limits.codesPerMinute = 6
        }
        for index in 0..<2 { _ = try await server.beginSignIn("request-\(index)") }
        _ = try await server.engine.signIns.renew(reference: "request-0", browser: server.browser, source: "a")
        let refused = await #expect(throws: CeremonyError.self) { try await server.beginSignIn("request-2") }
        #expect(refused?.code == .tooManyRequests && refused?.retryAfterSeconds == 10)
        await #expect(throws: CeremonyError(.tooManyRequests)) {
            try await server.engine.signIns.renew(reference: "request-0", browser: server.browser, source: "a")
        }
        _ = try await server.beginSignIn("request-2", source: "b")
        server.clock.advance(.seconds(10))
        let view = try await server.engine.signIns.renew(
            reference: "request-0", browser: server.browser, source: "a")
        // A page that waits for a phone's answer needs no code.
        _ = try await server.engine.redemptions.redeem(token: view.codes?.typedCode ?? "", operation: .authentication)
        let claimed = try await server.engine.signIns.renew(
            reference: "request-0", browser: server.browser, source: "a")
        #expect(claimed.state == .claimed)
    }

    @Test func wrongCodesUseABudgetUpAndRightOnesAreTakenPastIt() async throws {
        let server = try TestServer {
            $0.limits.guessBurst = 2
            $0.limits.guessesPerMinute = 2
        }
        let codes = try #require(try await server.beginSignIn().codes)
        let other = try #require(try await server.beginSignIn("other").codes)
        func redeem(_ token: String, source: String? = "a") async throws {
            _ = try await server.engine.redemptions.redeem(token: token, operation: .authentication, source: source)
        }
        for guess in ["AAAAA-AAAAA", "no token of ours at all"] {
            await #expect(throws: CeremonyError(.tokenUnknown)) { try await redeem(guess) }
        }
        let refused = await #expect(throws: CeremonyError.self) { try await redeem("BBBBB-BBBBB") }
        #expect(refused?.code == .tooManyRequests && refused?.retryAfterSeconds == 30)
        #expect(refused?.shortage?.setting == "guessesPerMinute" && refused?.shortage?.isNews == true)
        let again = await #expect(throws: CeremonyError.self) { try await redeem("no token of ours at all") }
        #expect(again?.code == .tooManyRequests && again?.shortage?.isNews == false)
        await #expect(throws: CeremonyError(.tokenUnknown)) { try await redeem("AAAAA-AAAAA", source: "b") }
        try await redeem(try TestPhone.token(other.qrContent))
        try await redeem(codes.typedCode)
        // Known, and worth nothing any more: said as it is.
        await #expect(throws: CeremonyError(.tokenAlreadyRedeemed)) { try await redeem(codes.typedCode) }
        server.clock.advance(.seconds(30))
        await #expect(throws: CeremonyError(.tokenUnknown)) { try await redeem("BBBBB-BBBBB") }
    }

    @Test func ofManyWrongCodesAtOnceNoMoreAreJudgedThanTheBudgetHas() async throws {
        let server = try TestServer {
            $0.limits.guessBurst = 5
            $0.limits.guessesPerMinute = 0
        }
        let codes = try await withThrowingTaskGroup(of: CeremonyError.Code?.self) { group in
            for _ in 0..<64 {
                group.addTask {
                    do {
                        _ = try await server.engine.redemptions.redeem(
                            token: "AAAAA-AAAAA", operation: .authentication, source: "a")
                        return nil
                    } catch let error as CeremonyError {
                        return error.code
                    }
                }
            }
            return try await group.reduce(into: [CeremonyError.Code?: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(codes == [.tokenUnknown: 5, .tooManyRequests: 59])
    }

    @Test func aSignInThatEndedWithoutSuccessBeginsAnew() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        let request = try await server.claimSignIn()
        let denial = try phone.giveUp(request, clientErrorCode: 3)
        #expect(try await server.engine.authenticationAnswers.judge(denial).response.statusCode == .ok)
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .denied)
        let renewed = try await server.engine.signIns.renew(reference: "request", browser: server.browser, source: "a")
        #expect(renewed.state == .denied && renewed.codes == nil)
        #expect(try await server.beginSignIn().state == .waiting)
        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(answer.response.statusCode == .invalidRequest, "the old request is dead")
    }

    @Test func aSignInEndsAfterItsWholeTime() async throws {
        let server = try TestServer()
        _ = try await server.beginSignIn()
        server.clock.advance(.seconds(15 * 60))
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .expired)
        #expect(try await server.engine.sweep.run() == 1)
        #expect(try await server.engine.sweep.run() == 0, "a second sweep finds nothing")
        #expect(try await server.beginSignIn().state == .waiting)
    }

    @Test func anOutcomeThatNobodyTakesUpIsOver() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        let request = try await server.claimSignIn()
        _ = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        server.clock.advance(server.engine.configuration.limits.outcomeLifetime)
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .expired)
        #expect(
            try await server.engine.signIns.consume(reference: "request", browser: server.browser, client: "demo-bank")
                == nil)
    }

    @Test func aCancelledSignInIsOver() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        let request = try await server.claimSignIn()
        try await server.engine.signIns.cancel(reference: "request", browser: server.browser)
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .expired)
        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(answer.response.statusCode == .invalidRequest)
    }

    @Test func theSameBrowserHasTheSameIdentifierAndAnotherHasAnother() async throws {
        let server = try TestServer()
        func identifier(_ reference: String, _ browser: String) async throws -> String? {
            let view = try await server.beginSignIn(reference, browser: browser)
            return try await server.engine.redemptions.redeem(
                token: view.codes?.typedCode ?? "", operation: .authentication
            ).requester?.browserID
        }
        let first = try #require(try await identifier("a", "one"))
        #expect(try await identifier("b", "one") == first)
        #expect(try await identifier("c", "two") != first)
        #expect(first != "one")
    }

    @Test func theWaitingPageIsToldEachStateOnce() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        let view = try await server.beginSignIn()
        var events = try await server.engine.signIns.events(reference: "request", browser: server.browser)
            .makeAsyncIterator()
        #expect(try await events.next() == .waiting)
        let request = try await server.engine.redemptions.redeem(
            token: view.codes?.typedCode ?? "", operation: .authentication)
        #expect(try await events.next() == .claimed)
        _ = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(try await events.next() == .approved)
        #expect(try await events.next() == nil)
    }

    @Test func aSweepTellsTheWaitingPageThatItIsOver() async throws {
        let server = try TestServer()
        _ = try await server.beginSignIn()
        var events = try await server.engine.signIns.events(reference: "request", browser: server.browser)
            .makeAsyncIterator()
        #expect(try await events.next() == .waiting)
        server.clock.advance(.seconds(15 * 60))
        try await server.engine.sweep.run()
        #expect(try await events.next() == .expired)
        #expect(try await events.next() == nil)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [false, true])
    func theWaitingPageIsToldThatItIsOverWithoutASweep(isClaimed: Bool) async throws {
        let server = try TestServer()
        let view = try await server.beginSignIn()
        if isClaimed {
            _ = try await server.engine.redemptions.redeem(
                token: view.codes?.typedCode ?? "", operation: .authentication)
        }
        var events = try await server.engine.signIns.events(reference: "request", browser: server.browser)
            .makeAsyncIterator()
        #expect(try await events.next() == (isClaimed ? .claimed : .waiting))
        server.clock.advance(isClaimed ? Limits().claimedLifetime : Limits().ceremonyLifetime)
        #expect(try await events.next() == .expired)
        #expect(try await events.next() == nil)
    }

    @Test func aWatcherThatGoesMakesRoom() async throws {
        let server = try TestServer { $0.limits.watchersPerCeremony = 2 }
        _ = try await server.beginSignIn()
        var first = try await server.engine.signIns.events(reference: "request", browser: server.browser)
            .makeAsyncIterator()
        #expect(try await first.next() == .waiting)
        for _ in 0..<5 {
            var other = try await server.engine.signIns.events(reference: "request", browser: server.browser)
                .makeAsyncIterator()
            #expect(try await other.next() == .waiting)
        }
        try await server.engine.signIns.cancel(reference: "request", browser: server.browser)
        #expect(try await first.next() == .expired)
    }

    @Test func aSweepTakesAllThatIsOverdueBatchByBatch() async throws {
        let server = try TestServer { $0.limits.sweepBatch = 3 }
        for index in 0..<10 { _ = try await server.beginSignIn("request-\(index)") }
        server.clock.advance(.seconds(15 * 60))
        #expect(try await server.engine.sweep.run() == 10)
        server.clock.advance(.seconds(601))
        #expect(try await server.engine.sweep.run() == 10, "the ended ones are deleted")
        #expect(try await server.engine.sweep.run() == 0)
    }

    @Test func pastTheLimitOfWatchersTheOldestIsLetGo() async throws {
        let server = try TestServer { $0.limits.watchersPerCeremony = 2 }
        _ = try await server.beginSignIn()
        var watchers: [CeremonyEvents<SignInState>.Iterator] = []
        for _ in 0..<3 {
            var watcher = try await server.engine.signIns.events(reference: "request", browser: server.browser)
                .makeAsyncIterator()
            #expect(try await watcher.next() == .waiting)
            watchers.append(watcher)
        }
        #expect(try await watchers[0].next() == nil)
        try await server.engine.signIns.cancel(reference: "request", browser: server.browser)
        #expect(try await watchers[1].next() == .expired)
        #expect(try await watchers[2].next() == .expired)
    }
}
