#if canImport(AuthenticationServices)
    public import AuthenticationServices
    public import Countersign
    import Foundation

    /// The system's own sign-in on the web (`ASWebAuthenticationSession`): a page of the browser, which the app cannot
    /// read.
    public struct SystemWebAuthentication: WebAuthentication {
        private let anchor: @MainActor @Sendable () -> ASPresentationAnchor
        private let isPrivate: Bool

        /// Creates the way to sign in.
        ///
        /// - Parameters:
        ///   - isPrivate: `true` if the page shares no cookies with the browser. The person then signs in anew each
        ///     time, and other apps know nothing of the sign-in.
        ///   - anchor: Returns the window over which the page is shown.
        public init(isPrivate: Bool = false, anchor: @escaping @MainActor @Sendable () -> ASPresentationAnchor) {
            self.anchor = anchor
            self.isPrivate = isPrivate
        }

        /// Prepares for an address with the app's own scheme or an `https` address of an associated domain; see
        /// `WebAuthentication`.
        public func prepare(for redirectURI: String) async throws -> any PreparedWebAuthentication {
            PreparedSystemWebAuthentication(
                redirectURI: redirectURI, address: try CallbackAddress(redirectURI), anchor: self.anchor,
                isPrivate: self.isPrivate)
        }
    }

    private struct PreparedSystemWebAuthentication: PreparedWebAuthentication {
        let redirectURI: String
        let address: CallbackAddress
        let anchor: @MainActor @Sendable () -> ASPresentationAnchor
        let isPrivate: Bool

        func open(_ address: URL) async throws -> String {
            let page = await ShownPage(self.anchor)
            return try await withTaskCancellationHandler {
                try await page.open(address, until: self.address, isPrivate: self.isPrivate)
            } onCancel: {
                Task { await page.close() }
            }
        }
    }

    /// A page on the screen.
    @MainActor
    private final class ShownPage: NSObject, ASWebAuthenticationPresentationContextProviding {
        private let anchor: @MainActor @Sendable () -> ASPresentationAnchor
        private var session: ASWebAuthenticationSession?

        init(_ anchor: @escaping @MainActor @Sendable () -> ASPresentationAnchor) { self.anchor = anchor }

        func open(_ address: URL, until back: CallbackAddress, isPrivate: Bool) async throws -> String {
            try Task.checkCancellation()
            defer { self.session = nil }
            return try await withCheckedThrowingContinuation { continuation in
                let session = Self.session(address, until: back) { url, error in
                    if let url { return continuation.resume(returning: url.absoluteString) }
                    let code = (error as? ASWebAuthenticationSessionError)?.code.rawValue ?? 0
                    continuation.resume(throwing: WebAuthenticationRefusal.error(code: code))
                }
                guard let session else {
                    let reason = "this version of the system returns to no https address"
                    return continuation.resume(throwing: WebAuthenticationError(.unavailable, reason))
                }
                session.presentationContextProvider = self
                session.prefersEphemeralWebBrowserSession = isPrivate
                self.session = session
                // The handler is called for a session that does not start, too.
                _ = session.start()
            }
        }

        /// Makes a session; `nil` for a way back that this version of the system does not have.
        private static func session(
            _ address: URL, until back: CallbackAddress, _ done: @escaping @Sendable (URL?, (any Error)?) -> Void
        ) -> ASWebAuthenticationSession? {
            guard #available(iOS 17.4, macOS 14.4, *) else {
                guard case .scheme(let scheme) = back else { return nil }
                return ASWebAuthenticationSession(url: address, callbackURLScheme: scheme, completionHandler: done)
            }
            let callback: ASWebAuthenticationSession.Callback =
                switch back {
                case .scheme(let scheme): .customScheme(scheme)
                case .https(let host, let path): .https(host: host, path: path)
                }
            return ASWebAuthenticationSession(url: address, callback: callback, completionHandler: done)
        }

        func close() { self.session?.cancel() }

        func presentationAnchor(for session: ASWebAuthenticationSession) -> ASPresentationAnchor { self.anchor() }
    }
#endif
