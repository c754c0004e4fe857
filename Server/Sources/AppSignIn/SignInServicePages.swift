import OAuth
import Records
import _Primitives

/// Judges which page caused a request to the app sign-in service, by the words of the browser.
struct SignInServicePages: Sendable {
    /// This server's address.
    let issuer: String

    /// `true` if the browser says that a page of this server caused the request, or a page of the client's on the same
    /// site.
    func isCaused(_ request: SignInServiceRequest, byPageOf client: ClientRecord) -> Bool {
        if request.site?.hasSameBytes(as: "same-origin") ?? false, !self.sharesHost { return true }
        let isElsewhere = request.site.map { !$0.hasSameBytes(as: "same-site") } ?? false
        guard !isElsewhere, let origin = request.origin else { return false }
        return self.origins(of: client).containsBytes(of: origin)
    }

    /// Throws ``SignInServiceError`` if a foreign page would give a browser the cookies of another person's session:
    /// the browser would be signed in as the author of the page. Programs that are no browsers send nothing about
    /// pages.
    func checkPage(
        of request: SignInServiceRequest, _ client: ClientRecord, _ settings: SignInServiceSettings, status: Int
    ) throws {
        guard settings.answers == .cookie else { return }
        let isForeign = request.site.map { ["cross-site", "none"].containsBytes(of: $0) } ?? false
        let isOurs = request.origin.map { self.origins(of: client).containsBytes(of: $0) } ?? true
        guard isForeign || !isOurs else { return }
        throw SignInServiceError(
            OAuthError(
                .invalidRequest, "This page gets no cookies of the client.",
                detail: "its Origin is none of the client's addresses, or Sec-Fetch-Site names another site"),
            status: status)
    }

    /// `true` if other services may be at this server's origin, since this server's issuer is only a path of the
    /// origin. Only a page's path would tell the page's service, and a browser does not send the path.
    private var sharesHost: Bool {
        guard let host = self.issuer.firstRange(of: "://")?.upperBound else { return false }
        return self.issuer[host...].contains("/")
    }

    /// Returns the origins of a client's pages: its registered addresses, and this server, if this server is alone at
    /// its origin.
    private func origins(of client: ClientRecord) -> [String] {
        let own = self.sharesHost ? [] : [self.issuer]
        let addresses = client.redirectURIs + client.postLogoutRedirectURIs + client.settings.profile.origins
        return (own + addresses).compactMap { TargetURI($0)?.origin }
    }
}
