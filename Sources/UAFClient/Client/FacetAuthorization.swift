public import UAF
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The server's answer to the request for its facet list, with the parts that the client judges.
public struct FacetListAnswer: Sendable {
    /// The HTTP status code.
    public var status: Int
    /// The header `Content-Type`.
    public var contentType: String?
    /// The header `Location` of a redirect.
    public var location: String?
    /// The header `FIDO-AppID-Redirect-Authorized`.
    public var redirectAuthorized: String?
    /// The header `Cache-Control`.
    public var cacheControl: String?
    /// The header `Age`.
    public var age: String?
    /// The body.
    public var body: [UInt8]

    /// Creates an answer from its parts.
    public init(
        status: Int, contentType: String?, location: String? = nil, redirectAuthorized: String? = nil,
        cacheControl: String? = nil, age: String? = nil, body: [UInt8]
    ) {
        self.status = status
        self.contentType = contentType
        self.location = location
        self.redirectAuthorized = redirectAuthorized
        self.cacheControl = cacheControl
        self.age = age
        self.body = body
    }
}

/// Decides if this app may use keys of an AppID (FIDO AppID and Facets 1.1 §3.1.2).
///
/// The check is stricter than the standard in the cases in which the standard needs the list of public suffixes. An
/// `https` facet counts only on the AppID's own host, and a redirect only within this host. A list has at most 64 KiB.
/// Identifiers are equal if their bytes are equal. Scheme and host of a web address count in any ASCII case. A host
/// with other letters does not count.
public struct FacetAuthorization: Sendable {
    /// Fetches the list at an `https` address, anonymously and without following redirects.
    public typealias Fetch = @Sendable (URL) async throws -> FacetListAnswer

    private static let maximumRedirects = 3

    let facetID: FacetID
    let cache: FacetListCache?
    let fetch: Fetch

    /// Creates a check for the app of this facet, which fetches the list each time.
    public init(facetID: FacetID, fetch: @escaping Fetch) { self.init(facetID: facetID, cache: nil, fetch: fetch) }

    /// Creates a check for the app of this facet. Without a `cache` each check fetches the list.
    package init(facetID: FacetID, cache: FacetListCache?, fetch: @escaping Fetch) {
        self.facetID = facetID
        self.cache = cache
        self.fetch = fetch
    }

    /// Returns the AppID for the operation: the given AppID, or the facet's identifier if the AppID is empty.
    ///
    /// Throws ``OperationFailure`` `untrustedFacetID` if the app may not use keys of the AppID in messages of this
    /// version, and if `fetch` fails. Only a `CancellationError` of `fetch` goes on to the caller.
    public func authorize(appID: String, version: Version) async throws -> String {
        // Steps 1 and 2: the AppID is empty, or is the facet itself.
        if appID.isEmpty || appID.hasSameBytes(as: self.facetID.text) { return self.facetID.text }
        guard let url = URL(string: appID), let host = Self.httpsHost(of: url, writtenAs: appID), url.user() == nil
        else { throw Self.refused("the AppID is neither https nor this facet") }
        // Step 3: a web origin on the AppID's own host.
        if let origin = Self.origin(self.facetID.text), origin.host.hasSameBytes(as: host) { return appID }
        // Steps 4 to 6.
        let facets: [Version: Set<ExactText>]
        do {
            facets = try await self.facets(of: appID, at: url, host: host)
        } catch let error as OperationFailure {
            throw error
        } catch let error as CancellationError {
            throw error
        } catch {
            throw Self.refused("the facet list could not be fetched")
        }
        // Steps 7 to 11.
        guard facets[version]?.contains(ExactText(self.facetID.text)) == true else {
            throw Self.refused("the facet \(self.facetID.text) is not in the AppID's list")
        }
        return appID
    }

