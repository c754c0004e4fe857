import Ceremony
import OAuth
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A page that was opened in a view of the app's.
public struct OpenedWebView: Sendable {
    /// The view.
    public let view: any SignInWebView
    /// Whether the page is open and the person is signed in there. An app that asked for a session tells the person where
    /// there is none.
    public var isSignedIn: Bool { self.failure == nil && self.useSSO }
    /// Why nobody is signed in in a view that was to have a session, or why the page is not there; `nil` where neither is so.
    /// Where the page did not load the view has no cookies any more: see ``SignIn/reload(_:)``.
    public let failure: SignInError?
    let url: URL
    let useSSO: Bool
}

extension SignIn {
    /// Opens a page in a view of the app's, with the person's session on the web where that is asked for.
    ///
    /// With `useSSO` the view gets a session of its own: its cookies are fetched anew, before the page is loaded, by the access
    /// token and the device's secret. They are for the service's host or its domain, by `https`; what they are is looked at
    /// before they are taken, and again in the view's store. Only then are pages of the configured hosts told that there is a
    /// session, and only these are opened with one. Where
    /// any of that fails, the page is opened signed out, and ``OpenedWebView/failure`` says why. So it does where the page
    /// does not load (`networkError`); the view's cookies are deleted then.
    ///
    /// Without `useSSO` nothing is fetched and no page is told anything.
    ///
    /// - Parameters:
    ///   - url: The page.
    ///   - displayTitle: What stands above it.
    ///   - useSSO: Whether the person is to be signed in there.
    /// - Throws: ``SignInError`` `misconfigured` where the platform has no web views; `storageError` where what the view has
    ///   cannot be deleted; `CancellationError`, with nothing left in the view.
    @discardableResult
    public func webView(_ url: URL, displayTitle: String, useSSO: Bool = false) async throws -> OpenedWebView {
        guard let views = self.core.platform.webViews else {
            throw SignInError(.misconfigured, "the platform has no web views")
        }
        return try await self.open(url, in: try await views.makeView(displayTitle: displayTitle), useSSO: useSSO)
    }

    /// Loads a page again, for a person who asks for it after it did not load: as at the first time, with cookies that are
    /// fetched anew.
    @discardableResult
    public func reload(_ opened: OpenedWebView) async throws -> OpenedWebView {
        try await Self.empty(opened.view)
        return try await self.open(opened.url, in: opened.view, useSSO: opened.useSSO)
    }

    private func open(_ url: URL, in view: any SignInWebView, useSSO: Bool) async throws -> OpenedWebView {
        var failure: SignInError?
        let epoch = await self.core.epoch
        do {
            var sites: WebViewSites?
            do {
                if useSSO { sites = try await self.signedIn(view, for: url, in: epoch) }
            } catch let error as SignInError {
                // Half a session is none.
                try await Self.empty(view)
                try Task.checkCancellation()
                failure = error
            }
            try await view.load(url, session: WebViewSession(sites: sites))
            if sites != nil { try await self.checkSignedIn(since: epoch) }
        } catch {
            // Nobody looks at this view: a session in it would last for nothing.
            try await Self.empty(view)
            guard !Task.isCancelled, !(error is CancellationError) else { throw CancellationError() }
            failure = failure ?? Self.failure(ofLoading: error)
        }
        return OpenedWebView(view: view, failure: failure, url: url, useSSO: useSSO)
    }

    private func signedIn(_ view: any SignInWebView, for url: URL, in epoch: Int) async throws -> WebViewSites {
        let recording = self.core.server.newRecording()
        let sites = try await Self.running { try await self.fillCookies(of: view, for: url, recording) }
        try await self.checkSignedIn(since: epoch)
        recording.note(.sessionHinted)
        return sites
    }

    /// Sees to it that nobody has signed out meanwhile, or in as somebody else: the views were emptied then, and what was put
    /// into one afterwards is a session that nobody has any more. To be asked after that.
    private func checkSignedIn(since epoch: Int) async throws {
        guard await self.core.epoch == epoch else { throw SignInError(.notSignedIn, "signed out meanwhile") }
    }

    /// In a task of its own: what a cancelled one has put into a view must go, too.
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
    /// Has the sign-in service open a session of the web for this one. An access token whose time has passed on the way, or
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
