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

    @Test("A page without a value under a former key is answered without a write")
    func answers() {
        let former = ResealingPage([(place: 1, isFormer: false), (place: 2, isFormer: true)], size: 2)
        #expect(former.answerWithoutWriting == nil)
        for size in [2, 3] {
            let page = ResealingPage([(place: 1, isFormer: false), (place: 2, isFormer: false)], size: size)
            #expect(page.answerWithoutWriting?.resealed == Resealed(examined: 2))
            #expect(page.answerWithoutWriting?.last == (size == 2 ? 2 : nil))
        }
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