    /// Returns the facets that count in a list for a version, in the order of their letters. The list is fetched anew.
    ///
    /// Throws as ``authorize(appID:version:)``, and the errors of `fetch`.
    package func trustedFacets(at url: URL, version: Version) async throws -> [String] {
        guard let host = url.host()?.asciiLowercased, !host.isEmpty, host.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw Self.refused("the facet list's address has no host, or one with other letters than ASCII's")
        }
        let answer = try await self.list(at: url, host: host)
        return try Self.trusted(in: answer.body, host: host)[version]?.map(\.text).sorted() ?? []
    }

    private func facets(of appID: String, at url: URL, host: String) async throws -> [Version: Set<ExactText>] {
        if let kept = await self.cache?.facets(of: appID) { return kept }
        let answer = try await self.list(at: url, host: host)
        let facets = try Self.trusted(in: answer.body, host: host)
        await self.cache?.keep(
            facets, of: appID, for: FacetListCache.lifetime(cacheControl: answer.cacheControl, age: answer.age))
        return facets
    }

    private func list(at start: URL, host: String) async throws -> FacetListAnswer {
        var url = start
        for _ in 0...Self.maximumRedirects {
            let answer = try await self.fetch(url)
            guard (300..<400).contains(answer.status) else {
                let type = answer.contentType?.mediaType ?? ""
                guard answer.status == 200, type.hasSameBytes(as: "application/fido.trusted-apps+json") else {
                    throw Self.refused("no facet list: status \(answer.status)")
                }
                return answer
            }
            guard answer.redirectAuthorized?.asciiLowercased == "true", let location = answer.location,
                let next = URL(string: location, relativeTo: url)?.absoluteURL,
                Self.httpsHost(of: next, writtenAs: location)?.hasSameBytes(as: host) == true, next.user() == nil
            else { throw Self.refused("a redirect of the facet list that is not allowed") }
            url = next
        }
        throw Self.refused("too many redirects of the facet list")
    }

    /// Returns the facets that count, by version, without `http` and without foreign hosts. A text that is not a list
    /// is refused, and therefore never cached.
    private static func trusted(in body: [UInt8], host: String) throws -> [Version: Set<ExactText>] {
        guard case .object(let object)? = try? JSON(parsing: body),
            let lists = try? object.array("trustedFacets")
        else { throw Self.refused("the facet list cannot be read") }
        var facets: [Version: Set<ExactText>] = [:]
        for case .object(let list) in lists {
            guard let found = try? list.object("version"), let major = try? found.integer("major", as: UInt16.self),
                let minor = try? found.integer("minor", as: UInt16.self),
                let identifiers = try? list.strings("ids")
            else { continue }
            let version = Version(major: major, minor: minor)
            for identifier in identifiers {
                if let origin = self.origin(identifier) {
                    guard origin.host.hasSameBytes(as: host) else { continue }
                    facets[version, default: []].insert(ExactText(origin.text))
                } else if let scheme = URL(string: identifier)?.scheme?.asciiLowercased, scheme != "http",
                    scheme != "https"
                {
                    facets[version, default: []].insert(ExactText(identifier))
                }
            }
        }
        return facets
    }

    /// Returns an `https` identifier as an origin: without path, query, fragment, user information and the usual port.
    private static func origin(_ text: String) -> (host: String, text: String)? {
        guard let url = URL(string: text), let host = Self.httpsHost(of: url, writtenAs: text) else { return nil }
        guard let port = url.port, port != 443 else { return (host, "https://\(host)") }
        return (host, "https://\(host):\(port)")
    }

    /// Returns the host of an `https` address in lower case; `nil` if the address has letters outside ASCII.
    ///
    /// Such letters would have to be folded and encoded before they name a host, and every reader does so in its own
    /// way.
    private static func httpsHost(of url: URL, writtenAs text: String) -> String? {
        guard text.utf8.allSatisfy({ $0 < 0x80 }), url.scheme?.asciiLowercased == "https", let host = url.host(),
            !host.isEmpty, host.utf8.allSatisfy({ $0 < 0x80 })
        else { return nil }
        return host.asciiLowercased
    }

    private static func refused(_ reason: String) -> OperationFailure { OperationFailure(.untrustedFacetID, reason) }
}
