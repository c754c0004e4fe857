import HTTPTypes
import Hummingbird
import _Primitives

/// Requests that a browser, a mail scanner or a preview sends without a person who wants what the address does: HEAD, and a
/// GET that fetches ahead. They change nothing (RFC 9110, section 9.2.1).
enum SafeMethods {
    /// A function that answers a request.
    typealias Answer = @Sendable (Request, ServerContext) async throws -> Response

    private static let purposes = ["Sec-Purpose", "Purpose", "X-Moz"].compactMap { HTTPField.Name($0) }
    private static let unkept: HTTPFields = [.cacheControl: "no-store"]

    /// Answers HEAD at an address whose GET acts: the address is there, and nothing is said of what a GET would be told.
    static let head: Answer = { _, _ in Response(status: .ok, headers: Self.unkept) }

    /// The same GET, which is not done where a browser only fetches ahead: the browser asks again once a person wants it.
    static func withoutPrefetching(_ get: @escaping Answer) -> Answer {
        { request, context in
            guard !Self.isPrefetch(request) else {
                return Response(status: .serviceUnavailable, headers: Self.unkept)
            }
            return try await get(request, context)
        }
    }

    /// `true` if a browser sends the request only to fetch ahead: `prefetch`, also with `prerender` or others behind it (Fetch
    /// Standard, section 3.7; the two older names are those of browsers before it).
    private static func isPrefetch(_ request: Request) -> Bool {
        self.purposes.contains { name in
            guard let purpose = request.headers[name]?.asciiLowercased else { return false }
            return purpose.hasSameBytes(as: "prefetch") || purpose.hasBytes(atStart: "prefetch;")
        }
    }
}
