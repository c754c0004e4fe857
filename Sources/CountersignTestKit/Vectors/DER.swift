/// The part of DER that certificates for tests need.
enum DER {
    static func item(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        var head = [tag]
        switch content.count {
        case ..<0x80: head.append(UInt8(content.count))
        case ..<0x100: head += [0x81, UInt8(content.count)]
        default: head += [0x82, UInt8(content.count >> 8), UInt8(truncatingIfNeeded: content.count)]
        }
        return head + content
    }

    static func sequence(_ items: [UInt8]...) -> [UInt8] { self.item(0x30, Array(items.joined())) }
    static func set(_ content: [UInt8]) -> [UInt8] { self.item(0x31, content) }
    static func explicit(_ number: UInt8, _ content: [UInt8]) -> [UInt8] { self.item(0xA0 | number, content) }
    static func octetString(_ content: [UInt8]) -> [UInt8] { self.item(0x04, content) }
    static func bitString(_ content: [UInt8], unusedBits: UInt8 = 0) -> [UInt8] {
        self.item(0x03, [unusedBits] + content)
    }
    static func utf8String(_ text: String) -> [UInt8] { self.item(0x0C, Array(text.utf8)) }
    static func utcTime(_ text: String) -> [UInt8] { self.item(0x17, Array(text.utf8)) }
    static let null: [UInt8] = [0x05, 0x00]
    static let yes: [UInt8] = [0x01, 0x01, 0xFF]

    /// Returns an item for a number that is not negative.
    static func integer(_ number: UInt8) -> [UInt8] { self.item(0x02, number < 0x80 ? [number] : [0, number]) }

    /// Returns an object identifier from its arcs, with `first` for the first two arcs.
    static func identifier(_ first: UInt8, _ arcs: UInt32...) -> [UInt8] {
        var content = [first]
        for arc in arcs {
            var septets = [UInt8(arc & 0x7F)]
            var rest = arc >> 7
            while rest > 0 {
                septets.append(UInt8(rest & 0x7F) | 0x80)
                rest >>= 7
            }
            content += septets.reversed()
        }
        return self.item(0x06, content)
    }
}
