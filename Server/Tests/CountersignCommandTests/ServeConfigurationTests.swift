import AppSignIn
import ArgumentParser
import CeremonyEngine
import CountersignServer
import CountersignTestKit
import Crypto
import Foundation
import OAuthProvider
import Sealing
import Settings
import Synchronization
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@testable import CountersignCommand

@Suite("countersign serve: settings from a file, the environment and flags")
struct ServeConfigurationTests {
    private func load(
        _ flags: [String: String] = [:], environment: [String: String] = ["HOME": "/home/op"], file: String? = nil
    ) async throws -> ServeConfiguration {
        try await ServeConfiguration.load(file: file, flags: flags, environment: environment)
    }

    @Test("without any setting it serves this machine alone")
    func defaults() async throws {
        let configuration = try await self.load()
        #expect(configuration.bind == ServeConfiguration.Endpoint("127.0.0.1:8080"))
        #expect(configuration.operationsBind == ServeConfiguration.Endpoint("127.0.0.1:9090"))
        #expect(configuration.issuer == "http://localhost:8080")
        #expect(configuration.dataFolder == "/home/op/.local/share/countersign")
        #expect(configuration.keyFile == "/home/op/.config/countersign/countersign.key")
        #expect(configuration.facets == ["linux:program:countersign-phone"])
    }

    @Test("the issuer of an IPv6 loopback address is that address, which nobody looks up")
    func addressInBrackets() async throws {
        #expect(try await self.load(["bind": "[::1]:8081"]).issuer == "http://[::1]:8081")
        #expect(try await self.load(["bind": "127.0.0.1:8081"]).issuer == "http://localhost:8081")
    }

