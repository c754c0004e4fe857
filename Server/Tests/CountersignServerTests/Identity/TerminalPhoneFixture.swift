import Accounts
import ArgumentParser
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HummingbirdTesting
import OAuthProvider
import Records
import Synchronization
import Testing
import UAFClient
import _Primitives

@testable import PhoneCommand

/// A person with the terminal phone, in front of a whole server with a service of personalised identities.
struct TerminalPhoneFixture: Sendable {
    let server: ServerFixture
    let client: any TestClientProtocol
    let party: RelyingParty
    let browser: TestBrowser
    /// What the server has answered the phone.
    let answers = PhoneAnswers()
    private let home: String

    /// What one command of the phone came to.
    struct Outcome {
        /// Its lines.
        let lines: [JSONObject]
        /// Why it did not do what it was asked to; `nil` where it did.
        let refusal: Refusal?

        /// The refusal's name for scripts.
        var reason: String? { self.refusal?.reason }

        /// The last line of that event.
        func line(_ event: String) throws -> JSONObject {
            try #require(self.lines.last { (try? $0.string("event")) == event }, "nothing was said of \(event)")
        }
    }

    /// A service in two roles, of different factors.
    static let profile: JSONObject = [
        "roles": .array([
            .resident, .role("official", "Official", factors: [["biometric", "device"], ["pin", "device"]]),
        ]),
        "attributes": .object(["givenName": .string("required"), "email": .string("required")]),
    ]

    /// A folder for a phone, which ``run(sendsMail:home:configure:_:)`` deletes.
    static func newHome() -> String { NSTemporaryDirectory() + "phone-" + RandomSource.system.token(byteCount: 8) }

    /// Runs a test with a person who has two addresses, and no first name.
    static func run(
        sendsMail: Bool = true, home: String = Self.newHome(),
        configure: (inout ServerAssembly.Configuration) -> Void = { _ in },
        _ test: @Sendable (Self) async throws -> Void
    ) async throws {
        let server = try await ServerFixture(sendsMail: sendsMail, configure: configure)
        defer { try? FileManager.default.removeItem(atPath: home) }
        try await server.withPublicClient { client in
            let party = try await server.service(Self.profile)
            try await server.createAlice(home: "alice@home.example", office: "alice@office.example")
            try await test(
                Self(server: server, client: client, party: party, browser: TestBrowser(client), home: home))
        }
    }

    /// A command of the phone, with what it is given on the standard input.
    ///
    /// - Parameter body: What the command does, once it has its phone and its person.
    func phone(
        _ answers: [String] = [], _ identity: [String] = [], lines: [String] = [], named name: String = "",
        _ body: (IdentityPhone, IdentityHolder) async throws -> Void
    ) async throws -> Outcome {
        var left = lines
        return try await self.command(named: name) { device, options, report in
            let person = try IdentityHolder(
                try AnswerOptions.parse(answers + (lines.isEmpty ? [] : ["--pin-stdin"])),
                try IdentityOptions.parse(identity), report, lines: { left.isEmpty ? nil : left.removeFirst() })
            try await body(try IdentityPhone(options, report, device: device), person)
        }
    }

    /// Makes the phone alice's for operations too, with a PIN that it verifies itself.
    func enrolForOperations(pin: String) async throws {
        let enrolments = self.server.assembly.ceremonies.enrolments
        let enrolment = try await enrolments.createEnrolmentLink(username: "alice", policy: nil, by: "test")
        let outcome = try await self.command { device, options, report in
            let run = OutOfBandRun(
                code: enrolment.link, deviceName: "Terminal", answers: try AnswerOptions.parse(["--pin", pin]),
                phone: options)
            try await run.answer(try CodeInput(argument: enrolment.link), on: device, report)
        }
        #expect(outcome.refusal == nil)
        let number = try outcome.line("confirmation").requiredString("number")
        _ = try await enrolments.confirmEnrolment(id: enrolment.id, number: number, by: "test")
    }

    /// `countersign-phone inbox`.
    func inbox(_ arguments: String...) async throws -> Outcome {
        let command = try InboxCommand.parse(arguments)
        return try await self.command { device, _, report in try await command.run(on: device, report) }
    }

    /// `countersign-phone device approve alice`, whose person types the number that `number` returns.
    func approve(_ arguments: [String], number: @escaping @Sendable () async -> String?) async throws -> Outcome {
        let command = try ApproveDeviceCommand.parse(["alice"] + arguments)
        return try await self.command { device, options, report in
            let person = OwnPerson(username: "alice", answers: try AnswerOptions.parse(arguments), phone: options)
            try await command.run(on: try await person.client(on: device), report, number: number)
        }
    }

    /// `countersign-phone receipts`.
    func receipts(_ arguments: String...) async throws -> Outcome {
        let command = try ReceiptsCommand.parse(arguments)
        return try await self.command { device, _, report in try await command.run(on: device, report) }
    }

