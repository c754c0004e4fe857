import CeremonyEngine
import Testing
import UAF
import UAFRelyingParty

@Suite("UAF §7.1: the facets that follow from the entry of an app")
struct AppEntryTests {
    private static let certificate: [UInt8] = [1, 2, 3]

    private func apple(_ bundle: String = "com.example.bank") throws -> AttestedApp {
        try AttestedApp(teamID: "ABCDE12345", bundleID: bundle, environment: .production)
    }

    @Test("An app for both systems has the facet of its bundle, and of each certificate in Base64 without padding")
    func facets() throws {
        let entry = try AppEntry(
            apple: try self.apple(),
            android: try .init(package: "com.example.bank", certificates: [Self.certificate, [4]]))
        #expect(entry.facets.count == 3 && entry.appleName == "ABCDE12345.com.example.bank")
        #expect(entry.facets[0].text == "ios:bundle-id:com.example.bank")
        #expect(entry.facets[1].text == "android:apk-key-hash:cDeAcZjCKn0rCAc3HXY3eahP388")
        #expect(
            entry.android?.fingerprints.first
                == "03:90:58:C6:F2:C0:CB:49:2C:53:3B:0A:4D:14:EF:77:CC:0F:78:AB:CC:CE:D5:28:7D:84:A1:A2:01:1C:FB:81")
    }

    @Test("Facets of entries are added to the named facets, each once")
    func added() throws {
        let (one, other) = (
            try AppEntry(apple: try self.apple("a"), android: nil),
            try AppEntry(apple: try self.apple("b"), android: nil)
        )
        let named = [try FacetID("ios:bundle-id:b"), try FacetID("linux:program:x")]
        #expect(
            [one, other].facets(addedTo: named).map(\.text) == [
                "ios:bundle-id:b", "linux:program:x", "ios:bundle-id:a",
            ])
    }

    @Test(
        "A package of another form is refused",
        arguments: ["", "bank", "com..bank", "com.1bank", "com.example.bänk", "com.example/bank", ".com.bank"])
    func packages(name: String) {
        #expect(throws: UAFError(.invalidValue)) {
            try AppEntry.AndroidApp(package: name, certificates: [Self.certificate])
        }
    }

    @Test("A package is 255 letters long at most, and an app has one to eight certificates, and one system at least")
    func bounds() throws {
        let word = String(repeating: "a", count: 253)
        _ = try AppEntry.AndroidApp(package: "b." + word, certificates: [Self.certificate])
        #expect(throws: UAFError(.invalidValue)) {
            try AppEntry.AndroidApp(package: "bb." + word, certificates: [Self.certificate])
        }
        for count in [0, 9] {
            #expect(throws: UAFError(.invalidValue)) {
                try AppEntry.AndroidApp(
                    package: "com.example", certificates: Array(repeating: Self.certificate, count: count))
            }
        }
        #expect(throws: UAFError(.invalidValue)) { try AppEntry(apple: nil, android: nil) }
    }
}