    @Test("settings with several values are lists in YAML, or one text; other settings are no lists")
    func lists() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/settings-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        func load(_ text: String, _ flags: [String: String] = [:]) async throws -> ServeConfiguration {
            try text.write(toFile: folder + "/c.yaml", atomically: true, encoding: .utf8)
            return try await self.load(flags, file: folder + "/c.yaml")
        }
        let asLists = """
            trustedProxies: [10.0.0.0/8, 192.0.2.1/32]
            outgoingNetworks:
              - 10.20.0.0/16
            facets:
              - android:apk-key-hash:abc
              - ios:bundle-id:example.app
            channelBinding: [/etc/a.pem, /etc/b.pem]
            lenient: [row2Base64]
            versions: [1.0, 1.1]
            extensions: [a.b, c.d]
            accountFactors: [pin+device]
            limits: [codeBurst=3, claimedLifetime=60]
            """
        let asTexts = """
            trustedProxies: 10.0.0.0/8, 192.0.2.1/32
            outgoingNetworks: 10.20.0.0/16
            facets: android:apk-key-hash:abc,ios:bundle-id:example.app
            channelBinding: /etc/a.pem,/etc/b.pem
            lenient: row2Base64
            versions: 1.0,1.1
            extensions: a.b,c.d
            accountFactors: pin+device
            limits: codeBurst=3,claimedLifetime=60
            """
        let (lists, texts) = (try await load(asLists), try await load(asTexts))
        #expect(lists.printed == texts.printed)
        #expect(lists.trustedProxies == ["10.0.0.0/8", "192.0.2.1/32"] && lists.limits["claimedLifetime"] == 60)
        // A flag counts before the file, whatever form the file has.
        #expect(try await load(asLists, ["lenient": "row3SignedDataAnywhere"]).lenient == ["row3SignedDataAnywhere"])
        for wrong in ["issuer: [https://a.example]", "data: [/a, /b]", "facets: {a: b}", "limits: {codeBurst: 3}"] {
            let failure = await #expect(throws: CommandFailure.self, "\(wrong)") { try await load(wrong) }
            #expect(failure?.status == .usage && failure?.problem.contains("configuration file takes") == true)
        }
    }

    @Test("words behind -- are no options, and whoever writes some there is told")
    func optionsBehindTwoDashes() {
        #expect(
            Countersign.advice(on: ["admin", "account", "add", "--", "alice", "--data", "/x"])?.contains("--data")
                == true)
        for arguments in [["serve", "--data", "/x"], ["admin", "account", "add", "--", "-alice"], []] {
            #expect(Countersign.advice(on: arguments) == nil)
        }
    }

    @Test("the words of a server are read alone, and mistakes in the words are told as mistakes of the whole program")
    func serverAlone() throws {
        let command = try Countersign.command(of: ["serve", "--bind", "127.0.0.1:1", "--no-terminal-phone"])
        let serve = try #require(command as? ServeCommand)
        #expect(serve.bind == "127.0.0.1:1" && serve.noTerminalPhone)
        for wrong in [["--nonsense"], ["--bind"], ["word"]] {
            let failure = #expect(throws: (any Error).self, "\(wrong)") {
                try Countersign.command(of: ["serve"] + wrong)
            }
            let message = failure.map { Countersign.fullMessage(for: $0) }
            #expect(message?.contains("countersign serve") == true, "\(wrong)")
        }
        var help = try Countersign.command(of: ["serve", "--help"])
        let shown = #expect(throws: (any Error).self) { try help.run() }
        #expect(shown.map { Countersign.fullMessage(for: $0).contains("countersign serve") } == true)
        let other = try Countersign.command(of: ["hash", "calibrate"])
        #expect(!(other is ServeCommand))
    }

    @Test("the deployment has a name of its own, which shows and fits")
    func serviceName() async throws {
        #expect(try await self.load().serviceName == "Countersign")
        let named = try await self.load(["serviceName": "Lantern ID"])
        #expect(named.serviceName == "Lantern ID" && named.printed.contains("serviceName: Lantern ID\n"))
        for name in ["", " x", "x ", "a\u{202E}b", "a\nb", String(repeating: "a", count: 129)] {
            let failure = await #expect(throws: CommandFailure.self) { try await self.load(["serviceName": name]) }
            #expect(failure.map { "\($0)".contains("serviceName takes") } == true)
        }
    }

    @Test("a file that is not there is named once, and a limit is a number of whatever the limit counts")
    func wordsOfFailures() async throws {
        let missing = await #expect(throws: CommandFailure.self) { try await self.load(file: "/nowhere/c.yaml") }
        #expect("\(try #require(missing))".components(separatedBy: "/nowhere/c.yaml").count == 2)
        let limit = await #expect(throws: CommandFailure.self) { try await self.load(["limits": "codeBurst=x"]) }
        let words = "\(try #require(limit))"
        #expect(words.contains("name=number") && !words.contains("name=seconds"))
    }

    @Test("the service manager's folders come before the user's")
    func serviceManager() async throws {
        let configuration = try await self.load(environment: [
            "HOME": "/home/op", "STATE_DIRECTORY": "/var/lib/countersign",
            "CREDENTIALS_DIRECTORY": "/run/credentials/c",
        ])
        #expect(configuration.dataFolder == "/var/lib/countersign")
        #expect(configuration.keyFile == "/run/credentials/c/countersign.key")
    }

    @Test("a flag wins over the environment, and the environment over the file")
    func precedence() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("bind: 127.0.0.1:1\ndata: /file\nfacets: a,b\n".utf8).write(to: file)
        let configuration = try await self.load(
            ["bind": "127.0.0.1:3"],
            environment: ["COUNTERSIGN_BIND": "127.0.0.1:2", "COUNTERSIGN_DATA": "/environment"], file: file.path)
        #expect(configuration.bind.port == 3)
        #expect(configuration.dataFolder == "/environment")
        #expect(configuration.facets == ["linux:program:countersign-phone", "a", "b"])
        #expect(configuration.issuer == "http://localhost:3")
    }

    @Test("nobody's clients come unless the operator says so, by either way alone")
    func strangers() async throws {
        let usual = try await self.load()
        #expect(!usual.openClientRegistration && !usual.clientIDDocuments)
        #expect(!usual.printed.contains("openClientRegistration") && !usual.printed.contains("clientIdDocuments"))
        let open = try await self.load(["openClientRegistration": "true"])
        #expect(open.openClientRegistration && !open.clientIDDocuments && !open.clientRegistration)
        #expect(open.printed.contains("openClientRegistration: true"))
        let documents = try await self.load(["clientIdDocuments": "true"])
        #expect(!documents.openClientRegistration && documents.clientIDDocuments)
        #expect(documents.printed.contains("clientIdDocuments: true"))
    }

    @Test(
        "the listener for clients' certificates has the public one's certificate and host, unless it is told otherwise")
    func mutualTLS() async throws {
        let flags = [
            "issuer": "https://sign-in.bank.example", "tlsCertificate": "c.pem", "tlsKey": "k.pem",
            "mtlsBind": "0.0.0.0:8443",
        ]
        let usual = try await self.load(flags)
        #expect(usual.mtlsAddress == "https://sign-in.bank.example:8443")
        #expect(usual.mtlsCertificate == "c.pem" && usual.mtlsKey == "k.pem" && usual.mtlsAuthorities == nil)
        let own = [
            "mtlsAddress": "https://mtls.bank.example", "mtlsCertificate": "m.pem", "mtlsKey": "n.pem",
            "mtlsCa": "/ca.pem",
        ]
        let told = try await self.load(flags.merging(own) { $1 })
        #expect(told.mtlsAddress == "https://mtls.bank.example" && told.mtlsAuthorities == "/ca.pem")
        #expect(told.mtlsCertificate == "m.pem" && told.mtlsKey == "n.pem")
        for line in ["mtlsBind: 0.0.0.0:8443", "mtlsAddress: https://mtls.bank.example", "mtlsCa: /ca.pem"] {
            #expect(told.printed.contains(line), "\(line)")
        }
        #expect(try await !self.load().printed.contains("mtls"))
    }

    @Test("the app sign-in service is called what the operator says, and its cookies are for a domain of the server's")
    func signInService() async throws {
        let usual = try await self.load()
        #expect(usual.signInService.cookiePrefix == "countersign")
        #expect(usual.signInService.cookieDomain == nil && usual.signInService.issuer == nil)
        for domain in ["va.example", "id.va.example"] {
            let told = try await self.load([
                "issuer": "https://id.va.example", "signInIssuer": "va.gov sign in", "signInCookiePrefix": "vagov",
                "signInCookieDomain": domain,
            ])
            #expect(told.signInService.cookieDomain == domain && told.signInService.issuer == "va.gov sign in")
            #expect(told.printed.contains("signInCookieDomain: \(domain)"))
            #expect(told.printed.contains("signInCookiePrefix: vagov"))
        }
    }

    @Test("lifetimes come by name")
    func limits() async throws {
        #expect(try await self.load(["limits": "code=5, claimed=7"]).limits == ["code": 5, "claimed": 7])
    }

    @Test(
        "what cannot be meant is refused, with the exit code for misuse",
        arguments: [
            ["bind": "8080"], ["bind": "localhost:70000"], ["bind": ":1"], ["operationsBind": "x"],
            ["issuer": "ftp://localhost"], ["issuer": "sign-in.example.com"], ["issuer": "https://a.example/a//b"],
            ["issuer": "https://a.example/a/../b"], ["issuer": "https://a.example/./b"],
            ["issuer": "https://a.example/a%2Fb"], ["issuer": "https://a.example/.well-known/b"],
            ["issuer": "https://a.example/{id}"], ["issuer": "https://a.example/a:b"],
            ["issuer": "https://a.example/\(String(repeating: "a", count: 64))"],
            ["issuer": "http://sign-in.example.com"], ["issuer": "https://user:pass@a.example"],
            ["issuer": "https://user@a.example"], ["issuer": "https://a.example?q=1"],
            ["issuer": "https://a.example#f"], ["issuer": "https://"], ["issuer": "http://127.0.0.1.example.com"],
            ["bind": "127.example.com:80"], ["tlsKey": "k.pem"], ["tlsCertificate": "c.pem"],
            ["mtlsBind": "x", "mtlsCertificate": "c.pem", "mtlsKey": "k.pem"], ["mtlsBind": "127.0.0.1:8443"],
            ["mtlsCa": "ca.pem"], ["mtlsAddress": "https://a.example"], ["mtlsCertificate": "c.pem"],
            ["mtlsKey": "k.pem"], ["mtlsCertificate": "m.pem", "mtlsKey": "n.pem"],
            ["mtlsCertificate": "m.pem", "mtlsKey": "n.pem", "tlsCertificate": "c.pem", "tlsKey": "k.pem"],
            ["softwareStatements": "s.json"], ["softwareStatements": "s.json", "clientIdDocuments": "true"],
            [
                "mtlsBind": "127.0.0.1:8443", "mtlsCertificate": "c.pem", "mtlsKey": "k.pem",
                "mtlsAddress": "http://a.example",
            ],
            [
                "mtlsBind": "127.0.0.1:8443", "mtlsCertificate": "c.pem", "mtlsKey": "k.pem",
                "mtlsAddress": "https://b.example/path",
            ],
            [
                "mtlsBind": "127.0.0.1:8443", "mtlsCertificate": "c.pem", "mtlsKey": "k.pem",
                "mtlsAddress": "https://a.example", "issuer": "https://a.example", "trustedProxies": "10.0.0.0/8",
            ],
            ["signInCookiePrefix": ""], ["signInCookiePrefix": "v=a"], ["signInCookiePrefix": "__Host-va"],
            ["signInCookiePrefix": String(repeating: "v", count: 99)], ["signInIssuer": ""],
            ["signInCookieDomain": "example", "issuer": "https://id.example"],
            ["signInCookieDomain": "VA.example", "issuer": "https://id.va.example"],
            ["signInCookieDomain": "other.example", "issuer": "https://id.va.example"],
            ["signInCookieDomain": "a.example", "issuer": "https://va.example"],
            ["signInCookieDomain": "x.id.va.example", "issuer": "https://id.va.example"],
            ["connections": "0"], ["connections": "-1"], ["connections": "many"], ["connections": ""],
            ["requireSecurityReport": "yes"], ["acceptRooted": "1"], ["acceptHooked": "perhaps"],
            ["accountFactors": ""], ["accountFactors": "device"], ["accountFactors": "pin,,device"],
            ["accountFactors": "PIN+device"], ["accountFactors": "pin+otp"], ["accountFactors": "pin+pin"],
            ["accountFactors": "pin+device,device+pin"], ["accountFactors": "biometric+device"],
            ["accountFactors": "biometric,biometric+pin+device"], ["pinLength": "6"], ["pinLength": "4-8"],
            ["pinLength": "8-6"], ["pinLength": "6-33"], ["pinLength": "06-8"], ["pinLength": "6-8-9"],
            ["pinLength": ""],
            ["bind": "0.0.0.0:8080"], ["limits": "code"], ["limits": "code=0"], ["limits": "code=a"],
            ["traceBeyondLoopback": "yes"], ["lenient": "row1"], ["lenient": "row21VendorTags:xyz"],
            ["lenient": "row21VendorTags:13FFC"],
            ["lenient": "base64"], ["versions": "1.0"], ["versions": ""], ["versions": "1.1,2.0"],
            ["lenient": "row2Base64,section14AnyText"],
            ["channelBindingIfTold": "true"], ["channelBinding": "a.pem", "channelBindingIfTold": "perhaps"],
            ["bind": "0.0.0.0:8080", "trustedProxies": "10.0.0.0/8", "issuer": "https://a.example", "trace": "t"],
        ])
    func refusals(flags: [String: String]) async throws {
        let failure = await #expect(throws: CommandFailure.self) { try await self.load(flags) }
        #expect(failure?.status == .usage)
        #expect(failure?.description.contains("pass") == false, "a password is not repeated")
    }

    @Test(
        "a setting that does nothing without another is refused, and the refusal names the other",
        arguments: [
            ("mtlsAddress", "--mtls-bind"), ("mtlsCa", "--mtls-bind"), ("mtlsCertificate", "--mtls-bind"),
            ("mtlsKey", "--mtls-bind"), ("softwareStatements", "--client-registration"),
            ("channelBindingIfTold", "--channel-binding"), ("termsUri", "--terms-version"),
            ("mailFrom", "--mail-command"), ("tlsKey", "--tls-certificate"),
        ])
    func useless(setting: String, other: String) async throws {
        let failure = await #expect(throws: CommandFailure.self) { try await self.load([setting: "true"]) }
        #expect(failure?.status == .usage && failure?.description.contains(other) == true)
    }

    @Test(
        "the issuer may have a path, without the slashes at its end",
        arguments: [
            ("https://a.example/path", "https://a.example/path"),
            ("https://a.example/a/B-1._~/", "https://a.example/a/B-1._~"),
            ("https://a.example:8443/\(String(repeating: "a", count: 63))//", nil),
        ])
    func issuersWithAPath(text: String, issuer: String?) async throws {
        let flags = ["issuer": text, "trustedProxies": "10.0.0.0/8"]
        let expected = issuer ?? String(text.dropLast(2))
        #expect(try await self.load(flags).issuer == expected)
    }

    @Test("metadata, policies, lenient readings and extensions are settings like the others, and shown")
    func rules() async throws {
        let configuration = try await self.load(
            [
                "policies": "/etc/p", "lenient": "row2Base64, row21VendorTags:3FFC, acceptsOutdatedAuthenticators",
                "versions": "1.0,1.1",
            ],
            environment: ["COUNTERSIGN_METADATA": "/etc/m", "COUNTERSIGN_EXTENSIONS": "a.b", "HOME": "/home/op"])
        #expect(configuration.metadataFolder == "/etc/m" && configuration.policiesFolder == "/etc/p")
        var expected = Leniency()
        expected.readings.row2Base64 = true
        expected.readings.row21VendorTags = [TLVTag(rawValue: 0x3FFC)]
        expected.acceptsOutdatedAuthenticators = true
        #expect(try Leniency(configuration.lenient) == expected)
        #expect(try ProtocolVersions.versions(configuration.versions) == [.uaf10, .uaf11])
        let printed = configuration.printed.split(separator: "\n")
        for line in [
            "metadata: /etc/m", "policies: /etc/p",
            "lenient: row2Base64,row21VendorTags:3FFC,acceptsOutdatedAuthenticators",
            "extensions: a.b", "versions: 1.0,1.1",
        ] {
            #expect(printed.contains { $0 == line }, "\(line)")
        }
        let plain = try await self.load().printed
        #expect(!plain.contains("lenient") && !plain.contains("policies"))
        #expect(!plain.contains("versions"))
        #expect(try Leniency([]) == Leniency())
    }

    @Test("what is wanted of devices and PINs of personalised identities is set, and shown where it is")
    func identities() async throws {
        let usual = try await self.load()
        #expect(!usual.identities.requiresSecurityReport)
        #expect(!usual.identities.acceptsRooted && !usual.identities.acceptsHooked)
        #expect(usual.identities.accountFactors == IdentityRules().accountFactors)
        #expect(usual.identities.pinLength == 5...32)
        for word in ["SecurityReport", "Rooted", "Hooked", "accountFactors", "pinLength"] {
            #expect(!usual.printed.contains(word), "\(word)")
        }
        let told = try await self.load(
            ["requireSecurityReport": "true", "accountFactors": "biometric+device, pin"],
            environment: [
                "HOME": "/home/op", "COUNTERSIGN_ACCEPT_ROOTED": "true", "COUNTERSIGN_ACCEPT_HOOKED": "true",
                "COUNTERSIGN_PIN_LENGTH": "6-6",
            ])
        #expect(told.identities.requiresSecurityReport)
        #expect(told.identities.acceptsRooted && told.identities.acceptsHooked)
        #expect(told.identities.accountFactors == [[.biometric, .device], [.pin]])
        #expect(told.identities.pinLength == 6...6)
        let printed = told.printed.split(separator: "\n")
        for line in [
            "requireSecurityReport: true", "acceptRooted: true", "acceptHooked: true",
            "accountFactors: biometric+device,pin", "pinLength: 6-6",
        ] {
            #expect(printed.contains { $0 == line }, "\(line)")
        }
        let failure = await #expect(throws: CommandFailure.self) { try await self.load(["accountFactors": "device"]) }
        #expect(failure?.problem.contains("accountFactors") == true && failure?.problem.contains("pin") == true)
        let shut = await #expect(throws: CommandFailure.self) {
            try await self.load(["accountFactors": "biometric+device"])
        }
        #expect(shut?.problem.contains("adding a finger") == true)
        #expect(shut?.remedy?.contains("biometric+device,pin+device") == true)
    }

    @Test("the bound for connections is a number, shown where it is set")
    func connections() async throws {
        let configuration = try await self.load(["connections": "500"])
        #expect(configuration.connections == 500 && configuration.printed.contains("\nconnections: 500\n"))
        let plain = try await self.load()
        #expect(plain.connections == nil && !plain.printed.contains("connections"))
    }

    @Test("rules are read from both folders; a bad file names itself")
    func ruleFiles() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("rules-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in ["m", "p"] {
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent(name), withIntermediateDirectories: true)
        }
        let (metadata, policies) = (folder.path + "/m", folder.path + "/p")
        try Data(#"{"accepted":[[{"aaid":["C516#0003"]}]]}"#.utf8).write(to: URL(filePath: policies + "/finger.json"))
        try Data(#"{"models":["C516#0001"]}"#.utf8).write(to: URL(filePath: metadata + "/revoked.json"))
        let rules = try RuleFiles(metadataFolder: metadata, policiesFolder: policies).load()
        #expect(rules.policies.names == ["finger"])
        let (pin, finger) = (try AAID("C516#0001"), try AAID("C516#0003"))
        #expect(rules.metadata.isRevoked(pin) && !rules.metadata.isRevoked(finger))
        #expect(try RuleFiles(metadataFolder: nil, policiesFolder: nil).load().policies.names.isEmpty)
        try Data("{".utf8).write(to: URL(filePath: policies + "/bad.json"))
        #expect(throws: PolicyFileError.self) {
            try RuleFiles(metadataFolder: metadata, policiesFolder: policies).load()
        }
        try Data("{".utf8).write(to: URL(filePath: metadata + "/bad.json"))
        #expect(throws: MetadataFolderError.self) {
            try RuleFiles(metadataFolder: metadata, policiesFolder: nil).load()
        }
    }

    /// Writes a configuration file for one test.
    private func withFile(_ text: String, _ body: (String) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(text.utf8).write(to: file)
        try await body(file.path)
    }

    @Test(
        "a setting of the file that is none, or of another shape, is refused by its name",
        arguments: [
            ("bnd: 127.0.0.1:1", "bind"), ("trustedProxy: 10.0.0.0/8", "trustedProxies"), ("key-file: /k", "keyFile"),
            ("colour: red", "There are:"), ("bind: 127.0.0.1:1\nDATA: /d", "DATA"), ("issuer: [a, b]", "not a list"),
            ("limits:\n  dispatchLifetime: 5", "limits"),
        ])
    func unknownSettings(text: String, words: String) async throws {
        try await self.withFile(text) { file in
            let failure = await #expect(throws: CommandFailure.self) { try await self.load(file: file) }
            #expect(failure?.status == .usage)
            #expect(failure?.description.contains(words) == true, "\(failure?.description ?? "")")
        }
    }

    @Test(
        "a variable that no command knows is refused, with the nearest one that there is",
        arguments: [
            ("COUNTERSIGN_BND", "COUNTERSIGN_BIND"), ("COUNTERSIGN_KEYFILE", "COUNTERSIGN_KEY_FILE"),
            ("COUNTERSIGN_TRUSTED_PROXY", "COUNTERSIGN_TRUSTED_PROXIES"), ("COUNTERSIGN_", "There are:"),
        ])
    func unknownVariables(name: String, words: String) async throws {
        let failure = await #expect(throws: CommandFailure.self) {
            try await self.load(environment: ["HOME": "/home/op", name: "secret-value"])
        }
        #expect(failure?.status == .usage)
        #expect(failure?.description.contains(words) == true, "\(failure?.description ?? "")")
        #expect(failure?.description.contains("secret-value") == false)
    }

    @Test("variables of other commands, and an orchestrator's of a service of this name, are let be")
    func foreignVariables() async throws {
        let configuration = try await self.load(environment: [
            "HOME": "/home/op", "COUNTERSIGN_ADMIN_URL": "https://a.example", "COUNTERSIGN_ADMIN_TOKEN": "t",
            "COUNTERSIGN_PORT": "tcp://10.0.0.1:80", "COUNTERSIGN_SERVICE_HOST": "10.0.0.1",
            "COUNTERSIGN_PORT_80_TCP_ADDR": "10.0.0.1", "COUNTERSIGNED": "x", "COUNTERSIGN_BIND": "127.0.0.1:2",
        ])
        #expect(configuration.bind.port == 2)
    }

    @Test("without any app that may answer it starts, but says so")
    func emptyFacets() async throws {
        #expect(try await self.load(["facets": " , ", "noTerminalPhone": "true"]).warnings.count == 1)
        #expect(try await self.load(["facets": " , "]).warnings.isEmpty)
        #expect(try await self.load().warnings.isEmpty)
        let bare = try await self.load(["issuer": "https://a.example"]).warnings
        #expect(bare.count == 1 && bare[0].contains("--trusted-proxies") && bare[0].contains("--tls-certificate"))
        for more in [["trustedProxies": "127.0.0.1"], ["tlsCertificate": "c.pem", "tlsKey": "k.pem"]] {
            let flags = more.merging(["issuer": "https://a.example"]) { $1 }
            #expect(try await self.load(flags).warnings.isEmpty)
        }
    }

    @Test("apps that are named add to the terminal phone, each once; it is left out only where that is said")
    func facets() async throws {
        let phone = "linux:program:countersign-phone"
        let named = try await self.load(["facets": "ios:bundle-id:a, \(phone),ios:bundle-id:a"])
        #expect(named.facets == [phone, "ios:bundle-id:a"])
        #expect(named.printed.contains("facets: \(phone),ios:bundle-id:a"))
        let without = try await self.load(["facets": "ios:bundle-id:a,\(phone)", "noTerminalPhone": "true"])
        #expect(without.facets == ["ios:bundle-id:a"] && without.warnings.isEmpty)
        #expect(without.printed.contains("noTerminalPhone: true"))
    }

    @Test("the certificates that phones must see are read from files, the first one of each; a bad file names itself")
    func channelBinding() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("channel-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        func file(_ name: String, _ certificates: [[UInt8]]) throws -> String {
            let blocks = certificates.map { der in
                "-----BEGIN CERTIFICATE-----\n\(Data(der).base64EncodedString(options: .lineLength64Characters))\n"
                    + "-----END CERTIFICATE-----\n"
            }
            let path = folder.path + "/" + name
            try Data(blocks.joined().utf8).write(to: URL(filePath: path))
            return path
        }
        let aaid = try AAID("C516#0001")
        let (first, second) = (
            try TestCertificates(rsa: false, aaid: aaid, random: .system),
            try TestCertificates(rsa: true, aaid: aaid, random: .system)
        )
        let files = [try file("a.pem", first.chain), try file("b.pem", second.chain)]
        let configuration = try await self.load(["channelBinding": files.joined(separator: ", ")])
        #expect(configuration.channelBinding == files && !configuration.channelBindingIfTold)
        #expect(configuration.printed.contains("channelBinding: \(files.joined(separator: ","))"))
        let channel = ChannelBindingRule.AcceptedChannel(
            serverEndPoints: [
                Base64URL.encode(Array(SHA256.hash(data: first.chain[0]))),
                Base64URL.encode(Array(SHA256.hash(data: second.chain[0]))),
            ],
            tlsServerCertificates: [Base64URL.encode(first.chain[0]), Base64URL.encode(second.chain[0])])
        #expect(try RuleFiles(channelCertificates: files).load().channelBinding == .required(channel))
        let told = try await self.load(["channelBinding": files[0], "channelBindingIfTold": "true"])
        #expect(told.channelBindingIfTold && told.printed.contains("channelBindingIfTold: true"))
        #expect(
            try RuleFiles(channelCertificates: files, channelMayBeUntold: true).load().channelBinding
                == .matchIfPresent(channel))
        #expect(try RuleFiles().load().channelBinding == .ignore)
        try Data("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".utf8)
            .write(to: URL(filePath: files[1]))
        for bad in [files[1], folder.path + "/none.pem", folder.path] {
            let error = #expect(throws: ChannelCertificateError.self) {
                try RuleFiles(channelCertificates: [files[0], bad]).load()
            }
            #expect(error?.description.contains(bad) == true)
        }
    }

    @Test("a file that is not there is named")
    func missingFile() async throws {
        let failure = await #expect(throws: CommandFailure.self) { try await self.load(file: "/none/at.yaml") }
        #expect(failure?.status == .notFound)
        #expect(failure?.description.contains("/none/at.yaml") == true)
    }

    @Test("behind a proxy it may listen for others, and traces only where that is said twice")
    func beyondLoopback() async throws {
        let configuration = try await self.load([
            "bind": "[::]:8080", "trustedProxies": "10.0.0.0/8,192.168.1.1/32", "issuer": "https://a.example/",
            "trace": "t", "traceBeyondLoopback": "true",
        ])
        #expect(configuration.trustedProxies == ["10.0.0.0/8", "192.168.1.1/32"])
        #expect(configuration.issuer == "https://a.example")
        #expect(configuration.bind.description == "[::]:8080")
        // The printed settings are a file that a server can be started with.
        let folder = NSTemporaryDirectory() + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try configuration.printed.write(toFile: folder + "/c.yaml", atomically: true, encoding: .utf8)
        #expect(try await self.load(file: folder + "/c.yaml").printed == configuration.printed)
    }
}

