import ArgumentParser
import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@testable import PhoneCommand

@Suite("Operations parity 46, 47, 49: the terminal phone changes an account's PIN and password")
struct SecretChangeCommandTests {
    /// One phone that is enrolled for alice, and the server that it needs for nothing else.
    private struct Phone {
        let server: VirtualServer
        let device: PhoneDevice
        let clock: FakeClock
        let home: String

        init(home: String, _ kind: OwnSecret.Kind) async throws {
            let address = try #require(URL(string: "https://id.example.com"))
            self.home = home
            self.server = VirtualServer(baseURL: address)
            self.clock = FakeClock()
            self.device = try PhoneDevice(
                try PhoneOptions.parse(["--home", home]), network: self.server, clock: self.clock)
            let payload = try await self.server.registration(for: "alice", by: kind == .pin ? .pin : .password)
            let client = try await self.device.client(ServerAddress(address))
            guard
                case .registration(let registration) = try await client.operations.outOfBandOperation.payload(payload)
                    .execute()
            else { throw Refusal.failed("test", "not a registration") }
            var script = ScriptedAnswers(secret: kind.name, lines: Self.lines([kind.present]))
            script.approveEnrolment()
            let person = PhoneHolder(report: try self.report("enrolment"), script: script)
            let interaction = PersonInteraction(person: person, isRegistration: true)
            _ =
                try await registration.deviceInformation(DeviceInformation(name: "Phone"))
                .answered(by: interaction).execute() as RegistrationResult
        }

        static func lines(_ lines: [String]) -> () -> String? {
            var left = lines
            return { left.isEmpty ? nil : left.removeFirst() }
        }

        private func report(_ name: String) throws -> Report {
            let path = "\(self.home)/\(name).jsonl"
            _ = FileManager.default.createFile(atPath: path, contents: nil)
            return Report(writingLinesTo: try #require(FileHandle(forWritingAtPath: path)))
        }

        /// Runs the command with lines at its standard input. Returns the lines that it wrote, and its refusal.
        func change(_ kind: OwnSecret.Kind, of username: String = "alice", _ lines: [String]?) async throws -> (
            said: String, refusal: Refusal?
        ) {
            let script = ScriptedAnswers(secret: lines == nil ? nil : kind.name, lines: Self.lines(lines ?? []))
            let secret = OwnSecret(username: username, script: script, report: try self.report("change"))
            var refusal: Refusal?
            do { try await secret.change(kind, on: self.device) } catch { refusal = Refusal(error) }
            return (try String(contentsOfFile: "\(self.home)/change.jsonl", encoding: .utf8), refusal)
        }
    }

    private func withPhone(_ kind: OwnSecret.Kind, _ body: (Phone) async throws -> Void) async throws {
        try await withPhoneFolder { home async throws in try await body(try await Phone(home: home, kind)) }
    }

    @Test("Without a network the secret is changed, and no line says one of the two", arguments: OwnSecret.Kind.all)
    func changes(kind: OwnSecret.Kind) async throws {
        try await self.withPhone(kind) { phone in
            await phone.server.intercept { _ in throw TransportError(.unreachable, "no network") }
            let requests = await phone.server.requests.count
            let changed = try await phone.change(kind, [kind.present, kind.next])
            #expect(changed.refusal == nil)
            #expect(changed.said.contains(#""outcome":"changed""#) && changed.said.contains(#""account":"alice""#))
            #expect(!changed.said.contains(kind.present) && !changed.said.contains(kind.next))
            #expect(await phone.server.requests.count == requests)
            // The former one is wrong now, and the new one is right.
            let again = try await phone.change(kind, [kind.present, kind.other])
            #expect(again.refusal?.reason == "wrong-\(kind.name.rawValue)")
            #expect(try await phone.change(kind, [kind.next, kind.other]).refusal == nil)
        }
    }

