import CeremonyEngine
import Foundation
import NIOSSL
import Settings
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@testable import CountersignCommand

/// A file of apps, as an operator writes the file, in a folder of issued certificates.
struct WrittenApps {
    let files: IssuedFiles
    var path: String { self.files.folder + "/apps.json" }

    init() throws {
        self.files = try IssuedFiles()
        try self.files.issue("app")
    }

    /// A signing certificate, as the file has the certificate.
    func certificate() throws -> String {
        let certificate = try #require(try NIOSSLCertificate.fromPEMFile(self.files.path("app")).first)
        return Data(try certificate.toDERBytes()).base64EncodedString()
    }

    @discardableResult
    func write(_ text: String) throws -> String {
        try Data(text.utf8).write(to: URL(filePath: self.path))
        return self.path
    }

    /// Writes an app for Apple's systems.
    @discardableResult
    func writeApple(team: String = "ABCDE12345", bundle: String = "com.example.bank") throws -> String {
        try self.write(#"{"apps":[{"team":"\#(team)","bundle":"\#(bundle)"}]}"#)
    }
}

@Suite("countersign serve: one entry for an app, operations 72 and 89")
struct AppsFileTests {
    private static let push = ["apnsKey": "/etc/k.p8", "apnsKeyId": "ABC123DEFG", "apnsEnvironment": "production"]

    private func load(_ flags: [String: String]) async throws -> ServeConfiguration {
        try await ServeConfiguration.load(file: nil, flags: flags, environment: ["HOME": "/home/op"])
    }

