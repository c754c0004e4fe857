#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The device's own way of signing in by the web: its browser, or a view that the operating system shows and the app cannot
/// look into. A web view of the app's is none, because the app could read what is typed there (RFC 8252, section 8.12).
public protocol WebAuthentication: Sendable {
    /// Gets ready to be called back.
    ///
    /// - Parameter redirectURI: The address that the app has registered: `https` that the app has claimed, a scheme of its
    ///   own, or a loopback address, whose port the operating system chooses.
    /// - Throws: ``WebAuthenticationError`` `unavailable` where this device has no way to that address.
    func prepare(for redirectURI: String) async throws -> any PreparedWebAuthentication
}

/// One sign-in by the web. It takes one call back and ends.
public protocol PreparedWebAuthentication: Sendable {
    /// The address that this session is called back at: the registered one, or that with the port of this session.
    var redirectURI: String { get }

    /// Shows an address to the person, and waits until the browser comes to ``redirectURI``. Returns that whole address as it
    /// came: whether it is the answer to this request is the caller's to judge.
    ///
    /// Throws ``WebAuthenticationError``, and `CancellationError` when the task is cancelled, which also takes away what is
    /// shown, where the operating system lets an app do that.
    func open(_ address: URL) async throws -> String

    /// As ``open(_:)``, where anybody can come to ``redirectURI``: who comes with another answer is sent away, and the wait
    /// goes on. Without an implementation of its own, a session takes the first that comes.
    func open(_ address: URL, accepting isAnswer: @escaping @Sendable (String) -> Bool) async throws -> String
}

extension PreparedWebAuthentication {
    /// Takes the first answer that comes, whose judge is the caller.
    public func open(_ address: URL, accepting isAnswer: @escaping @Sendable (String) -> Bool) async throws -> String {
        try await self.open(address)
    }
}

/// Why nobody came back from the browser. Two are equal when their codes are.
public struct WebAuthenticationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case cancelled, unavailable }
        private let base: Base
        /// The person closed the browser. Show what was there before.
        public static let cancelled = Self(base: .cancelled)
        /// There is no browser, or no way back from it. A mistake in the app's set-up, or a device without a browser.
        public static let unavailable = Self(base: .unavailable)
        public var description: String { self.base.rawValue }
    }

    /// What happened.
    public let code: Code
    /// For the log: never an address with a query.
    public let reason: String

    /// An error of that code; `reason` goes to the log alone.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }

    public var description: String { "WebAuthenticationError.\(self.code): \(self.reason)" }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}
