import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import UAFRelyingParty
import _Primitives

@testable import CountersignCommand

@Suite("decision 124, operations 89: the settings of attested apps")
struct AppAttestationSettingsTests {
    private static let app = "ABCDE12345.com.example.bank"

    private func load(_ flags: [String: String]) async throws -> ServeConfiguration {
        try await ServeConfiguration.load(file: nil, flags: flags, environment: ["HOME": "/home/op"])
    }

    /// A file with the root of a simulated service, as the terminal phone writes the file.
    private func withRoot(_ body: (_ path: String, SimulatedAppAttestor) async throws -> Void) async throws {
        let path = NSTemporaryDirectory() + UUID().uuidString + ".pem"
        let attestor = try SimulatedAppAttestor(app: Self.app)
        let text = Data(attestor.root).base64EncodedString(options: .lineLength64Characters)
        try "-----BEGIN CERTIFICATE-----\n\(text)\n-----END CERTIFICATE-----\n".write(
            toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body(path, attestor)
    }

    private func verdict(_ policy: AppAttestationPolicy, _ attestor: SimulatedAppAttestor) async throws -> String? {
        let hash = [UInt8](repeating: 1, count: 32)
        let made = try await attestor.attestation(clientDataHash: hash)
        return try policy.verify(
            .attestation(made.object, keyID: made.keyID), of: try FacetID("test:phone"), clientDataHash: hash,
            kept: nil, at: Timestamp(seconds: 1_800_000_000))?.app.name
    }

    @Test("Without a setting there is no policy")
    func off() async throws {
        #expect(try await self.load([:]).appAttestationPolicy() == nil)
        #expect(try await self.load(["appAttestation": "off"]).appAttestationPolicy() == nil)
    }

    @Test("The policy has the need, and Apple's root: a simulated attestation counts for nothing")
    func policy() async throws {
        for need in AppAttestationWish.Need.allCases {
            let policy = try #require(
                try await self.load(["appAttestation": need.rawValue, "attestedApps": Self.app])
                    .appAttestationPolicy())
            #expect(policy.need == need)
            let attestor = try SimulatedAppAttestor(app: Self.app)
            await #expect(throws: AppAttestationRefusal.untrusted) { try await self.verdict(policy, attestor) }
        }
    }

    @Test("A simulated root counts for a server that only this machine reaches, with a warning, and for no other")
    func simulated() async throws {
        try await self.withRoot { path, attestor in
            let flags = ["appAttestation": "required", "attestedApps": Self.app, "simulatedAppRoot": path]
            let configuration = try await self.load(flags)
            #expect(configuration.warnings.count == 1 && configuration.warnings[0].contains("simulated"))
            let policy = try #require(try configuration.appAttestationPolicy())
            #expect(try await self.verdict(policy, attestor) == Self.app)
            for more in [
                ["issuer": "https://id.example.com", "trustedProxies": "127.0.0.1"],
                ["bind": "0.0.0.0:443", "tlsCertificate": "c.pem", "tlsKey": "k.pem"],
            ] {
                let other = try await self.load(flags.merging(more) { $1 })
                #expect(throws: CommandFailure.self, "\(more)") { try other.appAttestationPolicy() }
            }
        }
    }

    @Test(
        "Settings that do not go together, and apps of another form, are refused",
        arguments: [
            ["attestedApps": Self.app], ["unattestedFacets": "test:a"], ["simulatedAppRoot": "/srv/root.pem"],
            ["appAttestation": "off", "attestedApps": Self.app], ["appAttestation": "required"],
            ["appAttestation": "sometimes", "attestedApps": Self.app],
            ["appAttestation": "optional", "attestedApps": Self.app, "unattestedFacets": "test:a"],
            ["appAttestation": "required", "attestedApps": "com.example.bank"],
            ["appAttestation": "required", "attestedApps": Self.app + "=staging"],
            [
                "appAttestation": "required", "attestedApps": Self.app,
                "unattestedFacets": String(repeating: "a", count: 513),
            ],
        ])
    func refused(flags: [String: String]) async throws {
        await #expect(throws: CommandFailure.self) { try await self.load(flags) }
    }

    @Test("A file without a certificate is named")
    func wrongFile() async throws {
        let configuration = try await self.load([
            "appAttestation": "required", "attestedApps": Self.app, "simulatedAppRoot": "/nowhere.pem",
        ])
        #expect {
            try configuration.appAttestationPolicy()
        } throws: { error in
            (error as? CommandFailure)?.problem.contains("/nowhere.pem") == true
        }
    }
}