    @Test("A new one that is refused says why, with exit code 1, and costs no try", arguments: OwnSecret.Kind.all)
    func refusedNew(kind: OwnSecret.Kind) async throws {
        try await self.withPhone(kind) { phone in
            let equal = try await phone.change(kind, [kind.present, kind.present])
            #expect(equal.refusal?.reason == "unchanged-\(kind.name.rawValue)" && equal.refusal?.status == .refused)
            let short = try await phone.change(kind, ["not checked", "123"])
            #expect(short.refusal?.reason == "invalid-\(kind.name.rawValue)-format")
            // A script with further lines goes on.
            let further = try await phone.change(kind, [kind.present, "123", kind.present, kind.next])
            #expect(further.refusal == nil && !further.said.contains("remainingTries"))
            #expect(further.said.contains("invalid-\(kind.name.rawValue)-format"))
        }
    }

    @Test("Wrong old ones lock, with exit code 4", arguments: OwnSecret.Kind.all)
    func locks(kind: OwnSecret.Kind) async throws {
        try await self.withPhone(kind) { phone in
            for (tries, seconds) in [(4, 0), (3, 0), (2, 60), (1, 180)] {
                let wrong = try await phone.change(kind, [kind.other, kind.next])
                #expect(wrong.refusal?.reason == "wrong-\(kind.name.rawValue)")
                #expect(wrong.said.contains(#""remainingTries":\#(tries)"#))
                if seconds > 0 {
                    let early = try await phone.change(kind, [kind.present, kind.next])
                    #expect(early.refusal?.reason == "cooling-down")
                }
                phone.clock.advance(by: .seconds(seconds))
            }
            for secret in [kind.other, kind.present] {
                let locked = try await phone.change(kind, [secret, kind.next])
                #expect(locked.refusal?.status == .lockedOut && locked.refusal?.reason == "locked-out")
            }
        }
    }

    @Test("No such account, and an account without the secret, have exit code 3 and their own reasons")
    func missing() async throws {
        try await self.withPhone(.pin) { phone in
            let stranger = try await phone.change(.pin, of: "bob", ["135790", "864209"])
            #expect(stranger.refusal?.status == .notFound && stranger.refusal?.reason == "no-such-account")
            let none = try await phone.change(.password, ["135790", "864209"])
            #expect(none.refusal?.status == .notFound && none.refusal?.reason == "password-not-enrolled")
        }
        try await self.withPhone(.password) { phone in
            let none = try await phone.change(.pin, ["135790", "864209"])
            #expect(none.refusal?.status == .notFound && none.refusal?.reason == "pin-not-enrolled")
        }
    }

    @Test("Without a keyboard and without lines, the usage says which option gives them", arguments: OwnSecret.Kind.all)
    func noLines(kind: OwnSecret.Kind) async throws {
        try await self.withPhone(kind) { phone in
            for lines in [nil, [], [kind.present]] as [[String]?] {
                let refusal = try await phone.change(kind, lines).refusal
                #expect(refusal?.status == .usage)
                #expect(refusal?.sentence.contains("--\(kind.name.rawValue)-stdin") == true)
            }
            #expect(try await phone.change(kind, [kind.present, kind.next]).refusal == nil)
        }
    }

    @Test("A lock's sentence names the way out", arguments: OwnSecret.Kind.all)
    func lockedSentence(kind: OwnSecret.Kind) {
        let refusal = Refusal(OperationError(kind == .pin ? .pinLocked : .passwordLocked))
        #expect(refusal.status == .lockedOut && refusal.sentence.contains("countersign-phone enroll LINK"))
    }

    @Test("The help says where the secrets come from")
    func help() {
        for text in [
            PhoneCommand.helpMessage(for: PinCommand.Change.self, columns: 10_000),
            PhoneCommand.helpMessage(for: PasswordCommand.Change.self, columns: 10_000),
        ] {
            #expect(text.contains("-stdin") && text.contains("never taken from the command line"))
            #expect(text.contains("<username>"))
        }
    }
}

extension OwnSecret.Kind {
    fileprivate static var all: [Self] { [.pin, .password] }
    fileprivate var name: AuthenticatorName { self == .pin ? .pin : .password }
    fileprivate var present: String { self == .pin ? "135790" : "lantern street 9" }
    fileprivate var next: String { self == .pin ? "864209" : "harbour bridge 4" }
    fileprivate var other: String { self == .pin ? "975318" : "another password" }
}
