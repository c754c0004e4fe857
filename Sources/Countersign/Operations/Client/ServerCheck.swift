import Ceremony
import UAF
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The result of ``MobileAuthenticationClient/checkServer()``. The description is a sentence for the app's developer.
public struct ServerCheck: Hashable, Sendable, CustomStringConvertible {
    /// The finding of the check. A struct, because a later version may have more findings.
    public struct Finding: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case trusted, facetNotListed, noFacetList, unsupportedVersion, noUAFServer, untrustedServer, unreachable
            case insecureTransport
        }
        private let base: Base
        /// The server answers, and accepts answers of this app.
        public static let trusted = Self(base: .trusted)
        /// The server's list does not contain this app. Compare ``ServerCheck/facetID`` with
        /// ``ServerCheck/trustedFacets``, and ask the server's operator to add the app.
        public static let facetNotListed = Self(base: .facetNotListed)
        /// The server answers, but the address that it names has no readable list of apps, or is an address from which
        /// no operation takes a list.
        public static let noFacetList = Self(base: .noFacetList)
        /// The server uses other versions of UAF. Either the app or the server needs an update.
        public static let unsupportedVersion = Self(base: .unsupportedVersion)
        /// The address answers, but is not a server of this product, or the configured paths are wrong.
        public static let noUAFServer = Self(base: .noUAFServer)
        /// The certificate or the name of the server is not valid.
        public static let untrustedServer = Self(base: .untrustedServer)
        /// The server did not answer. Transient, or a wrong address.
        public static let unreachable = Self(base: .unreachable)
        /// The configured address is neither `https` nor this device. Nothing was sent.
        public static let insecureTransport = Self(base: .insecureTransport)
        public var description: String { self.base.rawValue }
    }

    /// The finding of the check.
    public let finding: Finding
    /// The facet ID of this app: ``ClientConfiguration/facetID``.
    public let facetID: String
    /// The apps whose answers the server accepts; empty if the server's list could not be read. Fit to be shown.
    public let trustedFacets: [String]
    /// The server's address.
    public let baseURL: URL
    /// The cause of the finding, for the log.
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
    /// Asks the server if this app may answer the server's requests. Use the function at the app's start during
    /// development, and for support.
    ///
    /// The function fetches an authentication request like an operation, discards the request, and fetches the list of
    /// apps again. The function asks the person nothing, and stores nothing on the device or at the server. For an app
    /// that is not listed, each operation would end with ``FidoErrorCode/untrustedFacetID`` or a refusal of the server;
    /// this function reveals the problem.
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
            case .untrustedServer, .tlsPinMismatch: return check(.untrustedServer, [], error.reason)
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
        // Without an AppID, the app's own facet takes its place, and the server decides by its list.
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
            // An operation of this app does not need the list in this case, and neither does the app's developer.
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

    /// Returns `true` if an operation of this app would accept the AppID: by the list, or by a rule without a list.
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
