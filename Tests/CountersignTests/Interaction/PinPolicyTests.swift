import Countersign
import CountersignTestKit
import Synchronization
import Testing
import UAF
import UAFClient

@Suite("Operations parity 96: safe PINs, at an enrolment and at a change", .overEachKeyAbility)
struct PinPolicyTests {
    private static let policy = PinPolicy(
        minLength: 4, maxLength: 8,
        rules: PinRule.simple + [
            .differentDigits(atLeast: 4), .repeats(atMost: 2), .runs(atMost: 3), .blockList(["246810"]),
        ])

    /// Each kind of refusal with PINs that cause it.
    private static let refused: [(PinEnrollmentError, [String])] = [
        (.invalidPinFormat, ["", "135", "135790246", "1357a9", "１３５７９０"]),
        (.unsafePin(.pattern), ["111111", "121212", "12341234"]), (.unsafePin(.row), ["1234", "987654", "890123"]),
        (.unsafePin(.date), ["311299", "24121990"]), (.unsafePin(.differentDigits(atLeast: 4)), ["822488", "7722774"]),
        (.unsafePin(.repeats(atMost: 2)), ["555124", "829994"]), (.unsafePin(.runs(atMost: 3)), ["123487", "843210"]),
        (.unsafePin(.blockList(["246810"])), ["246810"]),
    ]
    private static let accepted = ["135790", "8642", "24681024", "824193"]

    @Test("a policy names the rule that refuses a PIN, and accepts the others")
    func table() {
        for (reason, pins) in Self.refused {
            for pin in pins {
                #expect(Self.policy.refusal(of: pin) == reason, "\(pin)")
                #expect(!Self.policy.accepts(pin), "\(pin)")
            }
        }
        for pin in Self.accepted { #expect(Self.policy.refusal(of: pin) == nil && Self.policy.accepts(pin), "\(pin)") }
        // Without rules of the app, the length alone decides.
        #expect(PinPolicy().rules.isEmpty && PinPolicy().accepts("111111"))
    }

    @Test("an enrolment asks again with the rule, until a PIN obeys the policy")
    func enrolment() async throws {
        let world = try await World()
        let screen = Screen(Self.refused.flatMap(\.1) + ["135790"])
        let registration = try await world.registration(
            try await world.server.registration(for: "alice", policy: World.policy([[World.pin]])))
        _ = try await world.phone.ready(registration).pinEnroller(screen).execute()
        #expect(screen.refusals == Self.refused.flatMap { reason, pins in pins.map { _ in "\(reason)" } })
        _ = try await world.phone.authenticate(try await world.server.authentication())
        #expect(world.phone.person.asked.last?.lastError == nil)
    }

    @Test("a change asks again with the rule, and no refused PIN costs a try or tells if the present PIN is right")
    func change() async throws {
        let world = try await World()
        try await world.enroll()
        let screen = Screen(Self.refused.flatMap(\.1) + ["8642"], present: "135790", meanwhile: "000000")
        try await world.phone.client.operations.pinChange.username("alice").pinChanger(screen).execute()
        #expect(screen.refusals == Self.refused.flatMap { reason, pins in pins.map { _ in "\(reason)" } })
        #expect(screen.hasOnlySeenUnlocked)
        world.phone.person.script.pins = ["8642"]
        _ = try await world.phone.authenticate(try await world.server.authentication())
        #expect(world.phone.person.asked.last?.lastError == nil)
    }

    /// A person who tries one new PIN after another.
    private final class Screen: PinEnroller, PinChanger {
        private let present: String
        private let meanwhile: String
        private let seen: Mutex<(pins: [String], refusals: [String], statuses: [AuthenticatorProtectionStatus])>

        init(_ pins: [String], present: String = "", meanwhile: String = "") {
            self.present = present
            self.meanwhile = meanwhile
            self.seen = Mutex((pins, [], []))
        }

        var refusals: [String] { self.seen.withLock { $0.refusals } }
        var hasOnlySeenUnlocked: Bool { self.seen.withLock { $0.statuses.allSatisfy { $0 == .unlocked } } }

        func pinPolicy() -> PinPolicy { PinPolicyTests.policy }

        func enrollPin(context: PinEnrollmentContext, handler: PinEnrollmentHandler) {
            handler.pin(self.next(context.lastRecoverableError.map { "\($0)" }, .unlocked).new)
        }

        /// The present PIN is right only with the last new PIN.
        func changePin(context: PinChangeContext, handler: PinChangeHandler) {
            let next = self.next(
                context.lastRecoverableError.map { "\($0)" }, context.authenticatorProtectionStatus)
            handler.pins(old: next.isLast ? self.present : self.meanwhile, new: next.new)
        }

        private func next(_ refusal: String?, _ status: AuthenticatorProtectionStatus) -> (new: String, isLast: Bool) {
            self.seen.withLock { seen in
                if let refusal { seen.refusals.append(refusal) }
                seen.statuses.append(status)
                return (seen.pins.removeFirst(), seen.pins.isEmpty)
            }
        }
    }
}
