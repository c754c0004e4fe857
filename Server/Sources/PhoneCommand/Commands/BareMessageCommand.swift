import ArgumentParser
import Foundation
import UAF
import UAFClient
import _Primitives

/// `countersign-phone uaf`: answers bare FIDO UAF messages, for testing other servers.
struct BareMessageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "uaf", abstract: "Answer bare FIDO UAF messages with test keys.",
        subcommands: [UAFAnswerCommand.self])
}

/// `countersign-phone uaf answer`: runs the UAF client and authenticators of the SDK without a server.
struct UAFAnswerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "answer", abstract: "Answer a UAF request with test keys, and print the bare response.",
        discussion: """
            Takes a registration, authentication or deregistration request (an array of one dictionary, or the body \
            that carries it) and prints the response message; a deregistration has none. The keys are for tests: they \
            lie in a folder of their own, which must not be a phone's. Nothing is shown and nobody is asked: whoever \
            runs this agrees to what the request wants.

              echo 123456 | countersign-phone uaf answer --request reg.json --pin-stdin > answer.json

            The standard output has the answer and nothing else; what was done, with --json, and what went wrong is \
            on the standard error stream.

            An AppID that is an https address names the facets that may use it: they are fetched from there, or taken \
            from --facets.
            """)

    @Option(help: "File with the request, or - for the standard input.")
    var request: String

    @Option(help: "The folder that holds the test keys.")
    var home = "~/.countersign-phone-test-keys"

    @Option(help: "Who calls, as the facet that the response names.")
    var facet = PhoneDevice.facetID

    @Option(help: "File with the facets of the application, as its AppID serves them.")
    var facets: String?

    @Option(
        help: "pin, password, fingerprint, face, passcode or device. Without it, the first that the request accepts.")
    var authenticator: AnsweringFactor?

    @Flag(help: "Read the PIN or password from the standard input, a line for each time that it is asked for.")
    var pinStdin = false

    @Option(help: "File for the response, in place of the standard output.")
    var output: String?

    @Option(help: "PEM file of an additional certificate authority to trust.")
    var caFile: String?

    @Flag(help: "Say on the standard error stream what was done, or went wrong, as one JSON object.")
    var json = false

    func validate() throws {
        if self.request == "-" && self.pinStdin {
            throw ValidationError("The request and the PIN cannot both come from the standard input.")
        }
    }

    func run() async throws {
        let report = Report(isJSON: self.json, isAnswerAlone: true)
        try await report.running {
            let answer = try await self.answer()
            if let response = answer.response {
                if let output = self.output {
                    guard FileManager.default.createFile(atPath: output, contents: Data(response)) else {
                        throw Refusal.failed("no-output", "\(output) cannot be written.")
                    }
                } else {
                    report.answer(response)
                }
            }
            var members: JSONObject = [
                "event": .string("finished"), "outcome": .outcome(.answered),
                "operation": .string(answer.operation.rawValue), "testKeys": .bool(true),
                "keys": .array(
                    answer.keys.map {
                        .object(["aaid": .string($0.aaid.text), "keyID": .string($0.keyID.base64URL)])
                    }),
            ]
            members.set("transaction", answer.transaction)
            report.say(members) { _ in }
        }
    }

    private func answer() async throws -> TestKeyAnswer {
        let facet: FacetID
        do { facet = try FacetID(self.facet) } catch {
            throw Refusal.usage("--facet takes a text that can name an app.")
        }
        let message = try self.message()
        let person = TestPerson(lines: self.pinStdin ? Array(AnyIterator { readLine(strippingNewline: true) }) : [])
        let list = try self.facets.map { try Self.contents(of: $0) }
        let network: HTTPTransport
        do { network = try HTTPTransport(caFile: self.caFile) } catch {
            throw Refusal.notFound("no-such-file", "There is no certificate authority in \(self.caFile ?? "").")
        }
        let phone = try TestKeyPhone(
            home: (self.home as NSString).expandingTildeInPath, facet: facet, factor: self.authenticator?.factor,
            fetchFacets: { url in
                guard let list else { return try await network.facetList(at: url) }
                return FacetListAnswer(status: 200, contentType: "application/fido.trusted-apps+json", body: list)
            })
        return try await phone.answer(message, person: person)
    }

    /// Returns the message itself, or the message in the transport's body (§6.2).
    private func message() throws -> [UInt8] {
        let bytes =
            self.request == "-"
            ? Array(try FileHandle.standardInput.read(upToCount: PhoneLimits.messageBytes + 1) ?? Data())
            : try Self.contents(of: self.request)
        guard bytes.count <= PhoneLimits.messageBytes else {
            throw Refusal.failed("too-large", "The request is too large.")
        }
        guard let text = try? ReturnUAFRequest(parsing: bytes).uafRequest else { return bytes }
        return Array(text.utf8)
    }

    private static func contents(of path: String) throws -> [UInt8] {
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw Refusal.notFound("no-such-file", "There is no readable file \(path).")
        }
        defer { try? file.close() }
        let data = try file.read(upToCount: PhoneLimits.messageBytes + 1) ?? Data()
        guard data.count <= PhoneLimits.messageBytes else { throw Refusal.failed("too-large", "\(path) is too large.") }
        return Array(data)
    }
}

/// The factor that answers a request.
enum AnsweringFactor: String, ExpressibleByArgument, CaseIterable {
    case pin, password, fingerprint, face, passcode, device

    var factor: AuthenticatorModel.Factor {
        switch self {
        case .pin: .pin
        case .password: .password
        case .fingerprint: .fingerprint
        case .face: .face
        case .passcode: .devicePasscode
        case .device: .devicePossession
        }
    }
}
