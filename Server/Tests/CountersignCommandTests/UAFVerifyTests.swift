import ArgumentParser
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@testable import CountersignCommand

/// A folder with the files of one exchange, for the time of one test.
private struct Files {
    let folder: String
    var request: String { self.folder + "/request.json" }
    var response: String { self.folder + "/response.json" }
    var metadata: String { self.folder + "/metadata" }
    var keys: String { self.folder + "/keys.json" }

    init() throws {
        self.folder = FileManager.default.temporaryDirectory.path + "/countersign-uaf-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: self.metadata, withIntermediateDirectories: true)
    }

    func remove() { try? FileManager.default.removeItem(atPath: self.folder) }

    func write(_ path: String, _ json: JSON) throws {
        try Data(json.serialized).write(to: URL(fileURLWithPath: path))
    }

    /// Lays out the files of a vector.
    init(_ vector: TestVector) throws {
        try self.init()
        try self.write(self.request, .array([.object(vector.request)]))
        try Data(vector.response.utf8).write(to: URL(fileURLWithPath: self.response))
        for (index, statement) in vector.metadata.enumerated() {
            try self.write("\(self.metadata)/\(index).json", .object(statement))
        }
        if let revocations = vector.revocations {
            try self.write("\(self.metadata)/\(MetadataCatalog.revocationFile)", .object(revocations))
        }
        let keys = vector.registered.map { key in
            JSON.object(
                RegisteredCredential(
                    id: CredentialID(aaid: key.aaid, keyID: key.keyID), publicKey: key.publicKey,
                    publicKeyFormat: key.publicKeyFormat, signatureAlgorithm: key.signatureAlgorithm,
                    signCounter: key.signCounter, account: key.account, deviceRegistration: ""
                ).json)
        }
        try self.write(self.keys, .object(["keys": .array(keys)]))
    }
}

@Suite("countersign uaf verify: a verdict on UAF messages in files (§8.2, §8.4)")
struct UAFVerifyTests {
    private func vector(_ scenario: UAFScenario) throws -> TestVector {
        try scenario.vector(random: .repeatable("uaf verify"))
    }

    /// What the command would say of a vector.
    private func verdict(
        _ scenario: UAFScenario, facets: [String]? = [], time: String? = nil,
        leniency: [String] = [], versions: String = "1.1", change: (inout TestVector) -> Void = { _ in }
    ) throws -> UAFVerdict {
        var vector = try self.vector(scenario)
        change(&vector)
        let files = try Files(vector)
        defer { files.remove() }
        let reader = UAFFiles()
        let named = facets.map { $0.isEmpty ? vector.trustedFacets : $0 }
        let date = try Date(time ?? vector.time, strategy: .iso8601)
        let verification = UAFVerification(
            metadata: try reader.metadata([files.metadata]),
            facets: try named.map { Set(try $0.map { try FacetID($0) }) },
            keys: try reader.keys(files.keys), account: vector.account,
            now: Timestamp(seconds: Int64(date.timeIntervalSince1970)), leniency: try Leniency(leniency),
            versions: try ProtocolVersions.versions(versions))
        return try verification.verdict(on: try reader.response(files.response), to: try reader.request(files.request))
    }

    @Test("The verdict on every scenario that needs nothing beside the files is the scenario's")
    func scenarios() throws {
        // A revoked model and the TLS channel are the server's configuration.
        let scenarios = UAFScenario.all.filter {
            ![.revokedAAID, .otherChannel].contains($0.damage) && ($0.damage == nil || $0.algorithm == .p256Raw)
        }
        #expect(Set(scenarios.map(\.damage)).count > 50)
        for scenario in scenarios {
            let verdict = try self.verdict(scenario)
            #expect(verdict.isAccepted == (scenario.damage == nil), "\(scenario.id): \(verdict.json)")
            let status = try verdict.json.integer("status", as: Int.self)
            #expect(status == scenario.damage?.status.rawValue ?? 1200, "\(scenario.id)")
            #expect(try verdict.json.string("step") == scenario.damage?.step, "\(scenario.id)")
        }
    }

