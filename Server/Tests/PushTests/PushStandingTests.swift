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
        #expect(standing.decide(.delivered, at: self.start, limits: self.limits) == .delivered)
        let later = self.start + .seconds(3600)
        #expect(
            standing.decide(.targetRefused("BadDeviceToken"), at: later, limits: self.limits)
                == .endTarget(unlessChangedAfter: nil))
        #expect(standing.stopReason == nil)
    }

    @Test("a refused target without a success, or with an older one, stops the dispatcher and does not end")
    func withoutSuccess() {
        var fresh = PushStanding()
        #expect(
            fresh.decide(.targetRefused("BadDeviceToken"), at: self.start, limits: self.limits)
                == .stop("BadDeviceToken", isNew: true))
        var former = PushStanding()
        _ = former.decide(.delivered, at: self.start, limits: self.limits)
        let late = self.start + .seconds(3600) + .milliseconds(1)
        #expect(
            former.decide(.targetRefused("SENDER_ID_MISMATCH"), at: late, limits: self.limits)
                == .stop("SENDER_ID_MISMATCH", isNew: true))
        #expect(former.stopReason == "SENDER_ID_MISMATCH")
    }

    @Test("the tenth refused target in a row stops the dispatcher and does not end; a success between begins anew")
    func inARow() {
        var standing = PushStanding()
        for _ in 0..<2 {
            _ = standing.decide(.delivered, at: self.start, limits: self.limits)
            for _ in 1...9 {
                #expect(
                    standing.decide(.targetRefused("BadDeviceToken"), at: self.start, limits: self.limits)
                        == .endTarget(unlessChangedAfter: nil))
            }
        }
        #expect(
            standing.decide(.targetRefused("BadDeviceToken"), at: self.start, limits: self.limits)
                == .stop("BadDeviceToken", isNew: true))
    }

    @Test("a target that the service has ended ends, whatever happened before")
    func ended() {
        var standing = PushStanding()
        _ = standing.decide(.dispatcherStopped("Forbidden"), at: self.start, limits: self.limits)
        #expect(
            standing.decide(.targetEnded(unlessChangedAfter: self.start), at: self.start, limits: self.limits)
                == .endTarget(unlessChangedAfter: self.start))
    }

    @Test("a stopped dispatcher tries one message after each pause, and a success ends the stop")
    func probes() {
        var standing = PushStanding()
        #expect(standing.takeTurn(at: self.start, limits: self.limits) == true)
        #expect(
            standing.decide(.dispatcherStopped("Forbidden"), at: self.start, limits: self.limits)
                == .stop("Forbidden", isNew: true))
        let before = self.start + self.limits.stoppedPause - .milliseconds(1)
        #expect(!standing.isOpen(at: before))
        #expect(standing.takeTurn(at: before, limits: self.limits) == false)
        let after = self.start + self.limits.stoppedPause
        #expect(standing.takeTurn(at: after, limits: self.limits) == true)
        // The turn is one message's.
        #expect(standing.takeTurn(at: after, limits: self.limits) == false)
        #expect(
            standing.decide(.dispatcherStopped("Forbidden"), at: after, limits: self.limits)
                == .stop("Forbidden", isNew: false))
        let next = after + self.limits.stoppedPause
        #expect(standing.takeTurn(at: next, limits: self.limits) == true)
        #expect(standing.decide(.delivered, at: next, limits: self.limits) == .delivered)
        #expect(standing.stopReason == nil)
        #expect(standing.takeTurn(at: next, limits: self.limits) == true)
    }

    @Test("a refused target does not end while the dispatcher stands still, even after a recent success")
    func refusedWhileStopped() {
        var standing = PushStanding()
        _ = standing.decide(.delivered, at: self.start, limits: self.limits)
        _ = standing.decide(.dispatcherStopped("Forbidden"), at: self.start, limits: self.limits)
        #expect(
            standing.decide(.targetRefused("BadDeviceToken"), at: self.start, limits: self.limits)
                == .stop("BadDeviceToken", isNew: false))
    }

    @Test("a wait and a refused message change nothing")
    func neutral() {
        var standing = PushStanding()
        _ = standing.decide(.delivered, at: self.start, limits: self.limits)
        let before = standing
        let moment = self.start + .seconds(5)
        #expect(standing.decide(.wait(until: moment), at: self.start, limits: self.limits) == .wait(until: moment))
        #expect(
            standing.decide(.messageRefused("PayloadTooLarge"), at: self.start, limits: self.limits)
                == .drop("PayloadTooLarge"))
        #expect(standing == before)
    }
}
