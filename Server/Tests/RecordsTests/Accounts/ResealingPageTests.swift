import Records
import Testing

@Suite("Decision 47: values under former key-encryption keys are found page by page")
struct ResealingPageTests {
    @Test("A full page has a last place, and a smaller page is the last page", arguments: [0, 2, 3])
    func places(count: Int) {
        let page = ResealingPage((0..<count).map { (place: $0, isFormer: $0 != 1) }, size: 3)
        #expect(page.examined == count)
        #expect(page.former == (0..<count).filter { $0 != 1 })
        #expect(page.last == (count == 3 ? 2 : nil))
    }

    @Test("Resealing is for several keys, and forgets none while a value is unreadable")
    func keys() {
        #expect(!Resealed.isNeeded(keys: []))
        #expect(!Resealed.isNeeded(keys: ["new"]))
        #expect(Resealed.isNeeded(keys: ["new", "old"]))
        #expect(Resealed(examined: 2, resealed: 1).allowsForgetting)
        #expect(!Resealed(examined: 2, unreadable: 1).allowsForgetting)
    }
}
