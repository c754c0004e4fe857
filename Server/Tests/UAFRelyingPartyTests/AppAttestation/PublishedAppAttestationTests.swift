import Crypto
import Foundation
import Testing
import UAFRelyingParty
import _Primitives

/// The sample of Apple's "Attestation object validation guide" (Apple Developer Documentation), without its receipt,
/// and an assertion that a device made. Neither comes from this project's code.
@Suite("decision 124: published attestations and assertions of apps")
struct PublishedAppAttestationTests {
    private static let leaf = """
        MIIEHTCCA6OgAwIBAgIGAZ2xPwtOMAoGCCqGSM49BAMCME8xIzAhBgNVBAMMGkFwcGxlIEFwcCBBdHRlc3RhdGlvbiBDQSAxMRMwEQYDVQQK
        DApBcHBsZSBJbmMuMRMwEQYDVQQIDApDYWxpZm9ybmlhMB4XDTI2MDQyMDE4MTMxMloXDTI2MDQyMzE4MTMxMlowgZExSTBHBgNVBAMMQGNl
        MDQ5OGY1ODQ4M2ZiYjRkYTBkN2IyYzYzYTVhNTM4ZjU1MmQ0YWRjYjlhNGZhOTE2MTk1YzQ5NjEzZTY1NWQxGjAYBgNVBAsMEUFBQSBDZXJ0
        aWZpY2F0aW9uMRMwEQYDVQQKDApBcHBsZSBJbmMuMRMwEQYDVQQIDApDYWxpZm9ybmlhMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEQzJU
        Ss8yPbd0RDyq8zn1bn6VxyT6wsFCWfNl4kRWULK1+yhbz1Sby2BZRBLnaCokJ+6tqftS3+0LGrF+0J+pvaOCAiYwggIiMAwGA1UdEwEB/wQC
        MAAwDgYDVR0PAQH/BAQDAgTwMBQGA1UdJQQNMAsGCSqGSIb3Y2QEGDB6BgkqhkiG92NkCAUEbTBrpAMCAQq/iTADAgEAv4kxAwIBAL+JMgMC
        AQC/iTMDAgEAv4k0HgQcMTIzNDU2Nzg5MC5jb20uZXhhbXBsZS5teWFwcL+JNgMCAQS/iTcDAgEAv4k5AwIBAL+JOgMCAQC/iTsDAgEAqgMC
        AQAwgeAGCSqGSIb3Y2QIBwSB0jCBz7+KeAYEBDI3LjC/iFADAgECv4p5CQQHMS4wLjIxNr+KewkEBzI0QTMyNWK/inwGBAQyNy4wv4p9BgQE
        MjcuML+KfgMCAQC/in8DAgEAv4sAAwIBAL+LAQMCAQC/iwIDAgEAv4sDAwIBAL+LBAMCAQG/iwUDAgEAv4sKEAQOMjQuMS4zMjUuMC4yLDC/
        iwsQBA4yNC4xLjMyNS4wLjIsML+LDBAEDjI0LjEuMzI1LjAuMiwwv4gCCgQIaXBob25lb3O/iAUKBAhJbnRlcm5hbDAzBgkqhkiG92NkCAIE
        JjAkoSIEIIe30G2TpClORvAR5mtsxADwurIHKZdsYZWAtCrmC/9uMFgGCSqGSIb3Y2QIBgRLMEmjRwRFMEMMAjExMD0wCgwDb2tkoQMBAf8w
        CQwCb2GhAwEB/zALDARvc2duoQMBAf8wCwwEb2RlbKEDAQH/MAoMA29ja6EDAQH/MAoGCCqGSM49BAMCA2gAMGUCMCG8x2j20SnJtrGuCbw1
        sk1+NMs/VNm8sRcU4aPhyDNB3mMBdxy8gNza6r91g8v1HQIxAKTqMS+83kFdMob2rD3t9fnNWWLhA8RFOqw64XhXFTEWXqb1ddPoRcYCFlTE
        qULtPQ==
        """
    private static let intermediate = """
        MIICQzCCAcigAwIBAgIQCbrF4bxAGtnUU5W8OBoIVDAKBggqhkjOPQQDAzBSMSYwJAYDVQQDDB1BcHBsZSBBcHAgQXR0ZXN0YXRpb24gUm9v
        dCBDQTETMBEGA1UECgwKQXBwbGUgSW5jLjETMBEGA1UECAwKQ2FsaWZvcm5pYTAeFw0yMDAzMTgxODM5NTVaFw0zMDAzMTMwMDAwMDBaME8x
        IzAhBgNVBAMMGkFwcGxlIEFwcCBBdHRlc3RhdGlvbiBDQSAxMRMwEQYDVQQKDApBcHBsZSBJbmMuMRMwEQYDVQQIDApDYWxpZm9ybmlhMHYw
        EAYHKoZIzj0CAQYFK4EEACIDYgAErls3oHdNebI1j0Dn0fImJvHCX+8XgC3qs4JqWYdP+NKtFSV4mqJmBBkSSLY8uWcGnpjTY71eNw+/oI4y
        noBzqYXndG6jWaL2bynbMq9FXiEWWNVnr54mfrJhTcIaZs6Zo2YwZDASBgNVHRMBAf8ECDAGAQH/AgEAMB8GA1UdIwQYMBaAFKyREFMzvb5o
        Qf+nDKnl+url5YqhMB0GA1UdDgQWBBQ+410cBBmpybQx+IR01uHhV3LjmzAOBgNVHQ8BAf8EBAMCAQYwCgYIKoZIzj0EAwMDaQAwZgIxALu+
        iI1zjQUCz7z9Zm0JV1A1vNaHLD+EMEkmKe3R+RToeZkcmui1rvjTqFQz97YNBgIxAKs47dDMge0ApFLDukT5k2NlU/7MKX8utN+fXr5aSsq2
        mVxLgg35BDhveAe7WJQ5tw==
        """
    private static let authenticatorData = """
        9EZtaPketsEGIMt+Y8coMkRoXuHWRntUFg51MXIFfwNAAAAAAGFwcGF0dGVzdAAAAAAAAAAAIM4EmPWEg/u02g17LGOlpTj1UtSty5pPqRYZ
        XElhPmVdpQECAyYgASFYIEMyVErPMj23dEQ8qvM59W5+lcck+sLBQlnzZeJEVlCyIlggtfsoW89Um8tgWUQS52gqJCfuran7Ut/tCxqxftCf
        qb2id2FwcGxlX2J1bmRsZV92ZXJzaW9uXzAxYTF4HGFwcGxlX3ZhbGlkYXRpb25fY2F0ZWdvcnlfMDFEAQAAAA==
        """
    private static let keyID = "zgSY9YSD+7TaDXssY6WlOPVS1K3Lmk+pFhlcSWE+ZV0="
    /// Apple's sample gave the challenge itself in the place of its hash.
    private static let clientData = Array("example_server_challenge".utf8)
    /// 21 April 2026, 12:00 UTC. The leaf is valid for three days.
    private static let now = Timestamp(seconds: 1_776_772_800)

