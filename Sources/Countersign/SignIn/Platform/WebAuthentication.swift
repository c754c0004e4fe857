public import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The device's own way to sign in on the web: its browser, or a view of the operating system whose content the app
/// cannot read. A web view of the app is not suitable, because the app could read the person's typing (RFC 8252,
/// section 8.12).
public protocol WebAuthentication: Sendable {
    /// Prepares for the browser's return to the app.
    ///
    /// - Parameter redirectURI: The address that the app has registered: an `https` address that the app has claimed,
    ///   an address with the app's own scheme, or a loopback address, whose port the operating system chooses unless
    ///   the address names a port.
    /// - Throws: ``WebAuthenticationError`` `unavailable` if this device cannot receive the address.
    func prepare(for redirectURI: String) async throws -> any PreparedWebAuthentication
}

/// One sign-in on the web. The session receives one call back and ends.
public protocol PreparedWebAuthentication: Sendable {
    /// The address to which the browser returns: the registered address, or the registered address with the port of
    /// this session.
    var redirectURI: String { get }

    /// Shows an address to the person, and waits until the browser comes to ``redirectURI``. Returns the whole address
    /// unchanged; the caller must check if the address is the answer to this request.
    ///
    /// Throws ``WebAuthenticationError``, and `CancellationError` when the task is cancelled. Cancelling also closes
    /// the shown page, if the operating system lets an app do so.
    func open(_ address: URL) async throws -> String

    /// Does the same as ``open(_:)``, for a session whose ``redirectURI`` anybody can reach: an address that is not the
    /// answer is turned away, and the wait continues. A session without its own implementation accepts the first
    /// address.
    func open(_ address: URL, accepting isAnswer: @escaping @Sendable (String) -> Bool) async throws -> String
}

extension PreparedWebAuthentication {
    /// Accepts the first address that arrives. The caller checks the address.
    public func open(_ address: URL, accepting isAnswer: @escaping @Sendable (String) -> Bool) async throws -> String {
        try await self.open(address)
    }
}

/// The reason why the browser did not return. Two errors are equal if their codes are equal.
public struct WebAuthenticationError: CodedError {
    /// The kind of the error, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case cancelled, unavailable }
        private let base: Base
        /// The person closed the browser. Show the earlier screen.
        public static let cancelled = Self(base: .cancelled)
        /// The device has no browser, or no way back from the browser. A mistake in the app's set-up, or a device
        /// without a browser.
        public static let unavailable = Self(base: .unavailable)
        public var description: String { self.base.rawValue }
    }

    /// The kind of the error.
    public let code: Code
    /// The reason for the log: never an address with a query.
    public let reason: String

    /// Creates an error with the code; `reason` goes only to the log.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }
}
