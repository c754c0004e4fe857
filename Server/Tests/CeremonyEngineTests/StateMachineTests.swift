import CeremonyEngine
import Records
import Settings
import Testing
import UAF
import _Primitives

/// The machines are pure: they are held against the whole table here, and through the engine elsewhere.
@Suite("Ceremony state machines: every state and every event")
struct StateMachineTests {
    private static let stages: [CeremonyStage] =
        [.created, .claimed, .answering] + CeremonyRecord.Outcome.allCases.map { .ended($0) }
    private static let events: [CeremonyEvent] =
        DispatchChannel.allCases.map { .redeem($0) } + [
            .accept, .deny, .fail, .continueInBrowser(isStartingBrowser: true),
            .continueInBrowser(isStartingBrowser: false), .confirm(isRightNumber: true),
            .confirm(isRightNumber: false), .expire, .cancel,
        ]

    private static let channels: [String: DispatchChannel] = [
        "sign-in by link": .link, "sign-in by QR code with a link": .linkQRCode, "dispatch by link": .link,
        "dispatch by QR code with a link": .linkQRCode,
    ]

    /// What each machine allows; every pair that is not here is refused and changes nothing.
    private static func allowed(_ kind: String) -> [CeremonyStage: [CeremonyEvent: (CeremonyStage, CeremonyVerdict)]] {
        var table: [CeremonyStage: [CeremonyEvent: (CeremonyStage, CeremonyVerdict)]] = [:]
        for stage in [CeremonyStage.created, .claimed, .answering] {
            table[stage] = [.expire: (.ended(.expired), .proceed), .cancel: (.ended(.cancelled), .proceed)]
        }
        for channel in DispatchChannel.allCases { table[.created]?[.redeem(channel)] = (.claimed, .proceed) }
        table[.claimed]?[.deny] = (.ended(.denied), .proceed)
        table[.claimed]?[.fail] = (.ended(.failed), .proceed)
        switch kind {
        case "registration":
            table[.claimed]?[.accept] = (.answering, .proceed)
            table[.answering]?[.confirm(isRightNumber: true)] = (.ended(.succeeded), .proceed)
            table[.answering]?[.confirm(isRightNumber: false)] = (.ended(.failed), .end(.wrongNumber))
        case "sign-in by link", "sign-in by QR code with a link":
            table[.claimed]?[.accept] = (.answering, .proceed)
            table[.answering]?[.continueInBrowser(isStartingBrowser: true)] = (.ended(.succeeded), .proceed)
        case "transaction":
            table[.claimed]?[.accept] = (.ended(.succeeded), .proceed)
            table[.answering] = [:]
        case "deregistration":
            for channel in DispatchChannel.allCases {
                table[.created]?[.redeem(channel)] = (.ended(.succeeded), .proceed)
            }
            table[.claimed] = [:]
            table[.answering] = [:]
        case "identity":
            // A phone claims, answers and gives up by the session's own requests.
            for stage in [CeremonyStage.created, .claimed, .answering] {
                table[stage] = [
                    .expire: (.ended(.expired), .proceed), .cancel: (.ended(.cancelled), .proceed),
                    .fail: (.ended(.failed), .proceed),
                ]
            }
            table[.answering]?[.continueInBrowser(isStartingBrowser: true)] = (.ended(.succeeded), .proceed)
        default:
            table[.claimed]?[.accept] = (.ended(.succeeded), .proceed)
            table[.answering]?[.continueInBrowser(isStartingBrowser: true)] = (.ended(.succeeded), .proceed)
        }
        return table
    }

    private func run(_ kind: String, _ stage: CeremonyStage, _ event: CeremonyEvent) -> (CeremonyStage, CeremonyVerdict)
    {
        switch kind {
        case "registration":
            var machine = RegistrationStateMachine(stage)
            let verdict = machine.handle(event)
            return (machine.stage, verdict)
        case "transaction":
            var machine = TransactionStateMachine(stage)
            let verdict = machine.handle(event)
            return (machine.stage, verdict)
        case "deregistration":
            var machine = DeregistrationStateMachine(stage)
            let verdict = machine.handle(event)
            return (machine.stage, verdict)
        case "identity":
            var machine = IdentityStateMachine(stage)
            let verdict = machine.handle(event)
            return (machine.stage, verdict)
        default:
            var machine = AuthenticationStateMachine(
                stage, channel: Self.channels[kind] ?? .qrCode, isBoundToBrowser: !kind.hasPrefix("dispatch"))
            let verdict = machine.handle(event)
            return (machine.stage, verdict)
        }
    }

    @Test(arguments: [
        "registration", "transaction", "deregistration", "identity", "sign-in by link",
        "sign-in by QR code with a link", "sign-in by QR code", "dispatch by link", "dispatch by QR code with a link",
    ])
    func everyPairDoesWhatTheTableSays(kind: String) {
        let table = Self.allowed(kind)
        for stage in Self.stages {
            for event in Self.events {
                let (next, verdict) = self.run(kind, stage, event)
                if let expected = table[stage]?[event] {
                    #expect(next == expected.0 && verdict == expected.1, "\(stage) \(event)")
                } else {
                    guard case .refuse = verdict else {
                        Issue.record("\(stage) \(event) is not refused")
                        continue
                    }
                    // Where a kind never stands, such a row counts as failed.
                    let isImpossible =
                        ["transaction", "deregistration"].contains(kind) && stage == .answering
                        || kind == "deregistration" && stage == .claimed
                    let unchanged = isImpossible ? .ended(.failed) : stage
                    #expect(next == unchanged, "\(stage) \(event)")
                }
            }
        }
    }

    @Test func anEventAfterThePhasesTimeIsRefused() {
        let start = Timestamp(seconds: 1_800_000_000)
        let lifetime = PhaseLifetime(.authentication, Limits())
        var record = CeremonyRecord(
            id: "c", kind: .authentication, createdAt: start, expiresAt: start + .seconds(60),
            detail: CeremonyDetail())
        let before = record
        #expect(record.handle(.redeem(.qrCode), at: start + .seconds(60), lifetime: lifetime) == .refuse(.over))
        #expect(record == before)
        #expect(record.handle(.redeem(.qrCode), at: start + .seconds(59), lifetime: lifetime) == .proceed)
        #expect(record.expiresAt == start + .seconds(59) + Limits().claimedLifetime)
        #expect(record.channel == .qrCode)
        #expect(record.handle(.expire, at: start + .seconds(999), lifetime: lifetime) == .proceed)
        #expect(record.outcome == .expired)
    }
}
