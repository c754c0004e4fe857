import ArgumentParser
import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAFClient
import _Primitives

@testable import PhoneCommand

@Suite("Operations parity 65, 66, 69: the terminal phone changes, checks and repairs what servers know of it")
struct DeviceCommandTests {
    /// One phone that is enrolled for alice, and a server that knows devices.
    private struct Phone {
        let server: VirtualServer
        let device: PhoneDevice
        let home: String

        init(home: String, isEnrolled: Bool = true) async throws {
            let address = try #require(URL(string: "https://id.example.com"))
            let clock = FakeClock()
            self.home = home
            self.server = VirtualServer(baseURL: address)
            await self.server.serveDevices { clock.now() }
            self.device = try PhoneDevice(
                try PhoneOptions.parse(["--home", home]), network: self.server, clock: clock)
            guard isEnrolled else { return }
            let payload = try await self.server.registration(for: "alice", by: .pin)
            let client = try await self.device.client(ServerAddress(address))
            guard
                case .registration(let registration) = try await client.operations.outOfBandOperation.payload(payload)
                    .execute()
            else { throw Refusal.failed("test", "not a registration") }
            var script = Self.script(["135790"])
            script.approveEnrolment()
            let person = PhoneHolder(report: try self.report("enrolment"), script: script)
            let interaction = PersonInteraction(person: person, isRegistration: true)
            _ =
                try await registration.deviceInformation(DeviceInformation(name: "Phone"))
                .answered(by: interaction).execute() as RegistrationResult
        }

        static func script(_ lines: [String]) -> ScriptedAnswers {
            var left = lines
            return ScriptedAnswers(secret: .pin) { left.isEmpty ? nil : left.removeFirst() }
        }

        private func report(_ name: String, _ language: any MessageLanguage = EnglishMessages()) throws -> Report {
            let path = "\(self.home)/\(name).jsonl"
            _ = FileManager.default.createFile(atPath: path, contents: nil)
            return Report(writingLinesTo: try #require(FileHandle(forWritingAtPath: path)), language: language)
        }

        /// Runs a command. Returns the lines that the command wrote, and its refusal.
        func run(
            in language: any MessageLanguage = EnglishMessages(), _ body: (DeviceCare) async throws -> Void
        ) async throws -> (said: String, refusal: Refusal?) {
            var refusal: Refusal?
            let care = DeviceCare(device: self.device, report: try self.report("device", language))
            do { try await body(care) } catch { refusal = care.report.refusal(error) }
            return (try String(contentsOfFile: "\(self.home)/device.jsonl", encoding: .utf8), refusal)
        }

        /// Runs `device push` with the options and an address.
        func push(_ options: [String], _ address: PushAddress? = nil) async throws -> (
            said: String, refusal: Refusal?
        ) {
            let command = try DeviceCommand.Push.parse(options + ["--home", self.home])
            return try await self.run { try await command.run(on: self.device, address, $0.report) }
        }

        func target() async throws -> VirtualDispatchTarget {
            try #require(await self.server.dispatchTarget(of: "alice"))
        }
    }

    private func withPhone(isEnrolled: Bool = true, _ body: (Phone) async throws -> Void) async throws {
        try await withPhoneFolder { home async throws in
            try await body(try await Phone(home: home, isEnrolled: isEnrolled))
        }
    }

    @Test("A failure is told in the person's language, as a line and as the end of the command")
    func language() async throws {
        try await self.withPhone { phone in
            await phone.server.intercept { _ in throw TransportError(.unreachable, "down") }
            let checked = try await phone.run(in: GermanMessages()) { try await $0.check() }
            let sentence = OperationError(.networkError).message(in: GermanMessages()).text
            #expect(checked.refusal?.sentence == sentence && checked.said.contains(sentence))
        }
    }

