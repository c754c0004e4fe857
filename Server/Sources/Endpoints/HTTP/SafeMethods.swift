import HTTPTypes
import Hummingbird
import _Primitives

/// Requests without a person who wants the address's action: HEAD, and a GET that fetches ahead.
///
/// A browser, a mail scanner or a preview sends such requests. The requests change nothing (RFC 9110, section 9.2.1).
enum SafeMethods {
    /// A function that answers a request.
    typealias Answer = @Sendable (Request, ServerContext) async throws -> Response

    private static let purposes = ["Sec-Purpose", "Purpose", "X-Moz"].compactMap { HTTPField.Name($0) }
    private static let unkept: HTTPFields = [.cacheControl: "no-store"]

    /// Answers HEAD at an address whose GET acts: the address exists, and the answer does not tell the result of a GET.
    static let head: Answer = { _, _ in Response(status: .ok, headers: Self.unkept) }

    /// Returns a GET handler that refuses a browser's fetching ahead: the browser asks again once a person wants the
    /// page.
    static func withoutPrefetching(_ get: @escaping Answer) -> Answer {
        { request, context in
            guard !Self.isPrefetch(request) else {
                return Response(status: .serviceUnavailable, headers: Self.unkept)
            }
            return try await get(request, context)
        }
    }

    /// Returns `true` if a browser sends the request only to fetch ahead.
    ///
    /// The header says `prefetch`, possibly followed by `prerender` or other words (Fetch Standard, section 3.7). The
    /// two older header names come from earlier browsers.
    private static func isPrefetch(_ request: Request) -> Bool {
        self.purposes.contains { name in
            guard let purpose = request.headers[name]?.asciiLowercased else { return false }
            return purpose.hasSameBytes(as: "prefetch") || purpose.hasBytes(atStart: "prefetch;")
        }
    }
}
