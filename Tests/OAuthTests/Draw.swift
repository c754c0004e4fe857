/// A generator that gives the same numbers at each run, so that a failure can be repeated.
struct Draw {
    private var state: UInt64
    init(seed: UInt64) { self.state = seed }

    mutating func below(_ bound: Int) -> Int {
        self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((self.state >> 33) % UInt64(bound))
    }

    /// Texts of all kinds of characters but the ones that no parameter may have.
    mutating func text() -> String {
        let ranges: [ClosedRange<Int>] = [0x20...0x7E, 0xA0...0x2FF, 0x4E00...0x4FFF, 0x1_F300...0x1_F5FF]
        var text = ""
        for _ in 0...self.below(12) {
            let range = ranges[self.below(ranges.count)]
            if let scalar = Unicode.Scalar(UInt32(range.lowerBound + self.below(range.count))) {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    mutating func bytes(from letters: [UInt8]) -> [UInt8] {
        (0...self.below(40)).map { _ in letters[self.below(letters.count)] }
    }

    mutating func element<Element>(of elements: [Element]) -> Element { elements[self.below(elements.count)] }

    /// A text of some of these pieces.
    mutating func text(of pieces: [String], upTo count: Int) -> String {
        (0...self.below(count)).map { _ in self.element(of: pieces) }.joined()
    }
}
