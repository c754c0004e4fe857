import ArgumentParser
import CeremonyEngine
import Crypto
import CryptoExtras
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import NIOSSL
import Push
import Settings
import Synchronization
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@testable import CountersignCommand

@Suite("countersign doctor: twelve seeded mistakes around phones, operations 72 and 89; decisions 68 and 116")
struct DoctorPhoneTests {
    /// The bodies of a stand-in by path, each with its status; 404 for another path.
    private typealias Answers = [String: (status: HTTPResponse.Status, body: String)]

    private static let apple = "/.well-known/apple-app-site-association"
    private static let android = "/.well-known/assetlinks.json"
    private static let bank = "ABCDE12345.com.example.bank"

    private func scene(_ flags: [String: String], isServed: Bool = true) async throws -> DoctorScene {
        DoctorScene(
            configuration: try await ServeConfiguration.load(
                file: nil, flags: flags, environment: ["HOME": "/home/op"]),
            connection: AdminConnection(place: .socket(path: "/none")), isServed: isServed)
    }

    /// Runs a stand-in over TLS. `body` is given its address, and the setting by which its authority is trusted.
    private func withServer(
        _ answers: Answers, _ files: IssuedFiles,
        _ body: @escaping @Sendable (_ address: String, _ trust: [String: String]) async throws -> Void
    ) async throws {
        try files.issue("stand-in")
        let identity = try TLSIdentity(certificate: files.path("stand-in"), key: files.path("stand-in-key"))
        let trust = ["caFile": files.path("authority")]
        try await CalledService.run(
            identity,
            answer: { request, _ in
                guard let answer = answers[request.uri.path] else { return Response(status: .notFound) }
                return Response(
                    status: answer.status, headers: [.contentType: "application/json"],
                    body: ResponseBody(byteBuffer: ByteBuffer(string: answer.body)))
            }
        ) { port async throws in try await body("https://localhost:\(port)", trust) }
    }

    /// Expects one problem with these words, and a remedy with these.
    private func expectBad(
        _ check: DoctorCheck, _ scene: DoctorScene, _ words: String, remedy: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let verdict = try await check.look(scene)
        guard case .bad(let problems) = verdict else {
            Issue.record("\(verdict)", sourceLocation: sourceLocation)
            return
        }
        #expect(problems.count == 1 && problems[0].contains(words), "\(problems)", sourceLocation: sourceLocation)
        #expect(check.remedy.contains(remedy), sourceLocation: sourceLocation)
    }

    private func expectGood(
        _ check: DoctorCheck, _ scene: DoctorScene, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let verdict = try await check.look(scene)
        #expect(verdict.word == "good", "\(verdict)", sourceLocation: sourceLocation)
    }

    private func expectUnknown(
        _ check: DoctorCheck, _ scene: DoctorScene, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let verdict = try await check.look(scene)
        #expect(verdict.word == "unknown", "\(verdict)", sourceLocation: sourceLocation)
    }

    private static func facetList(_ facets: [String]) -> String {
        let ids = facets.map { "\"\($0)\"" }.joined(separator: ",")
        return #"{"trustedFacets":[{"version":{"major":1,"minor":1},"ids":[\#(ids)]}]}"#
    }

    private static func appleFile(_ name: String) -> String {
        #"{"applinks":{"details":[{"appIDs":["\#(name)"],"components":[{"/":"/open"}]}]}}"#
    }

    // MARK: Facets

    @Test("1: a facet that no app has is named, with --facets and --apps in the remedy")
    func facetOfNoApp() async throws {
        let written = try WrittenApps()
        let flags = ["apps": try written.writeApple()]
        try await self.expectGood(.facets, try await self.scene(flags, isServed: false))
        let facets = "ios:bundle-id:com.example.bank,ios:bundle-id:com.example.former"
        try await self.expectBad(
            .facets, try await self.scene(flags.merging(["facets": facets]) { $1 }, isServed: false),
            "No app has the facet ios:bundle-id:com.example.former", remedy: "out of --facets")
    }

