import Records
import Testing
import _Primitives

@Suite("Decision 47: the keys that a database lists, and the keys that are available")
struct ListedKeysTests {
    @Test(
        "A database needs all keys that it lists",
        arguments: [
            (["new"], ["new"], nil), (["new"], ["other", "new"], nil), (["new", "old"], ["old", "new"], nil),
            (["new"], [], .wrongKey), (["new"], ["other"], .wrongKey), (["new", "old"], ["other"], .wrongKey),
            (["new", "old"], ["new"], .missingKey), (["new", "old"], ["old"], .missingKey),
            (["caf\u{E9}"], ["cafe\u{301}"], .wrongKey),
        ] as [([String], [String], StoreError.Code?)])
    func needed(listed: [String], available: [String], code: StoreError.Code?) {
        do {
            try ListedKeys(listed).check(available: available)
            #expect(code == nil)
        } catch {
            #expect(error.code == code)
        }
    }

    @Test("The missing keys are named")
    func missing() {
        do {
            try ListedKeys(["a", "b", "c"]).check(available: ["b"])
            Issue.record("keys are missing")
        } catch {
            #expect(error.reason == "values of the database still lie under the key-encryption key a, c")
        }
    }

    @Test("The first key is the newest, and a database of a former schema lists none")
    func newest() {
        let keys = ListedKeys(["new", "old"])
        #expect(keys.isNewest("new"))
        #expect(!keys.isNewest("old"))
        #expect(!keys.isOfFormerSchema)
        #expect(ListedKeys([]).isOfFormerSchema)
        #expect(!ListedKeys([]).isNewest("new"))
    }

    @Test("A requirement that is not met is an error", arguments: StoreKeyRequirement.allCases)
    func requirements(requirement: StoreKeyRequirement) throws {
        let error = StoreError(requirement == .key ? .wrongKey : .corrupt, "")
        try requirement.check(true)
        #expect(try requirement.found("value") == "value")
        #expect(throws: error) { try requirement.check(false) }
        #expect(throws: error) { _ = try requirement.found(nil as String?) }
    }
}
