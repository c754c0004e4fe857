import Foundation
import Testing
import UAF
import UAFRelyingParty

@Suite("uaf-sections §16: the server's catalog")
struct MetadataCatalogTests {
    @Test(
        "The built-in statements say of each model what the model says of itself",
        arguments: AuthenticatorModel.allCases)
    func builtIn(model: AuthenticatorModel) throws {
        let catalog = try MetadataCatalog.builtIn()
        let statement = try #require(catalog[model.aaid])
        #expect(statement.info == model.info)
        #expect(statement.publicKeyFormat == AuthenticatorModel.publicKeyFormat)
        #expect(statement.versions == [.uaf11])
        #expect(statement.attestationRootCertificates.isEmpty)
        #expect(!statement.isKeyRestricted)
        #expect(!catalog.isRevoked(model.aaid))
    }

    @Test("That of the PIN which only the server can judge says what its model says, and is of no operation")
    func serverPin() throws {
        let catalog = try MetadataCatalog.builtIn()
        let statement = try #require(catalog[ServerPinModel.aaid])
        #expect(statement.info == ServerPinModel.info)
        #expect(statement.publicKeyFormat == ServerPinModel.publicKeyFormat)
        #expect(statement.versions == [.uaf11])
        #expect(!catalog.servesOperations(ServerPinModel.aaid))
        #expect(AuthenticatorModel.allCases.allSatisfy { catalog.servesOperations($0.aaid) })
    }

    @Test("A model whose finger or face the passcode can replace states a passcode, and signs as a passcode")
    func passcodeFallback() throws {
        let catalog = try MetadataCatalog.builtIn()
        for model in AuthenticatorModel.allCases where model.allowsPasscode {
            #expect(catalog[model.aaid]?.userVerificationDetails == [[.passcode]])
            let scene = try Scene.authentication(try SoftwareKey(model.aaid))
            #expect(try scene.verifyAuthentication().assurance.methods.contains("pin"))
        }
    }

    @Test("A model that only attests itself is in software for policies, whatever its statement says")
    func unattestedHardware() throws {
        let catalog = try MetadataCatalog.builtIn()
        let builder = RequestBuilder(metadata: catalog, appID: "")
        var hardware = MatchCriteria()
        hardware.authenticationAlgorithms = [.p256Raw]
        hardware.assertionSchemes = [.uafV1TLV]
        hardware.keyProtection = .hardware
        for model in AuthenticatorModel.allCases where model.keyStore != .file {
            #expect(catalog[model.aaid]?.keyProtection.contains(.hardware) == true)
            let info = try #require(catalog.info(model.aaid))
            #expect(info.keyProtection == .software && info.matcherProtection == .software)
        }
        for protection in [KeyProtection.hardware, .tee, [.hardware, .tee]] {
            hardware.keyProtection = protection
            #expect(builder.models(meeting: hardware, in: Policy(accepted: [[hardware]])).isEmpty)
        }
        hardware.keyProtection = .hardware
        // An answer by such a model is refused too.
        for model in AuthenticatorModel.allCases where model.keyStore != .file && model.factor != .devicePossession {
            var scene = try Scene.registration(try SoftwareKey(model.aaid))
            #expect(try scene.verifyRegistration().keys.map(\.id.aaid) == [model.aaid])
            scene.policy = Policy(accepted: [[hardware]])
            Refused("\(model.aaid)", .unacceptableAuthenticator, .policy) { _ in }.expect {
                _ = try scene.verifyRegistration()
            }
        }
        // A maker's certificate proves the statement.
        var attested = catalog
        var statement = try #require(catalog[Names.pins[1]])
        statement.attestationTypes = [.basicFull]
        attested.add(statement)
        #expect(attested.info(Names.pins[1])?.keyProtection == .hardware)
        let other = RequestBuilder(metadata: attested, appID: "")
        #expect(other.models(meeting: hardware, in: Policy(accepted: [[hardware]])) == [Names.pins[1]])
    }

    @Test("There are no built-in statements of other models")
    func noOthers() throws {
        let aaids = AuthenticatorModel.allCases.map(\.aaid) + [ServerPinModel.aaid]
        #expect(try MetadataCatalog.builtIn().aaids == Set(aaids))
    }