    @Test("What an accepted registration tells is a key file, in which an authentication's counter goes on")
    func keyFile() throws {
        let registered = try self.verdict(.registration(.rsaPSSDER, .rsaRaw))
        let reader = UAFFiles()
        let files = try Files()
        defer { files.remove() }
        try files.write(files.keys, .object(registered.json))
        let key = try #require(try reader.keys(files.keys).first)
        #expect(key.signatureAlgorithm == .rsaPSSDER && key.publicKeyFormat == .rsa2048Raw && key.account == "alice")
        #expect(key.signCounter == 0)

        let signed = try self.verdict(.authentication(.p256Raw, .x962Raw))
        try files.write(files.keys, .object(signed.json))
        #expect(try reader.keys(files.keys).map(\.signCounter) == [8])
        // One key without the list around it.
        guard case .object(let one)? = try signed.json.array("keys")?.first else { return #expect(Bool(false)) }
        try files.write(files.keys, .object(one))
        #expect(try reader.keys(files.keys).map(\.signCounter) == [8])
    }

    @Test("Without a facet the response's own is trusted; with one, that one alone")
    func facets() throws {
        let stranger = UAFScenario.authentication(.p256Raw, .x962Raw, damage: .untrustedFacet)
        #expect(try self.verdict(stranger, facets: nil).isAccepted)
        #expect(try self.verdict(stranger).json.string("step") == "facetID")
    }

    @Test("Certificates are judged at the given time, and a lenient reading leaves it out")
    func time() throws {
        let scenario = UAFScenario.registration(.p256Raw, .x962Raw, attestation: .basicFull)
        #expect(try self.verdict(scenario).isAccepted)
        #expect(try self.verdict(scenario, time: "2050-01-01T00:00:00Z").json.string("step") == "attestation")
        let leniency = ["row18ExpiredCertificates"]
        #expect(try self.verdict(scenario, time: "2050-01-01T00:00:00Z", leniency: leniency).isAccepted)
    }

    @Test(
        "What is allowed takes what the strict server refuses for it, and nothing else",
        arguments: [
            ("row2Base64", Damage.paddedAssertion), ("row3SignedDataAnywhere", .signatureFirst),
            ("row26ShortNonces", .shortNonce), ("row21VendorTags:2EEE", .unknownCriticalTag),
            ("acceptsOutdatedAuthenticators", .outdated),
        ])
    func lenient(name: String, damage: Damage) throws {
        let scenario = UAFScenario.authentication(.p256Raw, .x962Raw, damage: damage)
        #expect(try !self.verdict(scenario).isAccepted)
        #expect(try self.verdict(scenario, leniency: [name]).isAccepted)
        let others = Leniency.names.filter { $0 != name && !$0.hasPrefix("row21") }
        #expect(try !self.verdict(scenario, leniency: others).isAccepted)
        let other = UAFScenario.authentication(.p256Raw, .x962Raw, damage: .brokenSignature)
        #expect(try !self.verdict(other, leniency: [name]).isAccepted)
    }

    @Test("Another attestation than the preferred one is taken where that is allowed")
    func lessPreferred() throws {
        let scenario = UAFScenario.registration(.p256Raw, .x962Raw, damage: .notPreferredAttestation)
        #expect(try self.verdict(scenario).json.string("step") == "attestation")
        #expect(try self.verdict(scenario, leniency: ["acceptsLessPreferredAttestation"]).isAccepted)
    }

    @Test("UAF 1.0 is spoken where it is named")
    func versions() throws {
        let old = UAFScenario.authentication(.p256Raw, .x962Raw)
        func verdict(_ versions: String) throws -> UAFVerdict {
            try self.verdict(old, versions: versions) {
                $0.response = $0.response.replacing(
                    #""upv":{"major":1,"minor":1}"#, with: #""upv":{"major":1,"minor":0}"#)
            }
        }
        #expect(try verdict("1.1").json.string("step") == "version")
        for versions in ["1.0", "1.0,1.1"] { #expect(try verdict(versions).isAccepted) }
        #expect(try self.verdict(old, versions: "1.0").json.string("step") == "version")
        for versions in ["", "1.2", "1", "1.1;1.0"] {
            #expect(throws: CommandFailure.self) { try ProtocolVersions.versions(versions) }
        }
    }

    @Test("Every name that the help gives allows something, and no other name anything", arguments: Leniency.names)
    func lenientNames(name: String) throws {
        #expect(try Leniency([name.replacing("HHHH", with: "3FFC")]) != Leniency())
        #expect(throws: CommandFailure.self) { try Leniency([name.lowercased()]) }
    }

    @Test("The bodies of the transport are taken for the messages in them")
    func bodies() throws {
        let vector = try self.vector(.authentication(.p256Raw, .x962Raw))
        let files = try Files(vector)
        defer { files.remove() }
        let message = JSON.array([.object(vector.request)]).text
        try files.write(files.request, .object(["statusCode": .integer(1200), "uafRequest": .string(message)]))
        try files.write(files.response, .object(["uafResponse": .string(vector.response)]))
        let reader = UAFFiles()
        #expect(try reader.response(files.response) == Array(vector.response.utf8))
        guard case .authentication = try reader.request(files.request) else { return #expect(Bool(false)) }
    }

    @Test("A file that is missing, too large or something else is told, and is no verdict")
    func badFiles() throws {
        let files = try Files(try self.vector(.registration(.p256Raw, .x962Raw)))
        defer { files.remove() }
        let reader = UAFFiles()
        func status(_ body: () throws -> Void) -> CommandFailure.Status? {
            #expect(throws: CommandFailure.self, performing: body)?.status
        }
        #expect(status { _ = try reader.request(files.folder + "/nothing") } == .noVerdict)
        #expect(status { _ = try reader.metadata([files.folder + "/nothing"]) } == .noVerdict)
        #expect(status { _ = try reader.request(files.response) } == .noVerdict)
        #expect(status { _ = try reader.keys(files.request) } == .noVerdict)
        #expect(status { _ = try reader.metadata([files.request]) } == .noVerdict)
        try Data(repeating: 0x20, count: 262_145).write(to: URL(fileURLWithPath: files.response))
        #expect(status { _ = try reader.response(files.response) } == .noVerdict)
        let deregistration = DeregistrationRequest(
            header: OperationHeader(operation: .deregistration), authenticators: [.everything])
        try Data(deregistration.serialized).write(to: URL(fileURLWithPath: files.request))
        #expect(status { _ = try reader.request(files.request) } == .usage)
    }

    /// The command with the files of an exchange, and whatever else is given.
    private func command(_ files: Files, _ options: String...) throws -> UAFCommand.Verify {
        try UAFCommand.Verify.parse(
            [
                "--request", files.request, "--response", files.response, "--metadata", files.metadata, "--json",
                "--time", "2026-06-01T00:00:00Z",
            ] + options)
    }

    @Test("Where there is no verdict the exit code is 6 and the JSON says so; refused is 1, and accepted 0")
    func noVerdict() throws {
        let files = try Files(try self.vector(.registration(.p256Raw, .x962Raw)))
        defer { files.remove() }
        #expect(try self.command(files).verdict().status == nil)
        let refused = try Files(try self.vector(.registration(.p256Raw, .x962Raw, damage: .brokenAttestation)))
        defer { refused.remove() }
        #expect(try self.command(refused).verdict().status == .failed)
        let nothing = files.folder + "/nothing"
        for options in [["--key", nothing], ["--metadata", nothing], ["--channel-binding", nothing]] {
            let verdict = try self.command(files, options[0], options[1]).verdict()
            #expect(verdict.status == .noVerdict && verdict.isNone && !verdict.isAccepted)
            #expect(try verdict.json.string("verdict") == "none", "\(options)")
            #expect(try verdict.json.requiredString("reason").contains(nothing))
        }
        for path in [files.request, files.response] {
            let content = try Data(contentsOf: URL(fileURLWithPath: path))
            try FileManager.default.removeItem(atPath: path)
            #expect(try self.command(files).verdict().status == .noVerdict)
            #expect { try self.command(files).run() } throws: { ($0 as? ExitCode)?.rawValue == 6 }
            try content.write(to: URL(fileURLWithPath: path))
        }
        let misuse = try self.command(files, "--lenient", "anything").verdict()
        #expect(misuse.status == .usage && misuse.json["verdict"] == .string("none"))
        // A response that cannot be read is a response all the same: it is refused.
        try Data("?".utf8).write(to: URL(fileURLWithPath: files.response))
        #expect(try self.command(files).verdict().status == .failed)
        try Data("?".utf8).write(to: URL(fileURLWithPath: files.request))
        #expect(try self.command(files).verdict().status == .noVerdict)
    }

    @Test("The TLS channel is judged where its certificate is given, and only where it is")
    func channelBinding() throws {
        let files = try Files(try self.vector(.registration(.p256Raw, .x962Raw)))
        defer { files.remove() }
        let certificates = try TestCertificates(rsa: false, aaid: try AAID("FFFF#0001"), random: .system)
        let pem = files.folder + "/server.pem"
        let base64 = Data(certificates.root).base64EncodedString(options: .lineLength64Characters)
        try Data("-----BEGIN CERTIFICATE-----\n\(base64)\n-----END CERTIFICATE-----\n".utf8)
            .write(to: URL(fileURLWithPath: pem))
        // The vector's client tells nothing.
        #expect(try self.command(files).verdict().isAccepted)
        let required = try self.command(files, "--channel-binding", pem).verdict()
        #expect(required.status == .failed && required.json["step"] == .string("channelBinding"))
        #expect(required.json["status"] == .integer(1490))
        #expect(try self.command(files, "--channel-binding", pem, "--channel-binding-if-told").verdict().isAccepted)
        #expect(try self.command(files, "--channel-binding-if-told").verdict().status == .usage)
        // One that tells of another certificate.
        let told = try Files(try self.vector(.registration(.p256Raw, .x962Raw, damage: .otherChannel)))
        defer { told.remove() }
        #expect(try self.command(told).verdict().isAccepted)
        let other = try self.command(told, "--channel-binding", pem, "--channel-binding-if-told").verdict()
        #expect(other.json["step"] == .string("channelBinding"))
    }

    @Test("The text for people has a line a member, and nothing that a terminal would obey")
    func text() throws {
        let refused = try self.verdict(.authentication(.p256Raw, .x962Raw, damage: .brokenSignature))
        #expect(refused.text.contains("verdict: refused") && refused.text.contains("step: signature"))
        let accepted = try self.verdict(.registration(.p256Raw, .x962Raw))
        #expect(accepted.text.contains("  aaid: FFFF#C501"))
        #expect(!accepted.text.contains("\u{1B}"))
    }

    @Test("Options are read as the help says, and wrong ones are a misuse")
    func options() throws {
        let files = ["--request", "a", "--response", "b", "--metadata", "c"]
        let command = try UAFCommand.Verify.parse(files + ["--lenient", "row2Base64", "--key", "d"])
        #expect(command.lenient == ["row2Base64"] && command.key == ["d"] && command.versions == "1.1")
        for name in ["anything", "base64", "row21VendorTags:", "row21VendorTags:XXXX", "row21VendorTags:13FFC"] {
            let failure = #expect(throws: CommandFailure.self) { try Leniency([name]) }
            #expect(failure?.status == .usage)
        }
        #expect(throws: (any Error).self) { try UAFCommand.Verify.parse(["--request", "a"]) }
    }
}
