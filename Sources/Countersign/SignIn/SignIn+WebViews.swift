import Ceremony
import OAuth
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A page that was opened in a view of the app.
public struct OpenedWebView: Sendable {
    /// The view.
    public let view: any SignInWebView
    /// `true` if the page is open and the person is signed in in the view. An app that requested a session tells the
    /// person if the view has no session.
    public var isSignedIn: Bool { self.failure == nil && self.useSSO }
    /// The reason why a view without the requested session is signed out, or why the page did not load; `nil` if
    /// neither happened. If the page did not load, the view has no cookies any more: see ``SignIn/reload(_:)``.
    public let failure: SignInError?
    let url: URL
    let useSSO: Bool
}

extension SignIn {
    /// Opens a page in a view of the app, with the person's web session if requested.
    ///
    /// With `useSSO`, the view gets its own session: its cookies are fetched with the access token and the device's
    /// secret before the page is loaded. The cookies are for the service's host or its domain, by `https`. They are
    /// checked before they are accepted, and again in the view's store. Only then are pages of the configured hosts
    /// told of the session, and only these pages are opened with a session. If any step fails, the page is opened
    /// signed out, and ``OpenedWebView/failure`` states the reason. A page that does not load also sets a failure
    /// (`networkError`); the view's cookies are then deleted.
    ///
    /// Without `useSSO`, nothing is fetched and no page is told of a session.
    ///
    /// - Parameters:
    ///   - url: The address of the page.
    ///   - displayTitle: The title above the page.
    ///   - useSSO: `true` if the person must be signed in in the view.
    /// - Throws: ``SignInError`` `misconfigured` if the platform has no web views; `storageError` if the view's data
    ///   cannot be deleted; `CancellationError`, with nothing left in the view.
    @discardableResult
    public func webView(_ url: URL, displayTitle: String, useSSO: Bool = false) async throws -> OpenedWebView {
        guard let views = self.core.platform.webViews else {
            throw SignInError(.misconfigured, "the platform has no web views")
        }
        return try await self.open(url, in: try await views.makeView(displayTitle: displayTitle), useSSO: useSSO)
    }

    /// Loads a page again, at the person's request, after the page did not load. The cookies are fetched again, like
    /// the first time.
    @discardableResult
    public func reload(_ opened: OpenedWebView) async throws -> OpenedWebView {
        try await Self.empty(opened.view)
        return try await self.open(opened.url, in: opened.view, useSSO: opened.useSSO)
    }

    private func open(_ url: URL, in view: any SignInWebView, useSSO: Bool) async throws -> OpenedWebView {
        var failure: SignInError?
        let era = await self.core.era
        do {
            var sites: WebViewSites?
            do {
                if useSSO { sites = try await self.signedIn(view, for: url, in: era) }
            } catch let error as SignInError {
                // An incomplete session does not count as a session.
                try await Self.empty(view)
                try Task.checkCancellation()
                failure = error
            }
            try await view.load(url, session: WebViewSession(sites: sites))
            if sites != nil { try await self.checkSignedIn(since: era) }
        } catch {
            // The view is not shown to the person: a session in it would serve no purpose.
            try await Self.empty(view)
            guard !Task.isCancelled, !(error is CancellationError) else { throw CancellationError() }
            failure = failure ?? Self.failure(ofLoading: error)
        }
        return OpenedWebView(view: view, failure: failure, url: url, useSSO: useSSO)
    }

    private func signedIn(_ view: any SignInWebView, for url: URL, in era: Int) async throws -> WebViewSites {
        let recording = self.core.server.newRecording()
        let sites = try await Self.running { try await self.fillCookies(of: view, for: url, recording) }
        try await self.checkSignedIn(since: era)
        recording.note(.sessionHinted)
        return sites
    }

    /// Checks that nobody has signed out, or signed in as another person, since `era`. Such an event emptied the
    /// views, and later cookies in a view would belong to a session that is gone. Call this function after putting the
    /// cookies into the view.
    private func checkSignedIn(since era: Int) async throws {
        guard await self.core.era == era else { throw SignInError(.notSignedIn, "signed out meanwhile") }
    }

    /// Empties a view in a separate task, because the data that a cancelled task has put into a view must be deleted
    /// too.
    private static func empty(_ view: any SignInWebView) async throws {
        do {
            try await Task { try await view.clear() }.value
        } catch {
            throw SignInError(.storageError, "the view is not empty: \(type(of: error))")
        }
    }

    private static func failure(ofLoading error: any Error) -> SignInError {
        switch error {
        case let error as SignInError: error
        case let error as TransportError where error.code == .untrustedServer || error.code == .insecure:
            SignInError(.untrustedServer, error.reason)
        default: SignInError(.networkError, "the page has not loaded: \(type(of: error))")
        }
    }

    private func fillCookies(of view: any SignInWebView, for url: URL, _ recording: Recording) async throws
        -> WebViewSites
    {
        guard let sites = self.core.configuration.webViews,
            case .signInService(let addresses) = self.core.configuration.face,
            let tokenAddress = self.core.configuration.address(addresses.tokenPath)
        else { throw SignInError(.misconfigured, "no sites for web views") }
        guard sites.include(url) else { throw SignInError(.misconfigured, "the page is not of a configured host") }
        let response = try await self.core.openedWebSession(for: sites.application, at: addresses.tokenPath, recording)
        let cookies = try SessionCookies(response, from: tokenAddress, sites: sites)
        recording.note(.cookiesPlaced)
        do {
            for cookie in cookies.cookies { try await view.setCookie(cookie) }
            let atService = try await view.cookieNames(for: tokenAddress)
            let onPage = try await view.cookieNames(for: url)
            guard cookies.namesAtService.allSatisfy(atService.containsBytes),
                onPage.containsBytes(of: cookies.nameOnPages)
            else {
                throw SignInError(.protocolError, "the view has not taken the cookies, or they are not for the page")
            }
        } catch  where !(error is SignInError || error is CancellationError) {
            throw SignInError(.storageError, "the view's cookies: \(type(of: error))")
        }
        return sites
    }
}

extension SignInCore {
    /// Asks the sign-in service to open a web session for this session. An access token that has expired on the way, or
    /// that was revoked, is renewed once.
    func openedWebSession(for application: String, at path: String, _ recording: Recording) async throws
        -> TransportResponse
    {
        guard let secret = try self.store.deviceSecret() else { throw SignInError(.notSignedIn, "no device secret") }
        let live = try await self.current(recording)
        let first = try await self.exchange(live, secret, application, path, recording)
        guard first.status == 400 || first.status == 401 || first.status == 403, live.refreshToken != nil else {
            return try Self.checked(first)
        }
        let renewed = try await self.renewed(after: live, recording)
        return try Self.checked(try await self.exchange(renewed, secret, application, path, recording))
    }

    private static func checked(_ response: TransportResponse) throws -> TransportResponse {
        switch response.status {
        case 200: return response
        case 408, 429, 500...: throw SignInError(.networkError, "status \(response.status)")
        default: throw SignInError(.refused, "status \(response.status)")
        }
    }

    private func exchange(
        _ live: LiveSession, _ secret: String, _ application: String, _ path: String, _ recording: Recording
    ) async throws -> TransportResponse {
        let form = FormRequest(
            path: path,
            parameters: [
                "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": live.accessToken,
                "subject_token_type": "urn:ietf:params:oauth:token-type:access_token", "actor_token": secret,
                "actor_token_type": "urn:x-oath:params:oauth:token-type:device-secret", "client_id": application,
            ])
        return try await self.server.post(
            form, key: live.proofKey.signing, recording, noting: .webSessionWanted)
    }
}
