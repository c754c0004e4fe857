import OAuth
import Records
import Sealing
import _Primitives

/// Codes and tokens at the wrong face of the server (decision 52).
package struct WrongFace: Sendable {
    let store: any AuthorizationStore & RefreshStore
    let clients: Clients

    /// Spends the code that a client has brought to the wrong face. The code is in the wrong hands, or in a program
    /// that confuses the faces.
    ///
    /// Cost: one store step if the request has a code.
    func burn(_ parameters: Parameters, of client: ClientRecord) async throws {
        let now = self.clients.time.now()
        if let code = parameters["code"] {
            _ = try await self.store.takeCode(
                digest: Sealing.digest(ofSecret: code), at: now,
                replay: AuditEvent(.codeReplayed, at: now, actor: client.id), isRight: { _, _ in false })
        }
    }

    /// Ends the session of the app sign-in service whose refresh token was shown at an endpoint of OpenID Connect.
    ///
    /// Cost: nothing if the request has no such token; else two store steps.
    func burnToken(_ parameters: Parameters, shownBy client: ClientRecord) async throws {
        guard
            let token = parameters["refresh_token"].flatMap({
                RefreshToken(inParts: $0, keys: self.clients.keys.signing)
            })
        else {
            return
        }
        try await self.burn(token, shownBy: client.id)
    }

    /// Ends the grant of a refresh token that was shown at the wrong face, if the holder of the token could end the
    /// grant at the right face, too. If a key or a client's secret guards the token, the token is only refused.
    package func burn(_ token: RefreshToken, shownBy client: String?) async throws {
        let now = self.clients.time.now()
        guard let standing = try await self.store.grant(token.grant, token: nil, at: now),
            standing.grant.keyThumbprint == nil,
            let owner = try await self.clients.servedClient(standing.grant.client),
            // At the app sign-in service, a client's own key is shown with its codes, and not with its refresh tokens.
            owner.settings.isPublic || owner.settings.signInService != nil
        else { return }
        _ = try await self.store.deleteGrant(
            token.grant, client: standing.grant.client,
            audit: AuditEvent(
                .grantRevoked, at: now, accountID: standing.authentication.account, actor: client,
                detail: token.grant))
    }
}