    @Test("A new name is at the server; a name that another device has is refused with its own reason")
    func rename() async throws {
        try await self.withPhone { phone in
            let renamed = try await phone.run { try await $0.change { $0.name("Work phone") } }
            #expect(renamed.refusal == nil && renamed.said.contains(#""outcome":"changed""#))
            #expect(try await phone.target().name == "Work phone")
            await phone.server.take(name: "Tablet", of: "alice")
            let taken = try await phone.run { try await $0.change { $0.name("Tablet") } }
            #expect(taken.refusal?.reason == "name-already-exists" && taken.refusal?.status == .refused)
            #expect(taken.refusal?.sentence.contains("device rename") == true)
            let shown = try await phone.run { try await $0.show() }
            #expect(shown.said.contains(#""name":"Work phone""#))
        }
    }

    @Test("The push address and the setting reach the server, and no line shows the address")
    func push() async throws {
        try await self.withPhone { phone in
            let address = PushAddress(dispatcher: "firebase-cloud-messaging", address: "push-token-1")
            let pushed = try await phone.push(["--dispatcher", address.dispatcher, "--off"], address)
            #expect(pushed.refusal == nil)
            var target = try await phone.target()
            #expect(target.address == "push-token-1" && !target.isPushEnabled)
            let shown = try await phone.run { try await $0.show() }
            #expect(shown.said.contains(#""isPushEnabled":false"#) && shown.said.contains("firebase-cloud-messaging"))
            #expect(shown.said.contains(target.id) && !(pushed.said + shown.said).contains("push-token-1"))
            _ = try await phone.push(["--remove", "--on"])
            target = try await phone.target()
            #expect(target.address == nil && target.isPushEnabled)
            let unknown = PushAddress(dispatcher: "pigeons", address: "loft-1")
            #expect(try await phone.push(["--dispatcher", "pigeons"], unknown).refusal?.reason == "dispatcher-unknown")
        }
    }

    @Test("Options of push that exclude each other, and none, are a mistake of the command line")
    func pushOptions() {
        for options in [[], ["--on", "--off"], ["--remove", "--dispatcher", "x"]] {
            #expect(throws: (any Error).self) { _ = try DeviceCommand.Push.parse(options) }
        }
    }

    @Test("A difference is listed and repaired, and the next check is empty")
    func repairs() async throws {
        try await self.withPhone { phone in
            await phone.server.changeDispatchTarget(of: "alice") { _ in nil }
            let found = try await phone.run { try await $0.check() }
            #expect(found.refusal == nil && found.said.contains(#""kind":"dispatch-target""#))
            #expect(found.said.contains(#""missingAt":"server""#))
            let repaired = try await phone.run { try await $0.sync(Phone.script([])) }
            #expect(repaired.refusal == nil && repaired.said.contains(#""event":"repaired""#))
            #expect(repaired.said.contains(#""outcome":"repaired""#))
            let again = try await phone.run { try await $0.check() }
            #expect(again.refusal == nil && !again.said.contains("mismatch"))
        }
    }

    @Test("Device keys that the server does not know cost one PIN")
    func keys() async throws {
        try await self.withPhone { phone in
            await phone.server.forgetDeviceKeys(of: "alice")
            let found = try await phone.run { try await $0.check() }
            #expect(found.said.contains(#""kind":"device-keys""#))
            let repaired = try await phone.run { try await $0.sync(Phone.script(["135790"])) }
            #expect(repaired.refusal == nil && repaired.said.contains(#""kind":"device-keys""#))
            #expect(try await !phone.run { try await $0.check() }.said.contains("mismatch"))
        }
    }

    @Test("A server that does not answer is exit code 5, with a line of its account")
    func unreachable() async throws {
        try await self.withPhone { phone in
            await phone.server.intercept { _ in throw TransportError(.unreachable, "no network") }
            let checked = try await phone.run { try await $0.check() }
            let repaired = try await phone.run { try await $0.sync(Phone.script([])) }
            for result in [checked, repaired] {
                #expect(result.refusal?.status == .unreachable)
                #expect(result.said.contains(#""event":"failure""#) && result.said.contains(#""account":"alice""#))
            }
        }
    }

    @Test("A phone without an account has nothing to show")
    func notEnrolled() async throws {
        try await self.withPhone(isEnrolled: false) { phone in
            let shown = try await phone.run { try await $0.show() }
            #expect(shown.refusal?.status == .notFound && shown.refusal?.reason == "not-enrolled")
        }
    }
}