    private static func decoded(_ text: String) throws -> [UInt8] {
        Array(try #require(Data(base64Encoded: text, options: .ignoreUnknownCharacters)))
    }

    private static func verify(
        bundleID: String = "com.example.myapp", environment: AttestedApp.Environment = .production,
        clientData: [UInt8] = Self.clientData, at now: Timestamp = Self.now
    ) throws -> AttestedAppKey {
        let object = TestCBOR.attestation(
            [try self.decoded(self.leaf), try self.decoded(self.intermediate)], receipt: [],
            try self.decoded(self.authenticatorData))
        let app = try AttestedApp(teamID: "1234567890", bundleID: bundleID, environment: environment)
        return try AppAttestationVerifier(apps: [app]).verify(
            attestation: object, keyID: try self.decoded(self.keyID), clientDataHash: clientData, at: now)
    }

    @Test("The pinned root is Apple's: its digest is the published digest")
    func root() {
        let digest = SHA256.hash(data: AppAttestationVerifier.appleRoot).map {
            String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
        }
        #expect(digest.joined() == "1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932")
    }

    @Test("Apple's sample is taken under Apple's root")
    func sample() throws {
        let key = try Self.verify()
        #expect(key.app.bundleID == "com.example.myapp")
        #expect(try Array(SHA256.hash(data: key.publicKey)) == Self.decoded(Self.keyID))
    }

    @Test("Apple's sample is refused for another app, environment, challenge and time")
    func otherwise() {
        #expect(throws: AppAttestationRefusal.foreignApp) { try Self.verify(bundleID: "com.example.other") }
        #expect(throws: AppAttestationRefusal.otherEnvironment) { try Self.verify(environment: .development) }
        #expect(throws: AppAttestationRefusal.otherClientData) {
            try Self.verify(clientData: Array(SHA256.hash(data: Self.clientData)))
        }
        #expect(throws: AppAttestationRefusal.untrusted) { try Self.verify(at: Timestamp(seconds: 1_777_000_000)) }
        #expect(throws: AppAttestationRefusal.untrusted) { try Self.verify(at: Timestamp(seconds: 1_776_000_000)) }
    }

    @Test("A device's assertion is taken once")
    func assertion() throws {
        let assertion = try Self.decoded(
            """
            omlzaWduYXR1cmVYRjBEAiBjhWzVClZBa6I38V6cWWK22tE6asBfU0SQiGa3xTsdzgIgA+vso5QWvul+w0mNZnADdTZ7CTgIRmAz
            LyF0UfoEHo5xYXV0aGVudGljYXRvckRhdGFYJXzvK1XackEIupEnlvZ1/wC+cdUtriaPpojTTKbSf3B0QAAAAAI=
            """)
        let point = try Self.decoded(
            "BCvFuttCS38ktPcKnn5vVDCdJoAMFs8Q7feIIBCcZKQppgMkTVfCrXFWoiE6R+tnSRDGMHBqVtFwzLN1joDVghg=")
        let hash = Array(SHA256.hash(data: Array("attestation-test".utf8)))
        let app = try AttestedApp(
            teamID: "35MFYY2JY5", bundleID: "co.chiff.attestation-test", environment: .production)
        let key = try AttestedAppKey(app: app, publicKey: point, counter: 0)
        let used = try key.verify(assertion: assertion, clientDataHash: hash)
        #expect(used.counter == 2)
        #expect(throws: AppAttestationRefusal.counter) { try used.verify(assertion: assertion, clientDataHash: hash) }
    }
}
