import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HummingbirdTesting
import Testing
import _Primitives

@Suite("Recorded runs of personalised identities (founding decision, Recorded flows)")
struct IdentityRunTests {
    private static let pin = "258036"
    private static let personalization: [TraceEvent] = [
        .activationOpened, .activationDescribed, .activationProofSent, .activationProofJudged, .activationKeysSent,
        .activationEnrolled,
    ]
    private static let step: [TraceEvent] = [.sessionClaimed, .sessionDescribed, .answersSent, .answersJudged]

    /// What server and phone have recorded.
    private static func texts(_ stage: IdentityStage) throws -> [String] {
        try ["server-trace", "phone-trace"].map { try String(contentsOfFile: "\(stage.folder)/\($0)", encoding: .utf8) }
    }

    @Test("A personalisation is drawn from its code to the receipt; a wrong PIN is a verdict, and a refusal no arrow")
    func personalization() async throws {
        try await IdentityStage.run { stage async throws in
            let phone = try await stage.phone()
            let code = try await stage.offer(pin: Self.pin).code
            await #expect(throws: CountersignLockoutError.self) { () async throws in
                try await phone.personalize(code, pin: "852963")
            }
            // It rests: the next try is refused before its PIN was judged.
            await #expect(throws: CountersignError.self) { () async throws in
                try await phone.personalize(code, pin: Self.pin)
            }
            stage.server.clock.advance(by: .seconds(6))
            try await phone.personalize(code, pin: Self.pin)
            let run = try SequenceDiagram(files: try Self.texts(stage).reversed())
            #expect(
                run.events
                    == Array(Self.personalization.prefix(4)) + [.activationOpened] + Self.personalization)
            #expect(
                try run.only([.activationKeysSent, .activationEnrolled]).mermaid() == """
                    sequenceDiagram
                        participant server as Countersign
                        participant phone as Phone
                        phone->>server: the device's and its factors' keys, sealed
                        server-->>phone: the receipt, signed

                    """)
        }
    }

    @Test("A sign-in is drawn from its code to the service's, with what phone and server say to each other in between")
    func signIn() async throws {
        try await IdentityStage.run { stage async throws in
            let phone = try await stage.personalizedPhone(pin: Self.pin)
            let browser = TestBrowser(stage.client)
            let (code, request) = try await stage.code(in: browser)
            try #require(try await phone.authenticate(code, pin: Self.pin).isUserLogin)
            _ = try await browser.get("/sign-in/wait/events?request=\(request)")
            _ = try await stage.party.complete(request, in: browser)
            let texts = try Self.texts(stage)
            let diagram = try SequenceDiagram(files: texts.reversed())
            #expect(
                diagram.events == Self.personalization + [.authorizationRequested, .codeShown] + Self.step + [
                    .factorsSent, .factorsJudged, .approvalAnnounced, .signInCompleted, .authorizationCodeSent,
                    .tokensIssued,
                ])
            #expect(
                try diagram.only([.sessionClaimed, .factorsSent, .factorsJudged]).mermaid() == """
                    sequenceDiagram
                        participant server as Countersign
                        participant phone as Phone
                        phone->>server: claim the code's session, with the device's proof
                        phone->>server: the document, signed by factors and sealed
                        server-->>phone: the verdict, signed

                    """)
            // A line has a time, names and numbers: no place for anything that was sent.
            for line in texts.joined().split(separator: "\n") {
                guard case .object(let object) = try JSON(parsing: String(line)) else { throw OtherProcess() }
                let known: Set = ["time", "trace", "recorder", "sequence", "event", "cause"]
                #expect(known.isSuperset(of: object.members.map(\.name)))
                #expect(try object.requiredString("trace").wholeMatch(of: /[0-9a-f]{32}/) != nil)
            }
        }
    }

    @Test("Wrong factors are a verdict, too; a request that is refused is answered by no arrow")
    func refused() async throws {
        try await IdentityStage.run { stage async throws in
            let phone = try await stage.personalizedPhone(pin: Self.pin)
            let browser = TestBrowser(stage.client)
            let (code, request) = try await stage.code(in: browser)
            let info = try await phone.prepare(try phone.authenticationData(code))
            _ = try #require(try await phone.finish(info, pin: "852963").lockout, "a wrong PIN was taken")
            _ = try await browser.post("/sign-in/cancel", form: "request=\(request)")
            stage.server.clock.advance(by: .seconds(60))
            await #expect(throws: CountersignError.self) { () async throws in
                _ = try await phone.finish(info, pin: Self.pin)
            }
            let run = try SequenceDiagram(files: try Self.texts(stage))
            #expect(
                run.events.filter { $0.participants.from == .phone || $0.participants.to == .phone }
                    == Self.personalization + Self.step + [.factorsSent, .factorsJudged, .factorsSent])
        }
    }
}
