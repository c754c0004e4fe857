public import Countersign
public import Foundation

/// A browser without a window. A function of the test plays the person.
// Safe to share: every access to the state is within `lock`.
public final class VirtualBrowser: WebAuthentication, @unchecked Sendable {
    /// The person's actions at an opened address, given the address and the redirect address. The result is the address
    /// with which the browser returns, or `nil` if the person closes the browser.
    public typealias Visit = @Sendable (_ address: URL, _ redirectURI: String) async throws -> String?

    private let lock = NSLock()
    private var visit: Visit
    private var shown: [URL] = []

    /// Creates a browser with this person.
    public init(_ visit: @escaping Visit = { _, _ in nil }) { self.visit = visit }

    /// Replaces the person's actions from now on.
    public func onVisit(_ visit: @escaping Visit) { self.lock.withLock { self.visit = visit } }

    /// The opened addresses.
    public var opened: [URL] { self.lock.withLock { self.shown } }

    /// Accepts every redirect address, and gives a port to a loopback address without a port.
    public func prepare(for redirectURI: String) async throws -> any PreparedWebAuthentication {
        let loopback = "http://127.0.0.1"
        let rest = redirectURI.hasPrefix("\(loopback)/") ? redirectURI.dropFirst(loopback.count) : nil
        return Session(browser: self, redirectURI: rest.map { "\(loopback):49152\($0)" } ?? redirectURI)
    }

    private struct Session: PreparedWebAuthentication {
        let browser: VirtualBrowser
        let redirectURI: String

        func open(_ address: URL) async throws -> String {
            let visit = self.browser.lock.withLock {
                self.browser.shown.append(address)
                return self.browser.visit
            }
            guard let back = try await visit(address, self.redirectURI) else {
                throw WebAuthenticationError(.cancelled)
            }
            return back
        }
    }
}
