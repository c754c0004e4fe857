import ArgumentParser
import Foundation
import Testing

@testable import CountersignCommand

@Suite("countersign serve: the table of settings")
struct ServeSettingTests {
    /// A text of each setting, other than the default, that all go together.
    private static let texts = [
        "data": "/srv/data", "keyFile": "/srv/key", "bind": "[::1]:8081", "operationsBind": "127.0.0.1:9091",
        "issuer": "https://id.va.example/sign-in", "serviceName": "Lantern: the \"ID\" # 1",
        "formerIssuer": "https://old.va.example", "connections": "500", "trustedProxies": "10.0.0.0/8,192.168.1.1/32",
        "clientRegistration": "true", "openClientRegistration": "true", "clientIdDocuments": "true",
        "softwareStatements": "/srv/software.json", "termsVersion": "2027-01", "termsUri": "https://va.example/terms",
        "signInIssuer": "va.gov sign in", "signInCookiePrefix": "vagov", "signInCookieDomain": "va.example",
        "outgoingNetworks": "10.20.0.0/16", "caFile": "/srv/ca.pem", "apps": "/srv/apps.json",
        "facets": "ios:bundle-id:a,ios:bundle-id:b",
        "appAttestation": "required",
        "attestedApps": "ABCDE12345.com.example.bank,ABCDE12345.com.example.bank=development",
        "unattestedFacets": "android:apk-key-hash:a", "simulatedAppRoot": "/srv/root.pem",
        "noTerminalPhone": "true", "metadata": "/srv/m", "policies": "/srv/p", "versions": "1.0,1.1",
        "channelBinding": "/srv/a.pem,/srv/b.pem", "channelBindingIfTold": "true",
        "lenient": "row2Base64,row21VendorTags:3FFC", "extensions": "a.b,c.d", "breachedPasswords": "/srv/breached",
        "simulatedPeople": "/srv/people", "mailCommand": "/usr/sbin/sendmail -t -i", "mailFrom": "id@va.example",
        "pinService": "/srv/pin.sock", "requireSecurityReport": "true", "acceptRooted": "true", "acceptHooked": "true",
        "accountFactors": "biometric+device,pin", "pinLength": "6-12", "tlsCertificate": "c.pem", "tlsKey": "k.pem",
        "mtlsBind": "0.0.0.0:8443", "mtlsAddress": "https://mtls.va.example", "mtlsCa": "/srv/clients.pem",
        "mtlsCertificate": "m.pem", "mtlsKey": "n.pem", "trace": "/srv/trace", "traceBeyondLoopback": "true",
        "apnsKey": "/srv/apns.p8", "apnsKeyId": "ABC123DEFG", "apnsTeam": "DEF123GHIJ", "apnsTopic": "example.va.app",
        "apnsEnvironment": "development", "apnsAddress": "https://apns.va.example", "fcmAccount": "/srv/fcm.json",
        "fcmAddress": "https://fcm.va.example", "webPushKey": "/srv/web-push.pem",
        "webPushContact": "mailto:id@va.example", "unifiedPush": "true", "pushNetworks": "10.30.0.0/16",
        "logFormat": "json", "logLevel": "warning", "limits": "claimedLifetime=60,codeBurst=3",
    ]

    private func load(_ flags: [String: String], file: String? = nil) async throws -> ServeConfiguration {
        try await ServeConfiguration.load(file: file, flags: flags, environment: ["HOME": "/home/op"])
    }

    /// Returns the properties of a configuration as texts. A dictionary has no order, so the function sorts the limits.
    private func values(_ configuration: ServeConfiguration) -> [String] {
        var plain = configuration
        plain.limits = [:]
        return Mirror(reflecting: plain).children.map { "\($0.label ?? ""): \($0.value)" }
            + configuration.limits.map { "\($0.key)=\($0.value)" }.sorted()
    }

    @Test("every option of the command is a setting, and every setting has its option, of its own name")
    func options() throws {
        let properties = Mirror(reflecting: try ServeCommand.parse([])).children.compactMap { $0.label }
        let names = ServeSetting.all.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(Set(properties) == Set((names + ["config", "printConfig"]).map { "_" + $0 }))
        #expect(try ServeCommand.parse([]).flags.isEmpty)
        for name in names {
            let option = "--" + name.map { $0.isUppercase ? "-" + $0.lowercased() : String($0) }.joined()
            let isFlag = (try? ServeCommand.parse([option])) != nil
            let arguments = isFlag ? [option] : [option, "x"]
            #expect(try ServeCommand.parse(arguments).flags == [name: isFlag ? "true" : "x"], "\(name)")
        }
    }

    @Test("settings that are printed load again, each with its value")
    func printedLoadsAgain() async throws {
        #expect(Set(Self.texts.keys) == Set(ServeSetting.all.map(\.name)))
        let folder = NSTemporaryDirectory() + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let given = try await self.load(Self.texts)
        for flags in [Self.texts, [:]] {
            let first = try await self.load(flags)
            try first.printed.write(toFile: folder + "/c.yaml", atomically: true, encoding: .utf8)
            let second = try await self.load([:], file: folder + "/c.yaml")
            #expect(second.printed == first.printed)
            #expect(self.values(second) == self.values(first))
        }
        let names = given.printed.split(separator: "\n").map { String($0.prefix { $0 != ":" }) }
        #expect(names == ServeSetting.all.map(\.name))
    }

    @Test("a setting that is printed has the text that was given")
    func textsStand() async throws {
        let given = try await self.load(Self.texts)
        for setting in ServeSetting.all {
            #expect(setting.print(given) == Self.texts[setting.name], "\(setting.name)")
        }
    }

    @Test("without any setting, only what every server has is printed")
    func defaults() async throws {
        let printed = try await self.load([:]).printed
        #expect(
            printed == """
                data: /home/op/.local/share/countersign
                keyFile: /home/op/.config/countersign/countersign.key
                bind: 127.0.0.1:8080
                operationsBind: 127.0.0.1:9090
                issuer: http://localhost:8080
                serviceName: Countersign
                signInCookiePrefix: countersign
                facets: linux:program:countersign-phone
                """)
    }

    @Test("help texts name the defaults")
    func helpTexts() {
        let help = ServeCommand.helpMessage(columns: 10_000)
        for words in [
            "an object a line (default: text).", "critical, and worse (default: info).", "from 5 to 32, as LEAST-MOST.",
        ] {
            #expect(help.contains(words), "\(words)")
        }
    }
}
