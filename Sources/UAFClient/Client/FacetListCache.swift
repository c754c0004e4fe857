import UAF
import _Primitives

/// Facet lists in memory, for as long as the server allows caching, and for at most a day.
///
/// All operations of an app share one cache. The time comes from the clock that no person can set.
package actor FacetListCache {
    private static let capacity = 16
    private static let longestLifetime = Duration.seconds(86_400)

    private struct Entry {
        let facets: [Version: Set<ExactText>]
        let end: Duration
        let boot: String
    }

    private let clock: any DeviceClock
    private var entries: [ExactText: Entry] = [:]

    /// Creates an empty cache.
    package init(clock: any DeviceClock) { self.clock = clock }

    /// Returns the trusted facets of an AppID by the versions of its list; `nil` if the cache has no list, or if the
    /// list's time is over.
    func facets(of appID: String) -> [Version: Set<ExactText>]? {
        let appID = ExactText(appID)
        guard let entry = self.entries[appID] else { return nil }
        guard entry.boot == self.clock.bootIdentifier, self.clock.uptime() < entry.end else {
            self.entries[appID] = nil
            return nil
        }
        return entry.facets
    }

    func keep(_ facets: [Version: Set<ExactText>], of appID: String, for lifetime: Duration) {
        guard lifetime > .zero else { return }
        let appID = ExactText(appID)
        if self.entries.count >= Self.capacity, self.entries[appID] == nil,
            let first = self.entries.min(by: { $0.value.end < $1.value.end })?.key
        {
            self.entries[first] = nil
        }
        self.entries[appID] = Entry(
            facets: facets, end: self.clock.uptime() + min(lifetime, Self.longestLifetime),
            boot: self.clock.bootIdentifier)
    }

    /// Returns the time for which an answer may be cached (RFC 9111): `max-age` minus the `Age` of the answer.
    ///
    /// The time is zero with `no-store` or `no-cache`, without `max-age`, and if a directive occurs twice or is not a
    /// number.
    static func lifetime(cacheControl: String?, age: String?) -> Duration {
        var maximum: Int?
        for directive in (cacheControl ?? "").asciiLowercased.split(separator: ",") {
            let parts = directive.split(separator: "=", maxSplits: 1).map {
                $0.filter { !$0.isWhitespace && $0 != "\"" }
            }
            switch parts.first {
            case "no-store", "no-cache": return .zero
            case "max-age":
                guard maximum == nil, parts.count == 2, let seconds = Int(parts[1]), seconds >= 0 else { return .zero }
                maximum = min(seconds, 1 << 31)
            default: continue
            }
        }
        guard let maximum else { return .zero }
        guard let age else { return .seconds(maximum) }
        guard let seconds = Int(age.filter { !$0.isWhitespace }), seconds >= 0 else { return .zero }
        return .seconds(max(0, maximum - min(seconds, 1 << 31)))
    }
}