    private static func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("metadata-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    private static let statement = """
        {"aaid":"C516#0001","description":"Replaced","authenticatorVersion":7,"upv":[{"major":1,"minor":1}],
        "assertionScheme":"UAFV1TLV","authenticationAlgorithm":2,"publicKeyAlgAndEncoding":257,
        "attestationTypes":[15880],"userVerificationDetails":[[{"userVerification":4}]],"keyProtection":1,
        "matcherProtection":1,"attachmentHint":1,"isSecondFactorOnly":false,"tcDisplay":0,
        "attestationRootCertificates":[]}
        """

    @Test("A folder's statements are added, later ones in place of earlier ones")
    func addFolder() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(Self.statement.utf8).write(to: folder.appendingPathComponent("a.json"))
        try Data("not read".utf8).write(to: folder.appendingPathComponent("notes.txt"))
        var catalog = try MetadataCatalog.builtIn()
        try catalog.add(folder: folder.path)
        #expect(catalog[Names.pin]?.description == "Replaced")
        #expect(catalog.info(Names.pin)?.authenticatorVersion == 7)
        #expect(catalog.aaids == (try MetadataCatalog.builtIn().aaids))
    }

    @Test("A bad file stops everything and is named")
    func badFile() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("{}".utf8).write(to: folder.appendingPathComponent("bad.json"))
        #expect {
            var catalog = MetadataCatalog()
            try catalog.add(folder: folder.path)
        } throws: { error in (error as? MetadataFolderError)?.file == "bad.json" }
        try FileManager.default.removeItem(at: folder.appendingPathComponent("bad.json"))
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("folder.json"), withIntermediateDirectories: true)
        #expect(throws: MetadataFolderError.self) {
            var catalog = MetadataCatalog()
            try catalog.add(folder: folder.path)
        }
    }

    @Test("A folder that is not there is an error, not an empty catalog")
    func noFolder() {
        #expect(throws: MetadataFolderError.self) {
            var catalog = MetadataCatalog()
            try catalog.add(folder: "/nonexistent")
        }
    }

    @Test("Of two statements for one model the later counts, and a model can be revoked")
    func replaceAndRevoke() throws {
        let statement = try MetadataStatement(parsing: Self.statement.utf8)
        var other = statement
        other.description = "Later"
        var catalog = MetadataCatalog([statement, other])
        #expect(catalog[Names.pin]?.description == "Later")
        #expect(catalog.info(Names.silent) == nil && catalog[Names.silent] == nil)
        catalog.revoke(Names.pin)
        #expect(catalog.isRevoked(Names.pin))
        #expect(MetadataCatalog([], revoked: [Names.pin]).isRevoked(Names.pin))
    }

    @Test("A folder's file of revocations and status reports refuse with 1493")
    func revocationFile() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let entry =
            "{\"metadataStatement\":\(Self.statement),\"statusReports\":[{\"status\":\"USER_KEY_REMOTE_COMPROMISE\"}]}"
        try Data(entry.utf8).write(to: folder.appendingPathComponent("a.json"))
        try Data("{\"models\":[\"C516#0003\"]}".utf8).write(to: folder.appendingPathComponent("revoked.json"))
        var catalog = try MetadataCatalog.builtIn()
        try catalog.add(folder: folder.path)
        #expect(catalog.isRevoked(Names.pin) && catalog.isRevoked(Names.fingerprint))
        #expect(!catalog.isRevoked(Names.silent))
        catalog.refusedStatuses = [.revoked]
        #expect(!catalog.isRevoked(Names.pin) && catalog.isRevoked(Names.fingerprint))
        var scene = try Scene.authentication()
        scene.configuration.metadata.refusedStatuses = AuthenticatorStatus.compromised
        try scene.configuration.metadata.add(folder: folder.path)
        Refused("status", .revokedAuthenticator, .revocation) { _ in }.expect { _ = try scene.verifyAuthentication() }
        try Data("{\"keys\":[\"zz\"]}".utf8).write(to: folder.appendingPathComponent("revoked.json"))
        #expect {
            try catalog.add(folder: folder.path)
        } throws: { error in (error as? MetadataFolderError)?.file == "revoked.json" }
    }

    @Test(
        "What a report says against a model no other report lifts, of whatever day",
        arguments: [
            "[{\"status\":\"REVOKED\"},{\"status\":\"UPDATE_AVAILABLE\"}]",
            "[{\"status\":\"REVOKED\",\"effectiveDate\":\"2024-02-01\"},"
                + "{\"status\":\"FIDO_CERTIFIED\",\"effectiveDate\":\"2024-03-01\"}]",
            "[{\"status\":\"FIDO_CERTIFIED\",\"effectiveDate\":\"2999-01-01\"},"
                + "{\"status\":\"USER_VERIFICATION_BYPASS\",\"effectiveDate\":\"2024-02-01\"}]",
            "[{\"status\":\"ATTESTATION_KEY_COMPROMISE\"},{\"status\":\"LATER\"}]",
            "[{\"status\":\"USER_KEY_PHYSICAL_COMPROMISE\",\"effectiveDate\":\"2999-01-01\"}]",
        ])
    func lastingReports(reports: String) throws {
        var scene = try Scene.authentication()
        let text = { (reports: String) in
            Self.statement.replacing("\"authenticatorVersion\":7", with: "\"authenticatorVersion\":1")
                .replacing("\"authenticationAlgorithm\":2", with: "\"authenticationAlgorithm\":1")
                .replacing("{\"aaid\"", with: "{\"statusReports\":\(reports),\"aaid\"")
        }
        try scene.configuration.metadata.add(
            MetadataEntry(parsing: text("[{\"status\":\"UPDATE_AVAILABLE\"},{\"status\":\"LATER\"}]").utf8))
        #expect(throws: Never.self) { try scene.verifyAuthentication() }
        try scene.configuration.metadata.add(MetadataEntry(parsing: text(reports).utf8))
        Refused("reports", .revokedAuthenticator, .revocation) { _ in }.expect { _ = try scene.verifyAuthentication() }
    }

    @Test("A list of revocations is read as it is meant, or not at all")
    func revocationList() throws {
        let key = String(repeating: "0aF", count: 21) + "7"
        let list = try RevocationList(
            parsing: """
                {"models":["c516#0001"],"keys":["\(key)"],
                "certificates":[{"aaid":"C516#0003","serialNumber":"00ff10"}]}
                """.utf8)
        #expect(list.models == [Names.pin])
        #expect(list.certificates == [.init(aaid: Names.fingerprint, serialNumber: [0xFF, 0x10])])
        #expect(list.keys.count == 1 && list.keys.first?.count == 32 && list.keys.first?.first == 0x0A)
        #expect(try RevocationList(parsing: "{}".utf8) == RevocationList())
        for text in [
            "", "[]", "{\"model\":[]}", "{\"models\":[\"x\"]}", "{\"models\":[1]}", "{\"keys\":[\"00\"]}",
            "{\"keys\":[\"\(key.dropLast())\"]}", "{\"keys\":[\"\(key.dropLast(2))+f\"]}", "{\"certificates\":[1]}",
            "{\"certificates\":[{\"aaid\":\"C516#0003\"}]}",
            "{\"certificates\":[{\"aaid\":\"C516#0003\",\"serialNumber\":\"\"}]}",
            "{\"certificates\":[{\"aaid\":\"C516#0003\",\"serialNumber\":\"123\"}]}",
        ] { #expect(throws: UAFError(.invalidValue), "\(text)") { try RevocationList(parsing: text.utf8) } }
    }

    @Test("A root certificate that cannot be read stops a folder, and is no root in a statement")
    func unreadableRoot() throws {
        var statement = try MetadataStatement(parsing: Self.statement.utf8)
        statement.attestationRootCertificates = [bytes(9)]
        var catalog = MetadataCatalog([statement])
        #expect(throws: UAFError(.invalidValue)) { try catalog.add(MetadataEntry(statement: statement)) }
        #expect(catalog[Names.pin] == statement)
    }
}
