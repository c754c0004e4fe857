#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A moment, in whole milliseconds since 1970-01-01T00:00:00Z.
public struct Timestamp: Hashable, Comparable, Sendable, CustomStringConvertible {
    public var milliseconds: Int64

    public init(milliseconds: Int64) { self.milliseconds = milliseconds }
    public init(seconds: Int64) { self.milliseconds = seconds * 1000 }

    /// Whole seconds since 1970, rounded down: the NumericDate of RFC 7519.
    public var seconds: Int64 { Int64((Double(self.milliseconds) / 1000).rounded(.down)) }

    public static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }
    public static func + (moment: Self, span: Duration) -> Self {
        Self(milliseconds: moment.milliseconds + span.milliseconds)
    }
    public static func - (moment: Self, span: Duration) -> Self {
        Self(milliseconds: moment.milliseconds - span.milliseconds)
    }
    public static func - (later: Self, earlier: Self) -> Duration {
        .milliseconds(later.milliseconds - earlier.milliseconds)
    }

    /// RFC 3339 in UTC with milliseconds, e.g. `2026-11-21T09:00:00.000Z`.
    public var description: String {
        let date = Date(timeIntervalSince1970: Double(self.milliseconds) / 1000)
        return date.formatted(.iso8601.year().month().day().time(includingFractionalSeconds: true))
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero.
    public var milliseconds: Int64 {
        self.components.seconds * 1000 + self.components.attoseconds / 1_000_000_000_000_000
    }
}

/// Where the time comes from: the system's clock in production, a moved one in tests.
public struct TimeSource: Sendable {
    private let read: @Sendable () -> Timestamp

    public init(_ read: @escaping @Sendable () -> Timestamp) { self.read = read }

    /// The time now.
    public func now() -> Timestamp { self.read() }

    /// The system's wall clock.
    public static let system = TimeSource {
        Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
    }
}