@Suite("countersign serve: the key file")
struct KeyFileTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("key-\(UUID())")

    private func withFolder(_ body: (String) throws -> Void) throws {
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: self.folder) }
        try body(self.folder.path)
    }

    @Test("is made once, for its owner alone, and read again")
    func makesAndReads() throws {
        try self.withFolder { folder in
            let file = KeyFile(path: folder + "/keys/a.key")
            let key = try file.keys(mayCreate: true, dataFolder: folder + "/data")
            #expect(key.former.isEmpty && Base64URL.decode(key.newest.text)?.count == 32)
            #expect(try file.keys(mayCreate: false, dataFolder: folder + "/data") == key)
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test("another start that was first has made the key that counts, and nothing else is left")
    func losesTheRace() throws {
        try self.withFolder { folder in
            let path = folder + "/a.key"
            let others = String(repeating: "A", count: 43)
            // While the bytes of this one are drawn.
            let random = RandomSource { count in
                try? Data((others + "\n").utf8).write(to: URL(fileURLWithPath: path))
                chmod(path, 0o600)
                return [UInt8](repeating: 7, count: count)
            }
            let key = try KeyFile(path: path).keys(mayCreate: true, dataFolder: folder + "/data", random: random)
            #expect(try key == KeyRing(KeyEncryptionKey([UInt8](repeating: 0, count: 32))))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["a.key"])
        }
    }

    @Test("never has its name before its bytes: a start that is killed leaves no short key")
    func isWholeOrNotThere() throws {
        try self.withFolder { folder in
            let file = KeyFile(path: folder + "/a.key")
            let isDone = Mutex(false)
            let found = Mutex([Int]())
            let wanted = 20
            let watched = DispatchSemaphore(value: 0)
            Thread {
                while !isDone.withLock({ $0 }) {
                    if let data = FileManager.default.contents(atPath: file.path) {
                        found.withLock { $0.append(data.count) }
                    }
                }
                watched.signal()
            }.start()
            // Until the watcher has seen enough of them, however seldom it gets to run.
            while found.withLock({ $0.count }) < wanted {
                _ = try file.keys(mayCreate: true, dataFolder: folder + "/data")
                unlink(file.path)
            }
            isDone.withLock { $0 = true }
            watched.wait()
            #expect(found.withLock { $0 }.allSatisfy { $0 == 44 })
        }
    }

    @Test("is refused as a link that leads into the data folder")
    func refusesALinkedFile() throws {
        try self.withFolder { folder in
            try FileManager.default.createDirectory(atPath: folder + "/data", withIntermediateDirectories: true)
            let key = KeyFile(path: folder + "/data/a.key")
            _ = try key.keys(mayCreate: true, dataFolder: folder + "/elsewhere")
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/b.key", withDestinationPath: folder + "/data/a.key")
            let failure = #expect(throws: CommandFailure.self) {
                try KeyFile(path: folder + "/b.key").keys(mayCreate: false, dataFolder: folder + "/data")
            }
            #expect(failure?.description.contains("lies in the data folder") == true)
        }
    }

    @Test("may show the group's bits among the service manager's credentials, and nowhere else")
    func credentials() throws {
        try self.withFolder { folder in
            let credentials = folder + "/credentials"
            let path = credentials + "/countersign.key"
            let key = try KeyFile(path: path).keys(mayCreate: true, dataFolder: folder + "/data")
            try FileManager.default.setAttributes([.posixPermissions: 0o440], ofItemAtPath: path)
            let file = KeyFile(path: path, credentialsFolder: credentials)
            #expect(try file.keys(mayCreate: false, dataFolder: folder + "/data") == key)
            for other in [nil, folder + "/cred", folder + "/data"] {
                #expect(throws: CommandFailure.self) {
                    try KeyFile(path: path, credentialsFolder: other)
                        .keys(mayCreate: false, dataFolder: folder + "/data")
                }
            }
            for mode in [0o444, 0o460, 0o450] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
                #expect(throws: CommandFailure.self) { try file.keys(mayCreate: false, dataFolder: folder + "/data") }
            }
        }
    }

    @Test("is refused inside the data folder, also through a link")
    func refusesDataFolder() throws {
        try self.withFolder { folder in
            try FileManager.default.createDirectory(atPath: folder + "/data", withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/link", withDestinationPath: folder + "/data")
            for path in ["/data/a.key", "/link/a.key"] {
                #expect(throws: CommandFailure.self) {
                    try KeyFile(path: folder + path).keys(mayCreate: true, dataFolder: folder + "/data")
                }
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/data").isEmpty)
        }
    }

    @Test("is refused where others can read it, or where it holds something else")
    func refusesOpenAndForeignFiles() throws {
        try self.withFolder { folder in
            let path = folder + "/a.key"
            _ = try KeyFile(path: path).keys(mayCreate: true, dataFolder: folder + "/data")
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
            #expect(throws: CommandFailure.self) { try KeyFile(path: path).keys(mayCreate: true, dataFolder: "/d") }
            try Data("short\n".utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            #expect(throws: CommandFailure.self) { try KeyFile(path: path).keys(mayCreate: true, dataFolder: "/d") }
        }
    }

    @Test("is not made anew where a database is sealed under a lost one")
    func refusesToReplaceALostKey() throws {
        try self.withFolder { folder in
            let file = KeyFile(path: folder + "/a.key")
            #expect(throws: CommandFailure.self) { try file.keys(mayCreate: false, dataFolder: folder + "/data") }
            #expect(!FileManager.default.fileExists(atPath: file.path))
        }
    }
}

@Suite("countersign serve: a start that fails")
struct FailedStartTests {
    /// A port of this machine at which somebody else listens.
    private func takenPort() throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isTaken = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 1) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        try #require(isTaken)
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    @Test("a server that cannot listen says so, and leaves no link for an administrator", .timeLimit(.minutes(10)))
    func leavesNoLink() async throws {
        let taken = try self.takenPort()
        defer { close(taken.descriptor) }
        let folder = "/tmp/countersign-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let configuration = try await ServeConfiguration.load(
            file: nil,
            flags: [
                "data": folder + "/data", "keyFile": folder + "/key", "bind": "127.0.0.1:\(taken.port)",
                "operationsBind": "127.0.0.1:0",
            ], environment: [:])
        let failure = await #expect(throws: CommandFailure.self) {
            try await ServerProcess(configuration: configuration).run()
        }
        #expect(failure?.status == .failed && failure?.description.contains("cannot listen") == true)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder + "/data")
        for name in ["administrator-link", "issuer", "admin.sock"] { #expect(!left.contains(name), "\(name)") }
    }
}

