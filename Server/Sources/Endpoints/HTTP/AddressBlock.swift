import Foundation
import _Primitives

/// A block of addresses, such as `10.0.0.0/8` or `2001:db8::/32`.
public struct AddressBlock: Sendable, Equatable {
    private let bytes: [UInt8]
    private let prefix: Int

    /// Reads an address with or without a prefix length; `nil` for anything else.
    public init?(_ text: String) {
        let parts = text.splitBytes(at: "/")
        guard parts.count <= 2, let bytes = Self.bytes(String(parts[0])) else { return nil }
        var prefix = bytes.count * 8
        if parts.count == 2 {
            guard let length = Int(parts[1]), (0...prefix).contains(length) else { return nil }
            prefix = length
        }
        self.bytes = bytes
        self.prefix = prefix
    }

    /// Returns `true` if an address lies in the block. An IPv4 address mapped into IPv6 counts as IPv4.
    public func contains(_ address: String) -> Bool {
        guard let other = Self.bytes(address), other.count == self.bytes.count else { return false }
        let (whole, rest) = self.prefix.quotientAndRemainder(dividingBy: 8)
        guard self.bytes.prefix(whole).elementsEqual(other.prefix(whole)) else { return false }
        guard rest > 0 else { return true }
        let difference = self.bytes[whole] ^ other[whole]
        return difference >> UInt8(8 - rest) == 0
    }

    /// Returns the source that an address counts for: an IPv4 address is a source of its own; an IPv6 address counts by
    /// its first 64 bits. A text that is no address counts unchanged.
    public static func source(of address: String) -> String {
        guard let bytes = self.bytes(address) else { return address }
        guard bytes.count == 16 else { return bytes.map(String.init).joined(separator: ".") }
        let groups = stride(from: 0, to: 8, by: 2).map { (place: Int) -> String in
            let (high, low) = (UInt16(bytes[place]), UInt16(bytes[place + 1]))
            return String(high << 8 | low, radix: 16)
        }
        return groups.joined(separator: ":") + "::/64"
    }

    private static func bytes(_ text: String) -> [UInt8]? {
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 { return withUnsafeBytes(of: four) { Array($0) } }
        var six = in6_addr()
        guard inet_pton(AF_INET6, text, &six) == 1 else { return nil }
        let bytes = withUnsafeBytes(of: six) { Array($0) }
        let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        return isMapped ? Array(bytes[12...]) : bytes
    }
}