    @Test("2: an app whose facet is missing is named: an attested app, an app of pushes, and an app of the served list")
    func missingFacet() async throws {
        let attested = ["appAttestation": "optional", "attestedApps": Self.bank]
        try await self.expectBad(
            .facets, try await self.scene(attested, isServed: false),
            "The app com.example.bank of --attested-apps may not answer", remedy: "an entry in the file of --apps")
        try await self.expectGood(
            .facets,
            try await self.scene(
                attested.merging(["facets": "ios:bundle-id:com.example.bank"]) { $1 }, isServed: false))
        let pushes = [
            "apnsKey": "/k.p8", "apnsKeyId": "ABC123DEFG", "apnsTeam": "ABCDE12345", "apnsTopic": "com.example.bank",
            "apnsEnvironment": "production",
        ]
        try await self.expectBad(
            .facets, try await self.scene(pushes, isServed: false), "com.example.bank of --apns-topic",
            remedy: "an entry")
        let written = try WrittenApps()
        let apps = ["apps": try written.writeApple()]
        let phone = "linux:program:countersign-phone"
        for (served, isGood) in [([phone, "ios:bundle-id:com.example.bank"], true), ([phone], false)] {
            try await self.withServer(["/uaf/1.1/facets": (.ok, Self.facetList(served))], written.files) {
                let flags = apps.merging($1) { $1 }.merging(["issuer": $0]) { $1 }
                let scene = try await self.scene(flags)
                if isGood {
                    try await self.expectGood(.facets, scene)
                } else {
                    try await self.expectBad(
                        .facets, scene, "ios:bundle-id:com.example.bank is not in the list that phones fetch",
                        remedy: "start the server again")
                }
            }
        }
        try await self.withServer([:], written.files) {
            let flags = apps.merging($1) { $1 }.merging(["issuer": $0]) { $1 }
            try await self.expectUnknown(.facets, try await self.scene(flags))
        }
    }

    // MARK: Association files