@Suite("countersign serve: lifetimes")
struct SettableLimitsTests {
    @Test("are set by name")
    func set() throws {
        let limits = try SettableLimits.applied(["dispatchLifetime": 3, "sessionLifetime": 60])
        #expect(limits.dispatchLifetime == .seconds(3))
        #expect(limits.sessionLifetime == .seconds(60))
        #expect(limits.claimedLifetime == Limits().claimedLifetime)
    }

    @Test("the first rest after a failed attempt too, from one second on")
    func firstLockout() throws {
        #expect(try SettableLimits.applied(["firstLockout": 1]).firstLockout == .seconds(1))
        #expect(try SettableLimits.applied(["firstLockout": 10]).firstLockout == .seconds(10))
        #expect(throws: CommandFailure.self) { try SettableLimits.applied(["firstLockout": 11]) }
    }

    @Test("and budgets too, whatever their default")
    func budgets() throws {
        let limits = try SettableLimits.applied(["signInBurst": 5000, "guessesPerMinute": 1])
        #expect(limits.signInBurst == 5000 && limits.guessesPerMinute == 1)
        #expect(limits.codeBurst == Limits().codeBurst)
        let refusals = try SettableLimits.applied(["refusalBurst": 7, "refusalsPerMinute": 8])
        #expect(refusals.refusalBurst == 7 && refusals.refusalsPerMinute == 8)
        let pushes = try SettableLimits.applied([
            "pushesPerRequester": 1, "pushesPerRequesterDay": 2, "pushesPerPerson": 3, "pushesPerPersonDay": 4,
        ]).push
        #expect(pushes.pushesPerRequester == 1 && pushes.pushesPerRequesterDay == 2)
        #expect(pushes.pushesPerPerson == 3 && pushes.pushesPerPersonDay == 4)
        let proven = try SettableLimits.applied(["provenRequestBurst": 5, "provenRequestsPerMinute": 6])
        #expect(proven.provenRequestBurst == 5 && proven.provenRequestsPerMinute == 6)
        let clients = try SettableLimits.applied([
            "challengeBurst": 1, "challengesPerMinute": 2, "dispatchBurst": 3, "dispatchesPerMinute": 4,
            "openDispatchBurst": 5, "openDispatchesPerMinute": 6, "personDispatchBurst": 7,
            "personDispatchesPerMinute": 8, "pushedRequestBurst": 9, "pushedRequestsPerMinute": 10,
            "deviceCodeBurst": 11, "deviceCodesPerMinute": 12,
        ])
        #expect(clients.oauth.pushedRequestBurst == 9 && clients.oauth.pushedRequestsPerMinute == 10)
        #expect(clients.oauth.deviceCodeBurst == 11 && clients.oauth.deviceCodesPerMinute == 12)
        #expect(clients.challengeBurst == 1 && clients.challengesPerMinute == 2)
        #expect(clients.dispatchBurst == 3 && clients.dispatchesPerMinute == 4)
        #expect(clients.openDispatchBurst == 5 && clients.openDispatchesPerMinute == 6)
        #expect(clients.personDispatchBurst == 7 && clients.personDispatchesPerMinute == 8)
        #expect(throws: CommandFailure.self) { try SettableLimits.applied(["signInBurst": 1_000_001]) }
    }

    @Test("and a source's shares, which are a quarter of the connections where nobody says")
    func shares() throws {
        let few = Limits(connections: 20)
        #expect(few.connectionsPerSource == 8 && few.channelsPerSource == 8, "a browser and a phone have enough")
        #expect(Limits(connections: 3).connectionsPerSource == 3)
        let defaults = Limits(connections: 896)
        #expect(defaults.connectionsPerSource == 224 && defaults.channelsPerSource == 224)
        let limits = try SettableLimits.applied(
            ["connectionsPerSource": 600, "answerBytes": 1, "answerPeriod": 1], to: defaults)
        #expect(limits.connectionsPerSource == 600 && limits.channelsPerSource == 224)
        #expect(limits.answerBytes == 1 && limits.answerPeriod == .seconds(1))
    }

    @Test("of another name, or longer than twice the default, are refused", arguments: ["tea", "dispatchLifetime"])
    func refused(name: String) {
        #expect(throws: CommandFailure.self) { try SettableLimits.applied([name: 121]) }
    }
}