    @Test("An entry has an app for one system or for both")
    func entries() async throws {
        let written = try WrittenApps()
        try written.write(
            #"""
            {"apps": [
              {"team": "ABCDE12345", "bundle": "com.example.bank",
               "package": "com.example.bank", "certificates": ["\#(try written.certificate())"]},
              {"team": "FGHIJ67890", "bundle": "com.example.hall"},
              {"package": "com.example.hall", "certificates": ["\#(try written.certificate())"]}
            ]}
            """#)
        let apps = try await self.load(["apps": written.path]).apps()
        #expect(apps.map(\.appleName) == ["ABCDE12345.com.example.bank", "FGHIJ67890.com.example.hall", nil])
        #expect(apps.map { $0.android?.package } == ["com.example.bank", nil, "com.example.hall"])
        #expect(apps.map(\.facets.count) == [2, 1, 1])
        #expect(try await self.load([:]).apps().isEmpty)
    }

    @Test(
        "A file of another form is refused, with its name and the place of the fault",
        arguments: [
            ("", "apps"), ("[]", "apps"), (#"{"apps":[]}"#, "apps"), (#"{"apps":{}}"#, "apps"),
            (#"{"apps":[{"team":"ABCDE12345","bundle":"a"}],"x":1}"#, "apps"), (#"{"apps":["a"]}"#, "app 1"),
            (#"{"apps":[{}]}"#, "app 1"), (#"{"apps":[{"team":"ABCDE12345"}]}"#, "team and bundle go together"),
            (#"{"apps":[{"bundle":"a"}]}"#, "team and bundle go together"),
            (#"{"apps":[{"package":"a.b"}]}"#, "package and certificates"),
            (#"{"apps":[{"team":"abcde12345","bundle":"a"}]}"#, "team"),
            (#"{"apps":[{"team":"ABCDE12345","bundle":"a/b"}]}"#, "bundle"),
            (#"{"apps":[{"team":"ABCDE12345","bundle":5}]}"#, "bundle"),
            (#"{"apps":[{"team":"ABCDE12345","bundle":"a","team":"ABCDE12345"}]}"#, "apps"),
            (#"{"apps":[{"package":"a.b","certificates":[]}]}"#, "certificates"),
            (#"{"apps":[{"package":"a.b","certificates":["AQID"]}]}"#, "certificate"),
            (#"{"apps":[{"package":"a.b","certificates":["?"]}]}"#, "certificate"),
            (#"{"apps":[{"team":"ABCDE12345","bundle":"a","teams":"b"}]}"#, "no member teams"),
            (
                #"{"apps":[{"team":"ABCDE12345","bundle":"a"},{"team":"FGHIJ67890","bundle":"a"}]}"#,
                "two entries name one app"
            ),
        ])
    func refused(text: String, words: String) async throws {
        let written = try WrittenApps()
        try written.write(text)
        let failure = #expect(throws: CommandFailure.self) { try AppsFile(path: written.path).apps() }
        #expect(failure?.status == .failed && failure?.remedy?.contains("--apps") == true)
        #expect(failure?.problem.contains(written.path) == true && failure?.problem.contains(words) == true)
    }

    @Test("A file that is not there, is too long, or has too many apps is refused")
    func bounds() throws {
        let missing = #expect(throws: CommandFailure.self) { try AppsFile(path: "/nowhere.json").apps() }
        #expect(missing?.status == .notFound)
        let written = try WrittenApps()
        try written.writeApple()
        let text = try String(contentsOfFile: written.path, encoding: .utf8)
        try written.write(text + String(repeating: " ", count: Limits.Fixed.appsFileBytes))
        #expect(throws: CommandFailure.self) { try AppsFile(path: written.path).apps() }
        func entries(_ count: Int) -> String {
            let entries = (0..<count).map { #"{"team":"ABCDE12345","bundle":"a\#($0)"}"# }
            return #"{"apps":[\#(entries.joined(separator: ","))]}"#
        }
        try written.write(entries(Limits.Fixed.appEntries))
        #expect(try AppsFile(path: written.path).apps().count == Limits.Fixed.appEntries)
        try written.write(entries(Limits.Fixed.appEntries + 1))
        #expect(throws: CommandFailure.self) { try AppsFile(path: written.path).apps() }
    }

    @Test("The apps of the file are attested apps too, beside those of the setting")
    func attested() async throws {
        let written = try WrittenApps()
        try written.writeApple()
        let flags = ["apps": written.path, "appAttestation": "required"]
        #expect(try await self.load(flags).appAttestationPolicy()?.need == .required)
        let both = try await self.load(
            flags.merging(["attestedApps": "ABCDE12345.com.example.bank=development"]) { $1 })
        #expect(try both.appAttestationPolicy()?.need == .required)
        try written.write(#"{"apps":[{"package":"a.b","certificates":["\#(try written.certificate())"]}]}"#)
        let configuration = try await self.load(flags)
        let failure = #expect(throws: CommandFailure.self) { try configuration.appAttestationPolicy() }
        #expect(failure?.problem.contains("--apps names none") == true)
    }

    @Test("Team and topic of Apple's push service follow from the only app that can be meant")
    func push() async throws {
        let written = try WrittenApps()
        try written.writeApple()
        let flags = Self.push.merging(["apps": written.path]) { $1 }
        let configuration = try await self.load(flags)
        let completed = try configuration.push.completed(by: try configuration.apps())
        #expect(completed.apnsTeam == "ABCDE12345" && completed.apnsTopic == "com.example.bank")
        // A setting stands as the operator wrote it.
        let named = try await self.load(flags.merging(["apnsTeam": "FGHIJ67890", "apnsTopic": "com.example.x"]) { $1 })
        let unchanged = try named.push.completed(by: try named.apps())
        #expect(unchanged == named.push)
        for other in [["apnsTeam": "FGHIJ67890"], ["apnsTopic": "com.example.x"]] {
            let unfit = try await self.load(flags.merging(other) { $1 })
            #expect(throws: CommandFailure.self) { try unfit.push.completed(by: try unfit.apps()) }
        }
        try written.write(
            #"{"apps":[{"team":"ABCDE12345","bundle":"a"},{"team":"ABCDE12345","bundle":"b"}]}"#)
        #expect(throws: CommandFailure.self) { try configuration.push.completed(by: try configuration.apps()) }
        let chosen = try await self.load(flags.merging(["apnsTopic": "b"]) { $1 })
        let ofChosen = try chosen.push.completed(by: try chosen.apps())
        #expect(ofChosen.apnsTeam == "ABCDE12345")
        // Without a file of apps, and without the rest of the key, the settings are not whole.
        await #expect(throws: CommandFailure.self) { try await self.load(Self.push) }
        await #expect(throws: CommandFailure.self) {
            try await self.load(["apps": written.path, "apnsTopic": "a"])
        }
    }

    @Test("With apps in the file a server without other facets gives no warning")
    func warnings() async throws {
        let flags = ["noTerminalPhone": "true"]
        #expect(try await self.load(flags).warnings.count == 1)
        #expect(try await self.load(flags.merging(["apps": "/srv/apps.json"]) { $1 }).warnings.isEmpty)
    }
}
