public import Countersign
public import Foundation

/// A browser without a window: what the person does in it is a function of the test's.
// Safe to share: every access to the state is within `lock`.
public final class VirtualBrowser: WebAuthentication, @unchecked Sendable {
    /// What the person does at an address that is opened: the address that the browser comes back with, or `nil` where they
    /// close it. It gets the address to come back at, too.
    public typealias Visit = @Sendable (_ address: URL, _ redirectURI: String) async throws -> String?

    private let lock = NSLock()
    private var visit: Visit
    private var shown: [URL] = []

    /// A browser whose person does that.
    public init(_ visit: @escaping Visit = { _, _ in nil }) { self.visit = visit }

    /// What the person does from now on.
    public func onVisit(_ visit: @escaping Visit) { self.lock.withLock { self.visit = visit } }

    /// The addresses that were opened.
    public var opened: [URL] { self.lock.withLock { self.shown } }

    /// Takes every address; a loopback one without a port is given one.
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
