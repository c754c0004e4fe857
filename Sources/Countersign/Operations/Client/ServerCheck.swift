import Ceremony
import UAF
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What ``MobileAuthenticationClient/checkServer()`` found. Its description is a sentence for the app's developer.
public struct ServerCheck: Hashable, Sendable, CustomStringConvertible {
    /// What was found. A struct, because a later version may find more.
    public struct Finding: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case trusted, facetNotListed, noFacetList, unsupportedVersion, noUAFServer, untrustedServer, unreachable
            case insecureTransport
        }
        private let base: Base
        /// The server answers, and takes answers of this app.
        public static let trusted = Self(base: .trusted)
        /// The server's list does not have this app: compare ``ServerCheck/facetID`` with ``ServerCheck/trustedFacets``,
        /// and have the server's operator add it.
        public static let facetNotListed = Self(base: .facetNotListed)
        /// The server answers, but its list of apps cannot be read at the address that it names.
        public static let noFacetList = Self(base: .noFacetList)
        /// The server speaks other versions of UAF. One of the two needs an update.
        public static let unsupportedVersion = Self(base: .unsupportedVersion)
        /// What answers is no server of this product, or the configured paths are not its own.
        public static let noUAFServer = Self(base: .noUAFServer)
        /// The certificate or the name of the server does not hold.
        public static let untrustedServer = Self(base: .untrustedServer)
        /// No answer. Transient, or a wrong address.
        public static let unreachable = Self(base: .unreachable)
        /// The configured address is neither `https` nor this device. Nothing was sent.
        public static let insecureTransport = Self(base: .insecureTransport)
        public var description: String { self.base.rawValue }
    }

    /// What was found.
    public let finding: Finding
    /// What this app calls itself: ``ClientConfiguration/facetID``.
    public let facetID: String
    /// The apps that the server takes answers from; empty where its list could not be read. Fit to be shown.
    public let trustedFacets: [String]
    /// The server's address.
    public let baseURL: URL
    /// What was in the way. For the log.
    public let reason: String

    /// A sentence for the app's developer.
    public var description: String {
        let server = self.baseURL.absoluteString
        return switch self.finding {
        case .trusted: "\(server) takes answers of \(self.facetID)."
        case .facetNotListed:
            "\(server) does not take answers of \(self.facetID). It lists: "
                + (self.trustedFacets.isEmpty ? "nothing" : self.trustedFacets.joined(separator: ", "))
                + ". Its operator adds an app (--facets), or the configuration's facetID is wrong."
        default: "\(server): \(self.finding) (\(self.reason))."
        }
    }
}

extension MobileAuthenticationClient {
    /// Asks the server whether this app may answer it: for the app's start while it is developed, and for its support.
    ///
    /// It fetches a request for an authentication, as an operation would, throws it away, and fetches the list of apps
    /// anew. Nobody is asked anything, and nothing is stored here or there. An app that is not listed finds out here what
    /// each operation would end with: ``FidoErrorCode/untrustedFacetID`` or a refusal of the server.
    public func checkServer() async -> ServerCheck {
        let configuration = self.core.configuration
        func check(_ finding: ServerCheck.Finding, _ trusted: [String] = [], _ reason: String = "") -> ServerCheck {
            ServerCheck(
                finding: finding, facetID: configuration.facetID, trustedFacets: trusted,
                baseURL: configuration.baseURL, reason: reason)
        }
        do {
            let recording = self.core.newRecording()
            let answer = try await ServerExchange(core: self.core, recording: recording).request(
                GetUAFRequest(operation: .authentication), path: configuration.authenticationRequestPath)
            let message = try RequestMessage(parsing: (answer.message.uafRequest ?? "").utf8)
            guard let request = try message.request(among: MessageClient.supportedVersions) else {
                let offered = message.versions.map { "\($0)" }.joined(separator: ", ")
                return check(.unsupportedVersion, [], "the server speaks UAF \(offered)")
            }
            return try await self.checkFacet(request.header, recording, check)
        } catch let error as TransportError {
            switch error.code {
            case .insecure: return check(.insecureTransport, [], error.reason)
            case .untrustedServer: return check(.untrustedServer, [], error.reason)
            case .tooLarge: return check(.noUAFServer, [], error.reason)
            default: return check(.unreachable, [], error.reason)
            }
        } catch let error as EngineError {
            return check(error.cause == .unavailable ? .unreachable : .noUAFServer, [], error.reason)
        } catch is CancellationError {
            return check(.unreachable, [], "the task was cancelled")
        } catch {
            return check(.noUAFServer, [], "\(error)")
        }
    }

    private func checkFacet(
        _ header: OperationHeader, _ recording: Recording,
        _ check: (ServerCheck.Finding, [String], String) -> ServerCheck
    ) async throws -> ServerCheck {
        let facets = FacetAuthorization(
            facetID: self.core.facetID, fetch: self.core.facetListFetch(recording))
        // Without an AppID the app's own facet stands for it, and the server's list decides at the server.
        let isTrusted = try await self.isTrusted(header, facets)
        let address =
            header.appID.isEmpty ? self.configuration.address(self.configuration.facetsPath) : URL(string: header.appID)
        let trusted: [String]
        do {
            guard let address, address.host() != nil else {
                throw OperationFailure(.untrustedFacetID, "the AppID is no address")
            }
            trusted = try await facets.trustedFacets(at: address, version: header.version)
        } catch let error as CancellationError {
            throw error
        } catch {
            // An operation of this app does not need the list then, and neither does its developer.
            if isTrusted { return check(.trusted, [], "") }
            let cause = (error as? OperationFailure)?.reason ?? (error as? TransportError)?.reason ?? "\(error)"
            return check(.noFacetList, [], "\(cause), at \(DisplayText.line(address?.absoluteString ?? header.appID))")
        }
        let shown = trusted.map { DisplayText.line($0) }
        if isTrusted { return check(.trusted, shown, "") }
        guard trusted.contains(where: { $0.hasSameBytes(as: self.core.facetID.text) }) else {
            return check(.facetNotListed, shown, "")
        }
        guard header.appID.isEmpty else {
            return check(.noFacetList, shown, "the list is at an address that no operation takes one from")
        }
        return check(.trusted, shown, "")
    }

    /// Whether an operation of this app would take the AppID: by the list, or by a rule that needs none.
    private func isTrusted(_ header: OperationHeader, _ facets: FacetAuthorization) async throws -> Bool {
        guard !header.appID.isEmpty else { return false }
        do {
            _ = try await facets.authorize(appID: header.appID, version: header.version)
            return true
        } catch is OperationFailure {
            return false
        }
    }
}
