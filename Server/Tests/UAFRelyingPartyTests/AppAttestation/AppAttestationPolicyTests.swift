import Foundation
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@Suite("decision 124, operations 89: the policy of attested apps")
struct AppAttestationPolicyTests {
    private static let facet = "ios:bundle-id:com.example.bank"

    /// Judges evidence of a scene.
    private static func verdict(
        _ scene: AppAttestScene, _ need: AppAttestationWish.Need = .required, evidence: AppEvidence?? = nil,
        facet: String = Self.facet, hash: [UInt8]?? = nil, kept: AttestedAppKey? = nil, excepted: [String] = []
    ) throws -> AttestedAppKey? {
        let (object, verifier) = try scene.attestation()
        let policy = AppAttestationPolicy(
            need, verifier: verifier, exceptedFacets: try excepted.map { try FacetID($0) })
        return try policy.verify(
            evidence ?? .attestation(object, keyID: Data(scene.keyID).base64EncodedString()), of: try FacetID(facet),
            clientDataHash: hash ?? scene.clientDataHash, kept: kept, at: AppAttestScene.now)
    }

    @Test("Right evidence gives the key, whose name is that of App Attest")
    func right() throws {
        let scene = try AppAttestScene()
        let key = try #require(try Self.verdict(scene))
        #expect(key.app == scene.listed[1] && key.counter == 0 && key.keyID == scene.keyID)
    }

    @Test("Missing evidence is allowed where it is optional, and to an excepted facet alone")
    func missing() throws {
        let scene = try AppAttestScene()
        #expect(try Self.verdict(scene, .optional, evidence: .some(nil)) == nil)
        #expect(try Self.verdict(scene, evidence: .some(nil), excepted: ["test:other", Self.facet]) == nil)
        for excepted in [[], ["test:other"], ["ios:bundle-id:com.example"], ["ios:bundle-id:com.example.bank2"]] {
            #expect(throws: AppAttestationRefusal.missing, "\(excepted)") {
                try Self.verdict(scene, evidence: .some(nil), excepted: excepted)
            }
        }
    }

    @Test("Wrong evidence is refused where it is optional and to an excepted facet too")
    func wrong() throws {
        var scene = try AppAttestScene()
        scene.appName = "ABCDE12345.com.example.bank2"
        #expect(throws: AppAttestationRefusal.foreignApp) { try Self.verdict(scene, .optional) }
        #expect(throws: AppAttestationRefusal.foreignApp) { try Self.verdict(scene, excepted: [Self.facet]) }
    }

    @Test("A facet that names another bundle than the attested bundle is refused; one that names none says nothing")
    func facets() throws {
        let scene = try AppAttestScene()
        for facet in ["ios:bundle-id:com.example.bank2", "ios:bundle-id:com.example", "ios:bundle-id:"] {
            #expect(throws: AppAttestationRefusal.otherFacet, "\(facet)") { try Self.verdict(scene, facet: facet) }
        }
        #expect(try Self.verdict(scene, facet: "https://bank.example.com") != nil)
    }

    @Test("A device without keys of its own has no evidence, and the name of a key is Base64")
    func unbound() throws {
        let scene = try AppAttestScene()
        #expect(throws: AppAttestationRefusal.otherClientData) { try Self.verdict(scene, hash: .some(nil)) }
        let object = try scene.attestation().object
        for name in ["*", Base64URL.encode(scene.keyID), "AA=="] {
            #expect(throws: AppAttestationRefusal.self, "\(name)") {
                try Self.verdict(scene, evidence: .attestation(object, keyID: name))
            }
        }
    }

    @Test("An assertion counts with the device's kept key, as long as the app is on the list")
    func assertions() throws {
        var scene = try AppAttestScene()
        let kept = try scene.verified()
        let evidence = AppEvidence.assertion(try scene.assertion(3, over: scene.clientDataHash))
        let key = try #require(try Self.verdict(scene, evidence: evidence, kept: kept))
        #expect(key.counter == 3 && key.publicKey == kept.publicKey)
        #expect(throws: AppAttestationRefusal.unknownKey) { try Self.verdict(scene, evidence: evidence) }
        #expect(throws: AppAttestationRefusal.counter) { try Self.verdict(scene, evidence: evidence, kept: key) }
        #expect(throws: AppAttestationRefusal.otherFacet) {
            try Self.verdict(scene, evidence: evidence, facet: "ios:bundle-id:com.example.bank2", kept: kept)
        }
        scene.listed.removeLast()
        #expect(throws: AppAttestationRefusal.foreignApp) { try Self.verdict(scene, evidence: evidence, kept: kept) }
    }

    @Test("The wish of a request says the need and the kept key; with an excepted app it requires nothing")
    func wishes() throws {
        let verifier = try AppAttestScene().attestation().verifier
        for need in AppAttestationWish.Need.allCases {
            #expect(AppAttestationPolicy(need, verifier: verifier).wish() == AppAttestationWish(need))
        }
        let excepting = AppAttestationPolicy(
            .required, verifier: verifier, exceptedFacets: [try FacetID("android:apk-key-hash:a")])
        #expect(excepting.wish(kept: [0xFB, 0xFF]) == AppAttestationWish(.optional, keyID: "+/8="))
    }

    @Test("An app is written as team and bundle, with the environment of another kind of build")
    func writtenApps() throws {
        let production = try AttestedApp("ABCDE12345.com.example.bank")
        #expect(production.name == "ABCDE12345.com.example.bank" && production.environment == .production)
        #expect(try AttestedApp("ABCDE12345.com.example.bank=production") == production)
        #expect(try AttestedApp("ABCDE12345.com.example.bank=development").environment == .development)
        for text in [
            "", "ABCDE12345", "com.example.bank", "ABCDE12345.", "ABCDE12345.com.example.bank=", "ABCDE12345.a=other",
            "ABCDE12345.a=production=development",
        ] {
            #expect(throws: UAFError(.invalidValue), "\(text)") { try AttestedApp(text) }
        }
    }
}