    private func command(
        named name: String = "", _ body: (PhoneDevice, PhoneOptions, Report) async throws -> Void
    ) async throws -> Outcome {
        let path = NSTemporaryDirectory() + "lines-" + RandomSource.system.token(byteCount: 8)
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let report = Report(writingLinesTo: try #require(FileHandle(forWritingAtPath: path)))
        let options = try PhoneOptions.parse(["--home", self.home + name, "--json"])
        var refusal: Refusal?
        do {
            let device = try PhoneDevice(
                options,
                network: RecordedTransport(network: RouterTransport(client: self.client), answers: self.answers),
                clock: self.server.clock,
                waiting: { [clock = self.server.clock] in clock.advance(by: $0) })
            try await body(device, options, report)
        } catch {
            refusal = Refusal(error)
        }
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let said = text.split(separator: "\n").compactMap { line -> JSONObject? in
            guard case .object(let object)? = try? JSON(parsing: Array(line.utf8)) else { return nil }
            return object
        }
        return Outcome(lines: said, refusal: refusal)
    }

    /// `countersign-phone authenticate`, with the phone's only identity. Throws where the arguments are none.
    func authenticate(_ answers: [String], _ arguments: [String], lines: [String]) async throws -> Outcome {
        let options = try InAppOptions.parse(arguments)
        return try await self.phone(answers, lines: lines) { phone, person async throws in
            try await InAppSignIn(phone: phone, person: person).run(options)
        }
    }

    /// What an app on the phone does with the SDK and the phone's only identity. Throws what the phone is refused with.
    func app(_ body: (CountersignSDK, PersonalizedIdentity) async throws -> Void) async throws {
        let outcome = try await self.phone { phone, _ async throws in
            let (sdk, identity) = try await phone.identity()
            try await body(sdk, identity)
        }
        if let refusal = outcome.refusal { throw refusal }
    }

    /// Has the phone claim the session of a code, and leave it there.
    func claim(_ code: String) async throws {
        try await self.app { sdk, _ async throws in
            let data = try sdk.common.parseProcessInitializationData(code).authenticationData
            _ = try await sdk.authenticator.startAuthentication(data: data)
        }
    }

    /// An activation of alice's, whose PIN is chosen.
    func offer(pin: String = "258036") async throws -> ActivationOffer {
        try await self.server.offer(pin: pin)
    }

    /// Has the phone personalised.
    func enroll(
        _ code: String? = nil, pins: [String] = ["258036"], biometric: Bool? = nil, named name: String = ""
    ) async throws -> Outcome {
        let code = if let code { code } else { try await self.offer().code }
        return try await self.phone(["--approve"], lines: pins, named: name) { phone, person async throws in
            try await IdentityCodeRun(phone: phone, person: person).enroll(
                code, name: "Terminal", biometric: biometric)
        }
    }

    /// Has the phone ask for another phone's code, whose PIN is 604817.
    func newActivation(name: String?, isMailed: Bool) async throws -> String {
        var code = ""
        let outcome = try await self.phone(lines: ["258036", "604817"]) { phone, person async throws in
            code = try await OwnIdentity(phone, answeredBy: person).newActivation(name: name, isMailed: isMailed)
        }
        #expect(outcome.refusal == nil, "\(outcome.lines)")
        return code
    }

    /// The text of the code that the sign-in page of the service shows, in a browser of its own.
    func code(in browser: TestBrowser? = nil) async throws -> String {
        let (_, page) = try await self.server.signInPage(browser ?? self.browser, self.party)
        return try Self.code(on: page)
    }

    /// The text of the QR code on a page, as a camera reads it.
    static func code(on page: TestResponse) throws -> String {
        let scale = 4
        let box = try #require(page.text.firstMatch(of: /viewBox="0 0 (\d+) \d+"[^>]*shape-rendering/))
        let side = try #require(Int(box.1))
        var points = [UInt8](repeating: 255, count: side * side * scale * scale)
        for run in page.text.matches(of: /M(\d+) (\d+)h(\d+)v1h/) {
            let (x, y, width) = try #require(
                Int(run.1).flatMap { x in Int(run.2).flatMap { y in Int(run.3).map { (x, y, $0) } } })
            for row in y * scale..<(y + 1) * scale {
                for column in x * scale..<(x + width) * scale { points[row * side * scale + column] = 0 }
            }
        }
        return try Picture(width: side * scale, height: side * scale, points: points).qrCodeText()
    }

    /// Has the phone take the code of a page.
    func scan(
        _ code: String? = nil, _ identity: [String] = [], answers: [String] = ["--approve"], lines: [String],
        named name: String = ""
    ) async throws -> Outcome {
        let code = if let code { code } else { try await self.code() }
        return try await self.phone(answers, identity, lines: lines, named: name) { phone, person async throws in
            try await IdentityCodeRun(phone: phone, person: person).scan(code)
        }
    }
}

/// All that a phone was answered: bodies and headers.
final class PhoneAnswers: Sendable {
    private let bytes = Mutex<[[UInt8]]>([])

    func note(_ response: TransportResponse) {
        self.bytes.withLock {
            $0.append(response.body)
            $0 += response.headers.map { Array("\($0.name): \($0.value)".utf8) }
        }
    }

    /// How many parts there are of it.
    var count: Int { self.bytes.withLock { $0.count } }

    /// All of it as text, with all that is base64url in it, as often as it is so.
    var text: String { self.bytes.withLock { $0 }.map { Self.text($0, depth: 0) }.joined(separator: "\n") }

    private static func text(_ bytes: [UInt8], depth: Int) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        guard depth < 4 else { return text }
        let within = text.matches(of: /[A-Za-z0-9_-]{12,}/).compactMap { Base64URL.decode(String($0.output)) }
        return ([text] + within.map { Self.text($0, depth: depth + 1) }).joined(separator: "\n")
    }
}

/// A network that keeps what it was answered.
struct RecordedTransport: Transport {
    let network: RouterTransport
    let answers: PhoneAnswers

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let response = try await self.network.send(request)
        self.answers.note(response)
        return response
    }

    func stream<Value: Sendable>(
        _ request: TransportRequest, _ read: @escaping @Sendable (TransportStream) async throws -> Value
    ) async throws -> Value { try await self.network.stream(request, read) }
}
