import Foundation
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@Suite("uaf-sections §2.2: an operator's named policies")
struct PolicyCatalogTests {
    private static func read(_ files: [String: String]) throws -> PolicyCatalog {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("policies-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in files { try Data(text.utf8).write(to: folder.appendingPathComponent(name)) }
        return try PolicyCatalog(folder: folder.path, metadata: try MetadataCatalog.builtIn())
    }

    @Test("A policy has its file's name, its accepted and its disallowed criteria")
    func good() throws {
        let catalog = try Self.read([
            "finger.json": #"{"accepted":[[{"aaid":["C516#0003"]}]]}"#,
            "any-but-pin.json":
                #"{"accepted":[[{"authenticationAlgorithms":[1],"assertionSchemes":["UAFV1TLV"],"userVerification":2}]],"disallowed":[{"aaid":["c516#0001"]}]}"#,
            "notes.txt": "not a policy",
        ])
        #expect(catalog.names == ["any-but-pin", "finger"])
        #expect(catalog["finger"] == Policy(accepted: [[MatchCriteria(aaid: [Names.fingerprint])]]))
        #expect(catalog["any-but-pin"]?.disallowed == [MatchCriteria(aaid: [Names.pin])])
        #expect(catalog["finger.json"] == nil && catalog["pin"] == nil)
    }

    @Test(
        "A file that cannot be used is named, with what is wrong",
        arguments: [
            (#"{"accepted":[[{"aaid":["C516#0003"],"userVerification":2}]]}"#, "criteriaCombination"),
            (#"{"accepted":[[{"userVerification":2}]]}"#, "criteriaCombination"),
            (#"{"accepted":[[{"aaid":["C516#0003"]}]],"disallowed":[{"keyProtection":1}]}"#, "criteriaCombination"),
            (#"{"accepted":[[{"aaid":["C516#0006"]}]]}"#, "silentPolicy"),
            (#"{"accepted":[[{"aaid":["ABCD#0001"]}]]}"#, "unknownModel"),
            (
                #"{"accepted":[[{"aaid":["C516#0003"],"keyIDs":["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]}]]}"#,
                "namedKeys"
            ),
            (#"{"accepted":[[{"authenticationAlgorithms":[1],"assertionSchemes":["OTHER"]}]]}"#, "unmetCriterion"),
            (#"{"accepted":[[{"aaid":["C516#0003"]}]],"disallowed":[{"aaid":["C516#0003"]}]}"#, "unmetCriterion"),
            (#"{"accepted":[]}"#, ""), (#"{"accepted":[[]]}"#, ""), ("{}", ""), ("[]", ""), ("", ""), ("null", ""),
            (#"{"accepted":[[{"aaid":["C516#0003"],"aaids":[]}]]}"#, "a member that is not known"),
            (#"{"accepted":[[{"aaid":["C516#0003"]}]],"accept":[]}"#, "accepted and disallowed"),
        ])
    func bad(text: String, reason: String) throws {
        let error = #expect(throws: PolicyFileError.self) {
            try Self.read(["a.json": #"{"accepted":[[{"aaid":["C516#0003"]}]]}"#, "b.json": text])
        }
        #expect(error?.file == "b.json")
        #expect(reason.isEmpty || error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }

    @Test("A name is short and plain", arguments: ["A.json", ".json", "-a.json", "a b.json", "é.json"])
    func names(file: String) {
        #expect(throws: PolicyFileError.self) { try Self.read([file: #"{"accepted":[[{"aaid":["C516#0003"]}]]}"#]) }
    }

    @Test("A folder that is not there is an error")
    func noFolder() throws {
        let metadata = try MetadataCatalog.builtIn()
        let error = #expect(throws: PolicyFileError.self) {
            try PolicyCatalog(folder: "/none/at/all", metadata: metadata)
        }
        #expect(error?.file == "/none/at/all")
    }
}
