import Settings
import _Primitives

/// A host from whose pages people may sign in to a service. With `*.` in front, all hosts below this host instead.
///
/// `*.bank.example` includes `login.bank.example` and `a.b.bank.example`, and neither `bank.example` nor
/// `evilbank.example`.
public struct LoginDomain: Sendable, Hashable, CustomStringConvertible {
    private static let wildcard = "*."

    /// The host in small letters, without a wildcard.
    public let host: String
    /// `true` if the domain means the hosts below the host, and not the host itself.
    public let isWildcard: Bool

    /// Reads `bank.example` or `*.bank.example`, in ASCII. Other letters of a host stand in their `xn--` form.
    ///
    /// Throws ``ServiceProfileError`` `invalidDomain`, also for a wildcard over a single label: nobody owns
    /// `*.example`.
    public init(_ text: String) throws(ServiceProfileError) {
        let isWildcard = text.hasBytes(atStart: Self.wildcard)
        let host = (isWildcard ? String(decoding: text.utf8.dropFirst(Self.wildcard.utf8.count), as: UTF8.self) : text)
            .asciiLowercased
        let labels = host.splitBytes(at: ".")
        guard host.utf8.count <= Limits.Fixed.hostBytes, labels.allSatisfy({ Self.isLabel($0.utf8) }) else {
            throw ServiceProfileError(
                .invalidDomain,
                "a login domain is a host such as bank.example or *.bank.example, without a scheme, port or path")
        }
        guard !isWildcard || labels.count >= 2 else {
            throw ServiceProfileError(
                .invalidDomain, "a wildcard needs a domain of two labels or more, such as *.bank.example")
        }
        self.host = host
        self.isWildcard = isWildcard
    }

    public var description: String { (self.isWildcard ? Self.wildcard : "") + self.host }

    /// Returns `true` if the domain includes the host. The case of letters does not matter.
    public func includes(host: String) -> Bool {
        let host = host.asciiLowercased
        guard self.isWildcard else { return host.hasSameBytes(as: self.host) }
        let end = ".\(self.host)"
        guard host.hasBytes(atEnd: end), host.utf8.count <= Limits.Fixed.hostBytes else { return false }
        let below = String(decoding: host.utf8.dropLast(end.utf8.count), as: UTF8.self)
        return below.splitBytes(at: ".").allSatisfy { Self.isLabel($0.utf8) }
    }

    public static func == (left: Self, right: Self) -> Bool {
        left.isWildcard == right.isWildcard && left.host.hasSameBytes(as: right.host)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.isWildcard)
        self.host.hashBytes(into: &hasher)
    }

    private static func isLabel(_ label: Substring.UTF8View) -> Bool {
        (1...Limits.Fixed.hostLabelBytes).contains(label.count) && label.first != UInt8(ascii: "-")
            && label.last != UInt8(ascii: "-")
            && label.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