    @Test("3: an association file with another team is named, and so are one without the app and other certificates")
    func otherTeam() async throws {
        let written = try WrittenApps()
        try written.write(
            #"""
            {"apps": [{"team": "ABCDE12345", "bundle": "com.example.bank",
              "package": "com.example.bank", "certificates": ["\#(try written.certificate())"]}]}
            """#)
        let apps = try AppsFile(path: written.path).apps()
        let fingerprint = try #require(apps[0].android?.fingerprints.first)
        func links(_ package: String, _ fingerprint: String) -> String {
            #"""
            [{"relation": ["delegate_permission/common.handle_all_urls"], "target": {"namespace": "android_app",
              "package_name": "\#(package)", "sha256_cert_fingerprints": ["\#(fingerprint)"]}}]
            """#
        }
        let right = links("com.example.bank", fingerprint)
        for (apple, android, words) in [
            (Self.appleFile(Self.bank), right, nil),
            (
                Self.appleFile("FGHIJ67890.com.example.bank"), right,
                "names the team FGHIJ67890 for com.example.bank, and the entry in --apps the team ABCDE12345"
            ), (Self.appleFile("ABCDE12345.com.example.other"), right, "does not name the app \(Self.bank)"),
            ("{}", right, "does not name the app \(Self.bank)"),
            (Self.appleFile(Self.bank), links("com.example.bank", "00"), "names other certificates"),
            (Self.appleFile(Self.bank), links("com.example", fingerprint), "does not name the app com.example.bank"),
            (Self.appleFile(Self.bank), "<html>", "holds no JSON"),
        ] as [(String, String, String?)] {
            try await self.withServer(
                [Self.apple: (.ok, apple), Self.android: (.ok, android)], written.files
            ) {
                let scene = try await self.scene(["apps": written.path, "issuer": $0].merging($1) { $1 })
                if let words {
                    try await self.expectBad(.associations, scene, words, remedy: "Write team, bundle")
                } else {
                    try await self.expectGood(.associations, scene)
                }
            }
        }
    }

    @Test("4: an association file that is not reachable at the issuer is named: a status, a redirect, no connection")
    func unreachableFile() async throws {
        let written = try WrittenApps()
        let apps = ["apps": try written.writeApple()]
        for (answers, words) in [
            ([:], "\(Self.apple) is not reachable: the answer has the status 404"),
            ([Self.apple: (.found, "")], "status 302"),
            (["/id" + Self.apple: (.ok, Self.appleFile(Self.bank))], "status 404"),
        ] as [(Answers, String)] {
            try await self.withServer(answers, written.files) {
                let scene = try await self.scene(apps.merging($1) { $1 }.merging(["issuer": $0 + "/id"]) { $1 })
                try await self.expectBad(.associations, scene, words, remedy: "A proxy in front passes")
            }
        }
        let closed = try await self.scene(apps.merging(["issuer": "https://localhost:1"]) { $1 })
        try await self.expectBad(.associations, closed, "is not reachable: https://localhost:1", remedy: "A proxy")
        // Without a server and without an app there is nothing to fetch.
        try await self.expectUnknown(.associations, try await self.scene(apps, isServed: false))
        try await self.expectGood(.associations, try await self.scene([:]))
    }

    // MARK: Clock, certificates, files

    @Test("5: a clock that is 90 seconds off is named, in either direction; ten seconds are not")
    func clock() async throws {
        for (seconds, words) in [(90, "seconds ahead of"), (-90, "seconds behind"), (10, nil), (-10, nil)]
            as [(Int64, String?)]
        {
            try await self.withServer(["/": (.ok, "{}")], try IssuedFiles()) { address, trust in
                var scene = try await self.scene(trust)
                scene.clocks = [address + "/"]
                scene.isClockSynchronised = { true }
                scene.time = TimeSource { TimeSource.system.now() + .seconds(seconds) }
                if let words {
                    try await self.expectBad(.clock, scene, "\(words) the clock of \(address)", remedy: "NTP client")
                } else {
                    try await self.expectGood(.clock, scene)
                }
            }
        }
        // A machine that does not answer counts for nothing.
        var scene = try await self.scene([:])
        scene.clocks = ["https://localhost:1/"]
        scene.isClockSynchronised = { true }
        try await self.expectGood(.clock, scene)
    }

    @Test("--clock takes an https address alone", arguments: ["http://clock.example", "clock.example", ""])
    func clockOption(address: String) async throws {
        let command = try DoctorCommand.parse(["--clock", address])
        let failure = await #expect(throws: CommandFailure.self) { try await command.report() }
        #expect(failure?.status == .usage && failure?.problem.contains("--clock") == true)
    }

    @Test("6: a certificate that ends within 14 days is named; 15 days are enough")
    func certificateEnds() async throws {
        let files = try IssuedFiles()
        try files.issue("soon", validFor: 13 * 86_400)
        try files.issue("later", validFor: 15 * 86_400)
        func flags(_ name: String) -> [String: String] {
            ["tlsCertificate": files.path(name), "tlsKey": files.path("\(name)-key")]
        }
        try await self.expectBad(
            .certificate, try await self.scene(flags("soon")), "is valid until", remedy: "Renew it")
        try await self.expectGood(.certificate, try await self.scene(flags("later")))
    }

    @Test("7: a chain without its middle is named, and so is an authority that this machine does not trust")
    func chain() async throws {
        let files = try IssuedFiles()
        try files.issueBelow("below")
        func scene(_ name: String, isTrusted: Bool = true) async throws -> DoctorScene {
            let flags = ["tlsCertificate": files.path(name), "tlsKey": files.path("below-key")]
            return try await self.scene(
                flags.merging(isTrusted ? ["caFile": files.path("authority")] : [:]) { $1 })
        }
        try await self.expectGood(.chain, try await scene("below-chain"))
        try await self.expectBad(
            .chain, try await scene("below"), "lacks a certificate: it ends with one by “CN=Middle authority”",
            remedy: "fullchain.pem")
        try await self.expectBad(
            .chain, try await scene("below-chain", isTrusted: false), "“CN=Test authority”", remedy: "--ca-file")
        try await self.expectUnknown(.chain, try await scene("missing"))
        try await self.expectGood(.chain, try await self.scene([:]))
    }

    @Test("8: a key file that others can read is named, of the server and of each push service")
    func readableKey() async throws {
        let files = try IssuedFiles()
        let (data, account) = (files.folder + "/data", files.folder + "/account.json")
        try FileManager.default.createDirectory(
            atPath: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try Data("{}".utf8).write(to: URL(filePath: account))
        let flags = ["data": data, "keyFile": files.folder + "/none", "fcmAccount": account]
        for (mode, isGood) in [(0o600, true), (0o640, false), (0o604, false)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: account)
            let scene = try await self.scene(flags)
            if isGood {
                try await self.expectGood(.permissions, scene)
            } else {
                try await self.expectBad(
                    .permissions, scene, "\(account) (mode \(String(mode, radix: 8)))", remedy: "chmod 600")
            }
        }
    }

    @Test("9: a data folder of another user is named, with both users")
    func foreignFolder() async throws {
        let files = try IssuedFiles()
        let data = files.folder + "/data"
        try FileManager.default.createDirectory(
            atPath: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        var scene = try await self.scene(["data": data, "keyFile": files.folder + "/none"])
        let owner = geteuid()
        try await self.expectGood(.permissions, scene)
        scene.user = owner + 1
        try await self.expectBad(
            .permissions, scene, "\(data) belongs to user \(owner), and this command runs as user \(owner + 1)",
            remedy: "chown to the user that the server runs as")
    }

    // MARK: Push services

    private func apnsFlags(_ files: IssuedFiles, _ address: String) throws -> [String: String] {
        let path = files.folder + "/AuthKey.p8"
        try Data(P256.Signing.PrivateKey().pemRepresentation.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return [
            "apnsKey": path, "apnsKeyId": "ABC123DEFG", "apnsTeam": "ABCDE12345", "apnsTopic": "com.example.bank",
            "apnsEnvironment": "production", "apnsAddress": address,
        ]
    }

    @Test("10: an APNs key of another team is named: by Apple's answer to a push to no device, and by --apps")
    func foreignKey() async throws {
        let written = try WrittenApps()
        let place = "/3/device/" + String(repeating: "0", count: 64)
        for (status, reason, isGood) in [
            (.forbidden, "InvalidProviderToken", false), (.badRequest, "TopicDisallowed", false),
            (.badRequest, "BadDeviceToken", true),
        ] as [(HTTPResponse.Status, String, Bool)] {
            try await self.withServer([place: (status, #"{"reason":"\#(reason)"}"#)], written.files) {
                let scene = try await self.scene(try self.apnsFlags(written.files, $0).merging($1) { $1 })
                if isGood {
                    try await self.expectGood(.apns, scene)
                } else {
                    try await self.expectBad(.apns, scene, "refuses the key (\(reason))", remedy: "--apns-team")
                }
            }
        }
        // The entry of the app says so without the network.
        let flags = try self.apnsFlags(written.files, "https://localhost:1")
        let apps = ["apps": try written.writeApple(team: "FGHIJ67890")]
        try await self.expectBad(
            .apns, try await self.scene(flags.merging(apps) { $1 }),
            "The key is of the team ABCDE12345, and the app com.example.bank has the team FGHIJ67890",
            remedy: "from one team")
        try await self.expectUnknown(.apns, try await self.scene(flags))
        try await self.expectGood(.apns, try await self.scene([:]))
    }

    private func fcmFlags(_ files: IssuedFiles, _ address: String) throws -> [String: String] {
        let path = files.folder + "/account.json"
        let account: JSONObject = [
            "type": .string("service_account"), "project_id": .string("example"), "private_key_id": .string("key-1"),
            "private_key": .string(try _RSA.Signing.PrivateKey(keySize: .bits2048).pemRepresentation),
            "client_email": .string("push@example.iam.gserviceaccount.com"), "token_uri": .string(address + "/token"),
        ]
        try Data(JSON.object(account).serialized).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return ["fcmAccount": path, "fcmAddress": address]
    }

    @Test("11: an FCM account without the permission is named, and so is an account that gets no token")
    func accountWithoutPermission() async throws {
        let (token, send) = ("/token", "/v1/projects/example/messages:send")
        let right = (status: HTTPResponse.Status.ok, body: #"{"access_token":"t","expires_in":3600}"#)
        let unknownDevice = """
            {"error":{"status":"INVALID_ARGUMENT","details":[{"fieldViolations":[{"field":"message.token"}]}]}}
            """
        for (answers, words) in [
            ([token: right, send: (.badRequest, unknownDevice)], nil),
            (
                [token: right, send: (.forbidden, #"{"error":{"status":"PERMISSION_DENIED"}}"#)],
                "refuses the service account (status 403)"
            ), ([token: (.badRequest, #"{"error":"invalid_grant"}"#)], "access token: status 400"),
        ] as [(Answers, String?)] {
            let files = try IssuedFiles()
            try await self.withServer(answers, files) {
                let scene = try await self.scene(try self.fcmFlags(files, $0).merging($1) { $1 })
                if let words {
                    try await self.expectBad(.fcm, scene, words, remedy: "Firebase Cloud Messaging API Admin")
                } else {
                    try await self.expectGood(.fcm, scene)
                }
            }
        }
        try await self.expectGood(.fcm, try await self.scene([:]))
    }

    @Test("12: a push host that the network does not let through is named; any answer of a host is good")
    func closedNetwork() async throws {
        let files = try IssuedFiles()
        try await self.withServer([:], files) { address, trust in
            let open = try self.apnsFlags(files, address).merging(trust) { $1 }
            try await self.expectGood(.network, try await self.scene(open))
            // A certificate that is not trusted stands for a proxy of the network that ends TLS.
            try await self.expectBad(
                .network, try await self.scene(try self.apnsFlags(files, address)), "does not trust",
                remedy: "--ca-file")
        }
        try await self.expectBad(
            .network, try await self.scene(try self.apnsFlags(files, "https://localhost:1")),
            "A push service is not reachable: https://localhost:1", remedy: "at port 443")
        try await self.expectGood(.network, try await self.scene([:]))
    }

    // MARK: The command's way to the network

    @Test("an answer has a bound of bytes and of time, and a redirect is an answer")
    func bounds() async throws {
        let files = try IssuedFiles()
        let long = String(repeating: " ", count: Limits.Doctor.networkAnswerBytes)
        let answers: Answers = ["/exact": (.ok, long), "/long": (.ok, long + " "), "/away": (.found, "")]
        try await self.withServer(answers, files) { address, trust in
            let network = try await self.scene(trust).network()
            #expect(try await network.answer(of: address + "/exact").body.count == long.utf8.count)
            #expect(try await network.answer(of: address + "/away").status == 302)
            let failure = await #expect(throws: CommandFailure.self) {
                try await network.answer(of: address + "/long")
            }
            #expect(failure?.status == .unreachable && failure?.problem.contains("more than") == true)
        }
        try files.issue("named", for: "other.example")
        let other = try TLSIdentity(certificate: files.path("named"), key: files.path("named-key"))
        let network = try await self.scene(["caFile": files.path("authority")]).network()
        let (held, holding) = AsyncStream.makeStream(of: Void.self)
        try await CalledService.run(
            other,
            answer: { _, _ in
                for await _ in held {}
                return Response(status: .ok)
            }
        ) { port async throws in
            let wrongName = await #expect(throws: CommandFailure.self) {
                try await network.answer(of: "https://localhost:\(port)/")
            }
            #expect(wrongName?.problem.contains("another name") == true)
            holding.finish()
        }
        let (silence, ending) = AsyncStream.makeStream(of: Void.self)
        let short = DoctorNetwork(tls: .makeClientConfiguration(), time: .milliseconds(200))
        try await CalledService.run(answer: { _, _ in
            for await _ in silence {}
            return Response(status: .ok)
        }) { port async throws in
            let late = await #expect(throws: CommandFailure.self) {
                try await short.answer(of: "http://127.0.0.1:\(port)/")
            }
            #expect(late?.problem.contains("does not answer") == true)
            ending.finish()
        }
    }
}
