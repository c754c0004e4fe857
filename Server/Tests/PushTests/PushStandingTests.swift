import Push
import Settings
import Testing
import _Primitives

@Suite("The state of a push service: decision 116; one wrong setting ends no targets")
struct PushStandingTests {
    private let limits = Limits.Push()
    private let start = Timestamp(seconds: 1_900_000_000)

    @Test("a refused target ends after a success of the last hour")
    func afterSuccess() {
        var standing = PushStanding()
        #expect(standing.decide(.delivered, to: "a", at: self.start, limits: self.limits) == .delivered)
        let later = self.start + .seconds(3600)
        #expect(
            standing.decide(.targetRefused("BadDeviceToken"), to: "a", at: later, limits: self.limits)
                == .endTarget(unlessChangedAfter: nil))
        #expect(standing.stopReason == nil)
    }

    @Test("without a recent success, refused targets of three accounts stop the dispatcher, and none ends")
    func withoutSuccess() {
        let refused = PushAnswer.targetRefused("SENDER_ID_MISMATCH")
        var former = PushStanding()
        _ = former.decide(.delivered, to: "a", at: self.start, limits: self.limits)
        let late = self.start + .seconds(3600) + .milliseconds(1)
        for (start, moment) in [(PushStanding(), self.start), (former, late)] {
            var standing = start
            for account in ["a", "b"] {
                let decision = standing.decide(refused, to: account, at: moment, limits: self.limits)
                #expect(decision == .drop("SENDER_ID_MISMATCH"))
                #expect(standing.stopReason == nil)
            }
            let third = standing.decide(refused, to: "c", at: moment, limits: self.limits)
            #expect(third == .stop("SENDER_ID_MISMATCH", isNew: true))
            #expect(standing.stopReason == "SENDER_ID_MISMATCH")
        }
    }

    @Test("the refused targets of one account, or of two, never stop the dispatcher: the person has named the targets")
    func oneAccount() {
        let refused = PushAnswer.targetRefused("status 403")
        var standing = PushStanding()
        for number in 0..<100 {
            let account = number.isMultiple(of: 2) ? "a" : "b"
            let decision = standing.decide(refused, to: account, at: self.start, limits: self.limits)
            #expect(decision == .drop("status 403"))
        }
        #expect(standing.isOpen(at: self.start))
        _ = standing.decide(.delivered, to: "c", at: self.start, limits: self.limits)
        for _ in 0..<100 {
            let decision = standing.decide(refused, to: "a", at: self.start, limits: self.limits)
            #expect(decision == .endTarget(unlessChangedAfter: nil))
        }
        #expect(standing.isOpen(at: self.start))
    }

    @Test("a success between begins the count of accounts anew")
    func successBetween() {
        let refused = PushAnswer.targetRefused("status 403")
        var standing = PushStanding()
        for account in ["a", "b"] { _ = standing.decide(refused, to: account, at: self.start, limits: self.limits) }
        _ = standing.decide(.delivered, to: "d", at: self.start, limits: self.limits)
        let late = self.start + .seconds(7200)
        #expect(standing.decide(refused, to: "c", at: late, limits: self.limits) == .drop("status 403"))
        #expect(standing.stopReason == nil)
    }

    @Test("the tenth refused target in a row stops the dispatcher and does not end; a success between begins anew")
    func inARow() {
        let refused = PushAnswer.targetRefused("BadDeviceToken")
        var standing = PushStanding()
        for _ in 0..<2 {
            _ = standing.decide(.delivered, to: "a", at: self.start, limits: self.limits)
            for number in 1...9 {
                let decision = standing.decide(refused, to: "\(number)", at: self.start, limits: self.limits)
                #expect(decision == .endTarget(unlessChangedAfter: nil))
            }
        }
        let tenth = standing.decide(refused, to: "1", at: self.start, limits: self.limits)
        #expect(tenth == .stop("BadDeviceToken", isNew: true))
    }

    @Test("a target that the service has ended ends, whatever happened before")
    func ended() {
        var standing = PushStanding()
        _ = standing.decide(.dispatcherStopped("Forbidden"), to: "a", at: self.start, limits: self.limits)
        #expect(
            standing.decide(.targetEnded(unlessChangedAfter: self.start), to: "a", at: self.start, limits: self.limits)
                == .endTarget(unlessChangedAfter: self.start))
    }

    @Test("a stopped dispatcher tries one message after each pause, and a success ends the stop")
    func probes() {
        var standing = PushStanding()
        #expect(standing.takeTurn(at: self.start, limits: self.limits) == true)
        #expect(
            standing.decide(.dispatcherStopped("Forbidden"), to: "a", at: self.start, limits: self.limits)
                == .stop("Forbidden", isNew: true))
        let before = self.start + self.limits.stoppedPause - .milliseconds(1)
        #expect(!standing.isOpen(at: before))
        #expect(standing.takeTurn(at: before, limits: self.limits) == false)
        let after = self.start + self.limits.stoppedPause
        #expect(standing.takeTurn(at: after, limits: self.limits) == true)
        // The turn is one message's.
        #expect(standing.takeTurn(at: after, limits: self.limits) == false)
        #expect(
            standing.decide(.dispatcherStopped("Forbidden"), to: "a", at: after, limits: self.limits)
                == .stop("Forbidden", isNew: false))
        let next = after + self.limits.stoppedPause
        #expect(standing.takeTurn(at: next, limits: self.limits) == true)
        #expect(standing.decide(.delivered, to: "a", at: next, limits: self.limits) == .delivered)
        #expect(standing.stopReason == nil)
        #expect(standing.takeTurn(at: next, limits: self.limits) == true)
    }

    @Test("a refused target does not end while the dispatcher stands still, even after a recent success")
    func refusedWhileStopped() {
        var standing = PushStanding()
        _ = standing.decide(.delivered, to: "a", at: self.start, limits: self.limits)
        _ = standing.decide(.dispatcherStopped("Forbidden"), to: "a", at: self.start, limits: self.limits)
        #expect(
            standing.decide(.targetRefused("BadDeviceToken"), to: "a", at: self.start, limits: self.limits)
                == .stop("BadDeviceToken", isNew: false))
    }

    @Test("a wait and a refused message change nothing")
    func neutral() {
        var standing = PushStanding()
        _ = standing.decide(.delivered, to: "a", at: self.start, limits: self.limits)
        let before = standing
        let moment = self.start + .seconds(5)
        let wait = standing.decide(.wait(until: moment), to: "a", at: self.start, limits: self.limits)
        #expect(wait == .wait(until: moment))
        #expect(
            standing.decide(.messageRefused("PayloadTooLarge"), to: "a", at: self.start, limits: self.limits)
                == .drop("PayloadTooLarge"))
        #expect(standing == before)
    }
}
